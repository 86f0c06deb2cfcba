#include "train_data.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <baton/importer.h>

#include "sample_set.h"
#include "train_data_check.h"

enum { MAX_FILES = 1 << 20 };

/* An array of samples, and which of all the first one is. */
struct chunk {
    bt_tensor *tensor;       /* dense */
    int64_t first, n, nelem; /* elements of a sample */
};
typedef bt_vec(struct chunk) chunks;

struct train_data {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *labels_option;
    double factor;
    uint32_t ninput;
    const struct train_input *inputs;
    chunks *of; /* of each input, then of what the model should give */
    struct train_input label;
    int64_t n;
};

/* ---- one array ---- */

static bt_status add_chunk(struct train_data *d, uint32_t input, const bt_tensor *tensor,
                           int64_t n)
{
    const chunks *before = &d->of[input];
    const struct chunk *last = before->len ? &before->at[before->len - 1] : NULL;
    struct chunk chunk = { .first = last ? last->first + last->n : 0,
                           .n = n,
                           .nelem = tensor->nelem / n };
    BT_TRY(bt_tensor_dense(d->ctx, tensor, &chunk.tensor));
    if (BT_PUSH(d->arena, &d->of[input], chunk))
        return NULL;
    bt_tensor_unref(chunk.tensor);
    return bt_no_memory();
}

/* As many samples as the first axis counts, of the sizes that the input has behind its
 * first. */
static bt_status add_samples(struct train_data *d, const char *path, uint32_t input,
                             const bt_tensor *tensor)
{
    const struct train_input *in = &d->inputs[input];
    int64_t nelem = 1;
    for (uint32_t i = 1; i < in->rank; i++)
        nelem *= in->dims[i];
    const int64_t n = nelem > 0 ? tensor->nelem / nelem : 0;
    if (tensor->rank && !tensor->dims[0])
        return bt_fail(d->ctx, BT_ERR_ARGUMENT, "%s holds %s: there are no samples in it",
                       path, type_text(d->arena, tensor));
    if (n > 0 && tensor->rank && tensor->nelem % nelem == 0 && tensor->dims[0] == n) {
        BT_TRY(samples_check(d->ctx, path, in, tensor));
        return add_chunk(d, input, tensor, n);
    }
    bt_text dims;
    bt_text_init(&dims, d->arena);
    for (uint32_t i = 1; i < in->rank; i++)
        bt_text_addf(&dims, "%s%lld", i > 1 ? ", " : "", (long long)in->dims[i]);
    return bt_fail(d->ctx, BT_ERR_ARGUMENT,
                   "%s holds %s, and a sample of input %s is (%s): samples are along the "
                   "first axis",
                   path, type_text(d->arena, tensor), in->name,
                   bt_text_get(&dims) ? dims.at : "?");
}

/* Integers stay such: classes, or what a loss takes as it likes. */
static bt_status add_labels(struct train_data *d, const char *path,
                            const bt_tensor *tensor)
{
    const uint32_t class_ = BT_DTYPE_CLASS(tensor->dtype);
    struct train_input label = {
        .name = "labels",
        .dtype =
            class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT ? BT_INT64 : BT_FLOAT32,
        .rank = tensor->rank,
    };
    BT_TRY(labels_check(d->ctx, path, tensor));
    for (uint32_t i = 1; i < tensor->rank; i++)
        label.dims[i] = tensor->dims[i];
    label.dims[0] = d->inputs[0].dims[0];
    if (d->label.dtype && memcmp(&label.dtype, &d->label.dtype,
                                 sizeof(label) - offsetof(struct train_input, dtype)))
        return bt_fail(d->ctx, BT_ERR_ARGUMENT,
                       "%s has labels of another type than files before it: %s", path,
                       type_text(d->arena, tensor));
    d->label = label;
    return add_chunk(d, d->ninput, tensor, tensor->dims[0]);
}

/* ---- files ---- */

static const bt_tensor *find_array(const bt_npz *npz, const char *name)
{
    for (uint32_t k = 0; k < npz->len; k++) {
        if (strcmp(npz->at[k].name, name) == 0)
            return npz->at[k].tensor;
    }
    return NULL;
}

/* Inputs from `from` on, up to `to`; behind all of them stand labels. */
static bt_status add_arrays(struct train_data *d, const char *path, const bt_npz *npz,
                            uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const char *name = i < d->ninput ? d->inputs[i].name : "labels";
        const bt_tensor *found = find_array(npz, name);
        if (!found)
            return bt_fail(d->ctx, BT_ERR_NAME,
                           i < d->ninput ? "%s has no array for input %s"
                           : from        ? "%s has no array %s"
                                         : "%s has no array %s: what the model should "
                                           "give, unless %s names a file of them",
                           path, name, d->labels_option);
        BT_TRY(i < d->ninput ? add_samples(d, path, i, found)
                             : add_labels(d, path, found));
    }
    return NULL;
}

static bt_status read_npz(struct train_data *d, const char *path, uint32_t from,
                          uint32_t to)
{
    bt_file *file;
    bt_npz *npz = NULL;
    BT_TRY(bt_file_read(d->ctx, path, &file));
    bt_status status = bt_npz_read(d->ctx, path, file->bytes, file->nbytes, &npz);
    if (!status)
        status = add_arrays(d, path, npz, from, to);
    bt_npz_destroy(d->ctx, npz);
    bt_file_close(d->ctx, file);
    return status;
}

static bt_status read_data(struct train_data *d, const char *path, int has_labels)
{
    bt_tensor *tensor;
    if (has_suffix(path, ".npz"))
        return read_npz(d, path, 0, d->ninput + !has_labels);
    if (d->ninput != 1)
        return bt_fail(
            d->ctx, BT_ERR_ARGUMENT,
            "%s is of one input, and the model has %u: give .npz files with an "
            "array for each of them, by name",
            path, d->ninput);
    if (!has_labels)
        return bt_fail(d->ctx, BT_ERR_ARGUMENT,
                       "%s has no labels: %s FILE says what the model should give", path,
                       d->labels_option);
    BT_TRY(sample_array_read(d->ctx, path, &tensor));
    bt_status status = add_samples(d, path, 0, tensor);
    bt_tensor_unref(tensor);
    return status;
}

static bt_status read_labels(struct train_data *d, const char *path)
{
    bt_tensor *tensor;
    if (has_suffix(path, ".npz"))
        return read_npz(d, path, d->ninput, d->ninput + 1);
    BT_TRY(sample_array_read(d->ctx, path, &tensor));
    bt_status status = add_labels(d, path, tensor);
    bt_tensor_unref(tensor);
    return status;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bt_status read_folder(struct train_data *d, const char *folder, int has_labels)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, is_visible, alphasort);
    bt_status status =
        n < 0 ? bt_fail(d->ctx, BT_ERR_IO, "%s cannot be read as a folder", folder)
        : n == 0 || n > MAX_FILES
            ? bt_fail(d->ctx, BT_ERR_ARGUMENT, "%s holds %d files: samples are wanted",
                      folder, n)
            : NULL;
    for (int i = 0; i < n; i++) {
        bt_text path;
        bt_text_init(&path, d->arena);
        bt_text_addf(&path, "%s/%s", folder, entries[i]->d_name);
        if (!status)
            status =
                bt_text_get(&path) ? read_data(d, path.at, has_labels) : bt_no_memory();
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return status;
}

static int64_t count(const chunks *of)
{
    return of->len ? of->at[of->len - 1].first + of->at[of->len - 1].n : 0;
}

static bt_status read_all(struct train_data *d, const char *path, const char *labels)
{
    struct stat there;
    const int is_folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
    BT_TRY(is_folder ? read_folder(d, path, labels != NULL)
                     : read_data(d, path, labels != NULL));
    if (labels)
        BT_TRY(read_labels(d, labels));
    d->n = count(&d->of[0]);
    for (uint32_t i = 1; i <= d->ninput; i++) {
        const int64_t n = count(&d->of[i]);
        if (n != d->n)
            return bt_fail(d->ctx, BT_ERR_ARGUMENT,
                           "%s has %lld samples of input %s, and there are %lld of %s",
                           path, (long long)d->n, d->inputs[0].name, (long long)n,
                           i < d->ninput ? d->inputs[i].name
                           : labels      ? labels
                                         : "labels");
    }
    return NULL;
}

bt_status train_data_open(bt_ctx *ctx, const struct train_files *files, uint32_t ninput,
                          const struct train_input *inputs, struct train_data **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct train_data *d = arena ? BT_NEW(arena, struct train_data) : NULL;
    if (!d) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *d = (struct train_data){ .ctx = ctx,
                              .arena = arena,
                              .labels_option = files->labels_option,
                              .factor = files->factor,
                              .ninput = ninput,
                              .inputs = inputs,
                              .of = BT_NEWS(arena, chunks, ninput + 1) };
    bt_status status = d->of ? read_all(d, files->path, files->labels) : bt_no_memory();
    if (status)
        train_data_close(d);
    else
        *out = d;
    return status;
}

void train_data_close(struct train_data *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; d->of && i <= d->ninput; i++) {
        for (uint32_t k = 0; k < d->of[i].len; k++)
            bt_tensor_unref(d->of[i].at[k].tensor);
    }
    bt_arena_destroy(d->arena);
}

int64_t train_data_len(const struct train_data *d)
{
    return d->n;
}

void train_data_label(const struct train_data *d, struct train_input *out)
{
    *out = d->label;
}

/* ---- samples ---- */

static const struct chunk *find_chunk(const chunks *of, int64_t sample)
{
    uint32_t low = 0, high = of->len - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (of->at[middle].first <= sample)
            low = middle;
        else
            high = middle - 1;
    }
    return &of->at[low];
}

int64_t train_data_class(const struct train_data *d, int64_t sample)
{
    const struct chunk *chunk = find_chunk(&d->of[d->ninput], sample);
    return bt_tensor_get_int(chunk->tensor, sample - chunk->first);
}

bt_status train_data_check(const struct train_data *d, int64_t nclass)
{
    const chunks *labels = &d->of[d->ninput];
    for (uint32_t i = 0; i < labels->len; i++)
        BT_TRY(classes_check(d->ctx, labels->at[i].tensor, labels->at[i].first, nclass));
    return NULL;
}

/* Of all bytes, and of what they are multiplied by. */
bt_status train_data_digest(const struct train_data *d, char out[65])
{
    bt_text text;
    bt_text_init(&text, d->arena);
    bt_text_addf(&text, "%a", d->factor);
    for (uint32_t i = 0; i <= d->ninput; i++) {
        for (uint32_t k = 0; k < d->of[i].len; k++) {
            const bt_tensor *tensor = d->of[i].at[k].tensor;
            char digest[65];
            bt_digest(tensor->data, bt_tensor_nbytes(tensor), digest);
            bt_text_addf(&text, "\n%u %u %s", i, (unsigned)tensor->dtype, digest);
        }
    }
    if (!bt_text_get(&text))
        return bt_no_memory();
    bt_digest(text.at, text.len, out);
    return NULL;
}

bt_status train_batch_create(const struct train_data *d, bt_tensor ***out)
{
    bt_tensor **batch = BT_NEWS(d->arena, bt_tensor *, d->ninput + 1);
    if (!batch)
        return bt_no_memory();
    for (uint32_t i = 0; i <= d->ninput; i++) {
        const struct train_input *in = i < d->ninput ? &d->inputs[i] : &d->label;
        bt_status status =
            bt_tensor_create(d->ctx, in->dtype, in->rank, in->dims, &batch[i]);
        if (status) {
            train_batch_destroy(d, batch);
            return status;
        }
    }
    *out = batch;
    return NULL;
}

void train_batch_destroy(const struct train_data *d, bt_tensor **batch)
{
    for (uint32_t i = 0; batch && i <= d->ninput; i++)
        bt_tensor_unref(batch[i]);
}

/* From element `from` of one tensor to element `to` of another. */
static void copy_elements(const bt_tensor *source, int64_t from, bt_tensor *dest,
                          int64_t to, int64_t n, double factor)
{
    if (dest->dtype == BT_FLOAT32 && source->dtype == BT_UINT8) {
        const uint8_t *x = (const uint8_t *)source->data + from;
        float *y = (float *)dest->data + to;
        for (int64_t i = 0; i < n; i++)
            y[i] = (float)(x[i] * factor);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (bt_dtype_is_float(dest->dtype))
            bt_tensor_set(dest, to + i, bt_tensor_get(source, from + i) * factor);
        else
            bt_tensor_set_int(dest, to + i, bt_tensor_get_int(source, from + i));
    }
}

void train_batch_fill(const struct train_data *d, bt_tensor *const *batch, int64_t at,
                      int64_t sample)
{
    for (uint32_t i = 0; i <= d->ninput; i++) {
        const struct chunk *chunk = find_chunk(&d->of[i], sample);
        const int64_t n = chunk->nelem;
        copy_elements(chunk->tensor, (sample - chunk->first) * n, batch[i], at * n, n,
                      i < d->ninput ? d->factor : 1);
    }
}
