/* baton bench: how long a program takes, and how much of the machine it uses. */
#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>

#include "input.h"
#include "output.h"
#include "profile.h"
#include "program_options.h"
#include "samples.h"
#include "target_options.h"
#include "verbs.h"

enum { MAX_WARM = 1000000 };

struct bench {
    struct tool *tool;
    bt_program *program;
    const char *const *inputs;          /* of -i, NULL-terminated; NULL: there is none */
    int64_t nthread, nwarm, nrun, seed; /* 0: as many threads as the target likes */
    struct samples samples;
    int64_t multiply_adds;     /* of one run; -1: not known */
    double peak;               /* flop/s of the machine; 0: not known */
    const bt_profile *profile; /* of one run after all others; NULL: not asked for */
};

/* ---- running ---- */

/* A tensor of known type and shape. */
static int is_known(const bt_port *port)
{
    int known = port->kind == BT_OBJECT_TENSOR && port->dtype && port->rank >= 0;
    for (int32_t k = 0; known && k < port->rank; k++)
        known = port->dims[k] >= 0;
    return known;
}

/* Lets runs write their results into tensors that are allocated once. */
static bt_status set_outputs(bt_ctx *ctx, bt_program *program)
{
    for (uint32_t i = 0; i < bt_program_noutput(program); i++) {
        const bt_port *port = bt_program_output(program, i);
        bt_tensor *tensor;
        if (!is_known(port))
            continue;
        BT_TRY(bt_tensor_create(ctx, port->dtype, (uint32_t)port->rank, port->dims,
                                &tensor));
        bt_status status = bt_program_set_output(program, i, tensor);
        bt_tensor_unref(tensor);
        BT_TRY(status);
    }
    return NULL;
}

static int is_like(const bt_port *a, const bt_port *b)
{
    return is_known(a) && is_known(b) && a->dtype == b->dtype && a->rank == b->rank &&
           (!a->rank ||
            memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims)) == 0);
}

/* Inputs are from now on the tensors that outputs of their type in their place are written into, as of
 * a step of training. A run has been. */
static bt_status join_outputs(bt_program *program)
{
    for (uint32_t i = 0;
         i < bt_program_noutput(program) && i < bt_program_ninput(program); i++) {
        if (is_like(bt_program_output(program, i), bt_program_input(program, i)))
            BT_TRY(bt_program_set_at(program, i, bt_program_get(program, i)));
    }
    return NULL;
}

/* The work of one run: what all of its calls take. */
static bt_status count_work(struct bench *b)
{
    const bt_profile *profile;
    BT_TRY(bt_program_record(b->program, 1));
    BT_TRY(bt_program_run(b->program));
    BT_TRY(bt_program_record(b->program, 0));
    BT_TRY(bt_program_profile(b->program, &profile));
    for (uint32_t i = 0; i < profile->nrow && b->multiply_adds >= 0; i++) {
        const bt_profile_row *row = &profile->rows[i];
        int64_t all;
        if (row->multiply_adds < 0 ||
            !bt_mul_int64(row->multiply_adds, (int64_t)row->ncall, &all) ||
            !bt_add_int64(b->multiply_adds, all, &b->multiply_adds))
            b->multiply_adds = -1;
    }
    return NULL;
}

/* Records one more run, after all memory has been allocated. */
static bt_status record_warm(struct bench *b)
{
    BT_TRY(bt_program_record(b->program, 1));
    BT_TRY(bt_program_run(b->program));
    return bt_program_profile(b->program, &b->profile);
}

/* What the first target that can tell makes of it; measured twice, as a machine's clock
 * goes up and down. */
static void measure_peak(struct bench *b)
{
    const bt_compiled *compiled = bt_program_compiled(b->program);
    for (uint32_t i = 0; compiled && i < compiled->ntarget; i++) {
        const bt_target_use *use = compiled->targets[i];
        if (!use->target->peak)
            continue;
        double peak = use->target->peak(use->instance, (uint32_t)b->nthread);
        b->peak = peak > b->peak ? peak : b->peak;
        return;
    }
}

static double flops(const struct bench *b)
{
    return b->multiply_adds < 0 ? -1 : 2e9 * (double)b->multiply_adds / b->samples.median;
}

/* ---- printing ---- */

static void print_targets(const bt_program *program)
{
    const bt_compiled *compiled = bt_program_compiled(program);
    for (uint32_t i = 0; compiled && i < compiled->ntarget; i++)
        printf("%s%s", i ? ", " : ", target ", compiled->targets[i]->text);
    putchar('\n');
}

static int print_bench(const struct bench *b)
{
    const struct samples *s = &b->samples;
    printf("executor %s", bt_program_executor(b->program));
    print_targets(b->program);
    // three digits of what takes less than a millisecond
    const int digits = s->median < 1e4   ? 6
                       : s->median < 1e5 ? 5
                       : s->median < 1e6 ? 4
                                         : 3;
    printf("median  %.*f ms\n", digits, s->median / 1e6);
    printf("spread  %.*f to %.*f ms (10 %% to 90 %%), least %.*f, most %.*f\n", digits,
           s->p10 / 1e6, digits, s->p90 / 1e6, digits, s->least / 1e6, digits,
           s->most / 1e6);
    printf("runs    %u, and %u left out that were interrupted\n", s->n, s->ndropped);
    if (flops(b) >= 0)
        printf("rate    %.2f GFLOP/s, %lld multiply-adds a run\n", flops(b) / 1e9,
               (long long)b->multiply_adds);
    if (b->peak > 0)
        printf("peak    %.2f GFLOP/s of the machine", b->peak / 1e9);
    if (b->peak > 0 && flops(b) >= 0)
        printf(", %.1f %% of it used", 100 * flops(b) / b->peak);
    if (b->peak > 0)
        putchar('\n');
    if (b->peak > 0 && flops(b) > b->peak)
        printf("        (multiply-adds are counted as the model has them: some ways to "
               "compute do\n        with fewer)\n");
    if (b->profile)
        print_profile(b->profile, &(struct profile_facts){
                                      bt_program_compiled(b->program), b->peak });
    return EXIT_OK;
}

static int print_bench_json(const struct bench *b)
{
    const struct samples *s = &b->samples;
    const bt_compiled *compiled = bt_program_compiled(b->program);
    json_t *targets = json_array();
    for (uint32_t i = 0; compiled && i < compiled->ntarget; i++)
        json_array_append_new(targets, json_string(compiled->targets[i]->text));
    json_t *all = json_pack(
        "{s:s, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "model",
        b->tool->args[0], "executor", bt_program_executor(b->program), "targets", targets,
        "median_ms", s->median / 1e6, "min_ms", s->least / 1e6, "p10_ms", s->p10 / 1e6,
        "p90_ms", s->p90 / 1e6, "max_ms", s->most / 1e6, "runs", (json_int_t)s->n,
        "dropped", (json_int_t)s->ndropped, "warmup", (json_int_t)b->nwarm, "seed",
        (json_int_t)b->seed);
    if (b->nthread)
        json_object_set_new(all, "threads", json_integer(b->nthread));
    if (flops(b) >= 0) {
        json_object_set_new(all, "multiply_adds", json_integer(b->multiply_adds));
        json_object_set_new(all, "gflops", json_real(flops(b) / 1e9));
    }
    if (b->peak > 0)
        json_object_set_new(all, "peak_gflops", json_real(b->peak / 1e9));
    if (b->peak > 0 && flops(b) >= 0)
        json_object_set_new(all, "peak_share", json_real(flops(b) / b->peak));
    if (b->profile)
        json_object_set_new(
            all, "profile",
            describe_profile(b->profile, &(struct profile_facts){
                                             bt_program_compiled(b->program), b->peak }));
    return print_json(b->tool, all);
}

/* ---- the verb ---- */

static int measure(struct bench *b)
{
    struct tool *tool = b->tool;
    int code = set_inputs(tool, b->program, b->inputs, (uint32_t)b->seed);
    if (code)
        return code;
    TRY_TOOL(tool, set_outputs(tool->ctx, b->program));
    TRY_TOOL(tool, count_work(b));
    if (option_value(tool, "in-place"))
        TRY_TOOL(tool, join_outputs(b->program));
    measure_peak(b);
    TRY_TOOL(tool, take_samples(tool->ctx, b->program, (uint32_t)b->nwarm,
                                (uint32_t)b->nrun, &b->samples));
    measure_peak(b);
    if (option_value(tool, "profile"))
        TRY_TOOL(tool, record_warm(b));
    return option_value(tool, "json") ? print_bench_json(b) : print_bench(b);
}

static int run(struct tool *tool)
{
    struct bench b = { .tool = tool, .nwarm = 3, .seed = 1 };
    int code = option_number(tool, "threads", 0, MAX_THREADS, &b.nthread);
    if (!code)
        code = option_number(tool, "warmup", 0, MAX_WARM, &b.nwarm);
    if (!code)
        code = option_number(tool, "repeat", 1, MAX_WARM, &b.nrun);
    if (!code)
        code = option_number(tool, "seed", 1, UINT32_MAX, &b.seed);
    if (!code)
        code = open_program(tool, NULL, &b.program, &b.inputs);
    if (code)
        return code;
    code = measure(&b);
    bt_program_close(b.program);
    return code;
}

static const struct option options[] = {
    { "input", 'i', "[NAME=]VALUE", "value of an input; those not given are random" },
    { "seed", 0, "N", "of random inputs (default: 1)" },
    { "warmup", 0, "N", "runs before those that count (default: 3)" },
    { "repeat", 0, "N", "runs that count (default: two seconds of them)" },
    { "in-place", 0, NULL,
      "write each output into the input of its type in its place, if there is one, as "
      "training does" },
    PROGRAM_OPTIONS("graph, or vm if graph cannot"),
    { "profile", 0, NULL, "then record one more run and print where its time went" },
    { "json", 0, NULL, "print one JSON object" },
    { 0 },
};

const struct verb verb_bench = {
    .name = "bench",
    .args = "MODEL",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Run a program many times and say how long it takes.",
    // clang-format off
    .details = "The median of all runs, their spread, the floating-point operations in a second,\n"
               "and what share that is of the machine's peak, measured in the same run where the\n"
               "target can tell. Runs in which the system took the processor away are left out,\n"
               "if enough remain. VALUE is as in baton run --help.\n"
               "\n"
               "--profile has a row for each call of one more run: its share of the time,\n"
               "GFLOP/s and the share of that peak, GB/s of what it reads and writes, weights\n"
               "as the model has them, how its target computes it, and what it came from.",
    .examples = "  baton bench digits.baton\n"
                "  baton bench digits.baton --threads 1 --repeat 100 --json\n"
                "  baton bench digits.baton --executor interp --repeat 10",
    // clang-format on
    .options = options,
    .run = run,
};
