/*
 * vm: runs the whole language. Functions become register bytecode, which is verified, and
 * then run without C stack; README.md has the instructions.
 */
#include <string.h>

#include "machine.h"

struct session {
    bt_registry *registry;
    struct vm_options options;
    const bt_global *entry;
    struct vm_machine *machine;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct vm_options, steps, INT, "0", 0, INT64_MAX,
                  "calls of functions in one run; 0: as many as there are"),
    BT_ATTR_RANGE(struct vm_options, stack, INT, "0", 0, INT64_MAX,
                  "bytes of nested calls; 0: as many as limits.frames need"),
    { 0 },
};

static void close_session(void *opaque)
{
    struct session *s = opaque;
    bt_registry *registry = s->registry;
    vm_machine_destroy(s->machine);
    bt_free(registry, s, sizeof(*s));
    bt_registry_unref(registry);
}

static bt_status create(bt_ctx *ctx, struct session **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    struct session *s = bt_alloc(registry, sizeof(*s));
    if (!s)
        return bt_no_memory();
    s->registry = bt_registry_ref(registry);
    *out = s;
    return NULL;
}

static bt_status make(bt_ctx *ctx, bt_compiled *compiled, const char *entry,
                      struct session *s)
{
    struct vm_program *program;
    BT_TRY(bt_module_entry(ctx, compiled->module, entry, &s->entry));
    BT_TRY(vm_encode(ctx, compiled->module, compiled, s->entry, &program));
    bt_status status = vm_machine_create(ctx, program, &s->options, &s->machine);
    vm_program_unref(program);
    return status;
}

static bt_status load(bt_ctx *ctx, bt_compiled *compiled, const char *entry,
                      const void *given, void **out)
{
    struct session *s;
    BT_TRY(create(ctx, &s));
    if (given)
        memcpy(&s->options, given, sizeof(s->options));
    bt_status status = make(ctx, compiled, entry, s);
    if (status)
        close_session(s);
    else
        *out = s;
    return status;
}

/* Code is encoded and verified once. */
static bt_status share(bt_ctx *ctx, const void *session, void **out)
{
    const struct session *from = session;
    struct session *s;
    BT_TRY(create(ctx, &s));
    s->options = from->options;
    s->entry = from->entry;
    bt_status status =
        vm_machine_create(ctx, from->machine->program, &s->options, &s->machine);
    if (status)
        close_session(s);
    else
        *out = s;
    return status;
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    const struct vm_program *program = s->machine->program;
    if (name && strcmp(name, s->entry->name) != 0)
        return bt_fail(ctx, BT_ERR_NAME, "vm: @%s was not compiled, @%s was", name,
                       s->entry->name);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    int64_t *dims = BT_NEWS(scratch, int64_t, s->entry->func->nvar);
    bt_status status = dims ? NULL : bt_no_memory();
    if (!status)
        status = bt_check_args(ctx, program->module, s->entry, narg, args, dims);
    if (!status)
        status = vm_check_args(ctx, program, narg, args);
    if (!status)
        status = vm_run(ctx, s->machine, narg, args, dims, hook, out);
    bt_arena_release(scratch, mark);
    return status;
}

static bt_status describe(bt_ctx *ctx, void *opaque, bt_text *out)
{
    const struct session *s = opaque;
    (void)ctx;
    vm_disassemble(s->machine->program, out);
    return NULL;
}

static const bt_executor executors[] = {
    {
        .name = "vm",
        .doc = "The whole language: bytecode, verified before it runs, and kernels.",
        .features = BT_FEATURE_ALL,
        .options = options,
        .options_nbytes = sizeof(struct vm_options),
        .load = load,
        .close = close_session,
        .call = call,
        .describe = describe,
        .share = share,
    },
    { 0 },
};

const bt_table bt_plugins_vm_vm[] = { BT_EXECUTORS(executors), { 0 } };
