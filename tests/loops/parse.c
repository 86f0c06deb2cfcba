/*
 * Loops read from text, as bt_loops_print writes them.
 *
 *     loops    = "loops" NAME [ "<" dim { "," dim } ">" ] "{" { buffer } { stmt } "}"
 *     dim      = NAME [ "in" INT ".." [ INT ] ]
 *     buffer   = ("in" | "out" | "temp" | "local") NAME ":" dtype "[" extent "]"
 *     stmt     = ("for" | "parallel") INDEX "in" extent block
 *              | "if" expr block [ "else" block ]
 *              | element "=" expr
 *              | element [ "," NAME ] REDUCER "[" dtype "]" "=" expr [ "at" expr ]
 *              | "check" expr ":" NAME "axis" INT "of" extent
 *              | KERNEL "(" [ arg { "," arg } ] ")"        arg = "&" element | expr
 *     block    = "{" { stmt } "}"
 *     element  = NAME "[" expr "]"
 *     expr     as in index notation, without reductions, `else` and rests; INDEX is i and
 *              its number; a number is int64 or float64, of another dtype by a cast;
 *     KERNEL   a name in which there may be dots; `extent` an expr of numbers and dims
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "compute/formula/lex.h"
#include "compute/graph/graph.h"
#include "loops_oracle.h"

enum { MAX_ARGS = 32 };

struct parser {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *file, *text;
    size_t nbytes;
    struct bt__token token;
    bt_loops *loops;
    bt_graph *graph;
    uint64_t open; /* indices of the loops around */
    const bt_node *extents[BT_MAX_INDEX];
    uint32_t depth;
};

/* ---- tokens ---- */

static bt_status fail_at(struct parser *p, struct bt__ast_place at, const char *format,
                         ...) BT_FAILURE BT_PRINTF(3, 4);
static bt_status fail_at(struct parser *p, struct bt__ast_place at, const char *format,
                         ...)
{
    const struct bt__range range = { p->file, p->text, p->nbytes, at.offset, at.width };
    va_list args;
    va_start(args, format);
    bt_status status = bt__fail_in(p->ctx, BT_ERR_SYNTAX, &range, format, args);
    va_end(args);
    return status;
}

static bt_status expected(struct parser *p, const char *what) BT_FAILURE;
static bt_status expected(struct parser *p, const char *what)
{
    const struct bt__token *t = &p->token;
    if (t->kind == BT__TOKEN_END)
        return fail_at(p, t->place, "expected %s, found the end of the text", what);
    return fail_at(p, t->place, "expected %s, found `%.*s`",
                   t->kind == BT__TOKEN_BAD ? t->fault : what, (int)t->place.width,
                   t->at);
}

static void advance(struct parser *p)
{
    p->token = bt__token_read(p->text, p->nbytes,
                              (size_t)p->token.place.offset + p->token.place.width);
}

static int is(const struct parser *p, const char *text)
{
    return bt__token_is(&p->token, text);
}

static int skip(struct parser *p, const char *text)
{
    if (!is(p, text))
        return 0;
    advance(p);
    return 1;
}

static bt_status need(struct parser *p, const char *text)
{
    char what[16];
    size_t n = strlen(text);
    if (skip(p, text))
        return NULL;
    what[0] = '`';
    memcpy(what + 1, text, n);
    memcpy(what + 1 + n, "`", 2);
    return expected(p, what);
}

static bt_status need_name(struct parser *p, const char *what, const char **out)
{
    if (p->token.kind != BT__TOKEN_NAME)
        return expected(p, what);
    *out = bt_arena_text(p->arena, p->token.at, p->token.place.width);
    advance(p);
    return *out ? NULL : bt_no_memory();
}

static bt_status need_int(struct parser *p, const char *what, int64_t *out)
{
    if (p->token.kind != BT__TOKEN_INT)
        return expected(p, what);
    *out = p->token.integer;
    advance(p);
    return NULL;
}

static bt_status need_dtype(struct parser *p, bt_dtype *out)
{
    *out = p->token.kind == BT__TOKEN_NAME
               ? bt_dtype_parse(p->token.at, p->token.place.width)
               : 0;
    if (!bt_dtype_is_stored(*out))
        return expected(p, "an element type");
    advance(p);
    return NULL;
}

/* i12: 12; else -1. */
static int index_of(const struct bt__token *t)
{
    int number = 0;
    if (t->kind != BT__TOKEN_NAME || t->place.width < 2 || t->place.width > 3 ||
        t->at[0] != 'i')
        return -1;
    for (uint32_t i = 1; i < t->place.width; i++) {
        if (t->at[i] < '0' || t->at[i] > '9')
            return -1;
        number = number * 10 + (t->at[i] - '0');
    }
    return number < BT_MAX_INDEX ? number : -1;
}

static int find_dim(const struct parser *p, const struct bt__token *t)
{
    for (uint32_t i = 0; i < p->graph->ndim; i++) {
        if (bt__token_is(t, p->graph->dims[i]->name))
            return (int)i;
    }
    return -1;
}

static int find_buffer(const struct parser *p, const struct bt__token *t)
{
    for (uint32_t i = 0; i < p->graph->narray; i++) {
        const char *name = p->graph->arrays[i]->name;
        if (strlen(name) == t->place.width && memcmp(name, t->at, t->place.width) == 0)
            return (int)i;
    }
    return -1;
}

/* ---- expressions ---- */

static bt_status parse_expr(struct parser *p, const bt_node **out);

/* What a constructor gave; its failure otherwise. */
static bt_status made(struct parser *p, const bt_node *node, const bt_node **out)
{
    *out = node;
    return node ? NULL : bt_loops_why(p->loops);
}

static bt_status parse_int64(struct parser *p, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    BT_TRY(parse_expr(p, out));
    return (*out)->dtype == BT_INT64 ? NULL : fail_at(p, at, "expected an int64");
}

static bt_status parse_condition(struct parser *p, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    BT_TRY(parse_expr(p, out));
    return (*out)->dtype == BT_BOOL ? NULL : fail_at(p, at, "expected a condition");
}

/* NAME "[" expr "]", of a buffer. */
static bt_status parse_element(struct parser *p, uint32_t *buffer, const bt_node **offset)
{
    int found = find_buffer(p, &p->token);
    if (found < 0)
        return fail_at(p, p->token.place, "`%.*s` is not a buffer",
                       (int)p->token.place.width, p->token.at);
    *buffer = (uint32_t)found;
    advance(p);
    BT_TRY(need(p, "["));
    BT_TRY(parse_int64(p, offset));
    return need(p, "]");
}

/* An operator applied to what it accepts. */
static bt_status apply(struct parser *p, struct bt__ast_place at, uint32_t which,
                       const bt_node *a, const bt_node *b, const bt_node **out)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    char left[BT_DTYPE_NAME_SIZE], right[BT_DTYPE_NAME_SIZE];
    if (!(row->classes & 1u << BT_DTYPE_CLASS(a->dtype)))
        return fail_at(p, at, "%s does not take %s", row->name,
                       bt_dtype_name(a->dtype, left, sizeof(left)));
    if (b && a->dtype != b->dtype)
        return fail_at(p, at, "%s of %s and %s", row->name,
                       bt_dtype_name(a->dtype, left, sizeof(left)),
                       bt_dtype_name(b->dtype, right, sizeof(right)));
    return made(p, bt_node_scalar(p->graph, which, a, b), out);
}

static bt_status parse_args(struct parser *p, uint32_t n, const bt_node **out)
{
    BT_TRY(need(p, "("));
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            BT_TRY(need(p, ","));
        BT_TRY(parse_expr(p, &out[i]));
    }
    return need(p, ")");
}

static bt_status parse_select(struct parser *p, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    const bt_node *args[3];
    advance(p);
    BT_TRY(parse_args(p, 3, args));
    if (args[0]->dtype != BT_BOOL || args[1]->dtype != args[2]->dtype)
        return fail_at(p, at, "select takes a condition and two values of one type");
    return made(p, bt_node_select(p->graph, args[0], args[1], args[2]), out);
}

static bt_status parse_cast(struct parser *p, bt_dtype dtype, const bt_node **out)
{
    const bt_node *arg;
    advance(p);
    BT_TRY(parse_args(p, 1, &arg));
    return made(p,
                arg->dtype == dtype ? bt_node_round(p->graph, arg)
                                    : bt_node_cast(p->graph, dtype, arg),
                out);
}

static bt_status parse_call(struct parser *p, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    const bt_node *args[2] = { NULL, NULL };
    char name[32];
    bt_dtype dtype = bt_dtype_parse(p->token.at, p->token.place.width);
    if (is(p, "select"))
        return parse_select(p, out);
    if (bt_dtype_is_stored(dtype))
        return parse_cast(p, dtype, out);
    size_t n = at.width < sizeof(name) - 1 ? at.width : sizeof(name) - 1;
    memcpy(name, p->token.at, n);
    name[n] = '\0';
    int which = bt__scalar_find(name);
    if (which < 0)
        return fail_at(p, at, "`%s` is no scalar operator", name);
    advance(p);
    BT_TRY(parse_args(p, bt__scalar_get((uint32_t)which)->narg, args));
    return apply(p, at, (uint32_t)which, args[0], args[1], out);
}

static bt_status parse_index(struct parser *p, int number, const bt_node **out)
{
    if (!(p->open & bt_index_bit((uint32_t)number)))
        return fail_at(p, p->token.place, "i%d is the index of no loop around", number);
    advance(p);
    return made(p, bt_node_index(p->graph, (uint32_t)number, p->extents[number]), out);
}

static bt_status parse_float(struct parser *p, double value, const bt_node **out)
{
    advance(p);
    return made(p, bt__node_const(p->graph, BT_FLOAT64, (bt_cell){ .f = value }), out);
}

static bt_status parse_name(struct parser *p, const bt_node **out)
{
    int number = index_of(&p->token), dim = find_dim(p, &p->token);
    uint32_t buffer;
    const bt_node *offset;
    if (dim >= 0) {
        advance(p);
        return made(p, bt_node_dim(p->graph, (uint32_t)dim), out);
    }
    if (is(p, "inf") || is(p, "nan"))
        return parse_float(p, is(p, "inf") ? INFINITY : NAN, out);
    if (is(p, "true") || is(p, "false")) {
        int value = is(p, "true");
        advance(p);
        return made(p, bt_node_bool(p->graph, value), out);
    }
    if (find_buffer(p, &p->token) >= 0) {
        BT_TRY(parse_element(p, &buffer, &offset));
        return made(p, bt_loops_read(p->loops, buffer, offset), out);
    }
    return number >= 0 ? parse_index(p, number, out) : parse_call(p, out);
}

static bt_status parse_primary(struct parser *p, const bt_node **out)
{
    int64_t integer = p->token.integer;
    if (skip(p, "(")) {
        BT_TRY(parse_expr(p, out));
        return need(p, ")");
    }
    switch (p->token.kind) {
    case BT__TOKEN_INT: advance(p); return made(p, bt_node_int(p->graph, integer), out);
    case BT__TOKEN_FLOAT: return parse_float(p, p->token.number, out);
    case BT__TOKEN_NAME: return parse_name(p, out);
    default: return expected(p, "an expression");
    }
}

static bt_status parse_unary(struct parser *p, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    const bt_node *a;
    int is_not = is(p, "!"), is_minus = is(p, "-");
    if (!is_not && !is_minus)
        return parse_primary(p, out);
    if (p->depth == bt_ctx_limits(p->ctx)->depth)
        return fail_at(p, at, "nested deeper than limits.depth (%u)", p->depth);
    advance(p);
    p->depth++;
    BT_TRY(parse_unary(p, &a));
    p->depth--;
    return apply(p, at, is_not ? BT_SCALAR_NOT : BT_SCALAR_NEG, a, NULL, out);
}

/* Operators of two operands, loosest first; a level's associate to the left. */
static const struct infix {
    uint32_t level;
    const char *sign;
    uint32_t which;
    uint32_t swaps;
} infixes[] = {
    { 0, "||", BT_SCALAR_OR, 0 }, { 1, "&&", BT_SCALAR_AND, 0 },
    { 2, "==", BT_SCALAR_EQ, 0 }, { 2, "!=", BT_SCALAR_NE, 0 },
    { 2, "<=", BT_SCALAR_LE, 0 }, { 2, ">=", BT_SCALAR_LE, 1 },
    { 2, "<", BT_SCALAR_LT, 0 },  { 2, ">", BT_SCALAR_LT, 1 },
    { 3, "+", BT_SCALAR_ADD, 0 }, { 3, "-", BT_SCALAR_SUB, 0 },
    { 4, "*", BT_SCALAR_MUL, 0 }, { 4, "/", BT_SCALAR_DIV, 0 },
};
enum { LEVELS = 5 };

static const struct infix *find_infix(const struct parser *p, uint32_t level)
{
    for (size_t i = 0; i < BT_COUNT(infixes); i++) {
        if (infixes[i].level == level && is(p, infixes[i].sign))
            return &infixes[i];
    }
    return NULL;
}

static bt_status parse_level(struct parser *p, uint32_t level, const bt_node **out)
{
    const struct infix *found;
    if (level == LEVELS)
        return parse_unary(p, out);
    BT_TRY(parse_level(p, level + 1, out));
    while ((found = find_infix(p, level))) {
        struct bt__ast_place at = p->token.place;
        const bt_node *left = *out, *right;
        advance(p);
        BT_TRY(parse_level(p, level + 1, &right));
        BT_TRY(apply(p, at, found->which, found->swaps ? right : left,
                     found->swaps ? left : right, out));
    }
    return NULL;
}

static bt_status parse_expr(struct parser *p, const bt_node **out)
{
    if (p->depth == bt_ctx_limits(p->ctx)->depth)
        return fail_at(p, p->token.place, "nested deeper than limits.depth (%u)",
                       p->depth);
    p->depth++;
    BT_TRY(parse_level(p, 0, out));
    p->depth--;
    return NULL;
}

/* An integer that no index and no element is part of. */
static bt_status parse_extent(struct parser *p, const char *what, const bt_node **out)
{
    struct bt__ast_place at = p->token.place;
    int is_sign = p->token.kind == BT__TOKEN_SIGN && !is(p, "(") && !is(p, "-");
    if (is_sign || find_buffer(p, &p->token) >= 0)
        return expected(p, what);
    BT_TRY(parse_int64(p, out));
    if ((*out)->free || (*out)->reads ||
        (bt_node_is_const(*out, &(int64_t){ 0 }) && (*out)->value.i < 0))
        return fail_at(p, at, "expected %s: a number of at least 0, or dims", what);
    return NULL;
}

/* ---- statements ---- */

static bt_status parse_stmt(struct parser *p, bt_stmts *to);

static bt_status parse_block(struct parser *p, bt_stmts *to)
{
    if (p->depth == bt_ctx_limits(p->ctx)->depth)
        return fail_at(p, p->token.place, "nested deeper than limits.depth (%u)",
                       p->depth);
    BT_TRY(need(p, "{"));
    p->depth++;
    while (!skip(p, "}"))
        BT_TRY(parse_stmt(p, to));
    p->depth--;
    return NULL;
}

static bt_status add(struct parser *p, bt_stmts *to, uint32_t kind, bt_stmt **out)
{
    *out = bt_stmt_add(p->loops, to, kind);
    return *out ? NULL : bt_no_memory();
}

static bt_status parse_for(struct parser *p, bt_stmts *to)
{
    bt_stmt *stmt;
    BT_TRY(add(p, to, BT_STMT_FOR, &stmt));
    stmt->is_parallel = (uint32_t)is(p, "parallel");
    advance(p);
    int number = index_of(&p->token);
    if (number < 0)
        return expected(p, "an index, i0 to i63");
    if (p->open & bt_index_bit((uint32_t)number))
        return fail_at(p, p->token.place, "i%d is the index of a loop around", number);
    advance(p);
    BT_TRY(need(p, "in"));
    BT_TRY(parse_extent(p, "the number of iterations", &stmt->extent));
    stmt->index = (uint32_t)number;
    p->extents[number] = stmt->extent;
    p->open |= bt_index_bit((uint32_t)number);
    BT_TRY(parse_block(p, &stmt->body));
    p->open &= ~bt_index_bit((uint32_t)number);
    return NULL;
}

static bt_status parse_if(struct parser *p, bt_stmts *to)
{
    bt_stmt *stmt;
    BT_TRY(add(p, to, BT_STMT_IF, &stmt));
    advance(p);
    BT_TRY(parse_condition(p, &stmt->condition));
    BT_TRY(parse_block(p, &stmt->body));
    return skip(p, "else") ? parse_block(p, &stmt->otherwise) : NULL;
}

/* check expr : data axis 0 of 12 */
static bt_status parse_check(struct parser *p, bt_stmts *to)
{
    bt_stmt *stmt;
    int64_t axis;
    BT_TRY(add(p, to, BT_STMT_CHECK, &stmt));
    advance(p);
    BT_TRY(parse_condition(p, &stmt->condition));
    BT_TRY(need(p, ":"));
    BT_TRY(need_name(p, "an array's name", &stmt->array));
    BT_TRY(need(p, "axis"));
    struct bt__ast_place at = p->token.place;
    BT_TRY(need_int(p, "an axis", &axis));
    if (axis >= BT_MAX_RANK)
        return fail_at(p, at, "axis %" PRId64 ", of at most %d", axis, BT_MAX_RANK);
    stmt->axis = (uint32_t)axis;
    BT_TRY(need(p, "of"));
    return parse_extent(p, "an extent", &stmt->extent);
}

static bt_status need_written(struct parser *p, struct bt__ast_place at, uint32_t buffer)
{
    if (p->loops->roles.at[buffer] != BT_BUFFER_INPUT)
        return NULL;
    return fail_at(p, at, "%s is an input: it is not written",
                   p->graph->arrays[buffer]->name);
}

static bt_status need_buffer_of(struct parser *p, struct bt__ast_place at,
                                uint32_t buffer, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (p->graph->arrays[buffer]->dtype == dtype)
        return NULL;
    return fail_at(p, at, "%s does not hold %s", p->graph->arrays[buffer]->name,
                   bt_dtype_name(dtype, name, sizeof(name)));
}

/* What an accumulator holds: its first value, or its second; float32 where the first's
 * buffer has chosen that. */
static bt_dtype accumulator(const struct parser *p, const bt_stmt *stmt,
                            const struct bt__reducer *row, int second)
{
    bt_dtype first = p->graph->arrays[stmt->buffer]->dtype;
    if (second && row->result == BT__RESULT_INT64)
        return BT_INT64;
    if (!bt_dtype_is_float(stmt->of))
        return stmt->of;
    return first == BT_FLOAT32 && stmt->of != BT_FLOAT64 ? BT_FLOAT32 : BT_FLOAT64;
}

static bt_status parse_take(struct parser *p, bt_stmt *stmt, struct bt__ast_place at,
                            int has_second)
{
    const char *name;
    struct bt__ast_place place = p->token.place;
    BT_TRY(need_name(p, "`=` or a reducer", &name));
    int which = bt__reducer_find(name);
    if (which < 0)
        return fail_at(p, place, "`%s` is no reducer", name);
    const struct bt__reducer *row = bt__reducer_get((uint32_t)which);
    BT_TRY(need(p, "["));
    BT_TRY(need_dtype(p, &stmt->of));
    BT_TRY(need(p, "]"));
    BT_TRY(need(p, "="));
    if (!(row->classes & 1u << BT_DTYPE_CLASS(stmt->of)))
        return fail_at(p, place, "%s does not reduce that type", name);
    if (has_second != (row->nstate > 1))
        return fail_at(p, place, "%s has %u accumulators", name, row->nstate);
    if (has_second && stmt->buffer2 == stmt->buffer)
        return fail_at(p, place, "both accumulators are %s",
                       p->graph->arrays[stmt->buffer]->name);
    BT_TRY(need_buffer_of(p, at, stmt->buffer, accumulator(p, stmt, row, 0)));
    if (has_second)
        BT_TRY(need_buffer_of(p, at, stmt->buffer2, accumulator(p, stmt, row, 1)));
    stmt->reducer = (uint32_t)which;
    place = p->token.place;
    BT_TRY(parse_expr(p, &stmt->value));
    if (stmt->value->dtype != stmt->of)
        return fail_at(p, place, "the value is not of the type that is reduced");
    if (row->result != BT__RESULT_INT64)
        return NULL;
    BT_TRY(need(p, "at"));
    return parse_int64(p, &stmt->position);
}

/* A store, or an accumulator that takes a value. */
static bt_status parse_assignment(struct parser *p, bt_stmts *to)
{
    struct bt__ast_place at = p->token.place;
    bt_stmt *stmt;
    BT_TRY(add(p, to, BT_STMT_STORE, &stmt));
    BT_TRY(parse_element(p, &stmt->buffer, &stmt->offset));
    BT_TRY(need_written(p, at, stmt->buffer));
    if (skip(p, "=")) {
        struct bt__ast_place place = p->token.place;
        BT_TRY(parse_expr(p, &stmt->value));
        return need_buffer_of(p, place, stmt->buffer, stmt->value->dtype);
    }
    stmt->kind = BT_STMT_TAKE;
    int has_second = skip(p, ",");
    if (has_second) {
        int found = find_buffer(p, &p->token);
        if (found < 0)
            return expected(p, "a buffer");
        stmt->buffer2 = (uint32_t)found;
        BT_TRY(need_written(p, p->token.place, stmt->buffer2));
        advance(p);
    }
    return parse_take(p, stmt, at, has_second);
}

/* The length of a kernel's name, in which there may be dots, as in add.float32.s; 0: no
 * "(" is behind it, so that it is none. */
static size_t kernel_width(const struct parser *p)
{
    size_t from = (size_t)p->token.place.offset, end = from;
    while (end < p->nbytes && (isalnum((unsigned char)p->text[end]) ||
                               p->text[end] == '_' || p->text[end] == '.'))
        end++;
    struct bt__token next = bt__token_read(p->text, p->nbytes, end);
    return bt__token_is(&next, "(") ? end - from : 0;
}

static bt_status parse_kernel(struct parser *p, size_t width, bt_stmts *to)
{
    bt_stmt *stmt;
    bt_call_arg args[MAX_ARGS];
    uint32_t n = 0;
    BT_TRY(add(p, to, BT_STMT_CALL, &stmt));
    stmt->callee = bt_arena_text(p->arena, p->token.at, width);
    if (!stmt->callee)
        return bt_no_memory();
    p->token = bt__token_read(p->text, p->nbytes, (size_t)p->token.place.offset + width);
    BT_TRY(need(p, "("));
    while (!skip(p, ")")) {
        if (n)
            BT_TRY(need(p, ","));
        if (n == MAX_ARGS)
            return fail_at(p, p->token.place, "more than %d arguments", MAX_ARGS);
        args[n] = (bt_call_arg){ .is_address = (uint32_t)skip(p, "&") };
        if (args[n].is_address)
            BT_TRY(parse_element(p, &args[n].buffer, &args[n].value));
        else
            BT_TRY(parse_int64(p, &args[n].value));
        n++;
    }
    bt_call_arg *copy = BT_NEWS(p->arena, bt_call_arg, n);
    if (!copy)
        return bt_no_memory();
    if (n)
        memcpy(copy, args, n * sizeof(*args));
    stmt->narg = n;
    stmt->args = copy;
    return NULL;
}

static bt_status parse_stmt(struct parser *p, bt_stmts *to)
{
    if (is(p, "for") || is(p, "parallel"))
        return parse_for(p, to);
    if (is(p, "if"))
        return parse_if(p, to);
    if (is(p, "check"))
        return parse_check(p, to);
    if (p->token.kind != BT__TOKEN_NAME)
        return expected(p, "a statement");
    size_t width = kernel_width(p);
    return width ? parse_kernel(p, width, to) : parse_assignment(p, to);
}

/* ---- the whole ---- */

static int role_of(const struct parser *p)
{
    static const char *const roles[] = { "in", "out", "temp", "local" };
    for (size_t i = 0; i < BT_COUNT(roles); i++) {
        if (is(p, roles[i]))
            return (int)i;
    }
    return -1;
}

static bt_status parse_buffer(struct parser *p, uint32_t role)
{
    const char *name;
    bt_dtype dtype;
    const bt_node *nelem;
    uint32_t buffer;
    advance(p);
    if (find_buffer(p, &p->token) >= 0)
        return fail_at(p, p->token.place, "a second buffer of this name");
    BT_TRY(need_name(p, "a buffer's name", &name));
    BT_TRY(need(p, ":"));
    BT_TRY(need_dtype(p, &dtype));
    BT_TRY(need(p, "["));
    struct bt__ast_place at = p->token.place;
    BT_TRY(parse_extent(p, "a number of elements", &nelem));
    if (bt_node_number(nelem) >= 0 &&
        (uint64_t)bt_node_number(nelem) >
            bt_ctx_limits(p->ctx)->bytes / bt_dtype_nbytes(dtype))
        return fail_at(p, at, "more than limits.bytes");
    BT_TRY(need(p, "]"));
    if (!bt_loops_add_buffer(p->loops, role, name, dtype, nelem, &buffer))
        return bt_loops_why(p->loops);
    return role != BT_BUFFER_OUTPUT || BT_PUSH(p->arena, &p->loops->results, buffer)
               ? NULL
               : bt_no_memory();
}

/* <n: Dim, m: Dim in 1..64, k: Dim in 8..> */
static bt_status parse_dims(struct parser *p)
{
    do {
        bt_graph_dim dim = { .high = BT_MAX_DIM };
        struct bt__ast_place at = p->token.place;
        uint32_t which;
        if (p->graph->ndim)
            BT_TRY(need(p, ","));
        if (index_of(&p->token) >= 0 || find_dim(p, &p->token) >= 0)
            return fail_at(p, p->token.place, "the name of an index, or of another dim");
        BT_TRY(need_name(p, "a dim's name", &dim.name));
        BT_TRY(need(p, ":"));
        BT_TRY(need(p, "Dim"));
        if (skip(p, "in")) {
            BT_TRY(need_int(p, "the least value", &dim.low));
            BT_TRY(need(p, ".."));
            if (p->token.kind == BT__TOKEN_INT)
                BT_TRY(need_int(p, "the greatest value", &dim.high));
        }
        if (dim.low > dim.high || dim.low > BT_MAX_DIM)
            return fail_at(p, at, "no number is in the range of %s", dim.name);
        if (!bt_graph_add_dim(p->graph, &dim, &which))
            return bt_no_memory();
    } while (!is(p, ">"));
    return need(p, ">");
}

bt_status loops_parse(bt_ctx *ctx, bt_arena *arena, const char *file, const char *text,
                      size_t nbytes, bt_loops **out)
{
    struct parser p = { .ctx = ctx, .arena = arena, .file = file, .nbytes = nbytes };
    const char *name;
    int role;
    if (nbytes > UINT32_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: larger than 4 GiB", file);
    p.text = bt_arena_text(arena, text, nbytes);
    if (!p.text)
        return bt_no_memory();
    p.token = bt__token_read(p.text, nbytes, 0);
    BT_TRY(need(&p, "loops"));
    BT_TRY(need_name(&p, "a name", &name));
    p.loops = bt_loops_create(ctx, arena, name);
    if (!p.loops)
        return bt_no_memory();
    p.graph = p.loops->graph;
    if (skip(&p, "<"))
        BT_TRY(parse_dims(&p));
    BT_TRY(need(&p, "{"));
    while ((role = role_of(&p)) >= 0)
        BT_TRY(parse_buffer(&p, (uint32_t)role));
    while (!skip(&p, "}"))
        BT_TRY(parse_stmt(&p, &p.loops->body));
    if (p.token.kind != BT__TOKEN_END)
        return expected(&p, "the end of the text");
    *out = p.loops;
    return NULL;
}
