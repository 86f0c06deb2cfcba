#include "build.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LOG_LINES = 12, MOST_LOG = 1 << 20 };

/* ---- a failed build ---- */

static const char *read_log(bt_arena *arena, struct ocl_instance *o, cl_program program)
{
    size_t nbytes = 0;
    if (o->cl.GetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &nbytes) ||
        !nbytes || nbytes > MOST_LOG)
        return "";
    char *log = bt_arena_alloc(arena, nbytes + 1, 1);
    if (!log || o->cl.GetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG,
                                          nbytes, log, NULL))
        return "";
    return log;
}

/* The first error's line and column: all compilers write "FILE:12:5" into its line, before
 * the word error or behind it. */
static int find_error(const char *log, unsigned long *line, unsigned long *column)
{
    for (const char *at = log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *end = at + strcspn(at, "\n"), *error = strstr(at, "error");
        if (!error || error > end)
            continue;
        for (const char *c = at; c < end; c++) {
            char *behind;
            if (*c != ':' || c[1] < '0' || c[1] > '9')
                continue;
            *line = strtoul(c + 1, &behind, 10);
            *column = *behind == ':' ? strtoul(behind + 1, NULL, 10) : 0;
            return *line > 0 && *line < UINT32_MAX && *column < UINT32_MAX;
        }
    }
    return 0;
}

static const char *line_of(bt_arena *arena, const char *text, unsigned long line)
{
    while (--line > 0 && (text = strchr(text, '\n')))
        text++;
    return text ? bt_arena_text(arena, text, strcspn(text, "\n")) : NULL;
}

static bt_status refuse(bt_ctx *ctx, struct ocl_instance *o, const bt_text *source,
                        cl_program program, cl_int error)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const char *log = read_log(scratch, o, program);
    unsigned long line = 0, column = 0;
    bt_place place = { .file = "kernels.cl", .width = 1 };
    if (find_error(log, &line, &column)) {
        place.line = (uint32_t)line;
        place.column = column ? (uint32_t)column : 1;
        place.text = line_of(scratch, source->at, line);
    }
    bt_status status =
        bt_fail_place(ctx, BT_ERR_PLUGIN, &place,
                      "target opencl: the compiler of device %s refuses the kernels "
                      "(error %d)",
                      o->facts.name, error);
    uint32_t n = 0;
    while (*log && n < MOST_LOG_LINES) {
        const size_t len = strcspn(log, "\n");
        if (len && ++n)
            status =
                bt_note(ctx, status, NULL, 0, "%.*s", len < 400 ? (int)len : 400, log);
        log += len + (log[len] == '\n');
    }
    if (!n)
        status = bt_note(ctx, status, NULL, 0, "it gives no reason");
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- building ---- */

static const char *options_of(const struct ocl_instance *o)
{
    return o->facts.rounds_correctly
               ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
               : "-cl-std=CL1.2";
}

static bt_status build_text(bt_ctx *ctx, struct ocl_instance *o, const bt_text *source,
                            cl_program *out)
{
    const char *text = source->at;
    cl_int error = CL_SUCCESS;
    cl_program program =
        o->cl.CreateProgramWithSource(o->context, 1, &text, &source->len, &error);
    if (!program)
        return ocl_fail(ctx, o, error, "no program of %zu bytes of text", source->len);
    error = o->cl.BuildProgram(program, 1, &o->device, options_of(o), NULL, NULL);
    if (error != CL_SUCCESS) {
        bt_status status = error == -4 || error == -5 || error == -6
                               ? ocl_fail(ctx, o, error, "the kernels are not compiled")
                               : refuse(ctx, o, source, program, error);
        o->cl.ReleaseProgram(program);
        return status;
    }
    *out = program;
    return NULL;
}

bt_status ocl_build(bt_ctx *ctx, struct ocl_instance *o, const bt_text *source,
                    cl_program *out)
{
    return build_text(ctx, o, source, out);
}
