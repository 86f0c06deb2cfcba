#include "target_check.h"

#include <string.h>

#include <baton/compiled.h>
#include <baton/pass.h>
#include <baton/plugin.h>

#include "target_artifact.h"
#include "target_cases.h"
#include "target_fault.h"
#include "target_lab.h"
#include "target_leaks.h"
#include "target_life.h"
#include "target_memory.h"
#include "target_queues.h"
#include "target_run.h"
#include "target_stop.h"
#include "watchdog.h"

/* A pattern of an operator that does not exist, or with a wrong number of arguments,
 * never matches, and nothing else would say so. */
static uint32_t check_pattern(struct tool *tool, const char *text)
{
    const bt_call_pattern *pattern;
    bt_status status =
        bt_call_pattern_parse(tool->ctx, bt_ctx_scratch(tool->ctx), text, &pattern);
    if (!status)
        status = bt_call_pattern_check(tool->ctx, pattern);
    if (status)
        printf("  FAILED  pattern %s: %s\n", text, status->message);
    bt_ctx_clear_diags(tool->ctx);
    return status != NULL;
}

/* One target while it is checked. */
struct check {
    struct tool *tool;
    const bt_target_use *use;
    struct guard *guard; /* that all memory comes from */
    uint32_t every;      /* of so many calls of operators one is tried */
    uint32_t nrun;       /* programs that were compared */
    bt_arena *arena;     /* of a step */
};

/* A step of the check. Returns a fault, what is right in `said`; both are in the arena. */
typedef bt_status step_fn(struct check *, bt_text *said, const char **fault);

static bt_status try_code(struct check *c, bt_text *said, const char **fault)
{
    struct lab lab = { .ctx = c->tool->ctx, .arena = c->arena, .use = c->use };
    BT_TRY(lab_make_kernel(&lab));
    *fault = lab.fault;
    if (!lab.kernel && !*fault && lab.refused)
        target_fault(c->arena, fault, "no kernel was made of what `supports` takes: %s",
                     lab.refused);
    bt_text_addf(said, "%s",
                 lab.kernel
                     ? "stays when the target's functions have returned"
                     : "not tried: no function of one kernel was found that it takes");
    lab_free_kernel(&lab);
    return NULL;
}

/* Before all else that launches kernels: what is wrong with one shows here alone. */
static bt_status try_kernels(struct check *c, bt_text *said, const char **fault)
{
    struct target_run run;
    BT_TRY(target_run_kernels(c->tool->ctx, c->arena, c->use, &run));
    *fault = run.fault;
    if (run.nrun)
        bt_text_addf(said, "of %u programs as by the evaluator, each alone", run.nrun);
    else
        bt_text_addf(said,
                     "not tried: no program was found of which it computes a function");
    return NULL;
}

static bt_status try_queues(struct check *c, bt_text *said, const char **fault)
{
    const char *why;
    BT_TRY(check_queues(c->tool->ctx, c->arena, c->use, fault, &why));
    bt_text_addf(said, "%s%s", why ? "not tried: " : "keep the order of commands",
                 why ? why : "");
    return NULL;
}

static bt_status try_stop(struct check *c, bt_text *said, const char **fault)
{
    struct target_stop stop;
    BT_TRY(target_stop(c->tool->ctx, c->arena, c->use, &stop));
    *fault = stop.fault;
    if (stop.why)
        bt_text_addf(said, "not tried: %s", stop.why);
    else
        bt_text_addf(said, "a kernel of %.0f ms ends when it is asked to", stop.ms);
    return NULL;
}

static bt_status try_memory(struct check *c, bt_text *said, const char **fault)
{
    bt_text_addf(said, "keeps what is copied, in sizes that are odd too");
    return check_memory(c->tool->ctx, c->arena, c->use, fault);
}

static bt_status try_programs(struct check *c, bt_text *said, const char **fault)
{
    struct target_run run;
    BT_TRY(target_run(c->tool->ctx, c->arena, c->use, &run));
    *fault = run.fault;
    c->nrun = run.nrun;
    if (!run.nrun)
        bt_text_addf(said, "not run: none was found of which it takes a function");
    else
        bt_text_addf(said,
                     "%u as by interp, of these %u with open dims, %u with a function of "
                     "several kernels, %u of codes",
                     run.nrun, run.nopen, run.nseveral, run.ncodes);
    return NULL;
}

static bt_status try_life(struct check *c, bt_text *said, const char **fault)
{
    struct target_life life;
    BT_TRY(target_life(c->tool->ctx, c->arena, c->use, c->guard, &life));
    *fault = life.fault;
    if (life.why)
        bt_text_addf(said, "not tried: %s", life.why);
    else
        bt_text_addf(said,
                     "the same in 8 threads%s, after %u allocations that fail and "
                     "when it is cancelled",
                     life.is_alone ? "" : ", by two instances", life.nfailed);
    return NULL;
}

static bt_status try_leaks(struct check *c, bt_text *said, const char **fault)
{
    struct target_leaks leaks;
    BT_TRY(target_leaks(c->tool->ctx, c->arena, c->use, c->guard, &leaks));
    *fault = leaks.fault;
    bt_text_addf(said, "%s%s",
                 leaks.why ? "not tried: " : "gives back all memory that it asks for",
                 leaks.why ? leaks.why : "");
    return NULL;
}

static bt_status try_artifact(struct check *c, bt_text *said, const char **fault)
{
    struct target_artifact kept;
    BT_TRY(target_artifact(c->tool->ctx, c->arena, c->use, &kept));
    *fault = kept.fault;
    if (kept.why)
        bt_text_addf(said, "not tried: %s", kept.why);
    else
        bt_text_addf(said,
                     "the same from a file, which is refused with other needs, "
                     "and %u times with damage",
                     kept.ndamaged);
    return NULL;
}

enum { INDENT = 12, WIDTH = 100 };

/* Names with commas, in lines of their own. */
static void print_names(const char *names, bt_text *said)
{
    size_t column = WIDTH;
    while (*names) {
        const size_t n = strcspn(names, " ");
        const int is_new = column + 1 + n >= WIDTH;
        if (is_new)
            bt_text_addf(said, "\n%*s ", INDENT, "");
        bt_text_addf(said, " %.*s", (int)n, names);
        column = (is_new ? INDENT : column) + 1 + n;
        names += n + (names[n] == ' ');
    }
}

/* Below `calls`: a row for each element type, and who is refused altogether. */
static void print_cases(const struct target_cases *cases, bt_text *said)
{
    char name[BT_DTYPE_NAME_SIZE];
    bt_text_addf(said, "\n%*s%-16s %9s %6s %6s %6s", INDENT, "", "first tensor",
                 "operators", "cases", "taken", "wrong");
    for (uint32_t i = 0; i < cases->types.len; i++) {
        const struct target_type *row = &cases->types.at[i];
        bt_text_addf(said, "\n%*s%-16s %9u %6u %6u %6u", INDENT, "",
                     row->dtype ? bt_dtype_name(row->dtype, name, sizeof(name)) : "none",
                     row->nop, row->ncase, row->ntaken, row->nwrong);
    }
    for (uint32_t i = 0; i < cases->refusals.len; i++) {
        const struct target_refusal *row = cases->refusals.at[i];
        bt_text_addf(said,
                     "\n%*snothing is taken of %u operator%s, of the first case as %s",
                     INDENT, "", row->nop, PLURAL(row->nop), row->why);
        print_names(row->names.at, said);
    }
    if (cases->nrefused)
        bt_text_addf(
            said, "\n%*s`supports` takes %u calls more, which lower or compile refuses",
            INDENT, "", cases->nrefused);
    if (cases->nunnamed)
        bt_text_addf(said, "\n%*snothing is taken of %u more, as no pattern names them",
                     INDENT, "", cases->nunnamed);
}

static bt_status try_calls(struct check *c, bt_text *said, const char **fault)
{
    struct target_cases cases;
    BT_TRY(target_cases(c->tool->ctx, c->arena, c->use, c->every, &cases));
    *fault = cases.fault;
    if (!cases.ncall && !c->nrun)
        bt_text_addf(
            said,
            "it computes nothing of all that was tried, so that nothing was compared");
    else
        bt_text_addf(said, "%u of %u operator%s as by the evaluator", cases.ncall,
                     cases.nop, PLURAL(cases.nop));
    print_cases(&cases, said);
    if (!cases.ncall && !c->nrun && !*fault)
        *fault = bt_text_get(said);
    return NULL;
}

/* In an arena of its own. 1: something is wrong. */
static uint32_t try_step(struct check *c, const char *name, step_fn *step)
{
    bt_text said;
    const char *fault = NULL;
    bt_ctx *ctx = c->tool->ctx;
    c->arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_text_init(&said, c->arena);
    bt_status status = c->arena ? step(c, &said, &fault) : bt_no_memory();
    if (status)
        fault = status->message;
    if (fault && strchr(fault, '\n')) {
        printf("  FAILED  %s:\n", name);
        print_below(fault);
    } else if (fault) {
        printf("  FAILED  %s: %s\n", name, fault);
    } else {
        printf("  %-8s  %s\n", name, bt_text_get(&said) ? said.at : "no memory");
    }
    (void)fflush(stdout); // what comes may end the check
    bt_ctx_clear_diags(ctx);
    bt_arena_destroy(c->arena);
    return fault != NULL;
}

static uint32_t check_use(struct check *c)
{
    const bt_target *target = c->use->target;
    const char *const *patterns = target->patterns;
    uint32_t npattern = 0, nfault = 0;
    while (patterns && patterns[npattern])
        npattern++;
    printf("target %s: opens, %u pattern%s\n", c->use->text, npattern, PLURAL(npattern));
    for (uint32_t i = 0; i < npattern; i++)
        nfault += check_pattern(c->tool, patterns[i]);
    // each needs what is before it, and says what is wrong by its own name
    c->nrun = 0;
    if (!nfault)
        nfault = try_step(c, "code", try_code);
    if (!nfault && c->use->space)
        nfault = try_step(c, "memory", try_memory);
    if (!nfault)
        nfault = try_step(c, "kernels", try_kernels);
    if (!nfault && target->enqueue)
        nfault = try_step(c, "queues", try_queues);
    if (!nfault)
        nfault = try_step(c, "programs", try_programs);
    if (!nfault)
        nfault = try_step(c, "stop", try_stop);
    if (!nfault)
        nfault = try_step(c, "sessions", try_life);
    if (!nfault)
        nfault = try_step(c, "leaks", try_leaks);
    if (!nfault)
        nfault = try_step(c, "artifact", try_artifact);
    return nfault ? nfault : try_step(c, "calls", try_calls);
}

static bt_status open_targets(struct tool *tool, const char *list, bt_targets **out)
{
    watchdog_begin("target %s, open", list);
    bt_status status = bt_targets_open(tool->ctx, list, out);
    watchdog_end();
    return status;
}

static void close_targets(const char *list, bt_targets *targets)
{
    watchdog_begin("target %s, close", list);
    bt_targets_unref(targets);
    watchdog_end();
}

static uint32_t check_target(struct check *c, const char *name)
{
    bt_targets *opened;
    bt_status status = open_targets(c->tool, name, &opened);
    if (status) {
        printf("target %s\n  FAILED  it does not open: %s\n", name, status->message);
        bt_ctx_clear_diags(c->tool->ctx);
        return 1;
    }
    c->use = opened->at[0];
    uint32_t nfault = check_use(c);
    close_targets(name, opened);
    return nfault;
}

/* Those of --target, with their options. */
static int check_given(struct check *c, const char *plugin, const char *list,
                       uint32_t *nbroken)
{
    struct tool *tool = c->tool;
    bt_targets *opened;
    int code = EXIT_OK;
    TRY_TOOL(tool, open_targets(tool, list, &opened));
    for (uint32_t i = 0; !code && i < opened->n; i++) {
        bt_provided item;
        const char *name = opened->at[i]->target->name;
        const char *owner = find_provided(tool->ctx, "target", name, &item)
                                ? bt_plugin_id(item.plugin)
                                : "?";
        if (strcmp(owner, plugin) != 0)
            code = tool_usage(tool, "--target: %s is of plugin %s, and %s is checked",
                              opened->at[i]->text, owner, plugin);
    }
    for (uint32_t i = 0; !code && i < opened->n; i++) {
        c->use = opened->at[i];
        *nbroken += check_use(c) > 0;
    }
    close_targets(list, opened);
    return code;
}

int check_target_options(struct tool *tool, int64_t *seconds, int64_t *every)
{
    *seconds = WATCHDOG_SECONDS;
    *every = 1;
    const int code = option_number(tool, "timeout", 0, 1000000, seconds);
    return code ? code : option_number(tool, "every", 1, 1000000, every);
}

int check_targets(struct tool *tool, const char *plugin, struct guard *guard,
                  uint32_t *nbroken)
{
    const char *given = option_value(tool, "target");
    int64_t seconds, every;
    int code = check_target_options(tool, &seconds, &every);
    if (code)
        return code;
    struct check c = { .tool = tool, .guard = guard, .every = (uint32_t)every };
    watchdog_set((uint32_t)seconds);
    if (given)
        return check_given(&c, plugin, given, nbroken);
    for (uint32_t i = 0; i < bt_provided_len(tool->ctx, "target"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "target", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), plugin) == 0)
            *nbroken += check_target(&c, item.name) > 0;
    }
    return EXIT_OK;
}
