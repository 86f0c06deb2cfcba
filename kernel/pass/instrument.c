/* What a run prints about itself: the table of times, and what a pass changed. */
#include <string.h>

#include "base/ctx.h"
#include "pass/pipeline.h"

/* ---- times ---- */

int bt__timing_add(bt_arena *arena, bt__timings *timings, const char *pass,
                   int is_changed, uint64_t elapsed_ns)
{
    uint32_t i = 0;
    while (i < timings->len && strcmp(timings->at[i].pass, pass) != 0)
        i++;
    bt__timing fresh = { .pass = pass };
    if (i == timings->len && !BT_PUSH(arena, timings, fresh))
        return 0;
    bt__timing *timing = &timings->at[i];
    timing->nrun++;
    timing->nchanged += is_changed != 0;
    timing->elapsed_ns += elapsed_ns;
    return 1;
}

void bt__timing_print(const bt__timings *timings, bt_text *out)
{
    uint64_t total = 0;
    int width = 4;
    for (uint32_t i = 0; i < timings->len; i++) {
        int length = (int)strlen(timings->at[i].pass);
        total += timings->at[i].elapsed_ns;
        width = length > width ? length : width;
    }
    bt_text_addf(out, "%-*s  %10s  %6s  %5s  %7s\n", width, "pass", "time", "share",
                 "runs", "changed");
    for (uint32_t i = 0; i < timings->len; i++) {
        const bt__timing *t = &timings->at[i];
        bt_text_addf(out, "%-*s  %7.2f ms  %5.1f%%  %5u  %7u\n", width, t->pass,
                     (double)t->elapsed_ns / 1e6,
                     total ? 100.0 * (double)t->elapsed_ns / (double)total : 0.0, t->nrun,
                     t->nchanged);
    }
    bt_text_addf(out, "%-*s  %7.2f ms\n", width, "all", (double)total / 1e6);
}

/* ---- differences ---- */

#define CONTEXT   3       /* unchanged lines shown around a change */
#define MAX_TABLE 4000000 /* cells: beyond that the middle is shown as replaced whole */

typedef struct lines {
    uint32_t n;
    const char **at;
    uint32_t *nbytes;
} lines;

static int split(bt_arena *arena, const char *text, lines *out)
{
    uint32_t n = 0;
    for (const char *c = text; *c; n++) {
        const char *end = strchr(c, '\n');
        c = end ? end + 1 : c + strlen(c);
    }
    out->n = n;
    out->at = BT_NEWS(arena, const char *, n);
    out->nbytes = BT_NEWS(arena, uint32_t, n);
    for (uint32_t i = 0; out->at && out->nbytes && i < n; i++) {
        const char *end = strchr(text, '\n');
        out->at[i] = text;
        out->nbytes[i] = (uint32_t)(end ? (size_t)(end - text) : strlen(text));
        text += out->nbytes[i] + (end != NULL);
    }
    return out->at && out->nbytes;
}

static int is_same(const lines *a, uint32_t i, const lines *b, uint32_t j)
{
    return a->nbytes[i] == b->nbytes[j] && memcmp(a->at[i], b->at[j], a->nbytes[i]) == 0;
}

/* One line of the result: mark, and the line. */
typedef struct edit {
    char mark; /* ' ', '-', '+' */
    const char *at;
    uint32_t nbytes;
} edit;
typedef bt_vec(edit) edits;

static int put(bt_arena *arena, edits *out, char mark, const lines *from, uint32_t i)
{
    edit one = { mark, from->at[i], from->nbytes[i] };
    return BT_PUSH(arena, out, one);
}

/* Longest common subsequence of what differs between a common head and tail. */
static int diff_middle(bt_arena *arena, const lines *a, uint32_t a0, uint32_t a1,
                       const lines *b, uint32_t b0, uint32_t b1, edits *out)
{
    size_t na = a1 - a0, nb = b1 - b0, width = nb + 1;
    uint32_t *length = NULL;
    if (na * width <= MAX_TABLE && !(length = BT_NEWS(arena, uint32_t, (na + 1) * width)))
        return 0;
    for (size_t i = length ? na : 0; i-- > 0;) {
        for (size_t j = nb; j-- > 0;) {
            uint32_t down = length[(i + 1) * width + j],
                     right = length[i * width + j + 1];
            length[i * width + j] = is_same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j)
                                        ? length[(i + 1) * width + j + 1] + 1
                                        : (down > right ? down : right);
        }
    }
    size_t i = 0, j = 0;
    while (i < na || j < nb) {
        int ok;
        if (length && i < na && j < nb &&
            is_same(a, a0 + (uint32_t)i, b, b0 + (uint32_t)j)) {
            ok = put(arena, out, ' ', a, a0 + (uint32_t)i);
            i++, j++;
        } else if (i < na && (j == nb || !length ||
                              length[(i + 1) * width + j] >= length[i * width + j + 1])) {
            ok = put(arena, out, '-', a, a0 + (uint32_t)i++);
        } else {
            ok = put(arena, out, '+', b, b0 + (uint32_t)j++);
        }
        if (!ok)
            return 0;
    }
    return 1;
}

static int make_edits(bt_arena *arena, const lines *a, const lines *b, edits *out)
{
    uint32_t head = 0, a1 = a->n, b1 = b->n;
    while (head < a1 && head < b1 && is_same(a, head, b, head)) {
        if (!put(arena, out, ' ', a, head))
            return 0;
        head++;
    }
    while (a1 > head && b1 > head && is_same(a, a1 - 1, b, b1 - 1))
        a1--, b1--;
    if (!diff_middle(arena, a, head, a1, b, head, b1, out))
        return 0;
    for (; a1 < a->n; a1++) {
        if (!put(arena, out, ' ', a, a1))
            return 0;
    }
    return 1;
}

static int is_near_change(const edits *list, uint32_t i)
{
    uint32_t from = i > CONTEXT ? i - CONTEXT : 0;
    for (uint32_t j = from; j < list->len && j <= i + CONTEXT; j++) {
        if (list->at[j].mark != ' ')
            return 1;
    }
    return 0;
}

static void print_edits(const edits *list, bt_text *out)
{
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        const edit *one = &list->at[i];
        if (!is_near_change(list, i)) {
            skipped++;
            continue;
        }
        if (skipped)
            bt_text_addf(out, "  ... %u unchanged line%s\n", skipped,
                         skipped == 1 ? "" : "s");
        skipped = 0;
        bt_text_addf(out, "%c ", one->mark);
        bt_text_add(out, one->at, one->nbytes);
        bt_text_add(out, "\n", 1);
    }
    if (skipped)
        bt_text_addf(out, "  ... %u unchanged line%s\n", skipped,
                     skipped == 1 ? "" : "s");
}

bt_status bt__diff(bt_ctx *ctx, const char *before, const char *after, bt_text *out)
{
    bt_arena *arena = bt_arena_create(ctx->registry);
    lines a, b;
    edits list = { 0 };
    int ok = arena && split(arena, before, &a) && split(arena, after, &b) &&
             make_edits(arena, &a, &b, &list);
    if (ok)
        print_edits(&list, out);
    bt_arena_destroy(arena);
    return ok && !out->failed ? NULL : bt_no_memory();
}
