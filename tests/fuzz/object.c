/* Relocatable objects: whatever is accepted is mapped whole. Nothing of it is run. */
#include <baton/compiler.h>

#include "fuzz.h"

static const int64_t value = 1;

static void function(void) {}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static const bt_symbol symbols[] = {
        { "twice", function, NULL },
        { "offset", NULL, &value },
        { 0 },
    };
    const bt_code_object objects[] = { { "a.o", bytes, nbytes },
                                       { "b.o", bytes, nbytes } };
    bt_ctx *ctx = fuzz_begin();
    bt_code *code;
    for (uint32_t n = 1; n <= 2; n++) { // the second time most names are defined twice
        bt_status status = bt_code_load(ctx, n, objects, symbols, &code);
        fuzz_check_status(ctx, status);
        if (status)
            continue;
        (void)bt_code_find(code, "call");
        bt_code_unload(code);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
