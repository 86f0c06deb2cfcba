#include "env.h"

static void destroy(bt_object *object)
{
    struct env *env = (struct env *)(void *)object;
    bt_registry *registry = object->registry;
    env_unref(env->outer);
    bt_free(registry, env->at, env->cap * sizeof(*env->at));
    bt_free(registry, env, sizeof(*env));
    bt_registry_unref(registry);
}

struct env *env_create(bt_registry *registry, struct env *outer)
{
    struct env *env = bt_alloc(registry, sizeof(*env));
    if (!env)
        return NULL;
    *env = (struct env){
        .tuple.base = { .kind = BT_OBJECT_TUPLE,
                        .nref = 1,
                        .registry = bt_registry_ref(registry),
                        .destroy = destroy },
        .outer = env_ref(outer),
    };
    return env;
}

struct env *env_ref(struct env *env)
{
    if (env)
        bt_object_ref(&env->tuple.base);
    return env;
}

void env_unref(struct env *env)
{
    if (env)
        bt_object_unref(&env->tuple.base);
}

static const bt_type *find(const struct env *env, const bt_type *leaf)
{
    for (; env; env = env->outer) {
        for (uint32_t i = 0; i < env->n; i++) {
            if (env->at[i].leaf == leaf)
                return env->at[i].term;
        }
    }
    return NULL;
}

struct resolving {
    const struct env *env;
    bt_store *store;
};

/* Data types are what they are; a dim that this call itself determines is not known yet
 * and stays open. */
static const bt_type *resolve_leaf(struct bt_subst *subst, const bt_type *leaf)
{
    const struct resolving *r = subst->state;
    if (leaf->kind == BT_TYPE_ADT)
        return bt_type_adt(r->store, ((const bt_adt_type *)(const void *)leaf)->def);
    const bt_type *found = find(r->env, leaf);
    return found || bt_type_kind_of(leaf) != BT_KIND_DIM ? found
                                                         : bt_dim_opaque(r->store, NULL);
}

bt_status env_resolve(bt_ctx *ctx, struct env *env, bt_store *store, const bt_type *type,
                      const bt_type **out)
{
    struct resolving r = { env, store };
    bt_subst subst = { .leaf = resolve_leaf, .state = &r };
    *out = bt_type_copy(store, &subst, type);
    return *out ? NULL : bt_store_why(ctx, store);
}

bt_status env_bind(struct env *env, const bt_type *leaf, const bt_type *term)
{
    if (env->n == env->cap) {
        uint32_t cap = env->cap ? 2 * env->cap : 8;
        void *grown = bt_realloc(env->tuple.base.registry, env->at,
                                 env->cap * sizeof(*env->at), cap * sizeof(*env->at));
        if (!grown)
            return bt_no_memory();
        env->at = grown;
        env->cap = cap;
    }
    env->at[env->n++] = (struct env_entry){ .leaf = leaf, .term = term };
    return NULL;
}

static int is_leaf(const bt_type *type)
{
    return type->kind == BT_TYPE_VAR || type->kind == BT_TYPE_OPAQUE;
}

static bt_status bind_leaf(struct env *env, const bt_type *leaf, const bt_type *term)
{
    if (!term)
        return bt_no_memory();
    return is_leaf(leaf) && !find(env, leaf) ? env_bind(env, leaf, term) : NULL;
}

static bt_status bind_tensor(struct env *env, bt_store *store, const bt_tensor_type *type,
                             const bt_tensor *tensor)
{
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < tensor->rank; i++) {
        dims[i] = bt_dim(store, tensor->dims[i]);
        if (!dims[i])
            return bt_no_memory();
    }
    BT_TRY(bind_leaf(env, type->dtype, bt_type_dtype(store, tensor->dtype)));
    const bt_shape_type *shape = bt_as_shape_type(type->shape);
    if (!shape)
        return bind_leaf(env, type->shape, bt_type_shape(store, tensor->rank, dims));
    uint32_t before = shape->rest ? shape->position : shape->n, after = shape->n - before;
    if (shape->n > tensor->rank || (!shape->rest && shape->n != tensor->rank))
        return NULL;
    for (uint32_t i = 0; i < before; i++)
        BT_TRY(bind_leaf(env, shape->dims[i], dims[i]));
    for (uint32_t i = 0; i < after; i++)
        BT_TRY(bind_leaf(env, shape->dims[before + i], dims[tensor->rank - after + i]));
    return shape->rest
               ? bind_leaf(env, shape->rest,
                           bt_type_shape(store, tensor->rank - shape->n, dims + before))
               : NULL;
}

static const bt_type *tensor_type(bt_store *store, const bt_tensor *tensor)
{
    return bt_type_tensor_of(store, tensor->dtype, tensor->rank, tensor->dims);
}

bt_status env_bind_value(struct env *env, bt_store *store, const bt_type *type,
                         const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (!(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    if (tensor && type->kind == BT_TYPE_VAR)
        return bind_leaf(env, type, tensor_type(store, tensor));
    if (tensor && type->kind == BT_TYPE_TENSOR)
        return bind_tensor(env, store, bt_as_tensor_type(type), tensor);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_list_type *fields = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && fields && i < fields->n && i < tuple->nfield; i++)
        BT_TRY(env_bind_value(env, store, fields->at[i], tuple->fields[i]));
    return NULL;
}
