/*
 * graph: runs static programs. Opening a session settles everything: which kernel runs
 * after which, and on which memory; a call only fills in where arguments and results are.
 *
 *     planned function      session
 *     alloc_storage         block: one of the session, or a result's, new for each call
 *     alloc_tensor          place: a block and an offset
 *     invoke                step: a kernel's number and the places of its buffers
 */
#include "session.h"

#include <string.h>

/* ---- calling ---- */

/* Arguments as dense tensors, leaves of tuples one after the other. */
struct leaves {
    bt_ctx *ctx;
    uint32_t n;
    bt_tensor **at;
};

static bt_status add_leaves(struct leaves *l, const bt_object *object)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (!tuple) {
        BT_TRY(bt_tensor_dense(l->ctx, bt_object_as_tensor(object), &l->at[l->n]));
        l->n++;
    }
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_leaves(l, tuple->fields[i]));
    return NULL;
}

static void *address(const struct session *s, const struct place *place, void **blocks,
                     bt_tensor *const *args)
{
    switch (place->kind) {
    case PLACE_ARG: return args[place->index]->data;
    case PLACE_CONST: return s->consts[place->index]->data;
    default: return (char *)blocks[place->index] + place->offset;
    }
}

static bt_status run_steps(bt_ctx *ctx, const struct session *s, void **blocks,
                           bt_tensor *const *args, void **buffers,
                           const bt_run_hook *hook)
{
    const bt_compiled *c = s->compiled;
    for (uint32_t i = 0; i < s->nstep; i++) {
        const struct step *step = &s->steps[i];
        for (uint32_t k = 0; k < step->nbuffer; k++)
            buffers[k] = address(s, &step->buffers[k], blocks, args);
        if (bt_ctx_cancelled(ctx))
            return bt_fail(ctx, BT_ERR_CANCELLED, "cancelled");
        BT_TRY(c->target->launch(ctx, c->loaded, step->kernel, buffers));
        if (hook && hook->binding)
            hook->binding(hook->self, step->value, NULL, 0);
    }
    return NULL;
}

/* The result's tensors, new for each call. */
static bt_status make_results(bt_ctx *ctx, const struct session *s, bt_tensor **results,
                              void **blocks)
{
    for (uint32_t i = 0; i < s->nresult; i++) {
        const struct result *r = &s->results[i];
        BT_TRY(bt_tensor_create(ctx, r->dtype, r->rank, r->dims, &results[i]));
        if (r->place.kind == PLACE_BLOCK && s->blocks[r->place.index].is_result)
            blocks[r->place.index] = results[i]->data;
    }
    return NULL;
}

/* What is returned as it came in, or from one block twice, is copied. */
static void copy_results(const struct session *s, void **blocks, bt_tensor *const *args,
                         bt_tensor **results)
{
    for (uint32_t i = 0; i < s->nresult; i++) {
        void *from = address(s, &s->results[i].place, blocks, args);
        if (from != results[i]->data && results[i]->nelem)
            memcpy(results[i]->data, from, bt_tensor_nbytes(results[i]));
    }
}

/* Tuples of the result's type. */
static bt_status nest(bt_ctx *ctx, const bt_type *type, bt_tensor **leaves,
                      uint32_t *next, bt_object **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        *out = bt_object_ref(&leaves[(*next)++]->base);
        return NULL;
    }
    bt_object **fields = BT_NEWS(bt_ctx_scratch(ctx), bt_object *, tuple->n);
    bt_tuple *made;
    bt_status status = fields ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < tuple->n; i++)
        status = nest(ctx, tuple->at[i], leaves, next, &fields[i]);
    if (!status)
        status = bt_tuple_create(ctx, tuple->n, fields, &made);
    for (uint32_t i = 0; fields && i < tuple->n; i++)
        bt_object_unref(fields[i]);
    if (!status)
        *out = &made->base;
    return status;
}

static bt_status run(bt_ctx *ctx, struct session *s, uint32_t narg,
                     bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    struct leaves in = { .ctx = ctx };
    in.at = BT_NEWS(scratch, bt_tensor *, s->narg);
    bt_tensor **results = BT_NEWS(scratch, bt_tensor *, s->nresult);
    void **blocks = BT_NEWS(scratch, void *, s->nblock);
    void **buffers = BT_NEWS(scratch, void *, s->most_buffers);
    bt_status status = in.at && results && blocks && buffers ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < s->nblock; i++)
        blocks[i] = s->blocks[i].memory ? s->blocks[i].memory->data : NULL;
    for (uint32_t i = 0; !status && i < narg; i++)
        status = add_leaves(&in, args[i]);
    if (!status)
        status = make_results(ctx, s, results, blocks);
    if (!status)
        status = run_steps(ctx, s, blocks, in.at, buffers, hook);
    if (!status) {
        uint32_t next = 0;
        copy_results(s, blocks, in.at, results);
        status = nest(ctx, s->entry->func->result, results, &next, out);
    }
    for (uint32_t i = 0; i < in.n; i++)
        bt_tensor_unref(in.at[i]);
    for (uint32_t i = 0; results && i < s->nresult; i++)
        bt_tensor_unref(results[i]);
    return status;
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    if (name && strcmp(name, s->entry->name) != 0)
        return bt_fail(ctx, BT_ERR_NAME, "graph: @%s was not compiled, @%s was", name,
                       s->entry->name);
    BT_TRY(bt_check_args(ctx, s->compiled->module, s->entry, narg, args));
    const void *mark = bt_arena_mark(scratch);
    bt_status status = run(ctx, s, narg, args, hook, out);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "graph",
        .doc = "Static programs: kernels of a target, on memory planned ahead.",
        .load = session_load,
        .close = session_close,
        .call = call,
    },
    { 0 },
};

const bt_table bt_plugins_graph_graph[] = { BT_EXECUTORS(executors), { 0 } };
