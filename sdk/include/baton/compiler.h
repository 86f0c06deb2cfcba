/*
 * C text to machine code: for authors of compilers, and for whoever has text compiled.
 *
 *     const bt_c_source source = { .name = "module", .text = text, .nbytes = nbytes };
 *     BT_TRY(bt_c_compile(ctx, "tcc", NULL, &source, &object));
 *     const bt_code_object part = { "module", object.at, object.len };
 *     BT_TRY(bt_code_load(ctx, 1, &part, symbols, &code));
 *     kernel = (kernel_fn)bt_code_find(code, "kernel_0");
 *
 * The text is freestanding C11. What it calls is given to it: through pointers among its
 * arguments, or as the symbols of bt_code_load. Compiled text is trusted as a plugin is.
 */
#ifndef BATON_COMPILER_H
#define BATON_COMPILER_H

#include <baton/base.h>
#include <baton/op.h>
#include <baton/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- compiling ---- */

typedef struct bt_c_source {
    const char *name; /* in messages, such as a file's path */
    const char *text;
    size_t nbytes;
    /* Folders where #include finds files, NULL-terminated; NULL: the text includes
     * nothing. The system's own are never searched. */
    const char *const *folders;
    /* What the machine can do, as the system's compiler is told it ("-mavx2"),
     * NULL-terminated; NULL: nothing beyond the architecture. A compiler that does not
     * know such flags ignores them. */
    const char *const *machine;
} bt_c_source;

/* A compiler. Compiling must not look names up in the registry: it may be called while a
 * plugin is opened. Called from several threads at once. */
typedef struct bt_compiler {
    const char *name; /* "tcc" */
    const char *doc;
    const bt_attr *options; /* as an operator's attributes; NULL: none */
    size_t options_nbytes;
    /* NULL, or why it cannot work on this machine; cheap. May be NULL. */
    bt_status (*probe)(bt_ctx *, const void *options);
    /* Appends a relocatable ELF object for this machine: position-independent, no
     * constructors, no thread-local data.
     * errors  BT_ERR_SYNTAX: the text; BT_ERR_PLUGIN: the compiler is missing or failed;
     *         BT_ERR_LIMIT: time, memory */
    bt_status (*compile)(bt_ctx *, const void *options, const bt_c_source *,
                         bt_text *object);
} bt_compiler;
#define BT_COMPILERS(array)                              \
    {                                                    \
        "baton.compiler/1", sizeof(bt_compiler), (array) \
    }

/* Has a compiler compile: one by name, or NULL for the first that works of tcc, cc.
 * `options` as attributes are written ("deadline_ms=500"); NULL: the defaults. */
BT_API bt_status bt_c_compile(bt_ctx *, const char *compiler, const char *options,
                              const bt_c_source *, bt_text *object) BT_MUST_USE;
/* Whether it could compile: NULL, or why not. */
BT_API bt_status bt_c_probe(bt_ctx *, const char *compiler,
                            const char *options) BT_MUST_USE;

/* ---- for authors of compilers ---- */

/* A program that does the work: run without a shell, with no file open but its standard
 * ones, in a process group of its own that does not outlive the call. */
typedef struct bt_process {
    /* The program and its arguments, NULL-terminated. A program without "/" is looked
     * for in PATH. Its environment is PATH, HOME, TMPDIR and LC_ALL=C. */
    const char *const *argv;
    const void *input; /* what it reads as standard input */
    size_t input_nbytes;
    uint64_t memory_nbytes; /* of address space; 0: any */
    uint64_t output_nbytes; /* that it may write to a file; 0: any */
    uint32_t deadline_ms;   /* of time, also of CPU time; 0: any */
} bt_process;

typedef struct bt_process_end {
    int32_t exit_code;
    bt_text output, messages; /* standard output, a file that may be opened again as
                                 /proc/self/fd/1; standard error, at most 64 KiB */
} bt_process_end;

/* The path of a program, which is looked for as bt_process_run looks. errors
 * BT_ERR_PLUGIN (missing, not executable) */
BT_API bt_status bt_process_find(bt_ctx *, bt_arena *, const char *program,
                                 const char **out) BT_MUST_USE;
/* Runs it to its end. errors BT_ERR_PLUGIN (missing, not executable, killed by a signal),
 * BT_ERR_LIMIT (deadline, output), BT_ERR_CANCELLED; any exit code is success */
BT_API bt_status bt_process_run(bt_ctx *, const bt_process *, bt_arena *,
                                bt_process_end *out) BT_MUST_USE;

/* Makes one diagnostic of a compiler's messages, lines such as "NAME:3:14: error: ...":
 * the first error with its place, the others as notes. Where no line is an error it
 * quotes the first line, or says that there was none. */
BT_API bt_status bt_c_errors(bt_ctx *, const char *compiler, const bt_c_source *,
                             const char *messages) BT_FAILURE;

/* The path of a file beside libbaton's plugins, where a compiler plugin keeps its helper
 * program: <folder of libbaton>/baton/NAME. It need not exist. errors BT_ERR_PLUGIN: the
 * folder is not known */
BT_API bt_status bt_library_file(bt_ctx *, bt_arena *, const char *name,
                                 const char **out) BT_MUST_USE;
/* An environment variable; NULL where it is not set, where the application wants none
 * read (ignore_environment), and in a program with raised privileges. */
BT_API const char *bt_variable(const bt_ctx *, const char *name);

/* ---- what was made, kept ---- */

/* A folder of objects by the digest of all that made them, each with a digest of its own: code
 * that was compiled, or programs that a driver has built. They are trusted as plugins are, so
 * a file or folder that somebody else owns or may write is not used, nor one that is damaged.
 * Any fault of it is a remark, and what was to be found there is made again. */
typedef struct bt_cache bt_cache;
/* `option`: a folder, "off", or "" for BATON_CACHE or the user's usual one, which is made;
 * `most`: bytes of all objects, beyond which the oldest go. In the arena. NULL: none is
 * used. */
BT_API bt_cache *bt_cache_open(bt_ctx *, bt_arena *, const char *option, uint64_t most);
/* Appends the object kept under a digest (bt_digest). 0: there is none that may be used; also
 * of NULL. */
BT_API int bt_cache_get(const bt_cache *, const char *digest, bt_text *object);
/* Nobody ever sees half an object. */
BT_API void bt_cache_put(const bt_cache *, const char *digest, const bt_text *object);

/* ---- machine code ---- */

typedef void (*bt_function)(void);

/* What the code may use from outside: a function or data by name. */
typedef struct bt_symbol {
    const char *name; /* zero ends a list */
    bt_function function;
    const void *data;
} bt_symbol;

typedef struct bt_code_object {
    const char *name; /* in messages */
    const void *bytes;
    size_t nbytes;
} bt_code_object;

typedef struct bt_code bt_code;

/* Links objects with each other and with `symbols` (NULL: none; memcpy, memmove, memset
 * and memcmp are always there) and maps them: code that cannot be written, data that
 * cannot be executed, at no time both. Objects may be freed afterwards. The form of an
 * object is not trusted, what its code does is. errors BT_ERR_FORMAT (damaged),
 * BT_ERR_UNSUPPORTED (other machine, a kind of relocation or section that is not
 * handled, by name), BT_ERR_NAME (undefined symbols, all of them; defined twice),
 * BT_ERR_LIMIT (1 GiB), BT_ERR_IO (the system refuses) */
BT_API bt_status bt_code_load(bt_ctx *, uint32_t nobject, const bt_code_object *,
                              const bt_symbol *symbols, bt_code **out) BT_MUST_USE;
/* A function with external linkage. NULL: there is none of this name. */
BT_API bt_function bt_code_find(const bt_code *, const char *name);
/* Accepts NULL. Nothing of the code may be running. */
BT_API void bt_code_unload(bt_code *);

#ifdef __cplusplus
}
#endif
#endif
