/*
 * Patterns of inputs.
 *
 *     pattern  = "?" | tensor | "(" tensor "*" ")"
 *     tensor   = dtypes "[" [ dim { "," dim } ] "]"
 *     dim      = NAME | NUMBER | ".."
 *     dtypes   = NAME | class | NAME ":" class
 *     class    = accepted { "|" accepted }
 *     accepted = dtype name | bool | int | uint | float | integer | number | any
 *
 * A NAME alone is that of an input before, or of any dtype that can be computed with; `any` are also
 * those whose elements are only moved, as complex numbers are.
 */
#include "compute/formula/signature.h"

#include <string.h>

#include "base/arena.h"

static const struct {
    const char *name;
    uint32_t classes;
} class_names[] = {
    { "int", BT_CLASS_BITS_INT },       { "uint", BT_CLASS_BITS_UINT },
    { "float", BT_CLASS_BITS_FLOAT },   { "integer", BT_CLASS_BITS_INTEGER },
    { "number", BT_CLASS_BITS_NUMBER }, { "any", BT_CLASS_BITS_ANY },
};

struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *where; /* "nn.dense(data)" */
    const char *text;
    struct bt__token token;
};

static void advance(struct reader *r)
{
    r->token = bt__token_read(r->text, strlen(r->text),
                              (size_t)r->token.place.offset + r->token.place.width);
}

static int skip_sign(struct reader *r, const char *sign)
{
    if (!bt__token_is(&r->token, sign))
        return 0;
    advance(r);
    return 1;
}

static BT_FAILURE bt_status expected(struct reader *r, const char *what)
{
    const struct bt__formula text = { .op = r->where, .text = r->text };
    return bt__formula_fail(r->ctx, &text, BT_ERR_SYNTAX, r->token.place,
                            "expected %s in the type of an input", what);
}

/* One accepted dtype or class; 0 when the token is neither. */
static int read_accepted(struct reader *r, uint32_t *classes, bt_dtype *dtype)
{
    const struct bt__token *t = &r->token;
    *classes = 0;
    *dtype = t->kind == BT__TOKEN_NAME ? bt_dtype_parse(t->at, t->place.width) : 0;
    for (uint32_t i = 0; i < BT_COUNT(class_names); i++) {
        if (bt__token_is(t, class_names[i].name))
            *classes = class_names[i].classes;
    }
    return *classes || *dtype;
}

static bt_status parse_accepted(struct reader *r, struct bt__pattern *out)
{
    bt_vec(bt_dtype) dtypes = { 0 };
    do {
        uint32_t classes;
        bt_dtype dtype;
        if (!read_accepted(r, &classes, &dtype))
            return expected(r, "a dtype or a class of dtypes");
        advance(r);
        out->classes |= classes;
        if (dtype && !BT_PUSH(r->arena, &dtypes, dtype))
            return bt_no_memory();
    } while (skip_sign(r, "|"));
    out->ndtype = dtypes.len;
    out->dtypes = dtypes.at;
    return NULL;
}

static bt_status parse_dtypes(struct reader *r, struct bt__pattern *out)
{
    uint32_t classes;
    bt_dtype dtype;
    if (r->token.kind != BT__TOKEN_NAME)
        return expected(r, "a dtype");
    if (read_accepted(r, &classes, &dtype))
        return parse_accepted(r, out);
    out->name = bt_arena_text(r->arena, r->token.at, r->token.place.width);
    if (!out->name)
        return bt_no_memory();
    advance(r);
    if (skip_sign(r, ":"))
        return parse_accepted(r, out);
    out->classes = (uint32_t)BT_CLASS_BITS_COMPUTED;
    return NULL;
}

static bt_status parse_dims(struct reader *r, struct bt__pattern *out)
{
    bt_vec(struct bt__pattern_dim) dims = { 0 };
    do {
        struct bt__pattern_dim dim = { 0 };
        if (skip_sign(r, "..")) {
            if (out->has_rest)
                return expected(r, "one `..` at most");
            out->has_rest = 1;
            out->position = dims.len;
            continue;
        }
        if (r->token.kind == BT__TOKEN_INT) {
            dim.size = r->token.integer;
        } else if (r->token.kind == BT__TOKEN_NAME) {
            dim.name = bt_arena_text(r->arena, r->token.at, r->token.place.width);
            if (!dim.name)
                return bt_no_memory();
        } else {
            return expected(r, "a dim: a name, a number or `..`");
        }
        advance(r);
        if (!BT_PUSH(r->arena, &dims, dim))
            return bt_no_memory();
    } while (skip_sign(r, ","));
    out->ndim = dims.len;
    out->dims = dims.at;
    return NULL;
}

static bt_status parse_pattern(struct reader *r, struct bt__pattern *out)
{
    if (skip_sign(r, "?"))
        return NULL;
    out->kind = skip_sign(r, "(") ? BT__PATTERN_TENSORS : BT__PATTERN_TENSOR;
    BT_TRY(parse_dtypes(r, out));
    if (!skip_sign(r, "["))
        return expected(r, "`[`");
    if (!bt__token_is(&r->token, "]"))
        BT_TRY(parse_dims(r, out));
    if (!skip_sign(r, "]"))
        return expected(r, "`]`");
    if (out->kind == BT__PATTERN_TENSORS && !(skip_sign(r, "*") && skip_sign(r, ")")))
        return expected(r, "`*)`");
    return NULL;
}

bt_status bt__pattern_parse(bt_ctx *ctx, bt_arena *arena, const char *where,
                            const char *text, struct bt__token *at,
                            struct bt__pattern *out)
{
    struct reader r = {
        .ctx = ctx, .arena = arena, .where = where, .text = text, .token = *at
    };
    BT_TRY(parse_pattern(&r, out));
    *at = r.token;
    return NULL;
}

void bt__pattern_join(struct bt__pattern *p, uint32_t nbefore,
                      const struct bt__pattern *before)
{
    for (uint32_t k = 0; p->classes == (uint32_t)BT_CLASS_BITS_COMPUTED && k < nbefore;
         k++) {
        if (before[k].name && strcmp(before[k].name, p->name) == 0)
            p->classes |= before[k].classes;
    }
}

/* The type in an input's row, which is nothing but a pattern. */
static bt_status parse_row(struct reader *r, struct bt__pattern *out)
{
    r->token = bt__token_read(r->text, strlen(r->text), 0);
    BT_TRY(parse_pattern(r, out));
    return r->token.kind == BT__TOKEN_END ? NULL
           : out->kind == BT__PATTERN_ANY ? expected(r, "nothing after `?`")
                                          : expected(r, "the end");
}

bt_status bt__signature_parse(bt_ctx *ctx, bt_arena *arena, const bt_op *op,
                              const struct bt__signature **out)
{
    struct bt__signature *signature = BT_NEW(arena, struct bt__signature);
    uint32_t n = 0;
    while (op->inputs && op->inputs[n].name)
        n++;
    struct bt__pattern *inputs = BT_NEWS(arena, struct bt__pattern, n);
    if (!signature || !inputs)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        bt_text where;
        bt_text_init(&where, arena);
        bt_text_addf(&where, "%s(%s)", op->name, op->inputs[i].name);
        struct reader r = { .ctx = ctx,
                            .arena = arena,
                            .where = bt_text_get(&where),
                            .text = op->inputs[i].type };
        if (!r.where)
            return bt_no_memory();
        BT_TRY(parse_row(&r, &inputs[i]));
        bt__pattern_join(&inputs[i], i, inputs);
        inputs[i].input =
            bt_arena_text(arena, op->inputs[i].name, strlen(op->inputs[i].name));
        if (!inputs[i].input)
            return bt_no_memory();
        signature->has_rest = op->inputs[i].is_rest;
    }
    signature->ninput = n;
    signature->inputs = inputs;
    *out = signature;
    return NULL;
}

const char *bt__signature_name(bt_arena *arena, const struct bt__signature *signature,
                               uint32_t arg)
{
    const struct bt__pattern *p = bt__signature_input(signature, arg);
    const uint32_t n = signature->ninput;
    if (!p)
        return "argument";
    return signature->has_rest && arg + 1 >= n
               ? bt__format(arena, "%s.%u", p->input, arg + 1 - n)
               : p->input;
}

int bt__pattern_takes_dtype(const struct bt__pattern *p, bt_dtype dtype)
{
    for (uint32_t i = 0; i < p->ndtype; i++) {
        if (p->dtypes[i] == dtype)
            return 1;
    }
    return BT_DTYPE_CLASS(dtype) < 32 && (p->classes >> BT_DTYPE_CLASS(dtype) & 1);
}

void bt__pattern_print_dtypes(const struct bt__pattern *p, bt_text *out)
{
    const char *between = "";
    char name[BT_DTYPE_NAME_SIZE];
    uint32_t left = p->classes;
    for (uint32_t i = BT_COUNT(class_names); left && i-- > 0;) {
        if ((left & class_names[i].classes) == class_names[i].classes) {
            bt_text_addf(out, "%s%s", between, class_names[i].name);
            left &= ~class_names[i].classes;
            between = "|";
        }
    }
    for (uint32_t i = 0; i < p->ndtype; i++) {
        bt_text_addf(out, "%s%s", between,
                     bt_dtype_name(p->dtypes[i], name, sizeof(name)));
        between = "|";
    }
}

const struct bt__pattern_dim *bt__pattern_dim_at(const struct bt__pattern *p,
                                                 uint32_t rank, uint32_t axis)
{
    if (!p->has_rest)
        return &p->dims[axis];
    uint32_t nrest = rank - p->ndim;
    if (axis < p->position)
        return &p->dims[axis];
    return axis < p->position + nrest ? NULL : &p->dims[axis - nrest];
}

int bt__pattern_takes_rank(const struct bt__pattern *p, uint32_t rank)
{
    return p->has_rest ? rank >= p->ndim : rank == p->ndim;
}
