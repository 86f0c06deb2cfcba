/* The table of operators: what is written of a call, and of which types. */
#include <stdio.h>
#include <string.h>

#include "graph.h"

static const struct row {
    const char *op, *onnx;
    uint32_t dtypes;
    write_fn *write;
} rows[] = {
#define ROW(op, onnx, types, write) { (op), (onnx), (types), (write) },
#include "operators.def"
};

/* A type that the row does not take, of the arguments or of fields of tuples among them; 0: there is
 * none. */
static bt_dtype find_misfit(const struct row *row, uint32_t n,
                            const bt_type *const *types)
{
    bt_dtype found = 0;
    for (uint32_t i = 0; i < n && !found; i++) {
        const bt_list_type *tuple = bt_as_tuple_type(types[i]);
        if (tuple)
            found = find_misfit(row, tuple->n, tuple->at);
        else if (!(row->dtypes >> type_number(bt_tensor_dtype(types[i])) & 1))
            found = bt_tensor_dtype(types[i]);
    }
    return found;
}

static bt_dtype misfit_of(const struct row *row, const bt_call *call)
{
    bt_dtype found = 0;
    for (uint32_t i = 0; i < call->narg && !found; i++)
        found = find_misfit(row, 1, &call->args[i]->type);
    return found;
}

static bt_status refuse_type(struct graph *g, const bt_call *call, const struct row *row)
{
    char name[BT_DTYPE_NAME_SIZE], why[192];
    snprintf(why, sizeof(why), "%.80s takes no %s; cast to a type that it takes",
             row->onnx, bt_dtype_name(misfit_of(row, call), name, sizeof(name)));
    return refuse_call(g, call, why);
}

bt_status add_call(struct graph *g, const bt_call *call, const char *out)
{
    const struct row *misfit = NULL;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(rows[i].op, call->op->name) != 0)
            continue;
        if (!misfit_of(&rows[i], call))
            return rows[i].write(g, call, rows[i].onnx, out);
        misfit = misfit ? misfit : &rows[i];
    }
    return misfit ? refuse_type(g, call, misfit)
                  : refuse_call(g, call,
                                "no row of plugin baton.onnx.write says how; `baton list "
                                "exports` shows those that there are");
}
