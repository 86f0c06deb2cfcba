/* npy and npz: whatever is accepted writes and reads back as itself. */
#include <string.h>

#include <baton/value.h>

#include "fuzz.h"

static void check_same(const bt_tensor *a, const bt_tensor *b)
{
    FUZZ_CHECK(a->dtype == b->dtype && a->rank == b->rank);
    for (uint32_t i = 0; i < a->rank; i++)
        FUZZ_CHECK(a->dims[i] == b->dims[i]);
    FUZZ_CHECK(a->nelem == 0 || memcmp(a->data, b->data, bt_tensor_nbytes(a)) == 0);
}

static void use_tensor(bt_ctx *ctx, const bt_tensor *t)
{
    bt_text text;
    bt_tensor *back, *cast;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    FUZZ_CHECK(bt_tensor_is_dense(t));
    FUZZ_CHECK(!bt_npy_write(ctx, t, &text));
    FUZZ_CHECK(!bt_npy_read(ctx, "back", text.at, text.len, &back));
    check_same(t, back);
    bt_tensor_unref(back);
    bt_object_print(&t->base, 20, &text);
    bt_status status = bt_tensor_cast(ctx, t, BT_INT8, &cast);
    fuzz_check_status(ctx, status);
    if (!status)
        bt_tensor_unref(cast);
}

static void use_archive(bt_ctx *ctx, const bt_npz *npz)
{
    bt_text text;
    bt_npz *back;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    FUZZ_CHECK(!bt_npz_write(ctx, npz->len, npz->at, &text));
    FUZZ_CHECK(!bt_npz_read(ctx, "back", text.at, text.len, &back));
    FUZZ_CHECK(npz->len == back->len);
    for (uint32_t i = 0; i < npz->len; i++) {
        FUZZ_CHECK(strcmp(npz->at[i].name, back->at[i].name) == 0);
        check_same(npz->at[i].tensor, back->at[i].tensor);
    }
    bt_npz_destroy(ctx, back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    bt_tensor *t;
    bt_npz *npz;
    bt_status status = bt_npy_read(ctx, "x.npy", bytes, nbytes, &t);
    fuzz_check_status(ctx, status);
    if (!status) {
        use_tensor(ctx, t);
        bt_tensor_unref(t);
    }
    status = bt_npz_read(ctx, "x.npz", bytes, nbytes, &npz);
    fuzz_check_status(ctx, status);
    if (!status) {
        use_archive(ctx, npz);
        bt_npz_destroy(ctx, npz);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
