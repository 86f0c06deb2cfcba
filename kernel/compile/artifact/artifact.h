/*
 * The form of artifacts, in the byte order of the machine that wrote them.
 *
 *     0    header    struct bt__artifact_head
 *     32   table     struct bt__artifact_row for each section
 *          sections  each at a multiple of 64 bytes, zeros between
 *
 *     artifact_write.c      from a compiled module to bytes
 *     artifact_read.c       header, table and checksums
 *     artifact_tensors.c    the section `tensors`
 *     artifact_lists.c      the sections of texts
 *     artifact.c            from sections to a module, and to a loaded one
 *     artifact_map_posix.c  files as tensors of bytes
 */
#ifndef COMPILE_ARTIFACT_H
#define COMPILE_ARTIFACT_H

#include <baton/artifact.h>

#define BT__ARTIFACT_MAGIC \
    "\211BTNART\n" /* no text begins so; lost if newlines are changed */
#define BT__ARTIFACT_VERSION 7u
#define BT__ARTIFACT_ORDER   0x01020304u
#define BT__ARTIFACT_ALIGN   64u

enum {
    BT__SECTION_NONE,
#define SECTION(UPPER, name) BT__SECTION_##UPPER,
#include "compile/artifact/sections.def"
    BT__SECTION_COUNT
};

struct bt__artifact_head {
    char magic[8];
    uint32_t order, version;
    uint32_t nsection;
    uint32_t checksum; /* of header and table, this taken as 0 */
    uint64_t nbytes;   /* of the file */
};
struct bt__artifact_row {
    uint32_t kind; /* BT__SECTION_... */
    uint32_t checksum;
    uint64_t offset, nbytes;
};

/* Bytes of a section. */
struct bt__section {
    const char *at;
    size_t nbytes;
};

/* A constant's record in the section `tensors`; dims (int64_t) follow, then the name, and
 * zeros up to a multiple of 8. */
struct bt__tensor_record {
    uint64_t offset; /* in the section `constants` */
    uint32_t dtype, rank, name_nbytes, zero;
};

/* Header, table, places and checksums of all sections but of `unread`, BT__SECTION_NONE or
 * one whose bytes are not looked at; `sections` by BT__SECTION_..., `rows` in the order of the
 * file. Nothing is copied.
 * errors  BT_ERR_FORMAT, BT_ERR_UNSUPPORTED */
bt_status bt__artifact_sections(bt_ctx *, const char *path, const bt_tensor *bytes,
                                uint32_t unread,
                                struct bt__section sections[BT__SECTION_COUNT],
                                const struct bt__artifact_row **rows,
                                uint32_t *nrow) BT_MUST_USE;
const char *bt__section_name(uint32_t kind);

/* Constants that lie in the bytes, which they keep alive. */
bt_status bt__artifact_tensors(bt_ctx *, const char *path, const bt_tensor *bytes,
                               const struct bt__section *tensors,
                               const struct bt__section *constants,
                               bt_npz **out) BT_MUST_USE;

/* Targets, functions, kernels, entry and provenance, as the artifact shows them; texts
 * stay where they are. Lists live in the arena.
 * targets     ENTRY EXECUTOR, bytes of constants UNPACKED and PACKED, then for each TEXT
 *             COMPATIBILITY
 * functions   for each NAME TARGET WHY WAY MULTIPLY-ADDS BYTES (-: not known)
 * kernels     for each NAME TYPE TARGET FUNCTION FORM SYMBOL, AT NBYTES and again of its own
 *             (in the section `code`), SCRATCH, NPHASE and their iterations, NFAULT and
 *             for each TEXT ARRAY AXIS EXTENT; they are numbered by target
 * where each word is a text with a NUL behind it, and numbers are decimal */
bt_status bt__artifact_lists(bt_ctx *, bt_arena *,
                             const struct bt__section sections[BT__SECTION_COUNT],
                             bt_artifact *) BT_MUST_USE;
/* The file as a tensor of bytes: mapped, to be read only, at an address that is a
 * multiple of 64. */
bt_status bt__artifact_map(bt_ctx *, const char *path, bt_tensor **out) BT_MUST_USE;
/* bt_artifact_read of bytes at hand, which are at a multiple of 64; `unread` as above. */
bt_status bt__artifact_read_bytes(bt_ctx *, const char *path, const bt_tensor *bytes,
                                  uint32_t unread, bt_artifact **out) BT_MUST_USE;
#endif
