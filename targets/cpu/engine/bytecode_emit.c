/* Code of bytecode as it is made: words, and the loops that they are of. */
#include "bytecode_emit.h"

/* ---- words ---- */

void bytecode_fail(struct bytecode_builder *b, bt_status status)
{
    b->status = b->status ? b->status : status;
}

void bytecode_put(struct bytecode_builder *b, bytecode_words *to, uint32_t word)
{
    if (!BT_PUSH(b->arena, to, word))
        bytecode_fail(b, bt_no_memory());
}

void bytecode_put_first(struct bytecode_builder *b, bytecode_words *to,
                        uint32_t instruction, uint32_t a)
{
    if (a > BYTECODE_MOST)
        bytecode_fail(b, bt_fail(b->ctx, BT_ERR_LIMIT,
                                 "%s: a kernel has more than %d registers", b->from->name,
                                 BYTECODE_MOST));
    bytecode_put(b, to, instruction | a << 8);
}

void bytecode_put_integer(struct bytecode_builder *b, bytecode_words *to, int64_t value)
{
    bytecode_put(b, to, (uint32_t)(uint64_t)value);
    bytecode_put(b, to, (uint32_t)((uint64_t)value >> 32));
}

void bytecode_put_all(struct bytecode_builder *b, bytecode_words *to,
                      const bytecode_words *from)
{
    for (uint32_t i = 0; i < from->len; i++)
        bytecode_put(b, to, from->at[i]);
}

void bytecode_put_set(struct bytecode_builder *b, uint32_t reg, int64_t value)
{
    bytecode_put_first(b, &b->phase->before, BYTECODE_SET, reg);
    bytecode_put_integer(b, &b->phase->before, value);
}

void bytecode_put_updates(struct bytecode_builder *b, bytecode_words *to,
                          const struct bytecode_scope *s)
{
    bytecode_put(b, to, s->addresses.len);
    bytecode_put(b, to, s->integers.len);
    for (uint32_t i = 0; i < s->addresses.len + s->integers.len; i++) {
        const struct bytecode_step *step = i < s->addresses.len
                                               ? &s->addresses.at[i]
                                               : &s->integers.at[i - s->addresses.len];
        bytecode_put(b, to, step->reg);
        bytecode_put_integer(b, to, step->by);
    }
}

uint32_t bytecode_put_skip(struct bytecode_builder *b, bytecode_words *to)
{
    bytecode_put(b, to, 0);
    return to->len - 1;
}

void bytecode_skip_to_here(struct bytecode_builder *b, bytecode_words *code,
                           uint32_t skip)
{
    if (!b->status)
        code->at[skip] = code->len - skip - 1;
}

static uint32_t refuse(struct bytecode_builder *b, uint32_t code, const char *what)
{
    if (!b->status)
        bytecode_fail(b, bt_fail(b->ctx, code, "%s: %s in a vectorised program",
                                 b->from->name, what));
    return 0;
}

uint32_t bytecode_mistake(struct bytecode_builder *b, const char *what)
{
    return refuse(b, BT_ERR_INTERNAL, what);
}

uint32_t bytecode_unsupported(struct bytecode_builder *b, const char *what)
{
    return refuse(b, BT_ERR_UNSUPPORTED, what);
}

/* ---- scopes ---- */

struct bytecode_scope *bytecode_open_scope(struct bytecode_builder *b, uint32_t index)
{
    struct bytecode_scope *s = BT_NEW(b->arena, struct bytecode_scope);
    if (!s) {
        bytecode_fail(b, bt_no_memory());
        return NULL;
    }
    s->up = b->scope;
    s->index = index;
    bt_map_init(&s->values, b->arena, 0);
    b->scope = s;
    return s;
}

struct bytecode_scope *bytecode_scope_of(const struct bytecode_builder *b,
                                         uint64_t indices)
{
    struct bytecode_scope *s = b->scope;
    while (s != b->phase && !(indices & bt_index_bit(s->index)))
        s = s->up;
    return s;
}

void bytecode_step_integer(struct bytecode_builder *b, struct bytecode_scope *s,
                           uint32_t reg, int64_t by)
{
    const struct bytecode_step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->integers, step))
        bytecode_fail(b, bt_no_memory());
}

void bytecode_step_address(struct bytecode_builder *b, struct bytecode_scope *s,
                           uint32_t reg, int64_t by)
{
    const struct bytecode_step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->addresses, step))
        bytecode_fail(b, bt_no_memory());
}
