/*
 * How many bytes are enough for every run. Lists are by size and hold no other
 * (LARGER is 0), so a block is new only where all blocks of its size are in use: it is
 * enough to know how many objects of each size there are at once. Sizes by dims of the entry
 * are told apart by their terms: two may be one size in some run, which then needs less.
 *
 *     an object        itself, and what its fields and its owner hold, of each size the most
 *     an instruction   what registers hold before it, what it makes, what its callee needs
 *     a function       the most over its instructions; its frame, and its callee's
 *
 * A function that calls itself other than by a jump, and an object that may hold others of its
 * own site (a list), have no such number.
 */
#include <inttypes.h>
#include <string.h>

#include "bound.h"

#include "blocks.h"

enum { MAX_TERMS = 64, KINDS = LISTS + MAX_TERMS };
#define MOST (UINT64_C(1) << 48)

/* Objects of each size: a list's, then those by terms. */
typedef uint64_t counts[KINDS];

/* What a function of C needs: its objects, bytes of frames, calls in progress. */
struct need {
    int is_known;
    const bt_type *frames;
    uint32_t depth;
    counts objects;
};

struct counting {
    struct bounds b;
    uint32_t *kinds; /* by site: its size */
    uint32_t nterm;
    struct bound_term terms[MAX_TERMS];
    counts *trees; /* by site */
    uint8_t *is_counted;
    struct need *needs; /* by group */
    uint64_t **held;    /* by holder: what it holds; NULL: not counted */
};

static int find_kind(struct counting *k, const struct site *site, uint32_t *out)
{
    const struct bound_term term = { .head = block_head(site->n),
                                     .nbytes = site->nbytes };
    int64_t number;
    if (bt_dim_is_const(site->nbytes, &number)) {
        *out = number >= 0 && (uint64_t)number <= MOST
                   ? block_list(term.head + (uint64_t)number)
                   : LISTS;
        return *out < LISTS ||
               bound_fails(&k->b, k->b.program->functions[0], "it is too large to count");
    }
    for (uint32_t i = 0; i < k->nterm; i++) {
        *out = LISTS + i;
        if (k->terms[i].head == term.head && k->terms[i].nbytes == term.nbytes)
            return 1;
    }
    if (k->nterm == MAX_TERMS)
        return bound_fails(&k->b, k->b.program->functions[0],
                           "its objects have too many sizes");
    *out = LISTS + k->nterm;
    k->terms[k->nterm++] = term;
    return 1;
}

static int find_kinds(struct counting *k)
{
    k->kinds = BT_NEWS(k->b.arena, uint32_t, k->b.sites.len);
    if (!k->kinds)
        k->b.status = bt_no_memory();
    for (uint32_t s = 0; k->kinds && s < k->b.sites.len; s++) {
        if (!find_kind(k, &k->b.sites.at[s], &k->kinds[s]))
            return 0;
    }
    return k->kinds != NULL;
}

static void add_counts(counts to, const counts more)
{
    for (uint32_t i = 0; i < KINDS; i++)
        to[i] = to[i] < MOST && more[i] < MOST ? to[i] + more[i] : MOST;
}

static void most_counts(counts to, const counts other)
{
    for (uint32_t i = 0; i < KINDS; i++)
        to[i] = to[i] > other[i] ? to[i] : other[i];
}

/* ---- objects ---- */

/* What a holder holds at most; 0: a site of it is not counted. */
static int count_holder(const struct counting *k, uint32_t holder, counts out)
{
    const uint64_t *set = set_of(&k->b, holder);
    memset(out, 0, sizeof(counts));
    for (uint32_t s = 0; s < k->b.sites.len; s++) {
        if (!has_site(set, s))
            continue;
        if (!k->is_counted[s])
            return 0;
        most_counts(out, k->trees[s]);
    }
    return 1;
}

static int count_site(struct counting *k, uint32_t s)
{
    const struct site *site = &k->b.sites.at[s];
    counts part;
    memset(k->trees[s], 0, sizeof(counts));
    k->trees[s][k->kinds[s]] = 1;
    for (uint32_t i = 0; i < site->nfield; i++) {
        if (!count_holder(k, site->first + i, part))
            return 0;
        add_counts(k->trees[s], part);
    }
    if (site->owner) {
        if (!count_holder(k, site->owner - 1, part))
            return 0;
        add_counts(k->trees[s], part);
    }
    return 1;
}

/* From objects without fields on. */
static int count_sites(struct counting *k)
{
    uint32_t left = k->b.sites.len;
    int is_new = 1;
    while (left && is_new) {
        is_new = 0;
        for (uint32_t s = 0; s < k->b.sites.len; s++) {
            if (k->is_counted[s] || !count_site(k, s))
                continue;
            k->is_counted[s] = 1;
            is_new = 1;
            left--;
        }
    }
    return left ? bound_fails(&k->b, k->b.program->functions[0],
                              "values may hold any number of their kind")
                : 1;
}

/* ---- functions ---- */

struct walk {
    uint32_t function;
    uint32_t *now;     /* by object register: its holder; 0: it is empty */
    uint32_t **at;     /* by word: likewise, where a jump goes to it */
    int is_reached;    /* the instruction */
    struct need *need; /* of the group */
};

/* What a holder holds at most. NULL: there is no memory. */
static const uint64_t *held_by(struct counting *k, uint32_t holder)
{
    if (!k->held[holder]) {
        k->held[holder] = BT_NEWS(k->b.arena, uint64_t, KINDS);
        if (!k->held[holder]) {
            k->b.status = bt_no_memory();
            return NULL;
        }
        count_holder(k, holder, k->held[holder]);
    }
    return k->held[holder];
}

static void merge(struct counting *k, struct walk *w, uint32_t to)
{
    const uint32_t n = k->b.program->functions[w->function]->nobject;
    if (!w->at[to])
        w->at[to] = BT_NEWS(k->b.arena, uint32_t, n);
    for (uint32_t i = 0; w->at[to] && i < n; i++)
        w->at[to][i] = w->at[to][i] ? w->at[to][i] : w->now[i];
    if (!w->at[to])
        k->b.status = bt_no_memory();
}

/* So many bytes, as a stack takes them. */
static const bt_type *in_blocks(const struct bounds *b, const bt_type *nbytes)
{
    const bt_type *block = bt_dim(b->store, 64);
    return bt_dim_mul(b->store, bt_dim_ceildiv(b->store, nbytes, block), block);
}

static int put_frames(struct counting *k, struct need *need, const bt_type *frames)
{
    if (frames)
        need->frames = bt_dim_max(k->b.store, need->frames, frames);
    return frames && need->frames ? 1
                                  : bound_fails(&k->b, k->b.program->functions[0],
                                                "it is too large to count");
}

/* Memory that plain C takes while it computes. */
static int plain_workspace(struct counting *k, uint32_t function, const uint32_t *w,
                           const bt_type **out)
{
    struct bounds *b = &k->b;
    const struct vm_function *f = b->program->functions[function];
    const bt_type *n = bt_dim(b->store, 1);
    struct c_plain plain;
    *out = bt_dim(b->store, 0);
    b->status =
        c_plain_find(b->c->p->ctx, b->arena, b->program->operators[w[1]].call, &plain);
    if (b->status)
        return 0;
    if (!plain.facet || !plain.facet->workspace)
        return 1;
    for (uint32_t s = 0; code_is_object(f, w[3]) && s < b->sites.len; s++) {
        const bt_type *ndata = b->sites.at[s].ndata;
        const bt_dtype dtype = b->program->types.at[f->types[w[3] & VM_REGISTER]].dtype;
        if (!has_site(set_of(b, holder_of(b, function, w + 3)), s))
            continue;
        if (!ndata)
            return bound_fails(b, f, "a run finds out the size of an operand");
        n = bt_dim_max(
            b->store, n,
            bt_dim_floordiv(b->store, ndata, bt_dim(b->store, code_nbytes(dtype))));
    }
    *out = in_blocks(b, bt_dim_scale(b->store, n, (int64_t)plain.facet->workspace, 0));
    return 1;
}

static int count_frame(struct counting *k, uint32_t function, const bt_type **out)
{
    const struct vm_function *f = k->b.program->functions[function];
    *out = bt_dim(k->b.store, 0);
    for (uint32_t i = 0; i < f->nstorage; i++) {
        const bt_type *nbytes = term_dim(&k->b, function, &f->storages[i].nbytes);
        if (!nbytes)
            return bound_fails(&k->b, f, "a run finds out the size of its memory");
        *out = bt_dim_add(k->b.store, *out, in_blocks(&k->b, nbytes));
    }
    return 1;
}

/* What there is at once at an instruction: all that is held, less what moves to a callee. */
static int count_instruction(struct counting *k, struct walk *w, uint32_t pc,
                             const bt_type *frame)
{
    const struct vm_function *f = k->b.program->functions[w->function];
    const uint32_t *words = f->words + pc, code = words[0] & 0xff;
    const struct born *born = &k->b.born[w->function][pc];
    const uint32_t callee = code == VM_CALL        ? words[1]
                            : code == VM_TAIL_CALL ? words[0] >> 8
                                                   : UINT32_MAX;
    const uint32_t *groups = k->b.c->groups;
    const int is_call = callee != UINT32_MAX &&
                        (code == VM_CALL || groups[callee] != groups[w->function]);
    struct need *need = w->need;
    counts now = { 0 };
    const bt_type *workspace;
    if (!is_call && !born->n)
        return 1;
    for (uint32_t i = 0; i < f->nobject; i++) {
        int moves = 0;
        for (uint32_t a = 0; is_call && a < words[code == VM_CALL ? 3 : 2]; a++)
            moves |= words[(code == VM_CALL ? 4 : 3) + a] == (i | VM_LAST);
        if (!w->now[i] || moves)
            continue;
        const uint64_t *held = held_by(k, w->now[i]);
        if (!held)
            return 0;
        add_counts(now, held);
    }
    for (uint32_t i = 0; i < born->n; i++)
        now[k->kinds[born->first + i]]++;
    if (is_call) {
        const struct need *of = &k->needs[groups[callee]];
        add_counts(now, of->objects);
        if (!put_frames(k, need,
                        code == VM_CALL ? bt_dim_add(k->b.store, of->frames, frame)
                                        : of->frames))
            return 0;
        need->depth = of->depth + 1 > need->depth ? of->depth + 1 : need->depth;
    }
    if (code == VM_OPERATE) {
        if (!plain_workspace(k, w->function, words, &workspace) ||
            !put_frames(k, need, bt_dim_add(k->b.store, frame, workspace)))
            return 0;
    }
    most_counts(need->objects, now);
    return 1;
}

/* At the start parameters are held, and nothing else. */
static int begin_walk(struct counting *k, struct walk *w)
{
    const struct vm_function *f = k->b.program->functions[w->function];
    counts now = { 0 };
    w->is_reached = 1;
    w->now = BT_NEWS(k->b.arena, uint32_t, f->nobject);
    w->at = BT_NEWS(k->b.arena, uint32_t *, f->nword);
    if (!w->now || !w->at) {
        k->b.status = bt_no_memory();
        return 0;
    }
    for (uint32_t i = 0; i < f->nparam; i++) {
        if (!code_is_object(f, f->params[i]))
            continue;
        w->now[f->params[i]] = k->b.params[w->function][i];
        const uint64_t *held = held_by(k, w->now[f->params[i]]);
        if (!held)
            return 0;
        add_counts(now, held);
    }
    most_counts(w->need->objects, now);
    return 1;
}

static int count_function(struct counting *k, uint32_t function, struct need *need)
{
    const struct vm_function *f = k->b.program->functions[function];
    struct walk w = { .function = function, .need = need };
    struct vm_decoder d;
    struct vm_operand operand;
    const bt_type *frame;
    if (!begin_walk(k, &w) || !count_frame(k, function, &frame) ||
        !put_frames(k, need, frame))
        return 0;
    for (uint32_t pc = 0; vm_decode(&d, f->words, f->nword, pc); pc = d.next) {
        uint32_t written = UINT32_MAX;
        for (uint32_t i = 0; w.at[pc] && i < f->nobject; i++)
            w.now[i] = w.is_reached && w.now[i] ? w.now[i] : w.at[pc][i];
        w.is_reached |= w.at[pc] != NULL;
        if (w.is_reached && !count_instruction(k, &w, pc, frame))
            return 0;
        while (vm_decode_operand(&d, &operand)) {
            const uint32_t empty = emptied(f, &operand, d.code);
            if (empty != UINT32_MAX)
                w.now[empty] = 0;
            if (operand.kind == 'd' && code_is_object(f, operand.value))
                written = operand.value;
            if (operand.kind == 'j' && w.is_reached)
                merge(k, &w, operand.value);
        }
        if (written != UINT32_MAX)
            w.now[written] = holder_of(&k->b, function, f->words + pc);
        w.is_reached &= !vm_instructions[d.code].ends;
    }
    return !k->b.status;
}

/* Whether all that a group calls is known. */
static int is_ready(const struct counting *k, uint32_t group)
{
    const struct coder *c = k->b.c;
    struct vm_decoder d;
    struct vm_operand operand;
    int is = 1;
    for (uint32_t i = 0; i < c->program->nfunction; i++) {
        const struct vm_function *f = c->program->functions[i];
        for (uint32_t pc = 0;
             c->groups[i] == group && vm_decode(&d, f->words, f->nword, pc);
             pc = d.next) {
            const uint32_t *w = f->words + pc;
            if (d.code == VM_CALL)
                is &= k->needs[c->groups[w[1]]].is_known;
            else if (d.code == VM_TAIL_CALL && c->groups[w[0] >> 8] != group)
                is &= k->needs[c->groups[w[0] >> 8]].is_known;
            while (vm_decode_operand(&d, &operand))
                ;
        }
    }
    return is;
}

/* From functions that call none on. */
static int count_functions(struct counting *k)
{
    const struct coder *c = k->b.c;
    const uint32_t n = c->program->nfunction;
    int is_new = 1;
    while (!k->needs[c->groups[0]].is_known) {
        if (!is_new)
            return bound_fails(&k->b, c->program->functions[0],
                               "functions call themselves, and not in tail position");
        is_new = 0;
        for (uint32_t g = 0; g < n; g++) {
            struct need *need = &k->needs[g];
            if (!c->is_reached[g] || c->groups[g] != g || need->is_known ||
                !is_ready(k, g))
                continue;
            need->depth = 1;
            need->frames = bt_dim(k->b.store, 0);
            for (uint32_t i = 0; i < n; i++) {
                if (c->groups[i] == g && !count_function(k, i, need))
                    return 0;
            }
            need->is_known = is_new = 1;
        }
    }
    return 1;
}

/* ---- all ---- */

/* As much as it is with any dims of the entry. 0: without limit */
static int add_most(const bt_type *nbytes, uint64_t head, uint64_t count, uint64_t *total)
{
    int64_t low, high;
    uint64_t size;
    bt_dim_bounds(nbytes, &low, &high);
    high = high > 0 ? high : 0;
    if ((uint64_t)high > MOST)
        return 0;
    size = head ? block_size(block_list(head + (uint64_t)high)) : (uint64_t)high;
    if (count && size > (MOST - *total) / count)
        return 0;
    *total += count * size;
    return 1;
}

static void add_up(struct counting *k, struct bound *out)
{
    const struct need *need = &k->needs[k->b.c->groups[0]];
    int is_number = 1;
    for (uint32_t i = 0; i < LISTS; i++) {
        const uint64_t size = block_size(i);
        if (need->objects[i] && need->objects[i] > (MOST - out->base) / size) {
            out->why = "it is too large to count";
            return;
        }
        out->base += need->objects[i] * size;
    }
    out->nbytes = out->base;
    is_number &= add_most(need->frames, 0, 1, &out->nbytes);
    for (uint32_t i = 0; i < k->nterm; i++) {
        struct bound_term *term = &k->terms[i];
        term->count = need->objects[LISTS + i];
        is_number &= add_most(term->nbytes, term->head, term->count, &out->nbytes);
    }
    out->nterm = k->nterm;
    out->terms = k->terms;
    out->frames = need->frames;
    out->depth = need->depth;
    out->is_number = is_number;
    out->is_known = is_number || k->b.c->p->entry->func->nvar;
}

bt_status find_bound(struct output *o)
{
    struct plan *p = o->plan;
    struct coder c = { .o = o, .p = p, .program = p->program, .prefix = "" };
    struct counting *k = BT_NEW(p->arena, struct counting);
    // a chain is exact; values are the caller's to build
    if (!p->program || p->has_values)
        return NULL;
    if (!k)
        return bt_no_memory();
    k->b = (struct bounds){ .c = &c, .program = p->program, .arena = p->arena };
    c.x.arena = p->arena;
    BT_TRY(code_find_reached(&c));
    BT_TRY(code_find_groups(&c));
    if (find_sites(&k->b) && find_kinds(k)) {
        k->trees = BT_NEWS(p->arena, counts, k->b.sites.len);
        k->is_counted = BT_NEWS(p->arena, uint8_t, k->b.sites.len);
        k->needs = BT_NEWS(p->arena, struct need, p->program->nfunction);
        k->held = BT_NEWS(p->arena, uint64_t *, k->b.nholder);
        if (!k->trees || !k->is_counted || !k->needs || !k->held)
            return bt_no_memory();
        if (count_sites(k) && count_functions(k))
            add_up(k, &p->bound);
    }
    BT_TRY(k->b.status);
    if (!p->bound.is_known && !p->bound.why)
        p->bound.why = k->b.why ? k->b.why : "it is too large to count";
    return NULL;
}
