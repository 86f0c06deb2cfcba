/* Objects and scalars, into registers and out of them. */
#include <string.h>

#include "machine.h"

bt_status vm_fail(struct vm_machine *m, uint32_t pc, uint32_t code, const char *text)
{
    const bt_value *at = vm_value_at(m->top->f, pc);
    return bt_fail_at(m->ctx, code, m->program->module->store, at ? at->span : 0, "%s",
                      text);
}

bt_status vm_fail_empty(struct vm_machine *m, const struct vm_frame *frame)
{
    return vm_fail(m, frame->pc, BT_ERR_INTERNAL, "vm: a register is empty");
}

bt_status vm_box(struct vm_machine *m, uint32_t type, bt_cell cell, bt_object **out)
{
    const bt_dtype dtype = m->program->types.at[type].dtype;
    bt_tensor *made;
    BT_TRY(bt_tensor_create(m->ctx, dtype, 0, NULL, &made));
    bt_cell_store(made->data, dtype, cell);
    *out = &made->base;
    return NULL;
}

/* The element of a caller's tensor need not be aligned. */
bt_cell vm_cell_of(const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    uint64_t element = 0;
    memcpy(&element, tensor->data, (bt_dtype_nbits(tensor->dtype) + 7) / 8);
    return bt_cell_load(&element, tensor->dtype);
}

bt_status vm_take(struct vm_machine *m, struct vm_frame *frame, uint32_t operand,
                  bt_object **out)
{
    const uint32_t reg = operand & VM_REGISTER;
    union vm_word *word = &frame->r[reg];
    if (reg >= frame->f->nobject)
        return vm_box(m, frame->f->types[reg], word->cell, out);
    if (!word->object)
        return vm_fail_empty(m, frame);
    *out = word->object;
    if (operand & VM_LAST)
        word->object = NULL;
    else
        (void)bt_object_ref(*out);
    return NULL;
}

void vm_drop_all(struct vm_machine *m, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(m->objects[i]);
}

bt_status vm_take_all(struct vm_machine *m, struct vm_frame *frame, uint32_t n,
                      const uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++) {
        bt_status status = vm_take(m, frame, operands[i], &m->objects[i]);
        if (status) {
            vm_drop_all(m, i);
            return status;
        }
    }
    return NULL;
}

void vm_put(struct vm_frame *frame, uint32_t reg, bt_object *object)
{
    union vm_word *word = &frame->r[reg];
    if (reg >= frame->f->nobject) {
        word->cell = vm_cell_of(object);
        bt_object_unref(object);
        return;
    }
    bt_object *before = word->object;
    word->object = object;
    if (before)
        bt_object_unref(before);
}
