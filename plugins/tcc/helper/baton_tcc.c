/*
 * baton-tcc: C text on standard input, a relocatable object on standard output, errors as
 * lines "FILE:LINE: error: ..." on standard error.
 *
 *     baton-tcc [-I FOLDER]...
 *
 * libtcc ends its process on some faults and is not safe against lack of memory, so it
 * has one to itself. Exit status: 0 done, 1 errors in the text, 2 anything else.
 */
#define _GNU_SOURCE // memfd_create
#include <errno.h>
#include <libtcc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static void show(void *self, const char *message)
{
    (void)self;
    fprintf(stderr, "%s\n", message);
}

/* All of standard input with a NUL behind; NULL: no memory, or it cannot be read. */
static char *read_text(void)
{
    size_t nbytes = 0, cap = 1 << 16;
    char *text = malloc(cap);
    while (text) {
        ssize_t n = read(STDIN_FILENO, text + nbytes, cap - 1 - nbytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            text[nbytes] = 0;
            return n == 0 ? text : NULL;
        }
        nbytes += (size_t)n;
        char *larger = nbytes + 1 == cap ? realloc(text, cap *= 2) : text;
        if (!larger)
            free(text);
        text = larger;
    }
    return NULL;
}

static int copy(int from, int to)
{
    char bytes[1 << 16];
    ssize_t n, written;
    while ((n = read(from, bytes, sizeof(bytes))) > 0) {
        for (ssize_t at = 0; at < n; at += written) {
            written = write(to, bytes + at, (size_t)(n - at));
            if (written < 0)
                return 0;
        }
    }
    return n == 0;
}

/* The object goes to a file without a name first, so that what is written is whole. Its
 * path lies in /proc, where libtcc cannot remove it before it writes. */
static int write_object(TCCState *tcc)
{
    char path[64];
    int file = memfd_create("object", 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    if (file < 0 || tcc_output_file(tcc, path) < 0 || !copy(file, STDOUT_FILENO)) {
        fprintf(stderr, "tcc: error: the object cannot be written\n");
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); // not to outlive who waits for it
    TCCState *tcc = tcc_new();
    char *text = read_text();
    if (!tcc || !text) {
        fprintf(stderr, "tcc: error: memory full\n");
        return 2;
    }
    tcc_set_error_func(tcc, NULL, show);
    tcc_set_options(tcc, "-nostdlib -nostdinc");
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "-I") != 0 || i + 1 == argc) {
            fprintf(stderr, "usage: baton-tcc [-I FOLDER]... < TEXT > OBJECT\n");
            return 2;
        }
        tcc_add_include_path(tcc, argv[i + 1]);
    }
    tcc_set_output_type(tcc, TCC_OUTPUT_OBJ);
    return tcc_compile_string(tcc, text) < 0 ? 1 : write_object(tcc);
}
