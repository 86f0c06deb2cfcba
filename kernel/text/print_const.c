/* Printing constants; constant.c reads them. */
#include "text/base64.h"
#include "text/print.h"
#include "value/decimal.h"
#include "value/elements.h"
#include "value/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BASE64_LINE = 72 /* bytes in a line of data: 96 characters */ };

static void add(bt_printer *p, const char *text)
{
    bt_text_add(p->out, text, strlen(text));
}

/* ---- elements ---- */

/* The bits of part k of the element at a row-major position. */
static uint64_t element_bits(const bt_tensor *tensor, int64_t position, uint32_t k)
{
    const bt_dtype part = bt__dtype_part(tensor->dtype);
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    return bt__element_bits(part, tensor->data,
                            bt__tensor_offset(tensor, position) * nparts + k);
}

/* What `nan` reads back as. */
static uint64_t plain_nan_bits(bt_dtype dtype)
{
    const double nan = (double)NAN;
    uint64_t element = 0;
    bt__elements_from_double(dtype, &nan, 1, &element, 0);
    return bt__element_bits(dtype, &element, 0);
}

/* Whether the element reads back bit for bit: all do but unusual NaNs and bools. */
static int is_plain(const bt_tensor *tensor, int64_t i)
{
    const bt_dtype part = bt__dtype_part(tensor->dtype);
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    if (tensor->dtype == BT_BOOL)
        return element_bits(tensor, i, 0) <= 1;
    for (uint32_t k = 0; bt_dtype_is_float(part) && k < nparts; k++) {
        const uint64_t bits = element_bits(tensor, i, k);
        double value;
        bt__elements_to_double(part, tensor->data,
                               bt__tensor_offset(tensor, i) * nparts + k, 1, 1, &value);
        if (isnan(value) && bits != plain_nan_bits(part))
            return 0;
    }
    return 1;
}

static int all_plain(const bt_tensor *tensor)
{
    for (int64_t i = 0; i < tensor->nelem; i++) {
        if (!is_plain(tensor, i))
            return 0;
    }
    return 1;
}

/* Whether all elements are the same; known without a look where none is stored twice. */
static int is_splat(const bt_tensor *tensor)
{
    int is_one = 1;
    if (tensor->nelem < 2)
        return 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        is_one &= tensor->strides[i] == 0 || tensor->dims[i] == 1;
    if (!is_plain(tensor, 0))
        return 0;
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    for (int64_t i = 1; !is_one && i < tensor->nelem; i++) {
        for (uint32_t k = 0; k < nparts; k++) {
            if (element_bits(tensor, i, k) != element_bits(tensor, 0, k))
                return 0;
        }
    }
    return 1;
}

/* ---- forms ---- */

static void print_header(bt_printer *p, const bt_tensor *tensor)
{
    char name[BT_DTYPE_NAME_SIZE];
    add(p, "const[(");
    for (uint32_t i = 0; i < tensor->rank; i++)
        bt_text_addf(p->out, "%s%" PRId64, i ? ", " : "", tensor->dims[i]);
    bt_text_addf(p->out, "), %s]{", bt_dtype_name(tensor->dtype, name, sizeof(name)));
}

/* Bytes of the elements from `begin` on, lowest first, as base64. A line of packed ones begins
 * with a byte. */
static void print_bytes(bt_printer *p, const bt_tensor *tensor, int64_t begin,
                        int64_t end)
{
    const uint32_t nparts = bt_dtype_nparts(tensor->dtype);
    const size_t nbytes = bt_dtype_nbytes(bt__dtype_part(tensor->dtype));
    const int width = (int)BT_DTYPE_BITS(tensor->dtype);
    unsigned char bytes[BASE64_LINE] = { 0 };
    size_t n = nbytes ? 0 : (size_t)((end - begin) * width + 7) / 8;
    for (int64_t i = begin; i < end; i++) {
        for (uint32_t k = 0; k < nparts; k++) {
            uint64_t bits = element_bits(tensor, i, k);
            if (!nbytes)
                bt_packed_set(bytes, i - begin, width, (uint8_t)bits);
            for (size_t j = 0; j < nbytes; j++)
                bytes[n++] = (unsigned char)(bits >> (8 * j));
        }
    }
    add(p, "\"");
    bt__base64_write(p->out, bytes, n);
    add(p, "\"");
}

static void print_lines(bt_printer *p, const bt_tensor *tensor, const char *between)
{
    int64_t each = 8 * BASE64_LINE / (int64_t)bt_dtype_nbits(tensor->dtype);
    for (int64_t i = 0; i < tensor->nelem && !p->out->failed; i += each) {
        add(p, i ? between : "");
        print_bytes(p, tensor, i, i + each < tensor->nelem ? i + each : tensor->nelem);
    }
}

static void print_elements(bt_printer *p, const bt_tensor *tensor)
{
    for (int64_t i = 0; i < tensor->nelem; i++) {
        add(p, i ? ", " : "");
        bt__element_write(p->out, tensor, i);
    }
}

/* ---- named data ---- */

/* A free name: the constant's own, c0, c1, ... */
static const char *choose_data_name(bt_printer *p, const char *hint)
{
    for (uint32_t i = 0;; i++) {
        bt_text text;
        bt_text_init(&text, p->arena);
        if (hint)
            bt_text_addf(&text, i ? "%s_%u" : "%s", hint, (unsigned)i);
        else
            bt_text_addf(&text, "c%u", (unsigned)(p->data.len + i));
        const char *name = bt_text_get(&text);
        if (!name || !bt_map_entry_find(&p->data_taken, name))
            return name;
    }
}

static const char *data_name(bt_printer *p, const bt_tensor *tensor, const char *hint)
{
    const char *known = bt_map_find(&p->data_of, tensor);
    if (known)
        return known;
    struct bt__data_entry entry = { choose_data_name(p, hint), tensor };
    if (entry.name && bt_map_put(&p->data_of, tensor, (void *)(uintptr_t)entry.name) &&
        bt_map_put(&p->data_taken, entry.name, p) && BT_PUSH(p->arena, &p->data, entry))
        return entry.name;
    p->out->failed = 1;
    return "";
}

/* Small constants are written where they are used, twice where they are used twice, which reads
 * back as two. Floats with a name may be one parameter of a model, and stay one. */
static int count_use(bt_printer *p, const bt_value *operand)
{
    const bt_tensor *tensor = bt_const_tensor(operand);
    if (!tensor || !operand->name || !tensor->rank || !bt_dtype_is_float(tensor->dtype))
        return 1;
    const uintptr_t n = (uintptr_t)bt_map_find(&p->uses, tensor);
    return bt_map_put(&p->uses, tensor, (void *)(n + 1)) != 0;
}

int bt__print_count_constants(bt_printer *p)
{
    for (uint32_t g = 0; g < p->module->nglobal; g++) {
        const bt_global *global = p->module->globals[g];
        bt_blocks blocks = { 0 };
        if (global->kind != BT_GLOBAL_FUNC)
            continue;
        if (bt_block_nested(p->arena, global->func->block, &blocks))
            return 0;
        for (uint32_t b = 0; b < blocks.len; b++) {
            for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
                const bt_value *user = blocks.at[b]->bindings[i];
                for (uint32_t k = 0; k < bt_value_noperand(user); k++) {
                    if (!count_use(p, bt_value_operand(user, k)))
                        return 0;
                }
            }
        }
    }
    return 1;
}

static int is_shared(const bt_printer *p, const bt_tensor *tensor, const char *name)
{
    return name && (uintptr_t)bt_map_find(&p->uses, tensor) > 1;
}

static void print_tensor(bt_printer *p, const bt_tensor *tensor, const char *name)
{
    if (tensor->rank == 0 && BT_DTYPE_CLASS(tensor->dtype) != BT_CLASS_COMPLEX &&
        is_plain(tensor, 0)) {
        bt__element_write(p->out, tensor, 0);
        add(p, bt__suffix_of(tensor->dtype));
        return;
    }
    print_header(p, tensor);
    if (is_splat(tensor) && !is_shared(p, tensor, name)) {
        bt__element_write(p->out, tensor, 0);
        add(p, " ..");
    } else if (tensor->nelem > BT__INLINE_NELEM || is_shared(p, tensor, name)) {
        add(p, "data ");
        bt__print_quoted(p->out, data_name(p, tensor, name));
    } else if (all_plain(tensor)) {
        print_elements(p, tensor);
    } else {
        print_lines(p, tensor, " ");
    }
    add(p, "}");
}

void bt__print_const(bt_printer *p, const bt_object *object, const char *name)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (!tuple) {
        print_tensor(p, bt_object_as_tensor(object), name);
        return;
    }
    add(p, "const(");
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        add(p, i ? ", " : "");
        bt__print_const(p, tuple->fields[i], NULL);
    }
    add(p, ")");
}

void bt__print_data(bt_printer *p)
{
    if (p->data.len)
        add(p, "\n#[data]\n");
    for (uint32_t i = 0; i < p->data.len; i++) {
        bt__print_quoted(p->out, p->data.at[i].name);
        add(p, " =\n");
        print_lines(p, p->data.at[i].tensor, "\n");
        add(p, ";\n");
    }
}
