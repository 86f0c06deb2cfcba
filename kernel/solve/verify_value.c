/* What the verifier checks of one binding. */
#include "solve/verify.h"

#include <string.h>

#include <baton/op.h>

#include "ir/dim.h"
#include "ir/pattern.h"
#include "ir/type_match.h"
#include "solve/solve.h"

/* ---- calls ---- */

static bt_status check_op_call(struct bt__verifier *v, const bt_call *call)
{
    uint32_t nrequired = 0, ninput;
    if (!call->op)
        return bt__verify_fail(v, &call->base, "it calls no operator");
    if (call->op->inputs) {
        ninput = bt_op_ninput(call->op, &nrequired);
        if (!bt_op_takes(call->op, call->narg))
            return bt__verify_fail(v, &call->base,
                                   "the number of arguments of %s is %u, expected "
                                   "%u..%u",
                                   call->op->name, call->narg, nrequired, ninput);
    }
    return bt__verify_attrs(v, call);
}

static bt_status check_ctor_call(struct bt__verifier *v, const bt_call *call)
{
    const bt_ctor *ctor = call->ctor;
    if (!ctor || !ctor->name || bt_module_find_ctor(v->module, ctor->name) != ctor)
        return bt__verify_fail(v, &call->base,
                               "it calls a constructor that the module "
                               "does not define");
    if (call->narg != ctor->nfield)
        return bt__verify_fail(v, &call->base, "%s takes %u argument%s, found %u",
                               ctor->name, ctor->nfield, ctor->nfield == 1 ? "" : "s",
                               call->narg);
    return NULL;
}

static bt_status check_value_call(struct bt__verifier *v, const bt_call *call)
{
    const bt_type *type = call->callee->type;
    const bt_func_type *func = type ? bt_as_func_type(type) : NULL;
    if (!v->module->is_typed)
        return NULL;
    if (!func)
        return bt__verify_fail(v, &call->base, "it calls a value that is no function");
    if (call->narg != func->narg)
        return bt__verify_fail(v, &call->base, "its callee takes %u argument%s, found %u",
                               func->narg, func->narg == 1 ? "" : "s", call->narg);
    if (call->ntype_arg != func->nparam)
        return bt__verify_fail(v, &call->base,
                               "its callee takes %u type arguments, found %u",
                               func->nparam, call->ntype_arg);
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        BT_TRY(bt__verify_type(v, &call->base, "a type argument", call->type_args[i]));
        if (bt_type_kind_of(call->type_args[i]) != func->params[i].kind)
            return bt__verify_fail(v, &call->base,
                                   "type argument %u has kind %s, "
                                   "expected %s",
                                   i, bt_kind_name(bt_type_kind_of(call->type_args[i])),
                                   bt_kind_name(func->params[i].kind));
    }
    return NULL;
}

static bt_status check_dim(struct bt__verifier *v, const bt_call *call, const char *what,
                           const bt_type *dim)
{
    BT_TRY(bt__verify_type(v, &call->base, what, dim));
    if (bt_type_kind_of(dim) != BT_KIND_DIM)
        return bt__verify_fail(v, &call->base, "%s is no dim", what);
    return NULL;
}

static bt_status check_facts(struct bt__verifier *v, const bt_call *call)
{
    if (!v->module->is_typed)
        return NULL;
    for (uint32_t i = 0; i < call->ncheck; i++) {
        if (call->checks[i].relation >= BT_CHECK_COUNT)
            return bt__verify_fail(v, &call->base,
                                   "run-time check %u has relation %u, "
                                   "which does not exist",
                                   i, call->checks[i].relation);
        BT_TRY(check_dim(v, call, "a side of a run-time check", call->checks[i].left));
        BT_TRY(check_dim(v, call, "a side of a run-time check", call->checks[i].right));
    }
    for (uint32_t i = 0; call->contents && i < call->contents->n; i++)
        BT_TRY(check_dim(v, call, "a known element", call->contents->dims[i]));
    return NULL;
}

static bt_status check_call(struct bt__verifier *v, const bt_call *call)
{
    BT_TRY(check_facts(v, call));
    switch (call->callee_kind) {
    case BT_CALLEE_OP: return check_op_call(v, call);
    case BT_CALLEE_CTOR: return check_ctor_call(v, call);
    case BT_CALLEE_VALUE: return check_value_call(v, call);
    default:
        return bt__verify_fail(v, &call->base,
                               "it has a callee of kind %u, which does "
                               "not exist",
                               call->callee_kind);
    }
}

/* ---- matches ---- */

/* Whether the pattern is sound, and its variables are the parameters from *next on. */
static bt_status check_pattern(struct bt__verifier *v, const bt_match *match,
                               const bt_clause *clause, const bt_pattern *pattern,
                               uint32_t *next)
{
    const bt_value *value = &match->base;
    if (!pattern || pattern->kind > BT_PATTERN_TUPLE)
        return bt__verify_fail(v, value, "it has a damaged pattern");
    if (pattern->kind == BT_PATTERN_VAR) {
        uint32_t i = (*next)++;
        if (i >= clause->block->nparam || clause->block->params[i] != pattern->var)
            return bt__verify_fail(v, value,
                                   "variable %u of a pattern is not parameter "
                                   "%u of its clause",
                                   i, i);
    }
    if (pattern->kind == BT_PATTERN_CTOR) {
        const bt_ctor *ctor = pattern->ctor;
        if (!ctor || !ctor->name || bt_module_find_ctor(v->module, ctor->name) != ctor)
            return bt__verify_fail(v, value,
                                   "a pattern has a constructor that the module "
                                   "does not define");
        if (pattern->n != ctor->nfield)
            return bt__verify_fail(v, value, "a pattern gives %s %u fields, expected %u",
                                   ctor->name, pattern->n, ctor->nfield);
    }
    for (uint32_t i = 0; i < pattern->n; i++)
        BT_TRY(check_pattern(v, match, clause, pattern->at[i], next));
    return NULL;
}

static bt_status check_clause_types(struct bt__verifier *v, const bt_match *match,
                                    const bt_clause *clause)
{
    const bt_block *block = clause->block;
    uint32_t next = 0;
    const bt_type **types = BT_NEWS(v->arena, const bt_type *, block->nparam);
    if (!types)
        return bt_no_memory();
    if (!bt__pattern_types(v->store, clause->pattern, match->data->type, types, &next))
        return bt_store_why(v->ctx, v->store);
    for (uint32_t i = 0; i < next; i++) {
        if (!types[i] ||
            !bt__type_accepts(v->arena, types[i], block->params[i]->base.type))
            return bt__verify_fail(v, &match->base,
                                   "parameter %u of a clause has not the type that its "
                                   "pattern gives it",
                                   i);
    }
    return NULL;
}

static bt_status check_match(struct bt__verifier *v, const bt_match *match)
{
    for (uint32_t i = 0; i < match->nclause; i++) {
        const bt_clause *clause = match->clauses[i];
        uint32_t next = 0;
        if (!clause->pattern || !clause->block)
            return bt__verify_fail(v, &match->base,
                                   "clause %u lacks a pattern or a block", i);
        BT_TRY(check_pattern(v, match, clause, clause->pattern, &next));
        if (next != clause->block->nparam || next != bt_pattern_nvar(clause->pattern))
            return bt__verify_fail(v, &match->base,
                                   "clause %u has %u variables, but its "
                                   "block %u parameters",
                                   i, next, clause->block->nparam);
        if (v->module->is_typed)
            BT_TRY(check_clause_types(v, match, clause));
    }
    return NULL;
}

/* ---- the others ---- */

static bt_status check_proj(struct bt__verifier *v, const bt_proj *proj)
{
    const bt_type *type = proj->tuple->type;
    const bt_list_type *tuple = type ? bt_as_tuple_type(type) : NULL;
    if (tuple && proj->index >= tuple->n)
        return bt__verify_fail(v, &proj->base, "it takes field %u of a tuple of %u",
                               proj->index, tuple->n);
    return NULL;
}

static bt_status check_if(struct bt__verifier *v, const bt_if *value)
{
    if (!value->then_block || !value->else_block)
        return bt__verify_fail(v, &value->base, "it lacks a block");
    if (value->then_block->nparam || value->else_block->nparam)
        return bt__verify_fail(v, &value->base, "a block of an if has parameters");
    return NULL;
}

bt_status bt__verify_value(struct bt__verifier *v, const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_CALL: return check_call(v, bt_as_call(value));
    case BT_VALUE_PROJ: return check_proj(v, bt_as_proj(value));
    case BT_VALUE_IF: return check_if(v, bt_as_if(value));
    case BT_VALUE_MATCH: return check_match(v, bt_as_match(value));
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_CLOSURE:
    case BT_VALUE_TUPLE:
    case BT_VALUE_REF:
    case BT_VALUE_READ:
    case BT_VALUE_WRITE:
    case BT_VALUE_COUNT: break;
    }
    return NULL;
}

/* ---- types from operands ---- */

/* A copy that inference may fill; its types are removed, but for the type arguments,
 * which cannot always be inferred: Nil[int64](), and what branches are joined to. */
static bt_value *untyped_copy(struct bt__verifier *v, const bt_value *value)
{
    static const size_t nbytes[] = {
#define BT_VALUE(UPPER, lower, type, is_binding, doc) sizeof(type),
#include <baton/value_kinds.def>
    };
    bt_value *copy = bt_arena_alloc(v->arena, 1, nbytes[value->kind]);
    if (!copy)
        return NULL;
    memcpy(copy, value, nbytes[value->kind]);
    if (bt_value_nregion(value) == 0)
        copy->type = NULL;
    if (copy->kind == BT_VALUE_CALL) {
        bt_call *call = (bt_call *)(void *)copy;
        call->ncheck = 0;
        call->checks = NULL;
        call->contents = NULL;
    }
    return copy;
}

/* ---- what types promise at run time ---- */

/* %y: Tensor[(4), float32] = f(%x) check ? == 4: what is stated beyond what is derived is
 * checked when the call has run. */
static int is_checked(const bt_call *call, const bt_type *dim)
{
    for (uint32_t i = 0; call && i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        const bt_type *other = check->left == dim ? check->right : check->left;
        if (check->relation == BT_CHECK_EQUAL &&
            (check->left == dim || check->right == dim) && (other->has & BT_HAS_OPAQUE))
            return 1;
    }
    return 0;
}

/* A side of a derived check against that of a stated one. Where the type states more than
 * is derived, the dim of the derived type stands in checks only. */
static int side_matches(bt__type_match *m, const bt_type *derived, const bt_type *stated)
{
    const bt_type *known = bt_map_find(&m->forth, derived);
    if (known && known->kind != BT_TYPE_OPAQUE && stated->kind == BT_TYPE_OPAQUE)
        return 1;
    return bt__type_matches(m, derived, stated);
}

static int is_same_check(const bt_check *a, const bt_check *b)
{
    return a->relation == b->relation && a->left == b->left && a->right == b->right;
}

static int states_check(bt__type_match *m, const bt_call *call, const bt_check *derived)
{
    // Dims of operands are the same on both sides: comparing others pairs what differs.
    for (uint32_t i = 0; i < call->ncheck; i++) {
        if (is_same_check(derived, &call->checks[i]))
            return 1;
    }
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        if (check->relation == derived->relation &&
            side_matches(m, derived->left, check->left) &&
            side_matches(m, derived->right, check->right))
            return 1;
    }
    return 0;
}

static bt_status show_check(struct bt__verifier *v, const bt_check *check,
                            const char **out)
{
    bt_text text;
    bt_text_init(&text, v->arena);
    bt_print_type(v->ctx, check->left, &text);
    bt_text_addf(&text, " %s ", bt__check_word(check->relation));
    bt_print_type(v->ctx, check->right, &text);
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

static bt_status verify_checks(struct bt__verifier *v, bt__type_match *m,
                               const bt_call *derived, const bt_call *stated)
{
    for (uint32_t i = 0; i < derived->ncheck; i++) {
        const char *text;
        if (states_check(m, stated, &derived->checks[i]))
            continue;
        if (m->failed)
            return bt_no_memory();
        BT_TRY(show_check(v, &derived->checks[i], &text));
        return bt__verify_fail(v, &stated->base,
                               "its operands need the run-time check %s, which it does "
                               "not have",
                               text);
    }
    return NULL;
}

/* What a call holds (`contents`) is stated for later passes. A pass may have replaced
 * what told it, so that it cannot be derived any more; executors check it. */
static bt_status verify_contents(struct bt__verifier *v, bt__type_match *m,
                                 const bt_call *derived, const bt_call *stated)
{
    const bt_contents *given = stated->contents, *known = derived->contents;
    int same = !given || !known || known->n == given->n;
    for (uint32_t i = 0; given && known && same && i < given->n; i++)
        same = bt__type_matches(m, known->dims[i], given->dims[i]);
    if (same || m->failed)
        return same ? NULL : bt_no_memory();
    return bt__verify_fail(v, &stated->base,
                           "it is stated to hold what its operands do not give");
}

static bt_status verify_narrowed(struct bt__verifier *v, const bt__type_match *m,
                                 const bt_value *value)
{
    for (uint32_t i = 0; i < m->narrowed.len; i++) {
        bt_text text;
        if (is_checked(bt_as_call(value), m->narrowed.at[i]))
            continue;
        bt_text_init(&text, v->arena);
        bt_print_type(v->ctx, m->narrowed.at[i], &text);
        const char *dim = bt_text_get(&text);
        if (!dim)
            return bt_no_memory();
        return bt__verify_fail(v, value,
                               "its type has the dim %s, of which its operands tell "
                               "nothing%s%s",
                               dim, bt_as_call(value) ? ": it needs check ? == " : "",
                               bt_as_call(value) ? dim : "");
    }
    return NULL;
}

/* A call may state a more exact type than its operands tell, where it checks that. */
bt_status bt__verify_derived(struct bt__verifier *v, const bt_value *value)
{
    bt__type_match m;
    bt_value *copy = untyped_copy(v, value);
    if (!copy)
        return bt_no_memory();
    bt_status status = bt__infer_binding(v->ctx, v->store, v->module, v->promises,
                                         bt_type_layout(value->type), NULL, copy);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    if (status)
        return bt__verify_fail(v, value, "its type does not follow: %s", status->message);
    bt__type_match_init(&m, v->arena);
    m.accepts = 1;
    m.call = bt_as_call(value);
    if (!bt__type_matches(&m, copy->type, value->type))
        return m.failed
                   ? bt_no_memory()
                   : bt__verify_fail(v, value, "its type is not what its operands give");
    BT_TRY(verify_narrowed(v, &m, value));
    if (!bt_as_call(value))
        return NULL;
    BT_TRY(verify_contents(v, &m, bt_as_call(copy), bt_as_call(value)));
    return verify_checks(v, &m, bt_as_call(copy), bt_as_call(value));
}
