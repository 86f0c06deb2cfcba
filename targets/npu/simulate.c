#include "simulate.h"
#include "cycles.h"
#include "verify.h"

struct simulator {
    bt_ctx *ctx;
    struct npu_machine *machine;
    const struct npu_buffers *buffers;
    const struct npu_stream *stream;
    struct npu_timer timer;
};

static bt_status begin(void *self, uint32_t i, uint64_t *cycles)
{
    struct simulator *s = self;
    BT_TRY(npu_execute(s->ctx, s->machine, s->buffers, s->stream, i));
    *cycles = npu_cycles(&s->timer, &s->machine->uops, &s->stream->at[i]);
    return NULL;
}

bt_status npu_simulate(bt_ctx *ctx, struct npu_machine *machine,
                       const struct npu_buffers *buffers, const struct npu_stream *stream,
                       struct npu_times *out)
{
    struct simulator s = {
        .ctx = ctx, .machine = machine, .buffers = buffers, .stream = stream
    };
    BT_TRY(npu_verify(ctx, &machine->config, buffers, stream));
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = arena && npu_timer_init(arena, &machine->config, &s.timer)
                           ? npu_schedule(ctx, &machine->config, stream, begin, &s, out)
                           : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}
