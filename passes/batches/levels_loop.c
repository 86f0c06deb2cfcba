/* Results of nodes, level by level. */
#include "batches/levels_code.h"

/* Rows of all results, at these positions. */
bt_status levels_rows_at(struct levels_code *m, const levels_values *rows,
                         const bt_value *at, const bt_value **out)
{
    levels_values taken = { 0 };
    for (uint32_t i = 0; i < rows->len; i++)
        BT_TRY(levels_add(m, &taken,
                          chain_op2(&m->chain, "take", "axis=0", rows->at[i], at)));
    const bt_value *const *leaves = taken.at;
    return leaves_join(m->b, m->l->arena, m->l->of->func->result, &leaves, out);
}

static const bt_value *column(struct levels_code *m, const bt_value *of, uint32_t i)
{
    return chain_op2(&m->chain, "take", "axis=1", of, levels_int(m, i));
}

/* vmap of a side: `shared` are the arguments besides the data, `rows` what its rows hold. */
static bt_status apply_side(struct levels_code *m, const struct levels_ctor *c,
                            const levels_values *shared, const levels_values *rows,
                            const bt_value **out)
{
    levels_values args = { 0 };
    const bt_value *side;
    bt_text axes;
    bt_text_init(&axes, m->l->arena);
    bt_text_addf(&axes, "axes=[");
    BT_TRY(bt_build_global(m->b, c->side, &side));
    BT_TRY(levels_add(m, &args, side));
    for (uint32_t i = 0; i < shared->len + rows->len; i++) {
        const int is_row = i >= shared->len;
        bt_text_addf(&axes, "%s%d", i ? ", " : "", is_row ? 0 : -1);
        BT_TRY(levels_add(m, &args, is_row ? rows->at[i - shared->len] : shared->at[i]));
    }
    bt_text_addf(&axes, "]");
    return bt_text_get(&axes)
               ? bt_build(m->b, "vmap", bt_text_get(&axes), args.at, args.len, out)
               : bt_no_memory();
}

/* Puts results in their rows. */
static bt_status put_rows(struct levels_code *m, const bt_value *result,
                          const bt_value *at, levels_values *rows)
{
    levels_values leaves = { 0 };
    const bt_value *place = chain_op1(&m->chain, "expand_dims", "axis=0", at);
    BT_TRY(m->chain.status);
    BT_TRY(leaves_split(m->b, m->l->arena, result, &leaves));
    for (uint32_t i = 0; i < rows->len; i++) {
        const bt_value *const put[] = { rows->at[i], place, leaves.at[i] };
        BT_TRY(bt_build(m->b, "scatter_nd", NULL, put, 3, &rows->at[i]));
    }
    return NULL;
}

/* The nodes of one constructor that are on level k: NULL: those with nothing below, all. */
bt_status levels_step(struct levels_code *m, uint32_t which, const levels_values *nodes,
                      const levels_values *shared, const bt_value *k, levels_values *rows)
{
    const struct levels_ctor *c = &m->l->ctors[which];
    const uint32_t at = levels_table_at(m->l, which);
    const bt_value *table_rows = nodes->at[at], *result, *chosen = NULL;
    levels_values held = { 0 };
    if (k) {
        const bt_value *is =
            chain_op2(&m->chain, "equal", NULL, column(m, table_rows, 0), k);
        chosen = chain_op1(&m->chain, "reshape", "newshape=[-1]",
                           chain_op1(&m->chain, "argwhere", NULL, is));
        table_rows = chain_op2(&m->chain, "take", "axis=0", table_rows, chosen);
    }
    for (uint32_t i = 0; i < c->nheld; i++) {
        const bt_value *all = nodes->at[at + 1 + i];
        BT_TRY(levels_add(m, &held,
                          k ? chain_op2(&m->chain, "take", "axis=0", all, chosen) : all));
    }
    for (uint32_t i = 0; i < c->nbelow; i++) {
        const bt_value *below;
        BT_TRY(levels_rows_at(m, rows, column(m, table_rows, 2 + i), &below));
        BT_TRY(levels_add(m, &held, below));
    }
    const bt_value *numbers = column(m, table_rows, 1);
    BT_TRY(m->chain.status);
    if (held.len) {
        BT_TRY(apply_side(m, c, shared, &held, &result));
        return put_rows(m, result, numbers, rows);
    }
    // nothing differs from one such node to the next
    levels_values leaves = { 0 };
    BT_TRY(levels_build_call(m, c->side, shared, &result));
    BT_TRY(leaves_split(m->b, m->l->arena, result, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++) {
        const bt_value *const both[] = { leaves.at[i], numbers };
        BT_TRY(bt_build_formula(m->b, NULL, 2, both,
                                "x: t[..], a: int64[n] => y: t[i in n, ..] = x[..]",
                                &leaves.at[i]));
    }
    const bt_value *const *all = leaves.at;
    BT_TRY(leaves_join(m->b, m->l->arena, m->l->of->func->result, &all, &result));
    return put_rows(m, result, numbers, rows);
}

bt_status levels_loop_types(struct levels_code *m, levels_types *out)
{
    const bt_block *block = m->l->of->func->block;
    BT_TRY(levels_push(m, out, bt_type_scalar(m->store, BT_INT64)));
    BT_TRY(levels_push(m, out, levels_instance(m, m->l->nodes)));
    BT_TRY(levels_push(m, out, levels_instance(m, m->l->rows)));
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (i != m->l->param)
            BT_TRY(levels_push(m, out, block->params[i]->base.type));
    }
    return NULL;
}

/* Level k, then those above. */
static bt_status next_level(struct levels_code *m, const bt_param *const *params,
                            uint32_t nparam, const levels_values *nodes,
                            const bt_block **out)
{
    const bt_value *k = &params[0]->base, *now;
    const uint32_t nopen = m->nopen;
    levels_values rows = { 0 }, shared = { 0 }, args = { 0 };
    BT_TRY(bt_block_begin(m->b, 0, NULL));
    BT_TRY(levels_open_rows(m, &params[2]->base, &rows));
    for (uint32_t i = 3; i < nparam; i++)
        BT_TRY(levels_add(m, &shared, &params[i]->base));
    for (uint32_t i = 0; i < m->l->nctor; i++) {
        if (m->l->ctors[i].nbelow)
            BT_TRY(levels_step(m, i, nodes, &shared, k, &rows));
    }
    BT_TRY(levels_construct(m, m->l->rows, &rows, &now));
    BT_TRY(levels_add(m, &args, levels_plus(m, k, levels_int(m, 1))));
    BT_TRY(levels_add(m, &args, &params[1]->base));
    BT_TRY(levels_add(m, &args, now));
    for (uint32_t i = 0; i < shared.len; i++)
        BT_TRY(levels_add(m, &args, shared.at[i]));
    BT_TRY(levels_build_call(m, m->l->loop, &args, &now));
    BT_TRY(levels_end_matches(m, nopen, now, &now));
    return bt_block_end(m->b, now, out);
}

static const char *loop_name(const struct levels_code *m, uint32_t i)
{
    static const char *const names[] = { "k", "nodes", "rows" };
    const bt_block *block = m->l->of->func->block;
    if (i < 3)
        return names[i];
    return block->params[i - 3 + (i - 3 >= m->l->param)]->base.name;
}

bt_status levels_define_loop(struct levels_code *m, bt_module_builder *builder)
{
    levels_types args = { 0 };
    levels_values nodes = { 0 };
    const bt_value *is_above, *result;
    const bt_block *blocks[2], *block;
    BT_TRY(levels_loop_types(m, &args));
    const bt_param **params = BT_NEWS(m->l->arena, const bt_param *, args.len);
    if (!params)
        return bt_no_memory();
    for (uint32_t i = 0; i < args.len; i++)
        BT_TRY(bt_build_param(m->b, loop_name(m, i), args.at[i], &params[i]));
    BT_TRY(bt_block_begin(m->b, args.len, params));
    BT_TRY(levels_open_nodes(m, &params[1]->base, &nodes));
    is_above = chain_op2(&m->chain, "less", NULL, nodes.at[0], &params[0]->base);
    BT_TRY(m->chain.status);
    BT_TRY(bt_block_begin(m->b, 0, NULL));
    BT_TRY(bt_block_end(m->b, &params[2]->base, &blocks[0]));
    BT_TRY(next_level(m, params, args.len, &nodes, &blocks[1]));
    BT_TRY(bt_build_if(m->b, is_above, blocks[0], blocks[1], &result));
    BT_TRY(levels_end_matches(m, 0, result, &result));
    BT_TRY(bt_block_end(m->b, result, &block));
    return levels_define_func(m, builder, m->l->loop, block);
}
