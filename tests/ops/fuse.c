/* How calls may be joined, from their formulas: the kinds that Relay lists by hand. */
#include "kit.h"

static const struct {
    uint32_t kind;
    const char *op, *attrs;
    const char *args[MAX_ARG];
} rows[] = {
    { BT_FUSE_ELEMWISE, "exp", NULL, { "float32[2, 3]" } },
    { BT_FUSE_ELEMWISE, "nn.relu", NULL, { "float32[2, 3]" } },
    { BT_FUSE_ELEMWISE, "cast", "dtype=\"int8\"", { "float32[2, 3]" } },
    { BT_FUSE_ELEMWISE, "add", NULL, { "float32[2, 3]", "float32[2, 3]" } },
    { BT_FUSE_BROADCAST, "add", NULL, { "float32[2, 3]", "float32[3]" } },
    { BT_FUSE_BROADCAST, "nn.bias_add", NULL, { "float32[2, 3, 4]", "float32[3]" } },
    { BT_FUSE_BROADCAST, "expand_dims", "axis=1", { "float32[2, 3]" } },
    { BT_FUSE_INJECTIVE, "transpose", NULL, { "float32[2, 3]" } },
    { BT_FUSE_INJECTIVE, "take", NULL, { "float32[2, 3]", "int64[4]" } },
    { BT_FUSE_INJECTIVE,
      "nn.pad",
      "pad_width=[[1, 1], [0, 0]]",
      { "float32[2, 3]", "float32[]" } },
    { BT_FUSE_INJECTIVE, "reshape", "newshape=[3, 2]", { "float32[2, 3]" } },
    { BT_FUSE_INJECTIVE, "split", "indices_or_sections=3, axis=1", { "float32[2, 3]" } },
    { BT_FUSE_REDUCE, "sum", "axis=[1]", { "float32[2, 3]" } },
    { BT_FUSE_REDUCE, "nn.max_pool2d", "pool_size=[2, 2]", { "float32[1, 2, 4, 4]" } },
    { BT_FUSE_CONTRACTION, "nn.dense", NULL, { "float32[2, 3]", "float32[4, 3]" } },
    { BT_FUSE_CONTRACTION,
      "nn.conv2d",
      "padding=[1, 1]",
      { "float32[1, 2, 5, 5]", "float32[3, 2, 3, 3]" } },
    { BT_FUSE_CONTRACTION,
      "nn.conv2d",
      "groups=2",
      { "float32[1, 2, 5, 5]", "float32[4, 1, 3, 3]" } },
    { BT_FUSE_CONTRACTION,
      "nn.batch_matmul",
      NULL,
      { "float32[2, 3, 4]", "float32[2, 5, 4]" } },
    { BT_FUSE_OPAQUE, "nn.softmax", NULL, { "float32[2, 3]" } },
    { BT_FUSE_OPAQUE, "sort", NULL, { "float32[2, 3]" } },
};

static const bt_value *param_of(kit *k, const char *text)
{
    const bt_type *type;
    const bt_param *param;
    char name[32], dims[64];
    assert_int_equal(sscanf(text, "%31[^[][%63[^]]", name, dims),
                     strcmp(text, "float32[]") ? 2 : 1);
    char full[128];
    snprintf(full, sizeof(full), "Tensor[(%s), %s]",
             strcmp(text, "float32[]") ? dims : "", name);
    assert_ok(k->ctx, bt_parse_type(k->ctx, k->store, full, &type));
    assert_ok(k->ctx, bt_build_param(k->b, "x", type, &param));
    return &param->base;
}

static void test_kinds_are_those_of_relay(void **state)
{
    kit *k = *state;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        const bt_value *args[MAX_ARG], *y;
        const bt_type *types[MAX_ARG];
        bt_fuse_info info;
        uint32_t n = 0;
        for (; n < MAX_ARG && rows[i].args[n]; n++) {
            args[n] = param_of(k, rows[i].args[n]);
            types[n] = args[n]->type;
        }
        assert_ok(k->ctx, bt_build(k->b, rows[i].op, rows[i].attrs, args, n, &y));
        const bt_call *call = bt_as_call(y);
        bt_formula_call formula = { call->op, call->attrs, n, types, y->type };
        assert_ok(k->ctx, bt_fuse_look(k->ctx, &formula, &info));
        if (info.kind != rows[i].kind)
            fail_msg("%s: kind %u, expected %u", rows[i].op, info.kind, rows[i].kind);
    }
}

static const struct CMUnitTest tests[] = { TEST(test_kinds_are_those_of_relay) };
TEST_MAIN(tests)
