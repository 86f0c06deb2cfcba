#include "env.h"

/* Values that are tuples show their types up to here. */
enum { MAX_FIELDS = 16, MAX_VALUES = 256 };

static void destroy(bt_object *object)
{
    struct env *env = (struct env *)(void *)object;
    bt_registry *registry = object->registry;
    env_unref(env->outer);
    bt_store_unref(env->store);
    bt_free(registry, env->at, env->cap * sizeof(*env->at));
    bt_free(registry, env, sizeof(*env));
    bt_registry_unref(registry);
}

struct env *env_create(bt_store *store, struct env *outer)
{
    bt_registry *registry = bt_store_registry(store);
    struct env *env = bt_alloc(registry, sizeof(*env));
    if (!env)
        return NULL;
    *env = (struct env){
        .tuple.base = { .kind = BT_OBJECT_TUPLE,
                        .nref = 1,
                        .registry = bt_registry_ref(registry),
                        .destroy = destroy },
        .outer = env_ref(outer),
        .store = bt_store_ref(store),
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

/* Data types stay. What this call itself determines is not known yet: dims stay open,
 * everything else becomes a hole. */
static const bt_type *resolve_leaf(struct bt_subst *subst, const bt_type *leaf)
{
    const struct resolving *r = subst->state;
    bt_subst again = { .leaf = resolve_leaf, .state = subst->state };
    if (leaf->kind == BT_TYPE_ADT)
        return bt_type_adt(r->store, ((const bt_adt_type *)(const void *)leaf)->def);
    const bt_type *found = find(r->env, leaf);
    if (found)
        return found->store == r->store ? found : bt_type_copy(r->store, &again, found);
    if (!bt_type_is_free(leaf))
        return NULL;
    return bt_type_kind_of(leaf) == BT_KIND_DIM
               ? bt_dim_opaque(r->store, NULL)
               : bt_type_hole(r->store, bt_type_kind_of(leaf));
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

static bt_status bind_leaf(struct env *env, const bt_type *leaf, const bt_type *term)
{
    if (!term)
        return bt_no_memory();
    return bt_type_is_free(leaf) && !find(env, leaf) ? env_bind(env, leaf, term) : NULL;
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

/* ---- from values ---- */

/* Values nest and share without bound; `left` bounds how many are looked at. */
static bt_status type_of(bt_store *store, const bt_object *object, uint32_t *left,
                         const bt_type **out)
{
    const bt_type *fields[MAX_FIELDS];
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    *out = NULL;
    if (tensor)
        *out = bt_type_tensor_of(store, tensor->dtype, tensor->rank, tensor->dims);
    if (tensor)
        return *out ? NULL : bt_no_memory();
    if (!tuple || tuple->nfield > MAX_FIELDS || !*left)
        return NULL;
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        --*left;
        BT_TRY(type_of(store, tuple->fields[i], left, &fields[i]));
        if (!fields[i] || !*left)
            return NULL;
    }
    *out = bt_type_tuple(store, tuple->nfield, fields);
    return *out ? NULL : bt_no_memory();
}

bt_status env_type_of(bt_store *store, const bt_object *object, const bt_type **out)
{
    uint32_t left = MAX_VALUES;
    return type_of(store, object, &left, out);
}

bt_status env_bind_value(struct env *env, bt_store *store, const bt_type *type,
                         const bt_object *object)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    if (!(type->has & (BT_HAS_VAR | BT_HAS_OPAQUE)))
        return NULL;
    if (type->kind == BT_TYPE_VAR) {
        const bt_type *shown = NULL;
        if (!find(env, type))
            BT_TRY(env_type_of(store, object, &shown));
        return shown ? bind_leaf(env, type, shown) : NULL;
    }
    if (tensor && type->kind == BT_TYPE_TENSOR)
        return bind_tensor(env, store, bt_as_tensor_type(type), tensor);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    const bt_list_type *fields = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && fields && i < fields->n && i < tuple->nfield; i++)
        BT_TRY(env_bind_value(env, store, fields->at[i], tuple->fields[i]));
    return NULL;
}

/* ---- from types ---- */

static bt_status bind_all(struct env *env, bt_store *store, uint32_t n,
                          const bt_type *const *types, const bt_type *const *terms)
{
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(env_bind_type(env, store, types[i], terms[i]));
    return NULL;
}

static bt_status bind_shape(struct env *env, bt_store *store, const bt_shape_type *shape,
                            const bt_shape_type *term)
{
    if (shape->rest ? term->n < shape->n || term->rest
                    : term->n != shape->n || term->rest)
        return NULL;
    uint32_t before = shape->rest ? shape->position : shape->n, after = shape->n - before;
    BT_TRY(bind_all(env, store, before, shape->dims, term->dims));
    BT_TRY(
        bind_all(env, store, after, shape->dims + before, term->dims + term->n - after));
    if (!shape->rest)
        return NULL;
    const bt_type *rest = bt_type_shape(store, term->n - shape->n, term->dims + before);
    return rest ? env_bind_type(env, store, shape->rest, rest) : bt_no_memory();
}

static bt_status bind_func(struct env *env, bt_store *store, const bt_func_type *type,
                           const bt_func_type *term)
{
    if (type->nparam || term->nparam || type->narg != term->narg)
        return NULL;
    BT_TRY(bind_all(env, store, type->narg, type->args, term->args));
    return env_bind_type(env, store, type->result, term->result);
}

bt_status env_bind_type(struct env *env, bt_store *store, const bt_type *type,
                        const bt_type *term)
{
    if (type->kind == BT_TYPE_VAR)
        return term->has & (BT_HAS_VAR | BT_HAS_OPAQUE | BT_HAS_HOLE)
                   ? NULL
                   : bind_leaf(env, type, term);
    if (!(type->has & BT_HAS_VAR) || type->kind != term->kind)
        return NULL;
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    if (tensor) {
        const bt_tensor_type *other = bt_as_tensor_type(term);
        BT_TRY(env_bind_type(env, store, tensor->dtype, other->dtype));
        return env_bind_type(env, store, tensor->shape, other->shape);
    }
    if (type->kind == BT_TYPE_SHAPE)
        return bind_shape(env, store, bt_as_shape_type(type), bt_as_shape_type(term));
    if (type->kind == BT_TYPE_FUNC)
        return bind_func(env, store, bt_as_func_type(type), bt_as_func_type(term));
    const bt_list_type *list = bt_as_list_type(type), *other = bt_as_list_type(term);
    if (type->kind != BT_TYPE_TUPLE && type->kind != BT_TYPE_REF &&
        type->kind != BT_TYPE_APPLY)
        return NULL;
    return list->n == other->n ? bind_all(env, store, list->n, list->at, other->at)
                               : NULL;
}
