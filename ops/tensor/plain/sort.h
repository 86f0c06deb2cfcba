/* The order of a line of elements: those of a tensor along an axis. */
#ifndef PLAIN_SORT_H
#define PLAIN_SORT_H

#include "elements.h"

/* A line: its first element, the distance between two, how many it has; turn: UINT64_MAX,
 * the greatest key comes first, else 0. */
typedef struct plain_line {
    const bt_plain_tensor *in;
    int64_t first, inner, n;
    uint64_t turn;
} plain_line;
/* The key of element j; is_single: the elements are float32, as most are. */
static inline uint64_t plain_line_key(const plain_line *line, int64_t j, int is_single)
{
    const int64_t at = line->first + j * line->inner;
    uint32_t bits;
    if (!is_single)
        return line->turn ^ plain_key(line->in, at);
    bits = ((const uint32_t *)line->in->data)[at];
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return ~line->turn;
    bits = bits << 1 ? bits : 0;
    return line->turn ^ (bits >> 31 ? ~bits : bits | 0x80000000u);
}

/* Joins the sorted runs low..middle and middle..high of `from` in `to`. */
static inline void plain_merge(const uint64_t *keys, const int64_t *from, int64_t *to,
                               int64_t low, int64_t middle, int64_t high)
{
    int64_t a = low, b = middle, k;
    for (k = low; k < high; k++) {
        const int is_first = a < middle && (b >= high || keys[from[a]] <= keys[from[b]]);
        to[k] = is_first ? from[a++] : from[b++];
    }
}

/* The positions of all elements in order; equal ones keep theirs. Needs three lists of n
 * numbers: leaves in the first the keys by position, and gives one of the others. */
static inline int64_t *plain_sort(const plain_line *line, void *lists)
{
    const int64_t n = line->n;
    uint64_t *const keys = lists;
    int64_t *order = (int64_t *)lists + n, *spare = order + n, *sorted, width, low, j;
    const int is_single = line->in->kind == 'f' && line->in->nbytes == 4;
    for (j = 0; j < n; j++) {
        keys[j] = plain_line_key(line, j, is_single);
        order[j] = j;
    }
    for (width = 1; width < n; width *= 2) {
        for (low = 0; low < n; low += 2 * width) {
            const int64_t middle = low + width < n ? low + width : n;
            const int64_t high = middle + width < n ? middle + width : n;
            plain_merge(keys, order, spare, low, middle, high);
        }
        sorted = spare;
        spare = order;
        order = sorted;
    }
    return order;
}

#endif
