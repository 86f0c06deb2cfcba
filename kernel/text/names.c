/*
 * Names for printing: each value, type variable and shared dim of a definition gets one
 * of its own, in the order in which they are printed.
 *
 * A hint that is free is the name; a namesake gets _1, _2, ... So names that are printed
 * come back as hints that are free, and print the same again.
 */
#include "base/arena.h"
#include "ir/type.h"
#include "text/lex.h"
#include "text/print.h"

#include <string.h>

/* ---- choosing ---- */

static int take(bt__names *names, const char *name)
{
    return bt_map_put(&names->taken, name, (void *)(uintptr_t)1);
}

int bt__names_is_taken(const bt__names *names, const char *name)
{
    return bt_map_entry_find(&names->taken, name) ||
           (names->types && bt_map_entry_find(names->types, name));
}

static const char *printed(bt_arena *arena, const char *sigil, const char *name)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt__print_name(&text, sigil, name);
    return bt_text_get(&text);
}

/* The hint behind its sigil, or the first free name made from it, now taken. Locals,
 * types and dims may share a name, as their sigils differ. */
static const char *choose(bt__names *names, const char *sigil, const char *hint)
{
    const char *name = printed(names->arena, sigil, hint);
    if (!name)
        return NULL;
    int is_free = !bt__names_is_taken(names, name);
    // What a data type has is noted here only when it is asked for.
    if (!bt_map_entry_find(&names->taken, name) && !take(names, name))
        return NULL;
    if (is_free)
        return name;
    bt_map_entry *entry = bt_map_entry_find(&names->taken, name);
    for (;;) {
        uintptr_t number = (uintptr_t)entry->value;
        entry->value = (void *)(number + 1);
        const char *next = bt__format(names->arena, "%s_%u", hint, (unsigned)number);
        name = next ? printed(names->arena, sigil, next) : NULL;
        if (!name)
            return NULL;
        if (!bt__names_is_taken(names, name))
            return take(names, name) ? name : NULL;
    }
}

static int set_name(bt__names *names, const void *what, const char *name)
{
    return name && bt_map_put(&names->of, what, (void *)(uintptr_t)name);
}

const char *bt__names_find(const bt__names *names, const void *what)
{
    return bt_map_find(&names->of, what);
}

static int name_value(bt__names *names, const bt_value *value)
{
    if (value->name)
        return set_name(names, value, choose(names, "%", value->name));
    return set_name(names, value,
                    bt__format(names->arena, "%%%u", (unsigned)names->nunnamed++));
}

static const char *base_name(uint32_t kind)
{
    static const char *const bases[] = { "A", "s", "n", "t", "F" };
    return kind < BT_COUNT(bases) ? bases[kind] : "a";
}

static const bt_var_type *as_var(const bt_type *type)
{
    return type->kind == BT_TYPE_VAR ? (const bt_var_type *)(const void *)type : NULL;
}

static int is_anonymous(const bt_type *type)
{
    return as_var(type) && as_var(type)->is_anonymous;
}

/* A type variable's name never means anything else in a type. */
int bt__names_add_var(bt__names *names, const bt_type *type)
{
    const bt_var_type *var = as_var(type);
    if (!var || var->is_anonymous || bt_map_find(&names->of, type))
        return 1;
    const char *hint = var->name && *var->name ? var->name : base_name(var->param.kind);
    if (!bt__is_reserved(hint))
        return set_name(names, type, choose(names, "", hint));
    hint = bt__format(names->arena, "%s_", hint);
    return hint && set_name(names, type, choose(names, "", hint));
}

/* ---- counting shared dims ---- */

static int is_countable(const bt_type *type)
{
    return type->kind == BT_TYPE_OPAQUE || is_anonymous(type);
}

static int count_leaf(bt__names *names, const bt_type *dim)
{
    bt_map_entry *entry = bt_map_entry_find(&names->counts, dim);
    if (entry) {
        entry->value = (void *)(uintptr_t)2;
        return 1;
    }
    return bt_map_put(&names->counts, dim, (void *)(uintptr_t)1) &&
           BT_PUSH(names->arena, &names->dims, dim);
}

/* When a term is met a second time, all its dims count as shared; further times change
 * nothing. */
static int count(void *self, const bt_type *type)
{
    bt__names *names = self;
    if (!(type->has & (BT_HAS_OPAQUE | BT_HAS_VAR)))
        return 1;
    if (is_countable(type))
        return count_leaf(names, type);
    bt_map_entry *entry = bt_map_entry_find(&names->seen, type);
    if (entry) {
        if ((uintptr_t)entry->value == 2)
            return 1;
        entry->value = (void *)(uintptr_t)2;
        return bt__type_parts(type, count, names);
    }
    return bt_map_put(&names->seen, type, (void *)(uintptr_t)1) &&
           bt__type_parts(type, count, names);
}

static int count_all(bt__names *names, uint32_t n, const bt_type *const *types)
{
    for (uint32_t i = 0; i < n; i++) {
        if (types[i] && !count(names, types[i]))
            return 0;
    }
    return 1;
}

/* ---- anonymous parameters ---- */

/* The anonymous parameters of a function while its parameters' types are walked. */
struct anonymous {
    const bt_func *func;
    uint32_t first; /* they are vars[first], ... */
    uint32_t next;  /* the one that must be met next */
};

static int meet(struct anonymous *a, const bt_type *dim)
{
    uint32_t i = a->first;
    while (i < a->func->nvar && a->func->vars[i] != dim)
        i++;
    if (i == a->func->nvar || i < a->next)
        return 1; // another function's, or met before
    a->next++;
    return i == a->next - 1;
}

static int in_order(struct anonymous *a, const bt_type *type);

static int all_in_order(struct anonymous *a, uint32_t n, const bt_type *const *types)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!in_order(a, types[i]))
            return 0;
    }
    return 1;
}

/* Whether a reader of the types meets them in the order of `vars`, each as a dim by
 * itself: parts of sums and the like are printed in an order of their own. */
static int in_order(struct anonymous *a, const bt_type *type)
{
    const bt_list_type *list = bt_as_list_type(type);
    const bt_func_type *func = bt_as_func_type(type);
    if (!type || !(type->has & BT_HAS_VAR))
        return 1;
    if (type->kind == BT_TYPE_VAR)
        return !is_anonymous(type) || meet(a, type);
    if (bt_type_kind_of(type) == BT_KIND_DIM)
        return 0;
    if (type->kind == BT_TYPE_TENSOR)
        return in_order(a, bt_as_tensor_type(type)->shape);
    if (type->kind == BT_TYPE_SHAPE)
        return all_in_order(a, bt_as_shape_type(type)->n, bt_as_shape_type(type)->dims);
    if (list)
        return all_in_order(a, list->n, list->at);
    return func && !func->nwhere && all_in_order(a, func->narg, func->args) &&
           in_order(a, func->result);
}

int bt__lists_anonymous(const bt_func *func)
{
    struct anonymous a = { .func = func, .first = func->nvar };
    for (uint32_t i = func->nvar; i-- > 0 && is_anonymous(func->vars[i]);)
        a.first = i;
    a.next = a.first;
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = as_var(func->vars[i]);
        int is_plain = var && var->param.low == 0 && var->param.high == INT64_MAX &&
                       var->param.step == 1;
        if (var && var->is_anonymous && (i < a.first || !is_plain))
            return 1;
    }
    if (a.first == func->nvar)
        return 0;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!in_order(&a, func->block->params[i]->base.type))
            return 1;
    }
    return a.next != func->nvar;
}

/* ---- the walk over a definition ---- */

static int visit_block(bt__names *, const bt_block *);
static int visit_func(bt__names *, const bt_func *);

static int visit_value(bt__names *names, const bt_value *value)
{
    if (names->nested && bt_map_find(names->nested, value))
        return 1;
    return name_value(names, value) && count_all(names, 1, &value->type);
}

static int visit_attrs(bt__names *names, const bt_call *call)
{
    if (call->callee_kind != BT_CALLEE_OP || !call->attrs)
        return 1;
    for (const bt_attr *row = call->op->attrs; row && row->name; row++) {
        int is_term = row->kind == BT_ATTR_DTYPE || row->kind == BT_ATTR_DIM ||
                      row->kind == BT_ATTR_SHAPE || row->kind == BT_ATTR_TYPE;
        const bt_type *term = NULL;
        if (is_term)
            memcpy(&term, (const char *)call->attrs + row->offset, sizeof(term));
        if (!count_all(names, 1, &term))
            return 0;
    }
    return 1;
}

static int visit_call(bt__names *names, const bt_call *call)
{
    if (!count_all(names, call->ntype_arg, call->type_args) || !visit_attrs(names, call))
        return 0;
    if (call->contents && !count_all(names, call->contents->n, call->contents->dims))
        return 0;
    for (uint32_t i = 0; i < call->ncheck; i++) {
        if (!count_all(names, 1, &call->checks[i].left) ||
            !count_all(names, 1, &call->checks[i].right))
            return 0;
    }
    return 1;
}

/* All names and types of a group stand before its functions. */
static int visit_group(bt__names *names, const bt_closure_group *group)
{
    for (uint32_t i = 0; i < group->n; i++) {
        if (!visit_value(names, &group->at[i]->base))
            return 0;
    }
    for (uint32_t i = 0; i < group->n; i++) {
        if (!visit_func(names, group->at[i]->func))
            return 0;
    }
    return 1;
}

static int visit_binding(bt__names *names, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    if (closure)
        return closure->group->at[0] != closure || visit_group(names, closure->group);
    if (!visit_value(names, value))
        return 0;
    if (value->kind == BT_VALUE_CALL && !visit_call(names, bt_as_call(value)))
        return 0;
    for (uint32_t i = 0; i < bt_value_nregion(value); i++) {
        if (!visit_block(names, bt_value_region(value, i)))
            return 0;
    }
    return 1;
}

static int visit_block(bt__names *names, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!visit_value(names, &block->params[i]->base))
            return 0;
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (!visit_binding(names, block->bindings[i]))
            return 0;
    }
    return 1;
}

static int visit_func(bt__names *names, const bt_func *func)
{
    int is_listed = bt__lists_anonymous(func);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (!bt__names_add_var(names, func->vars[i]))
            return 0;
        // One that is listed by name counts as shared.
        if (is_listed && is_anonymous(func->vars[i]) &&
            (!count_leaf(names, func->vars[i]) || !count_leaf(names, func->vars[i])))
            return 0;
    }
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!visit_value(names, &func->block->params[i]->base))
            return 0;
    }
    if (!count_all(names, 1, &func->result))
        return 0;
    for (uint32_t i = 0; i < func->nwhere; i++) {
        if (!count_all(names, func->wheres[i]->ntype, func->wheres[i]->types))
            return 0;
    }
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        if (!visit_binding(names, func->block->bindings[i]))
            return 0;
    }
    return 1;
}

/* ---- shared dims ---- */

/* The first of a, b, ..., z, a1, ... that is free. */
static const char *choose_letter(bt__names *names)
{
    for (uint32_t i = 0;; i++) {
        char hint[16] = { (char)('a' + i % 26), 0 };
        const char *name =
            bt__format(names->arena, i < 26 ? "?%s" : "?%s%u", hint, (unsigned)(i / 26));
        if (!name)
            return NULL;
        if (!bt_map_entry_find(&names->taken, name))
            return take(names, name) ? name : NULL;
    }
}

static int name_dim(bt__names *names, const bt_type *dim)
{
    const char *hint = NULL;
    if (dim->kind == BT_TYPE_OPAQUE)
        hint = ((const bt_opaque_type *)(const void *)dim)->name;
    return set_name(names, dim,
                    hint && bt__is_word(hint) ? choose(names, "?", hint)
                                              : choose_letter(names));
}

/* An anonymous variable needs a name when it occurs outside of its parameter. */
static int name_dims(bt__names *names, int is_typed)
{
    for (uint32_t i = 0; i < names->dims.len; i++) {
        const bt_type *dim = names->dims.at[i];
        int is_shared = (uintptr_t)bt_map_find(&names->counts, dim) > 1;
        int is_opaque = dim->kind == BT_TYPE_OPAQUE;
        if ((is_shared || (is_opaque && !is_typed)) && !name_dim(names, dim))
            return 0;
    }
    return 1;
}

int bt__names_assign(bt__names *names, const bt_func *func, int is_typed)
{
    return visit_func(names, func) && name_dims(names, is_typed);
}

int bt__names_assign_type(bt__names *names, const bt_type *type)
{
    return !type || (count(names, type) && name_dims(names, 1));
}

bt__names *bt__names_create(bt_arena *arena, const bt_map *types)
{
    bt__names *names = BT_NEW(arena, bt__names);
    if (!names)
        return NULL;
    names->arena = arena;
    names->types = types;
    bt_map_init(&names->of, arena, 0);
    bt_map_init(&names->taken, arena, 1);
    bt_map_init(&names->seen, arena, 0);
    bt_map_init(&names->counts, arena, 0);
    return names;
}
