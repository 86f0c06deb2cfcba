/* Blocks of a program by their plans. */
#include "memory/remat.h"

/* What is to be computed again, or early, by the binding before which that is. */
struct changes {
    struct remat_facts facts;
    bt_map due;   /* binding -> value_list */
    bt_map early; /* bindings that are computed before the block has them */
    bt_map same;  /* bindings that others before them stand for -> these */
    bt_map twins; /* of these -> value_list of those */
    uint32_t nagain;
};

typedef bt_vec(const bt_value *) value_list;

static bt_status add_due(struct changes *c, const struct remat_plan *plan)
{
    value_list *due = NULL;
    for (uint32_t s = 0; s < plan->steps.len; s++) {
        const struct remat_step step = plan->steps.at[s];
        const bt_value *value = plan->values[step.value].value;
        const int comes_before = step.kind != REMAT_FIRST;
        if (comes_before && !due)
            due = BT_NEW(c->facts.arena, value_list);
        if (comes_before && (!due || !BT_PUSH(c->facts.arena, due, value)))
            return bt_no_memory();
        if (step.kind == REMAT_EARLY && !bt_map_put(&c->early, value, (void *)1))
            return bt_no_memory();
        if (comes_before) {
            c->nagain++;
        } else if (due) {
            if (!bt_map_put(&c->due, value, due))
                return bt_no_memory();
            due = NULL;
        }
    }
    return NULL;
}

static bt_status add_same(struct changes *c, const struct remat_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        const struct remat_value *v = &plan->values[i];
        const bt_value *first = v->same ? plan->values[v->same - 1].value : NULL;
        if (!first)
            continue;
        value_list *twins = bt_map_find(&c->twins, first);
        if (!twins)
            twins = BT_NEW(c->facts.arena, value_list);
        if (!twins || !BT_PUSH(c->facts.arena, twins, v->value) ||
            !bt_map_put(&c->twins, first, twins) ||
            !bt_map_put(&c->same, v->value, (void *)(uintptr_t)first))
            return bt_no_memory();
        c->nagain++;
    }
    return NULL;
}

/* Another binding that computes the same, of what its operands are by now. */
static bt_status compute_again(bt_rewrite *rw, const bt_value *value,
                               const bt_value **out)
{
    const struct changes *c = bt_rewrite_state(rw);
    const bt_call *call = bt_as_call(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    const bt_proj *proj = bt_as_proj(value);
    const bt_value *const *from = call    ? call->args
                                  : tuple ? tuple->fields
                                          : &proj->tuple;
    const uint32_t n = call ? call->narg : tuple ? tuple->nfield : 1;
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value **operands = BT_NEWS(c->facts.arena, const bt_value *, n);
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt_rewrite_operand(rw, from[i], &operands[i]));
    bt_builder_like(b, value);
    bt_builder_type(b, value->type);
    if (!call)
        return tuple ? bt_build_tuple(b, n, operands, out)
                     : bt_build_proj(b, operands[0], proj->index, out);
    bt_call again = *call;
    again.args = operands;
    return bt_build_call(b, &again, out);
}

static bt_status rewrite(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const struct changes *c = bt_rewrite_state(rw);
    const value_list *due = bt_map_find(&c->due, old);
    const bt_value *now, *same = bt_map_find(&c->same, old);
    if (same)
        return bt_rewrite_operand(rw, same, out);
    if (bt_map_find(&c->early, old))
        return bt_rewrite_operand(rw, old, out);
    for (uint32_t i = 0; due && i < due->len; i++) {
        BT_TRY(compute_again(rw, due->at[i], &now));
        BT_TRY(bt_rewrite_replace(rw, due->at[i], now));
        const value_list *twins = bt_map_find(&c->twins, due->at[i]);
        for (uint32_t t = 0; twins && t < twins->len; t++)
            BT_TRY(bt_rewrite_replace(rw, twins->at[t], now));
    }
    return NULL;
}

static const bt_rewriter rewriter = { .any = rewrite };

bt_status remat_run(bt_ctx *ctx, bt_pass_call *call,
                    bt_status (*plan)(void *state, const struct remat_facts *,
                                      struct remat_plan *, int *is_changed),
                    void *state, bt_module **out)
{
    const void *effects;
    struct changes c = { .facts = { .ctx = ctx,
                                    .arena = call->scratch,
                                    .module = call->module,
                                    .targets = call->targets } };
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    c.facts.effects = effects;
    bt_map_init(&c.due, call->scratch, 0);
    bt_map_init(&c.early, call->scratch, 0);
    bt_map_init(&c.same, call->scratch, 0);
    bt_map_init(&c.twins, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        const bt_func *func = call->module->globals[i]->func;
        bt_blocks blocks = { 0 };
        if (!func || bt_func_is_primitive(func))
            continue;
        BT_TRY(bt_block_nested(call->scratch, func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++) {
            struct remat_plan made;
            int is_changed = 0;
            BT_TRY(remat_plan_create(&c.facts, blocks.at[b], &made));
            BT_TRY(plan(state, &c.facts, &made, &is_changed));
            if (!is_changed)
                continue;
            BT_TRY(remat_aliases(&made));
            BT_TRY(add_due(&c, &made));
            BT_TRY(add_same(&c, &made));
        }
    }
    if (!c.nagain) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    return bt_rewrite_module(ctx, call, &rewriter, &c, out);
}
