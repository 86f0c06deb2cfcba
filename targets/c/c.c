/*
 * c: primitive functions as portable C99 text that calls no library, not even libm. It is
 * the target of whoever writes programs without Baton; here, a compiler plugin makes
 * machine code of it.
 *
 *     primitive function -> graph -> loops -> text of a bt_kernel_fn
 */
#include <string.h>

#include <baton/compiler.h>
#include <baton/op.h>
#include <baton/target.h>

#include "text.h"

struct options {
    const char *compiler, *precision;
    int64_t tile;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, compiler, STRING, "",
            "the plugin that compiles the text: tcc, cc; empty: the first that works"),
    BT_ATTR_CHOICE(
        struct options, precision, "double", "double|single",
        "what floats are computed in: double, as the evaluator does, or single, "
        "which processors without double prefer; float64 stays double"),
    BT_ATTR_RANGE(struct options, tile, INT, "4", 1, C_JAM_MOST,
                  "how many sums of products are computed at a time along each of two "
                  "indices: more is faster, 1 the shortest code"),
    { 0 },
};

struct instance {
    bt_arena *arena;
    const char *compiler;
    int is_single;
    uint32_t tile;
};

static bt_status open(bt_ctx *ctx, const void *values, void **self)
{
    const struct options *o = values;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct instance *in = arena ? BT_NEW(arena, struct instance) : NULL;
    const char *compiler =
        in ? bt_arena_text(arena, o->compiler, strlen(o->compiler)) : NULL;
    if (!compiler) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *in = (struct instance){ .arena = arena,
                             .compiler = compiler,
                             .tile = (uint32_t)o->tile,
                             .is_single = strcmp(o->precision, "single") == 0 };
    *self = in;
    return NULL;
}

static void close(void *self)
{
    struct instance *in = self;
    bt_arena_destroy(in->arena);
}

/* ---- lowering ---- */

static int is_narrow(void *self, const bt_node *reduce)
{
    const struct instance *in = self;
    (void)reduce;
    return in->is_single;
}

/* Temps one behind the other, each from a multiple of 64. */
static bt_status find_workspace(bt_ctx *ctx, const bt_func *func, const bt_loops *loops,
                                const bt_type **out)
{
    bt_store *store = func->result->store;
    const bt_type *all = NULL;
    for (uint32_t i = 0; i < loops->roles.len; i++) {
        const bt_array *array = loops->graph->arrays[i];
        const bt_type *nbytes;
        if (loops->roles.at[i] != BT_BUFFER_TEMP)
            continue;
        BT_TRY(bt_node_as_dim(ctx, func, array->extents[0], &nbytes));
        nbytes = bt_dim_scale(store, nbytes, (int64_t)bt_dtype_nbytes(array->dtype), 0);
        nbytes = nbytes ? bt_dim_ceildiv(store, nbytes, bt_dim(store, 64)) : NULL;
        nbytes = nbytes ? bt_dim_scale(store, nbytes, 64, 0) : NULL;
        all = nbytes && all ? bt_dim_add(store, all, nbytes) : nbytes;
        if (!all)
            return bt_store_why(ctx, store);
    }
    *out = all;
    return NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    const struct instance *in = self;
    bt_kernel *kernel;
    const char *name = primitive->name ? primitive->name : "primitive";
    const bt_lower_options lowering = { is_narrow, self, .is_tree = 0 };
    bt_graph *graph;
    struct c_kernel *content = BT_NEW(arena, struct c_kernel);
    if (!content)
        return bt_no_memory();
    const bt_type *workspace = NULL;
    BT_TRY(c_plain_lower(ctx, arena, primitive, &content->plain, &workspace));
    if (content->plain) {
        kernel = bt_lowering_whole(out, arena, primitive);
        if (!kernel)
            return bt_no_memory();
        kernel->content = content;
        kernel->nalias = 0;
        kernel->workspace = workspace;
        return NULL;
    }
    BT_TRY(bt_graph_compose(ctx, arena, primitive, &graph));
    if (graph->ndim > primitive->nvar)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: dim %s is no parameter of the function", name,
                       graph->dims[primitive->nvar]->name);
    BT_TRY(bt_loops_lower_with(ctx, arena, name, graph, &lowering, &content->loops));
    BT_TRY(c_jams_find(content->loops, in->tile, &content->jams));
    kernel = bt_lowering_whole(out, arena, primitive);
    if (!kernel)
        return bt_no_memory();
    kernel->content = content;
    kernel->nalias = 0;
    return find_workspace(ctx, primitive, content->loops, &kernel->workspace);
}

/* ---- code ---- */

static const char *symbol_of(bt_arena *arena, const bt_kernel *kernel)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "kernel_");
    for (const char *at = kernel->name; *at; at++)
        bt_text_add(
            &text,
            strchr("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *at)
                ? at
                : "_",
            1);
    return bt_text_get(&text);
}

/* The kernel that calls an operator's function. */
static bt_status describe_plain(bt_ctx *ctx, bt_arena *arena, struct c_text *text,
                                const struct c_plain_kernel *plain, const char *symbol,
                                bt_kernel_code *out)
{
    const bt_plain_facet *facet = plain->plain.facet;
    c_faults faults = { 0 };
    for (uint32_t i = 0; facet->faults && facet->faults[i]; i++) {
        const bt_fault fault = { .text = facet->faults[i] };
        if (!BT_PUSH(arena, &faults, fault))
            return bt_no_memory();
    }
    *out = (bt_kernel_code){ .form = BT_CODE_SOURCE,
                             .symbol = symbol,
                             .nfault = faults.len,
                             .faults = faults.at };
    return c_plain_use(&text->plain, facet)
               ? c_plain_kernel_add(ctx, arena, plain, symbol, &text->kernels)
               : bt_no_memory();
}

static bt_status describe(bt_ctx *ctx, bt_arena *arena, struct c_text *text,
                          const bt_kernel *kernel, bt_kernel_code *out)
{
    const struct c_kernel *content = kernel->content;
    c_faults faults = { 0 };
    const char *symbol = symbol_of(arena, kernel);
    if (!symbol)
        return bt_no_memory();
    if (content->plain)
        return describe_plain(ctx, arena, text, content->plain, symbol, out);
    BT_TRY(c_text_add(text, kernel->content, symbol, &faults));
    // the code outlives what lower made
    for (uint32_t i = 0; i < faults.len; i++) {
        const char *array = faults.at[i].array;
        faults.at[i].array = bt_arena_text(arena, array, strlen(array));
        if (!faults.at[i].array)
            return bt_no_memory();
    }
    *out = (bt_kernel_code){ .form = BT_CODE_SOURCE,
                             .symbol = symbol,
                             .nfault = faults.len,
                             .faults = faults.at };
    return NULL;
}

static bt_status make_object(bt_ctx *ctx, bt_arena *arena, const struct instance *in,
                             uint32_t n, bt_kernel_code *const *out)
{
    const char *folders[2] = { NULL, NULL };
    bt_text object;
    BT_TRY(bt_library_file(ctx, arena, "include", &folders[0]));
    const bt_c_source source = { .name = "kernels",
                                 .text = out[0]->at,
                                 .nbytes = out[0]->nbytes,
                                 .folders = folders };
    bt_text_init(&object, arena);
    BT_TRY(bt_c_compile(ctx, in->compiler, NULL, &source, &object));
    for (uint32_t i = 0; i < n; i++) {
        out[i]->form = BT_CODE_OBJECT;
        out[i]->at = object.at;
        out[i]->nbytes = object.len;
    }
    return object.failed ? bt_no_memory() : NULL;
}

/* Text is short, so it has one way of computing for all sizes. */
static void remark_versions(bt_ctx *ctx, uint32_t n, const bt_kernel *const *kernels)
{
    uint32_t i = 0;
    while (i < n && !bt_dict_find(&kernels[i]->primitive->attrs, "versions"))
        i++;
    if (i < n)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "target c has no code of its own for the values of dims that "
                          "--hot, or attribute hot, names: target cpu has"));
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    const struct instance *in = self;
    struct c_text text;
    bt_text all;
    bt_text_init(&all, arena);
    remark_versions(ctx, n, kernels);
    if (!c_text_begin(&text, arena, in->is_single))
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(describe(ctx, arena, &text, kernels[i], out[i]));
    BT_TRY(c_text_end(&text, &all));
    for (uint32_t i = 0; i < n; i++) {
        out[i]->at = all.at;
        out[i]->nbytes = all.len;
    }
    return form == BT_CODE_SOURCE || !*in->compiler || !n
               ? NULL
               : make_object(ctx, arena, in, n, out);
}

static const bt_target targets[] = {
    {
        .name = "c",
        .doc = "Portable C99 text without a library, for programs of their own (executor "
               "aot), or compiled here by tcc or cc.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .lower = lower,
        .compile = compile,
        .reads_layouts = 1,
        .takes_dims = 1,
    },
    { 0 },
};

const bt_table bt_targets_c_c[] = { BT_TARGETS(targets), { 0 } };
