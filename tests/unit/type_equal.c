/* Equality of terms across stores. */
#include "test.h"

#include "ir/type_match.h"
#include "random_types.h"

#include <baton/op.h>

static bt_registry *registry;
static bt_store *here, *there;
static bt_ctx *ctx;

static int setup(void **state)
{
    (void)state;
    registry = bt_registry_create(NULL);
    here = bt_store_create(registry);
    there = bt_store_create(registry);
    ctx = bt_ctx_create(registry);
    // Ids, and so the order of terms in sums, differ between the two.
    for (int i = 0; i < 100; i++)
        bt_dim_opaque(there, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bt_ctx_destroy(ctx);
    bt_store_unref(here);
    bt_store_unref(there);
    bt_registry_unref(registry);
    return 0;
}

static const bt_type *vector(bt_store *store, const bt_type *dim)
{
    return bt_type_tensor(store, bt_type_shape(store, 1, &dim),
                          bt_type_dtype(store, BT_FLOAT32));
}

static void test_closed_types_are_equal_across_stores(void **state)
{
    (void)state;
    enum { N = 60 };
    static struct scene scene;
    const bt_type *types[N], *copies[N];
    uint32_t nequal = 0;
    for (uint64_t i = 0; i < N; i++) {
        prepare(here, &scene, 1 + i % 50, (int)(i / 50));
        types[i] = close_scene(here, &scene, random_type(here, &scene, 3));
        copies[i] = bt_type_copy(there, NULL, types[i]);
        assert_non_null(copies[i]);
        assert_int_equal(copies[i]->hash, types[i]->hash);
        assert_ptr_equal(copies[i]->store, there);
        assert_ptr_equal(bt_type_copy(here, NULL, copies[i]), types[i]);
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            assert_int_equal(bt_type_equal(types[i], copies[j]), types[i] == types[j]);
            nequal += types[i] == types[j];
        }
    }
    assert_true(nequal >= N + 20 && nequal < N * N / 2);
}

static const bt_type *map_leaf(bt_subst *subst, const bt_type *leaf)
{
    const bt_type *const *pair = subst->state;
    return leaf == pair[0] ? pair[1] : NULL;
}

static void test_free_variables_need_a_counterpart(void **state)
{
    (void)state;
    bt_type_param param = { .kind = BT_KIND_DIM };
    const bt_type *n = bt_type_var(here, &param, "n"),
                  *m = bt_type_var(there, &param, "n");
    assert_null(bt_type_copy(there, NULL, vector(here, n)));
    assert_error(bt_store_why(ctx, there), BT_ERR_LIMIT, "no counterpart");
    const bt_type *pair[] = { n, m };
    bt_subst subst = { .leaf = map_leaf, .state = pair };
    assert_ptr_equal(bt_type_copy(there, &subst, vector(here, n)), vector(there, m));
    assert_false(bt_type_equal(vector(here, n), vector(there, m)));
    assert_true(bt_type_equal(vector(here, n), vector(here, n)));
}

static void test_paired_variables_stand_for_each_other(void **state)
{
    (void)state;
    bt__type_match match;
    bt_type_param param = { .kind = BT_KIND_DIM };
    const bt_type *a = bt_type_var(here, &param, NULL),
                  *b = bt_type_var(here, &param, NULL);
    const bt_type *c = bt_type_var(there, &param, NULL);
    const bt_type *d = bt_type_var(there, &param, NULL);
    const bt_type *left = bt_dim_add(here, a, bt_dim_scale(here, b, 2, 0));
    const bt_type *right = bt_dim_add(there, d, bt_dim_scale(there, c, 2, 0));
    const bt_type *swapped = bt_dim_add(there, c, bt_dim_scale(there, d, 2, 0));
    bt__type_match_init(&match, bt_ctx_scratch(ctx));
    assert_true(bt__type_match_pair(&match, a, d));
    assert_true(bt__type_match_pair(&match, b, c));
    assert_true(bt__type_matches(&match, vector(here, left), vector(there, right)));
    assert_false(bt__type_matches(&match, vector(here, left), vector(there, swapped)));
}

/* A sum of a dim that is found at run time and a named one, whichever is older. */
static void test_terms_that_leave_no_choice_are_paired_first(void **state)
{
    (void)state;
    bt_type_param param = { .kind = BT_KIND_DIM };
    const bt_type *young = bt_type_var(here, &param, "n"),
                  *found = bt_dim_opaque(here, "a"), *other = bt_dim_opaque(here, "b"),
                  *old = bt_type_var(here, &param, "n");
    const bt_type *vars[] = { young, old };
    for (uint32_t i = 0; i < BT_COUNT(vars); i++) {
        const bt_type *(*const make[])(bt_store *, const bt_type *,
                                       const bt_type *) = { bt_dim_add, bt_dim_mul };
        for (uint32_t k = 0; k < BT_COUNT(make); k++) {
            bt__type_match match;
            bt__type_match_init(&match, bt_ctx_scratch(ctx));
            match.accepts = 1;
            assert_true(bt__type_matches(&match, make[k](here, found, vars[i]),
                                         make[k](here, other, vars[i])));
            assert_int_equal(match.narrowed.len, 0);
            assert_ptr_equal(bt_map_find(&match.forth, found), other);
        }
    }
}

static void test_layouts_are_copied(void **state)
{
    (void)state;
    const bt_type *t[2];
    for (int i = 0; i < 2; i++) {
        bt_store *store = i ? there : here;
        const bt_type *dim = bt_dim(store, 32);
        t[i] = bt_type_tensor_layout(store, bt_type_shape(store, 1, &dim),
                                     bt_type_dtype(store, BT_INT8),
                                     bt_layout_parse(store, "C:C16c"));
    }
    assert_ptr_equal(bt_type_copy(there, NULL, t[0]), t[1]);
    assert_true(bt_type_equal(t[0], t[1]));
    assert_false(
        bt_type_equal(t[0], bt_type_tensor_of(there, BT_INT8, 1, (int64_t[]){ 32 })));
}

static const bt_type *tree_of(bt_store *store, bt_adt_def *def, const char *name)
{
    bt_type_param param = { .kind = BT_KIND_TYPE };
    const bt_type **var = bt_arena_alloc(bt_store_arena(store), 1, sizeof(*var));
    *var = bt_type_var(store, &param, "A");
    *def = (bt_adt_def){ .name = name, .nvar = 1, .vars = var };
    const bt_type *unit = bt_type_tuple(store, 0, NULL);
    return bt_type_apply(store, def, 1, &unit);
}

static void test_data_types_are_compared_by_name(void **state)
{
    (void)state;
    bt_adt_def tree, other_tree, rose;
    const bt_type *a = tree_of(here, &tree, "Tree");
    const bt_type *b = tree_of(there, &other_tree, "Tree");
    const bt_type *c = tree_of(there, &rose, "Rose");
    assert_true(bt_type_equal(a, b));
    assert_false(bt_type_equal(a, c));
    const bt_type *pair[] = { bt_type_adt(here, &tree), bt_type_adt(there, &other_tree) };
    bt_subst subst = { .leaf = map_leaf, .state = pair };
    assert_ptr_equal(bt_type_copy(there, &subst, a), b);
    assert_null(bt_type_copy(there, NULL, a));
    // The same name, another number of parameters.
    bt_adt_def plain = { .name = "Tree" };
    assert_false(bt_type_equal(a, bt_type_apply(there, &plain, 0, NULL)));
}

static void test_shared_terms_are_compared_once(void **state)
{
    (void)state;
    const bt_type *a = bt_type_scalar(here, BT_BOOL), *b = bt_type_scalar(there, BT_BOOL);
    for (int i = 0; i < 400; i++) {
        a = bt_type_tuple(here, 2, (const bt_type *[]){ a, a });
        b = bt_type_tuple(there, 2, (const bt_type *[]){ b, b });
    }
    assert_true(bt_type_equal(a, b));
}

struct attrs {
    const char *mode;
    bt_ints axes;
    const bt_type *shape;
    const bt_value *func;
};
static const bt_attr schema[] = {
    BT_ATTR(struct attrs, mode, STRING, "", ""),
    BT_ATTR(struct attrs, axes, INTS, "None", ""),
    BT_ATTR(struct attrs, shape, SHAPE, "None", ""),
    BT_ATTR(struct attrs, func, FUNC, "None", ""),
    { 0 },
};
static const bt_op op = { .name = "test",
                          .attrs = schema,
                          .attrs_nbytes = sizeof(struct attrs) };

static void test_attributes_of_relations_are_copied(void **state)
{
    (void)state;
    const bt_type *unit = bt_type_tuple(here, 0, NULL), *four = bt_dim(here, 4);
    char mode[] = "full";
    int64_t axes[] = { 1, 2 };
    bt_value global = { .kind = BT_VALUE_GLOBAL, .name = "main", .type = unit };
    struct attrs attrs = { mode, { 2, axes }, bt_type_shape(here, 1, &four), &global };
    bt_where where = { &op, &attrs, 1, &unit };
    bt_func_type fields = { .result = unit,
                            .nwhere = 1,
                            .wheres = (const bt_where *[]){ &where } };
    const bt_type *f = bt_type_func(here, &fields);
    const bt_type *copy = bt_type_copy(there, NULL, f);
    mode[0] = 'd', axes[0] = 7;
    const struct attrs *copied = bt_as_func_type(copy)->wheres[0]->attrs;
    assert_string_equal(copied->mode, "full");
    assert_ptr_equal(copied->mode, bt_name_of(there, "full"));
    assert_int_equal(copied->axes.n, 2);
    assert_int_equal(copied->axes.at[0], 1);
    assert_ptr_equal(copied->shape->store, there);
    assert_ptr_equal(copied->func->type, bt_type_tuple(there, 0, NULL));
    assert_string_equal(copied->func->name, "main");
    assert_true(bt_type_equal(f, copy));
    assert_ptr_not_equal(bt_type_func(here, &fields), f); // the attributes differ now
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_closed_types_are_equal_across_stores),
    TEST(test_free_variables_need_a_counterpart),
    TEST(test_paired_variables_stand_for_each_other),
    TEST(test_terms_that_leave_no_choice_are_paired_first),
    TEST(test_layouts_are_copied),
    TEST(test_data_types_are_compared_by_name),
    TEST(test_shared_terms_are_compared_once),
    TEST(test_attributes_of_relations_are_copied),
};
// clang-format on
TEST_MAIN(tests)
