/*
 * Reductions of long rows. On other devices than processors a group of work-items has a row: each
 * takes every so-manieth term, and a tree in local memory joins what they have. On processors a
 * work-item has a row, and takes terms into as many accumulators as a few vectors have lanes. Where
 * there are few rows, each is cut into parts, whose accumulators a second kernel joins in their order.
 */
#include "row.h"

#include <inttypes.h>

enum {
    LONG = 64,           /* terms of a sum that is shared */
    LONG_PART = 1 << 14, /* ... that is cut into parts, ... */
    FEW_ROWS = 32,       /* ... where there are at most so many rows */
    PARTS = 32,
    LANES = 32,
    MAX_ACCUMULATORS = 8
};

/* What stands in a nest, in order, and the sums that are shared. */
struct row {
    struct ocl_maker *maker;
    const struct ocl_nest *nest;
    bt_stmts all;
    uint32_t nshared, shared; /* how many; the last */
    uint32_t is_cpu;
    uint32_t partials[2]; /* buffers of parts' accumulators */
};

/* ---- which sums ---- */

/* Terms of the longest loops in a block; -1: not known. */
static int64_t count_terms(const bt_stmts *stmts)
{
    int64_t most = 1;
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        const int64_t by = stmt->kind == BT_STMT_FOR ? bt_node_number(stmt->extent) : 1;
        int64_t n = count_terms(&stmt->body);
        if (n < 0 || by < 0 || !bt_mul_int64(n, by, &n))
            return -1;
        most = n > most ? n : most;
    }
    return most;
}

static int64_t count_terms_of(bt_stmt *loop)
{
    const bt_stmts alone = { .len = 1, .cap = 1, .at = &loop };
    return count_terms(&alone);
}

static int has_check(const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        if (stmts->at[i]->kind == BT_STMT_CHECK || has_check(&stmts->at[i]->body) ||
            has_check(&stmts->at[i]->otherwise))
            return 1;
    }
    return 0;
}

static int is_shared(const struct row *r, bt_stmt *stmt)
{
    if (stmt->kind != BT_STMT_FOR || ocl_writes(r->nest->loops, stmt))
        return 0;
    const int64_t n = count_terms_of(stmt);
    return n < 0 || n >= LONG;
}

/* ---- accumulators ---- */

typedef struct accumulators {
    uint32_t n;
    const bt_stmt *takes[MAX_ACCUMULATORS];
} accumulators;

/* Statements that take; 0: there are too many. */
static int find_takes(const bt_stmts *stmts, accumulators *out)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        if (stmt->kind == BT_STMT_TAKE) {
            if (out->n == MAX_ACCUMULATORS)
                return 0;
            out->takes[out->n++] = stmt;
        }
        if (!find_takes(&stmt->body, out) || !find_takes(&stmt->otherwise, out))
            return 0;
    }
    return 1;
}

static int is_pair(const bt_stmt *take)
{
    return take->position || take->reducer == BT_REDUCER_LOGSUMEXP;
}

static const char *type_of(const struct ocl_writer *w, uint32_t buffer)
{
    return ocl_value_type(w->loops->graph->arrays[buffer]->dtype);
}

/* Takes accumulators `from` into `to`; the second of a pair by its place behind. */
static void join(struct ocl_writer *w, const bt_stmt *take, const char *to,
                 const char *to2, const char *from, const char *from2)
{
    ocl_line(w, "{");
    w->indent += OCL_INDENT;
    ocl_line(w, "const %s v = %s;", type_of(w, take->buffer), from);
    if (is_pair(take))
        ocl_line(w, "const %s q = %s;", type_of(w, take->buffer2), from2);
    ocl_take(w, take, to, to2);
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

/* ---- lanes ---- */

/* The loop whose iterations lanes take: the innermost one of a chain; NULL: there is no chain. */
static const bt_stmt *innermost(const bt_stmt *loop)
{
    const bt_stmt *found = loop, *at = loop;
    while (at) {
        const bt_stmt *next = NULL;
        for (uint32_t i = 0; i < at->body.len; i++) {
            const bt_stmt *stmt = at->body.at[i];
            if (stmt->kind != BT_STMT_FOR && stmt->kind != BT_STMT_IF)
                continue;
            if (next || stmt->otherwise.len)
                return NULL;
            next = stmt;
        }
        at = next;
        found = at && at->kind == BT_STMT_FOR ? at : found;
    }
    return found;
}

static void name_lanes(struct ocl_writer *w, const accumulators *a, const char *lane)
{
    for (uint32_t i = 0; i < a->n; i++) {
        const bt_stmt *take = a->takes[i];
        w->instead[take->buffer] = NULL;
        w->instead[take->buffer] =
            lane ? ocl_form(&w->x, "%ss[%s]", ocl_local(w, take->buffer), lane) : NULL;
        if (!is_pair(take))
            continue;
        w->instead[take->buffer2] = NULL;
        w->instead[take->buffer2] =
            lane ? ocl_form(&w->x, "%ss[%s]", ocl_local(w, take->buffer2), lane) : NULL;
    }
}

/* The loops of a chain; of the outermost those iterations from `first` to `end`. */
static void add_chain(struct ocl_writer *w, const accumulators *a, const bt_stmt *stmt,
                      const bt_stmt *inner, const char *first, const char *end)
{
    const uint32_t i = stmt->index;
    const char *type = stmt->kind == BT_STMT_FOR ? ocl_index_type(stmt->extent) : "";
    if (stmt->kind == BT_STMT_IF) {
        ocl_line(w, "if (%s) {", ocl_bare(w, ocl_value(w, stmt->condition).text));
    } else if (stmt != inner) {
        ocl_line(w, "for (%s i%" PRIu32 " = %s; i%" PRIu32 " < %s; i%" PRIu32 "++) {",
                 type, i, first, i, end, i);
    } else {
        ocl_line(w, "%s r%" PRIu32 " = %s;", type, i, first);
        ocl_line(w, "for (; r%" PRIu32 " + %d <= %s; r%" PRIu32 " += %d) {", i, LANES,
                 end, i, LANES);
        ocl_line(w, "    for (int l = 0; l < %d; l++) {", LANES);
        w->indent += 2 * OCL_INDENT;
        ocl_line(w, "const %s i%" PRIu32 " = r%" PRIu32 " + l;", type, i, i);
        name_lanes(w, a, "l");
        ocl_block(w, &stmt->body);
        w->indent -= 2 * OCL_INDENT;
        ocl_line(w, "    }");
        ocl_line(w, "}");
        ocl_line(w, "for (; r%" PRIu32 " < %s; r%" PRIu32 "++) {", i, end, i);
        ocl_line(w, "    const %s i%" PRIu32 " = r%" PRIu32 ";", type, i, i);
        name_lanes(w, a, "0");
    }
    w->indent += OCL_INDENT;
    for (uint32_t k = 0; k < stmt->body.len; k++) {
        const bt_stmt *own = stmt->body.at[k];
        if (stmt != inner && (own->kind == BT_STMT_FOR || own->kind == BT_STMT_IF))
            add_chain(w, a, own, inner, "0",
                      own->kind == BT_STMT_FOR ? ocl_extent(w, own) : NULL);
        else
            ocl_stmt(w, own);
    }
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

/* A sum by the lanes of a work-item. */
static void add_lanes(struct ocl_writer *w, const accumulators *a, const bt_stmt *loop,
                      const char *first, const char *end)
{
    ocl_line(w, "{");
    w->indent += OCL_INDENT;
    for (uint32_t i = 0; i < a->n; i++) {
        const uint32_t of[] = { a->takes[i]->buffer, a->takes[i]->buffer2 };
        for (uint32_t k = 0; k < (is_pair(a->takes[i]) ? 2u : 1u); k++) {
            const char *name = ocl_local(w, of[k]);
            ocl_line(w, "%s %ss[%d];", type_of(w, of[k]), name, LANES);
            ocl_line(w, "for (int l = 0; l < %d; l++)", LANES);
            ocl_line(w, "    %ss[l] = %s;", name, name);
        }
    }
    add_chain(w, a, loop, innermost(loop), first, end);
    name_lanes(w, a, NULL);
    for (uint32_t i = 0; i < a->n; i++) {
        const bt_stmt *take = a->takes[i];
        const char *acc = ocl_local(w, take->buffer);
        const char *acc2 = is_pair(take) ? ocl_local(w, take->buffer2) : "";
        ocl_line(w, "for (int s = %d; s > 0; s /= 2) {", LANES / 2);
        ocl_line(w, "    for (int l = 0; l < s; l++)");
        w->indent += 2 * OCL_INDENT;
        join(w, take, ocl_form(&w->x, "%ss[l]", acc), ocl_form(&w->x, "%ss[l]", acc2),
             ocl_form(&w->x, "%ss[l + s]", acc), ocl_form(&w->x, "%ss[l + s]", acc2));
        w->indent -= 2 * OCL_INDENT;
        ocl_line(w, "}");
        ocl_line(w, "%s = %ss[0];", acc, acc);
        if (is_pair(take))
            ocl_line(w, "%s = %ss[0];", acc2, acc2);
    }
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

/* ---- groups ---- */

/* A sum by the work-items of a group. */
static void add_group(struct ocl_writer *w, const accumulators *a, const bt_stmt *loop,
                      const char *first, const char *end, bt_text *arrays,
                      uint32_t *nbytes)
{
    const uint32_t i = loop->index;
    ocl_line(w,
             "for (%s i%" PRIu32 " = %s + item; i%" PRIu32 " < %s; i%" PRIu32 " += %d) {",
             ocl_index_type(loop->extent), i, first, i, end, i, OCL_ITEMS);
    w->indent += OCL_INDENT;
    ocl_block(w, &loop->body);
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
    for (uint32_t k = 0; k < a->n; k++) {
        const bt_stmt *take = a->takes[k];
        const char *acc = ocl_local(w, take->buffer);
        const char *acc2 = is_pair(take) ? ocl_local(w, take->buffer2) : "";
        const char *tree = ocl_form(&w->x, "%s_tree", acc);
        const char *tree2 = ocl_form(&w->x, "%s_tree", acc2);
        bt_text_addf(arrays, "    __local %s %s[%d];\n", type_of(w, take->buffer), tree,
                     OCL_ITEMS);
        *nbytes += 8 * OCL_ITEMS;
        ocl_line(w, "%s[item] = %s;", tree, acc);
        if (is_pair(take)) {
            bt_text_addf(arrays, "    __local %s %s[%d];\n", type_of(w, take->buffer2),
                         tree2, OCL_ITEMS);
            *nbytes += 8 * OCL_ITEMS;
            ocl_line(w, "%s[item] = %s;", tree2, acc2);
        }
        for (uint32_t s = OCL_ITEMS / 2; s > 0; s /= 2) { // barriers stand at the top
            ocl_line(w, "barrier(CLK_LOCAL_MEM_FENCE);");
            ocl_line(w, "if (item < %" PRIu32 ") {", s);
            w->indent += OCL_INDENT;
            join(w, take, acc, acc2, ocl_form(&w->x, "%s[item + %" PRIu32 "]", tree, s),
                 ocl_form(&w->x, "%s[item + %" PRIu32 "]", tree2, s));
            ocl_line(w, "%s[item] = %s;", tree, acc);
            if (is_pair(take))
                ocl_line(w, "%s[item] = %s;", tree2, acc2);
            w->indent -= OCL_INDENT;
            ocl_line(w, "}");
        }
        ocl_line(w, "barrier(CLK_LOCAL_MEM_FENCE);");
        ocl_line(w, "%s = %s[0];", acc, tree);
        if (is_pair(take))
            ocl_line(w, "%s = %s[0];", acc2, tree2);
    }
}

/* What all work-items of a group could store: loops are shared, the rest is the first one's. */
static void add_stores(struct ocl_writer *w, const struct row *r, bt_stmt *stmt)
{
    const int is_loop =
        stmt->kind == BT_STMT_FOR && !bt_loops_parallel(r->nest->loops, stmt);
    if (!is_loop) {
        ocl_line(w, "if (item == 0) {");
        w->indent += OCL_INDENT;
        ocl_stmt(w, stmt);
    } else {
        ocl_line(w,
                 "for (%s i%" PRIu32 " = item; i%" PRIu32 " < %s; i%" PRIu32 " += %d) {",
                 ocl_index_type(stmt->extent), stmt->index, stmt->index,
                 ocl_extent(w, stmt), stmt->index, OCL_ITEMS);
        w->indent += OCL_INDENT;
        ocl_block(w, &stmt->body);
    }
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

/* ---- kernels ---- */

/* What a part has taken. */
static void add_partials(struct ocl_writer *w, const struct row *r, const bt_stmt *take)
{
    for (uint32_t k = 0; k < (is_pair(take) ? 2u : 1u); k++) {
        const char *name = w->loops->graph->arrays[r->partials[k]]->name;
        w->touched[r->partials[k]] |= OCL_WRITTEN;
        ocl_line(w, "%s[(int)row * %d + part] = %s;", name, PARTS,
                 ocl_local(w, k ? take->buffer2 : take->buffer));
    }
}

static void join_partials(struct ocl_writer *w, const struct row *r, const bt_stmt *take)
{
    const char *names[2] = { "", "" };
    for (uint32_t k = 0; k < (is_pair(take) ? 2u : 1u); k++) {
        names[k] = ocl_form(&w->x, "%s[(int)row * %d + p]",
                            w->loops->graph->arrays[r->partials[k]]->name, PARTS);
        w->touched[r->partials[k]] |= OCL_READ;
    }
    ocl_line(w, "for (int p = 0; p < %d; p++)", PARTS);
    w->indent += OCL_INDENT;
    join(w, take, ocl_local(w, take->buffer),
         is_pair(take) ? ocl_local(w, take->buffer2) : "", names[0], names[1]);
    w->indent -= OCL_INDENT;
}

/* The kernel of all, or (parts) of what is before a part's sum and it, or of the rest. */
enum { WHOLE, PART, JOIN };
static bt_status add_kernel(struct row *r, int what)
{
    struct ocl_writer w;
    bt_text body, arrays, text;
    bt_loops *loops = r->nest->loops;
    bt_graph *g = loops->graph;
    const bt_node *rows = ocl_nest_size(r->nest);
    struct ocl_geometry geometry = { .local = { r->is_cpu || what == JOIN ? 1 : OCL_ITEMS,
                                                1, 1 } };
    const int is_group = !r->is_cpu && what != JOIN;
    BT_TRY(ocl_writer_init(&w, r->maker, loops, &body));
    bt_text_init(&arrays, w.x.arena);
    geometry.groups[0] = rows;
    geometry.groups[1] = bt_node_int(g, what == PART ? PARTS : 1);
    geometry.groups[2] = bt_node_int(g, 1);
    if (!rows)
        return bt_loops_why(loops);
    ocl_line(&w, "const %s row = (%s)get_group_id(0);",
             ocl_is_int(0, rows->high) ? "int" : "long",
             ocl_is_int(0, rows->high) ? "int" : "long");
    if (what == PART)
        ocl_line(&w, "const int part = (int)get_group_id(1);");
    if (is_group)
        ocl_line(&w, "const int item = (int)get_local_id(0);");
    ocl_nest_indices(&w, r->nest, "row", rows);
    for (uint32_t i = 0; i < r->all.len; i++) {
        bt_stmt *stmt = r->all.at[i];
        accumulators a = { 0 };
        if (!is_shared(r, stmt)) {
            if (is_group && ocl_writes(loops, stmt))
                add_stores(&w, r, stmt);
            else
                ocl_stmt(&w, stmt);
            continue;
        }
        (void)find_takes(&stmt->body, &a);
        if (what == JOIN) {
            join_partials(&w, r, a.takes[0]);
            continue;
        }
        const char *first = "0", *end = ocl_extent(&w, stmt);
        if (what == PART) {
            const bt_node *each =
                bt_node_scalar(g, BT_SCALAR_CEILDIV, stmt->extent, bt_node_int(g, PARTS));
            ocl_line(&w, "const int each = %s, first = part * each;",
                     each ? ocl_parameter(&w, each) : "");
            ocl_line(&w, "const int end = min(first + each, %s);", end);
            first = "first";
            end = "end";
        }
        if (is_group)
            add_group(&w, &a, stmt, first, end, &arrays, &geometry.local_nbytes);
        else if (innermost(stmt))
            add_lanes(&w, &a, stmt, first, end);
        else
            ocl_stmt(&w, stmt);
        if (what == PART) {
            if (is_group)
                ocl_line(&w, "if (item == 0)");
            add_partials(&w, r, a.takes[0]);
            break;
        }
    }
    bt_text_init(&text, w.x.arena);
    bt_text_add(&text, arrays.at ? arrays.at : "", arrays.len);
    bt_text_add(&text, body.at ? body.at : "", body.len);
    text.failed |= body.failed | arrays.failed;
    return ocl_finish(&w, &text, &geometry);
}

static bt_status add_buffers(struct row *r, const bt_stmt *take)
{
    bt_loops *loops = r->nest->loops;
    static const char *const names[] = { "partials", "partials2" };
    const int64_t rows = bt_node_number(ocl_nest_size(r->nest));
    const bt_node *n = bt_node_int(loops->graph, rows * PARTS);
    for (uint32_t k = 0; k < (is_pair(take) ? 2u : 1u); k++) {
        const bt_dtype dtype =
            loops->graph->arrays[k ? take->buffer2 : take->buffer]->dtype;
        if (!n || !bt_loops_add_buffer(loops, BT_BUFFER_TEMP, names[k], dtype, n,
                                       &r->partials[k]))
            return bt_loops_why(loops);
    }
    return NULL;
}

bt_status ocl_row_launch(struct ocl_maker *m, const struct ocl_nest *nest, int *done)
{
    struct row r = { .maker = m, .nest = nest, .is_cpu = m->device->is_cpu };
    accumulators a = { 0 };
    int is_ok = 1;
    *done = 0;
    for (uint32_t i = 0; i <= nest->nloop + 1; i++) {
        const bt_stmts *part = i <= nest->nloop ? &nest->before[i] : &nest->body;
        for (uint32_t k = 0; is_ok && k < part->len; k++)
            is_ok = BT_PUSH(m->arena, &r.all, part->at[k]);
    }
    if (!is_ok)
        return bt_no_memory();
    for (uint32_t i = 0; i < r.all.len; i++) {
        accumulators own = { 0 };
        if (!is_shared(&r, r.all.at[i]))
            continue;
        r.nshared++;
        r.shared = i;
        if (!find_takes(&r.all.at[i]->body, &own))
            return NULL;
        a = own;
    }
    if (!r.nshared || has_check(&r.all))
        return NULL;
    *done = 1;
    bt_stmt *loop = r.all.at[r.shared];
    const int64_t rows = bt_node_number(ocl_nest_size(nest)), n = count_terms_of(loop);
    if (r.nshared > 1 || a.n != 1 || rows < 0 || rows > FEW_ROWS || n < LONG_PART ||
        bt_node_number(loop->extent) < PARTS)
        return add_kernel(&r, WHOLE);
    BT_TRY(add_buffers(&r, a.takes[0]));
    BT_TRY(add_kernel(&r, PART));
    return add_kernel(&r, JOIN);
}
