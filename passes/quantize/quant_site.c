#include "quantize/quant_site.h"

#include <string.h>

#include "common/layout.h"

static const char *const roundings[] = {
    [BT_ROUND_EVEN] = "TOEVEN", [BT_ROUND_AWAY] = "TONEAREST",
    [BT_ROUND_UP] = "UPWARD",   [BT_ROUND_FLOOR] = "FLOOR",
    [BT_ROUND_CEIL] = "CEIL",   [BT_ROUND_STOCHASTIC] = "STOCHASTIC",
};
static const char *const scale_kinds[] = {
    [BT_SCALE_FREE] = "free",
    [BT_SCALE_POWER2] = "power2",
    [BT_SCALE_RATIO2] = "ratio2",
};

static uint32_t word_index(const char *const *words, uint32_t n, const char *word)
{
    uint32_t i = 0;
    while (i + 1 < n && strcmp(words[i], word) != 0)
        i++;
    return i;
}

const char *site_rounding(uint32_t rounding)
{
    return rounding < BT_COUNT(roundings) ? roundings[rounding] : NULL;
}

const char *site_scale_kind(uint32_t kind)
{
    return kind < BT_COUNT(scale_kinds) ? scale_kinds[kind] : NULL;
}

static bt_dtype dtype_of(const bt_call *call)
{
    const bt_type *const *found =
        bt_attr_find(call->op, call->attrs, "dtype", BT_ATTR_DTYPE);
    return found && *found && (*found)->kind == BT_TYPE_DTYPE
               ? ((const bt_dtype_type *)(const void *)*found)->dtype
               : 0;
}

int site_read(const bt_module *module, const bt_value *value, struct site *out)
{
    const bt_call *call = bt_as_op_call(value, SITE_OP);
    if (!call)
        return 0;
    *out = (struct site){
        .call = call,
        .name = bt_call_text(call, "site"),
        .form = {
            .dtype = dtype_of(call),
            .low = bt_call_int(call, "low", 0),
            .high = bt_call_int(call, "high", 0),
            .is_affine = bt_call_int(call, "is_affine", 0) != 0,
            .rounding = word_index(roundings, BT_COUNT(roundings),
                                   bt_call_text(call, "rounding")),
            .scale_kind = word_index(scale_kinds, BT_COUNT(scale_kinds),
                                     bt_call_text(call, "scale_kind")),
            .axis = -1,
        },
        .scale = bt_const_tensor(bt_module_constant(module, call->args[1])),
        .zero = bt_const_tensor(bt_module_constant(module, call->args[2])),
        .constant = bt_const_tensor(bt_module_constant(module, call->args[0])),
    };
    out->nscale = out->scale ? (uint32_t)out->scale->nelem : 0;
    if (out->scale && out->scale->rank == 1)
        out->form.axis =
            (int32_t)call_axis(call, "axis", -1, type_rank(call->args[0]->type));
    return 1;
}

int site_is_constant(const bt_module *module, const bt_value *value)
{
    return bt_as_const(bt_module_constant(module, value)) != NULL;
}

int site_is_known(const struct site *site)
{
    int known = site->scale != NULL && site->zero != NULL;
    for (int64_t i = 0; known && i < site->scale->nelem; i++)
        known = bt_tensor_get(site->scale, i) > 0;
    return known;
}

bt_status site_scales(bt_builder *b, bt_dtype dtype, uint32_t n, const double *values,
                      const bt_value **out)
{
    bt_tensor *tensor;
    const int64_t extent = n;
    BT_TRY(bt_tensor_create(bt_builder_ctx(b), dtype, n > 1, &extent, &tensor));
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_set(tensor, i, values ? values[i] : 0);
    bt_status status = bt_build_const(b, &tensor->base, out);
    bt_tensor_unref(tensor);
    return status;
}

bt_status rewrite_checked(bt_ctx *ctx, bt_pass_call *call, const bt_rewriter *rewriter,
                          void *state, bt_status (*check)(bt_ctx *, void *state),
                          bt_module **out)
{
    bt_module *module;
    BT_TRY(bt_rewrite_module(ctx, call, rewriter, state, &module));
    bt_status status = check(ctx, state);
    if (status)
        bt_module_unref(module);
    else
        *out = module;
    return status;
}

bt_status scheme_open(bt_ctx *ctx, const bt_pass_call *call, const char *text,
                      const bt_quant_scheme **scheme, const void **options)
{
    const char *name, *given;
    const void *row;
    BT_TRY(bt_named_split(ctx, call->scratch, "scheme", text, &name, &given));
    BT_TRY(bt_registry_row(ctx, "quant.scheme/1", name, sizeof(bt_quant_scheme), &row));
    *scheme = row;
    return bt_options_parse(ctx, call->module->store, name, (*scheme)->options,
                            (*scheme)->options_nbytes, given, options);
}
