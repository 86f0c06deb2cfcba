/*
 * The "cases" facet of an operator, taken apart. One call a line:
 *
 *     float32[2, 3], (int32[4] = 0..2, int32[]) | axis=1
 *     float32[2] = [1, 2] | axis=0 -> 3
 *
 * types of arguments (a tuple of tensors in parentheses), each with its values or the range
 * of them where that matters, then the attributes, then what is expected.
 */
#ifndef CASES_H
#define CASES_H

#include <baton/op.h>

enum { CASE_MAX_LEAF = 24, CASE_MAX_DIM = 12 };

/* A tensor among the arguments. */
struct case_leaf {
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[CASE_MAX_DIM];
    uint32_t has_range;
    double low, high;   /* inclusive */
    const char *values; /* as text, one for all or each; NULL: random ones */
};
struct case_arg {
    uint32_t is_tuple, first, nleaf;
};
struct call_case {
    const char *line;     /* as written */
    const char *attrs;    /* their text; "" where there are none */
    const char *expected; /* "[1, 2], 3": of each result; NULL: not stated */
    uint32_t narg, nleaf;
    struct case_arg args[CASE_MAX_LEAF];
    struct case_leaf leaves[CASE_MAX_LEAF];
};

/* Reads the line at *text and moves *text behind it. 1: a case, 0: no line is left; a
 * malformed one is a failure. Texts live in the arena. */
bt_status case_next(bt_ctx *, bt_arena *, const char *op, const char **text,
                    struct call_case *out, int *is_case) BT_MUST_USE;

/* The type of argument i. `dim` gives the term for a size, NULL for numbers. */
typedef const bt_type *case_dim_fn(void *self, bt_store *, int64_t size);
const bt_type *case_type(bt_store *, const struct call_case *, uint32_t arg,
                         case_dim_fn *, void *self);

/* The next of a row of random numbers; the state is the seed at first. */
uint64_t case_draw(uint64_t *state);
/* Elements of a leaf. */
int64_t case_nelem(const struct case_leaf *);
/* Values of a leaf, the same for the same seed. */
enum {
    CASE_RANDOM,   /* within its range, else -2..2 of floats and -9..9 of integers; of an
                      unsigned type what is left of the range at 0 and above */
    CASE_WIDE,     /* as CASE_RANDOM, but of each four floats without a range one is in
                      -10..10, where functions come near their limits */
    CASE_MODERATE, /* where no range is stated: zeros, ones, NaN, ends of integers */
    CASE_SPECIAL   /* and infinities, and what is near the ends of floats */
};
bt_status case_values(bt_ctx *, const struct case_leaf *, uint64_t seed, uint32_t kind,
                      bt_tensor **out) BT_MUST_USE;
/* Writes the numbers of a text into a tensor, brackets aside: one for all elements, or one
 * for each. Moves *text behind them, and behind a comma between lists.
 * errors  BT_ERR_SYNTAX: others, or another number of them */
bt_status case_numbers(bt_ctx *, const char **text, bt_tensor *) BT_MUST_USE;
/* Whether there are such values: 0 for -3..-1 of an unsigned type, 0.2..0.8 of an
 * integer. */
int case_has_values(const struct case_leaf *);
/* The same elements in other memory: axes in the opposite order, every other element, the
 * last axis backwards. */
bt_status case_strided(bt_ctx *, const bt_tensor *, bt_tensor **out) BT_MUST_USE;

#endif
