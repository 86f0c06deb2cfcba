/*
 * Graphs of a function's calls, joined. Formulas speak of logical indices; arrays of the
 * joined graph are tensors as they lie in memory. So each read of a value with a layout
 * goes through the layout's map, and a stage whose value has one is written in the order
 * of memory, with zeros where a block is not full.
 */

#include <inttypes.h>
#include <string.h>

#include <baton/compute.h>

#include "compute/compose/copy.h"
#include "compute/compose/dims.h"
#include "compute/formula/call.h"
#include "compute/graph/conditions.h"

/* Tensors of a value: arrays of the joined graph. */
struct leaves {
    uint32_t n;
    const uint32_t *arrays;
};

/* How an array lies in memory: no layout, row major; else the extents of its logical axes too. */
struct order {
    const bt_layout *layout;
    const bt_node *const *extents;
    const bt_shape_type *shape; /* of the call that it is a result of; NULL: of none */
};

struct composer {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_graph *graph;
    struct bt__copying *copying; /* NULL: dims stay open */
    struct bt__dims dims;
    bt_vec(struct order) orders; /* of each array */
    const char *name;            /* of the function, for messages */
    bt_map values;               /* value -> struct leaves * */
};

static bt_status refuse(struct composer *c, const bt_value *value, const char *why)
{
    bt_text text;
    bt_text_init(&text, c->arena);
    bt_print_operand(value, &text);
    const char *name = bt_text_get(&text);
    if (!name)
        return bt_no_memory();
    return bt_fail_at(c->ctx, BT_ERR_UNSUPPORTED, value->type->store, value->span,
                      "%s: %s %s", c->name, name, why);
}

/* A type as it is where dims may have become numbers. */
static bt_status type_of(struct composer *c, const bt_value *value, const bt_type **out)
{
    *out = value->type;
    return c->copying ? bt__copying_type(c->copying, value->type, out) : NULL;
}

static bt_status add_array(struct composer *c, bt_array array, struct order order,
                           uint32_t *out)
{
    return bt_graph_add_array(c->graph, &array, out) &&
                   BT_PUSH(c->arena, &c->orders, order)
               ? NULL
               : bt_no_memory();
}

static bt_status set_leaves(struct composer *c, const bt_value *value, uint32_t n,
                            const uint32_t *arrays)
{
    struct leaves *leaves = BT_NEW(c->arena, struct leaves);
    if (!leaves)
        return bt_no_memory();
    *leaves = (struct leaves){ n, arrays };
    return bt_map_put(&c->values, value, leaves) ? NULL : bt_no_memory();
}

/* ---- parameters and constants ---- */

typedef bt_vec(uint32_t) array_list;

static bt_status make_extents(struct composer *c, const bt_shape_type *shape,
                              const bt_node ***out)
{
    *out = BT_NEWS(c->arena, const bt_node *, shape->n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < shape->n; i++) {
        (*out)[i] = bt__dims_node(&c->dims, shape->dims[i]);
        if (!(*out)[i])
            return c->graph->status ? c->graph->status : bt_no_memory();
    }
    return NULL;
}

static bt_status add_tensor(struct composer *c, const char *name, const bt_type *type,
                            array_list *out)
{
    uint32_t array;
    const bt_shape_type *memory = bt_tensor_memory(type);
    const bt_node **extents, **logical;
    if (!memory)
        return bt_store_why(c->ctx, type->store);
    BT_TRY(make_extents(c, memory, &extents));
    BT_TRY(make_extents(c, bt_tensor_shape(type), &logical));
    BT_TRY(add_array(c,
                     (bt_array){ .name = name,
                                 .dtype = bt_tensor_dtype(type),
                                 .rank = memory->n,
                                 .extents = extents },
                     (struct order){ bt_type_layout(type), logical, NULL }, &array));
    return BT_PUSH(c->arena, out, array) ? NULL : bt_no_memory();
}

static bt_status add_input(struct composer *c, const bt_value *param, const bt_type *type,
                           array_list *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (tuple) {
        for (uint32_t i = 0; i < tuple->n; i++)
            BT_TRY(add_input(c, param, tuple->at[i], out));
        return NULL;
    }
    const bt_shape_type *shape = bt_tensor_shape(type);
    if (!bt_tensor_dtype(type) || !shape || shape->n > BT_MAX_RANK)
        return refuse(c, param, "is not made of tensors whose ranks are known");
    return add_tensor(c, param->name ? param->name : "input", type, out);
}

static bt_status add_inputs(struct composer *c, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const bt_type *type;
        array_list arrays = { 0 };
        BT_TRY(type_of(c, param, &type));
        BT_TRY(add_input(c, param, type, &arrays));
        BT_TRY(set_leaves(c, param, arrays.len, arrays.at));
    }
    c->graph->ninput = c->graph->narray;
    return NULL;
}

/* A scalar is a stage without axes. */
static bt_status add_const(struct composer *c, const bt_value *value)
{
    const bt_tensor *t = bt_const_number(value);
    uint32_t *array = BT_NEW(c->arena, uint32_t);
    if (!array)
        return bt_no_memory();
    if (!t)
        return refuse(c, value, "is a constant that is not a scalar: pass it in");
    const bt_node **extents = BT_NEWS(c->arena, const bt_node *, t->rank);
    const bt_node *one = bt_node_int(c->graph, 1);
    const bt_node *body =
        bt__node_const(c->graph, t->dtype, bt_cell_load(t->data, t->dtype));
    if (!extents || !one || !body)
        return c->graph->status ? c->graph->status : bt_no_memory();
    for (uint32_t i = 0; i < t->rank; i++)
        extents[i] = one;
    BT_TRY(add_array(c,
                     (bt_array){ .name = "constant",
                                 .dtype = t->dtype,
                                 .rank = t->rank,
                                 .extents = extents,
                                 .body = body },
                     (struct order){ 0 }, array));
    return set_leaves(c, value, 1, array);
}

static bt_status leaves_of(struct composer *c, const bt_value *value,
                           const struct leaves **out)
{
    *out = bt_map_find(&c->values, value);
    if (*out)
        return NULL;
    if (value->kind != BT_VALUE_CONST)
        return refuse(c, value, "cannot be part of a primitive function");
    BT_TRY(add_const(c, value));
    *out = bt_map_find(&c->values, value);
    return NULL;
}

/* ---- calls ---- */

/* Nodes of one call's graph, made again in the joined one. */
struct copying {
    struct composer *composer;
    const bt_graph *from;
    const uint32_t *arrays; /* of the joined graph, by number in `from` */
    const bt_node **dims;   /* of the joined graph, by number in `from` */
    const bt_call *call;    /* whose checks hold; NULL: none */
    int reads_blocks;       /* some of them have layouts */
    const bt_node **memo;   /* by id */
};

static const bt_node *copy(struct copying *k, const bt_node *node);

/* Index `axis` of memory, by logical indices: a block, or the place in one. */
static const bt_node *physical_index(bt_graph *g, const bt_layout *layout, uint32_t axis,
                                     const bt_node *const *logical)
{
    const struct bt_layout_axis *at = &layout->physical[axis];
    int64_t inner = 1;
    for (uint32_t i = axis + 1; i < layout->nphysical; i++) {
        if (layout->physical[i].axis == at->axis)
            inner *= layout->physical[i].factor;
    }
    const bt_node *index =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV, logical[at->axis], bt_node_int(g, inner));
    return at->factor
               ? bt_node_scalar(g, BT_SCALAR_MOD, index, bt_node_int(g, at->factor))
               : index;
}

static const bt_node *read_array(struct composer *c, uint32_t array, bt_dtype dtype,
                                 uint32_t rank, const bt_node *const *logical)
{
    const bt_layout *layout = c->orders.at[array].layout;
    const bt_node *indices[BT_MAX_RANK];
    if (!layout)
        return bt_node_read(c->graph, array, dtype, rank, logical);
    for (uint32_t i = 0; i < layout->nphysical; i++)
        indices[i] = physical_index(c->graph, layout, i, logical);
    return bt_node_read(c->graph, array, dtype, layout->nphysical, indices);
}

/* ---- extents that may be 1 ---- */

/* Marks the checks that lead from an extent on: its own, that it is 1 or what stands at their
 * right, and those of what stands there. `dim` is what a type says it is, where one does: a
 * formula may have found it as another term. NULL: no memory. */
static const uint8_t *checks_from(const struct copying *k, const bt_node *extent,
                                  const bt_type *dim)
{
    struct composer *c = k->composer;
    const bt_call *call = k->call;
    uint8_t *marks = BT_NEWS(c->arena, uint8_t, call->ncheck);
    for (uint32_t more = 1; marks && more;) {
        more = 0;
        for (uint32_t i = 0; i < call->ncheck; i++) {
            const bt_node *left = bt__dims_node(&c->dims, call->checks[i].left);
            uint32_t leads = left == extent || call->checks[i].left == dim;
            for (uint32_t j = 0; j < call->ncheck && !leads; j++)
                leads =
                    marks[j] && bt__dims_node(&c->dims, call->checks[j].right) == left;
            if (leads && !marks[i] && call->checks[i].relation == BT_CHECK_BROADCAST)
                more = marks[i] = 1;
        }
    }
    return marks;
}

/* Whether the checks lead from an extent to another. *by_checks = 0: that is a == 1 ? b : a, of
 * which no check says more, and they lead to a part of it, or it is one. */
static int leads_to(const struct copying *k, const uint8_t *marks, const bt_node *from,
                    const bt_node *extent, int *by_checks)
{
    if (extent == from)
        return 1;
    for (uint32_t i = 0; i < k->call->ncheck; i++) {
        if (marks[i] &&
            bt__dims_node(&k->composer->dims, k->call->checks[i].right) == extent)
            return 1;
    }
    if (extent->kind != BT_NODE_SELECT)
        return 0;
    *by_checks = 0;
    return leads_to(k, marks, from, extent->args[1], by_checks) ||
           leads_to(k, marks, from, extent->args[2], by_checks);
}

static int is_known_natural(const bt_graph *g, const bt_node *node)
{
    const bt_nodes *known = bt__graph_naturals(g);
    for (uint32_t i = 0; i < known->len; i++) {
        if (known->at[i] == node)
            return 1;
    }
    return 0;
}

/* The index of an axis of an array, input or stage, that runs to `to`: an axis that is found
 * to have the extent 1 and broadcasts is read at index * (extent != 1), and where checks say
 * so this is in bounds. */
static const bt_node *broadcast_index(const struct copying *k, uint32_t array,
                                      uint32_t axis, const bt_node *index)
{
    struct composer *c = k->composer;
    bt_graph *g = c->graph;
    const struct order *order = &c->orders.at[array];
    const bt_node *extent =
        order->layout ? order->extents[axis] : g->arrays[array]->extents[axis];
    const bt_node *one = bt_node_int(g, 1);
    const bt_node *to = index->narg ? index->args[0] : bt_node_int(g, index->high + 1);
    int by_checks = 1;
    if (!one || !to)
        return NULL;
    if (extent == to || !k->call || bt_node_number(extent) > 1)
        return index;
    const uint8_t *marks =
        checks_from(k, extent, order->shape ? order->shape->dims[axis] : NULL);
    if (!marks)
        return bt__graph_no_memory(g);
    if (!leads_to(k, marks, extent, to, &by_checks))
        return index;
    const bt_node *is_long =
        bt_node_cast(g, BT_INT64, bt_node_scalar(g, BT_SCALAR_NE, extent, one));
    const bt_node *last = bt_node_scalar(g, BT_SCALAR_SUB, to, one);
    const bt_node *rest =
        bt_node_scalar(g, BT_SCALAR_SUB, bt_node_scalar(g, BT_SCALAR_SUB, extent, one),
                       bt_node_scalar(g, BT_SCALAR_MUL, last, is_long));
    if (!rest ||
        (by_checks && !is_known_natural(g, rest) && !bt__graph_add_natural(g, rest)))
        return bt__graph_no_memory(g);
    return bt_node_scalar(g, BT_SCALAR_MUL, index, is_long);
}

/* Of two dims that a check says to be equal, the one that the call's result has: dims may
 * not be one where one of them is computed from the other. */
static const bt_node *equal_extent(const struct copying *k, const bt_check *check)
{
    const bt_shape_type *shape = bt_tensor_shape(k->call->base.type);
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (shape->dims[i] == check->left || shape->dims[i] == check->right)
            return bt__dims_node(&k->composer->dims, shape->dims[i]);
    }
    return NULL;
}

/* The greater of two dims by checks that each of them is 1 or that; NULL: none say so. Either
 * may broadcast elsewhere too, to what is greater still. */
static const bt_node *greater_extent(const struct copying *k, const bt_node *a,
                                     const bt_node *b)
{
    struct composer *c = k->composer;
    for (uint32_t i = 0; i < k->call->ncheck; i++) {
        const bt_check *left = &k->call->checks[i];
        if (left->relation != BT_CHECK_BROADCAST ||
            bt__dims_node(&c->dims, left->left) != a)
            continue;
        for (uint32_t j = 0; j < k->call->ncheck; j++) {
            const bt_check *right = &k->call->checks[j];
            if (right->relation == BT_CHECK_BROADCAST && right->right == left->right &&
                bt__dims_node(&c->dims, right->left) == b &&
                bt_dim_max(left->left->store, left->left, right->left) == left->right)
                return bt__dims_node(&c->dims, left->right);
        }
    }
    return NULL;
}

/* `a == 1 ? b : a` by a check of the call, that they are equal, that one of them is the
 * other or 1, or that both are the greater one or 1; NULL: no check says so. */
static const bt_node *broadcast_extent(const struct copying *k,
                                       const bt_node *const *args)
{
    struct composer *c = k->composer;
    const bt_node *a = args[2], *b = args[1];
    if (!k->call ||
        args[0] != bt_node_scalar(c->graph, BT_SCALAR_EQ, a, bt_node_int(c->graph, 1)))
        return NULL;
    for (uint32_t i = 0; i < k->call->ncheck; i++) {
        const bt_check *check = &k->call->checks[i];
        const int is_equal = check->relation == BT_CHECK_EQUAL;
        if (!is_equal && check->relation != BT_CHECK_BROADCAST)
            continue;
        const bt_node *left = bt__dims_node(&c->dims, check->left);
        const bt_node *right = bt__dims_node(&c->dims, check->right);
        if ((left == a && right == b) || (left == b && right == a))
            return is_equal ? equal_extent(k, check) : right;
    }
    return greater_extent(k, a, b);
}

/* As it stands, unless extents have become numbers, which may say more of it. */
static const bt_node *copy_reduce(struct copying *k, const bt_node *node,
                                  const bt_node *const *args)
{
    bt_graph *g = k->composer->graph;
    for (uint32_t i = 2; i < node->narg; i++) {
        if (bt_node_number(node->args[i]) < 0 && bt_node_number(args[i]) >= 0)
            return bt__reduction_build(g, node->which, node->first, node->nindex,
                                       args + 2, args[0], args[1]);
    }
    node = bt_node_again(g, node, node->first, args);
    return k->reads_blocks ? bt__node_split_blocks(g, node) : node;
}

static const bt_node *copy_new(struct copying *k, const bt_node *node)
{
    bt_graph *g = k->composer->graph;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args) {
        g->status = bt_no_memory();
        return NULL;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = copy(k, node->args[i]);
        if (args[i] && node->kind == BT_NODE_READ && args[i]->kind == BT_NODE_INDEX)
            args[i] = broadcast_index(k, k->arrays[node->which], i, args[i]);
        if (!args[i])
            return NULL;
    }
    switch (node->kind) {
    case BT_NODE_CONST: return bt__node_const(g, node->dtype, node->value);
    case BT_NODE_DIM: return k->dims[node->which];
    case BT_NODE_INDEX: return bt__index_again(g, node->which, node, args);
    case BT_NODE_READ:
        return read_array(k->composer, k->arrays[node->which], node->dtype, node->narg,
                          args);
    case BT_NODE_REDUCE: return copy_reduce(k, node, args);
    case BT_NODE_SELECT: {
        const bt_node *extent = broadcast_extent(k, args);
        return extent ? extent : bt_node_again(g, node, node->first, args);
    }
    default: return bt_node_again(g, node, node->first, args);
    }
}

static const bt_node *copy(struct copying *k, const bt_node *node)
{
    const bt_node **memo = &k->memo[node->id];
    if (!*memo)
        *memo = copy_new(k, node);
    return *memo;
}

static bt_status copy_stage(struct copying *k, uint32_t index, uint32_t *out)
{
    struct composer *c = k->composer;
    const bt_array *stage = k->from->arrays[index];
    bt_array array = { .dtype = stage->dtype, .rank = stage->rank };
    const bt_node **extents = BT_NEWS(c->arena, const bt_node *, stage->rank);
    array.name = bt_arena_text(c->arena, stage->name, strlen(stage->name));
    if (!extents || !array.name)
        return bt_no_memory();
    for (uint32_t i = 0; i < stage->rank; i++) {
        extents[i] = copy(k, stage->extents[i]);
        if (!extents[i])
            return c->graph->status;
    }
    array.extents = extents;
    array.body = copy(k, stage->body);
    return array.body ? add_array(c, array, (struct order){ 0 }, out) : c->graph->status;
}

/* ---- results as they lie in memory ---- */

/* Logical indices by those of memory, and the condition that they are within the
 * tensor. */
static const bt_node *logical_indices(bt_graph *g, const bt_layout *layout,
                                      const bt_array *stage,
                                      const bt_node *const *extents, const bt_node **out)
{
    const bt_node *inside = bt_node_bool(g, 1);
    for (uint32_t axis = 0; axis < stage->rank; axis++) {
        const bt_node *parts[BT_MAX_RANK];
        int64_t strides[BT_MAX_RANK], inner = 1;
        uint32_t n = 0;
        for (uint32_t i = layout->nphysical; i-- > 0;) {
            if (layout->physical[i].axis != axis)
                continue;
            parts[n] = bt_node_index(g, i, extents[i]);
            strides[n++] = inner;
            inner *= layout->physical[i].factor;
        }
        out[axis] = bt_node_linear(g, 0, n, parts, strides);
        inside = bt_node_and(
            g, inside, bt_node_scalar(g, BT_SCALAR_LT, out[axis], stage->extents[axis]));
    }
    return inside;
}

/* A stage again, in the order that its type's layout says. */
static bt_status lay_out(struct composer *c, const bt_type *type, uint32_t *array)
{
    const bt_array stage = *c->graph->arrays[*array];
    const bt_layout *layout = bt_as_tensor_type(type)->layout;
    const bt_node *axes[BT_MAX_RANK], **extents;
    bt_array laid = { .name = stage.name, .dtype = stage.dtype };
    const bt_shape_type *memory = bt_tensor_memory(type);
    if (!memory)
        return bt_store_why(c->ctx, type->store);
    BT_TRY(make_extents(c, memory, &extents));
    laid.rank = memory->n;
    laid.extents = extents;
    const bt_node *inside = logical_indices(c->graph, layout, &stage, extents, axes);
    const bt_node *body =
        inside ? bt__graph_place(c->graph, *array, laid.rank, axes) : NULL;
    laid.body =
        bt_node_select(c->graph, inside, body,
                       bt__node_const(c->graph, stage.dtype, (bt_cell){ .i = 0 }));
    if (!laid.body)
        return c->graph->status ? c->graph->status : bt_no_memory();
    const struct order order = { layout, stage.extents, bt_tensor_shape(type) };
    return add_array(c, laid, order, array);
}

/* All leaves of a type, in order. */
static bt_status lay_out_all(struct composer *c, const bt_type *type, uint32_t *arrays,
                             uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(lay_out_all(c, tuple->at[i], arrays, n));
    if (tuple)
        return NULL;
    uint32_t *array = &arrays[(*n)++];
    const bt_shape_type *shape = bt_tensor_shape(type);
    if (shape && shape->n != c->graph->arrays[*array]->rank)
        return bt_fail(c->ctx, BT_ERR_TYPE,
                       "%s: a formula gives rank %" PRIu32
                       ", the type of its call has rank %" PRIu32,
                       c->name, c->graph->arrays[*array]->rank, shape->n);
    if (tensor && tensor->layout)
        return lay_out(c, type, array);
    c->orders.at[*array].shape = shape;
    return NULL;
}

/* The stages of a call's graph; *out: its results, row major. */
static bt_status join(struct composer *c, const bt_graph *from, const array_list *inputs,
                      const bt_call *call, uint32_t **out)
{
    uint32_t *arrays = BT_NEWS(c->arena, uint32_t, from->narray);
    uint32_t *results = BT_NEWS(c->arena, uint32_t, from->nresult);
    struct copying k = { .composer = c, .from = from, .arrays = arrays, .call = call };
    k.memo = BT_NEWS(c->arena, const bt_node *, from->nnode);
    k.dims = BT_NEWS(c->arena, const bt_node *, from->ndim);
    if (!arrays || !results || !k.memo || !k.dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < from->ninput; i++) {
        arrays[i] = inputs->at[i];
        const struct order *order = &c->orders.at[arrays[i]];
        k.reads_blocks |= order->layout != NULL;
        // an axis that the call does not know is what the joined graph knows of it
        for (uint32_t a = 0; a < from->arrays[i]->rank; a++) {
            const bt_node *extent = from->arrays[i]->extents[a];
            if (extent->kind == BT_NODE_DIM)
                k.dims[extent->which] = order->layout
                                            ? order->extents[a]
                                            : c->graph->arrays[arrays[i]]->extents[a];
        }
    }
    for (uint32_t i = 0; i < from->ndim; i++) {
        if (from->dims[i]->term)
            k.dims[i] = bt__dims_node(&c->dims, from->dims[i]->term);
    }
    for (uint32_t i = from->ninput; i < from->narray; i++)
        BT_TRY(copy_stage(&k, i, &arrays[i]));
    for (uint32_t i = 0; i < from->nresult; i++)
        results[i] = arrays[from->results[i]];
    *out = results;
    return NULL;
}

static bt_status join_value(struct composer *c, const bt_graph *from,
                            const array_list *inputs, const bt_call *call)
{
    const bt_value *value = &call->base;
    const bt_type *type;
    uint32_t *results, nlaid = 0;
    BT_TRY(join(c, from, inputs, c->copying ? NULL : call, &results));
    BT_TRY(type_of(c, value, &type));
    BT_TRY(lay_out_all(c, type, results, &nlaid));
    return set_leaves(c, value, from->nresult, results);
}

static bt_status add_call(struct composer *c, const bt_call *call)
{
    array_list inputs = { 0 };
    if (call->callee_kind != BT_CALLEE_OP)
        return refuse(c, &call->base, "is not a call of an operator");
    for (uint32_t i = 0; i < call->narg; i++) {
        const struct leaves *leaves;
        BT_TRY(leaves_of(c, call->args[i], &leaves));
        for (uint32_t k = 0; k < leaves->n; k++) {
            if (!BT_PUSH(c->arena, &inputs, leaves->arrays[k]))
                return bt_no_memory();
        }
    }
    if (!bt_op_has_formula(call->op))
        return refuse(c, &call->base, "is computed by plain C");
    bt_graph *graph;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(c->ctx));
    bt_formula_call formula;
    bt_status status = !arena       ? bt_no_memory()
                       : c->copying ? bt__copying_binding(c->copying, call, &formula)
                                    : bt_call_formula(arena, call, &formula);
    if (!status)
        status = bt__call_compose(c->ctx, arena, &formula, &graph);
    if (!status)
        status =
            graph ? join_value(c, graph, &inputs, call)
                  : refuse(c, &call->base, "has arguments of ranks that are not known");
    bt_arena_destroy(arena);
    return status;
}

/* ---- tuples ---- */

static bt_status add_tuple(struct composer *c, const bt_tuple_value *tuple)
{
    array_list all = { 0 };
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const struct leaves *leaves;
        BT_TRY(leaves_of(c, tuple->fields[i], &leaves));
        for (uint32_t k = 0; k < leaves->n; k++) {
            if (!BT_PUSH(c->arena, &all, leaves->arrays[k]))
                return bt_no_memory();
        }
    }
    return set_leaves(c, &tuple->base, all.len, all.at);
}

static bt_status add_proj(struct composer *c, const bt_proj *proj)
{
    const struct leaves *leaves;
    const uint32_t first = bt_type_first_leaf(proj->tuple->type, proj->index);
    BT_TRY(leaves_of(c, proj->tuple, &leaves));
    return set_leaves(c, &proj->base, bt_type_nleaf(proj->base.type),
                      leaves->arrays + first);
}

/* ---- results ---- */

/* A result that is an input, or another result, is a copy of it. */
static bt_status add_copy(struct composer *c, uint32_t of, uint32_t *out)
{
    bt_array array = *c->graph->arrays[of];
    const bt_node **indices = BT_NEWS(c->arena, const bt_node *, array.rank);
    if (!indices)
        return bt_no_memory();
    for (uint32_t i = 0; i < array.rank; i++)
        indices[i] = bt_node_index(c->graph, i, array.extents[i]);
    array.body = bt_node_read(c->graph, of, array.dtype, array.rank, indices);
    return array.body ? add_array(c, array, c->orders.at[of], out) : c->graph->status;
}

static bt_status set_results(struct composer *c, const bt_value *result)
{
    const struct leaves *leaves;
    BT_TRY(leaves_of(c, result, &leaves));
    uint32_t *results = BT_NEWS(c->arena, uint32_t, leaves->n);
    if (!results)
        return bt_no_memory();
    for (uint32_t i = 0; i < leaves->n; i++) {
        int is_own = leaves->arrays[i] >= c->graph->ninput;
        results[i] = leaves->arrays[i];
        for (uint32_t k = 0; k < i; k++)
            is_own &= results[k] != results[i];
        if (!is_own)
            BT_TRY(add_copy(c, leaves->arrays[i], &results[i]));
    }
    c->graph->nresult = leaves->n;
    c->graph->results = results;
    return NULL;
}

static bt_status add_bindings(struct composer *c, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        switch (value->kind) {
        case BT_VALUE_CALL: BT_TRY(add_call(c, bt_as_call(value))); break;
        case BT_VALUE_TUPLE: BT_TRY(add_tuple(c, bt_as_tuple(value))); break;
        case BT_VALUE_PROJ: BT_TRY(add_proj(c, bt_as_proj(value))); break;
        default: return refuse(c, value, "cannot be part of a primitive function");
        }
    }
    return NULL;
}

/* Dims of a function are dims of the graph under the same number. */
static bt_status add_dims(struct composer *c, const bt_func *func,
                          const bt_type_param *dims)
{
    bt_store *store = func->result->store;
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_type *var = func->vars[i], *number;
        if (bt_type_kind_of(var) != BT_KIND_DIM)
            return bt_fail(c->ctx, BT_ERR_UNSUPPORTED,
                           "%s: a type parameter that is no dim cannot be part of a "
                           "primitive function",
                           c->name);
        const bt_type_param *param = dims ? &dims[i] : &bt_as_var_type(var)->param;
        if (!bt__dims_add(&c->dims, var, param))
            return c->graph->status;
        if (param->low < param->high)
            continue;
        if (!(number = bt_dim(store, param->low)))
            return bt_store_why(c->ctx, store);
        bt__dims_join(&c->dims, var, number);
    }
    return NULL;
}

/* Dims that checks say to be equal are one: nothing runs where they are not. One that is to be a number
 * may keep its name, where results are to have it in their types. */
static void join_dims(struct composer *c, const bt_call *call, int keeps_names)
{
    for (uint32_t k = 0; call && k < call->ncheck; k++) {
        const bt_check *check = &call->checks[k];
        int64_t number;
        if (check->relation == BT_CHECK_EQUAL &&
            !(keeps_names && (bt_dim_is_const(check->left, &number) ||
                              bt_dim_is_const(check->right, &number))))
            bt__dims_join(&c->dims, check->left, check->right);
    }
}

bt_status bt__graph_join(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                         const bt_type_param *dims, struct bt__copying *copying,
                         bt_graph **out)
{
    struct composer c = { .ctx = ctx, .arena = arena, .copying = copying };
    c.name = func->name ? func->name : "a primitive function";
    c.graph = bt_graph_create(ctx, arena);
    if (!c.graph)
        return bt_no_memory();
    bt_map_init(&c.values, arena, 0);
    bt__dims_init(&c.dims, c.graph);
    if (!copying) {
        BT_TRY(add_dims(&c, func, dims));
        for (uint32_t i = 0; i < func->block->nbinding; i++)
            join_dims(&c, bt_as_call(func->block->bindings[i]), 0);
    }
    BT_TRY(add_inputs(&c, func->block));
    BT_TRY(add_bindings(&c, func->block));
    BT_TRY(set_results(&c, func->block->result));
    *out = c.graph;
    return NULL;
}

/* Recursion is bounded by the depth of types. */
static bt_status add_open(struct composer *c, const bt_type *type, array_list *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(add_open(c, tuple->at[i], out));
    return tuple ? NULL : add_tensor(c, "input", type, out);
}

bt_status bt__graph_open(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                         const bt_call *checked, const bt_graph *from, bt_graph **out)
{
    struct composer c = { .ctx = ctx, .arena = arena };
    array_list inputs = { 0 };
    uint32_t *results;
    c.graph = bt_graph_create(ctx, arena);
    if (!c.graph)
        return bt_no_memory();
    bt__dims_init(&c.dims, c.graph);
    join_dims(&c, checked, 1);
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(add_open(&c, call->args[i], &inputs));
    c.graph->ninput = c.graph->narray;
    BT_TRY(join(&c, from, &inputs, checked, &results));
    c.graph->nresult = from->nresult;
    c.graph->results = results;
    *out = c.graph;
    return NULL;
}

bt_status bt_graph_compose_for(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                               const bt_type_param *dims, bt_graph **out)
{
    BT_TRY(bt__graph_join(ctx, arena, func, dims, NULL, out));
    BT_TRY(bt__graph_to_parts(*out));
    BT_TRY(bt__graph_inline(*out));
    return bt__graph_unpack(*out);
}

bt_status bt_graph_compose(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                           bt_graph **out)
{
    return bt_graph_compose_for(ctx, arena, func, NULL, out);
}
