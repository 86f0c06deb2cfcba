/* Comparing terms up to the names of variables and opaque dims. Terms have bounded depth,
 * so this recurses. */
#include "ir/type_match.h"

#include <string.h>

#include "ir/store.h"
#include "ir/type.h"
#include <baton/op.h>

void bt__type_match_init(bt__type_match *m, bt_arena *arena)
{
    *m = (bt__type_match){ .arena = arena };
    bt_map_init(&m->forth, arena, 0);
    bt_map_init(&m->back, arena, 0);
}

int bt__type_match_pair(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    if (bt_map_put(&m->forth, left, (void *)(uintptr_t)right) &&
        bt_map_put(&m->back, right, (void *)(uintptr_t)left))
        return 1;
    m->failed = 1;
    return 0;
}

static int matches(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    return bt__type_matches(m, left, right);
}

static int all_match(bt__type_match *m, uint32_t n, const bt_type *const *left,
                     const bt_type *const *right)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!matches(m, left[i], right[i]))
            return 0;
    }
    return 1;
}

/* ---- leaves ---- */

/* An opaque dim that is accepted as a variable takes it from nobody. */
static int vars_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_type *known = bt_map_find(&m->forth, left);
    const bt_type *from = bt_map_find(&m->back, right);
    return known ? known == right
                 : left == right && (!from || from->kind == BT_TYPE_OPAQUE);
}

static int opaques_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_type *known = bt_map_find(&m->forth, left);
    if (known)
        return known == right;
    if (!m->accepts && (right->kind != BT_TYPE_OPAQUE || bt_map_find(&m->back, right)))
        return 0;
    return bt__type_match_pair(m, left, right);
}

static int holes_match(const bt_type *left, const bt_type *right)
{
    const bt_hole_type *a = (const bt_hole_type *)(const void *)left;
    const bt_hole_type *b = (const bt_hole_type *)(const void *)right;
    return a->of_kind == b->of_kind && a->number == b->number;
}

static int bounds_match(const bt_type *left, const bt_type *right)
{
    const bt_bound_type *a = (const bt_bound_type *)(const void *)left;
    const bt_bound_type *b = (const bt_bound_type *)(const void *)right;
    return a->depth == b->depth && a->index == b->index && a->of_kind == b->of_kind;
}

/* Data types are compared by name: a definition belongs to a family of modules. */
static int adts_match(const bt_type *left, const bt_type *right)
{
    const bt_adt_type *a = (const bt_adt_type *)(const void *)left;
    const bt_adt_type *b = (const bt_adt_type *)(const void *)right;
    return a->def == b->def || strcmp(a->def->name, b->def->name) == 0;
}

static int dtypes_match(const bt_type *left, const bt_type *right)
{
    const bt_dtype_type *a = (const bt_dtype_type *)(const void *)left;
    const bt_dtype_type *b = (const bt_dtype_type *)(const void *)right;
    return a->dtype == b->dtype;
}

/* ---- with parts ---- */

static int lists_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_list_type *a = bt_as_list_type(left);
    const bt_list_type *b = bt_as_list_type(right);
    return a->n == b->n && all_match(m, a->n, a->at, b->at);
}

/* It leaves no choice: no dim known only at run time, or one that both sides name. */
static int is_settled(const bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_type *known = bt_map_find(&m->forth, left);
    return !(left->has & BT_HAS_OPAQUE) || (known ? known : left) == right;
}

/* Terms stand in the order of ids, which renaming changes. Each is paired with one of the
 * other side, those that leave no choice first, as an opaque dim may take any. */
static int terms_match(bt__type_match *m, uint32_t n, const bt_term *left,
                       const bt_term *right)
{
    uint8_t left_has[BT__DIM_TERMS] = { 0 }, right_has[BT__DIM_TERMS] = { 0 };
    uint32_t nmatch = 0;
    for (int round = 0; n <= BT__DIM_TERMS && round < 2; round++) {
        for (uint32_t at = 0; at < n * n; at++) {
            uint32_t i = at / n, k = at % n;
            if (left_has[i] || right_has[k] ||
                left[i].coefficient != right[k].coefficient ||
                (round == 0 && !is_settled(m, left[i].atom, right[k].atom)) ||
                !matches(m, left[i].atom, right[k].atom))
                continue;
            left_has[i] = right_has[k] = 1;
            nmatch++;
        }
    }
    return nmatch == n;
}

static const bt_term *terms_of(bt__type_match *m, const bt_list_type *list)
{
    bt_term *terms = BT_NEWS(m->arena, bt_term, list->n);
    for (uint32_t i = 0; terms && i < list->n; i++)
        terms[i] = (bt_term){ 1, list->at[i] };
    m->failed |= !terms;
    return terms;
}

static int bags_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_list_type *a = bt_as_list_type(left);
    const bt_list_type *b = bt_as_list_type(right);
    if (a->n != b->n || a->n > BT__DIM_TERMS)
        return a->n == b->n && all_match(m, a->n, a->at, b->at);
    const bt_term *x = terms_of(m, a), *y = terms_of(m, b);
    return x && y && terms_match(m, a->n, x, y);
}

static int linears_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_linear_type *a = (const bt_linear_type *)(const void *)left;
    const bt_linear_type *b = (const bt_linear_type *)(const void *)right;
    return a->constant == b->constant && a->n == b->n &&
           terms_match(m, a->n, a->terms, b->terms);
}

static int layouts_match(const bt_layout *a, const bt_layout *b)
{
    return a == b || (a && b && strcmp(a->text, b->text) == 0);
}

static int tensors_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_tensor_type *a = bt_as_tensor_type(left);
    const bt_tensor_type *b = bt_as_tensor_type(right);
    return layouts_match(a->layout, b->layout) && matches(m, a->dtype, b->dtype) &&
           matches(m, a->shape, b->shape);
}

static int shapes_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_shape_type *a = bt_as_shape_type(left);
    const bt_shape_type *b = bt_as_shape_type(right);
    return a->n == b->n && !a->rest == !b->rest &&
           (!a->rest || (a->position == b->position && matches(m, a->rest, b->rest))) &&
           all_match(m, a->n, a->dims, b->dims);
}

int bt_type_param_equal(const bt_type_param *a, const bt_type_param *b)
{
    return a->kind == b->kind && a->low == b->low && a->high == b->high &&
           a->step == b->step;
}

static int wheres_match(bt__type_match *m, const bt_where *a, const bt_where *b)
{
    return (a->op == b->op || strcmp(a->op->name, b->op->name) == 0) &&
           a->ntype == b->ntype && all_match(m, a->ntype, a->types, b->types) &&
           bt__attrs_match(m, a->op->attrs, a->attrs, b->attrs);
}

/* Its parameters become holes, which get their values where they are met. */
static const bt_func_type *instance_of(bt__type_match *m, const bt_func_type *func)
{
    const bt_type **args = BT_NEWS(m->arena, const bt_type *, func->nparam);
    for (uint32_t i = 0; args && i < func->nparam; i++) {
        args[i] = bt_type_hole_numbered(m->store, func->params[i].kind, ++m->ninstance);
        if (!args[i])
            args = NULL;
    }
    const bt_func_type *out = args ? bt_func_type_open(m->store, func, args) : NULL;
    m->failed |= !out;
    return out;
}

static int instance_hole_matches(bt__type_match *m, const bt_type *left,
                                 const bt_type *hole)
{
    const bt_type *known = bt_map_find(&m->back, hole);
    if (known || bt_type_kind_of(left) != bt_type_kind_of(hole))
        return known == left;
    m->failed |= !bt_map_put(&m->back, hole, (void *)(uintptr_t)left);
    return !m->failed;
}

static int funcs_match(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    const bt_func_type *a = bt_as_func_type(left);
    const bt_func_type *b = bt_as_func_type(right);
    if (m->store && a->nparam == 0 && b->nparam) {
        b = instance_of(m, b);
        return b && a->narg == b->narg && all_match(m, a->narg, a->args, b->args) &&
               matches(m, a->result, b->result);
    }
    if (a->nparam != b->nparam || a->narg != b->narg || a->nwhere != b->nwhere)
        return 0;
    for (uint32_t i = 0; i < a->nparam; i++) {
        if (!bt_type_param_equal(&a->params[i], &b->params[i]))
            return 0;
    }
    for (uint32_t i = 0; i < a->nwhere; i++) {
        if (!wheres_match(m, a->wheres[i], b->wheres[i]))
            return 0;
    }
    return all_match(m, a->narg, a->args, b->args) && matches(m, a->result, b->result);
}

static int by_kind(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    switch (left->kind) {
    case BT_TYPE_TENSOR: return tensors_match(m, left, right);
    case BT_TYPE_FUNC: return funcs_match(m, left, right);
    case BT_TYPE_ADT: return adts_match(left, right);
    case BT_TYPE_SHAPE: return shapes_match(m, left, right);
    case BT_TYPE_DTYPE: return dtypes_match(left, right);
    case BT_TYPE_VAR: return vars_match(m, left, right);
    case BT_TYPE_BOUND: return bounds_match(left, right);
    case BT_TYPE_HOLE: return holes_match(left, right);
    case BT_TYPE_LINEAR: return linears_match(m, left, right);
    case BT_TYPE_OPAQUE: return opaques_match(m, left, right);
    case BT_TYPE_TUPLE:
    case BT_TYPE_REF:
    case BT_TYPE_APPLY:
    case BT_TYPE_FLOORDIV:
    case BT_TYPE_CEILDIV:
    case BT_TYPE_MOD: return lists_match(m, left, right);
    case BT_TYPE_PRODUCT:
    case BT_TYPE_MIN:
    case BT_TYPE_MAX: return bags_match(m, left, right);
    case BT_TYPE_COUNT: break;
    }
    return 0;
}

/* A dim known only at run time, or computed from one, against any other. */
static int accepts_dim(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    uint32_t nnarrowed = m->narrowed.len;
    int is_same = left->kind == right->kind && by_kind(m, left, right);
    if (is_same && !(left->kind == BT_TYPE_OPAQUE && right->kind != BT_TYPE_OPAQUE))
        return 1;
    m->narrowed.len = nnarrowed;
    if (left->kind == BT_TYPE_OPAQUE && !is_same && !opaques_match(m, left, right))
        return 0;
    if (BT_PUSH(m->arena, &m->narrowed, right))
        return 1;
    m->failed = 1;
    return 0;
}

static int is_checked(const bt_call *call, const bt_type *left, const bt_type *right)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        if (check->relation == BT_CHECK_EQUAL &&
            ((check->left == left && check->right == right) ||
             (check->left == right && check->right == left)))
            return 1;
    }
    return 0;
}

int bt__type_matches(bt__type_match *m, const bt_type *left, const bt_type *right)
{
    if (!left || !right)
        return left == right;
    if (left == right && !(left->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return 1;
    if (m->store && right->kind == BT_TYPE_HOLE)
        return instance_hole_matches(m, left, right);
    if (m->accepts && left->kind == BT_TYPE_HOLE)
        return bt_type_kind_of(left) == bt_type_kind_of(right);
    if (m->accepts && (left->has & BT_HAS_OPAQUE) && bt_type_kind_of(left) == BT_KIND_DIM)
        return accepts_dim(m, left, right);
    if (m->call && is_checked(m->call, left, right))
        return 1;
    if (left->kind != right->kind)
        return 0;
    if (left->store == right->store)
        return by_kind(m, left, right);
    // what is shared within two stores is compared once
    return bt_map_find(&m->forth, left) == right ||
           (by_kind(m, left, right) && bt__type_match_pair(m, left, right));
}

int bt_type_equal(const bt_type *a, const bt_type *b)
{
    bt__type_match m;
    if (a == b)
        return 1;
    if (a->store == b->store || a->hash != b->hash ||
        ((a->has | b->has) & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return 0;
    bt_arena *arena = bt_arena_create(a->store->registry);
    if (!arena)
        return 0;
    bt__type_match_init(&m, arena);
    int is_equal = bt__type_matches(&m, a, b);
    bt_arena_destroy(arena);
    return is_equal;
}

int bt__type_accepts(bt_arena *arena, const bt_type *wanted, const bt_type *given)
{
    bt__type_match m;
    if (wanted == given)
        return 1;
    bt__type_match_init(&m, arena);
    m.accepts = 1;
    return bt__type_matches(&m, wanted, given) && !m.failed;
}

/* ---- attributes ---- */

static int row_matches(bt__type_match *m, const bt_attr *row, const void *left,
                       const void *right)
{
    const void *a, *b;
    memcpy(&a, (const char *)left + row->offset, sizeof(a));
    memcpy(&b, (const char *)right + row->offset, sizeof(b));
    if (row->kind == BT_ATTR_FUNC)
        return !a == !b && (!a || strcmp(((const bt_value *)a)->name,
                                         ((const bt_value *)b)->name) == 0);
    return bt__type_matches(m, a, b);
}

int bt__attrs_match(bt__type_match *m, const bt_attr *schema, const void *left,
                    const void *right)
{
    if (!schema || left == right)
        return 1;
    if (!left || !right)
        return 0;
    for (const bt_attr *row = schema; row->name; row++) {
        if (row->kind == BT_ATTR_DTYPE || row->kind == BT_ATTR_DIM ||
            row->kind == BT_ATTR_SHAPE || row->kind == BT_ATTR_TYPE ||
            row->kind == BT_ATTR_FUNC) {
            if (!row_matches(m, row, left, right))
                return 0;
            continue;
        }
        const bt_attr only[] = { *row, { 0 } };
        if (!bt_attrs_equal(only, left, right))
            return 0;
    }
    return 1;
}
