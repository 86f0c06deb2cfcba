/* Loops as C99 text. */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <baton/op.h>

#include "dims.h"

enum {
    MAX_NODES = 32, /* of an expression; what is longer is cut */
    INDENT = 4
};

struct writer {
    struct c_exprs x;
    bt_arena *arena;
    const bt_loops *loops;
    bt_text *out;
    int indent;
    uint32_t ntemp;
    uint32_t size;     /* nodes of the expression that is being written */
    uint16_t *weights; /* of nodes by id, 0: not known; their nodes, but MAX_NODES + 1 */
    uint8_t *touched;  /* of buffers: it is in the text */
    uint64_t *copies;  /* of locals: which of them there are, beside the first */
    const c_jams *jams;
    struct level {
        const struct c_jam *jam;
        uint32_t lane; /* the iteration that is being written */
    } levels[C_JAM_LEVELS];
    uint32_t nlevel;
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

/* ---- expressions ---- */

/* Nodes of an expression, as far as it matters. */
static uint16_t weight_of(struct writer *w, const bt_node *node)
{
    uint32_t weight = 1;
    if (w->weights[node->id])
        return w->weights[node->id];
    for (uint32_t i = 0; i < node->narg && weight <= MAX_NODES; i++) {
        if (node->kind != BT_NODE_INDEX)
            weight += weight_of(w, node->args[i]);
    }
    return w->weights[node->id] = (uint16_t)(weight > MAX_NODES ? MAX_NODES + 1 : weight);
}

/* Keeps a long expression in a variable of its own. */
static const char *cut(struct writer *w, const bt_node *node, const char *text)
{
    if (++w->size <= MAX_NODES)
        return text;
    w->size = 1;
    add_line(w, "const %s e%" PRIu32 " = %s;", c_value_type(&w->x, node->dtype), w->ntemp,
             text);
    return c_form(&w->x, "e%" PRIu32, w->ntemp++);
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
    return c_form(&w->x, "%.*s", (int)(n - 2), text + 1);
}

static const char *linear(struct writer *w, const bt_node *node)
{
    uint64_t sum = c_size_of(node->value.i);
    int is_safe = sum < UINT64_C(1) << C_BITS_SAFE;
    bt_text text;
    const char **args = BT_NEWS(w->arena, const char *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = value_of(w, node->args[i]);
        is_safe = is_safe && c_is_safe_product(
                                 c_size_of(node->coefs[i]),
                                 c_most(node->args[i]->low, node->args[i]->high), &sum);
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
        if (c_size_of(coef) != 1)
            bt_text_addf(&text, "%s * ", c_integer(&w->x, coef < 0 ? -coef : coef));
        bt_text_addf(&text, "%s", args[i]);
    }
    if (!is_safe)
        bt_text_addf(&text, " + UINT64_C(0x%" PRIx64 ")", (uint64_t)node->value.i);
    else if (node->value.i)
        bt_text_addf(
            &text, " %c %s", node->value.i < 0 ? '-' : '+',
            c_integer(&w->x, node->value.i < 0 ? -node->value.i : node->value.i));
    bt_text_addf(&text, ")");
    const char *out = args ? bt_text_get(&text) : NULL;
    w->out->failed |= !out;
    return out ? out : "";
}

static struct c_operand operand(struct writer *w, const bt_node *node)
{
    return (struct c_operand){ value_of(w, node), node->dtype, node->low, node->high };
}

static const char *scalar(struct writer *w, const bt_node *node)
{
    const struct c_operand a = operand(w, node->args[0]);
    struct c_operand b = a;
    if (node->narg > 1)
        b = operand(w, node->args[1]);
    return c_scalar(&w->x, node->which, node->dtype, &a, node->narg > 1 ? &b : NULL);
}

static const char *cast(struct writer *w, const bt_node *node)
{
    const struct c_operand from = operand(w, node->args[0]);
    return c_cast(&w->x, node->dtype, &from);
}

/* Only one side is computed. */
static const char *choice(struct writer *w, const bt_node *node)
{
    const char *condition = value_of(w, node->args[0]);
    if (weight_of(w, node) <= MAX_NODES)
        return c_form(&w->x, "(%s ? %s : %s)", condition, value_of(w, node->args[1]),
                      value_of(w, node->args[2]));
    const uint32_t temp = w->ntemp++;
    add_line(w, "%s e%" PRIu32 ";", c_value_type(&w->x, node->dtype), temp);
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
    return c_form(&w->x, "e%" PRIu32, temp);
}

static int is_local(const struct writer *w, uint32_t buffer)
{
    return w->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
}

/* A local of which each iteration has one is a variable for each that is written at a time. */
static const char *name_of(struct writer *w, uint32_t buffer)
{
    const char *name = w->loops->graph->arrays[buffer]->name;
    uint32_t copy = 0, step = 1;
    for (uint32_t i = 0; i < w->nlevel && is_local(w, buffer); i++, step *= C_JAM_MOST) {
        if (w->levels[i].jam->is_private[buffer])
            copy += step * w->levels[i].lane;
    }
    if (!copy)
        return name;
    w->copies[buffer] |= UINT64_C(1) << copy;
    return c_form(&w->x, "%s_%" PRIu32, name, copy);
}

/* The number of an iteration: of several at a time that of the one that is being written. */
static const char *index_of(struct writer *w, uint32_t index)
{
    for (uint32_t i = 0; i < w->nlevel; i++) {
        if (w->levels[i].jam->loop->index == index && w->levels[i].lane)
            return c_form(&w->x, "(i%" PRIu32 " + %" PRIu32 ")", index,
                          w->levels[i].lane);
    }
    return c_form(&w->x, "i%" PRIu32, index);
}

static const char *read(struct writer *w, uint32_t buffer, const char *offset)
{
    w->touched[buffer] = 1;
    if (is_local(w, buffer))
        return name_of(w, buffer);
    return c_loaded(&w->x, w->loops->graph->arrays[buffer]->dtype,
                    c_form(&w->x, "%s[%s]", name_of(w, buffer), bare(w, offset)));
}

static const char *text_of(struct writer *w, const bt_node *node)
{
    switch (node->kind) {
    case BT_NODE_CONST:
        return bt_dtype_is_float(node->dtype) ? c_real(&w->x, node->value.f, node->dtype)
                                              : c_integer(&w->x, node->value.i);
    case BT_NODE_INDEX: return index_of(w, node->which);
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
                               : c_form(&w->x, "%s[%s]", name_of(w, buffer), bare(w, at));
}

static void assign(struct writer *w, uint32_t buffer, const char *at, const char *value)
{
    const bt_dtype dtype = w->loops->graph->arrays[buffer]->dtype;
    add_line(w, "%s = %s;", element(w, buffer, at),
             is_local(w, buffer) ? bare(w, value)
                                 : bare(w, c_stored(&w->x, dtype, value)));
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
        return c_call_of(&w->x, BT_INT64, "u_lt", is_max ? acc : "v", is_max ? "v" : acc);
    return bt_dtype_is_float(stmt->of)
               ? c_form(&w->x, "v %s %s || (v != v && %s == %s)", sign, acc, acc, acc)
               : c_form(&w->x, "v %s %s", sign, acc);
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
             bt_dtype_is_float(stmt->of)
                 ? c_form(&w->x, " || (v != v && %s != %s)", acc, acc)
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
    (void)c_functions_use(w->x.functions, "f_exp");
    (void)c_functions_use(w->x.functions, "f_inf");
    const char *type = c_value_type(&w->x, w->loops->graph->arrays[stmt->buffer]->dtype);
    add_line(w, "if (v != v || %s != %s) {", acc, acc);
    w->indent += INDENT;
    assign(w, stmt->buffer, at, c_form(&w->x, "(v != v ? v : %s)", acc));
    w->indent -= INDENT;
    add_line(w, "} else if (v > %s) {", acc);
    w->indent += INDENT;
    assign(w, stmt->buffer2, at,
           c_form(&w->x, "(%s)(%s * f_exp(%s - v) + 1)", type, sum, acc));
    assign(w, stmt->buffer, at, "v");
    w->indent -= INDENT;
    add_line(w, "} else if (v > -f_inf()) {");
    w->indent += INDENT;
    assign(
        w, stmt->buffer2, at,
        c_form(&w->x, "(%s)(%s + (v == %s ? 1.0 : f_exp(v - %s)))", type, sum, acc, acc));
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
        more = is_float ? c_form(&w->x, "(%s + %s)", acc, value)
                        : c_call_of(&w->x, BT_INT64, "i_add", acc, value);
        break;
    case BT_REDUCER_PROD:
        more = is_float ? c_form(&w->x, "(%s * %s)", acc, value)
                        : c_call_of(&w->x, BT_INT64, "i_mul", acc, value);
        break;
    case BT_REDUCER_ALL: more = c_form(&w->x, "(%s & %s)", acc, value); break;
    case BT_REDUCER_ANY: more = c_form(&w->x, "(%s | %s)", acc, value); break;
    default: break;
    }
    if (more) {
        assign(w, stmt->buffer, at, is_float ? more : c_wrapped(&w->x, dtype, more));
    } else {
        add_line(w, "{");
        w->indent += INDENT;
        add_line(w, "const %s v = %s;", c_value_type(&w->x, stmt->value->dtype),
                 bare(w, value));
        if (stmt->reducer == BT_REDUCER_LOGSUMEXP) {
            add_logsumexp(w, stmt, at);
        } else if (stmt->position) {
            add_arg(w, stmt, at);
        } else {
            const int is_max = stmt->reducer == BT_REDUCER_MAX;
            const char *better = stmt->of == BT_UINT64
                                     ? is_better(w, stmt, acc, is_max)
                                     : c_form(&w->x, "v %s %s%s", is_max ? ">" : "<", acc,
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
    bt_fault fault = { .array = stmt->array, .axis = stmt->axis };
    if (extent >= 0)
        fault.extent = extent;
    else
        fault.text = c_form(&w->x, "an index is out of bounds for axis %" PRIu32 " of %s",
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
    const struct c_jam *jam = c_jam_of(w->jams, stmt);
    const char *step = jam ? c_form(&w->x, " += %" PRIu32, jam->times) : "++";
    const char *extent = value_of(w, stmt->extent);
    if (stmt->extent->kind == BT_NODE_LINEAR) // what binds less than `<` keeps its own
        extent = bare(w, extent);
    add_line(w, "for (int64_t i%" PRIu32 " = 0; i%" PRIu32 " < %s; i%" PRIu32 "%s) {",
             stmt->index, stmt->index, extent, stmt->index, step);
    if (w->indent == INDENT && has_loop(&stmt->body)) {
        add_line(w, "    if (call->stop && *(const volatile uint32_t *)call->stop)");
        add_line(w, "        return BT_FAULT_STOPPED;");
    }
    if (jam)
        w->levels[w->nlevel++] = (struct level){ .jam = jam };
    add_braced(w, &stmt->body);
    w->nlevel -= jam != NULL;
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

/* The statement in each of the iterations that are written at a time. */
static void add_each(struct writer *w, const bt_stmt *stmt,
                     void (*add)(struct writer *, const bt_stmt *))
{
    uint32_t i = 0;
    do {
        add(w, stmt);
        for (i = 0; i < w->nlevel; i++) {
            if (++w->levels[i].lane < w->levels[i].jam->times)
                break;
            w->levels[i].lane = 0;
        }
    } while (i < w->nlevel);
}

/* Nests as deep as loops do. */
static void add_block(struct writer *w, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        switch (stmt->kind) {
        case BT_STMT_FOR: add_for(w, stmt); break;
        case BT_STMT_IF: add_if(w, stmt); break;
        case BT_STMT_STORE: add_each(w, stmt, add_store); break;
        case BT_STMT_TAKE: add_each(w, stmt, add_take); break;
        default: add_check(w, stmt); break;
        }
    }
}

/* ---- kernels ---- */

/* The variable of a buffer that the body uses. */
static void add_buffer(struct writer *w, uint32_t buffer, int *has_workspace)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    const char *type = c_element_type(array->dtype);
    switch (w->loops->roles.at[buffer]) {
    case BT_BUFFER_LOCAL:
        add_line(w, "%s %s = 0;", c_value_type(&w->x, array->dtype), array->name);
        for (uint32_t i = 1; i < 64; i++) {
            if (w->copies[buffer] >> i & 1)
                add_line(w, "%s %s_%" PRIu32 " = 0;", c_value_type(&w->x, array->dtype),
                         array->name, i);
        }
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
        add_line(w, "workspace += %s;",
                 c_integer(&w->x, (nelem * nbytes + 63) / 64 * 64));
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
                     c_element_type(array->dtype), array->name, place);
        place++;
    }
    for (uint32_t i = 0; i < w->loops->results.len; i++, place++) {
        const uint32_t buffer = w->loops->results.at[i];
        const bt_array *array = w->loops->graph->arrays[buffer];
        if (w->touched[buffer])
            add_line(w, "%s *const %s = call->buffers[%" PRIu32 "];",
                     c_element_type(array->dtype), array->name, place);
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
    *text =
        (struct c_text){ .arena = arena, .is_single = is_single, .plain.arena = arena };
    bt_text_init(&text->kernels, arena);
    return c_functions_init(&text->functions, arena, c_function_blocks);
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

bt_status c_text_add(struct c_text *text, const struct c_kernel *kernel,
                     const char *symbol, c_faults *faults)
{
    const bt_loops *loops = kernel->loops;
    bt_text body;
    struct writer w = { .x = { .arena = text->arena,
                               .functions = &text->functions,
                               .is_single = text->is_single },
                        .arena = text->arena,
                        .loops = loops,
                        .out = &body,
                        .indent = INDENT,
                        .jams = &kernel->jams,
                        .faults = faults };
    w.weights = BT_NEWS(text->arena, uint16_t, loops->graph->nnode);
    w.touched = BT_NEWS(text->arena, uint8_t, loops->graph->narray);
    w.copies = BT_NEWS(text->arena, uint64_t, loops->graph->narray);
    bt_text_init(&body, text->arena);
    if (!w.weights || !w.touched || !w.copies)
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
    return body.failed || w.out->failed || w.x.failed ? bt_no_memory() : NULL;
}

bt_status c_text_end(struct c_text *text, bt_text *out)
{
    bt_text_addf(out, "#include <baton/kernel.h>\n");
    if (text->plain.of.len)
        bt_text_addf(out, "#include <baton/plain.h>\n");
    c_plain_use_in(&text->plain, &text->functions);
    c_functions_write(&text->functions, out);
    c_plain_write(&text->plain, out);
    c_dim_functions(&text->kernels, out);
    bt_text_add(out, text->kernels.at ? text->kernels.at : "", text->kernels.len);
    return out->failed || text->kernels.failed ? bt_no_memory() : NULL;
}
