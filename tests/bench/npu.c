/*
 * How fast the simulated accelerator is: millions of busy cycles of its multipliers a second, by
 * the functional simulator and by the one that counts cycles. And how busy plans keep it.
 *
 *     bench_npu [resnet18] [MACHINE...]     single and multi, unless named
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "resnet18.h"
#include "simulate.h"

enum { NUOP = 36, NREPEAT = 20 };

/* A layer's inner loops: 3 x 3 taps of 4 blocks, on 14 x 14 places. */
static void fill(struct npu_instruction *list, uint8_t *uops, uint32_t ntile)
{
    const uint16_t n = (uint16_t)(ntile < 1024 ? ntile : 1024);
    list[0] = (struct npu_instruction){
        .op = NPU_LOAD, .memory = NPU_UOP, .rows = 1, .columns = NUOP
    };
    list[1] = (struct npu_instruction){
        .op = NPU_LOAD, .memory = NPU_INP, .buffer = 1, .rows = 1, .columns = n
    };
    list[2] = (struct npu_instruction){ .op = NPU_LOAD,
                                        .tokens = NPU_PUSH_NEXT,
                                        .memory = NPU_WGT,
                                        .buffer = 1,
                                        .rows = 1,
                                        .columns = NUOP,
                                        .bits = 8 };
    for (uint32_t i = 0; i < NREPEAT; i++)
        list[3 + i] = (struct npu_instruction){ .op = NPU_GEMM,
                                                .tokens = i ? 0 : NPU_POP_PREV,
                                                .nuop = NUOP,
                                                .outer = 14,
                                                .inner = 14,
                                                .dst_outer = 14,
                                                .dst_inner = 1,
                                                .src_outer = 16,
                                                .src_inner = 1 };
    list[3 + NREPEAT] = (struct npu_instruction){ .op = NPU_FINISH };
    for (uint16_t i = 0; i < NUOP; i++)
        npu_uop_encode(
            (struct npu_uop){ .src = (uint16_t)(i / 9 * 256 + i % 9 / 3 * 16 + i % 3),
                              .wgt = i,
                              .flags = i == 0 },
            uops + 8 * i);
}

static bt_status measure(bt_ctx *ctx, const char *name)
{
    static uint8_t uops[8 * NUOP], data[1 << 16];
    struct npu_instruction list[4 + NREPEAT];
    struct npu_config config;
    struct npu_machine *m;
    struct npu_times times = { 0 };
    BT_TRY(npu_config_read(ctx, name, &config));
    fill(list, uops, config.ntile[NPU_INP]);
    memset(data, 3, sizeof(data));
    const struct npu_buffer at[] = { { uops, sizeof(uops), 1 },
                                     { data, sizeof(data), 1 } };
    const struct npu_buffers buffers = { 2, at };
    const struct npu_stream stream = { BT_COUNT(list), list };
    for (uint32_t is_timed = 0; is_timed < 2; is_timed++) {
        double least = 1e30;
        for (uint32_t i = 0; i < 15; i++) {
            BT_TRY(npu_machine_create(ctx, &config, &m));
            const uint64_t begun = bt_now_ns();
            bt_status status = is_timed ? npu_simulate(ctx, m, &buffers, &stream, &times)
                                        : npu_run(ctx, m, &buffers, &stream);
            const double ns = (double)(bt_now_ns() - begun);
            npu_machine_destroy(m);
            if (status)
                return status;
            least = ns < least ? ns : least;
        }
        const double npost_op = 14.0 * 14 * NUOP * NREPEAT;
        printf("%-8s %-10s %6.1f million busy cycles a second, %5.1f ns each\n", name,
               is_timed ? "cycles" : "functional", npost_op / least * 1e3, least / npost_op);
    }
    return NULL;
}

/* ---- plans ---- */

/* Buffers of zeros, but micro-ops. */
static bt_status simulate(bt_ctx *ctx, bt_arena *arena, const struct npu_config *config,
                          const struct npu_plan *plan, struct npu_times *times)
{
    struct npu_machine *m;
    struct npu_buffer at[NPU_NBUFFER];
    const struct npu_buffers all = { NPU_NBUFFER, at };
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        at[i] = (struct npu_buffer){ .nbytes = plan->nbytes[i],
                                     .is_constant = i == NPU_BUFFER_UOPS };
        if (!(at[i].at = BT_NEWS(arena, uint8_t, plan->nbytes[i])))
            return bt_no_memory();
    }
    memcpy(at[NPU_BUFFER_UOPS].at, plan->uops, plan->nbytes[NPU_BUFFER_UOPS]);
    BT_TRY(npu_machine_create(ctx, config, &m));
    bt_status status = npu_simulate(ctx, m, &all, &plan->stream, times);
    npu_machine_destroy(m);
    return status;
}

/* Of the load queue's time, how much the compute queue does not wait. */
static double hidden(const struct npu_times *t)
{
    const double busy = (double)t->queues[NPU_QUEUE_LOAD].busy,
                 waits = (double)t->queues[NPU_QUEUE_COMPUTE].waiting;
    return waits < busy ? 100 * (busy - waits) / busy : 0;
}

static bt_status measure_layer(bt_ctx *ctx, bt_arena *arena,
                               const struct npu_config *config, const struct npu_layer *l,
                               struct npu_plan *sum)
{
    struct npu_plan plan;
    struct npu_times t;
    const uint64_t begun = bt_now_ns();
    BT_TRY(npu_plan(ctx, arena, config, l, &plan));
    const double ms = (double)(bt_now_ns() - begun) / 1e6;
    BT_TRY(simulate(ctx, arena, config, &plan, &t));
    sum->ideal += plan.ideal;
    sum->cycles += t.cycles;
    printf("%4" PRId64 " %4" PRId64 " %3" PRId64 " %3" PRId64 " %3" PRId64 "%s %9" PRIu64
           " %9" PRIu64 " %9" PRIu64 " %5.1f %%  %5.1f %% %5.1f %%  %6" PRIu32 " %6.1f\n",
           l->in, l->out, l->rows.out, l->rows.taps, l->rows.stride,
           l->npost_op > 1 ? " add" : "    ", plan.ideal, t.cycles, plan.cycles,
           100 * (double)plan.ideal / (double)t.cycles,
           100 * (double)t.queues[NPU_QUEUE_LOAD].busy / (double)t.cycles, hidden(&t),
           plan.stream.n, ms);
    return NULL;
}

static bt_status measure_resnet18(bt_ctx *ctx, const char *name)
{
    struct npu_config config;
    struct npu_layer layers[RESNET18_NLAYER];
    struct npu_plan sum = { 0 };
    BT_TRY(npu_config_read(ctx, name, &config));
    resnet18(&config, layers);
    printf("%s, %u images\n  in  out size taps stride   ideal    cycles   planned     "
           "use    "
           "loads  hidden  instr.     ms\n",
           name, config.batch);
    for (uint32_t i = 0; i < RESNET18_NLAYER; i++) {
        bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
        bt_status status =
            arena ? measure_layer(ctx, arena, &config, &layers[i], &sum) : bt_no_memory();
        bt_arena_destroy(arena);
        if (status)
            return status;
    }
    printf("all %32" PRIu64 " %9" PRIu64 " %15.1f %%\n", sum.ideal, sum.cycles,
           100 * (double)sum.ideal / (double)sum.cycles);
    return NULL;
}

int main(int argc, char **argv)
{
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_status status = ctx ? NULL : bt_no_memory();
    const int plans = argc > 1 && !strcmp(argv[1], "resnet18");
    bt_status (*const what)(bt_ctx *, const char *) = plans ? measure_resnet18 : measure;
    for (int i = 1 + plans; !status && i < argc; i++)
        status = what(ctx, argv[i]);
    if (!status && argc == 1 + plans)
        status = what(ctx, "single");
    if (!status && argc == 1 + plans)
        status = what(ctx, "multi");
    if (status)
        fprintf(stderr, "%s\n", status->message);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return status != NULL;
}
