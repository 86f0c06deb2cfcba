/* Artifacts as bytes, taken apart and put together again by the form in
 * compile/artifact.h; the checksum is written anew here. */
#ifndef ARTIFACT_FILE_H
#define ARTIFACT_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/artifact/artifact.h"

struct bytes {
    unsigned char *at;
    size_t n;
};

static inline uint32_t crc32c(uint32_t crc, const unsigned char *at, size_t n)
{
    for (crc = ~crc; n; at++, n--) {
        crc ^= *at;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static inline struct bt__artifact_head *head_of(const struct bytes *b)
{
    return (struct bt__artifact_head *)(void *)b->at;
}

static inline struct bt__artifact_row *row_of(const struct bytes *b, uint32_t kind)
{
    return (struct bt__artifact_row *)(void *)(b->at + sizeof(struct bt__artifact_head)) +
           (kind - 1);
}

/* Header and table of what was changed on purpose. */
static inline void seal_head(struct bytes *b)
{
    struct bt__artifact_head *head = head_of(b);
    head->checksum = 0;
    head->checksum =
        crc32c(0, b->at,
               sizeof(*head) + (BT__SECTION_COUNT - 1) * sizeof(struct bt__artifact_row));
}

/* And of the sections, where they lie in the file. */
static inline void seal(struct bytes *b)
{
    for (uint32_t kind = 1; kind < BT__SECTION_COUNT; kind++) {
        struct bt__artifact_row *row = row_of(b, kind);
        if (row->offset <= b->n && row->nbytes <= b->n - row->offset)
            row->checksum = crc32c(0, b->at + row->offset, row->nbytes);
    }
    seal_head(b);
}

/* The same with other bytes in one section. */
static inline struct bytes with_section(const struct bytes *old, uint32_t kind,
                                        const void *at, size_t n)
{
    struct bytes b = { calloc(1, old->n + n + BT__SECTION_COUNT * BT__ARTIFACT_ALIGN),
                       sizeof(struct bt__artifact_head) +
                           (BT__SECTION_COUNT - 1) * sizeof(struct bt__artifact_row) };
    memcpy(b.at, old->at, b.n);
    for (uint32_t i = 1; i < BT__SECTION_COUNT; i++) {
        struct bt__artifact_row *row = row_of(&b, i);
        const void *from = i == kind ? at : old->at + row->offset;
        row->nbytes = i == kind ? n : row->nbytes;
        b.n = (b.n + BT__ARTIFACT_ALIGN - 1) / BT__ARTIFACT_ALIGN * BT__ARTIFACT_ALIGN;
        row->offset = b.n;
        if (row->nbytes)
            memcpy(b.at + b.n, from, row->nbytes);
        b.n += row->nbytes;
    }
    head_of(&b)->nbytes = b.n;
    seal(&b);
    return b;
}

static inline struct bytes read_bytes(const char *path)
{
    struct bytes b = { 0 };
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return b;
    b.n = (size_t)ftell(file);
    b.at = malloc(b.n + 1);
    rewind(file);
    if (!b.at || fread(b.at, 1, b.n, file) != b.n)
        b.n = 0;
    fclose(file);
    return b;
}

#endif
