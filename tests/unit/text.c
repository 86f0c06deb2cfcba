/* Text of whole modules: what is printed reads back. */
#include "text.h"

#include <time.h>

#define HEADER "#[version = \"baton 0.1\"]\n"
#define TYPED  HEADER "#[typed]\n\n"

static void test_a_function_prints_as_it_was_written(void **state)
{
    (void)state;
    check_exact(TYPED "def @main(%x: float32) -> (float32, float32) {\n"
                      "    %t: (float32, float32) = (%x, %x);\n"
                      "    %0: float32 = %t.1;\n"
                      "    %1: (float32, float32) = (%0, 2.5f);\n"
                      "    %1\n"
                      "}\n");
}

static void test_branches_nest_with_indentation(void **state)
{
    (void)state;
    check_exact(TYPED "def @main(%c: bool, %x: float32) -> float32 {\n"
                      "    %y: float32 = if (%c) {\n"
                      "        %z: float32 = if (%c) {\n"
                      "            1f\n"
                      "        } else {\n"
                      "            %x\n"
                      "        };\n"
                      "        %z\n"
                      "    } else {\n"
                      "        %x\n"
                      "    };\n"
                      "    %y\n"
                      "}\n");
}

static void test_data_types_and_nested_patterns(void **state)
{
    (void)state;
    check_exact(TYPED
                "type List[A] {\n"
                "    Cons(A, List[A]),\n"
                "    Nil,\n"
                "}\n"
                "\n"
                "extern type Handle;\n"
                "\n"
                "def @second(%xs: List[(int32, bool)]) -> int32 {\n"
                "    %y: int32 = match? (%xs) {\n"
                "        Cons(_, Cons((%a: int32, _), %rest: List[(int32, bool)])) => {\n"
                "            %a\n"
                "        }\n"
                "        Nil => {\n"
                "            %0: List[int32] = Nil[int32]();\n"
                "            %1: List[int32] = Cons[int32](1, %0);\n"
                "            0\n"
                "        }\n"
                "    } else \"\\\"second\\\" of *\";\n"
                "    %y\n"
                "}\n");
}

static void test_closures_of_a_group_refer_to_each_other(void **state)
{
    (void)state;
    check_exact(
        TYPED "def @main(%n: int32) -> bool {\n"
              "    %even: fn (int32) -> bool, %odd: fn (int32) -> bool = fn (%a: int32) "
              "-> bool {\n"
              "        %0: bool = %odd(%a);\n"
              "        %0\n"
              "    }, fn (%b: int32) -> bool {\n"
              "        %1: bool = %even(%b);\n"
              "        %1\n"
              "    };\n"
              "    %self: fn (int32) -> bool = fn (%c: int32) -> bool {\n"
              "        %2: bool = %self(%c);\n"
              "        %2\n"
              "    };\n"
              "    %3: bool = %even(%n);\n"
              "    %3\n"
              "}\n");
}

static void test_references_and_device_places(void **state)
{
    (void)state;
    check_exact(TYPED "def @main(%x: float32 on 1) -> float32 {\n"
                      "    %r: Ref[float32] on 2 = ref(%x);\n"
                      "    %0: () = ref_write(%r, 1f);\n"
                      "    %1: float32 = ref_read(%r);\n"
                      "    %1\n"
                      "}\n");
}

static void test_type_parameters_of_every_kind(void **state)
{
    (void)state;
    check_exact(TYPED
                "type Box[n: Dim in 1..8, t: DType, F: AdtHandle, s: Shape, A] {\n"
                "    Box(Tensor[(n, ..s), t], A),\n"
                "}\n"
                "\n"
                "type Unit {\n"
                "    U,\n"
                "}\n"
                "\n"
                "def @f<n: Dim in 1..512 step 8, m: Dim in 2.., k: Dim step 4, s: "
                "Shape, t: DType, A>(%x: Tensor[(n, 4, ..s), t], %b: Box[n, t, Unit, "
                "s, A]) -> A {\n"
                "    %y: A = match (%b) {\n"
                "        Box(_, %a: A) => {\n"
                "            %a\n"
                "        }\n"
                "    };\n"
                "    %y\n"
                "}\n"
                "\n"
                "def @g(%x: Tensor[(8, 4), float32], %b: Box[8, float32, Unit, (), "
                "int32]) -> int32 {\n"
                "    %y: int32 = @f[Dim 8, Dim 2, Dim 4, Shape (), DType float32, "
                "int32](%x, %b);\n"
                "    %y\n"
                "}\n");
}

static void test_long_heads_break_into_lines(void **state)
{
    (void)state;
    check_exact(TYPED "def @main(\n"
                      "        %first_parameter: Tensor[(1, 2, 3), float32],\n"
                      "        %second_parameter: Tensor[(4, 5, 6), float32],\n"
                      "        Primitive=1,\n"
                      "        Compiler=\"dnnl\",\n"
                      "        ratio=0.5f,\n"
                      "        is_fast=True\n"
                      ") -> Tensor[(4, 5, 6), float32] {\n"
                      "    %second_parameter\n"
                      "}\n");
}

static void test_any_name_prints_in_quotes(void **state)
{
    (void)state;
    check_exact(TYPED
                "type \"float32\" {\n"
                "    \"a b\"(\"float32\"),\n"
                "    \"if\",\n"
                "}\n"
                "\n"
                "def @\"gpu_0/data:0\"(%\"gpu_0/data:0\": \"float32\", %\"0\": int32, "
                "%conv1.weight: int32, \"odd key\"=1) -> \"float32\" {\n"
                "    %\"\\\"\\\\\\n\\x01\\xff\xc3\xa4\": \"float32\" = "
                "\"a b\"(%\"gpu_0/data:0\");\n"
                "    %0: \"float32\" = \"if\"();\n"
                "    %0\n"
                "}\n");
}

static void test_namesakes_get_numbers(void **state)
{
    (void)state;
    check_prints(HEADER "def @main(%x: int32) -> (int32,) {\n"
                        "  let %x: (int32,) = (%x,);\n"
                        "  let %x_1: (int32, (int32,)) = (1, %x);\n"
                        "  let %x: ((int32,),) = (%x,);\n"
                        "  let %y = fn (%x: int32) { %x };\n"
                        "  %x.0\n"
                        "}\n",
                 HEADER "\ndef @main(%x: int32) -> (int32,) {\n"
                        "    %x_1: (int32,) = (%x,);\n"
                        "    %x_1_1: (int32, (int32,)) = (1, %x_1);\n"
                        "    %x_2: ((int32,),) = (%x_1,);\n"
                        "    %y = fn (%x_3: int32) -> int32 {\n"
                        "        %x_3\n"
                        "    };\n"
                        "    %0 = %x_2.0;\n"
                        "    %0\n"
                        "}\n");
}

static void test_type_variables_keep_clear_of_data_types(void **state)
{
    (void)state;
    check_prints(HEADER "type A { C }\n"
                        "type n_1 { D }\n"
                        "def @f<A, n: Dim, float32>(%x: A, %g: fn <B>(B) -> n_1, %y: "
                        "float32) -> A { %x }\n"
                        "def @g(%x: A) -> fn <X, Y>(X, A) -> Y { %x }\n",
                 HEADER
                 "\ntype A {\n"
                 "    C,\n"
                 "}\n"
                 "\n"
                 "type n_1 {\n"
                 "    D,\n"
                 "}\n"
                 "\n"
                 "def @f<A_1, n: Dim, float32_>(%x: A_1, %g: fn <B>(B) -> n_1, %y: "
                 "float32_) -> A_1 {\n"
                 "    %x\n"
                 "}\n"
                 "\n"
                 "def @g(%x: A) -> fn <B, C>(B, A) -> C {\n"
                 "    %x\n"
                 "}\n");
}

/* A module of n data types and functions takes time in n, not in its square. */
static void test_many_definitions_take_linear_time(void **state)
{
    (void)state;
    enum { N = 20000, EACH = 160 };
    char *text = malloc(N * EACH), *at = text;
    at += sprintf(at, HEADER);
    for (int i = 0; i < N; i++)
        at +=
            sprintf(at, "type T%d { C%d(T%d), N%d }\ndef @f%d(%%x: T%d) { @f%d(%%x) }\n",
                    i, i, (i + 1) % N, i, i, i, (i + 1) % N);
    clock_t start = clock();
    bt_module *module = parse(text);
    char *printed = print(module);
    // A fifth of a second; squares of N take minutes.
    assert_true((clock() - start) / CLOCKS_PER_SEC < 30);
    assert_int_equal(module->nglobal, N);
    free(printed);
    free(text);
    bt_module_unref(module);
}

static void test_globals_of_every_kind(void **state)
{
    (void)state;
    check_exact(HEADER
                "#[typed]\n"
                "#[attrs(name=\"net\", opset=7, scale=1e-05f, ok=False)]\n"
                "\n"
                "const @w = const[(2, 2), float32]{1, 2.5, -0, inf};\n"
                "\n"
                "extern @f(symbol=\"f_impl\"): fn <n: Dim>(Tensor[(n), float32]) -> "
                "Tensor[(2*n + 1), float32];\n"
                "\n"
                "def @g(%x: float32, %y: float32) -> float32 {\n"
                "    %x\n"
                "}\n"
                "\n"
                "gradient @dg: fn (float32, float32) -> float32 = @g(wrt=[0], keep=[0], "
                "seeded=True);\n"
                "\n"
                "gradient @dg2: fn (float32, float32) -> (float32, float32) = @g();\n"
                "\n"
                "jvp @tg: fn (float32, float32, float32) -> (float32, float32) = @g(wrt=[1]);\n");
}

static void test_unknown_dims_of_signatures(void **state)
{
    (void)state;
    check_prints(HEADER "extern @f: fn (Tensor[(?, 4), int8], Tensor[(?a, ?a), int8]) -> "
                        "(Tensor[(?), int8], Tensor[(?b, ?b), int8]);\n"
                        "def @g(%x) { %x }\n",
                 HEADER "\nextern @f: fn <n: Dim, m: Dim>(Tensor[(n, 4), int8], "
                        "Tensor[(m, m), int8]) -> (Tensor[(?), int8], Tensor[(?b, ?b), "
                        "int8]);\n"
                        "\n"
                        "def @g(%x) {\n"
                        "    %x\n"
                        "}\n");
}

static void test_constants_of_every_form(void **state)
{
    (void)state;
    check_exact(TYPED
                "def @main() -> int32 {\n"
                "    %0: (int64, uint64, int8) = (-9223372036854775808i64, "
                "18446744073709551615u64, -128i8);\n"
                "    %1: (float32, float32, float64) = (0.1f, 3.4028235e+38f, "
                "5e-324f64);\n"
                "    %2: (float16, bfloat16, float64) = (65500f16, 1.01bf16, "
                "0.30000000000000004f64);\n"
                "    %3: (float32, float32, bool) = (inff, nanf, True);\n"
                "    %4: Tensor[(1024, 1024), float32] = ref_read(const[(1024, 1024), "
                "float32]{0 ..});\n"
                "    %5: ((), (int32, bool)) = const(const(), const(1, False)).1;\n"
                "    %6: Tensor[(0, 3), int8] = const[(0, 3), int8]{}.0;\n"
                "    %7: bool = const[(2), bool]{True, False}.0;\n"
                "    %8: float32 = (const[(), float32]{\"AQDAfw==\"}).0;\n"
                "    %9: float32 = const[(2), float32]{\"AACAPwEAwH8=\"}.0;\n"
                "    1\n"
                "}\n");
}

static void test_projections_of_literals_are_no_fractions(void **state)
{
    (void)state;
    check_exact(TYPED "def @main() -> int32 {\n"
                      "    %0: int32 = (1).1;\n"
                      "    %1: int32 = (-2i64).0;\n"
                      "    %2: int32 = (0.5f).3;\n"
                      "    %2\n"
                      "}\n");
    check_prints("1 .1", HEADER "\ndef @main() {\n"
                                "    %0 = (1).1;\n"
                                "    %0\n"
                                "}\n");
}

static void test_large_constants_stand_at_the_end(void **state)
{
    (void)state;
    check_exact(TYPED
                "def @main() -> int32 {\n"
                "    %0: (Tensor[(65), int8], Tensor[(65), int8]) = (const[(65), "
                "int8]{data \"c0\"}, const[(65), int8]{data \"c0\"});\n"
                "    1\n"
                "}\n"
                "\n"
                "#[data]\n"
                "\"c0\" =\n"
                "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEy"
                "MzQ1Njc4OTo7PD0+P0A=\";\n");
}

static void test_data_keeps_its_name(void **state)
{
    (void)state;
    bt_module *module = parse(
        HEADER "def @main() { (const[(65), int8]{data \"a/b\"}, const(const[(65), "
               "int8]{data \"z\"})) }\n"
               "#[data]\n"
               "\"a/b\" = "
               "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
               "AAAAAAAAAAAAAAAAAAAE=\";\n"
               "\"z\" = "
               "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
               "AAAAAAAAAAAAAAAAAAAI=\";\n");
    char *text = print(module);
    assert_non_null(strstr(text, "data \"a/b\""));
    assert_non_null(strstr(text, "data \"c1\""));
    check_round_trip(text);
    free(text);
    bt_module_unref(module);
}

static void test_weights_live_in_a_file_beside_the_text(void **state)
{
    (void)state;
    char folder[] = "/tmp/baton-text-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/w.npz", folder);
    bt_module *module = parse(
        TYPED "def @main() -> int32 {\n"
              "    %0: float32 = const[(66), float32]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
              "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
              "28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, "
              "45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, "
              "62, 63, 64, 65, 66}.0;\n"
              "    1\n"
              "}\n");
    bt_npz *npz = NULL;
    char *text =
        print_with(module, &(bt_print_options){ .weights = "w.npz", .npz = &npz });
    assert_string_equal(text, HEADER "#[typed]\n"
                                     "#[weights = \"w.npz\"]\n"
                                     "\n"
                                     "def @main() -> int32 {\n"
                                     "    %0: float32 = const[(66), float32]{data "
                                     "\"c0\"}.0;\n"
                                     "    1\n"
                                     "}\n");
    bt_text bytes;
    bt_text_init(&bytes, bt_ctx_scratch(ctx));
    assert_int_equal(npz->len, 1);
    assert_ok(ctx, bt_npz_write(ctx, npz->len, npz->at, &bytes));
    assert_ok(ctx, bt_file_write(ctx, path, bytes.at, bytes.len));
    bt_module *again = NULL;
    assert_ok(ctx, bt_parse(ctx, "test.bt", folder, text, strlen(text), &again));
    assert_true(bt_module_equal(module, again));
    bt_module_unref(again);
    again = NULL;
    assert_error(bt_parse(ctx, "test.bt", NULL, text, strlen(text), &again), BT_ERR_NAME,
                 "weights are not allowed here");
    remove(path);
    assert_error(bt_parse(ctx, "test.bt", folder, text, strlen(text), &again), BT_ERR_IO,
                 "w.npz");
    remove(folder);
    free(text);
    bt_npz_destroy(ctx, npz);
    bt_module_unref(module);
}

/* Whose type npy has no name for, too. */
static void test_weights_of_another_shape_are_refused(void **state)
{
    (void)state;
    static const struct {
        bt_dtype there;
        const char *dtype, *written; /* all are of 3 elements there */
    } rows[] = {
        { BT_FLOAT32, "float32", "(2)" },    { BT_UINT8, "float8_e5m2", "(2)" },
        { BT_UINT8, "float8_e5m2", "(40)" }, { BT_UINT8, "float8_e5m2", "(3, 1)" },
        { BT_UINT16, "bfloat16", "(2)" },    { BT_UINT16, "bfloat16", "(4)" },
        { BT_UINT16, "float8_e5m2", "(6)" }, { BT_FLOAT32, "bfloat16", "(3)" },
    };
    char folder[] = "/tmp/baton-text-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/w.npz", folder);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const int64_t n = 3;
        bt_tensor *there = NULL;
        bt_module *module = NULL;
        bt_text bytes, text;
        bt_text_init(&bytes, bt_ctx_scratch(ctx));
        bt_text_init(&text, bt_ctx_scratch(ctx));
        assert_ok(ctx, bt_tensor_create(ctx, rows[i].there, 1, &n, &there));
        memset(there->data, 0, bt_tensor_nbytes(there));
        assert_ok(ctx, bt_npz_write(ctx, 1, &(bt_npz_entry){ "c", there }, &bytes));
        assert_ok(ctx, bt_file_write(ctx, path, bytes.at, bytes.len));
        bt_text_addf(&text,
                     HEADER "#[weights = \"w.npz\"]\n"
                            "def @main() { const[%s, %s]{data \"c\"} }",
                     rows[i].written, rows[i].dtype);
        const char *program = bt_text_get(&text);
        assert_non_null(program);
        assert_error(bt_parse(ctx, "test.bt", folder, program, strlen(program), &module),
                     BT_ERR_SHAPE, "not as written here");
        bt_tensor_unref(there);
    }
    remove(path);
    remove(folder);
}

static void test_dims_of_every_form(void **state)
{
    (void)state;
    check_exact(
        TYPED "def @main<n: Dim, m: Dim>(%a: Tensor[(n, m), float32], %b: Tensor[(?), "
              "float32], %c: Tensor[(?a, ?a), float32]) -> Tensor[(?), float32] {\n"
              "    %0: (Tensor[(3*n - 2*m + 4), float32], Tensor[(m*n + n), float32]) = "
              "%a.0;\n"
              "    %1: Tensor[(floordiv(n + 1, m), ceildiv(n, m), mod(n, m)), int8] = "
              "%a.0;\n"
              "    %2: Tensor[(min(3, m, n), max(m, n), ?b, ?b), int8] = %a.0;\n"
              "    %3: Tensor[(?, ?a), float32] = %a.0;\n"
              "    %3\n"
              "}\n");
}

static void test_anonymous_dims_out_of_order_are_listed(void **state)
{
    (void)state;
    check_exact(TYPED
                "def @main<?a: Dim, ?b: Dim in 1..8>(%x: Tensor[(?b, ?a), float32], "
                "%y: Tensor[(?a), int8]) -> Tensor[(?b, ?a), float32] {\n"
                "    %x\n"
                "}\n");
}

static void test_untyped_programs_print_what_is_known(void **state)
{
    (void)state;
    check_prints(HEADER "def @main(%x, %y: Tensor[(_, 3), _]) {\n"
                        "  let %z: Tensor[(?, 4), float32] = %x(%y);\n"
                        "  (%z, 1)\n"
                        "}",
                 HEADER "\ndef @main(%x, %y: Tensor[(_, 3), _]) {\n"
                        "    %z: Tensor[(_, 4), float32] = %x(%y);\n"
                        "    %0 = (%z, 1);\n"
                        "    %0\n"
                        "}\n");
}

static void test_layouts_and_function_types(void **state)
{
    (void)state;
    check_exact(
        TYPED "def @main(%x: Tensor[(1, 32, 8, 8), float32, \"NCHW:NCHW16c\"]) -> fn "
              "<A, n: Dim in 1..4>(fn (A) -> A, Tensor[(n), float32]) -> (A,) {\n"
              "    %f: fn <A, n: Dim in 1..4>(fn (A) -> A, Tensor[(n), float32]) -> (A,) "
              "= %x.0;\n"
              "    %f\n"
              "}\n");
}

static void test_spans_and_provenance_read_back(void **state)
{
    (void)state;
    const char *text = HEADER "#[typed]\n"
                              "#[spans]\n"
                              "#[source 0 = \"net.py\"]\n"
                              "#[source 1 = \"m.onnx\"]\n"
                              "#[origin 0 = 0:3:14+5]\n"
                              "#[origin 1 = 1:\"Conv_0\"]\n"
                              "#[origin 2]\n"
                              "\n"
                              "type T at 0:1:1 {\n"
                              "    C(int32),\n"
                              "}\n"
                              "\n"
                              "def @main(%x: T at 0:2:1+2) -> int32 at 0 {\n"
                              "    %y: int32 = match (%x) {\n"
                              "        C(%a: int32 at 0:5:6) at 0:5:4+8 => {\n"
                              "            %b: (int32,) = (%a,) at 0:7:1 from 0, 1, 2;\n"
                              "            %a\n"
                              "        }\n"
                              "    } at 1:\"Conv_0\" from 1;\n"
                              "    %y\n"
                              "}\n";
    bt_module *module = parse(text);
    char *printed = print_with(module, &(bt_print_options){ .spans = 1 });
    assert_string_equal(printed, text);
    free(printed);
    bt_module_unref(module);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_function_prints_as_it_was_written),
    TEST(test_branches_nest_with_indentation),
    TEST(test_data_types_and_nested_patterns),
    TEST(test_closures_of_a_group_refer_to_each_other),
    TEST(test_references_and_device_places),
    TEST(test_type_parameters_of_every_kind),
    TEST(test_long_heads_break_into_lines),
    TEST(test_any_name_prints_in_quotes),
    TEST(test_namesakes_get_numbers),
    TEST(test_type_variables_keep_clear_of_data_types),
    TEST(test_many_definitions_take_linear_time),
    TEST(test_globals_of_every_kind),
    TEST(test_unknown_dims_of_signatures),
    TEST(test_constants_of_every_form),
    TEST(test_projections_of_literals_are_no_fractions),
    TEST(test_large_constants_stand_at_the_end),
    TEST(test_data_keeps_its_name),
    TEST(test_weights_live_in_a_file_beside_the_text),
    TEST(test_weights_of_another_shape_are_refused),
    TEST(test_dims_of_every_form),
    TEST(test_anonymous_dims_out_of_order_are_listed),
    TEST(test_untyped_programs_print_what_is_known),
    TEST(test_layouts_and_function_types),
    TEST(test_spans_and_provenance_read_back),
};
TEST_MAIN(tests)
