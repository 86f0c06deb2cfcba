/* Loops read from text, and run element by element: what tests of all that makes, changes
 * or compiles loops compare with. */
#ifndef LOOPS_ORACLE_H
#define LOOPS_ORACLE_H

#include <baton/loops.h>

/* The reverse of bt_loops_print. errors BT_ERR_SYNTAX at its place, BT_ERR_LIMIT */
bt_status loops_parse(bt_ctx *, bt_arena *, const char *file, const char *text,
                      size_t nbytes, bt_loops **out) BT_MUST_USE;

/* A call's argument while it runs: an element and how many there are from it on, or an
 * integer. */
struct call_value {
    void *address;
    int64_t nelem, integer;
};
struct run_options {
    /* Not 0: iterations of parallel loops run in an order drawn by it, and locals hold
     * rubbish where an iteration starts. */
    uint64_t seed;
    /* Does what the target's kernels do; NULL: calls are refused. */
    bt_status (*call)(void *self, const char *callee, uint32_t narg,
                      const struct call_value *args);
    void *self;
    const int64_t *dims; /* values of the graph's dims */
};
/* Runs them. data: of the buffers that are in or out.
 * errors  BT_ERR_RUNTIME: a check, a read or a store out of bounds; BT_ERR_UNSUPPORTED: a
 *         call */
bt_status loops_run(bt_ctx *, const bt_loops *, void *const *data,
                    const struct run_options *) BT_MUST_USE;

#endif
