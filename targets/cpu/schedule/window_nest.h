/*
 * Nests of loops in which each place of an image takes what lies in a window around it:
 *
 *     for ... { for row { for column { [for channel {]
 *         t = nothing;  for i in taps { if (inside) { for j in taps { if (inside) { t R= value
 *         y[...] = f(t)
 *
 * Of places that grow along loops by as much from one iteration to the next, it is known without
 * sizes which nests these are.
 */
#ifndef CPU_WINDOW_NEST_H
#define CPU_WINDOW_NEST_H

#include <baton/loops.h>

enum { CPU_NEST_LOOPS = 8, CPU_NEST_CONDITIONS = 4 };

/* An axis along which windows go: 0 <= step * out + tap + before < size. */
struct cpu_window_axis {
    const bt_stmt *out, *tap; /* loops */
    int64_t taps, step;
    const bt_node *before, *size;
};

struct cpu_window_nest {
    bt_loops *loops;
    bt_arena *arena;
    uint32_t nloop; /* around the windows, those of the axes and of the channel last */
    bt_stmt *all[CPU_NEST_LOOPS];
    struct cpu_window_axis axes[2]; /* rows, columns */
    const bt_stmt *channel;         /* the innermost loop, if it is none of an axis */
    const bt_stmt *start, *take, *store;
    uint32_t ncondition;
    const bt_node *conditions[CPU_NEST_CONDITIONS];
};

/* Whether `stmt` is such loops and nothing else, of known numbers of taps; what windows begin with,
 * take, and come to is the caller's to look at. */
int cpu_find_window_nest(struct cpu_window_nest *, bt_stmt *stmt, int has_channel);
/* Steps by a place that is read in a window, then all that is outside by the conditions. 0: it is
 * something else. */
int cpu_measure_window_nest(struct cpu_window_nest *, const bt_node *place);

/* How much a node grows from one iteration to the next: a sum in which the loop's index stands by
 * itself, or times what has none. NULL: it is something else, or there is no memory. */
const bt_node *cpu_growth(bt_graph *, const bt_node *, const bt_stmt *loop);
int cpu_grows_by(bt_graph *, const bt_node *, const bt_stmt *loop, int64_t by);
/* Whether a node depends on no other indices than these, and what it reads is there before the nest is.
 * `seen` by id. */
int cpu_is_made_before(const struct cpu_window_nest *, const bt_node *, uint64_t indices,
                       uint8_t *seen);
/* In the first iteration of the loops of axes and channel. */
const bt_node *cpu_first_in_nest(const struct cpu_window_nest *, const bt_node *);
/* Where the array that windows read at this place begins: they find what is outside from there. */
const bt_node *cpu_image_of_nest(const struct cpu_window_nest *, const bt_node *place);

#endif
