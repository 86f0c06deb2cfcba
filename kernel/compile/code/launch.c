/* Kernels launched and memory copied: at once, by a queue, or on memory of the host in the
 * place of a target's own. */
#include "compile/code/code.h"

#include <inttypes.h>

#include "base/ctx.h"

/* ---- launching ---- */

const uint32_t *bt_ctx_stop(const bt_ctx *ctx)
{
    return &ctx->cancelled;
}

const bt_running_kernel *bt_ctx_running(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->running, __ATOMIC_ACQUIRE);
}

/* A command for which a queue is opened, as somebody waits for it. */
struct command {
    void *loaded;
    uint32_t kernel;
    const bt_kernel_call *call; /* NULL: a copy */
    const bt_buffer *to, *from;
};

static bt_status run_command(bt_ctx *ctx, const bt_target_use *use,
                             const struct command *c)
{
    const bt_target *target = use->target;
    bt_order order = { 0 };
    uint64_t value, failed;
    BT_TRY(target->open_queue(ctx, use->instance, &order.queue));
    bt_status status =
        c->call
            ? target->enqueue(ctx, c->loaded, c->kernel, c->call, &order, &value)
            : target->enqueue_copy(ctx, use->instance, c->to, c->from, &order, &value);
    if (!status)
        status = target->wait(ctx, order.queue, value, &failed);
    target->close_queue(order.queue);
    return status;
}

bt_status bt__launch(bt_ctx *ctx, const bt_target_use *use, void *loaded, uint32_t number,
                     const char *kernel, const bt_kernel_call *call)
{
    const struct command command = { .loaded = loaded, .kernel = number, .call = call };
    const bt_running_kernel running = { use->text, kernel, call->nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->enqueue ? run_command(ctx, use, &command)
                       : use->target->launch
                           ? use->target->launch(ctx, loaded, number, call)
                           : bt__call_functions(ctx, loaded, number, kernel, call);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}

bt_status bt__enqueue(bt_ctx *ctx, const bt_target_use *use, void *loaded,
                      uint32_t number, const char *kernel, const bt_kernel_call *call,
                      const bt_order *order, uint64_t *value)
{
    const bt_running_kernel running = { use->text, kernel, call->nbuffer };
    __atomic_store_n(&ctx->running, &running, __ATOMIC_RELEASE);
    bt_status status = use->target->enqueue(ctx, loaded, number, call, order, value);
    __atomic_store_n(&ctx->running, NULL, __ATOMIC_RELEASE);
    return status;
}

/* ---- memory of a target's own ---- */

bt_status bt__alloc(bt_ctx *ctx, const bt_target_use *use, uint64_t nbytes, void **out)
{
    const bt_space *space = use->space;
    *out = NULL;
    if (space->largest && nbytes > space->largest) // by dims that were open
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "%" PRIu64 " bytes are needed in one block, and memory %s of "
                       "target %s has blocks of at most %" PRIu64,
                       nbytes, space->name, use->text, space->largest);
    bt_status status = use->target->alloc(ctx, use->instance, nbytes ? nbytes : 1, out);
    if (status)
        return bt_note(ctx, status, NULL, 0,
                       "for %" PRIu64 " bytes of the memory of target %s", nbytes,
                       use->text);
    return *out ? NULL
                : bt_fail(ctx, BT_ERR_PLUGIN,
                          "target %s has taken memory, it says, but gives no block",
                          use->text);
}

bt_status bt__has_memory(bt_ctx *ctx, const bt_compiled *c, uint32_t target)
{
    return target < c->ntarget && c->targets[target]->space
               ? NULL
               : bt_fail(ctx, BT_ERR_ARGUMENT, "target %u has no memory of its own",
                         target);
}

bt_status bt_compiled_alloc(bt_ctx *ctx, const bt_compiled *c, uint32_t target,
                            uint64_t nbytes, void **block)
{
    BT_TRY(bt__has_memory(ctx, c, target));
    return bt__alloc(ctx, c->targets[target], nbytes, block);
}

bt_status bt__copy(bt_ctx *ctx, const bt_target_use *use, const bt_buffer *to,
                   const bt_buffer *from)
{
    const struct command command = { .to = to, .from = from };
    if (!to->nbytes)
        return NULL;
    return use->target->enqueue_copy ? run_command(ctx, use, &command)
                                     : use->target->copy(ctx, use->instance, to, from);
}

struct hosted {
    bt_ctx *ctx;
    const bt_target_use *use;
    const bt_host_block *around;
    uint32_t n;
    void **blocks;
};

static uint32_t first_at(const struct hosted *h, uint32_t i)
{
    uint32_t first = 0;
    while (h->around[first].at != h->around[i].at)
        first++;
    return first;
}

static bt_status copy_block(const struct hosted *h, uint32_t i, int is_back)
{
    const bt_buffer own = { h->blocks[i], 0, h->around[i].nbytes, 1 },
                    host = { h->around[i].at, 0, h->around[i].nbytes, 0 };
    return bt__copy(h->ctx, h->use, is_back ? &host : &own, is_back ? &own : &host);
}

static bt_status place_blocks(struct hosted *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        uint32_t first = first_at(h, i);
        if (first == i) {
            BT_TRY(bt__alloc(h->ctx, h->use, h->around[i].nbytes, &h->blocks[i]));
            BT_TRY(copy_block(h, i, 0));
        } else {
            h->blocks[i] = h->blocks[first];
        }
    }
    return NULL;
}

static void free_blocks(const struct hosted *h)
{
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->blocks[i] && first_at(h, i) == i)
            h->use->target->free(h->use->instance, h->blocks[i]);
    }
}

bt_status bt__launch_hosted(bt_ctx *ctx, const bt_target_use *use, void *loaded,
                            uint32_t number, const char *kernel,
                            const bt_kernel_call *call, const bt_host_block *around)
{
    if (!use->space || !around)
        return bt__launch(ctx, use, loaded, number, kernel, call);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const uint32_t n = call->nbuffer + (call->workspace != NULL);
    if (!call->nbuffer)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "kernel %s has memory of target %s, and the call does not say how "
                       "many buffers are to be copied there",
                       kernel, use->text);
    struct hosted h = { ctx, use, around, n, BT_NEWS(scratch, void *, n) };
    uint64_t *offsets = BT_NEWS(scratch, uint64_t, n);
    bt_kernel_call own = *call;
    bt_status status = h.blocks && offsets ? place_blocks(&h) : bt_no_memory();
    for (uint32_t i = 0; !status && i < n; i++) {
        const char *at = i < call->nbuffer ? call->buffers[i] : call->workspace;
        offsets[i] = (uint64_t)(at - around[i].at);
    }
    if (!status) {
        own.buffers = h.blocks;
        own.offsets = offsets;
        own.workspace = call->workspace ? h.blocks[call->nbuffer] : NULL;
        own.workspace_offset = call->workspace ? offsets[call->nbuffer] : 0;
        status = bt__launch(ctx, use, loaded, number, kernel, &own);
    }
    for (uint32_t i = 0; !status && i < n; i++) {
        if (first_at(&h, i) == i && !around[i].is_constant)
            status = copy_block(&h, i, 1);
    }
    if (h.blocks)
        free_blocks(&h);
    bt_arena_release(scratch, mark);
    return status;
}
