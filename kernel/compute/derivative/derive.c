/* Derivatives of calls: by their operator's facet, else by its formula. */
#include <string.h>

#include "base/ctx.h"
#include "compute/derivative/derivative.h"
#include "compute/derivative/emit.h"
#include "compute/formula/call.h"
#include "ir/builder.h"
#include "plugin/facet.h"

static bt_status refuse(bt_builder *b, const bt_call *call, const char *why)
{
    return bt_fail_at(bt_builder_ctx(b), BT_ERR_UNSUPPORTED, call->base.type->store,
                      call->base.span, "%s has no derivative: %s", call->op->name, why);
}

/* Nothing follows from plain C: the hook of that name would be needed. */
static bt_status refuse_plain(bt_builder *b, const bt_call *call, const char *hook)
{
    const void *facet;
    bt_text why;
    BT_TRY(bt_op_facet(bt_builder_ctx(b), call->op, "gradient", &facet));
    if (!facet)
        return refuse(b, call, "it is computed by plain C and has no facet `gradient`");
    bt_text_init(&why, bt_ctx_scratch(bt_builder_ctx(b)));
    bt_text_addf(&why, "it is computed by plain C, and its facet `gradient` has no %s",
                 hook);
    return bt_text_get(&why) ? refuse(b, call, why.at) : bt_no_memory();
}

/* The graph of the call, whose dims are those of the types; for want of the hook. */
static bt_status graph_of(bt_builder *b, bt_arena *arena, const bt_call *call,
                          const char *hook, bt_graph **out)
{
    bt_ctx *ctx = bt_builder_ctx(b);
    bt_formula_call formula;
    bt_graph *graph;
    if (!bt_op_has_formula(call->op))
        return refuse_plain(b, call, hook);
    BT_TRY(bt_call_formula(arena, call, &formula));
    BT_TRY(bt__call_compose(ctx, arena, &formula, &graph));
    if (!graph)
        return refuse(b, call, "ranks or dtypes of its arguments are not known");
    *out = graph;
    return graph->ndim ? bt__graph_open(ctx, arena, &formula, call, graph, out) : NULL;
}

/* Inputs of a graph of derivatives: those of the primal, its results, seeds. */
static bt_status all_values(bt_arena *arena, const bt_adjoint_call *c, uint32_t nseed,
                            const bt_value ***out)
{
    const bt_value **values = BT_NEWS(arena, const bt_value *, c->nin + c->nout + nseed);
    *out = values;
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->nin; i++)
        values[i] = c->in[i];
    for (uint32_t k = 0; k < c->nout; k++)
        values[c->nin + k] = c->out[k];
    for (uint32_t k = 0; k < nseed; k++)
        values[c->nin + c->nout + k] = c->seeds[k];
    return NULL;
}

static bt_status are_there(bt_arena *arena, uint32_t n, const bt_value *const *seeds,
                           uint8_t **out)
{
    *out = BT_NEWS(arena, uint8_t, n);
    for (uint32_t i = 0; *out && i < n; i++)
        (*out)[i] = seeds[i] != NULL;
    return *out ? NULL : bt_no_memory();
}

/* Emits what a graph of derivatives has become; of result to[i] `like[i]` says the type. */
static bt_status emit(bt_builder *b, bt_graph *g, const bt_call *primal,
                      const bt_value *const *values, uint32_t n, const uint32_t *to,
                      const bt_value *const *like, const bt_value **out)
{
    const bt_type **types = BT_NEWS(g->arena, const bt_type *, g->nresult);
    const bt_value **results = BT_NEWS(g->arena, const bt_value *, g->nresult);
    if (!types || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (to[i] != BT__NO_ARRAY)
            types[to[i]] = like[i]->type;
    }
    BT_TRY(bt__graph_emit(b, g, primal, values, types, results));
    for (uint32_t i = 0; i < n; i++)
        out[i] = to[i] == BT__NO_ARRAY ? NULL : results[to[i]];
    return NULL;
}

static bt_status vjp(bt_builder *b, bt_arena *arena, const bt_adjoint_call *c,
                     const bt_value **out)
{
    const bt_value **values;
    uint32_t *to = BT_NEWS(arena, uint32_t, c->nin);
    uint8_t *seeds;
    bt_graph *g;
    if (!to)
        return bt_no_memory();
    BT_TRY(graph_of(b, arena, c->call, "vjp", &g));
    BT_TRY(are_there(arena, c->nout, c->seeds, &seeds));
    BT_TRY(bt__graph_adjoint(g, c->wants, seeds, to));
    BT_TRY(all_values(arena, c, c->nout, &values));
    return emit(b, g, c->call, values, c->nin, to, c->in, out);
}

static bt_status jvp(bt_builder *b, bt_arena *arena, const bt_adjoint_call *c,
                     const bt_value **out)
{
    const bt_value **values;
    uint32_t *to = BT_NEWS(arena, uint32_t, c->nout);
    uint8_t *seeds;
    bt_graph *g;
    if (!to)
        return bt_no_memory();
    BT_TRY(graph_of(b, arena, c->call, "jvp", &g));
    BT_TRY(are_there(arena, c->nin, c->seeds, &seeds));
    BT_TRY(bt__graph_tangent(g, seeds, to));
    BT_TRY(all_values(arena, c, c->nin, &values));
    return emit(b, g, c->call, values, c->nout, to, c->out, out);
}

typedef bt_status derive_fn(bt_builder *, bt_arena *, const bt_adjoint_call *,
                            const bt_value **);

static bt_status by_formula(bt_builder *b, derive_fn *derive, const bt_adjoint_call *c,
                            const bt_value **to)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(bt_builder_ctx(b)));
    bt_status status = arena ? derive(b, arena, c, to) : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}

bt_status bt_formula_vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return by_formula(b, vjp, c, to);
}

bt_status bt_formula_jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return by_formula(b, jvp, c, to);
}

/* ---- facets ---- */

/* What a hook gave has the types of what it is a derivative of. */
static bt_status check(bt_builder *b, const bt_call *call, const char *what, uint32_t n,
                       const bt_value *const *to, const bt_value *const *like)
{
    for (uint32_t i = 0; i < n; i++) {
        bt_text given, wanted;
        if (!to[i] || to[i]->type == like[i]->type)
            continue;
        bt_arena *arena = bt_ctx_scratch(bt_builder_ctx(b));
        bt_text_init(&given, arena);
        bt_text_init(&wanted, arena);
        bt_print_type(bt_builder_ctx(b), to[i]->type, &given);
        bt_print_type(bt_builder_ctx(b), like[i]->type, &wanted);
        if (!bt_text_get(&given) || !bt_text_get(&wanted))
            return bt_no_memory();
        return bt_fail_at(
            bt_builder_ctx(b), BT_ERR_PLUGIN, call->base.type->store, call->base.span,
            "facet `gradient` of %s gives for %s %u %s, expected %s", call->op->name,
            what, i, bt_text_get(&given), bt_text_get(&wanted));
    }
    return NULL;
}

static int is_blocked(const bt_adjoint_call *c, const bt_gradient_facet *facet,
                      uint32_t leaf)
{
    uint32_t i = 0, next = 0;
    while (i < c->call->narg && (next += bt_type_nleaf(c->call->args[i]->type)) <= leaf)
        i++;
    return i < 64 && (facet->blocked >> i & 1);
}

/* Which leaves are left when those of blocked arguments are not asked for; 0: none. */
static int unblocked(const bt_adjoint_call *c, const bt_gradient_facet *facet,
                     uint8_t *wants)
{
    int any = 0;
    for (uint32_t i = 0; i < c->nin; i++) {
        wants[i] = c->wants[i] && !is_blocked(c, facet, i);
        any |= wants[i];
    }
    return any;
}

/* The same of tangents. */
static int unblocked_seeds(const bt_adjoint_call *c, const bt_gradient_facet *facet,
                           const bt_value **seeds)
{
    int any = 0;
    for (uint32_t i = 0; i < c->nin; i++) {
        seeds[i] = is_blocked(c, facet, i) ? NULL : c->seeds[i];
        any |= seeds[i] != NULL;
    }
    return any;
}

static bt_status find_facet(bt_builder *b, const bt_call *call,
                            const bt_gradient_facet **out,
                            const bt_plugin_handle **plugin)
{
    const void *facet;
    BT_TRY(bt__op_facet_of(bt_builder_ctx(b), call->op, "gradient", &facet, plugin));
    *out = facet;
    return *out && (*out)->none ? refuse(b, call, (*out)->none) : NULL;
}

typedef bt_status hook(bt_builder *, const bt_adjoint_call *, const bt_value **to);

/* "the vjp hook of tanh: WHAT", at the call. */
static bt_status fail_hook(bt_builder *b, const char *what, const bt_call *call,
                           uint32_t code, const char *why)
{
    return bt_fail_at(bt_builder_ctx(b), code, call->base.type->store, call->base.span,
                      "%s %s: %s", what, call->op->name, why);
}

/* A hook, what it is called, and what it gives: one value for each of `like`. */
struct hook_call {
    hook *run;
    const char *what, *result;
    const bt_plugin_handle *plugin;
    uint32_t n;
    const bt_value *const *like;
};

/* Behind what a hook may write, to see whether it wrote more. */
enum { NGUARD = 64 };

static bt_status check_hook(bt_builder *b, const struct hook_call *h, const bt_call *call,
                            uint32_t depth, const bt_value *const *own)
{
    for (uint32_t i = 0; i < NGUARD; i++) {
        if (own[h->n + i])
            return fail_hook(b, h->what, call, BT_ERR_PLUGIN,
                             "it writes behind the values that it is to give");
    }
    if (b->depth != depth)
        return fail_hook(b, h->what, call, BT_ERR_PLUGIN,
                         b->depth > depth
                             ? "a block is left open: bt_block_end ends what "
                               "bt_block_begin began"
                             : "bt_block_end ends a block that the hook did not begin");
    return check(b, call, h->result, h->n, own, h->like);
}

/* What it gives is looked at while it runs, as far as a crash goes: it may be no value. */
static bt_status run_hook(bt_builder *b, bt_arena *arena, const struct hook_call *h,
                          const bt_adjoint_call *c, const bt_value **to)
{
    bt_ctx *ctx = bt_builder_ctx(b);
    bt_running_part part = { h->what, c->call->op->name, h->plugin, NULL };
    const bt_value **own = BT_NEWS(arena, const bt_value *, (size_t)h->n + NGUARD);
    const uint32_t depth = b->depth;
    if (!own)
        return bt_no_memory();
    bt__part_begin(ctx, &part);
    bt_status status = h->run(b, c, own);
    if (status && status->code != BT_ERR_MEMORY && !status->place.file)
        status = bt__note_chain(
            ctx, fail_hook(b, h->what, c->call, status->code, status->message),
            status->note);
    else if (!status)
        status = check_hook(b, h, c->call, depth, own);
    bt__part_end(ctx, &part);
    for (uint32_t i = 0; !status && i < h->n; i++)
        to[i] = own[i];
    return status;
}

bt_status bt_call_vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const bt_gradient_facet *facet;
    const bt_plugin_handle *plugin;
    bt_adjoint_call left = *c;
    BT_TRY(find_facet(b, c->call, &facet, &plugin));
    for (uint32_t i = 0; i < c->nin; i++)
        to[i] = NULL;
    if (!facet)
        return bt_formula_vjp(b, c, to);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(bt_builder_ctx(b)));
    const struct hook_call h = { facet->vjp, "the vjp hook of", "input", plugin, c->nin,
                                 c->in };
    uint8_t *wants = arena ? BT_NEWS(arena, uint8_t, c->nin) : NULL;
    bt_status status = wants ? NULL : bt_no_memory();
    left.wants = wants;
    if (wants && unblocked(c, facet, wants))
        status =
            facet->vjp ? run_hook(b, arena, &h, &left, to) : bt_formula_vjp(b, &left, to);
    bt_arena_destroy(arena);
    return status;
}

bt_status bt_call_jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const bt_gradient_facet *facet;
    const bt_plugin_handle *plugin;
    bt_adjoint_call left = *c;
    int any = 0;
    for (uint32_t k = 0; k < c->nout; k++) {
        to[k] = NULL;
        any |= bt_dtype_is_float(bt_tensor_dtype(c->out[k]->type));
    }
    if (!any) // positions of a maximum, or whether it is one: they do not move
        return NULL;
    BT_TRY(find_facet(b, c->call, &facet, &plugin));
    if (!facet)
        return bt_formula_jvp(b, c, to);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(bt_builder_ctx(b)));
    const struct hook_call h = { facet->jvp, "the jvp hook of", "result",
                                 plugin,     c->nout,           c->out };
    const bt_value **seeds = arena ? BT_NEWS(arena, const bt_value *, c->nin) : NULL;
    bt_status status = seeds ? NULL : bt_no_memory();
    left.seeds = seeds;
    if (seeds && unblocked_seeds(c, facet, seeds))
        status =
            facet->jvp ? run_hook(b, arena, &h, &left, to) : bt_formula_jvp(b, &left, to);
    bt_arena_destroy(arena);
    return status;
}
