/* Reads: plain loads along cursors, gathers, checks. */
#include "compute/evaluate/code.h"

static bt_status emit_checks(struct bt__coder *c, struct bt__block *b,
                             const bt_node *read, const uint32_t *unproven)
{
    const bt_array *array = c->graph->arrays[read->which];
    for (uint32_t i = 0; i < read->narg; i++) {
        if (!unproven[i])
            continue;
        struct bt__check *check = BT_NEW(c->arena, struct bt__check);
        if (!check)
            return bt_no_memory();
        check->array = array->name;
        check->axis = i;
        (void)bt_node_is_const(array->extents[i], &check->extent);
        bt__instr in = { .run = bt__run_check, .c = b->mask, .check = check };
        BT_TRY(bt__emit(c, b, read->args[i], &in.a));
        BT_TRY(bt__block_push(c, b, in));
    }
    return NULL;
}

/* Where a read's elements lie; which indices need a check, and whether lanes that the
 * mask excludes must not be read. */
struct access {
    const bt_node *address;
    const bt_node *base; /* what is no index of it; NULL: it differs between lanes */
    uint32_t unproven[BT_MAX_RANK], nunproven, needs_mask;
};

/* Elements lie along the lanes where all that is no index, such as floordiv(i, 2), is the
 * same for all of them. */
static bt_status split(struct bt__coder *c, const struct bt__block *b, struct access *a)
{
    bt_linear l;
    const bt_node **atoms = BT_NEWS(c->arena, const bt_node *, a->address->narg + 1);
    int64_t *coefs = BT_NEWS(c->arena, int64_t, a->address->narg + 1);
    uint32_t n = 0;
    if (!atoms || !coefs)
        return bt_no_memory();
    bt_node_as_linear(a->address, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind == BT_NODE_INDEX)
            continue;
        atoms[n] = l.atoms[i];
        coefs[n++] = l.coefs[i];
    }
    a->base = bt_node_linear(c->graph, 0, n, atoms, coefs);
    if (!a->base)
        return bt__code_why(c);
    if (bt__block_varies(b, a->base) && n)
        a->base = NULL;
    return NULL;
}

/* The register that goes to a load's base; at NULL where there is none. */
static bt_status emit_base(struct bt__coder *c, struct bt__block *b,
                           const struct access *a, struct bt__reg *out)
{
    *out = (struct bt__reg){ 0 };
    return a->base->kind == BT_NODE_CONST ? NULL : bt__emit(c, b, a->base, out);
}

static bt_status find_access(struct bt__coder *c, struct bt__block *b,
                             const bt_node *node, struct access *out)
{
    const bt_array *array = c->graph->arrays[node->which];
    *out = (struct access){ 0 };
    for (uint32_t i = 0; i < node->narg; i++) {
        if (bt__facts_bound(c->graph, &b->facts, node->args[i], array->extents[i]))
            continue;
        out->needs_mask = b->mask.at != NULL;
        out->unproven[i] =
            !out->needs_mask ||
            !bt__facts_bound(c->graph, &b->mask_facts, node->args[i], array->extents[i]);
        out->nunproven += out->unproven[i];
    }
    out->address = bt_node_linear(c->graph, 0, node->narg, node->args,
                                  c->strips.strides[node->which]);
    return out->address ? split(c, b, out) : bt__code_why(c);
}

bt_status bt__emit_read(struct bt__coder *c, struct bt__block *b, const bt_node *node,
                        struct bt__reg *out)
{
    struct access access;
    bt__instr in = { .array = node->which };
    BT_TRY(find_access(c, b, node, &access));
    BT_TRY(emit_checks(c, b, node, access.unproven));
    if (access.base && !access.needs_mask) {
        bt_linear l;
        bt_node_as_linear(access.address, &l);
        BT_TRY(emit_base(c, b, &access, &in.a));
        in.run = bt__run_load(node->dtype);
        BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
        BT_TRY(bt__reg_new(c, b, in.lane != 0, &in.out));
    } else {
        in.run = bt__run_gather(node->dtype);
        in.c = access.needs_mask ? b->mask : (struct bt__reg){ 0 };
        BT_TRY(bt__emit(c, b, access.address, &in.a));
        BT_TRY(bt__reg_new(c, b, in.a.step | in.c.step, &in.out));
    }
    *out = in.out;
    return bt__block_push(c, b, in);
}

/* ---- products ---- */

bt_status bt__emit_multiply_add(struct bt__coder *c, struct bt__block *b,
                                const bt_node *const reads[2], struct bt__reg out,
                                int is_dot, int *done)
{
    bt__instr in = { .out = out, .to = is_dot != 0 };
    struct access access[2];
    bt_linear l;
    *done = 0;
    in.run = bt__run_multiply_add(reads[0]->dtype);
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(find_access(c, b, reads[i], &access[i]));
        if (!in.run || access[i].nunproven || access[i].needs_mask || !access[i].base)
            return NULL;
    }
    BT_TRY(emit_base(c, b, &access[0], &in.a));
    BT_TRY(emit_base(c, b, &access[1], &in.b));
    in.array = reads[0]->which;
    in.array2 = reads[1]->which;
    bt_node_as_linear(access[0].address, &l);
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor, &in.lane));
    bt_node_as_linear(access[1].address, &l);
    BT_TRY(bt__cursor_new(c, b, &l, &in.cursor2, &in.lane2));
    *done = 1;
    return bt__block_push(c, b, in);
}
