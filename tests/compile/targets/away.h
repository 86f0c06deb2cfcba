/* What targets of the tests share that have memory of their own. */
#ifndef TARGETS_AWAY_H
#define TARGETS_AWAY_H

#include <pthread.h>

#include <baton/compiled.h>
#include <baton/op.h>

struct far_options {
    int64_t n, align, largest, budget, nth, seed, deaf, costs;
    const char *fault, *by;
};
#define FAR_OPTIONS                                                                  \
    BT_ATTR(struct far_options, n, INT, "0", "which of several it is"),              \
        BT_ATTR(struct far_options, align, INT, "64",                                \
                "of blocks and what begins there"),                                  \
        BT_ATTR(struct far_options, largest, INT, "0", "bytes of a block; 0: any"),  \
        BT_ATTR(struct far_options, budget, INT, "0", "bytes of a session; 0: any"), \
        BT_ATTR(struct far_options, nth, INT, "0", "which fails, from 1; 0: all"),   \
        BT_ATTR(struct far_options, seed, INT, "0", "of target late's draw"),        \
        BT_ATTR(struct far_options, deaf, INT, "0", "1: late waits for no events"),  \
        BT_ATTR(struct far_options, costs, INT, "0", "of a draw of costs; 0: no costs"), \
        BT_ATTR_CHOICE(struct far_options, fault, "none", "none|alloc|copy|launch",  \
                       "what fails"),                                                \
        BT_ATTR(struct far_options, by, STRING, "reference",                         \
                "the target that computes"),                                         \
    {                                                                                \
        0                                                                            \
    }

struct far_instance {
    bt_registry *registry;
    bt_targets *targets; /* the one that computes */
    const bt_target_use *by;
    struct far_options options;
    char fault[8];
    int is_host;          /* its kernels are on the host's memory */
    pthread_mutex_t lock; /* pages have rights for one launch or copy at a time */
    uint32_t nfault;      /* that could have been, so far */
    uint64_t held;        /* bytes of blocks */
    uint32_t nalloc, ncopy, nwait;
    /* Of target late: */
    pthread_mutex_t queue_lock;
    struct late_queue *queues;
    uint64_t state; /* of what draws the next command */
};

struct far_loaded {
    struct far_instance *instance;
    void *inner;
};

bt_status far_open(bt_ctx *, const void *options, void **self);
void far_close(void *self);
bt_status far_space(bt_ctx *, void *self, bt_space *);
bt_status far_alloc(bt_ctx *, void *self, uint64_t nbytes, void **block);
void far_free(void *self, void *block);
bt_status far_copy(bt_ctx *, void *self, const bt_buffer *to, const bt_buffer *from);
bt_status far_cost(bt_ctx *, void *self, const bt_func *, bt_cost *);
bt_status far_lower(bt_ctx *, void *self, bt_arena *, const bt_func *, bt_lowering *);
bt_status far_compile(bt_ctx *, void *self, bt_arena *, uint32_t form, uint32_t n,
                      const bt_kernel *const *, bt_kernel_code *const *);
bt_status far_load(bt_ctx *, void *self, uint32_t n, const bt_kernel_code *const *,
                   void **loaded);
void far_unload(void *loaded);
bt_status far_launch(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *);
/* "allocs 3 copies 2 waits 1" */
void far_describe(void *loaded, bt_text *);
bt_status far_compatibility(bt_ctx *, void *self, bt_text *);

#endif
