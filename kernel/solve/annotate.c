/*
 * What annotations mean. `_` is not known yet. `?` in a parameter stands for a dim
 * parameter without a name, in a result or on a binding it accepts any dim; `?a` is one
 * and the same dim wherever it stands in a function.
 */
#include "ir/type_walk.h"
#include "solve/solver.h"

struct annotate {
    bt_solver *solver;
    struct bt__function *function;
    const bt_value *of;
    uint32_t how, owner;
    uint32_t is_open; /* something other than a dim is not known */
    bt_status failed;
};

static const bt_type *no_memory(struct annotate *a)
{
    a->failed = bt_no_memory();
    return NULL;
}

/* A dim parameter without a name. */
static const bt_type *new_variable(struct annotate *a)
{
    bt_type_param param = { .kind = BT_KIND_DIM, .low = 0, .high = INT64_MAX, .step = 1 };
    const bt_type *var = bt_type_var_anonymous(a->solver->store, &param);
    return var && BT_PUSH(a->solver->arena, &a->function->vars, var) ? var : no_memory(a);
}

static const bt_type *annotate_dim(struct annotate *a)
{
    const bt_type *dim;
    if (a->how == ANNOTATE_PARAM)
        return new_variable(a);
    dim = a->how == ANNOTATE_DECLARED
              ? bt_dim_opaque(a->solver->store, NULL)
              : bt__hole_new(a->solver, BT_KIND_DIM, a->owner, a->of);
    return dim ? dim : no_memory(a);
}

/* ?a: what it means in this function or in one around it. */
static const bt_type *annotate_named(struct annotate *a, const bt_type *name)
{
    for (const struct bt__function *f = a->function; f; f = f->outer) {
        const bt_type *known = bt_map_find(&f->names, name);
        if (known)
            return known;
    }
    a->solver->has_unnamed |= a->how == ANNOTATE_ATTR;
    if (a->how == ANNOTATE_DECLARED || a->how == ANNOTATE_ATTR)
        return NULL;
    const bt_type *dim = annotate_dim(a);
    if (dim && !bt_map_put(&a->function->names, name, (void *)(uintptr_t)dim))
        return no_memory(a);
    return dim;
}

static int is_declared(const struct bt__function *f, const bt_type *var)
{
    for (; f; f = f->outer) {
        for (uint32_t i = 0; i < f->vars.len; i++) {
            if (f->vars.at[i] == var)
                return 1;
        }
    }
    return 0;
}

static const bt_type *annotate_part(struct annotate *a, const bt_type *leaf)
{
    const bt_var_type *var = (const bt_var_type *)(const void *)leaf;
    if (a->failed)
        return NULL;
    if (leaf->kind == BT_TYPE_OPAQUE)
        return annotate_named(a, leaf);
    if (a->how == ANNOTATE_ATTR)
        return NULL;
    if (leaf->kind == BT_TYPE_VAR && !is_declared(a->function, leaf))
        a->failed = bt_fail_at(a->solver->ctx, BT_ERR_NAME, a->solver->store,
                               a->of ? a->of->span : a->function->func->span,
                               "type parameter %s is not declared by the function",
                               var->name ? var->name : "?");
    if (leaf->kind != BT_TYPE_HOLE)
        return NULL;
    if (bt_type_kind_of(leaf) == BT_KIND_DIM)
        return annotate_dim(a);
    a->is_open = 1;
    if (a->how == ANNOTATE_DECLARED)
        return NULL;
    const bt_type *hole = bt__hole_new(a->solver, bt_type_kind_of(leaf), a->owner, a->of);
    return hole ? hole : no_memory(a);
}

static const bt_type *annotate_leaf(bt__type_walk *walk, const bt_type *leaf)
{
    struct annotate *a = walk->state;
    const bt_type *out = annotate_part(a, leaf);
    return out ? out : a->failed ? NULL : leaf;
}

static bt_status annotate(struct annotate *a, const bt_type *type, const bt_type **out)
{
    bt_solver *s = a->solver;
    if (a->how < ANNOTATE_TERM && bt_type_kind_of(type) != BT_KIND_TYPE)
        return bt_fail_at(s->ctx, BT_ERR_KIND, s->store,
                          a->of ? a->of->span : a->function->func->span,
                          "the annotation %s is of kind %s, but must be a type",
                          bt__show(s, type), bt_kind_name(bt_type_kind_of(type)));
    *out = type;
    if (!(type->has & (BT_HAS_HOLE | BT_HAS_OPAQUE | BT_HAS_VAR)))
        return NULL;
    // without memo: each occurrence of `?` is its own
    bt__type_walk walk = {
        .to = s->store,
        .leaf = annotate_leaf,
        .state = a,
        .wanted = BT_HAS_HOLE | BT_HAS_OPAQUE | BT_HAS_VAR,
        .is_each = 1,
    };
    *out = bt__type_walk_run(&walk, type);
    if (a->failed)
        return a->failed;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

bt_status bt__annotate(bt_solver *s, struct bt__function *function, const bt_type *type,
                       uint32_t how, uint32_t owner, const bt_value *of,
                       const bt_type **out)
{
    struct annotate a = {
        .solver = s, .function = function, .of = of, .how = how, .owner = owner
    };
    *out = NULL;
    return type ? annotate(&a, type, out) : NULL;
}

/* ---- fields of constructors ---- */

struct field {
    bt_solver *solver;
    struct bt__node *node;
    const char *key;
    uint32_t owner, n;
    bt_status failed;
};

static const bt_type *field_leaf(bt__type_walk *walk, const bt_type *leaf)
{
    struct field *f = walk->state;
    const bt_type *dim = leaf;
    const bt_hole_type *hole = (const bt_hole_type *)(const void *)leaf;
    if (leaf->kind != BT_TYPE_HOLE || hole->number)
        return leaf;
    if (!f->owner)
        f->failed = bt__opaque(f->solver, f->node, f->key,
                               (const void *)(uintptr_t)(++f->n), &dim);
    else if (!(dim =
                   bt__hole_new(f->solver, BT_KIND_DIM, f->owner, f->node->slot->value)))
        f->failed = bt_no_memory();
    return f->failed ? NULL : dim;
}

bt_status bt__field_type(bt_solver *s, struct bt__node *node, const void *key,
                         uint32_t owner, const bt_type *type, const bt_type **out)
{
    struct field f = { .solver = s, .node = node, .key = key, .owner = owner };
    bt__type_walk walk = { .to = s->store,
                           .leaf = field_leaf,
                           .state = &f,
                           .wanted = BT_HAS_HOLE,
                           .is_each = 1 };
    *out = type;
    if (!(type->has & BT_HAS_HOLE))
        return NULL;
    *out = bt__type_walk_run(&walk, type);
    if (f.failed)
        return f.failed;
    return *out ? NULL : bt_store_why(s->ctx, s->store);
}

/* ---- functions ---- */

static bt_status begin_params(bt_solver *s, struct bt__function *f)
{
    const bt_block *block = f->func->block;
    f->params = BT_NEWS(s->arena, const bt_type *, block->nparam);
    if (!f->params)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        struct bt__slot *slot = bt__slot_new(s, param);
        if (!slot)
            return bt_no_memory();
        BT_TRY(bt__annotate(s, f, param->type, ANNOTATE_PARAM, 0, param, &f->params[i]));
        if (!f->params[i] && !(f->params[i] = bt__hole_new(s, BT_KIND_TYPE, 0, param)))
            return bt_no_memory();
        slot->function = f;
        slot->type = f->params[i];
    }
    return NULL;
}

static const bt_type *close_type(bt_solver *s, const struct bt__function *f,
                                 const bt_type *result)
{
    return bt_func_type_close(s->store, f->vars.len, f->vars.at, f->func->block->nparam,
                              f->params, result, f->wheres.len, f->wheres.at);
}

/* The type that callers in the same group may use before the body is known. */
static bt_status declare(bt_solver *s, struct bt__function *f)
{
    const bt_type *result;
    struct annotate a = { .solver = s, .function = f, .how = ANNOTATE_DECLARED };
    for (uint32_t i = 0; i < f->func->block->nparam; i++) {
        if (f->params[i]->has & BT_HAS_HOLE)
            return NULL;
    }
    if (!f->func->result)
        return NULL;
    BT_TRY(annotate(&a, f->func->result, &result));
    if (a.is_open)
        return NULL;
    f->declared = close_type(s, f, result);
    return f->declared ? NULL : bt_store_why(s->ctx, s->store);
}

bt_status bt__function_begin(bt_solver *s, const bt_func *func,
                             struct bt__function *outer, struct bt__slot *slot,
                             struct bt__function **out)
{
    struct bt__function *f = BT_NEW(s->arena, struct bt__function);
    if (!f)
        return bt_no_memory();
    *f = (struct bt__function){ .func = func, .outer = outer, .slot = slot };
    f->level = s->level;
    f->result_owner = ++s->nnode;
    bt_map_init(&f->names, s->arena, 0);
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (!BT_PUSH(s->arena, &f->vars, func->vars[i]))
            return bt_no_memory();
    }
    BT_TRY(
        bt__promises_init(&f->promises, s->arena, func, outer ? &outer->promises : NULL));
    for (uint32_t i = 0; i < func->nwhere; i++) {
        if (!BT_PUSH(s->arena, &f->wheres, func->wheres[i]))
            return bt_no_memory();
    }
    BT_TRY(begin_params(s, f));
    BT_TRY(bt__check_dim_params(s, f));
    BT_TRY(declare(s, f));
    BT_TRY(bt__annotate(s, f, func->result, ANNOTATE_VALUE, f->result_owner, NULL,
                        &f->result));
    *out = f;
    return NULL;
}

const bt_type *bt__function_inside(bt_solver *s, struct bt__function *f)
{
    if (f->declared)
        return f->declared;
    if (!f->result)
        f->result = bt__hole_new(s, BT_KIND_TYPE, f->result_owner,
                                 f->slot ? f->slot->value : NULL);
    if (f->result && !f->mono)
        f->mono = bt_func_type_close(s->store, 0, NULL, f->func->block->nparam, f->params,
                                     f->result, 0, NULL);
    return f->mono;
}
