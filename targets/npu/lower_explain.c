/* How long a function takes, as a number and in words. */
#include <inttypes.h>

#include "lower.h"

/* Nanoseconds of an element that the host moves: of this order on any. */
static const double move_ns = 1;

bt_status npu_cost(bt_ctx *ctx, void *device, const bt_func *func, bt_cost *out)
{
    const struct npu_device *d = device;
    struct npu_estimate e;
    BT_TRY(npu_estimate(ctx, device, func, &e));
    *out = (bt_cost){ .ns = (double)e.cycles * 1000 / d->config.mhz + e.moved * move_ns,
                      .confidence = 0.9 };
    return NULL;
}

void npu_estimate_print(const struct npu_estimate *e, bt_text *out)
{
    static const char *const kinds[] = { "products", "totals", "greatest", "elements" };
    bt_text_addf(out, "%s of %" PRId64 "x%" PRId64 ", %" PRIu64 " cycles", kinds[e->kind],
                 e->taps[0], e->taps[1], e->cycles);
    if (e->ideal && e->cycles)
        bt_text_addf(out, ", multipliers busy %" PRIu64 " %%",
                     e->ideal * 100 / e->cycles);
}

bt_status npu_explain(bt_ctx *ctx, void *device, const bt_func *func, bt_text *out)
{
    const struct npu_device *d = device;
    struct npu_estimate e;
    BT_TRY(npu_estimate(ctx, device, func, &e));
    npu_estimate_print(&e, out);
    bt_text_addf(out, "; %.3f ms at %u MHz", (double)e.cycles / 1000 / d->config.mhz,
                 d->config.mhz);
    if (e.moved > 0)
        bt_text_addf(out, ", and the host lays out %.0f elements", e.moved);
    bt_text_addf(out, "\n");
    return NULL;
}
