/*
 * lambda-lift: make functions of the module out of closures.
 *     before
 *         def @main(%x: float32, %n: int32) {
 *             %loop = fn (%i: int32, %y: float32) -> float32 {
 *                 if (less(%i, 1)) { %y } else { %loop(subtract(%i, 1), multiply(%y, %x)) }
 *             };
 *             %loop(%n, 1f)
 *         }
 *     after
 *         def @main(%x: float32, %n: int32) {
 *             @main_loop(%x, %n, 1f)
 *         }
 *         def @main_loop(%x: float32, %i: int32, %y: float32) -> float32 {
 *             %0 = less(%i, 1);
 *             if (%0) {
 *                 %y
 *             } else {
 *                 %1 = subtract(%i, 1);
 *                 %2 = multiply(%y, %x);
 *                 @main_loop(%x, %1, %2)
 *             }
 *         }
 * What a closure uses from around it comes first among the parameters, in the order of its
 * first use; type parameters of the functions around, and dims that only a run shows, come
 * as type parameters. Where the closure is called in sight, the function is called. Where it
 * is a value, a closure stays that holds what it uses and does nothing but call the function:
 *         %f = fn (%y: float32) { @main_f(%x, %y) }
 * One that has this form already stays. Primitive functions are left alone.
 * keeps    every invariant
 * gives    lifted
 * source   Johnsson 1985, Lambda Lifting: Transforming Programs to Recursive Equations
 */
#include <string.h>

#include <baton/pass.h>

#include "copy.h"
#include "flat.h"

struct group;

/* A function that values are bound in: a global's, or a closure's. */
struct function {
    struct group *group; /* NULL: a global's */
    const struct function *outer;
    const bt_func *func;
    const bt_global *global; /* that it stands in */
};

/* A closure and the global that it becomes. */
struct member {
    struct function function;
    const bt_closure_value *closure;
    int is_value; /* used as one, where it cannot be made on the spot */
    /* NULL, or the call that is all that it does, of a global: then that is called. */
    const bt_call *whole;
    /* Of the new global: */
    const char *name;
    const bt_type *type;
    uint32_t nvar;
    const bt_type **vars;
    const bt_param **params;
    const bt_type *result;
};

struct group {
    const bt_closure_group *node;
    const struct function *around;
    struct member *members;
    /* From around: in order, and as sets. */
    bt_vec(const bt_value *) values;
    bt_vec(const bt_type *) terms;
    bt_map has_value, has_term;
    bt_vec(struct group *) uses; /* those called or made inside */
    bt_map has_use;
};

struct lifting {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_module *declared; /* with the new globals' types */
    uint32_t depth;
    bt_map owners;  /* values, variables, opaque dims -> struct function */
    bt_map members; /* closures -> struct member */
    bt_vec(struct group *) groups;
    bt_map taken; /* names */
};

/* ---- who binds what ---- */

static const struct function *owner_of(const struct lifting *l, const void *what)
{
    return bt_map_find(&l->owners, what);
}

static bt_status set_owner(struct lifting *l, const void *what, const struct function *f)
{
    return bt_map_put(&l->owners, what, (void *)(uintptr_t)f) ? NULL : bt_no_memory();
}

static struct member *member_of(const struct lifting *l, const bt_value *value)
{
    return bt_map_find(&l->members, value);
}

static int is_inside_group(const struct function *f, const struct group *group)
{
    for (; f; f = f->outer) {
        if (f->group == group)
            return 1;
    }
    return 0;
}

static int is_inside(const struct function *f, const struct function *around)
{
    while (f && f != around)
        f = f->outer;
    return f != NULL;
}

/* ---- what a group uses from around ---- */

static bt_status need_term(struct lifting *l, struct group *group, const bt_type *leaf,
                           int *changed)
{
    const struct function *owner = owner_of(l, leaf);
    if (!owner || !is_inside(group->around, owner) || bt_map_find(&group->has_term, leaf))
        return NULL;
    *changed = 1;
    return bt_map_put(&group->has_term, leaf, group) &&
                   BT_PUSH(l->arena, &group->terms, leaf)
               ? NULL
               : bt_no_memory();
}

/* Calls `meet` for the variables and opaque dims of a type. */
struct leaves {
    struct lifting *l;
    const struct function *function;
    bt_status status;
    int changed;
};

static const bt_type *meet_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct leaves *leaves = subst->state;
    struct lifting *l = leaves->l;
    const struct function *f = leaves->function;
    if (leaves->status || (leaf->kind != BT_TYPE_VAR && leaf->kind != BT_TYPE_OPAQUE))
        return NULL;
    // the first value of such a type brings it forth
    if (leaf->kind == BT_TYPE_OPAQUE && !owner_of(l, leaf))
        leaves->status = set_owner(l, leaf, f);
    if (!leaves->status && f->group)
        leaves->status = need_term(l, f->group, leaf, &leaves->changed);
    return NULL;
}

static bt_status meet_type(struct lifting *l, const struct function *f,
                           const bt_type *type, int *changed)
{
    struct leaves leaves = { .l = l, .function = f };
    bt_subst subst = { .leaf = meet_leaf, .state = &leaves };
    if (!type || !(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    if (!bt_type_subst(l->module->store, &subst, type))
        return bt_store_why(l->ctx, l->module->store);
    *changed |= leaves.changed;
    return leaves.status;
}

/* The terms of a value's type, where they are visible around the group. */
static bt_status need_value(struct lifting *l, struct group *group, const bt_value *value,
                            int *changed)
{
    const struct member *member = member_of(l, value);
    const struct function *owner = owner_of(l, value);
    if (!owner || is_inside_group(owner, group) ||
        bt_map_find(&group->has_value, value) ||
        (member && member->function.group == group))
        return NULL;
    *changed = 1;
    if (!bt_map_put(&group->has_value, value, group) ||
        !BT_PUSH(l->arena, &group->values, value))
        return bt_no_memory();
    return meet_type(l, &group->members[0].function, value->type, changed);
}

static bt_status need_group(struct lifting *l, const struct function *f,
                            struct group *group)
{
    if (!f->group || bt_map_find(&f->group->has_use, group))
        return NULL;
    return bt_map_put(&f->group->has_use, group, l) &&
                   BT_PUSH(l->arena, &f->group->uses, group)
               ? NULL
               : bt_no_memory();
}

/* Until nothing is added: groups use each other. */
static bt_status settle(struct lifting *l)
{
    int changed = 1;
    while (changed) {
        changed = 0;
        for (uint32_t i = l->groups.len; i-- > 0;) {
            struct group *group = l->groups.at[i];
            for (uint32_t u = 0; u < group->uses.len; u++) {
                const struct group *used = group->uses.at[u];
                for (uint32_t k = 0; k < used->values.len; k++)
                    BT_TRY(need_value(l, group, used->values.at[k], &changed));
                for (uint32_t k = 0; k < used->terms.len; k++)
                    BT_TRY(need_term(l, group, used->terms.at[k], &changed));
            }
        }
    }
    return NULL;
}

/* ---- reading a function ---- */

static bt_status meet_use(struct lifting *l, const struct function *f,
                          const bt_value *value, int is_callee)
{
    struct member *member = member_of(l, value);
    int changed;
    if (member) {
        struct group *group = member->function.group;
        BT_TRY(need_group(l, f, group));
        if (is_callee || is_inside_group(f, group))
            return NULL;
        member->is_value = 1;
    }
    return f->group ? need_value(l, f->group, value, &changed) : NULL;
}

static const bt_type *read_leaf(bt_subst *subst, const bt_type *leaf)
{
    return meet_leaf(subst, leaf);
}

static bt_status read_call(struct lifting *l, const struct function *f,
                           const bt_call *call)
{
    int changed;
    struct leaves leaves = { .l = l, .function = f };
    bt_subst subst = { .leaf = read_leaf, .state = &leaves };
    const bt_op *op = call->op;
    if (call->callee_kind == BT_CALLEE_OP && op->attrs && call->attrs &&
        !bt_attrs_subst(l->module->store, &subst, op->attrs, op->attrs_nbytes,
                        call->attrs))
        return bt_store_why(l->ctx, l->module->store);
    BT_TRY(leaves.status);
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        BT_TRY(meet_type(l, f, call->type_args[i], &changed));
    for (uint32_t i = 0; i < call->ncheck; i++) {
        BT_TRY(meet_type(l, f, call->checks[i].left, &changed));
        BT_TRY(meet_type(l, f, call->checks[i].right, &changed));
    }
    for (uint32_t i = 0; call->contents && i < call->contents->n; i++)
        BT_TRY(meet_type(l, f, call->contents->dims[i], &changed));
    return NULL;
}

static bt_status read_block(struct lifting *l, const struct function *f,
                            const bt_block *block);

static bt_status read_function(struct lifting *l, struct function *f)
{
    int changed;
    for (uint32_t i = 0; i < f->func->nvar; i++)
        BT_TRY(set_owner(l, f->func->vars[i], f));
    BT_TRY(read_block(l, f, f->func->block));
    return meet_type(l, f, f->func->result, &changed);
}

static bt_status read_group(struct lifting *l, const struct function *f,
                            const bt_closure_group *node)
{
    struct group *group = BT_NEW(l->arena, struct group);
    struct member *members = BT_NEWS(l->arena, struct member, node->n);
    if (!group || !members || !BT_PUSH(l->arena, &l->groups, group))
        return bt_no_memory();
    group->node = node;
    group->around = f;
    group->members = members;
    bt_map_init(&group->has_value, l->arena, 0);
    bt_map_init(&group->has_term, l->arena, 0);
    bt_map_init(&group->has_use, l->arena, 0);
    for (uint32_t i = 0; i < node->n; i++) {
        members[i].closure = node->at[i];
        members[i].whole = flat_closure_call(node->at[i]);
        members[i].function = (struct function){ group, f, node->at[i]->func, f->global };
        if (!bt_map_put(&l->members, node->at[i], &members[i]))
            return bt_no_memory();
        BT_TRY(set_owner(l, node->at[i], f));
    }
    BT_TRY(need_group(l, f, group));
    for (uint32_t i = 0; i < node->n; i++)
        BT_TRY(read_function(l, &members[i].function));
    // what relations promise of the variables around is relied on
    for (; f; f = f->outer) {
        int changed;
        for (uint32_t i = 0; f->func->nwhere && i < f->func->nvar; i++)
            BT_TRY(need_term(l, group, f->func->vars[i], &changed));
    }
    return NULL;
}

static bt_status read_binding(struct lifting *l, const struct function *f,
                              const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_closure_value *closure = bt_as_closure(value);
    int changed;
    if (closure)
        return closure->group->at[0] == closure ? read_group(l, f, closure->group) : NULL;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(meet_use(l, f, bt_value_operand(value, i),
                        call && call->callee_kind == BT_CALLEE_VALUE && i == 0));
    if (call)
        BT_TRY(read_call(l, f, call));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(read_block(l, f, bt_value_region(value, i)));
    BT_TRY(set_owner(l, value, f));
    return meet_type(l, f, value->type, &changed);
}

static bt_status read_block(struct lifting *l, const struct function *f,
                            const bt_block *block)
{
    int changed;
    uint32_t limit = bt_ctx_limits(l->ctx)->depth;
    if (l->depth >= limit)
        return bt_fail_at(l->ctx, BT_ERR_LIMIT, l->module->store, f->func->span,
                          "lambda-lift: blocks are nested deeper than %u", limit);
    l->depth++;
    for (uint32_t i = 0; i < block->nparam; i++) {
        BT_TRY(set_owner(l, block->params[i], f));
        BT_TRY(meet_type(l, f, block->params[i]->base.type, &changed));
    }
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(read_binding(l, f, block->bindings[i]));
    l->depth--;
    return meet_use(l, f, block->result, 0);
}

/* ---- calls and closures ---- */

/* A call of what a closure became. The closure's own variables and parameters are given as
 * new terms and values. */
struct use {
    const struct member *member;
    uint32_t ntype_arg, narg;
    const bt_type *const *type_args;
    const bt_value *const *args;
};

static bt_status call_whole(struct copy *c, const struct use *use, bt_call *call)
{
    const struct member *m = use->member;
    const bt_call *whole = m->whole;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, whole->narg);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < use->ntype_arg; i++)
        BT_TRY(copy_put_type(c, m->function.func->vars[i], use->type_args[i]));
    for (uint32_t i = 0; i < whole->narg; i++) {
        if (i + use->narg >= whole->narg)
            args[i] = use->args[i + use->narg - whole->narg];
        else
            BT_TRY(copy_operand(c, whole->args[i], NULL, &args[i]));
    }
    call->narg = whole->narg;
    call->args = args;
    call->ntype_arg = whole->ntype_arg;
    BT_TRY(copy_types(c, whole->ntype_arg, whole->type_args, &call->type_args));
    return copy_operand(c, whole->callee, NULL, &call->callee);
}

static bt_status call_lifted(struct copy *c, const struct use *use, bt_call *call)
{
    const struct member *m = use->member;
    const struct group *group = m->function.group;
    uint32_t nvalue = group->values.len, nterm = group->terms.len;
    call->narg = nvalue + use->narg;
    call->ntype_arg = nterm + use->ntype_arg;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, call->narg);
    const bt_type **terms = BT_NEWS(c->arena, const bt_type *, call->ntype_arg);
    if (!args || !terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        if (i >= nvalue)
            args[i] = use->args[i - nvalue];
        else
            BT_TRY(copy_operand(c, group->values.at[i], NULL, &args[i]));
    }
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        if (i >= nterm)
            terms[i] = use->type_args[i - nterm];
        else
            BT_TRY(copy_type(c, group->terms.at[i], &terms[i]));
    }
    call->args = args;
    call->type_args = terms;
    return bt_build_global(c->b, m->name, &call->callee);
}

static bt_status call_member(struct copy *c, const struct use *use, bt_call *call)
{
    *call = (bt_call){ .callee_kind = BT_CALLEE_VALUE };
    return use->member->whole ? call_whole(c, use, call) : call_lifted(c, use, call);
}

/* fn (%x: T) { @lifted(captures, %x) } */
static bt_status make_body(struct copy *c, const struct member *m, const bt_func **out)
{
    const bt_func *func = m->closure->func;
    const bt_block *block = func->block;
    const bt_param **params;
    const bt_value *result;
    bt_func now = *func;
    bt_call call;
    BT_TRY(copy_params(c, block->nparam, block->params, &params));
    BT_TRY(copy_type(c, func->result, &now.result));
    BT_TRY(copy_wheres(c, func->nwhere, func->wheres, &now.wheres));
    BT_TRY(bt_block_begin(c->b, block->nparam, params));
    struct use use = { .member = m,
                       .ntype_arg = func->nvar,
                       .type_args = func->vars,
                       .narg = block->nparam,
                       .args = (const bt_value *const *)params };
    BT_TRY(call_member(c, &use, &call));
    bt_builder_like(c->b, &m->closure->base);
    bt_builder_name(c->b, NULL);
    bt_builder_type(c->b, now.result);
    BT_TRY(bt_build_call(c->b, &call, &result));
    BT_TRY(bt_block_end(c->b, result, &now.block));
    now.attrs = (bt_dict){ 0 };
    return bt_func_create(c->ctx, c->store, &now, out);
}

static bt_status make_closure(struct copy *c, const struct member *m,
                              const bt_value **out)
{
    const bt_type *type;
    const bt_func *func;
    const bt_value *const *captures =
        m->whole ? m->whole->args : m->function.group->values.at;
    uint32_t ncapture = m->whole ? m->whole->narg - m->function.func->block->nparam
                                 : m->function.group->values.len;
    const bt_value *now;
    // closures among what it holds are made before it, not inside
    for (uint32_t i = 0; i < ncapture; i++)
        BT_TRY(copy_operand(c, captures[i], NULL, &now));
    BT_TRY(copy_type(c, m->closure->base.type, &type));
    bt_builder_like(c->b, &m->closure->base);
    BT_TRY(bt_build_closures(c->b, 1, &m->closure->base.name, &type, out));
    BT_TRY(make_body(c, m, &func));
    return bt_build_closure_body(c->b, *out, func);
}

static bt_status lift_operand(struct copy *c, const bt_value *old, const bt_type *wanted,
                              const bt_value **out)
{
    const struct member *m = member_of(c->state, old);
    (void)wanted;
    return m ? make_closure(c, m, out) : NULL;
}

static bt_status lift_call(struct copy *c, const bt_call *old, const struct member *m,
                           const bt_value **out)
{
    const bt_value **args;
    struct use use = { .member = m, .ntype_arg = old->ntype_arg, .narg = old->narg };
    int same_facts;
    bt_call call;
    BT_TRY(copy_args(c, old, &args, &same_facts));
    use.args = args;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &use.type_args));
    BT_TRY(call_member(c, &use, &call));
    return copy_call(c, old, &call, same_facts, out);
}

static bt_status lift_binding(struct copy *c, const bt_value *old, int *done)
{
    const bt_closure_value *closure = bt_as_closure(old);
    const bt_call *call = bt_as_call(old);
    const struct member *m = call && call->callee_kind == BT_CALLEE_VALUE
                                 ? member_of(c->state, call->callee)
                                 : NULL;
    const bt_value *now;
    if (!closure && !m)
        return NULL;
    *done = 1;
    if (m) {
        BT_TRY(lift_call(c, call, m, &now));
        return copy_put(c, old, now);
    }
    for (uint32_t i = 0; i < closure->group->n; i++) {
        m = member_of(c->state, &closure->group->at[i]->base);
        if (!m->is_value)
            continue;
        BT_TRY(make_closure(c, m, &now));
        BT_TRY(copy_put(c, &m->closure->base, now));
    }
    return NULL;
}

/* ---- the new globals ---- */

static bt_status copy_begin(struct lifting *l, const bt_module *module, struct copy *c)
{
    BT_TRY(copy_init(c, l->ctx, l->arena, module));
    c->state = l;
    c->binding = lift_binding;
    c->operand = lift_operand;
    return NULL;
}

static bt_status copy_vars(struct copy *c, struct member *m)
{
    const struct group *group = m->function.group;
    const bt_func *func = m->function.func;
    m->nvar = group->terms.len + func->nvar;
    m->vars = BT_NEWS(c->arena, const bt_type *, m->nvar);
    if (!m->vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < m->nvar; i++) {
        uint32_t own = i - group->terms.len;
        BT_TRY(copy_var(c, i < group->terms.len ? group->terms.at[i] : func->vars[own],
                        &m->vars[i]));
    }
    return NULL;
}

/* Relations over its own variables and those around. */
static bt_status all_wheres(struct copy *c, const struct member *m, bt_func *out)
{
    bt_vec(const bt_where *) all = { 0 };
    for (const struct function *f = &m->function; f; f = f->outer) {
        const bt_where *const *now;
        BT_TRY(copy_wheres(c, f->func->nwhere, f->func->wheres, &now));
        for (uint32_t i = 0; i < f->func->nwhere; i++) {
            if (!BT_PUSH(c->arena, &all, now[i]))
                return bt_no_memory();
        }
    }
    out->nwhere = all.len;
    out->wheres = all.at;
    return NULL;
}

static bt_status member_params(struct copy *c, struct member *m)
{
    const struct group *group = m->function.group;
    const bt_block *block = m->function.func->block;
    uint32_t nvalue = group->values.len;
    const bt_param **own;
    m->params = BT_NEWS(c->arena, const bt_param *, (size_t)nvalue + block->nparam);
    if (!m->params)
        return bt_no_memory();
    for (uint32_t i = 0; i < nvalue; i++) {
        const bt_value *old = group->values.at[i];
        const bt_type *type;
        BT_TRY(copy_type(c, old->type, &type));
        bt_builder_like(c->b, old);
        BT_TRY(bt_build_param(c->b, old->name, type, &m->params[i]));
        BT_TRY(copy_put(c, old, &m->params[i]->base));
    }
    BT_TRY(copy_params(c, block->nparam, block->params, &own));
    if (block->nparam)
        memcpy(m->params + nvalue, own, block->nparam * sizeof(*own));
    return copy_type(c, m->function.func->result, &m->result);
}

/* What it takes and gives, and its name. */
static bt_status declare_member(struct lifting *l, struct copy *c, struct member *m)
{
    const struct group *group = m->function.group;
    uint32_t narg = group->values.len + m->function.func->block->nparam;
    const bt_type **args = BT_NEWS(l->arena, const bt_type *, narg);
    const char *hint = m->closure->base.name;
    bt_text text;
    bt_func wheres;
    if (!args)
        return bt_no_memory();
    bt_text_init(&text, l->arena);
    bt_text_addf(&text, "%s_%s", m->function.global->name, hint ? hint : "fn");
    if (!bt_text_get(&text))
        return bt_no_memory();
    BT_TRY(copy_name(c, l->module, &l->taken, bt_text_get(&text), &m->name));
    BT_TRY(copy_vars(c, m));
    BT_TRY(member_params(c, m));
    BT_TRY(all_wheres(c, m, &wheres));
    for (uint32_t i = 0; i < narg; i++)
        args[i] = m->params[i]->base.type;
    m->type = bt_func_type_close(c->store, m->nvar, m->vars, narg, args, m->result,
                                 wheres.nwhere, wheres.wheres);
    return m->type ? NULL : bt_store_why(l->ctx, c->store);
}

static bt_status declare_all(struct lifting *l, bt_module_builder *builder)
{
    for (uint32_t g = 0; g < l->groups.len; g++) {
        const struct group *group = l->groups.at[g];
        for (uint32_t i = 0; i < group->node->n; i++) {
            struct member *m = &group->members[i];
            struct copy c;
            if (m->whole)
                continue;
            BT_TRY(copy_begin(l, l->module, &c));
            bt_status status = declare_member(l, &c, m);
            copy_deinit(&c);
            BT_TRY(status);
            bt_global global = { .name = m->name,
                                 .kind = BT_GLOBAL_EXTERN,
                                 .span = m->closure->base.span,
                                 .type = m->type };
            BT_TRY(bt_module_builder_set(builder, &global, 1));
        }
    }
    return NULL;
}

static bt_status build_member(struct copy *c, const struct member *m, const bt_func **out)
{
    const struct group *group = m->function.group;
    const bt_block *block = m->function.func->block;
    uint32_t nvalue = group->values.len;
    bt_func func = *m->function.func;
    const bt_value *result;
    for (uint32_t i = 0; i < m->nvar; i++) {
        uint32_t own = i - group->terms.len;
        BT_TRY(copy_put_type(
            c, i < group->terms.len ? group->terms.at[i] : m->function.func->vars[own],
            m->vars[i]));
    }
    for (uint32_t i = 0; i < nvalue + block->nparam; i++)
        BT_TRY(copy_put(
            c, i < nvalue ? group->values.at[i] : &block->params[i - nvalue]->base,
            &m->params[i]->base));
    func.name = m->name;
    func.nvar = m->nvar;
    func.vars = m->vars;
    func.result = m->result;
    BT_TRY(all_wheres(c, m, &func));
    BT_TRY(bt_block_begin(c->b, nvalue + block->nparam, m->params));
    BT_TRY(copy_bindings(c, block, m->function.func->result, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* ---- the next version ---- */

static bt_status set_func(struct lifting *l, bt_module_builder *builder,
                          const bt_global *like, const bt_func *func)
{
    bt_global global = *like;
    global.kind = BT_GLOBAL_FUNC;
    global.func = func;
    global.type = bt_func_type_of(l->module->store, func);
    return global.type ? bt_module_builder_set(builder, &global, 0)
                       : bt_store_why(l->ctx, l->module->store);
}

static bt_status set_members(struct lifting *l, bt_module_builder *builder)
{
    for (uint32_t g = 0; g < l->groups.len; g++) {
        const struct group *group = l->groups.at[g];
        for (uint32_t i = 0; i < group->node->n; i++) {
            const struct member *m = &group->members[i];
            const bt_func *func;
            struct copy c;
            if (m->whole)
                continue;
            BT_TRY(copy_begin(l, l->declared, &c));
            bt_status status = build_member(&c, m, &func);
            copy_deinit(&c);
            if (!status)
                status = set_func(l, builder, bt_module_find(l->declared, m->name), func);
            BT_TRY(status);
        }
    }
    return NULL;
}

/* The functions that closures stood in. */
static bt_status set_roots(struct lifting *l, bt_module_builder *builder)
{
    for (uint32_t g = 0; g < l->groups.len; g++) {
        const struct function *root = l->groups.at[g]->around;
        while (root->outer)
            root = root->outer;
        const bt_func *func;
        struct copy c;
        if (bt_map_find(&l->taken, root))
            continue;
        if (!bt_map_put(&l->taken, root, l))
            return bt_no_memory();
        BT_TRY(copy_begin(l, l->declared, &c));
        bt_status status = copy_func(&c, root->func, &func);
        copy_deinit(&c);
        if (!status)
            status = set_func(l, builder, root->global, func);
        BT_TRY(status);
    }
    return NULL;
}

/* builder: of a version that extends `declared`. */
static bt_status build_all(struct lifting *l, bt_module **out)
{
    bt_module_builder *builder;
    BT_TRY(bt_module_builder_create(l->ctx, l->module->store, l->declared, &builder));
    bt_status status = set_roots(l, builder);
    if (!status)
        status = set_members(l, builder);
    if (!status)
        return bt_module_builder_finish(builder, 1, out);
    bt_module_builder_destroy(builder);
    return status;
}

static bt_status lift_all(struct lifting *l, bt_module **out)
{
    bt_module_builder *builder;
    bt_module *declared;
    BT_TRY(settle(l));
    BT_TRY(bt_module_builder_create(l->ctx, l->module->store, l->module, &builder));
    bt_status status = declare_all(l, builder);
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &declared));
    l->declared = declared;
    status = build_all(l, out);
    bt_module_unref(declared);
    return status;
}

/* Whether there is anything to do: closures that only hold and call need nothing. */
static int is_lifted(const struct lifting *l)
{
    for (uint32_t i = 0; i < l->groups.len; i++) {
        const struct group *group = l->groups.at[i];
        if (!group->members[0].whole || !group->members[0].is_value)
            return 0;
    }
    return 1;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct lifting l = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&l.owners, l.arena, 0);
    bt_map_init(&l.members, l.arena, 0);
    bt_map_init(&l.taken, l.arena, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        const bt_global *global = call->module->globals[i];
        struct function *root = BT_NEW(l.arena, struct function);
        if (!root)
            return bt_no_memory();
        if (global->kind != BT_GLOBAL_FUNC || bt_func_is_primitive(global->func))
            continue;
        root->global = global;
        root->func = global->func;
        BT_TRY(read_function(&l, root));
    }
    if (!is_lifted(&l))
        return lift_all(&l, out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static const bt_pass passes[] = {
    {
        .name = "lambda-lift",
        .doc = "Make functions of the module out of closures.\n"
               "before\n"
               "    def @main(%x: float32, %n: int32) {\n"
               "        %loop = fn (%i: int32, %y: float32) -> float32 {\n"
               "            if (less(%i, 1)) { %y } else { %loop(subtract(%i, 1), "
               "multiply(%y, %x)) }\n"
               "        };\n"
               "        %loop(%n, 1f)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32, %n: int32) {\n"
               "        @main_loop(%x, %n, 1f)\n"
               "    }\n"
               "    def @main_loop(%x: float32, %i: int32, %y: float32) -> float32 {\n"
               "        %0 = less(%i, 1);\n"
               "        if (%0) {\n"
               "            %y\n"
               "        } else {\n"
               "            %1 = subtract(%i, 1);\n"
               "            %2 = multiply(%y, %x);\n"
               "            @main_loop(%x, %1, %2)\n"
               "        }\n"
               "    }",
        .level = 0,
        .keeps = "*",
        .gives = "lifted",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_lambda_lift[] = { BT_PASSES(passes), { 0 } };
