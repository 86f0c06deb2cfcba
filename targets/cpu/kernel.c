/* From a primitive function to kernels. */
#include "kernel.h"

#include <string.h>

#include "engine/bytecode_build.h"
#include "engine/code.h"
#include "primitives/tile.h"
#include "schedule/alias.h"
#include "schedule/choice.h"
#include "schedule/schedule.h"
#include "schedule/touch.h"

struct lowerer {
    bt_ctx *ctx;
    bt_arena *arena;
    const struct cpu_config *config;
    const bt_func *primitive;
    const uint8_t *is_constant; /* of each input */
    const bt_loops *loops;
    cpu_kept_list kept;
    uint32_t nbuffer;                  /* of the loops */
    uint32_t *outputs;                 /* of each, which result it is, from 1 */
    uint32_t *inputs;                  /* ... which parameter's leaf, from 1 */
    uint32_t *temps;                   /* ... which temp of the lowering, from 1 */
    bt_vec(const bt_type *) all_temps; /* bytes */
};

/* ---- kernels apart ---- */

/* Statements of one kernel. */
typedef bt_vec(bt_stmt *) stmt_list;

struct parts {
    uint32_t n;
    uint8_t **touched;   /* of each statement */
    uint8_t *is_packing; /* ... whether it is in the kernel that is being made */
    uint8_t *is_taken;   /* ... whether it is in one before */
    uint8_t *makers;     /* ... whether it makes something of numbers alone */
    uint8_t *is_done;    /* ... whether it is that, or makes something of constants */
};

static uint32_t role_of(const struct lowerer *l, uint32_t buffer)
{
    return l->loops->roles.at[buffer];
}

/* Selects the statements that pack an input which all others use in packed form only, and
 * gives their number. Of a constant input they run when the module is compiled, whatever
 * others use. */
static uint32_t choose_packing(const struct lowerer *l, struct parts *p, uint32_t input)
{
    const uint32_t n =
        cpu_mark_packing(l->loops, p->touched, input, p->is_taken,
                         l->is_constant[input] ? p->makers : NULL, p->is_packing);
    for (uint32_t k = 0; k < p->n; k++) {
        if (p->touched[k][input] && !p->is_packing[k] && !l->is_constant[input])
            return 0;
    }
    return n < p->n ? n : 0;
}

/* ---- one kernel ---- */

static bt_kernel_buffer buffer_of(struct lowerer *l, uint32_t buffer)
{
    switch (role_of(l, buffer)) {
    case BT_BUFFER_INPUT:
        return (bt_kernel_buffer){ BT_BUFFER_INPUT, l->inputs[buffer] - 1 };
    case BT_BUFFER_OUTPUT:
        return (bt_kernel_buffer){ BT_BUFFER_OUTPUT, l->outputs[buffer] - 1 };
    default: return (bt_kernel_buffer){ BT_BUFFER_TEMP, l->temps[buffer] - 1 };
    }
}

static const bt_type *bytes(const struct lowerer *l, int64_t n)
{
    return bt_dim(l->primitive->result->store, n);
}

/* A temp that more than one kernel has is one of the lowering. */
static bt_status need_temp(struct lowerer *l, uint32_t buffer)
{
    if (role_of(l, buffer) != BT_BUFFER_TEMP || l->temps[buffer])
        return NULL;
    const bt_array *array = l->loops->graph->arrays[buffer];
    bt_store *store = l->primitive->result->store;
    const bt_type *nbytes;
    BT_TRY(bt_node_as_dim(l->ctx, l->primitive, array->extents[0], &nbytes));
    nbytes = bt_dim_scale(store, nbytes, (int64_t)bt_dtype_nbytes(array->dtype), 0);
    if (!nbytes)
        return bt_store_why(l->ctx, store);
    if (!BT_PUSH(l->arena, &l->all_temps, nbytes))
        return bt_no_memory();
    l->temps[buffer] = l->all_temps.len;
    return NULL;
}

static int is_written(const struct parts *p, uint32_t buffer)
{
    for (uint32_t k = 0; k < p->n; k++) {
        if (p->touched[k][buffer] & CPU_WRITES)
            return 1;
    }
    return 0;
}

/* What the kernel has of each buffer. Nothing writes what is empty: such an output is the
 * last kernel's, such a temp of any that has it. */
static void collect(const struct lowerer *l, const struct parts *p, const uint8_t *mine,
                    int is_last, uint8_t *has)
{
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        for (uint32_t k = 0; k < p->n; k++) {
            if (mine[k])
                has[i] |= p->touched[k][i];
        }
        if (role_of(l, i) == BT_BUFFER_OUTPUT && (is_last || has[i]))
            has[i] = CPU_TOUCHES | CPU_WRITES;
        if (role_of(l, i) == BT_BUFFER_TEMP && has[i] && !is_written(p, i))
            has[i] = CPU_TOUCHES | CPU_WRITES;
        if (role_of(l, i) == BT_BUFFER_LOCAL)
            has[i] = 0;
    }
}

/* Adds a buffer to a kernel's. */
static bt_status place_buffer(struct lowerer *l, uint32_t buffer, uint32_t *places,
                              bt_kernel_buffer *all, uint32_t *n)
{
    BT_TRY(need_temp(l, buffer));
    places[buffer] = *n;
    all[(*n)++] = buffer_of(l, buffer);
    return NULL;
}

/* The buffers of a kernel and their places among them: inputs, temps that it reads only,
 * results in order, and temps that it writes. */
static bt_status place_buffers(struct lowerer *l, const uint8_t *has, uint32_t *places,
                               bt_kernel *kernel)
{
    bt_kernel_buffer *all = BT_NEWS(l->arena, bt_kernel_buffer, l->nbuffer);
    uint32_t n = 0;
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        if (has[i] == CPU_TOUCHES)
            BT_TRY(place_buffer(l, i, places, all, &n));
    }
    kernel->nin = n;
    for (uint32_t i = 0; i < l->loops->results.len; i++) {
        uint32_t buffer = l->loops->results.at[i];
        if (has[buffer])
            BT_TRY(place_buffer(l, buffer, places, all, &n));
    }
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        if ((has[i] & CPU_WRITES) && role_of(l, i) == BT_BUFFER_TEMP)
            BT_TRY(place_buffer(l, i, places, all, &n));
    }
    kernel->nout = n - kernel->nin;
    kernel->in = all;
    kernel->out = all + kernel->nin;
    return NULL;
}

/* Pairs that are worth listing, beside those of updates in place, which have to be. */
enum { MAX_ALIASES = 64 };

static int same_size(const struct lowerer *l, uint32_t a, uint32_t b)
{
    bt_array *const *arrays = l->loops->graph->arrays;
    return arrays[a]->extents[0] == arrays[b]->extents[0] &&
           bt_dtype_nbytes(arrays[a]->dtype) == bt_dtype_nbytes(arrays[b]->dtype);
}

/* The input that result `out` updates in place. The kernel that writes the result has it,
 * although it reads nothing of it. UINT32_MAX: there is none. */
static uint32_t kept_in(const struct lowerer *l, uint32_t out)
{
    for (uint32_t i = 0; i < l->kept.len; i++) {
        if (l->loops->results.at[l->kept.at[i].out] == out)
            return l->kept.at[i].in;
    }
    return UINT32_MAX;
}

/* What the kernel may compute in place: on which inputs result `out` may lie. */
static bt_status find_aliases_of(struct lowerer *l, const uint8_t *has,
                                 const uint32_t *places, const stmt_list *stmts,
                                 uint32_t out, bt_kernel_alias *aliases,
                                 bt_kernel *kernel)
{
    const uint32_t kept = kept_in(l, out);
    for (uint32_t in = 0; in < l->nbuffer; in++) {
        const struct cpu_alias_question q = { .loops = l->loops,
                                              .n = stmts->len,
                                              .stmts = stmts->at,
                                              .config = l->config,
                                              .out = out,
                                              .in = in };
        if (has[in] != CPU_TOUCHES || !same_size(l, out, in) ||
            (kept == UINT32_MAX && kernel->nalias >= MAX_ALIASES))
            continue;
        int may = kept == UINT32_MAX ? cpu_may_alias(&q) : kept == in;
        if (may < 0)
            return bt_no_memory();
        if (may)
            aliases[kernel->nalias++] = (bt_kernel_alias){
                .out = places[out] - kernel->nin, .in = places[in], .keeps = kept == in
            };
    }
    return NULL;
}

static bt_status find_aliases(struct lowerer *l, const uint8_t *has,
                              const uint32_t *places, const stmt_list *stmts,
                              bt_kernel *kernel)
{
    bt_kernel_alias *aliases =
        BT_NEWS(l->arena, bt_kernel_alias, MAX_ALIASES + l->kept.len);
    if (!aliases)
        return bt_no_memory();
    for (uint32_t out = 0; out < l->nbuffer; out++) {
        if (has[out] & CPU_WRITES)
            BT_TRY(find_aliases_of(l, has, places, stmts, out, aliases, kernel));
    }
    kernel->aliases = aliases;
    return NULL;
}

/* 1 + the place of the largest input, if that fills much of a core's caches; 0: none does. */
static uint32_t find_large(const struct lowerer *l, const uint8_t *has,
                           const uint32_t *places)
{
    enum { MUCH_NBYTES = 1 << 20 };
    int64_t most = MUCH_NBYTES - 1;
    uint32_t found = 0;
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        const bt_array *array = l->loops->graph->arrays[i];
        const int64_t each = (int64_t)bt_dtype_nbytes(array->dtype);
        int64_t nbytes;
        if (has[i] == CPU_TOUCHES &&
            bt_mul_int64(bt_node_number(array->extents[0]), each, &nbytes) &&
            nbytes > most) {
            most = nbytes;
            found = 1 + places[i];
        }
    }
    return found;
}

struct forwards {
    const struct cpu_config *config;
    int is;
};

static int meet_fetch(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct forwards *f = self;
    const struct cpu_callee *row = NULL;
    if (stmt->kind == BT_STMT_CALL && slot == &stmt->args[0].value)
        row = cpu_row_of(f->config, stmt->callee);
    if (row && row->form == CPU_TILE_EPILOGUE) {
        const uint32_t next_k = cpu_form_of(row)->naddress + CPU_TILE_NEXT_K;
        f->is |= bt_node_number(stmt->args[next_k].value) != 0;
    }
    return 1;
}

/* Whether calls fetch what iterations to come read: the order of these is settled then. */
static int goes_forwards(const struct lowerer *l, const stmt_list *stmts)
{
    struct forwards f = { .config = l->config };
    for (uint32_t i = 0; i < stmts->len; i++)
        (void)bt_stmt_walk(stmts->at[i], meet_fetch, &f);
    return f.is;
}

/* Kernels that pack the same, for whatever function, have the same bytecode but for its name. */
static bt_status name_content(const struct lowerer *l, const struct bytecode *bytecode,
                              const char **out)
{
    enum { DIGEST = 65 };
    char *digest = BT_NEWS(l->arena, char, DIGEST);
    struct cpu_code code = { .isa = l->config->isa, .made = "", .bytecode = *bytecode };
    bt_text bytes;
    bt_text_init(&bytes, l->arena);
    code.bytecode.name = "";
    if (!digest)
        return bt_no_memory();
    BT_TRY(cpu_code_write(l->ctx, &code, &bytes));
    bt_digest(bytes.at, bytes.len, digest);
    *out = digest;
    return NULL;
}

static bt_status make_kernel(struct lowerer *l, const struct parts *p,
                             const uint8_t *mine, int is_last, bt_kernel *kernel)
{
    uint8_t *has = BT_NEWS(l->arena, uint8_t, l->nbuffer);
    uint32_t *places = BT_NEWS(l->arena, uint32_t, l->nbuffer);
    struct cpu_kernel *content = BT_NEW(l->arena, struct cpu_kernel);
    stmt_list stmts = { 0 };
    if (!kernel || !has || !places || !content)
        return bt_no_memory();
    for (uint32_t k = 0; k < p->n; k++) {
        if (mine[k] && !BT_PUSH(l->arena, &stmts, l->loops->body.at[k]))
            return bt_no_memory();
    }
    collect(l, p, mine, is_last, has);
    for (uint32_t i = 0; i < l->kept.len; i++) {
        if (has[l->loops->results.at[l->kept.at[i].out]])
            has[l->kept.at[i].in] |= CPU_TOUCHES;
    }
    BT_TRY(place_buffers(l, has, places, kernel));
    BT_TRY(find_aliases(l, has, places, &stmts, kernel));
    const struct bytecode_source source = {
        .loops = l->loops,
        .n = stmts.len,
        .stmts = stmts.at,
        .name = l->loops->name,
        .isa = l->config->isa,
        .alternates = goes_forwards(l, &stmts) ? 0 : find_large(l, has, places),
        .nbuffer = kernel->nin + kernel->nout,
        .places = places
    };
    BT_TRY(bytecode_build(l->ctx, l->arena, &source, &content->bytecode));
    kernel->content = content;
    kernel->ignores_dims = content->bytecode->ndim == 0;
    const int64_t nbytes = bytecode_scratch_nbytes(content->bytecode);
    if (nbytes < 0)
        return bt_fail(l->ctx, BT_ERR_LIMIT, "%s: its local memory overflows",
                       content->bytecode->name);
    kernel->workspace = nbytes ? bytes(l, nbytes) : NULL;
    if (!kernel->workspace && nbytes)
        return bt_no_memory();
    return is_last || !kernel->ignores_dims
               ? NULL
               : name_content(l, content->bytecode, &kernel->makes);
}

/* ---- the function ---- */

static bt_status number_buffers(struct lowerer *l)
{
    uint32_t ninput = 0;
    l->nbuffer = l->loops->graph->narray;
    l->inputs = BT_NEWS(l->arena, uint32_t, l->nbuffer);
    l->outputs = BT_NEWS(l->arena, uint32_t, l->nbuffer);
    l->temps = BT_NEWS(l->arena, uint32_t, l->nbuffer);
    if (!l->inputs || !l->outputs || !l->temps)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        if (role_of(l, i) == BT_BUFFER_INPUT)
            l->inputs[i] = ++ninput;
    }
    for (uint32_t i = 0; i < l->loops->results.len; i++)
        l->outputs[l->loops->results.at[i]] = i + 1;
    return NULL;
}

static bt_status look_at_statements(struct lowerer *l, struct parts *p)
{
    p->n = l->loops->body.len;
    p->is_packing = BT_NEWS(l->arena, uint8_t, p->n);
    p->is_taken = BT_NEWS(l->arena, uint8_t, p->n);
    p->is_done = BT_NEWS(l->arena, uint8_t, p->n);
    if (!p->is_packing || !p->is_taken || !p->is_done ||
        !cpu_touch_all(l->arena, l->config, l->loops, &p->touched))
        return bt_no_memory();
    p->makers = cpu_find_makers(l->arena, l->loops, p->touched);
    if (!p->makers)
        return bt_no_memory();
    memcpy(p->is_done, p->makers, p->n);
    return NULL;
}

/* Whether what packs reads what makers write that are in no kernel yet. */
static int needs_makers(const struct lowerer *l, const struct parts *p)
{
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        int is_made = 0, is_read = 0;
        for (uint32_t k = 0; k < p->n; k++) {
            is_made |= p->makers[k] && !p->is_taken[k] && p->touched[k][i];
            is_read |= p->is_packing[k] && p->touched[k][i];
        }
        if (is_made && is_read)
            return 1;
    }
    return 0;
}

/* A kernel of the marked statements, which are in no other one. */
static bt_status take(struct lowerer *l, struct parts *p, const uint8_t *mine,
                      bt_lowering *out)
{
    BT_TRY(make_kernel(l, p, mine, 0, bt_lowering_add(out, l->arena)));
    for (uint32_t k = 0; k < p->n; k++)
        p->is_taken[k] |= mine[k];
    return NULL;
}

static bt_status take_packing(struct lowerer *l, struct parts *p, bt_lowering *out)
{
    if (needs_makers(l, p))
        BT_TRY(take(l, p, p->makers, out));
    return take(l, p, p->is_packing, out);
}

/* A kernel for each input that is packed, one of what is made of several constants, and one for the
 * rest; before those that read them one of numbers. */
static bt_status make_kernels(struct lowerer *l, bt_lowering *out)
{
    struct parts p;
    BT_TRY(number_buffers(l));
    BT_TRY(look_at_statements(l, &p));
    for (uint32_t i = 0; i < l->nbuffer; i++) {
        if (role_of(l, i) != BT_BUFFER_INPUT || !choose_packing(l, &p, i))
            continue;
        BT_TRY(take_packing(l, &p, out));
        for (uint32_t k = 0; k < p.n && l->is_constant[i]; k++)
            p.is_done[k] |= p.is_packing[k];
    }
    const uint32_t nmade =
        cpu_mark_constant(l->loops, l->is_constant, p.touched, p.is_done, p.is_packing);
    if (nmade && nmade < p.n)
        BT_TRY(take_packing(l, &p, out));
    for (uint32_t k = 0; k < p.n; k++)
        p.is_packing[k] = !p.is_taken[k];
    BT_TRY(make_kernel(l, &p, p.is_packing, 1, bt_lowering_add(out, l->arena)));
    out->ntemp = l->all_temps.len;
    out->temps = l->all_temps.at;
    return NULL;
}

static bt_status lower_to_evaluator(const struct lowerer *l, bt_status why,
                                    bt_lowering *out)
{
    struct cpu_kernel *content = BT_NEW(l->arena, struct cpu_kernel);
    *out = (bt_lowering){ 0 }; // what was tried before is not kept
    bt_kernel *kernel = bt_lowering_whole(out, l->arena, l->primitive);
    if (!content || !kernel)
        return bt_no_memory();
    content->why = bt_arena_text(l->arena, why->message, strlen(why->message));
    out->way = "evaluator";
    kernel->content = content;
    out->has_no_text = 1;
    return content->why ? NULL : bt_no_memory();
}

bt_status cpu_kernel_lower(bt_ctx *ctx, bt_arena *arena, const struct cpu_config *config,
                           const bt_func *primitive, bt_lowering *out)
{
    struct cpu_choices choices = { .arena = arena };
    struct cpu_config own = *config;
    struct lowerer l = {
        .ctx = ctx, .arena = arena, .config = &own, .primitive = primitive
    };
    bt_loops *loops;
    own.choices = &choices;
    l.is_constant = bt_primitive_constants(arena, primitive);
    if (!l.is_constant)
        return bt_no_memory();
    bt_status status = cpu_schedule(ctx, arena, &own, primitive, &l.kept, &loops);
    if (!status) {
        l.loops = loops;
        status = make_kernels(&l, out);
    }
    if (!status && !(out->way = cpu_choices_taken(&choices, &out->error)))
        return bt_no_memory();
    return status && status->code == BT_ERR_UNSUPPORTED
               ? lower_to_evaluator(&l, status, out)
               : status;
}

/* ---- code ---- */

/* Whether a kernel's buffers begin with those of its function: its faults can then be
 * explained by a run of that. */
static int has_all_buffers(const bt_kernel *kernel)
{
    const bt_func *func = kernel->primitive;
    uint32_t nin = 0, nout = bt_type_nleaf(func->result);
    for (uint32_t i = 0; i < func->block->nparam; i++)
        nin += bt_type_nleaf(func->block->params[i]->base.type);
    if (kernel->nin != nin || kernel->nout < nout)
        return 0;
    for (uint32_t i = 0; i < nin + nout; i++) {
        const bt_kernel_buffer *b = i < nin ? &kernel->in[i] : &kernel->out[i - nin];
        if (b->kind != (i < nin ? BT_BUFFER_INPUT : BT_BUFFER_OUTPUT) ||
            b->index != (i < nin ? i : i - nin))
            return 0;
    }
    return 1;
}

bt_status cpu_kernel_works(bt_arena *arena, uint32_t n, const bt_kernel *const *kernels,
                           struct cpu_work **out)
{
    struct cpu_work *works = *out = BT_NEWS(arena, struct cpu_work, n);
    for (uint32_t i = 0; works && i < n; i++) {
        const struct cpu_kernel *content = kernels[i]->content;
        struct bytecode *bytecode =
            content->bytecode ? BT_NEW(arena, struct bytecode) : NULL;
        if (content->bytecode && !bytecode)
            return bt_no_memory();
        if (bytecode)
            *bytecode = *content->bytecode;
        if (bytecode)
            bytecode->name = kernels[i]->name;
        works[i] = (struct cpu_work){ .bytecode = bytecode, .why = content->why };
        if (!bytecode || (bytecode->ncheck && has_all_buffers(kernels[i])))
            works[i].function = kernels[i]->primitive;
    }
    return works ? NULL : bt_no_memory();
}
