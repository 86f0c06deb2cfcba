/*
 * Rows: loops in which each lane takes neighbours of its own, as one call.
 *
 *     for i2 in 49 {
 *         t[0] += x[49*i1 + i2]
 *
 *     rows_sum.float32.wide(&t[0], &x[...], 49, 49)
 *
 * Of many terms, rows one by one are as fast, and there are more of them for threads.
 */
#include "lanes.h"

#include <string.h>

enum { MAX_TERMS = 256 };

/* How far elements of neighbours along the index are apart; 0: by no number. */
static int64_t step_along(const bt_node *offset, int64_t index)
{
    bt_linear form;
    bt_node_as_linear(offset, &form);
    for (uint32_t i = 0; i < form.n; i++) {
        if (form.atoms[i]->kind != BT_NODE_INDEX &&
            (form.atoms[i]->free & bt_index_bit((uint32_t)index)))
            return 0;
    }
    return bt_linear_coef(&form, (uint32_t)index);
}

int cpu_is_row(struct vectoriser *v, const bt_stmt *loop, int64_t index)
{
    const bt_stmt *take = loop->body.len == 1 ? loop->body.at[0] : NULL;
    const int64_t nterm = bt_node_number(loop->extent);
    if (index < 0 || nterm <= CPU_FEW_TERMS || nterm > MAX_TERMS || !take ||
        take->kind != BT_STMT_TAKE || take->position ||
        (take->reducer != BT_REDUCER_SUM && take->reducer != BT_REDUCER_PROD &&
         take->reducer != BT_REDUCER_MAX && take->reducer != BT_REDUCER_MIN))
        return 0;
    const bt_node *read = take->value;
    const bt_dtype sum = v->graph->arrays[take->buffer]->dtype;
    const int is_wide = sum == BT_FLOAT64 && (take->reducer == BT_REDUCER_SUM ||
                                              take->reducer == BT_REDUCER_PROD);
    return read->kind == BT_NODE_READ && read->which != take->buffer &&
           (read->dtype == BT_FLOAT32 || read->dtype == BT_FLOAT64) &&
           (read->dtype == sum || is_wide) &&
           !(take->offset->free & bt_index_bit(loop->index)) &&
           step_along(read->args[0], loop->index) == 1 &&
           step_along(read->args[0], index) != 0;
}

static int emit(struct cpu_part *p, const bt_stmt *loop, const struct cpu_value *to,
                const bt_node *from, int64_t stride)
{
    struct vectoriser *v = p->lanes->v;
    bt_graph *g = v->graph;
    const bt_stmt *take = loop->body.at[0];
    const bt_node *read = take->value;
    const bt_node *at = bt_node_linear(g, 0, 2, (const bt_node *[]){ from, p->at },
                                       (int64_t[]){ 1, stride });
    char name[32] = "rows_";
    strcat(name, bt_reducer_name(take->reducer));
    struct cpu_call call = {
        .name =
            cpu_strip_name(v, name, read->dtype, read->dtype == to->dtype ? "" : ".wide"),
        .naddress = 2,
        .ninteger = 2,
        .at = { *to, { .buffer = read->which, .dtype = read->dtype, .offset = at } },
        .integers = { loop->extent, bt_node_int(g, stride) },
    };
    return at && call.name && cpu_emit(p, &call, 1);
}

int cpu_do_rows(struct cpu_part *p, const bt_stmt *loop, int *is_done)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value to;
    struct cpu_part own;
    bt_map uses;
    int64_t stride, from_stride;
    const bt_node *from;
    *is_done = 0;
    if (!cpu_is_row(v, loop, p->lanes->index))
        return 1;
    const bt_stmt *take = loop->body.at[0];
    const bt_node *read = take->value;
    if (p->mask || p->is_guarded || !cpu_is_own(p->lanes, take->buffer) ||
        cpu_is_own(p->lanes, read->which))
        return cpu_refuse(v, "some lanes take rows");
    const bt_node *offset = bt_node_substitute(v->graph, read->args[0], loop->index,
                                               bt_node_int(v->graph, 0));
    if (!offset || !cpu_statement_open(p, &own, &uses, 2,
                                       (const bt_node *[]){ offset, take->offset }))
        return 0;
    *is_done = 1;
    int ok = cpu_place_of(&own, offset, &from, &from_stride) &&
             cpu_target_of(&own, take->buffer, take->offset, &to, &stride) &&
             emit(&own, loop, &to, from, from_stride);
    if (!ok && !v->why && !v->graph->status)
        cpu_refuse(v, "rows have no stride");
    cpu_part_close(&own);
    return ok;
}
