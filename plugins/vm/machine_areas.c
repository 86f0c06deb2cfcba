/*
 * Memory of activations: a stack of blocks for each space. Blocks stay where they are, and
 * are kept for the next time.
 */
#include <inttypes.h>
#include <string.h>

#include "machine.h"

/* A block that is not the first has so many bytes at least and at most, unless one storage
 * needs more: deep recursion takes few blocks, and none is much larger than what there is. */
enum { LEAST = 64 << 10, MOST = 1 << 20, ALIGNMENT = 64 };

static void free_block(struct vm_machine *m, uint32_t space, struct vm_block *block)
{
    const bt_target_use *use = space ? vm_use_of(m, space) : NULL;
    if (use && block->at)
        use->target->free(use->instance, block->at);
    else if (block->at)
        bt_free(m->program->registry, block->given, (size_t)block->nbytes + ALIGNMENT);
    m->nbytes -= block->nbytes;
    bt_free(m->program->registry, block, sizeof(*block));
}

static bt_status make_block(struct vm_machine *m, uint32_t space, uint64_t nbytes,
                            struct vm_block **out)
{
    struct vm_block *block = bt_alloc(m->program->registry, sizeof(*block));
    if (!block)
        return bt_no_memory();
    block->nbytes = nbytes;
    m->nbytes += nbytes;
    bt_status status = NULL;
    if (space) {
        status = bt_compiled_alloc(m->ctx, m->program->compiled, space - 1, nbytes,
                                   &block->at);
    } else {
        block->given = bt_alloc(m->program->registry, (size_t)nbytes + ALIGNMENT);
        if (block->given)
            block->at = block->given + (-(uintptr_t)block->given & (ALIGNMENT - 1));
        else
            status =
                bt_fail(m->ctx, BT_ERR_MEMORY,
                        "no memory for the %" PRIu64 " bytes of an activation", nbytes);
    }
    if (status)
        free_block(m, space, block);
    else
        *out = block;
    return status;
}

static void free_above(struct vm_machine *m, uint32_t space, struct vm_block *block)
{
    while (block) {
        struct vm_block *above = block->above;
        free_block(m, space, block);
        block = above;
    }
}

/* A block on top of the others that has so many bytes. */
static bt_status add_block(struct vm_machine *m, const struct vm_function *f,
                           uint32_t space, uint64_t need)
{
    struct vm_stack *stack = &m->stacks[space];
    struct vm_block **above = stack->top ? &stack->top->above : &stack->first;
    const uint64_t budget = (uint64_t)m->options->stack;
    if (!*above || (*above)->nbytes < need) {
        uint64_t nbytes = stack->top ? 2 * stack->top->nbytes : need;
        free_above(m, space, *above);
        *above = NULL;
        nbytes = nbytes < LEAST ? LEAST : nbytes > MOST ? MOST : nbytes;
        nbytes = !stack->top || nbytes < need ? need : nbytes;
        if (need > SIZE_MAX / 2 || need > bt_ctx_limits(m->ctx)->bytes)
            return vm_fail_limit(m, f, "bytes of tensors in one activation",
                                 bt_ctx_limits(m->ctx)->bytes);
        if (budget && (m->nbytes > budget || nbytes > budget - m->nbytes))
            return vm_fail_limit(m, f, "bytes of nested calls", budget);
        BT_TRY(make_block(m, space, nbytes, above));
        (*above)->below = stack->top;
    }
    stack->top = *above;
    stack->top->used = 0;
    return NULL;
}

static bt_status push(struct vm_machine *m, const struct vm_function *f, uint32_t space,
                      uint64_t nbytes, struct vm_held *out)
{
    struct vm_stack *stack = &m->stacks[space];
    const uint64_t need = nbytes < ALIGNMENT
                              ? ALIGNMENT
                              : (nbytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    if (!stack->top || stack->top->nbytes - stack->top->used < need)
        BT_TRY(add_block(m, f, space, need));
    *out = (struct vm_held){ .block = stack->top, .offset = stack->top->used };
    if (!space)
        out->address = (char *)stack->top->at + stack->top->used;
    stack->top->used += need;
    return NULL;
}

static bt_status settle_area(struct vm_machine *m, struct vm_frame *frame,
                             const struct vm_area *area, int64_t have, int64_t *out)
{
    int64_t nbytes;
    BT_TRY(vm_eval(m, frame, &area->offset, out));
    BT_TRY(vm_eval(m, frame, &area->nbytes, &nbytes));
    return *out >= 0 && nbytes >= 0 && *out <= have && nbytes <= have - *out &&
                   *out % ALIGNMENT == 0
               ? NULL
               : vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                         "a tensor does not lie in its storage");
}

static size_t settled_nbytes(const struct vm_function *f)
{
    return ((size_t)f->ndim + f->nstorage + f->narea) * sizeof(int64_t);
}

/* Sizes of storages, then offsets of areas; m->settled has them behind the dims that they are
 * for, so that they are computed where dims are others than the last time. After a failure
 * vm_free_memory forgets them. */
static bt_status settle(struct vm_machine *m, struct vm_frame *frame, const int64_t **out)
{
    const struct vm_function *f = frame->f;
    const size_t of_dims = f->ndim * sizeof(int64_t);
    int64_t **last = &m->settled[f->number];
    const int is_known = *last && memcmp(*last, vm_dims(frame), of_dims) == 0;
    if (!*last && !(*last = bt_alloc(m->program->registry, settled_nbytes(f))))
        return bt_no_memory();
    int64_t *sizes = *last + f->ndim;
    *out = sizes;
    if (is_known)
        return NULL;
    memcpy(*last, vm_dims(frame), of_dims);
    for (uint32_t i = 0; i < f->nstorage; i++) {
        BT_TRY(vm_eval(m, frame, &f->storages[i].nbytes, &sizes[i]));
        if (sizes[i] < 0)
            return vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                           "the size of storage is negative, or not known yet");
    }
    for (uint32_t i = 0; i < f->narea; i++)
        BT_TRY(settle_area(m, frame, &f->areas[i], sizes[f->areas[i].storage],
                           &sizes[f->nstorage + i]));
    return NULL;
}

bt_status vm_take_memory(struct vm_machine *m, struct vm_frame *frame)
{
    const struct vm_function *f = frame->f;
    struct vm_held *held = vm_held_of(frame);
    const int64_t *sizes = NULL;
    if (!f->is_settled) {
        BT_TRY(settle(m, frame, &sizes));
        memcpy(vm_offsets(frame), sizes + f->nstorage, f->narea * sizeof(*sizes));
    }
    for (uint32_t i = 0; i < f->nstorage; i++) {
        const int64_t nbytes = sizes ? sizes[i] : f->storages[i].nbytes.number;
        BT_TRY(push(m, f, f->storages[i].space, (uint64_t)nbytes, &held[i]));
    }
    return NULL;
}

void vm_drop_memory(struct vm_machine *m, struct vm_frame *frame)
{
    const struct vm_held *held = vm_held_of(frame);
    for (uint32_t i = frame->f->nstorage; i-- > 0;) {
        struct vm_block *block = held[i].block;
        if (!block)
            continue;
        block->used = held[i].offset;
        m->stacks[frame->f->storages[i].space].top =
            block->used || !block->below ? block : block->below;
    }
}

void vm_free_memory(struct vm_machine *m)
{
    for (uint32_t i = 0; m->stacks && i <= vm_nspace(m->program); i++) {
        free_above(m, i, m->stacks[i].first);
        m->stacks[i] = (struct vm_stack){ 0 };
    }
    for (uint32_t i = 0; m->settled && i < m->program->nfunction; i++) {
        bt_free(m->program->registry, m->settled[i],
                settled_nbytes(m->program->functions[i]));
        m->settled[i] = NULL;
    }
}
