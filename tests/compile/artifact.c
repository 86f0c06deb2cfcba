/* Artifacts: what is written is what is run; what is damaged is told. */
#include "artifact_file.h"
#include "programs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WEIGHT                                                                  \
    "const[(8, 9), float32]{1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -6," \
    " -7, -8, -9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0,"  \
    " 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,"  \
    " 0, 3, 3, 3, 3, 3, 3, 3, 3, 3}"

static const char program[] =
    "def @main(%image: Tensor[(2, 9), float32], output0=\"scores\")\n"
    "    -> Tensor[(2, 8), float32] {\n"
    "    nn.dense(%image, " WEIGHT ")\n"
    "}\n";

static bt_ctx *ctx;
static char path[300];

static int setup(void **state)
{
    (void)state;
    unsetenv("PANELS_MACHINE");
    ctx = open_targets(NULL);
    snprintf(path, sizeof(path), TEST_FOLDER "/artifact.%d", (int)getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    bt_ctx_destroy(ctx);
    return 0;
}

/* ---- helpers ---- */

static bt_compiled *compiled_for(const char *target)
{
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, program, target, &c));
    return c;
}

static struct bytes written_for(const char *target)
{
    bt_compiled *c = compiled_for(target);
    assert_ok(ctx, bt_artifact_write(ctx, c, 0x1234, path));
    bt_compiled_unref(c);
    struct bytes b = read_bytes(path);
    assert_true(b.n > 0);
    return b;
}

static void write_bytes(const struct bytes *b)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->at, 1, b->n, file), b->n);
    assert_int_equal(fclose(file), 0);
}

/* Reads these bytes as an artifact, and forgets what came of it. */
static bt_status read_again(const struct bytes *b)
{
    bt_artifact *a;
    write_bytes(b);
    bt_ctx_clear_diags(ctx);
    bt_status status = bt_artifact_read(ctx, path, &a);
    if (!status)
        bt_artifact_close(a);
    return status;
}

static void check_code(const struct bytes *b, uint32_t code, const char *part)
{
    bt_status status = read_again(b);
    assert_error(status, code, part);
    assert_string_equal(status->place.file, path);
}

static bt_tensor *result_of(bt_compiled *c)
{
    bt_tensor *x = numbers(ctx, 2, 9);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    bt_tensor_unref(x);
    return (bt_tensor *)(void *)y;
}

static void check_same(bt_compiled *c, bt_compiled *d)
{
    bt_tensor_difference difference;
    bt_tensor *y = result_of(c), *z = result_of(d);
    assert_ok(ctx, bt_tensor_compare(ctx, y, z, 0, 0, &difference));
    assert_int_equal(difference.ndifferent, 0);
    bt_tensor_unref(y);
    bt_tensor_unref(z);
}

/* ---- what is written is what is run ---- */

static const char *const targets[] = { "reference", "panels", "panels{steps=0}",
                                       "panels.new{steps=2}", "liar, panels, reference" };

static void test_what_is_written_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(targets); i++) {
        bt_compiled *c = compiled_for(targets[i]), *d;
        bt_artifact *a;
        assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
        assert_true(bt_artifact_is(path));
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        assert_int_equal(a->ntarget, c->ntarget);
        assert_string_equal(a->targets[0].text, c->targets[0].text);
        assert_string_equal(a->entry, "main");
        assert_int_equal(a->nkernel, c->nkernel);
        assert_int_equal(a->nconstant, 1);
        assert_int_equal(a->module->nglobal, 1);
        assert_ok(ctx, bt_artifact_load(ctx, a, &d));
        bt_artifact_close(a); // what is loaded holds on to what it needs
        unlink(path);
        check_same(c, d);
        bt_compiled_unref(d);
        bt_compiled_unref(c);
    }
}

static void test_constants_lie_in_the_file(void **state)
{
    (void)state;
    static const char *const forms[] = { "panels", "reference" };
    for (size_t i = 0; i < BT_COUNT(forms); i++) {
        struct bytes b = written_for(forms[i]);
        bt_artifact *a;
        bt_compiled *c;
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        assert_ok(ctx, bt_artifact_load(ctx, a, &c));
        const bt_tensor *constant = bt_const_tensor(input_of(c, 0, 1));
        assert_non_null(constant->owner); // the mapping
        const bt_tensor *bytes = bt_object_as_tensor(constant->owner);
        assert_int_equal(bt_tensor_nbytes(bytes), b.n);
        size_t offset = (size_t)((char *)constant->data - (char *)bytes->data);
        const struct bt__artifact_row *row = row_of(&b, BT__SECTION_CONSTANTS);
        assert_int_equal(offset, row->offset);
        assert_int_equal(bt_tensor_nbytes(constant), row->nbytes);
        assert_int_equal((uintptr_t)constant->data % 64, 0);
        bt_compiled_unref(c);
        bt_artifact_close(a);
        free(b.at);
    }
}

static void test_the_same_module_gives_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < BT_COUNT(targets); i++) {
        struct bytes first = written_for(targets[i]), second = written_for(targets[i]);
        bt_artifact *a;
        bt_compiled *c;
        assert_int_equal(first.n, second.n);
        assert_memory_equal(first.at, second.at, first.n);
        // and so does what was read from it
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        assert_ok(ctx, bt_artifact_load(ctx, a, &c));
        bt_artifact_close(a);
        assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
        bt_compiled_unref(c);
        struct bytes third = read_bytes(path);
        assert_int_equal(first.n, third.n);
        assert_memory_equal(first.at, third.at, first.n);
        free(first.at);
        free(second.at);
        free(third.at);
    }
}

static void test_it_says_who_made_it(void **state)
{
    (void)state;
    char line[64];
    struct bytes b = written_for("panels");
    bt_artifact *a;
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    snprintf(line, sizeof(line), "baton %s\n", bt_version());
    assert_int_equal(strncmp(a->provenance, line, strlen(line)), 0);
    assert_non_null(strstr(a->provenance, "plugin test.targets 0.1.0\n"));
    assert_non_null(strstr(a->provenance, "pipeline 0000000000001234\n"));
    assert_null(strstr(a->provenance, "plugin baton.onnx")); // which nobody opened
    assert_int_equal(a->nsection, BT__SECTION_COUNT - 1);
    assert_string_equal(a->sections[0].name, "program");
    assert_int_equal(a->sections[0].checksum, row_of(&b, 1)->checksum);
    bt_artifact_close(a);
    free(b.at);
}

/* ---- other machines ---- */

static void test_the_machine_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *target, *written, *read, *why; /* NULL: it runs */
    } rows[] = {
        { "panels", "m2", "m2", NULL },
        { "panels", "m2", "m3",
          "its code needs \"m2\", and target panels offers \"m3\" here" },
        { "panels", "m2", NULL, "offers \"\" here: compile it anew" },
        { "panels", NULL, "m3", NULL },
        { "panels.new", "m2", "m3", NULL },
        { "panels.new", "m2", "m1", "panels.new: m2 is above m1" },
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_artifact *a;
        bt_compiled *c;
        unsetenv("PANELS_MACHINE");
        if (rows[i].written)
            setenv("PANELS_MACHINE", rows[i].written, 1);
        free(written_for(rows[i].target).at);
        unsetenv("PANELS_MACHINE");
        if (rows[i].read)
            setenv("PANELS_MACHINE", rows[i].read, 1);
        assert_ok(ctx, bt_artifact_read(ctx, path, &a)); // to tell of it needs no machine
        assert_string_equal(a->targets[0].compatibility,
                            rows[i].written ? rows[i].written : "");
        bt_status status = bt_artifact_load(ctx, a, &c);
        if (rows[i].why)
            assert_error(status, BT_ERR_UNSUPPORTED, rows[i].why);
        else
            assert_ok(ctx, status);
        if (!status)
            bt_compiled_unref(c);
        bt_artifact_close(a);
    }
}

static void test_a_target_that_is_missing_is_named(void **state)
{
    (void)state;
    static const char text[] = "main\0panel\0\0"
                               "10";
    struct bytes b = written_for("panels"),
                 other = with_section(&b, BT__SECTION_TARGETS, text, sizeof(text));
    bt_artifact *a;
    bt_compiled *c;
    write_bytes(&other);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_error(bt_artifact_load(ctx, a, &c), BT_ERR_NAME,
                 "no target is named \"panel\"; did you mean panels");
    bt_artifact_close(a);
    free(other.at);
    free(b.at);
}

/* ---- damage ---- */

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
#include "compile/sections.def"
        };
        for (uint64_t i = 0; i < row.nbytes; i++) {
            b.at[row.offset + i] ^= 0x10;
            check_code(&b, BT_ERR_FORMAT, names[kind]);
            b.at[row.offset + i] ^= 0x10;
        }
    }
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
    head->version = 2;
    seal(&b);
    check_code(&b, BT_ERR_UNSUPPORTED, "the artifact is of version 2, this Baton (");
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
        { BT__SECTION_TARGETS, "main\0panels", 11, BT_ERR_FORMAT, "a text without end" },
        { BT__SECTION_TARGETS, "main\0", 5, BT_ERR_FORMAT, "there is no target" },
        { BT__SECTION_TARGETS, "main\0panels\0\0x\0", 15, BT_ERR_FORMAT,
          "a number that is none" },
        { BT__SECTION_TARGETS, "main\0panels\0\0\0", 14, BT_ERR_FORMAT,
          "a number is missing" },
        { BT__SECTION_TARGETS,
          "main\0panels\0\0"
          "99\0",
          16, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_TARGETS,
          "main\0panels\0\0"
          "18446744073709551616\0",
          34, BT_ERR_FORMAT, "a number that is none" },
        { BT__SECTION_TARGETS,
          "main\0a\0\0"
          "10\0b\0\0"
          "10\0",
          18, BT_ERR_FORMAT, "more code than there is" },
        { BT__SECTION_TARGETS,
          "main\0\033[31m\0\0"
          "10\0",
          15, BT_ERR_FORMAT, "a control character in a text" },
        { BT__SECTION_TARGETS,
          "maim\0panels\0\0"
          "10\0",
          16, BT_ERR_NAME, "maim" },
        { BT__SECTION_FUNCTIONS,
          "f\0"
          "1\0\0",
          5, BT_ERR_FORMAT,
          "section functions is damaged: a number beyond what it counts" },
        { BT__SECTION_FUNCTIONS, "", 0, BT_ERR_FORMAT,
          "section kernels is damaged: a number beyond what it counts" },
        { BT__SECTION_KERNELS, "", 0, BT_ERR_VERIFY,
          "names a kernel that the code does not have" },
        { BT__SECTION_KERNELS,
          "a\0"
          "1\0"
          "0\0",
          6, BT_ERR_FORMAT, "a number beyond what it counts" },
        { BT__SECTION_KERNELS,
          "a\0"
          "0\0"
          "0\0"
          "a\0"
          "0\0"
          "0\0",
          12, BT_ERR_FORMAT, "two kernels of one name" },
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
    records[4].head.dtype = BT_DTYPE(BT_CLASS_INT, 4, 1);
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
        { "exp(%x) }", BT_ERR_VERIFY, "is no call of a kernel" },
        { "%c = True; if (%c) { %x } else { %x } }", BT_ERR_VERIFY,
          "is no call of a kernel" },
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
    struct bytes b = written_for("panels");
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
    free(b.at);
}

/* ---- files ---- */

static void test_files_that_cannot_be(void **state)
{
    (void)state;
    bt_artifact *a;
    bt_compiled *c = compiled_for("panels");
    assert_error(bt_artifact_write(ctx, c, 0, "/dev/full"), BT_ERR_IO, "No space left");
    assert_error(bt_artifact_write(ctx, c, 0, "/proc/nowhere/x"), BT_ERR_IO,
                 "cannot be written");
    assert_error(bt_artifact_write(ctx, c, 0, "/"), BT_ERR_IO, "is a folder");
    assert_error(bt_artifact_read(ctx, "/", &a), BT_ERR_IO, "found a folder");
    assert_error(bt_artifact_read(ctx, "/dev/null", &a), BT_ERR_IO,
                 "found a pipe or a device");
    assert_error(bt_artifact_read(ctx, "/nowhere", &a), BT_ERR_IO, "cannot be opened");
    assert_false(bt_artifact_is("/nowhere"));
    assert_false(bt_artifact_is("/"));
    // a pipe that nobody writes to does not stop it
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_error(bt_artifact_read(ctx, path, &a), BT_ERR_IO, "found a pipe or a device");
    assert_false(bt_artifact_is(path));
    bt_compiled_unref(c);
}

static void test_a_folder_that_is_read_only_keeps_what_it_has(void **state)
{
    (void)state;
    char folder[320], file[340];
    bt_compiled *c = compiled_for("panels");
    snprintf(folder, sizeof(folder), "%s.folder", path);
    snprintf(file, sizeof(file), "%s/a", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, file));
    struct bytes before = read_bytes(file);
    assert_int_equal(chmod(folder, 0500), 0);
    bt_status status = bt_artifact_write(ctx, c, 0, file);
    if (geteuid() != 0) // whom no mode stops
        assert_error(status, BT_ERR_IO, "cannot be written: Permission denied");
    struct bytes after = read_bytes(file);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.at, after.at, before.n);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0); // and nothing temporary is left
    free(before.at);
    free(after.at);
    bt_compiled_unref(c);
}

static void test_a_file_above_the_limit_is_refused(void **state)
{
    (void)state;
    struct bytes b = written_for("panels");
    bt_artifact *a;
    bt_ctx_limits(ctx)->bytes = b.n - 1;
    assert_error(bt_artifact_read(ctx, path, &a), BT_ERR_LIMIT, "exceeds the limit of");
    free(b.at);
}

/* ---- processes ---- */

/* Of the mapping of `path`: KiB that this process shares with others, and has alone. */
static void count_pages(long *shared, long *own)
{
    char line[600];
    int is_it = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    *shared = *own = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        long n;
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            is_it = strstr(line, path) != NULL;
        if (is_it && sscanf(line, "Shared_Clean: %ld", &n) == 1)
            *shared += n;
        if (is_it && sscanf(line, "Private_Dirty: %ld", &n) == 1)
            *own += n;
    }
    fclose(file);
}

/* A child that has the artifact open says so, and waits for our end. */
static void hold(int ready, int wait)
{
    char byte = 0;
    bt_artifact *a;
    if (!bt_artifact_read(ctx, path, &a) && write(ready, &byte, 1) == 1 &&
        read(wait, &byte, 1) == 0)
        _exit(0);
    _exit(1);
}

static void test_processes_share_the_constants(void **state)
{
    (void)state;
    int ready[2], end[2], code;
    long shared, own;
    char byte;
    bt_artifact *a;
    struct bytes b = written_for("reference");
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        hold(ready[1], end[0]);
    }
    close(end[0]);
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    count_pages(&shared, &own);
    assert_true(shared * 1024 >= (long)b.n); // all of it, in whole pages
    assert_int_equal(own, 0);
    close(end[1]);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    bt_artifact_close(a);
    free(b.at);
}

/* ---- time ---- */

/* A chain of layers whose text is long and whose weights are small. */
static void test_a_hundred_kernels_load(void **state)
{
    (void)state;
    static char text[1 << 16];
    bt_compiled *c, *d;
    bt_artifact *a;
    int n = snprintf(text, sizeof(text),
                     "def @main(%%x: Tensor[(2, 9), float32]) {\n"
                     "    %%v0 = nn.dense(%%x, " WEIGHT ");\n");
    for (int i = 1; i < 100; i++)
        n +=
            snprintf(text + n, sizeof(text) - (size_t)n,
                     "    %%v%d = nn.dense(%%v%d, const[(%d, %d), float32]{0.125 ..});\n",
                     i, i - 1, 8 + i, 7 + i);
    snprintf(text + n, sizeof(text) - (size_t)n, "    %%v99\n}\n");
    assert_ok(ctx, compile_text(ctx, text, "panels", &c));
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    assert_ok(ctx, bt_artifact_load(ctx, a, &d));
    assert_int_equal(d->nkernel, 100);
    check_same(c, d);
    bt_artifact_close(a);
    bt_compiled_unref(d);
    bt_compiled_unref(c);
}

static const struct CMUnitTest tests[] = {
    TEST(test_what_is_written_runs),
    TEST(test_constants_lie_in_the_file),
    TEST(test_the_same_module_gives_the_same_bytes),
    TEST(test_it_says_who_made_it),
    TEST(test_the_machine_is_checked),
    TEST(test_a_target_that_is_missing_is_named),
    TEST(test_each_bit_of_header_and_table_counts),
    TEST(test_each_byte_of_the_sections_counts),
    TEST(test_wherever_it_is_cut_off),
    TEST(test_other_versions_and_byte_orders_are_told),
    TEST(test_sections_have_their_places),
    TEST(test_texts_have_their_form),
    TEST(test_records_of_constants_have_their_form),
    TEST(test_the_program_is_planned),
    TEST(test_files_that_cannot_be),
    TEST(test_a_folder_that_is_read_only_keeps_what_it_has),
    TEST(test_a_file_above_the_limit_is_refused),
    TEST(test_processes_share_the_constants),
    TEST(test_a_hundred_kernels_load),
};
TEST_MAIN(tests)
