/* Text of programs with operators, and Relay's text. */
#include "text.h"

#define HEADER "#[version = \"baton 0.1\"]\n"
#define TYPED  HEADER "#[typed]\n\n"
#define RELAY  "#[version = \"0.0.5\"]\n"

static void test_calls_print_attributes_that_differ_from_their_defaults(void **state)
{
    (void)state;
    check_exact(TYPED "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2), float32] {\n"
                      "    %y: Tensor[(2, 3), float32] = add(%x, %x);\n"
                      "    %z: Tensor[(2), float32] = sum(%y, axis=[1]);\n"
                      "    %w: Tensor[(2), int32] = cast(%z, dtype=\"int32\");\n"
                      "    %z\n"
                      "}\n");
}

static void test_nested_calls_are_flattened_in_order_of_evaluation(void **state)
{
    (void)state;
    check_prints(RELAY "def @main(%x: float32, %y: float32) -> float32 {\n"
                       "  add(multiply(%x, %y) * 2f - %x / 3f, if (%x < %y) { %x + 1f }"
                       " else { %y })\n"
                       "}\n",
                 HEADER "\ndef @main(%x: float32, %y: float32) -> float32 {\n"
                        "    %0 = multiply(%x, %y);\n"
                        "    %1 = multiply(%0, 2f);\n"
                        "    %2 = divide(%x, 3f);\n"
                        "    %3 = subtract(%1, %2);\n"
                        "    %4 = less(%x, %y);\n"
                        "    %5 = if (%4) {\n"
                        "        %6 = add(%x, 1f);\n"
                        "        %6\n"
                        "    } else {\n"
                        "        %y\n"
                        "    };\n"
                        "    %7 = add(%3, %5);\n"
                        "    %7\n"
                        "}\n");
}

static void test_graph_nodes_go_where_their_uses_need_them(void **state)
{
    (void)state;
    check_prints(RELAY "def @main(%c: bool, %x: float32) {\n"
                       "  %0 = add(%x, 1f);\n"
                       "  %1 = negative(%x);\n"
                       "  %2 = abs(%x);\n"
                       "  %4 = if (%c) {\n"
                       "    %3 = exp(%x);\n"
                       "    multiply(%3, %0)\n"
                       "  } else {\n"
                       "    multiply(%3, %2)\n"
                       "  };\n"
                       "  add(%4, %0)\n"
                       "}\n",
                 HEADER "\ndef @main(%c: bool, %x: float32) {\n"
                        "    %0 = negative(%x);\n"
                        "    %1 = add(%x, 1f);\n"
                        "    %2 = exp(%x);\n"
                        "    %3 = if (%c) {\n"
                        "        %4 = multiply(%2, %1);\n"
                        "        %4\n"
                        "    } else {\n"
                        "        %5 = abs(%x);\n"
                        "        %6 = multiply(%2, %5);\n"
                        "        %6\n"
                        "    };\n"
                        "    %7 = add(%3, %1);\n"
                        "    %7\n"
                        "}\n");
}

static void test_operators_and_constructors_as_values_are_expanded(void **state)
{
    (void)state;
    check_prints(RELAY "type Pair { Both(int32, int32) }\n"
                       "def @f(%g) { %g(1, 2) }\n"
                       "def @main() { (@f(add), @f(Both)) }\n",
                 HEADER "\ntype Pair {\n"
                        "    Both(int32, int32),\n"
                        "}\n"
                        "\n"
                        "def @f(%g) {\n"
                        "    %0 = %g(1, 2);\n"
                        "    %0\n"
                        "}\n"
                        "\n"
                        "def @main() {\n"
                        "    %0 = fn (%lhs, %rhs) {\n"
                        "        %1 = add(%lhs, %rhs);\n"
                        "        %1\n"
                        "    };\n"
                        "    %2 = @f(%0);\n"
                        "    %3 = fn (%4, %5) {\n"
                        "        %6 = Both(%4, %5);\n"
                        "        %6\n"
                        "    };\n"
                        "    %7 = @f(%3);\n"
                        "    %8 = (%2, %7);\n"
                        "    %8\n"
                        "}\n");
}

static void test_a_lone_expression_needs_no_header(void **state)
{
    (void)state;
    check_prints("fn (%x: Tensor[(?, 4), float32]) { abs(%x) }",
                 HEADER "\ndef @main(%x: Tensor[(?, 4), float32]) {\n"
                        "    %0 = abs(%x);\n"
                        "    %0\n"
                        "}\n");
    check_prints("free_var %x: Tensor[(2), float32];\n%0 = abs(%x);\nadd(%0, %0)",
                 HEADER "\ndef @main(%x: Tensor[(2), float32]) {\n"
                        "    %0 = abs(%x);\n"
                        "    %1 = add(%0, %0);\n"
                        "    %1\n"
                        "}\n");
}

/* As TVM writes it: an array of two dims and a bool. */
#define METADATA                                                                \
    "#[metadata]\n{ \"root\": 1, \"nodes\": [ { \"type_key\": \"\" },"          \
    "{ \"type_key\": \"Map\", \"keys\": [\"relay.Constant\"], \"data\": [2] }," \
    "{ \"type_key\": \"Array\", \"data\": [3, 4] },"                            \
    "{ \"type_key\": \"relay.Constant\", \"attrs\": { \"data\": \"0\" } },"     \
    "{ \"type_key\": \"relay.Constant\", \"attrs\": { \"data\": \"1\" } } ],"   \
    "\"b64ndarrays\": [ \""                                                     \
    "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQACAAAAAAAAAAMAAAAAAAAA"          \
    "GAAAAAAAAAAAAIA/AAAAQAAAQEAAAIBAAACgQAAAwEA="                              \
    "\", \""                                                                    \
    "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEBAQABAAAAAAAAAAE="                  \
    "\" ], \"attrs\": { \"tvm_version\": \"0.14.0\" } }\n"

static void test_constants_of_metadata_are_decoded(void **state)
{
    (void)state;
    check_prints(RELAY "def @main(%x: Tensor[(2, 3), float32]) {\n"
                       "  %0 = add(%x, meta[relay.Constant][0] /* ty=T */);\n"
                       "  (%0, meta[relay.Constant][1], meta[relay.Constant][0])\n"
                       "}\n" METADATA,
                 HEADER "\ndef @main(%x: Tensor[(2, 3), float32]) {\n"
                        "    %0 = add(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6});\n"
                        "    %1 = (%0, True, const[(2, 3), float32]{1, 2, 3, 4, 5, 6});\n"
                        "    %1\n"
                        "}\n");
    check_error(RELAY "def @main() { meta[relay.Constant][2] }\n" METADATA, 2, 15,
                "no relay.Constant of index 2");
    check_error(RELAY "def @main() { meta[relay.Constant][0] }", 2, 15, "show_meta_data");
    check_error(RELAY "def @main() { meta[relay.Constant][0] }\n#[metadata]\n{ \"a\" 1 }",
                4, 7, "#[metadata]: ");
}

static void test_unknown_operators_are_named_together(void **state)
{
    (void)state;
    const char *text = RELAY "def @main(%x) {\n"
                             "  %0 = nn.fancy(%x, axis=[1, 2], f=meta[X][0]);\n"
                             "  %1 = plain(%0) + nn.fancy(%0);\n"
                             "  %1\n"
                             "}\n";
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "test.relay", NULL, text, strlen(text), &module);
    assert_int_equal(bt_ctx_nreport(ctx), 1);
    assert_error(status, BT_ERR_NAME, "2 operators are not known");
    assert_int_equal(status->place.line, 3);
    assert_non_null(strstr(status->note->message, "nn.fancy"));
    assert_non_null(strstr(status->note->message, "2 calls"));
    assert_non_null(strstr(status->note->note->message, "plain"));
    assert_int_equal(status->note->note->place.line, 4);
    check_error(HEADER "def @main(%x) { ad(%x, %x) }", 2, 17, "add");
}

static void test_attributes_are_checked(void **state)
{
    (void)state;
    check_error(HEADER "def @f(%x) { sum(%x, axi=[1]) }", 2, 22, "did you mean `axis`?");
    check_error(HEADER "def @f(%x) { sum(%x, axis=[1f]) }", 2, 28, "expected an integer");
    check_error(HEADER "def @f(%x) { sum(%x, axis=1, axis=2) }", 2, 30, "given twice");
    check_error(HEADER "def @f(%x) { sum(%x, keepdims=2) }", 2, 31, "True or False");
    check_error(HEADER "def @f(%x) { cast(%x) }", 2, 14, "`dtype` must be given");
    check_error(HEADER "def @f(%x) { %x(1, a=2) }", 2, 20, "only operators take");
}

static void test_types_alone_may_hold_relations(void **state)
{
    (void)state;
    check_exact(TYPED "extern @f: fn <A, B, C>(A, B) -> C where add(A, B) -> C, sum(A, "
                      "axis=[1]) -> B;\n"
                      "\n"
                      "def @g<A, B>(%x: A) -> (fn (A) -> B) where negative(A) -> B {\n"
                      "    %0: fn (A) -> B = %x.0;\n"
                      "    %0\n"
                      "}\n");
}

static void test_a_constructor_may_be_named_as_an_operator(void **state)
{
    (void)state;
    check_exact(TYPED "type T {\n"
                      "    add(int32, int32),\n"
                      "}\n"
                      "\n"
                      "def @f() -> int32 {\n"
                      "    %0: T = add(1, 2);\n"
                      "    %1: int32 = op \"add\"(1, 2);\n"
                      "    %1\n"
                      "}\n");
}

static void test_checks_and_contents_are_kept(void **state)
{
    (void)state;
    check_exact(TYPED
                "def @f<n: Dim, m: Dim>(%x: Tensor[(n), int8], %y: Tensor[(m), int8]) "
                "-> Tensor[(n), int8] {\n"
                "    %0: Tensor[(n), int8] = add(%x, %y) check n == m, n <= 4, n "
                "multiple 8 \"rows of \\\"x\\\"\", n broadcasts m;\n"
                "    %1: Tensor[(2), int64] = shape_of(%x) holds [n, m + 1] check n "
                "== 3;\n"
                "    %0\n"
                "}\n");
}

/* Whatever an operator's author wrote as a default is read, and printed as nothing. */
static void test_defaults_of_all_operators_read_and_print(void **state)
{
    (void)state;
    assert_ok(ctx, bt_plugins_scan(ctx));
    bt_store *store = bt_store_create(registry);
    uint32_t n = bt_provided_len(ctx, "op"), nread = 0;
    assert_true(n > 50);
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        const bt_op *op;
        const void *attrs = NULL;
        assert_ok(ctx, bt_provided_at(ctx, "op", i, &item));
        assert_ok(ctx, bt_op_get(ctx, item.name, &op));
        int is_optional = 1;
        for (const bt_attr *row = op->attrs; row && row->name; row++)
            is_optional &= row->preset != NULL;
        if (!is_optional)
            continue;
        assert_ok(ctx, bt_attrs_parse(ctx, store, op, "", &attrs));
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        if (bt_attrs_print(ctx, op, attrs, &text))
            fail_msg("%s prints its defaults: %s", op->name, bt_text_get(&text));
        nread += attrs != NULL;
    }
    assert_true(nread > 20);
    bt_store_unref(store);
}

static void test_attributes_alone_read_and_print(void **state)
{
    (void)state;
    bt_store *store = bt_store_create(registry);
    const bt_op *op;
    const void *attrs = NULL;
    bt_text text;
    assert_ok(ctx, bt_op_get(ctx, "sum", &op));
    assert_ok(ctx, bt_attrs_parse(ctx, store, op, "axis=(0, -1), keepdims=1", &attrs));
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_int_equal(bt_attrs_print(ctx, op, attrs, &text), 1);
    assert_string_equal(bt_text_get(&text), "axis=[0, -1], keepdims=True");
    assert_error(bt_attrs_parse(ctx, store, op, "axis=[0] keepdims=1", &attrs),
                 BT_ERR_SYNTAX, "expected `,`");
    assert_error(bt_attrs_parse(ctx, store, op, "axes=[0]", &attrs), BT_ERR_ATTRIBUTE,
                 "did you mean `axis`?");
    assert_int_equal(bt_ctx_nreport(ctx), 0);
    bt_store_unref(store);
}

static const struct CMUnitTest tests[] = {
    TEST(test_calls_print_attributes_that_differ_from_their_defaults),
    TEST(test_nested_calls_are_flattened_in_order_of_evaluation),
    TEST(test_graph_nodes_go_where_their_uses_need_them),
    TEST(test_operators_and_constructors_as_values_are_expanded),
    TEST(test_a_lone_expression_needs_no_header),
    TEST(test_constants_of_metadata_are_decoded),
    TEST(test_unknown_operators_are_named_together),
    TEST(test_attributes_are_checked),
    TEST(test_types_alone_may_hold_relations),
    TEST(test_a_constructor_may_be_named_as_an_operator),
    TEST(test_checks_and_contents_are_kept),
    TEST(test_defaults_of_all_operators_read_and_print),
    TEST(test_attributes_alone_read_and_print),
};
TEST_MAIN(tests)
