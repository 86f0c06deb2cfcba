/* Files by POSIX: read whole or mapped, opened beneath a folder, replaced atomically. */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS, madvise
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/value.h>

#include "base/arena.h"
#include "base/ctx.h"
#include "value/file.h"
#include "value/tensor.h"

enum {
    MAP_FROM_NBYTES = 1 << 20, /* smaller files are read */
    LIE_FROM_NBYTES = 1 << 16, /* smaller tensors are aligned, by a copy */
    FIRST_READ_NBYTES = 1 << 16,
    WRITE_NBYTES = 1 << 30, /* of one call: a kernel may refuse more */
    NTEMPORARY = 100,       /* names tried for the temporary file */
    TEMPORARY_NBYTES = 64   /* of the path's own name that are part of them */
};

struct file {
    bt_file base;
    bt_registry *registry;
    atomic_uint_least32_t nref; /* of who opened it, and of tensors within */
    size_t path_nbytes;
    size_t cap;            /* of a read file's block */
    uint64_t most;         /* bytes of it that may be read */
    bt__file_most_fn *ask; /* how many, of a stream, once it has begun; NULL: asked */
};

bt_status bt__fail_errno(bt_ctx *ctx, const char *path, const char *what)
{
    int reason = errno;
    char text[128];
    if (strerror_r(reason, text, sizeof(text)) != 0)
        snprintf(text, sizeof(text), "error %d", reason);
    return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = path }, "%s: %s", what,
                         text);
}

static BT_FAILURE bt_status fail_limit(bt_ctx *ctx, const char *path, uint64_t most)
{
    return bt_fail_place(ctx, BT_ERR_LIMIT, &(bt_place){ .file = path },
                         "the file exceeds the limit of %" PRIu64 " bytes", most);
}

/* Memory may have run out because the file never ends, as /dev/zero does: the message
 * names it. */
static BT_FAILURE bt_status fail_memory(bt_ctx *ctx, const char *path, size_t nbytes)
{
    return bt_fail_place(ctx, BT_ERR_MEMORY, &(bt_place){ .file = path },
                         "no memory for more than %zu bytes of it", nbytes);
}

/* ---- reading ---- */

/* A file without content yet; NULL: no memory. */
static struct file *new_file(bt_ctx *ctx, const char *path)
{
    size_t path_nbytes = strlen(path) + 1;
    struct file *f = bt_alloc(ctx->registry, sizeof(*f) + path_nbytes);
    if (!f)
        return NULL;
    f->registry = ctx->registry;
    atomic_init(&f->nref, 1);
    f->path_nbytes = path_nbytes;
    f->base.path = memcpy(f + 1, path, path_nbytes);
    return f;
}

static void release(void *file)
{
    struct file *f = file;
    union {
        const void *shown;
        void *own;
    } bytes = { .shown = f->base.bytes };
    if (atomic_fetch_sub(&f->nref, 1) != 1)
        return;
    if (f->base.is_mapped)
        munmap(bytes.own, f->base.nbytes + 1);
    else
        bt_free(f->registry, bytes.own, f->cap);
    bt_free(f->registry, f, sizeof(*f) + f->path_nbytes);
}

void bt_file_close(bt_ctx *ctx, bt_file *file)
{
    (void)ctx;
    if (file)
        release(file);
}

/* The pages of a mapped file that were read leave memory; they are read again when they
 * are needed. */
static void forget(const bt_file *file, size_t offset, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = offset / page * page;
    union {
        const void *shown;
        void *own;
    } bytes = { .shown = (const char *)file->bytes + from };
    if (file->is_mapped && nbytes >= page)
        (void)madvise(bytes.own, (offset + nbytes) / page * page - from, MADV_DONTNEED);
}

void bt_tensor_forget(const bt_tensor *tensor)
{
    const bt_tensor *of = tensor;
    while (of->owner && of->owner->kind == BT_OBJECT_TENSOR)
        of = bt_object_as_tensor(of->owner);
    const struct bt__tensor *t = (const struct bt__tensor *)(const void *)of;
    const struct file *f = t->foreign;
    if (t->release != release)
        return;
    const size_t offset =
        (size_t)((const char *)tensor->data - (const char *)f->base.bytes);
    const size_t nbytes = bt_tensor_nbytes(tensor);
    if (offset <= f->base.nbytes && nbytes <= f->base.nbytes - offset)
        forget(&f->base, offset, nbytes);
}

bt_status bt_file_tensor(bt_ctx *ctx, bt_file *file, bt_dtype dtype, uint32_t rank,
                         const int64_t *dims, size_t offset, bt_tensor **out)
{
    int64_t nelem;
    union {
        const char *shown;
        char *own;
    } data = { .shown = (const char *)file->bytes + offset };
    BT_TRY(bt__tensor_check(ctx, dtype, rank, dims, &nelem));
    const size_t item = bt_dtype_is_packed(dtype) ? 1 : bt_dtype_nbytes(dtype);
    int64_t counted = 0;
    (void)bt_elements_nbytes(dtype, nelem, &counted);
    const size_t nbytes = (size_t)counted;
    if (offset > file->nbytes || nbytes > file->nbytes - offset)
        return bt_fail_place(ctx, BT_ERR_FORMAT, &(bt_place){ .file = file->path },
                             "it has %zu bytes, and a tensor of %zu is to lie at byte "
                             "%zu",
                             file->nbytes, nbytes, offset);
    // a file may have any bits behind the last element
    const int is_ragged = bt_dtype_is_packed(dtype) && nelem * BT_DTYPE_BITS(dtype) % 8;
    if (is_ragged || (nbytes < LIE_FROM_NBYTES && (uintptr_t)data.shown % item != 0)) {
        BT_TRY(bt_tensor_create(ctx, dtype, rank, dims, out));
        memcpy((*out)->data, data.shown, nbytes);
        bt__tensor_trim(*out);
        return NULL;
    }
    struct bt__tensor *t = bt__tensor_alloc(ctx, dtype, rank, dims, NULL, nelem, 0);
    if (!t)
        return bt_no_memory();
    struct file *f = (struct file *)(void *)file;
    atomic_fetch_add(&f->nref, 1);
    t->tensor.data = data.own;
    t->release = release;
    t->foreign = f;
    *out = &t->tensor;
    return NULL;
}

/* Makes room for one byte more than *cap, up to the limit and a NUL. */
static bt_status grow(bt_ctx *ctx, struct file *f, char **bytes)
{
    uint64_t most = f->most < SIZE_MAX - 1 ? f->most + 2 : SIZE_MAX;
    size_t cap = f->cap > most / 2 ? (size_t)most : 2 * f->cap;
    if (f->cap >= most)
        return fail_limit(ctx, f->base.path, f->most);
    char *grown = bt_realloc(ctx->registry, *bytes, f->cap, cap);
    if (!grown)
        return fail_memory(ctx, f->base.path, f->base.nbytes);
    *bytes = grown;
    f->base.bytes = grown;
    f->cap = cap;
    return NULL;
}

/* A stream has begun: how much of it there may be. One of which nothing is known is left
 * where it is. */
static int ask_most(bt_ctx *ctx, struct file *f)
{
    uint64_t most = f->ask(ctx, &f->base);
    f->ask = NULL;
    f->most = most == 0                  ? f->base.nbytes
              : most < ctx->limits.bytes ? most
                                         : ctx->limits.bytes;
    return most > 0;
}

/* Reads up to the end. `expected` is a guess of the size that saves growing. */
static bt_status read_all(bt_ctx *ctx, int fd, size_t expected, struct file *f)
{
    f->cap = expected + 2; // one byte to see the end by, one for the NUL
    char *bytes = bt_realloc(ctx->registry, NULL, 0, f->cap);
    if (!bytes) {
        f->cap = 0;
        return fail_memory(ctx, f->base.path, expected);
    }
    f->base.bytes = bytes;
    for (;;) {
        if (bt_ctx_cancelled(ctx))
            return bt_fail(ctx, BT_ERR_CANCELLED, "stopped while reading %s",
                           f->base.path);
        if (f->base.nbytes + 1 == f->cap) {
            if (f->ask && !ask_most(ctx, f))
                break;
            BT_TRY(grow(ctx, f, &bytes));
        }
        ssize_t n = read(fd, bytes + f->base.nbytes, f->cap - 1 - f->base.nbytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return bt__fail_errno(ctx, f->base.path, "cannot be read");
        if (n == 0)
            break;
        f->base.nbytes += (size_t)n;
    }
    bytes[f->base.nbytes] = 0;
    return f->base.nbytes > f->most ? fail_limit(ctx, f->base.path, f->most) : NULL;
}

/* Maps a regular file over pages of zeros, one byte more than it has: the NUL. */
static int try_map(int fd, size_t nbytes, struct file *f)
{
    if (nbytes == SIZE_MAX)
        return 0;
    void *bytes = mmap(NULL, nbytes + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return 0;
    if (mmap(bytes, nbytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
        munmap(bytes, nbytes + 1);
        return 0;
    }
    f->base.bytes = bytes;
    f->base.nbytes = nbytes;
    f->base.is_mapped = 1;
    return 1;
}

static bt_status read_content(bt_ctx *ctx, int fd, const struct stat *s, struct file *f)
{
    int is_regular = S_ISREG(s->st_mode);
    if (S_ISDIR(s->st_mode))
        return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = f->base.path },
                             "is a folder");
    f->most = ctx->limits.bytes;
    if (is_regular)
        f->ask = NULL;
    if (is_regular && (uint64_t)s->st_size > f->most)
        return fail_limit(ctx, f->base.path, f->most);
    if (is_regular && s->st_size >= MAP_FROM_NBYTES && try_map(fd, (size_t)s->st_size, f))
        return NULL;
    return read_all(ctx, fd, is_regular ? (size_t)s->st_size : FIRST_READ_NBYTES, f);
}

/* What a regular file is by, whatever its names. */
static void identify(const struct stat *s, char out[64])
{
    snprintf(out, 64, "%ju %ju", (uintmax_t)s->st_dev, (uintmax_t)s->st_ino);
}

static bt_status remember(bt_ctx *ctx, const struct stat *s)
{
    char text[64];
    identify(s, text);
    if (!ctx->read || !S_ISREG(s->st_mode) ||
        bt_map_entry_find(&ctx->files_read, text))
        return NULL;
    const char *key = bt_arena_text(ctx->read, text, strlen(text));
    return key && bt_map_put(&ctx->files_read, key, NULL) ? NULL : bt_no_memory();
}

bt_status bt_file_keep_read(bt_ctx *ctx)
{
    if (ctx->read)
        return NULL;
    ctx->read = bt_arena_create(ctx->registry);
    bt_map_init(&ctx->files_read, ctx->read, 1);
    return ctx->read ? NULL : bt_no_memory();
}

int bt_file_is_read(bt_ctx *ctx, const char *path)
{
    struct stat s;
    char text[64];
    if (!ctx->read || stat(path, &s) != 0 || !S_ISREG(s.st_mode))
        return 0;
    identify(&s, text);
    return bt_map_entry_find(&ctx->files_read, text) != NULL;
}

/* Reads an open file and leaves it open. */
static bt_status read_open(bt_ctx *ctx, int fd, const char *path, bt__file_most_fn *ask,
                           bt_file **out)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return bt__fail_errno(ctx, path, "cannot be read");
    BT_TRY(remember(ctx, &s));
    struct file *f = new_file(ctx, path);
    if (!f)
        return bt_no_memory();
    f->ask = ask;
    bt_status status = read_content(ctx, fd, &s, f);
    if (status)
        bt_file_close(ctx, &f->base);
    else
        *out = &f->base;
    return status;
}

bt_status bt__file_read_asking(bt_ctx *ctx, const char *path, bt__file_most_fn *most,
                               bt_file **out)
{
    if (strcmp(path, "-") == 0)
        return read_open(ctx, STDIN_FILENO, "-", most, out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return bt__fail_errno(ctx, path, "cannot be opened");
    bt_status status = read_open(ctx, fd, path, most, out);
    close(fd);
    return status;
}

static uint64_t most_of_text(bt_ctx *ctx, const bt_file *begun)
{
    (void)ctx;
    (void)begun;
    return BT__STREAM_NBYTES;
}

bt_status bt_file_read(bt_ctx *ctx, const char *path, bt_file **out)
{
    return bt__file_read_asking(ctx, path, most_of_text, out);
}

bt_status bt__file_map(bt_ctx *ctx, const char *path, int fd, size_t nbytes,
                       bt_file **out)
{
    struct file *f = new_file(ctx, path);
    if (!f)
        return bt_no_memory();
    if (!try_map(fd, nbytes, f)) {
        bt_status status = bt__fail_errno(ctx, path, "cannot be mapped");
        bt_file_close(ctx, &f->base);
        return status;
    }
    *out = &f->base;
    return NULL;
}

/* ---- beneath a folder ---- */

/* One more step of a path; closes `folder`. */
static int open_step(int folder, const char *name, size_t nbytes, int flags)
{
    char step[NAME_MAX + 1];
    int fd = -1;
    if (nbytes > NAME_MAX) {
        errno = ENAMETOOLONG;
    } else {
        memcpy(step, name, nbytes);
        step[nbytes] = 0;
        fd = openat(folder, step, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    }
    int reason = errno;
    close(folder);
    errno = reason;
    return fd;
}

static int is_step(const char *name, size_t nbytes, const char *step)
{
    return nbytes == strlen(step) && memcmp(name, step, nbytes) == 0;
}

static BT_FAILURE bt_status fail_beneath(bt_ctx *ctx, const char *folder,
                                         const char *name, const char *why)
{
    return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = folder },
                         "%s %s; only files inside this folder are read", name, why);
}

/* Every step is opened from the one before and none may be a link, so that nothing
 * outside is reached even if the folder changes meanwhile. O_NONBLOCK: opening a pipe
 * must not wait. */
static bt_status open_beneath(bt_ctx *ctx, const char *folder, const char *name, int *out)
{
    if (name[0] == 0 || name[0] == '/')
        return fail_beneath(ctx, folder, name, name[0] ? "is absolute" : "is empty");
    int fd = open(folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return bt__fail_errno(ctx, folder, "cannot be opened");
    for (const char *at = name; at;) {
        size_t nbytes = strcspn(at, "/");
        const char *next = at[nbytes] ? at + nbytes + 1 : NULL;
        if (is_step(at, nbytes, "..")) {
            close(fd);
            return fail_beneath(ctx, folder, name, "goes up by \"..\"");
        }
        int is_skipped = next && (nbytes == 0 || is_step(at, nbytes, "."));
        if (!is_skipped) {
            fd = open_step(fd, at, nbytes, next ? O_DIRECTORY : O_NONBLOCK | O_NOCTTY);
            if (fd < 0 && errno == ELOOP)
                return fail_beneath(ctx, folder, name, "is or crosses a symbolic link");
            if (fd < 0)
                return bt__fail_errno(ctx, folder, name);
        }
        at = next;
    }
    *out = fd;
    return NULL;
}

bt_status bt_file_read_beneath(bt_ctx *ctx, const char *folder, const char *name,
                               bt_file **out)
{
    int fd;
    struct stat s;
    BT_TRY(open_beneath(ctx, folder, name, &fd));
    bt_status status;
    if (fstat(fd, &s) != 0)
        status = bt__fail_errno(ctx, folder, name);
    else if (!S_ISREG(s.st_mode))
        status = fail_beneath(ctx, folder, name, "is no regular file");
    else if (s.st_nlink != 1)
        status = fail_beneath(ctx, folder, name, "has a second name, a hard link");
    else
        status = read_open(ctx, fd, name, NULL, out);
    close(fd);
    return status;
}

/* ---- writing ---- */

/* What is to be written. */
struct content {
    uint32_t npart;
    const bt__file_part *parts;
    bt__file_check_fn *check;
    const void *self; /* of check */
};

int bt__file_write_all(int fd, const void *bytes, size_t nbytes)
{
    const char *at = bytes;
    while (nbytes) {
        ssize_t n = write(fd, at, nbytes < WRITE_NBYTES ? nbytes : WRITE_NBYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0;
        at += n;
        nbytes -= (size_t)n;
    }
    return 1;
}

static int write_parts(int fd, const struct content *content)
{
    for (uint32_t i = 0; i < content->npart; i++) {
        if (!bt__file_write_all(fd, content->parts[i].bytes, content->parts[i].nbytes))
            return 0;
    }
    return 1;
}

/* A file of another name in the same folder. NULL: no memory. */
static const char *temporary_name(bt_arena *arena, const char *path, uint32_t attempt)
{
    const char *slash = strrchr(path, '/');
    int folder_nbytes = slash ? (int)(slash + 1 - path) : 0;
    // Of a long name the start: the whole must not exceed what a name may have.
    return bt__format(arena, "%.*s.%.*s.%ld-%u.tmp", folder_nbytes, path,
                      TEMPORARY_NBYTES, path + folder_nbytes, (long)getpid(), attempt);
}

/* Whether a name is that of a temporary file for `path`: ".model.bta.1234-0.tmp". */
static int is_temporary(const char *name, const char *path)
{
    const char *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
    size_t n = strnlen(own, TEMPORARY_NBYTES);
    if (name[0] != '.' || strncmp(name + 1, own, n) != 0 || name[1 + n] != '.')
        return 0;
    name += 2 + n;
    size_t npid = strspn(name, "0123456789");
    size_t nattempt = name[npid] == '-' ? strspn(name + npid + 1, "0123456789") : 0;
    return npid && nattempt && strcmp(name + npid + 1 + nattempt, ".tmp") == 0;
}

/* Temporary files whose writer is no more: it holds a lock while it lives. */
static void remove_stale(bt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash ? bt_arena_text(arena, path, (size_t)(slash + 1 - path)) : ".";
    DIR *entries = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        if (!is_temporary(entry->d_name, path))
            continue;
        int fd = openat(dirfd(entries), entry->d_name,
                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (entries)
        closedir(entries);
}

/* A new file, locked. -1: errno says why not; EEXIST: the name is taken. */
static int create_temporary(const char *name)
{
    struct stat own;
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return fd;
    // Somebody who removes stale files may have taken it in between; some file systems
    // have no locks.
    int is_lost = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_lost && fstat(fd, &own) == 0 && own.st_nlink > 0)
        return fd;
    close(fd);
    errno = EEXIST;
    return -1;
}

/* Makes the rename last through a crash. Some file systems cannot do that, which is no
 * error. */
static void sync_folder(bt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder = !slash ? "."
                         : slash == path
                             ? "/"
                             : bt_arena_text(arena, path, (size_t)(slash - path));
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/* Fills the temporary file and puts it in the path's place; closes fd. */
static bt_status replace(bt_ctx *ctx, int fd, const char *temporary, const char *path,
                         const struct content *content)
{
    struct stat old;
    int done = write_parts(fd, content) &&
               (stat(path, &old) != 0 || fchmod(fd, old.st_mode & 0777) == 0) &&
               fsync(fd) == 0;
    bt_status status = done ? NULL : bt__fail_errno(ctx, path, "cannot be written");
    if (close(fd) != 0 && !status)
        status = bt__fail_errno(ctx, path, "cannot be written");
    if (!status && content->check)
        status = content->check(ctx, temporary, content->self);
    if (!status && rename(temporary, path) != 0)
        status = bt__fail_errno(ctx, path, "cannot be replaced");
    if (status)
        (void)unlink(temporary);
    return status;
}

static bt_status write_regular(bt_ctx *ctx, const char *path,
                               const struct content *content)
{
    remove_stale(ctx->scratch, path);
    for (uint32_t i = 0; i < NTEMPORARY; i++) {
        const char *temporary = temporary_name(ctx->scratch, path, i);
        if (!temporary)
            return bt_no_memory();
        int fd = create_temporary(temporary);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return bt__fail_errno(ctx, path, "cannot be written");
        BT_TRY(replace(ctx, fd, temporary, path, content));
        sync_folder(ctx->scratch, path);
        return NULL;
    }
    return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = path },
                         "cannot be written: its folder is full of temporary files");
}

static bt_status write_special(bt_ctx *ctx, const char *path,
                               const struct content *content)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    int done = fd >= 0 && write_parts(fd, content);
    bt_status status = done ? NULL : bt__fail_errno(ctx, path, "cannot be written");
    if (fd >= 0 && close(fd) != 0 && !status)
        status = bt__fail_errno(ctx, path, "cannot be written");
    return status;
}

bt_status bt__file_write_parts(bt_ctx *ctx, const char *path, uint32_t npart,
                               const bt__file_part *parts, bt__file_check_fn *check,
                               const void *self)
{
    const struct content content = { npart, parts, check, self };
    struct stat old;
    int exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode))
        return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = path }, "is a folder");
    if (exists && !S_ISREG(old.st_mode))
        return write_special(ctx, path, &content);
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_status status = write_regular(ctx, path, &content);
    bt_arena_release(ctx->scratch, mark);
    return status;
}

bt_status bt_file_write(bt_ctx *ctx, const char *path, const void *bytes, size_t nbytes)
{
    return bt__file_write_parts(ctx, path, 1, &(bt__file_part){ bytes, nbytes }, NULL,
                                NULL);
}
