/*
 * What fuzz_bytecode starts from: the code that target cpu makes of programs, behind what
 * the fuzz target writes itself. A file for each kernel.
 *     bytecode_seeds FOLDER PROGRAM...
 */
#include <stdio.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/compiled.h>
#include <baton/plugin.h>

#include "../bytecode_head.h"

static bt_status compile(bt_ctx *ctx, const char *path, bt_compiled **out)
{
    const bt_compile_options options = { .targets = "cpu{engine=\"bytecode\"}" };
    bt_file *file;
    bt_module *parsed, *typed, *fused;
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status = bt_parse(ctx, path, NULL, file->bytes, file->nbytes, &parsed);
    bt_file_close(ctx, file);
    BT_TRY(status);
    status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = bt_fuse(ctx, typed, &options, &fused);
    bt_module_unref(typed);
    BT_TRY(status);
    status = bt_compile(ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

static bt_status write_seeds(bt_ctx *ctx, const char *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bt_compiled *c;
    bt_status status = NULL;
    BT_TRY(compile(ctx, path, &c));
    for (uint32_t i = 0; !status && i < c->nkernel; i++) {
        const bt_kernel_code *code = c->codes[i];
        char to[4096];
        snprintf(to, sizeof(to), "%s/%.*s.%u", folder, (int)strcspn(name, "."), name, i);
        if (code->own_nbytes > BYTECODE_HEAD)
            status = bt_file_write(ctx, to, (const char *)code->own + BYTECODE_HEAD,
                                   code->own_nbytes - BYTECODE_HEAD);
    }
    bt_compiled_unref(c);
    return status;
}

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_status status = ctx && argc > 2 ? NULL : bt_no_memory();
    for (int i = 2; !status && i < argc; i++)
        status = write_seeds(ctx, argv[1], argv[i]);
    if (status)
        fprintf(stderr, "bytecode_seeds: %s\n", status->message);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return status != NULL;
}
