/* Pieces of text that kernels of sums of products have in common, and the kernel that copies A with
 * margins. */
#include "contract.h"

#include <inttypes.h>

const char *ocl_tile_type(const struct ocl_tile *t)
{
    return t->c->dtype == BT_INT32 ? "int" : "float";
}

/* ---- pieces of text ---- */

/* "const int i3 = rest % n4;" and so on: indices from a number below their product, in variable
 * `from`, which is used up. */
void ocl_tile_digits(struct ocl_writer *w, const ocl_dims *dims, const char *from)
{
    for (uint32_t i = dims->n; i-- > 0;) {
        if (i == 0) {
            ocl_line(w, "const int i%" PRIu32 " = %s;", dims->at[i].index, from);
            return;
        }
        const char *n = ocl_int_parameter(w, dims->at[i].extent);
        ocl_line(w, "const int i%" PRIu32 " = %s %% %s;", dims->at[i].index, from, n);
        ocl_line(w, "%s /= %s;", from, n);
    }
}

/* "at + n1 * i2 + i3" of A, or of B. */
const char *ocl_tile_offset(struct ocl_writer *w, const ocl_dims *dims, int is_b,
                            const char *at)
{
    for (uint32_t i = 0; i < dims->n; i++) {
        const int64_t step = is_b ? dims->at[i].b : dims->at[i].a;
        at = step == 1 ? ocl_form(&w->x, "%s + i%" PRIu32, at, dims->at[i].index)
                       : ocl_form(&w->x, "%s + %s * i%" PRIu32, at,
                                  ocl_int_parameter(w, step), dims->at[i].index);
    }
    return at;
}

const char *ocl_tile_name(const struct ocl_tile *t, uint32_t buffer)
{
    return t->loops->graph->arrays[buffer]->name;
}

const char *ocl_tile_element(struct ocl_writer *w, const struct ocl_tile *t,
                             uint32_t buffer, const char *at)
{
    w->touched[buffer] |= OCL_READ;
    return ocl_load_element(&w->x, t->loops->graph->arrays[buffer]->dtype,
                            ocl_tile_name(t, buffer), at);
}

bt_status ocl_tile_begin(struct ocl_tile *t, struct ocl_writer *w, bt_text *body)
{
    BT_TRY(ocl_writer_init(w, t->maker, t->loops, body));
    if (t->pack)
        w->packs[t->panels] = t->pack;
    return NULL;
}

bt_status ocl_tile_end(struct ocl_tile *t, struct ocl_writer *w, bt_text *body,
                       int64_t items, int64_t more, int64_t last, int64_t local)
{
    bt_graph *g = t->loops->graph;
    const struct ocl_geometry geometry = {
        .local = { (uint32_t)local, 1, 1 },
        .groups = { bt_node_int(g, (items + local - 1) / local), bt_node_int(g, more),
                    bt_node_int(g, last) },
    };
    return ocl_finish(w, body, &geometry);
}

/* ---- copies ---- */

/* A with zeros around, a row of its last axis by each work-item. */
bt_status ocl_tile_copy(struct ocl_tile *t)
{
    const char *none = t->c->reduce->which == BT_REDUCER_MAX   ? "-INFINITY"
                       : t->c->reduce->which == BT_REDUCER_MIN ? "INFINITY"
                                                               : "0";
    struct ocl_writer w;
    bt_text body;
    const ocl_contraction *c = t->c;
    const uint32_t last = c->reads[0]->narg - 1;
    const ocl_margin *inner = &c->margins[last];
    const char *at = "0", *inside = "1";
    int64_t nrow = 1, stride = inner->size;
    BT_TRY(ocl_tile_begin(t, &w, &body));
    for (uint32_t i = 0; i < last; i++)
        nrow *= c->margins[i].extent;
    ocl_line(&w, "const int row = (int)get_global_id(0), n = %s;",
             ocl_int_parameter(&w, inner->extent));
    ocl_line(&w, "const int low = %s, size = %s;", ocl_int_parameter(&w, inner->low),
             ocl_int_parameter(&w, inner->size));
    ocl_line(&w, "int rest = row;");
    ocl_line(&w, "if (row < %s) {", ocl_int_parameter(&w, nrow));
    w.indent += OCL_INDENT;
    for (uint32_t i = last; i-- > 0;) {
        const ocl_margin *m = &c->margins[i];
        const char *n = ocl_int_parameter(&w, m->extent);
        ocl_line(&w, "const int p%" PRIu32 " = rest %% %s + %s;", i, n,
                 ocl_int_parameter(&w, m->low));
        ocl_line(&w, "rest /= %s;", n);
        inside = ocl_form(&w.x, "%s && p%" PRIu32 " >= 0 && p%" PRIu32 " < %s", inside, i,
                          i, ocl_int_parameter(&w, m->size));
        at = ocl_form(&w.x, "%s + %s * p%" PRIu32, at, ocl_int_parameter(&w, stride), i);
        stride *= m->size;
    }
    // zeros, elements, zeros
    ocl_line(&w, "const int is_inside = %s, from = is_inside ? %s : 0;", inside, at);
    ocl_line(&w, "const int first = is_inside ? min(n, max(0, -low)) : n;");
    ocl_line(&w, "const int end = is_inside ? max(first, min(n, size - low)) : n;");
    const char *name = ocl_tile_name(t, t->copy);
    ocl_line(&w, "for (int x = 0; x < first; x++)");
    ocl_line(&w, "    %s[row * n + x] = %s;", name, none);
    ocl_line(&w, "for (int x = first; x < end; x++)");
    ocl_line(&w, "    %s[row * n + x] = %s;", name,
             ocl_tile_element(&w, t, t->a, "from + low + x"));
    ocl_line(&w, "for (int x = end; x < n; x++)");
    ocl_line(&w, "    %s[row * n + x] = %s;", name, none);
    w.touched[t->copy] |= OCL_WRITTEN;
    bt_text_addf(&body, "    }\n");
    return ocl_tile_end(t, &w, &body, nrow, 1, 1, OCL_ITEMS);
}

bt_status ocl_tile_add_copy(struct ocl_tile *t)
{
    int64_t nelem = 1;
    for (uint32_t i = 0; i < t->c->reads[0]->narg; i++)
        nelem *= t->c->margins[i].extent;
    const bt_node *n = bt_node_int(t->loops->graph, nelem + OCL_SLACK);
    return n && bt_loops_add_buffer(t->loops, BT_BUFFER_TEMP, "copy", t->c->dtype, n,
                                    &t->copy)
               ? NULL
               : bt_loops_why(t->loops);
}

/* ---- terms ---- */

void ocl_tile_terms(struct ocl_writer *w, const struct ocl_tile *t, const char *more)
{
    const ocl_dims *k = &t->c->k;
    for (uint32_t i = 0; i < k->n; i++) {
        const char *n = ocl_int_parameter(w, k->at[i].extent);
        const char *step = ocl_int_parameter(w, k->at[i].a);
        const char *from = i ? ocl_form(&w->x, "k%" PRIu32, i - 1) : "0";
        ocl_line(w, "long k%" PRIu32 " = %s;", i, from);
        ocl_line(w,
                 "for (int j%" PRIu32 " = 0; j%" PRIu32 " < %s; j%" PRIu32 "++, k%" PRIu32
                 " += %s%s) {",
                 i, i, n, i, i, step, i + 1 == k->n ? more : "");
        w->indent += OCL_INDENT;
    }
}

void ocl_tile_close(struct ocl_writer *w, uint32_t nbrace)
{
    for (uint32_t i = 0; i < nbrace; i++) {
        w->indent -= OCL_INDENT;
        ocl_line(w, "}");
    }
}

/* The variable of an index: of terms the number of their loop, in whose order they differ. */
static const char *name_of(struct ocl_writer *w, const ocl_contraction *c, uint32_t index)
{
    for (uint32_t i = 0; i < c->k.n; i++) {
        if (c->k.at[i].index == index)
            return ocl_form(&w->x, "j%" PRIu32, i);
    }
    return ocl_form(&w->x, "i%" PRIu32, index);
}

void ocl_tile_careful(struct ocl_writer *w, const struct ocl_tile *t, const char *term)
{
    const ocl_contraction *c = t->c;
    const bt_array *array = t->loops->graph->arrays[t->a];
    const char *at = "0", *inside = NULL;
    int64_t stride = 1;
    for (uint32_t i = c->reads[0]->narg; i-- > 0;) {
        bt_linear l;
        bt_node_as_linear(c->margins[i].place, &l);
        const char *place = ocl_int_parameter(w, l.constant);
        for (uint32_t k = 0; k < l.n; k++)
            place =
                ocl_form(&w->x, "%s + %s * %s", place, ocl_int_parameter(w, l.coefs[k]),
                         name_of(w, c, l.atoms[k]->which));
        ocl_line(w, "const int p%" PRIu32 " = %s;", i, place);
        inside = ocl_form(&w->x, "%s%sp%" PRIu32 " >= 0 && p%" PRIu32 " < %s",
                          inside ? inside : "", inside ? " && " : "", i, i,
                          ocl_int_parameter(w, c->margins[i].size));
        at = ocl_form(&w->x, "%s + %s * p%" PRIu32, at, ocl_int_parameter(w, stride), i);
        stride *= c->margins[i].size;
    }
    w->touched[t->a] |= OCL_READ;
    ocl_line(w, "if (%s)", inside);
    ocl_line(w, "    sum += %s * %s;",
             ocl_load_element(&w->x, array->dtype, array->name, at), term);
}

/* ---- results ---- */

bt_status ocl_tile_store(struct ocl_writer *w, const struct ocl_tile *t)
{
    struct ocl_nest nest;
    uint32_t at = 0;
    while (at + 1 < t->loops->body.len && !ocl_writes(t->loops, t->loops->body.at[at]))
        at++;
    BT_TRY(ocl_nest_find(t->loops, &t->loops->body, at, &nest));
    w->instead[t->c->sums] = "sum";
    for (uint32_t i = 0; i <= nest.nloop; i++)
        ocl_block(w, &nest.before[i]);
    ocl_block(w, &nest.body);
    return NULL;
}
