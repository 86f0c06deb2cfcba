/* Calls that no type fits: each fails with the operator, what was expected and found. */
#include "kit.h"

typedef struct error_row {
    const char *op, *attrs;
    const char *args[MAX_ARG]; /* types; a tuple in parentheses */
    const char *part;          /* of the message */
} error_row;

/* A constant of zeros of the type at the text, which moves behind it. */
static const bt_value *zeros_of(kit *k, const char **text)
{
    bt_tensor *t;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank = 0;
    const char *at = *text + strspn(*text, " (|"), *bracket = strchr(at, '[');
    bt_dtype dtype = bt_dtype_parse(at, (size_t)(bracket - at));
    assert_int_not_equal(dtype, 0);
    for (at = bracket + 1; *at != ']'; at += strspn(at, ", ")) {
        char *end;
        dims[rank++] = strtoll(at, &end, 10);
        at = end;
    }
    *text = at + 1 + strspn(at + 1, " ");
    assert_ok(k->ctx, bt_tensor_create(k->ctx, dtype, rank, dims, &t));
    const bt_value *value = const_of(k, t);
    bt_tensor_unref(t);
    return value;
}

static const bt_value *arg_of(kit *k, const char *text)
{
    const bt_value *fields[MAX_LEAF] = { 0 }, *tuple;
    uint32_t n = 0;
    int is_tuple = *text == '(';
    if (strcmp(text, "()") == 0) {
        assert_ok(k->ctx, bt_build_tuple(k->b, 0, NULL, &tuple));
        return tuple;
    }
    do {
        fields[n++] = zeros_of(k, &text);
    } while (*text == '|');
    if (!is_tuple)
        return fields[0];
    assert_ok(k->ctx, bt_build_tuple(k->b, n, fields, &tuple));
    return tuple;
}

/* Whether the call fails as the row says. */
static int run_error(kit *k, const error_row *row)
{
    const bt_value *args[MAX_ARG], *value;
    uint32_t narg = 0;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    for (; narg < MAX_ARG && row->args[narg]; narg++)
        args[narg] = arg_of(k, row->args[narg]);
    bt_status status = bt_build(k->b, row->op, row->attrs, args, narg, &value);
    int is_right =
        status && strstr(status->message, row->op) && strstr(status->message, row->part);
    if (!is_right)
        print_error("%s{%s}: expected \"%s\" in: %s\n", row->op,
                    row->attrs ? row->attrs : "", row->part,
                    status ? status->message : "success");
    bt_builder_destroy(k->b);
    k->b = NULL;
    return is_right;
}

// clang-format off
static const error_row rows[] = {
    { "add", NULL, { "bool[2]", "bool[2]" }, "must be number" },
    { "add", NULL, { "float32[2]" }, "takes 2 arguments, but is given 1" },
    { "add", NULL, { "float32[2]", "float32[2]", "float32[2]" }, "2" },
    { "add", NULL, { "(float32[2])", "float32[2]" }, "must be a tensor" },
    { "exp", NULL, { "int32[2]" }, "must be float" },
    { "bitwise_and", NULL, { "float32[2]", "float32[2]" }, "must be integer" },
    { "logical_not", NULL, { "int8[2]" }, "must be bool" },
    { "fixed_point_multiply", "multiplier=1, shift=0", { "int8[2]" }, "int32" },
    { "fixed_point_multiply", "multiplier=1, shift=40", { "int32[2]" }, "shift" },
    { "clip", "a_min=0", { "float32[2]" }, "a_max" },
    { "clip", "a_min=0, a_max=1, a_mid=2", { "float32[2]" }, "a_mid" },
    { "take", "axis=0, mode=\"reflect\"", { "float32[2]", "int32[1]" }, "mode" },
    { "take", "axis=\"x\"", { "float32[2]", "int32[1]" }, "axis" },
    { "take", "axis=0", { "float32[2]", "float32[1]" }, "must be integer" },
    { "trilu", NULL, { "float32[2]", "int32[]" }, "trilu" },
    { "invert_permutation", NULL, { "int32[2, 2]" }, "1" },
    { "add", NULL, { "float32[2, 3]", "float32[2]" }, "do not broadcast" },
    { "add", NULL, { "float32[2]", "float64[2]" }, "dtypes of" },
    { "less", NULL, { "float32[2]", "float32[3]" }, "do not broadcast" },
    { "where", NULL, { "bool[2]", "float32[3]", "float32[3]" }, "do not broadcast" },
    { "where", NULL, { "bool[2]", "float32[2]", "int8[2]" }, "dtypes of" },
    { "reinterpret", "dtype=\"int8\"", { "float32[2]" }, "float32 and int8 are not of one width" },
    { "sum", "axis=[2]", { "float32[2, 3]" }, "axis" },
    { "sum", "axis=[-3]", { "float32[2, 3]" }, "axis" },
    { "mean", "axis=[1, -1]", { "float32[2, 3]" }, "axis lists axis 1 twice" },
    { "argmax", "axis=[4]", { "float32[2, 3]" }, "axis" },
    { "cumsum", "axis=2", { "float32[2, 3]" }, "axis" },
    { "reshape", "newshape=[4]", { "float32[2, 3]" }, "elements of data and of the new shape" },
    { "reshape", "newshape=[-1, 4]", { "float32[2, 3]" }, "extents of the new shape" },
    { "reshape", "newshape=[-1, -1]", { "float32[2, 3]" }, "-1 twice" },
    { "reshape", "newshape=[0, 0, 0]", { "float32[2, 3]" }, "copies an axis that data lacks" },
    { "reshape", "newshape=[2, -3]", { "float32[2, 3]" }, "-3 joins two axes" },
    { "reshape", "newshape=[-4, 2]", { "float32[2, 3]" }, "-4 needs two dims after it" },
    { "reshape", "newshape=[-4, -1, -1, 0]", { "float32[2, 3]" }, "one and a -1" },
    { "reshape", "newshape=[-4, 2, 2, 0]", { "float32[2, 3]" }, "the axis that -4 splits" },
    { "reshape", "newshape=[-7]", { "float32[2, 3]" }, "codes 0, -1, -2, -3, -4" },
    { "reshape", "newshape=[0, -1], allowzero=True", { "float32[0, 3]" }, "-1 may be anything" },
    { "reshape", "newshape=None", { "float32[2]" }, "attribute newshape is None" },
    { "reshape", "newshape=[9223372036854775807, 9223372036854775807, -1]", { "float32[2]" }, "a dim overflows 64 bits" },
    { "tile", "reps=[2147483647]", { "float32[0, 9000000000]" }, "a dim overflows 64 bits" },
    { "zeros", "shape=[-2]", { NULL }, "dim 0 of the result would be -2" },
    { "full", "shape=None", { "float32[]" }, "attribute shape is None" },
    { "one_hot", "depth=-1", { "int32[2]", "float32[]", "float32[]" }, "dim 1 of the result would be -1" },
    { "split", "indices_or_sections=None", { "float32[2]" }, "is None" },
    { "reshape_like", NULL, { "float32[2, 3]", "float32[4]" }, "elements of data and of shape_like" },
    { "reshape_like", "lhs_begin=3", { "float32[2, 3]", "float32[6]" }, "ranges of axes" },
    { "transpose", "axes=[0]", { "float32[2, 3]" }, "axes has length 1, but data has rank 2" },
    { "transpose", "axes=[0, 0]", { "float32[2, 3]" }, "axes lists axis 0 twice" },
    { "expand_dims", "axis=3", { "float32[2, 3]" }, "axis" },
    { "squeeze", "axis=[0]", { "float32[2, 3]" }, "an axis to drop and 1" },
    { "reverse", "axis=2", { "float32[2, 3]" }, "axis" },
    { "concatenate", NULL, { "()" }, "at least one tensor" },
    { "concatenate", NULL, { "(float32[2] | float32[2, 3])" }, "field 1 has rank 2, field 0 rank 1" },
    { "concatenate", NULL, { "(float32[2] | int8[2])" }, "dtypes of" },
    { "concatenate", "axis=1", { "(float32[2, 3] | float32[3, 3])" }, "dims of the fields" },
    { "concatenate", NULL, { "(float32[])" }, "axis" },
    { "stack", NULL, { "(float32[2] | float32[3])" }, "dims of the fields" },
    { "split", "indices_or_sections=4", { "float32[6]" }, "number of sections" },
    { "split", "indices_or_sections=0", { "float32[6]" }, "asks for 0 parts" },
    { "split", "indices_or_sections=[4, 2]", { "float32[6]" }, "must ascend" },
    { "split", "indices_or_sections=[7]", { "float32[6]" }, "the last position" },
    { "strided_slice", "begin=[0, 0, 0], end=[1, 1, 1]", { "float32[2, 3]" }, "begin has length 3" },
    { "strided_slice", "begin=[0], end=[1], strides=[0]", { "float32[2]" }, "a step of 0" },
    { "strided_slice", "begin=[0, 0], end=[1, 1], axes=[1, -1]", { "float32[2, 3]" }, "axes lists axis 1 twice" },
    { "slice_like", NULL, { "float32[2, 3]", "float32[2, 4]" }, "dims of shape_like and of data" },
    { "broadcast_to", "shape=[2, 4]", { "float32[2, 3]" }, "do not broadcast" },
    { "broadcast_to", "shape=[3]", { "float32[2, 3]" }, "the shape asked for" },
    { "collapse_sum_to", "shape=[4]", { "float32[2, 3]" }, "do not broadcast" },
    { "repeat", "repeats=2, axis=2", { "float32[2, 3]" }, "axis" },
    { "full", "shape=[2]", { "float32[2]" }, "0" },
    { "take", "axis=2", { "float32[2, 3]", "int32[2]" }, "axis" },
    { "take", "axis=0, batch_dims=1", { "float32[2, 3]", "int32[2]" }, "batch_dims=1" },
    { "gather", "axis=0", { "float32[2, 3]", "int32[2]" }, "2" },
    { "gather", "axis=0", { "float32[2, 3]", "int32[2, 4]" }, "dims of indices and of data" },
    { "gather_nd", NULL, { "float32[2, 3]", "int32[3, 4]" }, "3 positions point into data of rank 2" },
    { "scatter_elements", NULL, { "float32[4]", "int32[3]", "float32[2]" }, "dims of indices and of updates" },
    { "scatter_elements", NULL, { "float32[4, 2]", "int32[3, 3]", "float32[3, 3]" }, "dims of indices and of data" },
    { "scatter_elements", NULL, { "float32[4]", "int32[3]", "int8[3]" }, "dtypes of" },
    { "scatter_elements", "reduction=\"add\"", { "bool[4]", "int32[3]", "bool[3]" }, "must be a number" },
    { "scatter_nd", NULL, { "float32[4]", "int32[2, 3]", "float32[3]" }, "the rank of data" },
    { "scatter_nd", NULL, { "float32[4, 2]", "int32[1, 3]", "float32[3, 3]" }, "dims of updates and of data" },
    { "matrix_set_diag", NULL, { "float32[3, 4]", "float32[4]" }, "the longest diagonal" },
    { "matrix_set_diag", "k1=1, k2=0", { "float32[3, 4]", "float32[3]" }, "k1 <= k2" },
    { "reverse_sequence", NULL, { "float32[2, 3]", "int32[3]" }, "seq_lengths" },
    { "sequence_mask", NULL, { "float32[2]", "int32[2]" }, "at least two axes" },
    { "topk", "k=4", { "float32[3]" }, "k and the extent of the axis" },
    { "sort", NULL, { "float32[]" }, "axis" },
    { "searchsorted", NULL, { "float32[2, 3]", "float32[3]" }, "expected 1 or that of values" },
    { "unique", NULL, { "float32[2, 3]" }, "1" },
    { "arange", NULL, { "int32[]", "int32[]", "float32[]" }, "dtypes of" },
    { "layout_transform", "src_layout=\"NCHW\", dst_layout=\"NHWD\"", { "float32[1, 2, 3, 4]" }, "the same axes" },
    { "layout_transform", "src_layout=\"NC\", dst_layout=\"NC4c\"", { "float32[1, 6]" }, "its block in dst_layout" },
    { "layout_transform", "src_layout=\"NC4c\", dst_layout=\"NC\"", { "float32[1, 6, 2]" }, "the extent of a block" },
    { "einsum", "equation=\"ij,jk->ik\"", { "(float32[2, 3] | float32[4, 2])" }, "axes of one letter" },
    { "einsum", "equation=\"ij->iz\"", { "(float32[2, 3])" }, "a letter that no operand has" },
    { "einsum", "equation=\"i...->i\"", { "(float32[2])" }, "letters, commas" },
    { "meshgrid", NULL, { "(float32[2, 3])" }, "rank 2, expected 0 or 1" },
    { "sliding_window", "axis=0, window_shape=[4], strides=[1]", { "float32[3]" }, "window_shape and the dims" },
    { "adv_index", NULL, { "(float32[3] | float32[2])" }, "must have integers" },
    { "dyn.reshape", NULL, { "float32[6]", "int32[2, 1]" }, "1" },
    { "dyn.squeeze", NULL, { "float32[2]", "int32[2]" }, "drops 2 axes of rank 1" },
};
// clang-format on

static void test_ill_typed_calls_say_why(void **state)
{
    uint32_t nwrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        nwrong += !run_error(*state, &rows[i]);
    assert_int_equal(nwrong, 0);
}

static const struct CMUnitTest tests[] = {
    TEST(test_ill_typed_calls_say_why),
};
TEST_MAIN(tests)
