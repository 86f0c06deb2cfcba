/*
 * random.permutation: the slices of a tensor along its first axis in random order.
 *     for i = n-1 ... 1: slice i and slice j are exchanged, j <= i by words of the key
 * All n! orders are equally likely. Of arange: positions, for several tensors in one order.
 * The order is not that of jax.random.permutation, which sorts by random words.
 * source  Fisher, Yates; Knuth, The Art of Computer Programming 2, 3.4.2; NumPy permutation
 */
#include <string.h>

#include "draw.h"
#include "plain/permutation.h"

/* The text, which the build makes of folder plain; ops/tensor has `plain_blocks` of its own. */
extern const char *const random_blocks[];

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(key_relate(s, r));
    BT_TRY(bt_relation_tensor(s, r, 1, &data));
    if (data.rank == 0)
        return bt_relation_fail(s, r, 1,
                                "data is a scalar, which has no axis to permute");
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *key = call->in[0], *data = call->in[1];
    int64_t dims[BT_MAX_RANK];
    BT_TRY(bt_tensor_create(ctx, data->dtype, data->rank, data->dims, &call->out[0]));
    memcpy(dims, data->dims, data->rank * sizeof(*dims));
    const bt_plain_tensor in[2] = {
        { .data = key->data },
        { .data = data->data,
          .dims = dims,
          .rank = data->rank,
          .nbytes = (uint32_t)bt_dtype_nbytes(data->dtype) },
    };
    bt_plain_tensor out = { .data = call->out[0]->data };
    plain_permutation(&(bt_plain_call){ .nin = 2, .nout = 1, .in = in, .out = &out });
    return NULL;
}

static const bt_plain_facet plain = { .blocks = random_blocks,
                                      .symbol = "plain_permutation",
                                      .run = plain_permutation };

static const bt_op_input inputs[] = {
    KEY_INPUT,
    { .name = "data", .type = "t[..]", .doc = "at least one axis" },
    { 0 },
};

static const bt_gradient_facet gradient = {
    .none = "where an element goes is drawn: take the data by a permutation of positions"
};

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.permutation", .revision = 1, .source = "NumPy permutation; jax.random.permutation",
        .doc = "The slices along the first axis in random order, each order equally likely.",
        .inputs = inputs, .relate = relate, .eval = eval,
        .facets = BT_FACET_ROWS(BT_FACET("plain", plain), BT_FACET("gradient", gradient), BT_CASES(
            "uint32[2] = 0..4294967295, float32[7]\n"
            "uint32[2] = 0..4294967295, int8[40, 2, 3]\n"
            "uint32[2] = [0, 42], bool[1]\n"
            "uint32[2] = 0..4294967295, float64[5, 0]")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_permutation[] = { BT_OPS(ops), { 0 } };
