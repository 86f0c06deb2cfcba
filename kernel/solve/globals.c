/* Types of globals that are not functions of the module: external functions and gradient
 * declarations. */
#include "ir/store.h"
#include "solve/solver.h"

/* ---- external functions ---- */

/* `?` in an argument is a dim parameter, in the result another dim for each call. */
bt_status bt__extern_type(bt_solver *s, const bt_global *global, const bt_type **out)
{
    const bt_func_type *stated = global->type ? bt_as_func_type(global->type) : NULL;
    const bt_func func = { .span = global->span };
    struct bt__function f = { .func = &func };
    const bt_type *result;
    if (!stated)
        return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, global->span,
                          "@%s is an external function: its type must be written",
                          global->name);
    bt_map_init(&f.names, s->arena, 0);
    for (uint32_t i = 0; i < stated->nparam; i++) {
        const bt_type *var = bt_type_var(s->store, &stated->params[i], NULL);
        if (!var || !BT_PUSH(s->arena, &f.vars, var))
            return bt_no_memory();
    }
    const bt_func_type *open = bt_func_type_open(s->store, stated, f.vars.at);
    const bt_type **args = BT_NEWS(s->arena, const bt_type *, stated->narg);
    if (!open || !args)
        return bt_store_why(s->ctx, s->store);
    for (uint32_t i = 0; i < open->narg; i++)
        BT_TRY(bt__annotate(s, &f, open->args[i], ANNOTATE_PARAM, 0, NULL, &args[i]));
    BT_TRY(bt__annotate(s, &f, open->result, ANNOTATE_DECLARED, 0, NULL, &result));
    *out = bt_func_type_close(s->store, f.vars.len, f.vars.at, open->narg, args, result,
                              open->nwhere, open->wheres);
    if (!*out)
        return bt_store_why(s->ctx, s->store);
    if ((*out)->has & BT_HAS_HOLE)
        return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, global->span,
                          "@%s is an external function: its type must be written with "
                          "nothing but dims left out",
                          global->name);
    return NULL;
}

/* ---- gradient declarations ---- */

struct gradient {
    bt_solver *solver;
    const bt_global *global;
    const bt_func_type *primal;
    uint32_t nresult;
    const bt_type *const *results; /* of the primal: fields of a tuple, or the one */
    bt_vec(const bt_type *) out;   /* gradients, then kept results */
};

static bt_status wrong(const struct gradient *g, const char *what, int64_t index,
                       const char *why)
{
    bt_solver *s = g->solver;
    return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, g->global->span,
                      "gradient @%s: %s %lld of @%s %s", g->global->name, what,
                      (long long)index, g->global->primal, why);
}

/* Floats have adjoints, and tuples of them; dtypes that are parameters may be floats. */
static int has_adjoint(const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    bt_dtype dtype = bt_tensor_dtype(type);
    if (tensor)
        return !dtype || (BT_CLASS_BITS_FLOAT >> BT_DTYPE_CLASS(dtype) & 1);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!has_adjoint(tuple->at[i]))
            return 0;
    }
    return tuple && tuple->n;
}

static bt_status add(struct gradient *g, const bt_type *type)
{
    return BT_PUSH(g->solver->arena, &g->out, type) ? NULL : bt_no_memory();
}

static bt_status add_kept(struct gradient *g)
{
    const bt_ints *keep = &g->global->keep;
    for (int64_t i = 0; i < keep->n; i++) {
        if (keep->at[i] < 0 || keep->at[i] >= (int64_t)g->nresult)
            return wrong(g, "result", keep->at[i], "does not exist");
        BT_TRY(add(g, g->results[keep->at[i]]));
    }
    return NULL;
}

static bt_status add_gradients(struct gradient *g)
{
    const bt_ints *wrt = &g->global->wrt;
    int all = wrt->n == BT_NONE_LIST;
    int64_t n = all ? (int64_t)g->primal->narg : wrt->n;
    for (int64_t i = 0; i < n; i++) {
        int64_t index = all ? i : wrt->at[i];
        if (index < 0 || index >= (int64_t)g->primal->narg)
            return wrong(g, "argument", index, "does not exist");
        const bt_type *type = g->primal->args[index];
        if (has_adjoint(type))
            BT_TRY(add(g, type));
        else if (!all)
            return wrong(g, "argument", index, "is no float tensor: it has no gradient");
    }
    if (!g->out.len)
        return wrong(g, "argument", 0, "or any other must be a float tensor");
    return NULL;
}

static bt_status build(struct gradient *g, const bt_type **out)
{
    bt_solver *s = g->solver;
    const bt_func_type *primal = g->primal;
    bt_func_type func = *primal;
    const bt_type **args = BT_NEWS(s->arena, const bt_type *, (size_t)primal->narg + 1);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < primal->narg; i++)
        args[i] = primal->args[i];
    args[primal->narg] = g->results[g->global->from];
    func.args = args;
    func.narg += g->global->is_seeded != 0;
    func.result =
        g->out.len == 1 ? g->out.at[0] : bt_type_tuple(s->store, g->out.len, g->out.at);
    *out = func.result ? bt_type_func(s->store, &func) : NULL;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

bt_status bt__gradient_type(bt_solver *s, const bt_global *global, const bt_type *primal,
                            const bt_type **out)
{
    struct gradient g = { .solver = s, .global = global };
    g.primal = primal ? bt_as_func_type(primal) : NULL;
    if (!g.primal)
        return bt_fail_at(s->ctx, BT_ERR_NAME, s->store, global->span,
                          "gradient @%s: @%s is no function that is typed before it",
                          global->name, global->primal ? global->primal : "");
    const bt_list_type *tuple = bt_as_tuple_type(g.primal->result);
    g.nresult = tuple ? tuple->n : 1;
    g.results = tuple ? tuple->at : &g.primal->result;
    if (global->from >= g.nresult)
        return wrong(&g, "result", global->from, "does not exist");
    if (!has_adjoint(g.results[global->from]))
        return wrong(&g, "result", global->from,
                     "is no float tensor: it cannot be differentiated");
    BT_TRY(add_gradients(&g));
    BT_TRY(add_kept(&g));
    return build(&g, out);
}

bt_status bt__infer_gradient(bt_ctx *ctx, bt_store *store, const bt_global *gradient,
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
