/* A contraction as the tests state one: a formula and its inputs. */
#ifndef CPU_CONTRACTION_H
#define CPU_CONTRACTION_H

#include "failing_allocator.h"
#include "formula.h"

#include "compute/evaluate/compute.h"
#include "loops_oracle.h"
#include "primitives/depthwise.h"
#include "schedule/contract.h"

#include <stdlib.h>

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
    uint32_t has_infinity;  /* 1: an element of the first input is infinite */
    uint8_t is_constant[4]; /* of inputs */
    uint32_t
        has_pairs; /* 1: is a sum of pairs of bfloat16, if there are such; 2: and by AMX */
    uint32_t
        has_shorts; /* 1: is a sum of pairs of int16; 2: of quads, if there are such */
};

static inline bt_compute *make(struct world *w, struct formula *f, uint32_t n,
                               bt_tensor **in)
{
    bt_compute *compute;
    bt_op op = formula_op(f);
    assert_ok(w->ctx, formula_make(w, f, &op, n, in, &compute));
    return compute;
}

/* The stage scheduled for a set and so many threads, its calls done by `call`; the bits of its
 * result. */
static inline void
run_schedule(struct world *w, struct formula *f, uint32_t n, bt_tensor **in,
             const struct cpu_config *config, bt_tensor *out,
             bt_status (*call)(void *self, const char *callee, uint32_t narg,
                               const struct call_value *args),
             void *self)
{
    bt_compute *compute = make(w, f, n, in);
    bt_arena *arena = bt_arena_create(w->registry);
    bt_loops *loops;
    void *data[8];
    assert_ok(w->ctx,
              cpu_contract(w->ctx, arena, config, "test", compute->graph, NULL, &loops));
    assert_ok(w->ctx, bt_graph_verify(w->ctx, arena, compute->graph));
    for (uint32_t i = 0; i < n; i++)
        data[i] = in[i]->data;
    data[n] = out->data;
    memset(out->data, 0x55, (size_t)out->nelem * bt_dtype_nbytes(out->dtype));
    struct run_options options = { .seed = 7, .call = call, .self = self };
    bt_status status = loops_run(w->ctx, loops, data, &options);
    if (status || getenv("SHOW")) {
        bt_text text;
        bt_text_init(&text, arena);
        assert_ok(w->ctx, bt_loops_print(loops, &text));
        print_message("%s\n", bt_text_get(&text));
    }
    assert_ok(w->ctx, status);
    bt_arena_destroy(arena);
    bt_compute_destroy(compute);
}

/* ---- calls of depthwise convolutions ---- */

/* In the room that it has. */
static inline void run_depthwise(enum cpu_isa isa, const char *callee, uint32_t narg,
                                 const struct call_value *args)
{
    const struct cpu_form *form = cpu_form_of(cpu_callee_find(isa, callee));
    void *p[CPU_DEPTHWISE_CODES_NPOINTER];
    int64_t n[CPU_DEPTHWISE_CODES_NINT];
    assert_int_equal(narg, form->naddress + form->ninteger);
    for (uint32_t i = 0; i < narg; i++) {
        if (i < form->naddress)
            p[i] = args[i].address;
        else
            n[i - form->naddress] = args[i].integer;
    }
    const int64_t last = n[CPU_DEPTHWISE_PLANES] - 1;
    assert_true(last >= 0 && n[CPU_DEPTHWISE_ROWS] >= 0 && n[CPU_DEPTHWISE_COLUMNS] >= 0);
    assert_true(args[CPU_DEPTHWISE_Y].nelem >=
                last * n[CPU_DEPTHWISE_Y_PLANE] +
                    (n[CPU_DEPTHWISE_ROWS] - 1) * n[CPU_DEPTHWISE_Y_ROW] +
                    n[CPU_DEPTHWISE_COLUMNS]);
    assert_true(args[CPU_DEPTHWISE_X].nelem >=
                last * n[CPU_DEPTHWISE_X_PLANE] +
                    n[CPU_DEPTHWISE_HEIGHT] * n[CPU_DEPTHWISE_WIDTH]);
    assert_true(args[CPU_DEPTHWISE_W].nelem >
                last * n[CPU_DEPTHWISE_W_PLANE] +
                    (n[CPU_DEPTHWISE_TAPS] - 1) *
                        (n[CPU_DEPTHWISE_W_Y] + n[CPU_DEPTHWISE_W_X]));
    assert_true(args[CPU_DEPTHWISE_BIAS].nelem > last * n[CPU_DEPTHWISE_BIAS_PLANE]);
    if (form->naddress == CPU_DEPTHWISE_CODES_NPOINTER)
        assert_true(args[CPU_DEPTHWISE_FACTOR].nelem >
                    last * n[CPU_DEPTHWISE_FACTOR_PLANE]);
    assert_int_equal(cpu_callee_find(isa, callee)->run(p, n), 0);
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

/* 0: something had no memory, and said so. */
typedef int schedule_fn(bt_registry *, bt_ctx *, bt_store *);
static schedule_fn *scheduled;

static inline int run_scheduled(const bt_allocator *allocator)
{
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_store *store = registry ? bt_store_create(registry) : NULL;
    int ok = ctx && store && scheduled(registry, ctx, store);
    bt_store_unref(store);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return ok;
}

static inline void fail_each_allocation_of(schedule_fn *schedule)
{
    scheduled = schedule;
    fail_each_allocation(run_scheduled);
}

#endif
