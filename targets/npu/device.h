/*
 * An instance of the target: a machine, which runs one stream at a time, its main memory, and
 * queues of commands, each with a thread, so that the host goes on meanwhile. What fails in a queue
 * is kept there as code and text: a status belongs to the context that made it.
 */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <pthread.h>

#include <baton/target.h>

#include "plans.h"
#include "simulate.h"

struct npu_device {
    bt_registry *registry;
    struct npu_config config;
    uint32_t counts_cycles; /* runs in order of time, else in that of the stream */
    struct npu_plans plans;
    char layouts[2][32]; /* that convolutions want, of NCHW and NHWC: "NCHW:NCHW4n8c" */
    uint64_t held;       /* bytes of all blocks; atomic */
    pthread_mutex_t machine_lock;
    struct npu_machine *machine;
    pthread_mutex_t queue_lock;
    pthread_cond_t moved; /* a queue got a command, or has done one */
};

/* `config`: as of npu_config_read. */
bt_status npu_device_create(bt_ctx *, const char *config, uint32_t counts_cycles,
                            struct npu_device **out) BT_MUST_USE;
void npu_device_destroy(struct npu_device *);

/* ---- main memory ---- */

/* errors  BT_ERR_MEMORY: main memory is full, or the host's is */
bt_status npu_alloc(bt_ctx *, void *device, uint64_t nbytes, void **block) BT_MUST_USE;
void npu_free(void *device, void *block);
bt_status npu_space(bt_ctx *, void *device, bt_space *out) BT_MUST_USE;
/* errors  BT_ERR_ARGUMENT: it is not in the block */
bt_status npu_block_bytes(bt_ctx *, void *block, uint64_t offset, uint64_t nbytes,
                          uint8_t **out) BT_MUST_USE;

/* ---- queues ---- */

bt_status npu_open_queue(bt_ctx *, void *device, void **queue) BT_MUST_USE;
void npu_close_queue(void *queue);
bt_status npu_enqueue(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *,
                      const bt_order *, uint64_t *value) BT_MUST_USE;
bt_status npu_enqueue_copy(bt_ctx *, void *device, const bt_buffer *to,
                           const bt_buffer *from, const bt_order *,
                           uint64_t *value) BT_MUST_USE;
bt_status npu_wait(bt_ctx *, void *queue, uint64_t value, uint64_t *failed) BT_MUST_USE;

#endif
