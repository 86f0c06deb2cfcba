#include "list_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\n";

/* ---- reading ---- */

struct reader {
    bt_ctx *ctx;
    const char *text, *at;
    struct list_value *out;
    uint32_t leaf_level;         /* of numbers; UINT32_MAX: not known yet */
    uint8_t is_set[BT_MAX_RANK]; /* dims that a row has stated */
};

static bt_status fail(const struct reader *r, const char *expected)
{
    return bt_fail(r->ctx, BT_ERR_ARGUMENT, "%.60s%s: expected %s%s%.20s", r->text,
                   strlen(r->text) > 60 ? "..." : "", expected,
                   *r->at ? ", found " : " before the end", r->at);
}

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, blanks);
}

static int accept(struct reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return 0;
    r->at++;
    return 1;
}

/* 1: true, 0: false, as C or as Python and programs write them; -1: neither. */
static int truth(const char *text, size_t n)
{
    if (n == 4 && (strncmp(text, "true", n) == 0 || strncmp(text, "True", n) == 0))
        return 1;
    return n == 5 && (strncmp(text, "false", n) == 0 || strncmp(text, "False", n) == 0)
               ? 0
               : -1;
}

int list_value_is_truth(const char *text)
{
    return truth(text, strlen(text)) >= 0;
}

/* A number, nan, inf, true or false; what it means depends on the dtype. */
static bt_status read_number(struct reader *r)
{
    size_t n = strcspn(r->at, ",] \t\n[");
    char *end;
    strtod(r->at, &end);
    if (n == 0 || (truth(r->at, n) < 0 && end != r->at + n))
        return fail(r, "a number");
    if (!BT_PUSH(bt_ctx_scratch(r->ctx), &r->out->numbers, r->at))
        return bt_no_memory();
    r->at += n;
    return NULL;
}

static bt_status read_item(struct reader *r, uint32_t level);

static bt_status read_list(struct reader *r, uint32_t level)
{
    int64_t n = 0;
    if (level == BT_MAX_RANK)
        return fail(r, "fewer nested lists");
    while (!accept(r, ']')) {
        if (n && !accept(r, ','))
            return fail(r, "`,` or `]`");
        BT_TRY(read_item(r, level + 1));
        n++;
    }
    if (r->is_set[level] && r->out->dims[level] != n)
        return bt_fail(r->ctx, BT_ERR_ARGUMENT,
                       "%.60s%s: rows of one list have %lld and %lld elements", r->text,
                       strlen(r->text) > 60 ? "..." : "", (long long)r->out->dims[level],
                       (long long)n);
    r->is_set[level] = 1;
    r->out->dims[level] = n;
    r->out->rank = level + 1 > r->out->rank ? level + 1 : r->out->rank;
    return NULL;
}

static bt_status read_item(struct reader *r, uint32_t level)
{
    if (accept(r, '[')) {
        if (level >= r->leaf_level)
            return fail(r, "a number, as beside it");
        return read_list(r, level);
    }
    if (r->leaf_level != UINT32_MAX ? level != r->leaf_level : level < r->out->rank)
        return fail(r, "a list, as beside it");
    r->leaf_level = level;
    return read_number(r);
}

bt_status list_value_read(bt_ctx *ctx, const char *text, struct list_value *out)
{
    struct reader r = {
        .ctx = ctx, .text = text, .at = text, .out = out, .leaf_level = UINT32_MAX
    };
    *out = (struct list_value){ 0 };
    skip_blanks(&r);
    BT_TRY(read_item(&r, 0));
    skip_blanks(&r);
    return *r.at ? fail(&r, "the end") : NULL;
}

/* ---- elements ---- */

static bt_status no_element(bt_ctx *ctx, const bt_tensor *tensor, const char *text)
{
    char dtype[BT_DTYPE_NAME_SIZE];
    return bt_fail(ctx, BT_ERR_ARGUMENT, "%.*s is no %s", (int)strcspn(text, ",] \t\n"),
                   text, bt_dtype_name(tensor->dtype, dtype, sizeof(dtype)));
}

static bt_status set_integer(bt_ctx *ctx, bt_tensor *tensor, int64_t i, const char *text,
                             size_t n)
{
    uint32_t bits = BT_DTYPE_BITS(tensor->dtype);
    char *end;
    errno = 0;
    if (BT_DTYPE_CLASS(tensor->dtype) == BT_CLASS_UINT) {
        unsigned long long value = strtoull(text, &end, 10);
        if (errno || end != text + n || *text == '-' || (bits < 64 && value >> bits))
            return no_element(ctx, tensor, text);
        bt_tensor_set_int(tensor, i, (int64_t)value);
        return NULL;
    }
    long long value = strtoll(text, &end, 10), most = INT64_MAX >> (64 - bits);
    if (errno || end != text + n || value > most || value < -most - 1)
        return no_element(ctx, tensor, text);
    bt_tensor_set_int(tensor, i, value);
    return NULL;
}

bt_status list_value_set(bt_ctx *ctx, bt_tensor *tensor, int64_t i, const char *text)
{
    size_t n = strcspn(text, ",] \t\n");
    uint32_t class_ = BT_DTYPE_CLASS(tensor->dtype);
    int value = truth(text, n);
    if (class_ == BT_CLASS_BOOL) {
        if (value < 0 && !(n == 1 && (*text == '0' || *text == '1')))
            return no_element(ctx, tensor, text);
        bt_tensor_set_int(tensor, i, value > 0 || *text == '1');
        return NULL;
    }
    if (value >= 0)
        return no_element(ctx, tensor, text);
    if (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT)
        return set_integer(ctx, tensor, i, text, n);
    bt_tensor_set(tensor, i, strtod(text, NULL));
    return NULL;
}
