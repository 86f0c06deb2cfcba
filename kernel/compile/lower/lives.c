/*
 * Lifetimes of tensors in a lowered function, and whether a plan respects them. Places are
 * dims: what a plan does must be right for all values of their variables.
 */
#include <baton/compiled.h>
#include <baton/op.h>

#include <string.h>

#include "compile/lower/lower.h"

struct finder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map numbers; /* tensor -> its number, from 1 */
    bt_vec(bt_live_range) lives;
};

static bt_status add_tensor(struct finder *f, const bt_call *call)
{
    bt_live_range life = { .tensor = call, .first = UINT32_MAX };
    life.storage = bt_as_op_call(call->args[0], "memory.alloc_storage");
    life.offset = bt_call_dim(call, "offset");
    life.nbytes = bt_tensor_size(call->base.type);
    if (!life.storage)
        return bt_fail_at(f->ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                          call->base.span,
                          "a tensor whose storage is not known cannot be planned");
    if (!life.nbytes)
        return bt_store_why(f->ctx, call->base.type->store);
    return BT_PUSH(f->arena, &f->lives, life) &&
                   bt_map_put(&f->numbers, call, (void *)(uintptr_t)f->lives.len)
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
            bt_live_range *life = &f->lives.at[number - 1];
            life->first = position < life->first ? position : life->first;
            life->last = position > life->last ? position : life->last;
            life->escapes |= (uint32_t)escapes;
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
static int may_lie_over(const struct finder *f, const bt_call *invoke, int64_t out,
                        uintptr_t tensor)
{
    const bt_ints *over = bt_attr_find(invoke->op, invoke->attrs, "over", BT_ATTR_INTS);
    const bt_tuple_value *ins = bt_as_tuple(invoke->args[0]);
    for (uint32_t i = 0; i < ins->nfield; i++) {
        int may = number_of(f, ins->fields[i]) != tensor;
        for (int64_t k = 0; !may && k + 1 < over->n; k += 2)
            may = over->at[k] == out && over->at[k + 1] == i;
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
static bt_status add_over(struct finder *f, uint32_t position, uintptr_t to,
                          uintptr_t from)
{
    if (!from || !to || from == to)
        return NULL;
    const bt_live_range *ends = &f->lives.at[from - 1];
    bt_live_range *begins = &f->lives.at[to - 1];
    if (ends->last != position || begins->first != position ||
        ends->nbytes != begins->nbytes || !same_space(ends, begins))
        return NULL;
    uint32_t *over = BT_NEWS(f->arena, uint32_t, begins->nover + 1);
    if (!over)
        return bt_no_memory();
    for (uint32_t i = 0; i < begins->nover; i++)
        over[i] = begins->over[i];
    over[begins->nover++] = (uint32_t)from - 1;
    begins->over = over;
    return NULL;
}

static bt_status find_overs(struct finder *f, const bt_call *invoke, uint32_t position)
{
    const bt_ints *over = bt_attr_find(invoke->op, invoke->attrs, "over", BT_ATTR_INTS);
    const bt_tuple_value *ins = bt_as_tuple(invoke->args[0]),
                         *outs = bt_as_tuple(invoke->args[1]);
    for (int64_t k = 0; ins && outs && k + 1 < over->n; k += 2) {
        const int64_t out = over->at[k], in = over->at[k + 1];
        if (in >= ins->nfield || out >= outs->nfield)
            continue;
        uintptr_t to = number_of(f, outs->fields[out]),
                  from = number_of(f, ins->fields[in]);
        if (may_lie_over(f, invoke, out, from))
            BT_TRY(add_over(f, position, to, from));
    }
    return NULL;
}

static bt_status find_over(struct finder *f, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *invoke = bt_as_op_call(block->bindings[i], "memory.invoke"),
                      *copy = bt_as_op_call(block->bindings[i], "memory.copy");
        if (invoke)
            BT_TRY(find_overs(f, invoke, i));
        if (copy) // elements that are at their place already need no copy
            BT_TRY(
                add_over(f, i, number_of(f, copy->args[1]), number_of(f, copy->args[0])));
    }
    return NULL;
}

bt_status bt_live_ranges(bt_ctx *ctx, bt_arena *arena, const bt_func *func, uint32_t *n,
                         bt_live_range **out)
{
    struct finder f = { .ctx = ctx, .arena = arena };
    const bt_block *block = func->block;
    bt_map_init(&f.numbers, arena, 0);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(block->bindings[i], "memory.alloc_tensor");
        if (call)
            BT_TRY(add_tensor(&f, call));
        call = bt_as_op_call(block->bindings[i], "memory.invoke");
        call = call ? call : bt_as_op_call(block->bindings[i], "memory.copy");
        for (uint32_t k = 0; call && k < call->narg; k++)
            BT_TRY(touch(&f, call->args[k], i, 0));
    }
    BT_TRY(touch(&f, block->result, block->nbinding, 1));
    BT_TRY(find_over(&f, block));
    *n = f.lives.len;
    *out = f.lives.at;
    return NULL;
}

/* ---- checking ---- */

static int share_time(const bt_live_range *a, const bt_live_range *b)
{
    return a->first <= b->last && b->first <= a->last;
}

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
    return a->storage == b->storage && !ends_before(a->offset, a->nbytes, b->offset) &&
           !ends_before(b->offset, b->nbytes, a->offset);
}

/* Whether `b` is computed in place of `a`, life number `number`. */
static int lies_over(const bt_live_range *b, const bt_live_range *a, uint32_t number)
{
    int may = 0;
    for (uint32_t i = 0; i < b->nover; i++)
        may |= b->over[i] == number;
    return may && a->offset == b->offset;
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

static bt_status check(bt_ctx *ctx, uint32_t n, const bt_live_range *lives)
{
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *a = &lives[i];
        const bt_type *size = bt_call_dim(a->storage, "size");
        int64_t low, high;
        bt_dim_bounds(a->offset, &low, &high);
        if (low < 0 || !ends_before(a->offset, a->nbytes, size))
            return fail_beyond(ctx, a, size);
        for (uint32_t k = i + 1; k < n; k++) {
            if (share_time(a, &lives[k]) && may_share_bytes(a, &lives[k]) &&
                !lies_over(&lives[k], a, i) && !lies_over(a, &lives[k], k))
                return fail_shared(ctx, a, &lives[k]);
        }
    }
    return NULL;
}

bt_status bt_plan_check(bt_ctx *ctx, const bt_func *func)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    uint32_t n;
    bt_live_range *lives;
    bt_status status = bt_live_ranges(ctx, scratch, func, &n, &lives);
    if (!status)
        status = check(ctx, n, lives);
    bt_arena_release(scratch, mark);
    return status;
}
