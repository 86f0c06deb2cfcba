/*
 * The verifier: every invariant of a module.
 *
 *   names      globals, data types and constructors are unique, and found by name
 *   scoping    what is used is bound before, in the same block or one around it
 *   structure  each binding by its kind: verify_value.c
 *   types      there, closed, and what operands and regions give
 *   dims       those that attributes name are dims of values bound before
 *
 * Nodes may have been built by hand: nothing is relied on before it has been checked.
 */
#include "solve/verify.h"

#include <string.h>

#include <baton/op.h>

#include "ir/builder.h"
#include "ir/store.h"
#include "ir/type_match.h"
#include "ir/walk.h"

/* ---- messages ---- */

static void describe(const bt_value *value, bt_text *out)
{
    const bt_call *call = bt_as_call(value);
    if (value->name)
        bt_text_addf(out, "%%%s", value->name);
    else if (call && call->callee_kind == BT_CALLEE_OP && call->op)
        bt_text_addf(out, "a call of %s", call->op->name);
    else
        bt_text_addf(out, "a %s", bt_value_kind_name(value->kind));
}

bt_status bt__verify_fail(struct bt__verifier *v, const bt_value *value,
                          const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, v->arena);
    if (v->global)
        bt_text_addf(&text, "@%s: ", v->global->name ? v->global->name : "?");
    if (value) {
        describe(value, &text);
        bt_text_addf(&text, ": ");
    }
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *message = bt_text_get(&text);
    if (!message)
        return bt_no_memory();
    bt_span span = value ? value->span : v->global ? v->global->span : 0;
    return bt_fail_at(v->ctx, BT_ERR_VERIFY, v->store, span, "%s", message);
}

/* ---- types ---- */

struct scope_check {
    const bt_map *scope;
    uint32_t kind;        /* of the leaves that are looked for there */
    const bt_type *stray; /* one that is not in scope */
};

static const bt_type *check_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct scope_check *check = subst->state;
    if (leaf->kind == check->kind && !bt_map_find(check->scope, leaf))
        check->stray = leaf;
    return NULL;
}

bt_status bt__verify_type(struct bt__verifier *v, const bt_value *value, const char *what,
                          const bt_type *type)
{
    struct scope_check check = { .scope = &v->vars, .kind = BT_TYPE_VAR };
    bt_subst subst = { .leaf = check_leaf, .state = &check };
    if (!type)
        return bt__verify_fail(v, value, "%s has no type", what);
    if (type->store != v->store)
        return bt__verify_fail(v, value, "%s has a type of another store", what);
    if (type->has & BT_HAS_HOLE)
        return bt__verify_fail(v, value, "the type of %s is not wholly known", what);
    if (type->nloose)
        return bt__verify_fail(v, value,
                               "the type of %s mentions a parameter by position "
                               "outside its function type",
                               what);
    if (!(type->has & BT_HAS_VAR))
        return NULL;
    if (!bt_type_subst(v->store, &subst, type))
        return bt_store_why(v->ctx, v->store);
    if (check.stray) {
        const char *name = ((const bt_var_type *)(const void *)check.stray)->name;
        return bt__verify_fail(v, value,
                               "the type of %s mentions %s, which no function around it "
                               "declares",
                               what, name ? name : "a variable");
    }
    return NULL;
}

bt_status bt__verify_dims(struct bt__verifier *v, const bt_value *value, const char *what,
                          const bt_type *term)
{
    struct scope_check check = { .scope = &v->dims, .kind = BT_TYPE_OPAQUE };
    bt_subst subst = { .leaf = check_leaf, .state = &check };
    if (!(term->has & BT_HAS_OPAQUE))
        return NULL;
    if (!bt_type_subst(v->store, &subst, term))
        return bt_store_why(v->ctx, v->store);
    return check.stray ? bt__verify_fail(
                             v, value, "%s names a dim that no value before it has", what)
                       : NULL;
}

static bt_status check_value_type(struct bt__verifier *v, const bt_value *value)
{
    if (!v->module->is_typed)
        return NULL;
    BT_TRY(bt__verify_type(v, value, "it", value->type));
    if (bt_type_kind_of(value->type) != BT_KIND_TYPE)
        return bt__verify_fail(v, value, "its type has kind %s",
                               bt_kind_name(bt_type_kind_of(value->type)));
    return bt__value_births(v->ctx, v->store, value, &v->dims);
}

/* ---- operands ---- */

static uint32_t place_of(const struct bt__verifier *v, const bt_value *value)
{
    return (uint32_t)(uintptr_t)bt_map_find(&v->places, value);
}

static bt_status set_place(struct bt__verifier *v, const bt_value *value, uint32_t place)
{
    return bt_map_put(&v->places, value, (void *)(uintptr_t)place) ? NULL
                                                                   : bt_no_memory();
}

/* From here on it may be used. */
static bt_status bind(struct bt__verifier *v, const bt_value *value)
{
    if (place_of(v, value) != PLACE_UNKNOWN)
        return bt__verify_fail(v, value, "it is bound twice");
    return set_place(v, value, PLACE_VISIBLE);
}

static bt_status check_global_operand(struct bt__verifier *v, const bt_value *user,
                                      const bt_value *operand)
{
    const bt_global *global =
        operand->name ? bt_module_find(v->module, operand->name) : NULL;
    if (!global)
        return bt__verify_fail(v, user, "it uses @%s, which the module does not define",
                               operand->name ? operand->name : "?");
    if (v->module->is_typed && operand->type != global->type)
        return bt__verify_fail(v, user, "it uses @%s under another type than it has",
                               global->name);
    return NULL;
}

static bt_status check_const_operand(struct bt__verifier *v, const bt_value *user,
                                     const bt_value *operand)
{
    const bt_object *object = bt_as_const(operand)->object;
    if (!object)
        return bt__verify_fail(v, user, "it uses a constant without a value");
    const bt_type *type = bt__const_type(v->store, object);
    if (!type)
        return bt_store_why(v->ctx, v->store);
    if (type != operand->type)
        return bt__verify_fail(v, user,
                               "it uses a constant under another type than its "
                               "value has");
    return NULL;
}

static bt_status verify_operand(struct bt__verifier *v, const bt_value *user,
                                uint32_t index, const bt_value *operand)
{
    if (!operand)
        return bt__verify_fail(v, user, "operand %u is missing", index);
    if (operand->kind >= BT_VALUE_COUNT)
        return bt__verify_fail(v, user, "operand %u has kind %u, which does not exist",
                               index, operand->kind);
    if (user && operand->id >= user->id)
        return bt__verify_fail(v, user, "operand %u is younger than its user", index);
    if (operand->kind == BT_VALUE_GLOBAL)
        return check_global_operand(v, user, operand);
    if (operand->kind == BT_VALUE_CONST)
        return check_const_operand(v, user, operand);
    const char *name = operand->name ? operand->name : "_";
    switch (place_of(v, operand)) {
    case PLACE_VISIBLE: return NULL;
    case PLACE_LEFT:
        return bt__verify_fail(v, user, "it uses %%%s outside the block that binds it",
                               name);
    default:
        return bt__verify_fail(v, user, "it uses %%%s, which is not bound before it",
                               name);
    }
}

/* ---- blocks ---- */

static bt_status check_block(struct bt__verifier *, const bt_value *, const bt_block *);

static bt_status bind_params(struct bt__verifier *v, const bt_value *owner,
                             const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_param *param = block->params[i];
        if (!param || param->base.kind != BT_VALUE_PARAM)
            return bt__verify_fail(v, owner, "parameter %u is none", i);
        BT_TRY(bind(v, &param->base));
        BT_TRY(check_value_type(v, &param->base));
    }
    return NULL;
}

static bt_status leave_block(struct bt__verifier *v, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(set_place(v, &block->params[i]->base, PLACE_LEFT));
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(set_place(v, block->bindings[i], PLACE_LEFT));
    return NULL;
}

static bt_status set_vars(struct bt__verifier *v, const bt_func *func, int in_scope)
{
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_type *var = func->vars[i];
        if (!var || var->kind != BT_TYPE_VAR)
            return bt__verify_fail(v, NULL, "type parameter %u is no variable", i);
        if (in_scope && bt_map_find(&v->vars, var))
            return bt__verify_fail(v, NULL, "type parameter %u is declared twice", i);
        if (!bt_map_put(&v->vars, var, in_scope ? (void *)(uintptr_t)var : NULL))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status check_wheres(struct bt__verifier *v, const bt_value *owner,
                              const bt_func *func)
{
    for (uint32_t i = 0; i < func->nwhere; i++) {
        const bt_where *where = func->wheres[i];
        if (!where->op)
            return bt__verify_fail(v, owner, "where relation %u has no operator", i);
        for (uint32_t k = 0; k < where->ntype && v->module->is_typed; k++)
            BT_TRY(bt__verify_type(v, owner, "a where relation", where->types[k]));
    }
    return NULL;
}

/* The block's result has the stated type, but for what the call that gives it checks. */
static bt_status check_result(struct bt__verifier *v, const bt_value *owner,
                              const bt_func *func)
{
    bt__type_match m;
    BT_TRY(bt__verify_type(v, owner, "the result", func->result));
    bt__type_match_init(&m, v->arena);
    m.accepts = 1;
    m.store = v->store;
    m.call = bt_as_call(func->block->result);
    if (bt__type_matches(&m, func->result, func->block->result->type))
        return NULL;
    return m.failed ? bt_no_memory()
                    : bt__verify_fail(v, owner,
                                      "its block gives another type than its "
                                      "result is stated to have");
}

/* The function of a global (owner NULL) or of a closure. */
static bt_status check_func(struct bt__verifier *v, const bt_value *owner,
                            const bt_func *func)
{
    if (!func || !func->block)
        return bt__verify_fail(v, owner, "it has no body");
    BT_TRY(set_vars(v, func, 1));
    BT_TRY(check_wheres(v, owner, func));
    bt__promises promises;
    const bt__promises *outer = v->promises;
    BT_TRY(bt__promises_init(&promises, v->arena, func, outer));
    v->promises = &promises;
    BT_TRY(check_block(v, owner, func->block));
    v->promises = outer;
    if (v->module->is_typed) {
        BT_TRY(check_result(v, owner, func));
        const bt_type *type = bt_func_type_of(v->store, func);
        if (!type)
            return bt_store_why(v->ctx, v->store);
        if (type != (owner ? owner->type : v->global->type))
            return bt__verify_fail(v, owner, "its type is not that of its function");
    }
    return set_vars(v, func, 0);
}

/* Members stand one after another, in the group's order. */
static bt_status bind_group(struct bt__verifier *v, const bt_block *block, uint32_t start)
{
    const bt_value *first = block->bindings[start];
    const bt_closure_group *group = bt_as_closure(first)->group;
    if (!group || group->n == 0)
        return bt__verify_fail(v, first, "it belongs to no group");
    for (uint32_t i = 0; i < group->n; i++) {
        if (start + i >= block->nbinding ||
            block->bindings[start + i] != &group->at[i]->base ||
            group->at[i]->group != group)
            return bt__verify_fail(v, first,
                                   "the closures of its group do not stand one "
                                   "after another");
        BT_TRY(bind(v, block->bindings[start + i]));
        BT_TRY(check_value_type(v, block->bindings[start + i]));
    }
    return NULL;
}

static bt_status check_binding(struct bt__verifier *v, const bt_value *value)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(verify_operand(v, value, i, bt_value_operand(value, i)));
    BT_TRY(bt__verify_value(v, value));
    BT_TRY(check_value_type(v, value));
    if (value->kind == BT_VALUE_CLOSURE)
        return check_func(v, value, bt_as_closure(value)->func);
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(check_block(v, value, bt_value_region(value, i)));
    return v->module->is_typed ? bt__verify_derived(v, value) : NULL;
}

static bt_status check_bindings(struct bt__verifier *v, const bt_value *owner,
                                const bt_block *block)
{
    uint32_t bound = 0; /* by the group at hand */
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (!bt_value_is_binding(value))
            return bt__verify_fail(v, owner, "binding %u is %s", i,
                                   value ? "an operand" : "missing");
        if (value->kind == BT_VALUE_CLOSURE && i >= bound) {
            BT_TRY(bind_group(v, block, i));
            bound = i + bt_as_closure(value)->group->n;
        }
        BT_TRY(check_binding(v, value));
        if (value->kind != BT_VALUE_CLOSURE)
            BT_TRY(bind(v, value));
    }
    return NULL;
}

static bt_status check_block(struct bt__verifier *v, const bt_value *owner,
                             const bt_block *block)
{
    uint32_t limit = bt_ctx_limits(v->ctx)->depth;
    if (!block)
        return bt__verify_fail(v, owner, "a block is missing");
    if (v->depth >= limit)
        return bt__verify_fail(v, owner, "blocks are nested deeper than %u", limit);
    v->depth++;
    BT_TRY(bind_params(v, owner, block));
    BT_TRY(check_bindings(v, owner, block));
    v->depth--;
    if (!block->result)
        return bt__verify_fail(v, owner, "a block has no result");
    BT_TRY(verify_operand(v, NULL, 0, block->result));
    return leave_block(v, block);
}

/* ---- globals ---- */

static bt_status check_gradient(struct bt__verifier *v, const bt_global *global)
{
    const bt_global *func = bt_module_primal(v->module, global);
    if (!func || (func->kind != BT_GLOBAL_FUNC && func->kind != BT_GLOBAL_EXTERN))
        return bt__verify_fail(v, NULL,
                               "it is a gradient of @%s, which is no function of the "
                               "module, nor a gradient of one",
                               global->primal ? global->primal : "?");
    const bt_global *primal = bt_module_find(v->module, global->primal);
    if (!v->module->is_typed)
        return NULL;
    const bt_type *type;
    bt_status status = bt_gradient_type(v->ctx, v->store, global, primal->type, &type);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    if (status)
        return bt__verify_fail(v, NULL, "its type does not follow: %s", status->message);
    return type == global->type
               ? NULL
               : bt__verify_fail(v, NULL, "its type is not what the type of @%s gives it",
                                 primal->name);
}

static bt_status check_global(struct bt__verifier *v, const bt_global *global)
{
    if (v->module->is_typed)
        BT_TRY(bt__verify_type(v, NULL, "it", global->type));
    switch (global->kind) {
    case BT_GLOBAL_FUNC: return check_func(v, NULL, global->func);
    case BT_GLOBAL_CONST:
        if (!bt_as_const(global->value))
            return bt__verify_fail(v, NULL, "it has no value");
        return check_const_operand(v, NULL, global->value);
    case BT_GLOBAL_EXTERN: return NULL;
    case BT_GLOBAL_GRADIENT: return check_gradient(v, global);
    default:
        return bt__verify_fail(v, NULL, "it has kind %u, which does not exist",
                               global->kind);
    }
}

static bt_status check_adt(struct bt__verifier *v, const bt_adt_def *adt)
{
    if (!adt || !adt->name)
        return bt__verify_fail(v, NULL, "a data type has no name");
    if (bt_module_find_adt(v->module, adt->name) != adt)
        return bt__verify_fail(v, NULL, "data type %s is defined twice", adt->name);
    for (uint32_t i = 0; i < adt->nctor; i++) {
        const bt_ctor *ctor = adt->ctors[i];
        if (ctor->adt != adt || ctor->tag != i)
            return bt__verify_fail(v, NULL,
                                   "constructor %s does not know that it is number %u of "
                                   "data type %s",
                                   ctor->name ? ctor->name : "?", i, adt->name);
        if (!ctor->name || bt_module_find_ctor(v->module, ctor->name) != ctor)
            return bt__verify_fail(v, NULL, "constructor %s of %s is defined twice",
                                   ctor->name ? ctor->name : "?", adt->name);
        for (uint32_t k = 0; k < ctor->nfield; k++) {
            if (!ctor->fields[k] || ctor->fields[k]->store != v->store)
                return bt__verify_fail(v, NULL, "field %u of %s has no type of the store",
                                       k, ctor->name);
        }
    }
    return NULL;
}

static bt_status check_module(struct bt__verifier *v)
{
    const bt_module *module = v->module;
    for (uint32_t i = 0; i < module->nadt; i++)
        BT_TRY(check_adt(v, module->adts[i]));
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const void *mark = bt_arena_mark(v->arena);
        v->global = module->globals[i];
        if (!v->global || !v->global->name)
            return bt__verify_fail(v, NULL, "global %u has no name", i);
        if (bt_module_find(module, v->global->name) != v->global)
            return bt__verify_fail(v, NULL, "it is defined twice");
        bt_map_init(&v->places, v->arena, 0);
        bt_map_init(&v->vars, v->arena, 0);
        bt_map_init(&v->dims, v->arena, 0);
        BT_TRY(check_global(v, v->global));
        bt_arena_release(v->arena, mark);
    }
    return NULL;
}

bt_status bt_verify(bt_ctx *ctx, const bt_module *module)
{
    struct bt__verifier v = {
        .ctx = ctx,
        .store = module->store,
        .module = module,
        .arena = bt_arena_create(bt_ctx_registry(ctx)),
    };
    if (!v.arena)
        return bt_no_memory();
    uint32_t nlack = v.store->nlack;
    bt_status status = check_module(&v);
    bt_arena_destroy(v.arena);
    return bt__store_lacked(v.store, nlack, status);
}
