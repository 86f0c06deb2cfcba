/* Where a step first made a number that is none: it runs once more, binding by binding. */
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <baton/executor.h>
#include <baton/op.h>

/* A binding of a function; value NULL: none. */
struct bad {
    const bt_value *value;
    const bt_func *func;
    uint32_t at;
};

struct search {
    struct bt_training *t;
    const bt_func *func; /* that the last stop was in, and where */
    uint32_t at;
    struct bad nan, infinite; /* the first ones */
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
    if (!value || s->nan.value)
        return NULL;
    BT_TRY(stop->look(s->t->ctx, stop->frame, value, &object));
    const int found = object ? look_into(object) : 0;
    bt_object_unref(object);
    const struct bad bad = { value, s->func, s->at - 1 };
    if (found & 1)
        s->nan = bad;
    if (found & 2 && !s->infinite.value)
        s->infinite = bad;
    return NULL;
}

/* ---- what it is to whoever wrote the model ---- */

/* How many bindings of a gradient are of the loss: up to what it keeps of that. Those behind are
 * derivatives. */
static uint32_t forward_len(const struct search *s, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_tuple_value *result = bt_as_tuple(block->result);
    uint32_t end = 0;
    if (strcmp(func->name, "train.gradient") != 0 || !result)
        return block->nbinding;
    for (uint32_t i = s->t->nparam; i < result->nfield; i++) {
        const bt_value *value = result->fields[i];
        uint32_t at = 0;
        while (bt_as_proj(value))
            value = bt_as_proj(value)->tuple;
        while (at < block->nbinding && block->bindings[at] != value)
            at++;
        end = at < block->nbinding && at + 1 > end ? at + 1 : end;
    }
    return end;
}

/* That a derivative is of: it was made at that one's place. */
static const bt_value *primal_of(const struct bad *bad, uint32_t nforward)
{
    const bt_block *block = bad->func->block;
    for (uint32_t i = nforward; i-- > 0;) {
        if (block->bindings[i]->span == bad->value->span && bad->value->span)
            return block->bindings[i];
    }
    return bad->value;
}

static int is_same_place(const bt_value *a, const bt_value *b)
{
    bt_place p, q;
    bt_span_place(a->type->store, a->span, &p);
    bt_span_place(b->type->store, b->span, &q);
    return p.file && q.file && strcmp(p.file, q.file) == 0 && p.line &&
           p.line == q.line && p.column == q.column && p.width == q.width;
}

/* A binding as the model has it, whose text is at hand: the program of a step names places in it
 * alone. What is of a library is itself. */
static bt_status find_written(const struct search *s, const bt_value *value,
                              const bt_value **out)
{
    *out = value;
    for (uint32_t i = 0; i < s->t->model->nglobal; i++) {
        const bt_func *func = s->t->model->globals[i]->func;
        bt_blocks blocks = { 0 };
        if (func && func->block)
            BT_TRY(bt_block_nested(s->t->arena, func->block, &blocks));
        for (uint32_t k = 0; k < blocks.len; k++) {
            for (uint32_t j = 0; j < blocks.at[k]->nbinding; j++) {
                if (!is_same_place(value, blocks.at[k]->bindings[j]))
                    continue;
                *out = blocks.at[k]->bindings[j];
                return NULL;
            }
        }
    }
    return NULL;
}

/* "%c1 (nn.conv2d)", "a call of add", "the derivative of sqrt". */
static const char *value_words(const struct search *s, const bt_value *value,
                               int is_derivative)
{
    const bt_call *call = bt_as_call(value);
    const bt_global_ref *callee =
        call && call->callee_kind == BT_CALLEE_VALUE ? bt_as_global(call->callee) : NULL;
    const char *op = call && call->op ? call->op->name : NULL;
    bt_text out;
    bt_text_init(&out, s->t->arena);
    bt_text_addf(&out, is_derivative ? "the derivative of " : "");
    if (value->name && op)
        bt_text_addf(&out, "%%%s (%s)", value->name, op);
    else if (value->name)
        bt_text_addf(&out, "%%%s", value->name);
    else if (op)
        bt_text_addf(&out, is_derivative ? "%s" : "a call of %s", op);
    else if (callee)
        bt_text_addf(&out, is_derivative ? "@%s" : "a call of @%s", callee->base.name);
    else
        bt_text_addf(&out, "a value");
    return bt_text_get(&out) ? out.at : "a value";
}

/* What stands in the model at the place of a binding, and its words. */
static bt_status find_words(const struct search *s, const struct bad *bad,
                            const bt_value **at, const char **words)
{
    const uint32_t nforward = forward_len(s, bad->func);
    const bt_value *primal = bad->at >= nforward ? primal_of(bad, nforward) : bad->value;
    const bt_call *call = bt_as_call(bad->value);
    BT_TRY(find_written(s, primal, at));
    const bt_call *written = bt_as_call(*at);
    // where derivatives have functions of their own, they are formulas in place of operators
    const int is_derivative =
        bad->at >= nforward || (call && written && call->op && written->op != call->op &&
                                strcmp(call->op->name, "compute") == 0);
    *words = value_words(s, is_derivative ? *at : bad->value, is_derivative);
    return NULL;
}

static bt_status tell(struct search *s)
{
    const struct bad *bad = s->nan.value ? &s->nan : &s->infinite;
    const long long step = (long long)s->t->info.step + 1;
    bt_ctx *ctx = s->t->ctx;
    const bt_value *at;
    const char *words;
    if (!bad->value)
        return bt_fail(ctx, BT_ERR_RUNTIME,
                       "step %lld makes numbers that are NaN or infinite when it runs on "
                       "the target, and none by the reference",
                       step);
    if (bad->value->name &&
        strncmp(bad->value->name, TRAINING_SQUARES, strlen(TRAINING_SQUARES)) == 0)
        return bt_fail(
            ctx, BT_ERR_RUNTIME,
            "step %lld: the gradients are finite, and their squares are more than "
            "float32 holds: their norm is above 1.8e19",
            step);
    BT_TRY(find_words(s, bad, &at, &words));
    bt_status status = bt_fail_at(
        ctx, BT_ERR_RUNTIME, at->type->store, at->span,
        "step %lld: %s is the first that is %s%s", step, words,
        s->nan.value ? "NaN" : "infinite",
        step == 1                ? "" // nothing has moved yet
        : s->t->options.clip > 0 ? "; a smaller rate may help"
                                 : "; a smaller rate or a bound of the gradients' norm "
                                   "(`clip`) may help");
    if (!s->nan.value || !s->infinite.value || s->infinite.value == s->nan.value)
        return status;
    BT_TRY(find_words(s, &s->infinite, &at, &words));
    return bt_note(ctx, status, at->type->store, at->span, "%s was infinite before",
                   words);
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
