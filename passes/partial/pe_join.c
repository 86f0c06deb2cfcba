/*
 * What the ways of a branch give, put together: what is the same on all of them is known; tuples,
 * and data of one constructor, are joined field by field; what differs is a part that the branch
 * gives. So are cells that nothing else reaches: the branch gives what they hold behind it. Where
 * one escaped on some way, it does on all.
 */
#include "partial/pe.h"

enum {
    MAX_PARTS = 64,     /* that a branch gives one by one */
    MAX_JOIN_DEPTH = 32 /* of what is looked at for them */
};

/* ---- what the sides give ---- */

static int are_same(const struct pe_value *a, const struct pe_value *b)
{
    return a == b || (a->kind == b->kind && a->type == b->type &&
                      ((a->kind == PE_CONST && a->object == b->object) ||
                       (a->kind == PE_GLOBAL && a->global == b->global)));
}

static int are_like(const struct pe_value *a, const struct pe_value *b)
{
    return a->kind == b->kind && a->n == b->n &&
           (a->kind == PE_TUPLE || (a->kind == PE_DATA && a->ctor == b->ctor &&
                                    a->type == b->type && a->is_exact && b->is_exact));
}

static int all_are(int (*are)(const struct pe_value *, const struct pe_value *),
                   uint32_t n, struct pe_value *const *values)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!are(values[0], values[i]))
            return 0;
    }
    return 1;
}

static bt_status join_values(struct pe *p, struct pe_join *j,
                             struct pe_value *const *values, uint32_t depth,
                             struct pe_value **out);

static bt_status join_fields(struct pe *p, struct pe_join *j,
                             struct pe_value *const *values, uint32_t depth,
                             struct pe_value **out)
{
    const struct pe_value *first = values[0];
    struct pe_value **fields = BT_NEWS(p->arena, struct pe_value *, first->n);
    *out = NULL;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < first->n; i++) {
        struct pe_value **of = BT_NEWS(p->arena, struct pe_value *, j->nside);
        if (!of)
            return bt_no_memory();
        for (uint32_t k = 0; k < j->nside; k++)
            of[k] = values[k]->fields[i];
        BT_TRY(join_values(p, j, of, depth + 1, &fields[i]));
        if (!fields[i])
            return NULL;
    }
    j->ngain += first->kind == PE_DATA;
    return first->kind == PE_TUPLE ? pe_tuple(p, first->like, first->n, fields, out)
                                   : pe_data(p, first->like, first->type, 1, first->ctor,
                                             first->n, fields, out);
}

/* *out NULL: parts of it have types that do not agree. */
static bt_status join_values(struct pe *p, struct pe_join *j,
                             struct pe_value *const *values, uint32_t depth,
                             struct pe_value **out)
{
    const uint32_t nbefore = j->parts.len;
    // of one side alone: what is there outside of it
    if (j->nside == 1 ? values[0]->home != j->sides[0].block
                      : all_are(are_same, j->nside, values)) {
        *out = values[0];
        return NULL;
    }
    if (depth < MAX_JOIN_DEPTH && all_are(are_like, j->nside, values)) {
        const uint64_t ngain = j->ngain;
        BT_TRY(join_fields(p, j, values, depth, out));
        if (*out && j->parts.len <= MAX_PARTS)
            return NULL;
        j->parts.len = j->joined.len = nbefore;
        j->ngain = ngain;
    }
    *out = NULL;
    for (uint32_t i = 1; depth && i < j->nside; i++) {
        if (values[i]->type != values[0]->type)
            return NULL;
    }
    struct pe_value *part = *out = BT_NEW(p->arena, struct pe_value);
    if (!part || !BT_PUSH(p->arena, &j->parts, values) ||
        !BT_PUSH(p->arena, &j->joined, part))
        return bt_no_memory();
    *part = (struct pe_value){ .kind = PE_DYNAMIC,
                               .type = values[0]->type,
                               .home = p->block,
                               .like = values[0]->like };
    return NULL;
}

static bt_status join_results(struct pe *p, struct pe_join *j, struct pe_value **out)
{
    struct pe_value **values = BT_NEWS(p->arena, struct pe_value *, j->nside);
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < j->nside; i++)
        values[i] = j->sides[i].value;
    BT_TRY(join_values(p, j, values, 0, out));
    return NULL;
}

/* ---- cells ---- */

static bt_status find_cells(struct pe *p, struct pe_join *j)
{
    bt_map seen;
    pe_cells differ = { 0 };
    bt_map_init(&seen, p->arena, 0);
    for (uint32_t i = 0; i < j->nside; i++)
        BT_TRY(pe_store_differ(p, &j->store, &j->sides[i].store, j->ncell, &differ));
    j->cells.len = j->held.len = 0;
    for (uint32_t i = 0; i < differ.len; i++) {
        const struct pe_value *cell = p->cells.at[differ.at[i]];
        if (bt_map_find(&seen, cell))
            continue;
        if (!bt_map_put(&seen, cell, p) || !BT_PUSH(p->arena, &j->cells, differ.at[i]))
            return bt_no_memory();
    }
    return NULL;
}

/* What one of them holds behind the branch. */
static bt_status join_cell(struct pe *p, struct pe_join *j, uint32_t id)
{
    struct pe_value **values = BT_NEWS(p->arena, struct pe_value *, j->nside);
    struct pe_content held = { .value = NULL };
    int is_known = 1;
    if (!values)
        return bt_no_memory();
    for (uint32_t i = 0; i < j->nside; i++) {
        const struct pe_content *c = pe_store_get(&j->sides[i].store, id);
        held.escaped |= c->escaped;
        values[i] = c->value;
        is_known = is_known && pe_is_valid(&j->sides[i].store, c);
    }
    if (!held.escaped)
        BT_TRY(join_values(p, j, values, 1, &held.value));
    else if (is_known && j->nside > 1 && all_are(are_same, j->nside, values))
        held.value = values[0];
    return BT_PUSH(p->arena, &j->held, held) ? NULL : bt_no_memory();
}

/* The operands of the parts, and cells that escape, at the end of a side. */
static bt_status make_parts(struct pe *p, struct pe_join *j, uint32_t index)
{
    struct pe_side *side = &j->sides[index];
    struct pe_block *around = p->block;
    const bt_value *operand;
    p->block = side->block;
    p->store_now = side->store;
    for (uint32_t i = 0; i < j->parts.len; i++)
        BT_TRY(pe_operand(p, j->parts.at[i][index], &operand));
    for (uint32_t i = 0; i < j->cells.len; i++) {
        if (j->held.at[i].escaped)
            BT_TRY(pe_operand(p, p->cells.at[j->cells.at[i]], &operand));
    }
    side->store = p->store_now;
    p->block = around;
    return NULL;
}

/* Goes on with what all sides agree in. */
static bt_status join_stores(struct pe *p, struct pe_join *j)
{
    int same = 1;
    for (uint32_t i = 1; i < j->nside; i++)
        same = same && j->sides[i].store.epoch == j->sides[0].store.epoch;
    p->store_now = j->store;
    p->store_now.epoch = j->sides[0].store.epoch;
    if (!same)
        pe_forget(p);
    for (uint32_t i = 0; i < j->cells.len; i++) {
        struct pe_content held = j->held.at[i];
        held.epoch = p->store_now.epoch;
        BT_TRY(pe_store_set(p, &p->store_now, j->cells.at[i], &held));
    }
    return NULL;
}

bt_status pe_join(struct pe *p, struct pe_join *j, struct pe_value **out)
{
    uint64_t nescaped;
    do { // what is passed as an operand may let cells escape
        nescaped = p->nescaped;
        j->parts.len = j->joined.len = 0;
        j->ngain = 0;
        BT_TRY(join_results(p, j, out));
        BT_TRY(find_cells(p, j));
        for (uint32_t i = 0; i < j->cells.len; i++)
            BT_TRY(join_cell(p, j, j->cells.at[i]));
        for (uint32_t i = 0; i < j->nside; i++)
            BT_TRY(make_parts(p, j, i));
    } while (p->nescaped != nescaped);
    return join_stores(p, j);
}
