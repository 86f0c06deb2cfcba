/* Calls: of operators and constructors by name, of values; names used as values. */
#include "text/draft.h"

#include <string.h>

/* Operands and attributes between the parentheses. */
static int parse_arguments(bt__parser *p, const bt_op *op, int takes_attrs,
                           bt__drafts *operands, bt__attr_set *attrs)
{
    bt__advance(p);
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (bt__at_attr(p)) {
            // Relay's functions take attributes too, which say nothing of what they
            // compute.
            if (!takes_attrs && p->dialect != BT__RELAY)
                return bt__error_token(p, BT_ERR_ATTRIBUTE, &p->token,
                                       "only operators take attributes");
            if (!(op ? bt__attrs_one(p, attrs) : bt__attrs_skip(p)))
                return 0;
        } else {
            bt__draft *operand = bt__parse_scoped(p);
            if (!operand ||
                (!BT_PUSH(p->arena, operands, operand) && !bt__error_memory(p)))
                return 0;
        }
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__at(p, BT_TOKEN_RPAREN) ? (bt__advance(p), 1)
                                      : bt__error_expected(p, "`,` or `)`");
}

static bt__draft *new_call(bt__parser *p, uint32_t offset, uint32_t callee_kind)
{
    bt__draft *draft = bt__draft_new(p, BT_VALUE_CALL, offset);
    if (!draft)
        return NULL;
    draft->u.call = BT_NEW(p->arena, bt__draft_call);
    if (!draft->u.call) {
        bt__error_memory(p);
        return NULL;
    }
    draft->u.call->callee_kind = callee_kind;
    return draft;
}

/* `[A, Dim n]`: the instantiation of a polymorphic callee. */
static int parse_type_args(bt__parser *p, bt__types *out)
{
    return !bt__accept(p, BT_TOKEN_LBRACKET) ||
           bt__parse_terms(p, BT__ANY_KIND, BT_TOKEN_RBRACKET, out);
}

/* n == m | n <= m | n multiple k | n broadcasts m, and what the relation calls them */
static int parse_check(bt__parser *p, bt_check *out)
{
    *out = (bt_check){ 0 };
    if (!(out->left = bt__parse_term(p, BT_KIND_DIM)))
        return 0;
    if (bt__accept(p, BT_TOKEN_EQUAL_EQUAL))
        out->relation = BT_CHECK_EQUAL;
    else if (bt__accept(p, BT_TOKEN_LESS_EQUAL))
        out->relation = BT_CHECK_LESS_EQUAL;
    else if (bt__accept_word(p, "multiple"))
        out->relation = BT_CHECK_DIVISIBLE;
    else if (bt__accept_word(p, "broadcasts"))
        out->relation = BT_CHECK_BROADCAST;
    else
        return bt__error_expected(p, "`==`, `<=`, `multiple` or `broadcasts`");
    out->right = bt__parse_term(p, BT_KIND_DIM);
    if (!out->right || !bt__at(p, BT_TOKEN_STRING))
        return out->right != NULL;
    out->what = bt__token_name(p, &p->token);
    if (out->what)
        bt__advance(p);
    return out->what != NULL;
}

/* `holds [n, 4]`: the elements of a small integer result, as dims. */
static int parse_contents(bt__parser *p, bt__draft_call *call)
{
    bt_contents *contents = BT_NEW(p->arena, bt_contents);
    bt__types dims = { 0 };
    if (!contents)
        return bt__error_memory(p);
    if (!bt__expect(p, BT_TOKEN_LBRACKET) ||
        !bt__parse_terms(p, BT_KIND_DIM, BT_TOKEN_RBRACKET, &dims))
        return 0;
    *contents = (bt_contents){ .n = dims.len, .dims = dims.at };
    call->contents = contents;
    return 1;
}

/* `check` and what is verified when the call runs. */
static int parse_checks(bt__parser *p, bt__draft_call *call)
{
    if (bt__accept_word(p, "holds") && !parse_contents(p, call))
        return 0;
    if (!bt__accept_word(p, "check"))
        return 1;
    do {
        bt_check check;
        if (!parse_check(p, &check))
            return 0;
        if (!BT_PUSH(p->arena, &call->checks, check))
            return bt__error_memory(p);
    } while (bt__accept(p, BT_TOKEN_COMMA));
    return 1;
}

/* ---- operators ---- */

bt__draft *bt__call_op(bt__parser *p, const char *name, const bt__token *token,
                       uint32_t n, bt__draft *const *operands)
{
    bt__attr_set attrs = { 0 };
    bt__draft *draft = new_call(p, token->offset, BT_CALLEE_OP);
    if (!draft || !bt__find_op(p, name, token, &draft->u.call->op))
        return NULL;
    if (draft->u.call->op && (!bt__attrs_begin(p, draft->u.call->op, &attrs) ||
                              !bt__attrs_end(p, &attrs, token)))
        return NULL;
    draft->u.call->attrs = attrs.at;
    return bt__draft_operands(p, draft, n, operands) ? bt__draft_append(p, draft) : NULL;
}

static int at_arguments(bt__parser *p)
{
    return bt__at(p, BT_TOKEN_LPAREN) || bt__error_expected(p, "`(`");
}

static bt__draft *parse_op_call(bt__parser *p, const bt_op *op, const bt__token *name)
{
    bt__drafts operands = { 0 };
    bt__attr_set attrs = { 0 };
    bt__types type_args = { 0 };
    if (op && !bt__attrs_begin(p, op, &attrs))
        return NULL;
    if (!parse_type_args(p, &type_args) || !at_arguments(p) ||
        !parse_arguments(p, op, 1, &operands, &attrs) ||
        (op && !bt__attrs_end(p, &attrs, name)))
        return NULL;
    bt__draft *draft = new_call(p, name->offset, BT_CALLEE_OP);
    if (!draft)
        return NULL;
    draft->u.call->op = op;
    draft->u.call->attrs = attrs.at;
    draft->u.call->type_args = type_args;
    return bt__draft_operands(p, draft, operands.len, operands.at) &&
                   parse_checks(p, draft->u.call)
               ? bt__draft_append(p, draft)
               : NULL;
}

/* ---- names as values ---- */

/* fn (%a, %b) { name(%a, %b) }, where `name` takes n operands. */
static bt__draft *eta_expand(bt__parser *p, const bt__token *token, const bt_op *op,
                             const bt_ctor *ctor, uint32_t n)
{
    bt__draft *closure = bt__draft_new(p, BT_VALUE_CLOSURE, token->offset);
    bt__draft_func *func = BT_NEW(p->arena, bt__draft_func);
    bt__draft_block *block = bt__draft_block_new(p, closure), *outer = p->module->block;
    if (!closure || !block || (!func && !bt__error_memory(p)))
        return NULL;
    *func = (bt__draft_func){ .block = block, .place = closure->place, .ngroup = 1 };
    closure->u.func = func;
    for (uint32_t i = 0; i < n; i++) {
        bt__draft *param = bt__draft_new(p, BT_VALUE_PARAM, token->offset);
        if (!param || (!BT_PUSH(p->arena, &block->params, param) && !bt__error_memory(p)))
            return NULL;
        param->block = block;
        const char *name = op ? op->inputs[i].name : NULL;
        if (name && !(param->name = bt_name_of(p->store, name)))
            return bt__error_memory(p), NULL;
    }
    p->module->block = block;
    bt__draft *call = new_call(p, token->offset, op ? BT_CALLEE_OP : BT_CALLEE_CTOR);
    bt__attr_set attrs = { 0 };
    int ok = call && bt__draft_operands(p, call, n, block->params.at) &&
             (!op || (bt__attrs_begin(p, op, &attrs) && bt__attrs_end(p, &attrs, token)));
    if (ok) {
        call->u.call->op = op;
        call->u.call->ctor = ctor;
        call->u.call->attrs = attrs.at;
        bt__draft_append(p, call);
    }
    p->module->block = outer;
    block->result = call;
    return ok && bt__draft_region(p, closure, block) ? bt__draft_append(p, closure)
                                                     : NULL;
}

/* on_device(e, virtual_device=...) of Relay says where e lives, which is planned here. */
static int is_placement(const bt__parser *p, const char *name)
{
    return p->dialect == BT__RELAY && bt__at(p, BT_TOKEN_LPAREN) &&
           (strcmp(name, "on_device") == 0 || strcmp(name, "device_copy") == 0);
}

static bt__draft *parse_placed(bt__parser *p, const bt__token *token)
{
    bt__drafts operands = { 0 };
    if (!parse_arguments(p, NULL, 1, &operands, NULL))
        return NULL;
    bt_remark(p->ctx, BT_REMARK_NOTE, // once, however many there are
              bt_fail(p->ctx, BT_ERR_UNSUPPORTED,
                      "on_device and device_copy are read over: where a value lives is "
                      "planned here; in Baton's own text `on N` says it, with the "
                      "module's attribute devices"));
    if (operands.len == 1)
        return operands.at[0];
    bt__error_token(p, BT_ERR_TYPE, token, "%s takes 1 value, %u given",
                    bt__token_show(p, token), (unsigned)operands.len);
    return NULL;
}

static bt__draft *parse_op(bt__parser *p, const char *name, const bt__token *token)
{
    const bt_op *op;
    uint32_t nrequired = 0;
    if (is_placement(p, name))
        return parse_placed(p, token);
    if (!bt__find_op(p, name, token, &op))
        return NULL;
    if (bt__at(p, BT_TOKEN_LPAREN) || bt__at(p, BT_TOKEN_LBRACKET))
        return parse_op_call(p, op, token);
    if (!op)
        return bt__draft_new(p, BT__DRAFT_POISON, token->offset);
    bt_op_ninput(op, &nrequired);
    return eta_expand(p, token, op, NULL, nrequired);
}

/* ---- constructors ---- */

static bt__draft *parse_ctor(bt__parser *p, const bt_ctor *ctor, const bt__token *token)
{
    bt__drafts operands = { 0 };
    bt__types type_args = { 0 };
    if (!parse_type_args(p, &type_args))
        return NULL;
    if (bt__at(p, BT_TOKEN_LPAREN)) {
        if (!parse_arguments(p, NULL, 0, &operands, NULL))
            return NULL;
    } else if (ctor->nfield) {
        return eta_expand(p, token, NULL, ctor, ctor->nfield);
    }
    if (operands.len != ctor->nfield) {
        bt__error(p, BT_ERR_TYPE, token->offset, p->end - token->offset,
                  "constructor %s takes %u field%s, %u given", ctor->name,
                  (unsigned)ctor->nfield, ctor->nfield == 1 ? "" : "s",
                  (unsigned)operands.len);
        return NULL;
    }
    bt__draft *draft = new_call(p, token->offset, BT_CALLEE_CTOR);
    if (!draft || !bt__draft_operands(p, draft, operands.len, operands.at))
        return NULL;
    draft->u.call->ctor = ctor;
    draft->u.call->type_args = type_args;
    return parse_checks(p, draft->u.call) ? bt__draft_append(p, draft) : NULL;
}

bt__draft *bt__parse_named(bt__parser *p)
{
    // `op "name"`: the operator, where a constructor has that name too.
    int is_op = bt__at_word(p, "op") && p->next.kind == BT_TOKEN_STRING;
    if (is_op)
        bt__advance(p);
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return NULL;
    bt__advance(p);
    const bt_ctor *ctor = is_op ? NULL : bt__module_ctor(p, name);
    return ctor ? parse_ctor(p, ctor, &token) : parse_op(p, name, &token);
}

/* ---- values ---- */

/* %x[%i], which many write at first for an element of a tensor. */
static int refuse_index(bt__parser *p)
{
    if (!bt__at(p, BT_TOKEN_LBRACKET) ||
        (p->next.kind != BT_TOKEN_LOCAL && p->next.kind != BT_TOKEN_NUMBER))
        return 1;
    bt__advance(p);
    return bt__error_expected(p, "types of what is called (an element of a tensor is "
                                 "take(%x, %i), a row take(%x, %i, axis=0))");
}

bt__draft *bt__parse_call(bt__parser *p, bt__draft *callee, uint32_t offset)
{
    bt__drafts operands = { 0 };
    bt__types type_args = { 0 };
    if (!BT_PUSH(p->arena, &operands, callee)) {
        bt__error_memory(p);
        return NULL;
    }
    if (!refuse_index(p) || !parse_type_args(p, &type_args) || !at_arguments(p) ||
        !parse_arguments(p, NULL, 0, &operands, NULL))
        return NULL;
    bt__draft *draft = new_call(p, offset, BT_CALLEE_VALUE);
    if (!draft || !bt__draft_operands(p, draft, operands.len, operands.at))
        return NULL;
    draft->u.call->type_args = type_args;
    return parse_checks(p, draft->u.call) ? bt__draft_append(p, draft) : NULL;
}
