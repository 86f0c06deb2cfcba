/* What a run comes to know of dims, and what is checked of them. */
#include "machine.h"

/* 0: no memory. */
static int eval_code(struct vm_machine *m, const struct vm_open *term,
                     const int64_t *known, int64_t *out, int *fits)
{
    bt_arena *scratch = bt_ctx_scratch(m->ctx);
    const void *mark = bt_arena_mark(scratch);
    int64_t *dims = BT_NEWS(scratch, int64_t, term->n);
    int is_known = dims != NULL;
    for (uint32_t i = 0; is_known && i < term->n; i++) {
        dims[i] = known[term->dims[i]];
        is_known = dims[i] != VM_UNKNOWN;
    }
    *out = VM_UNKNOWN;
    *fits = !is_known || bt_dim_eval(&term->code, dims, out);
    bt_arena_release(scratch, mark);
    return dims != NULL;
}

bt_status vm_eval_code(struct vm_machine *m, const struct vm_frame *frame,
                       const struct vm_open *term, int64_t *out)
{
    const int64_t *known = vm_dims(frame);
    int fits = 1;
    if (term->factor) {
        *out = known[term->dims[0]];
        fits = *out == VM_UNKNOWN || (bt_mul_int64(*out, term->factor, out) &&
                                      bt_add_int64(*out, term->add, out));
    } else if (!eval_code(m, term, known, out, &fits)) {
        return bt_no_memory();
    }
    return fits ? NULL
                : vm_fail(m, frame->pc, BT_ERR_LIMIT, "a dim has more than 63 bits");
}

/* ---- shapes ---- */

/* Tuples' types nest to a bounded depth. */
static bt_status show(struct vm_machine *m, struct vm_frame *frame,
                      const struct vm_shape *shape, const bt_object *object,
                      int is_checked)
{
    int64_t *dims = vm_dims(frame);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_tensor *tensor = bt_object_as_tensor(object);
    for (uint32_t i = 0; i < shape->rank; i++) {
        const struct vm_open *axis = shape->axes[i].open;
        int64_t rest; // of factor * ?n + add, which shows ?n too
        if (axis && axis->factor > 0 && dims[axis->dims[0]] == VM_UNKNOWN &&
            axis->add != INT64_MIN && bt_add_int64(tensor->dims[i], -axis->add, &rest) &&
            rest >= 0 && rest % axis->factor == 0)
            dims[axis->dims[0]] = rest / axis->factor;
    }
    for (uint32_t i = 0; is_checked && i < shape->rank; i++) {
        int64_t expected;
        BT_TRY(vm_eval(m, frame, &shape->axes[i], &expected));
        if (expected != VM_UNKNOWN && expected != tensor->dims[i])
            return bt_dim_fail(m->ctx, shape->value, i,
                               bt_tensor_shape(shape->type)->dims[i], tensor->dims[i],
                               expected);
    }
    for (uint32_t i = 0; i < shape->nfield; i++)
        BT_TRY(show(m, frame, &shape->fields[i], tuple->fields[i], is_checked));
    return NULL;
}

/* Dims that the value shows are known before any is compared. */
bt_status vm_show_dims(struct vm_machine *m, struct vm_frame *frame,
                       const struct vm_shape *shape, uint32_t operand, int is_checked)
{
    const bt_object *object = frame->r[operand & VM_REGISTER].object;
    if (!object)
        return vm_fail_empty(m, frame);
    BT_TRY(show(m, frame, shape, object, 0));
    return is_checked ? show(m, frame, shape, object, 1) : NULL;
}

/* ---- checks ---- */

bt_status vm_check_dims(struct vm_machine *m, struct vm_frame *frame,
                        const struct vm_check *check)
{
    int64_t left, right;
    BT_TRY(vm_eval(m, frame, &check->left, &left));
    BT_TRY(vm_eval(m, frame, &check->right, &right));
    if (left == VM_UNKNOWN || right == VM_UNKNOWN ||
        bt_check_holds(check->check.relation, left, right))
        return NULL;
    return bt_check_fail(m->ctx, &check->call->base, check->of, &check->check, left,
                         right);
}

static int64_t element(const struct vm_frame *frame, uint32_t reg, int64_t i)
{
    return reg >= frame->f->nobject
               ? frame->r[reg].cell.i
               : bt_tensor_get_int(bt_object_as_tensor(frame->r[reg].object), i);
}

bt_status vm_check_contents(struct vm_machine *m, struct vm_frame *frame,
                            const struct vm_contents *stated, uint32_t operand)
{
    const uint32_t reg = operand & VM_REGISTER;
    const bt_tensor *tensor = reg < frame->f->nobject && frame->r[reg].object
                                  ? bt_object_as_tensor(frame->r[reg].object)
                                  : NULL;
    const int64_t nelem = reg >= frame->f->nobject ? 1 : tensor ? tensor->nelem : 0;
    for (uint32_t i = 0; i < stated->n && i < nelem; i++) {
        int64_t expected, found = element(frame, reg, i);
        BT_TRY(vm_eval(m, frame, &stated->terms[i], &expected));
        if (expected != VM_UNKNOWN && expected != found)
            return bt_contents_fail(m->ctx, stated->call, i, found, expected);
    }
    return NULL;
}
