/*
 * bench_engines: what engines cost. Chains relu(a * x + b) of three strips in blocks of 512
 * elements, and calls of nothing, as bytecode, by tcc and cc; ns of a launch, the best of
 * many, and of a call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/bytecode_build.h"
#include "engine/engine.h"
#include "engine/launch.h"
#include "loops_oracle.h"

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(bt_ctx *ctx, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_diag_render(status, 0, &text);
    fputs(bt_text_get(&text), stderr);
    exit(1);
}

#define CHECK(ctx, expr)                 \
    do {                                 \
        bt_status check_status = (expr); \
        if (check_status)                \
            fail((ctx), check_status);   \
    } while (0)

static struct cpu_loaded *load(bt_ctx *ctx, const char *text, const char *engine)
{
    static const uint32_t places[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    bt_arena *arena = bt_ctx_scratch(ctx);
    const struct cpu_engine_request request = { engine, "",
                                                cpu_isa_chosen(getenv("BATON_CPU")), 0 };
    struct cpu_work work = { 0 };
    bt_kernel_code *code = BT_NEW(arena, bt_kernel_code);
    struct cpu_loaded *loaded;
    bt_loops *loops;
    CHECK(ctx, loops_parse(ctx, arena, "bench", text, strlen(text), &loops));
    const struct bytecode_source source = { .loops = loops,
                                            .n = loops->body.len,
                                            .stmts = loops->body.at,
                                            .name = loops->name,
                                            .isa = cpu_isa_chosen(getenv("BATON_CPU")),
                                            .nbuffer = loops->graph->narray,
                                            .places = places };
    CHECK(ctx,
          code ? bytecode_build(ctx, arena, &source, &work.bytecode) : bt_no_memory());
    CHECK(ctx, cpu_engine_compile(ctx, arena, &request, BT_CODE_ANY, 1, &work, &code));
    CHECK(ctx, cpu_loaded_create(ctx, NULL, 0, 1, (const bt_kernel_code *[]){ code },
                                 &loaded));
    return loaded;
}

/* The best time of a launch. */
static double time_launch(bt_ctx *ctx, const char *text, const char *engine,
                          void **buffers)
{
    struct cpu_loaded *loaded = load(ctx, text, engine);
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .buffers = buffers,
                                  .workspace = buffers[7] };
    double best = 1e30;
    for (int round = 0; round < 200; round++) {
        enum { REPEAT = 50 };
        double start = now_ns();
        for (int i = 0; i < REPEAT; i++)
            CHECK(ctx, cpu_loaded_launch(ctx, loaded, 0, &call));
        double each = (now_ns() - start) / REPEAT;
        best = each < best ? each : best;
    }
    cpu_loaded_destroy(loaded);
    return best;
}

static const struct program {
    const char *name;
    int ncall;
    const char *text;
} programs[] = {
    { "relu(a*x+b), 4096", 24,
      "loops chain {\n    in a: float32[4096]\n    in x: float32[4096]\n"
      "    in b: float32[4096]\n    out y: float32[4096]\n    local t: float32[512]\n"
      "    local z: float32[1]\n"
      "    for i0 in 8 {\n"
      "        mul.float32(&t[0], &a[512*i0], &x[512*i0], min(512, -512*i0 + 4096))\n"
      "        add.float32(&t[0], &t[0], &b[512*i0], min(512, -512*i0 + 4096))\n"
      "        max.float32.s(&y[512*i0], &t[0], &z[0], min(512, -512*i0 + 4096))\n"
      "    }\n}\n" },
    { "the same in one strip", 8,
      "loops chain {\n    in a: float32[4096]\n    in x: float32[4096]\n"
      "    in b: float32[4096]\n    out y: float32[4096]\n    local t: float32[512]\n"
      "    for i0 in 8 {\n"
      "        fma_relu.float32(&y[512*i0], &a[512*i0], &x[512*i0], &b[512*i0], 512)\n"
      "    }\n}\n" },
    { "relu(a*x+b), 64", 3,
      "loops chain {\n    in a: float32[4096]\n    in x: float32[4096]\n"
      "    in b: float32[4096]\n    out y: float32[4096]\n    local t: float32[512]\n"
      "    local z: float32[1]\n"
      "    mul.float32(&t[0], &a[0], &x[0], 64)\n"
      "    add.float32(&t[0], &t[0], &b[0], 64)\n"
      "    max.float32.s(&y[0], &t[0], &z[0], 64)\n}\n" },
    { "1000 calls of nothing", 1000,
      "loops calls {\n    in a: float32[4096]\n    in x: float32[4096]\n"
      "    in b: float32[4096]\n    out y: float32[4096]\n"
      "    for i0 in 1000 {\n        add.float32(&y[i0], &a[2*i0], &x[i0], 0)\n    "
      "}\n}\n" },
};

int main(void)
{
    static const char *const engines[] = { "bytecode", "tcc", "cc" };
    const bt_registry_options options = { .plugin_only = BENCH_PLUGINS };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    void *buffers[8]; // of a program; the last is its workspace
    if (!ctx)
        return 1;
    for (int i = 0; i < 8; i++) {
        buffers[i] = aligned_alloc(64, 1 << 16);
        if (!buffers[i])
            return 1;
        memset(buffers[i], 0, 1 << 16);
    }
    printf("%-24s", "ns a launch (a call)");
    for (uint32_t e = 0; e < BT_COUNT(engines); e++)
        printf("  %16s", engines[e]);
    printf("\n");
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        printf("%-24s", programs[i].name);
        for (uint32_t e = 0; e < BT_COUNT(engines); e++) {
            double ns = time_launch(ctx, programs[i].text, engines[e], buffers);
            printf("  %8.0f (%5.1f)", ns, ns / programs[i].ncall);
        }
        printf("\n");
    }
    for (int i = 0; i < 8; i++)
        free(buffers[i]);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return 0;
}
