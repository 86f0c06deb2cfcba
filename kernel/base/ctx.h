/* What the kernel alone sees of registries and contexts. */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include <pthread.h>

#include <baton/plugin.h>

struct bt__plugins; /* plugin/plugins.h */
struct bt__host;
struct bt__formulas; /* compute/formula/cache.h */

struct bt_registry {
    bt_allocator allocator;
    uint32_t nref; /* atomic */
    uint32_t arena_single;
    uint32_t ignore_environment;
    pthread_mutex_t lock;            /* guards plugins */
    bt_arena *arena;                 /* lives as long as the registry */
    const char *const *plugin_files; /* copies of the options */
    const char *plugin_path, *plugin_only, *plugin_use;
    const struct bt__host *host;
    struct bt__plugins *plugins; /* NULL until the first look-up */
    void (*plugins_destroy)(struct bt__plugins *);
};

/* bt_registry_create is in kinds/, which knows the host. */
bt_registry *bt__registry_create(const bt_registry_options *, const struct bt__host *);

/* Diagnostics in order, those beyond limits.errors counted only. */
struct bt__reports {
    bt_vec(bt_status) list;
    uint32_t n;
};

struct bt_ctx {
    bt_registry *registry;
    bt_limits limits;
    bt_arena *diags; /* diagnostics live here until cleared */
    bt_arena *scratch;
    struct bt__reports reports;
    struct bt__reports remarks[3]; /* by level: BT_REMARK_... */
    uint32_t cancelled;            /* atomic */
    bt_arena *read;                /* names of files_read; NULL: they are not kept */
    bt_map files_read;             /* "DEVICE INODE" of regular files */
    bt_progress_fn progress;
    void *progress_self;
    const struct bt_running_kernel *running; /* atomic; NULL: none */
    const bt_running_part *part;             /* likewise */
    struct bt__formulas *formulas;           /* that were parsed; NULL: none */
    void (*formulas_unref)(struct bt__formulas *);
};

void bt__progress(const bt_ctx *, const char *format, ...) BT_PRINTF(2, 3);

/* Options of who was built with headers that had `nbytes` of them, or NULL. 0: something
 * is set that this library does not have. */
int bt__options_read(void *own, size_t own_nbytes, const void *given, size_t nbytes);
/* The same with a status: BT_ERR_ARGUMENT. */
bt_status bt__options_take(bt_ctx *, void *own, size_t own_nbytes, const void *given,
                           size_t nbytes) BT_MUST_USE;

/* A range of a text. */
struct bt__range {
    const char *file, *text;
    size_t nbytes; /* of the text */
    size_t at, width;
};
/* bt_fail_va there; the end of a text is shown behind its last line. */
bt_status bt__fail_in(bt_ctx *, uint32_t code, const struct bt__range *,
                      const char *format, va_list)
BT_MUST_USE BT_PRINTF(4, 0);

/* bt_note at a place; may be NULL. */
bt_status bt__note_va(bt_ctx *, bt_status, const bt_place *, const char *format, va_list)
BT_MUST_USE BT_PRINTF(4, 0);
/* What a plugin's function is called between, so that a crash in it can be named:
 *     bt_running_part part = { "the pass", pass->name, plugin };
 *     bt__part_begin(ctx, &part);
 *     status = pass->run(ctx, ...);
 *     bt__part_end(ctx, &part); */
static inline void bt__part_begin(bt_ctx *ctx, bt_running_part *part)
{
    part->around = ctx->part;
    __atomic_store_n(&ctx->part, part, __ATOMIC_RELEASE);
}
static inline void bt__part_end(bt_ctx *ctx, const bt_running_part *part)
{
    __atomic_store_n(&ctx->part, part->around, __ATOMIC_RELEASE);
}

/* Has the C library give pages that are free back to the system, after much was freed. */
void bt__memory_trim(const bt_registry *);
/* Asks the system to have a large block in large pages: programs go through all of their weights and
 * intermediate results in each run, and there are more pages of 4 KiB in these than a processor knows
 * the places of. */
void bt__memory_large(void *block, size_t nbytes);

/* A copy of `status` with these notes, places and all, at the end of its chain. */
bt_status bt__note_chain(bt_ctx *, bt_status, const bt_diag *notes) BT_MUST_USE;

#endif
