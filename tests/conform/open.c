/*
 * Operators with dims that are known at the call, against the same with numbers.
 *
 *     conform_open PLUGINS PLUGIN [OPERATOR [TARGET [EVERY]]]
 *     conform_open PLUGINS --stages FIRST COUNT [TARGET]
 *
 * Every case of the plugin's operators and those made from it (case_vary.h), alone and with
 * `negative` before and behind it, is composed once with its sizes above 1 as dims of the
 * function, and lowered to loops that have these dims. They must run to the bits that the
 * loops of the numbers give: at the case's sizes, at each one more and one less, 0, 1 and
 * 65. So must the evaluator, which puts the numbers in where the function has dims. What
 * cannot be composed so is counted, with the reason; what cannot be computed at some sizes
 * by numbers is left out there.
 *
 * Calls that broadcast an extent of 1 are tried with this extent as a dim too, beside numbers
 * and beside dims: at 1, and as long as what it stands beside.
 *
 * With a target, its kernels are compared in place of loops and the evaluator; what it leaves
 * to the evaluator, or refuses, is counted as not open. OPERATOR may be "". Where EVERY is given,
 * only each EVERY-th case of an operator is tried.
 *
 * With --stages it is COUNT random formulas of several stages (stages.h), at sizes of which
 * each is 1 or one number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_vary.h"
#include "loops_oracle.h"
#include "open.h"
#include "stages.h"

/* ---- functions ---- */

/* A variable for a size, or the number that is tried in its place. */
static const bt_type *dim_of(void *self, bt_store *store, int64_t size)
{
    struct trial *t = self;
    bt_type_param param = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    char name[24];
    uint32_t i = 0;
    if (size < 1 || (size == 1 && t->what == OPEN_SIZES) ||
        (size > 1 && t->what == OPEN_ONES))
        return bt_dim(store, size);
    while (i < t->ndim && t->sizes[i] != size)
        i++;
    if (i == MAX_DIMS)
        return bt_dim(store, size);
    if (i == t->ndim) {
        snprintf(name, sizeof(name), "n%lld", (long long)size);
        t->sizes[i] = t->values[i] = size;
        t->vars[i] = bt_type_var(store, &param, bt_name_of(store, name));
        t->ndim++;
    }
    return t->is_open ? t->vars[i] : bt_dim(store, t->values[i]);
}

static bt_status build_func(struct trial *t, const struct call_case *c,
                            const bt_op *around, const bt_func **out)
{
    const bt_call *call;
    bt_module *module;
    struct call_result r = { 0 };
    BT_TRY(call_build(&t->w, c, NULL, dim_of, t, NULL, &call));
    r.call = call;
    BT_TRY(call_module(&t->w, c, &r, around, &module));
    bt_func fields = *bt_module_find(module, "main")->func;
    if (t->is_open) {
        fields.nvar = t->ndim;
        fields.vars = t->vars;
    }
    bt_status status = bt_func_create(t->w.ctx, t->w.store, &fields, out);
    bt_module_unref(module);
    return status;
}

static const bt_type *value_of(bt_subst *subst, const bt_type *leaf)
{
    const struct trial *t = subst->state;
    for (uint32_t i = 0; i < t->ndim; i++) {
        if (t->vars[i] == leaf)
            return bt_dim(t->w.store, t->values[i]);
    }
    return NULL;
}

static int64_t number(struct trial *t, const bt_type *dim)
{
    bt_subst subst = { .leaf = value_of, .state = t };
    int64_t value = -1;
    const bt_type *known = bt_type_subst(t->w.store, &subst, dim);
    return known && bt_dim_is_const(known, &value) ? value : -1;
}

/* How many checks of a relation the calls of a function have that hold, or fail, at the
 * values. */
static uint32_t count_checks(struct trial *t, const bt_func *func, int holds,
                             uint32_t relation)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nbinding; i++) {
        const bt_call *call = bt_as_call(func->block->bindings[i]);
        for (uint32_t k = 0; call && k < call->ncheck; k++) {
            const bt_check *check = &call->checks[k];
            n += check->relation == relation &&
                 bt_check_holds(relation, number(t, check->left),
                                number(t, check->right)) == holds;
        }
    }
    return n;
}

static bt_status make_loops(struct trial *t, bt_arena *arena, const bt_func *func,
                            bt_loops **out)
{
    bt_graph *graph;
    BT_TRY(bt_graph_compose(t->w.ctx, arena, func, &graph));
    BT_TRY(bt_graph_verify(t->w.ctx, arena, graph));
    return bt_loops_lower(t->w.ctx, arena, "main", graph, out);
}

/* ---- running ---- */

/* Turns of all loops, at most. */
static double count_turns(const bt_stmts *stmts)
{
    double n = 1;
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        double inner = count_turns(&stmt->body) + count_turns(&stmt->otherwise);
        n += stmt->kind == BT_STMT_FOR ? (double)bt_node_number(stmt->extent) * inner
                                       : inner;
    }
    return n;
}

/* Values of the inputs in the order of the loops' buffers; of outputs, room. */
static bt_status make_data(struct trial *t, const struct call_case *c,
                           const bt_loops *loops, bt_arena *arena, void **data,
                           bt_tensor **in)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loops->roles.len; i++) {
        int64_t nelem = bt_loops_nelem(loops, i);
        bt_dtype dtype = loops->graph->arrays[i]->dtype;
        if (loops->roles.at[i] == BT_BUFFER_INPUT) {
            struct case_leaf leaf = c->leaves[n];
            for (uint32_t a = 0; a < leaf.rank; a++) {
                for (uint32_t k = 0; k < t->ndim; k++) {
                    if (t->sizes[k] == c->leaves[n].dims[a])
                        leaf.dims[a] = t->values[k];
                }
            }
            BT_TRY(case_values(t->w.ctx, &leaf, 11 + n, CASE_RANDOM, &in[n]));
            data[n] = in[n]->data;
            n++;
        } else if (loops->roles.at[i] == BT_BUFFER_OUTPUT) {
            data[n] = BT_NEWS(arena, char, (size_t)nelem *bt_dtype_nbytes(dtype) + 1);
            if (!data[n])
                return bt_no_memory();
            memset(data[n++], 0x5a, (size_t)nelem * bt_dtype_nbytes(dtype));
        }
    }
    return NULL;
}

static int too_large(const bt_loops *loops)
{
    for (uint32_t i = 0; i < loops->roles.len; i++) {
        if (bt_loops_nelem(loops, i) > MAX_NELEM)
            return 1;
    }
    return count_turns(&loops->body) > MAX_TURNS;
}

static void fault(struct trial *t, const struct call_case *c, const char *what)
{
    char sizes[200] = "";
    for (uint32_t i = 0; i < t->ndim; i++)
        snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes), " n%lld=%lld",
                 (long long)t->sizes[i], (long long)t->values[i]);
    case_fault(&t->w, c, "with dims%s: %s", sizes, what);
}

static bt_status evaluate(struct trial *t, const bt_func *func, uint32_t nin,
                          bt_tensor *const *in, bt_compute **compute, bt_tensor **out)
{
    BT_TRY(bt_compute_create_func(t->w.ctx, func, t->values, compute));
    return bt_compute_run(t->w.ctx, *compute, nin, (const bt_tensor *const *)in, out);
}

static int is_nan(bt_dtype dtype, const void *at)
{
    double d = 0;
    float f;
    uint16_t h;
    uint8_t b;
    if (bt_dtype_nbytes(dtype) == sizeof(b)) {
        memcpy(&b, at, sizeof(b));
        d = (double)(dtype == BT_FLOAT8_E4M3FN     ? bt_float8_e4m3fn_to_float(b)
                     : dtype == BT_FLOAT8_E4M3FNUZ ? bt_float8_e4m3fnuz_to_float(b)
                     : dtype == BT_FLOAT8_E5M2     ? bt_float8_e5m2_to_float(b)
                                                   : bt_float8_e5m2fnuz_to_float(b));
    } else if (dtype == BT_FLOAT16 || dtype == BT_BFLOAT16) {
        memcpy(&h, at, sizeof(h));
        d = (double)(dtype == BT_FLOAT16 ? bt_half_to_float(h) : bt_bfloat_to_float(h));
    } else if (dtype == BT_FLOAT32) {
        memcpy(&f, at, sizeof(f));
        d = (double)f;
    } else {
        memcpy(&d, at, sizeof(d));
    }
    return d != d;
}

static int same_float4(size_t nbytes, const unsigned char *x, const unsigned char *y)
{
    for (int64_t i = 0; i < 2 * (int64_t)nbytes; i++) {
        if (bt_float4_e2m1fn_to_float(bt_packed_get(x, i, 4)) !=
            bt_float4_e2m1fn_to_float(bt_packed_get(y, i, 4)))
            return 0;
    }
    return 1;
}

/* But for the sign of a zero: a sum over an extent of 1 is its one term, -0 too, and where
 * that is not known it is 0 + -0; and of a target for the bits of a NaN: what is computed by
 * the processor may set others than what is known before. */
static int are_same(const struct trial *t, bt_dtype dtype, size_t nbytes, const void *a,
                    const void *b)
{
    const size_t width = bt_dtype_nbytes(dtype);
    const unsigned char *x = a, *y = b;
    int is_float = (BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(dtype)) != 0;
    if (!nbytes || memcmp(a, b, nbytes) == 0)
        return 1;
    if (!width)
        return dtype == BT_FLOAT4_E2M1FN && same_float4(nbytes, x, y);
    for (size_t i = 0; i < nbytes; i++) {
        if (t->target && is_float && is_nan(dtype, x + i / width * width) &&
            is_nan(dtype, y + i / width * width))
            continue;
        int is_sign =
            is_float && i % width == width - 1 && (x[i] ^ y[i]) == 0x80 &&
            is_nan(dtype, x + i / width * width) == is_nan(dtype, y + i / width * width);
        int is_zero = is_sign && (x[i] & 0x7f) == 0;
        for (size_t k = 1; is_zero && k < width; k++)
            is_zero = x[i - k] == 0;
        if (x[i] != y[i] && !is_zero)
            return 0;
    }
    return 1;
}

/* The evaluator with numbers, and with dims that it binds. */
static void compare_evaluated(struct trial *t, const struct call_case *c,
                              const bt_func *known, const bt_func *func, uint32_t nin,
                              bt_tensor *const *in)
{
    bt_compute *numbers = NULL, *dims = NULL;
    bt_tensor *want[CALL_MAX_OUT] = { 0 }, *got[CALL_MAX_OUT] = { 0 };
    bt_status by_numbers = evaluate(t, known, nin, in, &numbers, want);
    bt_status by_dims = evaluate(t, func, nin, in, &dims, got);
    if (!by_numbers != !by_dims)
        fault(t, c, case_message(&t->w, by_dims ? by_dims : by_numbers));
    for (uint32_t i = 0; !by_numbers && !by_dims && i < bt_compute_nout(numbers); i++) {
        size_t nbytes = bt_tensor_nbytes(want[i]);
        if (want[i]->nelem != got[i]->nelem ||
            (nbytes && memcmp(want[i]->data, got[i]->data, nbytes) != 0))
            fault(t, c, "the evaluator gives other bits than with numbers");
    }
    for (uint32_t i = 0; i < CALL_MAX_OUT; i++) {
        bt_tensor_unref(want[i]);
        bt_tensor_unref(got[i]);
    }
    bt_compute_destroy(numbers);
    bt_compute_destroy(dims);
}

/* ---- comparing ---- */

enum { GUARD = 64 }; /* bytes behind each output */

static int is_guard_whole(const char *at)
{
    for (int i = 0; i < GUARD; i++) {
        if (at[i] != (char)0xa5)
            return 0;
    }
    return 1;
}

static bt_status compare(struct trial *t, const struct call_case *c, bt_arena *arena,
                         const bt_func *func, const bt_loops *open,
                         const struct kernels *kernels, const bt_op *around)
{
    const bt_func *known;
    bt_loops *loops;
    bt_tensor *in[CASE_MAX_LEAF] = { 0 };
    void *data[2][CASE_MAX_LEAF + CALL_MAX_OUT];
    if (count_checks(t, func, 0, BT_CHECK_BROADCAST))
        return NULL;
    t->is_open = 0;
    bt_status status = build_func(t, c, around, &known);
    if (!status)
        status = make_loops(t, arena, known, &loops);
    if (status) // these sizes do not fit each other, or the attributes
        return status->code == BT_ERR_MEMORY ? status : NULL;
    if (too_large(loops))
        return NULL;
    struct run_options options = { .dims = t->values };
    uint32_t nin = count_buffers(loops, BT_BUFFER_INPUT);
    if (nin != count_buffers(open, BT_BUFFER_INPUT) || nin > c->nleaf) {
        fault(t, c, "another number of inputs");
        return NULL;
    }
    status = make_data(t, c, loops, arena, data[0], in);
    for (uint32_t i = 0; i < nin; i++)
        data[1][i] = data[0][i];
    for (uint32_t i = 0, n = nin; i < loops->roles.len && !status; i++) {
        size_t nbytes = (size_t)bt_loops_nelem(loops, i) *
                        bt_dtype_nbytes(loops->graph->arrays[i]->dtype);
        if (loops->roles.at[i] == BT_BUFFER_OUTPUT) {
            data[1][n] = BT_NEWS(arena, char, nbytes + GUARD);
            status = data[1][n] ? NULL : bt_no_memory();
            if (data[1][n])
                memset(data[1][n], 0xa5, nbytes + GUARD);
            n++;
        }
    }
    bt_status faults[2] = { NULL, NULL };
    int is_by_both = 1;
    if (!status && t->target) {
        status = kernels_run(t, arena, known, kernels, loops, data, t->values, faults,
                             &is_by_both);
    } else if (!status) {
        faults[0] = loops_run(t->w.ctx, loops, data[0], NULL);
        faults[1] = loops_run(t->w.ctx, open, data[1], &options);
    }
    is_by_both = is_by_both && !status;
    t->nrun += (uint32_t)is_by_both;
    if (is_by_both && !faults[0] != !faults[1])
        fault(t, c, case_message(&t->w, faults[1] ? faults[1] : faults[0]));
    is_by_both = is_by_both && !faults[0] && !faults[1];
    for (uint32_t i = 0, n = nin; i < loops->roles.len && is_by_both; i++) {
        size_t nbytes = (size_t)bt_loops_nelem(loops, i) *
                        bt_dtype_nbytes(loops->graph->arrays[i]->dtype);
        if (loops->roles.at[i] != BT_BUFFER_OUTPUT)
            continue;
        const bt_dtype packed = bt_tensor_dtype(known->result); // a kernel has its bytes
        if (!are_same(
                t, bt_dtype_is_packed(packed) ? packed : loops->graph->arrays[i]->dtype,
                nbytes, data[0][n], data[1][n]))
            fault(t, c, "other bits than with numbers");
        if (!is_guard_whole((const char *)data[1][n] + nbytes))
            fault(t, c, "writes behind an output");
        n++;
    }
    if (!status && !t->target)
        compare_evaluated(t, c, known, func, nin, in);
    for (uint32_t i = 0; i < nin; i++)
        bt_tensor_unref(in[i]);
    return status;
}

/* ---- cases ---- */

static int has_check(const bt_stmts *stmts)
{
    for (uint32_t i = 0; i < stmts->len; i++) {
        const bt_stmt *stmt = stmts->at[i];
        if (stmt->kind == BT_STMT_CHECK || has_check(&stmt->body) ||
            has_check(&stmt->otherwise))
            return 1;
    }
    return 0;
}

static int is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Whether the dim is the last one of a tensor. */
static int is_last(const struct trial *t, const bt_type *type, uint32_t dim)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return shape && shape->n && shape->dims[shape->n - 1] == t->vars[dim];
}

/* Of target cpu: sums that an extent of 1 makes others (targets/cpu/bits.md), by any dim, or
 * by the number of columns: of a convolution those are its channels, where they come last in
 * the result and the weight; of a pool, where they come last in data and result. */
static int is_other_at_one(const struct trial *t, const bt_func *open, uint32_t dim)
{
    static const char *const any[] = { "einsum", "nn.global_avg_pool2d",
                                       "nn.conv1d_transpose", NULL };
    static const char *const columns[] = { "nn.dense", "nn.matmul", "nn.batch_matmul",
                                           NULL };
    static const char *const channels[] = { "nn.conv1d", "nn.conv2d", NULL };
    static const char *const pools[] = { "nn.avg_pool2d", NULL };
    return t->target && t->target->target->load &&
           (is_one_of(t->w.op->name, any) ||
            (is_last(t, open->result, dim) && is_one_of(t->w.op->name, columns)) ||
            (is_last(t, open->result, dim) && is_one_of(t->w.op->name, channels) &&
             is_last(t, open->block->params[1]->base.type, dim)) ||
            (is_last(t, open->result, dim) && is_one_of(t->w.op->name, pools) &&
             is_last(t, open->block->params[0]->base.type, dim)));
}

/* Where it was 1 the size of another, beside it or beside 1. */
static bt_status try_ones(struct trial *t, const struct call_case *c, bt_arena *arena,
                          const bt_func *func, const bt_loops *open,
                          const struct kernels *kernels, const bt_op *around)
{
    const int64_t *sizes = t->sizes;
    BT_TRY(compare(t, c, arena, func, open, kernels, around));
    for (uint32_t i = 0; i < c->nleaf; i++) {
        for (uint32_t a = 0; a < c->leaves[i].rank; a++) {
            for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
                const int64_t size = c->leaves[i].dims[a];
                for (uint32_t k = 0; k < t->ndim; k++)
                    t->values[k] = sizes[k] == 1                    ? size
                                   : is_swapped && sizes[k] == size ? 1
                                                                    : sizes[k];
                BT_TRY(compare(t, c, arena, func, open, kernels, around));
                bt_ctx_clear_diags(t->w.ctx);
            }
        }
    }
    return NULL;
}

static bt_status try_sizes(struct trial *t, const struct call_case *c, bt_arena *arena,
                           const bt_func *func, const bt_loops *open,
                           const struct kernels *kernels, const bt_op *around)
{
    BT_TRY(compare(t, c, arena, func, open, kernels, around));
    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t size = t->sizes[i], others[] = { size + 1, 0, 65, 1, size - 1 };
        // a target makes kernels for each: fewer sizes are enough
        for (uint32_t k = 0; k < (t->target ? 4 : BT_COUNT(others)); k++) {
            t->values[i] = others[k];
            if (others[k] == 1 && is_other_at_one(t, func, i))
                continue;
            BT_TRY(compare(t, c, arena, func, open, kernels, around));
            bt_ctx_clear_diags(t->w.ctx);
        }
        t->values[i] = size;
    }
    return NULL;
}

/* Each is 1 or one number: what stands beside each other fits. */
static bt_status try_drawn(struct trial *t, const struct call_case *c, bt_arena *arena,
                           const bt_func *func, const bt_loops *open,
                           const struct kernels *kernels, const bt_op *around)
{
    static const int64_t longs[] = { 0, 2, 5, 9 };
    for (uint32_t i = 0; i < 8; i++) {
        for (uint32_t k = 0; k < t->ndim; k++)
            t->values[k] = case_draw(&t->random) >> 40 & 1 ? 1 : longs[i % 4];
        BT_TRY(compare(t, c, arena, func, open, kernels, around));
        bt_ctx_clear_diags(t->w.ctx);
    }
    return NULL;
}

static int refuses_dims(struct trial *t, const struct kernels *k, const bt_loops *open)
{
    void *any[CASE_MAX_LEAF + CALL_MAX_OUT];
    int64_t dims[MAX_DIMS];
    uint32_t nblind = 0;
    for (uint32_t i = 0; i < k->lowering.nkernel; i++)
        nblind += k->lowering.kernels[i]->ignores_dims;
    if (nblind == k->lowering.nkernel || !kernels_memory(t))
        return nblind > 0;
    for (uint32_t i = 0; i < BT_COUNT(any); i++)
        any[i] = t->memory;
    for (uint32_t i = 0; i < MAX_DIMS; i++)
        dims[i] = BT_MAX_DIM + 1;
    bt_status status = kernels_launch(t, k, open, any, dims);
    return status && status->code == BT_ERR_ARGUMENT;
}

static bt_status run_open(struct trial *t, const struct call_case *c, const bt_op *around,
                          bt_arena *arena)
{
    const bt_func *func;
    bt_loops *open, *again;
    bt_text text;
    t->ndim = 0;
    t->is_open = 1;
    bt_status status = build_func(t, c, around, &func);
    if (!t->ndim)
        return NULL; // nothing to open
    if (t->what != OPEN_SIZES && !t->random &&
        (status || !count_checks(t, func, 1, BT_CHECK_BROADCAST)))
        return status && status->code == BT_ERR_MEMORY ? status : NULL;
    if (!status)
        status = make_loops(t, arena, func, &open);
    if (status) {
        t->nrefused++;
        snprintf(t->why, sizeof(t->why), "%s", status->message);
        return status->code == BT_ERR_MEMORY ? status : NULL;
    }
    t->nopen++;
    t->nchecked += has_check(&open->body) != 0;
    bt_text_init(&text, arena);
    BT_TRY(bt_loops_print(open, &text));
    BT_TRY(loops_parse(t->w.ctx, arena, "open", text.at, text.len, &again));
    struct kernels kernels = { .loaded = NULL };
    status = t->target ? kernels_load(t, arena, func, &kernels) : NULL;
    if (!status && kernels.loaded && !kernels.why && !refuses_dims(t, &kernels, open))
        case_fault(&t->w, c, "a dim above BT_MAX_DIM is taken");
    if (kernels.why) {
        t->nopen--;
        t->nrefused++;
        snprintf(t->why, sizeof(t->why), "%s", kernels.why);
    } else if (!status) {
        status = (t->random ? try_drawn
                  : t->what == OPEN_SIZES
                      ? try_sizes
                      : try_ones)(t, c, arena, func, open, &kernels, around);
    }
    kernels_unload(t, &kernels);
    return status;
}

static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    bt_status status = NULL;
    if (t->target && strcmp(kind, "size") == 0)
        return NULL; // sizes are what is tried here
    if (t->nmet++ % t->every)
        return NULL;
    for (int i = 0; !status && i < 6; i++) {
        const int is_fused = i % 2;
        t->what = i / 2; // OPEN_...
        bt_arena *arena = bt_arena_create(bt_ctx_registry(t->w.ctx));
        status =
            arena ? run_open(t, c, is_fused ? t->around : NULL, arena) : bt_no_memory();
        bt_arena_destroy(arena);
        if (!status)
            bt_ctx_clear_diags(t->w.ctx);
    }
    return status;
}

/* ---- operators ---- */

static bt_status begin(struct trial *t, bt_ctx *ctx)
{
    t->w = (struct op_check){ .ctx = ctx, .faults = json_array() };
    t->w.store = bt_store_create(bt_ctx_registry(ctx));
    t->w.arena = bt_arena_create(bt_ctx_registry(ctx));
    return !t->w.store || !t->w.arena ? bt_no_memory() : NULL;
}

/* Shows what is wrong with the operator, and adds it to `all`. */
static int end(struct trial *t, bt_status status, const char *name, struct trial *all)
{
    size_t nfault = json_array_size(t->w.faults);
    for (size_t i = 0; i < nfault; i++)
        printf("%s\n", json_string_value(json_array_get(t->w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    else if (nfault || !t->random)
        printf("%s: %u open, %u runs, %u with checks, %u not open%s%s\n", name, t->nopen,
               t->nrun, t->nchecked, t->nrefused, *t->why ? ": " : "", t->why);
    all->nopen += t->nopen;
    all->nrun += t->nrun;
    all->nchecked += t->nchecked;
    all->nrefused += t->nrefused;
    json_decref(t->w.faults);
    bt_store_unref(t->w.store);
    bt_arena_destroy(t->w.arena);
    return status || nfault;
}

static int run_op(bt_ctx *ctx, const char *name, struct trial *all)
{
    struct trial t = { .around = all->around,
                       .target = all->target,
                       .every = all->every };
    bt_status status = begin(&t, ctx);
    if (!status)
        status = bt_op_get(ctx, name, &t.w.op);
    if (!status)
        status = vary_all(&t.w, run_case, &t);
    return end(&t, status, name, all);
}

static bt_status run_ops(bt_ctx *ctx, const char *plugin, const char *only,
                         struct trial *all, uint32_t *nwrong)
{
    BT_TRY(bt_plugins_scan(ctx));
    for (uint32_t i = 0; i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "op", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0 &&
            (!*only || strcmp(item.name, only) == 0))
            *nwrong += (uint32_t)run_op(ctx, item.name, all);
    }
    return NULL;
}

/* ---- random formulas ---- */

static int run_drawn(bt_ctx *ctx, uint64_t seed, struct trial *all)
{
    struct trial t = {
        .around = all->around, .target = all->target, .every = 1, .random = seed + 1
    };
    struct stages stages = { .text = "" };
    struct call_case c;
    char name[40];
    int is_case = 0;
    snprintf(name, sizeof(name), "formula %llu", (unsigned long long)seed);
    bt_status status = begin(&t, ctx);
    if (!status)
        status = stages_make(t.w.arena, seed, &stages);
    stages.op.inputs = stages.inputs;
    t.w.op = &stages.op;
    const char *text = stages.text;
    if (!status)
        status = case_next(ctx, t.w.arena, name, &text, &c, &is_case);
    if (is_case && !status)
        status = run_case(&t, "case", &c);
    if (status || json_array_size(t.w.faults))
        printf("%s, %s\n", name, stages.op.formula);
    return end(&t, status, name, all);
}

static bt_status run_words(bt_ctx *ctx, char **words, struct trial *all, uint32_t *nwrong)
{
    BT_TRY(bt_op_get(ctx, "negative", &all->around));
    if (strcmp(words[0], "--stages") != 0)
        return run_ops(ctx, words[0], words[1] ? words[1] : "", all, nwrong);
    const uint64_t first = strtoull(words[1], NULL, 10);
    for (uint64_t i = 0, n = strtoull(words[2], NULL, 10); i < n; i++)
        *nwrong += (uint32_t)run_drawn(ctx, first + i, all);
    return NULL;
}

static int run(bt_ctx *ctx, char **words, const char *target, uint32_t every)
{
    uint32_t nwrong = 0;
    struct trial all = { .every = every };
    bt_targets *targets = NULL;
    bt_status status = target ? bt_targets_open(ctx, target, &targets) : NULL;
    if (targets)
        all.target = targets->at[0];
    if (!status)
        status = run_words(ctx, words, &all, &nwrong);
    if (status)
        printf("%s\n", status->message);
    printf("%u open, %u runs, %u with checks, %u not open, %u operators wrong\n",
           all.nopen, all.nrun, all.nchecked, all.nrefused, nwrong);
    bt_targets_unref(targets);
    // nothing tried says nothing
    return status || nwrong || all.nopen + all.nrefused == 0;
}

int main(int argc, char **argv)
{
    const int is_drawn = argc > 2 && strcmp(argv[2], "--stages") == 0;
    const int most = is_drawn ? 5 : 4;
    const int every = !is_drawn && argc > 5 ? atoi(argv[5]) : 1;
    if (argc < 3 || (is_drawn && argc < 5) || every < 1) {
        printf("usage: conform_open PLUGINS PLUGIN [OPERATOR [TARGET [EVERY]]]\n"
               "       conform_open PLUGINS --stages FIRST COUNT [TARGET]\n");
        return 2;
    }
    bt_registry_options options = { .plugin_only = argv[1] };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int failed =
        !ctx || run(ctx, argv + 2, argc > most ? argv[most] : NULL, (uint32_t)every);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
