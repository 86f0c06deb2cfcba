/* Manifests: whatever is accepted can be listed, explained and asked to open. */
#define _GNU_SOURCE // memfd_create
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <baton/op.h>

#include "fuzz.h"

static bt_ctx *begin(void)
{
    bt_registry *r = bt_registry_create(&(bt_registry_options){
        .ignore_environment = 1, .arena_single = 1, .plugin_only = "" });
    bt_ctx *ctx = r ? bt_ctx_create(r) : NULL;
    FUZZ_CHECK(ctx);
    bt_registry_unref(r);
    return ctx;
}

static void use_names(bt_ctx *ctx)
{
    uint32_t n = bt_provided_len(ctx, NULL);
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        bt_text why;
        const bt_op *op;
        bt_text_init(&why, bt_ctx_scratch(ctx));
        FUZZ_CHECK(!bt_provided_at(ctx, NULL, i, &item));
        FUZZ_CHECK(item.name && item.doc && item.json && item.kind);
        FUZZ_CHECK(!bt_plugin_why(ctx, item.name, &why));
        FUZZ_CHECK(strstr(bt_text_get(&why), item.name));
        if (strcmp(item.kind, "op") == 0) {
            bt_status status = bt_op_get(ctx, item.name, &op);
            fuzz_check_status(ctx, status); // there is no such binary, but linked-in ones
        }
    }
}

static const bt_plugin_handle *find(bt_ctx *ctx, const char *path)
{
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        const char *manifest = bt_plugin_manifest(bt_plugins_at(ctx, i));
        if (manifest && strcmp(manifest, path) == 0)
            return bt_plugins_at(ctx, i);
    }
    FUZZ_CHECK(0);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    char path[64];
    int file = memfd_create("manifest", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write(file, bytes, nbytes) == (ssize_t)nbytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    bt_ctx *ctx = begin();
    bt_status status = bt_plugins_add(ctx, path);
    fuzz_check_status(ctx, status);
    FUZZ_CHECK(status == bt_plugin_refusal(find(ctx, path)));
    use_names(ctx);
    bt_ctx_destroy(ctx);
    close(file);
    return 0;
}
