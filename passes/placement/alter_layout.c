/*
 * alter-layout: lay out what convolutions read and write in blocks of channels.
 *
 * A layout is part of a type: shapes, attributes and formulas stay as they are, and the
 * result is the same to the bit; what changes is where elements lie in memory. So calls
 * are looked at one by one, and each is built again in the layout that suits it:
 *
 *     a call whose operator has a rule (facet "layout") gets the layouts that a target
 *         wants, as far as the rule allows
 *     where no target wants any, and it is no contraction, it gets the layout of its data
 *         (of several tensors: if at least half of them have it)
 *     a call that goes element by element gets the layout of an operand of the result's
 *         shape; operands that it broadcasts stay as they are
 *     everything else reads row major
 *
 * A layout_transform back to row major follows each call that is built again, so that the
 * calls after it need no change. A call whose operand comes from such a transform reads
 * what the transform reads: where two calls agree, the transform between them is unused,
 * and dead-code drops it. Transforms remain at the borders only. Those of constant weights
 * are computed when the program is compiled.
 *
 * The targets that are compiled for are asked (bt_target.layouts): the first that wants a
 * layout for the call and supports the call in it decides. None is asked where the last
 * target cannot read layouts, since it computes what the others leave, transforms too.
 * Where no target wants any nothing is changed.
 * keeps    no invariant
 * option   data    a layout in place of those that targets want: contractions get it
 *                  where it fills the blocks of an operand or of the result. NCHW8c; or in
 *                  full, NCHW:NHWC
 * source   Relay's AlterOpLayout; Liu et al. 2019 (NeoCPU), section 3
 */
#include <string.h>

#include <baton/compiled.h>
#include <baton/compute.h>

#include "common/layout.h"
#include "common/lone_call.h"
#include "common/rewrite_slots.h"

struct options {
    const char *data;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, data, STRING, "", "the layout that is wanted: NCHW8c"),
    { 0 },
};

enum { MAX_ARGS = 8, MAX_FIELDS = 64 };

struct wants {
    const bt_layout *data; /* by option; NULL: the targets are asked */
    uint32_t ntarget;
    const bt_target_use *const *targets;
};

struct site {
    bt_rewrite *rewrite;
    const struct wants *wants;
    const bt_call *call;
    uint32_t kind;                  /* BT_FUSE_... */
    const bt_value *args[MAX_ARGS]; /* new values */
    const bt_target_use *wanting;   /* that wants the layout; NULL: none */
    struct chain chain;
};

/* Its layout, or that from which it was made row major. */
static const bt_layout *held(const bt_value *value)
{
    const bt_value *from = laid_from(value);
    const bt_layout *layout = bt_type_layout(value->type);
    return layout || !from ? layout : bt_type_layout(from->type);
}

static bt_status look_at(struct site *s)
{
    const bt_type *types[MAX_ARGS];
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

/* The value row major: of a tuple, its fields. */
static bt_status to_row_major(struct chain *chain, const bt_value *value,
                              const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(value->type);
    const bt_value *fields[MAX_FIELDS];
    if (!tuple) {
        *out = chain_layout(chain, value, NULL);
        return chain->status;
    }
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(chain->builder, value, i, &fields[i]));
        fields[i] = chain_layout(chain, fields[i], NULL);
        BT_TRY(chain->status);
    }
    return bt_build_tuple(chain->builder, tuple->n, fields, out);
}

/* What a plugin states twice must be one: types say where elements lie. */
static bt_status check_result(const struct site *s, const bt_value *now,
                              const bt_layout *result)
{
    const bt_layout *found = bt_type_layout(now->type);
    if (found == result)
        return NULL;
    return bt_fail(bt_rewrite_ctx(s->rewrite), BT_ERR_PLUGIN,
                   "%s: its facet \"layout\" states that the result is %s, its type "
                   "relation that it is %s; bt_relation_result_laid gives the layout of "
                   "argument 0, and bt_relation_call.layout is what is wanted",
                   s->call->op->name, result ? result->text : "row major",
                   found ? found->text : "row major");
}

/* Whether the target that wants it supports the call as built; if not, what was built
 * stays unused, and is dropped. */
static bt_status ask_wanting(struct site *s, const bt_value *now, int *agreed)
{
    bt_ctx *ctx = bt_rewrite_ctx(s->rewrite);
    bt_status refusal = NULL;
    if (s->wanting)
        BT_TRY(lone_call_ask(ctx, bt_rewrite_call(s->rewrite),
                             bt_builder_store(s->chain.builder), s->wanting,
                             bt_as_call(now), &refusal));
    if (refusal)
        bt_remark(ctx, BT_REMARK_DETAIL,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "target %s wants layouts of %s, and does not take it so: %s",
                          s->wanting->text, s->call->op->name, refusal->message));
    *agreed = !refusal;
    return NULL;
}

/* The call on operands in these layouts, as they are where NULL, with the result's, then
 * made row major. *out is unchanged where the target refuses it. */
static bt_status build(struct site *s, const bt_layout *const *in,
                       const bt_layout *result, const bt_value **out)
{
    const bt_value *args[MAX_ARGS], *now = NULL;
    int agreed;
    for (uint32_t i = 0; i < s->call->narg; i++)
        args[i] = in ? chain_layout(&s->chain, s->args[i], in[i]) : s->args[i];
    BT_TRY(s->chain.status);
    bt_builder_layout(s->chain.builder, result);
    BT_TRY(bt_build_op(s->chain.builder, s->call->op, s->call->attrs, s->call->narg, args,
                       &now));
    BT_TRY(check_result(s, now, result));
    BT_TRY(ask_wanting(s, now, &agreed));
    return agreed ? to_row_major(&s->chain, now, out) : NULL;
}

/* ---- what is wanted ---- */

/* A tensor's, or that of a tuple's first field. */
static const bt_type *tensor_of(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    return tuple && tuple->n ? tuple->at[0] : type;
}

/* Whether a layout has the tensor's axes, and none of them is less than a block. */
static int is_filled(const bt_layout *layout, const bt_type *type)
{
    int64_t dims[BT_MAX_RANK], blocks[BT_MAX_RANK];
    uint32_t rank;
    if (!layout || !bt_tensor_static(type, &rank, dims) || rank != layout->nlogical)
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        blocks[i] = 1;
    for (uint32_t i = 0; i < layout->nphysical; i++) {
        if (layout->physical[i].factor)
            blocks[layout->physical[i].axis] *= layout->physical[i].factor;
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (blocks[i] > 1 && dims[i] < blocks[i])
            return 0;
    }
    return 1;
}

/* The same for what is read first and for the result. */
static void want(const struct site *s, const bt_layout *layout, const bt_layout **wanted)
{
    if (is_filled(layout, s->call->args[0]->type))
        wanted[0] = layout;
    if (is_filled(layout, s->call->base.type))
        wanted[s->call->narg] = layout;
}

/* In full, or with the capitals as logical axes: NCHW8c is NCHW:NCHW8c. *out NULL: it is
 * no layout, or row major without a word. */
static bt_status read_layout(bt_arena *scratch, bt_store *store, const char *text,
                             const bt_layout **out)
{
    bt_text full;
    bt_text_init(&full, scratch);
    for (const char *c = text; *c && !strchr(text, ':'); c++) {
        if (*c >= 'A' && *c <= 'Z')
            bt_text_add(&full, c, 1);
    }
    bt_text_addf(&full, strchr(text, ':') ? "%s" : ":%s", text);
    if (!bt_text_get(&full))
        return bt_no_memory();
    *out =
        strpbrk(text, "0123456789:") ? bt_layout_parse(store, bt_text_get(&full)) : NULL;
    return NULL;
}

/* The layout of a target's text, for an operand or the result. */
static bt_status read_wanted(struct site *s, const char *target, const char *text,
                             uint32_t place, const bt_layout **out)
{
    const bt_call *call = s->call;
    const bt_type *type =
        tensor_of(place < call->narg ? call->args[place]->type : call->base.type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    BT_TRY(read_layout(bt_rewrite_call(s->rewrite)->scratch,
                       bt_builder_store(s->chain.builder), text, out));
    if (*out && shape && (*out)->nlogical == shape->n)
        return NULL;
    return bt_fail(
        bt_rewrite_ctx(s->rewrite), BT_ERR_PLUGIN,
        "target %s wants layout \"%s\" for %s %u of %s, a tensor of rank %u; a "
        "layout of its axes such as NCHW8c or NCHW:NHWC is expected",
        target, text, place < call->narg ? "operand" : "result",
        place < call->narg ? place : 0, call->op->name, shape ? shape->n : 0);
}

/* *found: whether a target wants anything for the call. */
static bt_status ask_targets(struct site *s, const bt_layout **wanted, int *found)
{
    const struct wants *w = s->wants;
    *found = 0;
    for (uint32_t t = 0; t < w->ntarget && !*found; t++) {
        const bt_target_use *use = w->targets[t];
        const char *texts[MAX_ARGS + 1] = { NULL };
        if (!use->target->layouts)
            continue;
        BT_TRY(use->target->layouts(bt_rewrite_ctx(s->rewrite), use->instance, s->call,
                                    texts));
        for (uint32_t i = 0; i <= s->call->narg; i++) {
            if (texts[i])
                BT_TRY(read_wanted(s, use->text, texts[i], i, &wanted[i]));
            *found |= texts[i] != NULL;
        }
        s->wanting = *found ? use : NULL;
    }
    return NULL;
}

/* The layouts that the call's rule is given; all NULL: none. `around`: the layout
 * of its data. */
static bt_status find_wanted(struct site *s, const bt_layout *around,
                             const bt_layout **wanted)
{
    const bt_layout *data = s->wants->data;
    int found = data && s->kind == BT_FUSE_CONTRACTION;
    if (found)
        want(s, data, wanted);
    else
        BT_TRY(ask_targets(s, wanted, &found));
    if (!found && s->kind != BT_FUSE_CONTRACTION) {
        want(s, around, wanted);
        wanted[0] = around;
    }
    return NULL;
}

/* ---- calls ---- */

static bt_status by_rule(struct site *s, const bt_layout_facet *rule,
                         const bt_value **out)
{
    const bt_layout *wanted[MAX_ARGS + 1] = { NULL }, *in[MAX_ARGS] = { NULL };
    const bt_layout *result = NULL;
    int is_laid = 0;
    BT_TRY(find_wanted(s, held(s->args[0]), wanted));
    for (uint32_t i = 0; i <= s->call->narg; i++)
        is_laid |= wanted[i] != NULL;
    if (!is_laid)
        return NULL;
    BT_TRY(rule->choose(bt_rewrite_ctx(s->rewrite), bt_builder_store(s->chain.builder),
                        s->call, wanted, in, &result));
    is_laid = result != NULL;
    for (uint32_t i = 0; i < s->call->narg; i++)
        is_laid |= in[i] != NULL;
    return is_laid ? build(s, in, result, out) : NULL;
}

static bt_status by_element(struct site *s, const bt_value **out)
{
    const bt_layout *layout = NULL, *in[MAX_ARGS] = { NULL };
    for (uint32_t i = 0; i < s->call->narg && !layout; i++) {
        if (type_same_shape(s->args[i]->type, s->call->base.type))
            layout = held(s->args[i]);
    }
    for (uint32_t i = 0; layout && i < s->call->narg; i++) {
        int is_whole = type_same_shape(s->args[i]->type, s->call->base.type) &&
                       s->args[i]->kind != BT_VALUE_CONST;
        in[i] = is_whole ? layout : NULL;
    }
    return layout ? build(s, in, layout, out) : NULL;
}

/* The fields of the tuple that the call has, in a layout. */
static bt_status lay_fields(struct site *s, uint32_t n, const bt_layout *layout)
{
    const bt_tuple_value *tuple = bt_as_tuple(s->args[0]);
    const bt_value **fields =
        BT_NEWS(bt_rewrite_call(s->rewrite)->scratch, const bt_value *, n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (tuple)
            fields[i] = tuple->fields[i];
        else
            BT_TRY(bt_build_proj(s->chain.builder, s->args[0], i, &fields[i]));
        fields[i] = chain_layout(&s->chain, fields[i], layout);
        BT_TRY(s->chain.status);
    }
    return bt_build_tuple(s->chain.builder, n, fields, &s->args[0]);
}

/* A tuple of tensors in one layout: where no target wants any, at least half of them must
 * have it already. */
static bt_status by_fields(struct site *s, const bt_layout_facet *rule,
                           const bt_value **out)
{
    const bt_tuple_value *tuple = bt_as_tuple(s->args[0]);
    const bt_layout *wanted[2] = { NULL }, *around = NULL, *in = NULL, *result = NULL;
    uint32_t nheld = 0, n = bt_as_tuple_type(s->args[0]->type)->n;
    for (uint32_t i = 0; tuple && i < n; i++) {
        const bt_layout *layout = held(tuple->fields[i]);
        around = around ? around : layout;
        nheld += layout && layout == around;
    }
    BT_TRY(find_wanted(s, 2 * nheld < n ? NULL : around, wanted));
    if (wanted[0])
        BT_TRY(rule->choose(bt_rewrite_ctx(s->rewrite),
                            bt_builder_store(s->chain.builder), s->call, wanted, &in,
                            &result));
    if (!in)
        return NULL;
    BT_TRY(lay_fields(s, n, in));
    return build(s, NULL, result, out);
}

/* A tensor whose dims are known, or a tuple of such. */
static int is_row_major(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; i < (tuple ? tuple->n : 1); i++) {
        const bt_type *one = tuple ? tuple->at[i] : type;
        if (!bt_tensor_static(one, NULL, NULL) || bt_type_layout(one))
            return 0;
    }
    return !tuple || tuple->n <= MAX_FIELDS;
}

/* Calls of operators on tensors that are row major, or on one tuple of such. */
static int is_candidate(const bt_call *call)
{
    if (call->callee_kind != BT_CALLEE_OP || call->ncheck || call->narg == 0 ||
        call->narg > MAX_ARGS || !is_row_major(call->base.type) ||
        strcmp(call->op->name, "layout_transform") == 0)
        return 0;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!is_row_major(call->args[i]->type) ||
            (call->narg > 1 && bt_as_tuple_type(call->args[i]->type)))
            return 0;
    }
    return 1;
}

static bt_status lay_out(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    struct site s = { .rewrite = rewrite,
                      .call = call,
                      .wants = bt_rewrite_state(rewrite) };
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
        return by_rule(&s, rule, out);
    return s.kind <= BT_FUSE_BROADCAST ? by_element(&s, out) : NULL;
}

static const bt_rewriter rewriter = { .call_ = lay_out, .proj_ = rewrite_proj };

/* Whether any target may want any, and the last one can compute the transforms. */
static int are_heeded(const struct wants *w)
{
    int any = 0;
    for (uint32_t i = 0; i < w->ntarget; i++)
        any |= w->targets[i]->target->layouts != NULL;
    return any && w->targets[w->ntarget - 1]->target->reads_layouts;
}

static bt_status run_for_targets(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct wants wants = { 0 };
    if (call->targets)
        wants =
            (struct wants){ .ntarget = call->targets->n, .targets = call->targets->at };
    if (are_heeded(&wants))
        return bt_rewrite_module(ctx, call, &rewriter, &wants, out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct wants wants = { 0 };
    if (!*o->data)
        return run_for_targets(ctx, call, out);
    BT_TRY(read_layout(call->scratch, call->module->store, o->data, &wants.data));
    return wants.data ? bt_rewrite_module(ctx, call, &rewriter, &wants, out)
                      : bt_fail(ctx, BT_ERR_ATTRIBUTE,
                                "alter-layout: data is \"%s\"; a layout such as NCHW8c "
                                "or NCHW:NHWC is expected",
                                o->data);
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
            "after, with {data=NCHW8c} and dead-code\n"
            "    def @main(%x: Tensor[(1, 8, 2, 2), float32], %w: Tensor[(8, 8, 1, 1), "
            "float32],\n"
            "              %b: Tensor[(8, 1, 1), float32]) {\n"
            "        %0 = layout_transform(%x, src_layout=\"\", "
            "dst_layout=\"NCHW:NCHW8c\");\n"
            "        %1 = layout_transform(%w, src_layout=\"\", "
            "dst_layout=\"OIHW:OIHW8i8o\");\n"
            "        %2: Tensor[(1, 8, 2, 2), float32, \"NCHW:NCHW8c\"] = nn.conv2d(%0, "
            "%1);\n"
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

const bt_table bt_passes_placement_alter_layout[] = { BT_PASSES(passes), { 0 } };
