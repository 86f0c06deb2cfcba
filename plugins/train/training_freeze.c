/* The model again, with what it has learned as constants. */
#include "training.h"

#include <string.h>

/* All but what parameters begin as: there are none any more, and their constants have values. */
static bt_status keep_attrs(struct bt_training *t, const bt_dict *attrs, bt_dict *out)
{
    bt_dict_entry *left = BT_NEWS(t->arena, bt_dict_entry, attrs->n);
    uint32_t n = 0;
    if (!left)
        return bt_no_memory();
    for (uint32_t i = 0; i < attrs->n; i++) {
        if (strcmp(attrs->at[i].name, "initializers") != 0)
            left[n++] = attrs->at[i];
    }
    *out = (bt_dict){ n, left };
    return NULL;
}

/* def @main(%x) { @train.model(%x, const[..], ..) } */
static bt_status build_entry(struct bt_training *t, bt_builder *b, bt_global *out)
{
    const bt_func *model = training_model(t->model);
    bt_func fields = { .name = t->entry,
                       .span = model->span,
                       .nvar = model->nvar,
                       .vars = model->vars,
                       .nwhere = model->nwhere,
                       .wheres = model->wheres };
    const uint32_t n = t->ninput + t->nheld;
    const bt_param **params = BT_NEWS(t->arena, const bt_param *, t->ninput);
    const bt_value **args = BT_NEWS(t->arena, const bt_value *, n);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = n,
                     .args = args,
                     .ntype_arg = model->nvar,
                     .type_args = model->vars };
    const bt_value *result;
    if (!params || !args)
        return bt_no_memory();
    BT_TRY(keep_attrs(t, &model->attrs, &fields.attrs));
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *like = &model->block->params[i]->base;
        bt_tensor *value = NULL;
        if (i < t->ninput) {
            BT_TRY(
                bt_build_param(b, like->name ? like->name : "x", like->type, &params[i]));
            args[i] = &params[i]->base;
            continue;
        }
        const bt_tensor *now = t->now[t->places[i - t->ninput]];
        BT_TRY(bt_tensor_create_raw(t->ctx, now->dtype, now->rank, now->dims, &value));
        memcpy(value->data, now->data, bt_tensor_nbytes(now));
        bt_status status = bt_build_const(b, &value->base, &args[i]);
        bt_tensor_unref(value);
        BT_TRY(status);
        if (like->name)
            BT_TRY(bt_build_name(b, args[i], like->name));
    }
    BT_TRY(bt_block_begin(b, t->ninput, params));
    BT_TRY(bt_build_global(b, TRAINING_MODEL, &call.callee));
    BT_TRY(bt_build_call(b, &call, &result));
    BT_TRY(bt_block_end(b, result, &fields.block));
    fields.result = result->type;
    *out = (bt_global){ .name = t->entry, .kind = BT_GLOBAL_FUNC, .span = model->span };
    return bt_func_create(t->ctx, t->model->store, &fields, &out->func);
}

static bt_status add_entry(struct bt_training *t, bt_module **out)
{
    bt_builder *b;
    bt_module_builder *to;
    bt_global entry;
    BT_TRY(bt_builder_create(t->ctx, t->model->store, t->model, &b));
    bt_status status = build_entry(t, b, &entry);
    bt_builder_destroy(b);
    if (status)
        return status;
    BT_TRY(bt_module_builder_create(t->ctx, t->model->store, t->model, &to));
    status = bt_module_builder_set(to, &entry, 0);
    if (!status)
        return bt_module_builder_finish(to, 1, out);
    bt_module_builder_destroy(to);
    return status;
}

bt_status training_freeze(bt_training *t, bt_module **out)
{
    bt_module *called;
    BT_TRY(add_entry(t, &called));
    bt_status status = training_passes(t, called, "inline, dead-code", t->entry, out);
    bt_module_unref(called);
    return status;
}
