/*
 * Random chains of data movement, compiled: reshape, transpose, take, slices, pads and the
 * like, fused into kernels that only compute where elements come from.
 *     random_moves FIRST COUNT TARGET [PER_PROGRAM]    or    random_moves --print SEED
 * Each chain has a parameter of its own; PER_PROGRAM chains are the results of one program.
 * By the executor graph on TARGET it gives the bits that interp gives. Prints the chain
 * that does not; exit code 1 if any does not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/plugin.h>

#include "compiled.h"
#include "program.h"

enum { MAX_RANK = 5, MAX_NELEM = 20000, MAX_STEPS = 8 };

struct chain {
    uint64_t random;
    bt_text *text; /* of the function's body */
    uint32_t name, nvalue;
    const char *dtype, *suffix;
    uint32_t rank;
    int64_t dims[MAX_RANK];
};

static const struct {
    const char *dtype, *suffix;
} dtypes[] = { { "float32", "f" },  { "float32", "f" }, { "int64", "i64" },
               { "int8", "i8" },    { "bool", "" },     { "float16", "f16" },
               { "float64", "f64" } };

static int64_t below(struct chain *c, int64_t n)
{
    return random_below(&c->random, (uint32_t)n);
}

static int64_t nelem(const struct chain *c)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < c->rank; i++)
        n *= c->dims[i];
    return n;
}

/* Opens the next binding: %a3_1 = OP(%a3_0 */
static void call(struct chain *c, const char *op)
{
    bt_text_addf(c->text, "    %%a%u_%u = %s(%%a%u_%u", c->name, c->nvalue + 1, op,
                 c->name, c->nvalue);
    c->nvalue++;
}

static void list(struct chain *c, const char *name, uint32_t n, const int64_t *values)
{
    bt_text_addf(c->text, ", %s=[", name);
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(c->text, "%s%" PRId64, i ? ", " : "", values[i]);
    bt_text_addf(c->text, "]");
}

static void end(struct chain *c)
{
    bt_text_addf(c->text, ");\n");
}

/* ---- steps: 1 where there is room and an axis for them ---- */

static int step_reshape(struct chain *c)
{
    int64_t left = nelem(c), dims[MAX_RANK];
    uint32_t rank = 1 + (uint32_t)below(c, MAX_RANK - 1);
    if (left == 0) // 0 copies an axis
        return 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t part = 1 + below(c, 12);
        while (left % part)
            part--;
        dims[i] = i + 1 == rank ? left : part;
        left /= part;
    }
    memcpy(c->dims, dims, sizeof(dims));
    c->rank = rank;
    call(c, "reshape");
    list(c, "newshape", rank, dims);
    end(c);
    return 1;
}

static int step_transpose(struct chain *c)
{
    int64_t axes[MAX_RANK], dims[MAX_RANK];
    for (uint32_t i = 0; i < c->rank; i++) {
        uint32_t at = (uint32_t)below(c, i + 1);
        axes[i] = axes[at];
        axes[at] = i;
    }
    for (uint32_t i = 0; i < c->rank; i++)
        dims[i] = c->dims[axes[i]];
    memcpy(c->dims, dims, sizeof(dims));
    call(c, "transpose");
    list(c, "axes", c->rank, axes);
    end(c);
    return 1;
}

static int step_take(struct chain *c)
{
    static const char *const modes[] = { "clip", "wrap", "fast" };
    uint32_t axis = (uint32_t)below(c, c->rank), mode = (uint32_t)below(c, 3);
    int64_t n = 1 + below(c, 6), extent = c->dims[axis];
    if (extent == 0 || nelem(c) / extent * n > MAX_NELEM)
        return 0;
    call(c, "take");
    bt_text_addf(c->text, ", const[(%" PRId64 "), int64]{", n);
    for (int64_t i = 0; i < n; i++)
        bt_text_addf(c->text, "%s%" PRId64, i ? ", " : "",
                     mode == 2 ? below(c, extent) : below(c, 3 * extent) - extent);
    bt_text_addf(c->text, "}, axis=%u, mode=\"%s\"", axis, modes[mode]);
    end(c);
    c->dims[axis] = n;
    return 1;
}

static int step_slice(struct chain *c)
{
    int64_t first[MAX_RANK], last[MAX_RANK], strides[MAX_RANK];
    for (uint32_t i = 0; i < c->rank; i++) {
        int64_t n = c->dims[i], stride = 1 + below(c, 3);
        int64_t from = n ? below(c, n) : 0, count = n > from ? 1 + below(c, n - from) : 0;
        if (below(c, 2)) {
            from = 0;
            count = n;
        }
        first[i] = from;
        last[i] = from + count;
        strides[i] = below(c, 2) ? 1 : stride;
        if (below(c, 3) == 0 && count) {
            first[i] = from + count - 1;
            last[i] = from ? from - 1 : -n - 1;
            strides[i] = -strides[i];
        }
        stride = strides[i] < 0 ? -strides[i] : strides[i];
        c->dims[i] = (count + stride - 1) / stride;
    }
    call(c, "strided_slice");
    list(c, "begin", c->rank, first);
    list(c, "end", c->rank, last);
    list(c, "strides", c->rank, strides);
    end(c);
    return 1;
}

static int step_pad(struct chain *c)
{
    static const char *const modes[] = { "constant", "constant", "edge", "reflect" };
    const char *mode = modes[below(c, 4)];
    int64_t widths[2 * MAX_RANK];
    int is_constant = mode[0] == 'c';
    for (uint32_t i = 0; i < 2 * c->rank; i++) {
        int64_t n = c->dims[i / 2], most = is_constant ? 4 : n < 4 ? n : 4;
        widths[i] = most > 0 ? below(c, most) : 0;
        if (is_constant && n > 4 && below(c, 6) == 0)
            widths[i] = -1;
    }
    for (uint32_t i = 0; i < c->rank; i++)
        c->dims[i] += widths[2 * i] + widths[2 * i + 1];
    call(c, "nn.pad");
    if (is_constant)
        bt_text_addf(c->text, ", %s%s", c->suffix[0] ? "1" : "True", c->suffix);
    list(c, "pad_width", 2 * c->rank, widths);
    bt_text_addf(c->text, ", pad_mode=\"%s\"", mode);
    end(c);
    return 1;
}

static int step_reverse(struct chain *c)
{
    call(c, "reverse");
    bt_text_addf(c->text, ", axis=%" PRId64, below(c, c->rank));
    end(c);
    return 1;
}

static int step_repeat(struct chain *c)
{
    int64_t axis = below(c, c->rank), times = 1 + below(c, 3);
    call(c, "repeat");
    bt_text_addf(c->text, ", repeats=%" PRId64 ", axis=%" PRId64, times, axis);
    end(c);
    c->dims[axis] *= times;
    return 1;
}

static int step_tile(struct chain *c)
{
    int64_t times[MAX_RANK];
    for (uint32_t i = 0; i < c->rank; i++)
        c->dims[i] *= times[i] = 1 + below(c, 3) / 2;
    call(c, "tile");
    list(c, "reps", c->rank, times);
    end(c);
    return 1;
}

/* With itself. */
static int step_concatenate(struct chain *c)
{
    int64_t axis = below(c, c->rank);
    bt_text_addf(c->text,
                 "    %%a%u_%u = concatenate((%%a%u_%u, %%a%u_%u), axis=%" PRId64,
                 c->name, c->nvalue + 1, c->name, c->nvalue, c->name, c->nvalue, axis);
    c->nvalue++;
    end(c);
    c->dims[axis] *= 2;
    return 1;
}

static int step_resize(struct chain *c)
{
    if (c->rank != 4 || strcmp(c->dtype, "float32") != 0 || nelem(c) == 0)
        return 0;
    int64_t size[2] = { 1 + below(c, 9), 1 + below(c, 9) };
    if (c->dims[0] * c->dims[1] * size[0] * size[1] > MAX_NELEM)
        return 0;
    call(c, "image.resize2d");
    list(c, "size", 2, size);
    bt_text_addf(c->text, ", method=\"nearest_neighbor\"");
    end(c);
    c->dims[2] = size[0];
    c->dims[3] = size[1];
    return 1;
}

/* Something computed, that what moves before and after it is fused with. */
static int step_maximum(struct chain *c)
{
    if (!c->suffix[0])
        return 0;
    call(c, "maximum");
    bt_text_addf(c->text, ", 0%s", c->suffix);
    end(c);
    return 1;
}

static int (*const steps[])(struct chain *) = {
    step_reshape, step_reshape,     step_transpose, step_transpose,
    step_take,    step_take,        step_slice,     step_slice,
    step_pad,     step_pad,         step_reverse,   step_repeat,
    step_tile,    step_concatenate, step_resize,    step_maximum,
};

/* ---- programs ---- */

/* Appends the parameter to one text and the bindings to another; gives the last binding's
 * number. */
static uint32_t make_chain(uint64_t seed, uint32_t name, bt_text *params, bt_text *body)
{
    struct chain c = { .random = seed * 7919 + 17, .text = body, .name = name };
    uint32_t dtype = (uint32_t)below(&c, BT_COUNT(dtypes));
    uint32_t nstep = 2 + (uint32_t)below(&c, MAX_STEPS - 1);
    c.dtype = dtypes[dtype].dtype;
    c.suffix = dtypes[dtype].suffix;
    c.rank = 1 + (uint32_t)below(&c, 4);
    bt_text_addf(params, "%s%%a%u_0: Tensor[(", params->len ? ", " : "", name);
    for (uint32_t i = 0; i < c.rank; i++) {
        c.dims[i] = below(&c, 40) == 0 ? 0 : 1 + below(&c, c.rank < 3 ? 30 : 7);
        bt_text_addf(params, "%" PRId64 ",%s", c.dims[i], i + 1 < c.rank ? " " : "");
    }
    bt_text_addf(params, "), %s]", c.dtype);
    for (uint32_t n = 0; n < nstep;) {
        if (nelem(&c) > MAX_NELEM / 8)
            break;
        n += (uint32_t)steps[below(&c, BT_COUNT(steps))](&c);
    }
    return c.nvalue;
}

static const char *make_program(bt_arena *arena, uint64_t seed, uint32_t n)
{
    bt_text params, body, results, text;
    bt_text_init(&params, arena);
    bt_text_init(&body, arena);
    bt_text_init(&results, arena);
    bt_text_init(&text, arena);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = make_chain(seed + i, i, &params, &body);
        bt_text_addf(&results, "%%a%u_%u, ", i, last);
    }
    if (!bt_text_get(&params) || !bt_text_get(&body) || !bt_text_get(&results))
        return NULL;
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\n\ndef @main(%s) {\n%s    (%s)\n}\n",
                 params.at, body.at, results.at);
    return bt_text_get(&text);
}

/* ---- the law ---- */

static bt_status by_interp(bt_ctx *ctx, const bt_module *module, uint32_t n,
                           bt_object *const *args, bt_object **out)
{
    const void *row;
    void *session;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    const bt_executor *interp = row;
    BT_TRY(interp->open(ctx, module, NULL, &session));
    bt_status status = interp->call(ctx, session, "main", n, args, NULL, out);
    interp->close(session);
    return status;
}

static bt_status by_graph(bt_ctx *ctx, const bt_module *module, const char *target,
                          uint32_t n, bt_object *const *args, bt_object **out)
{
    const bt_compile_options options = { .targets = target,
                                         .fuse = "fuse",
                                         .plan = "plan" };
    const bt_executor *graph;
    void *session;
    BT_TRY(open_compiled(ctx, module, &options, &graph, &session));
    bt_status status = graph->call(ctx, session, "main", n, args, NULL, out);
    graph->close(session);
    return status;
}

static bt_status compare(bt_ctx *ctx, const bt_object *got, const bt_object *expected)
{
    const bt_tuple *t = bt_object_as_tuple(got), *u = bt_object_as_tuple(expected);
    for (uint32_t i = 0; i < u->nfield; i++) {
        const bt_tensor *x = bt_object_as_tensor(t->fields[i]);
        const bt_tensor *y = bt_object_as_tensor(u->fields[i]);
        size_t nbytes = bt_tensor_nbytes(x);
        if (x->dtype != y->dtype || x->nelem != y->nelem ||
            (nbytes && memcmp(x->data, y->data, nbytes) != 0))
            return bt_fail(ctx, BT_ERR_INTERNAL, "result %u has other bits than interp's",
                           i);
    }
    return NULL;
}

static bt_status check(bt_ctx *ctx, const char *text, uint64_t seed, const char *target)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_module *parsed, *typed;
    bt_object **args, *got = NULL, *expected = NULL;
    uint32_t n;
    if (!arena)
        return bt_no_memory();
    bt_status status = bt_parse(ctx, "chain", NULL, text, strlen(text), &parsed);
    if (!status) {
        status = bt_infer(ctx, parsed, &typed);
        bt_module_unref(parsed);
    }
    if (status)
        goto out;
    status = random_arguments(ctx, seed, typed, &n, &args, arena);
    if (status)
        goto module;
    status = by_interp(ctx, typed, n, args, &expected);
    if (!status)
        status = by_graph(ctx, typed, target, n, args, &got);
    if (!status)
        status = compare(ctx, got, expected);
    bt_object_unref(got);
    bt_object_unref(expected);
    for (uint32_t i = 0; i < n; i++)
        bt_object_unref(args[i]);
module :
    bt_module_unref(typed);
out:
    bt_arena_destroy(arena);
    return status;
}

/* Whether a program of these chains is as it must be. */
static int holds(bt_ctx *ctx, uint64_t seed, uint32_t n, const char *target, int is_shown)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    const char *text = arena ? make_program(arena, seed, n) : NULL;
    bt_status status = text ? check(ctx, text, seed, target) : bt_no_memory();
    if (status && is_shown) {
        bt_text rendered;
        bt_text_init(&rendered, arena);
        bt_diag_render(status, 0, &rendered);
        printf("seed %" PRIu64 ":\n%s  %s\n", seed, text ? text : "",
               bt_text_get(&rendered) ? bt_text_get(&rendered) : "no memory\n");
    }
    bt_arena_destroy(arena);
    bt_ctx_clear_diags(ctx);
    return !status;
}

int main(int argc, char **argv)
{
    bt_ctx *ctx = bt_open();
    uint64_t nbad = 0, first, count;
    if (ctx && argc == 3 && strcmp(argv[1], "--print") == 0) {
        bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
        const char *text =
            arena ? make_program(arena, strtoull(argv[2], NULL, 10), 1) : NULL;
        printf("%s", text ? text : "no memory\n");
        bt_arena_destroy(arena);
        bt_ctx_destroy(ctx);
        return !text;
    }
    if (!ctx || argc < 4) {
        fprintf(stderr, "usage: random_moves FIRST COUNT TARGET [PER_PROGRAM]\n"
                        "       random_moves --print SEED\n");
        bt_ctx_destroy(ctx);
        return 2;
    }
    first = strtoull(argv[1], NULL, 10);
    count = strtoull(argv[2], NULL, 10);
    uint32_t each = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1;
    for (uint64_t at = 0; each && at < count; at += each) {
        if (holds(ctx, first + at, each, argv[3], 0))
            continue;
        // the chain alone, if it is one alone
        uint64_t before = nbad;
        for (uint32_t i = 0; i < each; i++)
            nbad += !holds(ctx, first + at + i, 1, argv[3], 1);
        if (nbad == before)
            nbad += !holds(ctx, first + at, each, argv[3], 1);
    }
    printf("%" PRIu64 " chains, %" PRIu64 " with faults\n", count, nbad);
    bt_ctx_destroy(ctx);
    return nbad != 0;
}
