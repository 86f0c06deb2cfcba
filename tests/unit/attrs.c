/* Attribute structs by their schema: equality, hashes, copies, substitution. */
#include "setup.h"

#include <baton/op.h>

#include <math.h>

struct attrs {
    int64_t axis;
    double epsilon;
    int64_t keepdims;
    const char *mode;
    bt_ints strides;
    bt_floats scales;
    bt_strings names;
    const bt_type *dtype, *depth, *shape, *type;
    const bt_value *func;
    bt_ints sections;
};
static const bt_attr schema[] = {
    BT_ATTR(struct attrs, axis, INT, "0", ""),
    BT_ATTR(struct attrs, epsilon, FLOAT, "0", ""),
    BT_ATTR(struct attrs, keepdims, BOOL, "False", ""),
    BT_ATTR(struct attrs, mode, STRING, "", ""),
    BT_ATTR(struct attrs, strides, INTS, "None", ""),
    BT_ATTR(struct attrs, scales, FLOATS, "None", ""),
    BT_ATTR(struct attrs, names, STRINGS, "None", ""),
    BT_ATTR(struct attrs, dtype, DTYPE, "None", ""),
    BT_ATTR(struct attrs, depth, DIM, "1", ""),
    BT_ATTR(struct attrs, shape, SHAPE, "None", ""),
    BT_ATTR(struct attrs, type, TYPE, "None", ""),
    BT_ATTR(struct attrs, func, FUNC, "None", ""),
    BT_ATTR(struct attrs, sections, INT_OR_INTS, "1", ""),
    { 0 },
};

static const int64_t two[] = { 2 }, three[] = { 3 };
static const double half[] = { 0.5 }, quarter[] = { 0.25 };
static const char *const left[] = { "left" }, *const right[] = { "right" };
static const bt_value main_global = { .kind = BT_VALUE_GLOBAL, .name = "main" };
static const bt_value other_global = { .kind = BT_VALUE_GLOBAL, .name = "other" };

static struct attrs sample(void)
{
    return (struct attrs){
        .axis = -1,
        .epsilon = 1e-5,
        .keepdims = 1,
        .mode = "full",
        .strides = { 1, two },
        .scales = { 1, half },
        .names = { 1, left },
        .dtype = bt_type_dtype(store, BT_FLOAT32),
        .depth = bt_dim(store, 4),
        .shape = bt_type_shape(store, 0, NULL),
        .type = bt_type_scalar(store, BT_BOOL),
        .func = &main_global,
        .sections = { BT_SINGLE, two },
    };
}

/* The sample with its i-th member different; 0 beyond the last. */
static int change(struct attrs *attrs, int i)
{
    *attrs = sample();
    switch (i) {
    case 0: attrs->axis = BT_NONE; return 1;
    case 1: attrs->epsilon = -1e-5; return 1;
    case 2: attrs->keepdims = 0; return 1;
    case 3: attrs->mode = "ful"; return 1;
    case 4: attrs->strides.at = three; return 1;
    case 5: attrs->strides.n = BT_NONE_LIST; return 1;
    case 6: attrs->scales.at = quarter; return 1;
    case 7: attrs->names.at = right; return 1;
    case 8: attrs->names.n = 0; return 1;
    case 9: attrs->dtype = bt_type_dtype(store, BT_INT8); return 1;
    case 10: attrs->depth = bt_dim(store, 5); return 1;
    case 11: attrs->shape = NULL; return 1;
    case 12: attrs->type = bt_type_scalar(store, BT_INT8); return 1;
    case 13: attrs->func = &other_global; return 1;
    case 14: attrs->func = NULL; return 1;
    case 15: attrs->sections.n = 1; return 1;
    case 16: attrs->sections.at = three; return 1;
    }
    return 0;
}

static void test_every_member_counts(void **state)
{
    (void)state;
    struct attrs a = sample(), b = sample(), changed;
    assert_true(bt_attrs_equal(schema, &a, &b));
    assert_int_equal(bt_attrs_hash(schema, &a), bt_attrs_hash(schema, &b));
    for (int i = 0; change(&changed, i); i++) {
        assert_false(bt_attrs_equal(schema, &a, &changed));
        assert_false(bt_attrs_equal(schema, &changed, &a));
        assert_true(bt_attrs_hash(schema, &a) != bt_attrs_hash(schema, &changed));
    }
    assert_true(bt_attrs_equal(NULL, NULL, NULL));
    assert_false(bt_attrs_equal(schema, &a, NULL));
}

static void test_floats_are_compared_by_bits(void **state)
{
    (void)state;
    struct attrs a = sample(), b = sample();
    a.epsilon = NAN, b.epsilon = NAN;
    assert_true(bt_attrs_equal(schema, &a, &b));
    a.epsilon = 0.0, b.epsilon = -0.0;
    assert_false(bt_attrs_equal(schema, &a, &b));
}

static void test_copies_share_nothing_with_the_original(void **state)
{
    (void)state;
    int64_t strides[] = { 2 }, sections[] = { 2 };
    double scales[] = { 0.5 };
    char mode[] = "full", name[] = "left";
    const char *names[] = { name };
    struct attrs expected = sample(), original = sample();
    original.strides.at = strides, original.sections.at = sections;
    original.scales.at = scales, original.mode = mode, original.names.at = names;
    const struct attrs *copy = bt_attrs_copy(store, schema, sizeof(original), &original);
    memset(&original, 0xa5, sizeof(original));
    strides[0] = sections[0] = 99, scales[0] = 99, mode[0] = name[0] = 'X';
    assert_true(bt_attrs_equal(schema, copy, &expected));
    assert_ptr_equal(copy->mode, bt_name_of(store, "full"));
    // None, empty lists, and a text never set.
    struct attrs none = { .strides.n = BT_NONE_LIST };
    copy = bt_attrs_copy(store, schema, sizeof(none), &none);
    assert_int_equal(copy->strides.n, BT_NONE_LIST);
    assert_string_equal(copy->mode, "");
}

static const bt_type *to_seven(bt_subst *subst, const bt_type *leaf)
{
    (void)leaf;
    return bt_dim(store, *(int64_t *)subst->state);
}

static void test_terms_are_substituted(void **state)
{
    (void)state;
    int64_t seven = 7;
    bt_subst subst = { .leaf = to_seven, .state = &seven };
    const bt_type *n = bt_dim_opaque(store, NULL);
    const bt_type *dims[] = { bt_dim_scale(store, n, 2, 1), n };
    struct attrs attrs = sample();
    const void *same = bt_attrs_subst(store, &subst, schema, sizeof(attrs), &attrs);
    assert_ptr_equal(same, &attrs);
    attrs.shape = bt_type_shape(store, 2, dims);
    const struct attrs *changed =
        bt_attrs_subst(store, &subst, schema, sizeof(attrs), &attrs);
    assert_ptr_not_equal(changed, &attrs);
    const bt_type *numbers[] = { bt_dim(store, 15), bt_dim(store, 7) };
    assert_ptr_equal(changed->shape, bt_type_shape(store, 2, numbers));
    assert_ptr_equal(attrs.shape, bt_type_shape(store, 2, dims));
    assert_ptr_equal(changed->mode, attrs.mode);
    seven = INT64_MAX;
    assert_null(bt_attrs_subst(store, &subst, schema, sizeof(attrs), &attrs));
}

static void test_dicts_are_searched_by_name(void **state)
{
    (void)state;
    bt_dict_entry entries[] = { { .name = "a", .i = 1 }, { .name = "b", .i = 2 } };
    bt_dict dict = { 2, entries }, empty = { 0 };
    assert_ptr_equal(bt_dict_find(&dict, "b"), &entries[1]);
    assert_null(bt_dict_find(&dict, "c"));
    assert_null(bt_dict_find(&empty, "a"));
}

/* How the lists of window operators are read. */
static void test_lists_are_expanded(void **state)
{
    static const struct {
        int64_t n;
        uint32_t wanted;
        int64_t out[4]; /* 0: it has another length */
    } rows[] = {
        { 1, 2, { 5, 5 } },       { 1, 4, { 5, 5, 5, 5 } }, { 2, 2, { 5, 6 } },
        { 2, 4, { 5, 6, 5, 6 } }, { 4, 4, { 5, 6, 7, 8 } }, { 3, 2, { 0 } },
        { 2, 1, { 0 } },          { 3, 4, { 0 } },          { BT_NONE_LIST, 2, { 0 } },
        { 0, 2, { 0 } },
    };
    static const int64_t numbers[] = { 5, 6, 7, 8 };
    (void)state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        int64_t out[4] = { 0 };
        const bt_ints list = { rows[i].n, numbers };
        assert_int_equal(bt_ints_expand(&list, rows[i].wanted, out), rows[i].out[0] != 0);
        assert_memory_equal(out, rows[i].out, sizeof(out));
    }
}

static void test_attributes_of_calls_are_read_by_name(void **state)
{
    (void)state;
    const bt_op op = { .name = "test", .attrs = schema };
    const struct attrs attrs = { .axis = 3,
                                 .strides = { 1, two },
                                 .sections = { 1, two } };
    bt_call call = { .callee_kind = BT_CALLEE_OP, .op = &op, .attrs = &attrs };
    int64_t out[2];
    assert_int_equal(bt_call_ints(&call, "strides", 2, out), 1);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[1], 2);
    assert_int_equal(bt_call_ints(&call, "axis", 2, out), 1);
    assert_int_equal(out[1], 3);
    assert_int_equal(bt_call_ints(&call, "mode", 2, out), 0); // no numbers
    assert_int_equal(bt_call_ints(&call, "padding", 2, out), 0);
    call.callee_kind = BT_CALLEE_VALUE;
    assert_int_equal(bt_call_ints(&call, "strides", 2, out), 0);
}

// clang-format off
static void test_one_attribute_is_another(void **state)
{
    (void)state;
    struct attrs a = sample();
    const bt_op op = { .name = "op", .attrs = schema, .attrs_nbytes = sizeof(a) };
    const bt_call call = { .op = &op, .attrs = &a };
    const bt_ints other = { 1, three };
    const struct attrs *b = bt_attrs_with(bt_store_arena(store), &call, "strides", &other, sizeof(other));
    assert_non_null(b);
    assert_ptr_equal(b->strides.at, three);
    assert_ptr_equal(a.strides.at, two);
    struct attrs back = *b;
    back.strides = a.strides;
    assert_true(bt_attrs_equal(schema, &a, &back));
}

static const struct CMUnitTest tests[] = {
    TEST(test_every_member_counts),
    TEST(test_floats_are_compared_by_bits),
    TEST(test_copies_share_nothing_with_the_original),
    TEST(test_terms_are_substituted),
    TEST(test_dicts_are_searched_by_name),
    TEST(test_lists_are_expanded),
    TEST(test_attributes_of_calls_are_read_by_name),
    TEST(test_one_attribute_is_another),
};
// clang-format on
TEST_MAIN(tests)
