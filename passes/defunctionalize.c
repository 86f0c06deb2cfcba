/*
 * defunctionalize: values of function type become values of data types.
 * Each type of functions becomes a data type with a constructor for each function that is
 * used as a value of that type, which holds what the closure held; a call of a value becomes
 * the call of a function that looks at the constructor. The program is first-order then. It
 * must be flat; types of functions, and what closures hold, must have no open dims, and data
 * types no fields of function type but by their parameters. What the program is run from
 * takes and gives no functions; other functions that do are replaced by new ones.
 * keeps    every invariant
 * source   Reynolds 1972, Definitional Interpreters; Relay's Defunctionalization
 */
#include <string.h>

#include <baton/pass.h>

#include "copy.h"
#include "flat.h"
#include "retype.h"
#include "version.h"

/* A function that is used as a value of some type. */
struct maker {
    const char *global;
    const char *name; /* of the constructor */
    uint32_t ncapture;
    const bt_type **captures; /* old types */
    const bt_ctor *ctor;
};

/* A type of functions. */
struct family {
    const bt_func_type *type;
    const char *name, *call;
    bt_adt_def *def;
    const bt_type *now;
    bt_vec(struct maker *) makers;
    bt_map by_name;
};

struct defun {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module, *declared;
    bt_map families; /* types -> struct family */
    bt_map known;    /* types -> what they become */
    bt_map taken, taken_ctors;
    bt_map renamed;  /* functions whose type changes -> their new names */
    int is_declared; /* no family is added */
    bt_span span;    /* of the function at hand */
};

static bt_status fail(const struct defun *d, bt_span span, const char *what)
{
    return bt_fail_at(d->ctx, BT_ERR_UNSUPPORTED, d->module->store, span,
                      "defunctionalize: %s", what);
}

/* ---- types ---- */

static bt_status new_family(struct defun *d, const bt_type *type, struct family **out)
{
    struct family *family = *out = BT_NEW(d->arena, struct family);
    if (type->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_BOUND) ||
        bt_as_func_type(type)->nparam)
        return fail(d, d->span,
                    "a type of functions here has open dims or type parameters; give "
                    "them numbers, or run pipeline flatten before");
    if (!family || !bt_map_put(&d->families, type, family))
        return bt_no_memory();
    family->type = bt_as_func_type(type);
    bt_map_init(&family->by_name, d->arena, 1);
    return NULL;
}

static bt_status map_type(void *state, const bt_type *type, const bt_type **out);

static struct retype retype(struct defun *d)
{
    return (struct retype){ d->ctx, d->arena, d->module->store, map_type, d };
}

static bt_status map_types(struct defun *d, uint32_t n, const bt_type *const *types,
                           const bt_type ***out)
{
    const struct retype r = retype(d);
    int same = 1;
    return retype_list(&r, n, types, out, &same);
}

/* The type of a function, whose arguments and result are mapped, not itself. first: NULL,
 * or of one more argument. */
static bt_status signature(struct defun *d, const bt_func_type *type,
                           const bt_type *first, const bt_type **out)
{
    uint32_t more = first != NULL;
    const bt_type **args = BT_NEWS(d->arena, const bt_type *, (size_t)type->narg + 1),
                  **own;
    bt_func_type fields = *type;
    if (!args)
        return bt_no_memory();
    BT_TRY(map_types(d, type->narg, type->args, &own));
    BT_TRY(map_type(d, type->result, &fields.result));
    args[0] = first;
    if (type->narg)
        memcpy(args + more, own, type->narg * sizeof(*own));
    fields.narg = type->narg + more;
    fields.args = args;
    *out = bt_type_func(d->module->store, &fields);
    return *out ? NULL : bt_store_why(d->ctx, d->module->store);
}

/* Of a value: the family's data type. Of a function that is only called: a function's. */
static bt_status map_func(struct defun *d, const bt_type *type, const bt_type **out)
{
    struct family *family = bt_map_find(&d->families, type);
    const bt_type *ignored;
    if (family && family->now) {
        *out = family->now;
        return NULL;
    }
    if (d->is_declared)
        return signature(d, bt_as_func_type(type), NULL, out);
    if (!family)
        BT_TRY(new_family(d, type, &family));
    return signature(d, family->type, NULL, &ignored);
}

/* What a type becomes; types nest at most BT_TYPE_DEPTH deep. Before the data types are
 * declared: itself, and the families are found. */
static bt_status map_type(void *state, const bt_type *type, const bt_type **out)
{
    struct defun *d = state;
    const struct retype r = retype(d);
    *out = bt_map_find(&d->known, type);
    if (*out)
        return NULL;
    *out = type;
    if (type->kind == BT_TYPE_FUNC)
        BT_TRY(map_func(d, type, out));
    else
        BT_TRY(retype_parts(&r, type, out));
    return bt_map_put(&d->known, type, (void *)(uintptr_t)*out) ? NULL : bt_no_memory();
}

static bt_status type_of_copy(struct copy *c, const bt_type *type, const bt_type **out)
{
    return map_type(c->state, type, out);
}

/* ---- which functions are values ---- */

static const char *closure_global(const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    return closure ? bt_closure_flat_call(closure)->callee->name : value->name;
}

/* What a function value of the program is made by. Closures of one function that hold
 * values of other types are told apart. */
static bt_status find_maker(struct defun *d, const bt_value *value, struct maker **out)
{
    const bt_closure_value *closure = bt_as_closure(value);
    const bt_call *call = closure ? bt_closure_flat_call(closure) : NULL;
    const bt_func_type *type = bt_as_func_type(value->type);
    struct family *family = bt_map_find(&d->families, value->type);
    const bt_type *ignored;
    if (type->nparam || (value->type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)) ||
        (call && call->ntype_arg))
        return fail(d, value->span,
                    "a function that is used as a value has open dims, or holds values "
                    "that have; give them numbers");
    if (!family) {
        BT_TRY(map_type(d, value->type, &ignored));
        family = bt_map_find(&d->families, value->type);
    }
    *out = bt_map_find(&family->by_name, closure_global(value));
    if (*out)
        return NULL;
    struct maker *maker = *out = BT_NEW(d->arena, struct maker);
    if (!maker || !BT_PUSH(d->arena, &family->makers, maker) ||
        !bt_map_put(&family->by_name, closure_global(value), maker))
        return bt_no_memory();
    maker->global = closure_global(value);
    maker->ncapture = call ? call->narg - type->narg : 0;
    maker->captures = BT_NEWS(d->arena, const bt_type *, maker->ncapture);
    if (!maker->captures)
        return bt_no_memory();
    for (uint32_t i = 0; i < maker->ncapture; i++) {
        maker->captures[i] = call->args[i]->type;
        if (call->args[i]->type->has & (BT_HAS_VAR | BT_HAS_OPAQUE))
            return fail(d, value->span,
                        "a closure holds values that have open dims; give them numbers");
        BT_TRY(map_type(d, call->args[i]->type, &ignored));
    }
    return NULL;
}

static int is_function(const bt_value *value)
{
    return value->kind == BT_VALUE_CLOSURE ||
           (value->kind == BT_VALUE_GLOBAL && bt_as_func_type(value->type));
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
        return find_maker(d, value, &maker);
    BT_TRY(map_type(d, value->type, &ignored));
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_value *operand = bt_value_operand(value, i);
        int is_callee = i == 0 && call && call->callee_kind == BT_CALLEE_VALUE;
        if (flat_is_generic(operand->type))
            return fail(d, value->span,
                        "a function with type parameters is used; run pipeline flatten "
                        "before");
        if (operand->kind == BT_VALUE_GLOBAL && is_function(operand) && !is_callee)
            BT_TRY(find_maker(d, operand, &maker));
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
    BT_TRY(map_type(d, func->result, &ignored));
    while (queue.len) {
        const bt_block *block = queue.at[--queue.len];
        struct maker *maker;
        for (uint32_t i = 0; i < block->nparam; i++)
            BT_TRY(map_type(d, block->params[i]->base.type, &ignored));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            BT_TRY(read_value(d, value));
            for (uint32_t k = 0;
                 value->kind != BT_VALUE_CLOSURE && k < bt_value_nregion(value); k++) {
                if (!BT_PUSH(d->arena, &queue, bt_value_region(value, k)))
                    return bt_no_memory();
            }
        }
        if (block->result->kind == BT_VALUE_GLOBAL && is_function(block->result))
            BT_TRY(find_maker(d, block->result, &maker));
    }
    return NULL;
}

/* Those that copies were made of are not used any more. */
static int is_left_over(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC && flat_is_generic(global->type);
}

static int is_program(const bt_global *global)
{
    return global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func) &&
           !is_left_over(global);
}

static bt_status read_all(struct defun *d)
{
    const bt_module *module = d->module;
    BT_TRY(retype_check_data(d->ctx, d->arena, module, "defunctionalize"));
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (is_program(module->globals[i]))
            BT_TRY(read_func(d, module->globals[i]->func));
    }
    return NULL;
}

/* ---- data types ---- */

static bt_status name_family(struct defun *d, struct copy *c, struct family *family)
{
    bt_text text;
    BT_TRY(copy_name(c, d->module, &d->taken_ctors, "Fn", &family->name));
    while (bt_module_find_adt(d->module, family->name))
        BT_TRY(copy_name(c, d->module, &d->taken_ctors, "Fn", &family->name));
    bt_text_init(&text, d->arena);
    bt_text_addf(&text, "call_%s", family->name);
    if (!bt_text_get(&text))
        return bt_no_memory();
    BT_TRY(copy_name(c, d->module, &d->taken, text.at, &family->call));
    for (uint32_t i = 0; i < family->makers.len; i++) {
        struct maker *maker = family->makers.at[i];
        bt_text_init(&text, d->arena);
        bt_text_addf(&text, "%s_%s", family->name, maker->global);
        if (!bt_text_get(&text))
            return bt_no_memory();
        do
            BT_TRY(copy_name(c, d->module, &d->taken_ctors, text.at, &maker->name));
        while (bt_module_find_ctor(d->module, maker->name));
    }
    return NULL;
}

static bt_status declare_family(struct defun *d, bt_module_builder *builder,
                                struct family *family)
{
    struct copy c;
    BT_TRY(copy_init(&c, d->ctx, d->arena, d->module));
    bt_status status = name_family(d, &c, family);
    copy_deinit(&c);
    BT_TRY(status);
    BT_TRY(
        bt_module_builder_declare_adt(builder, family->name, 0, 0, NULL, &family->def));
    family->now = bt_type_apply(d->module->store, family->def, 0, NULL);
    return family->now ? NULL : bt_store_why(d->ctx, d->module->store);
}

static bt_status define_family(struct defun *d, bt_module_builder *builder,
                               struct family *family)
{
    uint32_t n = family->makers.len;
    bt_ctor *ctors = BT_NEWS(d->arena, bt_ctor, n);
    if (!ctors)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct maker *maker = family->makers.at[i];
        const bt_type **fields;
        BT_TRY(map_types(d, maker->ncapture, maker->captures, &fields));
        ctors[i] =
            (bt_ctor){ .name = maker->name, .nfield = maker->ncapture, .fields = fields };
    }
    BT_TRY(bt_module_builder_define_adt(builder, family->def, n, ctors));
    for (uint32_t i = 0; i < n; i++)
        family->makers.at[i]->ctor = family->def->ctors[i];
    return NULL;
}

/* One whose type changes is another function. */
static bt_status declare_func(struct defun *d, bt_module_builder *builder,
                              const bt_global *old)
{
    bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = old->span };
    struct copy c;
    BT_TRY(signature(d, bt_as_func_type(old->type), NULL, &global.type));
    if (global.type == old->type)
        return NULL;
    BT_TRY(copy_init(&c, d->ctx, d->arena, d->module));
    bt_status status = copy_name(&c, d->module, &d->taken, old->name, &global.name);
    copy_deinit(&c);
    BT_TRY(status);
    if (!bt_map_put(&d->renamed, old->name, (void *)(uintptr_t)global.name))
        return bt_no_memory();
    bt_module_builder_remove(builder, old->name);
    return bt_module_builder_set(builder, &global, 1);
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct defun *d = state;
    for (uint32_t i = 0; i < d->families.len; i++)
        BT_TRY(declare_family(d, builder, d->families.at[i].value));
    d->is_declared = 1;
    bt_map_init(&d->known, d->arena, 0);
    for (uint32_t i = 0; i < d->families.len; i++) {
        const struct family *family = d->families.at[i].value;
        bt_global global = { .name = family->call, .kind = BT_GLOBAL_EXTERN };
        BT_TRY(define_family(d, builder, d->families.at[i].value));
        BT_TRY(signature(d, family->type, family->now, &global.type));
        BT_TRY(bt_module_builder_set(builder, &global, 1));
    }
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (is_left_over(d->module->globals[i]))
            bt_module_builder_remove(builder, d->module->globals[i]->name);
        if (is_program(d->module->globals[i]))
            BT_TRY(declare_func(d, builder, d->module->globals[i]));
    }
    return NULL;
}

/* ---- functions ---- */

static const char *name_now(const struct defun *d, const char *name)
{
    const char *now = bt_map_find(&d->renamed, name);
    return now ? now : name;
}

static bt_status make_value(struct copy *c, const bt_value *old, const bt_value **out)
{
    struct defun *d = c->state;
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_call *call = closure ? bt_closure_flat_call(closure) : NULL;
    struct maker *maker;
    BT_TRY(find_maker(d, old, &maker));
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, maker->ncapture);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < maker->ncapture; i++)
        BT_TRY(copy_operand(c, call->args[i], NULL, &args[i]));
    bt_call made = { .callee_kind = BT_CALLEE_CTOR,
                     .ctor = maker->ctor,
                     .narg = maker->ncapture,
                     .args = args };
    bt_builder_at(c->b, old->span, old->prov);
    if (closure)
        bt_builder_like(c->b, old);
    return bt_build_call(c->b, &made, out);
}

static bt_status value_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                               const bt_value **out)
{
    (void)wanted;
    if (old->kind != BT_VALUE_GLOBAL || !is_function(old))
        return NULL;
    return c->is_callee ? bt_build_global(c->b, name_now(c->state, old->name), out)
                        : make_value(c, old, out);
}

static bt_status call_value(struct copy *c, const bt_call *old, const bt_value **out)
{
    const struct defun *d = c->state;
    const struct family *family = bt_map_find(&d->families, old->callee->type);
    const bt_value **operands;
    bt_call call = *old;
    int same_facts;
    BT_TRY(copy_operands(c, &old->base, &operands, &same_facts));
    BT_TRY(bt_build_global(c->b, family->call, &call.callee));
    call.narg = old->narg + 1;
    call.args = operands;
    return copy_call(c, old, &call, same_facts, out);
}

static bt_status value_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_call *call = bt_as_call(old);
    const bt_value *now;
    *done = 1;
    if (old->kind == BT_VALUE_CLOSURE)
        BT_TRY(make_value(c, old, &now));
    else if (call && call->callee_kind == BT_CALLEE_VALUE &&
             call->callee->kind != BT_VALUE_GLOBAL)
        BT_TRY(call_value(c, call, &now));
    else
        *done = 0;
    return *done ? copy_put(c, old, now) : NULL;
}

static bt_status begin(struct defun *d, struct copy *c)
{
    BT_TRY(copy_init(c, d->ctx, d->arena, d->declared));
    c->state = d;
    c->type = type_of_copy;
    c->binding = value_binding;
    c->operand = value_operand;
    return NULL;
}

/* Name(%captures) => @function(%captures, arguments) */
static bt_status make_clause(struct copy *c, const struct maker *maker, uint32_t narg,
                             const bt_value *const *given, bt_clause *out)
{
    uint32_t n = maker->ncapture;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, n);
    const bt_pattern **at = BT_NEWS(c->arena, const bt_pattern *, n);
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, (size_t)n + narg);
    bt_pattern pattern = {
        .kind = BT_PATTERN_CTOR, .ctor = maker->ctor, .n = n, .at = at
    };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = n + narg, .args = args };
    const bt_value *result;
    if (!params || !at || !args)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(bt_build_param(c->b, NULL, maker->ctor->fields[i], &params[i]));
        bt_pattern var = { .kind = BT_PATTERN_VAR, .var = params[i] };
        if (!(at[i] = bt_pattern_create(c->store, &var)))
            return bt_no_memory();
        args[i] = &params[i]->base;
    }
    if (narg)
        memcpy(args + n, given, narg * sizeof(*given));
    if (!(out->pattern = bt_pattern_create(c->store, &pattern)))
        return bt_no_memory();
    BT_TRY(bt_block_begin(c->b, n, params));
    BT_TRY(bt_build_global(c->b, name_now(c->state, maker->global), &call.callee));
    BT_TRY(bt_build_call(c->b, &call, &result));
    return bt_block_end(c->b, result, &out->block);
}

/* No function is of the type, and a match of no clauses has none: what is never called calls
 * itself. */
static bt_status build_itself(struct copy *c, const struct family *family,
                              const bt_param *const *params, uint32_t nparam,
                              const bt_value **out)
{
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = nparam,
                     .args = (const bt_value *const *)params };
    BT_TRY(bt_build_global(c->b, family->call, &call.callee));
    return bt_build_call(c->b, &call, out);
}

static bt_status build_call(struct copy *c, const struct family *family,
                            const bt_func **out)
{
    const struct defun *d = c->state;
    const bt_func_type *type =
        bt_as_func_type(bt_module_find(d->declared, family->call)->type);
    uint32_t n = family->makers.len;
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, type->narg);
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, n);
    bt_func func = { .name = family->call, .result = type->result };
    const bt_value *result;
    if (!params || !clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(c->b, i ? NULL : "f", type->args[i], &params[i]));
    BT_TRY(bt_block_begin(c->b, type->narg, params));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(make_clause(c, family->makers.at[i], type->narg - 1,
                           (const bt_value *const *)(params + 1), &clauses[i]));
    if (n)
        BT_TRY(bt_build_match(c->b, &params[0]->base, n, clauses, NULL, &result));
    else
        BT_TRY(build_itself(c, family, params, type->narg, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* ---- the next version ---- */

static bt_status set_func(struct defun *d, bt_module_builder *builder,
                          const bt_global *like, const struct family *family)
{
    bt_global global = *like;
    struct copy c;
    BT_TRY(begin(d, &c));
    bt_func named = { 0 };
    if (!family)
        named = *like->func;
    global.name = named.name = name_now(d, like->name);
    bt_status status = family ? build_call(&c, family, &global.func)
                              : copy_func(&c, &named, &global.func);
    copy_deinit(&c);
    return status ? status
                  : version_set_func(d->ctx, d->module->store, builder, &global,
                                     global.func);
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    struct defun *d = state;
    for (uint32_t i = 0; i < d->module->nglobal; i++) {
        if (is_program(d->module->globals[i]))
            BT_TRY(set_func(d, builder, d->module->globals[i], NULL));
    }
    for (uint32_t i = 0; i < d->families.len; i++) {
        const struct family *family = d->families.at[i].value;
        BT_TRY(set_func(d, builder, bt_module_find(d->declared, family->call), family));
    }
    return NULL;
}

static bt_status check_entry(struct defun *d, const bt_pass_call *call)
{
    const bt_global *entry = call->entry ? bt_module_find(d->module, call->entry) : NULL;
    const bt_type *now;
    uint32_t before = d->families.len;
    d->span = entry ? entry->span : 0;
    if (!entry || entry->kind != BT_GLOBAL_FUNC)
        return NULL;
    const bt_func_type *type = bt_as_func_type(entry->type);
    for (uint32_t i = 0; i <= type->narg; i++)
        BT_TRY(map_type(d, i < type->narg ? type->args[i] : type->result, &now));
    return d->families.len == before
               ? NULL
               : fail(d, entry->span,
                      "what the program is run from takes or gives a function");
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct defun d = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&d.families, d.arena, 0);
    bt_map_init(&d.known, d.arena, 0);
    bt_map_init(&d.taken, d.arena, 0);
    bt_map_init(&d.taken_ctors, d.arena, 0);
    bt_map_init(&d.renamed, d.arena, 1);
    BT_TRY(check_entry(&d, call));
    BT_TRY(read_all(&d));
    if (!d.families.len) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    return version_create(ctx, d.module, declare_all, set_all, &d, &d.declared, out);
}

static const bt_pass passes[] = {
    {
        .name = "defunctionalize",
        .doc = "Values of function type become values of data types.\n"
               "before\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @apply(%f: fn (float32) -> float32, %x: float32) { %f(%x) }\n"
               "    def @main(%x: float32) { @apply(fn (%y: float32) { @add(%x, %y) }, "
               "1f) }\n"
               "after\n"
               "    type Fn { Fn_add(float32), }\n"
               "    def @add(%x: float32, %y: float32) { add(%x, %y) }\n"
               "    def @main(%x: float32) { @apply_1(Fn_add(%x), 1f) }\n"
               "    def @call_Fn(%f: Fn, %0: float32) -> float32 {\n"
               "        match (%f) { Fn_add(%1) => @add(%1, %0), }\n"
               "    }\n"
               "    def @apply_1(%f: Fn, %x: float32) { @call_Fn(%f, %x) }",
        .level = 1,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_defunctionalize[] = { BT_PASSES(passes), { 0 } };
