/*
 * From stages that are contractions to loops around tiles. The graph is lowered with the
 * sum read from an array of its own; the nest of what surrounds the sum, an epilogue, is
 * then done block by block behind the tiles.
 */
#include "contract_layout.h"

#include "choice.h"
#include "primitives/winograd.h"

#include <string.h>

struct stage {
    struct cpu_tiling tiling;
    struct cpu_filter filter;
    struct cpu_depthwise depthwise;
    struct cpu_nibbles nibbles;
    uint32_t array, sums;    /* the stage, or a part of it; what stands for its sums */
    uint32_t number;         /* of its sum in the function, from 0 */
    uint32_t first, nfactor; /* arrays made for its factors */
    struct cpu_finite finite;
};
typedef bt_vec(struct stage *) stages;

/* ---- the program around ---- */

/* `seen` by id. */
static int reads_local(const bt_loops *loops, const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return 0;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ && loops->roles.at[node->which] == BT_BUFFER_LOCAL)
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (reads_local(loops, node->args[i], seen))
            return 1;
    }
    return 0;
}

/* The only store of a nest of loops that have nothing else in them, nor locals; NULL: it
 * is not so simple. `seen` as above. */
static const bt_stmt *only_store(const bt_loops *loops, const bt_stmt *stmt,
                                 uint8_t *seen)
{
    while (stmt->kind == BT_STMT_FOR && stmt->body.len == 1)
        stmt = stmt->body.at[0];
    return stmt->kind == BT_STMT_STORE && !reads_local(loops, stmt->value, seen) ? stmt
                                                                                 : NULL;
}

/* Sums as they are, to the array of them: for what stays a nest of its own. */
static const bt_stmt *plain_store(bt_loops *loops, const struct stage *stage)
{
    const struct cpu_contraction *c = &stage->tiling.view;
    bt_stmts made = { .len = 0 };
    bt_stmt *store = bt_stmt_add(loops, &made, BT_STMT_STORE);
    bt_graph *g = loops->graph;
    if (!store)
        return NULL;
    store->offset = bt_node_int(g, 0);
    for (uint32_t d = 0; d < c->ndim; d++) {
        const struct cpu_dim *dim = &c->dims[d];
        if (dim->is_k || dim->scale > 1 || cpu_is_size(dim->extent, 1))
            continue;
        // groups of a dim are multiples of it, at a stride that is one too
        const bt_node *extent = dim->extent;
        for (uint32_t i = 0; i < c->ndim; i++) {
            if (i != d && !c->dims[i].is_k && !c->dims[i].carries &&
                c->dims[i].index == dim->index)
                extent = cpu_times(g, extent, c->dims[i].extent);
        }
        store->offset =
            cpu_along(g, store->offset, bt_node_index(g, dim->index, extent), dim->c);
    }
    store->buffer = stage->sums;
    store->value = bt_loops_read(loops, stage->sums, store->offset);
    return store->offset && store->value ? store : NULL;
}

static int stores_to(const bt_stmt *stmt, uint32_t buffer)
{
    if (stmt->kind == BT_STMT_STORE && stmt->buffer == buffer)
        return 1;
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (stores_to(stmt->body.at[i], buffer))
            return 1;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (stores_to(stmt->otherwise.at[i], buffer))
            return 1;
    }
    return 0;
}

uint32_t cpu_find_nest(const bt_loops *loops, uint32_t buffer)
{
    uint32_t i = 0;
    while (i < loops->body.len && !stores_to(loops->body.at[i], buffer))
        i++;
    return i;
}

/* ---- sizes ---- */

/* An expression of dims in another graph. */
static int move_size(bt_graph *to, const bt_node **size)
{
    const bt_node *node = *size;
    if (!node)
        return 1;
    const bt_node **args = BT_NEWS(to->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = node->args[i];
        if (!move_size(to, &args[i]))
            return 0;
    }
    *size = !args                         ? NULL
            : node->kind == BT_NODE_CONST ? bt_node_int(to, node->value.i)
            : node->kind == BT_NODE_DIM   ? bt_node_dim(to, node->which)
                                          : bt_node_again(to, node, node->first, args);
    return *size != NULL;
}

static int move_sizes(bt_graph *to, uint32_t n, const bt_node **sizes)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!move_size(to, &sizes[i]))
            return 0;
    }
    return 1;
}

/* The sizes of a tiling, which was made of one graph, in that of the loops. */
static int move_tiling(bt_graph *to, struct cpu_tiling *p)
{
    int ok = move_size(to, &p->a_at) && move_size(to, &p->b_at) &&
             move_size(to, &p->nrow) && move_size(to, &p->ncolumn) &&
             move_size(to, &p->a_nelem) && move_size(to, &p->nelem) &&
             move_size(to, &p->terms) && move_size(to, &p->pairs_nelem) &&
             move_sizes(to, CPU_AXES, p->outer);
    for (uint32_t i = 0; ok && i < 2; i++)
        ok = move_sizes(to, p->view.operands[i].rank, p->view.operands[i].extents);
    for (uint32_t i = 0; ok && i < p->nwindow; i++)
        ok = move_size(to, &p->windows[i].width) && move_size(to, &p->windows[i].copy) &&
             move_size(to, &p->windows[i].step);
    for (uint32_t a = 0; ok && p->a_nelem && a < p->a->rank; a++)
        ok = move_size(to, &p->margins[a].extent) && move_size(to, &p->margins[a].lead) &&
             move_size(to, &p->margins[a].count) && move_size(to, &p->margins[a].from);
    for (uint32_t d = 0; ok && d < p->view.ndim; d++) {
        ok = move_size(to, &p->view.dims[d].extent) &&
             move_size(to, &p->view.dims[d].c) && move_size(to, &p->as[d]) &&
             move_size(to, &p->bs[d]);
        for (uint32_t i = 0; ok && i < p->nclass[d]; i++) {
            struct cpu_class *k = &p->classes[d][i];
            ok = move_size(to, &k->extent) && move_size(to, &k->a_at) &&
                 move_size(to, &k->a) && move_size(to, &k->b_at) && move_size(to, &k->b);
        }
    }
    return ok;
}

static int emit(bt_loops *loops, const struct stage *stage,
                const struct cpu_config *config, const struct cpu_epilogue *epilogue,
                bt_stmts *out)
{
    const struct cpu_tiling *p = &stage->tiling;
    if (stage->filter.by)
        return cpu_emit_filter(loops, p, &stage->filter, config, epilogue, out);
    if (stage->nibbles.by)
        return cpu_emit_nibbles(loops, p, &stage->nibbles, config, epilogue, out);
    if (stage->depthwise.by)
        return cpu_emit_depthwise(loops, p, &stage->depthwise, config, epilogue, out);
    return p->terms ? cpu_emit_pairs(loops, p, config, epilogue, out)
                    : cpu_emit_contraction(loops, p, config, epilogue, out);
}

/* In the place of a stage's nest, the nest around tiles; what is no epilogue of them stays a
 * nest behind it. */
static bt_status replace_nest(bt_loops *loops, struct stage *stage,
                              const struct cpu_config *config)
{
    bt_stmts made = { .len = 0 };
    const struct cpu_tiling *p = &stage->tiling;
    uint8_t *seen = BT_NEWS(loops->arena, uint8_t, loops->graph->nnode + 1);
    if (!seen || !move_tiling(loops->graph, &stage->tiling))
        return bt_loops_why(loops);
    uint32_t at = cpu_find_nest(loops, stage->array);
    struct cpu_epilogue epilogue = { .sums = stage->sums,
                                     .store =
                                         only_store(loops, loops->body.at[at], seen) };
    bt_stmt *rest = epilogue.store ? NULL : loops->body.at[at];
    if (!epilogue.store)
        epilogue.store = plain_store(loops, stage);
    else if (p->beside >= 0 &&
             !cpu_take_followers(loops, at, stage->array, p->view.dims[p->n].extent,
                                 &epilogue.followers))
        return bt_loops_why(loops);
    return epilogue.store && emit(loops, stage, config, &epilogue, &made) &&
                   (!rest || BT_PUSH(loops->arena, &made, rest)) &&
                   bt_stmts_replace(loops, &loops->body, at, &made)
               ? NULL
               : bt_loops_why(loops);
}

/* ---- the graph ---- */

struct reading {
    bt_graph *graph;
    const bt_node *from, *to;
    bt_map done;
};

/* The body with the sum replaced by what stands for it. */
static const bt_node *replace_sum(struct reading *r, const bt_node *node)
{
    if (node == r->from)
        return r->to;
    if (!node->reduces)
        return node;
    const bt_node *known = bt_map_find(&r->done, node);
    if (known)
        return known;
    const bt_node **args = BT_NEWS(r->graph->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = replace_sum(r, node->args[i]);
        if (!args[i])
            return NULL;
    }
    known = args ? bt_node_again(r->graph, node, node->first, args) : NULL;
    return known && bt_map_put(&r->done, node, (void *)(uintptr_t)known) ? known : NULL;
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

/* The sums get an array of their own, whose body only stands for them. */
static bt_status split_stage(bt_graph *g, struct stage *stage)
{
    bt_array array = *g->arrays[stage->array];
    const bt_node **indices = BT_NEWS(g->arena, const bt_node *, array.rank);
    if (!indices)
        return bt_no_memory();
    for (uint32_t i = 0; i < array.rank; i++)
        indices[i] = bt_node_index(g, i, array.extents[i]);
    array.dtype = stage->tiling.view.dtype;
    array.body = bt_node_cast(g, array.dtype, bt_node_int(g, 0));
    if (!array.body || !bt_graph_add_array(g, &array, &stage->sums))
        return why(g);
    struct reading r = { .graph = g, .from = stage->tiling.view.reduce };
    bt_map_init(&r.done, g->arena, 0);
    r.to = bt_node_cast(g, r.from->dtype,
                        bt_node_read(g, stage->sums, array.dtype, array.rank, indices));
    const bt_node *body = r.to ? replace_sum(&r, g->arrays[stage->array]->body) : NULL;
    if (!body)
        return why(g);
    g->arrays[stage->array]->body = body;
    return NULL;
}

/* Tiles for an array that may be another one than the graph has; arrays made for its factors
 * follow those there were. */
static bt_status find_tiling(bt_graph *g, const struct cpu_config *config,
                             const bt_array *array, struct stage *stage)
{
    bt_array copy = *array;
    g->narray = stage->first;
    return cpu_contract_tiling(g, &copy, config, &stage->tiling);
}

/* The stage reads its sum from another one, `number`, which is looked at in its place. */
static bt_status read_sums(bt_graph *g, struct stage *stage, uint32_t number,
                           const bt_node *sum, const bt_node *read)
{
    struct reading r = { .graph = g, .from = sum, .to = read };
    bt_map_init(&r.done, g->arena, 0);
    const bt_node *body = replace_sum(&r, g->arrays[stage->array]->body);
    if (!body)
        return why(g);
    g->arrays[stage->array]->body = body;
    stage->array = number;
    stage->first = number + 1;
    return NULL;
}

/* Puts the sum of a stage that tiles do not serve as it is into a stage of its own that
 * they do serve, if there is one. */
static bt_status shift_stage(bt_graph *g, const struct cpu_config *config,
                             struct stage *stage)
{
    const bt_array whole = *g->arrays[stage->array];
    bt_array array = whole;
    const bt_node *sum, *read;
    BT_TRY(cpu_sum_of(g, &array, &sum));
    if (!sum)
        return NULL;
    BT_TRY(cpu_contract_shift(g, &array, sum, &read));
    if (!read)
        return NULL;
    uint32_t shifted = g->narray - 1;
    array = *g->arrays[shifted];
    BT_TRY(cpu_contract_tiling(g, &array, config, &stage->tiling));
    if (!stage->tiling.tile) {
        g->narray = shifted;
        return NULL;
    }
    return read_sums(g, stage, shifted, sum, read);
}

/* The sums of a stage get one of their own, whose axis i is axis order[i] of the stage, which reads them. */
static bt_status give_stage(bt_graph *g, const struct cpu_config *config,
                            struct stage *stage, const bt_array *sums,
                            const uint32_t *order)
{
    const bt_array whole = *g->arrays[stage->array];
    const bt_node *sum = stage->tiling.view.reduce;
    const bt_node **indices = BT_NEWS(g->arena, const bt_node *, whole.rank);
    uint32_t number;
    for (uint32_t i = 0; indices && i < whole.rank; i++)
        indices[i] = bt_node_index(g, order[i], whole.extents[order[i]]);
    g->narray = stage->first; // factors follow the sums
    if (!indices || !bt_graph_add_array(g, sums, &number))
        return why(g);
    const bt_node *read = bt_node_cast(
        g, sum->dtype, bt_node_read(g, number, sums->dtype, sums->rank, indices));
    if (!read)
        return why(g);
    BT_TRY(read_sums(g, stage, number, sum, read));
    return find_tiling(g, config, sums, stage);
}

/* Sums that are better with other axes innermost get a stage of their own. */
static bt_status order_stage(bt_graph *g, const struct cpu_config *config,
                             struct stage *stage)
{
    const bt_array whole = *g->arrays[stage->array];
    const uint32_t narray = g->narray;
    uint32_t order[BT_MAX_RANK];
    bt_array sums;
    if (whole.rank < 3)
        return NULL;
    BT_TRY(cpu_order_sums(g, &whole, config, &stage->tiling, order, &sums));
    if (!sums.body) {
        g->narray = narray;
        return NULL;
    }
    return give_stage(g, config, stage, &sums, order);
}

/* Few columns are best turned, and a tile that is turned makes no more of its sums than an epilogue:
 * where more is made of them, such as a step along a gradient, they get a stage of their own. */
static bt_status part_stage(bt_graph *g, const struct cpu_config *config,
                            struct stage *stage)
{
    const struct cpu_tiling *p = &stage->tiling;
    const bt_array whole = *g->arrays[stage->array];
    const bt_node *sum = p->view.reduce;
    bt_array sums = whole;
    uint32_t order[BT_MAX_RANK];
    if (cpu_is_constant(g, config, p->a) || cpu_is_epilogue(whole.body, sum))
        return NULL;
    sums.dtype = p->view.dtype;
    sums.body = bt_node_cast(g, sums.dtype, sum);
    const struct cpu_tiling *turned =
        sums.body ? cpu_contract_turn(g, &sums, config, p) : NULL;
    if (g->status || !sums.body)
        return why(g);
    if (!turned ||
        cpu_ns_of_tiles(turned) + cpu_ns_of_panels(turned) >= cpu_ns_of_tiles(p))
        return NULL;
    for (uint32_t i = 0; i < sums.rank; i++)
        order[i] = i;
    return give_stage(g, config, stage, &sums, order);
}

/* A line along panels as rows of the parts in which it is read, if that is one too. */
static bt_status split_parts(bt_graph *g, const struct cpu_config *config,
                             struct stage *stage)
{
    struct cpu_tiling *p = &stage->tiling;
    bt_array rows;
    if (!p->is_line || p->b_kind != CPU_B_PANELS)
        return NULL;
    BT_TRY(cpu_parts_find(g, stage->array, &rows));
    if (!rows.body)
        return NULL;
    BT_TRY(find_tiling(g, config, &rows, stage));
    if (!p->tile || !p->is_line || p->b_kind != CPU_B_PANELS)
        return find_tiling(g, config, g->arrays[stage->array], stage);
    for (uint32_t d = 0; d < p->view.ndim; d++) {
        if (!p->view.dims[d].is_k && p->view.dims[d].index + 2 == rows.rank &&
            !cpu_lay_beside(g, p, d))
            return g->status ? g->status : bt_no_memory();
    }
    return cpu_parts_split(g, stage->array, &rows);
}

/* ---- ways ---- */

struct way {
    const char *name;
    double ns;
    const struct cpu_tiling *tiling; /* NULL: as it is */
    const struct cpu_winograd *by;   /* NULL: a plain sum */
    double error;                    /* of choice.h */
};

enum { MAX_WAYS = 4 + 2 * CPU_WAYS_OF_PAIRS };

static const char *way_of(const struct stage *stage)
{
    return stage->depthwise.by       ? "depthwise"
           : stage->tiling.is_line   ? "lines"
           : stage->tiling.is_across ? "columns as they lie"
                                     : "tiles";
}

static double error_of_pairs(const struct cpu_tiling *p)
{
    return p->tile->c == BT_INT32 ? 0
           : p->tile->has_halves  ? CPU_ERROR_HALVES
                                  : CPU_ERROR_BFLOAT16;
}

/* All ways to compute the stage: by tiles as they were found, turned, both of pairs, and by
 * transforms. */
static uint32_t find_ways(bt_graph *g, const struct cpu_config *config,
                          const bt_array *array, struct stage *stage, struct way *ways)
{
    static const char *const names[] = {
        [2] = "winograd F(2,3)", [4] = "winograd F(4,3)"
    };
    const struct cpu_tiling *p = &stage->tiling;
    uint32_t n = 0;
    if (stage->nibbles.by) {
        *ways = (struct way){ "weights of 4 bits", stage->nibbles.ns, NULL, NULL, 0 };
        return 1;
    }
    ways[n++] = (struct way){ way_of(stage), cpu_ns_of_tiles(p), NULL, NULL, 0 };
    const struct cpu_tiling *turned = cpu_contract_turn(g, array, config, p);
    if (turned) {
        const double panels =
            cpu_is_constant(g, config, turned->b) ? 0 : cpu_ns_of_panels(turned);
        ways[n++] = (struct way){ "tiles, turned", cpu_ns_of_tiles(turned) + panels,
                                  turned, NULL, 0 };
    }
    for (uint32_t way = 0; way < CPU_WAYS_OF_PAIRS; way++) {
        const struct cpu_tiling *pairs = cpu_contract_pairs(g, array, config, p, way);
        turned = pairs ? cpu_contract_turn(g, array, config, pairs) : NULL;
        if (pairs)
            ways[n++] = (struct way){ cpu_way_of_pairs(pairs), cpu_ns_of_pairs(pairs),
                                      pairs, NULL, error_of_pairs(pairs) };
        if (turned)
            ways[n++] = (struct way){ cpu_way_of_pairs(turned), cpu_ns_of_pairs(turned),
                                      turned, NULL, error_of_pairs(turned) };
    }
    const int is_filter = cpu_contract_filter(g, p, config, &stage->filter);
    for (int32_t size = 2; is_filter && size <= CPU_WINOGRAD_UNIT; size *= 2) {
        const struct cpu_winograd *by = cpu_winograd_find(p->tile->isa, size);
        if (by)
            ways[n++] = (struct way){ names[size], cpu_ns_of_filter(&stage->filter, by),
                                      NULL, by, size > 2 ? CPU_ERROR_WINOGRAD : 0 };
    }
    return n;
}

static bt_status note_ways(const struct cpu_config *config, uint32_t number, uint32_t n,
                           const struct way *ways, const struct way *taken)
{
    struct cpu_choices *c = config->choices;
    for (uint32_t i = 0; c && i < n; i++) {
        const struct cpu_choice choice = { .program = config->program,
                                           .sum = number + 1,
                                           .way = ways[i].name,
                                           .is_taken = &ways[i] == taken,
                                           .ns = ways[i].ns,
                                           .error = ways[i].error };
        if (!BT_PUSH(c->arena, &c->all, choice))
            return bt_no_memory();
    }
    return NULL;
}

static struct way *wanted_way(const struct cpu_config *config, uint32_t number,
                              uint32_t n, struct way *ways)
{
    const char *name = cpu_choice_taken(config->wanted, config->program, number + 1);
    for (uint32_t i = 0; name && i < n; i++) {
        if (strcmp(ways[i].name, name) == 0)
            return &ways[i];
    }
    return NULL;
}

/* Takes the one that is wanted, else that of the least estimate. */
static bt_status choose_way(bt_graph *g, const struct cpu_config *config,
                            const bt_array *array, struct stage *stage)
{
    struct way ways[MAX_WAYS], *best = ways;
    const uint32_t n = find_ways(g, config, array, stage, ways);
    for (uint32_t i = 1; i < n; i++)
        best = ways[i].ns < best->ns ? &ways[i] : best;
    struct way *wanted = wanted_way(config, stage->number, n, ways);
    best = wanted ? wanted : best;
    stage->filter.by = best->by;
    BT_TRY(note_ways(config, stage->number, n, ways, best));
    if (best->tiling)
        cpu_copy_tiling(&stage->tiling, best->tiling);
    return g->status;
}

/* Finds out about array `i`; `stage` is for tiles where its tiling has one. */
static bt_status tile_stage(bt_graph *g, const struct cpu_config *config, uint32_t i,
                            struct stage *stage)
{
    stage->array = i;
    stage->first = g->narray;
    bt_array array = *g->arrays[i];
    BT_TRY(cpu_contract_tiling(g, &array, config, &stage->tiling));
    if (!stage->tiling.tile) {
        g->narray = stage->first;
        BT_TRY(shift_stage(g, config, stage));
    }
    if (!stage->tiling.tile)
        return NULL;
    BT_TRY(order_stage(g, config, stage));
    BT_TRY(part_stage(g, config, stage));
    array = *g->arrays[stage->array];
    BT_TRY(cpu_contract_nibbles(g, &array, config, &stage->tiling, &stage->nibbles));
    if (!stage->nibbles.by) {
        BT_TRY(split_parts(g, config, stage));
        cpu_contract_depthwise(g, &stage->tiling, &stage->depthwise);
    }
    array = *g->arrays[stage->array];
    BT_TRY(choose_way(g, config, &array, stage));
    stage->nfactor = g->narray - stage->first;
    BT_TRY(cpu_contract_finite(g, &array, &stage->tiling, &stage->finite));
    return split_stage(g, stage);
}

typedef bt_vec(uint32_t) numbers;

/* `seen` by id, `is_read` by array. */
static void mark_reads(const bt_node *node, uint8_t *seen, uint8_t *is_read)
{
    if (!node->reads || seen[node->id])
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ)
        is_read[node->which] = 1;
    for (uint32_t i = 0; i < node->narg; i++)
        mark_reads(node->args[i], seen, is_read);
}

/* Leaves out what nobody reads: a factor of which tiles read what it was made of. Who reads an array
 * comes behind it. */
static bt_status drop_unread(const bt_graph *g, const stages *all, numbers *order)
{
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    uint8_t *is_read = BT_NEWS(g->arena, uint8_t, g->narray + 1);
    uint32_t left = order->len;
    if (!seen || !is_read)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        is_read[g->results[i]] = 1;
    for (uint32_t i = 0; i < all->len; i++) {
        if (all->at[i]->finite.nfactor)
            is_read[all->at[i]->finite.exact] = 1;
    }
    for (uint32_t at = order->len; at-- > 0;) {
        const uint32_t array = order->at[at];
        if (!is_read[array])
            continue;
        order->at[--left] = array;
        mark_reads(g->arrays[array]->body, seen, is_read);
        for (uint32_t i = 0; i < all->len; i++) {
            const struct cpu_operand *o = all->at[i]->tiling.view.operands;
            const struct cpu_nibbles *by = &all->at[i]->nibbles;
            if (all->at[i]->array != array)
                continue;
            if (by->by)
                is_read[by->x] = is_read[by->words] = is_read[by->scales] =
                    is_read[by->zeros] = 1;
            else
                is_read[o[0].array] = is_read[o[1].array] = 1;
        }
    }
    order->at += left;
    order->len -= left;
    return NULL;
}

bt_status cpu_contract(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                       const char *name, bt_graph *g, const bt_lower_options *options,
                       bt_loops **out)
{
    bt_lower_options ordered = { .is_narrow = NULL };
    stages all = { .len = 0 };
    numbers order = { .len = 0 };
    uint32_t narray = g->narray;
    if (config->choices) // only those of the last time
        config->choices->all.len = 0;
    for (uint32_t at = 0; at < narray - g->ninput; at++) {
        const uint32_t i =
            options && options->order ? options->order[at] : g->ninput + at;
        struct stage *stage = BT_NEW(arena, struct stage);
        if (!stage)
            return bt_no_memory();
        stage->number = all.len;
        BT_TRY(tile_stage(g, config, i, stage));
        // tiles make the sums
        for (uint32_t k = 0; stage->tiling.tile && k < stage->nfactor; k++) {
            if (!BT_PUSH(arena, &order, stage->first + k))
                return bt_no_memory();
        }
        if ((stage->tiling.tile && !BT_PUSH(arena, &all, stage)) ||
            !BT_PUSH(arena, &order, stage->array) ||
            (stage->finite.nfactor && !BT_PUSH(arena, &order, stage->finite.exact)) ||
            (stage->array != i && !BT_PUSH(arena, &order, i)))
            return bt_no_memory();
    }
    BT_TRY(drop_unread(g, &all, &order));
    if (options)
        ordered = *options;
    ordered.order = order.at;
    ordered.norder = order.len;
    BT_TRY(bt_loops_lower_with(ctx, arena, name, g, &ordered, out));
    for (uint32_t i = 0; i < all.len; i++) {
        struct stage *stage = all.at[i];
        const struct cpu_finite *finite = &stage->finite;
        BT_TRY(replace_nest(*out, stage, config));
        // no bits are promised for the sums of what is not finite
        if (finite->nfactor)
            g->arrays[finite->exact]->body = g->arrays[stage->sums]->body;
        if (finite->nfactor && !cpu_emit_finite(*out, finite, stage->array,
                                                cpu_find_nest(*out, finite->exact)))
            return bt_loops_why(*out);
    }
    return NULL;
}
