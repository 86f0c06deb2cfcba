/* Code for kernels. */
#include "engine.h"

#include <string.h>

#include <baton/compute.h>

#include "c_text.h"
#include "code.h"
#include "integer.h"
#include "native_text.h"

/* ---- machine code ---- */

static const char *symbol_of(bt_arena *arena, uint32_t kernel)
{
    bt_text name;
    bt_text_init(&name, arena);
    c_text_name(&name, kernel);
    return bt_text_get(&name);
}

const bt_symbol *cpu_engine_symbols(bt_arena *arena, enum cpu_isa isa, uint32_t n,
                                    const struct bytecode *const *bytecodes)
{
    bt_vec(bt_symbol) all = { 0 };
    bt_map seen;
    bt_map_init(&seen, arena, 1);
    int ok = BT_PUSH(arena, &all,
                     ((bt_symbol){ .name = "cpu_integer_eval",
                                   .function = (bt_function)cpu_integer_eval }));
    for (uint32_t i = 0; ok && i < n; i++) {
        for (uint32_t k = 0; ok && bytecodes[i] && k < bytecodes[i]->ncallee; k++) {
            const struct cpu_callee *callee =
                cpu_callee_find(isa, bytecodes[i]->callees[k]);
            bt_text name;
            if (bt_map_find(&seen, bytecodes[i]->callees[k]) || !callee)
                continue;
            bt_text_init(&name, arena);
            c_text_callee(&name, bytecodes[i]->callees[k]);
            ok = bt_text_get(&name) &&
                 bt_map_put(&seen, bytecodes[i]->callees[k], &seen) &&
                 BT_PUSH(arena, &all,
                         ((bt_symbol){ .name = name.at,
                                       .function = (bt_function)callee->run }));
        }
    }
    return ok && BT_PUSH(arena, &all, (bt_symbol){ 0 }) ? all.at : NULL;
}

static bt_status write_text(uint32_t n, const struct bytecode *const *bytecodes,
                            bt_text *out)
{
    c_text_head(out);
    for (uint32_t i = 0; i < n; i++) {
        if (bytecodes[i])
            c_text_bytecode(out, bytecodes[i], i);
    }
    return bt_text_get(out) ? NULL : bt_no_memory();
}

static bt_status compile(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                         const char *options, uint32_t n,
                         const struct bytecode *const *bytecodes, bt_text *object)
{
    const char *folders[2] = { NULL, NULL };
    bt_text text;
    bt_text_init(&text, arena);
    BT_TRY(bt_library_file(ctx, arena, "include", &folders[0]));
    BT_TRY(write_text(n, bytecodes, &text));
    const bt_c_source source = {
        .name = "kernels", .text = text.at, .nbytes = text.len, .folders = folders
    };
    BT_TRY(bt_c_compile(ctx, compiler, *options ? options : NULL, &source, object));
    return object->failed ? bt_no_memory() : NULL;
}

static bt_status find_functions(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                                uint32_t n, const struct bytecode *const *bytecodes,
                                const bt_code *code)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *symbol = symbol_of(arena, i);
        if (!symbol)
            return bt_no_memory();
        if (bytecodes[i] && !bt_code_find(code, symbol))
            return bt_fail(ctx, BT_ERR_PLUGIN, "%s: its object has no %s", compiler,
                           symbol);
    }
    return NULL;
}

/* Whether it can be loaded, as long as another engine may take its place. A system that
 * lets nobody have memory for machine code is not the compiler's fault: the code may be
 * for another. */
static bt_status check_object(bt_ctx *ctx, bt_arena *arena, const char *compiler,
                              enum cpu_isa isa, uint32_t n,
                              const struct bytecode *const *bytecodes,
                              const bt_text *object)
{
    const bt_code_object part = { compiler, object->at, object->len };
    const bt_symbol *symbols = cpu_engine_symbols(arena, isa, n, bytecodes);
    bt_code *code;
    if (!symbols)
        return bt_no_memory();
    bt_status status = bt_code_load(ctx, 1, &part, symbols, &code);
    if (status)
        return status->code == BT_ERR_IO ? NULL : status;
    status = find_functions(ctx, arena, compiler, n, bytecodes, code);
    bt_code_unload(code);
    return status;
}

/* A failure that another engine does not mend. */
static int is_final(bt_status status)
{
    return status->code == BT_ERR_MEMORY || status->code == BT_ERR_CANCELLED;
}

/* *object stays empty where the engine is the bytecode; *made says what it is, and why. */
static bt_status make_object(bt_ctx *ctx, bt_arena *arena,
                             const struct cpu_engine_request *request, uint32_t n,
                             const struct bytecode *const *bytecodes, bt_text *object,
                             const char **made)
{
    int is_free = strcmp(request->engine, "auto") == 0;
    const char *compiler = is_free ? "tcc" : request->engine;
    uint32_t nbytecode = 0;
    for (uint32_t i = 0; i < n; i++)
        nbytecode += bytecodes[i] != NULL;
    *made = compiler;
    if (strcmp(compiler, "bytecode") == 0 || nbytecode == 0) {
        *made = "bytecode";
        return NULL;
    }
    bt_status status =
        compile(ctx, arena, compiler, request->compiler, n, bytecodes, object);
    if (!status)
        status = check_object(ctx, arena, compiler, request->isa, n, bytecodes, object);
    if (!status || !is_free || is_final(status))
        return status;
    bt_text why;
    bt_text_init(&why, arena);
    bt_text_addf(&why, "bytecode, as tcc does not work: %s", status->message);
    bt_text_init(object, arena);
    *made = bt_text_get(&why);
    return *made ? NULL : bt_no_memory();
}

/* ---- kernels ---- */

/* What stands beside machine code, or in its place. */
static bt_status write_own(bt_ctx *ctx, bt_arena *arena,
                           const struct cpu_engine_request *request, const char *made,
                           const struct cpu_work *work, bt_text *out)
{
    struct cpu_code code = { .isa = request->isa,
                             .made = made,
                             .is_evaluated = !work->bytecode,
                             .why = work->why };
    bt_text function;
    bt_text_init(&function, arena);
    if (work->function)
        BT_TRY(bt_evaluator_print(ctx, work->function, &function));
    code.function = function.at;
    code.function_nbytes = function.len;
    if (work->bytecode)
        code.bytecode = *work->bytecode;
    bt_text_init(out, arena);
    return cpu_code_write(ctx, &code, out);
}

/* What anybody needs to know who calls the function. */
static bt_status describe(bt_arena *arena, const struct bytecode *bytecode, int is_native,
                          bt_kernel_code *out)
{
    int64_t *phases = BT_NEWS(arena, int64_t, bytecode->nphase);
    bt_fault *faults = BT_NEWS(arena, bt_fault, (size_t)bytecode->ncheck + 1);
    if (!phases || !faults)
        return bt_no_memory();
    for (uint32_t i = 0; i < bytecode->nphase; i++)
        phases[i] = bytecode->phases[i].is_parallel && bytecode->phases[i].extent >= 0
                        ? bytecode->phases[i].extent
                        : 1;
    for (uint32_t i = 0; i < bytecode->ncheck; i++) {
        // the code outlives the bytecode's names
        const char *array = bytecode->checks[i].array;
        const int64_t extent = bytecode->checks[i].bound;
        bt_fault *fault = &faults[i];
        bt_text text;
        *fault = (bt_fault){ .array = bt_arena_text(arena, array, strlen(array)),
                             .axis = bytecode->checks[i].axis,
                             .extent = extent < 0 ? 0 : extent };
        if (extent < 0) { // it is computed from dims
            bt_text_init(&text, arena);
            bt_text_addf(&text, "an index is out of bounds for axis %u of %s",
                         fault->axis, array);
            fault->text = bt_text_get(&text);
        }
        if (!fault->array || (extent < 0 && !fault->text))
            return bt_no_memory();
    }
    out->scratch = (uint64_t)bytecode_scratch_nbytes(bytecode);
    if (is_native) // all phases, and a check of dims that launching does elsewhere
        faults[bytecode->ncheck] = (bt_fault){ .text = NATIVE_TEXT_DIM };
    else
        out->nphase = bytecode->nphase;
    out->phases = phases;
    out->nfault = bytecode->ncheck + (is_native && bytecode->ndim);
    out->faults = faults;
    return NULL;
}

bt_status cpu_engine_compile(bt_ctx *ctx, bt_arena *arena,
                             const struct cpu_engine_request *request, uint32_t form,
                             uint32_t n, const struct cpu_work *works,
                             bt_kernel_code *const *out)
{
    const struct bytecode **bytecodes = BT_NEWS(arena, const struct bytecode *, n);
    const int is_native = form == BT_CODE_SOURCE;
    const char *made = "source";
    bt_text code, own;
    if (!bytecodes)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        bytecodes[i] = works[i].bytecode;
    bt_text_init(&code, arena);
    if (is_native)
        native_text(&code, request, n, bytecodes);
    else
        BT_TRY(make_object(ctx, arena, request, n, bytecodes, &code, &made));
    if (code.failed)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES };
        BT_TRY(write_own(ctx, arena, request, made, &works[i], &own));
        if (bytecodes[i])
            BT_TRY(describe(arena, bytecodes[i], is_native, out[i]));
        out[i]->own = own.at;
        out[i]->own_nbytes = own.len;
        if (!bytecodes[i] || !code.len)
            continue;
        out[i]->form = is_native ? BT_CODE_SOURCE : BT_CODE_OBJECT;
        out[i]->symbol = symbol_of(arena, i);
        out[i]->at = code.at;
        out[i]->nbytes = code.len;
        if (!out[i]->symbol)
            return bt_no_memory();
    }
    return NULL;
}
