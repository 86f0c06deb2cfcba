/*
 * Random networks of int8 layers, with the numbers of interp on every machine: convolutions of any
 * window, stride, padding and dilation, dense layers, pools, sums, in the forms of scaling that the
 * target reads, with channels and images that fill tiles or do not.
 */
#include "target.h"

enum { NPROGRAM = 40, MAX_LAYERS = 5, MAX_VALUES = 16 };

/* A network as text. Values are int8 tensors, %v0, %v1, ... */
struct net {
    uint64_t seed;
    uint32_t has_factors; /* scales are other than powers of two */
    char params[2048], body[16384];
    uint32_t nparam, nvalue, ntemp;
    uint32_t dims[MAX_VALUES][4]; /* dims[i][2] 0: a matrix */
};

static void say(char *text, size_t room, const char *format, ...) BT_PRINTF(3, 4);
static void say(char *text, size_t room, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    const int more = vsnprintf(text + n, room - n, format, list);
    va_end(list);
    assert_true(more >= 0 && n + (size_t)more < room);
}
#define SAY(net, ...) say((net)->body, sizeof((net)->body), __VA_ARGS__)

static uint32_t pick(struct net *n, uint32_t low, uint32_t high)
{
    return low + draw(&n->seed, high - low + 1);
}

static uint32_t chance(struct net *n, uint32_t percent)
{
    return draw(&n->seed, 100) < percent;
}

/* A parameter, or a constant that is computed when the program is compiled; its name. */
static void operand(struct net *n, const char *dtype, uint32_t nelem, const char *shape,
                    char name[8])
{
    snprintf(name, 8, "%%w%u", n->nparam++);
    if (chance(n, 50))
        say(n->params, sizeof(n->params), ", %s: Tensor[(%s), %s]", name, shape, dtype);
    else
        SAY(n,
            "    %s = cast(reshape(subtract(mod(multiply(arange(0, %u, 1, "
            "dtype=\"int32\"), "
            "%u), %u), %u), newshape=[%s]), dtype=\"%s\");\n",
            name, nelem, pick(n, 3, 5000) * 2 + 1, 251, 125, shape, dtype);
}

/* ---- what follows a sum %tK, whose value is then %tK of int32 ---- */

static void fixed(struct net *n, uint32_t by)
{
    const uint32_t factor = n->has_factors ? pick(n, 1u << 30, INT32_MAX) : 1u << 30;
    SAY(n, "    %%t%u = fixed_point_multiply(%%t%u, multiplier=%u, shift=-%u);\n",
        n->ntemp + 1, n->ntemp, factor, by - 1);
    n->ntemp++;
}

static void by_float(struct net *n, uint32_t by)
{
    SAY(n, "    %%f%u = multiply(cast(%%t%u, dtype=\"float32\"), %.17g);\n", n->ntemp,
        n->ntemp, 1.0 / (double)(1u << by));
    SAY(n,
        "    %%t%u = cast(clip(round_even(%%f%u), a_min=-128.0, a_max=127.0), "
        "dtype=\"int32\");\n",
        n->ntemp + 1, n->ntemp);
    n->ntemp++;
}

/* Halves up in int32, or down to the floor. */
static void shifted(struct net *n, uint32_t by)
{
    if (chance(n, 70)) {
        SAY(n, "    %%t%u = add(%%t%u, %u);\n", n->ntemp + 1, n->ntemp, 1u << (by - 1));
        n->ntemp++;
    }
    SAY(n, "    %%t%u = right_shift(%%t%u, %u);\n", n->ntemp + 1, n->ntemp, by);
    n->ntemp++;
}

static void residual(struct net *n, const uint32_t *dims)
{
    uint32_t same = n->nvalue;
    for (uint32_t i = 0; i < n->nvalue; i++) {
        if (memcmp(n->dims[i], dims, sizeof(n->dims[i])) == 0)
            same = i;
    }
    if (same == n->nvalue || !chance(n, 50))
        return;
    char what[128];
    snprintf(what, sizeof(what), "cast(%%v%u, dtype=\"int32\")", same);
    if (chance(n, 40))
        snprintf(what, sizeof(what), "subtract(cast(%%v%u, dtype=\"int32\"), %u)", same,
                 pick(n, 0, 20));
    if (chance(n, 40)) {
        char inner[128];
        snprintf(inner, sizeof(inner), "%s", what);
        assert_true(snprintf(what, sizeof(what), "left_shift(%s, %u)", inner,
                             pick(n, 1, 3)) < (int)sizeof(what));
    }
    if (chance(n, 50))
        SAY(n, "    %%t%u = add(%%t%u, %s);\n", n->ntemp + 1, n->ntemp, what);
    else
        SAY(n, "    %%t%u = add(%s, %%t%u);\n", n->ntemp + 1, what, n->ntemp);
    n->ntemp++;
}

/* To int8. */
static void finish(struct net *n, const uint32_t *dims)
{
    static const char *const clips[] = { "a_min=-128.0, a_max=127.0",
                                         "a_min=0.0, a_max=127.0",
                                         "a_min=-20.0, a_max=100.0" };
    if (chance(n, 30)) {
        SAY(n, "    %%t%u = add(%%t%u, %d);\n", n->ntemp + 1, n->ntemp,
            (int)pick(n, 0, 60) - 30);
        n->ntemp++;
    }
    if (chance(n, 30)) {
        SAY(n, "    %%t%u = nn.relu(%%t%u);\n", n->ntemp + 1, n->ntemp);
        n->ntemp++;
    }
    SAY(n, "    %%v%u = cast(clip(%%t%u, %s), dtype=\"int8\");\n", n->nvalue, n->ntemp,
        clips[pick(n, 0, 2)]);
    memcpy(n->dims[n->nvalue++], dims, sizeof(n->dims[0]));
}

/* What a sum of `nproduct` becomes; a bias is there already. */
static void scale(struct net *n, uint32_t nproduct, uint32_t has_bias,
                  const uint32_t *dims)
{
    uint32_t by = 6;
    while (nproduct >> (2 * (by - 5)))
        by++;
    switch (pick(n, 0, 3)) {
    case 0: by_float(n, by); break;
    case 1:
        if (!has_bias) {
            shifted(n, by);
            break;
        }
        // fallthrough
    default: fixed(n, by); break;
    }
    residual(n, dims);
    finish(n, dims);
}

static void bias(struct net *n, uint32_t outputs)
{
    char name[8], shape[16];
    snprintf(shape, sizeof(shape), "%u", outputs);
    operand(n, "int32", outputs, shape, name);
    SAY(n, "    %%t%u = nn.bias_add(%%t%u, %s);\n", n->ntemp + 1, n->ntemp, name);
    n->ntemp++;
}

/* ---- layers ---- */

static void convolution(struct net *n, uint32_t from)
{
    const uint32_t *x = n->dims[from];
    uint32_t y[4] = { x[0], pick(n, 1, 40), 0, 0 }, taps[2], stride[2], around[4],
             apart[2];
    char shape[64], name[8];
    for (uint32_t i = 0; i < 2; i++) {
        taps[i] = pick(n, 1, 3);
        apart[i] = chance(n, 20) ? 2 : 1;
        stride[i] = chance(n, 30) ? 2 : 1;
        const uint32_t reach = (taps[i] - 1) * apart[i] + 1;
        around[i] = pick(n, 0, reach - 1);
        around[i + 2] = pick(n, 0, reach - 1);
        while (x[2 + i] + around[i] + around[i + 2] < reach)
            around[i]++;
        y[2 + i] = (x[2 + i] + around[i] + around[i + 2] - reach) / stride[i] + 1;
    }
    snprintf(shape, sizeof(shape), "%u, %u, %u, %u", y[1], x[1], taps[0], taps[1]);
    operand(n, "int8", y[1] * x[1] * taps[0] * taps[1], shape, name);
    SAY(n,
        "    %%t%u = nn.conv2d(%%v%u, %s, strides=[%u, %u], padding=[%u, %u, %u, %u], "
        "dilation=[%u, %u], out_dtype=\"int32\");\n",
        n->ntemp + 1, from, name, stride[0], stride[1], around[0], around[1], around[2],
        around[3], apart[0], apart[1]);
    n->ntemp++;
    const uint32_t has_bias = chance(n, 60);
    if (has_bias)
        bias(n, y[1]);
    scale(n, x[1] * taps[0] * taps[1], has_bias, y);
}

static void pool(struct net *n, uint32_t from)
{
    const uint32_t *x = n->dims[from];
    const uint32_t taps = x[2] > 2 && x[3] > 2 ? pick(n, 2, 3) : 1,
                   stride = pick(n, 1, 2);
    const uint32_t around = taps > 1 ? pick(n, 0, 1) : 0;
    uint32_t y[4] = { x[0], x[1], (x[2] + 2 * around - taps) / stride + 1,
                      (x[3] + 2 * around - taps) / stride + 1 };
    SAY(n,
        "    %%v%u = nn.max_pool2d(%%v%u, pool_size=[%u, %u], strides=[%u, %u], "
        "padding=[%u, "
        "%u]);\n",
        n->nvalue, from, taps, taps, stride, stride, around, around);
    memcpy(n->dims[n->nvalue++], y, sizeof(y));
}

static void sum(struct net *n, uint32_t from)
{
    SAY(n, "    %%t%u = cast(%%v%u, dtype=\"int32\");\n", n->ntemp + 1, from);
    n->ntemp++;
    uint32_t dims[4];
    memcpy(dims, n->dims[from], sizeof(dims));
    residual(n, dims);
    finish(n, dims);
}

/* To a matrix, and a dense layer on it. */
static void classify(struct net *n, uint32_t from)
{
    const uint32_t *x = n->dims[from];
    uint32_t y[4] = { x[0], x[1], 0, 0 };
    char shape[64], name[8];
    SAY(n, "    %%t%u = sum(cast(%%v%u, dtype=\"int32\"), axis=[2, 3]);\n", n->ntemp + 1,
        from);
    n->ntemp++;
    fixed(n, 4);
    finish(n, y);
    y[1] = pick(n, 1, 40);
    snprintf(shape, sizeof(shape), "%u, %u", y[1], x[1]);
    operand(n, "int8", y[1] * x[1], shape, name);
    SAY(n, "    %%t%u = nn.dense(%%v%u, %s, out_dtype=\"int32\");\n", n->ntemp + 1,
        n->nvalue - 1, name);
    n->ntemp++;
    const uint32_t has_bias = chance(n, 60);
    if (has_bias)
        bias(n, y[1]);
    scale(n, x[1], has_bias, y);
}

/* The program; how many layers it has. */
static uint32_t write_net(struct net *n, char *text, size_t room)
{
    const uint32_t x[4] = { pick(n, 1, 5), pick(n, 1, 33), pick(n, 1, 9), pick(n, 1, 9) };
    const uint32_t nlayer = pick(n, 1, MAX_LAYERS), ends_in_matrix = chance(n, 40);
    memcpy(n->dims[0], x, sizeof(x));
    n->nvalue = 1;
    for (uint32_t i = 0; i < nlayer; i++) {
        const uint32_t from = chance(n, 80) ? n->nvalue - 1 : draw(&n->seed, n->nvalue);
        switch (pick(n, 0, 9)) {
        case 0: pool(n, from); break;
        case 1: sum(n, from); break;
        default: convolution(n, from); break;
        }
    }
    if (ends_in_matrix)
        classify(n, n->nvalue - 1);
    *text = 0;
    say(text, room,
        "def @main(%%v0: Tensor[(%u, %u, %u, %u), int8]%s) {\n%s    %%v%u\n}\n", x[0],
        x[1], x[2], x[3], n->params, n->body, n->nvalue - 1);
    return nlayer + ends_in_matrix;
}

/* Of all layers that are needed at least `percent` are on the machine. */
static void check_nets(uint32_t machine, uint32_t percent)
{
    static char text[1 << 15];
    bt_ctx *ctx = open_npu();
    uint32_t nlayer = 0, ntaken = 0;
    for (uint32_t i = 0; i < NPROGRAM; i++) {
        struct net n = { .seed = i * 3 + machine, .has_factors = machine > 0 };
        char name[32];
        nlayer += write_net(&n, text, sizeof(text));
        snprintf(name, sizeof(name), "random_%s",
                 machine == 0   ? "0"
                 : machine == 1 ? "1"
                                : "2");
        ntaken += check_machine(ctx, name, text, machines[machine]);
        bt_ctx_clear_diags(ctx);
    }
    print_message("%u of %u layers on %s\n", ntaken, nlayer, machines[machine]);
    assert_true(ntaken * 100 >= nlayer * percent);
    bt_ctx_destroy(ctx);
}

static void test_networks_on_single(void **state)
{
    (void)state;
    check_nets(0, 75);
}

static void test_networks_on_multi(void **state)
{
    (void)state;
    check_nets(1, 75);
}

static void test_networks_on_a_file(void **state)
{
    (void)state;
    check_nets(2, 75);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_networks_on_single),
    cmocka_unit_test(test_networks_on_multi),
    cmocka_unit_test(test_networks_on_a_file),
};
TEST_MAIN(tests)
