/* What the kernel does with compute graphs beyond <baton/graph.h>. */
#ifndef COMPUTE_GRAPH_GRAPH_H
#define COMPUTE_GRAPH_GRAPH_H

#include <baton/graph.h>
#include <baton/op.h>

#include "compute/graph/reduce.h"

/* The graph's status says so; NULL. */
const bt_node *bt__graph_no_memory(bt_graph *);
/* Whether the graph's constructors made the node. */
int bt__graph_has(const bt_graph *, const bt_node *);
/* Memory by nodes that is needed for one look at them: the context's scratch, unless the graph
 * itself is there. */
struct bt__look {
    bt_arena *arena;
    const void *mark;
};
struct bt__look bt__look_begin(const bt_graph *);
void bt__look_end(const bt_graph *, const struct bt__look *);
const bt_node *bt__node_const(bt_graph *, bt_dtype, bt_cell);
/* Integers of dims that are known not to be negative whenever the graph runs, as checks have
 * been made before; added to a graph. 0: no memory. */
int bt__graph_add_natural(bt_graph *, const bt_node *);
const bt_nodes *bt__graph_naturals(const bt_graph *);
/* The index with another number; args: what *like has, in this graph. */
const bt_node *bt__index_again(bt_graph *, uint32_t number, const bt_node *like,
                               const bt_node *const *args);
/* The least or the greatest value of an integer as its indices run, by dims: each index at
 * an end of its range. What it does not see through stays, so that there may be indices in
 * it still. */
const bt_node *bt__node_end(bt_graph *, const bt_node *, int is_greatest);
/* Replaces index `number` by `by` and moves the numbers above it one down, inside
 * reductions too. */
const bt_node *bt__node_replace_index(bt_graph *, const bt_node *, uint32_t number,
                                      const bt_node *by);
/* A size as a dim of types, where terms[i], NULL or beyond nterm: none, is dim i of the graph.
 * *out NULL: these do not express it. */
bt_status bt__node_dim(bt_ctx *, bt_store *, const bt_node *size, uint32_t nterm,
                       const bt_type *const *terms, const bt_type **out) BT_MUST_USE;
/* What the arg reducers give: the place of the indices from `first` on, row by row. */
const bt_node *bt__row_position(bt_graph *, uint32_t first, uint32_t nindex,
                                const bt_node *const *extents);
/* A reduction with each index that is divided by a block's size as two: the block and the
 * place in it. Its terms come in the same order. NULL: failure. */
const bt_node *bt__node_split_blocks(bt_graph *, const bt_node *reduction);
/* What bt_graph_compose makes, before stages go into others: which of them is chosen by
 * numbers, where there are some. */
struct bt__copying; /* compute/compose/copy.h: numbers for dims; NULL: none */
bt_status bt__graph_join(bt_ctx *, bt_arena *, const bt_func *, const bt_type_param *dims,
                         struct bt__copying *, bt_graph **out) BT_MUST_USE;
/* The graph of a call on tensors without layouts, whose axes are each a dim of its own where
 * they are open: the axes get the dims of the call's types. checked: the call, whose checks say
 * which axes broadcast: these are read at index * (extent != 1); NULL: that is not asked for. */
bt_status bt__graph_open(bt_ctx *, bt_arena *, const bt_formula_call *,
                         const bt_call *checked, const bt_graph *from,
                         bt_graph **out) BT_MUST_USE;
/* Stages that others can compute in place go into those. */
bt_status bt__graph_inline(bt_graph *) BT_MUST_USE;
/* Elements that are moved, but not computed, become their parts, before stages go into others. */
bt_status bt__graph_to_parts(bt_graph *) BT_MUST_USE;
/* Packed elements become bytes in inputs and results, and their carriers between. */
bt_status bt__graph_unpack(bt_graph *) BT_MUST_USE;
/* An expression of a stage of that rank where the stage's axes are `axes`, its reductions
 * numbered from `next` on; those that it does not depend on may be NULL. NULL: failure. */
const bt_node *bt__node_place(bt_graph *, const bt_node *, uint32_t rank,
                              const bt_node *const *axes, uint32_t next);
/* Reads of array i become reads of array now[i]. NULL: failure. */
const bt_node *bt__node_rename_arrays(bt_graph *, const bt_node *, const uint32_t *now);
/* Other arrays in place of those that there are; inputs stay. 0: no memory. */
int bt__graph_set_arrays(bt_graph *, uint32_t n, bt_array *const *arrays);
/* A stage's body where its axes are `axes`, its reductions numbered from `next` on. NULL:
 * failure. */
const bt_node *bt__graph_place(bt_graph *, uint32_t array, uint32_t next,
                               const bt_node *const *axes);
/* Of an expression, in additions; shared nodes once. `seen` by id. */
uint32_t bt__node_cost(const bt_node *, uint8_t *seen);

#endif
