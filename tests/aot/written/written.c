/*
 * written: runs what executor aot writes. The C of a program goes into a folder, libtcc
 * compiles each of its files, and a function that is written beside them calls the entry:
 * so all tests that name an executor try aot.
 *
 *     arguments   their leaves, row major, as arrays of pointers
 *     results     new tensors, their shapes by the dims that the arguments show
 *     a fault     an error with its text
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/compiler.h>
#include <baton/executor.h>
#include <baton/op.h>

struct options {
    int64_t workspace_mb, depth;
};
static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, workspace_mb, INT, "64", 1, 1 << 20,
                  "memory of a run, where the program asks for it, in MiB"),
    BT_ATTR_RANGE(struct options, depth, INT, "1000", 1, INT32_MAX,
                  "calls in progress at most"),
    { 0 },
};

typedef int32_t call_fn(const int64_t *dims, void *const *args, void *const *results,
                        void *workspace, uint64_t nbytes, uint32_t depth);
typedef uint64_t workspace_fn(const int64_t *dims);
typedef const char *fault_fn(int32_t);

struct session {
    bt_registry *registry;
    struct options options;
    bt_module *module;
    const bt_global *entry;
    bt_arena *arena;
    bt_code *code;
    call_fn *call;
    workspace_fn *workspace;
    fault_fn *fault;
};

/* ---- the caller ---- */

static uint32_t count_args(const bt_func *func)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        n += bt_type_nleaf(func->block->params[i]->base.type);
    return n;
}

/* What calls the entry from arrays. A program with branches takes its memory's size. */
static bt_status make_caller(const struct session *s, int has_code, bt_text *out)
{
    const bt_func *func = s->entry->func;
    bt_text_addf(out,
                 "#include \"p.h\"\n#include \"p.c\"\n"
                 "int32_t test_call(const int64_t *dims, void *const *args, void *const "
                 "*results, void *workspace, uint64_t nbytes, uint32_t depth)\n{\n"
                 "    (void)dims, (void)args, (void)results, (void)nbytes, (void)depth;\n"
                 "    return p_run(");
    for (uint32_t i = 0; i < func->nvar; i++)
        bt_text_addf(out, "dims[%" PRIu32 "], ", i);
    for (uint32_t i = 0; i < count_args(func); i++)
        bt_text_addf(out, "args[%" PRIu32 "], ", i);
    for (uint32_t i = 0; i < bt_type_nleaf(func->result); i++)
        bt_text_addf(out, "results[%" PRIu32 "], ", i);
    bt_text_addf(out, "workspace%s);\n}\n", has_code ? ", nbytes, depth" : "");
    bt_text_addf(out, "uint64_t test_workspace(const int64_t *dims)\n{\n"
                      "    (void)dims;\n    return ");
    if (has_code)
        bt_text_addf(out, "0");
    else
        bt_text_addf(out, "p_workspace(");
    for (uint32_t i = 0; !has_code && i < func->nvar; i++)
        bt_text_addf(out, "%sdims[%" PRIu32 "]", i ? ", " : "", i);
    bt_text_addf(out, "%s;\n}\n", has_code ? "" : ")");
    return bt_text_get(out) ? NULL : bt_no_memory();
}

/* ---- compiling ---- */

static const char *path_of(bt_arena *arena, const char *folder, const char *name)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s/%s", folder, name);
    return bt_text_get(&text);
}

static int is_there(bt_arena *arena, const char *folder, const char *name)
{
    const char *path = path_of(arena, folder, name);
    return path && access(path, R_OK) == 0;
}

static bt_status compile_text(bt_ctx *ctx, struct session *s, const char *folder,
                              const char *name, const char *text, bt_code_object *out)
{
    const char *folders[3] = { folder };
    bt_text object;
    BT_TRY(bt_library_file(ctx, s->arena, "include", &folders[1]));
    const bt_c_source source = { name, text, strlen(text), folders, NULL };
    bt_text_init(&object, s->arena);
    BT_TRY(bt_c_compile(ctx, "tcc", NULL, &source, &object));
    *out = (bt_code_object){ name, object.at, object.len };
    return object.failed ? bt_no_memory() : NULL;
}

static bt_status compile_all(bt_ctx *ctx, struct session *s, const char *folder)
{
    enum { MOST = 16 };
    bt_code_object objects[MOST];
    bt_file *header;
    bt_text caller;
    uint32_t n = 0;
    const char *path = path_of(s->arena, folder, "p.h");
    if (!path)
        return bt_no_memory();
    BT_TRY(bt_file_read(ctx, path, &header));
    const char *interface = bt_arena_text(s->arena, header->bytes, header->nbytes);
    bt_file_close(ctx, header);
    if (!interface)
        return bt_no_memory();
    bt_text_init(&caller, s->arena);
    BT_TRY(make_caller(s, strstr(interface, "uint32_t depth") != NULL, &caller));
    BT_TRY(compile_text(ctx, s, folder, "caller.c", caller.at, &objects[n++]));
    BT_TRY(
        compile_text(ctx, s, folder, "data.c", "#include \"p_data.c\"\n", &objects[n++]));
    for (uint32_t i = 0; n < MOST; i++) {
        bt_text name, text;
        bt_text_init(&name, s->arena);
        bt_text_init(&text, s->arena);
        bt_text_addf(&name, "p_kernels_%" PRIu32 ".c", i);
        bt_text_addf(&text, "#include \"p_kernels_%" PRIu32 ".c\"\n", i);
        if (!bt_text_get(&name) || !bt_text_get(&text))
            return bt_no_memory();
        if (!is_there(s->arena, folder, name.at))
            break;
        BT_TRY(compile_text(ctx, s, folder, name.at, text.at, &objects[n++]));
    }
    BT_TRY(bt_code_load(ctx, n, objects, NULL, &s->code));
    s->call = (call_fn *)bt_code_find(s->code, "test_call");
    s->workspace = (workspace_fn *)bt_code_find(s->code, "test_workspace");
    s->fault = (fault_fn *)bt_code_find(s->code, "p_fault");
    return NULL;
}

/* ---- the folder ---- */

static void remove_files(bt_arena *arena, const char *folder)
{
    static const char *const names[] = { "p.h",      "p.c",
                                         "p_data.c", "CMakeLists.txt",
                                         "main.c",   "baton/kernel.h" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        const char *path = path_of(arena, folder, names[i]);
        if (path)
            unlink(path);
    }
    for (uint32_t i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p_kernels_%" PRIu32 ".c", i);
        const char *path = path_of(arena, folder, name);
        if (!path || unlink(path) != 0)
            break;
    }
    const char *inner = path_of(arena, folder, "baton");
    if (inner)
        rmdir(inner);
    rmdir(folder);
}

static bt_status write_and_compile(bt_ctx *ctx, struct session *s, bt_compiled *compiled)
{
    struct chosen {
        const char *name, *weights;
    } chosen = { "p", "c" };
    char folder[] = "/tmp/baton_written_XXXXXX";
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "aot", sizeof(bt_executor), &row));
    const bt_executor *aot = row;
    if (!mkdtemp(folder))
        return bt_fail(ctx, BT_ERR_IO, "written: there is no folder for files");
    bt_status status = aot->write(ctx, compiled, compiled->entry, &chosen, folder);
    if (!status)
        status = compile_all(ctx, s, folder);
    if (getenv("BATON_KEEP"))
        fprintf(stderr, "written: %s\n", folder);
    else
        remove_files(s->arena, folder);
    return status;
}

/* ---- sessions ---- */

static void close_session(void *opaque)
{
    struct session *s = opaque;
    bt_registry *registry = s->registry;
    bt_code_unload(s->code);
    bt_module_unref(s->module);
    bt_arena_destroy(s->arena);
    bt_free(registry, s, sizeof(*s));
    bt_registry_unref(registry);
}

static bt_status make(bt_ctx *ctx, const bt_module *module, struct session *s)
{
    const bt_compile_options how = { .targets = "c",
                                     .form = BT_CODE_SOURCE,
                                     .has_control_flow = 1 };
    bt_module *fused;
    bt_compiled *compiled;
    BT_TRY(bt_fuse(ctx, module, &how, &fused));
    bt_status status = bt_compile(ctx, fused, &how, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    s->module = bt_module_ref(compiled->module);
    status = bt_module_entry(ctx, s->module, compiled->entry, &s->entry);
    if (!status)
        status = write_and_compile(ctx, s, compiled);
    bt_compiled_unref(compiled);
    return status;
}

static bt_status open_session(bt_ctx *ctx, const bt_module *module, const void *given,
                              void **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct session *s = bt_alloc(registry, sizeof(*s));
    if (!s)
        return bt_no_memory();
    *s = (struct session){ .registry = bt_registry_ref(registry),
                           .options = { 64, 1000 },
                           .arena = bt_arena_create(registry) };
    if (given)
        memcpy(&s->options, given, sizeof(s->options));
    bt_status status = s->arena ? make(ctx, module, s) : bt_no_memory();
    if (status)
        close_session(s);
    else
        *out = s;
    return status;
}

/* ---- calls ---- */

struct leaves {
    uint32_t n;
    bt_tensor **at; /* held */
    void **data;
};

static void drop_leaves(struct leaves *l)
{
    while (l->n)
        bt_tensor_unref(l->at[--l->n]);
}

static bt_status add_leaf(bt_ctx *ctx, const bt_object *object, struct leaves *out)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_tensor *tensor = bt_object_as_tensor(object);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_leaf(ctx, tuple->fields[i], out));
    if (tuple)
        return NULL;
    if (!tensor)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "written: an argument is no tensor");
    BT_TRY(bt_tensor_dense(ctx, tensor, &out->at[out->n]));
    out->data[out->n] = out->at[out->n]->data;
    out->n++;
    return NULL;
}

static bt_status add_result(bt_ctx *ctx, const struct session *s, const bt_type *type,
                            const int64_t *dims, struct leaves *out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(add_result(ctx, s, tuple->at[i], dims, out));
    if (tuple)
        return NULL;
    const bt_shape_type *shape = bt_tensor_shape(type);
    int64_t found[BT_MAX_RANK];
    if (!shape)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "written: a result is no tensor");
    for (uint32_t i = 0; i < shape->n; i++) {
        bt_dim_code code;
        BT_TRY(bt_dim_compile(ctx, bt_ctx_scratch(ctx), shape->dims[i],
                              s->entry->func->nvar, s->entry->func->vars, &code));
        if (!bt_dim_eval(&code, dims, &found[i]))
            return bt_fail(ctx, BT_ERR_LIMIT, "written: a dim of a result is too large");
    }
    BT_TRY(
        bt_tensor_create(ctx, bt_tensor_dtype(type), shape->n, found, &out->at[out->n]));
    out->data[out->n] = out->at[out->n]->data;
    out->n++;
    return NULL;
}

static bt_status give_result(bt_ctx *ctx, const bt_type *type, const struct leaves *all,
                             uint32_t *next, bt_object **out)
{
    const bt_list_type *list = bt_as_tuple_type(type);
    bt_object *fields[64];
    bt_tuple *tuple;
    bt_status status = NULL;
    uint32_t n = 0;
    if (!list) {
        *out = &bt_tensor_ref(all->at[(*next)++])->base;
        return NULL;
    }
    if (list->n > BT_COUNT(fields))
        return bt_fail(ctx, BT_ERR_LIMIT, "written: a tuple of more than 64 fields");
    while (!status && n < list->n) {
        status = give_result(ctx, list->at[n], all, next, &fields[n]);
        n += !status;
    }
    if (!status)
        status = bt_tuple_create(ctx, n, fields, &tuple);
    while (n)
        bt_object_unref(fields[--n]);
    if (!status)
        *out = &tuple->base;
    return status;
}

static bt_status run(bt_ctx *ctx, const struct session *s, const int64_t *dims,
                     const struct leaves *args, const struct leaves *results)
{
    uint64_t nbytes = s->workspace(dims);
    if (nbytes == UINT64_MAX)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "written: dims are out of range");
    if (!nbytes)
        nbytes = (uint64_t)s->options.workspace_mb << 20;
    char *given = malloc((size_t)nbytes + 64);
    if (!given)
        return bt_no_memory();
    const int32_t fault =
        s->call(dims, args->data, results->data, given + (-(uintptr_t)given & 63), nbytes,
                (uint32_t)s->options.depth);
    free(given);
    return fault ? bt_fail(ctx, BT_ERR_RUNTIME, "%s", s->fault(fault)) : NULL;
}

static bt_status call_all(bt_ctx *ctx, const struct session *s, bt_arena *scratch,
                          uint32_t narg, bt_object *const *given, struct leaves *args,
                          struct leaves *results, bt_object **out)
{
    const bt_func *func = s->entry->func;
    const uint32_t n = count_args(func), nresult = bt_type_nleaf(func->result);
    int64_t *dims = BT_NEWS(scratch, int64_t, func->nvar);
    uint32_t next = 0;
    args->at = BT_NEWS(scratch, bt_tensor *, n);
    args->data = BT_NEWS(scratch, void *, n);
    results->at = BT_NEWS(scratch, bt_tensor *, nresult);
    results->data = BT_NEWS(scratch, void *, nresult);
    if (!dims || !args->at || !args->data || !results->at || !results->data)
        return bt_no_memory();
    BT_TRY(bt_check_args(ctx, s->module, s->entry, narg, given, dims));
    for (uint32_t i = 0; i < narg; i++)
        BT_TRY(add_leaf(ctx, given[i], args));
    BT_TRY(add_result(ctx, s, func->result, dims, results));
    BT_TRY(run(ctx, s, dims, args, results));
    return give_result(ctx, func->result, results, &next, out);
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *given, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    struct leaves args = { 0 }, results = { 0 };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    (void)name;
    (void)hook;
    bt_status status = call_all(ctx, s, scratch, narg, given, &args, &results, out);
    drop_leaves(&args);
    drop_leaves(&results);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "written",
        .doc = "What executor aot writes, compiled by libtcc.",
        .features = BT_FEATURE_ALL & ~(uint32_t)BT_FEATURE_DEVICES,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open_session,
        .close = close_session,
        .call = call,
    },
    { 0 },
};

const bt_table bt_tests_aot_written_written[] = { BT_EXECUTORS(executors), { 0 } };
