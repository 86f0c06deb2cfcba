/*
 * train-mode: a function that trains, with the operators of training in place of nn.dropout and
 * nn.batch_norm.
 *     @train takes what @main takes and, if anything is dropped, a key; each nn.dropout folds its
 *     number into it, in the order of the program. It gives what @main gives, and the new moments
 *     of each nn.batch_norm, mean and variance; moments that several calls have are moved by each
 *     of them in turn, and are one result.
 * The program is written once: @main stays, which simplify-inference is for.
 *     functions   are put where they are called if they have such operators; what calls itself,
 *                 or is used as a value, is refused, as its turns would have one key
 *     branches    may drop; moments of one that is not taken would be missing, so
 *                 nn.batch_norm in them is refused
 *     closures    are refused likewise
 * keeps    no invariant
 * options  name: of the function; key: of the parameter; momentum, unbiased: as of
 *          nn.batch_norm_training; fixed: moments that stay, and their nn.batch_norm is as at
 *          inference
 * source   PyTorch's Module.train; Keras' BatchNormalization.trainable; keys as of jax.random
 */
#include <stdio.h>
#include <string.h>

#include "common/copy.h"
#include "common/version.h"

struct options {
    const char *name, *key;
    double momentum;
    int64_t unbiased;
    bt_strings fixed;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, name, STRING, "train", "of the function"),
    BT_ATTR(struct options, key, STRING, "key", "of the parameter for the key"),
    BT_ATTR(struct options, momentum, FLOAT, "0.1", "weight of the batch in new moments"),
    BT_ATTR(struct options, unbiased, BOOL, "True",
            "new variances divide by n - 1, not by n"),
    BT_ATTR(struct options, fixed, STRINGS, "[]", "parameters that are moments and stay"),
    { 0 },
};

enum { DROPS = 1, NORMALISES = 2 };
enum { MAX_DEPTH = 64, MAX_CALLS = 1 << 16 };

/* Which of those operators are in a block, DROPS | NORMALISES, and the first of each. */
struct content {
    uint32_t has;
    const bt_value *drops, *normalises;
};

/* A mean or a variance of the entry: where it is now. */
struct moment {
    uint32_t index; /* 0: a mean */
    const bt_value *was, *now;
};

struct training {
    const bt_module *module;
    const struct options *options;
    const bt_global *entry;
    const bt_callgraph *graph;
    struct content *content; /* of each global, with what it refers to */
    struct copy copy;
    bt_map index; /* globals -> their content */
    const bt_value *key;
    uint32_t ndropped, ncall, depth;
    bt_vec(struct moment) moments;
};

/* ---- what there is ---- */

static struct content *content_of(const struct training *t, const bt_value *value)
{
    const bt_global *global = bt_module_global(t->module, value);
    return global ? bt_map_find(&t->index, global) : NULL;
}

static void join(struct content *to, const struct content *from)
{
    to->has |= from->has;
    to->drops = to->drops ? to->drops : from->drops;
    to->normalises = to->normalises ? to->normalises : from->normalises;
}

static void look_at(const struct training *t, const bt_value *value, struct content *out)
{
    const struct content own = {
        .has = bt_as_op_call(value, "nn.dropout")      ? DROPS
               : bt_as_op_call(value, "nn.batch_norm") ? NORMALISES
                                                       : 0,
        .drops = bt_as_op_call(value, "nn.dropout") ? value : NULL,
        .normalises = bt_as_op_call(value, "nn.batch_norm") ? value : NULL,
    };
    join(out, &own);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const struct content *global = content_of(t, bt_value_operand(value, i));
        if (global)
            join(out, global);
    }
}

/* Adds what a block has, and those in it. */
static bt_status look_into(const struct training *t, const bt_block *block,
                           struct content *out)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(t->copy.arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        const struct content *result = content_of(t, blocks.at[b]->result);
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++)
            look_at(t, blocks.at[b]->bindings[i], out);
        if (result)
            join(out, result);
    }
    return NULL;
}

/* What a global refers to is looked at before it, unless they refer to each other. */
static bt_status look_at_globals(struct training *t)
{
    const bt_callgraph *graph = t->graph;
    t->content = BT_NEWS(t->copy.arena, struct content, t->module->nglobal);
    if (!t->content)
        return bt_no_memory();
    for (uint32_t g = 0; g < t->module->nglobal; g++) {
        if (!bt_map_put(&t->index, t->module->globals[g], &t->content[g]))
            return bt_no_memory();
    }
    for (uint32_t component = 0; component < graph->ncomponent; component++) {
        struct content all = { 0 };
        const uint32_t first = graph->member_start[component],
                       end = graph->member_start[component + 1];
        for (uint32_t i = first; i < end; i++) {
            const bt_global *global = t->module->globals[graph->members[i]];
            if (global->kind == BT_GLOBAL_FUNC && global->func->block)
                BT_TRY(look_into(t, global->func->block, &all));
        }
        for (uint32_t i = first; i < end; i++)
            t->content[graph->members[i]] = all;
    }
    return NULL;
}

/* ---- refusing ---- */

/* Points at the operator. */
static bt_status refuse(const struct training *t, const struct content *content,
                        uint32_t has, const char *why)
{
    const bt_value *at =
        content->has & has & DROPS ? content->drops : content->normalises;
    return bt_fail_at(t->copy.ctx, BT_ERR_UNSUPPORTED, t->module->store, at->span,
                      "train-mode: %s stands in %s", bt_as_call(at)->op->name, why);
}

static bt_status check_regions(const struct training *t, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    struct content content = { 0 };
    for (uint32_t i = 0; !closure && i < bt_value_nregion(value); i++)
        BT_TRY(look_into(t, bt_value_region(value, i), &content));
    for (uint32_t i = 0; closure && i < closure->group->n; i++)
        BT_TRY(look_into(t, closure->group->at[i]->func->block, &content));
    if (closure && content.has)
        return refuse(t, &content, content.has,
                      "a closure, whose calls would all have the same key; make it a "
                      "function of the "
                      "module, def @NAME, each call of which has its own");
    if (content.has & NORMALISES)
        return refuse(t, &content, NORMALISES,
                      "a branch, and its new moments would be missing where that is not "
                      "taken; normalise before the branch or behind it");
    return NULL;
}

static bt_status check_operands(const struct training *t, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    for (uint32_t i = call && call->callee_kind == BT_CALLEE_VALUE;
         i < bt_value_noperand(value); i++) {
        const struct content *content = content_of(t, bt_value_operand(value, i));
        if (content && content->has)
            return refuse(
                t, content, content->has,
                "a function that is used as a value, whose calls would all have the same "
                "key; apply the operator to what that gives, outside of it, or call the "
                "function directly");
    }
    return NULL;
}

/* ---- operators ---- */

/* The call's attributes, as text, and more. */
static bt_status attrs_of(const struct training *t, const bt_call *call, const char *more,
                          const char **out)
{
    bt_text text;
    bt_text_init(&text, t->copy.arena);
    const int is_any = bt_attrs_print(t->copy.ctx, call->op, call->attrs, &text);
    bt_text_addf(&text, "%s%s", is_any && *more ? ", " : "", more);
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

static bt_status drop(struct training *t, const bt_call *old)
{
    struct copy *c = &t->copy;
    const bt_value *args[2], *number, *now;
    const char *attrs;
    BT_TRY(copy_operand(c, old->args[0], NULL, &args[0]));
    BT_TRY(attrs_of(t, old, "", &attrs));
    BT_TRY(bt_build_scalar(c->b, BT_INT32, t->ndropped++, &number));
    bt_builder_name(c->b, "key");
    BT_TRY(bt_build(c->b, "random.threefry_fold_in", NULL,
                    (const bt_value *[]){ t->key, number }, 2, &args[1]));
    bt_builder_like(c->b, &old->base);
    BT_TRY(bt_build(c->b, "nn.dropout_training", attrs, args, 2, &now));
    return copy_put(c, &old->base, now);
}

/* What a value has become by the calls before. Constants that are equal are one value, and
 * yet moments of several layers. */
static struct moment *moment_of(struct training *t, uint32_t index, const bt_value *was)
{
    for (uint32_t i = 0; !bt_as_const(was) && i < t->moments.len; i++) {
        if (t->moments.at[i].index == index && t->moments.at[i].was == was)
            return &t->moments.at[i];
    }
    return NULL;
}

static int is_fixed(const struct training *t, const bt_value *moment)
{
    const bt_strings *fixed = &t->options->fixed;
    for (int64_t i = 0; moment->kind == BT_VALUE_PARAM && i < fixed->n; i++) {
        if (moment->name && strcmp(moment->name, fixed->at[i]) == 0)
            return 1;
    }
    return 0;
}

/* *out: as at inference, which it is by both of its moments. */
static bt_status check_frozen(struct training *t, const bt_call *old, int *out)
{
    struct copy *c = &t->copy;
    const bt_value *mean, *variance;
    BT_TRY(copy_operand(c, old->args[3], NULL, &mean));
    BT_TRY(copy_operand(c, old->args[4], NULL, &variance));
    *out = is_fixed(t, mean);
    if (*out == is_fixed(t, variance))
        return NULL;
    return bt_fail_at(
        c->ctx, BT_ERR_ARGUMENT, t->module->store, old->base.span,
        "train-mode: %%%s is fixed and %%%s is not: nn.batch_norm moves both "
        "of its moments, or normalises by both as they are",
        *out ? mean->name : variance->name,
        (*out ? variance->name : mean->name) ? *out ? variance->name : mean->name : "_");
}

static bt_status normalise(struct training *t, const bt_call *old)
{
    struct copy *c = &t->copy;
    const bt_value *args[5], *was[2], *now;
    const char *attrs;
    char more[64];
    snprintf(more, sizeof(more), "momentum=%.17g, unbiased=%s", t->options->momentum,
             t->options->unbiased ? "True" : "False");
    BT_TRY(attrs_of(t, old, more, &attrs));
    for (uint32_t i = 0; i < 5; i++)
        BT_TRY(copy_operand(c, old->args[i], NULL, &args[i]));
    for (uint32_t i = 0; i < 2; i++) {
        const struct moment *moment = moment_of(t, i, args[3 + i]);
        was[i] = args[3 + i];
        args[3 + i] = moment ? moment->now : args[3 + i];
    }
    bt_builder_like(c->b, &old->base);
    BT_TRY(bt_build(c->b, "nn.batch_norm_training", attrs, args, 5, &now));
    BT_TRY(copy_put(c, &old->base, now));
    for (uint32_t i = 0; i < 2; i++) {
        struct moment *moment = moment_of(t, i, was[i]), next = { i, was[i], NULL };
        bt_builder_name(c->b, was[i]->name);
        BT_TRY(bt_build_proj(c->b, now, 1 + i, &next.now));
        if (moment)
            *moment = next;
        else if (!BT_PUSH(c->arena, &t->moments, next))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- calls ---- */

/* The body in place of the call. */
static bt_status put_body(struct training *t, const bt_call *call,
                          const bt_global *global)
{
    struct copy *c = &t->copy;
    const bt_func *func = global->func;
    const bt_value *result;
    if (t->depth == MAX_DEPTH || t->ncall == MAX_CALLS)
        return bt_fail_at(
            c->ctx, BT_ERR_LIMIT, c->store, call->base.span,
            "train-mode: functions call each other more than %u deep, or %u times",
            (unsigned)MAX_DEPTH, (unsigned)MAX_CALLS);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, call->narg);
    const bt_type *const *types;
    if (!args)
        return bt_no_memory();
    // all of them before any is put in place: the function may call itself through an argument
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(copy_operand(c, call->args[i], NULL, &args[i]));
    BT_TRY(copy_types(c, call->ntype_arg, call->type_args, &types));
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        BT_TRY(copy_put_type(c, func->vars[i], types[i]));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(copy_put(c, &func->block->params[i]->base, args[i]));
    t->depth++;
    t->ncall++;
    BT_TRY(copy_bindings(c, func->block, NULL, &result));
    t->depth--;
    return copy_put(c, &call->base, result);
}

static bt_status train(struct copy *c, const bt_value *old, int *done)
{
    struct training *t = c->state;
    const bt_call *call = bt_as_call(old);
    const struct content *content =
        call && call->callee_kind == BT_CALLEE_VALUE ? content_of(t, call->callee) : NULL;
    BT_TRY(check_regions(t, old));
    BT_TRY(check_operands(t, old));
    *done = 1;
    if (bt_as_op_call(old, "nn.dropout"))
        return drop(t, call);
    if (bt_as_op_call(old, "nn.batch_norm")) {
        int is_frozen;
        BT_TRY(check_frozen(t, call, &is_frozen));
        *done = !is_frozen;
        return is_frozen ? NULL : normalise(t, call);
    }
    if (content && content->has)
        return put_body(t, call, bt_module_global(t->module, call->callee));
    *done = 0;
    return NULL;
}

/* ---- the entry ---- */

/* The key stands behind the parameters, if there is one. */
static bt_status make_params(struct training *t, uint32_t has, uint32_t *n,
                             const bt_param ***out)
{
    struct copy *c = &t->copy;
    const bt_block *block = t->entry->func->block;
    const bt_param **params;
    const bt_type *two = bt_dim(c->store, 2);
    const bt_type *shape = two ? bt_type_shape(c->store, 1, &two) : NULL,
                  *dtype = bt_type_dtype(c->store, BT_UINT32);
    BT_TRY(copy_params(c, block->nparam, block->params, &params));
    *n = block->nparam + (has & DROPS ? 1 : 0);
    *out = BT_NEWS(c->arena, const bt_param *, *n);
    if (!*out || !shape || !dtype)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        (*out)[i] = params[i];
        if (has & DROPS && block->params[i]->base.name &&
            strcmp(block->params[i]->base.name, t->options->key) == 0)
            return bt_fail_at(
                c->ctx, BT_ERR_NAME, c->store, block->params[i]->base.span,
                "train-mode: there is a parameter %%%s; option key gives that of "
                "the key another name",
                t->options->key);
    }
    if (has & DROPS) {
        const bt_type *type = bt_type_tensor(c->store, shape, dtype);
        if (!type)
            return bt_no_memory();
        BT_TRY(bt_build_param(c->b, t->options->key, type, &(*out)[block->nparam]));
        t->key = &(*out)[block->nparam]->base;
    }
    return NULL;
}

/* The results that there were, and new moments behind them. */
static bt_status make_result(struct training *t, const bt_value *old,
                             const bt_value **out)
{
    struct copy *c = &t->copy;
    const bt_list_type *tuple = bt_as_tuple_type(old->type);
    const uint32_t nold = tuple ? tuple->n : 1, n = nold + t->moments.len;
    const bt_value **fields = BT_NEWS(c->arena, const bt_value *, n);
    *out = old;
    if (!fields)
        return bt_no_memory();
    if (!t->moments.len)
        return NULL;
    fields[0] = old;
    for (uint32_t i = 0; tuple && i < nold; i++)
        BT_TRY(bt_build_proj(c->b, old, i, &fields[i]));
    for (uint32_t i = 0; i < t->moments.len; i++)
        fields[nold + i] = t->moments.at[i].now;
    return bt_build_tuple(c->b, n, fields, out);
}

static bt_status fill(void *state, bt_module_builder *builder)
{
    struct training *t = state;
    struct copy *c = &t->copy;
    const bt_func *func = t->entry->func;
    const struct content *content = bt_map_find(&t->index, t->entry);
    bt_func now = *func;
    const bt_param **params;
    const bt_value *result;
    uint32_t nparam;
    BT_TRY(make_params(t, content->has, &nparam, &params));
    BT_TRY(bt_block_begin(c->b, nparam, params));
    BT_TRY(copy_bindings(c, func->block, NULL, &result));
    BT_TRY(make_result(t, result, &result));
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.name = bt_name_of(c->store, t->options->name);
    now.result = result->type;
    BT_TRY(bt_func_create(c->ctx, c->store, &now, &func));
    const bt_global global = { .name = now.name,
                               .span = func->span,
                               .kind = BT_GLOBAL_FUNC,
                               .func = func,
                               .type = bt_func_type_of(c->store, func) };
    return global.name && global.type ? bt_module_builder_set(builder, &global, 1)
                                      : bt_no_memory();
}

/* No function that trains calls itself. */
static bt_status check_loops(const struct training *t)
{
    const uint8_t *reached;
    BT_TRY(bt_callgraph_reach(t->graph, t->module, t->entry, t->copy.arena, &reached));
    for (uint32_t g = 0; g < t->module->nglobal; g++) {
        if (reached[g] && t->content[g].has &&
            t->graph->is_recursive[t->graph->component[g]])
            return refuse(
                t, &t->content[g], t->content[g].has,
                "a function that calls itself, whose turns would all have the same "
                "key; write the turns out, as calls of a function that does not, or "
                "apply "
                "the operator before or behind them");
    }
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct training t = { .module = call->module, .options = call->options };
    const void *graph;
    BT_TRY(bt_module_entry(ctx, call->module, call->entry, &t.entry));
    BT_TRY(bt_pass_analysis(ctx, call, "call-graph", &graph));
    t.graph = graph;
    BT_TRY(copy_init(&t.copy, ctx, call->scratch, call->module));
    t.copy.state = &t;
    t.copy.binding = train;
    bt_map_init(&t.index, call->scratch, 0);
    bt_status status = look_at_globals(&t);
    const struct content *content = status ? NULL : bt_map_find(&t.index, t.entry);
    if (content && content->has) {
        status = check_loops(&t);
        status = status ? status : version_next(ctx, call->module, fill, &t, out);
    } else if (!status) {
        *out = bt_module_ref(call->module);
    }
    copy_deinit(&t.copy);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "train-mode",
        .doc = "A function that trains, with dropout by a key and the moments of the "
               "batch.\n"
               "before\n"
               "    def @main(%x: Tensor[(4, 3), float32], %g: Tensor[(3), float32],\n"
               "              %m: Tensor[(3), float32], %v: Tensor[(3), float32]) {\n"
               "        %0 = nn.batch_norm(%x, %g, %g, %m, %v);\n"
               "        %1 = nn.dropout(%0.0);\n"
               "        %1.0\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(4, 3), float32], %g: Tensor[(3), float32],\n"
               "              %m: Tensor[(3), float32], %v: Tensor[(3), float32]) {\n"
               "        %0 = nn.batch_norm(%x, %g, %g, %m, %v);\n"
               "        %1 = nn.dropout(%0.0);\n"
               "        %1.0\n"
               "    }\n"
               "    def @train(%x: Tensor[(4, 3), float32], %g: Tensor[(3), float32],\n"
               "               %m: Tensor[(3), float32], %v: Tensor[(3), float32],\n"
               "               %key: Tensor[(2), uint32]) {\n"
               "        %0 = nn.batch_norm_training(%x, %g, %g, %m, %v);\n"
               "        %m_1 = %0.1;\n"
               "        %v_1 = %0.2;\n"
               "        %1 = %0.0;\n"
               "        %key_1 = random.threefry_fold_in(%key, 0);\n"
               "        %2 = nn.dropout_training(%1, %key_1);\n"
               "        %3 = %2.0;\n"
               "        (%3, %m_1, %v_1)\n"
               "    }",
        .level = 0,
        .needs = "call-graph",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_gradients_train_mode[] = { BT_PASSES(passes), { 0 } };
