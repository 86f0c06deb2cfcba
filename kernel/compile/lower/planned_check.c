/* Whether a function is what planning makes of one: storage, tensors in it, kernels. */
#include "compile/lower/lower.h"

#include <string.h>

#include <baton/op.h>

struct check {
    bt_ctx *ctx;
    const bt_map *kernels; /* names */
};

static bt_status refuse(const struct check *c, const bt_value *value, const char *why)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(c->ctx));
    bt_print_operand(value, &text);
    const char *name = bt_text_get(&text);
    return name ? bt_fail_at(c->ctx, BT_ERR_VERIFY, value->type->store, value->span,
                             "the program is not planned: %s %s", name, why)
                : bt_no_memory();
}

static int is_written(const bt_value *value)
{
    return bt_as_op_call(value, "memory.alloc_tensor") != NULL;
}

/* What an executor computes in place of a view, a result's tensor, has the view's size. */
static bt_status check_view(const struct check *c, const bt_call *view)
{
    const bt_type *of = bt_tensor_size(view->args[0]->type),
                  *size = bt_tensor_size(view->base.type);
    if (!of || !size)
        return bt_store_why(c->ctx, view->base.type->store);
    return bt_dim_equal(size->store, size, of) == 1
               ? NULL
               : refuse(c, &view->base,
                        "may have another size than what it is a view of");
}

static bt_status check_invoke(const struct check *c, const bt_call *call)
{
    const char *const *kernel =
        bt_attr_find(call->op, call->attrs, "kernel", BT_ATTR_STRING);
    const bt_tuple_value *ins = bt_as_tuple(call->args[0]),
                         *outs = bt_as_tuple(call->args[1]);
    if (!ins || !outs)
        return refuse(c, &call->base, "does not list its buffers");
    if (!bt_map_entry_find(c->kernels, *kernel))
        return refuse(c, &call->base, "names a kernel that the code does not have");
    // constants and arguments must not be written to
    for (uint32_t i = 0; i < outs->nfield; i++) {
        if (!is_written(outs->fields[i]))
            return refuse(c, &call->base, "writes what is no tensor of its storage");
    }
    if (call->narg > 2 && !is_written(call->args[2]))
        return refuse(c, &call->base, "works in what is no tensor of its storage");
    return NULL;
}

static bt_status check_binding(const struct check *c, const bt_value *value)
{
    if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ ||
        bt_as_op_call(value, "memory.alloc_storage") ||
        bt_as_op_call(value, "memory.check") || bt_as_op_call(value, "memory.kill"))
        return NULL;
    if (bt_as_op_call(value, "memory.view"))
        return check_view(c, bt_as_call(value));
    if (bt_as_op_call(value, "memory.alloc_tensor"))
        return bt_as_op_call(bt_as_call(value)->args[0], "memory.alloc_storage")
                   ? NULL
                   : refuse(c, value, "lies in no storage");
    if (bt_as_op_call(value, "memory.copy"))
        return is_written(bt_as_call(value)->args[1])
                   ? NULL
                   : refuse(c, value, "writes what is no tensor of its storage");
    return bt_as_op_call(value, "memory.invoke")
               ? check_invoke(c, bt_as_call(value))
               : refuse(c, value, "is no call of a kernel");
}

bt_status bt__planned_check(bt_ctx *ctx, const bt_func *func, const bt_map *kernels)
{
    struct check c = { .ctx = ctx, .kernels = kernels };
    for (uint32_t i = 0; i < func->block->nbinding; i++)
        BT_TRY(check_binding(&c, func->block->bindings[i]));
    return bt_plan_check(ctx, func);
}
