/* Building bindings: each kind anew, any of them again with other operands. */
#include "ir/builder.h"

#include <string.h>

#include "base/arena.h"
#include "ir/func.h"

/* ---- calls ---- */

bt_status bt__builder_check(bt_builder *b, const char *what, uint32_t n,
                            const bt_value *const *operands)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!operands[i])
            return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, b->preset.span,
                              "%s: operand %u is missing", what, i);
    }
    return NULL;
}

static const char *callee_name(const bt_call *call)
{
    switch (call->callee_kind) {
    case BT_CALLEE_OP: return call->op ? call->op->name : "call";
    case BT_CALLEE_CTOR: return call->ctor ? call->ctor->name : "call";
    default: return call->callee && call->callee->name ? call->callee->name : "call";
    }
}

static bt_status check_callee(bt_builder *b, const bt_call *call)
{
    int has_callee = call->callee_kind == BT_CALLEE_OP     ? call->op != NULL
                     : call->callee_kind == BT_CALLEE_CTOR ? call->ctor != NULL
                                                           : call->callee != NULL;
    if (!has_callee)
        return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, b->preset.span,
                          "a call needs an operator, a constructor or a function");
    return NULL;
}

static bt_status copy_attrs(bt_builder *b, bt_call *call)
{
    if (call->callee_kind != BT_CALLEE_OP || !call->op->attrs) {
        call->attrs = NULL;
        return NULL;
    }
    if (!call->attrs && !b->typer)
        return bt_fail_at(b->ctx, BT_ERR_INTERNAL, b->store, b->preset.span,
                          "%s: attributes are missing", call->op->name);
    if (!call->attrs)
        return b->typer->attrs(b->ctx, b->store, call->op, "", &call->attrs);
    call->attrs =
        bt_attrs_copy(b->store, call->op->attrs, call->op->attrs_nbytes, call->attrs);
    return call->attrs ? NULL : bt_no_memory();
}

/* The call's arrays in the store, in place of the author's. */
static bt_status copy_lists(bt_builder *b, bt_call *call)
{
    call->args = bt__store_copy(b->store, call->args, call->narg, sizeof(*call->args));
    call->type_args = bt__store_copy(b->store, call->type_args, call->ntype_arg,
                                     sizeof(*call->type_args));
    call->checks =
        bt__store_copy(b->store, call->checks, call->ncheck, sizeof(*call->checks));
    if (call->contents) {
        bt_contents *contents =
            bt__store_copy(b->store, call->contents, 1, sizeof(*contents));
        if (!contents ||
            !(contents->dims = bt__store_copy(b->store, contents->dims, contents->n,
                                              sizeof(*contents->dims))))
            return bt_no_memory();
        call->contents = contents;
    }
    return call->args && call->type_args && call->checks ? NULL : bt_no_memory();
}

/* From the fields after `base`. */
bt_status bt__build_call(bt_builder *b, const bt_call *fields, const bt_value **out)
{
    bt_call *call = bt__node(b, BT_VALUE_CALL, sizeof(*call));
    if (!call)
        return bt_no_memory();
    bt_value base = call->base;
    *call = *fields;
    call->base = base;
    // Without a given type, the rest of what inference finds is not known either; type
    // arguments may be what the caller wants.
    if (!b->preset.type) {
        call->ncheck = 0;
        call->contents = NULL;
    }
    BT_TRY(copy_lists(b, call));
    return bt__builder_emit(b, &call->base, out);
}

bt_status bt_build_call(bt_builder *b, const bt_call *call, const bt_value **out)
{
    BT_TRY(check_callee(b, call));
    BT_TRY(bt__builder_check(b, callee_name(call), call->narg, call->args));
    bt_call fields = *call;
    BT_TRY(copy_attrs(b, &fields));
    return bt__build_call(b, &fields, out);
}

bt_status bt_build_op(bt_builder *b, const bt_op *op, const void *attrs, uint32_t narg,
                      const bt_value *const *args, const bt_value **out)
{
    bt_call call = {
        .callee_kind = BT_CALLEE_OP, .op = op, .attrs = attrs, .narg = narg, .args = args
    };
    return bt_build_call(b, &call, out);
}

/* ---- the other kinds ---- */

bt_status bt_build_tuple(bt_builder *b, uint32_t n, const bt_value *const *fields,
                         const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "tuple", n, fields));
    bt_tuple_value *tuple = bt__node(b, BT_VALUE_TUPLE, sizeof(*tuple));
    if (!tuple)
        return bt_no_memory();
    tuple->nfield = n;
    tuple->fields = bt__store_copy(b->store, fields, n, sizeof(*fields));
    return tuple->fields ? bt__builder_emit(b, &tuple->base, out) : bt_no_memory();
}

bt_status bt_build_proj(bt_builder *b, const bt_value *tuple, uint32_t index,
                        const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "projection", 1, &tuple));
    bt_proj *proj = bt__node(b, BT_VALUE_PROJ, sizeof(*proj));
    if (!proj)
        return bt_no_memory();
    proj->tuple = tuple;
    proj->index = index;
    return bt__builder_emit(b, &proj->base, out);
}

bt_status bt_build_if(bt_builder *b, const bt_value *condition,
                      const bt_block *then_block, const bt_block *else_block,
                      const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "if", 1, &condition));
    if (!then_block || !else_block)
        return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, b->preset.span,
                          "if: a block is missing");
    bt_if *value = bt__node(b, BT_VALUE_IF, sizeof(*value));
    if (!value)
        return bt_no_memory();
    value->condition = condition;
    value->then_block = then_block;
    value->else_block = else_block;
    return bt__builder_emit(b, &value->base, out);
}

bt_status bt_build_match(bt_builder *b, const bt_value *data, uint32_t nclause,
                         const bt_clause *clauses, const char *otherwise,
                         const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "match", 1, &data));
    for (uint32_t i = 0; i < nclause; i++) {
        if (!clauses[i].pattern || !clauses[i].block)
            return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, b->preset.span,
                              "match: clause %u lacks a pattern or a block", i);
    }
    bt_match *match = bt__node(b, BT_VALUE_MATCH, sizeof(*match));
    if (!match)
        return bt_no_memory();
    const bt_clause *copy = bt__store_copy(b->store, clauses, nclause, sizeof(*copy));
    match->data = data;
    match->nclause = nclause;
    match->clauses = copy ? BT__LIST(bt_store_arena(b->store), copy, nclause) : NULL;
    match->otherwise = otherwise ? bt_name_of(b->store, otherwise) : NULL;
    if (!match->clauses || (otherwise && !match->otherwise))
        return bt_no_memory();
    return bt__builder_emit(b, &match->base, out);
}

bt_status bt_build_ref(bt_builder *b, const bt_value *content, const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "ref", 1, &content));
    bt_ref_value *ref = bt__node(b, BT_VALUE_REF, sizeof(*ref));
    if (!ref)
        return bt_no_memory();
    ref->content = content;
    return bt__builder_emit(b, &ref->base, out);
}

bt_status bt_build_read(bt_builder *b, const bt_value *ref, const bt_value **out)
{
    BT_TRY(bt__builder_check(b, "ref_read", 1, &ref));
    bt_read *read = bt__node(b, BT_VALUE_READ, sizeof(*read));
    if (!read)
        return bt_no_memory();
    read->ref = ref;
    return bt__builder_emit(b, &read->base, out);
}

bt_status bt_build_write(bt_builder *b, const bt_value *ref, const bt_value *content,
                         const bt_value **out)
{
    const bt_value *operands[] = { ref, content };
    BT_TRY(bt__builder_check(b, "ref_write", 2, operands));
    bt_write *write = bt__node(b, BT_VALUE_WRITE, sizeof(*write));
    if (!write)
        return bt_no_memory();
    write->ref = ref;
    write->content = content;
    return bt__builder_emit(b, &write->base, out);
}

/* ---- again ---- */

static bt_status call_again(bt_builder *b, const bt_call *old, const bt__again *again,
                            const bt_value **out)
{
    bt_call call = *old;
    const bt_value *const *operands = again->operands;
    if (call.callee_kind == BT_CALLEE_VALUE)
        call.callee = *operands++;
    call.args = operands;
    call.attrs = again->attrs;
    call.type_args = again->type_args;
    // data whose fields' dims are checked has those that its type states, whatever is passed
    if (again->type || (call.callee_kind == BT_CALLEE_CTOR && old->ncheck) ||
        !bt__call_tells(&call))
        call.ntype_arg = old->ntype_arg;
    else
        call.ntype_arg = 0;
    call.checks = again->checks;
    call.contents = again->contents;
    return bt__build_call(b, &call, out);
}

/* The variables of a pattern are its block's parameters, which may be new. */
static bt_status clauses_again(bt_builder *b, const bt_match *old,
                               const bt_block *const *regions, bt_clause *out)
{
    for (uint32_t i = 0; i < old->nclause; i++) {
        const bt_pattern *pattern = old->clauses[i]->pattern;
        uint32_t next = 0;
        if (regions[i]->nparam != bt_pattern_nvar(pattern))
            return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, old->base.span,
                              "match: clause %u has %u variables, its block %u "
                              "parameters",
                              i, bt_pattern_nvar(pattern), regions[i]->nparam);
        out[i].block = regions[i];
        out[i].pattern = bt__pattern_with(b->store, pattern, regions[i]->params, &next);
        if (!out[i].pattern)
            return bt_store_why(b->ctx, b->store);
    }
    return NULL;
}

static bt_status match_again(bt_builder *b, const bt_match *old, const bt__again *again,
                             const bt_value **out)
{
    bt_arena *scratch = bt_ctx_scratch(b->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_clause *clauses = BT_NEWS(scratch, bt_clause, old->nclause);
    bt_status status =
        clauses ? clauses_again(b, old, again->regions, clauses) : bt_no_memory();
    if (!status)
        status = bt_build_match(b, again->operands[0], old->nclause, clauses,
                                old->otherwise, out);
    bt_arena_release(scratch, mark);
    return status;
}

/* A closure that does not refer to itself; groups are rebuilt by declaring them anew. */
static bt_status closure_again(bt_builder *b, const bt_closure_value *old,
                               const bt__again *again, const bt_value **out)
{
    if (old->group->n != 1)
        return bt_fail_at(b->ctx, BT_ERR_ARGUMENT, b->store, old->base.span,
                          "closures that refer to each other are built again as a "
                          "group: call bt_build_closures");
    const bt_value *closure;
    const bt_type *type = b->preset.type;
    BT_TRY(bt_build_closures(b, 1, NULL, &type, &closure));
    bt_func fields = *old->func;
    const bt_func *func;
    fields.block = again->regions[0];
    if (!again->type)
        fields.result = NULL;
    BT_TRY(bt_func_create(b->ctx, b->store, &fields, &func));
    BT_TRY(bt_build_closure_body(b, closure, func));
    *out = closure;
    return NULL;
}

static bt_status by_kind(bt_builder *b, const bt_value *old, const bt__again *again,
                         const bt_value **out)
{
    const bt_value *const *at = again->operands;
    switch (old->kind) {
    case BT_VALUE_CALL: return call_again(b, bt_as_call(old), again, out);
    case BT_VALUE_CLOSURE: return closure_again(b, bt_as_closure(old), again, out);
    case BT_VALUE_TUPLE: return bt_build_tuple(b, bt_as_tuple(old)->nfield, at, out);
    case BT_VALUE_PROJ: return bt_build_proj(b, at[0], bt_as_proj(old)->index, out);
    case BT_VALUE_IF:
        return bt_build_if(b, at[0], again->regions[0], again->regions[1], out);
    case BT_VALUE_MATCH: return match_again(b, bt_as_match(old), again, out);
    case BT_VALUE_REF: return bt_build_ref(b, at[0], out);
    case BT_VALUE_READ: return bt_build_read(b, at[0], out);
    case BT_VALUE_WRITE: return bt_build_write(b, at[0], at[1], out);
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL:
    case BT_VALUE_COUNT: break;
    }
    return bt_fail(b->ctx, BT_ERR_ARGUMENT, "a %s is an operand, not a binding",
                   bt_value_kind_name(old->kind));
}

bt_status bt__build_again(bt_builder *b, const bt_value *old, const bt__again *again,
                          const bt_value **out)
{
    struct bt__preset before = b->preset;
    BT_TRY(bt__builder_check(b, bt_value_kind_name(old->kind), bt_value_noperand(old),
                             again->operands));
    if (!b->preset.span)
        b->preset.span = old->span;
    if (!b->preset.name)
        b->preset.name = old->name;
    if (!b->preset.device)
        b->preset.device = old->device;
    b->preset.prov = bt__builder_join(b, old->prov, before.prov);
    b->preset.type = again->type;
    b->preset.stated = again->stated;
    if (b->infer && !b->preset.layout)
        b->preset.layout = bt_type_layout(old->type);
    bt_status status = by_kind(b, old, again, out);
    before.name = NULL;
    before.type = NULL;
    before.layout = NULL;
    b->preset = before;
    return status;
}

static int is_same(const bt_builder *b, const bt_value *old, const bt__again *again)
{
    if ((again->type && again->type != old->type) ||
        (b->preset.device && b->preset.device != old->device))
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(old); i++) {
        if (again->operands[i] != bt_value_operand(old, i))
            return 0;
    }
    for (uint32_t i = 0; i < bt_value_nregion(old); i++) {
        if (again->regions[i] != bt_value_region(old, i))
            return 0;
    }
    return 1;
}

bt_status bt_build_again(bt_builder *b, const bt_value *old,
                         const bt_value *const *operands, const bt_block *const *regions,
                         const bt_type *type, const bt_value **out)
{
    const bt_call *call = bt_as_call(old);
    bt__again again = { .operands = operands, .regions = regions, .type = type };
    if (call) {
        again.attrs = call->attrs;
        again.type_args = call->type_args;
        again.checks = call->checks;
        again.contents = call->contents;
    }
    if (!bt_value_is_binding(old) || !is_same(b, old, &again))
        return bt__build_again(b, old, &again, out);
    BT_TRY(bt__builder_append(b, old));
    b->preset.name = NULL;
    b->preset.type = NULL;
    b->preset.layout = NULL;
    *out = old;
    return NULL;
}
