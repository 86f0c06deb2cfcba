/* Closures: known functions with what is around them, until one is needed as a value. */
#include "partial/pe.h"

bt_status pe_run_closures(struct pe *p, struct pe_activation *at,
                          const bt_closure_group *source)
{
    struct pe_group *group = BT_NEW(p->arena, struct pe_group);
    struct pe_value *rows = BT_NEWS(p->arena, struct pe_value, source->n);
    if (!group || !rows)
        return bt_no_memory();
    *group = (struct pe_group){ .source = source, .around = at };
    group->values = BT_NEWS(p->arena, struct pe_value *, source->n);
    if (!group->values)
        return bt_no_memory();
    for (uint32_t i = 0; i < source->n; i++) {
        struct pe_value *v = group->values[i] = &rows[i];
        *v = (struct pe_value){ .kind = PE_CLOSURE,
                                .home = p->block,
                                .like = &source->at[i]->base,
                                .size = 1,
                                .has_cells = p->cells.len > 0,
                                .closure = source->at[i],
                                .group = group };
        BT_TRY(pe_type(p, &at->types, source->at[i]->base.type, &v->type));
        BT_TRY(pe_deliver(p, at, &source->at[i]->base, v));
    }
    return NULL;
}

/* ---- as values ---- */

static bt_status make_params(struct pe *p, struct pe_activation *at, const bt_block *old,
                             const bt_param ***out)
{
    *out = BT_NEWS(p->arena, const bt_param *, old->nparam);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->nparam; i++) {
        const bt_value *param = &old->params[i]->base;
        const bt_type *type;
        struct pe_value *value;
        BT_TRY(pe_type(p, &at->types, param->type, &type));
        pe_like(p, param);
        BT_TRY(bt_build_param(p->maker, param->name, type, &(*out)[i]));
        BT_TRY(pe_dynamic(p, &(*out)[i]->base, &value));
        BT_TRY(pe_deliver(p, at, param, value));
    }
    return NULL;
}

static bt_status make_wheres(struct pe *p, struct pe_types *types, bt_func *func)
{
    bt_where *rows = BT_NEWS(p->arena, bt_where, func->nwhere);
    const bt_where **now = BT_NEWS(p->arena, const bt_where *, func->nwhere);
    if (!rows || !now)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nwhere; i++) {
        rows[i] = *func->wheres[i];
        now[i] = &rows[i];
        BT_TRY(pe_type_list(p, types, rows[i].ntype, rows[i].types, &rows[i].types));
        BT_TRY(pe_type_attrs(p, types, rows[i].op, rows[i].attrs, &rows[i].attrs));
    }
    func->wheres = now;
    return NULL;
}

/* Bodies are run later, when cells that escaped may hold anything: those that they lead to have. */
static bt_status make_body(struct pe *p, const struct pe_group *group,
                           const struct pe_value *v, struct pe_block *block)
{
    struct pe_activation *at;
    struct pe_value *result;
    const bt_param **params;
    const bt_value *operand;
    bt_func func = *v->closure->func;
    const bt_func *made;
    BT_TRY(pe_activation_create(p, v->closure->func, group->around, NULL, &at));
    at->types.is_copy = 1;
    p->block = block;
    BT_TRY(make_params(p, at, v->closure->func->block, &params));
    BT_TRY(pe_run(p, at, v->closure->func->block, &result));
    BT_TRY(pe_operand(p, result, &operand));
    BT_TRY(pe_block_end(p, block, func.block->nparam, params, operand, &func.block));
    BT_TRY(pe_activation_end(p, at));
    // what it gives is part of its type, which is known around it
    BT_TRY(pe_type(p, &group->around->types, func.result, &func.result));
    BT_TRY(make_wheres(p, &group->around->types, &func));
    BT_TRY(bt_func_create(p->ctx, p->store, &func, &made));
    return bt_build_closure_body(p->maker, v->operand, made);
}

bt_status pe_make_closures(struct pe *p, struct pe_group *group)
{
    const uint32_t n = group->source->n;
    const char **names = BT_NEWS(p->arena, const char *, n);
    const bt_type **types = BT_NEWS(p->arena, const bt_type *, n);
    const bt_value **now = BT_NEWS(p->arena, const bt_value *, n);
    struct pe_block *around = p->block, *home = group->values[0]->home;
    const struct pe_store store = p->store_now;
    const pe_writes writes = p->writes;
    const bt_func *at = p->at;
    if (!names || !types || !now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        names[i] = group->source->at[i]->base.name;
        types[i] = group->values[i]->type;
    }
    pe_like(p, group->values[0]->like);
    BT_TRY(bt_build_closures(p->maker, n, names, types, now));
    for (uint32_t i = 0; i < n; i++)
        group->values[i]->operand = now[i];
    p->nbody++;
    for (uint32_t i = 0; i < n; i++) {
        struct pe_block *block;
        BT_TRY(pe_block_create(p, home, &block));
        p->writes = (pe_writes){ 0 };
        pe_forget(p);
        BT_TRY(make_body(p, group, group->values[i], block));
    }
    p->nbody--;
    // behind what their bodies take from the block around
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(pe_emit_into(p, home, now[i]));
    p->block = around;
    p->store_now = store;
    p->writes = writes;
    p->at = at;
    return NULL;
}
