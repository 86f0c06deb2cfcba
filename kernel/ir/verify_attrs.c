/* Attributes of a call against the operator's schema. */
#include "ir/verify.h"

#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

struct attr_check {
    struct bt__verifier *verifier;
    const bt_call *call;
    const bt_attr *row;
};

static const void *member(const struct attr_check *c)
{
    return (const char *)c->call->attrs + c->row->offset;
}

static bt_status check_int(const struct attr_check *c, int64_t value)
{
    const bt_attr *row = c->row;
    int is_free = row->low == 0 && row->high == 0;
    int is_none = value == BT_NONE && row->preset && strcmp(row->preset, "None") == 0;
    if (is_free || is_none || (value >= row->low && value <= row->high))
        return NULL;
    return bt__verify_fail(c->verifier, &c->call->base,
                           "attribute %s of %s is %" PRId64 ", outside %" PRId64
                           "..%" PRId64,
                           row->name, c->call->op->name, value, row->low, row->high);
}

static bt_status check_list(const struct attr_check *c, int64_t n, const void *at)
{
    if (n < BT_NONE_LIST || (n > 0 && !at))
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s is a damaged list", c->row->name,
                               c->call->op->name);
    return NULL;
}

static bt_status check_ints(const struct attr_check *c)
{
    bt_ints list;
    memcpy(&list, member(c), sizeof(list));
    BT_TRY(check_list(c, list.n, list.at));
    for (int64_t i = 0; i < list.n; i++)
        BT_TRY(check_int(c, list.at[i]));
    return NULL;
}

/* Whether `text` is one of "a|b|c". */
static int is_choice(const char *choices, const char *text)
{
    size_t nbytes = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        const char *end = strchr(at, '|');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        if (length == nbytes && memcmp(at, text, nbytes) == 0)
            return 1;
    }
    return 0;
}

static bt_status check_string(const struct attr_check *c)
{
    const char *text;
    memcpy(&text, member(c), sizeof(text));
    if (!text)
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s is missing", c->row->name,
                               c->call->op->name);
    if (c->row->choices && !is_choice(c->row->choices, text))
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s is \"%s\", not one of %s",
                               c->row->name, c->call->op->name, text, c->row->choices);
    return NULL;
}

static bt_status check_term(const struct attr_check *c, uint32_t kind)
{
    const bt_type *term;
    memcpy(&term, member(c), sizeof(term));
    if (!term)
        return NULL;
    if (bt_type_kind_of(term) != kind)
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s has kind %s, expected %s",
                               c->row->name, c->call->op->name,
                               bt_kind_name(bt_type_kind_of(term)), bt_kind_name(kind));
    if (!c->verifier->module->is_typed)
        return NULL;
    return bt__verify_type(c->verifier, &c->call->base, c->row->name, term);
}

static bt_status check_func(const struct attr_check *c)
{
    const bt_value *value;
    memcpy(&value, member(c), sizeof(value));
    if (!value)
        return NULL;
    if (value->kind != BT_VALUE_GLOBAL || !value->name ||
        !bt_module_find(c->verifier->module, value->name))
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s names no global of the module",
                               c->row->name, c->call->op->name);
    return NULL;
}

static bt_status check_row(const struct attr_check *c)
{
    int64_t number;
    bt_floats floats;
    bt_strings strings;
    switch (c->row->kind) {
    case BT_ATTR_INT:
        memcpy(&number, member(c), sizeof(number));
        return check_int(c, number);
    case BT_ATTR_BOOL:
        memcpy(&number, member(c), sizeof(number));
        if (number == 0 || number == 1)
            return NULL;
        return bt__verify_fail(c->verifier, &c->call->base,
                               "attribute %s of %s is %" PRId64 ", expected 0 or 1",
                               c->row->name, c->call->op->name, number);
    case BT_ATTR_STRING: return check_string(c);
    case BT_ATTR_INTS: return check_ints(c);
    case BT_ATTR_FLOATS:
        memcpy(&floats, member(c), sizeof(floats));
        return check_list(c, floats.n, floats.at);
    case BT_ATTR_STRINGS:
        memcpy(&strings, member(c), sizeof(strings));
        return check_list(c, strings.n, (const void *)strings.at);
    case BT_ATTR_DTYPE: return check_term(c, BT_KIND_DTYPE);
    case BT_ATTR_DIM: return check_term(c, BT_KIND_DIM);
    case BT_ATTR_SHAPE: return check_term(c, BT_KIND_SHAPE);
    case BT_ATTR_TYPE: return check_term(c, BT_KIND_TYPE);
    case BT_ATTR_FUNC: return check_func(c);
    default: return NULL;
    }
}

bt_status bt__verify_attrs(struct bt__verifier *v, const bt_call *call)
{
    struct attr_check check = { .verifier = v, .call = call };
    if (!call->op->attrs)
        return NULL;
    if (!call->attrs)
        return bt__verify_fail(v, &call->base, "%s lacks its attributes", call->op->name);
    for (const bt_attr *row = call->op->attrs; row->name; row++) {
        check.row = row;
        BT_TRY(check_row(&check));
    }
    return NULL;
}
