/*
 * Graphs of operators as texts, and as calls of operator `compute`.
 *
 *     conform_text PLUGINS PLUGIN [OPERATOR [EVERY]]
 *
 * Of every case of the plugin's operators with formulas and those made from it (case_vary.h) the
 * graph is written (bt_graph_text) and read by a call of `compute`: it must be the same graph,
 * with numbers and with dims of a function for the sizes above 1. A call of `compute` in the
 * operator's place, of which the text knows the result's type, must be of that type and give the
 * same bits: by the evaluator, with numbers and with dims, and as a program for target cpu, alone
 * and with `negative` before and behind it. Where EVERY is given, only each EVERY-th call of an
 * operator is tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/compute.h>
#include <baton/executor.h>
#include <baton/graph.h>
#include <baton/pass.h>

#include "case_vary.h"
#include "compute/formula/call.h"
#include "graph_equal.h"

enum { MAX_DIMS = 16 };

struct compute_attrs {
    const bt_type *dims;
    const char *formula;
};

struct trial {
    struct op_check w, as; /* of the operator, and of `compute` in its place */
    const bt_executor *graph;
    const bt_op *around;
    uint32_t every, nmet;
    uint32_t ntext, nopen, nrun;
    /* of a case: variables for its sizes */
    uint32_t ndim;
    int64_t sizes[MAX_DIMS];
    const bt_type *vars[MAX_DIMS];
};

/* ---- calls ---- */

static const bt_type *dim_of(void *self, bt_store *store, int64_t size)
{
    struct trial *t = self;
    bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    char name[24];
    uint32_t i = 0;
    if (size < 2)
        return bt_dim(store, size);
    while (i < t->ndim && t->sizes[i] != size)
        i++;
    if (i == MAX_DIMS)
        return bt_dim(store, size);
    if (i == t->ndim) {
        snprintf(name, sizeof(name), "n%lld", (long long)size);
        t->sizes[i] = size;
        t->vars[i] = bt_type_var(store, &param, bt_name_of(store, name));
        t->ndim++;
    }
    return t->vars[i];
}

/* The leaves of a call's arguments as arguments of their own. */
static struct call_case flat_case(const struct call_case *c)
{
    struct call_case flat = *c;
    flat.narg = c->nleaf;
    flat.expected = NULL;
    for (uint32_t i = 0; i < c->nleaf; i++)
        flat.args[i] = (struct case_arg){ .first = i, .nleaf = 1 };
    return flat;
}

static bt_status compose_call(struct trial *t, const bt_op *op, const void *attrs,
                              uint32_t narg, const bt_type *const *args,
                              const bt_type *result, bt_graph **out)
{
    const bt_formula_call call = {
        .op = op, .attrs = attrs, .narg = narg, .args = args, .result = result
    };
    return bt__call_compose(t->w.ctx, t->w.arena, &call, out);
}

static void add_leaves(const bt_type *type, const bt_type **out, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        out[(*n)++] = type;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        add_leaves(tuple->at[i], out, n);
}

/* The text of a call's graph for a result of that type; NULL: of any. *out NULL: its graph
 * cannot be made. */
static bt_status text_of(struct trial *t, const bt_call *call, const bt_type *result,
                         bt_graph **graph, struct compute_attrs *out)
{
    const bt_type *args[CASE_MAX_LEAF];
    bt_graph_formula text;
    *graph = NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        args[i] = call->args[i]->type;
    bt_status status =
        compose_call(t, call->op, call->attrs, call->narg, args, call->base.type, graph);
    if (status || !*graph)
        return status;
    BT_TRY(bt_graph_text(t->w.ctx, t->w.arena, *graph, result, &text));
    out->dims = bt_type_shape(t->w.store, text.ndim, text.dims);
    out->formula = text.formula;
    return out->dims ? NULL : bt_no_memory();
}

/* ---- the same graph ---- */

static bt_status check_again(struct trial *t, const char *kind, const struct call_case *c,
                             const bt_call *call)
{
    const bt_type *leaves[CASE_MAX_LEAF];
    struct compute_attrs attrs;
    bt_graph *graph, *again;
    uint32_t n = 0;
    int is_same = 0;
    bt_status status = text_of(t, call, NULL, &graph, &attrs);
    if (status && status->code != BT_ERR_MEMORY) {
        if (graph)
            case_fault(&t->w, c, "%s: no text: %s", kind, status->message);
        return NULL; // else an operator's own formula is refused, as other tests see
    }
    BT_TRY(status);
    if (!graph)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        add_leaves(call->args[i]->type, leaves, &n);
    status = compose_call(t, t->as.op, &attrs, n, leaves, call->base.type, &again);
    if (status)
        case_fault(&t->w, c, "%s: %s in %s", kind, case_message(&t->as, status),
                   attrs.formula);
    if (status)
        return status->code == BT_ERR_MEMORY ? status : NULL;
    BT_TRY(graph_equal(t->w.arena, graph, again, &is_same));
    if (!is_same) {
        bt_graph_formula text;
        BT_TRY(bt_graph_text(t->w.ctx, t->w.arena, again, NULL, &text));
        case_fault(&t->w, c, "%s: another graph is read\n    %s\n    %s", kind,
                   attrs.formula, text.formula);
    }
    t->ntext++;
    return NULL;
}

/* ---- the same bits ---- */

static const bt_type *type_of_result(const bt_call *call)
{
    const bt_list_type *tuple = bt_as_tuple_type(call->base.type);
    return tuple && tuple->n == 1 ? tuple->at[0] : call->base.type;
}

/* A formula of one result gives no tuple of it. */
static int is_equal_object(struct trial *t, const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    if (!x || !y)
        return case_is_equal(&t->w, bt_object_as_tensor(x ? x->fields[0] : a),
                             bt_object_as_tensor(y ? y->fields[0] : b), 0);
    int is = x->nfield == y->nfield;
    for (uint32_t i = 0; is && i < x->nfield; i++)
        is = is_equal_object(t, x->fields[i], y->fields[i]);
    return is;
}

static bt_status run_cpu(struct trial *t, struct op_check *w, const struct call_case *c,
                         const struct call_result *r, const bt_op *around,
                         bt_object **out)
{
    const bt_compile_options target = { .targets =
                                            "cpu{engine=\"bytecode\", threads=1}" };
    bt_pipeline_options options = { .level = 4, .verify_each = 1 };
    bt_object *args[CASE_MAX_LEAF] = { 0 };
    bt_module *module, *fused;
    bt_pipeline *pipeline;
    bt_compiled *compiled;
    void *session;
    BT_TRY(call_module(w, c, r, around, &module));
    bt_status status = bt_pipeline_read(w->ctx, "fuse-ops", &pipeline);
    if (!status) {
        status = bt_pipeline_run(w->ctx, pipeline, &options, module, &fused);
        bt_pipeline_destroy(pipeline);
    }
    bt_module_unref(module);
    BT_TRY(status);
    status = bt_compile(w->ctx, fused, &target, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    status = t->graph->load(w->ctx, compiled, "main", NULL, &session);
    bt_compiled_unref(compiled);
    BT_TRY(status);
    for (uint32_t i = 0; !status && i < c->narg; i++)
        status = call_arg(w, &c->args[i], r, &args[i]);
    if (!status)
        status = t->graph->call(w->ctx, session, "main", c->narg, args, NULL, out);
    t->graph->close(session);
    for (uint32_t i = 0; i < c->narg; i++)
        bt_object_unref(args[i]);
    return status;
}

static void compare_cpu(struct trial *t, const char *kind, const struct call_case *c,
                        const struct call_result *r, const struct call_case *flat,
                        const struct call_result *own)
{
    int has_tuple = type_of_result(r->call) != r->call->base.type;
    for (uint32_t i = 0; i < c->narg; i++)
        has_tuple |= c->args[i].is_tuple;
    // what stands around leaves tuples as they are, whose fields are arguments in the other call
    for (int is_around = 0; is_around < (has_tuple ? 1 : 2); is_around++) {
        const bt_op *around = is_around ? t->around : NULL;
        bt_object *want = NULL, *got = NULL;
        bt_status expected = run_cpu(t, &t->w, c, r, around, &want);
        bt_status status = expected ? NULL : run_cpu(t, &t->as, flat, own, around, &got);
        if (status)
            case_fault(&t->w, c, "%s: cpu: %s", kind, case_message(&t->w, status));
        else if (!expected && !is_equal_object(t, got, want))
            case_fault(&t->w, c, "%s: cpu: other bits", kind);
        bt_object_unref(want);
        bt_object_unref(got);
    }
}

/* With numbers: both are run. */
static bt_status compare_run(struct trial *t, const char *kind, const struct call_case *c,
                             const struct call_result *r)
{
    struct compute_attrs attrs;
    struct call_case flat = flat_case(c);
    struct call_result own;
    bt_graph *graph;
    bt_text text;
    bt_text_init(&text, t->w.arena);
    bt_status status = text_of(t, r->call, r->call->base.type, &graph, &attrs);
    if (status || !graph)
        return status && status->code == BT_ERR_MEMORY ? status : NULL;
    (void)bt_attrs_print(t->w.ctx, t->as.op, &attrs, &text);
    flat.attrs = bt_text_get(&text);
    if (!flat.attrs)
        return bt_no_memory();
    BT_TRY(call_run(&t->as, &flat, 7, 0, &own));
    int is_same = own.call && !own.why && own.nout == r->nout;
    if (!is_same)
        case_fault(&t->w, c, "%s: %s", kind, own.why ? own.why : "other results");
    else if (!bt_type_equal(own.call->base.type, type_of_result(r->call)))
        case_fault(&t->w, c, "%s: a result of another type", kind);
    for (uint32_t i = 0; is_same && i < r->nout; i++) {
        if (!case_is_equal(&t->w, r->out[i], own.out[i], 0))
            case_fault(&t->w, c, "%s: result %u has other bits", kind, i);
    }
    if (is_same)
        compare_cpu(t, kind, c, r, &flat, &own);
    t->nrun += (uint32_t)is_same;
    call_result_free(&own);
    return NULL;
}

/* ---- with dims ---- */

static bt_status make_func(struct trial *t, struct op_check *w, const struct call_case *c,
                           const bt_call *call, const bt_func **out)
{
    const struct call_result r = { .call = call };
    bt_module *module;
    BT_TRY(call_module(w, c, &r, NULL, &module));
    bt_func fields = *bt_module_find(module, "main")->func;
    fields.nvar = t->ndim;
    fields.vars = t->vars;
    bt_status status = bt_func_create(t->w.ctx, t->w.store, &fields, out);
    bt_module_unref(module);
    return status;
}

static bt_status run_func(struct trial *t, struct op_check *w, const struct call_case *c,
                          const bt_call *call, const struct call_result *r,
                          bt_tensor **out)
{
    const bt_func *func;
    bt_compute *compute;
    BT_TRY(make_func(t, w, c, call, &func));
    BT_TRY(bt_compute_create_func(t->w.ctx, func, t->sizes, &compute));
    bt_status status =
        bt_compute_run(t->w.ctx, compute, r->nin, (const bt_tensor *const *)r->in, out);
    bt_compute_destroy(compute);
    return status;
}

/* A call of `compute` of leaves with those types, in a function whose parameters they are. */
static bt_status build_compute(struct trial *t, const struct call_case *flat,
                               const struct compute_attrs *attrs, const bt_call **out)
{
    const bt_value *args[CASE_MAX_LEAF], *value;
    bt_builder *b;
    BT_TRY(bt_builder_create(t->w.ctx, t->w.store, NULL, &b));
    bt_status status = bt_block_begin(b, 0, NULL);
    for (uint32_t i = 0; !status && i < flat->narg; i++) {
        const bt_param *param;
        status =
            bt_build_param(b, NULL, case_type(t->w.store, flat, i, dim_of, t), &param);
        args[i] = status ? NULL : &param->base;
    }
    if (!status)
        status = bt_build_op(b, t->as.op, attrs, flat->narg, args, &value);
    if (!status)
        *out = bt_as_call(value);
    bt_builder_destroy(b);
    return status;
}

static bt_status compare_open(struct trial *t, const struct call_case *c,
                              const struct call_result *r)
{
    struct call_case flat = flat_case(c);
    bt_tensor *want[CALL_MAX_OUT] = { 0 }, *got[CALL_MAX_OUT] = { 0 };
    struct compute_attrs attrs;
    const bt_call *call, *own;
    bt_graph *graph;
    t->ndim = 0;
    bt_status status = call_build(&t->w, c, NULL, dim_of, t, NULL, &call);
    if (!status && t->ndim)
        BT_TRY(check_again(t, "open", c, call));
    if (!status && t->ndim)
        status = text_of(t, call, call->base.type, &graph, &attrs);
    if (status || !t->ndim || !graph || (call->base.type->has & BT_HAS_OPAQUE) ||
        run_func(t, &t->w, c, call, r, want)) // such dims cannot be open, as others see
        return status && status->code == BT_ERR_MEMORY ? status : NULL;
    status = build_compute(t, &flat, &attrs, &own);
    if (!status && own->base.type != type_of_result(call))
        case_fault(&t->w, c, "open: a result of another type");
    if (!status)
        status = run_func(t, &t->as, &flat, own, r, got);
    if (status)
        case_fault(&t->w, c, "open: %s in %s", case_message(&t->w, status),
                   attrs.formula);
    for (uint32_t i = 0; !status && i < r->nout; i++) {
        if (!case_is_equal(&t->w, want[i], got[i], 0))
            case_fault(&t->w, c, "open: result %u has other bits", i);
    }
    t->nopen += !status;
    for (uint32_t i = 0; i < r->nout; i++) {
        bt_tensor_unref(want[i]);
        bt_tensor_unref(got[i]);
    }
    return NULL;
}

/* ---- one operator ---- */

static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    struct call_result r;
    if (t->nmet++ % t->every != 0)
        return NULL;
    bt_status status = call_run(&t->w, c, 7, 0, &r);
    if (!status && r.call)
        status = check_again(t, kind, c, r.call);
    if (!status && r.call && !r.why)
        status = compare_run(t, kind, c, &r);
    if (!status && r.call && !r.why)
        status = compare_open(t, c, &r);
    call_result_free(&r);
    bt_ctx_clear_diags(t->w.ctx);
    return status;
}

static int run_op(bt_ctx *ctx, const char *name, const struct trial *like,
                  int *has_formula)
{
    struct trial t = *like;
    t.w = (struct op_check){ .ctx = ctx, .faults = json_array() };
    t.w.store = bt_store_create(bt_ctx_registry(ctx));
    t.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !t.w.store || !t.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &t.w.op);
    t.as = t.w;
    t.as.is_brief = 1;
    if (!status)
        status = bt_op_get(ctx, "compute", &t.as.op);
    *has_formula = !status && bt_op_has_formula(t.w.op);
    if (*has_formula)
        status = vary_all(&t.w, run_case, &t);
    const size_t nfault = json_array_size(t.w.faults);
    for (size_t i = 0; i < nfault; i++)
        printf("%s\n", json_string_value(json_array_get(t.w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    else if (*has_formula)
        printf("%s: %u graphs, %u run, %u open\n", name, t.ntext, t.nrun, t.nopen);
    json_decref(t.w.faults);
    bt_store_unref(t.w.store);
    bt_arena_destroy(t.w.arena);
    return status || nfault || (*has_formula && !t.ntext);
}

static int run(bt_ctx *ctx, const char *plugin, const char *only, struct trial trial)
{
    uint32_t nrun = 0, nwrong = 0;
    const void *row;
    bt_status status =
        bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row);
    if (!status)
        status = bt_op_get(ctx, "negative", &trial.around);
    if (!status)
        status = bt_plugins_scan(ctx);
    trial.graph = row;
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        int has_formula;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (*only && strcmp(item.name, only) != 0))
            continue;
        nwrong += (uint32_t)run_op(ctx, item.name, &trial, &has_formula);
        nrun += (uint32_t)has_formula;
    }
    if (status)
        printf("%s\n", status->message);
    printf("%u operators, %u with faults\n", nrun, nwrong);
    return status || nwrong || nrun == 0;
}

int main(int argc, char **argv)
{
    struct trial trial = { .every = argc > 4 ? (uint32_t)atoi(argv[4]) : 1 };
    if (argc < 3 || !trial.every) {
        printf("usage: conform_text PLUGINS PLUGIN [OPERATOR [EVERY]]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    const int failed = ctx ? run(ctx, argv[2], argc > 3 ? argv[3] : "", trial) : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
