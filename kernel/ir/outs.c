/* Tensors of the caller for results of a run. */
#include <baton/executor.h>

static int is_like(const bt_tensor *a, const bt_tensor *b)
{
    int is = a->dtype == b->dtype && a->rank == b->rank;
    for (uint32_t i = 0; is && i < a->rank; i++)
        is = a->dims[i] == b->dims[i];
    return is;
}

static bt_status fail_type(bt_ctx *ctx, const bt_global *entry, uint32_t index,
                           const bt_tensor *out, const bt_tensor *like)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text text;
    bt_text_init(&text, scratch);
    bt_text_addf(&text, "the tensor for result %u is a ", index);
    bt_tensor_print_type(out, &text);
    bt_text_addf(&text, like ? ", the result a " : ", the result is none");
    if (like)
        bt_tensor_print_type(like, &text);
    const char *message = bt_text_get(&text);
    bt_status status =
        message ? bt_fail(ctx, BT_ERR_ARGUMENT, "@%s: %s", entry->name, message)
                : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt_check_out(bt_ctx *ctx, const bt_global *entry, bt_tensor *const *outs,
                       uint32_t index, const bt_tensor *like)
{
    const bt_tensor *out = outs[index];
    if (!like || !is_like(out, like))
        return fail_type(ctx, entry, index, out, like);
    if (!bt_tensor_is_dense(out))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "@%s: the tensor for result %u is not row major", entry->name,
                       index);
    for (uint32_t i = 0; i < index; i++) {
        if (outs[i] && bt_tensor_overlaps(outs[i], out))
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "@%s: the tensors for results %u and %u share memory",
                           entry->name, i, index);
    }
    return NULL;
}
