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

/* Bindings that write a tensor. */
struct writes {
    uint32_t n, last;
};

struct finder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map numbers; /* tensor -> its number, from 1 */
    bt_vec(bt_live_range) ranges;
    bt_vec(struct writes) writes;      /* of each */
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
                   BT_PUSH(f->arena, &f->writes, (struct writes){ 0 }) &&
                   bt_map_put(&f->numbers, call, (void *)(uintptr_t)f->ranges.len)
               ? NULL
               : bt_no_memory();
}

int bt__lies_behind(const bt_type *offset, const bt_type *begin, int64_t nbytes)
{
    const bt_type *behind = bt_dim_sub(offset->store, offset, begin);
    int64_t distance;
    return behind && bt_dim_is_const(behind, &distance) && distance == nbytes;
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

/* ---- made of parts, or taken out ---- */

/* What an invocation says of where its only output may lie: all of it is made of some of what it
 * reads, one after the other, or it is what the only one has behind some bytes. */
struct laid {
    const bt_value *out;
    const bt_tuple_value *ins;
    const bt_ints *parts; /* numbers of them; n 0: it does not say this */
    int64_t slice;        /* these bytes; -1: likewise */
};

/* 0: it says nothing. */
static int read_laid(const bt_call *invoke, struct laid *l)
{
    const int64_t *slice = bt_attr_find(invoke->op, invoke->attrs, "slice", BT_ATTR_INT);
    const bt_tuple_value *outs = bt_as_tuple(invoke->args[1]);
    l->ins = bt_as_tuple(invoke->args[0]);
    l->parts = bt_attr_find(invoke->op, invoke->attrs, "parts", BT_ATTR_INTS);
    if (!l->ins || !outs || outs->nfield != 1 || !l->parts || !slice)
        return 0;
    l->out = outs->fields[0];
    l->slice = l->ins->nfield == 1 ? *slice : -1;
    return l->parts->n || l->slice >= 0;
}

/* NULL: it names none. */
static const bt_value *part_of(const struct laid *l, int64_t i)
{
    const int64_t in = l->parts->at[i];
    return in >= 0 && in < l->ins->nfield ? l->ins->fields[in] : NULL;
}

/* The tensors among what a kernel reads that make up `whole`, all of it: written before the
 * kernel runs, as `whole` is by nothing else. */
static bt_status find_parts(struct finder *f, const struct laid *l, uint32_t position,
                            bt_live_range *whole)
{
    bt_store *store = l->out->type->store;
    const bt_type *end = bt_dim(store, 0);
    uint32_t *parts = BT_NEWS(f->arena, uint32_t, (size_t)l->parts->n);
    if (!parts)
        return bt_no_memory();
    for (int64_t i = 0; i < l->parts->n; i++) {
        const bt_value *in = part_of(l, i);
        const uintptr_t number = in ? number_of(f, in) : 0;
        const bt_live_range *part = number ? &f->ranges.at[number - 1] : NULL;
        if (!part || part->escapes || f->writes.at[number - 1].last >= position ||
            !same_space(part, whole))
            return NULL;
        parts[i] = (uint32_t)number - 1;
        end = end ? bt_dim_add(store, end, part->nbytes) : NULL;
    }
    if (!end)
        return bt_store_why(f->ctx, store);
    whole->parts = parts;
    whole->npart = end == whole->nbytes ? (uint32_t)l->parts->n : 0;
    return NULL;
}

/* What a kernel takes out of a tensor that is there, and stays as it is while what is taken lives. */
static void find_slice(struct finder *f, const struct laid *l, uint32_t position,
                       bt_live_range *slice)
{
    const uintptr_t from = number_of(f, l->ins->fields[0]);
    const bt_live_range *whole = from ? &f->ranges.at[from - 1] : NULL;
    int64_t nwhole, nslice, end;
    if (!whole || whole == slice || whole->escapes ||
        f->writes.at[from - 1].last >= position || !same_space(whole, slice) ||
        !bt_dim_is_const(whole->nbytes, &nwhole) ||
        !bt_dim_is_const(slice->nbytes, &nslice) ||
        !bt_add_int64(l->slice, nslice, &end) || end > nwhole)
        return;
    slice->slice_of = (uint32_t)from;
    slice->slice_at = l->slice;
}

static bt_status find_laid(struct finder *f, const bt_call *invoke, uint32_t position)
{
    struct laid l;
    const uintptr_t to = read_laid(invoke, &l) ? number_of(f, l.out) : 0;
    bt_live_range *out = to ? &f->ranges.at[to - 1] : NULL;
    if (!out || out->escapes || f->writes.at[to - 1].n != 1)
        return NULL;
    if (l.slice >= 0)
        find_slice(f, &l, position, out);
    return l.parts->n ? find_parts(f, &l, position, out) : NULL;
}

static const bt_call *tensor_call(const bt_value *value)
{
    return value ? bt_as_op_call(bt__tensor_of(value), "memory.alloc_tensor") : NULL;
}

/* Whether a tensor lies at an offset in the storage of another one. */
static int lies_at(const bt_call *tensor, const bt_call *of, const bt_type *offset)
{
    return tensor && offset && tensor->args[0] == of->args[0] &&
           bt_call_dim(tensor, "offset") == offset;
}

static int is_slice(const struct laid *l, const bt_call *to)
{
    const bt_call *from = l->slice >= 0 ? tensor_call(l->ins->fields[0]) : NULL;
    return from && to->args[0] == from->args[0] &&
           bt__lies_behind(bt_call_dim(to, "offset"), bt_call_dim(from, "offset"),
                           l->slice);
}

int bt_invoke_is_done(const bt_call *invoke)
{
    struct laid l;
    const bt_call *to = read_laid(invoke, &l) ? tensor_call(l.out) : NULL;
    if (!to || is_slice(&l, to))
        return to != NULL;
    bt_store *store = invoke->base.type->store;
    const bt_type *begin = bt_call_dim(to, "offset"), *at = begin;
    for (int64_t i = 0; i < l.parts->n; i++) {
        const bt_call *part = tensor_call(part_of(&l, i));
        if (!lies_at(part, to, at))
            return 0;
        const bt_type *nbytes = bt_tensor_size(part->base.type);
        at = nbytes ? bt_dim_add(store, at, nbytes) : NULL;
    }
    const bt_type *nbytes = bt_tensor_size(to->base.type);
    return l.parts->n && at && nbytes && bt_dim_add(store, begin, nbytes) == at;
}

/* ---- all bindings ---- */

static bt_status find_aliases(struct finder *f)
{
    for (uint32_t i = 0; i < f->bindings.len; i++) {
        const bt_call *invoke = bt_as_op_call(f->bindings.at[i], "memory.invoke"),
                      *copy = bt_as_op_call(f->bindings.at[i], "memory.copy");
        if (invoke) {
            BT_TRY(find_invoke_aliases(f, invoke, i));
            BT_TRY(find_laid(f, invoke, i));
        }
        if (copy) // elements that are at their place already need no copy
            BT_TRY(add_alias(f, i, number_of(f, copy->args[1]),
                             number_of(f, copy->args[0])));
    }
    return NULL;
}

/* ---- bindings ---- */

/* A tensor, or a list of them, that a binding writes. */
static void note_writes(struct finder *f, const bt_value *value, uint32_t position)
{
    const bt_tuple_value *list = bt_as_tuple(value);
    for (uint32_t i = 0; i < (list ? list->nfield : 1); i++) {
        const uintptr_t number = number_of(f, list ? list->fields[i] : value);
        struct writes *writes = number ? &f->writes.at[number - 1] : NULL;
        if (writes)
            *writes = (struct writes){ writes->n + 1, position };
    }
}

static bt_status touch_operands(struct finder *f, const bt_value *value,
                                uint32_t position)
{
    const bt_call *call = bt_as_call(value);
    if (bt_as_op_call(value, "memory.invoke") || bt_as_op_call(value, "memory.copy")) {
        for (uint32_t i = 0; i < call->narg; i++)
            BT_TRY(touch(f, call->args[i], position, 0));
        for (uint32_t i = 1; i < call->narg; i++)
            note_writes(f, call->args[i], position);
        return NULL;
    }
    // tuples and fields stand for what they are used in
    if (bt_value_is_memory_call(value)
            ? !bt_as_op_call(value, "memory.own")
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
