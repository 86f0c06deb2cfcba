/* What the functions of levels are made of. */
#include "batches/levels_code.h"
#include "common/patterns.h"

/* ---- types ---- */

static const bt_type *find_term(bt_subst *subst, const bt_type *leaf)
{
    const struct levels_code *m = subst->state;
    const bt_func *func = m->l->of->func;
    for (uint32_t i = 0; i < func->nvar; i++) {
        if (func->vars[i] == leaf)
            return m->terms[i];
    }
    return NULL;
}

/* A type of the function, as it is here. */
static bt_status here(struct levels_code *m, const bt_type *type, const bt_type **out)
{
    bt_subst subst = { .leaf = find_term, .state = m };
    *out = m->terms ? bt_type_subst(m->store, &subst, type) : type;
    return *out ? NULL : bt_store_why(m->l->ctx, m->store);
}

/* Rows of a tensor. */
static bt_status rows_of(struct levels_code *m, const bt_type *rows, const bt_type *type,
                         const bt_type **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const bt_type *dims[BT_MAX_RANK];
    if (shape->n + 1 > BT_MAX_RANK)
        return bt_fail(m->l->ctx, BT_ERR_LIMIT, "a tensor of more than %d dims",
                       BT_MAX_RANK);
    dims[0] = rows;
    for (uint32_t i = 0; i < shape->n; i++)
        dims[i + 1] = shape->dims[i];
    *out = bt_type_tensor(m->store, bt_type_shape(m->store, shape->n + 1, dims),
                          bt_as_tensor_type(type)->dtype);
    return *out ? here(m, *out, out) : bt_store_why(m->l->ctx, m->store);
}

bt_status levels_push(struct levels_code *m, levels_types *out, const bt_type *type)
{
    if (!type)
        return bt_store_why(m->l->ctx, m->store);
    return BT_PUSH(m->l->arena, out, type) ? NULL : bt_no_memory();
}

/* An integer for each of `n`, in as many rows. */
static const bt_type *table(struct levels_code *m, const bt_type *rows, uint32_t n)
{
    const bt_type *dims[] = { rows, bt_dim(m->store, n) };
    return bt_type_tensor(m->store, bt_type_shape(m->store, n ? 2 : 1, dims),
                          bt_type_dtype(m->store, BT_INT64));
}

/* Dims of fields of a data type are its own for each value; of what is taken apart, they are
 * fresh ones. */
static const bt_type *any_rows(struct levels_code *m, int is_field)
{
    return is_field ? bt_type_hole(m->store, BT_KIND_DIM) : bt_dim_opaque(m->store, NULL);
}

/* top, count, roots; then of each constructor its table, and of each field what it holds. */
bt_status levels_node_types(struct levels_code *m, int is_field, levels_types *out)
{
    const struct levels *l = m->l;
    const bt_type *number = bt_type_scalar(m->store, BT_INT64), *type;
    BT_TRY(levels_push(m, out, number));
    BT_TRY(levels_push(m, out, number));
    BT_TRY(levels_push(m, out, table(m, any_rows(m, is_field), 0)));
    for (uint32_t i = 0; i < l->nctor; i++) {
        const struct levels_ctor *c = &l->ctors[i];
        const bt_type *rows = any_rows(m, is_field);
        BT_TRY(levels_push(m, out, table(m, rows, 2 + c->nbelow)));
        for (uint32_t k = 0; k < c->ctor->nfield; k++) {
            if (!c->is_held[k])
                continue;
            BT_TRY(rows_of(m, rows, c->fields[k], &type));
            BT_TRY(levels_push(m, out, type));
        }
    }
    return out->len <= MAX_FIELDS
               ? NULL
               : bt_fail(
                     l->ctx, BT_ERR_LIMIT,
                     "batch-levels: data with more than %d tensors in its constructors",
                     MAX_FIELDS);
}

static bt_status leaf_types(struct levels_code *m, const bt_type *type,
                            const bt_type *rows, levels_types *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(leaf_types(m, tuple->at[i], rows, out));
    if (tuple)
        return NULL;
    BT_TRY(rows_of(m, rows, type, &type));
    return levels_push(m, out, type);
}

bt_status levels_row_types(struct levels_code *m, int is_field, levels_types *out)
{
    const bt_type *rows = any_rows(m, is_field);
    return rows ? leaf_types(m, m->l->of->func->result, rows, out)
                : bt_store_why(m->l->ctx, m->store);
}

uint32_t levels_table_at(const struct levels *l, uint32_t ctor)
{
    uint32_t at = 3;
    for (uint32_t i = 0; i < ctor; i++)
        at += 1 + l->ctors[i].nheld;
    return at;
}

/* ---- small calls ---- */

const bt_value *levels_int(struct levels_code *m, int64_t value)
{
    return chain_scalar(&m->chain, BT_INT64, (double)value);
}

const bt_value *levels_plus(struct levels_code *m, const bt_value *a, const bt_value *b)
{
    return chain_op2(&m->chain, "add", NULL, a, b);
}

/* Of one: itself. */
bt_status levels_joined(struct levels_code *m, const levels_values *parts,
                        const bt_value **out)
{
    const bt_value *tuple;
    *out = parts->at[0];
    BT_TRY(m->chain.status);
    if (parts->len == 1)
        return NULL;
    BT_TRY(bt_build_tuple(m->b, parts->len, parts->at, &tuple));
    return bt_build(m->b, "concatenate", "axis=0", &tuple, 1, out);
}

/* Zeros; rows: of as many rows as that has, NULL: none. */
bt_status levels_zeros(struct levels_code *m, const bt_value *rows, const bt_type *type,
                       const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    char dtype[BT_DTYPE_NAME_SIZE];
    bt_text text;
    bt_dtype_name(bt_tensor_dtype(type), dtype, sizeof(dtype));
    bt_text_init(&text, m->l->arena);
    bt_text_addf(&text, "%s", rows ? "a: int64[n]" : "");
    for (uint32_t i = 1; i < shape->n; i++)
        bt_text_addf(&text, "%sd%u", text.len ? ", " : "", i);
    bt_text_addf(&text, "%sy: %s[i0 in %s", text.len ? " => " : "", dtype,
                 rows ? "n" : "0");
    for (uint32_t i = 1; i < shape->n; i++)
        bt_text_addf(&text, ", i%u in d%u", i, i);
    bt_text_addf(&text, "] = %s(0)", dtype);
    const bt_type *dims =
        bt_type_shape(m->store, shape->n - 1, shape->n > 1 ? shape->dims + 1 : NULL);
    if (!dims || !bt_text_get(&text))
        return dims ? bt_no_memory() : bt_store_why(m->l->ctx, m->store);
    return bt_build_formula(m->b, dims, rows != NULL, &rows, bt_text_get(&text), out);
}

bt_status levels_construct(struct levels_code *m, const bt_adt_def *def,
                           const levels_values *fields, const bt_value **out)
{
    const bt_func *func = m->l->of->func;
    const bt_call call = { .callee_kind = BT_CALLEE_CTOR,
                           .ctor = def->ctors[0],
                           .narg = fields->len,
                           .args = fields->at };
    const bt_type *type =
        bt_type_apply(m->store, def, func->nvar, m->terms ? m->terms : func->vars);
    BT_TRY(m->chain.status);
    if (!type)
        return bt_store_why(m->l->ctx, m->store);
    bt_builder_type(m->b, type);
    return bt_build_call(m->b, &call, out);
}

bt_status levels_build_call(struct levels_code *m, const char *name,
                            const levels_values *args, const bt_value **out)
{
    const bt_func *func = m->l->of->func;
    bt_call c = { .callee_kind = BT_CALLEE_VALUE,
                  .narg = args->len,
                  .args = args->at,
                  .ntype_arg = func->nvar,
                  .type_args = m->terms ? m->terms : func->vars };
    BT_TRY(m->chain.status);
    BT_TRY(bt_build_global(m->b, name, &c.callee));
    return bt_build_call(m->b, &c, out);
}

bt_status levels_add(struct levels_code *m, levels_values *out, const bt_value *value)
{
    BT_TRY(m->chain.status);
    return BT_PUSH(m->l->arena, out, value) ? NULL : bt_no_memory();
}

/* ---- matches of one constructor ---- */

static bt_status begin_match(struct levels_code *m, const bt_value *data,
                             const bt_ctor *ctor, const char *const *names,
                             const levels_types *fields, levels_values *out)
{
    const bt_param **params = BT_NEWS(m->l->arena, const bt_param *, fields->len);
    BT_TRY(m->chain.status);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < fields->len; i++) {
        BT_TRY(bt_build_param(m->b, names[i < 3 ? i : 3], fields->at[i], &params[i]));
        BT_TRY(levels_add(m, out, &params[i]->base));
    }
    if (m->nopen == MAX_FIELDS)
        return bt_fail(m->l->ctx, BT_ERR_LIMIT,
                       "batch-levels: data with more than %d parts below", MAX_FIELDS);
    m->data[m->nopen] = data;
    BT_TRY(pattern_ctor(m->store, m->l->arena, ctor, params, &m->patterns[m->nopen]));
    m->nopen++;
    return bt_block_begin(m->b, fields->len, params);
}

bt_status levels_open_nodes(struct levels_code *m, const bt_value *nodes,
                            levels_values *out)
{
    levels_types fields = { 0 };
    BT_TRY(levels_node_types(m, 0, &fields));
    static const char *const names[] = { "top", "count", "roots", "table" };
    return begin_match(m, nodes, m->l->nodes->ctors[0], names, &fields, out);
}

bt_status levels_open_rows(struct levels_code *m, const bt_value *rows,
                           levels_values *out)
{
    levels_types fields = { 0 };
    BT_TRY(levels_row_types(m, 0, &fields));
    static const char *const names[] = { "rows", "rows", "rows", "rows" };
    return begin_match(m, rows, m->l->rows->ctors[0], names, &fields, out);
}

/* Ends those that were opened since there were `nopen`. */
bt_status levels_end_matches(struct levels_code *m, uint32_t nopen,
                             const bt_value *result, const bt_value **out)
{
    *out = result;
    while (m->nopen > nopen) {
        bt_clause clause = { .pattern = m->patterns[--m->nopen] };
        BT_TRY(bt_block_end(m->b, *out, &clause.block));
        BT_TRY(bt_build_match(m->b, m->data[m->nopen], 1, &clause, NULL, out));
    }
    return NULL;
}

/* ---- functions ---- */

/* Of the dims of the function: others in the type of a global. */
bt_status levels_declare_func(struct levels_code *m, bt_module_builder *builder,
                              const char *name, const levels_types *args,
                              const bt_type *result)
{
    const bt_func *func = m->l->of->func;
    const bt_global global = { .name = name,
                               .kind = BT_GLOBAL_EXTERN,
                               .span = func->span,
                               .type = bt_func_type_close(
                                   m->store, func->nvar, func->vars, args->len, args->at,
                                   result, func->nwhere, func->wheres) };
    return global.type ? bt_module_builder_set(builder, &global, 0)
                       : bt_store_why(m->l->ctx, m->store);
}

bt_status levels_define_func(struct levels_code *m, bt_module_builder *builder,
                             const char *name, const bt_block *block)
{
    const bt_func *like = m->l->of->func;
    const bt_func fields = { .name = name,
                             .span = like->span,
                             .nvar = like->nvar,
                             .vars = like->vars,
                             .nwhere = like->nwhere,
                             .wheres = like->wheres,
                             .result = block->result->type,
                             .block = block };
    bt_global global = { .name = name, .kind = BT_GLOBAL_FUNC, .span = like->span };
    BT_TRY(bt_func_create(m->l->ctx, m->store, &fields, &global.func));
    return bt_module_builder_set(builder, &global, 0);
}

const bt_type *levels_instance(struct levels_code *m, const bt_adt_def *def)
{
    return bt_type_apply(m->store, def, m->l->of->func->nvar, m->l->of->func->vars);
}

bt_status levels_side_types(struct levels_code *m, const struct levels_ctor *c,
                            levels_types *out)
{
    const bt_func *func = m->l->of->func;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (i != m->l->param)
            BT_TRY(levels_push(m, out, func->block->params[i]->base.type));
    }
    for (uint32_t i = 0; i < c->ctor->nfield; i++) {
        if (c->is_held[i])
            BT_TRY(levels_push(m, out, c->fields[i]));
    }
    for (uint32_t i = 0; i < c->nbelow; i++)
        BT_TRY(levels_push(m, out, func->result));
    return NULL;
}
