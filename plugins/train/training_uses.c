/* What a model does with a parameter: whether it is a factor, which begins as one. */
#include "training.h"

#include <string.h>

#include <baton/op.h>

/* A value that is the parameter, but for its shape and for numbers that multiply it. */
struct found {
    const bt_value *value;
    const bt_func *func; /* that it is of */
};

struct search {
    const struct bt_training *t;
    const bt_module *module;
    bt_map seen;
    bt_vec(struct found) values;
    uint32_t nfactor, nother; /* uses */
    int is_gamma;
};

static bt_status add(struct search *s, const bt_func *func, const bt_value *value)
{
    const struct found found = { value, func };
    if (bt_map_find(&s->seen, value))
        return NULL;
    return bt_map_put(&s->seen, value, s) && BT_PUSH(s->t->arena, &s->values, found)
               ? NULL
               : bt_no_memory();
}

static int is_number(const struct search *s, const bt_value *value)
{
    return bt_const_number(bt_module_constant(s->module, value)) != NULL;
}

/* A call whose result is its argument `index` but for its shape, its type and a number. */
static int passes_on(const struct search *s, const bt_call *call, uint32_t index)
{
    static const char *const shapes[] = { "reshape",   "expand_dims",  "squeeze",
                                          "transpose", "broadcast_to", "cast" };
    for (uint32_t i = 0; i < BT_COUNT(shapes); i++) {
        if (strcmp(call->op->name, shapes[i]) == 0)
            return index == 0;
    }
    return (strcmp(call->op->name, "multiply") == 0 &&
            is_number(s, call->args[!index])) ||
           (strcmp(call->op->name, "divide") == 0 && index == 0);
}

static bt_status look_at_call(struct search *s, const struct found *found,
                              const bt_call *call, uint32_t index)
{
    const bt_global *global = bt_call_global(s->module, call);
    const bt_op_input *input = call->op ? bt_op_input_at(call->op, index) : NULL;
    if (global && global->kind == BT_GLOBAL_FUNC && global->func->block)
        return add(s, global->func, &global->func->block->params[index]->base);
    if (input &&
        (strcmp(input->name, "gamma") == 0 || strcmp(input->name, "moving_var") == 0))
        s->is_gamma = 1;
    if (call->op && passes_on(s, call, index))
        return add(s, found->func, &call->base);
    if (call->op && (strcmp(call->op->name, "multiply") == 0 ||
                     strcmp(call->op->name, "divide") == 0))
        s->nfactor++;
    else
        s->nother++;
    return NULL;
}

static bt_status look_at_block(struct search *s, const struct found *found,
                               const bt_block *block)
{
    s->nother += block->result == found->value;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *binding = block->bindings[i];
        const bt_call *call = bt_as_call(binding);
        for (uint32_t k = 0; call && k < call->narg; k++) {
            if (call->args[k] == found->value)
                BT_TRY(look_at_call(s, found, call, k));
        }
        for (uint32_t k = 0; !call && k < bt_value_noperand(binding); k++)
            s->nother += bt_value_operand(binding, k) == found->value;
    }
    return NULL;
}

bt_status training_is_factor(const struct bt_training *t, const bt_module *module,
                             uint32_t param, int *out)
{
    const bt_func *func = training_model(module);
    struct search s = { .t = t, .module = module };
    uint32_t place = 0;
    bt_map_init(&s.seen, t->arena, 0);
    while (t->places[place] != param)
        place++;
    BT_TRY(add(&s, func, &func->block->params[t->ninput + place]->base));
    for (uint32_t n = 0; n < s.values.len; n++) {
        const struct found found = s.values.at[n];
        bt_blocks blocks = { 0 };
        BT_TRY(bt_block_nested(t->arena, found.func->block, &blocks));
        for (uint32_t b = 0; b < blocks.len; b++)
            BT_TRY(look_at_block(&s, &found, blocks.at[b]));
    }
    *out = s.is_gamma || (s.nfactor && !s.nother);
    return NULL;
}
