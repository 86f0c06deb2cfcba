#include "common/chain.h"

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
