#include "sample_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress.h"
#include "sample_set.h"

enum { MAX_MODELS = 2 };

/* ---- a process ---- */

struct worker {
    struct sample_run *run;
    uint32_t index;
    uint32_t nmodel;
    bt_program *programs[MAX_MODELS];
    struct sample_set *set;
    FILE *out;
    int64_t n;          /* numbers of a row */
    double *row, *next; /* NULL before the first sample */
    int said;           /* where a byte is written for each sample */
};

static bt_status open_models(struct worker *w)
{
    const struct sample_run *run = w->run;
    const bt_program_options options = { .entry = run->entry,
                                         .target = "cpu{threads=1}" };
    for (; run->models[w->nmodel]; w->nmodel++)
        BT_TRY(bt_program_open(run->tool->ctx, run->models[w->nmodel], &options,
                               &w->programs[w->nmodel]));
    return sample_set_open(run->tool->ctx, run->folder, w->programs[0], run->factor,
                           &w->set);
}

static int64_t count_numbers(const bt_program *program)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < bt_program_noutput(program); i++) {
        const bt_tensor *tensor = bt_object_as_tensor(bt_program_get(program, i));
        n += tensor ? tensor->nelem : 0;
    }
    return n;
}

/* How many numbers there are, then these. */
static bt_status write_row(struct worker *w)
{
    return fwrite(&w->n, sizeof(w->n), 1, w->out) == 1 &&
                   fwrite(w->row, sizeof(*w->row), (size_t)w->n, w->out) == (size_t)w->n
               ? NULL
               : bt_fail(w->run->tool->ctx, BT_ERR_IO, "%s cannot be written to",
                         w->run->work);
}

static void read_results(const struct worker *w, double *row)
{
    for (uint32_t k = 0; k < w->nmodel; k++) {
        for (uint32_t i = 0; i < bt_program_noutput(w->programs[k]); i++) {
            const bt_tensor *tensor =
                bt_object_as_tensor(bt_program_get(w->programs[k], i));
            for (int64_t e = 0; tensor && e < tensor->nelem; e++)
                *row++ = bt_tensor_get(tensor, e);
        }
    }
}

static bt_status run_one(struct worker *w, int64_t sample)
{
    bt_arena *arena = bt_ctx_scratch(w->run->tool->ctx);
    const int is_first = w->row == NULL;
    int64_t n = 0;
    for (uint32_t k = 0; k < w->nmodel; k++) {
        BT_TRY(sample_set_give(w->set, sample, w->programs[k]));
        BT_TRY(bt_program_run(w->programs[k]));
        n += count_numbers(w->programs[k]);
    }
    if (is_first) {
        w->n = n;
        w->row = BT_NEWS(arena, double, (size_t)n);
        w->next = BT_NEWS(arena, double, (size_t)n);
    }
    if (!w->row || !w->next)
        return bt_no_memory();
    if (n != w->n)
        return bt_fail(w->run->tool->ctx, BT_ERR_UNSUPPORTED,
                       "results of samples have different sizes");
    read_results(w, is_first || !w->run->fold ? w->row : w->next);
    if (w->run->fold && !is_first)
        w->run->fold(n, w->row, w->next);
    return w->run->fold ? NULL : write_row(w);
}

static bt_status run_all(struct worker *w)
{
    BT_TRY(open_models(w));
    const int64_t there = sample_set_len(w->set), most = w->run->nsample,
                  n = most && most < there ? most : there;
    for (int64_t i = w->index; i < n; i += w->run->nprocess) {
        BT_TRY(run_one(w, i));
        if (write(w->said, "", 1) != 1)
            return bt_fail(w->run->tool->ctx, BT_ERR_IO, "the first process has gone");
    }
    return w->run->fold && w->row ? write_row(w) : NULL;
}

static const char *part_path(const struct sample_run *run, uint32_t index)
{
    return tool_text(run->tool, "%s/part.%u", run->work, index);
}

static int work(struct sample_run *run, uint32_t index, int said)
{
    struct worker w = { .run = run, .index = index, .said = said };
    const char *path = part_path(run, index);
    bt_status status = path ? NULL : bt_no_memory();
    w.out = path ? fopen(path, "wb") : NULL;
    if (!status && !w.out)
        status = bt_fail(run->tool->ctx, BT_ERR_IO, "%s: %s", path, strerror(errno));
    if (!status)
        status = run_all(&w);
    if (w.out && fclose(w.out) && !status)
        status = bt_fail(run->tool->ctx, BT_ERR_IO, "%s: %s", path, strerror(errno));
    sample_set_close(w.set);
    for (uint32_t k = 0; k < w.nmodel; k++)
        bt_program_close(w.programs[k]);
    // that of the first process is shown: the others' are the same
    return !status ? EXIT_OK : index ? EXIT_INPUT : tool_fail(run->tool, status);
}

/* ---- all of them ---- */

/* Until all have closed their end. */
static void follow(struct sample_run *run, int said)
{
    char bytes[256];
    run->ndone = 0;
    ssize_t n;
    while ((n = read(said, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
        run->ndone += n > 0 ? n : 0;
        say_progress("%s: %lld samples", run->what, (long long)run->ndone);
    }
}

static int await(const struct sample_run *run, const pid_t *pids, uint32_t n)
{
    int worst = EXIT_OK;
    for (uint32_t i = 0; i < n; i++) {
        int state = 0;
        while (waitpid(pids[i], &state, 0) < 0 && errno == EINTR)
            ;
        int code = WIFEXITED(state) ? WEXITSTATUS(state) : EXIT_FAULT;
        if (code == EXIT_FAULT)
            code = tool_fail(run->tool, bt_fail(run->tool->ctx, BT_ERR_INTERNAL,
                                                "a process that ran samples died"));
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int start(struct sample_run *run, int said[2], pid_t *pids)
{
    uint32_t n = 0;
    fflush(stdout);
    fflush(stderr);
    for (; n < run->nprocess; n++) {
        pids[n] = fork();
        if (pids[n] < 0)
            break;
        if (pids[n] == 0) {
            close(said[0]);
            _exit(work(run, n, said[1]));
        }
    }
    close(said[1]);
    follow(run, said[0]);
    close(said[0]);
    const int code = await(run, pids, n);
    return n < run->nprocess && !code
               ? tool_fail(run->tool,
                           bt_fail(run->tool->ctx, BT_ERR_IO,
                                   "no process can be made: %s", strerror(errno)))
               : code;
}

/* ---- what they gave ---- */

/* The next row of a part; *n 0 at its end. */
static bt_status read_row(bt_ctx *ctx, FILE *part, double **row, int64_t *n,
                          int64_t *room)
{
    bt_arena *arena = bt_ctx_scratch(ctx);
    *n = 0;
    if (fread(n, sizeof(*n), 1, part) != 1)
        return NULL;
    if (*n > *room) {
        *row = BT_NEWS(arena, double, (size_t)*n);
        *room = *n;
        if (!*row)
            return bt_no_memory();
    }
    return fread(*row, sizeof(**row), (size_t)*n, part) == (size_t)*n
               ? NULL
               : bt_fail(ctx, BT_ERR_IO, "what a process wrote is cut short");
}

static bt_status join_parts(struct sample_run *run, FILE **parts)
{
    double *row = NULL, *all = NULL;
    int64_t n, most = 0, room = 0;
    for (int64_t i = 0;; i++) {
        if (run->fold && i == run->nprocess)
            break;
        BT_TRY(read_row(run->tool->ctx, parts[i % run->nprocess], &row, &n, &room));
        if (!n)
            break;
        if (!run->fold) {
            run->take(run->self, i, n, row);
        } else if (!all) {
            all = row;
            most = n;
            row = NULL;
            room = 0;
        } else if (n == most) {
            run->fold(n, all, row);
        }
    }
    if (all)
        run->take(run->self, 0, most, all);
    return NULL;
}

static int join_all(struct sample_run *run)
{
    FILE **parts = BT_NEWS(bt_ctx_scratch(run->tool->ctx), FILE *, run->nprocess);
    bt_status status = parts ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < run->nprocess; i++) {
        const char *path = part_path(run, i);
        parts[i] = path ? fopen(path, "rb") : NULL;
        if (!parts[i])
            status = bt_fail(run->tool->ctx, BT_ERR_IO, "%s: %s", path ? path : "",
                             strerror(errno));
    }
    if (!status)
        status = join_parts(run, parts);
    for (uint32_t i = 0; parts && i < run->nprocess; i++) {
        if (parts[i])
            fclose(parts[i]);
    }
    return status ? tool_fail(run->tool, status) : EXIT_OK;
}

int run_samples(struct sample_run *run)
{
    int said[2];
    pid_t *pids = BT_NEWS(bt_ctx_scratch(run->tool->ctx), pid_t, run->nprocess);
    if (!pids || pipe(said))
        return tool_fail(run->tool,
                         pids ? bt_fail(run->tool->ctx, BT_ERR_IO, "no pipe can be made")
                              : bt_no_memory());
    int code = start(run, said, pids);
    clear_progress();
    if (!code)
        code = join_all(run);
    for (uint32_t i = 0; i < run->nprocess; i++) {
        const char *path = part_path(run, i);
        if (path)
            unlink(path);
    }
    return code;
}
