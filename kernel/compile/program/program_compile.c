/* What stands between a model's file and a compiled module. */
#include "compile/program/program.h"

#include <string.h>

#include <baton/artifact.h>
#include <baton/importer.h>
#include <baton/pass.h>

#include "base/ctx.h"
#include "compile/lower/lower.h"
#include "pass/targets.h"
#include "plugin/plugins.h"

/* `digest` may be NULL: it is not asked for. */
static bt_status run_pipeline(bt_ctx *ctx, const char *source,
                              const bt_pipeline_options *options, const bt_module *module,
                              uint64_t *digest, bt_module **out)
{
    bt_pipeline *pipeline;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    bt_status status =
        digest ? bt_pipeline_resolve(ctx, pipeline, options, &text, digest) : NULL;
    if (!status)
        status = bt_pipeline_run(ctx, pipeline, options, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

static bt_status optimise(bt_ctx *ctx, const bt_program_options *options,
                          const bt_targets *targets, const bt_module *module,
                          const char *entry, uint64_t *digest, bt_module **out)
{
    const char *source = options->pipeline ? options->pipeline : "default";
    if (options->level < 0 || options->level > 5)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "opt level %d: expected 0 to 4",
                       options->level - 1);
    bt_pipeline_options run = { .level = options->level ? options->level - 1 : -1,
                                .target = targets ? NULL : options->target,
                                .targets = targets,
                                .entry = entry };
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    return run_pipeline(ctx, source, &run, module, digest, out);
}

static bt_status read_typed(bt_ctx *ctx, bt_file *file, const bt_import_options *import,
                            bt_module **out)
{
    bt_module *module, *typed;
    BT_TRY(bt__model_import(ctx, file, import, &module));
    bt__progress(ctx, "inferring types");
    bt_status status = bt_infer(ctx, module, &typed);
    bt_module_unref(module);
    BT_TRY(status);
    status = bt_entry_define(ctx, typed, import->entry, import->dims, out);
    bt_module_unref(typed);
    return status;
}

enum { MAX_ROUNDS = 4 }; /* of reading a model anew with more of it settled */

/* `status`: of reading *typed, which is NULL where that failed. */
static bt_status specialise(bt_ctx *ctx, bt_file *file, const bt_program_options *options,
                            bt_import_options *import, bt_status status,
                            bt_module **typed)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        bt_specialise_call call = { .self = options->specialise_self, .module = *typed };
        bt_module *again;
        if (status && (status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED))
            return status;
        if (*typed)
            BT_TRY(bt_module_entry(ctx, *typed, options->entry, &call.entry));
        BT_TRY(options->specialise(ctx, &call));
        if (!call.dims && !call.fixed)
            return status;
        import->dims = call.dims;
        import->fixed = call.fixed;
        if (!*typed)
            bt_ctx_clear_diags(ctx); // what stands in the way is told by the last reading
        bt_status read = read_typed(ctx, file, import, &again);
        if (read && !*typed && read->code == BT_ERR_ARGUMENT) {
            // it takes no such thing: what stood in the way before is told
            import->dims = options->dims;
            import->fixed = options->fixed;
            bt_ctx_clear_diags(ctx);
            return read_typed(ctx, file, import, typed);
        }
        if (read && !*typed) {
            status = read;
            continue;
        }
        bt_ctx_clear_diags(ctx); // of a reading that does not count
        status = NULL;
        if (read) {
            call.is_refused = 1;
            return options->specialise(ctx, &call);
        }
        bt_module_unref(*typed);
        *typed = again;
    }
    return status;
}

/* By their names: an option can name a program to run, which no model may do. */
bt_status bt__program_devices(bt_ctx *ctx, const bt_module *module, bt_targets **targets)
{
    const bt_dict_entry *list = bt_dict_find(&module->attrs, "devices");
    const char *host = (*targets)->at[0]->text;
    bt_targets *opened;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; list && list->kind == BT_DICT_LIST && i < list->n; i++) {
        const char *name = list->items[i].text;
        if (list->items[i].kind != BT_DICT_TEXT)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "item %u of the module's attribute devices is no text: it is "
                           "a list of names of targets, as in "
                           "#[attrs(devices=[\"cpu\", \"reference\"])]",
                           i + 1);
        if (strpbrk(name, "{,"))
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "a module opens targets by their names alone; its attribute "
                           "devices has %s: give target '%s, ...' where the program is "
                           "compiled or run",
                           name, name);
        bt_text_addf(&text, "%s%s", i ? ", " : "", name);
        host = strcmp(name, host) == 0 ? "" : host;
    }
    if (!text.len)
        return NULL;
    bt_text_addf(&text, "%s%s", *host ? ", " : "", host);
    BT_TRY(bt_text_get(&text) ? NULL : bt_no_memory());
    BT_TRY(bt_targets_open(ctx, bt_text_get(&text), &opened));
    bt_targets_unref(*targets);
    *targets = opened;
    return NULL;
}

bt_status bt__program_read(bt_ctx *ctx, bt_file *file, const bt_program_options *options,
                           bt_targets **targets, uint64_t *digest, bt_module **out,
                           const char **entry)
{
    bt_module *typed = NULL, *named = NULL;
    const bt_global *chosen;
    bt_import_options import = { .entry = options->entry,
                                 .dims = options->dims,
                                 .fixed = options->fixed };
    bt_status status = read_typed(ctx, file, &import, &typed);
    if (options->specialise)
        status = specialise(ctx, file, options, &import, status, &typed);
    if (status) {
        bt_module_unref(typed);
        return status;
    }
    status = bt_outputs_name(ctx, typed, options->entry, &named);
    bt_module_unref(typed);
    BT_TRY(status);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    if (*targets && !options->target)
        status = bt__program_devices(ctx, named, targets);
    if (!status)
        status = bt_module_entry(ctx, named, options->entry, &chosen);
    if (!status)
        status = optimise(ctx, options, *targets, named, chosen->name, digest, out);
    if (!status) {
        status = bt_module_entry(ctx, *out, chosen->name, &chosen);
        if (status)
            bt_module_unref(*out);
        else
            *entry = chosen->name;
    }
    bt_arena_release(scratch, mark);
    bt_module_unref(named);
    return status;
}

bt_status bt__program_targets(bt_ctx *ctx, const char *list, bt_targets **out)
{
    const char *found = "reference";
    for (uint32_t i = 0; !list && i < bt_provided_len(ctx, "target"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "target", i, &item));
        if (strcmp(item.name, "cpu") == 0)
            found = "cpu";
    }
    return bt_targets_open(ctx, list ? list : found, out);
}

/* ---- compiling ---- */

/* The first executor that runs what a program uses, of those tried by themselves; NULL:
 * there is none. */
static bt_status find_able(bt_ctx *ctx, uint32_t used, const char **out)
{
    *out = NULL;
    for (uint32_t i = 0; i <= BT__FIRST_UNCOMPILED && !*out; i++) {
        const char *name = bt__executors[i];
        const void *row;
        int is_found;
        BT_TRY(bt__plugins_has(ctx, "baton.executor/1", name, &is_found));
        if (!is_found)
            continue;
        BT_TRY(bt_registry_row(ctx, "baton.executor/1", name, sizeof(bt_executor), &row));
        if (!(used & ~((const bt_executor *)row)->features))
            *out = name;
    }
    return NULL;
}

bt_status bt__check_features(bt_ctx *ctx, const bt_executor *executor,
                             const bt_module *module, const char *name)
{
    static const struct {
        uint32_t bit;
        const char *words;
    } features[] = {
#define BT_FEATURE(UPPER, bit, name, words) { (bit), words },
#include <baton/features.def>
    };
    const bt_global *entry;
    uint32_t used;
    BT_TRY(bt_module_entry(ctx, module, name, &entry));
    BT_TRY(bt_module_features(ctx, module, entry->func, &used));
    uint32_t lacking = used & ~executor->features;
    for (uint32_t i = 0; i < BT_COUNT(features); i++) {
        if (!(lacking & features[i].bit))
            continue;
        const char *dims = features[i].bit == BT_FEATURE_OPEN_DIMS
                               ? bt__open_dims(bt_ctx_scratch(ctx), entry->func)
                               : "";
        const char *able;
        if (!dims)
            return bt_no_memory();
        BT_TRY(find_able(ctx, used, &able));
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "executor %s has no %s, which @%s uses%s; %s%s", executor->name,
                       features[i].words, entry->name, dims,
                       able ? able : "no executor that is found has ",
                       able ? " has them all" : "all that it uses");
    }
    return NULL;
}

struct checked {
    bt_ctx *ctx;
    const bt_executor *executor;
    const char *entry;
};

static bt_status check_fused(void *self, const bt_module *fused)
{
    const struct checked *c = self;
    return bt__check_features(c->ctx, c->executor, fused, c->entry);
}

bt_status bt__program_lower(bt_ctx *ctx, const bt_executor *executor,
                            const bt_module *typed, const bt_compile_options *given,
                            bt_module **fused, bt_compiled **out)
{
    bt_compile_options options = *given;
    struct checked c = { ctx, executor, options.entry };
    options.has_control_flow = (executor->features & BT_FEATURE_BRANCHES) != 0;
    return bt_compile_typed(ctx, typed, &options, check_fused, &c, fused, out);
}

bt_status bt__executor_find(bt_ctx *ctx, bt_arena *arena, const char *text,
                            bt_store **store, const bt_executor **executor,
                            const void **options)
{
    const void *row;
    const char *name, *given;
    BT_TRY(bt_named_split(ctx, arena, "executor", text, &name, &given));
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", name, sizeof(bt_executor), &row));
    *executor = row;
    *store = bt_store_create(bt_ctx_registry(ctx));
    return *store ? bt_options_parse(ctx, *store, name, (*executor)->options,
                                     (*executor)->options_nbytes, given, options)
                  : bt_no_memory();
}

const char *const bt__executors[] = { "graph", "vm", "interp" };

int bt__executor_is_next(const bt_executor *tried, const bt_module *read,
                         bt_status status)
{
    return tried ? read && status->code == BT_ERR_UNSUPPORTED
                 : status->code == BT_ERR_NAME;
}

/* What is compiled, and where it goes. */
struct output {
    const char *model, *path;
    const bt_program_options *asked;
    bt_arena *arena;
    bt_store *store; /* of the executor's options */
    const bt_executor *executor;
    const void *options;
    bt_targets *targets;
    bt_module *module; /* NULL: not read yet */
    const char *entry; /* of it */
    uint64_t digest;
};

static bt_status write_output(bt_ctx *ctx, const struct output *to, bt_compiled *compiled)
{
    bt_text unread, *said = to->asked->said ? to->asked->said : &unread;
    if (!to->executor->write)
        return bt_artifact_write(ctx, compiled, to->digest, to->path);
    bt_text_init(&unread, to->arena);
    bt_text_addf(said, "for target ");
    for (uint32_t i = 0; i < compiled->ntarget; i++)
        bt_text_addf(said, "%s%s", i ? ", " : "", compiled->targets[i]->text);
    bt_text_addf(said, ": %u kernel%s, ", compiled->nkernel,
                 compiled->nkernel == 1 ? "" : "s");
    return to->executor->write(ctx, compiled, compiled->entry, to->options, to->path,
                               said);
}

/* What a text is written for: the last target has one beside it for what it has no text. */
static bt_status open_targets(bt_ctx *ctx, struct output *to, bt_program_options *asked)
{
    bt_text list;
    if (to->executor->write && !asked->target)
        asked->target = "c"; // whose code is source for any machine
    BT_TRY(bt__program_targets(ctx, asked->target, &to->targets));
    const uint32_t n = to->targets->n;
    const char *beside = to->targets->at[n - 1]->target->beside;
    if (!to->executor->write || !beside || bt_targets_find(to->targets, beside) < n)
        return NULL;
    bt_text_init(&list, to->arena);
    bt_text_addf(&list, "%s,%s", asked->target, beside);
    asked->target = bt_text_get(&list);
    bt_targets_unref(to->targets);
    to->targets = NULL;
    return asked->target ? bt__program_targets(ctx, asked->target, &to->targets)
                         : bt_no_memory();
}

/* Targets are opened first: a slip in their list is told before a model is read. */
static bt_status read_for(bt_ctx *ctx, struct output *to)
{
    bt_program_options asked = *to->asked;
    bt_file *file;
    BT_TRY(open_targets(ctx, to, &asked));
    BT_TRY(bt__model_open(ctx, to->model, &file));
    bt_status status = bt__program_read(ctx, file, &asked, &to->targets, &to->digest,
                                        &to->module, &to->entry);
    bt_file_close(ctx, file);
    return status;
}

static bt_status compile_for(bt_ctx *ctx, struct output *to, const char *executor)
{
    bt_compiled *compiled;
    bt_store_unref(to->store);
    to->store = NULL;
    to->executor = NULL;
    BT_TRY(bt__executor_find(ctx, to->arena, executor, &to->store, &to->executor,
                             &to->options));
    if (to->executor->open)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "executor %s compiles nothing, so there is nothing to write",
                       to->executor->name);
    if (!to->executor->write && strchr(executor, '{'))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "options of executor %s are for runs, and no file keeps them: "
                       "--executor '%s' is for running it",
                       to->executor->name, executor);
    if (!to->module)
        BT_TRY(read_for(ctx, to));
    const bt_compile_options lower = { .opened = to->targets,
                                       .entry = to->entry,
                                       .form = to->executor->write ? BT_CODE_SOURCE : 0,
                                       .fuse = to->asked->fuse,
                                       .plan = to->asked->plan,
                                       .hot = to->asked->hot,
                                       .memory = to->asked->memory };
    BT_TRY(bt__program_lower(ctx, to->executor, to->module, &lower, NULL, &compiled));
    if (to->asked->executor)
        compiled->executor = to->executor->name;
    bt_status status = write_output(ctx, to, compiled);
    bt_compiled_unref(compiled);
    return status;
}

/* Where no executor is named: the fastest that can. */
static bt_status compile(bt_ctx *ctx, struct output *to)
{
    bt_status status = NULL;
    if (to->asked->executor)
        return compile_for(ctx, to, to->asked->executor);
    for (uint32_t i = 0; i < BT__FIRST_UNCOMPILED; i++) {
        status = compile_for(ctx, to, bt__executors[i]);
        if (!status || !bt__executor_is_next(to->executor, to->module, status))
            break;
    }
    return status;
}

bt_status bt_program_compile_sized(bt_ctx *ctx, const char *model,
                                   const bt_program_options *given, size_t nbytes,
                                   const char *path)
{
    bt_program_options options;
    struct output to = { .model = model, .path = path, .asked = &options };
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    to.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = to.arena ? compile(ctx, &to) : bt_no_memory();
    bt_module_unref(to.module);
    bt_targets_unref(to.targets);
    bt_store_unref(to.store);
    bt_arena_destroy(to.arena);
    return status;
}
