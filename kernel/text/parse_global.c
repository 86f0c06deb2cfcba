/*
 * Definitions of globals.
 *
 *   global = "def" @name function
 *          | "const" @name [ ":" type ] "=" constant [ place ] ";"
 *          | "extern" @name [ "(" attributes ")" ] ":" type [ place ] ";"
 *          | "gradient" @name [ ":" type ] "=" @name "(" options ")" [ place ] ";"
 *          | "jvp" @name [ ":" type ] "=" @name "(" [ "wrt" "=" indices ] ")" [ place ] ";"
 *   option = "from" "=" NUMBER | ( "wrt" | "keep" ) "=" indices
 *          | "seeded" "=" ( "True" | "False" )
 */
#include "text/draft.h"

/* The global of the name that stands here. */
static struct bt__draft_global *new_global(bt__parser *p, uint32_t kind)
{
    struct bt__draft_global *global = BT_NEW(p->arena, struct bt__draft_global);
    if (!global) {
        bt__error_memory(p);
        return NULL;
    }
    global->in = p->in;
    global->token = p->token;
    global->global.kind = kind;
    global->global.name = bt__token_name(p, &p->token);
    if (!global->global.name)
        return NULL;
    bt__advance(p);
    return global;
}

static int add_global(bt__parser *p, struct bt__draft_global *global)
{
    const char *name = global->global.name;
    const struct bt__draft_global *other = bt_map_find(&p->module->globals, name);
    const struct bt__mention *imported = bt_map_find(&p->module->imported, name);
    if (!other && (!imported || imported->in == p->in))
        return bt_map_put(&p->module->globals, name, global) || bt__error_memory(p);
    bt_status status =
        bt__status_at(p, BT_ERR_NAME, global->token.offset, global->token.nbytes,
                      "`@%s` is defined twice", name);
    bt_span span = other ? bt__span_of(p, other->in, &other->token)
                         : bt__span_of(p, imported->in, &imported->token);
    return bt__error_status(
        p, bt_note(p->ctx, status, p->store, span, "the other definition is here"));
}

/* def @f function */
static int parse_def(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_FUNC);
    if (!global || !add_global(p, global))
        return 0;
    p->module->is_entry = (uint32_t)bt__is_given_entry(p, global->global.name);
    global->func = bt__parse_func(p, NULL);
    p->module->is_entry = 0;
    if (!global->func || (!p->first && !bt__place_groups(p, global->func->block)))
        return 0;
    global->func->name = global->global.name;
    global->func->place.offset = start;
    global->func->place.nbytes = p->end - start;
    global->place = global->func->place;
    bt__accept(p, BT_TOKEN_SEMICOLON);
    return 1;
}

/* const @c [: type] = constant; */
static int parse_const(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_CONST);
    const bt_type *stated = NULL;
    if (!global || !add_global(p, global))
        return 0;
    if (bt__accept(p, BT_TOKEN_COLON) && !(stated = bt__parse_term(p, BT_KIND_TYPE)))
        return 0;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    uint32_t offset = p->token.offset;
    global->value = bt__at_word(p, "meta") ? bt__parse_meta(p) : bt__parse_const(p);
    if (!global->value || !bt__parse_place(p, &global->place))
        return 0;
    if (stated &&
        !bt__annotate_const(p, offset, p->end - offset, stated, global->value->u.object))
        return 0;
    global->value->place = global->place;
    global->value->place.offset = global->place.offset = start;
    global->value->place.nbytes = global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

/* extern @f [(attrs)]: type; */
static int parse_extern(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_EXTERN);
    if (!global || !add_global(p, global) ||
        (bt__accept(p, BT_TOKEN_LPAREN) && !bt__parse_dict(p, &global->attrs)) ||
        !bt__expect(p, BT_TOKEN_COLON))
        return 0;
    global->global.type = bt__parse_signature(p);
    if (!global->global.type || !bt__parse_place(p, &global->place))
        return 0;
    global->place.offset = start;
    global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

/* None or [0, 1] */
static int parse_indices(bt__parser *p, bt_ints *out)
{
    bt_vec(int64_t) items = { 0 };
    if (bt__accept_word(p, "None")) {
        *out = (bt_ints){ .n = BT_NONE_LIST };
        return 1;
    }
    if (!bt__expect(p, BT_TOKEN_LBRACKET))
        return 0;
    while (!bt__at(p, BT_TOKEN_RBRACKET)) {
        uint32_t index;
        if (!bt__parse_uint32(p, &index))
            return 0;
        if (!BT_PUSH(p->arena, &items, index))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    *out = (bt_ints){ .n = items.len, .at = items.at };
    return bt__expect(p, BT_TOKEN_RBRACKET);
}

static int parse_gradient_option(bt__parser *p, bt_global *global)
{
    bt__token token = p->token;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (bt__token_is_word(p, &token, "wrt"))
        return parse_indices(p, &global->gradient.wrt);
    if (global->gradient.is_forward)
        return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                               "expected wrt, found %s: a jvp gives the whole result and "
                               "its tangent",
                               bt__token_show(p, &token));
    if (bt__token_is_word(p, &token, "from"))
        return bt__parse_uint32(p, &global->gradient.from);
    if (bt__token_is_word(p, &token, "keep"))
        return parse_indices(p, &global->gradient.keep);
    if (bt__token_is_word(p, &token, "seeded")) {
        global->gradient.is_seeded = (uint32_t)bt__at_word(p, "True");
        return bt__accept_word(p, "True") || bt__accept_word(p, "False") ||
               bt__error_expected(p, "True or False");
    }
    return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                           "expected from, wrt, keep or seeded, found %s",
                           bt__token_show(p, &token));
}

/* gradient @df [: type] = @f(from=0, wrt=[0], keep=[], seeded=True);
 * jvp @tf [: type] = @f(wrt=[0]); */
static int parse_gradient(bt__parser *p)
{
    uint32_t start = p->token.offset, is_forward = (uint32_t)bt__at_word(p, "jvp");
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_GRADIENT);
    if (!global || !add_global(p, global))
        return 0;
    global->global.gradient.is_forward = is_forward;
    global->global.gradient.wrt.n = BT_NONE_LIST;
    global->global.gradient.keep.n = 0;
    if (bt__accept(p, BT_TOKEN_COLON) && !(global->global.type = bt__parse_signature(p)))
        return 0;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (!bt__at(p, BT_TOKEN_GLOBAL))
        return bt__error_expected(p, "the function that is differentiated, such as @f");
    global->global.primal = bt__token_name(p, &p->token);
    if (!global->global.primal ||
        !bt__use_global(p, global->global.primal, &p->token, NULL))
        return 0;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!parse_gradient_option(p, &global->global))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, BT_TOKEN_RPAREN) || !bt__parse_place(p, &global->place))
        return 0;
    global->place.offset = start;
    global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

int bt__parse_definition(bt__parser *p)
{
    bt__scoped_clear(p);
    p->depth = 0;
    p->braces = 0;
    p->any = bt__annotation_any(p);
    p->module->groups.len = 0;
    if (bt__at_word(p, "type") || bt__token_is_word(p, &p->next, "type"))
        return bt__skip_adt(p);
    if (bt__at_word(p, "def"))
        return parse_def(p);
    if (bt__at_word(p, "const"))
        return parse_const(p);
    if (bt__at_word(p, "gradient") || bt__at_word(p, "jvp"))
        return parse_gradient(p);
    return parse_extern(p);
}
