/* Prepares functions for the machine: slots, captures, last uses, tail calls,
 * computations. */
#include "code.h"

#include <string.h>

#include "check.h"

/* A block being prepared, and the slots that it owns. */
struct scope {
    uint32_t step; /* being prepared */
    bt_vec(struct place *) places;
};

/* Where a value of the function lives. */
struct place {
    uint32_t slot;
    struct scope *owner;
    uint32_t last; /* step of the owner that reads it last */
};

/* The captures of a closure group, found while its members are prepared. */
struct captures {
    const bt_closure_group *members;
    struct group *group;
    uint32_t cap;
    bt_map indices; /* value -> uint32_t */
};

/* A function being prepared. */
struct frame {
    struct bytecode *bytecode;
    struct frame *outer;       /* the function whose block holds this closure */
    struct captures *captures; /* NULL for a global */
    bt_map places;             /* value -> struct place */
    struct scope *scope;
    uint32_t nslot;
    uint32_t is_open;
    bt_arena *scratch;
};

static bt_status prepare_block(bt_ctx *, struct frame *, const bt_block *, int is_tail,
                               struct block *out);
static bt_status find_operand(bt_ctx *, struct frame *, const bt_value *,
                              struct operand *out);

static bt_status add_place(struct frame *f, const bt_value *value, uint32_t *out)
{
    struct place *place = BT_NEW(f->scratch, struct place);
    if (!place || !bt_map_put(&f->places, value, place) ||
        !BT_PUSH(f->scratch, &f->scope->places, place))
        return bt_no_memory();
    if (value->type->has & (BT_HAS_VAR | BT_HAS_OPAQUE))
        f->is_open = 1;
    *place =
        (struct place){ .slot = f->nslot, .owner = f->scope, .last = f->scope->step };
    *out = f->nslot++;
    return NULL;
}

static bt_status add_capture(struct frame *f, const bt_value *value, uint32_t *out)
{
    struct captures *captures = f->captures;
    struct group *group = captures->group;
    uint32_t *index = BT_NEW(f->scratch, uint32_t);
    if (!index || !bt_map_put(&captures->indices, value, index) ||
        !bt_vec_reserve(f->bytecode->arena, (void **)&group->captures, &captures->cap,
                        group->ncapture, sizeof(*group->captures)))
        return bt_no_memory();
    group->captures[group->ncapture] = value;
    *out = *index = group->ncapture++;
    return NULL;
}

/* An operand that the function's own blocks do not define: a member of its group, or
 * captured from around it. */
static bt_status find_outer(bt_ctx *ctx, struct frame *f, const bt_value *value,
                            struct operand *out)
{
    if (!f->captures) {
        return bt_fail_at(ctx, BT_ERR_INTERNAL, f->bytecode->module->store, value->span,
                          "a value is used outside the block that binds it");
    }
    const bt_closure_group *members = f->captures->members;
    for (uint32_t i = 0; i < members->n; i++) {
        if (&members->at[i]->base == value) {
            *out = (struct operand){ .from = FROM_GROUP, .index = i };
            return NULL;
        }
    }
    const uint32_t *known = bt_map_find(&f->captures->indices, value);
    uint32_t index = known ? *known : 0;
    if (!known)
        BT_TRY(add_capture(f, value, &index));
    *out = (struct operand){ .from = FROM_CAPTURE, .index = index };
    return NULL;
}

static bt_status find_global(bt_ctx *ctx, struct frame *f, const bt_value *value,
                             struct operand *out)
{
    const bt_module *module = f->bytecode->module;
    const bt_global *global = bt_module_find(module, value->name);
    if (!global)
        return bt_fail_at(ctx, BT_ERR_NAME, module->store, value->span,
                          "@%s is not defined", value->name);
    if (global->kind == BT_GLOBAL_CONST)
        return find_operand(ctx, f, global->value, out);
    *out = (struct operand){ .from = FROM_GLOBAL, .global = global };
    return NULL;
}

static bt_status find_operand(bt_ctx *ctx, struct frame *f, const bt_value *value,
                              struct operand *out)
{
    if (value->kind == BT_VALUE_CONST) {
        *out =
            (struct operand){ .from = FROM_OBJECT, .object = bt_as_const(value)->object };
        return NULL;
    }
    if (value->kind == BT_VALUE_GLOBAL)
        return find_global(ctx, f, value, out);
    struct place *place = bt_map_find(&f->places, value);
    if (!place)
        return find_outer(ctx, f, value, out);
    if (place->last < place->owner->step)
        place->last = place->owner->step;
    *out = (struct operand){ .from = FROM_SLOT, .index = place->slot };
    return NULL;
}

/* ---- closures ---- */

static bt_status prepare_code(bt_ctx *ctx, struct bytecode *bytecode, struct frame *outer,
                              struct captures *captures, const bt_func *func,
                              struct code **out)
{
    bt_arena *scratch = outer ? outer->scratch : bt_ctx_scratch(ctx);
    // a variable may stand in type arguments only
    struct frame f = { .bytecode = bytecode,
                       .outer = outer,
                       .captures = captures,
                       .is_open = func->nvar != 0,
                       .scratch = scratch };
    bt_map_init(&f.places, scratch, 0);
    struct code *code = BT_NEW(bytecode->arena, struct code);
    if (!code)
        return bt_no_memory();
    code->func = func;
    code->group = captures ? captures->group : NULL;
    BT_TRY(prepare_block(ctx, &f, func->block, 1, &code->block));
    code->nslot = f.nslot;
    code->is_open = f.is_open;
    if (outer && f.is_open)
        outer->is_open = 1;
    *out = code;
    return NULL;
}

static bt_status prepare_group(bt_ctx *ctx, struct frame *f,
                               const bt_closure_group *members, struct group **out)
{
    struct bytecode *bytecode = f->bytecode;
    struct group *group = BT_NEW(bytecode->arena, struct group);
    struct captures captures = { .members = members, .group = group };
    if (!group || !(group->codes = BT_NEWS(bytecode->arena, struct code *, members->n)))
        return bt_no_memory();
    bt_map_init(&captures.indices, f->scratch, 0);
    group->ncode = members->n;
    for (uint32_t i = 0; i < members->n; i++)
        BT_TRY(prepare_code(ctx, bytecode, f, &captures, members->at[i]->func,
                            &group->codes[i]));
    *out = group;
    return NULL;
}

/* Every member reads the captures for itself, so that what they capture lives until the
 * last is made. */
static bt_status prepare_closure(bt_ctx *ctx, struct frame *f,
                                 const bt_closure_value *closure, struct step *step)
{
    while (closure->group->at[step->member] != closure)
        step->member++;
    if (step->member == 0)
        BT_TRY(prepare_group(ctx, f, closure->group, &step->group));
    else
        step->group = (step - 1)->group;
    step->noperand = step->group->ncapture;
    step->operands = BT_NEWS(f->bytecode->arena, struct operand, step->noperand);
    if (!step->operands)
        return bt_no_memory();
    for (uint32_t i = 0; i < step->noperand; i++)
        BT_TRY(find_operand(ctx, f, step->group->captures[i], &step->operands[i]));
    return NULL;
}

/* ---- operators ---- */

static int is_settled(const bt_type *type)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (tensor) {
        const bt_shape_type *shape = bt_as_shape_type(tensor->shape);
        return shape && !shape->rest && tensor->dtype->kind == BT_TYPE_DTYPE;
    }
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        return 0;
    for (uint32_t i = 0; i < tuple->n; i++) {
        const bt_tensor_type *field = bt_as_tensor_type(tuple->at[i]);
        const bt_shape_type *shape = field ? bt_as_shape_type(field->shape) : NULL;
        if (!shape || shape->rest || field->dtype->kind != BT_TYPE_DTYPE)
            return 0;
    }
    return 1;
}

/* Attributes that mention dims of the program are only known at run time. */
static int has_open_attrs(const bt_op *op, const void *attrs)
{
    for (const bt_attr *row = op->attrs; row && row->name; row++) {
        if (row->kind < BT_ATTR_DTYPE || row->kind > BT_ATTR_TYPE)
            continue;
        const bt_type *term;
        memcpy(&term, (const char *)attrs + row->offset, sizeof(term));
        if (term && term->has)
            return 1;
    }
    return 0;
}

static bt_status prepare_op(bt_ctx *ctx, struct frame *f, const bt_call *call,
                            struct step *step)
{
    struct bytecode *bytecode = f->bytecode;
    int settled = is_settled(call->base.type) && !has_open_attrs(call->op, call->attrs);
    for (uint32_t i = 0; i < call->narg; i++)
        settled = settled && is_settled(call->args[i]->type);
    if (!settled)
        return NULL;
    bt_formula_call formula;
    BT_TRY(bt_call_formula(f->scratch, call, &formula));
    bt_status status = bt_compute_create(ctx, &formula, &step->compute);
    if (status)
        return bt_note(ctx, status, bytecode->module->store, call->base.span,
                       "in this call of %s", call->op->name);
    if (!BT_PUSH(bytecode->arena, &bytecode->computes, step->compute)) {
        bt_compute_destroy(step->compute);
        return bt_no_memory();
    }
    return NULL;
}

/* ---- blocks ---- */

static bt_status prepare_step(bt_ctx *ctx, struct frame *f, const bt_value *value,
                              int is_tail, struct step *step)
{
    bt_arena *arena = f->bytecode->arena;
    step->value = value;
    step->is_tail = (uint32_t)is_tail;
    if (value->kind == BT_VALUE_CLOSURE) {
        BT_TRY(prepare_closure(ctx, f, bt_as_closure(value), step));
        return add_place(f, value, &step->slot);
    }
    step->noperand = bt_value_noperand(value);
    step->operands = BT_NEWS(arena, struct operand, step->noperand);
    step->nblock = bt_value_nregion(value);
    step->blocks = BT_NEWS(arena, struct block, step->nblock);
    if (!step->operands || !step->blocks)
        return bt_no_memory();
    for (uint32_t i = 0; i < step->noperand; i++)
        BT_TRY(find_operand(ctx, f, bt_value_operand(value, i), &step->operands[i]));
    for (uint32_t i = 0; i < step->nblock; i++)
        BT_TRY(
            prepare_block(ctx, f, bt_value_region(value, i), is_tail, &step->blocks[i]));
    const bt_call *call = bt_as_call(value);
    step->is_late = call && bt_call_checks_result(call);
    step->holds = call && call->contents ? call : NULL;
    if (call && call->callee_kind == BT_CALLEE_OP)
        BT_TRY(prepare_op(ctx, f, call, step));
    return add_place(f, value, &step->slot);
}

/* Writes behind each step which slots of this block nobody reads later; those of the
 * result stay. */
static bt_status prepare_dead(struct frame *f, const struct scope *scope,
                              struct block *block)
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < scope->places.len; i++) {
            const struct place *place = scope->places.at[i];
            if (place->last >= block->nstep)
                continue;
            struct step *step = &block->steps[place->last];
            if (pass)
                step->dead[step->ndead] = place->slot;
            step->ndead++;
        }
        for (uint32_t i = 0; pass == 0 && i < block->nstep; i++) {
            struct step *step = &block->steps[i];
            step->dead = BT_NEWS(f->bytecode->arena, uint32_t, step->ndead);
            if (!step->dead)
                return bt_no_memory();
            step->ndead = 0;
        }
    }
    return NULL;
}

static bt_status prepare_block(bt_ctx *ctx, struct frame *f, const bt_block *source,
                               int is_tail, struct block *out)
{
    bt_arena *arena = f->bytecode->arena;
    struct scope *outer = f->scope, scope = { 0 };
    f->scope = &scope;
    out->nparam = source->nparam;
    out->params = BT_NEWS(arena, uint32_t, source->nparam);
    out->nstep = source->nbinding;
    out->steps = BT_NEWS(arena, struct step, source->nbinding);
    if (!out->params || !out->steps)
        return bt_no_memory();
    for (uint32_t i = 0; i < source->nparam; i++)
        BT_TRY(add_place(f, &source->params[i]->base, &out->params[i]));
    for (scope.step = 0; scope.step < source->nbinding; scope.step++) {
        const bt_value *value = source->bindings[scope.step];
        int ends =
            is_tail && scope.step + 1 == source->nbinding && source->result == value;
        BT_TRY(prepare_step(ctx, f, value, ends, &out->steps[scope.step]));
    }
    BT_TRY(find_operand(ctx, f, source->result, &out->result));
    BT_TRY(prepare_dead(f, &scope, out));
    f->scope = outer;
    return NULL;
}

/* ---- programs ---- */

bt_status bytecode_create(bt_ctx *ctx, const bt_module *module, struct bytecode **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct bytecode *bytecode = bt_alloc(registry, sizeof(*bytecode));
    bt_arena *arena = bt_arena_create(registry);
    bt_tuple *identity = NULL;
    if (!bytecode || !arena || bt_tuple_create(ctx, 0, NULL, &identity)) {
        bt_arena_destroy(arena);
        bt_free(registry, bytecode, sizeof(*bytecode));
        return bt_no_memory();
    }
    *bytecode = (struct bytecode){ .registry = bt_registry_ref(registry),
                                   .module = bt_module_ref(module),
                                   .arena = arena,
                                   .identity = identity };
    bt_map_init(&bytecode->globals, arena, 1);
    *out = bytecode;
    return NULL;
}

void bytecode_destroy(struct bytecode *bytecode)
{
    bt_registry *registry = bytecode->registry;
    for (uint32_t i = 0; i < bytecode->computes.len; i++)
        bt_compute_destroy(bytecode->computes.at[i]);
    bt_object_unref(&bytecode->identity->base);
    bt_module_unref(bytecode->module);
    bt_arena_destroy(bytecode->arena);
    bt_free(registry, bytecode, sizeof(*bytecode));
    bt_registry_unref(registry);
}

bt_status bytecode_code(bt_ctx *ctx, struct bytecode *bytecode, const bt_global *global,
                        const struct code **out)
{
    struct code *code = bt_map_find(&bytecode->globals, global->name);
    if (!code) {
        if (global->kind != BT_GLOBAL_FUNC)
            return bt_global_fail(ctx, bytecode->module, global);
        bt_arena *scratch = bt_ctx_scratch(ctx);
        const void *mark = bt_arena_mark(scratch);
        bt_status status = prepare_code(ctx, bytecode, NULL, NULL, global->func, &code);
        bt_arena_release(scratch, mark);
        BT_TRY(status);
        if (!bt_map_put(&bytecode->globals, global->name, code))
            return bt_no_memory();
    }
    *out = code;
    return NULL;
}
