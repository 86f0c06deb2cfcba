/* Operators, relations, facets: what a row must hold and how its manifest item reads. */
#include <string.h>

#include <baton/plain.h>

#include "kinds/kinds.h"

static const struct {
    uint32_t bit;
    const char *name;
} effects[] = {
    { BT_EFFECT_READS, "reads" },
    { BT_EFFECT_WRITES, "writes" },
    { BT_EFFECT_ALLOCATES, "allocates" },
    { BT_EFFECT_RANDOM, "random" },
    { BT_EFFECT_IO, "io" },
    { BT_EFFECT_FAILS, "fails" },
    { BT_EFFECT_DIVERGES, "diverges" },
};

/* ---- operators ---- */

/* Facet tables are copied too, with room for members that the plugin does not know. */
static int copy_facet_table(const bt__copier *copier, bt_facet *facet)
{
    size_t nbytes = facet->table_nbytes;
    if (!facet->table || nbytes == 0 || nbytes > BT__FACET_MAX_NBYTES)
        return 1; // refused by the check
    void *table = bt_arena_alloc(copier->arena, 1, nbytes + BT__FACET_ROOM);
    if (!table)
        return 0;
    memcpy(table, facet->table, nbytes);
    facet->table = table;
    return 1;
}

static int copy_facets(const bt__copier *copier, const bt_facet **facets)
{
    if (!*facets)
        return 1;
    bt_facet *rows = bt__rows_copy(copier->arena, *facets, copier->from->facet_nbytes,
                                   sizeof(bt_facet));
    *facets = rows;
    for (; rows && rows->facet; rows++) {
        if (!copy_facet_table(copier, rows))
            return 0;
    }
    return *facets != NULL;
}

int bt__copy_op(const bt__copier *copier, void *row)
{
    static const bt_op_input no_inputs[1];
    bt_op *op = row;
    const bt_plugin *from = copier->from;
    op->plugin = NULL;
    if (op->inputs)
        op->inputs = bt__rows_copy(copier->arena, op->inputs, from->input_nbytes,
                                   sizeof(bt_op_input));
    else
        op->inputs = no_inputs;
    return op->inputs && copy_facets(copier, &op->facets);
}

static const char *check_inputs(bt_arena *arena, const bt_op_input *inputs)
{
    int had_optional = 0;
    for (const bt_op_input *input = inputs; input->name; input++) {
        if (input->is_rest && input[1].name)
            return bt__say(arena, "input %s takes all further arguments: it must be last",
                           input->name);
        if (!bt__is_name(input->name))
            return bt__say(arena, "input \"%s\": not a name", input->name);
        if (!input->type || !*input->type)
            return bt__say(arena, "input %s: type is missing", input->name);
        if (!bt__is_utf8(input->type) || !bt__is_utf8(input->doc))
            return bt__say(arena, "input %s: type or doc is not UTF-8", input->name);
        if (had_optional && !input->is_optional && !input->is_rest)
            return bt__say(arena,
                           "input %s stands after an optional one: it must be "
                           "optional too",
                           input->name);
        had_optional = input->is_optional != 0;
        for (const bt_op_input *other = inputs; other != input; other++) {
            if (strcmp(other->name, input->name) == 0)
                return bt__say(arena, "input %s: stated twice", input->name);
        }
    }
    return NULL;
}

static const char *check_compute(bt_arena *arena, const bt_op *op)
{
    const int has_formula = bt_op_has_formula(op);
    const bt_attr *row =
        op->formula_attr ? bt_attr_row(op->attrs, op->formula_attr) : NULL;
    // what allocates or writes is an executor's to carry out
    if (!has_formula && !op->eval &&
        !(op->effects & (BT_EFFECT_ALLOCATES | BT_EFFECT_WRITES)))
        return "nothing computes it: one of formula, write_formula and eval is needed";
    if (!!op->formula + !!op->write_formula + !!op->formula_attr > 1)
        return "of formula, write_formula and formula_attr more than one is given: keep one";
    if (op->formula_attr && !(row && row->kind == BT_ATTR_STRING))
        return bt__say(arena, "formula_attr \"%s\" is no attribute of kind STRING",
                       op->formula_attr);
    if (op->relation && !bt__is_name(op->relation))
        return bt__say(arena, "relation \"%s\" is not a name", op->relation);
    if (!op->relation && !op->relate && !has_formula)
        return "nothing gives its type: an operator with eval alone needs relation or "
               "relate";
    return NULL;
}

static const struct {
    const char *name;
    size_t nbytes; /* of its struct at the first release: later ones only grow */
} known_facets[] = {
#define BT_FACET_KIND(name, type) { name, sizeof(type) },
#include <baton/facets.def>
};

/* A name without a dot is one of Baton's own: a slip would be read by nobody. */
static const char *check_facet_name(bt_arena *arena, const bt_facet *facet)
{
    const char *known[BT_COUNT(known_facets) + 1] = { 0 };
    if (strchr(facet->facet, '.'))
        return NULL;
    for (size_t i = 0; i < BT_COUNT(known_facets); i++) {
        known[i] = known_facets[i].name;
        if (strcmp(known_facets[i].name, facet->facet) != 0)
            continue;
        return facet->table_nbytes >= known_facets[i].nbytes
                   ? NULL
                   : bt__say(arena,
                             "facet %s: its table has %u bytes, its struct %zu: is it of "
                             "another facet?",
                             facet->facet, facet->table_nbytes, known_facets[i].nbytes);
    }
    return bt__say(
        arena,
        "facet %s is none of Baton's%s; one of a plugin's own has a dot in its "
        "name, as in example.%s",
        facet->facet, bt_nearest(arena, facet->facet, known), facet->facet);
}

static const char *check_facet_row(bt_arena *arena, const bt_facet *facet)
{
    if (!bt__is_name(facet->facet))
        return bt__say(arena, "facet \"%s\": not a name", facet->facet);
    if (!facet->table || facet->table_nbytes == 0)
        return bt__say(arena, "facet %s: table is missing", facet->facet);
    if (facet->table_nbytes > BT__FACET_MAX_NBYTES)
        return bt__say(arena, "facet %s: a table of %u bytes is too large", facet->facet,
                       facet->table_nbytes);
    return check_facet_name(arena, facet);
}

static const char *check_facets(bt_arena *arena, const bt_op *op)
{
    for (const bt_facet *facet = op->facets; facet && facet->facet; facet++) {
        const char *fault = check_facet_row(arena, facet);
        if (fault)
            return fault;
        if (facet->op && strcmp(facet->op, op->name) != 0)
            return bt__say(arena,
                           "facet %s: it is of %s; one for another operator stands "
                           "in a table of its own",
                           facet->facet, facet->op);
        for (const bt_facet *other = op->facets; other != facet; other++) {
            if (strcmp(other->facet, facet->facet) == 0)
                return bt__say(arena, "facet %s: stated twice", facet->facet);
        }
    }
    return NULL;
}

const char *bt__check_op(bt_arena *arena, const void *row)
{
    const bt_op *op = row;
    const char *fault = op->revision ? NULL : "revision is missing: it counts from 1";
    if (!fault && (op->effects & ~(uint32_t)BT_EFFECT_ALL))
        fault = "effects has bits that are none of BT_EFFECT_...";
    if (!fault && (!bt__is_utf8(op->formula) || !bt__is_utf8(op->source)))
        fault = "formula or source is not UTF-8";
    if (!fault)
        fault = check_inputs(arena, op->inputs);
    if (!fault)
        fault = check_compute(arena, op);
    return fault ? fault : check_facets(arena, op);
}

static int put_text(json_t *item, const char *key, const char *text)
{
    return !text || bt__json_put(item, key, json_string(text));
}

static int put_effects(json_t *item, uint32_t bits)
{
    json_t *list = bits ? json_array() : NULL;
    int ok = !bits || bt__json_put(item, "effects", list);
    for (size_t i = 0; i < BT_COUNT(effects) && ok; i++) {
        if (bits & effects[i].bit)
            ok = json_array_append_new(list, json_string(effects[i].name)) == 0;
    }
    return ok;
}

static int put_inputs(json_t *op, const bt_op_input *input)
{
    json_t *list = json_array();
    int ok = bt__json_put(op, "inputs", list);
    for (; ok && input->name; input++) {
        json_t *item = json_object();
        ok = json_array_append_new(list, item) == 0 &&
             put_text(item, "name", input->name) && put_text(item, "type", input->type) &&
             (!input->is_optional || bt__json_put(item, "optional", json_true())) &&
             (!input->is_rest || bt__json_put(item, "rest", json_true())) &&
             put_text(item, "doc", input->doc);
    }
    return ok;
}

static int put_facet(json_t *item, const bt_facet *facet)
{
    return put_text(item, "facet", facet->facet) &&
           (!facet->priority ||
            bt__json_put(item, "priority", json_integer(facet->priority)));
}

static int put_facets(json_t *op, const bt_facet *facet)
{
    json_t *list = facet ? json_array() : NULL;
    int ok = !facet || bt__json_put(op, "facets", list);
    for (; ok && facet && facet->facet; facet++) {
        json_t *item = json_object();
        ok = json_array_append_new(list, item) == 0 && put_facet(item, facet);
    }
    return ok;
}

static const char *relation_of(const bt_op *op)
{
    return op->relation ? op->relation : op->relate ? "(own)" : "(from formula)";
}

static const char *computes_of(const bt_op *op)
{
    return op->formula         ? "formula"
           : op->write_formula ? "formula hook"
           : op->formula_attr  ? "formula attribute"
                               : "c";
}

int bt__describe_op(const void *row, json_t *item)
{
    const bt_op *op = row;
    return bt__json_put(item, "revision", json_integer(op->revision)) &&
           put_text(item, "source", op->source) && put_effects(item, op->effects) &&
           put_inputs(item, op->inputs) && put_text(item, "relation", relation_of(op)) &&
           put_text(item, "computes", computes_of(op)) &&
           put_text(item, "formula", op->formula) && put_facets(item, op->facets);
}

static int is_relation(const char *text)
{
    return bt__is_name(text) || strcmp(text, "(own)") == 0 ||
           strcmp(text, "(from formula)") == 0;
}

static const bt__shape revision_shape = { .kinds = BT__JSON_INT,
                                          .low = 1,
                                          .high = INT32_MAX };
static const bt__shape effect_shape = {
    .kinds = BT__JSON_STRING, .choices = "reads|writes|allocates|random|io|fails|diverges"
};
static const bt__shape effects_shape = { .kinds = BT__JSON_LIST, .items = &effect_shape };
static const bt__shape_field input_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "type", &bt__doc_shape, 1 },
    { "doc", &bt__text_shape, 0 },
    { "optional", &bt__flag_shape, 0 },
    { "rest", &bt__flag_shape, 0 },
    { 0 },
};
static const bt__shape input_shape = { .kinds = BT__JSON_OBJECT, .fields = input_fields };
static const bt__shape inputs_shape = { .kinds = BT__JSON_LIST, .items = &input_shape };
static const bt__shape relation_shape = {
    .kinds = BT__JSON_STRING,
    .what = "a relation's name, \"(own)\" or \"(from formula)\"",
    .accepts = is_relation
};
static const bt__shape computes_shape = { .kinds = BT__JSON_STRING,
                                          .choices =
                                              "formula|formula hook|formula attribute|c" };
static const bt__shape priority_shape = { .kinds = BT__JSON_INT,
                                          .low = INT32_MIN,
                                          .high = INT32_MAX };
static const bt__shape_field own_facet_fields[] = {
    { "facet", &bt__name_shape, 1 },
    { "priority", &priority_shape, 0 },
    { 0 },
};
static const bt__shape own_facet_shape = { .kinds = BT__JSON_OBJECT,
                                           .fields = own_facet_fields };
static const bt__shape own_facets_shape = { .kinds = BT__JSON_LIST,
                                            .items = &own_facet_shape };
static const bt__shape_field op_fields[] = {
    { "name", &bt__name_shape, 1 },     { "doc", &bt__doc_shape, 1 },
    { "revision", &revision_shape, 1 }, { "source", &bt__text_shape, 0 },
    { "effects", &effects_shape, 0 },   { "inputs", &inputs_shape, 1 },
    { "attrs", &bt__schema_shape, 0 },  { "relation", &relation_shape, 1 },
    { "computes", &computes_shape, 1 }, { "formula", &bt__text_shape, 0 },
    { "facets", &own_facets_shape, 0 }, { 0 },
};
const bt__shape bt__op_shape = { .kinds = BT__JSON_OBJECT, .fields = op_fields };

/* ---- relations ---- */

const char *bt__check_relation(bt_arena *arena, const void *row)
{
    (void)arena;
    return ((const bt_relation *)row)->relate ? NULL : "relate is missing";
}

/* ---- facets for other plugins' operators ---- */

int bt__copy_facet(const bt__copier *copier, void *row)
{
    return copy_facet_table(copier, row);
}

const char *bt__check_facet(bt_arena *arena, const void *row)
{
    const bt_facet *facet = row;
    if (!facet->op || !bt__is_name(facet->op))
        return "op is missing: the operator's name";
    return check_facet_row(arena, facet);
}

int bt__describe_facet(const void *row, json_t *item)
{
    const bt_facet *facet = row;
    return put_text(item, "op", facet->op) && put_facet(item, facet);
}

static const bt__shape_field facet_fields[] = {
    { "op", &bt__name_shape, 1 },
    { "facet", &bt__name_shape, 1 },
    { "priority", &priority_shape, 0 },
    { 0 },
};
const bt__shape bt__facet_shape = { .kinds = BT__JSON_OBJECT, .fields = facet_fields };
