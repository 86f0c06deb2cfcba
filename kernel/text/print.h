/* What the files of the printer share. */
#ifndef TEXT_PRINT_H
#define TEXT_PRINT_H

#include <baton/op.h>

/* Names of one definition: every value and type variable has its own, whatever their
 * hints. */
typedef struct bt__names {
    bt_arena *arena;
    const bt_map *types; /* names of the module's data types, which are taken too */
    bt_map of;    /* value, variable or opaque dim -> its name with sigil and quotes */
    bt_map taken; /* name -> the number that its next namesake gets */
    uint32_t nunnamed;
    const bt_map *nested; /* bindings without names; NULL: none */
    bt_map seen;          /* type -> 1, or 2 once all in it was counted as shared */
    bt_map counts; /* opaque dim or anonymous variable -> 1, or 2 for more occurrences */
    bt_vec(const bt_type *) dims; /* its keys, in order */
} bt__names;

/* The names of the parameters of a function type that is printed, by position. */
struct bt__bound_names {
    uint32_t n;
    const char **at;
};
struct bt__data_entry {
    const char *name;
    const bt_tensor *tensor;
};

struct bt_printer {
    bt_ctx *ctx; /* NULL: one operand, for a message */
    bt_text *out;
    bt_arena *arena;         /* lives as long as the printer */
    bt_arena *temp;          /* names of the definition, texts of the binding */
    const bt_module *module; /* NULL: a term or function alone */
    bt__names *names;        /* NULL: hints are printed as they are */
    bt_vec(struct bt__bound_names) bound;
    bt_status status; /* the first failure; all but memory */
    uint32_t indent;
    const bt_map *nested;  /* bindings that are printed where they are used; NULL: none */
    const bt_map *renamed; /* names of globals that are printed as others; NULL: none */
    uint32_t is_field;     /* in a constructor's field, where open dims are `?` */

    uint32_t has_spans;
    bt_map sources; /* file -> its number + 1 */
    bt_map origins; /* provenance id + 1 -> its number + 1 */
    bt_vec(struct bt__data_entry) data;
    bt_map data_of;    /* tensor -> name */
    bt_map data_taken; /* name -> 1 */
    bt_map uses;       /* tensor of a constant with a name -> operands that it is */
    bt_map ctor_names; /* of the module */
    bt_map type_names; /* likewise */
    bt_map presets;    /* row of a schema -> its default, as a member */
};

/* Constants of more elements are data. */
#define BT__INLINE_NELEM 64

/* 0: no memory, and out->failed. */
int bt__printer_init(bt_printer *, bt_ctx *, bt_text *out);
void bt__printer_deinit(bt_printer *);
/* From now on it prints parts of this module, which may be NULL. 0: no memory. */
int bt__printer_set_module(bt_printer *, const bt_module *);

/* ---- print.c ---- */

/* "def @name", of a global. */
void bt__print_global(bt_printer *, const char *head, const char *name);
/* An attribute of a function, which may name another one. */
void bt__print_entry(bt_printer *, const bt_dict_entry *);

/* ---- quote.c ---- */

/* "..." with escapes. */
void bt__print_quoted(bt_text *, const char *);
/* A name behind its sigil ("%", "@", ""), in quotes where it is no word. */
void bt__print_name(bt_text *, const char *sigil, const char *name);
/* A name of a type, constructor or operator: in quotes also where the word means
 * something else. */
void bt__print_word(bt_text *, const char *name);
int bt__is_reserved(const char *word);

/* ---- names.c ---- */

bt__names *bt__names_create(bt_arena *, const bt_map *types); /* NULL: no memory */
/* Gives every value and variable of the function a name. `is_typed`: a dim that occurs
 * once needs none. 0: no memory. */
int bt__names_assign(bt__names *, const bt_func *, int is_typed);
/* The same for a type alone. */
int bt__names_assign_type(bt__names *, const bt_type *);
/* Names one variable, of a data type. 0: no memory. */
int bt__names_add_var(bt__names *, const bt_type *);
/* 1 when the anonymous parameters must be listed with the others, because `?` in the
 * parameters' types would not give the same ones in the same order. */
int bt__lists_anonymous(const bt_func *);
int bt__names_is_taken(const bt__names *, const char *name);
/* As printed; NULL where it has none. */
const char *bt__names_find(const bt__names *, const void *);

/* ---- print_type.c ---- */

void bt__print_term(bt_printer *, const bt_type *);
/* A term of any kind, named before it unless it is Type. */
void bt__print_any_term(bt_printer *, const bt_type *);
/* Dims of a shape without the brackets. */
void bt__print_shape_items(bt_printer *, const bt_type *shape);
void bt__print_param_range(bt_text *, const bt_type_param *);
void bt__print_wheres(bt_printer *, uint32_t n, const bt_where *const *);
/* The result of a function, in parentheses where a `where` follows that is not its
 * own. */
void bt__print_result(bt_printer *, const bt_type *, uint32_t nwhere);

/* ---- print_attrs.c ---- */

/* Attributes that differ from their defaults, each after ", " but for the first, which is
 * where `n` items stand before. Gives how many. */
uint32_t bt__print_attrs(bt_printer *, const bt_op *, const void *attrs, uint32_t n);
void bt__print_dict_entry(bt_text *, const bt_dict_entry *);

/* ---- print_const.c ---- */

/* Counts the uses of the module's constants, so that one that has a name is printed as one. 0: no
 * memory. */
int bt__print_count_constants(bt_printer *);
void bt__print_const(bt_printer *, const bt_object *, const char *name);
/* `#[data]`, or the entries of the weights file. */
void bt__print_data(bt_printer *);

/* ---- print_func.c ---- */

/* From the type parameters to the closing brace. */
void bt__print_function(bt_printer *, const bt_func *);
void bt__print_place(bt_printer *, bt_span, bt_prov); /* ` at ... from ...` */
int bt__print_span(bt_printer *, bt_span);            /* 0: there is none */

#endif
