/* Blocks, registers, cursors and nests of loops. */
#include "compute/evaluate/code.h"

bt_status bt__code_why(const struct bt__coder *c)
{
    return c->graph->status ? c->graph->status : bt_no_memory();
}

void bt__block_open(struct bt__coder *c, struct bt__block *b, struct bt__block *parent,
                    bt__instrs *code)
{
    *b = (struct bt__block){ .parent = parent, .code = code, .strip = -1, .width = 1 };
    if (parent) {
        b->bound = parent->bound;
        b->strip = parent->strip;
        b->width = parent->width;
        b->mask = parent->mask;
        b->facts.outer = &parent->facts;
        b->mask_facts.outer = &parent->mask_facts;
    }
    bt_map_init(&b->values, c->arena, 0);
}

bt_status bt__block_push(struct bt__coder *c, struct bt__block *b, bt__instr in)
{
    return BT_PUSH(c->arena, b->code, in) ? NULL : bt_no_memory();
}

bt_status bt__reg_new(struct bt__coder *c, const struct bt__block *b, uint32_t step,
                      struct bt__reg *out)
{
    *out = (struct bt__reg){ BT_NEWS(c->arena, bt_cell, step ? b->width : 1), step };
    return out->at ? NULL : bt_no_memory();
}

uint32_t bt__block_varies(const struct bt__block *b, const bt_node *node)
{
    // behind a mask even a value that is the same for all lanes is computed for some of
    // them only
    return b->strip >= 0 &&
           (b->mask.at || (node->free & bt_index_bit((uint32_t)b->strip)) != 0);
}

bt_status bt__reg_const(struct bt__coder *c, bt_cell value, struct bt__reg *out)
{
    *out = (struct bt__reg){ BT_NEW(c->arena, bt_cell), 0 };
    if (!out->at)
        return bt_no_memory();
    *out->at = value;
    return NULL;
}

bt_status bt__cursor_new(struct bt__coder *c, struct bt__block *b, const bt_linear *l,
                         uint32_t *cursor, int64_t *lane)
{
    *cursor = c->starts.len;
    *lane = b->strip >= 0 ? bt_linear_coef(l, (uint32_t)b->strip) : 0;
    if (!BT_PUSH(c->arena, &c->starts, l->constant))
        return bt_no_memory();
    for (; b; b = b->parent) {
        if (!b->loop)
            continue;
        struct bt__advance step = { *cursor, bt_linear_coef(l, b->loop->index) };
        if (step.by && !BT_PUSH(c->arena, &b->loop->steps, step))
            return bt_no_memory();
    }
    return NULL;
}

/* int64, of indices only. */
static int is_affine(const bt_node *node)
{
    bt_linear l;
    bt_node_as_linear(node, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind != BT_NODE_INDEX)
            return 0;
    }
    return node->dtype == BT_INT64;
}

uint32_t bt__limit_terms(struct bt__coder *c, const bt_node *conjunct,
                         const bt_node *terms[2])
{
    int64_t zero;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->narg != 2 ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0 ||
        !is_affine(conjunct->args[1]))
        return 0;
    terms[0] = conjunct->args[1];
    if (conjunct->which == BT_SCALAR_LE)
        return 1;
    if (conjunct->which != BT_SCALAR_EQ)
        return 0;
    terms[1] = bt_node_linear(c->graph, 0, 1, terms, (int64_t[]){ -1 });
    return terms[1] ? 2 : 0;
}

/* ---- nests of loops ---- */

static bt_status open_loop(struct bt__coder *c, struct bt__nest *nest, uint32_t i)
{
    struct bt__loop *loop = BT_NEW(c->arena, struct bt__loop);
    struct bt__block *inner = &nest->blocks[i];
    if (!loop)
        return bt_no_memory();
    nest->loops[i] = loop;
    loop->index = nest->indices[i];
    loop->extent = nest->extents[i];
    loop->width = 1;
    bt__block_open(c, inner, i ? &nest->blocks[i - 1] : nest->parent, &loop->body);
    inner->loop = loop;
    inner->bound |= bt_index_bit(loop->index);
    if ((int)loop->index != nest->strip)
        return NULL;
    loop->width = loop->extent < BT__STRIP ? (uint32_t)loop->extent : BT__STRIP;
    inner->strip = nest->strip;
    inner->width = loop->width;
    return NULL;
}

bt_status bt__nest_open(struct bt__coder *c, struct bt__block *parent,
                        struct bt__nest *nest)
{
    nest->parent = nest->innermost = parent;
    nest->blocks = BT_NEWS(c->arena, struct bt__block, nest->n);
    if (!nest->blocks)
        return bt_no_memory();
    for (uint32_t i = 0; i < nest->n; i++)
        BT_TRY(open_loop(c, nest, i));
    if (nest->n)
        nest->innermost = &nest->blocks[nest->n - 1];
    return NULL;
}

/* A limit narrows the innermost loop that it mentions (the first, where it mentions
 * none), and the lanes of an outer strip on every iteration of that. */
static bt_status limit_loop(struct bt__coder *c, struct bt__nest *nest,
                            const bt_node *term)
{
    uint32_t at = 0;
    bt_linear l;
    struct bt__limit limit = { 0 };
    for (uint32_t i = 0; i < nest->n; i++)
        at = term->free & bt_index_bit(nest->indices[i]) ? i : at;
    struct bt__block *b = &nest->blocks[at];
    bt_node_as_linear(term, &l);
    // the loop narrows its range before it starts: its own index is 0 then, and its
    // lanes are not there yet
    BT_TRY(bt__cursor_new(c, b, &l, &limit.cursor, &limit.lane));
    limit.coef = bt_linear_coef(&l, b->loop->index);
    if (nest->strip >= 0)
        limit.lane = 0;
    if (!BT_PUSH(c->arena, &b->loop->limits, limit) ||
        (limit.lane && !BT_PUSH(c->arena, &b->loop->windows, limit)))
        return bt_no_memory();
    b->is_guard = 1;
    return NULL;
}

bt_status bt__nest_limit(struct bt__coder *c, struct bt__nest *nest,
                         const bt_node *condition, bt_nodes *masks)
{
    bt_nodes conjuncts = { 0 };
    if (!bt_node_conjuncts(c->arena, condition, &conjuncts))
        return bt_no_memory();
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        const bt_node *terms[2];
        uint32_t n = nest->n ? bt__limit_terms(c, conjuncts.at[i], terms) : 0;
        if (!n && !BT_PUSH(c->arena, masks, conjuncts.at[i]))
            return bt_no_memory();
        for (uint32_t k = 0; k < n; k++)
            BT_TRY(limit_loop(c, nest, terms[k]));
        if (n && !BT_PUSH(c->arena, &nest->innermost->facts.conjuncts, conjuncts.at[i]))
            return bt_no_memory();
        nest->innermost->is_guard = 1;
    }
    return NULL;
}

bt_status bt__nest_close(struct bt__coder *c, struct bt__nest *nest)
{
    for (uint32_t i = nest->n; i-- > 0;)
        BT_TRY(
            bt__block_push(c, nest->blocks[i].parent,
                           (bt__instr){ .run = bt__run_loop, .loop = nest->loops[i] }));
    return NULL;
}
