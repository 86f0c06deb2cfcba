/* Branches: if, match. */
#include "encode.h"

#include <string.h>

/* ---- blocks ---- */

/* What only dies in other branches is let go at the head of this one. */
static bt_status kill_unused(struct vm_encoder *e, const bt_value *owner,
                             const bt_block *block)
{
    const bt_match *match =
        bt_as_match(owner); // its clauses let go of what it takes apart
    const bt_value *data = match ? vm_behind(match->data) : NULL;
    for (uint32_t i = 0; i < bt_value_nregion(owner); i++) {
        const bt_block *other = bt_value_region(owner, i);
        const struct vm_scope *scope = bt_map_find(&e->scopes, other);
        for (uint32_t k = 0; other != block && k < scope->last.len; k++) {
            const bt_value *value = scope->last.at[k].key;
            const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, value);
            int is_here = !reg || value == data ||
                          bt_map_find(&e->owners, value) == scope ||
                          vm_block_uses(e, block, value) || !vm_is_last(e, value);
            for (uint32_t earlier = 0; !is_here && earlier < i; earlier++)
                is_here = bt_value_region(owner, earlier) != block &&
                          vm_block_uses(e, bt_value_region(owner, earlier), value);
            if (is_here || (reg - 1) & VM_SCALAR)
                continue;
            BT_TRY(vm_begin(e, VM_KILL, ((uint32_t)reg - 1) | VM_LAST));
        }
    }
    return NULL;
}

/* Registers as they are before the branches, for each of them; behind them, those that died
 * in them, or were made for them, are free. */
struct branches {
    const bt_value *owner;
    vm_numbers unused; /* at the head of each */
    vm_numbers held;   /* locals at the head of each */
    uint32_t nreg[2];  /* that there were */
    vm_numbers to_end; /* words: jumps that are to go behind them */
    uint32_t target;
    int is_tail;
};

static bt_status begin_branches(struct vm_encoder *e, const bt_value *owner, int is_tail,
                                struct branches *b)
{
    *b = (struct branches){ .owner = owner, .is_tail = is_tail, .target = VM_NO_TARGET };
    if (!is_tail)
        BT_TRY(vm_define(e, owner, &b->target));
    b->nreg[0] = e->types[0].len;
    b->nreg[1] = e->types[1].len;
    for (uint32_t i = 0; i < e->unused.len; i++) {
        if (!BT_PUSH(e->scratch, &b->unused, e->unused.at[i]))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < e->holders.len; i++) {
        const uint32_t row = (uint32_t)(uintptr_t)e->holders.at[i].value - 1;
        if (e->locals.at[row].to == UINT32_MAX && !BT_PUSH(e->scratch, &b->held, row))
            return bt_no_memory();
    }
    return NULL;
}

/* What an earlier branch has let go is there again. */
static bt_status begin_branch(struct vm_encoder *e, const struct branches *b)
{
    e->unused.len = b->unused.len; // it has had room for more than these
    if (b->unused.len)
        memcpy(e->unused.at, b->unused.at, b->unused.len * sizeof(*b->unused.at));
    for (uint32_t i = 0; i < b->held.len; i++) {
        const struct vm_local local = e->locals.at[b->held.at[i]];
        if (local.to == UINT32_MAX)
            continue;
        BT_TRY(vm_begin_local(e, local.value, local.reg, 0));
        b->held.at[i] = e->locals.len - 1;
    }
    return NULL;
}

static bt_status write_branch(struct vm_encoder *e, struct branches *b,
                              const bt_block *block)
{
    BT_TRY(kill_unused(e, b->owner, block));
    BT_TRY(vm_block_write(e, block, b->is_tail, b->target));
    if (b->is_tail)
        return NULL;
    return BT_PUSH(e->scratch, &b->to_end, e->words.len) ? vm_begin(e, VM_GOTO, 0)
                                                         : bt_no_memory();
}

static bt_status free_new(struct vm_encoder *e, const struct branches *b, uint32_t kind)
{
    for (uint32_t i = b->nreg[kind]; i < e->types[kind].len; i++)
        vm_register_free(e, i | (kind ? VM_SCALAR : 0));
    return NULL;
}

static bt_status jump_here(struct vm_encoder *e, uint32_t word)
{
    if (e->words.len >> 24)
        return bt_fail_at(e->ctx, BT_ERR_LIMIT, e->program->module->store, e->func->span,
                          "vm: %s is too long", e->func->name);
    e->words.at[word] = (e->words.at[word] & 0xff) | e->words.len << 8;
    return NULL;
}

static bt_status end_branches(struct vm_encoder *e, const struct branches *b)
{
    BT_TRY(begin_branch(e, b));
    BT_TRY(free_new(e, b, 0));
    BT_TRY(free_new(e, b, 1));
    for (uint32_t i = 0; i < bt_value_nregion(b->owner); i++) {
        const struct vm_scope *scope =
            bt_map_find(&e->scopes, bt_value_region(b->owner, i));
        for (uint32_t k = 0; k < scope->last.len; k++) {
            const bt_value *value = scope->last.at[k].key;
            const uintptr_t reg = (uintptr_t)bt_map_find(&e->registers, value);
            int is_met = 0;
            for (uint32_t earlier = 0; earlier < i; earlier++)
                is_met |= vm_block_uses(e, bt_value_region(b->owner, earlier), value);
            if (reg && !is_met && bt_map_find(&e->owners, value) != scope &&
                vm_is_last(e, value))
                vm_register_free(e, (uint32_t)reg - 1);
        }
    }
    for (uint32_t i = 0; i < b->to_end.len; i++)
        BT_TRY(jump_here(e, b->to_end.at[i]));
    return NULL;
}

static int is_used_in_blocks(const struct vm_encoder *e, const bt_value *owner,
                             const bt_value *value)
{
    int is_used = 0;
    for (uint32_t i = 0; i < bt_value_nregion(owner); i++)
        is_used |= vm_block_uses(e, bt_value_region(owner, i), value);
    return is_used;
}

bt_status vm_if_write(struct vm_encoder *e, const bt_if *value, int is_tail)
{
    struct branches b;
    uint32_t condition;
    BT_TRY(vm_read(e, value->condition,
                   !is_used_in_blocks(e, &value->base, value->condition), &condition));
    vm_leave(e, 1, &condition);
    BT_TRY(begin_branches(e, &value->base, is_tail, &b));
    BT_TRY(vm_begin(e, VM_IF, condition & VM_REGISTER));
    const uint32_t jump = e->words.len;
    BT_TRY(vm_word(e, 0));
    BT_TRY(begin_branch(e, &b));
    BT_TRY(write_branch(e, &b, value->then_block));
    e->words.at[jump] = e->words.len;
    BT_TRY(begin_branch(e, &b));
    BT_TRY(write_branch(e, &b, value->else_block));
    return end_branches(e, &b);
}

/* ---- match ---- */

/* The variables of a clause: those that are used, or of whose shape something is said. */
static bt_status bind_clause(struct vm_encoder *e, const bt_match *match,
                             const bt_clause *clause, uint32_t data)
{
    const struct vm_scope *scope = bt_map_find(&e->scopes, clause->block);
    const bt_pattern *pattern = clause->pattern;
    const uint32_t n = pattern->kind == BT_PATTERN_CTOR ? pattern->n : 1;
    const int dies = !vm_block_uses(e, clause->block, match->data) &&
                     (match->data->kind == BT_VALUE_CONST || vm_is_last(e, match->data));
    uint32_t row = 0;
    if (pattern->kind == BT_PATTERN_CTOR)
        BT_TRY(vm_ctor_number(e, pattern->ctor, vm_register_type(e, data), match->data,
                              &row));
    for (uint32_t i = 0; i < n; i++) {
        const bt_pattern *at =
            pattern->kind == BT_PATTERN_CTOR ? pattern->at[i] : pattern;
        uint32_t dst;
        if (at->kind != BT_PATTERN_VAR)
            continue;
        const bt_value *var = &at->var->base;
        const int is_used = bt_map_find(&scope->last, var) != NULL;
        if (!is_used && var->type->kind != BT_TYPE_TENSOR &&
            var->type->kind != BT_TYPE_TUPLE)
            continue;
        BT_TRY(vm_define(e, var, &dst));
        if (pattern->kind == BT_PATTERN_CTOR) {
            BT_TRY(vm_begin(e, VM_CTOR_FIELD, dst));
            BT_TRY(vm_word(e, data));
            BT_TRY(vm_word(e, row));
            BT_TRY(vm_word(e, i));
        } else {
            BT_TRY(vm_begin(e, VM_MOVE, dst));
            BT_TRY(vm_word(e, data));
        }
        BT_TRY(vm_shape_write(e, VM_SHAPE, var, dst));
        if (!is_used && !(dst & VM_SCALAR))
            BT_TRY(vm_begin(e, VM_KILL, dst | VM_LAST));
        if (is_used)
            BT_TRY(vm_begin_local(e, var, dst, 0));
        else
            vm_register_free(e, dst);
    }
    if (dies) {
        BT_TRY(vm_begin(e, VM_KILL, data | VM_LAST));
        vm_register_free(e, data);
    }
    return NULL;
}

bt_status vm_match_write(struct vm_encoder *e, const bt_match *match, int is_tail)
{
    struct branches b;
    uint32_t data, type, rest = UINT32_MAX;
    if (!bt_match_is_flat(match))
        return vm_unsupported(e, &match->base,
                              "the patterns of a match must each be one constructor, "
                              "whose fields are variables or `_`, or a variable or `_` "
                              "behind all others (pass match-tree)");
    BT_TRY(vm_type_number(e->ctx, &e->program->types, match->data->type, match->data,
                          &type));
    BT_TRY(vm_read(e, match->data, 0, &data));
    data &= VM_REGISTER;
    const uint32_t nctor = e->program->types.at[type].def->nctor;
    uint32_t *jumps = BT_NEWS(e->scratch, uint32_t, nctor);
    if (!jumps)
        return bt_no_memory();
    BT_TRY(begin_branches(e, &match->base, is_tail, &b));
    BT_TRY(vm_begin(e, VM_SWITCH, data));
    const uint32_t table = e->words.len + 1;
    BT_TRY(vm_list_words(e, nctor, jumps));
    for (uint32_t i = 0; i < match->nclause; i++) {
        const bt_clause *clause = match->clauses[i];
        if (clause->pattern->kind == BT_PATTERN_CTOR)
            e->words.at[table + clause->pattern->ctor->tag] = e->words.len;
        else
            rest = e->words.len;
        BT_TRY(begin_branch(e, &b));
        BT_TRY(bind_clause(e, match, clause, data));
        BT_TRY(write_branch(e, &b, clause->block));
    }
    for (uint32_t i = 0; i < nctor; i++) {
        if (e->words.at[table + i])
            continue;
        if (rest == UINT32_MAX) {
            BT_TRY(vm_mark_source(e, &match->base));
            rest = e->words.len;
            BT_TRY(vm_begin(e, VM_FATAL, data));
        }
        e->words.at[table + i] = rest;
    }
    BT_TRY(end_branches(e, &b));
    if (match->data->kind == BT_VALUE_CONST || match->data->kind == BT_VALUE_GLOBAL ||
        (vm_is_last(e, match->data) && !is_used_in_blocks(e, &match->base, match->data)))
        vm_register_free(e, data);
    return NULL;
}
