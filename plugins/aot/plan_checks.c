/* Checks of dims as C, and what their faults say. */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "plan.h"

static const char *const texts[] = {
#define BT_CHECK(UPPER, word, text) text,
#include <baton/checks.def>
#undef BT_CHECK
};

void plan_check_fails(uint32_t relation, const char *a, const char *b, bt_text *out)
{
    switch (relation) {
    case BT_CHECK_EQUAL: bt_text_addf(out, "%s != %s", a, b); break;
    case BT_CHECK_LESS_EQUAL: bt_text_addf(out, "%s > %s", a, b); break;
    case BT_CHECK_DIVISIBLE:
        bt_text_addf(out, "(%s == 0 || %s %% %s != 0)", b, a, b);
        break;
    default: bt_text_addf(out, "%s != 1 && %s != %s", a, a, b); break;
    }
}

/* What a dim is compared with: not itself, where a result's dim is the greatest of both. */
static const bt_type *compared(uint32_t relation, const bt_type *left,
                               const bt_type *right)
{
    const bt_list_type *max = right->kind == BT_TYPE_MAX ? bt_as_list_type(right) : NULL;
    if (relation != BT_CHECK_BROADCAST || !max || max->n != 2)
        return right;
    return max->at[0] == left ? max->at[1] : max->at[1] == left ? max->at[0] : right;
}

void plan_check_says(const struct plan *p, const char *of, const bt_check *check,
                     bt_text *out)
{
    bt_text_addf(out, "%s: %s%s", of, check->what ? check->what : "",
                 check->what ? ": " : "");
    bt_print_type(p->ctx, check->left, out);
    bt_text_addf(out, " was to %s ", texts[check->relation]);
    bt_print_type(p->ctx, compared(check->relation, check->left, check->right), out);
}

/* Recursion is bounded by the depth of types. */
static int shows(const bt_type *type, const bt_type *var)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    int is = 0;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        is |= shows(tuple->at[i], var);
    for (uint32_t i = 0; shape && i < shape->n; i++)
        is |= shape->dims[i] == var;
    return is;
}

bt_span plan_dim_says(const struct plan *p, uint32_t dim, bt_text *out)
{
    const bt_func *func = p->entry->func;
    const bt_type *var = func->vars[dim];
    const char *name = bt_as_var_type(var)->name;
    name = name ? name : "?";
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const bt_value *param = &func->block->params[i]->base;
        if (!shows(param->type, var))
            continue;
        bt_text_addf(out, "@%s: argument %" PRIu32 " (%%%s) has %s", p->entry->name, i,
                     param->name ? param->name : "_", name);
        return param->span;
    }
    bt_text_addf(out, "@%s has %s", p->entry->name, name);
    return func->span;
}

const char *plan_fault_text(const struct plan *p, bt_span span, const char *text)
{
    bt_place place = { 0 };
    bt_text out;
    bt_text_init(&out, p->arena);
    bt_span_place(p->compiled->module->store, span, &place);
    const char *slash = place.file ? strrchr(place.file, '/') : NULL;
    if (place.file && place.line)
        bt_text_addf(&out, "%s:%" PRIu32 ":%" PRIu32 ": ", slash ? slash + 1 : place.file,
                     place.line, place.column);
    bt_text_addf(&out, "%s", text);
    return bt_text_get(&out);
}
