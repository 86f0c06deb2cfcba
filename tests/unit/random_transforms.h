/* Random sequences of transforms on a program of loops. */
#ifndef RANDOM_TRANSFORMS_H
#define RANDOM_TRANSFORMS_H

#include "test.h"

#include "compute/loops/transform.h"

enum { TRY_PARALLEL, TRY_COLLAPSE, TRY_MERGE, TRY_SHRINK, TRY_SIMPLIFY, NTRY };
static const char *const try_names[NTRY] = { "parallel", "collapse", "merge", "shrink",
                                             "simplify" };

struct transforming {
    bt_ctx *ctx;
    bt_loops *loops;
    uint64_t random;
    bt_vec(bt_stmt *) found;
    uint32_t ndone[NTRY], nstmt;
};

static inline uint32_t transform_draw(struct transforming *t, uint32_t below)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((t->random >> 33) % below);
}

static inline void transform_collect(struct transforming *t, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        t->nstmt++;
        if (stmt->kind == BT_STMT_FOR)
            assert_true(BT_PUSH(t->loops->arena, &t->found, stmt));
        transform_collect(t, &stmt->body);
        transform_collect(t, &stmt->otherwise);
    }
}

static inline bt_status transform_try(struct transforming *t, uint32_t what,
                                      bt_stmt *loop)
{
    bt_loops *l = t->loops;
    uint32_t n = l->graph->narray;
    switch (what) {
    case TRY_PARALLEL: return bt_loops_parallel(l, loop);
    case TRY_COLLAPSE: return bt_loops_collapse(l, loop);
    case TRY_MERGE: return bt_loops_merge(l, loop);
    case TRY_SHRINK: return bt_loops_shrink(l, loop, transform_draw(t, n));
    default: return bt_loops_simplify(l);
    }
}

/* Draws loops and transforms of them; those refused change nothing. */
static inline void transform_randomly(struct transforming *t, uint32_t n, bt_text *done)
{
    for (uint32_t i = 0; i < n; i++) {
        t->found.len = 0;
        t->nstmt = 0;
        transform_collect(t, &t->loops->body);
        uint32_t what = transform_draw(t, NTRY);
        if (!t->found.len || t->nstmt > 200)
            return;
        bt_stmt *loop = t->found.at[transform_draw(t, t->found.len)];
        uint32_t index = loop->index;
        bt_status status = transform_try(t, what, loop);
        if (status && status->code != BT_ERR_UNSUPPORTED)
            fail_msg("%s: %s", try_names[what], status->message);
        if (status)
            continue;
        t->ndone[what]++;
        bt_text_addf(done, "%s i%u; ", try_names[what], index);
    }
}

#endif
