/*
 * The bound of a sum of products of codes. Where x - zx lies in low..high, which holds 0, a
 * term with weight w lies between min and max of (w - zw) * low and (w - zw) * high; one is
 * not above 0 and the other not below. So the sum of all the least ones and that of all the
 * greatest ones bound every sum of some terms, whatever their order: what stands in an
 * accumulator on the way, too. For low = -high it is high times the sum of |w - zw|.
 */
#include "quantize/quant_proof.h"

void proof_all(const struct proof *p, struct proof_box *out)
{
    *out = (struct proof_box){ 0 };
    for (uint32_t i = 0; i < p->weight->rank; i++)
        out->end[i] = p->weight->dims[i];
}

static int64_t zero_of(const struct proof *p, int64_t channel)
{
    return bt_tensor_get_int(p->zero, p->zero->nelem > 1 ? channel : 0);
}

void proof_add(const struct proof *p, const struct proof_box *box, int64_t *low,
               int64_t *high)
{
    const bt_tensor *t = p->weight;
    int64_t at[BT_MAX_RANK], strides[BT_MAX_RANK], position = 0, stride = 1;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (box->begin[i] >= box->end[i])
            return;
        at[i] = box->begin[i];
        strides[i] = stride;
        position += at[i] * stride;
        stride *= t->dims[i];
    }
    for (;;) {
        const int64_t channel = at[p->axis],
                      w = bt_tensor_get_int(t, position) - zero_of(p, channel),
                      one = w * p->low, other = w * p->high;
        low[channel] += one < other ? one : other;
        high[channel] += one < other ? other : one;
        uint32_t i = t->rank;
        while (i-- > 0 && ++at[i] == box->end[i]) {
            at[i] = box->begin[i];
            position -= (box->end[i] - box->begin[i] - 1) * strides[i];
        }
        if (i == UINT32_MAX)
            return;
        position += strides[i];
    }
}

int proof_fits(int64_t low, int64_t high, int64_t more, uint32_t bits)
{
    const int64_t limit = INT64_C(1) << (bits - 1);
    return low - more >= -limit && high + more < limit;
}
