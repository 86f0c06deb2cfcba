#include "common/chain.h"

#include <string.h>

const bt_value *chain_op1(struct chain *c, const char *op, const char *attrs,
                          const bt_value *x)
{
    const bt_value *out = NULL;
    if (!c->status)
        c->status = bt_build(c->builder, op, attrs, &x, 1, &out);
    return out;
}

const bt_value *chain_op2(struct chain *c, const char *op, const char *attrs,
                          const bt_value *x, const bt_value *y)
{
    const bt_value *args[2] = { x, y }, *out = NULL;
    if (!c->status)
        c->status = bt_build(c->builder, op, attrs, args, 2, &out);
    return out;
}

const bt_value *chain_scalar(struct chain *c, bt_dtype dtype, double value)
{
    const bt_value *out = NULL;
    if (!c->status)
        c->status = bt_build_scalar(c->builder, dtype, value, &out);
    return out;
}

const bt_value *chain_op1f(struct chain *c, const bt_value *x, const char *op,
                           const char *format, ...)
{
    bt_arena *scratch = bt_ctx_scratch(bt_builder_ctx(c->builder));
    const void *mark = bt_arena_mark(scratch);
    const bt_value *out = NULL;
    bt_text text;
    va_list list;
    bt_text_init(&text, scratch);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    if (!bt_text_get(&text) && !c->status)
        c->status = bt_no_memory();
    else
        out = chain_op1(c, op, bt_text_get(&text), x);
    bt_arena_release(scratch, mark);
    return out;
}

const bt_value *chain_along(struct chain *c, const bt_value *vector, uint32_t rank,
                            uint32_t axis)
{
    if (axis + 1 >= rank)
        return vector;
    return chain_op1f(c, vector, "expand_dims", "axis=1, num_newaxis=%u",
                      rank - 1 - axis);
}

uint32_t call_axis(const bt_call *call, const char *name, int64_t absent, uint32_t rank)
{
    int64_t axis = bt_call_int(call, name, absent);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

uint32_t type_rank(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return shape && !bt_type_layout(type) ? shape->n : 0;
}

int layout_axis(const char *layout, char letter, uint32_t rank)
{
    const char *at = strchr(layout, letter);
    return at && strlen(layout) == rank ? (int)(at - layout) : -1;
}

int is_per_channel(const bt_value *value, uint32_t rank, uint32_t channel)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    if (!tensor || tensor->rank > rank || !tensor->nelem)
        return 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] != 1 && i + (rank - tensor->rank) != channel)
            return 0;
    }
    return 1;
}

int type_same_shape(const bt_type *a, const bt_type *b)
{
    const bt_tensor_type *x = bt_as_tensor_type(a), *y = bt_as_tensor_type(b);
    return x && y && x->shape == y->shape;
}

int op_keeps_layout(const bt_op *op)
{
    static const char *const relations[] = { "Identity", "IdentityComp", "Broadcast",
                                             "BroadcastComp" };
    for (uint32_t i = 0; op->relation && i < BT_COUNT(relations); i++) {
        if (strcmp(op->relation, relations[i]) == 0)
            return op->formula != NULL;
    }
    return strcmp(op->name, "cast") == 0;
}

const bt_value *laid_from(const bt_value *value)
{
    const bt_call *call = bt_as_op_call(value, "layout_transform");
    return call && (strchr(bt_call_text(call, "src_layout"), ':') ||
                    strchr(bt_call_text(call, "dst_layout"), ':'))
               ? call->args[0]
               : NULL;
}

const bt_value *chain_layout(struct chain *c, const bt_value *value,
                             const bt_layout *layout)
{
    while (!c->status && bt_type_layout(value->type) != layout && laid_from(value))
        value = laid_from(value);
    const bt_layout *from = c->status ? layout : bt_type_layout(value->type);
    return from == layout
               ? value
               : chain_op1f(c, value, "layout_transform",
                            "src_layout=\"%s\", dst_layout=\"%s\"",
                            from ? from->text : "", layout ? layout->text : "");
}

bt_status rewrite_proj(bt_rewrite *rewrite, const bt_proj *proj, const bt_value **out)
{
    const bt_value *now;
    BT_TRY(bt_rewrite_operand(rewrite, proj->tuple, &now));
    if (bt_as_tuple(now))
        *out = bt_as_tuple(now)->fields[proj->index];
    return NULL;
}

/* Blocks that wait, the one put in last first: what is nested deep is found early. */
struct level {
    const bt_block *block;
    uint32_t depth;
};

bt_status rewrite_has_room(bt_rewrite *rewrite, bt_arena *arena, const bt_func *func,
                           int *out)
{
    const uint32_t most = bt_ctx_limits(bt_rewrite_ctx(rewrite))->depth / 2;
    bt_vec(struct level) waiting = { 0 };
    struct level at = { func->block, bt_rewrite_depth(rewrite) + 1 };
    *out = 0;
    if (!BT_PUSH(arena, &waiting, at))
        return bt_no_memory();
    while (waiting.len) {
        at = waiting.at[--waiting.len];
        if (at.depth > most)
            return NULL;
        for (uint32_t i = 0; i < at.block->nbinding; i++) {
            const bt_value *value = at.block->bindings[i];
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                struct level inner = { bt_value_region(value, k), at.depth + 1 };
                if (!BT_PUSH(arena, &waiting, inner))
                    return bt_no_memory();
            }
        }
    }
    *out = 1;
    return NULL;
}
