/*
 * Dims as postfix bytes, so that they can be evaluated where no store is: at a call, and
 * from a file.
 *
 *     2*n + ceildiv(m, 4)     CONST 0, CONST 2, DIM 0, MUL, ADD, DIM 1, CONST 4, CEILDIV,
 *                             ADD
 *
 * An operation is one byte; behind CONST stands a number, seven bits a byte, the sign in
 * the lowest bit; behind DIM the position of a variable in the same way.
 */
#include "ir/dim.h"

enum { MAX_STACK = 256, MAX_BYTES = 1 << 16 };
enum { CONST, DIM, ADD, MUL, FLOORDIV, CEILDIV, MOD, MIN, MAX, NCODE };

/* ---- writing ---- */

struct writer {
    bt_ctx *ctx;
    uint32_t nvar;
    const bt_type *const *vars;
    bt_text bytes;
    bt_status status;
};

static void put(struct writer *w, uint8_t code)
{
    bt_text_add(&w->bytes, (const char *)&code, 1);
    if (w->bytes.len > MAX_BYTES && !w->status)
        w->status = bt_fail(w->ctx, BT_ERR_LIMIT,
                            "a dim of more than %d bytes of code: too large an "
                            "expression to evaluate at a call",
                            MAX_BYTES);
}

static void put_number(struct writer *w, uint8_t code, int64_t number)
{
    uint64_t rest = (uint64_t)number << 1;
    if (number < 0)
        rest = ~rest;
    put(w, code);
    for (; rest >= 128; rest >>= 7)
        put(w, (uint8_t)(rest | 128));
    put(w, (uint8_t)rest);
}

static void write_dim(struct writer *w, const bt_type *dim);

static void write_linear(struct writer *w, const bt_type *dim)
{
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    if (all.constant || !all.n)
        put_number(w, CONST, all.constant);
    for (uint32_t i = 0; i < all.n && !w->status; i++) {
        write_dim(w, all.terms[i].atom);
        if (all.terms[i].coefficient != 1) {
            put_number(w, CONST, all.terms[i].coefficient);
            put(w, MUL);
        }
        if (all.constant || i)
            put(w, ADD);
    }
}

static void write_list(struct writer *w, const bt_type *dim, uint8_t code)
{
    const bt_list_type *list = bt_as_list_type(dim);
    for (uint32_t i = 0; i < list->n && !w->status; i++) {
        write_dim(w, list->at[i]);
        if (i)
            put(w, code);
    }
}

/* Recursive: BT_TYPE_DEPTH bounds the depth. */
static void write_dim(struct writer *w, const bt_type *dim)
{
    for (uint32_t i = 0; i < w->nvar; i++) {
        if (w->vars[i] == dim) {
            put_number(w, DIM, i);
            return;
        }
    }
    switch (dim->kind) {
    case BT_TYPE_LINEAR: write_linear(w, dim); return;
    case BT_TYPE_PRODUCT: write_list(w, dim, MUL); return;
    case BT_TYPE_FLOORDIV: write_list(w, dim, FLOORDIV); return;
    case BT_TYPE_CEILDIV: write_list(w, dim, CEILDIV); return;
    case BT_TYPE_MOD: write_list(w, dim, MOD); return;
    case BT_TYPE_MIN: write_list(w, dim, MIN); return;
    case BT_TYPE_MAX: write_list(w, dim, MAX); return;
    default:
        if (!w->status)
            w->status = bt_fail(w->ctx, BT_ERR_UNSUPPORTED,
                                "a dim that no argument's shape shows");
    }
}

bt_status bt_dim_compile(bt_ctx *ctx, bt_arena *arena, const bt_type *dim, uint32_t nvar,
                         const bt_type *const *vars, bt_dim_code *out)
{
    struct writer w = { .ctx = ctx, .nvar = nvar, .vars = vars };
    bt_text_init(&w.bytes, arena);
    write_dim(&w, dim);
    BT_TRY(w.status);
    const char *bytes = bt_text_get(&w.bytes);
    if (!bytes)
        return bt_no_memory();
    *out = (bt_dim_code){ (const uint8_t *)bytes, (uint32_t)w.bytes.len, nvar };
    return bt_dim_code_is_valid(out)
               ? NULL
               : bt_fail(ctx, BT_ERR_LIMIT,
                         "a dim nests too deeply to be evaluated at a call: more than %d "
                         "values wait for each other",
                         MAX_STACK);
}

/* ---- reading ---- */

/* The number at *at, which goes behind it. 0: the bytes end, or it has more than 64 bits.
 */
static int get_number(const bt_dim_code *code, uint32_t *at, int64_t *out)
{
    uint64_t bits = 0;
    for (uint32_t shift = 0; *at < code->nbyte && shift < 64; shift += 7) {
        uint8_t byte = code->at[(*at)++];
        if (shift == 63 && byte > 1)
            return 0;
        bits |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = (int64_t)(bits & 1 ? ~(bits >> 1) : bits >> 1);
            return 1;
        }
    }
    return 0;
}

int bt_dim_code_is_valid(const bt_dim_code *code)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < code->nbyte;) {
        uint8_t op = code->at[at++];
        int64_t number;
        if (op >= NCODE)
            return 0;
        if (op > DIM) {
            if (n-- < 2)
                return 0;
            continue;
        }
        if (!get_number(code, &at, &number) || n++ == MAX_STACK ||
            (op == DIM && (number < 0 || number >= code->nvar)))
            return 0;
    }
    return n == 1;
}

/* 0: overflow. */
static int apply(uint8_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case ADD: return bt_add_int64(a, b, out);
    case MUL: return bt_mul_int64(a, b, out);
    case MIN: *out = a < b ? a : b; return 1;
    case MAX: *out = a > b ? a : b; return 1;
    case MOD: *out = bt_mod_int64(a, b); return 1;
    default:
        *out = op == FLOORDIV ? bt_floordiv_int64(a, b) : bt_ceildiv_int64(a, b);
        return a != INT64_MIN || b != -1;
    }
}

int bt_dim_eval(const bt_dim_code *code, const int64_t *dims, int64_t *out)
{
    int64_t stack[MAX_STACK];
    uint32_t n = 0;
    for (uint32_t at = 0; at < code->nbyte;) {
        uint8_t op = code->at[at++];
        if (op > DIM) {
            n--;
            if (!apply(op, stack[n - 1], stack[n], &stack[n - 1]))
                return 0;
            continue;
        }
        if (!get_number(code, &at, &stack[n]))
            return 0;
        stack[n] = op == DIM ? dims[stack[n]] : stack[n];
        n++;
    }
    *out = stack[0];
    return 1;
}
