/*
 * What a target does with the buffers of one call. Each buffer has zones around it that
 * nobody may write; outputs and temps are full of a pattern before:
 *
 *     launched            results must be near the evaluator's, inputs as they were
 *     again, another      the same bits; what has the pattern both times was not written
 *       pattern
 *     in place            for each output that a kernel says it computes over an input:
 *                         the same bits
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernel_check.h"

enum { ZONE = 4096, ZONE_BYTE = 0x6b, BEYOND = 16 };
#define NO_BUFFER UINT32_MAX

/* A buffer between its zones. */
struct buffer {
    bt_tensor *memory; /* NULL: it lies in another's */
    char *at;
    size_t nbytes;
};
/* All of a call's, by kind: BT_BUFFER_... */
struct buffers {
    struct buffer *at[3];
    uint32_t n[3];
    uint32_t aliased; /* the input in which an output is computed; NO_BUFFER: none */
};

static const char *const kind_names[] = { "input", "output", "temp" };

/* Said of elements of outputs with a layout: they are numbered as they lie in memory. */
static const char *memory_note(const struct kernel_call *c)
{
    return bt_type_layout(c->func->result)
               ? " (in memory, by its layout: beyond the tensor zeros are written)"
               : "";
}

/* Buffers begin inside of blocks. */
static const char *offsets_note(const struct kernel_call *c)
{
    return c->compiled->targets[c->compiled->funcs[0]->target]->space
               ? ", which begins at bt_kernel_call.offsets in its block"
               : "";
}

/* A fault's text. */
static bt_status tell(const struct kernel_call *c, const char **fault, const char *format,
                      ...) BT_PRINTF(3, 4);
static bt_status tell(const struct kernel_call *c, const char **fault, const char *format,
                      ...)
{
    va_list args;
    bt_text text;
    va_start(args, format);
    bt_text_init(&text, c->arena);
    bt_text_addv(&text, format, args);
    va_end(args);
    *fault = bt_text_get(&text);
    return *fault ? NULL : bt_no_memory();
}

/* "[1, 2]" */
static const char *element(bt_arena *arena, const bt_tensor *t, int64_t position)
{
    int64_t index[BT_MAX_RANK];
    bt_text text;
    bt_text_init(&text, arena);
    for (uint32_t i = t->rank; i-- > 0; position /= t->dims[i])
        index[i] = position % t->dims[i];
    bt_text_addf(&text, "[");
    for (uint32_t i = 0; i < t->rank; i++)
        bt_text_addf(&text, "%s%" PRId64, i ? ", " : "", index[i]);
    bt_text_addf(&text, "]");
    const char *out = bt_text_get(&text);
    return out ? out : "[?]";
}

/* ---- buffers ---- */

static bt_status make_buffer(bt_ctx *ctx, size_t nbytes, struct buffer *out)
{
    const int64_t total = (int64_t)nbytes + 2 * ZONE;
    BT_TRY(bt_tensor_create(ctx, BT_UINT8, 1, &total, &out->memory));
    out->at = (char *)out->memory->data + ZONE;
    out->nbytes = nbytes;
    memset(out->memory->data, ZONE_BYTE, ZONE);
    memset(out->at + nbytes, ZONE_BYTE, ZONE);
    return NULL;
}

bt_status value_of_dim(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                       const int64_t *dims, const bt_type *dim, int64_t *out)
{
    bt_dim_code code;
    BT_TRY(bt_dim_compile(ctx, arena, dim, func->nvar, func->vars, &code));
    return bt_dim_eval(&code, dims, out)
               ? NULL
               : bt_fail(ctx, BT_ERR_LIMIT, "@%s: a size overflows", func->name);
}

/* dim NULL: none */
static bt_status find_nbytes(const struct kernel_call *c, const bt_type *dim, size_t *out)
{
    int64_t n = 0;
    if (dim)
        BT_TRY(value_of_dim(c->ctx, c->arena, c->func, c->dims, dim, &n));
    *out = (size_t)n;
    return NULL;
}

static bt_status nbytes_of(const struct kernel_call *c, uint32_t kind, uint32_t index,
                           size_t *out)
{
    if (kind == BT_BUFFER_TEMP)
        return find_nbytes(c, c->lowering->temps[index], out);
    *out = bt_tensor_nbytes(kind == BT_BUFFER_INPUT ? c->in[index] : c->want[index]);
    return NULL;
}

/* Copies the inputs; fills outputs and temps with the pattern. */
static bt_status fill_buffers(const struct kernel_call *c, int pattern, struct buffers *b)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        b->at[kind] = BT_NEWS(c->arena, struct buffer, b->n[kind]);
        if (!b->at[kind])
            return bt_no_memory();
        for (uint32_t i = 0; i < b->n[kind]; i++) {
            struct buffer *buffer = &b->at[kind][i];
            size_t nbytes;
            BT_TRY(nbytes_of(c, kind, i, &nbytes));
            BT_TRY(make_buffer(c->ctx, nbytes, buffer));
            if (kind != BT_BUFFER_INPUT)
                memset(buffer->at, pattern, buffer->nbytes);
            else if (buffer->nbytes)
                memcpy(buffer->at, c->in[i]->data, buffer->nbytes);
        }
    }
    return NULL;
}

static void free_buffers(struct buffers *b)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (uint32_t i = 0; b->at[kind] && i < b->n[kind]; i++)
            bt_tensor_unref(b->at[kind][i].memory);
        b->at[kind] = NULL;
    }
}

/* ---- launching ---- */

/* The first byte of a zone that is not as it was; ZONE: all are. */
static size_t damage(const char *zone)
{
    size_t i = 0;
    while (i < ZONE && zone[i] == ZONE_BYTE)
        i++;
    return i;
}

/* What a kernel must not have changed. */
static bt_status check_zones(const struct kernel_call *c, const bt_kernel *kernel,
                             const struct buffers *b, const char **fault)
{
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (uint32_t i = 0; i < b->n[kind]; i++) {
            const struct buffer *buffer = &b->at[kind][i];
            size_t before = damage(buffer->at - ZONE);
            size_t behind = damage(buffer->at + buffer->nbytes);
            if (before < ZONE)
                return tell(
                    c, fault, "kernel %s writes %zu bytes before its %s %" PRIu32 "%s",
                    kernel->name, ZONE - before, kind_names[kind], i, offsets_note(c));
            if (behind < ZONE)
                return tell(c, fault,
                            "kernel %s writes behind its %s %" PRIu32
                            ", which has %zu bytes: at byte %zu",
                            kernel->name, kind_names[kind], i, buffer->nbytes,
                            buffer->nbytes + behind);
            if (kind == BT_BUFFER_INPUT && i != b->aliased && buffer->nbytes &&
                memcmp(buffer->at, c->in[i]->data, buffer->nbytes) != 0)
                return tell(c, fault, "kernel %s changes input %" PRIu32, kernel->name,
                            i);
        }
    }
    return NULL;
}

static const struct buffer *find_buffer(const bt_kernel *kernel, uint32_t i,
                                        const struct buffers *b)
{
    const bt_kernel_buffer *which =
        i < kernel->nin ? &kernel->in[i] : &kernel->out[i - kernel->nin];
    return &b->at[which->kind][which->index];
}

static bt_host_block with_zones(const struct buffer *b)
{
    return (bt_host_block){ b->at - ZONE, b->nbytes + 2 * ZONE, 0 };
}

/* Outputs that keep an input have its elements, and stand for it. */
static void keep_inputs(const bt_kernel *kernel, const struct buffers *b, void **pointers,
                        bt_host_block *around)
{
    for (uint32_t i = 0; i < kernel->nalias; i++) {
        const bt_kernel_alias *alias = &kernel->aliases[i];
        const struct buffer *in = find_buffer(kernel, alias->in, b);
        void **to = &pointers[kernel->nin + alias->out];
        if (alias->keeps && in->nbytes)
            memmove(*to, in->at, in->nbytes);
        if (!alias->keeps)
            continue;
        pointers[alias->in] = *to;
        around[alias->in] = around[kernel->nin + alias->out];
    }
}

/* A kernel that is run once, when the program is compiled. */
static int reads_constants(const struct kernel_call *c, const bt_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->nin; i++) {
        if (kernel->in[i].kind != BT_BUFFER_INPUT || !c->constant[kernel->in[i].index])
            return 0;
    }
    return 1;
}

/* What pointers behind those of a call lead to: a kernel that counts its buffers otherwise than
 * its bt_kernel does comes here. */
static bt_status make_beyond(const struct kernel_call *c, const struct buffers *b,
                             struct buffer *out)
{
    size_t nbytes = 0;
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (uint32_t i = 0; i < b->n[kind]; i++)
            nbytes = b->at[kind][i].nbytes > nbytes ? b->at[kind][i].nbytes : nbytes;
    }
    BT_TRY(make_buffer(c->ctx, nbytes, out));
    memset(out->at, ZONE_BYTE, nbytes);
    return NULL;
}

static int is_damaged(const struct buffer *b)
{
    size_t i = 0;
    while (i < b->nbytes && b->at[i] == ZONE_BYTE)
        i++;
    return i < b->nbytes || damage(b->at - ZONE) < ZONE ||
           damage(b->at + b->nbytes) < ZONE;
}

static bt_status launch(const struct kernel_call *c, uint32_t number,
                        const struct buffers *b, const char **fault)
{
    const bt_kernel *kernel = c->lowering->kernels[number];
    uint32_t n = kernel->nin + kernel->nout;
    struct buffer workspace, beyond;
    size_t nbytes;
    void **pointers = BT_NEWS(c->arena, void *, (size_t)n + BEYOND);
    bt_host_block *around = BT_NEWS(c->arena, bt_host_block, (size_t)n + 1);
    if (!pointers || !around)
        return bt_no_memory();
    BT_TRY(find_nbytes(c, kernel->workspace, &nbytes));
    BT_TRY(make_buffer(c->ctx, nbytes, &workspace));
    bt_status status = make_beyond(c, b, &beyond);
    if (status) {
        bt_tensor_unref(workspace.memory);
        return status;
    }
    around[n] = with_zones(&workspace);
    for (uint32_t i = 0; i < n; i++) {
        pointers[i] = find_buffer(kernel, i, b)->at;
        around[i] = with_zones(find_buffer(kernel, i, b));
    }
    for (uint32_t i = 0; i < BEYOND; i++)
        pointers[n + i] = beyond.at;
    keep_inputs(kernel, b, pointers, around);
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .nbuffer = n,
                                  .buffers = pointers,
                                  .workspace = workspace.at,
                                  .dims = c->dims,
                                  .ndim = c->func->nvar,
                                  .stop = bt_ctx_stop(c->ctx) };
    status = bt_compiled_launch_hosted(c->ctx, c->compiled, number, &call, around);
    int strays = damage(workspace.at - ZONE) < ZONE ||
                 damage(workspace.at + workspace.nbytes) < ZONE;
    const int is_beyond = is_damaged(&beyond);
    bt_tensor_unref(workspace.memory);
    bt_tensor_unref(beyond.memory);
    if (!status && is_beyond)
        return tell(
            c, fault,
            "kernel %s writes to a buffer that its call does not have: of %" PRIu32
            " inputs and %" PRIu32 " outputs, as its bt_kernel says (nin, nout)",
            kernel->name, kernel->nin, kernel->nout);
    if (!status && strays)
        return tell(c, fault, "kernel %s writes outside of its workspace of %zu bytes",
                    kernel->name, workspace.nbytes);
    if (!status)
        return check_zones(c, kernel, b, fault);
    if (status->code == BT_ERR_MEMORY ||
        (status->code == BT_ERR_CANCELLED && bt_ctx_cancelled(c->ctx)))
        return status;
    if (status->code == BT_ERR_UNSUPPORTED && c->has_next && reads_constants(c, kernel)) {
        *c->is_declined = 1;
        return NULL;
    }
    return tell(c, fault, "kernel %s fails: %s", kernel->name, status->message);
}

/* All kernels of the function, until there is a fault. */
static bt_status launch_all(const struct kernel_call *c, const struct buffers *b,
                            const char **fault)
{
    for (uint32_t i = 0; !*fault && !*c->is_declined && i < c->lowering->nkernel; i++)
        BT_TRY(launch(c, i, b, fault));
    return NULL;
}

/* ---- results ---- */

/* The difference as a share of its bound; infinite where there is none. */
static double share(const bt_tensor *got, const bt_tensor *want, int64_t i, double bound,
                    int64_t step)
{
    double a = bt_tensor_get(got, i), b = bt_tensor_get(want, i);
    if (!bt_dtype_is_float(want->dtype)) {
        int64_t x = bt_tensor_get_int(got, i), y = bt_tensor_get_int(want, i);
        uint64_t apart = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
        return apart <= (uint64_t)step ? 0 : INFINITY;
    }
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double error = fabs(a - b);
    return isfinite(error) && bound > 0 ? error / bound : INFINITY;
}

/* Integers may be a step apart where they are rounded from floats. */
static int64_t step_of(const struct kernel_call *c)
{
    int64_t step = 0;
    for (uint32_t i = 0; i < c->nin; i++)
        step |= bt_dtype_is_float(c->in[i]->dtype);
    return step;
}

/* Elements that are wrong: the first, and the one that is farthest off. */
struct wrong {
    int64_t n, first, farthest;
    double far;
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* `bounds` NULL: those of one call, whose way may be off by some of the largest value. */
static struct wrong find_wrong(const struct kernel_call *c, const bt_tensor *got,
                               const bt_tensor *want, const double *bounds,
                               struct kernel_error *error)
{
    struct wrong wrong = { 0 };
    double largest = bt_tensor_largest(want);
    int64_t step = step_of(c);
    for (int64_t i = 0; i < want->nelem; i++) {
        double value = bt_tensor_get(want, i);
        double bound = bounds ? bounds[i]
                              : rounding_bound(want->dtype, value, largest) +
                                    c->lowering->error * largest;
        double s = share(got, want, i, bound, step);
        double apart = fabs(bt_tensor_get(got, i) - value);
        error->share = larger(s, error->share);
        if (isfinite(apart) && largest > 0) {
            error->apart = larger(apart / largest, error->apart);
            error->bound = larger(bound / largest, error->bound);
        }
        if (s <= 1)
            continue;
        wrong.first = wrong.n++ ? wrong.first : i;
        if (wrong.n == 1 || apart > wrong.far) {
            wrong.far = apart;
            wrong.farthest = i;
        }
    }
    return wrong;
}

static bt_status compare(const struct kernel_call *c, uint32_t output,
                         const bt_tensor *got, const char **fault,
                         struct kernel_error *error)
{
    const bt_tensor *want = c->want[output];
    const double *bounds = NULL;
    const struct kernel_error before = *error;
    struct wrong wrong = find_wrong(c, got, want, NULL, error);
    if (wrong.n) // a bound for all its calls is expensive, and seldom needed
        BT_TRY(find_bounds(c, &bounds));
    if (bounds) {
        *error = before;
        wrong = find_wrong(c, got, want, bounds, error);
    }
    if (!wrong.n)
        return NULL;
    return tell(c, fault,
                "output %" PRIu32 "%s%s is %.9g, expected %.9g; %" PRId64 " of %" PRId64
                " elements are wrong, most of all %s, by %.3g",
                output, element(c->arena, want, wrong.first), memory_note(c),
                bt_tensor_get(got, wrong.first), bt_tensor_get(want, wrong.first),
                wrong.n, want->nelem, element(c->arena, want, wrong.farthest), wrong.far);
}

/* `again` was computed on another pattern. */
static bt_status compare_again(const struct kernel_call *c, uint32_t output,
                               const char *once, const char *again, const int patterns[2],
                               const char **fault)
{
    const bt_tensor *t = c->want[output];
    // of packed elements a byte at a time; its first one is named
    const int64_t each =
        bt_dtype_is_packed(t->dtype) ? 8 / (int64_t)BT_DTYPE_BITS(t->dtype) : 1;
    size_t size = each > 1 ? 1 : bt_dtype_nbytes(t->dtype);
    for (int64_t i = 0; i < t->nelem; i += each, once += size, again += size) {
        size_t untouched = 0;
        while (untouched < size && once[untouched] == (char)patterns[0] &&
               again[untouched] == (char)patterns[1])
            untouched++;
        if (untouched == size)
            return tell(c, fault, "output %" PRIu32 "%s%s is not written", output,
                        element(c->arena, t, i), memory_note(c));
        if (memcmp(once, again, size) != 0)
            return tell(c, fault,
                        "output %" PRIu32 "%s is not the same when it is computed again: "
                        "a kernel keeps something between launches, or reads what it has "
                        "not written",
                        output, element(c->arena, t, i));
    }
    return NULL;
}

/* ---- in place ---- */

/* Whether the claim can be tried: no other kernel has the input, and the sizes agree. */
static int can_try(const struct kernel_call *c, uint32_t kernel,
                   const bt_kernel_buffer *out, const bt_kernel_buffer *in)
{
    int can = out->kind == BT_BUFFER_OUTPUT && in->kind == BT_BUFFER_INPUT &&
              bt_tensor_nbytes(c->want[out->index]) == bt_tensor_nbytes(c->in[in->index]);
    for (uint32_t k = 0; k < c->lowering->nkernel; k++) {
        const bt_kernel *other = c->lowering->kernels[k];
        for (uint32_t i = 0; k != kernel && i < other->nin; i++)
            can &= other->in[i].kind != in->kind || other->in[i].index != in->index;
        for (uint32_t i = 0; k != kernel && i < other->nout; i++)
            can &= other->out[i].kind != out->kind || other->out[i].index != out->index;
    }
    return can;
}

static bt_status try_alias(const struct kernel_call *c, uint32_t kernel,
                           const bt_kernel_buffer *out, const bt_kernel_buffer *in,
                           const struct buffers *expected, const char **fault)
{
    struct buffers b = { .n = { c->nin, c->nout, expected->n[BT_BUFFER_TEMP] },
                         .aliased = in->index };
    bt_status status = fill_buffers(c, 0, &b);
    if (!status) {
        struct buffer *place = &b.at[BT_BUFFER_OUTPUT][out->index];
        bt_tensor_unref(place->memory);
        *place = b.at[BT_BUFFER_INPUT][in->index];
        place->memory = NULL;
        status = launch_all(c, &b, fault);
    }
    for (uint32_t i = 0; !status && !*fault && i < c->nout; i++) {
        const struct buffer *got = &b.at[BT_BUFFER_OUTPUT][i];
        if (got->nbytes &&
            memcmp(got->at, expected->at[BT_BUFFER_OUTPUT][i].at, got->nbytes) != 0)
            status = tell(c, fault,
                          "kernel %s says that output %" PRIu32
                          " may be computed over input %" PRIu32 ": then output %" PRIu32
                          " is another",
                          c->lowering->kernels[kernel]->name, out->index, in->index, i);
    }
    free_buffers(&b);
    return status;
}

static bt_status check_aliases(const struct kernel_call *c,
                               const struct buffers *expected, const char **fault)
{
    for (uint32_t k = 0; k < c->lowering->nkernel; k++) {
        const bt_kernel *kernel = c->lowering->kernels[k];
        for (uint32_t i = 0; !*fault && i < kernel->nalias; i++) {
            const bt_kernel_buffer *out = &kernel->out[kernel->aliases[i].out];
            const bt_kernel_buffer *in = &kernel->in[kernel->aliases[i].in];
            if (!kernel->aliases[i].keeps && can_try(c, k, out, in))
                BT_TRY(try_alias(c, k, out, in, expected, fault));
        }
    }
    return NULL;
}

/* ---- the call ---- */

static bt_status check_results(const struct kernel_call *c, const struct buffers *once,
                               const struct buffers *again, const int patterns[2],
                               const char **fault, struct kernel_error *error)
{
    for (uint32_t i = 0; !*fault && i < c->nout; i++) {
        const bt_tensor *want = c->want[i];
        char *data = once->at[BT_BUFFER_OUTPUT][i].at;
        bt_tensor *got;
        BT_TRY(compare_again(c, i, data, again->at[BT_BUFFER_OUTPUT][i].at, patterns,
                             fault));
        if (*fault)
            return NULL;
        BT_TRY(bt_tensor_wrap(c->ctx, want->dtype, want->rank, want->dims, data, &got));
        bt_status status = compare(c, i, got, fault, error);
        bt_tensor_unref(got);
        BT_TRY(status);
    }
    return NULL;
}

bt_status check_kernel_call(const struct kernel_call *c, const char **fault,
                            struct kernel_error *error)
{
    static const int patterns[2] = { 0xff, 0x5a }; // the first is NaN in floats
    struct buffers sets[2];
    bt_status status = NULL;
    *fault = NULL;
    *c->is_declined = 0;
    *error = (struct kernel_error){ 0 };
    for (int i = 0; i < 2; i++)
        sets[i] = (struct buffers){ .n = { c->nin, c->nout, c->lowering->ntemp },
                                    .aliased = NO_BUFFER };
    for (int i = 0; !status && !*fault && i < 2; i++) {
        status = fill_buffers(c, patterns[i], &sets[i]);
        if (!status)
            status = launch_all(c, &sets[i], fault);
    }
    const int is_whole = !*c->is_declined;
    if (!status && !*fault && is_whole)
        status = check_results(c, &sets[0], &sets[1], patterns, fault, error);
    if (!status && !*fault && is_whole)
        status = check_aliases(c, &sets[0], fault);
    free_buffers(&sets[0]);
    free_buffers(&sets[1]);
    return status;
}
