/* What a training tells: a line of progress, points as lines, CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
#include "train.h"

enum { BAR = 16, LEARNED_NBYTES = 96 /* of a line of names: those behind it are ".." */ };

double seconds_of(const struct train *t)
{
    return t->seconds + (double)(bt_now_ns() - t->start) * 1e-9;
}

/* "1:02:03", "2:03" */
static const char *time_text(double seconds, char *out, size_t nbytes)
{
    const long long s = seconds > 0 && seconds < 1e9 ? (long long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(out, nbytes, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, nbytes, "%lld:%02lld", s / 60, s % 60);
    return out;
}

static double loss_of(const struct sum *sum)
{
    return sum->nstep ? sum->loss / (double)sum->nstep : NAN;
}

/* The share of samples that are right; -1: there are no classes. */
static double right_of(const struct train *t, const struct sum *sum)
{
    const int64_t n = sum->nstep * t->nmicro * t->info->batch;
    return t->info->nclass && n ? (double)sum->nright / (double)n : -1;
}

void show_learned(const struct train *t)
{
    bt_text line;
    bt_text_init(&line, bt_ctx_scratch(t->tool->ctx));
    for (uint32_t i = 0; i < t->info->nparam; i++) {
        const bt_training_param *param = &t->info->params[i];
        if (line.len > LEARNED_NBYTES) {
            bt_text_addf(&line, ", ..");
            break;
        }
        bt_text_addf(&line, "%s%s (", i ? ", " : "", param->name);
        for (uint32_t k = 0; k < param->value->rank; k++)
            bt_text_addf(&line, "%s%lld", k ? ", " : "",
                         (long long)param->value->dims[k]);
        bt_text_addf(&line, ")");
    }
    if (bt_text_get(&line))
        printf("learned: %s\n", line.at);
}

void show_step(const struct train *t)
{
    const int64_t all = t->nepoch * t->nper_epoch, done = t->info->step,
                  epoch = (done - 1) / t->nper_epoch + 1;
    const double part = all ? (double)done / (double)all : 1;
    const double per_step = (double)(bt_now_ns() - t->start) / (double)(done - t->begin);
    char bar[BAR + 1], left[32], right[16] = "";
    for (int i = 0; i < BAR; i++)
        bar[i] = (double)i < part * BAR ? '#' : '-';
    bar[BAR] = 0;
    if (t->info->nclass)
        snprintf(right, sizeof(right), "  %.2f %%", 100 * right_of(t, &t->epoch));
    say_progress("[%s] epoch %lld/%lld  loss %.4f%s  %s left", bar, (long long)epoch,
                 (long long)t->nepoch, loss_of(&t->epoch), right,
                 time_text(per_step * (double)(all - done) * 1e-9, left, sizeof(left)));
}

/* ---- points ---- */

/* A number as JSON and CSV have it; nothing where there is none. */
static const char *number_text(const struct train *t, double x, const char *none)
{
    const char *text = isfinite(x) && x != -1 ? tool_text(t->tool, "%.6g", x) : none;
    return text ? text : none;
}

/* As CSV has it: nothing where there was no test, and nan where it gave no number. */
static const char *test_loss_text(const struct train *t, const struct point *p)
{
    const double x = isnan(p->test_loss) ? (double)NAN : p->test_loss; // without a sign
    const char *text = isnan(p->test_right) ? "" : tool_text(t->tool, "%.6g", x);
    return text ? text : "";
}

static void print_json(const struct train *t, const struct point *p)
{
    printf("{\"epoch\": %lld, \"step\": %lld, \"loss\": %s, \"accuracy\": %s, "
           "\"test_loss\": "
           "%s, \"test_accuracy\": %s, \"seconds\": %.3f}\n",
           (long long)p->epoch, (long long)p->step, number_text(t, p->loss, "null"),
           number_text(t, p->right, "null"), number_text(t, p->test_loss, "null"),
           number_text(t, p->test_right, "null"), p->seconds);
    fflush(stdout);
}

static void print_point(const struct train *t, const struct point *p)
{
    clear_progress();
    printf("epoch %lld/%lld  loss %.4f", (long long)p->epoch, (long long)t->nepoch,
           loss_of(&t->epoch));
    if (p->right >= 0)
        printf("  right %.2f %%", 100 * right_of(t, &t->epoch));
    if (!isnan(p->test_right))
        printf("  test loss %.4f", isnan(p->test_loss) ? (double)NAN : p->test_loss);
    if (isfinite(p->test_right) && p->test_right >= 0)
        printf("  right %.2f %%", 100 * p->test_right);
    printf("  %.1f s\n", p->seconds);
    fflush(stdout);
}

bt_status add_point(struct train *t, double test_loss, double test_right)
{
    const struct point p = {
        .epoch = (t->info->step - 1) / t->nper_epoch + 1,
        .step = t->info->step,
        .loss = loss_of(&t->since),
        .right = right_of(t, &t->since),
        .test_loss = test_loss,
        .test_right = test_right,
        .seconds = seconds_of(t),
    };
    const int is_end = t->info->step % t->nper_epoch == 0;
    if (!BT_PUSH(t->kept, &t->points, p))
        return bt_no_memory();
    if (t->is_quiet)
        print_json(t, &p);
    else if (is_end)
        print_point(t, &p);
    t->since = (struct sum){ 0 };
    if (is_end)
        t->epoch = (struct sum){ 0 };
    return NULL;
}

/* ---- an evaluation ---- */

static void print_measured(const struct measured *m, const char *before)
{
    printf("%lld sample%s  %sloss %.4f", (long long)m->nsample, PLURAL(m->nsample),
           before, m->loss);
    if (m->right >= 0)
        printf("  right %.2f %%", 100 * m->right);
    printf("\n");
}

void show_evaluation(const struct train *t, const struct measured *data,
                     const struct measured *test)
{
    if (t->is_quiet) {
        printf("{\"samples\": %lld, \"loss\": %s, \"accuracy\": %s, \"test_samples\": "
               "%lld, \"test_loss\": %s, \"test_accuracy\": %s}\n",
               (long long)data->nsample, number_text(t, data->loss, "null"),
               number_text(t, data->right, "null"), (long long)test->nsample,
               number_text(t, test->loss, "null"), number_text(t, test->right, "null"));
        return;
    }
    print_measured(data, "");
    if (test->nsample)
        print_measured(test, "test ");
}

/* ---- curve.csv ---- */

static const char HEAD[] = "epoch,step,loss,accuracy,test_loss,test_accuracy,seconds\n";

bt_status write_curves(const struct train *t)
{
    bt_ctx *ctx = t->tool->ctx;
    const void *mark = bt_arena_mark(bt_ctx_scratch(ctx));
    const char *csv = tool_text(t->tool, "%s/curve.csv", t->folder),
               *svg = tool_text(t->tool, "%s/curve.svg", t->folder);
    bt_text text, drawing;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_init(&drawing, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%s", HEAD);
    for (uint32_t i = 0; i < t->points.len; i++) {
        const struct point *p = &t->points.at[i];
        bt_text_addf(&text, "%lld,%lld,%s,%s,%s,%s,%.3f\n", (long long)p->epoch,
                     (long long)p->step, number_text(t, p->loss, ""),
                     number_text(t, p->right, ""), test_loss_text(t, p),
                     number_text(t, p->test_right, ""), p->seconds);
    }
    draw_curves(t, &drawing);
    if (!csv || !svg || !bt_text_get(&text) || !bt_text_get(&drawing))
        return bt_no_memory();
    BT_TRY(bt_file_write(ctx, csv, text.at, text.len));
    BT_TRY(bt_file_write(ctx, svg, drawing.at, drawing.len));
    bt_arena_release(bt_ctx_scratch(ctx), mark);
    return NULL;
}

/* The next number of a line; `none` where nothing stands. */
static double take_number(const char **at, double none)
{
    double number = none;
    *at += bt_number_read(*at, &number);
    if (**at == ',')
        ++*at;
    return number;
}

bt_status read_points(struct train *t, int64_t step)
{
    bt_ctx *ctx = t->tool->ctx;
    const char *path = tool_text(t->tool, "%s/curve.csv", t->folder);
    bt_file *file;
    if (!path)
        return bt_no_memory();
    if (access(path, F_OK) != 0)
        return NULL; // the curve begins anew
    BT_TRY(bt_file_read(ctx, path, &file));
    const char *at = file->bytes;
    bt_status status = NULL;
    if (strncmp(at, HEAD, sizeof(HEAD) - 1) != 0)
        status = bt_fail(ctx, BT_ERR_FORMAT,
                         "%s is no curve of a training: move it away, and it begins anew",
                         path);
    for (at = strchr(at, '\n'); !status && at && at[1]; at = strchr(at, '\n')) {
        struct point p;
        at++;
        p.epoch = (int64_t)take_number(&at, 0);
        p.step = (int64_t)take_number(&at, 0);
        p.loss = take_number(&at, NAN);
        p.right = take_number(&at, -1);
        const int is_tested = *at != ',';
        p.test_loss = take_number(&at, NAN);
        p.test_right = take_number(&at, is_tested ? -1 : NAN);
        p.seconds = take_number(&at, 0);
        if (p.step > step)
            break;
        t->seconds = p.seconds;
        if (!BT_PUSH(t->kept, &t->points, p))
            status = bt_no_memory();
    }
    bt_file_close(ctx, file);
    return status;
}
