/* A loss, an optimizer, a schedule or an initializer by name, as a function of a program. */
#ifndef TRAIN_CHOICE_H
#define TRAIN_CHOICE_H

#include <baton/ir.h>

enum { MAX_OPTIONS = 32 };

/* What functions of a kind take and give. */
struct choice_kind {
    const char *name;
    const char *signature; /* behind the name of one, for messages */
    uint32_t ntensor;      /* that it takes first, ... */
    int has_state;         /* ... and then some of the same type, which it changes */
    uint32_t ngiven; /* numbers that whoever calls gives, by name; options stand behind */
    const char *given[2];
    int like; /* the parameter whose type it gives, with that of its state; -1: a number */
};

struct choice {
    const struct choice_kind *kind;
    const bt_global *global;
    bt_module *of;       /* that has it: a reference */
    const char *library; /* that it was found in; NULL: the model */
    /* Of an optimizer: tensors behind the parameter and its gradient. */
    uint32_t nstate;
    const char *state_names[MAX_OPTIONS];
    uint32_t noption;
    const char *option_names[MAX_OPTIONS];
    double options[MAX_OPTIONS];
};

/* "sgd{rate=0.1}" of a kind: the model's own function @optimizer.sgd, else that of a library
 * that a plugin has.
 * errors  BT_ERR_NAME: none has it, or two libraries; BT_ERR_ATTRIBUTE: of the options;
 *         BT_ERR_TYPE: it is no such function */
bt_status choice_make(bt_ctx *, bt_arena *, const bt_module *model, const char *kind,
                      const char *text, struct choice *out) BT_MUST_USE;
/* Without options. */
bt_status choice_find(bt_ctx *, bt_arena *, const bt_module *model, const char *kind,
                      const char *name, struct choice *out) BT_MUST_USE;
void choice_forget(struct choice *);
/* "w1=normal{scale=0.1}": behind the name of the parameter; NULL: it is for all. */
const char *choice_behind_name(const char *text);

/* "loss", "optimizer", .. NULL: there is none of that name (choice_kinds.c). */
const struct choice_kind *choice_kind(const char *name);
/* Finds its options and state.
 * errors  BT_ERR_TYPE: the function is none of the kind */
bt_status choice_check(bt_ctx *, bt_arena *, struct choice *) BT_MUST_USE;

/* Of a kind of functions of parameters. before: what the message begins with.
 * errors  BT_ERR_TYPE: it is for parameters of other shapes */
bt_status choice_check_param(bt_ctx *, bt_arena *, const struct choice *,
                             const char *before, const char *name,
                             const bt_type *) BT_MUST_USE;

/* An initializer that goes by what a layer gives and reads: attribute by_axes. */
int choice_goes_by_axes(const struct choice *);

/* errors  BT_ERR_NAME: neither the model nor the text of a library defines it */
bt_status choice_known(bt_ctx *, bt_arena *, const bt_module *model,
                       const struct choice_kind *, const char *name) BT_MUST_USE;
/* Whether attributes that are numbers are defaults and ends of options, the ones within the others.
 * errors  BT_ERR_ATTRIBUTE: one is not */
bt_status choice_check_attributes(bt_ctx *, bt_arena *, struct choice *) BT_MUST_USE;
/* "rate=0.1, decay=0": of those that its function has; the others stay what they are.
 * errors  BT_ERR_ATTRIBUTE: there is none of the name, or it is out of its range */
bt_status choice_read_options(bt_ctx *, bt_arena *, const char *text,
                              struct choice *) BT_MUST_USE;
/* ", 0.1f, 0.9f": options as arguments. */
void choice_add_options(const struct choice *, bt_text *);

#endif
