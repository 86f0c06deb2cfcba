#include "codes.h"

#include <string.h>

int codes_are(const bt_op *op)
{
    return strncmp(op->name, "qnn.", 4) == 0;
}

const bt_type *codes_sums(bt_solver *s, const bt_relation_call *r, const bt_type *stated,
                          const bt_type *of_data)
{
    return stated             ? stated
           : codes_are(r->op) ? bt_type_dtype(bt_relation_store(s), BT_INT32)
                              : of_data;
}

bt_status codes_along(bt_solver *s, const bt_relation_call *r, uint32_t index,
                      const bt_type *extent)
{
    bt_tensor_parts zero;
    if (index >= r->narg)
        return NULL;
    BT_TRY(bt_relation_tensor(s, r, index, &zero));
    if (zero.rank == 0)
        return NULL;
    if (zero.rank > 1 || !extent)
        return bt_relation_fail(s, r, (int)index, "%s has rank %u; it is a number%s",
                                r->op->inputs[index].name, zero.rank,
                                extent ? ", or a vector" : "");
    return bt_relation_unify(s, r, extent, zero.dims[0],
                             "channels, and their zero points or scales");
}

bt_status codes_relate(bt_solver *s, const bt_relation_call *r, const bt_type *rows)
{
    for (uint32_t i = 2; codes_are(r->op) && i < r->narg; i++)
        BT_TRY(codes_along(s, r, i, i % 2 ? rows : NULL));
    return NULL;
}

/* Where the zero point is read: items of list `zero`. */
static void write_place(bt_formula *f, const bt_type *type, const struct codes_zero *zero)
{
    uint32_t rank = bt_formula_rank(f, type);
    bt_formula_clear(f, "zero");
    if (rank > 2)
        bt_formula_item(f, "zero", "..");
    for (uint32_t k = rank > 2 ? rank - 2 : 0; k < rank; k++) {
        int is_kept = rank == 1 || k + 2 == rank + zero->axis;
        bt_formula_item(f, "zero", "%s", is_kept ? zero->at : "0");
    }
}

void codes_factor(bt_formula *f, const bt_formula_call *call, const char *array,
                  const char *indices, const char *dtype, const struct codes_zero *zero)
{
    if (!codes_are(call->op)) {
        bt_formula_item(f, "factors", "%s(%s[$%s])", dtype, array, indices);
        return;
    }
    write_place(f, call->args[zero->index], zero);
    bt_formula_item(f, "factors", "(%s(%s[$%s]) - %s(%s[$zero]))", dtype, array, indices,
                    dtype, call->op->inputs[zero->index].name);
}
