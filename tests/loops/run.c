/*
 * Loops run element by element, in the evaluator's arithmetic: floats in float64, rounded
 * where they are stored or cast. Slow, and meant to be: it is what transformations of
 * loops are tested by.
 */
#include <inttypes.h>
#include <string.h>

#include "compute/graph/graph.h"
#include "loops_oracle.h"

struct runner {
    bt_ctx *ctx;
    const bt_loops *loops;
    char **data;    /* of each buffer */
    int64_t *nelem; /* likewise */
    int64_t values[BT_MAX_INDEX];
    struct run_options options;
    bt_status status;
};

typedef bt_cell cell;

static cell eval(struct runner *r, const bt_node *node);

static int element(struct runner *r, uint32_t buffer, int64_t offset, char **out)
{
    const bt_array *array = r->loops->graph->arrays[buffer];
    if (offset < 0 || offset >= r->nelem[buffer]) {
        if (!r->status)
            r->status = bt_fail(r->ctx, BT_ERR_RUNTIME,
                                "%s: element %" PRId64 " of %s, which has %" PRId64,
                                r->loops->name, offset, array->name, r->nelem[buffer]);
        return 0;
    }
    *out = r->data[buffer] + (size_t)offset * bt_dtype_nbytes(array->dtype);
    return 1;
}

static cell eval_linear(struct runner *r, const bt_node *node)
{
    uint64_t sum = (uint64_t)node->value.i;
    for (uint32_t i = 0; i < node->narg; i++)
        sum += (uint64_t)node->coefs[i] * (uint64_t)eval(r, node->args[i]).i;
    return (cell){ .i = (int64_t)sum };
}

static cell eval_scalar(struct runner *r, const bt_node *node)
{
    cell args[2] = { { .i = 0 }, { .i = 0 } };
    bt_dtype of = node->args[0]->dtype;
    for (uint32_t i = 0; i < node->narg; i++)
        args[i] = eval(r, node->args[i]);
    return bt_scalar_eval(node->which, of, args);
}

/* Expressions nest as deep as those of a graph may. */
static cell eval(struct runner *r, const bt_node *node)
{
    char *at;
    if (r->status)
        return (cell){ .i = 0 };
    switch (node->kind) {
    case BT_NODE_CONST: return node->value;
    case BT_NODE_INDEX: return (cell){ .i = r->values[node->which] };
    case BT_NODE_DIM: return (cell){ .i = r->options.dims[node->which] };
    case BT_NODE_LINEAR: return eval_linear(r, node);
    case BT_NODE_SCALAR: return eval_scalar(r, node);
    case BT_NODE_CAST:
        return bt_cell_cast(eval(r, node->args[0]), node->args[0]->dtype, node->dtype);
    case BT_NODE_SELECT: return eval(r, node->args[eval(r, node->args[0]).i ? 1 : 2]);
    default:
        return element(r, node->which, eval(r, node->args[0]).i, &at)
                   ? bt_cell_load(at, node->dtype)
                   : (cell){ .i = 0 };
    }
}

static void run_block(struct runner *r, const bt_stmts *stmts);

static bt_dtype dtype_of(const struct runner *r, uint32_t buffer)
{
    return r->loops->graph->arrays[buffer]->dtype;
}

static void run_take(struct runner *r, const bt_stmt *stmt)
{
    const struct bt__reducer *row = bt__reducer_get(stmt->reducer);
    bt_dtype dtype = dtype_of(r, stmt->buffer);
    int64_t offset = eval(r, stmt->offset).i;
    cell value = eval(r, stmt->value), acc, acc2 = { .i = 0 };
    char *at, *at2 = NULL;
    if (!element(r, stmt->buffer, offset, &at) ||
        (row->nstate > 1 && !element(r, stmt->buffer2, offset, &at2)) || r->status)
        return;
    acc = bt_cell_load(at, dtype);
    if (at2)
        acc2 = bt_cell_load(at2, dtype_of(r, stmt->buffer2));
    bt__reducer_take(stmt->reducer, stmt->of)(
        1, &acc, &acc2, 0, &value, 0, stmt->position ? eval(r, stmt->position).i : 0, 0);
    bt_cell_store(at, dtype, acc);
    if (at2)
        bt_cell_store(at2, dtype_of(r, stmt->buffer2), acc2);
}

/* ---- iterations in any order ---- */

static int64_t draw(struct runner *r, int64_t below)
{
    r->options.seed = r->options.seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((r->options.seed >> 33) % (uint64_t)below);
}

/* first + i * step modulo the extent meets every iteration once. */
static void draw_order(struct runner *r, int64_t extent, int64_t *first, int64_t *step)
{
    int64_t most = extent < INT32_MAX ? extent : INT32_MAX;
    *first = draw(r, most);
    do {
        *step = 1 + draw(r, most);
    } while (bt_gcd_int64(*step, extent) != 1);
}

/* Locals go to a place of `keep`, or come back from there; NULL: they get rubbish. */
static void move_locals(struct runner *r, char *keep, int is_back)
{
    const bt_graph *g = r->loops->graph;
    for (uint32_t i = 0; i < g->narray; i++) {
        size_t nbytes = (size_t)r->nelem[i] * bt_dtype_nbytes(g->arrays[i]->dtype);
        if (r->loops->roles.at[i] != BT_BUFFER_LOCAL || !nbytes)
            continue;
        if (!keep) {
            memset(r->data[i], 0x55, nbytes);
            continue;
        }
        memcpy(is_back ? r->data[i] : keep, is_back ? keep : r->data[i], nbytes);
        keep += nbytes;
    }
}

/* What an iteration does with locals is not seen by the loop around. */
static char *keep_locals(struct runner *r)
{
    const bt_graph *g = r->loops->graph;
    size_t total = 1;
    for (uint32_t i = 0; i < g->narray; i++) {
        if (r->loops->roles.at[i] == BT_BUFFER_LOCAL)
            total += (size_t)r->nelem[i] * bt_dtype_nbytes(g->arrays[i]->dtype);
    }
    char *keep = BT_NEWS(bt_ctx_scratch(r->ctx), char, total);
    if (keep)
        move_locals(r, keep, 0);
    else
        r->status = bt_no_memory();
    return keep;
}

static void run_for(struct runner *r, const bt_stmt *stmt)
{
    int is_shuffled = stmt->is_parallel && r->options.seed;
    int64_t first = 0, step = 1, extent = eval(r, stmt->extent).i;
    const void *mark = bt_arena_mark(bt_ctx_scratch(r->ctx));
    char *keep = is_shuffled ? keep_locals(r) : NULL;
    if (is_shuffled && extent > 0)
        draw_order(r, extent, &first, &step);
    for (int64_t i = 0; i < extent && !r->status; i++) {
        if (is_shuffled)
            move_locals(r, NULL, 0);
        r->values[stmt->index] = (first + i * step) % extent;
        run_block(r, &stmt->body);
        if (!r->status && bt_ctx_cancelled(r->ctx))
            r->status =
                bt_fail(r->ctx, BT_ERR_CANCELLED, "%s: cancelled", r->loops->name);
    }
    if (keep)
        move_locals(r, keep, 1);
    bt_arena_release(bt_ctx_scratch(r->ctx), mark);
}

static void run_store(struct runner *r, const bt_stmt *stmt)
{
    char *at;
    cell value = eval(r, stmt->value);
    if (element(r, stmt->buffer, eval(r, stmt->offset).i, &at) && !r->status)
        bt_cell_store(at, dtype_of(r, stmt->buffer), value);
}

static void run_check(struct runner *r, const bt_stmt *stmt)
{
    if (!eval(r, stmt->condition).i && !r->status)
        r->status =
            bt_fail(r->ctx, BT_ERR_RUNTIME,
                    "%s: an index is out of bounds of axis %u of %s, whose "
                    "extent is %" PRId64,
                    r->loops->name, stmt->axis, stmt->array, eval(r, stmt->extent).i);
}

static void run_call(struct runner *r, const bt_stmt *stmt)
{
    bt_arena *scratch = bt_ctx_scratch(r->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct call_value *values = BT_NEWS(scratch, struct call_value, stmt->narg);
    if (!r->options.call) {
        r->status = bt_fail(r->ctx, BT_ERR_UNSUPPORTED,
                            "%s: %s is a kernel of a target: it is not run here",
                            r->loops->name, stmt->callee);
        return;
    }
    for (uint32_t i = 0; values && i < stmt->narg; i++) {
        const bt_call_arg *arg = &stmt->args[i];
        char *at;
        values[i].integer = eval(r, arg->value).i;
        if (!arg->is_address || !element(r, arg->buffer, values[i].integer, &at))
            continue;
        values[i].address = at;
        values[i].nelem = r->nelem[arg->buffer] - values[i].integer;
    }
    if (!r->status)
        r->status =
            values ? r->options.call(r->options.self, stmt->callee, stmt->narg, values)
                   : bt_no_memory();
    bt_arena_release(scratch, mark);
}

static void run_block(struct runner *r, const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len && !r->status; i++) {
        const bt_stmt *stmt = stmts->at[i];
        switch (stmt->kind) {
        case BT_STMT_FOR: run_for(r, stmt); break;
        case BT_STMT_IF:
            run_block(r, eval(r, stmt->condition).i ? &stmt->body : &stmt->otherwise);
            break;
        case BT_STMT_STORE: run_store(r, stmt); break;
        case BT_STMT_TAKE: run_take(r, stmt); break;
        case BT_STMT_CHECK: run_check(r, stmt); break;
        default: run_call(r, stmt);
        }
    }
}

static bt_status check_dims(const struct runner *r)
{
    const bt_graph *g = r->loops->graph;
    if (g->ndim && !r->options.dims)
        return bt_fail(r->ctx, BT_ERR_ARGUMENT,
                       "%s has %u dim%s, of which no value was given", r->loops->name,
                       g->ndim, g->ndim == 1 ? "" : "s");
    for (uint32_t i = 0; i < g->ndim; i++) {
        if (r->options.dims[i] < g->dims[i]->low || r->options.dims[i] > g->dims[i]->high)
            return bt_fail(r->ctx, BT_ERR_ARGUMENT,
                           "%s: %s is %" PRId64 ", expected %" PRId64 " to %" PRId64,
                           r->loops->name, g->dims[i]->name, r->options.dims[i],
                           g->dims[i]->low, g->dims[i]->high);
    }
    return NULL;
}

/* Room for the buffers that nobody gives. */
static bt_status make_buffers(struct runner *r, void *const *data)
{
    const bt_graph *g = r->loops->graph;
    bt_arena *scratch = bt_ctx_scratch(r->ctx);
    r->data = BT_NEWS(scratch, char *, g->narray);
    r->nelem = BT_NEWS(scratch, int64_t, g->narray);
    if (!r->data || !r->nelem)
        return bt_no_memory();
    for (uint32_t i = 0, given = 0; i < g->narray; i++) {
        r->nelem[i] = eval(r, g->arrays[i]->extents[0]).i;
        if (r->nelem[i] < 0 ||
            (uint64_t)r->nelem[i] > bt_ctx_limits(r->ctx)->bytes / sizeof(int64_t))
            return bt_fail(r->ctx, BT_ERR_RUNTIME,
                           "%s: %s would have %" PRId64
                           " elements, which is not possible",
                           r->loops->name, g->arrays[i]->name, r->nelem[i]);
        size_t nbytes = (size_t)r->nelem[i] * bt_dtype_nbytes(g->arrays[i]->dtype);
        uint32_t role = r->loops->roles.at[i];
        r->data[i] = role == BT_BUFFER_INPUT || role == BT_BUFFER_OUTPUT
                         ? data[given++]
                         : BT_NEWS(scratch, char, nbytes);
        if (!r->data[i] && nbytes)
            return bt_no_memory();
    }
    return NULL;
}

bt_status loops_run(bt_ctx *ctx, const bt_loops *loops, void *const *data,
                    const struct run_options *options)
{
    struct runner r = { .ctx = ctx, .loops = loops };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    if (options)
        r.options = *options;
    r.status = check_dims(&r);
    if (!r.status)
        r.status = make_buffers(&r, data);
    if (r.options.seed && !r.status)
        move_locals(&r, NULL, 0);
    run_block(&r, &loops->body);
    bt_arena_release(scratch, mark);
    return r.status;
}
