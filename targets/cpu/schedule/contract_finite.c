/*
 * Sums whose tiles multiply zeros in the place of elements outside, made right where the
 * other factor is not finite, as 0 * inf is NaN: there the stage is computed once more, as
 * its formula says, in loops that are skipped otherwise.
 *
 *     y[i, j] = the stage with the sums of tiles
 *     finite.float32(&t[0], &w[0], elements of w)
 *     if not(t[0]): y[i, j] = the stage with its own sum
 *
 * What is asked of a constant is asked when the program is compiled (kernel.c).
 */
#include "contract.h"

/* Whether one factor goes backwards along a reduced d where the other goes forwards. */
static int are_opposed(const struct cpu_contraction *c, const struct cpu_operand *o,
                       uint32_t axis, const struct cpu_operand *other, uint32_t d)
{
    for (uint32_t a = 0; a < other->rank && c->dims[d].is_k; a++) {
        if (other->coefs[a][d] && (other->coefs[a][d] < 0) != (o->coefs[axis][d] < 0))
            return 1;
    }
    return 0;
}

/* Whether a dim is what is left over of an index that is divided: where steps are longer than windows
 * some of its values find no element of the weights. */
static int is_rest(const struct cpu_contraction *c, uint32_t d)
{
    for (uint32_t i = 0; i < c->ndim; i++) {
        if (i != d && !c->dims[i].is_k && !c->dims[d].is_k &&
            c->dims[i].index == c->dims[d].index && c->dims[i].scale > c->dims[d].scale)
            return 1;
    }
    return 0;
}

/* How a factor is read outside: where the other one runs against it, as data and weights do
 * in a transposed convolution; or along an index that is divided, as with strides, where
 * both get zeros. A convolution has zeros around its data: these are multiplied. Where terms are
 * left out for what is outside of A, there are no zeros. */
enum { AGAINST = 1, DIVIDED = 2 };

static uint32_t outside_of(const struct cpu_tiling *p, const struct cpu_operand *o,
                           const struct cpu_operand *other)
{
    const struct cpu_contraction *c = &p->view;
    uint32_t found = 0;
    if (!(BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(c->dtype)) ||
        (o == p->a && p->limited))
        return 0;
    for (uint32_t a = 0; a < o->rank; a++) {
        for (uint32_t d = 0; d < c->ndim && o->guards[a]; d++) {
            if (o->coefs[a][d] && c->dims[d].scale > 1)
                found |= p->limited ? AGAINST : DIVIDED;
            else if (o->coefs[a][d] && (are_opposed(c, o, a, other, d) || is_rest(c, d)))
                found |= AGAINST;
        }
    }
    return found;
}

bt_status cpu_contract_finite(bt_graph *g, const bt_array *stage,
                              const struct cpu_tiling *p, struct cpu_finite *out)
{
    const struct cpu_operand *o = p->view.operands;
    const uint32_t outside[] = { outside_of(p, &o[0], &o[1]),
                                 outside_of(p, &o[1], &o[0]) };
    *out = (struct cpu_finite){ .nfactor = 0 };
    for (uint32_t i = 0; i < 2; i++) {
        if (outside[!i] || (outside[i] & DIVIDED))
            out->factors[out->nfactor++] = o[i].array;
    }
    if (out->nfactor && !bt_graph_add_array(g, stage, &out->exact))
        return g->status ? g->status : bt_no_memory();
    return NULL;
}

static void redirect(bt_stmts *block, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        if (stmt->kind == BT_STMT_STORE && stmt->buffer == from)
            stmt->buffer = to;
        redirect(&stmt->body, from, to);
        redirect(&stmt->otherwise, from, to);
    }
}

int cpu_emit_is_finite(struct cpu_emitter *e, uint32_t factor, const bt_node **is)
{
    bt_loops *loops = e->loops;
    bt_graph *g = loops->graph;
    const bt_array *array = g->arrays[factor];
    const bt_node *nelem = array->extents[0], *zero = bt_node_int(g, 0);
    const char *name = array->dtype == BT_FLOAT64 ? "finite.float64" : "finite.float32";
    uint32_t flag;
    if (!cpu_emit_buffer(loops, BT_BUFFER_TEMP, BT_BOOL, bt_node_int(g, 1), &flag))
        return 0;
    const bt_node *read = bt_loops_read(loops, flag, zero);
    *is = *is ? bt_node_and(g, *is, read) : read;
    return *is &&
           cpu_emit_call(e, name, 2,
                         (struct cpu_address[]){ { flag, zero }, { factor, zero } }, 1,
                         &nelem);
}

int cpu_emit_finite(bt_loops *loops, const struct cpu_finite *f, uint32_t stage,
                    uint32_t at)
{
    bt_stmts made = { .len = 0 }, guarded = { .len = 0 };
    struct cpu_emitter e = { .loops = loops, .to = &made };
    bt_stmt *nest = loops->body.at[at];
    const bt_node *is = NULL;
    for (uint32_t i = 0; i < f->nfactor; i++) {
        if (!cpu_emit_is_finite(&e, f->factors[i], &is))
            return 0;
    }
    bt_stmt *test = bt_stmt_add(loops, &guarded, BT_STMT_IF);
    if (!test)
        return 0;
    redirect(&nest->body, f->exact, stage);
    test->condition = bt_node_scalar(loops->graph, BT_SCALAR_NOT, is, NULL);
    test->body = nest->body;
    nest->body = guarded;
    return test->condition && BT_PUSH(loops->arena, &made, nest) &&
           bt_stmts_replace(loops, &loops->body, at, &made);
}
