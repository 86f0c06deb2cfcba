/* Boxes in images: NonMaxSuppression chooses among them, RoiAlign reads within them. */
#include "arith.h"

#include <math.h>
#include <string.h>

#include "loop.h"

static const bt_value *item(bt_onnx_node *n, const bt_value *x, uint32_t axis, int64_t at)
{
    return without_axis(n, sliced(n, x, axis, at, at + 1), axis);
}

/* ---- choosing boxes ---- */

/* Sides of boxes; each [n, c or 1, b or 1]. */
struct boxes {
    const bt_value *top, *left, *bottom, *right;
};

/* n images, b boxes, c classes. */
struct suppression {
    const bt_value *boxes; /* [n, b, 4] */
    const bt_value *limit; /* of what two chosen boxes have in common, a scalar */
    const bt_value *count; /* b, int64[] */
    struct boxes all;
    int centred; /* boxes are centre, width, height */
};

/* Sides of [n, k, 4] boxes, along a new axis before or after axis k. */
static struct boxes sides(bt_onnx_node *n, const struct suppression *s,
                          const bt_value *boxes, uint32_t axis)
{
    const bt_value *c[4];
    for (uint32_t i = 0; i < 4; i++)
        c[i] = with_axes(n, item(n, boxes, 2, i), axis, 1);
    if (!s->centred)
        return (struct boxes){ lesser_of(n, c[0], c[2]), lesser_of(n, c[1], c[3]),
                               greater_of(n, c[0], c[2]), greater_of(n, c[1], c[3]) };
    const bt_value *wide = times_number(n, c[2], 0.5), *high = times_number(n, c[3], 0.5);
    return (struct boxes){ minus(n, c[1], high), minus(n, c[0], wide),
                           plus(n, c[1], high), plus(n, c[0], wide) };
}

static const bt_value *area(bt_onnx_node *n, const struct boxes *b)
{
    return times(n, minus(n, b->bottom, b->top), minus(n, b->right, b->left));
}

/* The area of the overlap over that of the union; NaN where the union is empty. */
static const bt_value *overlap(bt_onnx_node *n, const struct boxes *a,
                               const struct boxes *b)
{
    const bt_value *high = minus(n, lesser_of(n, a->bottom, b->bottom),
                                 greater_of(n, a->top, b->top)),
                   *wide = minus(n, lesser_of(n, a->right, b->right),
                                 greater_of(n, a->left, b->left));
    const bt_value *zero = n->status ? NULL : scalar_like(n, high, 0);
    const bt_value *common =
        times(n, greater_of(n, high, zero), greater_of(n, wide, zero));
    return over(n, common, minus(n, plus(n, area(n, a), area(n, b)), common));
}

/* Takes the best box of each image and class; the state, scores [n, c, b], becomes -inf
 * for it and for those that it covers. Rows: its position, and whether there was one. */
static void suppress_step(bt_onnx_node *n, void *self, const bt_value *i,
                          const bt_value *const *states, struct step *out)
{
    const struct suppression *s = self;
    const bt_value *scores = states[0];
    (void)i;
    const bt_value *best = emit1(n, "argmax", "axis=[2]", scores);
    best = n->status ? NULL : cast_to(n, best, BT_INT64);
    const bt_value *chosen_box =
        emit2(n, "gather_nd", "batch_dims=1", s->boxes, with_axes(n, best, 0, 1));
    if (n->status)
        return;
    const bt_value *none = scalar_like(n, scores, -INFINITY);
    struct boxes taken = sides(n, s, chosen_box, 2);
    const bt_value *goes =
        emit2(n, "greater", NULL, overlap(n, &taken, &s->all), s->limit);
    const bt_value *is_best = emit2(n, "equal", NULL, with_axes(n, best, 2, 1),
                                    counted(n, dim_of(n, scores, 2), BT_INT64));
    // boxes and scores are of as many images and boxes, which names of dims do not tell
    out->states[0] = emit2(
        n, "broadcast_to_like", NULL,
        chosen(n, emit2(n, "logical_or", NULL, goes, is_best), none, scores), scores);
    out->rows[0] = best;
    out->rows[1] = emit2(n, "greater", NULL, emit1(n, "max", "axis=[2]", scores), none);
}

/* Rows [k, n, c] become lines of image, class, box, in that order. */
static const bt_value *chosen_lines(bt_onnx_node *n, const bt_value *best,
                                    const bt_value *is_one)
{
    static const int64_t last[] = { 1, 2, 0 };
    best = transposed(n, best, 3, last);
    const bt_value *at = applied(n, "argwhere", transposed(n, is_one, 3, last));
    at = n->status ? NULL : cast_to(n, at, BT_INT64);
    const bt_value *box =
        emit2(n, "gather_nd", NULL, best, emit1(n, "transpose", NULL, at));
    const bt_value *parts[2] = { sliced(n, at, 1, 0, 2), with_axes(n, box, 1, 1) };
    return joined(n, 1, 2, parts);
}

static void non_max_suppression(bt_onnx_node *n)
{
    const bt_value *boxes = node_need(n, 0), *scores = node_need(n, 1),
                   *most = scalar_in(n, 2), *limit = scalar_in(n, 3),
                   *least = scalar_in(n, 4);
    if (value_rank(n, boxes) != 3 || value_rank(n, scores) != 3)
        node_fail(n, BT_ERR_FORMAT, "boxes have rank %u, scores %u; both need 3",
                  value_rank(n, boxes), value_rank(n, scores));
    if (n->status)
        return;
    struct suppression s = { .boxes = boxes,
                             .limit = limit ? limit : scalar_like(n, boxes, 0),
                             .count = size_of(n, boxes, 1),
                             .centred = node_int(n, "center_point_box", 0) != 0 };
    s.all = sides(n, &s, boxes, 1);
    const bt_value *trips = lesser_of(n, most ? most : emit_int(n, 0), s.count);
    if (least)
        scores = chosen(n, emit2(n, "greater", NULL, scores, least), scores,
                        scalar_like(n, scores, -INFINITY));
    const bt_value *end, *rows[2];
    struct loop loop = { .trips = greater_of(n, trips, emit_int(n, 0)),
                         .nstate = 1,
                         .nrow = 2,
                         .states = &scores,
                         .body = suppress_step,
                         .self = &s };
    emit_loop(n, &loop, &end, rows);
    if (!n->status)
        node_out(n, 0, chosen_lines(n, rows[0], rows[1]));
}

/* ---- reading within boxes ---- */

/* Along one axis: for each of r boxes and of its bins s positions between two neighbours,
 * [r, bins, s]. */
struct between {
    const bt_value *low, *high;               /* int64, in bounds */
    const bt_value *low_weight, *high_weight; /* 0 outside the image */
    const bt_value *count; /* of positions of a bin, 1 at least: [r, 1, 1] or a number */
    const bt_value *is_used; /* NULL: all of them; else where a box has fewer */
};

struct align {
    const bt_value *boxes; /* [r, 4] */
    double scale, offset;
    int64_t samples; /* positions of a bin along an axis; 0: one for each element */
    int has_least;   /* boxes are at least 1 wide and high */
};

/* 0, 1, ... below a number that may be known at run time only. */
static const bt_value *counted_to(bt_onnx_node *n, const bt_value *end, bt_dtype dtype)
{
    const bt_value *range = emit3(n, "arange", NULL, emit_int(n, 0),
                                  cast_to(n, end, BT_INT64), emit_int(n, 1));
    return cast_to(n, range, dtype);
}

/* The positions of a bin of that length, [s], and how many of them each box has. */
static const bt_value *samples_of(bt_onnx_node *n, const struct align *a,
                                  const bt_value *length, struct between *out)
{
    bt_dtype dtype = value_dtype(length);
    if (a->samples) {
        out->count = scalar_like(n, length, (double)a->samples);
        return counted(n, dim_number(n, a->samples), dtype);
    }
    const bt_value *one = scalar_like(n, length, 1), *has = applied(n, "ceil", length);
    out->count = greater_of(n, has, one);
    const bt_value *most = emit1(n, "max", "axis=None", out->count);
    const bt_value *at =
        counted_to(n, n->status ? NULL : greater_of(n, most, one), dtype);
    out->is_used = emit2(n, "less", NULL, at, has);
    return at;
}

/* `bins` of a box from column `from` to column `to`, samples evenly within each. */
static struct between positions_of(bt_onnx_node *n, const struct align *a, int64_t from,
                                   int64_t to, int64_t bins, const bt_value *size)
{
    struct between out = { 0 };
    const bt_value *begin = sliced(n, a->boxes, 1, from, from + 1),
                   *end = sliced(n, a->boxes, 1, to, to + 1);
    begin = plus_number(n, times_number(n, begin, a->scale), -a->offset);
    end = plus_number(n, times_number(n, end, a->scale), -a->offset);
    const bt_value *length = minus(n, end, begin);
    if (n->status)
        return out;
    if (a->has_least)
        length = greater_of(n, length, scalar_like(n, length, 1));
    length = with_axes(n, over_number(n, length, (double)bins), 2, 1);
    bt_dtype dtype = value_dtype(length);
    const bt_value *bin = with_axes(n, counted(n, dim_number(n, bins), dtype), 1, 1),
                   *at = samples_of(n, a, length, &out);
    at = plus(n, bin, over(n, plus_number(n, at, 0.5), out.count));
    at = plus(n, with_axes(n, begin, 2, 1), times(n, length, at));
    if (n->status)
        return out;
    size = cast_to(n, size, dtype);
    const bt_value *inside =
        emit2(n, "logical_and", NULL,
              emit2(n, "greater_equal", NULL, at, scalar_like(n, at, -1)),
              emit2(n, "less_equal", NULL, at, size));
    if (out.is_used)
        inside = emit2(n, "logical_and", NULL, inside, out.is_used);
    const bt_value *last = plus_number(n, size, -1);
    at = lesser_of(n, greater_of(n, at, scalar_like(n, at, 0)), last);
    const bt_value *low = applied(n, "floor", at), *rest = minus(n, at, low);
    inside = cast_to(n, inside, dtype);
    out.low = cast_to(n, low, BT_INT64);
    out.high = cast_to(n, lesser_of(n, plus_number(n, low, 1), last), BT_INT64);
    out.high_weight = times(n, rest, inside);
    out.low_weight = times(n, plus_number(n, applied(n, "negative", rest), 1), inside);
    return out;
}

/* Rows and columns as [r, bins, s, 1, 1] and [r, 1, 1, bins, s]. */
static const bt_value *of_grid(bt_onnx_node *n, const bt_value *x, int is_column)
{
    return with_axes(n, x, is_column ? 1 : 3, 2);
}

/* A weighted neighbour of each position: [r, c, h * w], and the positions themselves. */
static const bt_value *neighbours(bt_onnx_node *n, const bt_value *flat,
                                  const bt_value *width, const bt_value *const row[2],
                                  const bt_value *const column[2], const bt_value **grid)
{
    const bt_value *at = plus(n, of_grid(n, times(n, row[0], width), 0),
                              of_grid(n, column[0], 1)),
                   *weight = times(n, of_grid(n, row[1], 0), of_grid(n, column[1], 1));
    if (n->status)
        return NULL;
    *grid = at;
    const bt_type *count = dims_product(n, at, 1, 5);
    const bt_type *dims[3] = { dim_of(n, flat, 0), dim_of(n, flat, 1), count };
    const bt_type *line[3] = { dim_of(n, at, 0), dim_number(n, 1), count };
    at = broadcast(n, reshaped(n, at, 3, line), 3, dims);
    return times(n, emit2(n, "gather", "axis=2", flat, at), reshaped(n, weight, 3, line));
}

/* What the positions have, [r, c, bins, s, bins, s]. */
static const bt_value *read_within(bt_onnx_node *n, const bt_value *x,
                                   const struct between *rows,
                                   const struct between *columns, int is_max)
{
    const bt_value *out = NULL, *grid = NULL;
    const bt_type *dims[3] = { dim_of(n, x, 0), dim_of(n, x, 1),
                               dims_product(n, x, 2, 4) };
    const bt_value *flat = reshaped(n, x, 3, dims), *width = size_of(n, x, 3);
    const bt_value *const row[2][2] = { { rows->low, rows->low_weight },
                                        { rows->high, rows->high_weight } };
    const bt_value *const column[2][2] = { { columns->low, columns->low_weight },
                                           { columns->high, columns->high_weight } };
    for (uint32_t i = 0; !n->status && i < 4; i++) {
        const bt_value *part =
            neighbours(n, flat, width, row[i / 2], column[i % 2], &grid);
        out = !out ? part : is_max ? greater_of(n, out, part) : plus(n, out, part);
    }
    if (n->status)
        return NULL;
    const bt_type *bins[6] = {
        dim_of(n, x, 0),    dim_of(n, x, 1),    dim_of(n, grid, 1),
        dim_of(n, grid, 2), dim_of(n, grid, 3), dim_of(n, grid, 4)
    };
    return reshaped(n, out, 6, bins);
}

/* The mean or the greatest of each bin's positions. */
static const bt_value *of_bins(bt_onnx_node *n, const bt_value *y,
                               const struct between *rows, const struct between *columns,
                               int is_max)
{
    static const int64_t samples[] = { 3, 5 };
    if (is_max && rows->is_used) {
        const bt_value *is_used =
            emit2(n, "logical_and", NULL, of_grid(n, rows->is_used, 0),
                  of_grid(n, columns->is_used, 1));
        y = chosen(n, with_axes(n, is_used, 1, 1), y, scalar_like(n, y, -INFINITY));
    }
    y = reduced(n, is_max ? "max" : "sum", y, 2, samples, 0);
    if (is_max || n->status)
        return y;
    const bt_value *count = times(n, rows->count, columns->count);
    return over(n, y, value_rank(n, count) ? with_axes(n, count, 1, 1) : count);
}

static void roi_align(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *boxes = node_need(n, 1),
                   *image = node_need(n, 2);
    int64_t high = node_int(n, "output_height", 1), wide = node_int(n, "output_width", 1),
            samples = node_int(n, "sampling_ratio", 0);
    const char *mode = node_text(n, "mode", "avg"),
               *coordinates =
                   node_text(n, "coordinate_transformation_mode",
                             n->opset < 16 ? "output_half_pixel" : "half_pixel");
    int is_max = strcmp(mode, "max") == 0,
        is_half = strcmp(coordinates, "half_pixel") == 0;
    if (!is_max && strcmp(mode, "avg") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    if (!is_half && strcmp(coordinates, "output_half_pixel") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "coordinate_transformation_mode %s is not known",
                  coordinates);
    if (high < 1 || wide < 1 || samples < 0 || high > INT16_MAX || wide > INT16_MAX ||
        samples > INT16_MAX)
        node_fail(
            n, BT_ERR_ATTRIBUTE,
            "output_height is %lld, output_width %lld, sampling_ratio %lld; 1 to %d "
            "is expected, and 0 or more for sampling_ratio",
            (long long)high, (long long)wide, (long long)samples, INT16_MAX);
    if (value_rank(n, x) != 4 || value_rank(n, boxes) != 2)
        node_fail(n, BT_ERR_FORMAT, "data needs rank 4, boxes rank 2");
    if (n->status)
        return;
    struct align a = { .boxes = boxes,
                       .scale = node_float(n, "spatial_scale", 1),
                       .offset = is_half ? 0.5 : 0,
                       .samples = samples,
                       .has_least = !is_half };
    struct between rows = positions_of(n, &a, 1, 3, high, size_of(n, x, 2)),
                   columns = positions_of(n, &a, 0, 2, wide, size_of(n, x, 3));
    const bt_value *of_box = emit2(n, "take", "axis=0, mode=\"fast\"", x, image);
    const bt_value *y =
        n->status ? NULL : read_within(n, of_box, &rows, &columns, is_max);
    node_out(n, 0, of_bins(n, y, &rows, &columns, is_max));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.NonMaxSuppression-10", non_max_suppression, NULL }, { "ai.onnx.RoiAlign-10", roi_align, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_detection[] = { BT_ONNX_OPERATORS(operators),
                                                       { 0 } };
