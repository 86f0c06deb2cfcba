/* Calls of qnn.requantize and qnn.add, at which the graph is cut: attributes, zero points, scales. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <baton/op.h>

#include "recognise_parts.h"

const struct npu_cut *npu_cut_of(const struct npu_reader *r, uint32_t array)
{
    const struct npu_cut *found = NULL;
    for (uint32_t i = 0; i < r->ncut; i++)
        found = r->cuts[i].input == array ? &r->cuts[i] : found;
    return found;
}

/* The parameter that a value is; -1: none. */
static int32_t param_of(const bt_func *func, const bt_value *value)
{
    uint32_t i = 0;
    while (i < func->block->nparam && &func->block->params[i]->base != value)
        i++;
    return i < func->block->nparam ? (int32_t)i : -1;
}

static int as_number(const bt_value *value, double *out)
{
    const bt_tensor *t = bt_const_tensor(value);
    if (!t || t->nelem != 1)
        return 0;
    *out = bt_tensor_get(t, 0);
    return 1;
}

static bt_status read_zero(struct npu_reader *r, const bt_value *value, int32_t *out)
{
    double zero;
    if (!as_number(value, &zero))
        return NPU_REFUSE(r, "a zero point is not one constant");
    if (fabs(zero) > 255)
        return NPU_REFUSE(r, "a zero point is %.0f; -255 to 255 is expected", zero);
    *out = (int32_t)zero;
    return NULL;
}

/* A number, or a constant vector: its values are looked at when it is laid out. */
static bt_status read_scale(struct npu_reader *r, const bt_value *value, float *number,
                            int32_t *vector)
{
    double found;
    uint32_t rank;
    *vector = -1;
    if (as_number(value, &found)) {
        *number = (float)found;
        return NULL;
    }
    *vector = param_of(r->func, value);
    return *vector >= 0 && r->is_constant[*vector] &&
                   bt_tensor_dtype(value->type) == BT_FLOAT32 &&
                   bt_tensor_static(value->type, &rank, NULL) && rank == 1
               ? NULL
               : NPU_REFUSE(
                     r, "a scale is neither one constant nor a constant float32 vector");
}

static bt_status check_int8(struct npu_reader *r, const bt_call *call, const char *what)
{
    char name[BT_DTYPE_NAME_SIZE];
    const bt_dtype dtype = bt_tensor_dtype(call->base.type);
    return dtype == BT_INT8 ? NULL
                            : NPU_REFUSE(r, "it %s to %s, not int8", what,
                                         bt_dtype_name(dtype, name, sizeof(name)));
}

bt_status npu_read_requantize(struct npu_reader *r, const bt_call *call,
                              struct npu_qnn_requantize *out)
{
    static const struct {
        const char *name;
        uint32_t arithmetic;
    } rows[] = { { "None", NPU_RATIO_INT64 },
                 { "int64", NPU_RATIO_INT64 },
                 { "float32", NPU_RATIO_FLOAT32 },
                 { "float64", NPU_RATIO_FLOAT64 } };
    const char *arithmetic = bt_call_text(call, "compute_dtype"),
               *rounding = bt_call_text(call, "rounding");
    *out = (struct npu_qnn_requantize){ .is_even = strcmp(rounding, "TOEVEN") == 0 };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(arithmetic, rows[i].name) == 0)
            out->ratio.arithmetic = rows[i].arithmetic;
    }
    if (!out->ratio.arithmetic)
        return NPU_REFUSE(
            r, "it requantizes by %s; int64, float32 or float64 is expected", arithmetic);
    if (!out->is_even && strcmp(rounding, "None") != 0 && strcmp(rounding, "UPWARD") != 0)
        return NPU_REFUSE(r, "it rounds %s; UPWARD or TOEVEN is expected", rounding);
    BT_TRY(check_int8(r, call, "requantizes"));
    out->axis = bt_call_int(call, "axis", -1);
    BT_TRY(read_scale(r, call->args[1], &out->ratio.in, &out->vectors[0]));
    BT_TRY(read_zero(r, call->args[2], &out->zero));
    BT_TRY(read_scale(r, call->args[3], &out->ratio.out, &out->vectors[1]));
    return read_zero(r, call->args[4], &out->out_zero);
}

bt_status npu_read_add(struct npu_reader *r, const bt_call *call, struct npu_qnn_add *out)
{
    double scales[2], whole;
    BT_TRY(check_int8(r, call, "adds"));
    if (!as_number(call->args[6], &whole))
        return NPU_REFUSE(r, "the scale of qnn.add's result is not one constant");
    for (uint32_t i = 0; i < 2; i++) {
        if (!as_number(call->args[2 + 2 * i], &scales[i]))
            return NPU_REFUSE(r, "a scale of what qnn.add adds is not one constant");
        BT_TRY(read_zero(r, call->args[3 + 2 * i], &out->zeros[i]));
        out->ratios[i] = (float)scales[i] / (float)whole;
    }
    return read_zero(r, call->args[7], &out->out_zero);
}

/* How far sums may be shifted where the program computes in float32. It rounds sums beyond 24 bits
 * before it shifts them, which only the clamp hides: they must be beyond its limits. */
static uint32_t most_shift(const struct npu_reader *r, const struct npu_requantize *s)
{
    const int64_t most = INT64_C(1) << 24,
                  reach = -(int64_t)s->low > s->high ? -(int64_t)s->low : s->high;
    uint32_t by = 24;
    if (r->low >= -most && r->high <= most)
        return 31;
    while (by > 0 && most >> by < reach)
        by--;
    return by;
}

bt_status npu_take_ratio(struct npu_reader *r, const struct npu_qnn_requantize *q,
                         const struct npu_requantize *s, struct npu_terms *terms)
{
    const int32_t rank = (int32_t)r->stage->rank;
    struct npu_ratio ratio = q->ratio;
    ratio.most_shift = ratio.arithmetic == NPU_RATIO_FLOAT32 ? most_shift(r, s) : 31;
    if (q->vectors[0] < 0 && q->vectors[1] < 0) {
        const char *why = npu_ratio_numbers(&ratio, (int)r->config->has_multiplier,
                                            &terms->factor, &terms->shift);
        return why ? NPU_REFUSE(r, "the ratio of scales %g and %g %s", ratio.in,
                                ratio.out, why)
                   : NULL;
    }
    const int64_t axis = q->axis < 0 ? q->axis + rank : q->axis;
    if (axis != r->out->result.axes[NPU_C])
        return NPU_REFUSE(r, "scales lie along axis %" PRId64 ", channels along %d", axis,
                          r->out->result.axes[NPU_C]);
    terms->ratio = ratio;
    for (uint32_t i = 0; i < 2; i++)
        terms->scales[i] = (struct npu_operand){ q->vectors[i], { -1, 0, -1, -1 } };
    return NULL;
}
