/* Dims, which a run finds out or is given, and what is checked of them. */
#include "encode.h"

bt_status vm_dim_number(struct vm_encoder *e, const bt_type *leaf, uint32_t *out)
{
    const uintptr_t known = (uintptr_t)bt_map_find(&e->dims, leaf);
    *out = known ? (uint32_t)known - 1 : e->dims.len;
    return known || bt_map_put(&e->dims, leaf, (void *)(uintptr_t)(*out + 1))
               ? NULL
               : bt_no_memory();
}

/* ---- terms ---- */

typedef bt_vec(const bt_type *) leaf_list;

/* Terms nest to a bounded depth. */
static int find_leaves(struct vm_encoder *e, const bt_type *dim, leaf_list *out)
{
    const bt_list_type *list;
    bt_dim_sum sum;
    if (!(dim->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return 1;
    if (bt_type_is_free(dim)) {
        for (uint32_t i = 0; i < out->len; i++) {
            if (out->at[i] == dim)
                return 1;
        }
        return BT_PUSH(e->scratch, out, dim);
    }
    list = bt_as_list_type(dim);
    for (uint32_t i = 0; list && i < list->n; i++) {
        if (!find_leaves(e, list->at[i], out))
            return 0;
    }
    if (list)
        return 1;
    bt_dim_linear(dim, &sum);
    for (uint32_t i = 0; i < sum.n; i++) {
        if (!find_leaves(e, sum.terms[i].atom, out))
            return 0;
    }
    return 1;
}

bt_status vm_term_make(struct vm_encoder *e, const bt_type *dim, struct vm_term *out)
{
    leaf_list leaves = { 0 };
    bt_dim_sum sum;
    *out = (struct vm_term){ .number = 0 };
    if (bt_dim_is_const(dim, &out->number))
        return NULL;
    if (!find_leaves(e, dim, &leaves))
        return bt_no_memory();
    struct vm_open *open = BT_NEW(e->arena, struct vm_open);
    uint32_t *dims = BT_NEWS(e->arena, uint32_t, leaves.len);
    if (!open || !dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < leaves.len; i++)
        BT_TRY(vm_dim_number(e, leaves.at[i], &dims[i]));
    *open = (struct vm_open){ .dim = dim, .n = leaves.len, .dims = dims };
    bt_dim_linear(dim, &sum);
    if (sum.n == 1 && sum.terms[0].atom == leaves.at[0]) {
        open->factor = sum.terms[0].coefficient;
        open->add = sum.constant;
    }
    out->open = open;
    if (e->program->most_dims < leaves.len)
        e->program->most_dims = leaves.len;
    return bt_dim_compile(e->ctx, e->arena, dim, leaves.len, leaves.at, &open->code);
}

static bt_status make_terms(struct vm_encoder *e, uint32_t n, const bt_type *const *dims,
                            const struct vm_term **out)
{
    struct vm_term *terms = BT_NEWS(e->arena, struct vm_term, n);
    if (!terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(vm_term_make(e, dims[i], &terms[i]));
    *out = terms;
    return NULL;
}

bt_status vm_dims_make(struct vm_encoder *e, uint32_t n, const bt_type *const *dims,
                       uint32_t *out)
{
    struct vm_list list = { .n = n };
    *out = 0;
    if (!n)
        return NULL;
    BT_TRY(make_terms(e, n, dims, &list.terms));
    *out = e->lists.len;
    return BT_PUSH(e->tables, &e->lists, list) ? NULL : bt_no_memory();
}

/* ---- shapes ---- */

/* *says: there is a tensor in it. Types nest to a bounded depth. */
static bt_status make_shape(struct vm_encoder *e, const bt_value *value,
                            const bt_type *type, struct vm_shape *out, int *says)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    *out = (struct vm_shape){ .value = value, .type = type };
    BT_TRY(vm_type_number(e->ctx, &e->program->types, type, value, &out->type_number));
    if (shape && shape->n) {
        out->rank = shape->n;
        *says = 1;
        return make_terms(e, shape->n, shape->dims, &out->axes);
    }
    struct vm_shape *fields = BT_NEWS(e->arena, struct vm_shape, tuple ? tuple->n : 0);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(make_shape(e, value, tuple->at[i], &fields[i], says));
    out->nfield = tuple ? tuple->n : 0;
    out->fields = fields;
    return NULL;
}

bt_status vm_memory_shape(struct vm_encoder *e, const bt_value *value,
                          struct vm_shape *out)
{
    const bt_shape_type *shape = bt_tensor_memory(value->type);
    const struct vm_type type = { .kind = VM_TYPE_TENSOR,
                                  .dtype = bt_tensor_dtype(value->type),
                                  .rank = shape ? shape->n : 0 };
    if (!shape)
        return bt_store_why(e->ctx, value->type->store);
    *out = (struct vm_shape){ .value = value, .type = value->type, .rank = shape->n };
    BT_TRY(vm_type_intern(e->ctx, &e->program->types, &type, &out->type_number));
    return make_terms(e, shape->n, shape->dims, &out->axes);
}

bt_status vm_shape_write(struct vm_encoder *e, uint32_t code, const bt_value *value,
                         uint32_t reg)
{
    struct vm_shape shape;
    int says = 0;
    if (code == VM_DIMS && !(value->type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    if (value->type->kind != BT_TYPE_TENSOR && value->type->kind != BT_TYPE_TUPLE)
        return NULL;
    BT_TRY(make_shape(e, value, value->type, &shape, &says));
    if (!says)
        return NULL;
    BT_TRY(vm_begin(e, code, e->shapes.len));
    BT_TRY(vm_word(e, reg & VM_REGISTER));
    return BT_PUSH(e->tables, &e->shapes, shape) ? NULL : bt_no_memory();
}

/* ---- checks of calls ---- */

bt_status vm_checks_write(struct vm_encoder *e, const bt_call *call)
{
    for (uint32_t i = 0; i < call->ncheck; i++) {
        struct vm_check check = { .call = call, .check = call->checks[i] };
        BT_TRY(vm_term_make(e, check.check.left, &check.left));
        BT_TRY(vm_term_make(e, check.check.right, &check.right));
        BT_TRY(vm_begin(e, VM_CHECK, e->checks.len));
        if (!BT_PUSH(e->tables, &e->checks, check))
            return bt_no_memory();
    }
    return NULL;
}

bt_status vm_holds_write(struct vm_encoder *e, const bt_call *call, uint32_t reg)
{
    struct vm_contents row = { .call = call };
    if (!call->contents)
        return NULL;
    row.n = call->contents->n;
    BT_TRY(make_terms(e, row.n, call->contents->dims, &row.terms));
    BT_TRY(vm_begin(e, VM_HOLDS, e->contents.len));
    BT_TRY(vm_word(e, reg & VM_REGISTER));
    return BT_PUSH(e->tables, &e->contents, row) ? NULL : bt_no_memory();
}
