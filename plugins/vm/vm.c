/*
 * vm: runs the whole language. Functions become register bytecode, which is verified, and
 * then run without C stack; README.md has the instructions.
 */
#include "machine.h"

#include <string.h>

/* An entry that was called: its code, and what runs it. */
struct entry {
    const bt_global *global;
    struct vm_machine *machine;
};

struct session {
    bt_registry *registry;
    bt_module *module;
    struct vm_options options;
    bt_arena *arena;
    bt_vec(struct entry) entries;
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
    for (uint32_t i = 0; i < s->entries.len; i++)
        vm_machine_destroy(s->entries.at[i].machine);
    bt_module_unref(s->module);
    bt_arena_destroy(s->arena);
    bt_registry_unref(registry);
}

static bt_status open_session(bt_ctx *ctx, const bt_module *module, const void *given,
                              void **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    if (!module->is_typed)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "vm: the module is not typed; infer types first");
    bt_arena *arena = bt_arena_create(registry);
    struct session *s = arena ? BT_NEW(arena, struct session) : NULL;
    if (!s) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *s = (struct session){ .registry = bt_registry_ref(registry),
                           .module = bt_module_ref(module),
                           .arena = arena };
    if (given)
        memcpy(&s->options, given, sizeof(s->options));
    *out = s;
    return NULL;
}

/* The code of a function is made at its first call. */
static bt_status find_machine(bt_ctx *ctx, struct session *s, const bt_global *global,
                              struct vm_machine **out)
{
    struct vm_program *program;
    for (uint32_t i = 0; i < s->entries.len; i++) {
        *out = s->entries.at[i].machine;
        if (s->entries.at[i].global == global)
            return NULL;
    }
    if (global->kind != BT_GLOBAL_FUNC)
        return bt_fail_at(ctx, BT_ERR_UNSUPPORTED, s->module->store, global->span,
                          "@%s has no body that vm could run", global->name);
    BT_TRY(vm_encode(ctx, s->module, global, &program));
    bt_status status = vm_machine_create(ctx, program, &s->options, out);
    vm_program_unref(program);
    BT_TRY(status);
    const struct entry entry = { global, *out };
    if (BT_PUSH(s->arena, &s->entries, entry))
        return NULL;
    vm_machine_destroy(*out);
    return bt_no_memory();
}

static bt_status call(bt_ctx *ctx, void *opaque, const char *name, uint32_t narg,
                      bt_object *const *args, const bt_run_hook *hook, bt_object **out)
{
    struct session *s = opaque;
    const bt_global *global;
    struct vm_machine *machine;
    BT_TRY(bt_module_entry(ctx, s->module, name, &global));
    BT_TRY(find_machine(ctx, s, global, &machine));
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    int64_t *dims = BT_NEWS(scratch, int64_t, global->func->nvar);
    bt_status status = dims ? NULL : bt_no_memory();
    if (!status)
        status = bt_check_args(ctx, s->module, global, narg, args, dims);
    if (!status)
        status = vm_check_args(ctx, machine->program, narg, args);
    if (!status)
        status = vm_run(ctx, machine, narg, args, dims, hook, out);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "vm",
        .doc = "The whole language: bytecode, verified before it runs.",
        .features = BT_FEATURE_ALL,
        .options = options,
        .options_nbytes = sizeof(struct vm_options),
        .open = open_session,
        .close = close_session,
        .call = call,
    },
    { 0 },
};

const bt_table bt_plugins_vm_vm[] = { BT_EXECUTORS(executors), { 0 } };
