#include "profile.h"

#include <string.h>

#include "output.h"

static double total_ns(const bt_profile *profile)
{
    double sum = 0;
    for (uint32_t i = 0; i < profile->nrow; i++)
        sum += (double)profile->rows[i].ns;
    return sum;
}

/* Floating-point operations in a nanosecond; -1: not known. */
static double gflops(const bt_profile_row *row)
{
    if (row->multiply_adds < 0 || row->ns == 0)
        return -1;
    return 2 * (double)row->multiply_adds * (double)row->ncall / (double)row->ns;
}

/* Bytes at the borders of a call in a nanosecond; -1: not known. */
static double gbytes(const bt_profile_row *row)
{
    if (row->nbytes < 0 || row->ns == 0)
        return -1;
    return (double)row->nbytes * (double)row->ncall / (double)row->ns;
}

/* How the function of the row is computed; "": that is not known. */
static const char *way_of(const bt_profile_row *row, const struct profile_facts *facts)
{
    const bt_compiled *c = facts->compiled;
    for (uint32_t i = 0; c && i < c->nfunc; i++) {
        if (strcmp(c->funcs[i]->name, row->name) == 0)
            return c->funcs[i]->way;
    }
    return "";
}

/* ---- the table ---- */

enum { COLUMNS = 120, MAX_NAME = 26, MAX_WAY = 24 };

struct widths {
    int way, name;
};

/* Where a text ends of which `most` bytes may be shown, whole characters. */
static int end_of(const char *text, int most)
{
    int n = (int)strlen(text);
    if (n <= most)
        return n;
    for (n = most; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
        ;
    return n;
}

/* A text in so many columns: of a longer one the beginning and the end, which tells names
 * apart; returns what it took. */
static int print_short(const char *text, int columns)
{
    enum { TAIL = 10 };
    const int n = (int)strlen(text);
    if (n <= columns || columns <= TAIL + 2)
        return printf("%.*s", end_of(text, columns > 0 ? columns : 0), text);
    int tail = n - TAIL;
    while (((unsigned char)text[tail] & 0xc0) == 0x80)
        tail++;
    return printf("%.*s..%s", end_of(text, columns - TAIL - 2), text, text + tail);
}

static void print_padded(const char *text, int columns)
{
    for (int n = print_short(text, columns); n < columns; n++)
        putchar(' ');
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static struct widths measure(const bt_profile *profile, const struct profile_facts *facts)
{
    struct widths w = { 0, 4 };
    for (uint32_t i = 0; i < profile->nrow; i++) {
        const bt_profile_row *row = &profile->rows[i];
        const int name = smaller((int)strlen(row->name), MAX_NAME),
                  way = smaller((int)strlen(way_of(row, facts)), MAX_WAY);
        w.name = name > w.name ? name : w.name;
        w.way = way > w.way ? way : w.way;
    }
    if (w.way > 0 && w.way < 3) // that of its title
        w.way = 3;
    return w;
}

/* A number in a column; nothing where it is not known. */
static int print_rate(int width, int digits, double rate)
{
    return rate < 0 ? printf("%*s", width, "") : printf("%*.*f", width, digits, rate);
}

static void print_row(const bt_profile_row *row, double total, const struct widths *w,
                      const struct profile_facts *facts)
{
    int n = printf("%6.1f %% %9.3f %6llu", total > 0 ? 100 * (double)row->ns / total : 0,
                   (double)row->ns / 1e6, (unsigned long long)row->ncall);
    n += print_rate(9, 2, gflops(row));
    if (facts->peak > 0 && gflops(row) >= 0)
        n += printf("%6.1f %%", 1e11 * gflops(row) / facts->peak);
    else if (facts->peak > 0)
        n += printf("%8s", "");
    n += print_rate(8, 2, gbytes(row));
    n += printf("  ");
    if (w->way) {
        print_padded(way_of(row, facts), w->way);
        n += w->way + printf("  ");
    }
    if (*row->sources) {
        print_padded(row->name, w->name);
        n += w->name + printf("  ");
        print_short(row->sources, COLUMNS - n);
    } else {
        print_short(row->name, COLUMNS - n);
    }
    putchar('\n');
}

void print_profile(const bt_profile *profile, const struct profile_facts *facts)
{
    const struct widths w = measure(profile, facts);
    printf("profile: %.3f ms in %llu calls\n", total_ns(profile) / 1e6,
           (unsigned long long)(profile->nevent + profile->nleft_out));
    printf("%8s %9s %6s%9s", "share", "ms", "calls", "GFLOP/s");
    if (facts->peak > 0)
        printf("%8s", "peak");
    printf("%8s  ", "GB/s");
    if (w.way)
        printf("%-*s  ", w.way, "way");
    printf("%-*s  from\n", w.name, "what");
    for (uint32_t i = 0; i < profile->nrow; i++)
        print_row(&profile->rows[i], total_ns(profile), &w, facts);
    for (uint32_t i = 0; i < profile->ndim; i++) {
        const bt_profile_dim *dim = &profile->dims[i];
        printf("dim %s=%lld in %llu run%s\n", dim->name, (long long)dim->value,
               (unsigned long long)dim->nrun, PLURAL(dim->nrun));
    }
    for (uint32_t i = 0; i < profile->nfunction; i++) {
        const bt_profile_function *f = &profile->functions[i];
        printf("function %s in %llu call%s\n", f->name, (unsigned long long)f->ncall,
               PLURAL(f->ncall));
    }
}

/* ---- JSON ---- */

json_t *describe_profile(const bt_profile *profile, const struct profile_facts *facts)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < profile->nrow; i++) {
        const bt_profile_row *row = &profile->rows[i];
        json_t *item =
            json_pack("{s:s, s:s, s:I, s:f}", "name", row->name, "from", row->sources,
                      "calls", (json_int_t)row->ncall, "ms", (double)row->ns / 1e6);
        if (row->multiply_adds >= 0)
            json_object_set_new(item, "multiply_adds", json_integer(row->multiply_adds));
        if (gflops(row) >= 0)
            json_object_set_new(item, "gflops", json_real(gflops(row)));
        if (row->nbytes >= 0)
            json_object_set_new(item, "bytes", json_integer(row->nbytes));
        if (facts->peak > 0 && gflops(row) >= 0)
            json_object_set_new(item, "peak_share",
                                json_real(1e9 * gflops(row) / facts->peak));
        if (gbytes(row) >= 0)
            json_object_set_new(item, "gbytes_per_second", json_real(gbytes(row)));
        if (*way_of(row, facts))
            json_object_set_new(item, "way", json_string(way_of(row, facts)));
        json_array_append_new(list, item);
    }
    return list;
}

json_t *describe_dims(const bt_profile *profile)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < profile->ndim; i++) {
        const bt_profile_dim *dim = &profile->dims[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "name", dim->name,
                                              "value", (json_int_t)dim->value, "runs",
                                              (json_int_t)dim->nrun));
    }
    return list;
}

json_t *describe_functions(const bt_profile *profile)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < profile->nfunction; i++) {
        const bt_profile_function *f = &profile->functions[i];
        json_array_append_new(list, json_pack("{s:s, s:I}", "name", f->name, "calls",
                                              (json_int_t)f->ncall));
    }
    return list;
}

/* "X": an event with its length; times are microseconds. */
static json_t *describe_event(const bt_profile *profile, const bt_profile_event *event)
{
    const bt_profile_row *row = &profile->rows[event->row];
    json_t *args = json_pack("{s:s}", "from", row->sources);
    if (row->multiply_adds >= 0)
        json_object_set_new(args, "multiply_adds", json_integer(row->multiply_adds));
    if (row->nbytes >= 0)
        json_object_set_new(args, "bytes", json_integer(row->nbytes));
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:i, s:i, s:o}", "name", row->name, "cat",
                     "baton", "ph", "X", "ts", (double)event->start_ns / 1e3, "dur",
                     (double)event->elapsed_ns / 1e3, "pid", 1, "tid",
                     (int)event->track + 1, "args", args);
}

/* "M": what a track is called. */
static json_t *describe_track(const bt_profile *profile, uint32_t track)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "name", "thread_name", "ph", "M",
                     "pid", 1, "tid", (int)track + 1, "args", "name",
                     profile->tracks[track]);
}

int write_trace(struct tool *tool, const bt_profile *profile, const char *path)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < profile->ntrack; i++)
        json_array_append_new(list, describe_track(profile, i));
    for (uint32_t i = 0; i < profile->nevent; i++)
        json_array_append_new(list, describe_event(profile, &profile->events[i]));
    json_t *all = json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", list);
    const char *text = json_text(bt_ctx_scratch(tool->ctx), all);
    if (!text)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool, bt_file_write(tool->ctx, path, text, strlen(text)));
    if (profile->nleft_out)
        fprintf(
            stderr,
            "note: %s has the first %u calls; %llu that came after them are left out\n",
            path, profile->nevent, (unsigned long long)profile->nleft_out);
    return EXIT_OK;
}
