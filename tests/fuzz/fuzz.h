/* What fuzz targets share: each input gets a registry and a context of its own, so that
 * one finding does not depend on the inputs before it; but where operators are used,
 * which take long to list, a context only. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton/base.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* States what must hold for every input. */
#define FUZZ_CHECK(condition)                                                 \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, \
                    #condition);                                              \
            abort();                                                          \
        }                                                                     \
    } while (0)

/* Objects of arenas are single allocations, so that a sanitizer sees overruns of each. */
static inline bt_registry *fuzz_registry(const char *plugins)
{
    bt_registry *r = bt_registry_create(&(bt_registry_options){
        .ignore_environment = 1, .arena_single = 1, .plugin_only = plugins });
    FUZZ_CHECK(r);
    return r;
}

static inline bt_ctx *fuzz_context(bt_registry *r)
{
    bt_ctx *ctx = bt_ctx_create(r);
    FUZZ_CHECK(ctx);
    bt_ctx_limits(ctx)->bytes = 1 << 20;
    bt_ctx_limits(ctx)->nodes = 10000;
    bt_ctx_limits(ctx)->frames = 1000;
    return ctx;
}

static inline bt_ctx *fuzz_begin(void)
{
    bt_registry *r = fuzz_registry(NULL);
    bt_ctx *ctx = fuzz_context(r);
    bt_registry_unref(r);
    return ctx;
}

/* A status must be whole: a known code and a text that renders. */
static inline void fuzz_check_status(bt_ctx *ctx, bt_status status)
{
    if (!status)
        return;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    bt_diag_render_json(status, &text);
    FUZZ_CHECK(bt_text_get(&text));
    FUZZ_CHECK(status->code > BT_ERR_NONE && status->code < BT_ERR_COUNT);
    FUZZ_CHECK(status->code != BT_ERR_INTERNAL && status->message[0]);
}

#endif
