/*
 * What was seen of a program's sites, in an npz file that the verb quantize writes:
 *     program      uint64, the digest of the program that was observed
 *     SITE.range   float64 (2): the least and the greatest number
 *     SITE.count   int64 (3): samples, numbers, NaN and infinities
 *     SITE.bins    int64 (n): how many lie in each part of the range; may be missing
 *     SITE.moments float64 (2, n): mean and variance of what a weight is multiplied with; may
 *                  be missing
 * Checksums are those of the file's members. Nothing in it is trusted.
 */
#ifndef PASSES_QUANTIZE_QUANT_STATISTICS_H
#define PASSES_QUANTIZE_QUANT_STATISTICS_H

#include "quantize/quant_site.h"

struct statistics {
    const char *path;
    bt_file *file;
    bt_npz *npz;
};

/* The digest of a program as sites are observed in it, which the verb computes as well. */
uint64_t statistics_digest(const bt_func *);
/* errors  BT_ERR_FORMAT: it is none, or of another program than `digest` */
bt_status statistics_read(bt_ctx *, const char *path, uint64_t digest,
                          struct statistics *out) BT_MUST_USE;
/* The same of bytes, which stay as long as it is open. */
bt_status statistics_parse(bt_ctx *, const char *path, const void *bytes, size_t nbytes,
                           uint64_t digest, struct statistics *out) BT_MUST_USE;
void statistics_close(bt_ctx *, struct statistics *);
/* What it has of n moments of a weight: out->nmoment and behind; nothing where it has nothing.
 * errors  BT_ERR_FORMAT */
bt_status statistics_moments(bt_ctx *, bt_arena *, const struct statistics *,
                             const char *site, int64_t n, bt_statistic *out) BT_MUST_USE;
/* What the file has of a site; its arrays are in the arena.
 * errors  BT_ERR_NAME: nothing; BT_ERR_FORMAT: what is there cannot be */
bt_status statistics_find(bt_ctx *, bt_arena *, const struct statistics *,
                          const char *site, bt_statistic *out) BT_MUST_USE;

#endif
