/* Substitution, opening and closing of function types, copies between stores. */
#include "setup.h"

#include "ir/store.h"
#include "random_types.h"

#include <baton/op.h>

static const bt_type *new_var(uint32_t kind, const char *name)
{
    return bt_type_var(store, &(bt_type_param){ .kind = kind }, name);
}

static const bt_type *vector(const bt_type *dim)
{
    return bt_type_tensor(store, bt_type_shape(store, 1, &dim),
                          bt_type_dtype(store, BT_FLOAT32));
}

/* A substitution by a table of pairs. */
struct table {
    bt_subst base;
    uint32_t n, ncall;
    const bt_type *from[8], *to[8];
};

static const bt_type *look_up(bt_subst *subst, const bt_type *leaf)
{
    struct table *table = (struct table *)(void *)subst;
    table->ncall++;
    for (uint32_t i = 0; i < table->n; i++) {
        if (table->from[i] == leaf)
            return table->to[i];
    }
    return NULL;
}

static const bt_type *replace(const bt_type *t, const bt_type *from, const bt_type *to)
{
    struct table table = { .base.leaf = look_up, .n = 1, .from = { from }, .to = { to } };
    return bt_type_subst(store, &table.base, t);
}

/* ---- substitution ---- */

static void test_substitution_keeps_normal_forms(void **state)
{
    (void)state;
    const bt_type *n = new_var(BT_KIND_DIM, "n"), *m = new_var(BT_KIND_DIM, "m");
    const bt_type *half = bt_dim_floordiv(store, n, bt_dim(store, 2));
    const bt_type *t = vector(bt_dim_add(store, half, m));
    assert_ptr_equal(replace(t, n, bt_dim_scale(store, m, 4, 2)),
                     vector(bt_dim_scale(store, m, 3, 1)));
    assert_ptr_equal(replace(t, n, bt_dim(store, 9)),
                     vector(bt_dim_scale(store, m, 1, 4)));
    assert_ptr_equal(replace(t, new_var(BT_KIND_DIM, "n"), m), t);
    const bt_type *hole = bt_type_hole_numbered(store, BT_KIND_DIM, 7);
    assert_ptr_equal(replace(vector(hole), hole, n), vector(n));
    const bt_type *any = bt_type_hole(store, BT_KIND_DIM);
    assert_ptr_equal(replace(t, n, any), vector(any));
}

static void test_substitution_splices_shapes(void **state)
{
    (void)state;
    const bt_type *s = new_var(BT_KIND_SHAPE, "s"),
                  *f32 = bt_type_dtype(store, BT_FLOAT32);
    const bt_type *dims[] = { bt_dim(store, 1), bt_dim(store, 2), bt_dim(store, 3) };
    const bt_type *ends[] = { dims[0], dims[2] };
    const bt_type *t =
        bt_type_tensor(store, bt_type_shape_rest(store, 2, ends, 1, s), f32);
    assert_ptr_equal(replace(t, s, bt_type_shape(store, 1, &dims[1])),
                     bt_type_tensor_of(store, BT_FLOAT32, 3, (int64_t[]){ 1, 2, 3 }));
    assert_ptr_equal(
        replace(bt_type_tensor(store, s, f32), s, bt_type_shape(store, 3, dims)),
        bt_type_tensor_of(store, BT_FLOAT32, 3, (int64_t[]){ 1, 2, 3 }));
}

static void test_substitution_checks_kinds_and_overflow(void **state)
{
    (void)state;
    const bt_type *n = new_var(BT_KIND_DIM, "n");
    assert_null(replace(vector(n), n, bt_type_dtype(store, BT_FLOAT32)));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "expected a Dim");
    assert_null(
        replace(vector(bt_dim_scale(store, n, 3, 0)), n, bt_dim(store, INT64_MAX / 2)));
    assert_error(bt_store_why(ctx, store), BT_ERR_LIMIT, "overflows");
}

static void test_shared_terms_are_walked_once(void **state)
{
    (void)state;
    const bt_type *n = new_var(BT_KIND_DIM, "n"), *m = new_var(BT_KIND_DIM, "m");
    const bt_type *from = vector(n), *to = vector(m);
    for (int i = 0; i < 400; i++) {
        from = bt_type_tuple(store, 2, (const bt_type *[]){ from, from });
        to = bt_type_tuple(store, 2, (const bt_type *[]){ to, to });
    }
    struct table table = { .base.leaf = look_up, .n = 1, .from = { n }, .to = { m } };
    assert_ptr_equal(bt_type_subst(store, &table.base, from), to);
    assert_true(table.ncall < 200);
    // With a memo of the caller's, the next walk finds all of it done.
    bt_map memo;
    bt_map_init(&memo, bt_store_arena(store), 0);
    table.base.memo = &memo;
    assert_ptr_equal(bt_type_subst(store, &table.base, from), to);
    table.ncall = 0;
    assert_ptr_equal(bt_type_subst(store, &table.base, from), to);
    assert_int_equal(table.ncall, 0);
}

/* ---- function types ---- */

/* fn<vars>(arg) -> result */
static const bt_type *close(uint32_t nvar, const bt_type *const *vars, const bt_type *arg,
                            const bt_type *result)
{
    return bt_func_type_close(store, nvar, vars, 1, &arg, result, 0, NULL);
}

static const bt_func_type *open(const bt_type *func, const bt_type *const *args)
{
    return bt_func_type_open(store, bt_as_func_type(func), args);
}

static void test_names_of_parameters_do_not_matter(void **state)
{
    (void)state;
    const bt_type *a = new_var(BT_KIND_TYPE, "a"), *b = new_var(BT_KIND_TYPE, "b");
    assert_ptr_equal(close(1, &a, a, a), close(1, &b, b, b));
    const bt_type *ab[] = { a, b }, *ba[] = { b, a };
    assert_ptr_equal(close(2, ab, a, b), close(2, ba, b, a));
    assert_ptr_not_equal(close(2, ab, a, b), close(2, ab, b, a));
    // A range is part of the type.
    const bt_type *n = new_var(BT_KIND_DIM, "n");
    const bt_type *m = bt_type_var(store, &(bt_type_param){ BT_KIND_DIM, 1, 9, 1 }, "m");
    assert_ptr_not_equal(close(1, &n, vector(n), vector(n)),
                         close(1, &m, vector(m), vector(m)));
    assert_null(close(2, (const bt_type *[]){ a, a }, a, a));
    assert_null(close(1, (const bt_type *[]){ vector(n) }, a, a));
}

static void test_opening_puts_arguments_in(void **state)
{
    (void)state;
    const bt_type *a = new_var(BT_KIND_TYPE, "a"), *b = new_var(BT_KIND_TYPE, "b");
    const bt_type *n = new_var(BT_KIND_DIM, "n"), *seven = bt_dim(store, 7);
    const bt_func_type *f = open(close(1, &a, a, bt_type_ref(store, a)), &b);
    assert_int_equal(f->nparam, 0);
    assert_ptr_equal(f->args[0], b);
    assert_ptr_equal(f->result, bt_type_ref(store, b));
    f = open(close(1, &n, vector(n), vector(bt_dim_scale(store, n, 2, 1))), &seven);
    assert_ptr_equal(f->result, vector(bt_dim(store, 15)));
    assert_null(open(close(1, &a, a, a), &seven));
    const bt_type *plain = close(0, NULL, b, b);
    assert_ptr_equal(open(plain, NULL), bt_as_func_type(plain));
}

static void test_arguments_are_not_captured(void **state)
{
    (void)state;
    const bt_type *a = new_var(BT_KIND_TYPE, "a"), *b = new_var(BT_KIND_TYPE, "b");
    // outer = fn<a>(fn<b>(b) -> a) -> a
    const bt_type *inner = close(1, &b, b, a);
    const bt_type *outer = close(1, &a, inner, a);
    const bt_func_type *opened = open(outer, &b);
    // The b given is not the b bound inside.
    assert_ptr_equal(open(opened->args[0], &a)->result, b);
    assert_ptr_equal(open(opened->args[0], &a)->args[0], a);
    // An argument that is itself bound further out: below fn<b> it counts one more.
    const bt_type *bound = bt_type_bound(store, BT_KIND_TYPE, 0, 0);
    opened = open(outer, &bound);
    const bt_func_type *again = bt_as_func_type(opened->args[0]);
    assert_ptr_equal(again->args[0], bound);
    assert_ptr_equal(again->result, bt_type_bound(store, BT_KIND_TYPE, 1, 0));
    // Opening takes one level away from what is bound further out still.
    const bt_type *farther = bt_type_bound(store, BT_KIND_TYPE, 1, 5);
    opened = open(close(1, &b, b, bt_type_bound(store, BT_KIND_TYPE, 0, 5)), &b);
    assert_ptr_equal(opened->result, bt_type_bound(store, BT_KIND_TYPE, 0, 5));
    assert_ptr_equal(bt_as_func_type(close(1, &b, b, opened->result))->result, farther);
    // And closing once more binds it.
    const bt_type *wrapped = close(1, &a, outer, a);
    assert_ptr_equal(open(wrapped, &b)->args[0], outer);
}

static void test_a_memo_serves_one_depth(void **state)
{
    (void)state;
    const bt_type *a = new_var(BT_KIND_TYPE, "a"), *b = new_var(BT_KIND_TYPE, "b");
    const bt_type *cell = bt_type_ref(store, a);
    const bt_type *both[] = { cell, close(1, &b, b, cell) };
    const bt_type *bound = bt_type_bound(store, BT_KIND_TYPE, 0, 0);
    struct table table = { .base.leaf = look_up, .n = 1, .from = { a }, .to = { bound } };
    bt_map memo;
    bt_map_init(&memo, bt_store_arena(store), 0);
    table.base.memo = &memo;
    const bt_type *t = bt_type_subst(store, &table.base, bt_type_tuple(store, 2, both));
    const bt_list_type *tuple = bt_as_tuple_type(t);
    assert_ptr_equal(tuple->at[0], bt_type_ref(store, bound));
    assert_ptr_equal(bt_as_func_type(tuple->at[1])->result,
                     bt_type_ref(store, bt_type_bound(store, BT_KIND_TYPE, 1, 0)));
}

static void test_substitution_reaches_bound_parameters_from_outside(void **state)
{
    (void)state;
    const bt_type *bound = bt_type_bound(store, BT_KIND_TYPE, 0, 3);
    const bt_type *b = new_var(BT_KIND_TYPE, "b"), *unit = bt_type_tuple(store, 0, NULL);
    // Below fn<b> the parameter `bound` of the outside is one level up.
    const bt_type *inner = close(1, &b, b, bound);
    assert_int_equal(inner->nloose, 1);
    assert_ptr_equal(replace(inner, bound, unit), close(1, &b, b, unit));
    assert_ptr_equal(replace(inner, bound, bound), inner);
}

/* ---- where relations ---- */

struct attrs {
    int64_t axis;
    const bt_type *depth, *shape;
};
static const bt_attr schema[] = {
    BT_ATTR(struct attrs, axis, INT, "0", ""),
    BT_ATTR(struct attrs, depth, DIM, NULL, ""),
    BT_ATTR(struct attrs, shape, SHAPE, "None", ""),
    { 0 },
};
static const bt_op one_hot = { .name = "one_hot",
                               .attrs = schema,
                               .attrs_nbytes = sizeof(struct attrs) };

static const bt_type *with_where(const bt_type *n, int64_t axis)
{
    struct attrs attrs = { axis, n, NULL };
    const bt_type *t = vector(n), *types[] = { t, t };
    const bt_where where = { &one_hot, &attrs, 2, types }, *wheres[] = { &where };
    return bt_func_type_close(store, 1, &n, 1, &t, t, 1, wheres);
}

static void test_where_relations_are_part_of_the_type(void **state)
{
    (void)state;
    const bt_type *n = new_var(BT_KIND_DIM, "n"), *m = new_var(BT_KIND_DIM, "m");
    const bt_type *f = with_where(n, 1);
    assert_ptr_equal(f, with_where(m, 1));
    assert_ptr_not_equal(f, with_where(n, 2));
    assert_int_equal(f->has, 0);
    const bt_func_type *opened = open(f, &m);
    const struct attrs *attrs = opened->wheres[0]->attrs;
    assert_ptr_equal(attrs->depth, m);
    assert_int_equal(attrs->axis, 1);
    assert_ptr_equal(opened->wheres[0]->types[1], vector(m));
    // A variable in an attribute alone counts as one in the type.
    const bt_type *unit = bt_type_tuple(store, 0, NULL);
    struct attrs alone = { 1, n, NULL };
    bt_where where = { &one_hot, &alone, 1, &unit };
    bt_func_type fields = { .result = unit,
                            .nwhere = 1,
                            .wheres = (const bt_where *[]){ &where } };
    const bt_type *g = bt_type_func(store, &fields);
    assert_int_equal(g->has, BT_HAS_VAR);
    const struct attrs *replaced = bt_as_func_type(replace(g, n, m))->wheres[0]->attrs;
    assert_ptr_equal(replaced->depth, m);
}

/* ---- random types ---- */

static void test_random_types_are_equal_whatever_the_variables(void **state)
{
    (void)state;
    static struct scene scenes[3];
    for (uint64_t seed = 1; seed < 300; seed++) {
        const bt_type *closed[3];
        for (int i = 0; i < 3; i++) {
            prepare(store, &scenes[i], seed, i == 1);
            const bt_type *body = random_type(store, &scenes[i], 4);
            const bt_type *all[NVAR + 1];
            memcpy(all, scenes[i].vars, sizeof(scenes[i].vars));
            all[NVAR] = scenes[i].element;
            closed[i] = close_scene(store, &scenes[i], body);
            assert_non_null(closed[i]);
            assert_int_equal(closed[i]->has, 0);
            // Opening with the variables gives the body back, closing that the whole.
            const bt_func_type *opened = open(closed[i], all);
            assert_ptr_equal(opened->result, body);
            assert_ptr_equal(close(NVAR + 1, all, opened->args[0], opened->result),
                             closed[i]);
        }
        assert_ptr_equal(closed[0], closed[1]);
        assert_ptr_equal(closed[0], closed[2]);
    }
}

static void test_opening_twice_is_substitution(void **state)
{
    (void)state;
    static struct scene scene;
    for (uint64_t seed = 1; seed < 300; seed++) {
        prepare(store, &scene, seed, 0);
        const bt_type *body = random_type(store, &scene, 3), *n = scene.vars[0];
        const bt_type *m = scene.vars[1], *outer = new_var(BT_KIND_DIM, NULL);
        const bt_type *for_n = bt_dim_scale(store, outer, 2, 3);
        const bt_type *for_m = bt_dim_mul(store, outer, scene.vars[2]);
        // fn<n>(fn<m>(body) -> body) -> body
        const bt_type *f = close(1, &n, close(1, &m, body, body), body);
        const bt_func_type *by_n = open(f, &for_n);
        const bt_type *expected = replace(body, n, for_n);
        assert_ptr_equal(by_n ? by_n->result : NULL, expected);
        if (!expected)
            continue;
        struct table table = {
            .base.leaf = look_up, .n = 2, .from = { n, m }, .to = { for_n, for_m }
        };
        expected = bt_type_subst(store, &table.base, body);
        const bt_func_type *by_m = open(by_n->args[0], &for_m);
        assert_ptr_equal(by_m ? by_m->result : NULL, expected);
    }
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_substitution_keeps_normal_forms),
    TEST(test_substitution_splices_shapes),
    TEST(test_substitution_checks_kinds_and_overflow),
    TEST(test_shared_terms_are_walked_once),
    TEST(test_names_of_parameters_do_not_matter),
    TEST(test_opening_puts_arguments_in),
    TEST(test_arguments_are_not_captured),
    TEST(test_a_memo_serves_one_depth),
    TEST(test_substitution_reaches_bound_parameters_from_outside),
    TEST(test_where_relations_are_part_of_the_type),
    TEST(test_random_types_are_equal_whatever_the_variables),
    TEST(test_opening_twice_is_substitution),
};
// clang-format on
TEST_MAIN(tests)
