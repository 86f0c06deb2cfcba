#include "common/statements.h"

/* Whether inference may look at the elements of an operand. */
static int is_looked_at(const bt_value *operand)
{
    const bt_call *call = bt_as_call(operand);
    const bt_tensor *tensor = bt_const_tensor(operand);
    const uint32_t integer = BT_CLASS_BITS_INTEGER;
    return tensor ? tensor->rank == 1 && tensor->nelem <= 32 &&
                        (1u << BT_DTYPE_CLASS(tensor->dtype) & integer)
                  : call && call->contents;
}

static int is_looking(const bt_call *call)
{
    for (uint32_t i = 0; i < call->narg; i++) {
        if (is_looked_at(call->args[i]))
            return 1;
    }
    return 0;
}

/* The call as inference alone makes it; `hides_elements`: with parameters in place of the
 * operands whose elements it may look at. */
static bt_status infer_again(bt_builder *b, bt_arena *arena, const bt_call *call,
                             int hides_elements, const bt_call **out)
{
    bt_call plain = { .callee_kind = BT_CALLEE_OP,
                      .op = call->op,
                      .attrs = call->attrs,
                      .narg = call->narg };
    const bt_value **args = BT_NEWS(arena, const bt_value *, call->narg), *again;
    const bt_param **params = BT_NEWS(arena, const bt_param *, call->narg);
    uint32_t n = 0;
    if (!args || !params)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = call->args[i];
        if (!hides_elements || !is_looked_at(args[i]))
            continue;
        BT_TRY(bt_build_param(b, "p", args[i]->type, &params[n]));
        args[i] = &params[n++]->base;
    }
    plain.args = args;
    BT_TRY(bt_block_begin(b, n, params));
    bt_builder_layout(b, bt_type_layout(call->base.type));
    BT_TRY(bt_build_call(b, &plain, &again));
    *out = bt_as_call(again);
    return NULL;
}

static int is_same(const bt_contents *stated, const bt_contents *known)
{
    if (!known || known->n != stated->n)
        return 0;
    for (uint32_t i = 0; i < stated->n; i++) {
        if (stated->dims[i] != known->dims[i])
            return 0;
    }
    return 1;
}

int statement_follows(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                      const bt_call *call)
{
    const bt_call *again;
    bt_builder *b;
    if (!call->contents)
        return 1;
    if (call->callee_kind != BT_CALLEE_OP ||
        bt_builder_create(ctx, module->store, module, &b))
        return 0;
    const int follows = !infer_again(b, arena, call, 0, &again) &&
                        is_same(call->contents, again->contents);
    bt_builder_destroy(b);
    return follows;
}

int type_follows_from_types(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                            const bt_call *call)
{
    const bt_call *again;
    bt_builder *b;
    if (!is_looking(call))
        return 1;
    if (bt_builder_create(ctx, module->store, module, &b))
        return 0;
    const int follows = !infer_again(b, arena, call, 1, &again) &&
                        again->base.type == call->base.type &&
                        again->ncheck == call->ncheck;
    bt_builder_destroy(b);
    return follows;
}
