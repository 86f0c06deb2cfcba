/* Ways that plugins bring: what they make of a graph is put in order, or refused. */
#include "formula.h"

#include "schedule/ways.h"

/* y[i] = x[i] + 1 */
static bt_graph *make_graph(struct world *w)
{
    bt_arena *arena = bt_ctx_scratch(w->ctx);
    bt_graph *g = bt_graph_create(w->ctx, arena);
    const bt_node **extents = BT_NEWS(arena, const bt_node *, 1);
    uint32_t *results = BT_NEWS(arena, uint32_t, 1), x, y;
    assert_true(g && extents && results);
    extents[0] = bt_node_int(g, 4);
    bt_array array = { .name = "x", .dtype = BT_INT64, .rank = 1, .extents = extents };
    assert_true(bt_graph_add_array(g, &array, &x));
    g->ninput = 1;
    const bt_node *i = bt_node_index(g, 0, extents[0]);
    array.name = "y";
    array.body = bt_node_scalar(g, BT_SCALAR_ADD, bt_node_read(g, x, BT_INT64, 1, &i),
                                bt_node_int(g, 1));
    assert_true(bt_graph_add_array(g, &array, &y));
    results[0] = y;
    g->results = results;
    g->nresult = 1;
    return g;
}

/* t[i] = body, behind y in the list of stages, and y[i] = t[i]. */
static void put_stage(bt_graph *g, uint32_t reads)
{
    bt_array array = *g->arrays[1];
    const bt_node *i = bt_node_index(g, 0, array.extents[0]);
    uint32_t t;
    array.name = "t";
    array.body = bt_node_read(g, reads, BT_INT64, 1, &i);
    assert_true(bt_graph_add_array(g, &array, &t));
    g->arrays[1]->body = bt_node_read(g, t, BT_INT64, 1, &i);
}

static bt_status adds_a_stage(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    assert_string_equal(call->isa, "portable");
    put_stage(call->graph, 0);
    call->is_made = 1;
    call->ns = 7;
    return NULL;
}

static bt_status goes_round(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    put_stage(call->graph, 1);
    call->is_made = 1;
    return NULL;
}

static bt_status drops_the_result(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->graph->nresult = 0;
    call->is_made = 1;
    return NULL;
}

static bt_status has_none(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena, (void)call;
    return NULL;
}

static bt_status refuses(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)arena, (void)call;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "not this one");
}

static bt_status fails(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)arena, (void)call;
    return bt_fail(ctx, BT_ERR_LIMIT, "too much");
}

typedef bt_status make_fn(bt_ctx *, bt_arena *, bt_cpu_way_call *);

struct answer {
    bt_status status;
    struct cpu_way_made made;
};

static struct answer ask(struct world *w, make_fn *make)
{
    const bt_cpu_way way = { .name = "test.way", .make = make };
    const struct cpu_config config = { .isa = CPU_ISA_PORTABLE };
    const bt_func func = { .name = "f" };
    const struct cpu_way_call call = { &config, &way, &func, make_graph(w) };
    struct answer a;
    a.status = cpu_way_make(w->ctx, bt_ctx_scratch(w->ctx), &call, &a.made);
    return a;
}

static void test_stages_come_before_those_that_read_them(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct answer a = ask(&w, adds_a_stage);
    assert_ok(w.ctx, a.status);
    assert_true(a.made.is_made);
    assert_float_equal(a.made.ns, 7, 0);
    assert_int_equal(a.made.order[0], 2);
    assert_int_equal(a.made.order[1], 1);
    world_close(&w);
}

static void test_who_has_none_leaves_it_to_others(void **state)
{
    (void)state;
    static make_fn *const all[] = { has_none, refuses };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        const struct answer a = ask(&w, all[i]);
        assert_ok(w.ctx, a.status);
        assert_false(a.made.is_made);
    }
    world_close(&w);
}

static void test_what_cannot_be_is_named(void **state)
{
    (void)state;
    static const struct {
        make_fn *make;
        uint32_t code;
        const char *why;
    } rows[] = {
        { goes_round, BT_ERR_PLUGIN, "way test.way makes stages that need themselves" },
        { drops_the_result, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { fails, BT_ERR_LIMIT, "too much" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++)
        assert_error(ask(&w, rows[i].make).status, rows[i].code, rows[i].why);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stages_come_before_those_that_read_them),
    cmocka_unit_test(test_who_has_none_leaves_it_to_others),
    cmocka_unit_test(test_what_cannot_be_is_named),
};
TEST_MAIN(tests)
