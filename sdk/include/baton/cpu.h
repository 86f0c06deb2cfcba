/*
 * For authors of ways to compute on target cpu: a plugin may bring other programs for functions
 * than those that the target makes itself. The one with the least estimate is taken, whoever
 * brought it; `baton info MODEL --target cpu --why` shows them.
 *
 *     static bt_status make(bt_ctx *ctx, bt_arena *arena, bt_cpu_way_call *call)
 *     {
 *         // changes call->graph, or leaves is_made 0: then it has none for this function
 *     }
 *     static const bt_cpu_way ways[] = {
 *         { .name = "example.separable", .doc = "Windows side by side.", .make = make },
 *         { 0 },
 *     };
 *     const bt_table bt_ways_separable[] = { BT_CPU_WAYS(ways), { 0 } };
 */
#ifndef BATON_CPU_H
#define BATON_CPU_H

#include <baton/graph.h>
#include <baton/ir.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Made by the target, and may grow at the end. All that it points to is the target's, and lasts as
 * long as the call of `make`. */
typedef struct bt_cpu_way_call {
    uint32_t nbytes;          /* sizeof(bt_cpu_way_call) of the target */
    const bt_func *primitive; /* the function: types and attributes; a way changes none */
    /* What it computes, as stages: the way's own to change, in place; to put another graph here
     * has no effect. Inputs, results and dims keep their numbers, dtypes and extents, and each
     * stage may read any that does not need it: the target finds an order. Arrays have the
     * shapes that memory has (bt_graph_compose). New nodes and arrays are made in
     * graph->arena, and a constructor that gives NULL has set graph->status. What
     * bt_graph_verify refuses is an error that names the way. Sums of products become calls of
     * the target's tiles, all else loops over vectors. */
    bt_graph *graph;
    const uint8_t *is_constant; /* of each input; 1: a weight */
    const char *isa;            /* "portable", "avx2", "avx512", ... */
    /* 1: floats are to be summed in the order of the formulas. The way alone sees to it: nothing
     * checks the order of its sums. `baton plugin check` compares what it computes with
     * the evaluator. */
    uint32_t is_exact;
    /* ---- what the way says ---- */
    uint32_t is_made; /* 1: the graph computes the same in another way */
    double ns; /* optional: an estimate for one thread in nanoseconds, finite and not
                         below 0, to compare with other ways and no more; 0: the target's
                         own, of the program that it makes of the graph */
} bt_cpu_way_call;

typedef struct bt_cpu_way {
    const char *name; /* with a dot; those without are the target's own */
    const char *doc;  /* a sentence, for `baton list ways` */
    /* The target asks several times for one function, each time with a graph as it was composed,
     * perhaps from several threads: the answer depends on the call alone. The arena is
     * for the way's own use; it is freed some time after the call.
     * errors  BT_ERR_UNSUPPORTED: as is_made 0; any other ends the compilation */
    bt_status (*make)(bt_ctx *, bt_arena *, bt_cpu_way_call *);
} bt_cpu_way;
#define BT_CPU_WAY_INTERFACE "cpu.way/1"
#define BT_CPU_WAYS(array)                                \
    {                                                     \
        BT_CPU_WAY_INTERFACE, sizeof(bt_cpu_way), (array) \
    }

#ifdef __cplusplus
}
#endif
#endif
