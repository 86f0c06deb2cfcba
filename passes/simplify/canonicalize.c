/*
 * canonicalize: one form for what has several.
 * By rules (rules.md): a bias is a summand that lies along the channels; constants stand
 * at the right of commutative operators. Besides, a field of a tuple that is in sight is the
 * field, and one of a `split` the slice, which can be computed together with its readers;
 * and zero points of channels that are constants, all the same, are one number.
 * What is checked at run time stays as it is.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   Relay's CanonicalizeOps
 */
#include <inttypes.h>
#include <string.h>

#include "common/layout.h"
#include "common/rewrite_slots.h"
#include "simplify/rule.h"

/* ---- fields of a split ---- */

/* Elements along an axis of a row-major tensor; -1: they are not known. */
static int64_t extent_along(const bt_type *type, uint32_t axis)
{
    int64_t extent;
    return type_rank(type) > axis &&
                   bt_dim_is_const(bt_tensor_shape(type)->dims[axis], &extent)
               ? extent
               : -1;
}

static bt_status slice_field(bt_rewrite *rewrite, const bt_proj *proj,
                             const bt_value **out)
{
    const bt_call *call = bt_as_call(proj->tuple);
    const bt_list_type *fields = bt_as_tuple_type(proj->tuple->type);
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    const bt_value *data;
    int64_t begin = 0;
    if (!call || !call->op || call->ncheck || strcmp(call->op->name, "split") != 0)
        return NULL;
    const uint32_t rank = type_rank(call->args[0]->type),
                   axis = call_axis(call, "axis", 0, rank);
    for (uint32_t i = 0; i < proj->index; i++) {
        const int64_t extent = extent_along(fields->at[i], axis);
        if (extent < 0)
            return NULL;
        begin += extent;
    }
    const int64_t extent = extent_along(proj->base.type, axis);
    if (rank == 0 || extent < 0)
        return NULL;
    BT_TRY(bt_rewrite_operand(rewrite, call->args[0], &data));
    *out = chain_op1f(&c, data, "strided_slice",
                      "begin=[%" PRId64 "], end=[%" PRId64 "], axes=[%" PRIu32 "]", begin,
                      begin + extent, axis);
    return c.status;
}

static bt_status canonicalize_proj(bt_rewrite *rewrite, const bt_proj *proj,
                                   const bt_value **out)
{
    BT_TRY(rewrite_proj(rewrite, proj, out));
    return *out ? NULL : slice_field(rewrite, proj, out);
}

/* ---- zero points ---- */

/* The number that all elements of a constant are; NULL: it is none, or one number already. */
static const bt_tensor *same_number(const bt_value *value)
{
    const bt_tensor *t = bt_const_tensor(value);
    if (!t || t->rank == 0 || t->nelem == 0)
        return NULL;
    for (int64_t i = 1; i < t->nelem; i++) {
        if (bt_tensor_get(t, i) != bt_tensor_get(t, 0))
            return NULL;
    }
    return t;
}

static int is_zero_point(const bt_op *op, uint32_t i)
{
    static const char ending[] = "zero_point";
    uint32_t nrequired;
    const char *end =
        i < bt_op_ninput(op, &nrequired) ? strstr(op->inputs[i].name, ending) : NULL;
    return end && strcmp(end, ending) == 0;
}

static bt_status join_zero_points(bt_rewrite *rewrite, const bt_call *call,
                                  const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    int has_some = 0;
    if (!call->op || call->ncheck || strncmp(call->op->name, "qnn.", 4) != 0)
        return NULL;
    const bt_value **args =
        BT_NEWS(bt_rewrite_call(rewrite)->scratch, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        BT_TRY(bt_rewrite_operand(rewrite, call->args[i], &args[i]));
        const bt_tensor *same =
            is_zero_point(call->op, i) ? same_number(call->args[i]) : NULL;
        if (same)
            args[i] = chain_scalar(&c, same->dtype, bt_tensor_get(same, 0));
        has_some |= same != NULL;
    }
    if (!has_some || c.status)
        return c.status;
    bt_rewrite_from(rewrite, &call->base);
    return bt_build_op(c.builder, call->op, call->attrs, call->narg, args, out);
}

static bt_status canonicalize_call(bt_rewrite *rewrite, const bt_call *call,
                                   const bt_value **out)
{
    BT_TRY(rules_rewrite_call(rewrite, call, out));
    return *out ? NULL : join_zero_points(rewrite, call, out);
}

/* ---- the pass ---- */

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    static const bt_rewriter rewriter = { .call_ = canonicalize_call,
                                          .proj_ = canonicalize_proj };
    struct rules *rules;
    BT_TRY(rules_create(ctx, call, &rules));
    return bt_rewrite_module(ctx, call, &rewriter, rules, out);
}

static const bt_rule rules[] = {
    {
        .name = "bias-add",
        .doc = "A bias is a summand that lies along the channels.",
        .pass = "canonicalize",
        .text = "nn.bias_add(x, b, axis=a) => add(x, along(b, x, a))",
    },
    {
        .name = "constant-right",
        .doc = "Constants stand at the right.",
        .pass = "canonicalize",
        .text = "F(const c, x) => F(x, c) if commutative(F) and not constant(x)",
    },
    { 0 },
};

static const bt_attr options[] = { RULES_OPTION, { 0 } };

static const bt_pass passes[] = {
    {
        .name = "canonicalize",
        .doc = "One form for what has several.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        nn.bias_add(%x, %b)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        add(%x, expand_dims(%b, axis=1, num_newaxis=2))\n"
               "    }",
        .level = 1,
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_simplify_canonicalize[] = { BT_PASSES(passes),
                                                     BT_RULES(rules),
                                                     { 0 } };
