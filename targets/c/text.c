/* Loops as C99 text. */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <baton/op.h>

enum {
    MOST_NODES = 32, /* of an expression; what is longer is cut */
    INDENT = 4
};

struct writer {
    struct c_text *text;
    bt_arena *arena;
    const bt_loops *loops;
    bt_text *out;
    int indent;
    uint32_t ntemp;
    uint32_t size;     /* nodes of the expression that is being written */
    uint16_t *weights; /* of nodes by id, 0: not known; their nodes, but MOST_NODES + 1 */
    uint8_t *touched;  /* of buffers: it is in the text */
    c_faults *faults;
};

static const char *value_of(struct writer *, const bt_node *);

/* ---- lines ---- */

static void add_line(struct writer *w, const char *format, ...) BT_PRINTF(2, 3);
static void add_line(struct writer *w, const char *format, ...)
{
    va_list args;
    bt_text_addf(w->out, "%*s", w->indent, "");
    va_start(args, format);
    bt_text_addv(w->out, format, args);
    va_end(args);
    bt_text_addf(w->out, "\n");
}

/* Text in the arena; "" and a failed output where there is no memory. */
static const char *form(struct writer *w, const char *format, ...) BT_PRINTF(2, 3);
static const char *form(struct writer *w, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_text_init(&text, w->arena);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *out = bt_text_get(&text);
    w->out->failed |= !out;
    return out ? out : "";
}

/* ---- types ---- */

static int is_double(const struct writer *w, bt_dtype dtype)
{
    return bt_dtype_is_float(dtype) && (!w->text->is_single || dtype == BT_FLOAT64);
}

/* Of a value. */
static const char *value_type(const struct writer *w, bt_dtype dtype)
{
    return !bt_dtype_is_float(dtype) ? "int64_t"
           : is_double(w, dtype)     ? "double"
                                     : "float";
}

/* Of an element in memory. */
static const char *element_type(bt_dtype dtype)
{
    switch (dtype) {
    case BT_INT8: return "int8_t";
    case BT_INT16: return "int16_t";
    case BT_INT32: return "int32_t";
    case BT_INT64: return "int64_t";
    case BT_UINT16:
    case BT_FLOAT16:
    case BT_BFLOAT16: return "uint16_t";
    case BT_UINT32: return "uint32_t";
    case BT_UINT64: return "uint64_t";
    case BT_FLOAT32: return "float";
    case BT_FLOAT64: return "double";
    default: return "uint8_t";
    }
}

/* The call of a function of scalars.h that gives a double, as a value of the dtype. */
static const char *call_of(struct writer *w, bt_dtype dtype, const char *name,
                           const char *a, const char *b)
{
    (void)c_functions_use(&w->text->functions, name);
    const char *call = b ? form(w, "%s(%s, %s)", name, a, b) : form(w, "%s(%s)", name, a);
    return bt_dtype_is_float(dtype) && !is_double(w, dtype) ? form(w, "(float)%s", call)
                                                            : call;
}

/* A value read from memory. */
static const char *loaded(struct writer *w, bt_dtype dtype, const char *element)
{
    switch (dtype) {
    case BT_FLOAT16: return call_of(w, dtype, "f16_value", element, NULL);
    case BT_BFLOAT16: return call_of(w, dtype, "bf16_value", element, NULL);
    case BT_FLOAT32: return w->text->is_single ? element : form(w, "(double)%s", element);
    case BT_FLOAT64:
    case BT_INT64: return element;
    default: return form(w, "(int64_t)%s", element);
    }
}

/* ... and as it goes there. */
static const char *stored(struct writer *w, bt_dtype dtype, const char *value)
{
    if (dtype == BT_FLOAT16)
        (void)c_functions_use(&w->text->functions, "f16_of");
    if (dtype == BT_BFLOAT16)
        (void)c_functions_use(&w->text->functions, "bf16_of");
    switch (dtype) {
    case BT_FLOAT16: return form(w, "f16_of(%s)", value);
    case BT_BFLOAT16: return form(w, "bf16_of(%s)", value);
    case BT_FLOAT64:
    case BT_INT64: return value;
    case BT_FLOAT32:
        if (w->text->is_single)
            return value;
        break;
    default: break;
    }
    return form(w, "(%s)%s", element_type(dtype), value);
}

/* An int64 that may have left the dtype. */
static const char *wrapped(struct writer *w, bt_dtype dtype, const char *value)
{
    if (dtype == BT_INT64 || dtype == BT_UINT64)
        return value;
    if (dtype == BT_BOOL)
        return form(w, "(%s & 1)", value);
    return form(w, "(int64_t)(%s)%s", element_type(dtype), value);
}

/* ---- numbers ---- */

static const char *integer(struct writer *w, int64_t value)
{
    if (value == INT64_MIN)
        return "(-INT64_C(9223372036854775807) - 1)";
    if (value > INT32_MAX || value < -INT32_MAX)
        return form(w, value < 0 ? "(-INT64_C(%" PRId64 "))" : "INT64_C(%" PRId64 ")",
                    value < 0 ? -value : value);
    return form(w, value < 0 ? "(%" PRId64 ")" : "%" PRId64, value);
}

/* With as few digits as give the same number. */
static const char *real(struct writer *w, double value, bt_dtype dtype)
{
    char digits[40];
    const char *suffix = is_double(w, dtype) ? "" : "f";
    union {
        double f;
        uint64_t i;
    } bits = { .f = value };
    if ((bits.i >> 52 & 0x7ff) == 0x7ff)
        return call_of(w, dtype, "f_of_bits", form(w, "UINT64_C(0x%" PRIx64 ")", bits.i),
                       NULL);
    for (int precision = 1; precision <= 17; precision++) {
        double again;
        snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (sscanf(digits, "%lf", &again) == 1 && again == value)
            break;
    }
    const char *point = strpbrk(digits, ".e") ? "" : ".0";
    return form(w, bits.i >> 63 ? "(%s%s%s)" : "%s%s%s", digits, point, suffix);
}

/* ---- bounds ---- */

enum { BITS_SAFE = 62 };

static uint64_t size_of(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* |value| at most. */
static uint64_t most_of(const bt_node *node)
{
    const uint64_t low = size_of(node->low), high = size_of(node->high);
    return low > high ? low : high;
}

static int is_safe_product(uint64_t a, uint64_t b, uint64_t *sum)
{
    const uint64_t limit = UINT64_C(1) << BITS_SAFE;
    if (a && b > limit / a)
        return 0;
    *sum += a * b;
    return *sum < limit;
}

/* ---- expressions ---- */

/* Nodes of an expression, as far as it matters. */
static uint16_t weight_of(struct writer *w, const bt_node *node)
{
    uint32_t weight = 1;
    if (w->weights[node->id])
        return w->weights[node->id];
    for (uint32_t i = 0; i < node->narg && weight <= MOST_NODES; i++) {
        if (node->kind != BT_NODE_INDEX)
            weight += weight_of(w, node->args[i]);
    }
    return w->weights[node->id] =
               (uint16_t)(weight > MOST_NODES ? MOST_NODES + 1 : weight);
}

/* Keeps a long expression in a variable of its own. */
static const char *cut(struct writer *w, const bt_node *node, const char *text)
{
    if (++w->size <= MOST_NODES)
        return text;
    w->size = 1;
    add_line(w, "const %s e%" PRIu32 " = %s;", value_type(w, node->dtype), w->ntemp,
             text);
    return form(w, "e%" PRIu32, w->ntemp++);
}

/* A text whose outer parentheses go: what follows brings its own. */
static const char *bare(struct writer *w, const char *text)
{
    const size_t n = strlen(text);
    int depth = 0;
    if (*text != '(')
        return text;
    for (size_t i = 0; i + 1 < n; i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (!depth)
            return text;
    }
    return form(w, "%.*s", (int)(n - 2), text + 1);
}

static const char *linear(struct writer *w, const bt_node *node)
{
    uint64_t sum = size_of(node->value.i);
    int is_safe = sum < UINT64_C(1) << BITS_SAFE;
    bt_text text;
    const char **args = BT_NEWS(w->arena, const char *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = value_of(w, node->args[i]);
        is_safe = is_safe &&
                  is_safe_product(size_of(node->coefs[i]), most_of(node->args[i]), &sum);
    }
    bt_text_init(&text, w->arena);
    bt_text_addf(&text, is_safe ? "(" : "(int64_t)(");
    for (uint32_t i = 0; args && i < node->narg; i++) {
        const int64_t coef = node->coefs[i];
        if (!is_safe) {
            bt_text_addf(&text, "%sUINT64_C(0x%" PRIx64 ") * (uint64_t)%s",
                         i ? " + " : "", (uint64_t)coef, args[i]);
            continue;
        }
        bt_text_addf(&text, "%s", coef < 0 ? (i ? " - " : "-") : i ? " + " : "");
        if (size_of(coef) != 1)
            bt_text_addf(&text, "%s * ", integer(w, coef < 0 ? -coef : coef));
        bt_text_addf(&text, "%s", args[i]);
    }
    if (!is_safe)
        bt_text_addf(&text, " + UINT64_C(0x%" PRIx64 ")", (uint64_t)node->value.i);
    else if (node->value.i)
        bt_text_addf(&text, " %c %s", node->value.i < 0 ? '-' : '+',
                     integer(w, node->value.i < 0 ? -node->value.i : node->value.i));
    bt_text_addf(&text, ")");
    const char *out = args ? bt_text_get(&text) : NULL;
    w->out->failed |= !out;
    return out ? out : "";
}

/* An operator that C has for these operands; NULL: it has none. */
static const char *infix_of(const bt_node *node)
{
    const bt_node *a = node->args[0], *b = node->narg > 1 ? node->args[1] : NULL;
    const int is_float = bt_dtype_is_float(a->dtype), is_u64 = a->dtype == BT_UINT64;
    const int is_short = BT_DTYPE_BITS(a->dtype) <= 32;
    uint64_t sum = 0;
    switch (node->which) {
    case BT_SCALAR_ADD: return is_float || is_short ? "+" : NULL;
    case BT_SCALAR_SUB: return is_float || is_short ? "-" : NULL;
    case BT_SCALAR_MUL:
        return is_float || (!is_u64 && is_safe_product(most_of(a), most_of(b), &sum))
                   ? "*"
                   : NULL;
    case BT_SCALAR_DIV:
        if (is_float)
            return "/";
        break;
    case BT_SCALAR_BIT_AND: return "&";
    case BT_SCALAR_BIT_OR: return "|";
    case BT_SCALAR_BIT_XOR: return "^";
    case BT_SCALAR_EQ: return "==";
    case BT_SCALAR_NE: return "!=";
    case BT_SCALAR_LT: return is_u64 ? NULL : "<";
    case BT_SCALAR_LE: return is_u64 ? NULL : "<=";
    case BT_SCALAR_AND: return "&&";
    case BT_SCALAR_OR: return "||";
    default: break;
    }
    if (is_float || is_u64 || !b || a->low < 0 || b->low <= 0)
        return NULL;
    switch (node->which) {
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV:
    case BT_SCALAR_FLOORDIV: return "/";
    case BT_SCALAR_TRUNCMOD:
    case BT_SCALAR_MOD: return "%";
    default: return NULL;
    }
}

/* Whether an integer's value may leave its dtype by the operator. */
static int may_wrap(uint32_t which)
{
    static const char *const traits[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    traits,
#include <baton/scalars.def>
    };
    return strchr(traits[which], 'w') != NULL;
}

static const char *by_function(struct writer *w, const bt_node *node, const char *a,
                               const char *b)
{
    const bt_dtype of = node->args[0]->dtype;
    const char *prefix = bt_dtype_is_float(of) ? "f" : of == BT_UINT64 ? "u" : "i";
    const char *name = form(w, "%s_%s", prefix, bt_scalar_name(node->which));
    if (*prefix == 'u' && !c_functions_use(&w->text->functions, name))
        name = form(w, "i_%s", bt_scalar_name(node->which));
    return call_of(w, node->dtype, name, a, b);
}

static const char *scalar(struct writer *w, const bt_node *node)
{
    const bt_dtype of = node->args[0]->dtype;
    const int is_float = bt_dtype_is_float(of);
    const char *a = value_of(w, node->args[0]);
    const char *b = node->narg > 1 ? value_of(w, node->args[1]) : NULL;
    const char *infix = infix_of(node), *out = NULL;
    switch (node->which) {
    case BT_SCALAR_NOT: return form(w, "(!%s)", a);
    case BT_SCALAR_BIT_NOT: out = form(w, "(~%s)", a); break;
    case BT_SCALAR_NEG:
        if (is_float)
            return form(w, "(-%s)", a);
        break;
    case BT_SCALAR_FLOOR:
    case BT_SCALAR_CEIL:
    case BT_SCALAR_TRUNC:
    case BT_SCALAR_ROUND:
    case BT_SCALAR_ROUND_EVEN:
        if (!is_float)
            return a;
        break;
    case BT_SCALAR_ISNAN:
    case BT_SCALAR_ISINF:
        if (!is_float)
            return "0";
        break;
    case BT_SCALAR_ISFINITE:
        if (!is_float)
            return "1";
        break;
    case BT_SCALAR_ABS:
    case BT_SCALAR_WRAP:
        if (of == BT_UINT64) // never negative
            return a;
        break;
    case BT_SCALAR_SIGN:
        if (of == BT_UINT64)
            return form(w, "(%s != 0)", a);
        break;
    default: break;
    }
    if (!out)
        out = infix ? form(w, "(%s %s %s)", a, infix, b) : by_function(w, node, a, b);
    return !is_float && may_wrap(node->which) ? wrapped(w, of, out) : out;
}

/* An integer as a float, which is rounded once. */
static const char *float_of_integer(struct writer *w, const bt_node *from, bt_dtype to,
                                    const char *value)
{
    const int is_u64 = from->dtype == BT_UINT64;
    const int is_exact =
        to == BT_FLOAT64 || (!is_u64 && most_of(from) < UINT64_C(1) << 53);
    return call_of(w, BT_FLOAT64,
                   is_exact ? (is_u64 ? "f_of_u" : "f_of_i")
                            : (is_u64 ? "f_of_u_sticky" : "f_of_i_sticky"),
                   value, NULL);
}

/* A double rounded to a dtype's numbers. */
static const char *rounded(struct writer *w, bt_dtype to, const char *value)
{
    const char *cast = is_double(w, to) ? "(double)" : "";
    if (to == BT_FLOAT64)
        return value;
    if (to == BT_FLOAT32)
        return form(w, "%s(float)%s", cast, value);
    const char *name = to == BT_FLOAT16 ? "f16_" : "bf16_";
    (void)c_functions_use(&w->text->functions, form(w, "%sof", name));
    return call_of(w, to, form(w, "%svalue", name), form(w, "%sof(%s)", name, value),
                   NULL);
}

static const char *integer_of_float(struct writer *w, bt_dtype to, const char *value)
{
    const uint32_t bits = BT_DTYPE_BITS(to);
    const int is_signed = BT_DTYPE_CLASS(to) == BT_CLASS_INT;
    const int64_t high =
        (int64_t)(UINT64_MAX >> (64 - (is_signed && to != BT_UINT64 ? bits - 1 : bits)));
    if (to == BT_UINT64)
        return call_of(w, to, "u_of_f", value, NULL);
    return call_of(
        w, to, "i_of_f", value,
        form(w, "%s, %s", integer(w, is_signed ? -high - 1 : 0), integer(w, high)));
}

static const char *cast(struct writer *w, const bt_node *node)
{
    const bt_node *from = node->args[0];
    const bt_dtype to = node->dtype;
    const char *value = value_of(w, from);
    const int was_float = bt_dtype_is_float(from->dtype);
    if (to == BT_BOOL)
        return form(w, was_float ? "(%s != 0.0)" : "(%s != 0)", value);
    if (!bt_dtype_is_float(to))
        return was_float ? integer_of_float(w, to, value) : wrapped(w, to, value);
    if (!was_float)
        return rounded(w, to, float_of_integer(w, from, to, value));
    // a float variable of a float16 may hold more digits; of a float32 it has the right ones
    if (!is_double(w, to) && to == BT_FLOAT32 && !is_double(w, from->dtype))
        return value;
    return to == BT_FLOAT64 && !is_double(w, from->dtype) ? form(w, "(double)%s", value)
                                                          : rounded(w, to, value);
}

/* Only one side is computed. */
static const char *choice(struct writer *w, const bt_node *node)
{
    const char *condition = value_of(w, node->args[0]);
    if (weight_of(w, node) <= MOST_NODES)
        return form(w, "(%s ? %s : %s)", condition, value_of(w, node->args[1]),
                    value_of(w, node->args[2]));
    const uint32_t temp = w->ntemp++;
    add_line(w, "%s e%" PRIu32 ";", value_type(w, node->dtype), temp);
    for (uint32_t i = 1; i < 3; i++) {
        if (i == 1)
            add_line(w, "if (%s) {", bare(w, condition));
        else
            add_line(w, "} else {");
        w->indent += INDENT;
        add_line(w, "e%" PRIu32 " = %s;", temp, bare(w, value_of(w, node->args[i])));
        w->indent -= INDENT;
    }
    add_line(w, "}");
    w->size = 0;
    return form(w, "e%" PRIu32, temp);
}

static int is_local(const struct writer *w, uint32_t buffer)
{
    return w->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
}

static const char *name_of(const struct writer *w, uint32_t buffer)
{
    return w->loops->graph->arrays[buffer]->name;
}

static const char *read(struct writer *w, uint32_t buffer, const char *offset)
{
    w->touched[buffer] = 1;
    if (is_local(w, buffer))
        return name_of(w, buffer);
    return loaded(w, w->loops->graph->arrays[buffer]->dtype,
                  form(w, "%s[%s]", name_of(w, buffer), bare(w, offset)));
}

static const char *text_of(struct writer *w, const bt_node *node)
{
    switch (node->kind) {
    case BT_NODE_CONST:
        return bt_dtype_is_float(node->dtype) ? real(w, node->value.f, node->dtype)
                                              : integer(w, node->value.i);
    case BT_NODE_INDEX: return form(w, "i%" PRIu32, node->which);
    case BT_NODE_DIM: return w->loops->graph->dims[node->which]->name;
    case BT_NODE_LINEAR: return linear(w, node);
    case BT_NODE_SCALAR: return scalar(w, node);
    case BT_NODE_CAST: return cast(w, node);
    case BT_NODE_SELECT: return choice(w, node);
    default: return read(w, node->which, value_of(w, node->args[0]));
    }
}

/* As an operand: a word, a call, or in parentheses. Recursion is bounded by the depth of
 * expressions. */
static const char *value_of(struct writer *w, const bt_node *node)
{
    const uint32_t before = w->size;
    w->size = 0;
    const char *text = cut(w, node, text_of(w, node));
    w->size += before;
    return text;
}

/* ---- statements ---- */

static void add_block(struct writer *w, const bt_stmts *stmts);

static void add_braced(struct writer *w, const bt_stmts *stmts)
{
    w->indent += INDENT;
    add_block(w, stmts);
    w->indent -= INDENT;
}

/* An element that is written, `at` its offset. */
static const char *element(struct writer *w, uint32_t buffer, const char *at)
{
    w->touched[buffer] = 1;
    return is_local(w, buffer) ? name_of(w, buffer)
                               : form(w, "%s[%s]", name_of(w, buffer), bare(w, at));
}

static void assign(struct writer *w, uint32_t buffer, const char *at, const char *value)
{
    const bt_dtype dtype = w->loops->graph->arrays[buffer]->dtype;
    add_line(w, "%s = %s;", element(w, buffer, at),
             is_local(w, buffer) ? bare(w, value) : bare(w, stored(w, dtype, value)));
}

static void add_store(struct writer *w, const bt_stmt *stmt)
{
    const char *value = value_of(w, stmt->value);
    const char *at = is_local(w, stmt->buffer) ? NULL : value_of(w, stmt->offset);
    assign(w, stmt->buffer, at, value);
}

/* Whether v goes before the accumulator, or beside it. */
static const char *is_better(struct writer *w, const bt_stmt *stmt, const char *acc,
                             int is_max)
{
    const char *sign = is_max ? ">" : "<";
    if (stmt->of == BT_UINT64)
        return call_of(w, BT_INT64, "u_lt", is_max ? acc : "v", is_max ? "v" : acc);
    return bt_dtype_is_float(stmt->of)
               ? form(w, "v %s %s || (v != v && %s == %s)", sign, acc, acc, acc)
               : form(w, "v %s %s", sign, acc);
}

static void add_arg(struct writer *w, const bt_stmt *stmt, const char *at)
{
    const int is_max =
        stmt->reducer == BT_REDUCER_ARGMAX || stmt->reducer == BT_REDUCER_ARGMAX_LAST;
    const int is_last = stmt->reducer == BT_REDUCER_ARGMAX_LAST ||
                        stmt->reducer == BT_REDUCER_ARGMIN_LAST;
    const char *acc = read(w, stmt->buffer, at), *p = read(w, stmt->buffer2, at);
    add_line(w, "const int64_t q = %s;", bare(w, value_of(w, stmt->position)));
    add_line(w, "if (%s < 0 || %s ||", p, is_better(w, stmt, acc, is_max));
    add_line(w, "    ((v == %s%s) && q %s %s)) {", acc,
             bt_dtype_is_float(stmt->of) ? form(w, " || (v != v && %s != %s)", acc, acc)
                                         : "",
             is_last ? ">" : "<", p);
    w->indent += INDENT;
    assign(w, stmt->buffer, at, "v");
    assign(w, stmt->buffer2, at, "q");
    w->indent -= INDENT;
    add_line(w, "}");
}

static void add_logsumexp(struct writer *w, const bt_stmt *stmt, const char *at)
{
    const char *acc = read(w, stmt->buffer, at), *sum = read(w, stmt->buffer2, at);
    (void)c_functions_use(&w->text->functions, "f_exp");
    (void)c_functions_use(&w->text->functions, "f_inf");
    const char *type = value_type(w, w->loops->graph->arrays[stmt->buffer]->dtype);
    add_line(w, "if (v != v || %s != %s) {", acc, acc);
    w->indent += INDENT;
    assign(w, stmt->buffer, at, form(w, "(v != v ? v : %s)", acc));
    w->indent -= INDENT;
    add_line(w, "} else if (v > %s) {", acc);
    w->indent += INDENT;
    assign(w, stmt->buffer2, at, form(w, "(%s)(%s * f_exp(%s - v) + 1)", type, sum, acc));
    assign(w, stmt->buffer, at, "v");
    w->indent -= INDENT;
    add_line(w, "} else if (v > -f_inf()) {");
    w->indent += INDENT;
    assign(w, stmt->buffer2, at,
           form(w, "(%s)(%s + (v == %s ? 1.0 : f_exp(v - %s)))", type, sum, acc, acc));
    w->indent -= INDENT;
    add_line(w, "}");
}

static void add_take(struct writer *w, const bt_stmt *stmt)
{
    const bt_dtype dtype = w->loops->graph->arrays[stmt->buffer]->dtype;
    const int is_float = bt_dtype_is_float(stmt->of);
    const char *value = value_of(w, stmt->value), *at = NULL, *more = NULL;
    if (!is_local(w, stmt->buffer)) {
        add_line(w, "{");
        w->indent += INDENT;
        add_line(w, "const int64_t at = %s;", bare(w, value_of(w, stmt->offset)));
        at = "at";
    }
    const char *acc = read(w, stmt->buffer, at);
    switch (stmt->reducer) {
    case BT_REDUCER_SUM:
        more = is_float ? form(w, "(%s + %s)", acc, value)
                        : call_of(w, BT_INT64, "i_add", acc, value);
        break;
    case BT_REDUCER_PROD:
        more = is_float ? form(w, "(%s * %s)", acc, value)
                        : call_of(w, BT_INT64, "i_mul", acc, value);
        break;
    case BT_REDUCER_ALL: more = form(w, "(%s & %s)", acc, value); break;
    case BT_REDUCER_ANY: more = form(w, "(%s | %s)", acc, value); break;
    default: break;
    }
    if (more) {
        assign(w, stmt->buffer, at, is_float ? more : wrapped(w, dtype, more));
    } else {
        add_line(w, "{");
        w->indent += INDENT;
        add_line(w, "const %s v = %s;", value_type(w, stmt->value->dtype),
                 bare(w, value));
        if (stmt->reducer == BT_REDUCER_LOGSUMEXP) {
            add_logsumexp(w, stmt, at);
        } else if (stmt->position) {
            add_arg(w, stmt, at);
        } else {
            const int is_max = stmt->reducer == BT_REDUCER_MAX;
            const char *better = stmt->of == BT_UINT64
                                     ? is_better(w, stmt, acc, is_max)
                                     : form(w, "v %s %s%s", is_max ? ">" : "<", acc,
                                            is_float ? " || v != v" : "");
            add_line(w, "if (%s)", better);
            w->indent += INDENT;
            assign(w, stmt->buffer, at, "v");
            w->indent -= INDENT;
        }
        w->indent -= INDENT;
        add_line(w, "}");
    }
    if (at) {
        w->indent -= INDENT;
        add_line(w, "}");
    }
}

static void add_check(struct writer *w, const bt_stmt *stmt)
{
    const int64_t extent = bt_node_number(stmt->extent);
    bt_fault fault = { .array = stmt->array, .axis = stmt->axis, .extent = extent };
    if (extent < 0)
        fault.text = form(w, "an index is out of bounds for axis %" PRIu32 " of %s",
                          stmt->axis, stmt->array);
    if (!BT_PUSH(w->arena, w->faults, fault))
        w->out->failed = 1;
    const char *condition = value_of(w, stmt->condition);
    add_line(w, "if (!%s)", condition);
    add_line(w, "    return %" PRIu32 ";", (uint32_t)w->faults->len);
}

static int has_loop(const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        if (stmts->at[i]->kind == BT_STMT_FOR || has_loop(&stmts->at[i]->body) ||
            has_loop(&stmts->at[i]->otherwise))
            return 1;
    }
    return 0;
}

static void add_for(struct writer *w, const bt_stmt *stmt)
{
    add_line(w, "for (int64_t i%" PRIu32 " = 0; i%" PRIu32 " < %s; i%" PRIu32 "++) {",
             stmt->index, stmt->index, bare(w, value_of(w, stmt->extent)), stmt->index);
    if (w->indent == INDENT && has_loop(&stmt->body)) {
        add_line(w, "    if (call->stop && *(const volatile uint32_t *)call->stop)");
        add_line(w, "        return BT_FAULT_STOPPED;");
    }
    add_braced(w, &stmt->body);
    add_line(w, "}");
}

static void add_if(struct writer *w, const bt_stmt *stmt)
{
    add_line(w, "if (%s) {", bare(w, value_of(w, stmt->condition)));
    add_braced(w, &stmt->body);
    if (stmt->otherwise.len) {
        add_line(w, "} else {");
        add_braced(w, &stmt->otherwise);
    }
    add_line(w, "}");
}

/* Nests as deep as loops do. */
static void add_block(struct writer *w, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        switch (stmt->kind) {
        case BT_STMT_FOR: add_for(w, stmt); break;
        case BT_STMT_IF: add_if(w, stmt); break;
        case BT_STMT_STORE: add_store(w, stmt); break;
        case BT_STMT_TAKE: add_take(w, stmt); break;
        default: add_check(w, stmt); break;
        }
    }
}

/* ---- kernels ---- */

/* The variable of a buffer that the body uses. */
static void add_buffer(struct writer *w, uint32_t buffer, int *has_workspace)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    const char *type = element_type(array->dtype);
    switch (w->loops->roles.at[buffer]) {
    case BT_BUFFER_LOCAL:
        add_line(w, "%s %s = 0;", value_type(w, array->dtype), array->name);
        return;
    case BT_BUFFER_TEMP:
        if (!*has_workspace)
            add_line(w, "unsigned char *workspace = call->workspace;");
        *has_workspace = 1;
        add_line(w, "%s *const %s = (%s *)(void *)workspace;", type, array->name, type);
        return;
    default: break;
    }
}

/* Temps follow each other in the workspace, aligned to 64 bytes. */
static void add_step(struct writer *w, uint32_t buffer)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    const int64_t nelem = bt_node_number(array->extents[0]);
    const int64_t nbytes = (int64_t)bt_dtype_nbytes(array->dtype);
    if (nelem >= 0)
        add_line(w, "workspace += %s;", integer(w, (nelem * nbytes + 63) / 64 * 64));
    else
        add_line(w, "workspace += (%" PRId64 " * %s + 63) / 64 * 64;", nbytes,
                 value_of(w, array->extents[0]));
}

static int last_temp(const struct writer *w)
{
    int last = -1;
    for (uint32_t i = 0; i < w->loops->roles.len; i++) {
        if (w->loops->roles.at[i] == BT_BUFFER_TEMP && w->touched[i])
            last = (int)i;
    }
    return last;
}

static void add_variables(struct writer *w)
{
    uint32_t place = 0;
    int has_workspace = 0;
    const int last = last_temp(w);
    for (uint32_t i = 0; i < w->loops->graph->ndim; i++)
        add_line(w, "const int64_t %s = call->dims[%" PRIu32 "];",
                 w->loops->graph->dims[i]->name, i);
    for (uint32_t i = 0; i < w->loops->roles.len; i++) {
        const bt_array *array = w->loops->graph->arrays[i];
        if (w->loops->roles.at[i] != BT_BUFFER_INPUT)
            continue;
        if (w->touched[i])
            add_line(w, "const %s *const %s = call->buffers[%" PRIu32 "];",
                     element_type(array->dtype), array->name, place);
        place++;
    }
    for (uint32_t i = 0; i < w->loops->results.len; i++, place++) {
        const uint32_t buffer = w->loops->results.at[i];
        const bt_array *array = w->loops->graph->arrays[buffer];
        if (w->touched[buffer])
            add_line(w, "%s *const %s = call->buffers[%" PRIu32 "];",
                     element_type(array->dtype), array->name, place);
    }
    for (uint32_t i = 0; i < w->loops->roles.len; i++) {
        const uint32_t role = w->loops->roles.at[i];
        if (role == BT_BUFFER_LOCAL && !w->touched[i])
            continue;
        if (role == BT_BUFFER_TEMP && (int)i > last)
            continue;
        if (role == BT_BUFFER_LOCAL || w->touched[i])
            add_buffer(w, i, &has_workspace);
        else if (role == BT_BUFFER_TEMP && !has_workspace++)
            add_line(w, "unsigned char *workspace = call->workspace;");
        if (role == BT_BUFFER_TEMP && (int)i < last)
            add_step(w, i);
    }
}

int c_text_begin(struct c_text *text, bt_arena *arena, int is_single)
{
    *text = (struct c_text){ .arena = arena, .is_single = is_single };
    bt_text_init(&text->kernels, arena);
    return c_functions_init(&text->functions, arena);
}

/* Dims that the text names, so that none is there without a use. */
static void use_dims(struct writer *w, const bt_text *body)
{
    for (uint32_t i = 0; i < w->loops->graph->ndim; i++) {
        const char *name = w->loops->graph->dims[i]->name;
        const size_t n = strlen(name);
        const char *at = body->at ? strstr(body->at, name) : NULL;
        while (at && (strchr("0123456789", at[n]) ||
                      strchr("_abcdefghijklmnopqrstuvwxyz", at[-1])))
            at = strstr(at + n, name);
        if (!at)
            add_line(w, "(void)%s;", name);
    }
}

bt_status c_text_add(struct c_text *text, const bt_loops *loops, const char *symbol,
                     c_faults *faults)
{
    bt_text body;
    struct writer w = { .text = text,
                        .arena = text->arena,
                        .loops = loops,
                        .out = &body,
                        .indent = INDENT,
                        .faults = faults };
    w.weights = BT_NEWS(text->arena, uint16_t, loops->graph->nnode);
    w.touched = BT_NEWS(text->arena, uint8_t, loops->graph->narray);
    bt_text_init(&body, text->arena);
    if (!w.weights || !w.touched)
        return bt_no_memory();
    add_block(&w, &loops->body);
    w.out = &text->kernels;
    bt_text_addf(w.out,
                 "\nint32_t %s(const bt_kernel_call *call);\n"
                 "int32_t %s(const bt_kernel_call *call)\n{\n",
                 symbol, symbol);
    add_variables(&w);
    use_dims(&w, &body);
    if (!body.len)
        add_line(&w, "(void)call;");
    bt_text_add(w.out, body.at ? body.at : "", body.len);
    bt_text_addf(w.out, "    return 0;\n}\n");
    return body.failed || w.out->failed ? bt_no_memory() : NULL;
}

bt_status c_text_end(struct c_text *text, bt_text *out)
{
    bt_text_addf(out, "#include <baton/kernel.h>\n");
    c_functions_write(&text->functions, out);
    bt_text_add(out, text->kernels.at ? text->kernels.at : "", text->kernels.len);
    return out->failed || text->kernels.failed ? bt_no_memory() : NULL;
}
