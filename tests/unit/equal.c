/* Structural equality and hashes: across stores, up to names; every difference counts. */
#include "solve_kit.h"

#include <math.h>

struct scale_attrs {
    double by;
    const bt_type *dim;
};
static const bt_attr scale_rows[] = {
    BT_ATTR(struct scale_attrs, by, FLOAT, NULL, "factor"),
    BT_ATTR(struct scale_attrs, dim, DIM, NULL, "some dim"),
    { 0 },
};
static const bt_op op_scale = { .name = "scale",
                                .inputs = one_input,
                                .attrs = scale_rows,
                                .attrs_nbytes = sizeof(struct scale_attrs),
                                .relate = relate_relu };

/* What differs between two builds of the program. */
enum {
    SAME,
    OTHER_NAMES,
    SWAPPED_OPERANDS,
    OTHER_OP,
    OTHER_ATTR,
    OTHER_DIM_ATTR,
    OTHER_CONST,
    OTHER_FIELD,
    OTHER_BRANCHES,
    OTHER_RESULT,
    OTHER_PARAM_TYPE,
    OTHER_RANGE,
    ONE_MORE,
    OTHER_CALLEE,
    OTHER_PARTIAL,
    OTHER_PATTERN,
    OTHER_ATTRS,
    OTHER_CLOSURE,
    NCHANGE
};

static const bt_value *vector(kit *k, double first)
{
    bt_tensor *tensor;
    const bt_value *out;
    int64_t n = 4;
    assert_ok(k->ctx, bt_tensor_create(k->ctx, BT_FLOAT32, 1, &n, &tensor));
    bt_tensor_set(tensor, 0, first);
    assert_ok(k->ctx, bt_build_const(k->b, &tensor->base, &out));
    bt_tensor_unref(tensor);
    return out;
}

/* fn<m: Dim>(%y: [m]) { relu(%y) }, or add(%y, %y) */
static const bt_value *polymorphic_closure(kit *k, int change)
{
    const bt_type *m = dim_var(k, change == OTHER_NAMES ? "other_m" : "m");
    const bt_param *y = param(k, "y", tensor1(k, m));
    begin(k, 1, &y);
    const bt_value *body = change == OTHER_CLOSURE ? op2(k, &op_add, &y->base, &y->base)
                                                   : op2(k, &op_relu, &y->base, NULL);
    return closure(k, func(k, end(k, body), NULL, 1, &m));
}

static const bt_value *tuple_match(kit *k, const bt_value *data, int change)
{
    const bt_param *vars[] = { param(k, "p", NULL), param(k, "q", NULL) };
    const bt_pattern *at[2];
    const bt_value *match;
    for (int i = 0; i < 2; i++) {
        bt_pattern var = { .kind = BT_PATTERN_VAR, .var = vars[i] };
        at[i] = bt_pattern_create(k->store, &var);
    }
    bt_pattern wild = { .kind = BT_PATTERN_WILDCARD };
    uint32_t n = 2;
    if (change == OTHER_PATTERN) {
        at[1] = bt_pattern_create(k->store, &wild);
        n = 1;
    }
    bt_pattern tuple = { .kind = BT_PATTERN_TUPLE, .n = 2, .at = at };
    begin(k, n, vars);
    bt_clause clause = { bt_pattern_create(k->store, &tuple), end(k, &vars[0]->base) };
    assert_ok(k->ctx, bt_build_match(k->b, data, 1, &clause,
                                     change == OTHER_PARTIAL ? "" : NULL, &match));
    return match;
}

/* A typed program in a store of its own. */
static bt_module *program(kit *k, int change)
{
    bt_type_param row = { .kind = BT_KIND_DIM, .low = 1, .high = 64, .step = 1 };
    if (change == OTHER_RANGE)
        row.high = 65;
    const bt_type *n = bt_type_var(k->store, &row, change == OTHER_NAMES ? "rows" : "n");
    const bt_param *params[] = {
        param(k, change == OTHER_NAMES ? "input" : "x", tensor2(k, n, num(k, 4))),
        param(k, "w", tensor1(k, num(k, change == OTHER_PARAM_TYPE ? 1 : 4))),
        param(k, "c", bt_type_scalar(k->store, BT_BOOL)),
        param(k, "z", tensor1(k, num(k, 4))),
    };
    begin(k, 4, params);
    const bt_value *x = &params[0]->base, *w = &params[1]->base;
    bt_builder_name(k->b, change == OTHER_NAMES ? "total" : "sum");
    if (change == SWAPPED_OPERANDS)
        op2(k, &op_add, w, x);
    else
        op2(k, &op_add, x, w);
    const bt_value *z = op2(k, &op_relu, &params[3]->base, NULL);
    const bt_value *sum = op2(k, change == OTHER_OP ? &op_relu : &op_unique, z, NULL);
    const bt_value *scaled;
    struct scale_attrs attrs = { .by = change == OTHER_ATTR ? 3 : 2,
                                 .dim = change == OTHER_DIM_ATTR
                                            ? bt_dim_add(k->store, n, num(k, 1))
                                            : n };
    assert_ok(k->ctx, bt_build_op(k->b, &op_scale, &attrs, 1, &sum, &scaled));
    const bt_value *both =
        pair(k, op2(k, &op_add, x, vector(k, change == OTHER_CONST ? 1 : 0)), x);
    const bt_value *field = proj(k, both, change == OTHER_FIELD);
    begin(k, 0, NULL);
    const bt_block *yes = end(k, field);
    begin(k, 0, NULL);
    const bt_block *no = end(k, x);
    const bt_value *choice =
        choose(k, &params[2]->base, change == OTHER_BRANCHES ? no : yes,
               change == OTHER_BRANCHES ? yes : no);
    const bt_value *f = polymorphic_closure(k, change);
    const bt_value *called = call1(k, f, &params[3]->base);
    if (change == ONE_MORE)
        op2(k, &op_relu, x, NULL);
    const bt_value *matched = tuple_match(k, pair(k, choice, called), change);
    const bt_value *last =
        call1(k, global(k, change == OTHER_CALLEE ? "other_helper" : "helper"), matched);
    bt_func fields = { .block = end(k, change == OTHER_RESULT ? x : last),
                       .nvar = 1,
                       .vars = &n };
    bt_dict_entry entry = { .name = "inline", .kind = BT_DICT_INT, .i = 1 };
    if (change == OTHER_ATTRS)
        entry.i = 2;
    fields.attrs = (bt_dict){ 1, &entry };
    const bt_func *main_func;
    assert_ok(k->ctx, bt_func_create(k->ctx, k->store, &fields, &main_func));
    define(k, "main", main_func);
    for (int i = 0; i < 2; i++) {
        const bt_type *r = dim_var(k, "r");
        const bt_param *h = param(k, "h", tensor2(k, r, num(k, 4)));
        begin(k, 1, &h);
        define(k, i ? "other_helper" : "helper", func(k, end(k, &h->base), NULL, 1, &r));
    }
    return infer(k);
}

static void test_equal_across_stores_whatever_the_names(void **state)
{
    (void)state;
    kit a = kit_create(), b = kit_create(), c = kit_create();
    // Ids of the second store's terms and values are others.
    for (int i = 0; i < 100; i++)
        (void)dim_var(&b, "unused");
    bt_module *m = program(&a, SAME), *n = program(&b, SAME);
    bt_module *o = program(&c, OTHER_NAMES);
    assert_true(bt_module_equal(m, n) && bt_module_equal(n, m));
    assert_true(bt_module_equal(m, o));
    const bt_func *f = func_of(m, "main"), *g = func_of(o, "main");
    assert_true(bt_func_equal(a.registry, f, g));
    assert_true(bt_func_hash(f) == bt_func_hash(g));
    assert_true(bt_module_equal(m, m));
    bt_module_unref(m);
    bt_module_unref(n);
    bt_module_unref(o);
    kit_destroy(&a);
    kit_destroy(&b);
    kit_destroy(&c);
}

static void test_every_difference_counts(void **state)
{
    (void)state;
    kit a = kit_create();
    bt_module *m = program(&a, SAME);
    const bt_func *f = func_of(m, "main");
    uint32_t nhash = 0;
    for (int change = OTHER_NAMES + 1; change < NCHANGE; change++) {
        kit b = kit_create();
        bt_module *n = program(&b, change);
        const bt_func *g = func_of(n, "main");
        if (bt_func_equal(a.registry, f, g) || bt_func_equal(a.registry, g, f) ||
            bt_module_equal(m, n))
            fail_msg("change %d is not noticed", change);
        nhash += bt_func_hash(f) != bt_func_hash(g);
        bt_module_unref(n);
        kit_destroy(&b);
    }
    // A hash may miss which value of a kind is used, but little else.
    assert_true(nhash >= NCHANGE - OTHER_NAMES - 1 - 6);
    bt_module_unref(m);
    kit_destroy(&a);
}

static void test_globals_and_data_types_count(void **state)
{
    (void)state;
    kit kits[5];
    bt_module *modules[5];
    for (int i = 0; i < 5; i++) {
        kits[i] = kit_create();
        kit *k = &kits[i];
        bt_adt_def *adt;
        const bt_type *a = kind_var(k, BT_KIND_TYPE, i == 1 ? "B" : "A");
        bt_ctor ctor = { .name = "Box", .nfield = i == 2 ? 0 : 1, .fields = &a };
        assert_ok(k->ctx,
                  bt_module_builder_declare_adt(k->module, "Box", 0, 1, &a, &adt));
        assert_ok(k->ctx, bt_module_builder_define_adt(k->module, adt, 1, &ctor));
        int64_t wrt = i == 3;
        bt_global row = { .name = i == 4 ? "e" : "d",
                          .kind = BT_GLOBAL_GRADIENT,
                          .primal = "f",
                          .gradient.wrt = { 1, &wrt } };
        assert_ok(k->ctx, bt_module_builder_set(k->module, &row, 1));
        modules[i] = finish(k);
    }
    assert_true(bt_module_equal(modules[0], modules[1]));
    for (int i = 2; i < 5; i++)
        assert_false(bt_module_equal(modules[0], modules[i]));
    for (int i = 0; i < 5; i++) {
        bt_module_unref(modules[i]);
        kit_destroy(&kits[i]);
    }
}

/* Closures may refer to a later one of their group. */
static const bt_func *ring(kit *k, int step)
{
    enum { N = 3 };
    const bt_type *t = tensor1(k, num(k, 4));
    const bt_func_type fields = { .narg = 1, .args = &t, .result = t };
    const bt_type *type = bt_type_func(k->store, &fields),
                  *types[] = { type, type, type };
    const bt_value *group[N];
    const bt_param *x = param(k, "x", t);
    begin(k, 1, &x);
    assert_ok(k->ctx, bt_build_closures(k->b, N, NULL, types, group));
    for (int i = 0; i < N; i++) {
        const bt_param *y = param(k, "y", t);
        begin(k, 1, &y);
        const bt_block *body = end(k, call1(k, group[(i + step) % N], &y->base));
        assert_ok(k->ctx,
                  bt_build_closure_body(k->b, group[i], func(k, body, t, 0, NULL)));
    }
    return func(k, end(k, call1(k, group[0], &x->base)), t, 0, NULL);
}

static void test_groups_are_compared_by_what_refers_to_what(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_func *one = ring(&k, 1), *same = ring(&k, 1), *other = ring(&k, 2);
    assert_true(bt_func_equal(k.registry, one, same));
    assert_false(bt_func_equal(k.registry, one, other));
    assert_true(bt_func_hash(one) == bt_func_hash(same));
    kit_destroy(&k);
}

/* 0 and -0 differ, a NaN equals itself; a view equals its dense copy. */
static void test_constants_are_compared_bit_for_bit(void **state)
{
    (void)state;
    kit k = kit_create();
    double values[] = { 0.0, -0.0, NAN, NAN };
    const bt_func *funcs[5];
    for (int i = 0; i < 4; i++) {
        begin(&k, 0, NULL);
        funcs[i] = func(&k, end(&k, vector(&k, values[i])), NULL, 0, NULL);
    }
    bt_tensor *owner, *view;
    int64_t n = 4, stride = 2, nowner = 8;
    assert_ok(k.ctx, bt_tensor_create(k.ctx, BT_FLOAT32, 1, &nowner, &owner));
    bt_tensor_set(owner, 1, 5);
    assert_ok(k.ctx, bt_tensor_view(k.ctx, owner, 1, &n, &stride, 0, &view));
    const bt_value *constant;
    assert_ok(k.ctx, bt_build_const(k.b, &view->base, &constant));
    begin(&k, 0, NULL);
    funcs[4] = func(&k, end(&k, constant), NULL, 0, NULL);
    bt_tensor_unref(view);
    bt_tensor_unref(owner);
    assert_false(bt_func_equal(k.registry, funcs[0], funcs[1]));
    assert_true(bt_func_equal(k.registry, funcs[2], funcs[3]));
    assert_false(bt_func_equal(k.registry, funcs[0], funcs[2]));
    assert_true(bt_func_equal(k.registry, funcs[0], funcs[4]));
    assert_true(bt_func_hash(funcs[0]) == bt_func_hash(funcs[4]));
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_equal_across_stores_whatever_the_names),
    cmocka_unit_test(test_every_difference_counts),
    cmocka_unit_test(test_globals_and_data_types_count),
    cmocka_unit_test(test_groups_are_compared_by_what_refers_to_what),
    cmocka_unit_test(test_constants_are_compared_bit_for_bit),
};
TEST_MAIN(tests)
