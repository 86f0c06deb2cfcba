/*
 * A graph in index notation, as operator `compute` reads it:
 *     a0: float32[d0, 3], d1 => s0: float32[i0 in d1] = sum(r0 in 3: a0[2*i0, r0])
 * Dims are named in the order in which inputs show them, those behind that no input does.
 * Each number has the dtype that it has in the graph: it is written with it unless what it
 * meets says it. So what is read is the same graph again, and equal graphs have equal texts.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compute/graph/graph.h"
#include "value/decimal.h"

enum { MAX_NBYTES = 1 << 20 }; /* expressions that are used twice are written twice */

/* How tightly an expression binds. */
enum { OR, AND, COMPARE, SUM, PRODUCT, UNARY, PRIMARY };

/* A dim that is given: its name, d0 is 1, and what it takes. */
struct bare {
    uint32_t name;
    uint32_t equal; /* the name that it is to be equal to; 0: none */
    const bt_type *term;
};

struct writer {
    bt_graph *graph;
    bt_arena *arena;
    bt_text out;
    uint32_t rank;   /* of the stage */
    uint32_t nname;  /* names of dims that were given */
    uint32_t *names; /* of each dim of the graph; 0: none yet, else d0 is 1 */
    bt_nodes ends;   /* extents of inputs that are no dim, and their names */
    bt_vec(uint32_t) end_names;
    bt_vec(struct bare) bares;
};

static void write(struct writer *, const bt_node *, uint32_t level);

static void put_dtype(struct writer *w, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text_addf(&w->out, "%s", bt_dtype_name(dtype, name, sizeof(name)));
}

static void put_array(struct writer *w, uint32_t array)
{
    const uint32_t n = w->graph->ninput;
    bt_text_addf(&w->out, "%c%" PRIu32, array < n ? 'a' : 's',
                 array < n ? array : array - n);
}

static void put_index(struct writer *w, uint32_t number)
{
    const int is_axis = number < w->rank;
    bt_text_addf(&w->out, "%c%" PRIu32, is_axis ? 'i' : 'r',
                 is_axis ? number : number - w->rank);
}

/* ---- numbers ---- */

static void put_float(struct writer *w, const bt_node *node)
{
    const double value = node->value.f;
    bt_text digits;
    bt_text_init(&digits, w->arena);
    bt__float_write(&digits, value, bt__float_format_of(node->dtype));
    const char *text = bt_text_get(&digits);
    const char *first = text && *text == '-' ? text + 1 : text;
    // the digits of a narrow float are read as a float64, and rounded then
    if (first && isfinite(value) &&
        bt__float_round(
            bt__float_read(first, strlen(first), bt__float_format_of(BT_FLOAT64)),
            node->dtype) != fabs(value)) {
        bt_text_init(&digits, w->arena);
        bt__float_write(&digits, value, bt__float_format_of(BT_FLOAT64));
        text = bt_text_get(&digits);
    }
    bt_text_addf(&w->out, "%s", text ? text : "");
    // 0 is an integer, which has no sign
    if (!text)
        w->out.failed = 1;
    else if (value == 0 && signbit(value) && !strchr(text, '.'))
        bt_text_addf(&w->out, ".0");
}

/* The least int64 has no literal: numbers are read without their sign. */
static void put_int(struct writer *w, int64_t value)
{
    if (value == INT64_MIN)
        bt_text_addf(&w->out, "(-%" PRId64 " - 1)", INT64_MAX);
    else
        bt_text_addf(&w->out, "%" PRId64, value);
}

/* is_bare: what it meets says its dtype. */
static void write_const(struct writer *w, const bt_node *node, int is_bare)
{
    // of uint64 above int64: by the int64 that wraps to it
    is_bare &= node->dtype != BT_BOOL && !bt_dtype_is_moved(node->dtype) &&
               (node->dtype != BT_UINT64 || node->value.i >= 0);
    is_bare |= node->dtype == BT_INT64;
    if (!is_bare) {
        put_dtype(w, node->dtype);
        bt_text_addf(&w->out, "(");
    }
    if (bt_dtype_is_real(node->dtype))
        put_float(w, node);
    else
        put_int(w, node->value.i);
    if (!is_bare)
        bt_text_addf(&w->out, ")");
}

/* An operand beside another one: a number takes the dtype of what is none. */
static void write_beside(struct writer *w, const bt_node *node, const bt_node *other,
                         uint32_t level)
{
    if (node->kind == BT_NODE_CONST && other->kind != BT_NODE_CONST)
        write_const(w, node, 1);
    else
        write(w, node, level);
}

/* ---- expressions ---- */

static const struct infix {
    uint32_t which, level;
    const char *sign;
} infixes[] = {
    { BT_SCALAR_OR, OR, "||" },           { BT_SCALAR_AND, AND, "&&" },
    { BT_SCALAR_EQ, COMPARE, "==" },      { BT_SCALAR_NE, COMPARE, "!=" },
    { BT_SCALAR_LT, COMPARE, "<" },       { BT_SCALAR_LE, COMPARE, "<=" },
    { BT_SCALAR_ADD, SUM, "+" },          { BT_SCALAR_SUB, SUM, "-" },
    { BT_SCALAR_MUL, PRODUCT, "*" },      { BT_SCALAR_DIV, PRODUCT, "/" },
    { BT_SCALAR_TRUNCMOD, PRODUCT, "%" },
};

static const struct infix *infix_of(const bt_node *node)
{
    for (uint32_t i = 0; node->kind == BT_NODE_SCALAR && i < BT_COUNT(infixes); i++) {
        if (infixes[i].which == node->which)
            return &infixes[i];
    }
    return NULL;
}

static uint32_t level_of(const bt_node *node)
{
    const struct infix *infix = infix_of(node);
    return infix ? infix->level : node->kind == BT_NODE_LINEAR ? SUM : PRIMARY;
}

static void write_linear(struct writer *w, const bt_node *node)
{
    for (uint32_t i = 0; i < node->narg; i++) {
        const int64_t coef = node->coefs[i];
        const int is_one = coef == 1 || coef == -1;
        const int is_minus = coef < 0 && coef != INT64_MIN;
        bt_text_addf(&w->out, "%s", is_minus ? (i ? " - " : "-") : i ? " + " : "");
        if (!is_one) {
            put_int(w, is_minus ? -coef : coef);
            bt_text_addf(&w->out, "*");
        }
        write(w, node->args[i], !is_one ? UNARY : is_minus && !i ? PRIMARY : PRODUCT);
    }
    if (node->value.i) {
        const int is_minus = node->value.i < 0 && node->value.i != INT64_MIN;
        bt_text_addf(&w->out, is_minus ? " - " : " + ");
        put_int(w, is_minus ? -node->value.i : node->value.i);
    }
}

static void write_call(struct writer *w, const char *name, uint32_t narg,
                       const bt_node *const *args)
{
    bt_text_addf(&w->out, "%s(", name);
    for (uint32_t i = 0; i < narg; i++) {
        bt_text_addf(&w->out, "%s", i ? ", " : "");
        if (narg == 2)
            write_beside(w, args[i], args[1 - i], OR);
        else
            write(w, args[i], OR);
    }
    bt_text_addf(&w->out, ")");
}

static void write_scalar(struct writer *w, const bt_node *node)
{
    const struct infix *infix = infix_of(node);
    const bt_node *const *args = node->args;
    if (!infix) {
        write_call(w, bt_scalar_name(node->which), node->narg, args);
        return;
    }
    // comparisons do not chain
    write_beside(w, args[0], args[1], infix->level + (infix->level == COMPARE));
    bt_text_addf(&w->out, " %s ", infix->sign);
    write_beside(w, args[1], args[0], infix->level + 1);
}

/* A float of its own dtype is rounded to it, as a stage would. */
static void write_cast(struct writer *w, const bt_node *node)
{
    if (node->args[0]->dtype == node->dtype)
        bt_text_addf(&w->out, "stored");
    else
        put_dtype(w, node->dtype);
    bt_text_addf(&w->out, "(");
    write(w, node->args[0], OR);
    bt_text_addf(&w->out, ")");
}

static void write_select(struct writer *w, const bt_node *node)
{
    const bt_node *a = node->args[1], *b = node->args[2];
    bt_text_addf(&w->out, "select(");
    write(w, node->args[0], OR);
    bt_text_addf(&w->out, ", ");
    write_beside(w, a, b, OR);
    bt_text_addf(&w->out, ", ");
    // of two numbers the first one says the dtype of both
    if (a->kind == BT_NODE_CONST && b->kind == BT_NODE_CONST)
        write_const(w, b, 1);
    else
        write_beside(w, b, a, OR);
    bt_text_addf(&w->out, ")");
}

static void write_reduce(struct writer *w, const bt_node *node)
{
    bt_text_addf(&w->out, "%s(", bt_reducer_name(node->which));
    for (uint32_t i = 0; i < node->nindex; i++) {
        bt_text_addf(&w->out, "%s", i ? ", " : "");
        put_index(w, node->first + i);
        bt_text_addf(&w->out, " in ");
        write(w, node->args[2 + i], OR);
    }
    if (!bt_node_is_true(node->args[0])) {
        bt_text_addf(&w->out, " | ");
        write(w, node->args[0], OR);
    }
    bt_text_addf(&w->out, ": ");
    write(w, node->args[1], OR);
    bt_text_addf(&w->out, ")");
}

static void write_read(struct writer *w, const bt_node *node)
{
    put_array(w, node->which);
    bt_text_addf(&w->out, "[");
    for (uint32_t i = 0; i < node->narg; i++) {
        bt_text_addf(&w->out, "%s", i ? ", " : "");
        write(w, node->args[i], OR);
    }
    bt_text_addf(&w->out, "]");
}

/* Nodes nest to a multiple of limits.depth. */
static void write(struct writer *w, const bt_node *node, uint32_t level)
{
    const int is_inside = level > level_of(node);
    if (w->out.failed || w->out.len > MAX_NBYTES)
        return;
    bt_text_addf(&w->out, "%s", is_inside ? "(" : "");
    switch (node->kind) {
    case BT_NODE_CONST: write_const(w, node, 0); break;
    case BT_NODE_INDEX: put_index(w, node->which); break;
    case BT_NODE_DIM:
        bt_text_addf(&w->out, "d%" PRIu32, w->names[node->which] - 1);
        break;
    case BT_NODE_LINEAR: write_linear(w, node); break;
    case BT_NODE_SCALAR: write_scalar(w, node); break;
    case BT_NODE_CAST: write_cast(w, node); break;
    case BT_NODE_SELECT: write_select(w, node); break;
    case BT_NODE_READ: write_read(w, node); break;
    default: write_reduce(w, node); break;
    }
    bt_text_addf(&w->out, "%s", is_inside ? ")" : "");
}

/* ---- dims ---- */

/* The name of an extent of an input: a dim's, or one of its own. 0: no memory. */
static uint32_t name_end(struct writer *w, const bt_node *extent)
{
    if (extent->kind == BT_NODE_DIM) {
        uint32_t *name = &w->names[extent->which];
        return *name ? *name : (*name = ++w->nname);
    }
    for (uint32_t i = 0; i < w->ends.len; i++) {
        if (w->ends.at[i] == extent)
            return w->end_names.at[i];
    }
    w->nname++;
    return BT_PUSH(w->arena, &w->ends, extent) &&
                   BT_PUSH(w->arena, &w->end_names, w->nname)
               ? w->nname
               : 0;
}

static void write_inputs(struct writer *w)
{
    for (uint32_t k = 0; k < w->graph->ninput; k++) {
        const bt_array *input = w->graph->arrays[k];
        bt_text_addf(&w->out, "%sa%" PRIu32 ": ", k ? ", " : "", k);
        put_dtype(w, input->dtype);
        bt_text_addf(&w->out, "[");
        for (uint32_t a = 0; a < input->rank; a++) {
            const int64_t number = bt_node_number(input->extents[a]);
            bt_text_addf(&w->out, "%s", a ? ", " : "");
            if (number >= 0) {
                bt_text_addf(&w->out, "%" PRId64, number);
                continue;
            }
            const uint32_t name = name_end(w, input->extents[a]);
            w->out.failed |= name == 0;
            bt_text_addf(&w->out, "d%" PRIu32, name - 1);
        }
        bt_text_addf(&w->out, "]");
    }
}

static void mark_dims(const bt_node *node, uint8_t *seen, uint8_t *used)
{
    if (seen[node->id])
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_DIM)
        used[node->which] = 1;
    for (uint32_t i = 0; i < node->narg; i++)
        mark_dims(node->args[i], seen, used);
}

static int add_bare(struct writer *w, uint32_t name, uint32_t equal, const bt_type *term)
{
    return BT_PUSH(w->arena, &w->bares, ((struct bare){ name, equal, term }));
}

/* Names for the dims of stages that no input shows. */
static bt_status name_dims(struct writer *w)
{
    const bt_graph *g = w->graph;
    uint8_t *seen = BT_NEWS(w->arena, uint8_t, g->nnode);
    uint8_t *used = BT_NEWS(w->arena, uint8_t, g->ndim);
    if (!seen || !used)
        return bt_no_memory();
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        for (uint32_t a = 0; a < g->arrays[i]->rank; a++)
            mark_dims(g->arrays[i]->extents[a], seen, used);
        mark_dims(g->arrays[i]->body, seen, used);
    }
    for (uint32_t i = 0; i < g->ndim; i++) {
        if (!used[i] || w->names[i])
            continue;
        w->names[i] = ++w->nname;
        if (!add_bare(w, w->names[i], 0, g->dims[i]->term))
            return bt_no_memory();
    }
    return NULL;
}

/* The name of a dim of a result's type. Where the dim of the graph has another one elsewhere, it has a
 * name of its own, and both are to be equal. 0: no memory. */
static uint32_t name_of_type(struct writer *w, const bt_node *extent, const bt_type *dim)
{
    for (uint32_t i = 0; i < w->graph->ndim; i++) {
        if (w->names[i] && w->graph->dims[i]->term == dim)
            return w->names[i];
    }
    for (uint32_t i = 0; i < w->bares.len; i++) {
        if (w->bares.at[i].term == dim)
            return w->bares.at[i].name;
    }
    const uint32_t own = extent->kind == BT_NODE_DIM ? w->names[extent->which] : 0;
    return add_bare(w, w->nname + 1, own, dim) ? ++w->nname : 0;
}

/* ---- stages ---- */

/* type: of the result that the stage is; NULL: nothing is known of it. A dim that checks make a number
 * keeps its name there: a function may state it. */
static void write_axes(struct writer *w, const bt_array *stage, const bt_type *type)
{
    const bt_shape_type *shape = type ? bt_tensor_shape(type) : NULL;
    const int has_dims = shape && shape->n == stage->rank;
    bt_text_addf(&w->out, "[");
    for (uint32_t a = 0; a < stage->rank; a++) {
        const bt_type *dim = has_dims ? shape->dims[a] : NULL;
        int64_t number;
        const int is_number = dim && bt_dim_is_const(dim, &number);
        bt_text_addf(&w->out, "%si%" PRIu32 " in ", a ? ", " : "", a);
        if (!dim || (is_number && bt_node_number(stage->extents[a]) >= 0)) {
            write(w, stage->extents[a], OR);
            continue;
        }
        const uint32_t name = is_number ? 1 : name_of_type(w, stage->extents[a], dim);
        w->out.failed |= name == 0;
        if (is_number)
            put_int(w, number);
        else
            bt_text_addf(&w->out, "d%" PRIu32, name - 1);
    }
    bt_text_addf(&w->out, "]");
}

static const bt_type *type_of_stage(const bt_graph *g, uint32_t array,
                                    const bt_type *result)
{
    const bt_list_type *tuple = result ? bt_as_tuple_type(result) : NULL;
    for (uint32_t i = 0; result && i < g->nresult; i++) {
        if (g->results[i] == array)
            return !tuple ? result : i < tuple->n ? tuple->at[i] : NULL;
    }
    return NULL;
}

static void write_stage(struct writer *w, uint32_t array, const bt_type *type)
{
    const bt_array *stage = w->graph->arrays[array];
    w->rank = stage->rank;
    bt_text_addf(&w->out, "%s", array > w->graph->ninput ? "; " : "");
    put_array(w, array);
    bt_text_addf(&w->out, ": ");
    put_dtype(w, stage->dtype);
    write_axes(w, stage, type);
    bt_text_addf(&w->out, " = ");
    // the stage says the dtype of a number
    if (stage->body->kind == BT_NODE_CONST)
        write_const(w, stage->body, 1);
    else
        write(w, stage->body, OR);
}

static void write_results(struct writer *w)
{
    const bt_graph *g = w->graph;
    if (g->nresult == 1 && g->results[0] == g->narray - 1)
        return;
    for (uint32_t i = 0; i < g->nresult; i++) {
        bt_text_addf(&w->out, "%s", i ? ", " : " -> ");
        put_array(w, g->results[i]);
    }
}

/* The names of dims stand before the stages, whose extents are the last to name some. */
static const char *put_together(struct writer *w, const bt_text *inputs,
                                const bt_text *stages)
{
    bt_text_init(&w->out, w->arena);
    bt_text_add(&w->out, inputs->at, inputs->len);
    for (uint32_t i = 0; i < w->bares.len; i++) {
        const struct bare *bare = &w->bares.at[i];
        bt_text_addf(&w->out, "%sd%" PRIu32, inputs->len || i ? ", " : "",
                     bare->name - 1);
        if (bare->equal)
            bt_text_addf(&w->out, " == d%" PRIu32, bare->equal - 1);
    }
    if (w->out.len)
        bt_text_addf(&w->out, " => ");
    bt_text_add(&w->out, stages->at, stages->len);
    return inputs->failed || stages->failed ? NULL : bt_text_get(&w->out);
}

bt_status bt_graph_text(bt_ctx *ctx, bt_arena *arena, bt_graph *g, const bt_type *result,
                        bt_graph_formula *out)
{
    struct writer w = { .graph = g, .arena = arena };
    w.names = BT_NEWS(arena, uint32_t, g->ndim);
    if (!w.names)
        return bt_no_memory();
    bt_text_init(&w.out, arena);
    write_inputs(&w);
    const bt_text inputs = w.out;
    BT_TRY(name_dims(&w));
    bt_text_init(&w.out, arena);
    for (uint32_t i = g->ninput; i < g->narray; i++)
        write_stage(&w, i, type_of_stage(g, i, result));
    write_results(&w);
    const bt_text stages = w.out;
    if (stages.len > MAX_NBYTES)
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "a graph whose formula would have more than %d bytes", MAX_NBYTES);
    out->formula = put_together(&w, &inputs, &stages);
    const bt_type **dims = BT_NEWS(arena, const bt_type *, w.bares.len);
    if (!dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < w.bares.len; i++)
        dims[i] = w.bares.at[i].term;
    out->ndim = w.bares.len;
    out->dims = dims;
    return out->formula ? NULL : bt_no_memory();
}
