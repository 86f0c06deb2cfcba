/* Stores and terms without memory: every allocation fails in turn. */
#include "failing_allocator.h"
#include "random_types.h"

#include "ir/store.h"

#include <baton/op.h>

struct attrs {
    const char *mode;
    bt_ints axes;
    bt_strings names;
    const bt_type *depth;
    const bt_value *func;
};
static const bt_attr schema[] = {
    BT_ATTR(struct attrs, mode, STRING, "", ""),
    BT_ATTR(struct attrs, axes, INTS, "None", ""),
    BT_ATTR(struct attrs, names, STRINGS, "None", ""),
    BT_ATTR(struct attrs, depth, DIM, "1", ""),
    BT_ATTR(struct attrs, func, FUNC, "None", ""),
    { 0 },
};
static const bt_op op = { .name = "test",
                          .attrs = schema,
                          .attrs_nbytes = sizeof(struct attrs) };

/* Both kinds of memory of a body: NULL where there was none. */
struct memory {
    bt_registry *registry;
    bt_store *store;
    bt_ctx *ctx;
};

static int create(struct memory *m, const bt_allocator *allocator)
{
    m->registry = failing_registry(allocator);
    m->store = m->registry ? bt_store_create(m->registry) : NULL;
    m->ctx = m->registry ? bt_ctx_create(m->registry) : NULL;
    if (!m->store || !m->ctx)
        return 0;
    // A reason that is there already must not be taken for that of a later failure.
    assert_null(bt_type_dtype(m->store, 0));
    return 1;
}

static void destroy(struct memory *m)
{
    if (m->ctx)
        bt_ctx_destroy(m->ctx);
    bt_store_unref(m->store);
    if (m->registry)
        bt_registry_unref(m->registry);
}

/* What could not be made must be for lack of memory, and the store must say so. */
static int made(const struct memory *m, const void *thing)
{
    if (!thing)
        assert_int_equal(bt_store_why(m->ctx, m->store)->code, BT_ERR_MEMORY);
    return thing != NULL;
}

/* Runs use(m); after a single failure a store must be as if nothing had happened, so that
 * it succeeds the second time. */
static int use_twice(const struct memory *m, const bt_allocator *allocator,
                     int (*use)(const struct memory *))
{
    const struct failing_allocator *a = allocator->self;
    int done = use(m);
    if (!done && !a->from_then_on)
        assert_true(use(m));
    return done;
}

/* ---- stores ---- */

static int fill_store(const struct memory *m)
{
    char text[16];
    uint32_t source;
    bt_prov prov = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        if (!bt_name_of(m->store, text))
            return 0;
    }
    if (!ok_or_no_memory(
            bt_store_add_source(m->ctx, m->store, "a.txt", "one\ntwo", 7, &source)))
        return 0;
    for (uint32_t i = 0; i < 20; i++) {
        if (!bt_span_text(m->store, source, i, 1) ||
            !bt_span_node(m->store, source, text))
            return 0;
        bt_prov one = bt_prov_new(m->store, i + 1);
        prov = one ? bt_prov_join(m->store, prov, one) : 0;
        if (!prov)
            return 0;
    }
    return 1;
}

static int store_body(const bt_allocator *allocator)
{
    struct memory m = { 0 };
    int done = create(&m, allocator) && use_twice(&m, allocator, fill_store);
    destroy(&m);
    return done;
}

static void test_stores_survive_lack_of_memory(void **state)
{
    (void)state;
    fail_each_allocation(store_body);
}

/* ---- types ---- */

static const bt_type *rename_leaf(bt_subst *subst, const bt_type *leaf)
{
    const bt_type *const *pair = subst->state;
    return leaf == pair[0] ? pair[1] : NULL;
}

static const bt_type *with_where(bt_store *store, const bt_type *n)
{
    static const int64_t axes[] = { 1, 2 };
    static const char *const names[] = { "left", "right" };
    static const bt_value global = { .kind = BT_VALUE_GLOBAL, .name = "main" };
    struct attrs attrs = { "mode", { 2, axes }, { 2, names }, n, &global };
    const bt_type *shape = bt_type_shape(store, 1, &n);
    const bt_type *dtype = bt_type_dtype(store, BT_FLOAT32);
    const bt_layout *layout = bt_layout_parse(store, "N:N4n");
    if (!shape || !dtype || !layout)
        return NULL;
    const bt_type *t = bt_type_tensor_layout(store, shape, dtype, layout);
    const bt_where where = { &op, &attrs, 1, &t }, *wheres[] = { &where };
    return t ? bt_func_type_close(store, 1, &n, 1, &t, t, 1, wheres) : NULL;
}

/* A data type of two variables, applied. */
static const bt_type *applied(bt_store *store, const bt_type *n, const bt_type *content)
{
    bt_type_param params[] = { { .kind = BT_KIND_DIM }, { .kind = BT_KIND_TYPE } };
    bt_adt_def *def = BT_NEW(bt_store_arena(store), bt_adt_def);
    const bt_type **vars = BT_NEWS(bt_store_arena(store), const bt_type *, 2);
    if (!def || !vars)
        return bt__refuse(store, NULL);
    for (int i = 0; i < 2; i++) {
        vars[i] = bt_type_var(store, &params[i], "v");
        if (!vars[i])
            return NULL;
    }
    *def = (bt_adt_def){ .name = "Tree", .nvar = 2, .vars = vars };
    const bt_type *args[] = { n, content };
    return bt_type_apply(store, def, 2, args);
}

/* Dims of every kind over a and b. */
static const bt_type *many_dims(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *(*const combine[])(bt_store *, const bt_type *, const bt_type *) = {
        bt_dim_mul, bt_dim_floordiv, bt_dim_mod, bt_dim_add,
        bt_dim_max, bt_dim_ceildiv,  bt_dim_min, bt_dim_sub,
    };
    const bt_type *dims[BT_COUNT(combine)];
    for (uint32_t i = 0; i < BT_COUNT(combine); i++) {
        dims[i] = combine[i](store, i ? dims[i - 1] : a, i % 3 ? b : a);
        if (!dims[i])
            return NULL;
    }
    return bt_type_shape(store, BT_COUNT(combine), dims);
}

static int use_types(const struct memory *m)
{
    bt_type_param param = { .kind = BT_KIND_DIM };
    const bt_type *a = bt_type_var(m->store, &param, "a");
    const bt_type *b = a ? bt_dim_opaque(m->store, "b") : NULL;
    const bt_type *shape = b ? many_dims(m->store, a, b) : NULL;
    const bt_type *dtype = shape ? bt_type_dtype(m->store, BT_INT8) : NULL;
    const bt_type *t = dtype ? bt_type_tensor(m->store, shape, dtype) : NULL;
    const bt_type *f = t ? with_where(m->store, a) : NULL;
    if (!made(m, f))
        return 0;
    const bt_type *tree = applied(m->store, a, f);
    t = tree ? bt_type_tuple(m->store, 3, (const bt_type *[]){ t, f, tree }) : NULL;
    // Above the size from which walks keep a memo.
    for (int i = 0; i < 70 && t; i++)
        t = bt_type_ref(m->store, t);
    const bt_type *c = t ? bt_type_var_anonymous(m->store, &param) : NULL;
    if (!made(m, c))
        return 0;
    const bt_type *pair[] = { a, c };
    bt_subst subst = { .leaf = rename_leaf, .state = pair };
    t = bt_type_subst(m->store, &subst, t);
    const bt_func_type *opened =
        t ? bt_func_type_open(m->store, bt_as_func_type(f), &a) : NULL;
    return made(m, opened) && bt_dim_equal(m->store, a, c) == 0;
}

static int type_body(const bt_allocator *allocator)
{
    struct memory m = { 0 };
    int done = create(&m, allocator) && use_twice(&m, allocator, use_types);
    destroy(&m);
    return done;
}

static void test_types_survive_lack_of_memory(void **state)
{
    (void)state;
    fail_each_allocation(type_body);
}

/* ---- two stores ---- */

static int copy_types(const struct memory *m, bt_store *other)
{
    bt_type_param param = { .kind = BT_KIND_DIM };
    const bt_type *a = bt_type_var(m->store, &param, "a");
    const bt_type *f = a ? with_where(m->store, a) : NULL;
    assert_null(bt_type_dtype(other, 0));
    const bt_type *copy = f ? bt_type_copy(other, NULL, f) : NULL;
    if (f && !copy)
        assert_int_equal(bt_store_why(m->ctx, other)->code, BT_ERR_MEMORY);
    // Without memory the answer is "not equal".
    return copy && bt_type_equal(f, copy);
}

static int copy_body(const bt_allocator *allocator)
{
    struct memory m = { 0 };
    bt_store *other = create(&m, allocator) ? bt_store_create(m.registry) : NULL;
    int done = other && copy_types(&m, other);
    bt_store_unref(other);
    destroy(&m);
    return done;
}

static void test_copies_survive_lack_of_memory(void **state)
{
    (void)state;
    fail_each_allocation(copy_body);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stores_survive_lack_of_memory),
    cmocka_unit_test(test_types_survive_lack_of_memory),
    cmocka_unit_test(test_copies_survive_lack_of_memory),
};
TEST_MAIN(tests)
