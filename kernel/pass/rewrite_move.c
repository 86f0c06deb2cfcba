/*
 * Emitting a binding before its place: a pass that joins siblings needs their operands.
 *
 * A binding moves up when nothing that it needs stays below, and when moving it cannot
 * be observed: what writes, does I/O or may diverge is not moved, and what reads or may
 * fail does not move across such a binding.
 */
#include "ir/walk.h"
#include "pass/rewrite.h"

enum {
    NEVER_MOVES = BT_EFFECT_KEEPS | BT_EFFECT_DIVERGES,
    STOPS_AT_BARRIERS = BT_EFFECT_READS | BT_EFFECT_FAILS
};

/* ---- what may move ---- */

static bt_status need_effects(bt_rewrite *rw)
{
    if (rw->effects)
        return NULL;
    return bt_effects_create(rw->ctx, rw->module, rw->kept, &rw->effects);
}

/* By position in the block: how many bindings before it nothing impure may cross. */
static const uint32_t *barriers_of(bt_rewrite *rw, const bt_block *block)
{
    struct bt__block_info *info = bt_map_find(&rw->blocks, block);
    if (!info || info->barriers)
        return info ? info->barriers : NULL;
    uint32_t *barriers = BT_NEWS(rw->arena, uint32_t, (size_t)block->nbinding + 1);
    for (uint32_t i = 0; barriers && i < block->nbinding; i++) {
        uint32_t effects = bt_effects_of(rw->effects, block->bindings[i]);
        barriers[i + 1] = barriers[i] + ((effects & NEVER_MOVES) != 0);
    }
    return info->barriers = barriers;
}

static bt_status may_move(bt_rewrite *rw, const bt_value *value, int *out)
{
    const struct bt__cursor *cursor = rw->cursor;
    uint32_t effects = bt_effects_of(rw->effects, value);
    *out = !(effects & NEVER_MOVES);
    if (!*out || !(effects & STOPS_AT_BARRIERS))
        return NULL;
    const uint32_t *barriers = barriers_of(rw, cursor->block);
    if (!barriers)
        return bt_no_memory();
    *out = barriers[bt__rewrite_info(rw, value)->position] == barriers[cursor->position];
    return NULL;
}

/* Closures of a group move together, under the name of the first. */
static const bt_value *unit_of(const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    return closure ? &closure->group->at[0]->base : value;
}

static int is_busy(const bt_rewrite *rw, const bt_value *unit)
{
    for (uint32_t i = 0; i < rw->busy.len; i++) {
        if (unit_of(rw->busy.at[i]) == unit)
            return 1;
    }
    return 0;
}

/* ---- what it needs ---- */

struct step {
    const bt_value *unit;
    const bt_value **needs;
    uint32_t nneed, next;
};

/* A depth-first search over what is not yet emitted. */
struct search {
    bt_rewrite *rw;
    bt_map seen;
    bt_vec(struct step) path;
    bt_vec(const bt_value *) order; /* needed ones first */
    bt_vec(const bt_value *) needs; /* of the unit at hand */
    int is_possible;
};

static bt_status add_need(void *self, const bt_value *user, const bt_value *used)
{
    struct search *s = self;
    const struct bt__info *info = bt__rewrite_info(s->rw, used);
    (void)user;
    if (!bt_value_is_binding(used) || !info || info->block != s->rw->cursor->block ||
        bt__rewrite_find(s->rw, used))
        return NULL;
    return BT_PUSH(s->rw->stack, &s->needs, unit_of(used)) ? NULL : bt_no_memory();
}

static bt_status find_needs(struct search *s, const bt_value *value)
{
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(bt__walk_uses(s->rw->stack, bt_value_region(value, i), add_need, s));
    return bt__value_uses(value, add_need, s);
}

static bt_status enter(struct search *s, const bt_value *unit)
{
    const bt_closure_value *closure = bt_as_closure(unit);
    if (bt_map_find(&s->seen, unit))
        return NULL;
    if (!bt_map_put(&s->seen, unit, s))
        return bt_no_memory();
    BT_TRY(may_move(s->rw, unit, &s->is_possible));
    if (!s->is_possible || is_busy(s->rw, unit)) {
        s->is_possible = 0;
        return NULL;
    }
    s->needs.at = NULL;
    s->needs.len = s->needs.cap = 0;
    for (uint32_t i = 0; closure && i < closure->group->n; i++)
        BT_TRY(find_needs(s, &closure->group->at[i]->base));
    if (!closure)
        BT_TRY(find_needs(s, unit));
    struct step step = { unit, s->needs.at, s->needs.len, 0 };
    return BT_PUSH(s->rw->stack, &s->path, step) ? NULL : bt_no_memory();
}

static bt_status find_order(struct search *s, const bt_value *unit)
{
    BT_TRY(enter(s, unit));
    while (s->path.len && s->is_possible) {
        struct step *top = &s->path.at[s->path.len - 1];
        if (top->next < top->nneed) {
            BT_TRY(enter(s, top->needs[top->next++]));
        } else {
            if (!BT_PUSH(s->rw->stack, &s->order, top->unit))
                return bt_no_memory();
            s->path.len--;
        }
    }
    return NULL;
}

/* ---- moving ---- */

static bt_status emit_all(bt_rewrite *rw, uint32_t n, const bt_value *const *order)
{
    struct bt__preset before = rw->b->preset;
    uint32_t selected = bt__builder_select(rw->b, rw->cursor->frame);
    bt_status status = NULL;
    rw->force_depth++;
    for (uint32_t i = 0; i < n && !status; i++)
        status = bt__rewrite_visit(rw, order[i]);
    rw->force_depth--;
    (void)bt__builder_select(rw->b, selected);
    rw->b->preset = before;
    return status;
}

static bt_status force(bt_rewrite *rw, const bt_value *old)
{
    struct search s = { .rw = rw, .is_possible = 1 };
    BT_TRY(need_effects(rw));
    bt_map_init(&s.seen, rw->stack, 0);
    BT_TRY(find_order(&s, unit_of(old)));
    return s.is_possible ? emit_all(rw, s.order.len, s.order.at) : NULL;
}

/* Emits a binding of the block at hand before its place, if that can be. */
static bt_status try_force(bt_rewrite *rw, const bt_value *old)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    if (!bt_value_is_binding(old) || !info || info->block != rw->cursor->block)
        return NULL;
    const void *mark = bt_arena_mark(rw->stack);
    BT_TRY(force(rw, old));
    bt_arena_release(rw->stack, mark);
    return NULL;
}

bt_status bt_rewrite_operand(bt_rewrite *rw, const bt_value *old, const bt_value **out)
{
    const struct bt__info *info = bt__rewrite_info(rw, old);
    const bt_value *now = NULL;
    if (!info || !info->block || bt__rewrite_cursor(rw, info->block)) {
        if (!bt__rewrite_find(rw, old))
            BT_TRY(try_force(rw, old));
        now = bt__rewrite_find(rw, old);
        if (!now && !bt_value_is_binding(old))
            return bt__rewrite_map(rw, old, out);
    }
    *out = now == &bt__rewrite_dropped ? NULL : now;
    return NULL;
}
