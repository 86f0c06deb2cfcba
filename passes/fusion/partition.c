/*
 * partition: give targets what they claim by patterns.
 * Runs before fuse-ops, which leaves these calls alone. A match of a pattern becomes a
 * primitive function of the target if the target supports it, no value inside is used
 * outside, and all of it may be part of a primitive function. Its parameters are the
 * operands that *, const and names stand for, in the order of the pattern.
 *
 * Of the matches of one target the larger ones come first; a smaller one that shares
 * calls with a larger one is dropped. Targets are those of the pipeline, in order of
 * preference. An earlier target keeps its match, unless a later one has a match that
 * contains it, or is contained in it, and is faster there. Which one is faster follows
 * from the targets' costs, if both state them and they differ by more than their stated
 * error; whether one without patterns would be, pass place says, which knows what copies
 * take. A refusal is reported as a remark. The first target without patterns takes
 * everything that is left, so that those after it get nothing.
 * needs    effects
 * option   found-dims  as of fuse-ops
 * source   Relay's MergeComposite and AnnotateTarget
 */
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/op.h>

#include "common/devices.h"
#include "fusion/primitives.h"

struct options {
    int64_t found_dims;
};

static const bt_attr options[] = {
    BT_ATTR(struct options, found_dims, BOOL, "False", PRIMITIVES_FOUND_DIMS_DOC),
    { 0 },
};

/* A match of a pattern of a target. */
struct claim {
    uint32_t target;
    uint32_t position; /* of the root in its block */
    struct primitive_group group;
    struct primitive made;
    bt_cost cost;
    int is_taken;
};

struct pattern_list {
    bt_vec(const bt_call_pattern *) list;
};

struct partitioner {
    bt_ctx *ctx;
    bt_arena *arena;
    uint32_t ntarget;
    const bt_target_use *const *targets;
    struct pattern_list *patterns; /* by target */
    /* Of the block at hand: */
    const struct primitives *primitives;
    bt_map positions; /* binding -> its position, from 1 */
    bt_map uses;      /* binding -> how often it is used, in inner blocks too */
    bt_map owners;    /* binding -> the claim that has taken it */
    bt_vec(struct claim *) claims;
};

/* ---- uses ---- */

static bt_status add_use(struct partitioner *p, const bt_value *value)
{
    uintptr_t n = (uintptr_t)bt_map_find(&p->uses, value);
    if (!bt_map_find(&p->positions, value))
        return NULL;
    return bt_map_put(&p->uses, value, (void *)(n + 1)) ? NULL : bt_no_memory();
}

static bt_status count_uses(struct partitioner *p, const bt_block *block)
{
    bt_blocks blocks = { 0 };
    BT_TRY(bt_block_nested(p->arena, block, &blocks));
    for (uint32_t b = 0; b < blocks.len; b++) {
        block = blocks.at[b];
        BT_TRY(add_use(p, block->result));
        for (uint32_t i = 0; i < block->nbinding; i++) {
            const bt_value *value = block->bindings[i];
            for (uint32_t k = 0; k < bt_value_noperand(value); k++)
                BT_TRY(add_use(p, bt_value_operand(value, k)));
        }
    }
    return NULL;
}

/* Whether what is computed inside is used inside only. */
static int is_closed(const struct partitioner *p, const bt_call_match *match)
{
    for (uint32_t i = 0; i + 1 < match->nmember; i++) {
        uintptr_t inner = 0;
        for (uint32_t k = 0; k < match->nmember; k++) {
            for (uint32_t j = 0; j < bt_value_noperand(match->members[k]); j++)
                inner += bt_value_operand(match->members[k], j) == match->members[i];
        }
        if (inner != (uintptr_t)bt_map_find(&p->uses, match->members[i]))
            return 0;
    }
    return 1;
}

/* ---- matches ---- */

static int takes(void *state, const bt_call *call)
{
    const struct partitioner *p = state;
    return bt_map_find(&p->positions, call) &&
           primitives_can_have(p->primitives, &call->base);
}

static uintptr_t position_of(const struct partitioner *p, const bt_value *value)
{
    return (uintptr_t)bt_map_find(&p->positions, value);
}

/* In order of the block; there are few. */
static void sort_members(const struct partitioner *p, uint32_t n,
                         const bt_value **members)
{
    for (uint32_t i = 1; i < n; i++) {
        for (uint32_t k = i;
             k > 0 && position_of(p, members[k - 1]) > position_of(p, members[k]); k--) {
            const bt_value *swap = members[k];
            members[k] = members[k - 1];
            members[k - 1] = swap;
        }
    }
}

static int has_same(const struct claim *a, const struct claim *b)
{
    int same = a->target == b->target && a->group.nmember == b->group.nmember;
    for (uint32_t i = 0; same && i < a->group.nmember; i++)
        same = a->group.members[i] == b->group.members[i];
    return same;
}

static bt_status add_claim(struct partitioner *p, uint32_t target,
                           const bt_call_match *match)
{
    struct claim *claim = BT_NEW(p->arena, struct claim);
    const bt_value **members = BT_NEWS(p->arena, const bt_value *, match->nmember);
    if (!claim || !members)
        return bt_no_memory();
    for (uint32_t i = 0; i < match->nmember; i++)
        members[i] = match->members[i];
    sort_members(p, match->nmember, members);
    claim->target = target;
    claim->position = (uint32_t)position_of(p, members[match->nmember - 1]);
    claim->group = (struct primitive_group){ .prefix = p->targets[target]->target->name,
                                             .target = p->targets[target]->text,
                                             .nmember = match->nmember,
                                             .members = members,
                                             .nparam = match->noperand,
                                             .params = match->operands };
    for (uint32_t i = p->claims.len; i-- > 0;) {
        const struct claim *other = p->claims.at[i];
        if (other->target != target || other->position != claim->position)
            break;
        if (has_same(other, claim))
            return NULL;
    }
    return BT_PUSH(p->arena, &p->claims, claim) ? NULL : bt_no_memory();
}

/* Whether no call of a match is on another target's device. */
static int is_free(const struct partitioner *p, uint32_t target,
                   const bt_call_match *match)
{
    for (uint32_t i = 0; i < match->nmember; i++) {
        const uint32_t device = match->members[i]->device;
        const char *text = device_target(p->primitives->old, device);
        if (device && (!text || strcmp(text, p->targets[target]->text) != 0))
            return 0;
    }
    return 1;
}

static bt_status find_claims(struct partitioner *p, const bt_block *block)
{
    for (uint32_t t = 0; t < p->ntarget; t++) {
        for (uint32_t i = 0; i < block->nbinding; i++) {
            for (uint32_t k = 0; k < p->patterns[t].list.len; k++) {
                bt_call_match match;
                BT_TRY(bt_call_pattern_match(p->arena, p->patterns[t].list.at[k],
                                             block->bindings[i], takes, p, &match));
                if (match.nmember && is_closed(p, &match) && is_free(p, t, &match))
                    BT_TRY(add_claim(p, t, &match));
            }
        }
    }
    return NULL;
}

/* ---- choosing ---- */

static int before(const void *a, const void *b)
{
    const struct claim *x = *(struct claim *const *)a, *y = *(struct claim *const *)b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->group.nmember != y->group.nmember)
        return x->group.nmember > y->group.nmember ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static double trust(bt_cost cost)
{
    return cost.confidence > 0 ? (cost.confidence < 1 ? cost.confidence : 1) : 0;
}

static int is_faster(bt_cost a, bt_cost b)
{
    double doubted = b.ns * (trust(a) < trust(b) ? trust(a) : trust(b));
    return a.ns >= 0 && a.ns < doubted;
}

/* Whether the claim has all that an owner of its parts has. */
static int covers(const struct partitioner *p, const struct claim *claim,
                  const struct claim *owner)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < claim->group.nmember; i++)
        n += bt_map_find(&p->owners, claim->group.members[i]) == owner;
    return n == owner->group.nmember;
}

/* Whether to ask the target about a claim: nobody has its parts, or the claim covers
 * all claims that have them, and the costs may decide. */
static int is_open(const struct partitioner *p, const struct claim *claim)
{
    for (uint32_t i = 0; i < claim->group.nmember; i++) {
        const struct claim *owner = bt_map_find(&p->owners, claim->group.members[i]);
        if (owner &&
            (owner->target == claim->target || !p->targets[owner->target]->target->cost ||
             !p->targets[claim->target]->target->cost || !covers(p, claim, owner)))
            return 0;
    }
    return 1;
}

/* "nn.dense + add"; NULL: no memory. */
static const char *name_calls(struct partitioner *p, const struct claim *claim)
{
    bt_text text;
    bt_text_init(&text, p->arena);
    for (uint32_t i = 0; i < claim->group.nmember; i++)
        bt_text_addf(&text, "%s%s", i ? " + " : "",
                     bt_as_call(claim->group.members[i])->op->name);
    return bt_text_get(&text);
}

static bt_status tell_refusal(struct partitioner *p, const struct claim *claim,
                              const char *why)
{
    const char *calls = name_calls(p, claim);
    if (!calls)
        return bt_no_memory();
    const bt_value *root = claim->group.members[claim->group.nmember - 1];
    bt_remark(p->ctx, BT_REMARK_DETAIL,
              bt_fail_at(p->ctx, BT_ERR_UNSUPPORTED, root->type->store, root->span,
                         "target %s refuses %s: %s", claim->group.target, calls, why));
    return NULL;
}

/* *refusal: NULL, or why it does not take the claim's calls. */
static bt_status ask(struct partitioner *p, uint32_t target, const struct claim *claim,
                     bt_status *refusal)
{
    bt_status said = bt_target_supports(p->ctx, p->targets[target], claim->made.func);
    *refusal = said;
    if (!said || said->code == BT_ERR_UNSUPPORTED)
        return NULL;
    const char *calls = name_calls(p, claim);
    return bt_note(p->ctx, said, NULL, 0,
                   "target %s says so, asked whether it supports %s; a no has the code "
                   "BT_ERR_UNSUPPORTED",
                   p->targets[target]->text, calls ? calls : "this");
}

static bt_status take(struct partitioner *p, struct claim *claim)
{
    for (uint32_t i = 0; i < claim->group.nmember; i++) {
        struct claim *owner = bt_map_find(&p->owners, claim->group.members[i]);
        if (owner)
            owner->is_taken = 0;
        if (!bt_map_put(&p->owners, claim->group.members[i], claim))
            return bt_no_memory();
    }
    claim->is_taken = 1;
    return NULL;
}

static int beats_owners(const struct partitioner *p, const struct claim *claim)
{
    for (uint32_t i = 0; i < claim->group.nmember; i++) {
        const struct claim *owner = bt_map_find(&p->owners, claim->group.members[i]);
        if (owner && !is_faster(claim->cost, owner->cost))
            return 0;
    }
    return 1;
}

static bt_status consider(struct partitioner *p, struct primitives *primitives,
                          struct claim *claim)
{
    const bt_target_use *use = p->targets[claim->target];
    bt_status refusal;
    if (!is_open(p, claim))
        return NULL;
    BT_TRY(primitives_build(primitives, &claim->group, &claim->made));
    BT_TRY(ask(p, claim->target, claim, &refusal));
    if (refusal)
        return tell_refusal(p, claim, refusal->message);
    if (use->target->cost)
        BT_TRY(use->target->cost(p->ctx, use->instance, claim->made.func, &claim->cost));
    return beats_owners(p, claim) ? take(p, claim) : NULL;
}

static bt_status partition_block(void *state, struct primitives *primitives,
                                 const bt_block *block)
{
    struct partitioner *p = state;
    p->primitives = primitives;
    p->claims.len = 0;
    bt_map_init(&p->positions, p->arena, 0);
    bt_map_init(&p->uses, p->arena, 0);
    bt_map_init(&p->owners, p->arena, 0);
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (!bt_map_put(&p->positions, block->bindings[i], (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
    }
    BT_TRY(count_uses(p, block));
    BT_TRY(find_claims(p, block));
    if (p->claims.len)
        qsort(p->claims.at, p->claims.len, sizeof(*p->claims.at), before);
    for (uint32_t i = 0; i < p->claims.len; i++)
        BT_TRY(consider(p, primitives, p->claims.at[i]));
    for (uint32_t i = 0; i < p->claims.len; i++) {
        const struct claim *claim = p->claims.at[i];
        if (claim->is_taken)
            BT_TRY(primitives_add(primitives, &claim->group, &claim->made));
    }
    return NULL;
}

/* ---- the pass ---- */

/* A pattern of an operator that does not exist, or with a wrong number of arguments,
 * would never match, and nobody would notice. */
static bt_status check_pattern(struct partitioner *p, uint32_t target, const char *text,
                               const bt_call_pattern *pattern)
{
    bt_status fault = bt_call_pattern_check(p->ctx, pattern);
    if (!fault || fault->code == BT_ERR_MEMORY || fault->code == BT_ERR_CANCELLED)
        return fault;
    bt_remark(p->ctx, BT_REMARK_NOTE,
              bt_fail(p->ctx, fault->code, "target %s, pattern %s: %s",
                      p->targets[target]->text, text, fault->message));
    return NULL;
}

static bt_status read_patterns(struct partitioner *p, uint32_t *n)
{
    p->patterns = BT_NEWS(p->arena, struct pattern_list, p->ntarget);
    if (!p->patterns)
        return bt_no_memory();
    for (uint32_t i = 0; i < p->ntarget; i++) {
        const char *const *texts = p->targets[i]->target->patterns;
        if (!texts || !*texts)
            break; // it takes everything: nothing is left for those after it
        for (; texts && *texts; texts++, ++*n) {
            const bt_call_pattern *pattern;
            BT_TRY(bt_call_pattern_parse(p->ctx, p->arena, *texts, &pattern));
            BT_TRY(check_pattern(p, i, *texts, pattern));
            if (!BT_PUSH(p->arena, &p->patterns[i].list, pattern))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status partition(struct partitioner *p, bt_pass_call *call, bt_module **out)
{
    const struct options *o = call->options;
    uint32_t n = 0;
    BT_TRY(read_patterns(p, &n));
    if (n)
        return primitives_run(p->ctx, call, partition_block, p, (uint32_t)o->found_dims,
                              out);
    *out = bt_module_ref(call->module);
    return NULL;
}

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    if (!call->targets) {
        *out = bt_module_ref(call->module);
        return NULL;
    }
    struct partitioner p = { .ctx = ctx,
                             .arena = call->scratch,
                             .ntarget = call->targets->n,
                             .targets = call->targets->at };
    return partition(&p, call, out);
}

static const bt_pass passes[] = {
    {
        .name = "partition",
        .doc = "Give targets what they claim by patterns.\n"
               "before\n"
               "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(10, 8), float32], "
               "%b: Tensor[(10), float32]) {\n"
               "        %0 = nn.dense(%x, %w);\n"
               "        %1 = add(%0, %b);\n"
               "        %2 = nn.relu(%1);\n"
               "        nn.softmax(%2)\n"
               "    }\n"
               "after, for null, reference\n"
               "    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(10, 8), float32], "
               "%b: Tensor[(10), float32]) {\n"
               "        %0 = @null_nn_dense_add_nn_relu(%x, %w, %b);\n"
               "        nn.softmax(%0)\n"
               "    }\n"
               "    def @null_nn_dense_add_nn_relu(%p0: Tensor[(4, 8), float32], "
               "%p1: Tensor[(10, 8), float32],\n"
               "                                   %p2: Tensor[(10), float32], "
               "primitive=1, target=\"null\") {\n"
               "        %0 = nn.dense(%p0, %p1);\n"
               "        %1 = add(%0, %p2);\n"
               "        nn.relu(%1)\n"
               "    }",
        .level = 1,
        .needs = "effects",
        .keeps = "*",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_fusion_partition[] = { BT_PASSES(passes), { 0 } };
