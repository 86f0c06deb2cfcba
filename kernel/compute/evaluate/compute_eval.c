/* Computations in plain C: the call's types are kept in a store of their own. */
#include "compute/evaluate/compute.h"

#include <string.h>

#include "base/ctx.h"
#include "compute/compose/copy.h"

bt_status bt__compute_take_eval(bt_ctx *ctx, bt_compute *compute,
                                const bt_formula_call *call)
{
    struct bt__copying c;
    bt_formula_call own;
    compute->store = bt_store_create(compute->registry);
    if (!compute->store)
        return bt_no_memory();
    bt__copying_init(&c, ctx, compute->arena, compute->store);
    BT_TRY(bt__copying_call(&c, call, &own));
    compute->args = own.args;
    compute->result = own.result;
    compute->attrs = own.attrs;
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

/* Plain C may rely on row-major inputs. */
static bt_status call_dense(bt_ctx *ctx, const bt_compute *compute, uint32_t nin,
                            const bt_tensor *const *in, bt_tensor **dense,
                            uint32_t *nleaf, bt_tensor **out)
{
    for (uint32_t i = 0; i < nin; i++)
        BT_TRY(bt_tensor_dense(ctx, in[i], &dense[i]));
    for (uint32_t i = 0; i < compute->call.narg; i++)
        nleaf[i] = compute->call.args[i].nleaf;
    bt_eval_call call = { .op = compute->op,
                          .attrs = compute->attrs,
                          .nin = nin,
                          .nout = compute->call.nresult,
                          .in = (const bt_tensor *const *)dense,
                          .out = out,
                          .narg = compute->call.narg,
                          .arg_nleaf = nleaf,
                          .args = compute->args,
                          .result = compute->result };
    bt_running_part part = { "plain C of", compute->op->name, compute->op->plugin, NULL };
    bt__part_begin(ctx, &part);
    bt_status status = compute->op->eval(ctx, &call);
    bt__part_end(ctx, &part);
    return name_op(ctx, compute->op, status);
}

bt_status bt__compute_run_eval(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                               const bt_tensor *const *in, bt_tensor **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **dense = BT_NEWS(scratch, bt_tensor *, nin);
    uint32_t *nleaf = BT_NEWS(scratch, uint32_t, compute->call.narg);
    bt_status status = dense && nleaf
                           ? call_dense(ctx, compute, nin, in, dense, nleaf, out)
                           : bt_no_memory();
    for (uint32_t i = 0; dense && i < nin; i++)
        bt_tensor_unref(dense[i]);
    bt_arena_release(scratch, mark);
    return status;
}
