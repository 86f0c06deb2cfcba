/* A side of the match, as a function of one node. */
#include "batches/levels_code.h"

struct side {
    struct levels *l;
    const struct levels_ctor *c;
    const bt_value **below; /* of each field: what the function gives of it */
};

/* A call of the function itself is what is passed in. */
static bt_status side_binding(struct copy *c, const bt_value *old, int *done)
{
    const struct side *s = c->state;
    const bt_call *again = bt_as_call(old);
    if (bt_call_global(s->l->module, again) != s->l->of)
        return NULL;
    for (uint32_t i = 0; i < s->c->ctor->nfield; i++) {
        if (s->c->vars[i] && &s->c->vars[i]->base == again->args[s->l->param]) {
            *done = 1;
            return copy_put(c, old, s->below[i]);
        }
    }
    return NULL;
}

/* A parameter in place of a value of the function. */
static bt_status side_param(struct levels_code *m, struct copy *c, const bt_value *old,
                            const bt_type *type, const bt_param **out)
{
    BT_TRY(bt_build_param(m->b, old->name, type, out));
    return copy_put(c, old, &(*out)->base);
}

static bt_status side_block(struct levels_code *m, struct side *s, struct copy *c,
                            const bt_block **out)
{
    const bt_block *block = m->l->of->func->block;
    const struct levels_ctor *ctor = s->c;
    levels_types args = { 0 };
    const bt_value *result;
    uint32_t n = 0;
    BT_TRY(levels_side_types(m, ctor, &args));
    const bt_param **params = BT_NEWS(m->l->arena, const bt_param *, args.len);
    s->below = BT_NEWS(m->l->arena, const bt_value *, ctor->ctor->nfield);
    if (!params || !s->below)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (i != m->l->param)
            BT_TRY(side_param(m, c, &block->params[i]->base, args.at[n], &params[n]));
        n += i != m->l->param;
    }
    for (uint32_t i = 0; i < ctor->ctor->nfield; i++) {
        if (ctor->is_held[i])
            BT_TRY(side_param(m, c, &ctor->vars[i]->base, args.at[n], &params[n]));
        n += ctor->is_held[i];
    }
    for (uint32_t i = 0; i < ctor->ctor->nfield; i++) {
        if (!ctor->is_below[i])
            continue;
        BT_TRY(bt_build_param(m->b, ctor->vars[i]->base.name, args.at[n], &params[n]));
        s->below[i] = &params[n++]->base;
    }
    BT_TRY(bt_block_begin(m->b, args.len, params));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (block->bindings[i] != &m->l->match->base)
            BT_TRY(copy_binding(c, block->bindings[i]));
    }
    BT_TRY(copy_bindings(c, ctor->clause->block, m->l->of->func->result, &result));
    return bt_block_end(m->b, result, out);
}

bt_status levels_define_side(struct levels_code *m, const struct levels_ctor *ctor,
                             bt_module_builder *builder)
{
    struct side side = { .l = m->l, .c = ctor };
    struct copy c;
    const bt_block *block;
    BT_TRY(copy_init(&c, m->l->ctx, m->l->arena, m->l->declared));
    bt_builder *own = m->b;
    m->b = c.b;
    c.state = &side;
    c.binding = side_binding;
    bt_status status = side_block(m, &side, &c, &block);
    m->b = own;
    copy_deinit(&c);
    return status ? status : levels_define_func(m, builder, ctor->side, block);
}
