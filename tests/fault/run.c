/* Whole runs under failing memory: the executor on a small program in all its features,
 * and everything from the file to the outputs. */
#include "fault.h"
#include "kernel_check.h"

#include <baton/baton.h>
#include <baton/target.h>

static bt_status set_inputs(struct fault_world *w, bt_program *program)
{
    for (uint32_t i = 0; i < bt_program_ninput(program); i++) {
        const bt_port *port = bt_program_input(program, i);
        bt_tensor *tensor;
        BT_TRY(bt_tensor_create(w->ctx, port->dtype, (uint32_t)port->rank, port->dims,
                                &tensor));
        for (int64_t k = 0; k < tensor->nelem; k++)
            bt_tensor_set(tensor, k, 2);
        bt_status status = bt_program_set(program, port->name, &tensor->base);
        bt_tensor_unref(tensor);
        if (status)
            return status;
    }
    return NULL;
}

static bt_status open_program(struct fault_world *w, const char *pipeline,
                              const char *executor, bt_program **out)
{
    bt_program_options options = { .pipeline = pipeline,
                                   .executor = executor,
                                   .target = executor ? "reference" : NULL,
                                   .keeps_source = 1 };
    bt_program *program;
    BT_TRY(bt_program_open(w->ctx, w->scenario->input, &options, &program));
    bt_status status = set_inputs(w, program);
    if (status)
        bt_program_close(program);
    else
        *out = program;
    return status;
}

static bt_status write_outputs(struct fault_world *w, const void *program, bt_text *out)
{
    (void)w;
    for (uint32_t i = 0; i < bt_program_noutput(program); i++) {
        bt_object_print(bt_program_get(program, i), 100, out);
        bt_text_add(out, "\n", 1);
    }
    return NULL;
}

static bt_status run_program(struct fault_world *w, bt_program *program)
{
    BT_TRY(bt_program_run(program));
    return fault_result_of(w, write_outputs, program);
}

static bt_status begin(struct fault_world *w)
{
    bt_program *program = NULL;
    BT_TRY(open_program(w, "", NULL, &program));
    w->state = program;
    return NULL;
}

static bt_status begin_graph(struct fault_world *w)
{
    bt_program *program = NULL;
    BT_TRY(open_program(w, NULL, "graph", &program));
    w->state = program;
    return NULL;
}

static bt_status run_opened(struct fault_world *w)
{
    return run_program(w, w->state);
}

static bt_status run_recorded(struct fault_world *w)
{
    const bt_profile *profile;
    BT_TRY(bt_program_record(w->state, 1));
    BT_TRY(run_program(w, w->state));
    return bt_program_profile(w->state, &profile);
}

static bt_status check_opened(struct fault_world *w)
{
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    struct kernel_check check;
    bt_status status = check_kernels(w->ctx, scratch, w->state, &check);
    if (!status)
        fault_result(w, check.where ? check.where : "exact");
    bt_arena_release(scratch, mark);
    return status;
}

static void end(struct fault_world *w)
{
    bt_program_close(w->state);
}

static bt_status run_whole_by(struct fault_world *w, const char *executor)
{
    bt_program *program;
    BT_TRY(open_program(w, NULL, executor, &program));
    bt_status status = run_program(w, program);
    bt_program_close(program);
    return status;
}

static bt_status run_whole_interp(struct fault_world *w)
{
    return run_whole_by(w, "interp");
}

static bt_status run_whole_graph(struct fault_world *w)
{
    return run_whole_by(w, "graph");
}

#define PROGRAM(name) FAULT_PROGRAMS "/" name

const struct fault_scenario fault_run[] = {
    { .name = "run-language",
      .begin = begin,
      .run = run_opened,
      .end = end,
      .input = PROGRAM("language.baton") },
    { .name = "run-net",
      .begin = begin,
      .run = run_opened,
      .end = end,
      .input = PROGRAM("net.baton") },
    { .name = "open-language",
      .run = run_whole_interp,
      .input = PROGRAM("language.baton") },
    { .name = "open-net", .run = run_whole_interp, .input = PROGRAM("net.baton") },
    { .name = "run-graph",
      .begin = begin_graph,
      .run = run_recorded,
      .end = end,
      .input = PROGRAM("net.baton") },
    { .name = "check-graph",
      .begin = begin_graph,
      .run = check_opened,
      .end = end,
      .input = PROGRAM("dense.baton") },
    { .name = "open-graph", .run = run_whole_graph, .input = PROGRAM("net.baton") },
    { .name = "open-cold",
      .run = run_whole_interp,
      .input = PROGRAM("compile.baton"),
      .is_fresh = 1 },
    { 0 },
};
