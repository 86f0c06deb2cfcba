/* Where a kernel of a target is run: one of a program that it takes, its memory, its queues. */
#ifndef TARGET_LAB_H
#define TARGET_LAB_H

#include <baton/compiled.h>

enum { LAB_WAITS = 2, LAB_BUFFERS = 8, LAB_UNWRITTEN = 0x5a, LAB_GUARD = 256 };

/* Memory that a kernel has: of the host, or a block of the target's. */
struct memory {
    void *host; /* with LAB_GUARD bytes before it and behind, of LAB_UNWRITTEN */
    void *block;
    uint64_t nbytes;
    uint64_t offset; /* in its block */
};

/* A queue, and the last command in it that nobody has waited for; 0: none. */
struct queue {
    void *at;
    uint64_t last;
    int is_waiting; /* that command, for an event of another queue */
};

/* One kernel of the target, on two sets of inputs. */
struct lab {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target_use *use;
    const int64_t *extents; /* of the program, RULE_NEXTENT; NULL: small ones */
    int64_t least;          /* bytes of the kernel's result, or more */
    void *loaded;
    bt_module *module; /* that the kernel's function is of */
    const bt_kernel *kernel;
    struct memory inputs[2][LAB_BUFFERS], output, workspace;
    void *expected[2]; /* what it computes of each set */
    /* What commands come upon that use what is not theirs: pointers beyond those of a call lead
     * to `beyond`; what the arguments of a call pointed to leads to `late` when the call has
     * returned, and to zeros in `source`. */
    struct memory beyond, late, source;
    uint64_t step; /* memory begins at so many bytes of its block, or a multiple */
    uint32_t nblock;
    struct memory large; /* that copies go through ... */
    unsigned char *back; /* ... and what is copied from there */
    uint32_t nbusy;      /* launches that keep a queue busy */
    const char *
        refused; /* what lower, compile or load says of a function that `supports` takes */
    const char *fault;
};

/* A call of the target begins: "target T, WHAT". */
void lab_watch(const struct lab *, const char *what);

/* A kernel of a program of the target's patterns, or of a network of codes, loaded where the target
 * does that; lab->kernel NULL: none was found. A fault: what `lower` or `compile` gives does not
 * stay, or `load` gives nothing. */
bt_status lab_make_kernel(struct lab *) BT_MUST_USE;
void lab_free_kernel(struct lab *);

/* Of the host, between its guards: bytes beside it that are no longer as they were are a fault. */
unsigned char *lab_host_create(size_t nbytes);
void lab_host_destroy(struct lab *, unsigned char *host, size_t nbytes);
bt_status lab_make_memory(struct lab *, uint64_t nbytes, struct memory *out) BT_MUST_USE;
void lab_free_memory(struct lab *, struct memory *);
/* Between the two sides of memory, done when it returns. */
bt_status lab_copy(struct lab *, const struct memory *, int to_host) BT_MUST_USE;

/* All of the kernel's memory, with random numbers in its inputs; and what lies in wait. */
bt_status lab_make_buffers(struct lab *) BT_MUST_USE;
void lab_free_buffers(struct lab *);
bt_status lab_make_traps(struct lab *) BT_MUST_USE;
void lab_free_traps(struct lab *);

bt_status lab_open_queue(struct lab *, struct queue *out) BT_MUST_USE;
/* When all of its commands are done, also those behind which an error came. */
void lab_close_queue(struct lab *, struct queue *);
/* As target->wait, within a time. */
bt_status lab_wait_for(struct lab *, struct queue *, uint64_t value,
                       uint64_t *failed) BT_MUST_USE;
bt_status lab_wait(struct lab *, struct queue *, uint64_t value) BT_MUST_USE;

/* Commands. What the target's function gets goes as it returns; `after` NULL: no event. */
bt_status lab_enqueue(struct lab *, int set, struct queue *, const bt_event *after,
                      const uint32_t *stop, uint64_t *value) BT_MUST_USE;
/* After that many events, of LAB_WAITS at most. */
bt_status lab_enqueue_after(struct lab *, int set, struct queue *, uint32_t nwait,
                            const bt_event *waits, uint64_t *value) BT_MUST_USE;
bt_status lab_enqueue_timed(struct lab *, int set, struct queue *, const bt_event *after,
                            const uint32_t *stop, bt_times *,
                            uint64_t *value) BT_MUST_USE;
bt_status lab_enqueue_copy(struct lab *, const bt_buffer *to, const bt_buffer *from,
                           struct queue *, const bt_event *after,
                           uint64_t *value) BT_MUST_USE;

/* A kernel's run to its end, by a queue of its own where the target has queues. */
bt_status lab_run(struct lab *, int set, const uint32_t *stop) BT_MUST_USE;
/* What the kernel computes of a set of inputs, when nothing else goes on, in expected[set]. The
 * output holds something else before. */
bt_status lab_compute(struct lab *, int set, struct queue *) BT_MUST_USE;
/* Whether commands have used what is not theirs. All of them are done. */
bt_status lab_check_traps(struct lab *) BT_MUST_USE;

#endif
