/* Folders. */
#define _POSIX_C_SOURCE 200809L
#include "folder_posix.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bt_status make_folder(bt_ctx *ctx, const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return NULL;
    const int error = errno;
    if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return NULL;
    return bt_fail(ctx, BT_ERR_IO, "%s: no folder for a program can be made here: %s",
                   path, error == EEXIST ? "a file has this name" : strerror(error));
}

bt_status remove_file(bt_ctx *ctx, const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return NULL;
    return bt_fail(ctx, BT_ERR_IO,
                   "%s: this file of the program that was here before cannot be removed: "
                   "%s; write to another folder",
                   path, strerror(errno));
}
