/*
 * quant-realize: quant.simulate becomes qnn.quantize and qnn.dequantize.
 * Constants become their codes. What is computed between codes is computed on codes by pass
 * qdq-to-integer, which is to follow at once: fold-constant would make numbers of them again.
 *     before   quant.simulate(%x, 0.5, 0)
 *     after    qnn.dequantize(qnn.quantize(%x, 0.5, 0), 0.5, 0)
 * keeps    no invariant
 */
#include <stdio.h>
#include <string.h>

#include "common/evaluate.h"
#include "quantize/quant_site.h"

static int is_whole_type(const bt_number_form *form)
{
    int64_t least, most;
    bt_dtype_limits(form->dtype, &least, &most);
    return form->low <= least && form->high >= most;
}

static bt_status realize_site(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value **out)
{
    bt_ctx *ctx = bt_rewrite_ctx(rewrite);
    bt_builder *b = bt_rewrite_builder(rewrite);
    const bt_pass_call *pass = bt_rewrite_call(rewrite);
    const bt_value *args[3], *codes;
    char dtype[BT_DTYPE_NAME_SIZE], attrs[160];
    struct site site;
    if (!site_read(pass->module, &call->base, &site))
        return NULL;
    if (!site_is_known(&site))
        return bt_fail_at(ctx, BT_ERR_ARGUMENT, pass->module->store, call->base.span,
                          "quant-realize: site %s has no scale yet: run quant-calibrate "
                          "before",
                          site.name);
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
    snprintf(attrs, sizeof(attrs), "axis=%d, out_dtype=\"%s\", rounding=\"%s\", key=%lld",
             site.form.axis, bt_dtype_name(site.form.dtype, dtype, sizeof(dtype)),
             site_rounding(site.form.rounding), (long long)bt_call_int(call, "key", 0));
    BT_TRY(bt_build(b, "qnn.quantize", attrs, args, 3, &codes));
    BT_TRY(evaluate_deep(b, pass->scratch, pass->module, 1, &codes));
    if (!is_whole_type(&site.form)) {
        snprintf(attrs, sizeof(attrs), "a_min=%lld.0f, a_max=%lld.0f",
                 (long long)site.form.low, (long long)site.form.high);
        BT_TRY(bt_build(b, "clip", attrs, &codes, 1, &codes));
        BT_TRY(evaluate_deep(b, pass->scratch, pass->module, 1, &codes));
    }
    args[0] = codes;
    snprintf(attrs, sizeof(attrs), "axis=%d, out_dtype=\"%s\"", site.form.axis,
             bt_dtype_name(bt_tensor_dtype(call->base.type), dtype, sizeof(dtype)));
    bt_builder_like(b, &call->base);
    if (site.constant) // by it, a weight that stays in float is known
        bt_builder_name(b, site.name);
    return bt_build(b, "qnn.dequantize", attrs, args, 3, out);
}

static const bt_rewriter rewriter = { .call_ = realize_site };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "quant-realize",
        .doc = "quant.simulate becomes qnn.quantize and qnn.dequantize.\n"
               "qdq-to-integer is to follow: it computes on codes.\n"
               "before\n"
               "    def @main(%x: Tensor[(2), float32]) { quant.simulate(%x, 0.5f, 0) }\n"
               "after\n"
               "    def @main(%x: Tensor[(2), float32]) {\n"
               "        qnn.dequantize(qnn.quantize(%x, 0.5f, 0), 0.5f, 0)\n"
               "    }",
        .level = 0,
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_quantize_quant_realize[] = { BT_PASSES(passes), { 0 } };
