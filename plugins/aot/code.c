/* Lines of C, faults, registers. */
#include <inttypes.h>
#include <string.h>

#include "code.h"

void code_line(struct coder *c, const char *format, ...)
{
    va_list args;
    bt_text_addf(c->out, "    ");
    va_start(args, format);
    bt_text_addv(c->out, format, args);
    va_end(args);
    bt_text_addf(c->out, "\n");
}

void code_attempt(struct coder *c, const char *format, ...)
{
    va_list args;
    bt_text_addf(c->out, "    fault = ");
    va_start(args, format);
    bt_text_addv(c->out, format, args);
    va_end(args);
    bt_text_addf(c->out, ";\n    if (fault != 0)\n        goto done;\n");
}

bt_status code_refuse(struct coder *c, const bt_value *at, const char *what)
{
    const bt_span span = at ? at->span : c->f->func->span;
    return bt_fail_at(c->p->ctx, BT_ERR_UNSUPPORTED, c->program->module->store, span,
                      "aot: %s", what);
}

void code_check_fault(struct coder *c)
{
    code_line(c, "if (fault != 0)");
    code_line(c, "    goto done;");
}

/* ---- faults ---- */

/* The number of a fault with this text, after the place of a value. */
bt_status code_fault(struct coder *c, const bt_value *at, const char *text, uint32_t *out)
{
    return output_fault(c->o, at ? at->span : (bt_span){ 0 }, text, out);
}

bt_status code_fail_if(struct coder *c, const char *condition, const bt_value *at,
                       const char *text)
{
    uint32_t number;
    BT_TRY(code_fault(c, at, text, &number));
    code_line(c, "if (%s) {", condition);
    code_line(c, "    fault = %" PRIu32 ";", number);
    code_line(c, "    goto done;");
    code_line(c, "}");
    return NULL;
}

const bt_value *code_here(const struct coder *c)
{
    return vm_value_at(c->f, c->pc);
}

/* ---- registers ---- */

int code_is_object(const struct vm_function *f, uint32_t operand)
{
    return (operand & VM_REGISTER) < f->nobject;
}

const struct vm_type *code_type_of(const struct coder *c, uint32_t operand)
{
    return &c->program->types.at[c->f->types[operand & VM_REGISTER]];
}

const char *code_name(struct coder *c, uint32_t operand)
{
    const uint32_t reg = operand & VM_REGISTER;
    return FORM("%s%s%" PRIu32, c->prefix, code_is_object(c->f, operand) ? "v" : "n",
                reg);
}

/* What a register of a function holds, or what a value of a type is passed as. */
const char *code_declared(struct coder *c, const struct vm_function *f, uint32_t reg)
{
    return code_is_object(f, reg)
               ? "struct object *"
               : FORM("%s ",
                      c_value_type(&c->x, c->program->types.at[f->types[reg]].dtype));
}

const char *code_passed(struct coder *c, uint32_t type)
{
    return vm_type_is_scalar(&c->program->types, type)
               ? FORM("%s ", c_value_type(&c->x, c->program->types.at[type].dtype))
               : "struct object *";
}

/* An object's reference, of which the variable has none after its last use. */
const char *code_reference(struct coder *c, uint32_t operand)
{
    const char *name = code_name(c, operand);
    return operand & VM_LAST ? FORM("obj_take(&%s)", name) : FORM("obj_ref(%s)", name);
}

void code_drop_last(struct coder *c, uint32_t operand)
{
    if (code_is_object(c->f, operand) && operand & VM_LAST)
        code_line(c, "obj_put(m, &%s, NULL);", code_name(c, operand));
}

const char *code_element(struct coder *c, const char *object, bt_dtype dtype)
{
    return c_loaded(
        &c->x, dtype,
        FORM("*(const %s *)(const void *)%s->data", c_element_type(dtype), object));
}

/* An operand into a field that is empty. */
void code_fill(struct coder *c, const char *field, uint32_t operand)
{
    if (code_is_object(c->f, operand)) {
        code_line(c, "%s = %s;", field, code_reference(c, operand));
        return;
    }
    const bt_dtype dtype = code_type_of(c, operand)->dtype;
    code_attempt(c, "obj_box(m, &%s)", field);
    code_line(c, "*(%s *)(void *)%s->data = %s;", c_element_type(dtype), field,
              c_stored(&c->x, dtype, code_name(c, operand)));
}

/* What is in the variable o goes to its register. */
void code_put(struct coder *c, uint32_t dst)
{
    if (code_is_object(c->f, dst)) {
        code_line(c, "obj_put(m, &%s, obj_take(&o));", code_name(c, dst));
        return;
    }
    code_line(c, "%s = %s;", code_name(c, dst),
              code_element(c, "o", code_type_of(c, dst)->dtype));
    code_line(c, "obj_put(m, &o, NULL);");
}

struct c_operand code_scalar(struct coder *c, uint32_t operand)
{
    const bt_dtype dtype = code_type_of(c, operand)->dtype;
    const uint32_t bits = BT_DTYPE_BITS(dtype);
    struct c_operand out = { code_name(c, operand), dtype, INT64_MIN, INT64_MAX };
    if (dtype == BT_BOOL)
        out.low = 0, out.high = 1;
    else if (!bt_dtype_is_float(dtype) && bits < 64) {
        const int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
        out.high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
        out.low = is_signed ? -out.high - 1 : 0;
    }
    return out;
}

uint32_t code_nbytes(bt_dtype dtype)
{
    return (uint32_t)bt_dtype_nbytes(dtype);
}

const char *code_size(struct coder *c, const char *object, bt_dtype dtype)
{
    return c_form(&c->x, "(int64_t)obj_size(obj_count(%s), %" PRIu32 "u)", object,
                  bt_dtype_nbits(dtype));
}
