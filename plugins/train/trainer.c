/* A trainer: a training is opened, takes steps, and tells how good it is. */
#include "training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <baton/pass.h>

/* ---- the model and its parameters ---- */

static bt_status run_passes(struct bt_training *t, const bt_module *from,
                            const char *passes, const char *entry, bt_module **out)
{
    const bt_pipeline_options options = { .level = -1, .entry = entry };
    bt_pipeline *pipeline;
    BT_TRY(bt_pipeline_read(t->ctx, passes, &pipeline));
    bt_status status = bt_pipeline_run(t->ctx, pipeline, &options, from, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

static void add_quoted(bt_text *out, const char *text)
{
    bt_text_addf(out, "\"");
    for (; *text; text++)
        bt_text_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(out, "\"");
}

static bt_status lift(struct bt_training *t, const bt_module *model, bt_module **out)
{
    const bt_global *entry;
    bt_text passes;
    BT_TRY(bt_module_entry(t->ctx, model, t->options.entry, &entry));
    t->entry = bt_arena_text(t->arena, entry->name, strlen(entry->name));
    bt_text_init(&passes, t->arena);
    bt_text_addf(&passes, "inline, lift-parameters{fixed=[");
    for (uint32_t i = 0; t->options.fixed && t->options.fixed[i]; i++) {
        bt_text_addf(&passes, i ? ", " : "");
        add_quoted(&passes, t->options.fixed[i]);
    }
    bt_text_addf(&passes, "]}");
    return t->entry && bt_text_get(&passes)
               ? run_passes(t, model, passes.at, t->entry, out)
               : bt_no_memory();
}

/* How many of the entry's parameters are data: what it says of itself, else one. */
static uint32_t count_inputs(const bt_func *func)
{
    const bt_dict_entry *row = bt_dict_find(&func->attrs, "inputs");
    return row && row->kind == BT_DICT_INT && row->i > 0 && row->i <= func->block->nparam
               ? (uint32_t)row->i
               : func->block->nparam > 0;
}

static bt_status check_type(struct bt_training *t, const bt_module *model,
                            const bt_value *param, int is_learned)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_text type;
    if (bt_tensor_static(param->type, &rank, dims) &&
        (!is_learned || bt_tensor_dtype(param->type) == BT_FLOAT32) &&
        (is_learned || (rank && dims[0] > 0)))
        return NULL;
    bt_text_init(&type, t->arena);
    bt_print_type(t->ctx, param->type, &type);
    return bt_fail_at(
        t->ctx, BT_ERR_UNSUPPORTED, model->store, param->span,
        is_learned ? "%%%s: %s cannot be learned: parameters are tensors of float32 "
                     "of known dims (attribute inputs=N of @%s says that its first "
                     "N parameters are data)"
                   : "%%%s: %s is no batch: data are tensors of known dims, the "
                     "first of which counts samples (input of @%s)",
        param->name ? param->name : "_", bt_text_get(&type) ? type.at : "?", t->entry);
}

static bt_status make_params(struct bt_training *t, const bt_module *lifted)
{
    const bt_func *func = bt_module_find(lifted, "train.model")->func;
    const bt_block *entry = bt_module_find(lifted, t->entry)->func->block; // has places
    const uint32_t n = func->block->nparam;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    t->ninput = count_inputs(func);
    t->nparam = n - t->ninput;
    if (!t->nparam)
        return bt_fail_at(
            t->ctx, BT_ERR_UNSUPPORTED, lifted->store, func->span,
            "@%s has nothing to learn: neither constants of float32 with an "
            "axis, nor parameters behind its data",
            t->entry);
    t->params = BT_NEWS(t->arena, bt_training_param, t->nparam);
    t->types = BT_NEWS(t->arena, const bt_type *, t->nparam);
    t->inputs = BT_NEWS(t->arena, const bt_type *, t->ninput);
    if (!t->params || !t->types || !t->inputs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *param = &func->block->params[i]->base;
        if (i >= t->ninput || t->options.folder)
            BT_TRY(check_type(t, lifted,
                              i < entry->nparam ? &entry->params[i]->base : param,
                              i >= t->ninput));
        if (i < t->ninput) {
            t->inputs[i] = param->type;
            continue;
        }
        const char *name = param->name ? param->name : "w";
        t->types[i - t->ninput] = param->type;
        t->params[i - t->ninput].name = bt_arena_text(t->arena, name, strlen(name));
        if (!t->params[i - t->ninput].name)
            return bt_no_memory();
    }
    if (bt_tensor_static(t->inputs[0], &rank, dims) && rank)
        t->info.batch = dims[0];
    return NULL;
}

/* ---- values ---- */

static bt_status make_tensor(struct bt_training *t, const bt_type *type, bt_tensor **out)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_tensor_static(type, &rank, dims); // it is, see check_type
    return bt_tensor_create(t->ctx, BT_FLOAT32, rank, dims, out);
}

/* Parameters by their names, state by that and what the optimizer calls it. */
static bt_status name_value(struct bt_training *t, uint32_t index)
{
    const uint32_t kind = index / t->nparam;
    bt_text name;
    bt_text_init(&name, t->arena);
    if (kind)
        bt_text_addf(&name, "optimizer.%s/", t->optimizer.state_names[kind - 1]);
    bt_text_addf(&name, "%s", t->params[index % t->nparam].name);
    t->names[index] = bt_text_get(&name);
    return t->names[index] ? NULL : bt_no_memory();
}

/* A loss of classes takes one result for each class and sample. */
static bt_status count_classes(struct bt_training *t, const bt_module *lifted)
{
    const bt_type *result = bt_module_find(lifted, "train.model")->func->result;
    const bt_list_type *tuple = bt_as_tuple_type(result);
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    bt_text type;
    if (!t->has_classes)
        return NULL;
    result = tuple && tuple->n ? tuple->at[0] : result;
    if (bt_tensor_static(result, &rank, dims) && rank == 2 && dims[0] == t->info.batch) {
        t->info.nclass = dims[1];
        return NULL;
    }
    bt_text_init(&type, t->arena);
    bt_print_type(t->ctx, result, &type);
    return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                   "@%s takes a number for each of %lld samples and each class, and @%s "
                   "gives %s",
                   t->loss.global->name, (long long)t->info.batch, t->entry,
                   bt_text_get(&type) ? type.at : "?");
}

static bt_status make_values(struct bt_training *t, const bt_module *lifted)
{
    bt_text name;
    t->nvalue = t->nparam * (1 + t->optimizer.nstate);
    t->names = BT_NEWS(t->arena, const char *, t->nvalue);
    t->now = BT_NEWS(t->arena, bt_tensor *, t->nvalue);
    t->sums = BT_NEWS(t->arena, bt_tensor *, t->nparam);
    t->next_sums = BT_NEWS(t->arena, bt_tensor *, t->nparam);
    if (!t->names || !t->now || !t->sums || !t->next_sums)
        return bt_no_memory();
    for (uint32_t i = 0; i < t->nvalue; i++) {
        BT_TRY(name_value(t, i));
        BT_TRY(make_tensor(t, t->types[i % t->nparam], &t->now[i]));
    }
    for (uint32_t i = 0; i < t->nparam; i++) {
        bt_text_init(&name, t->arena);
        bt_text_addf(&name, "initial.%s", t->params[i].name);
        if (!bt_text_get(&name))
            return bt_no_memory();
        const bt_global *initial = bt_module_find(lifted, name.at);
        bt_tensor *dense;
        if (!initial) {
            initial_value(t, i, t->now[i]);
        } else {
            BT_TRY(bt_tensor_dense(t->ctx, bt_const_tensor(initial->value), &dense));
            memcpy(t->now[i]->data, dense->data, bt_tensor_nbytes(dense));
            bt_tensor_unref(dense);
        }
        t->params[i].value = t->now[i];
        if (t->nmicro > 1) {
            BT_TRY(make_tensor(t, t->types[i], &t->sums[i]));
            BT_TRY(make_tensor(t, t->types[i], &t->next_sums[i]));
        }
    }
    const int64_t two = 2;
    BT_TRY(bt_tensor_create(t->ctx, BT_FLOAT32, 0, NULL, &t->step));
    BT_TRY(bt_tensor_scalar(t->ctx, BT_FLOAT32, (double)t->options.nstep, &t->nstep));
    return bt_tensor_create(t->ctx, BT_UINT32, 1, &two, &t->key);
}

/* ---- programs ---- */

static bt_status open_entry(struct bt_training *t, const char *entry, bt_program **out)
{
    const bt_program_options options = { .entry = entry,
                                         .target = t->options.target ? t->options.target
                                                                     : "cpu" };
    return bt_program_open(t->ctx, t->path, &options, out);
}

static bt_status write_text(struct bt_training *t)
{
    bt_text path, text, plain;
    bt_text_init(&path, t->arena);
    bt_text_addf(&path, "%s/step.baton", t->options.folder);
    bt_text_init(&text, t->arena);
    bt_text_init(&plain, t->arena);
    BT_TRY(step_text(t, 1, &text));
    BT_TRY(step_text(t, 0, &plain)); // a model that moved is the same
    bt_digest(plain.at, plain.len, t->digest);
    t->path = bt_text_get(&path);
    return t->path ? bt_file_write(t->ctx, t->path, text.at, text.len) : bt_no_memory();
}

static bt_status open_programs(struct bt_training *t)
{
    BT_TRY(write_text(t));
    BT_TRY(open_entry(t, "step", &t->stepping));
    if (t->nmicro > 1)
        BT_TRY(open_entry(t, "add", &t->adding));
    return open_entry(t, "evaluate", &t->evaluating);
}

/* ---- what is asked for ---- */

/* A loss of classes takes these as integers. */
static bt_status check_target(struct bt_training *t)
{
    const bt_type *type = t->loss.global->func->block->params[1]->base.type;
    const int wants_classes = bt_tensor_dtype(type) == BT_INT64;
    t->has_classes = wants_classes;
    if (wants_classes == (t->options.target_dtype == BT_INT64))
        return NULL;
    return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                   wants_classes
                       ? "@%s takes the class of each sample, an integer, and "
                         "what is given are not integers"
                       : "@%s takes floats that the model should give, and what "
                         "is given are integers",
                   t->loss.global->name);
}

static bt_status choose(struct bt_training *t, const bt_module *model)
{
    const bt_training_options *o = &t->options;
    BT_TRY(choice_make(t->ctx, t->arena, model, "loss",
                       o->loss ? o->loss : "cross_entropy", &t->loss));
    BT_TRY(choice_make(t->ctx, t->arena, model, "optimizer",
                       o->optimizer ? o->optimizer : "sgd", &t->optimizer));
    BT_TRY(choice_make(t->ctx, t->arena, model, "schedule",
                       o->schedule ? o->schedule : "constant", &t->schedule));
    return check_target(t);
}

/* Whether a global other than the entry mentions it. */
static bt_status is_mentioned(struct bt_training *t, const bt_module *module, int *out)
{
    const bt_callgraph *graph;
    *out = 0;
    BT_TRY(bt_callgraph_create(t->ctx, module, t->arena, &graph));
    for (uint32_t i = 0; i < module->nglobal; i++) {
        for (uint32_t k = graph->edge_start[i]; k < graph->edge_start[i + 1]; k++)
            *out |= strcmp(module->globals[i]->name, t->entry) != 0 &&
                    strcmp(module->globals[graph->edges[k]]->name, t->entry) == 0;
    }
    return NULL;
}

/* Without values that parameters begin with, and what @train.model stands for. */
static bt_status leave_out(struct bt_training *t, const bt_module *lifted,
                           bt_module **out)
{
    bt_module_builder *to;
    int is_used;
    BT_TRY(is_mentioned(t, lifted, &is_used));
    BT_TRY(bt_module_builder_create(t->ctx, lifted->store, lifted, &to));
    for (uint32_t i = 0; i < lifted->nglobal; i++) {
        const char *name = lifted->globals[i]->name;
        if (strncmp(name, "initial.", 8) == 0 ||
            (!is_used && strcmp(name, t->entry) == 0))
            bt_module_builder_remove(to, name);
    }
    return bt_module_builder_finish(to, 1, out);
}

static bt_status prepare(struct bt_training *t, const bt_module *model)
{
    bt_module *lifted;
    if (t->options.folder)
        BT_TRY(choose(t, model));
    BT_TRY(lift(t, model, &lifted));
    bt_status status = make_params(t, lifted);
    if (!status)
        status = count_classes(t, lifted);
    if (!status)
        status = leave_out(t, lifted, &t->model);
    if (!status)
        status = make_values(t, lifted);
    bt_module_unref(lifted);
    return status || !t->options.folder ? status : open_programs(t);
}

static void training_close(bt_training *t)
{
    if (!t)
        return;
    bt_program *const programs[] = { t->stepping, t->adding, t->evaluating };
    for (uint32_t i = 0; i < BT_COUNT(programs); i++)
        bt_program_close(programs[i]);
    for (uint32_t i = 0; t->now && i < t->nvalue; i++)
        bt_tensor_unref(t->now[i]);
    for (uint32_t i = 0; t->sums && t->next_sums && i < t->nparam; i++) {
        bt_tensor_unref(t->sums[i]);
        bt_tensor_unref(t->next_sums[i]);
    }
    bt_tensor_unref(t->step);
    bt_tensor_unref(t->nstep);
    bt_tensor_unref(t->key);
    bt_module_unref(t->model);
    choice_forget(&t->loss);
    choice_forget(&t->optimizer);
    choice_forget(&t->schedule);
    bt_arena_destroy(t->arena);
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
    t->nmicro = t->options.nmicro ? t->options.nmicro : 1;
    bt_status status = prepare(t, model);
    if (status)
        training_close(t);
    else
        *out = t;
    return status;
}

static const bt_training_info *training_info(bt_training *t)
{
    t->info.nparam = t->nparam;
    t->info.ninput = t->ninput;
    t->info.params = t->params;
    t->info.inputs = t->inputs;
    return &t->info;
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
                                         t->nvalue + t->nparam + t->ninput + 4) };
    return args->at != NULL;
}

static void add_args(struct args *args, uint32_t n, bt_tensor *const *tensors)
{
    for (uint32_t i = 0; i < n; i++)
        args->at[args->n++] = tensors[i];
}

/* The batch's inputs, what the model should give, and the key of what is random in it. */
static void add_batch(struct bt_training *t, struct args *args, bt_tensor *const *batch,
                      uint32_t micro)
{
    uint32_t *key = t->key->data;
    const uint64_t run = (uint64_t)t->info.step * t->nmicro + micro;
    key[0] = (uint32_t)(t->options.seed ^ t->options.seed >> 32);
    key[1] = (uint32_t)run;
    add_args(args, t->ninput + 1, batch);
    add_args(args, 1, &t->key);
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
    sum->loss += number_at(program, output) / t->nmicro;
    sum->nright += t->has_classes ? (int64_t)number_at(program, output + 1) : 0;
}

static int are_finite(uint32_t n, bt_tensor *const *tensors)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_all_finite(tensors[i]))
            return 0;
    }
    return 1;
}

/* All batches but the last: their gradients into sums. */
static bt_status add_gradients(struct bt_training *t, bt_tensor *const *batches,
                               bt_training_result *sum)
{
    for (uint32_t i = 0; t->nmicro > 1 && i < t->nparam; i++)
        memset(t->sums[i]->data, 0, bt_tensor_nbytes(t->sums[i]));
    for (uint32_t k = 0; k + 1 < t->nmicro; k++) {
        struct args args;
        if (!start_args(t, &args))
            return bt_no_memory();
        add_args(&args, t->nparam, t->now);
        add_args(&args, t->nparam, t->sums);
        add_batch(t, &args, batches + k * (t->ninput + 1), k);
        BT_TRY(run_program(t->adding, &args, t->nparam, t->next_sums));
        if (!isfinite(number_at(t->adding, t->nparam)) ||
            !are_finite(t->nparam, t->next_sums))
            return first_bad(t, "add", args.n, args.at);
        add_result(t, t->adding, t->nparam, sum);
        bt_tensor **kept = t->sums;
        t->sums = t->next_sums;
        t->next_sums = kept;
    }
    return NULL;
}

static bt_status training_step(bt_training *t, bt_tensor *const *batches,
                               bt_training_result *out)
{
    bt_training_result sum = { 0 };
    struct args args;
    const void *mark = bt_arena_mark(bt_ctx_scratch(t->ctx));
    BT_TRY(add_gradients(t, batches, &sum));
    if (!start_args(t, &args))
        return bt_no_memory();
    bt_tensor_set(t->step, 0, (double)(t->info.step + 1));
    add_args(&args, t->nvalue, t->now);
    add_args(&args, 1, &t->step);
    add_args(&args, 1, &t->nstep);
    if (t->nmicro > 1)
        add_args(&args, t->nparam, t->sums);
    add_batch(t, &args, batches + (t->nmicro - 1) * (t->ninput + 1), t->nmicro - 1);
    BT_TRY(run_program(t->stepping, &args, t->nvalue, t->now)); // in place
    if (number_at(t->stepping, t->nvalue) != 1)
        return first_bad(t, "step", args.n, args.at);
    add_result(t, t->stepping, t->nvalue + 1, &sum);
    t->info.step++;
    bt_arena_release(bt_ctx_scratch(t->ctx), mark);
    if (!t->has_classes)
        sum.nright = -1;
    *out = sum;
    return NULL;
}

static bt_status training_evaluate(bt_training *t, bt_tensor *const *batch,
                                   bt_training_result *out)
{
    struct args args;
    const void *mark = bt_arena_mark(bt_ctx_scratch(t->ctx));
    if (!start_args(t, &args))
        return bt_no_memory();
    add_args(&args, t->nparam, t->now);
    add_batch(t, &args, batch, 0);
    BT_TRY(run_program(t->evaluating, &args, 0, NULL));
    bt_arena_release(bt_ctx_scratch(t->ctx), mark);
    *out = (bt_training_result){
        .loss = number_at(t->evaluating, 0),
        .nright = t->has_classes ? (int64_t)number_at(t->evaluating, 1) : -1,
        .results = bt_program_get(t->evaluating, 2),
    };
    return NULL;
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
        .save = checkpoint_save,
        .load = checkpoint_load,
        .note = checkpoint_note,
        .freeze = freeze_model,
        .order = initial_order,
    },
    { 0 },
};
const bt_table bt_plugins_train_trainer[] = { BT_TRAINERS(trainers), { 0 } };
