/*
 * Option --hot: values and ranges of open dims, or a file of profiles.
 *     {"dims": [{"name": "n", "value": 8, "runs": 2}]}
 *     {"dims": [{"name": "n", "value": 1, "runs": 5}]}      ->      n=1,8
 */
#include "hot.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <baton/target.h>

#include "output.h"

#define FILES "a file with what baton run --profile --json printed"

struct count {
    const char *name;
    int64_t value, nrun;
};

struct counts {
    struct tool *tool;
    const char *path;
    bt_arena *arena;
    bt_vec(struct count) rows;
};

/* ---- reading ---- */

static int add(struct counts *c, const struct count *row)
{
    for (uint32_t i = 0; i < c->rows.len; i++) {
        struct count *known = &c->rows.at[i];
        if (strcmp(known->name, row->name) == 0 && known->value == row->value)
            return bt_add_int64(known->nrun, row->nrun, &known->nrun);
    }
    const struct count copy = { bt_arena_text(c->arena, row->name, strlen(row->name)),
                                row->value, row->nrun };
    return copy.name && BT_PUSH(c->arena, &c->rows, copy);
}

/* One result of a run. 0: it has another form. */
static int read_dims(struct counts *c, const json_t *profile)
{
    const json_t *dims = json_object_get(profile, "dims");
    for (size_t i = 0; i < json_array_size(dims); i++) {
        const json_t *row = json_array_get(dims, i);
        const json_t *name = json_object_get(row, "name"),
                     *value = json_object_get(row, "value"),
                     *nrun = json_object_get(row, "runs");
        if (!json_is_string(name) || !json_is_integer(value) || !json_is_integer(nrun) ||
            json_integer_value(nrun) < 1 ||
            !add(c, &(struct count){ json_string_value(name), json_integer_value(value),
                                     json_integer_value(nrun) }))
            return 0;
    }
    return json_is_object(profile) && (!dims || json_is_array(dims));
}

static bt_status read_profiles(struct counts *c, const bt_file *file)
{
    const char *text = file->bytes;
    size_t at = strspn(text, " \t\r\n");
    while (at < file->nbytes) {
        json_error_t fault;
        json_t *profile =
            json_loadb(text + at, file->nbytes - at,
                       JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &fault);
        const int is_read = profile && read_dims(c, profile);
        json_decref(profile);
        if (!is_read)
            return bt_fail(c->tool->ctx, BT_ERR_ARGUMENT,
                           "--hot %s: byte %zu: %s; expected " FILES, c->path, at,
                           profile ? "this is no profile" : fault.text);
        at += (size_t)fault.position;
        at += strspn(text + at, " \t\r\n");
    }
    return NULL;
}

/* ---- choosing ---- */

static int by_runs(const void *a, const void *b)
{
    const struct count *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return x->nrun != y->nrun ? (x->nrun > y->nrun ? -1 : 1)
           : order            ? order
                              : (x->value > y->value) - (x->value < y->value);
}

/* Of each dim the values that runs had most often, as long as all combinations are no more
 * than the versions that a kernel can have. */
static uint32_t choose(const struct counts *c, struct count *chosen, const char **names,
                       uint32_t *ndim)
{
    uint32_t n[BT_MAX_VERSION_DIMS] = { 0 }, nchosen = 0;
    for (uint32_t i = 0; i < c->rows.len; i++) {
        uint32_t d = 0, nversion = 1;
        while (d < *ndim && strcmp(names[d], c->rows.at[i].name) != 0)
            d++;
        if (d == BT_MAX_VERSION_DIMS)
            continue;
        names[d] = c->rows.at[i].name;
        *ndim += d == *ndim;
        n[d]++;
        for (uint32_t k = 0; k < *ndim; k++)
            nversion *= n[k];
        if (nversion > BT_MAX_VERSIONS)
            n[d]--;
        else
            chosen[nchosen++] = c->rows.at[i];
    }
    return nchosen;
}

static bt_status say(struct counts *c, const char **out)
{
    struct count *chosen = BT_NEWS(c->arena, struct count, c->rows.len);
    const char *names[BT_MAX_VERSION_DIMS];
    uint32_t ndim = 0;
    bt_text text;
    bt_text_init(&text, c->arena);
    if (!chosen)
        return bt_no_memory();
    if (!c->rows.len)
        return bt_fail(c->tool->ctx, BT_ERR_ARGUMENT,
                       "--hot %s: the runs had no open dims; give --no-specialise to "
                       "baton run, which leaves them open",
                       c->path);
    qsort(c->rows.at, c->rows.len, sizeof(*c->rows.at), by_runs);
    const uint32_t n = choose(c, chosen, names, &ndim);
    for (uint32_t d = 0; d < ndim; d++) {
        const char *between = "=";
        bt_text_addf(&text, "%s%s", d ? " " : "", names[d]);
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(chosen[i].name, names[d]) != 0)
                continue;
            bt_text_addf(&text, "%s%" PRId64, between, chosen[i].value);
            between = ",";
        }
    }
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

int read_hot(struct tool *tool, const char **out)
{
    struct counts c = { .tool = tool, .arena = bt_ctx_scratch(tool->ctx) };
    bt_file *file;
    *out = c.path = option_value(tool, "hot");
    if (!c.path || strchr(c.path, '='))
        return EXIT_OK;
    bt_status status = bt_file_read(tool->ctx, c.path, &file);
    if (!status) {
        status = read_profiles(&c, file);
        bt_file_close(tool->ctx, file);
    } else {
        status = bt_note(
            tool->ctx, status, NULL, 0,
            "--hot takes ranges of dims, such as \"n=1,8..32 step 8\", or " FILES);
    }
    if (!status)
        status = say(&c, out);
    return status ? tool_fail(tool, status) : EXIT_OK;
}
