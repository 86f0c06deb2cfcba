/* The rewriting driver on blocks: what is kept, replaced, dropped, moved. */
#include "rewrite_kit.h"

static const bt_rewriter nothing = { 0 };

/* relu(x) -> x */
static bt_status remove_relu(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    if (!bt_as_op_call(&call->base, "relu"))
        return NULL;
    return bt_rewrite_operand(rw, call->args[0], out);
}
static const bt_rewriter without_relu = { .call_ = remove_relu };

/* A program with every kind of binding and a recursive closure. */
static bt_module *everything(kit *k)
{
    bt_adt_def *option;
    const bt_type *a = kind_var(k, BT_KIND_TYPE, "A");
    bt_ctor ctors[] = { { .name = "Some", .nfield = 1, .fields = &a },
                        { .name = "None" } };
    assert_ok(k->ctx,
              bt_module_builder_declare_adt(k->module, "Option", 0, 1, &a, &option));
    assert_ok(k->ctx, bt_module_builder_define_adt(k->module, option, 2, ctors));
    const bt_type *t = vec(k, 4);
    const bt_param *x = param(k, "x", t),
                   *c = param(k, "c", bt_type_scalar(k->store, BT_BOOL));
    begin(k, 2, (const bt_param *[]){ x, c });
    const bt_value *v = &x->base, *cell, *read, *write, *match, *loop;
    const bt_value *sum = op2(k, &op_add, v, op2(k, &op_relu, v, NULL));
    const bt_value *both = pair(k, v, sum);
    assert_ok(k->ctx, bt_build_ref(k->b, proj(k, both, 0), &cell));
    assert_ok(k->ctx, bt_build_write(k->b, cell, sum, &write));
    assert_ok(k->ctx, bt_build_read(k->b, cell, &read));
    const bt_func_type fields = { .narg = 1, .args = &t, .result = t };
    const bt_type *type = bt_type_func(k->store, &fields);
    const char *names[] = { "loop" };
    assert_ok(k->ctx, bt_build_closures(k->b, 1, names, &type, &loop));
    const bt_param *y = param(k, "y", t);
    begin(k, 1, &y);
    begin(k, 0, NULL);
    const bt_block *yes = end(k, call1(k, loop, op2(k, &op_relu, &y->base, NULL)));
    begin(k, 0, NULL);
    const bt_block *no = end(k, op2(k, &op_add, &y->base, read));
    const bt_block *body = end(k, choose(k, &c->base, yes, no));
    assert_ok(k->ctx, bt_build_closure_body(k->b, loop, func(k, body, t, 0, NULL)));
    const bt_value *some = construct(k, option->ctors[0], 1, &read);
    const bt_param *z = param(k, "z", NULL);
    bt_pattern var = { .kind = BT_PATTERN_VAR, .var = z };
    const bt_pattern *at = bt_pattern_create(k->store, &var);
    bt_pattern inside = {
        .kind = BT_PATTERN_CTOR, .ctor = option->ctors[0], .n = 1, .at = &at
    };
    bt_pattern any_value = { .kind = BT_PATTERN_WILDCARD };
    begin(k, 1, &z);
    const bt_block *first = end(k, op2(k, &op_relu, &z->base, NULL));
    begin(k, 0, NULL);
    const bt_block *second = end(k, v);
    bt_clause clauses[] = { { bt_pattern_create(k->store, &inside), first },
                            { bt_pattern_create(k->store, &any_value), second } };
    assert_ok(k->ctx, bt_build_match(k->b, some, 2, clauses, NULL, &match));
    define(k, "main", func(k, end(k, call1(k, loop, match)), t, 0, NULL));
    return infer(k);
}

static void test_an_empty_rewriter_changes_nothing(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = everything(&k);
    assert_ok(k.ctx, bt_verify(k.ctx, m));
    bt_module *out = rewrite(&k, m, &nothing, NULL);
    assert_true(out == m);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static uint32_t count_ops(const bt_block *block, const char *name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        n += bt_as_op_call(block->bindings[i], name) != NULL;
        for (uint32_t r = 0; r < bt_value_nregion(block->bindings[i]); r++)
            n += count_ops(bt_value_region(block->bindings[i], r), name);
    }
    return n;
}

static void test_every_region_is_rewritten(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = everything(&k), *again;
    assert_int_equal(count_ops(func_of(m, "main")->block, "relu"), 3);
    bt_module *out = rewrite(&k, m, &without_relu, NULL);
    assert_int_equal(count_ops(func_of(m, "main")->block, "relu"), 3);
    assert_int_equal(count_ops(func_of(out, "main")->block, "relu"), 0);
    assert_int_equal(count_ops(func_of(out, "main")->block, "add"), 2);
    again = rewrite(&k, out, &without_relu, NULL);
    assert_true(again == out);
    bt_module_unref(again);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* That an unchanged one stays, though its block refers to it, shows the first test. */
static void test_changed_closures_refer_to_their_new_selves(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = everything(&k);
    const bt_block *old = func_of(m, "main")->block, *now;
    bt_module *out = rewrite(&k, m, &without_relu, NULL);
    now = func_of(out, "main")->block;
    const bt_value *loop = NULL;
    for (uint32_t i = 0; i < now->nbinding; i++) {
        if (now->bindings[i]->kind == BT_VALUE_CLOSURE)
            loop = now->bindings[i];
    }
    assert_non_null(loop);
    for (uint32_t i = 0; i < old->nbinding; i++)
        assert_true(old->bindings[i] != loop);
    const bt_block *body = bt_as_closure(loop)->func->block;
    const bt_block *yes = bt_value_region(body->bindings[0], 0);
    assert_true(bt_as_call(yes->bindings[0])->callee == loop);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- dead code, from use counts ---- */

static bt_status drop_dead(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    (void)out;
    if (bt_rewrite_nuse(rw, old) == 0)
        bt_rewrite_drop(rw);
    return NULL;
}

static void test_dropped_bindings_are_left_out(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    const bt_value *used = op2(&k, &op_relu, &x->base, NULL);
    op2(&k, &op_add, &x->base, used);
    begin(&k, 1, (const bt_param *[]){ param(&k, "y", vec(&k, 4)) });
    closure(&k, func(&k, end(&k, used), NULL, 0, NULL));
    define(&k, "main", func(&k, end(&k, used), NULL, 0, NULL));
    bt_module *m = infer(&k);
    bt_rewriter r = { .any = drop_dead };
    bt_module *out = rewrite(&k, m, &r, NULL);
    assert_string_equal(op_names(&k, func_of(m, "main")->block), "relu add closure");
    assert_string_equal(op_names(&k, func_of(out, "main")->block), "relu");
    assert_true(func_of(out, "main")->block->result ==
                func_of(m, "main")->block->bindings[0]);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static bt_status drop_all(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    (void)old;
    (void)out;
    bt_rewrite_drop(rw);
    return NULL;
}

static void test_dropping_what_is_used_is_an_error(void **state)
{
    (void)state;
    kit k = kit_create();
    bt_module *m = everything(&k);
    bt_rewriter r = { .any = drop_all };
    assert_error(rewrite_error(&k, m, &r, NULL), BT_ERR_INTERNAL, "test-pass dropped %");
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- uses ---- */

struct seen_uses {
    uint32_t nuse;
    const bt_value *uses[4];
};

static bt_status see_uses(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct seen_uses *seen = bt_rewrite_state(rw);
    (void)out;
    if (!bt_as_op_call(&call->base, "relu"))
        return NULL;
    seen->nuse = bt_rewrite_nuse(rw, &call->base);
    for (uint32_t i = 0; i < 4; i++)
        seen->uses[i] = bt_rewrite_use(rw, &call->base, i);
    return NULL;
}

/* ---- types stay ---- */

/* relu(x) -> the state */
static bt_status put_state(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    if (!bt_as_op_call(&call->base, "relu"))
        return NULL;
    *out = bt_rewrite_state(rw);
    return NULL;
}
static const bt_rewriter puts_state = { .call_ = put_state };

static void test_a_replacement_has_the_type_of_what_it_replaces(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *params[] = { param(&k, "x", vec(&k, 3)), param(&k, "y", vec(&k, 4)) };
    begin(&k, 2, params);
    const bt_block *block = end(&k, op2(&k, &op_relu, &params[0]->base, NULL));
    define(&k, "main", func(&k, block, NULL, 0, NULL));
    bt_module *m = infer(&k);
    void *now = (void *)(uintptr_t)func_of(m, "main")->block->params[1];
    assert_error(rewrite_error(&k, m, &puts_state, now), BT_ERR_INTERNAL,
                 "test-pass puts a value of type Tensor[(4), float32] for %_, which has "
                 "the type Tensor[(3), float32]");
    bt_module_unref(m);
    kit_destroy(&k);
}

static void test_uses_are_counted_and_listed(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    const bt_value *y = op2(&k, &op_relu, &x->base, NULL);
    op2(&k, &op_add, y, y);
    define(&k, "main", func(&k, end(&k, y), NULL, 0, NULL));
    bt_module *m = infer(&k);
    struct seen_uses seen = { 0 };
    bt_rewriter r = { .call_ = see_uses };
    bt_module_unref(rewrite(&k, m, &r, &seen));
    const bt_block *block = func_of(m, "main")->block;
    assert_int_equal(seen.nuse, 3);
    assert_true(seen.uses[0] == block->bindings[1] && seen.uses[1] == block->bindings[1]);
    assert_null(seen.uses[2]); // the function's result
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- joining siblings ---- */

static bt_status join_relus(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    uint32_t *njoined = bt_rewrite_state(rw);
    const bt_value *x = call->args[0], *args[2], *sum;
    if (!bt_as_op_call(&call->base, "relu"))
        return NULL;
    for (uint32_t i = 0; i < bt_rewrite_nuse(rw, x); i++) {
        const bt_value *other = bt_rewrite_use(rw, x, i);
        if (!bt_as_op_call(other, "add") || bt_as_call(other)->args[0] != x)
            continue;
        BT_TRY(bt_rewrite_operand(rw, x, &args[0]));
        BT_TRY(bt_rewrite_operand(rw, bt_as_call(other)->args[1], &args[1]));
        if (!args[1])
            continue;
        BT_TRY(bt_rewrite_operand(rw, x, &args[0]));
        bt_rewrite_from(rw, other);
        BT_TRY(bt_build_op(bt_rewrite_builder(rw), &op_add, NULL, 2, args, &sum));
        BT_TRY(bt_rewrite_replace(rw, other, sum));
        (*njoined)++;
        *out = sum;
        return NULL;
    }
    return NULL;
}

/* a = relu(x); w = dense(p, q); b = add(x, w): joining a and b emits w before its
 * place. */
static void test_siblings_are_joined(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *square = tensor2(&k, num(&k, 4), num(&k, 4));
    const bt_param *x = param(&k, "x", square);
    begin(&k, 1, &x);
    bt_builder_at(k.b, 0, bt_prov_new(k.store, 0));
    const bt_value *a = op2(&k, &op_relu, &x->base, NULL);
    const bt_value *deep = &x->base;
    for (int i = 0; i < 1000; i++)
        deep = op2(&k, &op_dense, deep, &x->base);
    bt_builder_at(k.b, 0, bt_prov_new(k.store, 0));
    const bt_value *b = op2(&k, &op_add, &x->base, deep);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t njoined = 0;
    bt_rewriter r = { .call_ = join_relus };
    bt_module *out = rewrite(&k, m, &r, &njoined);
    const bt_block *block = func_of(out, "main")->block;
    assert_int_equal(njoined, 1);
    assert_int_equal(block->nbinding, 1002);
    const bt_value *sum = block->bindings[1000];
    assert_non_null(bt_as_op_call(sum, "add"));
    assert_true(bt_value_operand(block->result, 0) == sum);
    assert_true(bt_value_operand(block->result, 1) == sum);
    const uint32_t *ids;
    assert_int_equal(bt_prov_ids(k.store, sum->prov, &ids), 2);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* What needs the binding at hand, or reads behind a write, is not emitted before it. */
static void test_siblings_that_cannot_move_stay(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_value *cell, *write, *read;
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    assert_ok(k.ctx, bt_build_ref(k.b, &x->base, &cell));
    const bt_value *a = op2(&k, &op_relu, &x->base, NULL);
    op2(&k, &op_add, &x->base, op2(&k, &op_add, a, a));
    assert_ok(k.ctx, bt_build_write(k.b, cell, a, &write));
    assert_ok(k.ctx, bt_build_read(k.b, cell, &read));
    op2(&k, &op_add, &x->base, read);
    define(&k, "main", func(&k, end(&k, a), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t njoined = 0;
    bt_rewriter r = { .call_ = join_relus };
    bt_module *out = rewrite(&k, m, &r, &njoined);
    assert_int_equal(njoined, 0);
    assert_true(out == m);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* A read moves up when no write stands between. */
static void test_reads_move_when_nothing_is_written(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_value *cell, *read;
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    assert_ok(k.ctx, bt_build_ref(k.b, &x->base, &cell));
    const bt_value *a = op2(&k, &op_relu, &x->base, NULL);
    assert_ok(k.ctx, bt_build_read(k.b, cell, &read));
    const bt_value *b = op2(&k, &op_add, &x->base, read);
    define(&k, "main", func(&k, end(&k, pair(&k, a, b)), NULL, 0, NULL));
    bt_module *m = infer(&k);
    uint32_t njoined = 0;
    bt_rewriter r = { .call_ = join_relus };
    bt_module *out = rewrite(&k, m, &r, &njoined);
    assert_int_equal(njoined, 1);
    assert_string_equal(op_names(&k, func_of(out, "main")->block), "ref read add tuple");
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- types ---- */

/* unique(x) -> x: a vector of unknown length becomes one of known length. */
static bt_status remove_unique(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    return bt_as_op_call(&call->base, "unique")
               ? bt_rewrite_operand(rw, call->args[0], out)
               : NULL;
}
static const bt_rewriter without_unique = { .call_ = remove_unique };

static void test_types_are_inferred_again_where_operands_changed(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = vec(&k, 4);
    const bt_param *x = param(&k, "x", t),
                   *c = param(&k, "c", bt_type_scalar(k.store, BT_BOOL));
    begin(&k, 2, (const bt_param *[]){ x, c });
    const bt_value *u = op2(&k, &op_unique, &x->base, NULL);
    begin(&k, 0, NULL);
    const bt_block *yes = end(&k, op2(&k, &op_relu, u, NULL));
    begin(&k, 0, NULL);
    const bt_block *no = end(&k, u);
    const bt_value *both = pair(&k, choose(&k, &c->base, yes, no), u);
    const bt_param *vars[] = { param(&k, "p", NULL), param(&k, "q", NULL) };
    const bt_pattern *at[2];
    for (int i = 0; i < 2; i++) {
        bt_pattern var = { .kind = BT_PATTERN_VAR, .var = vars[i] };
        at[i] = bt_pattern_create(k.store, &var);
    }
    bt_pattern tuple = { .kind = BT_PATTERN_TUPLE, .n = 2, .at = at };
    begin(&k, 2, vars);
    bt_clause clause = { bt_pattern_create(k.store, &tuple),
                         end(&k, op2(&k, &op_relu, &vars[0]->base, NULL)) };
    const bt_value *match;
    assert_ok(k.ctx, bt_build_match(k.b, both, 1, &clause, NULL, &match));
    define(&k, "main", func(&k, end(&k, match), NULL, 0, NULL));
    bt_module *m = infer(&k);
    assert_true(func_of(m, "main")->result->has & BT_HAS_OPAQUE);
    bt_module *out = rewrite(&k, m, &without_unique, NULL);
    const bt_func *main_func = func_of(out, "main");
    assert_true(main_func->result == t);
    const bt_value *now = main_func->block->result;
    assert_true(bt_value_region(now, 0)->params[0]->base.type == t);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* f calls unique; g calls f; main calls g: all three have another result type. */
static void test_callers_follow_a_changed_type(void **state)
{
    (void)state;
    kit k = kit_create();
    const bt_type *t = vec(&k, 4);
    const char *names[] = { "f", "g", "main" };
    for (int i = 2; i >= 0; i--) {
        const bt_param *x = param(&k, "x", t);
        begin(&k, 1, &x);
        const bt_value *y = i == 0 ? op2(&k, &op_unique, &x->base, NULL)
                                   : call1(&k, global(&k, names[i - 1]), &x->base);
        define(&k, names[i],
               func(&k, end(&k, op2(&k, &op_relu, y, NULL)), NULL, 0, NULL));
    }
    bt_module *m = infer(&k);
    bt_module *out = rewrite(&k, m, &without_unique, NULL);
    for (int i = 0; i < 3; i++) {
        assert_true(func_of(m, names[i])->result != t);
        assert_true(func_of(out, names[i])->result == t);
        assert_true(func_of(out, names[i])->block->bindings[0]->type == t);
    }
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* df is the gradient of f, main calls df: what f gives decides what df keeps. */
static void test_gradients_follow_a_changed_type(void **state)
{
    (void)state;
    static const int64_t kept[] = { 0 };
    kit k = kit_create();
    const bt_type *t = vec(&k, 4);
    const bt_param *x = param(&k, "x", t);
    begin(&k, 1, &x);
    define(&k, "f",
           func(&k, end(&k, op2(&k, &op_unique, &x->base, NULL)), NULL, 0, NULL));
    bt_global df = { .name = bt_name_of(k.store, "df"),
                     .kind = BT_GLOBAL_GRADIENT,
                     .primal = bt_name_of(k.store, "f"),
                     .gradient = { .wrt = { BT_NONE_LIST, NULL }, .keep = { 1, kept } } };
    assert_ok(k.ctx, bt_module_builder_set(k.module, &df, 1));
    x = param(&k, "x", t);
    begin(&k, 1, &x);
    define(&k, "main",
           func(&k, end(&k, call1(&k, global(&k, "df"), &x->base)), NULL, 0, NULL));
    bt_module *m = infer(&k);
    bt_module *out = rewrite(&k, m, &without_unique, NULL);
    const bt_type *pair[] = { t, t };
    const bt_type *both = bt_type_tuple(k.store, 2, pair);
    assert_true(bt_as_func_type(bt_module_find(m, "df")->type)->result != both);
    assert_true(bt_as_func_type(bt_module_find(out, "df")->type)->result == both);
    assert_true(func_of(out, "main")->result == both);
    // a stale type is a fault that the verifier names
    bt_global stale = *bt_module_find(out, "df");
    stale.type = bt_module_find(m, "df")->type;
    bt_module_builder *mb;
    bt_module *wrong;
    assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, out, &mb));
    assert_ok(k.ctx, bt_module_builder_set(mb, &stale, 0));
    assert_ok(k.ctx, bt_module_builder_finish(mb, 1, &wrong));
    assert_error(bt_verify(k.ctx, wrong), BT_ERR_VERIFY, "@df");
    bt_module_unref(wrong);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static int wants_f(bt_rewrite *rw, const bt_global *g)
{
    (void)rw;
    return strcmp(g->name, "f") == 0;
}

static void test_unwanted_functions_are_left_alone(void **state)
{
    (void)state;
    kit k = kit_create();
    for (int i = 0; i < 2; i++) {
        const bt_param *x = param(&k, "x", vec(&k, 4));
        begin(&k, 1, &x);
        define(&k, i ? "f" : "g",
               func(&k, end(&k, op2(&k, &op_relu, &x->base, NULL)), NULL, 0, NULL));
    }
    bt_module *m = infer(&k);
    bt_rewriter r = { .call_ = remove_relu, .wants = wants_f };
    bt_module *out = rewrite(&k, m, &r, NULL);
    assert_int_equal(func_of(out, "f")->block->nbinding, 0);
    assert_true(func_of(out, "g") == func_of(m, "g"));
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

/* ---- size ---- */

static void test_long_chains_cost_no_stack(void **state)
{
    (void)state;
    enum { N = 100000 };
    kit k = kit_create();
    bt_builder_set_infer(k.b, 1);
    const bt_param *x = param(&k, "x", vec(&k, 4));
    begin(&k, 1, &x);
    const bt_value *at = &x->base;
    for (int i = 0; i < N; i++) {
        bt_builder_type(k.b, vec(&k, 4));
        at = op2(&k, i == 0 ? &op_relu : &op_add, at, i == 0 ? NULL : at);
    }
    define(&k, "main", func(&k, end(&k, at), NULL, 0, NULL));
    bt_module *m = NULL, *out = NULL;
    assert_ok(k.ctx, bt_module_builder_finish(k.module, 1, &m));
    k.module = NULL;
    bt_pass_call call = pass_call(m);
    assert_ok(k.ctx, bt_rewrite_module(k.ctx, &call, &without_relu, NULL, &out));
    assert_int_equal(func_of(out, "main")->block->nbinding, N - 1);
    bt_module_unref(out);
    bt_module_unref(m);
    kit_destroy(&k);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_empty_rewriter_changes_nothing),
    cmocka_unit_test(test_every_region_is_rewritten),
    cmocka_unit_test(test_changed_closures_refer_to_their_new_selves),
    cmocka_unit_test(test_dropped_bindings_are_left_out),
    cmocka_unit_test(test_dropping_what_is_used_is_an_error),
    cmocka_unit_test(test_a_replacement_has_the_type_of_what_it_replaces),
    cmocka_unit_test(test_uses_are_counted_and_listed),
    cmocka_unit_test(test_siblings_are_joined),
    cmocka_unit_test(test_siblings_that_cannot_move_stay),
    cmocka_unit_test(test_reads_move_when_nothing_is_written),
    cmocka_unit_test(test_types_are_inferred_again_where_operands_changed),
    cmocka_unit_test(test_callers_follow_a_changed_type),
    cmocka_unit_test(test_gradients_follow_a_changed_type),
    cmocka_unit_test(test_unwanted_functions_are_left_alone),
    cmocka_unit_test(test_long_chains_cost_no_stack),
};
TEST_MAIN(tests)
