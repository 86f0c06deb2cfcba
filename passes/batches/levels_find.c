/* Which functions can be computed by levels. */
#include "batches/levels.h"

static bt_status refuse(const struct levels *l, bt_span span, const char *what)
{
    return bt_fail_at(l->ctx, BT_ERR_UNSUPPORTED, l->module->store,
                      span ? span : l->of->span,
                      "batch-levels: @%s is not computed for many values at once: %s",
                      l->of->name, what);
}

static const bt_value *data_of(const struct levels *l)
{
    return &l->of->func->block->params[l->param]->base;
}

/* ---- types ---- */

static bt_status field_types(const struct levels *l, struct levels_ctor *c)
{
    const bt_list_type *apply = bt_as_apply_type(data_of(l)->type);
    c->fields = BT_NEWS(l->arena, const bt_type *, c->ctor->nfield);
    c->is_below = BT_NEWS(l->arena, uint8_t, c->ctor->nfield);
    c->is_held = BT_NEWS(l->arena, uint8_t, c->ctor->nfield);
    c->vars = BT_NEWS(l->arena, const bt_param *, c->ctor->nfield);
    if (!c->fields || !c->is_below || !c->is_held || !c->vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->ctor->nfield; i++) {
        c->fields[i] = bt_ctor_field_type(l->module->store, c->ctor, i, apply->at + 1);
        if (!c->fields[i])
            return bt_store_why(l->ctx, l->module->store);
    }
    return NULL;
}

/* A tensor whose size does not change from one value to the next. */
static int is_fixed(const bt_type *type)
{
    return bt_tensor_shape(type) && !(type->has & (BT_HAS_HOLE | BT_HAS_OPAQUE)) &&
           !bt_type_layout(type);
}

static int is_fixed_result(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!is_fixed_result(tuple->at[i]))
            return 0;
    }
    return tuple ? tuple->n > 0 : is_fixed(type);
}

/* ---- uses ---- */

static int field_of(const struct levels_ctor *c, const bt_value *value)
{
    for (uint32_t i = 0; i < c->ctor->nfield; i++) {
        if (c->vars[i] && &c->vars[i]->base == value)
            return (int)i;
    }
    return -1;
}

/* A call of the function itself: with a variable of the pattern, all else unchanged. */
static bt_status check_call(const struct levels *l, struct levels_ctor *c,
                            const bt_call *call)
{
    const bt_block *block = l->of->func->block;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (i != l->param && call->args[i] != &block->params[i]->base)
            return refuse(
                l, call->base.span,
                "it calls itself with another argument than its own besides the "
                "data");
    }
    const int field = field_of(c, call->args[l->param]);
    if (field < 0)
        return refuse(l, call->base.span,
                      "it calls itself with data that is no variable of the pattern");
    c->nbelow += !c->is_below[field];
    c->is_below[field] = 1;
    return NULL;
}

static bt_status check_use(const struct levels *l, struct levels_ctor *c,
                           const bt_value *value, bt_span span)
{
    const int field = field_of(c, value);
    if (value == data_of(l))
        return refuse(l, span, "the data is used besides being matched");
    if (field < 0)
        return NULL;
    if (!is_fixed(c->fields[field]))
        return refuse(
            l, span,
            "a field that is no tensor of a fixed size is used for something else "
            "than calling the function itself");
    c->nheld += !c->is_held[field];
    c->is_held[field] = 1;
    return NULL;
}

static bt_status check_binding(const struct levels *l, struct levels_ctor *c,
                               const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (bt_call_global(l->module, call) == l->of)
        return check_call(l, c, call);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(check_use(l, c, bt_value_operand(value, i), value->span));
    return NULL;
}

static bt_status check_block(const struct levels *l, struct levels_ctor *c,
                             const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(l->arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            BT_TRY(check_binding(l, c, blocks.at[b]->bindings[i]));
        BT_TRY(check_use(l, c, blocks.at[b]->result, 0));
    }
    return NULL;
}

/* ---- the function ---- */

static bt_status find_ctor(const struct levels *l, const bt_clause *clause,
                           struct levels_ctor *c)
{
    const bt_pattern *pattern = clause->pattern;
    if (pattern->kind != BT_PATTERN_CTOR)
        return refuse(
            l, pattern->span,
            "its match has a side for several constructors: write one for each");
    *c = (struct levels_ctor){ .ctor = pattern->ctor, .clause = clause };
    BT_TRY(field_types(l, c));
    for (uint32_t i = 0; i < pattern->n; i++) {
        if (!bt_pattern_is_leaf(pattern->at[i]))
            return refuse(l, pattern->span, "its patterns look further than one level");
        c->vars[i] = pattern->at[i]->kind == BT_PATTERN_VAR ? pattern->at[i]->var : NULL;
    }
    return check_block(l, c, clause->block);
}

static bt_status check_before(const struct levels *l)
{
    struct levels_ctor none = { .ctor = &(const bt_ctor){ .nfield = 0 } };
    const bt_block *block = l->of->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (value == &l->match->base)
            continue;
        BT_TRY(check_binding(l, &none, value));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(check_block(l, &none, bt_value_region(value, k)));
    }
    return NULL;
}

bt_status levels_find(struct levels *l)
{
    const bt_func *func = l->of->func;
    const bt_value *result = func->block->result;
    l->match = bt_as_match(result);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM)
            return refuse(l, 0,
                          "it has type parameters besides dims: run pass monomorphize "
                          "before");
    }
    if (!l->match || l->match->data != data_of(l))
        return refuse(l, result->span, "what it gives is no match of the data");
    if (!is_fixed_result(func->result))
        return refuse(l, 0, "what it gives are no tensors of a fixed size");
    l->nctor = l->match->nclause;
    l->ctors = BT_NEWS(l->arena, struct levels_ctor, l->nctor);
    if (!l->ctors)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->nctor; i++)
        BT_TRY(find_ctor(l, l->match->clauses[i], &l->ctors[i]));
    return check_before(l);
}
