/* Diagnostics: records in the context's own arena, made once, never changed. */
#include "base/ctx.h"

#include <string.h>

enum {
    LINE_NBYTES = 1 << 16,   /* of a source line that a record keeps */
    MESSAGE_NBYTES = 1 << 12 /* of a message: names may be of any length */
};

static const bt_diag no_memory = { .code = BT_ERR_MEMORY, .message = "no memory" };

bt_status bt_no_memory(void)
{
    return &no_memory;
}

const char *bt_code_name(uint32_t code)
{
    static const char *const names[] = {
#define BT_CODE(UPPER, text, doc) text,
#include <baton/codes.def>
    };
    return code < BT_ERR_COUNT ? names[code] : "unknown";
}

static int copy_text(bt_arena *arena, const char *text, size_t nbytes, const char **out)
{
    *out = text ? bt_arena_text(arena, text, nbytes) : NULL;
    return !text || *out;
}

/* A record outlives the source that it points into. Of a very long line it keeps what is
 * shown, and nothing where that is far from the start. */
static int copy_place(bt_arena *arena, const bt_place *place, bt_place *out)
{
    *out = *place;
    size_t nbytes = place->text ? strnlen(place->text, LINE_NBYTES) : 0;
    if (nbytes == LINE_NBYTES && place->column > LINE_NBYTES / 2)
        out->text = NULL;
    return copy_text(arena, place->file, place->file ? strlen(place->file) : 0,
                     &out->file) &&
           copy_text(arena, place->node, place->node ? strlen(place->node) : 0,
                     &out->node) &&
           copy_text(arena, out->text, nbytes, &out->text);
}

static void cut_message(bt_text *message)
{
    size_t n = MESSAGE_NBYTES;
    if (message->failed || message->len < MESSAGE_NBYTES + sizeof("..."))
        return;
    // not inside a character, of four bytes at most
    while (n > MESSAGE_NBYTES - 4 && ((unsigned char)message->at[n] & 0xc0u) == 0x80)
        n--;
    memcpy(message->at + n, "...", sizeof("..."));
}

/* NULL: no memory, and the arena is as before. */
static bt_diag *new_diag(bt_ctx *, uint32_t code, const bt_place *, const char *format,
                         va_list) BT_PRINTF(4, 0);
static bt_diag *new_diag(bt_ctx *ctx, uint32_t code, const bt_place *place,
                         const char *format, va_list args)
{
    const void *mark = bt_arena_mark(ctx->diags);
    bt_diag *diag = BT_NEW(ctx->diags, bt_diag);
    bt_text message;
    bt_text_init(&message, ctx->diags);
    if (diag && (!place || copy_place(ctx->diags, place, &diag->place))) {
        diag->code = code;
        bt_text_addv(&message, format, args);
        cut_message(&message);
        diag->message = bt_text_get(&message);
        if (diag->message)
            return diag;
    }
    bt_arena_release(ctx->diags, mark);
    return NULL;
}

bt_status bt_fail_va(bt_ctx *ctx, uint32_t code, const bt_place *place,
                     const char *format, va_list args)
{
    const bt_diag *diag = new_diag(ctx, code, place, format, args);
    return diag ? diag : bt_no_memory();
}

bt_status bt_fail(bt_ctx *ctx, uint32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = bt_fail_va(ctx, code, NULL, format, args);
    va_end(args);
    return status;
}

bt_status bt_fail_place(bt_ctx *ctx, uint32_t code, const bt_place *place,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = bt_fail_va(ctx, code, place, format, args);
    va_end(args);
    return status;
}

/* Copies the chain, because records never change; the texts in it are shared. */
static bt_status append(bt_ctx *ctx, bt_status status, const bt_diag *note)
{
    bt_diag *first = NULL, *last = NULL;
    for (const bt_diag *d = status; d; d = d->note) {
        bt_diag *copy = BT_NEW(ctx->diags, bt_diag);
        if (!copy)
            return status;
        *copy = *d;
        if (last)
            last->note = copy;
        else
            first = copy;
        last = copy;
    }
    last->note = note;
    return first;
}

bt_status bt__note_chain(bt_ctx *ctx, bt_status status, const bt_diag *notes)
{
    return !notes || status == &no_memory ? status : append(ctx, status, notes);
}

bt_status bt__note_va(bt_ctx *ctx, bt_status status, const bt_place *place,
                      const char *format, va_list args)
{
    if (!status || status == &no_memory)
        return status;
    const bt_diag *note = new_diag(ctx, BT_ERR_NONE, place, format, args);
    return note ? append(ctx, status, note) : status;
}

bt_status bt__fail_in(bt_ctx *ctx, uint32_t code, const struct bt__range *range,
                      const char *format, va_list args)
{
    const void *mark = bt_arena_mark(ctx->scratch);
    size_t at = range->at < range->nbytes ? range->at : range->nbytes, start = 0;
    bt_place place = { .file = range->file, .line = 1 };
    while (at == range->nbytes && at && range->text[at - 1] == '\n')
        at--;
    for (size_t i = 0; i < at; i++) {
        if (range->text[i] == '\n') {
            place.line++;
            start = i + 1;
        }
    }
    size_t end = at;
    while (end < range->nbytes && !strchr("\r\n", range->text[end]))
        end++;
    size_t width = range->width < end - at ? range->width : end - at;
    place.column = (uint32_t)(at - start) + 1;
    place.width = width ? (uint32_t)width : 1;
    place.text = bt_arena_text(ctx->scratch, range->text + start, end - start);
    bt_status status = bt_fail_va(ctx, code, &place, format, args);
    bt_arena_release(ctx->scratch, mark);
    return status;
}
