/* Activations. */
#include <inttypes.h>
#include <string.h>

#include "machine.h"

enum { FIRST = 1 << 10 };

static size_t size_of(const struct vm_function *f)
{
    return sizeof(struct vm_frame) + ((size_t)f->nreg + f->ndim) * sizeof(union vm_word) +
           f->nstorage * sizeof(struct vm_held) +
           (f->is_settled ? 0 : f->narea * sizeof(int64_t));
}

static bt_status add_segment(struct vm_machine *m, size_t need)
{
    size_t nbytes = m->segment ? 2 * m->segment->nbytes : FIRST;
    while (nbytes < need)
        nbytes *= 2; // a frame has less than 2^33 bytes
    struct vm_segment *s = bt_alloc(m->program->registry, sizeof(*s) + nbytes);
    if (!s)
        return bt_no_memory();
    s->nbytes = nbytes;
    s->below = m->segment;
    if (m->segment)
        m->segment->above = s;
    m->segment = s;
    m->nbytes += nbytes;
    return NULL;
}

static void free_segment(struct vm_machine *m, struct vm_segment *s)
{
    m->nbytes -= s->nbytes;
    bt_free(m->program->registry, s, sizeof(*s) + s->nbytes);
}

/* Frees those above the top one. */
static void free_above(struct vm_machine *m)
{
    struct vm_segment *s = m->segment ? m->segment->above : NULL;
    while (s) {
        struct vm_segment *above = s->above;
        free_segment(m, s);
        s = above;
    }
    if (m->segment)
        m->segment->above = NULL;
}

void vm_trim(struct vm_machine *m)
{
    free_above(m);
}

bt_status vm_fail_limit(struct vm_machine *m, const struct vm_function *f,
                        const char *what, uint64_t limit)
{
    bt_status status =
        bt_fail_at(m->ctx, BT_ERR_LIMIT, m->program->module->store, f->func->span,
                   "%s: more than %" PRIu64 " %s", f->name, limit, what);
    return m->top ? bt_note(m->ctx, status, m->program->module->store,
                            vm_value_at(m->top->f, m->top->pc)
                                ? vm_value_at(m->top->f, m->top->pc)->span
                                : 0,
                            "called here")
                  : status;
}

bt_status vm_push(struct vm_machine *m, const struct vm_function *f,
                  struct vm_frame **out)
{
    const size_t need = size_of(f);
    if (m->nframe > bt_ctx_limits(m->ctx)->frames) // the entry is no nested call
        return vm_fail_limit(m, f, "nested calls", bt_ctx_limits(m->ctx)->frames);
    if (!m->segment || m->segment->nbytes - m->segment->used < need) {
        if (m->segment && m->segment->above && m->segment->above->nbytes >= need) {
            m->segment = m->segment->above;
        } else {
            const uint64_t stack = (uint64_t)m->options->stack;
            free_above(m);
            if (stack && (m->nbytes > stack || need > stack - m->nbytes))
                return vm_fail_limit(m, f, "bytes of nested calls", stack);
            BT_TRY(add_segment(m, need));
        }
    }
    struct vm_segment *s = m->segment;
    struct vm_frame *frame = (void *)((char *)s->data + s->used);
    s->used += need;
    frame->caller = m->top;
    frame->segment = s;
    frame->f = f;
    frame->pc = 0;
    frame->dst = 0;
    if (f->nreg)
        memset(frame->r, 0, f->nreg * sizeof(*frame->r));
    for (uint32_t i = 0; i < f->ndim; i++)
        frame->r[f->nreg + i].dim = VM_UNKNOWN;
    for (uint32_t i = 0; i < f->nstorage; i++)
        vm_held_of(frame)[i].block = NULL;
    m->top = frame;
    m->nframe++;
    if (m->hook && m->hook->enter)
        m->hook->enter(m->hook->self, f->func);
    *out = frame;
    return NULL;
}

void vm_pop(struct vm_machine *m)
{
    struct vm_frame *frame = m->top;
    struct vm_segment *s = frame->segment;
    for (uint32_t i = 0; i < frame->f->nobject; i++) {
        if (frame->r[i].object)
            bt_object_unref(frame->r[i].object);
    }
    if (frame->f->nstorage)
        vm_drop_memory(m, frame);
    s->used = (size_t)((char *)frame - (char *)s->data);
    if (!s->used && s->below)
        m->segment = s->below;
    m->top = frame->caller;
    m->nframe--;
}

bt_status vm_collect(struct vm_machine *m)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    size_t n = 0;
    for (const struct vm_frame *f = m->top; f; f = f->caller)
        n += f->f->nobject;
    bt_object **roots = BT_NEWS(scratch, bt_object *, n);
    uint32_t nroot = 0;
    bt_status status = roots && n < UINT32_MAX ? NULL : bt_no_memory();
    for (const struct vm_frame *f = m->top; !status && f; f = f->caller) {
        for (uint32_t i = 0; i < f->f->nobject; i++) {
            if (f->r[i].object)
                roots[nroot++] = f->r[i].object;
        }
    }
    if (!status)
        status = bt_heap_collect(m->ctx, m->heap, nroot, roots);
    bt_arena_release(scratch, mark);
    m->collect_at = 2 * bt_heap_nref(m->heap) + 1024;
    return status;
}
