#include "target_fault.h"

void target_fault(bt_arena *arena, const char **fault, const char *format, ...)
{
    bt_text text;
    va_list list;
    if (*fault)
        return;
    bt_text_init(&text, arena);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    *fault = bt_text_get(&text) ? text.at : "no memory";
}
