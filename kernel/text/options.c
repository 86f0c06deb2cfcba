/* NAME{options}: rows of plugins as users name them. */
#include <string.h>

#include <baton/op.h>

bt_status bt_named_split(bt_ctx *ctx, bt_arena *arena, const char *what, const char *text,
                         const char **name, const char **options)
{
    size_t n = strlen(text), brace = strcspn(text, "{");
    *name = bt_arena_text(arena, text, brace);
    if (!*name)
        return bt_no_memory();
    if (brace < n && (n < brace + 2 || text[n - 1] != '}'))
        return bt_fail_place(ctx, BT_ERR_ARGUMENT, &(bt_place){ .file = *name },
                             "%s %s: a closing } is missing", what, text);
    *options = brace < n ? bt_arena_text(arena, text + brace + 1, n - brace - 2) : "";
    return *options ? NULL : bt_no_memory();
}

bt_status bt_options_parse(bt_ctx *ctx, bt_store *store, const char *name,
                           const bt_attr *schema, size_t nbytes, const char *text,
                           const void **out)
{
    static const bt_attr none[] = { { 0 } };
    const bt_op op = { .name = name,
                       .attrs = schema ? schema : none,
                       .attrs_nbytes = nbytes };
    BT_TRY(bt_attrs_parse(ctx, store, &op, text, out));
    *out = schema ? *out : NULL;
    return NULL;
}
