/*
 * Whether the clauses of a match cover every value, and which clauses never match. Of
 * `match?` nothing is asked.
 *
 * Explores the decision tree: a state is the clauses still possible and, for each, the
 * patterns still to be compared, one column a part of the value. A state whose first
 * clause has nothing left to compare is a leaf that this clause takes; a state without
 * clauses is a value that none covers. Otherwise the first clause compares some column,
 * and there is one next state for each constructor that a clause names there, and one for
 * all others together. Columns that nobody compares are dropped; equal states are
 * explored once; work is bounded, since the problem is exponential at worst.
 *
 * source  Maranget, "Warnings for pattern matching", 2007; "Compiling pattern matching to
 *         good decision trees", 2008
 */
#include "ir/intern.h"
#include "solve/solver.h"

#include <string.h>

enum { MAX_CELLS = 20 * 1000 * 1000 };

/* A part of the matched value: field `field` of part `parent`. Part 0 is the whole. */
struct part {
    uint32_t parent, field;
};

struct row {
    uint32_t clause;
    const bt_pattern **at; /* one a column; NULL: anything */
};

struct state {
    struct row *rows;
    uint32_t *columns; /* parts */
    uint32_t nrow, ncol, hash;
    const struct state *parent;
    uint32_t part;       /* what was decided on the way here: which part was looked at, */
    const bt_ctor *ctor; /* and that this constructor builds it, */
    uint32_t is_tuple; /* or that it is a tuple; neither: another constructor builds it */
    uint32_t nfield;
    struct state *next; /* on the stack */
};

struct exhaust {
    bt_solver *solver;
    bt_arena *arena;
    const bt_match *match;
    bt_vec(struct part) parts;
    struct state *stack;
    bt__interner seen;
    uint64_t ncell;
    uint8_t *used; /* clauses */
    const struct state *uncovered;
    uint32_t is_mixed; /* patterns of different types in a column: an error elsewhere */
};

static const bt_pattern *comparing(const bt_pattern *pattern)
{
    return pattern->kind == BT_PATTERN_CTOR || pattern->kind == BT_PATTERN_TUPLE ? pattern
                                                                                 : NULL;
}

/* ---- states ---- */

static struct state *new_state(struct exhaust *x, uint32_t nrow, uint32_t ncol)
{
    struct state *state = BT_NEW(x->arena, struct state);
    if (!state)
        return NULL;
    state->rows = BT_NEWS(x->arena, struct row, nrow);
    state->columns = BT_NEWS(x->arena, uint32_t, ncol);
    state->ncol = ncol;
    return state->rows && state->columns ? state : NULL;
}

static int same_state(const void *item, const void *key)
{
    const struct state *a = item, *b = key;
    if (a->nrow != b->nrow || a->ncol != b->ncol)
        return 0;
    for (uint32_t i = 0; i < a->nrow; i++) {
        if (a->rows[i].clause != b->rows[i].clause ||
            memcmp(a->rows[i].at, b->rows[i].at, a->ncol * sizeof(*a->rows[i].at)) != 0)
            return 0;
    }
    return 1;
}

/* Drops columns that no row compares. */
static void drop_columns(struct state *state)
{
    uint32_t kept = 0;
    for (uint32_t c = 0; c < state->ncol; c++) {
        int is_compared = 0;
        for (uint32_t i = 0; i < state->nrow && !is_compared; i++)
            is_compared = state->rows[i].at[c] != NULL;
        if (!is_compared)
            continue;
        for (uint32_t i = 0; i < state->nrow; i++)
            state->rows[i].at[kept] = state->rows[i].at[c];
        state->columns[kept++] = state->columns[c];
    }
    state->ncol = kept;
}

/* Drops the rows after one that compares nothing: it takes all that comes to it. */
static void drop_rows(struct state *state)
{
    for (uint32_t i = 0; i + 1 < state->nrow; i++) {
        uint32_t c = 0;
        while (c < state->ncol && !state->rows[i].at[c])
            c++;
        if (c == state->ncol)
            state->nrow = i + 1;
    }
}

static uint32_t hash_state(const struct state *state)
{
    uint32_t hash = bt__hash_mix(state->ncol, state->nrow);
    for (uint32_t i = 0; i < state->nrow; i++) {
        hash = bt__hash_mix(hash, state->rows[i].clause);
        hash = bt__hash_mix(hash, bt__hash_bytes(0, state->rows[i].at,
                                                 state->ncol * sizeof(bt_pattern *)));
    }
    return hash;
}

/* Puts a state on the stack unless one like it was there. 0: no memory. */
static int push_state(struct exhaust *x, struct state *state)
{
    bt_registry *registry = bt_ctx_registry(x->solver->ctx);
    x->ncell += (uint64_t)state->nrow * (state->ncol + 1) + 1;
    drop_rows(state);
    drop_columns(state);
    state->hash = hash_state(state);
    if (bt__interner_find(&x->seen, state->hash, same_state, state))
        return 1;
    if (!bt__interner_reserve(registry, &x->seen))
        return 0;
    bt__interner_add(&x->seen, state->hash, state);
    state->next = x->stack;
    x->stack = state;
    return 1;
}

/* ---- from a state to the next ---- */

static void fill_row(const struct state *from, const struct row *row, uint32_t column,
                     uint32_t nfield, struct row *out)
{
    const bt_pattern *pattern = row->at[column];
    uint32_t n = 0;
    out->clause = row->clause;
    for (uint32_t c = 0; c < from->ncol; c++) {
        if (c != column)
            out->at[n++] = row->at[c];
    }
    for (uint32_t i = 0; i < nfield; i++)
        out->at[n++] = pattern ? comparing(pattern->at[i]) : NULL;
}

/* How a column's part is built, and the rows that admit that. Neither a constructor nor a
 * tuple: by a constructor that no clause names. */
struct choice {
    const bt_ctor *ctor;
    uint32_t is_tuple, nfield;
    bt_vec(uint32_t) rows;
};

/* The parts that follow the column's place, as columns. 0: no memory. */
static int fill_columns(struct exhaust *x, const struct state *from, uint32_t column,
                        struct state *to)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < from->ncol; c++) {
        if (c != column)
            to->columns[n++] = from->columns[c];
    }
    for (uint32_t i = 0; i < to->nfield; i++) {
        struct part field = { to->part, i };
        to->columns[n++] = x->parts.len;
        if (!BT_PUSH(x->arena, &x->parts, field))
            return 0;
    }
    return 1;
}

/* 0: no memory. */
static int branch(struct exhaust *x, const struct state *from, uint32_t column,
                  const struct choice *choice)
{
    struct state *to = new_state(x, choice->rows.len, from->ncol - 1 + choice->nfield);
    if (!to)
        return 0;
    for (uint32_t i = 0; i < choice->rows.len; i++) {
        struct row *row = &to->rows[to->nrow++];
        row->at = BT_NEWS(x->arena, const bt_pattern *, to->ncol);
        if (!row->at)
            return 0;
        fill_row(from, &from->rows[choice->rows.at[i]], column, choice->nfield, row);
    }
    to->parent = from;
    to->part = from->columns[column];
    to->ctor = choice->ctor;
    to->is_tuple = choice->is_tuple;
    to->nfield = choice->nfield;
    return fill_columns(x, from, column, to) && push_state(x, to);
}

/* Whether all that the column compares is of one type. */
static int is_uniform(const struct state *state, uint32_t column)
{
    const bt_pattern *first = state->rows[0].at[column];
    for (uint32_t i = 0; i < state->nrow; i++) {
        const bt_pattern *p = state->rows[i].at[column];
        if (!p)
            continue;
        if (p->kind != first->kind)
            return 0;
        if (p->kind == BT_PATTERN_TUPLE
                ? p->n != first->n
                : p->ctor->adt != first->ctor->adt || p->n != p->ctor->nfield)
            return 0;
    }
    return 1;
}

/* Each row among those of its constructor; one that compares nothing here among all.
 * choices[nctor] is for the constructors without a row of their own. 0: no memory. */
static int sort_rows(struct exhaust *x, const struct state *state, uint32_t column,
                     const bt_adt_def *adt, struct choice *choices)
{
    for (uint32_t i = 0; i < state->nrow; i++) {
        const bt_pattern *p = state->rows[i].at[column];
        if (p)
            choices[p->ctor->tag].ctor = p->ctor;
    }
    for (uint32_t i = 0; i < state->nrow; i++) {
        const bt_pattern *p = state->rows[i].at[column];
        uint32_t first = p ? p->ctor->tag : 0, last = p ? first : adt->nctor;
        x->ncell += last - first;
        if (x->ncell > MAX_CELLS)
            return 1; // too many states: the search has ended, the choice does not matter
        for (uint32_t tag = first; tag <= last; tag++) {
            int takes = p || choices[tag].ctor || tag == adt->nctor;
            if (takes && !BT_PUSH(x->arena, &choices[tag].rows, i))
                return 0;
        }
    }
    return 1;
}

static int branch_ctors(struct exhaust *x, const struct state *state, uint32_t column)
{
    const bt_adt_def *adt = state->rows[0].at[column]->ctor->adt;
    struct choice *choices = BT_NEWS(x->arena, struct choice, (size_t)adt->nctor + 1);
    uint32_t nnamed = 0;
    x->ncell += adt->nctor;
    if (!choices || !sort_rows(x, state, column, adt, choices))
        return 0;
    for (uint32_t tag = 0; tag < adt->nctor; tag++) {
        struct choice *choice = &choices[tag];
        if (!choice->ctor)
            continue;
        choice->nfield = choice->ctor->nfield;
        nnamed++;
        if (!branch(x, state, column, choice))
            return 0;
    }
    return nnamed == adt->nctor || branch(x, state, column, &choices[adt->nctor]);
}

static int branch_tuple(struct exhaust *x, const struct state *state, uint32_t column)
{
    struct choice choice = { .is_tuple = 1, .nfield = state->rows[0].at[column]->n };
    for (uint32_t i = 0; i < state->nrow; i++) {
        if (!BT_PUSH(x->arena, &choice.rows, i))
            return 0;
    }
    return branch(x, state, column, &choice);
}

static int step(struct exhaust *x, const struct state *state)
{
    uint32_t column = 0;
    if (state->nrow == 0) {
        x->uncovered = x->uncovered ? x->uncovered : state;
        return 1;
    }
    while (column < state->ncol && !state->rows[0].at[column])
        column++;
    if (column == state->ncol) {
        x->used[state->rows[0].clause] = 1;
        return 1;
    }
    const bt_pattern *pattern = state->rows[0].at[column];
    if (!is_uniform(state, column)) {
        x->is_mixed = 1;
        return 1;
    }
    if (pattern->kind == BT_PATTERN_TUPLE)
        return branch_tuple(x, state, column);
    return branch_ctors(x, state, column);
}

/* ---- a value that no clause covers ---- */

/* The decision on a part on the way to the state; NULL: none. */
static const struct state *decision(const struct state *state, uint32_t part)
{
    for (; state->parent; state = state->parent) {
        if (state->part == part)
            return state;
    }
    return NULL;
}

/* A constructor of the type that no clause names at this part. */
static const bt_ctor *other_ctor(const struct state *state)
{
    const struct state *from = state->parent;
    for (uint32_t c = 0; c < from->ncol; c++) {
        if (from->columns[c] != state->part)
            continue;
        const bt_adt_def *adt = from->rows[0].at[c]->ctor->adt;
        for (uint32_t tag = 0; tag < adt->nctor; tag++) {
            int named = 0;
            for (uint32_t i = 0; i < from->nrow; i++) {
                const bt_pattern *p = from->rows[i].at[c];
                named |= p && p->ctor == adt->ctors[tag];
            }
            if (!named)
                return adt->ctors[tag];
        }
    }
    return NULL;
}

static uint32_t find_part(const struct exhaust *x, const struct state *state,
                          uint32_t parent, uint32_t field)
{
    // parts are made once for each branch: the one on this path is decided on it
    for (; state->parent; state = state->parent) {
        const struct part *part = &x->parts.at[state->part];
        if (state->part && part->parent == parent && part->field == field)
            return state->part;
    }
    return UINT32_MAX;
}

static void write_witness(const struct exhaust *x, const struct state *state,
                          uint32_t part, uint32_t depth, bt_text *out)
{
    const struct state *decided = part == UINT32_MAX ? NULL : decision(state, part);
    if (!decided || depth == 0) {
        bt_text_addf(out, "_");
        return;
    }
    const bt_ctor *ctor = decided->ctor;
    if (!ctor && !decided->is_tuple)
        ctor = other_ctor(decided);
    uint32_t n = ctor ? ctor->nfield : decided->nfield;
    bt_text_addf(out, "%s", ctor ? ctor->name : "");
    if (ctor && n == 0)
        return;
    bt_text_addf(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(out, "%s", i ? ", " : "");
        write_witness(x, state, find_part(x, state, part, i), depth - 1, out);
    }
    bt_text_addf(out, "%s", !ctor && n == 1 ? ",)" : ")");
}

/* ---- the match ---- */

static bt_status report_match(struct exhaust *x)
{
    bt_solver *s = x->solver;
    for (uint32_t i = 0; i < x->match->nclause; i++) {
        const bt_pattern *pattern = x->match->clauses[i]->pattern;
        bt_span span = pattern->span ? pattern->span : x->match->base.span;
        if (!x->used[i])
            bt_remark(
                s->ctx, BT_REMARK_NOTE,
                bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, span,
                           "clause %u never matches: those before it cover all that "
                           "it could",
                           i + 1));
    }
    if (!x->uncovered)
        return NULL;
    bt_text text;
    bt_text_init(&text, s->arena);
    write_witness(x, x->uncovered, 0, 8, &text);
    const char *witness = bt_text_get(&text);
    return bt__report(s, bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, x->match->base.span,
                                    "match does not cover %s: add a clause, or write "
                                    "match?",
                                    witness ? witness : "all values"));
}

static bt_status explore(struct exhaust *x)
{
    bt_solver *s = x->solver;
    struct part whole = { UINT32_MAX, 0 };
    struct state *root = new_state(x, x->match->nclause, 1);
    x->used = BT_NEWS(x->arena, uint8_t, x->match->nclause);
    if (!root || !x->used || !BT_PUSH(x->arena, &x->parts, whole))
        return bt_no_memory();
    root->nrow = x->match->nclause;
    for (uint32_t i = 0; i < root->nrow; i++) {
        root->rows[i].clause = i;
        root->rows[i].at = BT_NEWS(x->arena, const bt_pattern *, 1);
        if (!root->rows[i].at)
            return bt_no_memory();
        root->rows[i].at[0] = comparing(x->match->clauses[i]->pattern);
    }
    if (!push_state(x, root))
        return bt_no_memory();
    while (x->stack && !x->is_mixed) {
        struct state *state = x->stack;
        x->stack = state->next;
        if (!step(x, state))
            return bt_no_memory();
        if (x->ncell > MAX_CELLS)
            return bt_fail_at(s->ctx, BT_ERR_LIMIT, s->store, x->match->base.span,
                              "match is too intricate to prove that it covers all "
                              "values: nest matches instead");
    }
    return x->is_mixed ? NULL : report_match(x);
}

bt_status bt__check_match(bt_solver *s, const bt_match *match)
{
    if (match->otherwise)
        return NULL;
    struct exhaust x = { .solver = s, .match = match };
    x.arena = bt_arena_create(bt_ctx_registry(s->ctx));
    bt_status status = x.arena ? explore(&x) : bt_no_memory();
    bt__interner_deinit(bt_ctx_registry(s->ctx), &x.seen);
    bt_arena_destroy(x.arena);
    return status;
}
