/*
 * vmap of every operator: a batch gives what its examples give, one by one: the same bits,
 * or where sums are in another order, numbers that are case_tolerance apart at most.
 *
 *     vmap_check PLUGINS PLUGIN [OPERATOR]
 *
 * At every case of the plugin's operators three examples are drawn. First all arguments differ by
 * example, then each one alone does, while the others are those of the first example.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>

#include "case_run.h"

enum { NEXAMPLE = 3 };

static const struct exception {
    const char *op, *reason;
} exceptions[] = {
#define EXCEPTION(op, reason) { op, reason },
#include "exceptions.def"
};

struct run {
    struct op_check w;
    const bt_executor *interp;
    uint32_t ncase, nrun, nrefused, nnear;
    const char *refused; /* why the last one was */
};

/* One case. */
struct batch {
    struct run *run;
    const struct call_case *c;
    struct call_result r[NEXAMPLE];
    bt_module *module;              /* of the call */
    uint8_t differs[CASE_MAX_LEAF]; /* of each argument */
};

/* ---- arguments ---- */

static bt_status stack(struct batch *b, uint32_t leaf, bt_tensor **out)
{
    const bt_tensor *first = b->r[0].in[leaf];
    int64_t dims[BT_MAX_RANK] = { NEXAMPLE };
    for (uint32_t i = 0; i < first->rank; i++)
        dims[i + 1] = first->dims[i];
    BT_TRY(bt_tensor_create(b->run->w.ctx, first->dtype, first->rank + 1, dims, out));
    for (uint32_t k = 0; k < NEXAMPLE; k++) {
        const bt_tensor *in = b->r[k].in[leaf];
        for (int64_t i = 0; i < in->nelem; i++) {
            const int64_t at = k * in->nelem + i;
            if (bt_dtype_is_real(in->dtype))
                bt_tensor_set(*out, at, bt_tensor_get(in, i));
            else
                bt_tensor_set_int(*out, at, bt_tensor_get_int(in, i));
        }
    }
    return NULL;
}

/* Argument i of the batch; example: or of one example alone. */
static bt_status arg_of(struct batch *b, uint32_t i, int example, bt_object **out)
{
    const struct case_arg *arg = &b->c->args[i];
    struct call_result r = b->r[example > 0 && b->differs[i] ? example : 0];
    if (example >= 0 || !b->differs[i])
        return call_arg(&b->run->w, arg, &r, out);
    bt_status status = NULL;
    uint32_t n = 0;
    for (; !status && n < arg->nleaf; n += !status)
        status = stack(b, arg->first + n, &r.in[arg->first + n]);
    if (!status)
        status = call_arg(&b->run->w, arg, &r, out);
    for (uint32_t k = 0; k < n; k++)
        bt_tensor_unref(r.in[arg->first + k]);
    return status;
}

static bt_status call(struct batch *b, void *session, const char *name, int example,
                      bt_object **out)
{
    bt_object *args[CASE_MAX_LEAF] = { 0 };
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < b->c->narg; i++)
        status = arg_of(b, i, example, &args[i]);
    if (!status)
        status = b->run->interp->call(b->run->w.ctx, session, name, b->c->narg, args,
                                      NULL, out);
    for (uint32_t i = 0; i < b->c->narg; i++)
        bt_object_unref(args[i]);
    return status;
}

/* ---- results ---- */

static const bt_tensor *leaf_of(const bt_object *object, uint32_t leaf)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    return bt_object_as_tensor(!tuple                 ? object
                               : leaf < tuple->nfield ? tuple->fields[leaf]
                                                      : NULL);
}

/* Of floats the bits may be those of a sum in another order: then `is_near` is set. */
static int is_same(const bt_tensor *all, uint32_t example, const bt_tensor *one,
                   uint32_t *is_near)
{
    const double largest = bt_tensor_largest(one), bound = case_tolerance(one);
    if (!all || !one || all->rank != one->rank + 1 ||
        all->nelem != NEXAMPLE * one->nelem || all->dtype != one->dtype)
        return 0;
    for (int64_t i = 0; i < one->nelem; i++) {
        const int64_t at = example * one->nelem + i;
        const double a = bt_tensor_get(all, at), o = bt_tensor_get(one, i);
        if (a == o || (a != a && o != o))
            continue;
        if (!bt_dtype_is_float(one->dtype) || !(fabs(a - o) <= bound * (largest + 1)))
            return 0;
        *is_near = 1;
    }
    return 1;
}

static void compare(struct batch *b, const bt_object *all, uint32_t example,
                    const bt_object *one)
{
    uint32_t is_near = 0;
    for (uint32_t leaf = 0; leaf < b->r[0].nout; leaf++) {
        if (!is_same(leaf_of(all, leaf), example, leaf_of(one, leaf), &is_near))
            case_fault(&b->run->w, b->c, "result %u of example %u differs in the batch",
                       leaf, example);
    }
    b->run->nnear += is_near;
}

/* ---- programs ---- */

static const bt_type *batched(bt_store *store, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_type *at[CASE_MAX_LEAF + BT_MAX_RANK];
    if (tuple) {
        for (uint32_t i = 0; i < tuple->n; i++)
            at[i] = batched(store, tuple->at[i]);
        return bt_type_tuple(store, tuple->n, at);
    }
    const bt_shape_type *shape = bt_tensor_shape(type);
    at[0] = bt_dim(store, NEXAMPLE);
    for (uint32_t i = 0; i < shape->n; i++)
        at[i + 1] = shape->dims[i];
    return bt_type_tensor(store, bt_type_shape(store, shape->n + 1, at),
                          bt_as_tensor_type(type)->dtype);
}

static bt_status build_func(struct batch *b, bt_builder *builder, const bt_func **out)
{
    const bt_func *one = bt_module_find(b->module, "main")->func;
    const bt_param *params[CASE_MAX_LEAF];
    const bt_value *args[CASE_MAX_LEAF + 1], *result;
    bt_func fields = { .name = bt_name_of(b->module->store, "batch") };
    bt_text axes;
    bt_text_init(&axes, b->run->w.arena);
    bt_text_addf(&axes, "axes=[");
    BT_TRY(bt_build_global(builder, "main", &args[0]));
    for (uint32_t i = 0; i < b->c->narg; i++) {
        const bt_type *type = one->block->params[i]->base.type;
        BT_TRY(bt_build_param(builder, "x",
                              b->differs[i] ? batched(b->module->store, type) : type,
                              &params[i]));
        args[i + 1] = &params[i]->base;
        bt_text_addf(&axes, "%s%d", i ? ", " : "", b->differs[i] ? 0 : -1);
    }
    bt_text_addf(&axes, "]");
    BT_TRY(bt_block_begin(builder, b->c->narg, params));
    BT_TRY(bt_build(builder, "vmap", bt_text_get(&axes), args, b->c->narg + 1, &result));
    BT_TRY(bt_block_end(builder, result, &fields.block));
    fields.result = result->type;
    return bt_func_create(b->run->w.ctx, b->module->store, &fields, out);
}

static bt_status build(struct batch *b, bt_module **out)
{
    bt_global global = { .kind = BT_GLOBAL_FUNC };
    bt_builder *builder;
    bt_module_builder *modules;
    BT_TRY(bt_builder_create(b->run->w.ctx, b->module->store, b->module, &builder));
    bt_status status = build_func(b, builder, &global.func);
    bt_builder_destroy(builder);
    BT_TRY(status);
    global.name = global.func->name;
    BT_TRY(
        bt_module_builder_create(b->run->w.ctx, b->module->store, b->module, &modules));
    status = bt_module_builder_set(modules, &global, 1);
    if (!status)
        return bt_module_builder_finish(modules, 1, out);
    bt_module_builder_destroy(modules);
    return status;
}

static bt_status batch(struct batch *b, bt_module **out)
{
    const bt_pipeline_options options = { .level = -1, .verify_each = 1 };
    bt_pipeline *pipeline;
    bt_module *with;
    BT_TRY(build(b, &with));
    bt_status status = bt_pipeline_read(b->run->w.ctx, "vmap", &pipeline);
    if (!status) {
        status = bt_pipeline_run(b->run->w.ctx, pipeline, &options, with, out);
        bt_pipeline_destroy(pipeline);
    }
    bt_module_unref(with);
    return status;
}

static bt_status run_batch(struct batch *b, bt_module *module)
{
    bt_object *all = NULL;
    void *session;
    BT_TRY(b->run->interp->open(b->run->w.ctx, module, NULL, &session));
    bt_status status = call(b, session, "batch", -1, &all);
    for (uint32_t k = 0; !status && k < NEXAMPLE; k++) {
        bt_object *one = NULL;
        status = call(b, session, "main", (int)k, &one);
        if (!status)
            compare(b, all, k, one);
        bt_object_unref(one);
    }
    bt_object_unref(all);
    b->run->interp->close(session);
    b->run->nrun++;
    return status;
}

static bt_status check(struct batch *b)
{
    bt_module *module;
    bt_status status = batch(b, &module);
    if (!status) {
        status = run_batch(b, module);
        bt_module_unref(module);
        if (status && status->code != BT_ERR_MEMORY) {
            case_fault(&b->run->w, b->c, "in a batch: %s",
                       case_message(&b->run->w, status));
            return NULL;
        }
        return status;
    }
    if (status->code != BT_ERR_UNSUPPORTED)
        return status;
    b->run->nrefused++;
    b->run->refused = case_message(&b->run->w, status);
    return NULL;
}

/* ---- cases ---- */

static bt_status check_masks(struct batch *b)
{
    memset(b->differs, 1, sizeof(b->differs));
    BT_TRY(check(b));
    for (uint32_t i = 0; b->c->narg > 1 && i < b->c->narg; i++) {
        memset(b->differs, 0, sizeof(b->differs));
        b->differs[i] = 1;
        BT_TRY(check(b));
    }
    return NULL;
}

static bt_status check_case(struct run *r, const struct call_case *c)
{
    struct batch b = { .run = r, .c = c };
    bt_status status = NULL;
    uint32_t n = 0;
    for (; !status && n < NEXAMPLE; n += !status)
        status = call_run(&r->w, c, n + 1, CASE_RANDOM, &b.r[n]);
    if (!status && !b.r[0].why && !b.r[1].why && !b.r[2].why && c->narg) {
        r->ncase++;
        status = call_module(&r->w, c, &b.r[0], NULL, &b.module);
        if (!status)
            status = check_masks(&b);
        bt_module_unref(b.module);
    }
    for (uint32_t k = 0; k < n; k++)
        call_result_free(&b.r[k]);
    bt_ctx_clear_diags(r->w.ctx);
    return status;
}

static bt_status run_cases(struct run *r)
{
    const void *facet;
    struct call_case c;
    int is_case = 1;
    BT_TRY(bt_op_facet(r->w.ctx, r->w.op, "cases", &facet));
    const char *text = facet ? ((const bt_cases_facet *)facet)->text : "";
    while (is_case) {
        BT_TRY(case_next(r->w.ctx, r->w.arena, r->w.op->name, &text, &c, &is_case));
        if (is_case)
            BT_TRY(check_case(r, &c));
    }
    return NULL;
}

/* What is refused is what the list says, no more and no less. */
static uint32_t check_refused(const struct run *r, const char *op)
{
    const char *reason = NULL;
    for (uint32_t i = 0; i < BT_COUNT(exceptions); i++) {
        if (strcmp(exceptions[i].op, op) == 0)
            reason = exceptions[i].reason;
    }
    if (r->nrefused)
        printf("%s: refused %u times: %s\n", op, r->nrefused, r->refused);
    if (!r->nrefused == !reason && (!reason || strstr(r->refused, reason)))
        return 0;
    printf("%s: exceptions.def says: %s\n", op, reason ? reason : "never refused");
    return 1;
}

static uint32_t run_op(bt_ctx *ctx, const char *name, struct run *sum)
{
    struct run r = { .w = { .ctx = ctx, .faults = json_array() }, .interp = sum->interp };
    r.w.store = bt_store_create(bt_ctx_registry(ctx));
    r.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !r.w.store || !r.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &r.w.op);
    if (!status)
        status = run_cases(&r);
    uint32_t nwrong = (uint32_t)json_array_size(r.w.faults) + (status != NULL);
    for (size_t i = 0; i < json_array_size(r.w.faults); i++)
        printf("%s\n", json_string_value(json_array_get(r.w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    if (r.nnear)
        printf("%s: %u examples have sums in another order\n", name, r.nnear);
    sum->nnear += r.nnear;
    nwrong += check_refused(&r, name);
    sum->ncase += r.ncase;
    sum->nrun += r.nrun;
    sum->nrefused += r.nrefused;
    json_decref(r.w.faults);
    bt_store_unref(r.w.store);
    bt_arena_destroy(r.w.arena);
    return nwrong;
}

static int run(bt_ctx *ctx, const char *plugin, const char *only)
{
    uint32_t nop = 0, nwrong = 0;
    struct run sum = { .ncase = 0 };
    const void *row;
    bt_status status = bt_plugins_scan(ctx);
    if (!status)
        status =
            bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row);
    sum.interp = status ? NULL : row;
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (*only && strcmp(item.name, only) != 0))
            continue;
        nwrong += run_op(ctx, item.name, &sum) > 0;
        nop++;
    }
    if (status)
        printf("%s\n", status->message);
    printf("%u operators, %u cases, %u batches, %u refused; %u operators with faults\n",
           nop, sum.ncase, sum.nrun, sum.nrefused, nwrong);
    return status || nwrong || !sum.nrun;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        printf("usage: vmap_check PLUGINS PLUGIN [OPERATOR]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1], .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int wrong = ctx ? run(ctx, argv[2], argc > 3 ? argv[3] : "") : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return wrong;
}
