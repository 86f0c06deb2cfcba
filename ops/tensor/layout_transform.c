/*
 * layout_transform: the same elements in another layout.
 *     src_layout="NCHW", dst_layout="NHWC"        Relay's form: axes of the tensor itself
 *     src_layout="NCHW", dst_layout="NCHW16c"     are permuted, split and joined
 *     dst_layout="NCHW:NCHW16c"                   the layout in the type: the shape stays
 * In the first form capital letters are axes and a number with a small letter is an inner
 * block of one. In the second, with a colon in either text, only where elements lie in
 * memory changes; "" is row major.
 * source  Relay, layout_transform
 */
#include "formula.h"

#include <string.h>

struct attrs {
    const char *src_layout, *dst_layout;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, src_layout, STRING, NULL, "the layout of data"),
    BT_ATTR(struct attrs, dst_layout, STRING, NULL, "the layout of the result"),
    { 0 },
};

/* ---- axes of a text ---- */

typedef struct axes {
    uint32_t rank;
    char letter[BT_MAX_RANK];    /* a capital; of inner blocks, that of their axis */
    int64_t factor[BT_MAX_RANK]; /* of an inner block; 0: the axis itself */
} axes;

/* The position of an axis (inner 0), or of its block (inner 1); -1 if there is none. */
static int find(const axes *x, char letter, int inner)
{
    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->letter[i] == letter && (x->factor[i] != 0) == inner)
            return (int)i;
    }
    return -1;
}

static int64_t block_of(const axes *x, char letter)
{
    int at = find(x, letter, 1);
    return at < 0 ? 1 : x->factor[at];
}

/* 0: malformed. */
static int parse(const char *text, axes *out)
{
    int64_t number = 0;
    *out = (axes){ 0 };
    for (; *text; text++) {
        int is_inner = *text >= 'a' && *text <= 'z';
        if (*text >= '0' && *text <= '9') {
            number = number * 10 + (*text - '0');
            if (number > INT32_MAX)
                return 0;
            continue;
        }
        char letter = (char)(is_inner ? *text - 'a' + 'A' : *text);
        if (letter < 'A' || letter > 'Z' || out->rank == BT_MAX_RANK ||
            is_inner != (number > 0) || find(out, letter, is_inner) >= 0)
            return 0;
        out->letter[out->rank] = letter;
        out->factor[out->rank++] = number;
        number = 0;
    }
    for (uint32_t i = 0; i < out->rank; i++) {
        if (out->factor[i] && find(out, out->letter[i], 0) < 0)
            return 0;
    }
    return number == 0;
}

static int has_same_axes(const axes *a, const axes *b)
{
    for (uint32_t i = 0; i < a->rank; i++) {
        if (find(b, a->letter[i], 0) < 0)
            return 0;
    }
    for (uint32_t i = 0; i < b->rank; i++) {
        if (find(a, b->letter[i], 0) < 0)
            return 0;
    }
    return 1;
}

static int is_of_type(const struct attrs *a)
{
    return strchr(a->src_layout, ':') || strchr(a->dst_layout, ':');
}

/* ---- type ---- */

/* NULL for row major. */
static bt_status layout_of(bt_solver *s, const bt_relation_call *r, const char *text,
                           const bt_layout **out)
{
    *out = NULL;
    if (!strchr(text, ':'))
        return NULL;
    *out = bt_layout_parse(bt_relation_store(s), text);
    return *out ? NULL : bt_relation_fail(s, r, -1, "\"%s\" is not a layout", text);
}

static bt_status relate_type(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    const bt_layout *from, *to;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(layout_of(s, r, a->src_layout, &from));
    BT_TRY(layout_of(s, r, a->dst_layout, &to));
    if (data.layout != from)
        return bt_relation_fail(s, r, 0, "data has layout %s, src_layout is %s",
                                data.layout ? data.layout->text : "row major",
                                from ? from->text : "row major");
    if (to && to->nlogical != data.rank)
        return bt_relation_fail(s, r, 0, "layout %s has %u axes, data %u", to->text,
                                to->nlogical, data.rank);
    const bt_type *shape = bt_as_tensor_type(bt_relation_arg(s, r, 0))->shape;
    const bt_type *result =
        bt_type_tensor_layout(bt_relation_store(s), shape, data.dtype, to);
    return bt_relation_result(s, r, result);
}

/* The extent of a whole axis from the source's outer part and block. */
static bt_status whole(bt_solver *s, const bt_relation_call *r, const axes *from,
                       const bt_tensor_parts *data, char letter, const bt_type **out)
{
    const bt_type *outer;
    BT_TRY(bt_relation_dim(s, r, data->dims[find(from, letter, 0)], &outer));
    *out = bt_dim_scale(bt_relation_store(s), outer, block_of(from, letter), 0);
    return *out ? NULL : bt_relation_result(s, r, NULL);
}

static bt_status relate_axes(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    axes from, to;
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *extent, *block;
    if (!parse(a->src_layout, &from) || !parse(a->dst_layout, &to) ||
        !has_same_axes(&from, &to))
        return bt_relation_fail(
            s, r, -1,
            "src_layout \"%s\" and dst_layout \"%s\" are not layouts of "
            "the same axes",
            a->src_layout, a->dst_layout);
    BT_TRY(bt_relation_tensor_rank(s, r, 0, from.rank, &data));
    for (uint32_t i = 0; i < from.rank; i++) {
        block = bt_dim(store, from.factor[i]);
        if (!block)
            return bt_relation_result(s, r, NULL);
        if (from.factor[i])
            BT_TRY(bt_relation_unify(s, r, data.dims[i], block,
                                     "the extent of a block and src_layout"));
    }
    for (uint32_t i = 0; i < to.rank; i++) {
        block = bt_dim(store, to.factor[i] ? to.factor[i] : block_of(&to, to.letter[i]));
        dims[i] = block;
        if (!block)
            return bt_relation_result(s, r, NULL);
        if (to.factor[i])
            continue;
        BT_TRY(whole(s, r, &from, &data, to.letter[i], &extent));
        BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, extent, block,
                                   "an axis and its block in dst_layout"));
        dims[i] = bt_dim_floordiv(store, extent, block);
        if (!dims[i])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_result_tensor(s, r, to.rank, dims, data.dtype);
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    return is_of_type(r->attrs) ? relate_type(s, r) : relate_axes(s, r);
}

/* ---- layout ---- */

/* What src_layout and dst_layout say, whatever is wanted. */
static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    const struct attrs *a = call->attrs;
    (void)wanted;
    in[0] = strchr(a->src_layout, ':') ? bt_layout_parse(store, a->src_layout) : NULL;
    *out = strchr(a->dst_layout, ':') ? bt_layout_parse(store, a->dst_layout) : NULL;
    if ((strchr(a->src_layout, ':') && !in[0]) || (strchr(a->dst_layout, ':') && !*out))
        return bt_store_why(ctx, store);
    return NULL;
}

static const bt_layout_facet layout = { .choose = choose_layout };

/* ---- formula ---- */

/* The index of a whole axis, from those of the result: N, or C * 16 + c. */
static void write_whole(bt_formula *f, const axes *to, char letter)
{
    bt_formula_clear(f, "whole");
    if (find(to, letter, 1) < 0)
        bt_formula_item(f, "whole", "i%d", find(to, letter, 0));
    else
        bt_formula_item(f, "whole", "(i%d * %lld + i%d)", find(to, letter, 0),
                        (long long)block_of(to, letter), find(to, letter, 1));
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    axes from, to;
    if (is_of_type(a)) {
        bt_formula_add(f, "y: t[..] = data[..]");
        return;
    }
    if (!parse(a->src_layout, &from) || !parse(a->dst_layout, &to)) {
        bt_formula_fail(f, BT_ERR_INTERNAL, "its layouts");
        return;
    }
    for (uint32_t i = 0; i < to.rank; i++) {
        if (to.factor[i])
            bt_formula_item(f, "y", "i%u in %lld", i, (long long)to.factor[i]);
        else
            bt_formula_item(f, "y", "i%u in floordiv(extent(data, %d) * %lld, %lld)", i,
                            find(&from, to.letter[i], 0),
                            (long long)block_of(&from, to.letter[i]),
                            (long long)block_of(&to, to.letter[i]));
    }
    for (uint32_t i = 0; i < from.rank; i++) {
        long long block = (long long)block_of(&from, from.letter[i]);
        write_whole(f, &to, from.letter[i]);
        if (block > 1)
            bt_formula_item(f, "at", "%s($whole, %lld)",
                            from.factor[i] ? "mod" : "floordiv", block);
        else
            bt_formula_item(f, "at", "$whole");
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "layout_transform",
        .revision = 1,
        .doc = "Lays a tensor out anew.\n"
               "As axes of the tensor (NCHW to NHWC), or in memory only (NCHW:NCHW16c).",
        .source = "Relay, layout_transform",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write,
        .facets = BT_FACET_ROWS(
            BT_FACET("layout", layout),
            BT_CASES(
                "float32[1, 4, 2, 3] | src_layout=\"NCHW\", dst_layout=\"NHWC\"\n"
                "float32[1, 4, 2, 3] | src_layout=\"NCHW\", dst_layout=\"NCHW2c\"\n"
                "float32[1, 2, 2, 3, 2] | src_layout=\"NCHW2c\", dst_layout=\"NHWC\"\n"
                "int8[1, 2, 2, 3, 2] | src_layout=\"NCHW2c\", dst_layout=\"NCHW4c\"\n"
                "float32[4, 4, 1, 1] | src_layout=\"OIHW\", dst_layout=\"OIHW2i4o\"\n"
                "bool[0, 2] | src_layout=\"NC\", dst_layout=\"CN\"")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_layout_transform[] = { BT_OPS(ops), { 0 } };
