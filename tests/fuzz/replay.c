/*
 * Drives a fuzz target without a fuzzer: NAME FILE-OR-FOLDER ...
 * Each file is tried whole, cut short at up to 64 lengths, and with one byte changed at
 * up to 64 places.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

enum { NCUT = 64, PATH_NBYTES = 4096 };

/* Tries a copy in a block of just its size, so that a sanitizer sees overruns. */
static void try(const uint8_t *bytes, size_t nbytes, size_t changed, uint8_t change)
{
    uint8_t *copy = malloc(nbytes ? nbytes : 1);
    FUZZ_CHECK(copy);
    memcpy(copy, bytes, nbytes);
    if (changed < nbytes)
        copy[changed] ^= change;
    FUZZ_CHECK(LLVMFuzzerTestOneInput(copy, nbytes) == 0);
    free(copy);
}

static void try_bytes(const uint8_t *bytes, size_t nbytes)
{
    size_t step = nbytes / NCUT + 1;
    try(bytes, nbytes, nbytes, 0);
    for (size_t at = 0; at < nbytes; at += step) {
        try(bytes, at, at, 0);
        try(bytes, nbytes, at, (uint8_t)(1u << at % 8));
    }
}

static void try_file(const char *path, size_t nbytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(nbytes ? nbytes : 1);
    FUZZ_CHECK(file && bytes);
    FUZZ_CHECK(fread(bytes, 1, nbytes, file) == nbytes);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    try_bytes(bytes, nbytes);
    free(bytes);
}

/* The number of files tried. */
static int try_path(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return 0;
    if (!S_ISDIR(s.st_mode)) {
        try_file(path, (size_t)s.st_size);
        return 1;
    }
    DIR *folder = opendir(path);
    int nfile = 0;
    FUZZ_CHECK(folder);
    for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
        char inner[PATH_NBYTES];
        int n = snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        FUZZ_CHECK(n > 0 && n < PATH_NBYTES);
        if (stat(inner, &s) == 0 && S_ISREG(s.st_mode)) {
            try_file(inner, (size_t)s.st_size);
            nfile++;
        }
    }
    closedir(folder);
    return nfile;
}

int main(int argc, char **argv)
{
    int nfile = 0;
    for (int i = 1; i < argc; i++)
        nfile += try_path(argv[i]);
    if (nfile == 0)
        fprintf(stderr, "no file to try\n");
    return nfile == 0;
}
