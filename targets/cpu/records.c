// O_CLOEXEC, realpath
#define _XOPEN_SOURCE 700

#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/value.h>

static const char head[] = "baton.cpu.tune ", version[] = "1\n";
enum { MOST_NBYTES = 16 << 20, MOST_WAYS = 64, DIGEST = 64 };

/* ---- text ---- */

static int starts_with(const char *text, size_t nbytes, const char *with)
{
    return nbytes >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static int is_whole(const char *line, size_t nbytes)
{
    char digest[DIGEST + 1];
    if (nbytes <= DIGEST + 1 || line[DIGEST] != '\t')
        return 0;
    bt_digest(line + DIGEST + 1, nbytes - DIGEST - 1, digest);
    return memcmp(line, digest, DIGEST) == 0;
}

/* A line with its digest. 0: no memory; *ok: it is a record. */
static int read_line(bt_arena *arena, const char *line, size_t nbytes,
                     struct cpu_record *out, int *ok)
{
    const char *fields[3 + MOST_WAYS];
    uint32_t n = 0;
    *ok = 0;
    if (!is_whole(line, nbytes) || memchr(line, 0, nbytes))
        return 1;
    char *text = BT_NEWS(arena, char, nbytes - DIGEST);
    if (!text)
        return 0;
    memcpy(text, line + DIGEST + 1, nbytes - DIGEST - 1);
    for (; text && n < BT_COUNT(fields); n++) {
        char *end = strchr(text, '\t');
        if (end)
            *end++ = 0;
        fields[n] = text;
        text = end;
    }
    if (text || n < 4)
        return 1;
    const char **ways = BT_NEWS(arena, const char *, n - 3);
    if (!ways)
        return 0;
    memcpy(ways, fields + 3, (n - 3) * sizeof(*ways));
    *out = (struct cpu_record){ fields[0], fields[1], fields[2], n - 3, ways };
    *ok = 1;
    return 1;
}

bt_status cpu_records_parse(bt_ctx *ctx, bt_arena *arena, const char *path,
                            const char *text, size_t nbytes, struct cpu_records *out)
{
    const bt_place place = { .file = path };
    const char *end = text + nbytes;
    *out = (struct cpu_records){ .ndamaged = 0 };
    if (!nbytes)
        return NULL;
    if (!starts_with(text, nbytes, head))
        return bt_fail_place(ctx, BT_ERR_FORMAT, &place,
                             "is no file of tuning records, and stays as it is");
    text += strlen(head);
    if (!starts_with(text, (size_t)(end - text), version))
        return bt_fail_place(ctx, BT_ERR_FORMAT, &place,
                             "has tuning records of another version, this Baton reads 1");
    text += strlen(version);
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        struct cpu_record record;
        int ok = 0;
        // what has no end may be a part of a line
        if (stop && !read_line(arena, text, (size_t)(stop - text), &record, &ok))
            return bt_no_memory();
        out->ndamaged += !ok;
        if (ok && !BT_PUSH(arena, &out->all, record))
            return bt_no_memory();
        text = stop ? stop + 1 : end;
    }
    return NULL;
}

bt_status cpu_records_read(bt_ctx *ctx, bt_arena *arena, const char *path,
                           struct cpu_records *out)
{
    bt_file *file;
    *out = (struct cpu_records){ .ndamaged = 0 };
    struct stat named;
    const int is_there = stat(path, &named) == 0;
    if (!is_there && errno == ENOENT)
        return NULL;
    if (is_there && S_ISFIFO(named.st_mode)) // which would be waited for
        return bt_fail_place(ctx, BT_ERR_ARGUMENT, &(bt_place){ .file = path },
                             "is a pipe, expected a file of tuning records");
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status =
        file->nbytes > MOST_NBYTES
            ? bt_fail_place(ctx, BT_ERR_LIMIT, &(bt_place){ .file = path },
                            "is larger than files of tuning records are, %d MiB",
                            MOST_NBYTES >> 20)
            : cpu_records_parse(ctx, arena, path, file->bytes, file->nbytes, out);
    bt_file_close(ctx, file);
    return status;
}

const struct cpu_record *cpu_records_find(const struct cpu_records *records,
                                          const char *machine, const char *function)
{
    for (uint32_t i = 0; i < records->all.len; i++) {
        const struct cpu_record *r = &records->all.at[i];
        if (strcmp(r->function, function) == 0 && strcmp(r->machine, machine) == 0)
            return r;
    }
    return NULL;
}

/* ---- adding ---- */

/* A field has no tab and no end of a line. */
static void add_field(bt_text *out, const char *text)
{
    if (out->len)
        bt_text_add(out, "\t", 1);
    for (; *text; text++)
        bt_text_add(out, (unsigned char)*text < 32 ? " " : text, 1);
}

static bt_status add_line(bt_arena *arena, const struct cpu_record *r, bt_text *out)
{
    char digest[DIGEST + 1];
    bt_text line;
    bt_text_init(&line, arena);
    add_field(&line, r->machine);
    add_field(&line, r->function);
    add_field(&line, r->name);
    for (uint32_t i = 0; i < r->nway; i++)
        add_field(&line, r->ways[i]);
    if (!bt_text_get(&line))
        return bt_no_memory();
    bt_digest(line.at, line.len, digest);
    bt_text_addf(out, "%s\t%s\n", digest, line.at);
    return NULL;
}

static bt_status write_all(bt_ctx *ctx, bt_arena *arena, const char *path,
                           const struct cpu_records *records)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s%s", head, version);
    for (uint32_t i = 0; i < records->all.len; i++)
        BT_TRY(add_line(arena, &records->all.at[i], &text));
    return bt_text_get(&text) ? bt_file_write(ctx, path, text.at, text.len)
                              : bt_no_memory();
}

static bt_status merge(bt_ctx *ctx, bt_arena *arena, const char *path,
                       struct cpu_record *record)
{
    struct cpu_records records;
    BT_TRY(cpu_records_read(ctx, arena, path, &records));
    const struct cpu_record *theirs =
        cpu_records_find(&records, record->machine, record->function);
    if (theirs) {
        *record = *theirs;
        return NULL;
    }
    if (!BT_PUSH(arena, &records.all, *record))
        return bt_no_memory();
    // The file that is locked is replaced, not a link to it.
    char own[PATH_MAX];
    struct stat named;
    int is_link = lstat(path, &named) == 0 && S_ISLNK(named.st_mode);
    return write_all(ctx, arena, is_link && realpath(path, own) ? own : path, &records);
}

/* Opens and locks the file that the path names. One that was replaced meanwhile, as writing
 * does, is not it any more. -1: errno says why not. */
static int lock(const char *path)
{
    for (;;) {
        struct stat own, named;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666),
            reason;
        if (fd < 0)
            return fd;
        while ((reason = flock(fd, LOCK_EX)) != 0 && errno == EINTR)
            ;
        if (reason == 0 && fstat(fd, &own) == 0 && stat(path, &named) == 0 &&
            own.st_dev == named.st_dev && own.st_ino == named.st_ino)
            return fd;
        reason = reason ? errno : 0;
        close(fd);
        errno = reason;
        if (reason)
            return -1;
    }
}

bt_status cpu_records_add(bt_ctx *ctx, bt_arena *arena, const char *path,
                          struct cpu_record *record)
{
    int fd = lock(path);
    if (fd < 0)
        return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = path },
                             "cannot be locked to add tuning records: %s",
                             strerror(errno));
    bt_status status = merge(ctx, arena, path, record);
    close(fd);
    return status;
}
