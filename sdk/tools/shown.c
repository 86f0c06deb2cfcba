#define _GNU_SOURCE // fopencookie
#include "shown.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The last byte of an earlier write may begin a control character. */
static int follows_c2; /* U+0080 to U+009F are 0xC2 and a byte from 0x80 to 0x9F */

/* Control characters become '?', but for the ends of lines and tabs. */
static void show(const char *from, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)from[i];
        int is_control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
                         (follows_c2 && c >= 0x80 && c <= 0x9f);
        follows_c2 = c == 0xc2;
        to[i] = is_control ? '?' : from[i];
    }
}

/* Writes all bytes; -1: a write failed. */
static ssize_t write_shown(void *self, const char *bytes, size_t nbytes)
{
    char shown[4096];
    (void)self;
    for (size_t at = 0; at < nbytes;) {
        size_t n = nbytes - at < sizeof(shown) ? nbytes - at : sizeof(shown);
        show(bytes + at, n, shown);
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
    for (; *text; text++) {
        char c;
        show(text, 1, &c);
        putc(c, out);
    }
}
