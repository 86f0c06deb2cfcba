#include "quant_law.h"

#include <baton/compute.h>
#include <baton/graph.h>

/* ---- the call alone ---- */

/* A function of that one call, its arguments parameters. */
static bt_status alone(bt_ctx *ctx, bt_store *store, bt_arena *arena, bt_builder *b,
                       const bt_call *call, const bt_func **out)
{
    const bt_param **params = BT_NEWS(arena, const bt_param *, call->narg);
    const bt_value **args = BT_NEWS(arena, const bt_value *, call->narg), *value;
    bt_func fields = { 0 };
    if (!params || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(bt_build_param(b, "p", call->args[i]->type, &params[i]));
        args[i] = &params[i]->base;
    }
    BT_TRY(bt_block_begin(b, call->narg, params));
    BT_TRY(bt_build_op(b, call->op, call->attrs, call->narg, args, &value));
    BT_TRY(bt_block_end(b, value, &fields.block));
    fields.result = value->type;
    return bt_func_create(ctx, store, &fields, out);
}

/* Whether all dims are numbers: a graph of others needs the function's parameters. */
static int is_static(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t extent;
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        if (!bt_dim_is_const(shape->dims[i], &extent))
            return 0;
    }
    return shape && !bt_type_layout(type);
}

static int is_plain(const bt_call *call)
{
    int ok = call->callee_kind == BT_CALLEE_OP && !call->ncheck && !call->op->effects &&
             is_static(call->base.type);
    for (uint32_t i = 0; ok && i < call->narg; i++)
        ok = is_static(call->args[i]->type);
    return ok;
}

static bt_status look(bt_ctx *ctx, bt_store *store, bt_arena *arena,
                      const bt_module *module, const bt_call *call, bt_graph **out)
{
    const bt_func *func;
    bt_builder *b;
    *out = NULL;
    BT_TRY(bt_builder_create(ctx, store, module, &b));
    bt_status status = alone(ctx, store, arena, b, call, &func);
    bt_builder_destroy(b);
    if (!status)
        status = bt_graph_compose(ctx, arena, func, out);
    if (status && status->code != BT_ERR_TYPE && status->code != BT_ERR_UNSUPPORTED)
        return status;
    if (status || (*out)->narray != (*out)->ninput + 1 || (*out)->ninput != call->narg)
        *out = NULL;
    return NULL;
}

/* ---- what its one stage is ---- */

static int is_scalar(const bt_node *node, uint32_t which)
{
    return node->kind == BT_NODE_SCALAR && node->which == which;
}

static int is_reduce(const bt_node *node, uint32_t which)
{
    return node->kind == BT_NODE_REDUCE && node->which == which;
}

static int is_read(const bt_node *node)
{
    return node->kind == BT_NODE_READ;
}

static int is_move(const bt_node *body, struct law *out)
{
    out->in[0] = is_read(body) ? body->which : 0;
    return is_read(body);
}

static int is_order(const bt_node *body, struct law *out)
{
    if (!is_reduce(body, BT_REDUCER_MAX) && !is_reduce(body, BT_REDUCER_MIN))
        return 0;
    return is_move(body->args[1], out);
}

/* max and min of a read and of numbers, in any order. */
static int is_clip(const bt_node *body, struct law *out)
{
    const bt_node *at = body;
    while (is_scalar(at, BT_SCALAR_MAX) || is_scalar(at, BT_SCALAR_MIN)) {
        const uint32_t number = at->args[0]->kind == BT_NODE_CONST ? 0 : 1;
        const bt_node *bound = at->args[number];
        if (bound->kind != BT_NODE_CONST || !bt_dtype_is_float(bound->dtype))
            return 0;
        at = at->args[1 - number];
    }
    return at != body && is_move(at, out);
}

/* Whether each axis of a term lies on one of the result, or has one element for all. */
static int is_aligned(const bt_array *stage, const bt_node *read)
{
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        int64_t zero;
        if (!(at->kind == BT_NODE_INDEX && at->which < stage->rank) &&
            !(bt_node_is_const(at, &zero) && zero == 0))
            return 0;
    }
    return 1;
}

static int is_sum(const bt_array *stage, struct law *out)
{
    const bt_node *body = stage->body;
    if (!is_scalar(body, BT_SCALAR_ADD) || !is_read(body->args[0]) ||
        !is_read(body->args[1]) || body->args[0]->which == body->args[1]->which)
        return 0;
    const uint32_t first = body->args[0]->which > body->args[1]->which;
    for (uint32_t i = 0; i < 2; i++) {
        out->in[i] = body->args[i ^ first]->which;
        if (!is_aligned(stage, body->args[i ^ first]))
            return 0;
    }
    return 1;
}

/* The axis of a read along which the result has channels: of its own, or, where there is
 * none, those that both factors have, as depthwise windows do. */
static int32_t find_channel(const bt_array *stage, const bt_node *read,
                            const bt_node *other)
{
    int32_t channel = -1;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *at = read->args[i];
        const int counts = at->kind == BT_NODE_INDEX && at->which < stage->rank;
        const int is_own = counts && !(other->free & bt_index_bit(at->which));
        if (!counts || (!is_own && channel >= 0))
            continue;
        channel = (int32_t)i;
        if (is_own)
            break;
    }
    return channel;
}

static int is_product(const bt_array *stage, struct law *out)
{
    const bt_node *body = stage->body;
    if (!is_reduce(body, BT_REDUCER_SUM) || !is_scalar(body->args[1], BT_SCALAR_MUL))
        return 0;
    const bt_node *const *factors = body->args[1]->args;
    if (!is_read(factors[0]) || !is_read(factors[1]) ||
        factors[0]->which == factors[1]->which)
        return 0;
    const uint32_t first = factors[0]->which > factors[1]->which;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *own = factors[i ^ first];
        out->in[i] = own->which;
        out->channel[i] = find_channel(stage, own, factors[1 - (i ^ first)]);
    }
    return 1;
}

static uint32_t kind_of(const bt_array *stage, struct law *out)
{
    return is_move(stage->body, out)    ? LAW_MOVE
           : is_order(stage->body, out) ? LAW_ORDER
           : is_clip(stage->body, out)  ? LAW_CLIP
           : is_product(stage, out)     ? LAW_PRODUCT
           : is_sum(stage, out)         ? LAW_SUM
                                        : LAW_NONE;
}

bt_status law_find(bt_ctx *ctx, bt_store *store, bt_arena *arena, const bt_module *module,
                   const bt_call *call, struct law *out)
{
    bt_graph *graph;
    *out = (struct law){ .kind = LAW_NONE };
    if (!is_plain(call) || !bt_dtype_is_float(bt_tensor_dtype(call->base.type)))
        return NULL;
    BT_TRY(look(ctx, store, arena, module, call, &graph));
    if (graph)
        out->kind = kind_of(graph->arrays[graph->results[0]], out);
    return NULL;
}
