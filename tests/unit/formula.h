/*
 * Runs formulas of operators defined in a test.
 *
 *     struct formula f = { .inputs = { { "x", "t[n]" } }, .text = "y: t[i] = x[i]" };
 *     bt_tensor *y = formula_run(&w, &f, 1, (bt_tensor *[]){ x });
 */
#ifndef FORMULA_H
#define FORMULA_H

#include "test.h"

#include <baton/compute.h>

struct world {
    bt_registry *registry;
    bt_ctx *ctx;
    bt_store *store;
};

struct formula {
    bt_op_input inputs[6];
    const char *text;
    const bt_attr *attrs;
    const void *values;  /* of the attributes */
    uint32_t nresult;    /* 0: one */
    uint32_t is_dynamic; /* the types do not say the dims */
};

static inline struct world world_open(void)
{
    struct world w = { .registry = bt_registry_create(NULL) };
    assert_non_null(w.registry);
    w.ctx = bt_ctx_create(w.registry);
    w.store = bt_store_create(w.registry);
    assert_non_null(w.ctx);
    assert_non_null(w.store);
    return w;
}

static inline void world_close(struct world *w)
{
    bt_store_unref(w->store);
    bt_ctx_destroy(w->ctx);
    bt_registry_unref(w->registry);
}

static inline bt_op formula_op(const struct formula *f)
{
    return (bt_op){ .name = "test.op",
                    .revision = 1,
                    .inputs = f->inputs,
                    .attrs = f->attrs,
                    .formula = f->text };
}

static inline const bt_type *type_of_tensor(struct world *w, const bt_tensor *t,
                                            int is_dynamic)
{
    const bt_type *dims[BT_MAX_RANK];
    if (!is_dynamic)
        return bt_type_tensor_of(w->store, t->dtype, t->rank, t->dims);
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = bt_dim_opaque(w->store, NULL);
    return bt_type_tensor(w->store, bt_type_shape(w->store, t->rank, dims),
                          bt_type_dtype(w->store, t->dtype));
}

/* A type with n leaves that says nothing of them. */
static inline const bt_type *any_result(struct world *w, uint32_t n)
{
    const bt_type *leaves[8];
    leaves[0] = bt_type_tensor(w->store, bt_type_hole(w->store, BT_KIND_SHAPE),
                               bt_type_hole(w->store, BT_KIND_DTYPE));
    assert_non_null(leaves[0]);
    for (uint32_t i = 1; i < n; i++)
        leaves[i] = leaves[0];
    return n > 1 ? bt_type_tuple(w->store, n, leaves) : leaves[0];
}

static inline bt_status formula_make(struct world *w, const struct formula *f,
                                     const bt_op *op, uint32_t nin, bt_tensor **in,
                                     bt_compute **out)
{
    const bt_type *args[6];
    for (uint32_t i = 0; i < nin; i++)
        args[i] = type_of_tensor(w, in[i], f->is_dynamic);
    bt_formula_call call = { .op = op,
                             .attrs = f->values,
                             .narg = nin,
                             .args = args,
                             .result = any_result(w, f->nresult ? f->nresult : 1) };
    return bt_compute_create(w->ctx, &call, out);
}

/* All results, the caller's to unref. */
static inline bt_status formula_try(struct world *w, const struct formula *f,
                                    uint32_t nin, bt_tensor **in, bt_tensor **out)
{
    bt_op op = formula_op(f);
    bt_compute *compute = NULL;
    bt_status status = formula_make(w, f, &op, nin, in, &compute);
    if (!status)
        status = bt_compute_run(w->ctx, compute, nin, (const bt_tensor *const *)in, out);
    bt_compute_destroy(compute);
    return status;
}

static inline bt_tensor *formula_run(struct world *w, const struct formula *f,
                                     uint32_t nin, bt_tensor **in)
{
    bt_tensor *out[8] = { 0 };
    assert_ok(w->ctx, formula_try(w, f, nin, in, out));
    return out[0];
}

#define DIMS(...)                                                                 \
    (uint32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[]) \
    {                                                                             \
        __VA_ARGS__                                                               \
    }

static inline bt_tensor *tensor_new(struct world *w, bt_dtype dtype, uint32_t rank,
                                    const int64_t *dims)
{
    bt_tensor *t = NULL;
    assert_ok(w->ctx, bt_tensor_create(w->ctx, dtype, rank, dims, &t));
    return t;
}

/* Values from -2 to 2 in quarters, from a generator of ours. */
static inline bt_tensor *tensor_random(struct world *w, bt_dtype dtype, uint64_t seed,
                                       uint32_t rank, const int64_t *dims)
{
    bt_tensor *t = tensor_new(w, dtype, rank, dims);
    uint64_t state = seed * 2862933555777941757u + 3037000493u;
    for (int64_t i = 0; i < t->nelem; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double v = (double)((state >> 33) % 17) / 4 - 2;
        bt_tensor_set(t, i, dtype == BT_BOOL ? v > 0 : v);
    }
    return t;
}

#endif
