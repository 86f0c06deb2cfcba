/* Every allocation fails once: building, modules, effects, rewriting, inlining,
 * verification and equality report it, lose nothing and break nothing. */
#include "failing_allocator.h"
#include "rewrite_kit.h"

struct world {
    bt_registry *registry;
    bt_ctx *ctx;
    bt_store *store;
    bt_builder *b;
    bt_module_builder *builder;
    bt_module *m, *out;
    const bt_type *t;
};

/* ---- building ---- */

static bt_status build_block(struct world *w, const bt_value *x, int second,
                             const bt_block **out)
{
    const bt_value *y = x;
    BT_TRY(bt_block_begin(w->b, 0, NULL));
    if (second)
        BT_TRY(bt_build_op(w->b, &op_relu, NULL, 1, &x, &y));
    return bt_block_end(w->b, y, out);
}

/* fix loop(y) = if (c) { loop(relu(y)) } else { y } */
static bt_status build_loop(struct world *w, const bt_value *c, const bt_value **out)
{
    const char *name = "loop";
    const bt_func_type fields = { .narg = 1, .args = &w->t, .result = w->t };
    const bt_type *type = bt_type_func(w->store, &fields);
    const bt_param *y;
    const bt_value *step, *choice;
    const bt_block *yes, *no;
    const bt_func *func;
    if (!type)
        return bt_store_why(w->ctx, w->store);
    BT_TRY(bt_build_closures(w->b, 1, &name, &type, out));
    BT_TRY(bt_build_param(w->b, "y", w->t, &y));
    BT_TRY(bt_block_begin(w->b, 1, &y));
    BT_TRY(bt_block_begin(w->b, 0, NULL));
    const bt_value *arg = &y->base;
    BT_TRY(bt_build_op(w->b, &op_relu, NULL, 1, &arg, &step));
    bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = *out, .narg = 1, .args = &step
    };
    BT_TRY(bt_build_call(w->b, &call, &step));
    BT_TRY(bt_block_end(w->b, step, &yes));
    BT_TRY(build_block(w, &y->base, 0, &no));
    BT_TRY(bt_build_if(w->b, c, yes, no, &choice));
    bt_func f = { .name = "loop", .result = w->t };
    BT_TRY(bt_block_end(w->b, choice, &f.block));
    BT_TRY(bt_func_create(w->ctx, w->store, &f, &func));
    return bt_build_closure_body(w->b, *out, func);
}

static bt_status add_func(struct world *w, const char *name, const bt_value *result)
{
    bt_func f = { .name = name };
    bt_global row = { .name = name, .kind = BT_GLOBAL_FUNC };
    BT_TRY(bt_block_end(w->b, result, &f.block));
    BT_TRY(bt_func_create(w->ctx, w->store, &f, &row.func));
    return bt_module_builder_set(w->builder, &row, 1);
}

static bt_status build_main(struct world *w)
{
    const bt_type *boolean = bt_type_scalar(w->store, BT_BOOL);
    const bt_param *x, *c;
    const bt_value *one, *sum, *loop, *both, *field, *args[2];
    if (!boolean)
        return bt_store_why(w->ctx, w->store);
    BT_TRY(bt_build_param(w->b, "x", w->t, &x));
    BT_TRY(bt_build_param(w->b, "c", boolean, &c));
    BT_TRY(bt_block_begin(w->b, 2, (const bt_param *[]){ x, c }));
    BT_TRY(bt_build_scalar(w->b, BT_FLOAT32, 1, &one));
    bt_prov prov = bt_prov_new(w->store, 0);
    if (!prov)
        return bt_no_memory();
    bt_builder_at(w->b, 0, prov);
    args[0] = &x->base;
    args[1] = one;
    BT_TRY(bt_build_op(w->b, &op_add, NULL, 2, args, &sum));
    BT_TRY(bt_build_tuple(w->b, 1, &sum, &both));
    BT_TRY(bt_build_proj(w->b, both, 0, &field));
    BT_TRY(build_loop(w, &c->base, &loop));
    bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = loop, .narg = 1, .args = &field
    };
    BT_TRY(bt_build_call(w->b, &call, &sum));
    call.args = &sum;
    BT_TRY(bt_build_call(w->b, &call, &sum));
    return add_func(w, "main", sum);
}

static bt_status build(struct world *w)
{
    int64_t four = 4;
    w->t = bt_type_tensor_of(w->store, BT_FLOAT32, 1, &four);
    if (!w->t)
        return bt_store_why(w->ctx, w->store);
    BT_TRY(bt_builder_create(w->ctx, w->store, NULL, &w->b));
    BT_TRY(bt_module_builder_create(w->ctx, w->store, NULL, &w->builder));
    BT_TRY(build_main(w));
    bt_module_builder *builder = w->builder;
    w->builder = NULL;
    return bt_module_builder_finish(builder, 1, &w->m);
}

/* ---- using it ---- */

static bt_status inline_loop(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    const bt_closure_value *closure = bt_as_closure(call->callee);
    uint32_t *left = bt_rewrite_state(rw);
    const bt_value *arg;
    if (bt_as_op_call(&call->base, "relu"))
        return bt_rewrite_operand(rw, call->args[0], out);
    if (!closure || !*left)
        return NULL;
    --*left;
    BT_TRY(bt_rewrite_operand(rw, call->args[0], &arg));
    return bt_rewrite_inline_func(rw, closure->func, 0, NULL, 1, &arg, out);
}

static bt_status use(struct world *w)
{
    const bt_global *main_global;
    BT_TRY(bt_verify(w->ctx, w->m));
    BT_TRY(bt_module_entry(w->ctx, w->m, NULL, &main_global));
    bt_arena *arena = bt_arena_create(w->registry);
    bt_effects *effects;
    bt_status status =
        arena ? bt_effects_create(w->ctx, w->m, arena, &effects) : bt_no_memory();
    bt_arena_destroy(arena);
    if (status)
        return status;
    uint32_t left = 1;
    bt_rewriter rewriter = { .call_ = inline_loop };
    bt_pass_call call = pass_call(w->m);
    BT_TRY(bt_rewrite_module(w->ctx, &call, &rewriter, &left, &w->out));
    BT_TRY(bt_verify(w->ctx, w->out));
    const bt_func *f = main_global->func, *g = bt_module_find(w->out, "main")->func;
    bt_module *same = bt_module_ref(w->m);
    int equal = bt_module_equal(w->m, same) && bt_func_equal(w->registry, f, f);
    int differ = !bt_func_equal(w->registry, f, g) && bt_func_hash(f) != bt_func_hash(g);
    bt_module_unref(same);
    assert_true(differ && equal);
    return NULL;
}

static int body(const bt_allocator *allocator)
{
    struct world w = { .registry = failing_registry(allocator) };
    int succeeded = 0;
    if (!w.registry)
        return 0;
    w.ctx = bt_ctx_create(w.registry);
    w.store = bt_store_create(w.registry);
    if (w.ctx && w.store)
        succeeded = ok_or_no_memory(build(&w)) && ok_or_no_memory(use(&w));
    bt_module_unref(w.out);
    bt_module_unref(w.m);
    bt_module_builder_destroy(w.builder);
    bt_builder_destroy(w.b);
    bt_store_unref(w.store);
    bt_ctx_destroy(w.ctx);
    bt_registry_unref(w.registry);
    return succeeded;
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
