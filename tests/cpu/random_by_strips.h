/* Programs of random formulas, vectorised, as they are lowered and after random transforms;
 * included by random_formulas.c. */
#ifndef RANDOM_BY_STRIPS_H
#define RANDOM_BY_STRIPS_H

#include "schedule/alias.h"
#include "schedule/schedule.h"
#include "schedule/vectorise.h"
#include "strip_run.h"
#include "vectorised_check.h"

/* `over`: the array in whose bytes the result is computed; NARRAY: in bytes of its own. */
static void run_strips_over(struct world *w, struct state *s, const bt_loops *loops,
                            const struct cpu_config *config, const bt_tensor *expected,
                            const char *said, int over)
{
    void *data[NARRAY + 1];
    struct strip_run run = { .ctx = w->ctx, .isa = config->isa };
    struct run_options options = { .seed = 3, .call = strip_call, .self = &run };
    bt_tensor *y = tensor_new(w, expected->dtype, expected->rank, expected->dims);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, bt_loops_print(loops, &text));
    bt_status checked = check_vectorised(loops, config);
    if (checked) {
        fprintf(stderr, "%s\n%s\n", said, bt_text_get(&text));
        fail_msg("%s\n%s", checked->message, bt_text_get(s->text));
    }
    for (int i = 0; i < NARRAY; i++)
        data[i] = s->tensors[i]->data;
    data[NARRAY] = y->data;
    if (over < NARRAY) {
        memcpy(y->data, data[over], (size_t)y->nelem * bt_dtype_nbytes(y->dtype));
        data[over] = y->data;
    }
    bt_status status = loops_run(w->ctx, loops, data, &options);
    if (status) {
        fprintf(stderr, "%s\n%s\n", said, bt_text_get(&text));
        fail_msg("%s\n%s", status->message, bt_text_get(s->text));
    }
    for (int64_t i = 0; i < y->nelem; i++) {
        double got = bt_tensor_get(y, i), want = bt_tensor_get(expected, i);
        double bound = expected->dtype == BT_FLOAT32 ? 1e-6 * (1 + fabs(want)) : 0;
        if (got == want || (got != got && want != want) || fabs(got - want) <= bound)
            continue;
        fprintf(stderr, "%s\n%s\n", said, bt_text_get(&text));
        fail_msg("element %d: %g, expected %g\n%s", (int)i, got, want,
                 bt_text_get(s->text));
    }
    bt_tensor_unref(y);
}

/* In bytes of its own, and in those of each input that it may lie over. */
static void run_strips(struct world *w, struct state *s, const bt_loops *loops,
                       const struct cpu_config *config, const bt_tensor *expected,
                       const char *said)
{
    run_strips_over(w, s, loops, config, expected, said, NARRAY);
    for (int i = 0; i < NARRAY; i++) {
        // inputs come first, in order
        const struct cpu_alias_question q = { .loops = loops,
                                              .n = loops->body.len,
                                              .stmts = loops->body.at,
                                              .config = config,
                                              .out = loops->results.at[0],
                                              .in = (uint32_t)i };
        if (s->tensors[i]->nelem != expected->nelem ||
            bt_dtype_nbytes(s->tensors[i]->dtype) != bt_dtype_nbytes(expected->dtype))
            continue;
        int may = cpu_may_alias(&q);
        assert_true(may >= 0);
        s->nalias += (uint32_t)may;
        if (may)
            run_strips_over(w, s, loops, config, expected, said, i);
    }
}

/* Loops as they come: what has no strips is refused, as locals that are too large are. */
static void check_by_strips(struct world *w, struct state *s, bt_loops *loops,
                            const bt_tensor *expected, const char *said)
{
    struct cpu_config config = { .isa = cpu_isa_of_machine(), .nthread = 1 };
    bt_status status = cpu_vectorise(loops, &config);
    if (status && status->code == BT_ERR_UNSUPPORTED)
        return;
    assert_ok(w->ctx, status);
    run_strips(w, s, loops, &config, expected, said);
}

/* As the target does it: nothing is refused. */
static void check_scheduled(struct world *w, struct state *s, bt_graph *graph,
                            const bt_tensor *expected)
{
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 1 };
    bt_arena *arena = bt_arena_create(w->registry);
    bt_loops *loops;
    assert_ok(w->ctx, cpu_lower(w->ctx, arena, "formula", graph, &loops));
    assert_ok(w->ctx, cpu_schedule_loops(loops, &config));
    run_strips(w, s, loops, &config, expected, "");
    bt_arena_destroy(arena);
}

#endif
