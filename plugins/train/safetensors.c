#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100 << 20 };

static const struct {
    const char *name;
    bt_dtype dtype;
} types[] = {
    { "F64", BT_FLOAT64 },   { "F32", BT_FLOAT32 }, { "F16", BT_FLOAT16 },
    { "BF16", BT_BFLOAT16 }, { "I64", BT_INT64 },   { "I32", BT_INT32 },
    { "I16", BT_INT16 },     { "I8", BT_INT8 },     { "U64", BT_UINT64 },
    { "U32", BT_UINT32 },    { "U16", BT_UINT16 },  { "U8", BT_UINT8 },
    { "BOOL", BT_BOOL },
};

/* ---- the JSON of a header ---- */

struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *place, *begin, *at, *end;
};

static bt_status fail(const struct reader *r, const char *what)
{
    return bt_fail(r->ctx, BT_ERR_FORMAT,
                   "%s: byte %zu of its header: %s: it is no whole safetensors file",
                   r->place, (size_t)(r->at - r->begin), what);
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
        r->at++;
}

/* Whether that character comes next, which is then behind. */
static int takes(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != c)
        return 0;
    r->at++;
    return 1;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* \u0041 behind the backslash and the u, below the surrogates, as UTF-8. */
static bt_status read_code(struct reader *r, bt_text *out)
{
    uint32_t code = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const int digit = r->at < r->end ? hex_of(*r->at) : -1;
        if (digit < 0)
            return fail(r, "four digits are to follow \\u");
        code = code * 16 + (uint32_t)digit;
        r->at++;
    }
    if (!code || (code >= 0xd800 && code < 0xe000))
        return fail(r, "a character that names do not have");
    char bytes[3];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xc0 | code >> 6);
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    } else {
        bytes[n++] = (char)(0xe0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[n++] = (char)(0x80 | (code & 0x3f));
    }
    bt_text_add(out, bytes, n);
    return NULL;
}

static bt_status read_text(struct reader *r, const char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    bt_text text;
    bt_text_init(&text, r->arena);
    if (!takes(r, '"'))
        return fail(r, "a text between quotes is to stand here");
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20)
            return fail(r, "a character that texts do not have");
        if (*r->at != '\\') {
            bt_text_add(&text, r->at++, 1);
            continue;
        }
        const char *known = ++r->at < r->end ? strchr(from, *r->at) : NULL;
        if (r->at < r->end && *r->at == 'u') {
            r->at++;
            BT_TRY(read_code(r, &text));
        } else if (known && *known) {
            bt_text_add(&text, &to[known - from], 1);
            r->at++;
        } else {
            return fail(r, "an escape that JSON does not have");
        }
    }
    if (!takes(r, '"'))
        return fail(r, "it ends within a text");
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

static bt_status read_number(struct reader *r, uint64_t *out)
{
    uint64_t number = 0;
    skip_blanks(r);
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        if (number > (uint64_t)INT64_MAX / 10 - 1)
            return fail(r, "a number that is too large");
        number = number * 10 + (uint64_t)(*r->at++ - '0');
    }
    *out = number;
    return r->at > start ? NULL : fail(r, "a number is to stand here");
}

/* [1, 2]; *n: how many. */
static bt_status read_numbers(struct reader *r, uint32_t most, uint64_t *at, uint32_t *n)
{
    *n = 0;
    if (!takes(r, '['))
        return fail(r, "a list is to stand here");
    if (takes(r, ']'))
        return NULL;
    do {
        if (*n == most)
            return fail(r, "a list that is too long");
        BT_TRY(read_number(r, &at[(*n)++]));
    } while (takes(r, ','));
    return takes(r, ']') ? NULL : fail(r, "] is to end the list");
}

static bt_status read_type(struct reader *r, bt_dtype *out)
{
    const char *name;
    BT_TRY(read_text(r, &name));
    for (uint32_t i = 0; i < BT_COUNT(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = types[i].dtype;
            return NULL;
        }
    }
    return fail(r, "a type of elements that is not known");
}

static bt_status read_tensor(struct reader *r, struct safetensor *out)
{
    uint64_t numbers[BT_MAX_RANK], offsets[2];
    uint32_t seen = 0, nkey = 0, n;
    if (!takes(r, '{'))
        return fail(r, "a tensor is to stand here");
    do {
        const char *key;
        BT_TRY(read_text(r, &key));
        if (!takes(r, ':'))
            return fail(r, ": is to follow a name");
        if (strcmp(key, "dtype") == 0) {
            BT_TRY(read_type(r, &out->dtype));
            seen |= 1;
        } else if (strcmp(key, "shape") == 0) {
            BT_TRY(read_numbers(r, BT_MAX_RANK, numbers, &out->rank));
            for (uint32_t i = 0; i < out->rank; i++)
                out->dims[i] = (int64_t)numbers[i];
            seen |= 2;
        } else if (strcmp(key, "data_offsets") == 0) {
            BT_TRY(read_numbers(r, 2, offsets, &n));
            if (n != 2)
                return fail(r, "two offsets are to stand here");
            out->begin = offsets[0];
            out->end = offsets[1];
            seen |= 4;
        } else {
            return fail(r, "a tensor has dtype, shape and data_offsets alone");
        }
        nkey++;
    } while (takes(r, ','));
    if (!takes(r, '}'))
        return fail(r, "} is to end a tensor");
    return seen == 7 && nkey == 3
               ? NULL
               : fail(r, "a tensor has dtype, shape and data_offsets once each");
}

typedef bt_vec(struct safetensor) tensor_list;
typedef bt_vec(bt_training_note) note_list;

static bt_status read_notes(struct reader *r, note_list *notes)
{
    if (!takes(r, '{'))
        return fail(r, "{ is to stand here");
    if (takes(r, '}'))
        return NULL;
    do {
        bt_training_note note;
        BT_TRY(read_text(r, &note.name));
        if (!takes(r, ':'))
            return fail(r, ": is to follow a name");
        BT_TRY(read_text(r, &note.value));
        if (!BT_PUSH(r->arena, notes, note))
            return bt_no_memory();
    } while (takes(r, ','));
    return takes(r, '}') ? NULL : fail(r, "} is to end what is noted");
}

static bt_status read_header(struct reader *r, tensor_list *tensors, note_list *notes)
{
    bt_map names;
    bt_map_init(&names, r->arena, 1);
    if (r->at == r->end || *r->at != '{' || !takes(r, '{'))
        return fail(r, "{ is to be its first byte");
    if (takes(r, '}'))
        return NULL;
    do {
        struct safetensor tensor = { 0 };
        BT_TRY(read_text(r, &tensor.name));
        if (bt_map_entry_find(&names, tensor.name))
            return fail(r, "a name that was there before");
        if (!bt_map_put(&names, tensor.name, NULL))
            return bt_no_memory();
        if (!takes(r, ':'))
            return fail(r, ": is to follow a name");
        if (strcmp(tensor.name, "__metadata__") == 0) {
            BT_TRY(read_notes(r, notes));
            continue;
        }
        BT_TRY(read_tensor(r, &tensor));
        if (!BT_PUSH(r->arena, tensors, tensor))
            return bt_no_memory();
    } while (takes(r, ','));
    if (!takes(r, '}'))
        return fail(r, "} is to end the header");
    skip_blanks(r);
    return r->at == r->end ? NULL : fail(r, "nothing is to follow");
}

/* ---- the whole file ---- */

static int by_begin(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
                                : (x->end > y->end) - (x->end < y->end);
}

/* Whether its type and dims take so many. */
static int has_nbytes(const struct safetensor *t, uint64_t nbytes)
{
    int64_t nelem = 1, want;
    int ok = 1;
    for (uint32_t k = 0; ok && k < t->rank; k++)
        ok = bt_mul_int64(nelem, t->dims[k], &nelem);
    return ok && bt_elements_nbytes(t->dtype, nelem, &want) && (uint64_t)want == nbytes;
}

/* Tensors lie one behind the other, up to the end, in the order of their offsets. */
static bt_status check_offsets(const struct reader *r, const struct safetensors *all)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        struct safetensor *t = &all->at[i];
        const char *fault = t->end < t->begin ? "ends before it begins" : NULL;
        if (!fault && t->begin != at)
            fault =
                t->begin < at ? "overlaps another one" : "begins behind bytes of none";
        if (!fault && t->end > all->ndata)
            fault = "has more bytes than there are: the file is cut short";
        if (!fault && !has_nbytes(t, t->end - t->begin))
            fault = "has other bytes than its type and shape take";
        if (fault)
            return bt_fail(r->ctx, BT_ERR_FORMAT, "%s: tensor %s, bytes %llu to %llu, %s",
                           r->place, t->name, (unsigned long long)t->begin,
                           (unsigned long long)t->end, fault);
        t->at = all->data + t->begin;
        at = t->end;
    }
    return at == all->ndata ? NULL
                            : bt_fail(r->ctx, BT_ERR_FORMAT,
                                      "%s: %zu bytes at its end belong to no tensor",
                                      r->place, (size_t)(all->ndata - at));
}

bt_status safetensors_read(bt_ctx *ctx, bt_arena *arena, const char *place,
                           const char *bytes, size_t nbytes, struct safetensors *out)
{
    struct reader r = { .ctx = ctx, .arena = arena, .place = place };
    tensor_list tensors = { 0 };
    note_list notes = { 0 };
    uint64_t nheader = 0;
    for (uint32_t i = 0; nbytes >= 8 && i < 8; i++)
        nheader |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    if (nbytes < 8 || nheader > MAX_HEADER || nheader > nbytes - 8)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s is no safetensors file, or one that is cut short", place);
    r.begin = r.at = bytes + 8;
    r.end = r.begin + nheader;
    BT_TRY(read_header(&r, &tensors, &notes));
    if (!BT_PUSH(arena, &notes, ((bt_training_note){ 0 })))
        return bt_no_memory();
    if (tensors.len)
        qsort(tensors.at, tensors.len, sizeof(*tensors.at), by_begin);
    *out = (struct safetensors){ .n = tensors.len,
                                 .at = tensors.at,
                                 .nnote = notes.len - 1,
                                 .notes = notes.at,
                                 .data = r.end,
                                 .ndata = nbytes - 8 - (size_t)nheader };
    return check_offsets(&r, out);
}

const struct safetensor *safetensors_find(const struct safetensors *all, const char *name)
{
    for (uint32_t i = 0; i < all->n; i++) {
        if (strcmp(all->at[i].name, name) == 0)
            return &all->at[i];
    }
    return NULL;
}

/* ---- writing ---- */

static void add_quoted(bt_text *out, const char *text)
{
    bt_text_addf(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bt_text_addf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            bt_text_addf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            bt_text_add(out, text, 1);
    }
    bt_text_addf(out, "\"");
}

static const char *type_name(bt_dtype dtype)
{
    for (uint32_t i = 0; i < BT_COUNT(types); i++) {
        if (types[i].dtype == dtype)
            return types[i].name;
    }
    return NULL;
}

bt_status safetensors_write(bt_ctx *ctx, uint32_t n, const char *const *names,
                            bt_tensor *const *tensors, const bt_training_note *notes,
                            bt_text *out)
{
    bt_text header;
    unsigned char size[8];
    size_t at = 0;
    bt_text_init(&header, bt_ctx_scratch(ctx));
    bt_text_addf(&header, "{\"__metadata__\":{");
    for (uint32_t i = 0; notes[i].name; i++) {
        bt_text_addf(&header, i ? "," : "");
        add_quoted(&header, notes[i].name);
        bt_text_addf(&header, ":");
        add_quoted(&header, notes[i].value);
    }
    bt_text_addf(&header, "}");
    for (uint32_t i = 0; i < n; i++) {
        const bt_tensor *t = tensors[i];
        if (!type_name(t->dtype))
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "safetensors files have no tensors of the type of %s",
                           names[i]);
        bt_text_addf(&header, ",");
        add_quoted(&header, names[i]);
        bt_text_addf(&header, ":{\"dtype\":\"%s\",\"shape\":[", type_name(t->dtype));
        for (uint32_t k = 0; k < t->rank; k++)
            bt_text_addf(&header, "%s%lld", k ? "," : "", (long long)t->dims[k]);
        bt_text_addf(&header, "],\"data_offsets\":[%zu,%zu]}", at,
                     at + bt_tensor_nbytes(t));
        at += bt_tensor_nbytes(t);
    }
    bt_text_addf(&header, "}");
    while (header.len % 8) // tensors at multiples of 8 bytes
        bt_text_add(&header, " ", 1);
    for (uint32_t i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)header.len >> 8 * i);
    bt_text_add(out, (const char *)size, sizeof(size));
    bt_text_add(out, header.at, header.len);
    for (uint32_t i = 0; i < n; i++)
        bt_text_add(out, tensors[i]->data, bt_tensor_nbytes(tensors[i]));
    return header.failed || out->failed ? bt_no_memory() : NULL;
}
