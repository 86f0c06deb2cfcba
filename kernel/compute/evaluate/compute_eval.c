/* Computations in plain C: the call's types are kept in a store of their own. */
#include "compute/evaluate/compute.h"

#include <string.h>

#include "base/ctx.h"
#include "compute/compose/copy.h"

/* Where the leaves of a binding's argument come from. */
static bt_status add_sources(bt_ctx *ctx, bt_compute *compute, const bt_value *arg,
                             uint32_t nleaf, const bt_block *block)
{
    const bt_const *constant = bt_as_const(arg);
    const bt_tensor *tensor = constant ? bt_object_as_tensor(constant->object) : NULL;
    uint32_t which = 0, input = 0;
    if (tensor) {
        compute->sources[compute->nleaf++].constant = bt_tensor_ref(tensor);
        return NULL;
    }
    while (which < block->nparam && &block->params[which]->base != arg)
        input += bt_type_nleaf(block->params[which++]->base.type);
    if (which == block->nparam)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: an argument is neither a parameter of the function nor a "
                       "constant tensor",
                       compute->name);
    for (uint32_t i = 0; i < nleaf; i++)
        compute->sources[compute->nleaf++].input = input + i;
    return NULL;
}

bt_status bt__compute_take_eval(bt_ctx *ctx, bt_compute *compute,
                                const bt_formula_call *call, const bt_call *binding,
                                const bt_block *block)
{
    struct bt__copying c;
    bt_formula_call own;
    uint32_t *arg_nleaf = BT_NEWS(compute->arena, uint32_t, call->narg), nleaf = 0;
    if (!call->op->eval)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s has neither a formula nor plain C: it cannot be computed",
                       call->op->name);
    compute->store = bt_store_create(compute->registry);
    if (!compute->store || !arg_nleaf)
        return bt_no_memory();
    bt__copying_init(&c, ctx, compute->arena, compute->store);
    BT_TRY(bt__copying_call(&c, call, &own));
    compute->op = call->op;
    compute->args = own.args;
    compute->result = own.result;
    compute->attrs = own.attrs;
    compute->narg = call->narg;
    compute->arg_nleaf = arg_nleaf;
    for (uint32_t i = 0; i < call->narg; i++)
        nleaf += arg_nleaf[i] = bt_type_nleaf(call->args[i]);
    compute->sources = BT_NEWS(compute->arena, struct bt__eval_leaf, nleaf);
    if (!compute->sources)
        return bt_no_memory();
    for (uint32_t i = 0; binding && i < call->narg; i++)
        BT_TRY(add_sources(ctx, compute, binding->args[i], arg_nleaf[i], block));
    for (; !binding && compute->nleaf < nleaf; compute->nleaf++)
        compute->sources[compute->nleaf].input = compute->nleaf;
    return NULL;
}

/* ---- calling ---- */

bt_status bt_eval_fail(bt_ctx *ctx, const bt_eval_call *call, const char *format, ...)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text message;
    bt_text_init(&message, scratch);
    bt_text_addf(&message, "%s: ", call->op->name);
    va_list args;
    va_start(args, format);
    bt_text_addv(&message, format, args);
    va_end(args);
    const char *text = bt_text_get(&message);
    bt_status status = text ? bt_fail(ctx, BT_ERR_RUNTIME, "%s", text) : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}

/* What a function called by plain C failed with, under the operator's name. */
static bt_status name_op(bt_ctx *ctx, const bt_op *op, bt_status status)
{
    if (!status || status->code == BT_ERR_MEMORY || status->note ||
        strncmp(status->message, op->name, strlen(op->name)) == 0)
        return status;
    return bt_fail(ctx, status->code, "%s: %s", op->name, status->message);
}

/* Plain C goes by the bytes of elements. */
static bt_status refuse_packed(bt_ctx *ctx, const bt_compute *compute, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    return bt_dtype_is_packed(dtype) || bt_dtype_is_moved(dtype)
               ? bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "%s is plain C, which takes no elements of %s%s",
                         compute->op->name, bt_dtype_name(dtype, name, sizeof(name)),
                         bt_dtype_is_packed(dtype)
                             ? ": cast to a type of whole bytes before"
                             : "")
               : NULL;
}

/* Plain C may rely on row-major inputs. */
static bt_status call_dense(bt_ctx *ctx, const bt_compute *compute,
                            const bt_tensor *const *in, bt_tensor **dense,
                            bt_tensor **out)
{
    for (uint32_t i = 0; i < compute->nleaf; i++) {
        const struct bt__eval_leaf *from = &compute->sources[i];
        BT_TRY(refuse_packed(ctx, compute,
                             (from->constant ? from->constant : in[from->input])->dtype));
        BT_TRY(bt_tensor_dense(ctx, from->constant ? from->constant : in[from->input],
                               &dense[i]));
    }
    for (uint32_t i = 0; i < compute->call.nresult; i++)
        BT_TRY(refuse_packed(ctx, compute, compute->call.results[i].dtype));
    bt_eval_call call = { .op = compute->op,
                          .attrs = compute->attrs,
                          .nin = compute->nleaf,
                          .nout = compute->call.nresult,
                          .in = (const bt_tensor *const *)dense,
                          .out = out,
                          .narg = compute->narg,
                          .arg_nleaf = compute->arg_nleaf,
                          .args = compute->args,
                          .result = compute->result };
    bt_running_part part = { "plain C of", compute->op->name, compute->op->plugin, NULL };
    bt__part_begin(ctx, &part);
    bt_status status = compute->op->eval(ctx, &call);
    bt__part_end(ctx, &part);
    return name_op(ctx, compute->op, status);
}

bt_status bt__compute_run_eval(bt_ctx *ctx, bt_compute *compute,
                               const bt_tensor *const *in, bt_tensor **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **dense = BT_NEWS(scratch, bt_tensor *, compute->nleaf);
    bt_status status = dense ? call_dense(ctx, compute, in, dense, out) : bt_no_memory();
    for (uint32_t i = 0; dense && i < compute->nleaf; i++)
        bt_tensor_unref(dense[i]);
    bt_arena_release(scratch, mark);
    return status;
}
