/* Printing types, shapes, dims; parse_type.c reads them. */
#include "text/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add(bt_printer *p, const char *text)
{
    bt_text_add(p->out, text, strlen(text));
}

static void print_list(bt_printer *p, uint32_t n, const bt_type *const *at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            add(p, ", ");
        bt__print_term(p, at[i]);
    }
}

/* ---- names ---- */

static void print_var(bt_printer *p, const bt_type *type)
{
    const bt_var_type *var = (const bt_var_type *)(const void *)type;
    const char *name = p->names ? bt__names_find(p->names, type) : NULL;
    if (name)
        add(p, name);
    else if (var->is_anonymous)
        add(p, "?");
    else if (var->name && *var->name)
        bt__print_name(p->out, "", var->name);
    else
        bt_text_addf(p->out, "%s%u", bt_kind_name(var->param.kind), (unsigned)type->id);
}

/* In a field of a constructor, a dim that each value brings along; else not known yet. */
static void print_hole(bt_printer *p, const bt_hole_type *hole)
{
    add(p, p->is_field && hole->of_kind == BT_KIND_DIM ? "?" : "_");
}

static void print_opaque(bt_printer *p, const bt_type *type)
{
    const bt_opaque_type *dim = (const bt_opaque_type *)(const void *)type;
    const char *name = p->names ? bt__names_find(p->names, type) : NULL;
    if (name)
        add(p, name);
    else if (!p->names && dim->name)
        bt_text_addf(p->out, "?%s", dim->name);
    else
        add(p, "?");
}

static void print_bound(bt_printer *p, const bt_type *type)
{
    const bt_bound_type *bound = (const bt_bound_type *)(const void *)type;
    if (bound->depth < p->bound.len) {
        const struct bt__bound_names *names =
            &p->bound.at[p->bound.len - 1 - bound->depth];
        if (bound->index < names->n) {
            add(p, names->at[bound->index]);
            return;
        }
    }
    bt_text_addf(p->out, "_%u_%u", (unsigned)bound->depth, (unsigned)bound->index);
}

/* ---- dims ---- */

/* Parts of a dim are ordered by what is printed, because the order of their creation is
 * another one in each store. What is subtracted comes last. */
struct part {
    const char *text;
    int64_t coefficient;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *left = a, *right = b;
    int order = (left->coefficient < 0) - (right->coefficient < 0);
    if (!order)
        order = strcmp(left->text, right->text);
    if (order)
        return order;
    return (left->coefficient > right->coefficient) -
           (left->coefficient < right->coefficient);
}

static const char *term_text(bt_printer *p, const bt_type *type)
{
    bt_text *out = p->out, text;
    bt_text_init(&text, p->temp);
    p->out = &text;
    bt__print_term(p, type);
    p->out = out;
    const char *got = bt_text_get(&text);
    if (!got)
        out->failed = 1;
    return got ? got : "";
}

static struct part *new_parts(bt_printer *p, uint32_t n)
{
    struct part *parts = BT_NEWS(p->temp, struct part, n);
    if (!parts)
        p->out->failed = 1;
    return parts;
}

static void print_parts(bt_printer *p, const bt_list_type *list, const char *between)
{
    struct part *parts = new_parts(p, list->n);
    if (!parts)
        return;
    for (uint32_t i = 0; i < list->n; i++)
        parts[i].text = term_text(p, list->at[i]);
    qsort(parts, list->n, sizeof(*parts), compare_parts);
    for (uint32_t i = 0; i < list->n; i++) {
        if (i)
            add(p, between);
        add(p, parts[i].text);
    }
}

static void print_coefficient(bt_printer *p, int64_t coefficient, int is_first)
{
    uint64_t magnitude =
        coefficient < 0 ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
    if (is_first && coefficient < 0)
        bt_text_addf(p->out, "-%" PRIu64 "*", magnitude);
    else if (magnitude != 1)
        bt_text_addf(p->out, "%" PRIu64 "*", magnitude);
}

static void print_linear(bt_printer *p, const bt_linear_type *linear)
{
    struct part *parts = new_parts(p, linear->n);
    if (!parts)
        return;
    for (uint32_t i = 0; i < linear->n; i++)
        parts[i] = (struct part){ term_text(p, linear->terms[i].atom),
                                  linear->terms[i].coefficient };
    qsort(parts, linear->n, sizeof(*parts), compare_parts);
    for (uint32_t i = 0; i < linear->n; i++) {
        if (i)
            add(p, parts[i].coefficient < 0 ? " - " : " + ");
        print_coefficient(p, parts[i].coefficient, i == 0);
        add(p, parts[i].text);
    }
    uint64_t magnitude = linear->constant < 0 ? 0 - (uint64_t)linear->constant
                                              : (uint64_t)linear->constant;
    if (linear->n == 0)
        bt_text_addf(p->out, "%" PRId64, linear->constant);
    else if (linear->constant)
        bt_text_addf(p->out, " %c %" PRIu64, linear->constant < 0 ? '-' : '+', magnitude);
}

static void print_dim_call(bt_printer *p, const char *name, const bt_list_type *list,
                           int is_ordered)
{
    bt_text_addf(p->out, "%s(", name);
    if (is_ordered)
        print_list(p, list->n, list->at);
    else
        print_parts(p, list, ", ");
    add(p, ")");
}

/* ---- shapes and tensors ---- */

void bt__print_shape_items(bt_printer *p, const bt_type *type)
{
    const bt_shape_type *shape = bt_as_shape_type(type);
    if (!shape) {
        add(p, "..");
        bt__print_term(p, type);
        return;
    }
    for (uint32_t i = 0; i <= shape->n; i++) {
        if (shape->rest && i == shape->position) {
            add(p, i ? ", .." : "..");
            bt__print_term(p, shape->rest);
        }
        if (i == shape->n)
            break;
        if (i || (shape->rest && shape->position == 0))
            add(p, ", ");
        bt__print_term(p, shape->dims[i]);
    }
}

static void print_dtype(bt_printer *p, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    add(p, bt_dtype_name(dtype, name, sizeof(name)));
}

static void print_tensor(bt_printer *p, const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = bt_as_shape_type(tensor->shape);
    int is_scalar = shape && shape->n == 0 && !shape->rest && !tensor->layout &&
                    tensor->dtype->kind == BT_TYPE_DTYPE;
    if (is_scalar) {
        bt__print_term(p, tensor->dtype);
        return;
    }
    add(p, "Tensor[");
    bt__print_term(p, tensor->shape);
    add(p, ", ");
    bt__print_term(p, tensor->dtype);
    if (tensor->layout) {
        add(p, ", ");
        bt__print_quoted(p->out, tensor->layout->text);
    }
    add(p, "]");
}

/* ---- function types ---- */

static int is_bound_name(const bt_printer *p, const char *name)
{
    for (uint32_t i = 0; i < p->bound.len; i++) {
        for (uint32_t j = 0; j < p->bound.at[i].n; j++) {
            if (p->bound.at[i].at[j] && strcmp(p->bound.at[i].at[j], name) == 0)
                return 1;
        }
    }
    return p->names && bt__names_is_taken(p->names, name);
}

/* A name for a parameter that has none: the first free letter of its kind, else the
 * first letter with a number. */
static const char *choose_bound(bt_printer *p, uint32_t kind)
{
    static const char *const letters[] = { "ABCDEGH", "srq", "nmkhwcd", "tuv", "FJK" };
    const char *letter = letters[kind < BT_COUNT(letters) ? kind : 0];
    uint32_t nletter = (uint32_t)strlen(letter);
    for (uint32_t i = 0;; i++) {
        bt_text text;
        bt_text_init(&text, p->temp);
        bt_text_add(&text, i < nletter ? letter + i : letter, 1);
        if (i >= nletter)
            bt_text_addf(&text, "%u", (unsigned)(i - nletter + 1));
        const char *name = bt_text_get(&text);
        if (!name)
            p->out->failed = 1;
        if (!name || !is_bound_name(p, name))
            return name ? name : "";
    }
}

void bt__print_param_range(bt_text *out, const bt_type_param *param)
{
    if (param->kind != BT_KIND_TYPE)
        bt_text_addf(out, ": %s", bt_kind_name(param->kind));
    if (param->kind != BT_KIND_DIM)
        return;
    if (param->low != 0 || param->high != INT64_MAX)
        bt_text_addf(out, " in %" PRId64 "..", param->low);
    if (param->high != INT64_MAX)
        bt_text_addf(out, "%" PRId64, param->high);
    if (param->step != 1)
        bt_text_addf(out, " step %" PRId64, param->step);
}

static int push_bound(bt_printer *p, const bt_func_type *func)
{
    struct bt__bound_names names = { 0, BT_NEWS(p->temp, const char *, func->nparam) };
    if (!names.at || !BT_PUSH(p->arena, &p->bound, names))
        return 0;
    for (uint32_t i = 0; i < func->nparam; i++) {
        struct bt__bound_names *top = &p->bound.at[p->bound.len - 1];
        top->at[i] = choose_bound(p, func->params[i].kind);
        top->n = i + 1;
    }
    return 1;
}

static void print_func(bt_printer *p, const bt_func_type *func)
{
    add(p, "fn ");
    if (func->nparam && !push_bound(p, func)) {
        p->out->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < func->nparam; i++) {
        add(p, i ? ", " : "<");
        add(p, p->bound.at[p->bound.len - 1].at[i]);
        bt__print_param_range(p->out, &func->params[i]);
    }
    add(p, func->nparam ? ">(" : "(");
    print_list(p, func->narg, func->args);
    add(p, ") -> ");
    bt__print_result(p, func->result, func->nwhere);
    bt__print_wheres(p, func->nwhere, func->wheres);
    if (func->nparam)
        p->bound.len--;
}

void bt__print_result(bt_printer *p, const bt_type *type, uint32_t nwhere)
{
    int is_func = nwhere && type->kind == BT_TYPE_FUNC;
    add(p, is_func ? "(" : "");
    bt__print_term(p, type);
    add(p, is_func ? ")" : "");
}

void bt__print_wheres(bt_printer *p, uint32_t n, const bt_where *const *wheres)
{
    for (uint32_t i = 0; i < n; i++) {
        const bt_where *where = wheres[i];
        uint32_t narg = where->ntype ? where->ntype - 1 : 0;
        add(p, i ? ", " : " where ");
        bt__print_word(p->out, where->op->name);
        add(p, "(");
        print_list(p, narg, where->types);
        bt__print_attrs(p, where->op, where->attrs, narg);
        add(p, ") -> ");
        if (where->ntype)
            bt__print_result(p, where->types[narg], 1);
    }
}

/* ---- any term ---- */

static void print_tuple(bt_printer *p, const bt_list_type *tuple)
{
    add(p, "(");
    print_list(p, tuple->n, tuple->at);
    add(p, tuple->n == 1 ? ",)" : ")");
}

static void print_apply(bt_printer *p, const bt_list_type *apply)
{
    bt__print_term(p, apply->at[0]);
    if (apply->n < 2)
        return;
    add(p, "[");
    print_list(p, apply->n - 1, apply->at + 1);
    add(p, "]");
}

void bt__print_term(bt_printer *p, const bt_type *type)
{
    const bt_list_type *list = bt_as_list_type(type);
    if (!type) {
        add(p, "_");
        return;
    }
    switch (type->kind) {
    case BT_TYPE_TENSOR: print_tensor(p, type); return;
    case BT_TYPE_TUPLE: print_tuple(p, list); return;
    case BT_TYPE_FUNC: print_func(p, bt_as_func_type(type)); return;
    case BT_TYPE_REF:
        add(p, "Ref[");
        print_list(p, list->n, list->at);
        add(p, "]");
        return;
    case BT_TYPE_ADT:
        bt__print_word(p->out, ((const bt_adt_type *)(const void *)type)->def->name);
        return;
    case BT_TYPE_APPLY: print_apply(p, list); return;
    case BT_TYPE_SHAPE:
        add(p, "(");
        bt__print_shape_items(p, type);
        add(p, ")");
        return;
    case BT_TYPE_DTYPE:
        print_dtype(p, ((const bt_dtype_type *)(const void *)type)->dtype);
        return;
    case BT_TYPE_VAR: print_var(p, type); return;
    case BT_TYPE_BOUND: print_bound(p, type); return;
    case BT_TYPE_HOLE: print_hole(p, (const bt_hole_type *)(const void *)type); return;
    case BT_TYPE_LINEAR:
        print_linear(p, (const bt_linear_type *)(const void *)type);
        return;
    case BT_TYPE_OPAQUE: print_opaque(p, type); return;
    case BT_TYPE_PRODUCT: print_parts(p, list, "*"); return;
    case BT_TYPE_FLOORDIV: print_dim_call(p, "floordiv", list, 1); return;
    case BT_TYPE_CEILDIV: print_dim_call(p, "ceildiv", list, 1); return;
    case BT_TYPE_MOD: print_dim_call(p, "mod", list, 1); return;
    case BT_TYPE_MIN: print_dim_call(p, "min", list, 0); return;
    case BT_TYPE_MAX: print_dim_call(p, "max", list, 0); return;
    }
}

void bt__print_any_term(bt_printer *p, const bt_type *type)
{
    uint32_t kind = bt_type_kind_of(type);
    if (kind != BT_KIND_TYPE)
        bt_text_addf(p->out, "%s ", bt_kind_name(kind));
    bt__print_term(p, type);
}

void bt_print_type(bt_ctx *ctx, const bt_type *type, bt_text *out)
{
    bt_printer p;
    if (!bt__printer_init(&p, ctx, out))
        return;
    bt__print_term(&p, type);
    bt__printer_deinit(&p);
}
