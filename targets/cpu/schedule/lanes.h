/*
 * What the sources of the vectoriser share.
 *
 * A loop done by lanes does up to 512 iterations at a time, or 8192 where no strip is kept
 * between two calls: lane j is the iteration in which the loop's index is first + j. What differs
 * from lane to lane is an element of a strip; what is the same for all is one element, or an
 * integer expression that the engine computes. A condition may hold for some lanes only,
 * at ... at + count - 1.
 *
 * Functions give 0 on failure: `why` of the vectoriser says what cannot be done; where it
 * is NULL, there was no memory or the graph has failed.
 */
#ifndef CPU_LANES_H
#define CPU_LANES_H

#include "primitives/callee.h"
#include "vectorise.h"

/* Strips of temporaries stay in L1; without any, they are long. */
enum { CPU_STRIP_NELEM = 512, CPU_LONG_STRIP_NELEM = 8192, CPU_NO_TEMP = -1 };

/* A local of the vectoriser's own, used for one thing after the other. */
struct cpu_temp {
    uint32_t buffer, is_taken, is_strip;
    bt_dtype dtype;
};

/* A number in memory. */
struct cpu_constant {
    const bt_node *node; /* of dtype and value */
    uint32_t buffer;
    int64_t offset;
};

struct vectoriser {
    bt_loops *loops;
    bt_graph *graph;
    bt_arena *arena;   /* of what stays */
    bt_arena *scratch; /* of what does not */
    const struct cpu_config *config;
    uint32_t nbuffer; /* that the program had */
    const char *why;
    bt_vec(struct cpu_temp) temps;
    bt_vec(struct cpu_constant) constants;
};

/* Elements in memory: a strip, of which lane 0 stands at the offset, or one for all. */
struct cpu_value {
    uint32_t is_strip, buffer;
    bt_dtype dtype;
    const bt_node *offset;
    int32_t temp; /* that it stands in; CPU_NO_TEMP */
};

/* A loop done by lanes, or none: then there is one lane. */
struct cpu_lanes {
    struct vectoriser *v;
    int64_t index;             /* its number; -1: none */
    const bt_node *first;      /* its value at lane 0 */
    int64_t most;              /* lanes of a strip */
    uint32_t is_bare;          /* no lane keeps anything of its own: strips may be long */
    const uint8_t *is_private; /* by buffer: each lane has its own */
    struct cpu_value *own;     /* by buffer: where they stand; dtype 0: nowhere yet */
    bt_map varying;            /* node -> 1: it is not the same for all, 2: it is */
};

static inline int cpu_is_own(const struct cpu_lanes *l, uint32_t buffer)
{
    return l->is_private && buffer < l->v->nbuffer && l->is_private[buffer];
}

/* A place where every lane has read: an array of as many elements may be read there too. */
struct cpu_inside {
    const struct cpu_inside *next;
    const bt_node *offset, *nelem;
};

/* Lanes, and where statements for them go. Of a statement: what it has computed. */
struct cpu_part {
    struct cpu_lanes *lanes;
    const struct cpu_part *outer; /* its values stand here too */
    bt_stmts *to;
    const bt_node *at, *count;
    const struct cpu_value *mask;    /* the lanes that count; NULL: all */
    uint32_t is_guarded;             /* others may read out of bounds, ... */
    const struct cpu_inside *inside; /* ... but not here */
    bt_map made;                     /* node -> struct made */
    bt_map *uses;                    /* node -> how many others in the statement use it */
};

/* ---- calls (vectorise_emit.c) ---- */

struct cpu_call {
    const char *name;
    uint32_t naddress, ninteger; /* without the count */
    struct cpu_value at[7];
    const bt_node *integers[8];
};
int cpu_emit(struct cpu_part *, const struct cpu_call *, int is_strip);
/* NAME.DTYPE of a value's dtype, with a suffix or "". */
const char *cpu_strip_name(struct vectoriser *, const char *name, bt_dtype,
                           const char *suffix);
int cpu_temp_new(struct cpu_lanes *, bt_dtype, int is_strip, struct cpu_value *out);
/* A strip for each of `nelem`, for good. */
int cpu_strips_new(struct cpu_lanes *, bt_dtype, int64_t nelem, struct cpu_value *out);
void cpu_temp_free(struct vectoriser *, const struct cpu_value *);
int cpu_constant_new(struct vectoriser *, const bt_node *, struct cpu_value *out);
/* An integer into one element. */
int cpu_number(struct cpu_part *, const bt_node *, struct cpu_value *out);
/* All of `to` becomes `from`. */
int cpu_move(struct cpu_part *, const struct cpu_value *to, const struct cpu_value *from);
/* To the other's dtype; both are strips, or neither. */
int cpu_cast(struct cpu_part *, const struct cpu_value *to, const struct cpu_value *from);
/* As dtype, and where is_strip, a strip; *out may be a new temp. */
int cpu_convert(struct cpu_part *, bt_dtype, int is_strip, const struct cpu_value *from,
                struct cpu_value *out);
int cpu_refuse(struct vectoriser *, const char *why);

/* ---- expressions (vectorise_value.c) ---- */

/* What lanes compute with: float32 for shorter floats. */
bt_dtype cpu_lane_dtype(bt_dtype);
int cpu_is_varying(struct cpu_lanes *, const bt_node *);
/* Whether the engine computes it. */
int cpu_is_integer(const bt_node *);
/* With lane 0's index; NULL: failure. */
const bt_node *cpu_at_first(struct cpu_lanes *, const bt_node *);
/* A statement's part, and of what it computes the roots. */
int cpu_statement_open(const struct cpu_part *, struct cpu_part *out, bt_map *uses,
                       uint32_t nroot, const bt_node *const *roots);
void cpu_part_close(struct cpu_part *);
/* Of the same statement, for other lanes of these. */
void cpu_part_open(const struct cpu_part *, struct cpu_part *out, bt_stmts *to);
int cpu_eval(struct cpu_part *, const bt_node *, struct cpu_value *out);
/* It is not needed any more. */
void cpu_drop(struct cpu_part *, const bt_node *);
/* Where `to` is: in its dtype, for all lanes. */
int cpu_eval_into(struct cpu_part *, const bt_node *, const struct cpu_value *to);
static inline int cpu_is_scalar(const bt_node *node, uint32_t which)
{
    return node && node->kind == BT_NODE_SCALAR && node->which == which;
}

/* Without conversions that change nothing on lanes. */
const bt_node *cpu_bare(const bt_node *);
/* The same, of which the statement makes one thing only; else NULL. */
const bt_node *cpu_once(const struct cpu_part *, const bt_node *);
/* For one for all: as the engine computes it; NULL: failure. */
const bt_node *cpu_as_integer(struct cpu_part *, const bt_node *);

/* Where a node's value goes: to `to`, if that takes it, or to a new temp. */
int cpu_place(struct cpu_part *, bt_dtype, int is_strip, const struct cpu_value *to,
              struct cpu_value *out);

/* ---- reads (vectorise_read.c) ---- */

/* Of a linear node, or an index. */
int cpu_linear(struct cpu_part *, const bt_node *, struct cpu_value *out);
/* Where an element, or a strip with stride *stride, is; the offset has the lanes' index at
 * lane 0. 0 also where the place has no stride: *stride is 0 then. */
int cpu_place_of(struct cpu_part *, const bt_node *offset, const bt_node **out,
                 int64_t *stride);
/* Elements of whole rows: lane j is number at + j of rows of `columns` elements. */
struct cpu_rows {
    const bt_node *first; /* where number 0 is */
    int64_t columns, row, step;
};
/* Where they are, by what the lanes' index comes to divided by `columns`. 0 also: it is not so. */
int cpu_rows_of(struct cpu_part *, const bt_node *offset, struct cpu_rows *);
/* A call of load_rows or store_rows. */
int cpu_emit_rows(struct cpu_part *, int is_store, const struct cpu_rows *,
                  const struct cpu_value *rows, const struct cpu_value *strip);
/* Where a condition that is tested for all lanes reads, those that it chooses may read. 0: no
 * memory. */
int cpu_read_before(struct cpu_part *, const bt_node *condition);
/* In the dtype of the buffer. */
int cpu_read(struct cpu_part *, const bt_node *, const struct cpu_value *to,
             struct cpu_value *out);

/* ---- conditions (vectorise_split.c) ---- */

/* A condition by what its conjuncts depend on. */
struct cpu_split {
    bt_nodes same;   /* one for all lanes */
    bt_nodes ranges; /* hold for a range of lanes */
    bt_nodes others;
};
int cpu_split(struct cpu_part *, const bt_node *condition, struct cpu_split *out);
/* The conjuncts as the engine computes them; NULL: failure. */
const bt_node *cpu_split_same(struct cpu_part *, const struct cpu_split *);
/* Lanes low ... high - 1, none where high <= low, within those of the part. */
int cpu_split_range(struct cpu_part *, const struct cpu_split *, const bt_node **low,
                    const bt_node **high);
/* Of iterations low ... high - 1 those where 0 <= first + coef * iteration. */
int cpu_narrow(bt_graph *, const bt_node *first, int64_t coef, const bt_node **low,
               const bt_node **high);
/* The part from `low` on before `high`, behind a condition where it may be empty. *out is
 * left without statements to go to where it is. */
int cpu_part_narrow(struct cpu_part *, const bt_node *low, const bt_node *high,
                    struct cpu_part *out);
/* if (condition) { yes } else { no } */
int cpu_part_if(struct cpu_part *, const bt_node *condition, struct cpu_part *yes,
                struct cpu_part *no);

/* ---- statements (vectorise_stmt.c, vectorise_take.c) ---- */

int cpu_do_block(struct cpu_part *, const bt_stmts *);
int cpu_do_take(struct cpu_part *, const bt_stmt *);
/* Where it stores: *stride 0 of one element for all. */
int cpu_target_of(struct cpu_part *, uint32_t buffer, const bt_node *offset,
                  struct cpu_value *out, int64_t *stride);

/* ---- windows (vectorise_window.c) ---- */

/* A loop in which each lane takes what lies around a place of its own, if it is one. */
int cpu_do_window(struct cpu_part *, const bt_stmt *loop, int *is_done);

/* ---- rows (vectorise_rows.c) ---- */

/* Whether a loop of few iterations takes neighbours that begin at a place of each lane's own, for
 * lanes of this index. */
int cpu_is_row(struct vectoriser *, const bt_stmt *loop, int64_t index);
/* Such a loop as one call, if it is one. */
int cpu_do_rows(struct cpu_part *, const bt_stmt *loop, int *is_done);

/* ---- scans (vectorise_scan.c) ---- */

/* A loop in which each element takes the one before it, as one call. */
int cpu_do_scan(struct cpu_part *, const bt_stmt *loop);

/* ---- the order of sums (vectorise_order.c) ---- */

/* How a loop must be done; 0: in any way. */
enum { CPU_BY_ITERATION = 1, CPU_BY_LANES = 2, CPU_BY_NEITHER = 4 };
uint32_t cpu_order(struct vectoriser *, const bt_stmt *loop);

/* ---- the end (vectorise_tidy.c) ---- */

int cpu_tidy(struct vectoriser *, bt_stmts *body);

/* ---- codes (vectorise_codes.c) ---- */

/* A cast to codes of 8 bits as one call; *is_made 0: it is none. */
int cpu_make_codes(struct cpu_part *, const bt_node *, const struct cpu_value *to,
                   struct cpu_value *out, int *is_made);
/* ... of numbers of fixed point (vectorise_fixed.c). */
int cpu_make_fixed(struct cpu_part *, const bt_node *, const struct cpu_value *to,
                   struct cpu_value *out, int *is_made);

#endif
