/* Artifacts: whatever is damaged is told, and what is wrong where. */
#include "artifact_program.h"

static void test_each_bit_of_header_and_table_counts(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    size_t n = sizeof(struct bt__artifact_head) +
               (BT__SECTION_COUNT - 1) * sizeof(struct bt__artifact_row);
    for (size_t i = 0; i < 8 * n; i++) {
        b.at[i / 8] ^= (unsigned char)(1 << i % 8);
        bt_status status = read_again(&b);
        assert_non_null(status);
        assert_true(status->code == BT_ERR_FORMAT || status->code == BT_ERR_UNSUPPORTED);
        assert_string_equal(status->place.file, path);
        b.at[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    assert_ok(ctx, read_again(&b));
    free(b.at);
}

static void test_each_byte_of_the_sections_counts(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    for (uint32_t kind = 1; kind < BT__SECTION_COUNT; kind++) {
        const struct bt__artifact_row row = *row_of(&b, kind);
        static const char *const names[] = {
            "?",
#define SECTION(UPPER, name) "section " name " is damaged: its checksum is ",
#include "compile/artifact/sections.def"
        };
        for (uint64_t i = 0; i < row.nbytes; i++) {
            b.at[row.offset + i] ^= 0x10;
            check_code(&b, BT_ERR_FORMAT, names[kind]);
            b.at[row.offset + i] ^= 0x10;
        }
    }
    free(b.at);
}

/* What stands between sections is 0. */
static void test_each_byte_of_no_section_is_0(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    uint32_t n = 0;
    for (uint32_t kind = 1; kind + 1 < BT__SECTION_COUNT; kind++) {
        const struct bt__artifact_row *row = row_of(&b, kind);
        for (uint64_t i = row->offset + row->nbytes; i < row[1].offset; i++, n++) {
            b.at[i] ^= 0x10;
            check_code(&b, BT_ERR_FORMAT, "which is of no section, is damaged");
            b.at[i] ^= 0x10;
        }
    }
    assert_true(n > 0);
    free(b.at);
}

static void check_cut(const struct bytes *b, size_t n)
{
    struct bytes cut = { b->at, n };
    if (n < b->n)
        check_code(&cut, BT_ERR_FORMAT, n ? "" : "the file is empty");
}

static void test_wherever_it_is_cut_off(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    for (size_t n = 0; n < 400; n++)
        check_cut(&b, n);
    for (uint32_t kind = 1; kind < BT__SECTION_COUNT; kind++) {
        const struct bt__artifact_row *row = row_of(&b, kind);
        for (size_t n = 0; n < 3; n++) {
            check_cut(&b, (size_t)row->offset - 1 + n);
            check_cut(&b, (size_t)(row->offset + row->nbytes) - 1 + n);
        }
    }
    struct bytes cut = { b.at, 20 };
    check_code(&cut, BT_ERR_FORMAT, "cut off in its header, at byte 20");
    cut.n = 100;
    check_code(&cut, BT_ERR_FORMAT, "cut off in its table of sections, at byte 100");
    cut.n = b.n - 1;
    check_code(&cut, BT_ERR_FORMAT, "and was written with");
    b.at = realloc(b.at, b.n + 1);
    b.at[b.n++] = 0;
    check_code(&b, BT_ERR_FORMAT, "and was written with");
    free(b.at);
}

static void test_other_versions_and_byte_orders_are_told(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    struct bt__artifact_head *head = head_of(&b), kept = *head;
    head->version = 1;
    seal(&b);
    check_code(&b, BT_ERR_UNSUPPORTED, "the artifact is of version 1, this Baton (");
    *head = kept;
    head->order = 0x04030201;
    seal(&b);
    check_code(&b, BT_ERR_UNSUPPORTED, "made on a machine of another byte order");
    *head = kept;
    head->order = 7;
    check_code(&b, BT_ERR_FORMAT, "the header is damaged: byte order 0x00000007");
    *head = kept;
    head->nsection = UINT32_MAX;
    check_code(&b, BT_ERR_FORMAT, "the header is damaged: 4294967295 sections");
    memcpy(b.at, "PK\3\4    ", 8);
    check_code(&b, BT_ERR_FORMAT, "not an artifact");
    assert_false(bt_artifact_is(path));
    free(b.at);
}

/* Whole checksums, and yet wrong. */
static void test_sections_have_their_places(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    struct bt__artifact_row *code = row_of(&b, BT__SECTION_CODE), kept = *code;
    const uint32_t kind = BT__SECTION_CODE;
    const struct {
        struct bt__artifact_row row;
        const char *why;
    } rows[] = {
        { { kind, 0, kept.offset + 1, kept.nbytes }, "section code begins at" },
        { { kind, 0, kept.offset - 64, kept.nbytes },
          "before the end of what stands ahead of it" },
        { { kind, 0, 0, kept.nbytes }, "before the end of what stands ahead of it" },
        { { kind, 0, kept.offset, b.n }, "reaches beyond the end of the file" },
        { { kind, 0, kept.offset, UINT64_MAX }, "reaches beyond the end of the file" },
        { { kind, 0, UINT64_MAX - 63, 64 }, "reaches beyond the end of the file" },
        { { kind, 0, kept.offset, kept.nbytes + 64 }, "section constants begins at" },
        { { kind + 1, 0, kept.offset, kept.nbytes }, "is of kind 8, expected code" },
        { { 0, 0, kept.offset, kept.nbytes }, "is of kind 0, expected code" },
        { { 99, 0, kept.offset, kept.nbytes }, "is of kind 99, expected code" },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        *code = rows[i].row;
        seal_head(&b);
        check_code(&b, BT_ERR_FORMAT, rows[i].why);
    }
    free(b.at);
}

static void check_section(const struct bytes *b, uint32_t kind, const void *at, size_t n,
                          uint32_t code, const char *why)
{
    struct bytes other = with_section(b, kind, at, n);
    assert_error(read_again(&other), code, why);
    free(other.at);
}

/* The beginning of the section `targets`: entry, no executor, bytes of constants. */
#define TARGETS(entry, unpacked, packed) entry "\0\0" unpacked "\0" packed "\0"

static void test_texts_have_their_form(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind;
        const char *text;
        size_t n;
        uint32_t code;
        const char *why;
    } rows[] = {
        { BT__SECTION_TARGETS, "", 0, BT_ERR_FORMAT, "a text without end" },
        { BT__SECTION_TARGETS, TARGETS("main", "0", "0") "panels", 16, BT_ERR_FORMAT,
          "a text without end" },
        { BT__SECTION_TARGETS, "main\0", 5, BT_ERR_FORMAT, "a text without end" },
        { BT__SECTION_TARGETS, TARGETS("main", "0", "0"), 10, BT_ERR_FORMAT,
          "there is no target" },
        { BT__SECTION_TARGETS, TARGETS("main", "x", "0"), 10, BT_ERR_FORMAT,
          "a number that is none" },
        { BT__SECTION_TARGETS, TARGETS("main", "0", "9223372036854775807"), 28,
          BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_TARGETS, TARGETS("main", "0", "0") "\033[31m\0\0", 17,
          BT_ERR_FORMAT, "a control character in a text" },
        { BT__SECTION_TARGETS, TARGETS("maim", "0", "0") "panels\0\0", 18, BT_ERR_NAME,
          "maim" },
        { BT__SECTION_FUNCTIONS,
          "f\0"
          "1\0\0",
          5, BT_ERR_FORMAT,
          "section functions is damaged: a number beyond what it counts" },
        { BT__SECTION_FUNCTIONS,
          "f\0"
          "0\0\0\0"
          "-1\0-\0",
          11, BT_ERR_FORMAT, "section functions is damaged: a number that is none" },
        { BT__SECTION_FUNCTIONS,
          "f\0"
          "0\0\0\0"
          "9223372036854775807\0-\0",
          28, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_FUNCTIONS,
          "f\0"
          "0\0\0-",
          6, BT_ERR_FORMAT, "a text without end" },
        { BT__SECTION_FUNCTIONS, "", 0, BT_ERR_FORMAT,
          "section kernels is damaged: a number beyond what it counts" },
        { BT__SECTION_KERNELS, "", 0, BT_ERR_VERIFY,
          "names a kernel that the code does not have" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "1\0"
          "0\0",
          12, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          58, BT_ERR_FORMAT, "two kernels of one name" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "0\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          29, BT_ERR_FORMAT, "code of no form" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "3\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          29, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "64000\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          33, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "1\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          29, BT_ERR_FORMAT, "code that is not aligned" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "18446744073709551615\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0",
          48, BT_ERR_FORMAT, "a number" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "9999\0"
          "0\0"
          "0\0"
          "0\0",
          32, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "9223372036854775807\0"
          "0\0"
          "0\0",
          47, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "4294967294\0"
          "0\0",
          38, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "fn ()\0"
          "0\0"
          "0\0"
          "1\0"
          "\0"
          "0\0"
          "1\0"
          "0\0"
          "0\0"
          "0\0"
          "0\0"
          "4294967294\0",
          38, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS, "a\0", 2, BT_ERR_FORMAT, "a text without end" },
        { BT__SECTION_PROVENANCE, "baton \0", 7, BT_ERR_FORMAT, "a control character" },
        { BT__SECTION_PROGRAM, "", 0, BT_ERR_SYNTAX, "" },
        { BT__SECTION_PROGRAM, "garbage", 7, BT_ERR_NAME, "garbage" },
        { BT__SECTION_TENSORS, "", 0, BT_ERR_NAME, "holds no array named" },
        { BT__SECTION_TENSORS, "short", 5, BT_ERR_FORMAT,
          "section tensors is damaged: record 0, at 0, is cut off" },
    };
    struct bytes b = written_for("panels");
    for (size_t i = 0; i < BT_COUNT(rows); i++)
        check_section(&b, rows[i].kind, rows[i].text, rows[i].n, rows[i].code,
                      rows[i].why);
    free(b.at);
}

/* The one record: offset, dtype, rank, name, dim. */
static void test_records_of_constants_have_their_form(void **state)
{
    (void)state;
    struct record {
        struct bt__tensor_record head;
        int64_t dim;
        char name[8];
    };
    struct bytes b = written_for("panels");
    const struct bt__artifact_row *row = row_of(&b, BT__SECTION_TENSORS);
    struct record whole;
    assert_int_equal(row->nbytes, sizeof(whole));
    memcpy(&whole, b.at + row->offset, sizeof(whole));
    const uint64_t n = row_of(&b, BT__SECTION_CONSTANTS)->nbytes;
    struct record records[12];
    for (size_t i = 0; i < BT_COUNT(records); i++)
        records[i] = whole;
    static const char *const why[] = {
        "names a place outside the constants",
        "names a place outside the constants",
        "reaches beyond the constants",
        "is of no type that there is",
        "is of no type that there is",
        "is of no type that there is",
        "is cut off",
        "is cut off",
        "below 0",
        "the limit of one tensor",
        "reaches beyond the constants",
        "has a name with a NUL",
    };
    records[0].head.offset = 8;
    records[1].head.offset = UINT64_MAX - 63;
    records[2].head.offset = n - n % 64;
    records[3].head.dtype = 0;
    records[4].head.dtype = BT_DTYPE(BT_CLASS_INT, 3, 1);
    records[5].head.rank = 33;
    records[6].head.rank = 20;
    records[7].head.name_nbytes = UINT32_MAX;
    records[8].dim = -1;
    records[9].dim = INT64_MAX;
    records[10].dim++;
    records[11].name[0] = 0;
    for (size_t i = 0; i < BT_COUNT(records); i++)
        check_section(&b, BT__SECTION_TENSORS, &records[i], sizeof(records[i]),
                      BT_ERR_FORMAT, why[i]);
    whole.dim--; // within the constants, and not what the program says
    check_section(&b, BT__SECTION_TENSORS, &whole, sizeof(whole), BT_ERR_SHAPE,
                  "not as written here");
    free(b.at);
}

/* Programs that are typed and no plan. */
static void test_the_program_is_planned(void **state)
{
    (void)state;
#define INVOKE(ins, outs) \
    "%0 = memory.invoke((" ins "), (" outs "), kernel=\"fused_nn_dense.1\");\n"
    static const char before[] =
        "#[version = \"baton 0.1\"]\ndef @main(%x: Tensor[(8), float32]) {\n";
    static const struct {
        const char *body;
        uint32_t code; /* 0: it is */
        const char *why;
    } rows[] = {
        { "%s = memory.alloc_storage(size=64);\n"
          "%a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n" INVOKE(
              "%x,", "%a,") "%a }",
          0, NULL },
        // whether there may be branches is the executor's to say, the plan is checked there too
        { "%c = True; if (%c) { %x } else { exp(%x) } }", 0, NULL },
        { "%c = True; if (%c) { " INVOKE("%x,", "%x,") "%x } else { %x } }",
          BT_ERR_VERIFY, "writes what is no tensor of its storage" },
        { INVOKE("%x,", "%x,") "%x }", BT_ERR_VERIFY,
          "writes what is no tensor of its storage" },
        { INVOKE("%x,", "const[(8), float32]{1, 2, 3, 4, 5, 6, 7, 8},") "%x }",
          BT_ERR_VERIFY, "writes what is no tensor of its storage" },
        { "%a = memory.alloc_tensor(const[(32), uint8]{0 ..}, shape=[8], "
          "dtype=\"float32\"); %a }",
          BT_ERR_VERIFY, "lies in no storage" },
        { "%t = (%x,); %0 = memory.invoke(const(1f, 2f), %t, "
          "kernel=\"fused_nn_dense.1\"); %x }",
          BT_ERR_VERIFY, "does not list its buffers" },
        { "%s = memory.alloc_storage(size=64);\n"
          "%a = memory.alloc_tensor(%s, shape=[8], dtype=\"float32\");\n"
          "%b = memory.alloc_tensor(%s, offset=16, shape=[8], "
          "dtype=\"float32\");\n" INVOKE("%a,", "%b,") "%b }",
          BT_ERR_VERIFY, "share storage" },
    };
    // name, type, target, function, form, symbol, two pieces, scratch, phases, faults
    static const char kernel[] =
        "fused_nn_dense.1\0"
        "fn ((Tensor[(8), float32],), (Tensor[(8), float32],)) -> ()\0"
        "0\0"
        "0\0"
        "1\0"
        "\0"
        "0\0"
        "0\0"
        "0\0"
        "0\0"
        "0\0"
        "0\0"
        "0";
    struct bytes written = written_for("panels"),
                 b = with_section(&written, BT__SECTION_KERNELS, kernel, sizeof(kernel));
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s\n", before, rows[i].body);
        struct bytes other = with_section(&b, BT__SECTION_PROGRAM, text, strlen(text));
        bt_status status = read_again(&other);
        if (rows[i].code)
            assert_error(status, rows[i].code, rows[i].why);
        else
            assert_ok(ctx, status);
        free(other.at);
    }
    free(written.at);
    free(b.at);
}

static const struct CMUnitTest tests[] = {
    TEST(test_each_bit_of_header_and_table_counts),
    TEST(test_each_byte_of_the_sections_counts),
    TEST(test_each_byte_of_no_section_is_0),
    TEST(test_wherever_it_is_cut_off),
    TEST(test_other_versions_and_byte_orders_are_told),
    TEST(test_sections_have_their_places),
    TEST(test_texts_have_their_form),
    TEST(test_records_of_constants_have_their_form),
    TEST(test_the_program_is_planned),
};
TEST_MAIN(tests)
