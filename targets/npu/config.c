#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <baton/value.h>

#include "config.h"

extern const char *const npu_config_texts[]; /* of the files in configs/ */

const char *const npu_memory_names[NPU_NMEMORY] = { "uop", "wgt", "inp", "acc" };

/* Numbers: where they stand in the file and in the struct, and their range. */
static const struct number {
    const char *group, *name; /* group NULL: of the document itself */
    size_t at, nbytes;
    int64_t low, high;
} numbers[] = {
#define NUMBER(group, name, member, low, high)                  \
    {                                                           \
        group, name, offsetof(struct npu_config, member),       \
            sizeof(((struct npu_config *)0)->member), low, high \
    }
    NUMBER(NULL, "batch", batch, 1, NPU_MAX_EXTENT),
    NUMBER(NULL, "in", in, 1, NPU_MAX_EXTENT),
    NUMBER(NULL, "out", out, 1, NPU_MAX_EXTENT),
    NUMBER(NULL, "mhz", mhz, 1, 100000),
    NUMBER("dram", "nbytes", dram_nbytes, 1, (int64_t)1 << 40),
    NUMBER("dram", "bus", bus, 1, 4096),
    NUMBER("scratch", "uop", nbytes[NPU_UOP], 8, 1 << 28),
    NUMBER("scratch", "inp", nbytes[NPU_INP], 1, 1 << 28),
    NUMBER("scratch", "wgt", nbytes[NPU_WGT], 1, 1 << 28),
    NUMBER("scratch", "acc", nbytes[NPU_ACC], 4, 1 << 28),
    NUMBER("queue", "depth", depth, 1, 65535),
    NUMBER("queue", "tokens", tokens, 1, 65535),
    NUMBER("cycles", "dispatch", dispatch, 0, 65535),
    NUMBER("cycles", "gemm_fill", gemm_fill, 1, 65535),
    NUMBER("cycles", "alu_fill", alu_fill, 1, 65535),
    NUMBER("cycles", "distance", distance, 1, 65535),
    NUMBER("cycles", "dma_latency", dma_latency, 1, 65535),
    NUMBER("cycles", "dma_row", dma_row, 0, 65535),
};

/* Members that are no number of the table. */
static const char *const others[] = { "format",  "weight_bits", "multiplier", "dram",
                                      "scratch", "queue",       "cycles" };

struct reader {
    bt_ctx *ctx;
    const char *place;
    const json_t *root;
};

static bt_status fail(const struct reader *r, const char *group, const char *name,
                      const char *what)
{
    return bt_fail(r->ctx, BT_ERR_FORMAT, "%s: %s%s%s: %s", r->place, group ? group : "",
                   group ? "." : "", name, what);
}

/* ---- members ---- */

static int is_in(const struct number *n, const char *group)
{
    return !n->group == !group && (!group || !strcmp(n->group, group));
}

static int is_known(const char *group, const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(numbers); i++) {
        if (is_in(&numbers[i], group) && !strcmp(numbers[i].name, name))
            return 1;
    }
    for (uint32_t i = 0; !group && i < BT_COUNT(others); i++) {
        if (!strcmp(others[i], name))
            return 1;
    }
    return 0;
}

/* "; did you mean mhz?" */
static const char *nearest(const struct reader *r, const char *group, const char *name)
{
    const char *names[BT_COUNT(numbers) + BT_COUNT(others) + 1] = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < BT_COUNT(numbers); i++) {
        if (is_in(&numbers[i], group))
            names[n++] = numbers[i].name;
    }
    for (uint32_t i = 0; !group && i < BT_COUNT(others); i++)
        names[n++] = others[i];
    return bt_nearest(bt_ctx_scratch(r->ctx), name, names);
}

static bt_status check_names(const struct reader *r, const char *group)
{
    const json_t *object = group ? json_object_get(r->root, group) : r->root;
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return fail(r, NULL, group ? group : "the document", "expected an object");
    // jansson's loop wants the object mutable, and does not change it
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        if (!is_known(group, name))
            return bt_fail(r->ctx, BT_ERR_FORMAT, "%s: %s%s%s: there is no such field%s",
                           r->place, group ? group : "", group ? "." : "", name,
                           nearest(r, group, name));
    }
    return NULL;
}

static bt_status read_number(const struct reader *r, const struct number *n,
                             struct npu_config *c)
{
    const json_t *object = n->group ? json_object_get(r->root, n->group) : r->root;
    const json_t *value = json_object_get(object, n->name);
    char what[96];
    if (!json_is_integer(value) || json_integer_value(value) < n->low ||
        json_integer_value(value) > n->high) {
        snprintf(what, sizeof(what),
                 "expected an integer from %" PRId64 " to %" PRId64 "%s", n->low, n->high,
                 value ? "" : ", found nothing");
        return fail(r, n->group, n->name, what);
    }
    const uint64_t number = (uint64_t)json_integer_value(value);
    const uint32_t narrow = (uint32_t)number;
    memcpy((char *)c + n->at, n->nbytes == 8 ? (const void *)&number : &narrow,
           n->nbytes);
    return NULL;
}

static bt_status read_others(const struct reader *r, struct npu_config *c)
{
    const json_t *format = json_object_get(r->root, "format");
    const json_t *bits = json_object_get(r->root, "weight_bits");
    const json_t *multiplier = json_object_get(r->root, "multiplier");
    if (!json_is_integer(format) || json_integer_value(format) != 1)
        return fail(r, NULL, "format", "expected 1");
    if (!json_is_boolean(multiplier))
        return fail(r, NULL, "multiplier", "expected true or false");
    c->has_multiplier = json_is_true(multiplier);
    for (size_t i = 0; i < json_array_size(bits); i++) {
        const json_int_t width = json_integer_value(json_array_get(bits, i));
        if (width != 8 && width != 4 && width != 2)
            return fail(r, NULL, "weight_bits", "expected a list of 8, 4 and 2");
        if (c->out * c->in * (uint32_t)width % 8)
            return fail(r, NULL, "weight_bits", "a tile of weights is no whole bytes");
        c->weight_bits |= 1u << width;
    }
    return c->weight_bits ? NULL
                          : fail(r, NULL, "weight_bits", "expected a list of widths");
}

/* ---- the whole ---- */

uint32_t npu_tile_nbytes(const struct npu_config *c, uint32_t memory)
{
    switch (memory) {
    case NPU_UOP: return 8;
    case NPU_WGT: return c->out * c->in;
    case NPU_INP: return c->batch * c->in;
    default: return c->batch * c->out * 4;
    }
}

static bt_status count_tiles(const struct reader *r, struct npu_config *c)
{
    for (uint32_t i = 0; i < NPU_NMEMORY; i++) {
        const uint32_t nbytes = npu_tile_nbytes(c, i);
        c->ntile[i] = c->nbytes[i] / nbytes;
        // instructions number tiles by 16 bits
        if (c->nbytes[i] % nbytes || !c->ntile[i] || c->ntile[i] > 65536)
            return fail(r, "scratch", npu_memory_names[i],
                        "expected from 1 to 65536 whole tiles");
    }
    // an instruction ends `fill` cycles behind its last iteration: all results are usable then
    if (c->distance > c->gemm_fill || c->distance > c->alu_fill)
        return fail(r, "cycles", "distance", "expected no more than gemm_fill, alu_fill");
    return NULL;
}

static bt_status read_all(const struct reader *r, struct npu_config *c)
{
    BT_TRY(check_names(r, NULL));
    BT_TRY(check_names(r, "dram"));
    BT_TRY(check_names(r, "scratch"));
    BT_TRY(check_names(r, "queue"));
    BT_TRY(check_names(r, "cycles"));
    for (uint32_t i = 0; i < BT_COUNT(numbers); i++)
        BT_TRY(read_number(r, &numbers[i], c));
    BT_TRY(read_others(r, c));
    return count_tiles(r, c);
}

bt_status npu_config_parse(bt_ctx *ctx, const char *place, const char *text,
                           size_t nbytes, struct npu_config *out)
{
    json_error_t error;
    struct npu_config c = { 0 };
    json_t *root = json_loadb(text, nbytes, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return bt_no_memory();
    if (!root)
        return bt_fail(ctx, BT_ERR_FORMAT, "%s: line %d: %s", place, error.line,
                       error.text);
    bt_status status =
        read_all(&(struct reader){ .ctx = ctx, .place = place, .root = root }, &c);
    json_decref(root);
    if (!status)
        *out = c;
    return status;
}

bt_status npu_config_read(bt_ctx *ctx, const char *name, struct npu_config *out)
{
    static const char *const built_in[] = { "single", "multi" };
    for (uint32_t i = 0; i < BT_COUNT(built_in); i++) {
        if (!strcmp(name, built_in[i]))
            return npu_config_parse(ctx, name, npu_config_texts[i],
                                    strlen(npu_config_texts[i]), out);
    }
    bt_file *file;
    BT_TRY(bt_file_read(ctx, name, &file));
    bt_status status = npu_config_parse(ctx, name, file->bytes, file->nbytes, out);
    bt_file_close(ctx, file);
    return status;
}

void npu_config_print(const struct npu_config *c, bt_text *out)
{
    bt_text_addf(out, "npu %ux%ux%u%s, weights", c->batch, c->in, c->out,
                 c->has_multiplier ? " with multiplier" : "");
    for (uint32_t bits = 8; bits > 1; bits /= 2) {
        if (c->weight_bits >> bits & 1)
            bt_text_addf(out, " %u", bits);
    }
    bt_text_addf(out, ", dram %" PRIu64 ", tokens %u", c->dram_nbytes, c->tokens);
    for (uint32_t i = 0; i < NPU_NMEMORY; i++)
        bt_text_addf(out, ", %s %u", npu_memory_names[i], c->nbytes[i]);
}
