/*
 * broadcast_to, and collapse_sum_to, which undoes it by summing; each also in the shape
 * of another tensor.
 *     broadcast_to(x, shape=[2, 3])       y[i0, i1] = x[0, i1]        x of shape (1, 3)
 *     collapse_sum_to(x, shape=[1, 3])    y[0, i1] = sum(r0: x[r0, i1])
 * source  Relay, operators of the same names
 */
#include "formula.h"

struct attrs {
    const bt_type *shape;
    const bt_type *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, shape, SHAPE, NULL, "the shape of the result"),
    BT_ATTR(struct attrs, dtype, DTYPE, "None", "the dtype of data, if stated at all"),
    { 0 },
};

/* ---- types ---- */

/* The target shape: the attribute's, or that of argument 1. */
static bt_status target_of(bt_solver *s, const bt_relation_call *r, const bt_type **out)
{
    bt_tensor_parts like;
    const struct attrs *a = r->attrs;
    if (r->narg == 1) {
        *out = a->shape;
        return NULL;
    }
    BT_TRY(bt_relation_tensor(s, r, 1, &like));
    *out = bt_as_tensor_type(bt_relation_arg(s, r, 1))->shape;
    return NULL;
}

/* A dim that is 1 or another one, which is the result's: of two that are not known the greater
 * one is not asked for. */
static bt_status relate_dim(bt_solver *s, const bt_relation_call *r, const bt_type *from,
                            const bt_type *to, const char *what)
{
    int64_t low, high;
    BT_TRY(bt_relation_dim(s, r, from, &from));
    BT_TRY(bt_relation_dim(s, r, to, &to));
    bt_dim_bounds(from, &low, &high);
    return bt_relation_require(s, r, low > 1 ? BT_CHECK_EQUAL : BT_CHECK_BROADCAST, from,
                               to, what);
}

/* Whether the dims of a shape stand below those that they broadcast to, and are no numbers that do
 * not. */
static int are_aligned(const bt_shape_type *few, const bt_shape_type *many)
{
    int64_t a, b;
    int ok = few && many && !few->rest && !many->rest && few->n <= many->n;
    for (uint32_t i = 0; ok && i < few->n; i++)
        ok = !bt_dim_is_const(few->dims[i], &a) || a == 1 ||
             !bt_dim_is_const(many->dims[many->n - few->n + i], &b) || a == b;
    return ok;
}

/* One of the two shapes broadcasts to the other. */
static bt_status relate_both(bt_solver *s, const bt_relation_call *r, int is_collapse)
{
    const struct attrs *a = r->attrs;
    const char *what = is_collapse ? "the shape summed to, broadcast, and data"
                                   : "data, broadcast, and the shape asked for";
    bt_tensor_parts data;
    const bt_type *target, *shape, *both, *result;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(target_of(s, r, &target));
    if (r->narg == 1 && a->dtype)
        BT_TRY(bt_relation_unify(s, r, data.dtype, a->dtype, "dtype and that of data"));
    shape = bt_as_tensor_type(bt_relation_arg(s, r, 0))->shape;
    result = bt_type_tensor(bt_relation_store(s), target, data.dtype);
    if (!result)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result(s, r, result));
    const bt_shape_type *few = bt_as_shape_type(is_collapse ? target : shape),
                        *many = bt_as_shape_type(is_collapse ? shape : target);
    if (!are_aligned(few, many)) {
        BT_TRY(bt_relation_broadcast(s, r, shape, target, &both));
        return bt_relation_unify(s, r, both, is_collapse ? shape : target, what);
    }
    for (uint32_t i = 0; i < few->n; i++)
        BT_TRY(relate_dim(s, r, few->dims[i], many->dims[many->n - few->n + i], what));
    return NULL;
}

static bt_status relate_broadcast(bt_solver *s, const bt_relation_call *r)
{
    return relate_both(s, r, 0);
}

static bt_status relate_collapse(bt_solver *s, const bt_relation_call *r)
{
    return relate_both(s, r, 1);
}

/* ---- formulas ---- */

/* The extent of axis k of the result, as the operator's own arguments tell it. */
static void write_extent(bt_formula *f, const bt_formula_call *call, const char *list,
                         uint32_t k)
{
    int64_t number;
    bt_formula_clear(f, list);
    if (bt_dim_is_const(bt_tensor_shape(call->result)->dims[k], &number))
        bt_formula_item(f, list, "%lld", (long long)number);
    else
        bt_formula_item(f, list, call->narg == 2 ? "extent(like, %u)" : "shape[%u]", k);
}

static void write_axes(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->result);
    bt_formula_clear(f, "y");
    for (uint32_t k = 0; k < rank; k++) {
        write_extent(f, call, "extent", k);
        bt_formula_item(f, "y", "i%u in $extent", k);
    }
}

static int is_one(const bt_type *dim)
{
    int64_t extent;
    return bt_dim_is_const(dim, &extent) && extent == 1;
}

static void write_broadcast(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t wide = bt_formula_rank(f, call->result);
    const bt_shape_type *from = bt_tensor_shape(call->args[0]);
    const bt_shape_type *to = bt_tensor_shape(call->result);
    write_axes(f, call);
    bt_formula_clear(f, "at");
    for (uint32_t k = 0; k < rank && wide >= rank; k++) {
        uint32_t at = wide - rank + k;
        if (is_one(from->dims[k]))
            bt_formula_item(f, "at", "0");
        else if (from->dims[k] == to->dims[at])
            bt_formula_item(f, "at", "i%u", at);
        else // the extent is 1 or that of the result: only a run can tell
            bt_formula_item(f, "at", "mod(i%u, extent(data, %u))", at, k);
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

static void write_collapse(bt_formula *f, const bt_formula_call *call)
{
    uint32_t wide = bt_formula_rank(f, call->args[0]);
    uint32_t rank = bt_formula_rank(f, call->result);
    const bt_shape_type *from = bt_tensor_shape(call->args[0]);
    const bt_shape_type *to = bt_tensor_shape(call->result);
    int sums = 0, chooses = 0;
    write_axes(f, call);
    bt_formula_clear(f, "at");
    for (uint32_t k = 0; k < wide && wide >= rank; k++) {
        int is_leading = k < wide - rank;
        uint32_t at = k - (wide - rank);
        if (!is_leading && from->dims[k] == to->dims[at]) {
            bt_formula_item(f, "at", "i%u", at);
            continue;
        }
        sums = 1;
        bt_formula_item(f, "at", "r%u", k);
        bt_formula_item(f, "r", "r%u in extent(data, %u)", k, k);
        if (!is_leading && !is_one(to->dims[at])) {
            chooses = 1;
            write_extent(f, call, "extent", at);
            bt_formula_item(f, "where", "mod(r%u, $extent) == i%u", k, at);
        }
    }
    bt_formula_add(f, chooses ? "y: t[$y] = sum($r | $[ && ]where: data[$at])"
                      : sums  ? "y: t[$y] = sum($r: data[$at])"
                              : "y: t[$y] = data[$at]");
}

/* ---- rows ---- */

static const bt_op_input any_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};
static const bt_op_input any_like[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { .name = "like", .type = "u:any[..]", .doc = "only its shape is used" },
    { 0 },
};
static const bt_op_input number_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "what to sum" },
    { 0 },
};
static const bt_op_input number_like[] = {
    { .name = "data", .type = "t:number[..]", .doc = "what to sum" },
    { .name = "like", .type = "u:any[..]", .doc = "only its shape is used" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "broadcast_to",
        .revision = 1,
        .doc = "Repeats axes of extent 1 until the tensor has a shape.\n"
               "Shapes are aligned at the right; axes that data lacks count as 1.",
        .source = "Relay, broadcast_to; NumPy's broadcasting",
        .inputs = any_in,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_broadcast,
        .write_formula = write_broadcast,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[3] | shape=[2, 3]\nint8[2, 1] | shape=[2, "
                                   "3]\nbool[] | shape=[2, 2]\n"
                                   "float32[1, 3] | shape=[0, 3]\nfloat32[] | shape=[]")),
    },
    {
        .name = "broadcast_to_like",
        .revision = 1,
        .doc = "Repeats axes of extent 1 until the tensor has the shape of another.\n"
               "As broadcast_to.",
        .source = "Relay, broadcast_to_like",
        .inputs = any_like,
        .relate = relate_broadcast,
        .write_formula = write_broadcast,
        .facets = BT_FACET_ROWS(BT_CASES("float32[3], int8[2, 3]\nbool[], float32[2, 2]\n"
                                         "float32[2, 1], float32[2, 0]")),
    },
    {
        .name = "collapse_sum_to",
        .revision = 1,
        .doc = "Sums a tensor down to a shape that broadcasts to its own.\n"
               "The adjoint of broadcast_to.",
        .source = "Relay, collapse_sum_to",
        .inputs = number_in,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_collapse,
        .write_formula = write_collapse,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3] | shape=[3]\nfloat32[2, 3] | shape=[2, 1]\n"
                     "int8[2, 3] | shape=[]\nfloat32[2, 3] | shape=[2, 3]\n"
                     "float32[0, 3] | shape=[1, 3]\nfloat32[0, 3] | shape=[3]\n"
                     "float32[3, 0] | shape=[]")),
    },
    {
        .name = "collapse_sum_like",
        .revision = 1,
        .doc =
            "Sums a tensor down to the shape of another, which broadcasts to its own.\n"
            "As collapse_sum_to.",
        .source = "Relay, collapse_sum_like",
        .inputs = number_like,
        .relate = relate_collapse,
        .write_formula = write_collapse,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[2, 3], int8[3]\nfloat32[2, 3], bool[1, 1]\n"
                                   "int32[4, 2, 3], int32[2, 1]\nfloat32[], float32[]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_broadcast[] = { BT_OPS(ops), { 0 } };
