/*
 * lift-parameters: a model as a function of what it learns.
 *     before   def @main(%x) { nn.bias_add(nn.dense(%x, const[..]), const[..]) }
 *     after    def @train.model(%x, %dense.weight, %bias_add.bias) { .. }
 *              @train.initial.dense.weight = const[..], ...
 * Constants of floats with an axis become parameters behind those of the entry, each with a
 * global of the value that it had; what is fixed stays, and so do operands of stop_gradient and of
 * what nothing uses. The moments of each nn.batch_norm
 * (and nn.batch_norm_training) become parameters of their own, even where constants of several layers are equal: they move
 * with the batches (train-mode). The entry is left as it was.
 * keeps    no invariant
 * option   fixed  parameters that stay constants
 */
#include <string.h>

#include <baton/pass.h>

#include "common/names.h"

struct options {
    bt_strings fixed;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, fixed, STRINGS, "[]", "parameters that stay constants"),
    { 0 },
};

/* A constant that is learned. */
struct lifted {
    const bt_value *constant;
    const char *name;
    const bt_param *param;
};

struct lift {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_global *entry;
    const struct options *options;
    bt_map live;  /* bindings that the result or what it does may need */
    bt_map of;    /* object of a constant -> 1 + its place in `all`, or STAYS */
    bt_map names; /* taken: of all constants, and of the entry's parameters */
    /* Means and variances: calls of nn.batch_norm, and globals that several of these
     * have -> 1 + place in `all`. */
    bt_map moments[2];
    bt_vec(struct lifted) all;
};

enum { STAYS = UINT32_MAX };

/* ---- which constants ---- */

static const char *input_name(const bt_call *call, uint32_t index)
{
    const bt_op *op = call ? call->op : NULL;
    if (!op || !op->inputs)
        return "value";
    for (uint32_t i = 0; i <= index && op->inputs[i].name; i++) {
        if (i == index)
            return op->inputs[i].name;
    }
    return "value";
}

/* Moments are not learned by descent, and equal ones of two layers are not the same. */
static int is_moment(const bt_value *user, uint32_t index)
{
    return index >= 3 && (bt_as_op_call(user, "nn.batch_norm") ||
                          bt_as_op_call(user, "nn.batch_norm_training"));
}

static const bt_const *float_constant(const struct lift *l, const bt_value *operand)
{
    const bt_const *constant = bt_as_const(bt_module_constant(l->module, operand));
    const bt_tensor *t = constant ? bt_const_tensor(&constant->base) : NULL;
    return t && t->dtype == BT_FLOAT32 && t->rank ? constant : NULL;
}

static bt_status new_name(struct lift *l, const bt_value *operand, const bt_value *user,
                          uint32_t index, const char **out)
{
    const bt_call *call = bt_as_call(user);
    bt_text text;
    for (uint32_t n = 0;; n++) {
        bt_text_init(&text, l->arena);
        if (operand->name)
            bt_text_addf(&text, "%s", operand->name);
        else
            bt_text_addf(&text, "%s.%s",
                         user->name         ? user->name
                         : call && call->op ? call->op->name
                                            : "constant",
                         input_name(call, index));
        if (n)
            bt_text_addf(&text, "_%u", n);
        if (!bt_text_get(&text))
            return bt_no_memory();
        if (!bt_map_find(&l->names, text.at))
            break;
    }
    *out = text.at;
    return bt_map_put(&l->names, text.at, l) ? NULL : bt_no_memory();
}

static bt_status add_row(struct lift *l, const struct lifted *row, uintptr_t *place)
{
    *place = l->all.len + 1;
    return BT_PUSH(l->arena, &l->all, *row) ? NULL : bt_no_memory();
}

/* A parameter of each call, or of each global that calls name. */
static bt_status look_at_moment(struct lift *l, const bt_value *user, uint32_t index,
                                const bt_const *constant)
{
    const bt_value *operand = bt_value_operand(user, index);
    const bt_global *global = bt_module_global(l->module, operand);
    bt_map *places = &l->moments[index - 3];
    struct lifted row = { .constant = &constant->base };
    uintptr_t place = global ? (uintptr_t)bt_map_find(places, global) : 0;
    if (!place) {
        BT_TRY(new_name(l, operand, user, index, &row.name));
        BT_TRY(add_row(l, &row, &place));
        if (global && !bt_map_put(places, global, (void *)place))
            return bt_no_memory();
    }
    return bt_map_put(places, user, (void *)place) ? NULL : bt_no_memory();
}

static bt_status look_at_operand(struct lift *l, const bt_value *user, uint32_t index)
{
    const bt_value *operand = bt_value_operand(user, index);
    const bt_const *constant = float_constant(l, operand);
    uintptr_t place = STAYS;
    if (constant && is_moment(user, index))
        return look_at_moment(l, user, index, constant);
    if (!constant || bt_map_find(&l->of, constant->object))
        return NULL;
    const int is_callee = bt_as_call(user) && !bt_as_call(user)->op;
    struct lifted row = { .constant = &constant->base };
    BT_TRY(new_name(l, operand, user, index - (uint32_t)(is_callee && index), &row.name));
    if (!name_is_in(&l->options->fixed, row.name))
        BT_TRY(add_row(l, &row, &place));
    return bt_map_put(&l->of, constant->object, (void *)place) ? NULL : bt_no_memory();
}

/* Operands of calls that are only there for what follows from them belong to those. */
static int is_root(const bt_value *binding)
{
    const bt_call *call = bt_as_call(binding);
    return call ? !call->op || call->op->effects
                : !bt_as_tuple(binding) && !bt_as_proj(binding);
}

/* Importers leave calls of which they know what they give, so that nothing uses them. */
static bt_status find_live(struct lift *l, const bt_blocks *blocks)
{
    bt_vec(const bt_value *) queue = { 0 };
    for (uint32_t b = 0; b < blocks->len; b++) {
        const bt_block *block = blocks->at[b];
        if (!BT_PUSH(l->arena, &queue, block->result))
            return bt_no_memory();
        for (uint32_t i = 0; i < block->nbinding; i++) {
            if (is_root(block->bindings[i]) &&
                !BT_PUSH(l->arena, &queue, block->bindings[i]))
                return bt_no_memory();
        }
    }
    while (queue.len) {
        const bt_value *value = queue.at[--queue.len];
        if (bt_map_find(&l->live, value))
            continue;
        if (!bt_map_put(&l->live, value, l))
            return bt_no_memory();
        for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
            if (!BT_PUSH(l->arena, &queue, bt_value_operand(value, i)))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status find_constants(struct lift *l)
{
    const bt_func *func = l->entry->func;
    bt_blocks blocks = { 0 };
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        const char *name = func->block->params[i]->base.name;
        if (name && !bt_map_put(&l->names, name, l))
            return bt_no_memory();
    }
    BT_TRY(bt_block_nested(l->arena, func->block, &blocks));
    BT_TRY(find_live(l, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
            const bt_value *user = blocks.at[b]->bindings[i];
            if (!bt_map_find(&l->live, user) || bt_as_op_call(user, "stop_gradient"))
                continue;
            for (uint32_t k = 0; k < bt_value_noperand(user); k++)
                BT_TRY(look_at_operand(l, user, k));
        }
    }
    return NULL;
}

/* "; did you mean w?", or where none is near ": it has w, v, ..": constants and parameters. */
static const char *known_names(const struct lift *l, const char *name)
{
    enum { SHOWN = 8 };
    const uint32_t n = l->names.len;
    const char **known = BT_NEWS(l->arena, const char *, n + 1);
    bt_text text;
    for (uint32_t i = 0; known && i < n; i++)
        known[i] = l->names.at[i].key;
    const char *near = known ? bt_nearest(l->arena, name, known) : "";
    if (!known || !n || *near)
        return near;
    bt_text_init(&text, l->arena);
    for (uint32_t i = 0; i < n && i < SHOWN; i++)
        bt_text_addf(&text, i ? ", %s" : ": it has %s", known[i]);
    bt_text_addf(&text, n > SHOWN ? ", .." : "");
    return bt_text_get(&text) ? text.at : "";
}

static bt_status check_fixed(const struct lift *l)
{
    for (int64_t i = 0; i < l->options->fixed.n; i++) {
        if (!bt_map_find(&l->names, l->options->fixed.at[i]))
            return bt_fail_at(l->ctx, BT_ERR_NAME, l->module->store, l->entry->span,
                              "@%s has no constant %s that could stay one, and no such "
                              "parameter%s",
                              l->entry->name, l->options->fixed.at[i],
                              known_names(l, l->options->fixed.at[i]));
    }
    return NULL;
}

/* ---- the function of all of them ---- */

/* def @train.model(%x, %dense.weight) { @main(%x) } */
static bt_status build_stub(struct lift *l, bt_builder *b, bt_global *out)
{
    const bt_func *old = l->entry->func;
    const uint32_t nold = old->block->nparam, n = nold + l->all.len;
    const bt_param **params = BT_NEWS(l->arena, const bt_param *, n);
    const bt_value **args = BT_NEWS(l->arena, const bt_value *, nold);
    bt_func fields = { .name = "train.model",
                       .span = old->span,
                       .nvar = old->nvar,
                       .vars = old->vars,
                       .nwhere = old->nwhere,
                       .wheres = old->wheres,
                       .attrs = old->attrs };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = nold,
                     .args = args,
                     .ntype_arg = old->nvar,
                     .type_args = old->vars };
    const bt_value *result;
    if (!params || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *like =
            i < nold ? &old->block->params[i]->base : l->all.at[i - nold].constant;
        const char *name = i < nold ? like->name : l->all.at[i - nold].name;
        BT_TRY(bt_build_param(b, name ? name : "x", like->type, &params[i]));
        if (i < nold)
            args[i] = &params[i]->base;
        else
            l->all.at[i - nold].param = params[i];
    }
    BT_TRY(bt_block_begin(b, n, params));
    BT_TRY(bt_build_global(b, l->entry->name, &call.callee));
    BT_TRY(bt_build_call(b, &call, &result));
    BT_TRY(bt_block_end(b, result, &fields.block));
    fields.result = result->type;
    *out = (bt_global){ .name = fields.name, .kind = BT_GLOBAL_FUNC, .span = old->span };
    return bt_func_create(l->ctx, l->module->store, &fields, &out->func);
}

static bt_status add_initial(struct lift *l, bt_module_builder *to)
{
    bt_text name;
    for (uint32_t i = 0; i < l->all.len; i++) {
        const struct lifted *row = &l->all.at[i];
        bt_text_init(&name, l->arena);
        bt_text_addf(&name, "train.initial.%s", row->name);
        if (!bt_text_get(&name))
            return bt_no_memory();
        BT_TRY(bt_module_builder_set(to,
                                     &(bt_global){ .name = name.at,
                                                   .kind = BT_GLOBAL_CONST,
                                                   .type = row->constant->type,
                                                   .value = row->constant },
                                     1));
    }
    return NULL;
}

static bt_status add_stub(struct lift *l, bt_module **out)
{
    bt_builder *b;
    bt_module_builder *to;
    bt_global stub;
    BT_TRY(bt_builder_create(l->ctx, l->module->store, l->module, &b));
    bt_status status = build_stub(l, b, &stub);
    bt_builder_destroy(b);
    if (status)
        return status;
    BT_TRY(bt_module_builder_create(l->ctx, l->module->store, l->module, &to));
    status = bt_module_builder_set(to, &stub, 1);
    if (!status)
        status = add_initial(l, to);
    if (!status)
        return bt_module_builder_finish(to, 1, out);
    bt_module_builder_destroy(to);
    return status;
}

/* ---- the entry in it, with parameters in place of constants ---- */

static int wants_stub(bt_rewrite *r, const bt_global *global)
{
    (void)r;
    return strcmp(global->name, "train.model") == 0;
}

static const struct lifted *find_lifted(const struct lift *l, const bt_value *user,
                                        uint32_t index)
{
    const bt_const *constant = float_constant(l, bt_value_operand(user, index));
    uintptr_t place = 0;
    if (constant && is_moment(user, index))
        place = (uintptr_t)bt_map_find(&l->moments[index - 3], user);
    else if (constant)
        place = (uintptr_t)bt_map_find(&l->of, constant->object);
    return place && place != STAYS ? &l->all.at[place - 1] : NULL;
}

static bt_status lift_operands(bt_rewrite *r, const bt_value *old, const bt_value **out)
{
    struct lift *l = bt_rewrite_state(r);
    const uint32_t n = bt_value_noperand(old);
    const bt_value **operands = BT_NEWS(l->arena, const bt_value *, n);
    int has_any = 0;
    if (!operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct lifted *row = find_lifted(l, old, i);
        has_any |= row != NULL;
        if (row)
            operands[i] = &row->param->base;
        else
            BT_TRY(bt_rewrite_operand(r, bt_value_operand(old, i), &operands[i]));
    }
    return has_any ? bt_build_again(bt_rewrite_builder(r), old, operands, NULL, old->type,
                                    out)
                   : NULL;
}

static bt_status lift_binding(bt_rewrite *r, const bt_value *old, const bt_value **out)
{
    return bt_value_nregion(old) ? NULL : lift_operands(r, old, out);
}

static bt_status lift_call(bt_rewrite *r, const bt_call *old, const bt_value **out)
{
    struct lift *l = bt_rewrite_state(r);
    const bt_global *global = bt_call_global(l->module, old);
    if (global != l->entry)
        return lift_operands(r, &old->base, out);
    const bt_value **args = BT_NEWS(l->arena, const bt_value *, old->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++)
        BT_TRY(bt_rewrite_operand(r, old->args[i], &args[i]));
    return bt_rewrite_inline_func(r, l->entry->func, old->ntype_arg, old->type_args,
                                  old->narg, args, out);
}

static const bt_rewriter rewriter = { .call_ = lift_call,
                                      .any = lift_binding,
                                      .wants = wants_stub };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct lift l = { .ctx = ctx,
                      .arena = call->scratch,
                      .module = call->module,
                      .options = call->options };
    bt_pass_call next = *call;
    bt_module *with_stub;
    bt_map_init(&l.live, l.arena, 0);
    bt_map_init(&l.of, l.arena, 0);
    bt_map_init(&l.names, l.arena, 1);
    bt_map_init(&l.moments[0], l.arena, 0);
    bt_map_init(&l.moments[1], l.arena, 0);
    BT_TRY(bt_module_entry(ctx, call->module, call->entry, &l.entry));
    if (l.entry->kind != BT_GLOBAL_FUNC || bt_module_find(call->module, "train.model")) {
        *out = bt_module_ref(call->module); // nothing to lift, or it is done
        return NULL;
    }
    BT_TRY(find_constants(&l));
    BT_TRY(check_fixed(&l));
    BT_TRY(add_stub(&l, &with_stub));
    next.module = with_stub;
    bt_status status = bt_rewrite_module(ctx, &next, &rewriter, &l, out);
    bt_module_unref(with_stub);
    return status;
}

static const bt_pass passes[] = {
    {
        .name = "lift-parameters",
        .doc = "Makes a model a function of what it learns: its constants of floats.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        %fc = nn.dense(%x, const[(2, 2), float32]{1, 2, 3, 4});\n"
               "        tanh(%fc)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(1, 2), float32]) {\n"
               "        %fc = nn.dense(%x, const[(2, 2), float32]{1, 2, 3, 4});\n"
               "        tanh(%fc)\n"
               "    }\n"
               "    def @train.model(%x: Tensor[(1, 2), float32], %fc.weight: Tensor[(2, "
               "2), "
               "float32]) -> Tensor[(1, 2), float32] {\n"
               "        %fc = nn.dense(%x, %fc.weight);\n"
               "        tanh(%fc)\n"
               "    }\n"
               "    const @train.initial.fc.weight = const[(2, 2), float32]{1, 2, 3, 4};",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};
const bt_table bt_passes_training_lift_parameters[] = { BT_PASSES(passes), { 0 } };
