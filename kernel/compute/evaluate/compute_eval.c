/* Computations in plain C: the call's types are kept in a store of their own. */
#include "compute/evaluate/compute.h"

#include <string.h>

#include "base/ctx.h"
#include "ir/attrs.h"

/* ---- copying types ---- */

struct copying {
    bt_store *store;
    bt_map leaves; /* free variables and opaque dims -> fresh ones */
    bt_subst subst;
};

static const bt_type *copy_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct copying *c = subst->state;
    const bt_type *copy = bt_map_find(&c->leaves, leaf);
    if (copy)
        return copy;
    if (leaf->kind == BT_TYPE_VAR) {
        const bt_var_type *var = (const bt_var_type *)(const void *)leaf;
        copy = bt_type_var(c->store, &var->param, var->name);
    } else if (leaf->kind == BT_TYPE_OPAQUE) {
        copy =
            bt_dim_opaque(c->store, ((const bt_opaque_type *)(const void *)leaf)->name);
    }
    if (!copy || !bt_map_put(&c->leaves, leaf, (void *)(uintptr_t)copy))
        return NULL;
    return copy;
}

static const bt_type *copy_term(bt__attrs_walk *walk, const bt_type *term)
{
    struct copying *c = walk->state;
    return bt_type_copy(c->store, &c->subst, term);
}

static bt_status copy_call(bt_compute *compute, const bt_formula_call *call)
{
    struct copying c = { .store = compute->store };
    const bt_type **args = BT_NEWS(compute->arena, const bt_type *, call->narg);
    bt__attrs_walk walk = { .map = copy_term, .state = &c };
    bt_map_init(&c.leaves, compute->arena, 0);
    c.subst = (bt_subst){ .leaf = copy_leaf, .state = &c };
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = bt_type_copy(c.store, &c.subst, call->args[i]);
        if (!args[i])
            return bt_no_memory();
    }
    compute->args = args;
    compute->result = bt_type_copy(c.store, &c.subst, call->result);
    if (!compute->result)
        return bt_no_memory();
    if (!call->attrs || !call->op->attrs)
        return NULL;
    compute->attrs = bt__attrs_copy_to(c.store, &walk, call->op->attrs,
                                       call->op->attrs_nbytes, call->attrs);
    return compute->attrs ? NULL : bt_no_memory();
}

bt_status bt__compute_take_eval(bt_ctx *ctx, bt_compute *compute,
                                const bt_formula_call *call)
{
    (void)ctx;
    compute->store = bt_store_create(compute->registry);
    return compute->store ? copy_call(compute, call) : bt_no_memory();
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
