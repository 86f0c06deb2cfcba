/* Sums under construction: how dims get their normal form. */
#ifndef IR_DIM_H
#define IR_DIM_H

#include "ir/type.h"

/* constant + sum of coefficient * atom, sorted by the atoms' ids, without zeros. */
typedef struct bt__sum {
    const char *refusal; /* the first failure, which sticks; NULL: none */
    int64_t constant;
    uint32_t n;
    bt_term terms[BT__DIM_TERMS];
} bt__sum;

void bt__sum_init(bt__sum *, int64_t constant);
/* Adds coefficient * atom, constant, coefficient * dim. */
void bt__sum_add_atom(bt__sum *, const bt_type *atom, int64_t coefficient);
void bt__sum_add_const(bt__sum *, int64_t);
void bt__sum_add(bt__sum *, const bt_type *dim, int64_t coefficient);
/* From the bounds of the terms, each by itself. */
bt__bounds bt__sum_bounds(const bt__sum *);
/* A lower bound that also sees how the terms depend on each other. */
int64_t bt__sum_low(const bt__sum *);
/* The sum as a term. NULL: no memory, or the refusal. */
const bt_type *bt__sum_dim(bt_store *, const bt__sum *);

/* The sum with other terms in place of its atoms. */
const bt_type *bt__dim_rebuild(bt_store *, const bt_linear_type *,
                               const bt_type *const *atoms);

/* 1 when all of them are dims; else refuses. */
int bt__dims_expect(bt_store *, const bt_type *, const bt_type *);
/* The one of them that is `?`, which absorbs the other; NULL: none. */
const bt_type *bt__dim_absorb(const bt_type *, const bt_type *);
bt__bounds bt__dim_bounds(const bt_type *);
bt__bounds bt__param_bounds(const bt_type_param *); /* of multiples of its step */
/* a - b >= least for every value; 0: it may be less, or cannot be decided. */
int bt__dim_exceeds(const bt_type *a, const bt_type *b, int64_t least);
/* The variable whose value an axis of this dim shows where those in `known` (keys) are:
 * the only other one, n of 2*n + m + 1, and what it is multiplied by. NULL: it shows
 * none. */
const bt_type *bt__dim_shown(const bt_type *dim, const bt_map *known, int64_t *factor);
/* All values of the atom are multiples of it. */
int64_t bt__atom_step(const bt_type *);
/* The factors of an atom; one that is no product is its own, put in *single. */
uint32_t bt__atom_factors(const bt_type *atom, const bt_type **single,
                          const bt_type *const **out);
/* The atom of such a kind (FLOORDIV, ...) with these arguments, as given. */
const bt_type *bt__dim_atom(bt_store *, uint32_t kind, uint32_t n,
                            const bt_type *const *args);
/* The product of two atoms, its factors sorted. */
const bt_type *bt__atom_product(bt_store *, const bt_type *, const bt_type *);
/* The arguments of an atom of that kind; NULL: it is something else. */
const bt_list_type *bt__dim_args(const bt_type *, uint32_t kind);

/* "broadcasts", "==", ..: a relation of checks in texts; "?": there is none of that number. */
const char *bt__check_word(uint32_t relation);

static inline int64_t bt__gcd(int64_t a, int64_t b) /* of magnitudes; 0 counts as none */
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}

#endif
