/* A program of which a target takes a function, compiled, with arguments and what it gives. */
#ifndef TARGET_TAKEN_H
#define TARGET_TAKEN_H

#include <baton/compiled.h>
#include <baton/executor.h>

#include "rule_program.h"

/* Dims of programs: such that a kernel is done at once, and such that several threads are in one
 * at a time. */
enum { TARGET_SMALL = 3, TARGET_LARGE = 129 };

/* Arguments, and what they give. */
struct target_values {
    bt_object *args[CASE_MAX_LEAF], *want;
};

struct target_taken {
    bt_ctx *ctx;
    const bt_target_use *use;
    const bt_targets *targets; /* it, and who takes the rest */
    const bt_executor *graph;
    struct rule_program program;
    int is_codes; /* it is a network of codes */
    bt_module *fused;
    bt_compiled *compiled; /* NULL: the target takes nothing of all that was drawn */
    struct target_values values;
};

/* The target is the first of `targets`. Dims are `extent`, where there is a choice. Texts live in
 * the arena. *out is to be freed in any case. */
bt_status target_taken_find(bt_ctx *, bt_arena *, const bt_targets *, int64_t extent,
                            struct target_taken *out) BT_MUST_USE;
void target_taken_free(struct target_taken *);

/* Other arguments, by the seed, and what they give when nothing else runs; freed in any case. */
bt_status target_values_make(const struct target_taken *, uint64_t seed,
                             struct target_values *out) BT_MUST_USE;
void target_values_free(struct target_values *);

/* The program compiled once more, from its text. */
bt_status target_taken_compile(const struct target_taken *, bt_module **fused,
                               bt_compiled **) BT_MUST_USE;

/* Sessions of what is compiled for it, or anew, in contexts of their own. */
bt_status target_taken_open(const struct target_taken *, bt_ctx *, bt_compiled *,
                            void **session) BT_MUST_USE;
bt_status target_taken_call(const struct target_taken *, bt_ctx *, void *session,
                            bt_object **out) BT_MUST_USE;
/* The same bits as `want`. */
int target_taken_is_same(const struct target_taken *, const bt_object *);
/* Calls once, on those values, or on its own. 1: the result is what it should be. */
int target_values_are_right(const struct target_taken *, const struct target_values *,
                            bt_ctx *, void *session, bt_status *);
int target_taken_is_right(const struct target_taken *, bt_ctx *, void *session,
                          bt_status *);

#endif
