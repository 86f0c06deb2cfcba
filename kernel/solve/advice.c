/* What to write where a type does not fit, or is not known. */
#include "solve/solver.h"

/* Types that differ in dims. */
struct difference {
    bt_ctx *ctx;
    bt_text *out;
    int is_held; /* they stand in a data type, a reference or a function */
};

static void add_dims(const struct difference *d, const bt_shape_type *a,
                     const bt_shape_type *b)
{
    for (uint32_t i = 0; i < a->n; i++) {
        bt_text_addf(d->out, "%s", i ? ", " : "");
        if (a->dims[i] == b->dims[i])
            bt_print_type(d->ctx, a->dims[i], d->out);
        else
            bt_text_addf(d->out, "?");
    }
}

/* The first tensor of `a` that is of another size in `b`, with ? for what differs. 0: there
 * is none. Recursion is bounded by the depth of types. */
static int add_open(struct difference *d, const bt_type *a, const bt_type *b)
{
    const bt_list_type *l = bt_as_list_type(a), *k = bt_as_list_type(b);
    const bt_shape_type *p = bt_tensor_shape(a), *q = bt_tensor_shape(b);
    if (a == b || a->kind != b->kind)
        return 0;
    if (p && q && p->n == q->n && !p->rest && !q->rest) {
        bt_text_addf(d->out, "Tensor[(");
        add_dims(d, p, q);
        bt_text_addf(d->out, "), ");
        bt_print_type(d->ctx, bt_as_tensor_type(a)->dtype, d->out);
        bt_text_addf(d->out, "]");
        return 1;
    }
    d->is_held |= a->kind != BT_TYPE_TUPLE;
    for (uint32_t i = 0; l && k && l->n == k->n && i < l->n; i++) {
        if (add_open(d, l->at[i], k->at[i]))
            return 1;
    }
    return 0;
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
    struct difference d = { .ctx = s->ctx,
                            .out = &text,
                            .is_held = !is_join && node->u.flow.what == FLOW_CONTENT };
    const bt_span span = node->slot->value->span;
    if (!add_open(&d, a, b) || !span || !bt_text_get(&text))
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
