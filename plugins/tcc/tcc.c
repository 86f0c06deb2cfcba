/*
 * tcc: C text by libtcc. It compiles a million lines a second to code as slow as that of
 * a compiler told not to optimise: for glue, for tiny loops, for plugins as source.
 * libtcc runs in baton-tcc (helper/), so that its end is never ours.
 *
 * Traps of libtcc for who generates text: no structs by value, no vector types (they are
 * silently scalar), no constant operands of && || ?:, no conversions between unsigned
 * 64-bit integers and floats, at most some hundred nested parentheses.
 *
 * source  tcc 0.9.27
 */
#include <baton/compiler.h>
#include <string.h>

struct options {
    const char *helper;
    int64_t memory_mb, deadline_ms;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, helper, STRING, "",
            "path of baton-tcc; empty: beside libbaton's plugins"),
    BT_ATTR_RANGE(struct options, memory_mb, INT, "1024", 16, 1 << 20,
                  "address space of one compilation, in MiB"),
    BT_ATTR_RANGE(struct options, deadline_ms, INT, "10000", 1, 1 << 30,
                  "time of one compilation"),
    { 0 },
};

#define MAX_FOLDERS 64u

static bt_status find_helper(bt_ctx *ctx, bt_arena *arena, const struct options *o,
                             const char **out)
{
    const char *path = o->helper;
    if (!*path)
        BT_TRY(bt_library_file(ctx, arena, "baton-tcc", &path));
    bt_status status = bt_process_find(ctx, arena, path, out);
    if (!status || status->code == BT_ERR_MEMORY)
        return status;
    return bt_fail(ctx, BT_ERR_PLUGIN,
                   "tcc: %s: it is built where libtcc is there (package libtcc-dev)",
                   status->message);
}

static bt_status probe(bt_ctx *ctx, const void *given)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const char *path;
    bt_status status = find_helper(ctx, scratch, given, &path);
    bt_arena_release(scratch, mark);
    return status;
}

static bt_status judge(bt_ctx *ctx, const struct options *o, const bt_c_source *source,
                       const bt_process_end *end)
{
    const char *messages = bt_text_get(&end->messages);
    const char *full = strstr(messages ? messages : "", "memory full");
    if (end->exit_code && full && strncmp(full, "memory full (vstack)", 20) != 0)
        return bt_fail(ctx, BT_ERR_LIMIT,
                       "tcc: %s: no memory: the option memory_mb allows %lld MiB",
                       source->name, (long long)o->memory_mb);
    if (end->exit_code)
        return bt_c_errors(ctx, "tcc", source, messages);
    if (end->output.len == 0)
        return bt_fail(ctx, BT_ERR_PLUGIN, "tcc: %s: the helper program gave no object",
                       source->name);
    if (end->output.len < 4 || memcmp(end->output.at, "\177ELF", 4) != 0)
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "tcc: %s: the helper program gave %zu bytes that are no object",
                       source->name, end->output.len);
    if (messages && *messages)
        bt_remark(ctx, BT_REMARK_DETAIL, bt_fail(ctx, BT_ERR_SYNTAX, "%s", messages));
    return NULL;
}

/* `#line` gives messages the text's name. */
static void add_text(const bt_c_source *source, bt_text *out)
{
    bt_text_addf(out, "#line 1 \"");
    for (const char *c = source->name; *c; c++) {
        char shown = *c;
        if (shown == '"' || shown == '\\' || shown == '\n')
            bt_text_add(out, shown == '\n' ? "" : "\\", shown != '\n');
        bt_text_add(out, shown == '\n' ? " " : &shown, 1);
    }
    bt_text_addf(out, "\"\n");
    bt_text_add(out, source->text, source->nbytes);
    bt_text_addf(out, "\n");
}

static bt_status run(bt_ctx *ctx, bt_arena *arena, const struct options *o,
                     const bt_c_source *source, bt_text *object)
{
    const char *argv[2 * MAX_FOLDERS + 2] = { 0 };
    bt_process_end end;
    bt_text text;
    uint32_t n = 1;
    BT_TRY(find_helper(ctx, arena, o, &argv[0]));
    for (const char *const *folder = source->folders;
         folder && *folder && n < 2 * MAX_FOLDERS; folder++) {
        argv[n++] = "-I";
        argv[n++] = *folder;
    }
    bt_text_init(&text, arena);
    add_text(source, &text);
    if (text.failed)
        return bt_no_memory();
    const bt_process process = {
        .argv = argv,
        .input = text.at,
        .input_nbytes = text.len,
        .memory_nbytes = (uint64_t)o->memory_mb << 20,
        .output_nbytes = (uint64_t)o->memory_mb << 20,
        .deadline_ms = (uint32_t)o->deadline_ms,
    };
    BT_TRY(bt_process_run(ctx, &process, arena, &end));
    BT_TRY(judge(ctx, o, source, &end));
    bt_text_add(object, end.output.at, end.output.len);
    return object->failed ? bt_no_memory() : NULL;
}

static bt_status compile(bt_ctx *ctx, const void *given, const bt_c_source *source,
                         bt_text *object)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = run(ctx, arena, given, source, object);
    bt_arena_destroy(arena);
    return status;
}

static const bt_compiler compilers[] = {
    {
        .name = "tcc",
        .doc = "libtcc: compiles at once, to code that is not optimised.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .probe = probe,
        .compile = compile,
    },
    { 0 },
};
const bt_table bt_plugins_tcc_tcc[] = { BT_COMPILERS(compilers), { 0 } };
