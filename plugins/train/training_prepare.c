/* From a model to its parameters and their values. */
#include "training.h"

#include <string.h>

#include <baton/pass.h>

/* ---- the model and its parameters ---- */

/* The names of the program that is made of it. */
static bt_status check_names(struct bt_training *t, const bt_module *model)
{
    for (uint32_t i = 0; i < model->nglobal; i++) {
        const bt_global *global = model->globals[i];
        if (strncmp(global->name, "train.", 6) == 0)
            return bt_fail_at(t->ctx, BT_ERR_NAME, model->store, global->span,
                              "@%s: names that begin with train. are those of the "
                              "program that a training makes of a model: the model's "
                              "functions and constants have others",
                              global->name);
    }
    return NULL;
}

bt_status training_passes(struct bt_training *t, const bt_module *from,
                          const char *passes, const char *entry, bt_module **out)
{
    const bt_pipeline_options options = { .level = -1, .entry = entry };
    bt_pipeline *pipeline;
    BT_TRY(bt_pipeline_read(t->ctx, passes, &pipeline));
    bt_status status = bt_pipeline_run(t->ctx, pipeline, &options, from, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

void training_quote(bt_text *out, const char *text)
{
    bt_text_addf(out, "\"");
    for (; *text; text++)
        bt_text_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(out, "\"");
}

/* How many of its parameters are data: what it says of itself, else one. */
static bt_status count_inputs(struct bt_training *t, const bt_module *model,
                              const bt_global *entry)
{
    const bt_func *func = entry->kind == BT_GLOBAL_FUNC ? entry->func : NULL;
    const uint32_t nparam = func ? func->block->nparam : 0;
    const bt_dict_entry *said = func ? bt_dict_find(&func->attrs, "inputs") : NULL;
    const int64_t ninput = !said ? 1 : said->kind == BT_DICT_INT ? said->i : 0;
    if (ninput < 1 || ninput > nparam)
        return bt_fail_at(
            t->ctx, BT_ERR_ARGUMENT, model->store, entry->span,
            said ? "@%s: inputs is to be the number of its parameters that are data: "
                   "1 or more, and it has %u parameters"
                 : "@%s takes no data: it has %u parameters",
            entry->name, nparam);
    t->ninput = (uint32_t)ninput;
    return NULL;
}

static bt_status lift(struct bt_training *t, const bt_module *model, bt_module **out)
{
    const bt_global *entry;
    bt_text passes;
    BT_TRY(bt_module_entry(t->ctx, model, t->options.entry, &entry));
    BT_TRY(count_inputs(t, model, entry));
    t->entry = bt_arena_text(t->arena, entry->name, strlen(entry->name));
    bt_text_init(&passes, t->arena);
    bt_text_addf(&passes, "inline, lift-parameters{fixed=[");
    for (uint32_t i = 0; t->options.fixed && t->options.fixed[i]; i++) {
        bt_text_addf(&passes, i ? ", " : "");
        training_quote(&passes, t->options.fixed[i]);
    }
    bt_text_addf(&passes, "]}");
    return t->entry && bt_text_get(&passes)
               ? training_passes(t, model, passes.at, t->entry, out)
               : bt_no_memory();
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

const char *training_param_name(const bt_param *param)
{
    return param->base.name ? param->base.name : "w";
}

static int has_name(const char *const *names, const char *name)
{
    for (uint32_t i = 0; names && names[i]; i++) {
        if (strcmp(names[i], name) == 0)
            return 1;
    }
    return 0;
}

/* Constants that are fixed are no parameters; those that are inputs of the model are here. */
int training_learns(const struct bt_training *t, const char *name)
{
    return (!t->options.learned || has_name(t->options.learned, name)) &&
           !has_name(t->options.fixed, name);
}

static bt_status check_data(struct bt_training *t, const bt_param *const *data)
{
    for (uint32_t i = 0; i < t->ninput; i++) {
        if (has_name(t->options.fixed, training_param_name(data[i])))
            return bt_fail(t->ctx, BT_ERR_NAME,
                           "@%s: %s is data, which is not learned anyway", t->entry,
                           training_param_name(data[i]));
    }
    return NULL;
}

/* A name of `learned` that is none of the parameters. */
static bt_status refuse_learned(struct bt_training *t, const char *name,
                                const char *const *known)
{
    bt_text text;
    bt_text_init(&text, t->arena);
    for (uint32_t i = 0; known[i]; i++)
        bt_text_addf(&text, "%s%s", i ? ", " : "", known[i]);
    if (!bt_text_get(&text))
        return bt_no_memory();
    if (!*name)
        return bt_fail(t->ctx, BT_ERR_NAME,
                       "what is to be learned is named, and a name is empty: the "
                       "parameters of @%s are %s",
                       t->entry, text.at);
    if (strchr(name, ','))
        return bt_fail(
            t->ctx, BT_ERR_NAME,
            "@%s has no parameter %s to learn: each name is one of `learned` by "
            "itself",
            t->entry, name);
    return bt_fail(t->ctx, BT_ERR_NAME, "@%s has no parameter %s to learn: it has %s%s",
                   t->entry, name, text.at, bt_nearest(t->arena, name, known));
}

/* Each name of those that alone are to be learned is one. */
static bt_status check_learned(struct bt_training *t, uint32_t n,
                               const bt_param *const *params)
{
    const char *const *names = t->options.learned;
    const char **known = BT_NEWS(t->arena, const char *, n + 1);
    if (!known)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        known[i] = training_param_name(params[i]);
    for (uint32_t i = 0; names && names[i]; i++) {
        uint32_t k = 0;
        while (k < n && strcmp(known[k], names[i]) != 0)
            k++;
        if (k == n)
            return refuse_learned(t, names[i], known);
        if (has_name(t->options.fixed, names[i]))
            return bt_fail(
                t->ctx, BT_ERR_NAME,
                "%s is to be learned and to stay: it is named in `learned` and in "
                "`fixed`",
                names[i]);
    }
    return NULL;
}

/* Those that are learned come first, then moments in the order of what training gives, then those
 * that stay. */
static void find_places(struct bt_training *t, uint32_t n, const uint32_t *moment_of,
                        const bt_param *const *params)
{
    uint32_t at = 0, fixed_at;
    t->nheld = n;
    for (uint32_t i = 0; i < n; i++)
        t->nfixed += !moment_of[i] && !training_learns(t, training_param_name(params[i]));
    t->nparam = n - t->nmoment - t->nfixed;
    fixed_at = t->nparam + t->nmoment;
    for (uint32_t i = 0; i < n; i++)
        t->places[i] = moment_of[i] ? t->nparam + moment_of[i] - 1
                       : training_learns(t, training_param_name(params[i])) ? at++
                                                                            : fixed_at++;
}

static bt_status make_params(struct bt_training *t, const bt_module *lifted,
                             const uint32_t *moment_of)
{
    const bt_func *func = training_model(lifted);
    const bt_block *entry = bt_module_find(lifted, t->entry)->func->block; // has places
    const uint32_t n = func->block->nparam;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    if (n == t->ninput + t->nmoment && !t->options.only_evaluates)
        return bt_fail_at(
            t->ctx, BT_ERR_UNSUPPORTED, lifted->store, func->span,
            "@%s has nothing to learn: neither constants of float32 with an "
            "axis, nor parameters behind its data",
            t->entry);
    t->params = BT_NEWS(t->arena, bt_training_param, n);
    t->types = BT_NEWS(t->arena, const bt_type *, n);
    t->inputs = BT_NEWS(t->arena, const bt_type *, t->ninput);
    t->places = BT_NEWS(t->arena, uint32_t, n);
    t->is_constant = BT_NEWS(t->arena, uint8_t, n);
    if (!t->is_constant || !t->params || !t->types || !t->inputs || !t->places)
        return bt_no_memory();
    const bt_param *const *params = func->block->params + t->ninput;
    BT_TRY(check_data(t, func->block->params));
    BT_TRY(check_learned(t, n - t->ninput, params));
    find_places(t, n - t->ninput, moment_of, params);
    if (!t->nparam && !t->options.only_evaluates)
        return bt_fail(t->ctx, BT_ERR_NAME, "@%s: no parameter is left to learn",
                       t->entry);
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
        const char *name = training_param_name(func->block->params[i]);
        const uint32_t at = t->places[i - t->ninput];
        t->types[at] = param->type;
        t->is_constant[at] = i >= entry->nparam;
        t->params[at].name = bt_arena_text(t->arena, name, strlen(name));
        if (!t->params[at].name)
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

/* Which of `params` a value belongs to. */
static uint32_t param_of(const struct bt_training *t, uint32_t index)
{
    return index < t->nheld ? index : (index - t->nheld) % t->nparam;
}

/* Parameters by their names, state by that and what the optimizer calls it. */
static bt_status name_value(struct bt_training *t, uint32_t index)
{
    bt_text name;
    bt_text_init(&name, t->arena);
    if (index >= t->nheld)
        bt_text_addf(&name, "optimizer.%s/",
                     t->optimizer.state_names[(index - t->nheld) / t->nparam]);
    bt_text_addf(&name, "%s", t->params[param_of(t, index)].name);
    t->names[index] = bt_text_get(&name);
    return t->names[index] ? NULL : bt_no_memory();
}

static bt_status make_values(struct bt_training *t)
{
    const uint32_t n = t->nparam + t->nmoment;
    const int64_t two = 2;
    t->nvalue = t->nheld + t->nparam * t->optimizer.nstate;
    t->names = BT_NEWS(t->arena, const char *, t->nvalue);
    t->now = BT_NEWS(t->arena, bt_tensor *, t->nvalue);
    t->sums = BT_NEWS(t->arena, bt_tensor *, n);
    t->next_sums = BT_NEWS(t->arena, bt_tensor *, n);
    if (!t->names || !t->now || !t->sums || !t->next_sums)
        return bt_no_memory();
    for (uint32_t i = 0; i < t->nvalue; i++) {
        BT_TRY(name_value(t, i));
        BT_TRY(make_tensor(t, t->types[param_of(t, i)], &t->now[i]));
    }
    for (uint32_t i = 0; i < t->nheld; i++) {
        t->params[i].value = t->now[i];
        if (t->nmicro > 1 && i < n) {
            BT_TRY(make_tensor(t, t->types[i], &t->sums[i]));
            BT_TRY(make_tensor(t, t->types[i], &t->next_sums[i]));
        }
    }
    BT_TRY(bt_tensor_create(t->ctx, BT_FLOAT32, 0, NULL, &t->step));
    BT_TRY(bt_tensor_scalar(t->ctx, BT_FLOAT32, (double)t->options.nstep, &t->nstep));
    BT_TRY(bt_tensor_create(t->ctx, BT_INT64, 0, NULL, &t->run));
    return bt_tensor_create(t->ctx, BT_UINT32, 1, &two, &t->seed);
}

/* ---- what is left of the model ---- */

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
        if (strncmp(name, TRAINING_INITIAL, strlen(TRAINING_INITIAL)) == 0 ||
            (!is_used && strcmp(name, t->entry) == 0))
            bt_module_builder_remove(to, name);
    }
    return bt_module_builder_finish(to, 1, out);
}

/* The model in 16 bits, where it is asked for. */
static bt_status lower_precision(struct bt_training *t, bt_module **module)
{
    const char *dtype = t->options.precision;
    bt_module *lowered;
    bt_text passes;
    if (!dtype || strcmp(dtype, "float32") == 0)
        return NULL;
    if (strcmp(dtype, "bfloat16") != 0 && strcmp(dtype, "float16") != 0)
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "the precision of a training is bfloat16, float16 or float32, not "
                       "%s",
                       dtype);
    bt_text_init(&passes, t->arena);
    bt_text_addf(&passes, "mixed-precision{dtype=");
    training_quote(&passes, dtype);
    bt_text_addf(&passes, "}");
    if (!bt_text_get(&passes))
        return bt_no_memory();
    BT_TRY(training_passes(t, *module, passes.at, TRAINING_MODEL, &lowered));
    bt_module_unref(*module);
    *module = lowered;
    return NULL;
}

/* Parameters, values and the module of what was lifted. */
static bt_status prepare_lifted(struct bt_training *t, bt_module *lifted)
{
    bt_module *both;
    uint32_t *moment_of;
    BT_TRY(training_mode(t, lifted, &both, &moment_of));
    bt_status status = lower_precision(t, &both);
    if (!status)
        status = make_params(t, lifted, moment_of);
    if (!status)
        status = training_results(t, lifted);
    if (!status)
        status = leave_out(t, both, &t->model);
    if (!status)
        status = make_values(t);
    if (!status)
        status = training_initial_choose(t, lifted);
    bt_module_unref(both);
    return status;
}

bt_status training_prepare(struct bt_training *t, const bt_module *model)
{
    bt_module *lifted;
    BT_TRY(check_names(t, model));
    if (t->options.folder)
        BT_TRY(training_choose(t, model));
    BT_TRY(lift(t, model, &lifted));
    bt_status status = prepare_lifted(t, lifted);
    bt_module_unref(lifted);
    return status || !t->options.folder ? status : training_programs_open(t);
}
