/* What tests of streams share: a machine, buffers, and a list of instructions that grows. */
#ifndef NPU_KIT_H
#define NPU_KIT_H

#include "test.h"

#include <stdlib.h>

#include "machine.h"
#include "simulate.h"
#include "tiny.h"
#include "verify.h"

static bt_registry *registry;
static bt_ctx *ctx;
static bt_arena *arena;
static struct npu_config config;
static struct npu_buffer buffer_list[8];
static struct npu_buffers buffers;
static struct npu_instruction list[4096];
static struct npu_stream stream;
static struct npu_times times; /* of the last run */

static inline void use(const char *name)
{
    assert_ok(ctx, strcmp(name, "tiny")
                       ? npu_config_read(ctx, name, &config)
                       : npu_config_parse(ctx, name, tiny, sizeof(tiny) - 1, &config));
    buffers = (struct npu_buffers){ .n = 0, .at = buffer_list };
    stream = (struct npu_stream){ .n = 0, .at = list };
}

static int setup(void **state)
{
    (void)state;
    registry = bt_registry_create(NULL);
    ctx = bt_ctx_create(registry);
    arena = bt_arena_create(registry);
    return ctx && arena ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    bt_arena_destroy(arena);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return 0;
}

/* ---- numbers ---- */

static uint64_t seed = 1;

/* Below n. */
static inline uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

/* A buffer of random bytes; its number. */
static inline uint8_t add_buffer(size_t nbytes, int is_constant)
{
    uint8_t *at = BT_NEWS(arena, uint8_t, nbytes);
    assert_non_null(at);
    assert_true(buffers.n < BT_COUNT(buffer_list));
    for (size_t i = 0; i < nbytes; i++)
        at[i] = (uint8_t)draw(256);
    buffer_list[buffers.n] = (struct npu_buffer){ at, nbytes, (uint32_t)is_constant };
    return (uint8_t)buffers.n++;
}

static inline uint8_t add_uops(const struct npu_uop *uops, uint32_t n)
{
    const uint8_t number = add_buffer((size_t)n * 8, 1);
    for (uint32_t i = 0; i < n; i++)
        npu_uop_encode(uops[i], buffer_list[number].at + (size_t)i * 8);
    return number;
}

static inline int32_t word_at(uint32_t buffer, size_t i)
{
    const uint8_t *b = buffer_list[buffer].at + 4 * i;
    return (int32_t)(b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                     (uint32_t)b[3] << 24);
}

static inline void set_word(uint32_t buffer, size_t i, int32_t value)
{
    for (uint32_t k = 0; k < 4; k++)
        buffer_list[buffer].at[4 * i + k] = (uint8_t)((uint32_t)value >> 8 * k);
}

/* ---- streams ---- */

static inline void add(struct npu_instruction in)
{
    assert_true(stream.n < BT_COUNT(list));
    list[stream.n++] = in;
}

static inline void load_uops(uint8_t buffer, uint16_t n)
{
    add((struct npu_instruction){
        .op = NPU_LOAD, .memory = NPU_UOP, .buffer = buffer, .rows = 1, .columns = n });
}

static inline void finish(uint8_t tokens)
{
    add((struct npu_instruction){ .op = NPU_FINISH, .tokens = tokens });
}

/* What all machines leave in the buffers; the first run's is kept. */
static inline void run_both(void)
{
    uint8_t *first[BT_COUNT(buffer_list)], *begun[BT_COUNT(buffer_list)];
    struct npu_machine *m;
    for (uint32_t i = 0; i < buffers.n; i++) {
        const size_t n = buffer_list[i].nbytes;
        first[i] = BT_NEWS(arena, uint8_t, n);
        begun[i] = BT_NEWS(arena, uint8_t, n);
        assert_true(first[i] && begun[i]);
        memcpy(begun[i], buffer_list[i].at, n);
    }
    assert_ok(ctx, npu_machine_create(ctx, &config, &m));
    assert_ok(ctx, npu_simulate(ctx, m, &buffers, &stream, &times));
    npu_machine_destroy(m);
    for (uint32_t i = 0; i < buffers.n; i++) {
        memcpy(first[i], buffer_list[i].at, buffer_list[i].nbytes);
        memcpy(buffer_list[i].at, begun[i], buffer_list[i].nbytes);
    }
    assert_ok(ctx, npu_machine_create(ctx, &config, &m));
    assert_ok(ctx, npu_run(ctx, m, &buffers, &stream));
    npu_machine_destroy(m);
    for (uint32_t i = 0; i < buffers.n; i++)
        assert_memory_equal(first[i], buffer_list[i].at, buffer_list[i].nbytes);
}

/* Bytes and back, checked for order, run by both simulators. */
static inline void run_all(void)
{
    uint8_t *bytes = BT_NEWS(arena, uint8_t, stream.n * (size_t)NPU_NBYTES);
    struct npu_stream again;
    assert_non_null(bytes);
    for (uint32_t i = 0; i < stream.n; i++)
        npu_encode(&list[i], bytes + (size_t)i * NPU_NBYTES);
    assert_ok(ctx, npu_decode(ctx, arena, bytes, stream.n * (size_t)NPU_NBYTES, &again));
    assert_int_equal(again.n, stream.n);
    memcpy(list, again.at, stream.n * sizeof(*list));
    assert_ok(ctx, npu_check(ctx, &config, &buffers, &stream));
    run_both();
}

/* Any order that queues and tokens allow. */
static inline void run_in_random_order(struct npu_machine *m, const struct npu_buffers *b,
                                       const struct npu_stream *s)
{
    uint32_t next[NPU_NQUEUE] = { 0 }, tokens[NPU_NCHANNEL] = { 0 };
    for (uint32_t ndone = 0; ndone < s->n;) {
        const uint32_t q = draw(NPU_NQUEUE);
        while (next[q] < s->n && npu_queue(&s->at[next[q]]) != q)
            next[q]++;
        if (next[q] == s->n)
            continue;
        const struct npu_instruction *in = &s->at[next[q]];
        int may = 1;
        for (uint32_t token = 1; token < 4; token *= 2)
            may &= !(in->tokens & token) || tokens[npu_channel(q, token)];
        if (!may)
            continue;
        assert_ok(ctx, npu_execute(ctx, m, b, s, next[q]));
        for (uint32_t token = 1; token < 16; token *= 2) {
            if (in->tokens & token)
                tokens[npu_channel(q, token)] += token < 4 ? UINT32_MAX : 1;
        }
        next[q]++;
        ndone++;
    }
}

/* What is said of a stream that is wrong. */
static inline bt_status fault(void)
{
    struct npu_machine *m;
    bt_status status = npu_check(ctx, &config, &buffers, &stream);
    if (status)
        return status;
    assert_ok(ctx, npu_machine_create(ctx, &config, &m));
    status = npu_run(ctx, m, &buffers, &stream);
    npu_machine_destroy(m);
    return status;
}

#endif
