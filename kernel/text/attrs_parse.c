/*
 * Attributes: name=value, by the rows of an operator's schema or, of functions,
 * free-form.
 *
 *   value = [-] NUMBER | True | False | None | STRING | dtype
 *         | "[" values "]" | "(" values ")" | dim | shape | type | @global
 */
#include "text/draft.h"
#include "value/decimal.h"

#include <math.h>
#include <string.h>

/* A value of each kind goes straight into its member. */
typedef struct reader {
    bt__parser *p;
    const bt_op *op; /* NULL: a preset of an operator that is not at hand */
    const bt_attr *row;
    bt__token start;
} reader;

static int fail_value(reader *r, const char *expected)
{
    return bt__error_token(r->p, BT_ERR_ATTRIBUTE, &r->p->token,
                           "%s%sattribute `%s`: expected %s, found %s",
                           r->op ? r->op->name : "", r->op ? ": " : "", r->row->name,
                           expected, bt__token_show(r->p, &r->p->token));
}

static int at_number(const bt__parser *p)
{
    return bt__at(p, BT_TOKEN_NUMBER) ||
           (bt__at(p, BT_TOKEN_MINUS) && p->next.kind == BT_TOKEN_NUMBER);
}

static int in_range(reader *r, int64_t value, const bt__token *token)
{
    const bt_attr *row = r->row;
    if ((!row->low && !row->high) || (value >= row->low && value <= row->high))
        return 1;
    if (row->high == INT64_MAX)
        return bt__error_token(r->p, BT_ERR_ATTRIBUTE, token,
                               "%s%sattribute `%s` is %lld, expected at least %lld",
                               r->op ? r->op->name : "", r->op ? ": " : "", row->name,
                               (long long)value, (long long)row->low);
    return bt__error_token(r->p, BT_ERR_ATTRIBUTE, token,
                           "%s%sattribute `%s` is %lld, expected %lld..%lld",
                           r->op ? r->op->name : "", r->op ? ": " : "", row->name,
                           (long long)value, (long long)row->low, (long long)row->high);
}

/* Whether behind the digits, or the word, nothing stands, or what says a type. */
static int ends_well(const char *text, uint32_t nbytes, uint32_t ndigit)
{
    return ndigit == nbytes || bt__suffix_read(text + ndigit, nbytes - ndigit);
}

static int read_int(reader *r, int64_t *out)
{
    bt__parser *p = r->p;
    bt__token token = p->token;
    if (bt__at_word(p, "True") || bt__at_word(p, "False")) {
        *out = bt__at_word(p, "True");
        bt__advance(p);
        return in_range(r, *out, &token);
    }
    if (bt__at_word(p, "true") || bt__at_word(p, "false"))
        return fail_value(r, "True or False");
    if (!at_number(p))
        return fail_value(r, "an integer");
    int is_negative = bt__at(p, BT_TOKEN_MINUS);
    uint32_t is_float;
    const bt__token *number = is_negative ? &p->next : &p->token;
    const char *digits = p->text + number->offset;
    uint32_t n = bt__digits_end(digits, number->nbytes, &is_float);
    const int is_typed = n < number->nbytes && digits[n] != 'i';
    if (is_float || is_typed || !ends_well(digits, number->nbytes, n))
        return fail_value(r, "an integer");
    uint64_t value;
    if (!bt__int_read(digits, n, &value) ||
        value > (uint64_t)INT64_MAX + (uint64_t)is_negative)
        return fail_value(r, "an integer of 64 bits");
    if (is_negative)
        bt__advance(p);
    bt__advance(p);
    *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return in_range(r, *out, &token);
}

static int read_float(reader *r, double *out)
{
    bt__parser *p = r->p;
    int is_negative = bt__at(p, BT_TOKEN_MINUS);
    uint32_t is_float, n = 0;
    const bt__token *token = is_negative ? &p->next : &p->token;
    const char *text = p->text + token->offset;
    if (token->kind == BT_TOKEN_NUMBER)
        n = bt__digits_end(text, token->nbytes, &is_float);
    else if (token->kind == BT_TOKEN_WORD && token->nbytes >= 3 &&
             (!memcmp(text, "inf", 3) || !memcmp(text, "nan", 3)))
        n = 3;
    if (!n || !ends_well(text, token->nbytes, n))
        return fail_value(r, "a number");
    if (token->kind == BT_TOKEN_NUMBER)
        *out = bt__float_read(text, n, bt__float_format_of(BT_FLOAT64));
    else
        *out = text[0] == 'i' ? (double)INFINITY : (double)NAN;
    if (is_negative) {
        bt__advance(p);
        *out = -*out;
    }
    bt__advance(p);
    return 1;
}

static int read_string(reader *r, const char **out)
{
    bt__parser *p = r->p;
    if (bt__at(p, BT_TOKEN_WORD))
        return fail_value(r, "a string in quotes, \"like this\"");
    if (!bt__at(p, BT_TOKEN_STRING))
        return fail_value(r, "a string");
    if (!(*out = bt__token_name(p, &p->token)))
        return 0;
    bt__advance(p);
    return 1;
}

/* 1 when `choices` ("A|B") holds the text. */
static int is_choice(const char *choices, const char *text)
{
    size_t nbytes = strlen(text);
    for (const char *at = choices;; at++) {
        size_t n = strcspn(at, "|");
        if (n == nbytes && memcmp(at, text, n) == 0)
            return 1;
        at += n;
        if (!*at)
            return 0;
    }
}

static int read_choice(reader *r, const char **out)
{
    bt__token token = r->p->token;
    if (bt__accept_none(r->p)) {
        *out = r->p->store ? bt_name(r->p->store, "", 0) : "";
        return *out || bt__error_memory(r->p);
    }
    if (!read_string(r, out))
        return 0;
    if (!r->row->choices || is_choice(r->row->choices, *out))
        return 1;
    return bt__error_token(r->p, BT_ERR_ATTRIBUTE, &token,
                           "%s%sattribute `%s`: expected one of %s, found %s",
                           r->op ? r->op->name : "", r->op ? ": " : "", r->row->name,
                           r->row->choices, bt__token_show(r->p, &token));
}

/* ---- lists ---- */

static int read_item(reader *r, void *item)
{
    if (r->row->kind == BT_ATTR_FLOATS)
        return read_float(r, item);
    if (r->row->kind == BT_ATTR_STRINGS)
        return read_string(r, item);
    return read_int(r, item);
}

/* All items are 8 bytes: int64_t, double or a pointer. A list of lists, such as Relay's
 * pad_width=[[0, 0], [1, 2]], is one list of what they hold. */
typedef bt_vec(int64_t) list_items;

static int read_items_to(reader *r, uint32_t close, int is_nested, list_items *items)
{
    bt__parser *p = r->p;
    while (!bt__at(p, close)) {
        int64_t item;
        uint32_t inner = bt__at(p, BT_TOKEN_LBRACKET) ? BT_TOKEN_RBRACKET
                         : bt__at(p, BT_TOKEN_LPAREN) ? BT_TOKEN_RPAREN
                                                      : 0;
        if (inner && !is_nested) {
            bt__advance(p);
            if (!read_items_to(r, inner, 1, items))
                return 0;
        } else {
            if (!read_item(r, &item))
                return 0;
            if (!BT_PUSH(p->arena, items, item))
                return bt__error_memory(p);
        }
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, close);
}

static int read_items(reader *r, uint32_t close, bt_ints *out)
{
    list_items items = { 0 };
    if (!read_items_to(r, close, 0, &items))
        return 0;
    *out = (bt_ints){ .n = items.len, .at = items.at };
    return 1;
}

static int read_list(reader *r, bt_ints *out)
{
    bt__parser *p = r->p;
    if (bt__accept_none(p)) {
        *out = (bt_ints){ .n = BT_NONE_LIST };
        return 1;
    }
    if (bt__accept(p, BT_TOKEN_LBRACKET))
        return read_items(r, BT_TOKEN_RBRACKET, out);
    if (bt__accept(p, BT_TOKEN_LPAREN))
        return read_items(r, BT_TOKEN_RPAREN, out);
    int64_t *item = BT_NEW(p->arena, int64_t);
    if (!item)
        return bt__error_memory(p);
    *out =
        (bt_ints){ .n = r->row->kind == BT_ATTR_INT_OR_INTS ? BT_SINGLE : 1, .at = item };
    return read_item(r, item);
}

/* ---- terms ---- */

/* A dtype stands in quotes, as in Relay, or bare; "" is none. */
static int read_dtype(reader *r, const bt_type **out)
{
    bt__parser *p = r->p;
    if (!bt__at(p, BT_TOKEN_STRING)) {
        *out = bt__parse_term(p, BT_KIND_DTYPE);
        return *out != NULL;
    }
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    bt_dtype dtype = bt__dtype_named(p, name, strlen(name));
    if (*name && !dtype)
        return fail_value(r, "an element type, such as \"float32\"");
    bt__advance(p);
    *out = *name ? bt_type_dtype(p->store, dtype) : NULL;
    return !*name || *out || bt__error_store(p, token.offset);
}

static int read_shape(reader *r, const bt_type **out)
{
    bt__parser *p = r->p;
    if (bt__at(p, BT_TOKEN_LBRACKET))
        *out = bt__parse_shape_list(p, BT_TOKEN_RBRACKET, r->row);
    else if (bt__at(p, BT_TOKEN_LPAREN))
        *out = bt__parse_shape_list(p, BT_TOKEN_RPAREN, r->row);
    else
        *out = bt__parse_term(p, BT_KIND_SHAPE);
    return *out != NULL;
}

static int read_term(reader *r, const bt_type **out)
{
    bt__parser *p = r->p;
    if (r->row->kind != BT_ATTR_DIM && bt__accept_none(p)) {
        *out = NULL;
        return 1;
    }
    if (r->row->kind == BT_ATTR_DTYPE)
        return read_dtype(r, out);
    if (r->row->kind == BT_ATTR_SHAPE)
        return read_shape(r, out);
    *out = bt__parse_term(p, r->row->kind == BT_ATTR_DIM ? BT_KIND_DIM : BT_KIND_TYPE);
    return *out != NULL;
}

/* A global becomes a node only when the module is built: its name is kept by member. */
static int read_func(reader *r, const bt_value **out)
{
    bt__parser *p = r->p;
    *out = NULL;
    if (bt__accept_none(p))
        return 1;
    if (!bt__at(p, BT_TOKEN_GLOBAL))
        return fail_value(r, "a function, such as @f");
    const char *name = bt__token_name(p, &p->token);
    if (!name || !bt__use_global(p, name, &p->token, out))
        return 0;
    bt__advance(p);
    return 1;
}

static int read_value(reader *r, void *member)
{
    bt__parser *p = r->p;
    switch (r->row->kind) {
    case BT_ATTR_INT:
        if (r->row->preset && !strcmp(r->row->preset, "None") && bt__accept_none(p)) {
            *(int64_t *)member = BT_NONE;
            return 1;
        }
        return read_int(r, member);
    case BT_ATTR_BOOL: {
        bt__token token = p->token;
        if (!read_int(r, member))
            return 0;
        if (*(int64_t *)member == 0 || *(int64_t *)member == 1)
            return 1;
        return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                               "attribute `%s`: expected True or False", r->row->name);
    }
    case BT_ATTR_FLOAT: return read_float(r, member);
    case BT_ATTR_STRING: return read_choice(r, member);
    case BT_ATTR_INTS:
    case BT_ATTR_FLOATS:
    case BT_ATTR_STRINGS:
    case BT_ATTR_INT_OR_INTS: return read_list(r, member);
    case BT_ATTR_DTYPE:
    case BT_ATTR_DIM:
    case BT_ATTR_SHAPE:
    case BT_ATTR_TYPE: return read_term(r, member);
    case BT_ATTR_FUNC: return read_func(r, member);
    default:
        return bt__error_token(p, BT_ERR_PLUGIN, &r->start,
                               "attribute `%s` is of a kind this Baton does not know",
                               r->row->name);
    }
}

/* ---- presets ---- */

int bt__attr_preset(bt__parser *p, const bt_attr *row, void *member)
{
    if (row->kind == BT_ATTR_STRING) {
        const char *text = p->store ? bt_name_of(p->store, row->preset) : row->preset;
        memcpy(member, &text, sizeof(text));
        return text || bt__error_memory(p);
    }
    if (row->kind == BT_ATTR_DTYPE && !*row->preset)
        return 1; // "": none, as zero bytes say
    bt__parser preset;
    bt__parser_init(&preset, p->ctx, p->store, p->arena, "the default of an attribute",
                    row->preset, (uint32_t)strlen(row->preset));
    preset.any = BT__ANY_NOT;
    preset.is_quiet = p->is_quiet;
    reader r = { .p = &preset, .row = row, .start = preset.token };
    int ok = read_value(&r, member) &&
             (bt__at(&preset, BT_TOKEN_END) || fail_value(&r, "nothing more"));
    if (!ok) { // the inner parser has reported it
        p->nerror += preset.nerror;
        p->stop |= preset.stop;
        if (!p->first)
            p->first = preset.first;
    }
    return ok;
}

/* The author's struct with every default in it; those that must be given are zero. */
static const char *presets_of(bt__parser *p, const bt_op *op)
{
    const char *known = bt_map_find(&p->op_presets, op);
    if (known)
        return known;
    char *at = bt_arena_alloc(p->arena, 1, op->attrs_nbytes);
    if (!at || !bt_map_put(&p->op_presets, op, at)) {
        bt__error_memory(p);
        return NULL;
    }
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        if (row->preset && !bt__attr_preset(p, row, at + row->offset))
            return NULL;
    }
    return at;
}

/* ---- the attributes of a call ---- */

int bt__attrs_begin(bt__parser *p, const bt_op *op, bt__attr_set *set)
{
    *set = (bt__attr_set){ .op = op };
    for (const bt_attr *row = op->attrs; row && row->name; row++)
        set->nrow++;
    if (!set->nrow)
        return 1;
    const char *presets = presets_of(p, op);
    if (!presets)
        return 0;
    set->at = bt_arena_alloc(p->arena, 1, op->attrs_nbytes);
    set->seen = bt_arena_alloc(p->arena, 1, set->nrow);
    if (!set->at || !set->seen)
        return bt__error_memory(p);
    memcpy(set->at, presets, op->attrs_nbytes);
    return 1;
}

int bt__at_attr(const bt__parser *p)
{
    return (bt__at(p, BT_TOKEN_WORD) || bt__at(p, BT_TOKEN_STRING)) &&
           p->next.kind == BT_TOKEN_EQUAL;
}

static int unknown_attr(bt__parser *p, const bt__attr_set *set, const bt__token *token,
                        const char *name)
{
    const char **names = BT_NEWS(p->arena, const char *, set->nrow + 1);
    if (!names)
        return bt__error_memory(p);
    for (uint32_t i = 0; i < set->nrow; i++)
        names[i] = set->op->attrs[i].name;
    const char *near = bt__nearest(name, names);
    return bt__error_token(p, BT_ERR_ATTRIBUTE, token, "%s has no attribute `%s`%s%s%s",
                           set->op->name, name,
                           near        ? "; did you mean `"
                           : set->nrow ? "; it has "
                                       : "; it has none",
                           near        ? near
                           : set->nrow ? bt__name_list(p, names)
                                       : "",
                           near ? "`?" : "");
}

/* Relay's arange(0, %n, 1, start=0, stop=%n, step=1) says its operands twice. */
static int is_input(const bt_op *op, const char *name)
{
    uint32_t i = 0;
    while (op->inputs && op->inputs[i].name && strcmp(op->inputs[i].name, name) != 0)
        i++;
    return op->inputs && op->inputs[i].name;
}

int bt__attrs_one(bt__parser *p, bt__attr_set *set)
{
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    uint32_t i = 0;
    while (i < set->nrow && strcmp(set->op->attrs[i].name, name) != 0)
        i++;
    if (i == set->nrow && p->dialect == BT__RELAY && is_input(set->op, name))
        return bt__attrs_skip(p);
    if (i == set->nrow) {
        unknown_attr(p, set, &token, name);
        return !p->stop && bt__attrs_skip(p);
    }
    if (set->seen[i])
        return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                               "%s: attribute `%s` is given twice", set->op->name, name);
    set->seen[i] = 1;
    bt__advance(p);
    bt__advance(p);
    reader r = { .p = p, .op = set->op, .row = &set->op->attrs[i], .start = p->token };
    uint32_t any = p->any;
    if (any == BT__ANY_PARAM)
        p->any = BT__ANY_NOT;
    int ok = read_value(&r, set->at + r.row->offset);
    p->any = any;
    return ok;
}

int bt__attrs_end(bt__parser *p, bt__attr_set *set, const bt__token *where)
{
    for (uint32_t i = 0; i < set->nrow; i++) {
        const bt_attr *row = &set->op->attrs[i];
        if (!row->preset && !set->seen[i])
            return bt__error_token(p, BT_ERR_ATTRIBUTE, where,
                                   "%s: attribute `%s` must be given", set->op->name,
                                   row->name);
    }
    return 1;
}

/* To the comma or the closing bracket that ends the value. */
int bt__attrs_skip(bt__parser *p)
{
    uint32_t depth = 0;
    for (; !bt__at(p, BT_TOKEN_END) && !bt__at_definition(p); bt__advance(p)) {
        uint32_t kind = p->token.kind;
        if (depth == 0 && (kind == BT_TOKEN_COMMA || kind == BT_TOKEN_RPAREN ||
                           kind == BT_TOKEN_RBRACE))
            return 1;
        depth += kind == BT_TOKEN_LPAREN || kind == BT_TOKEN_LBRACKET;
        depth -= depth && (kind == BT_TOKEN_RPAREN || kind == BT_TOKEN_RBRACKET);
    }
    return bt__error_expected(p, "`,` or `)`");
}

/* ---- free-form attributes ---- */

static int read_dict_value(bt__parser *p, bt_dict_entry *entry);

/* [1, "a", [2, 3]] */
static int read_dict_list(bt__parser *p, bt_dict_entry *entry)
{
    bt__dict_entries items = { 0 };
    int ok = bt__enter(p);
    if (!ok)
        return 0;
    bt__advance(p);
    while (ok && !bt__at(p, BT_TOKEN_RBRACKET)) {
        bt_dict_entry item = { .name = entry->name };
        ok = read_dict_value(p, &item) &&
             (BT_PUSH(p->arena, &items, item) || bt__error_memory(p));
        if (!ok || !bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    bt__leave(p);
    entry->kind = BT_DICT_LIST;
    entry->n = items.len;
    entry->items = items.at;
    return ok && bt__expect(p, BT_TOKEN_RBRACKET);
}

static int read_dict_value(bt__parser *p, bt_dict_entry *entry)
{
    if (bt__at(p, BT_TOKEN_LBRACKET))
        return read_dict_list(p, entry);
    if (bt__accept_none(p)) {
        entry->kind = BT_DICT_NONE;
        return 1;
    }
    static const bt_attr any = { .name = "" };
    bt_attr row = any;
    row.name = entry->name;
    reader r = { .p = p, .row = &row, .start = p->token };
    const bt__token *number = bt__at(p, BT_TOKEN_MINUS) ? &p->next : &p->token;
    const char *text = p->text + number->offset;
    if (bt__at(p, BT_TOKEN_STRING)) {
        entry->kind = BT_DICT_TEXT;
        return read_string(&r, &entry->text);
    }
    if (bt__at_word(p, "True") || bt__at_word(p, "False")) {
        entry->kind = BT_DICT_BOOL;
        return read_int(&r, &entry->i);
    }
    uint32_t is_float = 1;
    if (number->kind == BT_TOKEN_NUMBER) {
        uint32_t n = bt__digits_end(text, number->nbytes, &is_float);
        is_float |= n < number->nbytes && text[n] == 'f';
    } else if (number->kind != BT_TOKEN_WORD) {
        return bt__error_expected(p, "a number, a string, True, False, None or a list");
    }
    entry->kind = is_float ? BT_DICT_FLOAT : BT_DICT_INT;
    return is_float ? read_float(&r, &entry->f) : read_int(&r, &entry->i);
}

/* A function that stands for the derivatives of this one is used as its callees are: it is
 * read where it is imported. */
static int use_rule(bt__parser *p, const bt_dict_entry *entry, const bt__token *token)
{
    static const char *const rules[] = {
#define BT_DERIVATIVE_RULE(name, what) #name,
#include <baton/derivative_rules.def>
    };
    for (uint32_t i = 0; entry->kind == BT_DICT_TEXT && i < BT_COUNT(rules); i++) {
        if (!strcmp(entry->name, rules[i]) &&
            bt_map_find(&p->module->imported, entry->text))
            return bt__use_global(p, entry->text, token, NULL);
    }
    return 1;
}

int bt__parse_dict_entry(bt__parser *p, bt__dict_entries *out)
{
    bt__token token = p->token;
    bt_dict_entry entry = { .name = bt__token_name(p, &token) };
    if (!entry.name)
        return 0;
    bt__advance(p);
    bt__advance(p);
    // The device of a value is planned by Baton: what Relay's planner wrote is not
    // used.
    if (p->dialect == BT__RELAY && !strcmp(entry.name, "virtual_device"))
        return bt__attrs_skip(p);
    if (!read_dict_value(p, &entry) || !use_rule(p, &entry, &token))
        return 0;
    for (uint32_t i = 0; i < out->len; i++) {
        if (out->at[i].name == entry.name)
            return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                                   "attribute `%s` is given twice", entry.name);
    }
    return BT_PUSH(p->arena, out, entry) || bt__error_memory(p);
}

int bt__parse_dict(bt__parser *p, bt__dict_entries *out)
{
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!bt__at_attr(p))
            return bt__error_expected(p, "name=value");
        if (!bt__parse_dict_entry(p, out))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, BT_TOKEN_RPAREN);
}

/* ---- from outside ---- */

static bt_status parse_all(bt__parser *p, const bt_op *op, const void **out)
{
    bt__attr_set set;
    bt__token start = p->token;
    p->any = BT__ANY_NOT;
    int ok = bt__attrs_begin(p, op, &set);
    while (ok && !bt__at(p, BT_TOKEN_END)) {
        ok =
            bt__at_attr(p) ? bt__attrs_one(p, &set) : bt__error_expected(p, "name=value");
        if (ok && !bt__at(p, BT_TOKEN_END))
            ok = bt__expect(p, BT_TOKEN_COMMA);
    }
    if (!ok || !bt__attrs_end(p, &set, &start) || p->first)
        return p->first;
    if (!set.nrow) {
        *out = NULL;
        return NULL;
    }
    const void *copy = bt_attrs_copy(p->store, op->attrs, op->attrs_nbytes, set.at);
    if (!copy)
        return bt_no_memory();
    *out = copy;
    return NULL;
}

/* Names of options may be written with dashes, as they are listed: "weight-bits=4". A text of
 * the same length, in which names have what the rows have. */
static const char *without_dashes(bt_arena *arena, const char *text, size_t nbytes)
{
    char *copy = bt_arena_alloc(arena, 1, nbytes + 1);
    char quote = 0;
    size_t word = 0; /* where a word may have begun */
    int depth = 0;
    for (size_t i = 0; copy && i <= nbytes; i++) {
        const char c = text[i];
        copy[i] = c;
        if (quote) {
            if (c == '\\' && i + 1 < nbytes) {
                copy[i + 1] = text[i + 1];
                i++;
            } else if (c == quote) {
                quote = 0;
            }
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c && strchr("[({", c)) {
            depth++;
        } else if (c && strchr("])}", c)) {
            depth--;
        } else if (c == ',') {
            word = i + 1;
        } else if (c == '=' && depth == 0) {
            for (; word < i; word++)
                copy[word] = copy[word] == '-' ? '_' : copy[word];
        }
    }
    return copy;
}

bt_status bt_attrs_parse(bt_ctx *ctx, bt_store *store, const bt_op *op, const char *text,
                         const void **out)
{
    size_t nbytes = strlen(text);
    if (nbytes >= UINT32_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: attributes of more than 4 GiB", op->name);
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    text = arena ? without_dashes(arena, text, nbytes) : NULL;
    if (!text) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    bt__parser p;
    bt__parser_init(&p, ctx, store, arena, op->name, text, (uint32_t)nbytes);
    p.is_quiet = 1;
    bt_status status = parse_all(&p, op, out);
    bt_arena_destroy(arena);
    return status;
}
