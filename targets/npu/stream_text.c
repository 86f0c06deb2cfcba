/* A stream as text, in columns, and its errors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "stream.h"

const char *npu_op_name(const struct npu_instruction *in)
{
    static const char *const names[] = { "?", "load", "store", "gemm", "alu", "finish" };
    return names[in->op < NPU_OP_END ? in->op : 0];
}

/* Kinds of an instruction: what is loaded or stored, which operation. */
static const char *kind_name(const struct npu_instruction *in)
{
    static const char *const memories[] = { "uop", "wgt", "inp", "acc", "acc8", "out8" };
    static const char *const subs[] = { "min", "max", "add", "shr", "mul", "req" };
    if (in->op == NPU_LOAD || in->op == NPU_STORE)
        return memories[in->memory];
    return in->op == NPU_ALU ? subs[in->sub] : "";
}

static int has_kind(const struct npu_instruction *in)
{
    return in->op == NPU_LOAD || in->op == NPU_STORE ? in->memory <= NPU_INT8_OF_ACC
           : in->op == NPU_ALU                       ? in->sub < NPU_NSUB
                                                     : 1;
}

static const char *neighbours(uint32_t two)
{
    static const char *const names[] = { "-", "prev", "next", "both" };
    return names[two & 3];
}

/* Those that kind_name tells; of what has no name as numbers. */
static int is_told(const struct npu_field *f, const struct npu_instruction *in)
{
    return has_kind(in) && (!strcmp(f->name, "memory") || !strcmp(f->name, "sub"));
}

/* Bytes that the greatest value of a field takes; 0: it is zero everywhere. */
static int width_of(const struct npu_field *f, const struct npu_stream *stream)
{
    int width = 0;
    char digits[16];
    for (uint32_t i = 0; i < stream->n; i++) {
        const struct npu_instruction *in = &stream->at[i];
        const int64_t value = npu_field_get(f, in);
        if (!npu_field_is_of(f, in->op) || is_told(f, in) || !value)
            continue;
        const int n = snprintf(digits, sizeof(digits), "%" PRId64, value);
        width = n > width ? n : width;
    }
    return width;
}

static void print_one(const struct npu_instruction *in, const int *widths, bt_text *out)
{
    const uint32_t queue = npu_queue(in);
    const char *push = neighbours(in->tokens >> 2);
    bt_text_addf(out, "%-7s  %-6s  %-4s  pop %-4s  push %s", npu_queue_names[queue],
                 npu_op_name(in), has_kind(in) ? kind_name(in) : "?",
                 neighbours(in->tokens), push);
    if (in->tokens > 15)
        bt_text_addf(out, "  tokens %u", in->tokens);
    // blanks stand for columns of like instructions; none at the end
    const uint32_t widest = in->op == NPU_STORE  ? NPU_LOAD
                            : in->op == NPU_GEMM ? NPU_ALU
                                                 : in->op;
    int skipped = 4 - (int)strlen(push);
    for (const struct npu_field *f = npu_fields; f->ops; f++) {
        const int width = widths[f - npu_fields],
                  whole = width + (int)strlen(f->name) + 3;
        if (!width)
            continue;
        if (!npu_field_is_of(f, in->op) || is_told(f, in)) {
            skipped += npu_field_is_of(f, widest) ? whole : 0;
            continue;
        }
        bt_text_addf(out, "%*s  %s %*" PRId64, skipped, "", f->name, width,
                     npu_field_get(f, in));
        skipped = 0;
    }
    bt_text_addf(out, "\n");
}

void npu_stream_print(const struct npu_stream *stream, bt_text *out)
{
    int widths[64] = { 0 };
    for (const struct npu_field *f = npu_fields; f->ops; f++)
        widths[f - npu_fields] = width_of(f, stream);
    for (uint32_t i = 0; i < stream->n; i++) {
        bt_text_addf(out, "%5u  ", i);
        print_one(&stream->at[i], widths, out);
    }
}

bt_status npu_fail(bt_ctx *ctx, uint32_t code, const struct npu_stream *stream,
                   uint32_t i, const char *field, const char *format, ...)
{
    bt_text text;
    va_list args;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    va_start(args, format);
    bt_text_addv(&text, format, args);
    va_end(args);
    const char *what = bt_text_get(&text);
    bt_status status = what ? bt_fail(ctx, code, "npu: instruction %u (%s), field %s: %s",
                                      i, npu_op_name(&stream->at[i]), field, what)
                            : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}
