/* Primitive functions: named, and called in place of what they compute. */
#include "fusion/primitives.h"

#include <baton/op.h>

#include "common/statements.h"

enum { NSLOT = 1 << 12 };

/* A primitive function, among those of equal hash. */
struct known_primitive {
    const bt_func *func;
    const char *name;
    struct known_primitive *next;
};

/* A binding that goes: into the call of `name` at the group's root. */
struct member {
    const char *name; /* of a root; NULL of the others */
    uint32_t ndim;
    const bt_type *const *dims;
    uint32_t narg;
    const bt_value *const *args; /* old values */
    uint32_t nmember;
    const bt_value *const *members;
    uint32_t nresult; /* not 0: fields of what the call gives */
    const bt_value *const *results;
};

/* ---- what can be part of one ---- */

/* What dims may have in them. */
static uint32_t open_of(const struct primitives *p)
{
    return !p->takes_dims   ? 0
           : p->takes_found ? BT_HAS_VAR | BT_HAS_ANONYMOUS | BT_HAS_OPAQUE
                            : BT_HAS_VAR;
}

/* Whether the bytes can be counted. What cannot be is left to executors that find dims as
 * they run: there may be none of it. */
static int is_countable(const struct primitives *p, const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return !p->takes_found ||
           bt_dims_nbytes(p->store, bt_tensor_dtype(type), shape->n, shape->dims);
}

/* Tensors whose dims are numbers, or follow from dims of the function around. */
static int is_known(const struct primitives *p, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    const uint32_t open = open_of(p);
    if (!tuple)
        return shape && shape->n <= BT_MAX_RANK && !(shape->base.has & ~open) &&
               bt_dtype_is_stored(bt_tensor_dtype(type)) && is_countable(p, type);
    for (uint32_t i = 0; i < tuple->n; i++) {
        if (!is_known(p, tuple->at[i]))
            return 0;
    }
    return 1;
}

/* What is compared once the result is there stays outside. So does what is broadcast by a
 * dim that a run finds to one that is no number: of two dims of a function the result has
 * another type. */
static int is_checked_before(const struct primitives *p, const bt_call *call)
{
    const uint32_t open = open_of(p);
    for (uint32_t i = 0; i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        if ((check->left->has | check->right->has) & ~open ||
            (check->relation == BT_CHECK_BROADCAST && check->right->has &&
             check->left->has & (BT_HAS_OPAQUE | BT_HAS_ANONYMOUS)))
            return 0;
    }
    return 1;
}

/* Dims found at run time. */
struct found {
    bt_store *store;
    bt_map shown; /* by operands */
    int is_new;   /* another one was met */
    int is_whole; /* no memory was refused */
};

static const bt_type *meet_shown(bt_subst *subst, const bt_type *leaf)
{
    struct found *f = subst->state;
    if (leaf->kind == BT_TYPE_OPAQUE)
        f->is_whole &= bt_map_put(&f->shown, leaf, f);
    return NULL;
}

static const bt_type *meet_used(bt_subst *subst, const bt_type *leaf)
{
    struct found *f = subst->state;
    f->is_new |= leaf->kind == BT_TYPE_OPAQUE && !bt_map_find(&f->shown, leaf);
    return NULL;
}

static void walk_found(struct found *f, bt_subst *subst, const bt_type *type)
{
    if (type->has & BT_HAS_OPAQUE)
        f->is_whole &= bt_type_subst(f->store, subst, type) != NULL;
}

/* Whether its operands show all dims that the binding has in its type, checks and
 * attributes: then they are known before it is computed. So are those that a formula of the
 * call's own takes by an attribute. */
static int is_shown(const struct primitives *p, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    struct found found = { .store = p->store, .is_whole = 1 };
    bt_subst shown = { .leaf = meet_shown, .state = &found };
    bt_subst used = { .leaf = meet_used, .state = &found };
    if (!p->takes_found)
        return 1;
    bt_map_init(&found.shown, p->arena, 0);
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        walk_found(&found, &shown, bt_value_operand(value, i)->type);
    if (call && call->callee_kind == BT_CALLEE_OP && call->op->formula_attr)
        found.is_whole &= bt_attrs_subst(p->store, &shown, call->op->attrs,
                                         call->op->attrs_nbytes, call->attrs) != NULL;
    walk_found(&found, &used, value->type);
    for (uint32_t i = 0; call && i < call->ncheck; i++) {
        walk_found(&found, &used, call->checks[i].left);
        walk_found(&found, &used, call->checks[i].right);
    }
    for (uint32_t i = 0; call && call->contents && i < call->contents->n; i++)
        walk_found(&found, &used, call->contents->dims[i]);
    if (call && call->callee_kind == BT_CALLEE_OP && call->op->attrs)
        found.is_whole &= bt_attrs_subst(p->store, &used, call->op->attrs,
                                         call->op->attrs_nbytes, call->attrs) != NULL;
    return found.is_whole && !found.is_new;
}

int primitives_can_have(const struct primitives *p, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    if (call && (call->callee_kind != BT_CALLEE_OP || !is_checked_before(p, call) ||
                 bt_effects_of(p->effects, value) & BT_EFFECT_UNMERGED))
        return 0;
    // what it is stated to hold is compared outside, where that does not follow
    if (call && !statement_follows(p->ctx, p->arena, p->old, call))
        return 0;
    if (!call && value->kind != BT_VALUE_TUPLE && value->kind != BT_VALUE_PROJ)
        return 0;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        if (!is_known(p, bt_value_operand(value, i)->type))
            return 0;
    }
    return !bt_map_find(&p->outside, value) && is_known(p, value->type) &&
           is_shown(p, value);
}

/* ---- names ---- */

/* A name that no global has: the operators', then a number. */
static bt_status new_name(struct primitives *p, const char *base, const char **out)
{
    for (uint32_t i = 0;; i++) {
        bt_text text;
        bt_text_init(&text, p->arena);
        bt_text_addf(&text, i ? "%s_%u" : "%s", base, i);
        const char *name = bt_text_get(&text);
        *out = name ? bt_name_of(p->store, name) : NULL;
        if (!*out)
            return bt_no_memory();
        if (!bt_map_find(&p->names, *out) && !bt_module_find(p->old, *out))
            return bt_map_put(&p->names, *out, p) ? NULL : bt_no_memory();
    }
}

/* The global of a function: an equal one where there is. */
static bt_status intern(struct primitives *p, const struct primitive *made,
                        const char **name)
{
    struct known_primitive **slot = &p->known[bt_func_hash(made->func) & (NSLOT - 1)];
    for (const struct known_primitive *k = *slot; k; k = k->next) {
        if (bt_func_equal(bt_store_registry(p->store), k->func, made->func)) {
            *name = k->name;
            return NULL;
        }
    }
    struct known_primitive *k = BT_NEW(p->arena, struct known_primitive);
    if (!k)
        return bt_no_memory();
    BT_TRY(new_name(p, made->base, &k->name));
    bt_func named = *made->func;
    named.name = k->name;
    BT_TRY(bt_func_create(p->ctx, p->store, &named, &k->func));
    k->next = *slot;
    *slot = k;
    bt_global global = { .name = k->name,
                         .kind = BT_GLOBAL_FUNC,
                         .type = bt_func_type_of(p->store, k->func),
                         .func = k->func };
    *name = k->name;
    return global.type ? bt_module_builder_set(p->module, &global, 1) : bt_no_memory();
}

bt_status primitives_add(struct primitives *p, const struct primitive_group *group,
                         const struct primitive *made)
{
    struct member *root = BT_NEW(p->arena, struct member);
    if (!root)
        return bt_no_memory();
    BT_TRY(intern(p, made, &root->name));
    root->narg = made->narg;
    root->args = made->args;
    root->ndim = made->ndim;
    root->dims = made->dims;
    root->nmember = group->nmember;
    root->members = group->members;
    root->nresult = group->nresult;
    root->results = group->results;
    for (uint32_t i = 0; i + 1 < group->nmember; i++) {
        struct member *inner = BT_NEW(p->arena, struct member);
        if (!inner || !bt_map_put(&p->members, group->members[i], inner))
            return bt_no_memory();
    }
    return bt_map_put(&p->members, group->members[group->nmember - 1], root)
               ? NULL
               : bt_no_memory();
}

/* ---- all blocks ---- */

struct run {
    struct primitives p;
    bt_status (*group)(void *state, struct primitives *, const bt_block *);
    void *state;
};

/* A call whose type comes out of its operands' elements stays outside, and so do the calls
 * that say what these are: of what a function returns nobody knows the elements. */
static bt_status keep_outside(struct primitives *p, const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    bt_vec(const bt_value *) queue = { 0 };
    if (!call || call->callee_kind != BT_CALLEE_OP ||
        type_follows_from_types(p->ctx, p->arena, p->old, call))
        return NULL;
    if (!BT_PUSH(p->arena, &queue, value))
        return bt_no_memory();
    while (queue.len) {
        const bt_value *next = queue.at[--queue.len];
        const int is_through = next == value || !bt_as_call(next);
        if (!bt_map_put(&p->outside, next, p))
            return bt_no_memory();
        for (uint32_t i = 0; is_through && i < bt_value_noperand(next); i++) {
            const bt_value *operand = bt_value_operand(next, i);
            const bt_call *told = bt_as_call(operand);
            if ((told ? told->contents != NULL
                      : bt_as_tuple(operand) || bt_as_proj(operand)) &&
                !BT_PUSH(p->arena, &queue, operand))
                return bt_no_memory();
        }
    }
    return NULL;
}

/* Each block with those nested in it behind it. */
static bt_status group_func(struct run *r, const bt_func *func)
{
    bt_blocks blocks = { 0 };
    r->p.takes_dims = !func->nwhere; // what is known of them would be lost
    BT_TRY(bt_block_nested(r->p.arena, func->block, &blocks));
    for (uint32_t n = 0; n < blocks.len; n++) {
        for (uint32_t i = 0; i < blocks.at[n]->nbinding; i++)
            BT_TRY(keep_outside(&r->p, blocks.at[n]->bindings[i]));
    }
    for (uint32_t n = 0; n < blocks.len; n++)
        BT_TRY(r->group(r->state, &r->p, blocks.at[n]));
    return NULL;
}

static bt_status make_primitives(struct run *r, bt_module **out)
{
    const bt_module *m = r->p.old;
    BT_TRY(bt_module_builder_create(r->p.ctx, r->p.store, m, &r->p.module));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < m->nglobal; i++) {
        const bt_global *global = m->globals[i];
        if (global->kind == BT_GLOBAL_FUNC && !bt_func_is_primitive(global->func))
            status = group_func(r, global->func);
    }
    if (!status)
        return bt_module_builder_finish(r->p.module, 1, out);
    bt_module_builder_destroy(r->p.module);
    return status;
}

/* ---- rewriting ---- */

static bt_status call_primitive(bt_rewrite *rw, const struct member *root,
                                const bt_value **out)
{
    const struct run *r = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value **args = BT_NEWS(r->p.arena, const bt_value *, root->narg);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = root->narg,
                     .args = args,
                     .ntype_arg = root->ndim,
                     .type_args = root->dims };
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < root->narg; i++)
        BT_TRY(bt_rewrite_operand(rw, root->args[i], &args[i]));
    for (uint32_t i = 0; i < root->nmember; i++)
        bt_rewrite_from(rw, root->members[i]);
    BT_TRY(bt_build_global(b, root->name, &call.callee));
    BT_TRY(bt_build_call(b, &call, out));
    const bt_value *fields = *out;
    for (uint32_t i = 0; i < root->nresult; i++) {
        BT_TRY(bt_build_proj(b, fields, i, out));
        if (i + 1 < root->nresult)
            BT_TRY(bt_rewrite_replace(rw, root->results[i], *out));
    }
    return NULL;
}

/* What a call holds follows from its operands, which may be results of functions now, and of
 * these nobody knows the elements: said again, it would have to be compared. */
static bt_status without_statement(bt_rewrite *rw, const bt_call *old,
                                   const bt_value **out)
{
    const struct run *r = bt_rewrite_state(rw);
    bt_builder *b = bt_rewrite_builder(rw);
    const bt_value **args = BT_NEWS(r->p.arena, const bt_value *, old->narg);
    bt_call call = *old;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < old->narg; i++)
        BT_TRY(bt_rewrite_operand(rw, old->args[i], &args[i]));
    call.args = args;
    call.contents = NULL;
    bt_builder_type(b, old->base.type);
    return bt_build_call(b, &call, out);
}

static bt_status visit(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const struct run *r = bt_rewrite_state(rw);
    const struct member *member = bt_map_find(&r->p.members, old);
    const bt_call *call = bt_as_call(old);
    if (!member && call && call->contents && !bt_map_find(&r->p.outside, old) &&
        statement_follows(r->p.ctx, r->p.arena, r->p.old, call))
        return without_statement(rw, call, out);
    if (!member)
        return NULL;
    if (member->name)
        return call_primitive(rw, member, out);
    bt_rewrite_drop(rw);
    return NULL;
}

static int wants(bt_rewrite *rw, const bt_global *global)
{
    (void)rw;
    return !bt_func_is_primitive(global->func);
}

static const bt_rewriter rewriter = { .any = visit, .wants = wants };

bt_status primitives_run(bt_ctx *ctx, bt_pass_call *call,
                         bt_status (*group)(void *state, struct primitives *,
                                            const bt_block *),
                         void *state, uint32_t takes_found, bt_module **out)
{
    struct run r = { .group = group, .state = state };
    r.p.takes_found = takes_found;
    const void *effects;
    bt_module *extended;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    r.p.ctx = ctx;
    r.p.arena = call->scratch;
    r.p.store = call->module->store;
    r.p.old = call->module;
    r.p.effects = effects;
    r.p.known = BT_NEWS(r.p.arena, struct known_primitive *, NSLOT);
    if (!r.p.known)
        return bt_no_memory();
    bt_map_init(&r.p.outside, r.p.arena, 0);
    bt_map_init(&r.p.members, r.p.arena, 0);
    bt_map_init(&r.p.names, r.p.arena, 0);
    BT_TRY(make_primitives(&r, &extended));
    // calls can be built once their callees are in the module
    bt_pass_call inner = *call;
    inner.module = extended;
    bt_status status = bt_rewrite_module(ctx, &inner, &rewriter, &r, out);
    bt_module_unref(extended);
    return status;
}
