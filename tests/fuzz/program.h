/* What fuzz targets do with a program: print and read it back, and run it. */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>

#include "fuzz.h"

enum { MAX_ARGS = 8, MAX_BINDINGS = 1000 };

static inline const char *print(bt_ctx *ctx, const bt_module *module, bt_text *out)
{
    bt_text_init(out, bt_ctx_scratch(ctx));
    FUZZ_CHECK(!bt_print(ctx, module, &(bt_print_options){ 0 }, out));
    return bt_text_get(out);
}

/* 1: the status is none, or a limit that what Baton writes itself may meet. */
static inline int is_ok(bt_ctx *ctx, bt_status status, const char *text)
{
    fuzz_check_status(ctx, status);
    if (status && status->code != BT_ERR_LIMIT)
        fprintf(stderr, "%s\n%s\n", text, status->message);
    FUZZ_CHECK(!status || status->code == BT_ERR_LIMIT);
    return !status;
}

static inline void check_module(bt_ctx *ctx, const bt_module *module)
{
    bt_text first, second;
    bt_module *again = NULL;
    const char *text = print(ctx, module, &first);
    FUZZ_CHECK(is_ok(ctx, bt_verify(ctx, module), text));
    bt_status status = bt_parse(ctx, "printed", NULL, first.at, first.len, &again);
    if (!is_ok(ctx, status, text))
        return;
    if (strcmp(text, print(ctx, again, &second)) != 0)
        fprintf(stderr, "%s\n%s\n", text, second.at);
    FUZZ_CHECK(strcmp(text, second.at) == 0);
    FUZZ_CHECK(bt_module_equal(module, again));
    bt_module_unref(again);
}

/* ---- running ---- */

struct fuzz_run {
    bt_ctx *ctx;
    uint32_t nbinding;
};

/* A program may run for ever: this one may not. */
static inline void count_binding(void *self, const bt_value *value,
                                 const bt_object *result, uint64_t elapsed_ns)
{
    struct fuzz_run *run = self;
    (void)value;
    (void)result;
    (void)elapsed_ns;
    if (++run->nbinding > MAX_BINDINGS)
        bt_ctx_cancel(run->ctx);
}

/* Zeros for the parameters, or, with a seed, integers of their types; 0: some parameter is
 * no tensor of known dims. */
static inline int make_args(bt_ctx *ctx, const bt_func *func, uint32_t seed,
                            bt_object **args)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (func->block->nparam > MAX_ARGS)
        return 0;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_type *type = func->block->params[i]->base.type;
        bt_tensor *made;
        if (!bt_tensor_static(type, &rank, dims) ||
            !bt_dtype_is_stored(bt_tensor_dtype(type)) ||
            bt_tensor_create(ctx, bt_tensor_dtype(type), rank, dims, &made))
            return 0;
        for (int64_t k = 0; seed && k < made->nelem; k++) {
            seed = seed * 1664525 + 1013904223;
            bt_tensor_set(made, k,
                          (double)(seed >> 24) -
                              (BT_DTYPE_CLASS(made->dtype) == BT_CLASS_UINT ? 0 : 128));
        }
        args[i] = &made->base;
    }
    return 1;
}

/* What the function gives; NULL: nothing, or an error. */
static inline bt_object *run(bt_ctx *ctx, const bt_module *module, const bt_global *entry,
                             uint32_t seed)
{
    const bt_executor *interp;
    void *session;
    bt_object *args[MAX_ARGS] = { 0 }, *result = NULL;
    struct fuzz_run run = { .ctx = ctx };
    bt_run_hook hook = { .self = &run, .binding = count_binding };
    FUZZ_CHECK(!bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(*interp),
                                (const void **)&interp));
    if (make_args(ctx, entry->func, seed, args) &&
        is_ok(ctx, interp->open(ctx, module, NULL, &session), entry->name)) {
        bt_status status = interp->call(ctx, session, entry->name,
                                        entry->func->block->nparam, args, &hook, &result);
        fuzz_check_status(ctx, status);
        if (status)
            result = NULL;
        interp->close(session);
    }
    for (uint32_t i = 0; i < MAX_ARGS; i++)
        bt_object_unref(args[i]);
    return result;
}

#endif
