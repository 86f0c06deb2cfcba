/* Constants in memory of targets' own: copied there once for all sessions of a compiled
 * module. */
#include <pthread.h>

#include "compile/code/code.h"
#include "compile/code/compiled.h"

struct bt__constants {
    bt_arena *arena; /* in which this lies too */
    pthread_mutex_t lock;
    bt_map *blocks; /* by target: tensor -> block */
};

bt_status bt__constants_begin(bt_compiled *c)
{
    bt_arena *arena = bt_arena_create(c->registry);
    struct bt__constants *k = arena ? BT_NEW(arena, struct bt__constants) : NULL;
    bt_map *blocks = k ? BT_NEWS(arena, bt_map, c->ntarget) : NULL;
    if (!blocks) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *k = (struct bt__constants){ .arena = arena, .blocks = blocks };
    pthread_mutex_init(&k->lock, NULL); // without attributes it cannot fail
    for (uint32_t i = 0; i < c->ntarget; i++)
        bt_map_init(&blocks[i], arena, 0);
    c->constants = k;
    return NULL;
}

void bt__constants_free(bt_compiled *c)
{
    struct bt__constants *k = c->constants;
    if (!k)
        return;
    for (uint32_t i = 0; i < c->ntarget; i++) {
        for (uint32_t n = 0; n < k->blocks[i].len; n++)
            c->targets[i]->target->free(c->targets[i]->instance,
                                        k->blocks[i].at[n].value);
    }
    pthread_mutex_destroy(&k->lock);
    bt_arena_destroy(k->arena);
}

/* The pages of a file that were read for it are not needed by the host any more. */
static bt_status upload(bt_ctx *ctx, const bt_target_use *use, const bt_tensor *tensor,
                        void *block)
{
    bt_tensor *dense;
    BT_TRY(bt_tensor_dense(ctx, tensor, &dense));
    const uint64_t nbytes = bt_tensor_nbytes(dense);
    const bt_buffer to = { block, 0, nbytes, 1 }, from = { dense->data, 0, nbytes, 0 };
    bt_status status = bt__copy(ctx, use, &to, &from);
    bt_tensor_forget(dense);
    bt_tensor_unref(dense);
    return status;
}

static bt_status make(bt_ctx *ctx, const bt_compiled *c, uint32_t target,
                      const bt_tensor *tensor, void **block)
{
    const bt_target_use *use = c->targets[target];
    BT_TRY(bt__alloc(ctx, use, bt_tensor_nbytes(tensor), block));
    bt_status status = upload(ctx, use, tensor, *block);
    if (!status && !bt_map_put(&c->constants->blocks[target], tensor, *block))
        status = bt_no_memory();
    if (status)
        use->target->free(use->instance, *block);
    return status;
}

bt_status bt_compiled_constant(bt_ctx *ctx, const bt_compiled *c, uint32_t target,
                               const bt_tensor *tensor, void **block)
{
    struct bt__constants *k = c->constants;
    bt_status status = NULL;
    BT_TRY(bt__has_memory(ctx, c, target));
    pthread_mutex_lock(&k->lock);
    *block = bt_map_find(&k->blocks[target], tensor);
    if (!*block)
        status = make(ctx, c, target, tensor, block);
    pthread_mutex_unlock(&k->lock);
    return status;
}
