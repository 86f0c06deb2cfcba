#include "gradients/adjoint_path.h"
#include "common/patterns.h"
#include "gradients/adjoint_cells.h"

struct adjoint_output *adjoint_output_of(const adjoint_outputs *all, const bt_value *old,
                                         uint32_t leaf)
{
    for (uint32_t i = 0; i < all->len; i++) {
        if (all->at[i].old == old && all->at[i].leaf == leaf)
            return &all->at[i];
    }
    return NULL;
}

/* ---- both ways in one block ---- */

static bt_status add_seeds(struct adjoint *a, struct adjoint_path *path,
                           const bt_type *type, const bt_value *old, uint32_t *leaf)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_param *seed;
    const bt_type *of;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(add_seeds(a, path, tuple->at[i], old, leaf));
    if (tuple)
        return NULL;
    const uint32_t at = (*leaf)++;
    if (!adjoint_has(a->diff, type))
        return NULL;
    BT_TRY(adjoint_type_of(a->diff, type, &of));
    BT_TRY(bt_build_param(a->copy.b, "d", of, &seed));
    BT_TRY(adjoint_add(a, old, at, &seed->base));
    return BT_PUSH(a->copy.arena, &path->seeds, seed) ? NULL : bt_no_memory();
}

static int is_param(const bt_block *region, const bt_value *old)
{
    for (uint32_t i = 0; i < region->nparam; i++) {
        if (&region->params[i]->base == old)
            return 1;
    }
    return 0;
}

static int is_bound(const bt_block *region, const bt_value *old)
{
    for (uint32_t i = 0; i < region->nbinding; i++) {
        if (region->bindings[i] == old)
            return 1;
    }
    return 0;
}

/* Adjoints that leave the path: of values that it does not bind. Those of a function's are
 * its parameters'. */
static bt_status find_outputs(struct adjoint *a, struct adjoint_path *path, int is_body)
{
    for (uint32_t i = 0; i < a->leaves.len; i++) {
        const bt_value *old = a->leaves.at[i].key;
        const bt_value *const *leaves = a->leaves.at[i].value;
        const int leaves_path = is_body == is_param(path->region, old) &&
                                (is_body || !is_bound(path->region, old));
        for (uint32_t k = 0; leaves_path && k < bt_type_nleaf(old->type); k++) {
            const struct adjoint_output *sum = adjoint_output_of(&path->sums, old, k);
            const struct adjoint_output output = { old, k, leaves[k], sum != NULL };
            if (leaves[k] && (is_body || !sum || leaves[k] != sum->adjoint) &&
                !BT_PUSH(a->copy.arena, &path->outputs, output))
                return bt_no_memory();
        }
    }
    return NULL;
}

/* A function gives an adjoint of each float leaf that it is asked for. */
static bt_status fill(struct adjoint *a, const bt_value *old)
{
    adjoint_values now = { 0 };
    if (!adjoint_is_active(a, old))
        return NULL;
    BT_TRY(adjoint_split(a, bt_map_find(&a->copy.values, old), &now));
    for (uint32_t i = 0; i < now.len; i++) {
        const bt_value *zero = now.at[i];
        if (!adjoint_has(a->diff, zero->type) || adjoint_of_leaf(a, old, i))
            continue;
        BT_TRY(adjoint_zero(a->diff, &a->copy, zero, zero->type, &zero));
        BT_TRY(adjoint_add(a, old, i, zero));
    }
    return NULL;
}

static bt_status make(struct adjoint *a, struct adjoint_path *path,
                      const bt_value **border)
{
    const bt_block *region = path->region;
    const bt_param **params;
    uint32_t leaf = 0;
    BT_TRY(copy_params(&a->copy, region->nparam, region->params, &params));
    BT_TRY(bt_block_begin(a->copy.b, region->nparam, params));
    BT_TRY(copy_bindings(&a->copy, region, region->result->type, &path->result));
    // an empty tuple stands between the ways
    BT_TRY(bt_build_tuple(a->copy.b, 0, NULL, border));
    BT_TRY(adjoint_sums_begin(a, path));
    BT_TRY(add_seeds(a, path, path->result->type, region->result, &leaf));
    BT_TRY(adjoint_reverse(a, region));
    if (path->pattern)
        BT_TRY(adjoint_reverse_pattern(a, path->pattern, path->data));
    for (uint32_t i = 0; region == a->func->block && i < region->nparam; i++)
        BT_TRY(fill(a, &region->params[i]->base));
    return bt_block_end(a->copy.b, *border, &path->joint);
}

bt_status adjoint_path_make(struct adjoint *a, const bt_block *region,
                            const bt_pattern *pattern, const bt_value *data,
                            struct adjoint_path *path)
{
    const bt_map around = a->leaves;
    const bt_value *border;
    *path = (struct adjoint_path){ .region = region, .pattern = pattern, .data = data };
    bt_map_init(&a->leaves, a->copy.arena, 0);
    bt_map_init(&path->live, a->copy.arena, 0);
    bt_status status = make(a, path, &border);
    if (!status)
        status = find_outputs(a, path, region == a->func->block);
    a->leaves = around;
    BT_TRY(status);
    while (path->joint->bindings[path->nforward] != border)
        path->nforward++;
    return NULL;
}

/* ---- what the way back needs ---- */

static bt_status use(bt_map *used, const bt_value *value)
{
    return bt_map_put(used, value, (void *)1) ? NULL : bt_no_memory();
}

static bt_status use_operands(bt_arena *arena, bt_map *used, const bt_value *binding)
{
    for (uint32_t i = 0; i < bt_value_noperand(binding); i++)
        BT_TRY(use(used, bt_value_operand(binding, i)));
    for (uint32_t r = 0; r < bt_value_nregion(binding); r++) {
        bt_blocks blocks = { 0 };
        BT_TRY(bt_block_nested(arena, bt_value_region(binding, r), &blocks));
        for (uint32_t b = 0; b < blocks.len; b++) {
            BT_TRY(use(used, blocks.at[b]->result));
            for (uint32_t i = 0; i < blocks.at[b]->nbinding; i++) {
                const bt_value *inner = blocks.at[b]->bindings[i];
                for (uint32_t k = 0; k < bt_value_noperand(inner); k++)
                    BT_TRY(use(used, bt_value_operand(inner, k)));
            }
        }
    }
    return NULL;
}

static bt_status keep(struct adjoint *a, struct adjoint_path *path, const bt_map *used,
                      const bt_value *value)
{
    if (!bt_map_find(used, value))
        return NULL;
    return BT_PUSH(a->copy.arena, &path->kept, value) ? NULL : bt_no_memory();
}

bt_status adjoint_path_close(struct adjoint *a, struct adjoint_path *path)
{
    const bt_block *joint = path->joint;
    bt_map used;
    bt_map_init(&used, a->copy.arena, 0);
    for (uint32_t i = 0; i < path->outputs.len; i++) {
        if (path->outputs.at[i].adjoint)
            BT_TRY(use(&used, path->outputs.at[i].adjoint));
    }
    for (uint32_t i = joint->nbinding; i-- > path->nforward + 1;) {
        const bt_value *binding = joint->bindings[i];
        if (!bt_map_find(&used, binding) && !adjoint_writes(a->diff, binding))
            continue;
        if (!bt_map_put(&path->live, binding, (void *)1))
            return bt_no_memory();
        BT_TRY(use_operands(a->copy.arena, &used, binding));
    }
    for (uint32_t i = 0; i < joint->nparam; i++)
        BT_TRY(keep(a, path, &used, &joint->params[i]->base));
    for (uint32_t i = 0; i < path->nforward; i++)
        BT_TRY(keep(a, path, &used, joint->bindings[i]));
    BT_TRY(adjoint_keep_dims(a, path));
    return adjoint_find_around(a, path);
}

/* ---- both ways taken out ---- */

/* What the copy does not have is from around it, and stays. */
static bt_status from_around(struct copy *c, const bt_value *old, const bt_type *wanted,
                             const bt_value **out)
{
    (void)c;
    (void)wanted;
    if (old->kind != BT_VALUE_GLOBAL)
        *out = old;
    return NULL;
}

void adjoint_copy_init(struct adjoint *a, struct copy *out)
{
    *out = (struct copy){ .ctx = a->copy.ctx,
                          .store = a->copy.store,
                          .arena = a->copy.arena,
                          .b = a->copy.b,
                          .operand = from_around };
    bt_map_init(&out->values, out->arena, 0);
    bt_map_init(&out->types, out->arena, 0);
}

static bt_status build_tape(struct copy *c, const struct adjoint_path *path,
                            const bt_type *tape, const bt_value **out)
{
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, path->kept.len);
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < path->kept.len; i++)
        BT_TRY(copy_operand(c, path->kept.at[i], NULL, &args[i]));
    return adjoint_build_ctor(c, path->ctor, tape, path->kept.len, args, out);
}

bt_status adjoint_path_forward(struct copy *c, const struct adjoint_path *path,
                               const bt_type *tape, const bt_value **out)
{
    const bt_value *both[2];
    for (uint32_t i = 0; i < path->nforward; i++)
        BT_TRY(copy_binding(c, path->joint->bindings[i]));
    BT_TRY(copy_operand(c, path->result, NULL, &both[0]));
    bt_builder_like(c->b, both[0]);
    bt_builder_name(c->b, NULL);
    BT_TRY(build_tape(c, path, tape, &both[1]));
    return bt_build_tuple(c->b, 2, both, out);
}

static bt_status output_of(struct differentiation *diff, struct copy *c,
                           const struct adjoint_path *path,
                           const struct adjoint_output *wanted, const bt_value **out)
{
    const struct adjoint_output *output =
        adjoint_output_of(&path->outputs, wanted->old, wanted->leaf);
    if (output && output->adjoint)
        return copy_operand(c, output->adjoint, NULL, out);
    // `adjoint` of what is wanted says what the zeros are like
    BT_TRY(copy_operand(c, wanted->adjoint, NULL, out));
    return wanted->is_sum ? NULL : adjoint_zero(diff, c, *out, (*out)->type, out);
}

static bt_status clause_of(struct differentiation *diff, const struct copy *around,
                           const struct adjoint_path *path, const bt_value *const *seeds,
                           uint32_t nwanted, const struct adjoint_output *wanted,
                           bt_clause *out)
{
    struct copy c = *around;
    const bt_param **params = BT_NEWS(c.arena, const bt_param *, path->kept.len);
    const bt_value **outputs = BT_NEWS(c.arena, const bt_value *, nwanted), *result;
    if (!params || !outputs)
        return bt_no_memory();
    bt_map_init(&c.types, c.arena, 0);
    for (uint32_t i = 0; i < around->types.len; i++)
        BT_TRY(copy_put_type(&c, around->types.at[i].key, around->types.at[i].value));
    bt_map_init(&c.values, c.arena, 0);
    for (uint32_t i = 0; i < around->values.len; i++)
        BT_TRY(copy_put(&c, around->values.at[i].key, around->values.at[i].value));
    for (uint32_t i = 0; i < path->kept.len; i++) {
        const bt_type *type;
        BT_TRY(adjoint_bring_dims(&c, path, path->kept.at[i]->type));
        BT_TRY(copy_type(&c, path->kept.at[i]->type, &type));
        BT_TRY(bt_build_param(c.b, path->kept.at[i]->name, type, &params[i]));
        BT_TRY(copy_put(&c, path->kept.at[i], &params[i]->base));
    }
    *out = (bt_clause){ 0 };
    BT_TRY(pattern_ctor(c.store, c.arena, path->ctor, params, &out->pattern));
    BT_TRY(bt_block_begin(c.b, path->kept.len, params));
    for (uint32_t i = 0; i < path->seeds.len; i++) {
        const bt_value *to = &path->seeds.at[i]->base, *seed;
        BT_TRY(adjoint_take_seed(&c, to->type, seeds[i], &seed));
        BT_TRY(copy_put(&c, to, seed));
    }
    for (uint32_t i = path->nforward + 1; i < path->joint->nbinding; i++) {
        if (bt_map_find(&path->live, path->joint->bindings[i]))
            BT_TRY(copy_binding(&c, path->joint->bindings[i]));
    }
    for (uint32_t i = 0; i < nwanted; i++)
        BT_TRY(output_of(diff, &c, path, &wanted[i], &outputs[i]));
    if (nwanted == 1)
        result = outputs[0];
    else
        BT_TRY(bt_build_tuple(c.b, nwanted, outputs, &result));
    return bt_block_end(c.b, result, &out->block);
}

bt_status adjoint_path_backward(struct differentiation *diff, struct copy *c,
                                const bt_value *tape, uint32_t npath,
                                const struct adjoint_path *paths,
                                const bt_value *const *seeds, uint32_t nwanted,
                                const struct adjoint_output *wanted, const bt_value **out)
{
    bt_clause *clauses = BT_NEWS(c->arena, bt_clause, npath);
    if (!clauses)
        return bt_no_memory();
    for (uint32_t i = 0; i < npath; i++)
        BT_TRY(clause_of(diff, c, &paths[i], seeds, nwanted, wanted, &clauses[i]));
    return bt_build_match(c->b, tape, npath, clauses, NULL, out);
}
