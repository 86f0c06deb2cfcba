/* Random types over random dims: functions with parameters of their own among them. */
#ifndef RANDOM_TYPES_H
#define RANDOM_TYPES_H

#include "random_dims.h"

/* Random terms over the same choices but any variables: the choices follow from the seed,
 * the order in which terms come to be does not. */
struct scene {
    struct random_dim pool[40];
    const bt_type *vars[NVAR];
    const bt_type *element; /* a type variable */
};

static inline void prepare(bt_store *in, struct scene *scene, uint64_t seed,
                           int backwards)
{
    bt_type_param element = { .kind = BT_KIND_TYPE };
    random_state = seed;
    for (int i = 0; i < NVAR; i++) {
        int at = backwards ? NVAR - 1 - i : i;
        // All are variables here, so that all can be closed over.
        scene->vars[at] = bt_type_var(in, &random_params[at], NULL);
    }
    scene->element = bt_type_var(in, &element, NULL);
    random_pool(in, scene->pool, 40, scene->vars);
}

static inline const bt_type *random_type(bt_store *in, const struct scene *scene,
                                         int depth)
{
    const bt_type *at[3];
    int choice = depth ? (int)(random_next() % 6) : 0;
    if (choice < 2) {
        for (int i = 0; i < 3; i++) {
            const struct random_dim *d = &scene->pool[random_next() % 40];
            at[i] = d->term ? d->term : scene->vars[0];
        }
        if (random_next() % 8 == 0)
            return scene->element;
        return bt_type_tensor(in, bt_type_shape(in, 3, at), bt_type_dtype(in, BT_INT8));
    }
    for (int i = 0; i < 3; i++)
        at[i] = random_type(in, scene, depth - 1);
    if (choice == 2)
        return bt_type_ref(in, at[0]);
    if (choice == 3)
        return bt_func_type_close(in, 0, NULL, 1, at, at[1], 0, NULL);
    if (choice == 4) {
        // A parameter of its own, used beside those of the outside.
        const bt_type *own = bt_type_var(in, &random_params[0], NULL);
        const bt_type *sum = bt_dim_add(in, own, scene->vars[random_next() % NVAR]);
        at[1] =
            bt_type_tensor(in, bt_type_shape(in, 1, &sum), bt_type_dtype(in, BT_FLOAT32));
        return bt_func_type_close(in, 1, &own, 1, &at[1], at[0], 0, NULL);
    }
    return bt_type_tuple(in, 3, at);
}

/* The type with all its variables bound. */
static inline const bt_type *close_scene(bt_store *in, const struct scene *scene,
                                         const bt_type *body)
{
    const bt_type *all[NVAR + 1];
    memcpy(all, scene->vars, sizeof(scene->vars));
    all[NVAR] = scene->element;
    return bt_func_type_close(in, NVAR + 1, all, 1, &body, body, 0, NULL);
}

#endif
