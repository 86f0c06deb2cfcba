/*
 * Sums of products on devices with groups of work-items: 64 rows by a panel of 64 columns are a group's,
 * whose 256 work-items have 4 x 4 sums each, and bring 16 terms of both factors at a time to local memory.
 */
#include "contract.h"

#include <inttypes.h>

enum { ITEMS = 256, TERMS = 16 };

/* Where the terms are that a work-item brings: always of the same row, and of the same column. */
static void add_bringing(struct ocl_writer *w, const struct ocl_tile *t, const char *type)
{
    const ocl_dims *k = &t->c->k;
    const uint32_t a = t->c->is_copied ? t->copy : t->a;
    const char *at = "row_at";
    ocl_line(w, "for (int i = 0; i < %d; i++) {", TERMS * OCL_GROUP_WIDTH / ITEMS);
    w->indent += OCL_INDENT;
    ocl_line(w, "const int to = own_term + i * %d, term = k0 + to;",
             ITEMS / OCL_GROUP_WIDTH);
    ocl_line(w, "int rest = min(term, k - 1);");
    ocl_line(w, "const int last = rest;");
    ocl_tile_digits(w, k, "rest");
    at = ocl_tile_offset(w, k, 0, at);
    ocl_line(w, "const %s x = (%s)%s;", type, type, ocl_tile_element(w, t, a, at));
    ocl_line(w, "const %s y = (%s)panel_at[(long)last * %d + own];", type, type,
             OCL_GROUP_WIDTH);
    ocl_line(w, "rows[to * %d + own] = term < k ? x : 0;", OCL_GROUP_WIDTH);
    ocl_line(w, "columns[to * %d + own] = term < k ? y : 0;", OCL_GROUP_WIDTH);
    ocl_tile_close(w, 1);
}

static void add_sums(struct ocl_writer *w, const struct ocl_tile *t, const char *type)
{
    const int is_fused = t->maker->device->has_fma && t->c->dtype == BT_FLOAT32;
    ocl_line(w, "%s s[16];", type);
    ocl_line(w, "for (int i = 0; i < 16; i++)");
    ocl_line(w, "    s[i] = 0;");
    ocl_line(w, "for (int k0 = 0; k0 < k; k0 += %d) {", TERMS);
    w->indent += OCL_INDENT;
    add_bringing(w, t, type);
    ocl_line(w, "barrier(CLK_LOCAL_MEM_FENCE);");
    ocl_line(w, "for (int kk = 0; kk < %d; kk++) {", TERMS);
    ocl_line(w, "    for (int i = 0; i < 4; i++) {");
    ocl_line(w, "        const %s x = rows[kk * %d + ti + i];", type, OCL_GROUP_WIDTH);
    ocl_line(w, "        for (int j = 0; j < 4; j++) {");
    ocl_line(w, "            const %s y = columns[kk * %d + tj + j];", type,
             OCL_GROUP_WIDTH);
    ocl_line(w, is_fused ? "            s[i * 4 + j] = fma(x, y, s[i * 4 + j]);"
                         : "            s[i * 4 + j] += x * y;");
    ocl_line(w, "        }");
    ocl_line(w, "    }");
    ocl_line(w, "}");
    ocl_line(w, "barrier(CLK_LOCAL_MEM_FENCE);");
    ocl_tile_close(w, 1);
}

static bt_status add_results(struct ocl_writer *w, const struct ocl_tile *t,
                             int has_nonfinite)
{
    ocl_line(w, "for (int e = 0; e < 16; e++) {");
    w->indent += OCL_INDENT;
    ocl_line(w, "const int r = ti + e / 4, l = tj + e %% 4;");
    ocl_line(w, "int row = m0 + r, column = panel * %d + l;", OCL_GROUP_WIDTH);
    ocl_line(w, "if (row < m && column < %s) {", ocl_int_parameter(w, t->n));
    w->indent += OCL_INDENT;
    ocl_tile_digits(w, &t->c->m, "row");
    ocl_tile_digits(w, &t->c->n, "column");
    ocl_line(w, "%s sum = (%s)s[e];", ocl_tile_type(t), ocl_tile_type(t));
    if (has_nonfinite) {
        ocl_line(w, "if (has_nonfinite) {");
        w->indent += OCL_INDENT;
        ocl_line(w, "__global const float *term = panel_at + l;");
        ocl_line(w, "sum = 0;");
        ocl_tile_terms(w, t, ocl_form(&w->x, ", term += %d", OCL_GROUP_WIDTH));
        ocl_tile_careful(w, t, "*term");
        ocl_tile_close(w, t->c->k.n + 1);
    }
    BT_TRY(ocl_tile_store(w, t));
    ocl_tile_close(w, 2);
    return NULL;
}

bt_status ocl_tile_groups(struct ocl_tile *t)
{
    struct ocl_writer w;
    bt_text body;
    const ocl_contraction *c = t->c;
    const int has_nonfinite = c->is_guarded && c->dtype == BT_FLOAT32;
    const char *type = c->dtype == BT_INT32 ? "uint" : "float";
    bt_graph *g = t->loops->graph;
    BT_TRY(ocl_tile_begin(t, &w, &body));
    w.touched[t->panels] |= OCL_READ;
    ocl_line(&w, "__local %s rows[%d], columns[%d];", type, TERMS * OCL_GROUP_WIDTH,
             TERMS * OCL_GROUP_WIDTH);
    ocl_line(&w, "const int item = (int)get_local_id(0), own = item %% %d;",
             OCL_GROUP_WIDTH);
    ocl_line(&w, "const int own_term = item / %d;", OCL_GROUP_WIDTH);
    ocl_line(&w, "const int ti = item / 16 * 4, tj = item %% 16 * 4;");
    ocl_line(&w, "const int panel = (int)get_group_id(0), m = %s;",
             ocl_int_parameter(&w, t->m));
    ocl_line(&w, "const int m0 = (int)get_group_id(1) * %d;", OCL_GROUP_WIDTH);
    ocl_line(&w, "const int npanel = %s, k = %s;", ocl_int_parameter(&w, t->npanel),
             ocl_int_parameter(&w, t->k));
    ocl_line(&w, "int batch = (int)get_group_id(2);");
    ocl_line(&w, "const long which = (long)batch * npanel + panel;");
    ocl_line(&w, "__global const %s *const panel_at = %s + which * k * %d;",
             ocl_tile_type(t), ocl_tile_name(t, t->panels), OCL_GROUP_WIDTH);
    if (has_nonfinite)
        ocl_line(&w,
                 "const int has_nonfinite = %s[(long)%s * npanel * k * %d + which] != 0;",
                 ocl_tile_name(t, t->panels), ocl_int_parameter(&w, t->nbatch),
                 OCL_GROUP_WIDTH);
    ocl_tile_digits(&w, &c->batch, "batch");
    ocl_line(&w, "int row_at = %s;",
             ocl_tile_offset(&w, &c->batch, 0, ocl_int_parameter(&w, c->a_at)));
    ocl_line(&w, "{"); // the row whose terms it brings: of those behind the last the last
    w.indent += OCL_INDENT;
    ocl_line(&w, "int row = min(m0 + own, m - 1);");
    ocl_tile_digits(&w, &c->m, "row");
    ocl_line(&w, "row_at = %s;", ocl_tile_offset(&w, &c->m, 0, "row_at"));
    ocl_tile_close(&w, 1);
    add_sums(&w, t, type);
    BT_TRY(add_results(&w, t, has_nonfinite));
    const struct ocl_geometry geometry = {
        .local = { ITEMS, 1, 1 },
        .groups = { bt_node_int(g, t->npanel),
                    bt_node_int(g, (t->m + OCL_GROUP_WIDTH - 1) / OCL_GROUP_WIDTH),
                    bt_node_int(g, t->nbatch) },
        .local_nbytes = 2 * 4 * TERMS * OCL_GROUP_WIDTH,
    };
    return ocl_finish(&w, &body, &geometry);
}
