/*
 * matrix-chain: products of several matrices in the order that takes the least work.
 * A chain is a product of nn.matmul, nn.dense or nn.batch_matmul and those that it alone
 * computes from, transposes of the last two axes between; its matrices have the batch of
 * the result, or none. Work is multiply-adds; a product of constants has none, if it is
 * small enough for fold-constant. With open dims an order is taken that takes no more work
 * for any of their values. Floats are rounded otherwise.
 * keeps    no invariant
 * source   Godbole 1973: dynamic programming over the places to split; DLVM, section 3.1.2
 */
#include <stdio.h>
#include <string.h>

#include "common/layout.h"

enum { MAX_MATRICES = 16, MAX_FOLDED_NBYTES = 1 << 20 };

struct matrix {
    const bt_value *value; /* of the old function */
    int is_transposed;
};

/* Of the product of matrices i to j. */
struct range {
    const bt_type *work;    /* the least that was found */
    uint32_t split;         /* the last matrix of its first factor */
    const bt_type *written; /* the work as it is written; NULL: it is not */
    uint32_t written_split;
    int is_written;
};

struct sequence {
    bt_rewrite *rewrite;
    bt_store *store;
    const bt_type *result;
    uint32_t n;
    struct matrix matrices[MAX_MATRICES];
    struct range ranges[MAX_MATRICES][MAX_MATRICES];
};

/* ---- the matrices ---- */

static int is_product(const bt_value *value)
{
    static const char *const names[] = { "nn.matmul", "nn.dense", "nn.batch_matmul" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        const bt_call *call = bt_as_op_call(value, names[i]);
        if (call)
            return !call->ncheck;
    }
    return 0;
}

/* Of the operand of a product: whether it is read with its last axes swapped. */
static int is_swapped(const bt_call *product, uint32_t operand)
{
    return strcmp(product->op->name, "nn.dense") == 0
               ? operand == 1
               : bt_call_int(product, operand ? "transpose_b" : "transpose_a", 0) != 0;
}

/* The operand of a transpose of the last two axes; else NULL. */
static const bt_value *transposed_from(const bt_value *value)
{
    const bt_call *call = bt_as_op_call(value, "transpose");
    const uint32_t rank = call ? type_rank(value->type) : 0;
    int64_t axes[BT_MAX_RANK];
    if (rank < 2 || call->ncheck)
        return NULL;
    if (!bt_call_ints(call, "axes", rank, axes))
        return rank == 2 ? call->args[0] : NULL;
    for (uint32_t i = 0; i < rank; i++) {
        const uint32_t wanted = i + 2 < rank ? i : 2 * rank - 3 - i;
        if (axes[i] != wanted && axes[i] + rank != wanted)
            return NULL;
    }
    return call->args[0];
}

/* A matrix, or matrices with the batch of the result, of its element type. */
static int fits(const struct sequence *s, const bt_value *value)
{
    const uint32_t rank = type_rank(value->type), nresult = type_rank(s->result);
    if (rank < 2 || bt_tensor_dtype(value->type) != bt_tensor_dtype(s->result) ||
        (rank > 2 && rank != nresult))
        return 0;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        if (bt_dim_equal(s->store, bt_tensor_shape(value->type)->dims[i],
                         bt_tensor_shape(s->result)->dims[i]) != 1)
            return 0;
    }
    return 1;
}

/* What stands for a value in the chain, past transposes that are for it alone. */
static struct matrix past_transposes(const struct sequence *s, struct matrix m)
{
    const bt_value *from = transposed_from(m.value);
    for (; from && bt_rewrite_is_alone_here(s->rewrite, m.value);
         from = transposed_from(m.value))
        m = (struct matrix){ from, !m.is_transposed };
    return m;
}

/* Rows, or columns, of a matrix as the chain reads it. */
static const bt_type *extent_of(const struct sequence *s, uint32_t i, int is_column)
{
    const struct matrix *m = &s->matrices[i];
    const bt_shape_type *shape = bt_tensor_shape(m->value->type);
    return shape->dims[shape->n - (is_column != m->is_transposed ? 1 : 2)];
}

/* Whether products of matrices i to j are batches of them. */
static int has_batch(const struct sequence *s, uint32_t i, uint32_t j)
{
    while (i < j && type_rank(s->matrices[i].value->type) == 2)
        i++;
    return type_rank(s->matrices[i].value->type) > 2;
}

/* Whether they are of constants alone, and a constant that is not too large comes of them. */
static int is_folded(const struct sequence *s, uint32_t i, uint32_t j)
{
    int64_t rows, columns;
    size_t nbytes;
    for (uint32_t k = i; k <= j; k++) {
        if (!bt_const_tensor(s->matrices[k].value))
            return 0;
    }
    return !has_batch(s, i, j) && bt_dim_is_const(extent_of(s, i, 0), &rows) &&
           bt_dim_is_const(extent_of(s, j, 1), &columns) &&
           bt_mul_size((size_t)rows, (size_t)columns, &nbytes) &&
           bt_mul_size(nbytes, sizeof(double), &nbytes) && nbytes <= MAX_FOLDED_NBYTES;
}

/* ---- the chain as written ---- */

/* The matrices of a product, in order. A product stays one matrix where it is needed
 * elsewhere, or its own do not fit. 0: too many. Nested as deep as there are matrices. */
static int add_matrices(struct sequence *s, struct matrix m, int is_root)
{
    const uint32_t first = s->n;
    m = is_root ? m : past_transposes(s, m);
    const bt_call *product = is_product(m.value) ? bt_as_call(m.value) : NULL;
    if (s->n == MAX_MATRICES)
        return 0;
    if (!product || !(is_root || bt_rewrite_is_alone_here(s->rewrite, m.value)) ||
        !fits(s, product->args[0]) || !fits(s, product->args[1])) {
        s->matrices[s->n++] = m;
        return 1;
    }
    // the transpose of a product is that of the transposes, the other way round
    struct matrix factors[2];
    for (uint32_t i = 0; i < 2; i++)
        factors[m.is_transposed ? 1 - i : i] =
            (struct matrix){ product->args[i],
                             is_swapped(product, i) != m.is_transposed };
    if (!add_matrices(s, factors[0], 0))
        return 0;
    const uint32_t split = s->n - 1;
    if (!add_matrices(s, factors[1], 0))
        return 0;
    s->ranges[first][s->n - 1].written_split = split;
    s->ranges[first][s->n - 1].is_written = 1;
    return 1;
}

/* ---- work ---- */

/* Multiply-adds of the product of what matrices i to k give with what those up to j give.
 * NULL: dims that are too large, or no memory. */
static const bt_type *work_of(const struct sequence *s, uint32_t i, uint32_t k,
                              uint32_t j)
{
    const bt_type *dims[BT_MAX_RANK + 3] = { extent_of(s, i, 0), extent_of(s, k, 1),
                                             extent_of(s, j, 1) };
    uint32_t n = 3;
    if (is_folded(s, i, j))
        return bt_dim(s->store, 0);
    for (uint32_t b = 0; has_batch(s, i, j) && b + 2 < type_rank(s->result); b++)
        dims[n++] = bt_tensor_shape(s->result)->dims[b];
    return bt_dim_product(s->store, 1, n, dims);
}

static const bt_type *sum_of(const struct sequence *s, const bt_type *front,
                             const bt_type *back, const bt_type *last)
{
    const bt_type *factors = front && back ? bt_dim_add(s->store, front, back) : NULL;
    return factors && last ? bt_dim_add(s->store, factors, last) : NULL;
}

/* Whether a work is at most another one for all values of dims, and less for some. */
static int is_less(const struct sequence *s, const bt_type *a, const bt_type *b)
{
    int64_t low = -1, high = 0;
    const bt_type *saved = a && b ? bt_dim_sub(s->store, b, a) : NULL;
    if (saved)
        bt_dim_bounds(saved, &low, &high);
    return low >= 0 && high > 0;
}

static void find_split(struct sequence *s, uint32_t i, uint32_t j)
{
    struct range *r = &s->ranges[i][j];
    if (r->is_written) {
        const uint32_t k = r->written_split;
        const bt_type *last = work_of(s, i, k, j);
        r->split = k;
        r->written =
            sum_of(s, s->ranges[i][k].written, s->ranges[k + 1][j].written, last);
        r->work = sum_of(s, s->ranges[i][k].work, s->ranges[k + 1][j].work, last);
    }
    for (uint32_t k = i; k < j; k++) {
        const bt_type *work = sum_of(s, s->ranges[i][k].work, s->ranges[k + 1][j].work,
                                     work_of(s, i, k, j));
        if (r->work && !is_less(s, work, r->work))
            continue;
        r->work = work;
        r->split = k;
    }
}

/* Whether some order takes less work than the written one. */
static int find_order(struct sequence *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->ranges[i][i].work = s->ranges[i][i].written = bt_dim(s->store, 0);
    for (uint32_t length = 1; length < s->n; length++) {
        for (uint32_t i = 0; i + length < s->n; i++)
            find_split(s, i, i + length);
    }
    const struct range *all = &s->ranges[0][s->n - 1];
    return is_less(s, all->work, all->written);
}

/* ---- building ---- */

static const bt_value *build(struct sequence *s, struct chain *c, uint32_t i, uint32_t j)
{
    const uint32_t split = s->ranges[i][j].split;
    const bt_value *value = NULL;
    char attrs[64];
    if (i == j) {
        if (!c->status)
            c->status = bt_rewrite_operand(s->rewrite, s->matrices[i].value, &value);
        return value;
    }
    // one matrix is read as it lies, products are built as they are read
    snprintf(attrs, sizeof(attrs), "transpose_a=%s, transpose_b=%s",
             split == i && s->matrices[i].is_transposed ? "True" : "False",
             split + 1 == j && s->matrices[j].is_transposed ? "True" : "False");
    const bt_value *front = build(s, c, i, split), *back = build(s, c, split + 1, j);
    return chain_op2(c, "nn.matmul", attrs, front, back);
}

static bt_status reorder(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    struct sequence s = { .rewrite = rewrite,
                          .store = bt_builder_store(c.builder),
                          .result = call->base.type };
    if (!is_product(&call->base) || !fits(&s, &call->base) ||
        !add_matrices(&s, (struct matrix){ &call->base, 0 }, 1) || s.n < 3 ||
        !find_order(&s))
        return NULL;
    const bt_value *value = build(&s, &c, 0, s.n - 1);
    if (value && value->type == call->base.type)
        *out = value;
    return c.status;
}

static const bt_rewriter rewriter = { .call_ = reorder };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "matrix-chain",
        .doc =
            "Products of several matrices in the order that takes the least work.\n"
            "before\n"
            "    def @main(%a: Tensor[(64, 8), float32], %b: Tensor[(8, 64), float32], "
            "%c: Tensor[(64, 4), float32]) {\n"
            "        nn.matmul(nn.matmul(%a, %b), %c)\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%a: Tensor[(64, 8), float32], %b: Tensor[(8, 64), float32], "
            "%c: Tensor[(64, 4), float32]) {\n"
            "        nn.matmul(%a, nn.matmul(%b, %c))\n"
            "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_matrix_chain[] = { BT_PASSES(passes), { 0 } };
