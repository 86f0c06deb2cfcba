/* Pipelines, as JSON and as a line: the flat form of what is accepted reads back to
 * itself. */
#define _GNU_SOURCE // memfd_create
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <baton/pass.h>

#include "fuzz.h"

#if defined(__x86_64__)
#define ARCH "x86_64"
#else
#define ARCH "aarch64"
#endif

/* Passes to name: none is ever opened. */
static const char manifest[] =
    "{\"id\":\"f\",\"version\":\"1.0.0\",\"license\":\"x\","
    "\"abi\":{\"major\":0,\"needs\":1,\"built\":1},"
    "\"binaries\":[{\"path\":\"f.so\",\"os\":\"linux\",\"arch\":\"" ARCH "\"}],"
    "\"provides\":{\"passes\":[{\"name\":\"a\",\"doc\":\"A.\",\"level\":1,"
    "\"gives\":[\"g\"],\"keeps\":[\"*\"],\"options\":["
    "{\"name\":\"i\",\"kind\":\"int\",\"default\":\"1\"},"
    "{\"name\":\"s\",\"kind\":\"string\",\"default\":\"x\"},"
    "{\"name\":\"b\",\"kind\":\"bool\",\"default\":\"True\"},"
    "{\"name\":\"l\",\"kind\":\"ints\",\"default\":\"[]\"},"
    "{\"name\":\"d\",\"kind\":\"dtype\",\"default\":\"None\"}]},"
    "{\"name\":\"b\",\"doc\":\"B.\",\"level\":0,\"needs\":[\"g\"]}]},"
    "\"contributes\":[{\"slot\":\"s\",\"pass\":\"a\"},"
    "{\"slot\":\"t\",\"sequence\":[{\"slot\":\"s\"},{\"slot\":\"t\"}]}]}";

static bt_ctx *begin(void)
{
    char path[64];
    bt_registry *r = bt_registry_create(&(bt_registry_options){
        .ignore_environment = 1, .arena_single = 1, .plugin_only = "" });
    bt_ctx *ctx = r ? bt_ctx_create(r) : NULL;
    int file = memfd_create("manifest", MFD_CLOEXEC);
    FUZZ_CHECK(ctx && file >= 0);
    FUZZ_CHECK(write(file, manifest, strlen(manifest)) == (ssize_t)strlen(manifest));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    bt_registry_unref(r);
    FUZZ_CHECK(!bt_plugins_add(ctx, path));
    close(file);
    return ctx;
}

static void use(bt_ctx *ctx, const bt_pipeline *p)
{
    bt_text flat, again;
    uint64_t digest, digest_again;
    bt_pipeline *q;
    bt_text_init(&flat, bt_ctx_scratch(ctx));
    bt_text_init(&again, bt_ctx_scratch(ctx));
    bt_status fault = bt_pipeline_check(ctx, p, NULL);
    bt_status status = bt_pipeline_resolve(ctx, p, NULL, &flat, &digest);
    fuzz_check_status(ctx, fault);
    fuzz_check_status(ctx, status);
    if (status) {
        FUZZ_CHECK(fault); // checking finds all that keeps a plan from being made
        return;
    }
    status = bt_pipeline_parse(ctx, "flat", flat.at, flat.len, &q);
    if (status && status->code == BT_ERR_LIMIT) // grew beyond what is read
        return;
    FUZZ_CHECK(!status);
    FUZZ_CHECK(!bt_pipeline_resolve(ctx, q, NULL, &again, &digest_again));
    FUZZ_CHECK(strcmp(bt_text_get(&flat), bt_text_get(&again)) == 0);
    FUZZ_CHECK(digest == digest_again);
    bt_pipeline_destroy(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = begin();
    bt_pipeline *p;
    bt_status status = bt_pipeline_parse(ctx, "p.json", (const char *)bytes, nbytes, &p);
    fuzz_check_status(ctx, status);
    if (!status) {
        use(ctx, p);
        bt_pipeline_destroy(p);
    }
    char *line = malloc(nbytes + 1);
    FUZZ_CHECK(line);
    memcpy(line, bytes, nbytes);
    line[nbytes] = 0;
    size_t n = strlen(line);
    if (n < 5 || strcmp(line + n - 5, ".json") != 0) { // which would name a file
        status = bt_pipeline_read(ctx, line, &p);
        fuzz_check_status(ctx, status);
        if (!status) {
            use(ctx, p);
            bt_pipeline_destroy(p);
        }
    }
    free(line);
    bt_ctx_destroy(ctx);
    return 0;
}
