/* A case by other ways: as a program that interp runs, and by the plain C of an operator
 * that has a formula besides. */
#include <string.h>

#include <baton/compute.h>
#include <baton/executor.h>

#include "case_run.h"

int case_is_equal(struct op_check *w, const bt_tensor *a, const bt_tensor *b,
                  double tolerance)
{
    bt_tensor_difference difference;
    return a->dtype == b->dtype &&
           !bt_tensor_compare(w->ctx, a, b, tolerance, tolerance, &difference) &&
           difference.ndifferent == 0;
}

/* ---- as a program ---- */

static bt_status build_around(bt_builder *b, const bt_op *op, const bt_value **value)
{
    if (!op || !bt_dtype_is_float(bt_tensor_dtype((*value)->type)))
        return NULL;
    return bt_build_op(b, op, NULL, 1, (const bt_value *[]){ *value }, value);
}

int call_is_const(const struct op_check *w, const struct call_case *c, uint32_t i)
{
    return w->nfree && i >= w->nfree && !c->args[i].is_tuple;
}

static bt_status build_body(struct op_check *w, bt_builder *b, const struct call_case *c,
                            const struct call_result *r, const bt_op *around,
                            const bt_func **out)
{
    const bt_param *params[CASE_MAX_LEAF];
    const bt_value *args[CASE_MAX_LEAF], *value;
    const bt_block *block;
    uint32_t nparam = 0;
    for (uint32_t i = 0; i < c->narg; i++) {
        char name[16];
        if (call_is_const(w, c, i)) {
            BT_TRY(bt_build_const(b, &r->in[c->args[i].first]->base, &args[i]));
            continue;
        }
        snprintf(name, sizeof(name), "x%u", i);
        BT_TRY(bt_build_param(b, name, r->call->args[i]->type, &params[nparam]));
        args[i] = &params[nparam++]->base;
    }
    BT_TRY(bt_block_begin(b, nparam, params));
    for (uint32_t i = 0; i < c->narg; i++)
        BT_TRY(build_around(b, around, &args[i]));
    BT_TRY(bt_build_op(b, w->op, r->call->attrs, c->narg, args, &value));
    BT_TRY(build_around(b, around, &value));
    BT_TRY(bt_block_end(b, value, &block));
    bt_func fields = { .name = "main", .result = value->type, .block = block };
    return bt_func_create(w->ctx, w->store, &fields, out);
}

static bt_status build_func(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, const bt_op *around,
                            const bt_func **out)
{
    bt_builder *b;
    BT_TRY(bt_builder_create(w->ctx, w->store, NULL, &b));
    bt_status status = build_body(w, b, c, r, around, out);
    bt_builder_destroy(b);
    return status;
}

bt_status call_module(struct op_check *w, const struct call_case *c,
                      const struct call_result *r, const bt_op *around, bt_module **out)
{
    const bt_func *func;
    bt_module_builder *builder;
    BT_TRY(build_func(w, c, r, around, &func));
    bt_global global = { .name = func->name,
                         .kind = BT_GLOBAL_FUNC,
                         .func = func,
                         .type = bt_func_type_of(w->store, func) };
    if (!global.type)
        return bt_no_memory();
    BT_TRY(bt_module_builder_create(w->ctx, w->store, NULL, &builder));
    bt_status status = bt_module_builder_set(builder, &global, 1);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}

bt_status call_arg(struct op_check *w, const struct case_arg *arg,
                   const struct call_result *r, bt_object **out)
{
    bt_object *fields[CASE_MAX_LEAF];
    if (!arg->is_tuple) {
        *out = bt_object_ref(&r->in[arg->first]->base);
        return NULL;
    }
    for (uint32_t i = 0; i < arg->nleaf; i++)
        fields[i] = &r->in[arg->first + i]->base;
    bt_tuple *tuple;
    BT_TRY(bt_tuple_create(w->ctx, arg->nleaf, fields, &tuple));
    *out = &tuple->base;
    return NULL;
}

static void compare_object(struct op_check *w, const struct call_case *c,
                           const struct call_result *r, const bt_object *result)
{
    const bt_tuple *tuple = bt_object_as_tuple(result);
    for (uint32_t i = 0; i < r->nout; i++) {
        const bt_object *field = !tuple              ? result
                                 : i < tuple->nfield ? tuple->fields[i]
                                                     : NULL;
        const bt_tensor *tensor = field ? bt_object_as_tensor(field) : NULL;
        if (!tensor || (!op_is_random(w->op) && !case_is_equal(w, tensor, r->out[i], 0)))
            case_fault(w, c, "interp gives another result %u than the evaluator", i);
    }
}

static bt_status call_executor(struct op_check *w, const struct call_case *c,
                               const struct call_result *r, const bt_executor *executor,
                               void *session)
{
    bt_object *args[CASE_MAX_LEAF] = { 0 }, *result = NULL;
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < c->narg; i++)
        status = call_arg(w, &c->args[i], r, &args[i]);
    if (!status) {
        bt_status run =
            executor->call(w->ctx, session, "main", c->narg, args, NULL, &result);
        if (run)
            case_fault(w, c, "interp: %s", case_message(w, run));
        else
            compare_object(w, c, r, result);
    }
    for (uint32_t i = 0; i < c->narg; i++)
        bt_object_unref(args[i]);
    bt_object_unref(result);
    return status;
}

static bt_status run_program(struct op_check *w, const struct call_case *c,
                             const struct call_result *r)
{
    const void *row;
    bt_module *module;
    void *session;
    BT_TRY(
        bt_registry_row(w->ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    BT_TRY(call_module(w, c, r, NULL, &module));
    const bt_executor *executor = row;
    bt_status status = executor->open(w->ctx, module, NULL, &session);
    if (!status) {
        status = call_executor(w, c, r, executor, session);
        executor->close(session);
    }
    bt_module_unref(module);
    return status;
}

/* ---- by plain C ---- */

double case_tolerance(const bt_tensor *tensor)
{
    return bt_dtype_epsilon(tensor->dtype) * (bt_dtype_is_small_float(tensor->dtype) ? 2
                                              : tensor->dtype == BT_FLOAT32          ? 16
                                                                            : 128);
}

static bt_status run_plain(struct op_check *w, const struct call_case *c,
                           const struct call_result *r)
{
    bt_op alone = *w->op;
    const bt_type *args[CASE_MAX_LEAF];
    bt_tensor *out[CALL_MAX_OUT] = { 0 };
    bt_compute *compute;
    alone.formula = NULL;
    alone.write_formula = NULL;
    for (uint32_t i = 0; i < c->narg; i++)
        args[i] = r->call->args[i]->type;
    bt_formula_call call = { .op = &alone,
                             .attrs = r->call->attrs,
                             .narg = c->narg,
                             .args = args,
                             .result = r->call->base.type };
    bt_status status = bt_compute_create(w->ctx, &call, &compute);
    if (!status) {
        if (bt_compute_nout(compute) == r->nout)
            status = bt_compute_run(w->ctx, compute, r->nin,
                                    (const bt_tensor *const *)r->in, out);
        else
            case_fault(w, c, "its plain C gives %u results, its formula %u",
                       bt_compute_nout(compute), r->nout);
        bt_compute_destroy(compute);
    }
    if (status && status->code != BT_ERR_MEMORY) {
        case_fault(w, c, "its plain C, besides its formula: %s", case_message(w, status));
        status = NULL;
    }
    for (uint32_t i = 0; i < r->nout; i++) {
        if (out[i] && !case_is_equal(w, out[i], r->out[i], case_tolerance(out[i])))
            case_fault(w, c, "its formula and its plain C give different results %u", i);
        bt_tensor_unref(out[i]);
    }
    return status;
}

bt_status call_run_again(struct op_check *w, const struct call_case *c,
                         const struct call_result *r)
{
    BT_TRY(run_program(w, c, r));
    if (w->op->eval && !op_is_random(w->op) && bt_op_has_formula(w->op))
        BT_TRY(run_plain(w, c, r));
    return NULL;
}
