#include "memory.h"

#include <baton/compiled.h>
#include <baton/op.h>

/* Where a tensor lies, and when; times are launches, counted from 1. */
struct row {
    int64_t nbytes, offset;
    uint32_t storage; /* by number */
    uint32_t first, last;
    uint32_t escapes;
    const bt_call *tensor;
    const char *
        what; /* the kernel that writes it first, and its sources; or what is copied there */
};

struct plan {
    bt_arena *arena;
    const bt_module *module;
    const bt_func *func;
    uint32_t nrow;
    struct row *rows;
    uint32_t *launches;   /* position of a binding -> launches up to it */
    bt_map storages;      /* memory.alloc_storage -> its number, from 1 */
    int64_t shared, peak; /* bytes that tensors share, and most in use at once */
    int64_t sum, results; /* of all tensors that share, and of the result */
};

/* ---- reading the planned function ---- */

/* The tensor that a value is, or a view of. */
static const bt_value *viewed(const bt_value *value)
{
    const bt_call *view;
    while ((view = bt_as_op_call(value, "memory.view")) != NULL)
        value = view->args[0];
    return value;
}

/* "copy of %x, to far" */
static void describe_copy(const struct plan *p, const bt_call *copy,
                          const bt_live_range *range, bt_text *out)
{
    const bt_value *from = viewed(copy->args[0]);
    const char *const *space =
        bt_attr_find(range->storage->op, range->storage->attrs, "space", BT_ATTR_STRING);
    bt_text_addf(out, "copy of ");
    for (uint32_t i = 0; i < p->nrow; i++) {
        if (&p->rows[i].tensor->base == from)
            bt_text_addf(out, "tensor %u", i);
    }
    if (from->kind == BT_VALUE_PARAM)
        bt_text_addf(out, "%%%s", from->name ? from->name : "input");
    else if (from->kind == BT_VALUE_CONST)
        bt_text_addf(out, "a constant");
    bt_text_addf(out, ", to %s", space && **space ? *space : "the host");
}

/* What writes it first. */
static bt_status describe(const struct plan *p, const bt_live_range *range,
                          const char **out)
{
    const bt_block *block = p->func->block;
    const bt_value *writer =
        range->first < block->nbinding ? block->bindings[range->first] : NULL;
    const char *kernel = writer ? bt_invoke_kernel(writer) : NULL;
    const bt_call *copy = writer ? bt_as_op_call(writer, "memory.copy") : NULL;
    bt_text text;
    bt_text_init(&text, p->arena);
    if (kernel) {
        bt_text from;
        bt_text_init(&from, p->arena);
        bt_prov_print(p->module->store, writer->prov, &from);
        bt_text_addf(&text, "%s", kernel);
        if (from.len)
            bt_text_addf(&text, "  %s", bt_text_get(&from));
    } else if (copy) {
        describe_copy(p, copy, range, &text);
    } else {
        bt_text_addf(&text, "(nothing)");
    }
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* read_plan has seen that all are numbers. */
static int64_t number(const bt_type *dim)
{
    int64_t n = 0;
    (void)bt_dim_is_const(dim, &n);
    return n;
}

static int is_in_place(const bt_live_range *ranges, const bt_live_range *range)
{
    for (uint32_t i = 0; i < range->nalias; i++) {
        const bt_live_range *under = &ranges[range->aliases[i]];
        if (under->storage == range->storage && under->offset == range->offset)
            return 1;
    }
    return 0;
}

/* Bindings at which a tensor's bytes are those of another one, which is made of it, or which it is
 * taken out of. */
struct inside {
    uint32_t first, last;
};

static struct inside *find_inside(const struct plan *p, uint32_t n,
                                  const bt_live_range *ranges)
{
    struct inside *all = BT_NEWS(p->arena, struct inside, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i].first = UINT32_MAX;
    for (uint32_t i = 0; all && i < n; i++) {
        const bt_live_range *whole = &ranges[i];
        int64_t at = number(whole->offset);
        for (uint32_t k = 0; k < whole->npart; k++) {
            const bt_live_range *part = &ranges[whole->parts[k]];
            struct inside *in = &all[whole->parts[k]];
            if (part->storage == whole->storage && number(part->offset) == at) {
                in->first = whole->first < in->first ? whole->first : in->first;
                in->last = whole->last > in->last ? whole->last : in->last;
            }
            at += number(part->nbytes);
        }
        const bt_live_range *from = whole->slice_of ? &ranges[whole->slice_of - 1] : NULL;
        if (from && from->storage == whole->storage &&
            number(whole->offset) - number(from->offset) == whole->slice_at)
            all[i] = (struct inside){ from->first, from->last };
    }
    return all;
}

/* The most bytes in use at once; what is computed in place, or lies in what is made of it,
 * is counted once. */
static bt_status find_peak(struct plan *p, uint32_t n, const bt_live_range *ranges)
{
    const struct inside *inside = find_inside(p, n, ranges);
    if (!inside)
        return bt_no_memory();
    for (uint32_t at = 0; at < p->func->block->nbinding; at++) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            const bt_live_range *range = &ranges[i];
            if (!range->escapes && range->first <= at && at <= range->last &&
                !(range->first == at && is_in_place(ranges, range)) &&
                !(inside[i].first <= at && at <= inside[i].last))
                sum += number(range->nbytes);
        }
        p->peak = sum > p->peak ? sum : p->peak;
    }
    return NULL;
}

static bt_status count_launches(struct plan *p)
{
    uint32_t n = p->func->block->nbinding, launch = 0;
    p->launches = BT_NEWS(p->arena, uint32_t, n + 1);
    bt_map_init(&p->storages, p->arena, 0);
    if (!p->launches)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_value *value = p->func->block->bindings[i];
        const bt_call *invoke = bt_as_op_call(value, "memory.invoke");
        launch += invoke && !bt_invoke_is_done(invoke);
        p->launches[i] = launch;
        if (bt_as_op_call(value, "memory.alloc_storage") &&
            !bt_map_put(&p->storages, value, (void *)(uintptr_t)(p->storages.len + 1)))
            return bt_no_memory();
    }
    p->launches[n] = launch;
    return NULL;
}

static bt_status add_rows(struct plan *p, uint32_t n, const bt_live_range *ranges)
{
    bt_map seen;
    bt_map_init(&seen, p->arena, 0);
    for (uint32_t i = 0; i < n; i++) {
        const bt_live_range *range = &ranges[i];
        struct row *row = &p->rows[p->nrow];
        if (range->first > range->last)
            continue;
        *row = (struct row){
            .tensor = range->tensor,
            .nbytes = number(range->nbytes),
            .offset = number(range->offset),
            .storage = (uint32_t)(uintptr_t)bt_map_find(&p->storages, range->storage),
            .first = p->launches[range->first],
            .last = p->launches[range->last],
            .escapes = range->escapes,
        };
        BT_TRY(describe(p, range, &row->what));
        p->nrow++;
        p->sum += range->escapes ? 0 : row->nbytes;
        if (bt_map_find(&seen, range->storage))
            continue;
        if (!bt_map_put(&seen, range->storage, p))
            return bt_no_memory();
        *(range->escapes ? &p->results : &p->shared) +=
            number(bt_call_dim(range->storage, "size"));
    }
    return NULL;
}

static bt_status read_plan(struct tool *tool, const bt_program *program, struct plan *p)
{
    const bt_global *entry;
    uint32_t n;
    bt_live_range *ranges;
    *p = (struct plan){ .arena = bt_ctx_scratch(tool->ctx),
                        .module = bt_program_compiled(program)->module };
    BT_TRY(bt_module_entry(tool->ctx, p->module, bt_program_entry(program), &entry));
    p->func = entry->func;
    if (p->func->nvar)
        return bt_fail_at(
            tool->ctx, BT_ERR_UNSUPPORTED, p->module->store, p->func->span,
            "memory is shown of programs whose dims are numbers: --dim gives them");
    BT_TRY(bt_live_ranges(tool->ctx, p->arena, p->func, &n, &ranges));
    p->rows = BT_NEWS(p->arena, struct row, n);
    if (!p->rows)
        return bt_no_memory();
    BT_TRY(count_launches(p));
    BT_TRY(add_rows(p, n, ranges));
    return find_peak(p, n, ranges);
}

/* ---- printing ---- */

int print_memory(struct tool *tool, const bt_program *program)
{
    struct plan p;
    TRY_TOOL(tool, read_plan(tool, program, &p));
    printf("memory: %lld bytes shared, of which %lld are in use at once; %lld if none "
           "were shared; %lld of results\n",
           (long long)p.shared, (long long)p.peak, (long long)p.sum,
           (long long)p.results);
    printf("%6s %12s %7s %12s %9s  %s\n", "tensor", "bytes", "storage", "offset",
           "launches", "written by");
    for (uint32_t i = 0; i < p.nrow; i++) {
        const struct row *row = &p.rows[i];
        char range[32];
        if (row->escapes)
            snprintf(range, sizeof(range), "%u..", row->first);
        else
            snprintf(range, sizeof(range), "%u..%u", row->first, row->last);
        printf("%6u %12lld %7u %12lld %9s  %s\n", i, (long long)row->nbytes,
               row->storage - 1, (long long)row->offset, range, row->what);
    }
    return EXIT_OK;
}

json_t *describe_memory(struct tool *tool, const bt_program *program)
{
    struct plan p;
    if (read_plan(tool, program, &p))
        return NULL;
    json_t *list = json_array();
    for (uint32_t i = 0; i < p.nrow; i++) {
        const struct row *row = &p.rows[i];
        json_array_append_new(
            list,
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "bytes",
                      (json_int_t)row->nbytes, "storage", (json_int_t)row->storage - 1,
                      "offset", (json_int_t)row->offset, "first", (json_int_t)row->first,
                      "last", (json_int_t)row->last, "is_result", (int)row->escapes,
                      "written_by", row->what));
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "shared_bytes", (json_int_t)p.shared,
                     "live_bytes", (json_int_t)p.peak, "unshared_bytes",
                     (json_int_t)p.sum, "result_bytes", (json_int_t)p.results, "tensors",
                     list);
}
