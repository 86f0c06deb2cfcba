#include "ir/attr_fault.h"

#include <inttypes.h>
#include <string.h>

struct check {
    const bt_attr *row;
    const void *member;
    bt_text text; /* empty while all is well */
};

static int may_be_none(const bt_attr *row)
{
    return row->preset && strcmp(row->preset, "None") == 0;
}

static void refuse_none(struct check *c)
{
    if (!may_be_none(c->row))
        bt_text_addf(&c->text, "is None, but must be given");
}

static void check_number(struct check *c, int64_t value)
{
    const bt_attr *row = c->row;
    int is_free = row->low == 0 && row->high == 0;
    if (!is_free && (value < row->low || value > row->high))
        bt_text_addf(&c->text, "is %" PRId64 ", outside %" PRId64 "..%" PRId64, value,
                     row->low, row->high);
}

static void check_list(struct check *c, int64_t n, const void *at)
{
    if (n == BT_NONE_LIST)
        refuse_none(c);
    else if (n < BT_NONE_LIST || (n > 0 && !at))
        bt_text_addf(&c->text, "is a damaged list");
}

static void check_ints(struct check *c, int may_be_single)
{
    bt_ints list;
    memcpy(&list, c->member, sizeof(list));
    int is_single = may_be_single && list.n == BT_SINGLE && list.at;
    if (!is_single)
        check_list(c, list.n, list.at);
    int64_t n = is_single ? 1 : list.n;
    for (int64_t i = 0; i < n && !c->text.len && !c->text.failed; i++)
        check_number(c, list.at[i]);
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

static void check_string(struct check *c)
{
    const char *text;
    memcpy(&text, c->member, sizeof(text));
    if (!text)
        bt_text_addf(&c->text, "is missing");
    else if (c->row->choices && !is_choice(c->row->choices, text))
        bt_text_addf(&c->text, "is \"%s\", not one of %s", text, c->row->choices);
}

static void check_term(struct check *c, uint32_t kind)
{
    const bt_type *term;
    memcpy(&term, c->member, sizeof(term));
    if (!term)
        refuse_none(c);
    else if (bt_type_kind_of(term) != kind)
        bt_text_addf(&c->text, "has kind %s, expected %s",
                     bt_kind_name(bt_type_kind_of(term)), bt_kind_name(kind));
}

static void check_row(struct check *c)
{
    int64_t number;
    bt_floats floats;
    bt_strings strings;
    const void *pointer;
    switch (c->row->kind) {
    case BT_ATTR_INT:
        memcpy(&number, c->member, sizeof(number));
        if (number == BT_NONE)
            refuse_none(c);
        else
            check_number(c, number);
        break;
    case BT_ATTR_BOOL:
        memcpy(&number, c->member, sizeof(number));
        if (number != 0 && number != 1)
            bt_text_addf(&c->text, "is %" PRId64 ", expected 0 or 1", number);
        break;
    case BT_ATTR_STRING: check_string(c); break;
    case BT_ATTR_INTS: check_ints(c, 0); break;
    case BT_ATTR_INT_OR_INTS: check_ints(c, 1); break;
    case BT_ATTR_FLOATS:
        memcpy(&floats, c->member, sizeof(floats));
        check_list(c, floats.n, floats.at);
        break;
    case BT_ATTR_STRINGS:
        memcpy(&strings, c->member, sizeof(strings));
        check_list(c, strings.n, (const void *)strings.at);
        break;
    case BT_ATTR_DTYPE: check_term(c, BT_KIND_DTYPE); break;
    case BT_ATTR_DIM: check_term(c, BT_KIND_DIM); break;
    case BT_ATTR_SHAPE: check_term(c, BT_KIND_SHAPE); break;
    case BT_ATTR_TYPE: check_term(c, BT_KIND_TYPE); break;
    case BT_ATTR_FUNC:
        memcpy(&pointer, c->member, sizeof(pointer));
        if (!pointer)
            refuse_none(c);
        break;
    default: break;
    }
}

int bt__attrs_admitted(bt_arena *arena, const bt_op *op, const void *attrs,
                       bt__attr_fault *out)
{
    struct check c;
    bt_text_init(&c.text, arena);
    for (c.row = op->attrs; c.row && c.row->name; c.row++) {
        c.member = (const char *)attrs + c.row->offset;
        check_row(&c);
        if (!c.text.len && !c.text.failed)
            continue;
        const char *what = bt_text_get(&c.text);
        *out = (bt__attr_fault){ c.row->name, what ? what : "is not admitted" };
        return 0;
    }
    return 1;
}
