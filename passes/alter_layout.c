/*
 * alter-layout: lay out what convolutions read and write in blocks of channels.
 *     before
 *         def @main(%x: Tensor[(1, 8, 2, 2), float32], %w: Tensor[(8, 8, 1, 1), float32],
 *                   %b: Tensor[(8, 1, 1), float32]) {
 *             %0 = nn.conv2d(%x, %w);
 *             nn.relu(add(%0, %b))
 *         }
 *     after, with dead-code
 *         def @main(%x: Tensor[(1, 8, 2, 2), float32], %w: Tensor[(8, 8, 1, 1), float32],
 *                   %b: Tensor[(8, 1, 1), float32]) {
 *             %0 = layout_transform(%x, src_layout="", dst_layout="NCHW:NCHW8c");
 *             %1 = layout_transform(%w, src_layout="", dst_layout="OIHW:OIHW8i8o");
 *             %2 = nn.conv2d(%0, %1, out_layout="NCHW:NCHW8c");
 *             %3 = nn.relu(add(%2, %b));
 *             layout_transform(%3, src_layout="NCHW:NCHW8c", dst_layout="")
 *         }
 *
 * A layout is part of a type: shapes, attributes and formulas stay as they are, and the
 * result is the same to the bit; what changes is where elements lie in memory. So calls
 * are looked at one by one, and each is built again for the layout that suits it:
 *
 *     a contraction whose operator has a rule (facet "layout") takes the layout that is
 *         wished for, as far as the rule follows
 *     another operator with a rule takes the one that its data has
 *         (of several tensors: if it is that of half of them)
 *     a call that goes element by element takes the one that an operand of the result's
 *         shape has; what it broadcasts stays as it is
 *     everything else reads row major
 *
 * A call that was built anew is followed by a layout_transform back, so that all that
 * stands behind it fits without having been looked at. An operand that comes from such a
 * transform is taken from before it: transforms between two calls that agree have no use
 * then, and dead-code drops them. What is left stands at the borders. Of constant weights
 * the transform is computed when the program is compiled.
 * keeps    no invariant
 * option   data    the layout wished for, default NCHW8c; or in full, NCHW:NHWC
 * source   Relay's AlterOpLayout; Liu et al. 2019 (NeoCPU), section 3
 */
#include <string.h>

#include <baton/compute.h>

#include "chain.h"

struct options {
    const char *data;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, data, STRING, "NCHW8c", "the layout wished for"),
    { 0 },
};

enum { MOST_ARGS = 8 };

struct site {
    bt_rewrite *rewrite;
    const bt_call *call;
    uint32_t kind;                   /* BT_FUSE_... */
    const bt_value *args[MOST_ARGS]; /* new values */
    struct chain chain;
};

/* Its layout, or that from which it was made row major. */
static const bt_layout *held(const bt_value *value)
{
    const bt_value *from = laid_from(value);
    const bt_layout *layout = type_layout(value->type);
    return layout || !from ? layout : type_layout(from->type);
}

static bt_status look_at(struct site *s)
{
    const bt_type *types[MOST_ARGS];
    bt_fuse_info info;
    for (uint32_t i = 0; i < s->call->narg; i++) {
        types[i] = s->call->args[i]->type;
        BT_TRY(bt_rewrite_operand(s->rewrite, s->call->args[i], &s->args[i]));
    }
    bt_formula_call formula = { .op = s->call->op,
                                .attrs = s->call->attrs,
                                .narg = s->call->narg,
                                .args = types,
                                .result = s->call->base.type };
    BT_TRY(bt_fuse_look(bt_rewrite_ctx(s->rewrite), &formula, &info));
    s->kind = info.kind;
    return NULL;
}

/* The call on operands in these layouts, as they are where NULL, and the way back. */
static bt_status build(struct site *s, const bt_layout *const *in, const void *attrs,
                       const bt_value **out)
{
    const bt_value *args[MOST_ARGS], *now = NULL;
    for (uint32_t i = 0; i < s->call->narg; i++)
        args[i] = in ? chain_layout(&s->chain, s->args[i], in[i]) : s->args[i];
    if (!s->chain.status)
        s->chain.status =
            bt_build_op(s->chain.builder, s->call->op, attrs ? attrs : s->call->attrs,
                        s->call->narg, args, &now);
    BT_TRY(s->chain.status);
    now = chain_layout(&s->chain, now, NULL);
    if (!s->chain.status)
        *out = now;
    return s->chain.status;
}

static bt_status by_rule(struct site *s, const bt_layout_facet *rule,
                         const bt_layout *wish, const bt_value **out)
{
    const bt_layout *wanted[MOST_ARGS] = { NULL }, *in[MOST_ARGS] = { NULL };
    const bt_layout *result = NULL;
    const void *attrs = NULL;
    int is_laid = 0;
    wanted[0] = s->kind == BT_FUSE_CONTRACTION ? wish : held(s->args[0]);
    if (!wanted[0])
        return NULL;
    BT_TRY(rule->choose(bt_rewrite_ctx(s->rewrite), bt_builder_store(s->chain.builder),
                        s->call, wanted, in, &result, &attrs));
    for (uint32_t i = 0; i < s->call->narg; i++)
        is_laid |= in[i] != NULL;
    return is_laid || result ? build(s, in, attrs, out) : NULL;
}

static bt_status by_element(struct site *s, const bt_value **out)
{
    const bt_layout *layout = NULL, *in[MOST_ARGS] = { NULL };
    for (uint32_t i = 0; i < s->call->narg && !layout; i++) {
        if (type_same_shape(s->args[i]->type, s->call->base.type))
            layout = held(s->args[i]);
    }
    for (uint32_t i = 0; layout && i < s->call->narg; i++) {
        int is_whole = type_same_shape(s->args[i]->type, s->call->base.type) &&
                       s->args[i]->kind != BT_VALUE_CONST;
        in[i] = is_whole ? layout : NULL;
    }
    return layout ? build(s, in, NULL, out) : NULL;
}

/* A tuple of tensors in one layout, of which at least half have it already. */
static bt_status by_fields(struct site *s, const bt_layout_facet *rule,
                           const bt_value **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(s->args[0]);
    const bt_layout *wanted = NULL, *in = NULL, *result = NULL;
    const void *attrs = NULL;
    uint32_t nheld = 0;
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++) {
        const bt_layout *layout = held(tuple->fields[i]);
        wanted = wanted ? wanted : layout;
        nheld += layout && layout == wanted;
    }
    if (!wanted || 2 * nheld < tuple->nfield)
        return NULL;
    BT_TRY(rule->choose(bt_rewrite_ctx(s->rewrite), bt_builder_store(s->chain.builder),
                        s->call, &wanted, &in, &result, &attrs));
    if (!in)
        return NULL;
    const bt_value **fields =
        BT_NEWS(bt_rewrite_call(s->rewrite)->scratch, const bt_value *, tuple->nfield);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++)
        fields[i] = chain_layout(&s->chain, tuple->fields[i], in);
    BT_TRY(s->chain.status);
    BT_TRY(bt_build_tuple(s->chain.builder, tuple->nfield, fields, &s->args[0]));
    return build(s, NULL, attrs, out);
}

static int is_row_major(const bt_type *type)
{
    return bt_tensor_static(type, NULL, NULL) && !type_layout(type);
}

/* Calls of operators on tensors that are row major, with dims that are known; or on one
 * tuple of such. */
static int is_candidate(const bt_call *call)
{
    if (call->callee_kind != BT_CALLEE_OP || call->ncheck || call->narg == 0 ||
        call->narg > MOST_ARGS || !is_row_major(call->base.type) ||
        strcmp(call->op->name, "layout_transform") == 0)
        return 0;
    const bt_list_type *tuple =
        call->narg == 1 ? bt_as_tuple_type(call->args[0]->type) : NULL;
    for (uint32_t i = 0; i < (tuple ? tuple->n : call->narg); i++) {
        if (!is_row_major(tuple ? tuple->at[i] : call->args[i]->type))
            return 0;
    }
    return 1;
}

static bt_status lay_out(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct site s = { .rewrite = rewrite, .call = call };
    const void *rule;
    s.chain.builder = bt_rewrite_builder(rewrite);
    if (!is_candidate(call))
        return NULL;
    BT_TRY(bt_op_facet(bt_rewrite_ctx(rewrite), call->op, "layout", &rule));
    if (!rule && !op_keeps_layout(call->op))
        return NULL;
    BT_TRY(look_at(&s));
    if (bt_as_tuple_type(call->args[0]->type))
        return rule ? by_fields(&s, rule, out) : NULL;
    if (rule)
        return by_rule(&s, rule, bt_rewrite_state(rewrite), out);
    return s.kind <= BT_FUSE_BROADCAST ? by_element(&s, out) : NULL;
}

static const bt_rewriter rewriter = { .call_ = lay_out };

/* In full, or with the capitals as logical axes: NCHW8c is NCHW:NCHW8c. */
static bt_status read_wish(bt_ctx *ctx, bt_pass_call *call, const char *text,
                           const bt_layout **out)
{
    bt_text full;
    bt_text_init(&full, call->scratch);
    for (const char *c = text; *c && !strchr(text, ':'); c++) {
        if (*c >= 'A' && *c <= 'Z')
            bt_text_add(&full, c, 1);
    }
    bt_text_addf(&full, strchr(text, ':') ? "%s" : ":%s", text);
    if (!bt_text_get(&full))
        return bt_no_memory();
    *out = bt_layout_parse(call->module->store, bt_text_get(&full));
    return *out && strpbrk(text, "0123456789:")
               ? NULL
               : bt_fail(ctx, BT_ERR_ATTRIBUTE,
                         "alter-layout: data is \"%s\"; a layout such as NCHW8c or "
                         "NCHW:NHWC is expected",
                         text);
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    const bt_layout *wish;
    BT_TRY(read_wish(ctx, call, o->data, &wish));
    return bt_rewrite_module(ctx, call, &rewriter, (void *)(uintptr_t)wish, out);
}

static const bt_pass passes[] = {
    {
        .name = "alter-layout",
        .doc =
            "Lay out what convolutions read and write in blocks of channels.\n"
            "before\n"
            "    def @main(%x: Tensor[(1, 8, 2, 2), float32], %w: Tensor[(8, 8, 1, 1), "
            "float32],\n"
            "              %b: Tensor[(8, 1, 1), float32]) {\n"
            "        %0 = nn.conv2d(%x, %w);\n"
            "        nn.relu(add(%0, %b))\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%x: Tensor[(1, 8, 2, 2), float32], %w: Tensor[(8, 8, 1, 1), "
            "float32],\n"
            "              %b: Tensor[(8, 1, 1), float32]) {\n"
            "        %0 = layout_transform(%x, src_layout=\"\", "
            "dst_layout=\"NCHW:NCHW8c\");\n"
            "        %1 = layout_transform(%w, src_layout=\"\", "
            "dst_layout=\"OIHW:OIHW8i8o\");\n"
            "        %2 = nn.conv2d(%0, %1, out_layout=\"NCHW:NCHW8c\");\n"
            "        %3 = nn.relu(add(%2, %b));\n"
            "        layout_transform(%3, src_layout=\"NCHW:NCHW8c\", dst_layout=\"\")\n"
            "    }",
        .level = 3,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_alter_layout[] = { BT_PASSES(passes), { 0 } };
