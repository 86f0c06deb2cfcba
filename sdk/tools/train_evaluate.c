/* What a model gives for samples beside what it should give: after an epoch, or all that is asked
 * for (--evaluate). */
#include <math.h>
#include <unistd.h>

#include "temporary.h"
#include "train.h"

/* Where the greatest number of a row is; of equal ones the first. */
static int64_t greatest(const bt_tensor *rows, int64_t row, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if (bt_tensor_get(rows, row * n + i) > bt_tensor_get(rows, row * n + best))
            best = i;
    }
    return best;
}

/* What the model gives for n samples from `at` on. A batch is filled up with the last of them. */
static bt_status try_samples(struct train *t, const struct train_data *data, int64_t at,
                             int64_t n, bt_training_result *out)
{
    for (int64_t i = 0; i < t->info->batch; i++)
        train_batch_fill(data, t->parts[0], i, at + (i < n ? i : n - 1));
    return t->trainer->evaluate(t->training, t->parts[0], out);
}

bt_status evaluate(struct train *t, const struct train_data *data, double *loss,
                   double *right)
{
    const int64_t n = train_data_len(data), batch = t->info->batch,
                  nclass = t->info->nclass;
    int64_t nright = 0;
    *loss = 0;
    for (int64_t at = 0; at < n; at += batch) {
        const int64_t here = n - at < batch ? n - at : batch;
        bt_training_result result;
        BT_TRY(try_samples(t, data, at, here, &result));
        const bt_tensor *rows = bt_object_as_tensor(result.results);
        for (int64_t i = 0; nclass && rows && i < here; i++)
            nright += greatest(rows, i, nclass) == train_data_class(data, at + i);
        *loss += result.loss * (double)batch;
        if (here < batch) { // without what filled it up
            BT_TRY(try_samples(t, data, n - 1, 1, &result));
            if (isfinite(result.loss)) // an infinite one leaves the sum infinite
                *loss -= result.loss * (double)(batch - here);
        }
    }
    *loss /= (double)n;
    *right = nclass ? (double)nright / (double)n : -1;
    return NULL;
}

/* ---- nothing but that ---- */

bt_status make_work_folder(struct train *t)
{
    BT_TRY(make_temporary(t->tool->ctx, "baton-train", t->work, sizeof(t->work)));
    t->folder = t->work;
    return NULL;
}

void remove_work_folder(const struct train *t)
{
    const char *path = tool_text(t->tool, "%s/step.baton", t->work);
    if (!*t->work)
        return;
    if (path)
        (void)unlink(path);
    (void)rmdir(t->work);
}

int run_evaluation(struct train *t)
{
    const struct train_data *const sets[] = { t->data, t->test };
    struct measured found[] = { { 0, NAN, -1 }, { 0, NAN, -1 } };
    const char *from = option_value(t->tool, "initialise");
    if (from)
        TRY_TOOL(t->tool, t->trainer->load(t->training, from, 1));
    for (uint32_t i = 0; i < BT_COUNT(sets); i++) {
        if (!sets[i])
            continue;
        found[i].nsample = train_data_len(sets[i]);
        TRY_TOOL(t->tool, evaluate(t, sets[i], &found[i].loss, &found[i].right));
    }
    show_evaluation(t, &found[0], &found[1]);
    return EXIT_OK;
}
