/*
 * quant-skip: layers that compute in float after all.
 * A layer is a call that takes a site of a constant, its weight; layers are counted from 0. Of
 * those in the list the operands are what they were before they had codes. A site that other
 * calls take, too, stays for these.
 *     before   nn.dense(quant.simulate(%x, ..), quant.simulate(const, ..))
 *     after    nn.dense(%x, const)
 * keeps    no invariant
 * option   layers
 */
#include "quant_site.h"

struct options {
    bt_ints layers;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, layers, INTS, "[]", "which ones, counted from 0"),
    { 0 },
};

struct skip {
    const struct options *options;
    int64_t nlayer;
};

static int is_listed(const bt_ints *list, int64_t layer)
{
    for (int64_t i = 0; i < list->n; i++) {
        if (list->at[i] == layer)
            return 1;
    }
    return 0;
}

static bt_status skip_call(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct skip *s = bt_rewrite_state(rewrite);
    const bt_module *module = bt_rewrite_call(rewrite)->module;
    const bt_value **args;
    struct site site;
    int is_layer = 0;
    for (uint32_t i = 0; call->callee_kind == BT_CALLEE_OP && i < call->narg; i++)
        is_layer |= site_read(module, call->args[i], &site) && site.constant;
    if (!is_layer || !is_listed(&s->options->layers, s->nlayer++))
        return NULL;
    args = BT_NEWS(bt_rewrite_call(rewrite)->scratch, const bt_value *, call->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        const int is_site = site_read(module, call->args[i], &site);
        BT_TRY(bt_rewrite_operand(rewrite, is_site ? site.call->args[0] : call->args[i],
                                  &args[i]));
    }
    bt_builder_like(bt_rewrite_builder(rewrite), &call->base);
    return bt_build_op(bt_rewrite_builder(rewrite), call->op, call->attrs, call->narg,
                       args, out);
}

static const bt_rewriter rewriter = { .call_ = skip_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct skip s = { .options = call->options };
    return bt_rewrite_module(ctx, call, &rewriter, &s, out);
}

static const bt_pass passes[] = {
    {
        .name = "quant-skip",
        .doc = "Layers in a list compute in float after all.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        nn.dense(quant.simulate(%x, 1f, 0),\n"
               "                 quant.simulate(const[(1, 2), float32]{1, 2}, 1f, 0))\n"
               "    }\n"
               "after, with {layers=[0]} and dead-code\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        nn.dense(%x, const[(1, 2), float32]{1, 2})\n"
               "    }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_quant_skip[] = { BT_PASSES(passes), { 0 } };
