/* Statements of loops as OpenCL C text. */
#include "write.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_NODES = 32,   /* of an expression; what is longer is cut */
    MAX_NUMBERS = 96, /* that are parameters; what is more stands in the text */
    SHORT_LOOP = 8    /* iterations of a loop that is to be unrolled */
};

/* ---- lines ---- */

void ocl_line(struct ocl_writer *w, const char *format, ...)
{
    va_list args;
    bt_text_addf(w->out, "%*s", w->indent, "");
    va_start(args, format);
    bt_text_addv(w->out, format, args);
    va_end(args);
    bt_text_addf(w->out, "\n");
}

const char *ocl_bare(struct ocl_writer *w, const char *text)
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
    return ocl_form(&w->x, "%.*s", (int)(n - 2), text + 1);
}

/* ---- numbers ---- */

static const char *add_number(struct ocl_writer *w, const ocl_arg *arg)
{
    if (!BT_PUSH(w->maker->arena, &w->numbers, *arg))
        w->x.failed = 1;
    return ocl_form(&w->x, "n%" PRIu32, w->numbers.len - 1);
}

const char *ocl_parameter(struct ocl_writer *w, const bt_node *node)
{
    ocl_arg arg = { .kind =
                        ocl_is_int(node->low, node->high) ? OCL_ARG_INT : OCL_ARG_LONG };
    bt_status status = ocl_number_of(w->maker->ctx, w->maker->arena, node, &arg.number);
    w->status = w->status ? w->status : status;
    return add_number(w, &arg);
}

const char *ocl_int_parameter(struct ocl_writer *w, int64_t value)
{
    const bt_node *node = bt_node_int(w->loops->graph, value);
    w->x.failed |= !node;
    return node ? ocl_parameter(w, node) : "";
}

/* A number of index arithmetic. */
static const char *number(struct ocl_writer *w, int64_t value)
{
    return (value >= -1 && value <= 1) || w->numbers.len >= MAX_NUMBERS
               ? ocl_integer(&w->x, value, BT_INT64)
               : ocl_int_parameter(w, value);
}

/* ---- expressions ---- */

static uint64_t size_of(int64_t a)
{
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

/* Whether every sum of some of the terms fits an int. */
static int is_int_sum(const bt_node *node)
{
    uint64_t sum = size_of(node->value.i);
    for (uint32_t i = 0; i < node->narg; i++) {
        const bt_node *arg = node->args[i];
        const uint64_t coef = size_of(node->coefs[i]);
        const uint64_t low = size_of(arg->low), high = size_of(arg->high);
        const uint64_t most = low > high ? low : high;
        if (most > INT32_MAX || coef > INT32_MAX)
            return 0;
        sum += coef * most;
        if (sum > INT32_MAX)
            return 0;
    }
    return sum <= INT32_MAX;
}

static uint16_t weight_of(struct ocl_writer *w, const bt_node *node)
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

static const char *type_of(const struct ocl_operand *value)
{
    return value->is_int ? "int" : ocl_value_type(value->dtype);
}

/* Keeps a long expression in a variable of its own. */
static struct ocl_operand cut(struct ocl_writer *w, struct ocl_operand value)
{
    if (++w->size <= MAX_NODES)
        return value;
    w->size = 1;
    ocl_line(w, "const %s e%" PRIu32 " = %s;", type_of(&value), w->ntemp, value.text);
    value.text = ocl_form(&w->x, "e%" PRIu32, w->ntemp++);
    return value;
}

static struct ocl_operand linear(struct ocl_writer *w, const bt_node *node)
{
    struct ocl_operand out = { .dtype = BT_INT64, .is_int = is_int_sum(node) };
    const char *cast = out.is_int ? "" : "(long)";
    bt_text text;
    bt_text_init(&text, w->x.arena);
    for (uint32_t i = 0; i < node->narg; i++) {
        const int64_t coef = node->coefs[i];
        const char *arg = ocl_value(w, node->args[i]).text;
        bt_text_addf(&text, "%s", i ? " + " : "(");
        if (coef == -1)
            bt_text_addf(&text, "-");
        else if (coef != 1)
            bt_text_addf(&text, "%s * ", number(w, coef));
        bt_text_addf(&text, "%s%s", cast, arg);
    }
    if (node->value.i)
        bt_text_addf(&text, " + %s", number(w, node->value.i));
    bt_text_addf(&text, ")");
    out.text = bt_text_get(&text);
    w->x.failed |= !out.text;
    out.text = out.text ? out.text : "";
    return out;
}

static int commutes(uint32_t which)
{
    static const char *const traits[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    traits,
#include <baton/scalars.def>
    };
    return strchr(traits[which], 'c') != NULL;
}

/* Operands that may change places have the same order in kernels that differ in numbers only. */
static int is_behind(const bt_node *a, const bt_node *b)
{
    return a->kind != b->kind ? a->kind > b->kind : a->which > b->which;
}

static struct ocl_operand scalar(struct ocl_writer *w, const bt_node *node)
{
    const int swap = node->narg > 1 && commutes(node->which) &&
                     is_behind(node->args[0], node->args[1]);
    const struct ocl_operand a = ocl_value(w, node->args[swap]);
    struct ocl_operand b = a;
    if (node->narg > 1)
        b = ocl_value(w, node->args[!swap]);
    return ocl_scalar(&w->x, node->which, node->dtype, &a, node->narg > 1 ? &b : NULL);
}

/* Only one side is computed. */
static struct ocl_operand choice(struct ocl_writer *w, const bt_node *node)
{
    struct ocl_operand out = { .dtype = node->dtype };
    const char *condition = ocl_value(w, node->args[0]).text;
    if (weight_of(w, node) <= MAX_NODES) {
        const struct ocl_operand a = ocl_value(w, node->args[1]);
        const struct ocl_operand b = ocl_value(w, node->args[2]);
        out.is_int = a.is_int && b.is_int;
        out.text = ocl_form(&w->x, "(%s ? %s : %s)", condition, a.text, b.text);
        return out;
    }
    const uint32_t temp = w->ntemp++;
    ocl_line(w, "%s e%" PRIu32 ";", ocl_value_type(node->dtype), temp);
    for (uint32_t i = 1; i < 3; i++) {
        if (i == 1)
            ocl_line(w, "if (%s) {", ocl_bare(w, condition));
        else
            ocl_line(w, "} else {");
        w->indent += OCL_INDENT;
        ocl_line(w, "e%" PRIu32 " = %s;", temp,
                 ocl_bare(w, ocl_value(w, node->args[i]).text));
        w->indent -= OCL_INDENT;
    }
    ocl_line(w, "}");
    w->size = 0;
    out.text = ocl_form(&w->x, "e%" PRIu32, temp);
    return out;
}

static int is_local(const struct ocl_writer *w, uint32_t buffer)
{
    return w->loops->roles.at[buffer] == BT_BUFFER_LOCAL;
}

const char *ocl_local(const struct ocl_writer *w, uint32_t buffer)
{
    return w->instead[buffer] ? w->instead[buffer]
                              : w->loops->graph->arrays[buffer]->name;
}

static const char *read(struct ocl_writer *w, uint32_t buffer, const bt_node *offset)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    if (w->instead[buffer] && !is_local(w, buffer))
        return w->instead[buffer];
    w->touched[buffer] |= OCL_READ;
    if (is_local(w, buffer))
        return ocl_local(w, buffer);
    return ocl_load_element(&w->x, array->dtype, array->name,
                            ocl_bare(w, ocl_value(w, offset).text));
}

static struct ocl_operand value_of(struct ocl_writer *w, const bt_node *node)
{
    struct ocl_operand out = { .dtype = node->dtype };
    out.is_int = node->dtype == BT_INT64 && ocl_is_int(node->low, node->high);
    switch (node->kind) {
    case BT_NODE_CONST:
        out.text = bt_dtype_is_float(node->dtype)
                       ? ocl_real(&w->x, node->value.f, node->dtype)
                       : ocl_integer(&w->x, node->value.i, node->dtype);
        break;
    case BT_NODE_INDEX: out.text = ocl_form(&w->x, "i%" PRIu32, node->which); break;
    case BT_NODE_DIM: out.text = ocl_parameter(w, node); break;
    case BT_NODE_LINEAR: out = linear(w, node); break;
    case BT_NODE_SCALAR: out = scalar(w, node); break;
    case BT_NODE_CAST: {
        const struct ocl_operand from = ocl_value(w, node->args[0]);
        out.text = ocl_cast(&w->x, node->dtype, &from);
        out.is_int = 0;
        break;
    }
    case BT_NODE_SELECT: out = choice(w, node); break;
    default:
        out.text = read(w, node->which, node->args[0]);
        out.is_int = 0;
        break;
    }
    out.low = node->low;
    out.high = node->high;
    return out;
}

/* Recursion is bounded by the depth of expressions. */
struct ocl_operand ocl_value(struct ocl_writer *w, const bt_node *node)
{
    const uint32_t before = w->size;
    w->size = 0;
    const struct ocl_operand out = cut(w, value_of(w, node));
    w->size += before;
    return out;
}

/* ---- statements ---- */

static void add_braced(struct ocl_writer *w, const bt_stmts *stmts)
{
    w->indent += OCL_INDENT;
    ocl_block(w, stmts);
    w->indent -= OCL_INDENT;
}

static void assign(struct ocl_writer *w, uint32_t buffer, const char *at,
                   const char *value)
{
    const bt_array *array = w->loops->graph->arrays[buffer];
    w->touched[buffer] |= OCL_WRITTEN;
    if (is_local(w, buffer))
        ocl_line(w, "%s = %s;", ocl_local(w, buffer), ocl_bare(w, value));
    else
        ocl_line(
            w, "%s",
            ocl_store_element(&w->x, array->dtype, array->name, at, ocl_bare(w, value)));
}

static void add_store(struct ocl_writer *w, const bt_stmt *stmt)
{
    const char *value = ocl_value(w, stmt->value).text;
    const char *at =
        is_local(w, stmt->buffer) ? NULL : ocl_bare(w, ocl_value(w, stmt->offset).text);
    assign(w, stmt->buffer, at, value);
}

/* The words of accumulators become these expressions. */
static void set(struct ocl_writer *w, const char *acc, const char *value)
{
    ocl_line(w, "%s = %s;", acc, value);
}

static void take_arg(struct ocl_writer *w, const bt_stmt *stmt, const char *acc,
                     const char *p)
{
    const int is_max =
        stmt->reducer == BT_REDUCER_ARGMAX || stmt->reducer == BT_REDUCER_ARGMAX_LAST;
    const int is_last = stmt->reducer == BT_REDUCER_ARGMAX_LAST ||
                        stmt->reducer == BT_REDUCER_ARGMIN_LAST;
    const int is_float = bt_dtype_is_float(stmt->of);
    const char *sign = is_max ? ">" : "<";
    const char *better =
        is_float ? ocl_form(&w->x, "v %s %s || (v != v && %s == %s)", sign, acc, acc, acc)
                 : ocl_form(&w->x, "v %s %s", sign, acc);
    ocl_line(w, "if (q >= 0 && (%s < 0 || %s ||", p, better);
    ocl_line(w, "    ((v == %s%s) && q %s %s))) {", acc,
             is_float ? ocl_form(&w->x, " || (v != v && %s != %s)", acc, acc) : "",
             is_last ? ">" : "<", p);
    w->indent += OCL_INDENT;
    set(w, acc, "v");
    set(w, p, "q");
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

/* v and q: the greatest of some, and their sum relative to it. */
static void take_logsumexp(struct ocl_writer *w, const char *exp, const char *acc,
                           const char *sum)
{
    ocl_line(w, "if (v != v || %s != %s) {", acc, acc);
    ocl_line(w, "    %s = v != v ? v : %s;", acc, acc);
    ocl_line(w, "} else if (v > %s) {", acc);
    ocl_line(w, "    %s = %s * %s(%s - v) + q;", sum, sum, exp, acc);
    ocl_line(w, "    %s = v;", acc);
    ocl_line(w, "} else if (v > -INFINITY) {");
    ocl_line(w, "    %s = %s + (v == %s ? q : q * %s(v - %s));", sum, sum, acc, exp, acc);
    ocl_line(w, "}");
}

static const char *combined(struct ocl_writer *w, const bt_stmt *stmt, const char *acc)
{
    const int is_float = bt_dtype_is_float(stmt->of);
    const struct ocl_operand a = {
        .text = acc, .dtype = stmt->of, .low = INT64_MIN, .high = INT64_MAX
    };
    struct ocl_operand v = a;
    v.text = "v";
    switch (stmt->reducer) {
    case BT_REDUCER_SUM:
        return is_float ? ocl_form(&w->x, "%s + v", acc)
                        : ocl_scalar(&w->x, BT_SCALAR_ADD, stmt->of, &a, &v).text;
    case BT_REDUCER_PROD:
        return is_float ? ocl_form(&w->x, "%s * v", acc)
                        : ocl_scalar(&w->x, BT_SCALAR_MUL, stmt->of, &a, &v).text;
    case BT_REDUCER_ALL: return ocl_form(&w->x, "%s & v", acc);
    case BT_REDUCER_ANY: return ocl_form(&w->x, "%s | v", acc);
    case BT_REDUCER_MAX:
        return ocl_form(&w->x, is_float ? "v > %s || v != v ? v : %s" : "v > %s ? v : %s",
                        acc, acc);
    default:
        return ocl_form(&w->x, is_float ? "v < %s || v != v ? v : %s" : "v < %s ? v : %s",
                        acc, acc);
    }
}

void ocl_take(struct ocl_writer *w, const bt_stmt *stmt, const char *acc,
              const char *acc2)
{
    if (stmt->reducer == BT_REDUCER_LOGSUMEXP)
        take_logsumexp(w, stmt->of == BT_FLOAT64 ? "exp" : "f32_exp", acc, acc2);
    else if (stmt->position)
        take_arg(w, stmt, acc, acc2);
    else
        set(w, acc, ocl_bare(w, combined(w, stmt, acc)));
}

static void add_take(struct ocl_writer *w, const bt_stmt *stmt)
{
    const bt_array *array = w->loops->graph->arrays[stmt->buffer];
    const bt_array *array2 = w->loops->graph->arrays[stmt->buffer2];
    const int is_pair = stmt->position || stmt->reducer == BT_REDUCER_LOGSUMEXP;
    const int is_own = is_local(w, stmt->buffer);
    const char *acc = is_own ? ocl_local(w, stmt->buffer) : array->name;
    const char *acc2 = is_own && is_pair ? ocl_local(w, stmt->buffer2) : array2->name;
    const char *at = "at";
    ocl_line(w, "{");
    w->indent += OCL_INDENT;
    if (!is_own)
        ocl_line(w, "const long at = %s;", ocl_bare(w, ocl_value(w, stmt->offset).text));
    ocl_line(w, "const %s v = %s;", ocl_value_type(array->dtype),
             ocl_bare(w, ocl_value(w, stmt->value).text));
    if (stmt->position)
        ocl_line(w, "const long q = %s;", ocl_bare(w, ocl_value(w, stmt->position).text));
    else if (is_pair)
        ocl_line(w, "const %s q = 1;", ocl_value_type(array->dtype));
    w->touched[stmt->buffer] |= OCL_READ | OCL_WRITTEN;
    if (is_pair)
        w->touched[stmt->buffer2] |= OCL_READ | OCL_WRITTEN;
    if (!is_own && w->is_atomic) {
        const char *what = stmt->reducer == BT_REDUCER_SUM   ? "add"
                           : stmt->reducer == BT_REDUCER_MAX ? "max"
                                                             : "min";
        ocl_line(w, "atomic_%s(&%s[at], v);", what, acc);
        w->indent -= OCL_INDENT;
        ocl_line(w, "}");
        return;
    }
    if (!is_own) {
        ocl_line(w, "%s acc = %s;", ocl_value_type(array->dtype),
                 ocl_load_element(&w->x, array->dtype, acc, at));
        if (is_pair)
            ocl_line(w, "%s acc2 = %s;", ocl_value_type(array2->dtype),
                     ocl_load_element(&w->x, array2->dtype, acc2, at));
    }
    ocl_take(w, stmt, is_own ? acc : "acc", is_own ? acc2 : "acc2");
    if (!is_own) {
        assign(w, stmt->buffer, at, "acc");
        if (is_pair)
            assign(w, stmt->buffer2, at, "acc2");
    }
    w->indent -= OCL_INDENT;
    ocl_line(w, "}");
}

static void add_check(struct ocl_writer *w, const bt_stmt *stmt)
{
    const int64_t extent = bt_node_number(stmt->extent);
    bt_fault fault = { .array = stmt->array, .axis = stmt->axis };
    if (extent >= 0)
        fault.extent = extent;
    else
        fault.text =
            ocl_form(&w->x, "an index is out of bounds for axis %" PRIu32 " of %s",
                     stmt->axis, stmt->array);
    if (!BT_PUSH(w->maker->arena, &w->maker->faults, fault))
        w->x.failed = 1;
    w->has_fault = 1;
    ocl_line(w, "if (!%s) {", ocl_value(w, stmt->condition).text);
    ocl_line(w, "    *fault = %" PRIu32 ";", w->maker->faults.len);
    ocl_line(w, "    return;");
    ocl_line(w, "}");
}

const char *ocl_index_type(const bt_node *extent)
{
    return ocl_is_int(0, extent->high) ? "int" : "long";
}

const char *ocl_extent(struct ocl_writer *w, const bt_stmt *loop)
{
    const int64_t extent = bt_node_number(loop->extent);
    return extent >= 0 && extent <= SHORT_LOOP ? ocl_integer(&w->x, extent, BT_INT64)
                                               : ocl_parameter(w, loop->extent);
}

static void add_for(struct ocl_writer *w, const bt_stmt *stmt)
{
    const char *end = ocl_extent(w, stmt);
    ocl_line(w, "for (%s i%" PRIu32 " = 0; i%" PRIu32 " < %s; i%" PRIu32 "++) {",
             ocl_index_type(stmt->extent), stmt->index, stmt->index, end, stmt->index);
    add_braced(w, &stmt->body);
    ocl_line(w, "}");
}

static void add_if(struct ocl_writer *w, const bt_stmt *stmt)
{
    ocl_line(w, "if (%s) {", ocl_bare(w, ocl_value(w, stmt->condition).text));
    add_braced(w, &stmt->body);
    if (stmt->otherwise.len) {
        ocl_line(w, "} else {");
        add_braced(w, &stmt->otherwise);
    }
    ocl_line(w, "}");
}

void ocl_stmt(struct ocl_writer *w, const bt_stmt *stmt)
{
    switch (stmt->kind) {
    case BT_STMT_FOR: add_for(w, stmt); break;
    case BT_STMT_IF: add_if(w, stmt); break;
    case BT_STMT_STORE: add_store(w, stmt); break;
    case BT_STMT_TAKE: add_take(w, stmt); break;
    default: add_check(w, stmt); break;
    }
}

/* Nests as deep as loops do. */
void ocl_block(struct ocl_writer *w, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++)
        ocl_stmt(w, stmts->at[i]);
}

/* Variables of the locals that the text has. */
static void write_locals(struct ocl_writer *w, bt_text *to)
{
    for (uint32_t i = 0; i < w->loops->roles.len; i++) {
        const bt_array *array = w->loops->graph->arrays[i];
        if (is_local(w, i) && w->touched[i])
            bt_text_addf(to, "    %s %s = 0;\n", ocl_value_type(array->dtype),
                         array->name);
    }
}

/* ---- kernels ---- */

bt_status ocl_writer_init(struct ocl_writer *w, struct ocl_maker *maker,
                          const bt_loops *loops, bt_text *out)
{
    bt_text_init(out, maker->arena);
    *w = (struct ocl_writer){ .x = { .arena = maker->arena,
                                     .is_cpu = (int)maker->device->is_cpu },
                              .maker = maker,
                              .loops = loops,
                              .out = out,
                              .indent = OCL_INDENT };
    // reading and writing may make some more nodes
    w->weights = BT_NEWS(maker->arena, uint16_t, loops->graph->nnode);
    w->touched = BT_NEWS(maker->arena, uint8_t, loops->graph->narray);
    w->instead = BT_NEWS(maker->arena, const char *, loops->graph->narray);
    w->packs = BT_NEWS(maker->arena, uint32_t, loops->graph->narray);
    return w->weights && w->touched && w->instead && w->packs ? NULL : bt_no_memory();
}

/* An argument's index. */
static uint32_t place_of(const struct ocl_writer *w, uint32_t buffer)
{
    uint32_t i = 0;
    if (w->packs[buffer])
        return OCL_PACK + w->packs[buffer] - 1;
    if (w->loops->roles.at[buffer] == BT_BUFFER_INPUT) // they are first
        return buffer;
    while (i + 1 < w->loops->results.len && w->loops->results.at[i] != buffer)
        i++;
    return OCL_OUTPUT + i;
}

bt_status ocl_memory(struct ocl_writer *w, uint32_t buffer, const bt_node **at,
                     ocl_arg *out)
{
    *out = (ocl_arg){ .kind = OCL_ARG_BUFFER };
    if (w->loops->roles.at[buffer] == BT_BUFFER_TEMP && !w->packs[buffer]) {
        out->kind = OCL_ARG_WORKSPACE;
        return ocl_place_temp(w->maker, w->loops, buffer, at);
    }
    out->index = place_of(w, buffer);
    return NULL;
}

static bt_status add_buffers(struct ocl_writer *w, bt_text *params, bt_text *starts,
                             ocl_args *args)
{
    for (uint32_t i = 0; i < w->loops->roles.len; i++) {
        const bt_array *array = w->loops->graph->arrays[i];
        const char *type = ocl_element_type(&w->x, array->dtype);
        const char *is_const = w->touched[i] & OCL_WRITTEN ? "" : "const ";
        const bt_node *at = NULL;
        ocl_arg arg;
        if (is_local(w, i) || !w->touched[i])
            continue;
        BT_TRY(ocl_memory(w, i, &at, &arg));
        if (at)
            BT_TRY(ocl_number_of(w->maker->ctx, w->maker->arena, at, &arg.number));
        bt_text_addf(params, "%s__global %s%s *restrict %s, const long %s_at",
                     args->len ? ", " : "", is_const, type, array->name, array->name);
        bt_text_addf(starts,
                     "    %s = (__global %s%s *)((__global %schar *)%s + %s_at);\n",
                     array->name, is_const, type, is_const, array->name, array->name);
        if (!BT_PUSH(w->maker->arena, args, arg))
            return bt_no_memory();
    }
    return NULL;
}

static int add_numbers(struct ocl_writer *w, bt_text *params, ocl_args *args)
{
    if (w->has_fault) {
        const ocl_arg fault = { .kind = OCL_ARG_FAULT };
        bt_text_addf(params, "%s__global int *fault", args->len ? ", " : "");
        if (!BT_PUSH(w->maker->arena, args, fault))
            return 0;
    }
    for (uint32_t i = 0; i < w->numbers.len; i++) {
        const ocl_arg *arg = &w->numbers.at[i];
        bt_text_addf(params, "%sconst %s n%" PRIu32, args->len ? ", " : "",
                     arg->kind == OCL_ARG_INT ? "int" : "long", i);
        if (!BT_PUSH(w->maker->arena, args, *arg))
            return 0;
    }
    return 1;
}

bt_status ocl_finish(struct ocl_writer *w, const bt_text *body,
                     const struct ocl_geometry *geometry)
{
    struct ocl_maker *m = w->maker;
    bt_text text, params, starts;
    ocl_args args = { 0 };
    ocl_launch launch = { .local_nbytes = geometry->local_nbytes };
    bt_text_init(&text, m->arena);
    bt_text_init(&params, m->arena);
    bt_text_init(&starts, m->arena);
    BT_TRY(w->status);
    BT_TRY(add_buffers(w, &params, &starts, &args));
    if (!add_numbers(w, &params, &args))
        return bt_no_memory();
    bt_text_addf(&text, "__kernel void NAME(%s)\n{\n", params.at ? params.at : "");
    bt_text_add(&text, starts.at ? starts.at : "", starts.len);
    write_locals(w, &text);
    bt_text_add(&text, body->at ? body->at : "", body->len);
    bt_text_addf(&text, "}\n");
    for (uint32_t i = 0; i < 3; i++) {
        launch.local[i] = geometry->local[i];
        if (!geometry->groups[i])
            return bt_loops_why(w->loops);
        BT_TRY(ocl_number_of(m->ctx, m->arena, geometry->groups[i], &launch.groups[i]));
    }
    launch.text = bt_text_get(&text);
    launch.narg = args.len;
    launch.args = args.at;
    if (!launch.text || params.failed || starts.failed || body->failed || w->x.failed)
        return bt_no_memory();
    return BT_PUSH(m->arena, &m->launches, launch) ? NULL : bt_no_memory();
}
