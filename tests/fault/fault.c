/*
 * Failing memory: fault_alloc [--each] [--all] [--list] [--sites] [NAME]...
 *
 * Each allocation of a scenario fails in turn, once and from then on. Then must hold:
 *   - the work gives BT_ERR_MEMORY, or what it gives when nothing fails;
 *   - every block comes back;
 *   - the same work in the same context then succeeds, with the same result.
 * NAME is a scenario, or a list of them: text, passes, run... (--list); none: all lists.
 *
 * One allocation stands for all that have the same innermost 8 callers. In a list it
 * stands for those of all scenarios before as well, and where the work is on a module
 * alone, the last two claims are checked after a row of failures: each failing run gets
 * past the place where the one before it failed, so that what it left behind shows. A
 * scenario by its name, and all with --each, have all their callers, and the claims are
 * checked after every failure; --all takes every allocation. --sites lists the places in
 * the code that asked for memory.
 */
#include "fault.h"

#include "symbols.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { NSTACK = 8, NFRAME = 24, NSLOT = 1 << 18, NROW = 16 };

static const struct fault_list {
    const char *name; /* of its file */
    const struct fault_scenario *scenarios;
} lists[] = {
    { "text", fault_text },         { "passes", fault_passes },
    { "run", fault_run },           { "plugins", fault_plugins },
    { "models", fault_models },     { "targets", fault_targets },
    { "artifact", fault_artifact },
};

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
static int take_all, take_each;
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
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct failing_allocator *a = self;
    pthread_mutex_lock(&lock);
    if (recording && nbytes > 0)
        record(a->ncall + 1);
    if (nbytes > 0 && a->ncall + 1 == a->fail_at)
        nfailing = backtrace(failing, NFRAME);
    void *block = plain_realloc(self, pointer, old_nbytes, nbytes);
    pthread_mutex_unlock(&lock);
    return block;
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
    w->allocator.fail_at = 0;
    bt_status status = w->scenario->begin ? w->scenario->begin(w) : NULL;
    if (status)
        print_status(w, status);
    must(!status, "what the scenario needs can be made");
}

static void end_work(struct fault_world *w)
{
    w->allocator.fail_at = 0;
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

/* ---- failures ---- */

static void try_point(struct fault_world *w, const struct fault_world *expected,
                      uint64_t n, int from_then_on)
{
    snprintf(now, sizeof(now), "%s, allocation %llu fails %s", w->scenario->name,
             (unsigned long long)n, from_then_on ? "from then on" : "once");
    fail_at(w, n, from_then_on);
    uint32_t code = run(w);
    must(w->allocator.nfailed > 0, "as many allocations as before");
    must(code == BT_ERR_MEMORY || code == w->scenario->code,
         "the status is lack of memory, or the same as ever");
    if (code == w->scenario->code)
        must_match(w, expected, "the result is the same");
}

/* One failure after the other, and then none, in the work of the last. */
static void try_row(struct fault_world *w, const struct fault_world *expected,
                    const uint64_t *at, uint32_t n, int from_then_on)
{
    size_t nblock = w->allocator.nblock;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            end_work(w);
        begin_work(w);
        try_point(w, expected, at[i], from_then_on);
    }
    if (n > 1)
        snprintf(now, sizeof(now),
                 "%s, allocations %llu to %llu failed %s (fault_alloc %s tells which)",
                 w->scenario->name, (unsigned long long)at[0],
                 (unsigned long long)at[n - 1], from_then_on ? "from then on" : "once",
                 w->scenario->name);
    fail_at(w, 0, 0);
    must(run(w) == w->scenario->code, "afterwards the same work succeeds");
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

/* Notes what allocates: alone, or where no scenario before did. */
static void record_points(struct fault_world *w, int is_alone, struct points *points)
{
    snprintf(now, sizeof(now), "%s, nothing fails", w->scenario->name);
    begin_world(w);
    if (!w->scenario->is_fresh)
        run_freely(w);
    if (is_alone)
        memset(&stacks, 0, sizeof(stacks));
    begin_work(w);
    recording = points;
    fail_at(w, 0, 0);
    uint32_t code = run(w);
    recording = NULL;
    must(code == w->scenario->code, "the status is the expected one");
    end_work(w);
}

enum { ALONE, NEW_ONLY, RECORD_ONLY };

static void try_points(const struct fault_world *expected, const struct points *points,
                       uint32_t nrow)
{
    static struct fault_world w;
    const struct fault_scenario *scenario = expected->scenario;
    w = (struct fault_world){ .scenario = scenario };
    if (!scenario->is_fresh) {
        begin_world(&w);
        run_freely(&w);
    }
    for (int from_then_on = 0; from_then_on < 2; from_then_on++) {
        for (uint32_t i = 0; i < points->n; i += nrow) {
            uint32_t n = points->n - i < nrow ? points->n - i : nrow;
            if (scenario->is_fresh)
                begin_world(&w);
            try_row(&w, expected, points->at + i, n, from_then_on);
            if (scenario->is_fresh)
                end_world(&w);
        }
    }
    if (!scenario->is_fresh)
        end_world(&w);
}

static void run_scenario(const struct fault_scenario *scenario, int how)
{
    static struct fault_world expected;
    struct points points = { 0 };
    if (scenario->needs_file && access(scenario->input, R_OK) != 0) {
        if (how != RECORD_ONLY)
            printf("%-24s left out: there is no %s\n", scenario->name, scenario->input);
        return;
    }
    uint32_t nsite = sites.n;
    expected = (struct fault_world){ .scenario = scenario };
    record_points(&expected, how == ALONE, &points);
    unsigned long long nalloc = expected.allocator.ncall;
    end_world(&expected);
    if (how != RECORD_ONLY) {
        int is_single = how == ALONE || scenario->is_fresh || expected.state;
        try_points(&expected, &points, is_single ? 1 : NROW);
        printf("%-24s %6llu allocations, %5u failed, once and from then on; %4u new "
               "sites\n",
               scenario->name, nalloc, points.n, sites.n - nsite);
        fflush(stdout);
    }
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

static void print_list(void)
{
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        for (const struct fault_scenario *s = lists[i].scenarios; s->name; s++)
            printf("%s %s\n", lists[i].name, s->name);
    }
}

/* Those of the list; NULL: all. What the lists before have is found out first. */
static void run_list(const struct fault_list *list)
{
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        int is_chosen = !list || list == &lists[i];
        for (const struct fault_scenario *s = lists[i].scenarios; s->name; s++) {
            if (is_chosen)
                run_scenario(s, take_each ? ALONE : NEW_ONLY);
            else if (!take_each)
                run_scenario(s, RECORD_ONLY);
        }
        if (list && is_chosen)
            return;
    }
}

static void run_name(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        if (strcmp(lists[i].name, name) == 0) {
            memset(&stacks, 0, sizeof(stacks));
            run_list(&lists[i]);
            return;
        }
        for (const struct fault_scenario *s = lists[i].scenarios; s->name; s++) {
            if (strcmp(s->name, name) == 0) {
                run_scenario(s, ALONE);
                return;
            }
        }
    }
    fprintf(stderr, "there is no scenario and no list %s; --list names them\n", name);
    exit(2);
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
    int nname = 0, show_sites = 0;
    signal(SIGABRT, on_signal);
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, on_signal);
#endif
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            take_all = 1;
        } else if (strcmp(argv[i], "--each") == 0) {
            take_each = 1;
        } else if (strcmp(argv[i], "--sites") == 0) {
            show_sites = 1;
        } else if (strcmp(argv[i], "--list") == 0) {
            print_list();
            return 0;
        } else {
            run_name(argv[i]);
            nname++;
        }
    }
    if (nname == 0)
        run_list(NULL);
    if (show_sites)
        print_sites();
    printf("%u sites asked for memory\n", sites.n);
    return 0;
}
