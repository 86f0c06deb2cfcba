/* What the parts of pass train-mode share. */
#ifndef PASSES_TRAINING_TRAINING_H
#define PASSES_TRAINING_TRAINING_H

#include "common/copy.h"

struct options {
    const char *name, *key;
    double momentum;
    int64_t unbiased;
    bt_strings fixed;
};
enum { DROPS = 1, NORMALISES = 2 };
/* Which of those operators are in a block, DROPS | NORMALISES, and the first of each. */
struct content {
    uint32_t has;
    const bt_value *drops, *normalises;
};

/* A mean or a variance of the entry: where it is now. */
struct moment {
    uint32_t index; /* 0: a mean */
    const bt_value *was, *now;
};

struct training {
    const bt_module *module;
    const struct options *options;
    const bt_global *entry;
    const bt_callgraph *graph;
    struct content *content; /* of each global, with what it refers to */
    struct copy copy;
    bt_map index; /* globals -> their content */
    const bt_value *key;
    uint32_t ndropped, ncall, depth;
    bt_vec(struct moment) moments;
};

/* ---- which functions have such operators (training_find.c) ---- */

/* Of a function of the module; NULL: the value is none. */
struct content *training_content_of(const struct training *, const bt_value *);
bt_status training_look_at_globals(struct training *) BT_MUST_USE;
/* nn.batch_norm, or nn.batch_norm_training. */
int training_is_norm(const bt_value *);
/* Refuses what has such operators: closures, functions that are values, branches that normalise. */
bt_status training_check_value(const struct training *, const bt_value *) BT_MUST_USE;
/* Refuses functions that call themselves. */
bt_status training_check_loops(const struct training *) BT_MUST_USE;

/* ---- these operators (training_operators.c) ---- */

bt_status training_drop(struct training *, const bt_call *) BT_MUST_USE;
bt_status training_normalise(struct training *, const bt_call *) BT_MUST_USE;
/* *out: a norm stays as at inference, as both of its moments are fixed.
 * errors  BT_ERR_ARGUMENT: one of the two is fixed, and the other is not */
bt_status training_check_frozen(struct training *, const bt_call *, int *out) BT_MUST_USE;

#endif
