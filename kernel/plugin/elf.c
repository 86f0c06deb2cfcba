/*
 * Reading relocatable ELF objects for this machine. The bytes come from a compiler that
 * may be broken, or from a file that may be damaged: every offset, count and name is
 * checked before it is used.
 */
#include "plugin/elf.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "plugin/plugins.h"

#define MAX_ALIGN 4096u

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static BT_FAILURE bt_status damaged(bt_ctx *ctx, const char *name, const char *what)
{
    return bt_fail(ctx, BT_ERR_FORMAT, "object %s is damaged: %s", name, what);
}

static int is_inside(uint64_t offset, uint64_t nbytes, size_t total)
{
    return offset <= total && nbytes <= total - offset;
}

/* ---- the header ---- */

static const char *machine_name(uint32_t machine)
{
    switch (machine) {
    case EM_386: return "x86 with 32 bits";
    case EM_X86_64: return "x86_64";
    case EM_AARCH64: return "aarch64";
    case EM_RISCV: return "riscv";
    default: return "another machine";
    }
}

static bt_status read_header(bt_ctx *ctx, const char *name, const void *bytes,
                             size_t nbytes, Elf64_Ehdr *out)
{
    if (nbytes < sizeof(*out) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return bt_fail(ctx, BT_ERR_FORMAT, "object %s is no ELF file: %zu bytes", name,
                       nbytes);
    memcpy(out, bytes, sizeof(*out));
    if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != ELFDATA2LSB)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "object %s has not 64 bits, the lowest byte first", name);
    if (out->e_machine != OWN_MACHINE)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "object %s is for %s, this machine is %s",
                       name, machine_name(out->e_machine), BT__HOST_ARCH);
    if (OWN_MACHINE != EM_X86_64)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "machine code is loaded on x86_64 only so far, this machine is %s",
                       BT__HOST_ARCH);
    if (out->e_type != ET_REL)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "object %s is linked: expected a relocatable object, as by cc -c",
                       name);
    if (out->e_shentsize != sizeof(Elf64_Shdr) || out->e_shnum == 0)
        return damaged(ctx, name, "it has no table of sections");
    if (!is_inside(out->e_shoff, (uint64_t)out->e_shnum * sizeof(Elf64_Shdr), nbytes))
        return damaged(ctx, name, "its table of sections ends behind the file");
    return NULL;
}

/* ---- sections ---- */

struct reader {
    bt_ctx *ctx;
    const char *name;
    const unsigned char *bytes;
    size_t nbytes;
    Elf64_Ehdr header;
    const char *names; /* of sections */
    size_t names_nbytes;
    bt__elf *out;
};

static Elf64_Shdr header_at(const struct reader *r, uint32_t index)
{
    Elf64_Shdr header;
    memcpy(&header, r->bytes + r->header.e_shoff + index * sizeof(header),
           sizeof(header));
    return header;
}

/* A table of names must end in NUL: then every name in it does. */
static bt_status read_names(const struct reader *r, uint32_t index, const char **out,
                            size_t *nbytes)
{
    if (index >= r->header.e_shnum)
        return damaged(r->ctx, r->name, "a table of names is missing");
    Elf64_Shdr h = header_at(r, index);
    if (h.sh_type != SHT_STRTAB || !is_inside(h.sh_offset, h.sh_size, r->nbytes) ||
        h.sh_size == 0 || r->bytes[h.sh_offset + h.sh_size - 1] != 0)
        return damaged(r->ctx, r->name, "a table of names has no end");
    *out = (const char *)r->bytes + h.sh_offset;
    *nbytes = h.sh_size;
    return NULL;
}

static BT_FAILURE bt_status refuse_section(const struct reader *r, const char *section,
                                           const char *what)
{
    return bt_fail(r->ctx, BT_ERR_UNSUPPORTED, "object %s: section %s: %s", r->name,
                   section, what);
}

/* Why a section cannot be loaded, NULL: it can. */
static const char *section_fault(const Elf64_Shdr *h)
{
    const uint64_t known = SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE |
                           SHF_STRINGS | SHF_INFO_LINK | SHF_LINK_ORDER;
    if (h->sh_type == SHT_GROUP)
        return "groups of sections are not handled";
    if (h->sh_type == SHT_SYMTAB_SHNDX)
        return "more than 65279 sections are not handled";
    if (!(h->sh_flags & SHF_ALLOC))
        return NULL;
    if (h->sh_flags & SHF_TLS)
        return "thread-local data is not handled";
    if (h->sh_type == SHT_INIT_ARRAY || h->sh_type == SHT_FINI_ARRAY ||
        h->sh_type == SHT_PREINIT_ARRAY)
        return "functions that run at the start or the end are not handled";
    if (h->sh_type != SHT_PROGBITS && h->sh_type != SHT_NOBITS &&
        h->sh_type != SHT_NOTE && h->sh_type != 0x70000001 /* x86-64: unwind tables */)
        return "a section of this type is not handled";
    if (h->sh_flags & ~known)
        return "has flags that are not handled";
    if ((h->sh_flags & SHF_WRITE) && (h->sh_flags & SHF_EXECINSTR))
        return "is to be written and executed, which is never allowed";
    return NULL;
}

static uint32_t segment_of(const Elf64_Shdr *h, const char *name)
{
    if (!(h->sh_flags & SHF_ALLOC) || h->sh_type == SHT_NOTE ||
        strcmp(name, ".eh_frame") == 0)
        return BT__ELF_SKIPPED;
    if (h->sh_flags & SHF_EXECINSTR)
        return BT__ELF_CODE;
    if (!(h->sh_flags & SHF_WRITE) || strncmp(name, ".data.rel.ro", 12) == 0)
        return BT__ELF_CONST;
    return BT__ELF_DATA;
}

static bt_status read_section(const struct reader *r, uint32_t index)
{
    bt__elf_section *section = &r->out->sections[index];
    Elf64_Shdr h = header_at(r, index);
    if (h.sh_name >= r->names_nbytes)
        return damaged(r->ctx, r->name, "a section's name is outside");
    section->name = r->names + h.sh_name;
    const char *fault = section_fault(&h);
    if (fault)
        return refuse_section(r, section->name, fault);
    section->segment =
        h.sh_type == SHT_NULL ? BT__ELF_SKIPPED : segment_of(&h, section->name);
    if (section->segment == BT__ELF_SKIPPED)
        return NULL;
    section->align = h.sh_addralign ? h.sh_addralign : 1;
    if ((h.sh_addralign & (h.sh_addralign - 1)) || section->align > MAX_ALIGN)
        return damaged(r->ctx, r->name, "a section's alignment is no power of two");
    section->nbytes = h.sh_size;
    if (h.sh_type == SHT_NOBITS)
        return NULL;
    if (!is_inside(h.sh_offset, h.sh_size, r->nbytes))
        return damaged(r->ctx, r->name, "a section ends behind the file");
    section->bytes = r->bytes + h.sh_offset;
    return NULL;
}

/* ---- symbols and relocations ---- */

static bt_status read_symbols(const struct reader *r, uint32_t index)
{
    Elf64_Shdr h = header_at(r, index);
    if (r->out->symbols)
        return damaged(r->ctx, r->name, "it has two tables of symbols");
    if (h.sh_entsize != sizeof(Elf64_Sym) || h.sh_size % sizeof(Elf64_Sym) ||
        h.sh_size / sizeof(Elf64_Sym) > UINT32_MAX ||
        !is_inside(h.sh_offset, h.sh_size, r->nbytes))
        return damaged(r->ctx, r->name, "its table of symbols ends behind the file");
    r->out->symbols = r->bytes + h.sh_offset;
    r->out->nsymbol = (uint32_t)(h.sh_size / sizeof(Elf64_Sym));
    return read_names(r, h.sh_link, &r->out->names, &r->out->names_nbytes);
}

static bt_status read_relocations(const struct reader *r, uint32_t index)
{
    Elf64_Shdr h = header_at(r, index);
    if (h.sh_info >= r->header.e_shnum)
        return damaged(r->ctx, r->name, "relocations name no section");
    const bt__elf_section *section = &r->out->sections[h.sh_info];
    if (section->segment == BT__ELF_SKIPPED)
        return NULL;
    if (h.sh_type == SHT_REL)
        return refuse_section(r, r->out->sections[index].name,
                              "relocations without addends are not handled");
    if (h.sh_entsize != sizeof(Elf64_Rela) || h.sh_size % sizeof(Elf64_Rela) ||
        h.sh_size / sizeof(Elf64_Rela) > UINT32_MAX ||
        !is_inside(h.sh_offset, h.sh_size, r->nbytes))
        return damaged(r->ctx, r->name, "relocations end behind the file");
    if (h.sh_size > 0 && !section->bytes)
        return damaged(r->ctx, r->name, "zeros are relocated");
    r->out->tables[r->out->ntable++] =
        (bt__elf_table){ .section = h.sh_info,
                         .len = (uint32_t)(h.sh_size / sizeof(Elf64_Rela)),
                         .bytes = r->bytes + h.sh_offset };
    return NULL;
}

bt_status bt__elf_symbol_at(bt_ctx *ctx, const bt__elf *elf, uint32_t index,
                            bt__elf_symbol *out)
{
    Elf64_Sym symbol;
    memcpy(&symbol, elf->symbols + (size_t)index * sizeof(symbol), sizeof(symbol));
    if (symbol.st_name >= elf->names_nbytes)
        return damaged(ctx, elf->name, "a symbol's name is outside");
    uint32_t type = ELF64_ST_TYPE(symbol.st_info), section = symbol.st_shndx;
    *out = (bt__elf_symbol){ .name = elf->names + symbol.st_name,
                             .is_function = type == STT_FUNC,
                             .section = section,
                             .value = symbol.st_value };
    if (index == 0 || type == STT_TLS || type == STT_GNU_IFUNC || type == STT_FILE) {
        out->kind = BT__ELF_UNUSABLE;
        out->fault = index == 0         ? "no symbol"
                     : type == STT_TLS  ? "thread-local data"
                     : type == STT_FILE ? "a file's name"
                                        : "chosen when it is first called";
        return NULL;
    }
    if (section == SHN_UNDEF) {
        out->kind = BT__ELF_UNDEFINED;
        return *out->name ? NULL : damaged(ctx, elf->name, "a symbol has no name");
    }
    if (section >= SHN_LORESERVE) {
        out->kind = BT__ELF_UNUSABLE;
        out->fault = section == SHN_COMMON ? "common: compile with -fno-common"
                                           : "at a fixed address";
        return NULL;
    }
    if (section >= elf->nsection)
        return damaged(ctx, elf->name, "a symbol's section does not exist");
    if (elf->sections[section].segment == BT__ELF_SKIPPED) {
        out->kind = BT__ELF_UNUSABLE;
        out->fault = "in a section that is not loaded";
        return NULL;
    }
    if (symbol.st_value > elf->sections[section].nbytes)
        return damaged(ctx, elf->name, "a symbol stands behind its section");
    out->kind =
        ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? BT__ELF_LOCAL : BT__ELF_GLOBAL;
    return out->kind == BT__ELF_LOCAL || *out->name
               ? NULL
               : damaged(ctx, elf->name, "a symbol has no name");
}

bt_status bt__elf_relocation_at(bt_ctx *ctx, const bt__elf *elf,
                                const bt__elf_table *table, uint32_t index,
                                bt__elf_relocation *out)
{
    Elf64_Rela row;
    memcpy(&row, table->bytes + (size_t)index * sizeof(row), sizeof(row));
    *out = (bt__elf_relocation){ .offset = row.r_offset,
                                 .type = (uint32_t)ELF64_R_TYPE(row.r_info),
                                 .symbol = (uint32_t)ELF64_R_SYM(row.r_info),
                                 .addend = row.r_addend };
    if (row.r_offset >= elf->sections[table->section].nbytes)
        return damaged(ctx, elf->name, "a relocation stands behind its section");
    if (out->symbol >= elf->nsymbol)
        return damaged(ctx, elf->name, "a relocation's symbol does not exist");
    return NULL;
}

bt_status bt__elf_read(bt_ctx *ctx, bt_arena *arena, const char *name, const void *bytes,
                       size_t nbytes, bt__elf *out)
{
    struct reader r = {
        .ctx = ctx, .name = name, .bytes = bytes, .nbytes = nbytes, .out = out
    };
    BT_TRY(read_header(ctx, name, bytes, nbytes, &r.header));
    uint32_t n = r.header.e_shnum;
    *out = (bt__elf){ .name = name, .nsection = n };
    BT_TRY(read_names(&r, r.header.e_shstrndx, &r.names, &r.names_nbytes));
    out->sections = BT_NEWS(arena, bt__elf_section, n);
    out->tables = BT_NEWS(arena, bt__elf_table, n);
    if (!out->sections || !out->tables)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(read_section(&r, i));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t type = header_at(&r, i).sh_type;
        if (type == SHT_SYMTAB)
            BT_TRY(read_symbols(&r, i));
        else if (type == SHT_RELA || type == SHT_REL)
            BT_TRY(read_relocations(&r, i));
    }
    return NULL;
}
