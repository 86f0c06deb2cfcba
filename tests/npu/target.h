/* What tests of the target share: programs by text, run here and by interp. */
#ifndef NPU_TARGET_H
#define NPU_TARGET_H

#include "test.h"

#include <baton/baton.h>
#include <baton/compiled.h>

#include "tiny.h"

/* Machines: config=NAME, or a file. */
static const char *const machines[] = { "single", "multi", TEST_FOLDER "/tiny.json" };

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A context that knows the plugins of the build. */
static inline bt_ctx *open_npu(void)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    write_file(machines[2], tiny);
    return ctx;
}

/* Programs are files; each test has its own. */
static inline bt_program *open_text(bt_ctx *ctx, const char *name, const char *body,
                                    const char *target)
{
    static char text[1 << 16];
    char path[512];
    bt_program *program = NULL;
    const bt_program_options options = { .target = target,
                                         .executor =
                                             strcmp(target, "interp") ? "graph" : NULL };
    snprintf(path, sizeof(path), TEST_FOLDER "/%s.baton", name);
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", body);
    write_file(path, text);
    assert_ok(ctx, bt_program_open(ctx, path, &options, &program));
    return program;
}

/* Of a row of numbers that a seed gives, the next, below n. */
static inline uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % n);
}

/* Inputs by the seed: int8 of all codes, others from -3000 to 2999. */
static inline void set_inputs(bt_ctx *ctx, bt_program *program, uint64_t seed)
{
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        bt_tensor *tensor;
        assert_ok(ctx, bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank,
                                        port->dims, &tensor));
        for (int64_t k = 0; k < tensor->nelem; k++)
            bt_tensor_set(tensor, k,
                          port->dtype == BT_INT8 ? (double)draw(&seed, 256) - 128
                                                 : (double)draw(&seed, 6000) - 3000);
        assert_ok(ctx, bt_program_set_at(program, i, &tensor->base));
        bt_tensor_unref(tensor);
    }
}

static inline const bt_tensor *result_of(bt_ctx *ctx, bt_program *program)
{
    assert_ok(ctx, bt_program_run(program));
    return bt_object_as_tensor(bt_program_get(program, 0));
}

/* Functions that the first target computes. */
static inline uint32_t count_taken(const bt_program *program)
{
    const bt_compiled *c = bt_program_compiled(program);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nfunc; i++)
        n += c->funcs[i]->target == 0;
    return n;
}

static inline void assert_same(bt_ctx *ctx, const bt_tensor *found,
                               const bt_tensor *expected, const char *body,
                               const char *target)
{
    bt_tensor_difference d;
    assert_ok(ctx, bt_tensor_compare(ctx, found, expected, 0, 0, &d));
    if (d.ndifferent)
        fail_msg("%d of %d numbers are others on %s:\n%s", (int)d.ndifferent,
                 (int)expected->nelem, target, body);
}

/* The least number of functions that the target takes, on both simulators, with the numbers of
 * interp. */
static inline uint32_t check_machine(bt_ctx *ctx, const char *name, const char *body,
                                     const char *machine)
{
    static const char *const runs[] = { "order", "cycles" };
    uint32_t taken = UINT32_MAX;
    bt_program *expected = open_text(ctx, name, body, "interp");
    set_inputs(ctx, expected, 7);
    const bt_tensor *numbers = result_of(ctx, expected);
    for (uint32_t i = 0; i < 2; i++) {
        char target[600];
        snprintf(target, sizeof(target), "npu{config=\"%s\", run=\"%s\"},reference",
                 machine, runs[i]);
        bt_program *program = open_text(ctx, name, body, target);
        set_inputs(ctx, program, 7);
        assert_same(ctx, result_of(ctx, program), numbers, body, target);
        taken = count_taken(program) < taken ? count_taken(program) : taken;
        bt_program_close(program);
    }
    bt_program_close(expected);
    return taken;
}

#endif
