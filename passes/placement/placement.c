#include "placement/placement.h"

/* Of a memory that does not say how long copies take. */
#define LATENCY_NS   10000.0
#define BYTES_PER_NS 8.0

uint32_t placement_memory(const struct placement *p, uint32_t target)
{
    return p->targets[target]->space ? target + 1 : 0;
}

static double hop_ns(const struct placement *p, uint32_t memory, double nbytes)
{
    const bt_space *space = p->targets[memory - 1]->space;
    return (space->latency_ns > 0 ? space->latency_ns : LATENCY_NS) +
           nbytes / (space->bytes_per_ns > 0 ? space->bytes_per_ns : BYTES_PER_NS);
}

double placement_copy_ns(const struct placement *p, uint32_t from, uint32_t to,
                         double nbytes)
{
    return from == to
               ? 0
               : (from ? hop_ns(p, from, nbytes) : 0) + (to ? hop_ns(p, to, nbytes) : 0);
}

static uint32_t memory_from(const struct placement *p, const struct placed_tensor *t)
{
    return t->from == PLACED_HOST ? 0 : placement_memory(p, p->all.at[t->from].target);
}

/* Each memory that a tensor is needed in gets it once. */
static double copies_ns(const struct placement *p, const struct placed_tensor *t)
{
    const uint32_t from = memory_from(p, t);
    double sum = t->is_for_host ? placement_copy_ns(p, from, 0, t->nbytes) : 0;
    for (uint32_t i = 0; i < t->users.len; i++) {
        const uint32_t to = placement_memory(p, p->all.at[t->users.at[i]].target);
        uint32_t k = 0;
        while (k < i && placement_memory(p, p->all.at[t->users.at[k]].target) != to)
            k++;
        if (k == i && !(to == 0 && t->is_for_host))
            sum += placement_copy_ns(p, from, to, t->nbytes);
    }
    return sum;
}

double placement_work_ns(const struct placement *p)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->all.len; i++)
        sum += p->all.at[i].ns[p->all.at[i].target];
    for (uint32_t i = 0; i < p->tensors.len; i++)
        sum += copies_ns(p, &p->tensors.at[i]);
    return sum;
}

/* ---- the makespan ---- */

/* When each is next free: the host, and of each target with queues its kernels and copies. */
struct clocks {
    const struct placement *p;
    double host, *kernels, *copies;
    double *arrives; /* by tensor and memory; below 0: it is not there yet */
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double *clock_of(struct clocks *c, uint32_t target, double *queue)
{
    return c->p->targets[target]->target->open_queue ? &queue[target] : &c->host;
}

/* Copies a tensor over one border. */
static double cross(struct clocks *c, uint32_t memory, double nbytes, double begin)
{
    double *clock = clock_of(c, memory - 1, c->copies);
    *clock = later(*clock, begin) + hop_ns(c->p, memory, nbytes);
    return *clock;
}

/* When a tensor is in a memory; it is taken there where it is not. */
static double arrival(struct clocks *c, uint32_t tensor, uint32_t memory)
{
    const struct placed_tensor *t = &c->p->tensors.at[tensor];
    double *row = &c->arrives[(size_t)tensor * (c->p->ntarget + 1)];
    const uint32_t from = memory_from(c->p, t);
    if (row[memory] >= 0)
        return row[memory];
    if (row[0] < 0)
        row[0] = cross(c, from, t->nbytes, row[from]);
    if (memory)
        row[memory] = cross(c, memory, t->nbytes, row[0]);
    return row[memory];
}

static double compute(struct clocks *c, const struct placed *placed)
{
    const uint32_t memory = placement_memory(c->p, placed->target);
    double begin = 0;
    for (uint32_t i = 0; i < placed->in.len; i++)
        begin = later(begin, arrival(c, placed->in.at[i], memory));
    double *clock = clock_of(c, placed->target, c->kernels);
    *clock = later(*clock, begin) + placed->ns[placed->target];
    for (uint32_t i = 0; i < placed->out.len; i++)
        c->arrives[(size_t)placed->out.at[i] * (c->p->ntarget + 1) + memory] = *clock;
    return *clock;
}

bt_status placement_makespan_ns(const struct placement *p, double *out)
{
    const size_t nrow = (size_t)p->ntarget + 1;
    const void *mark = bt_arena_mark(p->arena);
    struct clocks c = { .p = p,
                        .kernels = BT_NEWS(p->arena, double, p->ntarget),
                        .copies = BT_NEWS(p->arena, double, p->ntarget),
                        .arrives = BT_NEWS(p->arena, double, nrow * p->tensors.len) };
    double end = 0;
    if (!c.kernels || !c.copies || !c.arrives)
        return bt_no_memory();
    for (size_t i = 0; i < nrow * p->tensors.len; i++)
        c.arrives[i] =
            p->tensors.at[i / nrow].from == PLACED_HOST && i % nrow == 0 ? 0 : -1;
    for (uint32_t i = 0; i < p->all.len; i++)
        end = later(end, compute(&c, &p->all.at[i]));
    for (uint32_t i = 0; i < p->tensors.len; i++) {
        if (p->tensors.at[i].is_for_host)
            end = later(end, arrival(&c, i, 0));
    }
    bt_arena_release(p->arena, mark);
    *out = end;
    return NULL;
}
