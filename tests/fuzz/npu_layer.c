/* Layers of any numbers: refused with a message, or planned as a stream that passes npu_check, takes
 * the cycles that its plan says, and faults nowhere. */
#include <string.h>

#include "fuzz.h"
#include "layer.h"
#include "simulate.h"
#include "tiny.h"
#include "verify.h"

enum { MAX_BYTES = 1 << 16, MAX_STEPS = 1 << 18 };

struct reader {
    const uint8_t *at, *end;
};

/* A byte is a small number, or one at an edge. */
static int64_t number(struct reader *r)
{
    static const int64_t edges[16] = { INT64_MIN,  INT64_MAX, -1,      0,
                                       INT32_MIN,  INT32_MAX, 1 << 30, 1 << 16,
                                       UINT32_MAX, 65535,     1 << 20, 1 << 24,
                                       1 << 12,    1000,      -128,    256 };
    const uint8_t byte = r->at < r->end ? *r->at++ : 1;
    return byte < 240 ? byte : edges[byte - 240];
}

static void read_window(struct reader *r, struct npu_window *w)
{
    int64_t *const members[] = { &w->in,     &w->out,      &w->taps,
                                 &w->stride, &w->dilation, &w->before };
    for (uint32_t i = 0; i < BT_COUNT(members); i++)
        *members[i] = number(r);
}

static void read_requantize(struct reader *r, struct npu_requantize *s)
{
    s->low = (int32_t)((uint32_t)number(r) - 128);
    s->high = (int32_t)number(r);
    s->is_even = (uint32_t)number(r);
}

static struct npu_layer read_layer(struct reader *r)
{
    struct npu_layer l = { .kind = (uint32_t)number(r) };
    l.batch = number(r);
    l.in = number(r);
    l.out = number(r);
    l.groups = number(r);
    read_window(r, &l.rows);
    read_window(r, &l.columns);
    l.pad = (int32_t)number(r);
    l.weight_bits = (uint32_t)number(r);
    l.is_wide = (uint32_t)number(r);
    l.npost_op = (uint32_t)number(r);
    for (uint32_t i = 0; i < NPU_MAX_POST_OPS; i++) {
        struct npu_post_op *s = &l.post_ops[i];
        s->has_operand = (uint32_t)number(r);
        s->requantizes_operand = (uint32_t)number(r);
        s->requantizes = (uint32_t)number(r);
        read_requantize(r, &s->operand_requantize);
        read_requantize(r, &s->requantize);
    }
    return l;
}

/* Zeros everywhere: numbers of scales too, so that no result leaves int8 by itself. */
static void run(bt_ctx *ctx, bt_arena *arena, const struct npu_config *config,
                const struct npu_plan *plan)
{
    struct npu_buffer at[NPU_NBUFFER];
    const struct npu_buffers buffers = { NPU_NBUFFER, at };
    struct npu_machine *machine;
    struct npu_times times;
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        at[i] = (struct npu_buffer){ .nbytes = plan->nbytes[i],
                                     .is_constant = i == NPU_BUFFER_UOPS };
        nbytes += plan->nbytes[i];
    }
    at[NPU_BUFFER_UOPS].at = BT_NEWS(arena, uint8_t, plan->nbytes[NPU_BUFFER_UOPS]);
    FUZZ_CHECK(at[NPU_BUFFER_UOPS].at);
    memcpy(at[NPU_BUFFER_UOPS].at, plan->uops, plan->nbytes[NPU_BUFFER_UOPS]);
    FUZZ_CHECK(!npu_verify(ctx, config, &buffers, &plan->stream));
    if (nbytes > MAX_BYTES || plan->cycles > MAX_STEPS)
        return;
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        if (!at[i].at)
            FUZZ_CHECK(at[i].at = BT_NEWS(arena, uint8_t, at[i].nbytes));
    }
    FUZZ_CHECK(!npu_check(ctx, config, &buffers, &plan->stream));
    FUZZ_CHECK(!npu_machine_create(ctx, config, &machine));
    FUZZ_CHECK(!npu_simulate(ctx, machine, &buffers, &plan->stream, &times));
    FUZZ_CHECK(times.cycles == plan->cycles);
    npu_machine_destroy(machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    struct reader r = { bytes, bytes + nbytes };
    bt_ctx *ctx = fuzz_begin();
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct npu_config config;
    struct npu_plan plan;
    const int64_t machine = number(&r) % 3;
    FUZZ_CHECK(arena);
    FUZZ_CHECK(!(machine == 0
                     ? npu_config_parse(ctx, "tiny", tiny, sizeof(tiny) - 1, &config)
                     : npu_config_read(ctx, machine == 1 ? "single" : "multi", &config)));
    const struct npu_layer layer = read_layer(&r);
    bt_status status = npu_plan(ctx, arena, &config, &layer, &plan);
    fuzz_check_status(ctx, status);
    if (!status)
        run(ctx, arena, &config, &plan);
    bt_arena_destroy(arena);
    bt_ctx_destroy(ctx);
    return 0;
}
