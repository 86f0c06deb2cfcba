/*
 * Expressions by strips: each node once in a statement, into memory that is given back
 * after its last use.
 */
#include <string.h>

#include "lanes.h"

struct made {
    struct cpu_value value;
    uintptr_t left; /* uses, of those in the same part */
};

static int make(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                struct cpu_value *out);

/* ---- nodes ---- */

bt_dtype cpu_lane_dtype(bt_dtype dtype)
{
    return bt_dtype_is_small_float(dtype) ? BT_FLOAT32 : dtype;
}

static int is_half(bt_dtype dtype)
{
    return cpu_lane_dtype(dtype) != dtype;
}

/* Codes without a zero point that is 0. */
static int is_less_zero(const bt_node *node)
{
    return node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_SUB &&
           !bt_dtype_is_float(node->dtype) && node->args[1]->kind == BT_NODE_CONST &&
           node->args[1]->value.i == 0;
}

const bt_node *cpu_bare(const bt_node *node)
{
    while ((node->kind == BT_NODE_CAST && !is_half(node->dtype) &&
            cpu_lane_dtype(node->args[0]->dtype) == node->dtype) ||
           is_less_zero(node))
        node = node->args[0];
    return node;
}

static int look_varying(struct cpu_lanes *l, const bt_node *node)
{
    if (node->kind == BT_NODE_READ && cpu_is_own(l, node->which))
        return 1;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (cpu_is_varying(l, node->args[i]))
            return 1;
    }
    return 0;
}

int cpu_is_varying(struct cpu_lanes *l, const bt_node *node)
{
    if (l->index < 0)
        return 0;
    if (node->free & bt_index_bit((uint32_t)l->index))
        return 1;
    if (!node->reads)
        return 0;
    uintptr_t known = (uintptr_t)bt_map_find(&l->varying, node);
    if (!known) {
        known = look_varying(l, node) ? 1 : 2;
        // without memory it is found again
        if (!bt_map_put(&l->varying, node, (void *)known))
            return known == 1;
    }
    return known == 1;
}

static int is_engine_operator(uint32_t which)
{
    switch (which) {
    case BT_SCALAR_ADD:
    case BT_SCALAR_SUB:
    case BT_SCALAR_MUL:
    case BT_SCALAR_DIV:
    case BT_SCALAR_TRUNCDIV:
    case BT_SCALAR_TRUNCMOD:
    case BT_SCALAR_FLOORDIV:
    case BT_SCALAR_CEILDIV:
    case BT_SCALAR_MOD:
    case BT_SCALAR_MAX:
    case BT_SCALAR_MIN:
    case BT_SCALAR_WRAP:
    case BT_SCALAR_NEG:
    case BT_SCALAR_ABS:
    case BT_SCALAR_EQ:
    case BT_SCALAR_NE:
    case BT_SCALAR_LT:
    case BT_SCALAR_LE:
    case BT_SCALAR_AND:
    case BT_SCALAR_OR:
    case BT_SCALAR_NOT: return 1;
    default: return 0;
    }
}

static int is_integer_dtype(bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) == BT_CLASS_INT ||
           BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT || dtype == BT_BOOL;
}

/* Engines compute an expression as a tree: one that is large, as shared parts make it, is
 * not for them. */
enum { ENGINE_NODES = 64 };

static int is_integer_tree(const bt_node *node, int *left)
{
    if (--*left < 0)
        return 0;
    if (node->kind == BT_NODE_INDEX) // of a loop around: its extent is computed there
        return 1;
    if (node->kind == BT_NODE_CAST) {
        const bt_node *from = node->args[0];
        return node->dtype == BT_INT64 && is_integer_dtype(from->dtype) &&
               is_integer_tree(from->kind == BT_NODE_READ ? from->args[0] : from, left);
    }
    if ((node->dtype != BT_INT64 && node->dtype != BT_BOOL) ||
        node->kind == BT_NODE_REDUCE)
        return 0;
    if (node->kind == BT_NODE_SCALAR && !is_engine_operator(node->which))
        return 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_integer_tree(node->args[i], left))
            return 0;
    }
    return 1;
}

int cpu_is_integer(const bt_node *node)
{
    int left = ENGINE_NODES;
    return is_integer_tree(node, &left);
}

const bt_node *cpu_at_first(struct cpu_lanes *l, const bt_node *node)
{
    bt_graph *g = l->v->graph;
    if (l->index < 0 || !(node->free & bt_index_bit((uint32_t)l->index)))
        return node;
    return bt_node_substitute(g, node, (uint32_t)l->index, l->first);
}

/* ---- parts ---- */

static int count_uses(bt_map *uses, const bt_node *node)
{
    uintptr_t known = (uintptr_t)bt_map_find(uses, node);
    if (!bt_map_put(uses, node, (void *)(known + 1)))
        return 0;
    for (uint32_t i = 0; !known && i < node->narg; i++) {
        if (!count_uses(uses, cpu_bare(node->args[i])))
            return 0;
    }
    return 1;
}

int cpu_statement_open(const struct cpu_part *p, struct cpu_part *out, bt_map *uses,
                       uint32_t nroot, const bt_node *const *roots)
{
    *out = *p;
    out->outer = NULL;
    out->uses = uses;
    bt_map_init(&out->made, p->lanes->v->scratch, 0);
    bt_map_init(uses, p->lanes->v->scratch, 0);
    for (uint32_t i = 0; i < nroot; i++) {
        if (!count_uses(uses, cpu_bare(roots[i])))
            return 0;
    }
    return 1;
}

void cpu_part_open(const struct cpu_part *p, struct cpu_part *out, bt_stmts *to)
{
    *out = *p;
    out->outer = p;
    out->to = to;
    bt_map_init(&out->made, p->lanes->v->scratch, 0);
}

void cpu_part_close(struct cpu_part *p)
{
    for (uint32_t i = 0; i < p->made.len; i++)
        cpu_temp_free(p->lanes->v, &((struct made *)p->made.at[i].value)->value);
}

int cpu_eval(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    node = cpu_bare(node);
    for (const struct cpu_part *at = p; at; at = at->outer) {
        const struct made *known = bt_map_find(&at->made, node);
        if (known) {
            *out = known->value;
            return 1;
        }
    }
    struct made *made = BT_NEW(p->lanes->v->scratch, struct made);
    if (!made || !make(p, node, NULL, &made->value))
        return 0;
    made->left = (uintptr_t)bt_map_find(p->uses, node);
    *out = made->value;
    return bt_map_put(&p->made, node, made);
}

void cpu_drop(struct cpu_part *p, const bt_node *node)
{
    struct made *made = bt_map_find(&p->made, cpu_bare(node));
    if (!made || made->left == 0 || --made->left)
        return;
    cpu_temp_free(p->lanes->v, &made->value);
    made->value.temp = CPU_NO_TEMP;
}

int cpu_place(struct cpu_part *p, bt_dtype dtype, int is_strip,
              const struct cpu_value *to, struct cpu_value *out)
{
    if (to && to->dtype == dtype && to->is_strip == (uint32_t)is_strip) {
        *out = *to;
        return 1;
    }
    return cpu_temp_new(p->lanes, dtype, is_strip, out);
}

/* ---- integers ---- */

const bt_node *cpu_as_integer(struct cpu_part *p, const bt_node *node)
{
    struct cpu_value value;
    if (cpu_is_integer(node))
        return cpu_at_first(p->lanes, node);
    // what it stands in is kept for the statement
    if (!cpu_eval(p, node, &value))
        return NULL;
    struct made *made = bt_map_find(&p->made, cpu_bare(node));
    if (made)
        made->left = 0;
    return bt_loops_read(p->lanes->v->loops, value.buffer, value.offset);
}

static int make_integer(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value number;
    const bt_node *first = cpu_at_first(p->lanes, node);
    if (!first || !cpu_number(p, first, &number))
        return 0;
    if (!cpu_convert(p, node->dtype, 0, &number, out))
        return 0;
    if (out->temp != number.temp)
        cpu_temp_free(v, &number);
    return 1;
}

/* ---- operators ---- */

const bt_node *cpu_once(const struct cpu_part *p, const bt_node *node)
{
    node = cpu_bare(node);
    return (uintptr_t)bt_map_find(p->uses, node) == 1 ? node : NULL;
}

static int is_number(const bt_node *node, double number)
{
    return node->kind == BT_NODE_CONST && node->value.f == number;
}

/* Operands, which are evaluated and dropped, then the call. */
static int call_on(struct cpu_part *p, const char *name, uint32_t n,
                   const bt_node *const *args, bt_dtype result,
                   const struct cpu_value *to, struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_call call = { .naddress = n + 1 };
    const char *suffix = "";
    int is_strip = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!cpu_eval(p, args[i], &call.at[1 + i]))
            return 0;
        is_strip |= (int)call.at[1 + i].is_strip;
    }
    // the only one of all lanes: b of a, b[, c], or a of two
    if (n > 1 && is_strip)
        suffix = !call.at[2].is_strip ? ".s" : !call.at[1].is_strip ? ".r" : "";
    for (uint32_t i = 0; i < n; i++)
        cpu_drop(p, args[i]);
    call.name = cpu_strip_name(v, name, call.at[1].dtype, suffix);
    if (!call.name || !cpu_place(p, result, is_strip, to, out))
        return 0;
    call.at[0] = *out;
    return cpu_emit(p, &call, is_strip);
}

/* a * b + c with c, and a or b, of each lane; 1: matched. */
static int match_fma(struct cpu_part *p, const bt_node *sum, const bt_node **args)
{
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *product = cpu_once(p, sum->args[i]),
                      *c = cpu_bare(sum->args[1 - i]);
        if (!cpu_is_scalar(product, BT_SCALAR_MUL) ||
            !cpu_is_varying(p->lanes, product) || !cpu_is_varying(p->lanes, c))
            continue;
        int is_first = cpu_is_varying(p->lanes, product->args[0]);
        args[0] = product->args[is_first ? 0 : 1];
        args[1] = product->args[is_first ? 1 : 0];
        args[2] = c;
        return 1;
    }
    return 0;
}

/* Of max(a + b, 0) the sum, of which nothing else is made; NULL: it is none. */
static const bt_node *sum_of_relu(const struct cpu_part *p, const bt_node *node)
{
    for (uint32_t i = 0; cpu_is_scalar(node, BT_SCALAR_MAX) && i < 2; i++) {
        const bt_node *sum = cpu_once(p, node->args[i]);
        if (cpu_is_scalar(sum, BT_SCALAR_ADD) &&
            is_number(cpu_bare(node->args[1 - i]), 0))
            return sum;
    }
    return NULL;
}

/* A product with a function of each lane, such as the gate of a cell or a GELU; 1: matched. */
static int match_gate(const struct cpu_part *p, const bt_node *product, const char **name,
                      const bt_node **args)
{
    for (uint32_t i = 0; cpu_is_scalar(product, BT_SCALAR_MUL) && i < 2; i++) {
        const bt_node *gate = cpu_once(p, product->args[i]);
        args[0] = product->args[1 - i];
        *name = "mul_sigmoid";
        if (cpu_is_scalar(gate, BT_SCALAR_SIGMOID)) {
            args[1] = gate->args[0];
            return 1;
        }
        *name = "mul_erf_1";
        for (uint32_t k = 0; cpu_is_scalar(gate, BT_SCALAR_ADD) && k < 2; k++) {
            const bt_node *erf = cpu_once(p, gate->args[k]);
            if (!cpu_is_scalar(erf, BT_SCALAR_ERF) ||
                !is_number(cpu_bare(gate->args[1 - k]), 1))
                continue;
            args[1] = erf->args[0];
            return 1;
        }
    }
    return 0;
}

/* Bits of a turned to the left, xor b, as in Threefry: a, by how many, b; 1: matched. */
static int match_rotation(struct cpu_part *p, const bt_node *node, const bt_node **args)
{
    for (uint32_t i = 0; cpu_is_scalar(node, BT_SCALAR_BIT_XOR) && i < 2; i++) {
        const bt_node *both = cpu_once(p, node->args[i]);
        for (uint32_t k = 0; cpu_is_scalar(both, BT_SCALAR_BIT_OR) && k < 2; k++) {
            const bt_node *left = cpu_once(p, both->args[k]),
                          *right = cpu_once(p, both->args[1 - k]);
            if (!cpu_is_scalar(left, BT_SCALAR_SHIFT_LEFT) ||
                !cpu_is_scalar(right, BT_SCALAR_SHIFT_RIGHT) ||
                cpu_bare(left->args[0]) != cpu_bare(right->args[0]))
                continue;
            const bt_node *by = cpu_bare(left->args[1]), *rest = cpu_bare(right->args[1]);
            args[0] = cpu_bare(left->args[0]);
            args[1] = by;
            args[2] = node->args[1 - i];
            return by->kind == BT_NODE_CONST && rest->kind == BT_NODE_CONST &&
                   by->value.i > 0 && by->value.i < 32 &&
                   rest->value.i == 32 - by->value.i &&
                   cpu_is_varying(p->lanes, args[0]) && cpu_is_varying(p->lanes, args[2]);
        }
    }
    return 0;
}

/* Operators that go together; the count of operands, 0: none do. */
static uint32_t match_pair(struct cpu_part *p, const bt_node *node, const char **name,
                           const bt_node **args)
{
    int is_short = cpu_lane_dtype(node->dtype) == BT_FLOAT32;
    if (!cpu_is_varying(p->lanes, node) || (!is_short && node->dtype != BT_FLOAT64))
        return 0;
    if (cpu_is_scalar(node, BT_SCALAR_ADD) && match_fma(p, node, args)) {
        *name = "fma";
        return 3;
    }
    const bt_node *sum = sum_of_relu(p, node);
    if (sum) {
        *name = "fma_relu";
        if (match_fma(p, sum, args))
            return 3;
        *name = "add_relu";
        args[0] = sum->args[0];
        args[1] = sum->args[1];
        return is_short ? 2 : 0;
    }
    for (uint32_t i = 0; i < 2 && node->narg == 2; i++) {
        const bt_node *inner = cpu_once(p, node->args[i]),
                      *other = cpu_bare(node->args[1 - i]);
        const int is_6 = cpu_is_scalar(node, BT_SCALAR_MIN) && is_number(other, 6);
        const bt_node *clipped = is_6 ? sum_of_relu(p, inner) : NULL;
        if (is_short && clipped && !match_fma(p, clipped, args)) {
            *name = "add_relu6";
            args[0] = clipped->args[0];
            args[1] = clipped->args[1];
            return 2;
        }
    }
    if (is_short && match_gate(p, node, name, args))
        return 2;
    const bt_node *difference =
        cpu_is_scalar(node, BT_SCALAR_EXP) ? cpu_once(p, node->args[0]) : NULL;
    if (!is_short || !cpu_is_scalar(difference, BT_SCALAR_SUB))
        return 0;
    *name = "exp_sub";
    args[0] = difference->args[0];
    args[1] = difference->args[1];
    return 2;
}

static int make_scalar(struct cpu_part *p, const bt_node *node,
                       const struct cpu_value *to, struct cpu_value *out)
{
    const bt_node *args[3];
    const char *name;
    if (node->dtype == BT_UINT32 && match_rotation(p, node, args)) {
        struct cpu_value twice; // its two uses are one
        if (!cpu_eval(p, args[0], &twice))
            return 0;
        cpu_drop(p, args[0]);
        return call_on(p, "rotate_xor", 3, args, BT_UINT32, to, out);
    }
    uint32_t n = match_pair(p, node, &name, args);
    if (n)
        return call_on(p, name, n, args, cpu_lane_dtype(node->dtype), to, out);
    return call_on(p, bt_scalar_name(node->which), node->narg, node->args,
                   cpu_lane_dtype(node->dtype), to, out);
}

/* To a shorter float and back: that rounds. */
static int make_cast_alone(struct cpu_part *p, const bt_node *node,
                           const struct cpu_value *to, struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value from, made;
    if (!cpu_eval(p, node->args[0], &from))
        return 0;
    cpu_drop(p, node->args[0]);
    if (!cpu_place(p, node->dtype, (int)from.is_strip, to, &made) ||
        !cpu_cast(p, &made, &from))
        return 0;
    *out = made;
    if (!is_half(node->dtype) || (to && made.dtype == to->dtype))
        return 1;
    int ok = cpu_convert(p, BT_FLOAT32, 0, &made, out);
    cpu_temp_free(v, &made);
    return ok;
}

/* A float32 that is rounded by way of float64, as the evaluator computes in that: it has only 32
 * bits here, so what is to be rounded. NULL: it is none, or its parts are needed otherwise. */
static const bt_node *rounded_already(const struct cpu_part *p, const bt_node *node)
{
    const bt_node *wide = cpu_once(p, node->args[0]);
    if (node->dtype != BT_FLOAT32 || !wide || wide->kind != BT_NODE_CAST ||
        wide->dtype != BT_FLOAT64 || wide->args[0]->dtype != BT_FLOAT32)
        return NULL;
    return cpu_once(p, wide->args[0]);
}

static int make_cast(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                     struct cpu_value *out)
{
    int is_made;
    const bt_node *same = rounded_already(p, node);
    if (same)
        return make(p, same, to, out);
    return cpu_make_codes(p, node, to, out, &is_made) &&
           (is_made || make_cast_alone(p, node, to, out));
}

/* ---- choices ---- */

/* Both sides for all lanes, of which each takes one. */
static int choose(struct cpu_part *p, const bt_node *node, bt_dtype dtype,
                  const struct cpu_value *to, struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value parts[3], full[3];
    struct cpu_part guarded;
    int is_strip = cpu_is_varying(p->lanes, node);
    cpu_part_open(p, &guarded, p->to);
    guarded.is_guarded = 1;
    for (uint32_t i = 0; i < 3; i++) {
        if (!cpu_eval(i ? &guarded : p, node->args[i], &parts[i]) ||
            !cpu_convert(p, i ? dtype : BT_BOOL, is_strip, &parts[i], &full[i]))
            return 0;
    }
    if (!cpu_place(p, dtype, is_strip, to, out))
        return 0;
    struct cpu_call call = { .name = cpu_strip_name(v, "select", dtype, ""),
                             .naddress = 4,
                             .at = { *out, full[0], full[1], full[2] } };
    if (!call.name || !cpu_emit(p, &call, is_strip))
        return 0;
    for (uint32_t i = 0; i < 3; i++) {
        if (full[i].temp != parts[i].temp)
            cpu_temp_free(v, &full[i]);
        cpu_drop(p, node->args[i]);
    }
    cpu_part_close(&guarded);
    return 1;
}

/* One side into the lanes low ... high - 1. */
static int eval_side(struct cpu_part *p, const bt_node *side, const bt_node *low,
                     const bt_node *high, const struct cpu_value *to)
{
    struct cpu_part some;
    if (!cpu_part_narrow(p, low, high, &some))
        return 0;
    if (some.to && !cpu_eval_into(&some, side, to))
        return 0;
    cpu_part_close(&some);
    return 1;
}

/* A side for a range of lanes, the other for those before and after it. */
static int choose_ranges(struct cpu_part *p, const bt_node *node,
                         const struct cpu_split *split, const struct cpu_value *to)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *low, *high;
    const bt_node *end = bt_node_linear(g, 0, 2, (const bt_node *[]){ p->at, p->count },
                                        (int64_t[]){ 1, 1 });
    if (!split->ranges.len)
        return cpu_eval_into(p, node->args[1], to);
    return end && cpu_split_range(p, split, &low, &high) &&
           eval_side(p, node->args[1], low, high, to) &&
           eval_side(p, node->args[2], p->at, low, to) &&
           eval_side(p, node->args[2], high, end, to);
}

/* Nothing of the side that is not taken is computed. 1: done, 2: it cannot be so. */
static int choose_lazily(struct cpu_part *p, const bt_node *node, bt_dtype dtype,
                         const struct cpu_value *to, struct cpu_value *out)
{
    struct cpu_split split = { 0 };
    struct cpu_part yes, no;
    if (!cpu_split(p, node->args[0], &split))
        return 0;
    if (split.others.len || (split.same.len && !cpu_is_integer(node->args[0]) &&
                             !cpu_is_varying(p->lanes, node)))
        return 2;
    if (!cpu_place(p, dtype, cpu_is_varying(p->lanes, node), to, out))
        return 0;
    if (!split.same.len)
        return choose_ranges(p, node, &split, out);
    const bt_node *condition = cpu_split_same(p, &split);
    if (!condition || !cpu_part_if(p, condition, &yes, &no))
        return 0;
    if (!choose_ranges(&yes, node, &split, out) ||
        !cpu_eval_into(&no, node->args[2], out))
        return 0;
    cpu_part_close(&yes);
    cpu_part_close(&no);
    return 1;
}

static int make_select(struct cpu_part *p, const bt_node *node,
                       const struct cpu_value *to, struct cpu_value *out)
{
    // a shorter float is chosen as it is only where it goes to memory
    bt_dtype dtype =
        to && to->dtype == node->dtype ? node->dtype : cpu_lane_dtype(node->dtype);
    int done = choose_lazily(p, node, dtype, to, out);
    return done == 2 ? choose(p, node, cpu_lane_dtype(node->dtype), to, out) : done;
}

/* ---- all ---- */

static int make_number(struct cpu_part *p, const bt_node *node, struct cpu_value *out)
{
    const bt_node *number =
        bt_node_cast(p->lanes->v->graph, cpu_lane_dtype(node->dtype), node);
    return number && cpu_constant_new(p->lanes->v, number, out);
}

static int make_read(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                     struct cpu_value *out)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value raw;
    // a check fails before it is read
    if (bt_loops_nelem(v->loops, node->which) == 0) {
        const bt_node *none =
            bt_node_cast(v->graph, node->dtype, bt_node_int(v->graph, 0));
        return none && make_number(p, none, out);
    }
    if (!cpu_read(p, node, to, &raw))
        return 0;
    if (!is_half(node->dtype) || (to && to->dtype == node->dtype)) {
        *out = raw;
        return 1;
    }
    int ok = cpu_convert(p, BT_FLOAT32, 0, &raw, out);
    cpu_temp_free(v, &raw);
    return ok;
}

/* On lanes' dtype, or in that of `to`. */
static int make(struct cpu_part *p, const bt_node *node, const struct cpu_value *to,
                struct cpu_value *out)
{
    if (node->kind == BT_NODE_CONST)
        return make_number(p, node, out);
    if (node->kind == BT_NODE_READ)
        return make_read(p, node, to, out);
    if (!cpu_is_varying(p->lanes, node) && cpu_is_integer(node))
        return make_integer(p, node, out);
    switch (node->kind) {
    case BT_NODE_INDEX:
    case BT_NODE_DIM:
    case BT_NODE_LINEAR: return cpu_linear(p, node, out);
    case BT_NODE_SCALAR: return make_scalar(p, node, to, out);
    case BT_NODE_CAST: return make_cast(p, node, to, out);
    case BT_NODE_SELECT: return make_select(p, node, to, out);
    default: return cpu_refuse(p->lanes->v, "an expression has no strips");
    }
}

int cpu_eval_into(struct cpu_part *p, const bt_node *node, const struct cpu_value *to)
{
    struct vectoriser *v = p->lanes->v;
    struct cpu_value value, same;
    int is_kept = 0;
    if (!is_half(to->dtype))
        node = cpu_bare(node);
    for (const struct cpu_part *at = p; at && !is_kept; at = at->outer) {
        const struct made *known = bt_map_find(&at->made, node);
        if (known) {
            value = known->value;
            is_kept = 1;
        }
    }
    if (!is_kept && !make(p, node, to, &value))
        return 0;
    if (value.dtype == to->dtype) {
        if (!cpu_move(p, to, &value))
            return 0;
    } else if (value.is_strip == to->is_strip) {
        if (!cpu_cast(p, to, &value))
            return 0;
    } else {
        if (!cpu_convert(p, to->dtype, 0, &value, &same) || !cpu_move(p, to, &same))
            return 0;
        cpu_temp_free(v, &same);
    }
    if (!is_kept && (value.buffer != to->buffer || value.offset != to->offset))
        cpu_temp_free(v, &value);
    return 1;
}
