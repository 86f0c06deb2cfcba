#include "code.h"

#include <inttypes.h>
#include <string.h>

#include "verify.h"

enum { MAGIC = 0x55504e42, VERSION = 1, HEADER = 12 }; // "BNPU"

/* CRC-32C, by bits: what is read is short. */
static uint32_t checksum(const uint8_t *at, size_t n)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    return ~crc;
}

/* ---- fields, read or written in one order ---- */

struct cursor {
    bt_text *out; /* NULL: it reads */
    const uint8_t *at, *end;
    uint32_t has_failed; /* bytes are missing, or numbers are out of their range */
};

static void wide(struct cursor *c, uint64_t *value)
{
    char bytes[8];
    if (c->out) {
        for (uint32_t i = 0; i < 8; i++)
            bytes[i] = (char)(*value >> 8 * i);
        bt_text_add(c->out, bytes, 8);
        return;
    }
    *value = 0;
    if (c->end - c->at < 8) {
        c->has_failed = 1;
        return;
    }
    for (uint32_t i = 0; i < 8; i++)
        *value |= (uint64_t)c->at[i] << 8 * i;
    c->at += 8;
}

/* An integer from `low` to `high`. */
static int64_t ranged(struct cursor *c, int64_t value, int64_t low, int64_t high)
{
    uint64_t bits = (uint64_t)value;
    wide(c, &bits);
    value = (int64_t)bits;
    if (value >= low && value <= high)
        return value;
    c->has_failed = 1;
    return low;
}

static void number(struct cursor *c, uint32_t *value, uint32_t most)
{
    *value = (uint32_t)ranged(c, *value, 0, most);
}

static void integer(struct cursor *c, int32_t *value)
{
    *value = (int32_t)ranged(c, *value, INT32_MIN, INT32_MAX);
}

static void extent(struct cursor *c, int64_t *value)
{
    *value = ranged(c, *value, 0, INT32_MAX);
}

static void blob(struct cursor *c, const uint8_t **at, uint64_t *nbytes)
{
    wide(c, nbytes);
    if (c->out) {
        bt_text_add(c->out, (const char *)*at, (size_t)*nbytes);
    } else if (c->has_failed || *nbytes > (uint64_t)(c->end - c->at)) {
        c->has_failed = 1;
        *nbytes = 0;
    } else {
        *at = c->at;
        c->at += *nbytes;
    }
}

static void window_fields(struct cursor *c, struct npu_window *w)
{
    int64_t *const fields[] = { &w->in,     &w->out,      &w->taps,
                                &w->stride, &w->dilation, &w->before };
    for (uint32_t i = 0; i < BT_COUNT(fields); i++)
        extent(c, fields[i]);
}

static void requantize_fields(struct cursor *c, struct npu_requantize *s)
{
    integer(c, &s->low);
    integer(c, &s->high);
    number(c, &s->is_even, 1);
}

static void layer_fields(struct cursor *c, struct npu_layer *l)
{
    number(c, &l->kind, NPU_ELEMENT);
    extent(c, &l->batch);
    extent(c, &l->in);
    extent(c, &l->out);
    l->groups = ranged(c, l->groups, 1, INT32_MAX);
    window_fields(c, &l->rows);
    window_fields(c, &l->columns);
    integer(c, &l->pad);
    number(c, &l->weight_bits, 8);
    number(c, &l->npost_op, NPU_MAX_POST_OPS);
    for (uint32_t i = 0; i < l->npost_op; i++) {
        number(c, &l->post_ops[i].has_operand, 1);
        number(c, &l->post_ops[i].requantizes_operand, 1);
        number(c, &l->post_ops[i].requantizes, 1);
        requantize_fields(c, &l->post_ops[i].operand_requantize);
        requantize_fields(c, &l->post_ops[i].requantize);
    }
    number(c, &l->is_wide, 1);
}

static void vector_fields(struct cursor *c, struct npu_vector *v)
{
    number(c, &v->buffer, NPU_MAX_BUFFERS - 1);
    number(c, &v->stride, 1);
}

static void real(struct cursor *c, float *value)
{
    uint32_t bits;
    memcpy(&bits, value, 4);
    number(c, &bits, UINT32_MAX);
    memcpy(value, &bits, 4);
}

static void numbers_fields(struct cursor *c, struct npu_requantize_numbers *s)
{
    integer(c, &s->number);
    integer(c, &s->shift);
    integer(c, &s->factor);
    number(c, &s->nvector, NPU_MAX_VECTORS);
    for (uint32_t i = 0; i < s->nvector; i++)
        vector_fields(c, &s->vectors[i]);
    number(c, &s->ratio.arithmetic, NPU_RATIO_INT64);
    real(c, &s->ratio.in);
    real(c, &s->ratio.out);
    number(c, &s->ratio.most_shift, 31);
    for (uint32_t i = 0; i < 2; i++) {
        number(c, &s->has_scale[i], 1);
        vector_fields(c, &s->scales[i]);
    }
}

static void stream_fields(struct cursor *c, struct npu_code *code)
{
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        number(c, &code->map[i], code->nbuffer);
    wide(c, &code->cycles);
    wide(c, &code->ideal);
    blob(c, &code->uops, &code->nuop);
    blob(c, &code->stream, &code->nstream);
}

static void move_fields(struct cursor *c, struct npu_move *m)
{
    number(c, &m->nbyte, 4);
    number(c, &m->is_back, 1);
    number(c, &m->batch, INT32_MAX);
    number(c, &m->block, INT32_MAX);
    for (uint32_t i = 0; i < 4; i++) {
        wide(c, &m->extents[i]);
        wide(c, &m->strides[i]);
    }
}

static void weight_fields(struct cursor *c, struct npu_weight *w)
{
    for (uint32_t i = 0; i < 4; i++)
        wide(c, &w->strides[i]);
}

static void parameters_fields(struct cursor *c, struct npu_parameters *p,
                              uint32_t npost_op)
{
    integer(c, &p->zero);
    number(c, &p->weights, NPU_MAX_BUFFERS - 1);
    weight_fields(c, &p->weight);
    for (uint32_t i = 0; i < npost_op; i++) {
        numbers_fields(c, &p->operand_requantizes[i]);
        numbers_fields(c, &p->requantizes[i]);
    }
}

static void code_fields(struct cursor *c, struct npu_code *code)
{
    number(c, &code->kind, NPU_NCODE - 1);
    number(c, &code->nbuffer, NPU_MAX_BUFFERS);
    number(c, &code->nin, code->nbuffer);
    for (uint32_t i = 0; i < code->nbuffer; i++)
        wide(c, &code->nbytes[i]);
    switch (code->kind) {
    case NPU_CODE_STREAM: stream_fields(c, code); break;
    case NPU_CODE_MOVE: move_fields(c, &code->move); break;
    default: layer_fields(c, &code->layer);
    }
    if (code->kind == NPU_CODE_WEIGHT)
        weight_fields(c, &code->weight);
    if (code->kind == NPU_CODE_PARAMETERS)
        parameters_fields(c, &code->parameters, code->layer.npost_op);
}

/* ---- writing ---- */

static void put_word(bt_text *out, size_t at, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++)
        out->at[at + i] = (char)(value >> 8 * i);
}

bt_status npu_code_write(const struct npu_code *code, bt_text *out)
{
    struct npu_code copy = *code; // fields are read and written by one function
    struct cursor c = { .out = out };
    const char header[HEADER] = { 0 };
    bt_text_add(out, header, HEADER);
    code_fields(&c, &copy);
    if (out->failed)
        return bt_no_memory();
    put_word(out, 0, MAGIC);
    put_word(out, 4, VERSION);
    put_word(out, 8, checksum((const uint8_t *)out->at + HEADER, out->len - HEADER));
    return NULL;
}

/* ---- reading ---- */

struct reading {
    bt_ctx *ctx;
    const struct npu_config *config;
    const struct npu_code *code;
};

static bt_status wrong(const struct reading *r, const char *what)
{
    return bt_fail(r->ctx, BT_ERR_FORMAT, "npu: code of a kernel: %s", what);
}

static uint32_t get_word(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* What is given is not written, whoever made the stream. */
static bt_status check_stores(const struct reading *r, const struct npu_stream *stream)
{
    for (uint32_t i = 0; i < stream->n; i++) {
        if (stream->at[i].op == NPU_STORE && stream->at[i].buffer != NPU_BUFFER_Y)
            return npu_fail(r->ctx, BT_ERR_VERIFY, stream, i, "buffer",
                            "%u is not the result", stream->at[i].buffer);
    }
    return NULL;
}

static bt_status check_order(const struct reading *r, bt_arena *arena)
{
    const struct npu_code *code = r->code;
    struct npu_buffer list[NPU_NBUFFER] = { 0 }; // nobody has them yet
    struct npu_stream stream;
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        list[i].nbytes = code->map[i] < code->nbuffer ? code->nbytes[code->map[i]] : 0;
    list[NPU_BUFFER_UOPS] =
        (struct npu_buffer){ (uint8_t *)(uintptr_t)code->uops, code->nuop, 1 };
    BT_TRY(npu_decode(r->ctx, arena, code->stream, code->nstream, &stream));
    BT_TRY(check_stores(r, &stream));
    return npu_check(r->ctx, r->config, &(struct npu_buffers){ NPU_NBUFFER, list },
                     &stream);
}

static bt_status check_stream(const struct reading *r)
{
    const struct npu_code *code = r->code;
    if (code->nbuffer != code->nin + 1 || code->map[NPU_BUFFER_Y] != code->nin ||
        code->map[NPU_BUFFER_UOPS] != code->nbuffer)
        return wrong(r, "a stream writes one buffer");
    bt_arena *arena = bt_arena_create(bt_ctx_registry(r->ctx));
    bt_status status = arena ? check_order(r, arena) : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}

static bt_status check_move(const struct reading *r)
{
    const struct npu_code *code = r->code;
    uint64_t tensor, blocks;
    if (code->nbuffer != 2 || code->nin != 1 ||
        !npu_move_nbytes(&code->move, &tensor, &blocks) ||
        tensor > code->nbytes[code->move.is_back] ||
        blocks > code->nbytes[!code->move.is_back])
        return wrong(r, "a move is beyond its buffers");
    return NULL;
}

static bt_status check_weight(const struct reading *r)
{
    const struct npu_code *code = r->code;
    uint64_t nbytes[NPU_NBUFFER], tensor;
    BT_TRY(npu_layer_nbytes(r->ctx, r->config, &code->layer, nbytes));
    if (code->nbuffer != 2 || code->nin != 1 || code->layer.kind != NPU_PRODUCTS ||
        !npu_weight_nbytes(&code->layer, &code->weight, &tensor) ||
        tensor > code->nbytes[0] || nbytes[NPU_BUFFER_WEIGHTS] > code->nbytes[1])
        return wrong(r, "a weight is beyond its buffers");
    return NULL;
}

/* Numbers of four bytes. */
static int is_there(const struct npu_code *code, const struct npu_vector *v)
{
    const uint64_t n = v->stride ? (uint64_t)code->layer.out : 1;
    return v->buffer < code->nin && n * sizeof(int32_t) <= code->nbytes[v->buffer];
}

static int are_there(const struct npu_code *code, const struct npu_requantize_numbers *s)
{
    int all = 1;
    for (uint32_t i = 0; i < s->nvector; i++)
        all &= is_there(code, &s->vectors[i]);
    for (uint32_t i = 0; i < 2; i++)
        all &= !s->has_scale[i] || is_there(code, &s->scales[i]);
    return all;
}

static bt_status check_parameters(const struct reading *r)
{
    const struct npu_code *code = r->code;
    const struct npu_parameters *p = &code->parameters;
    uint64_t nbytes[NPU_NBUFFER], tensor;
    BT_TRY(npu_layer_nbytes(r->ctx, r->config, &code->layer, nbytes));
    int fits = code->nbuffer == code->nin + 1 &&
               nbytes[NPU_BUFFER_PARAMETERS] <= code->nbytes[code->nin];
    for (uint32_t i = 0; i < code->layer.npost_op; i++)
        fits &= are_there(code, &p->operand_requantizes[i]) &&
                are_there(code, &p->requantizes[i]);
    if (p->zero)
        fits &= code->layer.kind == NPU_PRODUCTS && p->weights < code->nin &&
                npu_weight_nbytes(&code->layer, &p->weight, &tensor) &&
                tensor <= code->nbytes[p->weights];
    return fits ? NULL : wrong(r, "parameters are beyond their buffers");
}

bt_status npu_code_read(bt_ctx *ctx, const struct npu_config *config,
                        const uint8_t *bytes, size_t nbytes, struct npu_code *out)
{
    const struct reading r = { ctx, config, out };
    if (nbytes < HEADER || get_word(bytes) != MAGIC)
        return wrong(&r, "it does not begin as such");
    if (get_word(bytes + 4) != VERSION)
        return wrong(&r, "it is of another version");
    if (get_word(bytes + 8) != checksum(bytes + HEADER, nbytes - HEADER))
        return wrong(&r, "its checksum is another");
    struct cursor c = { .at = bytes + HEADER, .end = bytes + nbytes };
    memset(out, 0, sizeof(*out));
    code_fields(&c, out);
    if (c.has_failed || c.at != c.end)
        return wrong(&r, "a number is out of its range");
    switch (out->kind) {
    case NPU_CODE_STREAM: return check_stream(&r);
    case NPU_CODE_MOVE: return check_move(&r);
    case NPU_CODE_WEIGHT: return check_weight(&r);
    default: return check_parameters(&r);
    }
}
