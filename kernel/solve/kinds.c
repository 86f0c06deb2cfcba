/*
 * What definitions and signatures must keep to, beyond the kinds that the constructors of
 * terms check: data types mention their own variables only, and a dim parameter stands
 * where an argument's shape gives it a value.
 */
#include "ir/type_walk.h"
#include "solve/solver.h"

/* ---- data types ---- */

struct field {
    const bt_adt_def *adt;
    const bt_type *wrong; /* a term that must not stand there */
};

static const bt_type *field_leaf(bt__type_walk *walk, const bt_type *leaf)
{
    struct field *field = walk->state;
    int is_own = leaf->kind == BT_TYPE_ADT || leaf->kind == BT_TYPE_BOUND;
    // `?` is a dim that each value of the constructor brings along
    if (leaf->kind == BT_TYPE_HOLE)
        is_own = bt_type_kind_of(leaf) == BT_KIND_DIM;
    for (uint32_t i = 0; i < field->adt->nvar; i++)
        is_own |= field->adt->vars[i] == leaf;
    if (!is_own && !field->wrong)
        field->wrong = leaf;
    return leaf;
}

static bt_status check_field(bt_solver *s, const bt_ctor *ctor, uint32_t index)
{
    const bt_type *type = ctor->fields[index];
    struct field field = { .adt = ctor->adt };
    bt__type_walk walk = { .to = s->store,
                           .leaf = field_leaf,
                           .state = &field,
                           .wanted = BT_HAS_HOLE | BT_HAS_OPAQUE | BT_HAS_VAR };
    if (bt_type_kind_of(type) != BT_KIND_TYPE)
        return bt_fail_at(s->ctx, BT_ERR_KIND, s->store, ctor->adt->span,
                          "field %u of constructor %s is of kind %s, but must be a type",
                          index + 1, ctor->name, bt_kind_name(bt_type_kind_of(type)));
    if (!(type->has & walk.wanted))
        return NULL;
    if (!bt__type_walk_run(&walk, type))
        return bt_store_why(s->ctx, s->store);
    if (!field.wrong)
        return NULL;
    return bt_fail_at(
        s->ctx, BT_ERR_TYPE, s->store, ctor->adt->span,
        "field %u of constructor %s mentions %s, which is no parameter of %s", index + 1,
        ctor->name, bt__show(s, field.wrong), ctor->adt->name);
}

bt_status bt__check_adt(bt_solver *s, const bt_adt_def *adt)
{
    for (uint32_t i = 0; i < adt->nctor; i++) {
        for (uint32_t k = 0; k < adt->ctors[i]->nfield; k++)
            BT_TRY(check_field(s, adt->ctors[i], k));
    }
    return NULL;
}

/* ---- dim parameters ---- */

struct binders {
    bt_map bound; /* variables that some shape gives a value */
    bt_map seen;  /* terms */
};

static int bind_dim(struct binders *b, const bt_type *dim)
{
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        if (!bt_map_put(&b->bound, all.terms[i].atom, b))
            return 0;
    }
    return 1;
}

static int bind_type(void *self, const bt_type *type);

static int bind_all(struct binders *b, uint32_t n, const bt_type *const *at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!bind_type(b, at[i]))
            return 0;
    }
    return 1;
}

/* 0: no memory. */
static int bind_type(void *self, const bt_type *type)
{
    struct binders *b = self;
    const bt_func_type *func = bt_as_func_type(type);
    if (!(type->has & BT_HAS_VAR) || bt_map_find(&b->seen, type))
        return 1;
    if (bt_type_kind_of(type) == BT_KIND_DIM)
        return bind_dim(b, type);
    if (!bt_map_put(&b->seen, type, b))
        return 0;
    return func ? bind_all(b, func->narg, func->args) && bind_type(b, func->result)
                : bt__type_parts(type, bind_type, b);
}

static bt_status check_bound(bt_solver *s, const struct bt__function *f,
                             const struct binders *b)
{
    for (uint32_t i = 0; i < f->vars.len; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)f->vars.at[i];
        if (var->param.kind == BT_KIND_DIM && !bt_map_find(&b->bound, &var->base))
            return bt_fail_at(s->ctx, BT_ERR_TYPE, s->store, f->func->span,
                              "dim parameter %s gets no value: the shape of some "
                              "parameter must have it as a dim",
                              var->name ? var->name : "?");
    }
    return NULL;
}

bt_status bt__check_dim_params(bt_solver *s, const struct bt__function *f)
{
    bt_arena *scratch = bt_ctx_scratch(s->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct binders b;
    // who makes calls of primitive functions states their type arguments
    if (!f->vars.len || bt_dict_find(&f->func->attrs, "primitive"))
        return NULL;
    bt_map_init(&b.bound, scratch, 0);
    bt_map_init(&b.seen, scratch, 0);
    bt_status status = bind_all(&b, f->func->block->nparam, f->params)
                           ? check_bound(s, f, &b)
                           : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}
