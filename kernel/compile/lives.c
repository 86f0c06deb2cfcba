/* Lifetimes of tensors in a lowered function, and whether a plan respects them. */
#include <baton/op.h>
#include <baton/target.h>

#include <inttypes.h>
#include <string.h>

#include "compile/lower.h"

struct finder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map numbers; /* tensor -> its number, from 1 */
    bt_vec(bt_life) lives;
};

static int64_t int_attr(const bt_call *call, const char *name)
{
    const int64_t *value = bt_attr_find(call->op, call->attrs, name, BT_ATTR_INT);
    return value ? *value : 0;
}

static bt_status add_tensor(struct finder *f, const bt_call *call)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_life life = { .tensor = call, .first = UINT32_MAX };
    life.storage = bt_as_op_call(call->args[0], "memory.alloc_storage");
    life.offset = int_attr(call, "offset");
    life.nbytes = (int64_t)bt_dtype_nbytes(bt_tensor_dtype(call->base.type));
    if (!life.storage || !bt_tensor_static(call->base.type, &rank, dims))
        return bt_fail_at(f->ctx, BT_ERR_UNSUPPORTED, call->base.type->store,
                          call->base.span,
                          "a tensor whose storage or dims are not known cannot be "
                          "planned");
    for (uint32_t i = 0; i < rank; i++) {
        if (!bt_mul_int64(life.nbytes, dims[i], &life.nbytes))
            return bt_fail_at(f->ctx, BT_ERR_LIMIT, call->base.type->store,
                              call->base.span, "a tensor's size overflows");
    }
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
            bt_life *life = &f->lives.at[number - 1];
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

static int same_space(const bt_life *a, const bt_life *b)
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
    const bt_life *ends = &f->lives.at[from - 1];
    bt_life *begins = &f->lives.at[to - 1];
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

bt_status bt_lives(bt_ctx *ctx, bt_arena *arena, const bt_func *func, uint32_t *n,
                   bt_life **out)
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

static int share_time(const bt_life *a, const bt_life *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static int share_bytes(const bt_life *a, const bt_life *b)
{
    return a->storage == b->storage && a->offset < b->offset + b->nbytes &&
           b->offset < a->offset + a->nbytes;
}

/* Whether `b` is computed in place of `a`, life number `number`. */
static int lies_over(const bt_life *b, const bt_life *a, uint32_t number)
{
    int may = 0;
    for (uint32_t i = 0; i < b->nover; i++)
        may |= b->over[i] == number;
    return may && a->offset == b->offset;
}

static bt_status fail(bt_ctx *ctx, const bt_life *a, const char *format, ...) BT_FAILURE
    BT_PRINTF(3, 4);
static bt_status fail(bt_ctx *ctx, const bt_life *a, const char *format, ...)
{
    bt_place place;
    va_list args;
    bt_span_place(a->tensor->base.type->store, a->tensor->base.span, &place);
    va_start(args, format);
    bt_status status = bt_fail_va(ctx, BT_ERR_VERIFY, &place, format, args);
    va_end(args);
    return status;
}

static bt_status check(bt_ctx *ctx, uint32_t n, const bt_life *lives)
{
    for (uint32_t i = 0; i < n; i++) {
        const bt_life *a = &lives[i];
        int64_t size = int_attr(a->storage, "size");
        if (a->offset < 0 || a->offset > size || a->nbytes > size - a->offset)
            return fail(ctx, a,
                        "a tensor of %" PRId64 " bytes at %" PRId64
                        " reaches beyond its storage of %" PRId64,
                        a->nbytes, a->offset, size);
        for (uint32_t k = i + 1; k < n; k++) {
            if (share_time(a, &lives[k]) && share_bytes(a, &lives[k]) &&
                !lies_over(&lives[k], a, i) && !lies_over(a, &lives[k], k))
                return fail(ctx, a,
                            "tensors that live at once share storage: bytes %" PRId64
                            " to %" PRId64 " and %" PRId64 " to %" PRId64,
                            a->offset, a->offset + a->nbytes, lives[k].offset,
                            lives[k].offset + lives[k].nbytes);
        }
    }
    return NULL;
}

bt_status bt_plan_check(bt_ctx *ctx, const bt_func *func)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    uint32_t n;
    bt_life *lives;
    bt_status status = bt_lives(ctx, scratch, func, &n, &lives);
    if (!status)
        status = check(ctx, n, lives);
    bt_arena_release(scratch, mark);
    return status;
}
