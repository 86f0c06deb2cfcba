/* Text as loops: what parses prints as text that parses to the same, and runs, shuffled
 * or not, to an end or an error. */
#include "fuzz.h"

#include <string.h>

#include "compute/graph/graph.h"
#include "loops_oracle.h"

enum { MAX_TURNS = 4096, MAX_BYTES = 1 << 16 };

/* Turns of all loops together, up to a bound. */
static int64_t count_turns(const bt_stmts *stmts)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < stmts->len && n < MAX_TURNS; i++) {
        const bt_stmt *stmt = stmts->at[i];
        int64_t inner =
            n >= MAX_TURNS ? 0 : count_turns(&stmt->body) + count_turns(&stmt->otherwise);
        int64_t extent = stmt->kind == BT_STMT_FOR ? bt_node_number(stmt->extent) : 1;
        n += extent > MAX_TURNS / inner ? MAX_TURNS : extent * inner;
    }
    return n;
}

static bt_status call(void *self, const char *callee, uint32_t narg,
                      const struct call_value *args)
{
    (void)self;
    FUZZ_CHECK(callee[0]);
    for (uint32_t i = 0; i < narg; i++)
        FUZZ_CHECK(!args[i].address || args[i].nelem > 0);
    return NULL;
}

static void run(bt_ctx *ctx, const bt_loops *loops, uint64_t seed)
{
    void **data = calloc(loops->graph->narray + 1, sizeof(void *));
    uint32_t n = 0;
    size_t total = 0;
    FUZZ_CHECK(data);
    for (uint32_t i = 0; i < loops->graph->narray; i++) {
        size_t nbytes = (size_t)bt_loops_nelem(loops, i) *
                        bt_dtype_nbytes(loops->graph->arrays[i]->dtype);
        total += nbytes;
        if (loops->roles.at[i] == BT_BUFFER_INPUT ||
            loops->roles.at[i] == BT_BUFFER_OUTPUT)
            data[n++] = calloc(nbytes + 1, 1);
        if (total > MAX_BYTES)
            break;
    }
    if (total <= MAX_BYTES) {
        struct run_options options = { .seed = seed, .call = call };
        fuzz_check_status(ctx, loops_run(ctx, loops, data, &options));
    }
    while (n)
        free(data[--n]);
    free(data);
}

static const char *print(bt_ctx *ctx, bt_arena *arena, const bt_loops *loops)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_status status = bt_loops_print(loops, &text);
    fuzz_check_status(ctx, status);
    FUZZ_CHECK(!status);
    return bt_text_get(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
    bt_ctx *ctx = fuzz_begin();
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_loops *loops, *again;
    FUZZ_CHECK(arena);
    bt_status status =
        loops_parse(ctx, arena, "fuzz", (const char *)bytes, nbytes, &loops);
    fuzz_check_status(ctx, status);
    if (!status) {
        const char *written = print(ctx, arena, loops);
        status = loops_parse(ctx, arena, "fuzz", written, strlen(written), &again);
        if (status)
            fprintf(stderr, "%s\n%s\n", status->message, written);
        FUZZ_CHECK(!status);
        // what came from text may fold once more: from then on it is stable
        const char *second = print(ctx, arena, again);
        FUZZ_CHECK(!loops_parse(ctx, arena, "fuzz", second, strlen(second), &loops));
        FUZZ_CHECK(strcmp(second, print(ctx, arena, loops)) == 0);
        // turns of loops that have dims are as many as the dims say
        if (!loops->graph->ndim && count_turns(&loops->body) < MAX_TURNS) {
            run(ctx, loops, 0);
            run(ctx, loops, 1);
        }
    }
    bt_arena_destroy(arena);
    bt_ctx_destroy(ctx);
    return 0;
}
