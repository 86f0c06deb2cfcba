/*
 * Code of target cpu, whose digest is made to fit: whatever is accepted is read whole, and
 * its bytecode stays within its registers and its words. Nothing of it is launched, as
 * addresses in it are trusted.
 */
#include <string.h>

#include "bytecode_head.h"
#include "engine/code.h"
#include "engine/launch.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    char *code = malloc(BYTECODE_HEAD + nbytes), digest[65];
    struct cpu_loaded *loaded;
    bt_text text;
    FUZZ_CHECK(code);
    memcpy(code, "batoncpu", 8);
    bt_digest(bytes, nbytes, digest);
    memcpy(code + 8, digest, 64);
    if (nbytes)
        memcpy(code + BYTECODE_HEAD, bytes, nbytes);
    const bt_kernel_code kernel = { .form = BT_CODE_BYTES,
                                    .own = code,
                                    .own_nbytes = BYTECODE_HEAD + nbytes };
    bt_status status = cpu_loaded_create(ctx, NULL, 0, 1,
                                         (const bt_kernel_code *[]){ &kernel }, &loaded);
    fuzz_check_status(ctx, status);
    if (!status) {
        bt_text_init(&text, bt_ctx_scratch(ctx));
        cpu_loaded_describe(loaded, &text);
        FUZZ_CHECK(bt_text_get(&text));
        cpu_loaded_destroy(loaded);
    }
    free(code);
    bt_ctx_destroy(ctx);
    return 0;
}
