/* Code of the target as bytes. */
#include "code.h"

#include <string.h>

enum { VERSION = 7, ORDER = 0x01020304, DIGEST = 64 };
static const char magic[8] = "batoncpu";
static const uint32_t head[] = { VERSION, ORDER, sizeof(void *) };

/* ---- both ways: what is written in an order is read in that order ---- */

/* The first lack of bytes or memory sticks. */
struct stream {
    bt_text *out; /* NULL: it is read, ... */
    bt_arena *arena;
    const char *at; /* ... from here on */
    size_t left;
    uint32_t is_short, has_no_memory;
};

static void pass(struct stream *s, void *value, size_t nbytes)
{
    if (s->out) {
        bt_text_add(s->out, value, nbytes);
    } else if (nbytes > s->left) {
        s->is_short = 1;
        s->left = 0;
        memset(value, 0, nbytes);
    } else {
        memcpy(value, s->at, nbytes);
        s->at += nbytes;
        s->left -= nbytes;
    }
}

/* Room for `n` items that are read, of which each has at least `least` bytes; NULL, and why is
 * kept: there is none. */
static void *room_for(struct stream *s, uint64_t n, size_t size, size_t least)
{
    void *room =
        n <= s->left / least ? bt_arena_alloc(s->arena, (size_t)n + 1, size) : NULL;
    s->is_short |= n > s->left / least;
    s->has_no_memory |= n <= s->left / least && !room;
    return room;
}

/* What is read is a copy, aligned to 16, with a NUL behind it. */
static void pass_bytes(struct stream *s, const char **bytes, size_t *nbytes)
{
    uint64_t n = *nbytes;
    pass(s, &n, sizeof(n));
    if (s->out) {
        if (n)
            bt_text_add(s->out, *bytes, *nbytes);
        return;
    }
    char *copy = room_for(s, n, 1, 1);
    *nbytes = copy ? (size_t)n : 0;
    if (copy)
        pass(s, copy, *nbytes);
    *bytes = copy ? copy : "";
}

static void pass_text(struct stream *s, const char **text)
{
    size_t nbytes = s->out && *text ? strlen(*text) : 0;
    pass_bytes(s, text, &nbytes);
}

static void pass_32(struct stream *s, uint32_t *value)
{
    pass(s, value, sizeof(*value));
}

static void pass_phases(struct stream *s, struct bytecode *b)
{
    struct bytecode_phase *read = NULL;
    pass_32(s, &b->nphase);
    if (!s->out && !(read = room_for(s, b->nphase, sizeof(*read), 20)))
        b->nphase = 0;
    for (uint32_t i = 0; i < b->nphase; i++) {
        struct bytecode_phase phase = read ? read[i] : b->phases[i];
        pass_32(s, &phase.first);
        pass_32(s, &phase.ncode);
        pass_32(s, &phase.is_parallel);
        pass(s, &phase.extent, sizeof(phase.extent));
        if (read)
            read[i] = phase;
    }
    b->phases = read ? read : b->phases;
}

static void pass_callees(struct stream *s, struct bytecode *b)
{
    const char **read = NULL;
    pass_32(s, &b->ncallee);
    if (!s->out && !(read = room_for(s, b->ncallee, sizeof(*read), 8)))
        b->ncallee = 0;
    for (uint32_t i = 0; i < b->ncallee; i++) {
        const char *name = read ? NULL : b->callees[i];
        pass_text(s, &name);
        if (read)
            read[i] = name;
    }
    b->callees = read ? read : b->callees;
}

static void pass_bytecode(struct stream *s, struct bytecode *b)
{
    const char *words = (const char *)b->code;
    size_t nbytes = b->ncode * sizeof(*b->code);
    pass_text(s, &b->name);
    pass_32(s, &b->nbuffer);
    pass_32(s, &b->ndim);
    pass_32(s, &b->nn);
    pass_32(s, &b->np);
    pass_32(s, &b->alternates);
    pass(s, &b->locals_nbytes, sizeof(b->locals_nbytes));
    pass_phases(s, b);
    pass_callees(s, b);
    pass_bytes(s, &words, &nbytes);
    b->code = (const uint32_t *)(const void *)words;
    nbytes /= sizeof(*b->code);
    b->ncode = nbytes < UINT32_MAX ? (uint32_t)nbytes : 0;
}

static void pass_all(struct stream *s, struct cpu_code *c)
{
    pass_32(s, &c->isa);
    pass_text(s, &c->made);
    pass_32(s, &c->is_evaluated);
    pass_text(s, &c->why);
    pass_bytes(s, &c->function, &c->function_nbytes);
    if (!c->is_evaluated)
        pass_bytecode(s, &c->bytecode);
}

bt_status cpu_code_write(bt_ctx *ctx, const struct cpu_code *code, bt_text *out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx)); // `out` may grow in scratch
    struct cpu_code copy = *code;
    char digest[DIGEST + 1];
    bt_text body;
    if (!arena)
        return bt_no_memory();
    bt_text_init(&body, arena);
    bt_text_add(&body, (const char *)head, sizeof(head));
    pass_all(&(struct stream){ .out = &body }, &copy);
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
    struct stream r = { .arena = arena,
                        .at = (const char *)bytes + sizeof(magic) + DIGEST,
                        .left = nbytes - sizeof(magic) - DIGEST };
    uint32_t found[BT_COUNT(head)];
    pass(&r, found, sizeof(found));
    if (memcmp(found, head, sizeof(head)) != 0)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "code of target cpu is of another version or kind of machine: "
                       "compile the module here");
    pass_all(&r, out);
    if (r.has_no_memory)
        return bt_no_memory();
    if (r.is_short || r.left)
        return bt_fail(ctx, BT_ERR_FORMAT, "code of target cpu is damaged");
    return NULL;
}
