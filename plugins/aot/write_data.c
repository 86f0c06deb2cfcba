/* Constants: as arrays of C, or in a file. */
#include <inttypes.h>
#include <string.h>

#include "expr.h"
#include "write.h"

/* C99 has no literal of what is not finite. */
static int is_finite(const bt_tensor *t)
{
    for (int64_t i = 0; i < t->nelem; i++) {
        const double value = bt_tensor_get(t, i);
        if (value - value != 0)
            return 0;
    }
    return 1;
}

const char *constant_type(const bt_tensor *t)
{
    if (t->dtype == BT_FLOAT32 && !is_finite(t))
        return "uint32_t";
    if ((t->dtype == BT_FLOAT64 && !is_finite(t)) || t->dtype == BT_COMPLEX128)
        return "uint64_t";
    if (t->dtype == BT_COMPLEX64)
        return "uint32_t";
    return c_element_type(t->dtype);
}

/* Numbers that an array has: elements, their parts, or bytes of packed ones. */
static int64_t count_of(const bt_tensor *t)
{
    return bt_dtype_is_packed(t->dtype) ? (int64_t)bt_tensor_nbytes(t)
                                        : t->nelem * bt_dtype_nparts(t->dtype);
}

/* The bits of one of them. */
static uint64_t bits_of(const bt_tensor *t, int64_t i)
{
    const size_t n = t->nelem ? bt_tensor_nbytes(t) / (size_t)count_of(t) : 0;
    uint64_t out = 0;
    for (size_t k = 0; k < n; k++)
        out |= (uint64_t)((const unsigned char *)t->data)[(size_t)i * n + k] << (8 * k);
    return out;
}

/* A float's text needs a point, so that f may stand behind it. */
static void add_real(double value, int digits, const char *suffix, bt_text *out)
{
    const size_t at = out->len;
    bt_text_addf(out, "%.*g", digits, value);
    const int is_whole = !out->failed && !strpbrk(out->at + at, ".e");
    bt_text_addf(out, "%s%s", is_whole ? ".0" : "", suffix);
}

static void add_element(const bt_tensor *t, const char *type, int64_t i, bt_text *out)
{
    if (strcmp(type, "float") == 0) {
        add_real(bt_tensor_get(t, i), 9, "f", out);
        return;
    }
    if (strcmp(type, "double") == 0) {
        add_real(bt_tensor_get(t, i), 17, "", out);
        return;
    }
    if (*type == 'u') {
        bt_text_addf(
            out, strcmp(type, "uint64_t") == 0 ? "UINT64_C(0x%" PRIx64 ")" : "0x%" PRIx64,
            bits_of(t, i));
        return;
    }
    const int64_t value = bt_tensor_get_int(t, i);
    if (value == INT64_MIN)
        bt_text_addf(out, "-INT64_C(9223372036854775807) - 1");
    else if (t->dtype == BT_INT64)
        bt_text_addf(out, "%sINT64_C(%" PRId64 ")", value < 0 ? "-" : "",
                     value < 0 ? -value : value);
    else if (value == INT32_MIN)
        bt_text_addf(out, "-2147483647 - 1");
    else
        bt_text_addf(out, "%" PRId64, value);
}

static void add_array(const struct output *o, uint32_t number, bt_text *out)
{
    enum { LINE = 8 };
    const bt_tensor *t = o->plan->consts.at[number];
    const char *type = constant_type(t), *name = o->plan->name;
    bt_text_addf(out,
                 "\nextern const %s %s_c%" PRIu32 "[];\nconst %s %s_c%" PRIu32 "[] = {",
                 type, name, number, type, name, number);
    const int64_t n = count_of(t);
    for (int64_t i = 0; i < n; i++) {
        bt_text_add(out, "\n    ", i % LINE ? 0 : 5);
        add_element(t, type, i, out);
        bt_text_add(out, ", ", i % LINE == LINE - 1 || i + 1 == n ? 1 : 2);
    }
    bt_text_addf(out, n ? "\n};\n" : " 0 };\n");
}

/* Tensors one behind the other, each from a multiple of 64. */
static bt_status write_weights(struct output *o)
{
    static const char zeros[64] = { 0 };
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    bt_text bytes, text;
    bt_text_init(&bytes, o->plan->arena);
    for (uint32_t i = 0; i < o->plan->consts.len; i++) {
        const bt_tensor *t = o->plan->consts.at[i];
        bt_text_add(&bytes, zeros, (size_t)(o->offsets[i] - bytes.len));
        bt_text_add(&bytes, t->data, bt_tensor_nbytes(t));
    }
    if (bytes.failed)
        return bt_no_memory();
    for (size_t i = 0; i < bytes.len; i++)
        digest = (digest ^ (unsigned char)bytes.at[i]) * UINT64_C(0x100000001b3);
    BT_TRY(add_file(o, &bytes, "%s.weights", o->plan->name));
    bt_text_init(&text, o->plan->arena);
    bt_text_addf(&text,
                 "#include <stdint.h>\n\nextern const uint64_t %s_digest;\n"
                 "const uint64_t %s_digest = UINT64_C(0x%016" PRIx64 ");\n",
                 o->plan->name, o->plan->name, digest);
    return add_file(o, &text, "%s_data.c", o->plan->name);
}

bt_status write_data(struct output *o)
{
    bt_text text;
    if (o->weights == WEIGHTS_FILE)
        return write_weights(o);
    bt_text_init(&text, o->plan->arena);
    bt_text_addf(&text, "#include <stdint.h>\n");
    for (uint32_t i = 0; i < o->plan->consts.len; i++)
        add_array(o, i, &text);
    if (!o->plan->consts.len) // C99 wants a declaration in each file
        bt_text_addf(&text, "\ntypedef int %s_has_no_constants;\n", o->plan->name);
    return add_file(o, &text, "%s_data.c", o->plan->name);
}
