#include "quantize/quant_cut.h"

#include "common/chain.h"

/* ---- bounds ---- */

/* Bounds of sums, one for each channel. */
struct bounds {
    int64_t *low, *high;
};

static bt_status bounds_of(const struct sums *s, const struct proof_box *box,
                           struct bounds *out)
{
    out->low = BT_NEWS(s->arena, int64_t, (size_t)s->nchannel);
    out->high = BT_NEWS(s->arena, int64_t, (size_t)s->nchannel);
    if (!out->low || !out->high)
        return bt_no_memory();
    proof_add(&s->proof, box, out->low, out->high);
    return NULL;
}

/* Whether all channels fit, with those of `other` added. */
static int fit(const struct sums *s, const struct bounds *b, const struct bounds *other,
               int64_t more, uint32_t bits)
{
    int ok = 1;
    for (int64_t i = 0; ok && i < s->nchannel; i++)
        ok = proof_fits(b->low[i] + (other ? other->low[i] : 0),
                        b->high[i] + (other ? other->high[i] : 0), more, bits);
    return ok;
}

bt_status cut_proves(const struct sums *s, uint32_t bits, int *proved)
{
    struct proof_box all;
    struct bounds bounds;
    const void *mark = bt_arena_mark(s->arena);
    proof_all(&s->proof, &all);
    BT_TRY(bounds_of(s, &all, &bounds));
    *proved = fit(s, &bounds, NULL, bits == 32 ? s->most_bias : 0, bits);
    bt_arena_release(s->arena, mark);
    return NULL;
}

/* ---- parts ---- */

static bt_status add_part(struct sums *s, const struct proof_box *box, int64_t most)
{
    if (s->parts.len >= (uint64_t)most)
        return bt_fail_at(
            bt_rewrite_ctx(s->rewrite), BT_ERR_UNSUPPORTED, s->call->base.type->store,
            s->call->base.span,
            "quant-accumulate: sums of %s in int16 would be cut into more than %lld "
            "parts: give its weights fewer bits, its sums 32 bits, or leave it in float "
            "(skip)",
            s->name, (long long)most);
    return BT_PUSH(s->arena, &s->parts, *box) ? NULL : bt_no_memory();
}

bt_status cut_box(struct sums *s, uint32_t depth, struct proof_box box, int64_t most)
{
    if (depth == s->naxis)
        return bt_fail_at(bt_rewrite_ctx(s->rewrite), BT_ERR_UNSUPPORTED,
                          s->call->base.type->store, s->call->base.span,
                          "quant-accumulate: one product of %s may be beyond int16: its "
                          "codes have too many bits for sums of 16",
                          s->name);
    const uint32_t axis = s->axes[depth];
    const int64_t end = box.end[axis];
    const int is_alone = s->groups > 1 && axis == (uint32_t)s->in;
    struct bounds sum = { 0 };
    box.end[axis] = box.begin[axis];
    for (int64_t at = box.begin[axis]; at < end; at++) {
        struct proof_box step = box;
        struct bounds own;
        step.begin[axis] = at;
        step.end[axis] = at + 1;
        BT_TRY(bounds_of(s, &step, &own));
        if (box.begin[axis] == at || (!is_alone && fit(s, &own, &sum, 0, 16))) {
            for (int64_t i = 0; box.begin[axis] < at && i < s->nchannel; i++) {
                own.low[i] += sum.low[i];
                own.high[i] += sum.high[i];
            }
        } else {
            BT_TRY(add_part(s, &box, most));
            box.begin[axis] = at;
        }
        sum = own;
        box.end[axis] = at + 1;
        if (box.begin[axis] == at && !fit(s, &own, NULL, 0, 16)) {
            BT_TRY(cut_box(s, depth + 1, step, most));
            box.begin[axis] = at + 1;
        }
    }
    return box.begin[axis] < box.end[axis] ? add_part(s, &box, most) : NULL;
}

/* ---- calls of parts ---- */

static bt_status build_weight(const struct sums *s, const struct proof_box *box,
                              const bt_value **out)
{
    const bt_tensor *t = s->proof.weight;
    int64_t dims[BT_MAX_RANK], from = 0;
    bt_tensor *part;
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = box->end[i] - box->begin[i];
    BT_TRY(bt_tensor_create(bt_rewrite_ctx(s->rewrite), t->dtype, t->rank, dims, &part));
    for (int64_t k = 0; k < part->nelem; k++) {
        int64_t rest = k, stride = 1;
        from = 0;
        for (uint32_t i = t->rank; i-- > 0;) {
            from += (box->begin[i] + rest % dims[i]) * stride;
            rest /= dims[i];
            stride *= t->dims[i];
        }
        bt_tensor_set_int(part, k, bt_tensor_get_int(t, from));
    }
    bt_status status = bt_build_const(bt_rewrite_builder(s->rewrite), &part->base, out);
    bt_tensor_unref(part);
    return status;
}

/* The attributes of a call of a part, whose padding is `padding`. */
static bt_status part_attrs(const struct sums *s, const int64_t *padding,
                            const void **out)
{
    bt_call call = *s->call;
    const bt_type *dtype = bt_type_dtype(call.base.type->store, BT_INT16);
    const bt_ints pads = { 2 * s->nspace, padding }, none = { BT_NONE_LIST, NULL };
    *out =
        dtype ? bt_attrs_with(s->arena, &call, "out_dtype", &dtype, sizeof(dtype)) : NULL;
    call.attrs = *out;
    if (*out && s->nspace) {
        call.attrs = bt_attrs_with(s->arena, &call, "padding", &pads, sizeof(pads));
        *out = call.attrs
                   ? bt_attrs_with(s->arena, &call, "kernel_size", &none, sizeof(none))
                   : NULL;
    }
    return *out ? NULL : bt_no_memory();
}

/* What a part of the window meets: the data moved against its padding. */
static int place_window(const struct sums *s, const struct proof_box *box,
                        int64_t *padding, int64_t *crop)
{
    int64_t dilation[3];
    int is_cropped = 0;
    if (!bt_call_ints(s->call, "padding", 2 * s->nspace, padding) ||
        !bt_call_ints(s->call, "dilation", s->nspace, dilation))
        return -1;
    for (uint32_t i = 0; i < s->nspace; i++) {
        const int axis = s->window[i];
        int64_t ends[2] = { padding[i] - box->begin[axis] * dilation[i],
                            padding[s->nspace + i] -
                                (s->proof.weight->dims[axis] - box->end[axis]) *
                                    dilation[i] };
        for (uint32_t k = 0; k < 2; k++) {
            crop[2 * s->data_space[i] + (int)k] = ends[k] < 0 ? ends[k] : 0;
            padding[i + k * s->nspace] = ends[k] < 0 ? 0 : ends[k];
            is_cropped |= ends[k] < 0;
        }
    }
    return is_cropped;
}

static bt_status build_part(struct sums *s, const struct proof_box *box,
                            const bt_value *data, const bt_value **out)
{
    bt_builder *b = bt_rewrite_builder(s->rewrite);
    struct chain chain = { .builder = b };
    int64_t *padding = BT_NEWS(s->arena, int64_t, 6), crop[2 * BT_MAX_RANK] = { 0 };
    const bt_value *args[6];
    const void *attrs;
    bt_text text;
    if (!padding)
        return bt_no_memory();
    if (box->begin[s->in] > 0 || box->end[s->in] < s->proof.weight->dims[s->in])
        data = chain_op1f(&chain, data, "strided_slice",
                          "begin=[%lld], end=[%lld], strides=[%lld], axes=[%d]",
                          (long long)box->begin[s->in],
                          (long long)(s->groups > 1 ? INT32_MAX : box->end[s->in]),
                          (long long)(s->groups > 1 ? s->proof.weight->dims[s->in] : 1),
                          s->data_in);
    if (s->nspace && place_window(s, box, padding, crop)) {
        bt_text_init(&text, s->arena);
        for (uint32_t i = 0; i < 2 * (s->nspace + 2); i++)
            bt_text_addf(&text, "%s%lld", i ? ", " : "pad_width=[", (long long)crop[i]);
        bt_text_addf(&text, "]");
        data = bt_text_get(&text) ? chain_op1(&chain, "nn.pad", bt_text_get(&text), data)
                                  : NULL;
    }
    BT_TRY(chain.status);
    if (!data)
        return bt_no_memory();
    for (uint32_t i = 2; i < 6; i++)
        BT_TRY(bt_rewrite_operand(s->rewrite, s->call->args[i], &args[i]));
    args[0] = data;
    BT_TRY(build_weight(s, box, &args[1]));
    BT_TRY(part_attrs(s, padding, &attrs));
    BT_TRY(bt_build_op(b, s->call->op, attrs, 6, args, out));
    return bt_build(b, "cast", "dtype=\"int32\"", out, 1, out);
}

bt_status cut_build(struct sums *s, const bt_value **out)
{
    const bt_value *data, *sum = NULL;
    BT_TRY(bt_rewrite_operand(s->rewrite, s->call->args[0], &data));
    for (size_t i = 0; i < s->parts.len; i++) {
        const bt_value *part;
        BT_TRY(build_part(s, &s->parts.at[i], data, &part));
        if (sum)
            BT_TRY(bt_build(bt_rewrite_builder(s->rewrite), "add", NULL,
                            (const bt_value *[]){ sum, part }, 2, &part));
        sum = part;
    }
    *out = sum;
    return NULL;
}
