#define _DEFAULT_SOURCE // mkstemps
/* A case compiled: the kernels that target cpu makes of the call. */
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

static bt_status check(struct op_check *w, const struct call_case *c,
                       const struct call_result *r, bt_program *program)
{
    struct kernel_check found;
    BT_TRY(set_inputs(w, c, r, program));
    bt_status status = op_is_random(w->op)
                           ? bt_program_run(program)
                           : check_kernels(w->ctx, w->arena, program, &found);
    for (uint32_t i = 0; bt_ctx_report(w->ctx, i); i++)
        case_fault(w, c, "on cpu: %s", case_message(w, bt_ctx_report(w->ctx, i)));
    if (status && status->code != BT_ERR_PLUGIN)
        case_fault(w, c, "on cpu: %s", case_message(w, status));
    return NULL;
}

static bt_status try_module(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, const bt_module *module,
                            const char **why)
{
    const char *folder = getenv("TMPDIR");
    const bt_program_options options = { .executor = "graph", .target = "cpu" };
    bt_program *program;
    char path[4096];
    snprintf(path, sizeof(path), "%s/baton-case-XXXXXX.baton", folder ? folder : "/tmp");
    bt_status status = write_program(w, module, path);
    bt_status opened =
        status ? status : bt_program_open(w->ctx, path, &options, &program);
    (void)unlink(path);
    BT_TRY(status);
    if (opened && opened->code == BT_ERR_UNSUPPORTED)
        *why = case_message(w, opened);
    else if (opened)
        case_fault(w, c, "on cpu: %s", case_message(w, opened));
    if (opened)
        return NULL;
    status = check(w, c, r, program);
    bt_program_close(program);
    return status;
}

bt_status call_run_compiled(struct op_check *w, const struct call_case *c,
                            const struct call_result *r, const char **why)
{
    bt_module *module;
    bt_provided cpu;
    *why = NULL;
    if (!find_provided(w->ctx, "target", "cpu", &cpu)) {
        *why = "there is no target cpu here";
        return NULL;
    }
    BT_TRY(call_module(w, c, r, NULL, &module));
    bt_status status = try_module(w, c, r, module, why);
    bt_module_unref(module);
    return status;
}
