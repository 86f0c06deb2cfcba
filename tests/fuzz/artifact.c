/* Artifacts: the bytes as they are, and with header and checksums that fit them, so that
 * what stands behind these is reached. What is accepted is whole; code of target
 * `reference`, which is text, is loaded too. Nothing is run. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <baton/artifact.h>

#include "artifact_file.h"
#include "fuzz.h"

static void check_artifact(bt_ctx *ctx, const bt_artifact *a)
{
    bt_compiled *compiled;
    FUZZ_CHECK(a->ntarget > 0 && a->entry && a->provenance);
    FUZZ_CHECK(bt_module_find(a->module, a->entry));
    for (uint32_t i = 0; i < a->nsection; i++)
        FUZZ_CHECK(a->sections[i].offset + a->sections[i].nbytes <= a->nbytes);
    for (uint32_t i = 0; i < a->nkernel; i++)
        FUZZ_CHECK(a->kernels[i]->target < a->ntarget && a->kernels[i]->func < a->nfunc);
    bt_status status = bt_verify(ctx, a->module);
    fuzz_check_status(ctx, status);
    FUZZ_CHECK(!status);
    if (a->ntarget != 1 || strcmp(a->targets[0].text, "reference") != 0)
        return;
    status = bt_artifact_load(ctx, a, NULL, &compiled);
    fuzz_check_status(ctx, status);
    if (!status)
        bt_compiled_unref(compiled);
}

static void try_file(bt_ctx *ctx, const char *path)
{
    bt_artifact *a;
    bt_status status = bt_artifact_read(ctx, path, &a);
    fuzz_check_status(ctx, status);
    if (status)
        return;
    check_artifact(ctx, a);
    bt_artifact_close(a);
}

static void try_bytes(bt_registry *r, int fd, const uint8_t *bytes, size_t nbytes)
{
    char path[64];
    bt_ctx *ctx = fuzz_context(r);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    FUZZ_CHECK(ftruncate(fd, 0) == 0);
    FUZZ_CHECK(pwrite(fd, bytes, nbytes, 0) == (ssize_t)nbytes);
    (void)bt_artifact_is(path);
    try_file(ctx, path);
    bt_ctx_destroy(ctx);
}

/* Files get magic, version, sizes and checksums; the table stays as it is. */
static void mend(struct bytes *b)
{
    struct bt__artifact_head *head = head_of(b);
    memcpy(head->magic, BT__ARTIFACT_MAGIC, sizeof(head->magic));
    head->order = BT__ARTIFACT_ORDER;
    head->version = BT__ARTIFACT_VERSION;
    head->nsection = BT__SECTION_COUNT - 1;
    head->nbytes = b->n;
    seal(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    static bt_registry *r; // operators take long to list
    static int fd = -1;
    if (!r) {
        r = fuzz_registry(FUZZ_PLUGINS);
        fd = memfd_create("artifact", 0);
        FUZZ_CHECK(fd >= 0);
    }
    try_bytes(r, fd, bytes, nbytes);
    if (nbytes < sizeof(struct bt__artifact_head) +
                     (BT__SECTION_COUNT - 1) * sizeof(struct bt__artifact_row))
        return 0;
    struct bytes copy = { malloc(nbytes), nbytes };
    FUZZ_CHECK(copy.at);
    memcpy(copy.at, bytes, nbytes);
    mend(&copy);
    try_bytes(r, fd, copy.at, copy.n);
    free(copy.at);
    return 0;
}
