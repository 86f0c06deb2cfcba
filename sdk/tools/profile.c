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

static void print_row(const bt_profile_row *row, double total, int width)
{
    char rate[32] = "", bytes[32] = "";
    if (gflops(row) >= 0)
        snprintf(rate, sizeof(rate), "%.2f", gflops(row));
    if (row->nbytes >= 0)
        snprintf(bytes, sizeof(bytes), "%lld", (long long)row->nbytes);
    printf("%6.1f %% %10.3f %7llu %9s %12s  %-*s%s%s\n",
           total > 0 ? 100 * (double)row->ns / total : 0, (double)row->ns / 1e6,
           (unsigned long long)row->ncall, rate, bytes, *row->sources ? width : 0,
           row->name, *row->sources ? "  " : "", row->sources);
}

void print_profile(const bt_profile *profile)
{
    int width = 4;
    for (uint32_t i = 0; i < profile->nrow; i++) {
        int n = (int)strlen(profile->rows[i].name);
        width = n > width ? n : width;
    }
    printf("profile: %.3f ms in %llu calls\n", total_ns(profile) / 1e6,
           (unsigned long long)(profile->nevent + profile->nleft_out));
    printf("%8s %10s %7s %9s %12s  %-*s  %s\n", "share", "ms", "calls", "GFLOP/s",
           "bytes", width, "what", "from");
    for (uint32_t i = 0; i < profile->nrow; i++)
        print_row(&profile->rows[i], total_ns(profile), width);
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

json_t *describe_profile(const bt_profile *profile)
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
                     (double)event->elapsed_ns / 1e3, "pid", 1, "tid", 1, "args", args);
}

int write_trace(struct tool *tool, const bt_profile *profile, const char *path)
{
    json_t *list = json_array();
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
