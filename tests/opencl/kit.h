/* An instance of the target on the machine's device, and kernels that are written by hand. */
#ifndef OPENCL_KIT_H
#define OPENCL_KIT_H

#include <stdlib.h>

#include "setup.h"

#include "code.h"
#include "instance.h"
#include "load.h"
#include "queue.h"

static struct ocl_instance *device;
static bt_arena *arena;
static char why_not[400];

static inline void open_as(struct ocl_wish wish)
{
    wish.library = wish.library ? wish.library : "libOpenCL.so.1";
    wish.platform = wish.platform ? wish.platform : "";
    wish.device = wish.device ? wish.device : "";
    wish.cache = wish.cache ? wish.cache : "off";
    wish.blas = wish.blas ? wish.blas : "off";
    bt_status status = ocl_open(ctx, &wish, &device);
    if (status)
        snprintf(why_not, sizeof(why_not), "%s", status->message);
}

/* Without a device, tests of one are skipped. */
static inline int open_device(void **state)
{
    if (setup(state))
        return -1;
    arena = bt_arena_create(registry);
    device = NULL;
    open_as((struct ocl_wish){ 0 });
    return arena ? 0 : -1;
}

static inline int close_device(void **state)
{
    if (device)
        ocl_close(device);
    bt_arena_destroy(arena);
    return teardown(state);
}

#define ON_DEVICE(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

static inline void need_device(void)
{
    if (!device) {
        print_message("skipped: %s\n", why_not);
        skip();
    }
}

/* ---- memory ---- */

static inline struct ocl_block *alloc(uint64_t nbytes)
{
    void *block;
    assert_ok(ctx, ocl_alloc(ctx, device, nbytes, &block));
    return block;
}

static inline struct ocl_queue *open_queue(void)
{
    void *queue;
    assert_ok(ctx, ocl_open_queue(ctx, device, &queue));
    return queue;
}

static inline bt_buffer host(void *at, uint64_t nbytes)
{
    return (bt_buffer){ .block = at, .nbytes = nbytes };
}

static inline bt_buffer own(struct ocl_block *block, uint64_t offset, uint64_t nbytes)
{
    return (bt_buffer){ .block = block, .offset = offset, .nbytes = nbytes, .is_own = 1 };
}

/* Gives a copy that waits for an event (queue NULL: for none). */
static inline uint64_t give_copy(struct ocl_queue *q, bt_buffer to, bt_buffer from,
                                 bt_event after)
{
    const bt_order order = { .queue = q, .nwait = after.queue != NULL, .waits = &after };
    uint64_t value = 0;
    assert_ok(ctx, ocl_enqueue_copy(ctx, device, &to, &from, &order, &value));
    return value;
}

static const bt_event at_once = { 0 };

static inline void wait_for(struct ocl_queue *q, uint64_t value)
{
    uint64_t failed = 0;
    assert_ok(ctx, ocl_queue_wait(ctx, q, value, &failed));
}

static inline void copy(bt_buffer to, bt_buffer from)
{
    struct ocl_queue *q = open_queue();
    wait_for(q, give_copy(q, to, from, at_once));
    ocl_close_queue(q);
}

/* ---- kernels ---- */

static inline ocl_number number(int64_t value)
{
    ocl_step *step = BT_NEW(arena, ocl_step);
    step->value = value;
    return (ocl_number){ 1, step };
}

static inline ocl_number dim(uint32_t which)
{
    ocl_step *step = BT_NEW(arena, ocl_step);
    *step = (ocl_step){ .kind = OCL_STEP_DIM, .which = which };
    return (ocl_number){ 1, step };
}

/* Of each float the square and 1, times a number; a fault where it is negative. */
static const char square_text[] =
    "__kernel void NAME(__global const float *a, const long a_at, __global float *b, "
    "const long b_at,\n"
    "                   __global int *fault, const int n, const long m)\n"
    "{\n"
    "    const int i = get_global_id(0);\n"
    "    a = (__global const float *)((__global const char *)a + a_at);\n"
    "    b = (__global float *)((__global char *)b + b_at);\n"
    "    if (i < n && a[i] < 0)\n"
    "        *fault = 1;\n"
    "    if (i < n)\n"
    "        b[i] = m * (a[i] * a[i] + 1);\n"
    "}\n";

static inline struct ocl_code square_code(const char *text)
{
    static const bt_fault faults[] = { { .text = "a number is negative" } };
    ocl_arg *args = BT_NEWS(arena, ocl_arg, 5);
    ocl_launch *launch = BT_NEW(arena, ocl_launch);
    args[0] = (ocl_arg){ OCL_ARG_BUFFER, 0, { 0 } };
    args[1] = (ocl_arg){ OCL_ARG_BUFFER, 1, { 0 } };
    args[2] = (ocl_arg){ OCL_ARG_FAULT, 0, { 0 } };
    args[3] = (ocl_arg){ OCL_ARG_INT, 0, dim(0) };
    args[4] = (ocl_arg){ OCL_ARG_LONG, 0, number(2) };
    *launch = (ocl_launch){ .text = text,
                            .narg = 5,
                            .args = args,
                            .local = { 16, 1, 1 },
                            .groups = { dim(0), number(1), number(1) } };
    return (struct ocl_code){
        .name = "square",
        .ndim = 1,
        .nbuffer = 2,
        .program = { .nlaunch = 1, .launches = launch, .nfault = 1, .faults = faults }
    };
}

static inline bt_status load_code(struct ocl_code code, void **loaded)
{
    bt_kernel_code *bytes = BT_NEW(arena, bt_kernel_code);
    const bt_kernel_code *codes[1] = { bytes };
    BT_TRY(ocl_code_write(ctx, arena, &code, bytes));
    return ocl_load(ctx, device, "", 1, codes, loaded);
}

static inline void *load_square(void)
{
    void *loaded;
    assert_ok(ctx, load_code(square_code(square_text), &loaded));
    return loaded;
}

static inline uint64_t give_square(struct ocl_queue *q, void *loaded,
                                   struct ocl_block *to, struct ocl_block *from,
                                   int64_t n, bt_event after, bt_times *times)
{
    void *buffers[] = { from, to };
    const uint64_t offsets[] = { 0, 0 };
    const int64_t dims[] = { n };
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .nbuffer = 2,
                                  .buffers = buffers,
                                  .offsets = offsets,
                                  .dims = dims,
                                  .ndim = 1 };
    const bt_order order = {
        .queue = q, .nwait = after.queue != NULL, .waits = &after, .times = times
    };
    uint64_t value = 0;
    assert_ok(ctx, ocl_enqueue(ctx, loaded, 0, &call, &order, &value));
    return value;
}

#endif
