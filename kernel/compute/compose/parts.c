/*
 * Elements that are moved and cast, but not computed with: complex numbers as their parts along one
 * more axis, the last one, powers of two as their codes.
 *
 *     a0: complex64[3, 4]                      a0: float32[3, 4, 2]
 *     s0: complex64[4, 3] = a0[i1, i0]    ->   s0: float32[4, 3, 2] = a0[i1, i0, i2]
 *     a0: float8_e8m0fnu[5]               ->   a0: uint8[5]
 */
#include "compute/compose/e8m0.h"
#include "compute/graph/graph.h"

struct parts {
    bt_graph *graph;
    const bt_node **memo; /* of one stage, by id of the nodes that there were */
    uint32_t nnode;       /* nodes that there were */
    uint32_t rank;        /* of the stage, as it was */
    const bt_node *part;  /* which one the stage computes; NULL: it has elements of one */
    bt_status status;
};

static const bt_node *change(struct parts *p, const bt_node *node);

static const bt_node *refuse(struct parts *p, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (!p->status && !p->graph->status)
        p->status = bt_fail(p->graph->ctx, BT_ERR_UNSUPPORTED,
                            "elements of %s are moved, but not computed",
                            bt_dtype_name(dtype, name, sizeof(name)));
    return NULL;
}

static int is_complex(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_COMPLEX;
}

/* ---- expressions ---- */

/* A number that can be computed with as a part of a complex one, or as the code of a power of two. */
static const bt_node *of_number(struct parts *p, bt_dtype dtype, const bt_node *number)
{
    bt_graph *g = p->graph;
    const bt_dtype part = bt_dtype_carrier(dtype);
    if (!is_complex(dtype))
        return bt__e8m0_code(g, number);
    if (!p->part)
        return refuse(p, dtype);
    return bt_node_select(g, bt_node_scalar(g, BT_SCALAR_EQ, p->part, bt_node_int(g, 0)),
                          bt_node_cast(g, part, number), bt_node_float(g, part, 0));
}

static const bt_node *cast(struct parts *p, bt_dtype from, bt_dtype to,
                           const bt_node *arg)
{
    if (is_complex(from))
        return is_complex(to) ? bt_node_cast(p->graph, bt_dtype_carrier(to), arg)
                              : refuse(p, from);
    if (bt_dtype_is_moved(from))
        arg = bt__e8m0_number(p->graph, is_complex(to) ? bt_dtype_carrier(to) : to, arg);
    return !arg                    ? NULL
           : bt_dtype_is_moved(to) ? of_number(p, to, arg)
                                   : bt_node_cast(p->graph, to, arg);
}

static const bt_node *change_new(struct parts *p, const bt_node *node)
{
    bt_graph *g = p->graph;
    const bt_dtype dtype = node->dtype;
    const uint32_t shift = p->part != NULL;
    if (node->kind == BT_NODE_CONST)
        return bt_dtype_is_moved(dtype)
                   ? of_number(p, dtype, bt_node_float(g, BT_FLOAT64, node->value.f))
                   : node;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg + 1);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_dtype of = node->args[i]->dtype;
        if (bt_dtype_is_moved(of) && node->kind != BT_NODE_CAST &&
            node->kind != BT_NODE_SELECT)
            return refuse(p, of);
        args[i] = change(p, node->args[i]);
        if (!args[i])
            return NULL;
    }
    switch (node->kind) {
    case BT_NODE_INDEX:
        return bt__index_again(g, node->which + (node->which >= p->rank ? shift : 0),
                               node, args);
    case BT_NODE_READ:
        args[node->narg] = p->part;
        if (is_complex(dtype) && !p->part)
            return refuse(p, dtype);
        return bt_node_read(g, node->which,
                            bt_dtype_is_moved(dtype) ? bt_dtype_carrier(dtype) : dtype,
                            node->narg + is_complex(dtype), args);
    case BT_NODE_CAST: return cast(p, node->args[0]->dtype, dtype, args[0]);
    default: return bt_node_again(g, node, node->first + shift, args);
    }
}

static const bt_node *change(struct parts *p, const bt_node *node)
{
    const bt_node **memo = &p->memo[node->id];
    if (!*memo)
        *memo = change_new(p, node);
    return *memo;
}

/* ---- graphs ---- */

static bt_status change_array(struct parts *p, const bt_array *from, bt_array **out)
{
    bt_graph *g = p->graph;
    bt_array *array = BT_NEW(g->arena, bt_array);
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, from->rank + 1);
    if (!array || !extents)
        return bt_no_memory();
    *array = *from;
    if (bt_dtype_is_moved(from->dtype))
        array->dtype = bt_dtype_carrier(from->dtype);
    p->rank = from->rank;
    p->part = NULL;
    if (is_complex(from->dtype)) {
        if (from->rank == BT_MAX_RANK)
            return bt_fail(g->ctx, BT_ERR_LIMIT,
                           "%s: elements of several parts have at most %d axes",
                           from->name, BT_MAX_RANK - 1);
        for (uint32_t i = 0; i < from->rank; i++)
            extents[i] = from->extents[i];
        extents[from->rank] = bt_node_int(g, 2);
        p->part = bt_node_index(g, from->rank, extents[from->rank]);
        array->extents = extents;
        array->rank++;
        if (!p->part)
            return g->status;
    }
    for (uint32_t i = 0; i < p->nnode; i++)
        p->memo[i] = NULL;
    if (from->body && !(array->body = change(p, from->body)))
        return p->status ? p->status : g->status ? g->status : bt_no_memory();
    *out = array;
    return NULL;
}

bt_status bt__graph_to_parts(bt_graph *g)
{
    struct parts p = { .graph = g, .nnode = g->nnode };
    int is_moved = 0;
    for (uint32_t i = 0; i < g->narray; i++)
        is_moved |= bt_dtype_is_moved(g->arrays[i]->dtype);
    if (!is_moved)
        return NULL;
    p.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    if (!p.memo)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->narray; i++)
        BT_TRY(change_array(&p, g->arrays[i], &g->arrays[i]));
    return g->status;
}
