/* A session made ready for the dims of a call: its table of sizes, and the memory that they
 * need. */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- budgets ---- */

static void add_need(uint64_t *need, uint64_t nbytes)
{
    *need = *need > UINT64_MAX - nbytes ? UINT64_MAX : *need + nbytes;
}

static void drop_block(const struct session *s, struct block *block)
{
    const bt_target_use *use = block->own ? s->compiled->targets[block->space - 1] : NULL;
    bt_tensor_unref(block->memory);
    if (use)
        use->target->free(use->instance, block->own);
    block->memory = NULL;
    block->own = NULL;
    block->size = -1;
}

/* Bytes of a target's memory: blocks, of which some may be larger than these dims need, and
 * constants. */
static uint64_t count_need(const struct session *s, uint32_t space, uint8_t *seen)
{
    uint64_t need = 0;
    memset(seen, 0, s->nconst);
    for (uint32_t i = 0; i < s->nblock; i++) {
        const struct block *block = &s->blocks[i];
        const int64_t nbytes = s->table[block->nbytes];
        if (block->space == space)
            add_need(&need, (uint64_t)(block->size > nbytes ? block->size : nbytes));
    }
    for (uint32_t i = 0; i < s->nstep; i++) {
        const struct step *step = &s->steps[i];
        const int is_here = step->space == space && step->kernel != COPY;
        for (uint32_t k = 0; is_here && k < step->nbuffer; k++) {
            const struct place *place = &step->buffers[k];
            if (place->kind == PLACE_CONST && !seen[place->index]++)
                add_need(&need, bt_tensor_nbytes(s->consts[place->index].given));
        }
    }
    return need;
}

/* Whether a target's memory has room for the session's blocks and its constants. What was
 * made for larger dims is given back first. */
static bt_status check_budget(bt_ctx *ctx, struct session *s, uint32_t space)
{
    const bt_target_use *use = s->compiled->targets[space - 1];
    uint8_t *seen = BT_NEWS(bt_ctx_scratch(ctx), uint8_t, s->nconst);
    if (!seen)
        return bt_no_memory();
    uint64_t need = count_need(s, space, seen);
    if (need > use->space->budget) {
        for (uint32_t i = 0; i < s->nblock; i++) {
            if (s->blocks[i].space == space)
                drop_block(s, &s->blocks[i]);
        }
        need = count_need(s, space, seen);
    }
    return need <= use->space->budget
               ? NULL
               : bt_fail(ctx, BT_ERR_LIMIT,
                         "@%s needs %" PRIu64 " bytes of memory %s of target %s, which "
                         "has %" PRIu64,
                         s->entry->name, need, use->space->name, use->text,
                         use->space->budget);
}

static bt_status check_budgets(bt_ctx *ctx, struct session *s)
{
    const bt_compiled *c = s->compiled;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < c->ntarget; i++) {
        if (c->targets[i]->space && c->targets[i]->space->budget)
            status = check_budget(ctx, s, i + 1);
    }
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- dims ---- */

/* The copies of callers' tensors. */
static void drop_copies(uint32_t n, struct leaf *leaves)
{
    for (uint32_t i = 0; leaves && i < n; i++) {
        bt_tensor_unref(leaves[i].own);
        leaves[i].own = NULL;
    }
}

static const char overflows[] = "a size has more than 63 bits";

/* Which dims make a size impossible, and of which value. */
static bt_status fail_dims(bt_ctx *ctx, const struct session *s, const int64_t *dims,
                           const bt_value *of, uint32_t code, const char *what)
{
    const bt_func *func = s->entry->func;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_text text;
    bt_text_init(&text, scratch);
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        bt_text_addf(&text, "%s%s=%" PRId64 "%s", i ? ", " : "with ",
                     var->name ? var->name : "?", dims[i], i + 1 < func->nvar ? "" : " ");
    }
    bt_status status = bt_text_get(&text)
                           ? bt_fail_at(ctx, code, of->type->store, of->span, "@%s: %s%s",
                                        s->entry->name, bt_text_get(&text), what)
                           : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}

/* Memory that a block has from other dims is kept where it is large enough. */
static bt_status make_block(bt_ctx *ctx, const struct session *s, const int64_t *dims,
                            struct block *block)
{
    const int64_t nbytes = s->table[block->nbytes];
    const uint64_t most = bt_ctx_limits(ctx)->bytes;
    char what[80];
    if (block->result || block->size >= nbytes)
        return NULL;
    drop_block(s, block);
    if (!block->space && (uint64_t)nbytes > most) {
        snprintf(what, sizeof(what),
                 "tensors in one block need more than %" PRIu64 " bytes", most);
        return fail_dims(ctx, s, dims, block->of, BT_ERR_LIMIT, what);
    }
    if (!block->space) {
        BT_TRY(bt_tensor_create_raw(ctx, BT_UINT8, 1, &nbytes, &block->memory));
    } else {
        BT_TRY(bt_compiled_alloc(ctx, s->compiled, block->space - 1, (uint64_t)nbytes,
                                 &block->own));
    }
    block->size = nbytes;
    return NULL;
}

static bt_status check_facts(bt_ctx *ctx, const struct session *s, const int64_t *dims)
{
    for (uint32_t i = 0; i < s->nfact; i++) {
        const struct fact *fact = &s->facts[i];
        int64_t left, right;
        if (!bt_dim_eval(&fact->left, dims, &left) ||
            !bt_dim_eval(&fact->right, dims, &right))
            return fail_dims(ctx, s, dims, fact->value, BT_ERR_ARGUMENT, overflows);
        if (!bt_check_holds(fact->check.relation, left, right))
            return bt_check_fail(ctx, fact->value, fact->of, &fact->check, left, right);
    }
    return NULL;
}

bt_status session_settle(bt_ctx *ctx, struct session *s, const int64_t *dims)
{
    s->is_settled = 0;
    drop_copies(s->narg, s->args);
    drop_copies(s->nresult, s->results);
    BT_TRY(check_facts(ctx, s, dims));
    for (uint32_t i = 0; i < s->nterm; i++) {
        const struct term *term = &s->terms[i];
        int64_t *number = &s->table[term->number];
        if (!bt_dim_eval(&term->code, dims, number))
            return fail_dims(ctx, s, dims, term->of, BT_ERR_ARGUMENT, overflows);
        if (*number < 0)
            return fail_dims(ctx, s, dims, term->of, BT_ERR_ARGUMENT,
                             "a dim is negative");
    }
    BT_TRY(check_budgets(ctx, s));
    for (uint32_t i = 0; i < s->nblock; i++)
        BT_TRY(make_block(ctx, s, dims, &s->blocks[i]));
    s->is_settled = 1;
    return NULL;
}

void session_unsettle(struct session *s)
{
    s->is_settled = 0;
    for (uint32_t i = 0; i < s->nblock; i++)
        drop_block(s, &s->blocks[i]);
    drop_copies(s->narg, s->args);
    drop_copies(s->nresult, s->results);
}
