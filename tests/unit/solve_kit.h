/* What the tests of the solver share: operators with relations of their own, short ways
 * to types, and functions built without types. */
#ifndef SOLVE_KIT_H
#define SOLVE_KIT_H

#include "test.h"

#include <stdlib.h>

#include <baton/op.h>

#include "ir/type_match.h"
#include "ir/walk.h"
#include "solve/solve.h"

typedef struct kit {
    bt_registry *registry;
    bt_ctx *ctx;
    bt_store *store;
    bt_module_builder *module;
    bt_builder *b;
} kit;

static inline kit kit_create(void)
{
    kit k = { 0 };
    bt_registry_options options = { .ignore_environment = 1,
                                    .plugin_only = "/nonexistent" };
    k.registry = bt_registry_create(&options);
    k.ctx = bt_ctx_create(k.registry);
    k.store = bt_store_create(k.registry);
    assert_ok(k.ctx, bt_module_builder_create(k.ctx, k.store, NULL, &k.module));
    assert_ok(k.ctx, bt_builder_create(k.ctx, k.store, NULL, &k.b));
    bt_builder_set_infer(k.b, 0);
    return k;
}

static inline void kit_destroy(kit *k)
{
    bt_builder_destroy(k->b);
    bt_module_builder_destroy(k->module);
    bt_store_unref(k->store);
    bt_ctx_destroy(k->ctx);
    bt_registry_unref(k->registry);
}

/* ---- types ---- */

static inline const bt_type *dim_var(kit *k, const char *name)
{
    bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    return bt_type_var(k->store, &param, bt_name_of(k->store, name));
}
static inline const bt_type *kind_var(kit *k, uint32_t kind, const char *name)
{
    bt_type_param param = { .kind = kind, .high = INT64_MAX, .step = 1 };
    return bt_type_var(k->store, &param, bt_name_of(k->store, name));
}
static inline const bt_type *any(kit *k)
{
    return bt_type_hole(k->store, BT_KIND_DIM);
}
static inline const bt_type *f32(kit *k)
{
    return bt_type_dtype(k->store, BT_FLOAT32);
}
/* float32 tensors */
static inline const bt_type *tensor1(kit *k, const bt_type *a)
{
    return bt_type_tensor(k->store, bt_type_shape(k->store, 1, &a), f32(k));
}
static inline const bt_type *tensor2(kit *k, const bt_type *a, const bt_type *b)
{
    const bt_type *dims[] = { a, b };
    return bt_type_tensor(k->store, bt_type_shape(k->store, 2, dims), f32(k));
}
static inline const bt_type *num(kit *k, int64_t n)
{
    return bt_dim(k->store, n);
}

/* ---- values ---- */

static inline const bt_param *param(kit *k, const char *name, const bt_type *type)
{
    const bt_param *out = NULL;
    assert_ok(k->ctx, bt_build_param(k->b, name, type, &out));
    return out;
}
static inline void begin(kit *k, uint32_t n, const bt_param *const *params)
{
    assert_ok(k->ctx, bt_block_begin(k->b, n, params));
}
static inline const bt_block *end(kit *k, const bt_value *result)
{
    const bt_block *block = NULL;
    assert_ok(k->ctx, bt_block_end(k->b, result, &block));
    return block;
}
static inline const bt_value *op2(kit *k, const bt_op *op, const bt_value *a,
                                  const bt_value *b)
{
    const bt_value *out = NULL, *args[] = { a, b };
    assert_ok(k->ctx, bt_build_op(k->b, op, NULL, b ? 2 : 1, args, &out));
    return out;
}
static inline const bt_value *call(kit *k, const bt_value *callee, uint32_t n,
                                   const bt_value *const *args)
{
    const bt_value *out = NULL;
    bt_call fields = {
        .callee_kind = BT_CALLEE_VALUE, .callee = callee, .narg = n, .args = args
    };
    assert_ok(k->ctx, bt_build_call(k->b, &fields, &out));
    return out;
}
static inline const bt_value *call1(kit *k, const bt_value *callee, const bt_value *arg)
{
    return call(k, callee, 1, &arg);
}
static inline const bt_value *construct(kit *k, const bt_ctor *ctor, uint32_t n,
                                        const bt_value *const *args)
{
    const bt_value *out = NULL;
    bt_call fields = {
        .callee_kind = BT_CALLEE_CTOR, .ctor = ctor, .narg = n, .args = args
    };
    assert_ok(k->ctx, bt_build_call(k->b, &fields, &out));
    return out;
}
static inline const bt_value *global(kit *k, const char *name)
{
    const bt_value *out = NULL;
    assert_ok(k->ctx, bt_build_global(k->b, name, &out));
    return out;
}
static inline const bt_value *proj(kit *k, const bt_value *tuple, uint32_t index)
{
    const bt_value *out = NULL;
    assert_ok(k->ctx, bt_build_proj(k->b, tuple, index, &out));
    return out;
}
static inline const bt_value *pair(kit *k, const bt_value *a, const bt_value *b)
{
    const bt_value *out = NULL, *fields[] = { a, b };
    assert_ok(k->ctx, bt_build_tuple(k->b, 2, fields, &out));
    return out;
}
static inline const bt_value *choose(kit *k, const bt_value *condition,
                                     const bt_block *then_block,
                                     const bt_block *else_block)
{
    const bt_value *out = NULL;
    assert_ok(k->ctx, bt_build_if(k->b, condition, then_block, else_block, &out));
    return out;
}

/* ---- functions ---- */

static inline const bt_func *func(kit *k, const bt_block *block, const bt_type *result,
                                  uint32_t nvar, const bt_type *const *vars)
{
    const bt_func *out = NULL;
    bt_func fields = { .block = block, .result = result, .nvar = nvar, .vars = vars };
    assert_ok(k->ctx, bt_func_create(k->ctx, k->store, &fields, &out));
    return out;
}
static inline void define(kit *k, const char *name, const bt_func *f)
{
    bt_global row = { .name = name, .kind = BT_GLOBAL_FUNC, .func = f };
    assert_ok(k->ctx, bt_module_builder_set(k->module, &row, 1));
}
static inline const bt_value *closure(kit *k, const bt_func *f)
{
    const bt_value *out = NULL;
    const char *names[] = { "f" };
    assert_ok(k->ctx, bt_build_closures(k->b, 1, names, NULL, &out));
    assert_ok(k->ctx, bt_build_closure_body(k->b, out, f));
    return out;
}
static inline bt_module *finish(kit *k)
{
    bt_module *module = NULL;
    bt_module_builder *builder = k->module;
    k->module = NULL;
    assert_ok(k->ctx, bt_module_builder_finish(builder, 0, &module));
    return module;
}
/* ---- the same types in any order ---- */

static inline void pair_vars(bt__type_match *m, const bt_func *a, const bt_func *b)
{
    assert_int_equal(a->nvar, b->nvar);
    assert_int_equal(a->nwhere, b->nwhere);
    for (uint32_t i = 0; i < a->nvar; i++)
        assert_true(bt__type_match_pair(m, a->vars[i], b->vars[i]));
}
static inline void assert_same_calls(bt__type_match *m, const bt_call *a,
                                     const bt_call *b)
{
    assert_int_equal(a->ntype_arg, b->ntype_arg);
    for (uint32_t i = 0; i < a->ntype_arg; i++)
        assert_true(bt__type_matches(m, a->type_args[i], b->type_args[i]));
    assert_int_equal(a->ncheck, b->ncheck);
    assert_int_equal(a->contents != NULL, b->contents != NULL);
}
static inline void assert_same_function(kit *k, const bt_func *a, const bt_func *b)
{
    bt_arena *arena = bt_ctx_scratch(k->ctx);
    bt__type_match m;
    bt__walk left, right;
    const bt_value *x, *y;
    bt__type_match_init(&m, arena);
    pair_vars(&m, a, b);
    for (uint32_t i = 0; i < a->block->nparam; i++)
        assert_true(bt__type_matches(&m, a->block->params[i]->base.type,
                                     b->block->params[i]->base.type));
    bt__walk_begin(&left, arena, a->block);
    bt__walk_begin(&right, arena, b->block);
    while ((x = bt__walk_next(&left))) {
        y = bt__walk_next(&right);
        if (bt_as_closure(x))
            pair_vars(&m, bt_as_closure(x)->func, bt_as_closure(y)->func);
        assert_true(bt__type_matches(&m, x->type, y->type));
        if (bt_as_call(x))
            assert_same_calls(&m, bt_as_call(x), bt_as_call(y));
    }
    assert_true(bt__type_matches(&m, a->result, b->result));
}
static inline void assert_same_types(kit *k, const bt_module *a, const bt_module *b)
{
    for (uint32_t i = 0; i < a->nglobal; i++) {
        if (a->globals[i]->kind == BT_GLOBAL_FUNC)
            assert_same_function(k, a->globals[i]->func, b->globals[i]->func);
    }
}

/* Infers, then again in other orders. */
static inline bt_module *infer(kit *k)
{
    bt_module *typed = NULL, *module = finish(k);
    assert_ok(k->ctx, bt_infer(k->ctx, module, &typed));
    assert_ok(k->ctx, bt_verify(k->ctx, typed));
    for (uint64_t seed = 1; seed <= 40; seed++) {
        bt_module *other = NULL;
        assert_ok(k->ctx,
                  bt__infer_shuffled(k->ctx, module, seed * 0x9e3779b97f4a7c15u, &other));
        assert_same_types(k, typed, other);
        bt_module_unref(other);
    }
    bt_module_unref(module);
    return typed;
}
static inline bt_status infer_error(kit *k)
{
    bt_module *typed = NULL, *module = finish(k);
    bt_status status = bt_infer(k->ctx, module, &typed);
    bt_module_unref(module);
    bt_module_unref(typed);
    return status;
}
static inline const bt_func *func_of(const bt_module *module, const char *name)
{
    const bt_global *row = bt_module_find(module, name);
    assert_non_null(row);
    assert_non_null(row->func);
    return row->func;
}

/* ---- operators ---- */

static inline bt_status relate_add(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    const bt_tensor_type *in[2];
    const bt_type *shape, *type;
    for (uint32_t i = 0; i < 2; i++) {
        in[i] = bt_as_tensor_type(bt_relation_arg(s, r, i));
        if (!in[i]) {
            BT_TRY(bt_relation_tensor(s, r, i, &parts));
            return bt_relation_wait(s);
        }
    }
    BT_TRY(bt_relation_unify(s, r, in[0]->dtype, in[1]->dtype, "dtypes"));
    BT_TRY(bt_relation_broadcast(s, r, in[0]->shape, in[1]->shape, &shape));
    type = bt_type_tensor(bt_relation_store(s), shape, in[0]->dtype);
    return type ? bt_relation_result(s, r, type) : bt_no_memory();
}

static inline bt_status relate_relu(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    BT_TRY(bt_relation_tensor(s, r, 0, &parts));
    return bt_relation_result_tensor(s, r, parts.rank, parts.dims, parts.dtype);
}

static inline bt_status relate_dense(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data, weight;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 2, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 2, &weight));
    BT_TRY(bt_relation_unify(s, r, data.dims[1], weight.dims[1],
                             "columns of data and of weight"));
    const bt_type *dims[] = { data.dims[0], weight.dims[0] };
    return bt_relation_result_tensor(s, r, 2, dims, data.dtype);
}

/* As many rows as are not zero: known at run time only. */
static inline bt_status relate_unique(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    const bt_type *dim;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 1, &parts));
    BT_TRY(bt_relation_opaque(s, r, 0, &dim));
    return bt_relation_result_tensor(s, r, 1, &dim, parts.dtype);
}

static inline bt_status relate_less(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    BT_TRY(bt_relation_tensor(s, r, 0, &parts));
    return bt_relation_result(s, r, bt_type_scalar(bt_relation_store(s), BT_BOOL));
}

/* The shape of a tensor as a vector with known contents. */
static inline bt_status relate_shape_of(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts parts;
    int64_t n;
    BT_TRY(bt_relation_tensor(s, r, 0, &parts));
    n = parts.rank;
    BT_TRY(bt_relation_result(s, r,
                              bt_type_tensor_of(bt_relation_store(s), BT_INT64, 1, &n)));
    return bt_relation_set_contents(s, r, parts.rank, parts.dims);
}

/* A tensor of zeros whose shape is the argument's contents. */
static inline bt_status relate_zeros(bt_solver *s, const bt_relation_call *r)
{
    int64_t n;
    const bt_type *const *dims;
    BT_TRY(bt_relation_contents(s, r, 0, &n, &dims));
    if (n == BT_NONE_LIST)
        return bt_relation_fail(s, r, 0, "the shape is known at run time only");
    return bt_relation_result_tensor(s, r, (uint32_t)n, dims,
                                     bt_type_dtype(bt_relation_store(s), BT_FLOAT32));
}

static const bt_op_input one_input[] = { { .name = "data", .type = "?" }, { 0 } };
static const bt_op_input two_inputs[] = { { .name = "data", .type = "?" },
                                          { .name = "weight", .type = "?" },
                                          { 0 } };

static const bt_op op_add = { .name = "add", .inputs = two_inputs, .relate = relate_add };
static const bt_op op_relu = { .name = "relu",
                               .inputs = one_input,
                               .relate = relate_relu };
static const bt_op op_dense = { .name = "dense",
                                .inputs = two_inputs,
                                .relate = relate_dense };
static const bt_op op_unique = { .name = "unique",
                                 .inputs = one_input,
                                 .relate = relate_unique };
static const bt_op op_less = { .name = "less",
                               .inputs = one_input,
                               .relate = relate_less };
static const bt_op op_shape_of = { .name = "shape_of",
                                   .inputs = one_input,
                                   .relate = relate_shape_of };
static const bt_op op_zeros = { .name = "zeros",
                                .inputs = one_input,
                                .relate = relate_zeros };

#endif
