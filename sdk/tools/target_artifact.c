#include "target_artifact.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/artifact.h>

#include "target_beside.h"
#include "target_fault.h"
#include "target_taken.h"
#include "temporary.h"
#include "watchdog.h"

enum { DAMAGES = 500, MAX_BYTES = 16, MAX_PATH = 4096 };

struct kept {
    struct target_taken taken;
    bt_arena *arena;
    char whole[MAX_PATH], damaged[MAX_PATH]; /* files */
    bt_file *file;                           /* the whole one */
    struct target_artifact *out;
};

/* ---- the whole file ---- */

static bt_status run_loaded(struct kept *k, bt_compiled *c)
{
    const struct target_taken *t = &k->taken;
    bt_status status;
    void *session;
    BT_TRY(target_taken_open(t, t->ctx, c, &session));
    const int is_right = target_taken_is_right(t, t->ctx, session, &status);
    t->graph->close(session);
    if (!status && !is_right)
        target_fault(k->arena, &k->out->fault,
                     "loaded from a file it gives another result");
    return status;
}

/* Of a machine that nobody has. */
static void check_refused(struct kept *k, bt_artifact *a)
{
    bt_compiled *c;
    const bt_artifact_target *own = a->targets;
    bt_artifact_target *other = BT_NEWS(k->arena, bt_artifact_target, a->ntarget);
    for (uint32_t i = 0; other && i < a->ntarget; i++)
        other[i] = (bt_artifact_target){ own[i].text, "a machine that nobody has" };
    a->targets = other;
    bt_status status =
        other ? bt_artifact_load(k->taken.ctx, a, NULL, &c) : bt_no_memory();
    a->targets = own;
    if (!status) {
        bt_compiled_unref(c);
        target_fault(
            k->arena, &k->out->fault,
            "code is loaded that needs \"a machine that nobody has\": accepts says "
            "nothing against it");
    }
    bt_ctx_clear_diags(k->taken.ctx);
}

static bt_status check_whole(struct kept *k)
{
    bt_artifact *a;
    bt_compiled *c;
    BT_TRY(bt_artifact_read(k->taken.ctx, k->whole, &a));
    bt_status status = bt_artifact_load(k->taken.ctx, a, NULL, &c);
    if (!status) {
        status = run_loaded(k, c);
        bt_compiled_unref(c);
    }
    if (!status)
        check_refused(k, a);
    bt_artifact_close(a);
    return status;
}

/* ---- damage ---- */

static bt_status fail_file(struct kept *k, const char *path)
{
    return bt_fail(k->taken.ctx, BT_ERR_IO, "%s: %s", path, strerror(errno));
}

static bt_status write_bytes(struct kept *k, const char *at, size_t n)
{
    FILE *file = fopen(k->damaged, "wb");
    if (!file)
        return fail_file(k, k->damaged);
    const int is_written = fwrite(at, 1, n, file) == n;
    return (fclose(file) == 0) & is_written ? NULL : fail_file(k, k->damaged);
}

/* What became of the bytes, in words; *n of them are left. */
static const char *damage(uint64_t *seed, char *at, size_t *n)
{
    const size_t where = (size_t)(case_draw(seed) % *n);
    size_t some = 1 + (size_t)(case_draw(seed) % MAX_BYTES);
    some = some < *n - where ? some : *n - where;
    switch (case_draw(seed) >> 32 & 3) {
    case 0:
        at[where] = (char)(at[where] ^ 1 << (case_draw(seed) & 7));
        return "another bit";
    case 1:
        for (size_t i = 0; i < some; i++)
            at[where + i] = (char)~at[where + i];
        return "other bytes";
    case 2: *n = where; return "no bytes";
    default:
        memmove(at + where, at + where + some, *n - where - some);
        *n -= some;
        return "some bytes less";
    }
}

static bt_status check_damage(struct kept *k)
{
    const size_t nbytes = k->file->nbytes;
    char *copy = bt_arena_alloc(k->arena, nbytes, 1);
    uint64_t seed = 1;
    if (!copy)
        return bt_no_memory();
    for (uint32_t i = 0; i < DAMAGES && !k->out->fault; i++) {
        bt_artifact *a;
        size_t n = nbytes;
        memcpy(copy, k->file->bytes, nbytes);
        const char *what = damage(&seed, copy, &n);
        BT_TRY(write_bytes(k, copy, n));
        if (!bt_artifact_read(k->taken.ctx, k->damaged, &a)) {
            bt_artifact_close(a);
            target_fault(k->arena, &k->out->fault,
                         "a file with %s of %zu is read as if it were whole (number %u)",
                         what, nbytes, i);
        }
        k->out->ndamaged++;
        bt_ctx_clear_diags(k->taken.ctx);
    }
    return NULL;
}

/* ---- all ---- */

static bt_status check_all(struct kept *k)
{
    watchdog_begin("target %s, an artifact", k->taken.use->text);
    bt_status status = bt_artifact_write(k->taken.ctx, k->taken.compiled, 0, k->whole);
    if (!status)
        status = bt_file_read(k->taken.ctx, k->whole, &k->file);
    if (!status)
        status = check_whole(k);
    if (!status)
        status = check_damage(k);
    bt_file_close(k->taken.ctx, k->file);
    watchdog_end();
    return status;
}

static bt_status check_in_folder(struct kept *k)
{
    char folder[MAX_PATH - 32];
    BT_TRY(make_temporary(k->taken.ctx, "baton-artifact", folder, sizeof(folder)));
    snprintf(k->whole, sizeof(k->whole), "%s/whole.bta", folder);
    snprintf(k->damaged, sizeof(k->damaged), "%s/damaged.bta", folder);
    bt_status status = check_all(k);
    (void)unlink(k->whole);
    (void)unlink(k->damaged);
    (void)rmdir(folder);
    return status;
}

/* A device may admit one instance, which is open. */
static int opens_again(struct kept *k)
{
    bt_targets *again = NULL;
    bt_status status = bt_targets_open(k->taken.ctx, k->taken.use->text, &again);
    bt_targets_unref(again);
    bt_ctx_clear_diags(k->taken.ctx);
    return !status;
}

bt_status target_artifact(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                          struct target_artifact *out)
{
    struct target_beside beside;
    struct kept k = { .arena = arena, .out = out };
    *out = (struct target_artifact){ 0 };
    BT_TRY(target_beside_open(ctx, use, &beside));
    bt_status status =
        target_taken_find(ctx, arena, &beside.both, TARGET_SMALL, &k.taken);
    if (!status && !k.taken.compiled)
        out->why = "no program was found of which it takes a function";
    else if (!status && !opens_again(&k))
        out->why = "it opens only once";
    else if (!status)
        status = check_in_folder(&k);
    target_taken_free(&k.taken);
    target_beside_close(&beside);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(k.arena, &k.out->fault, "it fails: %s", status->message);
        status = NULL;
    }
    return status;
}
