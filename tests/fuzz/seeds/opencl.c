/* Code and a file of the cache to fuzz from: seeds/opencl FOLDER. */
#include <stdio.h>
#include <string.h>

#include <baton/compiler.h>

#include "code.h"

static int write_bytes(const char *folder, const char *name, uint8_t kind,
                       const void *bytes, size_t nbytes)
{
    char path[1000];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    int ok =
        file && fputc(kind, file) == kind && fwrite(bytes, 1, nbytes, file) == nbytes;
    return file && fclose(file) == 0 && ok;
}

int main(int argc, char **argv)
{
    const ocl_step steps[] = { { OCL_STEP_DIM, 1, 0 },
                               { OCL_STEP_NUMBER, 0, 64 },
                               { OCL_STEP_SCALAR, BT_SCALAR_CEILDIV, 2 } };
    const ocl_number one = { 1, steps + 1 }, groups = { 3, steps };
    const ocl_arg args[] = { { OCL_ARG_BUFFER, 1, { 0, NULL } },
                             { OCL_ARG_WORKSPACE, 0, one },
                             { OCL_ARG_FAULT, 0, { 0, NULL } },
                             { OCL_ARG_INT, 0, groups },
                             { OCL_ARG_LONG, 0, one } };
    const ocl_product product = { .batch = 2,
                                  .m = 5,
                                  .n = 7,
                                  .k = 20,
                                  .a = { 0, 20, 100 },
                                  .b = { 1, 20, 140 },
                                  .c = { 0, 7, 35 } };
    const ocl_arg matrices[] = { args[0], args[1], args[0] };
    const ocl_launch launches[] = {
        { .text = "__kernel void NAME(int n) {}",
          .narg = 5,
          .args = args,
          .local = { 64, 1, 1 },
          .groups = { groups, one, one },
          .local_nbytes = 128 },
        { .product = &product,
          .narg = 3,
          .args = matrices,
          .local = { 1, 1, 1 },
          .groups = { one, one, one } },
    };
    const bt_fault faults[] = { { .text = "no" },
                                { .array = "x", .axis = 1, .extent = 7 } };
    const struct ocl_code code = { "kernel", 2, 3, { 2, launches, 2, faults } };
    bt_registry *registry = bt_registry_create(NULL);
    bt_ctx *ctx = bt_ctx_create(registry);
    bt_arena *arena = bt_ctx_scratch(ctx);
    bt_kernel_code bytes;
    char digest[65];
    bt_text file;
    if (argc != 2 || ocl_code_write(ctx, arena, &code, &bytes))
        return 1;
    const size_t head = strlen("baton opencl 1 ") + 64 + 1;
    bt_text_init(&file, arena);
    bt_digest("a program", 9, digest);
    bt_text_addf(&file, "baton object 1 %s\na program", digest);
    const int ok = write_bytes(argv[1], "code", 0, bytes.at, bytes.nbytes) &&
                   write_bytes(argv[1], "behind", 1, (const char *)bytes.at + head,
                               bytes.nbytes - head) &&
                   write_bytes(argv[1], "file", 2, bt_text_get(&file), file.len);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return !ok;
}
