/*
 * Declarations of reverse mode:
 *
 *     gradient @df = @f(wrt=[0], keep=[0])
 *  -> def @df(%x) { what @f computes; from the adjoint of its result that of %x; (.., result) }
 */
#include "gradients/adjoint_data.h"
#include "gradients/adjoint_paths.h"
#include "gradients/custom.h"

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
    *first = bt_type_first_leaf(type, field);
    *n = bt_type_nleaf(tuple ? tuple->at[field] : type);
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
    const uint32_t nwrt = bt_gradient_spec_nwrt(&global->gradient, block->nparam);
    adjoint_values fields = { 0 };
    for (uint32_t i = 0; i < nwrt; i++) {
        const int64_t index = bt_gradient_spec_wrt(&global->gradient, i);
        const bt_value *old = &block->params[index]->base, *field;
        const bt_value *now = bt_map_find(&a->copy.values, old);
        if (!adjoint_has(g->adjoint.diff, old->type))
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
        if (!adjoint_is_wanted(g->adjoint.diff, g->global, g->primal, i))
            continue;
        BT_TRY(adjoint_data_want(g->adjoint.diff, block->params[i]->base.type));
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
    BT_TRY(copy_init(&c, a->copy.ctx, a->copy.arena, a->diff->module));
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

/* What the declaration takes and gives that is data. */
static bt_status find_conversions(struct gradient *g)
{
    struct differentiation *diff = g->adjoint.diff;
    const bt_block *block = g->primal->block;
    const bt_type *from = block->result->type;
    const bt_list_type *tuple = bt_as_tuple_type(from);
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (adjoint_is_wanted(g->adjoint.diff, g->global, g->primal, i))
            BT_TRY(adjoint_convert_want(diff, block->params[i]->base.type, ADJOINT_FILL));
    }
    if (tuple)
        from = tuple->at[g->global->gradient.from];
    return adjoint_convert_want(
        diff, from, g->global->gradient.is_seeded ? ADJOINT_STRIP : ADJOINT_ONES);
}

static bt_status find(struct gradient *g)
{
    BT_TRY(mark(g));
    BT_TRY(find_conversions(g));
    return adjoint_pairs_find(&g->adjoint, g->primal->block);
}

static bt_status init(struct gradient *g, struct differentiation *diff,
                      const bt_global *global)
{
    *g = (struct gradient){ .global = global };
    BT_TRY(custom_wrap(diff, bt_module_find(diff->module, global->primal), "vjp",
                       &g->primal));
    return adjoint_init(&g->adjoint, diff, g->primal);
}

bt_status adjoint_declaration_find(struct differentiation *diff, const bt_global *global)
{
    struct gradient g;
    BT_TRY(init(&g, diff, global));
    bt_status status = find(&g);
    adjoint_deinit(&g.adjoint);
    return status;
}

bt_status adjoint_declaration_define(struct differentiation *diff,
                                     const bt_global *declared)
{
    struct gradient g;
    bt_global global = *declared;
    BT_TRY(init(&g, diff, declared));
    bt_status status = mark(&g);
    if (!status)
        status = make_func(&g, &global.func);
    adjoint_deinit(&g.adjoint);
    global.kind = BT_GLOBAL_FUNC;
    return status ? status : bt_module_builder_set(diff->builder, &global, 0);
}
