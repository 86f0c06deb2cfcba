/* Modules: one version each, found by name. What a version owns is one block of memory;
 * the nodes belong to the store. */
#include "ir/module.h"

#include <string.h>

#include "ir/intern.h"

/* A table from names to items, in the module's block. At most half full. */
struct name_slot {
    const char *name; /* NULL: free */
    const void *item;
};
struct name_table {
    uint32_t nslot; /* a power of two */
    struct name_slot *slots;
};
struct index {
    struct name_table globals, adts, ctors;
};
struct module {
    bt_module base;
    struct index index;
    size_t nbytes; /* of the block */
};

static const void *find(const struct name_table *table, const char *name)
{
    uint32_t mask = table->nslot - 1;
    for (uint32_t i = bt__hash_text(name) & mask; table->slots[i].name;
         i = (i + 1) & mask) {
        if (strcmp(table->slots[i].name, name) == 0)
            return table->slots[i].item;
    }
    return NULL;
}

static void add(struct name_table *table, const char *name, const void *item)
{
    uint32_t mask = table->nslot - 1;
    uint32_t i = bt__hash_text(name) & mask;
    while (table->slots[i].name)
        i = (i + 1) & mask;
    table->slots[i] = (struct name_slot){ name, item };
}

/* A power of two that is at least twice `len`; 0: too many. */
static uint32_t slots_for(uint32_t len)
{
    uint32_t nslot = 2;
    while (nslot && nslot / 2 < len)
        nslot *= 2;
    return nslot;
}

static uint32_t count_ctors(uint32_t nadt, const bt_adt_def *const *adts)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < nadt; i++)
        n += adts[i]->nctor;
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Adds `count` items of `nbytes` to the size of a block, aligned for pointers. */
static int reserve(size_t *total, uint32_t count, size_t nbytes, size_t *offset)
{
    size_t size;
    *offset = *total;
    return bt_mul_size(count, nbytes, &size) && bt_add_size(*total, size, total);
}

static void fill_index(struct module *m)
{
    for (uint32_t i = 0; i < m->base.nglobal; i++)
        add(&m->index.globals, m->base.globals[i]->name, m->base.globals[i]);
    for (uint32_t i = 0; i < m->base.nadt; i++) {
        const bt_adt_def *adt = m->base.adts[i];
        add(&m->index.adts, adt->name, adt);
        for (uint32_t k = 0; k < adt->nctor; k++)
            add(&m->index.ctors, adt->ctors[k]->name, adt->ctors[k]);
    }
}

bt_module *bt__module_create(const struct bt__module_parts *parts)
{
    uint32_t nslots[] = { slots_for(parts->nglobal), slots_for(parts->nadt),
                          slots_for(count_ctors(parts->nadt, parts->adts)) };
    size_t nbytes = sizeof(struct module), at_globals, at_adts, at_slots[3];
    int fits = reserve(&nbytes, parts->nglobal, sizeof(void *), &at_globals) &&
               reserve(&nbytes, parts->nadt, sizeof(void *), &at_adts);
    for (uint32_t i = 0; i < 3; i++)
        fits = fits && nslots[i] &&
               reserve(&nbytes, nslots[i], sizeof(struct name_slot), &at_slots[i]);
    char *block = fits ? bt_alloc(bt_store_registry(parts->store), nbytes) : NULL;
    if (!block)
        return NULL;
    struct module *m = (struct module *)(void *)block;
    const bt_global **globals = (const bt_global **)(void *)(block + at_globals);
    const bt_adt_def **adts = (const bt_adt_def **)(void *)(block + at_adts);
    if (parts->nglobal)
        memcpy(globals, parts->globals, parts->nglobal * sizeof(*globals));
    if (parts->nadt)
        memcpy(adts, parts->adts, parts->nadt * sizeof(*adts));
    struct name_table *tables[] = { &m->index.globals, &m->index.adts, &m->index.ctors };
    for (uint32_t i = 0; i < 3; i++)
        *tables[i] =
            (struct name_table){ nslots[i],
                                 (struct name_slot *)(void *)(block + at_slots[i]) };
    m->nbytes = nbytes;
    m->base = (bt_module){
        .store = bt_store_ref(parts->store),
        .nref = 1,
        .is_typed = parts->is_typed,
        .nadt = parts->nadt,
        .adts = adts,
        .nglobal = parts->nglobal,
        .globals = globals,
        .attrs = parts->attrs,
        .index = &m->index,
    };
    fill_index(m);
    return &m->base;
}

bt_module *bt_module_ref(const bt_module *module)
{
    bt_module *shared = (bt_module *)(uintptr_t)module;
    __atomic_add_fetch(&shared->nref, 1, __ATOMIC_RELAXED);
    return shared;
}

void bt_module_unref(const bt_module *module)
{
    bt_module *shared = (bt_module *)(uintptr_t)module;
    if (!shared || __atomic_sub_fetch(&shared->nref, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    bt_store *store = shared->store;
    bt_free(bt_store_registry(store), shared, ((struct module *)(void *)shared)->nbytes);
    bt_store_unref(store);
}

/* ---- looking up ---- */

static const struct index *index_of(const bt_module *module)
{
    return module->index;
}

const bt_global *bt_module_find(const bt_module *module, const char *name)
{
    return find(&index_of(module)->globals, name);
}

const bt_adt_def *bt_module_find_adt(const bt_module *module, const char *name)
{
    return find(&index_of(module)->adts, name);
}

const bt_ctor *bt_module_find_ctor(const bt_module *module, const char *name)
{
    return find(&index_of(module)->ctors, name);
}

uint32_t bt_module_position(const bt_module *module, const bt_global *global)
{
    uint32_t i = 0;
    while (i < module->nglobal && module->globals[i] != global)
        i++;
    return i;
}

const bt_global *bt_module_global(const bt_module *module, const bt_value *value)
{
    return value && value->kind == BT_VALUE_GLOBAL ? bt_module_find(module, value->name)
                                                   : NULL;
}

const bt_value *bt_module_constant(const bt_module *module, const bt_value *value)
{
    const bt_global *global = bt_module_global(module, value);
    return global && global->kind == BT_GLOBAL_CONST ? global->value : value;
}

const bt_global *bt_call_global(const bt_module *module, const bt_call *call)
{
    return call && call->callee_kind == BT_CALLEE_VALUE
               ? bt_module_global(module, call->callee)
               : NULL;
}

const bt_global *bt_module_primitive(const bt_module *module, const bt_call *call)
{
    const bt_global *global = bt_call_global(module, call);
    return global && global->kind == BT_GLOBAL_FUNC && bt_func_is_primitive(global->func)
               ? global
               : NULL;
}

const bt_global *bt_module_primal(const bt_module *module, const bt_global *global)
{
    // a cycle, which only an untyped module can have, ends as well
    for (uint32_t i = 0; global && global->kind == BT_GLOBAL_GRADIENT; i++)
        global = i < module->nglobal && global->primal
                     ? bt_module_find(module, global->primal)
                     : NULL;
    return global;
}

/* An entry that is a declaration has another name than in the text: its own is that of a
 * function at the same place, which calls it. */
static const char *written_name(const bt_module *module, const bt_global *global)
{
    for (uint32_t i = 0; global->span && i < module->nglobal; i++) {
        const bt_global *other = module->globals[i];
        if (other->kind == BT_GLOBAL_FUNC && other->span == global->span)
            return other->name;
    }
    return global->name;
}

bt_status bt_global_fail(bt_ctx *ctx, const bt_module *module, const bt_global *global)
{
    const int is_gradient = global->kind == BT_GLOBAL_GRADIENT;
    return bt_fail_at(
        ctx, BT_ERR_UNSUPPORTED, module->store, global->span,
        "@%s is declared %s%s, which gives it a type, but no body%s",
        written_name(module, global),
        !is_gradient                  ? "extern"
        : global->gradient.is_forward ? "as the jvp of @"
                                      : "as the gradient of @",
        is_gradient ? global->primal : "",
        is_gradient
            ? ": pass differentiate makes one, and has not run (it is in pipeline "
              "gradients, which default begins with)"
            : ", and no pass makes one: to run it, write it as a def");
}

/* Names of what can be an entry, for a message; long lists are cut. */
static void list_functions(const bt_module *module, bt_text *out)
{
    enum { SHOWN = 8 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if ((module->globals[i]->kind == BT_GLOBAL_FUNC ||
             module->globals[i]->kind == BT_GLOBAL_GRADIENT) &&
            n++ < SHOWN)
            bt_text_addf(out, "%s@%s", n > 1 ? ", " : "", module->globals[i]->name);
    }
    if (n > SHOWN)
        bt_text_addf(out, " and %u more", n - SHOWN);
}

static bt_status no_entry(bt_ctx *ctx, const bt_module *module, const char *name)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text names;
    bt_text_init(&names, scratch);
    list_functions(module, &names);
    const char *list = bt_text_get(&names);
    bt_status status = bt_no_memory();
    if (list)
        status = bt_fail(ctx, BT_ERR_NAME, "no function is named @%s: %sthe module has %s",
                         name, *name == '@' ? "names are given without @; " : "",
                         *list ? list : "no functions");
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt_module_entry(bt_ctx *ctx, const bt_module *module, const char *name,
                          const bt_global **out)
{
    const bt_global *entry = bt_module_find(module, name ? name : "main");
    const bt_global *only = NULL;
    uint32_t nfunc = 0;
    for (uint32_t i = 0; i < module->nglobal; i++) {
        if (module->globals[i]->kind == BT_GLOBAL_FUNC) {
            only = module->globals[i];
            nfunc++;
        }
    }
    if (entry && entry->kind == BT_GLOBAL_CONST)
        entry = NULL;
    if (!entry && !name && nfunc == 1)
        entry = only;
    if (!entry)
        return no_entry(ctx, module, name ? name : "main");
    if (entry->kind != BT_GLOBAL_FUNC)
        return bt_global_fail(ctx, module, entry);
    *out = entry;
    return NULL;
}
