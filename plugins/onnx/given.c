#include "given.h"

#include <stdlib.h>
#include <string.h>

#include "tensor.h"

bt_status given_init(bt_ctx *ctx, bt_arena *arena, const char *const *texts,
                     struct given *out)
{
    *out = (struct given){ .texts = texts };
    for (uint32_t i = 0; texts && texts[i]; i++) {
        if (!strchr(texts[i], '='))
            return bt_fail(ctx, BT_ERR_ARGUMENT, "%s: NAME=VALUE is expected", texts[i]);
        if (!BT_PUSH(arena, &out->used, 0))
            return bt_no_memory();
    }
    return NULL;
}

/* The name ends at the last '=': names of values may hold one. */
const char *given_find(struct given *given, const char *name)
{
    size_t n = strlen(name);
    for (uint32_t i = 0; i < given->used.len; i++) {
        const char *text = given->texts[i], *equals = strrchr(text, '=');
        if ((size_t)(equals - text) == n && memcmp(text, name, n) == 0) {
            given->used.at[i] = 1;
            return equals + 1;
        }
    }
    return NULL;
}

const char *given_unused(const struct given *given)
{
    for (uint32_t i = 0; i < given->used.len; i++) {
        if (!given->used.at[i])
            return given->texts[i];
    }
    return NULL;
}

bt_status given_dim(bt_ctx *ctx, const char *name, const char *text, int64_t *out)
{
    int64_t value = 0;
    int ok = *text != 0;
    for (const char *c = text; ok && *c; c++)
        ok = *c >= '0' && *c <= '9' && bt_mul_int64(value, 10, &value) &&
             bt_add_int64(value, *c - '0', &value);
    if (!ok)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "dim %s is given as %s; a whole number is expected", name, text);
    *out = value;
    return NULL;
}

static bt_status wrong_value(bt_ctx *ctx, const struct onnx_value_info *info,
                             const char *text)
{
    return bt_fail(ctx, BT_ERR_ARGUMENT,
                   "input %s is given as %s; a number or [NUMBER, ...] is expected",
                   info->name, text);
}

struct number {
    double real;
    int64_t whole;
};
typedef bt_vec(struct number) number_list;

/* One number off the front: an integer exactly, for an integer input. */
static int read_number(const char **at, bt_dtype dtype, struct number *out)
{
    char *end = NULL;
    if (bt_dtype_is_float(dtype)) {
        const size_t n = bt_number_read(*at, &out->real);
        *at += n;
        return n != 0;
    }
    out->whole = strtoll(*at, &end, 10);
    int got = end != *at;
    *at = end;
    return got;
}

static bt_status read_numbers(bt_ctx *ctx, bt_arena *arena,
                              const struct onnx_value_info *info, const char *text,
                              number_list *out)
{
    bt_dtype dtype = onnx_dtype(info->elem_type);
    const char *at = text;
    int is_list = *at == '[';
    struct number number = { 0 };
    at += is_list;
    while (!(is_list && *at == ']')) {
        if (!read_number(&at, dtype, &number))
            return wrong_value(ctx, info, text);
        if (!BT_PUSH(arena, out, number))
            return bt_no_memory();
        at += strspn(at, " ");
        if (!is_list || *at != ',')
            break;
        at += 1 + strspn(at + 1, " ");
    }
    return strcmp(at, is_list ? "]" : "") == 0 ? NULL : wrong_value(ctx, info, text);
}

/* The shape is the declared one as far as that is static, else the text's. */
static bt_status given_shape(bt_ctx *ctx, const struct onnx_value_info *info,
                             const char *text, uint32_t n, uint32_t *rank)
{
    uint32_t of_text = *text == '[';
    *rank = info->has_shape ? info->dims.len : of_text;
    int64_t dim = *rank == 1 && info->has_shape ? info->dims.at[0].value : -1;
    if (*rank > 1 || (*rank == 0 && n != 1) || (dim >= 0 && dim != n))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "input %s is given as %u numbers, which its shape is not for; "
                       "scalars and lists can be given",
                       info->name, n);
    return NULL;
}

bt_status given_tensor(bt_ctx *ctx, bt_arena *arena, const struct onnx_value_info *info,
                       const char *text, bt_tensor **out)
{
    bt_dtype dtype = onnx_dtype(info->elem_type);
    number_list numbers = { 0 };
    uint32_t rank;
    if (info->kind != TYPE_TENSOR || !dtype)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "input %s is not a tensor of a supported element type",
                       info->name);
    BT_TRY(read_numbers(ctx, arena, info, text, &numbers));
    BT_TRY(given_shape(ctx, info, text, numbers.len, &rank));
    BT_TRY(bt_tensor_create(ctx, dtype, rank, &(int64_t){ (int64_t)numbers.len }, out));
    for (uint32_t i = 0; i < numbers.len; i++) {
        if (bt_dtype_is_float(dtype))
            bt_tensor_set(*out, i, numbers.at[i].real);
        else
            bt_tensor_set_int(*out, i, numbers.at[i].whole);
    }
    return NULL;
}
