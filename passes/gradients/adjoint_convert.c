/*
 * Data and its adjoint, one from the other: what a gradient declaration takes and gives has
 * the types that its function has.
 *
 *     def @Tree.gradient(%like: Tree, %d: Tree.adjoint) -> Tree       zeros are filled in, what is
 *                                                                     no float is copied
 *     def @Tree.seed(%data: Tree) -> Tree.adjoint
 *     def @Tree.ones(%data: Tree) -> Tree.adjoint                     ones in place of its floats
 */
#include "gradients/adjoint_data.h"

static const char *const names[] = { "gradient", "seed", "ones" };

/* ---- which ones ---- */

bt_status adjoint_convert_want(struct differentiation *diff, const bt_type *type,
                               enum adjoint_conversion kind)
{
    const bt_list_type *tuple = bt_as_tuple_type(type), *apply = bt_as_apply_type(type);
    const bt_adt_def *def = adjoint_def(type);
    struct adjoint_data *data;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(adjoint_convert_want(diff, tuple->at[i], kind));
    if (!def || !adjoint_has(diff, type))
        return NULL;
    BT_TRY(adjoint_data_want(diff, type));
    BT_TRY(adjoint_data_of(diff, type, &data));
    if (data->converts[kind])
        return NULL;
    data->converts[kind] = 1;
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++) {
            const bt_type *field;
            BT_TRY(adjoint_field_type(diff, def->ctors[i], k, apply->at + 1, &field));
            BT_TRY(adjoint_convert_want(diff, field, kind));
        }
    }
    return NULL;
}

/* ---- uses ---- */

static bt_status convert(struct adjoint *a, enum adjoint_conversion kind,
                         const bt_value *data, const bt_value *adjoint,
                         const bt_value **out)
{
    const bt_value *both[] = { data, adjoint };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = adjoint ? 2 : 1,
                     .args = both };
    struct adjoint_data *of;
    const bt_type *type;
    BT_TRY(adjoint_type_of(a->diff, data->type, &type));
    call.ntype_arg = bt_as_apply_type(type)->n - 1;
    call.type_args = bt_as_apply_type(type)->at + 1;
    BT_TRY(adjoint_data_of(a->diff, data->type, &of));
    BT_TRY(bt_build_global(a->copy.b, of->converters[kind], &call.callee));
    bt_builder_type(a->copy.b, kind == ADJOINT_FILL ? data->type : type);
    return bt_build_call(a->copy.b, &call, out);
}

bt_status adjoint_fill(struct adjoint *a, const bt_value *like, const bt_value *adjoint,
                       const bt_value **out)
{
    return convert(a, ADJOINT_FILL, like, adjoint, out);
}

bt_status adjoint_leaves(struct adjoint *a, const bt_value *now,
                         enum adjoint_conversion kind, adjoint_values *out)
{
    adjoint_values all = { 0 };
    BT_TRY(adjoint_split(a, now, &all));
    for (uint32_t i = 0; i < all.len; i++) {
        const bt_value *leaf = NULL;
        if (adjoint_has(a->diff, all.at[i]->type)) {
            leaf = all.at[i];
            if (bt_as_apply_type(leaf->type))
                BT_TRY(convert(a, kind, leaf, NULL, &leaf));
            else if (kind == ADJOINT_ONES)
                BT_TRY(adjoint_filled(&a->copy, 1, leaf, leaf->type, &leaf));
        }
        if (!BT_PUSH(a->copy.arena, out, leaf))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- their functions ---- */

/* One of the functions, which is of data and perhaps of its adjoint. */
struct converter {
    struct adjoint *a;
    const struct adjoint_data *data;
    enum adjoint_conversion kind;
    const bt_adt_def *def;      /* of the data */
    const bt_type *const *args; /* of the data type */
    const bt_type *primal, *adjoint;
    const bt_value *d; /* NULL: it is what is made */
};

static bt_status converter_init(struct differentiation *diff,
                                const struct adjoint_data *data,
                                enum adjoint_conversion kind, struct converter *out)
{
    bt_store *store = diff->module->store;
    const bt_adt_def *now = data->def;
    *out = (struct converter){ .data = data, .kind = kind };
    out->def = adjoint_def(data->primal);
    out->args = bt_as_apply_type(data->primal)->at + 1;
    out->primal = data->primal;
    out->adjoint = bt_type_apply(store, now, now->nvar, now->vars);
    return out->adjoint ? NULL : bt_store_why(diff->ctx, store);
}

/* K(f..) of the adjoints of its fields, where %x.. are those of the data. */
static bt_status fill_ctor(const struct converter *f, const bt_ctor *ctor,
                           const bt_param *const *x, const bt_value **out)
{
    struct copy *c = &f->a->copy;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, ctor->nfield), **given;
    adjoint_fields fields = { 0 };
    uint32_t next = 0;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++)
        BT_TRY(adjoint_fields_of(f->a, &x[i]->base, &fields));
    BT_TRY(adjoint_open(f->a->diff, c, f->d, ctor, &fields, &given));
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        adjoint_values adjoints = { 0 };
        for (uint32_t k = 0; k < bt_type_nleaf(x[i]->base.type); k++) {
            const bt_value *leaf = NULL;
            if (adjoint_has(f->a->diff, adjoint_leaf(x[i]->base.type, k)))
                leaf = given[next++];
            if (!BT_PUSH(c->arena, &adjoints, leaf))
                return bt_no_memory();
        }
        BT_TRY(adjoint_join(f->a, &x[i]->base, adjoints.at, &args[i]));
    }
    return adjoint_build_ctor(c, ctor, f->primal, ctor->nfield, args, out);
}

static bt_status strip_ctor(const struct converter *f, const bt_ctor *ctor,
                            const bt_param *const *x, const bt_value **out)
{
    struct copy *c = &f->a->copy;
    adjoint_values leaves = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < ctor->nfield; i++)
        BT_TRY(adjoint_leaves(f->a, &x[i]->base, f->kind, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++) {
        if (leaves.at[i])
            leaves.at[n++] = leaves.at[i];
    }
    return adjoint_build_ctor(c, adjoint_ctor_of(f->data->def, ctor), f->adjoint, n,
                              leaves.at, out);
}

static bt_status make_clause(const struct converter *f, const bt_ctor *ctor,
                             bt_clause *out)
{
    struct copy *c = &f->a->copy;
    const bt_type **fields = BT_NEWS(c->arena, const bt_type *, ctor->nfield);
    const bt_param **params;
    const bt_value *made;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++)
        BT_TRY(adjoint_field_type(f->a->diff, ctor, i, f->args, &fields[i]));
    BT_TRY(adjoint_ctor_pattern(c, ctor, fields, &params, &out->pattern));
    BT_TRY(bt_block_begin(c->b, ctor->nfield, params));
    BT_TRY(f->d ? fill_ctor(f, ctor, params, &made) : strip_ctor(f, ctor, params, &made));
    return bt_block_end(c->b, made, &out->block);
}

static bt_status make_func(struct converter *f, bt_func *now)
{
    struct copy *c = &f->a->copy;
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, f->def->nctor);
    const bt_param *params[2];
    const bt_value *made;
    uint32_t n = 1;
    if (!clauses)
        return bt_no_memory();
    BT_TRY(bt_build_param(c->b, "data", f->primal, &params[0]));
    if (f->kind == ADJOINT_FILL) {
        BT_TRY(bt_build_param(c->b, "d", f->adjoint, &params[n++]));
        f->d = &params[1]->base;
    }
    BT_TRY(bt_block_begin(c->b, n, params));
    for (uint32_t i = 0; i < f->def->nctor; i++)
        BT_TRY(make_clause(f, f->def->ctors[i], &clauses[i]));
    BT_TRY(bt_build_match(c->b, &params[0]->base, f->def->nctor, clauses, NULL, &made));
    now->result = made->type;
    return bt_block_end(c->b, made, &now->block);
}

static bt_status define(struct differentiation *diff, const struct adjoint_data *data,
                        enum adjoint_conversion kind)
{
    struct converter f;
    struct adjoint a;
    bt_func now = { .name = data->converters[kind],
                    .span = data->def->span,
                    .nvar = data->def->nvar,
                    .vars = data->def->vars };
    bt_global global = { .name = now.name, .kind = BT_GLOBAL_FUNC, .span = now.span };
    BT_TRY(converter_init(diff, data, kind, &f));
    BT_TRY(adjoint_init(&a, diff, NULL));
    f.a = &a;
    bt_status status = make_func(&f, &now);
    adjoint_deinit(&a);
    BT_TRY(status);
    BT_TRY(bt_func_create(diff->ctx, diff->module->store, &now, &global.func));
    global.type = bt_func_type_of(diff->module->store, global.func);
    return global.type ? bt_module_builder_set(diff->builder, &global, 0)
                       : bt_store_why(diff->ctx, diff->module->store);
}

static bt_status declare(struct differentiation *diff, struct adjoint_data *data,
                         enum adjoint_conversion kind)
{
    bt_store *store = diff->module->store;
    struct converter f;
    BT_TRY(converter_init(diff, data, kind, &f));
    const bt_type *args[] = { f.primal, f.adjoint };
    bt_global global = { .kind = BT_GLOBAL_EXTERN, .span = data->def->span };
    BT_TRY(adjoint_name(diff, &diff->taken, f.def->name, names[kind], &global.name));
    data->converters[kind] = global.name;
    global.type = bt_func_type_close(
        store, data->def->nvar, data->def->vars, kind == ADJOINT_FILL ? 2 : 1, args,
        kind == ADJOINT_FILL ? f.primal : f.adjoint, 0, NULL);
    return global.type ? bt_module_builder_set(diff->builder, &global, 0)
                       : bt_store_why(diff->ctx, store);
}

bt_status adjoint_convert_declare(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->datas.len; i++) {
        struct adjoint_data *data = diff->datas.at[i];
        for (uint32_t kind = 0; kind < ADJOINT_NCONVERSION; kind++) {
            if (data->converts[kind])
                BT_TRY(declare(diff, data, (enum adjoint_conversion)kind));
        }
    }
    return NULL;
}

bt_status adjoint_convert_define(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->datas.len; i++) {
        const struct adjoint_data *data = diff->datas.at[i];
        for (uint32_t kind = 0; kind < ADJOINT_NCONVERSION; kind++) {
            if (data->converts[kind])
                BT_TRY(define(diff, data, (enum adjoint_conversion)kind));
        }
    }
    return NULL;
}
