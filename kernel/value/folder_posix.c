/* Folders by POSIX. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <baton/value.h>

#include "value/file.h"

/* 0: errno says why not. What is there is a folder whatever mkdir says of the place, such
 * as that nothing can be written there. */
static int make(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 1;
    const int reason = errno;
    const int is_there = stat(path, &st) == 0;
    errno = is_there ? ENOTDIR : reason;
    return is_there && S_ISDIR(st.st_mode);
}

static bt_status make_all(bt_ctx *ctx, const char *path)
{
    const size_t end = strlen(path);
    int ok = end > 0;
    errno = ENOENT;
    for (size_t n = 0; n < end && ok;) {
        n += 1 + strcspn(path + n + 1, "/");
        const char *part = bt_arena_text(bt_ctx_scratch(ctx), path, n);
        if (!part)
            return bt_no_memory();
        ok = make(part);
    }
    return ok ? NULL : bt__fail_errno(ctx, path, "the folder cannot be made");
}

bt_status bt_folder_make(bt_ctx *ctx, const char *path)
{
    const void *mark = bt_arena_mark(bt_ctx_scratch(ctx));
    bt_status status = make_all(ctx, path);
    bt_arena_release(bt_ctx_scratch(ctx), mark);
    return status;
}
