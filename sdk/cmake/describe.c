/*
 * Build tool: `baton plugin describe`, small enough to be built before any plugin.
 *
 *     baton_describe plugin describe PLUGIN.so --seed SEED.json --binary PATH
 */
#include <stdio.h>

#include <baton/plugin.h>
#include <baton/value.h>

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    const char *message = bt_text_get(&text);
    fprintf(stderr, "%s\n", message ? message : "no memory");
    return 1;
}

static bt_status describe(bt_ctx *ctx, char **argv, bt_text *out)
{
    bt_file *seed;
    BT_TRY(bt_file_read(ctx, argv[5], &seed));
    bt_status status = bt_plugin_describe(ctx, argv[3], seed->bytes, argv[7], out);
    bt_file_close(ctx, seed);
    return status;
}

int main(int argc, char **argv)
{
    bt_text manifest;
    if (argc != 8) {
        fprintf(stderr, "usage: baton_describe plugin describe PLUGIN.so --seed FILE "
                        "--binary PATH\n");
        return 2;
    }
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    if (!ctx) {
        fprintf(stderr, "no memory\n");
        return 3;
    }
    bt_text_init(&manifest, bt_ctx_scratch(ctx));
    bt_status status = describe(ctx, argv, &manifest);
    int rc = status ? fail(ctx, status) : 0;
    if (rc == 0)
        fputs(bt_text_get(&manifest), stdout);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return rc;
}
