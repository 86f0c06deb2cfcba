/* Bytecode as C text. */
#include "c_text.h"

#include <inttypes.h>
#include <stdio.h>

#include <baton/graph.h>

void c_text_head(bt_text *out)
{
    bt_text_addf(out, "#include <baton/kernel.h>\n"
                      "typedef signed char i8;\n"
                      "typedef unsigned char u8;\n"
                      "typedef short i16;\n"
                      "typedef unsigned short u16;\n"
                      "typedef int i32;\n"
                      "typedef unsigned int u32;\n"
                      "typedef long long i64;\n"
                      "typedef unsigned long long u64;\n"
                      "typedef unsigned long word;\n"
                      "extern i64 cpu_integer_eval(u32, u32, i64, i64);\n");
}

void c_text_name(bt_text *out, uint32_t kernel)
{
    bt_text_addf(out, "kernel_%" PRIu32, kernel);
}

void c_text_callee(bt_text *out, const char *name)
{
    bt_text_addf(out, "cpu_");
    for (; *name; name++)
        bt_text_add(out, *name == '.' ? "_" : name, 1);
}

/* ---- statements ---- */

/* A cell's bits, so that the least integer needs no expression. */
static void add_integer(bt_text *out, int64_t value)
{
    if (value >= 0)
        bt_text_addf(out, "%" PRId64 "LL", value);
    else
        bt_text_addf(out, "(i64)0x%" PRIx64 "ULL", (uint64_t)value);
}

/* name[reg] = name[reg] + by, which wraps. */
static void add_step(bt_text *out, char name, uint32_t reg, int64_t by)
{
    const char *type = name == 'n' ? "i64" : "word";
    bt_text_addf(out, "%c[%" PRIu32 "] = (%s)((u64)%c[%" PRIu32 "] + %" PRIu64 "ULL);\n",
                 name, reg, type, name, reg, (uint64_t)by);
}

/* Updates made as often as `times` says. */
static void add_updates(bt_text *out, const uint32_t *at, const char *times)
{
    uint32_t np = at[0], n = at[0] + at[1];
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *step = at + 2 + 3 * i;
        char name = i < np ? 'p' : 'n';
        bt_text_addf(out,
                     "%c[%" PRIu32 "] = (%s)((u64)%c[%" PRIu32 "] + %" PRIu64
                     "ULL * (u64)%s);\n",
                     name, *step, i < np ? "word" : "i64", name, *step,
                     (uint64_t)bytecode_integer(step + 1), times);
    }
}

static const char *load_type(bt_dtype dtype)
{
    switch (dtype) {
    case BT_INT8: return "i8";
    case BT_INT16: return "i16";
    case BT_INT32: return "i32";
    case BT_INT64: return "i64";
    case BT_UINT16: return "u16";
    case BT_UINT32: return "u32";
    case BT_UINT64: return "u64";
    default: return "u8";
    }
}

static void add_back(bt_text *out, const uint32_t *updates, uint32_t to, int looks)
{
    if (looks)
        bt_text_addf(out, "if (*stop) { return BT_FAULT_STOPPED; }\n");
    add_updates(out, updates, "1");
    bt_text_addf(out, "goto L%" PRIu32 "; }\n", to);
}

/* Whether a loop, whose end is here, looks for a wish to stop: not the many short ones that
 * have no other loop in them. */
static int is_long(const uint32_t *at)
{
    enum { FEW_TURNS = 64 };
    int has_loop = 0;
    for (const uint32_t *in = at - at[1]; in < at; in += bytecode_length(in, UINT32_MAX))
        has_loop |= (*in & 0xff) == BYTECODE_NEXT || (*in & 0xff) == BYTECODE_UNTIL;
    return has_loop || bytecode_integer(at + 2) >= FEW_TURNS;
}

static void add_next(bt_text *out, const uint32_t *at, uint32_t word)
{
    const uint32_t counter = *at >> 8;
    const int64_t extent = bytecode_integer(at + 2);
    char times[24];
    add_step(out, 'n', counter, 1);
    bt_text_addf(out, "if (n[%" PRIu32 "] < ", counter);
    add_integer(out, extent);
    bt_text_addf(out, ") {\n");
    add_back(out, at + 4, word - at[1], is_long(at));
    bt_text_addf(out, "n[%" PRIu32 "] = 0;\n", counter);
    snprintf(times, sizeof(times), "%" PRId64 "LL", 1 - extent);
    add_updates(out, at + 4, times);
}

static void add_until(bt_text *out, const uint32_t *at, uint32_t word)
{
    const uint32_t counter = *at >> 8;
    add_step(out, 'n', counter, 1);
    bt_text_addf(out, "if (n[%" PRIu32 "] < n[%" PRIu32 "]) {\n", counter, at[2]);
    add_back(out, at + 3, word - at[1], 1);
    bt_text_addf(out, "t = (i64)(1ULL - (u64)n[%" PRIu32 "]);\nn[%" PRIu32 "] = 0;\n",
                 at[2], counter);
    add_updates(out, at + 3, "t");
}

static void add_operand(bt_text *out, const struct bytecode *bytecode, char operand,
                        const uint32_t *at, uint32_t end)
{
    switch (operand) {
    case 'n': bt_text_addf(out, "n[%" PRIu32 "]", *at); break;
    case 'p': bt_text_addf(out, "p[%" PRIu32 "]", *at); break;
    case 'N': bt_text_addf(out, "n + %" PRIu32, *at); break;
    case 'P': bt_text_addf(out, "p + %" PRIu32, *at); break;
    case 'd': bt_text_addf(out, "dims[%" PRIu32 "]", *at); break;
    case 'k': add_integer(out, bytecode_integer(at)); break;
    case 'c': c_text_callee(out, bytecode->callees[*at]); break;
    case 'j': bt_text_addf(out, "L%" PRIu32, end + *at); break;
    case 'T': bt_text_addf(out, "%s", load_type(*at)); break;
    case 'x': bt_text_addf(out, "%" PRIu32, *at + 1); break;
    case 'b':
        if (*at == bytecode->nbuffer)
            bt_text_addf(out, "locals");
        else
            bt_text_addf(out, "b[%" PRIu32 "]", *at);
        break;
    default: bt_text_addf(out, "%" PRIu32 "U", *at);
    }
}

/* The text of an instruction, which ends at the word `end`, with its operands. */
static void add_template(bt_text *out, const struct bytecode *bytecode, const char *text,
                         const uint32_t *at, uint32_t end)
{
    const char *operands = bytecode_operands(*at & 0xff);
    for (; *text; text++) {
        const uint32_t first = *at >> 8;
        const uint32_t *value = at;
        if (*text != '$') {
            bt_text_add(out, text, 1);
            continue;
        }
        const int number = *++text - '0';
        for (int i = 0; i < number; i++)
            value += i && operands[i] == 'k' ? 2 : 1;
        add_operand(out, bytecode, operands[number], number ? value : &first, end);
    }
    bt_text_addf(out, "\n");
}

static void add_instruction(bt_text *out, const struct bytecode *bytecode,
                            const uint32_t *at, uint32_t word, uint32_t length)
{
    static const char *const texts[] = {
#define X(UPPER, operands, text) text,
        BYTECODE_EACH(X)
#undef X
    };
    const uint32_t a = *at >> 8;
    switch (*at & 0xff) {
    case BYTECODE_START:
        bt_text_addf(out, "n[%" PRIu32 "] = first;\n", a);
        add_updates(out, at + 1, "first");
        break;
    case BYTECODE_NEXT: add_next(out, at, word); break;
    case BYTECODE_UNTIL: add_until(out, at, word); break;
    case BYTECODE_STEP:
        add_step(out, 'n', a, 1);
        bt_text_addf(out, "if (n[%" PRIu32 "] < end) {\n", a);
        add_back(out, at + 2, word - at[1], 1);
        break;
    default: add_template(out, bytecode, texts[*at & 0xff], at, word + length);
    }
}

/* ---- phases ---- */

/* The words of a phase to which something jumps. */
static void mark_labels(const uint32_t *code, uint32_t ncode, uint8_t *labels)
{
    for (uint32_t at = 0, n; at < ncode; at += n) {
        n = bytecode_length(code + at, ncode - at);
        switch (code[at] & 0xff) {
        case BYTECODE_NEXT:
        case BYTECODE_UNTIL:
        case BYTECODE_STEP: labels[at - code[at + 1]] = 1; break;
        case BYTECODE_UNLESS:
        case BYTECODE_JUMP: labels[at + n + code[at + 1]] = 1; break;
        default: break;
        }
    }
}

static void add_phase(bt_text *out, const struct bytecode *bytecode, uint32_t kernel,
                      uint32_t phase, uint8_t *labels)
{
    const uint32_t ncode = bytecode->phases[phase].ncode;
    const uint32_t *code = bytecode->code + bytecode->phases[phase].first;
    mark_labels(code, ncode, labels);
    bt_text_addf(
        out,
        "static int phase_%" PRIu32 "_%" PRIu32
        "(i64 *n, word *p, const word *b, word locals, const volatile u32 *stop, "
        "i64 first, i64 end%s)\n"
        "{\ni64 t = 0;\n"
        "(void)n; (void)p; (void)b; (void)locals; (void)stop; (void)first; (void)end; "
        "(void)t;%s\n",
        kernel, phase, bytecode->ndim ? ", const int64_t *dims" : "",
        bytecode->ndim ? " (void)dims;" : "");
    for (uint32_t at = 0, length; at < ncode; at += length) {
        length = bytecode_length(code + at, ncode - at);
        if (labels[at])
            bt_text_addf(out, "L%" PRIu32 ":\n", at);
        add_instruction(out, bytecode, code + at, at, length);
    }
    bt_text_addf(out, "}\n");
}

void c_text_stop(bt_text *out)
{
    bt_text_addf(out, "const u32 never = 0;\n"
                      "const volatile u32 *stop = call->stop ? call->stop : &never;\n");
}

static void add_kernel(bt_text *out, const struct bytecode *bytecode, uint32_t kernel)
{
    bt_text_addf(out, "int32_t ");
    c_text_name(out, kernel);
    bt_text_addf(out,
                 "(const bt_kernel_call *call)\n{\ni64 *n = (i64 *)call->scratch;\n"
                 "word *p = (word *)(n + %" PRIu32 ");\n"
                 "word locals = (word)call->scratch + %" PRId64 "U;\n"
                 "const word *b = (const word *)call->buffers;\n",
                 bytecode->nn, bytecode_locals_offset(bytecode));
    c_text_stop(out);
    bt_text_addf(out, "(void)stop;\n"); // without phases nobody looks
    for (uint32_t i = 0; i < bytecode->nphase; i++)
        bt_text_addf(out,
                     "if (call->phase == %" PRIu32 "U) { return phase_%" PRIu32
                     "_%" PRIu32 "(n, p, b, locals, stop, call->first, call->end%s); }\n",
                     i, kernel, i, bytecode->ndim ? ", call->dims" : "");
    bt_text_addf(out, "return 0;\n}\n");
}

void c_text_phases(bt_text *out, const struct bytecode *bytecode, uint32_t kernel)
{
    bt_text_addf(out, "\n/* %s */\n", bytecode->name);
    for (uint32_t i = 0; i < bytecode->nphase; i++) {
        uint8_t *labels =
            BT_NEWS(out->arena, uint8_t, (size_t)bytecode->phases[i].ncode + 1);
        if (labels)
            add_phase(out, bytecode, kernel, i, labels);
        else
            out->failed = 1;
    }
}

void c_text_bytecode(bt_text *out, const struct bytecode *bytecode, uint32_t kernel)
{
    for (uint32_t i = 0; i < bytecode->ncallee; i++) {
        bt_text_addf(out, "extern int ");
        c_text_callee(out, bytecode->callees[i]);
        bt_text_addf(out, "(word *, i64 *);\n");
    }
    c_text_phases(out, bytecode, kernel);
    add_kernel(out, bytecode, kernel);
}
