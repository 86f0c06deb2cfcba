/* The loop that runs instructions. */
#include "machine.h"

#include <inttypes.h>
#include <string.h>

#include <baton/baton.h>

#include "misfit.h"

/* ---- calls ---- */

/* What is looked at where a program may go on without end: in calls. */
static bt_status look_up(struct vm_machine *m, const struct vm_function *callee)
{
    if (bt_ctx_cancelled(m->ctx))
        return bt_fail(m->ctx, BT_ERR_CANCELLED, "the run was cancelled");
    if (m->options->steps && ++m->nstep > (uint64_t)m->options->steps)
        return bt_fail_at(m->ctx, BT_ERR_LIMIT, m->program->module->store,
                          callee->func->span,
                          "%s: more than %" PRIi64 " calls in one run", callee->name,
                          m->options->steps);
    return NULL;
}

static bt_status pass_dims(struct vm_machine *m, const struct vm_frame *frame,
                           const struct vm_list *list, int64_t *out)
{
    for (uint32_t i = 0; i < list->n; i++)
        BT_TRY(vm_eval(m, frame, &list->terms[i], &out[i]));
    return NULL;
}

/* An argument on its way: an object or a scalar, as its register holds it. */
static bt_status move_out(struct vm_machine *m, struct vm_frame *frame, uint32_t operand,
                          union vm_word *out)
{
    union vm_word *word = &frame->r[operand & VM_REGISTER];
    *out = *word;
    if ((operand & VM_REGISTER) >= frame->f->nobject)
        return NULL;
    if (!word->object)
        return vm_fail_empty(m, frame);
    if (operand & VM_LAST)
        word->object = NULL;
    else
        (void)bt_object_ref(word->object);
    return NULL;
}

/* What a closure holds besides its captures: values of dims. */
static const bt_tensor *dims_of(const bt_closure *closure, uint32_t ncapture)
{
    return closure->ncapture > ncapture ? bt_object_as_tensor(closure->captures[ncapture])
                                        : NULL;
}

static void take_capture(const struct vm_function *f, uint32_t param, bt_object *object,
                         union vm_word *out)
{
    if (f->params[param] >= f->nobject)
        out->cell = vm_cell_of(object);
    else
        out->object = bt_object_ref(object);
}

/* All arguments of a call in a row: captures, then what is passed. */
static bt_status gather(struct vm_machine *m, struct vm_frame *frame,
                        const struct vm_function *f, const bt_closure *closure,
                        uint32_t n, const uint32_t *operands)
{
    const uint32_t ncapture = f->nparam - n;
    for (uint32_t i = 0; i < n; i++) {
        bt_status status = move_out(m, frame, operands[i], &m->args[ncapture + i]);
        for (uint32_t k = 0; status && k < i; k++) {
            if (f->params[ncapture + k] < f->nobject)
                bt_object_unref(m->args[ncapture + k].object);
        }
        BT_TRY(status);
    }
    for (uint32_t i = 0; i < ncapture; i++)
        take_capture(f, i, closure->captures[i], &m->args[i]);
    return NULL;
}

/* A new frame with what was gathered; it is let go where there can be none. */
static bt_status enter(struct vm_machine *m, const struct vm_function *f,
                       const int64_t *dims, uint32_t ndim)
{
    struct vm_frame *frame;
    bt_status status = vm_push(m, f, &frame);
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (!status)
            frame->r[f->params[i]] = m->args[i];
        else if (f->params[i] < f->nobject)
            bt_object_unref(m->args[i].object);
    }
    if (!status && ndim)
        memcpy(vm_dims(frame), dims, ndim * sizeof(*dims));
    return status;
}

/* The activation of the caller goes before that of the callee comes. */
static bt_status enter_last(struct vm_machine *m, const struct vm_function *f,
                            const int64_t *dims, uint32_t ndim)
{
    const uint32_t dst = m->top->dst;
    vm_pop(m);
    BT_TRY(enter(m, f, dims, ndim));
    m->top->dst = dst;
    return NULL;
}

enum { FEW = 16 };

static bt_status call(struct vm_machine *m, struct vm_frame *frame, uint32_t number,
                      uint32_t list, uint32_t n, const uint32_t *operands, int is_tail)
{
    const struct vm_function *f = m->program->functions[number];
    const struct vm_list *terms = &m->program->lists[list];
    int64_t few[FEW], *dims = few;
    BT_TRY(look_up(m, f));
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = terms->n > FEW ? bt_arena_mark(scratch) : NULL;
    if (terms->n > FEW && !(dims = BT_NEWS(scratch, int64_t, terms->n)))
        return bt_no_memory();
    bt_status status = pass_dims(m, frame, terms, dims);
    if (!status)
        status = gather(m, frame, f, NULL, n, operands);
    if (!status)
        status = is_tail ? enter_last(m, f, dims, terms->n) : enter(m, f, dims, terms->n);
    if (mark)
        bt_arena_release(scratch, mark);
    return status;
}

static bt_status call_closure(struct vm_machine *m, struct vm_frame *frame,
                              uint32_t operand, uint32_t n, const uint32_t *operands,
                              int is_tail)
{
    bt_object *held;
    BT_TRY(vm_take(m, frame, operand, &held));
    const bt_closure *closure = bt_object_as_closure(held);
    const struct vm_function *f = closure->code;
    const bt_tensor *dims = dims_of(closure, f->nparam - n);
    bt_status status = look_up(m, f);
    if (!status)
        status = gather(m, frame, f, closure, n, operands);
    if (!status)
        status = is_tail ? enter_last(m, f, dims ? dims->data : NULL, dims ? f->nvar : 0)
                         : enter(m, f, dims ? dims->data : NULL, dims ? f->nvar : 0);
    bt_object_unref(held);
    return status;
}

/* ---- objects ---- */

static const char closed_ref[] = "the session of this reference was closed";

static bt_status make_closure(struct vm_machine *m, struct vm_frame *frame,
                              const uint32_t *words)
{
    const struct vm_function *f = m->program->functions[words[1]];
    const struct vm_list *terms = &m->program->lists[words[2]];
    uint32_t n = words[3];
    bt_closure *closure;
    BT_TRY(vm_take_all(m, frame, n, words + 4));
    bt_status status = NULL;
    if (terms->n) {
        bt_tensor *dims;
        const int64_t count = terms->n;
        status = bt_tensor_create(m->ctx, BT_INT64, 1, &count, &dims);
        if (!status)
            m->objects[n++] = &dims->base;
        if (!status)
            status = pass_dims(m, frame, terms, dims->data);
    }
    if (!status)
        status = bt_closure_create(m->ctx, &m->program->identity->base, f, n, m->objects,
                                   &closure);
    vm_drop_all(m, n);
    if (!status)
        vm_put(frame, words[0] >> 8, &closure->base);
    return status;
}

static bt_status make_object(struct vm_machine *m, struct vm_frame *frame,
                             const bt_ctor *ctor, uint32_t dst, uint32_t n,
                             const uint32_t *operands)
{
    bt_adt *adt = NULL;
    bt_tuple *tuple = NULL;
    BT_TRY(vm_take_all(m, frame, n, operands));
    bt_status status =
        ctor ? bt_adt_create(m->ctx, ctor->tag, ctor->name, n, m->objects, &adt)
             : bt_tuple_create(m->ctx, n, m->objects, &tuple);
    vm_drop_all(m, n);
    if (!status)
        vm_put(frame, dst, ctor ? &adt->base : &tuple->base);
    return status;
}

static bt_status make_ref(struct vm_machine *m, struct vm_frame *frame, uint32_t dst,
                          uint32_t operand)
{
    bt_object *content;
    bt_ref *ref;
    if (bt_heap_nref(m->heap) >= m->collect_at)
        BT_TRY(vm_collect(m));
    BT_TRY(vm_take(m, frame, operand, &content));
    bt_status status = bt_ref_create(m->ctx, m->heap, content, &ref);
    bt_object_unref(content);
    if (!status)
        vm_put(frame, dst, &ref->base);
    return status;
}

static bt_status set_ref(struct vm_machine *m, struct vm_frame *frame, uint32_t dst,
                         uint32_t operand, uint32_t value)
{
    bt_object *held = NULL, *content;
    bt_tuple *unit;
    BT_TRY(bt_tuple_create(m->ctx, 0, NULL, &unit));
    bt_status status = vm_take(m, frame, value, &content);
    if (!status) {
        status = vm_take(m, frame, operand, &held);
        if (!status && bt_object_as_ref(held)->content)
            bt_ref_write(bt_object_as_ref(held), content);
        else if (!status)
            status = vm_fail(m, frame->pc, BT_ERR_RUNTIME, closed_ref);
        bt_object_unref(held);
        bt_object_unref(content);
    }
    if (status)
        bt_object_unref(&unit->base);
    else
        vm_put(frame, dst, &unit->base);
    return status;
}

/* A part of an object, which is let go where this is its last use. */
static bt_status take_part(struct vm_machine *m, struct vm_frame *frame, uint32_t dst,
                           uint32_t operand, uint32_t index, const bt_ctor *ctor)
{
    union vm_word *word = &frame->r[operand & VM_REGISTER];
    bt_object *object = word->object;
    if (!object)
        return vm_fail_empty(m, frame);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_adt *adt = bt_object_as_adt(object);
    const bt_ref *ref = bt_object_as_ref(object);
    bt_object *part = tuple ? tuple->fields[index]
                      : adt ? (adt->tag == ctor->tag ? adt->fields[index] : NULL)
                            : ref->content;
    if (!part)
        return vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                       adt ? "vm: a field of a value that another constructor made"
                           : closed_ref);
    (void)bt_object_ref(part);
    if (operand & VM_LAST) {
        word->object = NULL;
        bt_object_unref(object);
    }
    vm_put(frame, dst, part);
    return NULL;
}

/* ---- branches ---- */

static bt_status fail_match(struct vm_machine *m, const struct vm_frame *frame,
                            uint32_t operand)
{
    const bt_match *match = bt_as_match(vm_value_at(frame->f, frame->pc));
    const bt_adt *adt = bt_object_as_adt(frame->r[operand & VM_REGISTER].object);
    bt_text text;
    if (!adt || !match)
        return vm_fail_empty(m, frame);
    bt_text_init(&text, bt_ctx_scratch(m->ctx));
    misfit_text(match->otherwise, adt->name, adt->nfield, &text);
    const char *message = bt_text_get(&text);
    return message ? vm_fail(m, frame->pc, BT_ERR_RUNTIME, message) : bt_no_memory();
}

/* ---- hooks ---- */

/* The first of the values that are in registers from pc on. */
static uint32_t first_local(const struct vm_function *f, uint32_t pc)
{
    uint32_t low = 0, high = f->nlocal;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (f->locals[middle].from < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A stop's `look`. */
static bt_status look(bt_ctx *ctx, void *opaque, const bt_value *value, bt_object **out)
{
    struct vm_machine *m = opaque;
    const struct vm_frame *frame = m->top;
    const struct vm_function *f = frame->f;
    (void)ctx;
    *out = NULL;
    for (uint32_t i = 0; i < f->nlocal && f->locals[i].from <= frame->pc; i++) {
        const struct vm_local *local = &f->locals[i];
        if (local->value != value || frame->pc >= local->to)
            continue;
        const union vm_word *word = &frame->r[local->reg];
        if (local->reg >= f->nobject)
            return vm_box(m, f->types[local->reg], word->cell, out);
        *out = word->object ? bt_object_ref(word->object) : NULL;
    }
    return NULL;
}

/* The binding whose code begins at the place; NULL: none does. */
static const bt_value *begins_at(const struct vm_function *f, uint32_t pc)
{
    const bt_value *value = vm_value_at(f, pc);
    return pc && value == vm_value_at(f, pc - 1) ? NULL : value;
}

/* Bindings that are done at this place, and the one that comes next. */
static bt_status tell(struct vm_machine *m, struct vm_frame *frame)
{
    const struct vm_function *f = frame->f;
    for (uint32_t i = first_local(f, frame->pc);
         i < f->nlocal && f->locals[i].from == frame->pc; i++) {
        bt_object *object;
        if (!f->locals[i].is_told)
            continue;
        BT_TRY(vm_take(m, frame, f->locals[i].reg, &object));
        m->hook->binding(m->hook->self, f->locals[i].value, object, m->elapsed_ns);
        bt_object_unref(object);
        m->elapsed_ns = 0;
    }
    const bt_stop stop = { .func = f->func,
                           .next = m->hook->before ? begins_at(f, frame->pc) : NULL,
                           .depth = m->nframe,
                           .frame = m,
                           .look = look };
    return stop.next ? m->hook->before(m->hook->self, &stop) : NULL;
}

/* ---- the loop ---- */

/* To the caller, or out of the machine. */
static bt_status leave(struct vm_machine *m, struct vm_frame *frame, uint32_t operand,
                       bt_object **out)
{
    union vm_word result;
    const uint32_t dst = frame->dst;
    if (!frame->caller)
        return vm_take(m, frame, operand, out);
    BT_TRY(move_out(m, frame, operand, &result));
    vm_pop(m);
    frame = m->top;
    if (dst < frame->f->nobject)
        vm_put(frame, dst, result.object);
    else
        frame->r[dst] = result;
    return NULL;
}

/* Labels as values, where the compiler has them: each instruction jumps to the next by
 * itself, which processors foretell better than one jump for all. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpedantic"
#define CASE(UPPER) on_##UPPER
#define NEXT        goto *(m->hook ? &&on_hook : labels[*w & 0xff])
#else
#define CASE(UPPER) case VM_##UPPER
#define NEXT        goto next
#endif

/* Runs until the first frame is left: the result is then in *out, and that frame remains. */
static bt_status loop(struct vm_machine *m, bt_object **out)
{
#if defined(__GNUC__)
    static const void *const labels[] = {
#define VM_INSTRUCTION(UPPER, name, operands, ends, doc) &&on_##UPPER,
#include "instructions.def"
    };
#endif
    const struct vm_program *p = m->program;
    struct vm_frame *frame = m->top;
    union vm_word *r = frame->r;
    const uint32_t *w = frame->f->words; // of the instruction
    bt_status status = NULL;
/* Whatever may fail, or tell a place, knows where it stands. */
#define STAND frame->pc = (uint32_t)(w - frame->f->words)
#define DO(expr, size)     \
    do {                   \
        STAND;             \
        status = (expr);   \
        if (status)        \
            return status; \
        w += (size);       \
        NEXT;              \
    } while (0)
#define GO                               \
    do {                                 \
        frame = m->top;                  \
        r = frame->r;                    \
        w = frame->f->words + frame->pc; \
        NEXT;                            \
    } while (0)
#if defined(__GNUC__)
    NEXT;
on_hook:
    STAND;
    status = tell(m, frame);
    if (status)
        return status;
    goto *labels[*w & 0xff];
#else
next:
    if (m->hook) {
        STAND;
        status = tell(m, frame);
        if (status)
            return status;
    }
    switch (*w & 0xff) {
#endif
    CASE(MOVE) :
    {
        const uint32_t dst = w[0] >> 8;
        if (dst >= frame->f->nobject) {
            r[dst] = r[w[1]];
        } else {
            union vm_word moved;
            STAND;
            status = move_out(m, frame, w[1], &moved);
            if (status)
                return status;
            vm_put(frame, dst, moved.object);
        }
        w += 2;
        NEXT;
    }
    CASE(KILL) :
    {
        union vm_word *word = &r[w[0] >> 8 & VM_REGISTER];
        bt_object *object = word->object;
        word->object = NULL;
        if (object)
            bt_object_unref(object);
        w++;
        NEXT;
    }
    CASE(RET) :
    {
        const int is_first = !frame->caller;
        STAND;
        status = leave(m, frame, w[0] >> 8, out);
        if (status || is_first)
            return status;
        GO;
    }
    CASE(CALL) :
    {
        const uint32_t dst = w[0] >> 8;
        STAND;
        status = call(m, frame, w[1], w[2], w[3], w + 4, 0);
        if (status)
            return status;
        frame->pc += 4 + w[3];
        m->top->dst = dst;
        GO;
    }
    CASE(TAIL_CALL) : STAND;
    status = call(m, frame, w[0] >> 8, w[1], w[2], w + 3, 1);
    if (status)
        return status;
    GO;
    CASE(CALL_CLOSURE) :
    {
        const uint32_t dst = w[0] >> 8;
        STAND;
        status = call_closure(m, frame, w[1], w[2], w + 3, 0);
        if (status)
            return status;
        frame->pc += 3 + w[2];
        m->top->dst = dst;
        GO;
    }
    CASE(TAIL_CLOSURE) : STAND;
    status = call_closure(m, frame, w[0] >> 8, w[1], w + 2, 1);
    if (status)
        return status;
    GO;
    CASE(CONST) : vm_put(frame, w[0] >> 8, bt_object_ref(p->consts[w[1]].object));
    w += 2;
    NEXT;
    CASE(CELL) : r[w[0] >> 8].cell.i = (int64_t)((uint64_t)w[2] << 32 | w[1]);
    w += 3;
    NEXT;
    CASE(SCALAR1) :
    {
        const struct vm_scalar *row = &p->scalars[w[1]];
        const bt_cell args[2] = { r[w[2]].cell, { .i = 0 } };
        r[w[0] >> 8].cell = bt_scalar_eval(row->which, row->dtype, args);
        w += 3;
        NEXT;
    }
    CASE(SCALAR2) :
    {
        const struct vm_scalar *row = &p->scalars[w[1]];
        const bt_cell args[2] = { r[w[2]].cell, r[w[3]].cell };
        r[w[0] >> 8].cell = bt_scalar_eval(row->which, row->dtype, args);
        w += 4;
        NEXT;
    }
    CASE(CAST) :
    {
        const uint32_t dst = w[0] >> 8;
        r[dst].cell = bt_cell_cast(r[w[1]].cell, p->types.at[frame->f->types[w[1]]].dtype,
                                   p->types.at[frame->f->types[dst]].dtype);
        w += 2;
        NEXT;
    }
    CASE(SELECT) : r[w[0] >> 8] = r[r[w[1]].cell.i ? w[2] : w[3]];
    w += 4;
    NEXT;
    CASE(TUPLE) : DO(make_object(m, frame, NULL, w[0] >> 8, w[1], w + 2), 2 + w[1]);
    CASE(ADT)
        : DO(make_object(m, frame, p->ctors[w[1]].ctor, w[0] >> 8, w[2], w + 3),
             3 + w[2]);
    CASE(CLOSURE) : DO(make_closure(m, frame, w), 4 + w[3]);
    CASE(FIELD) : DO(take_part(m, frame, w[0] >> 8, w[1], w[2], NULL), 3);
    CASE(CTOR_FIELD)
        : DO(take_part(m, frame, w[0] >> 8, w[1], w[3], p->ctors[w[2]].ctor), 4);
    CASE(IF) : w = r[w[0] >> 8].cell.i ? w + 2 : frame->f->words + w[1];
    NEXT;
    CASE(GOTO) : w = frame->f->words + (w[0] >> 8);
    NEXT;
    CASE(SWITCH) :
    {
        const bt_object *object = r[w[0] >> 8 & VM_REGISTER].object;
        const bt_adt *adt = object ? bt_object_as_adt(object) : NULL;
        STAND;
        if (!adt)
            return vm_fail_empty(m, frame);
        w = frame->f->words + w[2 + adt->tag];
        NEXT;
    }
    CASE(FATAL) : STAND;
    return fail_match(m, frame, w[0] >> 8);
    CASE(REF) : DO(make_ref(m, frame, w[0] >> 8, w[1]), 2);
    CASE(REF_GET) : DO(take_part(m, frame, w[0] >> 8, w[1], 0, NULL), 2);
    CASE(REF_SET) : DO(set_ref(m, frame, w[0] >> 8, w[1], w[2]), 3);
    CASE(OPERATE) : STAND;
    if (bt_ctx_cancelled(m->ctx))
        return bt_fail(m->ctx, BT_ERR_CANCELLED, "the run was cancelled");
    DO(vm_operate(m, frame, w), 3 + w[2]);
    CASE(FRAME) : DO(vm_take_memory(m, frame), 1);
    CASE(TENSOR) : DO(vm_make_tensor(m, frame, w), 2);
    CASE(VIEW) : DO(vm_make_view(m, frame, w), 3);
    CASE(OWN) : DO(vm_own(m, frame, w), 2);
    CASE(COPY) : DO(vm_copy(m, frame, w), 3);
    CASE(LOAD) : DO(vm_load_scalar(m, frame, w), 2);
    CASE(KERNEL) : DO(vm_launch(m, frame, w), 2 + w[1]);
    CASE(DIMS) : DO(vm_show_dims(m, frame, &p->shapes[w[0] >> 8], w[1], 0), 2);
    CASE(SHAPE) : DO(vm_show_dims(m, frame, &p->shapes[w[0] >> 8], w[1], 1), 2);
    CASE(CHECK) : DO(vm_check_dims(m, frame, &p->checks[w[0] >> 8]), 1);
    CASE(HOLDS) : DO(vm_check_contents(m, frame, &p->contents[w[0] >> 8], w[1]), 2);
#if !defined(__GNUC__)
default: break; // the verifier has seen every instruction
}
return NULL;
#endif
}

/* Beside an error of another file, as of a library, the nearest call from elsewhere. */
static bt_status note_caller(struct vm_machine *m, bt_status status)
{
    const bt_store *store = m->program->module->store;
    const struct vm_frame *f = m->top ? m->top->caller : NULL;
    for (; f && status->place.file && !status->note; f = f->caller) {
        const bt_value *at =
            vm_value_at(f->f, f->pc - 1); // the call, behind which it goes on
        bt_place place;
        bt_span_place(store, at ? at->span : 0, &place);
        if (place.file && strcmp(place.file, status->place.file) != 0)
            return bt_note(m->ctx, status, store, at->span, "called here");
    }
    return status;
}

bt_status vm_run(bt_ctx *ctx, struct vm_machine *m, uint32_t narg, bt_object *const *args,
                 const int64_t *dims, const bt_run_hook *hook, bt_object **out)
{
    const struct vm_function *f = m->program->functions[0];
    struct vm_frame *frame;
    bt_object *result = NULL;
    m->ctx = ctx;
    m->hook = hook;
    m->nstep = 0;
    m->stop = bt_ctx_stop(ctx);
    m->elapsed_ns = 0;
    BT_TRY(vm_push(m, f, &frame));
    for (uint32_t i = 0; i < narg; i++)
        vm_put(frame, f->params[i], bt_object_ref(args[i]));
    for (uint32_t i = 0; i < f->nvar; i++)
        vm_dims(frame)[i] = dims[i] < 0 ? VM_UNKNOWN : dims[i];
    bt_status status = loop(m, &result);
    const bt_value *at = status && m->top ? vm_value_at(m->top->f, m->top->pc) : NULL;
    if (status)
        status = note_caller(m, status);
    while (m->top)
        vm_pop(m);
    vm_drop_kept(m);
    vm_trim(m);
    if (status || m->options->stack) // a budget counts what this run takes alone
        vm_free_memory(m);
    if (at && (status->code == BT_ERR_MEMORY || status->code == BT_ERR_LIMIT) &&
        !status->place.file && !status->note)
        // what was popped left memory for a message
        status = bt_fail_at(ctx, status->code, m->program->module->store, at->span, "%s",
                            status->message);
    if (!status && bt_heap_nref(m->heap)) {
        status = bt_heap_collect(ctx, m->heap, 1, &result);
        if (status)
            bt_object_unref(result);
    }
    if (!status)
        *out = result;
    return status;
}

/* ---- machines ---- */

/* What kernels are called with. */
static int make_room(struct vm_machine *m)
{
    const struct vm_program *p = m->program;
    bt_registry *registry = p->registry;
    const size_t narg = (size_t)p->most_args + 1, nspace = vm_nspace(p);
    m->buffers = bt_alloc(registry, narg * sizeof(*m->buffers));
    m->offsets = bt_alloc(registry, narg * sizeof(*m->offsets));
    m->dims = bt_alloc(registry, ((size_t)p->most_dims + 1) * sizeof(*m->dims));
    m->given_cells = bt_alloc(registry, (narg + 1) * sizeof(*m->cells));
    m->stacks = bt_alloc(registry, (nspace + 1) * sizeof(*m->stacks));
    m->settled = bt_alloc(registry, ((size_t)p->nfunction + 1) * sizeof(*m->settled));
    m->queues = bt_alloc(registry, (nspace + 1) * sizeof(*m->queues));
    m->own_consts = bt_alloc(registry, (nspace * p->nconst + 1) * sizeof(*m->own_consts));
    m->cells = (void *)(m->given_cells + (-(uintptr_t)m->given_cells & 63));
    return m->buffers && m->offsets && m->dims && m->given_cells && m->stacks &&
           m->settled && m->queues && m->own_consts;
}

static void free_room(struct vm_machine *m)
{
    const struct vm_program *p = m->program;
    bt_registry *registry = p->registry;
    const size_t narg = (size_t)p->most_args + 1, nspace = vm_nspace(p);
    vm_free_memory(m);
    vm_close_queues(m);
    bt_free(registry, m->buffers, narg * sizeof(*m->buffers));
    bt_free(registry, m->offsets, narg * sizeof(*m->offsets));
    bt_free(registry, m->dims, ((size_t)p->most_dims + 1) * sizeof(*m->dims));
    bt_free(registry, m->given_cells, (narg + 1) * sizeof(*m->cells));
    bt_free(registry, m->stacks, (nspace + 1) * sizeof(*m->stacks));
    bt_free(registry, m->settled, ((size_t)p->nfunction + 1) * sizeof(*m->settled));
    bt_free(registry, m->queues, (nspace + 1) * sizeof(*m->queues));
    bt_free(registry, m->own_consts, (nspace * p->nconst + 1) * sizeof(*m->own_consts));
}

bt_status vm_machine_create(bt_ctx *ctx, struct vm_program *p,
                            const struct vm_options *options, struct vm_machine **out)
{
    bt_registry *registry = p->registry;
    struct vm_machine *m = bt_alloc(registry, sizeof(*m));
    (void)ctx;
    if (!m)
        return bt_no_memory();
    m->program = vm_program_ref(p);
    m->options = options;
    m->collect_at = 1024;
    m->heap = bt_heap_create(registry);
    m->computations = bt_alloc(registry, (p->noperator + 1) * sizeof(*m->computations));
    m->args = bt_alloc(registry, ((size_t)p->most_args + 1) * sizeof(*m->args));
    m->objects = bt_alloc(registry, ((size_t)p->most_args + 1) * sizeof(*m->objects));
    if (!m->heap || !m->computations || !m->args || !m->objects || !make_room(m)) {
        vm_machine_destroy(m);
        return bt_no_memory();
    }
    *out = m;
    return NULL;
}

void vm_machine_destroy(struct vm_machine *m)
{
    if (!m)
        return;
    struct vm_program *p = m->program;
    bt_registry *registry = bt_registry_ref(p->registry);
    bt_heap_destroy(m->heap);
    for (uint32_t i = 0; m->computations && i < p->noperator; i++) {
        bt_compute_destroy(m->computations[i].compute);
        bt_free(registry, m->computations[i].dims,
                m->computations[i].ndim * sizeof(int64_t));
    }
    bt_free(registry, m->computations, (p->noperator + 1) * sizeof(*m->computations));
    bt_free(registry, m->args, ((size_t)p->most_args + 1) * sizeof(*m->args));
    bt_free(registry, m->objects, ((size_t)p->most_args + 1) * sizeof(*m->objects));
    free_room(m);
    if (m->segment)
        bt_free(registry, m->segment, sizeof(*m->segment) + m->segment->nbytes);
    vm_program_unref(p);
    bt_free(registry, m, sizeof(*m));
    bt_registry_unref(registry);
}
