#define _GNU_SOURCE // dladdr
#include "symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NFILE = 64 };

/* Loaded files, kept until the program ends: names point into them. */
static struct object {
    const void *base;
    const ElfW(Sym) * at;
    size_t n;
    const char *names;
} objects[NFILE];
static size_t nobject;

static const char *map_file(const char *path, size_t *nbytes)
{
    struct stat s;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &s) == 0 && s.st_size > 0)
        bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    *nbytes = bytes == MAP_FAILED ? 0 : (size_t)s.st_size;
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* Finds the full table of symbols, which a stripped file lacks. */
static void read_symbols(const char *path, struct object *out)
{
    size_t nbytes;
    const char *bytes = map_file(path, &nbytes);
    const ElfW(Ehdr) *head = (const void *)bytes;
    if (!bytes || nbytes < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return;
    const ElfW(Shdr) *sections = (const void *)(bytes + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB) {
            out->at = (const void *)(bytes + sections[i].sh_offset);
            out->n = sections[i].sh_size / sizeof(*out->at);
            out->names = bytes + sections[sections[i].sh_link].sh_offset;
        }
    }
}

static const struct object *get_object(const void *base, const char *path)
{
    for (size_t i = 0; i < nobject; i++) {
        if (objects[i].base == base)
            return &objects[i];
    }
    if (nobject == NFILE)
        return NULL;
    struct object *out = &objects[nobject++];
    out->base = base;
    read_symbols(path, out);
    return out;
}

const char *symbol_at(const void *address, size_t *offset)
{
    Dl_info info;
    if (!dladdr(address, &info))
        return NULL;
    const struct object *object = get_object(info.dli_fbase, info.dli_fname);
    size_t at = (size_t)((const char *)address - (const char *)info.dli_fbase);
    for (size_t i = 0; object && i < object->n; i++) {
        const ElfW(Sym) *s = &object->at[i];
        if ((s->st_info & 15) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
            at >= s->st_value && at - s->st_value < s->st_size) {
            *offset = at - s->st_value;
            return object->names + s->st_name;
        }
    }
    return NULL;
}
