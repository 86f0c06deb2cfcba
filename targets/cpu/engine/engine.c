/* Machine code for plans. */
#include "engine.h"

#include <string.h>

#include <baton/compiler.h>

#include "c_text.h"

static bt_status compile(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                         const char *options, uint32_t nkernel,
                         const struct plan *const *plans, bt_text *object)
{
    bt_text text;
    bt_text_init(&text, arena);
    c_text_head(&text);
    for (uint32_t i = 0; i < nkernel; i++) {
        if (plans[i])
            c_text_plan(&text, plans[i], i);
    }
    if (!bt_text_get(&text))
        return bt_no_memory();
    const bt_c_source source = { .name = "kernels", .text = text.at, .nbytes = text.len };
    BT_TRY(bt_c_compile(ctx, compiler, *options ? options : NULL, &source, object));
    return object->failed ? bt_no_memory() : NULL;
}

static bt_status find_functions(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                                uint32_t nkernel, const struct plan *const *plans,
                                const bt_code *code)
{
    for (uint32_t i = 0; i < nkernel; i++) {
        for (uint32_t k = 0; plans[i] && k < plans[i]->nphase; k++) {
            bt_text name;
            bt_text_init(&name, arena);
            c_text_name(&name, i, k);
            if (!bt_text_get(&name))
                return bt_no_memory();
            if (!bt_code_find(code, bt_text_get(&name)))
                return bt_fail(ctx, BT_ERR_PLUGIN, "%s: its object has no %s", compiler,
                               bt_text_get(&name));
        }
    }
    return NULL;
}

/* Whether it can be loaded, as long as another engine may take its place. A system that
 * lets nobody have memory for machine code is not the compiler's fault: the code may be
 * for another. */
static bt_status check_object(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                              uint32_t nkernel, const struct plan *const *plans,
                              const bt_text *object)
{
    const bt_code_object part = { compiler, object->at, object->len };
    bt_code *code;
    bt_status status = bt_code_load(ctx, 1, &part, NULL, &code);
    if (status)
        return status->code == BT_ERR_IO ? NULL : status;
    status = find_functions(ctx, arena, compiler, nkernel, plans, code);
    bt_code_unload(code);
    return status;
}

/* A failure that another engine does not mend. */
static int is_final(bt_status status)
{
    return status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED;
}

bt_status cpu_engine_compile(bt_ctx *ctx, bt_arena *arena,
                             const struct cpu_engine_request *request, uint32_t nkernel,
                             const struct plan *const *plans, bt_text *object,
                             const char **made)
{
    int is_free = strcmp(request->engine, "auto") == 0;
    const char *compiler = is_free ? "tcc" : request->engine;
    uint32_t nplan = 0;
    for (uint32_t i = 0; i < nkernel; i++)
        nplan += plans[i] != NULL;
    *made = compiler;
    if (strcmp(compiler, "plan") == 0 || nplan == 0) {
        *made = "plan";
        return NULL;
    }
    bt_status status =
        compile(ctx, arena, compiler, request->compiler, nkernel, plans, object);
    if (!status)
        status = check_object(ctx, arena, compiler, nkernel, plans, object);
    if (!status || !is_free || is_final(status))
        return status;
    bt_text why;
    bt_text_init(&why, arena);
    bt_text_addf(&why, "plan, as tcc does not work: %s", status->message);
    bt_text_init(object, arena);
    *made = bt_text_get(&why);
    return *made ? NULL : bt_no_memory();
}
