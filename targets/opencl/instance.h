/* An instance of the target: a device, its context, and what all that hangs from it shares. */
#ifndef OPENCL_INSTANCE_H
#define OPENCL_INSTANCE_H

#include <pthread.h>

#include <baton/target.h>

#include "cl.h"
#include "lower.h"

enum { OCL_NAME_NBYTES = 128, OCL_WHY_NBYTES = 256, OCL_PATH_NBYTES = 4096 };

/* What there is to know of a device. */
struct ocl_facts {
    char name[OCL_NAME_NBYTES], vendor[OCL_NAME_NBYTES], driver[OCL_NAME_NBYTES],
        version[OCL_NAME_NBYTES], platform[OCL_NAME_NBYTES];
    uint32_t is_cpu, is_unified, rounds_correctly;
    uint64_t align, largest, nbytes; /* of memory */
    uint64_t group;                  /* work-items of a group at most */
    uint32_t nunit, mhz;             /* compute units, and their cycles */
    ocl_device device;               /* what kernels are made for */
};

/* What an instance is asked for. */
struct ocl_wish {
    const char *library;
    const char *platform, *device; /* "": any */
    const char *cache;             /* of bt_cache_open */
    const char *blas;              /* "gpu", "always", "off": where CLBlast multiplies */
    uint64_t timeout_ns;           /* 0: none */
    uint64_t budget;               /* bytes; 0: what the device has */
};

struct ocl_queue;
struct ocl_piece;
struct ocl_blas;

struct ocl_instance {
    bt_registry *registry;
    struct ocl_driver cl;
    cl_device_id device;
    cl_context context;
    struct ocl_facts facts;
    struct ocl_blas *blas; /* NULL: it does not multiply */
    uint64_t timeout_ns, budget;
    char cache[OCL_PATH_NBYTES];
    pthread_mutex_t lock; /* of what follows */
    uint64_t used;
    struct ocl_queue *queues,
        *idle;               /* all; those that are closed and may be opened again */
    struct ocl_piece *reads; /* copies to the host that are not there yet */
    int is_lost, is_hung;
    char why[OCL_WHY_NBYTES];
};

bt_status ocl_open(bt_ctx *, const struct ocl_wish *,
                   struct ocl_instance **out) BT_MUST_USE;
void ocl_close(struct ocl_instance *);

/* NULL, or the error that the instance was lost by, again. */
bt_status ocl_alive(bt_ctx *, struct ocl_instance *) BT_MUST_USE;
/* What an error of the driver is; one that says that the device is gone loses the instance. */
bt_status ocl_fail(bt_ctx *, struct ocl_instance *, cl_int error, const char *format,
                   ...) BT_FAILURE BT_PRINTF(4, 5);
/* What a command that has ended by an error says of the device. */
bt_status ocl_fail_command(bt_ctx *, struct ocl_instance *, cl_int error) BT_FAILURE;
/* The device does not answer: nothing of it is released any more, as its driver would wait. */
void ocl_hang(struct ocl_instance *);
int ocl_is_hung(struct ocl_instance *);

/* ---- memory ---- */

bt_status ocl_alloc(bt_ctx *, void *self, uint64_t nbytes, void **block) BT_MUST_USE;
void ocl_free(void *self, void *block);
bt_status ocl_space(bt_ctx *, void *self, bt_space *out) BT_MUST_USE;
struct ocl_block {
    cl_mem mem;
    uint64_t nbytes;
};
/* errors  BT_ERR_ARGUMENT: the bytes are not in the block */
bt_status ocl_within(bt_ctx *, const bt_buffer *) BT_MUST_USE;

#endif
