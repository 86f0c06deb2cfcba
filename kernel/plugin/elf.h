/*
 * Relocatable ELF objects: what a C compiler makes of one text. Reading checks form and
 * bounds once; afterwards sections, symbols and relocations may be used without looking.
 */
#ifndef PLUGIN_ELF_H
#define PLUGIN_ELF_H

#include <baton/base.h>

/* Where a section goes. */
enum {
    BT__ELF_SKIPPED, /* unwind tables, notes, debug information */
    BT__ELF_CODE,
    BT__ELF_CONST, /* relocated constants too: read-only once they are */
    BT__ELF_DATA,
    BT__ELF_NSEGMENT
};

typedef struct bt__elf_section {
    const char *name;
    uint32_t segment;           /* BT__ELF_... */
    const unsigned char *bytes; /* NULL: zeros */
    size_t nbytes, align;
    size_t offset; /* in its segment: the loader's */
} bt__elf_section;

enum { BT__ELF_UNDEFINED, BT__ELF_LOCAL, BT__ELF_GLOBAL, BT__ELF_UNUSABLE };

typedef struct bt__elf_symbol {
    const char *name;
    uint32_t kind;    /* BT__ELF_UNDEFINED ... */
    uint32_t section; /* where it is defined */
    uint64_t value;   /* in its section, its end at most */
    uint32_t is_function;
    const char *fault; /* of an unusable one: "thread-local data" */
} bt__elf_symbol;

typedef struct bt__elf_relocation {
    size_t offset; /* in its section */
    uint32_t type, symbol;
    int64_t addend;
} bt__elf_relocation;

/* The relocations of one section that is not skipped. */
typedef struct bt__elf_table {
    uint32_t section;
    uint32_t len;
    const unsigned char *bytes;
} bt__elf_table;

typedef struct bt__elf {
    const char *name; /* of the object, for messages */
    uint32_t nsection, nsymbol, ntable;
    bt__elf_section *sections;
    bt__elf_table *tables;
    const unsigned char *symbols;
    const char *names; /* of symbols */
    size_t names_nbytes;
} bt__elf;

/* Everything points into `bytes` or lives in the arena. errors as bt_code_load */
bt_status bt__elf_read(bt_ctx *, bt_arena *, const char *name, const void *bytes,
                       size_t nbytes, bt__elf *out) BT_MUST_USE;
/* A symbol whose index is below nsymbol. errors BT_ERR_FORMAT */
bt_status bt__elf_symbol_at(bt_ctx *, const bt__elf *, uint32_t index,
                            bt__elf_symbol *out) BT_MUST_USE;
/* The relocation lies in its section by its first byte; its symbol exists. */
bt_status bt__elf_relocation_at(bt_ctx *, const bt__elf *, const bt__elf_table *,
                                uint32_t index, bt__elf_relocation *out) BT_MUST_USE;

#endif
