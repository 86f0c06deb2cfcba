/*
 * safetensors files: eight bytes of a size, so many of JSON, then the tensors' bytes.
 *     {"__metadata__": {"step": "3"}, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
 * source  huggingface/safetensors, format
 */
#ifndef TRAIN_SAFETENSORS_H
#define TRAIN_SAFETENSORS_H

#include <baton/train.h>
#include <baton/value.h>

struct safetensor {
    const char *name;
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    const char *at;      /* of the file's bytes, not aligned */
    uint64_t begin, end; /* among the tensors' bytes */
};

struct safetensors {
    uint32_t n;
    struct safetensor *at;
    uint32_t nnote;
    bt_training_note *notes; /* of __metadata__; ended by a NULL name */
    const char *data;        /* the tensors' bytes */
    size_t ndata;
};

/* Checked: every tensor has the bytes that its type says, and each byte belongs to one. What is
 * read lives in the arena, but for the bytes. `place` names the file in messages.
 * errors  BT_ERR_FORMAT: it is none, or cut short */
bt_status safetensors_read(bt_ctx *, bt_arena *, const char *place, const char *bytes,
                           size_t nbytes, struct safetensors *out) BT_MUST_USE;
const struct safetensor *safetensors_find(const struct safetensors *, const char *name);
/* Dense tensors. */
bt_status safetensors_write(bt_ctx *, uint32_t n, const char *const *names,
                            bt_tensor *const *tensors, const bt_training_note *notes,
                            bt_text *out) BT_MUST_USE;

#endif
