/* A contraction as the tests state one: a formula and its inputs. */
#ifndef CPU_CONTRACTION_H
#define CPU_CONTRACTION_H

#include "failing_allocator.h"
#include "formula.h"

#include "compute/evaluate/compute.h"
#include "schedule/contract.h"

struct input {
    const char *name, *type;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[6];
};

struct contraction {
    struct input inputs[4]; /* ended by one without a name */
    const char *text;
    uint32_t may_be_plain;  /* 1: need not come to tiles */
    uint8_t is_constant[4]; /* of inputs */
};

static inline bt_compute *make(struct world *w, struct formula *f, uint32_t n,
                               bt_tensor **in)
{
    bt_compute *compute;
    bt_op op = formula_op(f);
    assert_ok(w->ctx, formula_make(w, f, &op, n, in, &compute));
    return compute;
}

/* ---- without memory ---- */

/* An operator of three arguments. 0: something had no memory, and said so. */
static inline int schedule_op(bt_registry *registry, bt_ctx *ctx, bt_store *store,
                              const bt_op *op, const bt_type *const *args,
                              const struct cpu_config *config)
{
    bt_arena *arena = bt_arena_create(registry);
    bt_compute *compute = NULL;
    bt_loops *loops;
    const bt_type *hole = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                         bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = op, .narg = 3, .args = args, .result = hole };
    bt_status status = !arena || !args[0] || !args[1] || !args[2] || !hole
                           ? bt_no_memory()
                           : bt_compute_create(ctx, &call, &compute);
    if (!status)
        status = cpu_contract(ctx, arena, config, "test", compute->graph, NULL, &loops);
    if (status)
        assert_int_equal(status->code, BT_ERR_MEMORY);
    bt_compute_destroy(compute);
    if (arena)
        bt_arena_destroy(arena);
    return !status;
}

/* What fail_each_allocation runs. */
static inline int schedule_by(const bt_allocator *allocator,
                              int (*schedule)(bt_registry *, bt_ctx *, bt_store *))
{
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_store *store = registry ? bt_store_create(registry) : NULL;
    int ok = ctx && store && schedule(registry, ctx, store);
    bt_store_unref(store);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return ok;
}

#endif
