/*
 * Build tool: writes a plugin's manifest. The same as `baton plugin describe`, small
 * enough to be built before any plugin.
 *
 *     baton_describe PLUGIN.so SEED.json BINARY OUT.baton.json
 */
#include <stdio.h>

#include <baton/plugin.h>

static int fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    const char *message = bt_text_get(&text);
    fprintf(stderr, "%s\n", message ? message : "no memory");
    return 1;
}

/* The file's text, or NULL. */
static const char *read_text(bt_ctx *ctx, const char *path)
{
    bt_text text;
    char piece[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        bt_text_add(&text, piece, n);
    fclose(file);
    return bt_text_get(&text);
}

/* Written beside and renamed, so that a build cut short leaves no half manifest. */
static int write_text(const char *path, const char *text)
{
    char beside[4096];
    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return 0;
    FILE *file = fopen(beside, "w");
    int ok = file && fputs(text, file) >= 0;
    ok = file && fclose(file) == 0 && ok;
    return ok && rename(beside, path) == 0;
}

static int describe(bt_ctx *ctx, char **argv)
{
    bt_text manifest;
    const char *seed = read_text(ctx, argv[2]);
    if (!seed) {
        fprintf(stderr, "%s: cannot be read\n", argv[2]);
        return 1;
    }
    bt_text_init(&manifest, bt_ctx_scratch(ctx));
    bt_status status = bt_plugin_describe(ctx, argv[1], seed, argv[3], &manifest);
    if (status)
        return fail(ctx, status);
    if (!write_text(argv[4], bt_text_get(&manifest))) {
        fprintf(stderr, "%s: cannot be written\n", argv[4]);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr,
                "usage: baton_describe PLUGIN.so SEED.json BINARY OUT.baton.json\n");
        return 2;
    }
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    if (!ctx) {
        fprintf(stderr, "no memory\n");
        return 3;
    }
    int rc = describe(ctx, argv);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return rc;
}
