/* What is an instruction of bytecode, and what is bytecode. */
#include "bytecode.h"

#include <baton/graph.h>

#include <string.h>

#include "integer.h"

const char *bytecode_operands(uint32_t instruction)
{
    static const char *const all[BYTECODE_COUNT] = {
#define X(UPPER, operands, text) operands,
        BYTECODE_EACH(X)
#undef X
    };
    return instruction < BYTECODE_COUNT ? all[instruction] : NULL;
}

/* ---- a worker's memory: n, p, locals ---- */

int64_t bytecode_locals_offset(const struct bytecode *bytecode)
{
    int64_t nbytes = (int64_t)bytecode->nn * (int64_t)sizeof(int64_t) +
                     (int64_t)bytecode->np * (int64_t)sizeof(void *);
    return (nbytes + 63) & ~INT64_C(63);
}

int64_t bytecode_scratch_nbytes(const struct bytecode *bytecode)
{
    int64_t nbytes;
    if (bytecode->locals_nbytes < 0 ||
        !bt_add_int64(bytecode_locals_offset(bytecode), bytecode->locals_nbytes,
                      &nbytes) ||
        !bt_add_int64(nbytes, 63, &nbytes))
        return -1;
    return nbytes & ~INT64_C(63);
}

/* ---- instructions ---- */

/* Words of an operand that is not an update list. */
static uint32_t operand_length(char operand)
{
    return operand == 'k' ? 2 : 1;
}

uint32_t bytecode_length(const uint32_t *at, uint32_t left)
{
    const char *operands = left ? bytecode_operands(*at & 0xff) : NULL;
    uint64_t n = 1;
    if (!operands)
        return 0;
    for (operands++; *operands; operands++) {
        if (*operands != 'u') {
            n += operand_length(*operands);
        } else {
            if (n + 2 > left)
                return 0;
            n += 2 + 3 * ((uint64_t)at[n] + at[n + 1]);
        }
    }
    return n <= left ? (uint32_t)n : 0;
}

/* ---- checking ---- */

struct checker {
    const struct bytecode *bytecode;
    const struct bytecode_phase *phase;
    const struct cpu_callee *const *callees;
    uint8_t
        *starts; /* 1 at a word of the phase where an instruction starts, and its end */
    uint32_t at; /* the word of the phase looked at */
};

static const struct cpu_form *form_of(const struct checker *c, uint32_t first_word)
{
    static const struct cpu_form none;
    return first_word >> 8 < c->bytecode->ncallee
               ? cpu_form_of(c->callees[first_word >> 8])
               : &none;
}

static int has_registers(uint32_t first, uint32_t n, uint32_t all)
{
    return n <= all && first <= all - n;
}

static int check_jump(const struct checker *c, uint32_t words, uint32_t length)
{
    return words <= c->phase->ncode - c->at - length && c->starts[c->at + length + words];
}

static int check_updates(const struct checker *c, const uint32_t *at)
{
    uint32_t np = at[0], n = at[0] + at[1];
    for (uint32_t i = 0; i < n; i++) {
        if (at[2 + 3 * i] >= (i < np ? c->bytecode->np : c->bytecode->nn))
            return 0;
    }
    return 1;
}

/* One operand whose value is `value`; `at` points behind it, where an update list is. */
static int check_operand(const struct checker *c, char operand, uint32_t value,
                         const uint32_t *at, uint32_t word, uint32_t length)
{
    const struct bytecode *p = c->bytecode;
    switch (operand) {
    case 'n': return value < p->nn;
    case 'p': return value < p->np;
    case 'b': return value <= p->nbuffer;
    case 'c': return value < p->ncallee;
    case 'x': return value < p->ncheck;
    case 'd': return value < p->ndim;
    case 's': return cpu_integer_has(value, BT_INT64);
    case 't':
    case 'T': return cpu_integer_has(BT_SCALAR_ADD, value);
    case 'j': return check_jump(c, value, length);
    case 'J': return value <= c->at && c->starts[c->at - value];
    case 'P': return has_registers(value, form_of(c, word)->naddress, p->np);
    case 'N': return has_registers(value, form_of(c, word)->ninteger, p->nn);
    case 'u': return check_updates(c, at);
    default: return 1;
    }
}

static int check_instruction(const struct checker *c, const uint32_t *at, uint32_t length)
{
    const char *operands = bytecode_operands(*at & 0xff);
    uint32_t next = 1;
    if ((*at & 0xff) == BYTECODE_START || (*at & 0xff) == BYTECODE_STEP) {
        if (!c->phase->is_parallel)
            return 0;
    }
    if (!check_operand(c, operands[0], *at >> 8, at, *at, length))
        return 0;
    for (operands++; *operands; operands++) {
        if (!check_operand(c, *operands, at[next], at + next, *at, length))
            return 0;
        next += operand_length(*operands);
    }
    return 1;
}

/* Known, or left by the phase before. */
static int has_extent(const struct bytecode *p, const struct bytecode_phase *phase)
{
    return phase->extent >= 0 ||
           (phase->is_parallel && phase > p->phases && !phase[-1].is_parallel &&
            -1 - phase->extent < (int64_t)p->nn);
}

static int check_phase(struct checker *c)
{
    const struct bytecode *p = c->bytecode;
    const struct bytecode_phase *phase = c->phase;
    const uint32_t *code = p->code + phase->first;
    uint32_t length = 0, last = BYTECODE_COUNT;
    if (phase->first > p->ncode || phase->ncode > p->ncode - phase->first ||
        phase->is_parallel > CPU_SHORT || !has_extent(p, phase))
        return 0;
    memset(c->starts, 0, (size_t)phase->ncode + 1);
    for (uint32_t at = 0; at < phase->ncode; at += length) {
        length = bytecode_length(code + at, phase->ncode - at);
        if (!length)
            return 0;
        c->starts[at] = 1;
        last = code[at] & 0xff;
    }
    if (last != BYTECODE_END)
        return 0;
    for (c->at = 0; c->at < phase->ncode; c->at += length) {
        length = bytecode_length(code + c->at, phase->ncode - c->at);
        if (!check_instruction(c, code + c->at, length))
            return 0;
    }
    return 1;
}

bt_status bytecode_check(bt_ctx *ctx, const struct bytecode *bytecode,
                         const struct cpu_callee *const *callees)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    struct checker c = { .bytecode = bytecode, .callees = callees };
    bt_status status = NULL;
    c.starts = BT_NEWS(scratch, uint8_t, (size_t)bytecode->ncode + 1);
    if (!c.starts)
        status = bt_no_memory();
    else if (bytecode->nn > BYTECODE_MOST || bytecode->np > BYTECODE_MOST ||
             bytecode_scratch_nbytes(bytecode) < 0)
        status = bt_fail(ctx, BT_ERR_FORMAT, "kernel %s: too many registers or locals",
                         bytecode->name);
    else if (bytecode->alternates > bytecode->nbuffer)
        status = bt_fail(ctx, BT_ERR_FORMAT,
                         "kernel %s: it alternates with what it has not", bytecode->name);
    for (uint32_t i = 0; !status && i < bytecode->nphase; i++) {
        c.phase = &bytecode->phases[i];
        if (!check_phase(&c))
            status =
                bt_fail(ctx, BT_ERR_FORMAT, "kernel %s: phase %u is damaged at word %u",
                        bytecode->name, i, c.at);
    }
    bt_arena_release(scratch, mark);
    return status;
}
