/*
 * Declarations of forward mode:
 *
 *     jvp @tf = @f(wrt=[0])
 *  -> def @tf(%x, %y, %dx) { ..; (result, tangent) }
 *
 * The tangent of the result has the result's type: what is no float in it is copied.
 */
#include "gradients/custom.h"
#include "gradients/tangent.h"

static bt_status flow(struct adjoint *a, const bt_global *global)
{
    const bt_block *block = a->func->block;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const uint8_t *all = tangent_all(a->diff, param->type);
        if (!all)
            return bt_no_memory();
        if (adjoint_is_wanted(a->diff, global, a->func, i))
            BT_TRY(tangent_move(a, param, all));
    }
    return tangent_flow(a, block);
}

static bt_status find(struct adjoint *a, const bt_global *global)
{
    const bt_block *block = a->func->block;
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (adjoint_is_wanted(a->diff, global, a->func, i))
            BT_TRY(adjoint_convert_want(a->diff, block->params[i]->base.type,
                                        ADJOINT_STRIP));
    }
    BT_TRY(adjoint_convert_want(a->diff, block->result->type, ADJOINT_FILL));
    BT_TRY(flow(a, global));
    return tangent_find(a, block);
}

bt_status tangent_declaration_find(struct differentiation *diff, const bt_global *global)
{
    struct adjoint a;
    const bt_func *func;
    BT_TRY(custom_wrap(diff, bt_module_find(diff->module, global->primal), "jvp", &func));
    BT_TRY(adjoint_init(&a, diff, func));
    bt_status status = find(&a, global);
    adjoint_deinit(&a);
    return status;
}

/* Parameters: those of the primal, then tangents in the order of `wrt`. */
struct seeds {
    uint32_t n;
    const bt_param **params;
    const bt_value *
        *of; /* of each parameter behind the primal's: what it is the tangent of */
};

static bt_status make_params(struct adjoint *a, const bt_global *global,
                             struct seeds *out)
{
    const bt_block *block = a->func->block;
    const uint32_t nwrt = bt_gradient_spec_nwrt(&global->gradient, block->nparam);
    const bt_param **params;
    out->params = BT_NEWS(a->copy.arena, const bt_param *, block->nparam + nwrt);
    out->of = BT_NEWS(a->copy.arena, const bt_value *, block->nparam + nwrt);
    if (!out->params || !out->of)
        return bt_no_memory();
    BT_TRY(copy_params(&a->copy, block->nparam, block->params, &params));
    for (out->n = 0; out->n < block->nparam; out->n++)
        out->params[out->n] = params[out->n];
    for (uint32_t i = 0; i < nwrt; i++) {
        const int64_t index = bt_gradient_spec_wrt(&global->gradient, i);
        const bt_value *old = &block->params[index]->base;
        if (!adjoint_has(a->diff, old->type))
            continue;
        BT_TRY(tangent_param(a, old, params[index]->base.type, &out->params[out->n]));
        out->of[out->n++] = old;
    }
    return NULL;
}

static bt_status make_block(struct tangent *t, const bt_global *global,
                            const bt_block **out)
{
    struct adjoint *a = &t->adjoint;
    const bt_block *block = a->func->block;
    struct seeds seeds;
    const bt_value *both[2], *given;
    BT_TRY(make_params(a, global, &seeds));
    BT_TRY(bt_block_begin(a->copy.b, seeds.n, seeds.params));
    for (uint32_t i = block->nparam; i < seeds.n; i++) {
        adjoint_values leaves = { 0 };
        BT_TRY(adjoint_leaves(a, &seeds.params[i]->base, ADJOINT_STRIP, &leaves));
        for (uint32_t k = 0; k < leaves.len; k++)
            BT_TRY(adjoint_add(a, seeds.of[i], k, leaves.at[k]));
    }
    BT_TRY(copy_bindings(&a->copy, block, a->func->result, &both[0]));
    BT_TRY(adjoint_join(a, both[0], adjoint_of(a, block->result), &both[1]));
    BT_TRY(bt_build_tuple(a->copy.b, 2, both, &given));
    return bt_block_end(a->copy.b, given, out);
}

static bt_status define(struct tangent *t, const bt_global *declared)
{
    struct adjoint *a = &t->adjoint;
    bt_func now = { .name = declared->name, .span = declared->span };
    bt_global global = *declared;
    BT_TRY(flow(a, declared));
    BT_TRY(copy_head(&a->copy, a->func, &now));
    BT_TRY(make_block(t, declared, &now.block));
    now.result = now.block->result->type;
    BT_TRY(bt_func_create(a->copy.ctx, a->copy.store, &now, &global.func));
    global.kind = BT_GLOBAL_FUNC;
    return bt_module_builder_set(a->diff->builder, &global, 0);
}

bt_status tangent_declaration_define(struct differentiation *diff,
                                     const bt_global *global)
{
    struct tangent t;
    const bt_func *func;
    BT_TRY(custom_wrap(diff, bt_module_find(diff->module, global->primal), "jvp", &func));
    BT_TRY(tangent_init(&t, diff, func));
    bt_status status = define(&t, global);
    tangent_deinit(&t);
    return status;
}
