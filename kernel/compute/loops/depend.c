/*
 * Which iterations of a loop touch the same element.
 *
 * Two accesses at linear offsets meet where the difference of the offsets is 0: a sum of
 * coefs times bounded unknowns, among them d, by how much the loop's index differs. To
 * show that d = 0 the sum is cut: where what follows a cut is smaller than the divisor
 * that the terms before it share, both parts must be 0 by themselves.
 *
 *     12*d0 + 4*d1 + d2,  |d1| <= 2, |d2| <= 3:   all are 0
 */
#include "compute/loops/transform.h"

#include "compute/graph/interval.h"

/* ---- accesses ---- */

struct collecting {
    bt_loops *loops;
    bt__accesses *out;
    uint8_t *seen; /* by id */
};

static int add_reads(struct collecting *c, const bt_node *node)
{
    if (!node->reads || c->seen[node->id])
        return 1;
    c->seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!add_reads(c, node->args[i]))
            return 0;
    }
    struct bt__access read = { .buffer = node->which, .offset = node->args[0] };
    return node->kind != BT_NODE_READ || BT_PUSH(c->loops->arena, c->out, read);
}

static int add_writes(struct collecting *c, const bt_stmt *stmt)
{
    struct bt__access write = { .buffer = stmt->buffer,
                                .offset = stmt->offset,
                                .writes = 1 };
    if (stmt->kind == BT_STMT_CALL) {
        for (uint32_t i = 0; i < stmt->narg; i++) {
            uint32_t buffer = stmt->args[i].buffer;
            // a kernel may do anything to what is not an input
            write = (struct bt__access){ .buffer = buffer };
            write.writes = c->loops->roles.at[buffer] != BT_BUFFER_INPUT;
            if (stmt->args[i].is_address && !BT_PUSH(c->loops->arena, c->out, write))
                return 0;
        }
        return 1;
    }
    if (stmt->kind == BT_STMT_TAKE) {
        write.takes = 1 + stmt->reducer;
        write.of = stmt->of;
        if (!BT_PUSH(c->loops->arena, c->out, write))
            return 0;
        write.buffer = stmt->buffer2;
        return bt__reducer_get(stmt->reducer)->nstate == 1 ||
               BT_PUSH(c->loops->arena, c->out, write);
    }
    return stmt->kind != BT_STMT_STORE || BT_PUSH(c->loops->arena, c->out, write);
}

static int collect_block(struct collecting *c, const bt_stmts *block);

static int collect(struct collecting *c, const bt_stmt *stmt)
{
    const bt_node *parts[] = { stmt->condition, stmt->offset, stmt->value,
                               stmt->position };
    for (size_t i = 0; i < BT_COUNT(parts); i++) {
        if (parts[i] && !add_reads(c, parts[i]))
            return 0;
    }
    for (uint32_t i = 0; i < stmt->narg; i++) {
        if (!add_reads(c, stmt->args[i].value))
            return 0;
    }
    return add_writes(c, stmt) && collect_block(c, &stmt->body) &&
           collect_block(c, &stmt->otherwise);
}

static int collect_block(struct collecting *c, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        if (!collect(c, block->at[i]))
            return 0;
    }
    return 1;
}

int bt__accesses_of(bt_loops *loops, const bt_stmt *stmt, bt__accesses *out)
{
    struct collecting c = { .loops = loops, .out = out };
    c.seen = BT_NEWS(loops->arena, uint8_t, loops->graph->nnode + 1);
    return c.seen && collect(&c, stmt);
}

static int is_used(bt_loops *loops, const bt_stmts *block, uint32_t buffer,
                   const bt_stmt *but)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt alone = *block->at[i];
        bt__accesses own = { .len = 0 };
        if (block->at[i] == but)
            continue;
        alone.body.len = alone.otherwise.len = 0;
        if (!bt__accesses_of(loops, &alone, &own))
            return 1;
        for (uint32_t k = 0; k < own.len; k++) {
            if (own.at[k].buffer == buffer)
                return 1;
        }
        if (is_used(loops, &block->at[i]->body, buffer, but) ||
            is_used(loops, &block->at[i]->otherwise, buffer, but))
            return 1;
    }
    return 0;
}

int bt__buffer_used_outside(bt_loops *loops, uint32_t buffer, const bt_stmt *loop)
{
    return is_used(loops, &loops->body, buffer, loop);
}

/* ---- sums of bounded unknowns ---- */

enum { MAX_TERMS = 64 };

struct term {
    int64_t coef, low, high;
    int is_asked; /* it is the difference of the index in question */
};

struct sum {
    int64_t constant;
    uint32_t n;
    struct term terms[MAX_TERMS];
};

/* 0: too large to say anything. */
static int add_term(struct sum *s, int64_t coef, int64_t low, int64_t high, int is_asked)
{
    int64_t value;
    if (coef == 0)
        return 1;
    if (low == INT64_MIN || high == INT64_MAX || coef == INT64_MIN || s->n == MAX_TERMS)
        return 0;
    if (low == high && !is_asked)
        return bt_mul_int64(coef, low, &value) &&
               bt_add_int64(s->constant, value, &s->constant);
    uint32_t at = s->n++;
    int64_t size = coef < 0 ? -coef : coef;
    // the largest first
    for (; at > 0 && (s->terms[at - 1].coef < 0 ? -s->terms[at - 1].coef
                                                : s->terms[at - 1].coef) < size;
         at--)
        s->terms[at] = s->terms[at - 1];
    s->terms[at] = (struct term){ coef, low, high, is_asked };
    return 1;
}

/* Bounds of the terms [from, to); 0: overflow. */
static int bounds(const struct sum *s, uint32_t from, uint32_t to, int64_t *low,
                  int64_t *high)
{
    *low = *high = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct term *t = &s->terms[i];
        int64_t a, b;
        if (!bt_mul_int64(t->coef, t->low, &a) || !bt_mul_int64(t->coef, t->high, &b) ||
            !bt_add_int64(*low, a < b ? a : b, low) ||
            !bt_add_int64(*high, a < b ? b : a, high))
            return 0;
    }
    return 1;
}

/* Whether the terms [from, to) plus `constant` are 0 only with the asked one 0, or never.
 */
static int settles(const struct sum *s, uint32_t from, uint32_t to, int64_t constant)
{
    int64_t low, high, shared = 0;
    if (constant == INT64_MIN || !bounds(s, from, to, &low, &high))
        return 0;
    for (uint32_t i = from; i < to; i++)
        shared = bt_gcd_int64(shared, s->terms[i].coef);
    if (-constant < low || -constant > high || (shared && constant % shared) ||
        (!shared && constant))
        return 1;
    return to - from == 1 && s->terms[from].is_asked && constant == 0;
}

static int only_zero(const struct sum *s)
{
    int64_t constant = s->constant, shared = 0, low, high;
    uint32_t from = 0;
    for (uint32_t cut = 1; cut < s->n; cut++) {
        shared = bt_gcd_int64(shared, s->terms[cut - 1].coef);
        if (!bounds(s, cut, s->n, &low, &high))
            return 0;
        int64_t rest = bt_mod_int64(constant, shared), most;
        for (int k = 0; k < 2; k++, rest -= shared) {
            if (!bt_add_int64(low, rest, &most) || most <= -shared ||
                !bt_add_int64(high, rest, &most) || most >= shared)
                continue;
            if (settles(s, from, cut, constant - rest))
                return 1;
            constant = rest;
            from = cut;
            shared = 0;
            break;
        }
    }
    return settles(s, from, s->n, constant);
}

/* ---- two offsets ---- */

static int64_t coef_of(const bt_linear *l, const bt_node *atom)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->atoms[i] == atom)
            return l->coefs[i];
    }
    return 0;
}

/* Which unknown is to be 0: the difference of an index or, with `by`, of what it is divided by that
 * (quotient or remainder). */
struct asked {
    uint32_t number, which;
    const bt_node *by;
};

static int is_asked(const struct asked *asked, const bt_node *atom)
{
    if (asked->by && (atom->kind != BT_NODE_SCALAR || atom->which != asked->which ||
                      atom->args[1] != asked->by))
        return 0;
    const bt_node *index = asked->by ? atom->args[0] : atom;
    return index->kind == BT_NODE_INDEX && index->which == asked->number;
}

/* An atom with coefficient x in one offset and y in the other. */
static int add_atom(struct sum *s, const bt_node *atom, int64_t x, int64_t y,
                    uint64_t outer, const struct asked *asked)
{
    int64_t difference, range;
    if (y == INT64_MIN || !bt_add_int64(x, -y, &difference))
        return 0;
    // one value for both
    if (!(atom->free & ~outer) && !atom->reads)
        return add_term(s, difference, atom->low, atom->high, 0);
    if (x != y)
        return add_term(s, x, atom->low, atom->high, 0) &&
               add_term(s, -y, atom->low, atom->high, 0);
    if (!bt__is_bounded(atom) || !bt_add_int64(atom->high, -atom->low, &range))
        return 0;
    return add_term(s, x, -range, range, is_asked(asked, atom));
}

/* Whether the offsets are the same only where the asked unknown is 0, or never. */
static int implies(const bt_linear *a, const bt_linear *b, uint64_t outer,
                   const struct asked *asked)
{
    struct sum s = { .n = 0 };
    if (b->constant == INT64_MIN || !bt_add_int64(a->constant, -b->constant, &s.constant))
        return 0;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!add_atom(&s, a->atoms[i], a->coefs[i], coef_of(b, a->atoms[i]), outer,
                      asked))
            return 0;
    }
    for (uint32_t i = 0; i < b->n; i++) {
        if (!coef_of(a, b->atoms[i]) &&
            !add_atom(&s, b->atoms[i], 0, b->coefs[i], outer, asked))
            return 0;
    }
    return only_zero(&s);
}

/* What a quotient or remainder of the index in an offset is divided by; NULL: there is none. */
static const bt_node *divisor_in(const bt_linear *l, uint32_t number)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const bt_node *atom = l->atoms[i];
        if (atom->kind == BT_NODE_SCALAR &&
            (atom->which == BT_SCALAR_FLOORDIV || atom->which == BT_SCALAR_MOD) &&
            atom->args[0]->kind == BT_NODE_INDEX && atom->args[0]->which == number &&
            bt_node_number(atom->args[1]) > 0)
            return atom->args[1];
    }
    return NULL;
}

int bt__accesses_meet(const bt_node *a, const bt_node *b, uint64_t outer, uint32_t number)
{
    bt_linear in_a, in_b;
    if (!a || !b)
        return 1;
    bt_node_as_linear(a, &in_a);
    bt_node_as_linear(b, &in_b);
    if (implies(&in_a, &in_b, outer, &(struct asked){ number, 0, NULL }))
        return 0;
    // an index is the same where its quotient and its remainder are
    const bt_node *by = divisor_in(&in_a, number);
    return !by ||
           !implies(&in_a, &in_b, outer,
                    &(struct asked){ number, BT_SCALAR_FLOORDIV, by }) ||
           !implies(&in_a, &in_b, outer, &(struct asked){ number, BT_SCALAR_MOD, by });
}

const struct bt__access *bt__conflict_find(const struct bt__conflict_question *q)
{
    for (uint32_t i = 0; i < q->a->len; i++) {
        const struct bt__access *a = &q->a->at[i];
        for (uint32_t k = 0; k < q->b->len; k++) {
            const struct bt__access *b = &q->b->at[k];
            int may_swap =
                !q->is_parallel && a->takes && a->takes == b->takes && a->of == b->of;
            if (a->buffer != b->buffer || !(a->writes || b->writes) || may_swap ||
                (q->is_private && q->is_private[a->buffer]))
                continue;
            if (bt__accesses_meet(a->offset, b->offset, q->outer, q->number))
                return a->writes ? a : b;
        }
    }
    return NULL;
}
