/* Code of plans as it is made: words, and the loops that they are of. */
#include "plan_code.h"

/* ---- words ---- */

void plan_fail(struct plan_builder *b, bt_status status)
{
    b->status = b->status ? b->status : status;
}

void plan_put(struct plan_builder *b, plan_words *to, uint32_t word)
{
    if (!BT_PUSH(b->arena, to, word))
        plan_fail(b, bt_no_memory());
}

void plan_put_first(struct plan_builder *b, plan_words *to, uint32_t instruction,
                    uint32_t a)
{
    if (a > PLAN_MOST)
        plan_fail(b,
                  bt_fail(b->ctx, BT_ERR_LIMIT, "%s: a kernel has more than %d registers",
                          b->from->name, PLAN_MOST));
    plan_put(b, to, instruction | a << 8);
}

void plan_put_integer(struct plan_builder *b, plan_words *to, int64_t value)
{
    plan_put(b, to, (uint32_t)(uint64_t)value);
    plan_put(b, to, (uint32_t)((uint64_t)value >> 32));
}

void plan_put_all(struct plan_builder *b, plan_words *to, const plan_words *from)
{
    for (uint32_t i = 0; i < from->len; i++)
        plan_put(b, to, from->at[i]);
}

void plan_put_set(struct plan_builder *b, uint32_t reg, int64_t value)
{
    plan_put_first(b, &b->phase->before, PLAN_SET, reg);
    plan_put_integer(b, &b->phase->before, value);
}

void plan_put_updates(struct plan_builder *b, plan_words *to, const struct plan_scope *s)
{
    plan_put(b, to, s->addresses.len);
    plan_put(b, to, s->integers.len);
    for (uint32_t i = 0; i < s->addresses.len + s->integers.len; i++) {
        const struct plan_step *step = i < s->addresses.len
                                           ? &s->addresses.at[i]
                                           : &s->integers.at[i - s->addresses.len];
        plan_put(b, to, step->reg);
        plan_put_integer(b, to, step->by);
    }
}

uint32_t plan_put_skip(struct plan_builder *b, plan_words *to)
{
    plan_put(b, to, 0);
    return to->len - 1;
}

void plan_skip_to_here(struct plan_builder *b, plan_words *code, uint32_t skip)
{
    if (!b->status)
        code->at[skip] = code->len - skip - 1;
}

uint32_t plan_unsupported(struct plan_builder *b, const char *what)
{
    if (!b->status)
        plan_fail(b, bt_fail(b->ctx, BT_ERR_UNSUPPORTED, "%s: %s in a vectorised program",
                             b->from->name, what));
    return 0;
}

/* ---- scopes ---- */

struct plan_scope *plan_open_scope(struct plan_builder *b, uint32_t index)
{
    struct plan_scope *s = BT_NEW(b->arena, struct plan_scope);
    if (!s) {
        plan_fail(b, bt_no_memory());
        return NULL;
    }
    s->up = b->scope;
    s->index = index;
    bt_map_init(&s->values, b->arena, 0);
    b->scope = s;
    return s;
}

struct plan_scope *plan_scope_of(const struct plan_builder *b, uint64_t indices)
{
    struct plan_scope *s = b->scope;
    while (s->up && !(indices & bt_index_bit(s->index)))
        s = s->up;
    return s;
}

void plan_step_integer(struct plan_builder *b, struct plan_scope *s, uint32_t reg,
                       int64_t by)
{
    const struct plan_step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->integers, step))
        plan_fail(b, bt_no_memory());
}

void plan_step_address(struct plan_builder *b, struct plan_scope *s, uint32_t reg,
                       int64_t by)
{
    const struct plan_step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->addresses, step))
        plan_fail(b, bt_no_memory());
}
