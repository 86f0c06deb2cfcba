/* The graph of a call as a formula with inputs of its own, and read again. */
#ifndef FORMULA_TEXT_H
#define FORMULA_TEXT_H

#include "formula.h"
#include "graph_equal.h"

#include "compute/formula/call.h"

struct text_attrs {
    const bt_type *dims;
    const char *formula;
};

/* An operator that computes what a call's formula says. */
static inline bt_op text_op(void)
{
    static const bt_attr rows[] = {
        BT_ATTR(struct text_attrs, dims, SHAPE, "[]", ""),
        BT_ATTR(struct text_attrs, formula, STRING, NULL, ""),
        { 0 },
    };
    static const bt_op_input rest[] = {
        { .name = "data", .type = "?", .is_rest = 1 },
        { 0 },
    };
    return (bt_op){ .name = "test.compute",
                    .revision = 1,
                    .inputs = rest,
                    .attrs = rows,
                    .attrs_nbytes = sizeof(struct text_attrs),
                    .formula_attr = "formula" };
}

/* The same call by a formula. */
static inline bt_status text_compose(struct world *w, bt_arena *arena,
                                     const char *formula, const bt_formula_call *like,
                                     bt_graph **out)
{
    const bt_op op = text_op();
    const struct text_attrs attrs = { bt_type_shape(w->store, 0, NULL), formula };
    bt_formula_call call = *like;
    call.op = &op;
    call.attrs = &attrs;
    return bt__call_compose(w->ctx, arena, &call, out);
}

/* Writes the graph of a call, which must be the same when it is read. */
static inline const char *text_again(struct world *w, bt_arena *arena, bt_graph *graph,
                                     const bt_formula_call *like)
{
    bt_graph *again;
    bt_graph_formula text;
    int is_same = 0;
    assert_ok(w->ctx, bt_graph_text(w->ctx, arena, graph, NULL, &text));
    bt_status status = text_compose(w, arena, text.formula, like, &again);
    if (status)
        fail_msg("%s: %s", text.formula, status->message);
    assert_ok(w->ctx, graph_equal(arena, graph, again, &is_same));
    if (!is_same)
        fail_msg("another graph is read: %s", text.formula);
    return text.formula;
}

#endif
