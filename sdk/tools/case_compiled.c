#define _DEFAULT_SOURCE // mkstemps
/* A case compiled: the kernels that target cpu makes of the call; where it makes none, what
 * executor vm gives. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/baton.h>
#include <baton/target.h>

#include "case_run.h"
#include "kernel_check.h"
#include "tool.h"

/* A text program in a file, which is what a program is opened from. */
static bt_status write_program(struct op_check *w, const bt_module *module, char *path)
{
    bt_text text;
    bt_text_init(&text, w->arena);
    BT_TRY(bt_print(w->ctx, module, NULL, &text));
    if (!bt_text_get(&text))
        return bt_no_memory();
    int fd = mkstemps(path, (int)strlen(".baton"));
    int done = fd >= 0 && write(fd, text.at, text.len) == (ssize_t)text.len;
    if (fd >= 0 && close(fd) != 0)
        done = 0;
    return done ? NULL : bt_fail(w->ctx, BT_ERR_IO, "%s cannot be written", path);
}

static bt_status set_inputs(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, bt_program *program)
{
    for (uint32_t i = 0; i < c->narg; i++) {
        bt_object *object;
        BT_TRY(call_arg(w, &c->args[i], r, &object));
        bt_status status = bt_program_set_at(program, i, object);
        bt_object_unref(object);
        BT_TRY(status);
    }
    return NULL;
}

static bt_status check_compiled(struct op_check *w, const struct call_case *c,
                                bt_program *program)
{
    struct kernel_check found;
    bt_status status = op_is_random(w->op)
                           ? bt_program_run(program)
                           : check_kernels(w->ctx, w->arena, program, &found);
    for (uint32_t i = 0; w->way && !op_is_random(w->op) && i < found.nfunc; i++) {
        w->nway += strstr(found.funcs[i].way, w->way) != NULL;
    }
    for (uint32_t i = 0; bt_ctx_report(w->ctx, i); i++)
        case_fault(w, c, "on cpu: %s", case_message(w, bt_ctx_report(w->ctx, i)));
    if (status && status->code != BT_ERR_PLUGIN)
        case_fault(w, c, "on cpu: %s", case_message(w, status));
    return NULL;
}

/* It computes the operator as interp does, so results are the same bits. */
static bt_status check_vm(struct op_check *w, const struct call_case *c,
                          const struct call_result *r, bt_program *program)
{
    bt_status status = bt_program_run(program);
    if (status)
        case_fault(w, c, "on vm: %s", case_message(w, status));
    for (uint32_t i = 0; !status && i < r->nout; i++) {
        const bt_object *output = bt_program_get(program, i);
        const bt_tensor *tensor = output ? bt_object_as_tensor(output) : NULL;
        if (!tensor || (!op_is_random(w->op) && !case_is_equal(w, tensor, r->out[i], 0)))
            case_fault(w, c, "on vm: another result %u than the evaluator gives", i);
    }
    return NULL;
}

static bt_status try_module(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, const bt_module *module,
                            const char *executor, const char **why)
{
    const char *folder = getenv("TMPDIR");
    bt_text target;
    bt_text_init(&target, w->arena);
    bt_text_addf(&target, "cpu");
    if (w->way)
        bt_text_addf(&target, "{way=\"%s\"}", w->way);
    const bt_program_options options = { .executor = executor,
                                         .target = bt_text_get(&target),
                                         .keeps_source = 1 };
    bt_program *program;
    char path[4096];
    if (!options.target)
        return bt_no_memory();
    snprintf(path, sizeof(path), "%s/baton-case-XXXXXX.baton", folder ? folder : "/tmp");
    bt_status status = write_program(w, module, path);
    bt_status opened =
        status ? status : bt_program_open(w->ctx, path, &options, &program);
    (void)unlink(path);
    BT_TRY(status);
    if (opened && opened->code == BT_ERR_UNSUPPORTED)
        *why = case_message(w, opened);
    else if (opened)
        case_fault(w, c, "on %s: %s", strcmp(executor, "vm") == 0 ? "vm" : "cpu",
                   case_message(w, opened));
    if (opened)
        return NULL;
    status = set_inputs(w, c, r, program);
    if (!status)
        status = strcmp(executor, "vm") == 0 ? check_vm(w, c, r, program)
                                             : check_compiled(w, c, program);
    bt_program_close(program);
    return status;
}

bt_status call_run_compiled(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, const char **executor,
                            const char **why)
{
    static const char *const executors[] = { "graph", "vm" };
    bt_module *module;
    bt_provided cpu, vm;
    bt_status status = NULL;
    *why = NULL;
    if (!find_provided(w->ctx, "target", "cpu", &cpu)) {
        *why = "there is no target cpu here";
        return NULL;
    }
    BT_TRY(call_module(w, c, r, NULL, &module));
    for (uint32_t i = 0; !status && i < BT_COUNT(executors) && (!i || *why); i++) {
        if (i && !find_provided(w->ctx, "executor", executors[i], &vm))
            break;
        *executor = executors[i];
        *why = NULL;
        status = try_module(w, c, r, module, executors[i], why);
    }
    bt_module_unref(module);
    return status;
}
