/*
 * combine-parallel-conv2d: convolutions of one input become one, with all their channels.
 * So do other layers whose facet "channels" states layouts, such as nn.conv1d;
 * combine-parallel-dense does the same for those of matrices, such as nn.dense. The
 * layers have the same attributes and kernel size, one group, and constant weights;
 * what follows element by element in every branch, with constants for each channel or
 * none, comes along (biases, once canonicalize has made sums of them). The result of
 * every element is the same to the bit.
 * keeps    no invariant
 * option   min-branches  layers that are worth it, default 3
 * source   Relay's CombineParallelConv2D and CombineParallelDense
 */
#include <string.h>

#include <baton/compute.h>

#include "common/layout.h"
#include "simplify/scale_axis.h"

struct options {
    int64_t min_branches;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, min_branches, INT, "3", 2, 4096,
                  "layers that are worth it"),
    { 0 },
};

enum { MAX_USES = 1024, MAX_FOLLOWERS = 16 };

/* A layer and what follows it: values[0] is the layer. */
struct branch {
    uint32_t nvalue;
    const bt_call *values[1 + MAX_FOLLOWERS];
    int64_t width;
};

struct site {
    bt_rewrite *rewrite;
    const bt_channels_facet *layer;
    uint32_t rank, channel, kernel_channel; /* axes of the result, of the weight */
    uint32_t nbranch;
    struct branch *branches;
    struct traits traits;
    struct chain chain;
};

/* ---- siblings ---- */

/* The call's layer and its axes; of a convolution, with one group, or of a dense layer.
 * 0: it is none that can be joined. */
static int find_layer(struct site *s, const bt_call *call, int is_dense)
{
    struct channels at;
    s->layer = layer_of(&s->traits, call, 0, &at);
    s->rank = type_rank(call->base.type);
    if (!s->layer || !s->layer->width || (s->layer->data == NULL) != is_dense ||
        at.groups != 1 || s->rank < 2)
        return 0;
    s->channel = (uint32_t)at.axis;
    s->kernel_channel = (uint32_t)at.out;
    return 1;
}

/* A copy of a call's attributes with this width, where one is stated. NULL: no memory. */
static void *attrs_with_width(const struct site *s, const bt_call *call, int64_t width)
{
    if (bt_call_int(call, s->layer->width, BT_NONE) == BT_NONE)
        width = BT_NONE;
    return bt_attrs_with(bt_rewrite_call(s->rewrite)->scratch, call, s->layer->width,
                         &width, sizeof(width));
}

/* 1: the same but for the width; 0: not so; -1: no memory. */
static int same_attrs(const struct site *s, const bt_call *a, const bt_call *b)
{
    const void *x = attrs_with_width(s, a, BT_NONE), *y = attrs_with_width(s, b, BT_NONE);
    return x && y ? bt_attrs_equal(a->op->attrs, x, y) : -1;
}

static int same_kernels(const struct site *s, const bt_tensor *a, const bt_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return 0;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (i != s->kernel_channel && a->dims[i] != b->dims[i])
            return 0;
    }
    return 1;
}

/* A layer of this very block, with constant weights. */
static int is_layer(const struct site *s, const bt_call *call, const bt_call *like)
{
    return call && call->callee_kind == BT_CALLEE_OP && call->op == like->op &&
           !call->ncheck && call->narg == 2 && call->args[0] == like->args[0] &&
           type_rank(call->base.type) == s->rank && bt_const_tensor(call->args[1]) &&
           bt_rewrite_is_here(s->rewrite, &call->base);
}

/* The layer at hand and those behind it that are like it. */
static bt_status find_siblings(struct site *s, const bt_call *first)
{
    const bt_value *input = first->args[0];
    uint32_t n = bt_rewrite_nuse(s->rewrite, input), from = 0;
    while (from < n && bt_rewrite_use(s->rewrite, input, from) != &first->base)
        from++;
    n = n - from > MAX_USES ? MAX_USES : n - from;
    s->branches = BT_NEWS(bt_rewrite_call(s->rewrite)->scratch, struct branch, n ? n : 1);
    if (!s->branches)
        return bt_no_memory();
    const bt_tensor *kernel = bt_const_tensor(first->args[1]);
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *use = bt_rewrite_use(s->rewrite, input, from + i);
        const bt_call *call = use ? bt_as_call(use) : NULL;
        if (!is_layer(s, call, first) ||
            !same_kernels(s, bt_const_tensor(call->args[1]), kernel))
            continue;
        int is_same = same_attrs(s, call, first);
        if (is_same < 0)
            return bt_no_memory();
        struct branch *b = &s->branches[s->nbranch];
        *b = (struct branch){ .nvalue = 1, .values = { call } };
        b->width = bt_const_tensor(call->args[1])->dims[s->kernel_channel];
        s->nbranch += is_same != 0;
    }
    return NULL;
}

/* ---- followers ---- */

static const bt_call *last_of(const struct branch *b)
{
    return b->values[b->nvalue - 1];
}

/* The call that alone uses the branch so far, element by element. */
static const bt_call *follower_of(const struct site *s, const struct branch *b)
{
    const bt_value *last = &last_of(b)->base;
    const bt_value *use = bt_rewrite_nuse(s->rewrite, last) == 1
                              ? bt_rewrite_use(s->rewrite, last, 0)
                              : NULL;
    const bt_call *call = use ? bt_as_call(use) : NULL;
    return call && call->callee_kind == BT_CALLEE_OP && !call->ncheck &&
                   call->narg >= 1 && call->args[0] == last && use->type == last->type &&
                   bt_rewrite_is_here(s->rewrite, use)
               ? call
               : NULL;
}

/* Two operands, the second a constant for each channel or for all. */
static int is_by_channel(const struct site *s, const bt_call *call)
{
    return call->narg == 2 && bt_const_tensor(call->args[1]) && call->op->relation &&
           strcmp(call->op->relation, "Broadcast") == 0 &&
           is_per_channel(call->args[1], s->rank, s->channel);
}

/* One operand, each element from the one at its own place. */
static bt_status is_elementwise(const struct site *s, const bt_call *call, int *out)
{
    bt_formula_call formula = { .op = call->op,
                                .attrs = call->attrs,
                                .narg = 1,
                                .args = &call->args[0]->type,
                                .result = call->base.type };
    bt_fuse_info info;
    *out = 0;
    if (call->narg != 1)
        return NULL;
    BT_TRY(bt_fuse_look(bt_rewrite_ctx(s->rewrite), &formula, &info));
    *out = info.kind == BT_FUSE_ELEMWISE;
    return NULL;
}

/* Takes the next call of every branch, where all do the same; *out: whether they do. */
static bt_status take_follower(struct site *s, int *out)
{
    const bt_call *first = follower_of(s, &s->branches[0]);
    *out = first && s->branches[0].nvalue <= MAX_FOLLOWERS;
    if (!*out)
        return NULL;
    if (!is_by_channel(s, first))
        BT_TRY(is_elementwise(s, first, out));
    for (uint32_t i = 1; *out && i < s->nbranch; i++) {
        const bt_call *call = follower_of(s, &s->branches[i]);
        *out = call && call->op == first->op && call->narg == first->narg &&
               bt_attrs_equal(call->op->attrs, call->attrs, first->attrs) &&
               (call->narg == 1 ||
                (is_by_channel(s, call) && call->args[1]->type->kind == BT_TYPE_TENSOR &&
                 bt_tensor_dtype(call->args[1]->type) ==
                     bt_tensor_dtype(first->args[1]->type)));
    }
    for (uint32_t i = 0; *out && i < s->nbranch; i++) {
        struct branch *b = &s->branches[i];
        b->values[b->nvalue] = follower_of(s, b);
        b->nvalue++;
    }
    return NULL;
}

/* ---- building ---- */

static const bt_value *join_fields(struct site *s, const bt_value *const *fields,
                                   uint32_t axis)
{
    const bt_value *tuple = NULL;
    if (!s->chain.status)
        s->chain.status = bt_build_tuple(s->chain.builder, s->nbranch, fields, &tuple);
    return chain_op1f(&s->chain, tuple, "concatenate", "axis=%u", axis);
}

/* Constants of a follower, one a channel, behind one another. */
static const bt_value *join_constants(struct site *s, uint32_t level,
                                      const bt_value **fields)
{
    for (uint32_t i = 0; i < s->nbranch; i++) {
        const bt_value *constant = s->branches[i].values[level]->args[1];
        fields[i] =
            bt_const_tensor(constant)->nelem == 1
                ? chain_op1f(&s->chain,
                             chain_op1(&s->chain, "reshape", "newshape=[1]", constant),
                             "broadcast_to", "shape=[%lld]",
                             (long long)s->branches[i].width)
                : chain_op1(&s->chain, "reshape", "newshape=[-1]", constant);
    }
    return chain_along(&s->chain, join_fields(s, fields, 0), s->rank, s->channel);
}

/* The joined layer and its followers. */
static const bt_value *build_joined(struct site *s, const bt_value **fields)
{
    const bt_call *first = s->branches[0].values[0];
    int64_t width = 0;
    const bt_value *args[2], *now = NULL;
    for (uint32_t i = 0; i < s->nbranch; i++) {
        fields[i] = s->branches[i].values[0]->args[1];
        width += s->branches[i].width;
    }
    const void *attrs = attrs_with_width(s, first, width);
    if (!attrs)
        s->chain.status = bt_no_memory();
    if (!s->chain.status)
        s->chain.status = bt_rewrite_operand(s->rewrite, first->args[0], &args[0]);
    args[1] = join_fields(s, fields, s->kernel_channel);
    if (!s->chain.status)
        s->chain.status = bt_build_op(s->chain.builder, first->op, attrs, 2, args, &now);
    for (uint32_t level = 1; level < s->branches[0].nvalue; level++) {
        const bt_call *call = s->branches[0].values[level];
        args[0] = now;
        args[1] = call->narg == 2 ? join_constants(s, level, fields) : NULL;
        if (!s->chain.status)
            s->chain.status = bt_build_op(s->chain.builder, call->op, call->attrs,
                                          call->narg, args, &now);
    }
    return now;
}

/* Everything of a branch is its slice now: what stands before the last has no use. */
static bt_status replace(struct site *s, const struct branch *b, const bt_value *slice)
{
    for (uint32_t i = 0; i < b->nvalue; i++)
        BT_TRY(bt_rewrite_replace(s->rewrite, &b->values[i]->base, slice));
    return NULL;
}

static bt_status join(struct site *s, const bt_value **out)
{
    const bt_value **fields =
        BT_NEWS(bt_rewrite_call(s->rewrite)->scratch, const bt_value *, s->nbranch);
    int64_t at = 0;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->nbranch; i++) {
        for (uint32_t k = 0; k < s->branches[i].nvalue; k++)
            bt_rewrite_from(s->rewrite, &s->branches[i].values[k]->base);
    }
    const bt_value *joined = build_joined(s, fields);
    for (uint32_t i = 0; i < s->nbranch; i++) {
        int64_t end = at + s->branches[i].width;
        fields[i] = chain_op1f(&s->chain, joined, "strided_slice",
                               "begin=[%lld], end=[%lld], axes=[%u]", (long long)at,
                               (long long)end, s->channel);
        at = end;
    }
    BT_TRY(s->chain.status);
    for (uint32_t i = 0; i < s->nbranch; i++)
        BT_TRY(replace(s, &s->branches[i], fields[i]));
    *out = fields[0];
    return NULL;
}

static bt_status combine(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const struct options *o = bt_rewrite_call(rewrite)->options;
    struct site s = { .rewrite = rewrite, .traits = { .ctx = bt_rewrite_ctx(rewrite) } };
    int more = 1;
    s.chain.builder = bt_rewrite_builder(rewrite);
    if (!find_layer(&s, call, bt_rewrite_state(rewrite) != NULL) ||
        !is_layer(&s, call, call) || !type_rank(call->args[0]->type) ||
        bt_rewrite_nuse(rewrite, call->args[0]) < o->min_branches)
        return s.traits.status;
    BT_TRY(find_siblings(&s, call));
    if (s.nbranch < o->min_branches)
        return NULL;
    while (more)
        BT_TRY(take_follower(&s, &more));
    return join(&s, out);
}

static const bt_rewriter rewriter = { .call_ = combine };

static bt_status run_convs(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static bt_status run_denses(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, call,
                             out); // not NULL: of dense layers
}

static const bt_pass passes[] = {
    {
        .name = "combine-parallel-conv2d",
        .doc = "Convolutions of one input become one, with all their channels.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 1, 2, 2), float32]) {\n"
               "        %0 = nn.conv2d(%x, const[(1, 1, 1, 1), float32]{1});\n"
               "        %1 = nn.relu(add(%0, const[(1, 1, 1), float32]{4}));\n"
               "        %2 = nn.conv2d(%x, const[(2, 1, 1, 1), float32]{2, 3});\n"
               "        %3 = nn.relu(add(%2, const[(2, 1, 1), float32]{5, 6}));\n"
               "        %4 = nn.conv2d(%x, const[(1, 1, 1, 1), float32]{7});\n"
               "        %5 = nn.relu(add(%4, 8f));\n"
               "        (%1, %3, %5)\n"
               "    }\n"
               "after, with fold-constant and dead-code\n"
               "    def @main(%x: Tensor[(1, 1, 2, 2), float32]) {\n"
               "        %0 = nn.conv2d(%x, const[(4, 1, 1, 1), float32]{1, 2, 3, 7});\n"
               "        %1 = nn.relu(add(%0, const[(4, 1, 1), float32]{4, 5, 6, 8}));\n"
               "        %2 = strided_slice(%1, begin=[0], end=[1], axes=[1]);\n"
               "        %3 = strided_slice(%1, begin=[1], end=[3], axes=[1]);\n"
               "        %4 = strided_slice(%1, begin=[3], end=[4], axes=[1]);\n"
               "        (%2, %3, %4)\n"
               "    }",
        .level = 4,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run_convs,
    },
    {
        .name = "combine-parallel-dense",
        .doc = "Dense layers of one input become one, with all their units.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        %0 = nn.relu(nn.dense(%x, const[(1, 2), float32]{1, 2}));\n"
               "        %1 = nn.relu(nn.dense(%x, const[(2, 2), float32]{3, 4, 5, 6}));\n"
               "        %2 = nn.relu(nn.dense(%x, const[(1, 2), float32]{7, 8}));\n"
               "        (%0, %1, %2)\n"
               "    }\n"
               "after, with fold-constant and dead-code\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        %0 = nn.dense(%x, const[(4, 2), float32]{1, 2, 3, 4, 5, 6, 7, "
               "8});\n"
               "        %1 = nn.relu(%0);\n"
               "        %2 = strided_slice(%1, begin=[0], end=[1], axes=[1]);\n"
               "        %3 = strided_slice(%1, begin=[1], end=[3], axes=[1]);\n"
               "        %4 = strided_slice(%1, begin=[3], end=[4], axes=[1]);\n"
               "        (%2, %3, %4)\n"
               "    }",
        .level = 4,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run_denses,
    },
    { 0 },
};

const bt_table bt_passes_simplify_combine_parallel[] = { BT_PASSES(passes), { 0 } };
