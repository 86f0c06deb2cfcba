/* Streams of the simulated accelerator, and its configurations: any bytes are refused with a
 * message, or are written again as they were; what is verified runs or is a fault, and both
 * simulators agree where there is no race. */
#include <string.h>

#include "fuzz.h"
#include "simulate.h"
#include "tiny.h"
#include "verify.h"

enum { CONSTANT = 512, WRITTEN = 1024, MAX_STEPS = 20000 };

static void use_config(bt_ctx *ctx, const uint8_t *bytes, size_t nbytes)
{
    struct npu_config config;
    struct npu_machine *machine;
    bt_status status =
        npu_config_parse(ctx, "config", (const char *)bytes, nbytes, &config);
    fuzz_check_status(ctx, status);
    uint64_t sum = 0;
    for (uint32_t i = 0; !status && i < NPU_NMEMORY; i++) {
        FUZZ_CHECK(config.ntile[i] > 0 && config.ntile[i] <= 65536);
        sum += config.nbytes[i];
    }
    if (!status && sum < 1 << 20) {
        FUZZ_CHECK(!npu_machine_create(ctx, &config, &machine));
        npu_machine_destroy(machine);
    }
}

static void check_bytes(bt_ctx *ctx, const struct npu_stream *stream,
                        const uint8_t *bytes)
{
    uint8_t again[NPU_NBYTES];
    bt_text text;
    for (uint32_t i = 0; i < stream->n; i++) {
        npu_encode(&stream->at[i], again);
        FUZZ_CHECK(!memcmp(again, bytes + (size_t)i * NPU_NBYTES, NPU_NBYTES));
    }
    bt_text_init(&text, bt_ctx_scratch(ctx));
    npu_stream_print(stream, &text);
    FUZZ_CHECK(bt_text_get(&text));
}

static uint64_t count_steps(const struct npu_stream *stream)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < stream->n; i++) {
        const struct npu_instruction *in = &stream->at[i];
        const uint64_t here = (uint64_t)in->outer * in->inner * in->nuop;
        n = here > MAX_STEPS ? MAX_STEPS : n + here;
        if (n >= MAX_STEPS)
            break;
    }
    return n;
}

static bt_status run(bt_ctx *ctx, const struct npu_config *config,
                     const struct npu_buffers *buffers, const struct npu_stream *stream,
                     int is_timed)
{
    struct npu_machine *machine;
    struct npu_times times;
    FUZZ_CHECK(!npu_machine_create(ctx, config, &machine));
    bt_status status = is_timed ? npu_simulate(ctx, machine, buffers, stream, &times)
                                : npu_run(ctx, machine, buffers, stream);
    npu_machine_destroy(machine);
    fuzz_check_status(ctx, status);
    return status;
}

static void use_stream(bt_ctx *ctx, const struct npu_config *config,
                       const uint8_t *constant, const struct npu_stream *stream)
{
    uint8_t fixed[CONSTANT], written[2][WRITTEN];
    struct npu_buffer at[5];
    const struct npu_buffers buffers = { 5, at };
    memcpy(fixed, constant, CONSTANT);
    memset(written, 7, sizeof(written));
    for (uint32_t i = 0; i < 5; i++)
        at[i] = (struct npu_buffer){ fixed, CONSTANT, 1 };
    at[2] = (struct npu_buffer){ written[0], WRITTEN, 0 };
    bt_status status = npu_verify(ctx, config, &buffers, stream);
    fuzz_check_status(ctx, status);
    if (status || count_steps(stream) >= MAX_STEPS)
        return;
    bt_status race = npu_check(ctx, config, &buffers, stream);
    fuzz_check_status(ctx, race);
    bt_status first = run(ctx, config, &buffers, stream, 0);
    at[2].at = written[1];
    bt_status second = run(ctx, config, &buffers, stream, 1);
    FUZZ_CHECK(race || !first == !second);
    FUZZ_CHECK(race || first || !memcmp(written[0], written[1], WRITTEN));
    FUZZ_CHECK(!memcmp(fixed, constant, CONSTANT));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    struct npu_config config;
    struct npu_stream stream;
    if (nbytes <= 1 + CONSTANT || bytes[0] == '{') {
        use_config(ctx, bytes, nbytes);
        bt_ctx_destroy(ctx);
        return 0;
    }
    const uint32_t machine = bytes[0] % 3;
    if (machine)
        FUZZ_CHECK(!npu_config_read(ctx, machine == 1 ? "single" : "multi", &config));
    else
        FUZZ_CHECK(!npu_config_parse(ctx, "tiny", tiny, sizeof(tiny) - 1, &config));
    const uint8_t *code = bytes + 1 + CONSTANT;
    bt_status status =
        npu_decode(ctx, bt_ctx_scratch(ctx), code, nbytes - 1 - CONSTANT, &stream);
    fuzz_check_status(ctx, status);
    if (!status) {
        check_bytes(ctx, &stream, code);
        use_stream(ctx, &config, bytes + 1, &stream);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
