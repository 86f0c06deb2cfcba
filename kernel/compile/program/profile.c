/*
 * The profile of a program: one sink for every executor. It receives bindings, and
 * gives rows:
 *
 *     interp    a row for each call of an operator
 *     graph     a row for each call of a primitive function, however many kernels that
 *               became
 *     vm        the same, and a row for each call of an operator that no target took; none
 *               for numbers that its own instructions compute
 *
 * What a target's queue ran is told with the queue's name and its own times; each queue is a
 * track beside that of the host.
 */
#include "compile/program/profile.h"

#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/compute.h>
#include <baton/op.h>

enum { MAX_EVENTS = 1 << 20 };

/* ---- recording ---- */

static struct bt__profile_row *add_row(struct bt__profiler *p, const bt_value *value)
{
    const char *kernel = bt_invoke_kernel(value);
    const bt_call *call = bt_as_call(value);
    struct bt__profile_row row = { .value = value };
    struct bt__profile_row *last = p->rows.len ? &p->rows.at[p->rows.len - 1] : NULL;
    row.name = kernel             ? kernel
               : call && call->op ? call->op->name
                                  : bt_value_kind_name(value->kind);
    if (kernel && p->compiled) {
        row.kernel = bt_compiled_find_kernel(p->compiled, kernel);
        if (row.kernel < p->compiled->nkernel)
            row.func = p->compiled->funcs[p->compiled->kernels[row.kernel]->func];
    }
    // kernels of one call follow one another, in their order
    if (row.func && last && last->func == row.func && last->kernel < row.kernel) {
        last->kernel = row.kernel;
    } else {
        row.name = row.func ? row.func->name : row.name;
        if (!BT_PUSH(p->arena, &p->rows, row))
            return NULL;
    }
    return bt_map_put(&p->numbers, value, (void *)(uintptr_t)p->rows.len)
               ? &p->rows.at[p->rows.len - 1]
               : NULL;
}

/* ... of a thing that ran until `end`, on a track. */
static void record(struct bt__profiler *p, const bt_value *value, uint32_t track,
                   uint64_t end, uint64_t elapsed_ns)
{
    uintptr_t number = (uintptr_t)bt_map_find(&p->numbers, value);
    struct bt__profile_row *row = number ? &p->rows.at[number - 1] : add_row(p, value);
    if (!row) {
        p->failed = 1;
        return;
    }
    row->ns += elapsed_ns;
    row->ncall += row->value == value;
    bt_profile_event event = { .row = (uint32_t)(row - p->rows.at),
                               .start_ns = end > elapsed_ns ? end - elapsed_ns : 0,
                               .elapsed_ns = elapsed_ns,
                               .track = track };
    if (p->events.len == MAX_EVENTS)
        p->nleft_out++;
    else if (!BT_PUSH(p->arena, &p->events, event))
        p->failed = 1;
}

bt_status bt_program_record(bt_program *program, int on)
{
    program->is_recorded = 0;
    if (!on)
        return NULL;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(program->ctx));
    struct bt__profiler *p = arena ? BT_NEW(arena, struct bt__profiler) : NULL;
    if (!p) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    *p = (struct bt__profiler){ .arena = arena,
                                .compiled = program->compiled,
                                .begin_ns = bt_now_ns() };
    bt_map_init(&p->numbers, arena, 0);
    bt_map_init(&p->functions, arena, 0);
    if (!BT_PUSH(arena, &p->tracks, "host")) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    bt__profiler_destroy(program->profiler);
    program->profiler = p;
    program->is_recorded = 1;
    return NULL;
}

static void count_dim(struct bt__profiler *p, const char *name, int64_t value)
{
    const bt_profile_dim dim = { name, value, 1 };
    for (uint32_t i = 0; i < p->dims.len; i++) {
        if (p->dims.at[i].name == name && p->dims.at[i].value == value) {
            p->dims.at[i].nrun++;
            return;
        }
    }
    if (!BT_PUSH(p->arena, &p->dims, dim))
        p->failed = 1;
}

void bt__profiler_count(struct bt__profiler *p, const bt_program *program)
{
    const bt_func *func = program->entry->func;
    bt_arena *scratch = bt_ctx_scratch(program->ctx);
    const void *mark = bt_arena_mark(scratch);
    int64_t *dims = BT_NEWS(scratch, int64_t, func->nvar);
    if (!dims || bt_check_args(program->ctx, program->module, program->entry,
                               program->ninput, program->args, dims))
        p->failed = 1;
    for (uint32_t i = 0; !p->failed && i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        if (dims[i] >= 0 && var->name && !var->is_anonymous)
            count_dim(p, var->name, dims[i]);
    }
    bt_arena_release(scratch, mark);
}

/* ---- the hook ---- */

static void tell_binding(void *self, const bt_value *value, const bt_object *result,
                         uint64_t elapsed_ns)
{
    const bt_program *program = self;
    (void)result;
    if (program->is_recorded)
        record(program->profiler, value, 0, bt_now_ns() - program->profiler->begin_ns,
               elapsed_ns);
}

/* The number of a track; there are few. 0, the host's, where there is no memory. */
static uint32_t track_of(struct bt__profiler *p, const char *name)
{
    for (uint32_t i = 0; i < p->tracks.len; i++) {
        if (strcmp(p->tracks.at[i], name) == 0)
            return i;
    }
    const char *copy = bt_arena_text(p->arena, name, strlen(name));
    if (copy && BT_PUSH(p->arena, &p->tracks, copy))
        return p->tracks.len - 1;
    p->failed = 1;
    return 0;
}

static void tell_queued(void *self, const bt_value *value, const char *queue,
                        uint64_t begin_ns, uint64_t end_ns)
{
    struct bt__profiler *p = ((const bt_program *)self)->profiler;
    record(p, value, track_of(p, queue), end_ns > p->begin_ns ? end_ns - p->begin_ns : 0,
           end_ns > begin_ns ? end_ns - begin_ns : 0);
}

static void count_call(void *self, const bt_func *func)
{
    struct bt__profiler *p = ((const bt_program *)self)->profiler;
    const uintptr_t ncall = (uintptr_t)bt_map_find(&p->functions, func);
    if (!bt_map_put(&p->functions, func, (void *)(ncall + 1)))
        p->failed = 1;
}

static bt_status ask_before(void *self, const bt_stop *stop)
{
    const bt_program *program = self;
    return program->before(program->watcher, stop);
}

const bt_run_hook *bt__program_hook(bt_program *program)
{
    program->hook = (bt_run_hook){ .self = program,
                                   .binding = tell_binding,
                                   .before = program->before ? ask_before : NULL,
                                   .enter = program->is_recorded ? count_call : NULL,
                                   .queued = program->is_recorded ? tell_queued : NULL };
    return program->is_recorded || program->before ? &program->hook : NULL;
}

void bt_program_watch(bt_program *program, bt_before_fn *before, void *self)
{
    program->before = before;
    program->watcher = self;
}

void bt__profiler_destroy(struct bt__profiler *p)
{
    if (p)
        bt_arena_destroy(p->arena);
}

/* ---- telling ---- */

static void add_nbytes(bt_profile_row *row, const bt_type *type)
{
    int64_t n = bt_type_nbytes(type);
    if (n < 0 || row->nbytes < 0 || !bt_add_int64(row->nbytes, n, &row->nbytes))
        row->nbytes = -1;
}

static bt_status tell(bt_ctx *ctx, struct bt__profiler *p,
                      const struct bt__profile_row *from, bt_profile_row *out)
{
    const bt_call *call = bt_as_call(from->value);
    bt_text sources;
    bt_text_init(&sources, p->arena);
    bt_prov_print(from->value->type->store, from->value->prov, &sources);
    *out = (bt_profile_row){ .name = from->name,
                             .sources = bt_text_get(&sources),
                             .ncall = from->ncall,
                             .ns = from->ns };
    if (!out->sources)
        return bt_no_memory();
    if (from->func) {
        out->multiply_adds = from->func->multiply_adds;
        out->nbytes = from->func->nbytes;
    } else if (call && call->op && !bt_invoke_kernel(from->value)) {
        BT_TRY(bt_call_cost(ctx, call, &out->multiply_adds));
        for (uint32_t i = 0; i < call->narg; i++)
            add_nbytes(out, call->args[i]->type);
        add_nbytes(out, call->base.type);
    } else {
        out->multiply_adds = out->nbytes = -1;
    }
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    const struct bt__profile_row *x = *(struct bt__profile_row *const *)a,
                                 *y = *(struct bt__profile_row *const *)b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return x < y ? -1 : 1; // in the order in which they ran
}

/* By name; of each, what it was most often first. */
static int by_runs(const void *a, const void *b)
{
    const bt_profile_dim *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order                ? order
           : x->nrun != y->nrun ? (x->nrun > y->nrun ? -1 : 1)
                                : (x->value > y->value) - (x->value < y->value);
}

static int by_calls(const void *a, const void *b)
{
    const bt_profile_function *x = a, *y = b;
    return x->ncall != y->ncall ? (x->ncall > y->ncall ? -1 : 1)
                                : strcmp(x->name, y->name);
}

static bt_status tell_functions(struct bt__profiler *p, bt_profile *out)
{
    const uint32_t n = p->functions.len;
    bt_profile_function *all = BT_NEWS(p->arena, bt_profile_function, n);
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_func *func = p->functions.at[i].key;
        all[i] = (bt_profile_function){ .name = func->name ? func->name : "fn",
                                        .ncall = (uintptr_t)p->functions.at[i].value };
    }
    if (n)
        qsort(all, n, sizeof(*all), by_calls);
    out->nfunction = n;
    out->functions = all;
    return NULL;
}

bt_status bt_program_profile(bt_program *program, const bt_profile **out)
{
    struct bt__profiler *p = program->profiler;
    if (!p)
        return bt_fail(program->ctx, BT_ERR_ARGUMENT, "@%s: no run was recorded",
                       program->entry->name);
    if (p->failed)
        return bt_no_memory();
    bt_profile *profile = BT_NEW(p->arena, bt_profile);
    bt_profile_row *rows = BT_NEWS(p->arena, bt_profile_row, p->rows.len);
    bt_profile_event *events = BT_NEWS(p->arena, bt_profile_event, p->events.len);
    struct bt__profile_row **order =
        BT_NEWS(p->arena, struct bt__profile_row *, p->rows.len);
    uint32_t *places = BT_NEWS(p->arena, uint32_t, p->rows.len);
    if (!profile || !rows || !events || !order || !places)
        return bt_no_memory();
    for (uint32_t i = 0; i < p->rows.len; i++)
        order[i] = &p->rows.at[i];
    if (p->rows.len)
        qsort(order, p->rows.len, sizeof(struct bt__profile_row *), by_time);
    for (uint32_t i = 0; i < p->rows.len; i++) {
        places[order[i] - p->rows.at] = i;
        BT_TRY(tell(program->ctx, p, order[i], &rows[i]));
    }
    for (uint32_t i = 0; i < p->events.len; i++) {
        events[i] = p->events.at[i];
        events[i].row = places[events[i].row];
    }
    if (p->dims.len)
        qsort(p->dims.at, p->dims.len, sizeof(*p->dims.at), by_runs);
    *profile = (bt_profile){ .nrow = p->rows.len,
                             .rows = rows,
                             .nevent = p->events.len,
                             .events = events,
                             .ndim = p->dims.len,
                             .dims = p->dims.at,
                             .nleft_out = p->nleft_out,
                             .ntrack = p->tracks.len,
                             .tracks = p->tracks.at };
    BT_TRY(tell_functions(p, profile));
    *out = profile;
    return NULL;
}
