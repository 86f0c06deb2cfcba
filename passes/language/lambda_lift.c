/*
 * lambda-lift: make functions of the module out of closures.
 * What a closure uses from around it comes first among the parameters, in the order of its
 * first use; type parameters of the functions around, and dims that only a run shows, come
 * as type parameters. Where the closure is called in sight, the function is called. Where it
 * is a value, a closure stays that holds what it uses and does nothing but call the function:
 *         %f = fn (%y: float32) { @main_f(%x, %y) }
 * One that has this form already, and no attributes, stays. Primitive functions are left alone.
 * keeps    every invariant
 * gives    lifted
 * source   Johnsson 1985, Lambda Lifting: Transforming Programs to Recursive Equations
 */
#include <string.h>

#include <baton/pass.h>

#include "common/copy.h"
#include "common/names.h"
#include "common/version.h"
#include "language/captures.h"

/* The global that a closure becomes. */
struct lifted {
    const struct member *member;
    const char *name;
    const bt_type *type;
    uint32_t nvar;
    const bt_type **vars;
    const bt_param **params;
    const bt_type *result;
};

struct lifting {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_module *declared; /* with the new globals' types */
    struct captures captures;
    bt_map globals; /* struct member -> struct lifted */
    bt_map taken;   /* names */
};

static const struct member *member_of(const struct copy *c, const bt_value *value)
{
    const struct lifting *l = c->state;
    return captures_member(&l->captures, value);
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
    const struct lifting *l = c->state;
    const struct lifted *lifted = bt_map_find(&l->globals, m);
    return bt_build_global(c->b, lifted->name, &call->callee);
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
    const struct member *m = member_of(c, old);
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
    const struct member *m =
        call && call->callee_kind == BT_CALLEE_VALUE ? member_of(c, call->callee) : NULL;
    const bt_value *now;
    if (!closure && !m)
        return NULL;
    *done = 1;
    if (m) {
        BT_TRY(lift_call(c, call, m, &now));
        return copy_put(c, old, now);
    }
    for (uint32_t i = 0; i < closure->group->n; i++) {
        m = member_of(c, &closure->group->at[i]->base);
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

static bt_status copy_vars(struct copy *c, struct lifted *m)
{
    const struct group *group = m->member->function.group;
    const bt_func *func = m->member->function.func;
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

static bt_status member_params(struct copy *c, struct lifted *m)
{
    const struct group *group = m->member->function.group;
    const bt_block *block = m->member->function.func->block;
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
    return copy_type(c, m->member->function.func->result, &m->result);
}

/* What it takes and gives, and its name. */
static bt_status declare_member(struct lifting *l, struct copy *c, struct lifted *m)
{
    const struct group *group = m->member->function.group;
    uint32_t narg = group->values.len + m->member->function.func->block->nparam;
    const bt_type **args = BT_NEWS(l->arena, const bt_type *, narg);
    const char *hint = m->member->closure->base.name;
    bt_func wheres;
    if (!args)
        return bt_no_memory();
    BT_TRY(name_new(l->module, l->arena, &l->taken, &m->name, "%s_%s",
                    m->member->function.global->name, hint ? hint : "fn"));
    BT_TRY(copy_vars(c, m));
    BT_TRY(member_params(c, m));
    BT_TRY(all_wheres(c, m->member, &wheres));
    for (uint32_t i = 0; i < narg; i++)
        args[i] = m->params[i]->base.type;
    m->type = bt_func_type_close(c->store, m->nvar, m->vars, narg, args, m->result,
                                 wheres.nwhere, wheres.wheres);
    return m->type ? NULL : bt_store_why(l->ctx, c->store);
}

static bt_status declare_global(struct lifting *l, bt_module_builder *builder,
                                const struct member *m)
{
    struct lifted *lifted = BT_NEW(l->arena, struct lifted);
    struct copy c;
    if (!lifted || !bt_map_put(&l->globals, m, lifted))
        return bt_no_memory();
    lifted->member = m;
    BT_TRY(copy_begin(l, l->module, &c));
    bt_status status = declare_member(l, &c, lifted);
    copy_deinit(&c);
    BT_TRY(status);
    bt_global global = { .name = lifted->name,
                         .kind = BT_GLOBAL_EXTERN,
                         .span = m->closure->base.span,
                         .type = lifted->type };
    return bt_module_builder_set(builder, &global, 1);
}

static bt_status declare_all(void *state, bt_module_builder *builder)
{
    struct lifting *l = state;
    for (uint32_t g = 0; g < l->captures.groups.len; g++) {
        const struct group *group = l->captures.groups.at[g];
        for (uint32_t i = 0; i < group->node->n; i++) {
            if (!group->members[i].whole)
                BT_TRY(declare_global(l, builder, &group->members[i]));
        }
    }
    return NULL;
}

static bt_status build_member(struct copy *c, const struct lifted *m, const bt_func **out)
{
    const struct group *group = m->member->function.group;
    const bt_block *block = m->member->function.func->block;
    uint32_t nvalue = group->values.len;
    bt_func func = *m->member->function.func;
    const bt_value *result;
    for (uint32_t i = 0; i < m->nvar; i++) {
        uint32_t own = i - group->terms.len;
        BT_TRY(copy_put_type(c,
                             i < group->terms.len ? group->terms.at[i]
                                                  : m->member->function.func->vars[own],
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
    BT_TRY(all_wheres(c, m->member, &func));
    BT_TRY(bt_block_begin(c->b, nvalue + block->nparam, m->params));
    BT_TRY(copy_bindings(c, block, m->member->function.func->result, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    return bt_func_create(c->ctx, c->store, &func, out);
}

/* ---- the next version ---- */

static bt_status set_members(struct lifting *l, bt_module_builder *builder)
{
    for (uint32_t i = 0; i < l->globals.len; i++) {
        const struct lifted *m = l->globals.at[i].value;
        const bt_func *func;
        struct copy c;
        BT_TRY(copy_begin(l, l->declared, &c));
        bt_status status = build_member(&c, m, &func);
        copy_deinit(&c);
        BT_TRY(status);
        BT_TRY(version_set_func(builder, bt_module_find(l->declared, m->name), func));
    }
    return NULL;
}

/* The functions that closures stood in. */
static bt_status set_roots(struct lifting *l, bt_module_builder *builder)
{
    bt_map done;
    bt_map_init(&done, l->arena, 0);
    for (uint32_t g = 0; g < l->captures.groups.len; g++) {
        const struct function *root = l->captures.groups.at[g]->around;
        while (root->outer)
            root = root->outer;
        const bt_func *func;
        struct copy c;
        if (bt_map_find(&done, root))
            continue;
        if (!bt_map_put(&done, root, l))
            return bt_no_memory();
        BT_TRY(copy_begin(l, l->declared, &c));
        bt_status status = copy_func(&c, root->func, &func);
        copy_deinit(&c);
        BT_TRY(status);
        BT_TRY(version_set_func(builder, root->global, func));
    }
    return NULL;
}

static bt_status set_all(void *state, bt_module_builder *builder)
{
    BT_TRY(set_roots(state, builder));
    return set_members(state, builder);
}

/* Whether there is anything to do: closures that only hold and call need nothing. */
static int is_lifted(const struct lifting *l)
{
    for (uint32_t i = 0; i < l->captures.groups.len; i++) {
        const struct group *group = l->captures.groups.at[i];
        if (!group->members[0].whole || !group->members[0].is_value)
            return 0;
    }
    return 1;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct lifting l = { .ctx = ctx, .arena = call->scratch, .module = call->module };
    bt_map_init(&l.globals, l.arena, 0);
    bt_map_init(&l.taken, l.arena, 0);
    BT_TRY(captures_read(&l.captures, ctx, l.arena, call->module));
    if (!is_lifted(&l))
        return version_create(ctx, l.module, declare_all, set_all, &l, &l.declared, out);
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

const bt_table bt_passes_language_lambda_lift[] = { BT_PASSES(passes), { 0 } };
