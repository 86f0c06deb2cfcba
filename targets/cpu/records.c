// O_CLOEXEC
#define _XOPEN_SOURCE 700

#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <baton/value.h>

static const char head[] = "baton.cpu.tune ", version[] = "2\n";
enum { MAX_NBYTES = 16 << 20, DIGEST = 64 };
static const int64_t MAX_NS = INT64_C(1000000000000000);

/* ---- text ---- */

static int starts_with(const char *text, size_t nbytes, const char *with)
{
    return nbytes >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static int is_number_line(const char *text, const char *end)
{
    const char *digit = text;
    while (digit < end && *digit >= '0' && *digit <= '9')
        digit++;
    return digit > text && digit < end && *digit == '\n';
}

static int is_whole(const char *line, size_t nbytes)
{
    char digest[DIGEST + 1];
    if (nbytes <= DIGEST + 1 || line[DIGEST] != '\t')
        return 0;
    bt_digest(line + DIGEST + 1, nbytes - DIGEST - 1, digest);
    return memcmp(line, digest, DIGEST) == 0;
}

/* Cuts off what is before the next tab. NULL: there is no more. */
static const char *next_field(char **text)
{
    const char *field = *text;
    char *end = field ? strchr(field, '\t') : NULL;
    if (end)
        *end++ = 0;
    *text = end;
    return field;
}

static int read_number(const char *field, int64_t most, int64_t *out)
{
    *out = 0;
    if (!field || !*field)
        return 0;
    for (; *field; field++) {
        if (*field < '0' || *field > '9' || *out > most)
            return 0;
        *out = 10 * *out + (*field - '0');
    }
    return *out <= most;
}

static int read_choice(char **text, struct cpu_choice *out)
{
    int64_t sum, ns, is_taken;
    out->program = next_field(text);
    if (!read_number(next_field(text), INT32_MAX, &sum))
        return 0;
    out->way = next_field(text);
    if (!read_number(next_field(text), MAX_NS, &ns) ||
        !read_number(next_field(text), 1, &is_taken))
        return 0;
    out->sum = (uint32_t)sum;
    out->measured_ns = (double)ns;
    out->is_taken = (uint32_t)is_taken;
    return 1;
}

/* A line with its digest. 0: no memory; *ok: it is a record. */
static int read_line(bt_arena *arena, const char *line, size_t nbytes,
                     struct cpu_record *out, int *ok)
{
    bt_vec(struct cpu_choice) choices = { .len = 0 };
    *ok = 0;
    if (!is_whole(line, nbytes) || memchr(line, 0, nbytes))
        return 1;
    char *text = BT_NEWS(arena, char, nbytes - DIGEST);
    if (!text)
        return 0;
    memcpy(text, line + DIGEST + 1, nbytes - DIGEST - 1);
    out->machine = next_field(&text);
    out->function = next_field(&text);
    out->name = next_field(&text);
    while (text) {
        struct cpu_choice choice = { .ns = 0 };
        if (!read_choice(&text, &choice))
            return 1;
        if (!BT_PUSH(arena, &choices, choice))
            return 0;
    }
    out->nchoice = choices.len;
    out->choices = choices.at;
    *ok = choices.len > 0;
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
        return bt_fail_place(
            ctx, BT_ERR_FORMAT, &place,
            is_number_line(text, end)
                ? "has tuning records of another version, this Baton reads 2"
                : "has tuning records behind a damaged first line, expected \"%s2\" and "
                  "the end of the line",
            head);
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

struct extent {
    size_t nbytes;
    int has_end; /* of the last line */
};

static bt_status read_file(bt_ctx *ctx, bt_arena *arena, const char *path,
                           struct cpu_records *out, struct extent *extent)
{
    bt_file *file;
    struct stat named;
    const int is_there = stat(path, &named) == 0;
    *out = (struct cpu_records){ .ndamaged = 0 };
    *extent = (struct extent){ 0, 1 };
    if (!is_there && errno == ENOENT)
        return NULL;
    // a pipe would be waited for, a device may have no end
    if (is_there && !S_ISREG(named.st_mode) && !S_ISDIR(named.st_mode))
        return bt_fail_place(ctx, BT_ERR_ARGUMENT, &(bt_place){ .file = path },
                             "is a %s, expected a file of tuning records",
                             S_ISFIFO(named.st_mode) ? "pipe" : "device or a socket");
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status =
        file->nbytes > MAX_NBYTES
            ? bt_fail_place(ctx, BT_ERR_LIMIT, &(bt_place){ .file = path },
                            "is larger than files of tuning records are, %d MiB",
                            MAX_NBYTES >> 20)
            : cpu_records_parse(ctx, arena, path, file->bytes, file->nbytes, out);
    const char *bytes = file->bytes;
    if (file->nbytes)
        *extent = (struct extent){ file->nbytes, bytes[file->nbytes - 1] == '\n' };
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
    for (uint32_t i = 0; i < r->nchoice; i++) {
        const struct cpu_choice *c = &r->choices[i];
        add_field(&line, c->program);
        bt_text_addf(&line, "\t%" PRIu32, c->sum);
        add_field(&line, c->way);
        bt_text_addf(&line, "\t%.0f\t%" PRIu32, c->measured_ns, c->is_taken);
    }
    if (!bt_text_get(&line))
        return bt_no_memory();
    bt_digest(line.at, line.len, digest);
    bt_text_addf(out, "%s\t%s\n", digest, line.at);
    return NULL;
}

static bt_status fail_file(bt_ctx *ctx, const char *path, const char *what)
{
    return bt_fail_place(ctx, BT_ERR_IO, &(bt_place){ .file = path }, "%s: %s", what,
                         errno == EWOULDBLOCK ? "another process has it locked"
                                              : strerror(errno));
}

/* A lock is held as long as a file is read or a line is written: who holds it longer, such as a
 * process that was stopped, is not waited for. */
static int wait_for(int fd, int how)
{
    enum { NTRY = 200 };
    static const struct timespec between = { .tv_nsec = 10000000 };
    int done;
    for (int i = 0; (done = flock(fd, how | LOCK_NB)) != 0 && i < NTRY; i++) {
        if (errno != EINTR && errno != EWOULDBLOCK)
            return done;
        (void)nanosleep(&between, NULL);
    }
    return done;
}

/* Opens and locks the file. -1: errno says why not. */
static int lock(const char *path, int flags, int how)
{
    int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0)
        return fd;
    if (wait_for(fd, how) == 0)
        return fd;
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

bt_status cpu_records_read(bt_ctx *ctx, bt_arena *arena, const char *path,
                           struct cpu_records *out)
{
    struct extent extent;
    // so that no line is half written; what cannot be opened is read without, and told then
    int fd = lock(path, O_RDONLY, LOCK_SH);
    bt_status status = read_file(ctx, arena, path, out, &extent);
    if (fd >= 0)
        close(fd);
    return status;
}

static int write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes) {
        const ssize_t n = write(fd, bytes, nbytes);
        if (n < 0 && errno != EINTR)
            return 0;
        bytes += n > 0 ? n : 0;
        nbytes -= n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static bt_status append(bt_ctx *ctx, bt_arena *arena, const char *path, int fd,
                        struct cpu_record *record)
{
    struct cpu_records records;
    struct extent extent;
    bt_text text;
    BT_TRY(read_file(ctx, arena, path, &records, &extent));
    const struct cpu_record *theirs =
        cpu_records_find(&records, record->machine, record->function);
    if (theirs) {
        *record = *theirs;
        return NULL;
    }
    bt_text_init(&text, arena);
    if (!extent.nbytes)
        bt_text_addf(&text, "%s%s", head, version);
    if (!extent.has_end) // of a process that was ended while it wrote
        bt_text_addf(&text, "\n");
    BT_TRY(add_line(arena, record, &text));
    if (!bt_text_get(&text))
        return bt_no_memory();
    return write_all(fd, text.at, text.len) ? NULL
                                            : fail_file(ctx, path, "cannot be written");
}

bt_status cpu_records_begin(bt_ctx *ctx, const char *path)
{
    struct stat s;
    if (stat(path, &s) == 0 || errno != ENOENT)
        return NULL; // what is there shows when it is read
    int fd = lock(path, O_WRONLY | O_APPEND | O_CREAT, LOCK_EX);
    if (fd < 0)
        return errno == ENOENT
                   ? bt_fail_place(ctx, BT_ERR_ARGUMENT, &(bt_place){ .file = path },
                                   "cannot be made for tuning records: there is no such "
                                   "folder")
                   : fail_file(ctx, path, "cannot be made for tuning records");
    // another process may have been faster
    const int is_made = fstat(fd, &s) == 0 &&
                        (s.st_size > 0 || (write_all(fd, head, strlen(head)) &&
                                           write_all(fd, version, strlen(version))));
    bt_status status = is_made ? NULL : fail_file(ctx, path, "cannot be written");
    close(fd);
    return status;
}

bt_status cpu_records_add(bt_ctx *ctx, bt_arena *arena, const char *path,
                          struct cpu_record *record)
{
    int fd = lock(path, O_RDWR | O_APPEND | O_CREAT, LOCK_EX);
    if (fd < 0)
        return fail_file(ctx, path, "cannot be locked to add tuning records");
    bt_status status = append(ctx, arena, path, fd, record);
    close(fd);
    return status;
}
