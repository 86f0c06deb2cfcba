#include "quant_sites.h"

#include <math.h>
#include <string.h>

#include <baton/op.h>

/* Ranges of both signs, of one, narrow, wide, of nothing but zeros, of one number; for all and by
 * channel, with zero points and without. */
// clang-format off
#define UINT8 ", dtype=\"uint8\", low=0, high=255, is_affine=True"
#define SITE(name, constant, form) \
    "quant.simulate(const" constant ", 0f, 0, site=\"" name "\"" form ")"
static const char *const sites[QUANT_NSITE] = {
    SITE("both_signs", "[(3), float32]{-1, 0.5, 2}", ""),
    SITE("above_zero", "[(3), float32]{1, 0.5, 2}", UINT8),
    SITE("narrow", "[(2), float32]{-1e-30, 1e-30}", ""),
    SITE("wide", "[(2), float32]{-1e30, 3e38}", ", low=-7, high=7"),
    SITE("zeros", "[(2), float32]{0 ..}", ""),
    SITE("zeros_affine", "[(2), float32]{0 ..}", UINT8),
    SITE("one_number", "[(1), float32]{-3}", ", scale_kind=\"power2\""),
    "quant.simulate(const[(2, 2), float32]{1, 2, 0, 0}, const[(2), float32]{0 ..}, "
    "const[(2), int32]{0 ..}, axis=0, low=-127, site=\"channels\")",
};
// clang-format on

/* What any calibration has to do with: these are as activations are, the others are at the ends of
 * float32. */
static const char *const ordinary[] = { "both_signs", "above_zero" };

const char *quant_sites_text(bt_arena *arena, uint32_t n, const uint32_t *order)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\ndef @main() { (");
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(&text, "%s%s", sites[order[i]], i + 1 < n || n == 1 ? ", " : "");
    bt_text_addf(&text, ") }\n");
    return bt_text_get(&text);
}

/* The next site of the program from binding *at on; NULL: none is left. */
static const bt_call *next_site(const bt_module *module, uint32_t *at)
{
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_func *func = module->globals[g]->func;
        const bt_block *block = func ? func->block : NULL;
        while (block && *at < block->nbinding) {
            const bt_call *call =
                bt_as_op_call(block->bindings[(*at)++], "quant.simulate");
            if (call)
                return call;
        }
    }
    return NULL;
}

static const bt_tensor *tensor_of(const bt_module *module, const bt_call *call,
                                  uint32_t arg)
{
    return bt_const_tensor(bt_module_constant(module, call->args[arg]));
}

static const bt_call *find_site(const bt_module *module, const char *name)
{
    uint32_t at = 0;
    const bt_call *site = next_site(module, &at);
    while (site && strcmp(bt_call_text(site, "site"), name) != 0)
        site = next_site(module, &at);
    return site;
}

static int is_same(const bt_tensor *a, const bt_tensor *b)
{
    return a && b && bt_tensor_nbytes(a) == bt_tensor_nbytes(b) &&
           memcmp(a->data, b->data, bt_tensor_nbytes(a)) == 0;
}

bt_status quant_sites_compare(bt_ctx *ctx, const char *name, const bt_module *all,
                              const bt_module *part, const char *how)
{
    uint32_t at = 0;
    for (const bt_call *site = next_site(part, &at); site; site = next_site(part, &at)) {
        const char *text = bt_call_text(site, "site");
        const bt_call *other = find_site(all, text);
        if (other && is_same(tensor_of(part, site, 1), tensor_of(all, other, 1)) &&
            is_same(tensor_of(part, site, 2), tensor_of(all, other, 2)))
            continue;
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "calibration %s gives %s other scales %s: those of a site follow from "
            "its statistic and form alone",
            name, text, how);
    }
    return NULL;
}

static double largest(const bt_tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < t->nelem; i++)
        most = fmax(most, fabs(bt_tensor_get(t, i)));
    return most;
}

bt_status quant_sites_check(bt_ctx *ctx, const char *name, const bt_module *module)
{
    enum { MAX_CUT = 16 };
    for (uint32_t i = 0; i < BT_COUNT(ordinary); i++) {
        const bt_call *site = find_site(module, ordinary[i]);
        const bt_tensor *scale = site ? tensor_of(module, site, 1) : NULL;
        if (!scale)
            continue;
        const double most = largest(tensor_of(module, site, 0)),
                     each = bt_tensor_get(scale, 0);
        const int64_t ncode = bt_call_int(site, "high", 0) - bt_call_int(site, "low", 0);
        if (most < each / 2)
            return bt_fail(
                ctx, BT_ERR_PLUGIN,
                "calibration %s gives %s the scale %g: its numbers, up to %g, all "
                "become 0",
                name, ordinary[i], each, most);
        if (most > MAX_CUT * each * (double)ncode)
            return bt_fail(ctx, BT_ERR_PLUGIN,
                           "calibration %s gives %s the scale %g: codes reach to %g, and "
                           "its numbers to %g",
                           name, ordinary[i], each, each * (double)ncode, most);
    }
    return NULL;
}

/* The channels of all weights of the check's program are axis 0. */
bt_status quant_sites_check_axes(bt_ctx *ctx, const char *name, const bt_module *module)
{
    uint32_t at = 0;
    for (const bt_call *site = next_site(module, &at); site;
         site = next_site(module, &at)) {
        const int64_t axis = bt_call_int(site, "axis", -1);
        if (tensor_of(module, site, 0) && axis > 0)
            return bt_fail(
                ctx, BT_ERR_PLUGIN,
                "scheme %s gives %s a scale for each element of axis %d, over "
                "which products are summed: such a layer computes in float; its "
                "channels are axis 0 (bt_quant_site.channel)",
                name, bt_call_text(site, "site"), (int)axis);
    }
    return NULL;
}

bt_status quant_sites_check_signs(bt_ctx *ctx, const char *name, const bt_module *module)
{
    uint32_t at = 0;
    for (const bt_call *site = next_site(module, &at); site;
         site = next_site(module, &at)) {
        const bt_tensor *constant = tensor_of(module, site, 0);
        const int64_t low = bt_call_int(site, "low", 0);
        int64_t i = 0;
        if (!constant || low < 0 || bt_call_int(site, "is_affine", 0))
            continue;
        while (i < constant->nelem && bt_tensor_get(constant, i) >= 0)
            i++;
        if (i < constant->nelem)
            return bt_fail(ctx, BT_ERR_PLUGIN,
                           "scheme %s gives %s codes from %d on without a zero point "
                           "(is_affine): its numbers below 0 become 0",
                           name, bt_call_text(site, "site"), (int)low);
    }
    return NULL;
}

/* Sums of products of codes. */
static int is_product(const bt_call *call)
{
    return call && call->callee_kind == BT_CALLEE_OP &&
           strncmp(call->op->name, "qnn.", 4) == 0 &&
           !strstr(call->op->name, "quantize") &&
           bt_tensor_dtype(call->base.type) == BT_INT32;
}

bt_status quant_sites_check_products(bt_ctx *ctx, const char *name,
                                     const bt_module *module)
{
    for (uint32_t g = 0; g < module->nglobal; g++) {
        const bt_func *func = module->globals[g]->func;
        for (uint32_t i = 0; func && func->block && i < func->block->nbinding; i++) {
            if (is_product(bt_as_call(func->block->bindings[i])))
                return NULL;
        }
    }
    return bt_fail(
        ctx, BT_ERR_PLUGIN,
        "scheme %s gives codes, and no product of them is computed on codes: "
        "every layer ends in float, as its sums are not proved to stay in int32",
        name);
}
