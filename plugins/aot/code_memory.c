/* Memory of activations, tensors, kernels. */
#include <inttypes.h>
#include <string.h>

#include "code.h"

bt_status code_tensor(struct coder *c, const uint32_t *w, const char *of)
{
    const struct vm_shape *shape = &c->program->shapes[w[1]];
    const bt_dtype dtype = c->program->types.at[shape->type_number].dtype;
    const char *dims = shape->rank ? "shape" : "NULL";
    code_line(c, "{");
    BT_TRY(code_dims(c, shape->rank, shape->axes, "shape"));
    if (of)
        code_attempt(c, "obj_view(m, %" PRIu32 ", %s, %s, &o)", shape->rank, dims, of);
    else
        code_attempt(c, "obj_tensor(m, %" PRIu32 ", %s, %" PRIu32 ", &o)", shape->rank,
                     dims, bt_dtype_nbits(dtype));
    code_line(c, "}");
    code_put(c, w[0] >> 8);
    return NULL;
}

/* The memory of the activation: a block for each storage. */
bt_status code_frame(struct coder *c)
{
    for (uint32_t i = 0; i < c->f->nstorage; i++) {
        const struct vm_storage *storage = &c->f->storages[i];
        const char *size;
        if (storage->space)
            return code_refuse(c, &storage->call->base,
                               "storage in a target's own memory");
        BT_TRY(code_term(c, &storage->nbytes, &size));
        code_attempt(c, "frame_take(m, %s, &%ss%" PRIu32 ")", size, c->prefix, i);
    }
    return NULL;
}

static int is_register(uint32_t operand)
{
    return !(operand & (VM_AREA | VM_PLAIN));
}

/* Where the elements of an operand are, how many bytes there are (NULL: a scalar's), and
 * what dtype they have. A scalar is stored in a variable that is named after the number. */
struct address {
    const char *at, *nbytes;
    bt_dtype dtype;
};

static bt_status find_address(struct coder *c, uint32_t operand, uint32_t number,
                              struct address *out)
{
    const uint32_t row = operand & VM_NUMBER;
    if (operand & VM_PLAIN) {
        const bt_tensor *tensor = bt_object_as_tensor(c->program->consts[row].object);
        *out = (struct address){ FORM("(void *)(uintptr_t)%s", code_data(c, tensor)),
                                 FORM("INT64_C(%" PRIu64 ")",
                                      (uint64_t)bt_tensor_nbytes(tensor)),
                                 tensor->dtype };
        return NULL;
    }
    if (operand & VM_AREA) {
        const struct vm_area *area = &c->f->areas[row];
        const char *offset, *nbytes;
        BT_TRY(code_term(c, &area->offset, &offset));
        BT_TRY(code_term(c, &area->nbytes, &nbytes));
        const int is_first = !area->offset.open && !area->offset.number;
        *out = (struct address){ FORM(is_first ? "%ss%" PRIu32 : "%ss%" PRIu32 " + %s",
                                      c->prefix, area->storage, offset),
                                 nbytes, area->dtype };
        return NULL;
    }
    const bt_dtype dtype = code_type_of(c, operand)->dtype;
    if (code_is_object(c->f, operand)) {
        const char *name = code_name(c, operand);
        *out =
            (struct address){ FORM("%s->data", name), code_size(c, name, dtype), dtype };
        return NULL;
    }
    code_line(c, "%s e%" PRIu32 " = %s;", c_element_type(dtype), number,
              c_stored(&c->x, dtype, code_name(c, operand)));
    *out = (struct address){ FORM("&e%" PRIu32, number), NULL, dtype };
    return NULL;
}

static void leave_operands(struct coder *c, uint32_t n, const uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_register(operands[i]))
            code_drop_last(c, operands[i]);
    }
}

void code_launch(struct coder *c, uint32_t nbuffer, uint32_t ndim)
{
    code_line(c, "call.nbytes = (uint32_t)sizeof(call);");
    code_line(c, "call.nbuffer = %" PRIu32 ";", nbuffer);
    code_line(c, "call.buffers = buffers;");
    code_line(c, "call.end = 1;");
    if (ndim) {
        code_line(c, "call.dims = dims;");
        code_line(c, "call.ndim = %" PRIu32 ";", ndim);
    }
}

bt_status code_kernel(struct coder *c, const struct vm_launch *row, uint32_t n,
                      const uint32_t *operands)
{
    const bt_kernel_code *code = c->p->compiled->codes[row->kernel];
    struct address address;
    uint32_t before_faults;
    BT_TRY(add_kernel_faults(c->o, row->kernel, row->call->base.span, &before_faults));
    code_line(c, "{");
    code_line(c, "bt_kernel_call call = { 0 };");
    code_line(c, "void *buffers[%" PRIu32 "];", row->nbuffer ? row->nbuffer : 1);
    BT_TRY(code_dims(c, row->ndim, row->dims, "dims"));
    for (uint32_t i = 0; i < n; i++) {
        const char *nbytes;
        BT_TRY(find_address(c, operands[i], i, &address));
        BT_TRY(code_term(c, &row->nbytes[i], &nbytes));
        // types say ranks alone: what an object has is known where it is
        if (address.nbytes && is_register(operands[i]))
            code_attempt(c, "obj_fits(%s, %s)", address.nbytes, nbytes);
        if (i < row->nbuffer)
            code_line(c, "buffers[%" PRIu32 "] = %s;", i, address.at);
    }
    code_launch(c, row->nbuffer, row->ndim);
    if (row->has_workspace) {
        code_line(c, "call.workspace = %s;", address.at);
        if (code->scratch)
            code_line(c, "call.scratch = call.workspace;");
    }
    for (uint32_t i = 0; i < (code->nphase ? code->nphase : 1); i++) {
        if (code->nphase) {
            code_line(c, "call.phase = %" PRIu32 ";", i);
            code_line(c, "call.end = INT64_C(%" PRId64 ");", code->phases[i]);
        }
        code_line(c, "fault = %s(&call);", c->o->symbols[row->kernel]);
        if (code->nfault) {
            code_line(c, "if (fault > 0)");
            code_line(c, "    fault += %" PRIu32 ";", before_faults);
        }
        code_check_fault(c);
    }
    code_line(c, "}");
    leave_operands(c, n, operands);
    return NULL;
}

void code_own(struct coder *c, const uint32_t *w)
{
    if (code_is_object(c->f, w[1]))
        code_attempt(c, "obj_own(m, %s, %" PRIu32 ", &o)", code_reference(c, w[1]),
                     bt_dtype_nbits(code_type_of(c, w[1])->dtype));
    else
        code_fill(c, "o", w[1]);
    code_put(c, w[0] >> 8);
}

bt_status code_copy(struct coder *c, const uint32_t *w)
{
    struct address from, to;
    code_line(c, "{");
    BT_TRY(find_address(c, w[1], 0, &from));
    BT_TRY(find_address(c, w[2], 1, &to));
    if (from.nbytes && to.nbytes && strcmp(from.nbytes, to.nbytes) != 0)
        code_attempt(c, "obj_fits(%s, %s)", from.nbytes, to.nbytes);
    code_line(c, "memmove(%s, %s, (size_t)%s);", to.at, from.at,
              from.nbytes ? from.nbytes : FORM("%" PRIu32 "u", code_nbytes(from.dtype)));
    code_line(c, "}");
    leave_operands(c, 2, w + 1);
    return NULL;
}

bt_status code_load(struct coder *c, const uint32_t *w)
{
    const bt_dtype dtype = code_type_of(c, w[0] >> 8)->dtype;
    struct address from;
    code_line(c, "{");
    BT_TRY(find_address(c, w[1], 0, &from));
    code_line(c, "%s = %s;", code_name(c, w[0] >> 8),
              c_loaded(&c->x, dtype,
                       FORM("*(const %s *)(const void *)(%s)", c_element_type(dtype),
                            from.at)));
    code_line(c, "}");
    leave_operands(c, 1, w + 1);
    return NULL;
}
