/* Grids of positions: GridSample reads data at them, AffineGrid makes them. */
#include "arith.h"

#include <string.h>

enum { MAX_SPATIAL_AXES = 3, MAX_TAPS = 4 };

/* ---- reading at positions ---- */

enum grid_mode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

/* Along one axis: the elements that a result is a weighted sum of. All are [n, p] for n
 * lines of p positions. */
struct taps {
    uint32_t n;
    const bt_value *at[MAX_TAPS];     /* int64, in bounds */
    const bt_value *weight[MAX_TAPS]; /* NULL: 1 */
    const bt_value *size;             /* of the axis, int64[] */
};

struct sampler {
    enum grid_mode mode;
    enum grid_padding padding;
    int aligns; /* -1 and 1 are the middles of the outermost elements, not their borders */
};

static void read_sampler(bt_onnx_node *n, struct sampler *out)
{
    const char *mode = node_text(n, "mode", n->opset < 20 ? "bilinear" : "linear"),
               *padding = node_text(n, "padding_mode", "zeros");
    out->aligns = node_int(n, "align_corners", 0) != 0;
    if (strcmp(mode, "nearest") == 0)
        out->mode = GRID_NEAREST;
    else if (strcmp(mode, "linear") == 0 || strcmp(mode, "bilinear") == 0)
        out->mode = GRID_LINEAR;
    else if (strcmp(mode, "cubic") == 0 || strcmp(mode, "bicubic") == 0)
        out->mode = GRID_CUBIC;
    else
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    if (strcmp(padding, "zeros") == 0)
        out->padding = GRID_ZEROS;
    else if (strcmp(padding, "border") == 0)
        out->padding = GRID_BORDER;
    else if (strcmp(padding, "reflection") == 0)
        out->padding = GRID_REFLECTION;
    else
        node_fail(n, BT_ERR_ATTRIBUTE, "padding_mode %s is not known", padding);
}

/* -1..1 becomes a position among the elements. */
static const bt_value *denormalised(bt_onnx_node *n, const struct sampler *s,
                                    const bt_value *grid, const bt_value *size)
{
    const bt_value *x = plus_number(n, grid, 1);
    x = times(n, x, s->aligns ? plus_number(n, size, -1) : size);
    return times_number(n, s->aligns ? x : plus_number(n, x, -1), 0.5);
}

/* Mirrored at the outermost middles, or at the borders, as often as needed. */
static const bt_value *reflected(bt_onnx_node *n, const struct sampler *s,
                                 const bt_value *x, const bt_value *size)
{
    double low = s->aligns ? 0 : -0.5;
    const bt_value *range = s->aligns ? plus_number(n, size, -1) : size;
    /* An axis of one element has no range. */
    range = greater_of(n, range, scalar_like(n, range, 1e-6));
    const bt_value *there =
        emit2(n, "floor_mod", NULL, plus_number(n, x, -low), times_number(n, range, 2));
    const bt_value *back = applied(n, "abs", minus(n, there, range));
    return plus_number(n, minus(n, range, back), low);
}

static const bt_value *kept_inside(bt_onnx_node *n, const bt_value *x,
                                   const bt_value *size)
{
    const bt_value *last = plus_number(n, size, -1);
    return greater_of(n, lesser_of(n, x, last), scalar_like(n, x, 0));
}

/* The whole position `x` as a tap; outside, as the padding says. */
static void add_tap(bt_onnx_node *n, const struct sampler *s, const bt_value *x,
                    const bt_value *weight, const bt_value *size, struct taps *out)
{
    if (s->padding == GRID_REFLECTION)
        x = reflected(n, s, x, size);
    const bt_value *inside = kept_inside(n, x, size);
    if (s->padding == GRID_ZEROS) {
        const bt_value *is_inside =
            cast_to(n, emit2(n, "equal", NULL, inside, x), value_dtype(x));
        weight = weight ? times(n, weight, is_inside) : is_inside;
    }
    out->weight[out->n] = weight;
    out->at[out->n++] = cast_to(n, inside, BT_INT64);
}

/* Keys' cubic of a distance: within 1, and from 1 to 2. */
static const bt_value *cubic_weight(bt_onnx_node *n, const bt_value *distance,
                                    int is_near)
{
    const double a = -0.75;
    const double near[] = { a + 2, -(a + 3), 0, 1 }, far[] = { a, -5 * a, 8 * a, -4 * a };
    const double *c = is_near ? near : far;
    const bt_value *y = times_number(n, distance, c[0]);
    for (uint32_t i = 1; i < 3; i++)
        y = times(n, plus_number(n, y, c[i]), distance);
    return plus_number(n, y, c[3]);
}

static void cubic_taps(bt_onnx_node *n, const struct sampler *s, const bt_value *x,
                       const bt_value *size, struct taps *out)
{
    const bt_value *first = applied(n, "floor", x), *rest = minus(n, x, first);
    const bt_value *to_next = plus_number(n, applied(n, "negative", rest), 1);
    const bt_value *distances[] = { plus_number(n, rest, 1), rest, to_next,
                                    plus_number(n, to_next, 1) };
    for (uint32_t i = 0; i < 4; i++)
        add_tap(n, s, plus_number(n, first, (double)i - 1),
                cubic_weight(n, distances[i], i == 1 || i == 2), size, out);
}

static void find_taps(bt_onnx_node *n, const struct sampler *s, const bt_value *x,
                      uint32_t axis, const bt_value *position, struct taps *out)
{
    out->size = size_of(n, x, axis);
    const bt_value *size =
        n->status ? NULL : cast_to(n, out->size, value_dtype(position));
    const bt_value *at = denormalised(n, s, position, size);
    if (s->mode == GRID_NEAREST) {
        add_tap(n, s, applied(n, "round_even", at), NULL, size, out);
        return;
    }
    if (s->mode == GRID_CUBIC) {
        cubic_taps(n, s, at, size, out);
        return;
    }
    const bt_value *first = applied(n, "floor", at), *rest = minus(n, at, first);
    add_tap(n, s, first, plus_number(n, applied(n, "negative", rest), 1), size, out);
    add_tap(n, s, plus_number(n, first, 1), rest, size, out);
}

/* One tap of each axis, counted by `which`. */
static const bt_value *combined(bt_onnx_node *n, const bt_value *flat, uint32_t rank,
                                const struct taps *taps, uint32_t which)
{
    const bt_value *at = NULL, *weight = NULL;
    for (uint32_t i = 0; i < rank; i++) {
        const struct taps *t = &taps[i];
        uint32_t k = which % t->n;
        which /= t->n;
        at = at ? plus(n, times(n, at, t->size), t->at[k]) : t->at[k];
        if (t->weight[k])
            weight = weight ? times(n, weight, t->weight[k]) : t->weight[k];
    }
    if (n->status)
        return NULL;
    const bt_type *dims[3] = { dim_of(n, flat, 0), dim_of(n, flat, 1), dim_of(n, at, 1) };
    const bt_value *y =
        emit2(n, "gather", "axis=2", flat, broadcast(n, with_axes(n, at, 1, 1), 3, dims));
    if (!weight)
        return y;
    return times(n, y, cast_to(n, with_axes(n, weight, 1, 1), value_dtype(flat)));
}

static void grid_sample(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *grid = node_need(n, 1), *y = NULL;
    uint32_t rank = value_rank(n, x), spatial = rank - 2, count = 1;
    struct sampler s = { GRID_NEAREST, GRID_ZEROS, 0 };
    struct taps taps[MAX_SPATIAL_AXES] = { { 0 } };
    const bt_type *dims[BT_MAX_RANK];
    read_sampler(n, &s);
    if (rank < 3 || spatial > MAX_SPATIAL_AXES || value_rank(n, grid) != rank ||
        value_dim(n, grid, rank - 1) != (int64_t)spatial)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "data of rank %u needs a grid of that rank, with a last axis of %d; "
                  "ranks 3 to 5 are known",
                  rank, (int)rank - 2);
    if (n->status)
        return;
    /* Positions are stated from the last axis to the first. */
    const bt_type *lines[2] = { dim_of(n, grid, 0), dims_product(n, grid, 1, rank - 1) };
    for (uint32_t i = 0; i < spatial; i++) {
        int64_t part = (int64_t)spatial - 1 - i;
        const bt_value *position = sliced(n, grid, rank - 1, part, part + 1);
        find_taps(n, &s, x, 2 + i, reshaped(n, position, 2, lines), &taps[i]);
        count *= taps[i].n;
    }
    const bt_type *flat_dims[3] = { dim_of(n, x, 0), dim_of(n, x, 1),
                                    dims_product(n, x, 2, rank) };
    const bt_value *flat = reshaped(n, x, 3, flat_dims);
    for (uint32_t i = 0; !n->status && i < count; i++) {
        const bt_value *part = combined(n, flat, spatial, taps, i);
        y = y ? plus(n, y, part) : part;
    }
    for (uint32_t i = 0; !n->status && i < rank; i++)
        dims[i] = i < 2 ? dim_of(n, x, i) : dim_of(n, grid, i - 1);
    node_out(n, 0, n->status ? NULL : reshaped(n, y, rank, dims));
}

/* ---- making positions ---- */

/* -1..1 over `size` elements, along `axis` of values of rank `rank`. */
static const bt_value *positions(bt_onnx_node *n, int64_t size, int aligns, uint32_t axis,
                                 uint32_t rank, bt_dtype dtype)
{
    double step = !aligns ? 2 / (double)size : size > 1 ? 2 / (double)(size - 1) : 0;
    const bt_value *at = counted(n, dim_number(n, size), dtype);
    at = plus_number(n, times_number(n, at, step), aligns ? -1 : step / 2 - 1);
    return along(n, at, axis, rank);
}

/* theta [n, r, r + 1] becomes a grid [n, .., r]: its last column plus its others times
 * the positions, the last axis first. */
static void affine_grid(bt_onnx_node *n)
{
    const bt_value *theta = node_need(n, 0), *grid;
    int64_list size = { 0 };
    int aligns = node_int(n, "align_corners", 0) != 0;
    uint32_t rank = value_rank(n, theta);
    if (!value_ints(n, node_need(n, 1), &size))
        node_unknown(n, "the size is", node_in(n, 1));
    if (!n->status && (rank != 3 || size.len < 4 || size.len > 2 + MAX_SPATIAL_AXES))
        node_fail(n, BT_ERR_FORMAT,
                  "theta has rank %u, the size %u elements; 3 and 4 or 5 "
                  "are needed",
                  rank, size.len);
    for (uint32_t i = 0; !n->status && i < size.len; i++) {
        if (size.at[i] < 1 || size.at[i] > INT32_MAX)
            node_fail(n, BT_ERR_FORMAT, "size %u is %lld; 1 to %d is expected", i,
                      (long long)size.at[i], INT32_MAX);
    }
    if (n->status)
        return;
    uint32_t spatial = size.len - 2;
    grid = sliced(n, theta, 2, spatial, (int64_t)spatial + 1);
    grid = with_axes(n, without_axis(n, grid, 2), 1, spatial);
    for (uint32_t i = 0; i < spatial; i++) {
        const bt_value *column =
            without_axis(n, sliced(n, theta, 2, i, (int64_t)i + 1), 2);
        uint32_t axis = spatial - i;
        const bt_value *at = positions(n, size.at[1 + axis], aligns, axis, spatial + 2,
                                       value_dtype(theta));
        grid = plus(n, grid, times(n, with_axes(n, column, 1, spatial), at));
    }
    node_out(n, 0, grid);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.GridSample-16", grid_sample, NULL }, { "ai.onnx.AffineGrid-20", affine_grid, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_grid[] = { BT_ONNX_OPERATORS(operators), { 0 } };
