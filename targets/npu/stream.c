/* Instructions to bytes and back, by the table of fields. */
#include <stddef.h>
#include <string.h>

#include "fields.h"
#include "stream.h"

const struct npu_field npu_fields[] = {
#define NPU_FIELD(ops, at, type, member)                                                \
    { ops,    at, sizeof(type), (type)-1 < 1, offsetof(struct npu_instruction, member), \
      #member },
#include "fields.def"
    { 0 },
};

int npu_field_is_of(const struct npu_field *field, uint32_t op)
{
    static const char letters[] = "?LSGAF";
    return op > 0 && op < NPU_OP_END && strchr(field->ops, letters[op]) != NULL;
}

int64_t npu_field_get(const struct npu_field *field, const struct npu_instruction *in)
{
    const char *at = (const char *)in + field->member;
    uint8_t byte;
    uint16_t two;
    uint32_t four;
    switch (field->nbytes) {
    case 1: memcpy(&byte, at, 1); return field->is_signed ? (int8_t)byte : byte;
    case 2: memcpy(&two, at, 2); return two;
    default:
        memcpy(&four, at, 4);
        return field->is_signed ? (int64_t)(int32_t)four : four;
    }
}

void npu_field_set(const struct npu_field *field, int64_t value,
                   struct npu_instruction *in)
{
    char *at = (char *)in + field->member;
    const uint8_t byte = (uint8_t)value;
    const uint16_t two = (uint16_t)value;
    const uint32_t four = (uint32_t)value;
    switch (field->nbytes) {
    case 1: memcpy(at, &byte, 1); break;
    case 2: memcpy(at, &two, 2); break;
    default: memcpy(at, &four, 4); break;
    }
}

/* ---- instructions ---- */

void npu_encode(const struct npu_instruction *in, uint8_t out[NPU_NBYTES])
{
    memset(out, 0, NPU_NBYTES);
    out[0] = in->op;
    out[1] = in->tokens;
    for (const struct npu_field *f = npu_fields; f->ops; f++) {
        const uint32_t value = (uint32_t)npu_field_get(f, in);
        for (uint32_t k = 0; npu_field_is_of(f, in->op) && k < f->nbytes; k++)
            out[f->at + k] = (uint8_t)(value >> 8 * k);
    }
}

static void decode_one(const uint8_t *bytes, struct npu_instruction *out)
{
    out->op = bytes[0];
    out->tokens = bytes[1];
    for (const struct npu_field *f = npu_fields; f->ops; f++) {
        uint32_t value = 0;
        for (uint32_t k = 0; npu_field_is_of(f, out->op) && k < f->nbytes; k++)
            value |= (uint32_t)bytes[f->at + k] << 8 * k;
        npu_field_set(f, value, out);
    }
}

bt_status npu_decode(bt_ctx *ctx, bt_arena *arena, const uint8_t *bytes, size_t nbytes,
                     struct npu_stream *out)
{
    uint8_t again[NPU_NBYTES];
    const size_t n = nbytes / NPU_NBYTES;
    if (nbytes % NPU_NBYTES || n > 1u << 26)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "npu: %zu bytes are no stream of instructions of %d", nbytes,
                       NPU_NBYTES);
    struct npu_instruction *at = BT_NEWS(arena, struct npu_instruction, n);
    if (!at)
        return bt_no_memory();
    const struct npu_stream stream = { .n = (uint32_t)n, .at = at };
    for (uint32_t i = 0; i < n; i++, bytes += NPU_NBYTES) {
        decode_one(bytes, &at[i]);
        if (at[i].op < NPU_LOAD || at[i].op >= NPU_OP_END)
            return npu_fail(ctx, BT_ERR_FORMAT, &stream, i, "op", "there is no op %u",
                            at[i].op);
        // what no field holds is not written again
        npu_encode(&at[i], again);
        for (uint32_t k = 0; k < NPU_NBYTES; k++) {
            if (bytes[k] != again[k])
                return npu_fail(ctx, BT_ERR_FORMAT, &stream, i, "none",
                                "byte %u is %u and must be zero", k, bytes[k]);
        }
    }
    *out = stream;
    return NULL;
}

/* ---- micro-ops ---- */

struct npu_uop npu_uop_decode(const uint8_t b[8])
{
    return (struct npu_uop){ .dst = (uint16_t)(b[0] | b[1] << 8),
                             .src = (uint16_t)(b[2] | b[3] << 8),
                             .wgt = (uint16_t)(b[4] | b[5] << 8),
                             .flags = (uint16_t)(b[6] | b[7] << 8) };
}

void npu_uop_encode(struct npu_uop u, uint8_t out[8])
{
    const uint16_t values[] = { u.dst, u.src, u.wgt, u.flags };
    for (uint32_t i = 0; i < 4; i++) {
        out[2 * i] = (uint8_t)values[i];
        out[2 * i + 1] = (uint8_t)(values[i] >> 8);
    }
}

/* ---- queues ---- */

const char *const npu_queue_names[NPU_NQUEUE] = { "load", "compute", "store" };

uint32_t npu_queue(const struct npu_instruction *in)
{
    if (in->op == NPU_STORE)
        return NPU_QUEUE_STORE;
    return in->op == NPU_LOAD && in->memory != NPU_UOP ? NPU_QUEUE_LOAD
                                                       : NPU_QUEUE_COMPUTE;
}

/*           0 >           2 >
 *     load        compute        store
 *           < 1           < 3              */
uint32_t npu_channel(uint32_t queue, uint32_t token)
{
    enum { NONE = NPU_NCHANNEL };
    static const uint8_t channels[NPU_NQUEUE][4] = {
        { NONE, 1, NONE, 0 }, // pop prev, pop next, push prev, push next
        { 0, 3, 1, 2 },
        { 2, NONE, 3, NONE },
    };
    uint32_t bit = 0;
    while (token >> (bit + 1))
        bit++;
    return channels[queue][bit];
}
