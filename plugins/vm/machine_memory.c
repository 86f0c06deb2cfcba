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

bt_status vm_make_tensor(struct vm_machine *m, struct vm_frame *frame,
                         const uint32_t *words)
{
    const struct vm_shape *shape = &m->program->shapes[words[1]];
    int64_t dims[BT_MAX_RANK];
    bt_tensor *made;
    BT_TRY(take_dims(m, frame, shape, dims));
    BT_TRY(bt_tensor_create(m->ctx, m->program->types.at[shape->type_number].dtype,
                            shape->rank, dims, &made));
    vm_put(frame, words[0] >> 8, &made->base);
    return NULL;
}

/* 1: row major, at an address that kernels take. */
static int is_plain(const bt_tensor *t)
{
    return t->nelem == 0 || ((uintptr_t)t->data % 64 == 0 && bt_tensor_is_dense(t));
}

static bt_status copy_plain(struct vm_machine *m, const bt_tensor *t, bt_tensor **out)
{
    bt_tensor *dense, *copy;
    BT_TRY(bt_tensor_dense(m->ctx, t, &dense));
    bt_status status = bt_tensor_create(m->ctx, t->dtype, t->rank, t->dims, &copy);
    if (!status && t->nelem)
        memcpy(copy->data, dense->data, bt_tensor_nbytes(dense));
    bt_tensor_unref(dense);
    if (!status)
        *out = copy;
    return status;
}

/* The tensor, whose reference is taken, or a copy that is plain. */
static bt_status make_plain(struct vm_machine *m, bt_object **object)
{
    const bt_tensor *tensor = bt_object_as_tensor(*object);
    bt_tensor *copy;
    if (is_plain(tensor))
        return NULL;
    BT_TRY(copy_plain(m, tensor, &copy));
    bt_object_unref(*object);
    *object = &copy->base;
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

bt_status vm_own(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    bt_object *object;
    bt_tensor *copy;
    BT_TRY(vm_take(m, frame, words[1], &object));
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (__atomic_load_n(&object->nref, __ATOMIC_ACQUIRE) != 1 || tensor->owner ||
        !is_plain(tensor)) {
        bt_status status = copy_plain(m, tensor, &copy);
        bt_object_unref(object);
        BT_TRY(status);
        object = &copy->base;
    }
    vm_put(frame, words[0] >> 8, object);
    return NULL;
}

bt_status vm_copy(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    const uint32_t operands[2] = { words[0] >> 8, words[1] };
    BT_TRY(vm_take_all(m, frame, 2, operands));
    bt_status status = make_plain(m, &m->objects[0]);
    const bt_tensor *from = bt_object_as_tensor(m->objects[0]),
                    *to = bt_object_as_tensor(m->objects[1]);
    if (!status && from->nelem != to->nelem)
        status =
            vm_fail(m, frame->pc, BT_ERR_RUNTIME, "a copy of another number of elements");
    if (!status && from->nelem && from->data != to->data)
        memcpy(to->data, from->data, bt_tensor_nbytes(from));
    vm_drop_all(m, 2);
    return status;
}

bt_status vm_load_scalar(struct vm_machine *m, struct vm_frame *frame,
                         const uint32_t *words)
{
    bt_object *object;
    BT_TRY(vm_take(m, frame, words[1], &object));
    frame->r[words[0] >> 8].cell = vm_cell_of(object);
    bt_object_unref(object);
    return NULL;
}

/* ---- kernels ---- */

static bt_status launch(struct vm_machine *m, const struct vm_frame *frame,
                        const struct vm_launch *row)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    void **buffers = BT_NEWS(scratch, void *, row->nbuffer);
    int64_t *dims = BT_NEWS(scratch, int64_t, row->ndim);
    if (!buffers || !dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < row->ndim; i++)
        BT_TRY(vm_eval(m, frame, &row->dims[i], &dims[i]));
    for (uint32_t i = 0; i < row->nbuffer + row->has_workspace; i++) {
        if (i < row->nread)
            BT_TRY(make_plain(m, &m->objects[i]));
        else if (!is_plain(bt_object_as_tensor(m->objects[i])))
            return vm_fail(m, frame->pc, BT_ERR_INTERNAL,
                           "vm: a kernel cannot write this tensor");
        if (i < row->nbuffer)
            buffers[i] = bt_object_as_tensor(m->objects[i])->data;
    }
    const bt_kernel_call call = {
        .nbytes = sizeof(call),
        .nbuffer = row->nbuffer,
        .buffers = buffers,
        .workspace = row->has_workspace
                         ? bt_object_as_tensor(m->objects[row->nbuffer])->data
                         : NULL,
        .dims = dims,
        .ndim = row->ndim,
        .stop = bt_ctx_stop(m->ctx),
    };
    const uint64_t start = m->hook ? bt_now_ns() : 0;
    BT_TRY(bt_compiled_launch(m->ctx, m->program->compiled, row->kernel, &call));
    if (m->hook)
        m->hook->binding(m->hook->self, &row->call->base, NULL, bt_now_ns() - start);
    return NULL;
}

bt_status vm_launch(struct vm_machine *m, struct vm_frame *frame, const uint32_t *words)
{
    const struct vm_launch *row = &m->program->launches[words[0] >> 8];
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    BT_TRY(vm_take_all(m, frame, words[1], words + 2));
    bt_status status = launch(m, frame, row);
    vm_drop_all(m, words[1]);
    bt_arena_release(scratch, mark);
    return status;
}
