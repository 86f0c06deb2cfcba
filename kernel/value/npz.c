/*
 * npz files: zip archives of npy files, by PKWARE's APPNOTE. Members are stored or deflated
 * when read, stored when written; no zip64.
 *
 *     [local header | name | extra | data] ...        members
 *     [central header | name | extra | comment] ...   the directory: sizes are taken
 *                                                     from here
 *     end of directory
 *
 * What the directory says is checked against the file's size and the checksums; members
 * may not overlap, so that a small file cannot stand for many large arrays.
 */
#include <string.h>

#include <baton/value.h>

#include "base/arena.h"
#include "base/crc.h"
#include "base/ctx.h"
#include "value/inflate.h"

enum {
    LOCAL_NBYTES = 30,
    CENTRAL_NBYTES = 46,
    END_NBYTES = 22,
    VERSION = 20, /* 2.0: the first that stores */
    STORED = 0,
    DEFLATED = 8,
    UTF8_FLAG = 0x800,
    DOS_DATE = 0x0021 /* 1980-01-01: the same input gives the same bytes */
};

static const char local_magic[4] = { 'P', 'K', 3, 4 };
static const char central_magic[4] = { 'P', 'K', 1, 2 };
static const char end_magic[4] = { 'P', 'K', 5, 6 };

struct npz {
    bt_npz base;
    bt_arena *arena; /* entries and names */
};

static struct npz *new_npz(bt_ctx *ctx)
{
    bt_arena *arena = bt_arena_create(ctx->registry);
    struct npz *npz = arena ? BT_NEW(arena, struct npz) : NULL;
    if (npz)
        npz->arena = arena;
    else
        bt_arena_destroy(arena);
    return npz;
}

/* ---- reading ---- */

struct reader {
    bt_ctx *ctx;
    const char *place;
    const unsigned char *bytes;
    size_t nbytes;
    size_t directory, ndirectory; /* offset and size of the directory */
    size_t nmember, ndata;        /* bytes of data of the members so far */
    struct npz *npz;
    bt_map names;
};

/* A member as the directory describes it. */
struct member {
    const char *name;
    size_t name_nbytes, nbytes, npacked, local; /* npacked: as they lie in the file */
    uint32_t flags, method, crc;
};

static BT_FAILURE bt_status fail(const struct reader *r, uint32_t code,
                                 const char *format, ...) BT_PRINTF(3, 4);
static BT_FAILURE bt_status fail(const struct reader *r, uint32_t code,
                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status =
        bt_fail_va(r->ctx, code, &(bt_place){ .file = r->place }, format, args);
    va_end(args);
    return status;
}

static uint32_t get2(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get4(const unsigned char *at)
{
    return get2(at) | get2(at + 2) << 16;
}

/* 1 if `nbytes` at `offset` lie before `end`. */
static int fits(size_t offset, size_t nbytes, size_t end)
{
    return offset <= end && nbytes <= end - offset;
}

static bt_status find_directory(struct reader *r)
{
    const unsigned char *end = NULL;
    for (size_t back = END_NBYTES; back <= r->nbytes && back <= END_NBYTES + 0xffff;
         back++) {
        const unsigned char *at = r->bytes + r->nbytes - back;
        if (memcmp(at, end_magic, 4) == 0 && get2(at + 20) == back - END_NBYTES) {
            end = at;
            break;
        }
    }
    if (!end)
        return fail(r, BT_ERR_FORMAT, "npz: no zip file: it has no directory at its end");
    r->nmember = get2(end + 10);
    r->ndirectory = get4(end + 12);
    r->directory = get4(end + 16);
    if (r->nmember == 0xffff || r->ndirectory == UINT32_MAX || r->directory == UINT32_MAX)
        return fail(r, BT_ERR_UNSUPPORTED, "npz: zip64 archives are not supported");
    if (get2(end + 4) != 0 || get2(end + 6) != 0 || get2(end + 8) != r->nmember)
        return fail(r, BT_ERR_UNSUPPORTED, "npz: an archive in several parts");
    if (!fits(r->directory, r->ndirectory, (size_t)(end - r->bytes)))
        return fail(r, BT_ERR_FORMAT, "npz: the directory lies outside the file");
    return NULL;
}

/* The member whose directory entry starts *offset bytes into the directory. */
static bt_status read_entry(struct reader *r, size_t *offset, struct member *out)
{
    const unsigned char *at = r->bytes + r->directory + *offset;
    if (!fits(*offset, CENTRAL_NBYTES, r->ndirectory) ||
        memcmp(at, central_magic, 4) != 0)
        return fail(r, BT_ERR_FORMAT, "npz: the directory ends before its last member");
    *out = (struct member){ .name = (const char *)at + CENTRAL_NBYTES,
                            .name_nbytes = get2(at + 28),
                            .nbytes = get4(at + 24),
                            .npacked = get4(at + 20),
                            .local = get4(at + 42),
                            .flags = get2(at + 8),
                            .method = get2(at + 10),
                            .crc = get4(at + 16) };
    size_t nbytes = CENTRAL_NBYTES + out->name_nbytes + get2(at + 30) + get2(at + 32);
    if (!fits(*offset, nbytes, r->ndirectory))
        return fail(r, BT_ERR_FORMAT, "npz: the directory ends within a member");
    *offset += nbytes;
    int shown = (int)(out->name_nbytes < 200 ? out->name_nbytes : 200);
    if (memchr(out->name, 0, out->name_nbytes))
        return fail(r, BT_ERR_FORMAT, "npz: a member's name contains a NUL");
    if (out->method != STORED && out->method != DEFLATED)
        return fail(r, BT_ERR_UNSUPPORTED,
                    "npz: %.*s is compressed by method %u; 8, deflate, is known", shown,
                    out->name, out->method);
    if (out->flags & 1)
        return fail(r, BT_ERR_UNSUPPORTED, "npz: %.*s is encrypted", shown, out->name);
    if (out->nbytes == UINT32_MAX || out->local == UINT32_MAX)
        return fail(r, BT_ERR_UNSUPPORTED,
                    "npz: %.*s needs zip64, which is not supported", shown, out->name);
    if (out->method == STORED && out->npacked != out->nbytes)
        return fail(r, BT_ERR_FORMAT, "npz: %.*s is stored but has two sizes", shown,
                    out->name);
    if (out->nbytes / BT__INFLATE_MOST > out->npacked)
        return fail(r, BT_ERR_FORMAT, "npz: %.*s is too small for %zu bytes", shown,
                    out->name, out->nbytes);
    return NULL;
}

/* Where the member's data starts. */
static bt_status find_data(struct reader *r, const struct member *m, const char *name,
                           const unsigned char **out)
{
    const unsigned char *at = r->bytes + m->local;
    if (!fits(m->local, LOCAL_NBYTES, r->directory) || memcmp(at, local_magic, 4) != 0)
        return fail(r, BT_ERR_FORMAT, "npz: %s is not where the directory says", name);
    size_t name_nbytes = get2(at + 26);
    size_t head = LOCAL_NBYTES + name_nbytes + get2(at + 28);
    if (!fits(m->local, head, r->directory) ||
        !fits(m->local + head, m->npacked, r->directory))
        return fail(r, BT_ERR_FORMAT, "npz: %s lies outside the file", name);
    if (name_nbytes != m->name_nbytes ||
        memcmp(at + LOCAL_NBYTES, m->name, name_nbytes) != 0)
        return fail(r, BT_ERR_FORMAT, "npz: %s has another name where it is stored",
                    name);
    // Data of any two members is apart only if all of it fits into the file.
    if (!bt_add_size(r->ndata, m->npacked, &r->ndata) || r->ndata > r->nbytes)
        return fail(r, BT_ERR_FORMAT, "npz: members overlap");
    *out = at + head;
    return NULL;
}

static bt_status read_array(struct reader *r, const struct member *m, const char *name,
                            const unsigned char *data, bt_tensor **out)
{
    if (bt__crc32(data, m->nbytes) != m->crc)
        return fail(r, BT_ERR_FORMAT, "npz: %s is damaged: its checksum is another",
                    name);
    const void *mark = bt_arena_mark(r->ctx->scratch);
    const char *shown =
        bt__format(r->ctx->scratch, "%s(%s)", r->place ? r->place : "", name);
    bt_status status =
        shown ? bt_npy_read(r->ctx, shown, data, m->nbytes, out) : bt_no_memory();
    bt_arena_release(r->ctx->scratch, mark);
    return status;
}

static bt_status read_deflated(struct reader *r, const struct member *m, const char *name,
                               const unsigned char *packed, bt_tensor **out)
{
    if (m->nbytes > r->ctx->limits.bytes)
        return fail(r, BT_ERR_LIMIT, "npz: %s has %zu bytes; the limit is %llu", name,
                    m->nbytes, (unsigned long long)r->ctx->limits.bytes);
    unsigned char *bytes = bt_alloc(r->ctx->registry, m->nbytes + 1);
    if (!bytes)
        return bt_no_memory();
    bt_status status = NULL;
    switch (bt__inflate(r->ctx->registry, packed, m->npacked, bytes, m->nbytes)) {
    case BT__INFLATE_OK: status = read_array(r, m, name, bytes, out); break;
    case BT__INFLATE_MEMORY: status = bt_no_memory(); break;
    case BT__INFLATE_ABSENT:
        status = fail(r, BT_ERR_UNSUPPORTED,
                      "npz: %s is compressed, and this Baton was built without zlib; "
                      "write the file with numpy.savez, not numpy.savez_compressed",
                      name);
        break;
    default:
        status =
            fail(r, BT_ERR_FORMAT, "npz: %s is damaged: it does not inflate to %zu bytes",
                 name, m->nbytes);
    }
    bt_free(r->ctx->registry, bytes, m->nbytes + 1);
    return status;
}

static bt_status read_tensor(struct reader *r, const struct member *m, const char *name,
                             bt_tensor **out)
{
    const unsigned char *data;
    BT_TRY(find_data(r, m, name, &data));
    return m->method == DEFLATED ? read_deflated(r, m, name, data, out)
                                 : read_array(r, m, name, data, out);
}

static bt_status read_member(struct reader *r, const struct member *m)
{
    bt_npz_entry *e = &r->npz->base.at[r->npz->base.len];
    const char *full = bt_arena_text(r->npz->arena, m->name, m->name_nbytes);
    if (!full)
        return bt_no_memory();
    if (m->name_nbytes <= 4 || strcmp(full + m->name_nbytes - 4, ".npy") != 0)
        return fail(r, BT_ERR_FORMAT, "npz: member %s is no .npy", full);
    e->name = bt_arena_text(r->npz->arena, m->name, m->name_nbytes - 4);
    if (!e->name)
        return bt_no_memory();
    if (bt_map_entry_find(&r->names, e->name))
        return fail(r, BT_ERR_FORMAT, "npz: two members are named %s", full);
    if (!bt_map_put(&r->names, e->name, NULL))
        return bt_no_memory();
    BT_TRY(read_tensor(r, m, full, &e->tensor));
    r->npz->base.len++;
    return NULL;
}

static bt_status read_members(struct reader *r)
{
    // The count is the file's claim: every member has at least its entry.
    if (r->nmember > r->ndirectory / CENTRAL_NBYTES)
        return fail(r, BT_ERR_FORMAT, "npz: the directory is too small for %zu members",
                    r->nmember);
    r->npz->base.at = BT_NEWS(r->npz->arena, bt_npz_entry, r->nmember);
    if (!r->npz->base.at)
        return bt_no_memory();
    size_t offset = 0;
    for (size_t i = 0; i < r->nmember; i++) {
        struct member m;
        BT_TRY(read_entry(r, &offset, &m));
        BT_TRY(read_member(r, &m));
    }
    if (offset != r->ndirectory)
        return fail(r, BT_ERR_FORMAT, "npz: the directory holds more than %zu members",
                    r->nmember);
    return NULL;
}

bt_status bt_npz_read(bt_ctx *ctx, const char *place, const void *bytes, size_t nbytes,
                      bt_npz **out)
{
    struct reader r = { .ctx = ctx, .place = place, .bytes = bytes, .nbytes = nbytes };
    BT_TRY(find_directory(&r));
    r.npz = new_npz(ctx);
    if (!r.npz)
        return bt_no_memory();
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_map_init(&r.names, ctx->scratch, 1);
    bt_status status = read_members(&r);
    bt_arena_release(ctx->scratch, mark);
    if (status)
        bt_npz_destroy(ctx, &r.npz->base);
    else
        *out = &r.npz->base;
    return status;
}

bt_status bt_npz_create(bt_ctx *ctx, uint32_t len, const bt_npz_entry *entries,
                        bt_npz **out)
{
    struct npz *npz = new_npz(ctx);
    if (!npz)
        return bt_no_memory();
    npz->base.at = BT_NEWS(npz->arena, bt_npz_entry, len);
    for (uint32_t i = 0; npz->base.at && i < len; i++) {
        const char *name =
            bt_arena_text(npz->arena, entries[i].name, strlen(entries[i].name));
        if (!name)
            break;
        npz->base.at[i] = (bt_npz_entry){ name, bt_tensor_ref(entries[i].tensor) };
        npz->base.len++;
    }
    if (npz->base.len == len && npz->base.at) {
        *out = &npz->base;
        return NULL;
    }
    bt_npz_destroy(ctx, &npz->base);
    return bt_no_memory();
}

void bt_npz_destroy(bt_ctx *ctx, bt_npz *npz)
{
    (void)ctx;
    if (!npz)
        return;
    for (uint32_t i = 0; i < npz->len; i++)
        bt_tensor_unref(npz->at[i].tensor);
    bt_arena_destroy(((struct npz *)(void *)npz)->arena);
}

/* ---- writing ---- */

static unsigned char *put2(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)value;
    at[1] = (unsigned char)(value >> 8);
    return at + 2;
}

static unsigned char *put4(unsigned char *at, uint32_t value)
{
    return put2(put2(at, value), value >> 16);
}

/* The fields that local and central headers share: from the version needed to the extra's
 * length. */
static unsigned char *put_common(unsigned char *at, const struct member *m)
{
    at = put2(at, VERSION);
    at = put2(at, UTF8_FLAG);
    at = put4(at, 0); // method, time
    at = put2(at, DOS_DATE);
    at = put4(at, m->crc);
    at = put4(at, (uint32_t)m->nbytes);
    at = put4(at, (uint32_t)m->nbytes);
    at = put2(at, (uint32_t)m->name_nbytes);
    return put2(at, 0);
}

static void add_name(bt_text *out, const struct member *m)
{
    bt_text_add(out, m->name, m->name_nbytes - 4);
    bt_text_add(out, ".npy", 4);
}

static bt_status too_large(bt_ctx *ctx, const char *name)
{
    return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                   "npz: with %s the file exceeds 4 GiB, which needs zip64", name);
}

/* Adds header and data; `start` is the archive's first byte in `out`. */
static bt_status add_member(bt_ctx *ctx, const bt_npz_entry *e, size_t start,
                            struct member *m, bt_text *out)
{
    unsigned char head[LOCAL_NBYTES] = { 0 };
    size_t at = out->len;
    *m = (struct member){ .name = e->name,
                          .name_nbytes = strlen(e->name) + 4,
                          .local = at - start };
    if (m->name_nbytes == 4 || m->name_nbytes > 0xffff)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "npz: a name is empty or too long");
    bt_text_add(out, (const char *)head, sizeof(head));
    add_name(out, m);
    size_t data = out->len;
    BT_TRY(bt_npy_write(ctx, e->tensor, out));
    m->nbytes = out->len - data;
    if (out->len - start >= UINT32_MAX)
        return too_large(ctx, e->name);
    m->crc = bt__crc32(out->at + data, m->nbytes);
    memcpy(head, local_magic, 4);
    put_common(head + 4, m);
    memcpy(out->at + at, head, sizeof(head));
    return NULL;
}

static void add_directory(const struct member *members, uint32_t len, size_t start,
                          bt_text *out)
{
    size_t directory = out->len;
    for (uint32_t i = 0; i < len; i++) {
        unsigned char head[CENTRAL_NBYTES] = { 0 };
        memcpy(head, central_magic, 4);
        put_common(put2(head + 4, VERSION), &members[i]);
        put4(head + 42, (uint32_t)members[i].local);
        bt_text_add(out, (const char *)head, sizeof(head));
        add_name(out, &members[i]);
    }
    unsigned char end[END_NBYTES] = { 0 };
    memcpy(end, end_magic, 4);
    put2(put2(end + 8, len), len);
    put4(put4(end + 12, (uint32_t)(out->len - directory)), (uint32_t)(directory - start));
    bt_text_add(out, (const char *)end, sizeof(end));
}

static bt_status add_archive(bt_ctx *ctx, bt_arena *arena, uint32_t len,
                             const bt_npz_entry *entries, bt_text *out)
{
    size_t start = out->len;
    bt_map names;
    bt_map_init(&names, arena, 1);
    struct member *members = BT_NEWS(arena, struct member, len);
    if (!members)
        return bt_no_memory();
    for (uint32_t i = 0; i < len; i++) {
        if (bt_map_entry_find(&names, entries[i].name))
            return bt_fail(ctx, BT_ERR_ARGUMENT, "npz: two entries are named %s",
                           entries[i].name);
        if (!bt_map_put(&names, entries[i].name, NULL))
            return bt_no_memory();
        BT_TRY(add_member(ctx, &entries[i], start, &members[i], out));
    }
    add_directory(members, len, start, out);
    if (!out->failed && out->len - start >= UINT32_MAX)
        return too_large(ctx, "its directory");
    return out->failed ? bt_no_memory() : NULL;
}

bt_status bt_npz_write(bt_ctx *ctx, uint32_t len, const bt_npz_entry *entries,
                       bt_text *out)
{
    size_t start = out->len;
    if (len >= 0xffff)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "npz: %u entries need zip64, which is not supported", len);
    // Not the context's scratch: the text may be growing there.
    bt_arena *arena = bt_arena_create(ctx->registry);
    if (!arena)
        return bt_no_memory();
    bt_status status = add_archive(ctx, arena, len, entries, out);
    bt_arena_destroy(arena);
    if (status && !out->failed) {
        out->len = start;
        if (out->at)
            out->at[start] = 0;
    }
    return status;
}
