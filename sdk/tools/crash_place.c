#define _GNU_SOURCE // dladdr
#include "crash_place.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FRAMES = 64 };

void crash_place_prepare(void)
{
    void *frame;
    (void)backtrace(&frame, 1); // the first call loads what unwinds
}

/* ---- names of functions, from the file of an object ---- */

struct image {
    const unsigned char *at;
    uint64_t nbytes;
};

static int has(const struct image *image, uint64_t offset, uint64_t nbytes)
{
    return offset <= image->nbytes && nbytes <= image->nbytes - offset;
}

/* The function of a table of symbols that has the address. */
static void find_symbol(const struct image *image, const Elf64_Shdr *table,
                        const Elf64_Shdr *names, uint64_t address, char out[CRASH_NAME])
{
    const uint64_t n = table->sh_size / sizeof(Elf64_Sym);
    if (!has(image, table->sh_offset, table->sh_size) ||
        !has(image, names->sh_offset, names->sh_size))
        return;
    for (uint64_t i = 0; i < n; i++) {
        Elf64_Sym s;
        memcpy(&s, image->at + table->sh_offset + i * sizeof(s), sizeof(s));
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || address < s.st_value ||
            address - s.st_value >= s.st_size || s.st_name >= names->sh_size)
            continue;
        const char *name = (const char *)image->at + names->sh_offset + s.st_name;
        size_t length = strnlen(name, names->sh_size - s.st_name);
        length = length < CRASH_NAME ? length : CRASH_NAME - 1;
        memcpy(out, name, length);
        out[length] = 0;
    }
}

static void find_in_image(const struct image *image, uint64_t address,
                          char out[CRASH_NAME])
{
    Elf64_Ehdr header;
    if (!has(image, 0, sizeof(header)))
        return;
    memcpy(&header, image->at, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_shentsize != sizeof(Elf64_Shdr) ||
        !has(image, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return;
    const unsigned char *sections = image->at + header.e_shoff;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr table, names;
        memcpy(&table, sections + i * sizeof(table), sizeof(table));
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= header.e_shnum)
            continue;
        memcpy(&names, sections + table.sh_link * sizeof(names), sizeof(names));
        find_symbol(image, &table, &names, address, out);
    }
}

/* The file's table of symbols also has functions that are static. */
static void find_function(const Dl_info *info, const void *address, char out[CRASH_NAME])
{
    struct stat status;
    int fd = open(info->dli_fname, O_RDONLY | O_CLOEXEC);
    out[0] = 0;
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        const uint64_t nbytes = (uint64_t)status.st_size;
        void *at = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, fd, 0);
        const struct image image = { at, nbytes };
        if (at != MAP_FAILED) {
            find_in_image(&image, (uintptr_t)address - (uintptr_t)info->dli_fbase, out);
            (void)munmap(at, nbytes);
        }
    }
    (void)close(fd);
}

/* ---- the stack ---- */

/* A plugin's object has a manifest beside it. */
static int is_plugin(const char *path)
{
    static const char end[] = ".baton.json";
    char manifest[4096];
    size_t n = strlen(path);
    if (n < 3 || strcmp(path + n - 3, ".so") != 0 || n + sizeof(end) > sizeof(manifest))
        return 0;
    memcpy(manifest, path, n - 3);
    memcpy(manifest + n - 3, end, sizeof(end));
    return access(manifest, R_OK) == 0;
}

static void copy_name(const char *path, char out[CRASH_NAME])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strnlen(name, CRASH_NAME - 1);
    memcpy(out, name, n);
    out[n] = 0;
}

/* Whether "folder/name.so" is the object of "folder/name.baton.json". */
static int is_object_of(const char *object, const char *manifest)
{
    size_t n = strlen(object);
    return n > 3 && strncmp(object, manifest, n - 3) == 0 &&
           strcmp(manifest + n - 3, ".baton.json") == 0;
}

/* From the innermost frame outwards: the first of a plugin is where it crashed, the last of
 * the same object is what was called from outside. */
int crash_place_find(struct crash_place *out, const char *manifest)
{
    void *frames[MAX_FRAMES];
    const int n = backtrace(frames, MAX_FRAMES);
    const void *base = NULL;
    int last = 0;
    out->is_called = 0;
    for (int i = 0; i < n; i++) {
        Dl_info info;
        const char *at =
            (const char *)frames[i] - (i > 0); // a return may be to the next function
        if (!dladdr(at, &info) || !info.dli_fname)
            continue;
        out->is_called |= base && info.dli_fbase != base && manifest &&
                          is_object_of(info.dli_fname, manifest);
        if (base ? info.dli_fbase != base : !is_plugin(info.dli_fname))
            continue;
        if (!base) {
            copy_name(info.dli_fname, out->object);
            find_function(&info, at, out->function);
            out->from[0] = 0;
        } else {
            find_function(&info, at, out->from);
        }
        base = info.dli_fbase;
        last = i;
    }
    if (strcmp(out->from, out->function) == 0)
        out->from[0] = 0;
    Dl_info caller;
    out->is_thread = base && last + 1 < n && dladdr(frames[last + 1], &caller) &&
                     caller.dli_fname && strstr(caller.dli_fname, "/libc.so") != NULL;
    return base != NULL;
}
