/* Tensors for kernels, and the kernels. */
#include <string.h>

#include "machine.h"

/* ---- tensors ---- */

static bt_status take_dims(struct vm_machine *m, const struct vm_frame *frame,
                           const struct vm_shape *shape, int64_t *out)
{
    for (uint32_t i = 0; i < shape->rank; i++) {
        BT_TRY(vm_eval(m, frame, &shape->axes[i], &out[i]));
        if (out[i] < 0)
            return vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                           "a dim is negative, or not known yet");
    }
    return NULL;
}

/* Each turn of a loop makes its state anew and lets go of the one before, and so does each call
 * of a recursive function with the sums that it adds to: tensors that a kernel was the last to
 * read are kept for those that are made of the same type. Many small ones come between large
 * ones, which have a place of their own. */
static void keep(struct vm_machine *m, bt_object *object)
{
    const bt_tensor *tensor =
        object->kind == BT_OBJECT_TENSOR ? bt_object_as_tensor(object) : NULL;
    const size_t nbytes = tensor ? bt_tensor_nbytes(tensor) : 0;
    if (!tensor || __atomic_load_n(&object->nref, __ATOMIC_ACQUIRE) != 1 ||
        tensor->owner || !bt_tensor_is_plain(tensor) || nbytes > VM_LARGE_NBYTES) {
        bt_object_unref(object);
        return;
    }
    struct vm_spares *spares = &m->spares[nbytes > VM_SMALL_NBYTES];
    bt_tensor **at = &spares->at[spares->turn++ % BT_COUNT(spares->at)];
    if (*at)
        bt_object_unref(&(*at)->base);
    *at = (void *)object;
}

static bt_tensor *take_kept(struct vm_machine *m, bt_dtype dtype, uint32_t rank,
                            const int64_t *dims)
{
    for (uint32_t i = 0; i < BT_COUNT(m->spares); i++) {
        for (uint32_t k = 0; k < BT_COUNT(m->spares[i].at); k++) {
            bt_tensor *tensor = m->spares[i].at[k];
            if (tensor && tensor->dtype == dtype && tensor->rank == rank &&
                !memcmp(tensor->dims, dims, rank * sizeof(*dims))) {
                m->spares[i].at[k] = NULL;
                return tensor;
            }
        }
    }
    return NULL;
}

void vm_drop_kept(struct vm_machine *m)
{
    for (uint32_t i = 0; i < BT_COUNT(m->spares); i++) {
        for (uint32_t k = 0; k < BT_COUNT(m->spares[i].at); k++) {
            if (m->spares[i].at[k])
                bt_object_unref(&m->spares[i].at[k]->base);
        }
        m->spares[i] = (struct vm_spares){ 0 };
    }
}

bt_status vm_make_tensor(struct vm_machine *m, struct vm_frame *frame,
                         const uint32_t *words)
{
    const struct vm_shape *shape = &m->program->shapes[words[1]];
    const bt_dtype dtype = m->program->types.at[shape->type_number].dtype;
    int64_t dims[BT_MAX_RANK];
    BT_TRY(take_dims(m, frame, shape, dims));
    bt_tensor *made = take_kept(m, dtype, shape->rank, dims);
    if (!made)
        BT_TRY(bt_tensor_create_raw(m->ctx, dtype, shape->rank, dims, &made));
    vm_put(frame, words[0] >> 8, &made->base);
    return NULL;
}

/* The tensor, whose reference is taken, or a copy that is plain. */
static bt_status make_plain(struct vm_machine *m, bt_object **object)
{
    const bt_tensor *tensor = bt_object_as_tensor(*object);
    bt_tensor *plain;
    if (bt_tensor_is_plain(tensor))
        return NULL;
    BT_TRY(bt_tensor_plain(m->ctx, tensor, &plain));
    bt_object_unref(*object);
    *object = &plain->base;
    return NULL;
}

bt_status vm_make_view(struct vm_machine *m, struct vm_frame *frame,
                       const uint32_t *words)
{
    const struct vm_shape *shape = &m->program->shapes[words[1]];
    int64_t dims[BT_MAX_RANK], strides[BT_MAX_RANK], nelem = 1;
    bt_object *of;
    bt_tensor *view;
    BT_TRY(take_dims(m, frame, shape, dims));
    BT_TRY(vm_take(m, frame, words[2], &of));
    bt_status status = make_plain(m, &of);
    const bt_tensor *tensor = bt_object_as_tensor(of);
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides[i] = nelem;
        if (!bt_mul_int64(nelem, dims[i], &nelem))
            nelem = -1;
    }
    if (!status && nelem != tensor->nelem)
        status = vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                         "a view has another number of elements than its tensor");
    if (!status)
        status = bt_tensor_view(m->ctx, tensor, shape->rank, dims, strides, 0, &view);
    bt_object_unref(of);
    if (!status)
        vm_put(frame, words[0] >> 8, &view->base);
    return status;
}

static bt_status copy_of(struct vm_machine *m, const bt_tensor *t, bt_tensor **out)
{
    bt_tensor *dense, *copy;
    BT_TRY(bt_tensor_dense(m->ctx, t, &dense));
    if (dense != t) { // which is a copy already
        *out = dense;
        return NULL;
    }
    bt_status status = bt_tensor_create_raw(m->ctx, t->dtype, t->rank, t->dims, &copy);
    if (!status && t->nelem)
        memcpy(copy->data, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    if (!status)
        *out = copy;
    return status;
}

bt_status vm_own(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    bt_object *object;
    bt_tensor *copy;
    BT_TRY(vm_take(m, frame, words[1], &object));
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (__atomic_load_n(&object->nref, __ATOMIC_ACQUIRE) != 1 || tensor->owner ||
        !bt_tensor_is_plain(tensor)) {
        bt_status status = copy_of(m, tensor, &copy);
        bt_object_unref(object);
        BT_TRY(status);
        object = &copy->base;
    }
    vm_put(frame, words[0] >> 8, object);
    return NULL;
}

/* ---- places ---- */

static bt_status take_area(struct vm_machine *m, const struct vm_frame *frame,
                           uint32_t number, bt_buffer *out)
{
    const struct vm_function *f = frame->f;
    const struct vm_area *area = &f->areas[number];
    const struct vm_held *held = &vm_held_of(frame)[area->storage];
    int64_t nbytes;
    if (!held->block)
        return vm_fail(m, frame->pc, BT_ERR_INTERNAL,
                       "vm: the activation has no memory yet");
    BT_TRY(vm_eval(m, frame, &area->nbytes, &nbytes));
    out->offset = held->offset + (uint64_t)(f->is_settled ? area->offset.number
                                                          : vm_offsets(frame)[number]);
    out->block = held->block->at;
    out->nbytes = (uint64_t)nbytes;
    out->is_own = f->storages[area->storage].space != 0;
    if (!out->is_own) {
        out->block = (char *)out->block + out->offset;
        out->offset = 0;
    }
    return NULL;
}

/* space: where it is needed; 0: in the host's memory. */
static bt_status take_const(struct vm_machine *m, uint32_t number, uint32_t space,
                            bt_buffer *out)
{
    const bt_tensor *tensor = m->program->consts[number].plain;
    *out = (bt_buffer){ .block = tensor->data, .nbytes = bt_tensor_nbytes(tensor) };
    if (!space)
        return NULL;
    void **own = &m->own_consts[(size_t)(space - 1) * m->program->nconst + number];
    if (!*own)
        BT_TRY(
            bt_compiled_constant(m->ctx, m->program->compiled, space - 1, tensor, own));
    out->block = *own;
    out->is_own = 1;
    return NULL;
}

/* A register's tensor becomes plain where it is not; one that is written is. cell: room for
 * a scalar. */
static bt_status take_register(struct vm_machine *m, struct vm_frame *frame, uint32_t reg,
                               int is_read, struct vm_cell *cell, bt_buffer *out)
{
    union vm_word *word = &frame->r[reg];
    if (reg >= frame->f->nobject) {
        const bt_dtype dtype = m->program->types.at[frame->f->types[reg]].dtype;
        bt_cell_store(cell, dtype, word->cell);
        *out = (bt_buffer){ .block = cell, .nbytes = (bt_dtype_nbits(dtype) + 7) / 8 };
        return NULL;
    }
    if (!word->object)
        return vm_fail_empty(m, frame);
    const bt_tensor *tensor = bt_object_as_tensor(word->object);
    if (!bt_tensor_is_plain(tensor)) {
        if (!is_read)
            return vm_fail(m, frame->pc, BT_ERR_INTERNAL,
                           "vm: a kernel cannot write this tensor");
        BT_TRY(make_plain(m, &word->object));
        tensor = bt_object_as_tensor(word->object);
    }
    *out = (bt_buffer){ .block = tensor->data, .nbytes = bt_tensor_nbytes(tensor) };
    return NULL;
}

static bt_status take_place(struct vm_machine *m, struct vm_frame *frame, uint32_t place,
                            uint32_t space, int is_read, struct vm_cell *cell,
                            bt_buffer *out)
{
    return place & VM_PLAIN ? take_const(m, place & VM_NUMBER, space, out)
           : place & VM_AREA
               ? take_area(m, frame, place & VM_NUMBER, out)
               : take_register(m, frame, place & VM_REGISTER, is_read, cell, out);
}

/* Registers that nobody reads behind this are empty. */
static void leave_places(struct vm_machine *m, struct vm_frame *frame, uint32_t n,
                         const uint32_t *places)
{
    for (uint32_t i = 0; i < n; i++) {
        if (places[i] & (VM_AREA | VM_PLAIN) || !(places[i] & VM_LAST))
            continue;
        union vm_word *word = &frame->r[places[i] & VM_REGISTER];
        if (word->object)
            keep(m, word->object);
        word->object = NULL;
    }
}

/* ---- queues ---- */

static bt_status open_queue(struct vm_machine *m, uint32_t space, bt_order *out)
{
    const bt_target_use *use = vm_use_of(m, space);
    void **queue = &m->queues[space - 1];
    if (!*queue)
        BT_TRY(use->target->open_queue(m->ctx, use->instance, queue));
    *out = (bt_order){ .queue = *queue };
    return NULL;
}

void vm_close_queues(struct vm_machine *m)
{
    for (uint32_t i = 0; m->queues && i < vm_nspace(m->program); i++) {
        if (m->queues[i])
            vm_use_of(m, i + 1)->target->close_queue(m->queues[i]);
        m->queues[i] = NULL;
    }
}

/* A queue that has failed can only be closed. */
static bt_status wait_for(struct vm_machine *m, uint32_t space, uint64_t value)
{
    uint64_t failed = 0;
    const bt_target *target = vm_use_of(m, space)->target;
    bt_status status = target->wait(m->ctx, m->queues[space - 1], value, &failed);
    if (status) {
        target->close_queue(m->queues[space - 1]);
        m->queues[space - 1] = NULL;
    }
    return status;
}

/* ---- copies ---- */

static bt_status copy_own(struct vm_machine *m, uint32_t space, const bt_buffer *to,
                          const bt_buffer *from)
{
    const bt_target_use *use = vm_use_of(m, space);
    bt_order order;
    uint64_t value;
    if (!use->target->open_queue)
        return use->target->copy(m->ctx, use->instance, to, from);
    BT_TRY(open_queue(m, space, &order));
    BT_TRY(use->target->enqueue_copy(m->ctx, use->instance, to, from, &order, &value));
    return wait_for(m, space, value);
}

bt_status vm_copy(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    const uint32_t space = words[0] >> 8;
    bt_buffer from, to;
    BT_TRY(take_place(m, frame, words[1], 0, 1, m->cells, &from));
    BT_TRY(take_place(m, frame, words[2], 0, 0, NULL, &to));
    if (from.nbytes != to.nbytes)
        return vm_fail(m, frame->pc, BT_ERR_RUNTIME, "a copy of another number of bytes");
    if (space && from.nbytes) {
        bt_status status = copy_own(m, space, &to, &from);
        if (status)
            return bt_note(m->ctx, status, NULL, 0,
                           "in a copy to or from the memory of target %s",
                           vm_use_of(m, space)->text);
    } else if (from.nbytes && from.block != to.block) {
        memcpy(to.block, from.block, (size_t)from.nbytes);
    }
    leave_places(m, frame, 2, words + 1);
    return NULL;
}

bt_status vm_load_scalar(struct vm_machine *m, struct vm_frame *frame,
                         const uint32_t *words)
{
    const uint32_t dst = words[0] >> 8;
    const bt_dtype dtype = m->program->types.at[frame->f->types[dst]].dtype;
    uint64_t element = 0;
    bt_buffer from = { 0 };
    BT_TRY(take_place(m, frame, words[1], 0, 1, m->cells, &from));
    if (from.nbytes != (bt_dtype_nbits(dtype) + 7) / 8)
        return vm_fail(m, frame->pc, BT_ERR_RUNTIME, "a scalar of another size");
    memcpy(&element, from.block, (size_t)from.nbytes);
    frame->r[dst].cell = bt_cell_load(&element, dtype);
    leave_places(m, frame, 1, words + 1);
    return NULL;
}

/* ---- kernels ---- */

static bt_status take_buffer(struct vm_machine *m, struct vm_frame *frame,
                             const struct vm_launch *row, uint32_t i, uint32_t place)
{
    bt_buffer buffer;
    int64_t nbytes;
    BT_TRY(
        take_place(m, frame, place, row->space, i < row->nread, &m->cells[i], &buffer));
    BT_TRY(vm_eval(m, frame, &row->nbytes[i], &nbytes));
    if ((uint64_t)nbytes != buffer.nbytes && nbytes != VM_UNKNOWN)
        return vm_fail(m, frame->pc, BT_ERR_RUNTIME,
                       "a buffer has another size than its kernel states");
    m->buffers[i] = buffer.block;
    m->offsets[i] = buffer.offset;
    return NULL;
}

/* Memory of the activation that has the size that the kernel states, whatever the dims are;
 * NULL: it is to be compared. */
static char *area_as_stated(const struct vm_frame *frame, uint32_t number,
                            const struct vm_term *nbytes)
{
    const struct vm_area *area = &frame->f->areas[number];
    char *address = vm_held_of(frame)[area->storage].address;
    const struct vm_open *open = area->nbytes.open;
    const int is_same = open ? nbytes->open && open->dim == nbytes->open->dim
                             : !nbytes->open && area->nbytes.number == nbytes->number;
    return !is_same || !address
               ? NULL
               : address + (frame->f->is_settled ? area->offset.number
                                                 : vm_offsets(frame)[number]);
}

/* Likewise of a register's tensor, which lies as kernels take it. */
static char *tensor_as_stated(const struct vm_frame *frame, uint32_t reg,
                              const struct vm_term *nbytes)
{
    const bt_tensor *tensor =
        reg < frame->f->nobject ? (const void *)frame->r[reg].object : NULL;
    return tensor && !nbytes->open &&
                   bt_tensor_nbytes(tensor) == (uint64_t)nbytes->number &&
                   bt_tensor_is_plain(tensor)
               ? tensor->data
               : NULL;
}

static char *as_stated(const struct vm_frame *frame, uint32_t place,
                       const struct vm_term *nbytes)
{
    return place & VM_PLAIN  ? NULL
           : place & VM_AREA ? area_as_stated(frame, place & VM_NUMBER, nbytes)
                             : tensor_as_stated(frame, place & VM_REGISTER, nbytes);
}

/* Where nothing depends on dims the verifier has compared sizes. *nheld: registers. */
static bt_status take_buffers(struct vm_machine *m, struct vm_frame *frame,
                              const struct vm_launch *row, uint32_t n,
                              const uint32_t *places, uint32_t *nheld)
{
    const struct vm_function *f = frame->f;
    const struct vm_held *held = vm_held_of(frame);
    const struct vm_spot *spots =
        f->is_settled && row->is_settled && !row->space ? f->spots : NULL;
    void **out = m->buffers;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t place = places[i];
        *nheld += !(place & (VM_AREA | VM_PLAIN));
        if (spots && place & VM_AREA) {
            const struct vm_spot *spot = &spots[place & VM_NUMBER];
            out[i] = held[spot->storage].address + spot->offset;
        } else if (spots && place & VM_PLAIN) {
            out[i] = m->program->consts[place & VM_NUMBER].plain->data;
        } else {
            out[i] = row->space ? NULL : as_stated(frame, place, &row->nbytes[i]);
            if (!out[i])
                BT_TRY(take_buffer(m, frame, row, i, place));
        }
    }
    return NULL;
}

static bt_status enqueue(struct vm_machine *m, const struct vm_launch *row,
                         const bt_kernel_call *call)
{
    const bt_compiled *compiled = m->program->compiled;
    const uint32_t target = compiled->kernels[row->kernel]->target;
    bt_order order;
    uint64_t value;
    BT_TRY(open_queue(m, target + 1, &order));
    BT_TRY(bt_compiled_enqueue(m->ctx, compiled, row->kernel, call, &order, &value));
    bt_status status = wait_for(m, target + 1, value);
    return status ? bt_compiled_note(m->ctx, compiled, row->kernel, status) : NULL;
}

/* The place in the program. */
static bt_status note_place(struct vm_machine *m, const struct vm_launch *row,
                            bt_status status)
{
    const bt_span span = row->call->base.span;
    return span && status->code != BT_ERR_CANCELLED
               ? bt_note(m->ctx, status, m->program->module->store, span, "in this call")
               : status;
}

bt_status vm_launch(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    const struct vm_launch *row = &m->program->launches[words[0] >> 8];
    uint32_t nheld = 0;
    BT_TRY(take_buffers(m, frame, row, words[1], words + 2, &nheld));
    for (uint32_t i = 0; i < row->ndim; i++)
        BT_TRY(vm_eval(m, frame, &row->dims[i], &m->dims[i]));
    const bt_kernel_call call = {
        .nbytes = sizeof(call),
        .nbuffer = row->nbuffer,
        .buffers = m->buffers,
        .offsets = row->space ? m->offsets : NULL,
        .workspace = row->has_workspace ? m->buffers[row->nbuffer] : NULL,
        .workspace_offset =
            row->space && row->has_workspace ? m->offsets[row->nbuffer] : 0,
        .dims = m->dims,
        .ndim = row->ndim,
        .stop = m->stop,
    };
    const uint64_t begun = m->hook ? bt_now_ns() : 0;
    bt_status status = row->has_queue ? enqueue(m, row, &call)
                                      : bt_compiled_launch(m->ctx, m->program->compiled,
                                                           row->kernel, &call);
    if (status)
        return note_place(m, row, status);
    if (m->hook)
        m->hook->binding(m->hook->self, &row->call->base, NULL, bt_now_ns() - begun);
    if (nheld)
        leave_places(m, frame, words[1], words + 2);
    return NULL;
}
