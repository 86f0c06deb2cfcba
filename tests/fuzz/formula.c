/*
 * Index notation: a formula is checked, instantiated and evaluated, or refused.
 *
 *     SHAPES [PATTERN] "\n" FORMULA
 *
 * SHAPES   one byte that chooses the extents of the inputs and what their types say
 * PATTERN  of input a; "t[n, k]" if left out
 * Inputs are a, b: float32[k], x: int64 indices[m], q: int8[n, m], and p, a tuple.
 */
#include <string.h>

#include <baton/compute.h>

#include "fuzz.h"

enum { NINPUT = 5, NLEAF = 6, MAX_WORK = 1 << 20 };

struct attrs {
    int64_t axis;
    bt_ints strides;
    double eps;
    int64_t keep;
    const bt_type *dtype;
};
static const bt_attr schema[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "An int."),
    BT_ATTR(struct attrs, strides, INTS, "[1, 1]", "Ints."),
    BT_ATTR(struct attrs, eps, FLOAT, "1e-05f", "A float."),
    BT_ATTR(struct attrs, keep, BOOL, "False", "A bool."),
    BT_ATTR(struct attrs, dtype, DTYPE, "int8", "A dtype."),
    { 0 },
};

static const struct shape {
    int64_t n, k, m;
    uint32_t is_dynamic;
} shapes[] = {
    { 3, 4, 5, 0 }, { 3, 4, 5, 1 },  { 0, 4, 1, 0 }, { 1, 1, 1, 0 },
    { 7, 0, 2, 1 }, { 2, 33, 3, 0 }, { 1, 6, 6, 1 }, { 17, 16, 1, 0 },
};

static bt_tensor *make(bt_ctx *ctx, bt_dtype dtype, uint32_t rank, const int64_t *dims)
{
    bt_tensor *t;
    FUZZ_CHECK(!bt_tensor_create(ctx, dtype, rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i, (double)(i * 7 % 11) - 3);
    return t;
}

/* a is a transposed view, so that strides are not those of row-major tensors. */
static void make_inputs(bt_ctx *ctx, const struct shape *s, bt_tensor **in)
{
    bt_tensor *whole = make(ctx, BT_FLOAT32, 2, (int64_t[]){ s->k, s->n });
    FUZZ_CHECK(!bt_tensor_view(ctx, whole, 2, (int64_t[]){ s->n, s->k },
                               (int64_t[]){ 1, s->n }, 0, &in[0]));
    bt_tensor_unref(whole);
    in[1] = make(ctx, BT_FLOAT32, 1, &s->k);
    in[2] = make(ctx, BT_INT64, 1, &s->m);
    in[3] = make(ctx, BT_INT8, 2, (int64_t[]){ s->n, s->m });
    in[4] = make(ctx, BT_FLOAT16, 1, &s->n);
    in[5] = make(ctx, BT_FLOAT16, 1, &s->n);
}

static const bt_type *type_of(bt_store *store, const bt_tensor *t, uint32_t is_dynamic)
{
    const bt_type *dims[2] = { bt_dim_opaque(store, NULL), bt_dim_opaque(store, NULL) };
    return is_dynamic ? bt_type_tensor(store, bt_type_shape(store, t->rank, dims),
                                       bt_type_dtype(store, t->dtype))
                      : bt_type_tensor_of(store, t->dtype, t->rank, t->dims);
}

static bt_status create(bt_ctx *ctx, bt_store *store, const bt_op *op,
                        const struct shape *s, bt_tensor **in, bt_compute **out)
{
    struct attrs attrs = { .axis = -1,
                           .strides = { 2, (const int64_t[]){ 2, 3 } },
                           .eps = 1e-5,
                           .dtype = bt_type_dtype(store, BT_INT8) };
    const bt_type *args[NINPUT], *pair[2];
    for (uint32_t i = 0; i < 4; i++)
        args[i] = type_of(store, in[i], s->is_dynamic);
    pair[0] = pair[1] = type_of(store, in[4], s->is_dynamic);
    args[4] = bt_type_tuple(store, 2, pair);
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    FUZZ_CHECK(args[4] && result);
    bt_formula_call call = {
        .op = op, .attrs = &attrs, .narg = NINPUT, .args = args, .result = result
    };
    return bt_compute_create(ctx, &call, out);
}

static bt_status evaluate(bt_ctx *ctx, bt_compute *compute, bt_tensor **in)
{
    const bt_tensor *const *given = (const bt_tensor *const *)in;
    int64_t work;
    bt_tensor *out, *again;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    BT_TRY(bt_compute_print(ctx, compute, NLEAF, given, &text));
    BT_TRY(bt_compute_cost(ctx, compute, NLEAF, given, &work));
    FUZZ_CHECK(work >= 0);
    if (work > MAX_WORK)
        return NULL;
    BT_TRY(bt_compute_run(ctx, compute, NLEAF, given, &out));
    bt_status status = bt_compute_run(ctx, compute, NLEAF, given, &again);
    FUZZ_CHECK(!status && out->nelem == again->nelem);
    FUZZ_CHECK(out->nelem == 0 ||
               memcmp(out->data, again->data, bt_tensor_nbytes(out)) == 0);
    bt_tensor_unref(out);
    bt_tensor_unref(again);
    return NULL;
}

static void try_formula(const struct shape *s, const char *pattern, const char *formula)
{
    bt_ctx *ctx = fuzz_begin();
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    bt_tensor *in[NLEAF] = { 0 };
    bt_compute *compute = NULL;
    const bt_op_input inputs[] = {
        { .name = "a", .type = pattern },        { .name = "b", .type = "float32[k]" },
        { .name = "x", .type = "int64[m]" },     { .name = "q", .type = "u:int[n, m]" },
        { .name = "p", .type = "(h:any[..]*)" }, { 0 }
    };
    bt_op op = { .name = "test.op",
                 .revision = 1,
                 .inputs = inputs,
                 .attrs = schema,
                 .attrs_nbytes = sizeof(struct attrs),
                 .formula = formula };
    FUZZ_CHECK(store);
    make_inputs(ctx, s, in);
    bt_status status = create(ctx, store, &op, s, in, &compute);
    if (!status)
        status = evaluate(ctx, compute, in);
    fuzz_check_status(ctx, status);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < NLEAF; i++)
        bt_tensor_unref(in[i]);
    bt_store_unref(store);
    bt_ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    char *text = malloc(nbytes + 1);
    FUZZ_CHECK(text);
    memcpy(text, bytes, nbytes);
    text[nbytes] = 0;
    char *line = strchr(text, '\n');
    if (line) {
        const struct shape *s = &shapes[bytes[0] % BT_COUNT(shapes)];
        *line = 0;
        try_formula(s, line - text > 1 ? text + 1 : "t[n, k]", line + 1);
    }
    free(text);
    return 0;
}
