/* Bytecode as C text for programs without Baton. */
#include "native_text.h"

#include <inttypes.h>
#include <string.h>

#include <baton/graph.h>

#include "c_text.h"

/* ---- primitives ---- */

/* The tables of the rows, as a struct cpu_callee is laid out. */
static void add_tables(bt_text *out, enum cpu_isa isa)
{
    const struct cpu_callee *row;
    const char *before = "";
    bt_text_addf(out, "struct cpu_row { const char *name; int (*run)(word *, i64 *); "
                      "u32 of[4]; };\n");
    for (uint32_t i = 0; (row = cpu_callee_at(isa, i)) != NULL; i++) {
        uint32_t index;
        const char *table = cpu_callee_table(isa, row, &index);
        if (table && index == 0 && strcmp(table, before) != 0)
            bt_text_addf(out, "extern const struct cpu_row %s[];\n", table);
        before = table ? table : before;
    }
}

static void add_callee(bt_text *out, enum cpu_isa isa, const char *name)
{
    uint32_t index;
    const struct cpu_callee *row = cpu_callee_find(isa, name);
    const char *table = row ? cpu_callee_table(isa, row, &index) : NULL;
    bt_text_addf(out, table ? "#define " : "extern int ");
    c_text_callee(out, name);
    if (table)
        bt_text_addf(out, " %s[%" PRIu32 "].run\n", table, index);
    else
        bt_text_addf(out, "(word *, i64 *);\n");
}

/* Each that a kernel calls, once. */
static int add_callees(bt_text *out, enum cpu_isa isa, uint32_t n,
                       const struct bytecode *const *bytecodes)
{
    bt_map seen;
    bt_map_init(&seen, out->arena, 1);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; bytecodes[i] && k < bytecodes[i]->ncallee; k++) {
            const char *name = bytecodes[i]->callees[k];
            if (bt_map_find(&seen, name))
                continue;
            if (!bt_map_put(&seen, name, &seen))
                return 0;
            add_callee(out, isa, name);
        }
    }
    return 1;
}

/* ---- kernels ---- */

/* A phase whose iterations the one before it counts has them in a register. */
static void add_call(bt_text *out, const struct bytecode *bytecode, uint32_t kernel,
                     uint32_t phase)
{
    const struct bytecode_phase *p = &bytecode->phases[phase];
    bt_text_addf(out, "if (fault == 0) { fault = ");
    if (phase)
        bt_text_addf(out, "*stop ? BT_FAULT_STOPPED : ");
    bt_text_addf(out, "phase_%" PRIu32 "_%" PRIu32 "(n, p, b, locals, stop, 0, ", kernel,
                 phase);
    if (!p->is_parallel || p->extent >= 0)
        bt_text_addf(out, "%" PRId64, p->is_parallel ? p->extent : 1);
    else
        bt_text_addf(out, "n[%" PRId64 "]", -1 - p->extent);
    bt_text_addf(out, "%s); }\n", bytecode->ndim ? ", call->dims" : "");
}

/* Whether a phase is to be entered at all: a body is done once before its end is looked for. */
static void add_condition(bt_text *out, const struct bytecode_phase *phase)
{
    if (phase->is_parallel && phase->extent < 0)
        bt_text_addf(out, "if (n[%" PRId64 "] > 0)\n", -1 - phase->extent);
}

static void add_kernel(bt_text *out, const struct cpu_engine_request *request,
                       const struct bytecode *bytecode, uint32_t kernel)
{
    bt_text_addf(out, "int32_t kernel_%" PRIu32 "(const bt_kernel_call *call);\n",
                 kernel);
    bt_text_addf(out,
                 "int32_t kernel_%" PRIu32
                 "(const bt_kernel_call *call)\n{\ni64 *n = (i64 *)call->scratch;\n"
                 "word *p = (word *)(n + %" PRIu32 ");\n"
                 "word locals = (word)call->scratch + %" PRId64 "U;\n"
                 "const word *b = (const word *)call->buffers;\n"
                 "u32 modes;\ni32 fault = 0;\n",
                 kernel, bytecode->nn, bytecode_locals_offset(bytecode));
    c_text_stop(out);
    // without phases nothing has them
    bt_text_addf(out, "(void)p; (void)b; (void)locals; (void)stop;\n");
    for (uint32_t i = 0; i < bytecode->ndim; i++)
        bt_text_addf(out,
                     "if (call->dims[%" PRIu32 "] < 0 || call->dims[%" PRIu32
                     "] > %" PRId64 ") { return %" PRIu32 "; }\n",
                     i, i, BT_MAX_DIM, bytecode->ncheck + 1);
    bt_text_addf(out,
                 "if (cpu_native_enter(%uU, %dU, &modes) != 0) "
                 "{ return BT_FAULT_DEVICE; }\n",
                 (unsigned)request->isa, request->keeps_denormals);
    for (uint32_t i = 0; i < bytecode->nphase; i++) {
        if (bytecode->phases[i].is_parallel && !bytecode->phases[i].extent)
            continue;
        add_condition(out, &bytecode->phases[i]);
        add_call(out, bytecode, kernel, i);
    }
    bt_text_addf(out, "cpu_native_leave(modes);\nreturn fault;\n}\n");
}

void native_text(bt_text *out, const struct cpu_engine_request *request, uint32_t n,
                 const struct bytecode *const *bytecodes)
{
    c_text_head(out);
    bt_text_addf(out, "extern i32 cpu_native_enter(u32, u32, u32 *);\n"
                      "extern void cpu_native_leave(u32);\n");
    add_tables(out, request->isa);
    if (!add_callees(out, request->isa, n, bytecodes))
        out->failed = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!bytecodes[i])
            continue;
        c_text_phases(out, bytecodes[i], i);
        add_kernel(out, request, bytecodes[i], i);
    }
}
