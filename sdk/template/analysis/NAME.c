/*
 * @name@: what a program is analysed for, in one sentence; and a pass that asks for it.
 * The manager keeps the result until a pass changes the program that does not keep the analysis.
 */
#include <baton/pass.h>

/* What a pass that needs the analysis gets: bt_pass_analysis(ctx, call, "@name@",
 * &result). */
struct @ident@ {
    uint64_t ncall; /* of operators, in blocks of functions */
};

static bt_status compute(bt_ctx *ctx, const bt_module *module, bt_arena *arena, const void **out)
{
    struct @ident@ *result = BT_NEW(arena, struct @ident@);
    (void)ctx;
    if (!result)
        return bt_no_memory();
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_func *func = module->globals[i]->func; /* NULL: it is no function with a body */
        for (uint32_t k = 0; func && k < func->block->nbinding; k++) {
            const bt_call *call = bt_as_call(func->block->bindings[k]);
            result->ncall += call && call->callee_kind == BT_CALLEE_OP;
        }
    }
    *out = result;
    return NULL;
}

static const bt_analysis analyses[] = {
    { .name = "@name@", .doc = "How many calls of operators there are.", .compute = compute },
    { 0 },
};

static bt_status report(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const void *result;
    BT_TRY(bt_pass_analysis(ctx, call, "@name@", &result));
    const struct @ident@ *found = result;
    bt_remark(ctx, BT_REMARK_NOTE,
              bt_fail(ctx, BT_ERR_PIPELINE, "%llu calls of operators", (unsigned long long)found->ncall));
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "@name@-report",
        .doc = "Says how many calls of operators there are.",
        .needs = "@name@",
        .keeps = "* @name@",
        .run = report,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_ANALYSES(analyses), BT_PASSES(passes), { 0 } };
