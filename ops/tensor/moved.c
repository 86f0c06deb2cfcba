/*
 * The operator is called for positions in place of elements:
 *     p = op(1, 2, 3, ..; -1, -2, ..)     what stands where; of `other` below 0; 0: neither
 *     vjp   d data[q] = sum(k | p[k] == 1 + q: dy[k])
 *           d other[q] = sum(k | p[k] == -1 - q: dy[k])
 *     jvp   dy[k] = d data[p[k] - 1] where p[k] is above 0, d other[-1 - p[k]] below
 */
#include "moved.h"

#include <string.h>

enum { MOVED_NONE = UINT32_MAX };

/* ---- values in one row ---- */

static bt_status in_a_row(bt_builder *b, const bt_value *x, const bt_value **out)
{
    return bt_build(b, "reshape", "newshape=[-1]", &x, 1, out);
}

static bt_status reshape_like(bt_builder *b, const bt_value *x, const bt_value *like,
                              const bt_value **out)
{
    return bt_build(b, "reshape_like", NULL, (const bt_value *[]){ x, like }, 2, out);
}

static bt_status cast_like(bt_builder *b, const bt_value *x, const bt_value *like,
                           const bt_value **out)
{
    return bt_build(b, "cast_like", NULL, (const bt_value *[]){ x, like }, 2, out);
}

/* A formula of which the one bare name is how many elements a value has. */
static bt_status build_counted(bt_builder *b, const bt_value *counted, uint32_t narg,
                               const bt_value *const *args, const char *formula,
                               const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(counted->type);
    bt_store *store = bt_builder_store(b);
    const bt_type *n = bt_dim_product(store, 1, shape->n, shape->dims);
    const bt_type *dims = n ? bt_type_shape(store, 1, &n) : NULL;
    return dims ? bt_build_formula(b, dims, narg, args, formula, out)
                : bt_store_why(bt_builder_ctx(b), store);
}

/* ---- positions ---- */

static bt_status number(bt_builder *b, const bt_value *like, const char *formula,
                        const bt_value **out)
{
    const bt_value *row;
    BT_TRY(build_counted(b, like, 0, NULL, formula, &row));
    return reshape_like(b, row, like, out);
}

/* What of the arguments stands where in the result: in a row. */
static bt_status find_places(bt_builder *b, const bt_adjoint_call *c, uint32_t data,
                             uint32_t other, const bt_value **out)
{
    const bt_call *call = c->call;
    const bt_value *args[8], *moved, *as_int, *as_result;
    if (call->narg > 8 || c->nin != call->narg)
        return bt_fail(bt_builder_ctx(b), BT_ERR_INTERNAL, "%s: arguments are tensors",
                       call->op->name);
    memcpy(args, c->in, call->narg * sizeof(*args));
    BT_TRY(number(b, c->in[data], "n => p: int64[i in n] = 1 + i", &args[data]));
    if (other < call->narg)
        BT_TRY(number(b, c->in[other], "n => p: int64[i in n] = -1 - i", &args[other]));
    BT_TRY(bt_build_op(b, call->op, call->attrs, call->narg, args, &moved));
    BT_TRY(bt_build(b, "cast", "dtype=\"int64\"", &moved, 1, &as_int));
    // extents that only a run knows are those of the result
    BT_TRY(reshape_like(b, as_int, c->out[0], &as_result));
    return in_a_row(b, as_result, out);
}

/* ---- hooks ---- */

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, uint32_t data,
                     uint32_t other, const bt_value **to)
{
    const bt_value *args[2];
    BT_TRY(in_a_row(b, c->seeds[0], &args[0]));
    BT_TRY(find_places(b, c, data, other, &args[1]));
    for (uint32_t i = 0; i < c->nin; i++) {
        const bt_value *row, *cast;
        if (!c->wants[i] || (i != data && i != other))
            continue;
        BT_TRY(build_counted(
            b, c->in[i], 2, args,
            i == data
                ? "d: t[m], p: int64[m], n => g: t[q in n] = sum(k | p[k] == 1 + q: d[k])"
                : "d: t[m], p: int64[m], n => g: t[q in n] = sum(k | p[k] == -1 - q: "
                  "d[k])",
            &row));
        BT_TRY(cast_like(b, row, c->in[i], &cast));
        BT_TRY(reshape_like(b, cast, c->in[i], &to[i]));
    }
    return NULL;
}

/* The tangent of an argument in a row, of the result's dtype; zeros where there is none. */
static bt_status tangent_row(bt_builder *b, const bt_adjoint_call *c, uint32_t arg,
                             const bt_value **out)
{
    const bt_value *cast, *tangent = c->seeds[arg];
    if (!tangent)
        BT_TRY(bt_build(b, "zeros_like", NULL, &c->in[arg], 1, &tangent));
    BT_TRY(cast_like(b, tangent, c->out[0], &cast));
    return in_a_row(b, cast, out);
}

static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, uint32_t data,
                     uint32_t other, const bt_value **to)
{
    const int has_other = other < c->nin;
    const bt_value *args[3], *row;
    BT_TRY(find_places(b, c, data, other, &args[0]));
    BT_TRY(tangent_row(b, c, data, &args[1]));
    if (has_other)
        BT_TRY(tangent_row(b, c, other, &args[2]));
    BT_TRY(bt_build_formula(
        b, NULL, has_other ? 3 : 2, args,
        has_other ? "p: int64[m], a: t[n], o: t[l] => y: t[k in m] = select(p[k] > 0, "
                    "a[clamp(p[k] - 1, 0, n - 1)], select(p[k] < 0, "
                    "o[clamp(-1 - p[k], 0, l - 1)], 0))"
                  : "p: int64[m], a: t[n] => y: t[k in m] = select(p[k] > 0, "
                    "a[clamp(p[k] - 1, 0, n - 1)], 0)",
        &row));
    return reshape_like(b, row, c->out[0], &to[0]);
}

#define MOVED(name, data_, other_)                                       \
    static bt_status vjp_##name(bt_builder *b, const bt_adjoint_call *c, \
                                const bt_value **to)                     \
    {                                                                    \
        return vjp(b, c, data_, other_, to);                             \
    }                                                                    \
    static bt_status jvp_##name(bt_builder *b, const bt_adjoint_call *c, \
                                const bt_value **to)                     \
    {                                                                    \
        return jvp(b, c, data_, other_, to);                             \
    }                                                                    \
    const bt_gradient_facet moved_##name = { .vjp = vjp_##name, .jvp = jvp_##name };
MOVED(0, 0, MOVED_NONE)
MOVED(0_1, 0, 1)
MOVED(0_2, 0, 2)
MOVED(1_2, 1, 2)
MOVED(2_3, 2, 3)

static bt_status vjp_as_they_are(bt_builder *b, const bt_adjoint_call *c,
                                 const bt_value **to)
{
    return reshape_like(b, c->seeds[0], c->in[0], &to[0]);
}

static bt_status jvp_as_they_are(bt_builder *b, const bt_adjoint_call *c,
                                 const bt_value **to)
{
    return reshape_like(b, c->seeds[0], c->out[0], &to[0]);
}

const bt_gradient_facet moved_as_they_are = { .vjp = vjp_as_they_are,
                                              .jvp = jvp_as_they_are };
