/*
 * Which results may be computed in the bytes of an argument, when the caller gives its tensor
 * for both: a parameter that a step of training updates is not held twice.
 *     def @step(%w, %g) { .. subtract(%w, ..) }     result 0 over argument 0
 * The kernel that writes the result may write it there, and nothing reads the argument later.
 */
#include "session.h"

/* Whether a step that is no copy may write its buffer `out` into the bytes of an argument: it
 * says so of each buffer that is the argument. */
static int may_write_over(const struct step *step, uint32_t out, uint32_t arg)
{
    const bt_call *call = bt_as_call(step->value);
    const bt_ints *aliases =
        call && call->op ? bt_attr_find(call->op, call->attrs, "aliases", BT_ATTR_INTS)
                         : NULL;
    int reads = 0;
    for (uint32_t i = 0; i < step->nread; i++) {
        int may = step->buffers[i].kind != PLACE_ARG || step->buffers[i].index != arg;
        reads |= !may;
        for (int64_t k = 0; !may && aliases && k + 1 < aliases->n; k += 2)
            may = aliases->at[k] == out && aliases->at[k + 1] == i;
        if (!may)
            return 0;
    }
    return reads;
}

static int is_place(const struct place *place, uint32_t kind, uint32_t index)
{
    return place->kind == kind && place->index == index;
}

/* Whether a step from `first` on reads the argument, or a result is it. */
static int is_read_later(const struct session *s, uint32_t first, uint32_t arg)
{
    for (uint32_t i = first; i < s->nstep; i++) {
        for (uint32_t k = 0; k < s->steps[i].nread; k++) {
            if (is_place(&s->steps[i].buffers[k], PLACE_ARG, arg))
                return 1;
        }
    }
    for (uint32_t i = 0; i < s->nresult; i++) {
        if (is_place(&s->results[i].place, PLACE_ARG, arg))
            return 1;
    }
    return 0;
}

/* The first step that has to do with a block; nstep: none has. *out: which of the buffers that
 * it writes the block is, nbuffer: none. */
static uint32_t find_first(const struct session *s, uint32_t block, uint32_t *out)
{
    for (uint32_t i = 0; i < s->nstep; i++) {
        const struct step *step = &s->steps[i];
        for (uint32_t k = 0; k < step->nbuffer; k++) {
            if (is_place(&step->buffers[k], PLACE_BLOCK, block)) {
                *out = k < step->nread ? step->nbuffer : k - step->nread;
                return i;
            }
        }
    }
    return s->nstep;
}

static uint32_t find_donor(const struct session *s, uint32_t result)
{
    const struct place *place = &s->results[result].place;
    uint32_t out = 0;
    if (place->kind != PLACE_BLOCK || s->blocks[place->index].result != result + 1)
        return 0;
    const uint32_t first = find_first(s, place->index, &out);
    const struct step *step = &s->steps[first];
    if (first == s->nstep || step->kernel == COPY || out == step->nbuffer)
        return 0;
    for (uint32_t i = 0; i < step->nread; i++) {
        const uint32_t arg = step->buffers[i].index;
        if (step->buffers[i].kind == PLACE_ARG && may_write_over(step, out, arg) &&
            !is_read_later(s, first + 1, arg))
            return 1 + arg;
    }
    return 0;
}

void session_find_donors(struct session *s)
{
    for (uint32_t i = 0; i < s->nstep; i++) {
        if (s->steps[i].queue != NO_QUEUE)
            return; // a step that was begun before may still read
    }
    for (uint32_t i = 0; i < s->nresult; i++)
        s->results[i].donor = find_donor(s, i);
}
