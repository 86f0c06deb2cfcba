/*
 * simplify-control-flow: no branch where it is known which way it goes.
 * A branch goes one way where its condition is a constant, or where it stands in a branch on
 * the same condition; a match, where its data is a constructor or a tuple in sight, or where
 * it stands in a clause of a match on the same data. Branches that are all the same are one
 * of them. An `if` that gives its condition, the contrary, or a constant on one side is a
 * logical operator; what both its sides compute without an effect is computed before it.
 * needs    effects
 * keeps    every invariant
 * source   Relay's and LLVM's SimplifyCFG in part
 */
#include "simplify/control_flow.h"

/* ---- facts ---- */

static bt_status find_facts(struct control_flow *, const bt_block *);

/* The region of a branch, in which a fact holds of the value that it branches on. */
static bt_status enter_region(struct control_flow *f, const bt_value *branch,
                              uint32_t region)
{
    const bt_match *match = bt_as_match(branch);
    const bt_value *on = bt_value_operand(branch, 0);
    struct branch_fact *outer = bt_map_find(&f->facts, on);
    struct branch_fact *fact = BT_NEW(f->arena, struct branch_fact);
    if (!fact)
        return bt_no_memory();
    *fact =
        (struct branch_fact){ region, match ? match->clauses[region]->pattern : NULL };
    if (!bt_map_put(&f->facts, on, fact))
        return bt_no_memory();
    BT_TRY(find_facts(f, bt_value_region(branch, region)));
    return bt_map_put(&f->facts, on, outer) ? NULL : bt_no_memory();
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status find_facts(struct control_flow *f, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        int is_branch = value->kind == BT_VALUE_IF || value->kind == BT_VALUE_MATCH;
        struct branch_fact *fact =
            is_branch ? bt_map_find(&f->facts, bt_value_operand(value, 0)) : NULL;
        if (fact && !bt_map_put(&f->known, value, fact))
            return bt_no_memory();
        BT_TRY(refuted_note(f->arena, value, &f->checks));
        for (uint32_t k = 0; k < bt_value_nregion(value); k++)
            BT_TRY(is_branch ? enter_region(f, value, k)
                             : find_facts(f, bt_value_region(value, k)));
    }
    return NULL;
}

/* ---- branches that are the same ---- */

/* Whether two blocks without parameters are. */
static bt_status are_equal(bt_rewrite *rewrite, const bt_block *a, const bt_block *b,
                           int *out)
{
    bt_ctx *ctx = bt_rewrite_ctx(rewrite);
    bt_store *store = bt_builder_store(bt_rewrite_builder(rewrite));
    const bt_func fields[2] = { { .block = a, .result = a->result->type },
                                { .block = b, .result = b->result->type } };
    const bt_func *funcs[2];
    *out = !a->nparam && !b->nparam && a->nbinding == b->nbinding;
    if (!*out)
        return NULL;
    BT_TRY(bt_func_create(ctx, store, &fields[0], &funcs[0]));
    BT_TRY(bt_func_create(ctx, store, &fields[1], &funcs[1]));
    *out = bt_func_equal(bt_ctx_registry(ctx), funcs[0], funcs[1]);
    return NULL;
}

bt_status control_flow_equal(bt_rewrite *rewrite, const bt_value *branch, int *out)
{
    *out = bt_value_nregion(branch) > 0 && !bt_value_region(branch, 0)->nparam;
    for (uint32_t i = 1; *out && i < bt_value_nregion(branch); i++)
        BT_TRY(are_equal(rewrite, bt_value_region(branch, 0), bt_value_region(branch, i),
                         out));
    return NULL;
}

bt_status control_flow_take(bt_rewrite *rewrite, const bt_value *branch,
                            const bt_block *region, uint32_t narg,
                            const bt_value *const *args, const bt_value **out)
{
    const struct control_flow *f = bt_rewrite_state(rewrite);
    int is_refuted;
    BT_TRY(refuted_by(bt_rewrite_ctx(rewrite), f->arena, &f->checks, branch->type,
                      region->result->type, &is_refuted));
    return is_refuted ? NULL : bt_rewrite_inline(rewrite, region, narg, args, out);
}

/* ---- if ---- */

/* A side that only gives a constant: 1, 0; anything else: -1. */
static int gives_bool(const bt_block *block)
{
    const bt_tensor *tensor = block->nbinding ? NULL : bt_const_tensor(block->result);
    return tensor && tensor->rank == 0 && tensor->dtype == BT_BOOL
               ? bt_tensor_get_int(tensor, 0) != 0
               : -1;
}

static bt_status build_logical(bt_rewrite *rewrite, const char *op, const bt_value *x,
                               const bt_value *old, const bt_value **out)
{
    const bt_value *args[2] = { x, NULL };
    if (old)
        BT_TRY(bt_rewrite_operand(rewrite, old, &args[1]));
    return bt_build(bt_rewrite_builder(rewrite), op, NULL, args, old ? 2 : 1, out);
}

/* `if` between truth values, one of them known: its sides compute nothing. */
static bt_status as_logical(bt_rewrite *rewrite, const bt_if *branch,
                            const bt_value *condition, const bt_value **out)
{
    int then_gives = gives_bool(branch->then_block),
        else_gives = gives_bool(branch->else_block);
    if (then_gives == 1 && else_gives == 0)
        *out = condition;
    else if (then_gives == 0 && else_gives == 1)
        return build_logical(rewrite, "logical_not", condition, NULL, out);
    else if (branch->base.type == condition->type && then_gives == 1 &&
             !branch->else_block->nbinding)
        return build_logical(rewrite, "logical_or", condition, branch->else_block->result,
                             out);
    else if (branch->base.type == condition->type && else_gives == 0 &&
             !branch->then_block->nbinding)
        return build_logical(rewrite, "logical_and", condition,
                             branch->then_block->result, out);
    return NULL;
}

static bt_status copy_region(bt_rewrite *rewrite, const bt_block *old,
                             const bt_block **out)
{
    bt_builder *builder = bt_rewrite_builder(rewrite);
    const bt_value *result;
    BT_TRY(bt_block_begin(builder, 0, NULL));
    BT_TRY(bt_rewrite_inline(rewrite, old, 0, NULL, &result));
    return bt_block_end(builder, result, out);
}

/* On the contrary of something: on that, with the sides exchanged. */
static bt_status exchange(bt_rewrite *rewrite, const bt_if *branch,
                          const bt_value *condition, const bt_value **out)
{
    const bt_block *then_block, *else_block;
    BT_TRY(copy_region(rewrite, branch->else_block, &then_block));
    BT_TRY(copy_region(rewrite, branch->then_block, &else_block));
    return bt_build_if(bt_rewrite_builder(rewrite), condition, then_block, else_block,
                       out);
}

static bt_status simplify_if(bt_rewrite *rewrite, const bt_if *branch,
                             const bt_value **out)
{
    const struct control_flow *f = bt_rewrite_state(rewrite);
    const struct branch_fact *fact = bt_map_find(&f->known, branch);
    const bt_value *condition;
    int is_equal;
    BT_TRY(bt_rewrite_operand(rewrite, branch->condition, &condition));
    const bt_tensor *constant =
        bt_const_tensor(bt_module_constant(bt_rewrite_call(rewrite)->module, condition));
    const bt_call *contrary = bt_as_op_call(condition, "logical_not");
    BT_TRY(control_flow_equal(rewrite, &branch->base, &is_equal));
    if (is_equal || fact || constant) {
        uint32_t side = fact       ? fact->region
                        : constant ? bt_tensor_get_int(constant, 0) == 0
                                   : 0;
        return control_flow_take(rewrite, &branch->base,
                                 bt_value_region(&branch->base, side), 0, NULL, out);
    }
    BT_TRY(as_logical(rewrite, branch, condition, out));
    if (*out)
        return NULL;
    BT_TRY(control_flow_hoist(rewrite, branch));
    return contrary ? exchange(rewrite, branch, contrary->args[0], out) : NULL;
}

static bt_status use_hoisted(bt_rewrite *rewrite, const bt_value *old,
                             const bt_value **out)
{
    const struct control_flow *f = bt_rewrite_state(rewrite);
    *out = bt_map_find(&f->hoisted, old);
    return NULL;
}

static const bt_rewriter rewriter = { .if_ = simplify_if,
                                      .match_ = control_flow_match,
                                      .any = use_hoisted };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct control_flow f = { .arena = call->scratch };
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    f.effects = effects;
    bt_map_init(&f.facts, call->scratch, 0);
    bt_map_init(&f.known, call->scratch, 0);
    bt_map_init(&f.hoisted, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        if (call->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(find_facts(&f, call->module->globals[i]->func->block));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &f, out);
}

static const bt_pass passes[] = {
    {
        .name = "simplify-control-flow",
        .doc = "No branch where it is known which way it goes.\n"
               "before\n"
               "    type Shape { Circle(float32), Square(float32) }\n"
               "    def @main(%c: bool, %x: float32) {\n"
               "        %0 = Circle(%x);\n"
               "        match (%0) {\n"
               "            Circle(%r) => { if (%c) { if (%c) { exp(%r) } else { %r } } "
               "else "
               "{ %x } },\n"
               "            Square(%s) => { %s },\n"
               "        }\n"
               "    }\n"
               "after\n"
               "    type Shape { Circle(float32), Square(float32) }\n"
               "    def @main(%c: bool, %x: float32) {\n"
               "        %0 = Circle(%x);\n"
               "        if (%c) { exp(%x) } else { %x }\n"
               "    }",
        .level = 1,
        .needs = "effects",
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_simplify_control_flow[] = { BT_PASSES(passes), { 0 } };
