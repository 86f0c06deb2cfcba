/*
 * Nearest names by edit distance: insertions, deletions, replacements and swaps of
 * neighbours count one each (optimal string alignment). A name is near when it needs at
 * most one edit for every three bytes, begins as the other, or ends in it after a dot.
 */
#include "base/nearest.h"

#include <string.h>

#define MAX_NBYTES 64 /* longer names are compared by their first bytes */

static uint32_t min_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    uint8_t rows[3][MAX_NBYTES + 1];
    uint8_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = (uint8_t)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= nb; j++) {
            uint32_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = min_of(best, min_of(last[j], row[j - 1]) + 1u);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = min_of(best, before[j - 2] + 1u);
            row[j] = (uint8_t)best;
        }
        uint8_t *free_row = before;
        before = last;
        last = row;
        row = free_row;
    }
    return last[nb];
}

/* "integer" is near "int", and the other way round. */
static int is_head(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = na < nb ? na : nb;
    return n >= 3 && memcmp(a, b, n) == 0;
}

/* "relu" is near "nn.relu": distance 1, whatever the prefix. */
static int is_tail(const char *name, size_t nname, const char *known, size_t nknown)
{
    return nname < nknown && known[nknown - nname - 1] == '.' &&
           memcmp(known + nknown - nname, name, nname) == 0;
}

void bt__nearest_init(bt__nearest *nearest, const char *name)
{
    *nearest = (bt__nearest){ .name = name };
}

static void remember(bt__nearest *nearest, const char *known, uint32_t distance)
{
    uint32_t place = nearest->n;
    while (place > 0 && nearest->distance[place - 1] > distance)
        place--;
    if (place == BT__NEAREST_MAX)
        return;
    if (nearest->n < BT__NEAREST_MAX)
        nearest->n++;
    for (uint32_t i = nearest->n - 1; i > place; i--) {
        nearest->best[i] = nearest->best[i - 1];
        nearest->distance[i] = nearest->distance[i - 1];
    }
    nearest->best[place] = known;
    nearest->distance[place] = distance;
}

void bt__nearest_offer(bt__nearest *nearest, const char *known)
{
    size_t nname = strlen(nearest->name), nknown = strlen(known);
    for (uint32_t i = 0; i < nearest->n; i++) {
        if (strcmp(nearest->best[i], known) == 0)
            return;
    }
    if (nname > 0 && nknown > 0 &&
        (is_tail(nearest->name, nname, known, nknown) ||
         is_tail(known, nknown, nearest->name, nname))) {
        remember(nearest, known, 1);
        return;
    }
    if (nknown >= 3 && nname > nknown && nearest->name[nname - nknown - 1] == '_' &&
        strcmp(nearest->name + nname - nknown, known) == 0) {
        remember(nearest, known, 2); // "reduce_sum" is near "sum"
        return;
    }
    int shares_head = is_head(nearest->name, nname, known, nknown);
    nname = nname < MAX_NBYTES ? nname : MAX_NBYTES;
    nknown = nknown < MAX_NBYTES ? nknown : MAX_NBYTES;
    uint32_t distance = edit_distance(nearest->name, nname, known, nknown);
    if (shares_head || (distance <= (nname + 2) / 3 && distance < nname))
        remember(nearest, known, distance);
}

void bt__nearest_offer_words(bt__nearest *nearest, bt_arena *arena, const char *words,
                             char separator)
{
    while (*words) {
        const char *end = strchr(words, separator);
        size_t nbytes = end ? (size_t)(end - words) : strlen(words);
        const char *word = bt_arena_text(arena, words, nbytes);
        if (word)
            bt__nearest_offer(nearest, word);
        words += nbytes + (end != NULL);
    }
}

const char *bt__nearest_text(const bt__nearest *nearest, bt_arena *arena)
{
    if (nearest->n == 0)
        return "";
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "; did you mean ");
    for (uint32_t i = 0; i < nearest->n; i++)
        bt_text_addf(&text, "%s%s",
                     i == 0                ? ""
                     : i + 1 == nearest->n ? " or "
                                           : ", ",
                     nearest->best[i]);
    bt_text_addf(&text, "?");
    const char *out = bt_text_get(&text);
    return out ? out : "";
}

const char *bt_nearest(bt_arena *arena, const char *word, const char *const *known)
{
    bt__nearest nearest;
    bt__nearest_init(&nearest, word);
    for (; *known; known++)
        bt__nearest_offer(&nearest, *known);
    return bt__nearest_text(&nearest, arena);
}
