/* Proofs over dims that are known at the call: none has a counterexample. */
#include "formula.h"

#include "compute/graph/bounds.h"

enum { NDIM = 3, NINDEX = 5, NATOM = NDIM + NINDEX + 3 };

/* A graph with dims, indices below them, and atoms made of both. */
struct space {
    bt_graph *g;
    bt_graph_dim dims[NDIM];
    const bt_node *extents[NINDEX], *atoms[NATOM];
    int64_t n[NDIM], i[NINDEX]; /* while it is searched */
    uint64_t random;
};

static int64_t draw(struct space *s, int64_t low, int64_t high)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((s->random >> 33) % (uint64_t)(high - low + 1));
}

static int64_t value_of(const struct space *s, const bt_node *node)
{
    int64_t sum = node->value.i;
    switch (node->kind) {
    case BT_NODE_CONST: return node->value.i;
    case BT_NODE_DIM: return s->n[node->which];
    case BT_NODE_INDEX: return s->i[node->which];
    case BT_NODE_LINEAR:
        for (uint32_t k = 0; k < node->narg; k++)
            sum += node->coefs[k] * value_of(s, node->args[k]);
        return sum;
    default: {
        int64_t a = value_of(s, node->args[0]), b = value_of(s, node->args[1]);
        assert_int_equal(node->kind, BT_NODE_SCALAR);
        return node->which == BT_SCALAR_MUL        ? a * b
               : node->which == BT_SCALAR_FLOORDIV ? bt_floordiv_int64(a, b)
               : node->which == BT_SCALAR_MOD      ? bt_mod_int64(a, b)
               : node->which == BT_SCALAR_LE       ? a <= b
                                                   : (fail(), 0);
    }
    }
}

static void make_space(struct space *s, struct world *w)
{
    bt_graph *g = s->g = bt_graph_create(w->ctx, bt_ctx_scratch(w->ctx));
    assert_non_null(g);
    for (uint32_t d = 0; d < NDIM; d++) {
        uint32_t which;
        int64_t low = draw(s, 0, 4);
        s->dims[d] = (bt_graph_dim){ "n", low, draw(s, low, d == 2 ? 6 : 12), NULL };
        assert_true(bt_graph_add_dim(g, &s->dims[d], &which));
        s->atoms[d] = bt_node_dim(g, d);
    }
    const bt_node *two = bt_node_int(g, 2), *n = s->atoms[0], *m = s->atoms[1];
    const bt_node *half = bt_node_scalar(g, BT_SCALAR_FLOORDIV, n, two);
    s->extents[0] = n;
    s->extents[1] = m;
    s->extents[2] = bt_node_linear(g, 1, 1, &n, (int64_t[]){ 1 });
    s->extents[3] = half;
    s->extents[4] = bt_node_int(g, 4);
    for (uint32_t i = 0; i < NINDEX; i++)
        s->atoms[NDIM + i] = bt_node_index(g, i, s->extents[i]);
    s->atoms[NDIM + NINDEX] = half;
    s->atoms[NDIM + NINDEX + 1] =
        bt_node_scalar(g, BT_SCALAR_MUL, s->atoms[NDIM + 1], s->atoms[2]);
    s->atoms[NDIM + NINDEX + 2] =
        bt_node_scalar(g, BT_SCALAR_FLOORDIV, s->atoms[NDIM], two);
}

static const bt_node *random_sum(struct space *s)
{
    const bt_node *atoms[3];
    int64_t coefs[3];
    uint32_t n = (uint32_t)draw(s, 1, 3);
    for (uint32_t k = 0; k < n; k++) {
        atoms[k] = s->atoms[draw(s, 0, NATOM - 1)];
        coefs[k] = draw(s, -2, 2);
    }
    // often an extent less an index below it
    if (n > 1 && draw(s, 0, 1)) {
        int64_t which = draw(s, 0, NINDEX - 1);
        atoms[0] = s->extents[which];
        atoms[1] = s->atoms[NDIM + which];
        coefs[1] = -coefs[0];
    }
    const bt_node *sum = bt_node_linear(s->g, draw(s, -4, 3), n, atoms, coefs);
    assert_non_null(sum);
    return sum;
}

static const bt_node *natural(struct space *s, const bt_node *sum)
{
    return bt_node_scalar(s->g, BT_SCALAR_LE, bt_node_int(s->g, 0), sum);
}

/* Whether the sum is below 0 somewhere that the facts allow. */
static int fails_at(struct space *s, const bt_node *sum, const struct bt__facts *facts,
                    uint32_t index)
{
    if (index < NINDEX) {
        int64_t extent = value_of(s, s->extents[index]);
        // an index that nothing asks for has one value, if it has any at all
        uint64_t asked = sum->free;
        for (uint32_t k = 0; k < facts->conjuncts.len; k++)
            asked |= facts->conjuncts.at[k]->free;
        if (!(asked & bt_index_bit(index)))
            return fails_at(s, sum, facts, index + 1);
        for (s->i[index] = 0; s->i[index] < extent; s->i[index]++) {
            if (fails_at(s, sum, facts, index + 1))
                return 1;
        }
        return 0;
    }
    for (uint32_t k = 0; k < facts->conjuncts.len; k++) {
        if (!value_of(s, facts->conjuncts.at[k]))
            return 0;
    }
    return value_of(s, sum) < 0;
}

static int fails(struct space *s, const bt_node *sum, const struct bt__facts *facts,
                 uint32_t dim)
{
    if (dim == NDIM)
        return fails_at(s, sum, facts, 0);
    for (s->n[dim] = s->dims[dim].low; s->n[dim] <= s->dims[dim].high; s->n[dim]++) {
        if (fails(s, sum, facts, dim + 1))
            return 1;
    }
    return 0;
}

static void test_no_proof_has_a_counterexample(void **state)
{
    enum { NROUND = 200, NSUM = 40 };
    (void)state;
    struct world w = world_open();
    struct space s = { .random = 1 };
    uint32_t nproved = 0, nby_ends = 0, ntrue = 0;
    for (uint32_t round = 0; round < NROUND; round++) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        make_space(&s, &w);
        for (uint32_t k = 0; k < NSUM; k++) {
            struct bt__facts facts = { .outer = NULL };
            const bt_node *sum = random_sum(&s);
            for (int64_t nfact = draw(&s, 0, 2); nfact > 0; nfact--)
                assert_true(bt_node_conjuncts(s.g->arena, natural(&s, random_sum(&s)),
                                              &facts.conjuncts));
            int is_proved = bt__facts_imply(s.g, &facts, natural(&s, sum));
            if (fails(&s, sum, &facts, 0)) {
                assert_false(is_proved);
                continue;
            }
            ntrue++;
            nproved += (uint32_t)is_proved;
            nby_ends += is_proved && sum->low < 0 && !facts.conjuncts.len;
        }
        assert_null(s.g->status);
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
    }
    // proofs are there: most of what holds is seen to, some by ends of open ranges alone
    assert_true(nproved > ntrue / 2);
    assert_true(nby_ends > 50);
    world_close(&w);
}

/* x[i + 1] of n + 1 elements where i is below n. */
static void test_an_index_goes_to_the_end_of_an_open_range(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_graph *g = bt_graph_create(w.ctx, bt_ctx_scratch(w.ctx));
    bt_graph_dim dim = { .name = "n", .high = INT64_MAX };
    uint32_t which;
    assert_true(bt_graph_add_dim(g, &dim, &which));
    const bt_node *n = bt_node_dim(g, which), *i = bt_node_index(g, 0, n);
    const bt_node *next = bt_node_linear(g, 1, 1, &i, (int64_t[]){ 1 });
    const bt_node *more = bt_node_linear(g, 1, 1, &n, (int64_t[]){ 1 });
    assert_true(bt__facts_bound(g, NULL, i, n));
    assert_true(bt__facts_bound(g, NULL, next, more));
    assert_false(bt__facts_bound(g, NULL, next, n));
    // from the end
    const bt_node *ends[] = { n, i };
    const bt_node *last = bt_node_linear(g, -1, 2, ends, (int64_t[]){ 1, -1 });
    assert_true(bt__facts_bound(g, NULL, last, n));
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_proof_has_a_counterexample),
    cmocka_unit_test(test_an_index_goes_to_the_end_of_an_open_range),
};
TEST_MAIN(tests)
