/* Objects that hold objects, and the collection of cycles. */
#include "failing_allocator.h"

#include <baton/value.h>

static bt_ctx *ctx;
static bt_heap *heap;
static struct failing_allocator counter;

/* Every test starts with an allocator that counts and ends when all is given back. */
static int setup(void **state)
{
    (void)state;
    counter = failing_allocator(0, 0);
    counter.base.self = &counter;
    bt_registry *r =
        bt_registry_create(&(bt_registry_options){ .allocator = &counter.base });
    ctx = bt_ctx_create(r);
    heap = bt_heap_create(r);
    bt_registry_unref(r);
    return !ctx || !heap;
}

static int teardown(void **state)
{
    (void)state;
    bt_heap_destroy(heap);
    bt_ctx_destroy(ctx);
    assert_int_equal(counter.nblock, 0);
    return 0;
}

static bt_object *number(int64_t value)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT32, value, &t));
    return &t->base;
}

/* These consume the references that they are given. */
static bt_object *tuple_of(bt_object *a, bt_object *b)
{
    bt_tuple *t;
    assert_ok(ctx, bt_tuple_create(ctx, 2, (bt_object *[]){ a, b }, &t));
    bt_object_unref(a);
    bt_object_unref(b);
    return &t->base;
}

static bt_object *cons(bt_object *head, bt_object *tail)
{
    bt_adt *a;
    assert_ok(ctx, bt_adt_create(ctx, 1, "Cons", 2, (bt_object *[]){ head, tail }, &a));
    bt_object_unref(head);
    bt_object_unref(tail);
    return &a->base;
}

static bt_object *nil(void)
{
    bt_adt *a;
    assert_ok(ctx, bt_adt_create(ctx, 0, "Nil", 0, NULL, &a));
    return &a->base;
}

static bt_ref *ref_of(bt_object *content)
{
    bt_ref *ref;
    assert_ok(ctx, bt_ref_create(ctx, heap, content, &ref));
    bt_object_unref(content);
    return ref;
}

/* ---- objects ---- */

static void test_downcasts_are_checked(void **state)
{
    (void)state;
    bt_object *a = tuple_of(number(1), number(2));
    assert_int_equal(bt_object_as_tuple(a)->nfield, 2);
    assert_null(bt_object_as_tensor(a));
    assert_null(bt_object_as_adt(a));
    assert_null(bt_object_as_closure(a));
    assert_null(bt_object_as_ref(a));
    assert_null(bt_object_as_ref(NULL));
    assert_int_equal(
        bt_tensor_get_int(bt_object_as_tensor(bt_object_as_tuple(a)->fields[1]), 0), 2);
    bt_object_unref(a);
    bt_object_unref(NULL);
}

static void test_long_chains_are_freed_without_recursion(void **state)
{
    (void)state;
    bt_object *list = nil();
    for (int64_t i = 0; i < 1000000; i++) {
        if (i % 3 == 0)
            list = cons(bt_object_ref(list), list);
        else if (i % 3 == 1)
            list = tuple_of(list, bt_object_ref(list));
        else
            list = &ref_of(list)->base;
    }
    bt_object_unref(list);
    assert_int_equal(bt_heap_nref(heap), 0);
}

static void test_closures_hold_their_captures(void **state)
{
    (void)state;
    bt_closure *c;
    bt_object *executor = nil();
    int code;
    bt_object *captures[] = { number(7), NULL };
    assert_ok(ctx, bt_closure_create(ctx, executor, &code, 2, captures, &c));
    bt_object_unref(captures[0]);
    assert_ptr_equal(c->executor, executor);
    assert_int_equal(executor->nref, 2);
    bt_object_unref(executor);
    assert_ptr_equal(c->code, &code);
    assert_int_equal(bt_tensor_get_int(bt_object_as_tensor(c->captures[0]), 0), 7);
    assert_null(c->captures[1]);
    bt_object_unref(&c->base);
}

static void test_values_outlive_context_and_registry(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_ctx *own = bt_ctx_create(r);
    bt_tensor *t;
    bt_tuple *tuple;
    assert_ok(own, bt_tensor_scalar(own, BT_FLOAT32, 2.5, &t));
    assert_ok(own, bt_tuple_create(own, 1, (bt_object *[]){ &t->base }, &tuple));
    bt_tensor_unref(t);
    bt_registry_unref(r);
    bt_ctx_destroy(own);
    assert_true(bt_tensor_get(bt_object_as_tensor(tuple->fields[0]), 0) == 2.5);
    bt_object_unref(&tuple->base);
}

/* ---- references and cycles ---- */

static void test_a_write_drops_the_old_content(void **state)
{
    (void)state;
    bt_ref *ref = ref_of(number(1));
    size_t nblock = counter.nblock;
    bt_object *two = number(2);
    bt_ref_write(ref, two);
    bt_object_unref(two);
    assert_int_equal(counter.nblock, nblock);
    bt_ref_write(ref, ref->content);
    assert_int_equal(bt_tensor_get_int(bt_object_as_tensor(ref->content), 0), 2);
    assert_int_equal(bt_heap_nref(heap), 1);
    bt_object_unref(&ref->base);
    assert_int_equal(bt_heap_nref(heap), 0);
}

/* A ring of references through tuples; the caller holds the returned one. */
static bt_ref *ring(uint32_t n)
{
    bt_ref *first = ref_of(NULL), *last = first;
    for (uint32_t i = 1; i < n; i++)
        last = ref_of(tuple_of(number(i), &last->base));
    bt_object_ref(&first->base);
    bt_object *closing = tuple_of(number(0), &last->base);
    bt_ref_write(first, closing);
    bt_object_unref(closing);
    return first;
}

static void test_unreachable_cycles_are_freed(void **state)
{
    (void)state;
    size_t nblock = counter.nblock;
    bt_object_unref(&ring(1)->base);
    bt_object_unref(&ring(1000)->base);
    assert_int_equal(bt_heap_nref(heap), 1001);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 0);
    // What remains is the scratch arena's spare.
    assert_true(counter.nblock <= nblock + 1);
}

static void test_roots_keep_what_they_reach(void **state)
{
    (void)state;
    bt_ref *kept = ring(10);
    bt_object_unref(&ring(20)->base);
    bt_object *root = cons(&kept->base, nil());
    assert_ok(ctx, bt_heap_collect(ctx, heap, 1, &root));
    assert_int_equal(bt_heap_nref(heap), 10);
    assert_non_null(kept->content);
    bt_object_unref(root);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 0);
}

static void test_a_held_value_lives_without_being_a_root(void **state)
{
    (void)state;
    bt_ref *held = ring(10), *inner = ring(5);
    bt_object *tuple = tuple_of(&inner->base, number(1)); // holds the second ring
    bt_object_unref(&ring(3)->base);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 15);
    assert_non_null(held->content);
    bt_object_unref(tuple);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 10);
    bt_object_unref(&held->base);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 0);
}

/* A container that a dead cycle shares with a living value must stay whole. */
static void test_containers_shared_with_the_living_stay(void **state)
{
    (void)state;
    bt_ref *leaf = ref_of(number(5));
    bt_object *shared = tuple_of(&leaf->base, number(6));
    bt_ref *dead = ref_of(NULL);
    bt_object *content = tuple_of(bt_object_ref(shared), bt_object_ref(&dead->base));
    bt_ref_write(dead, content);
    bt_object_unref(content);
    bt_object_unref(&dead->base);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 1);
    assert_int_equal(bt_tensor_get_int(bt_object_as_tensor(leaf->content), 0), 5);
    bt_object_unref(shared);
    assert_int_equal(bt_heap_nref(heap), 0);
}

static void test_references_outlive_their_heap_empty(void **state)
{
    (void)state;
    bt_heap *own = bt_heap_create(bt_ctx_registry(ctx));
    bt_ref *a, *b;
    bt_object *one = number(1);
    assert_ok(ctx, bt_ref_create(ctx, own, one, &a));
    assert_ok(ctx, bt_ref_create(ctx, own, &a->base, &b));
    bt_ref_write(a, &b->base);
    bt_object_unref(one);
    bt_object_unref(&b->base);
    bt_heap_destroy(own);
    assert_null(a->content);
    bt_ref_write(a, NULL);
    bt_object_unref(&a->base);
}

/* Each level holds the level below twice: 2^64 paths, 64 objects. */
static void test_shared_structure_is_walked_once(void **state)
{
    (void)state;
    bt_object *dag = &ref_of(number(1))->base;
    for (int i = 0; i < 64; i++)
        dag = tuple_of(bt_object_ref(dag), dag);
    bt_ref *ref = ref_of(dag);
    bt_object *root = &ref->base;
    assert_ok(ctx, bt_heap_collect(ctx, heap, 1, &root));
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
    assert_int_equal(bt_heap_nref(heap), 2);
    bt_object_unref(&ref->base);
}

/* ---- failing allocation ---- */

static int use_heap(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *own = r ? bt_ctx_create(r) : NULL;
    bt_heap *own_heap = own ? bt_heap_create(r) : NULL;
    bt_ref *a = NULL, *b = NULL;
    bt_adt *cell = NULL;
    int succeeded = own_heap && ok_or_no_memory(bt_ref_create(own, own_heap, NULL, &a)) &&
                    ok_or_no_memory(bt_ref_create(own, own_heap, &a->base, &b)) &&
                    ok_or_no_memory(bt_adt_create(
                        own, 3, "Cell", 2, (bt_object *[]){ &b->base, &b->base }, &cell));
    if (cell)
        bt_ref_write(a, &cell->base);
    uint64_t nref = own_heap ? bt_heap_nref(own_heap) : 0;
    if (succeeded) {
        bt_object *roots[] = { &a->base };
        if (!ok_or_no_memory(bt_heap_collect(own, own_heap, 1, roots)))
            succeeded = 0;
        assert_int_equal(bt_heap_nref(own_heap), nref);
    }
    bt_object_unref(cell ? &cell->base : NULL);
    bt_object_unref(a ? &a->base : NULL);
    bt_object_unref(b ? &b->base : NULL);
    if (succeeded)
        succeeded = ok_or_no_memory(bt_heap_collect(own, own_heap, 0, NULL));
    if (succeeded)
        assert_int_equal(bt_heap_nref(own_heap), 0);
    bt_heap_destroy(own_heap);
    bt_ctx_destroy(own);
    bt_registry_unref(r);
    return succeeded;
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    fail_each_allocation(use_heap);
}

/* ---- printing ---- */

static void assert_prints(bt_object *o, uint32_t max_nelem, const char *expected)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_object_print(o, max_nelem, &text);
    assert_string_equal(bt_text_get(&text), expected);
    bt_object_unref(o);
}

static bt_object *scalar(bt_dtype dtype, double value)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_scalar(ctx, dtype, value, &t));
    return &t->base;
}

static bt_object *matrix(bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *t;
    assert_ok(ctx, bt_tensor_create(ctx, dtype, rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i, (double)i / 2);
    return &t->base;
}

static void test_values_print_on_a_line(void **state)
{
    (void)state;
    assert_prints(tuple_of(number(1), scalar(BT_FLOAT32, 2)), 9, "(1, 2f)");
    assert_prints(cons(number(1), cons(number(-2), nil())), 9, "Cons(1, Cons(-2, Nil))");
    assert_prints(&ref_of(scalar(BT_BOOL, 1))->base, 9, "ref(True)");
    assert_prints(&ref_of(NULL)->base, 9, "ref(empty)");
    assert_prints(scalar(BT_FLOAT16, 0.1), 9, "0.1f16");
    assert_prints(scalar(BT_BFLOAT16, 0.1), 9, "0.1bf16");
    assert_prints(scalar(BT_FLOAT64, 0.1), 9, "0.1f64");
    assert_prints(scalar(BT_FLOAT32, 16777216), 9, "16777216f");
    assert_prints(scalar(BT_UINT64, 0x1p63), 9, "9223372036854775808u64");
    assert_prints(scalar(BT_FLOAT64, -1 / 3.0), 9, "-0.3333333333333333f64");
    assert_prints(matrix(BT_FLOAT32, 3, (int64_t[]){ 2, 1, 3 }), 9,
                  "[[[0, 0.5, 1]], [[1.5, 2, 2.5]]]");
    assert_prints(matrix(BT_INT8, 2, (int64_t[]){ 2, 3 }), 4, "[[0, 0, 1], [1, ...]]");
    assert_prints(matrix(BT_INT8, 2, (int64_t[]){ 2, 0 }), 4, "[[], []]");
    assert_prints(matrix(BT_INT8, 3, (int64_t[]){ 2, 2, 0 }), 3, "[[[], []], [[], ...]]");
    assert_prints(matrix(BT_INT8, 3, (int64_t[]){ 2, 0, 3 }), 4, "[[], []]");
    assert_prints(matrix(BT_INT8, 2, (int64_t[]){ 0, 3 }), 0, "[]");
    assert_prints(matrix(BT_INT8, 1, (int64_t[]){ 3 }), 0, "[...]");
    bt_tuple *t;
    assert_ok(ctx, bt_tuple_create(ctx, 0, NULL, &t));
    assert_prints(&t->base, 9, "()");
    bt_object *one = number(1);
    assert_ok(ctx, bt_tuple_create(ctx, 1, &one, &t));
    bt_object_unref(one);
    assert_prints(&t->base, 9, "(1,)");
}

static void test_long_and_cyclic_values_are_cut(void **state)
{
    (void)state;
    bt_object *list = nil();
    for (int64_t i = 0; i < 100000; i++)
        list = cons(number(i), list);
    assert_prints(list, 4, "Cons(99999, Cons(99998, ...))");
    bt_ref *self = ring(1);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_object_print(&self->base, UINT32_MAX, &text);
    assert_string_equal(bt_text_get(&text),
                        "ref((0, ref((0, ref((0, ref((0, ...))))))))");
    bt_object_unref(&self->base);
    assert_ok(ctx, bt_heap_collect(ctx, heap, 0, NULL));
}

static const struct CMUnitTest tests[] = {
    TEST(test_downcasts_are_checked),
    TEST(test_long_chains_are_freed_without_recursion),
    TEST(test_closures_hold_their_captures),
    TEST(test_values_outlive_context_and_registry),
    TEST(test_a_write_drops_the_old_content),
    TEST(test_unreachable_cycles_are_freed),
    TEST(test_roots_keep_what_they_reach),
    TEST(test_a_held_value_lives_without_being_a_root),
    TEST(test_containers_shared_with_the_living_stay),
    TEST(test_references_outlive_their_heap_empty),
    TEST(test_shared_structure_is_walked_once),
    TEST(test_each_failing_allocation_is_reported),
    TEST(test_values_print_on_a_line),
    TEST(test_long_and_cyclic_values_are_cut),
};
TEST_MAIN(tests)
