/* Rewriting rules as text: rules.md. */
#ifndef PASSES_SIMPLIFY_RULE_H
#define PASSES_SIMPLIFY_RULE_H

#include "common/chain.h"

enum { RULE_ARGS = 12, RULE_OPS = 8, RULE_NAMES = 24, RULE_NODES = 96, RULE_SWAPS = 6 };
enum {
    RULE_MAX_ALL = 4096
}; /* elements of a constant that are compared with a number */

/* An expression, on either side of a rule or in its conditions. */
enum {
    RULE_NAME,  /* a value or an attribute */
    RULE_CALL,  /* of an operator, a function of rules (rule_functions.c), a condition */
    RULE_TUPLE, /* (x, y) */
    RULE_LITERAL, /* a number, a string, a list, True, False, None: as attributes are written */
};
struct rule_node {
    uint32_t kind, at; /* byte of the rule's text */
    const char *text;  /* a name, the operator, the literal */
    uint32_t slot;     /* of names and of variables for operators, else RULE_NAMES */
    uint32_t alias;    /* of y in y: nn.relu(x), else RULE_NAMES */
    uint32_t is_const; /* const x */
    uint32_t is_bool;  /* a literal for a value: True or False, ... */
    double number;     /* ... 1 or 0, or a number */
    uint32_t is_open;  /* `..`: other attributes may be anything */
    uint32_t nop, narg, nattr;
    const char *ops[RULE_OPS];
    struct rule_node *args[RULE_ARGS];
    const char *attr_names[RULE_ARGS];
    struct rule_node *attrs[RULE_ARGS];
    /* Of a call of operators, once checked. */
    const bt_op *rows[RULE_OPS];
    /* Attributes: defaults, and what stands there as literals. */
    const void *fixed[RULE_OPS];
    const struct rule_function *function;
    uint32_t swap; /* its bit of rule_match.swapped, if it commutes; else 0 */
};

/* What a name stands for. */
enum { RULE_UNBOUND, RULE_VALUE, RULE_ATTR, RULE_OP };
struct rule_name {
    const char *text;
    uint32_t kind;
    struct rule_node *definition; /* where x = ...; NULL: bound by the pattern */
    uint32_t attr_kind;           /* BT_ATTR_... */
    uint32_t walk;                /* of definitions: 1 while it is checked, then 2 */
};

struct rule {
    const bt_rule *row;
    const char *plugin;
    bt_arena *arena;
    struct rule_node *pattern, *result;
    uint32_t ncondition;
    struct rule_node *conditions[RULE_ARGS];
    uint32_t is_negated[RULE_ARGS];
    uint32_t nname;
    struct rule_name names[RULE_NAMES];
    uint32_t nswap; /* calls in the pattern that commute */
    uint32_t is_checked, is_left_out;
    struct rule *next; /* of the same pass */
};

/* Reads the text; operators are looked up by rule_check, so that plugins whose
 * operators do not occur stay closed.
 * errors  BT_ERR_PLUGIN, with the place in the rule */
bt_status rule_read(bt_ctx *, bt_arena *, const bt_rule *, const char *plugin,
                    struct rule **out) BT_MUST_USE;
/* Once per rule: operators are there and take as many operands, attributes have their
 * kinds, everything used is bound (rule_check.c). */
bt_status rule_check(bt_ctx *, bt_store *, struct rule *) BT_MUST_USE;
/* The number of a name, which it gets where it is met first. */
bt_status rule_slot(bt_ctx *, struct rule *, const struct rule_node *,
                    uint32_t *out) BT_MUST_USE;
bt_status rule_fail(bt_ctx *, const struct rule *, uint32_t at, const char *format,
                    ...) BT_FAILURE BT_PRINTF(4, 5);

/* ---- applying ---- */

/* A match under way. */
struct rule_match {
    const struct rule *rule;
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    const bt_type *type; /* of what is replaced: `result` in the rule */
    uint32_t swapped;    /* calls of the pattern whose operands are taken in turn */
    const bt_value *values[RULE_NAMES];
    const bt_attr *rows[RULE_NAMES]; /* of attributes */
    const void *members[RULE_NAMES];
    const bt_op *ops[RULE_NAMES]; /* of variables for operators, and their attributes */
    const void *op_attrs[RULE_NAMES];
    bt_status status; /* why a condition could not be evaluated */
};
/* *out NULL: the rule does not apply. `args`: the call's operands by now. */
bt_status rule_apply(struct rule *, bt_rewrite *, const bt_call *,
                     const bt_value *const *args, const bt_value **out) BT_MUST_USE;

/* ---- functions of rules ---- */

/* A list of numbers, or one: what functions for attributes give. */
struct rule_ints {
    uint32_t n, is_single;
    int64_t at[BT_MAX_RANK];
};
struct rule_function {
    const char *name;
    /* A letter for each operand: v value that is built, x name of one in the pattern or
     * `result`, a attribute of integers, l the same or a list,
     * n number or attribute that is one, d attribute that is a dtype, o variable for an
     * operator. */
    const char *takes;
    /* One of them, by what it gives: a condition, an attribute as numbers or as text, a
     * value. 0: not in this case, the rule does not apply. `type`: what it gives where the
     * attribute is a shape or a dim, which may be open. */
    int (*truth)(struct rule_match *, struct rule_node *const *args);
    int (*ints)(struct rule_match *, struct rule_node *const *args,
                struct rule_ints *out);
    const bt_type *(*type)(struct rule_match *, struct rule_node *const *args);
    int (*text)(struct rule_match *, struct rule_node *const *args, bt_text *out);
    const bt_value *(*value)(struct rule_match *, struct chain *,
                             struct rule_node *const *args);
};
const struct rule_function *rule_function_find(const char *name);
/* "; did you mean float?", among conditions or among what a right side may call. */
const char *rule_function_nearest(bt_arena *, const char *name, int is_condition);
/* An attribute as text, "axis=..." without the name; 0: it has none. */
int rule_attr_text(struct rule_match *, const struct rule_node *, bt_text *out);
/* The value of an expression at the right; NULL with chain.status NULL: there is none. */
const bt_value *rule_build(struct rule_match *, struct chain *, const struct rule_node *);

/* ---- the rules of a pass ---- */

struct rules;
bt_status rules_create(bt_ctx *, bt_pass_call *, struct rules **out) BT_MUST_USE;
/* The first rule that applies, in a slot for calls. */
bt_status rules_apply(struct rules *, bt_rewrite *, const bt_call *,
                      const bt_value **out) BT_MUST_USE;
/* The same as a slot, where the rules are the state. */
bt_status rules_rewrite_call(bt_rewrite *, const bt_call *,
                             const bt_value **out) BT_MUST_USE;
/* A pass that is rules alone, and fields of tuples in sight. */
bt_status rules_run(bt_ctx *, bt_pass_call *, bt_module **out) BT_MUST_USE;

/* Options of every pass that goes by rules, the first members of its struct. */
struct rules_options {
    const char *rule;
};
#define RULES_OPTION                                   \
    BT_ATTR(struct rules_options, rule, STRING, "",    \
            "go by this rule alone, whose faults are " \
            "errors; empty: by all")

#endif
