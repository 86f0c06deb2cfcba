/* Random programs under random rewriting: whatever a pass does with what the driver
 * offers, the module that comes out holds together, and the old one stays as it was. */
#include "rewrite_kit.h"

struct random {
    uint64_t state;
};

static uint32_t below(struct random *r, uint32_t n)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(r->state >> 33) % n;
}

/* ---- programs ---- */

enum { MAX_VALUES = 400, MAX_FUNCS = 40 };

/* What may be used at some place of a program. */
struct scope {
    uint32_t nvalue, nfunc;
    const bt_value *values[MAX_VALUES]; /* of type t */
    const bt_value *funcs[MAX_FUNCS];   /* from t to t */
};

struct generator {
    kit *k;
    struct random *r;
    const bt_type *t, *to;
    const bt_value *condition;
    uint32_t nglobal; /* defined so far: @f0 ... */
};

static void build_some(struct generator *g, struct scope *s, uint32_t n, uint32_t depth);

static const bt_value *some(struct generator *g, const struct scope *s)
{
    return s->values[below(g->r, s->nvalue)];
}

static void add_value(struct scope *s, const bt_value *value)
{
    if (s->nvalue < MAX_VALUES)
        s->values[s->nvalue++] = value;
}

/* A block that ends in a value of type t; what it defines stays inside. */
static const bt_block *block_of(struct generator *g, struct scope s, uint32_t nparam,
                                const bt_param *const *params, uint32_t depth)
{
    for (uint32_t i = 0; i < nparam; i++)
        add_value(&s, &params[i]->base);
    begin(g->k, nparam, params);
    build_some(g, &s, below(g->r, 5), depth);
    return end(g->k, some(g, &s));
}

static void build_closures(struct generator *g, struct scope *s, uint32_t depth)
{
    uint32_t n = 1 + below(g->r, 2);
    int is_recursive = below(g->r, 2) == 0;
    const bt_type *types[] = { g->to, g->to };
    const bt_value *group[2];
    if (s->nfunc + n > MAX_FUNCS)
        return;
    assert_ok(g->k->ctx, bt_build_closures(g->k->b, n, NULL, types, group));
    struct scope inside = *s;
    for (uint32_t i = 0; is_recursive && i < n; i++)
        inside.funcs[inside.nfunc++] = group[i];
    for (uint32_t i = 0; i < n; i++) {
        const bt_param *y = param(g->k, "y", g->t);
        const bt_block *block = block_of(g, inside, 1, &y, depth);
        assert_ok(g->k->ctx, bt_build_closure_body(g->k->b, group[i],
                                                   func(g->k, block, g->t, 0, NULL)));
        s->funcs[s->nfunc++] = group[i];
    }
}

static void build_match(struct generator *g, struct scope *s, uint32_t depth)
{
    const bt_param *vars[] = { param(g->k, "p", NULL), param(g->k, "q", NULL) };
    const bt_pattern *at[2];
    const bt_value *match;
    for (int i = 0; i < 2; i++) {
        bt_pattern var = { .kind = BT_PATTERN_VAR, .var = vars[i] };
        at[i] = bt_pattern_create(g->k->store, &var);
    }
    bt_pattern tuple = { .kind = BT_PATTERN_TUPLE, .n = 2, .at = at };
    const bt_value *data = pair(g->k, some(g, s), some(g, s));
    bt_clause clause = { bt_pattern_create(g->k->store, &tuple),
                         block_of(g, *s, 2, vars, depth) };
    assert_ok(g->k->ctx, bt_build_match(g->k->b, data, 1, &clause, NULL, &match));
    add_value(s, match);
}

static void build_cell(struct generator *g, struct scope *s)
{
    const bt_value *cell, *write, *read;
    assert_ok(g->k->ctx, bt_build_ref(g->k->b, some(g, s), &cell));
    if (below(g->r, 2))
        assert_ok(g->k->ctx, bt_build_write(g->k->b, cell, some(g, s), &write));
    assert_ok(g->k->ctx, bt_build_read(g->k->b, cell, &read));
    add_value(s, read);
}

static void build_call(struct generator *g, struct scope *s)
{
    char name[16];
    if (s->nfunc && below(g->r, 2)) {
        const bt_value *f = s->funcs[below(g->r, s->nfunc)];
        add_value(s, call1(g->k, f, some(g, s)));
    } else if (g->nglobal) {
        snprintf(name, sizeof(name), "f%u", below(g->r, g->nglobal));
        add_value(s, call1(g->k, global(g->k, name), some(g, s)));
    }
}

static void build_one(struct generator *g, struct scope *s, uint32_t depth)
{
    switch (below(g->r, depth ? 9 : 6)) {
    case 0:
    case 1: add_value(s, op2(g->k, &op_add, some(g, s), some(g, s))); break;
    case 2: add_value(s, op2(g->k, &op_relu, some(g, s), NULL)); break;
    case 3: {
        const bt_value *both = pair(g->k, some(g, s), some(g, s));
        add_value(s, proj(g->k, both, below(g->r, 2)));
        break;
    }
    case 4: build_cell(g, s); break;
    case 5: build_call(g, s); break;
    case 6: {
        const bt_block *yes = block_of(g, *s, 0, NULL, depth - 1);
        const bt_block *no = block_of(g, *s, 0, NULL, depth - 1);
        add_value(s, choose(g->k, g->condition, yes, no));
        break;
    }
    case 7: build_closures(g, s, depth - 1); break;
    default: build_match(g, s, depth - 1); break;
    }
}

static void build_some(struct generator *g, struct scope *s, uint32_t n, uint32_t depth)
{
    for (uint32_t i = 0; i < n; i++)
        build_one(g, s, depth);
}

/* Functions @f0 ... that call earlier ones; the last one, @main, is the largest. */
static bt_module *random_module(kit *k, struct random *r)
{
    struct generator g = { .k = k, .r = r, .t = vec(k, 4) };
    const bt_func_type fields = { .narg = 1, .args = &g.t, .result = g.t };
    g.to = bt_type_func(k->store, &fields);
    uint32_t nfunc = 1 + below(r, 3);
    for (g.nglobal = 0; g.nglobal <= nfunc; g.nglobal++) {
        char name[16];
        bt_tensor *yes;
        struct scope s = { 0 };
        const bt_param *x = param(k, "x", g.t);
        assert_ok(k->ctx, bt_tensor_scalar(k->ctx, BT_BOOL, 1, &yes));
        assert_ok(k->ctx, bt_build_const(k->b, &yes->base, &g.condition));
        bt_tensor_unref(yes);
        add_value(&s, &x->base);
        begin(k, 1, &x);
        build_some(&g, &s, 5 + below(r, g.nglobal == nfunc ? 15 : 5), 3);
        const bt_block *block = end(k, some(&g, &s));
        snprintf(name, sizeof(name), "f%u", g.nglobal);
        define(k, g.nglobal == nfunc ? "main" : name, func(k, block, g.t, 0, NULL));
    }
    return infer(k);
}

/* ---- passes ---- */

struct meddler {
    struct random *r;
    uint32_t depth; /* of inlining */
    uint32_t ndone[5];
};
enum { REPLACED, INLINED, JOINED, DROPPED, BRANCHES };

static const bt_func *callee_func(bt_rewrite *rw, const bt_call *call)
{
    if (bt_as_closure(call->callee))
        return bt_as_closure(call->callee)->func;
    if (!call->callee || call->callee->kind != BT_VALUE_GLOBAL)
        return NULL;
    return bt_module_find(bt_rewrite_call(rw)->module, call->callee->name)->func;
}

/* Builds one sum for this call and another use of its first operand. */
static bt_status join(bt_rewrite *rw, struct meddler *m, const bt_call *call,
                      const bt_value **out)
{
    uint32_t nuse = bt_rewrite_nuse(rw, call->args[0]);
    const bt_value *other = bt_rewrite_use(rw, call->args[0], below(m->r, nuse));
    const bt_value *args[2], *moved;
    if (!other || other == &call->base || !bt_as_op_call(other, "add"))
        return NULL;
    BT_TRY(bt_rewrite_operand(rw, call->args[0], &args[0]));
    // Only what stands behind, in the same block, can be replaced by what is built here.
    if (other->id < call->base.id)
        return NULL;
    BT_TRY(bt_rewrite_operand(rw, bt_as_call(other)->args[1], &moved));
    if (!moved)
        return NULL;
    args[1] = moved;
    bt_rewrite_from(rw, other);
    m->ndone[JOINED]++;
    return bt_build_op(bt_rewrite_builder(rw), &op_add, NULL, 2, args, out);
}

static bt_status meddle_op(bt_rewrite *rw, struct meddler *m, const bt_call *call,
                           const bt_value **out)
{
    if (below(m->r, 3) == 0) {
        m->ndone[REPLACED]++;
        return bt_rewrite_operand(rw, call->args[0], out);
    }
    return below(m->r, 2) ? join(rw, m, call, out) : NULL;
}

static bt_status meddle_call(bt_rewrite *rw, const bt_call *call, const bt_value **out)
{
    struct meddler *m = bt_rewrite_state(rw);
    const bt_func *f = callee_func(rw, call);
    const bt_value *arg;
    if (call->callee_kind == BT_CALLEE_OP)
        return meddle_op(rw, m, call, out);
    if (!f || m->depth == 3 || m->ndone[INLINED] == 20 || below(m->r, 2) == 0)
        return NULL;
    BT_TRY(bt_rewrite_operand(rw, call->args[0], &arg));
    m->depth++;
    m->ndone[INLINED]++;
    bt_status status =
        bt_rewrite_inline_func(rw, f, call->ntype_arg, call->type_args, 1, &arg, out);
    m->depth--;
    return status;
}

static bt_status meddle_if(bt_rewrite *rw, const bt_if *old, const bt_value **out)
{
    struct meddler *m = bt_rewrite_state(rw);
    if (below(m->r, 3))
        return NULL;
    m->ndone[BRANCHES]++;
    return bt_rewrite_inline(rw, below(m->r, 2) ? old->then_block : old->else_block, 0,
                             NULL, out);
}

static bt_status meddle_any(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    struct meddler *m = bt_rewrite_state(rw);
    (void)out;
    if (bt_rewrite_nuse(rw, old) == 0 && below(m->r, 2)) {
        bt_rewrite_drop(rw);
        m->ndone[DROPPED]++;
    }
    return NULL;
}

static void test_random_rewriting_keeps_modules_sound(void **state)
{
    (void)state;
    uint32_t ndone[5] = { 0 };
    const bt_rewriter nothing = { 0 };
    const bt_rewriter meddling = { .call_ = meddle_call,
                                   .if_ = meddle_if,
                                   .any = meddle_any };
    for (uint32_t seed = 1; seed <= 300; seed++) {
        struct random r = { seed };
        kit k = kit_create();
        bt_module *m = random_module(&k, &r);
        assert_ok(k.ctx, bt_verify(k.ctx, m));
        bt_module *same = rewrite(&k, m, &nothing, NULL);
        assert_true(same == m);
        bt_module_unref(same);
        for (int round = 0; round < 3; round++) {
            struct meddler meddler = { .r = &r };
            bt_module *next = rewrite(&k, m, &meddling, &meddler);
            assert_ok(k.ctx, bt_verify(k.ctx, m));
            for (int i = 0; i < 5; i++)
                ndone[i] += meddler.ndone[i];
            bt_module_unref(m);
            m = next;
        }
        bt_module_unref(m);
        kit_destroy(&k);
    }
    for (int i = 0; i < 5; i++)
        assert_true(ndone[i] > 100);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_rewriting_keeps_modules_sound),
};
TEST_MAIN(tests)
