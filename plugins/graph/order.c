#include "order.h"

/* Bytes of a block that a step in a queue reads or writes. */
struct access {
    uint32_t step, is_write;
    int64_t first, end;
};
typedef bt_vec(struct access) access_list;

struct orderer {
    bt_arena *arena;
    struct session *s;
    access_list *blocks; /* by block: those that others may have to wait for */
    uint32_t *latest;    /* by queue: 1 + the last step there that this one waits for */
};

/* Steps of a target that waits for itself, and copies in the host's memory, are done at
 * once. */
static uint32_t queue_of(const struct session *s, const struct step *step)
{
    const uint32_t target = step->kernel == COPY
                                ? step->space - 1
                                : s->compiled->kernels[step->kernel]->target;
    return (step->kernel == COPY && !step->space) ||
                   !s->compiled->targets[target]->target->enqueue
               ? NO_QUEUE
               : 2 * target + (step->kernel == COPY);
}

static int covers(const struct access *a, const struct access *b)
{
    return a->first <= b->first && b->end <= a->end;
}

/* Whether later steps need not know of `old`: what must come after it must come after
 * `now` too, and `now` comes after `old`. */
static int replaces(const struct orderer *o, const struct access *now,
                    const struct access *old)
{
    const struct step *steps = o->s->steps;
    return covers(now, old) &&
           (now->is_write ||
            (!old->is_write && steps[now->step].queue == steps[old->step].queue));
}

static bt_status add_access(struct orderer *o, const struct place *place,
                            struct access now)
{
    const uint32_t queue = o->s->steps[now.step].queue;
    access_list *list = &o->blocks[place->index];
    uint32_t nkept = 0;
    const int64_t first = o->s->table[place->offset], nbytes = o->s->table[place->nbytes];
    const int is_number = first >= 0 && nbytes >= 0; // else any bytes of the block
    now.first = is_number ? first : 0;
    now.end = is_number ? first + nbytes : INT64_MAX;
    for (uint32_t i = 0; i < list->len; i++) {
        const struct access old = list->at[i];
        const uint32_t other = o->s->steps[old.step].queue;
        if (old.first < now.end && now.first < old.end &&
            (old.is_write || now.is_write) && other != queue &&
            old.step + 1 > o->latest[other])
            o->latest[other] = old.step + 1;
        if (!replaces(o, &now, &old))
            list->at[nkept++] = old;
    }
    list->len = nkept;
    if (queue == NO_QUEUE || now.first == now.end)
        return NULL;
    return BT_PUSH(o->arena, list, now) ? NULL : bt_no_memory();
}

static bt_status add_accesses(struct orderer *o, uint32_t number)
{
    const struct step *step = &o->s->steps[number];
    for (uint32_t i = 0; i < step->nbuffer; i++) {
        const struct access now = { .step = number, .is_write = i >= step->nread };
        if (step->buffers[i].kind == PLACE_BLOCK)
            BT_TRY(add_access(o, &step->buffers[i], now));
    }
    const struct access now = { .step = number, .is_write = 1 };
    return step->workspace ? add_access(o, step->workspace, now) : NULL;
}

static bt_status order_step(struct orderer *o, uint32_t number)
{
    struct session *s = o->s;
    struct step *step = &s->steps[number];
    for (uint32_t i = 0; i < s->nqueue; i++)
        o->latest[i] = 0;
    step->queue = queue_of(s, step);
    BT_TRY(add_accesses(o, number));
    uint32_t *waits = BT_NEWS(o->arena, uint32_t, s->nqueue);
    if (!waits)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->nqueue; i++) {
        if (o->latest[i])
            waits[step->nwait++] = o->latest[i] - 1;
    }
    step->waits = waits;
    return NULL;
}

static bt_status name_queue(bt_arena *arena, struct session *s, uint32_t number)
{
    bt_text name;
    bt_text_init(&name, arena);
    bt_text_addf(&name, "%s %s", s->compiled->targets[number / 2]->text,
                 number % 2 ? "copies" : "kernels");
    s->queues[number].name = bt_text_get(&name);
    return s->queues[number].name ? NULL : bt_no_memory();
}

bt_status order_steps(bt_arena *arena, struct session *s)
{
    struct orderer o = { .arena = arena, .s = s };
    s->nqueue = 2 * s->compiled->ntarget;
    s->queues = BT_NEWS(arena, struct queue, s->nqueue);
    s->values = BT_NEWS(arena, uint64_t, s->nstep);
    s->times = BT_NEWS(arena, bt_times, s->nstep);
    s->events = BT_NEWS(arena, bt_event, s->nqueue);
    o.blocks = BT_NEWS(arena, access_list, s->nblock);
    o.latest = BT_NEWS(arena, uint32_t, s->nqueue);
    if (!s->queues || !s->values || !s->times || !s->events || !o.blocks || !o.latest)
        return bt_no_memory();
    for (uint32_t i = 0; i < s->nqueue; i++)
        BT_TRY(name_queue(arena, s, i));
    for (uint32_t i = 0; i < s->nstep; i++)
        BT_TRY(order_step(&o, i));
    return NULL;
}
