/* What the arguments of a call tell of its type arguments. */
#include "ir/builder.h"
#include "ir/type.h"

/* A type parameter that a term may mention: a variable of a data type, or a bound one. */
struct mention {
    const bt_type *var;
    uint32_t depth, index;
};

static int is_mentioned(void *state, const bt_type *type)
{
    struct mention m = *(const struct mention *)state;
    const bt_bound_type *bound = (const bt_bound_type *)(const void *)type;
    const bt_func_type *func = bt_as_func_type(type);
    if (type->kind == BT_TYPE_BOUND)
        return !m.var && bound->depth == m.depth && bound->index == m.index;
    if (type == m.var || !(type->has & (BT_HAS_VAR | BT_HAS_BOUND)))
        return type == m.var;
    m.depth += func && func->nparam;
    return bt__type_parts(type, is_mentioned, &m);
}

int bt__call_tells(const bt_call *call)
{
    const bt_func_type *func = NULL;
    const bt_adt_def *adt = call->callee_kind == BT_CALLEE_CTOR ? call->ctor->adt : NULL;
    if (call->callee_kind == BT_CALLEE_VALUE && call->callee->type)
        func = bt_as_func_type(call->callee->type);
    const uint32_t nparam = adt ? adt->nvar : func ? func->nparam : 0;
    const uint32_t narg = adt ? call->ctor->nfield : func ? func->narg : 0;
    const bt_type *const *args = adt ? call->ctor->fields : func ? func->args : NULL;
    for (uint32_t i = 0; i < nparam; i++) {
        struct mention m = { .var = adt ? adt->vars[i] : NULL, .index = i };
        int told = 0;
        for (uint32_t k = 0; k < narg && !told; k++)
            told = is_mentioned(&m, args[k]);
        if (!told)
            return 0;
    }
    return 1;
}
