/* Stores: names, spans, provenance. */
#include "setup.h"

#include "ir/store.h"

static void test_equal_names_are_one_pointer(void **state)
{
    (void)state;
    const char *first = bt_name_of(store, "gpu_0/data:0");
    char text[16];
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof(text), "x%d", i);
        assert_string_equal(bt_name_of(store, text), text);
    }
    assert_ptr_equal(bt_name_of(store, "gpu_0/data:0"), first);
    assert_ptr_equal(bt_name(store, "x12345", 3), bt_name_of(store, "x12"));
    assert_ptr_equal(bt_name(store, NULL, 0), bt_name_of(store, ""));
    assert_ptr_not_equal(bt_name(store, "a\0b", 3), bt_name_of(store, "a"));
}

static void test_a_store_outlives_its_creator(void **state)
{
    (void)state;
    bt_store *other = bt_store_create(registry);
    assert_ptr_equal(bt_store_ref(other), other);
    bt_store_unref(other);
    assert_string_equal(bt_name_of(other, "alive"), "alive");
    bt_store_unref(other);
    bt_store_unref(NULL);
}

static int ndestroyed;
static void count_destroyed(bt_object *object)
{
    (void)object;
    ndestroyed++;
}

static void test_held_objects_live_as_long_as_the_store(void **state)
{
    (void)state;
    bt_object objects[40];
    bt_store *other = bt_store_create(registry);
    ndestroyed = 0;
    for (int i = 0; i < 40; i++) {
        objects[i] = (bt_object){ BT_OBJECT_TENSOR, 1, registry, count_destroyed };
        assert_true(bt__store_hold(other, &objects[i]));
        bt_object_unref(&objects[i]);
    }
    assert_int_equal(ndestroyed, 0);
    bt_store_unref(other);
    assert_int_equal(ndestroyed, 40);
}

static void check_place(bt_span span, uint32_t line, uint32_t column, uint32_t width,
                        const char *text)
{
    bt_place place;
    bt_span_place(store, span, &place);
    assert_string_equal(place.file, "net.txt");
    assert_int_equal(place.line, line);
    assert_int_equal(place.column, column);
    assert_int_equal(place.width, width);
    assert_string_equal(place.text, text);
    assert_null(place.node);
}

static void test_spans_know_line_column_and_text(void **state)
{
    (void)state;
    static const char text[] = "first\nsecond line\r\n\nlast";
    uint32_t source;
    assert_ok(ctx,
              bt_store_add_source(ctx, store, "net.txt", text, strlen(text), &source));
    check_place(bt_span_text(store, source, 0, 5), 1, 1, 5, "first");
    check_place(bt_span_text(store, source, 13, 4), 2, 8, 4, "second line");
    check_place(bt_span_text(store, source, 19, 1), 3, 1, 1, "");
    check_place(bt_span_text(store, source, 20, 4), 4, 1, 4, "last");
    // From one line into the next, at the end of the text, and far beyond it.
    check_place(bt_span_text(store, source, 3, 15), 1, 4, 2, "first");
    check_place(bt_span_text(store, source, 24, 1), 4, 5, 1, "last");
    check_place(bt_span_text(store, source, UINT32_MAX, UINT32_MAX), 4, 5, 1, "last");
}

static void test_spans_of_models_name_the_node(void **state)
{
    (void)state;
    uint32_t source;
    bt_place place;
    assert_ok(ctx, bt_store_add_source(ctx, store, "a.onnx", NULL, 0, &source));
    bt_span_place(store, bt_span_node(store, source, "Conv_3"), &place);
    assert_string_equal(place.file, "a.onnx");
    assert_string_equal(place.node, "Conv_3");
    assert_int_equal(place.line, 0);
    assert_null(place.text);
    bt_span_place(store, 0, &place);
    assert_null(place.file);
    bt_span_place(store, 12345, &place);
    assert_null(place.file);
}

static void test_spans_of_a_text_elsewhere_keep_line_and_column(void **state)
{
    (void)state;
    uint32_t source;
    assert_ok(ctx, bt_store_add_source(ctx, store, "net.py", NULL, 0, &source));
    bt_place place;
    bt_span_place(store, bt_span_line(store, source, 12, 5, 7), &place);
    assert_string_equal(place.file, "net.py");
    assert_int_equal(place.line, 12);
    assert_int_equal(place.column, 5);
    assert_int_equal(place.width, 7);
    assert_null(place.text);
    assert_null(place.node);
}

static void test_provenance_sets_are_interned_and_sorted(void **state)
{
    (void)state;
    bt_prov a = bt_prov_new(store, 7), b = bt_prov_new(store, 8);
    bt_prov c = bt_prov_new(store, 9);
    bt_prov ab = bt_prov_join(store, b, a);
    assert_int_equal(ab, bt_prov_join(store, a, b));
    assert_int_equal(bt_prov_join(store, ab, c),
                     bt_prov_join(store, a, bt_prov_join(store, c, b)));
    assert_int_equal(bt_prov_join(store, ab, a), ab);
    assert_int_equal(bt_prov_join(store, 0, a), a);
    assert_int_equal(bt_prov_join(store, a, 0), a);
    const uint32_t *ids;
    assert_int_equal(bt_prov_ids(store, ab, &ids), 2);
    assert_true(ids[0] < ids[1]);
    assert_int_equal(bt_prov_span(store, ids[0]), 7);
    assert_int_equal(bt_prov_span(store, ids[1]), 8);
    assert_int_equal(bt_prov_ids(store, 0, &ids), 0);
}

static void test_provenance_keeps_the_sixteen_smallest(void **state)
{
    (void)state;
    bt_prov all = 0, first = 0;
    for (uint32_t i = 0; i < 40; i++) {
        bt_prov one = bt_prov_new(store, 100 + i);
        first = i ? first : one;
        all = bt_prov_join(store, one, all);
    }
    const uint32_t *ids, *least;
    assert_int_equal(bt_prov_ids(store, first, &least), 1);
    assert_int_equal(bt_prov_ids(store, all, &ids), 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(ids[i], least[0] + i);
}

// clang-format off
static const struct CMUnitTest tests[] = {
    TEST(test_equal_names_are_one_pointer),
    TEST(test_a_store_outlives_its_creator),
    TEST(test_held_objects_live_as_long_as_the_store),
    TEST(test_spans_know_line_column_and_text),
    TEST(test_spans_of_models_name_the_node),
    TEST(test_spans_of_a_text_elsewhere_keep_line_and_column),
    TEST(test_provenance_sets_are_interned_and_sorted),
    TEST(test_provenance_keeps_the_sixteen_smallest),
};
// clang-format on
TEST_MAIN(tests)
