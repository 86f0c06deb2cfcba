/* What all that is written has in common: files in the folder, faults by number. */
#include <string.h>

#include "write.h"

bt_status add_file(struct output *o, const bt_text *text, const char *format, ...)
{
    bt_arena *arena = o->plan->arena;
    bt_text path, *file = BT_NEW(arena, bt_text);
    va_list args;
    bt_text_init(&path, arena);
    bt_text_addf(&path, "%s/", o->folder);
    va_start(args, format);
    bt_text_addv(&path, format, args);
    va_end(args);
    if (!file || text->failed || !bt_text_get(&path) ||
        !bt_map_put(&o->files, path.at, file))
        return bt_no_memory();
    *file = *text;
    return NULL;
}

/* What the program was made from stays: but for the files of one that was here before, which are
 * read to see whose they are (write_older.c). */
static bt_status check_read(const struct output *o)
{
    bt_ctx *ctx = o->plan->ctx;
    for (uint32_t i = 0; i < o->files.len; i++) {
        const char *path = o->files.at[i].key, *name = path + strlen(o->folder) + 1;
        if (strcmp(name, "CMakeLists.txt") != 0 && strcmp(name, "main.c") != 0 &&
            bt_file_is_read(ctx, path))
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "%s is read, and the program would replace it: write to "
                           "another folder",
                           path);
    }
    return NULL;
}

bt_status write_files(struct output *o)
{
    bt_ctx *ctx = o->plan->ctx;
    bt_text headers;
    bt_text_init(&headers, o->plan->arena);
    bt_text_addf(&headers, "%s/baton", o->folder);
    if (!bt_text_get(&headers))
        return bt_no_memory();
    BT_TRY(check_read(o));
    BT_TRY(bt_folder_make(ctx, o->folder)); // whose name a message has
    BT_TRY(bt_folder_make(ctx, headers.at));
    BT_TRY(remove_older(o));
    for (uint32_t i = 0; i < o->files.len; i++) {
        const bt_map_entry *file = &o->files.at[i];
        const bt_text *bytes = file->value;
        BT_TRY(bt_file_write(ctx, file->key, bytes->at ? bytes->at : "", bytes->len));
    }
    return NULL;
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
