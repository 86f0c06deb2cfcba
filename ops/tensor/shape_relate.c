#include "shape_relate.h"
#include "shape_codes.h"

typedef struct dims {
    uint32_t n;
    const bt_type *at[BT_MAX_RANK];
} dims;

bt_status shape_product(bt_solver *s, const bt_relation_call *r, uint32_t n,
                        const bt_type *const *factors, const bt_type **out)
{
    const bt_type *product = bt_dim(bt_relation_store(s), 1);
    for (uint32_t i = 0; product && i < n; i++) {
        const bt_type *dim;
        BT_TRY(bt_relation_dim(s, r, factors[i], &dim));
        product = bt_dim_mul(bt_relation_store(s), product, dim);
    }
    *out = product;
    return product ? NULL : bt_relation_result(s, r, NULL);
}

/* Takes out what stands on both sides; a 0 stays, for it leaves the rest open. */
static void cancel(dims *a, dims *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        for (uint32_t j = 0; j < b->n; j++) {
            int64_t number = 1;
            bt_dim_is_const(b->at[j], &number);
            if (a->at[i] != b->at[j] || number == 0)
                continue;
            a->at[i--] = a->at[--a->n];
            b->at[j] = b->at[--b->n];
            break;
        }
    }
}

/* An extent that became 0 stood for the axis that did, where there is one: that is taken
 * out. */
static int take_nothing(dims *data)
{
    for (uint32_t i = 0; i < data->n; i++) {
        int64_t number;
        if (bt_dim_is_const(data->at[i], &number) && number == 0) {
            data->at[i] = data->at[--data->n];
            return 1;
        }
    }
    return 0;
}

static bt_status divide(bt_solver *s, const bt_relation_call *r, const bt_type *a,
                        const bt_type *b, const bt_type **out)
{
    int64_t divisor;
    if (bt_dim_is_const(b, &divisor) && divisor == 0)
        return bt_relation_fail(s, r, -1,
                                "with an extent of 0 in it, -1 may be anything");
    BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, a, b,
                               "elements of data and the extents of the new shape"));
    *out = bt_dim_floordiv(bt_relation_store(s), a, b);
    return *out ? NULL : bt_relation_result(s, r, NULL);
}

/* What neither copies nor splits must have as many elements as the axes left over. */
static bt_status balance(bt_solver *s, const bt_relation_call *r, dims *data,
                         dims *target, const bt_type **rest)
{
    const bt_type *have, *want;
    cancel(data, target);
    BT_TRY(shape_product(s, r, data->n, data->at, &have));
    BT_TRY(shape_product(s, r, target->n, target->at, &want));
    if (rest)
        return divide(s, r, have, want, rest);
    return bt_relation_unify(s, r, have, want, "elements of data and of the new shape");
}

static bt_status split(bt_solver *s, const bt_relation_call *r, const shape_parts *parts,
                       uint32_t k, const bt_tensor_parts *data,
                       const bt_type *const *target, const bt_type **out)
{
    const shape_part *part = &parts->at[k];
    const bt_type *axis, *product, *both[2] = { NULL, target[part->at] };
    if (part->kind == SHAPE_QUOTIENT) {
        BT_TRY(bt_relation_dim(s, r, data->dims[part->axis], &axis));
        return divide(s, r, axis, target[part->at], out);
    }
    *out = target[part->at];
    if (k == 0 || parts->at[k - 1].kind != SHAPE_SPLIT ||
        parts->at[k - 1].axis != part->axis)
        return NULL;
    both[0] = target[parts->at[k - 1].at];
    BT_TRY(shape_product(s, r, 2, both, &product));
    return bt_relation_unify(s, r, data->dims[part->axis], product,
                             "the axis that -4 splits and its parts");
}

static bt_status build(bt_solver *s, const bt_relation_call *r, const shape_parts *parts,
                       const bt_tensor_parts *data, const bt_type *const *target)
{
    const bt_type *out[BT_MAX_RANK] = { NULL }, **rest = NULL;
    dims left = { 0 }, literal = { 0 };
    for (uint32_t k = 0; k < data->rank; k++) {
        if (!parts->is_used[k])
            left.at[left.n++] = data->dims[k];
    }
    for (uint32_t k = 0; k < parts->n; k++) {
        const shape_part *part = &parts->at[k];
        switch (part->kind) {
        case SHAPE_LITERAL: literal.at[literal.n++] = out[k] = target[part->at]; break;
        case SHAPE_NOTHING:
            if (!(out[k] = bt_dim(bt_relation_store(s), 0)))
                return bt_relation_result(s, r, NULL);
            if (!take_nothing(&left))
                literal.at[literal.n++] = out[k];
            break;
        case SHAPE_COPY: out[k] = data->dims[part->axis]; break;
        case SHAPE_PRODUCT:
            BT_TRY(shape_product(s, r, 2, data->dims + part->axis, &out[k]));
            break;
        case SHAPE_REST: rest = &out[k]; break;
        default: BT_TRY(split(s, r, parts, k, data, target, &out[k]));
        }
    }
    BT_TRY(balance(s, r, &left, &literal, rest));
    return bt_relation_result_tensor(s, r, parts->n, out, data->dtype);
}

bt_status shape_relate(bt_solver *s, const bt_relation_call *r, int64_t n,
                       const bt_type *const *target, int allow_zero)
{
    bt_tensor_parts data;
    shape_parts parts;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    int64_t *codes = bt_relation_alloc(s, (size_t)n, sizeof *codes);
    if (!codes)
        return bt_no_memory();
    for (int64_t i = 0; i < n; i++) {
        if (!bt_dim_is_const(target[i], &codes[i]))
            codes[i] = INT64_MAX; // an extent, whichever it is
    }
    const char *wrong = shape_resolve(n, codes, data.rank, allow_zero, &parts);
    if (wrong)
        return bt_relation_fail(s, r, -1, "%s; data has rank %u", wrong, data.rank);
    return build(s, r, &parts, &data, target);
}
