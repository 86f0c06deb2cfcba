/* Operators of lowered functions: tensors that kernels write, and the kernels. */
#include "encode.h"

#include <string.h>

int vm_is_memory(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_OP &&
           strncmp(call->op->name, "memory.", strlen("memory.")) == 0;
}

static bt_status add_shape(struct vm_encoder *e, const struct vm_shape *shape,
                           uint32_t *out)
{
    *out = e->shapes.len;
    return BT_PUSH(e->arena, &e->shapes, *shape) ? NULL : bt_no_memory();
}

/* A tensor has a register for its object, of whatever rank it is. */
static bt_status define(struct vm_encoder *e, const bt_value *value, uint32_t type,
                        uint32_t *out)
{
    BT_TRY(vm_register_new(e, type, out));
    return bt_map_put(&e->registers, value, (void *)(uintptr_t)(*out + 1))
               ? NULL
               : bt_no_memory();
}

/* Tensor, view and own: a tensor from what there is in registers. */
static bt_status write_tensor(struct vm_encoder *e, const bt_call *call, uint32_t code)
{
    struct vm_shape shape;
    uint32_t dst, row, *regs;
    const uint32_t n = vm_noperand(&call->base);
    BT_TRY(vm_memory_shape(e, &call->base, &shape));
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(define(e, &call->base, shape.type_number, &dst));
    BT_TRY(vm_begin(e, code, dst));
    if (code != VM_OWN) {
        BT_TRY(add_shape(e, &shape, &row));
        BT_TRY(vm_word(e, row));
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(vm_word(e, regs[i]));
    vm_leave(e, n, regs);
    return NULL;
}

static bt_status write_copy(struct vm_encoder *e, const bt_call *call)
{
    uint32_t *regs;
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(vm_begin(e, VM_COPY, regs[0]));
    BT_TRY(vm_word(e, regs[1]));
    vm_leave(e, 2, regs);
    return NULL;
}

static bt_status write_check(struct vm_encoder *e, const bt_call *call)
{
    static const char *const words[] = {
#define BT_CHECK(UPPER, word, text) word,
#include <baton/checks.def>
#undef BT_CHECK
    };
    const char *const *word =
        bt_attr_find(call->op, call->attrs, "relation", BT_ATTR_STRING);
    const char *const *of = bt_attr_find(call->op, call->attrs, "of", BT_ATTR_STRING);
    struct vm_check row = { .call = call, .of = *of };
    row.check.left = bt_call_dim(call, "left");
    row.check.right = bt_call_dim(call, "right");
    while (strcmp(words[row.check.relation], *word) != 0)
        row.check.relation++; // the operator's relation has found it
    BT_TRY(vm_term_make(e, row.check.left, &row.left));
    BT_TRY(vm_term_make(e, row.check.right, &row.right));
    BT_TRY(vm_begin(e, VM_CHECK, e->checks.len));
    return BT_PUSH(e->arena, &e->checks, row) ? NULL : bt_no_memory();
}

static uint32_t count_fields(const bt_value *value)
{
    const bt_tuple_value *tuple = bt_as_tuple(value);
    return tuple ? tuple->nfield : 1;
}

static bt_status write_kernel(struct vm_encoder *e, const bt_call *call)
{
    const bt_compiled *compiled = e->program->compiled;
    const char *const *name =
        bt_attr_find(call->op, call->attrs, "kernel", BT_ATTR_STRING);
    const bt_type *const *dims =
        bt_attr_find(call->op, call->attrs, "dims", BT_ATTR_SHAPE);
    const bt_shape_type *shape = dims && *dims ? bt_as_shape_type(*dims) : NULL;
    struct vm_launch row = { .call = call, .has_workspace = call->narg > 2 };
    uint32_t *regs;
    row.kernel = compiled ? bt_compiled_find_kernel(compiled, *name) : 0;
    if (!compiled || row.kernel == compiled->nkernel)
        return bt_fail_at(e->ctx, BT_ERR_NAME, e->program->module->store, call->base.span,
                          "vm: the code has no kernel %s", *name);
    if (compiled->targets[compiled->kernels[row.kernel]->target]->space)
        return bt_fail_at(e->ctx, BT_ERR_UNSUPPORTED, e->program->module->store,
                          call->base.span,
                          "vm: kernel %s is of a target with memory of its own", *name);
    row.nread = count_fields(call->args[0]);
    row.nbuffer = row.nread + count_fields(call->args[1]);
    struct vm_term *terms = BT_NEWS(e->arena, struct vm_term, shape ? shape->n : 0);
    if (!terms)
        return bt_no_memory();
    for (uint32_t i = 0; shape && i < shape->n; i++)
        BT_TRY(vm_term_make(e, shape->dims[i], &terms[i]));
    row.ndim = shape ? shape->n : 0;
    row.dims = terms;
    BT_TRY(vm_read_all(e, &call->base, 0, &regs));
    BT_TRY(vm_begin(e, VM_KERNEL, e->launches.len));
    BT_TRY(vm_list_words(e, vm_noperand(&call->base), regs));
    vm_leave(e, vm_noperand(&call->base), regs);
    return BT_PUSH(e->arena, &e->launches, row) ? NULL : bt_no_memory();
}

bt_status vm_memory_write(struct vm_encoder *e, const bt_call *call)
{
    const char *name = call->op->name + strlen("memory.");
    if (strcmp(name, "alloc_storage") == 0 || strcmp(name, "kill") == 0)
        return NULL; // every tensor has memory of its own
    if (strcmp(name, "alloc_tensor") == 0)
        return write_tensor(e, call, VM_TENSOR);
    if (strcmp(name, "view") == 0)
        return write_tensor(e, call, VM_VIEW);
    if (strcmp(name, "own") == 0)
        return write_tensor(e, call, VM_OWN);
    if (strcmp(name, "copy") == 0)
        return write_copy(e, call);
    if (strcmp(name, "check") == 0)
        return write_check(e, call);
    if (strcmp(name, "invoke") == 0)
        return write_kernel(e, call);
    return bt_fail_at(e->ctx, BT_ERR_UNSUPPORTED, e->program->module->store,
                      call->base.span, "vm: %s is not known", call->op->name);
}
