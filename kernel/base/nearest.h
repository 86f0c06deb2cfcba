/* The known names closest to one that is not known, for error messages. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <baton/base.h>

#define BT__NEAREST_MAX 3

typedef struct bt__nearest {
    const char *name;
    uint32_t n;
    const char *best[BT__NEAREST_MAX]; /* borrowed from those offered */
    uint32_t distance[BT__NEAREST_MAX];
} bt__nearest;

void bt__nearest_init(bt__nearest *, const char *name);
/* Considers one known name; remembers it when it is close enough. */
void bt__nearest_offer(bt__nearest *, const char *known);
/* Considers each word of "a|b|c", split by `separator`; the words are copied to the
 * arena. */
void bt__nearest_offer_words(bt__nearest *, bt_arena *, const char *words,
                             char separator);
/* "; did you mean nn.relu or nn.prelu?", or "" when nothing is close. In the arena, ""
 * without memory. */
const char *bt__nearest_text(const bt__nearest *, bt_arena *);

#endif
