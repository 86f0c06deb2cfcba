/* A program whose artifacts are tested, and the file that they are written to. */
#ifndef ARTIFACT_PROGRAM_H
#define ARTIFACT_PROGRAM_H

#include "artifact_file.h"
#include "programs.h"

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

static inline int setup(void **state)
{
    (void)state;
    unsetenv("PANELS_MACHINE");
    ctx = open_targets(NULL);
    snprintf(path, sizeof(path), TEST_FOLDER "/artifact.%d", (int)getpid());
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    unlink(path);
    bt_ctx_destroy(ctx);
    return 0;
}

/* ---- helpers ---- */

static inline bt_compiled *compiled_for(const char *target)
{
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, program, target, &c));
    return c;
}

static inline struct bytes written_for(const char *target)
{
    bt_compiled *c = compiled_for(target);
    assert_ok(ctx, bt_artifact_write(ctx, c, 0x1234, path));
    bt_compiled_unref(c);
    struct bytes b = read_bytes(path);
    assert_true(b.n > 0);
    return b;
}

static inline void write_bytes(const struct bytes *b)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->at, 1, b->n, file), b->n);
    assert_int_equal(fclose(file), 0);
}

/* Reads these bytes as an artifact, and forgets what came of it. */
static inline bt_status read_again(const struct bytes *b)
{
    bt_artifact *a;
    write_bytes(b);
    bt_ctx_clear_diags(ctx);
    bt_status status = bt_artifact_read(ctx, path, &a);
    if (!status)
        bt_artifact_close(a);
    return status;
}

static inline void check_code(const struct bytes *b, uint32_t code, const char *part)
{
    bt_status status = read_again(b);
    assert_error(status, code, part);
    assert_string_equal(status->place.file, path);
}

static inline bt_tensor *result_of(bt_compiled *c)
{
    bt_tensor *x = numbers(ctx, 2, 9);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    bt_tensor_unref(x);
    return (bt_tensor *)(void *)y;
}

static inline void check_same(bt_compiled *c, bt_compiled *d)
{
    bt_tensor_difference difference;
    bt_tensor *y = result_of(c), *z = result_of(d);
    assert_ok(ctx, bt_tensor_compare(ctx, y, z, 0, 0, &difference));
    assert_int_equal(difference.ndifferent, 0);
    bt_tensor_unref(y);
    bt_tensor_unref(z);
}

#endif
