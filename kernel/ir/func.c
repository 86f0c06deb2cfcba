/* Function nodes, their types, and patterns. */
#include "ir/func.h"

#include <string.h>

#include "ir/store.h"
#include "ir/type.h"

void *bt__store_copy(bt_store *store, const void *items, size_t count, size_t nbytes)
{
    return bt__arena_copy(bt_store_arena(store), items, count, nbytes);
}

int bt__dict_copy(bt_store *store, bt_dict dict, bt_dict *out)
{
    bt_dict_entry *at = bt__store_copy(store, dict.at, dict.n, sizeof(*at));
    if (!at)
        return 0;
    for (uint32_t i = 0; i < dict.n; i++) {
        bt_dict items = { at[i].n, at[i].items };
        if (!(at[i].name = bt_name_of(store, at[i].name)))
            return 0;
        if (at[i].text && !(at[i].text = bt_name_of(store, at[i].text)))
            return 0;
        if (at[i].kind == BT_DICT_LIST && !bt__dict_copy(store, items, &items))
            return 0;
        at[i].items = items.at;
    }
    *out = (bt_dict){ .n = dict.n, .at = at };
    return 1;
}

int bt__ints_copy(bt_store *store, bt_ints ints, bt_ints *out)
{
    if (ints.n < 0) {
        *out = (bt_ints){ .n = BT_NONE_LIST };
        return 1;
    }
    int64_t *at = bt__store_copy(store, ints.at, (size_t)ints.n, sizeof(*at));
    *out = (bt_ints){ .n = ints.n, .at = at };
    return at != NULL;
}

static int is_known(const bt_type *type)
{
    return type && !(type->has & BT_HAS_HOLE);
}

bt_status bt_func_create(bt_ctx *ctx, bt_store *store, const bt_func *fields,
                         const bt_func **out)
{
    if (!fields->block)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "function @%s has no block",
                       fields->name ? fields->name : "?");
    bt_func *func = bt__store_copy(store, fields, 1, sizeof(*func));
    if (!func)
        return bt_no_memory();
    if (func->name && !(func->name = bt_name_of(store, func->name)))
        return bt_no_memory();
    func->vars = bt__store_copy(store, fields->vars, fields->nvar, sizeof(bt_type *));
    func->wheres = bt__wheres_copy(store, fields->nwhere, fields->wheres);
    if (!func->vars || !func->wheres ||
        !bt__dict_copy(store, fields->attrs, &func->attrs))
        return bt_no_memory();
    // What the block gives is the function's result where nothing else was said.
    if (!func->result && func->block->result && is_known(func->block->result->type))
        func->result = func->block->result->type;
    *out = func;
    return NULL;
}

int bt_func_is_primitive(const bt_func *func)
{
    return bt_dict_find(&func->attrs, "primitive") ||
           bt_dict_find(&func->attrs, "target");
}

const bt_type *bt_func_type_of(bt_store *store, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_type *hole = bt_type_hole(store, BT_KIND_TYPE);
    const bt_type **args = BT_NEWS(bt_store_arena(store), const bt_type *, block->nparam);
    if (!hole || !args)
        return NULL;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_type *type = block->params[i]->base.type;
        args[i] = type ? type : hole;
    }
    return bt_func_type_close(store, func->nvar, func->vars, block->nparam, args,
                              func->result ? func->result : hole, func->nwhere,
                              func->wheres);
}

/* Bounds the recursion over patterns. */
enum { MAX_PATTERN_DEPTH = 256 };

const bt_pattern *bt_pattern_create(bt_store *store, const bt_pattern *fields)
{
    bt_pattern *pattern = bt__store_copy(store, fields, 1, sizeof(*pattern));
    if (!pattern)
        return NULL;
    pattern->at = bt__store_copy(store, fields->at, fields->n, sizeof(bt_pattern *));
    if (!pattern->at)
        return NULL;
    pattern->nvar = pattern->kind == BT_PATTERN_VAR;
    pattern->depth = 1;
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_pattern *part = pattern->at[i];
        pattern->nvar += part->nvar;
        if (part->depth >= pattern->depth)
            pattern->depth = part->depth + 1;
    }
    if (pattern->depth > MAX_PATTERN_DEPTH) {
        (void)bt__refuse(store, "a pattern is nested deeper than 256");
        return NULL;
    }
    return pattern;
}

uint32_t bt_pattern_nvar(const bt_pattern *pattern)
{
    return pattern->nvar;
}

const bt_pattern *bt__pattern_with(bt_store *store, const bt_pattern *pattern,
                                   const bt_param *const *params, uint32_t *next)
{
    if (!pattern->nvar)
        return pattern;
    bt_pattern fields = *pattern;
    if (pattern->kind == BT_PATTERN_VAR)
        fields.var = params[(*next)++];
    const bt_pattern **at =
        BT_NEWS(bt_store_arena(store), const bt_pattern *, pattern->n);
    if (!at)
        return NULL;
    for (uint32_t i = 0; i < pattern->n; i++) {
        at[i] = bt__pattern_with(store, pattern->at[i], params, next);
        if (!at[i])
            return NULL;
    }
    fields.at = at;
    return bt_pattern_create(store, &fields);
}
