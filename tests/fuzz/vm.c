/*
 * Code of executor vm: one function of a program gets other words. What the verifier takes
 * is listed and run, with kernels of target reference and few steps: it ends, in a result
 * or an error, and reads and writes nothing that is not its own.
 */
#include "fuzz.h"
#include "machine.h"
#include "vm_code.h"

enum { MAX_WORDS = 4096 };

struct words {
    uint32_t n;
    uint32_t at[MAX_WORDS];
};

struct input {
    const uint8_t *at;
    size_t n;
};

static uint32_t next(struct input *in)
{
    if (!in->n)
        return 0;
    in->n--;
    return *in->at++;
}

static void put(struct words *w, uint32_t word)
{
    if (w->n < MAX_WORDS)
        w->at[w->n++] = word;
}

/* A number that is not far beyond what there is of the operand's kind. */
static uint32_t choose(struct input *in, const struct vm_program *p,
                       const struct vm_function *f, char kind, uint32_t pc)
{
    const uint32_t byte = next(in);
    switch (kind) {
// clang-format off
#define VM_TABLE(letter, member, length) case letter: return byte % (p->length + 1);
#include "tables.def"
    // clang-format on
    case 'd': return byte % (f->nreg + 1);
    case 'q':
        if (byte >= 0xc0)
            return VM_AREA | byte % 64 % (f->narea + 1);
        if (byte >= 0x80)
            return VM_PLAIN | byte % 64 % (p->nconst + 1);
        return byte % 64 % (f->nreg + 1) | (byte & 0x40) << 17;
    case 'j': return pc + 1 + byte % 32;
    case 'u': return byte;
    default: return byte % 64 % (f->nreg + 1) | (byte & 0x40) << 17 | (byte & 0x80) << 24;
    }
}

/* An operand that is a list is its length and the items. */
static void put_instruction(struct words *w, struct input *in, const struct vm_program *p,
                            const struct vm_function *f)
{
    const uint32_t code = next(in) % VM_COUNT, pc = w->n;
    const char *kinds = vm_instructions[code].operands;
    for (uint32_t i = 0; kinds[i]; i++) {
        const char item = kinds[i] == 'J' ? 'j' : kinds[i] == 'Q' ? 'q' : 'r';
        const int is_list = kinds[i] == 'R' || item != 'r';
        const uint32_t value = is_list ? next(in) % 6 : choose(in, p, f, kinds[i], pc);
        put(w, i ? value : code | value << 8);
        for (uint32_t k = 0; is_list && k < value; k++)
            put(w, choose(in, p, f, item, pc));
    }
}

/* An operand of the function's own code is another one, or an instruction is. */
static void edit(struct words *w, struct input *in, const struct vm_program *p,
                 const struct vm_function *f)
{
    struct vm_decoder d = { .next = 0 };
    struct vm_operand operand;
    uint32_t left = next(in), at = next(in);
    uint32_t pc = 0;
    while (left-- && vm_decode(&d, w->at, w->n, pc)) {
        while (vm_decode_operand(&d, &operand))
            ;
        pc = d.next < w->n ? d.next : 0;
    }
    if (!vm_decode(&d, w->at, w->n, pc))
        return;
    if (at >= 0xc0) {
        w->at[pc] = (w->at[pc] & ~0xffu) | next(in) % VM_COUNT;
        return;
    }
    for (at %= 8; vm_decode_operand(&d, &operand); at--) {
        if (at)
            continue;
        const uint32_t value = choose(in, p, f, operand.kind, pc);
        w->at[operand.at] = operand.at == pc ? (w->at[pc] & 0xff) | value << 8 : value;
        return;
    }
}

static void read_words(struct words *w, struct input *in, uint32_t form,
                       const struct vm_program *p, const struct vm_function *f)
{
    for (uint32_t i = 0; form > 1 && i < f->nword; i++)
        put(w, f->words[i]);
    while (in->n && form > 1)
        edit(w, in, p, f);
    while (in->n && form && w->n < MAX_WORDS)
        put_instruction(w, in, p, f);
    while (in->n >= sizeof(uint32_t) && !form && w->n < MAX_WORDS) {
        memcpy(&w->at[w->n++], in->at, sizeof(uint32_t));
        in->at += sizeof(uint32_t);
        in->n -= sizeof(uint32_t);
    }
}

static bt_status run(bt_ctx *ctx, struct vm_program *p, bt_object **out)
{
    const struct vm_options options = { .steps = 100, .stack = 1 << 16 };
    struct vm_machine *machine;
    bt_tensor *x, *n;
    FUZZ_CHECK(!vm_machine_create(ctx, p, &options, &machine));
    FUZZ_CHECK(!bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 3 }, &x));
    FUZZ_CHECK(!bt_tensor_scalar_int(ctx, BT_INT64, 2, &n));
    bt_status status =
        vm_run(ctx, machine, 2, (bt_object *[]){ &x->base, &n->base }, NULL, NULL, out);
    bt_tensor_unref(x);
    bt_tensor_unref(n);
    vm_machine_destroy(machine);
    return status;
}

static void try_code(bt_ctx *ctx, struct vm_program *p)
{
    bt_object *result = NULL;
    bt_text listing;
    bt_status status = vm_verify(ctx, p);
    fuzz_check_status(ctx, status);
    if (status)
        return;
    bt_text_init(&listing, bt_ctx_scratch(ctx));
    vm_disassemble(p, &listing);
    FUZZ_CHECK(bt_text_get(&listing));
    status = run(ctx, p, &result);
    // a register that is empty is a fault of the code, which no compiled program has
    if (!status || status->code != BT_ERR_INTERNAL)
        fuzz_check_status(ctx, status);
    bt_object_unref(result);
}

static struct vm_program **compile_all(bt_registry *r)
{
    static struct vm_program *programs[BT_COUNT(vm_programs)];
    for (uint32_t i = 0; i < BT_COUNT(programs); i++) {
        bt_ctx *ctx = bt_ctx_create(r);
        FUZZ_CHECK(ctx && !vm_encode_program(ctx, i, &programs[i]));
        bt_ctx_destroy(ctx);
    }
    return programs;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static bt_registry *r; // operators take long to list, programs to compile
    static struct vm_program **programs;
    static struct words words;
    struct input in = { bytes, nbytes };
    if (!r) {
        r = fuzz_registry(FUZZ_PLUGINS);
        programs = compile_all(r);
    }
    const uint32_t head = next(&in), function = next(&in);
    struct vm_program *p = programs[(head >> 2) % BT_COUNT(vm_programs)];
    struct vm_function *f =
        (struct vm_function *)(uintptr_t)p->functions[function % p->nfunction];
    const struct vm_function before = *f;
    bt_ctx *ctx = fuzz_context(r);
    words.n = 0;
    read_words(&words, &in, head & 3, p, f);
    // in a block of just its size, so that a sanitizer sees overruns
    uint32_t *code = malloc(words.n * sizeof(*code) + 1);
    FUZZ_CHECK(code);
    memcpy(code, words.at, words.n * sizeof(*code));
    f->words = code;
    f->nword = words.n;
    try_code(ctx, p);
    *f = before;
    free(code);
    bt_ctx_destroy(ctx);
    return 0;
}
