/*
 * Failing memory: fault_alloc [--all] [--list] [--sites] [SCENARIO]...
 *
 * Each allocation of a scenario fails in turn, once and from then on. Then must hold:
 *   - the work gives BT_ERR_MEMORY, or what it gives when nothing fails;
 *   - every block comes back;
 *   - the same work in the same context then succeeds, with the same result.
 * By default one allocation stands for all that have the same innermost 8 callers; --all
 * takes every one. --sites lists the places in the code that asked for memory.
 */
#include "fault.h"

#include "symbols.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { NSTACK = 8, NFRAME = 24, NSLOT = 1 << 18 };

static const struct fault_scenario *const lists[] = { fault_text,    fault_passes,
                                                      fault_run,     fault_plugins,
                                                      fault_models,  fault_targets,
                                                      fault_artifact };

/* Addresses or hashes seen; 0 is an empty slot. */
struct seen {
    uint64_t at[NSLOT];
    uint32_t n;
};

/* The allocations of one run that are to fail. */
struct points {
    uint64_t *at;
    uint32_t n, cap;
};

static struct seen sites; /* of all scenarios: who asked for memory */
static struct seen stacks;
static struct points *recording;
static int take_all;
static void *(*plain_realloc)(void *, void *, size_t, size_t);

/* For a message where the program dies or finds a fault: what was tried, and who asked
 * for the memory that was not given. */
static char now[256];
static void *failing[NFRAME];
static int nfailing;

static int add_seen(struct seen *seen, uint64_t key)
{
    uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 46);
    while (seen->at[i] && seen->at[i] != key)
        i = (i + 1) % NSLOT;
    if (seen->at[i])
        return 0;
    if (seen->n + 1 == NSLOT) {
        fprintf(stderr, "too many stacks\n");
        exit(2);
    }
    seen->at[i] = key;
    seen->n++;
    return 1;
}

/* ---- who asks ---- */

/* Functions that pass a request on. */
static int is_helper(const void *address)
{
    static const char *const helpers[] = {
        "bt_alloc",       "bt_realloc",     "push_chunk",
        "bt_arena_alloc", "bt_arena_text",  "extend",
        "bt__arena_grow", "reserve",        "bt_text_add",
        "bt_text_addv",   "bt_text_addf",   "bt_vec_reserve",
        "grow_slots",     "bt_map_put",     "bt_name",
        "bt_name_of",     "bt__store_grow", "bt__interner_reserve",
    };
    size_t offset;
    const char *name = symbol_at(address, &offset);
    for (uint32_t i = 0; name && i < BT_COUNT(helpers); i++) {
        if (strcmp(name, helpers[i]) == 0)
            return 1;
    }
    return 0;
}

static void record(uint64_t ncall)
{
    void *frames[NFRAME];
    int n = backtrace(frames, NFRAME);
    int first = 2; // this function and the hook
    uint64_t hash = 1469598103934665603u;
    while (first + 1 < n && is_helper(frames[first]))
        first++;
    add_seen(&sites, (uint64_t)(uintptr_t)frames[first]);
    for (int i = 2; i < n && i < first + NSTACK; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * UINT64_C(1099511628211);
    if (!add_seen(&stacks, hash | 1) && !take_all)
        return;
    if (recording->n == recording->cap) {
        recording->cap = recording->cap ? 2 * recording->cap : 1024;
        recording->at = realloc(recording->at, recording->cap * sizeof(*recording->at));
        if (!recording->at)
            exit(2);
    }
    recording->at[recording->n++] = ncall;
}

static void *recording_realloc(void *self, void *pointer, size_t old_nbytes,
                               size_t nbytes)
{
    struct failing_allocator *a = self;
    if (recording && nbytes > 0)
        record(a->ncall + 1);
    if (nbytes > 0 && a->ncall + 1 == a->fail_at)
        nfailing = backtrace(failing, NFRAME);
    return plain_realloc(self, pointer, old_nbytes, nbytes);
}

/* ---- worlds ---- */

void fault_result(struct fault_world *w, const char *text)
{
    size_t n = strlen(text);
    if (n >= sizeof(w->result) - w->nresult)
        n = sizeof(w->result) - 1 - w->nresult;
    memcpy(w->result + w->nresult, text, n);
    w->nresult += n;
    w->result[w->nresult] = 0;
}

bt_status fault_result_of(struct fault_world *w, fault_write_fn *write, const void *what)
{
    bt_text text;
    bt_arena *scratch = bt_ctx_scratch(w->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text_init(&text, scratch);
    bt_status status = write(w, what, &text);
    if (!status && text.failed)
        status = bt_no_memory();
    if (!status)
        fault_result(w, bt_text_get(&text));
    bt_arena_release(scratch, mark);
    return status;
}

bt_status fault_write_module(struct fault_world *w, const void *module, bt_text *out)
{
    return bt_print(w->ctx, module, NULL, out);
}

char *fault_read(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    size_t cap = 1 << 26, n = 0;
    char *bytes = malloc(cap);
    if (file && bytes)
        n = fread(bytes, 1, cap - 1, file);
    if (!file || !bytes || ferror(file)) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    bytes[n] = 0;
    *nbytes = n;
    return bytes;
}

static void fail_at(struct fault_world *w, uint64_t n, int from_then_on)
{
    w->allocator.ncall = w->allocator.nfailed = 0;
    w->allocator.fail_at = n;
    w->allocator.from_then_on = from_then_on;
}

static void must(int condition, const char *claim)
{
    if (condition)
        return;
    fprintf(stderr, "%s: does not hold: %s\n", now, claim);
    for (int i = 2; i < nfailing; i++) {
        size_t offset = 0;
        const char *name = symbol_at(failing[i], &offset);
        fprintf(stderr, "    %s+%#zx\n", name ? name : "?", offset);
    }
    exit(1);
}

/* The first lines that differ. */
static void must_match(const struct fault_world *w, const struct fault_world *expected,
                       const char *claim)
{
    const char *a = expected->result, *b = w->result;
    while (*a && *a == *b)
        a++, b++;
    if (!*a && !*b)
        return;
    while (a > expected->result && a[-1] != '\n')
        a--, b--;
    fprintf(stderr, "expected  %.*s\n", (int)strcspn(a, "\n"), a);
    fprintf(stderr, "found     %.*s\n", (int)strcspn(b, "\n"), b);
    must(0, claim);
}

static void print_status(const struct fault_world *w, bt_status status)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    bt_diag_render(status, 0, &text);
    fprintf(stderr, "%s\n", bt_text_get(&text));
}

static void begin_world(struct fault_world *w)
{
    const char *folder = w->scenario->plugins;
    w->allocator = failing_allocator(0, 0);
    plain_realloc = w->allocator.base.realloc;
    w->allocator.base.realloc = recording_realloc;
    w->allocator.base.self = &w->allocator;
    w->registry = bt_registry_create(
        &(bt_registry_options){ .allocator = &w->allocator.base,
                                .arena_single = 1,
                                .ignore_environment = 1,
                                .plugin_only = folder ? folder : TEST_PLUGINS });
    w->ctx = w->registry ? bt_ctx_create(w->registry) : NULL;
    must(w->ctx != NULL, "a context can be made");
}

static void begin_work(struct fault_world *w)
{
    bt_status status = w->scenario->begin ? w->scenario->begin(w) : NULL;
    if (status)
        print_status(w, status);
    must(!status, "what the scenario needs can be made");
}

static void end_work(struct fault_world *w)
{
    if (w->scenario->end)
        w->scenario->end(w);
    bt_module_unref(w->module);
    w->module = NULL;
}

static void end_world(struct fault_world *w)
{
    bt_ctx_destroy(w->ctx);
    bt_registry_unref(w->registry);
    must(w->allocator.nblock == 0 && w->allocator.nbytes == 0,
         "every block comes back when the registry goes");
}

/* The code of the work's status, which must be whole; 0: success. */
static uint32_t run(struct fault_world *w)
{
    w->nresult = 0;
    w->result[0] = 0;
    bt_status status = w->scenario->run(w);
    uint32_t code = status ? status->code : BT_ERR_NONE;
    must(!status || status->message, "a status has a message");
    if (status && code != w->scenario->code && code != BT_ERR_MEMORY)
        print_status(w, status);
    bt_ctx_clear_diags(w->ctx);
    return code;
}

/* ---- one failure ---- */

static void try_point(struct fault_world *w, const struct fault_world *expected,
                      uint64_t n, int from_then_on)
{
    size_t nblock = w->allocator.nblock;
    snprintf(now, sizeof(now), "%s, allocation %llu fails %s", w->scenario->name,
             (unsigned long long)n, from_then_on ? "from then on" : "once");
    begin_work(w);
    fail_at(w, n, from_then_on);
    uint32_t code = run(w);
    must(w->allocator.nfailed > 0, "as many allocations as before");
    must(code == BT_ERR_MEMORY || code == w->scenario->code,
         "the status is lack of memory, or the same as ever");
    if (code == w->scenario->code)
        must_match(w, expected, "the result is the same");
    fail_at(w, 0, 0);
    code = run(w);
    must(code == w->scenario->code, "afterwards the same work succeeds");
    must_match(w, expected, "afterwards the result is the same");
    end_work(w);
    if (!w->scenario->is_fresh)
        must(w->allocator.nblock == nblock, "every block comes back");
}

/* ---- a scenario ---- */

/* Runs without failures: fills the registry's caches. */
static void run_freely(struct fault_world *w)
{
    begin_work(w);
    fail_at(w, 0, 0);
    must(run(w) == w->scenario->code, "the status is the expected one");
    end_work(w);
}

/* Notes what allocates. */
static void record_points(struct fault_world *w, struct points *points)
{
    snprintf(now, sizeof(now), "%s, nothing fails", w->scenario->name);
    begin_world(w);
    if (!w->scenario->is_fresh)
        run_freely(w);
    memset(&stacks, 0, sizeof(stacks));
    begin_work(w);
    recording = points;
    fail_at(w, 0, 0);
    uint32_t code = run(w);
    recording = NULL;
    must(code == w->scenario->code, "the status is the expected one");
    end_work(w);
}

static void run_scenario(const struct fault_scenario *scenario)
{
    static struct fault_world expected, w;
    struct points points = { 0 };
    if (scenario->needs_file && access(scenario->input, R_OK) != 0) {
        printf("%-24s left out: there is no %s\n", scenario->name, scenario->input);
        return;
    }
    uint32_t nsite = sites.n;
    expected = (struct fault_world){ .scenario = scenario };
    record_points(&expected, &points);
    unsigned long long nalloc = expected.allocator.ncall;
    end_world(&expected);
    w = (struct fault_world){ .scenario = scenario };
    if (!scenario->is_fresh) {
        begin_world(&w);
        run_freely(&w);
    }
    for (int from_then_on = 0; from_then_on < 2; from_then_on++) {
        for (uint32_t i = 0; i < points.n; i++) {
            if (scenario->is_fresh)
                begin_world(&w);
            try_point(&w, &expected, points.at[i], from_then_on);
            if (scenario->is_fresh)
                end_world(&w);
        }
    }
    if (!scenario->is_fresh)
        end_world(&w);
    printf("%-24s %6llu allocations, %5u failed, once and from then on; %4u new sites\n",
           scenario->name, nalloc, points.n, sites.n - nsite);
    fflush(stdout);
    free(points.at);
}

/* ---- the program ---- */

static void on_signal(int number)
{
    ssize_t n = write(STDERR_FILENO, now, strlen(now));
    n = write(STDERR_FILENO, ": dies\n", 7);
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

static const struct fault_scenario *find_scenario(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        for (const struct fault_scenario *s = lists[i]; s->name; s++) {
            if (strcmp(s->name, name) == 0)
                return s;
        }
    }
    fprintf(stderr, "there is no scenario %s; --list names them\n", name);
    exit(2);
}

/* Runs or lists all. */
static void each_scenario(int list)
{
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        for (const struct fault_scenario *s = lists[i]; s->name; s++) {
            if (list)
                printf("%s\n", s->name);
            else
                run_scenario(s);
        }
    }
}

static void print_sites(void)
{
    for (uint32_t i = 0; i < NSLOT; i++) {
        const void *address = (const void *)(uintptr_t)sites.at[i];
        size_t offset = 0;
        const char *name = address ? symbol_at(address, &offset) : NULL;
        if (address)
            printf("%s+%#zx\n", name ? name : "?", offset);
    }
}

int main(int argc, char **argv)
{
    int nscenario = 0, show_sites = 0;
    signal(SIGABRT, on_signal);
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, on_signal);
#endif
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            take_all = 1;
        } else if (strcmp(argv[i], "--sites") == 0) {
            show_sites = 1;
        } else if (strcmp(argv[i], "--list") == 0) {
            each_scenario(1);
            return 0;
        } else {
            run_scenario(find_scenario(argv[i]));
            nscenario++;
        }
    }
    if (nscenario == 0)
        each_scenario(0);
    if (show_sites)
        print_sites();
    printf("%u sites asked for memory\n", sites.n);
    return 0;
}
