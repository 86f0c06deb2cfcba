/* Kernels as bytes: what is written is read, and any other bytes are an error or a kernel that stays
 * within its buffers. */
#include "launch.h"

#include "kit.h"

enum { NCODE = 5, NDRAW = 1500, GUARD = 64, MAX_NBYTES = 1 << 22 };

static struct npu_device *device;

/* A convolution of 24 channels to 20, 3 x 3 taps, of 9 x 9 places; what is added, a shift. */
static struct npu_layer layer_of(void)
{
    const struct npu_window window = {
        .in = 9, .out = 9, .taps = 3, .stride = 1, .dilation = 1, .before = 1
    };
    struct npu_layer l;
    memset(&l, 0, sizeof(l));
    l.kind = NPU_PRODUCTS;
    l.batch = 1;
    l.in = 24;
    l.out = 20;
    l.groups = 1;
    l.rows = l.columns = window;
    l.weight_bits = 8;
    l.npost_op = 1;
    l.post_ops[0].requantizes = 1;
    l.post_ops[0].requantize = (struct npu_requantize){ -128, 127, 0 };
    return l;
}

static struct npu_code stream_code(const struct npu_plan *plan)
{
    struct npu_code code = { .kind = NPU_CODE_STREAM, .nbuffer = 4, .nin = 3 };
    uint8_t *bytes = BT_NEWS(arena, uint8_t, (size_t)plan->stream.n * NPU_NBYTES);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < plan->stream.n; i++)
        npu_encode(&plan->stream.at[i], bytes + (size_t)i * NPU_NBYTES);
    for (uint32_t i = 0; i < NPU_NBUFFER; i++)
        code.map[i] = code.nbuffer;
    code.map[NPU_BUFFER_X] = 0;
    code.map[NPU_BUFFER_WEIGHTS] = 1;
    code.map[NPU_BUFFER_PARAMETERS] = 2;
    code.map[NPU_BUFFER_Y] = 3;
    for (uint32_t i = 0; i < NPU_NBUFFER; i++) {
        if (code.map[i] < code.nbuffer)
            code.nbytes[code.map[i]] = plan->nbytes[i];
    }
    code.stream = bytes;
    code.nstream = (uint64_t)plan->stream.n * NPU_NBYTES;
    code.uops = plan->uops;
    code.nuop = plan->nbytes[NPU_BUFFER_UOPS];
    code.cycles = plan->cycles;
    return code;
}

/* One of each kind, and a move the other way. */
static void make_codes(struct npu_code *codes)
{
    const struct npu_layer l = layer_of();
    struct npu_plan plan;
    assert_ok(ctx, npu_plan(ctx, arena, &device->config, &l, &plan));
    codes[0] = stream_code(&plan);
    codes[1] = (struct npu_code){ .kind = NPU_CODE_MOVE, .nbuffer = 2, .nin = 1 };
    codes[1].move = (struct npu_move){ .nbyte = 1,
                                       .batch = device->config.batch,
                                       .block = device->config.in,
                                       .extents = { 1, 24, 9, 9 },
                                       .strides = { 1944, 81, 9, 1 } };
    codes[1].nbytes[0] = 1944;
    codes[1].nbytes[1] = plan.nbytes[NPU_BUFFER_X];
    codes[2] = codes[1];
    codes[2].move.is_back = 1;
    codes[2].nbytes[0] = plan.nbytes[NPU_BUFFER_X];
    codes[2].nbytes[1] = 1944;
    codes[3] = (struct npu_code){ .kind = NPU_CODE_WEIGHT, .nbuffer = 2, .nin = 1 };
    codes[3].layer = l;
    codes[3].weight = (struct npu_weight){ { 216, 9, 3, 1 } };
    codes[3].nbytes[0] = 20 * 216;
    codes[3].nbytes[1] = plan.nbytes[NPU_BUFFER_WEIGHTS];
    codes[4] = (struct npu_code){ .kind = NPU_CODE_PARAMETERS, .nbuffer = 3, .nin = 2 };
    codes[4].layer = l;
    codes[4].parameters.zero = 3;
    codes[4].parameters.weight = codes[3].weight;
    codes[4].parameters.requantizes[0] = (struct npu_requantize_numbers){
        .number = 7, .shift = 9, .factor = 1, .nvector = 1, .vectors = { { 1, 1 } }
    };
    codes[4].nbytes[0] = 20 * 216;
    codes[4].nbytes[1] = 80;
    codes[4].nbytes[2] = plan.nbytes[NPU_BUFFER_PARAMETERS];
}

static bt_text bytes_of(const struct npu_code *code)
{
    bt_text text;
    bt_text_init(&text, arena);
    assert_ok(ctx, npu_code_write(code, &text));
    return text;
}

static bt_status read_code(const bt_text *text, size_t nbytes, struct npu_code *out)
{
    return npu_code_read(ctx, &device->config, (const uint8_t *)text->at, nbytes, out);
}

static int open_device(void **state)
{
    if (setup(state))
        return -1;
    return npu_device_create(ctx, "multi", 0, &device) ? -1 : 0;
}

static int close_device(void **state)
{
    npu_device_destroy(device);
    return teardown(state);
}

/* ---- as they are ---- */

static void test_code_is_read_as_it_was_written(void **state)
{
    struct npu_code codes[NCODE], again;
    (void)state;
    make_codes(codes);
    for (uint32_t i = 0; i < NCODE; i++) {
        const bt_text first = bytes_of(&codes[i]);
        assert_ok(ctx, read_code(&first, first.len, &again));
        const bt_text second = bytes_of(&again);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.at, second.at, first.len);
    }
}

static void test_code_that_is_cut_or_changed_is_an_error(void **state)
{
    struct npu_code codes[NCODE], again;
    (void)state;
    make_codes(codes);
    for (uint32_t i = 0; i < NCODE; i++) {
        bt_text text = bytes_of(&codes[i]);
        for (size_t n = 0; n < text.len; n += 1 + text.len / 500) {
            assert_int_equal(read_code(&text, n, &again)->code, BT_ERR_FORMAT);
            text.at[n] ^= 4;
            assert_int_equal(read_code(&text, text.len, &again)->code, BT_ERR_FORMAT);
            text.at[n] ^= 4;
            bt_ctx_clear_diags(ctx);
        }
    }
}

/* ---- as somebody else writes them ---- */

/* The checksum as the format states it, by a table of half bytes. */
static void repair(bt_text *text)
{
    uint32_t table[16], crc = UINT32_MAX;
    for (uint32_t i = 0; i < 16; i++) {
        table[i] = i;
        for (int k = 0; k < 4; k++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    for (size_t i = 12; i < text->len; i++) {
        crc ^= (uint8_t)text->at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    for (uint32_t i = 0; i < 4; i++)
        text->at[8 + i] = (char)(~crc >> 8 * i);
}

/* Runs it on buffers with bytes around them, which stay as they are. */
static void run_guarded(const struct npu_code *code)
{
    struct npu_kernel kernel = { .code = *code };
    struct npu_buffer list_of[NPU_MAX_BUFFERS];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < code->nbuffer; i++)
        sum += code->nbytes[i] < MAX_NBYTES ? code->nbytes[i] : MAX_NBYTES;
    if (sum >= MAX_NBYTES)
        return;
    if (code->kind == NPU_CODE_STREAM)
        assert_ok(ctx,
                  npu_decode(ctx, arena, code->stream, code->nstream, &kernel.stream));
    uint8_t *all = calloc(1, (size_t)sum + (code->nbuffer + 1u) * GUARD), *at = all;
    assert_non_null(all);
    for (uint32_t i = 0; i < code->nbuffer; i++) {
        at += GUARD;
        list_of[i] = (struct npu_buffer){ .at = at, .nbytes = (size_t)code->nbytes[i] };
        at += code->nbytes[i];
    }
    bt_status status = npu_kernel_run(ctx, device, &kernel, list_of, NULL);
    (void)status;
    // the result alone may be written
    const uint8_t *result = list_of[code->nbuffer - 1].at;
    for (const uint8_t *b = all; b < result; b++)
        assert_int_equal(*b, 0);
    for (uint32_t k = 0; k < GUARD; k++)
        assert_int_equal(result[code->nbytes[code->nbuffer - 1] + k], 0);
    free(all);
}

static void test_any_code_stays_within_its_buffers(void **state)
{
    struct npu_code codes[NCODE], again;
    uint32_t nread = 0;
    (void)state;
    make_codes(codes);
    for (uint32_t i = 0; i < NCODE; i++) {
        const bt_text good = bytes_of(&codes[i]);
        for (uint32_t k = 0; k < NDRAW; k++) {
            const void *mark = bt_arena_mark(arena);
            bt_text text = { .arena = arena, .len = good.len };
            text.at = (char *)(uintptr_t)bt_arena_text(arena, good.at, good.len);
            assert_non_null(text.at);
            for (uint32_t n = 1 + draw(3); n; n--) {
                const uint32_t place = 12 + draw((uint32_t)text.len - 12);
                text.at[place] =
                    (char)(draw(2) ? draw(256) : (uint8_t)text.at[place] ^ 1u << draw(8));
            }
            repair(&text);
            if (!read_code(&text, text.len, &again)) {
                nread++;
                run_guarded(&again);
            }
            bt_ctx_clear_diags(ctx);
            bt_arena_release(arena, mark);
        }
    }
    assert_true(nread > NDRAW / 4); // else nothing was tried
}

#define TEST_DEVICE(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
static const struct CMUnitTest tests[] = {
    TEST_DEVICE(test_code_is_read_as_it_was_written),
    TEST_DEVICE(test_code_that_is_cut_or_changed_is_an_error),
    TEST_DEVICE(test_any_code_stays_within_its_buffers),
};
TEST_MAIN(tests)
