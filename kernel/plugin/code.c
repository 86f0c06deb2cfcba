/*
 * Linking and loading of relocatable objects: sections are placed, symbols are resolved,
 * relocations are done in memory that is writable, and only then does it become
 * executable.
 *
 *     code    functions of all objects, then stubs: jumps to what is too far for a call
 *     const   constants, then the addresses that code asks for (the GOT)
 *     data    variables
 */
#include "plugin/code.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "base/ctx.h"

#define STUB_NBYTES 8u
#define SLOT_NBYTES 8u
#define MAX_MISSING 32u /* undefined symbols that a message lists */

struct bt_code {
    bt_registry *registry;
    uint32_t holds_registry;
    bt_arena *arena; /* this struct too */
    bt__mapping mapping;
    bt_map names; /* name -> struct definition * */
};

struct definition {
    uint32_t object, section;
    uint64_t value;
    uint32_t is_function;
    const unsigned char *address; /* once it is loaded */
};

/* A symbol of one object, when a relocation needs it. */
struct use {
    uint32_t is_resolved;
    uint32_t slot, stub; /* one more than its number, 0: none */
    uint64_t address;    /* of what is outside; else of what its object defines */
};

struct part {
    bt__elf elf;
    struct use *uses; /* by symbol */
};

/* Linking, from objects to sealed memory. Lives in the scratch arena. */
struct link {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_code *code;
    const bt__resolver *resolver;
    uint32_t npart;
    struct part *parts;
    size_t nbytes[BT__ELF_NSEGMENT];
    size_t stubs, slots; /* offsets in their segments */
    uint32_t nstub, nslot;
    bt_map missing;
};

/* ---- placing ---- */

/* After the sections before it. 0: beyond what fits in memory */
static int place(struct link *l, uint32_t segment, size_t nbytes, size_t align,
                 size_t *offset)
{
    size_t *end = &l->nbytes[segment], start;
    if (!bt_add_size(*end, align - 1, &start))
        return 0;
    *offset = start & ~(align - 1);
    return bt_add_size(*offset, nbytes, end);
}

static bt_status place_sections(struct link *l, struct part *part)
{
    for (uint32_t i = 0; i < part->elf.nsection; i++) {
        bt__elf_section *s = &part->elf.sections[i];
        if (s->segment != BT__ELF_SKIPPED &&
            !place(l, s->segment, s->nbytes, s->align, &s->offset))
            return bt_fail(l->ctx, BT_ERR_LIMIT, "object %s: section %s has %zu bytes",
                           part->elf.name, s->name, s->nbytes);
    }
    return NULL;
}

static bt_status define(struct link *l, uint32_t index)
{
    const bt__elf *elf = &l->parts[index].elf;
    for (uint32_t i = 1; i < elf->nsymbol; i++) {
        bt__elf_symbol symbol;
        BT_TRY(bt__elf_symbol_at(l->ctx, elf, i, &symbol));
        if (symbol.kind != BT__ELF_GLOBAL)
            continue;
        const struct definition *other = bt_map_find(&l->code->names, symbol.name);
        if (other)
            return bt_fail(l->ctx, BT_ERR_NAME, "%s is defined twice: by %s and by %s",
                           symbol.name, l->parts[other->object].elf.name, elf->name);
        struct definition *d = BT_NEW(l->code->arena, struct definition);
        const char *name =
            bt_arena_text(l->code->arena, symbol.name, strlen(symbol.name));
        if (!d || !name || !bt_map_put(&l->code->names, name, d))
            return bt_no_memory();
        *d = (struct definition){ .object = index,
                                  .section = symbol.section,
                                  .value = symbol.value,
                                  .is_function = symbol.is_function };
    }
    return NULL;
}

/* ---- what relocations need ---- */

/* The kinds that are handled. */
static const struct {
    uint32_t type, nbytes;
} relocations[] = {
    { R_X86_64_64, 8 },
    { R_X86_64_PC64, 8 },
    { R_X86_64_PC32, 4 },
    { R_X86_64_PLT32, 4 },
    { R_X86_64_GOTPCREL, 4 },
    { R_X86_64_GOTPCRELX, 4 },
    { R_X86_64_REX_GOTPCRELX, 4 },
};

/* 0: not handled */
static uint32_t relocation_nbytes(uint32_t type)
{
    for (size_t i = 0; i < BT_COUNT(relocations); i++) {
        if (relocations[i].type == type)
            return relocations[i].nbytes;
    }
    return 0;
}

static int is_got(uint32_t type)
{
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
           type == R_X86_64_REX_GOTPCRELX;
}

static const char *relocation_name(uint32_t type)
{
    switch (type) {
    case R_X86_64_32: return "R_X86_64_32 (compile with -fPIC)";
    case R_X86_64_32S: return "R_X86_64_32S (compile with -fPIC)";
    case R_X86_64_TLSGD: return "R_X86_64_TLSGD (thread-local data)";
    case R_X86_64_TLSLD: return "R_X86_64_TLSLD (thread-local data)";
    case R_X86_64_GOTTPOFF: return "R_X86_64_GOTTPOFF (thread-local data)";
    case R_X86_64_TPOFF32: return "R_X86_64_TPOFF32 (thread-local data)";
    case R_X86_64_GOTOFF64: return "R_X86_64_GOTOFF64 (large code model)";
    case R_X86_64_GOTPC64: return "R_X86_64_GOTPC64 (large code model)";
    case R_X86_64_GOTPC32: return "R_X86_64_GOTPC32";
    default: return NULL;
    }
}

static BT_FAILURE bt_status refuse_type(const struct link *l, const bt__elf *elf,
                                        const bt__elf_relocation *r)
{
    const char *name = relocation_name(r->type);
    if (name)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "object %s: relocation %s is not handled", elf->name, name);
    return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                   "object %s: relocation of type %" PRIu32 " is not handled", elf->name,
                   r->type);
}

static bt_status resolve(struct link *l, const bt__elf *elf, const bt__elf_symbol *symbol,
                         struct use *use)
{
    use->is_resolved = 1;
    if (symbol->kind == BT__ELF_UNUSABLE)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED, "object %s: symbol \"%s\" is %s",
                       elf->name, symbol->name, symbol->fault);
    if (symbol->kind != BT__ELF_UNDEFINED || bt_map_find(&l->code->names, symbol->name) ||
        l->resolver->find(l->resolver->self, symbol->name, &use->address))
        return NULL;
    return bt_map_put(&l->missing, symbol->name, l) ? NULL : bt_no_memory();
}

static bt_status scan_relocation(struct link *l, struct part *part,
                                 const bt__elf_table *table, uint32_t index)
{
    bt__elf_relocation r;
    bt__elf_symbol symbol;
    BT_TRY(bt__elf_relocation_at(l->ctx, &part->elf, table, index, &r));
    if (r.type == R_X86_64_NONE)
        return NULL;
    uint32_t nbytes = relocation_nbytes(r.type);
    if (!nbytes)
        return refuse_type(l, &part->elf, &r);
    if (part->elf.sections[table->section].nbytes - r.offset < nbytes)
        return bt_fail(l->ctx, BT_ERR_FORMAT,
                       "object %s is damaged: a relocation ends behind its section",
                       part->elf.name);
    BT_TRY(bt__elf_symbol_at(l->ctx, &part->elf, r.symbol, &symbol));
    struct use *use = &part->uses[r.symbol];
    if (!use->is_resolved)
        BT_TRY(resolve(l, &part->elf, &symbol, use));
    int is_far = symbol.kind == BT__ELF_UNDEFINED && use->address;
    if (is_far && r.type == R_X86_64_PLT32 && !use->stub)
        use->stub = ++l->nstub;
    if ((is_got(r.type) || use->stub) && !use->slot)
        use->slot = ++l->nslot;
    return NULL;
}

static bt_status scan_part(struct link *l, struct part *part)
{
    part->uses = BT_NEWS(l->arena, struct use, part->elf.nsymbol);
    if (!part->uses)
        return bt_no_memory();
    for (uint32_t i = 0; i < part->elf.ntable; i++) {
        const bt__elf_table *table = &part->elf.tables[i];
        for (uint32_t j = 0; j < table->len; j++)
            BT_TRY(scan_relocation(l, part, table, j));
    }
    return NULL;
}

static bt_status check_missing(const struct link *l)
{
    bt_text list;
    if (l->missing.len == 0)
        return NULL;
    bt_text_init(&list, l->arena);
    for (uint32_t i = 0; i < l->missing.len && i < MAX_MISSING; i++)
        bt_text_addf(&list, "%s%s", i ? ", " : "", (const char *)l->missing.at[i].key);
    if (l->missing.len > MAX_MISSING)
        bt_text_addf(&list, " and %u more", l->missing.len - MAX_MISSING);
    const char *names = bt_text_get(&list);
    return names ? bt_fail(l->ctx, BT_ERR_NAME, "machine code of %s: nothing defines %s",
                           l->parts[0].elf.name, names)
                 : bt_no_memory();
}

/* ---- filling ---- */

static unsigned char *in_memory(const struct link *l, uint32_t segment, size_t offset)
{
    return l->code->mapping.base + l->code->mapping.start[segment] + offset;
}

/* Where the bytes of a later address are written. */
static unsigned char *to_write(const struct link *l, const unsigned char *at)
{
    return l->code->mapping.write + (at - l->code->mapping.base);
}

static const unsigned char *defined_at(const struct link *l, uint32_t object,
                                       uint32_t section, uint64_t value)
{
    const bt__elf_section *s = &l->parts[object].elf.sections[section];
    return in_memory(l, s->segment, s->offset) + value;
}

/* Every symbol is found here: check_missing saw to it. */
static uint64_t address_of(const struct link *l, uint32_t object,
                           const bt__elf_symbol *symbol, const struct use *use)
{
    if (symbol->kind != BT__ELF_UNDEFINED)
        return (uintptr_t)defined_at(l, object, symbol->section, symbol->value);
    const struct definition *d = bt_map_find(&l->code->names, symbol->name);
    return d ? (uintptr_t)defined_at(l, d->object, d->section, d->value) : use->address;
}

static void put(unsigned char *at, uint64_t value, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* `jmp *slot(%rip)`, six bytes, and two of nothing. */
static void write_stub(const struct link *l, const unsigned char *stub,
                       const unsigned char *slot)
{
    unsigned char *to = to_write(l, stub);
    put(to, 0x25ff, 2);
    put(to + 2, (uint64_t)(slot - (stub + 6)), 4);
    put(to + 6, 0x9066, 2);
}

static bt_status relocate(const struct link *l, uint32_t object,
                          const bt__elf_table *table, uint32_t index)
{
    const struct part *part = &l->parts[object];
    const bt__elf_section *section = &part->elf.sections[table->section];
    bt__elf_relocation r;
    bt__elf_symbol symbol;
    BT_TRY(bt__elf_relocation_at(l->ctx, &part->elf, table, index, &r));
    if (r.type == R_X86_64_NONE)
        return NULL;
    BT_TRY(bt__elf_symbol_at(l->ctx, &part->elf, r.symbol, &symbol));
    const struct use *use = &part->uses[r.symbol];
    unsigned char *at = in_memory(l, section->segment, section->offset) + r.offset;
    uint64_t target = address_of(l, object, &symbol, use);
    if (use->slot) {
        unsigned char *slot =
            in_memory(l, BT__ELF_CONST, l->slots) + (size_t)(use->slot - 1) * SLOT_NBYTES;
        put(to_write(l, slot), target, SLOT_NBYTES);
        if (use->stub && r.type == R_X86_64_PLT32) {
            unsigned char *stub = in_memory(l, BT__ELF_CODE, l->stubs) +
                                  (size_t)(use->stub - 1) * STUB_NBYTES;
            write_stub(l, stub, slot);
            target = (uintptr_t)stub;
        } else if (is_got(r.type)) {
            target = (uintptr_t)slot;
        }
    }
    uint64_t value = target + (uint64_t)r.addend;
    if (r.type != R_X86_64_64)
        value -= (uintptr_t)at;
    uint32_t nbytes = relocation_nbytes(r.type);
    if (nbytes == 4 && value + 0x80000000u > UINT32_MAX)
        return bt_fail(l->ctx, BT_ERR_UNSUPPORTED,
                       "object %s: \"%s\" is too far away to be reached directly: "
                       "compile with -fPIC",
                       part->elf.name, symbol.name);
    put(to_write(l, at), value, nbytes);
    return NULL;
}

static bt_status fill_part(const struct link *l, uint32_t object)
{
    const bt__elf *elf = &l->parts[object].elf;
    for (uint32_t i = 0; i < elf->nsection; i++) {
        const bt__elf_section *s = &elf->sections[i];
        if (s->segment != BT__ELF_SKIPPED && s->bytes && s->nbytes > 0)
            memcpy(to_write(l, in_memory(l, s->segment, s->offset)), s->bytes, s->nbytes);
    }
    for (uint32_t i = 0; i < elf->ntable; i++) {
        for (uint32_t j = 0; j < elf->tables[i].len; j++)
            BT_TRY(relocate(l, object, &elf->tables[i], j));
    }
    return NULL;
}

/* ---- linking ---- */

static bt_status read_parts(struct link *l, const bt_code_object *objects)
{
    l->parts = BT_NEWS(l->arena, struct part, l->npart);
    if (!l->parts)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->npart; i++) {
        struct part *part = &l->parts[i];
        BT_TRY(bt__elf_read(l->ctx, l->arena, objects[i].name, objects[i].bytes,
                            objects[i].nbytes, &part->elf));
        BT_TRY(place_sections(l, part));
        BT_TRY(define(l, i));
    }
    for (uint32_t i = 0; i < l->npart; i++)
        BT_TRY(scan_part(l, &l->parts[i]));
    return check_missing(l);
}

static bt_status link_objects(struct link *l, const bt_code_object *objects)
{
    BT_TRY(read_parts(l, objects));
    if (!place(l, BT__ELF_CODE, (size_t)l->nstub * STUB_NBYTES, 16, &l->stubs) ||
        !place(l, BT__ELF_CONST, (size_t)l->nslot * SLOT_NBYTES, 16, &l->slots))
        return bt_fail(l->ctx, BT_ERR_LIMIT, "machine code is too large");
    BT_TRY(bt__mapping_create(l->ctx, l->nbytes, &l->code->mapping));
    for (uint32_t i = 0; i < l->npart; i++)
        BT_TRY(fill_part(l, i));
    for (uint32_t i = 0; i < l->code->names.len; i++) {
        struct definition *d = l->code->names.at[i].value;
        d->address = defined_at(l, d->object, d->section, d->value);
        d->is_function &=
            l->parts[d->object].elf.sections[d->section].segment == BT__ELF_CODE;
    }
    return bt__mapping_seal(l->ctx, &l->code->mapping);
}

static bt_code *create(bt_ctx *ctx)
{
    bt_arena *arena = bt_arena_create(ctx->registry);
    bt_code *code = arena ? BT_NEW(arena, bt_code) : NULL;
    if (!code) {
        bt_arena_destroy(arena);
        return NULL;
    }
    code->registry = ctx->registry;
    code->arena = arena;
    code->mapping.file = -1;
    bt_map_init(&code->names, arena, 1);
    return code;
}

bt_status bt__code_load(bt_ctx *ctx, uint32_t nobject, const bt_code_object *objects,
                        const bt__resolver *resolver, bt_code **out)
{
    const void *mark = bt_arena_mark(ctx->scratch);
    struct link l = { .ctx = ctx,
                      .arena = ctx->scratch,
                      .code = create(ctx),
                      .resolver = resolver,
                      .npart = nobject };
    if (!l.code)
        return bt_no_memory();
    bt_map_init(&l.missing, l.arena, 1);
    bt_status status = nobject > 0
                           ? link_objects(&l, objects)
                           : bt_fail(ctx, BT_ERR_ARGUMENT, "there is no object to load");
    bt_arena_release(ctx->scratch, mark);
    if (status)
        bt_code_unload(l.code);
    else
        *out = l.code;
    return status;
}

/* ---- for everybody ---- */

static const bt_symbol always[] = {
    { "memcpy", (bt_function)memcpy, NULL },
    { "memmove", (bt_function)memmove, NULL },
    { "memset", (bt_function)memset, NULL },
    { "memcmp", (bt_function)memcmp, NULL },
    { 0 },
};

const bt_function *bt__code_common(const char *name)
{
    for (const bt_symbol *symbol = always; symbol->name; symbol++) {
        if (strcmp(symbol->name, name) == 0)
            return &symbol->function;
    }
    return NULL;
}

static int find_symbol(const void *self, const char *name, uint64_t *address)
{
    const bt_symbol *symbol = bt_map_find(self, name);
    if (!symbol)
        return 0;
    *address = symbol->data ? (uintptr_t)symbol->data : (uintptr_t)symbol->function;
    return *address != 0;
}

/* The first of a name counts. 0: no memory */
static int offer(bt_map *map, const bt_symbol *symbols)
{
    for (; symbols && symbols->name; symbols++) {
        if (!bt_map_find(map, symbols->name) &&
            !bt_map_put(map, symbols->name, (void *)(uintptr_t)symbols))
            return 0;
    }
    return 1;
}

bt_status bt_code_load(bt_ctx *ctx, uint32_t nobject, const bt_code_object *objects,
                       const bt_symbol *symbols, bt_code **out)
{
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_map map;
    bt_map_init(&map, ctx->scratch, 1);
    const bt__resolver resolver = { &map, find_symbol };
    bt_status status = offer(&map, symbols) && offer(&map, always)
                           ? bt__code_load(ctx, nobject, objects, &resolver, out)
                           : bt_no_memory();
    bt_arena_release(ctx->scratch, mark);
    BT_TRY(status);
    (*out)->holds_registry = bt_registry_ref(ctx->registry) != NULL;
    return NULL;
}

const void *bt__code_data(const bt_code *code, const char *name)
{
    const struct definition *d = bt_map_find(&code->names, name);
    return d ? d->address : NULL;
}

bt_function bt_code_find(const bt_code *code, const char *name)
{
    const struct definition *d = bt_map_find(&code->names, name);
    return d && d->is_function ? (bt_function)(uintptr_t)d->address : NULL;
}

void bt_code_unload(bt_code *code)
{
    if (!code)
        return;
    bt_registry *registry = code->holds_registry ? code->registry : NULL;
    bt__mapping_destroy(&code->mapping);
    bt_arena_destroy(code->arena);
    if (registry)
        bt_registry_unref(registry);
}
