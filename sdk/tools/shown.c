#define _GNU_SOURCE // fopencookie
#include "shown.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The bytes of the control character that ends `last`, of which the lowest byte is the
 * newest: C0 but ends of lines and tabs, C1, marks of bidirectional text. 0: none does. */
static size_t control_at(uint32_t last)
{
    uint32_t one = last & 0xff, two = last & 0xffff, three = last & 0xffffff;
    if ((one < 0x20 && one != '\n' && one != '\t') || one == 0x7f)
        return 1;
    if ((two >= 0xc280 && two <= 0xc29f) || two == 0xd89c)
        return 2;
    return three == 0xe2808e || three == 0xe2808f ||
                   (three >= 0xe280aa && three <= 0xe280ae) ||
                   (three >= 0xe281a6 && three <= 0xe281a9)
               ? 3
               : 0;
}

/* Control characters become '?', byte by byte; *last: the bytes before. */
static void show(const char *from, size_t n, char *to, uint32_t *last)
{
    for (size_t i = 0; i < n; i++) {
        *last = *last << 8 | (unsigned char)from[i];
        size_t nbytes = control_at(*last);
        to[i] = from[i];
        for (size_t k = 0; k < nbytes && k <= i; k++)
            to[i - k] = '?';
    }
}

/* Writes all bytes; -1: a write failed. */
static ssize_t write_shown(void *self, const char *bytes, size_t nbytes)
{
    static uint32_t last; // an earlier write may end within a character
    char shown[4096];
    (void)self;
    for (size_t at = 0; at < nbytes;) {
        size_t n = nbytes - at < sizeof(shown) ? nbytes - at : sizeof(shown);
        show(bytes + at, n, shown, &last);
        for (size_t done = 0; done < n;) {
            ssize_t written = write(STDOUT_FILENO, shown + done, n - done);
            if (written < 0 && errno != EINTR)
                return -1;
            done += written > 0 ? (size_t)written : 0;
        }
        at += n;
    }
    return (ssize_t)nbytes;
}

void shown_begin(void)
{
    FILE *shown = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_shown });
    if (!shown)
        return;
    (void)setvbuf(shown, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = shown;
}

void put_shown(FILE *out, const char *text)
{
    char shown[256];
    uint32_t last = 0;
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        n = left < sizeof(shown) ? left : sizeof(shown);
        show(text, n, shown, &last);
        fwrite(shown, 1, n, out);
    }
}
