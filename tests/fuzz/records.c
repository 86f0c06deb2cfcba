/* Tuning records of target cpu: a file is refused, or its lines are whole. The digests of lines
 * that have a tab behind 64 bytes are made to fit. */
#include <string.h>

#include "fuzz.h"
#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    char *text = malloc(nbytes + 1), digest[65];
    struct cpu_records records;
    FUZZ_CHECK(text);
    if (nbytes)
        memcpy(text, bytes, nbytes);
    for (size_t at = 0; at < nbytes;) {
        const char *end = memchr(text + at, '\n', nbytes - at);
        const size_t n = end ? (size_t)(end - text) - at : nbytes - at;
        if (n > 65 && text[at + 64] == '\t') {
            bt_digest(text + at + 65, n - 65, digest);
            memcpy(text + at, digest, 64);
        }
        at += n + 1;
    }
    bt_status status =
        cpu_records_parse(ctx, bt_ctx_scratch(ctx), "records", text, nbytes, &records);
    fuzz_check_status(ctx, status);
    for (uint32_t i = 0; !status && i < records.all.len; i++) {
        const struct cpu_record *r = &records.all.at[i];
        FUZZ_CHECK(r->nchoice > 0);
        for (uint32_t k = 0; k < r->nchoice; k++)
            FUZZ_CHECK(strlen(r->choices[k].program) + strlen(r->choices[k].way) <
                       nbytes);
        FUZZ_CHECK(cpu_records_find(&records, r->machine, r->function) <= r);
    }
    free(text);
    bt_ctx_destroy(ctx);
    return 0;
}
