/* The worked facets: layout of concatenate, costs of sort and of convolution. */
#include "kit.h"

static const void *facet_of(kit *k, const char *name, const char *facet)
{
    const bt_op *op;
    const void *table;
    assert_ok(k->ctx, bt_op_get(k->ctx, name, &op));
    assert_ok(k->ctx, bt_op_facet(k->ctx, op, facet, &table));
    assert_non_null(table);
    return table;
}

static void begin(kit *k)
{
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
}

static const bt_value *param(kit *k, bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    const bt_param *p;
    assert_ok(k->ctx, bt_build_param(k->b, "x",
                                     bt_type_tensor_of(k->store, dtype, rank, dims), &p));
    return &p->base;
}

static void test_fields_are_joined_in_a_layout_whose_blocks_they_fill(void **state)
{
    kit *k = *state;
    const bt_layout_facet *facet = facet_of(k, "concatenate", "layout");
    const bt_layout *wanted[] = { bt_layout_parse(k->store, "NCHW:NCHW4c") };
    const bt_layout *in[1], *out;
    const int64_t dims[] = { 1, 4, 2, 2 };
    const bt_value *tuple, *y;
    assert_non_null(wanted[0]);
    begin(k);
    const bt_value *x = param(k, BT_FLOAT32, 4, dims);
    assert_ok(k->ctx, bt_build_tuple(k->b, 2, (const bt_value *[]){ x, x }, &tuple));
    assert_ok(k->ctx, bt_build(k->b, "concatenate", "axis=2", &tuple, 1, &y));
    assert_ok(k->ctx,
              facet->choose(k->ctx, k->store, bt_as_call(y), wanted, in, &out));
    assert_ptr_equal(out, wanted[0]);
    assert_ok(k->ctx, bt_build(k->b, "concatenate", "axis=1", &tuple, 1, &y));
    assert_ok(k->ctx,
              facet->choose(k->ctx, k->store, bt_as_call(y), wanted, in, &out));
    assert_ptr_equal(out, wanted[0]);
    wanted[0] = bt_layout_parse(k->store, "NCHW:NCHW8c");
    assert_ok(k->ctx,
              facet->choose(k->ctx, k->store, bt_as_call(y), wanted, in, &out));
    assert_null(out);
}

static void test_sorting_costs_more_than_its_elements(void **state)
{
    kit *k = *state;
    const bt_cost_facet *facet = facet_of(k, "sort", "cost");
    const int64_t dims[] = { 2, 1024 };
    int64_t multiply_adds, nbytes;
    const bt_value *y;
    begin(k);
    const bt_value *x = param(k, BT_FLOAT32, 2, dims);
    assert_ok(k->ctx, bt_build(k->b, "sort", NULL, &x, 1, &y));
    bt_formula_call formula = { bt_as_call(y)->op, bt_as_call(y)->attrs, 1, &x->type,
                                y->type };
    assert_ok(k->ctx, facet->estimate(k->ctx, &formula, &multiply_adds, &nbytes));
    assert_int_equal(multiply_adds, 2 * 1024 * 10);
    assert_int_equal(nbytes, 2 * 2 * 1024 * 4);
}

static void test_a_convolution_moves_its_operands_and_its_result(void **state)
{
    kit *k = *state;
    const bt_cost_facet *facet = facet_of(k, "nn.conv2d", "cost");
    const int64_t data[] = { 1, 8, 6, 6 }, weight[] = { 4, 8, 3, 3 };
    int64_t multiply_adds, nbytes;
    const bt_value *y;
    begin(k);
    const bt_value *x[] = { param(k, BT_FLOAT32, 4, data),
                            param(k, BT_FLOAT32, 4, weight) };
    const bt_type *types[] = { x[0]->type, x[1]->type };
    assert_ok(k->ctx, bt_build(k->b, "nn.conv2d", NULL, x, 2, &y));
    bt_formula_call formula = { bt_as_call(y)->op, bt_as_call(y)->attrs, 2, types,
                                y->type };
    assert_ok(k->ctx, facet->estimate(k->ctx, &formula, &multiply_adds, &nbytes));
    assert_int_equal(multiply_adds, 4 * 4 * 4 * 8 * 3 * 3);
    assert_int_equal(nbytes, 4 * (8 * 6 * 6 + 4 * 8 * 3 * 3 + 4 * 4 * 4));
}

static const struct CMUnitTest tests[] = {
    TEST(test_fields_are_joined_in_a_layout_whose_blocks_they_fill),
    TEST(test_sorting_costs_more_than_its_elements),
    TEST(test_a_convolution_moves_its_operands_and_its_result),
};
TEST_MAIN(tests)
