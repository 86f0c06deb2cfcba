/* The sections of artifacts that are lists of texts. */
#include "compile/artifact/artifact.h"

#include <string.h>

#include "base/arena.h"

struct reader {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_artifact *artifact;
    uint32_t section;
    struct bt__section rest, code;
};

static bt_status fail(const struct reader *r, const char *why)
{
    return bt_fail_place(r->ctx, BT_ERR_FORMAT, &(bt_place){ .file = r->artifact->path },
                         "section %s is damaged: %s", bt__section_name(r->section), why);
}

/* Texts are shown to people, so control characters are refused. */
static int is_shown(const char *text, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 32 && c != '\n') || c == 127)
            return 0;
    }
    return 1;
}

static void begin(struct reader *r, uint32_t section, const struct bt__section *sections)
{
    r->section = section;
    r->rest = sections[section];
}

static bt_status take_text(struct reader *r, const char **out)
{
    const char *end = r->rest.nbytes ? memchr(r->rest.at, 0, r->rest.nbytes) : NULL;
    if (!end)
        return fail(r, "a text without end");
    size_t nbytes = (size_t)(end - r->rest.at);
    if (!is_shown(r->rest.at, nbytes))
        return fail(r, "a control character in a text");
    *out = r->rest.at;
    r->rest.at += nbytes + 1;
    r->rest.nbytes -= nbytes + 1;
    return NULL;
}

/* Digits alone, below `end`. */
static bt_status take_number(struct reader *r, uint64_t end, uint64_t *out)
{
    const char *text;
    uint64_t value = 0;
    BT_TRY(take_text(r, &text));
    if (!*text)
        return fail(r, "a number is missing");
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10)
            return fail(r, "a number that is none");
        value = 10 * value + (uint64_t)(*text - '0');
    }
    if (value >= end)
        return fail(r, "a number beyond what it counts");
    *out = value;
    return NULL;
}

static bt_status take_index(struct reader *r, uint32_t end, uint32_t *out)
{
    uint64_t value;
    BT_TRY(take_number(r, end, &value));
    *out = (uint32_t)value;
    return NULL;
}

/* "-" is -1: not known. */
static bt_status take_cost(struct reader *r, int64_t *out)
{
    uint64_t value;
    const struct bt__section at = r->rest;
    const char *text;
    *out = -1;
    BT_TRY(take_text(r, &text));
    if (strcmp(text, "-") == 0)
        return NULL;
    r->rest = at;
    BT_TRY(take_number(r, INT64_MAX, &value));
    *out = (int64_t)value;
    return NULL;
}

/* ---- lists ---- */

static bt_status read_targets(struct reader *r)
{
    bt_vec(bt_artifact_target) targets = { 0 };
    BT_TRY(take_text(r, &r->artifact->entry));
    BT_TRY(take_text(r, &r->artifact->executor));
    BT_TRY(take_number(r, INT64_MAX, &r->artifact->unpacked_nbytes));
    BT_TRY(take_number(r, INT64_MAX, &r->artifact->packed_nbytes));
    while (r->rest.nbytes) {
        bt_artifact_target t;
        BT_TRY(take_text(r, &t.text));
        BT_TRY(take_text(r, &t.compatibility));
        if (!BT_PUSH(r->arena, &targets, t))
            return bt_no_memory();
    }
    if (!targets.len)
        return fail(r, "there is no target");
    r->artifact->ntarget = targets.len;
    r->artifact->targets = targets.at;
    return NULL;
}

static bt_status read_functions(struct reader *r)
{
    bt_vec(bt_compiled_func) funcs = { 0 };
    while (r->rest.nbytes) {
        bt_compiled_func f;
        BT_TRY(take_text(r, &f.name));
        BT_TRY(take_index(r, r->artifact->ntarget, &f.target));
        BT_TRY(take_text(r, &f.why));
        BT_TRY(take_text(r, &f.way));
        BT_TRY(take_cost(r, &f.multiply_adds));
        BT_TRY(take_cost(r, &f.nbytes));
        if (!BT_PUSH(r->arena, &funcs, f))
            return bt_no_memory();
    }
    r->artifact->nfunc = funcs.len;
    r->artifact->funcs = BT__LIST(r->arena, funcs.at, funcs.len);
    return r->artifact->funcs ? NULL : bt_no_memory();
}

/* A piece of the section `code`. */
static bt_status take_piece(struct reader *r, const void **at, size_t *nbytes)
{
    uint64_t offset, n;
    BT_TRY(take_number(r, (uint64_t)r->code.nbytes + 1, &offset));
    BT_TRY(take_number(r, (uint64_t)r->code.nbytes - offset + 1, &n));
    if (offset % BT__ARTIFACT_ALIGN != 0)
        return fail(r, "code that is not aligned");
    *at = r->code.at + offset;
    *nbytes = (size_t)n;
    return NULL;
}

/* "" is NULL. */
static bt_status take_word(struct reader *r, const char **out)
{
    BT_TRY(take_text(r, out));
    *out = **out ? *out : NULL;
    return NULL;
}

/* How many items follow, of which each has a text and a NUL at least. */
static bt_status take_count(struct reader *r, uint32_t *out)
{
    BT_TRY(take_index(r, UINT32_MAX, out));
    return *out <= r->rest.nbytes ? NULL : fail(r, "a number beyond what it counts");
}

static bt_status read_phases(struct reader *r, bt_kernel_code *code)
{
    BT_TRY(take_count(r, &code->nphase));
    int64_t *phases = BT_NEWS(r->arena, int64_t, code->nphase);
    if (!phases)
        return bt_no_memory();
    for (uint32_t i = 0; i < code->nphase; i++) {
        uint64_t n;
        BT_TRY(take_number(r, INT64_MAX, &n));
        phases[i] = (int64_t)n;
    }
    code->phases = phases;
    return NULL;
}

static bt_status read_faults(struct reader *r, bt_kernel_code *code)
{
    BT_TRY(take_count(r, &code->nfault));
    bt_fault *faults = BT_NEWS(r->arena, bt_fault, code->nfault);
    if (!faults)
        return bt_no_memory();
    for (uint32_t i = 0; i < code->nfault; i++) {
        uint64_t extent;
        BT_TRY(take_word(r, &faults[i].text));
        BT_TRY(take_text(r, &faults[i].array));
        BT_TRY(take_index(r, UINT32_MAX, &faults[i].axis));
        BT_TRY(take_number(r, INT64_MAX, &extent));
        faults[i].extent = (int64_t)extent;
    }
    code->faults = faults;
    return NULL;
}

static bt_status read_code(struct reader *r, bt_kernel_code *code)
{
    BT_TRY(take_index(r, BT_CODE_SOURCE, &code->form)); // text is compiled before
    if (code->form == BT_CODE_ANY)
        return fail(r, "code of no form");
    BT_TRY(take_word(r, &code->symbol));
    BT_TRY(take_piece(r, &code->at, &code->nbytes));
    BT_TRY(take_piece(r, &code->own, &code->own_nbytes));
    BT_TRY(take_number(r, INT64_MAX, &code->scratch));
    BT_TRY(read_phases(r, code));
    return read_faults(r, code);
}

static bt_status read_kernels(struct reader *r)
{
    bt_vec(bt_compiled_kernel) kernels = { 0 };
    bt_vec(bt_kernel_code) codes = { 0 };
    bt_map names;
    uint32_t *counts = BT_NEWS(r->arena, uint32_t, r->artifact->ntarget);
    bt_map_init(&names, r->arena, 1);
    if (!counts)
        return bt_no_memory();
    while (r->rest.nbytes) {
        bt_compiled_kernel k;
        bt_kernel_code code = { 0 };
        BT_TRY(take_text(r, &k.name));
        BT_TRY(take_text(r, &k.type));
        BT_TRY(take_index(r, r->artifact->ntarget, &k.target));
        BT_TRY(take_index(r, r->artifact->nfunc, &k.func));
        BT_TRY(read_code(r, &code));
        k.number = counts[k.target]++;
        if (bt_map_entry_find(&names, k.name))
            return fail(r, "two kernels of one name");
        if (!bt_map_put(&names, k.name, r) || !BT_PUSH(r->arena, &kernels, k) ||
            !BT_PUSH(r->arena, &codes, code))
            return bt_no_memory();
    }
    r->artifact->nkernel = kernels.len;
    r->artifact->kernels = BT__LIST(r->arena, kernels.at, kernels.len);
    r->artifact->codes = BT__LIST(r->arena, codes.at, codes.len);
    return r->artifact->kernels && r->artifact->codes ? NULL : bt_no_memory();
}

static bt_status read_provenance(struct reader *r)
{
    if (!is_shown(r->rest.at, r->rest.nbytes))
        return fail(r, "a control character in a text");
    r->artifact->provenance = bt_arena_text(r->arena, r->rest.at, r->rest.nbytes);
    return r->artifact->provenance ? NULL : bt_no_memory();
}

bt_status bt__artifact_lists(bt_ctx *ctx, bt_arena *arena,
                             const struct bt__section sections[BT__SECTION_COUNT],
                             bt_artifact *artifact)
{
    struct reader r = { .ctx = ctx,
                        .arena = arena,
                        .artifact = artifact,
                        .code = sections[BT__SECTION_CODE] };
    begin(&r, BT__SECTION_TARGETS, sections);
    BT_TRY(read_targets(&r));
    begin(&r, BT__SECTION_FUNCTIONS, sections);
    BT_TRY(read_functions(&r));
    begin(&r, BT__SECTION_KERNELS, sections);
    BT_TRY(read_kernels(&r));
    begin(&r, BT__SECTION_PROVENANCE, sections);
    return read_provenance(&r);
}
