/*
 * Each read of the input is held against each write of the output. In the loops around
 * both, what they touch in one iteration must be apart from what they touch in others: of a
 * loop whose iterations are c elements apart, no iteration may reach further than c.
 *
 *     for i0 in 4 {                                   784 apart, reach 784
 *         for i1 in 2 {                               400 apart, reach 400
 *             add.float32(&s0[784*i0 + 400*i1],       up to 784*i0 + min(400*i1 + 400, 784)
 *                         &a0[784*i0 + 400*i1], &a1[0], min(400, -400*i1 + 784))
 *
 * Then iterations do not disturb each other, in whatever order they run, and within one the
 * read must come before the write: by a statement before it, or by the same call at the
 * same elements. Where a read and a write never meet, nothing else is asked.
 */
#include "alias.h"

#include "primitives/tile.h"

#include <string.h>

enum { MAX_STEPS = 24, MAX_ENDS = 4, MAX_TOUCHES = 4096 };

/* ---- where something stands ---- */

/* A loop around, with the iterations that the conditions inside it leave; or a condition,
 * and which side it is. */
struct step {
    const bt_stmt *stmt;
    uint32_t is_otherwise;
    int64_t low, high;
};

/* low ... high, and a term for each step. */
struct form {
    int64_t low, high;
    int64_t coefs[MAX_STEPS];
};

/* Elements that a statement reads or writes: from `first` on, before all of the ends. */
struct touch {
    const bt_stmt *call; /* NULL: it is read in an expression */
    const bt_node *offset;
    uint32_t order;
    uint32_t is_each;  /* one for each element of the strip, in step */
    uint32_t is_whole; /* it may be any element */
    uint32_t is_own;   /* one that no other call writes, and this one where it reads it */
    struct form first, ends[MAX_ENDS];
    uint32_t nend, nstep;
    struct step steps[MAX_STEPS];
};

typedef bt_vec(struct touch *) touches;

struct walker {
    const struct cpu_alias_question *q;
    bt_graph *graph;
    bt_arena *scratch;
    uint32_t order, nstep;
    struct step steps[MAX_STEPS];
    touches reads, writes;
    uint32_t is_lost;   /* there is more than can be looked at */
    uint32_t no_memory; /* or the graph has failed */
};

/* ---- sums ---- */

/* *sum += coef * v for the v of low ... high that gives most; 0: overflow. */
static int add_most(int64_t *sum, int64_t coef, int64_t low, int64_t high)
{
    int64_t term;
    return bt_mul_int64(coef, coef < 0 ? low : high, &term) &&
           bt_add_int64(*sum, term, sum);
}

static int add_least(int64_t *sum, int64_t coef, int64_t low, int64_t high)
{
    return add_most(sum, coef, high, low);
}

/* The step of an index; nstep: it is none. */
static uint32_t step_of(const struct walker *w, const bt_node *atom)
{
    uint32_t i = 0;
    while (i < w->nstep &&
           !(atom->kind == BT_NODE_INDEX && w->steps[i].stmt->kind == BT_STMT_FOR &&
             w->steps[i].stmt->index == atom->which))
        i++;
    return i;
}

/* 0: it is not bounded. */
static int make_form(const struct walker *w, const bt_node *node, struct form *out)
{
    bt_linear l;
    *out = (struct form){ .low = 0 };
    bt_node_as_linear(node, &l);
    out->low = out->high = l.constant;
    for (uint32_t i = 0; i < l.n; i++) {
        const bt_node *atom = l.atoms[i];
        uint32_t at = step_of(w, atom);
        if (at < w->nstep)
            out->coefs[at] = l.coefs[i];
        else if (atom->low == INT64_MIN || atom->high == INT64_MAX ||
                 !add_least(&out->low, l.coefs[i], atom->low, atom->high) ||
                 !add_most(&out->high, l.coefs[i], atom->low, atom->high))
            return 0;
    }
    return 1;
}

/* ---- what calls touch ---- */

/* Ends at `offset` and a count, of which a minimum is as many ends. */
static int add_ends(struct walker *w, struct touch *t, const bt_node *count)
{
    if (count->kind == BT_NODE_SCALAR && count->which == BT_SCALAR_MIN)
        return add_ends(w, t, count->args[0]) && add_ends(w, t, count->args[1]);
    const bt_node *end = bt_node_linear(
        w->graph, 0, 2, (const bt_node *[]){ t->offset, count }, (int64_t[]){ 1, 1 });
    if (!end || t->nend == MAX_ENDS || !make_form(w, end, &t->ends[t->nend]))
        return 0;
    t->nend++;
    return 1;
}

/* Elements at a stride, of which only how far they go is known. */
static int add_strided(struct walker *w, struct touch *t, const bt_node *count,
                       const bt_node *stride)
{
    int64_t step, last = count->high < 1 ? 0 : count->high - 1;
    if (!bt_node_is_const(stride, &step) || !bt_mul_int64(last, step, &last) ||
        last == INT64_MIN)
        return 0;
    if (last < 0 && !bt_add_int64(t->first.low, last, &t->first.low))
        return 0;
    return add_ends(w, t, bt_node_int(w->graph, last > 0 ? last + 1 : 1));
}

static int find_reach(struct walker *w, struct touch *t, const struct cpu_form *form,
                      uint32_t address)
{
    const bt_call_arg *integers = form ? &t->call->args[form->naddress] : NULL;
    int access = form ? form->operands[address].access : CPU_ONE;
    t->is_each = access == CPU_EACH;
    if (!make_form(w, t->offset, &t->first))
        return 0;
    switch (access) {
    case CPU_EACH: return add_ends(w, t, integers[0].value);
    case CPU_ONE: return add_ends(w, t, bt_node_int(w->graph, 1));
    case CPU_STRIDED: return add_strided(w, t, integers[0].value, integers[1].value);
    default: return 0;
    }
}

/* Whether the call says that it is the only one that writes the elements it does, and reads there
 * no others of what it writes. */
static int is_own(const bt_stmt *call, const struct cpu_form *form, uint32_t address)
{
    int64_t flags;
    const bt_call_arg *args = call->args;
    return form->operands[form->naddress - 1].access == CPU_OWN &&
           bt_node_is_const(args[form->naddress + CPU_TILE_FLAGS].value, &flags) &&
           (flags & CPU_TILE_ONCE) &&
           (address == 0 || (form->operands[address].access == CPU_OWN &&
                             args[address].value == args[0].value));
}

/* `form` of the call; both NULL: an expression reads one element. */
static void add_touch(struct walker *w, touches *to, const bt_stmt *call,
                      const struct cpu_form *form, uint32_t address,
                      const bt_node *offset)
{
    struct touch *t = BT_NEW(w->scratch, struct touch);
    if (!t || !BT_PUSH(w->scratch, to, t)) {
        w->no_memory = 1;
        return;
    }
    *t = (struct touch){
        .call = call, .offset = offset, .order = w->order, .nstep = w->nstep
    };
    memcpy(t->steps, w->steps, w->nstep * sizeof(*w->steps));
    t->is_whole = !find_reach(w, t, form, address);
    t->is_own = call && is_own(call, form, address);
    w->no_memory |= w->graph->status != NULL;
    w->is_lost |= to->len > MAX_TOUCHES;
}

static void read_expression(struct walker *w, const bt_node *node)
{
    if (!node->reads)
        return;
    if (node->kind == BT_NODE_READ && node->which == w->q->in)
        add_touch(w, &w->reads, NULL, NULL, 0, node->args[0]);
    for (uint32_t i = 0; i < node->narg; i++)
        read_expression(w, node->args[i]);
}

static void walk_call(struct walker *w, const bt_stmt *stmt)
{
    const struct cpu_callee *row = cpu_row_of(w->q->config, stmt->callee);
    const struct cpu_form *form = row ? cpu_form_of(row) : NULL;
    if (!form || form->naddress + form->ninteger != stmt->narg) {
        w->is_lost = 1;
        return;
    }
    for (uint32_t i = 0; i < stmt->narg; i++)
        read_expression(w, stmt->args[i].value);
    w->order++; // arguments come before the call
    for (uint32_t i = 0; i < form->naddress; i++) {
        const bt_call_arg *arg = &stmt->args[i];
        // what it writes may be read by it, too
        if (arg->buffer == w->q->in)
            add_touch(w, &w->reads, stmt, form, i, arg->value);
        if (arg->buffer == w->q->out && i < form->nwritten)
            add_touch(w, &w->writes, stmt, form, i, arg->value);
    }
}

/* ---- statements ---- */

/* The iterations of a loop in which 0 <= coef * i + constant, if that is what `l` says. */
static void narrow(struct walker *w, const bt_node *l, int sign)
{
    bt_linear in;
    bt_node_as_linear(l, &in);
    uint32_t at = in.n == 1 ? step_of(w, in.atoms[0]) : w->nstep;
    if (at == w->nstep || in.coefs[0] == INT64_MIN || in.constant == INT64_MIN)
        return;
    struct step *step = &w->steps[at];
    // the opposite of 0 <= l is 0 <= -l - 1
    int64_t coef = sign * in.coefs[0];
    int64_t constant = sign > 0 ? in.constant : -(in.constant + 1);
    if (coef > 0) {
        int64_t low = bt_ceildiv_int64(-constant, coef);
        step->low = low > step->low ? low : step->low;
    } else {
        int64_t high = bt_floordiv_int64(constant, -coef);
        step->high = high < step->high ? high : step->high;
    }
}

static void narrow_all(struct walker *w, const bt_node *condition, int is_otherwise)
{
    bt_nodes all = { 0 };
    int64_t zero;
    if (!bt_node_conjuncts(w->scratch, condition, &all)) {
        w->no_memory = 1;
        return;
    }
    for (uint32_t i = 0; i < all.len; i++) {
        const bt_node *c = all.at[i];
        // of several, it is not said which does not hold
        if (c->kind == BT_NODE_SCALAR && c->which == BT_SCALAR_LE && c->narg == 2 &&
            bt_node_is_const(c->args[0], &zero) && zero == 0 &&
            c->args[1]->dtype == BT_INT64 && (!is_otherwise || all.len == 1))
            narrow(w, c->args[1], is_otherwise ? -1 : 1);
    }
}

static void walk_block(struct walker *w, const bt_stmts *block);

static void walk_inside(struct walker *w, const bt_stmt *stmt, int is_otherwise)
{
    struct step before[MAX_STEPS];
    int is_empty = 0;
    if (w->nstep == MAX_STEPS) {
        w->is_lost = 1;
        return;
    }
    memcpy(before, w->steps, sizeof(before));
    if (stmt->kind == BT_STMT_IF)
        narrow_all(w, stmt->condition, is_otherwise);
    w->steps[w->nstep++] =
        (struct step){ .stmt = stmt,
                       .is_otherwise = (uint32_t)is_otherwise,
                       .high = stmt->extent ? stmt->extent->high - 1 : -1 };
    for (uint32_t i = 0; i < w->nstep; i++)
        is_empty |=
            w->steps[i].stmt->kind == BT_STMT_FOR && w->steps[i].low > w->steps[i].high;
    if (!is_empty)
        walk_block(w, is_otherwise ? &stmt->otherwise : &stmt->body);
    w->nstep--;
    memcpy(w->steps, before, sizeof(before));
}

static void walk(struct walker *w, const bt_stmt *stmt)
{
    w->order++;
    switch (stmt->kind) {
    case BT_STMT_FOR: walk_inside(w, stmt, 0); break;
    case BT_STMT_IF:
        read_expression(w, stmt->condition);
        walk_inside(w, stmt, 0);
        walk_inside(w, stmt, 1);
        break;
    case BT_STMT_CHECK: read_expression(w, stmt->condition); break;
    case BT_STMT_CALL: walk_call(w, stmt); break;
    default: w->is_lost = 1; break;
    }
}

static void walk_block(struct walker *w, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len && !w->is_lost && !w->no_memory; i++)
        walk(w, block->at[i]);
}

/* ---- a read and a write ---- */

struct pair {
    const struct touch *read, *write;
    uint32_t nboth;     /* steps that both have, ... */
    uint32_t ncommon;   /* ... and that both stand in */
    uint32_t is_either; /* in one iteration of these, only one of them happens */
    uint8_t
        is_same[MAX_STEPS]; /* of loops: where they meet, in iterations of one number */
};

static struct pair make_pair(const struct touch *read, const struct touch *write)
{
    struct pair p = { .read = read, .write = write };
    p.nboth = read->nstep < write->nstep ? read->nstep : write->nstep;
    while (p.ncommon < p.nboth) {
        const struct step *a = &read->steps[p.ncommon], *b = &write->steps[p.ncommon];
        if (a->stmt != b->stmt)
            break;
        if (a->is_otherwise != b->is_otherwise) {
            p.is_either = 1;
            break;
        }
        int is_one = a->low == a->high && b->low == b->high && a->low == b->low;
        p.is_same[p.ncommon++] = a->stmt->kind != BT_STMT_FOR || is_one;
    }
    return p;
}

/* Adds the most that step `k` adds to end - start. Of loop `asked`, whose iterations are c
 * apart, that distance does not count. 0: overflow. */
static int add_step(const struct pair *p, int64_t *sum, uint32_t k, uint32_t asked,
                    int64_t c, const struct touch *a, const struct form *end,
                    const struct touch *b)
{
    const struct step *of_a = k < a->nstep ? &a->steps[k] : NULL;
    const struct step *of_b = k < b->nstep ? &b->steps[k] : NULL;
    int64_t x = of_a ? end->coefs[k] : 0, y = of_b ? b->first.coefs[k] : 0, difference;
    if (y == INT64_MIN)
        return 0;
    if (k < p->nboth && p->is_same[k]) {
        int64_t low = of_a->low > of_b->low ? of_a->low : of_b->low;
        int64_t high = of_a->high < of_b->high ? of_a->high : of_b->high;
        return bt_add_int64(x, -y, &difference) &&
               (difference == 0 || low > high || add_most(sum, difference, low, high));
    }
    if (k == asked &&
        (!bt_add_int64(x, -c, &x) || !bt_add_int64(y, -c, &y) || y == INT64_MIN))
        return 0;
    return (!x || add_most(sum, x, of_a->low, of_a->high)) &&
           (!y || add_most(sum, -y, of_b->low, of_b->high));
}

/* How far a's end may be beyond b's first; 0: it is not known. */
static int span(const struct pair *p, uint32_t asked, int64_t c, const struct touch *a,
                const struct touch *b, int64_t *out)
{
    uint32_t n = a->nstep > b->nstep ? a->nstep : b->nstep;
    int is_known = 0;
    for (uint32_t i = 0; i < a->nend; i++) {
        int64_t sum = a->ends[i].high;
        int ok = b->first.low != INT64_MIN && bt_add_int64(sum, -b->first.low, &sum);
        for (uint32_t k = 0; ok && k < n; k++)
            ok = add_step(p, &sum, k, asked, c, a, &a->ends[i], b);
        if (!ok || (is_known && sum >= *out))
            continue;
        *out = sum;
        is_known = 1;
    }
    return is_known;
}

static int are_apart(const struct pair *p)
{
    int64_t beyond;
    return (span(p, UINT32_MAX, 0, p->read, p->write, &beyond) && beyond <= 0) ||
           (span(p, UINT32_MAX, 0, p->write, p->read, &beyond) && beyond <= 0);
}

/* Whether the read and the write, where they are not in the same iteration of loop `k`, are
 * apart. */
static int is_apart_by(const struct pair *p, uint32_t k)
{
    int64_t c = p->read->first.coefs[k], size = c < 0 ? -c : c, there, back;
    return p->read->steps[k].stmt->kind == BT_STMT_FOR &&
           p->write->steps[k].stmt->kind == BT_STMT_FOR && c && c != INT64_MIN &&
           p->write->first.coefs[k] == c && span(p, k, c, p->read, p->write, &there) &&
           there <= size && span(p, k, c, p->write, p->read, &back) && back <= size;
}

static int is_in_order(const struct pair *p)
{
    const struct touch *r = p->read, *w = p->write;
    if (r->call && r->call == w->call)
        return r->is_each && w->is_each && r->offset == w->offset;
    return p->is_either || r->order < w->order;
}

static int may_meet(struct pair *p)
{
    int is_more = !p->read->is_whole && !p->write->is_whole;
    uint32_t nleft = 0;
    // each loop that is settled makes it easier for the others
    while (is_more) {
        is_more = 0;
        if (are_apart(p))
            return 0;
        for (uint32_t k = 0; k < p->nboth; k++) {
            if (!p->is_same[k] && is_apart_by(p, k))
                is_more = p->is_same[k] = 1;
        }
    }
    for (uint32_t k = 0; k < p->ncommon; k++)
        nleft += !p->is_same[k];
    return nleft || !is_in_order(p);
}

int cpu_may_alias(const struct cpu_alias_question *q)
{
    struct walker w = { .q = q, .graph = q->loops->graph };
    // what the graph gets meanwhile stays, and may stand in the context's own
    w.scratch = bt_arena_create(bt_ctx_registry(q->loops->ctx));
    if (!w.scratch)
        return -1;
    for (uint32_t i = 0; i < q->n && !w.is_lost && !w.no_memory; i++)
        walk(&w, q->stmts[i]);
    int may = !w.is_lost;
    for (uint32_t i = 0; may && i < w.reads.len; i++) {
        for (uint32_t k = 0; may && k < w.writes.len; k++) {
            struct pair p = make_pair(w.reads.at[i], w.writes.at[k]);
            may = (p.read->is_own && p.write->is_own) || !may_meet(&p);
        }
    }
    bt_arena_destroy(w.scratch);
    return w.no_memory ? -1 : may;
}
