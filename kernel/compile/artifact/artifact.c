/* From the sections of an artifact to a planned module, and to a compiled one. */
#include "compile/artifact/artifact.h"

#include <string.h>

#include "base/arena.h"
#include "compile/code/code.h"
#include "compile/code/compiled.h"
#include "pass/targets.h"
#include "plugin/plugins.h"
#include "text/given_dims.h"

struct artifact {
    bt_artifact base;
    bt_ctx *ctx;     /* while it is read */
    bt_arena *arena; /* the artifact itself too */
    bt_tensor *bytes;
    struct bt__section sections[BT__SECTION_COUNT];
};

static bt_status fail(const struct artifact *a, uint32_t section, const char *why)
{
    return bt_fail_place(a->ctx, BT_ERR_FORMAT, &(bt_place){ .file = a->base.path },
                         "section %s is damaged: %s", bt__section_name(section), why);
}

/* ---- the program ---- */

static int is_known(bt_ctx *ctx, const char *id, size_t nid)
{
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        const char *known = bt_plugin_id(bt_plugins_at(ctx, i));
        if (strlen(known) == nid && memcmp(known, id, nid) == 0)
            return 1;
    }
    return 0;
}

/* The plugins that it was made with (lines "plugin ID VERSION") and that are not here; which
 * names are not known is reported already. */
static bt_status explain_plugins(bt_ctx *ctx, const bt_artifact *a, bt_status why)
{
    static const char word[] = "plugin ";
    bt_text missing;
    bt_text_init(&missing, bt_ctx_scratch(ctx));
    for (const char *line = a->provenance; *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        if (strncmp(line, word, strlen(word)) != 0)
            continue;
        line += strlen(word);
        const size_t nid = strcspn(line, " \n");
        if (!is_known(ctx, line, nid))
            bt_text_addf(&missing, "%s%.*s", missing.len ? ", " : "", (int)nid, line);
    }
    if (!bt_text_get(&missing))
        return bt_no_memory();
    return missing.len
               ? bt_fail(ctx, BT_ERR_NAME,
                         "%s was made with plugins that are not here: %s; they are "
                         "to be where plugins are looked for, such as "
                         "BATON_PLUGIN_PATH",
                         a->path, bt_text_get(&missing))
               : why;
}

/* Types are stated in the text and checked here. */
static bt_status parse_program(struct artifact *a, const bt_npz *constants)
{
    const struct bt__section *text = &a->sections[BT__SECTION_PROGRAM];
    bt_module *parsed;
    bt_text name;
    bt_text_init(&name, a->arena);
    bt_text_addf(&name, "%s:program", a->base.path);
    if (!bt_text_get(&name))
        return bt_no_memory();
    bt_status status = bt__parse_weights(a->ctx, bt_text_get(&name), text->at,
                                         text->nbytes, constants, &parsed);
    if (status)
        return status->code == BT_ERR_NAME ? explain_plugins(a->ctx, &a->base, status)
                                           : status;
    status = bt_infer(a->ctx, parsed, &a->base.module);
    bt_module_unref(parsed);
    return status;
}

static bt_status check_program(struct artifact *a)
{
    const bt_global *entry;
    bt_map kernels;
    bt_map_init(&kernels, a->arena, 1);
    for (uint32_t i = 0; i < a->base.nkernel; i++) {
        const bt_func_type *type;
        bt_status status = bt__kernel_type_read(a->ctx, a->base.module->store,
                                                a->base.kernels[i]->type, &type);
        if (status)
            return status->code == BT_ERR_MEMORY
                       ? status
                       : fail(a, BT__SECTION_KERNELS, status->message);
        if (!bt_map_put(&kernels, a->base.kernels[i]->name, (void *)(uintptr_t)type))
            return bt_no_memory();
    }
    BT_TRY(bt_module_entry(a->ctx, a->base.module, a->base.entry, &entry));
    if (entry->kind != BT_GLOBAL_FUNC)
        return fail(a, BT__SECTION_PROGRAM, "its entry is no function");
    for (uint32_t i = 0; i < entry->func->nvar; i++) {
        if (bt_type_kind_of(entry->func->vars[i]) != BT_KIND_DIM)
            return fail(a, BT__SECTION_PROGRAM,
                        "its entry has a type parameter that is no dim");
    }
    for (uint32_t i = 0; i < a->base.module->nglobal; i++) {
        const bt_global *global = a->base.module->globals[i];
        if (bt__is_lowered(global))
            BT_TRY(bt__planned_check(a->ctx, global->func, &kernels));
    }
    return NULL;
}

static bt_status read_program(struct artifact *a)
{
    bt_npz *constants;
    BT_TRY(bt__artifact_tensors(a->ctx, a->base.path, a->bytes,
                                &a->sections[BT__SECTION_TENSORS],
                                &a->sections[BT__SECTION_CONSTANTS], &constants));
    a->base.nconstant = constants->len;
    bt_status status = parse_program(a, constants);
    bt_npz_destroy(a->ctx, constants);
    return status ? status : check_program(a);
}

static bt_status read_sections(struct artifact *a, uint32_t unread)
{
    const struct bt__artifact_row *rows;
    bt_artifact_section *shown;
    BT_TRY(bt__artifact_sections(a->ctx, a->base.path, a->bytes, unread, a->sections,
                                 &rows, &a->base.nsection));
    shown = BT_NEWS(a->arena, bt_artifact_section, a->base.nsection);
    if (!shown)
        return bt_no_memory();
    for (uint32_t i = 0; i < a->base.nsection; i++)
        shown[i] = (bt_artifact_section){ bt__section_name(rows[i].kind), rows[i].offset,
                                          rows[i].nbytes, rows[i].checksum };
    a->base.sections = shown;
    return NULL;
}

static bt_status read_all(struct artifact *a, const char *path, uint32_t unread)
{
    a->base.path = bt_arena_text(a->arena, path, strlen(path));
    if (!a->base.path)
        return bt_no_memory();
    BT_TRY(read_sections(a, unread));
    BT_TRY(bt__artifact_lists(a->ctx, a->arena, a->sections, &a->base));
    return read_program(a);
}

bt_status bt__artifact_read_bytes(bt_ctx *ctx, const char *path, const bt_tensor *bytes,
                                  uint32_t unread, bt_artifact **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct artifact *a = arena ? BT_NEW(arena, struct artifact) : NULL;
    if (!a) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    a->ctx = ctx;
    a->arena = arena;
    a->bytes = bt_tensor_ref(bytes);
    a->base.nbytes = bt_tensor_nbytes(bytes);
    bt_status status = read_all(a, path, unread);
    if (status)
        bt_artifact_close(&a->base);
    else
        *out = &a->base;
    return status;
}

bt_status bt_artifact_read(bt_ctx *ctx, const char *path, bt_artifact **out)
{
    bt_tensor *bytes;
    BT_TRY(bt__artifact_map(ctx, path, &bytes));
    bt_status status = bt__artifact_read_bytes(ctx, path, bytes, BT__SECTION_NONE, out);
    bt_tensor_unref(bytes);
    return status;
}

void bt_artifact_close(bt_artifact *artifact)
{
    struct artifact *a = (struct artifact *)(void *)artifact;
    if (!a)
        return;
    bt_module_unref(a->base.module);
    bt_tensor_unref(a->bytes);
    bt_arena_destroy(a->arena);
}

/* ---- machines ---- */

/* Whether a target has what its code needs. */
static bt_status check_machine(bt_ctx *ctx, const bt_artifact *a, uint32_t i,
                               const bt_compiled *c)
{
    const bt_target_use *use = c->targets[i];
    const char *needed = a->targets[i].compatibility;
    bt_text own;
    bt_text_init(&own, c->arena);
    if (!*needed)
        return NULL;
    if (use->target->accepts)
        return use->target->accepts(ctx, use->instance, needed);
    BT_TRY(bt__target_compatibility(ctx, use, &own));
    return strcmp(needed, bt_text_get(&own)) == 0
               ? NULL
               : bt_fail_place(ctx, BT_ERR_UNSUPPORTED, &(bt_place){ .file = a->path },
                               "its code needs \"%s\", and target %s offers \"%s\" here: "
                               "compile it anew",
                               needed, use->text, bt_text_get(&own));
}

/* ---- who made it ---- */

/* The version that provenance states on a line "plugin ID VERSION"; its length. */
static const char *stated_version(const char *provenance, const char *what, size_t *n)
{
    size_t nwhat = strlen(what);
    for (const char *line = provenance; *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        if (strncmp(line, what, nwhat) == 0 && line[nwhat] == ' ') {
            *n = strcspn(line + nwhat + 1, "\n");
            return line + nwhat + 1;
        }
    }
    return NULL;
}

static void compare_version(bt_ctx *ctx, const bt_artifact *a, const char *what,
                            const char *version)
{
    size_t n;
    const char *stated = stated_version(a->provenance, what, &n);
    if (!stated || (strlen(version) == n && memcmp(stated, version, n) == 0))
        return;
    bt_remark(ctx, BT_REMARK_NOTE,
              bt_fail(ctx, BT_ERR_UNSUPPORTED,
                      "%s was compiled with %s %.*s and is run with %s: compile it anew "
                      "to have what changed",
                      a->path, what, (int)n, stated, version));
}

/* Remarks on plugins that were open when it was compiled and are open now in another
 * version. Code that a version cannot run is refused by its target; this is for code
 * that it can run, perhaps with other results. */
static bt_status compare_versions(bt_ctx *ctx, const bt_artifact *a)
{
    compare_version(ctx, a, "baton", bt_version());
    for (uint32_t i = 0; i < bt_plugins_len(ctx); i++) {
        const bt_plugin_handle *plugin = bt_plugins_at(ctx, i);
        bt_text what;
        if (bt_plugin_state(plugin) != BT_PLUGIN_OPEN)
            continue;
        bt_text_init(&what, bt_ctx_scratch(ctx));
        bt_text_addf(&what, "plugin %s", bt_plugin_id(plugin));
        if (!bt_text_get(&what))
            return bt_no_memory();
        compare_version(ctx, a, bt_text_get(&what), bt_plugin_version(plugin));
    }
    return NULL;
}

/* ---- loading ---- */

/* Lists of a code, whose bytes and texts stay in the file. */
static bt_status copy_code(bt_compiled *c, const bt_kernel_code *from,
                           bt_kernel_code *out)
{
    int64_t *phases = BT_NEWS(c->arena, int64_t, from->nphase);
    bt_fault *faults = BT_NEWS(c->arena, bt_fault, from->nfault);
    if (!phases || !faults)
        return bt_no_memory();
    for (uint32_t i = 0; i < from->nphase; i++)
        phases[i] = from->phases[i];
    for (uint32_t i = 0; i < from->nfault; i++)
        faults[i] = from->faults[i];
    *out = *from;
    out->phases = phases;
    out->faults = faults;
    return NULL;
}

/* The code of a target's kernels, in their order. */
static bt_status load_target(bt_ctx *ctx, const bt_artifact *a, bt_compiled *c,
                             uint32_t target)
{
    const bt_kernel_code **own = BT_NEWS(c->arena, const bt_kernel_code *, c->nkernel);
    uint32_t n = 0;
    if (!own)
        return bt_no_memory();
    for (uint32_t i = 0; i < c->nkernel; i++) {
        if (c->kernels[i]->target == target)
            own[n++] = c->codes[i];
    }
    if (!n)
        return NULL;
    BT_TRY(check_machine(ctx, a, target, c));
    bt_status status = bt__load_code(ctx, c->targets[target], n, own, &c->loaded[target]);
    if (status)
        return status->code == BT_ERR_NAME ? explain_plugins(ctx, a, status) : status;
    return bt__compiled_text(c, a->targets[target].compatibility,
                             &c->compatibility[target]);
}

static bt_status copy_lists(const bt_artifact *a, bt_compiled *c)
{
    bt_compiled_func *funcs = BT_NEWS(c->arena, bt_compiled_func, a->nfunc);
    bt_compiled_kernel *kernels = BT_NEWS(c->arena, bt_compiled_kernel, a->nkernel);
    bt_kernel_code *codes = BT_NEWS(c->arena, bt_kernel_code, a->nkernel);
    if (!funcs || !kernels || !codes)
        return bt_no_memory();
    for (uint32_t i = 0; i < a->nfunc; i++) {
        funcs[i] = *a->funcs[i];
        BT_TRY(bt__compiled_text(c, a->funcs[i]->name, &funcs[i].name));
        BT_TRY(bt__compiled_text(c, a->funcs[i]->why, &funcs[i].why));
        BT_TRY(bt__compiled_text(c, a->funcs[i]->way, &funcs[i].way));
    }
    for (uint32_t i = 0; i < a->nkernel; i++) {
        kernels[i] = *a->kernels[i];
        BT_TRY(bt__compiled_text(c, a->kernels[i]->name, &kernels[i].name));
        BT_TRY(bt__compiled_text(c, a->kernels[i]->type, &kernels[i].type));
        BT_TRY(copy_code(c, a->codes[i], &codes[i]));
    }
    c->nfunc = a->nfunc;
    c->funcs = BT__LIST(c->arena, funcs, a->nfunc);
    c->nkernel = a->nkernel;
    c->kernels = BT__LIST(c->arena, kernels, a->nkernel);
    c->codes = BT__LIST(c->arena, codes, a->nkernel);
    if (!c->funcs || !c->kernels || !c->codes)
        return bt_no_memory();
    c->unpacked_nbytes = a->unpacked_nbytes;
    c->packed_nbytes = a->packed_nbytes;
    BT_TRY(bt__compiled_text(c, a->entry, &c->entry));
    BT_TRY(bt__compiled_text(c, a->executor, &c->executor));
    return bt__compiled_text(c, a->provenance, &c->provenance);
}

static bt_status refuse_other(bt_ctx *ctx, const bt_artifact *a, const char *what)
{
    return bt_fail(
        ctx, BT_ERR_ARGUMENT,
        "%s is compiled, for target %s: to change its %s takes the model it was "
        "compiled from",
        a->path, a->targets[0].text, what);
}

/* What only compiling heeds is as it was compiled. */
static bt_status check_options(bt_ctx *ctx, const bt_artifact *a, uint32_t i,
                               const bt_target_use *use)
{
    const char *name, *compiled, *other;
    if (!use->target->compile_options || !*use->options)
        return NULL;
    BT_TRY(bt_named_split(ctx, bt_ctx_scratch(ctx), "target", a->targets[i].text, &name,
                          &compiled));
    BT_TRY(bt__options_differ(ctx, use->target, use->options, compiled, &other));
    return other ? refuse_other(ctx, a, other) : NULL;
}

/* The targets' names must be those that it was compiled for; options of running may differ. */
static bt_status check_targets(bt_ctx *ctx, const bt_artifact *a, const bt_compiled *c)
{
    int same = c->ntarget == a->ntarget;
    for (uint32_t i = 0; same && i < c->ntarget; i++) {
        const char *name = c->targets[i]->target->name, *text = a->targets[i].text;
        size_t n = strlen(name);
        same = strncmp(text, name, n) == 0 && (!text[n] || strchr("{ ", text[n]));
    }
    if (!same)
        return refuse_other(ctx, a, "target");
    for (uint32_t i = 0; i < c->ntarget; i++)
        BT_TRY(check_options(ctx, a, i, c->targets[i]));
    return NULL;
}

static bt_status load(bt_ctx *ctx, const bt_artifact *base, bt_compiled *c)
{
    const struct artifact *a = (const struct artifact *)(const void *)base;
    BT_TRY(check_targets(ctx, base, c));
    c->file = bt_tensor_ref(a->bytes);
    for (uint32_t i = 0; i < c->ntarget; i++) // options of the targets may be others now
        BT_TRY(bt__compiled_text(c, base->targets[i].text, &c->spaces[i]));
    BT_TRY(copy_lists(base, c));
    c->module = bt_module_ref(base->module);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = NULL;
    for (uint32_t i = 0; i < c->ntarget && !status; i++)
        status = load_target(ctx, base, c, i);
    if (!status)
        status = compare_versions(ctx, base);
    bt_arena_release(scratch, mark);
    return status;
}

/* Names the target that no plugin provides now, and the plugin that did. */
static bt_status explain_missing(bt_ctx *ctx, const bt_artifact *a, bt_status why)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    for (uint32_t i = 0; i < a->ntarget; i++) {
        const char *text = a->targets[i].text, *needed = a->targets[i].compatibility;
        const char *name = bt_arena_text(scratch, text, strcspn(text, "{ "));
        int is_there;
        if (!name)
            return bt_no_memory();
        BT_TRY(bt__plugins_has(ctx, "baton.target/1", name, &is_there));
        if (!is_there)
            return bt_note(ctx, why, NULL, 0,
                           "%s has code of target %s%s%s: its plugin is to be where "
                           "plugins are looked for, such as BATON_PLUGIN_PATH",
                           a->path, name, *needed ? ", " : "", needed);
    }
    return why;
}

/* The targets that it was compiled for. */
static bt_status open_own(bt_ctx *ctx, const bt_artifact *artifact, bt_targets **out)
{
    bt_text list;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&list, scratch);
    for (uint32_t i = 0; i < artifact->ntarget; i++)
        bt_text_addf(&list, "%s%s", i ? ", " : "", artifact->targets[i].text);
    bt_status status = bt_text_get(&list) ? bt_targets_open(ctx, bt_text_get(&list), out)
                                          : bt_no_memory();
    if (status && status->code == BT_ERR_NAME)
        status = explain_missing(ctx, artifact, status);
    bt_arena_release(scratch, mark);
    if (status || (*out)->n == artifact->ntarget)
        return status;
    bt_targets_unref(*out);
    return bt_fail_place(ctx, BT_ERR_FORMAT, &(bt_place){ .file = artifact->path },
                         "section targets is damaged: a list in place of one target");
}

bt_status bt_artifact_load(bt_ctx *ctx, const bt_artifact *artifact, const char *targets,
                           bt_compiled **out)
{
    bt_targets *opened;
    bt_compiled *c;
    BT_TRY(targets ? bt_targets_open(ctx, targets, &opened)
                   : open_own(ctx, artifact, &opened));
    bt_status status = bt__compiled_create(ctx, opened, &c);
    bt_targets_unref(opened);
    BT_TRY(status);
    status = load(ctx, artifact, c);
    if (status)
        bt_compiled_unref(c);
    else
        *out = c;
    return status;
}
