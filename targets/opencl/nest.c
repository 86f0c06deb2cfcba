/* Kernels of loops. */
#include "nest.h"

#include "row.h"
#include "scan.h"
#include "scatter.h"

#include <inttypes.h>

/* ---- which loops ---- */

int ocl_writes(const bt_loops *loops, const bt_stmt *stmt)
{
    if (stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE)
        return loops->roles.at[stmt->buffer] != BT_BUFFER_LOCAL;
    for (uint32_t i = 0; i < stmt->body.len; i++) {
        if (ocl_writes(loops, stmt->body.at[i]))
            return 1;
    }
    for (uint32_t i = 0; i < stmt->otherwise.len; i++) {
        if (ocl_writes(loops, stmt->otherwise.at[i]))
            return 1;
    }
    return 0;
}

/* *can: whether its iterations may run at once. */
static bt_status try_parallel(bt_loops *loops, bt_stmt *loop, int *can)
{
    const bt_status status = bt_loops_parallel(loops, loop);
    *can = !status;
    return status && status->code != BT_ERR_UNSUPPORTED ? status : NULL;
}

/* A loop that is not parallel changes places with one inside it, if that is then. */
static void swap(bt_stmt *a, bt_stmt *b)
{
    const uint32_t index = a->index;
    const bt_node *extent = a->extent;
    a->index = b->index;
    a->extent = b->extent;
    b->index = index;
    b->extent = extent;
}

static bt_status try_inner(bt_loops *loops, bt_stmt *loop, int *can)
{
    *can = loop->is_parallel != 0;
    if (*can)
        return NULL;
    BT_TRY(try_parallel(loops, loop, can));
    for (bt_stmt *inner = loop; !*can && inner->body.len == 1;) {
        inner = inner->body.at[0];
        if (inner->kind != BT_STMT_FOR)
            break;
        swap(loop, inner);
        BT_TRY(try_parallel(loops, loop, can));
        if (!*can)
            swap(loop, inner);
    }
    return NULL;
}

static int has_loop(const bt_stmt *stmt)
{
    int has = stmt->kind == BT_STMT_FOR;
    for (uint32_t i = 0; !has && i < stmt->body.len; i++)
        has = has_loop(stmt->body.at[i]);
    for (uint32_t i = 0; !has && i < stmt->otherwise.len; i++)
        has = has_loop(stmt->otherwise.at[i]);
    return has;
}

/* The loop that is all of a block but for short statements before it, which set locals. */
static bt_stmt *loop_of(const bt_loops *loops, const bt_stmts *block)
{
    bt_stmt *last = block->len ? block->at[block->len - 1] : NULL;
    for (uint32_t i = 0; i + 1 < block->len; i++) {
        if (ocl_writes(loops, block->at[i]) || has_loop(block->at[i]))
            return NULL;
    }
    return last && last->kind == BT_STMT_FOR && ocl_writes(loops, last) ? last : NULL;
}

bt_status ocl_nest_find(bt_loops *loops, const bt_stmts *block, uint32_t at,
                        struct ocl_nest *out)
{
    bt_arena *arena = loops->arena;
    bt_stmt *stmt = block->at[at];
    *out = (struct ocl_nest){ .loops = loops };
    for (uint32_t i = 0; i < at; i++) {
        if (!ocl_writes(loops, block->at[i]) &&
            !BT_PUSH(arena, &out->before[0], block->at[i]))
            return bt_no_memory();
    }
    if (stmt->kind != BT_STMT_FOR)
        return BT_PUSH(arena, &out->body, stmt) ? NULL : bt_no_memory();
    while (stmt && out->nloop < OCL_NEST_LOOPS) {
        int can;
        BT_TRY(try_inner(loops, stmt, &can));
        if (!can) { // it stands in the body, behind what came before it
            out->body = (bt_stmts){ .len = 0 };
            return BT_PUSH(arena, &out->body, stmt) ? NULL : bt_no_memory();
        }
        out->at[out->nloop++] = stmt;
        out->body = stmt->body;
        bt_stmt *inner = loop_of(loops, &stmt->body);
        for (uint32_t i = 0; inner && i + 1 < stmt->body.len; i++) {
            if (!BT_PUSH(arena, &out->before[out->nloop], stmt->body.at[i]))
                return bt_no_memory();
        }
        stmt = inner;
    }
    return NULL;
}

/* ---- work-items ---- */

static int64_t extent_of(const struct ocl_nest *nest, uint32_t i)
{
    return bt_node_number(nest->at[i]->extent);
}

/* How many loops are one dimension of work-items, with the innermost: those that together make a
 * group, and leave few of its items idle. */
static uint32_t count_inner(const struct ocl_nest *nest)
{
    uint32_t n = 0;
    int64_t all = 1;
    while (n < nest->nloop && all < 2 * OCL_ITEMS) {
        const int64_t extent = extent_of(nest, nest->nloop - 1 - n);
        if (extent < 0 || !bt_mul_int64(all, extent, &all))
            return nest->nloop; // all of them, as the numbers are not known
        n++;
    }
    return n;
}

/* The product of the extents of loops first ... end - 1. */
static const bt_node *product(const struct ocl_nest *nest, uint32_t first, uint32_t end)
{
    bt_graph *g = nest->loops->graph;
    const bt_node *all = bt_node_int(g, 1);
    for (uint32_t i = first; i < end; i++)
        all = bt_node_scalar(g, BT_SCALAR_MUL, all, nest->at[i]->extent);
    return all;
}

/* Indices of loops first ... end - 1 from a number below their product. */
static void add_indices(struct ocl_writer *w, const struct ocl_nest *nest, uint32_t first,
                        uint32_t end, const char *from, const char *type)
{
    for (uint32_t i = end; i-- > first;) {
        const bt_stmt *loop = nest->at[i];
        const char *index = ocl_index_type(loop->extent);
        const char *cast = index == type ? "" : ocl_form(&w->x, "(%s)", index);
        if (i == first) {
            ocl_line(w, "const %s i%" PRIu32 " = %s%s;", index, loop->index, cast, from);
            return;
        }
        const char *n = ocl_parameter(w, loop->extent);
        const char *rest = ocl_form(&w->x, "g%" PRIu32, loop->index);
        ocl_line(w, "const %s i%" PRIu32 " = %s(%s %% %s);", index, loop->index, cast,
                 from, n);
        ocl_line(w, "const %s %s = %s / %s;", type, rest, from, n);
        from = rest;
    }
}

/* Iterations of a work-item of a processor, for which starting one costs about as much as so many. */
enum { CHUNK = 1024, HEAVY_CHUNK = 16, SHORT_LINE = 256 };

static int is_heavy(const struct ocl_nest *nest)
{
    for (uint32_t i = 0; i < nest->body.len; i++) {
        if (has_loop(nest->body.at[i]))
            return 1;
    }
    return 0;
}

/* "for (i3 = first; i3 < end; i3++) {" of a part of the iterations: those of number `item` where each has
 * `each`. */
static void open_part(struct ocl_writer *w, const char *type, const char *index,
                      const char *item, int64_t each, const char *n)
{
    ocl_line(
        w, "for (%s %s = %s * %" PRId64 "; %s < min(%s, (%s + 1) * %" PRId64 "); %s++) {",
        type, index, item, each, index, n, item, each, index);
    w->indent += OCL_INDENT;
}

/* On processors: the innermost loop is one of the work-item, which compilers make vectors of. *nbrace:
 * those that are open then. */
static bt_status open_lines(struct ocl_writer *w, const struct ocl_nest *nest,
                            struct ocl_geometry *out, uint32_t *nbrace)
{
    bt_graph *g = nest->loops->graph;
    const bt_stmt *inner = nest->at[nest->nloop - 1];
    const int64_t extent = bt_node_number(inner->extent);
    const int64_t chunk = is_heavy(nest) ? HEAVY_CHUNK : CHUNK;
    const bt_node *outer = product(nest, 0, nest->nloop - 1);
    const char *index = ocl_form(&w->x, "i%" PRIu32, inner->index);
    const char *type = ocl_index_type(inner->extent);
    const int is_short = extent >= 0 && extent < SHORT_LINE;
    const int64_t each = is_short ? (chunk + extent) / (extent + 1) : chunk;
    if (!outer)
        return bt_loops_why(nest->loops);
    const char *outer_type = ocl_is_int(0, outer->high) ? "int" : "long";
    out->groups[0] = bt_node_scalar(
        g, BT_SCALAR_CEILDIV, is_short ? outer : inner->extent, bt_node_int(g, each));
    out->groups[1] = is_short ? bt_node_int(g, 1) : outer;
    out->groups[2] = bt_node_int(g, 1);
    for (uint32_t d = 0; d < 3; d++)
        out->local[d] = 1;
    ocl_line(w, "const %s w0 = (%s)get_global_id(0);", is_short ? outer_type : type,
             is_short ? outer_type : type);
    if (is_short) {
        open_part(w, outer_type, "w1", "w0", each, ocl_parameter(w, outer));
        add_indices(w, nest, 0, nest->nloop - 1, "w1", outer_type);
        ocl_line(w, "for (%s %s = 0; %s < %s; %s++) {", type, index, index,
                 ocl_extent(w, inner), index);
        w->indent += OCL_INDENT;
        *nbrace = 2;
    } else {
        if (nest->nloop > 1) {
            ocl_line(w, "const %s w1 = (%s)get_global_id(1);", outer_type, outer_type);
            add_indices(w, nest, 0, nest->nloop - 1, "w1", outer_type);
        }
        open_part(w, type, index, "w0", each, ocl_parameter(w, inner->extent));
        *nbrace = 1;
    }
    return NULL;
}

static bt_status open_items(struct ocl_writer *w, const struct ocl_nest *nest,
                            struct ocl_geometry *out, uint32_t *nbrace)
{
    bt_graph *g = nest->loops->graph;
    const uint32_t inner = nest->nloop - count_inner(nest);
    const uint32_t firsts[] = { inner, inner ? inner - 1 : 0, 0 };
    const uint32_t ends[] = { nest->nloop, inner, inner ? inner - 1 : 0 };
    const char *n0 = "";
    for (uint32_t d = 0; d < 3; d++) {
        const bt_node *n = product(nest, firsts[d], ends[d]);
        const bt_node *items = bt_node_int(g, d == 0 ? OCL_ITEMS : 1);
        out->local[d] = d == 0 ? OCL_ITEMS : 1;
        out->groups[d] = bt_node_scalar(g, BT_SCALAR_CEILDIV, n, items);
        if (!out->groups[d])
            return bt_loops_why(nest->loops);
        if (firsts[d] == ends[d])
            continue;
        const char *type = ocl_is_int(0, n->high) ? "int" : "long";
        const char *item = ocl_form(&w->x, "w%" PRIu32, d);
        ocl_line(w, "const %s %s = (%s)get_global_id(%" PRIu32 ");", type, item, type, d);
        if (d == 0) // of the others there are as many as iterations
            n0 = ocl_parameter(w, n);
        add_indices(w, nest, firsts[d], ends[d], item, type);
    }
    ocl_line(w, "if (w0 < %s) {", n0);
    w->indent += OCL_INDENT;
    *nbrace = 1;
    return NULL;
}

/* Variables of the nest's indices, or loops over some of their iterations, in a work-item. *nbrace:
 * those that are open then. Gives the groups. */
static bt_status open_nest(struct ocl_writer *w, const struct ocl_nest *nest,
                           struct ocl_geometry *out, uint32_t *nbrace)
{
    *nbrace = 0;
    if (nest->nloop)
        return w->maker->device->is_cpu ? open_lines(w, nest, out, nbrace)
                                        : open_items(w, nest, out, nbrace);
    for (uint32_t d = 0; d < 3; d++) {
        out->local[d] = 1;
        out->groups[d] = bt_node_int(nest->loops->graph, 1);
    }
    return NULL;
}

const bt_node *ocl_nest_size(const struct ocl_nest *nest)
{
    return product(nest, 0, nest->nloop);
}

void ocl_nest_indices(struct ocl_writer *w, const struct ocl_nest *nest, const char *from,
                      const bt_node *size)
{
    add_indices(w, nest, 0, nest->nloop, from,
                ocl_is_int(0, size->high) ? "int" : "long");
}

/* Iterations may run at once where what they have in common is taken by atomics. */
static void run_at_once(bt_stmt *nest)
{
    while (nest && nest->kind == BT_STMT_FOR) {
        nest->is_parallel = 1;
        nest = nest->body.len ? nest->body.at[nest->body.len - 1] : NULL;
    }
}

static bt_status launch(struct ocl_maker *maker, bt_loops *loops, uint32_t at)
{
    struct ocl_nest nest;
    struct ocl_writer w;
    struct ocl_geometry geometry = { .local_nbytes = 0 };
    bt_text body;
    uint32_t scatter, nbrace;
    int done;
    BT_TRY(ocl_scan_launch(maker, loops, loops->body.at[at], &done));
    if (done)
        return NULL;
    BT_TRY(ocl_scatter_of(loops, loops->body.at[at], &scatter));
    if (scatter == OCL_SCATTER_ATOMIC)
        run_at_once(loops->body.at[at]);
    BT_TRY(ocl_nest_find(loops, &loops->body, at, &nest));
    BT_TRY(ocl_row_launch(maker, &nest, &done));
    if (done)
        return NULL;
    BT_TRY(ocl_writer_init(&w, maker, loops, &body));
    w.is_atomic = scatter == OCL_SCATTER_ATOMIC;
    BT_TRY(open_nest(&w, &nest, &geometry, &nbrace));
    for (uint32_t i = 0; i <= nest.nloop; i++)
        ocl_block(&w, &nest.before[i]);
    ocl_block(&w, &nest.body);
    for (; nbrace > 0; nbrace--) {
        w.indent -= OCL_INDENT;
        ocl_line(&w, "}");
    }
    return ocl_finish(&w, &body, &geometry);
}

bt_status ocl_nest_gathers(bt_loops *loops, int *out)
{
    *out = 0;
    for (uint32_t i = 0; i < loops->body.len && !*out; i++) {
        uint32_t scatter;
        if (ocl_scan_is(loops->body.at[i]))
            continue;
        BT_TRY(ocl_scatter_of(loops, loops->body.at[i], &scatter));
        *out = scatter == OCL_SCATTER_GATHER;
    }
    return NULL;
}

bt_status ocl_nest_launch(struct ocl_maker *maker, bt_loops *loops)
{
    for (uint32_t i = 0; i < loops->body.len; i++)
        BT_TRY(bt_loops_collapse_all(loops, loops->body.at[i]));
    for (uint32_t i = 0; i < loops->body.len; i++) {
        if (ocl_writes(loops, loops->body.at[i]))
            BT_TRY(launch(maker, loops, i));
    }
    return NULL;
}
