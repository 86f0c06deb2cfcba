/* Values of adjoints: zeros, sums. */
#include "gradients/adjoint_data.h"
#include "common/patterns.h"

bt_status adjoint_build_ctor(struct copy *c, const bt_ctor *ctor, const bt_type *type,
                             uint32_t narg, const bt_value *const *args,
                             const bt_value **out)
{
    const bt_list_type *apply = bt_as_apply_type(type);
    const bt_call call = { .callee_kind = BT_CALLEE_CTOR,
                           .ctor = ctor,
                           .narg = narg,
                           .args = args,
                           .ntype_arg = apply->n - 1,
                           .type_args = apply->at + 1 };
    bt_builder_type(c->b, type);
    return bt_build_call(c->b, &call, out);
}

bt_status adjoint_filled(struct copy *c, int number, const bt_value *like,
                         const bt_type *type, const bt_value **out)
{
    const bt_op *op;
    if (type->has & BT_HAS_OPAQUE || bt_type_layout(type))
        return bt_build(c->b, number ? "ones_like" : "zeros_like", NULL, &like, 1, out);
    const struct {
        const bt_type *shape, *dtype;
    } attrs = { &bt_tensor_shape(type)->base, bt_as_tensor_type(type)->dtype };
    BT_TRY(bt_op_get(c->ctx, number ? "ones" : "zeros", &op));
    return bt_build_op(c->b, op, &attrs, 0, NULL, out);
}

bt_status adjoint_zero(struct differentiation *diff, struct copy *c, const bt_value *like,
                       const bt_type *primal, const bt_value **out)
{
    const bt_type *type;
    if (primal->has & BT_HAS_HOLE)
        primal = like->type;
    if (!adjoint_def(primal))
        return adjoint_filled(c, 0, like, primal, out);
    BT_TRY(adjoint_type_of(diff, primal, &type));
    return adjoint_build_ctor(c, adjoint_def(type)->ctors[0], type, 0, NULL, out);
}

bt_status adjoint_plus(struct differentiation *diff, struct copy *c,
                       const bt_type *primal, const bt_value *const *both,
                       const bt_value **out)
{
    const bt_list_type *apply;
    struct adjoint_data *data;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .narg = 2, .args = both };
    if (!adjoint_def(primal))
        return bt_build(c->b, "add", NULL, both, 2, out);
    apply = bt_as_apply_type(both[0]->type);
    call.ntype_arg = apply->n - 1;
    call.type_args = apply->at + 1;
    BT_TRY(adjoint_data_of(diff, primal, &data));
    BT_TRY(bt_build_global(c->b, data->add, &call.callee));
    bt_builder_type(c->b, both[0]->type);
    return bt_build_call(c->b, &call, out);
}

/* match (%a) { Zero => %b, K.adjoint(..) => match (%b) { Zero => %a, K.adjoint(..) => sums } } */
struct adder {
    struct differentiation *diff;
    struct copy *copy;
    const bt_adt_def *def;
    const bt_type *type;
};

/* A dim that each value brings along is one of its own where a value is taken apart. */
static bt_status fresh_dim(void *state, const bt_type *dim, const bt_type **out)
{
    struct copy *c = state;
    *out = dim->has & BT_HAS_HOLE ? bt_dim_opaque(c->store, NULL) : dim;
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

static bt_status taken_type(struct copy *c, const bt_type *field, const bt_type **out)
{
    const struct dims_map m = { c->ctx, c->arena, c->store, fresh_dim, c };
    *out = field;
    return field->has & BT_HAS_HOLE ? dims_replace(&m, field, out) : NULL;
}

bt_status adjoint_ctor_pattern(struct copy *c, const bt_ctor *ctor,
                               const bt_type *const *fields, const bt_param ***params,
                               const bt_pattern **out)
{
    *params = BT_NEWS(c->arena, const bt_param *, ctor->nfield);
    if (!*params)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        const bt_type *type;
        BT_TRY(taken_type(c, fields[i], &type));
        BT_TRY(bt_build_param(c->b, "d", type, &(*params)[i]));
    }
    return pattern_ctor(c->store, c->arena, ctor, *params, out);
}

static bt_status clause_of(struct copy *c, const bt_pattern *pattern, uint32_t nparam,
                           const bt_param *const *params, const bt_value *result,
                           bt_clause *out)
{
    out->pattern = pattern;
    BT_TRY(bt_block_begin(c->b, nparam, params));
    return bt_block_end(c->b, result, &out->block);
}

static bt_status add_fields(const struct adder *d, const bt_ctor *ctor,
                            const bt_param *const *x, const bt_param *const *y,
                            const bt_value **out)
{
    const bt_value **sums = BT_NEWS(d->copy->arena, const bt_value *, ctor->nfield);
    if (!sums)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        const bt_value *both[] = { &x[i]->base, &y[i]->base };
        const bt_list_type *apply = bt_as_apply_type(both[0]->type);
        if (!apply) {
            BT_TRY(bt_build(d->copy->b, "add", NULL, both, 2, &sums[i]));
            continue;
        }
        bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                         .narg = 2,
                         .args = both,
                         .ntype_arg = apply->n - 1,
                         .type_args = apply->at + 1 };
        for (uint32_t k = 0; k < d->diff->datas.len; k++) {
            const struct adjoint_data *data = d->diff->datas.at[k];
            if (data->def == adjoint_def(both[0]->type))
                BT_TRY(bt_build_global(d->copy->b, data->add, &call.callee));
        }
        bt_builder_type(d->copy->b, both[0]->type);
        BT_TRY(bt_build_call(d->copy->b, &call, &sums[i]));
    }
    return adjoint_build_ctor(d->copy, ctor, d->type, ctor->nfield, sums, out);
}

static bt_status add_ctor(const struct adder *d, const bt_ctor *ctor, const bt_value *a,
                          const bt_value *b, bt_clause *out)
{
    struct copy *c = d->copy;
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, ctor->nfield);
    const bt_param **x, **y;
    const bt_pattern *zero, *other;
    const bt_value *sum;
    bt_clause inner[2];
    if (!types)
        return bt_no_memory();
    BT_TRY(adjoint_ctor_pattern(c, ctor, ctor->fields, &x, &out->pattern));
    BT_TRY(adjoint_ctor_pattern(c, d->def->ctors[0], NULL, &y, &zero));
    BT_TRY(bt_block_begin(c->b, ctor->nfield, x));
    BT_TRY(clause_of(c, zero, 0, NULL, a, &inner[0]));
    // adjoints of one value have the same dims
    for (uint32_t i = 0; i < ctor->nfield; i++)
        types[i] = x[i]->base.type;
    BT_TRY(adjoint_ctor_pattern(c, ctor, types, &y, &other));
    inner[1].pattern = other;
    BT_TRY(bt_block_begin(c->b, ctor->nfield, y));
    BT_TRY(add_fields(d, ctor, x, y, &sum));
    BT_TRY(bt_block_end(c->b, sum, &inner[1].block));
    BT_TRY(bt_build_match(c->b, b, 2, inner, "", &sum));
    return bt_block_end(c->b, sum, &out->block);
}

static bt_status define_add(struct differentiation *diff, struct copy *c,
                            const struct adjoint_data *data)
{
    const bt_adt_def *def = data->def;
    const struct adder d = { diff, c, def,
                             bt_type_apply(c->store, def, def->nvar, def->vars) };
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, def->nctor);
    const bt_param *params[2], **none;
    const bt_value *sum;
    bt_func now = { .name = data->add,
                    .span = def->span,
                    .nvar = def->nvar,
                    .vars = def->vars,
                    .result = d.type };
    bt_global global = { .name = data->add, .kind = BT_GLOBAL_FUNC, .span = def->span };
    if (!d.type || !clauses)
        return d.type ? bt_no_memory() : bt_store_why(c->ctx, c->store);
    BT_TRY(bt_build_param(c->b, "a", d.type, &params[0]));
    BT_TRY(bt_build_param(c->b, "b", d.type, &params[1]));
    BT_TRY(bt_block_begin(c->b, 2, params));
    BT_TRY(adjoint_ctor_pattern(c, def->ctors[0], NULL, &none, &clauses[0].pattern));
    BT_TRY(clause_of(c, clauses[0].pattern, 0, NULL, &params[1]->base, &clauses[0]));
    for (uint32_t i = 1; i < def->nctor; i++)
        BT_TRY(
            add_ctor(&d, def->ctors[i], &params[0]->base, &params[1]->base, &clauses[i]));
    BT_TRY(bt_build_match(c->b, &params[0]->base, def->nctor, clauses, NULL, &sum));
    BT_TRY(bt_block_end(c->b, sum, &now.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &now, &global.func));
    global.type = bt_func_type_of(c->store, global.func);
    return global.type ? bt_module_builder_set(diff->builder, &global, 0)
                       : bt_store_why(c->ctx, c->store);
}

bt_status adjoint_data_define(struct differentiation *diff)
{
    for (uint32_t i = 0; i < diff->datas.len; i++) {
        struct copy c;
        if (diff->datas.at[i]->is_made)
            continue;
        BT_TRY(copy_init(&c, diff->ctx, diff->arena, diff->module));
        bt_status status = define_add(diff, &c, diff->datas.at[i]);
        copy_deinit(&c);
        BT_TRY(status);
    }
    return NULL;
}
