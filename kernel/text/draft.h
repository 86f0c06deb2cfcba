/*
 * A program as it was read, before it becomes nodes.
 *
 * Expressions are flat already: each binding is a draft in a block's list, in evaluation
 * order, and operands point to drafts. What a list gives that nodes do not: a graph node
 * of Relay can be put where its uses need it once they are all known, and nothing is
 * built from a text with errors.
 */
#ifndef TEXT_DRAFT_H
#define TEXT_DRAFT_H

#include "text/parse.h"

typedef struct bt__draft_group bt__draft_group;
typedef bt_vec(bt__draft *) bt__drafts;

enum {
    BT__DRAFT_MARK = BT_VALUE_COUNT, /* where a graph node was written, or is read */
    BT__DRAFT_POISON                 /* an expression that had an error */
};

typedef struct bt__draft_call {
    uint32_t callee_kind;
    const bt_op *op; /* NULL too for one that is unknown */
    const bt_ctor *ctor;
    const void *attrs;
    bt__types type_args;
    bt_vec(bt_check) checks;
    const bt_contents *contents; /* NULL: none written */
} bt__draft_call;

/* What is known of a binding besides what it computes. */
typedef struct bt__draft_place {
    uint32_t offset, nbytes; /* in the text */
    uint32_t is_given;       /* span and provenance were written in the text */
    bt_span span;
    bt_prov prov;
    uint32_t device;
} bt__draft_place;

struct bt__draft {
    uint32_t kind;   /* BT_VALUE_..., BT__DRAFT_... */
    uint32_t serial; /* order of reading */
    bt__draft_place place;
    const char *name;
    const bt_type *type; /* annotation */
    bt__draft_block *block;
    bt__draft *next;       /* in the block */
    const bt_value *value; /* once built */
    uint32_t noperand;
    bt__draft **operands; /* a callee that is a value comes first */
    bt_vec(bt__draft_block *) regions;
    union {
        bt__draft_call *call;
        bt__draft_func *func; /* closure */
        uint32_t index;       /* proj */
        struct bt__draft_clause *clauses;
        bt_object *object;      /* const */
        bt__draft_group *group; /* mark of what was written here; NULL: of a use */
    } u;
    const char *otherwise;           /* match */
    bt_vec(bt__draft_group *) needs; /* graph nodes to be placed before it */
};

typedef struct bt__draft_pattern {
    uint32_t kind; /* BT_PATTERN_... */
    bt__draft *var;
    const bt_ctor *ctor;
    bt_vec(struct bt__draft_pattern *) at;
    bt__draft_place place;
} bt__draft_pattern;

struct bt__draft_clause { /* its block is the region of the same index */
    bt__draft_pattern *pattern;
};

struct bt__draft_block {
    bt__draft *parent; /* the binding whose region it is; NULL: a definition's */
    bt__draft *first, *last;
    bt__drafts params;
    bt__draft *result;
    bt__draft_group *group; /* the list is a graph node's that has no place yet */
    uint32_t is_open;       /* while it is built */
};

struct bt__draft_func {
    const char *name;
    bt__draft_place place;
    bt__types vars;
    bt__wheres wheres;
    const bt_type *result;
    bt__dict_entries attrs;
    bt__draft_block *block;
    uint32_t ngroup; /* of a closure: this and the next ngroup - 1 refer to each other */
};

/* `%0 = e;` of Relay: the bindings that e needs, to be placed where they are used. */
struct bt__draft_group {
    bt__draft_block list;  /* holds them until then */
    bt__draft_block *home; /* where they go; NULL until known */
    bt__draft *mark;
    bt__drafts uses; /* marks where it is read */
    uint32_t is_placed;
};

struct bt__draft_global {
    bt_global global; /* its func and value are filled in when they are built */
    bt__draft_func *func;
    bt__draft *value; /* const */
    bt__draft_place place;
    bt__dict_entries attrs;
    uint32_t in;     /* the text that it stands in */
    bt__token token; /* its name */
};
/* A data type: declared before anything else is read, then defined, then passed over. */
struct bt__draft_adt {
    uint32_t in, offset, end; /* of the definition; end 0: it has an error */
    bt_adt_def *def;
    bt__types vars;
};

/* Where a name stands. */
struct bt__mention {
    uint32_t in;
    bt__token token;
};

struct bt__unknown_op {
    const char *name;
    struct bt__mention first;
    uint32_t nuse;
    bt_status why;
};

/* A text that the module is read from: the caller's, or one that is imported. */
struct bt__text {
    const char *file, *text;
    const char *folder; /* of weights and of imported files; NULL: none allowed */
    uint32_t nbytes;
    uint32_t source;
    uint32_t dialect;
    uint32_t start; /* of its definitions; while its imports are read, of the next one */
    uint32_t is_open; /* while its imports are read */
};

/* The module that is read. */
struct bt__module_draft {
    bt_vec(struct bt__text) texts; /* first the caller's */
    bt_map imported;             /* global name -> struct bt__mention of its definition */
    uint32_t source;             /* of the text that is read */
    uint32_t is_typed;           /* the text says so: `?` is a dim known at run time */
    uint32_t has_spans;          /* spans and provenance are written in the text */
    const bt__given_dims *given; /* NULL: none */
    const char *const
        *wanted; /* imported globals that are read, used or not; NULL: none */
    uint32_t ndef, has_entry;        /* functions that the scan found */
    uint32_t is_entry;               /* its type parameters are read */
    bt_vec(const char *) entry_dims; /* those that stay */
    bt_module_builder *builder;
    bt_map adts;    /* name -> bt_adt_def */
    bt_map ctors;   /* name -> bt_ctor */
    bt_map unread;  /* names in definitions of data types that could not be read */
    bt_map globals; /* name -> struct bt__draft_global, in order of definition */
    bt_map ops;     /* name -> bt_op */
    bt_map unknown; /* name -> struct bt__unknown_op */
    bt_map uses;    /* global name -> first use, a struct bt__mention */
    bt_vec(struct bt__draft_adt) adt_list;
    uint32_t next_adt;           /* those before it were passed over */
    bt_vec(bt_object *) objects; /* references held by drafts */
    bt_vec(uint32_t) sources;    /* of #[source N], by their numbers */
    bt_vec(bt_prov) origins;     /* of #[origin N] */
    bt__dict_entries attrs;

    const char *weights;         /* file; NULL: none */
    const bt_npz *given_weights; /* in place of the file; NULL: none */
    bt_npz *npz;                 /* of the file, once read */
    bt_map data;                 /* #[data]: name -> struct bt__data */
    bt_map tensors;              /* name -> bt_tensor, once read */
    const char *data_name;       /* of the constant that is read; NULL: none */
    uint32_t metadata;           /* offset of Relay's JSON; 0: none */
    struct bt__metadata *meta;   /* once read */

    bt__draft_block *block; /* bindings go here */
    bt__draft_block *lone;  /* of the text that is one expression; NULL: it is a module */
    uint32_t nserial;
    bt_vec(bt__draft_group *) groups; /* of the definition */
    bt_map func_attrs;                /* attribute member -> name of a global */
};

/* ---- names of the module: NULL where there is no such ---- */

const bt_adt_def *bt__module_adt(bt__parser *, const char *name);
const bt_ctor *bt__module_ctor(bt__parser *, const char *name);
/* The name most like this one, NULL if none is close. */
const char *bt__module_near_type(bt__parser *, const char *name);
const char *bt__module_near_ctor(bt__parser *, const char *name);

/* ---- hint.c ---- */

/* What an error says behind a name that is not defined, "@f" or a type or constructor:
 * the library that defines it, else `near` (NULL: none). "" where nothing is known. */
const char *bt__hint(bt__parser *, const char *name, const char *near);

/* ---- import.c ---- */

/* One more text, which is not read yet: its file, folder, text and size. */
bt_status bt__add_text(bt__parser *, const struct bt__text *) BT_MUST_USE;
/* The text of a library that a plugin provides. */
bt_status bt__read_library(bt__parser *, const char *name, struct bt__text *out,
                           size_t *nbytes) BT_MUST_USE;
/* What follows stands in that text; where, bt__seek says. */
void bt__set_text(bt__parser *, uint32_t in);
/* Headers and imports of all texts. */
int bt__parse_heads(bt__parser *);
/* Notes what an imported text defines here, in the scan. 0: an error, reported. */
int bt__note_imported(bt__parser *);
/* Reads those definitions of imported texts that are used. */
void bt__parse_imported(bt__parser *);
/* The place of a token of any text. */
bt_span bt__span_of(bt__parser *, uint32_t in, const bt__token *);

/* ---- parse_header.c, parse_adt.c, parse_global.c ---- */

int bt__parse_headers(bt__parser *);
/* Declares and defines all data types of the module. */
int bt__parse_adts(bt__parser *);
/* Passes over a data type, which was read before. 0: it had an error. */
int bt__skip_adt(bt__parser *);
/* Whether a definition of a data type that could not be read may define the name. */
int bt__is_unread(const bt__parser *, const char *name);
/* Whatever definition stands here. */
int bt__parse_definition(bt__parser *);

/* ---- names_parse.c ---- */

int bt__report_unknown_ops(bt__parser *);
int bt__report_unknown_globals(bt__parser *);

/* ---- given_dims.c ---- */

/* Notes the definition that stands here, in the scan. 0: no memory, reported. */
int bt__note_def(bt__parser *);
/* Whether the function of that name is the one whose dims are given. */
int bt__is_given_entry(const bt__parser *, const char *name);
/* The number that stands for a dim of the entry. NULL: none, or an error, reported. */
const bt_type *bt__given_dim_of(bt__parser *, const bt__token *, const char *name,
                                const bt_type_param *);
/* After the text: everything given was used. */
bt_status bt__check_given(bt__parser *) BT_MUST_USE;

/* ---- draft.c ---- */

bt__draft *bt__draft_new(bt__parser *, uint32_t kind, uint32_t offset);
/* Appends to the current block; its text ends at the token before the current one. */
bt__draft *bt__draft_append(bt__parser *, bt__draft *);
/* Notes that the value is read here, if it is of a graph node. */
int bt__draft_use(bt__parser *, const bt__draft *);
int bt__draft_operands(bt__parser *, bt__draft *, uint32_t n, bt__draft *const *);
bt__draft_block *bt__draft_block_new(bt__parser *, bt__draft *parent);
int bt__draft_region(bt__parser *, bt__draft *, bt__draft_block *);
bt__draft *bt__draft_const(bt__parser *, uint32_t offset, const bt_object *);
/* Takes over a reference, given back with the parse. NULL: no memory, reported. */
const bt_object *bt__draft_keep(bt__parser *, bt_object *);

/* ---- parse_expr.c, parse_stmt.c ---- */

/* BT__NUMBERS for %0, BT__LOCALS for any other name. */
uint32_t bt__local_space(const bt__parser *, const bt__token *);
/* What stands for an expression that had an error. */
bt__draft *bt__draft_poison(bt__parser *);

bt__draft *bt__parse_expr(bt__parser *);
/* An expression without calls and infix operators: %x, %x.0, (e), (a, b), ... */
bt__draft *bt__parse_atom(bt__parser *);
/* Statements and a result in a list, where a comma ends them. */
bt__draft *bt__parse_statements(bt__parser *);
/* An expression, or statements and an expression, in its own scope. */
bt__draft *bt__parse_scoped(bt__parser *);
/* Statements and the result up to the closing brace, into `block`. */
int bt__parse_body(bt__parser *, bt__draft_block *);
int bt__parse_span(bt__parser *, bt_span *out);
/* `on 1`, `at ...`, `from ...` where they stand. */
int bt__parse_device(bt__parser *, bt__draft_place *);
int bt__parse_place(bt__parser *, bt__draft_place *);

/* ---- parse_func.c ---- */

/* %x [: type], which becomes a parameter of the block. */
bt__draft *bt__parse_param(bt__parser *, bt__draft_block *);
/* Relay's `{virtual_device=...}` behind a name is read over. */
int bt__skip_virtual_device(bt__parser *);
/* From the type parameters on. The block's parent is `closure`, NULL for a definition. */
bt__draft_func *bt__parse_func(bt__parser *, bt__draft *closure);
/* `fn ... , fn ...`: the functions of a group; gives the first. */
bt__draft *bt__parse_closures(bt__parser *, bt__draft *const *closures, uint32_t n);
/* A constant against the type that is stated for it, at that place of the text. */
int bt__annotate_const(bt__parser *, uint32_t offset, uint32_t nbytes,
                       const bt_type *stated, const bt_object *);
/* What `?` makes in annotations of this text. */
uint32_t bt__annotation_any(const bt__parser *);

/* ---- parse_call.c ---- */

/* A call of an operator, constructor or value whose name or callee was read. */
bt__draft *bt__parse_named(bt__parser *);
bt__draft *bt__parse_call(bt__parser *, bt__draft *callee, uint32_t offset);
bt__draft *bt__call_op(bt__parser *, const char *name, const bt__token *, uint32_t n,
                       bt__draft *const *);

/* ---- parse_pattern.c ---- */

bt__draft *bt__parse_match(bt__parser *);

/* ---- constant.c ---- */

int bt__at_literal(const bt__parser *);
bt__draft *bt__parse_literal(bt__parser *);
/* const(...), const[shape, dtype]{...} */
bt__draft *bt__parse_const(bt__parser *);

/* ---- metadata.c ---- */

bt__draft *bt__parse_meta(bt__parser *);
void bt__metadata_destroy(struct bt__metadata *); /* accepts NULL */

/* ---- relay_graph.c ---- */

/* Puts the definition's graph nodes where they are used. */
int bt__place_groups(bt__parser *, bt__draft_block *);

/* ---- emit.c ---- */

/* Drafts become nodes of the module. */
bt_status bt__emit_module(bt__parser *, bt_module **out);

#endif
