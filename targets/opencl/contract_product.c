/*
 * Sums of products that are products of matrices, by CLBlast: where rows, columns, terms and batch
 * are one index each, whose steps a matrix has. What surrounds the sums is done behind it; plain
 * sums are computed where they belong.
 */
#include "contract.h"

/* Rows, columns and terms from which on it is worth the launches that it takes. */
enum { LEAST_SIDE = 32 };

/* An index, and its steps in A, B and the sums; extent 1: there is none. */
struct side {
    int64_t extent, a, b, c;
};

/* How far the sums' elements are apart along an index. */
static int64_t step_of(const bt_array *stage, uint32_t index)
{
    int64_t step = 1;
    for (uint32_t i = stage->rank; i-- > index + 1;)
        step *= bt_node_number(stage->extents[i]);
    return step;
}

static struct side side_of(const bt_array *stage, const ocl_dims *dims)
{
    const ocl_dim *dim = dims->at;
    return dims->n ? (struct side){ dim->extent, dim->a, dim->b,
                                    dim->index < stage->rank ? step_of(stage, dim->index)
                                                             : 0 }
                   : (struct side){ .extent = 1 };
}

/* A matrix whose rows and columns have these steps. 0: it is none that BLAS has. */
static int is_matrix(int64_t nrow, int64_t row, int64_t ncolumn, int64_t column,
                     int64_t batch, ocl_matrices *out)
{
    *out = (ocl_matrices){ .row = row, .matrix = batch };
    if (nrow == 1)
        out->row = ncolumn;
    if ((column == 1 || ncolumn == 1) && out->row >= ncolumn)
        return out->row <= INT32_MAX && batch >= 0;
    *out = (ocl_matrices){ .is_transposed = 1,
                           .row = ncolumn == 1 ? nrow : column,
                           .matrix = batch };
    return (row == 1 || nrow == 1) && out->row >= nrow && out->row <= INT32_MAX &&
           batch >= 0;
}

/* Rows of the product are those of factor `first`, 0 or 1. */
static int find_product(const bt_array *stage, const ocl_contraction *c, int first,
                        ocl_product *out)
{
    const struct side batch = side_of(stage, &c->batch), m = side_of(stage, &c->m),
                      n = side_of(stage, &c->n), k = side_of(stage, &c->k);
    const int64_t a = first ? n.b : m.a, b = first ? m.a : n.b;
    const struct side rows = first ? n : m, columns = first ? m : n;
    *out = (ocl_product){
        .batch = batch.extent, .m = rows.extent, .n = columns.extent, .k = k.extent
    };
    return is_matrix(rows.extent, a, k.extent, first ? k.b : k.a,
                     first ? batch.b : batch.a, &out->a) &&
           is_matrix(k.extent, first ? k.a : k.b, columns.extent, b,
                     first ? batch.a : batch.b, &out->b) &&
           is_matrix(rows.extent, rows.c, columns.extent, columns.c, batch.c, &out->c) &&
           !out->c.is_transposed;
}

int ocl_is_product(const struct ocl_maker *m, const bt_array *stage,
                   const ocl_contraction *c)
{
    ocl_product product;
    return m->device->has_blas && c->reads[1] && !c->is_copied &&
           c->dtype == BT_FLOAT32 && c->reads[0]->dtype == BT_FLOAT32 &&
           c->reads[1]->dtype == BT_FLOAT32 && c->batch.n <= 1 && c->m.n == 1 &&
           c->n.n == 1 && c->k.n == 1 && c->m.at[0].extent >= LEAST_SIDE &&
           c->n.at[0].extent >= LEAST_SIDE && c->k.at[0].extent >= LEAST_SIDE &&
           (find_product(stage, c, 0, &product) || find_product(stage, c, 1, &product));
}

/* Where a factor begins: `at` elements behind its buffer. */
static bt_status find_factor(struct ocl_writer *w, uint32_t buffer, int64_t at,
                             ocl_arg *out)
{
    struct ocl_maker *m = w->maker;
    bt_graph *g = m->graph;
    const bt_node *place = bt_node_int(g, 0);
    BT_TRY(ocl_memory(w, buffer, &place, out));
    place = bt_node_scalar(g, BT_SCALAR_ADD, place,
                           bt_node_int(g, at * (int64_t)sizeof(float)));
    if (!place)
        return g->status ? g->status : bt_no_memory();
    return ocl_number_of(m->ctx, m->arena, place, &out->number);
}

bt_status ocl_contract_product(struct ocl_maker *m, uint32_t stage,
                               const ocl_contraction *c)
{
    struct ocl_writer w;
    bt_text none;
    bt_loops *loops;
    ocl_product *product = BT_NEW(m->arena, ocl_product);
    ocl_arg *args = BT_NEWS(m->arena, ocl_arg, 3);
    ocl_launch launch = {
        .product = product, .narg = 3, .args = args, .local = { 1, 1, 1 }
    };
    const bt_node *body = m->graph->arrays[stage]->body;
    const int is_plain = body->kind == BT_NODE_READ && body->which == c->sums;
    if (!product || !args)
        return bt_no_memory();
    const uint32_t first = !find_product(m->graph->arrays[stage], c, 0, product);
    if (first)
        (void)find_product(m->graph->arrays[stage], c, 1, product);
    bt_text_init(&none, m->arena);
    BT_TRY(ocl_stage_loops(m, stage, &loops));
    BT_TRY(ocl_writer_init(&w, m, loops, &none));
    BT_TRY(find_factor(&w, c->reads[0]->which, c->a_at, &args[first]));
    BT_TRY(find_factor(&w, c->reads[1]->which, c->b_at, &args[1 - first]));
    BT_TRY(find_factor(&w, is_plain ? stage : c->sums, 0, &args[2]));
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(
            ocl_number_of(m->ctx, m->arena, bt_node_int(m->graph, 1), &launch.groups[i]));
    if (!BT_PUSH(m->arena, &m->launches, launch))
        return bt_no_memory();
    return is_plain ? NULL : ocl_nest_launch(m, loops);
}
