/*
 * Target opencl's bytes: the code of kernels, and programs that were built, as the cache has them.
 * The first byte says which:
 *
 *     0    code as it is                 any bytes are an error or code all of whose fields fit
 *     1    code, its digest put right    so that what is behind it is read
 *     2    a file of the cache           what was not written by it is not given
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/compiler.h>

#include "code.h"
#include "fuzz.h"

enum { DIGEST_NCHAR = 64, ROOM = 1 << 16 };
static const char code_head[] = "baton opencl 1 ", file_head[] = "baton object 1 ";

static void check_number(const ocl_number *number, uint32_t ndim)
{
    static const int64_t values[] = { 0, 1, -1, 7, INT64_MAX, INT64_MIN };
    int64_t dims[64];
    FUZZ_CHECK(!number->n || ocl_number_is_valid(number, ndim));
    for (uint32_t i = 0; number->n && ndim <= BT_COUNT(dims) && i < BT_COUNT(values);
         i++) {
        for (uint32_t k = 0; k < ndim; k++)
            dims[k] = values[(i + k) % BT_COUNT(values)];
        (void)ocl_number_value(number, dims);
    }
}

static void check_code(bt_ctx *ctx, const struct ocl_code *code)
{
    bt_kernel_code bytes;
    FUZZ_CHECK(code->name);
    for (uint32_t i = 0; i < code->program.nlaunch; i++) {
        const ocl_launch *launch = &code->program.launches[i];
        FUZZ_CHECK(launch->product ? !launch->text : launch->text && launch->text[0]);
        for (uint32_t k = 0; k < launch->narg; k++) {
            check_number(&launch->args[k].number, code->ndim);
            FUZZ_CHECK(launch->args[k].kind != OCL_ARG_BUFFER ||
                       launch->args[k].index < code->nbuffer);
        }
        for (uint32_t k = 0; k < 3; k++) {
            FUZZ_CHECK(launch->groups[k].n && launch->local[k]);
            check_number(&launch->groups[k], code->ndim);
        }
    }
    bt_status status = ocl_code_write(ctx, bt_ctx_scratch(ctx), code, &bytes);
    fuzz_check_status(ctx, status);
    FUZZ_CHECK(!status);
}

static void use_code(bt_ctx *ctx, const uint8_t *bytes, size_t nbytes)
{
    struct ocl_code code;
    bt_status status = ocl_code_read(ctx, bt_ctx_scratch(ctx), bytes, nbytes, &code);
    fuzz_check_status(ctx, status);
    if (!status)
        check_code(ctx, &code);
}

/* With a head and the digest of what is behind it. */
static size_t sign(const uint8_t *bytes, size_t nbytes, uint8_t *out)
{
    const size_t n = strlen(code_head);
    char digest[DIGEST_NCHAR + 1];
    bt_digest(bytes, nbytes, digest);
    memcpy(out, code_head, n);
    memcpy(out + n, digest, DIGEST_NCHAR);
    out[n + DIGEST_NCHAR] = '\n';
    memcpy(out + n + DIGEST_NCHAR + 1, bytes, nbytes);
    return n + DIGEST_NCHAR + 1 + nbytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t nbytes)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_CHECK(file >= 0 && write(file, bytes, nbytes) == (ssize_t)nbytes);
    close(file);
}

static void use_file(bt_ctx *ctx, const uint8_t *bytes, size_t nbytes)
{
    static const char name[] =
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    char folder[] = "/tmp/baton-fuzz-XXXXXX", path[128], digest[DIGEST_NCHAR + 1] = "";
    const size_t head = strlen(file_head) + DIGEST_NCHAR + 1;
    bt_text object;
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_file(path, bytes, nbytes);
    bt_cache *cache = bt_cache_open(ctx, bt_ctx_scratch(ctx), folder, 1 << 20);
    FUZZ_CHECK(cache);
    bt_text_init(&object, bt_ctx_scratch(ctx));
    if (bt_cache_get(cache, name, &object)) {
        FUZZ_CHECK(nbytes >= head && object.len == nbytes - head);
        bt_digest(bytes + head, nbytes - head, digest);
        FUZZ_CHECK(!memcmp(bytes, file_head, strlen(file_head)) &&
                   !memcmp(bytes + strlen(file_head), digest, DIGEST_NCHAR) &&
                   !memcmp(bytes + head, bt_text_get(&object), object.len));
    }
    FUZZ_CHECK(!unlink(path) && !rmdir(folder));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static uint8_t signed_bytes[ROOM + 128];
    if (!nbytes || nbytes > ROOM)
        return 0;
    bt_ctx *ctx = fuzz_begin();
    switch (bytes[0] % 3) {
    case 0: use_code(ctx, bytes + 1, nbytes - 1); break;
    case 1: use_code(ctx, signed_bytes, sign(bytes + 1, nbytes - 1, signed_bytes)); break;
    default: use_file(ctx, bytes + 1, nbytes - 1);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
