/*
 * Conditions of reductions, solved and as they were written: the same points are left.
 * Each rule is drawn with random numbers, with other conditions beside it, and evaluated at
 * every place of the axes.
 */
#include "formula.h"

#include "compute/graph/conditions.h"

enum { NAXIS = 2, MAX_REDUCED = 3, FIRST = NAXIS };

struct space {
    bt_graph *g;
    uint32_t nreduced;
    int64_t extents[NAXIS + MAX_REDUCED];
    const bt_node *index[NAXIS + MAX_REDUCED];
    int64_t at[BT_MAX_INDEX]; /* while it is evaluated */
    int64_t nvisit;
    uint64_t random;
};

static int64_t draw(struct space *s, int64_t low, int64_t high)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((s->random >> 33) % (uint64_t)(high - low + 1));
}

/* ---- evaluation ---- */

static int64_t value_of(struct space *s, const bt_node *node);

static int64_t sum_of(struct space *s, const bt_node *node, uint32_t k)
{
    int64_t sum = 0;
    if (k == node->nindex) {
        s->nvisit++;
        return value_of(s, node->args[0]) ? value_of(s, node->args[1]) : 0;
    }
    int64_t extent = value_of(s, node->args[2 + k]);
    for (int64_t i = 0; i < extent; i++) {
        s->at[node->first + k] = i;
        sum += sum_of(s, node, k + 1);
    }
    return sum;
}

static int64_t value_of(struct space *s, const bt_node *node)
{
    int64_t sum = node->value.i;
    bt_cell args[2] = { 0 };
    switch (node->kind) {
    case BT_NODE_CONST: return node->value.i;
    case BT_NODE_INDEX: return s->at[node->which];
    case BT_NODE_LINEAR:
        for (uint32_t k = 0; k < node->narg; k++)
            sum += node->coefs[k] * value_of(s, node->args[k]);
        return sum;
    case BT_NODE_SCALAR:
        for (uint32_t k = 0; k < node->narg; k++)
            args[k].i = value_of(s, node->args[k]);
        return bt_scalar_eval(node->which, node->args[0]->dtype, args).i;
    case BT_NODE_SELECT:
        return value_of(s, node->args[value_of(s, node->args[0]) ? 1 : 2]);
    case BT_NODE_REDUCE: return sum_of(s, node, 0);
    default: fail_msg("a node of kind %u", node->kind); return 0;
    }
}

/* ---- conditions ---- */

static const bt_node *sum(struct space *s, int64_t constant, const bt_node *a, int64_t by,
                          const bt_node *b, int64_t times)
{
    const bt_node *l = bt_node_linear(s->g, constant, 2, (const bt_node *[]){ a, b },
                                      (int64_t[]){ by, times });
    assert_non_null(l);
    return l;
}

static const bt_node *by(struct space *s, uint32_t which, const bt_node *a, int64_t n)
{
    return bt_node_scalar(s->g, which, a, bt_node_int(s->g, n));
}

static const bt_node *equal(struct space *s, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(s->g, BT_SCALAR_EQ, a, b);
}

/* A sum of axes, or of these and a reduced index. */
static const bt_node *outside(struct space *s)
{
    const bt_node *l =
        sum(s, draw(s, -2, 2), s->index[0], draw(s, 0, 2), s->index[1], draw(s, -1, 2));
    return draw(s, 0, 5) ? l : sum(s, 0, l, 1, s->index[FIRST], draw(s, -1, 1));
}

static const bt_node *inside(struct space *s)
{
    const bt_node *l = s->index[FIRST + draw(s, 0, s->nreduced - 1)];
    return draw(s, 0, 2)
               ? l
               : sum(s, draw(s, -2, 3), l, draw(s, 1, 4),
                     s->index[FIRST + draw(s, 0, s->nreduced - 1)], draw(s, -2, 3));
}

enum { R1, R2, R3, R4, R5, NRULE };

static const bt_node *rule(struct space *s, int which)
{
    bt_graph *g = s->g;
    const bt_node *e = inside(s), *a = outside(s), *b = outside(s);
    int64_t c = draw(s, 1, 3), d = draw(s, 2, 4);
    switch (which) {
    case R1:
        return bt_node_and(
            g, equal(s, by(s, BT_SCALAR_FLOORDIV, e, c * d), a),
            equal(s, by(s, BT_SCALAR_MOD, by(s, BT_SCALAR_FLOORDIV, e, c), d), b));
    case R2: {
        const bt_node *digits = bt_node_int(g, 0);
        int64_t coef = draw(s, 1, 2);
        for (uint32_t k = 0; k < s->nreduced; k++) {
            const bt_node *digit = s->index[FIRST + k];
            int64_t n = s->extents[FIRST + k];
            if (draw(s, 0, 3) == 0) {
                digit = by(s, BT_SCALAR_MOD, digit, 2);
                n = 2;
            }
            digits = sum(s, 0, digits, 1, digit, coef);
            coef *= n + (draw(s, 0, 2) == 0);
        }
        return equal(s, digits, a);
    }
    case R3: return equal(s, by(s, BT_SCALAR_FLOORDIV, e, d), a);
    case R4: return equal(s, by(s, BT_SCALAR_MOD, e, d), a);
    default: // a window that moves with another index, or an axis
        return bt_node_and(
            g,
            equal(s, sum(s, 0, s->index[FIRST], c, s->index[FIRST + s->nreduced - 1], d),
                  a),
            bt_node_scalar(g, BT_SCALAR_LE, e, b));
    }
}

static const bt_node *condition(struct space *s, int which)
{
    const bt_node *c = rule(s, which);
    while (draw(s, 0, 2) == 0)
        c = bt_node_and(s->g, c, rule(s, (int)draw(s, 0, NRULE - 1)));
    if (draw(s, 0, 2) == 0)
        c = bt_node_and(s->g, c,
                        bt_node_scalar(s->g, draw(s, 0, 1) ? BT_SCALAR_LE : BT_SCALAR_NE,
                                       inside(s), outside(s)));
    assert_non_null(c);
    return c;
}

/* Of a sum of such numbers, hardly another set of points is the same one. */
static const bt_node *body(struct space *s)
{
    const bt_node *sum = bt_node_int(s->g, 1);
    static const int64_t coefs[] = { 7, 11, 101, 1009, 10007 };
    for (uint32_t k = 0; k < NAXIS + s->nreduced; k++) {
        const bt_node *i = s->index[k];
        sum = bt_node_linear(s->g, 0, 2, (const bt_node *[]){ sum, i },
                             (int64_t[]){ 1, coefs[k] });
        // what is no sum of indices
        sum = bt_node_linear(s->g, 0, 2,
                             (const bt_node *[]){ sum, by(s, BT_SCALAR_FLOORDIV, i, 2) },
                             (int64_t[]){ 1, coefs[k] * 13 });
    }
    return sum;
}

static void make_space(struct space *s, struct world *w)
{
    s->g = bt_graph_create(w->ctx, bt_ctx_scratch(w->ctx));
    assert_non_null(s->g);
    s->nreduced = (uint32_t)draw(s, 1, MAX_REDUCED);
    for (uint32_t i = 0; i < NAXIS + s->nreduced; i++) {
        s->extents[i] = draw(s, 1, i < NAXIS ? 7 : 6 + 3 * (i == FIRST));
        s->index[i] = bt_node_index(s->g, i, bt_node_int(s->g, s->extents[i]));
    }
}

/* At most percent of the points that the condition is written for are visited. */
static void check_rule(int which, int64_t percent)
{
    enum { NROUND = 1500 };
    struct world w = world_open();
    struct space s = { .random = (uint64_t)which + 1 };
    int64_t nwritten = 0, nsolved = 0;
    for (uint32_t round = 0; round < NROUND; round++) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        make_space(&s, &w);
        const bt_node *extents[MAX_REDUCED];
        for (uint32_t k = 0; k < s.nreduced; k++)
            extents[k] = bt_node_int(s.g, s.extents[FIRST + k]);
        const bt_node *c = condition(&s, which), *b = body(&s);
        const bt_node *written =
            bt_node_reduce(s.g, BT_REDUCER_SUM, FIRST, s.nreduced, extents, c, b);
        const bt_node *solved =
            bt__reduction_build(s.g, BT_REDUCER_SUM, FIRST, s.nreduced, extents, c, b);
        assert_non_null(written);
        assert_non_null(solved);
        for (int64_t at = 0; at < s.extents[0] * s.extents[1]; at++) {
            s.at[0] = at / s.extents[1];
            s.at[1] = at % s.extents[1];
            s.nvisit = 0;
            int64_t expected = value_of(&s, written);
            nwritten += s.nvisit;
            s.nvisit = 0;
            assert_int_equal(value_of(&s, solved), expected);
            nsolved += s.nvisit;
        }
        assert_null(s.g->status);
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
    }
    if (nsolved * 100 > nwritten * percent)
        fail_msg("%lld points of %lld are left", (long long)nsolved, (long long)nwritten);
    world_close(&w);
}

#define TEST_OF(name, which, percent)     \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        check_rule(which, percent);       \
    }
TEST_OF(quotient_and_remainder_of_one_number_are_the_number, R1, 20)
TEST_OF(a_number_gives_its_digits, R2, 20)
TEST_OF(a_quotient_leaves_the_place_in_a_block, R3, 35)
TEST_OF(a_remainder_leaves_the_block, R4, 35)
TEST_OF(an_index_counts_the_values_that_it_has, R5, 20)

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_quotient_and_remainder_of_one_number_are_the_number),
    cmocka_unit_test(test_a_number_gives_its_digits),
    cmocka_unit_test(test_a_quotient_leaves_the_place_in_a_block),
    cmocka_unit_test(test_a_remainder_leaves_the_block),
    cmocka_unit_test(test_an_index_counts_the_values_that_it_has),
};
TEST_MAIN(tests)
