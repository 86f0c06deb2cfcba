#include "build.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include <baton/compiler.h>

enum { MAX_LOG_LINES = 12, MAX_LOG = 1 << 20, MAX_BINARY = 1 << 28 };
#define MAX_CACHE ((uint64_t)256 << 20)

/* ---- a failed build ---- */

static const char *read_log(bt_arena *arena, struct ocl_instance *o, cl_program program)
{
    size_t nbytes = 0;
    if (o->cl.GetProgramBuildInfo(program, o->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                  &nbytes) ||
        !nbytes || nbytes > MAX_LOG)
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
    while (*log && n < MAX_LOG_LINES) {
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
        bt_status status = ocl_error_find(error)->kind != OCL_ERROR_OTHER
                               ? ocl_fail(ctx, o, error, "the kernels are not compiled")
                               : refuse(ctx, o, source, program, error);
        o->cl.ReleaseProgram(program);
        return status;
    }
    *out = program;
    return NULL;
}

/* ---- the cache ---- */

/* All that a built program depends on. */
static int digest_of(const struct ocl_instance *o, const bt_text *source, char out[65])
{
    const struct ocl_facts *f = &o->facts;
    bt_text key;
    bt_text_init(&key, source->arena);
    bt_text_addf(&key, "opencl program 1\n%s\n%s\n%s\n%s\n%s\n%s\n", f->name, f->vendor,
                 f->driver, f->version, f->platform, options_of(o));
    bt_text_add(&key, source->at, source->len);
    if (!key.failed)
        bt_digest(key.at, key.len, out);
    return !key.failed;
}

/* NULL: the driver does not take it, which it need not say why. */
static cl_program use_binary(struct ocl_instance *o, const bt_text *binary)
{
    const unsigned char *bytes = (const unsigned char *)binary->at;
    cl_int error = CL_SUCCESS, state = CL_SUCCESS;
    cl_program program = o->cl.CreateProgramWithBinary(
        o->context, 1, &o->device, &binary->len, &bytes, &state, &error);
    if (!program || o->cl.BuildProgram(program, 1, &o->device, options_of(o), NULL,
                                       NULL) == CL_SUCCESS)
        return program;
    (void)o->cl.ReleaseProgram(program);
    return NULL;
}

/* 0: the driver gives none. */
static int read_binary(struct ocl_instance *o, cl_program program, bt_text *out)
{
    size_t nbytes = 0;
    if (o->cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(nbytes), &nbytes,
                             NULL) ||
        !nbytes || nbytes > MAX_BINARY)
        return 0;
    unsigned char *bytes = bt_arena_alloc(out->arena, nbytes, 1);
    if (!bytes ||
        o->cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL))
        return 0;
    bt_text_add(out, (const char *)bytes, nbytes);
    return !out->failed;
}

bt_status ocl_build(bt_ctx *ctx, struct ocl_instance *o, const bt_text *source,
                    cl_program *out)
{
    bt_arena *arena = source->arena;
    char digest[65];
    bt_text binary;
    bt_text_init(&binary, arena);
    bt_cache *cache = bt_cache_open(ctx, arena, o->cache, MAX_CACHE);
    if (cache && !digest_of(o, source, digest))
        return bt_no_memory();
    *out = bt_cache_get(cache, digest, &binary) ? use_binary(o, &binary) : NULL;
    if (*out)
        return NULL;
    BT_TRY(build_text(ctx, o, source, out));
    bt_text_init(&binary, arena);
    if (cache && read_binary(o, *out, &binary))
        bt_cache_put(cache, digest, &binary);
    return NULL;
}
