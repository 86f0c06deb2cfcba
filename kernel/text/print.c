/*
 * Printing modules: headers, data types, globals, data. What is printed reads back as an
 * equal module, which prints the same bytes.
 */
#include "text/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"

static void add(bt_printer *p, const char *text)
{
    bt_text_add(p->out, text, strlen(text));
}

int bt__printer_init(bt_printer *p, bt_ctx *ctx, bt_text *out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_arena *temp = bt_arena_create(bt_ctx_registry(ctx));
    *p = (bt_printer){ .ctx = ctx, .out = out, .arena = arena, .temp = temp };
    if (!arena || !temp) {
        bt__printer_deinit(p);
        out->failed = 1;
        return 0;
    }
    bt_map_init(&p->sources, arena, 1);
    bt_map_init(&p->origins, arena, 0);
    bt_map_init(&p->data_of, arena, 0);
    bt_map_init(&p->data_taken, arena, 1);
    bt_map_init(&p->uses, arena, 0);
    bt_map_init(&p->ctor_names, arena, 1);
    bt_map_init(&p->type_names, arena, 1);
    bt_map_init(&p->presets, arena, 0);
    return 1;
}

int bt__printer_set_module(bt_printer *p, const bt_module *module)
{
    p->module = module;
    for (uint32_t i = 0; module && i < module->nadt; i++) {
        const bt_adt_def *def = module->adts[i];
        if (!bt_map_put(&p->type_names, def->name, p))
            return 0;
        for (uint32_t j = 0; j < def->nctor; j++) {
            if (!bt_map_put(&p->ctor_names, def->ctors[j]->name, p))
                return 0;
        }
    }
    return 1;
}

void bt__printer_deinit(bt_printer *p)
{
    bt_arena_destroy(p->arena);
    bt_arena_destroy(p->temp);
}

/* ---- origins ---- */

/* The ids of all provenance in the module, ascending: numbered in that order they keep
 * it when they are read back. */
typedef bt_vec(uint32_t) id_list;

static int note_origins(bt_printer *p, id_list *ids, bt_prov prov)
{
    const uint32_t *at;
    uint32_t n = bt_prov_ids(p->module->store, prov, &at);
    for (uint32_t i = 0; i < n; i++) {
        const void *key = (const void *)((uintptr_t)at[i] + 1);
        if (bt_map_entry_find(&p->origins, key))
            continue;
        if (!bt_map_put(&p->origins, key, p) || !BT_PUSH(p->arena, ids, at[i]))
            return 0;
    }
    return 1;
}

static int collect_block(bt_printer *p, id_list *ids, const bt_block *block)
{
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (!note_origins(p, ids, block->params[i]->base.prov))
            return 0;
    }
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        if (!note_origins(p, ids, value->prov))
            return 0;
        for (uint32_t j = 0; j < bt_value_nregion(value); j++) {
            if (!collect_block(p, ids, bt_value_region(value, j)))
                return 0;
        }
    }
    return 1;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void print_origins(bt_printer *p)
{
    id_list ids = { 0 };
    for (uint32_t i = 0; i < p->module->nglobal; i++) {
        const bt_func *func = p->module->globals[i]->func;
        if (func && !collect_block(p, &ids, func->block))
            p->out->failed = 1;
    }
    if (ids.len)
        qsort(ids.at, ids.len, sizeof(*ids.at), compare_ids);
    for (uint32_t i = 0; i < ids.len; i++) {
        const void *key = (const void *)((uintptr_t)ids.at[i] + 1);
        bt_map_put(&p->origins, key, (void *)((uintptr_t)i + 1));
        bt_text_addf(p->out, "#[origin %u", (unsigned)i);
        bt_span span = bt_prov_span(p->module->store, ids.at[i]);
        if (span) {
            add(p, " = ");
            bt__print_span(p, span);
        }
        add(p, "]\n");
    }
}

/* ---- definitions ---- */

static void print_adt_head(bt_printer *p, const bt_adt_def *def)
{
    add(p, def->is_extern ? "extern type " : "type ");
    bt__print_word(p->out, def->name);
    for (uint32_t i = 0; i < def->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)def->vars[i];
        p->out->failed |= !bt__names_add_var(p->names, def->vars[i]);
        add(p, i ? ", " : "[");
        bt__print_term(p, def->vars[i]);
        bt__print_param_range(p->out, &var->param);
    }
    add(p, def->nvar ? "]" : "");
    bt__print_place(p, def->span, 0);
}

static void print_adt(bt_printer *p, const bt_adt_def *def)
{
    print_adt_head(p, def);
    if (def->is_extern && def->nctor == 0) {
        add(p, ";\n");
        return;
    }
    add(p, " {\n");
    p->is_field = 1;
    for (uint32_t i = 0; i < def->nctor; i++) {
        const bt_ctor *ctor = def->ctors[i];
        add(p, "    ");
        bt__print_word(p->out, ctor->name);
        for (uint32_t j = 0; j < ctor->nfield; j++) {
            add(p, j ? ", " : "(");
            bt__print_term(p, ctor->fields[j]);
        }
        add(p, ctor->nfield ? "),\n" : ",\n");
    }
    p->is_field = 0;
    add(p, "}\n");
}

static const char *name_of(const bt_printer *p, const char *name)
{
    const char *other = p->renamed && name ? bt_map_find(p->renamed, name) : NULL;
    return other ? other : name;
}

void bt__print_global(bt_printer *p, const char *head, const char *name)
{
    bt__print_name(p->out, head, name_of(p, name));
}

void bt__print_entry(bt_printer *p, const bt_dict_entry *entry)
{
    static const char *const rules[] = {
#define BT_DERIVATIVE_RULE(name, doc) #name,
#include <baton/derivative_rules.def>
    };
    bt_dict_entry now = *entry;
    for (uint32_t i = 0; i < BT_COUNT(rules); i++) {
        if (entry->kind == BT_DICT_TEXT && strcmp(entry->name, rules[i]) == 0)
            now.text = name_of(p, entry->text);
    }
    bt__print_dict_entry(p->out, &now);
}

static void print_dict(bt_printer *p, const bt_dict *dict)
{
    add(p, "(");
    for (uint32_t i = 0; i < dict->n; i++) {
        add(p, i ? ", " : "");
        bt__print_entry(p, &dict->at[i]);
    }
    add(p, ")");
}

static void print_type_of(bt_printer *p, const bt_global *global)
{
    if (global->type) {
        add(p, ": ");
        bt__print_term(p, global->type);
    }
}

static void print_extern(bt_printer *p, const bt_global *global)
{
    bt__print_global(p, "extern @", global->name);
    if (global->attrs.n)
        print_dict(p, &global->attrs);
    add(p, ": ");
    bt__print_term(p, global->type);
    bt__print_place(p, global->span, 0);
    add(p, ";\n");
}

static void print_constant(bt_printer *p, const bt_global *global)
{
    bt__print_global(p, "const @", global->name);
    add(p, " = ");
    bt__print_const(p, bt_as_const(global->value)->object, global->name);
    bt__print_place(p, global->span, 0);
    add(p, ";\n");
}

static void print_indices(bt_printer *p, const char *name, const bt_ints *ints,
                          uint32_t *n)
{
    bt_text_addf(p->out, "%s%s=", (*n)++ ? ", " : "", name);
    if (ints->n == BT_NONE_LIST) {
        add(p, "None");
        return;
    }
    for (int64_t i = 0; i < ints->n; i++)
        bt_text_addf(p->out, "%s%" PRId64, i ? ", " : "[", ints->at[i]);
    add(p, ints->n ? "]" : "[]");
}

/* gradient or jvp. Only what differs from: from=0, wrt=None, keep=[], seeded=False. */
static void print_gradient(bt_printer *p, const bt_global *global)
{
    uint32_t n = 0;
    bt__print_global(p, global->gradient.is_forward ? "jvp @" : "gradient @",
                     global->name);
    print_type_of(p, global);
    add(p, " = ");
    bt__print_global(p, "@", global->primal);
    add(p, "(");
    if (global->gradient.from)
        bt_text_addf(p->out, "%sfrom=%u", n++ ? ", " : "",
                     (unsigned)global->gradient.from);
    if (global->gradient.wrt.n != BT_NONE_LIST)
        print_indices(p, "wrt", &global->gradient.wrt, &n);
    if (global->gradient.keep.n)
        print_indices(p, "keep", &global->gradient.keep, &n);
    if (global->gradient.is_seeded)
        bt_text_addf(p->out, "%sseeded=True", n ? ", " : "");
    add(p, ")");
    bt__print_place(p, global->span, 0);
    add(p, ";\n");
}

static void print_global(bt_printer *p, const bt_global *global)
{
    int ok = global->kind == BT_GLOBAL_FUNC
                 ? bt__names_assign(p->names, global->func, (int)p->module->is_typed)
                 : bt__names_assign_type(p->names, global->type);
    p->out->failed |= !ok;
    switch (global->kind) {
    case BT_GLOBAL_FUNC:
        bt__print_global(p, "def @", global->name);
        bt__print_function(p, global->func);
        add(p, "\n");
        break;
    case BT_GLOBAL_CONST: print_constant(p, global); break;
    case BT_GLOBAL_EXTERN: print_extern(p, global); break;
    default: print_gradient(p, global); break;
    }
}

/* A data type or a global, with names of its own. */
static void print_definition(bt_printer *p, const bt_adt_def *def,
                             const bt_global *global)
{
    const void *mark = bt_arena_mark(p->temp);
    add(p, "\n");
    p->names = bt__names_create(p->temp, &p->type_names);
    p->out->failed |= !p->names;
    if (p->names)
        p->names->nested = p->nested;
    if (p->names && def)
        print_adt(p, def);
    else if (p->names)
        print_global(p, global);
    p->names = NULL;
    bt_arena_release(p->temp, mark);
}

/* ---- the module ---- */

static void print_body(bt_printer *p)
{
    const bt_module *module = p->module;
    for (uint32_t i = 0; i < module->nadt; i++)
        print_definition(p, module->adts[i], NULL);
    for (uint32_t i = 0; i < module->nglobal && !p->out->failed; i++)
        print_definition(p, NULL, module->globals[i]);
}

static void print_sources(bt_printer *p)
{
    for (uint32_t i = 0; i < p->sources.len; i++) {
        bt_text_addf(p->out, "#[source %u = ", (unsigned)i);
        bt__print_quoted(p->out, p->sources.at[i].key);
        add(p, "]\n");
    }
}

static void print_headers(bt_printer *p, const char *weights)
{
    add(p, "#[version = \"baton 0.1\"]\n");
    if (p->module->is_typed && !p->nested)
        add(p, "#[typed]\n");
    if (weights && p->data.len) {
        add(p, "#[weights = ");
        bt__print_quoted(p->out, weights);
        add(p, "]\n");
    }
    if (p->module->attrs.n) {
        add(p, "#[attrs");
        print_dict(p, &p->module->attrs);
        add(p, "]\n");
    }
    if (p->has_spans)
        add(p, "#[spans]\n");
    print_sources(p);
}

static bt_status make_npz(bt_printer *p, bt_npz **out)
{
    bt_npz_entry *entries = BT_NEWS(p->arena, bt_npz_entry, p->data.len);
    if (!entries)
        return bt_no_memory();
    for (uint32_t i = 0; i < p->data.len; i++)
        entries[i] = (bt_npz_entry){ p->data.at[i].name,
                                     (bt_tensor *)(uintptr_t)p->data.at[i].tensor };
    return bt_npz_create(p->ctx, p->data.len, entries, out);
}

/* What follows decides the headers, so it is printed first, into a text of its own. */
static bt_status print_module(bt_printer *p, const bt_print_options *options)
{
    bt_text *out = p->out, origins, body;
    const char *weights = options->weights;
    bt_text_init(&origins, p->arena);
    bt_text_init(&body, p->arena);
    if (!bt__print_count_constants(p))
        return bt_no_memory();
    if (p->has_spans) {
        p->out = &origins;
        print_origins(p);
    }
    p->out = &body;
    print_body(p);
    p->out = out;
    if (body.failed || origins.failed)
        return bt_no_memory();
    size_t start = out->len;
    print_headers(p, weights);
    bt_text_add(out, bt_text_get(&origins), origins.len);
    bt_text_add(out, bt_text_get(&body), body.len);
    if (!weights)
        bt__print_data(p);
    bt_status status = out->failed ? bt_no_memory() : NULL;
    if (!status && weights)
        status = make_npz(p, options->npz);
    if (status && out->at)
        out->at[out->len = start] = 0;
    return status;
}

bt_status bt_print_sized(bt_ctx *ctx, const bt_module *module,
                         const bt_print_options *given, size_t nbytes, bt_text *out)
{
    bt_print_options options;
    BT_TRY(bt__options_take(ctx, &options, sizeof(options), given, nbytes));
    if (options.weights &&
        (!options.npz || !*options.weights || strchr(options.weights, '/')))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "bt_print: weights need a file name without folders and a place "
                       "for the npz");
    bt_printer p;
    if (!bt__printer_init(&p, ctx, out))
        return bt_no_memory();
    p.has_spans = options.spans;
    p.nested = options.nested;
    p.renamed = options.renamed;
    bt_status status =
        bt__printer_set_module(&p, module) ? print_module(&p, &options) : bt_no_memory();
    bt__printer_deinit(&p);
    return status;
}

/* ---- parts of functions ---- */

bt_status bt_printer_create(bt_ctx *ctx, const bt_module *module, bt_text *text,
                            bt_printer **out)
{
    bt_printer made, *p;
    if (!bt__printer_init(&made, ctx, text))
        return bt_no_memory();
    p = BT_NEW(made.arena, bt_printer);
    if (!p || !bt__printer_set_module(&made, module)) {
        bt__printer_deinit(&made);
        return bt_no_memory();
    }
    *p = made;
    *out = p;
    return NULL;
}

void bt_printer_destroy(bt_printer *p)
{
    if (p) // it lies in its own arena
        bt__printer_deinit(&(bt_printer){ .arena = p->arena, .temp = p->temp });
}

bt_status bt_printer_begin(bt_printer *p, const bt_func *func)
{
    p->names = bt__names_create(p->arena, &p->type_names);
    return p->names && bt__names_assign(p->names, func, (int)p->module->is_typed)
               ? NULL
               : bt_no_memory();
}
