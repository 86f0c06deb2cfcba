/*
 * dynamic-to-static: operators whose shapes are values become those whose shapes are
 * attributes, where the values are known.
 * By rules (rules.md). A type that is known, in numbers and dims of the function, says what
 * the value was, constant or not.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   Relay's DynamicToStatic
 */
#include "simplify/rule.h"

// clang-format off
#define RULE(name_, doc_, text_) { .name = name_, .doc = doc_, .pass = "dynamic-to-static", .text = text_ }
static const bt_rule rules[] = {
    RULE("static-reshape",   "The shape is that of the result.", "dyn.reshape(x, s, ..) => reshape(x, newshape=shape(result))"),
    RULE("static-axes",      "The shape is that of the result.", "dyn.squeeze|dyn.expand_dims(x, a, ..) => reshape(x, newshape=shape(result))"),
    RULE("static-broadcast", "The shape is that of the result.", "dyn.broadcast_to(x, s) => broadcast_to(x, shape=shape(result))"),
    RULE("static-full",      "The shape is that of the result.", "dyn.full(v, s, ..) => full(v, shape=shape(result), dtype=dtype(result))"),
    RULE("static-zeros",     "The shape is that of the result.", "dyn.zeros(s, ..) => zeros(shape=shape(result), dtype=dtype(result))"),
    RULE("static-ones",      "The shape is that of the result.", "dyn.ones(s, ..) => ones(shape=shape(result), dtype=dtype(result))"),
    RULE("static-tile",      "Counts that are constant.",        "dyn.tile(x, const r) => tile(x, reps=contents(r))"),
    RULE("static-one-hot",   "The depth is an extent of the result.", "dyn.one_hot(i, on, off, d, axis=a, dtype=t) => one_hot(i, on, off, depth=extent(result, a), axis=a, dtype=t)"),
    RULE("static-topk",      "A constant count.",                "dyn.topk(x, const k, axis=a, is_ascend=s, ret_type=r, dtype=t) => topk(x, k=number(k), axis=a, is_ascend=s, ret_type=r, dtype=t)"),
    RULE("static-slice",     "Constant positions.",              "dyn.strided_slice(x, const b, const e, const s, slice_mode=m) => strided_slice(x, begin=contents(b), end=contents(e), strides=contents(s), slice_mode=m)"),
    RULE("static-pad",       "Constant widths.",                 "dyn.nn.pad(x, const w, v, pad_mode=m) => nn.pad(x, v, pad_width=contents(w), pad_mode=m)"),
    RULE("static-pad-0",     "Constant widths.",                 "dyn.nn.pad(x, const w, pad_mode=m) => nn.pad(x, pad_width=contents(w), pad_mode=m)"),
    RULE("static-resize",    "Constant extents.",                "dyn.image.resize2d(x, const s, layout=l, method=m, coordinate_transformation_mode=c, rounding_method=r, cubic_alpha=a, cubic_exclude=e, extrapolation_value=v, out_dtype=t) => image.resize2d(x, size=contents(s), layout=l, method=m, coordinate_transformation_mode=c, rounding_method=r, cubic_alpha=a, cubic_exclude=e, extrapolation_value=v, out_dtype=t)"),
    RULE("static-resize-roi", "A constant part of the image.",   "dyn.image.resize2d(x, const s, const p, layout=l, method=m, coordinate_transformation_mode=c, rounding_method=r, cubic_alpha=a, cubic_exclude=e, extrapolation_value=v, out_dtype=t) => image.resize2d(x, size=contents(s), roi=reals(p), layout=l, method=m, coordinate_transformation_mode=c, rounding_method=r, cubic_alpha=a, cubic_exclude=e, extrapolation_value=v, out_dtype=t)"),
    RULE("static-dense",     "The shape is that of the result.", "dyn.sparse_to_dense(i, const s, v, d) => scatter_nd(full(d, shape=contents(s), dtype=dtype(result)), transpose(i), v) if rank(i, 2) and rank(v, 1)"),
    RULE("static-upsampling", "Constant factors.",               "dyn.nn.upsampling(x, const h, const w, layout=l, method=m, align_corners=a) => nn.upsampling(x, scale_h=real(h), scale_w=real(w), layout=l, method=m, align_corners=a)"),
    RULE("static-upsampling3d", "Constant factors.",             "dyn.nn.upsampling3d(x, const d, const h, const w, layout=l, method=m, coordinate_transformation_mode=c) => nn.upsampling3d(x, scale_d=real(d), scale_h=real(h), scale_w=real(w), layout=l, method=m, coordinate_transformation_mode=c)"),
    { 0 },
};
// clang-format on

static const bt_attr options[] = { RULES_OPTION, { 0 } };

static const bt_pass passes[] = {
    {
        .name = "dynamic-to-static",
        .doc = "Operators whose shapes are values become those whose shapes are "
               "attributes.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = dyn.reshape(%x, const[(2), int64]{3, 2});\n"
               "        dyn.topk(%0, 1i64, ret_type=\"values\")\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = reshape(%x, newshape=[3, 2]);\n"
               "        topk(%0, k=1, ret_type=\"values\")\n"
               "    }",
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = rules_run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_simplify_dynamic_to_static[] = { BT_PASSES(passes),
                                                          BT_RULES(rules),
                                                          { 0 } };
