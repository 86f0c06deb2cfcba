/* Parsing and printing where each allocation fails in turn. */
#include "failing_allocator.h"

#include <baton/op.h>

static const char *const texts[] = {
    "#[version = \"baton 0.1\"]\n#[typed]\n#[spans]\n#[attrs(k=1)]\n"
    "#[source 0 = \"n.py\"]\n#[origin 0 = 0:1:2+3]\n"
    "type L[A] { C(A, L[A]), N, }\n"
    "const @c = const[(2), int8]{data \"w\"};\n"
    "extern @e(s=\"f\"): fn <n: Dim>(Tensor[(2*n, ?), int8, \"NC:NC4c\"]) -> int8;\n"
    "def @f<n: Dim in 1..8>(%x: Tensor[(n, ?a), int8], %l: L[int8], P=1) -> int8 at 0 {\n"
    "  %f: fn (int8) -> int8, %g: fn (int8) -> int8 = fn (%a: int8) -> int8 { %a },\n"
    "    fn (%b: int8) -> int8 { %0: int8 = %f(%b) at 0:1:2 from 0; %0 };\n"
    "  %y: int8 = match (%l) { C(%h: int8, _) => { %h } N => { %0: int8 = %g(1i8); %0 } "
    "};\n"
    "  %z: (float32, ()) = const(0.1f, const()).0;\n"
    "  %y\n"
    "}\n"
    "gradient @d = @f(wrt=[0]);\n"
    "jvp @t = @f(wrt=[0]);\n"
    "#[data]\n\"w\" = \"AQI=\";\n",
    "#[version = \"0.0.5\"]\n"
    "def @f(%c: bool, %x: Tensor[(?, 4), float32]) {\n"
    "  %0 = (%x, %c);\n"
    "  %2 = if (%c) { %1 = ref(%0); ref_read(%1) } else { ref_read(%1) };\n"
    "  let %r = fn (%z) { %z.0 };\n"
    "  (%2, %r(%0), const[(2, 2), float32]{1 ..})\n"
    "}\n",
    "#[version = \"0.0.5\"]\ndef @f(%x: Lits) { %y; $ (1 }\ntype T { A(B) }\n",
};

/* 1: parsed, printed and read back. */
static int use(bt_ctx *ctx, const char *text)
{
    bt_module *module = NULL, *again = NULL;
    bt_text out;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_text_init(&out, arena);
    int ok = arena &&
             ok_or_no_memory(bt_parse(ctx, "t", NULL, text, strlen(text), &module)) &&
             ok_or_no_memory(bt_print(ctx, module, NULL, &out)) &&
             ok_or_no_memory(bt_parse(ctx, "t", NULL, out.at, out.len, &again));
    if (ok && again)
        ok = bt_module_equal(module, again);
    bt_module_unref(module);
    bt_module_unref(again);
    bt_arena_destroy(arena);
    return ok;
}

static int with_ctx(const bt_allocator *allocator, const char *text,
                    int (*body)(bt_ctx *, const char *))
{
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int ok = ctx && body(ctx, text);
    if (ctx)
        bt_ctx_destroy(ctx);
    if (registry)
        bt_registry_unref(registry);
    return ok;
}

static int parse_baton(const bt_allocator *allocator)
{
    return with_ctx(allocator, texts[0], use);
}

static int parse_relay(const bt_allocator *allocator)
{
    return with_ctx(allocator, texts[1], use);
}

/* Errors are reported, or there is no memory for them. */
static int fail_to_parse(bt_ctx *ctx, const char *text)
{
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "t", NULL, text, strlen(text), &module);
    assert_non_null(status);
    return status->code != BT_ERR_MEMORY;
}

static int parse_errors(const bt_allocator *allocator)
{
    return with_ctx(allocator, texts[2], fail_to_parse);
}

static void test_text_survives_each_failing_allocation(void **state)
{
    (void)state;
    fail_each_allocation(parse_baton);
}

static void test_relay_text_survives_each_failing_allocation(void **state)
{
    (void)state;
    fail_each_allocation(parse_relay);
}

static void test_errors_survive_each_failing_allocation(void **state)
{
    (void)state;
    fail_each_allocation(parse_errors);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_text_survives_each_failing_allocation),
    cmocka_unit_test(test_relay_text_survives_each_failing_allocation),
    cmocka_unit_test(test_errors_survive_each_failing_allocation),
};
TEST_MAIN(tests)
