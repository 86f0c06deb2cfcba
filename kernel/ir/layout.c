/*
 * Layouts: how logical axes lie in memory, written LOGICAL:PHYSICAL.
 *     NCHW:NCHW16c      channels in blocks of 16, innermost
 *     OIHW:OIHW4i16o4i  two blocks of one axis: the first is the outer one
 * A capital is the outer part of a logical axis and stands once, before its blocks; a
 * number and a small letter are a block of it.
 */
#include "ir/type.h"

struct reader {
    const char *at;
    int32_t axis_of[26]; /* by letter; -1: no such axis */
    int64_t inner[26];   /* product of an axis' blocks so far; 0: outer not seen */
    uint32_t nlogical, nphysical;
    struct bt_layout_axis physical[BT_MAX_RANK];
};

static int read_logical(struct reader *r)
{
    for (int i = 0; i < 26; i++)
        r->axis_of[i] = -1;
    for (; *r->at >= 'A' && *r->at <= 'Z'; r->at++) {
        int letter = *r->at - 'A';
        if (r->axis_of[letter] >= 0)
            return 0;
        r->axis_of[letter] = (int32_t)r->nlogical++;
    }
    return r->nlogical > 0 && *r->at++ == ':';
}

/* A block's size: no leading zero, so that equal layouts have equal texts. */
static int read_factor(struct reader *r, int64_t *out)
{
    int64_t factor = 0;
    if (*r->at < '1' || *r->at > '9')
        return 0;
    for (; *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (!bt_mul_int64(factor, 10, &factor) ||
            !bt_add_int64(factor, *r->at - '0', &factor))
            return 0;
    }
    *out = factor;
    return 1;
}

static int read_axis(struct reader *r)
{
    int64_t factor = 0;
    int is_outer = *r->at >= 'A' && *r->at <= 'Z';
    if (r->nphysical == BT_MAX_RANK || (!is_outer && !read_factor(r, &factor)))
        return 0;
    int letter = is_outer ? *r->at - 'A' : *r->at - 'a';
    if (letter < 0 || letter >= 26 || r->axis_of[letter] < 0)
        return 0;
    // The outer part once and first, blocks after it.
    if (is_outer != !r->inner[letter])
        return 0;
    if (is_outer)
        r->inner[letter] = 1;
    else if (!bt_mul_int64(r->inner[letter], factor, &r->inner[letter]))
        return 0;
    r->physical[r->nphysical++] =
        (struct bt_layout_axis){ (uint32_t)r->axis_of[letter], factor };
    r->at++;
    return 1;
}

static int read_layout(struct reader *r)
{
    if (!read_logical(r))
        return 0;
    while (*r->at) {
        if (!read_axis(r))
            return 0;
    }
    for (int i = 0; i < 26; i++) {
        if (r->axis_of[i] >= 0 && !r->inner[i])
            return 0;
    }
    return 1;
}

/* The store's layout of that text, as read. NULL: no memory. */
static const bt_layout *intern(bt_store *store, const char *text, const struct reader *r)
{
    const char *name = bt_name_of(store, text);
    if (!name)
        return NULL;
    const bt_layout *known = bt_map_find(&store->layouts, name);
    if (known)
        return known;
    bt_layout *layout = BT_NEW(store->arena, bt_layout);
    struct bt_layout_axis *physical =
        BT_NEWS(store->arena, struct bt_layout_axis, r->nphysical);
    if (!layout || !physical || !bt_map_put(&store->layouts, name, layout))
        return NULL;
    for (uint32_t i = 0; i < r->nphysical; i++)
        physical[i] = r->physical[i];
    *layout = (bt_layout){ name, r->nlogical, r->nphysical, physical };
    return layout;
}

const bt_layout *bt_layout_parse(bt_store *store, const char *text)
{
    struct reader r = { .at = text };
    int is_valid = read_layout(&r);
    const bt_layout *layout = is_valid ? intern(store, text, &r) : NULL;
    if (!layout)
        bt__refuse(store, is_valid ? NULL : "a layout is written like NCHW:NCHW16c");
    return layout;
}

int bt__layout_is_row_major(const bt_layout *layout)
{
    if (layout->nlogical != layout->nphysical)
        return 0;
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        if (layout->physical[i].axis != i || layout->physical[i].factor)
            return 0;
    }
    return 1;
}
