/* Dims as C. */
#include "dims.h"

#include <inttypes.h>

void c_dim_functions(const bt_text *body, bt_text *out)
{
    struct c_functions functions;
    if (!c_functions_init(&functions, out->arena, c_dim_blocks)) {
        out->failed = 1;
        return;
    }
    c_functions_use_in(&functions, body->at ? body->at : "");
    for (uint32_t i = 0; i < functions.n; i++) {
        if (functions.is_used[i])
            bt_text_addf(out, "%s\n", functions.blocks[i]);
    }
}

static bt_status add_linear(bt_ctx *ctx, const struct c_dim_names *names,
                            const bt_type *dim, bt_text *out)
{
    bt_dim_sum sum;
    bt_dim_linear(dim, &sum);
    const uint32_t nadd = sum.n - (sum.constant == 0);
    for (uint32_t i = 0; i < nadd; i++)
        bt_text_addf(out, "dim_add(");
    for (uint32_t i = 0; i < sum.n; i++) {
        const int64_t times = sum.terms[i].coefficient;
        if (i)
            bt_text_addf(out, ", ");
        if (times != 1)
            bt_text_addf(out, "dim_mul(INT64_C(%" PRId64 "), ", times);
        BT_TRY(c_dim_text(ctx, names, sum.terms[i].atom, out));
        bt_text_addf(out, "%s%s", times != 1 ? ")" : "", i ? ")" : "");
    }
    if (sum.constant)
        bt_text_addf(out, ", INT64_C(%" PRId64 "))", sum.constant);
    return NULL;
}

static bt_status add_list(bt_ctx *ctx, const struct c_dim_names *names,
                          const bt_type *dim, const char *function, bt_text *out)
{
    const bt_list_type *list = bt_as_list_type(dim);
    for (uint32_t i = 1; i < list->n; i++)
        bt_text_addf(out, "%s(", function);
    for (uint32_t i = 0; i < list->n; i++) {
        bt_text_addf(out, "%s", i ? ", " : "");
        BT_TRY(c_dim_text(ctx, names, list->at[i], out));
        bt_text_addf(out, "%s", i ? ")" : "");
    }
    return NULL;
}

/* Recursion is bounded by the depth of types. */
bt_status c_dim_text(bt_ctx *ctx, const struct c_dim_names *names, const bt_type *dim,
                     bt_text *out)
{
    int64_t number;
    if (bt_dim_is_const(dim, &number)) {
        bt_text_addf(out, "INT64_C(%" PRId64 ")", number);
        return NULL;
    }
    for (uint32_t i = 0; i < names->n; i++) {
        if (names->dims[i] == dim) {
            bt_text_addf(out, "%s", names->words[i]);
            return NULL;
        }
    }
    switch (dim->kind) {
    case BT_TYPE_LINEAR: return add_linear(ctx, names, dim, out);
    case BT_TYPE_PRODUCT: return add_list(ctx, names, dim, "dim_mul", out);
    case BT_TYPE_FLOORDIV: return add_list(ctx, names, dim, "dim_floordiv", out);
    case BT_TYPE_CEILDIV: return add_list(ctx, names, dim, "dim_ceildiv", out);
    case BT_TYPE_MOD: return add_list(ctx, names, dim, "dim_mod", out);
    case BT_TYPE_MIN: return add_list(ctx, names, dim, "dim_min", out);
    case BT_TYPE_MAX: return add_list(ctx, names, dim, "dim_max", out);
    default: return bt_fail(ctx, BT_ERR_UNSUPPORTED, "a size depends on elements");
    }
}
