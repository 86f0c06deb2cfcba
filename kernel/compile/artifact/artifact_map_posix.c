/* Artifacts by POSIX: files mapped to be read. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ctx.h"
#include "compile/artifact/artifact.h"
#include "value/file.h"

/* Pages of the file itself, which all processes share. */
static bt_status map(bt_ctx *ctx, const char *path, int fd, size_t nbytes,
                     bt_tensor **out)
{
    const int64_t dim = (int64_t)nbytes;
    bt_file *file;
    BT_TRY(bt__file_map(ctx, path, fd, nbytes, &file));
    bt_status status = bt_file_tensor(ctx, file, BT_UINT8, 1, &dim, 0, out);
    bt_file_close(ctx, file);
    return status;
}

static bt_status map_open(bt_ctx *ctx, const char *path, int fd, bt_tensor **out)
{
    struct stat s;
    const bt_place place = { .file = path };
    if (fstat(fd, &s) != 0)
        return bt__fail_errno(ctx, path, "cannot be read");
    if (!S_ISREG(s.st_mode))
        return bt_fail_place(ctx, BT_ERR_IO, &place,
                             "an artifact is mapped: expected a regular file, found %s",
                             S_ISDIR(s.st_mode) ? "a folder" : "a pipe or a device");
    if (s.st_size == 0)
        return bt_fail_place(ctx, BT_ERR_FORMAT, &place, "the file is empty");
    if ((uint64_t)s.st_size > ctx->limits.bytes)
        return bt_fail_place(ctx, BT_ERR_LIMIT, &place,
                             "the file exceeds the limit of %llu bytes",
                             (unsigned long long)ctx->limits.bytes);
    return map(ctx, path, fd, (size_t)s.st_size, out);
}

/* O_NONBLOCK: opening a pipe must not wait. */
bt_status bt__artifact_map(bt_ctx *ctx, const char *path, bt_tensor **out)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return bt__fail_errno(ctx, path, "cannot be opened");
    bt_status status = map_open(ctx, path, fd, out);
    close(fd);
    return status;
}

enum { LEAST_MAGIC = 4 };

/* A pipe is not opened: its writer would take this for the reader. */
int bt_artifact_is(const char *path)
{
    char head[sizeof(BT__ARTIFACT_MAGIC) - 1];
    struct stat s;
    int fd = stat(path, &s) == 0 && S_ISREG(s.st_mode)
                 ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                 : -1;
    if (fd < 0)
        return 0;
    // the beginning of the word is an artifact that was cut off there
    ssize_t n = pread(fd, head, sizeof(head), 0);
    int is = n >= LEAST_MAGIC && memcmp(head, BT__ARTIFACT_MAGIC, (size_t)n) == 0;
    close(fd);
    return is;
}
