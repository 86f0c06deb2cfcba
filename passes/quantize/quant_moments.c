#include "quantize/quant_moments.h"

#include "quantize/quant_law.h"
#include "quantize/quant_site.h"

struct search {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_map *found;
};

static bt_status note(const struct search *s, const bt_call *call, const struct law *law,
                      uint32_t k)
{
    const bt_value *weight = call->args[law->in[k]], *data = call->args[law->in[1 - k]];
    const int32_t axis = law->reduced_axis[k], data_axis = law->reduced_axis[1 - k];
    const bt_shape_type *shape = bt_tensor_shape(data->type);
    struct moments *moments = bt_map_find(s->found, weight);
    int64_t n;
    struct site site;
    if (moments)
        moments->data = NULL;
    if (moments || axis < 0 || data_axis < 0 || !site_read(s->module, weight, &site) ||
        !site.constant || !bt_dim_is_const(shape->dims[data_axis], &n) ||
        n != site.constant->dims[axis])
        return NULL;
    moments = BT_NEW(s->arena, struct moments);
    if (!moments)
        return bt_no_memory();
    *moments = (struct moments){ data, (uint32_t)data_axis, (uint32_t)axis, n };
    return bt_map_put(s->found, weight, moments) ? NULL : bt_no_memory();
}

bt_status moments_find(bt_ctx *ctx, bt_arena *arena, const bt_module *module,
                       const bt_block *block, bt_map *out)
{
    const struct search s = { ctx, arena, module, out };
    struct site site;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        struct law law;
        int is_weighted = 0;
        for (uint32_t k = 0; call && k < call->narg; k++)
            is_weighted |= site_read(module, call->args[k], &site) && site.constant;
        if (!is_weighted)
            continue;
        BT_TRY(law_find(ctx, module->store, arena, module, call, &law));
        for (uint32_t k = 0; law.kind == LAW_CONTRACTION && k < 2; k++)
            BT_TRY(note(&s, call, &law, k));
    }
    return NULL;
}
