#include "sample_set.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <baton/importer.h>

enum { MAX_FILES = 1 << 20 };

/* An array of samples. */
struct array {
    bt_tensor *tensor;
    uint32_t input;
    int64_t nsample;
};

struct sample_file {
    const char *path;
    int64_t nsample;
};

struct sample_set {
    bt_ctx *ctx;
    bt_arena *arena;
    double factor;
    uint32_t ninput;
    const bt_port *const *ports;
    bt_vec(struct sample_file) files;
    int64_t nsample;
    /* The file at hand: an array of each input. */
    const char *open;
    struct array *arrays;
};

/* ---- one file ---- */

static void forget(struct sample_set *s)
{
    for (uint32_t i = 0; s->open && i < s->ninput; i++) {
        bt_tensor_unref(s->arrays[i].tensor);
        s->arrays[i].tensor = NULL;
    }
    s->open = NULL;
}

const char *type_text(bt_arena *arena, const bt_tensor *tensor)
{
    bt_text type;
    bt_text_init(&type, arena);
    bt_tensor_print_type(tensor, &type);
    return bt_text_get(&type) ? type.at : "?";
}

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* LeCun's format: 0, 0, type, rank, extents, elements; the greatest byte first. */
static bt_status read_idx_head(bt_ctx *ctx, const char *path, const bt_file *file,
                               uint32_t *rank, int64_t *dims)
{
    const unsigned char *at = file->bytes;
    const int is_idx = file->nbytes >= 4 && !at[0] && !at[1] && at[2] == 8 && at[3] &&
                       at[3] <= BT_MAX_RANK;
    const uint64_t nhead = is_idx ? 4 + 4 * (uint64_t)at[3] : 0;
    int64_t all = 1;
    if (!is_idx)
        return bt_fail(
            ctx, BT_ERR_FORMAT,
            "%s is no sample: a folder of samples holds .npy, .npz and IDX files "
            "of bytes (gunzip a .gz before)",
            path);
    *rank = at[3];
    for (uint32_t i = 0; i < *rank && file->nbytes >= nhead; i++) {
        dims[i] = read_u32(at + 4 + 4 * i);
        if (!bt_mul_int64(all, dims[i], &all))
            return bt_fail(ctx, BT_ERR_FORMAT,
                           "%s: an IDX file whose extents no memory holds", path);
    }
    const uint64_t expected = nhead + (file->nbytes >= nhead ? (uint64_t)all : 0);
    if (file->nbytes == expected)
        return NULL;
    return bt_fail(
        ctx, BT_ERR_FORMAT, "%s: an IDX file %s: it has %llu bytes, and %s %llu", path,
        file->nbytes < expected ? "that is cut short" : "with bytes behind its end",
        (unsigned long long)file->nbytes,
        file->nbytes < nhead ? "its head alone takes" : "the extents in its head take",
        (unsigned long long)expected);
}

static bt_status read_idx(bt_ctx *ctx, const char *path, bt_tensor **out)
{
    bt_file *file;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status = read_idx_head(ctx, path, file, &rank, dims);
    if (!status)
        status = bt_tensor_create(ctx, BT_UINT8, rank, dims, out);
    if (!status)
        memcpy((*out)->data, (const char *)file->bytes + 4 + 4 * rank,
               bt_tensor_nbytes(*out));
    bt_file_close(ctx, file);
    return status;
}

bt_status sample_array_read(bt_ctx *ctx, const char *path, bt_tensor **out)
{
    return has_suffix(path, ".npy") ? bt_tensor_read(ctx, path, out)
                                    : read_idx(ctx, path, out);
}

/* How many samples an array has: the input's own dims, or several of these along the first
 * axis, or one more axis before them. 0: it does not fit. */
static int64_t count_samples(const bt_tensor *tensor, const bt_port *port)
{
    int64_t nelem = 1;
    for (int32_t i = 0; i < port->rank; i++)
        nelem *= port->sizes[i];
    if (nelem <= 0 || tensor->nelem <= 0 || tensor->nelem % nelem != 0)
        return 0;
    const int64_t n = tensor->nelem / nelem;
    return n == 1 || (tensor->rank > 0 && tensor->dims[0] % n == 0) ? n : 0;
}

static bt_status add_array(struct sample_set *s, uint32_t input, bt_tensor *tensor)
{
    const bt_port *port = s->ports[input];
    const int64_t n = count_samples(tensor, port);
    if (n) {
        s->arrays[input] = (struct array){ bt_tensor_ref(tensor), input, n };
        return NULL;
    }
    return bt_fail(s->ctx, BT_ERR_ARGUMENT,
                   "%s holds %s%s, and samples of input %s are %s", s->open,
                   tensor->rank ? "" : "one number, ",
                   type_text(bt_ctx_scratch(s->ctx), tensor), port->name, port->type);
}

static bt_status read_npz(struct sample_set *s, const char *path)
{
    bt_file *file;
    bt_npz *npz = NULL;
    BT_TRY(bt_file_read(s->ctx, path, &file));
    bt_status status = bt_npz_read(s->ctx, path, file->bytes, file->nbytes, &npz);
    for (uint32_t i = 0; !status && i < s->ninput; i++) {
        bt_tensor *found = NULL;
        for (uint32_t k = 0; k < npz->len; k++) {
            if (strcmp(npz->at[k].name, s->ports[i]->name) == 0)
                found = npz->at[k].tensor;
        }
        status = found ? add_array(s, i, found)
                       : bt_fail(s->ctx, BT_ERR_NAME, "%s has no array for input %s",
                                 path, s->ports[i]->name);
    }
    bt_npz_destroy(s->ctx, npz);
    bt_file_close(s->ctx, file);
    return status;
}

static bt_status read_one(struct sample_set *s, const char *path)
{
    bt_tensor *tensor;
    if (s->ninput != 1)
        return bt_fail(s->ctx, BT_ERR_ARGUMENT,
                       "%s is of one input, and the program has %u: give .npz files with "
                       "an array for each of them, by name",
                       path, s->ninput);
    BT_TRY(sample_array_read(s->ctx, path, &tensor));
    bt_status status = add_array(s, 0, tensor);
    bt_tensor_unref(tensor);
    return status;
}

/* Reads a file; all of its arrays have as many samples. */
static bt_status read_file(struct sample_set *s, const char *path, int64_t *nsample)
{
    if (s->open && strcmp(s->open, path) == 0) {
        *nsample = s->arrays[0].nsample;
        return NULL;
    }
    forget(s);
    s->open = path;
    bt_status status = has_suffix(path, ".npz") ? read_npz(s, path) : read_one(s, path);
    for (uint32_t i = 1; !status && i < s->ninput; i++) {
        if (s->arrays[i].nsample != s->arrays[0].nsample)
            status = bt_fail(s->ctx, BT_ERR_ARGUMENT,
                             "%s has %lld samples of input %s and %lld of %s", path,
                             (long long)s->arrays[0].nsample, s->ports[0]->name,
                             (long long)s->arrays[i].nsample, s->ports[i]->name);
    }
    if (status)
        forget(s);
    else
        *nsample = s->arrays[0].nsample;
    return status;
}

/* ---- the folder, or one file ---- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bt_status look_at_file(struct sample_set *s, const char *path)
{
    struct sample_file file = { .path = bt_arena_text(s->arena, path, strlen(path)) };
    if (!file.path)
        return bt_no_memory();
    BT_TRY(read_file(s, file.path, &file.nsample));
    s->nsample += file.nsample;
    return BT_PUSH(s->arena, &s->files, file) ? NULL : bt_no_memory();
}

static bt_status look(struct sample_set *s, const char *folder)
{
    struct dirent **entries;
    struct stat there;
    if (stat(folder, &there) == 0 && !S_ISDIR(there.st_mode))
        return look_at_file(s, folder);
    const int n = scandir(folder, &entries, is_visible, alphasort);
    bt_status status =
        n < 0 ? bt_fail(s->ctx, BT_ERR_IO, "%s cannot be read as a folder", folder)
        : n == 0 || n > MAX_FILES
            ? bt_fail(s->ctx, BT_ERR_ARGUMENT, "%s holds %d files: samples are wanted",
                      folder, n)
            : NULL;
    for (int i = 0; i < n; i++) {
        bt_text path;
        bt_text_init(&path, s->arena);
        bt_text_addf(&path, "%s/%s", folder, entries[i]->d_name);
        if (!status)
            status = bt_text_get(&path) ? look_at_file(s, path.at) : bt_no_memory();
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return status;
}

static bt_status look_at_inputs(struct sample_set *s, const bt_program *program)
{
    s->ninput = bt_program_ninput(program);
    const bt_port **ports = BT_NEWS(s->arena, const bt_port *, s->ninput);
    s->arrays = BT_NEWS(s->arena, struct array, s->ninput);
    s->ports = ports;
    if (!ports || !s->arrays)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->ninput; i++) {
        ports[i] = bt_program_input(program, i);
        if (!ports[i]->dtype || ports[i]->rank < 0)
            return bt_fail(s->ctx, BT_ERR_UNSUPPORTED,
                           "input %s is %s: samples are tensors of a known rank",
                           ports[i]->name, ports[i]->type);
    }
    return s->ninput ? NULL
                     : bt_fail(s->ctx, BT_ERR_ARGUMENT,
                               "the program takes nothing: samples are of inputs");
}

bt_status sample_set_open(bt_ctx *ctx, const char *folder, const bt_program *program,
                          double factor, struct sample_set **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct sample_set *s = arena ? BT_NEW(arena, struct sample_set) : NULL;
    if (!s) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *s = (struct sample_set){ .ctx = ctx, .arena = arena, .factor = factor };
    bt_status status = look_at_inputs(s, program);
    if (!status)
        status = look(s, folder);
    if (status)
        sample_set_close(s);
    else
        *out = s;
    return status;
}

void sample_set_close(struct sample_set *s)
{
    if (!s)
        return;
    forget(s);
    bt_arena_destroy(s->arena);
}

int64_t sample_set_len(const struct sample_set *s)
{
    return s->nsample;
}

/* ---- one sample ---- */

static bt_status give_array(struct sample_set *s, const struct array *array,
                            int64_t index, bt_program *program)
{
    const bt_port *port = s->ports[array->input];
    bt_tensor *tensor;
    BT_TRY(bt_tensor_create(s->ctx, port->dtype, (uint32_t)port->rank, port->sizes,
                            &tensor));
    const int is_float = bt_dtype_is_float(port->dtype);
    for (int64_t i = 0; i < tensor->nelem; i++) {
        const int64_t at = index * tensor->nelem + i;
        if (is_float)
            bt_tensor_set(tensor, i, bt_tensor_get(array->tensor, at) * s->factor);
        else
            bt_tensor_set_int(tensor, i, bt_tensor_get_int(array->tensor, at));
    }
    bt_status status = bt_program_set_at(program, array->input, &tensor->base);
    bt_tensor_unref(tensor);
    return status;
}

bt_status sample_set_give(struct sample_set *s, int64_t index, bt_program *program)
{
    uint32_t file = 0;
    int64_t nsample;
    while (file < s->files.len && index >= s->files.at[file].nsample)
        index -= s->files.at[file++].nsample;
    if (file == s->files.len)
        return bt_fail(s->ctx, BT_ERR_ARGUMENT, "there is no such sample");
    BT_TRY(read_file(s, s->files.at[file].path, &nsample));
    for (uint32_t i = 0; i < s->ninput; i++)
        BT_TRY(give_array(s, &s->arrays[i], index, program));
    return NULL;
}
