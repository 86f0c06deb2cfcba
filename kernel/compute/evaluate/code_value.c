/* Code for values: where they belong, and the simple ones. */
#include "compute/evaluate/code.h"

/* The block where a value needed in `b` belongs. */
static struct bt__block *place(struct bt__coder *c, struct bt__block *b,
                               const bt_node *node)
{
    int is_safe = !node->reads || bt__facts_cover(c->graph, NULL, node);
    while (b->parent && (is_safe || !b->is_guard) &&
           (node->free & b->parent->bound) == node->free)
        b = b->parent;
    return b;
}

static bt_status emit_linear(struct bt__coder *c, struct bt__block *b,
                             const bt_node *node, struct bt__reg *out)
{
    bt_linear l;
    bt__instr in = { .run = bt__run_linear };
    bt_node_as_linear(node, &l);
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    BT_TRY(bt__reg_new(c, b, in.lane != 0, &in.out));
    BT_TRY(bt__block_push(c, b, in));
    *out = in.out;
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind == BT_NODE_INDEX)
            continue;
        bt__instr add = { .run = bt__run_add_times, .a = *out, .factor = l.coefs[i] };
        BT_TRY(bt__emit(c, b, l.atoms[i], &add.b));
        BT_TRY(bt__reg_new(c, b, add.a.step | add.b.step, &add.out));
        BT_TRY(bt__block_push(c, b, add));
        *out = add.out;
    }
    return NULL;
}

static bt_status emit_scalar(struct bt__coder *c, struct bt__block *b,
                             const bt_node *node, struct bt__reg *out)
{
    const struct bt__scalar *row = bt__scalar_get(node->which);
    bt_dtype of = node->args[0]->dtype;
    bt__instr in = { .run = bt__run_strip, .strip = bt__scalar_strip(node->which, of) };
    BT_TRY(bt__emit(c, b, node->args[0], &in.a));
    in.b = in.a;
    if (node->narg > 1)
        BT_TRY(bt__emit(c, b, node->args[1], &in.b));
    BT_TRY(bt__reg_new(c, b, in.a.step | in.b.step, &in.out));
    BT_TRY(bt__block_push(c, b, in));
    *out = in.out;
    if (bt_dtype_is_small_float(of) && !row->is_test)
        return bt__block_push(c, b,
                              (bt__instr){ .run = bt__run_cast,
                                           .out = *out,
                                           .a = *out,
                                           .from = BT_FLOAT64,
                                           .to = BT_FLOAT32 });
    if (!row->wraps || bt_dtype_is_float(of) || BT_DTYPE_BITS(of) == 64)
        return NULL;
    return bt__block_push(c, b,
                          (bt__instr){ .run = bt__run_wrap, .out = *out, .to = of });
}

static bt_status emit_cast(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                           struct bt__reg *out)
{
    bt__instr in = { .run = bt__run_cast,
                     .from = node->args[0]->dtype,
                     .to = node->dtype };
    BT_TRY(bt__emit(c, b, node->args[0], &in.a));
    // an integer that fits, or a float made wider, is the same cell
    int is_float = bt_dtype_is_float(in.from);
    if ((is_float && in.to == BT_FLOAT64) ||
        (!is_float && !bt_dtype_is_float(in.to) && in.to != BT_BOOL &&
         (BT_DTYPE_BITS(in.to) == 64 ||
          (node->args[0]->low >= bt__dtype_low(in.to) &&
           node->args[0]->high <= bt__dtype_high(in.to))))) {
        *out = in.a;
        return NULL;
    }
    BT_TRY(bt__reg_new(c, b, in.a.step, &in.out));
    *out = in.out;
    return bt__block_push(c, b, in);
}

/* ---- any value ---- */

static bt_status emit_new(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                          struct bt__reg *out)
{
    int done;
    switch (node->kind) {
    case BT_NODE_INDEX:
    case BT_NODE_LINEAR: return emit_linear(c, b, node, out);
    case BT_NODE_SCALAR: return emit_scalar(c, b, node, out);
    case BT_NODE_CAST: return emit_cast(c, b, node, out);
    case BT_NODE_SELECT: return bt__emit_select(c, b, node, out);
    case BT_NODE_READ: return bt__emit_read(c, b, node, out);
    case BT_NODE_REDUCE:
        BT_TRY(bt__emit_scattered(c, b, node, out, &done));
        return done ? NULL : bt__emit_reduce(c, b, node, out);
    default:
        return bt_fail(c->ctx, BT_ERR_INTERNAL,
                       "an extent that is not known is computed");
    }
}

bt_status bt__emit(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                   struct bt__reg *out)
{
    if (node->kind == BT_NODE_CONST)
        return bt__reg_const(c, node->value, out);
    b = place(c, b, node);
    for (struct bt__block *up = b; up; up = up->parent) {
        const struct bt__reg *known = bt_map_find(&up->values, node);
        if (known) {
            *out = *known;
            return NULL;
        }
    }
    struct bt__reg *keep = BT_NEW(c->arena, struct bt__reg);
    if (!keep)
        return bt_no_memory();
    BT_TRY(emit_new(c, b, node, out));
    *keep = *out;
    return bt_map_put(&b->values, node, keep) ? NULL : bt_no_memory();
}
