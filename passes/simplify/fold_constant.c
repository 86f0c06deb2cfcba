/*
 * fold-constant: evaluate what does not depend on inputs.
 * Calls of operators on constants run by the reference evaluator, those with names (@c)
 * included; small integer results that follow from static shapes (shape_of) become
 * constants too; a field of a constant tuple is a constant. A call that fails stays, to
 * fail at run time. A result larger than max-bytes and than the constants it is made from stays a
 * call: a scaled weight is folded, a large splat never expanded. A larger one that is only
 * transposed is a view of the constant that it is made from.
 * needs    effects
 * keeps    fused, matched; not what closures are
 * option   max-bytes   largest constant to create from smaller ones, default 1 MiB
 */
#include <baton/compute.h>

#include "common/evaluate.h"
#include "common/statements.h"

struct options {
    int64_t max_bytes;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bytes, INT, "1048576", 0, INT64_MAX,
                  "largest constant to create from smaller ones"),
    { 0 },
};

/* ---- results that types determine ---- */

/* A scalar or vector of integers whose elements the solver found to be numbers. */
static bt_status fold_contents(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value **out)
{
    if (!call->contents || call->ncheck ||
        !statement_follows(bt_rewrite_ctx(rewrite), bt_rewrite_call(rewrite)->scratch,
                           bt_rewrite_call(rewrite)->module, call))
        return NULL;
    return evaluate_contents(bt_rewrite_builder(rewrite), call, out);
}

/* ---- calls on constants ---- */

/* Of a large constant the transpose is another view: nothing is copied. */
static bt_status transpose(bt_rewrite *rewrite, const bt_call *call,
                           const bt_tensor *tensor, const bt_value **out)
{
    const bt_ints *axes = bt_attr_find(call->op, call->attrs, "axes", BT_ATTR_INTS);
    int64_t dims[BT_MAX_RANK], strides[BT_MAX_RANK];
    bt_tensor *view;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        int64_t axis = axes->n == BT_NONE_LIST ? tensor->rank - 1 - i : axes->at[i];
        axis += axis < 0 ? tensor->rank : 0;
        dims[i] = tensor->dims[axis];
        strides[i] = tensor->strides[axis];
    }
    BT_TRY(bt_tensor_view(bt_rewrite_ctx(rewrite), tensor, tensor->rank, dims, strides, 0,
                          &view));
    bt_status status = bt_build_const(bt_rewrite_builder(rewrite), &view->base, out);
    bt_tensor_unref(view);
    return status;
}

static int64_t operands_nbytes(const bt_call *call)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!bt_add_int64(sum, evaluate_nbytes(call->args[i]->type), &sum))
            return INT64_MAX;
    }
    return sum;
}

static bt_status fold_call(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const struct options *o = bt_rewrite_call(rewrite)->options;
    leaf_list leaves = { 0 };
    const bt_effects *effects = bt_rewrite_state(rewrite);
    uint32_t never = BT_EFFECT_UNMERGED;
    if (call->callee_kind != BT_CALLEE_OP || bt_type_layout(call->base.type) ||
        bt_effects_of(effects, &call->base) & never)
        return NULL;
    BT_TRY(fold_contents(rewrite, call, out));
    int64_t nbytes = evaluate_nbytes(call->base.type);
    if (*out || (nbytes > o->max_bytes && nbytes > operands_nbytes(call)))
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        int is_const;
        BT_TRY(evaluate_operand(rewrite, call->args[i], &leaves, &is_const));
        if (!is_const)
            return NULL;
    }
    return nbytes > o->max_bytes && bt_as_op_call(&call->base, "transpose")
               ? transpose(rewrite, call, leaves.at[0], out)
               : evaluate_call(bt_rewrite_builder(rewrite),
                               bt_rewrite_call(rewrite)->scratch, call, &leaves, out);
}

static bt_status fold_proj(bt_rewrite *rewrite, const bt_proj *proj, const bt_value **out)
{
    const bt_value *now;
    BT_TRY(bt_rewrite_operand(rewrite, proj->tuple, &now));
    now = bt_module_constant(bt_rewrite_call(rewrite)->module, now);
    const bt_const *constant = bt_as_const(now);
    const bt_tuple_value *fields = bt_as_tuple(now);
    if (fields) {
        *out = fields->fields[proj->index];
        return NULL;
    }
    const bt_tuple *tuple = constant ? bt_object_as_tuple(constant->object) : NULL;
    return tuple ? bt_build_const(bt_rewrite_builder(rewrite), tuple->fields[proj->index],
                                  out)
                 : NULL;
}

static const bt_rewriter rewriter = { .call_ = fold_call, .proj_ = fold_proj };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    return bt_rewrite_module(ctx, call, &rewriter, (void *)(uintptr_t)effects, out);
}

static const bt_pass passes[] = {
    {
        .name = "fold-constant",
        .doc = "Evaluate what does not depend on inputs.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %0 = add(1f, 2f);\n"
               "        multiply(%x, %0)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) {\n"
               "        multiply(%x, 3f)\n"
               "    }",
        .level = 2,
        .needs = "effects",
        .keeps = "fused matched",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_fold_constant[] = { BT_PASSES(passes), { 0 } };
