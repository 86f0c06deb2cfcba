#include "device.h"

#include <inttypes.h>
#include <stdio.h>

struct block {
    uint64_t nbytes;
    uint8_t bytes[];
};

/* Blocks of one are no blocks. */
static void name_layouts(struct npu_device *d)
{
    static const char *const logical[] = { "NCHW", "NHWC" };
    char batch[8] = "", block[8] = "";
    if (d->config.batch > 1)
        snprintf(batch, sizeof(batch), "%un", d->config.batch & 255);
    if (d->config.out > 1)
        snprintf(block, sizeof(block), "%uc", d->config.out & 255);
    for (uint32_t i = 0; i < 2; i++)
        snprintf(d->layouts[i], sizeof(d->layouts[i]), "%s:NCHW%s%s", logical[i], batch,
                 block);
}

bt_status npu_device_create(bt_ctx *ctx, const char *config, uint32_t counts_cycles,
                            struct npu_device **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct npu_device *d = bt_alloc(registry, sizeof(*d));
    if (!d)
        return bt_no_memory();
    d->registry = registry;
    d->counts_cycles = counts_cycles;
    bt_status status = npu_config_read(ctx, config, &d->config);
    if (!status)
        status = npu_machine_create(ctx, &d->config, &d->machine);
    if (status) {
        bt_free(registry, d, sizeof(*d));
        return status;
    }
    name_layouts(d);
    npu_plans_init(&d->plans, registry);
    pthread_mutex_init(&d->machine_lock, NULL);
    pthread_mutex_init(&d->queue_lock, NULL);
    pthread_cond_init(&d->moved, NULL);
    *out = d;
    return NULL;
}

void npu_device_destroy(struct npu_device *d)
{
    npu_machine_destroy(d->machine);
    npu_plans_deinit(&d->plans);
    pthread_cond_destroy(&d->moved);
    pthread_mutex_destroy(&d->queue_lock);
    pthread_mutex_destroy(&d->machine_lock);
    bt_free(d->registry, d, sizeof(*d));
}

/* ---- main memory ---- */

static void give_back(struct npu_device *d, uint64_t nbytes)
{
    __atomic_sub_fetch(&d->held, nbytes, __ATOMIC_RELAXED);
}

bt_status npu_alloc(bt_ctx *ctx, void *device, uint64_t nbytes, void **out)
{
    struct npu_device *d = device;
    const uint64_t most = d->config.dram_nbytes;
    size_t room;
    uint64_t held = __atomic_load_n(&d->held, __ATOMIC_RELAXED);
    do {
        if (nbytes > most || held > most - nbytes)
            return bt_fail(ctx, BT_ERR_MEMORY,
                           "%" PRIu64 " of the %" PRIu64
                           " bytes of main memory are in use, and %" PRIu64
                           " more are asked for",
                           held, most, nbytes);
    } while (!__atomic_compare_exchange_n(&d->held, &held, held + nbytes, 0,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    struct block *block = bt_add_size(sizeof(*block), (size_t)nbytes, &room)
                              ? bt_alloc(d->registry, room)
                              : NULL;
    if (!block) {
        give_back(d, nbytes);
        return bt_no_memory();
    }
    block->nbytes = nbytes;
    *out = block;
    return NULL;
}

void npu_free(void *device, void *opaque)
{
    struct npu_device *d = device;
    struct block *block = opaque;
    give_back(d, block->nbytes);
    bt_free(d->registry, block, sizeof(*block) + (size_t)block->nbytes);
}

bt_status npu_space(bt_ctx *ctx, void *device, bt_space *out)
{
    const struct npu_device *d = device;
    (void)ctx;
    out->name = "dram";
    out->budget = d->config.dram_nbytes;
    return NULL;
}

bt_status npu_block_bytes(bt_ctx *ctx, void *opaque, uint64_t offset, uint64_t nbytes,
                          uint8_t **out)
{
    struct block *block = opaque;
    if (offset > block->nbytes || nbytes > block->nbytes - offset)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%" PRIu64 " bytes from %" PRIu64
                       " on are asked for of a block of %" PRIu64,
                       nbytes, offset, block->nbytes);
    *out = block->bytes + offset;
    return NULL;
}
