/* Files of statistics: what is accepted tells a range, and counts that can be. */
#include "fuzz.h"
#include "quantize/quant_statistics.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    struct statistics s;
    bt_statistic seen;
    bt_status status = statistics_parse(ctx, "x.npz", bytes, nbytes, 7, &s);
    fuzz_check_status(ctx, status);
    if (!status) {
        status = statistics_find(ctx, bt_ctx_scratch(ctx), &s, "x", &seen);
        fuzz_check_status(ctx, status);
        FUZZ_CHECK(status || (seen.low <= seen.high && seen.nbad <= seen.nelem));
        for (uint32_t i = 0; !status && i < seen.nbin; i++)
            FUZZ_CHECK(seen.bins[i] <= seen.nelem);
        statistics_close(ctx, &s);
    }
    bt_ctx_destroy(ctx);
    return 0;
}
