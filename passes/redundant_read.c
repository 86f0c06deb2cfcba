/*
 * redundant-read: what a cell is known to hold is not read from it.
 * Known is what the cell was made with, what was written to it or read from it before, in
 * this block or one around it, as long as nothing that may be the same cell was written
 * since: two `ref`s are two cells, and a call that writes may write to any. A closure's
 * body knows nothing.
 * needs    effects
 * keeps    fused, matched; not what closures are
 * source   Muchnick 1997, section 12.5 (redundant load elimination); DLVM, figure 2
 */
#include <baton/pass.h>

/* A cell and its content, the latest first. */
struct known {
    const bt_value *cell, *content;
    const struct known *next;
};

struct reads {
    const bt_effects *effects;
    bt_arena *arena;
    bt_map contents; /* of reads that are redundant: the old value -> the old content */
};

/* What stands for a value: the content that it was, if it is a redundant read. */
static const bt_value *content_of(const struct reads *r, const bt_value *value)
{
    const bt_value *content = bt_map_find(&r->contents, value);
    return content ? content : value;
}

static int may_be_same(const bt_value *a, const bt_value *b)
{
    return a == b || !bt_as_ref(a) || !bt_as_ref(b);
}

static bt_status know(const struct reads *r, const bt_value *cell,
                      const bt_value *content, const struct known **known)
{
    struct known *now = BT_NEW(r->arena, struct known);
    if (!now)
        return bt_no_memory();
    *now = (struct known){ cell, content_of(r, content), *known };
    *known = now;
    return NULL;
}

/* Without those that a write to a cell may change. */
static bt_status forget(const struct reads *r, const bt_value *cell,
                        const struct known **known)
{
    const struct known *kept = NULL;
    for (const struct known *k = *known; k; k = k->next) {
        if (!may_be_same(k->cell, cell))
            BT_TRY(know(r, k->cell, k->content, &kept));
    }
    *known = kept;
    return NULL;
}

static bt_status read_cell(struct reads *r, const bt_read *read,
                           const struct known **known)
{
    const bt_value *cell = content_of(r, read->ref);
    const struct known *k = *known;
    while (k && k->cell != cell)
        k = k->next;
    if (!k || k->content->type != read->base.type)
        return know(r, cell, &read->base, known);
    return bt_map_put(&r->contents, &read->base, (void *)(uintptr_t)k->content)
               ? NULL
               : bt_no_memory();
}

static bt_status look_at_block(struct reads *, const bt_block *, const struct known *);

static bt_status look_at(struct reads *r, const bt_value *value,
                         const struct known **known)
{
    const bt_ref_value *ref = bt_as_ref(value);
    const bt_read *read = bt_as_read(value);
    const bt_write *write = bt_as_write(value);
    for (uint32_t i = 0; i < bt_value_nregion(value); i++)
        BT_TRY(look_at_block(r, bt_value_region(value, i),
                             value->kind == BT_VALUE_CLOSURE ? NULL : *known));
    if (ref)
        return know(r, value, ref->content, known);
    if (read)
        return read_cell(r, read, known);
    if (write) {
        const bt_value *cell = content_of(r, write->ref);
        BT_TRY(forget(r, cell, known));
        return know(r, cell, write->content, known);
    }
    if (bt_effects_of(r->effects, value) & BT_EFFECT_WRITES)
        *known = NULL;
    return NULL;
}

/* Regions nest no deeper than the verifier lets them. */
static bt_status look_at_block(struct reads *r, const bt_block *block,
                               const struct known *known)
{
    for (uint32_t i = 0; i < block->nbinding; i++)
        BT_TRY(look_at(r, block->bindings[i], &known));
    return NULL;
}

static bt_status replace_read(bt_rewrite *rewrite, const bt_read *read,
                              const bt_value **out)
{
    const struct reads *r = bt_rewrite_state(rewrite);
    const bt_value *content = bt_map_find(&r->contents, &read->base);
    return content ? bt_rewrite_operand(rewrite, content, out) : NULL;
}

static const bt_rewriter rewriter = { .read_ = replace_read };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    struct reads r = { .arena = call->scratch };
    const void *effects;
    BT_TRY(bt_pass_analysis(ctx, call, "effects", &effects));
    r.effects = effects;
    bt_map_init(&r.contents, call->scratch, 0);
    for (uint32_t i = 0; i < call->module->nglobal; i++) {
        if (call->module->globals[i]->kind == BT_GLOBAL_FUNC)
            BT_TRY(look_at_block(&r, call->module->globals[i]->func->block, NULL));
    }
    return bt_rewrite_module(ctx, call, &rewriter, &r, out);
}

static const bt_pass passes[] = {
    {
        .name = "redundant-read",
        .doc = "What a cell is known to hold is not read from it.\n"
               "before\n"
               "    def @main(%x: float32, %y: float32) {\n"
               "        %0 = ref(%x);\n"
               "        %1 = ref_read(%0);\n"
               "        ref_write(%0, %y);\n"
               "        %3 = ref_read(%0);\n"
               "        add(%1, %3)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32, %y: float32) {\n"
               "        %0 = ref(%x);\n"
               "        ref_write(%0, %y);\n"
               "        add(%x, %y)\n"
               "    }",
        .level = 2,
        .needs = "effects",
        .keeps = "fused matched",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_redundant_read[] = { BT_PASSES(passes), { 0 } };
