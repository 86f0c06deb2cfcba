/* The order in which a schedule is made. */
#include "schedule.h"

#include "accumulator.h"
#include "branch.h"
#include "channels.h"
#include "choice.h"
#include "contract.h"
#include "direct.h"
#include "join.h"
#include "lanes.h"
#include "narrow.h"
#include "open_sums.h"
#include "planes.h"
#include "split.h"
#include "touch.h"
#include "transpose.h"
#include "ways.h"

#include <baton/target.h>

#include <string.h>

/* ---- loops ---- */

/* 1 also where it was refused; 0: no memory, or the graph has failed. */
static int is_over(bt_status status)
{
    return !status || status->code == BT_ERR_UNSUPPORTED;
}

/* ---- stages together ---- */

/* What an iteration keeps for itself, in bytes, that should stay in a processor's cache. */
enum { LOCAL_NBYTES = 1 << 16 };

/* Loops after each other become one, and so do those inside; *nmerged counts them. is_packing: of
 * each statement, whether it is made once and stays by itself; NULL: none is. */
static int merge_all(bt_loops *loops, bt_stmts *block, uint8_t *is_packing,
                     uint32_t *nmerged)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        int is_merged = 0;
        while (stmt->kind == BT_STMT_FOR && i + 1 < block->len &&
               block->at[i + 1]->kind == BT_STMT_FOR &&
               block->at[i + 1]->extent == stmt->extent &&
               !(is_packing && (is_packing[i] || is_packing[i + 1]))) {
            bt_status status = bt_loops_merge(loops, stmt);
            if (!is_over(status))
                return 0;
            if (status)
                break;
            is_merged = 1;
            ++*nmerged;
            if (is_packing)
                memmove(is_packing + i + 1, is_packing + i + 2, block->len - i - 1);
        }
        if (is_merged && !merge_all(loops, &stmt->body, NULL, nmerged))
            return 0;
    }
    return 1;
}

static int merge(bt_loops *loops, const struct cpu_config *config, uint32_t *nmerged)
{
    uint8_t **touched, *is_packing = NULL;
    if (cpu_touch_all(loops->arena, config, loops, &touched))
        is_packing = cpu_find_packing(loops->arena, config, loops, touched);
    return is_packing && merge_all(loops, &loops->body, is_packing, nmerged);
}

/* Elements that one of so many iterations has of a buffer, which may be open likewise; -1: that
 * is not known. */
static int64_t nelem_of_each(const bt_node *nelem, const bt_node *extent)
{
    const int64_t niteration = bt_node_number(extent);
    bt_linear l;
    if (niteration >= 0)
        return niteration > 1 && bt_node_number(nelem) >= 0
                   ? bt_node_number(nelem) / niteration
                   : -1;
    bt_node_as_linear(nelem, &l);
    return l.n == 1 && l.atoms[0] == extent && !l.constant ? l.coefs[0] : -1;
}

/* What only one iteration uses is a local of its size. */
static int shrink_all(bt_loops *loops, bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        for (uint32_t b = 0; stmt->kind == BT_STMT_FOR && b < loops->roles.len; b++) {
            const bt_array *array = loops->graph->arrays[b];
            int is_own = loops->roles.at[b] == BT_BUFFER_TEMP ||
                         loops->roles.at[b] == BT_BUFFER_LOCAL;
            int64_t nelem = is_own ? nelem_of_each(array->extents[0], stmt->extent) : -1;
            if (nelem >= 0 &&
                nelem <= LOCAL_NBYTES / (int64_t)bt_dtype_nbytes(array->dtype) &&
                !is_over(bt_loops_shrink(loops, stmt, b)))
                return 0;
        }
        if (!shrink_all(loops, &stmt->body) || !shrink_all(loops, &stmt->otherwise))
            return 0;
    }
    return 1;
}

/* ---- all ---- */

/* Of loops that will be cut: iterations stay independent, but that is not seen any more behind
 * guards. */
static bt_status find_parallel(bt_loops *loops)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        bt_stmt *stmt = loops->body.at[i];
        while (stmt->kind == BT_STMT_FOR) {
            const bt_status status = bt_loops_parallel(loops, stmt);
            if (!is_over(status))
                return status;
            if (status || stmt->body.len != 1)
                break;
            stmt = stmt->body.at[0];
        }
    }
    return NULL;
}

/* What may be done to loops, and was. */
enum { MERGE = 1, SPLIT = 2, JOIN = 4 };

/* *done: those of the `wanted` ones that changed something. */
static bt_status transform(bt_loops *loops, const struct cpu_config *config,
                           uint32_t wanted, uint32_t *done)
{
    uint32_t nsplit = 0, nmerged = 0, njoined = 0;
    BT_TRY(bt_loops_simplify(loops));
    if (!cpu_compute_directly(loops))
        return bt_loops_why(loops);
    BT_TRY(cpu_call_planes(loops, config));
    BT_TRY(cpu_call_planes_first(loops, config));
    BT_TRY(cpu_call_channels(loops, config));
    BT_TRY(cpu_call_transposes(loops, config));
    if ((wanted & SPLIT) && !(wanted & MERGE)) // parallel loops are not merged
        BT_TRY(find_parallel(loops));
    if ((wanted & SPLIT) && !cpu_split_loops(loops, &nsplit))
        return bt_loops_why(loops);
    if (nsplit)
        BT_TRY(bt_loops_simplify(loops));
    if ((wanted & MERGE) && (!merge(loops, config, &nmerged) ||
                             (nmerged && !shrink_all(loops, &loops->body))))
        return bt_loops_why(loops);
    for (uint32_t i = 0; i < loops->body.len; i++)
        BT_TRY(bt_loops_collapse_all(loops, loops->body.at[i]));
    if ((wanted & JOIN) && !cpu_join_rows(loops, &njoined))
        return bt_loops_why(loops);
    if (!cpu_narrow_compares(loops))
        return bt_loops_why(loops);
    *done = (nmerged ? MERGE : 0) | (nsplit ? SPLIT : 0) | (njoined ? JOIN : 0);
    for (uint32_t i = 0; i < loops->body.len; i++) {
        bt_stmt *stmt = loops->body.at[i];
        const bt_status status =
            stmt->kind == BT_STMT_FOR ? bt_loops_parallel(loops, stmt) : NULL;
        if (!is_over(status))
            return status;
    }
    return NULL;
}

bt_status cpu_schedule_loops(bt_loops *loops, const struct cpu_config *config)
{
    uint32_t done;
    BT_TRY(transform(loops, config, 0, &done));
    return cpu_vectorise(loops, config);
}

/* As a tree: strips of what a statement computes are given back after their last use, and
 * loops with nothing between them can be joined. Locals would take more memory, and be in
 * the way. */
static bt_lower_options lowering_of(bt_arena *arena)
{
    return (bt_lower_options){ cpu_is_narrow, arena, .is_tree = 1 };
}

bt_status cpu_lower(bt_ctx *ctx, bt_arena *arena, const char *name, bt_graph *graph,
                    bt_loops **out)
{
    const bt_lower_options options = lowering_of(arena);
    return bt_loops_lower_with(ctx, arena, name, graph, &options, out);
}

/* ---- choosing ---- */

/* Ways to make a schedule, the first of which is taken where estimates are equal. Stages
 * together are worth some calls more: what they hand on stays in the cache. */
static const struct candidate {
    uint32_t transforms;
    double weight; /* of the estimate */
} candidates[] = {
    { MERGE, 1 },        { 0, 1.2 },    { MERGE | SPLIT, 1 },        { SPLIT, 1.2 },
    { MERGE | JOIN, 1 }, { JOIN, 1.2 }, { MERGE | SPLIT | JOIN, 1 }, { SPLIT | JOIN, 1.2 }
};

struct program {
    const char *name;
    bt_loops *loops;     /* NULL: there is none */
    double estimate, ns; /* to compare candidates of one way; ways, which may state it */
    cpu_kept_list kept;
};

struct chooser {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct cpu_config *config;
    const bt_func *primitive;
    cpu_kept_list *kept;       /* NULL: all of each result is to be written */
    const bt_type_param *dims; /* values of the function's dims; NULL: all */
    uint32_t useless;          /* transforms that change nothing */
    uint32_t was_tried;        /* bits: what was done to those that were made */
    const bt_cpu_way *way;     /* a plugin's; NULL: the target's own */
    struct program made, best; /* of the way, of all */
    bt_status refused;         /* why a candidate cannot be made */
};

static int has_open(const bt_func *func, const bt_type_param *dims)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->nvar; i++)
        n += !dims || dims[i].low < dims[i].high;
    return n != 0;
}

static bt_status try_candidate(struct chooser *c, const struct candidate *candidate)
{
    const char *name = c->primitive->name ? c->primitive->name : "primitive";
    uint32_t wanted = candidate->transforms & ~c->useless, done = 0;
    bt_graph *graph;
    bt_loops *loops;
    if (c->was_tried >> wanted & 1)
        return NULL;
    BT_TRY(bt_graph_compose_for(c->ctx, c->arena, c->primitive, c->dims, &graph));
    bt_lower_options options = lowering_of(c->arena);
    struct cpu_way_made made = { .is_made = 1 };
    if (c->way)
        BT_TRY(cpu_way_make(
            c->ctx, c->arena,
            &(struct cpu_way_call){ c->config, c->way, c->primitive, graph }, &made));
    if (!made.is_made)
        return NULL;
    options.order = made.order;
    BT_TRY(cpu_contract(c->ctx, c->arena, c->config, name, graph, &options, &loops));
    if (has_open(c->primitive, c->dims))
        BT_TRY(cpu_check_open_sums(c->ctx, c->arena, c->config, name, graph));
    cpu_kept_list kept = { 0 }; // the same whichever candidate
    if (c->kept && !cpu_keep(loops, c->primitive, &kept))
        return bt_loops_why(loops);
    if (!cpu_has_split(loops))
        c->useless |= SPLIT;
    BT_TRY(transform(loops, c->config, wanted, &done));
    c->useless |= wanted & ~done;
    if (c->was_tried >> done & 1)
        return NULL;
    c->was_tried |= 1U << done;
    bt_status status = cpu_vectorise(loops, c->config);
    if (status && status->code == BT_ERR_UNSUPPORTED)
        c->refused = c->refused ? c->refused : status;
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    const double estimate = candidate->weight * cpu_cost(c->config, &loops->body);
    if (!c->made.loops || estimate < c->made.estimate)
        c->made = (struct program){ c->config->program, loops, estimate,
                                    made.ns > 0 ? made.ns : estimate, kept };
    return NULL;
}

/* All candidates of the target's own, or of a plugin's way. */
static bt_status try_all(struct chooser *c)
{
    c->useless = c->was_tried = 0;
    c->made.loops = NULL;
    for (uint32_t i = 0; i < BT_COUNT(candidates); i++)
        BT_TRY(try_candidate(c, &candidates[i]));
    return NULL;
}

/* The program that was made, and the ways of its sums. */
static bt_status note_program(const struct chooser *c, const struct cpu_choices *sums,
                              int is_best)
{
    struct cpu_choices *to = c->config->choices;
    const struct cpu_choice own = { .program = c->made.name,
                                    .way = c->made.name,
                                    .is_taken = (uint32_t)is_best,
                                    .ns = c->made.ns };
    if (!to)
        return NULL;
    for (uint32_t i = 0; is_best && i < to->all.len; i++)
        to->all.at[i].is_taken &= to->all.at[i].sum != 0;
    int ok = BT_PUSH(to->arena, &to->all, own);
    for (uint32_t i = 0; ok && i < sums->all.len; i++)
        ok = BT_PUSH(to->arena, &to->all, sums->all.at[i]);
    return ok ? NULL : bt_no_memory();
}

/* Whether the program that was made is better than those before. */
static int is_better(const struct chooser *c)
{
    const char *wanted =
        c->config->way ? c->config->way : cpu_choice_taken(c->config->wanted, NULL, 0);
    const struct program *made = &c->made, *best = &c->best;
    if (!made->loops || !best->loops)
        return made->loops != NULL;
    if (wanted && strcmp(made->name, best->name) != 0 &&
        (strcmp(made->name, wanted) == 0 || strcmp(best->name, wanted) == 0))
        return strcmp(made->name, wanted) == 0;
    return made->ns < best->ns;
}

/* A plugin's way whose program cannot be made leaves the function to others. */
static bt_status leave_out(struct chooser *c, bt_status status)
{
    const bt_status why = status ? status : c->refused;
    if (!c->way || (status && status->code != BT_ERR_UNSUPPORTED))
        return status;
    if (!c->made.loops && why && c->config->choices)
        bt_remark(c->ctx, BT_REMARK_NOTE,
                  bt_note(c->ctx, why, NULL, 0,
                          "target cpu does without way %s for function %s", c->way->name,
                          c->primitive->name ? c->primitive->name : ""));
    c->refused = NULL;
    return NULL;
}

static bt_status choose(struct chooser *c)
{
    const struct cpu_config *config = c->config;
    const struct cpu_ways *ways = config->ways;
    struct cpu_choices sums = { .arena = c->arena };
    struct cpu_config own = *config;
    bt_status status = NULL, refused = NULL;
    own.choices = config->choices ? &sums : NULL;
    for (uint32_t i = 0; !status && i <= (ways ? ways->n : 0); i++) {
        c->way = i ? ways->at[i - 1] : NULL;
        own.program = c->way ? c->way->name : CPU_OWN_PROGRAM;
        c->config = &own;
        status = leave_out(c, try_all(c));
        c->config = config;
        refused = c->way ? refused : c->refused; // of the target's own it is told
        const int is_best = !status && is_better(c);
        if (!status && c->made.loops)
            status = note_program(c, &sums, is_best);
        if (is_best)
            c->best = c->made;
    }
    c->way = NULL;
    c->refused = refused;
    return status;
}

/* ---- versions ---- */

/* Whether a product is better made otherwise where dims are these, one of them 1: one of inputs,
 * which take as long to pack as to multiply, or of one row, which goes along panels. */
static bt_status wants_one(const struct chooser *c, const bt_type_param *dims, int *out)
{
    bt_graph *graph;
    int sums = 0, is_line = 0;
    BT_TRY(bt_graph_compose_for(c->ctx, c->arena, c->primitive, dims, &graph));
    const uint32_t narray = graph->narray;
    for (uint32_t i = graph->ninput; i < narray; i++) {
        const bt_array stage = *graph->arrays[i];
        struct cpu_tiling tiling;
        int has_sum;
        BT_TRY(cpu_has_products(c->arena, graph, &stage, &has_sum));
        if (!has_sum)
            continue;
        sums = 1;
        BT_TRY(cpu_contract_tiling(graph, &stage, c->config, &tiling));
        graph->narray = narray; // of factors only the tiling is needed
        is_line |= tiling.tile && tiling.is_line && tiling.b_kind == CPU_B_PANELS;
    }
    for (uint32_t i = 0; i < graph->ninput; i++)
        sums &= !c->config->is_constant[i];
    *out = sums || is_line;
    return NULL;
}

/* The first dim that may be 1, and others; nvar: there is none. */
static uint32_t dim_of_one(const bt_func *func)
{
    uint32_t i = 0;
    for (int64_t low, high; i < func->nvar; i++) {
        bt_dim_bounds(func->vars[i], &low, &high);
        if (low <= 1 && high > 1)
            break;
    }
    return i;
}

/* The values of the function's dim. */
static const bt_type_param *all_of(const bt_func *func, uint32_t i)
{
    return &bt_as_var_type(func->vars[i])->param;
}

static int is_asked(bt_type_param *const *rows, uint32_t n, const bt_type_param *row,
                    uint32_t nvar)
{
    for (uint32_t i = 0, k; i < n; i++) {
        for (k = 0; k < nvar && bt_type_param_equal(&rows[i][k], &row[k]); k++)
            ;
        if (k == nvar)
            return 1;
    }
    return 0;
}

/* A number, [low, high, step], or -1, any. 0: it is none, or the dim has no such value. */
static int read_dim(const bt_dict_entry *item, bt_type_param *dim)
{
    int64_t of[3] = { item->i, item->i, 1 };
    const int is_list = item->kind == BT_DICT_LIST && item->n == 3;
    if (item->kind == BT_DICT_INT && item->i == -1)
        return 1;
    if (!is_list && item->kind != BT_DICT_INT)
        return 0;
    for (uint32_t i = 0; is_list && i < 3; i++) {
        if (item->items[i].kind != BT_DICT_INT)
            return 0;
        of[i] = item->items[i].i;
    }
    return bt_type_param_narrow(dim, of[0], of[1], of[2]);
}

static bt_type_param *new_row(const struct chooser *c)
{
    const bt_func *func = c->primitive;
    bt_type_param *row = BT_NEWS(c->arena, bt_type_param, func->nvar);
    for (uint32_t i = 0; row && i < func->nvar; i++)
        row[i] = *all_of(func, i);
    return row;
}

/* Those that attribute `versions` lists, which may be any text's. */
static bt_status read_rows(const struct chooser *c, bt_type_param **rows, uint32_t *n)
{
    const bt_dict_entry *list = bt_dict_find(&c->primitive->attrs, "versions");
    const uint32_t nvar = c->primitive->nvar;
    for (uint32_t i = 0; list && list->kind == BT_DICT_LIST && i < list->n; i++) {
        const bt_dict_entry *items = &list->items[i];
        bt_type_param *row = new_row(c);
        uint32_t nread = 0, nless = 0;
        if (!row)
            return bt_no_memory();
        if (items->kind != BT_DICT_LIST || items->n != nvar)
            continue;
        while (nread < nvar && read_dim(&items->items[nread], &row[nread])) {
            nless += !bt_type_param_equal(&row[nread], all_of(c->primitive, nread));
            nread++;
        }
        if (*n < BT_MAX_VERSIONS && nread == nvar && nless)
            rows[(*n)++] = row;
    }
    return NULL;
}

/* A product with one row is another program: a sum for each column, of operands as they lie,
 * which takes none to pack them. */
static bt_status add_one(const struct chooser *c, bt_type_param **rows, uint32_t *n)
{
    const bt_func *func = c->primitive;
    const uint32_t which = dim_of_one(func);
    bt_type_param *row = new_row(c);
    int is_wanted;
    if (!row)
        return bt_no_memory();
    if (which == func->nvar || !bt_type_param_narrow(&row[which], 1, 1, 1) ||
        is_asked(rows, *n, row, func->nvar))
        return NULL;
    BT_TRY(wants_one(c, row, &is_wanted));
    if (is_wanted)
        rows[(*n)++] = row;
    return NULL;
}

static bt_status add_versions(const struct chooser *c)
{
    // those that are asked for, and one of a dim that is 1
    bt_type_param *rows[BT_MAX_VERSIONS + 1];
    struct cpu_version versions[BT_MAX_VERSIONS + 1];
    uint32_t nrow = 0, n = 0;
    BT_TRY(read_rows(c, rows, &nrow));
    BT_TRY(add_one(c, rows, &nrow));
    for (uint32_t i = 0; i < nrow; i++) {
        struct chooser one = *c;
        one.dims = rows[i];
        one.kept = NULL;
        one.best.loops = NULL;
        one.refused = NULL;
        BT_TRY(choose(&one));
        if (one.best.loops)
            versions[n++] = (struct cpu_version){ rows[i], one.best.loops };
    }
    return cpu_branch(c->best.loops, c->config, c->primitive, n, versions);
}

bt_status cpu_schedule(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                       const bt_func *primitive, cpu_kept_list *kept, bt_loops **out)
{
    struct cpu_config own = *config;
    struct chooser c = {
        .ctx = ctx, .arena = arena, .config = &own, .primitive = primitive, .kept = kept
    };
    own.is_constant = bt_primitive_constants(arena, primitive);
    own.is_shared = bt_primitive_shared(arena, primitive);
    if (!own.is_constant || !own.is_shared)
        return bt_no_memory();
    BT_TRY(choose(&c));
    if (kept)
        *kept = c.best.kept;
    own.choices = NULL; // versions have others
    // both programs would have to leave the same elements as they are
    if (c.best.loops && primitive->nvar && !(kept && kept->len))
        BT_TRY(add_versions(&c));
    *out = c.best.loops;
    return c.best.loops ? NULL : c.refused;
}
