/*
 * sccp: sparse conditional constant propagation, over branches and functions.
 * A value is a constant where all ways to it that can be taken give the same one: a side of
 * a branch counts once its condition may choose it, a function once it may be called, and a
 * parameter is what all calls pass that may run. Functions that are used as values may be
 * called with anything; so may the entry, and where it is not known which function that
 * is (baton opt --entry), every global. A primitive function stays as it was made.
 * Of a value that one tuple or one call of a constructor makes, the fields are known so far
 * as theirs are: weights in a data type are constants in the clauses that take them out.
 * What is constant becomes a constant operand; the branches on it are left to
 * simplify-control-flow. Unlike in fold-constant, an iteration of a loop may assume what the
 * one before gave.
 * needs    effects
 * keeps    every invariant
 * option   max-bytes   largest constant to compute with, default 1024
 * source   Wegman, Zadeck 1991
 */
#include <string.h>

#include "common/evaluate.h"

struct options {
    int64_t max_bytes;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bytes, INT, "1024", 0, INT64_MAX,
                  "largest constant to compute with"),
    { 0 },
};

/* A function, global or a closure's. */
struct unit {
    const bt_func *func;
    uint32_t is_open; /* it may be called with anything */
    bt_vec(const bt_call *) calls;
};

/* A value: what it is known to be, and what depends on it. */
struct cell {
    const bt_value *value;
    const bt_block *home; /* that binds it; NULL: a constant, a global */
    /* NULL: nothing reached it yet; `varies`; a constant; the binding that makes it, a tuple
     * or the call of a constructor, whose fields are what its operands are known to be. */
    const bt_value *now;
    bt_vec(const bt_value *)
        users;              /* bindings, also the owners of blocks it is the result of */
    struct unit *result_of; /* NULL: of no function */
    bt_map opened; /* bindings whose fields it depends on; room from the first on */
};

static const bt_value varies = { 0 };

struct sccp {
    const bt_module *module;
    bt_arena *arena;
    bt_builder *builder;
    const bt_effects *effects;
    int64_t max_bytes;
    int has_flow;
    bt_map cells;                     /* value -> struct cell */
    bt_map units;                     /* bt_func -> struct unit */
    bt_map live;                      /* blocks that may run -> not NULL */
    bt_vec(const bt_block *) blocks;  /* live, to be walked */
    bt_vec(const bt_value *) changed; /* bindings to be computed anew */
};

/* ---- what there is ---- */

static struct cell *cell_of(struct sccp *s, const bt_value *value)
{
    struct cell *cell = bt_map_find(&s->cells, value);
    if (cell)
        return cell;
    cell = BT_NEW(s->arena, struct cell);
    if (!cell || !bt_map_put(&s->cells, value, cell))
        return NULL;
    cell->value = value;
    return cell;
}

/* The function that a callee is, where it is in sight. */
static struct unit *unit_of(const struct sccp *s, const bt_value *callee)
{
    const bt_closure_value *closure = bt_as_closure(callee);
    const bt_global *global = bt_module_global(s->module, callee);
    const bt_func *func = closure ? closure->func : global ? global->func : NULL;
    return func ? bt_map_find(&s->units, func) : NULL;
}

static void open_unit(const struct sccp *s, const bt_value *used)
{
    struct unit *unit = unit_of(s, used);
    if (unit)
        unit->is_open = 1;
}

static bt_status add_unit(struct sccp *s, const bt_func *func, int is_open)
{
    struct unit *unit = BT_NEW(s->arena, struct unit);
    if (!unit || !bt_map_put(&s->units, func, unit))
        return bt_no_memory();
    unit->func = func;
    unit->is_open = (uint32_t)is_open || bt_func_is_primitive(func);
    return NULL;
}

static bt_status set_home(struct sccp *s, const bt_value *value, const bt_block *block)
{
    struct cell *cell = cell_of(s, value);
    if (!cell)
        return bt_no_memory();
    cell->home = block;
    return NULL;
}

static bt_status add_user(struct sccp *s, const bt_value *used, const bt_value *user)
{
    struct cell *cell = cell_of(s, used);
    return cell && BT_PUSH(s->arena, &cell->users, user) ? NULL : bt_no_memory();
}

/* Functions in attributes are called by the operator. */
static void open_attrs(struct sccp *s, const bt_call *call)
{
    const bt_value *used;
    if (call->callee_kind != BT_CALLEE_OP || !call->op->attrs || !call->attrs)
        return;
    for (const bt_attr *row = call->op->attrs; row->name; row++) {
        if (row->kind != BT_ATTR_FUNC)
            continue;
        memcpy(&used, (const char *)call->attrs + row->offset, sizeof(used));
        open_unit(s, used);
    }
}

/* Who uses what; a function that is anything but a callee is a value. */
static bt_status learn_binding(struct sccp *s, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    uint32_t first = call && call->callee_kind == BT_CALLEE_VALUE;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        if (i >= first)
            open_unit(s, bt_value_operand(value, i));
        BT_TRY(add_user(s, bt_value_operand(value, i), value));
    }
    if (call)
        open_attrs(s, call);
    for (uint32_t i = 0; value->kind != BT_VALUE_CLOSURE && i < bt_value_nregion(value);
         i++) {
        open_unit(s, bt_value_region(value, i)->result);
        BT_TRY(add_user(s, bt_value_region(value, i)->result, value));
    }
    struct unit *callee = first ? unit_of(s, call->callee) : NULL;
    return !callee || BT_PUSH(s->arena, &callee->calls, call) ? NULL : bt_no_memory();
}

typedef bt_status visit(struct sccp *, const bt_block *, const bt_value *);

/* Every binding of a function, those of nested blocks behind those around; NULL for the
 * blocks themselves. */
static bt_status walk(struct sccp *s, const bt_block *block, visit *meet)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(s->arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        block = blocks.at[b];
        BT_TRY(meet(s, block, NULL));
        for (uint32_t i = 0; i < block->nbinding; i++)
            BT_TRY(meet(s, block, block->bindings[i]));
    }
    return NULL;
}

static bt_status find_units(struct sccp *s, const bt_block *block, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    for (uint32_t i = 0; !value && i < block->nparam; i++)
        BT_TRY(set_home(s, &block->params[i]->base, block));
    if (value)
        BT_TRY(set_home(s, value, block));
    return closure ? add_unit(s, closure->func, 0) : NULL;
}

static bt_status find_users(struct sccp *s, const bt_block *block, const bt_value *value)
{
    (void)block;
    return value ? learn_binding(s, value) : NULL;
}

static bt_status for_each_function(struct sccp *s, visit *meet)
{
    for (uint32_t i = 0; i < s->module->nglobal; i++) {
        if (s->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(walk(s, s->module->globals[i]->func->block, meet));
    }
    return NULL;
}

/* A call of a function, a branch: without any fold-constant finds as much. */
static bt_status find_flow(struct sccp *s, const bt_block *block, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    (void)block;
    s->has_flow |= (value && bt_value_nregion(value)) ||
                   (call && call->callee_kind == BT_CALLEE_VALUE);
    return NULL;
}

static bt_status learn(struct sccp *s, const char *entry)
{
    for (uint32_t i = 0; i < s->module->nglobal; i++) {
        const bt_global *global = s->module->globals[i];
        if (global->kind == BT_GLOBAL_FUNC)
            BT_TRY(add_unit(s, global->func, !entry || strcmp(global->name, entry) == 0));
    }
    BT_TRY(for_each_function(s, find_units));
    BT_TRY(for_each_function(s, find_users));
    for (uint32_t i = 0; i < s->module->nglobal; i++) {
        const bt_global *global = s->module->globals[i];
        const bt_global *primal = global->kind == BT_GLOBAL_GRADIENT
                                      ? bt_module_primal(s->module, global)
                                      : NULL;
        struct unit *unit =
            primal && primal->func ? bt_map_find(&s->units, primal->func) : NULL;
        if (unit)
            unit->is_open = 1;
    }
    for (uint32_t i = 0; i < s->units.len; i++) {
        struct unit *unit = s->units.at[i].value;
        struct cell *result = cell_of(s, unit->func->block->result);
        if (!result)
            return bt_no_memory();
        open_unit(s, result->value);
        if (result->home) // a constant, a global never changes
            result->result_of = unit;
    }
    return NULL;
}

/* ---- the lattice ---- */

/* Bit for bit; nests no deeper than the type, which both have. */
static int are_same(const bt_object *a, const bt_object *b)
{
    const bt_tensor *x = bt_object_as_tensor(a), *y = bt_object_as_tensor(b);
    const bt_tuple *t = bt_object_as_tuple(a), *u = bt_object_as_tuple(b);
    if (a == b)
        return 1;
    if (x && y)
        return bt_tensor_is_dense(x) && bt_tensor_is_dense(y) &&
               (x->nelem == 0 || memcmp(x->data, y->data, bt_tensor_nbytes(x)) == 0);
    for (uint32_t i = 0; t && u && i < t->nfield; i++) {
        if (!are_same(t->fields[i], u->fields[i]))
            return 0;
    }
    return t && u;
}

static int is_constant(const bt_value *value)
{
    return value && value->kind == BT_VALUE_CONST;
}

static const bt_value *join(const bt_value *a, const bt_value *b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    return is_constant(a) && is_constant(b) &&
                   are_same(bt_as_const(a)->object, bt_as_const(b)->object)
               ? a
               : &varies;
}

static const bt_value *known(struct sccp *s, const bt_value *value)
{
    const bt_value *constant = bt_module_constant(s->module, value);
    if (value->kind == BT_VALUE_PARAM || bt_value_is_binding(value)) {
        const struct cell *cell = bt_map_find(&s->cells, value);
        return cell ? cell->now : NULL;
    }
    return constant->kind == BT_VALUE_CONST ? constant : &varies;
}

/* From now on it is also this. A constant of another type, as a generic function's parameter
 * may get, is none. */
static bt_status lower(struct sccp *s, const bt_value *value, const bt_value *also)
{
    struct cell *cell = bt_map_find(&s->cells, value);
    if (also && also != &varies && also->type != value->type)
        also = &varies;
    const bt_value *now = join(cell->now, also);
    if (now == cell->now)
        return NULL;
    cell->now = now;
    for (uint32_t i = 0; i < cell->users.len; i++) {
        if (!BT_PUSH(s->arena, &s->changed, cell->users.at[i]))
            return bt_no_memory();
    }
    for (uint32_t i = 0; cell->result_of && i < cell->result_of->calls.len; i++) {
        if (!BT_PUSH(s->arena, &s->changed, &cell->result_of->calls.at[i]->base))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status enliven(struct sccp *s, const bt_block *block)
{
    if (bt_map_find(&s->live, block))
        return NULL;
    return bt_map_put(&s->live, block, s) && BT_PUSH(s->arena, &s->blocks, block)
               ? NULL
               : bt_no_memory();
}

static bt_status lower_params(struct sccp *s, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(lower(s, &block->params[i]->base, &varies));
    return NULL;
}

/* ---- what bindings give ---- */

/* *all: each is a constant; *none: one was not reached yet. */
static void look_at(struct sccp *s, uint32_t n, const bt_value *const *at, int *all,
                    int *none)
{
    *all = 1;
    *none = 0;
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *value = known(s, at[i]);
        *none |= value == NULL;
        *all &= is_constant(value);
    }
}

static bt_status give_op(struct sccp *s, const bt_call *call, const bt_value **out)
{
    leaf_list leaves = { 0 };
    int all, none;
    look_at(s, call->narg, call->args, &all, &none);
    *out = none ? NULL : &varies;
    if (!all || bt_type_layout(call->base.type) || call->ncheck ||
        bt_effects_of(s->effects, &call->base) & BT_EFFECT_UNMERGED ||
        evaluate_nbytes(call->base.type) > s->max_bytes)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_value *value = known(s, call->args[i]);
        if (evaluate_nbytes(value->type) > s->max_bytes ||
            value->type != call->args[i]->type)
            return NULL;
        BT_TRY(evaluate_leaves(s->arena, bt_as_const(value)->object, &leaves));
    }
    return evaluate_call(s->builder, s->arena, call, &leaves, out);
}

static bt_status give_call(struct sccp *s, const bt_call *call, const bt_value **out)
{
    *out = call->callee_kind == BT_CALLEE_CTOR ? &call->base : &varies;
    if (call->callee_kind == BT_CALLEE_OP)
        return give_op(s, call, out);
    struct unit *unit =
        call->callee_kind == BT_CALLEE_VALUE ? unit_of(s, call->callee) : NULL;
    if (!unit)
        return NULL;
    const bt_block *block = unit->func->block;
    for (uint32_t i = 0; i < call->narg && i < block->nparam; i++)
        BT_TRY(lower(s, &block->params[i]->base, known(s, call->args[i])));
    BT_TRY(enliven(s, block));
    *out = known(s, block->result);
    return NULL;
}

static bt_status give_tuple(struct sccp *s, const bt_tuple_value *tuple,
                            const bt_value **out)
{
    int all, none;
    look_at(s, tuple->nfield, tuple->fields, &all, &none);
    *out = none ? NULL : &tuple->base;
    if (!all)
        return NULL;
    bt_object **fields = BT_NEWS(s->arena, bt_object *, tuple->nfield);
    bt_tuple *made;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->nfield; i++)
        fields[i] =
            (bt_object *)(uintptr_t)bt_as_const(known(s, tuple->fields[i]))->object;
    BT_TRY(bt_tuple_create(bt_builder_ctx(s->builder), tuple->nfield, fields, &made));
    bt_status status = bt_build_const(s->builder, &made->base, out);
    bt_object_unref(&made->base);
    return status;
}

/* `user` is computed anew when what is known of the fields changes. */
static bt_status open_fields(struct sccp *s, const bt_value *user, const bt_value *made)
{
    struct cell *cell = bt_map_find(&s->cells, user);
    if (!cell->opened.arena)
        bt_map_init(&cell->opened, s->arena, 0);
    if (bt_map_find(&cell->opened, made))
        return NULL;
    for (uint32_t i = 0; i < bt_value_noperand(made); i++)
        BT_TRY(add_user(s, bt_value_operand(made, i), user));
    return bt_map_put(&cell->opened, made, s) ? NULL : bt_no_memory();
}

/* What a field is of what a binding makes, or of a constant tuple. */
static bt_status give_field(struct sccp *s, const bt_value *made, uint32_t i,
                            const bt_value **out)
{
    if (is_constant(made))
        return bt_build_const(
            s->builder, bt_object_as_tuple(bt_as_const(made)->object)->fields[i], out);
    *out = known(s, bt_value_operand(made, i));
    return NULL;
}

static bt_status give_proj(struct sccp *s, const bt_proj *proj, const bt_value **out)
{
    const bt_value *value = known(s, proj->tuple);
    *out = value;
    if (!value || value == &varies)
        return NULL;
    BT_TRY(open_fields(s, &proj->base, value));
    return give_field(s, value, proj->index, out);
}

/* ---- which clauses ---- */

enum { FITS_NOT, MAY_FIT, FITS, NOT_REACHED };

/* What a pattern takes apart, where its fields are known; else NULL. */
static const bt_value *maker(const bt_pattern *pattern, const bt_value *now)
{
    const int is_made =
        now && now != &varies &&
        (pattern->kind == BT_PATTERN_CTOR
             ? now->kind == BT_VALUE_CALL
             : pattern->kind == BT_PATTERN_TUPLE &&
                   (now->kind == BT_VALUE_TUPLE ||
                    (is_constant(now) && bt_object_as_tuple(bt_as_const(now)->object))));
    return is_made ? now : NULL;
}

/* Recursion is bounded by the depth of patterns, which the parser and the builder limit. */
static bt_status fit(struct sccp *s, const bt_pattern *pattern, const bt_value *now,
                     const bt_value *match, int *out)
{
    const bt_value *made = maker(pattern, now);
    *out = now ? MAY_FIT : NOT_REACHED;
    if (now && (pattern->kind == BT_PATTERN_WILDCARD || pattern->kind == BT_PATTERN_VAR))
        *out = FITS;
    if (!made)
        return NULL;
    *out = FITS_NOT;
    if (pattern->kind == BT_PATTERN_CTOR && bt_as_call(made)->ctor != pattern->ctor)
        return NULL;
    *out = FITS;
    BT_TRY(open_fields(s, match, made));
    for (uint32_t i = 0; i < pattern->n && *out != FITS_NOT; i++) {
        const bt_value *field;
        int one;
        BT_TRY(give_field(s, made, i, &field));
        BT_TRY(fit(s, pattern->at[i], field, match, &one));
        if (one == FITS_NOT || *out == FITS || one == NOT_REACHED)
            *out = one;
    }
    return NULL;
}

/* What the variables of a pattern are, in such a value. */
static bt_status bind(struct sccp *s, const bt_pattern *pattern, const bt_value *now)
{
    const bt_value *made = maker(pattern, now);
    if (pattern->kind == BT_PATTERN_VAR)
        return lower(s, &pattern->var->base, now);
    for (uint32_t i = 0; i < pattern->n; i++) {
        const bt_value *field = &varies;
        if (made)
            BT_TRY(give_field(s, made, i, &field));
        BT_TRY(bind(s, pattern->at[i], field));
    }
    return NULL;
}

static bt_status give_match(struct sccp *s, const bt_match *match, const bt_value **out)
{
    const bt_value *on = known(s, match->data);
    int fits = FITS_NOT;
    *out = NULL;
    for (uint32_t i = 0; i < match->nclause && fits != FITS; i++) {
        const bt_clause *clause = match->clauses[i];
        BT_TRY(fit(s, clause->pattern, on, &match->base, &fits));
        if (fits == NOT_REACHED)
            return NULL;
        if (fits == FITS_NOT)
            continue;
        BT_TRY(bind(s, clause->pattern, on));
        BT_TRY(enliven(s, clause->block));
        *out = join(*out, known(s, clause->block->result));
    }
    // where no clause fits it gives nothing: it stays, to fail
    if (match->otherwise && fits != FITS)
        *out = &varies;
    return NULL;
}

/* A branch gives what the sides give that may be chosen. */
static bt_status give_if(struct sccp *s, const bt_if *branch, const bt_value **out)
{
    const bt_block *const sides[] = { branch->then_block, branch->else_block };
    const bt_value *on = known(s, branch->condition);
    const bt_tensor *condition =
        is_constant(on) ? bt_object_as_tensor(bt_as_const(on)->object) : NULL;
    *out = NULL;
    for (uint32_t i = 0; on && i < 2; i++) {
        if (condition && (bt_tensor_get_int(condition, 0) != 0) == (i != 0))
            continue;
        BT_TRY(enliven(s, sides[i]));
        *out = join(*out, known(s, sides[i]->result));
    }
    return NULL;
}

static bt_status compute(struct sccp *s, const bt_value *value)
{
    const bt_value *now = &varies;
    const struct cell *cell = bt_map_find(&s->cells, value);
    if (!bt_map_find(&s->live, cell->home))
        return NULL;
    if (value->kind == BT_VALUE_CALL)
        BT_TRY(give_call(s, bt_as_call(value), &now));
    else if (value->kind == BT_VALUE_TUPLE)
        BT_TRY(give_tuple(s, bt_as_tuple(value), &now));
    else if (value->kind == BT_VALUE_PROJ)
        BT_TRY(give_proj(s, bt_as_proj(value), &now));
    else if (value->kind == BT_VALUE_IF)
        BT_TRY(give_if(s, bt_as_if(value), &now));
    else if (value->kind == BT_VALUE_MATCH)
        BT_TRY(give_match(s, bt_as_match(value), &now));
    return lower(s, value, now);
}

static bt_status solve(struct sccp *s)
{
    for (uint32_t i = 0; i < s->units.len; i++) {
        struct unit *unit = s->units.at[i].value;
        if (!unit->is_open)
            continue;
        BT_TRY(enliven(s, unit->func->block));
        BT_TRY(lower_params(s, unit->func->block));
    }
    while (s->blocks.len || s->changed.len) {
        while (s->changed.len)
            BT_TRY(compute(s, s->changed.at[--s->changed.len]));
        const bt_block *block = s->blocks.len ? s->blocks.at[--s->blocks.len] : NULL;
        for (uint32_t i = 0; block && i < block->nbinding; i++)
            BT_TRY(compute(s, block->bindings[i]));
    }
    return NULL;
}

/* ---- the next version ---- */

/* What an operand or a result of a block is known to be; NULL: nothing. */
static const bt_value *constant_of(struct sccp *s, const bt_value *value)
{
    const struct cell *cell = bt_map_find(&s->cells, value);
    return cell && cell->home && is_constant(cell->now) ? cell->now : NULL;
}

static bt_status use_constant(bt_rewrite *rewrite, const bt_value *value)
{
    const bt_value *now = constant_of(bt_rewrite_state(rewrite), value);
    return now ? bt_rewrite_replace(rewrite, value, now) : NULL;
}

static bt_status use_constants(bt_rewrite *rewrite, const bt_value *old,
                               const bt_value **out)
{
    struct sccp *s = bt_rewrite_state(rewrite);
    if (!(bt_effects_of(s->effects, old) & BT_EFFECT_KEEPS))
        *out = constant_of(s, old);
    for (uint32_t i = 0; !*out && i < bt_value_noperand(old); i++)
        BT_TRY(use_constant(rewrite, bt_value_operand(old, i)));
    for (uint32_t i = 0; !*out && i < bt_value_nregion(old); i++) {
        const bt_block *region = bt_value_region(old, i);
        const struct cell *cell = bt_map_find(&s->cells, region->result);
        if (cell->home != region)
            BT_TRY(use_constant(rewrite, region->result));
    }
    return NULL;
}

static const bt_rewriter rewriter = { .any = use_constants };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    struct sccp s = { .module = call->module,
                      .arena = call->scratch,
                      .max_bytes = o->max_bytes };
    const void *effects;
    BT_TRY(for_each_function(&s, find_flow));
    if (!s.has_flow) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    s.effects = effects;
    bt_map_init(&s.cells, call->scratch, 0);
    bt_map_init(&s.units, call->scratch, 0);
    bt_map_init(&s.live, call->scratch, 0);
    BT_TRY(bt_builder_create(ctx, call->module->store, call->module, &s.builder));
    bt_status status = learn(&s, call->entry);
    if (!status)
        status = solve(&s);
    bt_builder_destroy(s.builder);
    return status ? status : bt_rewrite_module(ctx, call, &rewriter, &s, out);
}

static const bt_pass passes[] = {
    {
        .name = "sccp",
        .doc = "Sparse conditional constant propagation, over branches and functions.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %f = fn (%n: int32, %y: float32) -> float32 {\n"
               "            %0 = if (less(%n, 3)) { 1 } else { %n };\n"
               "            if (less(%0, %n)) { exp(%y) } else { %y }\n"
               "        };\n"
               "        %1 = %f(2, %x);\n"
               "        %f(2, %1)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) {\n"
               "        %f = fn (%n: int32, %y: float32) -> float32 {\n"
               "            if (True) { exp(%y) } else { %y }\n"
               "        };\n"
               "        %0 = %f(2, %x);\n"
               "        %f(2, %0)\n"
               "    }",
        .level = 2,
        .needs = "effects",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_sccp[] = { BT_PASSES(passes), { 0 } };
