/* What the bytecode of programs is, what the verifier makes of damaged words, and what
 * budgets and failing memory leave behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"

#include <baton/ir.h>
#include <baton/plugin.h>

#include "machine.h"
#include "vm_code.h"

static const bt_allocator *hook; /* of a test with failing memory */

static bt_ctx *make_ctx(void)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1,
                                          .allocator = hook,
                                          .arena_single = hook != NULL };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    return ctx;
}

static bt_status read_module(bt_ctx *ctx, const char *text, bt_module **out)
{
    char whole[4096];
    bt_module *parsed;
    snprintf(whole, sizeof(whole), "#[version = \"baton 0.1\"]\n%s\n", text);
    BT_TRY(bt_parse(ctx, "test", NULL, whole, strlen(whole), &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

static struct vm_program *encode_text(bt_ctx *ctx, const char *text)
{
    bt_module *module;
    struct vm_program *program;
    assert_ok(ctx, read_module(ctx, text, &module));
    assert_ok(ctx,
              vm_encode(ctx, module, NULL, bt_module_find(module, "main"), &program));
    bt_module_unref(module);
    return program;
}

/* ---- code ---- */

static void assert_code(const char *text, const char *expected)
{
    bt_ctx *ctx = make_ctx();
    struct vm_program *program = encode_text(ctx, text);
    bt_text out;
    bt_text_init(&out, bt_ctx_scratch(ctx));
    vm_disassemble(program, &out);
    assert_string_equal(bt_text_get(&out), expected);
    vm_program_unref(program);
    bt_ctx_destroy(ctx);
}

static void test_a_tail_call_takes_the_place_of_its_caller(void **state)
{
    (void)state;
    assert_code("def @main(%n: int64, %s: int64) -> int64 {\n"
                "    if (less(%n, 1i64)) { %s } else { @main(subtract(%n, 1i64), add(%s, "
                "%n)) }\n"
                "}",
                "@main( n0 n1 )  objects 0, scalars 5, dims 0\n"
                "    n0: int64\n"
                "    n1: int64\n"
                "    n2: int64\n"
                "    n3: bool\n"
                "    n4: int64\n"
                "     0  cell         n2 1 0                   ; 3:9\n"
                "     3  scalar2      n3 lt n0 n2\n"
                "     7  if           n3 ->10                  ; 3:5\n"
                "     9  ret          n1\n"
                "    10  cell         n2 4294967295 4294967295  ; 3:45\n"
                "    13  scalar2      n4 add n0 n2\n"
                "    17  scalar2      n2 add n0 n1             ; 3:65\n"
                "    21  tail_call    @main n4 n2              ; 3:39\n");
}

static void test_last_uses_move_objects(void **state)
{
    (void)state;
    assert_code("type L { Nil, Cons(int64, L), }\n"
                "def @main(%l: L, %s: int64) -> int64 {\n"
                "    match (%l) { Nil => %s, Cons(%x, %r) => @main(%r, add(%s, %x)), }\n"
                "}",
                "@main( v0 n0 )  objects 2, scalars 3, dims 0\n"
                "    v0: L\n"
                "    v1: L\n"
                "    n0: int64\n"
                "    n1: int64\n"
                "    n2: int64\n"
                "     0  switch       v0 ->4 ->6               ; 4:5\n"
                "     4  kill         v0.\n"
                "     5  ret          n0\n"
                "     6  ctor_field   n1 v0 Cons 0\n"
                "    10  ctor_field   v1 v0 Cons 1\n"
                "    14  kill         v0.\n"
                "    15  scalar2      n2 add n1 n0             ; 4:55\n"
                "    19  tail_call    @main v1. n2             ; 4:45\n");
}

static void assert_not_flat(const char *text, const char *part)
{
    bt_ctx *ctx = make_ctx();
    bt_module *module;
    struct vm_program *program;
    assert_ok(ctx, read_module(ctx, text, &module));
    assert_error(vm_encode(ctx, module, NULL, bt_module_find(module, "main"), &program),
                 BT_ERR_UNSUPPORTED, part);
    bt_module_unref(module);
    bt_ctx_destroy(ctx);
}

static void test_what_is_not_flat_is_left_to_passes(void **state)
{
    (void)state;
    assert_not_flat("def @main(%n: int64) -> int64 {\n"
                    "    %f = fn (%x: int64) -> int64 { multiply(add(%x, %n), %x) };\n"
                    "    %f(%n)\n"
                    "}",
                    "(pass lambda-lift)");
    assert_not_flat("type L { Nil, Cons(int64, L), }\n"
                    "def @main(%l: L) -> int64 {\n"
                    "    match? (%l) { Cons(%x, Cons(%y, _)) => %y, _ => 0i64 }\n"
                    "}",
                    "(pass match-tree)");
    assert_not_flat("def @same<A>(%x: A) -> A { %x }\n"
                    "def @main(%n: int64) -> int64 { @same(%n) }",
                    "(pass monomorphize)");
}

/* ---- damage ---- */

static const char programs[] =
    "type L { Nil, Cons(int64, L), }\n"
    "def @upto(%n: int64) -> L {\n"
    "    if (less(%n, 1i64)) { Nil } else { Cons(%n, @upto(subtract(%n, 1i64))) }\n"
    "}\n"
    "def @add(%a: int64, %b: int64) -> int64 { add(%a, %b) }\n"
    "def @fold(%f: fn (int64) -> int64, %l: L, %s: int64) -> int64 {\n"
    "    match (%l) { Nil => %s, Cons(%x, %r) => @fold(%f, %r, add(%s, %f(%x))), }\n"
    "}\n"
    "def @sum<n: Dim>(%x: Tensor[(n), float32]) -> float32 { sum(exp(%x)) }\n"
    "def @main(%x: Tensor[(3), float32], %n: int64) -> (int64, float32, int64, bool) {\n"
    "    %c = ref(%n);\n"
    "    %f = fn (%y: int64) -> int64 { @add(%n, %y) };\n"
    "    %s = @fold(%f, @upto(%n), 0i64);\n"
    "    %w = ref_write(%c, %s);\n"
    "    %t = (%s, @sum(concatenate((%x, %x))));\n"
    "    (%t.0, %t.1, ref_read(%c), less(cast(%n, dtype=\"float32\"), %t.1))\n"
    "}";

static bt_status run(bt_ctx *ctx, struct vm_program *program,
                     const struct vm_options *options, bt_object **out)
{
    struct vm_machine *machine;
    bt_tensor *x = NULL, *n = NULL;
    bt_status status = vm_machine_create(ctx, program, options, &machine);
    if (status)
        return status;
    status = bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 3 }, &x);
    if (!status)
        status = bt_tensor_scalar_int(ctx, BT_INT64, 5, &n);
    if (!status)
        status = vm_run(ctx, machine, 2, (bt_object *[]){ &x->base, &n->base }, NULL,
                        NULL, out);
    bt_tensor_unref(x);
    bt_tensor_unref(n);
    vm_machine_destroy(machine);
    return status;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* One word of a function is another one: the verifier refuses it, or it runs and fails, or
 * it gives some value: never is anything read that is not there. */
static void damage(bt_ctx *ctx, struct vm_program *program, uint32_t *nrefused,
                   uint32_t *nrun)
{
    const struct vm_options options = { .steps = 200 };
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 10000; i++) {
        const struct vm_function *f = program->functions[i % program->nfunction];
        uint32_t *words = (uint32_t *)(uintptr_t)f->words;
        const uint32_t at = (uint32_t)next_random(&seed) % f->nword, before = words[at];
        const uint32_t kind = (uint32_t)next_random(&seed) % 4;
        bt_object *result = NULL;
        words[at] = kind == 0 ? (before & 0xff) | (uint32_t)next_random(&seed) % 16 << 8
                    : kind == 1
                        ? (before & ~0xffu) | (uint32_t)next_random(&seed) % VM_COUNT
                    : kind == 2 ? (uint32_t)next_random(&seed) % 24
                                : before ^ 1u << next_random(&seed) % 32;
        bt_status status = vm_verify(ctx, program);
        *nrefused += status != NULL;
        *nrun += status == NULL;
        if (!status)
            status = run(ctx, program, &options, &result);
        bt_object_unref(result);
        words[at] = before;
        bt_ctx_clear_diags(ctx);
    }
}

/* Encoded as it is, operators are called; compiled, kernels work on memory of the frame. */
static void test_damaged_words_are_refused_or_run_safely(void **state)
{
    uint32_t nrefused = 0, nrun = 0, narea = 0;
    bt_ctx *ctx = make_ctx();
    struct vm_program *program = encode_text(ctx, programs);
    (void)state;
    damage(ctx, program, &nrefused, &nrun);
    vm_program_unref(program);
    for (uint32_t i = 0; i < BT_COUNT(vm_programs); i++) {
        assert_ok(ctx, vm_encode_program(ctx, i, &program));
        for (uint32_t k = 0; k < program->nfunction; k++)
            narea += program->functions[k]->narea;
        damage(ctx, program, &nrefused, &nrun);
        vm_program_unref(program);
    }
    assert_true(narea > 0);
    assert_true(nrefused > 20000);
    assert_true(nrun > 400);
    bt_ctx_destroy(ctx);
}

static void cut(bt_ctx *ctx, struct vm_program *program)
{
    for (uint32_t i = 0; i < program->nfunction; i++) {
        struct vm_function *f = (struct vm_function *)(uintptr_t)program->functions[i];
        const uint32_t nword = f->nword;
        for (f->nword = 0; f->nword < nword; f->nword++) {
            struct vm_decoder d = { .next = 0 };
            uint32_t last = 0;
            for (uint32_t pc = 0; pc < f->nword && vm_decode(&d, f->words, f->nword, pc);
                 pc = d.next) {
                struct vm_operand operand;
                last = d.code;
                while (vm_decode_operand(&d, &operand))
                    ;
            }
            // what is left may be a whole function, where nothing jumps beyond it
            if (!vm_verify(ctx, program))
                assert_true(vm_instructions[last].ends);
            bt_ctx_clear_diags(ctx);
        }
        f->nword = nword;
    }
}

static void test_each_length_that_is_cut_is_refused(void **state)
{
    bt_ctx *ctx = make_ctx();
    struct vm_program *program = encode_text(ctx, programs);
    (void)state;
    cut(ctx, program);
    vm_program_unref(program);
    for (uint32_t i = 0; i < BT_COUNT(vm_programs); i++) {
        assert_ok(ctx, vm_encode_program(ctx, i, &program));
        cut(ctx, program);
        vm_program_unref(program);
    }
    bt_ctx_destroy(ctx);
}

/* The machine has room for the values of any call: a closure's captures and its arguments
 * together; lists that need more are refused. */
static void test_lists_fit_the_room_for_them(void **state)
{
    bt_ctx *ctx = make_ctx();
    struct vm_program *program = encode_text(
        ctx, "def @all(%a: int64, %b: int64, %x: int64, %y: int64) -> int64 {\n"
             "    add(add(%a, %b), add(%x, %y))\n"
             "}\n"
             "def @twice(%f: fn (int64, int64) -> int64, %n: int64) -> int64 {\n"
             "    %f(%n, %n)\n"
             "}\n"
             "def @main(%a: int64) -> int64 {\n"
             "    %f = fn (%x: int64, %y: int64) -> int64 { @all(%a, %a, %x, %y) };\n"
             "    @twice(%f, %a)\n"
             "}");
    (void)state;
    assert_int_equal(program->most_args, 4);
    program->most_args = 1;
    assert_error(vm_verify(ctx, program), BT_ERR_VERIFY, "more values than any call has");
    vm_program_unref(program);
    bt_ctx_destroy(ctx);
}

/* ---- budgets ---- */

static void assert_limited(bt_ctx *ctx, struct vm_program *program,
                           const struct vm_options *options, const char *part)
{
    bt_object *result;
    bt_status status = run(ctx, program, options, &result);
    assert_non_null(status);
    assert_int_equal(status->code, BT_ERR_LIMIT);
    assert_non_null(strstr(status->message, part));
    assert_int_not_equal(status->place.line, 0);
}

static void test_budgets_are_named_with_the_function(void **state)
{
    bt_ctx *ctx = make_ctx();
    struct vm_program *program = encode_text(ctx, programs);
    bt_object *result;
    (void)state;
    assert_limited(ctx, program, &(struct vm_options){ .steps = 4 },
                   "upto: more than 4 calls in one run");
    bt_ctx_limits(ctx)->frames = 4;
    assert_limited(ctx, program, &(struct vm_options){ .steps = 0 },
                   "upto: more than 4 nested calls");
    bt_ctx_limits(ctx)->frames = 1000;
    assert_limited(ctx, program, &(struct vm_options){ .stack = 100 },
                   "main: more than 100 bytes of nested calls");
    assert_ok(ctx, run(ctx, program, &(struct vm_options){ .steps = 0 }, &result));
    bt_object_unref(result);
    bt_ctx_cancel(ctx);
    bt_status status = run(ctx, program, &(struct vm_options){ .steps = 0 }, &result);
    assert_non_null(status);
    assert_int_equal(status->code, BT_ERR_CANCELLED);
    vm_program_unref(program);
    bt_ctx_destroy(ctx);
}

/* ---- memory ---- */

/* Without memory, what words can compute does not become an operator: the code is the same
 * each time. */
static int encode_and_run(bt_ctx *ctx, const bt_module *module, uint32_t *noperator)
{
    const struct vm_options options = { 0 };
    struct vm_program *program = NULL;
    bt_object *result = NULL;
    const int ok = ok_or_no_memory(vm_encode(ctx, module, NULL,
                                             bt_module_find(module, "main"), &program)) &&
                   ok_or_no_memory(run(ctx, program, &options, &result));
    if (program && !*noperator)
        *noperator = program->noperator;
    if (program)
        assert_int_equal(program->noperator, *noperator);
    bt_object_unref(result);
    vm_program_unref(program);
    bt_ctx_clear_diags(ctx);
    return ok;
}

/* Each allocation of encoding and running fails, once and from then on; all is given back in
 * the end, and the next run gives the result again. */
static void test_failing_allocations_lose_nothing(void **state)
{
    struct failing_allocator a = failing_allocator(0, 0);
    bt_module *module;
    uint32_t noperator = 0;
    (void)state;
    a.base.self = &a;
    hook = &a.base;
    bt_ctx *ctx = make_ctx();
    hook = NULL;
    assert_ok(ctx, read_module(ctx, programs, &module));
    assert_true(encode_and_run(ctx, module, &noperator));
    for (a.from_then_on = 0; a.from_then_on < 2; a.from_then_on++) {
        uint64_t n = 0;
        do {
            a.nfailed = 0;
            a.fail_at = a.ncall + ++n;
            const int ok = encode_and_run(ctx, module, &noperator);
            assert_true(ok || a.nfailed);
        } while (a.nfailed);
        assert_true(n > 100);
        a.fail_at = 0;
        assert_true(encode_and_run(ctx, module, &noperator));
    }
    bt_module_unref(module);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
    assert_int_equal(a.nbytes, 0);
}

/* The sum of `n` ones, which the program makes. */
static bt_status run_session(bt_ctx *ctx, struct vm_machine *machine, int64_t n,
                             double *out)
{
    bt_object *sum;
    bt_tensor *x;
    BT_TRY(bt_tensor_create(ctx, BT_FLOAT32, 1, &n, &x));
    bt_status status =
        vm_run(ctx, machine, 1, (bt_object *[]){ &x->base }, &n, NULL, &sum);
    bt_tensor_unref(x);
    if (status)
        return status;
    *out = bt_tensor_get(bt_object_as_tensor(sum), 0);
    bt_object_unref(sum);
    return NULL;
}

/* Each allocation of a session's first run fails; the session then computes with the dims
 * that it is given. */
static void test_a_session_whose_run_failed_takes_other_dims(void **state)
{
    static const char text[] = "def @main<n: Dim>(%x: Tensor[(n), float32]) -> float32 "
                               "{ sum(broadcast_to(1f, shape=[n])) }";
    const struct vm_options options = { 0 };
    struct failing_allocator a = failing_allocator(0, 0);
    uint64_t nfailed = 0;
    int ok;
    (void)state;
    a.base.self = &a;
    hook = &a.base;
    bt_ctx *ctx = make_ctx();
    hook = NULL;
    struct vm_program *program = encode_text(ctx, text);
    do {
        struct vm_machine *machine;
        double sum = 0;
        assert_ok(ctx, vm_machine_create(ctx, program, &options, &machine));
        a.fail_at = a.ncall + ++nfailed;
        ok = ok_or_no_memory(run_session(ctx, machine, 3, &sum));
        a.fail_at = 0;
        assert_true(!ok || sum == 3);
        bt_ctx_clear_diags(ctx);
        for (int64_t n = 5; n > 1; n -= 3) {
            assert_ok(ctx, run_session(ctx, machine, n, &sum));
            assert_true(sum == (double)n);
        }
        vm_machine_destroy(machine);
    } while (!ok);
    assert_true(nfailed > 20);
    vm_program_unref(program);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_tail_call_takes_the_place_of_its_caller),
    cmocka_unit_test(test_last_uses_move_objects),
    cmocka_unit_test(test_what_is_not_flat_is_left_to_passes),
    cmocka_unit_test(test_damaged_words_are_refused_or_run_safely),
    cmocka_unit_test(test_each_length_that_is_cut_is_refused),
    cmocka_unit_test(test_lists_fit_the_room_for_them),
    cmocka_unit_test(test_budgets_are_named_with_the_function),
    cmocka_unit_test(test_failing_allocations_lose_nothing),
    cmocka_unit_test(test_a_session_whose_run_failed_takes_other_dims),
};
TEST_MAIN(tests)
