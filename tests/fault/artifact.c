/* Compiled programs under failing memory: made, written, read, loaded, run. */
#include "fault.h"

#include <baton/artifact.h>
#include <baton/baton.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM FAULT_PROGRAMS "/compile.baton"

static const bt_program_options options = { .pipeline = "", .target = "reference" };

/* Of this process alone; the same in each try. */
static const char *artifact_path(void)
{
    static char path[300];
    snprintf(path, sizeof(path), FAULT_FOLDER "/artifact.%d", (int)getpid());
    return path;
}

static void end(struct fault_world *w)
{
    bt_compiled_unref(w->state);
    w->state = NULL;
    unlink(artifact_path());
}

static void add_digest(struct fault_world *w)
{
    char digest[65];
    size_t nbytes;
    char *bytes = fault_read(artifact_path(), &nbytes);
    bt_digest(bytes, nbytes, digest);
    free(bytes);
    fault_result(w, digest);
}

static bt_status run_compile(struct fault_world *w)
{
    BT_TRY(bt_program_compile(w->ctx, PROGRAM, &options, artifact_path()));
    add_digest(w);
    return NULL;
}

static bt_status begin_file(struct fault_world *w)
{
    return bt_program_compile(w->ctx, PROGRAM, &options, artifact_path());
}

static bt_status begin_loaded(struct fault_world *w)
{
    bt_artifact *a;
    bt_compiled *compiled = NULL;
    BT_TRY(begin_file(w));
    BT_TRY(bt_artifact_read(w->ctx, artifact_path(), &a));
    bt_status status = bt_artifact_load(w->ctx, a, NULL, &compiled);
    bt_artifact_close(a);
    w->state = compiled;
    return status;
}

static bt_status run_write(struct fault_world *w)
{
    BT_TRY(bt_artifact_write(w->ctx, w->state, 1, artifact_path()));
    add_digest(w);
    return NULL;
}

static bt_status write_artifact(struct fault_world *w, const void *artifact, bt_text *out)
{
    const bt_artifact *a = artifact;
    bt_text_addf(out, "%s %s %u kernels %u constants\n", a->entry, a->targets[0].text,
                 a->nkernel, a->nconstant);
    return bt_print(w->ctx, a->module, NULL, out);
}

static bt_status run_read(struct fault_world *w)
{
    bt_artifact *a;
    BT_TRY(bt_artifact_read(w->ctx, artifact_path(), &a));
    bt_status status = fault_result_of(w, write_artifact, a);
    bt_artifact_close(a);
    return status;
}

static bt_status run_load(struct fault_world *w)
{
    bt_artifact *a;
    bt_compiled *compiled;
    BT_TRY(bt_artifact_read(w->ctx, artifact_path(), &a));
    bt_status status = bt_artifact_load(w->ctx, a, NULL, &compiled);
    bt_artifact_close(a);
    if (!status) {
        fault_result(w, compiled->kernels[0]->name);
        bt_compiled_unref(compiled);
    }
    return status;
}

static bt_status write_outputs(struct fault_world *w, const void *program, bt_text *out)
{
    (void)w;
    for (uint32_t i = 0; i < bt_program_noutput(program); i++) {
        bt_text_addf(out, "%s ", bt_program_output(program, i)->name);
        bt_object_print(bt_program_get(program, i), 100, out);
    }
    return NULL;
}

static bt_status call(struct fault_world *w, bt_program *program)
{
    bt_tensor *x;
    BT_TRY(bt_tensor_create(w->ctx, BT_FLOAT32, 2, (const int64_t[]){ 2, 3 }, &x));
    bt_tensor_set(x, 1, 2);
    bt_status status = bt_program_set(program, "x", &x->base);
    bt_tensor_unref(x);
    BT_TRY(status);
    BT_TRY(bt_program_run(program));
    return fault_result_of(w, write_outputs, program);
}

static bt_status run_open(struct fault_world *w)
{
    bt_program *program;
    BT_TRY(bt_program_open(w->ctx, artifact_path(), NULL, &program));
    bt_status status = call(w, program);
    bt_program_close(program);
    return status;
}

/* ---- as C ---- */

static const char *folder_path(void)
{
    static char path[300];
    snprintf(path, sizeof(path), FAULT_FOLDER "/written.%d", (int)getpid());
    return path;
}

static void end_written(struct fault_world *w)
{
    static const char *const files[] = { "p.h",
                                         "p.c",
                                         "p_data.c",
                                         "p_kernels_0.c",
                                         "main.c",
                                         "CMakeLists.txt",
                                         "baton/kernel.h",
                                         "baton/plain.h",
                                         "baton",
                                         "" };
    char path[400];
    (void)w;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder_path(), files[i]);
        remove(path);
    }
}

/* Files of C: one where memory ended is written in part or not at all, and then again. */
static bt_status run_written(struct fault_world *w)
{
    static const bt_program_options how = { .pipeline = "",
                                            .executor = "aot{name=\"p\"}" };
    char path[400], digest[65];
    size_t nbytes;
    BT_TRY(
        bt_program_compile(w->ctx, FAULT_PROGRAMS "/written.baton", &how, folder_path()));
    snprintf(path, sizeof(path), "%s/p.c", folder_path());
    char *bytes = fault_read(path, &nbytes);
    bt_digest(bytes, nbytes, digest);
    free(bytes);
    fault_result(w, digest);
    return NULL;
}

const struct fault_scenario fault_artifact[] = {
    { .name = "artifact-compile", .run = run_compile, .end = end },
    { .name = "artifact-write", .begin = begin_loaded, .run = run_write, .end = end },
    { .name = "artifact-read", .begin = begin_file, .run = run_read, .end = end },
    { .name = "artifact-load", .begin = begin_file, .run = run_load, .end = end },
    { .name = "artifact-open", .begin = begin_file, .run = run_open, .end = end },
    { .name = "artifact-written", .run = run_written, .end = end_written },
    { 0 },
};
