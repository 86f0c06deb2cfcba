#include "quantize/qdq_table.h"

#include "common/evaluate.h"
#include "common/layout.h"

enum { MAX_CALLS = 64, MAX_BITS = 8 };

struct table {
    struct qdq_region *region;
    const bt_call *root;
    struct qdq_value of; /* codes NULL: not met yet */
    bt_map done;         /* old value -> its 256 elements, or a number */
    uint32_t ncall;
};

/* ---- what it is a function of ---- */

static int is_of(struct table *t, const struct qdq_value *x)
{
    const struct qdq_region *r = t->region;
    if (!t->of.codes)
        t->of = *x;
    return t->of.codes == x->codes && qdq_same(r, t->of.scale, x->scale) &&
           qdq_same(r, t->of.zero, x->zero) && qdq_is_number(x->scale) &&
           qdq_is_number(x->zero);
}

/* Whether a value of the old program is a function of one dequantized value, of its shape. */
static bt_status find(struct table *t, const bt_value *old, int *found)
{
    struct qdq_region *r = t->region;
    const bt_value *value;
    struct qdq_value x;
    struct law law;
    int is_there;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    BT_TRY(qdq_dequantized(r, value, &x, &is_there));
    const bt_tensor *constant = qdq_constant(r, value);
    const bt_call *call = qdq_op_call(old);
    *found = 1;
    if (is_there || constant) {
        *found = is_there ? is_of(t, &x) && type_same_shape(old->type, t->root->base.type)
                          : constant->nelem == 1;
        return NULL;
    }
    *found =
        call && t->ncall++ < MAX_CALLS && type_same_shape(old->type, t->root->base.type);
    if (!*found)
        return NULL;
    BT_TRY(qdq_law_of(r, call, &law));
    *found = law.is_function != 0;
    for (uint32_t i = 0; *found && i < call->narg; i++)
        BT_TRY(find(t, call->args[i], found));
    return NULL;
}

/* ---- its elements ---- */

/* What the reference evaluator gives for a call of constants; *out NULL: nothing. */
static bt_status evaluate(struct qdq_region *r, const bt_op *op, const void *attrs,
                          uint32_t n, const bt_value *const *args, const bt_value **out)
{
    const bt_pass_call *pass = bt_rewrite_call(r->rewrite);
    const bt_value *built;
    leaf_list leaves = { 0 };
    *out = NULL;
    bt_status status = bt_build_op(r->chain.builder, op, attrs, n, args, &built);
    if (status) // shapes as attributes
        return qdq_is_refusal(status) ? NULL : status;
    for (uint32_t i = 0; i < n; i++) {
        const bt_const *one = bt_as_const(bt_module_constant(pass->module, args[i]));
        if (!one)
            return NULL;
        BT_TRY(evaluate_leaves(pass->scratch, one->object, &leaves));
    }
    return evaluate_call(r->chain.builder, pass->scratch, bt_as_call(built), &leaves,
                         out);
}

/* All codes of the type of a tensor, from the least, along its last axis. */
static bt_status all_codes(struct qdq_region *r, const bt_type *of, const bt_value **out)
{
    const bt_dtype dtype = bt_tensor_dtype(of);
    const int64_t n = INT64_C(1) << BT_DTYPE_BITS(dtype);
    const uint32_t rank = type_rank(of) ? type_rank(of) : 1;
    int64_t dims[BT_MAX_RANK];
    int64_t least, most;
    bt_tensor *codes;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + 1 < rank ? 1 : n;
    bt_dtype_limits(dtype, &least, &most);
    BT_TRY(bt_tensor_create(bt_rewrite_ctx(r->rewrite), dtype, rank, dims, &codes));
    for (int64_t i = 0; i < n; i++)
        bt_tensor_set(codes, i, least + (double)i);
    bt_status status = bt_build_const(r->chain.builder, &codes->base, out);
    bt_tensor_unref(codes);
    return status;
}

static bt_status fill(struct table *t, const bt_value *old, const bt_value **out);

static bt_status fill_call(struct table *t, const bt_call *call, const bt_value **out)
{
    struct qdq_region *r = t->region;
    const bt_value **args =
        BT_NEWS(bt_rewrite_call(r->rewrite)->scratch, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(fill(t, call->args[i], &args[i]));
        if (!args[i])
            return NULL;
    }
    return evaluate(r, call->op, call->attrs, call->narg, args, out);
}

static bt_status fill_source(struct table *t, const bt_value **out)
{
    struct qdq_region *r = t->region;
    const bt_value *args[3] = { NULL, t->of.scale, t->of.zero };
    const bt_op *dequantize;
    BT_TRY(bt_op_get(bt_rewrite_ctx(r->rewrite), "qnn.dequantize", &dequantize));
    BT_TRY(all_codes(r, t->of.codes->type, &args[0]));
    return evaluate(r, dequantize, NULL, 3, args, out);
}

/* The elements of a value of the old program for all codes, or a number; *out NULL: they
 * cannot be computed. */
static bt_status fill(struct table *t, const bt_value *old, const bt_value **out)
{
    struct qdq_region *r = t->region;
    const bt_value *value;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    const bt_tensor *constant = qdq_constant(r, value);
    const bt_call *call = qdq_op_call(old);
    *out = bt_map_find(&t->done, old);
    if (*out)
        return NULL;
    if (constant)
        *out = chain_scalar(&r->chain, constant->dtype, bt_tensor_get(constant, 0));
    else if (bt_as_op_call(value, "qnn.dequantize"))
        BT_TRY(fill_source(t, out));
    else
        BT_TRY(fill_call(t, call, out));
    BT_TRY(r->chain.status);
    return !*out || bt_map_put(&t->done, old, (void *)(uintptr_t)*out) ? NULL
                                                                       : bt_no_memory();
}

/* ---- the call ---- */

static bt_status take(struct table *t, const bt_value *codes, const bt_value **out)
{
    struct chain *chain = &t->region->chain;
    const bt_dtype from = bt_tensor_dtype(t->of.codes->type);
    int64_t least, most;
    bt_dtype_limits(from, &least, &most);
    const bt_value *at = chain_op1(chain, "cast", "dtype=\"int32\"", t->of.codes);
    if (least < 0)
        at = chain_op2(chain, "add", NULL, at, chain_scalar(chain, BT_INT32, -least));
    *out = chain_op2(chain, "take", "axis=0", codes, at);
    return chain->status;
}

bt_status qdq_table(struct qdq_region *r, const bt_call *call, const bt_value **out)
{
    struct table t = { .region = r, .root = call };
    const bt_value *args[3] = { NULL, r->to.scale, r->to.zero }, *codes = NULL;
    int found;
    BT_TRY(find(&t, &call->base, &found));
    if (!found || !t.of.codes ||
        BT_DTYPE_BITS(bt_tensor_dtype(t.of.codes->type)) > MAX_BITS)
        return qdq_refuse(r, call,
                          "it is no function of one operand of at most 8 bits and one "
                          "scale");
    bt_map_init(&t.done, bt_rewrite_call(r->rewrite)->scratch, 0);
    BT_TRY(fill(&t, &call->base, &args[0]));
    if (args[0])
        BT_TRY(evaluate(r, r->quantize->op, r->quantize->attrs, 3, args, &codes));
    const bt_tensor *tensor = codes ? qdq_constant(r, codes) : NULL;
    if (!tensor ||
        tensor->nelem != INT64_C(1) << BT_DTYPE_BITS(bt_tensor_dtype(t.of.codes->type)))
        return qdq_refuse(r, call, "its table cannot be computed");
    if (tensor->rank != 1)
        codes = chain_op1(&r->chain, "reshape", "newshape=[-1]", codes);
    return take(&t, codes, out);
}
