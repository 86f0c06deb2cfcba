/*
 * qnn.add of int8: of two tensors, or of one and a layer's codes, by factors that are powers of two
 * or not, with zero points, limited or not.
 */
#include "target.h"

enum { NPROGRAM = 60 };

struct sum {
    uint64_t seed;
    uint32_t has_layer, is_turned, has_powers, is_limited;
    uint32_t by[2]; /* factors 2^-by */
    int zeros[3];   /* the last is the result's */
};

static uint32_t chance(struct sum *s, uint32_t percent)
{
    return draw(&s->seed, 100) < percent;
}

static struct sum sum_of(uint64_t seed)
{
    struct sum s = { .seed = seed };
    s.has_layer = chance(&s, 40);
    s.is_turned = chance(&s, 50);
    s.has_powers = chance(&s, 80);
    s.is_limited = chance(&s, 40);
    for (uint32_t i = 0; i < 2; i++)
        s.by[i] = draw(&s.seed, 6);
    for (uint32_t i = 0; i < 3; i++)
        s.zeros[i] = chance(&s, 50) ? (int)draw(&s.seed, 256) - 128 : 0;
    return s;
}

/* The first operand is the layer's codes, where there is one. */
static void write_sum(const struct sum *s, char *text, size_t room)
{
    char first[8] = "%y", operands[64];
    char scales[2][64];
    for (uint32_t i = 0; i < 2; i++)
        snprintf(scales[i], sizeof(scales[i]), "%.9gf, %d",
                 0.375 / (double)(1u << s->by[i]) * (s->has_powers ? 1 : 1.25),
                 s->zeros[i]);
    if (s->has_layer)
        snprintf(first, sizeof(first), "%%q");
    const uint32_t a = s->is_turned;
    snprintf(operands, sizeof(operands), "%s, %s", a ? "%r" : first, a ? first : "%r");
    snprintf(
        text, room,
        "def @main(%%x: Tensor[(2, 12, 6, 5), int8], %%y: Tensor[(2, 20, 6, 5), int8], "
        "%%r: Tensor[(2, 20, 6, 5), int8], %%w: Tensor[(20, 12, 3, 3), int8]) {\n"
        "    %%s = qnn.conv2d(%%x, %%w, 3i32, 0, 0.5f, 0.25f, padding=[1, 1]);\n"
        "    %%q = qnn.requantize(%%s, 0.125f, 0, 64f, %d, compute_dtype=\"float32\", "
        "rounding=\"TOEVEN\");\n"
        "    %%t = qnn.add(%s, %s, %s, 0.375f, %d);\n"
        "    %s\n}\n",
        s->zeros[0], operands, scales[a], scales[1 - a], s->zeros[2],
        s->is_limited ? "clip(%t, a_min=-10.0, a_max=100.0)" : "%t");
}

/* What is worth less is shifted to the left, which a sum of products is not: these are two
 * functions, a layer and an addition. */
static uint32_t wanted(const struct sum *s)
{
    const uint32_t is_one = s->has_powers && s->by[0] >= s->by[1];
    return !s->has_layer ? s->has_powers : is_one ? 1 : 1 + s->has_powers;
}

static void check_sums(uint32_t machine)
{
    static char text[1 << 13];
    bt_ctx *ctx = open_npu();
    char name[32];
    snprintf(name, sizeof(name), "add_%u", machine);
    for (uint32_t i = 0; i < NPROGRAM; i++) {
        const struct sum s = sum_of(i * 3 + machine);
        write_sum(&s, text, sizeof(text));
        const uint32_t taken = check_machine(ctx, name, text, machines[machine]);
        if (taken != wanted(&s))
            fail_msg("%u functions on %s, expected %u:\n%s", taken, machines[machine],
                     wanted(&s), text);
        bt_ctx_clear_diags(ctx);
    }
    bt_ctx_destroy(ctx);
}

static void test_sums_of_codes_on_single(void **state)
{
    (void)state;
    check_sums(0);
}

static void test_sums_of_codes_on_multi(void **state)
{
    (void)state;
    check_sums(1);
}

static void test_sums_of_codes_on_a_file(void **state)
{
    (void)state;
    check_sums(2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sums_of_codes_on_single),
    cmocka_unit_test(test_sums_of_codes_on_multi),
    cmocka_unit_test(test_sums_of_codes_on_a_file),
};
TEST_MAIN(tests)
