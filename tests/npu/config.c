/* Configurations: each number of a file is checked, and named where it is wrong. */
#include "failing_allocator.h"

#include "kit.h"

static void test_built_in_machines_have_256_products(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        use(i ? "multi" : "single");
        assert_int_equal(config.batch * config.in * config.out, 256);
        assert_int_equal(config.has_multiplier, i);
        assert_int_equal(config.weight_bits, 1 << 8 | 1 << 4 | 1 << 2);
        assert_int_equal(config.ntile[NPU_UOP], 4096);
        assert_int_equal(config.ntile[NPU_INP], i ? 1024 : 2048);
        assert_int_equal(config.ntile[NPU_WGT], i ? 4096 : 1024);
        assert_int_equal(config.ntile[NPU_ACC], i ? 1024 : 2048);
        assert_int_equal(config.dram_nbytes, 268435456);
        assert_int_equal(config.depth, 128);
        assert_int_equal(config.dma_row, 2);
    }
}

/* The text with the `i`-th number changed; NULL: it has fewer. The name before it is *name. */
static const char *changed(uint32_t i, const char *number, char *name)
{
    static char out[sizeof(tiny) + 32];
    for (const char *at = tiny; (at = strchr(at, ':')) != NULL; at++) {
        const char *digit = at + 1 + strspn(at + 1, " ");
        if (*digit < '0' || *digit > '9' || i--)
            continue;
        const char *end = at - 1;
        while (end[-1] != '"')
            end--;
        snprintf(name, 32, "%.*s", (int)(at - 1 - end), end);
        const size_t head = (size_t)(digit - tiny), skip = strspn(digit, "0123456789");
        memcpy(out, tiny, head);
        strcpy(out + head, number);
        strcat(out, digit + skip);
        return out;
    }
    return NULL;
}

static void test_each_number_is_checked(void **state)
{
    static const char *const wrong[] = { "-1", "9999999999999", "1.5", "\"4\"", "null" };
    (void)state;
    char name[32];
    uint32_t n = 0;
    struct npu_config unused;
    for (; changed(n, "1", name); n++) {
        for (uint32_t k = 0; k < BT_COUNT(wrong); k++) {
            const char *text = changed(n, wrong[k], name);
            assert_error(npu_config_parse(ctx, "f", text, strlen(text), &unused),
                         BT_ERR_FORMAT, name);
        }
    }
    assert_int_equal(n, 19);
}

static void parse_is(const char *text, const char *part)
{
    struct npu_config unused;
    assert_error(npu_config_parse(ctx, "f.json", text, strlen(text), &unused),
                 BT_ERR_FORMAT, part);
}

/* `tiny` with a part replaced. */
static const char *with(const char *old, const char *new)
{
    static char out[sizeof(tiny) + 64];
    const char *at = strstr(tiny, old);
    assert_non_null(at);
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - tiny), tiny, new, at + strlen(old));
    return out;
}

static void test_fields_are_known_and_there(void **state)
{
    (void)state;
    parse_is("", "f.json: line 1");
    parse_is("[]", "the document: expected an object");
    parse_is("{ \"format\": 1 }", "dram: expected an object");
    parse_is(with("\"mhz\"", "\"ghz\""), "ghz: there is no such field");
    parse_is(with("\"mhz\": 100,", ""),
             "mhz: expected an integer from 1 to 100000, found");
    parse_is(with("\"mhz\": 100", "\"mhz\": 100, \"mhz\": 100"), "duplicate");
    parse_is(with("\"dispatch\"", "\"despatch\""),
             "cycles.despatch: there is no such field; did you mean dispatch?");
    parse_is(with("true", "1"), "multiplier: expected true or false");
    parse_is(with("\"format\": 1", "\"format\": 2"), "format: expected 1");
}

static void test_sizes_fit_each_other(void **state)
{
    (void)state;
    parse_is(with("\"wgt\": 1024", "\"wgt\": 1040"), "scratch.wgt: expected from 1 to");
    parse_is(with("\"uop\": 1024", "\"uop\": 1048576"),
             "scratch.uop: expected from 1 to");
    parse_is(with("\"distance\": 3", "\"distance\": 5"),
             "cycles.distance: expected no more");
    parse_is(with("[8, 4, 2]", "[8, 3]"), "weight_bits: expected a list of 8, 4 and 2");
    parse_is(with("[8, 4, 2]", "[]"), "weight_bits: expected a list of widths");
    parse_is(with("[8, 4, 2]", "8"), "weight_bits: expected a list of widths");
    parse_is(with("\"in\": 4, \"out\": 8", "\"in\": 3, \"out\": 1"), "no whole bytes");
}

static void test_a_file_is_read(void **state)
{
    (void)state;
    struct npu_config c;
    assert_ok(ctx, npu_config_read(ctx, TEST_CONFIGS "/multi.json", &c));
    assert_int_equal(c.batch, 4);
    assert_error(npu_config_read(ctx, TEST_CONFIGS "/none.json", &c), BT_ERR_IO,
                 "opened");
}

/* A verified run of all that allocates. */
static int body(const bt_allocator *allocator)
{
    bt_registry *r = failing_registry(allocator);
    bt_ctx *c = r ? bt_ctx_create(r) : NULL;
    uint8_t bytes[NPU_NBYTES] = { NPU_FINISH };
    struct npu_buffers none = { 0 };
    struct npu_stream s;
    struct npu_config tiny_config;
    struct npu_machine *m = NULL;
    int ok = c && ok_or_no_memory(
                      npu_config_parse(c, "f", tiny, sizeof(tiny) - 1, &tiny_config));
    ok = ok && ok_or_no_memory(npu_machine_create(c, &tiny_config, &m));
    ok =
        ok && ok_or_no_memory(npu_decode(c, bt_ctx_scratch(c), bytes, sizeof(bytes), &s));
    ok = ok && ok_or_no_memory(npu_check(c, &tiny_config, &none, &s));
    ok = ok && ok_or_no_memory(npu_simulate(c, m, &none, &s, &times));
    npu_machine_destroy(m);
    bt_ctx_destroy(c);
    bt_registry_unref(r);
    return ok;
}

static void test_lack_of_memory_is_an_error(void **state)
{
    (void)state;
    fail_each_allocation(body);
}

static const struct CMUnitTest tests[] = {
    TEST(test_built_in_machines_have_256_products),
    TEST(test_each_number_is_checked),
    TEST(test_fields_are_known_and_there),
    TEST(test_sizes_fit_each_other),
    TEST(test_a_file_is_read),
    TEST(test_lack_of_memory_is_an_error),
};

TEST_MAIN(tests)
