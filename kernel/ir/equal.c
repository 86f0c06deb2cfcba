/*
 * Structural equality of functions and modules, across stores.
 *
 * Two walks in step: the first pairs the values of both sides by their places, the second
 * compares what they hold; so it does not matter in which order closures refer to each
 * other.
 */
#include "ir/type_match.h"
#include "ir/walk.h"

#include <string.h>

#include "value/tensor.h"
#include <baton/op.h>

struct compare {
    bt_arena *arena;
    bt_map values; /* left -> right */
    bt__type_match types;
    uint32_t failed; /* no memory */
};

/* ---- constants ---- */

/* Bit for bit: a NaN equals itself, and 0 is not -0. */
static int tensors_equal(const bt_tensor *a, const bt_tensor *b)
{
    uint64_t x[2], y[2];
    if (a->dtype != b->dtype || a->rank != b->rank ||
        (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims))))
        return 0;
    if (bt_tensor_is_dense(a) && bt_tensor_is_dense(b))
        return !a->nelem || memcmp(a->data, b->data, bt_tensor_nbytes(a)) == 0;
    for (int64_t i = 0; i < a->nelem; i++) {
        if (memcmp(bt__tensor_load(a, i, x), bt__tensor_load(b, i, y), sizeof(x)))
            return 0;
    }
    return 1;
}

/* Constants nest at most as deep as bt_build_const allows. */
static int objects_equal(const bt_object *a, const bt_object *b)
{
    const bt_tensor *t = bt_object_as_tensor(a), *u = bt_object_as_tensor(b);
    const bt_tuple *v = bt_object_as_tuple(a), *w = bt_object_as_tuple(b);
    if (a == b)
        return 1;
    if (t && u)
        return tensors_equal(t, u);
    if (!v || !w || v->nfield != w->nfield)
        return 0;
    for (uint32_t i = 0; i < v->nfield; i++) {
        if (!objects_equal(v->fields[i], w->fields[i]))
            return 0;
    }
    return 1;
}

/* ---- attributes ---- */

static int texts_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int dicts_equal(bt_dict a, bt_dict b);

static int entries_equal(const bt_dict_entry *a, const bt_dict_entry *b)
{
    if (strcmp(a->name, b->name) || a->kind != b->kind)
        return 0;
    switch (a->kind) {
    case BT_DICT_FLOAT: return memcmp(&a->f, &b->f, sizeof(a->f)) == 0;
    case BT_DICT_TEXT: return texts_equal(a->text, b->text);
    case BT_DICT_NONE: return 1;
    case BT_DICT_LIST:
        return dicts_equal((bt_dict){ a->n, a->items }, (bt_dict){ b->n, b->items });
    default: return a->i == b->i;
    }
}

static int dicts_equal(bt_dict a, bt_dict b)
{
    if (a.n != b.n)
        return 0;
    for (uint32_t i = 0; i < a.n; i++) {
        if (!entries_equal(&a.at[i], &b.at[i]))
            return 0;
    }
    return 1;
}

static int ints_equal(bt_ints a, bt_ints b)
{
    return a.n == b.n &&
           (a.n <= 0 || memcmp(a.at, b.at, (size_t)a.n * sizeof(*a.at)) == 0);
}

/* ---- the first walk: shapes and places ---- */

static int pair(struct compare *c, const bt_value *a, const bt_value *b)
{
    if (bt_map_put(&c->values, a, (void *)(uintptr_t)b))
        return 1;
    c->failed = 1;
    return 0;
}

static int pair_params(struct compare *c, const bt_block *a, const bt_block *b)
{
    if (a->nparam != b->nparam || a->nbinding != b->nbinding)
        return 0;
    for (uint32_t i = 0; i < a->nparam; i++) {
        if (!pair(c, &a->params[i]->base, &b->params[i]->base))
            return 0;
    }
    return 1;
}

static int pair_vars(struct compare *c, uint32_t n, const bt_type *const *a,
                     const bt_type *const *b)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!bt_type_param_equal(&bt_as_var_type(a[i])->param,
                                 &bt_as_var_type(b[i])->param) ||
            !bt__type_match_pair(&c->types, a[i], b[i]))
            return 0;
    }
    return 1;
}

static int pair_values(struct compare *c, const bt_value *a, const bt_value *b)
{
    if (a->kind != b->kind || bt_value_nregion(a) != bt_value_nregion(b) ||
        bt_value_noperand(a) != bt_value_noperand(b) || !pair(c, a, b))
        return 0;
    if (a->kind == BT_VALUE_CLOSURE) {
        const bt_func *f = bt_as_closure(a)->func, *g = bt_as_closure(b)->func;
        if (f->nvar != g->nvar || !pair_vars(c, f->nvar, f->vars, g->vars))
            return 0;
    }
    for (uint32_t i = 0; i < bt_value_nregion(a); i++) {
        if (!pair_params(c, bt_value_region(a, i), bt_value_region(b, i)))
            return 0;
    }
    return 1;
}

/* ---- the second walk: contents ---- */

static int operands_equal(struct compare *c, const bt_value *a, const bt_value *b)
{
    if (a->kind != b->kind)
        return 0;
    if (a->kind == BT_VALUE_GLOBAL)
        return strcmp(a->name, b->name) == 0;
    if (a->kind == BT_VALUE_CONST)
        return objects_equal(bt_as_const(a)->object, bt_as_const(b)->object);
    const bt_value *partner = bt_map_find(&c->values, a);
    return partner ? partner == b
                   : a == b; // a value bound outside of both blocks equals itself
}

static int params_equal(struct compare *c, const bt_block *a, const bt_block *b)
{
    for (uint32_t i = 0; i < a->nparam; i++) {
        const bt_value *p = &a->params[i]->base, *q = &b->params[i]->base;
        if (p->device != q->device || !bt__type_matches(&c->types, p->type, q->type))
            return 0;
    }
    return 1;
}

static int ctors_equal(const bt_ctor *a, const bt_ctor *b)
{
    return a == b || (!strcmp(a->name, b->name) && !strcmp(a->adt->name, b->adt->name));
}

static int checks_equal(struct compare *c, const bt_call *a, const bt_call *b)
{
    if (a->ncheck != b->ncheck)
        return 0;
    for (uint32_t i = 0; i < a->ncheck; i++) {
        if (a->checks[i].relation != b->checks[i].relation ||
            !bt__type_matches(&c->types, a->checks[i].left, b->checks[i].left) ||
            !bt__type_matches(&c->types, a->checks[i].right, b->checks[i].right))
            return 0;
    }
    return 1;
}

static int types_equal(struct compare *c, uint32_t n, const bt_type *const *a,
                       const bt_type *const *b)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!bt__type_matches(&c->types, a[i], b[i]))
            return 0;
    }
    return 1;
}

/* What they are stated to hold. */
static int statements_equal(struct compare *c, const bt_contents *a, const bt_contents *b)
{
    return a && b ? a->n == b->n && types_equal(c, a->n, a->dims, b->dims) : a == b;
}

static int calls_equal(struct compare *c, const bt_call *a, const bt_call *b)
{
    if (a->callee_kind != b->callee_kind || a->ntype_arg != b->ntype_arg)
        return 0;
    if (a->callee_kind == BT_CALLEE_CTOR && !ctors_equal(a->ctor, b->ctor))
        return 0;
    if (a->callee_kind == BT_CALLEE_OP &&
        ((a->op != b->op && strcmp(a->op->name, b->op->name)) ||
         !bt__attrs_match(&c->types, a->op->attrs, a->attrs, b->attrs)))
        return 0;
    return types_equal(c, a->ntype_arg, a->type_args, b->type_args) &&
           statements_equal(c, a->contents, b->contents) && checks_equal(c, a, b);
}

static int patterns_equal(struct compare *c, const bt_pattern *a, const bt_pattern *b)
{
    if (a->kind != b->kind || a->n != b->n)
        return 0;
    if (a->kind == BT_PATTERN_VAR && bt_map_find(&c->values, a->var) != b->var)
        return 0;
    if (a->kind == BT_PATTERN_CTOR && !ctors_equal(a->ctor, b->ctor))
        return 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!patterns_equal(c, a->at[i], b->at[i]))
            return 0;
    }
    return 1;
}

static int matches_equal(struct compare *c, const bt_match *a, const bt_match *b)
{
    for (uint32_t i = 0; i < a->nclause; i++) {
        if (!patterns_equal(c, a->clauses[i]->pattern, b->clauses[i]->pattern))
            return 0;
    }
    return a->otherwise && b->otherwise ? strcmp(a->otherwise, b->otherwise) == 0
                                        : a->otherwise == b->otherwise;
}

static int signatures_equal(struct compare *c, const bt_func *a, const bt_func *b)
{
    if (a->nwhere != b->nwhere || !dicts_equal(a->attrs, b->attrs) ||
        !bt__type_matches(&c->types, a->result, b->result))
        return 0;
    for (uint32_t i = 0; i < a->nwhere; i++) {
        const bt_where *v = a->wheres[i], *w = b->wheres[i];
        if (strcmp(v->op->name, w->op->name) || v->ntype != w->ntype ||
            !bt__attrs_match(&c->types, v->op->attrs, v->attrs, w->attrs) ||
            !types_equal(c, v->ntype, v->types, w->types))
            return 0;
    }
    return 1;
}

static int parts_equal(struct compare *c, const bt_value *a, const bt_value *b)
{
    const bt_closure_value *f = bt_as_closure(a);
    switch (a->kind) {
    case BT_VALUE_CALL: return calls_equal(c, bt_as_call(a), bt_as_call(b));
    case BT_VALUE_CLOSURE:
        return f->group->n == bt_as_closure(b)->group->n &&
               signatures_equal(c, f->func, bt_as_closure(b)->func);
    case BT_VALUE_PROJ: return bt_as_proj(a)->index == bt_as_proj(b)->index;
    case BT_VALUE_MATCH: return matches_equal(c, bt_as_match(a), bt_as_match(b));
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_TUPLE:
    case BT_VALUE_IF:
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE:
    case BT_VALUE_COUNT: break;
    }
    return 1;
}

static int values_equal(struct compare *c, const bt_value *a, const bt_value *b)
{
    if (a->device != b->device || !bt__type_matches(&c->types, a->type, b->type) ||
        !parts_equal(c, a, b))
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(a); i++) {
        if (!operands_equal(c, bt_value_operand(a, i), bt_value_operand(b, i)))
            return 0;
    }
    for (uint32_t i = 0; i < bt_value_nregion(a); i++) {
        const bt_block *p = bt_value_region(a, i), *q = bt_value_region(b, i);
        if (!params_equal(c, p, q) || !operands_equal(c, p->result, q->result))
            return 0;
    }
    return 1;
}

/* ---- both ---- */

/* Calls `equal` for the bindings of both sides in step, until it says no. */
static int in_step(struct compare *c, const bt_block *a, const bt_block *b,
                   int (*equal)(struct compare *, const bt_value *, const bt_value *))
{
    bt__walk left, right;
    const bt_value *x, *y;
    bt__walk_begin(&left, c->arena, a);
    bt__walk_begin(&right, c->arena, b);
    do {
        x = bt__walk_next(&left);
        y = bt__walk_next(&right);
        if (left.failed || right.failed)
            c->failed = 1;
        if (c->failed || !x != !y || (x && !equal(c, x, y)))
            return 0;
    } while (x);
    return 1;
}

static int funcs_equal(struct compare *c, const bt_func *a, const bt_func *b)
{
    return a->nvar == b->nvar && pair_vars(c, a->nvar, a->vars, b->vars) &&
           pair_params(c, a->block, b->block) &&
           in_step(c, a->block, b->block, pair_values) &&
           params_equal(c, a->block, b->block) && signatures_equal(c, a, b) &&
           in_step(c, a->block, b->block, values_equal) &&
           operands_equal(c, a->block->result, b->block->result);
}

static void compare_init(struct compare *c, bt_arena *arena)
{
    *c = (struct compare){ .arena = arena };
    bt_map_init(&c->values, arena, 0);
    bt__type_match_init(&c->types, arena);
}

int bt_func_equal(bt_registry *registry, const bt_func *a, const bt_func *b)
{
    struct compare c;
    if (a == b)
        return 1;
    bt_arena *arena = bt_arena_create(registry);
    if (!arena)
        return 0;
    compare_init(&c, arena);
    int equal = funcs_equal(&c, a, b) && !c.failed && !c.types.failed;
    bt_arena_destroy(arena);
    return equal;
}

/* ---- modules ---- */

static int adts_equal(bt_arena *arena, const bt_adt_def *a, const bt_adt_def *b)
{
    struct compare c;
    compare_init(&c, arena);
    if (a->nvar != b->nvar || a->nctor != b->nctor || a->is_extern != b->is_extern ||
        !pair_vars(&c, a->nvar, a->vars, b->vars))
        return 0;
    for (uint32_t i = 0; i < a->nctor; i++) {
        const bt_ctor *p = a->ctors[i], *q = b->ctors[i];
        if (strcmp(p->name, q->name) || p->nfield != q->nfield ||
            !types_equal(&c, p->nfield, p->fields, q->fields))
            return 0;
    }
    return !c.types.failed;
}

int bt_gradient_spec_equal(const bt_gradient_spec *a, const bt_gradient_spec *b)
{
    return a->from == b->from && ints_equal(a->wrt, b->wrt) &&
           ints_equal(a->keep, b->keep) && a->is_seeded == b->is_seeded &&
           a->is_forward == b->is_forward;
}

uint32_t bt_gradient_spec_nwrt(const bt_gradient_spec *spec, uint32_t nparam)
{
    return spec->wrt.n == BT_NONE_LIST ? nparam : (uint32_t)spec->wrt.n;
}

int64_t bt_gradient_spec_wrt(const bt_gradient_spec *spec, uint32_t index)
{
    return spec->wrt.n == BT_NONE_LIST ? (int64_t)index : spec->wrt.at[index];
}

int bt_gradient_spec_is_wrt(const bt_gradient_spec *spec, uint32_t param)
{
    for (int64_t i = 0; i < spec->wrt.n; i++) {
        if (spec->wrt.at[i] == (int64_t)param)
            return 1;
    }
    return spec->wrt.n == BT_NONE_LIST;
}

static int globals_equal(bt_arena *arena, const bt_global *a, const bt_global *b)
{
    struct compare c;
    compare_init(&c, arena);
    if (a == b)
        return 1;
    if (a->kind != b->kind || !bt__type_matches(&c.types, a->type, b->type) ||
        !dicts_equal(a->attrs, b->attrs) || c.types.failed)
        return 0;
    switch (a->kind) {
    case BT_GLOBAL_FUNC:
        return a->func == b->func ||
               (funcs_equal(&c, a->func, b->func) && !c.failed && !c.types.failed);
    case BT_GLOBAL_CONST:
        return objects_equal(bt_as_const(a->value)->object,
                             bt_as_const(b->value)->object);
    case BT_GLOBAL_GRADIENT:
        return texts_equal(a->primal, b->primal) &&
               bt_gradient_spec_equal(&a->gradient, &b->gradient);
    default: return 1;
    }
}

static int contents_equal(bt_arena *arena, const bt_module *a, const bt_module *b)
{
    if (a->nglobal != b->nglobal || a->nadt != b->nadt ||
        !dicts_equal(a->attrs, b->attrs))
        return 0;
    for (uint32_t i = 0; i < a->nadt; i++) {
        const bt_adt_def *other = bt_module_find_adt(b, a->adts[i]->name);
        if (!other || !adts_equal(arena, a->adts[i], other))
            return 0;
    }
    for (uint32_t i = 0; i < a->nglobal; i++) {
        const void *mark = bt_arena_mark(arena);
        const bt_global *other = bt_module_find(b, a->globals[i]->name);
        if (!other || !globals_equal(arena, a->globals[i], other))
            return 0;
        bt_arena_release(arena, mark);
    }
    return 1;
}

int bt_module_equal(const bt_module *a, const bt_module *b)
{
    if (a == b)
        return 1;
    bt_arena *arena = bt_arena_create(bt_store_registry(a->store));
    int equal = arena && contents_equal(arena, a, b);
    bt_arena_destroy(arena);
    return equal;
}
