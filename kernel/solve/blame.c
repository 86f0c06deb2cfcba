/* Errors that teach: the place, what is asked for and what was found, and where each fact
 * came from. */
#include <string.h>

#include "solve/solver.h"

enum {
    MAX_NOTES = 4,
    MAX_OPERANDS = 64 /* that notes are made of */,
    MAX_SHOWN = 500 /* parts of a type in a message */
};

/* ---- texts ---- */

const char *bt__show(bt_solver *s, const bt_type *type)
{
    bt_text text;
    const bt_type *known = type;
    if (bt__resolve(s, type, &known))
        known = type;
    bt_text_init(&text, s->arena);
    const bt_list_type *tuple = bt_as_tuple_type(known);
    uint32_t size;
    if (bt__type_size(s, known, &size))
        return "a type";
    if (size <= MAX_SHOWN)
        bt_print_type(s->ctx, known, &text);
    else if (tuple)
        bt_text_addf(&text, "a tuple of %u field%s", tuple->n, tuple->n == 1 ? "" : "s");
    else
        bt_text_addf(&text, "a large %s type", bt_type_kind_name(known->kind));
    const char *shown = bt_text_get(&text);
    return shown ? shown : "a type";
}

/* What a binding without a name is called. */
static const char *unnamed(const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_CLOSURE: return "the function";
    case BT_VALUE_TUPLE: return "the tuple";
    case BT_VALUE_PROJ: return "the field";
    case BT_VALUE_IF: return "the result of if";
    case BT_VALUE_MATCH: return "the result of match";
    case BT_VALUE_REF: return "the reference";
    case BT_VALUE_READ: return "the content of the reference";
    case BT_VALUE_CONST: return "the constant";
    case BT_VALUE_PARAM: return "the parameter";
    default: return "the result";
    }
}

const char *bt__callee_name(bt_solver *s, const bt_call *call)
{
    switch (call->callee_kind) {
    case BT_CALLEE_OP: return call->op->name;
    case BT_CALLEE_CTOR: return call->ctor->name;
    default: return bt__show_value(s, call->callee);
    }
}

const char *bt__show_value(bt_solver *s, const bt_value *value)
{
    bt_text text;
    const bt_call *call = bt_as_call(value);
    bt_text_init(&text, s->arena);
    // a callee without a name is called by its kind: results do not nest in a message
    if (call && !value->name)
        bt_text_addf(&text, "the result of %s",
                     call->callee_kind == BT_CALLEE_VALUE && !call->callee->name
                         ? "a call"
                         : bt__callee_name(s, call));
    else if (bt_as_const(value) || !value->name)
        return unnamed(value);
    else
        bt_print_operand(value, &text);
    const char *shown = bt_text_get(&text);
    return shown ? shown : "a value";
}

static bt_status fail_at(bt_solver *s, uint32_t code, const struct bt__slot *slot,
                         bt_text *text)
{
    bt_span span = slot->value->span;
    const char *message = bt_text_get(text);
    if (!span && slot->function && slot->function->func)
        span = slot->function->func->span;
    return bt_fail_at(s->ctx, code, s->store, span, "%s",
                      message ? message : "ill-typed");
}

/* ---- reports ---- */

bt_status bt__report(bt_solver *s, bt_status status)
{
    // authors may fail without a place: the call that was tried has one
    const struct bt__slot *slot = s->current ? s->current->slot : NULL;
    if (!status->place.file && slot && slot->value->span && !status->note)
        status = bt_fail_at(s->ctx, status->code, s->store, slot->value->span, "%s",
                            status->message);
    s->nerror++;
    if (!s->first)
        s->first = status;
    if (bt__is_fatal(status))
        return status;
    if (s->only_first)
        return s->first;
    bt_report(s->ctx, status);
    uint32_t n = s->nerror + s->nerror_before;
    return n >= bt_ctx_limits(s->ctx)->errors ? s->first : NULL;
}

/* Where a value with this type came from. */
static bt_status note_value(bt_solver *s, bt_status status, const bt_value *value)
{
    const bt_type *type;
    const struct bt__slot *slot = bt__slot_of(s, value);
    if (!value->span || bt__is_fatal(status))
        return status;
    if (bt__type_of(s, value, &type) || (type->kind == BT_TYPE_HOLE && !slot))
        return status;
    const char *how = bt_as_param(value) ? "a parameter" : "bound";
    return bt_note(s->ctx, status, s->store, value->span, "because %s, %s here, is %s",
                   bt__show_value(s, value), how, bt__show(s, type));
}

bt_status bt__note_operands(bt_solver *s, bt_status status, const struct bt__slot *slot,
                            int first)
{
    const bt_value *value = slot->value;
    uint32_t n = bt_value_noperand(value), nnote = 0;
    if (!bt_value_is_binding(value))
        return status;
    const bt_call *call = bt_as_call(value);
    uint32_t skip = call && call->callee_kind == BT_CALLEE_VALUE;
    if (first >= 0 && (uint32_t)first + skip < n) {
        status = note_value(s, status, bt_value_operand(value, (uint32_t)first + skip));
        nnote++;
    }
    for (uint32_t i = 0; i < n && i < MAX_OPERANDS && nnote < MAX_NOTES; i++) {
        const bt_value *operand = bt_value_operand(value, i);
        int is_known = bt_as_const(operand) != NULL;
        for (uint32_t k = 0; k < i && !is_known; k++)
            is_known = bt_value_operand(value, k) == operand;
        if ((int)i - (int)skip == first || is_known ||
            (first >= 0 && (uint32_t)first + skip < n &&
             operand == bt_value_operand(value, (uint32_t)first + skip)))
            continue;
        status = note_value(s, status, operand);
        nnote++;
    }
    return status;
}

/* ---- what each kind of node says ---- */

/* @f: argument 2, %y, is ... */
static void say_argument(bt_solver *s, const struct bt__node *node, const char *from,
                         const char *to, bt_text *text)
{
    const bt_call *call = bt_as_call(node->slot->value);
    uint32_t index = node->u.flow.index;
    const bt_value *arg = call && index < call->narg ? call->args[index] : NULL;
    bt_text_addf(text, "%s: argument %u", call ? bt__callee_name(s, call) : "call",
                 index + 1);
    if (arg && arg->name)
        bt_text_addf(text, ", %s,", bt__show_value(s, arg));
    bt_text_addf(text, " is %s, but must be %s", from, to);
}

static void say_flow(bt_solver *s, const struct bt__node *node, bt_text *text)
{
    const struct bt__slot *slot = node->slot;
    const bt_value *value = slot->value;
    const char *from = bt__show(s, node->u.flow.from), *to = bt__show(s, node->u.flow.to);
    switch (node->u.flow.what) {
    case FLOW_ARG: say_argument(s, node, from, to, text); break;
    case FLOW_RESULT:
        bt_text_addf(text, "the body gives %s, but the result is declared as %s", from,
                     to);
        break;
    case FLOW_CONDITION:
        bt_text_addf(text, "if: the condition is %s, but must be %s", from, to);
        break;
    case FLOW_CONTENT:
        bt_text_addf(text, "ref_write: the content is %s, but the cell holds %s", from,
                     to);
        break;
    default:
        bt_text_addf(text, "%s is %s, but is annotated as %s", bt__show_value(s, value),
                     from, to);
        break;
    }
}

static void say_proj(bt_solver *s, const struct bt__node *node, bt_text *text)
{
    const bt_type *type = bt__head(s, node->u.proj.tuple);
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_value *operand = bt_as_proj(node->slot->value)->tuple;
    if (tuple)
        bt_text_addf(text, "field %u of %s, which has %u field%s", node->u.proj.index,
                     bt__show_value(s, operand), tuple->n, tuple->n == 1 ? "" : "s");
    else
        bt_text_addf(text, "field %u of %s, which is no tuple but %s", node->u.proj.index,
                     bt__show_value(s, operand), bt__show(s, type));
}

/* The name of the callee's type parameter, which its type does not know. */
static const char *param_name(bt_solver *s, const struct bt__node *node)
{
    const bt_call *call = bt_as_call(node->slot->value);
    const bt_global *global =
        s->module ? bt_module_global(s->module, call->callee) : NULL;
    if (!global || !global->func || node->u.range.index >= global->func->nvar)
        return "";
    const bt_type *var = global->func->vars[node->u.range.index];
    const char *name = ((const bt_var_type *)(const void *)var)->name;
    return name ? name : "";
}

static void say_range(bt_solver *s, const struct bt__node *node, bt_text *text)
{
    const bt_type_param *param = &node->u.range.param;
    const char *name = param_name(s, node);
    bt_text_addf(text, "%s: dim parameter%s%s is %s, but must be at least %lld",
                 bt__callee_name(s, bt_as_call(node->slot->value)), *name ? " " : "",
                 name, bt__show(s, node->u.range.dim), (long long)param->low);
    if (param->high != INT64_MAX)
        bt_text_addf(text, ", at most %lld", (long long)param->high);
    if (param->step > 1)
        bt_text_addf(text, ", a multiple of %lld", (long long)param->step);
}

static void say_join(bt_solver *s, const struct bt__node *node, bt_text *text)
{
    uint32_t i = node->u.join.differing;
    const bt_type *const *branches = node->u.join.branches;
    const char *left = bt__show(s, branches[0]), *right = bt__show(s, branches[i]);
    if (bt_as_match(node->slot->value))
        bt_text_addf(text, "clause 1 gives %s, but clause %u gives %s", left, i + 1,
                     right);
    else
        bt_text_addf(text, "the branches give %s and %s", left, right);
}

static void say_dims(bt_solver *s, bt_text *text)
{
    const char *left = bt__show(s, s->left), *right = bt__show(s, s->right);
    if (s->is_undecided && strcmp(left, right) == 0)
        bt_text_addf(text, ": the two %s may differ", left);
    else
        bt_text_addf(text, s->is_undecided ? ": %s may differ from %s" : ": %s is not %s",
                     left, right);
}

/* The part that differs, where the types named before are larger. */
static void say_difference(bt_solver *s, const struct bt__node *node, bt_text *text)
{
    uint32_t kind = bt_type_kind_of(s->left);
    if (s->is_infinite)
        bt_text_addf(text, ": %s would contain itself", bt__show(s, s->right));
    else if (s->is_escaping)
        bt_text_addf(text, ": a dim of it is known only while the function inside runs");
    else if ((node->kind == NODE_FLOW || node->kind == NODE_JOIN) &&
             kind == BT_KIND_DIM && s->left != s->right)
        say_dims(s, text);
    if (bt__is_own_call(node))
        bt_text_addf(text, "; to call itself at other types, its result needs a type");
}

/* The clause that differs is where to look, if its result stands in it. */
static struct bt__slot *place_of(bt_solver *s, const struct bt__node *node)
{
    const bt_value *value = node->slot->value;
    if (node->kind != NODE_JOIN || node->u.join.differing >= bt_value_nregion(value))
        return node->slot;
    const bt_block *block = bt_value_region(value, node->u.join.differing);
    int is_here =
        block->nbinding && block->bindings[block->nbinding - 1] == block->result;
    struct bt__slot *slot =
        is_here && block->result->span ? bt__slot_of(s, block->result) : NULL;
    return slot ? slot : node->slot;
}

/* The argument and the callee are the two facts that disagree; other arguments count
 * where they decide what a type parameter is. */
static bt_status note_argument(bt_solver *s, bt_status status,
                               const struct bt__node *node)
{
    const bt_call *call = bt_as_call(node->slot->value);
    if (!call || node->u.flow.index >= call->narg)
        return status;
    const bt_type *type = NULL;
    if (call->callee_kind == BT_CALLEE_VALUE && bt__type_of(s, call->callee, &type))
        return status;
    const bt_func_type *callee = type ? bt_as_func_type(bt__head(s, type)) : NULL;
    if (!callee || callee->nparam)
        return bt__note_operands(s, status, node->slot, (int)node->u.flow.index);
    const bt_value *arg = call->args[node->u.flow.index];
    if (!bt_as_const(arg))
        status = note_value(s, status, arg);
    return call->callee_kind == BT_CALLEE_VALUE && call->callee != arg
               ? note_value(s, status, call->callee)
               : status;
}

bt_status bt__blame(bt_solver *s, struct bt__node *node)
{
    bt_text text;
    uint32_t kind = bt_type_kind_of(s->left);
    bt_text_init(&text, s->arena);
    switch (node->kind) {
    case NODE_FLOW: say_flow(s, node, &text); break;
    case NODE_PROJ: say_proj(s, node, &text); break;
    case NODE_RANGE: say_range(s, node, &text); break;
    case NODE_JOIN: say_join(s, node, &text); break;
    case NODE_READ:
        bt_text_addf(&text, "%s is %s, but must be a reference",
                     bt__show_value(s, bt_value_operand(node->slot->value, 0)),
                     bt__show(s, node->u.read.ref));
        break;
    case NODE_CALL:
        bt_text_addf(&text, "%s is called in a way that no type fits",
                     bt__show_value(s, bt_as_call(node->slot->value)->callee));
        break;
    default:
        bt_text_addf(&text, "%s and %s differ", bt__show(s, s->left),
                     bt__show(s, s->right));
        break;
    }
    say_difference(s, node, &text);
    int is_shape = kind == BT_KIND_DIM || kind == BT_KIND_SHAPE;
    bt_status status =
        fail_at(s, is_shape ? BT_ERR_SHAPE : BT_ERR_TYPE, place_of(s, node), &text);
    if (node->kind == NODE_FLOW && node->u.flow.what == FLOW_ARG)
        status = note_argument(s, status, node);
    else if (node->kind != NODE_JOIN)
        status = bt__note_operands(s, status, node->slot, -1);
    return kind == BT_KIND_DIM && !s->is_infinite && !s->is_escaping
               ? bt__advise_sizes(s, status, node)
               : status;
}

/* ---- what is left ---- */

struct pending {
    uint32_t own, nfree;
    struct bt__hole *free; /* a hole that no node computes */
};

static bt_status sort_hole(bt_solver *s, void *self, struct bt__hole *hole)
{
    (void)s;
    struct pending *p = self;
    if (hole->owner != p->own && !hole->owner && !hole->is_poison) {
        p->nfree++;
        if (!p->free)
            p->free = hole;
    }
    return NULL;
}

static const char *what_waits(bt_solver *s, const struct bt__node *node)
{
    const bt_call *call = bt_as_call(node->slot->value);
    switch (node->kind) {
    case NODE_OP: return node->u.op.op->name;
    case NODE_CALL: return call ? bt__callee_name(s, call) : "call";
    case NODE_PROJ: return "a projection";
    case NODE_JOIN: return "the join of branches";
    case NODE_MATCH: return "match";
    default: return "a use";
    }
}

bt_status bt__report_unknown(bt_solver *s, const struct bt__slot *slot,
                             struct bt__hole *hole, const struct bt__node *node)
{
    bt_text text;
    const bt_value *of = hole && hole->of ? hole->of : slot->value;
    bt_text_init(&text, s->arena);
    bt_text_addf(&text, "the type of %s cannot be inferred: annotate it",
                 bt__show_value(s, of));
    bt__say_annotation(s, of, &text);
    if (hole)
        hole->is_poison = 1;
    const struct bt__slot *place = bt__slot_of(s, of);
    bt_status status = fail_at(s, BT_ERR_TYPE, place ? place : slot, &text);
    if (node && !bt__is_fatal(status) && node->slot->value->span)
        status = bt_note(s->ctx, status, s->store, node->slot->value->span,
                         "%s waits for it here", what_waits(s, node));
    return bt__report(s, status);
}

bt_status bt__report_large(bt_solver *s, const struct bt__slot *slot)
{
    bt_text text;
    bt_text_init(&text, s->arena);
    bt_text_addf(&text, "the type of %s has more than %u parts",
                 slot ? bt__show_value(s, slot->value) : "a function", BT__TYPE_SIZE);
    if (!slot)
        return bt_fail(s->ctx, BT_ERR_LIMIT, "%s", bt_text_get(&text));
    return fail_at(s, BT_ERR_LIMIT, slot, &text);
}

/* Whether a relation waits although all given arguments are known: then it waits for an
 * argument that is missing. */
static bt_status asks_too_much(bt_solver *s, const struct bt__node *node, int *out)
{
    *out = node->kind == NODE_OP && node->asked && !node->waits_for;
    for (uint32_t i = 0; *out && i < node->u.op.narg; i++) {
        const bt_type *type;
        BT_TRY(bt__resolve(s, node->u.op.args[i], &type));
        *out = !(type->has & BT_HAS_HOLE);
    }
    return NULL;
}

static bt_status report_asked(bt_solver *s, const struct bt__node *node)
{
    const bt_op *op = node->u.op.op;
    uint32_t nrequired, n = node->u.op.narg;
    bt_text text;
    bt_text_init(&text, s->arena);
    if (op->relation)
        bt_text_addf(&text, "relation %s", op->relation);
    else
        bt_text_addf(&text, "the relation of %s", op->name);
    bt_text_addf(&text, " asks for argument %u; %s %s %u %s%s", node->asked, op->name,
                 bt_op_ninput(op, &nrequired) == n ? "has" : "is given", n,
                 bt_op_ninput(op, &nrequired) == n ? "input" : "argument",
                 n == 1 ? "" : "s");
    return bt__report(s, fail_at(s, BT_ERR_TYPE, node->slot, &text));
}

bt_status bt__report_pending(bt_solver *s, struct bt__node *node)
{
    struct pending p = { .own = node->id };
    int poisoned, asks;
    BT_TRY(bt__node_poisoned(s, node, &poisoned));
    BT_TRY(asks_too_much(s, node, &asks));
    if (asks && !poisoned)
        return report_asked(s, node);
    BT_TRY(bt__node_holes(s, node, sort_hole, &p));
    return p.free && !poisoned ? bt__report_unknown(s, node->slot, p.free, node) : NULL;
}
