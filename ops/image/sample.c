#include "sample.h"

#include <stdio.h>
#include <string.h>

/* ---- layouts ---- */

int image_layout_read(const char *text, uint32_t nspace, struct image_layout *out)
{
    const char *space = "DHW" + SAMPLE_MAX_SPACE - nspace;
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
                            text, "DHW" + SAMPLE_MAX_SPACE - nspace);
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
static void write_crop(bt_text *out, const struct sample *s, uint32_t i)
{
    uint32_t axis = s->layout.space[i], end = i + s->layout.nspace;
    bt_text_addf(out,
                 "x%u: float64[p%u in o%u] = float64(extent(data, %u) - 1) * select(o%u "
                 "> 1, roi[%u] + "
                 "float64(p%u) * (roi[%u] - roi[%u]) / float64(o%u - 1), 0.5 * (roi[%u] "
                 "+ roi[%u]));\n",
                 i, i, i, axis, i, i, i, end, i, i, i, end);
}

/* The element below the coordinate, as an index. */
static void write_base(bt_text *out, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    if (crops(s))
        bt_text_addf(out, "int64(floor(x%u[p%u]))", i, i);
    else
        bt_text_addf(out, "floordiv(%s, %s)", c.over, c.under);
}

/* f<i>: how far the coordinate is above it. */
static void write_fraction(bt_text *out, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    bt_text_addf(out, "f%u: float64[p%u in o%u] = ", i, i, i);
    if (crops(s))
        bt_text_addf(out, "x%u[p%u] - floor(x%u[p%u]);\n", i, i, i, i);
    else
        bt_text_addf(out, "float64(mod(%s, %s)) / float64(%s);\n", c.over, c.under,
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

static void write_rounded_real(bt_text *out, const struct sample *s, uint32_t i)
{
    switch (rounding(s)) {
    case ROUND_FLOOR: bt_text_addf(out, "int64(floor(x%u[p%u]))", i, i); break;
    case ROUND_CEIL: bt_text_addf(out, "int64(ceil(x%u[p%u]))", i, i); break;
    case ROUND_PREFER_FLOOR:
        bt_text_addf(out, "int64(ceil(x%u[p%u] - 0.5))", i, i);
        break;
    default: bt_text_addf(out, "int64(floor(x%u[p%u] + 0.5))", i, i); break;
    }
}

static void write_rounded_ratio(bt_text *out, const struct sample *s, uint32_t i)
{
    struct ratio c;
    coordinate(s, i, &c);
    switch (rounding(s)) {
    case ROUND_FLOOR: bt_text_addf(out, "floordiv(%s, %s)", c.over, c.under); break;
    case ROUND_CEIL: bt_text_addf(out, "ceildiv(%s, %s)", c.over, c.under); break;
    case ROUND_PREFER_FLOOR:
        bt_text_addf(out, "ceildiv(2*(%s) - %s, 2*(%s))", c.over, c.under, c.under);
        break;
    default:
        bt_text_addf(out, "floordiv(2*(%s) + %s, 2*(%s))", c.over, c.under, c.under);
        break;
    }
}

static void write_nearest(bt_text *out, const struct sample *s, uint32_t i)
{
    bt_text_addf(out, "clamp(");
    if (crops(s))
        write_rounded_real(out, s, i);
    else
        write_rounded_ratio(out, s, i);
    bt_text_addf(out, ", 0, extent(data, %u) - 1)", s->layout.space[i]);
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
static void write_weights(bt_text *out, const struct sample *s, uint32_t i)
{
    const char *name = s->excludes && ntap(s) == 4 ? "all" : "w";
    write_fraction(out, s, i);
    bt_text_addf(out, "%s%u: float64[p%u in o%u, a in %u] = ", name, i, i, i, ntap(s));
    if (ntap(s) == 2) {
        bt_text_addf(out, "select(a == 0, 1 - f%u[p%u], f%u[p%u]);\n", i, i, i, i);
        return;
    }
    char f[32], alpha[40];
    snprintf(f, sizeof(f), "f%u[p%u]", i, i);
    snprintf(alpha, sizeof(alpha), "(%.17g)", s->alpha);
    bt_text_addf(out, "select(a == 0, %s*((%s - 2)*%s + 1)*%s, ", alpha, f, f, f);
    bt_text_addf(out, "select(a == 1, ((%s + 2)*%s - %s - 3)*%s*%s + 1, ", alpha, f,
                 alpha, f, f);
    bt_text_addf(out, "select(a == 2, ((3 + 2*%s - (%s + 2)*%s)*%s - %s)*%s, ", alpha,
                 alpha, f, f, alpha, f);
    bt_text_addf(out, "%s*(1 - %s)*%s*%s)));\n", alpha, f, f, f);
    if (!s->excludes)
        return;
    bt_text_addf(out, "in%u: float64[p%u in o%u, a in 4] = select(0 <= ", i, i, i);
    write_base(out, s, i);
    bt_text_addf(out, " + a - 1 && ");
    write_base(out, s, i);
    bt_text_addf(out, " + a - 1 < extent(data, %u), all%u[p%u, a], 0);\n",
                 s->layout.space[i], i, i);
    bt_text_addf(
        out,
        "w%u: float64[p%u in o%u, a in 4] = in%u[p%u, a] / sum(b in 4: in%u[p%u, b]);\n",
        i, i, i, i, i, i, i);
}

/* ---- all axes ---- */

/* "i0, i1, p0, p1": where axis k is axis i of space, `space` writes it. */
static void write_indices(bt_text *out, const struct sample *s, int is_read)
{
    for (uint32_t axis = 0; axis < s->layout.rank; axis++) {
        int at = -1;
        bt_text_addf(out, axis ? ", " : "");
        for (uint32_t i = 0; i < s->layout.nspace; i++)
            at = s->layout.space[i] == axis ? (int)i : at;
        uint32_t i = (uint32_t)at;
        if (at < 0) {
            bt_text_addf(out, is_read ? "i%u" : "i%u in extent(data, %u)", axis, axis);
        } else if (!is_read) {
            bt_text_addf(out, "p%u in o%u", i, i);
        } else if (ntap(s) == 0) {
            write_nearest(out, s, i);
        } else {
            bt_text_addf(out, "clamp(");
            write_base(out, s, i);
            bt_text_addf(out, " + a%u%s, 0, extent(data, %u) - 1)", i,
                         ntap(s) == 4 ? " - 1" : "", axis);
        }
    }
}

/* The greatest coordinate is the last element's. */
static void write_outside(bt_text *out, const struct sample *s)
{
    for (uint32_t i = 0; i < s->layout.nspace; i++)
        bt_text_addf(out, "%sx%u[p%u] < 0 || x%u[p%u] > float64(extent(data, %u) - 1)",
                     i ? " || " : "", i, i, i, i, s->layout.space[i]);
}

void sample_write(bt_text *out, const struct sample *s, const char *dtype)
{
    uint32_t n = s->layout.nspace;
    for (uint32_t i = 0; i < n; i++) {
        if (crops(s))
            write_crop(out, s, i);
        if (ntap(s))
            write_weights(out, s, i);
    }
    bt_text_addf(out, "y: %s[", dtype);
    write_indices(out, s, 0);
    bt_text_addf(out, "] = ");
    if (crops(s)) {
        bt_text_addf(out, "select(");
        write_outside(out, s);
        bt_text_addf(out, ", %s(extrapolation_value), ", dtype);
    }
    // integers are rounded: a constant image stays one, whatever its weights add up to
    int is_rounded = ntap(s) && s->is_integer;
    bt_text_addf(out, "%s(%s", dtype, is_rounded ? "round_even(" : "");
    for (uint32_t i = 0; ntap(s) && i < n; i++)
        bt_text_addf(out, "%sa%u in %u", i ? ", " : "sum(", i, ntap(s));
    bt_text_addf(out, ntap(s) ? ": float64(data[" : "data[");
    write_indices(out, s, 1);
    bt_text_addf(out, ntap(s) ? "])" : "]");
    for (uint32_t i = 0; ntap(s) && i < n; i++)
        bt_text_addf(out, " * w%u[p%u, a%u]", i, i, i);
    bt_text_addf(out, "%s%s)%s", ntap(s) ? ")" : "", is_rounded ? ")" : "",
                 crops(s) ? ")" : "");
}
