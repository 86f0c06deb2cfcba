/*
 * cast, cast_like, copy: the same elements, as another dtype or in a tensor of their own.
 * reinterpret: the same bits as another dtype of the same width.
 * Conversions: integers wrap; floats to integers truncate and saturate, NaN gives 0. To a
 * float of 8 bits, what is beyond, infinity too, gives the greatest number; with
 * saturate=False infinity, or NaN where there is none. A number becomes a complex one; no complex
 * one becomes a number.
 * source  Relay, operators of the same names; ONNX Cast-25
 */
#include "cast_check.h"
#include "contents.h"
#include "formula.h"
#include "plain.h"
#include "plain/reinterpret.h"

#include <string.h>

struct attrs {
    const bt_type *dtype;
};
struct cast_attrs {
    const bt_type *dtype;
    int64_t saturate;
    const char *round_mode;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, dtype, DTYPE, NULL, "element type of the result"),
    { 0 },
};
static const bt_attr cast_attrs[] = {
    BT_ATTR(struct cast_attrs, dtype, DTYPE, NULL, "element type of the result"),
    BT_ATTR(struct cast_attrs, saturate, BOOL, "True",
            "float8 types: what is beyond becomes the greatest number"),
    BT_ATTR_CHOICE(struct cast_attrs, round_mode, "nearest", "nearest|up|down",
                   "float8_e8m0fnu: to which power of two"),
    { 0 },
};

/* ---- types ---- */

static bt_status tensor_of(bt_solver *s, const bt_relation_call *r, uint32_t index,
                           const bt_tensor_type **out)
{
    bt_tensor_parts parts;
    *out = bt_as_tensor_type(bt_relation_arg(s, r, index));
    if (*out)
        return NULL;
    BT_TRY(bt_relation_tensor(s, r, index, &parts));
    return bt_relation_wait(s);
}

static bt_status result_as(bt_solver *s, const bt_relation_call *r, const bt_type *dtype)
{
    const bt_tensor_type *data;
    BT_TRY(tensor_of(s, r, 0, &data));
    BT_TRY(cast_check(s, r, cast_dtype(data->dtype), cast_dtype(dtype)));
    const bt_type *result = bt_type_tensor_layout(
        bt_relation_store(s), data->shape, dtype ? dtype : data->dtype, data->layout);
    if (!result)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result(s, r, result));
    return contents_copy(s, r, 0);
}

static bt_status relate_cast(bt_solver *s, const bt_relation_call *r)
{
    const struct cast_attrs *a = r->attrs;
    return result_as(s, r, a->dtype);
}

static bt_status relate_cast_like(bt_solver *s, const bt_relation_call *r)
{
    const bt_tensor_type *like;
    BT_TRY(tensor_of(s, r, 1, &like));
    return result_as(s, r, like->dtype);
}

static bt_status relate_copy(bt_solver *s, const bt_relation_call *r)
{
    return contents_copy(s, r, 0);
}

static bt_status relate_reinterpret(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    char from_name[BT_DTYPE_NAME_SIZE], to_name[BT_DTYPE_NAME_SIZE];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    const bt_dtype to = cast_dtype(a->dtype);
    if (!data.known || !to)
        return bt_relation_wait(s);
    if (bt_dtype_nbytes(data.known) != bt_dtype_nbytes(to) || bt_dtype_nbytes(to) == 0 ||
        bt_dtype_is_moved(to))
        return bt_relation_fail(s, r, 0, "%s and %s are not of one width",
                                bt_dtype_name(data.known, from_name, sizeof from_name),
                                bt_dtype_name(to, to_name, sizeof to_name));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, a->dtype);
}

/* ---- formulas ---- */

/* Of float8 types, what is not beyond: halfway to where the next number would stand is, unless
 * the greatest number has the even code. */
static const struct float8 {
    bt_dtype dtype;
    const char *within;
} float8s[] = {
    { BT_FLOAT8_E4M3FN, "<= 464" },
    { BT_FLOAT8_E4M3FNUZ, "< 248" },
    { BT_FLOAT8_E5M2, "< 61440" },
    { BT_FLOAT8_E5M2FNUZ, "< 61440" },
};

static const struct float8 *float8_of(bt_dtype dtype)
{
    for (uint32_t i = 0; i < BT_COUNT(float8s); i++) {
        if (float8s[i].dtype == dtype)
            return &float8s[i];
    }
    return NULL;
}

/* A power of two beside x, or x; without saturate NaN for what the type does not reach then. */
static void write_power(bt_formula *f, const struct cast_attrs *a)
{
    static const struct {
        const char *mode, *power, *within;
    } modes[] = {
        // 3/4 of the least, 3/2 of the greatest; half the least, the greatest; the least, twice the
        // greatest
        { "nearest", "$near",
          "$x >= 4.408103815583578e-39 && $x < 2.5521177519070385e38" },
        { "up", "$near * select($near < $x, 2.0, 1.0)",
          "$x > 2.938735877055719e-39 && $x <= 1.7014118346046923e38" },
        { "down", "$near * select($near > $x, 0.5, 1.0)",
          "$x >= 5.877471754111438e-39 && $x < 3.402823669209385e38" },
    };
    uint32_t m = 0;
    while (m + 1 < BT_COUNT(modes) && strcmp(modes[m].mode, a->round_mode) != 0)
        m++;
    bt_formula_item(f, "x", "float64(data[..])");
    bt_formula_item(f, "near", "float64(dtype(data[..]))");
    bt_formula_item(f, "power", "%s", modes[m].power);
    bt_formula_item(f, "within", "%s", modes[m].within);
    bt_formula_add(f, a->saturate
                          ? "y: dtype[..] = dtype($power)"
                          : "y: dtype[..] = dtype($power * select($within, 1.0, nan))");
}

/* Conversions of formulas take numbers beyond to the greatest one, as a cast shall, but keep an
 * infinity where the result has one, as operators shall. */
static void write_cast(bt_formula *f, const bt_formula_call *call)
{
    const struct cast_attrs *a = call->attrs;
    const int is_like = call->narg == 2;
    const char *to_name = is_like ? "u" : "dtype";
    const bt_dtype from = bt_tensor_dtype(call->args[0]),
                   to = bt_tensor_dtype(is_like ? call->args[1] : call->result);
    const struct float8 *float8 = from == to ? NULL : float8_of(to);
    if (to == BT_FLOAT8_E8M0FNU && from != to && !is_like &&
        (!a->saturate || strcmp(a->round_mode, "nearest") != 0)) {
        write_power(f, a);
    } else if (float8 && !is_like && !a->saturate) {
        // exact, up to integers that are beyond anyway
        bt_formula_item(f, "x", "%s(data[..])",
                        bt_dtype_is_small_float(from) || from == BT_FLOAT32 ? "float32"
                                                                            : "float64");
        bt_formula_item(f, "beyond", to == BT_FLOAT8_E5M2 ? "$x * inf" : "nan");
        bt_formula_add(f, "y: dtype[..] = dtype(select(abs($x) %s, $x, $beyond))",
                       float8->within);
    } else if (to == BT_FLOAT8_E5M2 && from != to && bt_dtype_is_float(from)) {
        bt_formula_add(f, "y: %s[..] = %s(clamp(data[..], -57344, 57344))", to_name,
                       to_name);
    } else {
        bt_formula_add(f, "y: %s[..] = %s(data[..])", to_name, to_name);
    }
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };
static const bt_plain_facet reinterpret = PLAIN(plain_reinterpret, NULL, 0, NULL);

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};
static const bt_op_input bits_inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor that is computed with" },
    { 0 },
};
static const bt_op_input like_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { .name = "dtype_like", .type = "u:any[..]", .doc = "only its dtype is used" },
    { 0 },
};

static const bt_gradient_facet bits = { .none = "bits are no numbers" };

static const bt_op ops[] = {
    {
        .name = "cast",
        .revision = 1,
        .doc =
            "Converts elements to another dtype.\nThe shape stays. To float8 types, "
            "numbers beyond the greatest one become it, and so do infinities of other "
            "types; with saturate=False they become infinity, or NaN where there is "
            "none. As float8_e8m0fnu it is the nearest power of two, or the next one up "
            "or down; of numbers below 0 NaN.",
        .source = "Relay, cast; ONNX Cast-25",
        .inputs = inputs,
        .attrs = cast_attrs,
        .attrs_nbytes = sizeof(struct cast_attrs),
        .relate = relate_cast,
        .write_formula = write_cast,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "float32[2, 3] = -9..9 | dtype=\"int32\"\nint32[4] | dtype=\"int8\"\n"
                "float32[] = -900..900 | dtype=\"uint8\"\nbool[3] | dtype=\"float16\"\n"
                "float64[4] | dtype=\"bfloat16\"\nint64[0, 2] | dtype=\"float32\"\n"
                "float32[4] = -1..1 | dtype=\"bool\"\n"
                "float32[2, 3] = -900..900 | dtype=\"float8_e4m3fn\"\n"
                "float64[4] = -1..1 | dtype=\"float8_e4m3fnuz\"\n"
                "float16[9] = -65000..65000 | dtype=\"float8_e5m2\"\n"
                "int64[5] = -99999..99999 | dtype=\"float8_e5m2fnuz\"\n"
                "bfloat16[9] = -900..900 | dtype=\"float8_e4m3fn\", saturate=False\n"
                "float32[9] = -99999..99999 | dtype=\"float8_e5m2\", saturate=False\n"
                "float32[2, 3] | dtype=\"complex64\"\ncomplex64[4] | "
                "dtype=\"complex128\"\n"
                "complex128[2, 3] | dtype=\"complex64\"\n"
                "float32[2, 3] = 0.01..900 | dtype=\"float8_e8m0fnu\"\n"
                "float64[5] = 0.01..900 | dtype=\"float8_e8m0fnu\", round_mode=\"up\"\n"
                "int32[5] = 0..900 | dtype=\"float8_e8m0fnu\", round_mode=\"down\", "
                "saturate=False\nfloat8_e8m0fnu[4] | dtype=\"float32\""),
            BT_FACET("layout", layout)),
    },
    {
        .name = "cast_like",
        .revision = 1,
        .doc = "Converts elements to the dtype of another tensor.\nThe shape stays.",
        .source = "Relay, cast_like",
        .inputs = like_inputs,
        .relate = relate_cast_like,
        .write_formula = write_cast,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "float32[2, 3] = -9..9, int32[]\nint8[], float64[2]\nbool[0], int64[3]\n"
                "float32[5], float8_e5m2[]\nfloat32[3], float8_e8m0fnu[]"),
            BT_FACET("layout", layout)),
    },
    {
        .name = "copy",
        .revision = 1,
        .doc = "The same elements in a tensor of its own.\nThe type stays.",
        .source = "Relay, copy",
        .inputs = inputs,
        .relation = "Identity",
        .relate = relate_copy,
        .formula = "y: t[..] = data[..]",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nbool[]\nint8[0, 2]"),
                                BT_SCALE(BT_SCALE_ANY, NULL)),
    },
    {
        .name = "reinterpret",
        .revision = 1,
        .doc = "Reads the bits of elements as another dtype of the same width.\n"
               "As bool, any bit set is True.",
        .source = "Relay, reinterpret",
        .inputs = bits_inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_reinterpret,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3] | dtype=\"int32\"\nint16[4] | dtype=\"float16\"\n"
                     "uint8[] | dtype=\"bool\"\nint64[0] | dtype=\"float64\""),
            BT_FACET("plain", reinterpret), BT_FACET("gradient", bits)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_cast[] = { BT_OPS(ops), { 0 } };
