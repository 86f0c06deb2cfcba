/* Stages computed where they are read. A stage stays that is read at places which must
 * be checked, or that checks reads of its own: inlined, the check would be lost, or be
 * made for elements that are not needed. */
#include "compute/graph/bounds.h"
#include "compute/graph/conditions.h"
#include "compute/graph/cost.h"

/* How a stage is read by those after it. */
struct use {
    uint32_t nsite;        /* different reads */
    uint32_t in_reduction; /* 1: some of them are inside a reduction */
    double nread;          /* elements that are read in all */
    uint32_t is_result;
    uint32_t has_sum; /* 1: sums are among what it is made of */
    uint32_t checks;  /* 1: its reads, or reads of it, are checked */
    uint32_t goes;    /* 1: into its readers */
};

struct inliner {
    bt_graph *graph;
    struct use *uses; /* of each array */
};

static bt_status why(const struct inliner *in)
{
    return in->graph->status ? in->graph->status : bt_no_memory();
}

/* ---- what is worth it ---- */

enum {
    COST_SLOW = 32,         /* exp, a division: as dear as many additions */
    COST_SHARED = 4,        /* computed at several places up to this cost */
    COST_IN_REDUCTION = 16, /* computed again for each reduced point, ... */
    MAX_TIMES = 2,          /* ... this often in the mean; what only moves, any number */
    TABLE_TIMES = 16 /* what inputs alone give stays, if it is read this often each */
};

static uint32_t cost_of_scalar(uint32_t which)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    int is_slow = row->ulp > 0 || which == BT_SCALAR_DIV || which == BT_SCALAR_MOD ||
                  which == BT_SCALAR_FLOORDIV || which == BT_SCALAR_SQRT;
    return is_slow ? COST_SLOW : 1;
}

uint32_t bt__node_cost(const bt_node *node, uint8_t *seen)
{
    uint32_t cost = 0;
    if (seen[node->id])
        return 0;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_SCALAR)
        cost = cost_of_scalar(node->which);
    else if (node->kind == BT_NODE_READ || node->kind == BT_NODE_SELECT)
        cost = 1;
    for (uint32_t i = 0; i < node->narg && cost < COST_SLOW; i++) {
        // a place in which no index is has been found before the loops begin
        if (node->kind != BT_NODE_READ || node->args[i]->free)
            cost += bt__node_cost(node->args[i], seen);
    }
    return cost;
}

static uint8_t *new_set(struct inliner *in)
{
    return BT_NEWS(in->graph->arena, uint8_t, in->graph->nnode + 1);
}

/* `times`: how often the node is evaluated. */
static void count_reads(struct inliner *in, const bt_node *node, uint8_t *seen,
                        uint32_t in_reduction, double times)
{
    uint8_t bit = in_reduction ? 2 : 1;
    if (!node->reads || (seen[node->id] & bit))
        return;
    if (node->kind == BT_NODE_READ) {
        struct use *use = &in->uses[node->which];
        use->nsite += !seen[node->id];
        use->in_reduction |= in_reduction;
        use->nread += times;
    }
    seen[node->id] |= bit;
    if (node->kind == BT_NODE_REDUCE) {
        in_reduction = 1;
        for (uint32_t i = 0; i < node->nindex; i++)
            times *= (double)bt__node_guess(node->args[2 + i]);
    }
    for (uint32_t i = 0; i < node->narg; i++)
        count_reads(in, node->args[i], seen, in_reduction, times);
}

/* The one read of an array in later stages. */
static const bt_node *find_read(const bt_node *node, uint32_t array, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return NULL;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ && node->which == array)
        return node;
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *found = find_read(node->args[i], array, seen);
        if (found)
            return found;
    }
    return NULL;
}

/* INT64_MAX: more than that. */
static int64_t elements(const bt_array *array)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < array->rank; i++) {
        if (!bt_mul_int64(n, bt__node_guess(array->extents[i]), &n))
            return INT64_MAX;
    }
    return n;
}

/* The same for every value of the dims: those of one are all there for the other. */
static int have_as_many(const bt_array *a, const bt_array *b)
{
    uint64_t met = 0;
    uint32_t nopen = 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (bt_node_number(a->extents[i]) >= 0)
            continue;
        nopen++;
        for (uint32_t k = 0; k < b->rank; k++) {
            if (!(met & bt_index_bit(k)) && b->extents[k] == a->extents[i]) {
                met |= bt_index_bit(k);
                nopen--;
                break;
            }
        }
    }
    for (uint32_t k = 0; k < b->rank; k++)
        nopen += bt_node_number(b->extents[k]) < 0 && !(met & bt_index_bit(k));
    return nopen == 0 && elements(a) == elements(b);
}

/* Whether a stage reads each element of another exactly once, at indices of its own. */
static int reads_each_once(const bt_array *reader, const bt_array *array,
                           const bt_node *read)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *index = read->args[i];
        if (index->kind == BT_NODE_CONST)
            continue;
        if (index->kind != BT_NODE_INDEX || (used & index->free))
            return 0;
        used |= index->free;
    }
    return have_as_many(reader, array);
}

/* A reduction goes into what is done with its result: its only read. */
static bt_status decide_reduction(struct inliner *in, uint32_t array)
{
    struct use *use = &in->uses[array];
    const bt_graph *g = in->graph;
    if (use->nsite != 1 || use->in_reduction)
        return NULL;
    for (uint32_t i = array + 1; i < g->narray; i++) {
        uint8_t *seen = new_set(in);
        if (!seen)
            return bt_no_memory();
        const bt_node *read = find_read(g->arrays[i]->body, array, seen);
        if (!read)
            continue;
        // two reductions in one stage are no view
        use->goes = (uint32_t)reads_each_once(g->arrays[i], g->arrays[array], read) &&
                    !g->arrays[i]->body->reduces;
        return NULL;
    }
    return NULL;
}

/* Whether an element is computed, not only moved or chosen. */
static int is_computed(const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id] || node->kind == BT_NODE_READ)
        return 0;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_SELECT)
        return is_computed(node->args[1], seen) || is_computed(node->args[2], seen);
    return 1;
}

/* Whether a stage that is read inside a reduction is computed there. */
static bt_status decide_in_reduction(struct inliner *in, uint32_t array)
{
    struct use *use = &in->uses[array];
    const bt_array *stage = in->graph->arrays[array];
    uint8_t *seen = new_set(in);
    if (!seen)
        return bt_no_memory();
    int is_rare = use->nread <= MAX_TIMES * (double)elements(stage);
    use->goes = is_rare || !is_computed(stage->body, seen);
    return NULL;
}

/* Whether a stage that is read is made of sums. */
static int reads_sum(const struct inliner *in, const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return 0;
    seen[node->id] = 1;
    int has = node->kind == BT_NODE_READ && in->uses[node->which].has_sum;
    for (uint32_t i = 0; i < node->narg && !has; i++)
        has = reads_sum(in, node->args[i], seen);
    return has;
}

/* Whether a stage is a few numbers for many elements, such as factors of channels are. Of sums it is what
 * is done with them, where they are. */
static int is_table(const struct inliner *in, uint32_t array)
{
    const struct use *use = &in->uses[array];
    return !use->in_reduction && !use->has_sum &&
           use->nread >= TABLE_TIMES * (double)elements(in->graph->arrays[array]);
}

static bt_status decide(struct inliner *in, uint32_t array)
{
    struct use *use = &in->uses[array];
    const bt_node *body = in->graph->arrays[array]->body;
    uint8_t *met = new_set(in);
    if (!met)
        return bt_no_memory();
    use->has_sum = body->reduces || reads_sum(in, body, met);
    if (use->is_result || use->checks)
        return NULL;
    if (body->reduces)
        return decide_reduction(in, array);
    uint8_t *seen = new_set(in);
    if (!seen)
        return bt_no_memory();
    uint32_t cost = bt__node_cost(body, seen);
    uint32_t most = use->nsite > 1      ? COST_SHARED
                    : use->in_reduction ? COST_IN_REDUCTION
                                        : UINT32_MAX;
    if (is_table(in, array))
        most = COST_SHARED;
    use->goes = cost <= most;
    return use->goes && use->in_reduction ? decide_in_reduction(in, array) : NULL;
}

/* ---- putting it in ---- */

/* A body with all reads of stages that go replaced. `next`: the first free number for
 * indices of reductions. */
struct rewriting {
    struct inliner *in;
    uint32_t next;
    const bt_node **memo;
    uint32_t nmemo;
};

static const bt_node *rewrite(struct rewriting *r, const bt_node *node);

static const bt_node *rewrite_inside(struct rewriting *r, const bt_node *reduce)
{
    struct rewriting inner = { .in = r->in, .next = reduce->first + reduce->nindex };
    inner.nmemo = r->in->graph->nnode;
    inner.memo = BT_NEWS(r->in->graph->arena, const bt_node *, inner.nmemo);
    if (!inner.memo)
        return NULL;
    const bt_node *condition = rewrite(&inner, reduce->args[0]);
    const bt_node *body = condition ? rewrite(&inner, reduce->args[1]) : NULL;
    if (!body || (condition == reduce->args[0] && body == reduce->args[1]))
        return body ? reduce : NULL;
    return bt__reduction_build(r->in->graph, reduce->which, reduce->first, reduce->nindex,
                               reduce->args + 2, condition, body);
}

static const bt_node *rewrite_new(struct rewriting *r, const bt_node *node)
{
    bt_graph *g = r->in->graph;
    if (node->kind == BT_NODE_REDUCE)
        return rewrite_inside(r, node);
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = rewrite(r, node->args[i]);
        if (!args[i])
            return NULL;
    }
    if (!args)
        return NULL;
    if (node->kind == BT_NODE_READ && r->in->uses[node->which].goes)
        return bt__graph_place(r->in->graph, node->which, r->next, args);
    return bt_node_again(g, node, node->first, args);
}

static const bt_node *rewrite(struct rewriting *r, const bt_node *node)
{
    if (!node->reads)
        return node;
    if (node->id >= r->nmemo)
        return rewrite_new(r, node);
    if (!r->memo[node->id])
        r->memo[node->id] = rewrite_new(r, node);
    return r->memo[node->id];
}

/* ---- stages that are gone ---- */

static bt_status renumber(struct inliner *in)
{
    bt_graph *g = in->graph;
    uint32_t *now = BT_NEWS(g->arena, uint32_t, g->narray);
    uint32_t *results = BT_NEWS(g->arena, uint32_t, g->nresult);
    uint32_t n = 0;
    if (!now || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->narray; i++) {
        if (i >= g->ninput && !in->uses[i].is_result && !in->uses[i].nsite)
            continue;
        now[i] = n;
        if (i >= g->ninput) {
            const bt_node *body = bt__node_rename_arrays(g, g->arrays[i]->body, now);
            if (!body)
                return why(in);
            g->arrays[n] = g->arrays[i];
            g->arrays[n]->body = body;
        }
        n++;
    }
    for (uint32_t i = 0; i < g->nresult; i++)
        results[i] = now[g->results[i]];
    g->narray = n;
    g->results = results;
    return NULL;
}

/* Uses of all arrays, by the stages from `first` on and those before that stay. */
static bt_status count_uses(struct inliner *in)
{
    const bt_graph *g = in->graph;
    for (uint32_t i = 0; i < g->narray; i++) {
        in->uses[i].nsite = in->uses[i].in_reduction = 0;
        in->uses[i].nread = 0;
    }
    for (uint32_t i = 0; i < g->nresult; i++)
        in->uses[g->results[i]].is_result = 1;
    for (uint32_t i = g->narray; i-- > g->ninput;) {
        uint8_t *seen = new_set(in);
        if (!seen)
            return bt_no_memory();
        // what nobody reads reads nothing
        if (in->uses[i].is_result || in->uses[i].nsite)
            count_reads(in, g->arrays[i]->body, seen, 0, (double)elements(g->arrays[i]));
    }
    return NULL;
}

static bt_status find_checks(struct inliner *in)
{
    const bt_graph *g = in->graph;
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        uint8_t *open = BT_NEWS(g->arena, uint8_t, g->narray);
        if (!open || !bt__reads_open(in->graph, g->arrays[i]->body, open))
            return why(in);
        for (uint32_t k = 0; k < g->narray; k++) {
            in->uses[k].checks |= open[k];
            in->uses[i].checks |= open[k];
        }
    }
    return NULL;
}

bt_status bt__graph_inline(bt_graph *g)
{
    struct inliner in = { .graph = g };
    in.uses = BT_NEWS(g->arena, struct use, g->narray);
    if (!in.uses)
        return bt_no_memory();
    BT_TRY(count_uses(&in));
    BT_TRY(find_checks(&in));
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        struct rewriting r = { .in = &in, .next = g->arrays[i]->rank, .nmemo = g->nnode };
        r.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
        const bt_node *body = r.memo ? rewrite(&r, g->arrays[i]->body) : NULL;
        if (!body)
            return why(&in);
        g->arrays[i]->body = body;
        BT_TRY(decide(&in, i));
    }
    BT_TRY(count_uses(&in));
    return renumber(&in);
}
