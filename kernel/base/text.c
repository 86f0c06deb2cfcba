/* Text under construction. */
#include "base/arena.h"

#include <string.h>

void bt_text_init(bt_text *text, bt_arena *arena)
{
    *text = (bt_text){ .arena = arena };
}

/* 1 and room for `nbytes` more and a NUL, or 0 and the text failed. */
static int reserve(bt_text *text, size_t nbytes)
{
    size_t need;
    if (text->failed)
        return 0;
    if (!bt_add_size(text->len, nbytes, &need) || !bt_add_size(need, 1, &need)) {
        text->failed = 1;
        return 0;
    }
    if (need <= text->cap)
        return 1;
    size_t cap = text->cap < 32 ? 64 : 2 * text->cap;
    if (cap < need)
        cap = need;
    char *at = bt__arena_grow(text->arena, text->at, text->cap, cap);
    if (!at) {
        text->failed = 1;
        return 0;
    }
    text->at = at;
    text->cap = cap;
    return 1;
}

void bt_text_add(bt_text *text, const char *bytes, size_t nbytes)
{
    if (!reserve(text, nbytes))
        return;
    if (nbytes)
        memcpy(text->at + text->len, bytes, nbytes);
    text->len += nbytes;
    text->at[text->len] = 0;
}

void bt_text_addv(bt_text *text, const char *format, va_list args)
{
    va_list again;
    if (!reserve(text, 0))
        return;
    va_copy(again, args);
    int n = bt__vsnprintf(text->at + text->len, text->cap - text->len, format, args);
    if (n >= 0 && (size_t)n >= text->cap - text->len && reserve(text, (size_t)n))
        n = bt__vsnprintf(text->at + text->len, text->cap - text->len, format, again);
    va_end(again);
    if (n < 0 || text->failed) {
        text->failed = 1;
        text->at[text->len] = 0;
        return;
    }
    text->len += (size_t)n;
}

void bt_text_addf(bt_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_text_addv(text, format, args);
    va_end(args);
}

void bt_text_each(bt_text *text, uint32_t n, const char *item, uint32_t at,
                  const char *instead)
{
    for (uint32_t i = 0; i < n; i++) {
        bt_text_addf(text, "%s", i ? ", " : "");
        if (i == at) {
            bt_text_addf(text, "%s", instead);
            continue;
        }
        for (const char *c = item; *c; c++) {
            if (*c == '#')
                bt_text_addf(text, "%u", i);
            else
                bt_text_addf(text, "%c", *c);
        }
    }
}

const char *bt_text_get(const bt_text *text)
{
    return text->failed ? NULL : text->at ? text->at : "";
}

const char *bt__format_va(bt_arena *arena, const char *format, va_list args)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addv(&text, format, args);
    return bt_text_get(&text);
}

const char *bt__format(bt_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *out = bt__format_va(arena, format, args);
    va_end(args);
    return out;
}
