/*
 * differentiate: gradient and jvp declarations become functions.
 *     gradient @df = @f(wrt=[0], keep=[0]);
 * The function computes what @f does, then from the adjoint of its result, ones or what is
 * passed, those of the arguments: reverse mode, source to source. It has the name and the type
 * of the declaration. That of a jvp computes tangents beside values: forward mode (tangent.h).
 * Gradients of gradients come innermost first.
 * source   DLVM, section 4.2; Relay 2019, section 4
 * keeps    no invariant
 */
#include <string.h>

#include "common/derivative_attrs.h"
#include "common/version.h"
#include "gradients/adjoint_paths.h"
#include "gradients/tangent.h"
#include "language/flat.h"

/* ---- one declaration ---- */

struct gradient {
    const bt_global *global;
    const bt_func *primal;
    struct adjoint adjoint;
    const bt_param *seed; /* NULL: ones */
};

/* Fields of a result that is a tuple, else itself: the range of leaves of one of them. */
static void range_of(const bt_type *type, uint32_t field, uint32_t *first, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    *first = 0;
    *n = bt_type_nleaf(tuple ? tuple->at[field] : type);
    for (uint32_t i = 0; tuple && i < field; i++)
        *first += bt_type_nleaf(tuple->at[i]);
}

static bt_status field_of(bt_builder *b, const bt_value *value, uint32_t index,
                          const bt_value **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!tuple)
        return bt_build_proj(b, value, index, out);
    *out = tuple->fields[index];
    return NULL;
}

/* The adjoint of the result that is differentiated: what is passed, or ones. */
static bt_status seed(struct gradient *g, const bt_value *result)
{
    struct adjoint *a = &g->adjoint;
    const bt_value *old = g->primal->block->result, *field = result;
    adjoint_values seeds = { 0 };
    uint32_t first, n;
    range_of(old->type, g->global->gradient.from, &first, &n);
    if (bt_as_tuple_type(old->type) && !g->seed)
        BT_TRY(field_of(a->copy.b, result, g->global->gradient.from, &field));
    if (g->seed)
        BT_TRY(adjoint_leaves(a, &g->seed->base, ADJOINT_STRIP, &seeds));
    else
        BT_TRY(adjoint_leaves(a, field, ADJOINT_ONES, &seeds));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(adjoint_add(a, old, first + i, seeds.at[i]));
    return NULL;
}

/* One value, or a tuple of those that there are. */
static bt_status give(struct gradient *g, const bt_value *result, const bt_value **out)
{
    struct adjoint *a = &g->adjoint;
    const bt_block *block = g->primal->block;
    const bt_global *global = g->global;
    const int all = global->gradient.wrt.n == BT_NONE_LIST;
    const int64_t nwrt = all ? (int64_t)block->nparam : global->gradient.wrt.n;
    adjoint_values fields = { 0 };
    for (int64_t i = 0; i < nwrt; i++) {
        const bt_value *old = &block->params[all ? i : global->gradient.wrt.at[i]]->base,
                       *field;
        const bt_value *now = bt_map_find(&a->copy.values, old);
        if (!adjoint_has(old->type))
            continue;
        BT_TRY(adjoint_join(a, now, adjoint_of(a, old), &field));
        if (!BT_PUSH(a->copy.arena, &fields, field))
            return bt_no_memory();
    }
    for (int64_t i = 0; i < global->gradient.keep.n; i++) {
        const bt_value *field = result;
        if (bt_as_tuple_type(result->type))
            BT_TRY(bt_build_proj(a->copy.b, result, (uint32_t)global->gradient.keep.at[i],
                                 &field));
        if (!BT_PUSH(a->copy.arena, &fields, field))
            return bt_no_memory();
    }
    *out = fields.at[0];
    return fields.len == 1 ? NULL : bt_build_tuple(a->copy.b, fields.len, fields.at, out);
}

static bt_status add_seed(struct gradient *g, const bt_param ***params, uint32_t n)
{
    struct copy *c = &g->adjoint.copy;
    const bt_type *type = g->primal->block->result->type;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_param **more = BT_NEWS(c->arena, const bt_param *, n + 1);
    if (!more)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        more[i] = (*params)[i];
    BT_TRY(copy_type(c, tuple ? tuple->at[g->global->gradient.from] : type, &type));
    BT_TRY(bt_build_param(c->b, "seed", type, &more[n]));
    g->seed = more[n];
    *params = more;
    return NULL;
}

static bt_status mark(struct gradient *g)
{
    const bt_block *block = g->primal->block;
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!adjoint_is_wanted(g->global, g->primal, i))
            continue;
        BT_TRY(adjoint_data_want(g->adjoint.pairs, block->params[i]->base.type));
        if (!bt_map_put(&g->adjoint.active, block->params[i], (void *)1))
            return bt_no_memory();
    }
    return adjoint_mark(&g->adjoint, block);
}

static bt_status make_block(struct gradient *g, const bt_block **out)
{
    struct adjoint *a = &g->adjoint;
    const bt_block *block = g->primal->block;
    const bt_param **params;
    const bt_value *result, *given;
    BT_TRY(copy_params(&a->copy, block->nparam, block->params, &params));
    if (g->global->gradient.is_seeded)
        BT_TRY(add_seed(g, &params, block->nparam));
    BT_TRY(bt_block_begin(a->copy.b, block->nparam + (g->seed != NULL), params));
    BT_TRY(copy_bindings(&a->copy, block, g->primal->result, &result));
    BT_TRY(seed(g, result));
    BT_TRY(adjoint_reverse(a, block));
    BT_TRY(give(g, result, &given));
    return bt_block_end(a->copy.b, given, out);
}

static bt_status copy_with_vars(struct copy *c, const bt_func *func, const bt_func **out)
{
    bt_func now = *func;
    BT_TRY(copy_head(c, func, &now));
    return copy_func(c, &now, out);
}

/* With type parameters of its own. */
static bt_status rename_vars(const struct adjoint *a, const bt_func *made,
                             const bt_func **out)
{
    struct copy c;
    const bt_func *func;
    BT_TRY(bt_func_create(a->copy.ctx, a->copy.store, made, &func));
    BT_TRY(copy_init(&c, a->copy.ctx, a->copy.arena, a->pairs->module));
    bt_status status = copy_with_vars(&c, func, out);
    copy_deinit(&c);
    return status;
}

/* Made in terms of the primal's type parameters, as its tapes are. */
static bt_status make_func(struct gradient *g, const bt_func **out)
{
    const bt_func *primal = g->primal;
    bt_func now = { .name = g->global->name,
                    .span = g->global->span,
                    .nvar = primal->nvar,
                    .vars = primal->vars,
                    .nwhere = primal->nwhere,
                    .wheres = primal->wheres };
    BT_TRY(make_block(g, &now.block));
    now.result = now.block->result->type;
    return rename_vars(&g->adjoint, &now, out);
}

/* Does something with a declaration whose values have been marked. */
static bt_status with(struct adjoint_pairs *p, const bt_global *global,
                      bt_status (*use)(struct gradient *, void *), void *state)
{
    struct gradient g = { .global = global };
    BT_TRY(adjoint_rule_wrap(p, bt_module_find(p->module, global->primal), "vjp",
                             &g.primal));
    BT_TRY(adjoint_init(&g.adjoint, p, g.primal));
    bt_status status = mark(&g);
    if (!status)
        status = use(&g, state);
    adjoint_deinit(&g.adjoint);
    return status;
}

/* What the declaration takes and gives that is data. */
static bt_status find_conversions(struct gradient *g)
{
    struct adjoint_pairs *p = g->adjoint.pairs;
    const bt_block *block = g->primal->block;
    const bt_type *from = block->result->type;
    const bt_list_type *tuple = bt_as_tuple_type(from);
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (adjoint_is_wanted(g->global, g->primal, i))
            BT_TRY(adjoint_convert_want(p, block->params[i]->base.type, ADJOINT_FILL));
    }
    if (tuple)
        from = tuple->at[g->global->gradient.from];
    return adjoint_convert_want(
        p, from, g->global->gradient.is_seeded ? ADJOINT_STRIP : ADJOINT_ONES);
}

static bt_status find_calls(struct gradient *g, void *state)
{
    (void)state;
    BT_TRY(find_conversions(g));
    return adjoint_pairs_find(&g->adjoint, g->primal->block);
}

static bt_status define(struct gradient *g, void *state)
{
    bt_module_builder *builder = state;
    bt_global global = *g->global;
    BT_TRY(make_func(g, &global.func));
    global.kind = BT_GLOBAL_FUNC;
    return bt_module_builder_set(builder, &global, 0);
}

/* ---- all of them ---- */

/* Declarations whose functions call none that is still a declaration: they are next. */
struct round {
    struct adjoint_pairs pairs;
    bt_vec(const bt_global *) ready;
    const bt_module *declared;
};

static bt_status find_ready(struct round *r, uint32_t *nleft)
{
    const bt_module *module = r->pairs.module;
    const bt_callgraph *graph;
    *nleft = 0;
    BT_TRY(bt_callgraph_create(r->pairs.ctx, module, r->pairs.arena, &graph));
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        const uint8_t *reached;
        uint32_t ngradient = 0;
        // one of a function that monomorphize made copies of stays, as that function does
        if (global->kind != BT_GLOBAL_GRADIENT || flat_is_generic(global->type))
            continue;
        const bt_global *primal = bt_module_find(module, global->primal);
        if (!primal ||
            (primal->kind != BT_GLOBAL_FUNC && primal->kind != BT_GLOBAL_GRADIENT))
            return bt_fail_at(r->pairs.ctx, BT_ERR_UNSUPPORTED, module->store,
                              global->span, "%s @%s: @%s is no function of the module",
                              global->gradient.is_forward ? "jvp" : "gradient",
                              global->name, global->primal);
        ++*nleft;
        BT_TRY(bt_callgraph_reach(graph, module, primal, r->pairs.arena, &reached));
        for (uint32_t i = 0; i < module->nglobal; i++)
            ngradient += reached[i] && module->globals[i]->kind == BT_GLOBAL_GRADIENT;
        if (!ngradient && !BT_PUSH(r->pairs.arena, &r->ready, global))
            return bt_no_memory();
    }
    return NULL;
}

/* Every declaration that is left leads to another one, or to itself. */
static bt_status fail_cycle(const struct round *r)
{
    const bt_module *module = r->pairs.module;
    const bt_global *first = NULL;
    bt_text names;
    bt_text_init(&names, r->pairs.arena);
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_global *global = module->globals[g];
        if (global->kind != BT_GLOBAL_GRADIENT || flat_is_generic(global->type))
            continue;
        bt_text_addf(&names, "%s@%s", first ? ", " : "", global->name);
        first = first ? first : global;
    }
    if (!bt_text_get(&names))
        return bt_no_memory();
    return bt_fail_at(
        r->pairs.ctx, BT_ERR_UNSUPPORTED, module->store, first->span,
        "a function cannot call the gradient of itself: @%s does, in one of "
        "%s; move what is differentiated into a function of its own",
        first->primal, bt_text_get(&names));
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    for (uint32_t i = 0; i < r->ready.len; i++)
        BT_TRY(r->ready.at[i]->gradient.is_forward
                   ? tangent_jvp_find(&r->pairs, r->ready.at[i])
                   : with(&r->pairs, r->ready.at[i], find_calls, NULL));
    BT_TRY(adjoint_pairs_close(&r->pairs));
    BT_TRY(adjoint_pairs_sum(&r->pairs));
    BT_TRY(tangent_close(&r->pairs));
    BT_TRY(adjoint_data_declare(&r->pairs, builder));
    BT_TRY(adjoint_convert_declare(&r->pairs, builder));
    BT_TRY(tangent_declare(&r->pairs, builder));
    return adjoint_pairs_declare(&r->pairs, builder);
}

static bt_status define_all(void *state, bt_module_builder *builder)
{
    struct round *r = state;
    r->pairs.module = r->declared;
    r->pairs.builder = builder;
    BT_TRY(adjoint_data_define(&r->pairs, builder));
    BT_TRY(adjoint_convert_define(&r->pairs, builder));
    BT_TRY(adjoint_pairs_define(&r->pairs, builder));
    BT_TRY(tangent_define(&r->pairs, builder));
    for (uint32_t i = 0; i < r->ready.len; i++)
        BT_TRY(r->ready.at[i]->gradient.is_forward
                   ? tangent_jvp_define(&r->pairs, builder, r->ready.at[i])
                   : with(&r->pairs, r->ready.at[i], define, builder));
    return NULL;
}

/* The next version; *nleft: declarations that there were. */
static bt_status run_round(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                           uint32_t *nleft, bt_module **out)
{
    struct round r = { .pairs = { .ctx = ctx, .arena = arena, .module = module } };
    bt_map_init(&r.pairs.taken, arena, 1);
    bt_map_init(&r.pairs.ctors, arena, 1);
    bt_map_init(&r.pairs.data, arena, 0);
    bt_map_init(&r.pairs.united, arena, 0);
    BT_TRY(find_ready(&r, nleft));
    if (!*nleft)
        return NULL;
    if (!r.ready.len)
        return fail_cycle(&r);
    return version_create(ctx, module, declare_all, define_all, &r, &r.declared, out);
}

static bt_status forget_attributes(void *state, bt_module_builder *builder)
{
    struct adjoint_pairs *p = state;
    for (uint32_t g = 0; g < p->module->nglobal; g++) {
        const bt_global *old = p->module->globals[g];
        bt_global now = *old;
        if (!derivative_attrs_has(adjoint_attrs_of(old)))
            continue;
        bt_dict *attrs = &now.attrs;
        bt_func func;
        if (old->kind == BT_GLOBAL_FUNC) {
            func = *old->func;
            attrs = &func.attrs;
        }
        bt_dict_entry *left = BT_NEWS(p->arena, bt_dict_entry, attrs->n);
        uint32_t n = 0;
        if (!left)
            return bt_no_memory();
        for (uint32_t i = 0; i < attrs->n; i++) {
            if (!derivative_attr_is(attrs->at[i].name))
                left[n++] = attrs->at[i];
        }
        *attrs = (bt_dict){ n, left };
        if (old->kind == BT_GLOBAL_FUNC)
            BT_TRY(bt_func_create(p->ctx, p->module->store, &func, &now.func));
        BT_TRY(bt_module_builder_set(builder, &now, 0));
    }
    return NULL;
}

/* When all is differentiated, or nothing is, attributes vjp, jvp and checkpoint have no reader any
 * more: they would keep what they name, and calls from being inlined. */
static bt_status finish(bt_ctx *ctx, bt_arena *arena, bt_module *module, bt_module **out)
{
    struct adjoint_pairs p = { .ctx = ctx, .arena = arena, .module = module };
    int any = 0;
    for (uint32_t g = 0; g < module->nglobal; g++)
        any |= derivative_attrs_has(adjoint_attrs_of(module->globals[g]));
    *out = module;
    if (!any)
        return NULL;
    bt_status status = version_next(ctx, module, forget_attributes, &p, out);
    bt_module_unref(module);
    return status;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    bt_module *module = bt_module_ref(call->module);
    for (uint32_t nleft = 1; nleft;) {
        bt_module *next = NULL;
        bt_status status = run_round(ctx, call->scratch, module, &nleft, &next);
        if (!status && !next)
            break;
        bt_module_unref(module);
        if (status)
            return status;
        module = next;
    }
    return finish(ctx, call->scratch, module, out);
}

static const bt_pass passes[] = {
    {
        .name = "differentiate",
        .doc = "Gradient and jvp declarations become functions.\n"
               "before\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    gradient @df = @f();\n"
               "    def @main(%x: float32) -> float32 { @df(%x) }\n"
               "after\n"
               "    def @f(%x: float32) -> float32 { tanh(%x) }\n"
               "    def @df(%x: float32) -> float32 {\n"
               "        %0 = tanh(%x);\n"
               "        %1 = ones_like(%0);\n"
               "        compute(%0, %1, formula=\"a0: float32[], a1: float32[] => s0: "
               "float32[] = "
               "a1[] * (1 - a0[] * a0[])\")\n"
               "    }\n"
               "    def @main(%x: float32) -> float32 { @df(%x) }",
        .level = 0,
        .keeps = "",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_gradients_differentiate[] = { BT_PASSES(passes), { 0 } };
