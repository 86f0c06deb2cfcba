#include "train_data_check.h"

#include "sample_set.h"

static int is_integer(bt_dtype dtype)
{
    const uint32_t class_ = BT_DTYPE_CLASS(dtype);
    return class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT || class_ == BT_CLASS_BOOL;
}

/* "18446744073709551615", "-3" */
static const char *integer_text(bt_ctx *ctx, const bt_tensor *tensor, int64_t at)
{
    const int64_t value = bt_tensor_get_int(tensor, at);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    if (tensor->dtype == BT_UINT64)
        bt_text_addf(&text, "%llu", (unsigned long long)value);
    else
        bt_text_addf(&text, "%lld", (long long)value);
    return bt_text_get(&text) ? text.at : "?";
}

/* The position of the first integer that another type does not have; -1: it has all. */
static bt_status find_beyond(bt_ctx *ctx, const bt_tensor *tensor, bt_dtype dtype,
                             int64_t *out)
{
    bt_tensor *as;
    *out = -1;
    if (tensor->dtype == dtype)
        return NULL;
    BT_TRY(bt_tensor_scalar_int(ctx, dtype, 0, &as));
    for (int64_t i = 0; *out < 0 && i < tensor->nelem; i++) {
        const int64_t value = bt_tensor_get_int(tensor, i);
        bt_tensor_set_int(as, 0, value);
        // beyond int64, numbers of one of the two types are below 0 here
        if (bt_tensor_get_int(as, 0) != value ||
            (value < 0 && (tensor->dtype == BT_UINT64) != (dtype == BT_UINT64)))
            *out = i;
    }
    bt_tensor_unref(as);
    return NULL;
}

bt_status samples_check(bt_ctx *ctx, const char *path, const struct train_input *in,
                        const bt_tensor *tensor)
{
    char name[BT_DTYPE_NAME_SIZE];
    int64_t beyond;
    if (BT_DTYPE_CLASS(tensor->dtype) == BT_CLASS_COMPLEX)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s holds %s, and input %s takes %s: real and imaginary parts can "
                       "be two numbers, along an axis of their own",
                       path, type_text(bt_ctx_scratch(ctx), tensor), in->name,
                       bt_dtype_name(in->dtype, name, sizeof(name)));
    if (!is_integer(in->dtype))
        return NULL;
    bt_dtype_name(in->dtype, name, sizeof(name));
    if (!is_integer(tensor->dtype))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s holds %s, and input %s takes integers (%s), to which floats "
                       "would be cut: store them as such",
                       path, type_text(bt_ctx_scratch(ctx), tensor), in->name, name);
    BT_TRY(find_beyond(ctx, tensor, in->dtype, &beyond));
    return beyond < 0
               ? NULL
               : bt_fail(ctx, BT_ERR_ARGUMENT,
                         "%s: sample %lld of input %s has %s, which %s does not "
                         "have",
                         path, (long long)(beyond / (tensor->nelem / tensor->dims[0])),
                         in->name, integer_text(ctx, tensor, beyond), name);
}

bt_status labels_check(bt_ctx *ctx, const char *path, const bt_tensor *tensor)
{
    if (!tensor->rank || !tensor->nelem)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s holds %s, and labels are one for each sample, along the first "
                       "axis",
                       path, type_text(bt_ctx_scratch(ctx), tensor));
    if (BT_DTYPE_CLASS(tensor->dtype) == BT_CLASS_COMPLEX)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s holds %s, and labels are classes (integers along one axis), "
                       "other integers or floats",
                       path, type_text(bt_ctx_scratch(ctx), tensor));
    int64_t beyond = -1;
    if (tensor->dtype == BT_UINT64)
        BT_TRY(find_beyond(ctx, tensor, BT_INT64, &beyond));
    return beyond < 0
               ? NULL
               : bt_fail(ctx, BT_ERR_ARGUMENT,
                         "%s: the label of sample %lld is %s, which int64 does not have",
                         path, (long long)(beyond / (tensor->nelem / tensor->dims[0])),
                         integer_text(ctx, tensor, beyond));
}

bt_status classes_check(bt_ctx *ctx, const bt_tensor *tensor, int64_t first,
                        int64_t nclass)
{
    for (int64_t i = 0; i < tensor->nelem; i++) {
        const int64_t class_ = bt_tensor_get_int(tensor, i);
        if (class_ < 0 || class_ >= nclass)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "the label of sample %lld is %s, and the model gives %lld "
                           "classes, from 0 on",
                           (long long)(first + i), integer_text(ctx, tensor, i),
                           (long long)nclass);
    }
    return NULL;
}
