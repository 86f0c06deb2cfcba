/* Patterns of calls, matched against calls of a function; who asks may refuse some of them. */
#include "solve_kit.h"

#include <baton/pass.h>

static int takes_no_relu(void *state, const bt_call *call)
{
    ++*(int *)state;
    return strcmp(call->op->name, "relu") != 0;
}

static void test_calls_are_matched_with_and_without_a_condition(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = tensor1(&k, num(&k, 4));
    const bt_param *x = param(&k, "x", t);
    const bt_call_pattern *pattern;
    bt_call_match match;
    int nasked = 0;
    begin(&k, 1, &x);
    const bt_value *inner = op2(&k, &op_relu, &x->base, NULL);
    const bt_value *outer = op2(&k, &op_relu, inner, NULL);
    bt_arena *arena = bt_arena_create(k.registry);
    assert_ok(k.ctx, bt_call_pattern_parse(k.ctx, arena, "relu(relu(*))", &pattern));

    assert_ok(k.ctx, bt_call_pattern_match(arena, pattern, outer, NULL, NULL, &match));
    assert_int_equal(match.nmember, 2);
    assert_ptr_equal(match.members[0], inner);
    assert_ptr_equal(match.members[1], outer);
    assert_int_equal(match.noperand, 1);
    assert_ptr_equal(match.operands[0], &x->base);

    assert_ok(k.ctx, bt_call_pattern_match(arena, pattern, inner, NULL, NULL, &match));
    assert_int_equal(match.nmember, 0);

    assert_ok(k.ctx, bt_call_pattern_match(arena, pattern, outer, takes_no_relu, &nasked,
                                           &match));
    assert_int_equal(match.nmember, 0);
    assert_true(nasked > 0);
    end(&k, outer);
    bt_arena_destroy(arena);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_calls_are_matched_with_and_without_a_condition),
};
TEST_MAIN(tests)
