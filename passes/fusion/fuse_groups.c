/* Groups of a block, by its post-dominator tree. */
#include "fusion/fuse_groups.h"

#include "fusion/fuse_laid.h"
#include "fusion/fuse_parts.h"
#include "fusion/fuse_rows.h"

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

uint32_t fuse_leader(const struct fuse_block *b, uint32_t node)
{
    struct fuse_node *nodes = b->nodes;
    while (nodes[node].leader != node) {
        nodes[node].leader = nodes[nodes[node].leader].leader; // half the way next time
        node = nodes[node].leader;
    }
    return node;
}

int fuse_leaves(const struct fuse_block *b, uint32_t node)
{
    const struct fuse_node *n = &b->nodes[node];
    for (uint32_t i = 0; i < n->users.len; i++) {
        if (fuse_leader(b, n->users.at[i]) != fuse_leader(b, node))
            return 1;
    }
    return fuse_escapes(n);
}

/* ---- post-dominators ---- */

/* Whether a value is no result that others read as it is, but has digits to spare. */
static int is_wide(const bt_type *type)
{
    const bt_dtype dtype = bt_tensor_dtype(type);
    return dtype && BT_DTYPE_BITS(dtype) > 8;
}

/* What a user does with a value: an operand of the user's own shape is read element by
 * element, whatever else the user broadcasts. Of another type the user may be, as sums become codes of
 * 8 bits; what is computed of these is another matter. */
uint32_t fuse_kind_of_use(const struct fuse_node *user, const bt_value *operand)
{
    if (user->kind == FUSE_TUPLE)
        return BT_FUSE_INJECTIVE;
    const bt_shape_type *shape = bt_tensor_shape(operand->type);
    if (user->kind == BT_FUSE_BROADCAST && shape && is_wide(operand->type) &&
        bt_tensor_shape(user->value->type) == shape)
        return BT_FUSE_ELEMWISE;
    return user->kind;
}

/* The nearest common ancestor; *pattern takes in what lies on the two ways. */
static uint32_t common(const struct fuse_block *b, uint32_t x, uint32_t y,
                       uint32_t *pattern)
{
    while (x != y) {
        if (x == FUSE_NONE || y == FUSE_NONE)
            return FUSE_NONE;
        uint32_t *deeper = b->nodes[x].depth >= b->nodes[y].depth ? &x : &y;
        *pattern = most(*pattern, b->nodes[*deeper].pattern);
        *deeper = b->nodes[*deeper].parent;
    }
    return x;
}

/* Users come later, so that they are done first. */
static void find_parents(struct fuse_block *b)
{
    for (uint32_t i = b->n; i-- > 0;) {
        struct fuse_node *node = &b->nodes[i];
        uint32_t parent = FUSE_NONE, pattern = BT_FUSE_ELEMWISE;
        for (uint32_t k = 0; k < node->users.len; k++) {
            const struct fuse_node *user = &b->nodes[node->users.at[k]];
            pattern = most(pattern, fuse_kind_of_use(user, node->value));
            parent =
                k ? common(b, parent, node->users.at[k], &pattern) : node->users.at[k];
        }
        node->parent = fuse_escapes(node) ? FUSE_NONE : parent;
        node->pattern = pattern;
        node->depth = node->parent == FUSE_NONE ? 1 : b->nodes[node->parent].depth + 1;
    }
}

/* ---- paths ---- */

/* Visits all nodes between `from` and `to`, which post-dominates it: one walk at a time. */
static bt_status path_start(struct fuse_block *b, uint32_t from)
{
    b->nwalk++;
    b->queue.len = 0;
    return BT_PUSH(b->arena, &b->queue, from) ? NULL : bt_no_memory();
}

/* The next node, `from` first; FUSE_NONE: all were visited. */
static bt_status path_next(struct fuse_block *b, uint32_t to, uint32_t *out)
{
    *out = FUSE_NONE;
    if (b->queue.len == 0)
        return NULL;
    *out = b->queue.at[--b->queue.len];
    if (*out == to)
        return NULL;
    const struct fuse_node *node = &b->nodes[*out];
    for (uint32_t i = 0; i < node->users.len; i++) {
        struct fuse_node *user = &b->nodes[node->users.at[i]];
        if (user->walk == b->nwalk)
            continue;
        user->walk = b->nwalk;
        if (!BT_PUSH(b->arena, &b->queue, node->users.at[i]))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- what may be joined ---- */

/* Whether all between two nodes is of at most `between`, and the group at the end of a
 * kind in the set `end`. */
static bt_status path_allows(struct fuse_block *b, uint32_t from, uint32_t to,
                             uint32_t between, uint32_t end, int *out)
{
    uint32_t at, nop = 0;
    *out = 0;
    BT_TRY(path_start(b, from));
    for (;;) {
        BT_TRY(path_next(b, to, &at));
        if (at == FUSE_NONE)
            break;
        const struct fuse_node *group = &b->nodes[fuse_leader(b, at)];
        nop += group->nop;
        if (nop > b->max_ops) // a way of any length is not walked to its end
            return NULL;
        if (at == from || b->nodes[at].kind == FUSE_TUPLE)
            continue;
        if (at == to ? !(end & 1u << group->group_kind) : group->group_kind > between)
            return NULL;
    }
    *out = 1;
    return NULL;
}

void fuse_join(struct fuse_block *b, uint32_t x, uint32_t y)
{
    uint32_t a = fuse_leader(b, x), c = fuse_leader(b, y);
    if (a == c)
        return;
    struct fuse_node *into = &b->nodes[c], *from = &b->nodes[a];
    from->leader = c;
    into->root = most(into->root, from->root);
    into->nop += from->nop;
    // a tuple says nothing of what is computed
    into->group_kind = into->group_kind == FUSE_TUPLE ? from->group_kind
                       : from->group_kind == FUSE_TUPLE
                           ? into->group_kind
                           : most(into->group_kind, from->group_kind);
}

static bt_status join_path(struct fuse_block *b, uint32_t from, uint32_t to)
{
    uint32_t at;
    BT_TRY(path_start(b, from));
    for (;;) {
        BT_TRY(path_next(b, to, &at));
        if (at == FUSE_NONE)
            return NULL;
        fuse_join(b, at, to);
    }
}

/* Where a group may grow to: the post-dominator, beyond tuples. */
struct target {
    uint32_t node, pattern;
};

static struct target target_of(const struct fuse_block *b, uint32_t node)
{
    struct target t = { b->nodes[node].parent, b->nodes[node].pattern };
    while (t.node != FUSE_NONE && b->nodes[t.node].kind == FUSE_TUPLE) {
        t.pattern = most(t.pattern, b->nodes[t.node].pattern);
        t.node = b->nodes[t.node].parent;
    }
    return t;
}

#define SET(kind) (1u << BT_FUSE_##kind)

/* A reduction or contraction takes in what follows element by element. */
static bt_status try_anchor(struct fuse_block *b, uint32_t node, struct target t,
                            int *out)
{
    *out = 0;
    if (t.pattern != BT_FUSE_ELEMWISE)
        return NULL;
    return path_allows(b, node, t.node, BT_FUSE_BROADCAST, SET(ELEMWISE) | SET(BROADCAST),
                       out);
}

/* What is computed element by element goes into what follows; into a contraction or
 * reduction only where it may be computed for each of its reads. */
static bt_status try_elementwise(struct fuse_block *b, uint32_t node, struct target t,
                                 int *out)
{
    uint32_t end = SET(ELEMWISE) | SET(BROADCAST) | SET(INJECTIVE);
    *out = 0;
    if (t.pattern > BT_FUSE_CONTRACTION)
        return NULL;
    if (!b->nodes[node].is_slow || b->nodes[node].is_packed ||
        t.pattern <= BT_FUSE_BROADCAST)
        end |= SET(REDUCE) | SET(CONTRACTION);
    return path_allows(b, node, t.node, BT_FUSE_INJECTIVE, end, out);
}

/* What moves elements goes into what does, too; what makes numbers of codes of few bits into the
 * product that reads them. */
static bt_status try_injective(struct fuse_block *b, uint32_t node, struct target t,
                               int *out)
{
    const uint32_t is_packed = b->nodes[node].is_packed;
    *out = 0;
    if (t.pattern > (is_packed ? BT_FUSE_CONTRACTION : BT_FUSE_INJECTIVE))
        return NULL;
    return path_allows(b, node, t.node, BT_FUSE_INJECTIVE,
                       SET(ELEMWISE) | SET(BROADCAST) | SET(INJECTIVE) |
                           (is_packed ? SET(CONTRACTION) : 0),
                       out);
}

/* Elements of a tensor of known dims; 0: it is none. */
static double nelem_of(const bt_type *type)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    double n = 1;
    if (!bt_tensor_static(type, &rank, dims))
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        n *= (double)dims[i];
    return n;
}

/* Whether it is a product of few rows by the weights: of M rows and K terms by N columns, result and
 * rows have M * M times the elements of weights. Of more rows weights are read from caches. */
static int is_of_few_rows(const struct fuse_node *product, const bt_value *weights)
{
    enum { ROWS = 8 };
    const bt_call *call = bt_as_call(product->value);
    const double nresult = nelem_of(product->value->type), n = nelem_of(weights->type);
    double rows = 0;
    for (uint32_t i = 0; call && i < call->narg; i++) {
        const double of = nelem_of(call->args[i]->type);
        rows = call->args[i] != weights && of > rows ? of : rows;
    }
    return product->kind == BT_FUSE_CONTRACTION && rows * nresult > 0 &&
           rows * nresult <= ROWS * ROWS * n;
}

/* Constants of few bits, and what is made of them, go with a product that reads them, or else stay by
 * themselves, to be computed once. */
static int may_join(const struct fuse_block *b, uint32_t node, uint32_t to)
{
    uint32_t last = node;
    while (b->nodes[last].parent != to && b->nodes[last].parent != FUSE_NONE)
        last = b->nodes[last].parent;
    return !b->nodes[node].is_packed || b->nodes[to].is_packed ||
           is_of_few_rows(&b->nodes[to], b->nodes[last].value);
}

/* Anchors first, so that they take the epilogue before something else takes it. */
static bt_status try_node(struct fuse_block *b, uint32_t node, uint32_t phase)
{
    struct target t = target_of(b, node);
    uint32_t kind = b->nodes[fuse_leader(b, node)].group_kind;
    int joins = 0;
    if (t.node == FUSE_NONE || fuse_leader(b, node) == fuse_leader(b, t.node) ||
        b->nodes[t.node].is_laid || !may_join(b, node, t.node))
        return NULL;
    if (phase == 0 && (kind == BT_FUSE_CONTRACTION || kind == BT_FUSE_REDUCE))
        BT_TRY(try_anchor(b, node, t, &joins));
    else if (phase == 1 && kind <= BT_FUSE_BROADCAST)
        BT_TRY(try_elementwise(b, node, t, &joins));
    else if (phase == 2 && kind == BT_FUSE_INJECTIVE)
        BT_TRY(try_injective(b, node, t, &joins));
    return joins ? join_path(b, node, t.node) : NULL;
}

bt_status fuse_groups(struct fuse_block *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        struct fuse_node *node = &b->nodes[i];
        node->leader = node->root = i;
        node->group_kind = node->kind;
        node->nop = node->kind != FUSE_TUPLE;
    }
    find_parents(b);
    for (uint32_t i = 0; i < b->n; i++)
        b->nodes[i].is_laid = fuse_is_laid(b, i) != 0;
    for (uint32_t phase = 0; phase < 3; phase++) {
        for (uint32_t i = 0; i < b->n; i++)
            BT_TRY(try_node(b, i, phase));
    }
    BT_TRY(fuse_parts(b));
    return fuse_rows(b);
}
