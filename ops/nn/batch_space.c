/*
 * nn.space_to_batch_nd, nn.batch_to_space_nd: blocks of space become batches, and back.
 *     data (n, s0, s1, .., rest..), block_shape [b0, b1, ..]
 *     nn.space_to_batch_nd   y[(i0*b1 + i1)*n + k, p0, p1, ..] =
 *                            padded[k, p0*b0 + i0, p1*b1 + i1, ..]
 *     nn.batch_to_space_nd   the inverse; crops are cut away
 * paddings and crops hold (before, after) of each axis of space, one after another.
 * source  Relay's operators of the same names; TensorFlow
 */
#include <string.h>

#include <baton/op.h>

enum { MAX_BLOCK = 8 };

struct space_attrs {
    bt_ints block_shape, paddings;
    double pad_value;
};
struct batch_attrs {
    bt_ints block_shape, crops;
};
static const bt_attr space_attrs[] = {
    BT_ATTR_RANGE(struct space_attrs, block_shape, INTS, "[1, 1]", 1, INT16_MAX,
                  "extents of a block along the axes after the first"),
    BT_ATTR_RANGE(struct space_attrs, paddings, INTS, NULL, 0, INT32_MAX,
                  "elements added before and after each axis of space"),
    BT_ATTR(struct space_attrs, pad_value, FLOAT, "0", "what is added"),
    { 0 },
};
static const bt_attr batch_attrs[] = {
    BT_ATTR_RANGE(struct batch_attrs, block_shape, INTS, "[1, 1]", 1, INT16_MAX,
                  "extents of a block along the axes after the first"),
    BT_ATTR_RANGE(struct batch_attrs, crops, INTS, NULL, 0, INT32_MAX,
                  "elements cut before and after each axis of space"),
    { 0 },
};
static const bt_op_input space_inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, space, rest" },
    { 0 },
};
static const bt_op_input batch_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "batch of blocks, space, rest" },
    { 0 },
};

/* ---- types ---- */

/* Elements of a block. */
static bt_status block_nelem(bt_solver *s, const bt_relation_call *r,
                             const bt_ints *block, const char *name, const bt_ints *ends,
                             uint32_t rank, int64_t *out)
{
    *out = 1;
    if (block->n < 0 || block->n >= rank || block->n > MAX_BLOCK)
        return bt_relation_fail(s, r, -1,
                                "block_shape has %lld extents; data of rank %u takes up "
                                "to %u",
                                (long long)block->n, rank,
                                rank > MAX_BLOCK ? MAX_BLOCK
                                : rank           ? rank - 1
                                                 : 0);
    if (ends->n != 2 * block->n)
        return bt_relation_fail(s, r, -1, "%s has %lld numbers; %lld are expected", name,
                                (long long)ends->n, 2 * (long long)block->n);
    for (int64_t i = 0; i < block->n; i++) {
        if (!bt_mul_int64(*out, block->at[i], out))
            return bt_relation_fail(s, r, -1, "block_shape is too large");
    }
    return NULL;
}

static bt_status relate_space(bt_solver *s, const bt_relation_call *r)
{
    const struct space_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *known, *by;
    int64_t nelem;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(
        block_nelem(s, r, &a->block_shape, "paddings", &a->paddings, data.rank, &nelem));
    BT_TRY(bt_relation_dim(s, r, data.dims[0], &known));
    dims[0] = bt_dim_scale(store, known, nelem, 0);
    for (uint32_t i = 1; i < data.rank; i++) {
        dims[i] = data.dims[i];
        if (i > a->block_shape.n)
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &known));
        known = bt_dim_scale(store, known, 1,
                             a->paddings.at[2 * i - 2] + a->paddings.at[2 * i - 1]);
        by = bt_dim(store, a->block_shape.at[i - 1]);
        dims[i] = known && by ? bt_dim_floordiv(store, known, by) : NULL;
        if (!dims[i])
            return bt_no_memory();
        BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, known, by,
                                   "a padded axis and its block"));
    }
    return dims[0] ? bt_relation_result_tensor(s, r, data.rank, dims, data.dtype)
                   : bt_no_memory();
}

static bt_status relate_batch(bt_solver *s, const bt_relation_call *r)
{
    const struct batch_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *known, *by, *zero = bt_dim(store, 0);
    int64_t nelem;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(block_nelem(s, r, &a->block_shape, "crops", &a->crops, data.rank, &nelem));
    BT_TRY(bt_relation_dim(s, r, data.dims[0], &known));
    by = bt_dim(store, nelem);
    dims[0] = by ? bt_dim_floordiv(store, known, by) : NULL;
    if (!dims[0] || !zero)
        return bt_no_memory();
    BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, known, by,
                               "the batch and the elements of a block"));
    for (uint32_t i = 1; i < data.rank; i++) {
        dims[i] = data.dims[i];
        if (i > a->block_shape.n)
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &known));
        dims[i] = bt_dim_scale(store, known, a->block_shape.at[i - 1],
                               -a->crops.at[2 * i - 2] - a->crops.at[2 * i - 1]);
        if (!dims[i])
            return bt_no_memory();
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, zero, dims[i],
                                   "nothing and an axis that is cut"));
    }
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

/* ---- formulas ---- */

static void write_space(bt_formula *f, const bt_formula_call *call)
{
    const struct space_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t nblock = (uint32_t)a->block_shape.n;
    bt_formula_item(f, "y", "k in nblock * extent(data, 0)");
    bt_formula_item(f, "at", "mod(k, extent(data, 0))");
    for (uint32_t i = 0; i < nblock; i++) {
        // the place in the block along this axis: what counts faster is divided off
        bt_formula_clear(f, "faster");
        bt_formula_item(f, "faster", "1");
        bt_formula_each(f, "faster", i + 1, nblock, "block_shape[#]");
        bt_formula_item(f, "y",
                        "p%u in floordiv(extent(data, %u) + paddings[%u] + paddings[%u], "
                        "block_shape[%u])",
                        i + 1, i + 1, 2 * i, 2 * i + 1, i);
        bt_formula_item(
            f, "at",
            "p%u*block_shape[%u] + mod(floordiv(floordiv(k, extent(data, 0)), "
            "$[*]faster), block_shape[%u]) - paddings[%u]",
            i + 1, i, i, 2 * i);
    }
    bt_formula_each(f, "y", nblock + 1, rank, "p# in extent(data, #)");
    bt_formula_each(f, "at", nblock + 1, rank, "p#");
    bt_formula_item(f, "block", "1");
    bt_formula_each(f, "block", 0, nblock, "block_shape[#]");
    bt_formula_add(f, "nblock = $[*]block;\n"
                      "y: t[$y] = data[$at] else t(pad_value)");
}

static void write_batch(bt_formula *f, const bt_formula_call *call)
{
    const struct batch_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t nblock = (uint32_t)a->block_shape.n;
    bt_formula_item(f, "y", "k in n");
    bt_formula_item(f, "place", "0");
    for (uint32_t i = 0; i < nblock; i++) {
        bt_formula_clear(f, "faster");
        bt_formula_item(f, "faster", "mod(p%u + crops[%u], block_shape[%u])", i + 1,
                        2 * i, i);
        bt_formula_each(f, "faster", i + 1, nblock, "block_shape[#]");
        bt_formula_item(f, "place", "$[*]faster");
        bt_formula_item(f, "y",
                        "p%u in extent(data, %u)*block_shape[%u] - crops[%u] - crops[%u]",
                        i + 1, i + 1, i, 2 * i, 2 * i + 1);
    }
    bt_formula_item(f, "at", "n*($[ + ]place) + k");
    for (uint32_t i = 0; i < nblock; i++)
        bt_formula_item(f, "at", "floordiv(p%u + crops[%u], block_shape[%u])", i + 1,
                        2 * i, i);
    bt_formula_each(f, "y", nblock + 1, rank, "p# in extent(data, #)");
    bt_formula_each(f, "at", nblock + 1, rank, "p#");
    bt_formula_item(f, "block", "1");
    bt_formula_each(f, "block", 0, nblock, "block_shape[#]");
    bt_formula_add(f, "n = floordiv(extent(data, 0), $[*]block);\ny: t[$y] = data[$at]");
}

static const bt_op ops[] = {
    {
        .name = "nn.space_to_batch_nd",
        .revision = 1,
        .doc = "Puts the elements of blocks of space into batches of their own.",
        .source = "Relay, nn.space_to_batch_nd; TensorFlow, space_to_batch_nd",
        .inputs = space_inputs,
        .attrs = space_attrs,
        .attrs_nbytes = sizeof(struct space_attrs),
        .relate = relate_space,
        .write_formula = write_space,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 4, 6, 3] | block_shape=[2, 3], paddings=[(0, 0), (0, 0)]\n"
            "float32[1, 3, 5] | block_shape=[2, 3], paddings=[0, 1, 2, 2], "
            "pad_value=1.5\n"
            "int8[3, 5] | block_shape=[2], paddings=[1, 0]\n"
            "float32[2, 2, 3, 4] | block_shape=[2, 3, 2], paddings=[0, 0, 0, 0, 0, 0]")),
    },
    {
        .name = "nn.batch_to_space_nd",
        .revision = 1,
        .doc = "Puts batches back into the blocks of space that they came from.",
        .source = "Relay, nn.batch_to_space_nd; TensorFlow, batch_to_space_nd",
        .inputs = batch_inputs,
        .attrs = batch_attrs,
        .attrs_nbytes = sizeof(struct batch_attrs),
        .relate = relate_batch,
        .write_formula = write_batch,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[12, 2, 2, 3] | block_shape=[2, 3], crops=[0, 0, 0, 0]\n"
            "float32[6, 2, 3] | block_shape=[2, 3], crops=[0, 1, 2, 2]\n"
            "bool[6, 3] | block_shape=[2], crops=[1, 0]\n"
            "int8[24, 1, 1, 2] | block_shape=[2, 3, 2], crops=[0, 0, 0, 0, 0, 0]")),
    },
    { 0 },
};
const bt_table bt_ops_nn_batch_space[] = { BT_OPS(ops), { 0 } };
