/* Functions of <baton/convert.h>, floats.h and integers.h. */
#include "functions.h"

#include <string.h>

/* The name that a block defines: the word before the first parenthesis behind "static". */
static int find_name(bt_arena *arena, const char *block, const char **out)
{
    const char *start =
        strncmp(block, "static ", 7) == 0 ? block : strstr(block, "\nstatic ");
    const char *end = start ? strchr(start, '(') : NULL;
    const char *first = end;
    *out = NULL;
    if (!end)
        return 1;
    while (first[-1] != ' ' && first[-1] != '*')
        first--;
    *out = bt_arena_text(arena, first, (size_t)(end - first));
    return *out != NULL;
}

int c_functions_init(struct c_functions *f, bt_arena *arena, const char *const *blocks)
{
    *f = (struct c_functions){ .blocks = blocks };
    while (f->blocks[f->n])
        f->n++;
    f->names = BT_NEWS(arena, const char *, f->n);
    f->is_used = BT_NEWS(arena, uint8_t, f->n);
    for (uint32_t i = 0; f->names && i < f->n; i++) {
        if (!find_name(arena, f->blocks[i], &f->names[i]))
            return 0;
    }
    return f->names && f->is_used;
}

int c_functions_use(struct c_functions *f, const char *name)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->names[i] && strcmp(f->names[i], name) == 0) {
            f->is_used[i] = 1;
            return 1;
        }
    }
    return 0;
}

static int calls(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + n, name)) {
        const char before = at == text ? ' ' : at[-1];
        if (at[n] == '(' && !strchr("_0123456789abcdefghijklmnopqrstuvwxyz", before))
            return 1;
    }
    return 0;
}

void c_functions_use_in(struct c_functions *f, const char *text)
{
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->names[i] && calls(text, f->names[i]))
            f->is_used[i] = 1;
    }
}

void c_functions_close(struct c_functions *f)
{
    // a function calls those above it only
    for (uint32_t i = f->n; i-- > 0;) {
        for (uint32_t k = 0; f->is_used[i] && k < i; k++) {
            if (f->names[k] && !f->is_used[k])
                f->is_used[k] = (uint8_t)calls(f->blocks[i], f->names[k]);
        }
    }
}

void c_functions_write(struct c_functions *f, bt_text *out)
{
    c_functions_close(f);
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->is_used[i])
            bt_text_addf(out, "\n%s", f->blocks[i]);
    }
}
