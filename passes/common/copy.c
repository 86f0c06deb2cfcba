#include "common/copy.h"

#include <string.h>

bt_status copy_init(struct copy *c, bt_ctx *ctx, bt_arena *arena, const bt_module *module)
{
    *c = (struct copy){ .ctx = ctx, .store = module->store, .arena = arena };
    bt_map_init(&c->values, arena, 0);
    bt_map_init(&c->types, arena, 0);
    return bt_builder_create(ctx, module->store, module, &c->b);
}

void copy_deinit(struct copy *c)
{
    bt_builder_destroy(c->b);
}

bt_status copy_put(struct copy *c, const bt_value *old, const bt_value *now)
{
    return bt_map_put(&c->values, old, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

bt_status copy_put_type(struct copy *c, const bt_type *old, const bt_type *now)
{
    return bt_map_put(&c->types, old, (void *)(uintptr_t)now) ? NULL : bt_no_memory();
}

/* ---- operands ---- */

static bt_status map_global(struct copy *c, const bt_value *old, const bt_value **out)
{
    BT_TRY(bt_build_global(c->b, old->name, out));
    if ((*out)->type == old->type)
        *out = old;
    return NULL;
}

bt_status copy_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                       const bt_value **out)
{
    *out = bt_map_find(&c->values, old);
    if (*out)
        return NULL;
    if (c->operand)
        BT_TRY(c->operand(c, old, wanted, out));
    if (*out)
        return NULL;
    if (old->kind == BT_VALUE_GLOBAL)
        return map_global(c, old, out);
    if (old->kind == BT_VALUE_CONST) {
        *out = old;
        return NULL;
    }
    return bt_fail_at(c->ctx, BT_ERR_INTERNAL, c->store, old->span,
                      "a pass copies a use of %%%s, but not what it is",
                      old->name ? old->name : "_");
}

static int is_polymorphic(const bt_type *type)
{
    const bt_func_type *func = type ? bt_as_func_type(type) : NULL;
    return func && func->nparam;
}

/* The type of a constructor's field in a call of it. */
static bt_status field_type(struct copy *c, const bt_call *call, uint32_t index,
                            const bt_type **out)
{
    const bt_adt_def *def = call->ctor->adt;
    const bt_list_type *apply = bt_as_apply_type(call->base.type);
    *out = call->ctor->fields[index];
    if (!apply || apply->n != def->nvar + 1)
        return NULL;
    *out = bt_ctor_field_type(c->store, call->ctor, index, apply->at + 1);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

bt_status copy_wanted(struct copy *c, const bt_value *user, uint32_t index,
                      const bt_type **out)
{
    const bt_call *call = bt_as_call(user);
    *out = NULL;
    if (!call || call->callee_kind == BT_CALLEE_OP)
        return NULL;
    if (call->callee_kind == BT_CALLEE_CTOR)
        return field_type(c, call, index, out);
    const bt_func_type *func = bt_as_func_type(call->callee->type);
    if (index == 0 || !func || call->ntype_arg != func->nparam)
        return NULL;
    if (func->nparam && !(func = bt_func_type_open(c->store, func, call->type_args)))
        return bt_store_why(c->ctx, c->store);
    *out = func->args[index - 1];
    return NULL;
}

/* Those from `first` on. */
static bt_status some_operands(struct copy *c, const bt_value *old, uint32_t first,
                               const bt_value ***out, int *same_facts)
{
    uint32_t n = bt_value_noperand(old) - first;
    const bt_value **now = *out = BT_NEWS(c->arena, const bt_value *, n);
    *same_facts = 1;
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *operand = bt_value_operand(old, first + i);
        const bt_type *wanted = NULL, *type;
        if (is_polymorphic(operand->type))
            BT_TRY(copy_wanted(c, old, first + i, &wanted));
        c->is_callee = first + i == 0 && bt_as_call(old) &&
                       bt_as_call(old)->callee_kind == BT_CALLEE_VALUE;
        BT_TRY(copy_operand(c, operand, wanted, &now[i]));
        c->is_callee = 0;
        BT_TRY(copy_type(c, operand->type, &type));
        // what takes a function of given types is given one
        *same_facts &= now[i]->type == type || wanted;
    }
    return NULL;
}

bt_status copy_operands(struct copy *c, const bt_value *old, const bt_value ***out,
                        int *same_facts)
{
    return some_operands(c, old, 0, out, same_facts);
}

bt_status copy_args(struct copy *c, const bt_call *call, const bt_value ***out,
                    int *same_facts)
{
    return some_operands(c, &call->base, call->callee_kind == BT_CALLEE_VALUE, out,
                         same_facts);
}

/* ---- calls ---- */

static bt_status copy_checks(struct copy *c, const bt_call *call, bt_call *now, int *same)
{
    bt_check *checks = BT_NEWS(c->arena, bt_check, call->ncheck);
    if (!checks)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->ncheck; i++) {
        checks[i] = call->checks[i];
        BT_TRY(copy_type(c, call->checks[i].left, &checks[i].left));
        BT_TRY(copy_type(c, call->checks[i].right, &checks[i].right));
        // it may be proved, or refuted, for the dims that it is about now
        *same &= checks[i].left == call->checks[i].left &&
                 checks[i].right == call->checks[i].right;
    }
    now->ncheck = call->ncheck;
    now->checks = checks;
    now->contents = call->contents;
    if (!call->contents)
        return NULL;
    bt_contents *contents = BT_NEW(c->arena, bt_contents);
    if (!contents)
        return bt_no_memory();
    contents->n = call->contents->n;
    now->contents = contents;
    return copy_types(c, contents->n, call->contents->dims, &contents->dims);
}

/* Whether the terms are variables that stay variables: then what was known of them is
 * known, and no more. */
static int only_renames(const struct copy *c)
{
    for (uint32_t i = 0; i < c->types.len; i++) {
        const bt_type *now = c->types.at[i].value;
        if (now->kind != BT_TYPE_VAR && now->kind != BT_TYPE_OPAQUE)
            return 0;
    }
    return 1;
}

bt_status copy_call_as(struct copy *c, const bt_call *like, const bt_call *fields,
                       const bt_type *type, const bt_value **out)
{
    bt_call call = *fields;
    int same = 1;
    BT_TRY(copy_checks(c, like, &call, &same));
    call.contents = NULL; // of what `like` gives
    bt_builder_like(c->b, &like->base);
    bt_builder_name(c->b, NULL);
    bt_builder_type(c->b, type);
    return bt_build_call(c->b, &call, out);
}

bt_status copy_call(struct copy *c, const bt_call *like, const bt_call *fields,
                    int same_facts, const bt_value **out)
{
    bt_call call = *fields;
    const bt_type *type;
    int same = 1;
    BT_TRY(copy_checks(c, like, &call, &same));
    BT_TRY(copy_type(c, like->base.type, &type));
    bt_builder_like(c->b, &like->base);
    if (same_facts && (same || only_renames(c)))
        bt_builder_type(c->b, type);
    else
        bt_builder_layout(c->b, bt_type_layout(type));
    return bt_build_call(c->b, &call, out);
}

static bt_status call_again(struct copy *c, const bt_call *old, const bt_value **operands,
                            int same_facts, const bt_value **out)
{
    bt_call call = *old;
    if (call.callee_kind == BT_CALLEE_VALUE)
        call.callee = *operands++;
    call.args = operands;
    BT_TRY(copy_attrs(c, old->op, old->attrs, &call.attrs));
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    same_facts &= !c->infers || call.callee_kind != BT_CALLEE_OP;
    return copy_call(c, old, &call, same_facts, out);
}

/* ---- blocks ---- */

bt_status copy_params(struct copy *c, uint32_t n, const bt_param *const *params,
                      const bt_param ***out)
{
    const bt_param **now = *out = BT_NEWS(c->arena, const bt_param *, n);
    if (!now)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *old = &params[i]->base;
        const bt_type *type;
        BT_TRY(copy_type(c, old->type, &type));
        bt_builder_like(c->b, old);
        BT_TRY(bt_build_param(c->b, old->name, type, &now[i]));
        BT_TRY(copy_put(c, old, &now[i]->base));
    }
    bt_builder_name(c->b, NULL);
    return NULL;
}

static bt_status copy_regions(struct copy *c, const bt_value *old,
                              const bt_block ***regions, int *same_facts)
{
    uint32_t n = bt_value_nregion(old);
    *regions = BT_NEWS(c->arena, const bt_block *, n);
    if (!*regions)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_block *region = bt_value_region(old, i);
        const bt_type *type;
        BT_TRY(copy_block(c, region, old->type, &(*regions)[i]));
        BT_TRY(copy_type(c, region->result->type, &type));
        *same_facts &= (*regions)[i]->result->type == type;
    }
    return NULL;
}

static bt_status value_again(struct copy *c, const bt_value *old, const bt_value **out)
{
    const bt_value **operands;
    const bt_block **regions;
    const bt_type *type;
    int same_facts;
    BT_TRY(copy_operands(c, old, &operands, &same_facts));
    if (bt_as_call(old))
        return call_again(c, bt_as_call(old), operands, same_facts, out);
    BT_TRY(copy_regions(c, old, &regions, &same_facts));
    BT_TRY(copy_type(c, old->type, &type));
    bt_builder_like(c->b, old);
    if (same_facts)
        bt_builder_type(c->b, type);
    // bt_build_again gives the old one where its operands are constants
    if (old->kind == BT_VALUE_TUPLE)
        return bt_build_tuple(c->b, bt_as_tuple(old)->nfield, operands, out);
    if (old->kind == BT_VALUE_REF)
        return bt_build_ref(c->b, operands[0], out);
    return bt_build_again(c->b, old, operands, regions, same_facts ? type : NULL, out);
}

bt_status copy_binding(struct copy *c, const bt_value *old)
{
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_value *now;
    int done = 0;
    if (closure && closure->group->at[0] != closure)
        return NULL;
    if (c->binding)
        BT_TRY(c->binding(c, old, &done));
    if (done)
        return NULL;
    if (closure)
        return copy_group(c, closure->group);
    BT_TRY(value_again(c, old, &now));
    return copy_put(c, old, now);
}

bt_status copy_bindings(struct copy *c, const bt_block *block, const bt_type *wanted,
                        const bt_value **result)
{
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(copy_binding(c, block->bindings[i]));
    return copy_operand(c, block->result, wanted, result);
}

bt_status copy_block(struct copy *c, const bt_block *block, const bt_type *wanted,
                     const bt_block **out)
{
    const bt_param **params;
    const bt_value *result;
    BT_TRY(copy_params(c, block->nparam, block->params, &params));
    BT_TRY(bt_block_begin(c->b, block->nparam, params));
    BT_TRY(copy_bindings(c, block, wanted, &result));
    return bt_block_end(c->b, result, out);
}

static bt_status pattern_again(struct copy *c, const bt_pattern *old,
                               const bt_block *block, uint32_t *next,
                               const bt_pattern **out)
{
    bt_pattern now = *old;
    const bt_pattern **at = BT_NEWS(c->arena, const bt_pattern *, old->n);
    if (!at)
        return bt_no_memory();
    if (old->kind == BT_PATTERN_VAR)
        now.var = block->params[(*next)++];
    for (uint32_t i = 0; i < old->n; i++)
        BT_TRY(pattern_again(c, old->at[i], block, next, &at[i]));
    now.at = at;
    *out = bt_pattern_create(c->store, &now);
    return *out ? NULL : bt_no_memory();
}

bt_status copy_pattern(struct copy *c, const bt_pattern *old, const bt_block *block,
                       const bt_pattern **out)
{
    uint32_t next = 0;
    return pattern_again(c, old, block, &next, out);
}

bt_status copy_branch(struct copy *c, const bt_value *old, const bt_value *on,
                      const bt_block *const *blocks, const bt_value **out)
{
    const bt_match *match = bt_as_match(old);
    if (!match)
        return bt_build_if(c->b, on, blocks[0], blocks[1], out);
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, match->nclause);
    if (!clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < match->nclause; i++) {
        clauses[i].block = blocks[i];
        BT_TRY(
            copy_pattern(c, match->clauses[i]->pattern, blocks[i], &clauses[i].pattern));
    }
    return bt_build_match(c->b, on, match->nclause, clauses, match->otherwise, out);
}

bt_status copy_func(struct copy *c, const bt_func *func, const bt_func **out)
{
    bt_func now = *func;
    BT_TRY(copy_type(c, func->result, &now.result));
    BT_TRY(copy_block(c, func->block, func->result, &now.block));
    return bt_func_create(c->ctx, c->store, &now, out);
}
