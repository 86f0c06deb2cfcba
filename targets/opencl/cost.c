#include "cost.h"

#include <baton/compute.h>

#include "instance.h"

/* What no device says of itself: of this order on most. */
struct rates {
    double launch_ns; /* from an entry in a queue to the first work-item */
    double per_ns;    /* bytes of memory */
    double lanes; /* floats that a unit multiplies and adds in a cycle, of a processor its
                          native vector's: 0 */
    double share; /* of all that its units could do */
};
static const struct rates processor = { 20000, 10, 0, 1 }, other = { 8000, 200, 64, 0.3 };

static double smaller_of(double a, double b)
{
    return a < b ? a : b;
}

/* -1: not known. */
static bt_status count(bt_ctx *ctx, const bt_func *func, double *madds, double *nbytes)
{
    int64_t n = bt_type_nbytes(func->result);
    *madds = 0;
    *nbytes = n < 0 ? -1 : (double)n;
    for (uint32_t i = 0; i < func->block->nparam && *nbytes >= 0; i++) {
        n = bt_type_nbytes(func->block->params[i]->base.type);
        *nbytes = n < 0 ? -1 : *nbytes + (double)n;
    }
    for (uint32_t i = 0; i < func->block->nbinding && *madds >= 0; i++) {
        const bt_call *call = bt_as_call(func->block->bindings[i]);
        n = 0;
        if (call && call->op)
            BT_TRY(bt_call_cost(ctx, call, &n));
        *madds = n < 0 ? -1 : *madds + (double)n;
    }
    return NULL;
}

bt_status ocl_cost(bt_ctx *ctx, void *instance, const bt_func *primitive, bt_cost *out)
{
    const struct ocl_facts *f = &((const struct ocl_instance *)instance)->facts;
    const struct rates *r = f->is_cpu ? &processor : &other;
    const double lanes = f->is_cpu ? f->device.lanes : r->lanes;
    double madds, nbytes;
    BT_TRY(count(ctx, primitive, &madds, &nbytes));
    *out = (bt_cost){ .confidence = 0 };
    const double madds_per_ns = r->share * f->nunit * lanes * f->mhz / 1000;
    if (madds < 0 || nbytes < 0 || !(madds_per_ns > 0))
        return NULL;
    // half of the shorter one is hidden behind the longer one
    const double compute = madds / madds_per_ns, move = nbytes / r->per_ns;
    out->ns = r->launch_ns + compute + move - smaller_of(compute, move) / 2;
    out->confidence = 0.3;
    return NULL;
}
