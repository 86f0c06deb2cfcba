/* Reductions: accumulators, and loops around what they take. */
#include "compute/evaluate/code.h"

/* The reduction's indices as loops, a strip of its own innermost where none is around. */
static void order_loops(const struct bt__coder *c, const struct bt__block *b,
                        const bt_node *node, struct bt__nest *nest)
{
    nest->strip = b->strip < 0 ? (int)bt__strip_of_reduction(&c->strips, node) : -1;
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < node->nindex; i++) {
            uint32_t index = node->first + i;
            if (((int)index == nest->strip) != (int)turn)
                continue;
            nest->extents[nest->n] = bt_node_number(node->args[2 + i]);
            nest->indices[nest->n++] = index;
        }
    }
}

struct accumulator {
    struct bt__reg first, second;
};

static bt_status start_accumulator(struct bt__coder *c, struct bt__block *b,
                                   const bt_node *node, struct accumulator *acc)
{
    uint32_t step = bt__block_varies(b, node);
    bt_dtype of = node->args[1]->dtype;
    for (uint32_t i = 0; i < bt__reducer_get(node->which)->nstate; i++) {
        struct bt__reg *reg = i ? &acc->second : &acc->first;
        bt__instr in = { .run = bt__run_move };
        BT_TRY(bt__reg_new(c, b, step, reg));
        BT_TRY(bt__reg_const(c, bt__reducer_start(node->which, of, i), &in.a));
        in.out = *reg;
        BT_TRY(bt__block_push(c, b, in));
    }
    if (!acc->second.at)
        acc->second = acc->first;
    return NULL;
}

/* The read behind conversions that keep its value; NULL: something else. */
static const bt_node *plain_read(const bt_node *node)
{
    while (node->kind == BT_NODE_CAST && !bt_dtype_is_float(node->dtype) &&
           node->args[0]->dtype != BT_BOOL &&
           bt__dtype_is_integer(node->args[0]->dtype) &&
           node->args[0]->low >= bt__dtype_low(node->dtype) &&
           node->args[0]->high <= bt__dtype_high(node->dtype))
        node = node->args[0];
    return node->kind == BT_NODE_READ ? node : NULL;
}

/* A sum of products of elements in one instruction. *done: it is one. Of integers a
 * product need not wrap, because the sum does. */
static bt_status take_product(struct bt__coder *c, struct bt__block *b,
                              const bt_node *node, const struct bt__nest *nest,
                              struct accumulator acc, int *done)
{
    const bt_node *body = node->args[1];
    *done = 0;
    if (node->which != BT_REDUCER_SUM || body->kind != BT_NODE_SCALAR ||
        body->which != BT_SCALAR_MUL)
        return NULL;
    const bt_node *reads[2] = { plain_read(body->args[0]), plain_read(body->args[1]) };
    if (!reads[0] || !reads[1] || reads[0]->dtype != reads[1]->dtype)
        return NULL;
    return bt__emit_multiply_add(c, b, reads, acc.first, nest->strip >= 0, done);
}

/* The accumulator takes the body's value. */
static bt_status emit_take(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                           const struct bt__nest *nest, struct accumulator acc,
                           struct bt__reg mask)
{
    int done = 0;
    bt_linear l;
    bt__instr in = { .run = bt__run_take,
                     .out = acc.first,
                     .b = acc.second,
                     .c = mask,
                     .factor = nest->strip >= 0,
                     .take = bt__reducer_take(node->which, node->args[1]->dtype) };
    if (!mask.at)
        BT_TRY(take_product(c, b, node, nest, acc, &done));
    if (done)
        return NULL;
    const bt_node *position =
        bt__row_position(c->graph, node->first, node->nindex, node->args + 2);
    if (!position)
        return bt__code_why(c);
    bt_node_as_linear(position, &l);
    BT_TRY(bt__emit(c, b, node->args[1], &in.a));
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    return bt__block_push(c, b, in);
}

bt_status bt__emit_reduce(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                          struct bt__reg *out)
{
    struct bt__nest nest = { .strip = -1 };
    struct accumulator acc = { 0 };
    bt_nodes masks = { 0 };
    struct bt__masked masked;
    bt__instr end = { .run = bt__run_end,
                      .reducer = node->which,
                      .from = node->args[1]->dtype };
    order_loops(c, b, node, &nest);
    BT_TRY(start_accumulator(c, b, node, &acc));
    BT_TRY(bt__nest_open(c, b, &nest));
    BT_TRY(bt__nest_limit(c, &nest, node->args[0], &masks));
    if (masks.len) {
        BT_TRY(bt__masked_open(c, nest.innermost, &masks, &masked));
        BT_TRY(emit_take(c, &masked.block, node, &nest, acc, masked.mask));
        BT_TRY(bt__masked_close(c, &masked));
    } else {
        BT_TRY(emit_take(c, nest.innermost, node, &nest, acc, (struct bt__reg){ 0 }));
    }
    BT_TRY(bt__nest_close(c, &nest));
    end.a = acc.first;
    end.b = acc.second;
    BT_TRY(bt__reg_new(c, b, acc.first.step, &end.out));
    *out = end.out;
    return bt__block_push(c, b, end);
}
