/*
 * Running reductions: each element takes the one before it. A row of them is cut into blocks:
 *
 *     for i1 in 999 { y[i1 + 1] sum= y[i1] }
 *
 * 1. each block by itself, and what its last element has; 2. these, one after the other; 3. all
 * elements of a block take what those before it have. Of floats the errors are those of two short sums.
 */
#include "scan.h"

#include <inttypes.h>

#include "nest.h"

enum { BLOCK = 64, MAX_LOOPS = 4 };

struct scan {
    struct ocl_maker *maker;
    bt_loops *loops;
    const bt_stmt *take;
    const bt_stmt *around[MAX_LOOPS]; /* loops of rows */
    uint32_t naround;
    const bt_stmt *along;
    bt_linear from; /* where the element before is */
    int64_t step, nrow, n, nblock;
    uint32_t totals; /* a buffer: of each row's blocks */
};

/* 1: it is one. */
static int look(struct scan *s, bt_stmt *nest)
{
    const bt_stmt *loops[MAX_LOOPS + 1];
    uint32_t n = 0;
    bt_linear to;
    while (nest->kind == BT_STMT_FOR && nest->body.len == 1 && n <= MAX_LOOPS) {
        loops[n++] = nest;
        nest = nest->body.at[0];
    }
    if (nest->kind != BT_STMT_TAKE || nest->value->kind != BT_NODE_READ ||
        nest->value->which != nest->buffer || nest->position ||
        nest->reducer == BT_REDUCER_LOGSUMEXP)
        return 0;
    s->take = nest;
    bt_node_as_linear(nest->offset, &to);
    bt_node_as_linear(nest->value->args[0], &s->from);
    s->step = to.constant - s->from.constant;
    s->nrow = 1;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t extent = bt_node_number(loops[i]->extent);
        if (extent < 0 || bt_linear_coef(&to, loops[i]->index) !=
                              bt_linear_coef(&s->from, loops[i]->index))
            return 0;
        if (!s->along && bt_linear_coef(&to, loops[i]->index) == s->step) {
            s->along = loops[i];
            s->n = extent + 1;
        } else if (s->naround < MAX_LOOPS) {
            s->around[s->naround++] = loops[i];
            s->nrow *= extent;
        }
    }
    s->nblock = (s->n + BLOCK - 1) / BLOCK;
    // what else the offset is of would not be known
    return s->along && s->naround + 1 == n && s->from.n == to.n && to.n <= n &&
           s->nrow * s->n <= INT32_MAX;
}

/* "first", the row's first element, from variable `row`. */
static void add_row(struct ocl_writer *w, const struct scan *s)
{
    const char *at = ocl_int_parameter(w, s->from.constant);
    ocl_line(w, "int rest = row;");
    for (uint32_t i = s->naround; i-- > 0;) {
        const char *n = ocl_int_parameter(w, bt_node_number(s->around[i]->extent));
        ocl_line(w, "const int i%" PRIu32 " = rest %% %s;", s->around[i]->index, n);
        ocl_line(w, "rest /= %s;", n);
        at = ocl_form(&w->x, "%s + %s * i%" PRIu32, at,
                      ocl_int_parameter(w, bt_linear_coef(&s->from, s->around[i]->index)),
                      s->around[i]->index);
    }
    ocl_line(w, "const int first = %s, step = %s;", at, ocl_int_parameter(w, s->step));
}

/* Takes element v of the buffer, or of the totals, into acc. */
static void add_take(struct ocl_writer *w, const struct scan *s, const char *value)
{
    const bt_dtype dtype = w->loops->graph->arrays[s->take->buffer]->dtype;
    ocl_line(w, "const %s v = %s;", ocl_value_type(dtype), value);
    ocl_take(w, s->take, "acc", "");
}

static bt_status finish(struct scan *s, struct ocl_writer *w, bt_text *body,
                        int64_t items)
{
    bt_graph *g = s->loops->graph;
    const bt_node *one = bt_node_int(g, 1);
    const struct ocl_geometry geometry = {
        .local = { OCL_ITEMS, 1, 1 },
        .groups = { bt_node_int(g, (items + OCL_ITEMS - 1) / OCL_ITEMS), one, one },
    };
    bt_text_addf(body, "    }\n");
    return ocl_finish(w, body, &geometry);
}

static const char *element(struct ocl_writer *w, uint32_t buffer, const char *at)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    w->touched[buffer] |= OCL_READ | OCL_WRITTEN;
    return ocl_load_element(&w->x, array->dtype, array->name, at);
}

static void store(struct ocl_writer *w, uint32_t buffer, const char *at)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    ocl_line(w, "%s", ocl_store_element(&w->x, array->dtype, array->name, at, "acc"));
}

static bt_status add_blocks(struct scan *s)
{
    struct ocl_writer w;
    bt_text body;
    const uint32_t y = s->take->buffer;
    const char *type = ocl_value_type(s->loops->graph->arrays[y]->dtype);
    BT_TRY(ocl_writer_init(&w, s->maker, s->loops, &body));
    const char *nblock = ocl_int_parameter(&w, s->nblock),
               *n = ocl_int_parameter(&w, s->n);
    ocl_line(&w, "const int block = (int)get_global_id(0) / %s;",
             ocl_int_parameter(&w, s->nrow));
    ocl_line(&w, "const int row = (int)get_global_id(0) %% %s;",
             ocl_int_parameter(&w, s->nrow));
    ocl_line(&w, "if (block < %s) {", nblock);
    w.indent += OCL_INDENT;
    add_row(&w, s);
    ocl_line(&w, "const int start = block * %d, end = min(start + %d, %s);", BLOCK, BLOCK,
             n);
    ocl_line(&w, "%s acc = %s;", type, element(&w, y, "first + start * step"));
    ocl_line(&w, "for (int t = start + 1; t < end; t++) {");
    w.indent += OCL_INDENT;
    add_take(&w, s, element(&w, y, "first + t * step"));
    store(&w, y, "first + t * step");
    w.indent -= OCL_INDENT;
    ocl_line(&w, "}");
    if (s->nblock > 1) {
        (void)element(&w, s->totals, "");
        store(&w, s->totals, ocl_form(&w.x, "row * %s + block", nblock));
    }
    return finish(s, &w, &body, s->nrow * s->nblock);
}

static bt_status add_totals(struct scan *s)
{
    struct ocl_writer w;
    bt_text body;
    const char *type = ocl_value_type(s->loops->graph->arrays[s->take->buffer]->dtype);
    BT_TRY(ocl_writer_init(&w, s->maker, s->loops, &body));
    ocl_line(&w, "const int row = (int)get_global_id(0), nblock = %s;",
             ocl_int_parameter(&w, s->nblock));
    ocl_line(&w, "if (row < %s) {", ocl_int_parameter(&w, s->nrow));
    w.indent += OCL_INDENT;
    ocl_line(&w, "%s acc = %s;", type, element(&w, s->totals, "row * nblock"));
    ocl_line(&w, "for (int t = 1; t < nblock; t++) {");
    w.indent += OCL_INDENT;
    add_take(&w, s, element(&w, s->totals, "row * nblock + t"));
    store(&w, s->totals, "row * nblock + t");
    w.indent -= OCL_INDENT;
    ocl_line(&w, "}");
    return finish(s, &w, &body, s->nrow);
}

static bt_status add_rest(struct scan *s)
{
    struct ocl_writer w;
    bt_text body;
    const uint32_t y = s->take->buffer;
    const char *type = ocl_value_type(s->loops->graph->arrays[y]->dtype);
    BT_TRY(ocl_writer_init(&w, s->maker, s->loops, &body));
    const char *nblock = ocl_int_parameter(&w, s->nblock),
               *n = ocl_int_parameter(&w, s->n);
    ocl_line(&w, "const int block = (int)get_global_id(0) / %s + 1;",
             ocl_int_parameter(&w, s->nrow));
    ocl_line(&w, "const int row = (int)get_global_id(0) %% %s;",
             ocl_int_parameter(&w, s->nrow));
    ocl_line(&w, "if (block < %s) {", nblock);
    w.indent += OCL_INDENT;
    add_row(&w, s);
    ocl_line(&w, "const int end = min((block + 1) * %d, %s);", BLOCK, n);
    ocl_line(&w, "const %s before = %s;", type,
             element(&w, s->totals, ocl_form(&w.x, "row * %s + block - 1", nblock)));
    ocl_line(&w, "for (int t = block * %d; t < end; t++) {", BLOCK);
    w.indent += OCL_INDENT;
    ocl_line(&w, "%s acc = before;", type);
    add_take(&w, s, element(&w, y, "first + t * step"));
    store(&w, y, "first + t * step");
    w.indent -= OCL_INDENT;
    ocl_line(&w, "}");
    return finish(s, &w, &body, s->nrow * (s->nblock - 1));
}

int ocl_scan_is(bt_stmt *nest)
{
    struct scan s = { .step = 0 };
    return look(&s, nest);
}

bt_status ocl_scan_launch(struct ocl_maker *m, bt_loops *loops, bt_stmt *nest, int *done)
{
    struct scan s = { .maker = m, .loops = loops };
    *done = look(&s, nest);
    if (!*done)
        return NULL;
    if (s.nblock > 1) {
        const bt_node *n = bt_node_int(loops->graph, s.nrow * s.nblock);
        if (!n || !bt_loops_add_buffer(loops, BT_BUFFER_TEMP, "totals",
                                       loops->graph->arrays[s.take->buffer]->dtype, n,
                                       &s.totals))
            return bt_loops_why(loops);
    }
    BT_TRY(add_blocks(&s));
    if (s.nblock < 2)
        return NULL;
    BT_TRY(add_totals(&s));
    return add_rest(&s);
}
