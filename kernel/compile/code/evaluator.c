/*
 * A primitive function run by the reference evaluator, as a target's kernels are. One with
 * open dims is computed anew where a call has other dims than the last.
 */
#include <pthread.h>
#include <string.h>

#include "compute/evaluate/compute.h"

#include <baton/target.h>

struct bt_evaluator {
    pthread_mutex_t lock; /* of what follows: a bt_compute serves one run at a time */
    bt_module *module;
    const bt_func *func;
    uint32_t nin, nout;
    int64_t *dims;       /* of the last call */
    bt_compute *compute; /* for them; NULL: there was none */
    bt_arena *arena;
};

/* ---- text ---- */

bt_status bt_evaluator_print(bt_ctx *ctx, const bt_func *func, bt_text *out)
{
    bt_module_builder *builder;
    bt_module *module;
    bt_store *store = func->block->result->type->store;
    const bt_global global = { .name = func->name,
                               .kind = BT_GLOBAL_FUNC,
                               .type = bt_func_type_of(store, func),
                               .func = func };
    if (!global.type)
        return bt_no_memory();
    BT_TRY(bt_module_builder_create(ctx, store, NULL, &builder));
    bt_status status = bt_module_builder_set(builder, &global, 1);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &module));
    status = bt_print(ctx, module, NULL, out);
    bt_module_unref(module);
    return status ? status : out->failed ? bt_no_memory() : NULL;
}

/* ---- the function ---- */

/* Its computation for some dims: that of the last call where nothing differs. */
static bt_status compute_for(bt_ctx *ctx, bt_evaluator *e, const int64_t *dims)
{
    const uint32_t n = e->func->nvar;
    bt_compute *compute;
    if (e->compute && (!n || memcmp(e->dims, dims, n * sizeof(*dims)) == 0))
        return NULL;
    BT_TRY(bt_compute_create_func(ctx, e->func, dims, &compute));
    for (uint32_t i = 0; i < e->nin; i++) {
        const struct bt__leaf *leaf = &compute->call.leaves[i];
        int is_known = leaf->has_rank && leaf->dtype;
        for (uint32_t a = 0; is_known && a < leaf->rank; a++)
            is_known = leaf->dims[a] >= 0;
        if (!is_known) {
            bt_compute_destroy(compute);
            return bt_fail(ctx, BT_ERR_FORMAT, "@%s has no tensors of known dims",
                           e->func->name);
        }
    }
    bt_compute_destroy(e->compute);
    e->compute = compute;
    for (uint32_t i = 0; i < n; i++)
        e->dims[i] = dims[i];
    return NULL;
}

/* Without dims its computation is made now. */
static bt_status load(bt_ctx *ctx, bt_evaluator *e, const char *text, size_t nbytes)
{
    bt_module *parsed;
    BT_TRY(bt_parse(ctx, "functions", NULL, text, nbytes, &parsed));
    bt_status status = bt_infer(ctx, parsed, &e->module);
    bt_module_unref(parsed);
    BT_TRY(status);
    if (e->module->nglobal != 1 || e->module->globals[0]->kind != BT_GLOBAL_FUNC)
        return bt_fail(ctx, BT_ERR_FORMAT, "the text is not of one function");
    e->func = e->module->globals[0]->func;
    e->nout = bt_type_nleaf(e->func->result);
    for (uint32_t i = 0; i < e->func->block->nparam; i++)
        e->nin += bt_type_nleaf(e->func->block->params[i]->base.type);
    e->dims = BT_NEWS(e->arena, int64_t, e->func->nvar);
    if (!e->dims)
        return bt_no_memory();
    return e->func->nvar ? NULL : compute_for(ctx, e, NULL);
}

bt_status bt_evaluator_create(bt_ctx *ctx, const char *text, size_t nbytes,
                              bt_evaluator **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_evaluator *e = arena ? BT_NEW(arena, bt_evaluator) : NULL;
    if (!e) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *e = (bt_evaluator){ .arena = arena };
    pthread_mutex_init(&e->lock, NULL); // without attributes it cannot fail
    bt_status status = load(ctx, e, text, nbytes);
    if (status)
        bt_evaluator_destroy(e);
    else
        *out = e;
    return status;
}

void bt_evaluator_destroy(bt_evaluator *e)
{
    if (!e)
        return;
    bt_compute_destroy(e->compute);
    bt_module_unref(e->module);
    pthread_mutex_destroy(&e->lock);
    bt_arena_destroy(e->arena);
}

/* ---- running ---- */

/* Under the lock. */
static bt_status run(bt_ctx *ctx, bt_evaluator *e, const bt_kernel_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    bt_tensor **in = BT_NEWS(scratch, bt_tensor *, e->nin);
    bt_tensor **out = BT_NEWS(scratch, bt_tensor *, e->nout);
    if (!in || !out)
        return bt_no_memory();
    bt_status status = compute_for(ctx, e, call->dims);
    for (uint32_t i = 0; !status && i < e->nin; i++) {
        const struct bt__leaf *leaf = &e->compute->call.leaves[i];
        status = bt_tensor_wrap(ctx, leaf->dtype, leaf->rank, leaf->dims,
                                call->buffers[i], &in[i]);
    }
    if (!status)
        status =
            bt_compute_run(ctx, e->compute, e->nin, (const bt_tensor *const *)in, out);
    for (uint32_t i = 0; !status && i < e->nout; i++) {
        if (out[i]->nelem)
            memcpy(call->buffers[e->nin + i], out[i]->data, bt_tensor_nbytes(out[i]));
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; i < e->nin; i++)
        bt_tensor_unref(in[i]);
    return status;
}

bt_status bt_evaluator_run(bt_ctx *ctx, bt_evaluator *e, const bt_kernel_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    pthread_mutex_lock(&e->lock);
    bt_status status = run(ctx, e, call);
    pthread_mutex_unlock(&e->lock);
    bt_arena_release(scratch, mark);
    return status;
}
