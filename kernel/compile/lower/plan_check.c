/*
 * What a planned function must keep to.
 *
 *     bt__planned_check   its form: storage, tensors in it, kernels; of a file
 *     bt_plan_check       tensors that live at once share no bytes, other than in place
 */
#include "compile/lower/lower.h"
#include "ir/store.h"
#include "ir/walk.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>

/* ---- form ---- */

struct check {
    bt_ctx *ctx;
    const bt_map *kernels; /* name -> bt_func_type */
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
    return bt_as_op_call(value, "memory.alloc_tensor") ||
           bt_as_op_call(value, "memory.own");
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
    const bt_tuple_value *ins = bt_as_tuple(call->args[0]),
                         *outs = bt_as_tuple(call->args[1]);
    if (!ins || !outs)
        return refuse(c, &call->base, "does not list its buffers");
    const bt_func_type *type = bt_map_find(c->kernels, bt_invoke_kernel(&call->base));
    if (!type)
        return refuse(c, &call->base, "names a kernel that the code does not have");
    const char *why = bt__kernel_refuses(type, call);
    if (why)
        return refuse(c, &call->base, why);
    // constants and arguments must not be written to
    for (uint32_t i = 0; i < outs->nfield; i++) {
        if (!is_written(outs->fields[i]))
            return refuse(c, &call->base, "writes what is no tensor of its storage");
    }
    if (call->narg > 2 && !is_written(call->args[2]))
        return refuse(c, &call->base, "works in what is no tensor of its storage");
    return NULL;
}

static bt_status check_memory(const struct check *c, const bt_call *call)
{
    const bt_value *value = &call->base;
    if (bt_as_op_call(value, "memory.view"))
        return check_view(c, call);
    if (bt_as_op_call(value, "memory.alloc_tensor"))
        return bt_as_op_call(call->args[0], "memory.alloc_storage")
                   ? NULL
                   : refuse(c, value, "lies in no storage");
    if (bt_as_op_call(value, "memory.copy"))
        return is_written(call->args[1])
                   ? NULL
                   : refuse(c, value, "writes what is no tensor of its storage");
    return bt_as_op_call(value, "memory.invoke") ? check_invoke(c, call) : NULL;
}

/* Which features of the language there may be is the executor's to say. */
bt_status bt__planned_check(bt_ctx *ctx, const bt_func *func, const bt_map *kernels)
{
    const struct check c = { .ctx = ctx, .kernels = kernels };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const bt_store *store = func->block->result->type->store;
    const uint32_t nlack = store->nlack;
    bt_status status = NULL;
    bt__walk walk;
    bt__walk_begin(&walk, scratch, func->block);
    for (const bt_value *value; !status && (value = bt__walk_next(&walk));) {
        if (value->kind == BT_VALUE_CALL)
            status = check_memory(&c, bt_as_call(value));
    }
    if (!status && walk.failed)
        status = bt_no_memory();
    bt_arena_release(scratch, mark);
    if (!status)
        status = bt_plan_check(ctx, func);
    return status ? bt__store_lacked(store, nlack, status) : NULL;
}

/* ---- memory: right for all values of the dims that places depend on ---- */

/* Whether `end` bytes behind `offset` are at `limit` at the latest, for all values of the
 * dims. */
static int ends_before(const bt_type *offset, const bt_type *nbytes, const bt_type *limit)
{
    int64_t o, n, l, high;
    if (bt_dim_is_const(offset, &o) && bt_dim_is_const(nbytes, &n) &&
        bt_dim_is_const(limit, &l))
        return bt_add_int64(o, n, &o) && o <= l;
    const bt_type *rest = bt_dim_sub(limit->store, limit, offset);
    rest = rest ? bt_dim_sub(limit->store, rest, nbytes) : NULL;
    if (!rest)
        return 0;
    bt_dim_bounds(rest, &l, &high);
    return l >= 0;
}

static int may_share_bytes(const bt_live_range *a, const bt_live_range *b)
{
    return !ends_before(a->offset, a->nbytes, b->offset) &&
           !ends_before(b->offset, b->nbytes, a->offset);
}

/* Whether `b` is computed in place of `a`, range number `number`. */
static int is_alias(const bt_live_range *b, const bt_live_range *a, uint32_t number)
{
    int may = 0;
    for (uint32_t i = 0; i < b->nalias; i++)
        may |= b->aliases[i] == number;
    return may && a->offset == b->offset;
}

/* Whether `b` lies at its place in `a`, which is made of it and others that do so, too. */
static int is_part(const bt_live_range *ranges, const bt_live_range *a,
                   const bt_live_range *b)
{
    const bt_type *at = a->offset;
    int is = 0;
    for (uint32_t i = 0; i < a->npart; i++) {
        const bt_live_range *part = &ranges[a->parts[i]];
        if (!at || part->storage != a->storage || part->offset != at)
            return 0;
        is |= part == b;
        at = bt_dim_add(at->store, at, part->nbytes);
    }
    return is;
}

/* Whether `b` lies where `a` has its elements, or where both have the same of another one. */
static int is_slice(const bt_live_range *ranges, const bt_live_range *a,
                    const bt_live_range *b)
{
    if (!b->slice_of || a->storage != b->storage)
        return 0;
    return &ranges[b->slice_of - 1] == a
               ? bt__lies_behind(b->offset, a->offset, b->slice_at)
               : b->slice_of == a->slice_of &&
                     bt__lies_behind(b->offset, a->offset, b->slice_at - a->slice_at);
}

/* Texts and dims in turn, ended by NULL. */
static bt_status fail(bt_ctx *ctx, const bt_live_range *a, const char *const *texts,
                      const bt_type *const *dims)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; texts[i]; i++) {
        bt_text_addf(&text, "%s", texts[i]);
        bt_print_type(ctx, dims[i], &text);
    }
    const char *message = bt_text_get(&text);
    return message ? bt_fail_at(ctx, BT_ERR_VERIFY, a->tensor->base.type->store,
                                a->tensor->base.span, "%s", message)
                   : bt_no_memory();
}

static bt_status fail_beyond(bt_ctx *ctx, const bt_live_range *a, const bt_type *size)
{
    static const char *const texts[] = { "a tensor of ", " bytes at ",
                                         " reaches beyond its storage of ", NULL };
    return fail(ctx, a, texts, (const bt_type *[]){ a->nbytes, a->offset, size });
}

static bt_status fail_shared(bt_ctx *ctx, const bt_live_range *a, const bt_live_range *b)
{
    static const char *const texts[] = { "tensors that live at once share storage: ",
                                         " bytes at ", " and ", " bytes at ", NULL };
    return fail(ctx, a, texts,
                (const bt_type *[]){ a->nbytes, a->offset, b->nbytes, b->offset });
}

/* What most pairs are told apart by. */
struct extent {
    const bt_call *storage;
    int64_t begin, end; /* in it; anywhere where they are no numbers */
    uint32_t first, last;
};

static struct extent extent_of(const bt_live_range *a)
{
    struct extent e = { a->storage, INT64_MIN, INT64_MAX, a->first, a->last };
    int64_t begin, nbytes, end;
    if (bt_dim_is_const(a->offset, &begin) && bt_dim_is_const(a->nbytes, &nbytes) &&
        bt_add_int64(begin, nbytes, &end)) {
        e.begin = begin;
        e.end = end;
    }
    return e;
}

static int are_apart(const struct extent *a, const struct extent *b)
{
    return a->storage != b->storage || a->first > b->last || b->first > a->last ||
           a->end <= b->begin || b->end <= a->begin;
}

static bt_status check(bt_ctx *ctx, uint32_t n, const bt_live_range *ranges,
                       struct extent *extents)
{
    for (uint32_t i = 0; i < n; i++)
        extents[i] = extent_of(&ranges[i]);
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *a = &ranges[i];
        const bt_type *size = bt_call_dim(a->storage, "size");
        int64_t low, high;
        bt_dim_bounds(a->offset, &low, &high);
        if (low < 0 || !ends_before(a->offset, a->nbytes, size))
            return fail_beyond(ctx, a, size);
        for (uint32_t k = i + 1; k < n; k++) {
            if (!are_apart(&extents[i], &extents[k]) && may_share_bytes(a, &ranges[k]) &&
                !is_alias(&ranges[k], a, i) && !is_alias(a, &ranges[k], k) &&
                !is_part(ranges, &ranges[k], a) && !is_part(ranges, a, &ranges[k]) &&
                !is_slice(ranges, &ranges[k], a) && !is_slice(ranges, a, &ranges[k]))
                return fail_shared(ctx, a, &ranges[k]);
        }
    }
    return NULL;
}

bt_status bt_plan_check(bt_ctx *ctx, const bt_func *func)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    uint32_t n;
    bt_live_range *ranges;
    bt_status status = bt_live_ranges(ctx, scratch, func, &n, &ranges);
    struct extent *extents = status ? NULL : BT_NEWS(scratch, struct extent, n);
    if (!status)
        status = extents ? check(ctx, n, ranges, extents) : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}
