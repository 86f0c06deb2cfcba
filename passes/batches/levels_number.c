/* Numbers of nodes, and the tables that they become. */
#include "batches/levels_code.h"
#include "common/patterns.h"

/* One row: its level, its number, those of what is below. */
static bt_status own_row(struct levels_code *m, const levels_values *numbers,
                         const bt_value **out)
{
    const bt_value *tuple;
    BT_TRY(m->chain.status);
    BT_TRY(bt_build_tuple(m->b, numbers->len, numbers->at, &tuple));
    const bt_value *row = chain_op1(&m->chain, "stack", "axis=0", tuple);
    *out = chain_op1f(&m->chain, row, "reshape", "newshape=[1, %u]", numbers->len);
    return m->chain.status;
}

/* Column i of all nodes: those of each part, and the node's own rows, if it has some there. */
static bt_status join_tables(struct levels_code *m, uint32_t npart,
                             const levels_values *parts, const bt_value *const *own,
                             levels_values *fields)
{
    levels_types all = { 0 };
    BT_TRY(levels_node_types(m, 0, &all));
    for (uint32_t i = 3; i < all.len; i++) {
        levels_values column = { 0 };
        const bt_value *value;
        for (uint32_t p = 0; p < npart; p++)
            BT_TRY(levels_add(m, &column, parts[p].at[i]));
        if (own && own[i])
            BT_TRY(levels_add(m, &column, own[i]));
        if (column.len)
            BT_TRY(levels_joined(m, &column, &value));
        else
            BT_TRY(levels_zeros(m, NULL, all.at[i], &value));
        BT_TRY(levels_add(m, fields, value));
    }
    return NULL;
}

/* Nodes of a value, from those of what is below. */
static bt_status number_ctor(struct levels_code *m, uint32_t which,
                             const bt_param *const *vars, const bt_value *first,
                             const bt_value **out)
{
    const struct levels_ctor *c = &m->l->ctors[which];
    const uint32_t nopen = m->nopen;
    const bt_value *next = levels_plus(m, first, levels_int(m, 1)),
                   *top = levels_int(m, 0);
    const bt_value *own[MAX_FIELDS] = { 0 }, *nodes;
    levels_values *parts = BT_NEWS(m->l->arena, levels_values, c->nbelow);
    levels_values row = { 0 }, fields = { 0 };
    uint32_t n = 0, at = levels_table_at(m->l, which);
    if (!parts)
        return bt_no_memory();
    BT_TRY(levels_add(m, &row, NULL));
    BT_TRY(levels_add(m, &row, first));
    for (uint32_t i = 0; i < c->ctor->nfield; i++) {
        levels_values args = { 0 };
        if (!c->is_below[i])
            continue;
        BT_TRY(levels_add(m, &row, next));
        BT_TRY(levels_add(m, &args, &vars[i]->base));
        BT_TRY(levels_add(m, &args, next));
        BT_TRY(levels_build_call(m, m->l->number, &args, &nodes));
        BT_TRY(levels_open_nodes(m, nodes, &parts[n]));
        next = levels_plus(m, next, parts[n].at[1]);
        top = chain_op2(&m->chain, "maximum", NULL, top, parts[n++].at[0]);
    }
    row.at[0] = top = c->nbelow ? levels_plus(m, top, levels_int(m, 1)) : top;
    BT_TRY(own_row(m, &row, &own[at++]));
    for (uint32_t i = 0; i < c->ctor->nfield; i++) {
        if (c->is_held[i])
            own[at++] = chain_op1(&m->chain, "expand_dims", "axis=0", &vars[i]->base);
    }
    BT_TRY(levels_add(m, &fields, top));
    BT_TRY(levels_add(m, &fields, chain_op2(&m->chain, "subtract", NULL, next, first)));
    BT_TRY(
        levels_add(m, &fields, chain_op1(&m->chain, "reshape", "newshape=[1]", first)));
    BT_TRY(join_tables(m, n, parts, own, &fields));
    BT_TRY(levels_construct(m, m->l->nodes, &fields, &nodes));
    return levels_end_matches(m, nopen, nodes, out);
}

static bt_status number_clause(struct levels_code *m, uint32_t which,
                               const bt_value *first, bt_clause *out)
{
    const struct levels_ctor *c = &m->l->ctors[which];
    const uint32_t n = c->ctor->nfield;
    const bt_param **vars = BT_NEWS(m->l->arena, const bt_param *, n);
    const bt_value *nodes;
    if (!vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt_build_param(m->b, "x", c->fields[i], &vars[i]));
    BT_TRY(pattern_ctor(m->store, m->l->arena, c->ctor, vars, &out->pattern));
    BT_TRY(bt_block_begin(m->b, n, vars));
    BT_TRY(number_ctor(m, which, vars, first, &nodes));
    return bt_block_end(m->b, nodes, &out->block);
}

static bt_status begin_numbers(struct levels_code *m, const bt_type *data,
                               const bt_param **params)
{
    BT_TRY(bt_build_param(m->b, "data", data, &params[0]));
    BT_TRY(bt_build_param(m->b, "first", bt_type_scalar(m->store, BT_INT64), &params[1]));
    return bt_block_begin(m->b, 2, params);
}

bt_status levels_define_number(struct levels_code *m, bt_module_builder *builder)
{
    struct levels *l = m->l;
    bt_clause *clauses = BT_NEWS(l->arena, bt_clause, l->nctor);
    const bt_param *params[2];
    const bt_value *nodes;
    const bt_block *block;
    if (!clauses)
        return bt_no_memory();
    BT_TRY(begin_numbers(m, l->match->data->type, params));
    for (uint32_t i = 0; i < l->nctor; i++)
        BT_TRY(number_clause(m, i, &params[1]->base, &clauses[i]));
    BT_TRY(bt_build_match(m->b, &params[0]->base, l->nctor, clauses, NULL, &nodes));
    BT_TRY(bt_block_end(m->b, nodes, &block));
    return levels_define_func(m, builder, l->number, block);
}

/* Of no value. */
static bt_status no_nodes(struct levels_code *m, const bt_value **out)
{
    levels_types all = { 0 };
    levels_values fields = { 0 };
    const bt_value *roots;
    BT_TRY(levels_node_types(m, 0, &all));
    BT_TRY(levels_add(m, &fields, levels_int(m, 0)));
    BT_TRY(levels_add(m, &fields, levels_int(m, 0)));
    BT_TRY(levels_zeros(m, NULL, all.at[2], &roots));
    BT_TRY(levels_add(m, &fields, roots));
    BT_TRY(join_tables(m, 0, NULL, NULL, &fields));
    return levels_construct(m, m->l->nodes, &fields, out);
}

static bt_status more_nodes(struct levels_code *m, const bt_param *const *cells,
                            const bt_value *first, const bt_value **out)
{
    const uint32_t nopen = m->nopen;
    levels_values parts[2] = { { 0 }, { 0 } }, fields = { 0 }, roots = { 0 };
    const bt_value *nodes;
    for (uint32_t i = 0; i < 2; i++) {
        levels_values args = { 0 };
        BT_TRY(levels_add(m, &args, &cells[i]->base));
        BT_TRY(levels_add(m, &args, i ? levels_plus(m, first, parts[0].at[1]) : first));
        BT_TRY(levels_build_call(m, i ? m->l->forest : m->l->number, &args, &nodes));
        BT_TRY(levels_open_nodes(m, nodes, &parts[i]));
        BT_TRY(levels_add(m, &roots, parts[i].at[2]));
    }
    BT_TRY(levels_add(
        m, &fields,
        chain_op2(&m->chain, "maximum", NULL, parts[0].at[0], parts[1].at[0])));
    BT_TRY(levels_add(m, &fields, levels_plus(m, parts[0].at[1], parts[1].at[1])));
    BT_TRY(levels_joined(m, &roots, &nodes));
    BT_TRY(levels_add(m, &fields, nodes));
    BT_TRY(join_tables(m, 2, parts, NULL, &fields));
    BT_TRY(levels_construct(m, m->l->nodes, &fields, &nodes));
    return levels_end_matches(m, nopen, nodes, out);
}

bt_status levels_define_forest(struct levels_code *m, bt_module_builder *builder)
{
    struct levels *l = m->l;
    const bt_type *const cell_types[] = { l->list->at[1], &l->list->base };
    bt_clause clauses[2];
    const bt_param *params[2], *cells[2];
    const bt_value *nodes;
    const bt_block *block;
    BT_TRY(begin_numbers(m, &l->list->base, params));
    for (uint32_t i = 0; i < 2; i++)
        BT_TRY(bt_build_param(m->b, "x", cell_types[i], &cells[i]));
    BT_TRY(pattern_ctor(m->store, l->arena, l->cons, cells, &clauses[0].pattern));
    BT_TRY(pattern_ctor(m->store, l->arena, l->nil, NULL, &clauses[1].pattern));
    BT_TRY(bt_block_begin(m->b, 2, cells));
    BT_TRY(more_nodes(m, cells, &params[1]->base, &nodes));
    BT_TRY(bt_block_end(m->b, nodes, &clauses[0].block));
    BT_TRY(bt_block_begin(m->b, 0, NULL));
    BT_TRY(no_nodes(m, &nodes));
    BT_TRY(bt_block_end(m->b, nodes, &clauses[1].block));
    BT_TRY(bt_build_match(m->b, &params[0]->base, 2, clauses, NULL, &nodes));
    BT_TRY(bt_block_end(m->b, nodes, &block));
    return levels_define_func(m, builder, l->forest, block);
}
