/* The functions that are used as values, by type: families and their makers. */
#include <string.h>

#include "common/retype.h"
#include "common/vars.h"
#include "language/families.h"
#include "language/families_dims.h"

static bt_status fail(const struct defun *d, bt_span span, const char *what)
{
    return bt_fail_at(d->ctx, BT_ERR_UNSUPPORTED, d->module->store, span,
                      "defunctionalize: %s", what);
}

/* ---- types ---- */

static bt_status new_family(struct defun *d, const bt_type *type, struct family **out)
{
    struct family *family = *out = BT_NEW(d->arena, struct family);
    const struct dims_map m = families_map(d);
    const bt_type *erased;
    BT_TRY(dims_erase(&m, type, &erased));
    if (erased->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_BOUND) ||
        bt_as_func_type(type)->nparam)
        return fail(d, d->span,
                    "a type of functions here has type parameters, or tensors of any "
                    "rank; state types for them, or run pipeline flatten before");
    if (!family || !bt_map_put(&d->families, type, family))
        return bt_no_memory();
    family->type = bt_as_func_type(type);
    bt_map_init(&family->by_name, d->arena, 1);
    return NULL;
}

static struct retype retype(struct defun *d)
{
    return (struct retype){ d->ctx, d->arena, d->module->store, families_type, d };
}

bt_status families_types(struct defun *d, uint32_t n, const bt_type *const *types,
                         const bt_type ***out)
{
    const struct retype r = retype(d);
    int same = 1;
    return retype_list(&r, n, types, out, &same);
}

bt_status families_signature(struct defun *d, const bt_func_type *type,
                             const bt_type **out)
{
    const bt_type *const *vars, **args, *result;
    const bt_func_type *open;
    *out = &type->base;
    BT_TRY(families_named(d, type, &vars, &open));
    BT_TRY(families_types(d, open->narg, open->args, &args));
    BT_TRY(families_type(d, open->result, &result));
    int same = result == open->result;
    for (uint32_t i = 0; i < open->narg; i++)
        same &= args[i] == open->args[i];
    if (same)
        return NULL;
    *out = bt_func_type_close(d->module->store, type->nparam, vars, open->narg, args,
                              result, open->nwhere, open->wheres);
    return *out ? NULL : bt_store_why(d->ctx, d->module->store);
}

/* Of a value: the family's data type. Of a function that is only called: a function's. */
static bt_status map_func(struct defun *d, const bt_type *type, const bt_type **out)
{
    struct family *family = bt_map_find(&d->families, type);
    const struct dims_map m = families_map(d);
    const bt_type *ignored, *const *dims;
    if (!family && d->united.len) {
        BT_TRY(dims_erase(&m, type, &ignored));
        family = bt_map_find(&d->united, ignored);
    }
    if (family && family->now) {
        BT_TRY(families_dims(d, family, type, &dims));
        *out = bt_type_apply(d->module->store, family->def, family->dims.nvar, dims);
        return *out ? NULL : bt_store_why(d->ctx, d->module->store);
    }
    if (d->is_declared)
        return families_signature(d, bt_as_func_type(type), out);
    if (!family)
        BT_TRY(new_family(d, type, &family));
    return families_signature(d, family->type, &ignored);
}

/* An instance of a data type, which may hold functions in its fields. */
static bt_status map_data(struct defun *d, const bt_type *type, const bt_type **out)
{
    const struct retype r = retype(d);
    if (!d->is_declared)
        BT_TRY(families_hold(d, type));
    else
        BT_TRY(families_held_type(d, type, out));
    return *out == type ? retype_parts(&r, type, out) : NULL;
}

bt_status families_type(void *state, const bt_type *type, const bt_type **out)
{
    struct defun *d = state;
    const struct retype r = retype(d);
    *out = bt_map_find(&d->known, type);
    if (*out)
        return NULL;
    *out = type;
    if (type->kind == BT_TYPE_FUNC)
        BT_TRY(map_func(d, type, out));
    else if (type->kind == BT_TYPE_APPLY)
        BT_TRY(map_data(d, type, out));
    else
        BT_TRY(retype_parts(&r, type, out));
    return bt_map_put(&d->known, type, (void *)(uintptr_t)*out) ? NULL : bt_no_memory();
}

/* ---- which functions are values ---- */

static const char *closure_global(const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    return closure ? bt_closure_flat_call(closure)->callee->name : value->name;
}

bt_status families_maker(struct defun *d, const bt_value *value, const bt_type *type,
                         struct maker **out)
{
    const bt_closure_value *closure = bt_as_closure(value);
    const bt_call *call = closure ? bt_closure_flat_call(closure) : NULL;
    struct family *family = bt_map_find(&d->families, type);
    const bt_type *ignored;
    if (bt_as_func_type(type)->nparam)
        return fail(d, value->span,
                    "a function with type parameters is used as a value; write a "
                    "function that calls it, fn (%x: Tensor[(4), float32]) { @f(%x) }");
    if (!family) {
        BT_TRY(families_type(d, type, &ignored));
        family = bt_map_find(&d->families, type);
    }
    if (!family)
        return bt_fail_at(
            d->ctx, BT_ERR_INTERNAL, d->module->store, value->span,
            "defunctionalize: a type of functions came up when all were found");
    *out = bt_map_find(&family->by_name, closure_global(value));
    if (*out)
        return NULL;
    struct maker *maker = *out = BT_NEW(d->arena, struct maker);
    if (!maker || !BT_PUSH(d->arena, &family->makers, maker) ||
        !bt_map_put(&family->by_name, closure_global(value), maker))
        return bt_no_memory();
    maker->global = closure_global(value);
    maker->ncapture = call ? call->narg - bt_as_func_type(type)->narg : 0;
    return NULL;
}

int families_is_function(const bt_value *value)
{
    return value->kind == BT_VALUE_CLOSURE ||
           (value->kind == BT_VALUE_GLOBAL && bt_as_func_type(value->type));
}

/* A function of the module where a value is wanted, perhaps of one instance of its type. */
static bt_status read_global(struct defun *d, const bt_value *user, uint32_t index)
{
    struct copy c = { .ctx = d->ctx, .store = d->module->store, .arena = d->arena };
    const bt_value *operand = bt_value_operand(user, index);
    const bt_type *wanted = NULL;
    struct maker *maker;
    if (bt_as_func_type(operand->type)->nparam)
        BT_TRY(copy_wanted(&c, user, index, &wanted));
    return families_maker(d, operand, wanted ? wanted : operand->type, &maker);
}

static bt_status read_value(struct defun *d, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    struct maker *maker;
    const bt_type *ignored;
    if (value->kind == BT_VALUE_CLOSURE && !bt_closure_flat_call(bt_as_closure(value)))
        return fail(d, value->span,
                    "a closure does more than to call a function; run pipeline flatten "
                    "before");
    if (value->kind == BT_VALUE_CLOSURE)
        return families_maker(d, value, value->type, &maker);
    BT_TRY(families_type(d, value->type, &ignored));
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_value *operand = bt_value_operand(value, i);
        int is_callee = i == 0 && call && call->callee_kind == BT_CALLEE_VALUE;
        if (vars_are_generic(operand->type))
            return fail(d, value->span,
                        "a function with type parameters is used; run pipeline flatten "
                        "before");
        if (operand->kind == BT_VALUE_GLOBAL && families_is_function(operand) &&
            !is_callee)
            BT_TRY(read_global(d, value, i));
    }
    return NULL;
}

/* Nested blocks by a queue; closures' own are calls only. */
static bt_status read_func(struct defun *d, const bt_func *func)
{
    bt_vec(const bt_block *) queue = { 0 };
    const bt_type *ignored;
    d->span = func->span;
    if (!BT_PUSH(d->arena, &queue, func->block))
        return bt_no_memory();
    BT_TRY(families_type(d, func->result, &ignored));
    while (queue.len) {
        const bt_block *block = queue.at[--queue.len];
        struct maker *maker;
        for (uint32_t i = 0; i < block->nparam; i++)
            BT_TRY(families_type(d, block->params[i]->base.type, &ignored));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            BT_TRY(read_value(d, value));
            for (uint32_t k = 0;
                 value->kind != BT_VALUE_CLOSURE && k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(d->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
        if (block->result->kind == BT_VALUE_GLOBAL && families_is_function(block->result))
            BT_TRY(families_maker(d, block->result, block->result->type, &maker));
    }
    return NULL;
}

int families_is_left_over(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC && vars_are_generic(global->type);
}

int families_is_program(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func) &&
           !families_is_left_over(global);
}

int families_is_gradient(const bt_global *global)
{
    return global->kind == BT_GLOBAL_GRADIENT && !vars_are_generic(global->type);
}

static bt_status read_all(struct defun *d)
{
    const bt_module *module = d->module;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (families_is_program(module->globals[i]))
            BT_TRY(read_func(d, module->globals[i]->func));
    }
    return NULL;
}

static bt_status check_entry(struct defun *d, const char *name)
{
    const bt_global *entry = name ? bt_module_find(d->module, name) : NULL;
    const bt_type *now;
    uint32_t before = d->families.len;
    d->span = entry ? entry->span : 0;
    if (!entry || entry->kind != BT_GLOBAL_FUNC)
        return NULL;
    const bt_func_type *type = bt_as_func_type(entry->type);
    for (uint32_t i = 0; i <= type->narg; i++)
        BT_TRY(families_type(d, i < type->narg ? type->args[i] : type->result, &now));
    return d->families.len == before
               ? NULL
               : fail(d, entry->span,
                      "what the program is run from takes or gives a function");
}

bt_status families_find(struct defun *d, const char *entry)
{
    BT_TRY(check_entry(d, entry));
    BT_TRY(read_all(d));
    BT_TRY(families_hold_all(d));
    return families_unite(d);
}
