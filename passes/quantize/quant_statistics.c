#include "quantize/quant_statistics.h"

#include <math.h>
#include <string.h>

static const bt_tensor *entry(const struct statistics *s, const char *site,
                              const char *what)
{
    const size_t n = strlen(site);
    for (uint32_t i = 0; i < s->npz->len; i++) {
        const char *name = s->npz->at[i].name;
        if (strncmp(name, site, n) == 0 && strcmp(name + n, what) == 0)
            return s->npz->at[i].tensor;
    }
    return NULL;
}

uint64_t statistics_digest(const bt_func *func)
{
    bt_func plain = *func;
    plain.attrs = (bt_dict){ 0 }; // what outputs are called does not count
    return bt_func_hash(&plain);
}

bt_status statistics_parse(bt_ctx *ctx, const char *path, const void *bytes,
                           size_t nbytes, uint64_t digest, struct statistics *out)
{
    struct statistics s = { .path = path };
    BT_TRY(bt_npz_read(ctx, path, bytes, nbytes, &s.npz));
    const bt_tensor *program = entry(&s, "program", "");
    bt_status status = NULL;
    if (!program || program->dtype != BT_UINT64 || program->nelem != 1)
        status = bt_fail(ctx, BT_ERR_FORMAT,
                         "%s has no number \"program\": it is no file of statistics, as "
                         "baton quantize --statistics writes them",
                         path);
    else if ((uint64_t)bt_tensor_get_int(program, 0) != digest)
        status = bt_fail(ctx, BT_ERR_FORMAT,
                         "%s was made of another program, or by another scheme: observe "
                         "this one",
                         path);
    if (status)
        statistics_close(ctx, &s);
    else
        *out = s;
    return status;
}

bt_status statistics_read(bt_ctx *ctx, const char *path, uint64_t digest,
                          struct statistics *out)
{
    bt_file *file;
    BT_TRY(bt_file_read(ctx, path, &file));
    bt_status status =
        statistics_parse(ctx, path, file->bytes, file->nbytes, digest, out);
    if (status)
        bt_file_close(ctx, file);
    else
        out->file = file;
    return status;
}

void statistics_close(bt_ctx *ctx, struct statistics *s)
{
    bt_npz_destroy(ctx, s->npz);
    bt_file_close(ctx, s->file);
    *s = (struct statistics){ 0 };
}

static int is_vector(const bt_tensor *tensor, bt_dtype dtype, int64_t n)
{
    return tensor && tensor->dtype == dtype && tensor->rank == 1 &&
           (n < 0 || tensor->nelem == n);
}

static int read_counts(const bt_tensor *count, bt_statistic *out)
{
    uint64_t *const to[] = { &out->nsample, &out->nelem, &out->nbad };
    for (uint32_t i = 0; i < BT_COUNT(to); i++) {
        const int64_t n = bt_tensor_get_int(count, i);
        if (n < 0)
            return 0;
        *to[i] = (uint64_t)n;
    }
    return out->nbad <= out->nelem;
}

static int read_bins(bt_arena *arena, const bt_tensor *bins, bt_statistic *out)
{
    uint64_t *own = BT_NEWS(arena, uint64_t, (size_t)bins->nelem);
    uint64_t sum = 0;
    for (int64_t i = 0; own && i < bins->nelem; i++) {
        const int64_t n = bt_tensor_get_int(bins, i);
        own[i] = (uint64_t)n;
        sum += own[i];
        if (n < 0 || sum > out->nelem)
            return 0;
    }
    out->bins = own;
    out->nbin = (uint32_t)bins->nelem;
    return own != NULL;
}

bt_status statistics_find(bt_ctx *ctx, bt_arena *arena, const struct statistics *s,
                          const char *site, bt_statistic *out)
{
    const bt_tensor *range = entry(s, site, ".range"), *count = entry(s, site, ".count"),
                    *bins = entry(s, site, ".bins");
    if (!range)
        return bt_fail(ctx, BT_ERR_NAME, "%s has nothing of %s", s->path, site);
    *out = (bt_statistic){ .site = site };
    int ok = is_vector(range, BT_FLOAT64, 2) && is_vector(count, BT_INT64, 3) &&
             read_counts(count, out);
    if (ok) {
        out->low = bt_tensor_get(range, 0);
        out->high = bt_tensor_get(range, 1);
        ok = isfinite(out->low) && isfinite(out->high) && out->low <= out->high &&
             (!bins || (is_vector(bins, BT_INT64, -1) && bins->nelem > 0 &&
                        bins->nelem <= 1 << 20 && read_bins(arena, bins, out)));
    }
    return ok ? NULL
              : bt_fail(ctx, BT_ERR_FORMAT,
                        "%s: what it has of %s is no range of finite numbers with counts",
                        s->path, site);
}

bt_status statistics_moments(bt_ctx *ctx, bt_arena *arena, const struct statistics *s,
                             const char *site, int64_t n, bt_statistic *out)
{
    const bt_tensor *t = entry(s, site, ".moments");
    if (!t)
        return NULL;
    int ok = t->dtype == BT_FLOAT64 && t->rank == 2 && t->dims[0] == 2 && t->dims[1] == n;
    double *values = ok ? BT_NEWS(arena, double, 2 * (size_t)n) : NULL;
    if (ok && !values)
        return bt_no_memory();
    for (int64_t i = 0; ok && i < 2 * n; i++) {
        values[i] = bt_tensor_get(t, i);
        ok = isfinite(values[i]) && (i < n || values[i] >= 0);
    }
    if (!ok)
        return bt_fail(ctx, BT_ERR_FORMAT,
                       "%s: what it has of the moments of %s is no mean and variance of "
                       "%lld",
                       s->path, site, (long long)n);
    out->nmoment = (uint32_t)n;
    out->moment_mean = values;
    out->moment_variance = values + n;
    return NULL;
}
