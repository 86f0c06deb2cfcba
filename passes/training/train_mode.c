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
 * A nn.batch_norm_training that is there moves its moments by its own attributes.
 * options  name: of the function; key: of the parameter; momentum, unbiased: as of
 *          nn.batch_norm_training, below 0 as each nn.batch_norm has it; fixed: moments that stay, and their nn.batch_norm is as at
 *          inference
 * source   PyTorch's Module.train; Keras' BatchNormalization.trainable; keys as of jax.random
 */
#include <string.h>

#include "common/version.h"
#include "training/training.h"

static const bt_attr options[] = {
    BT_ATTR(struct options, name, STRING, "train", "of the function"),
    BT_ATTR(struct options, key, STRING, "key", "of the parameter for the key"),
    BT_ATTR(
        struct options, momentum, FLOAT, "-1",
        "weight of the batch in all new moments; below 0: as each nn.batch_norm has it"),
    BT_ATTR(struct options, unbiased, BOOL, "True",
            "new variances divide by n - 1, not by n"),
    BT_ATTR(struct options, fixed, STRINGS, "[]", "parameters that are moments and stay"),
    { 0 },
};

enum { MAX_DEPTH = 64, MAX_CALLS = 1 << 16 };

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
    BT_TRY(copy_renew_dims(c, func->block));
    t->depth++;
    t->ncall++;
    BT_TRY(copy_bindings(c, func->block, NULL, &result));
    t->depth--;
    return copy_put_result(c, &call->base, result);
}

static bt_status train(struct copy *c, const bt_value *old, int *done)
{
    struct training *t = c->state;
    const bt_call *call = bt_as_call(old);
    const struct content *content = call && call->callee_kind == BT_CALLEE_VALUE
                                        ? training_content_of(t, call->callee)
                                        : NULL;
    BT_TRY(training_check_value(t, old));
    *done = 1;
    if (bt_as_op_call(old, "nn.dropout"))
        return training_drop(t, call);
    if (training_is_norm(old)) {
        int is_frozen;
        BT_TRY(training_check_frozen(t, call, &is_frozen));
        *done = !is_frozen;
        return is_frozen ? NULL : training_normalise(t, call);
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
    const bt_global global = {
        .name = now.name, .span = func->span, .kind = BT_GLOBAL_FUNC, .func = func
    };
    return global.name ? bt_module_builder_set(builder, &global, 1) : bt_no_memory();
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
    bt_status status = training_look_at_globals(&t);
    const struct content *content = status ? NULL : bt_map_find(&t.index, t.entry);
    if (content && content->has) {
        status = training_check_loops(&t);
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
const bt_table bt_passes_training_train_mode[] = { BT_PASSES(passes), { 0 } };
