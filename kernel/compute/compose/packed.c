/*
 * Packed elements in graphs that become kernels: bytes in inputs and results, carriers between.
 *
 *     a0: int4[3, 4]                          a0: uint8[3, 2]
 *     s0: int4[3, 4] = (a0[i0, i1] + 1)  ->   s0: int8[3, 4] = (the bits of a0[i0, i1 / 2])
 *                                             s1: int8[3, 4] = (s0[i0, i1] + 1, wrapped)
 *                                             s2: uint8[3, 2] = s1[i0, 2*i1] & 15
 *                                                             | (s1[i0, 2*i1 + 1] & 15) << 4
 *
 * So whoever makes kernels meets whole bytes only, and no two iterations write to one of
 * them. Where rows do not end with a byte, these arrays are flat. Integers wrap as their
 * type does, by shifts; a float4_e2m1fn is a float32 that is rounded, by steps, where it
 * would be stored.
 */
#include "compute/graph/graph.h"
#include "compute/graph/scalar.h"

struct packer {
    bt_graph *graph;
    const bt_node **memo; /* by id of the nodes that there were */
    uint32_t *arrays;     /* what stands for each of the arrays that there were */
    uint32_t nbefore;     /* arrays that there were */
    bt_array **order;     /* inputs, unpacked ones, stages, packed results */
};

static const bt_node *change(struct packer *p, const bt_node *node);

/* ---- numbers ---- */

static const bt_node *number(bt_graph *g, bt_dtype dtype, double value)
{
    return bt_dtype_is_float(dtype)
               ? bt_node_float(g, dtype, value)
               : bt__node_const(g, dtype, (bt_cell){ .i = (int64_t)value });
}

static const bt_node *scalar(bt_graph *g, uint32_t which, const bt_node *a, double b)
{
    return a ? bt_node_scalar(g, which, a, number(g, a->dtype, b)) : NULL;
}

/* An integer of the carrier as one of the dtype. */
static const bt_node *wrap(bt_graph *g, bt_dtype dtype, const bt_node *a)
{
    const double unused = 8 - BT_DTYPE_BITS(dtype);
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT
               ? scalar(g, BT_SCALAR_BIT_AND, a, (double)bt__dtype_high(dtype))
               : scalar(g, BT_SCALAR_SHIFT_RIGHT,
                        scalar(g, BT_SCALAR_SHIFT_LEFT, a, unused), unused);
}

static const bt_node *clamp(bt_graph *g, bt_dtype dtype, const bt_node *a)
{
    return scalar(g, BT_SCALAR_MIN,
                  scalar(g, BT_SCALAR_MAX, a, (double)bt__dtype_low(dtype)),
                  (double)bt__dtype_high(dtype));
}

/* yes where a < bound, else no. */
static const bt_node *below(bt_graph *g, const bt_node *a, double bound,
                            const bt_node *yes, const bt_node *no)
{
    return bt_node_select(g, scalar(g, BT_SCALAR_LT, a, bound), yes, no);
}

/* ---- float4_e2m1fn: 0, 0.5, 1, 1.5, 2, 3, 4, 6 ---- */

/* To the nearest, of two the even code: numbers are 0.5 apart below 2, 1 below 4, then 2. */
static const bt_node *round_float4(bt_graph *g, const bt_node *a)
{
    const bt_dtype dtype = a->dtype;
    const bt_node *inside = scalar(g, BT_SCALAR_MAX, scalar(g, BT_SCALAR_MIN, a, 6), -6);
    const bt_node *size = bt_node_scalar(g, BT_SCALAR_ABS, inside, NULL);
    const bt_node *step =
        below(g, size, 2, number(g, dtype, 0.5),
              below(g, size, 4, number(g, dtype, 1), number(g, dtype, 2)));
    const bt_node *steps = bt_node_scalar(
        g, BT_SCALAR_ROUND_EVEN, bt_node_scalar(g, BT_SCALAR_DIV, inside, step), NULL);
    return bt_node_select(g, bt_node_scalar(g, BT_SCALAR_ISNAN, a, NULL),
                          number(g, dtype, 6),
                          bt_node_scalar(g, BT_SCALAR_MUL, steps, step));
}

/* The code of a float32 that is one of them, and the other way; both are uint8. */
static const bt_node *code_of_float4(bt_graph *g, const bt_node *a)
{
    const bt_node *size = bt_node_scalar(g, BT_SCALAR_ABS, a, NULL);
    const bt_node *code =
        below(g, size, 2, scalar(g, BT_SCALAR_MUL, size, 2),
              below(g, size, 4, scalar(g, BT_SCALAR_ADD, size, 2),
                    scalar(g, BT_SCALAR_ADD, scalar(g, BT_SCALAR_MUL, size, 0.5), 4)));
    // a zero has its sign, too, which its inverse shows
    const bt_node *inverse =
        bt_node_scalar(g, BT_SCALAR_DIV, number(g, BT_FLOAT32, 1), a);
    const bt_node *sign =
        below(g, inverse, 0, number(g, BT_FLOAT32, 8), number(g, BT_FLOAT32, 0));
    return bt_node_cast(g, BT_UINT8, bt_node_scalar(g, BT_SCALAR_ADD, code, sign));
}

static const bt_node *float4_of_code(bt_graph *g, const bt_node *code)
{
    const bt_node *low =
        bt_node_cast(g, BT_FLOAT32, scalar(g, BT_SCALAR_BIT_AND, code, 7));
    const bt_node *size =
        below(g, low, 4, scalar(g, BT_SCALAR_MUL, low, 0.5),
              below(g, low, 6, scalar(g, BT_SCALAR_SUB, low, 2),
                    scalar(g, BT_SCALAR_SUB, scalar(g, BT_SCALAR_MUL, low, 2), 8)));
    return below(g, code, 8, size, bt_node_scalar(g, BT_SCALAR_NEG, size, NULL));
}

/* ---- expressions ---- */

/* A value rounded to what an array of the dtype holds; it stays in the carrier. */
static const bt_node *stored(bt_graph *g, bt_dtype dtype, const bt_node *a)
{
    return a && dtype == BT_FLOAT4_E2M1FN ? round_float4(g, a) : a;
}

static const bt_node *cast(bt_graph *g, bt_dtype from, bt_dtype to, const bt_node *a)
{
    const bt_dtype carrier = bt_dtype_carrier(to);
    if (!a || carrier == to)
        return bt_node_cast(g, to, a);
    if (to == BT_FLOAT4_E2M1FN) {
        // rounded once: from float64 where float32 does not hold the value, or comes near
        const int is_wide =
            from == BT_FLOAT64 || (!bt_dtype_is_float(from) && BT_DTYPE_BITS(from) > 16);
        return bt_node_cast(
            g, carrier,
            round_float4(g, bt_node_cast(g, is_wide ? BT_FLOAT64 : BT_FLOAT32, a)));
    }
    if (bt_dtype_is_float(from))
        return clamp(g, to, bt_node_cast(g, carrier, a));
    return from == BT_BOOL ? bt_node_cast(g, carrier, a)
                           : wrap(g, to, bt_node_cast(g, carrier, a));
}

/* Over nothing, max and min give the bounds of the dtype. */
static const bt_node *reduced(bt_graph *g, bt_dtype dtype, const bt_node *node)
{
    if (!node || !bt_dtype_is_packed(dtype) || bt_dtype_is_float(dtype))
        return node;
    return node->which == BT_REDUCER_MAX || node->which == BT_REDUCER_MIN
               ? clamp(g, dtype, node)
               : wrap(g, dtype, node);
}

static const bt_node *change_new(struct packer *p, const bt_node *node)
{
    bt_graph *g = p->graph;
    const bt_dtype dtype = node->dtype, carrier = bt_dtype_carrier(dtype);
    int is_same = 1;
    if (node->kind == BT_NODE_CONST)
        return bt__node_const(g, carrier, node->value);
    if (!node->narg && node->kind != BT_NODE_READ)
        return node;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = change(p, node->args[i]);
        if (!args[i])
            return NULL;
        is_same &= args[i] == node->args[i];
    }
    switch (node->kind) {
    case BT_NODE_READ:
        return bt_node_read(g, p->arrays[node->which], carrier, node->narg, args);
    case BT_NODE_CAST: {
        const bt_dtype from = node->args[0]->dtype;
        return from == dtype && carrier != dtype ? stored(g, dtype, args[0])
               : from == dtype                   ? bt_node_round(g, args[0])
                                                 : cast(g, from, dtype, args[0]);
    }
    case BT_NODE_SCALAR: {
        const bt_node *out = bt_node_again(g, node, 0, args);
        return out && carrier != dtype && !bt_dtype_is_float(dtype) &&
                       bt__scalar_get(node->which)->wraps
                   ? wrap(g, dtype, out)
                   : out;
    }
    case BT_NODE_REDUCE:
        return reduced(g, dtype,
                       is_same ? node : bt_node_again(g, node, node->first, args));
    default: return is_same ? node : bt_node_again(g, node, node->first, args);
    }
}

static const bt_node *change(struct packer *p, const bt_node *node)
{
    const bt_node **memo = &p->memo[node->id];
    if (!*memo)
        *memo = change_new(p, node);
    return *memo;
}

/* ---- bytes ---- */

/* Elements in a byte. */
static int64_t each_of(bt_dtype dtype)
{
    return 8 / BT_DTYPE_BITS(dtype);
}

/* Whether each row ends with a byte: the last axis is then one of bytes. */
static int has_whole_rows(const bt_array *array)
{
    const int64_t last =
        array->rank ? bt_node_number(array->extents[array->rank - 1]) : -1;
    return last >= 0 && last % each_of(array->dtype) == 0;
}

/* Position of an element in row-major order; NULL: failure. */
static const bt_node *position(bt_graph *g, const bt_array *array,
                               const bt_node *const *indices)
{
    const bt_node *at = bt_node_int(g, 0);
    for (uint32_t i = 0; i < array->rank; i++)
        at = bt_node_scalar(g, BT_SCALAR_ADD,
                            bt_node_scalar(g, BT_SCALAR_MUL, at, array->extents[i]),
                            indices[i]);
    return at;
}

/* The array of bytes that has these elements. 0: failure. */
static int bytes_of(bt_graph *g, const bt_array *array, bt_array *out)
{
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, array->rank + 1);
    const bt_node *count = bt_node_int(g, 1),
                  *each = bt_node_int(g, each_of(array->dtype));
    if (!extents)
        return bt__graph_no_memory(g) != NULL;
    *out = *array;
    out->dtype = BT_UINT8;
    out->extents = extents;
    for (uint32_t i = 0; i < array->rank; i++) {
        extents[i] = array->extents[i];
        count = bt_node_scalar(g, BT_SCALAR_MUL, count, array->extents[i]);
    }
    if (has_whole_rows(array)) {
        extents[array->rank - 1] =
            bt_node_scalar(g, BT_SCALAR_FLOORDIV, array->extents[array->rank - 1], each);
        return extents[array->rank - 1] != NULL;
    }
    out->rank = 1;
    extents[0] = bt_node_scalar(g, BT_SCALAR_CEILDIV, count, each);
    return extents[0] != NULL;
}

/* The elements of input `index` in the carrier. */
static const bt_node *unpacked(bt_graph *g, const bt_array *array, uint32_t index)
{
    const bt_dtype dtype = array->dtype;
    const bt_node *each = bt_node_int(g, each_of(dtype)), *at[BT_MAX_RANK], *place;
    const uint32_t last = has_whole_rows(array) ? array->rank - 1 : 0;
    for (uint32_t i = 0; i < array->rank; i++)
        at[i] = bt_node_index(g, i, array->extents[i]);
    place = has_whole_rows(array) ? at[last] : position(g, array, at);
    at[last] = bt_node_scalar(g, BT_SCALAR_FLOORDIV, place, each);
    const bt_node *shift = bt_node_cast(
        g, BT_UINT8,
        scalar(g, BT_SCALAR_MUL, bt_node_scalar(g, BT_SCALAR_MOD, place, each),
               BT_DTYPE_BITS(dtype)));
    const bt_node *byte = bt_node_read(g, index, BT_UINT8, last + 1, at);
    const bt_node *code = scalar(g, BT_SCALAR_BIT_AND,
                                 bt_node_scalar(g, BT_SCALAR_SHIFT_RIGHT, byte, shift),
                                 (1 << BT_DTYPE_BITS(dtype)) - 1);
    if (dtype == BT_FLOAT4_E2M1FN)
        return code ? float4_of_code(g, code) : NULL;
    const bt_dtype carrier = bt_dtype_carrier(dtype);
    return carrier == BT_UINT8 ? code : wrap(g, dtype, bt_node_cast(g, carrier, code));
}

/* Element `at` of an array in the carrier, by its position. */
static const bt_node *read_flat(bt_graph *g, const bt_array *array, uint32_t index,
                                const bt_node *at)
{
    const bt_node *indices[BT_MAX_RANK];
    for (uint32_t i = array->rank; i-- > 0;) {
        indices[i] = i ? bt_node_scalar(g, BT_SCALAR_MOD, at, array->extents[i]) : at;
        at = i ? bt_node_scalar(g, BT_SCALAR_FLOORDIV, at, array->extents[i]) : at;
    }
    return bt_node_read(g, index, array->dtype, array->rank, indices);
}

/* A byte of the packed array `bytes`: the codes of those elements of array `index`, which has them in
 * the carrier. `like` is the array before it was changed, of the packed dtype. */
static const bt_node *packed(bt_graph *g, const bt_array *like, const bt_array *bytes,
                             const bt_array *array, uint32_t index)
{
    const int64_t each = each_of(like->dtype), one = 1;
    const uint32_t last = bytes->rank - 1;
    const bt_node *at[BT_MAX_RANK], *out = NULL, *count = bt_node_int(g, 1);
    for (uint32_t i = 0; i < bytes->rank; i++)
        at[i] = bt_node_index(g, i, bytes->extents[i]);
    for (uint32_t i = 0; i < like->rank; i++)
        count = bt_node_scalar(g, BT_SCALAR_MUL, count, like->extents[i]);
    const bt_node *begin = at[last];
    for (int64_t k = 0; k < each; k++) {
        const bt_node *place = bt_node_linear(
            g, k, 1, (const bt_node *[]){ scalar(g, BT_SCALAR_MUL, begin, (double)each) },
            &one);
        at[last] = place;
        const bt_node *code = has_whole_rows(like)
                                  ? bt_node_read(g, index, array->dtype, bytes->rank, at)
                                  : read_flat(g, array, index, place);
        if (like->dtype == BT_FLOAT4_E2M1FN)
            code = code ? code_of_float4(g, code) : NULL;
        else
            code = scalar(g, BT_SCALAR_BIT_AND, bt_node_cast(g, BT_UINT8, code),
                          (1 << BT_DTYPE_BITS(like->dtype)) - 1);
        if (!has_whole_rows(like))
            code = bt_node_select(g, bt_node_scalar(g, BT_SCALAR_LT, place, count), code,
                                  number(g, BT_UINT8, 0));
        code = scalar(g, BT_SCALAR_SHIFT_LEFT, code,
                      (double)(k * BT_DTYPE_BITS(like->dtype)));
        out = k ? bt_node_scalar(g, BT_SCALAR_BIT_OR, out, code) : code;
    }
    return out;
}

/* ---- graphs ---- */

static int is_packed_below(const bt_node *node, uint8_t *seen)
{
    if (seen[node->id])
        return 0;
    seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (is_packed_below(node->args[i], seen))
            return 1;
    }
    return bt_dtype_is_packed(node->dtype);
}

/* *out: whether there is any packed value. */
static bt_status look(const bt_graph *g, int *out)
{
    const struct bt__look look = bt__look_begin(g);
    uint8_t *seen = BT_NEWS(look.arena, uint8_t, g->nnode);
    *out = 0;
    for (uint32_t i = 0; seen && !*out && i < g->narray; i++)
        *out = bt_dtype_is_packed(g->arrays[i]->dtype) ||
               (g->arrays[i]->body && is_packed_below(g->arrays[i]->body, seen));
    bt__look_end(g, &look);
    return seen ? NULL : bt_no_memory();
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

/* Numbers of the arrays, in their new order: unpacked inputs stand behind all inputs. */
static void number_arrays(struct packer *p)
{
    const bt_graph *g = p->graph;
    uint32_t next = g->ninput;
    for (uint32_t i = 0; i < g->narray; i++) {
        const int is_own = i < g->ninput && !bt_dtype_is_packed(g->arrays[i]->dtype);
        p->arrays[i] = is_own ? i : next++;
    }
}

/* Arrays are made in the order of their numbers, at the end of the list, and moved to the
 * front once all are there. */
static bt_status add(struct packer *p, const bt_array *array, uint32_t at)
{
    uint32_t made;
    if (!array->body || !bt_graph_add_array(p->graph, array, &made))
        return why(p->graph);
    p->order[at] = p->graph->arrays[made];
    return NULL;
}

static bt_status change_array(struct packer *p, uint32_t i)
{
    bt_graph *g = p->graph;
    bt_array array = *g->arrays[i];
    const bt_dtype dtype = array.dtype;
    array.dtype = bt_dtype_carrier(dtype);
    if (i >= g->ninput)
        array.body = stored(g, dtype, change(p, array.body));
    else
        array.body = unpacked(g, g->arrays[i], i);
    return add(p, &array, p->arrays[i]);
}

static bt_status pack_result(struct packer *p, uint32_t i, uint32_t at)
{
    bt_graph *g = p->graph;
    const bt_array *like = g->arrays[i], *array = p->order[p->arrays[i]];
    bt_array bytes;
    if (!bytes_of(g, like, &bytes))
        return why(g);
    bytes.body = packed(g, like, &bytes, array, p->arrays[i]);
    return add(p, &bytes, at);
}

static bt_status change_inputs(struct packer *p)
{
    bt_graph *g = p->graph;
    for (uint32_t i = 0; i < g->ninput; i++) {
        bt_array *input = BT_NEW(g->arena, bt_array);
        if (!input)
            return bt_no_memory();
        *input = *g->arrays[i];
        if (bt_dtype_is_packed(input->dtype) && !bytes_of(g, g->arrays[i], input))
            return why(g);
        p->order[i] = input;
    }
    return NULL;
}

bt_status bt__graph_unpack(bt_graph *g)
{
    struct packer p = { .graph = g, .nbefore = g->narray };
    uint32_t nunpacked = 0, nall, *results = BT_NEWS(g->arena, uint32_t, g->nresult);
    int is_packed;
    BT_TRY(look(g, &is_packed));
    if (!is_packed)
        return NULL;
    p.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    p.arrays = BT_NEWS(g->arena, uint32_t, g->narray);
    p.order = BT_NEWS(g->arena, bt_array *, g->narray + g->ninput + g->nresult);
    if (!results || !p.memo || !p.arrays || !p.order)
        return bt_no_memory();
    number_arrays(&p);
    BT_TRY(change_inputs(&p));
    for (uint32_t i = 0; i < p.nbefore; i++) {
        if (p.arrays[i] != i || i >= g->ninput)
            BT_TRY(change_array(&p, i));
        nunpacked += i < g->ninput && p.arrays[i] != i;
    }
    nall = p.nbefore + nunpacked;
    for (uint32_t i = 0; i < g->nresult; i++) {
        results[i] = p.arrays[g->results[i]];
        if (!bt_dtype_is_packed(g->arrays[g->results[i]]->dtype))
            continue;
        BT_TRY(pack_result(&p, g->results[i], nall));
        results[i] = nall++;
    }
    for (uint32_t i = 0; i < nall; i++)
        g->arrays[i] = p.order[i];
    g->narray = nall;
    g->results = results;
    return g->status;
}
