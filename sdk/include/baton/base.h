/*
 * Contexts, errors and memory: what every other header builds on.
 *
 * Ownership verbs mean the same everywhere: create/destroy for an object with one owner,
 * ref/unref for a shared one (ref returns its argument), find may give NULL, get must
 * succeed; both borrow. Nodes made by noun constructors (bt_type_tensor) belong to a
 * store and are never freed one by one. Out-parameters come last and are set only on
 * success.
 *
 * Threads: a registry may be used from any thread; a context, and all that hangs from it,
 * from one at a time.
 */
#ifndef BATON_BASE_H
#define BATON_BASE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__TINYC__)
#define BT_API          __attribute__((visibility("default")))
#define BT_MUST_USE     __attribute__((warn_unused_result))
#define BT_PRINTF(f, a) __attribute__((format(printf, f, a)))
/* A status that is never success: compilers see that out-parameters are set where none is
 * returned. */
#define BT_FAILURE __attribute__((warn_unused_result, returns_nonnull))
#else
#define BT_API
#define BT_MUST_USE
#define BT_PRINTF(f, a)
#define BT_FAILURE
#endif

#ifdef __cplusplus
#define BT_EXTERN_C extern "C"
#else
#define BT_EXTERN_C extern
#endif

#define BT_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

typedef struct bt_registry bt_registry; /* plugins, allocator: shared */
typedef struct bt_ctx bt_ctx;           /* diagnostics, scratch memory, limits */
typedef struct bt_store bt_store; /* nodes, types, names, spans of a family of modules */
typedef struct bt_arena bt_arena; /* memory freed as a whole */

/* ---- errors ---- */

enum {
#define BT_CODE(UPPER, text, doc) BT_ERR_##UPPER,
#include <baton/codes.def>
    BT_ERR_COUNT
};

/* Where something stands in its source. `text` is the source line, NULL where there is
 * none. */
typedef struct bt_place {
    const char *file; /* as the user named it; NULL = no place */
    uint32_t line;    /* 1-based; 0 = the whole file, or a model node named by `node` */
    uint32_t column;  /* 1-based, in bytes */
    uint32_t width;   /* bytes to underline, at least 1 */
    const char *text; /* the source line without its newline */
    const char *node; /* a model's node or an API call site, NULL if none */
} bt_place;

/* One diagnostic. Notes hang below as a chain; they explain ("because %w was bound
 * here"). */
typedef struct bt_diag bt_diag;
struct bt_diag {
    uint32_t code; /* BT_ERR_... */
    bt_place place;
    const char *message; /* lower case, no period: what was expected, what was found */
    const bt_diag *note; /* next note, NULL at the end */
};

/* NULL is success. Points into the context and stays valid, its texts too, until that
 * context is cleared (bt_ctx_clear_diags) or destroyed, whatever else is closed or freed
 * before: programs, modules, stores, files. Who keeps one for longer keeps a copy of what
 * bt_diag_render makes of it. */
typedef const bt_diag *bt_status;

/* Returns the status of `expr` from the calling function unless it is success. The only
 * macro that returns. */
#define BT_TRY(expr)                      \
    do {                                  \
        bt_status bt_try_status = (expr); \
        if (bt_try_status)                \
            return bt_try_status;         \
    } while (0)

/* A position in a store's source map: text range, model node or API call site. 0 =
 * unknown. */
typedef uint32_t bt_span;

/* Makes a status. bt_fail has no place; bt_fail_at resolves `span` in the store's source
 * map. */
BT_API bt_status bt_fail(bt_ctx *, uint32_t code, const char *format, ...) BT_FAILURE
    BT_PRINTF(3, 4);
BT_API bt_status bt_fail_at(bt_ctx *, uint32_t code, const bt_store *, bt_span,
                            const char *format, ...) BT_FAILURE BT_PRINTF(5, 6);
BT_API bt_status bt_fail_place(bt_ctx *, uint32_t code, const bt_place *,
                               const char *format, ...) BT_FAILURE BT_PRINTF(4, 5);
BT_API bt_status bt_fail_va(bt_ctx *, uint32_t code, const bt_place *, const char *format,
                            va_list) BT_FAILURE BT_PRINTF(4, 0);
/* The one record for lack of memory: static, so that it can always be returned. */
BT_API bt_status bt_no_memory(void) BT_FAILURE;
/* A copy of `status` with a note at the end of its chain; `status` itself if there is no
 * memory for it. */
BT_API bt_status bt_note(bt_ctx *, bt_status status, const bt_store *, bt_span,
                         const char *format, ...) BT_MUST_USE BT_PRINTF(5, 6);

/* Adds a status to the context's list and lets the caller go on. Reports beyond
 * limits.errors are counted only: bt_ctx_report gives NULL for them. */
BT_API void bt_report(bt_ctx *, bt_status);
BT_API uint32_t bt_ctx_nreport(const bt_ctx *);
BT_API bt_status bt_ctx_report(const bt_ctx *, uint32_t index);
/* Remarks: what users should know although nothing failed, as a fallback, and why. Kept in
 * order, up to limits.errors of each level; more are counted only. */
enum {
    BT_REMARK_NOTE,  /* for every user; the same text is kept once */
    BT_REMARK_DETAIL, /* for who asks */
    BT_REMARK_CHOICE  /* no fault: what was chosen of several, for who asks */
};
BT_API void bt_remark(bt_ctx *, uint32_t level, bt_status);
BT_API uint32_t bt_ctx_nremark(const bt_ctx *, uint32_t level);
BT_API bt_status bt_ctx_remark(const bt_ctx *, uint32_t level, uint32_t index);
/* Forgets all diagnostics, and a request to stop; every bt_status of this context is
 * invalid afterwards. */
BT_API void bt_ctx_clear_diags(bt_ctx *);
/* The stable lower-case name of a code: "type", "syntax". */
BT_API const char *bt_code_name(uint32_t code);

/* ---- registry and context ---- */

/* All memory of Baton goes through one hook. size 0 frees; old is the size given before,
 * 0 for a new block. Returns NULL on failure (and leaves the old block alone). Must be
 * usable from several threads. One that counts and gives NULL beyond a budget bounds what
 * all programs of a registry take: the call that exceeds it is BT_ERR_MEMORY, later ones
 * work (sdk/examples/budget.c). Threads' stacks, and libraries that plugins bring, are
 * outside of it. */
typedef struct bt_allocator {
    void *self;
    void *(*realloc)(void *self, void *pointer, size_t old_nbytes, size_t nbytes);
} bt_allocator;

typedef struct bt_registry_options {
    const bt_allocator *allocator; /* NULL: libc */
    /* Manifests to use besides those found, ended by NULL; NULL: none. */
    const char *const *plugin_files;
    /* Folders searched first, separated by ':'; NULL: BATON_PLUGIN_PATH. */
    const char *plugin_path;
    /* Replaces all folders searched; NULL: BATON_PLUGIN_ONLY. */
    const char *plugin_only;
    /* Whose entry to use where several plugins have one: "nn.relu=org.example.fast, ...";
     * NULL: BATON_PLUGIN_USE. */
    const char *plugin_use;
    uint32_t ignore_environment; /* 1: read no environment variable */
    uint32_t arena_single; /* 1: arenas ask the allocator for every object, for tests */
} bt_registry_options;

/* NULL options: all defaults. NULL result: no memory. Opens no plugin, reads no file. */
/* nbytes: sizeof(bt_registry_options) of who calls. As for all options of applications,
 * what older headers lack is zero, and what this library lacks must be. */
BT_API bt_registry *bt_registry_create_sized(const bt_registry_options *, size_t nbytes);
static inline bt_registry *bt_registry_create(const bt_registry_options *options)
{
    return bt_registry_create_sized(options, sizeof(*options));
}
BT_API bt_registry *bt_registry_ref(bt_registry *);
BT_API void bt_registry_unref(bt_registry *); /* accepts NULL */

/* Bounds on what one call may use; exceeding one is BT_ERR_LIMIT. */
typedef struct bt_limits {
    uint64_t bytes;  /* of one tensor, constant or input file, of which a run may have
                        many: all of its memory is bounded by an allocator, see
                        bt_registry_options; default 16 GiB */
    uint32_t nodes;  /* of one module, of one builder; default 50 million */
    uint32_t depth;  /* of nested text, regions, types, JSON, messages, calls at run time
                        excepted; default 256 */
    uint32_t errors; /* reported by one call; default 20 */
    uint32_t frames; /* of one run: nested calls of the program; default 1 million */
} bt_limits;

/* Holds a reference to the registry. NULL: no memory. */
BT_API bt_ctx *bt_ctx_create(bt_registry *);
BT_API void bt_ctx_destroy(bt_ctx *); /* accepts NULL */
BT_API bt_registry *bt_ctx_registry(const bt_ctx *);
/* May be changed between calls. */
BT_API bt_limits *bt_ctx_limits(bt_ctx *);
/* Asks the call in progress, from any thread or signal handler, to stop with
 * BT_ERR_CANCELLED. It does so between bindings, calls and iterations of kernels' loops;
 * an operator that is one C function (sort, topk, unique: those with facet plain) ends
 * its call first. The wish stays: where no call is in progress any more, the next one
 * stops, and so do all until bt_ctx_clear_diags. */
BT_API void bt_ctx_cancel(bt_ctx *);
BT_API int bt_ctx_cancelled(const bt_ctx *);
/* Called with what a long call begins to do ("pass fuse-ops", "compiling 38 kernels for
 * target cpu"), in the thread of the call; a text to be kept is copied. NULL: nothing. */
typedef void (*bt_progress_fn)(void *self, const char *what);
BT_API void bt_ctx_set_progress(bt_ctx *, bt_progress_fn, void *self);

/* ---- memory ---- */

BT_API void *bt_alloc(bt_registry *, size_t nbytes); /* zeroed; NULL: no memory */
/* The growth is not zeroed; 0 does not free. NULL: no memory, the old block stays. */
BT_API void *bt_realloc(bt_registry *, void *, size_t old_nbytes, size_t nbytes);
BT_API void bt_free(bt_registry *, void *, size_t nbytes); /* accepts NULL */

BT_API bt_arena *bt_arena_create(bt_registry *); /* NULL: no memory */
BT_API void bt_arena_destroy(bt_arena *);        /* accepts NULL */
/* Zeroed, aligned to 16. NULL: no memory, or count * nbytes overflows. Zero bytes give a
 * valid pointer. */
BT_API void *bt_arena_alloc(bt_arena *, size_t count, size_t nbytes);
/* Whether bt_arena_alloc ever gave NULL: tells lack of memory from a failure without a
 * status. */
BT_API int bt_arena_has_failed(const bt_arena *);
#define BT_NEW(arena, T)     ((T *)bt_arena_alloc((arena), 1, sizeof(T)))
#define BT_NEWS(arena, T, n) ((T *)bt_arena_alloc((arena), (n), sizeof(T)))
/* A NUL-terminated copy of `nbytes` bytes. NULL: no memory. */
BT_API const char *bt_arena_text(bt_arena *, const char *, size_t nbytes);
/* "; did you mean relu or prelu?", of the words of a NULL-terminated list that are near to
 * one that is none of them; "" where none is, or without memory. */
BT_API const char *bt_nearest(bt_arena *, const char *word, const char *const *known);
/* Everything allocated after the mark is given back by release. */
BT_API const void *bt_arena_mark(bt_arena *);
BT_API void bt_arena_release(bt_arena *, const void *mark);
/* The context's scratch arena: take a mark, release it before returning. */
BT_API bt_arena *bt_ctx_scratch(bt_ctx *);

/* A typed growable array in an arena:
 *     bt_vec(int64_t) dims = { 0 };
 *     if (!BT_PUSH(arena, &dims, 3)) ... */
#define bt_vec(T)          \
    struct {               \
        T *at;             \
        uint32_t len, cap; \
    }
/* 1, or 0 when there is no memory. */
#define BT_PUSH(arena, vec, item)                                          \
    (bt_vec_reserve((arena), (void **)&(vec)->at, &(vec)->cap, (vec)->len, \
                    sizeof(*(vec)->at))                                    \
         ? ((vec)->at[(vec)->len++] = (item), 1)                           \
         : 0)
BT_API int bt_vec_reserve(bt_arena *, void **at, uint32_t *cap, uint32_t len,
                          size_t item_nbytes);

/* A map that keeps insertion order, so that listings are the same on every run. Keys are
 * borrowed. Entries may be changed but not removed. Zero-initialise by bt_map_init. */
typedef struct bt_map_entry {
    const void *key;
    void *value;
    uint32_t hash;
} bt_map_entry;
typedef struct bt_map {
    bt_arena *arena;
    uint32_t is_text; /* keys are NUL-terminated strings, else compared by address */
    uint32_t len, cap;
    bt_map_entry *at; /* len entries, in order of insertion */
    uint32_t *slots;
    uint32_t nslot;
} bt_map;
BT_API void bt_map_init(bt_map *, bt_arena *, int is_text);
BT_API void *bt_map_find(const bt_map *, const void *key);            /* NULL: absent */
BT_API bt_map_entry *bt_map_entry_find(const bt_map *, const void *); /* NULL: absent */
/* Adds or replaces. 0: no memory. */
BT_API int bt_map_put(bt_map *, const void *key, void *value);

/* Text under construction. Failure sticks: check `failed` once at the end. */
typedef struct bt_text {
    bt_arena *arena;
    char *at; /* NUL-terminated once something was added */
    size_t len, cap;
    uint32_t failed;
} bt_text;
BT_API void bt_text_init(bt_text *, bt_arena *);
BT_API void bt_text_add(bt_text *, const char *, size_t nbytes);
/* Floats have a point, whatever the locale of the process. */
BT_API void bt_text_addf(bt_text *, const char *format, ...) BT_PRINTF(2, 3);
/* n items with ", " between them, each with its number in place of #; `instead` as item `at`.
 *     bt_text_each(t, 3, "i#", 1, "k")             i0, k, i2
 *     bt_text_each(t, 2, "i# in n#", UINT32_MAX, NULL)   i0 in n0, i1 in n1 */
BT_API void bt_text_each(bt_text *, uint32_t n, const char *item, uint32_t at,
                         const char *instead);
BT_API void bt_text_addv(bt_text *, const char *format, va_list) BT_PRINTF(2, 0);
/* "" when nothing was added; NULL when there was no memory. */
BT_API const char *bt_text_get(const bt_text *);

/* Renders a status and its notes: file:line:column: error: message, the source line, a
 * caret. */
BT_API void bt_diag_render(bt_status, int colour, bt_text *out);
/* The same as one JSON object. */
BT_API void bt_diag_render_json(bt_status, bt_text *out);

/* Nanoseconds since some fixed moment, for measuring; never goes backward. */
BT_API uint64_t bt_now_ns(void);

/* ---- checked arithmetic: 1 and *out set, or 0 on overflow ---- */

static inline int bt_add_size(size_t a, size_t b, size_t *out)
{
    return b > SIZE_MAX - a ? 0 : (*out = a + b, 1);
}
static inline int bt_mul_size(size_t a, size_t b, size_t *out)
{
    return b && a > SIZE_MAX / b ? 0 : (*out = a * b, 1);
}
BT_API int bt_add_int64(int64_t a, int64_t b, int64_t *out);
BT_API int bt_mul_int64(int64_t a, int64_t b, int64_t *out);
/* Never negative; of 0 and 0 it is 0. */
BT_API int64_t bt_gcd_int64(int64_t a, int64_t b);
/* Rounded toward minus infinity / plus infinity; remainder with the sign of b. b == 0
 * gives 0, as in formulas. */
BT_API int64_t bt_floordiv_int64(int64_t a, int64_t b);
BT_API int64_t bt_ceildiv_int64(int64_t a, int64_t b);
BT_API int64_t bt_mod_int64(int64_t a, int64_t b);

/* SHA-256 in hexadecimal, with a NUL. */
BT_API void bt_digest(const void *bytes, size_t nbytes, char out[65]);

BT_API const char *bt_version(void); /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
