/* A program of which a target takes a function, compiled, with arguments and what it gives. */
#ifndef TARGET_TAKEN_H
#define TARGET_TAKEN_H

#include <baton/compiled.h>
#include <baton/executor.h>

#include "rule_program.h"

struct target_taken {
    bt_ctx *ctx;
    const bt_target_use *use;
    const bt_targets *targets; /* it, and who takes the rest */
    const bt_executor *graph;
    struct rule_program program; /* of extent 3 where it has a choice */
    int is_codes;                /* it is a network of codes */
    bt_module *fused;
    bt_compiled *compiled; /* NULL: the target takes nothing of all that was drawn */
    bt_object *args[CASE_MAX_LEAF], *want;
};

/* The target is the first of `targets`. Texts live in the arena. *out is to be freed in any case. */
bt_status target_taken_find(bt_ctx *, bt_arena *, const bt_targets *,
                            struct target_taken *out) BT_MUST_USE;
void target_taken_free(struct target_taken *);

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
/* Calls once. 1: the result is what it should be. */
int target_taken_is_right(const struct target_taken *, bt_ctx *, void *session,
                          bt_status *);

#endif
