/* Where a step first made a number that is none: it runs once more, binding by binding. */
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <baton/executor.h>
#include <baton/op.h>

struct search {
    struct bt_training *t;
    const bt_func *func; /* that the last stop was in, and where */
    uint32_t at;
    const bt_value *nan, *infinite; /* the first ones */
};

int training_is_finite(const bt_tensor *t)
{
    const float *at = t->data;
    float sum = 0;
    for (int64_t i = 0; i < t->nelem; i++)
        sum += at[i] * 0; // 0, or NaN from the first that is not finite on
    return sum == 0;
}

/* Bits: 1 there is NaN, 2 an infinity. */
static int look_into(const bt_object *object)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_tensor *t = bt_object_as_tensor(object);
    int found = 0;
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        found |= look_into(tuple->fields[i]);
    for (int64_t i = 0; t && bt_dtype_is_float(t->dtype) && i < t->nelem; i++) {
        const double x = bt_tensor_get(t, i);
        found |= isnan(x) ? 1 : isinf(x) ? 2 : 0;
    }
    return found;
}

/* The binding before the next one in its function; NULL: it is the first, or nested. */
static const bt_value *binding_before(struct search *s, const bt_stop *stop)
{
    const bt_block *block = stop->func->block;
    if (s->func != stop->func || s->at + 1 >= block->nbinding ||
        block->bindings[s->at + 1] != stop->next) {
        s->func = stop->func;
        s->at = 0;
        while (s->at < block->nbinding && block->bindings[s->at] != stop->next)
            s->at++;
    } else {
        s->at++;
    }
    return s->at && s->at < block->nbinding ? block->bindings[s->at - 1] : NULL;
}

static bt_status before(void *self, const bt_stop *stop)
{
    struct search *s = self;
    const bt_value *value = binding_before(s, stop);
    bt_object *object = NULL;
    if (!value || s->nan)
        return NULL;
    BT_TRY(stop->look(s->t->ctx, stop->frame, value, &object));
    const int found = object ? look_into(object) : 0;
    bt_object_unref(object);
    if (found & 1)
        s->nan = value;
    if (found & 2 && !s->infinite)
        s->infinite = value;
    return NULL;
}

/* "%c1 (nn.conv2d)" */
static void add_value(const bt_value *value, bt_text *out)
{
    const bt_call *call = bt_as_call(value);
    if (value->name)
        bt_text_addf(out, "%%%s", value->name);
    if (call && call->op)
        bt_text_addf(out, value->name ? " (%s)" : "a call of %s", call->op->name);
    else if (!value->name)
        bt_text_addf(out, "a value");
}

static bt_status tell(struct search *s)
{
    const bt_value *value = s->nan ? s->nan : s->infinite;
    bt_ctx *ctx = s->t->ctx;
    bt_text what;
    bt_text_init(&what, s->t->arena);
    if (!value)
        return bt_fail(ctx, BT_ERR_RUNTIME,
                       "step %lld makes numbers that are NaN or infinite when it runs on "
                       "the target, and none by the reference",
                       (long long)s->t->info.step + 1);
    if (value->name &&
        strncmp(value->name, TRAINING_SQUARES, strlen(TRAINING_SQUARES)) == 0)
        return bt_fail(
            ctx, BT_ERR_RUNTIME,
            "step %lld: the gradients are finite, and their squares are more than "
            "float32 holds: their norm is above 1.8e19",
            (long long)s->t->info.step + 1);
    add_value(value, &what);
    bt_status status =
        bt_fail_at(ctx, BT_ERR_RUNTIME, value->type->store, value->span,
                   "step %lld: %s is the first that is %s; a smaller rate or a bound of "
                   "the gradients' norm (clip) may help",
                   (long long)s->t->info.step + 1,
                   bt_text_get(&what) ? what.at : "a value", s->nan ? "NaN" : "infinite");
    if (s->nan && s->infinite && s->infinite->id < s->nan->id)
        status = bt_note(ctx, status, s->infinite->type->store, s->infinite->span,
                         "this was infinite before");
    return status;
}

bt_status training_values_check(struct bt_training *t)
{
    const uint32_t nmoved = t->nparam + t->nmoment;
    for (uint32_t i = 0; i < t->nvalue; i++) {
        if (training_is_finite(t->now[i]))
            continue;
        if (t->ntaken && (i < t->nparam || i >= t->nheld))
            return bt_fail(t->ctx, BT_ERR_RUNTIME,
                           "step %lld: @%s makes NaN or infinities in %s, of a loss and "
                           "gradients that are finite",
                           (long long)t->info.step, t->optimizer.global->name,
                           t->names[i]);
        return bt_fail(t->ctx, BT_ERR_RUNTIME,
                       t->ntaken && i < nmoved
                           ? "step %lld begins with NaN or infinities in %s, which the "
                             "batches before it made"
                           : "step %lld begins with NaN or infinities in %s",
                       (long long)t->info.step + 1, t->names[i]);
    }
    return NULL;
}

/* What an argument of the batch is to whoever gave it: "x0" of the program is an input. */
static const char *batch_name(const struct bt_training *t, const char *name)
{
    const bt_func *model = training_model(t->model);
    char own[16];
    for (uint32_t i = 0; i < t->ninput; i++) {
        snprintf(own, sizeof(own), "x%u", i);
        if (strcmp(own, name) == 0)
            return training_param_name(model->block->params[i]);
    }
    return strcmp(name, "y") == 0 ? "the labels" : name;
}

/* What the step was given may be none already. */
static bt_status check_args(struct bt_training *t, const bt_program *program,
                            uint32_t narg, bt_tensor *const *args)
{
    BT_TRY(training_values_check(t));
    for (uint32_t i = 0; i < narg; i++) {
        if (look_into(&args[i]->base))
            return bt_fail(t->ctx, BT_ERR_RUNTIME,
                           "step %lld: the batch has NaN or infinities in %s",
                           (long long)t->info.step + 1,
                           batch_name(t, bt_program_input(program, i)->name));
    }
    return NULL;
}

bt_status training_first_bad(struct bt_training *t, const char *entry, uint32_t narg,
                             bt_tensor *const *args)
{
    const bt_program_options options = { .entry = entry,
                                         .executor = "interp",
                                         .pipeline = "gradients" };
    struct search s = { .t = t };
    bt_program *program;
    BT_TRY(bt_program_open(t->ctx, t->path, &options, &program));
    bt_status status = check_args(t, program, narg, args);
    bt_program_watch(program, before, &s);
    for (uint32_t i = 0; !status && i < narg; i++)
        status = bt_program_set_at(program, i, &args[i]->base);
    if (!status)
        status = bt_program_run(program);
    if (!status)
        status = tell(&s); // while the program is there: places are its own
    bt_program_close(program);
    return status;
}
