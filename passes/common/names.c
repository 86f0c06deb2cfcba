#include "common/names.h"

#include <string.h>

static int is_free(const bt_module *module, const bt_map *taken, const char *name)
{
    return !bt_map_find(taken, name) && !bt_module_find(module, name) &&
           !bt_module_find_adt(module, name) && !bt_module_find_ctor(module, name);
}

/* taken: names, and of those that others are made from, which number is tried next. */
static bt_status find_free(const bt_module *module, bt_arena *arena, bt_map *taken,
                           const char *stem, const char **out)
{
    uintptr_t i = (uintptr_t)bt_map_find(taken, stem);
    for (;; i++) {
        bt_text text;
        bt_text_init(&text, arena);
        bt_text_addf(&text, i ? "%s_%u" : "%s", stem, (unsigned)i);
        *out = bt_text_get(&text) ? bt_name_of(module->store, text.at) : NULL;
        if (!*out)
            return bt_no_memory();
        if (is_free(module, taken, *out))
            break;
    }
    return bt_map_put(taken, *out, (void *)1) && bt_map_put(taken, stem, (void *)(i + 1))
               ? NULL
               : bt_no_memory();
}

bt_status name_new(const bt_module *module, bt_arena *arena, bt_map *taken,
                   const char **out, const char *format, ...)
{
    bt_text text;
    va_list list;
    bt_text_init(&text, arena);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    const char *stem = bt_text_get(&text) ? bt_name_of(module->store, text.at) : NULL;
    return stem ? find_free(module, arena, taken, stem, out) : bt_no_memory();
}

int name_is_in(const bt_strings *list, const char *name)
{
    for (int64_t i = 0; i < list->n; i++) {
        if (strcmp(list->at[i], name) == 0)
            return 1;
    }
    return 0;
}
