/* Messages of a compiler: whatever it says becomes one status. The input is a text, a NUL,
 * and what is said of it. */
#include <string.h>

#include <baton/compiler.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    const uint8_t *end = nbytes ? memchr(bytes, 0, nbytes) : NULL;
    size_t ntext = end ? (size_t)(end - bytes) : 0;
    size_t nmessage = end ? nbytes - ntext - 1 : nbytes;
    char *text = malloc(ntext + 1), *messages = malloc(nmessage + 1);
    bt_ctx *ctx = fuzz_begin();
    FUZZ_CHECK(text && messages);
    if (nbytes > 0) {
        memcpy(text, bytes, ntext);
        memcpy(messages, bytes + nbytes - nmessage, nmessage);
    }
    messages[nmessage] = 0;
    const bt_c_source source = { .name = "a.c", .text = text, .nbytes = ntext };
    bt_status status = bt_c_errors(ctx, "cc", &source, messages);
    FUZZ_CHECK(status);
    fuzz_check_status(ctx, status);
    bt_ctx_destroy(ctx);
    free(text);
    free(messages);
    return 0;
}
