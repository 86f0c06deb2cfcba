#include "float_search.h"

#include <math.h>
#include <stdlib.h>

static double dearness(const struct float_layer *l)
{
    return l->noise / (l->nadd > 1 ? l->nadd : 1);
}

static int by_noise(const void *a, const void *b)
{
    const struct float_layer *x = a, *y = b;
    const double p = dearness(x), q = dearness(y);
    return p != q ? (p < q ? 1 : -1) : x->place < y->place ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct float_layer *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int measure(struct float_search *s, double *loss)
{
    s->ndone++;
    return s->measure(s->self, loss);
}

/* The first `n` of the order are float. */
static void take_head(struct float_search *s, uint32_t n)
{
    for (uint32_t i = 0; i < s->nlayer; i++)
        s->layers[i].is_float = i < n;
}

static int find_head(struct float_search *s)
{
    uint32_t low = 0, high = s->nlayer; // low loses too much
    double loss;
    take_head(s, high);
    int code = measure(s, &s->found);
    s->is_met = s->found <= s->loss;
    while (!code && s->is_met && high - low > 1 && s->ndone < s->ntrial) {
        const uint32_t middle = low + (high - low) / 2;
        take_head(s, middle);
        code = measure(s, &loss);
        if (loss <= s->loss) {
            high = middle;
            s->found = loss;
        } else {
            low = middle;
        }
    }
    take_head(s, high);
    return code;
}

/* The float layer with most products of those not tried yet. */
static struct float_layer *next_dearest(struct float_search *s, double below,
                                        const struct float_layer *last)
{
    struct float_layer *best = NULL;
    for (uint32_t i = 0; i < s->nlayer; i++) {
        struct float_layer *l = &s->layers[i];
        if (l->is_float && (l->nadd < below || (l->nadd == below && l > last)) &&
            (!best || l->nadd > best->nadd))
            best = l;
    }
    return best;
}

static int give_back(struct float_search *s)
{
    const struct float_layer *last = NULL;
    double below = INFINITY, loss;
    while (s->ndone < s->ntrial) {
        struct float_layer *l = next_dearest(s, below, last);
        if (!l)
            break;
        last = l;
        below = l->nadd;
        l->is_float = 0;
        const int code = measure(s, &loss);
        if (code)
            return code;
        if (loss <= s->loss)
            s->found = loss;
        else
            l->is_float = 1;
    }
    return 0;
}

int search_floats(struct float_search *s)
{
    qsort(s->layers, s->nlayer, sizeof(*s->layers), by_noise);
    s->ndone = 0;
    take_head(s, 0);
    int code = measure(s, &s->found);
    s->is_met = s->found <= s->loss;
    if (!code && !s->is_met)
        code = find_head(s);
    if (!code && s->is_met)
        code = give_back(s);
    qsort(s->layers, s->nlayer, sizeof(*s->layers), by_place);
    return code;
}
