/* Memory of the device: blocks, which are buffers of OpenCL. Tensors are offsets in them, not
 * sub-buffers, which would have to begin at multiples of more bytes, and must not overlap. */
#include <inttypes.h>

#include "instance.h"

bt_status ocl_space(bt_ctx *ctx, void *self, bt_space *out)
{
    const struct ocl_instance *o = self;
    (void)ctx;
    *out = (bt_space){ .name = "global",
                       .align = o->facts.align,
                       .largest = o->facts.largest,
                       .budget = o->budget };
    return NULL;
}

/* 0: more than the budget would be used. */
static int take(struct ocl_instance *o, uint64_t nbytes)
{
    pthread_mutex_lock(&o->lock);
    const int ok = nbytes <= o->budget - o->used;
    o->used += ok ? nbytes : 0;
    pthread_mutex_unlock(&o->lock);
    return ok;
}

static void give_back(struct ocl_instance *o, uint64_t nbytes)
{
    pthread_mutex_lock(&o->lock);
    o->used -= nbytes;
    pthread_mutex_unlock(&o->lock);
}

bt_status ocl_alloc(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
{
    struct ocl_instance *o = self;
    cl_int error = CL_SUCCESS;
    BT_TRY(ocl_alive(ctx, o));
    if (nbytes > SIZE_MAX || !take(o, nbytes))
        return bt_fail(ctx, BT_ERR_MEMORY,
                       "target opencl: %" PRIu64
                       " bytes are more than is left of the budget of "
                       "%" PRIu64,
                       nbytes, o->budget);
    struct ocl_block *block = bt_alloc(o->registry, sizeof(*block));
    cl_mem mem = block ? o->cl.CreateBuffer(o->context, CL_MEM_READ_WRITE, (size_t)nbytes,
                                            NULL, &error)
                       : NULL;
    if (!mem) {
        give_back(o, nbytes);
        bt_free(o->registry, block, sizeof(*block));
        return block ? ocl_fail(ctx, o, error, "no block of %" PRIu64 " bytes", nbytes)
                     : bt_no_memory();
    }
    *block = (struct ocl_block){ mem, nbytes };
    *out = block;
    return NULL;
}

void ocl_free(void *self, void *opaque)
{
    struct ocl_instance *o = self;
    struct ocl_block *block = opaque;
    if (!ocl_is_hung(o)) // what runs may still write to it
        o->cl.ReleaseMemObject(block->mem);
    give_back(o, block->nbytes);
    bt_free(o->registry, block, sizeof(*block));
}

bt_status ocl_within(bt_ctx *ctx, const bt_buffer *b)
{
    const struct ocl_block *block = b->block;
    return !b->is_own ||
                   (b->offset <= block->nbytes && b->nbytes <= block->nbytes - b->offset)
               ? NULL
               : bt_fail(ctx, BT_ERR_ARGUMENT,
                         "target opencl: %" PRIu64 " bytes from %" PRIu64
                         " on are not in a block of %" PRIu64,
                         b->nbytes, b->offset, block->nbytes);
}
