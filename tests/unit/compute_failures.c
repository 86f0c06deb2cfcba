/* Computations without memory: every allocation fails in turn. */
#include "failing_allocator.h"

#include <baton/compute.h>

#include "compute/evaluate/compute.h"
#include "compute/loops/transform.h"
#include "loops_oracle.h"

struct numbers {
    int64_t pad;
    bt_ints list;
};
static const bt_attr numbers_attrs[] = {
    BT_ATTR(struct numbers, pad, INT, "1", ""),
    BT_ATTR(struct numbers, list, INTS, "[1]", ""),
    { 0 },
};

static bt_status twice(bt_ctx *ctx, const bt_eval_call *call)
{
    BT_TRY(bt_tensor_create(ctx, call->in[0]->dtype, call->in[0]->rank, call->in[0]->dims,
                            &call->out[0]));
    for (int64_t i = 0; i < call->in[0]->nelem; i++)
        bt_tensor_set(call->out[0], i, 2 * bt_tensor_get(call->in[0], i));
    return NULL;
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    bt_formula_each(f, "i", 0, bt_formula_rank(f, call->args[0]), "i#");
    bt_formula_each(f, "at", 0, 1, "i#");
    bt_formula_item(f, "at", "list[0] * i%u - pad", bt_formula_axis(f, -1, 2));
    bt_formula_set(f, "i", 1, "i1 in n");
    bt_formula_add(f, "y: t[$i] = a[$at] else -inf");
}

#define ROW(...)                                                     \
    {                                                                \
        .name = "test.op", .inputs = inputs, .attrs = numbers_attrs, \
        .attrs_nbytes = sizeof(struct numbers), __VA_ARGS__          \
    }
static const bt_op_input inputs[] = { { "a", "t:float[m, n]", "", 0, 0 },
                                      { "idx", "int32[m]", "", 0, 0 },
                                      { 0 } };
static const bt_op ops[] = {
    ROW(.formula = "m: t[i] = max(j: a[i, j]); e: t[i, j] = exp(a[i, j] - m[i]);"
                   "y: t[i, j] = e[i, j] / sum(j: e[i, j])"),
    ROW(.formula = "y: t[i, j] = sum(k in 2, l in 3 | l <= i: a[i + k - pad, j - l] * "
                   "a[i, j] else 0)"),
    ROW(.formula = "y: t[i, j in n] = a[wrap(idx[i], m), j] + sum(k | int64(idx[k]) == "
                   "i: a[k, j])"),
    ROW(.write_formula = write),
    ROW(.eval = twice),
};

/* Every transform of the first loop; most are refused. */
static bt_status transform_all(bt_loops *l)
{
    for (uint32_t what = 0; what < 5; what++) {
        bt_stmt *loop = l->body.at[0];
        bt_status status = what == 0   ? bt_loops_merge(l, loop)
                           : what == 1 ? bt_loops_shrink(l, loop, 3)
                           : what == 2 ? bt_loops_collapse(l, loop)
                           : what == 3 ? bt_loops_parallel(l, loop)
                                       : bt_loops_simplify(l);
        if (status && status->code != BT_ERR_UNSUPPORTED)
            return status;
    }
    return NULL;
}

/* As loops: lowered, printed, read back, run. */
static bt_status run_loops(bt_ctx *ctx, bt_arena *arena, bt_compute *c,
                           const bt_tensor *const *in, int is_transformed)
{
    bt_loops *loops, *again;
    bt_text text;
    float *y = BT_NEWS(arena, float, 64);
    BT_TRY(bt_loops_lower(ctx, arena, "test", c->graph, &loops));
    bt_text_init(&text, arena);
    BT_TRY(bt_loops_print(loops, &text));
    BT_TRY(loops_parse(ctx, arena, "test", text.at, text.len, &again));
    // of one operator is enough
    if (is_transformed)
        BT_TRY(transform_all(loops));
    if (!y)
        return bt_no_memory();
    BT_TRY(loops_run(ctx, loops, (void *[]){ in[0]->data, in[1]->data, y }, NULL));
    return loops_run(ctx, again, (void *[]){ in[0]->data, in[1]->data, y }, NULL);
}

static bt_status compute(bt_ctx *ctx, const bt_op *op, const bt_type *const *types,
                         const bt_tensor *const *in)
{
    struct numbers numbers = { 1, { 1, (const int64_t[]){ 2 } } };
    bt_compute *c = NULL;
    bt_tensor *y = NULL;
    bt_formula_call call = {
        .op = op, .attrs = &numbers, .narg = 2, .args = types, .result = types[0]
    };
    bt_status status = bt_compute_create(ctx, &call, &c);
    if (!status)
        status = bt_compute_run(ctx, c, 2, in, &y);
    if (!status && !op->eval) {
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        status = bt_compute_print(ctx, c, 2, in, &text);
    }
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!status && !op->eval)
        status = arena ? run_loops(ctx, arena, c, in, op == &ops[0]) : bt_no_memory();
    bt_arena_destroy(arena);
    bt_tensor_unref(y);
    bt_compute_destroy(c);
    return status;
}

static bt_status make_inputs(bt_ctx *ctx, bt_tensor **in)
{
    BT_TRY(bt_tensor_create(ctx, BT_FLOAT32, 2, (const int64_t[]){ 3, 4 }, &in[0]));
    return bt_tensor_create(ctx, BT_INT32, 1, (const int64_t[]){ 3 }, &in[1]);
}

/* A function of two calls: composed, and run. */
static bt_status build_func(bt_ctx *ctx, bt_builder *b, bt_store *store,
                            const bt_type *const *types, const bt_func **out)
{
    struct numbers numbers = { 1, { 1, (const int64_t[]){ 2 } } };
    const bt_param *params[2];
    const bt_value *args[2], *x, *y;
    bt_func func = { .name = "test" };
    BT_TRY(bt_build_param(b, "a", types[0], &params[0]));
    BT_TRY(bt_build_param(b, "idx", types[1], &params[1]));
    BT_TRY(bt_block_begin(b, 2, params));
    args[0] = &params[0]->base;
    args[1] = &params[1]->base;
    bt_builder_type(b, types[0]);
    BT_TRY(bt_build_op(b, &ops[1], &numbers, 2, args, &x));
    args[0] = x;
    bt_builder_type(b, types[0]);
    BT_TRY(bt_build_op(b, &ops[0], &numbers, 2, args, &y));
    BT_TRY(bt_block_end(b, y, &func.block));
    func.result = types[0];
    return bt_func_create(ctx, store, &func, out);
}

static bt_status compute_func(bt_ctx *ctx, bt_store *store, const bt_type *const *types,
                              const bt_tensor *const *in)
{
    bt_builder *b;
    const bt_func *func;
    bt_compute *c = NULL;
    bt_tensor *y = NULL;
    BT_TRY(bt_builder_create(ctx, store, NULL, &b));
    bt_status status = build_func(ctx, b, store, types, &func);
    if (!status)
        status = bt_compute_create_func(ctx, func, NULL, &c);
    if (!status)
        status = bt_compute_run(ctx, c, 2, in, &y);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!status)
        status = arena ? run_loops(ctx, arena, c, in, 0) : bt_no_memory();
    bt_arena_destroy(arena);
    bt_tensor_unref(y);
    bt_compute_destroy(c);
    bt_builder_destroy(b);
    return status;
}

static int run_all(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    bt_tensor *in[2] = { NULL, NULL };
    const bt_type *types[2];
    (void)registry;
    types[0] = bt_type_tensor_of(store, BT_FLOAT32, 2, (const int64_t[]){ 3, 4 });
    types[1] = bt_type_tensor_of(store, BT_INT32, 1, (const int64_t[]){ 3 });
    int ok = types[0] && types[1] && ok_or_no_memory(make_inputs(ctx, in));
    for (uint32_t i = 0; i < BT_COUNT(ops) && ok; i++)
        ok = ok_or_no_memory(compute(ctx, &ops[i], types, (const bt_tensor *const *)in));
    if (ok)
        ok = ok_or_no_memory(
            compute_func(ctx, store, types, (const bt_tensor *const *)in));
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    return ok;
}

static int body(const bt_allocator *allocator)
{
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_store *store = registry ? bt_store_create(registry) : NULL;
    int ok = ctx && store && run_all(registry, ctx, store);
    bt_store_unref(store);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return ok;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation(body);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
