/* Runs calls of strips in programs of loops, and refuses those that would touch what is
 * not theirs. */
#ifndef STRIP_RUN_H
#define STRIP_RUN_H

#include <string.h>

#include "loops_oracle.h"
#include "primitives/callee.h"
#include "primitives/nibbles.h"
#include "primitives/planes.h"

struct strip_run {
    bt_ctx *ctx;
    enum cpu_isa isa;
    uint64_t ncall;
    const char *
        counted; /* what names of calls begin with that are counted here; NULL: none are */
    uint32_t ncounted;
};

static inline int64_t within_rows(int64_t row, const int64_t *n)
{
    return row < 0 ? 0 : row < n[CPU_PLANES_HEIGHT] ? row : n[CPU_PLANES_HEIGHT] - 1;
}

/* Of windows over planes. No stride is negative; of rows that are read all columns count. */
static inline void planes_reach(uint32_t i, const int64_t *n, int64_t *low, int64_t *high)
{
    const int64_t step = n[CPU_PLANES_STEP] * (n[CPU_PLANES_ROWS] - 1);
    const int64_t first = within_rows(n[CPU_PLANES_TOP], n);
    const int64_t last =
        within_rows(n[CPU_PLANES_TOP] + step + n[CPU_PLANES_SIDE] - 1, n);
    const int64_t planes = n[CPU_PLANES_PLANES] - 1, rows = n[CPU_PLANES_ROWS] - 1;
    if (i == CPU_PLANES_Y)
        *high = planes * n[CPU_PLANES_Y_PLANE] + rows * n[CPU_PLANES_Y_ROW] +
                n[CPU_PLANES_COLUMNS] - 1;
    if (i == CPU_PLANES_X) {
        *low = first * n[CPU_PLANES_X_ROW];
        *high = planes * n[CPU_PLANES_X_PLANE] + last * n[CPU_PLANES_X_ROW] +
                n[CPU_PLANES_WIDTH] - 1;
    }
    if (i == CPU_PLANES_D && n[CPU_PLANES_D_ROW])
        *high = rows * n[CPU_PLANES_D_ROW] + n[CPU_PLANES_COLUMNS] - 1;
}

/* The same of the adjoint of maxima. */
static inline void first_reach(uint32_t i, const int64_t *n, int64_t *high)
{
    const int64_t planes = n[CPU_FIRST_PLANES] - 1;
    if (i == CPU_FIRST_G || i == CPU_FIRST_X)
        *high = planes * n[i == CPU_FIRST_G ? CPU_FIRST_G_PLANE : CPU_FIRST_X_PLANE] +
                (n[CPU_FIRST_HEIGHT] - 1) *
                    n[i == CPU_FIRST_G ? CPU_FIRST_G_ROW : CPU_FIRST_X_ROW] +
                n[CPU_FIRST_WIDTH] - 1;
    else
        *high = planes * n[CPU_FIRST_Y_PLANE] +
                (n[CPU_FIRST_ROWS] - 1) * n[CPU_FIRST_Y_ROW] + n[CPU_FIRST_COLUMNS] - 1;
}

/* Of rows by weights of 4 bits. */
static inline void nibbles_reach(uint32_t i, const int64_t *n, int64_t *high)
{
    const int64_t depth = n[CPU_NIBBLES_DEPTH], block = n[CPU_NIBBLES_BLOCK];
    const int64_t width = CPU_NIBBLES_WIDTH, columns = n[CPU_NIBBLES_COLUMNS];
    const int64_t all = (columns + width - 1) / width * width;
    if (i == CPU_NIBBLES_Y)
        *high = (n[CPU_NIBBLES_ROWS] - 1) * n[CPU_NIBBLES_Y_ROW] + columns - 1;
    if (i == CPU_NIBBLES_X)
        *high = n[CPU_NIBBLES_ROWS] * depth - 1;
    if (i == CPU_NIBBLES_Q)
        *high = all * (depth / CPU_NIBBLES_WORD) - 1;
    if (i == CPU_NIBBLES_S || (i == CPU_NIBBLES_Z && n[CPU_NIBBLES_HAS_ZEROS]))
        *high = all * ((depth + block - 1) / block) - 1;
}

/* Of rows that do not overlap, the first and the last of which may be met in part. */
static inline void rows_reach(const int64_t *n, int64_t *low, int64_t *high)
{
    const int64_t end = n[4] + n[0] - 1, last = end / n[1];
    const int64_t is_one = last == n[4] / n[1];
    *low = n[4] / n[1] * n[2] + (is_one ? n[4] % n[1] * n[3] : 0);
    *high = last * n[2] + end % n[1] * n[3];
}

/* Elements of operand `i` before and after its address; what reaches anywhere is for tests of
 * its own. */
static inline void strip_reach(const struct cpu_callee *row, uint32_t i, const int64_t *n,
                               int64_t *low, int64_t *high)
{
    const int access = cpu_form_of(row)->operands[i].access;
    const int64_t last = access == CPU_STRIDED ? (n[0] - 1) * n[1] : n[0] - 1;
    *low = access == CPU_STRIDED && last < 0 ? last : 0;
    *high = access == CPU_ONE || access == CPU_ANY || last < 0 ? 0 : last;
    if (row->form == CPU_ROWS && i == 1) {
        const int64_t furthest = (n[0] - 1) * n[2];
        *low = furthest < 0 ? furthest : 0;
        *high = (furthest > 0 ? furthest : 0) + n[1] - 1;
    }
    if ((row->form == CPU_LOAD_ROWS && i == 1) || (row->form == CPU_STORE_ROWS && i == 0))
        rows_reach(n, low, high);
    if (row->form == CPU_PLANES)
        planes_reach(i, n, low, high);
    if (row->form == CPU_PLANES_FIRST)
        first_reach(i, n, high);
    if (row->form == CPU_NIBBLES)
        nibbles_reach(i, n, high);
    const int is_window = row->form == CPU_WINDOW || row->form == CPU_WINDOW_FIRST ||
                          row->form == CPU_WINDOW_WHERE;
    if (!is_window || access != CPU_ANY)
        return;
    // no step is negative; without a row or an element of one nothing is read
    *high = (n[0] - 1) * n[1] + (n[2] - 1) * n[3] + (n[4] - 1) * n[5];
    if (n[2] <= 0 || n[4] <= 0)
        *low = INT64_MAX / 2, *high = INT64_MIN;
}

static inline bt_status strip_call(void *self, const char *callee, uint32_t narg,
                                   const struct call_value *args)
{
    struct strip_run *run = self;
    run->ncounted +=
        run->counted && strncmp(callee, run->counted, strlen(run->counted)) == 0;
    const struct cpu_callee *row = cpu_callee_find(run->isa, callee);
    const struct cpu_form *form = row ? cpu_form_of(row) : NULL;
    void *p[12];
    int64_t n[24];
    if (!row || narg != form->naddress + form->ninteger || form->naddress > BT_COUNT(p) ||
        form->ninteger > BT_COUNT(n))
        return bt_fail(run->ctx, BT_ERR_VERIFY, "%s is not called so", callee);
    for (uint32_t i = 0; i < form->naddress; i++)
        p[i] = args[i].address;
    for (uint32_t i = 0; i < form->ninteger; i++)
        n[i] = args[form->naddress + i].integer;
    if (form->work[1] < 0 && n[0] < 0)
        return bt_fail(run->ctx, BT_ERR_VERIFY, "%s: %lld elements", callee,
                       (long long)n[0]);
    for (uint32_t i = 0; i < form->naddress && n[0]; i++) {
        int64_t low, high, before = args[i].integer;
        strip_reach(row, i, n, &low, &high);
        if (low < -before || high >= args[i].nelem)
            return bt_fail(run->ctx, BT_ERR_VERIFY,
                           "%s: operand %u reaches %lld to %lld of %lld", callee, i,
                           (long long)low, (long long)high, (long long)args[i].nelem);
    }
    run->ncall++;
    row->run(p, n);
    return NULL;
}

#endif
