/* Types of gradients: of declarations, and of operators that take a function. */
#include "ir/store.h"
#include "solve/solver.h"

/* ---- gradient declarations ---- */

struct gradient {
    bt_solver *solver;
    const bt_gradient_spec *spec;
    const bt_global *global;      /* the declaration, or NULL */
    const bt_relation_call *call; /* of an operator, or NULL */
    const bt_func_type *primal;
    uint32_t nresult;
    const bt_type *const *results; /* of the primal: fields of a tuple, or the one */
    bt_vec(const bt_type *) wrt;   /* types of what it is derived by */
    bt_vec(const bt_type *) kept;
};

static bt_status wrong(const struct gradient *g, const char *what, int64_t index,
                       const char *why)
{
    bt_solver *s = g->solver;
    if (g->call)
        return bt_relation_fail(s, g->call, 0, "%s %lld of its function %s", what,
                                (long long)index, why);
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, g->global->span,
                      "%s @%s: %s %lld of @%s %s",
                      g->spec->is_forward ? "jvp" : "gradient", g->global->name, what,
                      (long long)index, g->global->primal, why);
}

static bt_status check_from(struct gradient *g)
{
    int has_float, has_code;
    const uint32_t from = g->spec->from;
    if (from >= g->nresult)
        return wrong(g, "result", from, "does not exist");
    BT_TRY(bt_type_holds(g->solver->arena,
                         g->spec->is_forward ? g->primal->result : g->results[from],
                         &has_float, &has_code));
    if (has_code)
        return wrong(g, "result", from,
                     "holds a function or a reference: it cannot be differentiated");
    if (!has_float)
        return wrong(g, "result", from,
                     "is no float tensor: it cannot be differentiated");
    return NULL;
}

static bt_status add_kept(struct gradient *g)
{
    const bt_ints *keep = &g->spec->keep;
    for (int64_t i = 0; i < keep->n; i++) {
        if (keep->at[i] < 0 || keep->at[i] >= (int64_t)g->nresult)
            return wrong(g, "result", keep->at[i], "does not exist");
        if (!BT_PUSH(g->solver->arena, &g->kept, g->results[keep->at[i]]))
            return bt_no_memory();
    }
    return NULL;
}

/* Nothing is left to derive by. */
static bt_status wrong_wrt(const struct gradient *g, int is_empty)
{
    bt_solver *s = g->solver;
    const char *why =
        is_empty ? "wrt=[] names no argument to derive by: write wrt=[0] for the "
                   "first, or leave wrt away for all that hold floats"
                 : "no argument of the function holds floats: there is nothing "
                   "to derive by";
    if (g->call)
        return bt_relation_fail(s, g->call, 0, "%s", why);
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, g->global->span, "%s @%s: %s",
                      g->spec->is_forward ? "jvp" : "gradient", g->global->name, why);
}

static bt_status add_wrt(struct gradient *g)
{
    const int all = g->spec->wrt.n == BT_NONE_LIST;
    const uint32_t n = bt_gradient_spec_nwrt(g->spec, g->primal->narg);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t index = bt_gradient_spec_wrt(g->spec, i);
        int has_float, has_code;
        if (index < 0 || index >= (int64_t)g->primal->narg)
            return wrong(g, "argument", index, "does not exist");
        const bt_type *type = g->primal->args[index];
        BT_TRY(bt_type_holds(g->solver->arena, type, &has_float, &has_code));
        if (all && (has_code || !has_float))
            continue;
        if (has_code)
            return wrong(g, "argument", index,
                         "holds a function or a reference: it has no gradient");
        if (!has_float)
            return wrong(g, "argument", index, "is no float tensor: it has no gradient");
        if (!BT_PUSH(g->solver->arena, &g->wrt, type))
            return bt_no_memory();
    }
    return g->wrt.len ? NULL : wrong_wrt(g, !all);
}

/* Gradients, then what is kept, one alone as it is; of a jvp the result and its tangent. */
static const bt_type *result_of(const struct gradient *g)
{
    bt_solver *s = g->solver;
    const bt_type *both[] = { g->primal->result, g->primal->result };
    const uint32_t n = g->wrt.len + g->kept.len;
    if (g->spec->is_forward)
        return bt_type_tuple(s->store, 2, both);
    const bt_type **all = BT_NEWS(s->arena, const bt_type *, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = i < g->wrt.len ? g->wrt.at[i] : g->kept.at[i - g->wrt.len];
    return all && n > 1 ? bt_type_tuple(s->store, n, all) : all ? all[0] : NULL;
}

static bt_status build(struct gradient *g, const bt_type **out)
{
    bt_solver *s = g->solver;
    const bt_func_type *primal = g->primal;
    bt_func_type func = *primal;
    const bt_type **args =
        BT_NEWS(s->arena, const bt_type *, (size_t)primal->narg + g->wrt.len + 1);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < primal->narg; i++)
        args[i] = primal->args[i];
    if (g->spec->is_seeded)
        args[func.narg++] = g->results[g->spec->from];
    for (uint32_t i = 0; g->spec->is_forward && i < g->wrt.len; i++)
        args[func.narg++] = g->wrt.at[i];
    func.args = args;
    func.result = result_of(g);
    *out = func.result ? bt_type_func(s->store, &func) : NULL;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

static bt_status type_of(struct gradient *g, const bt_type **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(g->primal->result);
    const bt_gradient_spec *spec = g->spec;
    g->nresult = tuple ? tuple->n : 1;
    g->results = tuple ? tuple->at : &g->primal->result;
    if (spec->is_forward && (spec->from || spec->keep.n || spec->is_seeded))
        return wrong(g, "result", spec->from,
                     "is named, but a jvp gives the whole result and its tangent");
    BT_TRY(check_from(g));
    BT_TRY(add_wrt(g));
    BT_TRY(add_kept(g));
    return build(g, out);
}

bt_status bt__gradient_type(bt_solver *s, const bt_global *global, const bt_type *primal,
                            const bt_type **out)
{
    struct gradient g = { .solver = s, .spec = &global->gradient, .global = global };
    g.primal = primal ? bt_as_func_type(primal) : NULL;
    if (!g.primal)
        return bt_fail_at(s->ctx, BT_ERR_NAME, s->store, global->span,
                          "%s @%s: @%s is no function that is typed before it",
                          global->gradient.is_forward ? "jvp" : "gradient", global->name,
                          global->primal ? global->primal : "");
    return type_of(&g, out);
}

bt_status bt_relation_gradient(bt_solver *s, const bt_relation_call *r, uint32_t index,
                               const bt_gradient_spec *spec, const bt_type **out)
{
    struct gradient g = { .solver = s, .spec = spec, .call = r };
    const bt_type *type = bt_relation_arg(s, r, index);
    if (type->has & BT_HAS_HOLE)
        return bt_relation_wait(s);
    if (!(g.primal = bt_as_func_type(type)))
        return bt_relation_fail(s, r, (int)index,
                                "what is differentiated is a function, "
                                "but this is %s",
                                bt__show(s, type));
    return type_of(&g, out);
}

bt_status bt_gradient_type(bt_ctx *ctx, bt_store *store, const bt_global *gradient,
                           const bt_type *primal, const bt_type **out)
{
    bt_solver s;
    uint32_t nlack = store->nlack;
    bt_status status = bt__solver_init(&s, ctx, store, NULL);
    if (!status)
        status = bt__gradient_type(&s, gradient, primal, out);
    bt__solver_deinit(&s);
    return bt__store_lacked(store, nlack, status);
}
