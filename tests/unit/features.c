/* Features of a program: each kind of value, and what is reached from the entry. */
#include "solve_kit.h"

#include <baton/executor.h>

static uint32_t features(kit *k, const char *entry)
{
    bt_module *m = infer(k);
    uint32_t bits = 0;
    assert_ok(k->ctx, bt_module_features(k->ctx, m, func_of(m, entry), &bits));
    bt_module_unref(m);
    kit_destroy(k);
    return bits;
}

static const bt_type *four(kit *k)
{
    return tensor1(k, num(k, 4));
}

static void test_plain_programs_need_nothing(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", four(&k));
    begin(&k, 1, &x);
    const bt_value *y =
        proj(&k, pair(&k, &x->base, op2(&k, &op_relu, &x->base, NULL)), 1);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    assert_int_equal(features(&k, "main"), 0);
}

static void test_each_feature_is_seen(void **state)
{
    (void)state;
    uint32_t expected[] = { BT_FEATURE_BRANCHES, BT_FEATURE_CALLS,
                            BT_FEATURE_CLOSURES, BT_FEATURE_ADTS,
                            BT_FEATURE_REFS,     BT_FEATURE_DYNAMIC_SHAPES,
                            BT_FEATURE_DEVICES };
    for (int i = 0; i < 7; i++) {
        kit k = kit_create();
        bt_adt_def *box;
        bt_ctor ctor = { .name = "Box" };
        const bt_type *t = four(&k);
        assert_ok(k.ctx,
                  bt_module_builder_declare_adt(k.module, "Box", 0, 0, NULL, &box));
        assert_ok(k.ctx, bt_module_builder_define_adt(k.module, box, 1, &ctor));
        const bt_param *h = param(&k, "h", t);
        begin(&k, 1, &h);
        define(&k, "f", func(&k, end(&k, &h->base), NULL, 0, NULL));
        const bt_param *x = param(&k, "x", t);
        const bt_param *c = param(&k, "c", bt_type_scalar(k.store, BT_BOOL));
        begin(&k, 2, (const bt_param *[]){ x, c });
        const bt_value *cell;
        if (i == 0) {
            begin(&k, 0, NULL);
            const bt_block *yes = end(&k, &x->base);
            begin(&k, 0, NULL);
            choose(&k, &c->base, yes, end(&k, &x->base));
        } else if (i == 1) {
            call1(&k, global(&k, "f"), &x->base);
        } else if (i == 2) {
            begin(&k, 0, NULL);
            closure(&k, func(&k, end(&k, &x->base), NULL, 0, NULL));
        } else if (i == 3) {
            construct(&k, box->ctors[0], 0, NULL);
        } else if (i == 4) {
            assert_ok(k.ctx, bt_build_ref(k.b, &x->base, &cell));
        } else if (i == 5) {
            op2(&k, &op_unique, &x->base, NULL);
        } else {
            bt_builder_device(k.b, 1);
            op2(&k, &op_relu, &x->base, NULL);
        }
        define(&k, "main", func(&k, end(&k, &x->base), NULL, 0, NULL));
        assert_int_equal(features(&k, "main"), expected[i]);
    }
}

static void test_only_what_is_reached_counts(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        kit k = kit_create();
        const char *names[] = { "main", "middle", "deep", "other" };
        for (int f = 0; f < 4; f++) {
            const bt_value *cell;
            const bt_param *x = param(&k, "x", four(&k));
            begin(&k, 1, &x);
            if (f < 2)
                call1(&k, global(&k, names[f + 1]), &x->base);
            if (f == 2 + i)
                assert_ok(k.ctx, bt_build_ref(k.b, &x->base, &cell));
            define(&k, names[f], func(&k, end(&k, &x->base), four(&k), 0, NULL));
        }
        uint32_t refs = i == 0 ? BT_FEATURE_REFS : 0;
        assert_int_equal(features(&k, "main"), BT_FEATURE_CALLS | refs);
    }
}

static void test_patterns_of_tuples_are_branches_only(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_value *match;
    const bt_param *x = param(&k, "x", four(&k));
    begin(&k, 1, &x);
    begin(&k, 0, NULL);
    bt_pattern wild = { .kind = BT_PATTERN_WILDCARD };
    bt_clause clause = { bt_pattern_create(k.store, &wild), end(&k, &x->base) };
    assert_ok(k.ctx, bt_build_match(k.b, &x->base, 1, &clause, NULL, &match));
    define(&k, "main", func(&k, end(&k, match), NULL, 0, NULL));
    assert_int_equal(features(&k, "main"), BT_FEATURE_BRANCHES);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain_programs_need_nothing),
    cmocka_unit_test(test_each_feature_is_seen),
    cmocka_unit_test(test_only_what_is_reached_counts),
    cmocka_unit_test(test_patterns_of_tuples_are_branches_only),
};
TEST_MAIN(tests)
