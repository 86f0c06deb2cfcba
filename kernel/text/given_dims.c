/* Symbolic dims that the caller gives: a type parameter of the entry becomes a number
 * where it is read, so that the program is the one that says so itself. */
#include "text/given_dims.h"

#include <string.h>

#include "text/draft.h"

/* Digits alone; 0: not such, or too large. */
static int read_number(const char *text, int64_t *out)
{
    int64_t value = 0;
    int ok = *text != 0;
    for (const char *c = text; ok && *c; c++)
        ok = *c >= '0' && *c <= '9' && bt_mul_int64(value, 10, &value) &&
             bt_add_int64(value, *c - '0', &value);
    *out = value;
    return ok;
}

bt_status bt__given_dims_read(bt_ctx *ctx, bt_arena *arena, const char *const *texts,
                              bt__given_dims *out)
{
    uint32_t n = 0;
    while (texts && texts[n])
        n++;
    out->n = n;
    out->at = BT_NEWS(arena, struct bt__given_dim, n);
    if (!out->at)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const char *equals = strrchr(texts[i], '=');
        struct bt__given_dim *dim = &out->at[i];
        if (!equals || equals == texts[i] || !read_number(equals + 1, &dim->value))
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "a dim is given as NAME=N, N a whole number of at least 0, "
                           "not as %s",
                           texts[i]);
        dim->name = bt_arena_text(arena, texts[i], (size_t)(equals - texts[i]));
        if (!dim->name)
            return bt_no_memory();
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(out->at[k].name, dim->name) == 0)
                return bt_fail(ctx, BT_ERR_ARGUMENT, "dim %s is given twice", dim->name);
        }
    }
    return NULL;
}

/* The one of that name, NULL if none. */
struct bt__given_dim *bt__given_dims_find(const bt__given_dims *given, const char *name)
{
    for (uint32_t i = 0; given && i < given->n; i++) {
        if (strcmp(given->at[i].name, name) == 0)
            return &given->at[i];
    }
    return NULL;
}

int bt__given_dim_use(struct bt__given_dim *dim, const bt_type_param *param)
{
    dim->is_used = 1;
    return dim->value >= param->low && dim->value <= param->high &&
           !bt_mod_int64(dim->value, param->step);
}

/* ---- while a text is read ---- */

int bt__note_def(bt__parser *p)
{
    bt__module_draft *module = p->module;
    const int is_def = bt__at_word(p, "def");
    if (!module->given || p->next.kind != BT_TOKEN_GLOBAL ||
        (!is_def && !bt__at_word(p, "gradient") && !bt__at_word(p, "jvp")))
        return 1;
    const char *name = bt__token_name(p, &p->next);
    if (!name)
        return 0;
    const char *wanted = module->given->entry ? module->given->entry : "main";
    module->ndef += (uint32_t)is_def;
    if (strcmp(name, wanted) == 0)
        module->has_entry = 1;
    return 1;
}

int bt__is_given_entry(const bt__parser *p, const char *name)
{
    const bt__module_draft *module = p->module;
    if (!module->given)
        return 0;
    const char *wanted = module->given->entry ? module->given->entry : "main";
    return strcmp(name, wanted) == 0 ||
           (!module->has_entry && !module->given->entry && module->ndef == 1);
}

const bt_type *bt__given_dim_of(bt__parser *p, const bt__token *token, const char *name,
                                const bt_type_param *param)
{
    bt__module_draft *module = p->module;
    struct bt__given_dim *dim = bt__given_dims_find(module->given, name);
    if (!dim) {
        if (!BT_PUSH(p->arena, &module->entry_dims, name))
            bt__error_memory(p);
        return NULL;
    }
    if (!bt__given_dim_use(dim, param)) {
        bt__error_token(p, BT_ERR_SHAPE, token, BT__GIVEN_DIM_REFUSED, name,
                        (long long)dim->value);
        return NULL;
    }
    return bt__term_made(p, bt_dim(p->store, dim->value), token->offset);
}

bt_status bt__check_given(bt__parser *p)
{
    bt__module_draft *module = p->module;
    const bt__given_dims *given = module->given;
    const struct bt__draft_global *entry;
    const char *name;
    bt__set_text(p, 0);
    if (!given)
        return NULL;
    if (!(name = bt_name_of(p->store, given->entry ? given->entry : "main")))
        return bt_store_why(p->ctx, p->store);
    entry = bt_map_find(&module->globals, name);
    // a gradient has no dims yet: bt_entry_define gives them
    if (entry && entry->global.kind == BT_GLOBAL_GRADIENT)
        return NULL;
    return bt__given_dims_check(p->ctx, p->arena, p->file, given, module->entry_dims.len,
                                module->entry_dims.at);
}

bt_status bt__given_dims_check(bt_ctx *ctx, bt_arena *arena, const char *file,
                               const bt__given_dims *given, uint32_t nopen,
                               const char *const *open)
{
    const char *unused = NULL;
    bt_text names;
    for (uint32_t i = 0; i < given->n && !unused; i++)
        unused = given->at[i].is_used ? NULL : given->at[i].name;
    if (!unused)
        return NULL;
    bt_text_init(&names, arena);
    for (uint32_t i = 0; i < nopen; i++)
        bt_text_addf(&names, "%s%s", i ? ", " : "", open[i]);
    for (uint32_t i = 0; i < given->n; i++) {
        if (given->at[i].is_used)
            bt_text_addf(&names, "%s%s", names.len ? ", " : "", given->at[i].name);
    }
    const char *known = bt_text_get(&names);
    if (!known)
        return bt_no_memory();
    return bt_fail(ctx, BT_ERR_NAME, "%s: the entry has no symbolic dim %s; %s%s",
                   file ? file : "text", unused, *known ? "it has " : "it has none",
                   known);
}
