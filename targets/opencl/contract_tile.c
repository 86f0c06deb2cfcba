/*
 * Sums of products on devices that are processors: B in panels of as many columns as two vectors
 * have, zeros behind the last, and tiles of a few rows of A by a panel, whose sums stay in registers.
 * A that is read beyond its ends is copied with zeros there; as zero times infinity is not zero, a
 * panel says whether all of it is finite, and where it is not, terms are asked for one by one.
 */
#include "contract.h"

#include <inttypes.h>

enum { VECTORS = 2, ROWS = 6, MAX_CHUNKS = 16 };

/* B in panels: of each batch and panel, terms of `width` columns. */
static bt_status add_panels(struct ocl_tile *t)
{
    struct ocl_writer w;
    bt_text body;
    const ocl_contraction *c = t->c;
    const char *name = ocl_tile_name(t, t->panels);
    BT_TRY(ocl_tile_begin(t, &w, &body));
    ocl_line(&w,
             "const int item = (int)get_global_id(0), panel = (int)get_global_id(1);");
    ocl_line(&w, "const int k = %s;", ocl_int_parameter(&w, t->k));
    ocl_line(&w, "if (item < k * %" PRIu32 ") {", t->width);
    w.indent += OCL_INDENT;
    ocl_line(&w, "int column = panel * %" PRIu32 " + item %% %" PRIu32 ";", t->width,
             t->width);
    ocl_line(&w, "int batch = (int)get_global_id(2), term = item / %" PRIu32 ";",
             t->width);
    ocl_line(&w, "const long to = ((long)batch * %s + panel) * k * %" PRIu32 " + item;",
             ocl_int_parameter(&w, t->npanel), t->width);
    ocl_line(&w, "%s value = 0;", ocl_tile_type(t));
    ocl_line(&w, "if (column < %s) {", ocl_int_parameter(&w, t->n));
    w.indent += OCL_INDENT;
    ocl_tile_digits(&w, &c->batch, "batch");
    ocl_tile_digits(&w, &c->n, "column");
    ocl_tile_digits(&w, &c->k, "term");
    const char *at = ocl_tile_offset(&w, &c->batch, 1, ocl_int_parameter(&w, c->b_at));
    at = ocl_tile_offset(&w, &c->k, 1, ocl_tile_offset(&w, &c->n, 1, at));
    ocl_line(&w, "value = %s;", ocl_tile_element(&w, t, t->b, at));
    w.indent -= OCL_INDENT;
    ocl_line(&w, "}");
    ocl_line(&w, "%s[to] = value;", name);
    w.touched[t->panels] |= OCL_WRITTEN;
    bt_text_addf(&body, "    }\n");
    return ocl_tile_end(t, &w, &body, t->k * t->width, t->npanel, t->nbatch, OCL_ITEMS);
}

/* Behind the panels, for each: whether something in it is not finite. */
static bt_status add_finite(struct ocl_tile *t)
{
    struct ocl_writer w;
    bt_text body;
    const char *name = ocl_tile_name(t, t->panels);
    BT_TRY(ocl_tile_begin(t, &w, &body));
    ocl_line(&w, "const int panel = (int)get_global_id(0), all = %s;",
             ocl_int_parameter(&w, t->npanel * t->nbatch));
    ocl_line(&w, "const int n = %s;", ocl_int_parameter(&w, t->k * t->width));
    ocl_line(&w, "if (panel < all) {");
    ocl_line(&w, "    float any = 0;");
    ocl_line(&w, "    for (int i = 0; i < n; i++)");
    ocl_line(&w, "        any = isfinite(%s[(long)panel * n + i]) ? any : 1;", name);
    ocl_line(&w, "    %s[(long)all * n + panel] = any;", name);
    ocl_line(&w, "}");
    w.touched[t->panels] |= OCL_WRITTEN;
    return ocl_tile_end(t, &w, &body, t->npanel * t->nbatch, 1, 1, OCL_ITEMS);
}

/* ---- tiles ---- */

/* Indices of the tile's rows, and pointers to their first terms. */
static void add_rows(struct ocl_writer *w, const struct ocl_tile *t)
{
    const ocl_dims *m = &t->c->m;
    const uint32_t a = t->c->is_copied ? t->copy : t->a;
    w->touched[a] |= OCL_READ;
    ocl_line(w, "int row = m0, rest = m0;");
    for (uint32_t i = m->n; i-- > 0;) {
        const uint32_t index = m->at[i].index;
        if (i == 0) {
            ocl_line(w, "int at%" PRIu32 " = rest;", index);
            continue;
        }
        const char *n = ocl_int_parameter(w, m->at[i].extent);
        ocl_line(w, "int at%" PRIu32 " = rest %% %s;", index, n);
        ocl_line(w, "rest /= %s;", n);
    }
    const char *place = "0";
    for (uint32_t i = 0; i < m->n; i++) {
        ocl_line(w, "int at%" PRIu32 "s[%" PRIu32 "];", m->at[i].index, t->rows);
        place = ocl_form(&w->x, "%s + %s * at%" PRIu32, place,
                         ocl_int_parameter(w, m->at[i].a), m->at[i].index);
    }
    bt_text step;
    bt_text_init(&step, w->x.arena);
    for (uint32_t i = m->n; i-- > 0;) {
        bt_text_addf(&step, "at%" PRIu32 "++;", m->at[i].index);
        if (i)
            bt_text_addf(&step, " if (at%" PRIu32 " == %s) { at%" PRIu32 " = 0; ",
                         m->at[i].index, ocl_int_parameter(w, m->at[i].extent),
                         m->at[i].index);
    }
    for (uint32_t i = 1; i < m->n; i++)
        bt_text_addf(&step, " }");
    for (uint32_t r = 0; r < t->rows; r++) {
        if (r && m->n) // rows behind the last are the last again
            ocl_line(w, "if (row + 1 < m) { row++; %s }",
                     bt_text_get(&step) ? step.at : "");
        for (uint32_t i = 0; i < m->n; i++)
            ocl_line(w, "at%" PRIu32 "s[%" PRIu32 "] = at%" PRIu32 ";", m->at[i].index, r,
                     m->at[i].index);
        ocl_line(w, "__global const %s *const a_%" PRIu32 " = a + (%s);",
                 ocl_element_type(&w->x, t->loops->graph->arrays[a]->dtype), r, place);
    }
    w->x.failed |= step.failed;
}

/* The loops over the terms. */
static void add_terms(struct ocl_writer *w, const struct ocl_tile *t)
{
    const ocl_dims *k = &t->c->k;
    const bt_dtype dtype =
        t->c->is_copied ? t->c->dtype : t->loops->graph->arrays[t->a]->dtype;
    const char *vector = ocl_form(&w->x, "%s%" PRIu32, ocl_tile_type(t), t->lanes);
    const int is_int = t->c->dtype == BT_INT32;
    if (is_int)
        vector = ocl_form(&w->x, "uint%" PRIu32, t->lanes);
    for (uint32_t r = 0; r < t->rows; r++) {
        for (uint32_t v = 0; v < VECTORS; v++)
            ocl_line(w, "%s s%" PRIu32 "_%" PRIu32 " = 0;", vector, r, v);
    }
    ocl_line(w, "__global const %s *terms = panel_at;", ocl_tile_type(t));
    ocl_tile_terms(w, t, ocl_form(&w->x, ", terms += %" PRIu32, t->width));
    for (uint32_t v = 0; v < VECTORS; v++)
        ocl_line(w, "const %s b_%" PRIu32 " = %svload%" PRIu32 "(%" PRIu32 ", terms)%s;",
                 vector, v,
                 is_int ? ocl_form(&w->x, "as_uint%" PRIu32 "(", t->lanes) : "", t->lanes,
                 v, is_int ? ")" : "");
    for (uint32_t r = 0; r < t->rows; r++) {
        const char *from =
            ocl_load_element(&w->x, dtype, ocl_form(&w->x, "a_%" PRIu32, r),
                             ocl_form(&w->x, "k%" PRIu32, k->n - 1));
        ocl_line(w, "const %s x%" PRIu32 " = (%s)(%s)%s;", vector, r, vector,
                 is_int ? "uint" : "float", from);
        for (uint32_t v = 0; v < VECTORS; v++) {
            if (t->maker->device->has_fma && !is_int)
                ocl_line(w,
                         "s%" PRIu32 "_%" PRIu32 " = fma(x%" PRIu32 ", b_%" PRIu32
                         ", s%" PRIu32 "_%" PRIu32 ");",
                         r, v, r, v, r, v);
            else
                ocl_line(w, "s%" PRIu32 "_%" PRIu32 " += x%" PRIu32 " * b_%" PRIu32 ";",
                         r, v, r, v);
        }
    }
    ocl_tile_close(w, k->n);
    ocl_line(w, "%s sums[%" PRIu32 "];", ocl_tile_type(t), t->rows * t->width);
    for (uint32_t r = 0; r < t->rows; r++) {
        for (uint32_t v = 0; v < VECTORS; v++)
            ocl_line(
                w, "vstore%" PRIu32 "(%ss%" PRIu32 "_%" PRIu32 "%s, %" PRIu32 ", sums);",
                t->lanes, is_int ? ocl_form(&w->x, "as_int%" PRIu32 "(", t->lanes) : "",
                r, v, is_int ? ")" : "", r * VECTORS + v);
    }
}

/* The sums again where a term of the panel is not finite: only of what is inside A. */
static void add_careful(struct ocl_writer *w, const struct ocl_tile *t)
{
    const ocl_contraction *c = t->c;
    ocl_line(w, "if (has_nonfinite) {");
    w->indent += OCL_INDENT;
    ocl_line(w, "for (int r = 0; r < %" PRIu32 "; r++) {", t->rows);
    w->indent += OCL_INDENT;
    for (uint32_t i = 0; i < c->m.n; i++)
        ocl_line(w, "const int i%" PRIu32 " = at%" PRIu32 "s[r];", c->m.at[i].index,
                 c->m.at[i].index);
    ocl_line(w, "for (int l = 0; l < %" PRIu32 "; l++) {", t->width);
    w->indent += OCL_INDENT;
    ocl_line(w, "float sum = 0;");
    ocl_line(w, "__global const float *term = panel_at + l;");
    ocl_tile_terms(w, t, ocl_form(&w->x, ", term += %" PRIu32, t->width));
    ocl_tile_careful(w, t, "*term");
    ocl_tile_close(w, c->k.n);
    ocl_line(w, "sums[r * %" PRIu32 " + l] = sum;", t->width);
    ocl_tile_close(w, 3);
}

/* What is made of the sums. */
static bt_status add_results(struct ocl_writer *w, const struct ocl_tile *t)
{
    const ocl_contraction *c = t->c;
    // the last axis is stored along: columns or rows
    const bt_array *sums = t->maker->graph->arrays[c->sums];
    int is_column = 0;
    for (uint32_t i = 0; i < c->n.n; i++)
        is_column |= c->n.at[i].index + 1 == sums->rank;
    ocl_line(w,
             is_column ? "for (int r = 0; r < %" PRIu32 "; r++) {"
                       : "for (int l = 0; l < %" PRIu32 "; l++) {",
             is_column ? t->rows : t->width);
    w->indent += OCL_INDENT;
    for (uint32_t pass = 0; pass < 2; pass++) {
        if (pass) {
            ocl_line(w,
                     !is_column ? "for (int r = 0; r < %" PRIu32 "; r++) {"
                                : "for (int l = 0; l < %" PRIu32 "; l++) {",
                     !is_column ? t->rows : t->width);
            w->indent += OCL_INDENT;
        }
        if (is_column == (pass == 0)) {
            ocl_line(w, "if (m0 + r < m) {");
            w->indent += OCL_INDENT;
            for (uint32_t i = 0; i < c->m.n; i++)
                ocl_line(w, "const int i%" PRIu32 " = at%" PRIu32 "s[r];",
                         c->m.at[i].index, c->m.at[i].index);
        } else {
            ocl_line(w, "int column = panel * %" PRIu32 " + l;", t->width);
            ocl_line(w, "if (column < %s) {", ocl_int_parameter(w, t->n));
            w->indent += OCL_INDENT;
            ocl_tile_digits(w, &c->n, "column");
        }
    }
    ocl_line(w, "const %s sum = sums[r * %" PRIu32 " + l];", ocl_tile_type(t), t->width);
    BT_TRY(ocl_tile_store(w, t));
    ocl_tile_close(w, 4);
    return NULL;
}

static bt_status add_tiles(struct ocl_tile *t)
{
    struct ocl_writer w;
    bt_text body;
    const ocl_contraction *c = t->c;
    const uint32_t a = c->is_copied ? t->copy : t->a;
    const int64_t ntile = (t->m + t->rows - 1) / t->rows;
    const int64_t each = (ntile + MAX_CHUNKS - 1) / MAX_CHUNKS;
    const int has_nonfinite = c->is_guarded && c->dtype == BT_FLOAT32;
    BT_TRY(ocl_tile_begin(t, &w, &body));
    w.touched[t->panels] |= OCL_READ;
    ocl_line(&w, "const int panel = (int)get_global_id(0), m = %s;",
             ocl_int_parameter(&w, t->m));
    ocl_line(&w, "const int tiles = %s, first = (int)get_global_id(1) * tiles;",
             ocl_int_parameter(&w, each));
    ocl_line(&w, "const int npanel = %s, k = %s;", ocl_int_parameter(&w, t->npanel),
             ocl_int_parameter(&w, t->k));
    ocl_line(&w, "int batch = (int)get_global_id(2);");
    ocl_line(&w, "const long which = (long)batch * npanel + panel;");
    ocl_line(&w, "__global const %s *const panel_at = %s + which * k * %" PRIu32 ";",
             ocl_tile_type(t), ocl_tile_name(t, t->panels), t->width);
    if (has_nonfinite)
        ocl_line(&w,
                 "const int has_nonfinite = %s[(long)%s * npanel * k * %" PRIu32
                 " + which] != 0;",
                 ocl_tile_name(t, t->panels), ocl_int_parameter(&w, t->nbatch), t->width);
    ocl_tile_digits(&w, &c->batch, "batch");
    ocl_line(&w, "__global const %s *const a = %s + (%s);",
             ocl_element_type(&w.x, t->loops->graph->arrays[a]->dtype),
             ocl_tile_name(t, a),
             ocl_tile_offset(&w, &c->batch, 0, ocl_int_parameter(&w, c->a_at)));
    ocl_line(&w,
             "for (int m0 = first * %" PRIu32
             "; m0 < m && m0 < (first + tiles) * %" PRIu32 "; m0 += %" PRIu32 ") {",
             t->rows, t->rows, t->rows);
    w.indent += OCL_INDENT;
    add_rows(&w, t);
    add_terms(&w, t);
    if (has_nonfinite)
        add_careful(&w, t);
    BT_TRY(add_results(&w, t));
    bt_text_addf(&body, "    }\n");
    return ocl_tile_end(t, &w, &body, t->npanel, (ntile + each - 1) / each, t->nbatch, 1);
}

/* ---- all ---- */

static bt_status add_buffer(struct ocl_tile *t, const char *name, int64_t nelem,
                            uint32_t *out)
{
    const bt_node *n = bt_node_int(t->loops->graph, nelem);
    return n && bt_loops_add_buffer(t->loops, BT_BUFFER_TEMP, name, t->c->dtype, n, out)
               ? NULL
               : bt_loops_why(t->loops);
}

/* Panels of a constant are made by a kernel of their own. */
static bt_status pack(struct ocl_tile *t, int64_t nelem)
{
    struct ocl_maker *m = t->maker;
    const int is_pack = ocl_is_constant(m, t->b);
    const ocl_launches own = m->launches;
    if (is_pack) {
        const struct ocl_pack made = { .nbytes = 4 * nelem };
        if (!BT_PUSH(m->arena, &m->packs, made))
            return bt_no_memory();
        t->pack = m->packs.len;
        m->launches = (ocl_launches){ .len = 0 };
    }
    BT_TRY(add_panels(t));
    if (t->c->is_guarded && t->c->dtype == BT_FLOAT32)
        BT_TRY(add_finite(t));
    if (is_pack) {
        m->packs.at[t->pack - 1].launches = m->launches;
        m->launches = own;
    }
    return NULL;
}

bt_status ocl_contract_tiles(struct ocl_maker *m, uint32_t stage,
                             const ocl_contraction *c)
{
    struct ocl_tile t = { .maker = m, .c = c, .lanes = m->device->lanes, .rows = ROWS };
    int64_t nelem = 0;
    BT_TRY(ocl_stage_loops(m, stage, &t.loops));
    t.a = c->reads[0]->which;
    t.b = c->reads[1]->which;
    t.nbatch = ocl_dims_size(&c->batch);
    t.m = ocl_dims_size(&c->m);
    t.n = ocl_dims_size(&c->n);
    t.k = ocl_dims_size(&c->k);
    t.rows = t.m < ROWS ? (uint32_t)t.m : ROWS;
    t.width = m->device->is_cpu ? VECTORS * t.lanes : OCL_GROUP_WIDTH;
    t.npanel = (t.n + t.width - 1) / t.width;
    if (!bt_mul_int64(t.npanel * t.width, t.k, &nelem) ||
        !bt_mul_int64(nelem, t.nbatch, &nelem) || nelem > BT_MAX_DIM)
        return bt_fail(m->ctx, BT_ERR_LIMIT, "a factor is too large");
    nelem += t.npanel * t.nbatch;
    BT_TRY(add_buffer(&t, "panels", nelem, &t.panels));
    if (c->is_copied)
        BT_TRY(ocl_tile_add_copy(&t));
    BT_TRY(pack(&t, nelem));
    if (c->is_copied)
        BT_TRY(ocl_tile_copy(&t));
    return m->device->is_cpu ? add_tiles(&t) : ocl_tile_groups(&t);
}
