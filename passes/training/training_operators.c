/* nn.dropout and nn.batch_norm as they are in training. */
#include <string.h>

#include "common/names.h"
#include "training/training.h"

/* The call's attributes, as text, and more. */
static bt_status attrs_of(const struct training *t, const bt_call *call, const char *more,
                          const char **out)
{
    bt_text text;
    bt_text_init(&text, t->copy.arena);
    const int is_any = bt_attrs_print(t->copy.ctx, call->op, call->attrs, &text);
    bt_text_addf(&text, "%s%s", is_any && *more ? ", " : "", more);
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

bt_status training_drop(struct training *t, const bt_call *old)
{
    struct copy *c = &t->copy;
    const bt_value *args[2], *number, *now;
    const char *attrs;
    BT_TRY(copy_operand(c, old->args[0], NULL, &args[0]));
    BT_TRY(attrs_of(t, old, "", &attrs));
    BT_TRY(bt_build_scalar(c->b, BT_INT32, t->ndropped++, &number));
    bt_builder_name(c->b, "key");
    BT_TRY(bt_build(c->b, "random.threefry_fold_in", NULL,
                    (const bt_value *[]){ t->key, number }, 2, &args[1]));
    bt_builder_like(c->b, &old->base);
    BT_TRY(bt_build(c->b, "nn.dropout_training", attrs, args, 2, &now));
    return copy_put(c, &old->base, now);
}

/* What a value has become by the calls before. Constants that are equal are one value, and
 * yet moments of several layers. */
static struct moment *moment_of(struct training *t, uint32_t index, const bt_value *was)
{
    for (uint32_t i = 0; !bt_as_const(was) && i < t->moments.len; i++) {
        if (t->moments.at[i].index == index && t->moments.at[i].was == was)
            return &t->moments.at[i];
    }
    return NULL;
}

static int is_fixed(const struct training *t, const bt_value *moment)
{
    return moment->kind == BT_VALUE_PARAM && moment->name &&
           name_is_in(&t->options->fixed, moment->name);
}

bt_status training_check_frozen(struct training *t, const bt_call *old, int *out)
{
    struct copy *c = &t->copy;
    const bt_value *mean, *variance;
    BT_TRY(copy_operand(c, old->args[3], NULL, &mean));
    BT_TRY(copy_operand(c, old->args[4], NULL, &variance));
    *out = is_fixed(t, mean);
    if (*out == is_fixed(t, variance))
        return NULL;
    return bt_fail_at(
        c->ctx, BT_ERR_ARGUMENT, t->module->store, old->base.span,
        "train-mode: %%%s is fixed and %%%s is not: nn.batch_norm moves both "
        "of its moments, or normalises by both as they are",
        *out ? mean->name : variance->name,
        (*out ? variance->name : mean->name) ? *out ? variance->name : mean->name : "_");
}

/* Attributes of nn.batch_norm_training. */
static bt_status norm_attrs(struct training *t, const bt_call *old, const char **out)
{
    bt_call now = *old;
    const double momentum = t->options->momentum;
    if (strcmp(old->op->name, "nn.batch_norm_training") == 0)
        return attrs_of(t, old, "", out);
    if (momentum >= 0) {
        char *copy = bt_arena_alloc(t->copy.arena, 1, old->op->attrs_nbytes);
        if (!copy)
            return bt_no_memory();
        memcpy(copy, old->attrs, old->op->attrs_nbytes);
        const char *member = bt_attr_find(old->op, copy, "momentum", BT_ATTR_FLOAT);
        memcpy(copy + (member - copy), &momentum, sizeof(momentum));
        now.attrs = copy;
    }
    return attrs_of(t, &now, t->options->unbiased ? "" : "unbiased=False", out);
}

bt_status training_normalise(struct training *t, const bt_call *old)
{
    struct copy *c = &t->copy;
    const bt_value *args[5], *was[2], *now;
    const char *attrs;
    BT_TRY(norm_attrs(t, old, &attrs));
    for (uint32_t i = 0; i < 5; i++)
        BT_TRY(copy_operand(c, old->args[i], NULL, &args[i]));
    for (uint32_t i = 0; i < 2; i++) {
        const struct moment *moment = moment_of(t, i, args[3 + i]);
        was[i] = args[3 + i];
        args[3 + i] = moment ? moment->now : args[3 + i];
    }
    bt_builder_like(c->b, &old->base);
    BT_TRY(bt_build(c->b, "nn.batch_norm_training", attrs, args, 5, &now));
    BT_TRY(copy_put(c, &old->base, now));
    for (uint32_t i = 0; i < 2; i++) {
        struct moment *moment = moment_of(t, i, was[i]), next = { i, was[i], NULL };
        bt_builder_name(c->b, was[i]->name);
        BT_TRY(bt_build_proj(c->b, now, 1 + i, &next.now));
        if (moment)
            *moment = next;
        else if (!BT_PUSH(c->arena, &t->moments, next))
            return bt_no_memory();
    }
    return NULL;
}
