#include "shape_codes.h"

typedef struct state {
    shape_parts *out;
    int64_t ncode;
    const int64_t *codes;
    int64_t i;
    uint32_t rank, axis; /* the next axis that a code may speak of */
    int has_rest;
} state;

static const char *add(state *s, uint32_t kind, uint32_t axis, int64_t at)
{
    if (s->out->n == BT_MAX_RANK)
        return "it has too many dims";
    s->out->at[s->out->n++] = (shape_part){ kind, axis, (uint32_t)at };
    return NULL;
}

static const char *copy_axis(state *s)
{
    if (s->axis >= s->rank)
        return "it copies an axis that data lacks";
    s->out->is_used[s->axis] = 1;
    return add(s, SHAPE_COPY, s->axis++, s->i);
}

static const char *split_axis(state *s)
{
    if (s->axis >= s->rank)
        return "it splits an axis that data lacks";
    if (s->i + 2 >= s->ncode)
        return "-4 needs two dims after it";
    int64_t first = s->codes[s->i + 1], second = s->codes[s->i + 2];
    if ((first <= 0 && first != -1) || (second <= 0 && second != -1) ||
        (first == -1 && second == -1))
        return "-4 needs two positive dims after it, or one and a -1";
    // a -1 is the axis divided by its neighbour
    const char *wrong = first == -1 ? add(s, SHAPE_QUOTIENT, s->axis, s->i + 2)
                                    : add(s, SHAPE_SPLIT, s->axis, s->i + 1);
    if (!wrong)
        wrong = second == -1 ? add(s, SHAPE_QUOTIENT, s->axis, s->i + 1)
                             : add(s, SHAPE_SPLIT, s->axis, s->i + 2);
    s->out->is_used[s->axis++] = 1;
    s->i += 2;
    return wrong;
}

static const char *next(state *s, int allow_zero)
{
    int64_t code = s->codes[s->i];
    const char *wrong = NULL;
    switch (code) {
    case 0:
        if (!allow_zero)
            return copy_axis(s);
        s->axis += s->axis < s->rank;
        return add(s, SHAPE_LITERAL, 0, s->i);
    case -1:
        if (s->has_rest++)
            return "it has -1 twice";
        s->axis += s->axis < s->rank;
        return add(s, SHAPE_REST, 0, s->i);
    case -2:
        while (!wrong && s->axis < s->rank)
            wrong = copy_axis(s);
        return wrong;
    case -3:
        if (s->axis + 1 >= s->rank)
            return "-3 joins two axes, but data has no two left";
        s->out->is_used[s->axis] = s->out->is_used[s->axis + 1] = 1;
        s->axis += 2;
        return add(s, SHAPE_PRODUCT, s->axis - 2, s->i);
    case -4: return split_axis(s);
    default:
        if (code < 0)
            return "its dims are extents or the codes 0, -1, -2, -3, -4";
        s->axis += s->axis < s->rank;
        return add(s, SHAPE_LITERAL, 0, s->i);
    }
}

const char *shape_resolve(int64_t ncode, const int64_t *codes, uint32_t rank,
                          int allow_zero, shape_parts *out)
{
    state s = { .out = out, .ncode = ncode, .codes = codes, .rank = rank };
    const char *wrong = NULL;
    *out = (shape_parts){ 0 };
    for (; !wrong && s.i < ncode; s.i++)
        wrong = next(&s, allow_zero);
    return wrong;
}
