/* What differs in training: pass train-mode, and which parameters are moments that it moves. */
#include "training.h"

#include <baton/pass.h>

/* Moments that stay are told by name, as all parameters that do: only moments are looked at. */
static bt_status passes_of(struct bt_training *t, const bt_func *model, bt_text *out)
{
    uint32_t n = 0;
    bt_text_init(out, t->arena);
    bt_text_addf(out, "train-mode{name=\"train.training\", key=\"train.key\", fixed=[");
    for (uint32_t i = t->ninput; i < model->block->nparam; i++) {
        const char *name = training_param_name(model->block->params[i]);
        if (training_learns(t, name))
            continue;
        bt_text_addf(out, n++ ? ", " : "");
        training_quote(out, name);
    }
    bt_text_addf(out, "]}");
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* Where a moment comes from, through the calls that moved it before: a parameter, else it
 * cannot be followed. */
static const bt_value *source_of(const bt_value *moment, const bt_call **moved)
{
    const bt_proj *proj;
    while ((proj = bt_as_proj(moment))) {
        const bt_call *call = bt_as_op_call(proj->tuple, "nn.batch_norm_training");
        if (!call || proj->index < 1)
            return NULL;
        *moved = call;
        moment = call->args[2 + proj->index];
    }
    return moment;
}

/* The place of a parameter behind the data; `nparam`: it is none. */
static uint32_t place_of(const struct bt_training *t, const bt_func *func,
                         uint32_t nparam, const bt_value *value)
{
    for (uint32_t i = 0; i < nparam; i++) {
        if (&func->block->params[t->ninput + i]->base == value)
            return i;
    }
    return nparam;
}

static bt_status find_moment(struct bt_training *t, const bt_module *both,
                             const bt_func *func, uint32_t nparam, const bt_value *field,
                             uint32_t *moment_of)
{
    const bt_call *moved = NULL;
    const uint32_t at = place_of(t, func, nparam, source_of(field, &moved));
    if (at < nparam && !moment_of[at]) {
        t->is_variance[t->nmoment++] = bt_as_proj(field)->index == 2;
        moment_of[at] = t->nmoment;
        return NULL;
    }
    return bt_fail_at(
        t->ctx, BT_ERR_UNSUPPORTED, both->store, moved ? moved->base.span : field->span,
        at < nparam ? "nn.batch_norm has %%%s for its mean and for its variance, "
                      "which training moves apart: give each a parameter"
                    : "training moves the moments of nn.batch_norm, and here they "
                      "are neither constants nor parameters of @%s",
        at < nparam ? func->block->params[t->ninput + at]->base.name : t->entry);
}

bt_status training_mode(struct bt_training *t, bt_module *lifted, bt_module **out,
                        uint32_t **moment_of)
{
    const bt_func *model = training_model(lifted);
    const uint32_t nparam = model->block->nparam - t->ninput;
    const bt_list_type *tuple = bt_as_tuple_type(model->result);
    const uint32_t nresult = tuple ? tuple->n : 1;
    *moment_of = BT_NEWS(t->arena, uint32_t, nparam + 1);
    t->is_variance = BT_NEWS(t->arena, uint8_t, nparam + 1);
    if (!*moment_of || !t->is_variance)
        return bt_no_memory();
    bt_text passes;
    BT_TRY(passes_of(t, model, &passes));
    BT_TRY(training_passes(t, lifted, passes.at, TRAINING_MODEL, out));
    const bt_global *global = bt_module_find(*out, "train.training");
    if (!global)
        return NULL;
    const bt_func *func = global->func;
    const bt_list_type *all = bt_as_tuple_type(func->result);
    const bt_tuple_value *result = bt_as_tuple(func->block->result);
    bt_status status = NULL;
    t->has_key = func->block->nparam > model->block->nparam;
    for (uint32_t i = nresult; !status && result && all && i < all->n; i++)
        status = find_moment(t, *out, func, nparam, result->fields[i], *moment_of);
    if (status)
        bt_module_unref(*out);
    return status;
}
