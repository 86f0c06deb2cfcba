/* Files that go. */
#define _POSIX_C_SOURCE 200809L
#include "remove_posix.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bt_status remove_file(bt_ctx *ctx, const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return NULL;
    return bt_fail(ctx, BT_ERR_IO,
                   "%s: this file of the program that was here before cannot be removed: "
                   "%s; write to another folder",
                   path, strerror(errno));
}
