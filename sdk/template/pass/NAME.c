/*
 * @name@: what it does, in one sentence.
 * option   max-rewrites   stop after this many, default 1000
 */
#include <baton/pass.h>

struct options {
    int64_t max_rewrites;
};
static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_rewrites, INT, "1000", 0, INT32_MAX, "stop after this many"),
    { 0 },
};

/* Called for every call, in order; leaving *out NULL keeps it. Operands are asked for as they are now. */
static bt_status rewrite_call(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const struct options *o = bt_rewrite_call(rewrite)->options;
    int64_t *count = bt_rewrite_state(rewrite);
    const bt_value *x;
    if (!bt_as_op_call(&call->base, "negative") || *count == o->max_rewrites)
        return NULL;
    BT_TRY(bt_rewrite_operand(rewrite, call->args[0], &x));
    const bt_call *inner = bt_as_op_call(x, "negative");
    if (inner) {
        *out = inner->args[0];
        ++*count;
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    int64_t count = 0;
    return bt_rewrite_module(ctx, call, &rewriter, &count, out);
}

static const bt_pass passes[] = {
    {
        .name = "@name@",
        .doc = "Removes double negation.\n"
               "before\n"
               "    def @main(%x: float32) { negative(negative(%x)) }\n"
               "after\n"
               "    def @main(%x: float32) { %x }",
        .level = 1,
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_PASSES(passes), { 0 } };
