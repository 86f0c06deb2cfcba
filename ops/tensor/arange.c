/*
 * arange: numbers from start up to (not including) stop, step apart.
 *     y[i] = start + i * step for i < ceil((stop - start) / step)
 * With integers whose contents are known, the extent is a dim computed from them; with
 * constants it is a number.
 * source  Relay, arange; ONNX Range-11; NumPy arange
 */
#include "plain/arange.h"
#include "contents.h"
#include "plain.h"

struct attrs {
    const bt_type *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, dtype, DTYPE, "None", "element type; None: that of start"),
    { 0 },
};

/* The extent from constants of any dtype; NULL where the bounds are none, or cannot be. */
static const bt_type *extent_of_constants(bt_solver *s, const bt_relation_call *r)
{
    int64_t n;
    bt_plain_tensor bounds[3], out = { .dims = &n, .rank = 1 };
    const bt_plain_call call = { 3, 1, bounds, &out, NULL, .is_sizing = 1 };
    for (uint32_t i = 0; i < 3; i++) {
        const bt_tensor *bound = bt_relation_constant(s, r, i);
        if (!bound || bound->rank != 0)
            return NULL;
        bounds[i] = plain_tensor_of(bound, NULL);
    }
    return plain_arange(&call) ? NULL : bt_dim(bt_relation_store(s), n);
}

/* The extent from known bounds; NULL where only a run can tell. */
static const bt_type *extent_of(bt_store *store, const contents *bounds)
{
    int64_t step, low = 0, high;
    if (bounds[0].n != 1 || bounds[1].n != 1 || !contents_number(&bounds[2], 0, &step) ||
        step == 0 || step == INT64_MIN)
        return NULL;
    const bt_type *start = bounds[0].at[0], *stop = bounds[1].at[0];
    const bt_type *span =
        step > 0 ? bt_dim_sub(store, stop, start) : bt_dim_sub(store, start, stop);
    const bt_type *width = bt_dim(store, step > 0 ? step : -step),
                  *zero = bt_dim(store, 0);
    if (!span || !width || !zero)
        return NULL;
    bt_dim_bounds(span, &low, &high);
    if (low < 0)
        span = bt_dim_max(store, span, zero);
    return span ? bt_dim_ceildiv(store, span, width) : NULL;
}

static bt_status state_contents(bt_solver *s, const bt_relation_call *r,
                                const contents *bounds, const bt_type *extent)
{
    int64_t start, step, n, at;
    const bt_type *elements[CONTENTS_MAX];
    if (!contents_possible(s, r, r->narg) || !bt_dim_is_const(extent, &n) ||
        n > CONTENTS_MAX || !contents_number(&bounds[0], 0, &start) ||
        !contents_number(&bounds[2], 0, &step))
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!bt_mul_int64(i, step, &at) || !bt_add_int64(start, at, &at))
            return NULL;
        elements[i] = bt_dim(bt_relation_store(s), at);
        if (!elements[i])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_set_contents(s, r, (uint32_t)n, elements);
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts in[3];
    contents bounds[3];
    const bt_type *extent;
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(bt_relation_tensor_rank(s, r, i, 0, &in[i]));
    for (uint32_t i = 0; i < 3; i++) {
        if (!in[i].known)
            return bt_relation_wait(s);
        BT_TRY(contents_get(s, r, i, &bounds[i]));
    }
    const bt_type *dtype = a->dtype ? a->dtype : in[0].dtype;
    extent = extent_of(bt_relation_store(s), bounds);
    if (!extent)
        extent = extent_of_constants(s, r);
    if (extent) {
        BT_TRY(bt_relation_result_tensor(s, r, 1, &extent, dtype));
        return state_contents(s, r, bounds, extent);
    }
    BT_TRY(bt_relation_opaque(s, r, 0, &extent));
    return bt_relation_result_tensor(s, r, 1, &extent, dtype);
}

/* ---- run ---- */

static const char *const faults[] = { "the step leads nowhere",
                                      "there are too many elements", NULL };

static const bt_plain_facet plain = PLAIN(plain_arange, faults, 0, NULL);

/* ---- derivatives ---- */

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    static const char *const sums[] = { "d: t[n] => g: t[] = sum(i: d[i])", NULL,
                                        "d: t[n] => g: t[] = sum(i: t(i) * d[i])" };
    for (uint32_t i = 0; i < 3; i++) {
        const bt_value *sum;
        if (!sums[i] || !c->wants[i])
            continue;
        BT_TRY(bt_build_formula(b, NULL, 1, c->seeds, sums[i], &sum));
        BT_TRY(bt_build(b, "cast_like", NULL, (const bt_value *[]){ sum, c->in[i] }, 2,
                        &to[i]));
    }
    return NULL;
}

static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const bt_value *args[3] = { c->out[0] };
    for (uint32_t i = 0; i < 2; i++) {
        const bt_value *tangent = c->seeds[2 * i];
        if (!tangent)
            BT_TRY(bt_build(b, "zeros_like", NULL, &c->in[2 * i], 1, &tangent));
        BT_TRY(bt_build(b, "cast_like", NULL, (const bt_value *[]){ tangent, c->out[0] }, 2,
                        &args[1 + i]));
    }
    return bt_build_formula(b, NULL, 3, args,
                            "y: t[n], a: t[], s: t[] => g: t[i in n] = a[] + t(i) * s[]",
                            &to[0]);
}
static const bt_gradient_facet gradient = { .vjp = vjp, .jvp = jvp };

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "start", .type = "t:number[]", .doc = "the first number" },
    { .name = "stop", .type = "t[]", .doc = "the bound, not included" },
    { .name = "step", .type = "t[]", .doc = "the difference; not 0" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "arange",
        .revision = 1,
        .doc = "Numbers from start up to stop, step apart.\n"
               "As many as fit; none where step leads away from stop.",
        .source = "Relay, arange; ONNX Range-11",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "int32[] = 0..3, int32[] = 4..9, int32[] = 1..3\n"
                "float32[] = 0..1, float32[] = 2..3, float32[] = 0.3..0.5\n"
                "int64[] = 5..9, int64[] = 0..4, int64[] = 1..1\n"
                "int32[] = 0..0, int32[] = 5..5, int32[] = 2..2 | dtype=\"float16\"\n"
                "float32[] = 0..1, float32[] = 7..8, float32[] = 0.3..0.5 | "
                "dtype=\"uint8\""),
            BT_FACET("plain", plain), BT_FACET("gradient", gradient)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_arange[] = { BT_OPS(ops), { 0 } };
