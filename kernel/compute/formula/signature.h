/* What an operator's inputs accept: the patterns of bt_op_input.type, described in
 * <baton/op.h>, parsed. */
#ifndef COMPUTE_FORMULA_SIGNATURE_H
#define COMPUTE_FORMULA_SIGNATURE_H

#include "compute/formula/lex.h"

enum { BT__PATTERN_ANY, BT__PATTERN_TENSOR, BT__PATTERN_TENSORS /* "(t[..]*)" */ };

struct bt__pattern_dim {
    const char *name; /* NULL: just this number */
    int64_t size;
};
struct bt__pattern {
    const char *input; /* whose it is */
    uint32_t kind;     /* BT__PATTERN_... */
    const char *name;  /* of the dtype; NULL: unnamed */
    uint32_t classes; /* BT_CLASS_BITS_...; 0: one of `dtypes` */
    uint32_t ndtype;
    const bt_dtype *dtypes;
    uint32_t ndim; /* `..` not counted */
    const struct bt__pattern_dim *dims;
    uint32_t has_rest, position; /* `..` before dims[position] */
};
struct bt__signature {
    uint32_t ninput;
    uint32_t has_rest; /* the last input is that of all further arguments */
    const struct bt__pattern *inputs;
};
/* The pattern of an argument; NULL: there is none. */
static inline const struct bt__pattern *
bt__signature_input(const struct bt__signature *signature, uint32_t arg)
{
    const uint32_t n = signature->ninput;
    return arg < n               ? &signature->inputs[arg]
           : signature->has_rest ? &signature->inputs[n - 1]
                                 : NULL;
}
/* What a formula calls an argument: x, or x.0, x.1 ... of a rest. NULL: no memory. */
const char *bt__signature_name(bt_arena *, const struct bt__signature *, uint32_t arg);

/* errors BT_ERR_SYNTAX at the place in the pattern, naming operator and input */
bt_status bt__signature_parse(bt_ctx *, bt_arena *, const bt_op *,
                              const struct bt__signature **out) BT_MUST_USE;
/* A pattern within a text, from *at on; *at: the token behind it. `where` is for messages.
 * What it is called is left to the caller. */
bt_status bt__pattern_parse(bt_ctx *, bt_arena *, const char *where, const char *text,
                            struct bt__token *at, struct bt__pattern *out) BT_MUST_USE;
/* A dtype's name alone, t, is that of an input before. */
void bt__pattern_join(struct bt__pattern *, uint32_t nbefore,
                      const struct bt__pattern *before);
int bt__pattern_takes_dtype(const struct bt__pattern *, bt_dtype);
/* "int32|int64", "float", for messages */
void bt__pattern_print_dtypes(const struct bt__pattern *, bt_text *out);
/* The pattern's dim at `axis` of a tensor of that rank: NULL where `..` covers it. */
const struct bt__pattern_dim *bt__pattern_dim_at(const struct bt__pattern *,
                                                 uint32_t rank, uint32_t axis);
int bt__pattern_takes_rank(const struct bt__pattern *, uint32_t rank);

#endif
