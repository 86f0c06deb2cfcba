/*
 * quant-skip: layers that compute in float after all.
 * A layer is a call that takes a site of a constant, its weight, by whose name it is listed.
 * The operands of such calls are what they were before they had codes. A site that leads to
 * another product, by whatever stands between, stays for that one; one that leads to none goes, too.
 *     before   nn.dense(quant.simulate(%x, ..), quant.simulate(const, .., site="w"))
 *     after    nn.dense(%x, const)
 * keeps    no invariant
 * errors   no layer has a weight of a name that is listed
 * option   weights
 */
#include <string.h>

#include "quantize/quant_law.h"
#include "quantize/quant_site.h"

enum { MAX_DEPTH = 256 };

struct options {
    bt_strings weights;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, weights, STRINGS, "[]",
            "which ones, by the sites of weights"),
    { 0 },
};

struct skip {
    const struct options *options;
    bt_arena *arena;
    uint8_t *found;             /* of each that is listed */
    bt_vec(const char *) names; /* those that there are */
    bt_map wanted;              /* value -> WANTED or NOT_WANTED */
};

static const char WANTED[] = "yes", NOT_WANTED[] = "no";

/* Whether a call is a layer that is listed. */
static bt_status find_layer(struct skip *s, const bt_module *module, const bt_call *call,
                            int *out)
{
    struct site site;
    *out = 0;
    for (uint32_t i = 0; call->callee_kind == BT_CALLEE_OP && i < call->narg; i++) {
        if (!site_read(module, call->args[i], &site) || !site.constant)
            continue;
        if (!BT_PUSH(s->arena, &s->names, site.name))
            return bt_no_memory();
        for (int64_t k = 0; k < s->options->weights.n; k++) {
            if (strcmp(s->options->weights.at[k], site.name) == 0)
                *out = s->found[k] = 1;
        }
    }
    return NULL;
}

static bt_status is_wanted(bt_rewrite *, const bt_value *old, uint32_t depth, int *out);

/* Whether a product that is not listed takes codes by way of a user of them. */
static bt_status wants(bt_rewrite *rewrite, const bt_value *user, uint32_t depth,
                       int *out)
{
    struct skip *s = bt_rewrite_state(rewrite);
    const bt_pass_call *pass = bt_rewrite_call(rewrite);
    const bt_call *call = bt_as_call(user);
    struct law law = { .kind = LAW_NONE };
    int is_listed = 0;
    if (call)
        BT_TRY(find_layer(s, pass->module, call, &is_listed));
    *out = !is_listed;
    if (is_listed)
        return NULL;
    if (call && call->callee_kind == BT_CALLEE_OP)
        BT_TRY(law_find(bt_rewrite_ctx(rewrite), pass->module->store, s->arena,
                        pass->module, call, &law));
    return law.kind == LAW_CONTRACTION ? NULL : is_wanted(rewrite, user, depth + 1, out);
}

static bt_status is_wanted(bt_rewrite *rewrite, const bt_value *old, uint32_t depth,
                           int *out)
{
    struct skip *s = bt_rewrite_state(rewrite);
    const char *known = bt_map_find(&s->wanted, old);
    const uint32_t n = bt_rewrite_nuse(rewrite, old);
    *out = known ? known == WANTED : depth > MAX_DEPTH;
    if (known)
        return NULL;
    for (uint32_t i = 0; i < n && !*out; i++) {
        const bt_value *user = bt_rewrite_use(rewrite, old, i);
        if (user && user != old)
            BT_TRY(wants(rewrite, user, depth, out));
    }
    return bt_map_put(&s->wanted, old, (void *)(uintptr_t)(*out ? WANTED : NOT_WANTED))
               ? NULL
               : bt_no_memory();
}

static bt_status skip_call(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct skip *s = bt_rewrite_state(rewrite);
    const bt_module *module = bt_rewrite_call(rewrite)->module;
    const bt_value **args;
    struct site site;
    int is_listed, is_there = 1;
    if (site_read(module, &call->base, &site)) {
        if (!site.constant)
            BT_TRY(is_wanted(rewrite, &call->base, 0, &is_there));
        return is_there ? NULL : bt_rewrite_operand(rewrite, call->args[0], out);
    }
    BT_TRY(find_layer(s, module, call, &is_listed));
    if (!is_listed)
        return NULL;
    args = BT_NEWS(s->arena, const bt_value *, call->narg);
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

static bt_status check_found(bt_ctx *ctx, void *state)
{
    struct skip *s = state;
    if (!BT_PUSH(s->arena, &s->names, NULL))
        return bt_no_memory();
    for (int64_t k = 0; k < s->options->weights.n; k++) {
        const char *name = s->options->weights.at[k];
        if (!s->found[k])
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "quant-skip: no layer has a weight with site \"%s\"%s", name,
                           bt_nearest(s->arena, name, s->names.at));
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct skip s = { .options = call->options, .arena = call->scratch };
    s.found = BT_NEWS(s.arena, uint8_t, (size_t)s.options->weights.n);
    if (!s.found)
        return bt_no_memory();
    bt_map_init(&s.wanted, s.arena, 0);
    return rewrite_checked(ctx, call, &rewriter, &s, check_found, out);
}

static const bt_pass passes[] = {
    {
        .name = "quant-skip",
        .doc = "Layers in a list compute in float after all.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        nn.dense(quant.simulate(%x, 1f, 0),\n"
               "                 quant.simulate(const[(1, 2), float32]{1, 2}, 1f, 0, "
               "site=\"w\"))\n"
               "    }\n"
               "after, with {weights=[\"w\"]} and dead-code\n"
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
const bt_table bt_passes_quantize_quant_skip[] = { BT_PASSES(passes), { 0 } };
