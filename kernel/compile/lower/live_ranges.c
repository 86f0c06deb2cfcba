/*
 * Live ranges of the tensors of a lowered function: from which binding to which, and what
 * may be computed in place.
 *
 * Bindings are counted depth first, those of an `if` behind it, one block after the other:
 *
 *     0  %c = less(%i, %n);
 *     1  %r = if (%c) {
 *     2      memory.invoke(..)
 *        } else {
 *     3      memory.invoke(..)
 *        };
 *     4  ..
 *
 * A function's bindings run at most once and in this order, so tensors of two blocks of an
 * `if` have ranges that do not meet.
 */
#include <baton/compiled.h>
#include <baton/op.h>

#include <string.h>

#include "compile/lower/lower.h"

struct finder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map numbers; /* tensor -> its number, from 1 */
    bt_vec(bt_live_range) ranges;
    bt_vec(const bt_value *) bindings; /* by position */
};

static bt_status add_tensor(struct finder *f, const bt_call *call)
{
    bt_live_range range = { .tensor = call, .first = UINT32_MAX };
    range.storage = bt_as_op_call(call->args[0], "memory.alloc_storage");
    range.offset = bt_call_dim(call, "offset");
    range.nbytes = bt_tensor_size(call->base.type);
    if (!range.storage)
        return bt_fail_at(f->ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                          call->base.span,
                          "a tensor whose storage is not known cannot be planned");
    if (!range.nbytes)
        return bt_store_why(f->ctx, call->base.type->store);
    range.escapes = (range.nbytes->has & BT_HAS_OPAQUE) != 0;
    return BT_PUSH(f->arena, &f->ranges, range) &&
                   bt_map_put(&f->numbers, call, (void *)(uintptr_t)f->ranges.len)
               ? NULL
               : bt_no_memory();
}

const bt_value *bt__tensor_of(const bt_value *value)
{
    for (;;) {
        const bt_call *view = bt_as_op_call(value, "memory.view");
        const bt_proj *proj = bt_as_proj(value);
        const bt_tuple_value *tuple = proj ? bt_as_tuple(proj->tuple) : NULL;
        if (!view && !tuple)
            return value;
        value = view ? view->args[0] : tuple->fields[proj->index];
    }
}

/* The number of the tensor that a value is, from 1; 0: none. */
static uintptr_t number_of(const struct finder *f, const bt_value *value)
{
    return (uintptr_t)bt_map_find(&f->numbers, bt__tensor_of(value));
}

/* Every tensor that a value is, or holds. */
static bt_status touch(struct finder *f, const bt_value *value, uint32_t position,
                       int escapes)
{
    bt_vec(const bt_value *) queue = { 0 };
    if (!BT_PUSH(f->arena, &queue, value))
        return bt_no_memory();
    while (queue.len) {
        value = bt__tensor_of(queue.at[--queue.len]);
        uintptr_t number = number_of(f, value);
        if (number) {
            bt_live_range *range = &f->ranges.at[number - 1];
            range->first = position < range->first ? position : range->first;
            range->last = position > range->last ? position : range->last;
            range->escapes |= (uint32_t)escapes;
        } else if (value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ) {
            // a field keeps its whole tuple alive, which may be longer than necessary
            for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
                if (!BT_PUSH(f->arena, &queue, bt_value_operand(value, i)))
                    return bt_no_memory();
            }
        }
    }
    return NULL;
}

/* ---- in place ---- */

/* Whether the kernel may write output `out` into the bytes of every input that is this
 * tensor. */
static int may_alias(const struct finder *f, const bt_call *invoke, int64_t out,
                     uintptr_t tensor)
{
    const bt_ints *aliases =
        bt_attr_find(invoke->op, invoke->attrs, "aliases", BT_ATTR_INTS);
    const bt_tuple_value *ins = bt_as_tuple(invoke->args[0]);
    for (uint32_t i = 0; i < ins->nfield; i++) {
        int may = number_of(f, ins->fields[i]) != tensor;
        for (int64_t k = 0; !may && k + 1 < aliases->n; k += 2)
            may = aliases->at[k] == out && aliases->at[k + 1] == i;
        if (!may)
            return 0;
    }
    return 1;
}

static int same_space(const bt_live_range *a, const bt_live_range *b)
{
    const char *const *x =
        bt_attr_find(a->storage->op, a->storage->attrs, "space", BT_ATTR_STRING);
    const char *const *y =
        bt_attr_find(b->storage->op, b->storage->attrs, "space", BT_ATTR_STRING);
    return x && y && strcmp(*x, *y) == 0;
}

/* What is written here first may lie on what is read here last. */
static bt_status add_alias(struct finder *f, uint32_t position, uintptr_t to,
                           uintptr_t from)
{
    if (!from || !to || from == to)
        return NULL;
    const bt_live_range *ends = &f->ranges.at[from - 1];
    bt_live_range *begins = &f->ranges.at[to - 1];
    if (ends->last != position || begins->first != position ||
        ends->nbytes != begins->nbytes || !same_space(ends, begins))
        return NULL;
    uint32_t *aliases = BT_NEWS(f->arena, uint32_t, begins->nalias + 1);
    if (!aliases)
        return bt_no_memory();
    for (uint32_t i = 0; i < begins->nalias; i++)
        aliases[i] = begins->aliases[i];
    aliases[begins->nalias++] = (uint32_t)from - 1;
    begins->aliases = aliases;
    return NULL;
}

static bt_status find_invoke_aliases(struct finder *f, const bt_call *invoke,
                                     uint32_t position)
{
    const bt_ints *aliases =
        bt_attr_find(invoke->op, invoke->attrs, "aliases", BT_ATTR_INTS);
    const bt_tuple_value *ins = bt_as_tuple(invoke->args[0]),
                         *outs = bt_as_tuple(invoke->args[1]);
    for (int64_t k = 0; ins && outs && k + 1 < aliases->n; k += 2) {
        const int64_t out = aliases->at[k], in = aliases->at[k + 1];
        if (in >= ins->nfield || out >= outs->nfield)
            continue;
        uintptr_t to = number_of(f, outs->fields[out]),
                  from = number_of(f, ins->fields[in]);
        if (may_alias(f, invoke, out, from))
            BT_TRY(add_alias(f, position, to, from));
    }
    return NULL;
}

static bt_status find_aliases(struct finder *f)
{
    for (uint32_t i = 0; i < f->bindings.len; i++) {
        const bt_call *invoke = bt_as_op_call(f->bindings.at[i], "memory.invoke"),
                      *copy = bt_as_op_call(f->bindings.at[i], "memory.copy");
        if (invoke)
            BT_TRY(find_invoke_aliases(f, invoke, i));
        if (copy) // elements that are at their place already need no copy
            BT_TRY(add_alias(f, i, number_of(f, copy->args[1]),
                             number_of(f, copy->args[0])));
    }
    return NULL;
}

/* ---- bindings ---- */

static bt_status touch_operands(struct finder *f, const bt_value *value,
                                uint32_t position)
{
    const bt_call *call = bt_as_call(value);
    const int is_memory = call && call->callee_kind == BT_CALLEE_OP &&
                          strncmp(call->op->name, "memory.", strlen("memory.")) == 0;
    if (bt_as_op_call(value, "memory.invoke") || bt_as_op_call(value, "memory.copy")) {
        for (uint32_t i = 0; i < call->narg; i++)
            BT_TRY(touch(f, call->args[i], position, 0));
        return NULL;
    }
    // tuples and fields stand for what they are used in
    if (is_memory ? !bt_as_op_call(value, "memory.own")
                  : value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ)
        return NULL;
    // a scalar is computed from the elements and does not hold them
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_value *operand = bt_value_operand(value, i);
        BT_TRY(touch(f, operand, position, !bt_type_is_scalar(operand->type)));
    }
    return NULL;
}

/* Recursion is bounded by the depth of blocks. */
static bt_status add_block(struct finder *f, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        const bt_call *tensor = bt_as_op_call(value, "memory.alloc_tensor");
        const uint32_t position = f->bindings.len;
        if (!BT_PUSH(f->arena, &f->bindings, value))
            return bt_no_memory();
        if (tensor)
            BT_TRY(add_tensor(f, tensor));
        BT_TRY(touch_operands(f, value, position));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
            const bt_block *region = bt_value_region(value, k);
            BT_TRY(add_block(f, region));
            BT_TRY(touch(f, region->result, f->bindings.len - 1,
                         !bt_type_is_scalar(region->result->type)));
        }
    }
    return NULL;
}

bt_status bt_live_ranges(bt_ctx *ctx, bt_arena *arena, const bt_func *func, uint32_t *n,
                         bt_live_range **out)
{
    struct finder f = { .ctx = ctx, .arena = arena };
    bt_map_init(&f.numbers, arena, 0);
    BT_TRY(add_block(&f, func->block));
    BT_TRY(touch(&f, func->block->result, f.bindings.len, 1));
    BT_TRY(find_aliases(&f));
    *n = f.ranges.len;
    *out = f.ranges.at;
    return NULL;
}
