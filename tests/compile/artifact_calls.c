/* Artifacts: a call of a kernel that does not give it what it takes is told; none is run. */
#include "artifact_program.h"

static const char open_program[] = "def @main<n: Dim in 1..64>(%x: Tensor[(n, 9), "
                                   "float32], %w: Tensor[(8, 9), float32])\n"
                                   "    -> Tensor[(n, 8), float32] {\n"
                                   "    nn.relu(nn.dense(%x, %w))\n"
                                   "}\n";

static struct bytes written(void)
{
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, open_program, "cpu", &c));
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
    bt_compiled_unref(c);
    return read_bytes(path);
}

static size_t find(const char *at, size_t n, const char *part)
{
    const size_t npart = strlen(part);
    for (size_t i = 0; i + npart <= n; i++) {
        if (memcmp(at + i, part, npart) == 0)
            return i;
    }
    fail_msg("nothing reads %s", part);
    return 0;
}

/* The artifact with another text in place of the first `from` of a section. */
static bt_status read_changed(const struct bytes *b, uint32_t kind, const char *from,
                              const char *to)
{
    const struct bt__artifact_row *row = row_of(b, kind);
    const char *old = (const char *)b->at + row->offset;
    const size_t n = (size_t)row->nbytes, at = find(old, n, from), nto = strlen(to),
                 rest = at + strlen(from);
    char *text = malloc(n + nto);
    assert_non_null(text);
    memcpy(text, old, at);
    memcpy(text + at, to, nto);
    memcpy(text + at + nto, old + rest, n - rest);
    struct bytes other = with_section(b, kind, text, at + nto + n - rest);
    bt_status status = read_again(&other);
    free(other.at);
    free(text);
    return status;
}

static void test_calls_give_kernels_what_they_take(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } rows[] = {
        { "dims=[n]", "dims=[n, n]", "another number of dims than it takes" },
        { ", dims=[n]", "", "another number of dims than it takes" },
        { "dims=[n]", "dims=[n + 1]", "a dim that may be none of those it takes" },
        { "dims=[n]", "dims=[0]", "a dim that may be none of those it takes" },
        { "dims=[n]", "dims=[64]", "other buffers to read than it takes" },
        { "kernel=\"fused_nn_dense\"", "kernel=\"fused_nn_relu\"", "its kernel" },
        { "kernel=\"fused_nn_relu\"", "kernel=\"fused_nn_dense\"", "its kernel" },
        { " = (%x, %w)", " = (%w, %x)", "" },
        { " = (%x, %w)", " = (%x, %x)", "" },
    };
    struct bytes b = written();
    assert_ok(ctx, read_again(&b));
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        bt_status status =
            read_changed(&b, BT__SECTION_PROGRAM, rows[i].from, rows[i].to);
        assert_non_null(status);
        if (*rows[i].why)
            assert_error(status, BT_ERR_VERIFY, rows[i].why);
        assert_true(status->place.line > 0); // in the program
    }
    free(b.at);
}

/* As if kernels took something else than what the program gives them. */
static void test_types_of_kernels_count(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        uint32_t code;
        const char *why;
    } rows[] = {
        { "in 1..64", "in 1..63", BT_ERR_VERIFY,
          "a dim that may be none of those it takes" },
        { "in 1..64", "in 1..64 step 2", BT_ERR_VERIFY,
          "a dim that may be none of those it takes" },
        { "in 1..64", "in 1..64, m: Dim", BT_ERR_VERIFY, "another number of dims" },
        { "Tensor[(8, 9), float32]", "Tensor[(8, 10), float32]", BT_ERR_VERIFY,
          "other buffers to read" },
        { "Tensor[(8, 9), float32]", "Tensor[(8, 9), int32]", BT_ERR_VERIFY,
          "other buffers to read" },
        { ", Tensor[(8, 9), float32]", "", BT_ERR_VERIFY, "other buffers to read" },
        { "Tensor[(n, 8), float32]", "Tensor[(n, 9), float32]", BT_ERR_VERIFY,
          "other buffers to write" },
        { "), Tensor[(", "), Tensor[(1", BT_ERR_VERIFY, "a workspace of another size" },
        { ">((", ">((), (", BT_ERR_FORMAT,
          "section kernels is damaged: not the type of a kernel" },
        { "fn <n: Dim", "fn <n: Type", BT_ERR_FORMAT, "section kernels is damaged: " },
        { "fn <n", "gn <n", BT_ERR_FORMAT,
          "section kernels is damaged: no type is named" },
        { "fn <n: Dim in 1..64>", "", BT_ERR_FORMAT,
          "section kernels is damaged: no dim is named `n`" },
        { "fn <n", "fn <", BT_ERR_FORMAT, "section kernels is damaged: expected" },
    };
    struct bytes b = written();
    for (size_t i = 0; i < BT_COUNT(rows); i++)
        assert_error(read_changed(&b, BT__SECTION_KERNELS, rows[i].from, rows[i].to),
                     rows[i].code, rows[i].why);
    free(b.at);
}

static const struct CMUnitTest tests[] = {
    TEST(test_calls_give_kernels_what_they_take),
    TEST(test_types_of_kernels_count),
};
TEST_MAIN(tests)
