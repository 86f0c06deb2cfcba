/*
 * Making plans. What changes from turn to turn of a loop by a fixed amount (addresses and
 * integers that are sums of indices) is a register that the loop's end adds to; what else
 * depends on a loop's index is computed at the beginning of its turn, once for all that
 * use it. Code of a loop is therefore kept in two parts until the loop is complete.
 */
#include "plan_build.h"

#include <inttypes.h>
#include <string.h>

#include "integer.h"

typedef bt_vec(uint32_t) words;

/* A register and what a turn adds to it. */
struct step {
    uint32_t reg;
    int64_t by;
};

/* Integer arguments of calls that are the same all through a turn. */
struct arguments {
    uint32_t n, first;
    const bt_node *const *values;
};

/* A loop, or a phase as a whole. */
struct scope {
    struct scope *up;
    uint32_t index, counter; /* of a loop */
    words before, code;      /* of a turn */
    bt_vec(struct step) addresses;
    bt_vec(struct step) integers;
    bt_map values; /* node -> its register, from 1 */
    bt_vec(struct arguments) arguments;
};

/* The value of a node that reads memory holds until the statement ends. */
struct known {
    const bt_node *node;
    uint32_t reg;
};

struct builder {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct plan_source *from;
    const bt_loops *loops;
    struct plan plan;
    struct scope *phase, *scope; /* the innermost */
    struct scope *of_index[BT_MAX_INDEX];
    uint32_t nn, np; /* of the phase */
    bt_vec(struct known) known;
    const int64_t *locals; /* where each begins */
    bt_map callee_numbers; /* name -> number, from 1 */
    bt_vec(const char *) callees;
    bt_vec(struct cpu_callee) found;
    bt_vec(struct plan_check) checks;
    bt_vec(struct plan_phase) phases;
    words code;
    bt_status status; /* the first failure; then nothing that is built matters */
};

/* ---- words ---- */

static void fail(struct builder *b, bt_status status)
{
    b->status = b->status ? b->status : status;
}

static void put(struct builder *b, words *to, uint32_t word)
{
    if (!BT_PUSH(b->arena, to, word))
        fail(b, bt_no_memory());
}

static void put_first(struct builder *b, words *to, uint32_t instruction, uint32_t a)
{
    if (a > PLAN_MOST)
        fail(b, bt_fail(b->ctx, BT_ERR_LIMIT, "%s: a kernel has more than %d registers",
                        b->from->name, PLAN_MOST));
    put(b, to, instruction | a << 8);
}

static void put_integer(struct builder *b, words *to, int64_t value)
{
    put(b, to, (uint32_t)(uint64_t)value);
    put(b, to, (uint32_t)((uint64_t)value >> 32));
}

static void put_all(struct builder *b, words *to, const words *from)
{
    for (uint32_t i = 0; i < from->len; i++)
        put(b, to, from->at[i]);
}

static void put_set(struct builder *b, uint32_t reg, int64_t value)
{
    put_first(b, &b->phase->before, PLAN_SET, reg);
    put_integer(b, &b->phase->before, value);
}

static void put_updates(struct builder *b, words *to, const struct scope *s)
{
    put(b, to, s->addresses.len);
    put(b, to, s->integers.len);
    for (uint32_t i = 0; i < s->addresses.len + s->integers.len; i++) {
        const struct step *step = i < s->addresses.len
                                      ? &s->addresses.at[i]
                                      : &s->integers.at[i - s->addresses.len];
        put(b, to, step->reg);
        put_integer(b, to, step->by);
    }
}

/* Room to be filled by skip_to_here. */
static uint32_t put_skip(struct builder *b, words *to)
{
    put(b, to, 0);
    return to->len - 1;
}

static void skip_to_here(struct builder *b, words *code, uint32_t skip)
{
    if (!b->status)
        code->at[skip] = code->len - skip - 1;
}

static uint32_t unsupported(struct builder *b, const char *what)
{
    if (!b->status)
        fail(b, bt_fail(b->ctx, BT_ERR_UNSUPPORTED, "%s: %s in a vectorised program",
                        b->from->name, what));
    return 0;
}

/* ---- scopes ---- */

static struct scope *open_scope(struct builder *b, uint32_t index)
{
    struct scope *s = BT_NEW(b->arena, struct scope);
    if (!s) {
        fail(b, bt_no_memory());
        return NULL;
    }
    s->up = b->scope;
    s->index = index;
    bt_map_init(&s->values, b->arena, 0);
    b->scope = s;
    return s;
}

/* The innermost of the loops on whose indices something depends. */
static struct scope *scope_of(const struct builder *b, uint64_t indices)
{
    struct scope *s = b->scope;
    while (s->up && !(indices & bt_index_bit(s->index)))
        s = s->up;
    return s;
}

static void step_integer(struct builder *b, struct scope *s, uint32_t reg, int64_t by)
{
    const struct step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->integers, step))
        fail(b, bt_no_memory());
}

static void step_address(struct builder *b, struct scope *s, uint32_t reg, int64_t by)
{
    const struct step step = { reg, by };
    if (by && !BT_PUSH(b->arena, &s->addresses, step))
        fail(b, bt_no_memory());
}

/* ---- integers ---- */

static uint32_t value_of(struct builder *b, const bt_node *node);

/* The loop of an index that stands by itself; NULL: it is no index of a loop around. */
static struct scope *loop_of(struct builder *b, const bt_node *atom)
{
    if (atom->kind != BT_NODE_INDEX)
        return NULL;
    if (!b->of_index[atom->which])
        (void)unsupported(b, "an index outside of its loop");
    return b->of_index[atom->which] ? b->of_index[atom->which] : b->phase;
}

/* Where a value's code goes: to the turn that its indices are of, or, where it reads
 * memory, to where it is needed. */
static words *place_of(struct builder *b, const bt_node *node)
{
    return node->reads ? &b->scope->code : &scope_of(b, node->free)->before;
}

/* A sum of indices in `reg`, and what else is in the sum added to a register after it. */
static uint32_t put_linear(struct builder *b, const bt_node *node, uint32_t reg)
{
    words *to = place_of(b, node);
    put_set(b, reg, node->value.i);
    for (uint32_t i = 0; i < node->narg; i++) {
        struct scope *loop = loop_of(b, node->args[i]);
        if (loop)
            step_integer(b, loop, reg, node->coefs[i]);
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (node->args[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = value_of(b, node->args[i]), sum = b->nn++;
        put_first(b, to, PLAN_MULADD, sum);
        put(b, to, reg);
        put(b, to, atom);
        put_integer(b, to, node->coefs[i]);
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

static uint32_t put_scalar(struct builder *b, const bt_node *node)
{
    bt_dtype of = node->args[0]->dtype;
    uint32_t instruction = instruction_of(node->which, of), args[2] = { 0, 0 };
    words *to = place_of(b, node);
    if (!cpu_integer_has(node->which, of))
        return unsupported(b, "a scalar operator of floats");
    for (uint32_t i = 0; i < node->narg; i++)
        args[i] = value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    put_first(b, to, instruction == PLAN_COUNT ? PLAN_SCALAR : instruction, reg);
    if (instruction == PLAN_COUNT) {
        put(b, to, node->which);
        put(b, to, of);
        put(b, to, args[0]);
        put(b, to, args[node->narg - 1]);
        return reg;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        put(b, to, args[i]);
    return reg;
}

static uint32_t put_cast(struct builder *b, const bt_node *node)
{
    words *to = place_of(b, node);
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype) ||
        !cpu_integer_has(BT_SCALAR_ADD, node->args[0]->dtype))
        return unsupported(b, "a cast of floats");
    uint32_t from = value_of(b, node->args[0]), reg = b->nn++;
    put_first(b, to, PLAN_NARROW, reg);
    put(b, to, from);
    put(b, to, node->dtype);
    return reg;
}

static uint32_t put_select(struct builder *b, const bt_node *node)
{
    uint32_t args[3];
    words *to = place_of(b, node);
    for (uint32_t i = 0; i < 3; i++)
        args[i] = value_of(b, node->args[i]);
    uint32_t reg = b->nn++;
    put_first(b, to, PLAN_SELECT, reg);
    for (uint32_t i = 0; i < 3; i++)
        put(b, to, args[i]);
    return reg;
}

/* A branch of a select that reads memory: what it computes is known nowhere else. */
static void put_branch(struct builder *b, const bt_node *node, uint32_t to)
{
    uint32_t nknown = b->known.len, value = value_of(b, node);
    b->known.len = nknown;
    put_first(b, &b->scope->code, PLAN_COPY, to);
    put(b, &b->scope->code, value);
}

/* The branch not taken reads nothing. */
static uint32_t put_lazy_select(struct builder *b, const bt_node *node)
{
    words *code = &b->scope->code;
    uint32_t condition = value_of(b, node->args[0]), reg = b->nn++;
    put_first(b, code, PLAN_UNLESS, condition);
    uint32_t skip = put_skip(b, code);
    put_branch(b, node->args[1], reg);
    put_first(b, code, PLAN_JUMP, 0);
    uint32_t end = put_skip(b, code);
    skip_to_here(b, code, skip);
    put_branch(b, node->args[2], reg);
    skip_to_here(b, code, end);
    return reg;
}

static void put_address(struct builder *b, uint32_t buffer, const bt_node *offset,
                        uint32_t reg);

static uint32_t put_read(struct builder *b, const bt_node *node)
{
    words *code = &b->scope->code;
    uint32_t address = b->np++;
    if (!cpu_integer_has(BT_SCALAR_ADD, node->dtype))
        return unsupported(b, "a float read");
    put_address(b, node->which, node->args[0], address);
    uint32_t reg = b->nn++;
    put_first(b, code, PLAN_LOAD, reg);
    put(b, code, address);
    put(b, code, node->dtype);
    return reg;
}

static uint32_t compute(struct builder *b, const bt_node *node)
{
    int64_t value;
    uint32_t reg;
    switch (node->kind) {
    case BT_NODE_CONST:
        if (!bt_node_is_const(node, &value))
            return unsupported(b, "a float");
        reg = b->nn++;
        put_set(b, reg, value);
        return reg;
    case BT_NODE_INDEX: return loop_of(b, node)->counter;
    case BT_NODE_LINEAR: return put_linear(b, node, b->nn++);
    case BT_NODE_SCALAR: return put_scalar(b, node);
    case BT_NODE_CAST: return put_cast(b, node);
    case BT_NODE_SELECT:
        return node->args[1]->reads || node->args[2]->reads ? put_lazy_select(b, node)
                                                            : put_select(b, node);
    case BT_NODE_READ: return put_read(b, node);
    default: return unsupported(b, "an expression of another kind");
    }
}

/* The register of a value, which is made where it is not there yet. Expressions nest as
 * deep as those of a graph may. */
static uint32_t value_of(struct builder *b, const bt_node *node)
{
    struct scope *s = scope_of(b, node->free);
    if (b->status)
        return 0;
    if (node->reads) {
        for (uint32_t i = 0; i < b->known.len; i++) {
            if (b->known.at[i].node == node)
                return b->known.at[i].reg;
        }
        struct known known = { node, compute(b, node) };
        if (!BT_PUSH(b->arena, &b->known, known))
            fail(b, bt_no_memory());
        return known.reg;
    }
    uintptr_t found = (uintptr_t)bt_map_find(&s->values, node);
    if (found)
        return (uint32_t)found - 1;
    uint32_t reg = compute(b, node);
    if (!bt_map_put(&s->values, node, (void *)((uintptr_t)reg + 1)))
        fail(b, bt_no_memory());
    return reg;
}

/* ---- addresses ---- */

static void put_base(struct builder *b, uint32_t buffer, int64_t nbytes, uint32_t reg)
{
    words *to = &b->phase->before;
    int is_local = b->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
    put_first(b, to, PLAN_BASE, reg);
    put(b, to, is_local ? b->from->nbuffer : b->from->places[buffer]);
    put_integer(b, to, is_local ? nbytes + b->locals[buffer] : nbytes);
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* The address of an element in `reg`. */
static void put_address(struct builder *b, uint32_t buffer, const bt_node *offset,
                        uint32_t reg)
{
    bt_linear sum;
    int64_t nbytes = (int64_t)bt_dtype_nbytes(b->loops->graph->arrays[buffer].dtype);
    bt_node_as_linear(offset, &sum);
    words *to = place_of(b, offset);
    uint32_t nother = 0, from = reg;
    for (uint32_t i = 0; i < sum.n; i++)
        nother += sum.atoms[i]->kind != BT_NODE_INDEX;
    if (nother) // what the loops add to cannot be what is computed in a turn
        from = b->np++;
    put_base(b, buffer, times(sum.constant, nbytes), from);
    for (uint32_t i = 0; i < sum.n; i++) {
        struct scope *loop = loop_of(b, sum.atoms[i]);
        if (loop)
            step_address(b, loop, from, times(sum.coefs[i], nbytes));
    }
    for (uint32_t i = 0; i < sum.n; i++) {
        if (sum.atoms[i]->kind == BT_NODE_INDEX)
            continue;
        uint32_t atom = value_of(b, sum.atoms[i]);
        put_first(b, to, PLAN_OFFSET, reg);
        put(b, to, from);
        put(b, to, atom);
        put_integer(b, to, times(sum.coefs[i], nbytes));
        from = reg;
    }
}

/* ---- calls ---- */

/* An integer argument in a register of the call's own. */
static void put_argument(struct builder *b, const bt_node *node, uint32_t reg)
{
    int64_t value;
    int is_sum = node->kind == BT_NODE_INDEX || node->kind == BT_NODE_LINEAR;
    bt_linear sum;
    bt_node_as_linear(node, &sum);
    for (uint32_t i = 0; is_sum && i < sum.n; i++)
        is_sum = sum.atoms[i]->kind == BT_NODE_INDEX;
    if (bt_node_is_const(node, &value)) {
        put_set(b, reg, value);
    } else if (is_sum) {
        put_set(b, reg, sum.constant);
        for (uint32_t i = 0; i < sum.n; i++)
            step_integer(b, loop_of(b, sum.atoms[i]), reg, sum.coefs[i]);
    } else {
        words *to = place_of(b, node);
        uint32_t from = value_of(b, node);
        put_first(b, to, PLAN_COPY, reg);
        put(b, to, from);
    }
}

static int same_arguments(const struct arguments *a, uint32_t n,
                          const bt_node *const *values)
{
    return a->n == n && memcmp(a->values, values, n * sizeof(*values)) == 0;
}

/* Integer arguments in registers that are neighbours; gives the first. Calls that have
 * the same ones share them. */
static uint32_t put_arguments(struct builder *b, uint32_t n, const bt_node *const *values)
{
    uint64_t indices = 0;
    uint32_t reads = 0;
    for (uint32_t i = 0; i < n; i++) {
        indices |= values[i]->free;
        reads |= values[i]->reads;
    }
    if (n == 1)
        return value_of(b, values[0]);
    struct scope *s = scope_of(b, indices);
    for (uint32_t i = 0; !reads && i < s->arguments.len; i++) {
        if (same_arguments(&s->arguments.at[i], n, values))
            return s->arguments.at[i].first;
    }
    const struct arguments made = { n, b->nn, values };
    b->nn += n;
    for (uint32_t i = 0; i < n; i++)
        put_argument(b, values[i], made.first + i);
    if (!reads && !BT_PUSH(b->arena, &s->arguments, made))
        fail(b, bt_no_memory());
    return made.first;
}

static uint32_t callee_number(struct builder *b, const char *name)
{
    struct cpu_callee callee;
    uintptr_t found = (uintptr_t)bt_map_find(&b->callee_numbers, name);
    if (found)
        return (uint32_t)found - 1;
    if (!cpu_callee_find(b->from->isa, name, &callee)) {
        fail(b, bt_fail(b->ctx, BT_ERR_UNSUPPORTED, "%s: there is no primitive %s for %s",
                        b->from->name, name, cpu_isa_name(b->from->isa)));
        return 0;
    }
    if (!BT_PUSH(b->arena, &b->callees, name) || !BT_PUSH(b->arena, &b->found, callee) ||
        !bt_map_put(&b->callee_numbers, name, (void *)(uintptr_t)b->callees.len))
        fail(b, bt_no_memory());
    return b->callees.len - 1;
}

static void build_call(struct builder *b, const bt_stmt *stmt)
{
    words *code = &b->scope->code;
    uint32_t callee = callee_number(b, stmt->callee), naddress = 0;
    const bt_node **integers = BT_NEWS(b->arena, const bt_node *, stmt->narg);
    if (!integers)
        fail(b, bt_no_memory());
    if (b->status)
        return;
    while (naddress < stmt->narg && stmt->args[naddress].is_address)
        naddress++;
    uint32_t ninteger = stmt->narg - naddress, first = b->np;
    for (uint32_t i = 0; i < ninteger; i++)
        integers[i] = stmt->args[naddress + i].value;
    if (naddress != b->found.at[callee].naddress ||
        ninteger != b->found.at[callee].ninteger) {
        (void)unsupported(b, "a call with too few or too many arguments");
        return;
    }
    b->np += naddress;
    for (uint32_t i = 0; i < naddress; i++)
        put_address(b, stmt->args[i].buffer, stmt->args[i].value, first + i);
    uint32_t arguments = put_arguments(b, ninteger, integers);
    put_first(b, code, PLAN_CALL, callee);
    put(b, code, first);
    put(b, code, arguments);
}

/* ---- statements ---- */

static void build_block(struct builder *b, const bt_stmts *stmts);

static void build_if(struct builder *b, const bt_stmt *stmt)
{
    words *code = &b->scope->code;
    uint32_t condition = value_of(b, stmt->condition);
    put_first(b, code, PLAN_UNLESS, condition);
    uint32_t skip = put_skip(b, code);
    build_block(b, &stmt->body);
    if (!stmt->otherwise.len) {
        skip_to_here(b, code, skip);
        return;
    }
    put_first(b, code, PLAN_JUMP, 0);
    uint32_t end = put_skip(b, code);
    skip_to_here(b, code, skip);
    build_block(b, &stmt->otherwise);
    skip_to_here(b, code, end);
}

static void build_check(struct builder *b, const bt_stmt *stmt)
{
    const struct plan_check check = { stmt->array, stmt->axis, stmt->bound };
    uint32_t condition = value_of(b, stmt->condition);
    put_first(b, &b->scope->code, PLAN_CHECK, condition);
    put(b, &b->scope->code, b->checks.len);
    if (!BT_PUSH(b->arena, &b->checks, check))
        fail(b, bt_no_memory());
}

/* The turns of a loop as a part of what is around it. */
static void close_loop(struct builder *b, struct scope *s, const bt_stmt *stmt,
                       int is_phase)
{
    words *code = &s->up->code;
    uint32_t ncode = s->before.len + s->code.len;
    b->scope = s->up;
    b->of_index[s->index] = NULL;
    if (is_phase) {
        put_first(b, code, PLAN_START, s->counter);
        put_updates(b, code, s);
    }
    put_all(b, code, &s->before);
    put_all(b, code, &s->code);
    put_first(b, code, is_phase ? PLAN_STEP : PLAN_NEXT, s->counter);
    put(b, code, ncode);
    if (!is_phase)
        put_integer(b, code, stmt->extent);
    put_updates(b, code, s);
}

static void build_for(struct builder *b, const bt_stmt *stmt, int is_phase)
{
    if (stmt->extent <= 0)
        return;
    if (b->of_index[stmt->index]) {
        (void)unsupported(b, "an index of two loops, one in the other,");
        return;
    }
    struct scope *s = open_scope(b, stmt->index);
    if (!s)
        return;
    s->counter = b->nn++;
    put_set(b, s->counter, 0);
    b->of_index[stmt->index] = s;
    build_block(b, &stmt->body);
    close_loop(b, s, stmt, is_phase);
}

static void build_stmt(struct builder *b, const bt_stmt *stmt)
{
    b->known.len = 0;
    switch (stmt->kind) {
    case BT_STMT_FOR: build_for(b, stmt, 0); break;
    case BT_STMT_IF: build_if(b, stmt); break;
    case BT_STMT_CHECK: build_check(b, stmt); break;
    case BT_STMT_CALL: build_call(b, stmt); break;
    default: (void)unsupported(b, "a store or an accumulator's taking");
    }
    b->known.len = 0;
}

static void build_block(struct builder *b, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len && !b->status; i++)
        build_stmt(b, stmts->at[i]);
}

/* ---- phases ---- */

static int is_parallel(const bt_stmt *stmt)
{
    return stmt->kind == BT_STMT_FOR && stmt->is_parallel;
}

/* Statements from `first` on that make one phase; gives the one behind them. */
static uint32_t build_phase(struct builder *b, uint32_t first, uint32_t end)
{
    bt_stmt *const *at = b->from->stmts;
    struct plan_phase phase = { .first = b->code.len };
    b->scope = NULL;
    b->nn = b->np = 0;
    b->phase = open_scope(b, BT_MAX_INDEX);
    if (!b->phase)
        return end;
    if (is_parallel(at[first])) {
        phase.is_parallel = 1;
        phase.extent = at[first]->extent > 0 ? at[first]->extent : 0;
        build_for(b, at[first++], 1);
    } else {
        while (first < end && !is_parallel(at[first]) && !b->status)
            build_stmt(b, at[first++]);
    }
    put_all(b, &b->code, &b->phase->before);
    put_all(b, &b->code, &b->phase->code);
    put_first(b, &b->code, PLAN_END, 0);
    phase.ncode = b->code.len - phase.first;
    b->plan.nn = b->nn > b->plan.nn ? b->nn : b->plan.nn;
    b->plan.np = b->np > b->plan.np ? b->np : b->plan.np;
    if (!BT_PUSH(b->arena, &b->phases, phase))
        fail(b, bt_no_memory());
    return first;
}

/* ---- buffers ---- */

/* Locals lie one behind the other, each aligned as vectors like it. */
static bt_status place_locals(struct builder *b)
{
    const bt_graph *g = b->loops->graph;
    int64_t *at = BT_NEWS(b->arena, int64_t, g->narray), end = 0;
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->narray; i++) {
        int64_t nbytes;
        if (b->loops->roles.at[i] != BT_BUFFER_LOCAL)
            continue;
        at[i] = end;
        if (!bt_mul_int64(bt_loops_nelem(b->loops, i),
                          (int64_t)bt_dtype_nbytes(g->arrays[i].dtype), &nbytes) ||
            !bt_add_int64(end, nbytes, &end) || !bt_add_int64(end, 63, &end))
            return bt_fail(b->ctx, BT_ERR_LIMIT,
                           "%s: locals of more than an int64 counts", b->from->name);
        end &= ~INT64_C(63);
    }
    b->locals = at;
    b->plan.locals_nbytes = end;
    return NULL;
}

bt_status plan_build(bt_ctx *ctx, bt_arena *arena, const struct plan_source *from,
                     const struct plan **out)
{
    struct builder b = { .ctx = ctx, .arena = arena, .from = from, .loops = from->loops };
    struct plan *plan = BT_NEW(arena, struct plan);
    if (!plan)
        return bt_no_memory();
    bt_map_init(&b.callee_numbers, arena, 1);
    BT_TRY(place_locals(&b));
    for (uint32_t i = 0; i < from->n && !b.status;)
        i = build_phase(&b, i, from->n);
    BT_TRY(b.status);
    *plan = b.plan;
    plan->name = from->name;
    plan->nbuffer = from->nbuffer;
    plan->nphase = b.phases.len;
    plan->phases = b.phases.at;
    plan->ncode = b.code.len;
    plan->code = b.code.at;
    plan->ncallee = b.callees.len;
    plan->callees = b.callees.at;
    plan->ncheck = b.checks.len;
    plan->checks = b.checks.at;
    BT_TRY(plan_check(ctx, plan, b.found.at));
    *out = plan;
    return NULL;
}
