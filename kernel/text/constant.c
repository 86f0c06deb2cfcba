/*
 * Constants in text.
 *
 *   literal  1  -3i64  2.5f  1e-3f16  inff  -inff64  nanf  True
 *            (no suffix: int32, float32)
 *            1-2j  0.5+infj  as elements of complex numbers
 *   const    const[shape, dtype]{1, 2, 3}       elements, row major
 *            const[shape, dtype]{0 ..}          all elements the same
 *            const[shape, dtype]{"AAAA..."}     bytes, little endian, base64
 *            const[shape, dtype]{data "name"}   from #[data] or the weights file
 *            const(c, c, ...)                   a tuple of constants
 */
#include "text/base64.h"
#include "text/draft.h"
#include "value/decimal.h"
#include "value/elements.h"
#include "value/tensor.h"

#include <math.h>
#include <string.h>

/* ---- literals ---- */

typedef struct number {
    bt_dtype dtype; /* by its suffix; 0: none */
    uint32_t is_negative, is_float, has_suffix;
    uint64_t magnitude; /* of an integer */
    double value;       /* of a float */
} number;

/* Whether elements are written as one number with digits behind the point. */
static int is_real(bt_dtype dtype)
{
    return bt_dtype_is_real(dtype) && bt_dtype_nparts(dtype) == 1;
}

/* inf, inff16, nanbf16, ...: 1 and the dtype of the suffix (0: none). */
static int is_special(const bt__parser *p, const bt__token *token, bt_dtype *dtype)
{
    const char *text = p->text + token->offset;
    *dtype = 0;
    if (token->kind != BT_TOKEN_WORD || token->nbytes < 3 ||
        (memcmp(text, "inf", 3) && memcmp(text, "nan", 3)))
        return 0;
    if (token->nbytes == 3)
        return 1;
    *dtype = bt__suffix_read(text + 3, token->nbytes - 3);
    return *dtype && is_real(*dtype);
}

int bt__at_literal(const bt__parser *p)
{
    bt_dtype dtype;
    const bt__token *token = bt__at(p, BT_TOKEN_MINUS) ? &p->next : &p->token;
    return token->kind == BT_TOKEN_NUMBER || is_special(p, token, &dtype) ||
           bt__at_word(p, "True") || bt__at_word(p, "False");
}

uint32_t bt__digits_end(const char *text, uint32_t nbytes, uint32_t *is_float)
{
    uint32_t n = 0;
    *is_float = 0;
    while (n < nbytes && ((text[n] >= '0' && text[n] <= '9') || text[n] == '.'))
        *is_float |= text[n++] == '.';
    uint32_t sign = n + 1 < nbytes && (text[n + 1] == '+' || text[n + 1] == '-');
    if (n < nbytes && (text[n] == 'e' || text[n] == 'E') && n + 1 + sign < nbytes &&
        text[n + 1 + sign] >= '0' && text[n + 1 + sign] <= '9') {
        *is_float = 1;
        for (n += 1 + sign; n < nbytes && text[n] >= '0' && text[n] <= '9';)
            n++;
    }
    return n;
}

/* Beyond the greatest value of the format, though it rounds to it: 65505f16. What that
 * value is printed as may lie beyond too (3.4028235e+38f), and is no error. */
static int is_beyond(bt__parser *p, const char *text, uint32_t n, bt__float_format format)
{
    const bt__float_format wide = bt__float_format_of(BT_FLOAT64);
    double value = bt__float_read(text, n, wide);
    if (value <= format.most)
        return 0;
    bt_text shortest;
    bt_text_init(&shortest, p->arena);
    bt__float_write(&shortest, format.most, format);
    return shortest.failed || value > bt__float_read(shortest.at, shortest.len, wide);
}

/* Whether a float type has infinity, or NaN. */
static int has_special(bt_dtype dtype, double value)
{
    uint64_t element = 0;
    double back;
    bt__elements_from_double(dtype, &value, 1, &element, 0);
    bt__elements_to_double(dtype, &element, 0, 1, 1, &back);
    return isnan(value) ? isnan(back) : isinf(back);
}

static int fail_beyond(bt__parser *p, const bt__token *token, bt_dtype dtype)
{
    const bt__float_format format = bt__float_format_of(dtype);
    bt_text most;
    bt_text_init(&most, p->arena);
    if (has_special(dtype, (double)INFINITY))
        return bt__error_token(p, BT_ERR_SYNTAX, token,
                               "%s is beyond its type; infinity is written inf",
                               bt__token_show(p, token));
    bt__float_write(&most, format.most, bt__float_format_of(BT_FLOAT64));
    return bt_text_get(&most) ? bt__error_token(p, BT_ERR_SYNTAX, token,
                                                "%s is beyond its type, which ends at %s "
                                                "and has no infinity",
                                                bt__token_show(p, token), most.at)
                              : bt__error_memory(p);
}

/* Digits as `wanted` (0: by their form). */
static int read_digits(bt__parser *p, bt_dtype wanted, number *out)
{
    const char *text = p->text + p->token.offset;
    uint32_t n = bt__digits_end(text, p->token.nbytes, &out->is_float);
    if (n < p->token.nbytes) {
        out->dtype = bt__suffix_read(text + n, p->token.nbytes - n);
        out->has_suffix = 1;
        if (out->dtype && out->is_float && !is_real(out->dtype))
            return bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                                   "%s is no integer, and its suffix is of integers",
                                   bt__token_show(p, &p->token));
        if (!out->dtype)
            return bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                                   "unknown suffix of a number: %s; expected one such as "
                                   "f, f16, f64, bf16, f8e4m3fn, f8e5m2, i64, u8",
                                   bt__token_show(p, &p->token));
    }
    bt_dtype dtype = wanted ? wanted : out->dtype;
    if (!dtype)
        dtype = out->is_float ? BT_FLOAT32 : BT_INT32;
    if (is_real(dtype)) {
        bt__float_format format = bt__float_format_of(dtype);
        out->is_float = 1;
        out->value = bt__float_read(text, n, format);
        if (isinf(out->value) || is_beyond(p, text, n, format))
            return fail_beyond(p, &p->token, dtype);
    } else if (out->is_float || !bt__int_read(text, n, &out->magnitude)) {
        return bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                               out->is_float ? "expected an integer, found %s"
                                             : "%s is beyond 64 bits",
                               bt__token_show(p, &p->token));
    }
    if (!out->dtype)
        out->dtype = dtype;
    bt__advance(p);
    return 1;
}

/* A number, infinity, nan, True or False. */
static int read_number(bt__parser *p, bt_dtype wanted, number *out)
{
    *out = (number){ 0 };
    if (bt__at_word(p, "True") || bt__at_word(p, "False")) {
        out->dtype = BT_BOOL;
        out->magnitude = bt__at_word(p, "True");
        bt__advance(p);
        return 1;
    }
    out->is_negative = (uint32_t)bt__accept(p, BT_TOKEN_MINUS);
    if (bt__at(p, BT_TOKEN_NUMBER)) {
        if (!read_digits(p, wanted, out))
            return 0;
    } else if (is_special(p, &p->token, &out->dtype)) {
        out->is_float = 1;
        out->value = p->text[p->token.offset] == 'i' ? (double)INFINITY : (double)NAN;
        if (!out->dtype)
            out->dtype = wanted ? wanted : (bt_dtype)BT_FLOAT32;
        const bt_dtype dtype = wanted && is_real(wanted) ? wanted : out->dtype;
        if (is_real(dtype) && !has_special(dtype, out->value))
            return isnan(out->value) ? bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                                                       "%s: its type has no NaN",
                                                       bt__token_show(p, &p->token))
                                     : fail_beyond(p, &p->token, dtype);
        bt__advance(p);
    } else {
        return bt__error_expected(p, "a number");
    }
    if (out->is_negative && !isnan(out->value))
        out->value = -out->value;
    return 1;
}

/* The integer as the dtype holds it, or 0 where it does not. */
static int fits(const number *n, bt_dtype dtype, int64_t *out)
{
    uint32_t bits = dtype == BT_BOOL ? 1 : BT_DTYPE_BITS(dtype);
    uint64_t most = UINT64_MAX >> (64 - bits);
    if (BT_DTYPE_CLASS(dtype) == BT_CLASS_INT)
        most >>= 1;
    if (n->is_negative && BT_DTYPE_CLASS(dtype) == BT_CLASS_INT)
        most++;
    else if (n->is_negative && n->magnitude)
        return 0;
    *out = (int64_t)(n->is_negative ? 0 - n->magnitude : n->magnitude);
    return n->magnitude <= most;
}

static const char *dtype_text(bt_dtype dtype, char name[BT_DTYPE_NAME_SIZE])
{
    return bt_dtype_name(dtype, name, BT_DTYPE_NAME_SIZE);
}

/* One element of a dtype: its value in the member that the dtype's class uses. */
typedef struct element {
    int64_t i;
    double f, imaginary;
} element;

/* 1-2j, of which either part may be missing. */
static int read_complex(bt__parser *p, bt_dtype dtype, element *out)
{
    const bt_dtype part = bt_dtype_carrier(dtype);
    uint32_t is_imaginary = 0;
    for (uint32_t nread = 0; nread < 2 && !is_imaginary; nread++) {
        const uint32_t is_negative = (uint32_t)bt__accept(p, BT_TOKEN_MINUS);
        number n;
        if (nread && !is_negative && !bt__accept(p, BT_TOKEN_PLUS))
            break;
        is_imaginary = (bt__at(p, BT_TOKEN_NUMBER) || bt__at(p, BT_TOKEN_WORD)) &&
                       p->text[p->token.offset + p->token.nbytes - 1] == 'j';
        if (nread && !is_imaginary)
            return bt__error_expected(p, "an imaginary part, as in 1-2j");
        p->token.nbytes -= is_imaginary;
        if (bt__at(p, BT_TOKEN_MINUS))
            return bt__error_expected(p, "a number");
        if (!read_number(p, part, &n))
            return 0;
        if (!n.is_float)
            return bt__error_expected(p, "a number that is no truth value");
        *(is_imaginary ? &out->imaginary : &out->f) =
            is_negative && !isnan(n.value) ? -n.value : n.value;
    }
    return 1;
}

/* Whether a type of powers of two, if it is that, has the number, or one near to it. */
static int is_power(bt_dtype dtype, double value)
{
    return dtype != BT_FLOAT8_E8M0FNU || !(value <= 0);
}

/* ", -8..7" of an integer type, "" of others. */
static const char *range_text(bt__parser *p, bt_dtype dtype)
{
    const uint32_t is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    bt_text out;
    bt_text_init(&out, p->arena);
    if (!is_signed && BT_DTYPE_CLASS(dtype) != BT_CLASS_UINT)
        return "";
    const uint64_t most = UINT64_MAX >> (64 - BT_DTYPE_BITS(dtype) + is_signed);
    bt_text_addf(&out, ", %lld..%llu", is_signed ? -(long long)most - 1 : 0,
                 (unsigned long long)most);
    return bt_text_get(&out) ? out.at : "";
}

static int read_element(bt__parser *p, bt_dtype dtype, element *out)
{
    char name[BT_DTYPE_NAME_SIZE];
    uint32_t start = p->token.offset;
    number n;
    *out = (element){ 0 };
    if (BT_DTYPE_CLASS(dtype) == BT_CLASS_COMPLEX)
        return read_complex(p, dtype, out);
    if (!read_number(p, dtype, &n))
        return 0;
    if (is_real(dtype)) {
        if (n.is_float && is_power(dtype, n.value)) {
            out->f = n.value;
            return 1;
        }
    } else if (!n.is_float && fits(&n, dtype, &out->i)) {
        return 1;
    }
    return bt__error(p, BT_ERR_TYPE, start, p->end - start, "not a value of %s%s",
                     dtype_text(dtype, name), range_text(p, dtype));
}

/* Of a dense tensor. */
static void set_element(bt_tensor *tensor, int64_t i, element value)
{
    const double parts[] = { value.f, value.imaginary };
    if (BT_DTYPE_CLASS(tensor->dtype) == BT_CLASS_COMPLEX)
        bt__elements_from_double(bt_dtype_carrier(tensor->dtype), parts, 2, tensor->data,
                                 2 * i);
    else if (is_real(tensor->dtype))
        bt_tensor_set(tensor, i, value.f);
    else
        bt_tensor_set_int(tensor, i, value.i);
}

static bt_object *scalar(bt__parser *p, bt_dtype dtype, element value)
{
    bt_tensor *tensor = NULL;
    bt_status status = bt_tensor_create(p->ctx, dtype, 0, NULL, &tensor);
    if (status) {
        bt__error_status(p, status);
        return NULL;
    }
    set_element(tensor, 0, value);
    return &tensor->base;
}

static bt_object *parse_scalar(bt__parser *p)
{
    char name[BT_DTYPE_NAME_SIZE];
    uint32_t start = p->token.offset;
    number n;
    element value = { 0 };
    if (!read_number(p, 0, &n))
        return NULL;
    // In Relay a number without suffix that int32 does not hold is an int64.
    if (p->dialect == BT__RELAY && !n.has_suffix && n.dtype == BT_INT32 &&
        !fits(&n, n.dtype, &value.i))
        n.dtype = BT_INT64;
    if (n.is_float && !is_power(n.dtype, n.value)) {
        bt__error(p, BT_ERR_TYPE, start, p->end - start, "not a value of %s",
                  dtype_text(n.dtype, name));
        return NULL;
    }
    if (n.is_float) {
        value.f = n.value;
    } else if (!fits(&n, n.dtype, &value.i)) {
        bt__error(p, BT_ERR_TYPE, start, p->end - start, "beyond %s%s%s",
                  dtype_text(n.dtype, name), range_text(p, n.dtype),
                  n.has_suffix ? "" : "; write the type behind it, as in 3000000000i64");
        return NULL;
    }
    return scalar(p, n.dtype, value);
}

bt__draft *bt__parse_literal(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt_object *object = parse_scalar(p);
    return object && bt__draft_keep(p, object) ? bt__draft_const(p, start, object) : NULL;
}

/* ---- tensors ---- */

typedef struct header {
    uint32_t start;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    int64_t nelem;
} header;

static int parse_header(bt__parser *p, header *out)
{
    bt__token token;
    if (!bt__expect(p, BT_TOKEN_LBRACKET) || !bt__expect(p, BT_TOKEN_LPAREN))
        return 0;
    out->nelem = 1;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        token = p->token;
        if (out->rank == BT_MAX_RANK)
            return bt__error_token(p, BT_ERR_LIMIT, &token,
                                   "a tensor has at most %d dims", BT_MAX_RANK);
        int64_t *dim = &out->dims[out->rank++];
        if (!bt__parse_int(p, dim))
            return 0;
        if (*dim < 0)
            return bt__error_token(p, BT_ERR_SHAPE, &token, "a dim is at least 0");
        if (!bt_mul_int64(out->nelem, *dim, &out->nelem))
            return bt__error_token(p, BT_ERR_LIMIT, &token,
                                   "the number of elements is beyond 64 bits");
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, BT_TOKEN_RPAREN) || !bt__expect(p, BT_TOKEN_COMMA))
        return 0;
    out->dtype = bt__token_dtype(p);
    if (!out->dtype || !bt_dtype_is_stored(out->dtype))
        return bt__error_expected(p, "an element type with storage, such as float32");
    bt__advance(p);
    return bt__expect(p, BT_TOKEN_RBRACKET) && bt__expect(p, BT_TOKEN_LBRACE);
}

/* 1, or 0 and the error that the status says. */
static int is_made(bt__parser *p, const header *h, bt_status status)
{
    if (status && status->code == BT_ERR_MEMORY)
        bt__error_memory(p);
    else if (status)
        bt__error(p, status->code, h->start, p->end - h->start, "%s", status->message);
    return !status;
}

static bt_tensor *create(bt__parser *p, const header *h)
{
    bt_tensor *tensor = NULL;
    return is_made(p, h, bt_tensor_create(p->ctx, h->dtype, h->rank, h->dims, &tensor))
               ? tensor
               : NULL;
}

static bt_tensor *make_splat(bt__parser *p, const header *h, element value)
{
    const int64_t strides[BT_MAX_RANK] = { 0 };
    bt_object *one = scalar(p, h->dtype, value);
    bt_tensor *out = NULL;
    if (!one)
        return NULL;
    bt_status status = bt_tensor_view(p->ctx, bt_object_as_tensor(one), h->rank, h->dims,
                                      strides, 0, &out);
    bt_object_unref(one);
    if (status)
        bt__error(p, status->code, h->start, p->end - h->start, "%s", status->message);
    return out;
}

static bt_tensor *make_elements(bt__parser *p, const header *h, const element *values,
                                uint32_t n)
{
    if ((int64_t)n != h->nelem) {
        bt__error(p, BT_ERR_SHAPE, h->start, p->end - h->start,
                  "%u element%s given for a shape of %lld", (unsigned)n,
                  n == 1 ? " is" : "s are", (long long)h->nelem);
        return NULL;
    }
    bt_tensor *tensor = create(p, h);
    for (uint32_t i = 0; tensor && i < n; i++)
        set_element(tensor, i, values[i]);
    return tensor;
}

static bt_tensor *parse_elements(bt__parser *p, const header *h)
{
    bt_vec(element) values = { 0 };
    while (!bt__at(p, BT_TOKEN_RBRACE)) {
        element value = { 0 };
        if (!read_element(p, h->dtype, &value))
            return NULL;
        if (values.len == 0 && bt__accept(p, BT_TOKEN_DOTS))
            return make_splat(p, h, value);
        if (!BT_PUSH(p->arena, &values, value)) {
            bt__error_memory(p);
            return NULL;
        }
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return make_elements(p, h, values.at, values.len);
}

/* ---- bytes ---- */

/* Strings one after another, as base64. */
static int read_bytes(bt__parser *p, bt_text *out)
{
    while (bt__at(p, BT_TOKEN_STRING)) {
        const char *text = p->text + p->token.offset + 1;
        if (!bt__base64_read(text, p->token.nbytes - 2, out))
            return out->failed ? bt__error_memory(p)
                               : bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                                                 "not base64 (each string is a multiple "
                                                 "of four characters)");
        bt__advance(p);
    }
    return 1;
}

/* Elements are stored with their lowest byte first. */
static void copy_little_endian(void *to, const char *from, size_t nelem, size_t nbytes)
{
    const uint16_t one = 1;
    if (*(const char *)&one) {
        if (nelem)
            memcpy(to, from, nelem * nbytes);
        return;
    }
    char *out = to;
    for (size_t i = 0; i < nelem; i++) {
        for (size_t j = 0; j < nbytes; j++)
            out[i * nbytes + j] = from[i * nbytes + nbytes - 1 - j];
    }
}

static bt_tensor *make_bytes(bt__parser *p, const header *h, const char *bytes,
                             size_t nbytes)
{
    const uint32_t nbits = bt_dtype_nbits(h->dtype), each = nbits < 8 ? nbits : nbits / 8;
    int64_t need;
    if (!bt_elements_nbytes(h->dtype, h->nelem, &need) || (uint64_t)need != nbytes) {
        bt__error(p, BT_ERR_SHAPE, h->start, p->end - h->start,
                  "%zu byte%s given for %lld element%s of %u %s%s", nbytes,
                  nbytes == 1 ? " is" : "s are", (long long)h->nelem,
                  h->nelem == 1 ? "" : "s", each, nbits < 8 ? "bit" : "byte",
                  each == 1 ? "" : "s");
        return NULL;
    }
    bt_tensor *tensor = create(p, h);
    if (!tensor)
        return NULL;
    const uint32_t nparts = bt_dtype_nparts(h->dtype);
    if (nbits < 8)
        copy_little_endian(tensor->data, bytes, nbytes, 1);
    else
        copy_little_endian(tensor->data, bytes, (size_t)h->nelem * nparts, each / nparts);
    bt__tensor_trim(tensor);
    return tensor;
}

static bt_tensor *parse_bytes(bt__parser *p, const header *h)
{
    bt_text bytes;
    bt_text_init(&bytes, p->arena);
    return read_bytes(p, &bytes) ? make_bytes(p, h, bytes.at, bytes.len) : NULL;
}

/* ---- named data ---- */

/* The weights file, read when the first constant asks for it. */
static int load_weights(bt__parser *p, const bt__token *token)
{
    bt__module_draft *module = p->module;
    bt_file *file = NULL;
    if (module->npz || module->given_weights)
        return 1;
    if (!module->weights || !module->texts.at[0].folder)
        return bt__error_token(
            p, BT_ERR_NAME, token,
            module->weights ? "weights are not allowed here: the text has no folder"
                            : "the text has neither #[data] nor "
                              "#[weights = \"FILE.npz\"]");
    bt_status status =
        bt_file_read_beneath(p->ctx, module->texts.at[0].folder, module->weights, &file);
    if (!status)
        status =
            bt_npz_read(p->ctx, module->weights, file->bytes, file->nbytes, &module->npz);
    if (file)
        bt_file_close(p->ctx, file);
    if (!status || status->code == BT_ERR_MEMORY)
        return !status || bt__error_memory(p);
    // what cannot be opened is named by the message itself
    const char *in = status->place.file;
    int is_named = !in || strncmp(in, module->weights, strlen(module->weights)) != 0;
    return bt__error_token(p, status->code, token, "%s%s%s", is_named ? "" : in,
                           is_named ? "" : ": ", status->message);
}

static bt_tensor *find_weight(bt__parser *p, const char *name, const bt__token *token)
{
    if (!load_weights(p, token))
        return NULL;
    const bt__module_draft *module = p->module;
    const bt_npz *npz = module->given_weights ? module->given_weights : module->npz;
    for (uint32_t i = 0; i < npz->len; i++) {
        if (strcmp(npz->at[i].name, name) == 0)
            return bt_tensor_ref(npz->at[i].tensor);
    }
    bt__error_token(p, BT_ERR_NAME, token, "%s holds no array named %s",
                    module->weights ? module->weights : "what was given",
                    bt__token_show(p, token));
    return NULL;
}

/* npy has no name for some types: their bits come back as bytes. */
static bt_tensor *as_nameless(bt__parser *p, const header *h, bt_tensor *tensor)
{
    bt_tensor *out;
    if (!is_made(p, h,
                 bt_tensor_of_bits(p->ctx, tensor, h->dtype, h->rank, h->dims, &out)))
        out = NULL;
    else if (!out)
        return tensor;
    bt_tensor_unref(tensor);
    return out;
}

static bt_tensor *read_data(bt__parser *p, const header *h, const char *name,
                            const bt__token *token)
{
    const bt__token *first = bt_map_find(&p->module->data, name);
    if (!first) {
        bt_tensor *found = find_weight(p, name, token);
        return found ? as_nameless(p, h, found) : NULL;
    }
    bt_text bytes;
    bt_text_init(&bytes, p->arena);
    uint32_t back = p->token.offset;
    bt__seek(p, first->offset);
    int ok = read_bytes(p, &bytes);
    bt__seek(p, back);
    return ok ? make_bytes(p, h, bytes.at, bytes.len) : NULL;
}

static int same_shape(const header *h, const bt_tensor *tensor)
{
    return tensor->dtype == h->dtype && tensor->rank == h->rank &&
           (!h->rank || !memcmp(tensor->dims, h->dims, h->rank * sizeof(*h->dims)));
}

/* `data "name"`: however often it is named, it is one tensor. */
static bt_tensor *parse_data(bt__parser *p, const header *h)
{
    bt__advance(p);
    bt__token token = p->token;
    if (!bt__expect(p, BT_TOKEN_STRING))
        return NULL;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return NULL;
    const bt_tensor *known = bt_map_find(&p->module->tensors, name);
    if (!known) {
        bt_tensor *tensor = read_data(p, h, name, &token);
        if (!tensor || !(known = bt_object_as_tensor(bt__draft_keep(p, &tensor->base))))
            return NULL;
        if (!bt_map_put(&p->module->tensors, name, tensor)) {
            bt__error_memory(p);
            return NULL;
        }
    }
    p->module->data_name = name;
    if (same_shape(h, known))
        return bt_tensor_ref(known);
    bt_text there;
    bt_text_init(&there, bt_ctx_scratch(p->ctx));
    bt_tensor_print_type(known, &there);
    bt__error_token(p, BT_ERR_SHAPE, &token, "%s is %s there, not as written here",
                    bt__token_show(p, &token),
                    bt_text_get(&there) ? there.at : "of another type");
    return NULL;
}

static bt_object *parse_tensor(bt__parser *p, uint32_t start)
{
    header h = { .start = start };
    bt_tensor *tensor;
    if (!parse_header(p, &h))
        return NULL;
    if (bt__at(p, BT_TOKEN_STRING))
        tensor = parse_bytes(p, &h);
    else if (bt__at_word(p, "data"))
        tensor = parse_data(p, &h);
    else
        tensor = parse_elements(p, &h);
    if (!tensor)
        return NULL;
    if (bt__expect(p, BT_TOKEN_RBRACE))
        return &tensor->base;
    bt_tensor_unref(tensor);
    return NULL;
}

/* ---- tuples ---- */

static bt_object *parse_constant(bt__parser *p);

static bt_object *parse_tuple(bt__parser *p)
{
    bt_vec(bt_object *) fields = { 0 };
    bt_tuple *tuple = NULL;
    int ok = 1;
    bt__advance(p);
    while (ok && !bt__at(p, BT_TOKEN_RPAREN)) {
        bt_object *field = parse_constant(p);
        if (field && !BT_PUSH(p->arena, &fields, field)) {
            bt_object_unref(field);
            field = NULL;
            bt__error_memory(p);
        }
        ok = field != NULL;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (ok && bt__expect(p, BT_TOKEN_RPAREN)) {
        bt_status status = bt_tuple_create(p->ctx, fields.len, fields.at, &tuple);
        if (status)
            bt__error_status(p, status);
    }
    for (uint32_t i = 0; i < fields.len; i++)
        bt_object_unref(fields.at[i]);
    return tuple ? &tuple->base : NULL;
}

static bt_object *parse_constant(bt__parser *p)
{
    uint32_t start = p->token.offset;
    if (bt__at_literal(p))
        return parse_scalar(p);
    if (!bt__accept_word(p, "const")) {
        bt__error_expected(p, "a constant: a literal, const[...]{...} or const(...)");
        return NULL;
    }
    if (!bt__enter(p))
        return NULL;
    bt_object *object =
        bt__at(p, BT_TOKEN_LPAREN) ? parse_tuple(p) : parse_tensor(p, start);
    bt__leave(p);
    return object;
}

bt__draft *bt__parse_const(bt__parser *p)
{
    uint32_t start = p->token.offset;
    p->module->data_name = NULL;
    bt_object *object = parse_constant(p);
    if (!object || !bt__draft_keep(p, object))
        return NULL;
    bt__draft *draft = bt__draft_const(p, start, object);
    // Data keeps its name; of data in a tuple nothing could.
    if (draft && bt_object_as_tensor(object))
        draft->name = p->module->data_name;
    return draft;
}
