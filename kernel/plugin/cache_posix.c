/*
 * The cache of objects: one file each, named by the digest of all that made it, with a
 * digest of its own in its first line. An object is code: a file or folder that somebody
 * else owns or may write is not used.
 */
#define _POSIX_C_SOURCE 200809L // mkstemp
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/compiler.h>

struct bt_cache {
    bt_ctx *ctx;
    const char *folder;
    uint64_t most; /* bytes of all objects */
};

#define HEADER        "baton object 1 "
#define HEADER_NBYTES (sizeof(HEADER) - 1 + 64 + 1) /* the digest, a newline */
#define DIGEST_NCHAR  64
#define PATH_NBYTES   4096

static void note(const bt_cache *cache, const char *path, const char *what)
{
    bt_remark(cache->ctx, BT_REMARK_NOTE,
              bt_fail(cache->ctx, BT_ERR_IO,
                      "%s: %s: compiled without the cache of objects", path, what));
}

/* ---- the folder ---- */

static const char *join(bt_arena *arena, const char *a, const char *b)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s/%s", a, b);
    return bt_text_get(&text);
}

/* NULL: no cache is wanted, or the user has no folder. */
static const char *choose_folder(bt_ctx *ctx, bt_arena *arena, const char *option)
{
    const char *given = *option ? option : bt_variable(ctx, "BATON_CACHE");
    if (given && *given)
        return strcmp(given, "off") == 0 ? NULL : given;
    const char *cache = bt_variable(ctx, "XDG_CACHE_HOME");
    const char *home = bt_variable(ctx, "HOME");
    if (cache && *cache == '/')
        return join(arena, cache, "baton/objects");
    return home && *home == '/' ? join(arena, home, ".cache/baton/objects") : NULL;
}

/* With the folders above it. On a file system that is read-only they may be there already: whoever
 * asks for the folder then finds out. */
static int make_folder(const char *path)
{
    char part[PATH_NBYTES];
    size_t n = strlen(path);
    if (n >= sizeof(part))
        return 0;
    for (size_t i = 1; i <= n; i++) {
        if (path[i] && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST && errno != EROFS)
            return 0;
    }
    return 1;
}

/* Why it cannot be trusted, NULL: it can. */
static const char *distrust(const struct stat *s)
{
    return s->st_uid != geteuid() ? "belongs to somebody else"
           : s->st_mode & 022     ? "may be written by others"
                                  : NULL;
}

bt_cache *bt_cache_open(bt_ctx *ctx, bt_arena *arena, const char *option, uint64_t most)
{
    const char *folder = choose_folder(ctx, arena, option), *fault = NULL;
    bt_cache *cache = folder ? BT_NEW(arena, bt_cache) : NULL;
    struct stat s;
    if (!cache)
        return NULL;
    *cache = (bt_cache){ .ctx = ctx, .folder = folder, .most = most };
    if (*folder != '/')
        fault = "is not an absolute path";
    else if (!make_folder(folder) || stat(folder, &s) != 0)
        fault = strerror(errno);
    else if (!S_ISDIR(s.st_mode))
        fault = "is not a folder";
    else
        fault = distrust(&s);
    if (fault)
        note(cache, folder, fault);
    return fault ? NULL : cache;
}

static int file_path(const bt_cache *cache, const char *name, char out[PATH_NBYTES])
{
    int n = snprintf(out, PATH_NBYTES, "%s/%s", cache->folder, name);
    return n > 0 && n < PATH_NBYTES;
}

/* ---- one object ---- */

/* Why the file is not used, NULL: its object was appended. */
static const char *read_object(FILE *file, bt_text *object)
{
    char header[HEADER_NBYTES], digest[DIGEST_NCHAR + 1];
    struct stat s;
    if (fstat(fileno(file), &s) != 0 || !S_ISREG(s.st_mode))
        return "is not a file";
    const char *fault = distrust(&s);
    if (fault)
        return fault;
    if (s.st_size < (off_t)sizeof(header) || s.st_size > INT32_MAX ||
        fread(header, sizeof(header), 1, file) != 1 ||
        memcmp(header, HEADER, strlen(HEADER)) != 0 || header[sizeof(header) - 1] != '\n')
        return "is damaged";
    size_t nbytes = (size_t)s.st_size - sizeof(header);
    bt_arena *arena = object->arena;
    const void *mark = bt_arena_mark(arena);
    char *bytes = bt_arena_alloc(arena, 1, nbytes);
    if (!bytes)
        return "no memory";
    fault = "is damaged";
    if (fread(bytes, 1, nbytes, file) == nbytes) {
        bt_digest(bytes, nbytes, digest);
        if (memcmp(digest, header + strlen(HEADER), DIGEST_NCHAR) == 0)
            fault = NULL;
    }
    if (fault)
        bt_arena_release(arena, mark);
    else
        bt_text_add(object, bytes, nbytes);
    return fault;
}

int bt_cache_get(const bt_cache *cache, const char *digest, bt_text *object)
{
    char path[PATH_NBYTES];
    if (!cache || !file_path(cache, digest, path))
        return 0;
    const int descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    if (!file) {
        if (errno != ENOENT)
            note(cache, path, strerror(errno));
        if (descriptor >= 0)
            close(descriptor);
        return 0;
    }
    const char *fault = read_object(file, object);
    fclose(file);
    if (fault)
        note(cache, path, fault);
    return !fault && !object->failed;
}

/* ---- room ---- */

static int is_object(const char *name)
{
    return strlen(name) == DIGEST_NCHAR &&
           strspn(name, "0123456789abcdef") == DIGEST_NCHAR;
}

/* Bytes of all objects; the oldest one's name. */
static uint64_t measure(const bt_cache *cache, char oldest[DIGEST_NCHAR + 1])
{
    DIR *folder = opendir(cache->folder);
    uint64_t total = 0;
    struct timespec first = { 0 };
    oldest[0] = 0;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        struct stat s;
        if (!is_object(e->d_name) ||
            fstatat(dirfd(folder), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        total += (uint64_t)s.st_size;
        if (!oldest[0] || s.st_mtim.tv_sec < first.tv_sec ||
            (s.st_mtim.tv_sec == first.tv_sec && s.st_mtim.tv_nsec < first.tv_nsec)) {
            memcpy(oldest, e->d_name, DIGEST_NCHAR + 1);
            first = s.st_mtim;
        }
    }
    if (folder)
        closedir(folder);
    return total;
}

/* Removes the oldest until `nbytes` more are below the limit. */
static void make_room(const bt_cache *cache, uint64_t nbytes)
{
    char oldest[DIGEST_NCHAR + 1], path[PATH_NBYTES];
    while (measure(cache, oldest) + nbytes > cache->most && oldest[0] &&
           file_path(cache, oldest, path) && unlink(path) == 0) {
    }
}

/* A file of its own first, so that nobody ever sees half an object. */
void bt_cache_put(const bt_cache *cache, const char *digest, const bt_text *object)
{
    char path[PATH_NBYTES], temporary[PATH_NBYTES], header[HEADER_NBYTES + 1];
    char own[DIGEST_NCHAR + 1];
    if (!cache || !file_path(cache, digest, path) ||
        !file_path(cache, ".new-XXXXXX", temporary))
        return;
    make_room(cache, object->len + HEADER_NBYTES);
    bt_digest(object->at, object->len, own);
    snprintf(header, sizeof(header), HEADER "%s\n", own);
    const int descriptor = mkstemp(temporary);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (descriptor < 0) {
        note(cache, cache->folder, strerror(errno));
        return;
    }
    int ok = file && fwrite(header, HEADER_NBYTES, 1, file) == 1 &&
             fwrite(object->at, 1, object->len, file) == object->len &&
             fflush(file) == 0 && fsync(descriptor) == 0;
    ok = (file ? fclose(file) : close(descriptor)) == 0 && ok &&
         rename(temporary, path) == 0;
    if (!ok) {
        note(cache, path, strerror(errno));
        unlink(temporary);
    }
}
