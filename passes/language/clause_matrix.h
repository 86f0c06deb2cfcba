/*
 * The patterns of a match as a matrix: a row for each clause, a column for each part of the
 * value that is still to be looked at. Looking at one takes the rows out that it does not
 * fit, and puts its fields in its place. match-tree goes all ways; whoever has the value
 * goes one.
 *
 * source   Maranget 2008, Compiling Pattern Matching to Good Decision Trees
 */
#ifndef CLAUSE_MATRIX_H
#define CLAUSE_MATRIX_H

#include <baton/pass.h>

/* A part of the value that is matched. */
struct part {
    const struct part *tuple; /* whose field it is; NULL: bound by a pattern */
    uint32_t index;
    const char *name; /* hint */
    int is_bound;     /* a clause has a variable for it */
    const bt_param
        *var; /* what all clauses that have one state of it; NULL: they differ */
    const bt_value *value; /* match-tree's: new, once it is built */
};
typedef bt_vec(struct part *) part_list;

struct clause_row {
    uint32_t clause;
    const bt_pattern **cells; /* by column; NULL: anything */
    struct part **vars;       /* by parameter of the clause */
};
struct clause_matrix {
    uint32_t nrow, ncol;
    struct clause_row *rows;
    struct part **columns;
};

/* What has been found out about a part. */
struct part_seen {
    const struct part *part;
    const bt_ctor *ctor; /* NULL: it is a tuple */
    uint32_t nfield;
    struct part **fields; /* NULL: one that no row needs */
};
struct clauses {
    bt_ctx *ctx;
    const bt_store *store;
    bt_arena *arena;
    const bt_match *match;
    struct part *whole;
    bt_map positions;              /* variables -> position in their clause + 1 */
    bt_vec(struct part_seen) seen; /* on the way to here */
};

/* All clauses, and one column: the whole value. At least one clause. */
bt_status clauses_begin(struct clauses *, struct clause_matrix *out);
/* The column to look at next: one that the first row needs, among these the one that most
 * rows look at. matrix->ncol: the first row needs none. Tuples are taken apart before, of
 * which fields that a row needs are added to `fields` (NULL: nobody asks). */
bt_status clauses_choose(struct clauses *, struct clause_matrix *, part_list *fields,
                         uint32_t *column);
/* The rows that a value may still fit whose part in this column is made by `ctor`, which is
 * seen from now on; NULL: by one that no row names. out->nrow 0: there is none. */
bt_status clauses_specialise(struct clauses *, const struct clause_matrix *,
                             uint32_t column, const bt_ctor *ctor, struct part ***fields,
                             struct clause_matrix *out);
/* What the error says where none is left after a look at the part: the match's own text, or
 * what has been seen of the value and the clauses, with `*` for the part's constructor. */
bt_status clauses_otherwise(const struct clauses *, const struct part *, bt_text *out);

#endif
