/*
 * What the files of the parser share.
 *
 *   cursor.c         tokens, errors, skipping to where parsing can go on
 *   scope.c          names of locals, type variables, shared `?a`
 *   names_parse.c    names of the module: operators, data types, constructors, globals
 *   hint.c           what is said besides of a name that stands for nothing
 *   parse_dim.c, parse_type.c, parse_params.c    types and other terms
 *   attrs_parse.c    attributes of operators and functions
 *   constant.c       literals and constants
 *   draft.c, parse_stmt.c, parse_expr.c, parse_call.c, parse_func.c, parse_pattern.c
 *                    programs, as drafts
 *   relay_graph.c    where Relay's graph nodes are placed
 *   metadata.c       Relay's #[metadata]
 *   given_dims.c     dims of the entry that the caller gives
 *   emit.c           drafts become nodes
 *   import.c         the texts that a module is read from
 *   parse_header.c, parse_adt.c, parse_global.c, parse.c    headers, definitions, modules
 *
 * A parsing function returns its result, or NULL (0) after it reported an error; the
 * caller passes that on or recovers at the next statement.
 */
#ifndef TEXT_PARSE_H
#define TEXT_PARSE_H

#include "text/lex.h"

#include <baton/op.h>

#include "text/given_dims.h"

typedef bt_vec(const bt_type *) bt__types;
typedef struct bt__draft bt__draft;
typedef struct bt__draft_block bt__draft_block;
typedef struct bt__draft_func bt__draft_func;
typedef struct bt__module_draft bt__module_draft; /* draft.h */

enum { BT__BATON, BT__RELAY };

/* What a `?` in a type makes. */
enum {
    BT__ANY_HOLE,   /* an annotation: whatever fits */
    BT__ANY_PARAM,  /* a parameter's type: an anonymous Dim parameter */
    BT__ANY_OPAQUE, /* an annotation in a typed text: a dim known at run time */
    BT__ANY_NOT     /* nothing: an error */
};

/* Spaces of names. */
enum { BT__LOCALS, BT__NUMBERS, BT__TYPES, BT__SHARED_DIMS, BT__NSPACE };

struct bt__slot;
struct bt__undo {
    struct bt__slot *slot;
    void *value;
    uint32_t epoch;
};

/* An error of a module. */
struct bt__fault {
    bt_status status;
    uint32_t is_follow_up; /* of another, which is told */
};

typedef struct bt__parser {
    bt_ctx *ctx;
    bt_store *store; /* NULL: only what needs none may be parsed */
    bt_arena *arena; /* of the parse */

    /* The text that is read, of those of the module (import.c). */
    uint32_t in;
    const char *file;
    const char *text;
    uint32_t nbytes;
    uint32_t dialect; /* BT__BATON, BT__RELAY */

    bt__lexer lexer;
    bt__token token, next, after; /* the current one and two ahead */
    uint32_t end;                 /* of the token before the current one */

    uint32_t depth;
    uint32_t braces; /* open ones */
    uint32_t nerror;
    bt_status first;                 /* error */
    bt_vec(struct bt__fault) faults; /* of a module, until its end */
    bt_arena *fault_arena;           /* of them: marks in the other come and go */
    uint32_t expected_at; /* offset of the last error about what was expected */
    /* tokens are looked over; what is wrong with them comes later */
    uint32_t is_scanning;
    uint32_t is_quiet; /* the error is returned only, not listed in the context */
    uint32_t stop;     /* no memory, or enough errors: everything fails from here on */

    bt_map names[BT__NSPACE];
    bt_vec(struct bt__undo) undo;
    uint32_t epoch; /* of the definition: names of an earlier one are gone */

    uint32_t in_block; /* a statement stands between braces, not in a list */
    uint32_t any;      /* BT__ANY_... */
    bt__types *vars;   /* type parameters of the function whose head is parsed */

    bt_map op_presets;        /* operator -> attributes, all defaults */
    bt__module_draft *module; /* NULL: a type or attributes alone */
} bt__parser;

/* ---- cursor.c ---- */

void bt__parser_init(bt__parser *, bt_ctx *, bt_store *, bt_arena *, const char *file,
                     const char *text, uint32_t nbytes);
void bt__advance(bt__parser *);
/* Starts again at an offset of the text. */
void bt__seek(bt__parser *, uint32_t offset);
int bt__at(const bt__parser *, uint32_t kind);
int bt__at_word(const bt__parser *, const char *word);
int bt__token_is_word(const bt__parser *, const bt__token *, const char *word);
/* Moves on when the current token is that; 0 otherwise. */
int bt__accept(bt__parser *, uint32_t kind);
int bt__accept_word(bt__parser *, const char *word);
int bt__accept_none(bt__parser *); /* None, and nullptr of Relay */
/* The same, and an error otherwise. */
int bt__expect(bt__parser *, uint32_t kind);
int bt__expect_word(bt__parser *, const char *word);

/* Reports; all return 0. */
int bt__error(bt__parser *, uint32_t code, uint32_t offset, uint32_t nbytes,
              const char *format, ...) BT_PRINTF(5, 6);
int bt__error_token(bt__parser *, uint32_t code, const bt__token *, const char *format,
                    ...) BT_PRINTF(4, 5);
int bt__error_expected(bt__parser *, const char *what); /* at the current token */
int bt__error_memory(bt__parser *);
int bt__error_store(bt__parser *, uint32_t offset); /* a constructor gave NULL */
int bt__error_status(bt__parser *, bt_status);      /* someone else's */
/* Reports what was found in a module, in the order of the text, without what follows from
 * others. */
void bt__report_faults(bt__parser *);
/* A status with the place, not reported. */
bt_status bt__status_at(bt__parser *, uint32_t code, uint32_t offset, uint32_t nbytes,
                        const char *format, ...) BT_PRINTF(5, 6);

/* 1, or 0 and an error when nested too deeply. Each enter needs a leave. */
int bt__enter(bt__parser *);
void bt__leave(bt__parser *);

/* The current token's name, interned, or text, in the parse's arena. */
const char *bt__token_name(bt__parser *, const bt__token *);
/* A copy of the token's text for messages, cut to a readable length. */
const char *bt__token_show(bt__parser *, const bt__token *);
/* Skips to after the `;` that ends a statement, or to the `}` that ends its block, in
 * which this many braces were open. */
void bt__skip_statement(bt__parser *, uint32_t braces);
/* 1 when a definition begins here: "def @f", "type Name", ... */
int bt__at_definition(const bt__parser *);
/* `#[name` begins here: data, metadata. */
int bt__at_section(const bt__parser *, const char *name);
/* Where the digits of a number end, behind which a suffix (i64, f, f16) may follow. */
uint32_t bt__digits_end(const char *text, uint32_t nbytes, uint32_t *is_float);
/* [-] digits that fit int64. */
int bt__parse_int(bt__parser *, int64_t *out);
int bt__parse_uint32(bt__parser *, uint32_t *out);
/* "a, b, c" of names that end in NULL, cut to a readable length. */
const char *bt__name_list(bt__parser *, const char *const *names);
/* The candidate most like `name`, NULL if none is close. Candidates end in NULL. */
const char *bt__nearest(const char *name, const char *const *candidates);

/* ---- scope.c ---- */

void bt__scoped_init(bt__parser *);
void *bt__scoped_find(bt__parser *, uint32_t space, const char *name);
/* Until the mark before it is released. 0: no memory, reported. */
int bt__scoped_set(bt__parser *, uint32_t space, const char *name, void *value);
/* Until the definition ends. */
int bt__scoped_set_all(bt__parser *, uint32_t space, const char *name, void *value);
uint32_t bt__scoped_mark(const bt__parser *);
void bt__scoped_release(bt__parser *, uint32_t mark);
/* A new definition: forgets everything. */
void bt__scoped_clear(bt__parser *);

/* ---- parse_dim.c, parse_type.c, parse_params.c ---- */

/* The term; NULL is reported, as a constructor's that began at `start`. */
const bt_type *bt__term_made(bt__parser *, const bt_type *, uint32_t start);
/* The type variable of that name, NULL if there is none. */
const bt_type *bt__find_type_var(bt__parser *, const bt__token *);
/* The variable that stands here, if it is of the kind. */
const bt_type *bt__parse_type_var(bt__parser *, const bt_type *var, uint32_t kind);
const bt_type *bt__parse_hole(bt__parser *, uint32_t kind); /* `_` stands here */
const bt_type *bt__parse_dim(bt__parser *);
const bt_type *bt__parse_shape(bt__parser *);
/* The element type of that name, or that the current word names; Relay's `int` is int32.
 * 0: none. */
bt_dtype bt__dtype_named(const bt__parser *, const char *name, size_t nbytes);
bt_dtype bt__token_dtype(const bt__parser *);
/* The kind that the token names, -1 if none. */
int bt__token_type_kind(const bt__parser *, const bt__token *);

const bt_type *bt__parse_term(bt__parser *, uint32_t kind); /* BT_KIND_... */
/* The type of a function that has no body: nothing is inferred, so that a `?` among the
 * arguments is a parameter, and one in the result a dim known at run time. */
const bt_type *bt__parse_signature(bt__parser *);
/* Of any kind: one other than Type is named before it, as in `Dim n`. */
const bt_type *bt__parse_any_term(bt__parser *);
/* A list of terms of a kind, or with ANY of any, and what closes it. */
#define BT__ANY_KIND UINT32_MAX
int bt__parse_terms(bt__parser *, uint32_t kind, uint32_t close, bt__types *out);
/* Dims between the brackets of a list; of an attribute, where `row` is its schema's, which
 * may hold codes: a dim whose value is given as 0 is none of them. */
const bt_type *bt__parse_shape_list(bt__parser *, uint32_t close, const bt_attr *row);
/* `<n: Dim in 1..8, A>` or Relay's `[A]`, if one stands here. */
int bt__parse_type_params(bt__parser *, bt__types *out);
typedef bt_vec(const bt_where *) bt__wheres;
int bt__parse_wheres(bt__parser *, bt__wheres *out); /* if `where` stands here */

/* ---- attrs_parse.c ---- */

/* Attributes of one call while they are read. */
typedef struct bt__attr_set {
    const bt_op *op;
    uint32_t nrow;
    char *at;      /* the author's struct */
    uint8_t *seen; /* by row */
} bt__attr_set;
int bt__attrs_begin(bt__parser *, const bt_op *, bt__attr_set *);
int bt__attrs_one(bt__parser *, bt__attr_set *); /* name=value */
int bt__attrs_end(bt__parser *, bt__attr_set *, const bt__token *where);
/* Reads over name=value of an operator that is not known. */
int bt__attrs_skip(bt__parser *);
int bt__at_attr(const bt__parser *); /* name= stands here */
typedef bt_vec(bt_dict_entry) bt__dict_entries;
int bt__parse_dict_entry(bt__parser *, bt__dict_entries *); /* name=value */
int bt__parse_dict(bt__parser *, bt__dict_entries *); /* a list of them, after its ( */
/* Reads a preset into `member`; terms need a store. 0: malformed. */
int bt__attr_preset(bt__parser *, const bt_attr *, void *member);

/* ---- operators ---- */

/* *out NULL and no error yet when it is unknown: such names are reported together at the
 * end. 0: no memory. */
int bt__find_op(bt__parser *, const char *name, const bt__token *, const bt_op **out);

/* Notes that a global is named here. `member`, unless NULL, is an attribute that becomes
 * a reference to it. */
int bt__use_global(bt__parser *, const char *name, const bt__token *,
                   const bt_value **member);

#endif
