/* What samples give at each site, from runs of programs that observe to the file of statistics. */
#include <math.h>
#include <string.h>

#include "quantize.h"
#include "sample_run.h"

/* The function that quant-observe makes. */
#define OBSERVE "observe_sites"

/* ---- observing ---- */

/* What phase range gives of a site, in that order. */
enum { LEAST, GREATEST, NBAD, NELEM, NRANGE };

static void fold_range(int64_t n, double *row, const double *other)
{
    for (int64_t i = 0; i + NRANGE <= n; i += NRANGE) {
        row[i + LEAST] = fmin(row[i + LEAST], other[i + LEAST]);
        row[i + GREATEST] = fmax(row[i + GREATEST], other[i + GREATEST]);
        row[i + NBAD] += other[i + NBAD];
        row[i + NELEM] += other[i + NELEM];
    }
}

static void fold_counts(int64_t n, double *row, const double *other)
{
    for (int64_t i = 0; i < n; i++)
        row[i] += other[i];
}

static void take_range(void *self, int64_t sample, int64_t n, const double *row)
{
    struct quantize *q = self;
    (void)sample;
    for (uint32_t i = 0; i < q->nrow; i++) {
        struct row *r = &q->rows[i];
        if (r->constant || n < NRANGE)
            continue;
        const int any = row[LEAST] <= row[GREATEST];
        r->is_blind = row[NBAD] > 0 && !any;
        // nothing was seen: 0, 0
        r->low = any ? row[LEAST] : 0;
        r->high = any ? row[GREATEST] : 0;
        r->nbad = row[NBAD];
        r->nelem = row[NELEM];
        row += NRANGE;
        n -= NRANGE;
    }
}

static void take_bins(void *self, int64_t sample, int64_t n, const double *row)
{
    struct quantize *q = self;
    (void)sample;
    for (uint32_t i = 0; i < q->nrow; i++) {
        for (int64_t k = 0; q->bins[i] && k < q->bins[i]->nelem && n > 0; k++, n--)
            bt_tensor_set_int(q->bins[i], k, (int64_t)*row++);
    }
}

/* Means and means of squares, of which the sums are kept. */
static void take_moments(void *self, int64_t sample, int64_t n, const double *row)
{
    struct quantize *q = self;
    (void)sample;
    for (uint32_t i = 0; i < q->nrow; i++) {
        bt_tensor *sums = q->rows[i].moments;
        if (!q->rows[i].constant)
            continue;
        for (int64_t k = 0; sums && k < sums->nelem && k < n; k++)
            bt_tensor_set(sums, k, bt_tensor_get(sums, k) + row[k]);
        row += sums ? sums->nelem : 1;
        n -= sums ? sums->nelem : 1;
    }
}

/* As many as there are in the results of phase moments: two vectors of a weight, or a number. */
static bt_status make_moments(struct quantize *q, const bt_module *module)
{
    const bt_global *observe;
    BT_TRY(bt_module_entry(q->tool->ctx, module, OBSERVE, &observe));
    const bt_list_type *fields = bt_as_tuple_type(observe->func->result);
    uint32_t at = 0;
    for (uint32_t i = 0; i < q->nrow; i++) {
        int64_t dims[2] = { 2, 0 };
        if (!q->rows[i].constant)
            continue;
        const bt_shape_type *shape = bt_tensor_shape(fields->at[at]);
        at += shape->n ? 2 : 1;
        if (shape->n && bt_dim_is_const(shape->dims[0], &dims[1]))
            BT_TRY(
                bt_tensor_create(q->tool->ctx, BT_FLOAT64, 2, dims, &q->rows[i].moments));
    }
    return NULL;
}

/* Of the sums, mean and variance. */
static void finish_moments(const struct quantize *q)
{
    for (uint32_t i = 0; i < q->nrow; i++) {
        bt_tensor *t = q->rows[i].moments;
        const int64_t n = t ? t->dims[1] : 0;
        for (int64_t k = 0; k < n; k++) {
            const double mean = bt_tensor_get(t, k) / (double)q->nseen,
                         square = bt_tensor_get(t, n + k) / (double)q->nseen;
            bt_tensor_set(t, k, mean);
            bt_tensor_set(t, n + k, fmax(square - mean * mean, 0));
        }
    }
}

void begin_run(const struct quantize *q, struct sample_run *run)
{
    run->tool = q->tool;
    run->folder = q->data;
    run->factor = q->factor;
    run->nsample = q->nsample;
    run->nprocess = (uint32_t)q->nprocess;
    run->work = q->work;
    run->self = (void *)(uintptr_t)q;
}

int observe(struct quantize *q, const char *phase, const bt_module *from,
            struct sample_run *run)
{
    bt_module *module;
    const char *models[2] = { tool_text(q->tool, "%s/%s.baton", q->work, phase), NULL };
    const char *passes = tool_text(
        q->tool, "quant-observe{phase=\"%s\", name=\"" OBSERVE "\", statistics=%s}",
        phase, quoted(q, q->statistics));
    TRY_TOOL(q->tool, run_passes(q, from, passes, &module));
    bt_status status = strcmp(phase, "moments") == 0 ? make_moments(q, module) : NULL;
    int code = status ? tool_fail(q->tool, status) : write_model(q, module, phase);
    bt_module_unref(module);
    begin_run(q, run);
    run->models = models;
    run->entry = OBSERVE;
    if (!code)
        code = run_samples(run);
    q->nseen = run->ndone;
    return code;
}

/* ---- the file of statistics ---- */

static bt_status add_entry(struct quantize *q, bt_npz_entry *entry, bt_dtype dtype,
                           int64_t n, const double *values, const char *name,
                           const char *what)
{
    const int64_t dims[1] = { n };
    entry->name = tool_text(q->tool, "%s%s", name, what);
    if (!entry->name)
        return bt_no_memory();
    BT_TRY(bt_tensor_create(q->tool->ctx, dtype, 1, dims, &entry->tensor));
    for (int64_t i = 0; i < n; i++)
        bt_tensor_set(entry->tensor, i, values[i]);
    return NULL;
}

static bt_status fill_entries(struct quantize *q, bt_npz_entry *entries, uint32_t *n)
{
    BT_TRY(bt_tensor_create(q->tool->ctx, BT_UINT64, 0, NULL, &entries[0].tensor));
    bt_tensor_set_int(entries[0].tensor, 0, (int64_t)q->digest);
    entries[0].name = "program";
    *n = 1;
    for (uint32_t i = 0; i < q->nrow; i++) {
        const struct row *r = &q->rows[i];
        if (r->moments) {
            entries[*n].name = tool_text(q->tool, "%s.moments", r->name);
            entries[(*n)++].tensor = bt_tensor_ref(r->moments);
            if (!entries[*n - 1].name)
                return bt_no_memory();
        }
        if (r->constant)
            continue;
        BT_TRY(add_entry(q, &entries[(*n)++], BT_FLOAT64, 2,
                         (const double[]){ r->low, r->high }, r->name, ".range"));
        BT_TRY(add_entry(q, &entries[(*n)++], BT_INT64, 3,
                         (const double[]){ (double)q->nseen, r->nelem, r->nbad }, r->name,
                         ".count"));
        if (!q->bins[i])
            continue;
        entries[*n].name = tool_text(q->tool, "%s.bins", r->name);
        entries[(*n)++].tensor = bt_tensor_ref(q->bins[i]);
        if (!entries[*n - 1].name)
            return bt_no_memory();
    }
    return NULL;
}

static int write_statistics(struct quantize *q)
{
    bt_ctx *ctx = q->tool->ctx;
    bt_npz_entry *entries =
        BT_NEWS(bt_ctx_scratch(ctx), bt_npz_entry, 1 + 3 * (size_t)q->nrow);
    uint32_t n = 0;
    bt_text bytes;
    bt_text_init(&bytes, bt_ctx_scratch(ctx));
    bt_status status = entries ? fill_entries(q, entries, &n) : bt_no_memory();
    if (!status)
        status = bt_npz_write(ctx, n, entries, &bytes);
    if (!status)
        status = bytes.failed ? bt_no_memory()
                              : bt_file_write(ctx, q->statistics, bytes.at, bytes.len);
    for (uint32_t i = 0; i < n; i++)
        bt_tensor_unref(entries[i].tensor);
    return status ? tool_fail(q->tool, status) : EXIT_OK;
}

/* Numbers have been seen at all sites, if anything has. */
static bt_status check_seen(const struct quantize *q)
{
    for (uint32_t i = 0; i < q->nrow; i++) {
        if (q->rows[i].is_blind)
            return bt_fail(q->tool->ctx, BT_ERR_ARGUMENT,
                           "sample 0 of %s gives site %s nothing but NaN and infinities, "
                           "and so do all %lld: there is no range to learn",
                           q->data, q->rows[i].name, (long long)q->nseen);
    }
    return NULL;
}

int learn(struct quantize *q)
{
    const int64_t dims[1] = { 2048 };
    struct sample_run ranges = { .what = "ranges",
                                 .take = take_range,
                                 .fold = fold_range };
    struct sample_run moments = { .what = "moments", .take = take_moments };
    struct sample_run bins = { .what = "counts", .take = take_bins, .fold = fold_counts };
    int code = observe(q, "range", q->annotated, &ranges);
    if (!code)
        TRY_TOOL(q->tool, check_seen(q));
    if (!code && (q->needs & BT_STAT_MOMENTS)) {
        code = observe(q, "moments", q->annotated, &moments);
        finish_moments(q);
    }
    if (!code)
        code = write_statistics(q);
    if (code || !(q->needs & BT_STAT_BINS))
        return code;
    for (uint32_t i = 0; i < q->nrow; i++) {
        if (!q->rows[i].constant)
            TRY_TOOL(q->tool,
                     bt_tensor_create(q->tool->ctx, BT_INT64, 1, dims, &q->bins[i]));
    }
    code = observe(q, "bins", q->annotated, &bins);
    return code ? code : write_statistics(q);
}
