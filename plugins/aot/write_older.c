/* A program that was written to the same folder before, of another name or with more files:
 * what compiles all files of the folder would take its files too. */
#include <inttypes.h>
#include <string.h>

#include <baton/value.h>

#include "folder_posix.h"
#include "write.h"

static bt_status remove_unless_written(struct output *o, const char *name,
                                       const char *ending)
{
    bt_text path;
    bt_text_init(&path, o->plan->arena);
    bt_text_addf(&path, "%s/%s%s", o->folder, name, ending);
    if (!bt_text_get(&path))
        return bt_no_memory();
    return bt_map_find(&o->written, path.at) ? NULL : remove_file(o->plan->ctx, path.at);
}

static bt_status remove_program(struct output *o, const char *name, const char *cmake)
{
    static const char *const endings[] = { ".c", ".h", "_data.c", ".weights", ".so" };
    for (uint32_t i = 0; i < BT_COUNT(endings); i++)
        BT_TRY(remove_unless_written(o, name, endings[i]));
    for (uint32_t i = 0;; i++) {
        bt_text ending, file;
        bt_text_init(&ending, o->plan->arena);
        bt_text_init(&file, o->plan->arena);
        bt_text_addf(&ending, "_kernels_%" PRIu32 ".c", i);
        bt_text_addf(&file, "\n  %s%s", name, ending.at ? ending.at : "");
        if (!bt_text_get(&ending) || !bt_text_get(&file))
            return bt_no_memory();
        if (!strstr(cmake, file.at))
            return NULL;
        BT_TRY(remove_unless_written(o, name, ending.at));
    }
}

/* The text of CMakeLists.txt; NULL: there is none. */
static bt_status read_cmake(struct output *o, const char **out)
{
    bt_ctx *ctx = o->plan->ctx;
    bt_file *file;
    bt_text path;
    *out = NULL;
    bt_text_init(&path, o->plan->arena);
    bt_text_addf(&path, "%s/CMakeLists.txt", o->folder);
    if (!bt_text_get(&path))
        return bt_no_memory();
    bt_status status = bt_file_read(ctx, path.at, &file);
    if (status)
        return status->code == BT_ERR_IO ? NULL : status;
    *out = bt_arena_text(o->plan->arena, (const char *)file->bytes, file->nbytes);
    bt_file_close(ctx, file);
    return *out ? NULL : bt_no_memory();
}

bt_status remove_older(struct output *o)
{
    static const char head[] = CMAKE_HEAD, project[] = "\nproject(";
    const char *cmake;
    BT_TRY(read_cmake(o, &cmake));
    const char *at = cmake && strncmp(cmake, head, sizeof(head) - 1) == 0
                         ? strstr(cmake, project)
                         : NULL;
    if (!at)
        return NULL;
    at += sizeof(project) - 1;
    const char *name = bt_arena_text(o->plan->arena, at, strcspn(at, " /"));
    return name ? remove_program(o, name, cmake) : bt_no_memory();
}
