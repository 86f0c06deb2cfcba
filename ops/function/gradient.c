/*
 * gradient, jvp: the derivative of a function that is a value, as a declaration gives that of
 * one of the module.
 *     gradient(@f, wrt=[0])     a function that takes what @f takes
 *     jvp(%f)                   and tangents behind it
 * They are no computation: pass declare-gradients puts functions in their place.
 * source  DLVM, section 4.2; JAX, grad and jvp
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "function", .type = "?", .doc = "what is differentiated" },
    { 0 },
};

struct gradient_attrs {
    int64_t from;
    bt_ints wrt, keep;
    int64_t seeded;
};
static const bt_attr gradient_attrs[] = {
    BT_ATTR_RANGE(struct gradient_attrs, from, INT, "0", 0, UINT32_MAX,
                  "which result is differentiated"),
    BT_ATTR(struct gradient_attrs, wrt, INTS, "None",
            "arguments that it is derived by; None: all that hold floats"),
    BT_ATTR(struct gradient_attrs, keep, INTS, "[]", "results that are given, too"),
    BT_ATTR(struct gradient_attrs, seeded, BOOL, "False",
            "whether the adjoint of the result is passed behind the arguments"),
    { 0 },
};

static bt_status result_of(bt_solver *s, const bt_relation_call *r,
                           const bt_gradient_spec *spec)
{
    const bt_type *type;
    BT_TRY(bt_relation_gradient(s, r, 0, spec, &type));
    return bt_relation_result(s, r, type);
}

static bt_status relate_gradient(bt_solver *s, const bt_relation_call *r)
{
    const struct gradient_attrs *a = r->attrs;
    return result_of(s, r,
                     &(bt_gradient_spec){ .from = (uint32_t)a->from,
                                          .wrt = a->wrt,
                                          .keep = a->keep,
                                          .is_seeded = a->seeded != 0 });
}

struct jvp_attrs {
    bt_ints wrt;
};
static const bt_attr jvp_attrs[] = {
    BT_ATTR(struct jvp_attrs, wrt, INTS, "None",
            "arguments that have tangents; None: all that hold floats"),
    { 0 },
};

static bt_status relate_jvp(bt_solver *s, const bt_relation_call *r)
{
    const struct jvp_attrs *a = r->attrs;
    return result_of(s, r, &(bt_gradient_spec){ .wrt = a->wrt, .is_forward = 1 });
}

static bt_status refuse(bt_ctx *ctx, const bt_eval_call *call)
{
    return bt_eval_fail(ctx, call,
                        "a function is no tensor to compute with: pass "
                        "declare-gradients puts one in its place");
}

static const bt_op ops[] = {
    {
        .name = "gradient",
        .revision = 1,
        .doc = "The gradient of a function, as a function.\n"
               "It takes what the function takes and gives the gradients in the order of "
               "wrt, then what is kept; one alone is no tuple.\n"
               "Which function it is is to show in the program, once functions are "
               "inlined.",
        .source = "DLVM, section 4.2; JAX, grad",
        .inputs = inputs,
        .attrs = gradient_attrs,
        .attrs_nbytes = sizeof(struct gradient_attrs),
        .relate = relate_gradient,
        .eval = refuse,
    },
    {
        .name = "jvp",
        .revision = 1,
        .doc =
            "The derivative of a function along a direction, as a function.\n"
            "It takes what the function takes, then the tangents of wrt, and gives the "
            "result and its tangent.\n"
            "Which function it is is to show in the program, once functions are inlined.",
        .source = "JAX, jvp",
        .inputs = inputs,
        .attrs = jvp_attrs,
        .attrs_nbytes = sizeof(struct jvp_attrs),
        .relate = relate_jvp,
        .eval = refuse,
    },
    { 0 },
};
const bt_table bt_ops_function_gradient[] = { BT_OPS(ops), { 0 } };
