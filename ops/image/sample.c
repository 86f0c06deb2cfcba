#include "sample.h"

#include <stdio.h>
#include <string.h>

/* ---- layouts ---- */

int image_layout_read(const char *text, uint32_t nspace, struct image_layout *out)
{
    const char *space = &"DHW"[SAMPLE_MAX_SPACE - nspace];
    uint32_t seen = 0;
    *out = (struct image_layout){ .rank = nspace + 2, .nspace = nspace };
    if (strlen(text) != out->rank)
        return 0;
    for (uint32_t i = 0; i < out->rank; i++) {
        const char *at = strchr(space, text[i]);
        uint32_t bit = text[i] == 'N'   ? 3
                       : text[i] == 'C' ? 4
                       : at             ? (uint32_t)(at - space)
                                        : 31;
        if (bit == 31 || seen & 1u << bit)
            return 0;
        seen |= 1u << bit;
        if (bit < SAMPLE_MAX_SPACE)
            out->space[bit] = i;
    }
    return 1;
}

bt_status image_layout_relate(bt_solver *s, const bt_relation_call *r, const char *text,
                              uint32_t nspace, struct image_layout *out)
{
    if (image_layout_read(text, nspace, out))
        return NULL;
    return bt_relation_fail(s, r, -1,
                            "layout is \"%s\"; it must hold each letter of \"NC%s\" once",
                            text, &"DHW"[SAMPLE_MAX_SPACE - nspace]);
}

bt_status image_axis_relate(bt_solver *s, const bt_relation_call *r, const bt_type *dim)
{
    const bt_type *known, *one = bt_dim(bt_relation_store(s), 1);
    BT_TRY(bt_relation_dim(s, r, dim, &known));
    return one ? bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, one, known,
                                     "one element and an axis of space")
               : bt_no_memory();
}

int image_is_integer(const bt_formula_call *call)
{
    return !(1u << BT_DTYPE_CLASS(bt_tensor_dtype(call->result)) & BT_CLASS_BITS_FLOAT);
}

/* ---- coordinates ---- */

static int crops(const struct sample *s)
{
    return strcmp(s->mode, "tf_crop_and_resize") == 0;
}

/* The coordinate in data of element p<i> is `over` / `under`, in whole numbers, so that
 * nothing is lost where it falls on an element or between two. */
struct ratio {
    char over[160], under[64];
};

static void coordinate(const struct sample *s, uint32_t i, struct ratio *out)
{
    uint32_t axis = s->layout.space[i];
    const size_t nover = sizeof(out->over);
    snprintf(out->under, sizeof(out->under), "2*o%u", i);
    if (strcmp(s->mode, "half_pixel") == 0) {
        snprintf(out->over, nover, "(2*p%u + 1) * extent(data, %u) - o%u", i, axis, i);
    } else if (strcmp(s->mode, "pytorch_half_pixel") == 0) {
        snprintf(out->over, nover,
                 "((2*p%u + 1) * extent(data, %u) - o%u) * min(o%u - 1, 1)", i, axis, i,
                 i);
    } else if (strcmp(s->mode, "tf_half_pixel_for_nn") == 0) {
        snprintf(out->over, nover, "(2*p%u + 1) * extent(data, %u)", i, axis);
    } else if (strcmp(s->mode, "align_corners") == 0) {
        snprintf(out->over, nover, "p%u * (extent(data, %u) - 1)", i, axis);
        snprintf(out->under, sizeof(out->under), "max(o%u - 1, 1)", i);
    } else {
        snprintf(out->over, nover, "p%u * extent(data, %u)", i, axis);
        snprintf(out->under, sizeof(out->under), "o%u", i);
    }
}

/* x<i>: the coordinate within the region of interest; the middle of it for a single
 * element. */
static void write_crop(bt_formula *f, const struct sample *s, uint32_t i)
{
    uint32_t axis = s->layout.space[i], end = i + s->layout.nspace;
    bt_formula_add(
        f,
        "x%u: float64[p%u in o%u] = float64(extent(data, %u) - 1) * select(o%u "
        "> 1, roi[%u] + "
        "float64(p%u) * (roi[%u] - roi[%u]) / float64(o%u - 1), 0.5 * (roi[%u] "
        "+ roi[%u]));\n",
        i, i, i, axis, i, i, i, end, i, i, i, end);
}

/* The list `base` anew: the element below the coordinate, as an index. */
static void write_base(bt_formula *f, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    bt_formula_clear(f, "base");
    if (crops(s))
        bt_formula_item(f, "base", "int64(floor(x%u[p%u]))", i, i);
    else
        bt_formula_item(f, "base", "floordiv(%s, %s)", c.over, c.under);
}

/* f<i>: how far the coordinate is above it. */
static void write_fraction(bt_formula *f, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    bt_formula_add(f, "f%u: float64[p%u in o%u] = ", i, i, i);
    if (crops(s))
        bt_formula_add(f, "x%u[p%u] - floor(x%u[p%u]);\n", i, i, i, i);
    else
        bt_formula_add(f, "float64(mod(%s, %s)) / float64(%s);\n", c.over, c.under,
                       c.under);
}

/* ---- nearest ---- */

/* Halves go up for "round" too: coordinates below zero are clamped. */
enum { ROUND_FLOOR, ROUND_CEIL, ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL };

static int rounding(const struct sample *s)
{
    if (!*s->rounding)
        return strcmp(s->mode, "align_corners") == 0 ? ROUND_PREFER_CEIL : ROUND_FLOOR;
    return strcmp(s->rounding, "floor") == 0                ? ROUND_FLOOR
           : strcmp(s->rounding, "ceil") == 0               ? ROUND_CEIL
           : strcmp(s->rounding, "round_prefer_floor") == 0 ? ROUND_PREFER_FLOOR
                                                            : ROUND_PREFER_CEIL;
}

/* The list `nearest` anew. */
static void write_rounded_real(bt_formula *f, const struct sample *s, uint32_t i)
{
    const char *format = rounding(s) == ROUND_FLOOR  ? "int64(floor(x#[p#]))"
                         : rounding(s) == ROUND_CEIL ? "int64(ceil(x#[p#]))"
                         : rounding(s) == ROUND_PREFER_FLOOR
                             ? "int64(ceil(x#[p#] - 0.5))"
                             : "int64(floor(x#[p#] + 0.5))";
    bt_formula_each(f, "nearest", i, i + 1, "%s", format);
}

static void write_rounded_ratio(bt_formula *f, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    switch (rounding(s)) {
    case ROUND_FLOOR:
        bt_formula_item(f, "nearest", "floordiv(%s, %s)", c.over, c.under);
        break;
    case ROUND_CEIL:
        bt_formula_item(f, "nearest", "ceildiv(%s, %s)", c.over, c.under);
        break;
    case ROUND_PREFER_FLOOR:
        bt_formula_item(f, "nearest", "ceildiv(2*(%s) - %s, 2*(%s))", c.over, c.under,
                        c.under);
        break;
    default:
        bt_formula_item(f, "nearest", "floordiv(2*(%s) + %s, 2*(%s))", c.over, c.under,
                        c.under);
        break;
    }
}

/* ---- taps and their weights ---- */

static uint32_t ntap(const struct sample *s)
{
    return strcmp(s->method, "nearest_neighbor") == 0 ? 0
           : strcmp(s->method, "cubic") == 0          ? 4
                                                      : 2;
}

/* w<i>[p, a]: of tap a, which lies at base + a, of cubic at base + a - 1.
 * source  Keys 1981 */
static void write_weights(bt_formula *f, const struct sample *s, uint32_t i)
{
    const char *name = s->excludes && ntap(s) == 4 ? "all" : "w";
    write_fraction(f, s, i);
    bt_formula_add(f, "%s%u: float64[p%u in o%u, a in %u] = ", name, i, i, i, ntap(s));
    if (ntap(s) == 2) {
        bt_formula_add(f, "select(a == 0, 1 - f%u[p%u], f%u[p%u]);\n", i, i, i, i);
        return;
    }
    bt_formula_clear(f, "f");
    bt_formula_clear(f, "c");
    bt_formula_item(f, "f", "f%u[p%u]", i, i);
    bt_formula_item(f, "c", "(%.17g)", s->alpha);
    bt_formula_add(f, "select(a == 0, $c*(($f - 2)*$f + 1)*$f, "
                      "select(a == 1, (($c + 2)*$f - $c - 3)*$f*$f + 1, "
                      "select(a == 2, ((3 + 2*$c - ($c + 2)*$f)*$f - $c)*$f, "
                      "$c*(1 - $f)*$f*$f)));\n");
    if (!s->excludes)
        return;
    write_base(f, s, i);
    bt_formula_add(f,
                   "in%u: float64[p%u in o%u, a in 4] = select(0 <= $base + a - 1 && "
                   "$base + a - 1 < extent(data, %u), all%u[p%u, a], 0);\n",
                   i, i, i, s->layout.space[i], i, i);
    bt_formula_add(
        f,
        "w%u: float64[p%u in o%u, a in 4] = in%u[p%u, a] / sum(b in 4: in%u[p%u, "
        "b]);\n",
        i, i, i, i, i, i, i);
}

/* ---- all axes ---- */

/* The lists `y`, axes of the result, and `at`, indices of data. */
static void write_indices(bt_formula *f, const struct sample *s)
{
    bt_formula_each(f, "y", 0, s->layout.rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, s->layout.rank, "i#");
    for (uint32_t i = 0; i < s->layout.nspace; i++) {
        uint32_t axis = s->layout.space[i];
        bt_formula_set(f, "y", axis, "p%u in o%u", i, i);
        bt_formula_clear(f, "nearest");
        write_base(f, s, i);
        if (ntap(s))
            bt_formula_item(f, "nearest",
                            ntap(s) == 4 ? "$base + a%u - 1" : "$base + a%u", i);
        else if (crops(s))
            write_rounded_real(f, s, i);
        else
            write_rounded_ratio(f, s, i);
        bt_formula_set(f, "at", axis, "clamp($nearest, 0, extent(data, %u) - 1)", axis);
    }
}

/* The list `outside`: the greatest coordinate is the last element's. */
static void write_outside(bt_formula *f, const struct sample *s)
{
    for (uint32_t i = 0; i < s->layout.nspace; i++)
        bt_formula_item(f, "outside",
                        "x%u[p%u] < 0 || x%u[p%u] > float64(extent(data, %u) - 1)", i, i,
                        i, i, s->layout.space[i]);
}

void sample_write(bt_formula *f, const struct sample *s, const char *dtype)
{
    uint32_t n = s->layout.nspace;
    for (uint32_t i = 0; i < n; i++) {
        if (crops(s))
            write_crop(f, s, i);
        if (ntap(s))
            write_weights(f, s, i);
    }
    write_indices(f, s);
    bt_formula_each(f, "tap", 0, n, "a# in %u", ntap(s));
    bt_formula_item(f, "term", "float64(data[$at])");
    bt_formula_each(f, "term", 0, n, "w#[p#, a#]");
    // integers are rounded: a constant image stays one, whatever its weights add up to
    bt_formula_item(f, "value",
                    !ntap(s)        ? "%s(data[$at])"
                    : s->is_integer ? "%s(round_even(sum($tap: $[ * ]term)))"
                                    : "%s(sum($tap: $[ * ]term))",
                    dtype);
    if (crops(s)) {
        write_outside(f, s);
        bt_formula_set(f, "value", 0,
                       "select($[ || ]outside, %s(extrapolation_value), $value)", dtype);
    }
    bt_formula_add(f, "y: %s[$y] = $value", dtype);
}
