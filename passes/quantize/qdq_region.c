#include "quantize/qdq_region.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/layout.h"

enum { MAX_CODES = 1 << 16 };

bt_status qdq_refuse(struct qdq_region *r, const bt_call *call, const char *why)
{
    r->left = call;
    r->why = why;
    return r->chain.status;
}

int qdq_is_refusal(bt_status status)
{
    return status && (status->code == BT_ERR_TYPE || status->code == BT_ERR_SHAPE ||
                      status->code == BT_ERR_KIND || status->code == BT_ERR_ATTRIBUTE ||
                      status->code == BT_ERR_UNSUPPORTED);
}

const bt_call *qdq_op_call(const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    return call && call->callee_kind == BT_CALLEE_OP ? call : NULL;
}

const bt_tensor *qdq_constant(const struct qdq_region *r, const bt_value *value)
{
    return bt_const_tensor(
        bt_module_constant(bt_rewrite_call(r->rewrite)->module, value));
}

int qdq_is_number(const bt_value *value)
{
    const bt_shape_type *shape = bt_tensor_shape(value->type);
    return shape && shape->n == 0 && !shape->rest;
}

/* A vector of one number, as the zeros of symmetric weights are, as that: it lies along any axis then. */
static bt_status make_number(struct qdq_region *r, const bt_value **value)
{
    const bt_tensor *tensor = qdq_constant(r, *value);
    int is_one = tensor->rank && tensor->nelem > 0;
    for (int64_t i = 1; i < tensor->nelem; i++)
        is_one &= bt_tensor_get(tensor, i) == bt_tensor_get(tensor, 0);
    if (is_one)
        *value = chain_scalar(&r->chain, tensor->dtype, bt_tensor_get(tensor, 0));
    return r->chain.status;
}

bt_status qdq_dequantized(struct qdq_region *r, const bt_value *value,
                          struct qdq_value *out, int *is_there)
{
    const bt_call *call = bt_as_op_call(value, "qnn.dequantize");
    const bt_tensor *scale = call ? qdq_constant(r, call->args[1]) : NULL;
    *is_there = scale && qdq_constant(r, call->args[2]) && scale->rank <= 1 &&
                scale->dtype == BT_FLOAT32 &&
                bt_tensor_dtype(value->type) == BT_FLOAT32 &&
                !bt_dtype_is_float(bt_tensor_dtype(call->args[0]->type)) &&
                bt_call_int(call, "block_size", 0) == 0;
    if (!*is_there)
        return NULL;
    *out = (struct qdq_value){ call->args[0], call->args[1], call->args[2],
                               call_axis(call, "axis", -1, type_rank(value->type)) };
    BT_TRY(make_number(r, &out->scale));
    return make_number(r, &out->zero);
}

bt_status qdq_operand(struct qdq_region *r, const bt_value *old, struct qdq_value *out,
                      int *is_there)
{
    const bt_value *value;
    BT_TRY(bt_rewrite_operand(r->rewrite, old, &value));
    return qdq_dequantized(r, value, out, is_there);
}

int qdq_same(const struct qdq_region *r, const bt_value *a, const bt_value *b)
{
    const bt_tensor *x = qdq_constant(r, a), *y = qdq_constant(r, b);
    if (a == b)
        return 1;
    if (!x || !y || x->dtype != y->dtype || x->nelem != y->nelem || x->rank != y->rank)
        return 0;
    for (int64_t i = 0; i < x->nelem; i++) {
        if (!(bt_tensor_get(x, i) == bt_tensor_get(y, i)))
            return 0;
    }
    return 1;
}

/* ---- codes ---- */

static double number(const struct qdq_region *r, const bt_value *value)
{
    return bt_tensor_get(qdq_constant(r, value), 0);
}

int qdq_is_to_even(const struct qdq_region *r)
{
    return strcmp(r->rounding, "TOEVEN") == 0;
}

static float whole(const struct qdq_region *r, float x)
{
    if (strcmp(r->rounding, "FLOOR") == 0)
        return floorf(x);
    if (strcmp(r->rounding, "CEIL") == 0)
        return ceilf(x);
    if (strcmp(r->rounding, "TONEAREST") == 0)
        return roundf(x);
    if (strcmp(r->rounding, "UPWARD") == 0)
        return floorf(x) + (x - floorf(x) >= 0.5f);
    return nearbyintf(x);
}

double qdq_code(const struct qdq_region *r, double value, int *is_exact)
{
    const float scale = (float)number(r, r->to.scale), real = (float)value;
    const float code = whole(r, real / scale);
    *is_exact = isinf(value) || code * scale == real;
    return (double)code + number(r, r->to.zero);
}

/* Whether one multiplication gives the codes that the number and a division give, for all
 * codes that there are. */
static int is_multiplied(const struct qdq_region *r, const struct qdq_value *from)
{
    const float in = (float)number(r, from->scale), out = (float)number(r, r->to.scale),
                factor = in / out;
    const double from_zero = number(r, from->zero), zero = number(r, r->to.zero);
    int64_t least, most, low, high;
    bt_dtype_limits(bt_tensor_dtype(from->codes->type), &least, &most);
    bt_dtype_limits(r->dtype, &low, &high);
    if (most - least >= MAX_CODES)
        return 0;
    for (double code = least; code <= most; code++) {
        const float difference = (float)(code - from_zero), real = difference * in,
                    a = whole(r, real / out), b = whole(r, difference * factor);
        if (fmin(fmax((double)a, low - zero), high - zero) !=
            fmin(fmax((double)b, low - zero), high - zero))
            return 0;
    }
    return 1;
}

bt_status qdq_recode(struct qdq_region *r, const bt_value *value,
                     const struct qdq_value *from, const bt_value **out)
{
    char attrs[128], dtype[BT_DTYPE_NAME_SIZE];
    const bt_value *args[] = { value, r->to.scale, r->to.zero },
                   *all[] = { from->codes, from->scale, from->zero, r->to.scale,
                              r->to.zero };
    const int is_one = qdq_is_number(from->scale) && qdq_is_number(from->zero);
    if (is_one && bt_tensor_dtype(from->codes->type) == r->dtype &&
        qdq_same(r, from->scale, r->to.scale) && qdq_same(r, from->zero, r->to.zero)) {
        *out = from->codes;
        return NULL;
    }
    if (!r->quantize)
        return qdq_refuse(r, NULL, "its operands have different scales");
    bt_dtype_name(r->dtype, dtype, sizeof(dtype));
    snprintf(attrs, sizeof(attrs), QDQ_REQUANTIZE, r->rounding, dtype);
    if (is_one && is_multiplied(r, from))
        return bt_build(r->chain.builder, "qnn.requantize", attrs, all, 5, out);
    return bt_build_op(r->chain.builder, r->quantize->op, r->quantize->attrs, 3, args,
                       out);
}

bt_status qdq_law_of(struct qdq_region *r, const bt_call *call, struct law *out)
{
    const bt_pass_call *pass = bt_rewrite_call(r->rewrite);
    struct qdq_known *known = bt_rewrite_state(r->rewrite);
    bt_map *laws = &known->laws;
    struct law *law = bt_map_find(laws, call);
    if (!law) {
        law = BT_NEW(pass->scratch, struct law);
        if (!law)
            return bt_no_memory();
        BT_TRY(law_find(bt_rewrite_ctx(r->rewrite), pass->module->store, pass->scratch,
                        pass->module, call, law));
        if (!bt_map_put(laws, call, law))
            return bt_no_memory();
    }
    *out = *law;
    return NULL;
}

double qdq_most_difference(const struct qdq_region *r, const struct qdq_value *x)
{
    const bt_tensor *zero = qdq_constant(r, x->zero);
    double found = 0;
    int64_t least, most;
    bt_dtype_limits(bt_tensor_dtype(x->codes->type), &least, &most);
    for (int64_t i = 0; i < zero->nelem; i++)
        found = fmax(found,
                     fmax(bt_tensor_get(zero, i) - least, most - bt_tensor_get(zero, i)));
    return found;
}

/* ---- operators ---- */

static int is_same_schema(const bt_op *a, const bt_op *b)
{
    const bt_attr *x = a->attrs, *y = b->attrs;
    if (x == y)
        return a->attrs_nbytes == b->attrs_nbytes;
    while (x && y && x->name && y->name && strcmp(x->name, y->name) == 0 &&
           x->kind == y->kind && x->offset == y->offset) {
        x++;
        y++;
    }
    return x && y && !x->name && !y->name && a->attrs_nbytes == b->attrs_nbytes;
}

bt_status qdq_twin(struct qdq_region *r, const bt_call *call, uint32_t nin,
                   const bt_op **out)
{
    const char *name = call->op->name;
    char twin[64];
    const bt_op *op;
    uint32_t n = 0;
    *out = NULL;
    name += strncmp(name, "nn.", 3) == 0 ? 3 : 0;
    if (strchr(name, '.') || strlen(name) + sizeof("qnn.") > sizeof(twin))
        return NULL;
    snprintf(twin, sizeof(twin), "qnn.%s", name);
    bt_status status = bt_op_get(bt_rewrite_ctx(r->rewrite), twin, &op);
    if (status)
        return status->code == BT_ERR_NAME ? NULL : status;
    while (op->inputs[n].name)
        n++;
    if (n == nin && is_same_schema(op, call->op))
        *out = op;
    return NULL;
}
