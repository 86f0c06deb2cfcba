/*
 * Calls of operators as rows of text, and what they must give.
 *     { "add", NULL, { "int32[2] 1 2", "int32[] 3" }, { "int32[2] 4 5" } }
 * A tensor is its type and its elements; a tuple is "(tensor | tensor)". Each call is
 * built, typed, and computed; the type must agree with the tensors that come out.
 */
#ifndef OPS_KIT_H
#define OPS_KIT_H

#include <stdlib.h>

#include "test.h"

#include <baton/compute.h>
#include <baton/op.h>

enum { MAX_ARG = 5, MAX_LEAF = 16 };

typedef struct call_row {
    const char *op, *attrs;
    const char *args[MAX_ARG]; /* ended by NULL */
    const char *out[MAX_ARG];  /* leaves of the result, ended by NULL */
    double tolerance;          /* relative and absolute; 0: 1e-6 */
} call_row;

typedef struct kit {
    bt_registry *registry;
    bt_ctx *ctx;
    bt_store *store;
    bt_builder *b;
} kit;

static inline int setup(void **state)
{
    bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                    .ignore_environment = 1 };
    kit *k = calloc(1, sizeof *k);
    if (!k)
        return -1;
    k->registry = bt_registry_create(&options);
    k->ctx = k->registry ? bt_ctx_create(k->registry) : NULL;
    k->store = k->registry ? bt_store_create(k->registry) : NULL;
    *state = k;
    return k->ctx && k->store ? 0 : -1;
}

static inline int teardown(void **state)
{
    kit *k = *state;
    bt_builder_destroy(k->b);
    bt_store_unref(k->store);
    bt_ctx_destroy(k->ctx);
    bt_registry_unref(k->registry);
    free(k);
    return 0;
}

/* A program, typed. */
static inline bt_module *read_module(kit *k, const char *text)
{
    bt_module *parsed, *typed;
    assert_ok(k->ctx, bt_parse(k->ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(k->ctx, bt_infer(k->ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

/* ---- reading ---- */

/* Reads one tensor and moves the text behind it. */
static inline bt_tensor *read_tensor(kit *k, const char **text)
{
    bt_tensor *t;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank = 0;
    const char *at = *text + strspn(*text, " (|"), *bracket = strchr(at, '[');
    assert_non_null(bracket);
    bt_dtype dtype = bt_dtype_parse(at, (size_t)(bracket - at));
    assert_int_not_equal(dtype, 0);
    for (at = bracket + 1; *at != ']'; at += *at == ',') {
        char *end;
        dims[rank++] = strtoll(at, &end, 10);
        assert_ptr_not_equal(at, end);
        at = end;
    }
    at++;
    assert_ok(k->ctx, bt_tensor_create(k->ctx, dtype, rank, dims, &t));
    uint32_t class_bit = 1u << BT_DTYPE_CLASS(dtype);
    for (int64_t i = 0; i < t->nelem; i++) {
        char *end;
        if (class_bit & BT_CLASS_BITS_FLOAT)
            bt_tensor_set(t, i, strtod(at, &end));
        else if (BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT)
            bt_tensor_set_int(t, i, (int64_t)strtoull(at, &end, 10));
        else
            bt_tensor_set_int(t, i, strtoll(at, &end, 10));
        if (at == end)
            fail_msg("too few elements in: %s", *text);
        at = end;
    }
    *text = at + strspn(at, " ");
    return t;
}

static inline const bt_value *const_of(kit *k, const bt_tensor *t)
{
    const bt_value *value;
    assert_ok(k->ctx, bt_build_const(k->b, &t->base, &value));
    return value;
}

/* A constant, or a tuple of constants; adds the leaves to `leaves`. */
static inline const bt_value *read_arg(kit *k, const char *text, bt_tensor **leaves,
                                       uint32_t *nleaf)
{
    const bt_value *fields[MAX_LEAF], *tuple;
    uint32_t first = *nleaf, n = 0;
    int is_tuple = *text == '(';
    do {
        assert_true(*nleaf < MAX_LEAF);
        leaves[*nleaf] = read_tensor(k, &text);
        fields[n++] = const_of(k, leaves[(*nleaf)++]);
    } while (*text == '|');
    if (!is_tuple) {
        assert_int_equal(*nleaf, first + 1);
        return fields[0];
    }
    assert_ok(k->ctx, bt_build_tuple(k->b, n, fields, &tuple));
    return tuple;
}

/* ---- checking ---- */

static inline const bt_type *leaf_type(const bt_type *type, uint32_t i)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    return tuple ? tuple->at[i] : type;
}

/* The type that inference gave must admit the tensor. */
static inline void check_type(kit *k, const call_row *row, const bt_type *type,
                              const bt_tensor *t)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t extent;
    (void)k;
    if (bt_tensor_dtype(type) != t->dtype || !shape || shape->n != t->rank)
        fail_msg("%s: the result's type has another dtype or rank", row->op);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (bt_dim_is_const(shape->dims[i], &extent) && extent != t->dims[i])
            fail_msg("%s: axis %u is %d by type, %d by value", row->op, i, (int)extent,
                     (int)t->dims[i]);
    }
}

static inline void check_leaf(kit *k, const call_row *row, const bt_tensor *t,
                              const char *expected_text)
{
    const char *text = expected_text;
    bt_tensor *expected = read_tensor(k, &text);
    bt_tensor_difference difference;
    double tolerance = row->tolerance != 0 ? row->tolerance : 1e-6;
    bt_status status =
        bt_tensor_compare(k->ctx, t, expected, tolerance, tolerance, &difference);
    if (status || difference.ndifferent) {
        bt_text found;
        bt_text_init(&found, bt_ctx_scratch(k->ctx));
        bt_object_print(&t->base, 64, &found);
        fail_msg("%s{%s}: expected %s, found %s", row->op, row->attrs ? row->attrs : "",
                 expected_text, bt_text_get(&found));
    }
    bt_tensor_unref(expected);
}

/* ---- running ---- */

static inline void run_row(kit *k, const call_row *row)
{
    const bt_value *args[MAX_ARG], *value;
    const bt_type *types[MAX_ARG];
    bt_tensor *leaves[MAX_LEAF], *out[MAX_LEAF] = { NULL };
    const bt_block *block;
    uint32_t narg = 0, nleaf = 0;
    bt_compute *compute;
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    for (; narg < MAX_ARG && row->args[narg]; narg++) {
        args[narg] = read_arg(k, row->args[narg], leaves, &nleaf);
        types[narg] = args[narg]->type;
    }
    assert_ok(k->ctx, bt_build(k->b, row->op, row->attrs, args, narg, &value));
    assert_ok(k->ctx, bt_block_end(k->b, value, &block));
    const bt_call *call = bt_as_call(value);
    bt_formula_call formula = { .op = call->op,
                                .attrs = call->attrs,
                                .narg = narg,
                                .args = types,
                                .result = value->type };
    assert_ok(k->ctx, bt_compute_create(k->ctx, &formula, &compute));
    assert_ok(k->ctx, bt_compute_run(k->ctx, compute, nleaf,
                                     (const bt_tensor *const *)leaves, out));
    uint32_t nout = bt_compute_nout(compute);
    for (uint32_t i = 0; i < nout; i++) {
        check_type(k, row, leaf_type(value->type, i), out[i]);
        if (!row->out[i])
            fail_msg("%s: more results than expected", row->op);
        check_leaf(k, row, out[i], row->out[i]);
        bt_tensor_unref(out[i]);
    }
    assert_true(nout == MAX_ARG || !row->out[nout]);
    for (uint32_t i = 0; i < nleaf; i++)
        bt_tensor_unref(leaves[i]);
    bt_compute_destroy(compute);
    bt_builder_destroy(k->b);
    k->b = NULL;
}

static inline void run_rows(void **state, const call_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        run_row(*state, &rows[i]);
}
#define RUN_ROWS(rows) run_rows(state, rows, sizeof(rows) / sizeof(*(rows)))

#endif
