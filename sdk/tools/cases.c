#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* ---- reading ---- */

struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *op, *line, *at, *end;
    struct call_case *out;
};

static bt_status fail(struct reader *r, const char *what)
{
    return bt_fail(r->ctx, BT_ERR_SYNTAX, "%s: case \"%.*s\": %s expected at \"%.*s\"",
                   r->op, (int)(r->end - r->line), r->line, what, (int)(r->end - r->at),
                   r->at);
}

static int skip(struct reader *r, const char *token)
{
    size_t n = strlen(token);
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    if ((size_t)(r->end - r->at) < n || strncmp(r->at, token, n) != 0)
        return 0;
    r->at += n;
    return 1;
}

static bt_status read_number(struct reader *r, double *out)
{
    char text[64], *end;
    size_t n = 0;
    skip(r, "");
    while (r->at + n < r->end && n + 1 < sizeof(text) &&
           strchr("+-.0123456789e", r->at[n]) && strncmp(r->at + n, "..", 2) != 0) {
        text[n] = r->at[n];
        n++;
    }
    text[n] = 0;
    *out = strtod(text, &end);
    if (n == 0 || *end)
        return fail(r, "a number");
    r->at += n;
    return NULL;
}

/* "[[1, 2], [3, 4]]", from where the reader stands. */
static bt_status read_values(struct reader *r, bt_arena *arena, const char **out)
{
    const char *start = r->at;
    int depth = 0;
    do {
        depth += *r->at == '[';
        depth -= *r->at == ']';
        r->at++;
    } while (depth > 0 && r->at < r->end);
    if (depth > 0)
        return fail(r, "]");
    *out = bt_arena_text(arena, start, (size_t)(r->at - start));
    return *out ? NULL : bt_no_memory();
}

/* "0..1", "3", "[1, 2]" */
static bt_status read_range(struct reader *r, struct case_leaf *leaf)
{
    bt_arena *arena = r->arena;
    skip(r, "");
    const char *start = r->at;
    if (r->at < r->end && *r->at == '[')
        return read_values(r, arena, &leaf->values);
    BT_TRY(read_number(r, &leaf->low));
    if (skip(r, "..")) {
        leaf->has_range = 1;
        return read_number(r, &leaf->high);
    }
    leaf->values = bt_arena_text(arena, start, (size_t)(r->at - start));
    return leaf->values ? NULL : bt_no_memory();
}

/* "float32[2, 3] = 0..1" */
static bt_status read_leaf(struct reader *r)
{
    struct case_leaf leaf = { 0 };
    size_t n = 0;
    double size;
    if (r->out->nleaf == CASE_MAX_LEAF)
        return fail(r, "fewer tensors");
    skip(r, "");
    while (r->at + n < r->end && r->at[n] != '[')
        n++;
    leaf.dtype = bt_dtype_parse(r->at, n);
    if (!bt_dtype_is_stored(leaf.dtype))
        return fail(r, "an element type");
    r->at += n;
    if (!skip(r, "["))
        return fail(r, "[");
    while (!skip(r, "]")) {
        if (leaf.rank && !skip(r, ","))
            return fail(r, "]");
        if (leaf.rank == CASE_MAX_DIM)
            return fail(r, "fewer dims");
        BT_TRY(read_number(r, &size));
        leaf.dims[leaf.rank++] = (int64_t)size;
    }
    if (skip(r, "="))
        BT_TRY(read_range(r, &leaf));
    r->out->leaves[r->out->nleaf++] = leaf;
    return NULL;
}

static bt_status read_arg(struct reader *r)
{
    struct case_arg arg = { .first = r->out->nleaf };
    if (skip(r, "(")) {
        arg.is_tuple = 1;
        while (!skip(r, ")")) {
            if (r->out->nleaf > arg.first && !skip(r, ","))
                return fail(r, ")");
            BT_TRY(read_leaf(r));
        }
    } else {
        BT_TRY(read_leaf(r));
    }
    arg.nleaf = r->out->nleaf - arg.first;
    r->out->args[r->out->narg++] = arg;
    return NULL;
}

/* Where " -> ..." begins, outside quotes; `end` if nowhere. */
static const char *find_arrow(const char *at, const char *end)
{
    int is_quoted = 0;
    for (; at < end; at++) {
        is_quoted ^= *at == '"';
        if (!is_quoted && end - at > 1 && at[0] == '-' && at[1] == '>')
            return at;
    }
    return end;
}

bt_status case_next(bt_ctx *ctx, bt_arena *arena, const char *op, const char **text,
                    struct call_case *out, int *is_case)
{
    while (**text == '\n')
        ++*text;
    struct reader r = {
        .ctx = ctx, .arena = arena, .op = op, .line = *text, .at = *text, .out = out
    };
    const char *end = r.at + strcspn(r.at, "\n");
    r.end = find_arrow(r.at, end);
    *text = end;
    *is_case = r.at < r.end;
    if (!*is_case)
        return NULL;
    *out =
        (struct call_case){ .line = bt_arena_text(arena, r.line, (size_t)(end - r.line)),
                            .attrs = "" };
    if (r.end < end) {
        out->expected = bt_arena_text(arena, r.end + 2, (size_t)(end - r.end - 2));
        if (!out->expected)
            return bt_no_memory();
    }
    while (r.at < r.end && !skip(&r, "|")) {
        if (out->narg && !skip(&r, ","))
            return fail(&r, "a comma or |");
        BT_TRY(read_arg(&r));
        skip(&r, "");
    }
    skip(&r, "");
    if (r.at < r.end)
        out->attrs = bt_arena_text(arena, r.at, (size_t)(r.end - r.at));
    return out->line && out->attrs ? NULL : bt_no_memory();
}

/* ---- types ---- */

static const bt_type *leaf_type(bt_store *store, const struct case_leaf *leaf,
                                case_dim_fn *dim, void *self)
{
    const bt_type *dims[CASE_MAX_DIM];
    for (uint32_t i = 0; i < leaf->rank; i++) {
        dims[i] = dim ? dim(self, store, leaf->dims[i]) : bt_dim(store, leaf->dims[i]);
        if (!dims[i])
            return NULL;
    }
    const bt_type *shape = bt_type_shape(store, leaf->rank, dims),
                  *dtype = bt_type_dtype(store, leaf->dtype);
    return shape && dtype ? bt_type_tensor(store, shape, dtype) : NULL;
}

const bt_type *case_type(bt_store *store, const struct call_case *c, uint32_t arg,
                         case_dim_fn *dim, void *self)
{
    const bt_type *fields[CASE_MAX_LEAF];
    const struct case_arg *a = &c->args[arg];
    for (uint32_t i = 0; i < a->nleaf; i++) {
        fields[i] = leaf_type(store, &c->leaves[a->first + i], dim, self);
        if (!fields[i])
            return NULL;
    }
    return a->is_tuple ? bt_type_tuple(store, a->nleaf, fields) : fields[0];
}

/* ---- values ---- */

uint64_t case_draw(uint64_t *state)
{
    // splitmix64, by Sebastiano Vigna, public domain
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The range of a leaf in its dtype. */
static void range_of(const struct case_leaf *leaf, double *low, double *high)
{
    *low = leaf->has_range ? leaf->low : bt_dtype_is_real(leaf->dtype) ? -2 : -9;
    *high = leaf->has_range ? leaf->high : bt_dtype_is_real(leaf->dtype) ? 2 : 9;
    if (bt_dtype_is_real(leaf->dtype))
        return;
    *low = ceil(*low);
    *high = floor(*high);
    if (BT_DTYPE_CLASS(leaf->dtype) == BT_CLASS_UINT && *low < 0)
        *low = 0;
    if (leaf->dtype == BT_BOOL) {
        *low = 0;
        *high = 1;
    }
    if (leaf->dtype == BT_INT8) {
        *low = fmax(*low, -128);
        *high = fmin(*high, 127);
    }
}

int64_t case_nelem(const struct case_leaf *leaf)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < leaf->rank; i++)
        n *= leaf->dims[i];
    return n;
}

int case_has_values(const struct case_leaf *leaf)
{
    double low, high;
    range_of(leaf, &low, &high);
    return low <= high;
}

static void set_special(bt_tensor *t, int64_t at, uint64_t bits, uint32_t kind)
{
    const double large = t->dtype == BT_FLOAT64   ? 1.7e308
                         : t->dtype == BT_FLOAT16 ? 60000
                                                  : 3e38;
    const double floats[] = { 0,        -0.0, 1,        -1,    0.5,       -2.5,
                              INFINITY, NAN,  0x1p-149, large, -INFINITY, -0x1p-14 };
    static const double moderate[] = { 0, -0.0, 1, -1, 0.5, -2.5, NAN, -0x1p-14 };
    uint32_t width = BT_DTYPE_BITS(t->dtype);
    if (bt_dtype_is_real(t->dtype)) {
        bt_tensor_set(t, at,
                      kind == CASE_MODERATE ? moderate[bits % BT_COUNT(moderate)]
                                            : floats[bits % BT_COUNT(floats)]);
        return;
    }
    // 0, 1, -1, 2, the ends of a signed type, what is next to them, and what has a sum or a
    // square that is too large: 3/4 of the largest, 12, 200, 50000, ... and its opposite
    uint64_t least = UINT64_C(1) << (width - 1), root = (UINT64_C(3) << width / 2) / 4;
    const uint64_t integers[] = { 0,         1,         UINT64_MAX,    2,    least,
                                  least - 1, least + 1, least / 4 * 3, root, -root };
    uint64_t value = integers[bits % BT_COUNT(integers)];
    bt_tensor_set_int(t, at, t->dtype == BT_BOOL ? (int64_t)(bits & 1) : (int64_t)value);
}

/* A number, nan, inf, true or false off the front. */
static int take_number(const char **at, double *out)
{
    char *end;
    *at += strspn(*at, " []");
    *out = strtod(*at, &end);
    if (end == *at && (strncmp(*at, "true", 4) == 0 || strncmp(*at, "True", 4) == 0)) {
        *out = 1;
        end += 4;
    } else if (end == *at &&
               (strncmp(*at, "false", 5) == 0 || strncmp(*at, "False", 5) == 0)) {
        end += 5;
    }
    int got = end != *at;
    *at = end;
    return got;
}

bt_status case_numbers(bt_ctx *ctx, const char **text, bt_tensor *tensor)
{
    const char *start = *text + strspn(*text, " ,"), *at = start;
    int depth = 0, ok = 1;
    int64_t n = 0;
    double value;
    do { // the list that begins here, or the number
        depth += *at == '[';
        depth -= *at == ']';
        at++;
    } while (*at && (depth > 0 || (*at != ',' && *start != '[')));
    const char *end = at;
    for (at = start + strspn(start, " []"); ok && at < end; n++) {
        const char *number = at;
        ok = n < tensor->nelem && take_number(&at, &value);
        if (ok && bt_dtype_is_real(tensor->dtype))
            bt_tensor_set(tensor, n, value);
        else if (ok && tensor->dtype == BT_UINT64)
            bt_tensor_set_int(tensor, n, (int64_t)strtoull(number, NULL, 10));
        else if (ok && BT_DTYPE_BITS(tensor->dtype) == 64)
            bt_tensor_set_int(tensor, n, strtoll(number, NULL, 10));
        else if (ok)
            bt_tensor_set_int(tensor, n, (int64_t)value);
        at += strspn(at, " ],[");
    }
    for (int64_t i = n; ok && n == 1 && *start != '[' && i < tensor->nelem; i++) {
        if (bt_dtype_is_real(tensor->dtype))
            bt_tensor_set(tensor, i, bt_tensor_get(tensor, 0));
        else
            bt_tensor_set_int(tensor, i, bt_tensor_get_int(tensor, 0));
    }
    if (!ok || (n != tensor->nelem && (*start == '[' || n != 1)))
        return bt_fail(ctx, BT_ERR_SYNTAX, "%lld numbers are expected, found \"%.*s\"",
                       (long long)tensor->nelem, (int)(end - start), start);
    *text = end;
    return NULL;
}

enum { WIDER = 5 };

bt_status case_values(bt_ctx *ctx, const struct case_leaf *leaf, uint64_t seed,
                      uint32_t kind, bt_tensor **out)
{
    double low, high;
    range_of(leaf, &low, &high);
    BT_TRY(bt_tensor_create(ctx, leaf->dtype, leaf->rank, leaf->dims, out));
    if (leaf->values) {
        const char *text = leaf->values;
        bt_status status = case_numbers(ctx, &text, *out);
        if (status)
            bt_tensor_unref(*out);
        return status;
    }
    bt_tensor *parts = NULL;
    bt_status status = parts_of(ctx, *out, &parts);
    for (int64_t i = 0; !status && i < parts->nelem; i++) {
        uint64_t bits = case_draw(&seed);
        const double wide =
            kind == CASE_WIDE && !leaf->has_range && bits % 4 == 0 ? WIDER : 1;
        if (kind != CASE_RANDOM && kind != CASE_WIDE && !leaf->has_range)
            set_special(parts, i, bits >> 32, kind);
        else if (bt_dtype_is_real(leaf->dtype))
            bt_tensor_set(parts, i,
                          wide * (low + (high - low) * ((double)(bits >> 11) * 0x1p-53)));
        else
            bt_tensor_set_int(
                parts, i, (int64_t)low + (int64_t)(bits % (uint64_t)(high - low + 1)));
    }
    bt_tensor_unref(parts);
    if (status)
        bt_tensor_unref(*out);
    return status;
}

bt_status case_strided(bt_ctx *ctx, const bt_tensor *from, bt_tensor **out)
{
    int64_t dims[CASE_MAX_DIM + 1], strides[CASE_MAX_DIM + 1], step = 2, offset = 0;
    bt_tensor *memory;
    for (uint32_t i = 0; i < from->rank; i++) {
        strides[i] = step;
        step *= from->dims[i] ? from->dims[i] : 1;
    }
    if (from->rank && from->nelem) {
        uint32_t last = from->rank - 1;
        offset = strides[last] * (from->dims[last] - 1);
        strides[last] = -strides[last];
    }
    dims[0] = step;
    BT_TRY(bt_tensor_create(ctx, from->dtype, 1, dims, &memory));
    bt_status status =
        bt_tensor_view(ctx, memory, from->rank, from->dims, strides, offset, out);
    bt_tensor_unref(memory);
    const size_t item = bt_dtype_nbytes(from->dtype);
    for (int64_t i = 0; !status && i < from->nelem; i++) {
        int64_t at = 0, rest = i;
        for (uint32_t a = from->rank; a-- > 0; rest /= from->dims[a])
            at += rest % from->dims[a] * (*out)->strides[a];
        if (item)
            memcpy((char *)(*out)->data + at * (int64_t)item,
                   (const char *)from->data + i * (int64_t)item, item);
        else if (bt_dtype_is_float(from->dtype))
            bt_tensor_set(*out, i, bt_tensor_get(from, i));
        else
            bt_tensor_set_int(*out, i, bt_tensor_get_int(from, i));
    }
    return status;
}
