#include "target_memory.h"

#include "target_fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/op.h>

#include "watchdog.h"

enum { MAX_BLOCKS = 16, BLOCKS = 1000, ROOM = 1 << 14, GUARD = 64, AROUND = 0x5a };
enum { ROUNDS = 64, LATE_NS = 50000000 };

static const uint64_t sizes[] = { 1, 3, 7, 31, 63, 64, 65, 127, 255, 1000, 4097 };

/* A desk with a target's memory on one side, and the host's on the other. */
struct desk {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target_use *use;
    void *queue;                    /* NULL: the target has none */
    uint64_t last;                  /* value of its last command */
    unsigned char *host, *expected; /* of ROOM bytes */
    int rests; /* whether a copy has LATE_NS more than `wait` gives it */
    const char *fault;
};

static bt_status move(struct desk *d, const bt_buffer *to, const bt_buffer *from)
{
    const bt_target *target = d->use->target;
    const bt_order order = { .queue = d->queue };
    uint64_t value, failed;
    watchdog_begin("target %s, a copy of %d bytes", d->use->text, (int)to->nbytes);
    bt_status status = d->queue ? target->enqueue_copy(d->ctx, d->use->instance, to, from,
                                                       &order, &value)
                                : target->copy(d->ctx, d->use->instance, to, from);
    if (!status && d->queue && value <= d->last)
        target_fault(d->arena, &d->fault,
                     "enqueue_copy gives value %" PRIu64 " after %" PRIu64
                     ": it is more for each command of a queue",
                     value, d->last);
    if (!status && d->queue) {
        d->last = value;
        watchdog_begin("target %s, wait, for a copy of %d bytes", d->use->text,
                       (int)to->nbytes);
        status = target->wait(d->ctx, d->queue, value, &failed);
    }
    watchdog_end();
    if (d->rests)
        (void)nanosleep(&(struct timespec){ .tv_nsec = LATE_NS }, NULL);
    return status;
}

static bt_buffer own(void *block, uint64_t offset, uint64_t nbytes)
{
    return (bt_buffer){ .block = block, .offset = offset, .nbytes = nbytes, .is_own = 1 };
}

static bt_buffer host(unsigned char *at, uint64_t nbytes)
{
    return (bt_buffer){ .block = at, .nbytes = nbytes };
}

static bt_status take(struct desk *d, uint64_t nbytes, void **out)
{
    watchdog_begin("target %s, alloc", d->use->text);
    bt_status status = d->use->target->alloc(d->ctx, d->use->instance, nbytes, out);
    watchdog_end();
    if (!status && !*out)
        target_fault(d->arena, &d->fault,
                     "`alloc` of %" PRIu64 " bytes has no error and gives no block",
                     nbytes);
    return status     ? status
           : d->fault ? bt_fail(d->ctx, BT_ERR_PLUGIN, "%s", d->fault)
                      : NULL;
}

static void give(struct desk *d, void *block)
{
    watchdog_begin("target %s, free", d->use->text);
    if (block)
        d->use->target->free(d->use->instance, block);
    watchdog_end();
}

/* ---- blocks ---- */

/* The first bytes of a block say which it is, until it is freed. */
static bt_status mark_block(struct desk *d, void *block, uint64_t nbytes, uint32_t number,
                            int is_new)
{
    unsigned char bytes[8] = { 0 };
    const uint64_t n = nbytes < sizeof(number) ? nbytes : sizeof(number);
    const bt_buffer there = own(block, 0, n), here = host(bytes, n);
    if (is_new) {
        memcpy(bytes, &number, sizeof(number));
        return move(d, &there, &here);
    }
    BT_TRY(move(d, &here, &there));
    if (memcmp(bytes, &number, n))
        target_fault(
            d->arena, &d->fault,
            "a block of %d bytes has no longer what was copied there, and %d others "
            "were used since: blocks lie in one another",
            (int)nbytes, MAX_BLOCKS - 1);
    return NULL;
}

static bt_status check_blocks(struct desk *d)
{
    void *blocks[MAX_BLOCKS] = { 0 };
    uint64_t nbytes[MAX_BLOCKS] = { 0 };
    bt_status status = NULL;
    for (uint32_t i = 0; !status && !d->fault && i < BLOCKS + MAX_BLOCKS; i++) {
        const uint32_t at = i % MAX_BLOCKS;
        if (blocks[at])
            status = mark_block(d, blocks[at], nbytes[at], i - MAX_BLOCKS, 0);
        give(d, blocks[at]);
        blocks[at] = NULL;
        nbytes[at] = sizes[i * 7 % BT_COUNT(sizes)];
        if (!status && i < BLOCKS)
            status = take(d, nbytes[at], &blocks[at]);
        if (!status && i < BLOCKS)
            status = mark_block(d, blocks[at], nbytes[at], i, 1);
    }
    for (uint32_t i = 0; i < MAX_BLOCKS; i++)
        give(d, blocks[i]);
    return status;
}

/* ---- copies ---- */

static void fill(unsigned char *at, uint64_t nbytes, uint32_t seed)
{
    for (uint64_t i = 0; i < nbytes; i++)
        at[i] = (unsigned char)(i * 31 + i / 256 + seed);
}

/* Whether all of a block is as expected. */
static bt_status look(struct desk *d, void *block, const char *what, uint64_t nbytes,
                      uint64_t offset)
{
    const bt_buffer there = own(block, 0, ROOM), here = host(d->host, ROOM);
    uint64_t i = 0;
    memset(d->host, 0, ROOM);
    BT_TRY(move(d, &here, &there));
    while (i < ROOM && d->host[i] == d->expected[i])
        i++;
    if (i == ROOM)
        return NULL;
    target_fault(d->arena, &d->fault,
                 "a copy of %d bytes %s, to offset %d: byte %d of the block is then %d, "
                 "expected %d",
                 (int)nbytes, what, (int)offset, (int)i, d->host[i], d->expected[i]);
    return NULL;
}

/* To the host: these bytes, and none around them. */
static bt_status check_back(struct desk *d, void *block, uint64_t nbytes, uint64_t offset)
{
    const bt_buffer there = own(block, offset, nbytes),
                    here = host(d->host + GUARD, nbytes);
    memset(d->host, AROUND, ROOM);
    BT_TRY(move(d, &here, &there));
    int is_around = 0;
    for (uint64_t i = 0; i < ROOM; i++)
        is_around |= (i < GUARD || i >= GUARD + nbytes) && d->host[i] != AROUND;
    if (is_around)
        target_fault(d->arena, &d->fault,
                     "a copy of %d bytes to the host writes beside them", (int)nbytes);
    if (is_around || memcmp(d->host + GUARD, d->expected + offset, (size_t)nbytes) == 0)
        return NULL;
    target_fault(d->arena, &d->fault,
                 "a copy of %d bytes to the host, from offset %d, brings others",
                 (int)nbytes, (int)offset);
    return NULL;
}

/* One of the rounds of copies: what `check` does with two blocks. */
struct round {
    bt_status (*check)(struct desk *d, const struct round *round);
    void *first, *second;
    uint64_t nbytes, offset;
    uint32_t seed;
};

/* All of a block and back, with nothing else that uses what the copies read. */
static bt_status check_whole(struct desk *d, const struct round *round)
{
    const bt_buffer whole = own(round->first, 0, ROOM), from = host(d->expected, ROOM),
                    to = host(d->host, ROOM);
    uint64_t i = 0;
    fill(d->expected, ROOM, round->seed);
    memset(d->host, 0, ROOM);
    BT_TRY(move(d, &whole, &from));
    BT_TRY(move(d, &to, &whole));
    while (i < ROOM && d->host[i] == d->expected[i])
        i++;
    if (i == ROOM)
        return NULL;
    target_fault(
        d->arena, &d->fault,
        "a copy of %d bytes from the host, or of these back: byte %d is then %d, "
        "expected %d",
        ROOM, (int)i, d->host[i], d->expected[i]);
    return NULL;
}

static bt_status check_size(struct desk *d, const struct round *round)
{
    void *first = round->first, *second = round->second;
    const uint64_t nbytes = round->nbytes, offset = round->offset;
    const bt_buffer whole = own(first, 0, ROOM), all = host(d->host, ROOM),
                    part = own(first, offset, nbytes), from = host(d->host, nbytes),
                    other = own(second, 0, nbytes);
    fill(d->host, ROOM, 1);
    memcpy(d->expected, d->host, ROOM);
    BT_TRY(move(d, &whole, &all));
    fill(d->host, nbytes, 100);
    memcpy(d->expected + offset, d->host, (size_t)nbytes);
    BT_TRY(move(d, &part, &from));
    BT_TRY(look(d, first, "from the host", nbytes, offset));
    BT_TRY(check_back(d, first, nbytes, offset));
    fill(d->host, nbytes, 200);
    memcpy(d->expected + offset, d->host, (size_t)nbytes);
    BT_TRY(move(d, &other, &from));
    BT_TRY(move(d, &part, &other));
    return look(d, first, "between blocks", nbytes, offset);
}

/* What is wrong in a round, and right when each copy has some time after `wait`, was not waited for. */
static bt_status check_round(struct desk *d, const struct round *round)
{
    BT_TRY(round->check(d, round));
    if (!d->fault || !d->queue)
        return NULL;
    const char *fault = d->fault;
    d->fault = NULL;
    d->rests = 1;
    bt_status status = round->check(d, round);
    d->rests = 0;
    d->fault = d->fault || status ? fault : "`wait` returns before a copy is done";
    return status;
}

static bt_status check_copies(struct desk *d)
{
    const uint64_t align = d->use->space->align;
    void *first = NULL, *second = NULL;
    bt_status status = take(d, ROOM, &first);
    if (!status)
        status = take(d, ROOM, &second);
    for (uint32_t i = 0; !status && !d->fault && i < ROUNDS; i++)
        status = check_round(
            d, &(struct round){ .check = check_whole, .first = first, .seed = i });
    for (uint32_t i = 0; !status && !d->fault && i < BT_COUNT(sizes); i++) {
        for (uint64_t offset = 0; !status && !d->fault && offset <= 2 * align;
             offset += align) {
            if (offset + sizes[i] <= ROOM)
                status = check_round(d, &(struct round){ .check = check_size,
                                                         .first = first,
                                                         .second = second,
                                                         .nbytes = sizes[i],
                                                         .offset = offset });
        }
    }
    give(d, first);
    give(d, second);
    return status;
}

static bt_status check_desk(struct desk *d)
{
    bt_status status = NULL;
    watchdog_begin("target %s, open_queue", d->use->text);
    if (d->use->target->open_queue)
        status = d->use->target->open_queue(d->ctx, d->use->instance, &d->queue);
    watchdog_end();
    if (!status)
        status = check_copies(d);
    if (!status && !d->fault)
        status = check_blocks(d);
    watchdog_begin("target %s, close_queue", d->use->text);
    if (d->queue)
        d->use->target->close_queue(d->queue);
    watchdog_end();
    return status;
}

bt_status check_memory(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                       const char **fault)
{
    struct desk d = { .ctx = ctx,
                      .arena = arena,
                      .use = use,
                      .host = malloc(ROOM),
                      .expected = malloc(ROOM) };
    *fault = NULL;
    bt_status status = !use->space            ? NULL
                       : d.host && d.expected ? check_desk(&d)
                                              : bt_no_memory();
    free(d.host);
    free(d.expected);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(d.arena, &d.fault, "it fails: %s", status->message);
        status = NULL;
    }
    *fault = d.fault;
    return status;
}
