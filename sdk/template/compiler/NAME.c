/*
 * @name@: a compiler of C for kernels and for plugins of C source: the system's cc, which is given the text by its standard
 * input. What it writes is linked by Baton (<baton/compiler.h>).
 */
#include <baton/compiler.h>

struct options {
    const char *command;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, command, STRING, "cc", "the program to run"),
    { 0 },
};

static bt_status probe(bt_ctx *ctx, const void *given)
{
    const struct options *o = given;
    const char *path;
    return bt_process_find(ctx, bt_ctx_scratch(ctx), o->command, &path);
}

enum { MAX_ARGS = 64 };

static bt_status compile(bt_ctx *ctx, const void *given, const bt_c_source *source, bt_text *object)
{
    const struct options *o = given;
    const char *argv[MAX_ARGS + 8] = { o->command, "-x", "c", "-std=c11", "-O2", "-fPIC", "-ffreestanding", "-c" };
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_process_end end;
    uint32_t n = 8;
    if (!arena)
        return bt_no_memory();
    for (const char *const *flag = source->machine; flag && *flag && n < MAX_ARGS; flag++)
        argv[n++] = *flag;
    for (const char *const *folder = source->folders; folder && *folder && n < MAX_ARGS; folder++) {
        argv[n++] = "-I";
        argv[n++] = *folder;
    }
    argv[n++] = "-o";
    argv[n++] = "/proc/self/fd/1"; /* standard output, which is a file */
    argv[n++] = "-";
    const bt_process process = {
        .argv = argv, .input = source->text, .input_nbytes = source->nbytes, .deadline_ms = 60000
    };
    bt_status status = bt_process_run(ctx, &process, arena, &end);
    if (!status && end.exit_code)
        status = bt_c_errors(ctx, "@name@", source, bt_text_get(&end.messages));
    if (!status)
        bt_text_add(object, end.output.at, end.output.len);
    bt_arena_destroy(arena);
    return status ? status : object->failed ? bt_no_memory() : NULL;
}

static const bt_compiler compilers[] = {
    {
        .name = "@name@",
        .doc = "The system's compiler of C.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .probe = probe,
        .compile = compile,
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_COMPILERS(compilers), { 0 } };
