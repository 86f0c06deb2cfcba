/* Formulas that hooks write: lists, their commas, and failures. */
#include "formula.h"

#include "compute/formula/ast.h"

static const bt_op_input inputs[] = { { "x", "t[..]", "", 0, 0 }, { 0 } };

/* What a hook writes of a tensor of rank 3; `status` unless NULL gets its failure. */
static const char *written(struct world *w, bt_arena *arena,
                           void (*hook)(bt_formula *, const bt_formula_call *),
                           bt_status *status)
{
    const bt_op op = {
        .name = "test.op", .revision = 1, .inputs = inputs, .write_formula = hook
    };
    const bt_type *type =
        bt_type_tensor_of(w->store, BT_FLOAT32, 3, (const int64_t[]){ 2, 3, 4 });
    const bt_formula_call call = { &op, NULL, 1, &type, any_result(w, 1) };
    const struct bt__formula *f;
    bt_status why = bt__formula_of_call(w->ctx, arena, &call, &f);
    if (status)
        *status = why;
    else
        assert_ok(w->ctx, why);
    return why ? NULL : f->text;
}

static void write_lists(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "%s#", "i");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", bt_formula_axis(f, -2, rank), "extent(x, %u) - 1 - i1", 1u);
    bt_formula_item(f, "twice", "x[$at]");
    bt_formula_item(f, "twice", "x[$i]");
    bt_formula_add(f, "y: t[$i] = $[ * ]twice");
}

/* A list goes with the comma on one side of it. */
static void write_empty(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_clear(f, "none");
    bt_formula_each(f, "one", 0, 1, "i#");
    bt_formula_add(
        f, "m: t[$none, i1, i2] = max($one, $none: x[$none, i0, $none, i1, i2]); ");
    bt_formula_each(f, "one", 1, 3, "i#");
    bt_formula_add(f, "y: t[$none] = sum($one: x[$one])");
}

/* Items may be set beyond the end; a list emptied holds what comes after. */
static void write_order(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_set(f, "at", 2, "i2");
    bt_formula_set(f, "at", 0, "i0");
    bt_formula_set(f, "at", 1, "i1");
    bt_formula_set(f, "sum", 0, "i0");
    bt_formula_set(f, "sum", 0, "($sum) + 1 - %d", 1);
    bt_formula_add(f, "y: t[$at] = x[$at]; ");
    bt_formula_clear(f, "at");
    bt_formula_item(f, "at", "$sum");
    bt_formula_each(f, "at", 1, 3, "i#");
    bt_formula_add(f, "z: t[i0, i1, i2] = y[$at]");
}

static void test_lists_stand_with_their_commas(void **state)
{
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    (void)state;
    assert_string_equal(written(&w, arena, write_lists, NULL),
                        "y: t[i0, i1, i2] = x[i0, extent(x, 1) - 1 - i1, i2] * "
                        "x[i0, i1, i2]");
    assert_string_equal(written(&w, arena, write_empty, NULL),
                        "m: t[i1, i2] = max(i0: x[i0, i1, i2]); "
                        "y: t[] = sum(i0, i1, i2: x[i0, i1, i2])");
    assert_string_equal(written(&w, arena, write_order, NULL),
                        "y: t[i0, i1, i2] = x[i0, i1, i2]; "
                        "z: t[i0, i1, i2] = y[(i0) + 1 - 1, i1, i2]");
    bt_arena_destroy(arena);
    world_close(&w);
}

static void write_unknown_list(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_add(f, "y: t[$nosuch] = x[$nosuch]");
}

static void write_wrong_axis(bt_formula *f, const bt_formula_call *call)
{
    bt_formula_add(f, "y: t[i] = x[i, %u]",
                   bt_formula_axis(f, 3, bt_formula_rank(f, call->args[0])));
}

static void write_refusal(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_fail(f, BT_ERR_UNSUPPORTED, "rank %d is too much", 3);
    bt_formula_fail(f, BT_ERR_INTERNAL, "the first failure stands");
    bt_formula_item(f, "i", "$nosuch");
    bt_formula_add(f, "y: t[$i] = x[$i]");
}

static void write_fault(bt_formula *f, const bt_formula_call *call)
{
    (void)call;
    bt_formula_add(f, "y: t[..] = x[..] +");
}

static void test_failures_of_hooks_name_the_operator(void **state)
{
    struct world w = world_open();
    bt_arena *arena = bt_arena_create(w.registry);
    bt_status status;
    (void)state;
    written(&w, arena, write_unknown_list, &status);
    assert_error(status, BT_ERR_INTERNAL, "test.op: its formula has no list `nosuch`");
    written(&w, arena, write_wrong_axis, &status);
    assert_error(status, BT_ERR_INTERNAL, "test.op: an axis is outside");
    written(&w, arena, write_refusal, &status);
    assert_error(status, BT_ERR_UNSUPPORTED, "test.op: rank 3 is too much");
    written(&w, arena, write_fault, &status);
    assert_error(status, BT_ERR_SYNTAX, "expected");
    assert_string_equal(status->place.file, "test.op");
    assert_string_equal(status->place.text, "y: t[..] = x[..] +");
    assert_int_equal(status->place.column, 19);
    bt_arena_destroy(arena);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lists_stand_with_their_commas),
    cmocka_unit_test(test_failures_of_hooks_name_the_operator),
};
TEST_MAIN(tests)
