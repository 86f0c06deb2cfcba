/*
 * Operators by machine code, against plans that are interpreted: the same bits.
 *
 *     conform_engines PLUGINS PLUGIN COMPILER OPTIONS [EVERY [FIRST]]
 *
 * Every case of the plugin's operators and those made from it (case_vary.h) is computed by
 * `cpu{engine="bytecode"}`: the call alone, and with `negative` before and behind it, which
 * fusion joins to it. That plans are right is conform_targets' to say. Then the same by
 * `cpu{engine=COMPILER, compiler=OPTIONS}`. Starting a compiler of C takes longer than most
 * cases, so calls are put into programs of many that compute nothing in common, each
 * compiled once. What a plan refuses while it runs would end such a program, and is
 * compiled alone; it must be refused in the same words. With EVERY, of the calls made from
 * cases only each EVERY-th is computed, from the FIRST one on (0 is the first).
 *
 * The C text of a plan has integers, addresses and calls through a table, and no
 * arithmetic on elements: instruction sets (BATON_CPU) make other plans, but no other kind
 * of text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/compiler.h>
#include <baton/executor.h>
#include <baton/pass.h>

#include "case_vary.h"

enum { MAX_CALLS = 250, SKIPPED = 77 };

/* A call with its arguments and what the plan gave. */
struct entry {
    const bt_op *op, *around; /* around: NULL, the call is alone */
    const bt_call *call;
    const char *line;
    uint32_t narg;
    bt_object *args[CASE_MAX_LEAF], *want;
};

struct trial {
    struct op_check w;
    const char *target; /* with the engine under test */
    const bt_executor *graph;
    const bt_op *around;          /* "negative" */
    uint32_t every, first, nmade; /* of the calls made from cases */
    uint32_t n, ncompiled, nprogram, ndynamic, nrefused, nwrong;
    struct entry entries[MAX_CALLS];
};

static void free_entry(struct entry *e)
{
    for (uint32_t i = 0; i < e->narg; i++)
        bt_object_unref(e->args[i]);
    bt_object_unref(e->want);
    *e = (struct entry){ 0 };
}

static void wrong(struct trial *t, const struct entry *e, const char *what)
{
    t->nwrong++;
    printf("%s: %s%s: %s\n", e->op->name, e->line, e->around ? " (fused)" : "", what);
}

/* ---- programs of calls ---- */

static int is_float(const bt_type *type)
{
    return bt_as_tensor_type(type) && bt_dtype_is_float(bt_tensor_dtype(type));
}

static bt_status build_around(bt_builder *b, const bt_op *op, const bt_value **value)
{
    return op && is_float((*value)->type)
               ? bt_build_op(b, op, NULL, 1, (const bt_value *[]){ *value }, value)
               : NULL;
}

static bt_status build_call(bt_builder *b, const struct entry *e,
                            const bt_param *const *params, const bt_value **out)
{
    const bt_value *args[CASE_MAX_LEAF];
    for (uint32_t i = 0; i < e->narg; i++) {
        args[i] = &params[i]->base;
        BT_TRY(build_around(b, e->around, &args[i]));
    }
    BT_TRY(bt_build_op(b, e->op, e->call->attrs, e->narg, args, out));
    return build_around(b, e->around, out);
}

/* @main of all parameters, which gives a tuple of all results. */
static bt_status build_main(bt_ctx *ctx, bt_builder *b, uint32_t n,
                            const struct entry *entries, bt_store *store,
                            const bt_func **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const bt_param **params =
        BT_NEWS(scratch, const bt_param *, (size_t)n *CASE_MAX_LEAF);
    const bt_value **results = BT_NEWS(scratch, const bt_value *, n), *result;
    const bt_block *block;
    uint32_t nparam = 0;
    if (!params || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < entries[i].narg; k++, nparam++) {
            char name[32];
            snprintf(name, sizeof(name), "x%u", nparam);
            BT_TRY(
                bt_build_param(b, name, entries[i].call->args[k]->type, &params[nparam]));
        }
    }
    BT_TRY(bt_block_begin(b, nparam, params));
    nparam = 0;
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(build_call(b, &entries[i], params + nparam, &results[i]));
        nparam += entries[i].narg;
    }
    BT_TRY(bt_build_tuple(b, n, results, &result));
    BT_TRY(bt_block_end(b, result, &block));
    const bt_func fields = { .name = "main", .result = result->type, .block = block };
    return bt_func_create(ctx, store, &fields, out);
}

static bt_status make_module(struct trial *t, uint32_t n, const struct entry *entries,
                             bt_module **out)
{
    bt_builder *b;
    bt_module_builder *builder;
    bt_global global = { .name = "main", .kind = BT_GLOBAL_FUNC };
    BT_TRY(bt_builder_create(t->w.ctx, t->w.store, NULL, &b));
    bt_status status = build_main(t->w.ctx, b, n, entries, t->w.store, &global.func);
    bt_builder_destroy(b);
    BT_TRY(status);
    global.type = bt_func_type_of(t->w.store, global.func);
    if (!global.type)
        return bt_no_memory();
    BT_TRY(bt_module_builder_create(t->w.ctx, t->w.store, NULL, &builder));
    status = bt_module_builder_set(builder, &global, 1);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}

static bt_status compile(struct trial *t, const char *target, uint32_t n,
                         const struct entry *entries, bt_compiled **out)
{
    bt_pipeline *pipeline;
    bt_module *module, *fused = NULL;
    const bt_pipeline_options options = { .level = 4 };
    BT_TRY(make_module(t, n, entries, &module));
    bt_status status = bt_pipeline_read(t->w.ctx, "fuse-ops", &pipeline);
    if (!status) {
        status = bt_pipeline_run(t->w.ctx, pipeline, &options, module, &fused);
        bt_pipeline_destroy(pipeline);
    }
    bt_module_unref(module);
    if (!status)
        status =
            bt_compile(t->w.ctx, fused, &(bt_compile_options){ .targets = target }, out);
    bt_module_unref(fused);
    return status;
}

/* *out: the tuple of results. */
static bt_status run(struct trial *t, const char *target, uint32_t n,
                     const struct entry *entries, bt_object **out)
{
    bt_compiled *compiled;
    void *session;
    uint32_t narg = 0;
    bt_object **args =
        BT_NEWS(bt_ctx_scratch(t->w.ctx), bt_object *, (size_t)n * CASE_MAX_LEAF);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < entries[i].narg; k++)
            args[narg++] = entries[i].args[k];
    }
    BT_TRY(compile(t, target, n, entries, &compiled));
    bt_status status = t->graph->load(t->w.ctx, compiled, "main", NULL, &session);
    bt_compiled_unref(compiled);
    BT_TRY(status);
    status = t->graph->call(t->w.ctx, session, "main", narg, args, NULL, out);
    t->graph->close(session);
    return status;
}

/* ---- the same bits ---- */

static int same_bits(const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    const bt_tensor *s = bt_object_as_tensor(a), *t = bt_object_as_tensor(b);
    if (!y)
        return s && t && s->dtype == t->dtype && s->nelem == t->nelem &&
               (s->nelem == 0 || memcmp(s->data, t->data, bt_tensor_nbytes(t)) == 0);
    int same = x && x->nfield == y->nfield;
    for (uint32_t i = 0; same && i < y->nfield; i++)
        same = same_bits(x->fields[i], y->fields[i]);
    return same;
}

/* All that was gathered, by the engine. */
static bt_status run_entries(struct trial *t)
{
    bt_object *got = NULL;
    bt_status status = t->n ? run(t, t->target, t->n, t->entries, &got) : NULL;
    const bt_tuple *results = got ? bt_object_as_tuple(got) : NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        if (results && !same_bits(results->fields[i], t->entries[i].want))
            wrong(t, &t->entries[i], "other bits than the plan's");
        free_entry(&t->entries[i]);
    }
    t->ncompiled += t->n;
    t->nprogram += t->n > 0;
    t->n = 0;
    bt_object_unref(got);
    return status;
}

/* What the plan refused, in the same words. */
static void refuse(struct trial *t, const struct entry *e, const char *expected)
{
    bt_object *got = NULL;
    bt_status status = run(t, t->target, 1, e, &got);
    t->nrefused++;
    if (!status)
        wrong(t, e, "computes what the plan refuses");
    else if (strcmp(status->message, expected) != 0)
        wrong(t, e, status->message);
    bt_object_unref(got);
}

/* ---- one call ---- */

/* Computes it by the plan and keeps it; the entry is taken. */
static bt_status add(struct trial *t, struct entry *e)
{
    bt_object *tuple = NULL;
    bt_status status = run(t, "cpu{engine=\"bytecode\"}", 1, e, &tuple);
    if (status && status->code == BT_ERR_UNSUPPORTED)
        t->ndynamic++;
    else if (status)
        refuse(t, e, status->message);
    if (status) {
        free_entry(e);
        return status->code == BT_ERR_MEMORY ? status : NULL;
    }
    e->want = bt_object_ref(bt_object_as_tuple(tuple)->fields[0]);
    bt_object_unref(tuple);
    t->entries[t->n++] = *e;
    return t->n == MAX_CALLS ? run_entries(t) : NULL;
}

static bt_status add_both(struct trial *t, const struct call_case *c,
                          const struct call_result *r)
{
    for (int is_fused = 0; is_fused < 2; is_fused++) {
        struct entry e = { .op = t->w.op,
                           .around = is_fused ? t->around : NULL,
                           .call = r->call,
                           .line = c->line };
        bt_status status = NULL;
        while (!status && e.narg < c->narg) {
            status = call_arg(&t->w, &c->args[e.narg], r, &e.args[e.narg]);
            e.narg += !status;
        }
        if (status)
            free_entry(&e);
        BT_TRY(status);
        BT_TRY(add(t, &e));
    }
    return NULL;
}

static bt_status use_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    struct call_result r;
    if (strcmp(kind, "case") != 0 && t->nmade++ % t->every != t->first)
        return NULL;
    bt_status status = call_run(&t->w, c, 7 + t->ncompiled + t->n, 0, &r);
    if (!status && r.call)
        status = add_both(t, c, &r);
    call_result_free(&r);
    if (!status)
        bt_ctx_clear_diags(t->w.ctx);
    return status;
}

static bt_status use_plugin(struct trial *t, const char *plugin)
{
    const void *row;
    bt_ctx *ctx = t->w.ctx;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    t->graph = row;
    BT_TRY(bt_op_get(ctx, "negative", &t->around));
    BT_TRY(bt_plugins_scan(ctx));
    for (uint32_t i = 0; i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "op", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) != 0)
            continue;
        BT_TRY(bt_op_get(ctx, item.name, &t->w.op));
        BT_TRY(vary_all(&t->w, use_case, t));
    }
    return run_entries(t);
}

static int check(struct trial *t, const char *plugin)
{
    bt_ctx *ctx = t->w.ctx;
    t->w.store = bt_store_create(bt_ctx_registry(ctx));
    t->w.arena = bt_arena_create(bt_ctx_registry(ctx));
    t->w.faults = json_array();
    bt_status status = t->w.store && t->w.arena ? use_plugin(t, plugin) : bt_no_memory();
    if (status)
        printf("%s\n", status->message);
    while (t->n)
        free_entry(&t->entries[--t->n]);
    printf("%s: %u calls in %u programs, %u refused, %u not static, %u wrong\n",
           t->target, t->ncompiled, t->nprogram, t->nrefused, t->ndynamic, t->nwrong);
    json_decref(t->w.faults);
    bt_store_unref(t->w.store);
    bt_arena_destroy(t->w.arena);
    return status || t->nwrong || t->ncompiled == 0;
}

/* There is no excuse where all packages are installed. */
static int probe(bt_ctx *ctx, const char *compiler, const char *options)
{
    const char *ci = getenv("CI");
    bt_status status = bt_c_probe(ctx, compiler, options);
    if (!status)
        return 0;
    printf("skipped: %s\n", status->message);
    return ci && strcmp(ci, "true") == 0 ? 1 : SKIPPED;
}

/* The target's text: options stand in it as a text in quotes. */
static const char *write_target(const char *compiler, const char *options, char out[1000])
{
    int n = snprintf(out, 300, "cpu{engine=\"%s\", compiler=\"", compiler);
    for (; *options && n < 990; options++) {
        if (*options == '"')
            out[n++] = '\\';
        out[n++] = *options;
    }
    snprintf(out + n, 4, "\"}");
    return out;
}

int main(int argc, char **argv)
{
    static struct trial trial;
    char target[1000];
    if (argc < 5 || argc > 7) {
        printf(
            "usage: conform_engines PLUGINS PLUGIN COMPILER OPTIONS [EVERY [FIRST]]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int result = ctx ? probe(ctx, argv[3], argv[4]) : 1;
    trial.w.ctx = ctx;
    trial.target = write_target(argv[3], argv[4], target);
    trial.every = argc > 5 ? (uint32_t)atoi(argv[5]) : 1;
    trial.first = argc > 6 ? (uint32_t)atoi(argv[6]) : 0;
    if (trial.first >= trial.every) {
        printf("conform_engines: there is no call %s of each %s\n", argv[6], argv[5]);
        return 2;
    }
    if (!result)
        result = check(&trial, argv[2]);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return result;
}
