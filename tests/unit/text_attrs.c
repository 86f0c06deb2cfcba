/* Attributes of every kind, by a schema. */
#include "failing_allocator.h"
#include "text.h"

struct attrs {
    int64_t count;
    int64_t limit;
    double scale;
    int64_t fast;
    const char *mode;
    const char *label;
    bt_ints axes;
    bt_ints maybe;
    bt_floats factors;
    bt_strings names;
    const bt_type *dtype;
    const bt_type *depth;
    const bt_type *shape;
    const bt_type *type;
    const bt_value *func;
    bt_ints parts;
};
static const bt_attr schema[] = {
    BT_ATTR_RANGE(struct attrs, count, INT, "1", 1, 9, ""),
    BT_ATTR(struct attrs, limit, INT, "None", ""),
    BT_ATTR(struct attrs, scale, FLOAT, "1e-5", ""),
    BT_ATTR(struct attrs, fast, BOOL, "False", ""),
    BT_ATTR_CHOICE(struct attrs, mode, "same", "same|valid", ""),
    BT_ATTR(struct attrs, label, STRING, "", ""),
    BT_ATTR_RANGE(struct attrs, axes, INTS, "[1, 1]", 0, 4, ""),
    BT_ATTR(struct attrs, maybe, INTS, "None", ""),
    BT_ATTR(struct attrs, factors, FLOATS, "[0.5]", ""),
    BT_ATTR(struct attrs, names, STRINGS, "[]", ""),
    BT_ATTR(struct attrs, dtype, DTYPE, "float32", ""),
    BT_ATTR(struct attrs, depth, DIM, "2", ""),
    BT_ATTR(struct attrs, shape, SHAPE, "None", ""),
    BT_ATTR(struct attrs, type, TYPE, "None", ""),
    BT_ATTR(struct attrs, func, FUNC, "None", ""),
    BT_ATTR(struct attrs, parts, INT_OR_INTS, "1", ""),
    { 0 },
};
static const bt_op op = { .name = "test.op",
                          .attrs = schema,
                          .attrs_nbytes = sizeof(struct attrs) };

static void check_attrs(const char *text, const char *expected)
{
    bt_store *store = bt_store_create(registry);
    const void *attrs, *again;
    bt_text printed;
    assert_ok(ctx, bt_attrs_parse(ctx, store, &op, text, &attrs));
    bt_text_init(&printed, bt_ctx_scratch(ctx));
    assert_int_equal(bt_attrs_print(ctx, &op, attrs, &printed), *expected != 0);
    assert_string_equal(bt_text_get(&printed), expected);
    assert_ok(ctx, bt_attrs_parse(ctx, store, &op, expected, &again));
    const struct attrs *a = attrs;
    if (!a->func) // references are compared by the module's equality
        assert_true(bt_attrs_equal(schema, attrs, again));
    bt_store_unref(store);
}

static void test_values_of_every_kind_read_back(void **state)
{
    (void)state;
    check_attrs("count=9", "count=9");
    check_attrs("limit=-3", "limit=-3");
    check_attrs("scale=2.5, fast=True", "scale=2.5f, fast=True");
    check_attrs("scale=-inff", "scale=-inff");
    check_attrs("scale=nan", "scale=nanf");
    check_attrs("scale=1e-05f", "");
    check_attrs("mode=\"valid\", label=\"a \\\"b\\\"\"",
                "mode=\"valid\", label=\"a \\\"b\\\"\"");
    check_attrs("axes=[], maybe=[1]", "axes=[], maybe=[1]");
    check_attrs("axes=(1, 1,)", "");
    check_attrs("axes=3, maybe=-4", "axes=[3], maybe=[-4]");
    check_attrs("factors=[1, 0.1f]", "factors=[1f, 0.1f]");
    check_attrs("names=[\"a\", \"b, c\"]", "names=[\"a\", \"b, c\"]");
    check_attrs("dtype=\"int4\"", "dtype=\"int4\"");
    check_attrs("dtype=int8, depth=4", "dtype=\"int8\", depth=4");
    check_attrs("dtype=None", "dtype=None");
    check_attrs("dtype=\"\"", "dtype=None");
    check_attrs("shape=[-1, 0, 4]", "shape=[-1, 0, 4]");
    check_attrs("shape=[]", "shape=[]");
    check_attrs("type=fn (int8) -> Tensor[(2), int8]",
                "type=fn (int8) -> Tensor[(2), int8]");
    check_attrs("func=@f", "func=@f");
    check_attrs("func=@\"a b\"", "func=@\"a b\"");
    check_attrs("parts=2", "parts=2");
    check_attrs("parts=[2]", "parts=[2]");
    check_attrs("parts=[1]", "parts=[1]");
    check_attrs("parts=None", "parts=None");
    check_attrs("count=1, fast=False, mode=\"same\", parts=1, shape=None, depth=2", "");
}

static void check_refused(const char *text, uint32_t column, const char *part)
{
    bt_store *store = bt_store_create(registry);
    const void *attrs = NULL;
    bt_status status = bt_attrs_parse(ctx, store, &op, text, &attrs);
    assert_non_null(status);
    if (!strstr(status->message, part))
        fail_msg("expected \"%s\" in: %s", part, status->message);
    assert_int_equal(status->place.column, column);
    assert_string_equal(status->place.file, "test.op");
    bt_store_unref(store);
}

static void test_wrong_values_are_refused(void **state)
{
    (void)state;
    check_refused("count=10", 7, "`count` is 10, expected 1..9");
    check_refused("count=None", 7, "expected an integer, found `None`");
    check_refused("count=99999999999999999999", 7, "an integer of 64 bits");
    check_refused("count=1.0", 7, "expected an integer");
    check_refused("limit=\"a\"", 7, "expected an integer");
    check_refused("scale=True", 7, "expected a number");
    check_refused("fast=2", 6, "True or False");
    check_refused("mode=\"Same\"", 6, "expected one of same|valid, found `\"Same\"`");
    check_refused("axes=[0, 5]", 10, "`axes` is 5, expected 0..4");
    check_refused("axes=[1", 8, "expected `]`");
    check_refused("names=[1]", 8, "expected a string");
    check_refused("dtype=\"flt\"", 7, "an element type");
    check_refused("depth=n", 7, "no dim is named `n`");
    check_refused("type=?", 6, "expected a type");
    check_refused("func=f", 6, "a function, such as @f");
    check_refused("cuont=1", 1, "did you mean `count`?");
    check_refused("count=1 fast=1", 9, "expected `,`");
    check_refused("1", 1, "expected name=value");
}

static void test_what_has_no_default_must_be_given(void **state)
{
    (void)state;
    static const bt_attr rows[] = {
        { .name = "count", .kind = BT_ATTR_INT, .doc = "" },
        { 0 },
    };
    static const bt_op strict = { .name = "strict", .attrs = rows, .attrs_nbytes = 8 };
    static const bt_op plain = { .name = "plain" };
    bt_store *store = bt_store_create(registry);
    const void *attrs = NULL;
    bt_text text;
    assert_error(bt_attrs_parse(ctx, store, &strict, "", &attrs), BT_ERR_ATTRIBUTE,
                 "strict: attribute `count` must be given");
    assert_ok(ctx, bt_attrs_parse(ctx, store, &strict, "count=0", &attrs));
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_int_equal(bt_attrs_print(ctx, &strict, attrs, &text), 1);
    assert_string_equal(bt_text_get(&text), "count=0");
    assert_ok(ctx, bt_attrs_parse(ctx, store, &plain, "", &attrs));
    assert_null(attrs);
    assert_error(bt_attrs_parse(ctx, store, &plain, "a=1", &attrs), BT_ERR_ATTRIBUTE,
                 "it has none");
    bt_store_unref(store);
}

/* An allocator that knows how much was alive at most. */
struct peak {
    bt_allocator base;
    struct failing_allocator inner;
    size_t most;
};

static void *peak_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    struct peak *p = self;
    void *made = failing_realloc(&p->inner, pointer, old_nbytes, nbytes);
    p->most = p->inner.nbytes > p->most ? p->inner.nbytes : p->most;
    return made;
}

static void test_an_attribute_struct_takes_its_own_bytes(void **state)
{
    (void)state;
    enum { NBYTES = 1 << 20 };
    static const bt_attr rows[] = {
        BT_ATTR(struct attrs, count, INT, "1", ""),
        { 0 },
    };
    static const bt_op wide = { .name = "wide", .attrs = rows, .attrs_nbytes = NBYTES };
    struct peak peak = { .inner = failing_allocator(0, 0) };
    peak.base = (bt_allocator){ &peak, peak_realloc };
    const bt_registry_options options = { .allocator = &peak.base };
    bt_registry *r = bt_registry_create(&options);
    bt_ctx *c = bt_ctx_create(r);
    bt_store *store = bt_store_create(r);
    const void *attrs;
    const size_t before = peak.inner.nbytes;
    assert_ok(c, bt_attrs_parse(c, store, &wide, "count=2", &attrs));
    // the defaults, the values as they are read, and those that stay
    assert_in_range(peak.most - before, NBYTES, 4 * NBYTES);
    bt_store_unref(store);
    bt_ctx_destroy(c);
    bt_registry_unref(r);
}

static const struct CMUnitTest tests[] = {
    TEST(test_values_of_every_kind_read_back),
    TEST(test_wrong_values_are_refused),
    TEST(test_what_has_no_default_must_be_given),
    TEST(test_an_attribute_struct_takes_its_own_bytes),
};
TEST_MAIN(tests)
