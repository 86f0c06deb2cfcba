/*
 * Queues: one in-order queue of OpenCL each, whose commands keep the event of their last part until
 * somebody has waited for them. Copies go through pinned memory, the queue's staging buffer, so that a device
 * that hangs holds no address of the host's:
 *
 *     to the device     host -> staging at once, staging -> block by the queue
 *     to the host       block -> staging by the queue, staging -> host when somebody waits, or room
 *                       is needed
 *
 * A command that has failed, or waits for one that has, fails the queue: what is behind it is
 * dropped.
 */
#ifndef OPENCL_QUEUE_H
#define OPENCL_QUEUE_H

#include "instance.h"

enum { OCL_MAX_COMMANDS = 256, OCL_MAX_PIECES = 64 };

/* Bytes of the staging buffer in use, in their order. */
struct ocl_piece {
    struct ocl_piece *next; /* of the instance's reads */
    uint64_t value;         /* of its command */
    cl_event event;
    uint64_t at, nbytes;
    uint64_t room; /* bytes of the ring until behind it */
    char *to;      /* of the host; NULL: they came from there */
    struct ocl_queue *queue;
};

/* Where a kernel stores its fault. */
struct ocl_cell {
    struct ocl_cell *next;
    cl_mem mem;
    int32_t fault; /* as read back */
};

struct ocl_loaded;

struct ocl_command {
    struct ocl_command *next;
    size_t nbytes; /* of this */
    uint64_t value, given_ns;
    cl_event first, last; /* of its parts; first NULL: there is but one */
    bt_times *times;
    struct ocl_cell *cell; /* NULL: it has no faults ... */
    const struct ocl_loaded *loaded;
    uint32_t kernel; /* ... which these say */
    uint32_t nwait;
    cl_event *events; /* those of the waits that are not done: nevent */
    uint32_t nevent;
    bt_event waits[];
};

struct ocl_queue {
    struct ocl_instance *instance;
    struct ocl_queue *next, *next_idle;
    cl_command_queue at;
    uint64_t given, done;
    uint64_t failed; /* value of a command that failed; 0: none */
    uint32_t code;
    char why[OCL_WHY_NBYTES];
    struct ocl_command *first, **last;
    uint32_t ncommand, nunflushed;
    uint64_t end_ns; /* of the last command that told its times */
    struct ocl_cell *cells;
    cl_mem staging;
    char *host;                    /* where it is mapped */
    uint64_t staging_nbytes, head; /* the ring: where the next piece begins ... */
    uint64_t used;                 /* ... and how much is taken */
    uint32_t first_piece, npiece;
    struct ocl_piece pieces[OCL_MAX_PIECES];
};

bt_status ocl_open_queue(bt_ctx *, void *self, void **queue) BT_MUST_USE;
void ocl_close_queue(void *queue);
bt_status ocl_queue_wait(bt_ctx *, void *queue, uint64_t value,
                         uint64_t *failed) BT_MUST_USE;
/* All, when the instance is closed. */
void ocl_queues_destroy(struct ocl_instance *);

/* A command to be filled in, with a value. *out NULL: it fails, as one before it has, and is not
 * to be given. */
bt_status ocl_command_begin(bt_ctx *, const bt_order *, uint64_t *value,
                            struct ocl_command **out) BT_MUST_USE;
/* It was given, `status` NULL, or was not, which fails the queue. */
bt_status ocl_command_end(struct ocl_queue *, struct ocl_command *,
                          bt_status) BT_MUST_USE;
/* It is not given, and fails. */
void ocl_command_drop(struct ocl_queue *, struct ocl_command *, bt_status);
/* What the next part of the command waits for: events, if it is the first. */
cl_uint ocl_command_nevent(const struct ocl_command *);
const cl_event *ocl_command_events(const struct ocl_command *);
/* The event of a part, which the command keeps. */
void ocl_command_add_event(struct ocl_queue *, struct ocl_command *, cl_event);
/* A part that does nothing. */
bt_status ocl_command_mark(bt_ctx *, struct ocl_queue *,
                           struct ocl_command *) BT_MUST_USE;
/* Whether what the command waits for has come to a good end. */
bt_status ocl_command_check_waits(bt_ctx *, const struct ocl_command *) BT_MUST_USE;
/* All commands up to the value are done, or the queue has failed. */
void ocl_queue_retire(bt_ctx *, struct ocl_queue *, uint64_t value);
/* Waits for an event; with a timeout, not for ever. */
bt_status ocl_event_await(bt_ctx *, struct ocl_instance *, cl_event) BT_MUST_USE;
void ocl_queue_flush(struct ocl_queue *);

/* ---- the staging buffer ---- */

bt_status ocl_enqueue_copy(bt_ctx *, void *self, const bt_buffer *to,
                           const bt_buffer *from, const bt_order *,
                           uint64_t *value) BT_MUST_USE;
/* The pieces of commands up to a value leave the staging buffer: their bytes go to the host, or
 * (is_dropped) nowhere. */
void ocl_pieces_settle(struct ocl_queue *, uint64_t value, int is_dropped);
void ocl_staging_destroy(struct ocl_queue *);

#endif
