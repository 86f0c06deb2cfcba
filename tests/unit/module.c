/* Modules: versions that share what did not change, names, data types, components. */
#include "solve_kit.h"

/* A function that calls the named ones, in order, with its parameter. */
static const bt_func *caller(kit *k, uint32_t n, const char *const *names)
{
    const bt_type *type = bt_type_scalar(k->store, BT_FLOAT32);
    const bt_param *x = param(k, "x", type);
    const bt_value *at = &x->base;
    begin(k, 1, &x);
    for (uint32_t i = 0; i < n; i++)
        at = call1(k, global(k, names[i]), at);
    return func(k, end(k, at), type, 0, NULL);
}
#define CALLER(k, ...)                                                  \
    caller(k, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
           (const char *[]){ __VA_ARGS__ })

static void test_names_are_found(void **state)
{
    (void)state;
    kit k = kit_create();
    char name[16];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        define(&k, name, caller(&k, 0, NULL));
    }
    bt_module *m = finish(&k);
    assert_int_equal(m->nglobal, 500);
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        assert_true(bt_module_find(m, name) == m->globals[i]);
        assert_string_equal(m->globals[i]->name, name);
    }
    assert_null(bt_module_find(m, "f500"));
    assert_null(bt_module_find_adt(m, "f1"));
    assert_null(bt_module_find_ctor(m, ""));
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_a_version_shares_what_did_not_change(void **state)
{
    (void)state;
    kit k = kit_create();
    define(&k, "f", caller(&k, 0, NULL));
    define(&k, "g", CALLER(&k, "f"));
    bt_module *first = finish(&k), *second;
    assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, first, &k.module));
    bt_global global = *bt_module_find(first, "f");
    global.func = CALLER(&k, "g");
    global.type = NULL;
    assert_ok(k.ctx, bt_module_builder_set(k.module, &global, 0));
    // What is there already stays the same node.
    assert_ok(k.ctx, bt_module_builder_set(k.module, bt_module_find(first, "g"), 0));
    define(&k, "h", caller(&k, 0, NULL));
    second = finish(&k);
    assert_true(bt_module_find(second, "g") == bt_module_find(first, "g"));
    assert_true(bt_module_find(second, "f") != bt_module_find(first, "f"));
    assert_true(bt_module_find(second, "f")->type == bt_module_find(first, "f")->type);
    assert_int_equal(second->nglobal, 3);
    assert_string_equal(second->globals[0]->name, "f");
    assert_null(bt_module_find(first, "h"));
    bt_module_unref(first);
    assert_non_null(bt_module_find(second, "f"));
    bt_module_unref(second);
    kit_destroy(&k);
}

static void test_removed_names_are_free_again(void **state)
{
    (void)state;
    kit k = kit_create();
    define(&k, "f", caller(&k, 0, NULL));
    define(&k, "g", caller(&k, 0, NULL));
    bt_global again = { .name = "f",
                        .kind = BT_GLOBAL_FUNC,
                        .func = caller(&k, 0, NULL) };
    assert_error(bt_module_builder_set(k.module, &again, 1), BT_ERR_NAME,
                 "@f is defined twice");
    bt_module_builder_remove(k.module, "f");
    bt_module_builder_remove(k.module, "unknown");
    assert_ok(k.ctx, bt_module_builder_set(k.module, &again, 1));
    bt_module *m = finish(&k);
    assert_int_equal(m->nglobal, 2);
    assert_string_equal(m->globals[0]->name, "g");
    assert_string_equal(m->globals[1]->name, "f");
    assert_true(bt_module_find(m, "f")->func == again.func);
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_globals_without_body_are_refused(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_global rows[] = { { .name = "f", .kind = BT_GLOBAL_FUNC },
                         { .name = "c", .kind = BT_GLOBAL_CONST },
                         { .name = "d", .kind = BT_GLOBAL_GRADIENT },
                         { .kind = BT_GLOBAL_EXTERN } };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_status status = bt_module_builder_set(k.module, &rows[i], 1);
        assert_non_null(status);
        assert_int_equal(status->code, BT_ERR_ARGUMENT);
    }
    kit_destroy(&k);
}

static void test_data_types_and_constructors_have_one_name(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_adt_def *list, *tree, *other;
    bt_ctor rows[] = { { .name = "Leaf" }, { .name = "Node" } };
    assert_ok(k.ctx, bt_module_builder_declare_adt(k.module, "List", 0, 0, NULL, &list));
    assert_error(bt_module_builder_declare_adt(k.module, "List", 0, 0, NULL, &other),
                 BT_ERR_NAME, "List is defined twice");
    assert_ok(k.ctx, bt_module_builder_declare_adt(k.module, "Tree", 0, 0, NULL, &tree));
    assert_ok(k.ctx, bt_module_builder_define_adt(k.module, tree, 2, rows));
    assert_error(bt_module_builder_define_adt(k.module, list, 1, rows), BT_ERR_NAME,
                 "constructor Leaf of List is taken: Tree");
    assert_int_equal(list->nctor, 0);
    rows[1].name = "Twice";
    rows[0].name = "Twice";
    assert_error(bt_module_builder_define_adt(k.module, list, 2, rows), BT_ERR_NAME,
                 "Twice");
    bt_module *m = finish(&k);
    const bt_ctor *node = bt_module_find_ctor(m, "Node");
    assert_true(bt_module_find_adt(m, "Tree") == tree);
    assert_true(node == tree->ctors[1] && node->adt == tree && node->tag == 1);
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_the_entry_is_main_or_the_only_function(void **state)
{
    (void)state;
    const bt_global *entry = NULL;
    kit k = kit_create();
    define(&k, "alone", caller(&k, 0, NULL));
    bt_module *m = finish(&k);
    assert_ok(k.ctx, bt_module_entry(k.ctx, m, NULL, &entry));
    assert_string_equal(entry->name, "alone");
    assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, m, &k.module));
    bt_module_unref(m);
    define(&k, "other", caller(&k, 0, NULL));
    m = finish(&k);
    assert_error(bt_module_entry(k.ctx, m, NULL, &entry), BT_ERR_NAME,
                 "no function is named @main: the module has @alone, @other");
    assert_ok(k.ctx, bt_module_entry(k.ctx, m, "other", &entry));
    assert_string_equal(entry->name, "other");
    bt_module_unref(m);
    kit_destroy(&k);
}

/* Parts of definitions that the author's memory does not keep alive. */
static void test_rows_are_copied(void **state)
{
    (void)state;
    kit k = kit_create();
    char name[] = "loss", primal[] = "f", key[] = "fast";
    int64_t wrt[] = { 0 };
    bt_dict_entry entry = { .name = key, .kind = BT_DICT_BOOL, .i = 1 };
    bt_global row = { .name = name,
                      .kind = BT_GLOBAL_GRADIENT,
                      .primal = primal,
                      .gradient = { .wrt = { 1, wrt }, .keep = { BT_NONE_LIST, NULL } },
                      .attrs = { 1, &entry } };
    define(&k, "f", caller(&k, 0, NULL));
    assert_ok(k.ctx, bt_module_builder_set(k.module, &row, 1));
    bt_module_builder_set_attrs(k.module, row.attrs);
    name[0] = primal[0] = key[0] = 'X';
    wrt[0] = 9;
    bt_module *m = finish(&k);
    const bt_global *loss = bt_module_find(m, "loss");
    assert_string_equal(loss->primal, "f");
    assert_int_equal(loss->gradient.wrt.at[0], 0);
    assert_int_equal(loss->gradient.keep.n, BT_NONE_LIST);
    assert_non_null(bt_dict_find(&loss->attrs, "fast"));
    assert_non_null(bt_dict_find(&m->attrs, "fast"));
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- components ---- */

static uint32_t component_of(const bt_module *m, const bt_callgraph *graph,
                             const char *name)
{
    for (uint32_t i = 0; i < m->nglobal; i++) {
        if (strcmp(m->globals[i]->name, name) == 0)
            return graph->component[i];
    }
    fail_msg("no global is named %s", name);
    return 0;
}

/* main -> {a <-> b} -> leaf, self -> self */
static void test_components_come_in_order_of_reference(void **state)
{
    (void)state;
    kit k = kit_create();
    define(&k, "main", CALLER(&k, "a", "self", "missing"));
    define(&k, "a", CALLER(&k, "b", "leaf"));
    define(&k, "b", CALLER(&k, "a"));
    define(&k, "self", CALLER(&k, "self"));
    define(&k, "leaf", caller(&k, 0, NULL));
    bt_module *m = finish(&k);
    const bt_callgraph *graph;
    bt_arena *arena = bt_arena_create(k.registry);
    assert_ok(k.ctx, bt_callgraph_create(k.ctx, m, arena, &graph));
    uint32_t a = component_of(m, graph, "a"), self = component_of(m, graph, "self");
    uint32_t leaf = component_of(m, graph, "leaf"), top = component_of(m, graph, "main");
    assert_int_equal(graph->ncomponent, 4);
    assert_int_equal(component_of(m, graph, "b"), a);
    assert_true(leaf < a && a < top && self < top);
    assert_true(graph->is_recursive[a] && graph->is_recursive[self]);
    assert_true(!graph->is_recursive[leaf] && !graph->is_recursive[top]);
    assert_int_equal(graph->member_start[a + 1] - graph->member_start[a], 2);
    assert_int_equal(graph->members[graph->member_start[a]], 1);
    assert_int_equal(graph->edge_start[1], 2);
    // in the order of definition: main, a, b, self, leaf
    static const char *const from[] = { "main", "b", "self", "leaf" };
    static const uint8_t gets[][5] = {
        { 1, 1, 1, 1, 1 }, { 0, 1, 1, 0, 1 }, { 0, 0, 0, 1, 0 }, { 0, 0, 0, 0, 1 }
    };
    for (int i = 0; i < 4; i++) {
        const bt_global *global = bt_module_find(m, from[i]);
        const uint8_t *reached;
        assert_ok(k.ctx, bt_callgraph_reach(graph, m, global, arena, &reached));
        assert_memory_equal(reached, gets[i], 5);
    }
    bt_arena_destroy(arena);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* A chain of 20,000 functions costs no C stack. */
static void test_long_chains_of_functions(void **state)
{
    (void)state;
    enum { N = 20000 };
    kit k = kit_create();
    char name[16], next[16];
    const char *names[] = { next };
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        snprintf(next, sizeof(next), "f%d", i + 1);
        define(&k, name, caller(&k, 1, names));
    }
    bt_module *m = finish(&k);
    const bt_callgraph *graph;
    bt_arena *arena = bt_arena_create(k.registry);
    assert_ok(k.ctx, bt_callgraph_create(k.ctx, m, arena, &graph));
    assert_int_equal(graph->ncomponent, N);
    assert_int_equal(graph->members[0], N - 1);
    assert_int_equal(graph->component[0], N - 1);
    bt_arena_destroy(arena);
    bt_module_unref(m);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_are_found),
    cmocka_unit_test(test_a_version_shares_what_did_not_change),
    cmocka_unit_test(test_removed_names_are_free_again),
    cmocka_unit_test(test_globals_without_body_are_refused),
    cmocka_unit_test(test_data_types_and_constructors_have_one_name),
    cmocka_unit_test(test_the_entry_is_main_or_the_only_function),
    cmocka_unit_test(test_rows_are_copied),
    cmocka_unit_test(test_components_come_in_order_of_reference),
    cmocka_unit_test(test_long_chains_of_functions),
};
TEST_MAIN(tests)
