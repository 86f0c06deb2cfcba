/* Names of a call, bound from its leaves by the patterns of the operator's inputs. */
#include "compute/formula/names.h"
#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

int bt__names_array(const struct bt__names *names, const char *name)
{
    for (uint32_t i = names->graph->narray; i-- > 0;) {
        if (strcmp(names->graph->arrays[i]->name, name) == 0)
            return (int)i;
    }
    return -1;
}

int bt__names_add_array(struct bt__names *names, const bt_array *array)
{
    uint32_t number;
    return bt_graph_add_array(names->graph, array, &number);
}

const struct bt__attr_value *bt__names_attr(const struct bt__names *names,
                                            const char *name)
{
    for (uint32_t i = 0; i < names->in->nattr; i++) {
        if (strcmp(names->in->attrs[i].name, name) == 0)
            return &names->in->attrs[i];
    }
    return NULL;
}

bt_dtype bt__names_dtype(const struct bt__names *names, const char *name)
{
    const bt_dtype *bound = bt_map_find(&names->dtypes, name);
    const struct bt__attr_value *attr = bt__names_attr(names, name);
    if (bound)
        return *bound;
    if (attr && attr->kind == BT_ATTR_DTYPE && !attr->is_none)
        return attr->dtype;
    bt_dtype dtype = bt_dtype_parse(name, strlen(name));
    return bt_dtype_is_stored(dtype) ? dtype : 0;
}

static bt_status bind_dtype(struct bt__names *names, const struct bt__pattern *pattern,
                            const char *array, bt_dtype dtype)
{
    bt_arena *arena = names->graph->arena;
    char found[BT_DTYPE_NAME_SIZE], bound_name[BT_DTYPE_NAME_SIZE];
    if (!bt_dtype_is_stored(dtype))
        return bt_fail(names->ctx, BT_ERR_UNSUPPORTED,
                       "%s: %s is %s, which has no storage", names->in->op, array,
                       bt_dtype_name(dtype, found, sizeof(found)));
    if (!bt__pattern_takes_dtype(pattern, dtype)) {
        bt_text text;
        bt_text_init(&text, arena);
        bt__pattern_print_dtypes(pattern, &text);
        return bt_fail(names->ctx, BT_ERR_TYPE, "%s: %s is %s, expected %s",
                       names->in->op, array, bt_dtype_name(dtype, found, sizeof(found)),
                       bt_text_get(&text) ? bt_text_get(&text) : "another dtype");
    }
    if (!pattern->name)
        return NULL;
    const bt_dtype *bound = bt_map_find(&names->dtypes, pattern->name);
    if (bound && *bound != dtype)
        return bt_fail(names->ctx, BT_ERR_TYPE,
                       "%s: %s is %s, but %s of another input is %s", names->in->op,
                       array, bt_dtype_name(dtype, found, sizeof(found)), pattern->name,
                       bt_dtype_name(*bound, bound_name, sizeof(bound_name)));
    if (bound)
        return NULL;
    bt_dtype *copy = BT_NEW(arena, bt_dtype);
    if (!copy)
        return bt_no_memory();
    *copy = dtype;
    return bt_map_put(&names->dtypes, pattern->name, copy) ? NULL : bt_no_memory();
}

static bt_status bind_dim(struct bt__names *names, const struct bt__pattern_dim *dim,
                          const char *array, uint32_t axis, const bt_node *extent)
{
    int64_t known, other;
    if (!dim->name) {
        if (bt_node_is_const(extent, &known) && known != dim->size)
            return bt_fail(names->ctx, BT_ERR_RUNTIME,
                           "%s: axis %u of %s has extent %" PRId64 ", expected %" PRId64,
                           names->in->op, axis, array, known, dim->size);
        return NULL;
    }
    const bt_node *bound = bt_map_find(&names->dims, dim->name);
    if (bound && bt_node_is_const(bound, &known) && bt_node_is_const(extent, &other) &&
        known != other)
        return bt_fail(names->ctx, BT_ERR_RUNTIME,
                       "%s: axis %u of %s has extent %" PRId64
                       ", but %s of another input is %" PRId64,
                       names->in->op, axis, array, other, dim->name, known);
    // a known extent says more than an unknown one
    if (bound && !bt_node_is_const(extent, &other))
        return NULL;
    return bt_map_put(&names->dims, dim->name, (void *)(uintptr_t)extent)
               ? NULL
               : bt_no_memory();
}

/* An axis that is not known yet is a dim of the graph. */
static const bt_node *open_dim(bt_graph *g, const char *array, uint32_t axis)
{
    uint32_t which;
    bt_graph_dim dim = { .name = bt__format(g->arena, "extent(%s, %u)", array, axis),
                         .high = BT_MAX_DIM };
    return dim.name && bt_graph_add_dim(g, &dim, &which) ? bt_node_dim(g, which)
                                                         : bt__graph_no_memory(g);
}

/* One leaf as an input array, bound by its pattern (NULL: none). */
static bt_status bind_leaf(struct bt__names *names, const struct bt__pattern *pattern,
                           const char *name, const struct bt__leaf *leaf)
{
    bt_graph *g = names->graph;
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, leaf->rank);
    if (!extents)
        return bt_no_memory();
    for (uint32_t a = 0; a < leaf->rank; a++) {
        extents[a] =
            leaf->dims[a] < 0 ? open_dim(g, name, a) : bt_node_int(g, leaf->dims[a]);
        if (!extents[a])
            return g->status;
    }
    bt_array array = {
        .name = name, .dtype = leaf->dtype, .rank = leaf->rank, .extents = extents
    };
    if (!bt__names_add_array(names, &array))
        return bt_no_memory();
    if (!pattern || pattern->kind == BT__PATTERN_ANY)
        return NULL;
    BT_TRY(bind_dtype(names, pattern, name, leaf->dtype));
    if (!bt__pattern_takes_rank(pattern, leaf->rank))
        return bt_fail(names->ctx, BT_ERR_TYPE, "%s: %s has rank %u, expected %s%u",
                       names->in->op, name, leaf->rank,
                       pattern->has_rest ? "at least " : "", pattern->ndim);
    for (uint32_t a = 0; a < leaf->rank; a++) {
        const struct bt__pattern_dim *dim = bt__pattern_dim_at(pattern, leaf->rank, a);
        if (dim)
            BT_TRY(bind_dim(names, dim, name, a, extents[a]));
    }
    return NULL;
}

static bt_status bind_arg(struct bt__names *names, uint32_t index)
{
    const struct bt__instance *in = names->in;
    const struct bt__arg *arg = &in->args[index];
    const struct bt__pattern *pattern = bt__signature_input(in->signature, index);
    const char *own = bt__signature_name(names->graph->arena, in->signature, index);
    if (!own)
        return bt_no_memory();
    if (pattern && pattern->kind != BT__PATTERN_ANY &&
        arg->is_tuple != (pattern->kind == BT__PATTERN_TENSORS))
        return bt_fail(names->ctx, BT_ERR_TYPE, "%s: %s is %s, expected %s", in->op, own,
                       arg->is_tuple ? "a tuple" : "a tensor",
                       arg->is_tuple ? "a tensor" : "a tuple of tensors");
    for (uint32_t i = 0; i < arg->nleaf; i++) {
        const char *name = own;
        if (arg->is_tuple) {
            name = bt__format(names->graph->arena, "%s.%u", name, i);
            if (!name)
                return bt_no_memory();
        }
        BT_TRY(bind_leaf(names, pattern, name, &in->leaves[arg->first + i]));
    }
    return NULL;
}

bt_status bt__names_bind(struct bt__names *names, bt_ctx *ctx, bt_graph *g,
                         const struct bt__instance *in)
{
    *names = (struct bt__names){ .ctx = ctx, .in = in, .graph = g };
    bt_map_init(&names->dims, g->arena, 1);
    bt_map_init(&names->dtypes, g->arena, 1);
    bt_map_init(&names->scalars, g->arena, 1);
    for (uint32_t i = 0; i < in->narg; i++)
        BT_TRY(bind_arg(names, i));
    g->ninput = g->narray;
    return NULL;
}
