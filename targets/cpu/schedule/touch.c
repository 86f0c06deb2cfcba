#include "touch.h"

#include <string.h>

struct toucher {
    const struct cpu_config *config;
    uint8_t *touched; /* of each buffer */
    uint32_t *seen;   /* of each node, the last statement that has it, from 1 */
    uint32_t stmt;
};

/* ---- which buffers a statement has ---- */

static void touch_reads(struct toucher *t, const bt_node *node)
{
    if (!node->reads || t->seen[node->id] == t->stmt)
        return;
    t->seen[node->id] = t->stmt;
    if (node->kind == BT_NODE_READ)
        t->touched[node->which] |= CPU_TOUCHES;
    for (uint32_t i = 0; i < node->narg; i++)
        touch_reads(t, node->args[i]);
}

static void touch_addresses(struct toucher *t, const bt_stmt *call)
{
    const struct cpu_callee *row = cpu_row_of(t->config, call->callee);
    // of one that there is not, anything may be true; the bytecode refuses it
    const uint32_t nwritten = row ? cpu_form_of(row)->nwritten : call->narg;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (call->args[i].is_address)
            t->touched[call->args[i].buffer] |=
                (uint8_t)(CPU_TOUCHES | (i < nwritten ? CPU_WRITES : 0));
    }
}

static int meet(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct toucher *t = self;
    touch_reads(t, *slot);
    if (stmt->kind == BT_STMT_CALL && slot == &stmt->args[0].value)
        touch_addresses(t, stmt);
    return 1;
}

int cpu_touch_all(bt_arena *arena, const struct cpu_config *config, const bt_loops *loops,
                  uint8_t ***out)
{
    struct toucher t = { .config = config,
                         .seen = BT_NEWS(arena, uint32_t, loops->graph->nnode + 1) };
    uint8_t **all = *out = BT_NEWS(arena, uint8_t *, loops->body.len);
    for (uint32_t k = 0; all && t.seen && k < loops->body.len; k++) {
        t.stmt = k + 1;
        t.touched = all[k] = BT_NEWS(arena, uint8_t, loops->graph->narray);
        if (!t.touched)
            return 0;
        (void)bt_stmt_walk(loops->body.at[k], meet, &t);
    }
    return all && t.seen;
}

/* ---- packing ---- */

/* Whether two statements have a local together. In a parallel loop each thread has its own. */
static int share_local(const bt_loops *loops, uint8_t *const *touched, uint32_t a,
                       uint32_t b, uint32_t local)
{
    return a != b && touched[a][local] && touched[b][local] &&
           !loops->body.at[a]->is_parallel && !loops->body.at[b]->is_parallel;
}

static int only_packs(const bt_loops *loops, uint8_t *const *touched, uint32_t stmt,
                      uint32_t input)
{
    if (!touched[stmt][input])
        return 0;
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        const uint32_t role = loops->roles.at[i];
        if (!touched[stmt][i] || i == input)
            continue;
        if (role == BT_BUFFER_INPUT || role == BT_BUFFER_OUTPUT)
            return 0;
        for (uint32_t k = 0; role == BT_BUFFER_LOCAL && k < loops->body.len; k++) {
            if (share_local(loops, touched, stmt, k, i))
                return 0;
        }
    }
    return 1;
}

/* Whether what it has besides inputs and outputs is not that of these statements alone. */
static int is_shared(const bt_loops *loops, uint8_t *const *touched, const uint8_t *with,
                     uint32_t stmt)
{
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        const uint32_t role = loops->roles.at[i];
        if (!touched[stmt][i])
            continue;
        if (role == BT_BUFFER_INPUT || role == BT_BUFFER_OUTPUT)
            return 1;
        for (uint32_t k = 0; k < loops->body.len; k++) {
            if (!with[k] &&
                (role == BT_BUFFER_LOCAL ? share_local(loops, touched, stmt, k, i)
                                         : touched[k][i] & CPU_WRITES))
                return 1;
        }
    }
    return 0;
}

uint8_t *cpu_find_makers(bt_arena *arena, const bt_loops *loops, uint8_t *const *touched)
{
    const uint32_t nstmt = loops->body.len;
    uint8_t *all = BT_NEWS(arena, uint8_t, nstmt);
    int is_stable = all == NULL;
    if (all)
        memset(all, 1, nstmt);
    while (!is_stable) {
        is_stable = 1;
        for (uint32_t k = 0; k < nstmt; k++) {
            if (all[k] && is_shared(loops, touched, all, k))
                all[k] = is_stable = 0;
        }
    }
    return all;
}

/* Whether one of its temps is written by a statement that is not packing. */
static int meets_writer(const bt_loops *loops, uint8_t *const *touched,
                        const uint8_t *makers, const uint8_t *is_packing, uint32_t stmt)
{
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        if (loops->roles.at[i] != BT_BUFFER_TEMP || !touched[stmt][i])
            continue;
        for (uint32_t k = 0; k < loops->body.len; k++) {
            if (!is_packing[k] && !(makers && makers[k]) && (touched[k][i] & CPU_WRITES))
                return 1;
        }
    }
    return 0;
}

uint32_t cpu_mark_packing(const bt_loops *loops, uint8_t *const *touched, uint32_t input,
                          const uint8_t *is_taken, const uint8_t *makers,
                          uint8_t *is_packing)
{
    const uint32_t nstmt = loops->body.len;
    uint32_t n = 0;
    int is_stable;
    for (uint32_t k = 0; k < nstmt; k++)
        is_packing[k] =
            !(is_taken && is_taken[k]) && only_packs(loops, touched, k, input);
    do {
        is_stable = 1;
        for (uint32_t k = 0; k < nstmt; k++) {
            if (is_packing[k] && meets_writer(loops, touched, makers, is_packing, k))
                is_packing[k] = is_stable = 0;
        }
    } while (!is_stable);
    for (uint32_t k = 0; k < nstmt; k++)
        n += is_packing[k];
    return n;
}

/* Whether it has an input that is no constant, or an output. */
static int is_of_a_run(const bt_loops *loops, const uint8_t *is_constant,
                       const uint8_t *touched)
{
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        const uint32_t role = loops->roles.at[i];
        if (touched[i] &&
            (role == BT_BUFFER_OUTPUT || (role == BT_BUFFER_INPUT && !is_constant[i])))
            return 1;
    }
    return 0;
}

/* Whether it has a local together with another one than these. */
static int shares_with_others(const bt_loops *loops, uint8_t *const *touched,
                              const uint8_t *with, uint32_t stmt)
{
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        for (uint32_t k = 0; loops->roles.at[i] == BT_BUFFER_LOCAL && k < loops->body.len;
             k++) {
            if (!with[k] && share_local(loops, touched, stmt, k, i))
                return 1;
        }
    }
    return 0;
}

uint32_t cpu_mark_constant(const bt_loops *loops, const uint8_t *is_constant,
                           uint8_t *const *touched, const uint8_t *is_done,
                           uint8_t *is_made)
{
    const uint32_t nstmt = loops->body.len;
    uint32_t n = 0;
    int is_stable;
    for (uint32_t k = 0; k < nstmt; k++)
        is_made[k] = !is_done[k] && !is_of_a_run(loops, is_constant, touched[k]);
    do {
        is_stable = 1;
        for (uint32_t k = 0; k < nstmt; k++) {
            if (is_made[k] && (meets_writer(loops, touched, is_done, is_made, k) ||
                               shares_with_others(loops, touched, is_made, k)))
                is_made[k] = is_stable = 0;
        }
    } while (!is_stable);
    for (uint32_t k = 0; k < nstmt; k++)
        n += is_made[k];
    return n;
}

uint8_t *cpu_find_packing(bt_arena *arena, const struct cpu_config *config,
                          const bt_loops *loops, uint8_t *const *touched)
{
    const uint32_t nstmt = loops->body.len;
    uint8_t *all = BT_NEWS(arena, uint8_t, nstmt), *one = BT_NEWS(arena, uint8_t, nstmt),
            *done = BT_NEWS(arena, uint8_t, nstmt);
    const uint8_t *makers = cpu_find_makers(arena, loops, touched);
    if (!all || !one || !done || !makers)
        return NULL;
    for (uint32_t i = 0; config->is_constant && i < loops->graph->narray; i++) {
        if (loops->roles.at[i] != BT_BUFFER_INPUT || !config->is_constant[i] ||
            !cpu_mark_packing(loops, touched, i, all, makers, one))
            continue;
        for (uint32_t k = 0; k < nstmt; k++)
            all[k] |= one[k];
    }
    if (!config->is_constant)
        return all;
    for (uint32_t k = 0; k < nstmt; k++)
        done[k] = all[k] | makers[k];
    (void)cpu_mark_constant(loops, config->is_constant, touched, done, one);
    for (uint32_t k = 0; k < nstmt; k++)
        all[k] |= one[k];
    return all;
}
