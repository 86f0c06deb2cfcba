/*
 * Random formulas by the evaluator, by loops, by loops after random transforms, and by an
 * interpreter that goes point by point: four ways to one result. Values are quarters and depth is small, so that every sum is exact
 * in float64 and its order does not matter.
 */
#include "formula_text.h"

#include <math.h>
#include <stdlib.h>

#include "compute/evaluate/compute.h"
#include "loops_oracle.h"
#include "random_transforms.h"

enum { F, N, Q, B }; /* float32, int64, int8, bool */
static const char *const dtype_names[] = { "float32", "int64", "int8", "bool" };

enum {
    NUMBER,
    INDEX,
    READ,
    BINARY,
    UNARY,
    COMPARE,
    LOGIC,
    SELECT,
    ELSE,
    CLAMP,
    CAST,
    REDUCE
};

typedef struct node node;
struct node {
    int kind, dtype, op; /* op: number of operator, array, index or reducer */
    double number;
    node *args[4];
    int nvar, first; /* REDUCE: indices; args[0] body, args[1] condition */
    int extents[2];
};

typedef struct value {
    double f;
    int64_t i;
} value;

/* ---- what formulas are about ---- */

enum { ROWS = 5, COLUMNS = 7, MAX_INDEX = 8 };
static const struct array {
    const char *name, *type;
    int dtype, rank;
    int64_t dims[2];
} arrays[] = {
    { "a", "float32[_, _]", F, 2, { ROWS, COLUMNS } },
    { "b", "float32[_]", F, 1, { COLUMNS, 0 } },
    { "q", "int8[_, _]", Q, 2, { COLUMNS, ROWS } },
    { "x", "int32[_]", N, 1, { ROWS, 0 } },
};
enum { NARRAY = 4 };

struct state {
    uint64_t random;
    node *pool;
    int npool;
    int nindex;             /* in scope */
    int extents[MAX_INDEX]; /* of indices */
    bt_tensor *tensors[NARRAY];
    int64_t at[MAX_INDEX]; /* while interpreting */
    int outside;           /* a read was out of bounds */
    bt_text *text;
    uint32_t ndone[NTRY]; /* transforms that were not refused */
    uint32_t nalias;      /* programs of strips that were run in place */
};

static int draw(struct state *s, int n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->random >> 33) % (uint64_t)n);
}

static node *new_node(struct state *s, int kind, int dtype)
{
    node *n = &s->pool[s->npool++];
    *n = (node){ .kind = kind, .dtype = dtype };
    return n;
}

/* ---- generating ---- */

static node *generate(struct state *, int dtype, int depth, int guarded);

static node *number(struct state *s, int dtype, double v)
{
    node *n = new_node(s, NUMBER, dtype);
    n->number = v;
    return n;
}

static node *index_node(struct state *s, int which)
{
    node *n = new_node(s, INDEX, N);
    n->op = which;
    return n;
}

static node *pair(struct state *s, int kind, int dtype, int op, node *a, node *b)
{
    node *n = new_node(s, kind, dtype);
    n->op = op;
    n->args[0] = a;
    n->args[1] = b;
    return n;
}

/* A sum of indices with small coefficients. */
static node *affine(struct state *s)
{
    node *sum = number(s, N, draw(s, 7) - 3);
    for (int i = draw(s, 2); i < 2 && s->nindex; i++) {
        node *term = index_node(s, draw(s, s->nindex));
        if (draw(s, 2))
            term = pair(s, BINARY, N, 2, term, number(s, N, draw(s, 5) - 2));
        sum = pair(s, BINARY, N, draw(s, 2), sum, term);
    }
    return sum;
}

static node *clamped(struct state *s, node *i, int64_t extent)
{
    node *n = pair(s, CLAMP, N, 0, i, number(s, N, 0));
    n->args[2] = number(s, N, (double)extent - 1);
    return n;
}

/* An index for an axis: anything where a guard is around, else in bounds. */
static node *axis_index(struct state *s, int64_t extent, int guarded)
{
    if (!guarded && draw(s, 2)) {
        for (int i = 0; i < s->nindex; i++) {
            if (s->extents[i] <= extent && draw(s, 2))
                return index_node(s, i);
        }
    }
    node *i = affine(s);
    if (draw(s, 6) == 0) {
        node *read = new_node(s, READ, N);
        read->op = 3;
        read->args[0] = clamped(s, affine(s), arrays[3].dims[0]);
        i = pair(s, BINARY, N, draw(s, 2), read, i);
    }
    return guarded ? i : clamped(s, i, extent);
}

static node *read_node(struct state *s, int dtype, int guarded)
{
    int which = dtype == F ? draw(s, 2) : dtype == Q ? 2 : 3;
    node *n = new_node(s, READ, dtype);
    n->op = which;
    for (int a = 0; a < arrays[which].rank; a++)
        n->args[a] = axis_index(s, arrays[which].dims[a], guarded);
    return n;
}

static node *condition(struct state *s, int depth)
{
    if (depth > 0 && draw(s, 4) == 0)
        return pair(s, LOGIC, B, draw(s, 2), condition(s, depth - 1),
                    condition(s, depth - 1));
    if (depth > 0 && draw(s, 3) == 0) {
        int of = draw(s, 2) ? F : Q;
        return pair(s, COMPARE, B, draw(s, 6), generate(s, of, depth - 1, 0),
                    generate(s, of, depth - 1, 0));
    }
    node *left = affine(s);
    if (draw(s, 5) == 0)
        left = read_node(s, N, 0);
    return pair(s, COMPARE, B, draw(s, 6), left, affine(s));
}

/* Of reductions, conditions that are solved or scattered on are worth more. */
static node *reduction_condition(struct state *s, int first)
{
    switch (draw(s, 4)) {
    case 0: return NULL;
    case 1: return condition(s, 1);
    case 2: {
        node *l = pair(
            s, BINARY, N, 0, affine(s),
            pair(s, BINARY, N, 2, index_node(s, first), number(s, N, draw(s, 4) - 1)));
        return pair(s, COMPARE, B, 0, l, index_node(s, draw(s, s->nindex)));
    }
    default: {
        node *read = new_node(s, READ, N);
        read->op = 3;
        read->args[0] = clamped(s, index_node(s, first), arrays[3].dims[0]);
        node *test = pair(s, COMPARE, B, 0, read, index_node(s, draw(s, s->nindex)));
        return draw(s, 3) ? test : pair(s, LOGIC, B, 0, test, condition(s, 0));
    }
    }
}

static const char *const reducers[] = { "sum", "max", "min", "argmax", "argmin_last" };

static node *reduction(struct state *s, int dtype, int depth)
{
    node *n = new_node(s, REDUCE, dtype);
    int of = dtype;
    n->op = draw(s, 3);
    if (dtype == N) {
        n->op = 3 + draw(s, 2);
        of = draw(s, 2) ? F : Q;
    }
    n->first = s->nindex;
    n->nvar = 1 + (draw(s, 3) == 0 && s->nindex + 2 < MAX_INDEX);
    for (int i = 0; i < n->nvar; i++) {
        n->extents[i] = s->extents[s->nindex++] =
            draw(s, 8) == 0 ? draw(s, 2) : 2 + draw(s, 6);
    }
    n->args[1] = reduction_condition(s, n->first);
    n->args[0] = generate(s, of, depth - 1, 0);
    if (draw(s, 4) == 0) {
        node *guarded = generate(s, of, 0, 1);
        n->args[0] = pair(s, ELSE, of, 0, guarded, n->args[0]);
    }
    s->nindex = n->first;
    return n;
}

static node *leaf(struct state *s, int dtype, int guarded)
{
    if (dtype == B)
        return condition(s, 0);
    if (dtype == N)
        return affine(s);
    return draw(s, 4) ? read_node(s, dtype, guarded) : number(s, dtype, draw(s, 9) - 4);
}

/* `guarded`: on the left of an else, where reads may be out of bounds. */
static node *generate(struct state *s, int dtype, int depth, int guarded)
{
    if (depth <= 0)
        return leaf(s, dtype, guarded);
    switch (draw(s, guarded ? 5 : 9)) {
    case 0: return leaf(s, dtype, guarded);
    case 1:
    case 2: {
        node *n = pair(s, BINARY, dtype, draw(s, dtype == F ? 5 : 8),
                       generate(s, dtype, depth - 1, guarded), NULL);
        // what is used twice stands in a local
        n->args[1] = draw(s, 5) ? generate(s, dtype, depth - 1, guarded) : n->args[0];
        return n;
    }
    case 3:
        return pair(s, UNARY, dtype, draw(s, 3), generate(s, dtype, depth - 1, guarded),
                    NULL);
    case 4: {
        node *n =
            pair(s, SELECT, dtype, 0, condition(s, 1), generate(s, dtype, depth - 1, 0));
        n->args[2] = generate(s, dtype, depth - 1, 0);
        return n;
    }
    case 5:
    case 6:
        return pair(s, ELSE, dtype, 0, generate(s, dtype, depth - 1, 1),
                    generate(s, dtype, depth - 1, 0));
    case 7:
        if (dtype == F || dtype == Q) {
            int from = dtype == F ? (draw(s, 2) ? Q : N) : N;
            return pair(s, CAST, dtype, 0, generate(s, from, depth - 1, 0), NULL);
        }
        return leaf(s, dtype, 0);
    default:
        return s->nindex + 2 < MAX_INDEX ? reduction(s, dtype, depth) : leaf(s, dtype, 0);
    }
}

/* ---- printing ---- */

static const char *const binaries[] = {
    "+", "-", "*", "max", "min", "/", "%", "floordiv"
};
static const char *const unaries[] = { "neg", "abs", "sign" };
static const char *const compares[] = { "==", "!=", "<", "<=", ">", ">=" };

static void print(struct state *s, const node *n);

static void print_call(struct state *s, const char *name, const node *n, int narg)
{
    bt_text_addf(s->text, "%s(", name);
    for (int i = 0; i < narg; i++) {
        bt_text_addf(s->text, "%s", i ? ", " : "");
        print(s, n->args[i]);
    }
    bt_text_addf(s->text, ")");
}

static void print_infix(struct state *s, const char *sign, const node *n)
{
    bt_text_addf(s->text, "(");
    print(s, n->args[0]);
    bt_text_addf(s->text, " %s ", sign);
    print(s, n->args[1]);
    bt_text_addf(s->text, ")");
}

static void print_read(struct state *s, const node *n)
{
    bt_text_addf(s->text, n->dtype == N ? "int64(%s[" : "%s[", arrays[n->op].name);
    for (int i = 0; i < arrays[n->op].rank; i++) {
        bt_text_addf(s->text, "%s", i ? ", " : "");
        print(s, n->args[i]);
    }
    bt_text_addf(s->text, n->dtype == N ? "])" : "]");
}

static void print_reduction(struct state *s, const node *n)
{
    bt_text_addf(s->text, "%s(", reducers[n->op]);
    for (int i = 0; i < n->nvar; i++)
        bt_text_addf(s->text, "%si%d in %d", i ? ", " : "", n->first + i, n->extents[i]);
    if (n->args[1]) {
        bt_text_addf(s->text, " | ");
        print(s, n->args[1]);
    }
    bt_text_addf(s->text, ": ");
    print(s, n->args[0]);
    bt_text_addf(s->text, ")");
}

static void print(struct state *s, const node *n)
{
    switch (n->kind) {
    case NUMBER:
        bt_text_addf(s->text, "%s(%d)", dtype_names[n->dtype], (int)n->number);
        break;
    case INDEX: bt_text_addf(s->text, "i%d", n->op); break;
    case READ: print_read(s, n); break;
    case BINARY:
        if (n->op < 3 || n->op == 5 || n->op == 6)
            print_infix(s, binaries[n->op], n);
        else
            print_call(s, binaries[n->op], n, 2);
        break;
    case UNARY: print_call(s, unaries[n->op], n, 1); break;
    case COMPARE: print_infix(s, compares[n->op], n); break;
    case LOGIC: print_infix(s, n->op ? "||" : "&&", n); break;
    case SELECT: print_call(s, "select", n, 3); break;
    case ELSE: print_infix(s, "else", n); break;
    case CLAMP: print_call(s, "clamp", n, 3); break;
    case CAST: print_call(s, dtype_names[n->dtype], n, 1); break;
    default: print_reduction(s, n); break;
    }
}

/* ---- interpreting ---- */

static value interpret(struct state *s, const node *n);

static int64_t wrapped(int64_t v, int dtype)
{
    return dtype == Q ? (int8_t)v : v;
}

static double extreme_of(double x, double y, int is_most)
{
    if (x != x || y != y)
        return NAN;
    return (is_most ? x > y : x < y) ? x : y;
}

static value binary_float(int op, double x, double y)
{
    return (value){ .f = op == 0   ? x + y
                         : op == 1 ? x - y
                         : op == 2 ? x * y
                         : op == 3 ? extreme_of(x, y, 1)
                                   : extreme_of(x, y, 0) };
}

/* int64 wraps. */
static int64_t negated(int64_t x)
{
    return (int64_t)(0 - (uint64_t)x);
}

static value binary_int(int op, int dtype, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    int64_t r = y == 0 || y == -1 ? 0 : x % y;
    int64_t d = y == 0 ? 0 : y == -1 ? negated(x) : x / y;
    int64_t v = op == 0   ? (int64_t)(a + b)
                : op == 1 ? (int64_t)(a - b)
                : op == 2 ? (int64_t)(a * b)
                : op == 3 ? (x > y ? x : y)
                : op == 4 ? (x < y ? x : y)
                : op == 5 ? d
                : op == 6 ? r
                          : d - (r != 0 && (x < 0) != (y < 0));
    return (value){ .i = wrapped(v, dtype) };
}

static value interpret_read(struct state *s, const node *n)
{
    const struct array *array = &arrays[n->op];
    int64_t at = 0;
    for (int a = 0; a < array->rank; a++) {
        int64_t i = interpret(s, n->args[a]).i;
        if (i < 0 || i >= array->dims[a]) {
            s->outside = 1;
            return (value){ 0 };
        }
        at = at * array->dims[a] + i;
    }
    double v = bt_tensor_get(s->tensors[n->op], at);
    return (value){ .f = v, .i = (int64_t)v };
}

/* The side alone: what it reads is not the business of an else around. */
static value interpret_side(struct state *s, const node *n)
{
    int outside = s->outside;
    s->outside = 0;
    value v = interpret(s, n);
    assert_false(s->outside);
    s->outside = outside;
    return v;
}

static value interpret_else(struct state *s, const node *n)
{
    int outside = s->outside;
    s->outside = 0;
    value v = interpret(s, n->args[0]);
    int failed = s->outside;
    s->outside = outside;
    return failed ? interpret_side(s, n->args[1]) : v;
}

static value interpret_compare(struct state *s, const node *n)
{
    value x = interpret(s, n->args[0]), y = interpret(s, n->args[1]);
    int is_float = n->args[0]->dtype == F;
    int less = is_float ? x.f < y.f : x.i < y.i;
    int same = is_float ? x.f == y.f : x.i == y.i;
    const int holds[] = { same, !same, less, less || same, !less && !same, !less };
    return (value){ .i = holds[n->op] };
}

static value interpret_reduction(struct state *s, const node *n)
{
    int of = n->args[0]->dtype, best = -1;
    double extreme = 0, sum = 0;
    int64_t total = 0, taken = 0;
    int count = n->extents[0] * (n->nvar > 1 ? n->extents[1] : 1);
    for (int k = 0; k < count; k++) {
        s->at[n->first] = n->nvar > 1 ? k / n->extents[1] : k;
        s->at[n->first + 1] = n->nvar > 1 ? k % n->extents[1] : 0;
        if (n->args[1] && !interpret(s, n->args[1]).i)
            continue;
        value v = interpret(s, n->args[0]);
        double x = of == F ? v.f : (double)v.i;
        int wants_most = n->op == 1 || n->op == 3;
        sum += v.f;
        total = (int64_t)((uint64_t)total + (uint64_t)v.i);
        int is_better = x != x       ? extreme == extreme
                        : wants_most ? x > extreme
                                     : x < extreme;
        int is_same = x == extreme || (x != x && extreme != extreme);
        if (!taken++ || is_better || (is_same && n->op == 4)) {
            extreme = x;
            best = k;
        }
    }
    if (n->op >= 3)
        return (value){ .i = best };
    if (n->op == 0)
        return (value){ .f = sum, .i = wrapped(total, n->dtype) };
    if (!taken)
        return (value){ .f = n->op == 1 ? -INFINITY : INFINITY,
                        .i = n->op == 1 ? -128 : 127 };
    return (value){ .f = extreme, .i = (int64_t)extreme };
}

static value interpret_cast(struct state *s, const node *n)
{
    value v = interpret(s, n->args[0]);
    if (n->dtype == F)
        return (value){ .f = (float)v.i };
    return (value){ .i = wrapped(v.i, n->dtype) };
}

static value interpret(struct state *s, const node *n)
{
    value x, y;
    switch (n->kind) {
    case NUMBER: return (value){ .f = n->number, .i = (int64_t)n->number };
    case INDEX: return (value){ .i = s->at[n->op] };
    case READ: return interpret_read(s, n);
    case BINARY:
        x = interpret(s, n->args[0]);
        y = interpret(s, n->args[1]);
        return n->dtype == F ? binary_float(n->op, x.f, y.f)
                             : binary_int(n->op, n->dtype, x.i, y.i);
    case UNARY:
        x = interpret(s, n->args[0]);
        x.f = n->op == 0   ? -x.f
              : n->op == 1 ? fabs(x.f)
              : x.f < 0    ? -1
              : x.f > 0    ? 1
                           : x.f; // zeros and NaN stay
        x.i = n->op == 0   ? negated(x.i)
              : n->op == 1 ? (x.i < 0 ? negated(x.i) : x.i)
                           : (x.i > 0) - (x.i < 0);
        return (value){ .f = x.f, .i = wrapped(x.i, n->dtype) };
    case COMPARE: return interpret_compare(s, n);
    case LOGIC:
        x = interpret(s, n->args[0]);
        y = interpret(s, n->args[1]);
        return (value){ .i = n->op ? x.i || y.i : x.i && y.i };
    case SELECT: return interpret_side(s, n->args[interpret(s, n->args[0]).i ? 1 : 2]);
    case ELSE: return interpret_else(s, n);
    case CLAMP:
        x = interpret(s, n->args[0]);
        y = interpret(s, n->args[2]);
        return (value){ .i = x.i < 0 ? 0 : x.i > y.i ? y.i : x.i };
    case CAST: return interpret_cast(s, n);
    default: return interpret_reduction(s, n);
    }
}

/* ---- comparing ---- */

static void compare(struct state *s, const node *n, const bt_tensor *y)
{
    for (int64_t k = 0; k < y->nelem; k++) {
        s->at[0] = k / s->extents[1];
        s->at[1] = k % s->extents[1];
        s->outside = 0;
        value v = interpret(s, n);
        assert_false(s->outside);
        double expected = n->dtype == F ? (float)v.f : (double)v.i;
        double got = bt_tensor_get(y, k);
        if (got != expected && (got == got || expected == expected))
            fail_msg("[%d, %d]: %g, expected %g\n%s", (int)s->at[0], (int)s->at[1],
                     bt_tensor_get(y, k), expected, bt_text_get(s->text));
    }
}

static bt_loops *parse_loops(struct world *w, bt_arena *arena, bt_loops *loops,
                             bt_text *text)
{
    bt_loops *parsed;
    bt_text again;
    bt_text_init(text, arena);
    assert_ok(w->ctx, bt_loops_print(loops, text));
    assert_ok(w->ctx, loops_parse(w->ctx, arena, "loops", text->at, text->len, &parsed));
    bt_text_init(&again, arena);
    assert_ok(w->ctx, bt_loops_print(parsed, &again));
    assert_string_equal(bt_text_get(&again), text->at);
    return parsed;
}

static void run_loops(struct world *w, struct state *s, const bt_loops *loops,
                      const bt_tensor *expected, uint64_t seed, const char *said)
{
    void *data[NARRAY + 1];
    bt_tensor *y = tensor_new(w, expected->dtype, expected->rank, expected->dims);
    for (int i = 0; i < NARRAY; i++)
        data[i] = s->tensors[i]->data;
    data[NARRAY] = y->data;
    struct run_options options = { .seed = seed };
    bt_status status = loops_run(w->ctx, loops, data, &options);
    if (status) {
        fprintf(stderr, "%s\n", said);
        fail_msg("%s\n%s", status->message, bt_text_get(s->text));
    }
    for (int64_t i = 0; i < y->nelem; i++) {
        double got = bt_tensor_get(y, i), want = bt_tensor_get(expected, i);
        if (got != want && (got == got || want == want)) {
            fprintf(stderr, "%s\n", said);
            fail_msg("element %d: %g, expected %g\n%s", (int)i, got, want,
                     bt_text_get(s->text));
        }
    }
    bt_tensor_unref(y);
}

#ifdef RANDOM_BY_STRIPS
#include "random_by_strips.h"
#endif

/* The loops of the graph give the bits that the evaluator gave, and so they do after
 * transforms. */
static void check_loops(struct world *w, struct state *s, bt_compute *compute,
                        const bt_tensor *expected, uint64_t seed)
{
    bt_arena *arena = bt_arena_create(w->registry);
    bt_loops *loops;
    bt_text text, done;
    assert_ok(w->ctx, bt_loops_lower(w->ctx, arena, "formula", compute->graph, &loops));
    bt_loops *parsed = parse_loops(w, arena, loops, &text);
    run_loops(w, s, parsed, expected, 0, text.at);
    struct transforming t = { .ctx = w->ctx, .loops = loops, .random = seed };
    bt_text_init(&done, arena);
    bt_text_addf(&done, "%s", text.at);
    transform_randomly(&t, 1 + (uint32_t)draw(s, 12), &done);
    for (uint32_t i = 0; i < NTRY; i++)
        s->ndone[i] += t.ndone[i];
    parsed = parse_loops(w, arena, loops, &text);
    bt_text_addf(&done, "\n%s", text.at);
    run_loops(w, s, parsed, expected, seed, done.at);
#ifdef RANDOM_BY_STRIPS
    check_by_strips(w, s, parsed, expected, done.at);
    check_scheduled(w, s, compute->graph, expected);
#endif
    bt_arena_destroy(arena);
}

/* What is written of its graph is that graph again. */
static void check_text(struct world *w, const struct state *s, const bt_op *op)
{
    const bt_type *args[NARRAY];
    bt_graph *graph;
    for (uint32_t i = 0; i < NARRAY; i++)
        args[i] = type_of_tensor(w, s->tensors[i], 0);
    const bt_formula_call call = {
        .op = op, .narg = NARRAY, .args = args, .result = any_result(w, 1)
    };
    bt_arena *arena = bt_arena_create(w->registry);
    assert_ok(w->ctx, bt__call_compose(w->ctx, arena, &call, &graph));
    (void)text_again(w, arena, graph, &call);
    bt_arena_destroy(arena);
}

static void check_one(struct world *w, struct state *s, uint64_t seed)
{
    bt_text text;
    struct formula f = { .text = NULL };
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    s->text = &text;
    s->random = seed * 2862933555777941757u + 3037000493u;
    s->npool = 0;
    s->nindex = 2;
    s->extents[0] = draw(s, 12) ? 1 + draw(s, 6) : 0;
    s->extents[1] = draw(s, 12) ? 1 + draw(s, 9) : 300;
    node *body = generate(s, draw(s, 3), 1 + draw(s, 3), 0);
    bt_text_addf(&text, "y: %s[i0 in %d, i1 in %d] = ", dtype_names[body->dtype],
                 s->extents[0], s->extents[1]);
    print(s, body);
    for (int i = 0; i < NARRAY; i++) {
        f.inputs[i].name = arrays[i].name;
        f.inputs[i].type = "?";
    }
    f.text = bt_text_get(&text);
    bt_tensor *out[1] = { NULL };
    bt_op op = formula_op(&f);
    bt_compute *compute = NULL;
    bt_status status = formula_make(w, &f, &op, NARRAY, s->tensors, &compute);
    if (!status)
        status = bt_compute_run(w->ctx, compute, NARRAY,
                                (const bt_tensor *const *)s->tensors, out);
    if (status)
        fail_msg("seed %d: %s\n%s", (int)seed, status->message, f.text);
    compare(s, body, out[0]);
    check_loops(w, s, compute, out[0], seed);
    check_text(w, s, &op);
    bt_compute_destroy(compute);
    bt_tensor_unref(out[0]);
}

static void check_seeds(uint64_t first, uint64_t n)
{
    struct world w = world_open();
    struct state s = { .pool = calloc(20000, sizeof(node)) };
    assert_non_null(s.pool);
    for (int i = 0; i < NARRAY; i++)
        s.tensors[i] =
            tensor_random(&w,
                          i == 2   ? BT_INT8
                          : i == 3 ? BT_INT32
                                   : BT_FLOAT32,
                          (uint64_t)i, (uint32_t)arrays[i].rank, arrays[i].dims);
    for (uint64_t seed = first; seed < first + n; seed++) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        check_one(&w, &s, seed);
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
        bt_ctx_clear_diags(w.ctx);
    }
    // each must have been tried for the test to say anything of it; some are rarely legal.
    // Merge and shrink need two loops in a row, which the chains of unit.transforms have.
    for (uint32_t i = 0; i < NTRY; i++) {
        if (n >= 3000 && first == 1 && i != TRY_MERGE && i != TRY_SHRINK &&
            s.ndone[i] == 0)
            fail_msg("%s was never legal", try_names[i]);
    }
#ifdef RANDOM_BY_STRIPS
    if (n >= 1000 && s.nalias == 0)
        fail_msg("nothing was run in place");
    if (getenv("SHOW"))
        printf("%u programs in place\n", s.nalias);
#endif
    for (int i = 0; i < NARRAY; i++)
        bt_tensor_unref(s.tensors[i]);
    free(s.pool);
    world_close(&w);
}

static void test_random_formulas_agree_with_an_interpreter(void **state)
{
    (void)state;
    const char *first = getenv("FORMULA_SEED"), *count = getenv("FORMULA_COUNT");
    check_seeds(first ? strtoull(first, NULL, 10) : 1,
                count ? strtoull(count, NULL, 10) : 3000);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_formulas_agree_with_an_interpreter),
};
TEST_MAIN(tests)
