/*
 * npu_examples FOLDER CORPUS: writes streams with their tensors (FOLDER/dense.npu, 0.npy ..., y.npy),
 * for npu_stream, and what the fuzz target npu starts from.
 */
#include <baton/value.h>

#include "kit.h"
#include "layers.h"

static uint8_t *encode(size_t *nbytes)
{
    *nbytes = stream.n * (size_t)NPU_NBYTES;
    uint8_t *bytes = BT_NEWS(arena, uint8_t, *nbytes);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < stream.n; i++)
        npu_encode(&list[i], bytes + (size_t)i * NPU_NBYTES);
    return bytes;
}

static const char *path(const char *folder, const char *name)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s/%s", folder, name);
    assert_non_null(bt_text_get(&text));
    return bt_text_get(&text);
}

static void write_tensor(const char *folder, const char *name, uint32_t buffer)
{
    bt_tensor *t;
    bt_text text;
    const int64_t n = (int64_t)buffer_list[buffer].nbytes;
    bt_text_init(&text, arena);
    assert_ok(ctx, bt_tensor_create(ctx, BT_UINT8, 1, &n, &t));
    memcpy(t->data, buffer_list[buffer].at, (size_t)n);
    assert_ok(ctx, bt_npy_write(ctx, t, &text));
    assert_ok(ctx, bt_file_write(ctx, path(folder, name), text.at, text.len));
    bt_tensor_unref(t);
}

/* A layer on machine single; y.npy is what it must leave in buffer 2. */
static void write_dense(const char *folder)
{
    size_t nbytes;
    use("single");
    const struct dense d = dense_of(4, 6, 8);
    dense_emit(&d);
    const uint8_t *bytes = encode(&nbytes);
    assert_ok(ctx, bt_file_write(ctx, path(folder, "dense.npu"), bytes, nbytes));
    for (uint32_t i = 0; i < buffers.n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%u.npy", i);
        write_tensor(folder, name, i);
    }
    run_all();
    dense_compare(&d);
    write_tensor(folder, "y.npy", d.y);
}

/* A byte for the machine, what constant buffers begin with, the stream (tests/fuzz/npu.c). */
static void write_seed(const char *folder, const char *name, uint8_t machine,
                       uint32_t uops)
{
    size_t nbytes;
    const uint8_t *bytes = encode(&nbytes);
    uint8_t *all = BT_NEWS(arena, uint8_t, 513 + nbytes);
    assert_non_null(all);
    all[0] = machine;
    memcpy(all + 1, buffer_list[uops].at, buffer_list[uops].nbytes);
    memcpy(all + 513, bytes, nbytes);
    assert_ok(ctx, bt_file_write(ctx, path(folder, name), all, 513 + nbytes));
}

static void write_seeds(const char *folder)
{
    for (uint8_t machine = 0; machine < 3; machine++) {
        char name[16];
        use(machine == 0 ? "tiny" : machine == 1 ? "single" : "multi");
        const struct dense d = dense_of(1, 2, machine ? 2 : 8);
        dense_emit(&d);
        snprintf(name, sizeof(name), "dense%u", machine);
        write_seed(folder, name, machine, 4);
    }
    use("tiny");
    const struct conv c = conv_of(2, 3, 3);
    conv_emit(&c);
    write_seed(folder, "conv", 0, 3);
    assert_ok(ctx, bt_file_write(ctx, path(folder, "config"), tiny, sizeof(tiny) - 1));
}

int main(int argc, char **argv)
{
    if (argc != 3 || setup(NULL)) {
        fprintf(stderr, "usage: npu_examples FOLDER CORPUS\n");
        return 2;
    }
    write_dense(argv[1]);
    write_seeds(argv[2]);
    return teardown(NULL);
}
