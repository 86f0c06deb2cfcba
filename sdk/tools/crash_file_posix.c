/*
 * Which file the memory at an address is of, by the system's list of mappings, a line for
 * each:
 *     7f1c2000-7f1c6000 r--p 00000000 08:01 1234      /home/me/weights.bin
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "crash.h"

/* The list, read without allocating or locking. */
struct reader {
    int fd;
    size_t at, n;
    char bytes[1024];
};

/* -1: its end. */
static int next(struct reader *r)
{
    if (r->at == r->n) {
        ssize_t n = read(r->fd, r->bytes, sizeof(r->bytes));
        r->at = 0;
        r->n = n > 0 ? (size_t)n : 0;
    }
    return r->at < r->n ? (unsigned char)r->bytes[r->at++] : -1;
}

/* A number in base 16, and what follows it. */
static uintptr_t read_number(struct reader *r, int *after)
{
    uintptr_t out = 0;
    for (;;) {
        int c = next(r);
        if (c >= '0' && c <= '9')
            out = 16 * out + (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            out = 16 * out + (uintptr_t)(c - 'a' + 10);
        else {
            *after = c;
            return out;
        }
    }
}

/* What is left of a line from the first '/' on; `size` bytes at most, with a NUL. */
static size_t read_path(struct reader *r, char *out, size_t size)
{
    size_t n = 0;
    int c = next(r);
    while (c >= 0 && c != '\n' && c != '/')
        c = next(r);
    for (; c >= 0 && c != '\n'; c = next(r)) {
        if (n + 1 < size)
            out[n++] = (char)(c < ' ' || c == 0x7f ? '?' : c);
    }
    out[n] = 0;
    return n;
}

int crash_file(const void *address, char *path, size_t size)
{
    struct reader r = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
    int found = 0, after = 0;
    while (r.fd >= 0 && !found && after >= 0) {
        uintptr_t from = read_number(&r, &after),
                  to = after == '-' ? read_number(&r, &after) : 0;
        found = read_path(&r, path, size) > 0 && (uintptr_t)address >= from &&
                (uintptr_t)address < to;
    }
    if (r.fd >= 0)
        (void)close(r.fd);
    return found;
}
