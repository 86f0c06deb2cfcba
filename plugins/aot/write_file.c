/* What all that is written has in common: files in the folder, faults by number. */
#include "write.h"

bt_status write_file(struct output *o, const bt_text *text, const char *format, ...)
{
    bt_text path;
    va_list args;
    bt_text_init(&path, o->plan->arena);
    bt_text_addf(&path, "%s/", o->folder);
    va_start(args, format);
    bt_text_addv(&path, format, args);
    va_end(args);
    if (text->failed || !bt_text_get(&path) ||
        !bt_map_put(&o->written, path.at, o->plan->arena))
        return bt_no_memory();
    return bt_file_write(o->plan->ctx, path.at, text->at ? text->at : "", text->len);
}

bt_status output_fault(struct output *o, bt_span span, const char *text, uint32_t *number)
{
    struct plan *p = o->plan;
    text = plan_fault_text(p, span, text);
    if (!text)
        return bt_no_memory();
    *number = o->nfault + p->texts.len + 1;
    return BT_PUSH(p->arena, &p->texts, text) ? NULL : bt_no_memory();
}
