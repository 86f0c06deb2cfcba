/*
 * cc: C text by the system's compiler, optimised. What it made is kept in a cache of the
 * user's, under a digest of the text, the flags, the compiler's version and the ABI.
 *
 * A text that includes files is preprocessed first, so that the digest covers them.
 */
#include <baton/compiler.h>
#include <stdio.h>
#include <string.h>

struct options {
    const char *command, *cache;
    int64_t cache_mb, memory_mb, deadline_ms;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, command, STRING, "cc",
            "the compiler and first arguments, separated by blanks: clang -m64"),
    BT_ATTR(struct options, cache, STRING, "",
            "folder of the cache, or off; empty: BATON_CACHE, or baton/objects in "
            "XDG_CACHE_HOME"),
    BT_ATTR_RANGE(struct options, cache_mb, INT, "256", 1, 1 << 20,
                  "size of the cache, in MiB: the oldest objects are removed"),
    BT_ATTR_RANGE(struct options, memory_mb, INT, "4096", 64, 1 << 20,
                  "address space of one compilation, in MiB"),
    BT_ATTR_RANGE(struct options, deadline_ms, INT, "120000", 1, 1 << 30,
                  "time of one compilation"),
    { 0 },
};

static const char *const compile_flags[] = {
    "-std=c11",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffreestanding",
    "-ffp-contract=off",
    "-fno-common",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-nostdinc",
};

enum { MAX_ARGS = 256 };

/* One compilation. Everything lives in its arena. */
struct job {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct options *options;
    const bt_c_source *source;
    const char *command[MAX_ARGS]; /* words of the option */
    uint32_t nword;
    bt_text text; /* what is compiled */
    const char *version;
};

struct args {
    const char *at[MAX_ARGS];
    uint32_t len;
};

static int add(struct args *args, const char *word)
{
    if (args->len + 1 >= MAX_ARGS)
        return 0;
    args->at[args->len++] = word;
    return 1;
}

static int add_all(struct args *args, const char *const *words)
{
    int ok = 1;
    for (; ok && words && *words; words++)
        ok = add(args, *words);
    return ok;
}

static BT_FAILURE bt_status too_many(const struct job *job)
{
    return bt_fail(job->ctx, BT_ERR_LIMIT, "cc: %s: more than %d arguments",
                   job->source->name, MAX_ARGS);
}

/* ---- the program ---- */

static bt_status split_command(struct job *job)
{
    for (const char *word = job->options->command; *word;) {
        word += strspn(word, " ");
        size_t n = strcspn(word, " ");
        if (n == 0)
            break;
        if (job->nword + 1 >= MAX_ARGS / 2)
            return too_many(job);
        job->command[job->nword] = bt_arena_text(job->arena, word, n);
        if (!job->command[job->nword++])
            return bt_no_memory();
        word += n;
    }
    if (job->nword == 0)
        return bt_fail(job->ctx, BT_ERR_ATTRIBUTE, "cc: the option command is empty");
    const char *path;
    bt_status status = bt_process_find(job->ctx, job->arena, job->command[0], &path);
    if (!status || status->code == BT_ERR_MEMORY) {
        job->command[0] = status ? NULL : path;
        return status;
    }
    return bt_fail(job->ctx, BT_ERR_PLUGIN,
                   "cc: %s: install a C compiler (package gcc), or name one by the "
                   "option command",
                   status->message);
}

static bt_status run(const struct job *job, const struct args *args, const bt_text *input,
                     bt_process_end *out)
{
    const bt_process process = {
        .argv = args->at,
        .input = input ? input->at : "",
        .input_nbytes = input ? input->len : 0,
        .memory_nbytes = (uint64_t)job->options->memory_mb << 20,
        .output_nbytes = (uint64_t)job->options->memory_mb << 20,
        .deadline_ms = (uint32_t)job->options->deadline_ms,
    };
    return bt_process_run(job->ctx, &process, job->arena, out);
}

/* The first line of what the compiler says of itself. */
static bt_status ask_version(struct job *job)
{
    struct args args = { { 0 }, 0 };
    bt_process_end end;
    if (!add_all(&args, job->command) || !add(&args, "--version"))
        return too_many(job);
    BT_TRY(run(job, &args, NULL, &end));
    size_t n = 0;
    while (n < end.output.len && end.output.at[n] != '\n')
        n++;
    if (end.exit_code || n == 0)
        return bt_fail(job->ctx, BT_ERR_PLUGIN,
                       "cc: %s --version says nothing: is it a C compiler?",
                       job->command[0]);
    job->version = bt_arena_text(job->arena, end.output.at, n);
    return job->version ? NULL : bt_no_memory();
}

/* ---- the text ---- */

/* `#line` gives messages the text's name. */
static void add_text(const bt_c_source *source, bt_text *out)
{
    bt_text_addf(out, "#line 1 \"");
    for (const char *c = source->name; *c; c++) {
        if (*c == '"' || *c == '\\')
            bt_text_add(out, "\\", 1);
        bt_text_add(out, *c == '\n' ? " " : c, 1);
    }
    bt_text_addf(out, "\"\n");
    bt_text_add(out, source->text, source->nbytes);
    bt_text_addf(out, "\n");
}

static bt_status judge(const struct job *job, const bt_process_end *end)
{
    const char *messages = bt_text_get(&end->messages);
    const char *m = messages ? messages : "";
    if (end->exit_code &&
        (strstr(m, "out of memory") || strstr(m, "annot allocate memory") ||
         strstr(m, "virtual memory exhausted") || strstr(m, "bad_alloc")))
        return bt_fail(job->ctx, BT_ERR_LIMIT,
                       "cc: %s: no memory: the option memory_mb allows %lld MiB",
                       job->source->name, (long long)job->options->memory_mb);
    if (end->exit_code)
        return bt_c_errors(job->ctx, "cc", job->source, messages);
    if (*m)
        bt_remark(job->ctx, BT_REMARK_DETAIL, bt_fail(job->ctx, BT_ERR_SYNTAX, "%s", m));
    return NULL;
}

/* Replaces the text by what the preprocessor makes of it. */
static bt_status preprocess(struct job *job)
{
    struct args args = { { 0 }, 0 };
    bt_process_end end;
    int ok = add_all(&args, job->command) && add(&args, "-E");
    for (size_t i = 0; ok && i < BT_COUNT(compile_flags); i++)
        ok = add(&args, compile_flags[i]);
    ok = ok && add_all(&args, job->source->machine);
    for (const char *const *f = job->source->folders; ok && *f; f++)
        ok = add(&args, "-I") && add(&args, *f);
    if (!ok || !add(&args, "-x") || !add(&args, "c") || !add(&args, "-"))
        return too_many(job);
    BT_TRY(run(job, &args, &job->text, &end));
    BT_TRY(judge(job, &end));
    job->text = end.output;
    return NULL;
}

static bt_status compile_text(const struct job *job, bt_text *object)
{
    struct args args = { { 0 }, 0 };
    bt_process_end end;
    int ok = add_all(&args, job->command) && add(&args, "-c");
    for (size_t i = 0; ok && i < BT_COUNT(compile_flags); i++)
        ok = add(&args, compile_flags[i]);
    ok = ok && add_all(&args, job->source->machine) && add(&args, "-x") &&
         add(&args, job->source->folders ? "cpp-output" : "c") && add(&args, "-o");
    // Not /dev/stdout, which a failing compiler might remove.
    if (!ok || !add(&args, "/proc/self/fd/1") || !add(&args, "-"))
        return too_many(job);
    BT_TRY(run(job, &args, &job->text, &end));
    BT_TRY(judge(job, &end));
    if (end.output.len == 0)
        return bt_fail(job->ctx, BT_ERR_PLUGIN, "cc: %s: %s gave no object",
                       job->source->name, job->command[0]);
    if (end.output.len < 4 || memcmp(end.output.at, "\177ELF", 4) != 0)
        return bt_fail(job->ctx, BT_ERR_PLUGIN,
                       "cc: %s: %s gave %zu bytes that are no object", job->source->name,
                       job->command[0], end.output.len);
    *object = end.output;
    return NULL;
}

/* ---- with the cache ---- */

static bt_status digest_of(const struct job *job, char out[65])
{
    bt_text key;
    bt_text_init(&key, job->arena);
    bt_text_addf(&key, "abi %d.%d\nversion %s\n", BT_ABI_MAJOR, BT_ABI_MINOR,
                 job->version);
    for (const char *const *word = job->command; *word; word++)
        bt_text_addf(&key, "word %s\n", *word);
    for (size_t i = 0; i < BT_COUNT(compile_flags); i++)
        bt_text_addf(&key, "flag %s\n", compile_flags[i]);
    for (const char *const *m = job->source->machine; m && *m; m++)
        bt_text_addf(&key, "machine %s\n", *m);
    bt_text_addf(&key, "text\n");
    bt_text_add(&key, job->text.at, job->text.len);
    if (key.failed)
        return bt_no_memory();
    bt_digest(key.at, key.len, out);
    return NULL;
}

static bt_status work(struct job *job, bt_text *out)
{
    bt_text object;
    char digest[65];
    BT_TRY(split_command(job));
    bt_text_init(&job->text, job->arena);
    bt_text_init(&object, job->arena);
    add_text(job->source, &job->text);
    if (job->text.failed)
        return bt_no_memory();
    if (job->source->folders)
        BT_TRY(preprocess(job));
    bt_cache *cache = bt_cache_open(job->ctx, job->arena, job->options->cache,
                                    (uint64_t)job->options->cache_mb << 20);
    if (cache) {
        BT_TRY(ask_version(job));
        BT_TRY(digest_of(job, digest));
    }
    if (!bt_cache_get(cache, digest, &object)) {
        BT_TRY(compile_text(job, &object));
        bt_cache_put(cache, digest, &object);
    }
    bt_text_add(out, object.at, object.len);
    return out->failed ? bt_no_memory() : NULL;
}

static bt_status compile(bt_ctx *ctx, const void *given, const bt_c_source *source,
                         bt_text *object)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    struct job *job = BT_NEW(arena, struct job);
    bt_status status = bt_no_memory();
    if (job) {
        job->ctx = ctx;
        job->arena = arena;
        job->options = given;
        job->source = source;
        status = work(job, object);
    }
    bt_arena_destroy(arena);
    return status;
}

static bt_status probe(bt_ctx *ctx, const void *given)
{
    static const bt_c_source nothing = { .name = "" };
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    struct job *job = BT_NEW(scratch, struct job);
    bt_status status = bt_no_memory();
    if (job) {
        job->ctx = ctx;
        job->arena = scratch;
        job->options = given;
        job->source = &nothing;
        status = split_command(job);
    }
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_compiler compilers[] = {
    {
        .name = "cc",
        .doc = "The system's compiler: slow to compile, fast code, kept in a cache.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .probe = probe,
        .compile = compile,
    },
    { 0 },
};
const bt_table bt_plugins_cc_cc[] = { BT_COMPILERS(compilers), { 0 } };
