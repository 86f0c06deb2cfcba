/* Formulas that hooks write, and which way an operator's formula comes. */
#include <string.h>

#include "base/ctx.h"
#include "compute/formula/cache.h"
#include "compute/formula/signature.h"

typedef bt_vec(const char *) items;

struct bt_formula {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *op;
    bt_status status; /* the first failure: from there on nothing is added */
    bt_text text;
    bt_map lists; /* name -> items * */
};

void bt_formula_fail(bt_formula *f, uint32_t code, const char *format, ...)
{
    va_list args;
    if (f->status)
        return;
    va_start(args, format);
    bt_text text;
    bt_text_init(&text, f->arena);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *message = bt_text_get(&text);
    f->status =
        message ? bt_fail(f->ctx, code, "%s: %s", f->op, message) : bt_no_memory();
}

/* ---- lists ---- */

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* The list of that name, an empty one where there is none yet. NULL: no memory. */
static items *list_of(bt_formula *f, const char *name)
{
    items *list = f->status ? NULL : bt_map_find(&f->lists, name);
    if (list || f->status)
        return list;
    list = BT_NEW(f->arena, items);
    name = bt_arena_text(f->arena, name, strlen(name));
    if (list && name && bt_map_put(&f->lists, name, list))
        return list;
    f->status = bt_no_memory();
    return NULL;
}

void bt_formula_clear(bt_formula *f, const char *name)
{
    items *list = list_of(f, name);
    if (list)
        list->len = 0;
}

/* Commas go between items, and one beside a list without items goes with it. */
static const char *put_list(const items *list, const char *rest, const char *joiner,
                            size_t njoiner, bt_text *out)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (i)
            bt_text_add(out, joiner, njoiner);
        bt_text_add(out, list->at[i], strlen(list->at[i]));
    }
    if (list->len || out->failed)
        return rest;
    if (out->len >= 2 && memcmp(out->at + out->len - 2, ", ", 2) == 0)
        out->len -= 2;
    else if (strncmp(rest, ", ", 2) == 0)
        rest += 2;
    return rest;
}

/* `$name` and `$[joiner]name`; returns what is behind. */
static const char *put_reference(bt_formula *f, const char *at, bt_text *out)
{
    const char *joiner = ", ";
    size_t njoiner = 2, n = 0;
    if (*at == '[') {
        joiner = at + 1;
        njoiner = strcspn(joiner, "]");
        at = joiner + njoiner + (joiner[njoiner] == ']');
    }
    while (is_letter(at[n]))
        n++;
    const char *name = bt_arena_text(f->arena, at, n);
    const items *list = name ? bt_map_find(&f->lists, name) : NULL;
    if (!name)
        f->status = bt_no_memory();
    else if (!list)
        bt_formula_fail(f, BT_ERR_INTERNAL, "its formula has no list `%s`", name);
    return list ? put_list(list, at + n, joiner, njoiner, out) : at + n;
}

static void expand(bt_formula *f, const char *from, bt_text *out)
{
    while (*from && !f->status) {
        size_t n = strcspn(from, "$");
        bt_text_add(out, from, n);
        from += n;
        if (*from == '$')
            from = put_reference(f, from + 1, out);
    }
    if (out->failed && !f->status)
        f->status = bt_no_memory();
}

/* NULL: no memory. */
static const char *format_text(bt_formula *f, const char *format, va_list args)
    BT_PRINTF(2, 0);
static const char *format_text(bt_formula *f, const char *format, va_list args)
{
    bt_text text;
    bt_text_init(&text, f->arena);
    bt_text_addv(&text, format, args);
    const char *out = bt_text_get(&text);
    if (!out)
        f->status = bt_no_memory();
    return out;
}

static void add_item(bt_formula *f, items *list, const char *pattern)
{
    bt_text text;
    bt_text_init(&text, f->arena);
    expand(f, pattern, &text);
    if (!f->status && !BT_PUSH(f->arena, list, bt_text_get(&text)))
        f->status = bt_no_memory();
}

void bt_formula_item(bt_formula *f, const char *name, const char *format, ...)
{
    items *list = list_of(f, name);
    if (!list)
        return;
    va_list args;
    va_start(args, format);
    const char *pattern = format_text(f, format, args);
    va_end(args);
    if (pattern)
        add_item(f, list, pattern);
}

void bt_formula_set(bt_formula *f, const char *name, uint32_t at, const char *format, ...)
{
    items *list = list_of(f, name);
    while (list && list->len <= at && !f->status) {
        if (!BT_PUSH(f->arena, list, ""))
            f->status = bt_no_memory();
    }
    if (!list || f->status)
        return;
    va_list args;
    va_start(args, format);
    const char *pattern = format_text(f, format, args);
    va_end(args);
    uint32_t len = list->len;
    if (pattern)
        add_item(f, list, pattern);
    if (f->status)
        return;
    list->at[at] = list->at[len];
    list->len = len;
}

/* `pattern` with the number in the place of each `#`. NULL: no memory. */
static const char *number_text(bt_formula *f, const char *pattern, uint32_t number)
{
    bt_text text;
    bt_text_init(&text, f->arena);
    while (*pattern) {
        size_t n = strcspn(pattern, "#");
        bt_text_add(&text, pattern, n);
        pattern += n;
        if (*pattern == '#')
            bt_text_addf(&text, "%u", number), pattern++;
    }
    const char *out = bt_text_get(&text);
    if (!out)
        f->status = bt_no_memory();
    return out;
}

void bt_formula_each(bt_formula *f, const char *name, uint32_t low, uint32_t high,
                     const char *format, ...)
{
    items *list = list_of(f, name);
    if (!list)
        return;
    va_list args;
    va_start(args, format);
    const char *pattern = format_text(f, format, args);
    va_end(args);
    for (uint32_t i = low; pattern && i < high && !f->status; i++) {
        const char *item = number_text(f, pattern, i);
        if (item)
            add_item(f, list, item);
    }
}

void bt_formula_add(bt_formula *f, const char *format, ...)
{
    if (f->status)
        return;
    va_list args;
    va_start(args, format);
    const char *pattern = format_text(f, format, args);
    va_end(args);
    if (pattern)
        expand(f, pattern, &f->text);
}

/* ---- what the call tells ---- */

uint32_t bt_formula_rank(bt_formula *f, const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    if (!shape)
        bt_formula_fail(f, BT_ERR_UNSUPPORTED,
                        "the rank of a tensor is known only at run time, and the formula "
                        "depends on it");
    return shape ? shape->n : 0;
}

uint32_t bt_formula_axis(bt_formula *f, int64_t axis, uint32_t rank)
{
    axis += axis < 0 ? rank : 0;
    if (axis >= 0 && axis < rank)
        return (uint32_t)axis;
    bt_formula_fail(f, BT_ERR_INTERNAL, "an axis is outside of a tensor of rank %u",
                    rank);
    return 0;
}

const char *bt_formula_wide(const bt_type *type)
{
    bt_dtype dtype = bt_tensor_dtype(type);
    if (bt_dtype_is_float(dtype))
        return BT_DTYPE_BITS(dtype) < 32 ? "float64" : "t";
    return dtype == BT_UINT64 ? "uint64" : "int64";
}

/* ---- an operator's ---- */

static bt_status write(bt_formula *f, const bt_formula_call *call, const char **out)
{
    bt_text_init(&f->text, f->arena);
    bt_map_init(&f->lists, f->arena, 1);
    bt_running_part part = { "the formula hook of", call->op->name, call->op->plugin,
                             NULL };
    bt__part_begin(f->ctx, &part);
    call->op->write_formula(f, call);
    bt__part_end(f->ctx, &part);
    *out = bt_text_get(&f->text);
    return f->status ? f->status : *out ? NULL : bt_no_memory();
}

static bt_status formula_of_text(bt_ctx *ctx, bt_arena *arena, const bt_op *op,
                                 const char *text, const struct bt__formula **out)
{
    BT_TRY(bt__formulas_get(ctx, arena, op->name, text, out));
    const struct bt__formula *f = *out;
    return op->formula_attr || !(f->signature->ninput || f->ndim)
               ? NULL
               : bt__formula_fail(ctx, f, BT_ERR_SYNTAX, f->stages[0].place,
                                  "inputs stand in the operator's row, not before `=>`");
}

bt_status bt__formula_of_call(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                              const struct bt__formula **out)
{
    const bt_op *op = call->op;
    bt_formula f = { .ctx = ctx, .arena = arena, .op = op->name };
    const char *text = op->formula;
    if (op->formula_attr)
        text = *(const char *const *)bt_attr_find(op, call->attrs, op->formula_attr,
                                                  BT_ATTR_STRING);
    else if (!text)
        BT_TRY(write(&f, call, &text));
    return formula_of_text(ctx, arena, op, text, out);
}
