/* Every case that an operator states is typed and computed, and type and result agree. */
#include "kit.h"

typedef struct cases_state {
    kit *k;
    const bt_value *args[MAX_ARG];
    const bt_type *types[MAX_ARG];
    bt_tensor *leaves[MAX_LEAF];
    uint32_t narg, nleaf;
    uint64_t seed;
} cases_state;

/* In 0..1; the same sequence on every run. source: Steele, Lea, Flood 2014, SplitMix64 */
static double uniform(cases_state *s)
{
    uint64_t z = s->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* float32[2, 3] = lo..hi, the range may be missing. */
static const bt_value *read_random(cases_state *s, const char **text)
{
    bt_tensor *t;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank = 0;
    const char *at = *text, *bracket = strchr(at, '[');
    assert_non_null(bracket);
    bt_dtype dtype = bt_dtype_parse(at, (size_t)(bracket - at));
    assert_int_not_equal(dtype, 0);
    for (at = bracket + 1; *at != ']'; at += strspn(at, ", ")) {
        char *end;
        dims[rank++] = strtoll(at, &end, 10);
        at = end;
    }
    at++;
    uint32_t class_bit = 1u << BT_DTYPE_CLASS(dtype);
    int is_float = (class_bit & BT_CLASS_BITS_FLOAT) != 0;
    double low = dtype == BT_BOOL || class_bit & BT_CLASS_BITS_BOOL ? 0 : -2, high = 2;
    low = BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT ? 0 : low;
    high = dtype == BT_BOOL ? 1 : high;
    if (strncmp(at, " = ", 3) == 0) {
        // a number would take the first dot for its own
        char number[32] = { 0 }, *end;
        const char *dots = strstr(at, "..");
        assert_non_null(dots);
        assert_true((size_t)(dots - at) < sizeof number);
        memcpy(number, at + 3, (size_t)(dots - at - 3));
        low = strtod(number, NULL);
        high = strtod(dots + 2, &end);
        at = end;
    }
    assert_ok(s->k->ctx, bt_tensor_create(s->k->ctx, dtype, rank, dims, &t));
    for (int64_t i = 0; i < t->nelem; i++) {
        double u = uniform(s);
        if (is_float)
            bt_tensor_set(t, i, low + u * (high - low));
        else
            bt_tensor_set_int(t, i, (int64_t)low + (int64_t)(u * (high - low + 1)));
    }
    *text = at;
    assert_true(s->nleaf < MAX_LEAF);
    s->leaves[s->nleaf++] = t;
    return const_of(s->k, t);
}

static void read_args(cases_state *s, const char *text, const char *end)
{
    while (text < end && *text != '|') {
        const bt_value *fields[MAX_LEAF], *value;
        uint32_t n = 0;
        if (*text == ' ') {
            text++;
            continue;
        }
        if (*text == '(') {
            for (text++; *text != ')'; text += strspn(text, ", "))
                fields[n++] = read_random(s, &text);
            text++;
            assert_ok(s->k->ctx, bt_build_tuple(s->k->b, n, fields, &value));
        } else {
            value = read_random(s, &text);
        }
        assert_true(s->narg < MAX_ARG);
        s->types[s->narg] = value->type;
        s->args[s->narg++] = value;
        text += strspn(text, ", ");
    }
}

static void run_case(kit *k, const char *op, const char *line, size_t nbytes)
{
    cases_state s = { .k = k, .seed = 1 };
    char text[512], *attrs;
    const bt_value *value;
    const bt_block *block;
    bt_compute *compute;
    bt_tensor *out[MAX_LEAF] = { NULL };
    assert_true(nbytes < sizeof text);
    memcpy(text, line, nbytes);
    text[nbytes] = '\0';
    attrs = strstr(text, "| ");
    assert_ok(k->ctx, bt_builder_create(k->ctx, k->store, NULL, &k->b));
    assert_ok(k->ctx, bt_block_begin(k->b, 0, NULL));
    read_args(&s, text, attrs ? attrs : text + nbytes);
    call_row row = { .op = op, .attrs = attrs ? attrs + 2 : NULL };
    bt_status status = bt_build(k->b, op, row.attrs, s.args, s.narg, &value);
    if (status)
        print_error("%s: case \"%s\"\n", op, text);
    assert_ok(k->ctx, status);
    assert_ok(k->ctx, bt_block_end(k->b, value, &block));
    bt_formula_call formula = { .op = bt_as_call(value)->op,
                                .attrs = bt_as_call(value)->attrs,
                                .narg = s.narg,
                                .args = s.types,
                                .result = value->type };
    status = bt_compute_create(k->ctx, &formula, &compute);
    if (!status)
        status = bt_compute_run(k->ctx, compute, s.nleaf,
                                (const bt_tensor *const *)s.leaves, out);
    if (status)
        print_error("%s: case \"%s\"\n", op, text);
    assert_ok(k->ctx, status);
    for (uint32_t i = 0; i < bt_compute_nout(compute); i++) {
        check_type(k, &row, leaf_type(value->type, i), out[i]);
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; i < s.nleaf; i++)
        bt_tensor_unref(s.leaves[i]);
    bt_compute_destroy(compute);
    bt_builder_destroy(k->b);
    k->b = NULL;
}

static void test_every_stated_case_is_typed_and_computed(void **state)
{
    kit *k = *state;
    uint32_t ncase = 0;
    assert_ok(k->ctx, bt_plugins_scan(k->ctx));
    for (uint32_t i = 0; i < bt_provided_len(k->ctx, "op"); i++) {
        bt_provided item;
        const bt_op *op;
        const void *facet;
        assert_ok(k->ctx, bt_provided_at(k->ctx, "op", i, &item));
        if (strcmp(bt_plugin_id(item.plugin), "baton.ops.tensor") != 0)
            continue;
        assert_ok(k->ctx, bt_op_get(k->ctx, item.name, &op));
        assert_ok(k->ctx, bt_op_facet(k->ctx, op, "cases", &facet));
        if (!facet)
            fail_msg("%s states no cases", item.name);
        const char *line = ((const bt_cases_facet *)facet)->text;
        for (const char *end; *line; line = end + (*end != '\0'), ncase++) {
            end = line + strcspn(line, "\n");
            run_case(k, item.name, line, (size_t)(end - line));
        }
    }
    assert_true(ncase > 500);
}

static const struct CMUnitTest tests[] = {
    TEST(test_every_stated_case_is_typed_and_computed),
};
TEST_MAIN(tests)
