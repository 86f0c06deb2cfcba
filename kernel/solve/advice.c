/* What to write where a type does not fit, or is not known. */
#include "solve/solver.h"

/* Where types differ in dims. */
struct difference {
    const bt_type *a, *b; /* tensors */
    int is_held;          /* they stand in a data type, a reference or a function */
};

/* Tensors of one rank and element type, of other sizes. */
static int is_open(const bt_type *a, const bt_type *b)
{
    const bt_shape_type *p = bt_tensor_shape(a), *q = bt_tensor_shape(b);
    return a != b && p && q && p->n == q->n && !p->rest && !q->rest &&
           bt_as_tensor_type(a)->dtype == bt_as_tensor_type(b)->dtype;
}

/* The first tensor of `a` that is of another size in `b`. 0: there is none. Recursion is
 * bounded by the depth of types. */
static int find_open(struct difference *d, const bt_type *a, const bt_type *b)
{
    const bt_list_type *l = bt_as_list_type(a), *k = bt_as_list_type(b);
    if (a == b || a->kind != b->kind)
        return 0;
    if (is_open(a, b)) {
        d->a = a;
        d->b = b;
        return 1;
    }
    const int is_held = d->is_held;
    d->is_held |= a->kind != BT_TYPE_TUPLE;
    for (uint32_t i = 0; l && k && l->n == k->n && i < l->n; i++) {
        if (find_open(d, l->at[i], k->at[i]))
            return 1;
    }
    d->is_held = is_held;
    return 0;
}

/* A tensor type, or a tuple of them, with ? for the dims that differ. */
static void add_open(bt_ctx *ctx, const bt_type *a, const bt_type *b, bt_text *out)
{
    const bt_list_type *l = bt_as_tuple_type(a), *k = bt_as_tuple_type(b);
    if (is_open(a, b)) {
        const bt_shape_type *p = bt_tensor_shape(a), *q = bt_tensor_shape(b);
        bt_text_addf(out, "Tensor[(");
        for (uint32_t i = 0; i < p->n; i++) {
            bt_text_addf(out, "%s", i ? ", " : "");
            if (p->dims[i] == q->dims[i])
                bt_print_type(ctx, p->dims[i], out);
            else
                bt_text_addf(out, "?");
        }
        bt_text_addf(out, "), ");
        bt_print_type(ctx, bt_as_tensor_type(a)->dtype, out);
        bt_text_addf(out, "]");
    } else if (l && k && l->n == k->n) {
        for (uint32_t i = 0; i < l->n; i++) {
            bt_text_addf(out, i ? ", " : "(");
            add_open(ctx, l->at[i], k->at[i], out);
        }
        bt_text_addf(out, l->n == 1 ? ",)" : ")");
    } else {
        bt_print_type(ctx, a, out);
    }
}

bt_status bt__advise_sizes(bt_solver *s, bt_status status, const struct bt__node *node)
{
    const int is_join = node->kind == NODE_JOIN;
    const bt_type *a, *b;
    bt_text text;
    if (bt__is_fatal(status) || (!is_join && node->kind != NODE_FLOW))
        return status;
    a = is_join ? node->u.join.branches[0] : node->u.flow.from;
    b = is_join ? node->u.join.branches[node->u.join.differing] : node->u.flow.to;
    if (bt__resolve(s, a, &a) || bt__resolve(s, b, &b))
        return status;
    bt_text_init(&text, s->arena);
    struct difference d = { .is_held = !is_join && node->u.flow.what == FLOW_CONTENT };
    const bt_span span = node->slot->value->span;
    if (!span || !find_open(&d, a, b))
        return status;
    // a tuple is stated as a whole, what a data type holds is one tensor of it
    add_open(s->ctx, d.is_held ? d.a : a, d.is_held ? d.b : b, &text);
    if (!bt_text_get(&text))
        return status;
    return d.is_held || is_join
               ? bt_note(s->ctx, status, s->store, span,
                         d.is_held
                             ? "values of one type hold tensors of one size; for any "
                               "size write a data type, `type Row { Row(%s) }`, and "
                               "hold `Row(%%x)`"
                             : "for any size bind it by `let` and state its type: %s",
                         text.at)
               : status;
}

void bt__say_annotation(bt_solver *s, const bt_value *of, bt_text *out)
{
    const bt_call *call = bt_as_call(of);
    const bt_type *type;
    if (bt__type_of(s, of, &type))
        return;
    type = bt__head(s, type);
    // what is known of it, with _ for the rest
    const char *known =
        type->kind == BT_TYPE_HOLE ? "Tensor[(3), float32]" : bt__show(s, type);
    if (bt_as_param(of))
        bt_text_addf(out, ", as in `%s: %s`", bt__show_value(s, of), known);
    else if (call && call->callee_kind == BT_CALLEE_VALUE &&
             call->callee->kind == BT_VALUE_GLOBAL)
        bt_text_addf(out, ", as in `def %s(...) -> %s`", bt__callee_name(s, call), known);
    else
        bt_text_addf(out, ", as in `let %s: %s = ...`",
                     of->name ? bt__show_value(s, of) : "%y", known);
    if (type->kind != BT_TYPE_HOLE)
        bt_text_addf(out, ", where _ is not known");
}
