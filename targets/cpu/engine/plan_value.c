/* Integers and addresses of a program, in registers of its plan. */
#include "integer.h"
#include "plan_code.h"

/* ---- integers ---- */

struct plan_scope *plan_loop_of(struct plan_builder *b, const bt_node *atom)
{
    if (atom->kind != BT_NODE_INDEX)
        return NULL;
    if (!b->of_index[atom->which])
        (void)plan_unsupported(b, "an index outside of its loop");
    return b->of_index[atom->which] ? b->of_index[atom->which] : b->phase;
}

plan_words *plan_place_of(struct plan_builder *b, const bt_node *node)
{
    return node->reads ? &b->scope->code : &plan_scope_of(b, node->free)->before;
}

/* A sum of indices in `reg`, and what else is in the sum added to a register after it. */
static uint32_t put_linear(struct plan_builder *b, const bt_node *node, uint32_t reg)
{
    plan_words *to = plan_place_of(b, node);
    plan_put_set(b, reg, node->value.i);
    for (uint32_t i = 0; i < node->narg; i++) {
        struct plan_scope *loop = plan_loop_of(b, node->args[i]);
        if (loop)
            plan_step_integer(b, loop, reg, node->coefs[i]);
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (node->args[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = plan_value_of(b, node->args[i]), sum = b->nn++;
        plan_put_first(b, to, PLAN_MULADD, sum);
        plan_put(b, to, reg);
        plan_put(b, to, atom);
        plan_put_integer(b, to, node->coefs[i]);
        reg = sum;
    }
    return reg;
}

/* The instruction that does an operator alone; PLAN_COUNT: there is none. */
static uint32_t instruction_of(uint32_t scalar, bt_dtype dtype)
{
    static const struct {
        uint32_t scalar, instruction;
        uint32_t is_of_int64, is_of_bool; /* without a dtype it does the same */
    } all[] = {
        { BT_SCALAR_ADD, PLAN_ADD, 1, 0 }, { BT_SCALAR_SUB, PLAN_SUB, 1, 0 },
        { BT_SCALAR_MUL, PLAN_MUL, 1, 0 }, { BT_SCALAR_MIN, PLAN_MIN, 1, 0 },
        { BT_SCALAR_MAX, PLAN_MAX, 1, 0 }, { BT_SCALAR_LT, PLAN_LT, 1, 0 },
        { BT_SCALAR_LE, PLAN_LE, 1, 0 },   { BT_SCALAR_EQ, PLAN_EQ, 1, 1 },
        { BT_SCALAR_AND, PLAN_AND, 0, 1 }, { BT_SCALAR_OR, PLAN_OR, 0, 1 },
        { BT_SCALAR_NOT, PLAN_NOT, 0, 1 },
    };
    for (uint32_t i = 0; i < BT_COUNT(all); i++) {
        if (all[i].scalar == scalar && ((dtype == BT_INT64 && all[i].is_of_int64) ||
                                        (dtype == BT_BOOL && all[i].is_of_bool)))
            return all[i].instruction;
    }
    return PLAN_COUNT;
}

static uint32_t put_scalar(struct plan_builder *b, const bt_node *node)
{
    bt_dtype of = node->args[0]->dtype;
    uint32_t instruction = instruction_of(node->which, of), args[2] = { 0, 0 };
    plan_words *to = plan_place_of(b, node);
    if (!cpu_integer_has(node->which, of))
        return plan_unsupported(b, "a scalar operator of floats");
    for (uint32_t i = 0; i < node->narg; i++)
        args[i] = plan_value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    plan_put_first(b, to, instruction == PLAN_COUNT ? PLAN_SCALAR : instruction, reg);
    if (instruction == PLAN_COUNT) {
        plan_put(b, to, node->which);
        plan_put(b, to, of);
        plan_put(b, to, args[0]);
        plan_put(b, to, args[node->narg - 1]);
        return reg;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        plan_put(b, to, args[i]);
    return reg;
}

static uint32_t put_cast(struct plan_builder *b, const bt_node *node)
{
    plan_words *to = plan_place_of(b, node);
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype) ||
        !cpu_integer_has(BT_SCALAR_ADD, node->args[0]->dtype))
        return plan_unsupported(b, "a cast of floats");
    uint32_t from = plan_value_of(b, node->args[0]), reg = b->nn++;
    plan_put_first(b, to, PLAN_NARROW, reg);
    plan_put(b, to, from);
    plan_put(b, to, node->dtype);
    return reg;
}

static uint32_t put_select(struct plan_builder *b, const bt_node *node)
{
    uint32_t args[3];
    plan_words *to = plan_place_of(b, node);
    for (uint32_t i = 0; i < 3; i++)
        args[i] = plan_value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    plan_put_first(b, to, PLAN_SELECT, reg);
    for (uint32_t i = 0; i < 3; i++)
        plan_put(b, to, args[i]);
    return reg;
}

/* A branch of a select that reads memory: what it computes is known nowhere else. */
static void put_branch(struct plan_builder *b, const bt_node *node, uint32_t to)
{
    uint32_t nknown = b->known.len, value = plan_value_of(b, node);
    b->known.len = nknown;
    plan_put_first(b, &b->scope->code, PLAN_COPY, to);
    plan_put(b, &b->scope->code, value);
}

/* The branch not taken reads nothing. */
static uint32_t put_lazy_select(struct plan_builder *b, const bt_node *node)
{
    plan_words *code = &b->scope->code;
    uint32_t condition = plan_value_of(b, node->args[0]), reg = b->nn++;
    plan_put_first(b, code, PLAN_UNLESS, condition);
    uint32_t skip = plan_put_skip(b, code);
    put_branch(b, node->args[1], reg);
    plan_put_first(b, code, PLAN_JUMP, 0);
    uint32_t end = plan_put_skip(b, code);
    plan_skip_to_here(b, code, skip);
    put_branch(b, node->args[2], reg);
    plan_skip_to_here(b, code, end);
    return reg;
}

static uint32_t put_read(struct plan_builder *b, const bt_node *node)
{
    plan_words *code = &b->scope->code;
    uint32_t address = b->np++;
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype))
        return plan_unsupported(b, "a float read");
    plan_put_address(b, node->which, node->args[0], address);
    uint32_t reg = b->nn++;
    plan_put_first(b, code, PLAN_LOAD, reg);
    plan_put(b, code, address);
    plan_put(b, code, node->dtype);
    return reg;
}

static uint32_t compute(struct plan_builder *b, const bt_node *node)
{
    int64_t value;
    uint32_t reg;
    switch (node->kind) {
    case BT_NODE_CONST:
        if (!bt_node_is_const(node, &value))
            return plan_unsupported(b, "a float");
        reg = b->nn++;
        plan_put_set(b, reg, value);
        return reg;
    case BT_NODE_INDEX: return plan_loop_of(b, node)->counter;
    case BT_NODE_DIM:
        reg = b->nn++;
        plan_put_first(b, &b->phase->before, PLAN_DIM, reg);
        plan_put(b, &b->phase->before, node->which);
        return reg;
    case BT_NODE_LINEAR: return put_linear(b, node, b->nn++);
    case BT_NODE_SCALAR: return put_scalar(b, node);
    case BT_NODE_CAST: return put_cast(b, node);
    case BT_NODE_SELECT:
        return node->args[1]->reads || node->args[2]->reads ? put_lazy_select(b, node)
                                                            : put_select(b, node);
    case BT_NODE_READ: return put_read(b, node);
    default: return plan_unsupported(b, "an expression of another kind");
    }
}

uint32_t plan_value_of(struct plan_builder *b, const bt_node *node)
{
    struct plan_scope *s = plan_scope_of(b, node->free);
    if (b->status)
        return 0;
    if (node->reads) {
        for (uint32_t i = 0; i < b->known.len; i++) {
            if (b->known.at[i].node == node)
                return b->known.at[i].reg;
        }
        struct plan_known known = { node, compute(b, node) };
        if (!BT_PUSH(b->arena, &b->known, known))
            plan_fail(b, bt_no_memory());
        return known.reg;
    }
    uintptr_t found = (uintptr_t)bt_map_find(&s->values, node);
    if (found)
        return (uint32_t)found - 1;
    uint32_t reg = compute(b, node);
    if (!bt_map_put(&s->values, node, (void *)((uintptr_t)reg + 1)))
        plan_fail(b, bt_no_memory());
    return reg;
}

/* ---- addresses ---- */

static void put_base(struct plan_builder *b, uint32_t buffer, int64_t nbytes,
                     uint32_t reg)
{
    plan_words *to = &b->phase->before;
    int is_local = b->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
    plan_put_first(b, to, PLAN_BASE, reg);
    plan_put(b, to, is_local ? b->from->nbuffer : b->from->places[buffer]);
    plan_put_integer(b, to, is_local ? nbytes + b->locals[buffer] : nbytes);
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

void plan_put_address(struct plan_builder *b, uint32_t buffer, const bt_node *offset,
                      uint32_t reg)
{
    bt_linear sum;
    int64_t nbytes = (int64_t)bt_dtype_nbytes(b->loops->graph->arrays[buffer].dtype);
    bt_node_as_linear(offset, &sum);
    plan_words *to = plan_place_of(b, offset);
    uint32_t nother = 0, from = reg;
    for (uint32_t i = 0; i < sum.n; i++)
        nother += sum.atoms[i]->kind != BT_NODE_INDEX;
    if (nother) // what the loops add to cannot be what is computed in a turn
        from = b->np++;
    put_base(b, buffer, times(sum.constant, nbytes), from);
    for (uint32_t i = 0; i < sum.n; i++) {
        struct plan_scope *loop = plan_loop_of(b, sum.atoms[i]);
        if (loop)
            plan_step_address(b, loop, from, times(sum.coefs[i], nbytes));
    }
    for (uint32_t i = 0; i < sum.n; i++) {
        if (sum.atoms[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = plan_value_of(b, sum.atoms[i]);
        plan_put_first(b, to, PLAN_OFFSET, reg);
        plan_put(b, to, from);
        plan_put(b, to, atom);
        plan_put_integer(b, to, times(sum.coefs[i], nbytes));
        from = reg;
    }
}
