/*
 * quant.simulate: a number as its code stands for it, in float.
 *     y = limited(round(data / scale)) * scale
 * What qnn.dequantize gives of what qnn.quantize gives, limited to low..high: programs with
 * it compute in float and lose what the integers will lose.
 * data      any shape; scale and zero point: one, or a vector along axis
 * rounding  as of qnn.quantize; STOCHASTIC by `key` and the element's place
 * source    Relay's simulated_quantize; Jacob et al. 2018, section 3
 */
#include <string.h>

#include "codes.h"
#include "scale.h"
#include "stochastic.h"
#include "straight.h"

struct attrs {
    const char *site;
    const bt_type *dtype;
    int64_t low, high, axis;
    const char *rounding, *scale_kind;
    int64_t is_affine, key;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, site, STRING, "", "what statistics call it"),
    BT_ATTR(struct attrs, dtype, DTYPE, "int8", "type of the codes"),
    BT_ATTR_RANGE(struct attrs, low, INT, "-128", INT32_MIN, INT32_MAX, "least code"),
    BT_ATTR_RANGE(struct attrs, high, INT, "127", INT32_MIN, INT32_MAX, "greatest code"),
    BT_ATTR(struct attrs, axis, INT, "-1", "axis of a vector of scales"),
    BT_ATTR_CHOICE(struct attrs, rounding, "TOEVEN", ROUNDINGS "|STOCHASTIC",
                   ROUNDING_DOC STOCHASTIC_DOC),
    BT_ATTR_CHOICE(struct attrs, scale_kind, "free", "free|power2|ratio2",
                   "what scales there may be: any, powers of two, such that in * weight "
                   "/ out is one"),
    BT_ATTR(struct attrs, is_affine, BOOL, "False", "a zero point is chosen"),
    BT_ATTR_RANGE(struct attrs, key, INT, "0", 0, INT64_MAX, "of STOCHASTIC"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { .name = "scale", .type = "float32[..]", .doc = "scale: " SCALE_DOC },
    { .name = "zero_point", .type = "int32[..]", .doc = "the code of zero, as scale" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const struct along along = { "axis", a->axis, 0 };
    bt_tensor_parts data;
    if (a->low > 0 || a->high < 0 || a->low == a->high)
        return bt_relation_fail(s, r, -1, "codes of %lld..%lld: they are to hold zero",
                                (long long)a->low, (long long)a->high);
    BT_TRY(codes_check_type(s, r, "dtype", a->dtype));
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(scale_relate(s, r, 1, &data, &along));
    BT_TRY(scale_relate(s, r, 2, &data, &along));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const struct along along = { "axis", a->axis, 0 };
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "i#");
    scale_at(f, "s", call->args[1], rank, &along);
    scale_at(f, "z", call->args[2], rank, &along);
    bt_formula_add(f, "q: float32[$i] = float32(data[$i]) / scale[$s];\n");
    const int is_stochastic = strcmp(a->rounding, "STOCHASTIC") == 0;
    if (is_stochastic)
        write_stochastic(f, call->args[0], a->key);
    list_rounded(f, is_stochastic ? "FLOOR" : a->rounding,
                 is_stochastic ? "v[$i]" : "q[$i]");
    bt_formula_add(f,
                   "y: t[$i] = t(float32(float32(int32(clamp($rounded, "
                   "float32(%lld - zero_point[$z]), float32(%lld - zero_point[$z])))) * "
                   "scale[$s]))",
                   (long long)a->low, (long long)a->high);
}

/* ---- derivatives ---- */

static bt_status pass(bt_builder *b, const bt_adjoint_call *c, const bt_value *d,
                      const bt_value **out)
{
    const struct attrs *a = c->call->attrs;
    const struct straight s = {
        .data = c->in[0], .scale = c->in[1], .zero = c->in[2], .axis = a->axis
    };
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(b)));
    straight_head(&s, &text);
    bt_text_addf(&text, "select(%lld.0 <= ", (long long)a->low);
    straight_code(&s, &text);
    bt_text_addf(&text, " && ");
    straight_code(&s, &text);
    bt_text_addf(&text, " <= %lld.0, ", (long long)a->high);
    straight_item(&s, &text);
    bt_text_addf(&text, ", 0)");
    return straight_build(b, &s, d, &text, out);
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return pass(b, c, c->seeds[0], &to[0]);
}

static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return c->seeds[0] ? pass(b, c, c->seeds[0], &to[0]) : NULL;
}

static const bt_gradient_facet gradient = { .vjp = vjp,
                                            .jvp = jvp,
                                            .blocked = 1u << 1,
                                            .instead = STRAIGHT_THROUGH };

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "quant.simulate", .revision = 1, .source = "Relay, simulated_quantize",
        .doc = "Numbers as their codes stand for them: rounded to steps of a scale, and limited.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_FACET("gradient", gradient), BT_CASES(
            "float32[6] = -99..99, float32[] = 0.5, int32[] = 0\n"
            "float32[5] = -2..9, float32[] = 0.5, int32[] = 2 | dtype=\"uint8\", low=0, high=15\n"
            "float32[6] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"UPWARD\"\n"
            "float32[6] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"TONEAREST\"\n"
            "float32[6] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"FLOOR\"\n"
            "float32[6] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"CEIL\"\n"
            "float32[6, 7] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"STOCHASTIC\", key=5000000007\n"
            "float32[2, 3, 4] = -9..9, float32[3] = 0.01..0.1, int32[3] = -9..9 | axis=1\n"
            "float16[2, 6] = -9..9, float32[] = 0.1, int32[] = 1 | low=-8, high=7")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_simulate[] = { BT_OPS(ops), { 0 } };
