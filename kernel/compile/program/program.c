/* A program for applications: a model or an artifact, loaded into an executor. */
#include "compile/program/profile.h"

#include <string.h>

#include <baton/artifact.h>

#include "base/ctx.h"
#include "compile/lower/lower.h"
#include "ir/store.h"
#include "ir/walk.h"
#include "pass/targets.h"

/* Fields of inputs that are listed: a short type may stand for a great many. */
enum { MAX_LISTED = 4096 };
enum { MAX_ROUNDS = 64 }; /* of looks at the inputs: sizes may chase each other */

bt_ctx *bt_open(void)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    return ctx;
}

/* ---- ports ---- */

static bt_status print_type(bt_program *program, const bt_type *type, const char **out)
{
    bt_text text;
    bt_text_init(&text, program->arena);
    bt_print_type(program->ctx, type, &text);
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* Of the values of a type, as far as it tells. */
static uint32_t object_kind(const bt_type *type)
{
    switch (type->kind) {
    case BT_TYPE_TENSOR: return BT_OBJECT_TENSOR;
    case BT_TYPE_TUPLE: return BT_OBJECT_TUPLE;
    case BT_TYPE_FUNC: return BT_OBJECT_CLOSURE;
    case BT_TYPE_REF: return BT_OBJECT_REF;
    case BT_TYPE_ADT:
    case BT_TYPE_APPLY: return BT_OBJECT_ADT;
    default: return BT_OBJECT_TENSOR; // a type parameter may stand for one
    }
}

/* The least value of a dim variable that is as large. */
static int64_t round_up(const bt_type *var, int64_t value)
{
    const int64_t step = ((const bt_var_type *)(const void *)var)->param.step;
    const int64_t rest = step > 1 ? value % step : 0;
    return rest && value <= INT64_MAX - step ? value + (step - rest) : value;
}

/* By the values so far of the entry's dims: where it is a sum of them and less than 1, one
 * becomes as large as makes it 1. 1 also where it cannot be told. */
static bt_status find_size(bt_program *program, const bt_type *dim, int64_t *out)
{
    const bt_func *func = program->entry->func;
    bt_dim_code code;
    bt_dim_sum all;
    int64_t size, more;
    *out = 1;
    if (dim->has & ~(uint32_t)BT_HAS_VAR)
        return NULL;
    bt_status status =
        bt_dim_compile(program->ctx, program->arena, dim, func->nvar, func->vars, &code);
    if (status || !bt_dim_eval(&code, program->least, &size))
        return status && status->code == BT_ERR_MEMORY ? status : NULL;
    *out = size < 1 ? 1 : size;
    bt_dim_linear(dim, &all);
    for (uint32_t i = 0; size < 1 && i < all.n * func->nvar; i++) {
        const bt_term *term = &all.terms[i / func->nvar];
        int64_t *least = &program->least[i % func->nvar];
        if (term->atom == func->vars[i % func->nvar] && term->coefficient > 0 &&
            size > INT64_MIN / 2 &&
            bt_add_int64(*least, 1 - size / term->coefficient, &more)) {
            *least = round_up(term->atom, more);
            size = program->has_raised = 1;
        }
    }
    return NULL;
}

static bt_status make_port(bt_program *program, const char *name, const bt_type *type,
                           bt_port *out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    *out = (bt_port){ .name = name,
                      .kind = object_kind(type),
                      .dtype = bt_tensor_dtype(type),
                      .rank = shape ? (int32_t)shape->n : -1 };
    BT_TRY(print_type(program, type, &out->type));
    if (!shape)
        return NULL;
    int64_t *dims = BT_NEWS(program->arena, int64_t, shape->n),
            *sizes = BT_NEWS(program->arena, int64_t, shape->n);
    if (!dims || !sizes)
        return bt_no_memory();
    for (uint32_t i = 0; i < shape->n; i++) {
        BT_TRY(find_size(program, shape->dims[i], &sizes[i]));
        if (bt_dim_is_const(shape->dims[i], &dims[i]))
            sizes[i] = dims[i];
        else
            dims[i] = -1;
    }
    out->dims = dims;
    out->sizes = sizes;
    return NULL;
}

static bt_status make_input(bt_program *program, const char *name, const bt_type *type,
                            bt_port *out);

static bt_status make_fields(bt_program *program, const bt_list_type *tuple, bt_port *out)
{
    if (tuple->n > MAX_LISTED - program->nlisted)
        return NULL;
    program->nlisted += tuple->n;
    bt_port *fields = BT_NEWS(program->arena, bt_port, tuple->n);
    const bt_port **list = BT_NEWS(program->arena, const bt_port *, tuple->n);
    if (!fields || !list)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        bt_text name;
        bt_text_init(&name, program->arena);
        bt_text_addf(&name, "%s.%u", out->name, i);
        if (!bt_text_get(&name))
            return bt_no_memory();
        BT_TRY(make_input(program, name.at, tuple->at[i], &fields[i]));
        list[i] = &fields[i];
    }
    out->nfield = tuple->n;
    out->fields = list;
    return NULL;
}

/* Recursion is bounded by the depth of types. */
static bt_status make_input(bt_program *program, const char *name, const bt_type *type,
                            bt_port *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    BT_TRY(make_port(program, name, type, out));
    return tuple ? make_fields(program, tuple, out) : NULL;
}

/* Again while sizes become larger, by which another one may have become less than 1. */
static bt_status make_inputs(bt_program *program)
{
    const bt_func *func = program->entry->func;
    const bt_block *block = func->block;
    program->ninput = block->nparam;
    program->inputs = BT_NEWS(program->arena, bt_port, block->nparam);
    program->args = BT_NEWS(program->arena, bt_object *, block->nparam);
    program->least = BT_NEWS(program->arena, int64_t, func->nvar);
    if (!program->inputs || !program->args || !program->least)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->nvar; i++) {
        int64_t low = ((const bt_var_type *)(const void *)func->vars[i])->param.low;
        program->least[i] = round_up(func->vars[i], low > 1 ? low : 1);
    }
    program->has_raised = 1;
    for (uint32_t n = 0; program->has_raised && n < MAX_ROUNDS; n++) {
        program->nlisted = program->has_raised = 0;
        for (uint32_t i = 0; i < block->nparam; i++) {
            const bt_value *param = &block->params[i]->base;
            BT_TRY(make_input(program, param->name ? param->name : "input", param->type,
                              &program->inputs[i]));
        }
    }
    return NULL;
}

static bt_status make_outputs(bt_program *program)
{
    const bt_type *type = program->entry->func->result;
    const bt_list_type *fields = bt_as_tuple_type(type);
    program->is_tuple = fields != NULL;
    program->noutput = fields ? fields->n : 1;
    program->outputs = BT_NEWS(program->arena, bt_port, program->noutput);
    program->outs = BT_NEWS(program->arena, bt_tensor *, program->noutput);
    program->written = BT_NEWS(program->arena, struct bt__bytes, program->noutput);
    program->made = BT_NEWS(program->arena, bt_tensor *, program->noutput);
    program->results = BT_NEWS(program->arena, bt_object *, program->noutput);
    if (!program->outputs || !program->outs || !program->written || !program->made ||
        !program->results)
        return bt_no_memory();
    for (uint32_t i = 0; i < program->noutput; i++) {
        const char *name = bt_output_name(program->arena, program->entry->func, i);
        if (!name)
            return bt_no_memory();
        BT_TRY(make_port(program, name, fields ? fields->at[i] : type,
                         &program->outputs[i]));
    }
    return NULL;
}

/* ---- models ---- */

static bt_status open_session(bt_program *program)
{
    const bt_executor *executor = program->executor;
    return executor->load
               ? executor->load(program->ctx, program->compiled, program->entry->name,
                                program->executor_options, &program->session)
               : executor->open(program->ctx, program->module, program->executor_options,
                                &program->session);
}

static bt_status find_executor(bt_program *program, const char *text)
{
    program->executor_text = bt_arena_text(program->arena, text, strlen(text));
    return program->executor_text
               ? bt__executor_find(program->ctx, program->arena, program->executor_text,
                                   &program->option_store, &program->executor,
                                   &program->executor_options)
               : bt_no_memory();
}

/* What the entry takes and gives. */
static bt_status find_entry(bt_program *program, const char *name)
{
    BT_TRY(bt_module_entry(program->ctx, program->module, name, &program->entry));
    if (program->entry->kind != BT_GLOBAL_FUNC)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT, "@%s is not a function with a body",
                       program->entry->name);
    BT_TRY(make_inputs(program));
    return make_outputs(program);
}

static bt_status read_model(bt_program *program, const char *path,
                            const bt_program_options *options, bt_targets **found)
{
    if (!program->file)
        BT_TRY(bt__model_open(program->ctx, path, &program->file));
    if (!program->module) {
        const char *entry;
        BT_TRY(bt__program_read(program->ctx, program->file, options, found, NULL,
                                &program->module, &entry));
        BT_TRY(find_entry(program, entry));
    } else if (*found && !options->target) {
        BT_TRY(bt__program_devices(program->ctx, program->module, found));
    }
    const bt_targets *targets = *found;
    const bt_compile_options lower = { .opened = targets,
                                       .entry = program->entry->name,
                                       .fuse = options->fuse,
                                       .plan = options->plan,
                                       .hot = options->hot,
                                       .memory = options->memory };
    return targets
               ? bt__program_lower(program->ctx, program->executor, program->module,
                                   &lower, options->keeps_source ? &program->fused : NULL,
                                   &program->compiled)
               : bt__check_features(program->ctx, program->executor, program->module,
                                    program->entry->name);
}

static bt_status need_constant(void *self, const bt_value *user, const bt_value *used)
{
    const bt_const *constant = bt_as_const(used);
    (void)user;
    return !constant || bt_map_put(self, constant->object, self) ? NULL : bt_no_memory();
}

/* What was compiled takes the place of what it was compiled from. The store, which is the
 * program's own, gives back constants that only that has: weights before they were packed. */
static bt_status forget_source(bt_program *program)
{
    bt_module *planned = program->compiled->module;
    bt_map needed;
    const bt_global *entry;
    bt_map_init(&needed, program->arena, 0);
    for (uint32_t i = 0; i < planned->nglobal; i++) {
        const bt_global *global = planned->globals[i];
        if (global->value)
            BT_TRY(need_constant(&needed, NULL, global->value));
        if (global->func && global->func->block)
            BT_TRY(bt__walk_uses(program->arena, global->func->block, need_constant,
                                 &needed));
    }
    BT_TRY(bt_module_entry(program->ctx, planned, program->entry->name, &entry));
    bt_module_unref(program->module);
    program->module = bt_module_ref(planned);
    program->entry = entry;
    program->is_planned = 1;
    bt__store_give_back(planned->store, &needed);
    bt__memory_trim(planned->store->registry);
    return NULL;
}

/* By the executor that is named. */
static bt_status open_by(bt_program *program, const void *path,
                         const bt_program_options *options, const char *executor)
{
    bt_targets *targets = NULL;
    BT_TRY(find_executor(program, executor));
    if (program->executor->write)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT,
                       "executor %s runs nothing: it makes files, by baton compile",
                       program->executor->name);
    if (program->executor->load)
        BT_TRY(bt__program_targets(program->ctx, options->target, &targets));
    else if (options->fuse || options->plan || options->hot || options->memory)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT,
                       "executor %s compiles nothing, so there is nothing to %s: give "
                       "executor graph, or no such option",
                       program->executor->name,
                       options->fuse   ? "fuse"
                       : options->plan ? "plan"
                       : options->hot  ? "make versions of"
                                       : "keep to a budget of memory");
    bt_status status = read_model(program, path, options, &targets);
    bt_targets_unref(targets);
    if (!status)
        status = open_session(program);
    return status || !program->compiled || options->keeps_source ? status
                                                                 : forget_source(program);
}

/* For the next executor. What is compiled for one is read for all that compile. */
static void forget_executor(bt_program *program, int is_last)
{
    bt_store_unref(program->option_store);
    program->option_store = NULL;
    program->executor = NULL;
    if (program->is_artifact)
        return;
    bt_compiled_unref(program->compiled);
    bt_module_unref(program->fused);
    program->compiled = NULL;
    program->fused = NULL;
    if (!is_last)
        return;
    bt_module_unref(program->module);
    program->module = NULL;
}

typedef bt_status open_function(bt_program *, const void *from,
                                const bt_program_options *, const char *executor);

/* Where no executor is named: the fastest that can. What is compiled, or is to be, rules out
 * the one that compiles nothing. */
static bt_status open_by_any(bt_program *program, open_function *open, const void *from,
                             const bt_program_options *options)
{
    const int is_compiled = program->is_artifact || options->target || options->fuse ||
                            options->plan || options->hot || options->memory;
    const uint32_t n = is_compiled ? BT__FIRST_UNCOMPILED : BT__FIRST_UNCOMPILED + 1;
    bt_status status = NULL;
    for (uint32_t i = 0; i < n; i++) {
        status = open(program, from, options, bt__executors[i]);
        if (!status || i + 1 == n ||
            !bt__executor_is_next(program->executor, program->module, status))
            return status;
        const int is_last = i + 1 == BT__FIRST_UNCOMPILED;
        if (is_last)
            bt_remark(program->ctx, BT_REMARK_NOTE,
                      bt_note(program->ctx, status, NULL, 0,
                              "executor %s runs the program", bt__executors[i + 1]));
        forget_executor(program, is_last);
    }
    return status;
}

static bt_status open_model(bt_program *program, const char *path,
                            const bt_program_options *options)
{
    if (options->executor)
        return open_by(program, path, options, options->executor);
    return options->target && strcmp(options->target, "interp") == 0
               ? open_by(program, path, options, "interp")
               : open_by_any(program, open_by, path, options);
}

/* ---- artifacts ---- */

/* Options that only compiling can heed are refused for an artifact. */
static bt_status check_settled(bt_program *program, const bt_artifact *artifact,
                               const bt_program_options *options)
{
    const struct {
        const char *what;
        int is_given;
    } rows[] = {
        { "pipeline", options->pipeline != NULL },
        { "opt level", options->level != 0 },
        { "dims", options->dims != NULL },
        { "inputs", options->fixed != NULL },
        { "plan", options->plan != NULL },
        { "fusion", options->fuse != NULL },
        { "versions", options->hot != NULL },
        { "budget of memory", options->memory != 0 },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (rows[i].is_given)
            return bt_fail(
                program->ctx, BT_ERR_ARGUMENT,
                "%s is compiled, for target %s: to change its %s takes the model "
                "it was compiled from",
                artifact->path, artifact->targets[0].text, rows[i].what);
    }
    if (options->entry && strcmp(options->entry, artifact->entry) != 0)
        return bt_fail(program->ctx, BT_ERR_NAME, "%s has no function @%s: it is @%s",
                       artifact->path, options->entry, artifact->entry);
    return NULL;
}

static bt_status load_by(bt_program *program, const void *from,
                         const bt_program_options *options, const char *executor)
{
    const bt_artifact *artifact = from;
    (void)options;
    BT_TRY(find_executor(program, executor));
    if (!program->executor->load)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT,
                       "%s is compiled: executor %s runs programs as they are written, "
                       "graph and vm run compiled ones",
                       artifact->path, program->executor->name);
    BT_TRY(bt__check_features(program->ctx, program->executor, program->module,
                              artifact->entry));
    return open_session(program);
}

static bt_status load_artifact(bt_program *program, const bt_artifact *artifact,
                               const bt_program_options *options)
{
    BT_TRY(check_settled(program, artifact, options));
    program->module = bt_module_ref(artifact->module);
    program->is_artifact = program->is_planned = 1;
    BT_TRY(find_entry(program, artifact->entry));
    BT_TRY(bt_artifact_load(program->ctx, artifact, options->target, &program->compiled));
    const char *executor = options->executor     ? options->executor
                           : *artifact->executor ? artifact->executor
                                                 : NULL;
    return executor ? load_by(program, artifact, options, executor)
                    : open_by_any(program, load_by, artifact, options);
}

static bt_status open_artifact(bt_program *program, const char *path,
                               const bt_program_options *options)
{
    bt_artifact *artifact;
    BT_TRY(bt_artifact_read(program->ctx, path, &artifact));
    bt_status status = load_artifact(program, artifact, options);
    bt_artifact_close(artifact);
    return status;
}

/* ---- opening ---- */

static bt_program *create(bt_ctx *ctx)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_program *program = arena ? BT_NEW(arena, bt_program) : NULL;
    if (!program) {
        bt_arena_destroy(arena);
        return NULL;
    }
    program->ctx = ctx;
    program->arena = arena;
    return program;
}

/* The whole program; on failure everything is freed. */
static bt_status finish(bt_program *program, bt_status status, bt_program **out)
{
    bt_file_close(program->ctx, program->file);
    program->file = NULL;
    if (status)
        bt_program_close(program);
    else
        *out = program;
    return status;
}

bt_status bt_program_open_sized(bt_ctx *ctx, const char *path,
                                const bt_program_options *given, size_t nbytes,
                                bt_program **out)
{
    bt_program_options options;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    bt_program *program = create(ctx);
    if (!program)
        return bt_no_memory();
    bt_status status = bt_artifact_is(path) ? open_artifact(program, path, &options)
                                            : open_model(program, path, &options);
    return finish(program, status, out);
}

bt_status bt_program_share(bt_ctx *ctx, const bt_program *from, bt_program **out)
{
    if (bt_ctx_registry(ctx) != bt_store_registry(from->module->store))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "@%s can be shared with contexts of its registry only",
                       from->entry->name);
    bt_program *program = create(ctx);
    if (!program)
        return bt_no_memory();
    program->module = bt_module_ref(from->module);
    program->is_artifact = from->is_artifact;
    program->is_planned = from->is_planned;
    program->fused = from->fused ? bt_module_ref(from->fused) : NULL;
    program->compiled = from->compiled ? bt_compiled_ref(from->compiled) : NULL;
    bt_status status = find_executor(program, from->executor_text);
    if (!status)
        status = find_entry(program, from->entry->name);
    if (!status)
        status = from->executor->share
                     ? from->executor->share(ctx, from->session, &program->session)
                     : open_session(program);
    return finish(program, status, out);
}

void bt_program_close(bt_program *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; program->args && i < program->ninput; i++)
        bt_object_unref(program->args[i]);
    for (uint32_t i = 0; program->outs && i < program->noutput; i++)
        bt_tensor_unref(program->outs[i]);
    for (uint32_t i = 0; program->results && i < program->noutput; i++)
        bt_object_unref(program->results[i]);
    if (program->session)
        program->executor->close(program->session);
    bt_store_unref(program->option_store);
    bt__profiler_destroy(program->profiler);
    bt_compiled_unref(program->compiled);
    bt_module_unref(program->fused);
    bt_module_unref(program->module);
    bt_arena_destroy(program->arena);
}
