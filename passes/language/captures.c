#include "language/captures.h"

#include "common/vars.h"

/* ---- who binds what ---- */

static const struct function *owner_of(const struct captures *c, const void *what)
{
    return bt_map_find(&c->owners, what);
}

static bt_status set_owner(struct captures *c, const void *what, const struct function *f)
{
    return bt_map_put(&c->owners, what, (void *)(uintptr_t)f) ? NULL : bt_no_memory();
}

struct member *captures_member(const struct captures *c, const bt_value *value)
{
    return bt_map_find(&c->members, value);
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

static bt_status need_term(struct captures *c, struct group *group, const bt_type *leaf,
                           int *changed)
{
    const struct function *owner = owner_of(c, leaf);
    if (!owner || !is_inside(group->around, owner) || bt_map_find(&group->has_term, leaf))
        return NULL;
    *changed = 1;
    return bt_map_put(&group->has_term, leaf, group) &&
                   BT_PUSH(c->arena, &group->terms, leaf)
               ? NULL
               : bt_no_memory();
}

/* Calls `meet` for the variables and opaque dims of a type. */
struct leaves {
    struct captures *c;
    const struct function *function;
    bt_status status;
    int changed;
};

static const bt_type *meet_leaf(bt_subst *subst, const bt_type *leaf)
{
    struct leaves *leaves = subst->state;
    struct captures *c = leaves->c;
    const struct function *f = leaves->function;
    if (leaves->status || !bt_type_is_free(leaf))
        return NULL;
    // the first value of such a type brings it forth
    if (leaf->kind == BT_TYPE_OPAQUE && !owner_of(c, leaf))
        leaves->status = set_owner(c, leaf, f);
    if (!leaves->status && f->group)
        leaves->status = need_term(c, f->group, leaf, &leaves->changed);
    return NULL;
}

static bt_status meet_type(struct captures *c, const struct function *f,
                           const bt_type *type, int *changed)
{
    struct leaves leaves = { .c = c, .function = f };
    bt_subst subst = { .leaf = meet_leaf, .state = &leaves };
    if (!type || !(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    if (!bt_type_subst(c->module->store, &subst, type))
        return bt_store_why(c->ctx, c->module->store);
    *changed |= leaves.changed;
    return leaves.status;
}

/* The terms of a value's type, where they are visible around the group. */
static bt_status need_value(struct captures *c, struct group *group,
                            const bt_value *value, int *changed)
{
    const struct member *member = captures_member(c, value);
    const struct function *owner = owner_of(c, value);
    if (!owner || is_inside_group(owner, group) ||
        bt_map_find(&group->has_value, value) ||
        (member && member->function.group == group))
        return NULL;
    *changed = 1;
    if (!bt_map_put(&group->has_value, value, group) ||
        !BT_PUSH(c->arena, &group->values, value))
        return bt_no_memory();
    return meet_type(c, &group->members[0].function, value->type, changed);
}

static bt_status need_group(struct captures *c, const struct function *f,
                            struct group *group)
{
    if (!f->group || bt_map_find(&f->group->has_use, group))
        return NULL;
    return bt_map_put(&f->group->has_use, group, c) &&
                   BT_PUSH(c->arena, &f->group->uses, group)
               ? NULL
               : bt_no_memory();
}

/* Until nothing is added: groups use each other. */
static bt_status settle(struct captures *c)
{
    int changed = 1;
    while (changed) {
        changed = 0;
        for (uint32_t i = c->groups.len; i-- > 0;) {
            struct group *group = c->groups.at[i];
            for (uint32_t u = 0; u < group->uses.len; u++) {
                const struct group *used = group->uses.at[u];
                for (uint32_t k = 0; k < used->values.len; k++)
                    BT_TRY(need_value(c, group, used->values.at[k], &changed));
                for (uint32_t k = 0; k < used->terms.len; k++)
                    BT_TRY(need_term(c, group, used->terms.at[k], &changed));
            }
        }
    }
    return NULL;
}

/* ---- reading a function ---- */

static bt_status meet_use(struct captures *c, const struct function *f,
                          const bt_value *value, int is_callee)
{
    struct member *member = captures_member(c, value);
    int changed;
    if (member) {
        struct group *group = member->function.group;
        BT_TRY(need_group(c, f, group));
        if (is_callee || is_inside_group(f, group))
            return NULL;
        member->is_value = 1;
    }
    return f->group ? need_value(c, f->group, value, &changed) : NULL;
}

static bt_status read_call(struct captures *c, const struct function *f,
                           const bt_call *call)
{
    int changed;
    struct leaves leaves = { .c = c, .function = f };
    bt_subst subst = { .leaf = meet_leaf, .state = &leaves };
    const bt_op *op = call->op;
    if (call->callee_kind == BT_CALLEE_OP && op->attrs && call->attrs &&
        !bt_attrs_subst(c->module->store, &subst, op->attrs, op->attrs_nbytes,
                        call->attrs))
        return bt_store_why(c->ctx, c->module->store);
    BT_TRY(leaves.status);
    for (uint32_t i = 0; i < call->ntype_arg; i++)
        BT_TRY(meet_type(c, f, call->type_args[i], &changed));
    for (uint32_t i = 0; i < call->ncheck; i++) {
        BT_TRY(meet_type(c, f, call->checks[i].left, &changed));
        BT_TRY(meet_type(c, f, call->checks[i].right, &changed));
    }
    for (uint32_t i = 0; call->contents && i < call->contents->n; i++)
        BT_TRY(meet_type(c, f, call->contents->dims[i], &changed));
    return NULL;
}

static bt_status read_block(struct captures *c, const struct function *f,
                            const bt_block *block);

static bt_status read_function(struct captures *c, struct function *f)
{
    int changed;
    for (uint32_t i = 0; i < f->func->nvar; i++)
        BT_TRY(set_owner(c, f->func->vars[i], f));
    BT_TRY(read_block(c, f, f->func->block));
    return meet_type(c, f, f->func->result, &changed);
}

static bt_status read_group(struct captures *c, const struct function *f,
                            const bt_closure_group *node)
{
    struct group *group = BT_NEW(c->arena, struct group);
    struct member *members = BT_NEWS(c->arena, struct member, node->n);
    if (!group || !members || !BT_PUSH(c->arena, &c->groups, group))
        return bt_no_memory();
    group->node = node;
    group->around = f;
    group->members = members;
    bt_map_init(&group->has_value, c->arena, 0);
    bt_map_init(&group->has_term, c->arena, 0);
    bt_map_init(&group->has_use, c->arena, 0);
    for (uint32_t i = 0; i < node->n; i++) {
        members[i].closure = node->at[i];
        // one with attributes becomes a function that has them
        if (!node->at[i]->func->attrs.n)
            members[i].whole = bt_closure_flat_call(node->at[i]);
        members[i].function = (struct function){ group, f, node->at[i]->func, f->global };
        if (!bt_map_put(&c->members, node->at[i], &members[i]))
            return bt_no_memory();
        BT_TRY(set_owner(c, node->at[i], f));
    }
    BT_TRY(need_group(c, f, group));
    for (uint32_t i = 0; i < node->n; i++)
        BT_TRY(read_function(c, &members[i].function));
    // what relations promise of the variables around is relied on
    for (; f; f = f->outer) {
        int changed;
        for (uint32_t i = 0; f->func->nwhere && i < f->func->nvar; i++)
            BT_TRY(need_term(c, group, f->func->vars[i], &changed));
    }
    return NULL;
}

/* What is derived has to be seen where that is done: a closure from further out is made there
 * again, of what it uses, and is no value that is held. */
static int is_derived_inside(const struct captures *c, const struct function *f,
                             const bt_value *value)
{
    const struct member *member;
    if (!bt_as_op_call(value, "gradient") && !bt_as_op_call(value, "jvp"))
        return 0;
    member = captures_member(c, bt_value_operand(value, 0));
    return member && member->function.group->around != f &&
           !is_inside_group(f, member->function.group);
}

static bt_status read_binding(struct captures *c, const struct function *f,
                              const bt_value *value)
{
    const bt_call *call = bt_as_call(value);
    const bt_closure_value *closure = bt_as_closure(value);
    int changed;
    if (closure)
        return closure->group->at[0] == closure ? read_group(c, f, closure->group) : NULL;
    for (uint32_t i = 0; i < bt_value_noperand(value); i++)
        BT_TRY(meet_use(c, f, bt_value_operand(value, i),
                        i == 0 && (is_derived_inside(c, f, value) ||
                                   (call && call->callee_kind == BT_CALLEE_VALUE))));
    if (call)
        BT_TRY(read_call(c, f, call));
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(read_block(c, f, bt_value_region(value, i)));
    BT_TRY(set_owner(c, value, f));
    return meet_type(c, f, value->type, &changed);
}

static bt_status read_block(struct captures *c, const struct function *f,
                            const bt_block *block)
{
    int changed;
    uint32_t limit = bt_ctx_limits(c->ctx)->depth;
    if (c->depth >= limit)
        return bt_fail_at(c->ctx, BT_ERR_LIMIT, c->module->store, f->func->span,
                          "lambda-lift: blocks are nested deeper than %u", limit);
    c->depth++;
    for (uint32_t i = 0; i < block->nparam; i++) {
        BT_TRY(set_owner(c, block->params[i], f));
        BT_TRY(meet_type(c, f, block->params[i]->base.type, &changed));
    }
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(read_binding(c, f, block->bindings[i]));
    c->depth--;
    return meet_use(c, f, block->result, 0);
}

bt_status captures_read(struct captures *c, bt_ctx *ctx, bt_arena *arena,
                        const bt_module *module)
{
    *c = (struct captures){ .ctx = ctx, .arena = arena, .module = module };
    bt_map_init(&c->owners, arena, 0);
    bt_map_init(&c->members, arena, 0);
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_global *global = module->globals[i];
        struct function *root = BT_NEW(arena, struct function);
        if (!root)
            return bt_no_memory();
        if (global->kind != BT_GLOBAL_FUNC || bt_func_is_primitive(global->func))
            continue;
        root->global = global;
        root->func = global->func;
        BT_TRY(read_function(c, root));
    }
    return settle(c);
}
