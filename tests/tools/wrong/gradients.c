/* y = x * x, by formula or in plain C, and y = x * z, with derivatives that are wrong but for one. */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};

static const bt_op_input factors[] = {
    { .name = "left", .type = "t:float[..]", .doc = "any shape" },
    { .name = "right", .type = "t:float[..]", .doc = "of the same" },
    { 0 },
};

/* dy * x, without the 2 */
static bt_status once(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return bt_build(b, "multiply", NULL, (const bt_value *[]){ c->seeds[0], c->in[0] }, 2,
                    &to[0]);
}

/* dy * z, and nothing for z */
static bt_status left_alone(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return bt_build(b, "multiply", NULL, (const bt_value *[]){ c->seeds[0], c->in[1] }, 2,
                    &to[0]);
}

/* Right, but only where both adjoints are wanted. */
static bt_status both_adjoints(bt_builder *b, const bt_adjoint_call *c,
                               const bt_value **to)
{
    if (!c->wants[0] || !c->wants[1])
        return NULL;
    BT_TRY(left_alone(b, c, to));
    return bt_build(b, "multiply", NULL, (const bt_value *[]){ c->seeds[0], c->in[0] }, 2,
                    &to[1]);
}

/* Right, but only where both factors move. */
static bt_status both_tangents(bt_builder *b, const bt_adjoint_call *c,
                               const bt_value **to)
{
    if (!c->seeds[0] || !c->seeds[1])
        return NULL;
    const bt_value *args[] = { c->in[0], c->in[1], c->seeds[0], c->seeds[1] };
    return bt_build_formula(b, NULL, 4, args,
                            "x: t[..], z: t[..], d: t[..], e: t[..] => g: t[..] = d[..] "
                            "* z[..] + x[..] * e[..]",
                            &to[0]);
}

/* Of x * z and x + z. Right, but only where both results have a seed: with one it fails. */
static bt_status both_seeds(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    const bt_value *args[] = { c->in[0], c->in[1], c->seeds[0], c->seeds[1] };
    BT_TRY(bt_build_formula(
        b, NULL, 4, args,
        "x: t[..], z: t[..], d: t[..], e: t[..] => g: t[..] = d[..] * z[..] + e[..]",
        &to[0]));
    return bt_build_formula(
        b, NULL, 4, args,
        "x: t[..], z: t[..], d: t[..], e: t[..] => g: t[..] = d[..] * x[..] + e[..]",
        &to[1]);
}

/* The same, with nothing in place of the failure. */
static bt_status silent_seeds(bt_builder *b, const bt_adjoint_call *c,
                              const bt_value **to)
{
    return c->seeds[0] && c->seeds[1] ? both_seeds(b, c, to) : NULL;
}

static bt_status nothing(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    (void)b, (void)c, (void)to;
    return NULL;
}

static bt_status other_type(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return bt_build(b, "sum", NULL, &c->seeds[0], 1, &to[0]);
}

static bt_status failing(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    (void)c, (void)to;
    return bt_fail(bt_builder_ctx(b), BT_ERR_ARGUMENT, "it does not know how");
}

static bt_status unknown(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return bt_build(b, "mutliply", NULL, (const bt_value *[]){ c->seeds[0], c->in[0] }, 2,
                    &to[0]);
}

static bt_status twice(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    BT_TRY(once(b, c, to));
    return bt_build(b, "add", NULL, (const bt_value *[]){ to[0], to[0] }, 2, &to[0]);
}

static bt_status square(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *x = call->in[0];
    BT_TRY(bt_tensor_create(ctx, x->dtype, x->rank, x->dims, &call->out[0]));
    for (int64_t i = 0; i < x->nelem; i++)
        bt_tensor_set(call->out[0], i, bt_tensor_get(x, i) * bt_tensor_get(x, i));
    return NULL;
}

/* Rounding is taken for nothing. */
static bt_status through(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    (void)b;
    to[0] = c->seeds[0];
    return NULL;
}

static const bt_gradient_facet value = { .vjp = once }, zero = { .vjp = nothing },
                               type = { .vjp = other_type }, fails = { .vjp = failing },
                               name = { .vjp = unknown }, forward = { .jvp = once },
                               step = { .vjp = through, .jvp = through },
                               back = { .vjp = through },
                               blocked = { .blocked = 1 }, behind = { .blocked = 2 },
                               both = { .vjp = twice, .none = "it is too steep" },
                               right = { .vjp = twice }, left = { .vjp = left_alone },
                               wanted = { .vjp = both_adjoints },
                               moved = { .jvp = both_tangents },
                               seeded = { .vjp = both_seeds },
                               silent = { .vjp = silent_seeds };

#define WRONG(name_, formula_, facet_)                                              \
    {                                                                               \
        .name = "wrong.gradient_" name_, .revision = 1, .doc = "A square.",         \
        .source = "none", .inputs = inputs, .relation = "Identity",                 \
        .formula = "y: t[..] = " formula_,                                          \
        .facets =                                                                   \
            BT_FACET_ROWS(BT_CASES("float32[2, 3]"), BT_FACET("gradient", facet_)), \
    }
#define PLAIN(name_, facet_)                                                         \
    {                                                                                \
        .name = "wrong." name_, .revision = 1, .doc = "A square.", .source = "none", \
        .inputs = inputs, .relation = "Identity", .eval = square,                    \
        .facets =                                                                    \
            BT_FACET_ROWS(BT_CASES("float32[2, 3]"), BT_FACET("gradient", facet_)),  \
    }
#define PRODUCT(name_, formula_, case_, facet_)                                 \
    {                                                                           \
        .name = "wrong.gradient_" name_, .revision = 1, .doc = "A product.",    \
        .source = "none", .inputs = factors, .formula = formula_,               \
        .facets = BT_FACET_ROWS(BT_CASES(case_), BT_FACET("gradient", facet_)), \
    }
#define FACTORS "y: t[..] = left[..] * right[..]"
#define TWO     FACTORS "; s: t[..] = left[..] + right[..] -> y, s"
#define PAIR    "float32[2, 3], float32[2, 3]"
#define SQUARE  "data[..] * data[..]"
static const bt_op ops[] = {
    WRONG("value", SQUARE, value),
    WRONG("zero", SQUARE, zero),
    WRONG("type", SQUARE, type),
    WRONG("fails", SQUARE, fails),
    WRONG("name", SQUARE, name),
    WRONG("forward", SQUARE, forward),
    WRONG("step", "round(data[..])", step),
    WRONG("step_back", "round(data[..])", back),
    WRONG("blocked", SQUARE, blocked),
    WRONG("behind", SQUARE, behind),
    WRONG("both", SQUARE, both),
    PRODUCT("forgets", FACTORS, PAIR, left),
    PRODUCT("forgets_many", FACTORS, "float32[8, 9], float32[8, 9]", left),
    PRODUCT("wanted", FACTORS, PAIR, wanted),
    PRODUCT("moved", FACTORS, PAIR, moved),
    PRODUCT("seeded", TWO, PAIR, seeded),
    PRODUCT("silent", TWO, PAIR, silent),
    PRODUCT("empty", FACTORS, "float32[0], float32[0]", left),
    PLAIN("gradient_alone", value),
    PLAIN("right_alone", right),
    { 0 },
};
const bt_table bt_tests_tools_wrong_gradients[] = { BT_OPS(ops), { 0 } };
