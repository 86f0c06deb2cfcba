/* Code of the target as bytes. */
#include "code.h"

#include <string.h>

enum { VERSION = 5, ORDER = 0x01020304, DIGEST = 64 };
static const char magic[8] = "batoncpu";

/* ---- writing ---- */

static void put_32(bt_text *out, uint32_t value)
{
    bt_text_add(out, (const char *)&value, sizeof(value));
}

static void put_64(bt_text *out, int64_t value)
{
    bt_text_add(out, (const char *)&value, sizeof(value));
}

static void put_bytes(bt_text *out, const void *bytes, size_t nbytes)
{
    put_64(out, (int64_t)nbytes);
    if (nbytes)
        bt_text_add(out, bytes, nbytes);
}

static void put_text(bt_text *out, const char *text)
{
    put_bytes(out, text, text ? strlen(text) : 0);
}

static void put_bytecode(bt_text *out, const struct bytecode *p)
{
    put_text(out, p->name);
    put_32(out, p->nbuffer);
    put_32(out, p->ndim);
    put_32(out, p->nn);
    put_32(out, p->np);
    put_64(out, p->locals_nbytes);
    put_32(out, p->nphase);
    for (uint32_t i = 0; i < p->nphase; i++) {
        put_32(out, p->phases[i].first);
        put_32(out, p->phases[i].ncode);
        put_32(out, p->phases[i].is_parallel);
        put_64(out, p->phases[i].extent);
    }
    put_32(out, p->ncallee);
    for (uint32_t i = 0; i < p->ncallee; i++)
        put_text(out, p->callees[i]);
    put_bytes(out, p->code, p->ncode * sizeof(uint32_t));
}

static void put_all(bt_text *out, const struct cpu_code *c)
{
    put_32(out, VERSION);
    put_32(out, ORDER);
    put_32(out, sizeof(void *));
    put_32(out, c->isa);
    put_text(out, c->made);
    put_32(out, c->is_evaluated);
    put_text(out, c->why);
    put_bytes(out, c->function, c->function_nbytes);
    if (!c->is_evaluated)
        put_bytecode(out, &c->bytecode);
}

bt_status cpu_code_write(bt_ctx *ctx, const struct cpu_code *code, bt_text *out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx)); // `out` may grow in scratch
    char digest[DIGEST + 1];
    bt_text body;
    if (!arena)
        return bt_no_memory();
    bt_text_init(&body, arena);
    put_all(&body, code);
    if (!body.failed) {
        bt_digest(body.at, body.len, digest);
        bt_text_add(out, magic, sizeof(magic));
        bt_text_add(out, digest, DIGEST);
        bt_text_add(out, body.at, body.len);
    }
    int failed = body.failed || out->failed;
    bt_arena_destroy(arena);
    return failed ? bt_no_memory() : NULL;
}

/* ---- reading: the first lack of bytes or memory sticks ---- */

struct reader {
    bt_arena *arena;
    const char *at;
    size_t left;
    uint32_t is_short, has_no_memory;
};

static void get(struct reader *r, void *out, size_t nbytes)
{
    if (nbytes > r->left) {
        r->is_short = 1;
        r->left = 0;
        memset(out, 0, nbytes);
        return;
    }
    memcpy(out, r->at, nbytes);
    r->at += nbytes;
    r->left -= nbytes;
}

static uint32_t get_32(struct reader *r)
{
    uint32_t value;
    get(r, &value, sizeof(value));
    return value;
}

static int64_t get_64(struct reader *r)
{
    int64_t value;
    get(r, &value, sizeof(value));
    return value;
}

/* A copy, aligned to 16, with a NUL behind it. */
static const char *get_bytes(struct reader *r, size_t *nbytes)
{
    uint64_t n = (uint64_t)get_64(r);
    *nbytes = 0;
    if (n > r->left) {
        r->is_short = 1;
        return "";
    }
    char *copy = BT_NEWS(r->arena, char, (size_t)n + 1);
    if (!copy) {
        r->has_no_memory = 1;
        return "";
    }
    get(r, copy, (size_t)n);
    *nbytes = (size_t)n;
    return copy;
}

static const char *get_text(struct reader *r)
{
    size_t nbytes;
    return get_bytes(r, &nbytes);
}

/* Room for a list, of which each item has at least `least` bytes; *n is 0 on failure. */
static void *get_list(struct reader *r, size_t size, size_t least, uint32_t *n)
{
    *n = get_32(r);
    void *list = *n <= r->left / least ? bt_arena_alloc(r->arena, *n, size) : NULL;
    if (list)
        return list;
    if (*n > r->left / least)
        r->is_short = 1;
    else
        r->has_no_memory = 1;
    *n = 0;
    return NULL;
}

static void get_bytecode(struct reader *r, struct bytecode *p)
{
    size_t nbytes;
    p->name = get_text(r);
    p->nbuffer = get_32(r);
    p->ndim = get_32(r);
    p->nn = get_32(r);
    p->np = get_32(r);
    p->locals_nbytes = get_64(r);
    struct bytecode_phase *phases = get_list(r, sizeof(*phases), 20, &p->nphase);
    for (uint32_t i = 0; i < p->nphase; i++) {
        phases[i].first = get_32(r);
        phases[i].ncode = get_32(r);
        phases[i].is_parallel = get_32(r);
        phases[i].extent = get_64(r);
    }
    p->phases = phases;
    const char **callees = get_list(r, sizeof(*callees), 8, &p->ncallee);
    for (uint32_t i = 0; i < p->ncallee; i++)
        callees[i] = get_text(r);
    p->callees = callees;
    p->code = (const uint32_t *)(const void *)get_bytes(r, &nbytes);
    p->ncode = nbytes / sizeof(uint32_t) < UINT32_MAX
                   ? (uint32_t)(nbytes / sizeof(uint32_t))
                   : 0;
}

static void get_all(struct reader *r, struct cpu_code *c)
{
    c->isa = get_32(r);
    c->made = get_text(r);
    c->is_evaluated = get_32(r);
    c->why = get_text(r);
    c->function = get_bytes(r, &c->function_nbytes);
    if (!c->is_evaluated)
        get_bytecode(r, &c->bytecode);
}

/* Whether the bytes behind magic and digest are those that were written. */
static bt_status check_digest(bt_ctx *ctx, const char *bytes, size_t nbytes)
{
    char digest[DIGEST + 1];
    if (nbytes < sizeof(magic) + DIGEST || memcmp(bytes, magic, sizeof(magic)) != 0)
        return bt_fail(ctx, BT_ERR_FORMAT, "this is no code of target cpu");
    bytes += sizeof(magic);
    bt_digest(bytes + DIGEST, nbytes - sizeof(magic) - DIGEST, digest);
    if (memcmp(bytes, digest, DIGEST) != 0)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "code of target cpu is damaged: its digest is another");
    return NULL;
}

bt_status cpu_code_read(bt_ctx *ctx, bt_arena *arena, const void *bytes, size_t nbytes,
                        struct cpu_code *out)
{
    BT_TRY(check_digest(ctx, bytes, nbytes));
    struct reader r = { .arena = arena,
                        .at = (const char *)bytes + sizeof(magic) + DIGEST,
                        .left = nbytes - sizeof(magic) - DIGEST };
    uint32_t version = get_32(&r), order = get_32(&r), pointer = get_32(&r);
    if (r.is_short || version != VERSION || order != ORDER || pointer != sizeof(void *))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "code of target cpu is of another version or kind of machine: "
                       "compile the module here");
    get_all(&r, out);
    if (r.has_no_memory)
        return bt_no_memory();
    if (r.is_short || r.left)
        return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu is damaged");
    return NULL;
}
