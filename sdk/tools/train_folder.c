/* The folder of a training: its checkpoints, of which the last two stay. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "train.h"

static const char BEGIN[] = "step-", END[] = ".safetensors";

/* "a/lenet.baton" -> "lenet.training" */
const char *default_folder(const struct tool *tool)
{
    const char *slash = strrchr(tool->args[0], '/');
    const char *name = slash ? slash + 1 : tool->args[0], *dot = strrchr(name, '.');
    const size_t n = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    return tool_text(tool, "%.*s.training", (int)n, name);
}

/* The step of a checkpoint by its name; -1: it is none. */
static int64_t step_of(const char *name)
{
    const size_t n = strlen(name), begin = sizeof(BEGIN) - 1, end = sizeof(END) - 1;
    char *rest;
    if (n <= begin + end || strncmp(name, BEGIN, begin) != 0 ||
        strcmp(name + n - end, END) != 0)
        return -1;
    const long long step = strtoll(name + begin, &rest, 10);
    return rest == name + n - end && step >= 0 ? step : -1;
}

static int is_checkpoint(const struct dirent *entry)
{
    return step_of(entry->d_name) >= 0;
}

static int by_step(const struct dirent **a, const struct dirent **b)
{
    const int64_t x = step_of((*a)->d_name), y = step_of((*b)->d_name);
    return x < y ? -1 : x > y;
}

static void free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
}

bt_status hold_folder(struct train *t)
{
    const int fd = open(t->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (t->hold >= 0 || (fd < 0 && errno == ENOENT)) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (fd < 0)
        return bt_fail(t->tool->ctx, BT_ERR_IO, "%s cannot be opened as a folder: %s",
                       t->folder, strerror(errno));
    // a file system that has no locks keeps nobody out
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return bt_fail(t->tool->ctx, BT_ERR_IO,
                       "another training is at work in %s: it goes on alone there, and "
                       "-o FOLDER begins one elsewhere",
                       t->folder);
    }
    t->hold = fd;
    return NULL;
}

bt_status last_checkpoint(struct train *t, const char **out)
{
    struct dirent **entries;
    const int n = scandir(t->folder, &entries, is_checkpoint, by_step);
    *out = NULL;
    if (n < 0 && errno == ENOENT)
        return NULL;
    if (n < 0)
        return bt_fail(t->tool->ctx, BT_ERR_IO, "%s cannot be read as a folder",
                       t->folder);
    bt_status status = NULL;
    if (n > 0) {
        *out = tool_text(t->tool, "%s/%s", t->folder, entries[n - 1]->d_name);
        status = *out ? NULL : bt_no_memory();
    }
    free_entries(entries, n);
    return status;
}

/* What cannot be removed stays: it harms nobody. */
static void remove_older(const struct train *t)
{
    struct dirent **entries;
    const int n = scandir(t->folder, &entries, is_checkpoint, by_step);
    for (int i = 0; i < n - 2; i++) {
        const char *path = tool_text(t->tool, "%s/%s", t->folder, entries[i]->d_name);
        if (path)
            (void)unlink(path);
    }
    if (n >= 0)
        free_entries(entries, n);
}

/* Steps, right samples, loss to the last bit. */
static const char *sum_text(const struct train *t, const struct sum *sum)
{
    return tool_text(t->tool, "%lld %lld %a", (long long)sum->nstep,
                     (long long)sum->nright, sum->loss);
}

static void read_sum(const char *text, struct sum *out)
{
    char *at;
    out->nstep = strtoll(text, &at, 10);
    out->nright = strtoll(at, &at, 10);
    out->loss = strtod(at, NULL);
}

bt_status save_checkpoint(struct train *t)
{
    const char *path = tool_text(t->tool, "%s/%s%09lld%s", t->folder, BEGIN,
                                 (long long)t->info->step, END);
    const bt_training_note notes[] = {
        { "samples", tool_text(t->tool, "%lld", (long long)train_data_len(t->data)) },
        { "digest", t->digest },
        { "epochs", tool_text(t->tool, "%lld", (long long)t->nepoch) },
        { "since", sum_text(t, &t->since) },
        { "epoch", sum_text(t, &t->epoch) },
        { NULL, NULL },
    };
    for (uint32_t i = 0; notes[i].name; i++) {
        if (!notes[i].value || !path)
            return bt_no_memory();
    }
    BT_TRY(t->trainer->save(t->training, path, notes));
    remove_older(t);
    return NULL;
}

/* The checkpoint before one that is damaged may be whole; it is read to know. */
static bt_status name_whole(struct train *t, const char *torn, bt_status status)
{
    struct dirent **entries;
    const char *whole = NULL;
    const int n = scandir(t->folder, &entries, is_checkpoint, by_step);
    for (int i = n - 2; i >= 0 && !whole; i--) {
        const char *path = tool_text(t->tool, "%s/%s", t->folder, entries[i]->d_name);
        if (path && !t->trainer->load(t->training, path, 0))
            whole = path;
    }
    if (n >= 0)
        free_entries(entries, n);
    return whole ? bt_note(t->tool->ctx, status, NULL, 0,
                           "%s is whole: once %s is removed, --resume goes on from there",
                           whole, torn)
                 : bt_note(t->tool->ctx, status, NULL, 0,
                           "%s has no other checkpoint that is whole: -o FOLDER begins a "
                           "training elsewhere",
                           t->folder);
}

static const char *note(const struct train *t, const char *name)
{
    const char *text = t->trainer->note(t->training, name);
    return text ? text : "0";
}

/* A schedule is of all steps that are asked for, and these may be others now. */
static void tell_schedule(struct train *t, const char *path)
{
    const char *schedule = option_value(t->tool, "schedule"), *epochs = note(t, "epochs");
    const long long before = strtoll(epochs, NULL, 10);
    if (schedule && before && before != t->nepoch)
        bt_remark(t->tool->ctx, BT_REMARK_NOTE,
                  bt_fail(t->tool->ctx, BT_ERR_ARGUMENT,
                          "%s was written by a training of --epochs %lld: schedule %s "
                          "goes on as that of %lld from its start on",
                          path, before, schedule, (long long)t->nepoch));
}

bt_status resume_training(struct train *t)
{
    const char *path;
    BT_TRY(last_checkpoint(t, &path));
    if (!path)
        return bt_fail(t->tool->ctx, BT_ERR_ARGUMENT,
                       "%s has no checkpoint to go on from: without --resume a training "
                       "begins there",
                       t->folder);
    bt_status status = t->trainer->load(t->training, path, 0);
    if (status)
        return status->code == BT_ERR_FORMAT ? name_whole(t, path, status) : status;
    if (option_value(t->tool, "seed") && strtoll(note(t, "seed"), NULL, 10) != t->seed)
        return bt_fail(
            t->tool->ctx, BT_ERR_ARGUMENT,
            "%s was written by a training of --seed %s, which it goes on with: "
            "another seed is of another training (-o FOLDER)",
            path, note(t, "seed"));
    if (strtoll(note(t, "samples"), NULL, 10) != train_data_len(t->data))
        return bt_fail(
            t->tool->ctx, BT_ERR_ARGUMENT,
            "%s was written by a training on %s samples, and the data have %lld", path,
            note(t, "samples"), (long long)train_data_len(t->data));
    if (strcmp(note(t, "digest"), t->digest) != 0)
        return bt_fail(
            t->tool->ctx, BT_ERR_ARGUMENT,
            "%s was written by a training on other samples, labels or --factor "
            "than these: with those it goes on, and its parameters can be what "
            "a training on these begins with (--initialise)",
            path);
    tell_schedule(t, path);
    remove_older(t); // who was killed behind a checkpoint has left one more
    read_sum(note(t, "since"), &t->since);
    read_sum(note(t, "epoch"), &t->epoch);
    return read_points(t, t->info->step);
}
