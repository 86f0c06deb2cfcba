/* Calls of operators and constructors, and calls that stay. */
#include "common/evaluate.h"
#include "partial/pe.h"

/* ---- calls that stay ---- */

/* Whether inference may know the elements of a small integer value. */
static int has_contents(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    const bt_tensor *tensor = bt_const_tensor(value);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        const bt_call *field = bt_as_call(tuple->fields[i]);
        if (field ? !field->contents : tuple->fields[i]->kind != BT_VALUE_CONST)
            return 0;
    }
    return tuple || (call && call->contents) ||
           (tensor && tensor->rank <= 1 && tensor->nelem <= 32 &&
            !bt_dtype_is_real(tensor->dtype) && tensor->dtype != BT_BOOL);
}

static bt_status same_operand(struct pe *p, struct pe_activation *at, const bt_value *old,
                              const bt_value *now, int *same)
{
    const bt_type *type;
    BT_TRY(pe_type(p, &at->types, old->type, &type));
    *same &= type == now->type && (!has_contents(now) || has_contents(old));
    return NULL;
}

/* Checks and contents as they are in the copy. *same: what was known of the checks is known, and
 * no more. */
static bt_status statements(struct pe *p, struct pe_activation *at, bt_call *call,
                            int *same)
{
    bt_check *checks = BT_NEWS(p->arena, bt_check, call->ncheck);
    bt_contents *contents = BT_NEW(p->arena, bt_contents);
    if (!checks || !contents)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *old = &call->checks[i];
        checks[i] = *old;
        BT_TRY(pe_type(p, &at->types, old->left, &checks[i].left));
        BT_TRY(pe_type(p, &at->types, old->right, &checks[i].right));
        *same &= (checks[i].left == old->left || bt_type_is_free(checks[i].left)) &&
                 (checks[i].right == old->right || bt_type_is_free(checks[i].right));
    }
    call->checks = checks;
    if (!call->contents)
        return NULL;
    contents->n = call->contents->n;
    BT_TRY(
        pe_type_list(p, &at->types, contents->n, call->contents->dims, &contents->dims));
    call->contents = contents;
    return NULL;
}

static bt_status build_left(struct pe *p, struct pe_activation *at, const bt_call *old,
                            bt_call *call, int same, const bt_value **out)
{
    const bt_type *type;
    BT_TRY(pe_type_attrs(p, &at->types, old->op, old->attrs, &call->attrs));
    BT_TRY(pe_type_list(p, &at->types, old->ntype_arg, old->type_args, &call->type_args));
    if (same)
        BT_TRY(statements(p, at, call, &same));
    if (!same && bt_call_checks_result(old))
        return bt_fail_at(p->ctx, BT_ERR_UNSUPPORTED, p->store, old->base.span,
                          "partial-eval: what is checked of a result has another type");
    pe_like(p, &old->base);
    if (same) {
        BT_TRY(pe_type(p, &at->types, old->base.type, &type));
        bt_builder_type(p->maker, type);
    } else {
        bt_builder_layout(p->maker, bt_type_layout(old->base.type));
        call->ntype_arg = 0;
    }
    return bt_build_call(p->maker, call, out);
}

bt_status pe_call_left(struct pe *p, struct pe_activation *at, const bt_call *old,
                       struct pe_value *callee, struct pe_value *const *args,
                       const bt_value **out)
{
    const bt_value **now = BT_NEWS(p->arena, const bt_value *, old->narg);
    bt_call call = *old;
    int same = 1;
    if (!now)
        return bt_no_memory();
    if (callee) {
        BT_TRY(pe_operand(p, callee, &call.callee));
        BT_TRY(same_operand(p, at, old->callee, call.callee, &same));
    }
    for (uint32_t i = 0; i < old->narg; i++) {
        BT_TRY(pe_operand(p, args[i], &now[i]));
        BT_TRY(same_operand(p, at, old->args[i], now[i], &same));
    }
    call.args = now;
    if (callee || (old->op && old->op->effects & BT_EFFECT_WRITES))
        pe_forget(p);
    return build_left(p, at, old, &call, same, out);
}

/* ---- what is computed now ---- */

/* Tensors of a constant, or of a tuple of constants. 0: it is something else, or too large. */
static bt_status leaves_of(struct pe *p, const struct pe_value *v, leaf_list *out,
                           int *is_const)
{
    *is_const = v->kind == PE_CONST && evaluate_nbytes(v->type) <= p->options->max_nbytes;
    if (*is_const)
        return evaluate_leaves(p->arena, v->object, out);
    if (v->kind != PE_TUPLE || v->n == 0)
        return NULL;
    *is_const = 1;
    for (uint32_t i = 0; *is_const && i < v->n; i++)
        BT_TRY(leaves_of(p, v->fields[i], out, is_const));
    return NULL;
}

static bt_status fold(struct pe *p, const bt_call *call, struct pe_value *const *args,
                      const bt_value **out)
{
    leaf_list leaves = { 0 };
    int is_const = 1;
    *out = NULL;
    if (call->op->effects & ~(uint32_t)BT_EFFECT_FAILS || call->ncheck ||
        bt_type_layout(call->base.type) ||
        evaluate_nbytes(call->base.type) > p->options->max_nbytes)
        return NULL;
    if (!call->op->effects)
        BT_TRY(evaluate_contents(p->maker, call, out));
    for (uint32_t i = 0; !*out && is_const && i < call->narg; i++)
        BT_TRY(leaves_of(p, args[i], &leaves, &is_const));
    return !*out && is_const && call->narg
               ? evaluate_call(p->maker, p->arena, call, &leaves, out)
               : NULL;
}

/* ---- bindings ---- */

static bt_status run_data(struct pe *p, struct pe_activation *at, const bt_call *call,
                          struct pe_value *const *args)
{
    struct pe_value *value;
    const bt_type *type, *field;
    int is_exact = 1;
    BT_TRY(pe_type(p, &at->types, call->base.type, &type));
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(pe_type(p, &at->types, call->args[i]->type, &field));
        is_exact &= args[i]->type == field;
    }
    BT_TRY(pe_data(p, &call->base, type, is_exact, call->ctor, call->narg, args, &value));
    return pe_deliver(p, at, &call->base, value);
}

bt_status pe_run_op(struct pe *p, struct pe_activation *at, const bt_call *call)
{
    struct pe_value **args = BT_NEWS(p->arena, struct pe_value *, call->narg), *value;
    const bt_value *now, *folded = NULL;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(pe_get(p, at, call->args[i], &args[i]));
    if (call->callee_kind == BT_CALLEE_CTOR && !call->ncheck)
        return run_data(p, at, call, args);
    BT_TRY(pe_call_left(p, at, call, NULL, args, &now));
    if (call->callee_kind == BT_CALLEE_OP)
        BT_TRY(fold(p, bt_as_call(now), args, &folded));
    if (folded && bt_as_const(folded)) {
        pe_give_back(p, 1);
        BT_TRY(pe_const(p, folded, bt_as_const(folded)->object, &value));
    } else {
        BT_TRY(pe_emit(p, now));
        BT_TRY(pe_dynamic(p, now, &value));
    }
    return pe_deliver(p, at, &call->base, value);
}
