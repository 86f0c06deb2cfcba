/* Where a training stands, in a file: it goes on from there to the same bits. */
#include "training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

static const char FORMAT[] = "baton.training/1";

/* ---- saving ---- */

/* Of a tensor. */
struct bytes {
    const void *at;
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const bt_training_note *)a)->name,
                  ((const bt_training_note *)b)->name);
}

/* The name of a note that files of others do not have. */
#define CHECKSUM "baton.checksum"

/* Of all notes but its own, in the order of their names, and of the digests of all tensors: each
 * text with the 0 behind it. */
static const char *checksum_of(bt_ctx *ctx, const bt_training_note *notes, uint32_t n,
                               const struct bytes *tensors)
{
    bt_arena *arena = bt_ctx_scratch(ctx);
    uint32_t nnote = 0;
    char digest[65], *found = BT_NEWS(arena, char, sizeof(digest));
    bt_text all;
    while (notes[nnote].name)
        nnote++;
    bt_training_note *sorted = BT_NEWS(arena, bt_training_note, nnote + 1);
    if (!found || !sorted)
        return NULL;
    memcpy(sorted, notes, nnote * sizeof(*sorted));
    qsort(sorted, nnote, sizeof(*sorted), by_name);
    bt_text_init(&all, arena);
    for (uint32_t i = 0; i < nnote; i++) {
        if (strcmp(sorted[i].name, CHECKSUM) != 0)
            bt_text_addf(&all, "%s%c%s%c", sorted[i].name, 0, sorted[i].value, 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        bt_digest(tensors[i].at, tensors[i].n, digest);
        bt_text_addf(&all, "%s%c", digest, 0);
    }
    if (!bt_text_get(&all))
        return NULL;
    bt_digest(all.at, all.len, found);
    return found;
}

static const char *checksum_now(const bt_training *t, const bt_training_note *notes)
{
    struct bytes *bytes = BT_NEWS(bt_ctx_scratch(t->ctx), struct bytes, t->nvalue);
    for (uint32_t i = 0; bytes && i < t->nvalue; i++)
        bytes[i] = (struct bytes){ t->now[i]->data, bt_tensor_nbytes(t->now[i]) };
    return bytes ? checksum_of(t->ctx, notes, t->nvalue, bytes) : NULL;
}

static const char *number_text(bt_ctx *ctx, uint64_t number)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%llu", (unsigned long long)number);
    return bt_text_get(&text);
}

static const char *scale_text(const bt_training *t)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(t->ctx));
    bt_text_addf(&text, "%.9g", t->scale ? bt_tensor_get(t->scale, 0) : 1);
    return bt_text_get(&text);
}

/* Notes of the training itself. */
enum { MAX_OWN = 6 };
static const char *const OWN[] = { "format", "program", "step",  "seed",
                                   "scale",  "good",    CHECKSUM };

static const char *what_is_wrong(const bt_training_note *notes, uint32_t index)
{
    const bt_training_note *note = &notes[index];
    for (uint32_t i = 0; i < BT_COUNT(OWN); i++) {
        if (strcmp(note->name, OWN[i]) == 0)
            return "that name is of a note of the training itself";
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(note->name, notes[i].name) == 0)
            return "there are two of that name";
    }
    return note->value ? NULL : "it has no value";
}

static bt_status check_notes(bt_ctx *ctx, const bt_training_note *notes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *why = what_is_wrong(notes, i);
        if (why)
            return bt_fail(ctx, BT_ERR_ARGUMENT, "note %s: %s", notes[i].name, why);
    }
    return NULL;
}

static bt_status save(bt_training *t, const char *path, const bt_training_note *notes)
{
    bt_arena *arena = bt_ctx_scratch(t->ctx);
    uint32_t n = 0;
    while (notes && notes[n].name)
        n++;
    bt_training_note *all = BT_NEWS(arena, bt_training_note, n + MAX_OWN + 2);
    bt_text bytes;
    if (!all)
        return bt_no_memory();
    BT_TRY(check_notes(t->ctx, notes, n));
    BT_TRY(training_values_check(t));
    const bt_training_note own[MAX_OWN] = {
        { OWN[0], FORMAT },
        { OWN[1], t->digest },
        { OWN[2], number_text(t->ctx, (uint64_t)t->info.step) },
        { OWN[3], number_text(t->ctx, t->options.seed) },
        { OWN[4], scale_text(t) },
        { OWN[5], number_text(t->ctx, (uint64_t)t->ngood) },
    };
    const uint32_t nown = MAX_OWN - (t->scale ? 0 : 2);
    for (uint32_t i = 0; i < nown; i++) {
        if (!own[i].value)
            return bt_no_memory();
        all[i] = own[i];
    }
    for (uint32_t i = 0; i < n; i++)
        all[nown + i] = notes[i];
    all[nown + n] = (bt_training_note){ CHECKSUM, checksum_now(t, all) };
    if (!all[nown + n].value)
        return bt_no_memory();
    bt_text_init(&bytes, arena);
    BT_TRY(safetensors_write(t->ctx, t->nvalue, t->names, t->now, all, &bytes));
    return bt_file_write(t->ctx, path, bytes.at, bytes.len);
}

bt_status training_checkpoint_save(bt_training *t, const char *path,
                                   const bt_training_note *notes)
{
    bt_arena *arena = bt_ctx_scratch(t->ctx);
    const void *mark = bt_arena_mark(arena);
    bt_status status = save(t, path, notes);
    bt_arena_release(arena, mark);
    return status;
}

/* ---- loading ---- */

static const char *find_note(const bt_training_note *notes, const char *name)
{
    for (; notes && notes->name; notes++) {
        if (strcmp(notes->name, name) == 0)
            return notes->value;
    }
    return NULL;
}

const char *training_checkpoint_note(const bt_training *t, const char *name)
{
    return find_note(t->notes, name);
}

static bt_status check_origin(bt_training *t, const char *path,
                              const struct safetensors *file)
{
    const char *format = find_note(file->notes, "format"),
               *program = find_note(file->notes, "program");
    if (!format || strcmp(format, FORMAT) != 0 || !program ||
        !find_note(file->notes, "step") || !find_note(file->notes, "seed"))
        return bt_fail(t->ctx, BT_ERR_ARGUMENT,
                       "%s is no checkpoint of a training: its tensors can be what "
                       "parameters begin with (load with `params`)",
                       path);
    if (strcmp(program, t->digest) != 0)
        return bt_fail(
            t->ctx, BT_ERR_ARGUMENT,
            "%s is of another model, loss, optimizer or batch: with the same "
            "ones it goes on, and its parameters can be what others begin with "
            "(load with `params`)",
            path);
    return NULL;
}

/* Of a training's checkpoint, whatever is taken of it: tensors lie in it as they were digested. A
 * file of others has no checksum. */
static bt_status check_bytes(bt_training *t, const char *path,
                             const struct safetensors *file)
{
    const char *format = find_note(file->notes, "format"),
               *expected = find_note(file->notes, CHECKSUM), *found;
    struct bytes *bytes = BT_NEWS(bt_ctx_scratch(t->ctx), struct bytes, file->n + 1);
    if (!expected && (!format || strcmp(format, FORMAT) != 0))
        return NULL;
    for (uint32_t i = 0; bytes && i < file->n; i++)
        bytes[i] = (struct bytes){ file->at[i].at, file->at[i].end - file->at[i].begin };
    found = bytes ? checksum_of(t->ctx, file->notes, file->n, bytes) : NULL;
    if (!found)
        return bt_no_memory();
    return expected && strcmp(found, expected) == 0
               ? NULL
               : bt_fail(t->ctx, BT_ERR_FORMAT,
                         "%s: the bytes of its tensors or notes are not those that were "
                         "written: the file is damaged",
                         path);
}

/* Tensors of their own take the place of those that are there. */
static bt_status take_values(bt_training *t, uint32_t n,
                             const struct safetensor *const *found)
{
    bt_tensor **read = BT_NEWS(bt_ctx_scratch(t->ctx), bt_tensor *, n);
    bt_status status = read ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < n; i++) {
        const bt_tensor *like = t->now[i];
        if (!found[i]) { // it stays
            read[i] = bt_tensor_ref(like);
            continue;
        }
        status =
            bt_tensor_create_raw(t->ctx, like->dtype, like->rank, like->dims, &read[i]);
        if (!status)
            memcpy(read[i]->data, found[i]->at, bt_tensor_nbytes(like));
    }
    for (uint32_t i = 0; read && i < n; i++) {
        bt_tensor *kept = t->now[i];
        if (!status)
            t->now[i] = read[i];
        if (i < t->nheld)
            t->params[i].value = t->now[i];
        bt_tensor_unref(status ? read[i] : kept);
    }
    return status;
}

/* A whole number of at most `most`, as number_text writes it. */
static int has_number(const bt_training_note *notes, const char *name, uint64_t most,
                      uint64_t *out)
{
    const char *text = find_note(notes, name);
    int is_number = text && *text;
    for (*out = 0; is_number && *text; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        is_number = digit <= 9 && *out <= most / 10 && digit <= most - 10 * *out;
        *out = 10 * *out + digit;
    }
    return is_number;
}

static int has_scale(const bt_training_note *notes, double *out)
{
    const char *text = find_note(notes, "scale");
    const size_t n = text ? bt_number_read(text, out) : 0;
    return n && !text[n] && *out > 0 && isfinite((float)*out);
}

/* Where the training stood. A checksum is no key: anyone can write one of other numbers. */
static bt_status load_place(bt_training *t, const char *path,
                            const bt_training_note *notes)
{
    uint64_t step, seed, good = 0;
    double scale = 1;
    const char *wrong =
        !has_number(notes, "step", INT64_MAX / t->nmicro - 1, &step)   ? "step"
        : !has_number(notes, "seed", UINT64_MAX, &seed)                ? "seed"
        : t->scale && !has_number(notes, "good", INT64_MAX - 1, &good) ? "good"
        : t->scale && !has_scale(notes, &scale)                        ? "scale"
                                                                       : NULL;
    if (wrong)
        return bt_fail(t->ctx, BT_ERR_FORMAT,
                       "%s: what it notes as %s is no number that a training has", path,
                       wrong);
    t->info.step = (int64_t)step;
    t->options.seed = seed;
    t->ngood = (int64_t)good;
    if (t->scale)
        bt_tensor_set(t->scale, 0, scale);
    return NULL;
}

static bt_status load(bt_training *t, const char *path, const bt_file *bytes,
                      uint32_t params)
{
    struct safetensors file;
    const uint32_t n = params ? t->nheld : t->nvalue;
    const struct safetensor **found =
        BT_NEWS(bt_ctx_scratch(t->ctx), const struct safetensor *, n);
    if (!found)
        return bt_no_memory();
    BT_TRY(safetensors_read(t->ctx, t->arena, path, bytes->bytes, bytes->nbytes, &file));
    if (!params)
        BT_TRY(check_origin(t, path, &file));
    BT_TRY(check_bytes(t, path, &file));
    BT_TRY(training_values_find(t, path, &file, n, params, found));
    if (!params)
        BT_TRY(load_place(t, path, file.notes));
    BT_TRY(take_values(t, n, found));
    if (params)
        training_values_tell_unread(t, path, &file);
    t->notes = file.notes;
    t->is_loaded = 1;
    return NULL;
}

bt_status training_checkpoint_load(bt_training *t, const char *path, uint32_t params)
{
    bt_file *bytes;
    BT_TRY(bt_file_read(t->ctx, path, &bytes));
    bt_status status = load(t, path, bytes, params);
    bt_file_close(t->ctx, bytes);
    return status;
}
