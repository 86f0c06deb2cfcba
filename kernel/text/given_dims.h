/* Reading a text with what the caller gives besides: symbolic dims of its entry ("n=4"),
 * names of what else is read of imported texts, weights. */
#ifndef TEXT_GIVEN_DIMS_H
#define TEXT_GIVEN_DIMS_H

#include <baton/ir.h>

struct bt__given_dim {
    const char *name;
    int64_t value;
    uint32_t is_used;
};

typedef struct bt__given_dims {
    const char *entry; /* the function; NULL: main, or the only one */
    uint32_t n;
    struct bt__given_dim *at;
    const char *const
        *wanted; /* globals that are read where they are imported; NULL: none */
} bt__given_dims;

/* Reads texts, NULL-terminated or NULL, into the arena.
 * errors  BT_ERR_ARGUMENT */
bt_status bt__given_dims_read(bt_ctx *, bt_arena *, const char *const *texts,
                              bt__given_dims *out) BT_MUST_USE;
/* The one of that name, NULL if none. */
struct bt__given_dim *bt__given_dims_find(const bt__given_dims *, const char *name);
/* In place of a parameter. 0: that may not have the value; the message takes both. */
int bt__given_dim_use(struct bt__given_dim *, const bt_type_param *);
#define BT__GIVEN_DIM_REFUSED \
    "dim %s is given as %lld, which is not among the values that it may have"
/* Whether each was used. open: names of those of the entry that stay; file: or NULL
 * errors  BT_ERR_NAME */
bt_status bt__given_dims_check(bt_ctx *, bt_arena *, const char *file,
                               const bt__given_dims *, uint32_t nopen,
                               const char *const *open) BT_MUST_USE;
/* bt_parse of a text whose entry has numbers in place of these dims. Where any is given,
 * types are inferred even if the text is typed.
 * errors  BT_ERR_NAME: the entry has no such dim */
bt_status bt__parse_given(bt_ctx *, const char *file, const char *folder,
                          const char *text, size_t nbytes, const bt__given_dims *,
                          bt_module **out) BT_MUST_USE;
/* bt_parse of a text that names weights, whose constants are those of the list. */
bt_status bt__parse_weights(bt_ctx *, const char *file, const char *text, size_t nbytes,
                            const bt_npz *weights, bt_module **out) BT_MUST_USE;

#endif
