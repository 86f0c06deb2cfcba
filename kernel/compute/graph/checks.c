/*
 * What a call asks of dims, as bare names in the formula of another one:
 *     a0: float32[d0], a1: float32[d1], d2, b0, b1 broadcasts b0, b2 broadcasts b0 => ..
 * So sizes that do not fit are told by what they are, and reads need no check of their own. Dims that
 * are to be equal are one dim of a graph, unless one is a number.
 */
#include <inttypes.h>
#include <string.h>

#include <baton/graph.h>

#include "ir/dim.h"

static int shows(const bt_type *type, const bt_type *dim)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    for (uint32_t a = 0; shape && a < shape->n; a++) {
        if (shape->dims[a] == dim)
            return 1;
    }
    return 0;
}

/* Whether the call may speak of a dim: one that only the run knows is one of an argument, or of what
 * it gives. */
static int is_known(const bt_type *dim, const bt_type *type, uint32_t narg,
                    const bt_value *const *args)
{
    int is = !(dim->has & (BT_HAS_OPAQUE | BT_HAS_ANONYMOUS)) || shows(type, dim);
    for (uint32_t k = 0; k < narg && !is; k++)
        is = shows(args[k]->type, dim);
    return is;
}

/* "INPUTS => STAGES" with names behind the inputs; NULL: no memory. */
static const char *with_names(bt_arena *arena, const char *formula, const char *stages,
                              const char *names)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%.*s%s %s", (int)(stages - formula - 1), formula,
                 names ? names : "", stages);
    return names ? bt_text_get(&text) : NULL;
}

/* The word of a check that a formula states; NULL: it has to state nothing. */
static const char *word_of(const bt_check *check)
{
    int64_t number;
    return check->relation != BT_CHECK_EQUAL || bt_dim_is_const(check->left, &number) ||
                   bt_dim_is_const(check->right, &number)
               ? bt__check_word(check->relation)
               : NULL;
}

bt_status bt_graph_text_checks(bt_arena *arena, uint32_t ncheck, const bt_check *checks,
                               const bt_type *result, uint32_t narg,
                               const bt_value *const *args, bt_graph_formula *text)
{
    const uint32_t first = text->ndim;
    const char *stages = strstr(text->formula, "=> ");
    const bt_type **dims = BT_NEWS(arena, const bt_type *, first + 2 * (size_t)ncheck);
    bt_text names;
    if (!dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < first; i++)
        dims[i] = text->dims[i];
    bt_text_init(&names, arena);
    for (uint32_t i = 0; stages && i < ncheck; i++) {
        const bt_check *check = &checks[i];
        const char *word = word_of(check);
        uint32_t to = first;
        if (!word || !is_known(check->left, result, narg, args) ||
            !is_known(check->right, result, narg, args))
            continue;
        while (to < text->ndim && dims[to] != check->right)
            to++;
        if (to == text->ndim) {
            bt_text_addf(&names, ", b%" PRIu32, to - first);
            dims[text->ndim++] = check->right;
        }
        bt_text_addf(&names, ", b%" PRIu32 " %s b%" PRIu32, text->ndim - first, word,
                     to - first);
        dims[text->ndim++] = check->left;
    }
    if (text->ndim == first)
        return NULL;
    text->dims = dims;
    text->formula = with_names(arena, text->formula, stages, bt_text_get(&names));
    return text->formula ? NULL : bt_no_memory();
}
