/* Ways that plugins bring: what they make of a graph is put in order, or refused. */
#include "formula.h"

#include <math.h>

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

static bt_status retypes_the_result(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->graph->arrays[1]->dtype = BT_INT8;
    call->is_made = 1;
    return NULL;
}

static void widen(bt_graph *g, uint32_t which)
{
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, 1);
    assert_non_null(extents);
    extents[0] = bt_node_int(g, 3000);
    g->arrays[which]->extents = extents;
}

static bt_status widens_the_input(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    widen(call->graph, 0);
    call->is_made = 1;
    return NULL;
}

static bt_status shortens_the_result(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    widen(call->graph, 1);
    call->is_made = 1;
    return NULL;
}

static bt_status computes_the_input(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->graph->arrays[0]->body = bt_node_int(call->graph, 1);
    call->is_made = 1;
    return NULL;
}

static bt_status has_more_axes_than_extents(bt_ctx *ctx, bt_arena *arena,
                                            bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->graph->arrays[1]->rank = 9;
    call->is_made = 1;
    return NULL;
}

static bt_status estimates_less_than_nothing(bt_ctx *ctx, bt_arena *arena,
                                             bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->is_made = 1;
    call->ns = -1;
    return NULL;
}

static bt_status estimates_no_number(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->is_made = 1;
    call->ns = NAN;
    return NULL;
}

static bt_status estimates_for_ever(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->is_made = 1;
    call->ns = INFINITY;
    return NULL;
}

/* ---- bodies that are none ---- */

static const bt_node *reads(bt_graph *g, uint32_t array, bt_dtype dtype, uint32_t rank)
{
    const bt_node *at[2] = { bt_node_int(g, 0), bt_node_int(g, 0) };
    return bt_node_read(g, array, dtype, rank, at);
}

static const bt_node *none(bt_graph *g)
{
    (void)g;
    return NULL;
}

static const bt_node *of_another_dtype(bt_graph *g)
{
    return bt_node_float(g, BT_FLOAT64, 7);
}

static const bt_node *of_another_graph(bt_graph *g)
{
    bt_graph *other = bt_graph_create(g->ctx, g->arena);
    assert_non_null(other);
    return bt_node_int(other, 7);
}

static const bt_node *reads_at_two_indices(bt_graph *g)
{
    return reads(g, 0, BT_INT64, 2);
}

static const bt_node *reads_at_no_index(bt_graph *g)
{
    return reads(g, 0, BT_INT64, 0);
}

static const bt_node *reads_floats(bt_graph *g)
{
    return bt_node_cast(g, BT_INT64, reads(g, 0, BT_FLOAT64, 1));
}

static const bt_node *reads_what_is_not_there(bt_graph *g)
{
    return reads(g, 1000, BT_INT64, 1);
}

static const bt_node *has_a_free_index(bt_graph *g)
{
    return bt_node_index(g, 40, bt_node_int(g, 5));
}

/* Its reads would be thought to be in bounds. */
static const bt_node *has_a_short_index(bt_graph *g)
{
    return bt_node_index(g, 0, bt_node_int(g, 2));
}

static const bt_node *sum(bt_graph *g, uint32_t first, const bt_node *extent,
                          const bt_node *condition, const bt_node *body)
{
    return bt_node_reduce(g, BT_REDUCER_SUM, first, 1, &extent, condition, body);
}

static const bt_node *sums_over_an_axis(bt_graph *g)
{
    return sum(g, 0, bt_node_int(g, 4), bt_node_bool(g, 1), bt_node_int(g, 1));
}

static const bt_node *sums_over_no_size(bt_graph *g)
{
    return sum(g, 1, bt_node_int(g, -4), bt_node_bool(g, 1), bt_node_int(g, 1));
}

static const bt_node *sums_where_a_number(bt_graph *g)
{
    return sum(g, 1, bt_node_int(g, 4), bt_node_int(g, 1), bt_node_int(g, 1));
}

static const bt_node *sums_in_a_sum_of_one_number(bt_graph *g)
{
    const bt_node *yes = bt_node_bool(g, 1), *four = bt_node_int(g, 4);
    return sum(g, 1, four, yes, sum(g, 1, four, yes, bt_node_int(g, 1)));
}

static const bt_node *sums_a_short_index(bt_graph *g)
{
    return sum(g, 1, bt_node_int(g, 4), bt_node_bool(g, 1),
               bt_node_index(g, 1, bt_node_int(g, 3)));
}

static const bt_node *adds_two_dtypes(bt_graph *g)
{
    return bt_node_cast(
        g, BT_INT64,
        bt_node_scalar(g, BT_SCALAR_ADD,
                       bt_node_cast(g, BT_FLOAT32, reads(g, 0, BT_INT64, 1)),
                       reads(g, 0, BT_INT64, 1)));
}

static const bt_node *is_a_root_of_integers(bt_graph *g)
{
    return bt_node_scalar(g, BT_SCALAR_SQRT, reads(g, 0, BT_INT64, 1), NULL);
}

static const bt_node *(*body)(bt_graph *); /* of the result */

static bt_status puts_body(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
{
    (void)ctx, (void)arena;
    call->graph->arrays[1]->body = body(call->graph);
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
        { retypes_the_result, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { widens_the_input, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { shortens_the_result, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { computes_the_input, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { has_more_axes_than_extents, BT_ERR_PLUGIN,
          "way test.way changes what function f takes and gives" },
        { estimates_less_than_nothing, BT_ERR_PLUGIN,
          "way test.way estimates -1 ns for function f" },
        { estimates_no_number, BT_ERR_PLUGIN, "way test.way estimates" },
        { estimates_for_ever, BT_ERR_PLUGIN, "way test.way estimates inf ns" },
        { fails, BT_ERR_LIMIT, "too much" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++)
        assert_error(ask(&w, rows[i].make).status, rows[i].code, rows[i].why);
    world_close(&w);
}

static void test_what_is_no_body_is_named(void **state)
{
    (void)state;
    static const struct {
        const bt_node *(*body)(bt_graph *);
        const char *why;
    } rows[] = {
        { none, "stage y has no body" },
        { of_another_dtype, "stage y is of int64, its body of float64" },
        { of_another_graph, "stage y has a node that is not of its graph" },
        { reads_at_two_indices, "stage y reads x, which has rank 1, at 2 indices" },
        { reads_at_no_index, "stage y reads x, which has rank 1, at 0 indices" },
        { reads_floats, "stage y reads x of float64, which is of int64" },
        { reads_what_is_not_there,
          "stage y reads array 1000, and there are no more than 2" },
        { has_a_free_index, "stage y has an index that is of no axis and no reduction" },
        { has_a_short_index, "stage y has an index 0 of another extent" },
        { sums_over_an_axis, "stage y has a reduction over a number of its axes" },
        { sums_over_no_size, "stage y has a sum over an extent that is no size" },
        { sums_where_a_number, "stage y has a sum whose condition is no bool" },
        { sums_in_a_sum_of_one_number, "stage y has a sum inside another" },
        { sums_a_short_index, "stage y has an index 1 of another extent" },
        { adds_two_dtypes, "stage y has add of " },
        { is_a_root_of_integers, "stage y has sqrt of int64" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        body = rows[i].body;
        const bt_status status = ask(&w, puts_body).status;
        assert_error(status, BT_ERR_PLUGIN,
                     "way test.way makes no graph of function f: ");
        assert_error(status, BT_ERR_PLUGIN, rows[i].why);
    }
    world_close(&w);
}

/* What constructors refuse; the number is the index, dim, operator or reducer. */
static const bt_node *has_an_index_beyond_all(bt_graph *g)
{
    return bt_node_index(g, 200, bt_node_int(g, 5));
}

static const bt_node *has_no_such_dim(bt_graph *g)
{
    return bt_node_dim(g, 3);
}

static const bt_node *has_no_such_operator(bt_graph *g)
{
    return bt_node_scalar(g, 9999, bt_node_int(g, 1), bt_node_int(g, 1));
}

static const bt_node *has_no_such_reducer(bt_graph *g)
{
    const bt_node *four = bt_node_int(g, 4);
    return bt_node_reduce(g, 99, 1, 1, &four, bt_node_bool(g, 1), four);
}

static const bt_node *sums_over_too_many(bt_graph *g)
{
    const bt_node *four = bt_node_int(g, 4);
    return bt_node_reduce(g, BT_REDUCER_SUM, 1, BT_MAX_INDEX, &four, bt_node_bool(g, 1),
                          four);
}

static void test_what_constructors_refuse_is_told(void **state)
{
    (void)state;
    static const struct {
        const bt_node *(*body)(bt_graph *);
        const char *why;
    } rows[] = {
        { has_an_index_beyond_all, "a graph cannot have an index 200" },
        { has_no_such_dim, "a graph cannot have dim 3" },
        { has_no_such_operator, "a graph cannot have scalar operator 9999" },
        { has_no_such_reducer, "a graph cannot have reducer 99" },
        { sums_over_too_many, "a graph cannot have a reduction up to index 65" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        body = rows[i].body;
        assert_error(ask(&w, puts_body).status, BT_ERR_ARGUMENT, rows[i].why);
    }
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stages_come_before_those_that_read_them),
    cmocka_unit_test(test_who_has_none_leaves_it_to_others),
    cmocka_unit_test(test_what_cannot_be_is_named),
    cmocka_unit_test(test_what_is_no_body_is_named),
    cmocka_unit_test(test_what_constructors_refuse_is_told),
};
TEST_MAIN(tests)
