/*
 * Parameters that have one sum: those that a function which calls itself passes on unchanged, the
 * weights of a recurrent net or of a net over trees, and what they are passed on to. Without it
 * each call would make a gradient as large as the parameter, to be added to that of the others.
 *
 *     def @f(%w, %t) { match (%t) { Leaf(%x) => .., Node(%l, %r) => .. @f(%w, %l) .. @f(%w, %r) .. } }
 *
 * Here %w of @f is passed on to %w of @f. Parameters are nodes of a graph, with an edge where one
 * is an argument for the other; what is in a circle, or reached from one, stays when all that
 * nothing leads to has been taken away, one after the other.
 */
#include "gradients/adjoint_path.h"

struct edge {
    uint32_t from, to;
};

struct search {
    struct differentiation *diff;
    bt_map first;    /* pair -> the number of its first parameter, from 1 */
    uint32_t nparam; /* of all */
    bt_vec(struct edge) edges;
};

static bt_status number_all(struct search *s)
{
    bt_map_init(&s->first, s->diff->arena, 0);
    for (uint32_t i = 0; i < s->diff->pairs.len; i++) {
        struct adjoint_pair *pair = s->diff->pairs.at[i];
        const uint32_t n = pair->primal->block->nparam;
        pair->sums = BT_NEWS(s->diff->arena, uint8_t, n);
        if (!pair->sums ||
            !bt_map_put(&s->first, pair, (void *)(uintptr_t)(s->nparam + 1)))
            return bt_no_memory();
        s->nparam += n;
    }
    return NULL;
}

static uint32_t number_of(const struct search *s, const struct adjoint_pair *pair,
                          uint32_t param)
{
    return (uint32_t)(uintptr_t)bt_map_find(&s->first, pair) - 1 + param;
}

/* ---- edges ---- */

static bt_status add_call(struct search *s, const struct adjoint_pair *from,
                          const struct adjoint_pair *to, const bt_call *call)
{
    const bt_block *block = from->primal->block;
    for (uint32_t i = 0; i < call->narg; i++) {
        for (uint32_t k = 0; k < block->nparam; k++) {
            const struct edge edge = { number_of(s, from, k), number_of(s, to, i) };
            if (&block->params[k]->base == call->args[i] && to->wants[i] &&
                !BT_PUSH(s->diff->arena, &s->edges, edge))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status add_calls(struct search *s, struct adjoint *a,
                           const struct adjoint_pair *pair)
{
    bt_blocks blocks = { 0 };
    BT_TRY(adjoint_pair_mark(a, pair));
    BT_TRY(bt_block_nested(s->diff->arena, pair->primal->block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *value = blocks.at[b]->bindings[i];
            struct adjoint_pair *to;
            BT_TRY(adjoint_pair_of(a, value, &to));
            if (to)
                BT_TRY(add_call(s, pair, to, bt_as_call(value)));
        }
    }
    return NULL;
}

static bt_status find_edges(struct search *s)
{
    for (uint32_t i = 0; i < s->diff->pairs.len; i++) {
        struct adjoint a;
        BT_TRY(adjoint_init(&a, s->diff, s->diff->pairs.at[i]->primal));
        bt_status status = add_calls(s, &a, s->diff->pairs.at[i]);
        adjoint_deinit(&a);
        BT_TRY(status);
    }
    return NULL;
}

/* ---- circles ---- */

/* left[i]: edges to parameter i from those that stay. */
static bt_status take_away(const struct search *s, uint32_t *left)
{
    bt_vec(uint32_t) open = { 0 };
    for (uint32_t i = 0; i < s->edges.len; i++)
        left[s->edges.at[i].to]++;
    for (uint32_t i = 0; i < s->nparam; i++) {
        if (!left[i] && !BT_PUSH(s->diff->arena, &open, i))
            return bt_no_memory();
    }
    while (open.len) {
        const uint32_t gone = open.at[--open.len];
        for (uint32_t i = 0; i < s->edges.len; i++) {
            const uint32_t to = s->edges.at[i].to;
            if (s->edges.at[i].from == gone && --left[to] == 0 &&
                !BT_PUSH(s->diff->arena, &open, to))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status adjoint_pairs_sum(struct differentiation *diff)
{
    struct search s = { .diff = diff };
    BT_TRY(number_all(&s));
    BT_TRY(find_edges(&s));
    uint32_t *left = BT_NEWS(diff->arena, uint32_t, s.nparam + 1);
    if (!left)
        return bt_no_memory();
    BT_TRY(take_away(&s, left));
    for (uint32_t i = 0; i < diff->pairs.len; i++) {
        struct adjoint_pair *pair = diff->pairs.at[i];
        for (uint32_t k = 0; k < pair->primal->block->nparam; k++)
            pair->sums[k] = pair->wants[k] && left[number_of(&s, pair, k)] != 0;
    }
    return NULL;
}

int adjoint_sums(const struct adjoint_pair *pair, uint32_t param, uint32_t leaf)
{
    const bt_type *type =
        adjoint_leaf(pair->primal->block->params[param]->base.type, leaf);
    return pair->sums[param] && bt_dtype_is_float(bt_tensor_dtype(type));
}

/* ---- in a path ---- */

bt_status adjoint_sums_begin(struct adjoint *a, struct adjoint_path *path)
{
    const bt_block *block = a->func->block;
    for (uint32_t i = 0; a->pair && i < block->nparam; i++) {
        const bt_value *old = &block->params[i]->base, *now = adjoint_now(a, old);
        for (uint32_t k = 0; k < bt_type_nleaf(old->type); k++) {
            const bt_param *sum;
            if (!adjoint_sums(a->pair, i, k))
                continue;
            BT_TRY(bt_build_param(a->copy.b, "d", adjoint_leaf(now->type, k), &sum));
            const struct adjoint_output output = { old, k, &sum->base, 1 };
            BT_TRY(adjoint_set(a, old, k, &sum->base));
            if (!BT_PUSH(a->copy.arena, &path->sums, output))
                return bt_no_memory();
        }
    }
    return NULL;
}
