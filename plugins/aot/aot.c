/*
 * aot: writes a compiled program as C99 source that needs no Baton: a function for the
 * entry, the kernels of the targets, constants, a CMake file and an example.
 *
 *     planned function      NAME.c; one with branches by its bytecode (write_code.c)
 *     alloc_storage         bytes of the caller's workspace, or of an output
 *     invoke                a call of a kernel's function
 *     kernels               NAME_kernels_0.c ..., and libbaton_TARGET.a, which they call
 *     constants             NAME_data.c; or NAME.weights, and its digest there
 */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "bytecode.h"
#include "write.h"

struct options {
    const char *name, *weights, *build;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, name, STRING, "",
            "what functions and files are called after; empty: the folder's name"),
    BT_ATTR_CHOICE(
        struct options, weights, "auto", "auto|c|file",
        "constants as arrays in C, or in a file that the caller maps; auto: a file "
        "from a mebibyte on"),
    BT_ATTR_CHOICE(struct options, build, "none", "none|shared",
                   "what is compiled at once: NAME.so, by the system's cc"),
    { 0 },
};

/* ---- what the files need to know ---- */

/* The last part of a path. */
static const char *last_part(bt_arena *arena, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t first = n;
    while (first > 0 && path[first - 1] != '/')
        first--;
    return bt_arena_text(arena, path + first, n - first);
}

static bt_status place_constants(struct output *o, const char *wanted)
{
    const struct plan *p = o->plan;
    uint64_t *offsets = BT_NEWS(p->arena, uint64_t, p->consts.len);
    uint64_t end = 0;
    if (!offsets)
        return bt_no_memory();
    for (uint32_t i = 0; i < p->consts.len; i++) {
        offsets[i] = (end + 63) / 64 * 64;
        end = offsets[i] + bt_tensor_nbytes(p->consts.at[i]);
    }
    o->offsets = offsets;
    o->weights_nbytes = end;
    o->weights = strcmp(wanted, "file") == 0 ||
                         (strcmp(wanted, "auto") == 0 && end >= UINT64_C(1) << 20)
                     ? WEIGHTS_FILE
                     : WEIGHTS_C;
    return NULL;
}

static bt_status name_kernels(struct output *o)
{
    struct plan *p = o->plan;
    const bt_compiled *c = p->compiled;
    uint32_t nfault = FAULT_CHECK - 1;
    o->symbols = BT_NEWS(p->arena, const char *, c->nkernel);
    if (!o->symbols)
        return bt_no_memory();
    if (p->program)
        nfault += RUNTIME_FAULTS;
    for (uint32_t i = 0; i < p->steps.len; i++)
        nfault += p->steps.at[i].kind == STEP_CHECK;
    for (uint32_t i = 0; i < c->nkernel; i++) {
        bt_text symbol;
        BT_TRY(native_check(o, i));
        bt_text_init(&symbol, p->arena);
        bt_text_addf(&symbol, "%s_%s", p->name, c->codes[i]->symbol);
        o->symbols[i] = bt_text_get(&symbol);
        if (!o->symbols[i])
            return bt_no_memory();
    }
    o->nfault = nfault;
    return NULL;
}

/* Elements are written in the order of memory, row by row: others are copied. */
static bt_status make_dense(struct plan *p)
{
    for (uint32_t i = 0; i < p->consts.len; i++) {
        bt_tensor *dense;
        BT_TRY(bt_tensor_dense(p->ctx, p->consts.at[i], &dense));
        p->consts.at[i] = dense;
        p->ndense = i + 1;
    }
    return NULL;
}

/* ---- the executor ---- */

/* A chain is called by its steps; all else is bytecode first, as executor vm has it. */
static bt_status read_program(struct plan *p)
{
    if (!plan_is_chain(p))
        BT_TRY(vm_encode(p->ctx, p->compiled->module,
                         (bt_compiled *)(uintptr_t)p->compiled, p->entry, &p->program));
    BT_TRY(plan_read_interface(p));
    return p->program ? code_constants(p) : plan_read(p);
}

static bt_status write_all(struct output *o, const struct options *chosen)
{
    BT_TRY(read_program(o->plan));
    BT_TRY(make_dense(o->plan));
    BT_TRY(place_constants(o, chosen->weights));
    BT_TRY(name_kernels(o));
    BT_TRY(read_older(o));
    BT_TRY(find_bound(o));
    BT_TRY(write_header(o));
    BT_TRY(write_program(o));
    BT_TRY(write_kernels(o));
    BT_TRY(write_native(o));
    BT_TRY(write_data(o));
    BT_TRY(write_example(o));
    // nothing is changed in the folder before all is known to be writable as C
    BT_TRY(write_files(o));
    return o->is_shared ? write_shared(o) : NULL;
}

/* What is in the folder now, and what a run needs. */
static void say(const struct output *o, bt_text *out)
{
    const struct plan *p = o->plan;
    uint64_t workspace;
    bt_text_addf(out, "%" PRIu32 " files", o->files.len + o->is_shared);
    if (o->weights_nbytes)
        bt_text_addf(out, ", constants of %" PRIu64 " bytes in %s%s", o->weights_nbytes,
                     p->name, o->weights == WEIGHTS_FILE ? ".weights" : "_data.c");
    if (find_workspace(p, &workspace))
        bt_text_addf(out, ", a workspace of %" PRIu64 " bytes", workspace);
    else if (!p->has_values && has_workspace(p))
        bt_text_addf(out, ", a workspace of %s_workspace bytes", p->name);
    else
        bt_text_addf(out, ", a workspace of as many bytes as a run may need");
}

static bt_status write_folder(bt_ctx *ctx, const bt_compiled *compiled, const char *entry,
                              const void *values, const char *folder, bt_text *said)
{
    const struct options *chosen = values;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct plan p = { .ctx = ctx, .arena = arena, .compiled = compiled };
    struct output o = { .plan = &p,
                        .folder = folder,
                        .is_shared = strcmp(chosen->build, "shared") == 0 };
    if (!arena)
        return bt_no_memory();
    bt_map_init(&p.words, arena, 1);
    bt_map_init(&p.ctors, arena, 0);
    bt_map_init(&o.files, arena, 1);
    p.leaves = (bt_leaf_map){
        .ctx = ctx, .arena = arena, .who = "aot", .constant = plan_const, .self = &p
    };
    bt_map_init(&p.leaves.of, arena, 0);
    bt_map_init(&p.storages, arena, 0);
    const char *name = *chosen->name ? chosen->name : last_part(arena, folder);
    p.name = name ? plan_name(&p, name) : NULL;
    bt_status status =
        p.name ? bt_module_entry(ctx, compiled->module, entry, &p.entry) : bt_no_memory();
    if (!status)
        status = write_all(&o, chosen);
    if (!status)
        say(&o, said);
    for (uint32_t i = 0; i < p.ndense; i++)
        bt_tensor_unref((bt_tensor *)(uintptr_t)p.consts.at[i]);
    vm_program_unref(p.program);
    bt_arena_destroy(arena);
    return status;
}

static const bt_executor executors[] = {
    {
        .name = "aot",
        .doc = "Programs as C99 source without Baton: baton compile --executor aot -o "
               "FOLDER.",
        .features = BT_FEATURE_ALL & ~(uint32_t)BT_FEATURE_DEVICES,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .write = write_folder,
    },
    { 0 },
};

const bt_table bt_plugins_aot_aot[] = { BT_EXECUTORS(executors), { 0 } };
