/* Constants of an artifact: views of the mapped file. */
#include "compile/artifact/artifact.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(sizeof(struct bt__tensor_record) == 24, "no padding in files");

struct reader {
    bt_ctx *ctx;
    bt_place place;
    const bt_tensor *bytes;
    struct bt__section tensors, constants;
    size_t at; /* in the section `tensors` */
    bt_arena *arena;
    bt_vec(bt_npz_entry) entries;
};

static bt_status fail(const struct reader *r, const char *why)
{
    return bt_fail_place(r->ctx, BT_ERR_FORMAT, &r->place,
                         "section tensors is damaged: record %u, at %zu, %s",
                         r->entries.len, r->at, why);
}

/* Takes n bytes; NULL: there are fewer. */
static const char *take(struct reader *r, size_t n)
{
    const char *at = r->tensors.at + r->at;
    if (n > r->tensors.nbytes - r->at)
        return NULL;
    r->at += n;
    return at;
}

/* A constant whose elements lie in the file, at `offset` of the constants. */
static bt_status make_tensor(struct reader *r, const struct bt__tensor_record *record,
                             const int64_t *dims, bt_tensor **out)
{
    union {
        const char *shown;
        void *own; /* nobody writes to a constant */
    } data = { .shown = r->constants.at };
    bt_tensor *tensor;
    if (record->offset % BT__ARTIFACT_ALIGN != 0 || record->offset > r->constants.nbytes)
        return fail(r, "names a place outside the constants");
    data.shown += record->offset;
    bt_status status =
        bt_tensor_wrap(r->ctx, record->dtype, record->rank, dims, data.own, &tensor);
    if (status)
        return status->code == BT_ERR_MEMORY ? status : fail(r, status->message);
    if (bt_tensor_nbytes(tensor) > r->constants.nbytes - record->offset) {
        bt_tensor_unref(tensor);
        return fail(r, "reaches beyond the constants");
    }
    tensor->owner = bt_object_ref(&r->bytes->base);
    *out = tensor;
    return NULL;
}

static bt_status read_record(struct reader *r)
{
    struct bt__tensor_record record;
    int64_t dims[BT_MAX_RANK];
    bt_npz_entry entry;
    const char *head = take(r, sizeof(record));
    if (!head)
        return fail(r, "is cut off");
    memcpy(&record, head, sizeof(record));
    if (record.rank > BT_MAX_RANK || !bt_dtype_is_stored(record.dtype))
        return fail(r, "is of no type that there is");
    const char *at = take(r, record.rank * sizeof(*dims));
    size_t padded = ((size_t)record.name_nbytes + 7) / 8 * 8;
    const char *name = at ? take(r, padded) : NULL;
    if (!name)
        return fail(r, "is cut off");
    if (memchr(name, 0, record.name_nbytes))
        return fail(r, "has a name with a NUL");
    memcpy(dims, at, record.rank * sizeof(*dims));
    entry.name = bt_arena_text(r->arena, name, record.name_nbytes);
    if (!entry.name)
        return bt_no_memory();
    BT_TRY(make_tensor(r, &record, dims, &entry.tensor));
    if (BT_PUSH(r->arena, &r->entries, entry))
        return NULL;
    bt_tensor_unref(entry.tensor);
    return bt_no_memory();
}

bt_status bt__artifact_tensors(bt_ctx *ctx, const char *path, const bt_tensor *bytes,
                               const struct bt__section *tensors,
                               const struct bt__section *constants, bt_npz **out)
{
    struct reader r = { .ctx = ctx,
                        .place = { .file = path },
                        .bytes = bytes,
                        .tensors = *tensors,
                        .constants = *constants,
                        .arena = bt_arena_create(bt_ctx_registry(ctx)) };
    bt_status status = r.arena ? NULL : bt_no_memory();
    while (!status && r.at < r.tensors.nbytes)
        status = read_record(&r);
    if (!status)
        status = bt_npz_create(ctx, r.entries.len, r.entries.at, out);
    for (uint32_t i = 0; i < r.entries.len; i++)
        bt_tensor_unref(r.entries.at[i].tensor);
    bt_arena_destroy(r.arena);
    return status;
}
