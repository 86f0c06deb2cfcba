/* Calls: of functions, of closures, of the function itself in tail position. */
#include <inttypes.h>
#include <string.h>

#include "code.h"

const char *code_function_name(struct coder *c, const struct vm_function *f)
{
    bt_text text;
    bt_text_init(&text, c->p->arena);
    bt_text_addf(&text, "fn%" PRIu32 "_", f->number);
    for (const char *at = f->name; at && *at; at++) {
        const int is_word = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                            (*at >= '0' && *at <= '9');
        bt_text_add(&text, is_word ? at : "_", 1);
    }
    const char *out = bt_text_get(&text);
    c->x.failed |= !out;
    return out ? out : "";
}

void code_params(struct coder *c, const struct vm_function *f)
{
    for (uint32_t i = 0; i < f->nvar; i++)
        bt_text_addf(c->out, ", int64_t %sd%" PRIu32, c->prefix, i);
    for (uint32_t i = 0; i < f->nparam; i++)
        bt_text_addf(c->out, ", %s%s%s%" PRIu32, code_declared(c, f, f->params[i]),
                     c->prefix, code_is_object(f, f->params[i]) ? "v" : "n",
                     f->params[i]);
}

void code_head(struct coder *c, const struct vm_function *f)
{
    bt_text_addf(c->out, "static int32_t %s(struct machine *m", code_function_name(c, f));
    code_params(c, f);
    bt_text_addf(c->out, ", %s*out)", code_passed(c, f->result));
}

void code_apply_head(struct coder *c, uint32_t number)
{
    const struct vm_type *type = &c->program->types.at[number];
    bt_text_addf(c->out,
                 "static int32_t apply%" PRIu32 "(struct machine *m, struct object *of",
                 number);
    for (uint32_t i = 0; i + 1 < type->n; i++)
        bt_text_addf(c->out, ", %sa%" PRIu32, code_passed(c, type->at[i]), i);
    bt_text_addf(c->out, ", %s*out)", code_passed(c, type->at[type->n - 1]));
}

int code_may_be(const struct coder *c, const struct vm_function *f, uint32_t number)
{
    const struct vm_type *type = &c->program->types.at[number];
    const uint32_t n = type->n - 1;
    int is = f->nparam >= n && f->result == type->at[n];
    for (uint32_t i = 0; is && i < n; i++)
        is = f->types[f->params[f->nparam - n + i]] == type->at[i];
    return is;
}

void code_apply(struct coder *c, uint32_t number)
{
    const struct vm_type *type = &c->program->types.at[number];
    const uint32_t n = type->n - 1;
    code_apply_head(c, number);
    bt_text_addf(c->out, "\n{\n");
    code_line(c, "int32_t fault;");
    code_line(c, "switch (of->tag) {");
    for (uint32_t k = 0; k < c->program->nfunction; k++) {
        const struct vm_function *f = c->program->functions[k];
        if (!c->is_reached[k] || !c->is_closed[k] || !code_may_be(c, f, number))
            continue;
        const uint32_t ncapture = f->nparam - n;
        code_line(c, "case %" PRIu32 ":", k);
        for (uint32_t i = 0; i < ncapture; i++) {
            if (code_is_object(f, f->params[i]))
                code_line(c, "    (void)obj_ref(of->at[%" PRIu32 "].field);", i);
        }
        bt_text_addf(c->out, "        fault = %s(m", code_function_name(c, f));
        for (uint32_t i = 0; i < f->nvar; i++)
            bt_text_addf(c->out,
                         ", of->n > %" PRIu32
                         "u ? ((const int64_t *)(const void *)of->at[%" PRIu32
                         "].field->data)[%" PRIu32 "] : UNKNOWN",
                         ncapture, ncapture, i);
        for (uint32_t i = 0; i < ncapture; i++) {
            const char *field = FORM("of->at[%" PRIu32 "].field", i);
            bt_text_addf(
                c->out, ", %s",
                code_is_object(f, f->params[i])
                    ? field
                    : code_element(c, field,
                                   c->program->types.at[f->types[f->params[i]]].dtype));
        }
        for (uint32_t i = 0; i < n; i++)
            bt_text_addf(c->out, ", a%" PRIu32, i);
        bt_text_addf(c->out, ", out);\n");
        code_line(c, "    break;");
    }
    code_line(c, "default:");
    for (uint32_t i = 0; i < n; i++) {
        if (vm_type_is_scalar(&c->program->types, type->at[i]))
            code_line(c, "    (void)a%" PRIu32 ";", i);
        else
            code_line(c, "    obj_drop(m, a%" PRIu32 ");", i);
    }
    code_line(c, "    (void)out;");
    code_line(c, "    fault = FAULT_SHAPE;");
    code_line(c, "    break;");
    code_line(c, "}");
    code_line(c, "obj_drop(m, of);");
    code_line(c, "return fault;");
    bt_text_addf(c->out, "}\n\n");
}

/* Arguments of a call: references are made before it, and gone after it. */
static void hold_all(struct coder *c, uint32_t n, const uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++) {
        if (code_is_object(c->f, operands[i]) && !(operands[i] & VM_LAST))
            code_line(c, "(void)obj_ref(%s);", code_name(c, operands[i]));
    }
}

static void leave_all(struct coder *c, uint32_t n, const uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++) {
        if (code_is_object(c->f, operands[i]) && operands[i] & VM_LAST)
            code_line(c, "%s = NULL;", code_name(c, operands[i]));
    }
}

bt_status code_call(struct coder *c, uint32_t dst, const char *callee,
                    const uint32_t *closure, const struct vm_list *dims, uint32_t nvar,
                    uint32_t n, const uint32_t *operands)
{
    bt_text text;
    bt_text_init(&text, c->p->arena);
    hold_all(c, n, operands);
    if (closure)
        hold_all(c, 1, closure);
    if (dst == UINT32_MAX && c->f->nstorage)
        code_line(c, "m->end = top;");
    bt_text_addf(&text, "fault = %s(m", callee);
    for (uint32_t i = 0; i < nvar; i++) {
        const char *term = "UNKNOWN";
        if (i < dims->n)
            BT_TRY(code_term(c, &dims->terms[i], &term));
        bt_text_addf(&text, ", %s", term);
    }
    if (closure)
        bt_text_addf(&text, ", %s", code_name(c, *closure));
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(&text, ", %s", code_name(c, operands[i]));
    bt_text_addf(&text, ", %s);",
                 dst == UINT32_MAX           ? "out"
                 : code_is_object(c->f, dst) ? "&o"
                                             : FORM("&%s", code_name(c, dst)));
    if (!bt_text_get(&text))
        return bt_no_memory();
    code_line(c, "%s", text.at);
    leave_all(c, n, operands);
    if (closure)
        leave_all(c, 1, closure);
    if (dst == UINT32_MAX) {
        code_line(c, "goto done;");
        return NULL;
    }
    code_check_fault(c);
    if (code_is_object(c->f, dst))
        code_put(c, dst);
    return NULL;
}

bt_status code_again(struct coder *c, uint32_t function, const struct vm_list *dims,
                     uint32_t n, const uint32_t *operands)
{
    const struct vm_function *f = c->f, *to = c->program->functions[function];
    const char *prefix = code_prefix(c, function);
    code_line(c, "{");
    for (uint32_t i = 0; i < to->nvar && dims->n; i++) {
        const char *term;
        BT_TRY(code_term(c, &dims->terms[i], &term));
        code_line(c, "const int64_t e%" PRIu32 " = %s;", i, term);
    }
    for (uint32_t i = 0; i < n; i++)
        code_line(c, "%s%st%" PRIu32 " = %s;", code_declared(c, to, to->params[i]),
                  code_is_object(to, to->params[i]) ? "const " : "", i,
                  code_is_object(f, operands[i]) ? code_reference(c, operands[i])
                                                 : code_name(c, operands[i]));
    for (uint32_t i = 0; i < f->nobject; i++)
        code_line(c, "obj_put(m, &%s, NULL);", code_name(c, i));
    for (uint32_t i = 0; i < n; i++)
        code_line(c, "%s%s%" PRIu32 " = t%" PRIu32 ";", prefix,
                  code_is_object(to, to->params[i]) ? "v" : "n", to->params[i], i);
    for (uint32_t i = 0; i < to->ndim; i++) {
        if (i < to->nvar && dims->n)
            code_line(c, "%sd%" PRIu32 " = e%" PRIu32 ";", prefix, i, i);
        else
            code_line(c, "%sd%" PRIu32 " = UNKNOWN;", prefix, i);
    }
    if (f->nstorage)
        code_line(c, "m->end = top;");
    code_line(c, "goto %sstart;", prefix);
    code_line(c, "}");
    return NULL;
}
