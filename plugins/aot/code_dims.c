/* Dims, which a run finds out or is given, and what is checked of them. */
#include <inttypes.h>

#include <baton/op.h>

#include "code.h"

bt_status code_term(struct coder *c, const struct vm_term *term, const char **out)
{
    const struct vm_open *open = term->open;
    bt_text text;
    if (!open) {
        *out = c_integer(&c->x, term->number);
        return *out ? NULL : bt_no_memory();
    }
    bt_text_init(&text, c->p->arena);
    for (uint32_t i = 0; i < open->n && !bt_type_is_free(open->dim); i++)
        bt_text_addf(&text, "%s%s == UNKNOWN", i ? " || " : "(", c->dims[open->dims[i]]);
    if (open->n && !bt_type_is_free(open->dim))
        bt_text_addf(&text, " ? UNKNOWN : ");
    BT_TRY(plan_dim_text(c->p, open->dim, &text));
    if (open->n && !bt_type_is_free(open->dim))
        bt_text_addf(&text, ")");
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

bt_status code_dims(struct coder *c, uint32_t n, const struct vm_term *terms,
                    const char *name)
{
    if (!n)
        return NULL;
    code_line(c, "int64_t %s[%" PRIu32 "];", name, n);
    for (uint32_t i = 0; i < n; i++) {
        const char *term;
        BT_TRY(code_term(c, &terms[i], &term));
        code_line(c, "%s[%" PRIu32 "] = %s;", name, i, term);
    }
    return NULL;
}

static void name_term(struct coder *c, const struct vm_term *term, bt_text *out)
{
    if (term->open)
        bt_print_type(c->p->ctx, term->open->dim, out);
    else
        bt_text_addf(out, "%" PRId64, term->number);
}

/* A dim that an axis of factor * ?n + add shows. */
static void show_dim(struct coder *c, const struct vm_open *open, const char *at,
                     uint32_t axis)
{
    const char *dim = c->dims[open->dims[0]];
    const char *extent = FORM("%s->at[%" PRIu32 "].dim", at, axis);
    if (open->factor == 1 && !open->add) {
        code_line(c, "if (%s == UNKNOWN)", dim);
        code_line(c, "    %s = %s;", dim, extent);
        return;
    }
    const char *add = c_integer(&c->x, open->add), *by = c_integer(&c->x, open->factor);
    code_line(c, "if (%s == UNKNOWN && %s >= %s && (%s - %s) %% %s == 0)", dim, extent,
              add, extent, add, by);
    code_line(c, "    %s = (%s - %s) / %s;", dim, extent, add, by);
}

bt_status code_show(struct coder *c, const struct vm_shape *shape, const char *at,
                    int is_checked)
{
    for (uint32_t i = 0; i < shape->rank; i++) {
        const struct vm_term *axis = &shape->axes[i];
        const char *term;
        if (!is_checked && axis->open && axis->open->factor > 0)
            show_dim(c, axis->open, at, i);
        if (!is_checked)
            continue;
        BT_TRY(code_term(c, axis, &term));
        bt_text text;
        bt_text_init(&text, c->p->arena);
        bt_text_addf(&text, "axis %" PRIu32 " of ", i);
        bt_print_operand(shape->value, &text);
        bt_text_addf(&text, " is not ");
        name_term(c, axis, &text);
        bt_text_addf(&text, ", as its type says");
        if (!bt_text_get(&text))
            return bt_no_memory();
        BT_TRY(code_fail_if(
            c, FORM("%s != UNKNOWN && %s != %s->at[%" PRIu32 "].dim", term, term, at, i),
            shape->value, text.at));
    }
    for (uint32_t i = 0; i < shape->nfield; i++)
        BT_TRY(code_show(c, &shape->fields[i], FORM("%s->at[%" PRIu32 "].field", at, i),
                         is_checked));
    return NULL;
}

/* What is called; "" without memory, which write_code tells of. */
static const char *name_call(struct coder *c, const bt_call *call)
{
    bt_text out;
    bt_text_init(&out, c->p->arena);
    if (call->callee_kind == BT_CALLEE_OP)
        return call->op->name;
    if (call->callee_kind == BT_CALLEE_CTOR)
        return call->ctor->name;
    bt_print_operand(call->callee, &out);
    c->x.failed |= out.failed;
    return out.failed ? "" : bt_text_get(&out);
}

bt_status code_check(struct coder *c, const struct vm_check *check)
{
    const char *of = check->of ? check->of : name_call(c, check->call), *a, *b;
    bt_text text, wrong;
    BT_TRY(code_term(c, &check->left, &a));
    BT_TRY(code_term(c, &check->right, &b));
    bt_text_init(&text, c->p->arena);
    bt_text_init(&wrong, c->p->arena);
    plan_check_says(c->p, of, &check->check, &text);
    bt_text_addf(&wrong, "%s != UNKNOWN && %s != UNKNOWN && ", a, b);
    plan_check_fails(check->check.relation, a, b, &wrong);
    if (!bt_text_get(&text) || !bt_text_get(&wrong))
        return bt_no_memory();
    return code_fail_if(c, wrong.at, &check->call->base, text.at);
}

bt_status code_contents(struct coder *c, const struct vm_contents *stated,
                        uint32_t operand)
{
    const bt_dtype dtype = code_type_of(c, operand)->dtype;
    const char *name = code_name(c, operand);
    for (uint32_t i = 0; i < stated->n; i++) {
        const char *term;
        BT_TRY(code_term(c, &stated->terms[i], &term));
        const char *found =
            code_is_object(c->f, operand)
                ? c_loaded(&c->x, dtype,
                           FORM("((const %s *)(const void *)%s->data)[%" PRIu32 "]",
                                c_element_type(dtype), name, i))
                : name;
        const char *is_there = code_is_object(c->f, operand)
                                   ? FORM("obj_count(%s) > %" PRIu32 " && ", name, i)
                                   : "";
        bt_text text;
        bt_text_init(&text, c->p->arena);
        bt_text_addf(&text, "%s: element %" PRIu32 " is another, but was stated to be ",
                     name_call(c, stated->call), i);
        name_term(c, &stated->terms[i], &text);
        if (!bt_text_get(&text))
            return bt_no_memory();
        BT_TRY(code_fail_if(
            c, FORM("%s%s != UNKNOWN && %s != %s", is_there, term, term, found),
            &stated->call->base, text.at));
    }
    return NULL;
}
