/*
 * Code for the reference evaluator: a stage's expression as blocks of instructions.
 *
 * A block stands in loops (those of its parents) and perhaps behind a guard. A value goes
 * to the outermost block that binds its indices; one that reads what only a guard proves
 * to be in bounds stays behind that guard. Blocks are filled inside out: an instruction
 * that moves outward comes before the loop that is still being built, because a loop is
 * added to its parent when it is complete.
 */
#include "compute/program.h"

#include <string.h>

#include "compute/bounds.h"
#include "compute/strips.h"

struct block {
    struct block *parent;
    bt__instrs *code;
    struct bt__loop *loop; /* whose turn it is; NULL */
    uint64_t bound;        /* indices that have a value */
    int strip;             /* index in lanes, -1: none */
    uint32_t width;        /* lanes */
    uint32_t is_guard;
    struct bt__facts facts;      /* hold on all lanes that run */
    struct bt__facts mask_facts; /* hold where the mask is set */
    struct bt__reg mask;         /* lanes to read for; at NULL: all */
    bt_map values;               /* node -> struct bt__reg * */
};

struct coder {
    bt_ctx *ctx;
    bt_arena *arena;
    bt__graph *graph;
    struct bt__strips strips;
    bt_vec(int64_t) starts; /* of cursors */
    uint32_t array;         /* computed by this stage */
};

static bt_status emit(struct coder *, struct block *, const bt__node *, struct bt__reg *);

static bt_status graph_status(const struct coder *c)
{
    return c->graph->status ? c->graph->status : bt_no_memory();
}

/* ---- blocks, registers, cursors ---- */

static void open_block(struct coder *c, struct block *b, struct block *parent,
                       bt__instrs *code)
{
    *b = (struct block){ .parent = parent, .code = code, .strip = -1, .width = 1 };
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

static bt_status push(struct coder *c, struct block *b, bt__instr in)
{
    return BT_PUSH(c->arena, b->code, in) ? NULL : bt_no_memory();
}

/* A register with a cell, or one for each lane. */
static bt_status new_reg(struct coder *c, const struct block *b, uint32_t step,
                         struct bt__reg *out)
{
    *out =
        (struct bt__reg){ BT_NEWS(c->arena, union bt__cell, step ? b->width : 1), step };
    return out->at ? NULL : bt_no_memory();
}

static bt_status const_reg(struct coder *c, union bt__cell value, struct bt__reg *out)
{
    *out = (struct bt__reg){ BT_NEW(c->arena, union bt__cell), 0 };
    if (!out->at)
        return bt_no_memory();
    *out->at = value;
    return NULL;
}

/* A cursor for the linear form's indices as they run in block b; *lane gets what the
 * strip's lanes add. Other atoms are left out. */
static bt_status new_cursor(struct coder *c, struct block *b, const struct bt__linear *l,
                            uint32_t *cursor, int64_t *lane)
{
    *cursor = c->starts.len;
    *lane = b->strip >= 0 ? bt__linear_coef(l, (uint32_t)b->strip) : 0;
    if (!BT_PUSH(c->arena, &c->starts, l->constant))
        return bt_no_memory();
    for (; b; b = b->parent) {
        if (!b->loop)
            continue;
        struct bt__step step = { *cursor, bt__linear_coef(l, b->loop->index) };
        if (step.by && !BT_PUSH(c->arena, &b->loop->steps, step))
            return bt_no_memory();
    }
    return NULL;
}

static int is_affine(const bt__node *node)
{
    struct bt__linear l;
    bt__node_as_linear(node, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind != BT__NODE_INDEX)
            return 0;
    }
    return node->dtype == BT_INT64;
}

/* The block where a value needed in `b` belongs. */
static struct block *place(struct coder *c, struct block *b, const bt__node *node)
{
    int is_safe = !node->reads || bt__facts_cover(c->graph, NULL, node);
    while (b->parent && (is_safe || !b->is_guard) &&
           (node->free & b->parent->bound) == node->free)
        b = b->parent;
    return b;
}

/* ---- simple values ---- */

static bt_status emit_linear(struct coder *c, struct block *b, const bt__node *node,
                             struct bt__reg *out)
{
    struct bt__linear l;
    bt__instr in = { .run = bt__run_linear };
    bt__node_as_linear(node, &l);
    BT_TRY(new_cursor(c, b, &l, &in.cursor, &in.lane));
    BT_TRY(new_reg(c, b, in.lane != 0, &in.out));
    BT_TRY(push(c, b, in));
    *out = in.out;
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->kind == BT__NODE_INDEX)
            continue;
        bt__instr add = { .run = bt__run_add_times, .a = *out, .factor = l.coefs[i] };
        BT_TRY(emit(c, b, l.atoms[i], &add.b));
        BT_TRY(new_reg(c, b, add.a.step | add.b.step, &add.out));
        BT_TRY(push(c, b, add));
        *out = add.out;
    }
    return NULL;
}

static bt_status emit_scalar(struct coder *c, struct block *b, const bt__node *node,
                             struct bt__reg *out)
{
    const struct bt__scalar *row = bt__scalar_get(node->which);
    bt_dtype of = node->args[0]->dtype;
    bt__instr in = { .run = bt__run_strip, .strip = bt__scalar_strip(node->which, of) };
    BT_TRY(emit(c, b, node->args[0], &in.a));
    in.b = in.a;
    if (node->narg > 1)
        BT_TRY(emit(c, b, node->args[1], &in.b));
    BT_TRY(new_reg(c, b, in.a.step | in.b.step, &in.out));
    BT_TRY(push(c, b, in));
    *out = in.out;
    if (!row->wraps || bt__dtype_is_float(of) || BT_DTYPE_BITS(of) == 64)
        return NULL;
    return push(c, b, (bt__instr){ .run = bt__run_wrap, .out = *out, .to = of });
}

static bt_status emit_cast(struct coder *c, struct block *b, const bt__node *node,
                           struct bt__reg *out)
{
    bt__instr in = { .run = bt__run_cast,
                     .from = node->args[0]->dtype,
                     .to = node->dtype };
    BT_TRY(emit(c, b, node->args[0], &in.a));
    // an integer that fits, or a float made wider, is the same cell
    int is_float = bt__dtype_is_float(in.from);
    if ((is_float && in.to == BT_FLOAT64) ||
        (!is_float && !bt__dtype_is_float(in.to) && in.to != BT_BOOL &&
         (BT_DTYPE_BITS(in.to) == 64 ||
          (node->args[0]->low >= bt__dtype_low(in.to) &&
           node->args[0]->high <= bt__dtype_high(in.to))))) {
        *out = in.a;
        return NULL;
    }
    BT_TRY(new_reg(c, b, in.a.step, &in.out));
    *out = in.out;
    return push(c, b, in);
}

/* ---- reads ---- */

static bt_status emit_checks(struct coder *c, struct block *b, const bt__node *read,
                             const uint32_t *unproven)
{
    const struct bt__array *array = &c->graph->arrays[read->which];
    for (uint32_t i = 0; i < read->narg; i++) {
        if (!unproven[i])
            continue;
        struct bt__check *check = BT_NEW(c->arena, struct bt__check);
        if (!check)
            return bt_no_memory();
        check->array = array->name;
        check->axis = i;
        (void)bt__node_is_const(array->extents[i], &check->extent);
        bt__instr in = { .run = bt__run_check, .c = b->mask, .check = check };
        BT_TRY(emit(c, b, read->args[i], &in.a));
        BT_TRY(push(c, b, in));
    }
    return NULL;
}

/* Where a read's elements lie; which indices need a check, and whether lanes that the
 * mask excludes must not be read. */
struct access {
    const bt__node *address;
    uint32_t unproven[BT_MAX_RANK], nunproven, needs_mask;
};

static bt_status find_access(struct coder *c, struct block *b, const bt__node *node,
                             struct access *out)
{
    const struct bt__array *array = &c->graph->arrays[node->which];
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
    out->address = bt__node_linear(c->graph, 0, node->narg, node->args,
                                   c->strips.strides[node->which]);
    return out->address ? NULL : graph_status(c);
}

static bt_status emit_read(struct coder *c, struct block *b, const bt__node *node,
                           struct bt__reg *out)
{
    struct access access;
    bt__instr in = { .array = node->which };
    BT_TRY(find_access(c, b, node, &access));
    BT_TRY(emit_checks(c, b, node, access.unproven));
    if (is_affine(access.address) && !access.needs_mask) {
        struct bt__linear l;
        bt__node_as_linear(access.address, &l);
        in.run = bt__run_load(node->dtype);
        BT_TRY(new_cursor(c, b, &l, &in.cursor, &in.lane));
        BT_TRY(new_reg(c, b, in.lane != 0, &in.out));
    } else {
        in.run = bt__run_gather(node->dtype);
        in.c = access.needs_mask ? b->mask : (struct bt__reg){ 0 };
        BT_TRY(emit(c, b, access.address, &in.a));
        BT_TRY(new_reg(c, b, in.a.step | in.c.step, &in.out));
    }
    *out = in.out;
    return push(c, b, in);
}

/* ---- conditions ---- */

/* What must be at least 0 for the conjunct to hold, in one or two linear forms of
 * indices; 0: it is of another kind. */
static uint32_t limit_terms(struct coder *c, const bt__node *conjunct,
                            const bt__node *terms[2])
{
    int64_t zero;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->narg != 2 ||
        !bt__node_is_const(conjunct->args[0], &zero) || zero != 0 ||
        !is_affine(conjunct->args[1]))
        return 0;
    terms[0] = conjunct->args[1];
    if (conjunct->which == BT__SCALAR_LE)
        return 1;
    if (conjunct->which != BT__SCALAR_EQ)
        return 0;
    terms[1] = bt__node_linear(c->graph, 0, 1, terms, (int64_t[]){ -1 });
    return terms[1] ? 2 : 0;
}

static int are_limits(struct coder *c, const bt__nodes *conjuncts)
{
    const bt__node *terms[2];
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (!limit_terms(c, conjuncts->at[i], terms))
            return 0;
    }
    return 1;
}

static bt_status open_way(struct coder *c, struct block *b, struct block *parent,
                          bt__instrs *code, const bt__node *condition)
{
    open_block(c, b, parent, code);
    b->is_guard = 1;
    return bt__node_conjuncts(c->arena, condition, &b->facts.conjuncts) ? NULL
                                                                        : bt_no_memory();
}

/* The side's value moved to `out` at the end of its block. */
static bt_status emit_way(struct coder *c, struct block *b, const bt__node *side,
                          struct bt__reg out)
{
    bt__instr in = { .run = bt__run_move, .out = out };
    BT_TRY(emit(c, b, side, &in.a));
    return push(c, b, in);
}

/* Sides on windows of lanes, or one of them: `limits` tells which lanes go where. */
static bt_status emit_ways(struct coder *c, struct block *b, const bt__node *node,
                           struct bt__choice *choice, bt__instr in, struct bt__reg *out)
{
    struct block way;
    const bt__node *other =
        bt__node_scalar(c->graph, BT__SCALAR_NOT, node->args[0], NULL);
    uint32_t step = b->strip >= 0 && (node->free & bt__index_bit((uint32_t)b->strip));
    if (!other)
        return graph_status(c);
    BT_TRY(new_reg(c, b, step, out));
    BT_TRY(open_way(c, &way, b, &choice->ways[0], node->args[0]));
    BT_TRY(emit_way(c, &way, node->args[1], *out));
    BT_TRY(open_way(c, &way, b, &choice->ways[1], other));
    BT_TRY(emit_way(c, &way, node->args[2], *out));
    in.choice = choice;
    return push(c, b, in);
}

static bt_status add_limits(struct coder *c, struct block *b, const bt__node *conjunct,
                            struct bt__choice *choice)
{
    const bt__node *terms[2];
    uint32_t n = limit_terms(c, conjunct, terms);
    for (uint32_t k = 0; k < n; k++) {
        struct bt__linear l;
        struct bt__limit limit = { 0 };
        bt__node_as_linear(terms[k], &l);
        BT_TRY(new_cursor(c, b, &l, &limit.cursor, &limit.lane));
        if (!BT_PUSH(c->arena, &choice->limits, limit))
            return bt_no_memory();
    }
    return NULL;
}

/* One side by the lane: both run, reads that rely on the condition by its mask. */
static bt_status emit_masked(struct coder *c, struct block *b, const bt__node *node,
                             struct bt__reg condition, struct bt__reg *out)
{
    bt__instr in = { .run = bt__run_select, .a = condition };
    bt__instr both = { .run = bt__run_both,
                       .choice = BT_NEW(c->arena, struct bt__choice) };
    const bt__node *holds[2] = { node->args[0], bt__node_scalar(c->graph, BT__SCALAR_NOT,
                                                                node->args[0], NULL) };
    struct bt__reg sides[2];
    if (!both.choice || !holds[1])
        return graph_status(c);
    for (uint32_t i = 0; i < 2; i++) {
        struct block way;
        struct bt__reg mask = condition;
        open_block(c, &way, b, &both.choice->ways[i]);
        way.is_guard = 1;
        if (!bt__node_conjuncts(c->arena, holds[i], &way.mask_facts.conjuncts))
            return bt_no_memory();
        if (i == 1) {
            bt__instr not = { .run = bt__run_strip,
                              .a = condition,
                              .b = condition,
                              .strip = bt__scalar_strip(BT__SCALAR_NOT, BT_BOOL) };
            BT_TRY(new_reg(c, b, condition.step, &not .out));
            BT_TRY(push(c, &way, not ));
            mask = not .out;
        }
        if (b->mask.at) {
            bt__instr and = { .run = bt__run_strip,
                              .a = mask,
                              .b = b->mask,
                              .strip = bt__scalar_strip(BT__SCALAR_AND, BT_BOOL) };
            BT_TRY(new_reg(c, b, mask.step | b->mask.step, &and.out));
            BT_TRY(push(c, &way, and));
            mask = and.out;
        }
        way.mask = mask;
        BT_TRY(emit(c, &way, node->args[1 + i], &sides[i]));
    }
    in.b = sides[0];
    in.c = sides[1];
    BT_TRY(push(c, b, both));
    BT_TRY(new_reg(c, b, in.a.step | in.b.step | in.c.step, &in.out));
    *out = in.out;
    return push(c, b, in);
}

static bt_status emit_select(struct coder *c, struct block *b, const bt__node *node,
                             struct bt__reg *out)
{
    bt__nodes conjuncts = { 0 };
    struct bt__choice *choice = BT_NEW(c->arena, struct bt__choice);
    struct bt__reg condition;
    if (!choice || !bt__node_conjuncts(c->arena, node->args[0], &conjuncts))
        return bt_no_memory();
    if (are_limits(c, &conjuncts)) {
        for (uint32_t i = 0; i < conjuncts.len; i++)
            BT_TRY(add_limits(c, b, conjuncts.at[i], choice));
        return emit_ways(c, b, node, choice, (bt__instr){ .run = bt__run_choose }, out);
    }
    BT_TRY(emit(c, b, node->args[0], &condition));
    if (!condition.step) {
        choice->condition = condition;
        return emit_ways(c, b, node, choice, (bt__instr){ .run = bt__run_branch }, out);
    }
    return emit_masked(c, b, node, condition, out);
}

/* ---- reductions ---- */

struct nest {
    const bt__node *node;
    uint32_t n, order[BT__MAX_INDEX]; /* indices, outermost first */
    struct bt__loop *loops[BT__MAX_INDEX];
    struct block *blocks; /* of the loops' bodies */
    int strip;            /* own, -1: none */
    bt__nodes masks;      /* conjuncts that elements decide */
};

static void order_loops(struct coder *c, const struct block *b, struct nest *nest)
{
    const bt__node *node = nest->node;
    nest->strip = b->strip < 0 ? (int)bt__strip_of_reduction(&c->strips, node) : -1;
    for (uint32_t i = 0; i < node->nindex; i++) {
        if ((int)(node->first + i) != nest->strip)
            nest->order[nest->n++] = node->first + i;
    }
    if (nest->strip >= 0)
        nest->order[nest->n++] = (uint32_t)nest->strip;
}

static bt_status open_loops(struct coder *c, struct block *b, struct nest *nest)
{
    nest->blocks = BT_NEWS(c->arena, struct block, nest->n);
    if (!nest->blocks)
        return bt_no_memory();
    for (uint32_t i = 0; i < nest->n; i++) {
        struct bt__loop *loop = BT_NEW(c->arena, struct bt__loop);
        struct block *inner = &nest->blocks[i];
        if (!loop)
            return bt_no_memory();
        nest->loops[i] = loop;
        loop->index = nest->order[i];
        loop->extent = nest->node->coefs[loop->index - nest->node->first];
        loop->width = 1;
        open_block(c, inner, i ? &nest->blocks[i - 1] : b, &loop->body);
        inner->loop = loop;
        inner->bound |= bt__index_bit(loop->index);
        if ((int)loop->index == nest->strip) {
            loop->width = loop->extent < BT__STRIP ? (uint32_t)loop->extent : BT__STRIP;
            inner->strip = nest->strip;
            inner->width = loop->width;
        }
    }
    return NULL;
}

/* A limit narrows the innermost loop that it mentions (the first, where it mentions
 * none), and the lanes of an outer strip on every turn of that. */
static bt_status limit_loop(struct coder *c, struct nest *nest, const bt__node *term)
{
    uint32_t at = 0;
    struct bt__linear l;
    struct bt__limit limit = { 0 };
    for (uint32_t i = 0; i < nest->n; i++)
        at = term->free & bt__index_bit(nest->order[i]) ? i : at;
    struct block *b = &nest->blocks[at];
    bt__node_as_linear(term, &l);
    // the loop narrows its range before it starts: its own index is 0 then, and its
    // lanes are not there yet
    BT_TRY(new_cursor(c, b, &l, &limit.cursor, &limit.lane));
    limit.coef = bt__linear_coef(&l, b->loop->index);
    if (nest->strip >= 0)
        limit.lane = 0;
    if (!BT_PUSH(c->arena, &b->loop->limits, limit) ||
        (limit.lane && !BT_PUSH(c->arena, &b->loop->windows, limit)))
        return bt_no_memory();
    b->is_guard = 1;
    return NULL;
}

static bt_status limit_loops(struct coder *c, struct nest *nest)
{
    bt__nodes conjuncts = { 0 };
    struct block *innermost = &nest->blocks[nest->n - 1];
    if (!bt__node_conjuncts(c->arena, nest->node->args[0], &conjuncts))
        return bt_no_memory();
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        const bt__node *terms[2];
        uint32_t n = limit_terms(c, conjuncts.at[i], terms);
        if (!n && !BT_PUSH(c->arena, &nest->masks, conjuncts.at[i]))
            return bt_no_memory();
        for (uint32_t k = 0; k < n; k++)
            BT_TRY(limit_loop(c, nest, terms[k]));
        if (n && !BT_PUSH(c->arena, &innermost->facts.conjuncts, conjuncts.at[i]))
            return bt_no_memory();
    }
    innermost->is_guard |= conjuncts.len > 0;
    return NULL;
}

struct accumulator {
    struct bt__reg first, second;
};

static bt_status start_accumulator(struct coder *c, struct block *b, const bt__node *node,
                                   struct accumulator *acc)
{
    uint32_t step = b->strip >= 0 && (node->free & bt__index_bit((uint32_t)b->strip));
    bt_dtype of = node->args[1]->dtype;
    for (uint32_t i = 0; i < bt__reducer_get(node->which)->nstate; i++) {
        struct bt__reg *reg = i ? &acc->second : &acc->first;
        bt__instr in = { .run = bt__run_move };
        BT_TRY(new_reg(c, b, step, reg));
        BT_TRY(const_reg(c, bt__reducer_start(node->which, of, i), &in.a));
        in.out = *reg;
        BT_TRY(push(c, b, in));
    }
    if (!acc->second.at)
        acc->second = acc->first;
    return NULL;
}

/* The read behind conversions that keep its value; NULL: something else. */
static const bt__node *plain_read(const bt__node *node)
{
    while (node->kind == BT__NODE_CAST && !bt__dtype_is_float(node->dtype) &&
           node->args[0]->dtype != BT_BOOL &&
           bt__dtype_is_integer(node->args[0]->dtype) &&
           node->args[0]->low >= bt__dtype_low(node->dtype) &&
           node->args[0]->high <= bt__dtype_high(node->dtype))
        node = node->args[0];
    return node->kind == BT__NODE_READ ? node : NULL;
}

/* A sum of products of elements in one instruction. *done: it is one. Of integers a
 * product need not wrap, because the sum does. */
static bt_status emit_multiply_add(struct coder *c, struct block *b,
                                   const struct nest *nest, struct accumulator acc,
                                   int *done)
{
    const bt__node *body = nest->node->args[1];
    bt__instr in = { .out = acc.first, .to = nest->strip >= 0 };
    struct access access[2];
    struct bt__linear l;
    *done = 0;
    if (nest->node->which != BT__REDUCER_SUM || body->kind != BT__NODE_SCALAR ||
        body->which != BT__SCALAR_MUL)
        return NULL;
    const bt__node *reads[2] = { plain_read(body->args[0]), plain_read(body->args[1]) };
    if (!reads[0] || !reads[1] || reads[0]->dtype != reads[1]->dtype)
        return NULL;
    in.run = bt__run_multiply_add(reads[0]->dtype);
    for (uint32_t i = 0; i < 2; i++) {
        BT_TRY(find_access(c, b, reads[i], &access[i]));
        if (!in.run || access[i].nunproven || access[i].needs_mask ||
            !is_affine(access[i].address))
            return NULL;
    }
    in.array = reads[0]->which;
    in.array2 = reads[1]->which;
    bt__node_as_linear(access[0].address, &l);
    BT_TRY(new_cursor(c, b, &l, &in.cursor, &in.lane));
    bt__node_as_linear(access[1].address, &l);
    BT_TRY(new_cursor(c, b, &l, &in.cursor2, &in.lane2));
    *done = 1;
    return push(c, b, in);
}

static bt_status emit_take(struct coder *c, struct block *b, const struct nest *nest,
                           struct accumulator acc, struct bt__reg mask)
{
    int done = 0;
    if (!mask.at)
        BT_TRY(emit_multiply_add(c, b, nest, acc, &done));
    if (done)
        return NULL;
    const bt__node *node = nest->node;
    struct bt__linear l = { .n = 1, .one = { 1 } };
    bt__instr in = { .run = bt__run_take,
                     .out = acc.first,
                     .b = acc.second,
                     .c = mask,
                     .factor = nest->strip >= 0,
                     .take = bt__reducer_take(node->which, node->args[1]->dtype) };
    // the position: the first index, which is 0 where its extent is 1
    l.self[0] = bt__node_index(c->graph, node->first, node->coefs[0]);
    if (!l.self[0])
        return graph_status(c);
    l.atoms = l.self;
    l.coefs = l.one;
    l.n = l.self[0]->kind == BT__NODE_INDEX;
    BT_TRY(emit(c, b, node->args[1], &in.a));
    BT_TRY(new_cursor(c, b, &l, &in.cursor, &in.lane));
    return push(c, b, in);
}

/* Elements that a condition on elements admits. */
static bt_status emit_masked_take(struct coder *c, struct block *b,
                                  const struct nest *nest, struct accumulator acc)
{
    const bt__node *condition = bt__node_bool(c->graph, 1);
    struct bt__choice *choice = BT_NEW(c->arena, struct bt__choice);
    struct bt__reg mask;
    struct block way;
    for (uint32_t i = 0; i < nest->masks.len; i++)
        condition =
            condition ? bt__node_and(c->graph, condition, nest->masks.at[i]) : NULL;
    if (!condition || !choice)
        return graph_status(c);
    BT_TRY(emit(c, b, condition, &mask));
    if (!mask.step) {
        choice->condition = mask;
        BT_TRY(open_way(c, &way, b, &choice->ways[0], condition));
        BT_TRY(emit_take(c, &way, nest, acc, (struct bt__reg){ 0 }));
        return push(c, b, (bt__instr){ .run = bt__run_branch, .choice = choice });
    }
    open_block(c, &way, b, &choice->ways[0]);
    way.is_guard = 1;
    if (!bt__node_conjuncts(c->arena, condition, &way.mask_facts.conjuncts))
        return bt_no_memory();
    if (b->mask.at) {
        bt__instr and = { .run = bt__run_strip,
                          .a = mask,
                          .b = b->mask,
                          .strip = bt__scalar_strip(BT__SCALAR_AND, BT_BOOL) };
        BT_TRY(new_reg(c, b, 1, &and.out));
        BT_TRY(push(c, &way, and));
        mask = and.out;
    }
    way.mask = mask;
    BT_TRY(emit_take(c, &way, nest, acc, mask));
    return push(c, b, (bt__instr){ .run = bt__run_both, .choice = choice });
}

static bt_status emit_reduce(struct coder *c, struct block *b, const bt__node *node,
                             struct bt__reg *out)
{
    struct nest nest = { .node = node };
    struct accumulator acc = { 0 };
    bt__instr end = { .run = bt__run_end,
                      .reducer = node->which,
                      .from = node->args[1]->dtype };
    order_loops(c, b, &nest);
    BT_TRY(start_accumulator(c, b, node, &acc));
    BT_TRY(open_loops(c, b, &nest));
    BT_TRY(limit_loops(c, &nest));
    struct block *innermost = &nest.blocks[nest.n - 1];
    BT_TRY(nest.masks.len ? emit_masked_take(c, innermost, &nest, acc)
                          : emit_take(c, innermost, &nest, acc, (struct bt__reg){ 0 }));
    for (uint32_t i = nest.n; i-- > 0;)
        BT_TRY(push(c, nest.blocks[i].parent,
                    (bt__instr){ .run = bt__run_loop, .loop = nest.loops[i] }));
    end.a = acc.first;
    end.b = acc.second;
    BT_TRY(new_reg(c, b, acc.first.step, &end.out));
    *out = end.out;
    return push(c, b, end);
}

/* ---- any value ---- */

static bt_status emit_new(struct coder *c, struct block *b, const bt__node *node,
                          struct bt__reg *out)
{
    switch (node->kind) {
    case BT__NODE_INDEX:
    case BT__NODE_LINEAR: return emit_linear(c, b, node, out);
    case BT__NODE_SCALAR: return emit_scalar(c, b, node, out);
    case BT__NODE_CAST: return emit_cast(c, b, node, out);
    case BT__NODE_SELECT: return emit_select(c, b, node, out);
    case BT__NODE_READ: return emit_read(c, b, node, out);
    case BT__NODE_REDUCE: return emit_reduce(c, b, node, out);
    default:
        return bt_fail(c->ctx, BT_ERR_INTERNAL,
                       "an extent that is not known is computed");
    }
}

static bt_status emit(struct coder *c, struct block *b, const bt__node *node,
                      struct bt__reg *out)
{
    if (node->kind == BT__NODE_CONST)
        return const_reg(c, node->value, out);
    b = place(c, b, node);
    for (struct block *up = b; up; up = up->parent) {
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

/* ---- stages ---- */

/* Loops over the axes, the strip innermost; the value is computed and stored there. */
static bt_status code_stage(struct coder *c, const struct bt__array *array,
                            struct bt__code *code)
{
    const bt__node *address;
    const bt__node *indices[BT_MAX_RANK];
    struct block blocks[BT_MAX_RANK + 1];
    struct bt__loop *loops[BT_MAX_RANK];
    uint32_t order[BT_MAX_RANK], n = 0;
    int strip = bt__strip_of_stage(&c->strips, array);
    for (uint32_t i = 0; i < array->rank; i++) {
        indices[i] = bt__node_index(c->graph, i, code->dims[i]);
        if (!indices[i])
            return graph_status(c);
        if ((int)i != strip && code->dims[i] != 1)
            order[n++] = i;
    }
    if (strip >= 0)
        order[n++] = (uint32_t)strip;
    open_block(c, &blocks[0], NULL, &code->body);
    for (uint32_t i = 0; i < n; i++) {
        struct bt__loop *loop = loops[i] = BT_NEW(c->arena, struct bt__loop);
        if (!loop)
            return bt_no_memory();
        loop->index = order[i];
        loop->extent = code->dims[order[i]];
        loop->width = 1;
        open_block(c, &blocks[i + 1], &blocks[i], &loop->body);
        blocks[i + 1].loop = loop;
        blocks[i + 1].bound |= bt__index_bit(order[i]);
        if ((int)order[i] == strip) {
            loop->width = loop->extent < BT__STRIP ? (uint32_t)loop->extent : BT__STRIP;
            blocks[i + 1].strip = strip;
            blocks[i + 1].width = loop->width;
        }
    }
    bt__instr store = { .run = bt__run_store(array->dtype), .array = c->array };
    struct bt__linear l;
    address =
        bt__node_linear(c->graph, 0, array->rank, indices, c->strips.strides[c->array]);
    if (!address)
        return graph_status(c);
    bt__node_as_linear(address, &l);
    BT_TRY(emit(c, &blocks[n], array->body, &store.a));
    BT_TRY(new_cursor(c, &blocks[n], &l, &store.cursor, &store.lane));
    store.out.step = strip >= 0;
    BT_TRY(push(c, &blocks[n], store));
    for (uint32_t i = n; i-- > 0;)
        BT_TRY(push(c, &blocks[i], (bt__instr){ .run = bt__run_loop, .loop = loops[i] }));
    return NULL;
}

/* Dims of a stage and its dense strides; nelem and nbytes are checked. */
static bt_status measure(bt_ctx *ctx, const char *op, const struct bt__array *array,
                         struct bt__code *code, int64_t *strides)
{
    int64_t nelem = 1;
    code->dtype = array->dtype;
    code->rank = array->rank;
    for (uint32_t i = array->rank; i-- > 0;) {
        if (!bt__node_is_const(array->extents[i], &code->dims[i]))
            return bt_fail(ctx, BT_ERR_INTERNAL, "%s: extent %u of %s is not known", op,
                           i, array->name);
        strides[i] = nelem;
        if (!bt_mul_int64(nelem, code->dims[i] ? code->dims[i] : 1, &nelem))
            return bt_fail(ctx, BT_ERR_LIMIT, "%s: %s has too many elements", op,
                           array->name);
    }
    code->nelem = nelem;
    for (uint32_t i = 0; i < array->rank; i++)
        code->nelem = code->dims[i] ? code->nelem : 0;
    return NULL;
}

bt_status bt__program_create(bt_ctx *ctx, bt_arena *arena, const char *op, bt__graph *g,
                             const int64_t *const *strides, struct bt__program **out)
{
    struct bt__program *p = BT_NEW(arena, struct bt__program);
    const int64_t **all = BT_NEWS(arena, const int64_t *, g->narray);
    uint32_t nstage = g->narray - g->ninput;
    if (!p || !all)
        return bt_no_memory();
    p->op = op;
    p->graph = g;
    p->nstage = nstage;
    p->stages = BT_NEWS(arena, struct bt__code, nstage);
    if (!p->stages)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->ninput; i++)
        all[i] = strides[i];
    for (uint32_t i = 0; i < nstage; i++) {
        struct bt__code *code = &p->stages[i];
        int64_t *dense = BT_NEWS(arena, int64_t, BT_MAX_RANK);
        struct coder c = { .ctx = ctx, .arena = arena, .graph = g };
        if (!dense)
            return bt_no_memory();
        c.array = code->array = g->ninput + i;
        all[c.array] = dense;
        c.strips = (struct bt__strips){ g, all };
        BT_TRY(measure(ctx, op, &g->arrays[c.array], code, dense));
        if (code->nelem)
            BT_TRY(code_stage(&c, &g->arrays[c.array], code));
        code->ncursor = c.starts.len;
        code->starts = c.starts.at;
        p->max_cursor = c.starts.len > p->max_cursor ? c.starts.len : p->max_cursor;
    }
    *out = p;
    return NULL;
}
