/*
 * @name@: a further aspect of operators that other plugins have, such as what a call costs.
 * <baton/op.h> lists the facets that the kernel reads and the struct of each; passes may read others by bt_op_facet.
 */
#include <baton/op.h>

/* "cost": exp takes about twenty operations for each element. */
static bt_status estimate(bt_ctx *ctx, const bt_formula_call *call, int64_t *multiply_adds, int64_t *nbytes)
{
    int64_t dims[BT_MAX_RANK], n = 1;
    uint32_t rank;
    (void)ctx;
    *multiply_adds = *nbytes = -1; /* not known */
    if (!bt_tensor_static(call->result, &rank, dims))
        return NULL;
    for (uint32_t i = 0; i < rank; i++) {
        if (!bt_mul_int64(n, dims[i], &n))
            return NULL;
    }
    *multiply_adds = 20 * n;
    *nbytes = 2 * n * (int64_t)bt_dtype_nbytes(bt_tensor_dtype(call->result));
    return NULL;
}

static const bt_cost_facet cost = { estimate };

/* Of two for one operator the one with the higher priority counts. */
static const bt_facet facets[] = {
    { .facet = "cost", .op = "exp", .priority = 10, .table_nbytes = sizeof(cost), .table = &cost },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_FACETS(facets), { 0 } };
