/*
 * Layers of codes: qnn.conv2d and qnn.dense with zero points, scaled by qnn.requantize in its
 * arithmetics, by one scale or one for each channel. What the machine does not compute by the
 * constants' values goes to another target.
 */
#include "target.h"

enum { NPROGRAM = 60, OUTPUTS = 20, CHANNELS = 12 };

struct layer {
    uint64_t seed;
    const char *arithmetic, *rounding;
    uint32_t is_dense, by_channel, has_powers, has_scales, has_bias, is_const, is_limited;
    int zero, out_zero;
};

static uint32_t chance(struct layer *l, uint32_t percent)
{
    return draw(&l->seed, 100) < percent;
}

static struct layer layer_of(uint64_t seed)
{
    static const char *const arithmetics[] = { "int64", "None", "float32", "float64" };
    static const char *const roundings[] = { "None", "UPWARD", "TOEVEN" };
    struct layer l = { .seed = seed };
    l.arithmetic = arithmetics[draw(&l.seed, 4)];
    l.rounding = roundings[draw(&l.seed, 3)];
    l.is_dense = chance(&l, 30);
    l.by_channel = chance(&l, 50);
    l.has_powers = chance(&l, 60);
    l.has_scales = chance(&l, 50);
    l.has_bias = chance(&l, 60);
    l.is_const = chance(&l, 70);
    l.is_limited = chance(&l, 30);
    l.zero = chance(&l, 50) ? (int)draw(&l.seed, 256) - 128 : 0;
    l.out_zero = chance(&l, 50) ? (int)draw(&l.seed, 256) - 128 : 0;
    return l;
}

/* A factor that brings sums to codes. */
static double factor(struct layer *l)
{
    const uint32_t by = 7 + draw(&l->seed, 5);
    return (l->has_powers ? 1 : 0.5 + draw(&l->seed, 1000) * 0.0005) / (double)(1u << by);
}

static void add_numbers(struct layer *l, char *text, size_t room)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, room - n, "const[(%d), float32]{", OUTPUTS);
    for (uint32_t i = 0; i < OUTPUTS; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%.9g", i ? ", " : "", factor(l));
    snprintf(text + n, room - n, "}");
}

static void write_layer(struct layer *l, char *text, size_t room)
{
    const char *weight = l->is_dense ? "20, 12" : "20, 12, 3, 2";
    char scales[2048] = "", more[2100] = "", constant[512] = "", parameter[64] = "";
    if (l->by_channel)
        add_numbers(l, scales, sizeof(scales));
    else
        snprintf(scales, sizeof(scales), "%.9gf", factor(l));
    if (l->has_scales)
        snprintf(more, sizeof(more), ", 0.5f, %s", scales);
    if (l->is_const)
        snprintf(constant, sizeof(constant),
                 "    %%w = cast(reshape(subtract(mod(multiply(arange(0, %d, 1, "
                 "dtype=\"int32\"), %u), 251), 125), newshape=[%s]), dtype=\"int8\");\n",
                 OUTPUTS * CHANNELS * (l->is_dense ? 1 : 6), 2 * draw(&l->seed, 3000) + 1,
                 weight);
    else
        snprintf(parameter, sizeof(parameter), ", %%w: Tensor[(%s), int8]", weight);
    snprintf(text, room,
             "def @main(%%x: Tensor[(%s), int8]%s) {\n%s"
             "    %%0 = qnn.%s(%%x, %%w, %di32, 0%s%s);\n"
             "    %%1 = %s;\n"
             "    %%2 = qnn.requantize(%%1, %s, 0, 1f, %d, axis=1, compute_dtype=\"%s\", "
             "rounding=\"%s\");\n"
             "    %s\n}\n",
             l->is_dense ? "3, 12" : "2, 12, 6, 5", parameter, constant,
             l->is_dense ? "dense" : "conv2d", l->zero, more,
             l->is_dense ? "" : ", padding=[1, 0, 1, 1]",
             l->has_bias ? "nn.bias_add(%0, subtract(multiply(arange(0, 20, 1, "
                           "dtype=\"int32\"), 91), 1000))"
                         : "%0",
             scales, l->out_zero, l->arithmetic, l->rounding,
             l->is_limited ? "clip(%2, a_min=-10.0, a_max=100.0)" : "%2");
}

/* Layers that the machine is known to take are taken; the others have the same numbers. */
static int is_taken(const struct layer *l, int has_multiplier)
{
    const int is_fixed = l->arithmetic[0] != 'f';
    return (l->has_powers || (is_fixed && has_multiplier)) &&
           (!l->by_channel || !l->zero || l->is_const);
}

static void check_layers(uint32_t machine)
{
    static char text[1 << 13];
    bt_ctx *ctx = open_npu();
    char name[32];
    snprintf(name, sizeof(name), "codes_%u", machine);
    for (uint32_t i = 0; i < NPROGRAM; i++) {
        struct layer l = layer_of(i * 3 + machine);
        write_layer(&l, text, sizeof(text));
        const uint32_t taken = check_machine(ctx, name, text, machines[machine]);
        if (is_taken(&l, machine > 0) && !taken)
            fail_msg("not on %s:\n%s", machines[machine], text);
        bt_ctx_clear_diags(ctx);
    }
    bt_ctx_destroy(ctx);
}

static void test_codes_on_single(void **state)
{
    (void)state;
    check_layers(0);
}

static void test_codes_on_multi(void **state)
{
    (void)state;
    check_layers(1);
}

static void test_codes_on_a_file(void **state)
{
    (void)state;
    check_layers(2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_codes_on_single),
    cmocka_unit_test(test_codes_on_multi),
    cmocka_unit_test(test_codes_on_a_file),
};
TEST_MAIN(tests)
