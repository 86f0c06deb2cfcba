/*
 * Reductions on devices that are processors whose lanes go along the last axis: convolutions by
 * channels, pools, sums along other axes. A work-item has a row of the result, in blocks of one or two
 * vectors; the last block begins so early that it is whole. Where a factor is not finite, zeros beyond
 * the ends would not do, and terms are asked for one by one.
 */
#include "contract.h"

#include <inttypes.h>

enum { GROUP = 16 };

struct line {
    struct ocl_tile tile;
    ocl_dims rows; /* all axes but the last */
    ocl_dim last;
    uint32_t nvector;
    int64_t nrow;
};

/* All axes in order, the last apart. */
static void sort_axes(struct line *l)
{
    const ocl_contraction *c = l->tile.c;
    const ocl_dims *of[] = { &c->batch, &c->m };
    const uint32_t rank = l->tile.maker->graph->arrays[c->sums]->rank;
    for (uint32_t axis = 0; axis < rank; axis++) {
        for (uint32_t k = 0; k < 2 * OCL_DIMS; k++) {
            const ocl_dims *dims = of[k / OCL_DIMS];
            const uint32_t i = k % OCL_DIMS;
            if (i >= dims->n || dims->at[i].index != axis)
                continue;
            if (axis + 1 == rank)
                l->last = dims->at[i];
            else if (l->rows.n < OCL_DIMS)
                l->rows.at[l->rows.n++] = dims->at[i];
        }
    }
    l->nrow = ocl_dims_size(&l->rows);
}

/* A vector of A's elements from `at` on, each as many behind the other as the last axis says. */
static const char *load(struct ocl_writer *w, const struct line *l, const char *at)
{
    const uint32_t n = l->tile.lanes;
    bt_text text;
    if (l->last.a == 1)
        return ocl_form(&w->x, "vload%" PRIu32 "(0, %s)", n, at);
    if (l->last.a == 2 && n <= 8) // elements behind the copy may be read
        return ocl_form(&w->x, "vload%" PRIu32 "(0, %s).even", 2 * n, at);
    bt_text_init(&text, w->x.arena);
    bt_text_addf(&text, "(float%" PRIu32 ")(", n);
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(&text, "%s(%s)[%" PRIu32 " * step]", i ? ", " : "", at, i);
    bt_text_addf(&text, ")");
    const char *out = bt_text_get(&text);
    w->x.failed |= !out;
    return out ? out : "";
}

/* What a vector of sums is with one more term. */
static void take(struct ocl_writer *w, const struct line *l, uint32_t v)
{
    const uint32_t which = l->tile.c->reduce->which;
    const char *sign = which == BT_REDUCER_MAX ? ">" : "<";
    if (l->tile.c->reads[1] && l->tile.maker->device->has_fma)
        ocl_line(w, "v_%" PRIu32 " = fma(x_%" PRIu32 ", y_%" PRIu32 ", v_%" PRIu32 ");",
                 v, v, v, v);
    else if (l->tile.c->reads[1])
        ocl_line(w, "v_%" PRIu32 " += x_%" PRIu32 " * y_%" PRIu32 ";", v, v, v);
    else if (which == BT_REDUCER_SUM)
        ocl_line(w, "v_%" PRIu32 " += x_%" PRIu32 ";", v, v);
    else
        ocl_line(w,
                 "v_%" PRIu32 " = select(v_%" PRIu32 ", x_%" PRIu32 ", x_%" PRIu32
                 " %s v_%" PRIu32 " || x_%" PRIu32 " != x_%" PRIu32 ");",
                 v, v, v, v, sign, v, v, v);
}

static void add_blocks(struct ocl_writer *w, const struct line *l)
{
    const struct ocl_tile *t = &l->tile;
    const ocl_contraction *c = t->c;
    const uint32_t which = c->reduce->which, n = t->lanes;
    const char *first = which == BT_REDUCER_MAX   ? "-INFINITY"
                        : which == BT_REDUCER_MIN ? "INFINITY"
                                                  : "0";
    const char *b = "b_at";
    for (uint32_t v = 0; v < l->nvector; v++)
        ocl_line(w, "float%" PRIu32 " v_%" PRIu32 " = %s;", n, v, first);
    ocl_tile_terms(w, t, "");
    for (uint32_t i = 0; c->reads[1] && i < c->k.n; i++)
        b = ocl_form(&w->x, "%s + %s * j%" PRIu32, b, ocl_int_parameter(w, c->k.at[i].b),
                     i);
    if (c->reads[1])
        ocl_line(w, "const int kb = %s;", b);
    for (uint32_t v = 0; v < l->nvector; v++) {
        const char *at =
            ocl_form(&w->x, "a + x0 * step + k%" PRIu32 " + %" PRIu32 " * step",
                     c->k.n - 1, v * n);
        ocl_line(w, "const float%" PRIu32 " x_%" PRIu32 " = %s;", n, v, load(w, l, at));
        if (c->reads[1] && l->last.b)
            ocl_line(w,
                     "const float%" PRIu32 " y_%" PRIu32 " = vload%" PRIu32
                     "(0, b + kb + x0 + %" PRIu32 ");",
                     n, v, n, v * n);
        else if (c->reads[1])
            ocl_line(w, "const float%" PRIu32 " y_%" PRIu32 " = b[kb];", n, v);
        take(w, l, v);
    }
    ocl_tile_close(w, c->k.n);
    ocl_line(w, "float sums[%" PRIu32 "];", n * l->nvector);
    for (uint32_t v = 0; v < l->nvector; v++)
        ocl_line(w, "vstore%" PRIu32 "(v_%" PRIu32 ", %" PRIu32 ", sums);", n, v, v);
}

/* The sums again. */
static void add_careful(struct ocl_writer *w, const struct line *l)
{
    const ocl_contraction *c = l->tile.c;
    const char *b = "b_at";
    ocl_line(w, "if (has_nonfinite) {");
    w->indent += OCL_INDENT;
    ocl_line(w, "for (int l = 0; l < %" PRIu32 "; l++) {", l->tile.lanes * l->nvector);
    w->indent += OCL_INDENT;
    ocl_line(w, "const int i%" PRIu32 " = x0 + l;", l->last.index);
    ocl_line(w, "float sum = 0;");
    ocl_tile_terms(w, &l->tile, "");
    for (uint32_t i = 0; i < c->k.n; i++)
        b = ocl_form(&w->x, "%s + %s * j%" PRIu32, b, ocl_int_parameter(w, c->k.at[i].b),
                     i);
    if (l->last.b)
        b = ocl_form(&w->x, "%s + i%" PRIu32, b, l->last.index);
    ocl_tile_careful(w, &l->tile, ocl_form(&w->x, "b[%s]", b));
    ocl_tile_close(w, c->k.n);
    ocl_line(w, "sums[l] = sum;");
    ocl_tile_close(w, 2);
}

/* Whether some factor of the row is not finite: then x - x is not 0. */
static void add_has_nonfinite(struct ocl_writer *w, const struct line *l)
{
    const ocl_contraction *c = l->tile.c;
    const char *b = "b_at";
    if (l->last.b)
        ocl_line(w, "const int width = %s;", ocl_int_parameter(w, l->last.extent));
    ocl_line(w, "float any = 0;");
    ocl_tile_terms(w, &l->tile, "");
    for (uint32_t i = 0; i < c->k.n; i++)
        b = ocl_form(&w->x, "%s + %s * j%" PRIu32, b, ocl_int_parameter(w, c->k.at[i].b),
                     i);
    if (l->last.b) {
        ocl_line(w, "for (int x = 0; x < width; x++)");
        b = ocl_form(&w->x, "%s + x", b);
    }
    ocl_line(w, "    any += b[%s] - b[%s];", b, b);
    ocl_tile_close(w, c->k.n);
    ocl_line(w, "const int has_nonfinite = any != 0;");
}

static bt_status add_lines(struct line *l)
{
    struct ocl_writer w;
    bt_text body;
    struct ocl_tile *t = &l->tile;
    const ocl_contraction *c = t->c;
    const uint32_t a = c->is_copied ? t->copy : t->a, width = t->lanes * l->nvector;
    const int has_nonfinite = c->reads[1] && c->is_guarded;
    BT_TRY(ocl_tile_begin(t, &w, &body));
    w.touched[a] |= OCL_READ;
    ocl_line(&w, "int row = (int)get_global_id(0);");
    ocl_line(&w, "const int n = %s, step = %s;", ocl_int_parameter(&w, l->last.extent),
             ocl_int_parameter(&w, l->last.a));
    ocl_line(&w, "if (row < %s) {", ocl_int_parameter(&w, l->nrow));
    w.indent += OCL_INDENT;
    ocl_tile_digits(&w, &l->rows, "row");
    const char *at = ocl_tile_offset(&w, &l->rows, 0, ocl_int_parameter(&w, c->a_at));
    ocl_line(&w, "__global const float *const a = %s + (%s);", ocl_tile_name(t, a), at);
    if (c->reads[1]) {
        w.touched[t->b] |= OCL_READ;
        at = ocl_tile_offset(&w, &l->rows, 1, ocl_int_parameter(&w, c->b_at));
        ocl_line(&w, "__global const float *const b = %s;", ocl_tile_name(t, t->b));
        ocl_line(&w, "const int b_at = %s;", at);
    }
    if (has_nonfinite)
        add_has_nonfinite(&w, l);
    ocl_line(&w, "for (int x = 0; x < n; x += %" PRIu32 ") {", width);
    w.indent += OCL_INDENT;
    ocl_line(&w, "const int x0 = min(x, n - %" PRIu32 ");", width);
    add_blocks(&w, l);
    if (has_nonfinite)
        add_careful(&w, l);
    ocl_line(&w, "for (int l = 0; l < %" PRIu32 "; l++) {", width);
    w.indent += OCL_INDENT;
    ocl_line(&w, "const int i%" PRIu32 " = x0 + l;", l->last.index);
    ocl_line(&w, "const float sum = sums[l];");
    BT_TRY(ocl_tile_store(&w, t));
    ocl_tile_close(&w, 3);
    return ocl_tile_end(t, &w, &body, l->nrow, 1, 1, GROUP);
}

bt_status ocl_contract_lines(struct ocl_maker *m, uint32_t stage,
                             const ocl_contraction *c)
{
    struct line l = { .tile = { .maker = m, .c = c, .lanes = m->device->lanes } };
    BT_TRY(ocl_stage_loops(m, stage, &l.tile.loops));
    l.tile.a = c->reads[0]->which;
    l.tile.b = c->reads[1] ? c->reads[1]->which : 0;
    sort_axes(&l);
    while (l.tile.lanes > l.last.extent)
        l.tile.lanes /= 2;
    l.nvector = l.last.extent >= 2 * l.tile.lanes ? 2 : 1;
    if (c->is_copied) {
        BT_TRY(ocl_tile_add_copy(&l.tile));
        BT_TRY(ocl_tile_copy(&l.tile));
    }
    return add_lines(&l);
}
