/* Each allocation of a call fails once: typing, reading the formula and running report
 * it, lose nothing, and the next try succeeds. */
#include "failing_allocator.h"
#include "kit.h"

// clang-format off
static const call_row rows[] = {
    { "add", NULL, { "int32[2] 1 2", "int32[] 3" }, { "int32[2] 4 5" }, 0 },
    { "reshape", "newshape=[-1, 2]", { "float32[4] 1 2 3 4" }, { "float32[2, 2] 1 2 3 4" }, 0 },
    { "concatenate", NULL, { "(int64[1] 1 | int64[2] 2 3)" }, { "int64[3] 1 2 3" }, 0 },
    { "split", "indices_or_sections=[1]", { "int8[3] 1 2 3" }, { "int8[1] 1", "int8[2] 2 3" }, 0 },
    { "take", NULL, { "float32[2, 2] 1 2 3 4", "int32[2] 3 0" }, { "float32[2] 4 1" }, 0 },
    { "variance", "axis=[0]", { "float32[2, 1] 1 3" }, { "float32[1] 1" }, 0 },
    { "strided_slice", "begin=[1], end=[9]", { "int32[3] 1 2 3" }, { "int32[2] 2 3" }, 0 },
    { "scatter_nd", NULL, { "float32[2] 1 2", "int32[1, 1] 1", "float32[1] 5" }, { "float32[2] 1 5" }, 0 },
    { "einsum", "equation=\"i,i->\"", { "(float32[2] 1 2 | float32[2] 3 4)" }, { "float32[] 11" }, 0 },
    { "layout_transform", "src_layout=\"AB\", dst_layout=\"BA\"", { "int8[1, 2] 1 2" }, { "int8[2, 1] 1 2" }, 0 },
    { "sort", NULL, { "float32[3] 3 1 2" }, { "float32[3] 1 2 3" }, 0 },
    { "argsort", NULL, { "float32[3] 3 1 2" }, { "int32[3] 1 2 0" }, 0 },
    { "topk", "k=2", { "float32[3] 3 1 2" }, { "float32[2] 3 2", "int32[2] 0 2" }, 0 },
    { "unique", "return_counts=True", { "int32[3] 2 1 2" }, { "int32[2] 1 2", "int32[2] 1 0", "int32[3] 1 0 1", "int32[1] 2", "int32[2] 1 2" }, 0 },
    { "searchsorted", NULL, { "float32[2] 1 3", "float32[1] 2" }, { "int32[1] 1" }, 0 },
    { "argwhere", NULL, { "bool[2] 0 1" }, { "int32[1, 1] 1" }, 0 },
    { "arange", NULL, { "int32[] 0", "int32[] 2", "int32[] 1" }, { "int32[2] 0 1" }, 0 },
    { "reinterpret", "dtype=\"int32\"", { "float32[1] 0" }, { "int32[1] 0" }, 0 },
    { "strided_set", NULL, { "int8[2] 1 2", "int8[1] 9", "int32[1] 0", "int32[1] 1", "int32[1] 1" }, { "int8[2] 9 2" }, 0 },
    { "dyn.reshape", NULL, { "int8[2] 1 2", "int32[2] 1 -1" }, { "int8[1, 2] 1 2" }, 0 },
    { "dyn.broadcast_to", NULL, { "int8[] 1", "int32[1] 2" }, { "int8[2] 1 1" }, 0 },
    { "dyn.full", "dtype=\"int8\"", { "int32[] 1", "int32[1] 2" }, { "int8[2] 1 1" }, 0 },
    { "dyn.tile", NULL, { "int8[1] 1", "int32[1] 2" }, { "int8[2] 1 1" }, 0 },
    { "dyn.strided_slice", NULL, { "int8[2] 1 2", "int32[1] 1", "int32[1] 2", "int32[1] 1" }, { "int8[1] 2" }, 0 },
    { "dyn.one_hot", "dtype=\"int8\"", { "int32[1] 1", "int32[] 1", "int32[] 0", "int32[] 2" }, { "int8[1, 2] 0 1" }, 0 },
    { "dyn.topk", "ret_type=\"values\"", { "int8[2] 1 2", "int32[] 1" }, { "int8[1] 2" }, 0 },
};
// clang-format on

static bt_status compute_row(kit *k, const call_row *row, uint32_t narg,
                             const bt_value *const *args, uint32_t nleaf,
                             bt_tensor *const *leaves, uint32_t *nout, bt_tensor **out)
{
    const bt_value *value;
    const bt_type *types[MAX_ARG];
    bt_compute *compute;
    BT_TRY(bt_build(k->b, row->op, row->attrs, args, narg, &value));
    const bt_call *call = bt_as_call(value);
    for (uint32_t i = 0; i < narg; i++)
        types[i] = args[i]->type;
    bt_formula_call formula = { call->op, call->attrs, narg, types, value->type };
    BT_TRY(bt_compute_create(k->ctx, &formula, &compute));
    bt_status status =
        bt_compute_run(k->ctx, compute, nleaf, (const bt_tensor *const *)leaves, out);
    *nout = bt_compute_nout(compute);
    bt_compute_destroy(compute);
    return status;
}

/* Tries once with the n-th allocation failing; 1 once none does. */
static int try_row(kit *k, struct failing_allocator *a, const call_row *row, uint64_t n)
{
    const bt_value *args[MAX_ARG];
    bt_tensor *leaves[MAX_LEAF], *out[MAX_LEAF] = { NULL };
    uint32_t narg = 0, nleaf = 0, nout = 0;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    for (; narg < MAX_ARG && row->args[narg]; narg++)
        args[narg] = read_arg(k, row->args[narg], leaves, &nleaf);
    a->ncall = a->nfailed = 0;
    a->fail_at = n;
    bt_status status = compute_row(k, row, narg, args, nleaf, leaves, &nout, out);
    a->fail_at = 0;
    if (!ok_or_no_memory(status))
        assert_int_not_equal(a->nfailed, 0);
    for (uint32_t i = 0; i < MAX_LEAF; i++) {
        if (!status && i < nout)
            check_leaf(k, row, out[i], row->out[i]);
        else
            assert_null(out[i]);
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; i < nleaf; i++)
        bt_tensor_unref(leaves[i]);
    bt_builder_destroy(k->b);
    k->b = NULL;
    bt_ctx_clear_diags(k->ctx);
    return a->nfailed == 0;
}

static void test_calls_survive_lack_of_memory(void **state)
{
    (void)state;
    struct failing_allocator a = failing_allocator(0, 0);
    bt_registry_options options = { .allocator = &a.base,
                                    .plugin_only = TEST_PLUGINS,
                                    .ignore_environment = 1,
                                    .arena_single = 1 };
    kit k = { 0 };
    a.base.self = &a;
    k.registry = bt_registry_create(&options);
    k.ctx = bt_ctx_create(k.registry);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        // the first try opens the plugin; what later ones leave in the store is its own
        k.store = bt_store_create(k.registry);
        assert_true(try_row(&k, &a, &rows[i], 0));
        for (uint64_t n = 1; !try_row(&k, &a, &rows[i], n);)
            n++;
        bt_store_unref(k.store);
    }
    bt_ctx_destroy(k.ctx);
    bt_registry_unref(k.registry);
    assert_int_equal(a.nblock, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_calls_survive_lack_of_memory),
};
TEST_MAIN(tests)
