/*
 * Elements that are moved and cast, but not computed with: complex numbers as their parts along one
 * more axis, the last one, powers of two as their codes.
 *
 *     a0: complex64[3, 4]                      a0: float32[3, 4, 2]
 *     s0: complex64[4, 3] = a0[i1, i0]    ->   s0: float32[4, 3, 2] = a0[i1, i0, i2]
 *     a0: float8_e8m0fnu[5]               ->   a0: uint8[5]
 *
 * Casts of powers of two are steps in float64, which are exact; what is a denormal as another type
 * is chosen, not computed, so that targets without denormals have it too.
 */
#include "compute/graph/graph.h"
#include "compute/graph/scalar.h"

#include <math.h>

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

/* yes where `which` holds of a and b, else no. */
static const bt_node *choose(bt_graph *g, uint32_t which, const bt_node *a,
                             const bt_node *b, const bt_node *yes, const bt_node *no)
{
    return bt_node_select(g, bt_node_scalar(g, which, a, b), yes, no);
}

static const bt_node *integer(bt_graph *g, bt_dtype dtype, int64_t value)
{
    return bt__node_const(g, dtype, (bt_cell){ .i = value });
}

static const bt_node *real(bt_graph *g, double value)
{
    return bt_node_float(g, BT_FLOAT64, value);
}

/* ---- powers of two ---- */

/* The code of the number that is nearest to a float64. Only numbers are chosen between, so that
 * nothing is computed twice. */
static const bt_node *code_of(bt_graph *g, const bt_node *number)
{
    const bt_node *code = integer(g, BT_INT32, 0);
    const bt_node *rest = bt_node_scalar(g, BT_SCALAR_MUL, number, real(g, 0x1p127));
    for (int bit = 128; bit; bit /= 2) { // rest becomes 1 ... 2
        const bt_node *bound = real(g, ldexp(1, bit));
        code = bt_node_scalar(g, BT_SCALAR_ADD, code,
                              choose(g, BT_SCALAR_LE, bound, rest,
                                     integer(g, BT_INT32, bit), integer(g, BT_INT32, 0)));
        rest = bt_node_scalar(
            g, BT_SCALAR_MUL, rest,
            choose(g, BT_SCALAR_LE, bound, rest, real(g, ldexp(1, -bit)), real(g, 1)));
    }
    code = bt_node_scalar(g, BT_SCALAR_ADD, code,
                          choose(g, BT_SCALAR_LE, real(g, 1.5), rest,
                                 integer(g, BT_INT32, 1), integer(g, BT_INT32, 0)));
    code = bt_node_scalar(g, BT_SCALAR_MIN, code, integer(g, BT_INT32, 254));
    code = bt_node_scalar(g, BT_SCALAR_MAX, code,
                          choose(g, BT_SCALAR_LE, real(g, 0), number,
                                 integer(g, BT_INT32, 0), integer(g, BT_INT32, 255)));
    return bt_node_cast(g, BT_UINT8, code);
}

static const bt_node *number_of(bt_graph *g, bt_dtype to, const bt_node *code)
{
    const bt_node *least = real(g, 0x1p-127), *number = least;
    for (int bit = 1; bit <= 128; bit *= 2) {
        const bt_node *set =
            bt_node_scalar(g, BT_SCALAR_BIT_AND, code, integer(g, BT_UINT8, bit));
        number = bt_node_scalar(g, BT_SCALAR_MUL, number,
                                choose(g, BT_SCALAR_EQ, set, integer(g, BT_UINT8, 0),
                                       real(g, 1), real(g, ldexp(1, bit))));
    }
    number = bt_node_scalar(g, BT_SCALAR_MUL, number,
                            choose(g, BT_SCALAR_EQ, code, integer(g, BT_UINT8, 255),
                                   real(g, (double)NAN), real(g, 1)));
    if (!bt_dtype_is_float(to) || to == BT_FLOAT64)
        return bt_node_cast(g, to, number);
    return choose(g, BT_SCALAR_EQ, code, integer(g, BT_UINT8, 0),
                  bt_node_cast(g, to, least), bt_node_cast(g, to, number));
}

/* ---- expressions ---- */

/* A number that can be computed with as a part of a complex one, or as the code of a power of two. */
static const bt_node *of_number(struct parts *p, bt_dtype dtype, const bt_node *number)
{
    bt_graph *g = p->graph;
    const bt_dtype part = bt_dtype_carrier(dtype);
    if (!is_complex(dtype))
        return number->kind == BT_NODE_CONST && number->dtype == BT_FLOAT64
                   ? integer(g, part, bt_float8_e8m0fnu_from_double(number->value.f))
                   : code_of(g, bt_node_cast(g, BT_FLOAT64, number));
    if (!p->part)
        return refuse(p, dtype);
    return choose(g, BT_SCALAR_EQ, p->part, bt_node_int(g, 0),
                  bt_node_cast(g, part, number), bt_node_float(g, part, 0));
}

static const bt_node *cast(struct parts *p, bt_dtype from, bt_dtype to,
                           const bt_node *arg)
{
    if (is_complex(from))
        return is_complex(to) ? bt_node_cast(p->graph, bt_dtype_carrier(to), arg)
                              : refuse(p, from);
    if (bt_dtype_is_moved(from))
        arg = number_of(p->graph, is_complex(to) ? bt_dtype_carrier(to) : to, arg);
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
        return bt_dtype_is_moved(dtype) ? of_number(p, dtype, real(g, node->value.f))
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
