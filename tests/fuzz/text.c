/* Text: whatever is accepted prints, and what is printed reads back as itself. */
#include <string.h>

#include <baton/op.h>

#include "fuzz.h"

static const char *print(bt_ctx *ctx, const bt_module *module, uint32_t spans,
                         bt_text *out)
{
    bt_text_init(out, bt_ctx_scratch(ctx));
    FUZZ_CHECK(!bt_print(ctx, module, &(bt_print_options){ .spans = spans }, out));
    return bt_text_get(out);
}

static void read_back(bt_ctx *ctx, const bt_module *module, uint32_t spans)
{
    bt_text first, second;
    bt_module *again = NULL;
    print(ctx, module, spans, &first);
    bt_status status = bt_parse(ctx, "printed", NULL, first.at, first.len, &again);
    // Printing writes types out that the input left to be understood.
    if (status && status->code == BT_ERR_LIMIT)
        return;
    if (status) {
        fuzz_check_status(ctx, status);
        fprintf(stderr, "%s\n%s\n", first.at, status->message);
    }
    FUZZ_CHECK(!status);
    print(ctx, again, spans, &second);
    if (strcmp(first.at, second.at) != 0)
        fprintf(stderr, "%s\n%s\n", first.at, second.at);
    FUZZ_CHECK(strcmp(first.at, second.at) == 0);
    FUZZ_CHECK(module->is_typed == again->is_typed);
    FUZZ_CHECK(bt_module_equal(module, again));
    bt_module_unref(again);
}

static void use_type(bt_ctx *ctx, const char *text)
{
    bt_store *store = bt_store_create(bt_ctx_registry(ctx));
    FUZZ_CHECK(store);
    const bt_type *type, *again;
    bt_text printed;
    bt_status status = bt_parse_type(ctx, store, text, &type);
    fuzz_check_status(ctx, status);
    if (!status) {
        bt_text_init(&printed, bt_ctx_scratch(ctx));
        bt_print_type(ctx, type, &printed);
        status = bt_parse_type(ctx, store, bt_text_get(&printed), &again);
        FUZZ_CHECK(!status || status->code == BT_ERR_LIMIT);
        FUZZ_CHECK(status || type == again);
    }
    bt_store_unref(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    bt_module *module = NULL;
    bt_status status = bt_parse(ctx, "input", NULL, (const char *)bytes, nbytes, &module);
    fuzz_check_status(ctx, status);
    FUZZ_CHECK((status == NULL) == (bt_ctx_nreport(ctx) == 0));
    if (!status) {
        read_back(ctx, module, 0);
        read_back(ctx, module, 1);
        bt_module_unref(module);
    } else if (nbytes < 200 && !memchr(bytes, 0, nbytes)) {
        char text[200] = { 0 };
        memcpy(text, bytes, nbytes);
        use_type(ctx, text);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
