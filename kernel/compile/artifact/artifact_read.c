/* Header, table and checksums of an artifact: they are checked before anything else is
 * read. */
#include "compile/artifact/artifact.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc.h"

_Static_assert(sizeof(struct bt__artifact_head) == 32, "no padding in files");
_Static_assert(sizeof(struct bt__artifact_row) == 24, "no padding in files");

struct reader {
    bt_ctx *ctx;
    bt_place place;
    const char *at;
    size_t nbytes;
    const struct bt__artifact_head *head;
    const struct bt__artifact_row *rows;
};

const char *bt__section_name(uint32_t kind)
{
    static const char *const names[] = {
        "?",
#define SECTION(UPPER, name) name,
#include "compile/artifact/sections.def"
    };
    return names[kind < BT__SECTION_COUNT ? kind : 0];
}

static BT_FAILURE bt_status fail(const struct reader *r, uint32_t code,
                                 const char *format, ...) BT_PRINTF(3, 4);
static bt_status fail(const struct reader *r, uint32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = bt_fail_va(r->ctx, code, &r->place, format, args);
    va_end(args);
    return status;
}

/* ---- header and table ---- */

static bt_status check_head(struct reader *r)
{
    const size_t nmagic = sizeof(BT__ARTIFACT_MAGIC) - 1;
    size_t n = r->nbytes < nmagic ? r->nbytes : nmagic;
    if (n > 0 && n < nmagic && memcmp(r->at, BT__ARTIFACT_MAGIC, n) == 0)
        return fail(r, BT_ERR_FORMAT, "the artifact is cut off after %zu bytes", n);
    if (n < nmagic || memcmp(r->at, BT__ARTIFACT_MAGIC, nmagic) != 0)
        return fail(r, BT_ERR_FORMAT, "not an artifact: it does not begin as one");
    if (r->nbytes < sizeof(*r->head))
        return fail(r, BT_ERR_FORMAT,
                    "the artifact is cut off in its header, at byte %zu", r->nbytes);
    r->head = (const void *)r->at;
    if (r->head->order != BT__ARTIFACT_ORDER &&
        __builtin_bswap32(r->head->order) == BT__ARTIFACT_ORDER)
        return fail(r, BT_ERR_UNSUPPORTED,
                    "the artifact was made on a machine of another byte order: compile "
                    "it anew on one like this");
    if (r->head->order != BT__ARTIFACT_ORDER)
        return fail(r, BT_ERR_FORMAT, "the header is damaged: byte order 0x%08x",
                    r->head->order);
    if (r->head->version != BT__ARTIFACT_VERSION)
        return fail(r, BT_ERR_UNSUPPORTED,
                    "the artifact is of version %u, this Baton (%s) reads version %u: "
                    "compile it anew",
                    r->head->version, bt_version(), BT__ARTIFACT_VERSION);
    return NULL;
}

static bt_status check_table(struct reader *r)
{
    struct bt__artifact_head head = *r->head;
    size_t table = head.nsection * sizeof(*r->rows);
    if (head.nsection != BT__SECTION_COUNT - 1)
        return fail(r, BT_ERR_FORMAT, "the header is damaged: %u sections, not %d",
                    head.nsection, BT__SECTION_COUNT - 1);
    if (r->nbytes < sizeof(head) + table)
        return fail(r, BT_ERR_FORMAT,
                    "the artifact is cut off in its table of sections, at byte %zu",
                    r->nbytes);
    head.checksum = 0;
    uint32_t checksum =
        bt__crc32c(bt__crc32c(0, &head, sizeof(head)), r->at + sizeof(head), table);
    if (checksum != r->head->checksum)
        return fail(r, BT_ERR_FORMAT,
                    "header or table of sections are damaged: their checksum is %08x, "
                    "not %08x",
                    checksum, r->head->checksum);
    if (head.nbytes != r->nbytes)
        return fail(r, BT_ERR_FORMAT,
                    "the artifact has %zu bytes, and was written with %" PRIu64,
                    r->nbytes, head.nbytes);
    r->rows = (const void *)(r->at + sizeof(head));
    return NULL;
}

/* ---- sections ---- */

static bt_status check_place(const struct reader *r, uint32_t i, uint64_t end)
{
    const struct bt__artifact_row *row = &r->rows[i];
    const char *name = bt__section_name(row->kind);
    if (row->kind != i + 1)
        return fail(r, BT_ERR_FORMAT, "section %u is of kind %u, expected %s", i,
                    row->kind, bt__section_name(i + 1));
    if (row->offset % BT__ARTIFACT_ALIGN != 0)
        return fail(r, BT_ERR_FORMAT,
                    "section %s begins at %" PRIu64 ", no multiple of %u", name,
                    row->offset, BT__ARTIFACT_ALIGN);
    if (row->offset < end)
        return fail(r, BT_ERR_FORMAT,
                    "section %s begins at %" PRIu64 ", before the end of what stands "
                    "ahead of it, %" PRIu64,
                    name, row->offset, end);
    if (row->offset > r->nbytes || row->nbytes > r->nbytes - row->offset)
        return fail(r, BT_ERR_FORMAT,
                    "section %s, %" PRIu64 " bytes at %" PRIu64
                    ", reaches beyond the end of the file",
                    name, row->nbytes, row->offset);
    return NULL;
}

static bt_status check_bytes(const struct reader *r, const struct bt__artifact_row *row)
{
    if (bt_ctx_cancelled(r->ctx))
        return fail(r, BT_ERR_CANCELLED, "stopped while reading it");
    uint32_t checksum = bt__crc32c(0, r->at + row->offset, (size_t)row->nbytes);
    return checksum == row->checksum
               ? NULL
               : fail(r, BT_ERR_FORMAT,
                      "section %s is damaged: its checksum is %08x, not %08x",
                      bt__section_name(row->kind), checksum, row->checksum);
}

/* No checksum is of what stands between sections, and behind the last. */
static bt_status check_gap(const struct reader *r, uint64_t from, uint64_t to)
{
    for (; from < to; from++) {
        if (r->at[from])
            return fail(r, BT_ERR_FORMAT,
                        "byte %" PRIu64
                        ", which is of no section, is damaged: it is not 0",
                        from);
    }
    return NULL;
}

/* Places first: checksums are taken of what lies in the file only. */
static bt_status check_sections(const struct reader *r, uint32_t unread)
{
    uint64_t end = sizeof(*r->head) + r->head->nsection * sizeof(*r->rows);
    for (uint32_t i = 0; i < r->head->nsection; i++) {
        BT_TRY(check_place(r, i, end));
        end = r->rows[i].offset + r->rows[i].nbytes;
    }
    for (uint32_t i = 0; i < r->head->nsection; i++) {
        if (r->rows[i].kind != unread)
            BT_TRY(check_bytes(r, &r->rows[i]));
    }
    end = sizeof(*r->head) + r->head->nsection * sizeof(*r->rows);
    for (uint32_t i = 0; i < r->head->nsection; i++) {
        BT_TRY(check_gap(r, end, r->rows[i].offset));
        end = r->rows[i].offset + r->rows[i].nbytes;
    }
    return check_gap(r, end, r->nbytes);
}

bt_status bt__artifact_sections(bt_ctx *ctx, const char *path, const bt_tensor *bytes,
                                uint32_t unread,
                                struct bt__section sections[BT__SECTION_COUNT],
                                const struct bt__artifact_row **rows, uint32_t *nrow)
{
    struct reader r = { .ctx = ctx,
                        .place = { .file = path },
                        .at = bytes->data,
                        .nbytes = bt_tensor_nbytes(bytes) };
    BT_TRY(check_head(&r));
    BT_TRY(check_table(&r));
    BT_TRY(check_sections(&r, unread));
    for (uint32_t i = 0; i < r.head->nsection; i++) {
        const struct bt__artifact_row *row = &r.rows[i];
        sections[row->kind] =
            (struct bt__section){ r.at + row->offset, (size_t)row->nbytes };
    }
    *rows = r.rows;
    *nrow = r.head->nsection;
    return NULL;
}
