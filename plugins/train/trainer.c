/* A trainer: a training is opened, takes steps, and tells how good it is. */
#include "training.h"

#include <math.h>
#include <string.h>

/* Of a loss that is tiny the scale would have no end. */
static const double MAX_SCALE = 0x1p40;

/* ---- opening ---- */

static void training_close(bt_training *t)
{
    if (!t)
        return;
    bt_program *const programs[] = { t->stepping, t->adding, t->evaluating, t->ordering };
    for (uint32_t i = 0; i < BT_COUNT(programs); i++)
        bt_program_close(programs[i]);
    for (uint32_t i = 0; t->now && i < t->nvalue; i++)
        bt_tensor_unref(t->now[i]);
    for (uint32_t i = 0; t->sums && t->next_sums && i < t->nparam + t->nmoment; i++) {
        bt_tensor_unref(t->sums[i]);
        bt_tensor_unref(t->next_sums[i]);
    }
    bt_tensor_unref(t->step);
    bt_tensor_unref(t->nstep);
    bt_tensor_unref(t->seed);
    bt_tensor_unref(t->run);
    bt_tensor_unref(t->scale);
    bt_module_unref(t->model);
    training_initial_forget(t);
    choice_forget(&t->loss);
    choice_forget(&t->optimizer);
    choice_forget(&t->schedule);
    bt_arena_destroy(t->arena);
}

/* What has no part in an evaluation. */
static void forget_steps(bt_training_options *options)
{
    options->optimizers = NULL;
    options->schedule = NULL;
    options->learned = NULL;
    options->clip = options->loss_scale = 0;
    options->scale_steps = 0;
    options->nmicro = 1;
}

static bt_status training_open(bt_ctx *ctx, const bt_module *model,
                               const bt_training_options *options, size_t nbytes,
                               bt_training **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_training *t = arena ? BT_NEW(arena, bt_training) : NULL;
    if (!t) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *t = (bt_training){ .ctx = ctx, .arena = arena };
    memcpy(&t->options, options,
           nbytes < sizeof(t->options) ? nbytes : sizeof(t->options));
    if (t->options.only_evaluates)
        forget_steps(&t->options);
    t->nmicro = t->options.nmicro ? t->options.nmicro : 1;
    bt_status status = training_options_check(t);
    t->options.loss_scale = t->options.loss_scale > 0 ? t->options.loss_scale : 1;
    if (!status && t->options.scale_steps > 0)
        status = bt_tensor_scalar(ctx, BT_FLOAT32, t->options.loss_scale, &t->scale);
    if (!status)
        status = training_prepare(t, model);
    if (status)
        training_close(t);
    else
        *out = t;
    return status;
}

static const bt_training_info *training_info(bt_training *t)
{
    t->info.nparam = t->nparam;
    t->info.nmoment = t->nmoment;
    t->info.nfixed = t->nfixed;
    t->info.ninput = t->ninput;
    t->info.params = t->params;
    t->info.inputs = t->inputs;
    return &t->info;
}

/* ---- what is given ---- */

/* A class that there is for each sample of a batch. A tensor of another type is refused where the
 * program is given it. */
static bt_status check_classes(struct bt_training *t, const bt_tensor *classes,
                               int64_t first)
{
    for (int64_t i = 0; classes->dtype == BT_INT64 && i < classes->nelem; i++) {
        const int64_t class_ = bt_tensor_get_int(classes, i);
        if (class_ < 0 || class_ >= t->info.nclass)
            return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                           "the label of sample %lld of a batch is %lld, and the model "
                           "gives %lld classes, from 0 on",
                           (long long)(first + i), (long long)class_,
                           (long long)t->info.nclass);
    }
    return NULL;
}

static bt_status check_batches(struct bt_training *t, bt_tensor *const *batches,
                               uint32_t n)
{
    if (!t->path)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "a training without a folder takes no steps, and evaluates "
                       "nothing: what it would run is not compiled");
    for (uint32_t i = 0; i < n * (t->ninput + 1); i++) {
        if (!batches[i])
            return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                           "batches[%u] is NULL: each batch is %u tensors", i,
                           t->ninput + 1);
    }
    for (uint32_t k = 0; t->info.nclass && k < n; k++)
        BT_TRY(check_classes(t, batches[k * (t->ninput + 1) + t->ninput],
                             k * t->info.batch));
    return NULL;
}

/* ---- runs ---- */

/* Arguments of a run, in order. */
struct args {
    uint32_t n;
    bt_tensor **at;
};

static int start_args(struct bt_training *t, struct args *args)
{
    *args = (struct args){ .at = BT_NEWS(bt_ctx_scratch(t->ctx), bt_tensor *,
                                         t->nvalue + t->nparam + t->nmoment + t->ninput +
                                             6) };
    return args->at != NULL;
}

static void add_args(struct args *args, uint32_t n, bt_tensor *const *tensors)
{
    for (uint32_t i = 0; i < n; i++)
        args->at[args->n++] = tensors[i];
}

/* The batch's inputs, what the model should give. */
static void add_batch(const struct bt_training *t, struct args *args,
                      bt_tensor *const *batch)
{
    add_args(args, t->ninput + 1, batch);
}

/* The scale of the loss; what the key of a batch is made of: no two batches of a training have the
 * same. */
static void add_seed(struct bt_training *t, struct args *args, uint32_t micro)
{
    if (t->scale)
        add_args(args, 1, &t->scale);
    if (!t->has_key)
        return;
    bt_tensor_set_int(t->run, 0, t->info.step * t->nmicro + micro);
    add_args(args, 1, (bt_tensor *[]){ training_initial_seed(t) });
    add_args(args, 1, &t->run);
}

static bt_status run_program(bt_program *program, const struct args *args, uint32_t nout,
                             bt_tensor *const *outs)
{
    for (uint32_t i = 0; i < args->n; i++)
        BT_TRY(bt_program_set_at(program, i, &args->at[i]->base));
    for (uint32_t i = 0; i < nout; i++)
        BT_TRY(bt_program_set_output(program, i, outs[i]));
    return bt_program_run(program);
}

static double number_at(const bt_program *program, uint32_t output)
{
    const bt_tensor *t = bt_object_as_tensor(bt_program_get(program, output));
    return t ? bt_tensor_get(t, 0) : NAN;
}

static void add_result(struct bt_training *t, const bt_program *program, uint32_t output,
                       bt_training_result *sum)
{
    const double scale = t->scale ? bt_tensor_get(t->scale, 0) : t->options.loss_scale;
    sum->loss += number_at(program, output) / scale / t->nmicro;
    sum->nright += t->has_classes ? (int64_t)number_at(program, output + 1) : 0;
}

static int are_finite(uint32_t n, bt_tensor *const *tensors)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!training_is_finite(tensors[i]))
            return 0;
    }
    return 1;
}

/* Whether what is not finite may be so by the scale of the loss alone, which is less then. */
static int lower_scale(struct bt_training *t)
{
    const double scale = t->scale ? bt_tensor_get(t->scale, 0) : 1;
    if (scale <= 1)
        return 0;
    bt_tensor_set(t->scale, 0, scale < 2 ? 1 : scale / 2);
    t->ngood = 0;
    return 1;
}

static void raise_scale(struct bt_training *t)
{
    const double scale = t->scale ? bt_tensor_get(t->scale, 0) : MAX_SCALE;
    if (scale >= MAX_SCALE || ++t->ngood < t->options.scale_steps)
        return;
    bt_tensor_set(t->scale, 0, scale * 2);
    t->ngood = 0;
}

/* All batches but the last: their gradients into sums, from moments to moments. */
static bt_status add_gradients(struct bt_training *t, bt_tensor *const *batches,
                               bt_training_result *sum, int *is_fine)
{
    const uint32_t n = t->nparam + t->nmoment;
    for (uint32_t i = 0; t->nmicro > 1 && i < n; i++) {
        const size_t nbytes = bt_tensor_nbytes(t->sums[i]);
        if (i < t->nparam)
            memset(t->sums[i]->data, 0, nbytes);
        else
            memcpy(t->sums[i]->data, t->now[i]->data, nbytes);
    }
    for (uint32_t k = 0; k + 1 < t->nmicro; k++) {
        struct args args;
        if (!start_args(t, &args))
            return bt_no_memory();
        add_args(&args, t->nparam, t->now);
        add_args(&args, n, t->sums);
        add_args(&args, t->nfixed, t->now + n);
        add_batch(t, &args, batches + k * (t->ninput + 1));
        add_seed(t, &args, k);
        BT_TRY(run_program(t->adding, &args, n, t->next_sums));
        *is_fine = isfinite(number_at(t->adding, n)) && are_finite(n, t->next_sums);
        if (!*is_fine)
            return lower_scale(t) ? NULL
                                  : training_first_bad(t, "train.add", args.n, args.at);
        add_result(t, t->adding, n, sum);
        bt_tensor **kept = t->sums;
        t->sums = t->next_sums;
        t->next_sums = kept;
    }
    return NULL;
}

/* One step; *is_fine: 0, it is to be taken again, and has changed nothing but the scale. */
static bt_status try_step(struct bt_training *t, bt_tensor *const *batches,
                          bt_training_result *sum, int *is_fine)
{
    struct args args, outs;
    *sum = (bt_training_result){ 0 };
    *is_fine = 1;
    BT_TRY(add_gradients(t, batches, sum, is_fine));
    if (!*is_fine)
        return NULL;
    if (!start_args(t, &args) || !start_args(t, &outs))
        return bt_no_memory();
    bt_tensor_set(t->step, 0, (double)(t->info.step + 1));
    add_args(&args, t->nvalue, t->now);
    add_args(&args, 1, &t->step);
    add_args(&args, 1, &t->nstep);
    if (t->nmicro > 1)
        add_args(&args, t->nparam + t->nmoment, t->sums);
    add_batch(t, &args, batches + (t->nmicro - 1) * (t->ninput + 1));
    add_seed(t, &args, t->nmicro - 1);
    add_args(&outs, t->nparam + t->nmoment, t->now); // in place
    add_args(&outs, t->nvalue - t->nheld, t->now + t->nheld);
    BT_TRY(run_program(t->stepping, &args, outs.n, outs.at));
    *is_fine = number_at(t->stepping, outs.n) == 1;
    if (!*is_fine)
        return lower_scale(t) ? NULL
                              : training_first_bad(t, "train.step", args.n, args.at);
    add_result(t, t->stepping, outs.n + 1, sum);
    return NULL;
}

static bt_status training_step(bt_training *t, bt_tensor *const *batches,
                               bt_training_result *out)
{
    bt_training_result sum;
    int is_fine = 0;
    BT_TRY(check_batches(t, batches, t->nmicro));
    if (!t->stepping)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "a training that only evaluates takes no steps");
    while (!is_fine) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(t->ctx));
        bt_status status = try_step(t, batches, &sum, &is_fine);
        bt_arena_release(bt_ctx_scratch(t->ctx), mark);
        BT_TRY(status);
    }
    raise_scale(t);
    t->info.step++;
    t->ntaken++;
    if (!t->has_classes)
        sum.nright = -1;
    *out = sum;
    return NULL;
}

/* Nothing was drawn: what the model lacks, a file has. */
static bt_status check_values(const struct bt_training *t)
{
    for (uint32_t i = 0; t->options.only_evaluates && !t->is_loaded && i < t->nheld;
         i++) {
        if (!t->is_constant[i])
            return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                           "parameter %s has no value to evaluate @%s by: a file of what "
                           "was learned brings it (load with `params`)",
                           t->params[i].name, t->entry);
    }
    return NULL;
}

static bt_status training_evaluate(bt_training *t, bt_tensor *const *batch,
                                   bt_training_result *out)
{
    struct args args;
    const void *mark = bt_arena_mark(bt_ctx_scratch(t->ctx));
    BT_TRY(check_batches(t, batch, 1));
    BT_TRY(check_values(t));
    if (!start_args(t, &args))
        return bt_no_memory();
    add_args(&args, t->nheld, t->now);
    add_batch(t, &args, batch);
    bt_status status = run_program(t->evaluating, &args, 0, NULL);
    bt_arena_release(bt_ctx_scratch(t->ctx), mark);
    BT_TRY(status);
    *out = (bt_training_result){
        .loss = number_at(t->evaluating, 0),
        .nright = t->has_classes ? (int64_t)number_at(t->evaluating, 1) : -1,
        .results = bt_program_get(t->evaluating, 2),
    };
    return NULL;
}

static bt_status training_check(bt_ctx *ctx, const bt_module *module, const char *kind,
                                const char *name)
{
    struct choice choice = { 0 };
    if (!choice_kind(kind))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "\"%s\" is no kind of what a training takes: there are loss, "
                       "optimizer, schedule and initializer",
                       kind);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        arena ? choice_find(ctx, arena, module, kind, name, &choice) : bt_no_memory();
    choice_forget(&choice);
    bt_arena_destroy(arena);
    return status;
}

static const bt_trainer trainers[] = {
    {
        .name = "train",
        .doc = "Steps of an optimizer on a loss's gradient, compiled as one program.",
        .open = training_open,
        .close = training_close,
        .info = training_info,
        .step = training_step,
        .evaluate = training_evaluate,
        .save = training_checkpoint_save,
        .load = training_checkpoint_load,
        .note = training_checkpoint_note,
        .freeze = training_freeze,
        .order = training_initial_order,
        .check = training_check,
    },
    { 0 },
};
const bt_table bt_plugins_train_trainer[] = { BT_TRAINERS(trainers), { 0 } };
