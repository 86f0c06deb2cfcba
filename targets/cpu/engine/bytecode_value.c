/* Integers and addresses of a program, in registers of its bytecode. */
#include "bytecode_emit.h"
#include "integer.h"

/* ---- integers ---- */

struct bytecode_scope *bytecode_loop_of(struct bytecode_builder *b, const bt_node *atom)
{
    if (atom->kind != BT_NODE_INDEX)
        return NULL;
    if (!b->of_index[atom->which])
        (void)bytecode_mistake(b, "an index outside of its loop");
    return b->of_index[atom->which] ? b->of_index[atom->which] : b->phase;
}

bytecode_words *bytecode_place_of(struct bytecode_builder *b, const bt_node *node)
{
    return node->reads ? &b->scope->code : &bytecode_scope_of(b, node->free)->before;
}

/* A sum of indices in `reg`, and what else is in the sum added to a register after it. */
static uint32_t put_linear(struct bytecode_builder *b, const bt_node *node, uint32_t reg)
{
    bytecode_words *to = bytecode_place_of(b, node);
    bytecode_put_set(b, reg, node->value.i);
    for (uint32_t i = 0; i < node->narg; i++) {
        struct bytecode_scope *loop = bytecode_loop_of(b, node->args[i]);
        if (loop)
            bytecode_step_integer(b, loop, reg, node->coefs[i]);
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (node->args[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = bytecode_value_of(b, node->args[i]), sum = b->nn++;
        bytecode_put_first(b, to, BYTECODE_MULADD, sum);
        bytecode_put(b, to, reg);
        bytecode_put(b, to, atom);
        bytecode_put_integer(b, to, node->coefs[i]);
        reg = sum;
    }
    return reg;
}

/* The instruction that does an operator alone; BYTECODE_COUNT: there is none. */
static uint32_t instruction_of(uint32_t scalar, bt_dtype dtype)
{
    static const struct {
        uint32_t scalar, instruction;
        uint32_t is_of_int64, is_of_bool; /* without a dtype it does the same */
    } all[] = {
        { BT_SCALAR_ADD, BYTECODE_ADD, 1, 0 }, { BT_SCALAR_SUB, BYTECODE_SUB, 1, 0 },
        { BT_SCALAR_MUL, BYTECODE_MUL, 1, 0 }, { BT_SCALAR_MIN, BYTECODE_MIN, 1, 0 },
        { BT_SCALAR_MAX, BYTECODE_MAX, 1, 0 }, { BT_SCALAR_LT, BYTECODE_LT, 1, 0 },
        { BT_SCALAR_LE, BYTECODE_LE, 1, 0 },   { BT_SCALAR_EQ, BYTECODE_EQ, 1, 1 },
        { BT_SCALAR_AND, BYTECODE_AND, 0, 1 }, { BT_SCALAR_OR, BYTECODE_OR, 0, 1 },
        { BT_SCALAR_NOT, BYTECODE_NOT, 0, 1 },
    };
    for (uint32_t i = 0; i < BT_COUNT(all); i++) {
        if (all[i].scalar == scalar && ((dtype == BT_INT64 && all[i].is_of_int64) ||
                                        (dtype == BT_BOOL && all[i].is_of_bool)))
            return all[i].instruction;
    }
    return BYTECODE_COUNT;
}

static uint32_t put_scalar(struct bytecode_builder *b, const bt_node *node)
{
    bt_dtype of = node->args[0]->dtype;
    uint32_t instruction = instruction_of(node->which, of), args[2] = { 0, 0 };
    bytecode_words *to = bytecode_place_of(b, node);
    if (!cpu_integer_has(node->which, of))
        return bytecode_unsupported(b, "a scalar operator of floats");
    for (uint32_t i = 0; i < node->narg; i++)
        args[i] = bytecode_value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    bytecode_put_first(
        b, to, instruction == BYTECODE_COUNT ? BYTECODE_SCALAR : instruction, reg);
    if (instruction == BYTECODE_COUNT) {
        bytecode_put(b, to, node->which);
        bytecode_put(b, to, of);
        bytecode_put(b, to, args[0]);
        bytecode_put(b, to, args[node->narg - 1]);
        return reg;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        bytecode_put(b, to, args[i]);
    return reg;
}

static uint32_t put_cast(struct bytecode_builder *b, const bt_node *node)
{
    bytecode_words *to = bytecode_place_of(b, node);
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype) ||
        !cpu_integer_has(BT_SCALAR_ADD, node->args[0]->dtype))
        return bytecode_unsupported(b, "a cast of floats");
    uint32_t from = bytecode_value_of(b, node->args[0]), reg = b->nn++;
    bytecode_put_first(b, to, BYTECODE_SCALAR, reg); // one that narrows, and does no more
    bytecode_put(b, to, BT_SCALAR_FLOOR);
    bytecode_put(b, to, node->dtype);
    bytecode_put(b, to, from);
    bytecode_put(b, to, from);
    return reg;
}

static uint32_t put_select(struct bytecode_builder *b, const bt_node *node)
{
    uint32_t args[3];
    bytecode_words *to = bytecode_place_of(b, node);
    for (uint32_t i = 0; i < 3; i++)
        args[i] = bytecode_value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    bytecode_put_first(b, to, BYTECODE_SELECT, reg);
    for (uint32_t i = 0; i < 3; i++)
        bytecode_put(b, to, args[i]);
    return reg;
}

/* A branch of a select that reads memory: what it computes is known nowhere else. */
static void put_branch(struct bytecode_builder *b, const bt_node *node, uint32_t to)
{
    uint32_t nknown = b->known.len, value = bytecode_value_of(b, node);
    b->known.len = nknown;
    bytecode_put_first(b, &b->scope->code, BYTECODE_COPY, to);
    bytecode_put(b, &b->scope->code, value);
}

/* The branch not taken reads nothing. */
static uint32_t put_lazy_select(struct bytecode_builder *b, const bt_node *node)
{
    bytecode_words *code = &b->scope->code;
    uint32_t condition = bytecode_value_of(b, node->args[0]), reg = b->nn++;
    bytecode_put_first(b, code, BYTECODE_UNLESS, condition);
    uint32_t skip = bytecode_put_skip(b, code);
    put_branch(b, node->args[1], reg);
    bytecode_put_first(b, code, BYTECODE_JUMP, 0);
    uint32_t end = bytecode_put_skip(b, code);
    bytecode_skip_to_here(b, code, skip);
    put_branch(b, node->args[2], reg);
    bytecode_skip_to_here(b, code, end);
    return reg;
}

static uint32_t put_read(struct bytecode_builder *b, const bt_node *node)
{
    bytecode_words *code = &b->scope->code;
    uint32_t address = b->np++;
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype))
        return bytecode_unsupported(b, "a float read");
    bytecode_put_address(b, node->which, node->args[0], address);
    uint32_t reg = b->nn++;
    bytecode_put_first(b, code, BYTECODE_LOAD, reg);
    bytecode_put(b, code, address);
    bytecode_put(b, code, node->dtype);
    return reg;
}

static uint32_t compute(struct bytecode_builder *b, const bt_node *node)
{
    int64_t value;
    uint32_t reg;
    switch (node->kind) {
    case BT_NODE_CONST:
        if (!bt_node_is_const(node, &value))
            return bytecode_unsupported(b, "a float");
        reg = b->nn++;
        bytecode_put_set(b, reg, value);
        return reg;
    case BT_NODE_INDEX: return bytecode_loop_of(b, node)->counter;
    case BT_NODE_DIM:
        reg = b->nn++;
        b->bytecode.ndim = b->loops->graph->ndim;
        bytecode_put_first(b, &b->phase->before, BYTECODE_DIM, reg);
        bytecode_put(b, &b->phase->before, node->which);
        return reg;
    case BT_NODE_LINEAR: return put_linear(b, node, b->nn++);
    case BT_NODE_SCALAR: return put_scalar(b, node);
    case BT_NODE_CAST: return put_cast(b, node);
    case BT_NODE_SELECT:
        return node->args[1]->reads || node->args[2]->reads ? put_lazy_select(b, node)
                                                            : put_select(b, node);
    case BT_NODE_READ: return put_read(b, node);
    default: return bytecode_mistake(b, "an expression of another kind");
    }
}

uint32_t bytecode_value_of(struct bytecode_builder *b, const bt_node *node)
{
    struct bytecode_scope *s = bytecode_scope_of(b, node->free);
    if (b->status)
        return 0;
    if (node->reads) {
        for (uint32_t i = 0; i < b->known.len; i++) {
            if (b->known.at[i].node == node)
                return b->known.at[i].reg;
        }
        struct bytecode_known known = { node, compute(b, node) };
        if (!BT_PUSH(b->arena, &b->known, known))
            bytecode_fail(b, bt_no_memory());
        return known.reg;
    }
    uintptr_t found = (uintptr_t)bt_map_find(&s->values, node);
    if (found)
        return (uint32_t)found - 1;
    uint32_t reg = compute(b, node);
    if (!bt_map_put(&s->values, node, (void *)((uintptr_t)reg + 1)))
        bytecode_fail(b, bt_no_memory());
    return reg;
}

/* ---- addresses ---- */

static void put_base(struct bytecode_builder *b, uint32_t buffer, int64_t nbytes,
                     uint32_t reg)
{
    bytecode_words *to = &b->phase->before;
    int is_local = b->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
    bytecode_put_first(b, to, BYTECODE_BASE, reg);
    bytecode_put(b, to, is_local ? b->from->nbuffer : b->from->places[buffer]);
    bytecode_put_integer(b, to, is_local ? nbytes + b->locals[buffer] : nbytes);
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

void bytecode_put_address(struct bytecode_builder *b, uint32_t buffer,
                          const bt_node *offset, uint32_t reg)
{
    bt_linear sum;
    int64_t nbytes = (int64_t)bt_dtype_nbytes(b->loops->graph->arrays[buffer]->dtype);
    bt_node_as_linear(offset, &sum);
    bytecode_words *to = bytecode_place_of(b, offset);
    uint32_t nother = 0, from = reg;
    for (uint32_t i = 0; i < sum.n; i++)
        nother += sum.atoms[i]->kind != BT_NODE_INDEX;
    if (nother) // what the loops add to cannot be what is computed in an iteration
        from = b->np++;
    put_base(b, buffer, times(sum.constant, nbytes), from);
    for (uint32_t i = 0; i < sum.n; i++) {
        struct bytecode_scope *loop = bytecode_loop_of(b, sum.atoms[i]);
        if (loop)
            bytecode_step_address(b, loop, from, times(sum.coefs[i], nbytes));
    }
    for (uint32_t i = 0; i < sum.n; i++) {
        if (sum.atoms[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = bytecode_value_of(b, sum.atoms[i]);
        bytecode_put_first(b, to, BYTECODE_OFFSET, reg);
        bytecode_put(b, to, from);
        bytecode_put(b, to, atom);
        bytecode_put_integer(b, to, times(sum.coefs[i], nbytes));
        from = reg;
    }
}
