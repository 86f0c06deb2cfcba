#include "window.h"

#include <stdio.h>
#include <string.h>

uint32_t window_nspace(const bt_op *op)
{
    return (uint32_t)(*strpbrk(op->name, "123") - '0');
}

int layout_read(const char *text, char first, char second, uint32_t nspace,
                struct layout *out)
{
    static const char letters[] = "DHW";
    const char *space = letters + MAX_SPATIAL - nspace;
    uint32_t seen = 0;
    *out = (struct layout){ .rank = nspace + 2 };
    if (strlen(text) != out->rank)
        return 0;
    for (uint32_t i = 0; i < out->rank; i++) {
        const char *at = strchr(space, text[i]);
        uint32_t bit = text[i] == first    ? 0
                       : text[i] == second ? 1
                       : at                ? 2 + (uint32_t)(at - space)
                                           : 31;
        if (bit == 31 || seen & 1u << bit)
            return 0;
        seen |= 1u << bit;
        if (bit == 0)
            out->first = i;
        else if (bit == 1)
            out->second = i;
        else
            out->space[bit - 2] = i;
    }
    return 1;
}

bt_status layout_relate(bt_solver *s, const bt_relation_call *r, const char *attr,
                        const char *text, const char *letters, uint32_t nspace,
                        struct layout *out)
{
    if (layout_read(text, letters[0], letters[1], nspace, out))
        return NULL;
    return bt_relation_fail(s, r, -1,
                            "%s is \"%s\"; it must hold each letter of \"%s%s\" once",
                            attr, text, letters, &"DHW"[MAX_SPATIAL - nspace]);
}

bt_status pool_layout(bt_solver *s, const bt_relation_call *r, const char *layout,
                      const char *out_layout, uint32_t nspace, struct layout *out)
{
    BT_TRY(layout_relate(s, r, "layout", layout, "NC", nspace, out));
    return *out_layout && strcmp(out_layout, layout) != 0
               ? bt_relation_fail(s, r, -1,
                                  "out_layout is \"%s\", layout \"%s\"; they must agree",
                                  out_layout, layout)
               : NULL;
}

/* The layout that is wanted, where `axes` are its logical ones. */
static const bt_layout *if_of(const bt_layout *wanted, const char *axes)
{
    size_t n = strlen(axes);
    return wanted && strncmp(wanted->text, axes, n) == 0 && wanted->text[n] == ':'
               ? wanted
               : NULL;
}

int64_t layout_block(const bt_layout *layout, uint32_t axis)
{
    int64_t block = 1;
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        if (layout->physical[i].axis == axis && layout->physical[i].factor)
            block *= layout->physical[i].factor;
    }
    return block;
}

bt_status pool_layouts_choose(bt_ctx *ctx, bt_store *store, const bt_call *call,
                              const bt_layout *const *wanted, const bt_layout **in,
                              const bt_layout **out)
{
    const char *const *axes =
        bt_attr_find(call->op, call->attrs, "layout", BT_ATTR_STRING);
    (void)ctx, (void)store;
    in[0] = *out = if_of(wanted[0], *axes);
    return NULL;
}

/* Blocks of channels in and out: OIHW8i8o. */
static bt_status weight_layout(bt_ctx *ctx, bt_store *store, const char *axes, int64_t in,
                               int64_t out, const bt_layout **layout)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%s:%s", axes, axes);
    *layout = NULL;
    if (in <= 1 && out <= 1)
        return NULL;
    if (in > 1)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%lldi", (long long)in);
    if (out > 1)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%lldo", (long long)out);
    *layout = n < (int)sizeof(text) ? bt_layout_parse(store, text) : NULL;
    return *layout ? NULL : bt_store_why(ctx, store);
}

bt_status conv_layouts_choose(bt_ctx *ctx, bt_store *store, const bt_call *call,
                              const struct conv_layouts *axes,
                              const bt_layout *const *wanted, const bt_layout **in,
                              const bt_layout **out)
{
    struct layout at;
    int64_t block_in = 1, block_out = 1;
    for (uint32_t i = 0; i < call->narg; i++)
        in[i] = NULL;
    *out = NULL;
    if (strcmp(axes->out, axes->data) != 0 ||
        !layout_read(axes->data, 'N', 'C', window_nspace(call->op), &at))
        return NULL;
    in[0] = if_of(wanted[0], axes->data);
    in[1] = if_of(wanted[1], axes->kernel);
    *out = if_of(wanted[call->narg], axes->data);
    if (in[0] && !axes->ins_divided)
        block_in = layout_block(in[0], at.second);
    if (*out && !axes->outs_divided)
        block_out = layout_block(*out, at.second);
    return in[1] ? NULL
                 : weight_layout(ctx, store, axes->kernel, block_in, block_out, &in[1]);
}

bt_status space_list(bt_solver *s, const bt_relation_call *r, const char *attr,
                     const bt_ints *list, uint32_t nspace, int64_t out[MAX_SPATIAL])
{
    if (list->n != 1 && list->n != nspace)
        return bt_relation_fail(s, r, -1, "%s has length %lld, expected 1 or %u", attr,
                                (long long)list->n, nspace);
    (void)bt_ints_expand(list, nspace, out);
    return NULL;
}

bt_status space_padding(bt_solver *s, const bt_relation_call *r, const bt_ints *list,
                        uint32_t nspace, int64_t out[2 * MAX_SPATIAL])
{
    return bt_ints_expand(list, 2 * nspace, out)
               ? NULL
               : bt_relation_fail(s, r, -1,
                                  "padding has length %lld, expected 1, %u or %u",
                                  (long long)list->n, nspace, 2 * nspace);
}

bt_status window_dim(bt_solver *s, const bt_relation_call *r, const bt_type *size,
                     const struct window *w, const bt_type **out)
{
    bt_store *store = bt_relation_store(s);
    const bt_type *known, *kernel, *reach, *free_size, *stride = bt_dim(store, w->stride),
                                                       *one = bt_dim(store, 1);
    BT_TRY(bt_relation_dim(s, r, size, &known));
    BT_TRY(bt_relation_dim(s, r, w->kernel, &kernel));
    reach = bt_dim_scale(store, kernel, w->dilation, 1 - w->dilation);
    free_size =
        reach ? bt_dim_sub(store, bt_dim_scale(store, known, 1, w->before + w->after),
                           reach)
              : NULL;
    if (!free_size || !stride || !one)
        return bt_no_memory();
    /* Rounded up, a stride that the data only begins counts as a whole one. */
    int64_t more = w->ceil ? w->stride - 1 : 0;
    BT_TRY(bt_relation_require(
        s, r, BT_CHECK_LESS_EQUAL, reach,
        bt_dim_scale(store, known, 1, w->before + w->after + more),
        more ? "the window and the padded data with the rest of a stride (ceil_mode)"
             : "the window and the padded data"));
    const bt_type *steps = w->ceil ? bt_dim_ceildiv(store, free_size, stride)
                                   : bt_dim_floordiv(store, free_size, stride);
    if (w->ceil && steps) {
        /* The last start, steps * stride, lies before size + before. */
        const bt_type *last =
            bt_dim_floordiv(store, bt_dim_scale(store, known, 1, w->before - 1), stride);
        steps = last ? bt_dim_min(store, steps, last) : NULL;
    }
    *out = steps ? bt_dim_add(store, steps, one) : NULL;
    return *out ? NULL : bt_no_memory();
}

bt_status window_check(bt_solver *s, const bt_relation_call *r,
                       const bt_ints *kernel_size, const bt_tensor_parts *weight,
                       const struct layout *layout, uint32_t nspace)
{
    int64_t sizes[MAX_SPATIAL];
    if (kernel_size->n == BT_NONE_LIST)
        return NULL;
    BT_TRY(space_list(s, r, "kernel_size", kernel_size, nspace, sizes));
    for (uint32_t i = 0; i < nspace; i++) {
        const bt_type *size = bt_dim(bt_relation_store(s), sizes[i]);
        if (!size)
            return bt_no_memory();
        BT_TRY(bt_relation_unify(s, r, weight->dims[layout->space[i]], size,
                                 "the window of weight and kernel_size"));
    }
    return NULL;
}
