/*
 * Making bytecode. What changes by the same amount in each iteration of a loop (addresses, and
 * integers that are sums of indices) is a register that the loop's end adds to; what else
 * depends on a loop's index is computed when an iteration begins, once for all that use it.
 * Code of a loop is therefore kept in two parts until the loop is complete.
 */
#include "bytecode_build.h"

#include <string.h>

#include "bytecode_emit.h"

/* ---- calls ---- */

/* An integer argument in a register of the call's own. */
static void put_argument(struct bytecode_builder *b, const bt_node *node, uint32_t reg)
{
    int64_t value;
    int is_sum = node->kind == BT_NODE_INDEX || node->kind == BT_NODE_LINEAR;
    bt_linear sum;
    bt_node_as_linear(node, &sum);
    for (uint32_t i = 0; is_sum && i < sum.n; i++)
        is_sum = sum.atoms[i]->kind == BT_NODE_INDEX;
    if (bt_node_is_const(node, &value)) {
        bytecode_put_set(b, reg, value);
    } else if (is_sum) {
        bytecode_put_set(b, reg, sum.constant);
        for (uint32_t i = 0; i < sum.n; i++)
            bytecode_step_integer(b, bytecode_loop_of(b, sum.atoms[i]), reg,
                                  sum.coefs[i]);
    } else {
        bytecode_words *to = bytecode_place_of(b, node);
        uint32_t from = bytecode_value_of(b, node);
        bytecode_put_first(b, to, BYTECODE_COPY, reg);
        bytecode_put(b, to, from);
    }
}

static int same_arguments(const struct bytecode_arguments *a, uint32_t n,
                          const bt_node *const *values)
{
    return a->n == n && memcmp(a->values, values, n * sizeof(*values)) == 0;
}

/* Integer arguments in registers that are neighbours; gives the first. Calls that have
 * the same ones share them. */
static uint32_t put_arguments(struct bytecode_builder *b, uint32_t n,
                              const bt_node *const *values)
{
    uint64_t indices = 0;
    uint32_t reads = 0;
    for (uint32_t i = 0; i < n; i++) {
        indices |= values[i]->free;
        reads |= values[i]->reads;
    }
    if (n == 1)
        return bytecode_value_of(b, values[0]);
    struct bytecode_scope *s = bytecode_scope_of(b, indices);
    for (uint32_t i = 0; !reads && i < s->arguments.len; i++) {
        if (same_arguments(&s->arguments.at[i], n, values))
            return s->arguments.at[i].first;
    }
    const struct bytecode_arguments made = { n, b->nn, values };
    b->nn += n;
    for (uint32_t i = 0; i < n; i++)
        put_argument(b, values[i], made.first + i);
    if (!reads && !BT_PUSH(b->arena, &s->arguments, made))
        bytecode_fail(b, bt_no_memory());
    return made.first;
}

static uint32_t callee_number(struct bytecode_builder *b, const char *name)
{
    uintptr_t found = (uintptr_t)bt_map_find(&b->callee_numbers, name);
    if (found)
        return (uint32_t)found - 1;
    const struct cpu_callee *callee = cpu_callee_find(b->from->isa, name);
    if (!callee) {
        bytecode_fail(b, bt_fail(b->ctx, BT_ERR_INTERNAL,
                                 "%s: there is no primitive %s for %s", b->from->name,
                                 name, cpu_isa_name(b->from->isa)));
        return 0;
    }
    if (!BT_PUSH(b->arena, &b->callees, name) || !BT_PUSH(b->arena, &b->found, callee) ||
        !bt_map_put(&b->callee_numbers, name, (void *)(uintptr_t)b->callees.len))
        bytecode_fail(b, bt_no_memory());
    return b->callees.len - 1;
}

static void build_call(struct bytecode_builder *b, const bt_stmt *stmt)
{
    bytecode_words *code = &b->scope->code;
    uint32_t callee = callee_number(b, stmt->callee), naddress = 0;
    const bt_node **integers = BT_NEWS(b->arena, const bt_node *, stmt->narg);
    if (!integers)
        bytecode_fail(b, bt_no_memory());
    if (b->status)
        return;
    while (naddress < stmt->narg && stmt->args[naddress].is_address)
        naddress++;
    uint32_t ninteger = stmt->narg - naddress, first = b->np;
    for (uint32_t i = 0; i < ninteger; i++)
        integers[i] = stmt->args[naddress + i].value;
    const struct cpu_form *form = cpu_form_of(b->found.at[callee]);
    if (naddress != form->naddress || ninteger != form->ninteger) {
        (void)bytecode_mistake(b, "a call with too few or too many arguments");
        return;
    }
    b->np += naddress;
    for (uint32_t i = 0; i < naddress; i++)
        bytecode_put_address(b, stmt->args[i].buffer, stmt->args[i].value, first + i);
    uint32_t arguments = put_arguments(b, ninteger, integers);
    bytecode_put_first(b, code, BYTECODE_CALL, callee);
    bytecode_put(b, code, first);
    bytecode_put(b, code, arguments);
}

/* ---- statements ---- */

static void build_block(struct bytecode_builder *b, const bt_stmts *stmts);

/* Whether a condition of the phase's outermost statements is known as the phase begins. */
static int is_of_phase(const struct bytecode_builder *b, const bt_stmt *stmt)
{
    return b->scope == b->phase && stmt->kind == BT_STMT_IF && !stmt->otherwise.len &&
           !stmt->condition->free && !stmt->condition->reads;
}

/* What follows is computed only where the condition holds, up to end_apart. */
static struct bytecode_scope *begin_apart(struct bytecode_builder *b,
                                          const bt_node *condition, uint32_t *skip)
{
    struct bytecode_scope *around = b->phase;
    bytecode_put_first(b, &around->code, BYTECODE_UNLESS,
                       bytecode_value_of(b, condition));
    *skip = bytecode_put_skip(b, &around->code);
    struct bytecode_scope *apart = bytecode_open_scope(b, BT_MAX_INDEX);
    b->phase = apart ? apart : around;
    return around;
}

static void end_apart(struct bytecode_builder *b, struct bytecode_scope *around,
                      uint32_t skip)
{
    struct bytecode_scope *apart = b->phase;
    b->phase = b->scope = around;
    if (b->status)
        return;
    bytecode_put_all(b, &around->code, &apart->before);
    bytecode_put_all(b, &around->code, &apart->code);
    bytecode_skip_to_here(b, &around->code, skip);
}

static void build_if(struct bytecode_builder *b, const bt_stmt *stmt)
{
    if (is_of_phase(b, stmt)) {
        uint32_t over;
        struct bytecode_scope *around = begin_apart(b, stmt->condition, &over);
        build_block(b, &stmt->body);
        end_apart(b, around, over);
        return;
    }
    bytecode_words *code = &b->scope->code;
    uint32_t condition = bytecode_value_of(b, stmt->condition);
    bytecode_put_first(b, code, BYTECODE_UNLESS, condition);
    uint32_t skip = bytecode_put_skip(b, code);
    build_block(b, &stmt->body);
    if (!stmt->otherwise.len) {
        bytecode_skip_to_here(b, code, skip);
        return;
    }
    bytecode_put_first(b, code, BYTECODE_JUMP, 0);
    uint32_t end = bytecode_put_skip(b, code);
    bytecode_skip_to_here(b, code, skip);
    build_block(b, &stmt->otherwise);
    bytecode_skip_to_here(b, code, end);
}

static void build_check(struct bytecode_builder *b, const bt_stmt *stmt)
{
    const struct bytecode_check check = { stmt->array, stmt->axis,
                                          bt_node_number(stmt->extent) };
    uint32_t condition = bytecode_value_of(b, stmt->condition);
    bytecode_put_first(b, &b->scope->code, BYTECODE_CHECK, condition);
    bytecode_put(b, &b->scope->code, b->checks.len);
    if (!BT_PUSH(b->arena, &b->checks, check))
        bytecode_fail(b, bt_no_memory());
}

/* A loop as a part of what is around it; `iterations`: the register with their number, of a
 * loop whose extent is open. */
static void close_loop(struct bytecode_builder *b, struct bytecode_scope *s,
                       const bt_stmt *stmt, int is_phase, uint32_t iterations)
{
    int is_open = !is_phase && bt_node_number(stmt->extent) < 0;
    bytecode_words *code = &s->up->code;
    uint32_t ncode = s->before.len + s->code.len;
    b->scope = s->up;
    b->of_index[s->index] = NULL;
    if (is_phase) {
        bytecode_put_first(b, code, BYTECODE_START, s->counter);
        bytecode_put_updates(b, code, s);
    }
    bytecode_put_all(b, code, &s->before);
    bytecode_put_all(b, code, &s->code);
    bytecode_put_first(b, code,
                       is_phase  ? BYTECODE_STEP
                       : is_open ? BYTECODE_UNTIL
                                 : BYTECODE_NEXT,
                       s->counter);
    bytecode_put(b, code, ncode);
    if (is_open)
        bytecode_put(b, code, iterations);
    else if (!is_phase)
        bytecode_put_integer(b, code, bt_node_number(stmt->extent));
    bytecode_put_updates(b, code, s);
}

/* Loops test at their end: whether one begins at all. */
static const bt_node *some_turns(struct bytecode_builder *b, const bt_stmt *stmt)
{
    bt_graph *g = b->loops->graph;
    const bt_node *some =
        bt_node_scalar(g, BT_SCALAR_LT, bt_node_int(g, 0), stmt->extent);
    if (!some)
        bytecode_fail(b, bt_loops_why(b->loops));
    return some ? some : stmt->extent;
}

static void build_for(struct bytecode_builder *b, const bt_stmt *stmt, int is_phase)
{
    bytecode_words *code = &b->scope->code;
    uint32_t iterations = 0, skip = 0;
    int may_be_empty = !is_phase && bt_node_number(stmt->extent) < 0;
    if (bt_node_number(stmt->extent) == 0)
        return;
    if (b->of_index[stmt->index]) {
        (void)bytecode_mistake(b, "an index of two loops, one in the other,");
        return;
    }
    if (may_be_empty) {
        iterations = bytecode_value_of(b, stmt->extent);
        bytecode_put_first(b, code, BYTECODE_UNLESS,
                           bytecode_value_of(b, some_turns(b, stmt)));
        skip = bytecode_put_skip(b, code);
    }
    struct bytecode_scope *s = bytecode_open_scope(b, stmt->index);
    if (!s)
        return;
    s->counter = b->nn++;
    bytecode_put_set(b, s->counter, 0);
    b->of_index[stmt->index] = s;
    build_block(b, &stmt->body);
    close_loop(b, s, stmt, is_phase, iterations);
    if (may_be_empty)
        bytecode_skip_to_here(b, code, skip);
}

static void build_stmt(struct bytecode_builder *b, const bt_stmt *stmt)
{
    b->known.len = 0;
    switch (stmt->kind) {
    case BT_STMT_FOR: build_for(b, stmt, 0); break;
    case BT_STMT_IF: build_if(b, stmt); break;
    case BT_STMT_CHECK: build_check(b, stmt); break;
    case BT_STMT_CALL: build_call(b, stmt); break;
    default: (void)bytecode_mistake(b, "a store or an accumulator's taking");
    }
    b->known.len = 0;
}

static void build_block(struct bytecode_builder *b, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len && !b->status; i++)
        build_stmt(b, stmts->at[i]);
}

/* ---- phases ---- */

static uint32_t is_parallel(const bt_stmt *stmt)
{
    return stmt->kind == BT_STMT_FOR ? stmt->is_parallel : 0;
}

/* 0: no memory, which is kept. */
static int open_phase(struct bytecode_builder *b)
{
    b->scope = NULL;
    b->nn = b->np = 0;
    b->phase = bytecode_open_scope(b, BT_MAX_INDEX);
    return b->phase != NULL;
}

static void close_phase(struct bytecode_builder *b, struct bytecode_phase phase)
{
    phase.first = b->code.len;
    bytecode_put_all(b, &b->code, &b->phase->before);
    bytecode_put_all(b, &b->code, &b->phase->code);
    bytecode_put_first(b, &b->code, BYTECODE_END, 0);
    phase.ncode = b->code.len - phase.first;
    b->bytecode.nn = b->nn > b->bytecode.nn ? b->nn : b->bytecode.nn;
    b->bytecode.np = b->np > b->bytecode.np ? b->np : b->bytecode.np;
    if (!BT_PUSH(b->arena, &b->phases, phase))
        bytecode_fail(b, bt_no_memory());
}

/* The iterations of a parallel loop; of an open one a phase of its own counts them. */
static int64_t count_turns(struct bytecode_builder *b, const bt_stmt *stmt)
{
    int64_t known = bt_node_number(stmt->extent);
    if (known >= 0 || !open_phase(b))
        return known;
    uint32_t iterations = bytecode_value_of(b, stmt->extent);
    close_phase(b, (struct bytecode_phase){ 0 });
    return -1 - (int64_t)iterations;
}

/* A condition that its iterations share is one of the phase. */
static void build_parallel(struct bytecode_builder *b, const bt_stmt *stmt)
{
    const bt_stmt *test = stmt->body.len == 1 ? stmt->body.at[0] : NULL;
    if (!test || !is_of_phase(b, test)) {
        build_for(b, stmt, 1);
        return;
    }
    bt_stmt bare = *stmt;
    uint32_t over;
    struct bytecode_scope *around = begin_apart(b, test->condition, &over);
    bare.body = test->body;
    build_for(b, &bare, 1);
    end_apart(b, around, over);
}

/* Statements from `first` on that make one phase; gives the one behind them. */
static uint32_t build_phase(struct bytecode_builder *b, uint32_t first, uint32_t end)
{
    bt_stmt *const *at = b->from->stmts;
    struct bytecode_phase phase = { .is_parallel = is_parallel(at[first]) };
    if (phase.is_parallel)
        phase.extent = count_turns(b, at[first]);
    if (b->status || !open_phase(b))
        return end;
    if (phase.is_parallel)
        build_parallel(b, at[first++]);
    else {
        while (first < end && !is_parallel(at[first]) && !b->status)
            build_stmt(b, at[first++]);
    }
    close_phase(b, phase);
    return first;
}

/* ---- buffers ---- */

/* Locals lie one behind the other, each aligned as vectors like it. */
static bt_status place_locals(struct bytecode_builder *b)
{
    const bt_graph *g = b->loops->graph;
    int64_t *at = BT_NEWS(b->arena, int64_t, g->narray), end = 0;
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->narray; i++) {
        int64_t nbytes;
        if (b->loops->roles.at[i] != BT_BUFFER_LOCAL)
            continue;
        if (bt_loops_nelem(b->loops, i) < 0)
            return bt_fail(b->ctx, BT_ERR_UNSUPPORTED,
                           "%s: a local whose size is known at the call only",
                           b->from->name);
        at[i] = end;
        if (!bt_mul_int64(bt_loops_nelem(b->loops, i),
                          (int64_t)bt_dtype_nbytes(g->arrays[i]->dtype), &nbytes) ||
            !bt_add_int64(end, nbytes, &end) || !bt_add_int64(end, 63, &end))
            return bt_fail(b->ctx, BT_ERR_LIMIT,
                           "%s: locals of more than an int64 counts", b->from->name);
        end &= ~INT64_C(63);
    }
    b->locals = at;
    b->bytecode.locals_nbytes = end;
    return NULL;
}

bt_status bytecode_build(bt_ctx *ctx, bt_arena *arena, const struct bytecode_source *from,
                         const struct bytecode **out)
{
    struct bytecode_builder b = {
        .ctx = ctx, .arena = arena, .from = from, .loops = from->loops
    };
    struct bytecode *bytecode = BT_NEW(arena, struct bytecode);
    if (!bytecode)
        return bt_no_memory();
    bt_map_init(&b.callee_numbers, arena, 1);
    BT_TRY(place_locals(&b));
    for (uint32_t i = 0; i < from->n && !b.status;)
        i = build_phase(&b, i, from->n);
    BT_TRY(b.status);
    *bytecode = b.bytecode;
    bytecode->name = from->name;
    bytecode->nbuffer = from->nbuffer;
    bytecode->alternates = from->alternates;
    bytecode->nphase = b.phases.len;
    bytecode->phases = b.phases.at;
    bytecode->ncode = b.code.len;
    bytecode->code = b.code.at;
    bytecode->ncallee = b.callees.len;
    bytecode->callees = b.callees.at;
    bytecode->ncheck = b.checks.len;
    bytecode->checks = b.checks.at;
    BT_TRY(bytecode_check(ctx, bytecode, b.found.at));
    *out = bytecode;
    return NULL;
}
