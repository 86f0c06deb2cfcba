#include "explain.h"

#include <inttypes.h>

#include "instance.h"

/* 0: the call's dims decide. */
static int is_known(const ocl_number *number)
{
    for (uint32_t i = 0; i < number->n; i++) {
        if (number->steps[i].kind == OCL_STEP_DIM)
            return 0;
    }
    return 1;
}

static void print_launch(const ocl_launch *l, bt_text *out)
{
    int64_t groups = 1;
    uint32_t items = 1;
    int known = 1;
    if (l->product) {
        bt_text_addf(out,
                     "%" PRId64 " products of %" PRId64 " x %" PRId64
                     " by CLBlast, %" PRId64 " terms each\n",
                     l->product->batch, l->product->m, l->product->n, l->product->k);
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        items *= l->local[i];
        known &= is_known(&l->groups[i]);
        groups *= known ? ocl_number_value(&l->groups[i], NULL) : 1;
    }
    if (known)
        bt_text_addf(out, "%" PRId64 " work-item%s", groups * items,
                     groups * items == 1 ? "" : "s");
    else
        bt_text_addf(out, "work-items as the dims are");
    if (items > 1)
        bt_text_addf(out, ", in groups of %u", items);
    if (l->local_nbytes)
        bt_text_addf(out, " that share %u bytes", l->local_nbytes);
    bt_text_addf(out, "\n");
}

bt_status ocl_explain(bt_ctx *ctx, void *instance, const bt_func *primitive, bt_text *out)
{
    const struct ocl_instance *o = instance;
    bt_lowering lowering = { 0 };
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = arena
                           ? ocl_lower(ctx, arena, &o->facts.device, primitive, &lowering)
                           : bt_no_memory();
    for (uint32_t i = 0; !status && i < lowering.nkernel; i++) {
        const ocl_program *p = lowering.kernels[i]->content;
        for (uint32_t k = 0; k < p->nlaunch; k++)
            print_launch(&p->launches[k], out);
    }
    bt_arena_destroy(arena);
    return status;
}
