/*
 * graph: runs programs without branches. Opening a session settles everything: which
 * kernel runs after which, and on which memory; a call only fills in where arguments and
 * results are. Sizes that depend on dims of the entry are settled by the first call, and by
 * those whose dims differ from the last one's.
 *
 *     planned function      session
 *     alloc_storage         block: one of the session, or a result's, new for each call
 *     alloc_tensor          place: a block and an offset
 *     invoke, copy          step: a kernel's number and the places of its buffers
 */
#include "run.h"

#include <string.h>

/* ---- arguments ---- */

/* The elements of an argument, to be read by kernels: as they stand, or a copy. */
static bt_status take_leaf(bt_ctx *ctx, const struct session *s, struct leaf *leaf,
                           const bt_tensor *given, const bt_tensor **out)
{
    bt_tensor *dense;
    *out = given;
    if (bt_tensor_is_plain(given))
        return NULL;
    if (!leaf->own)
        BT_TRY(leaf_tensor(ctx, s, leaf, &leaf->own));
    BT_TRY(bt_tensor_dense(ctx, given, &dense));
    memcpy(leaf->own->data, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    *out = leaf->own;
    return NULL;
}

/* Leaves of one argument, from number *n on. *fits is 0 where they are not of its type. Recursion
 * is bounded by the depth of types. */
static bt_status take_leaves(bt_ctx *ctx, struct session *s, const bt_type *type,
                             const bt_object *object, uint32_t *n, int *fits)
{
    const bt_list_type *expected = bt_as_tuple_type(type);
    const bt_tensor *tensor = object ? bt_object_as_tensor(object) : NULL;
    const bt_tuple *tuple = object ? bt_object_as_tuple(object) : NULL;
    *fits = expected ? tuple && tuple->nfield == expected->n
                     : tensor && leaf_admits(s, &s->args[*n], tensor);
    if (*fits && !expected) {
        BT_TRY(take_leaf(ctx, s, &s->args[*n], tensor, &s->in[*n]));
        ++*n;
    }
    for (uint32_t i = 0; *fits && expected && i < expected->n; i++)
        BT_TRY(take_leaves(ctx, s, expected->at[i], tuple->fields[i], n, fits));
    return NULL;
}

/* *fits is 0 where they are not of the types that the dims of this call give. */
static bt_status take_all(bt_ctx *ctx, struct session *s, uint32_t narg,
                          bt_object *const *args, int *fits)
{
    const bt_block *block = s->entry->func->block;
    uint32_t n = 0;
    *fits = s->is_settled && narg == block->nparam;
    for (uint32_t i = 0; *fits && i < narg; i++)
        BT_TRY(take_leaves(ctx, s, block->params[i]->base.type, args[i], &n, fits));
    return NULL;
}

static bt_status take_args(bt_ctx *ctx, struct session *s, uint32_t narg,
                           bt_object *const *args)
{
    const uint32_t ndim = s->entry->func->nvar;
    int fits;
    BT_TRY(take_all(ctx, s, narg, args, &fits));
    if (fits)
        return NULL;
    BT_TRY(bt_check_args(ctx, s->compiled->module, s->entry, narg, args, s->dims));
    for (uint32_t i = 0; i < ndim; i++) {
        // lowering refuses such; an artifact may be of anybody's making
        if (s->dims[i] < 0)
            return bt_fail(ctx, BT_ERR_ARGUMENT, "@%s: no argument's shape shows dim %u",
                           s->entry->name, i);
    }
    if (ndim) {
        BT_TRY(session_settle(ctx, s, s->dims));
        BT_TRY(take_all(ctx, s, narg, args, &fits));
    }
    if (fits)
        return NULL;
    return bt_fail(ctx, BT_ERR_ARGUMENT, "@%s: arguments of other types", s->entry->name);
}

/* ---- results ---- */

static bt_status check_out(bt_ctx *ctx, const struct session *s, uint32_t index,
                           bt_tensor *const *outs)
{
    const struct leaf *leaf = &s->results[index];
    const bt_tensor like = { .dtype = leaf->dtype,
                             .rank = leaf->rank,
                             .dims = s->table + leaf->dims };
    return bt_check_out(ctx, s->entry, outs, index, &like);
}

/* Whether kernels may write there while they read the arguments: it is none of them, or the
 * one whose bytes the result may have. */
static int may_compute_in(const struct session *s, const struct leaf *result,
                          const bt_tensor *out)
{
    int may = bt_tensor_is_plain(out);
    for (uint32_t i = 0; may && i < s->narg; i++)
        may = !bt_tensor_overlaps(s->in[i], out) ||
              (result->donor == 1 + i && s->in[i]->data == out->data &&
               bt_tensor_nbytes(s->in[i]) == bt_tensor_nbytes(out));
    return may;
}

static bt_status note_result(bt_ctx *ctx, const struct session *s, uint32_t index,
                             bt_status status)
{
    const bt_value *result = s->entry->func->block->result;
    return status ? bt_note(ctx, status, result->type->store, result->span,
                            "for result %u of @%s", index, s->entry->name)
                  : NULL;
}

/* Settles where each leaf of the result is computed, and with them the blocks. */
static bt_status take_outs(bt_ctx *ctx, struct session *s, bt_tensor *const *outs)
{
    for (uint32_t i = 0; i < s->nresult; i++) {
        struct leaf *r = &s->results[i];
        s->out[i] = outs[i];
        if (outs[i])
            BT_TRY(check_out(ctx, s, i, outs));
        if (outs[i] && may_compute_in(s, r, outs[i]))
            continue;
        if (!r->own || !outs[i])
            BT_TRY(note_result(ctx, s, i,
                               leaf_tensor(ctx, s, r, outs[i] ? &r->own : &s->made[i])));
        s->out[i] = outs[i] ? r->own : s->made[i];
    }
    for (uint32_t i = 0; i < s->nblock; i++) {
        const struct block *block = &s->blocks[i];
        s->addresses[i] = block->space    ? block->own
                          : block->result ? s->out[block->result - 1]->data
                                          : block->memory->data;
    }
    return NULL;
}

/* What is returned as it came in, or twice, is copied; then what could not be computed in
 * the caller's tensors, which may be arguments. */
static void give_outs(const struct session *s, bt_tensor **outs)
{
    for (uint32_t i = 0; i < s->nresult; i++)
        copy_bytes(s->out[i]->data, place_address(s, &s->results[i].place),
                   bt_tensor_nbytes(s->out[i]));
    for (uint32_t i = 0; i < s->nresult; i++) {
        if (outs[i])
            copy_bytes(outs[i]->data, s->out[i]->data, bt_tensor_nbytes(outs[i]));
        else
            outs[i] = s->made[i];
        s->made[i] = NULL;
    }
}

/* ---- calling ---- */

static bt_status call_into(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                           bt_object *const *args, const bt_run_hook *hook, uint32_t nout,
                           bt_tensor **outs)
{
    struct session *s = opaque;
    if (name && strcmp(name, s->entry->name) != 0)
        return bt_fail(ctx, BT_ERR_NAME, "graph: @%s was not compiled, @%s was", name,
                       s->entry->name);
    if (nout != s->nresult)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "@%s gives %u tensors, not %u",
                       s->entry->name, s->nresult, nout);
    bt_status status = take_args(ctx, s, narg, args);
    if (!status)
        status = take_outs(ctx, s, outs);
    if (!status)
        status = run_steps(ctx, s, hook);
    if (!status)
        give_outs(s, outs);
    for (uint32_t i = 0; i < s->nresult; i++) {
        bt_tensor_unref(s->made[i]);
        s->made[i] = NULL;
    }
    return status;
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

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **outs = BT_NEWS(scratch, bt_tensor *, s->nresult);
    uint32_t next = 0;
    bt_status status = outs ? NULL : bt_no_memory();
    if (!status)
        status = call_into(ctx, opaque, name, narg, args, hook, s->nresult, outs);
    if (!status)
        status = nest(ctx, s->entry->func->result, outs, &next, out);
    for (uint32_t i = 0; outs && i < s->nresult; i++)
        bt_tensor_unref(outs[i]);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "graph",
        .doc = "Programs without branches: kernels of a target, on memory planned ahead.",
        .features = BT_FEATURE_OPEN_DIMS | BT_FEATURE_DEVICES,
        .load = session_load,
        .close = session_close,
        .call = call,
        .call_into = call_into,
    },
    { 0 },
};

const bt_table bt_plugins_graph_graph[] = { BT_EXECUTORS(executors), { 0 } };
