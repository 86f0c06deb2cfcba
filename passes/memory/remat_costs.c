/* What it costs to call a primitive function: its time, and the memory of its kernels. */
#include "memory/pieces.h"
#include "memory/remat.h"

struct cost {
    double ns;
    int64_t nscratch;
    remat_numbers over; /* arguments in whose bytes the result may be made */
};

/* A multiply-add, and a byte that is read or written, where no target says more. */
#define NS_OF_WORK 0.05
#define NS_OF_BYTE 0.1

static int64_t sample_of(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return high != INT64_MAX ? high : low;
}

/* Temporaries live from one kernel to another, workspace for one launch. What is computed of
 * constants alone is no memory of a run. */
static int64_t scratch_of(const bt_lowering *l)
{
    int64_t temps = 0, most = 0;
    for (uint32_t i = 0; i < l->ntemp; i++)
        temps += pieces_round_up(sample_of(l->temps[i]), REMAT_ALIGN);
    for (uint32_t i = 0; i < l->nkernel; i++) {
        const bt_type *workspace = l->kernels[i]->workspace;
        const int64_t n =
            workspace ? pieces_round_up(sample_of(workspace), REMAT_ALIGN) : 0;
        most = n > most ? n : most;
    }
    return temps + most;
}

/* Of a function that is one kernel: its arguments in whose bytes its result may be made. Tuples
 * are left out. */
static bt_status find_over(bt_arena *arena, const bt_func *func, const bt_lowering *l,
                           remat_numbers *out)
{
    const bt_kernel *kernel = l->nkernel == 1 ? l->kernels[0] : NULL;
    int is_simple = bt_tensor_dtype(func->result) != 0;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        is_simple &= bt_tensor_dtype(func->block->params[i]->base.type) != 0;
    for (uint32_t i = 0; kernel && is_simple && i < kernel->nalias; i++) {
        const bt_kernel_alias *alias = &kernel->aliases[i];
        const bt_kernel_buffer *in = &kernel->in[alias->in];
        if (kernel->out[alias->out].kind == BT_BUFFER_OUTPUT &&
            in->kind == BT_BUFFER_INPUT && !BT_PUSH(arena, out, in->index))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status ask_target(const struct remat_facts *f, const bt_func *func,
                            struct cost *out, int *is_known)
{
    bt_lowering lowering = { 0 };
    bt_cost cost = { 0 };
    uint32_t target;
    *is_known = 0;
    if (!f->targets || !f->targets->n)
        return NULL;
    BT_TRY(bt_targets_choose(f->ctx, f->targets, func, &target));
    if (target >= f->targets->n)
        return NULL;
    const bt_target_use *use = f->targets->at[target];
    bt_status said = bt_target_supports(f->ctx, use, func);
    if (!said)
        said = use->target->lower(f->ctx, use->instance, f->arena, func, &lowering);
    if (said) // another target has it, or lowering says why there is none
        return said->code == BT_ERR_UNSUPPORTED ? NULL : said;
    out->nscratch = scratch_of(&lowering);
    BT_TRY(find_over(f->arena, func, &lowering, &out->over));
    if (use->target->cost && !func->nvar)
        BT_TRY(use->target->cost(f->ctx, use->instance, func, &cost));
    *is_known = cost.confidence > 0 && cost.ns > 0;
    out->ns = cost.ns;
    return NULL;
}

static bt_status cost_of(const struct remat_facts *f, const bt_func *func,
                         struct cost *out)
{
    int is_known;
    *out = (struct cost){ 0 };
    BT_TRY(ask_target(f, func, out, &is_known));
    if (is_known)
        return NULL;
    int64_t nbytes = bt_type_nbytes(func->result), work;
    out->ns = NS_OF_BYTE * (double)(nbytes > 0 ? nbytes : 0);
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        const bt_call *call = bt_as_call(func->block->bindings[i]);
        if (!call || call->callee_kind != BT_CALLEE_OP)
            continue;
        BT_TRY(bt_call_cost(f->ctx, call, &work));
        out->ns += NS_OF_WORK * (double)(work > 0 ? work : 0);
    }
    return NULL;
}

/* The values that a call's result may be made over. */
static bt_status add_over(struct remat_plan *plan, const bt_call *call,
                          const remat_numbers *over, struct remat_value *v)
{
    for (uint32_t i = 0; i < over->len; i++) {
        const bt_value *arg = call->args[over->at[i]];
        for (uint32_t k = 0; k < v->in.len; k++) {
            if (plan->values[v->in.at[k]].value == arg &&
                !BT_PUSH(plan->arena, &v->over, v->in.at[k]))
                return bt_no_memory();
        }
    }
    return NULL;
}

bt_status remat_costs(const struct remat_facts *f, struct remat_plan *plan)
{
    bt_map known;
    bt_map_init(&known, f->arena, 0);
    for (uint32_t i = 0; i < plan->n; i++) {
        const bt_call *call = bt_as_call(plan->values[i].value);
        const bt_global *global = call ? bt_module_primitive(f->module, call) : NULL;
        if (!global)
            continue;
        struct cost *cost = bt_map_find(&known, global->func);
        if (!cost) {
            cost = BT_NEW(f->arena, struct cost);
            if (!cost || !bt_map_put(&known, global->func, cost))
                return bt_no_memory();
            BT_TRY(cost_of(f, global->func, cost));
        }
        plan->values[i].ns = cost->ns;
        plan->values[i].nscratch = cost->nscratch;
        BT_TRY(add_over(plan, call, &cost->over, &plan->values[i]));
    }
    return remat_find_lives(plan);
}

double remat_ns(const struct remat_plan *plan)
{
    double sum = 0;
    for (uint32_t s = 0; s < plan->steps.len; s++)
        sum += plan->values[plan->steps.at[s].value].ns;
    return sum;
}
