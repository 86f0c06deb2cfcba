/*
 * A target and an executor as those were built that knew of less: the build compiles this
 * with headers from which shorten.cmake has taken the last members of each struct that
 * grows. Lists of such structs are gone through, forth and back.
 */
#include <inttypes.h>
#include <string.h>

#include <baton/baton.h>
#include <baton/executor.h>
#include <baton/graph.h>
#include <baton/op.h>

/* ---- the target: -x in two kernels, by way of a temp ---- */

struct instance {
    bt_registry *registry;
};
struct code {
    int64_t nelem;
    double factor;
};

static bt_status open_device(bt_ctx *ctx, const void *options, void **self)
{
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    (void)options;
    if (!i)
        return bt_no_memory();
    i->registry = bt_ctx_registry(ctx);
    *self = i;
    return NULL;
}

static void close_device(void *self)
{
    struct instance *i = self;
    bt_free(i->registry, i, sizeof(*i));
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    (void)self;
    return block->nbinding == 1 && bt_as_op_call(block->bindings[0], "negative")
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED, "it takes negative");
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    static const bt_kernel_buffer in[] = { { BT_BUFFER_INPUT, 0 } },
                                  temp[] = { { BT_BUFFER_TEMP, 0 } },
                                  result[] = { { BT_BUFFER_OUTPUT, 0 } };
    struct code *codes = BT_NEWS(arena, struct code, 2);
    const bt_type **temps = BT_NEWS(arena, const bt_type *, 1);
    bt_kernel *first = bt_lowering_add(out, arena), *second = bt_lowering_add(out, arena);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], n = 1;
    (void)ctx, (void)self;
    if (!codes || !temps || !first || !second)
        return bt_no_memory();
    (void)bt_tensor_static(func->result, &rank, dims);
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    codes[0] = (struct code){ n, 2 };
    codes[1] = (struct code){ n, -0.5 };
    *first =
        (bt_kernel){ .nin = 1, .in = in, .nout = 1, .out = temp, .content = &codes[0] };
    *second = (bt_kernel){
        .nin = 1, .in = temp, .nout = 1, .out = result, .content = &codes[1]
    };
    temps[0] = bt_dim(func->result->store, 4 * n);
    out->ntemp = 1;
    out->temps = temps;
    return NULL;
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)ctx, (void)self, (void)arena, (void)form;
    for (uint32_t i = 0; i < n; i++)
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES,
                                    .at = kernels[i]->content,
                                    .nbytes = sizeof(struct code) };
    return NULL;
}

struct loaded {
    bt_registry *registry;
    size_t nbytes;
    struct code at[];
};

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const struct instance *i = self;
    const size_t nbytes = sizeof(struct loaded) + n * sizeof(struct code);
    struct loaded *l = bt_alloc(i->registry, nbytes);
    (void)ctx;
    if (!l)
        return bt_no_memory();
    *l = (struct loaded){ i->registry, nbytes };
    for (uint32_t k = 0; k < n; k++)
        memcpy(&l->at[k], codes[k]->at, sizeof(struct code));
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    bt_free(l->registry, l, l->nbytes);
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    const struct code *code = &((const struct loaded *)loaded)->at[kernel];
    const float *x = call->buffers[0];
    float *y = call->buffers[1];
    (void)ctx;
    for (int64_t i = 0; i < code->nelem; i++)
        y[i] = (float)(code->factor * (double)x[i]);
    return NULL;
}

static const bt_target targets[] = {
    { .name = "old",
      .doc = "Negates, as it always did.",
      .open = open_device,
      .close = close_device,
      .supports = supports,
      .lower = lower,
      .compile = compile,
      .load = load,
      .unload = unload,
      .launch = launch },
    { 0 },
};

/* ---- the executor: says what is compiled ---- */

static bt_status begin(bt_ctx *ctx, bt_compiled *c, const char *entry,
                       const void *options, void **session)
{
    (void)ctx, (void)entry, (void)options;
    *session = bt_compiled_ref(c);
    return NULL;
}

static void end(void *session)
{
    bt_compiled_unref(session);
}

/* Lists of a program and of a graph. */
static const char program[] =
    "#[version = \"baton 0.1\"]\n"
    "type List[A] { Cons(A, List[A]), Nil, }\n"
    "def @any(%x, %y) { multiply(add(%x, %y), %x) }\n"
    "def @dims<n: Dim, m: Dim>(%x: Tensor[(n, m), float32], %y: Tensor[(m,), float32]) "
    "{\n"
    "    add(%x, %y)\n}\n"
    "def @first(%l: List[float32]) {\n"
    "    match (%l) { Cons(%head, _) => { %head } Nil => { 0f } }\n}\n";

static bt_status say_module(bt_ctx *ctx, const bt_module *m, bt_text *out)
{
    const bt_func *any = bt_module_find(m, "any")->func;
    const bt_func *first = bt_module_find(m, "first")->func;
    const bt_match *match = bt_as_match(first->block->bindings[0]);
    const bt_adt_def *list = bt_module_find_adt(m, "List");
    bt_graph *g;
    bt_text_addf(out, "sizes %zu %zu %zu %zu %zu:", sizeof(bt_array),
                 sizeof(bt_graph_dim), sizeof(bt_where), sizeof(bt_ctor),
                 sizeof(bt_clause));
    for (uint32_t i = 0; i < list->nctor; i++)
        bt_text_addf(out, " %s", list->ctors[i]->name);
    for (uint32_t i = 0; i < match->nclause; i++)
        bt_text_addf(out, " %s", match->clauses[i]->pattern->ctor->name);
    for (uint32_t i = 0; i < any->nwhere; i++)
        bt_text_addf(out, " %s", any->wheres[i]->op->name);
    BT_TRY(
        bt_graph_compose(ctx, bt_ctx_scratch(ctx), bt_module_find(m, "dims")->func, &g));
    for (uint32_t i = 0; i < g->ndim; i++)
        bt_text_addf(out, " %s", g->dims[i]->name);
    for (uint32_t i = 0; i < g->narray; i++)
        bt_text_addf(out, " %u", g->arrays[i]->rank);
    return NULL;
}

static bt_status say_lists(bt_ctx *ctx)
{
    bt_module *parsed, *typed;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    BT_TRY(bt_parse(ctx, "old", NULL, program, sizeof(program) - 1, &parsed));
    bt_status status = bt_infer(ctx, parsed, &typed);
    bt_module_unref(parsed);
    BT_TRY(status);
    status = say_module(ctx, typed, &text);
    bt_module_unref(typed);
    BT_TRY(status);
    return bt_fail(ctx, BT_ERR_RUNTIME, "%s", bt_text_get(&text));
}

/* Fields of the first input of a program. */
static bt_status say_fields(bt_ctx *ctx, const char *path)
{
    const bt_program_options options = { .executor = "interp" };
    bt_program *opened;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    BT_TRY(bt_program_open(ctx, path, &options, &opened));
    const bt_port *port = bt_program_input(opened, 0);
    bt_text_addf(&text, "sizes %zu 0 0 0 0:", sizeof(bt_port));
    for (uint32_t i = 0; i < port->nfield; i++)
        bt_text_addf(&text, " %s: %s;", port->fields[i]->name, port->fields[i]->type);
    bt_program_close(opened);
    return bt_fail(ctx, BT_ERR_RUNTIME, "%s", bt_text_get(&text));
}

static bt_status say(bt_ctx *ctx, void *session, const char *entry, uint32_t narg,
                     bt_object *const *args, const bt_run_hook *hook, bt_object **result)
{
    const bt_compiled *c = session;
    bt_text text;
    (void)narg, (void)args, (void)hook, (void)result;
    if (strcmp(entry, "lists") == 0)
        return say_lists(ctx);
    if (strchr(entry, '/'))
        return say_fields(ctx, entry);
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "sizes %zu %zu %zu %zu %zu:", sizeof(bt_kernel),
                 sizeof(bt_kernel_code), sizeof(bt_target_use),
                 sizeof(bt_compiled_kernel), sizeof(bt_compiled_func));
    for (uint32_t i = 0; i < c->nkernel; i++)
        bt_text_addf(&text, " %s of %s, %zu bytes;", c->kernels[i]->name,
                     c->targets[c->kernels[i]->target]->text, c->codes[i]->nbytes);
    for (uint32_t i = 0; i < c->nfunc; i++)
        bt_text_addf(&text, " %s of %s;", c->funcs[i]->name,
                     c->targets[c->funcs[i]->target]->text);
    return bt_text_get(&text) ? bt_fail(ctx, BT_ERR_RUNTIME, "%s", bt_text_get(&text))
                              : bt_no_memory();
}

static const bt_executor executors[] = {
    { .name = "old",
      .doc = "Says what is compiled, and runs nothing.",
      .load = begin,
      .close = end,
      .call = say },
    { 0 },
};

const bt_table bt_tests_compile_old_old[] = { BT_TARGETS(targets),
                                              BT_EXECUTORS(executors),
                                              { 0 } };
