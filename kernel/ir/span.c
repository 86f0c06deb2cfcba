/* The source map: texts and models that a store's nodes came from, and places in them. */
#include "ir/store.h"

#include <string.h>

#include "base/ctx.h"

/* Copies a text so that every line ends in NUL and can be shown by itself, and notes
 * where lines begin. */
static int copy_lines(bt_arena *arena, const char *text, uint32_t nbytes,
                      struct bt__source *out)
{
    uint32_t nline = 1;
    for (uint32_t i = 0; i < nbytes; i++)
        nline += text[i] == '\n';
    char *copy = bt_arena_alloc(arena, 1, (size_t)nbytes + 1);
    uint32_t *lines = BT_NEWS(arena, uint32_t, nline);
    if (!copy || !lines)
        return 0;
    if (nbytes)
        memcpy(copy, text, nbytes);
    nline = 1;
    for (uint32_t i = 0; i < nbytes; i++) {
        if (copy[i] != '\n')
            continue;
        copy[i] = 0;
        if (i && copy[i - 1] == '\r')
            copy[i - 1] = 0;
        lines[nline++] = i + 1;
    }
    out->text = copy;
    out->nbytes = nbytes;
    out->nline = nline;
    out->lines = lines;
    return 1;
}

bt_status bt_store_add_source(bt_ctx *ctx, bt_store *store, const char *file,
                              const char *text, size_t nbytes, uint32_t *out)
{
    if (nbytes >= UINT32_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: %zu bytes of text, at most %u are allowed",
                       file ? file : "source", nbytes, (unsigned)(UINT32_MAX - 1));
    struct bt__source source = { 0 };
    if (file && !(source.file = bt_name_of(store, file)))
        return bt_no_memory();
    if (text && !copy_lines(store->arena, text, (uint32_t)nbytes, &source))
        return bt_no_memory();
    void *at = store->sources;
    if (!bt__store_grow(store, &at, &store->source_cap, store->nsource,
                        sizeof(*store->sources)))
        return bt_no_memory();
    store->sources = at;
    store->sources[store->nsource] = source;
    *out = store->nsource++;
    return NULL;
}

static bt_span add_span(bt_store *store, struct bt__span span)
{
    void *at = store->spans;
    if (!bt__store_grow(store, &at, &store->span_cap, store->nspan,
                        sizeof(*store->spans)))
        return 0;
    store->spans = at;
    store->spans[store->nspan++] = span;
    return store->nspan;
}

bt_span bt_span_text(bt_store *store, uint32_t source, uint32_t offset, uint32_t nbytes)
{
    return add_span(
        store, (struct bt__span){ .source = source, .offset = offset, .nbytes = nbytes });
}

bt_span bt_span_node(bt_store *store, uint32_t source, const char *node)
{
    const char *name = bt_name_of(store, node);
    return name ? add_span(store, (struct bt__span){ .source = source, .node = name })
                : 0;
}

bt_span bt_span_line(bt_store *store, uint32_t source, uint32_t line, uint32_t column,
                     uint32_t width)
{
    return add_span(
        store, (struct bt__span){
                   .source = source, .nbytes = width, .line = line, .column = column });
}

/* Index of the line that holds the offset. */
static uint32_t line_of(const struct bt__source *source, uint32_t offset)
{
    uint32_t low = 0, high = source->nline;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void bt_span_place(const bt_store *store, bt_span span, bt_place *out)
{
    *out = (bt_place){ 0 };
    if (!store || !span || span > store->nspan)
        return;
    const struct bt__span *at = &store->spans[span - 1];
    if (at->source >= store->nsource)
        return;
    const struct bt__source *source = &store->sources[at->source];
    out->file = source->file;
    out->width = 1;
    out->node = at->node;
    if (at->node)
        return;
    if (!source->text) {
        out->line = at->line;
        out->column = at->column;
        out->width = at->nbytes > 1 ? at->nbytes : 1;
        return;
    }
    uint32_t offset = at->offset < source->nbytes ? at->offset : source->nbytes;
    uint32_t line = line_of(source, offset);
    out->line = line + 1;
    out->column = offset - source->lines[line] + 1;
    out->text = source->text + source->lines[line];
    // What goes on in the next line is underlined to the end of this one.
    size_t rest = strlen(source->text + offset);
    size_t width = at->nbytes < rest ? at->nbytes : rest;
    if (width > 1)
        out->width = (uint32_t)width;
}

/* ---- failures at spans ---- */

bt_status bt_fail_at(bt_ctx *ctx, uint32_t code, const bt_store *store, bt_span span,
                     const char *format, ...)
{
    bt_place place;
    bt_span_place(store, span, &place);
    va_list args;
    va_start(args, format);
    bt_status status = bt_fail_va(ctx, code, &place, format, args);
    va_end(args);
    return status;
}

bt_status bt_note(bt_ctx *ctx, bt_status status, const bt_store *store, bt_span span,
                  const char *format, ...)
{
    bt_place place;
    bt_span_place(store, span, &place);
    va_list args;
    va_start(args, format);
    status = bt__note_va(ctx, status, &place, format, args);
    va_end(args);
    return status;
}
