/*
 * Accumulators. Where each lane has one, a take is a store of what it becomes; one for all
 * lanes takes a strip.
 */
#include <math.h>
#include <string.h>

#include "lanes.h"

/* ---- what they start with ---- */

static int64_t integer_limit(bt_dtype dtype, int is_high)
{
    uint32_t nbit = (uint32_t)bt_dtype_nbytes(dtype) * 8;
    int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    if (!is_high)
        return is_signed ? INT64_MIN >> (64 - nbit) : 0;
    return (int64_t)(is_signed ? (uint64_t)INT64_MAX >> (64 - nbit)
                               : UINT64_MAX >> (64 - nbit));
}

/* The reducer's identity element. */
static const bt_node *neutral(bt_graph *g, uint32_t reducer, bt_dtype dtype)
{
    int is_float = dtype == BT_FLOAT32 || dtype == BT_FLOAT64;
    int is_high = reducer == BT_REDUCER_MIN;
    if (reducer == BT_REDUCER_MAX || is_high) {
        if (is_float)
            return bt_node_float(g, dtype,
                                 is_high ? (double)INFINITY : -(double)INFINITY);
        return bt_node_cast(g, dtype, bt_node_int(g, integer_limit(dtype, is_high)));
    }
    int64_t one = reducer == BT_REDUCER_PROD || reducer == BT_REDUCER_ALL;
    return bt_node_cast(g, dtype, bt_node_int(g, one));
}

/* ---- one for each lane ---- */

static int store(struct cpu_part *p, uint32_t buffer, const bt_node *offset,
                 const bt_node *value)
{
    bt_stmt stmt = {
        .kind = BT_STMT_STORE, .buffer = buffer, .offset = offset, .value = value
    };
    bt_stmt *one = &stmt;
    bt_stmts block = { .at = &one, .len = 1, .cap = 1 };
    return value && cpu_do_block(p, &block);
}

static const bt_node *scalar(bt_graph *g, uint32_t which, const bt_node *a,
                             const bt_node *b)
{
    return bt_node_scalar(g, which, a, b);
}

static const bt_node *is_nan(bt_graph *g, const bt_node *a)
{
    return a ? scalar(g, BT_SCALAR_ISNAN, a, NULL) : NULL;
}

/* Whether value x at `at` replaces y at `was`. */
static const bt_node *is_better(bt_graph *g, const bt_stmt *stmt, const bt_node *x,
                                const bt_node *y, const bt_node *was)
{
    int is_max =
        stmt->reducer == BT_REDUCER_ARGMAX || stmt->reducer == BT_REDUCER_ARGMAX_LAST;
    int is_last = stmt->reducer == BT_REDUCER_ARGMAX_LAST ||
                  stmt->reducer == BT_REDUCER_ARGMIN_LAST;
    int is_float = y->dtype == BT_FLOAT32 || y->dtype == BT_FLOAT64;
    const bt_node *beyond = scalar(g, BT_SCALAR_LT, is_max ? y : x, is_max ? x : y);
    const bt_node *tied = scalar(g, BT_SCALAR_EQ, x, y);
    const bt_node *closer = scalar(g, BT_SCALAR_LT, is_last ? was : stmt->position,
                                   is_last ? stmt->position : was);
    const bt_node *none = scalar(g, BT_SCALAR_LT, was, bt_node_int(g, 0));
    if (is_float) {
        const bt_node *x_nan = is_nan(g, x), *y_nan = is_nan(g, y);
        const bt_node *only_x =
            scalar(g, BT_SCALAR_AND, x_nan, scalar(g, BT_SCALAR_NOT, y_nan, NULL));
        beyond = scalar(g, BT_SCALAR_OR, beyond, only_x);
        tied = scalar(g, BT_SCALAR_OR, tied, scalar(g, BT_SCALAR_AND, x_nan, y_nan));
    }
    return scalar(g, BT_SCALAR_OR, scalar(g, BT_SCALAR_OR, none, beyond),
                  scalar(g, BT_SCALAR_AND, tied, closer));
}

static int take_position(struct cpu_part *p, const bt_stmt *stmt, const bt_node *value)
{
    struct vectoriser *v = p->lanes->v;
    bt_stmt position = { .kind = BT_STMT_STORE,
                         .buffer = stmt->buffer2,
                         .offset = stmt->offset,
                         .value = stmt->position };
    bt_stmt best = position, choice = { .kind = BT_STMT_IF };
    bt_stmt *stores[] = { &best, &position }, *one = &choice;
    bt_stmts block = { .at = &one, .len = 1, .cap = 1 };
    const bt_node *was = bt_loops_read(v->loops, stmt->buffer, stmt->offset);
    const bt_node *at = bt_loops_read(v->loops, stmt->buffer2, stmt->offset);
    if (!was || !at)
        return 0;
    best.buffer = stmt->buffer;
    best.value = value;
    choice.condition = is_better(v->graph, stmt, value, was, at);
    choice.body = (bt_stmts){ .at = stores, .len = 2, .cap = 2 };
    return choice.condition && cpu_do_block(p, &block);
}

/* exp(x - greatest), where that may be infinite. */
static const bt_node *relative(bt_graph *g, const bt_node *x, const bt_node *greatest)
{
    return bt_node_select(
        g, scalar(g, BT_SCALAR_EQ, x, greatest), bt_node_float(g, x->dtype, 1),
        scalar(g, BT_SCALAR_EXP, scalar(g, BT_SCALAR_SUB, x, greatest), NULL));
}

/* The same of an element, which counts for nothing where it is -inf. */
static const bt_node *share(bt_graph *g, const bt_node *x, const bt_node *greatest)
{
    const bt_node *least = bt_node_float(g, x->dtype, -(double)INFINITY);
    return bt_node_select(g, scalar(g, BT_SCALAR_EQ, x, least),
                          bt_node_float(g, x->dtype, 0), relative(g, x, greatest));
}

static int take_logsumexp(struct cpu_part *p, const bt_stmt *stmt, const bt_node *value)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *greatest =
        bt_loops_read(p->lanes->v->loops, stmt->buffer, stmt->offset);
    const bt_node *sum = bt_loops_read(p->lanes->v->loops, stmt->buffer2, stmt->offset);
    const bt_node *now = scalar(g, BT_SCALAR_MAX, greatest, value);
    if (!greatest || !now || !sum)
        return 0;
    sum = scalar(g, BT_SCALAR_ADD,
                 scalar(g, BT_SCALAR_MUL, relative(g, greatest, now), sum),
                 share(g, value, now));
    return sum && store(p, stmt->buffer2, stmt->offset, sum) &&
           store(p, stmt->buffer, stmt->offset, now);
}

/* The factors of the products that are summed, which may be widened after they are rounded. */
static int is_product(const bt_stmt *stmt, const bt_node **factors)
{
    const bt_node *value = stmt->value;
    while (value->kind == BT_NODE_CAST &&
           (value->dtype == BT_FLOAT32 || value->dtype == BT_FLOAT64) &&
           cpu_lane_dtype(value->args[0]->dtype) == BT_FLOAT32)
        value = value->args[0];
    if (stmt->reducer != BT_REDUCER_SUM || value->kind != BT_NODE_SCALAR ||
        value->which != BT_SCALAR_MUL ||
        (cpu_lane_dtype(value->dtype) != BT_FLOAT32 && value->dtype != BT_FLOAT64))
        return 0;
    factors[0] = value->args[0];
    factors[1] = value->args[1];
    return 1;
}

/* What is summed. Products of float32 are not rounded where the sum is wider, so that one
 * by lanes, which multiplies as it sums, gives the same bits. NULL: failure. */
static const bt_node *term_of(bt_graph *g, const bt_stmt *stmt, bt_dtype sum)
{
    const bt_node *factors[2];
    if (sum != BT_FLOAT64 || !is_product(stmt, factors))
        return stmt->value;
    return scalar(g, BT_SCALAR_MUL, bt_node_cast(g, sum, factors[0]),
                  bt_node_cast(g, sum, factors[1]));
}

static int take_each(struct cpu_part *p, const bt_stmt *stmt)
{
    static const uint32_t operators[] = {
        [BT_REDUCER_SUM] = BT_SCALAR_ADD, [BT_REDUCER_PROD] = BT_SCALAR_MUL,
        [BT_REDUCER_MAX] = BT_SCALAR_MAX, [BT_REDUCER_MIN] = BT_SCALAR_MIN,
        [BT_REDUCER_ALL] = BT_SCALAR_AND, [BT_REDUCER_ANY] = BT_SCALAR_OR
    };
    struct vectoriser *v = p->lanes->v;
    const bt_node *acc = bt_loops_read(v->loops, stmt->buffer, stmt->offset);
    const bt_node *term = acc ? term_of(v->graph, stmt, acc->dtype) : NULL;
    const bt_node *value = term ? bt_node_cast(v->graph, acc->dtype, term) : NULL;
    if (!value)
        return 0;
    if (stmt->position)
        return take_position(p, stmt, value);
    if (stmt->reducer == BT_REDUCER_LOGSUMEXP)
        return take_logsumexp(p, stmt, value);
    return store(p, stmt->buffer, stmt->offset,
                 bt_node_scalar(v->graph, operators[stmt->reducer], acc, value));
}

/* ---- one for all ---- */

/* Whether strips of both factors are multiplied. */
static int has_strips(struct cpu_part *p, const bt_node *const *factors)
{
    return !p->mask && (p->lanes->index < 0 || (cpu_is_varying(p->lanes, factors[0]) &&
                                                cpu_is_varying(p->lanes, factors[1])));
}

static int emit_product(struct cpu_part *p, const struct cpu_value *acc,
                        const bt_node *const *factors)
{
    struct cpu_call call = { .naddress = 3 };
    call.at[0] = *acc;
    for (uint32_t i = 0; i < 2; i++) {
        if (!cpu_eval(p, factors[i], &call.at[1 + i]))
            return 0;
    }
    bt_dtype dtype = call.at[1].dtype;
    if (dtype != acc->dtype && dtype != BT_FLOAT32)
        return cpu_refuse(p->lanes->v, "products are wider than their sum");
    call.name =
        cpu_strip_name(p->lanes->v, "dot", dtype, dtype == acc->dtype ? "" : ".wide");
    return call.name && cpu_emit(p, &call, (int)call.at[1].is_strip);
}

/* Lanes that the mask leaves out change nothing. */
static int mask_value(struct cpu_part *p, uint32_t reducer, struct cpu_value *value)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value none, other, made;
    const bt_node *node = neutral(v->graph, reducer, value->dtype);
    if (!node || !cpu_constant_new(v, node, &none) ||
        !cpu_convert(p, value->dtype, 1, &none, &other) ||
        !cpu_temp_new(p->lanes, value->dtype, 1, &made))
        return 0;
    struct cpu_call call = { .name = cpu_strip_name(v, "select", value->dtype, ""),
                             .naddress = 4,
                             .at = { made, *p->mask, *value, other } };
    cpu_temp_free(v, &other);
    *value = made;
    return call.name && cpu_emit(p, &call, 1);
}

static int emit_reduction(struct cpu_part *p, uint32_t reducer,
                          const struct cpu_value *acc, const struct cpu_value *value)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value same = *value;
    char name[32] = "reduce_";
    int is_wide = acc->dtype == BT_FLOAT64 && value->dtype == BT_FLOAT32 &&
                  (reducer == BT_REDUCER_SUM || reducer == BT_REDUCER_PROD);
    strcat(name, bt_reducer_name(reducer));
    if (!is_wide && !cpu_convert(p, acc->dtype, 0, value, &same))
        return 0;
    struct cpu_call call = { .name = cpu_strip_name(v, name, same.dtype,
                                                    is_wide ? ".wide" : ""),
                             .naddress = 2,
                             .at = { *acc, same } };
    int ok = call.name && cpu_emit(p, &call, (int)same.is_strip);
    if (same.temp != value->temp)
        cpu_temp_free(v, &same);
    return ok;
}

static int emit_position(struct cpu_part *p, const bt_stmt *stmt,
                         const struct cpu_value *acc, const struct cpu_value *value)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value position, same;
    int64_t stride;
    char name[32] = "reduce_";
    const bt_node *first;
    strcat(name, bt_reducer_name(stmt->reducer));
    if (p->mask)
        return cpu_refuse(v, "some lanes give a position");
    if (!cpu_place_of(p, stmt->position, &first, &stride))
        return v->why || v->graph->status ? 0 : cpu_refuse(v, "positions have no stride");
    if (!cpu_target_of(p, stmt->buffer2, stmt->offset, &position, &(int64_t){ 0 }) ||
        !cpu_convert(p, acc->dtype, 0, value, &same))
        return 0;
    struct cpu_call call = { .name = cpu_strip_name(v, name, acc->dtype, ""),
                             .naddress = 3,
                             .ninteger = 2,
                             .at = { *acc, position, same } };
    call.integers[0] = bt_node_linear(v->graph, 0, 2, (const bt_node *[]){ first, p->at },
                                      (int64_t[]){ 1, stride });
    call.integers[1] = bt_node_int(v->graph, stride);
    int ok = call.name && cpu_emit(p, &call, (int)same.is_strip);
    if (same.temp != value->temp)
        cpu_temp_free(v, &same);
    return ok;
}

/* The greatest of the strip first, then what its elements are to it. */
static int reduce_logsumexp(struct cpu_part *p, const bt_stmt *stmt,
                            const struct cpu_value *acc)
{
    struct cpu_lanes *l = p->lanes;
    struct vectoriser *v = l->v;
    bt_graph *g = v->graph;
    struct cpu_value best, now, value, least, terms, sum;
    struct cpu_part own;
    bt_map uses;
    if (p->mask)
        return cpu_refuse(v, "some lanes give a logarithm of a sum");
    const bt_node *x = bt_node_cast(g, acc->dtype, stmt->value);
    const bt_node *was = bt_loops_read(v->loops, stmt->buffer, stmt->offset);
    if (!x || !was ||
        !cpu_constant_new(v, bt_node_float(g, acc->dtype, -(double)INFINITY), &least) ||
        !cpu_temp_new(l, acc->dtype, 0, &best) || !cpu_temp_new(l, acc->dtype, 0, &now) ||
        !cpu_move(p, &best, &least) || !cpu_statement_open(p, &own, &uses, 1, &x) ||
        !cpu_eval(&own, x, &value) ||
        !cpu_convert(&own, acc->dtype, l->index >= 0, &value, &terms) ||
        !emit_reduction(p, BT_REDUCER_MAX, &best, &terms))
        return 0;
    if (terms.temp != value.temp)
        cpu_temp_free(v, &terms);
    cpu_part_close(&own);
    const bt_node *greatest =
        scalar(g, BT_SCALAR_MAX, was, bt_loops_read(v->loops, best.buffer, best.offset));
    if (!greatest || !cpu_statement_open(p, &own, &uses, 1, &greatest) ||
        !cpu_eval_into(&own, greatest, &now))
        return 0;
    cpu_part_close(&own);
    greatest = bt_loops_read(v->loops, now.buffer, now.offset);
    const bt_node *total = bt_loops_read(v->loops, stmt->buffer2, stmt->offset);
    const bt_node *term = greatest ? share(g, x, greatest) : NULL;
    total = greatest && total
                ? scalar(g, BT_SCALAR_MUL, relative(g, was, greatest), total)
                : NULL;
    if (!term || !total ||
        !cpu_target_of(p, stmt->buffer2, stmt->offset, &sum, &(int64_t){ 0 }) ||
        !cpu_statement_open(p, &own, &uses, 1, &total) ||
        !cpu_eval_into(&own, total, &sum))
        return 0;
    cpu_part_close(&own);
    if (!cpu_statement_open(p, &own, &uses, 1, &term) || !cpu_eval(&own, term, &value) ||
        !cpu_convert(&own, acc->dtype, l->index >= 0, &value, &terms) ||
        !emit_reduction(p, BT_REDUCER_SUM, &sum, &terms))
        return 0;
    if (terms.temp != value.temp)
        cpu_temp_free(v, &terms);
    cpu_part_close(&own);
    int ok = cpu_move(p, acc, &now);
    cpu_temp_free(v, &best);
    cpu_temp_free(v, &now);
    return ok;
}

/* The strip that a sum in float64 widens by itself. */
static const bt_node *widened(const bt_stmt *stmt, const bt_node *value, bt_dtype sum)
{
    int is_wide = sum == BT_FLOAT64 && value->kind == BT_NODE_CAST &&
                  value->dtype == BT_FLOAT64 && value->args[0]->dtype == BT_FLOAT32 &&
                  (stmt->reducer == BT_REDUCER_SUM || stmt->reducer == BT_REDUCER_PROD);
    return is_wide ? value->args[0] : value;
}

static int take_all(struct cpu_part *p, const bt_stmt *stmt, const struct cpu_value *acc)
{
    const bt_node *factors[2];
    struct cpu_value value, full;
    if (stmt->reducer == BT_REDUCER_LOGSUMEXP)
        return reduce_logsumexp(p, stmt, acc);
    if (is_product(stmt, factors) && has_strips(p, factors))
        return emit_product(p, acc, factors);
    const bt_node *term = term_of(p->lanes->v->graph, stmt, acc->dtype);
    if (!term || !cpu_eval(p, widened(stmt, term, acc->dtype), &value) ||
        !cpu_convert(p, value.dtype, p->lanes->index >= 0, &value, &full) ||
        (p->mask && !stmt->position && !mask_value(p, stmt->reducer, &full)))
        return 0;
    int ok = stmt->position ? emit_position(p, stmt, acc, &full)
                            : emit_reduction(p, stmt->reducer, acc, &full);
    if (full.temp != value.temp)
        cpu_temp_free(p->lanes->v, &full);
    return ok;
}

int cpu_do_take(struct cpu_part *p, const bt_stmt *stmt)
{
    struct cpu_value acc;
    int64_t stride;
    if (!cpu_target_of(p, stmt->buffer, stmt->offset, &acc, &stride))
        return 0;
    return stride ? take_each(p, stmt) : take_all(p, stmt, &acc);
}
