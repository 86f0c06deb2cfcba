/* Dims as C. */
#include "dims.h"

#include <inttypes.h>
#include <string.h>

/* In order: each calls only those above it. */
static const struct {
    const char *name, *text;
} functions[] = {
    { "dim_add", "static int64_t dim_add(int64_t a, int64_t b)\n"
                 "{\n"
                 "    if (b > 0 && a > INT64_MAX - b)\n"
                 "        return INT64_MAX;\n"
                 "    return b < 0 && a < -INT64_MAX - b ? -INT64_MAX : a + b;\n"
                 "}\n" },
    { "dim_mul", "static int64_t dim_mul(int64_t a, int64_t b)\n"
                 "{\n"
                 "    const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;\n"
                 "    if (x != 0 && y > INT64_MAX / x)\n"
                 "        return (a < 0) == (b < 0) ? INT64_MAX : -INT64_MAX;\n"
                 "    return a * b;\n"
                 "}\n" },
    { "dim_floordiv", "static int64_t dim_floordiv(int64_t a, int64_t b)\n"
                      "{\n"
                      "    if (b == 0)\n"
                      "        return 0;\n"
                      "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
                      "}\n" },
    { "dim_ceildiv", "static int64_t dim_ceildiv(int64_t a, int64_t b)\n"
                     "{\n"
                     "    if (b == 0)\n"
                     "        return 0;\n"
                     "    return a / b + (a % b != 0 && (a < 0) == (b < 0));\n"
                     "}\n" },
    { "dim_mod", "static int64_t dim_mod(int64_t a, int64_t b)\n"
                 "{\n"
                 "    const int64_t rest = b == 0 ? 0 : a % b;\n"
                 "    return rest != 0 && (a < 0) != (b < 0) ? rest + b : rest;\n"
                 "}\n" },
    { "dim_min", "static int64_t dim_min(int64_t a, int64_t b)\n"
                 "{\n"
                 "    return a < b ? a : b;\n"
                 "}\n" },
    { "dim_max", "static int64_t dim_max(int64_t a, int64_t b)\n"
                 "{\n"
                 "    return a > b ? a : b;\n"
                 "}\n" },
};

void c_dim_functions(const bt_text *body, bt_text *out)
{
    for (size_t i = 0; body->at && i < BT_COUNT(functions); i++) {
        bt_text call;
        bt_text_init(&call, out->arena);
        bt_text_addf(&call, "%s(", functions[i].name);
        const char *text = bt_text_get(&call);
        if (!text)
            out->failed = 1;
        else if (strstr(body->at, text))
            bt_text_addf(out, "%s\n", functions[i].text);
    }
}

int c_dim_is_function(const char *word)
{
    for (size_t i = 0; i < BT_COUNT(functions); i++) {
        if (strcmp(functions[i].name, word) == 0)
            return 1;
    }
    return 0;
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
