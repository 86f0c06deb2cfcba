/* Resampling along axes of space: coordinates, taps and their weights as index
 * notation. */
#ifndef OPS_IMAGE_SAMPLE_H
#define OPS_IMAGE_SAMPLE_H

#include <baton/op.h>

enum { SAMPLE_MAX_SPACE = 3 };

/* Where the axes of a layout such as "NCHW" stand. */
struct image_layout {
    uint32_t rank, nspace;
    uint32_t space[SAMPLE_MAX_SPACE]; /* D, H, W: those there are, in that order */
};
/* N, C and the last `nspace` letters of DHW, each once: 1, or 0 when it is something
 * else. */
int image_layout_read(const char *text, uint32_t nspace, struct image_layout *out);
bt_status image_layout_relate(bt_solver *, const bt_relation_call *, const char *text,
                              uint32_t nspace, struct image_layout *out) BT_MUST_USE;
/* Whether the result of a call has integer elements. */
int image_is_integer(const bt_formula_call *);
/* An axis that is resampled must have an element. */
bt_status image_axis_relate(bt_solver *, const bt_relation_call *,
                            const bt_type *dim) BT_MUST_USE;

#define SAMPLE_MODES                                                               \
    "half_pixel|align_corners|asymmetric|pytorch_half_pixel|tf_half_pixel_for_nn|" \
    "tf_crop_and_resize"
#define SAMPLE_ROUNDINGS "round|floor|ceil|round_prefer_floor|round_prefer_ceil|"

/* How an image named `data` is resampled. Scalars o0, o1, ... of the formula hold the
 * extents of the result. */
struct sample {
    struct image_layout layout;
    const char *method;   /* nearest_neighbor, linear, cubic */
    const char *mode;     /* one of SAMPLE_MODES */
    const char *rounding; /* one of SAMPLE_ROUNDINGS; "": round where corners are aligned,
                             else floor */
    double alpha;         /* of cubic */
    int excludes;         /* of cubic: taps outside the image have no weight */
    int is_integer;       /* the element type of the result */
};
/* Writes stages up to "y: dtype[...] = ...". Where the mode crops, roi[k] are the starts
 * of all axes, then the ends, as shares of the image, and extrapolation_value stands
 * outside of it. */
void sample_write(bt_formula *, const struct sample *, const char *dtype);

#endif
