/*
 * The call of a kernel, for targets, executors and generated code: freestanding C99 that
 * includes nothing else of Baton.
 *
 *     int32_t twice(const bt_kernel_call *call)
 *     {
 *         const float *x = call->buffers[0];
 *         float *y = call->buffers[1];
 *         for (int64_t i = 0; i < call->dims[0]; i++)
 *             y[i] = 2 * x[i];
 *         return 0;
 *     }
 */
#ifndef BATON_KERNEL_H
#define BATON_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value: of floats f, of integers and bool i, as uint64 the same bits. */
typedef union bt_cell {
    double f;
    int64_t i;
} bt_cell;

/* The arguments of a kernel. Use designated initialisers: fields that are not named are
 * 0, so that a later version can add fields at the end. */
typedef struct bt_kernel_call {
    uint32_t nbytes;      /* sizeof(bt_kernel_call) of the caller; fields behind it do not
                             exist */
    uint32_t nbuffer;     /* 0: not known */
    void *const *buffers; /* those that it reads, then those that it writes: row major,
                             aligned to 64 bytes; blocks, where a target has memory of its
                             own (bt_target.alloc) */
    void *workspace;      /* bt_kernel.workspace bytes, aligned to 64; holds nothing
                             between calls */
    const int64_t *dims;  /* values of the dims that were open when it was compiled ... */
    uint32_t ndim;        /* ... and how many they are */
    const uint32_t *stop; /* not 0: return BT_FAULT_STOPPED soon; NULL: nobody asks */
    /* For kernel functions: this call does the iterations first to end - 1 of a phase;
     * other workers may do the rest of them at the same time. */
    uint32_t phase, worker;
    int64_t first, end;
    void *scratch; /* bt_kernel_code.scratch bytes of this worker, aligned to 64; the
                      caller's, worker 0, are the first of the workspace */
    /* Of a target with memory of its own: where in its block each buffer begins, and the
     * workspace, in bytes. NULL: all at 0. */
    const uint64_t *offsets;
    uint64_t workspace_offset;
} bt_kernel_call;

/* The result of a kernel function: 0, or why it could not do its work. A positive number
 * is a fault of its own, counted from 1 (bt_kernel_code.faults). It has no context,
 * allocates no memory and may run in any thread. */
enum { BT_FAULT_MEMORY = -1, BT_FAULT_STOPPED = -2, BT_FAULT_DEVICE = -3 };
typedef int32_t bt_kernel_fn(const bt_kernel_call *);

#ifdef __cplusplus
}
#endif
#endif
