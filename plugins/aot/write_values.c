/* An entry on values: what the header tells of them, and an example. */
#include <inttypes.h>
#include <string.h>

#include <baton/op.h>

#include "bytecode.h"
#include "expr.h"
#include "write.h"

/* What the functions of values.h are called in the program: after it. */
static const char *const words[] = { "begin", "tensor", "fields", "hold", "drop",
                                     "tag",   "count",  "field",  "dim",  "elements" };

/* ---- constructors ---- */

static int is_met(const struct vm_types *types, uint32_t before, const bt_adt_def *def)
{
    for (uint32_t i = 0; i < before; i++) {
        if (types->at[i].kind == VM_TYPE_DATA && types->at[i].def == def)
            return 1;
    }
    return 0;
}

/* Those of each data type that has any, by the numbers of their tags. */
static bt_status add_constructors(struct plan *p, bt_text *out)
{
    const struct vm_types *types = &p->program->types;
    for (uint32_t i = 0; i < types->n; i++) {
        const bt_adt_def *def = types->at[i].def;
        if (types->at[i].kind != VM_TYPE_DATA || !def->nctor || is_met(types, i, def))
            continue;
        bt_text_addf(out, "\n/*");
        for (uint32_t k = 0; k < def->nctor; k++) {
            const bt_ctor *ctor = def->ctors[k];
            bt_text_addf(out, "%s %s(", k ? "," : "", ctor->name);
            for (uint32_t f = 0; f < ctor->nfield; f++) {
                bt_text_addf(out, "%s", f ? ", " : "");
                bt_print_type(p->ctx, ctor->fields[f], out);
            }
            bt_text_addf(out, ")");
        }
        bt_text_addf(out, " */\nenum {");
        for (uint32_t k = 0; k < def->nctor; k++) {
            const char *word = plan_ctor_word(p, def->ctors[k]);
            if (!word)
                return bt_no_memory();
            bt_text_addf(out, "%s %s = %" PRIu32, k ? "," : "", word, def->ctors[k]->tag);
        }
        bt_text_addf(out, " };\n");
    }
    return NULL;
}

/* ---- the header ---- */

/* A text in which @ stands for the program's name. */
static void add_named(const char *text, const char *name, bt_text *out)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchr(text, '@');
        if (!end)
            end = text + strlen(text);
        bt_text_add(out, text, (size_t)(end - text));
        if (*end)
            bt_text_addf(out, "%s", name);
    }
}

bt_status values_declare(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    add_named(
        " * A value is held by whoever has a reference to it. What @_fields and @_run "
        "take\n"
        " * is theirs then; what they give is the caller's, to give on or to @_drop.\n"
        " * Fields that are read stay their value's; @_hold gives a reference of one's\n"
        " * own, which is dropped or given on, too. All live in the workspace, which\n"
        " * begins at a multiple of 64; at most `depth` calls are in progress at once,\n"
        " * each with some hundred bytes of the C stack, which is to have them.\n"
        " * Values must be of the types that are asked for.\n"
        " * Each function returns 0, or a fault, of which @_fault gives the text; after\n"
        " * a fault of @_run begin again. Threads need a workspace each.\n"
        " */\n"
        "struct @_machine;\nstruct @_value;\n",
        p->name, out);
    BT_TRY(add_constructors(p, out));
    add_named(
        o->weights == WEIGHTS_FILE
            ? "\n@_API int32_t @_begin(void *workspace, size_t nbytes, uint32_t depth, "
              "const void\n"
              "    *weights, struct @_machine **out);\n"
            : "\n/* weights: NULL. */\n"
              "@_API int32_t @_begin(void *workspace, size_t nbytes, uint32_t depth,\n"
              "    const void *weights, struct @_machine **out);\n",
        p->name, out);
    add_named(
        "/* A row major tensor of elements that stay where they are, as long as the "
        "value\n"
        " * is held. */\n"
        "@_API int32_t @_tensor(struct @_machine *, uint32_t rank, const int64_t *dims,\n"
        "    const void *elements, struct @_value **out);\n"
        "/* A value of a data type by its constructor's number; tag 0: a tuple. */\n"
        "@_API int32_t @_fields(struct @_machine *, uint32_t tag, uint32_t n,\n"
        "    struct @_value *const *fields, struct @_value **out);\n"
        "/* One more reference: of a field, so that it outlives its value. */\n"
        "@_API struct @_value *@_hold(const struct @_value *value);\n"
        "@_API void @_drop(struct @_machine *, struct @_value *value);\n"
        "@_API uint32_t @_tag(const struct @_value *value);\n"
        "/* Of a tensor, its axes; else the fields. */\n"
        "@_API uint32_t @_count(const struct @_value *value);\n"
        "/* NULL: there is no such field. */\n"
        "@_API const struct @_value *@_field(const struct @_value *value, uint32_t "
        "index);\n"
        "@_API int64_t @_dim(const struct @_value *value, uint32_t axis);\n"
        "@_API const void *@_elements(const struct @_value *value);\n"
        "\n",
        p->name, out);
    return out->failed ? bt_no_memory() : NULL;
}

bt_status values_define(struct output *o, bt_text *out)
{
    (void)o;
    for (uint32_t i = 0; value_blocks[i]; i++)
        bt_text_addf(out, "%s\n", value_blocks[i]);
    return out->failed ? bt_no_memory() : NULL;
}

void values_names(const struct plan *p, bt_text *out)
{
    for (uint32_t i = 0; i < BT_COUNT(words); i++)
        bt_text_addf(out, "#define value_%s %s_%s\n", words[i], p->name, words[i]);
    bt_text_addf(out, "#define machine %s_machine\n#define object %s_value\n\n", p->name,
                 p->name);
}

/* ---- the example ---- */

int values_is_array(const struct plan *p, const struct leaf *leaf)
{
    const bt_shape_type *shape = bt_tensor_shape(leaf->type);
    return !p->has_values || (shape && !shape->rest && bt_tensor_dtype(leaf->type) &&
                              !(leaf->type->has & BT_HAS_OPAQUE));
}

struct example {
    struct output *o;
    bt_text *out;
    uint32_t nvalue; /* variables so far */
    uint32_t ntype;
    uint32_t *depths; /* by type: how many fields deep its least value is */
};

/* A value deeper than this is left to the reader; types that a generic one leads to. */
enum { MAX_NESTED = 8, MAX_TYPES = 4096 };

static uint32_t count_fields(const struct vm_type *type, uint32_t tag)
{
    return type->kind == VM_TYPE_DATA ? type->def->ctors[tag]->nfield : type->n;
}

static const uint32_t *fields_of(const struct vm_type *type, uint32_t tag)
{
    return type->kind == VM_TYPE_DATA ? type->ctors[tag] : type->at;
}

static uint32_t depth_of(const struct example *e, const struct vm_type *type,
                         uint32_t tag)
{
    const uint32_t *fields = fields_of(type, tag);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count_fields(type, tag); i++) {
        const uint32_t inner = fields[i] < e->ntype ? e->depths[fields[i]] : MAX_NESTED;
        depth = inner + 1 > depth ? inner + 1 : depth;
    }
    return depth;
}

/* The constructor whose least value is the least deep. */
static uint32_t find_tag(const struct example *e, const struct vm_type *type)
{
    uint32_t tag = 0;
    for (uint32_t i = 1; type->kind == VM_TYPE_DATA && i < type->def->nctor; i++) {
        if (depth_of(e, type, i) < depth_of(e, type, tag))
            tag = i;
    }
    return tag;
}

static int has_parts(const struct vm_type *type)
{
    return type->kind == VM_TYPE_TUPLE ||
           (type->kind == VM_TYPE_DATA && type->def->nctor);
}

static bt_status find_depths(struct example *e)
{
    struct plan *p = e->o->plan;
    struct vm_types *types = &p->program->types;
    for (uint32_t i = 0; i < types->n && i < MAX_TYPES; i++) {
        if (types->at[i].kind == VM_TYPE_DATA)
            BT_TRY(vm_type_ctors(p->ctx, types, i, p->entry->func->block->result));
    }
    e->ntype = types->n < MAX_TYPES ? types->n : MAX_TYPES;
    e->depths = BT_NEWS(p->arena, uint32_t, e->ntype);
    if (!e->depths)
        return bt_no_memory();
    for (uint32_t i = 0; i < e->ntype; i++) {
        const uint32_t kind = types->at[i].kind;
        e->depths[i] = kind == VM_TYPE_SCALAR || kind == VM_TYPE_TENSOR ? 0 : MAX_NESTED;
    }
    for (uint32_t round = 0; round < MAX_NESTED; round++) {
        for (uint32_t i = 0; i < e->ntype; i++) {
            const struct vm_type *type = &types->at[i];
            const uint32_t depth =
                has_parts(type) ? depth_of(e, type, find_tag(e, type)) : MAX_NESTED;
            e->depths[i] = depth < e->depths[i] ? depth : e->depths[i];
        }
    }
    return NULL;
}

/* Builds the least value of a type; *out: its variable. */
static bt_status add_least(struct example *e, uint32_t number, uint32_t *out)
{
    struct plan *p = e->o->plan;
    struct vm_types *types = &p->program->types;
    const struct vm_type type = types->at[number];
    if (number >= e->ntype || e->depths[number] >= MAX_NESTED) {
        *out = e->nvalue++;
        bt_text_addf(e->out,
                     "    struct %s_value *aot_v%" PRIu32 " = NULL; /* to be built */\n",
                     p->name, *out);
        return NULL;
    }
    if (type.kind == VM_TYPE_SCALAR || type.kind == VM_TYPE_TENSOR) {
        *out = e->nvalue++;
        bt_text_addf(e->out,
                     "    struct %s_value *aot_v%" PRIu32 " = NULL;\n"
                     "    fault = fault ? fault : %s_tensor(machine, %" PRIu32
                     ", aot_ones, aot_zero, &aot_v%" PRIu32 ");\n",
                     p->name, *out, p->name, type.kind == VM_TYPE_TENSOR ? type.rank : 0,
                     *out);
        return NULL;
    }
    const uint32_t tag = find_tag(e, &type), n = count_fields(&type, tag);
    const uint32_t *fields = fields_of(&type, tag);
    uint32_t *parts = BT_NEWS(p->arena, uint32_t, n);
    if (!parts)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(add_least(e, fields[i], &parts[i]));
    *out = e->nvalue++;
    bt_text_addf(e->out,
                 "    struct %s_value *aot_v%" PRIu32 " = NULL, *aot_fields%" PRIu32
                 "[%" PRIu32 "] = {",
                 p->name, *out, *out, n ? n : 1);
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(e->out, "%s aot_v%" PRIu32, i ? "," : "", parts[i]);
    bt_text_addf(e->out, "%s };\n    fault = fault ? fault : %s_fields(machine, ",
                 n ? "" : " NULL", p->name);
    const char *word =
        type.kind == VM_TYPE_DATA ? plan_ctor_word(p, type.def->ctors[tag]) : "0";
    if (!word)
        return bt_no_memory();
    bt_text_addf(e->out, "%s, %" PRIu32 ", aot_fields%" PRIu32 ", &aot_v%" PRIu32 ");\n",
                 word, n, *out, *out);
    return NULL;
}

static bt_status add_array(struct example *e, const struct leaf *leaf, uint32_t *out)
{
    struct plan *p = e->o->plan;
    const bt_shape_type *shape = bt_tensor_shape(leaf->type);
    *out = e->nvalue++;
    bt_text_addf(e->out, "    const int64_t aot_dims%" PRIu32 "[] = {", *out);
    for (uint32_t i = 0; i < shape->n; i++) {
        bt_text_addf(e->out, "%s %s", i ? "," : "",
                     may_refuse(p) ? "!aot_is_taken ? 0 : " : "");
        BT_TRY(plan_dim_text(p, shape->dims[i], e->out));
    }
    bt_text_addf(e->out,
                 "%s };\n    struct %s_value *aot_v%" PRIu32 " = NULL;\n"
                 "    fault = fault ? fault : %s_tensor(machine, %" PRIu32
                 ", aot_dims%" PRIu32 ", %s, &aot_v%" PRIu32 ");\n",
                 shape->n ? "" : " 0", p->name, *out, p->name, shape->n, *out, leaf->name,
                 *out);
    return NULL;
}

/* How many axes a tensor of the program has at most; 1 at least. */
static uint32_t find_most_axes(const struct vm_types *types)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < types->n; i++) {
        if (types->at[i].kind == VM_TYPE_TENSOR && types->at[i].rank > most)
            most = types->at[i].rank;
    }
    return most;
}

bt_status values_call(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    const struct vm_function *f = p->program->functions[0];
    struct example e = { .o = o, .out = out };
    uint32_t *args = BT_NEWS(p->arena, uint32_t, p->narg);
    if (!args)
        return bt_no_memory();
    BT_TRY(find_depths(&e));
    bt_text_addf(
        out,
        "    static const uint64_t aot_zero[8];\n"
        "    int64_t aot_ones[%" PRIu32 "];\n"
        "    struct %s_machine *machine = NULL;\n    struct %s_value *%s = NULL;\n"
        "    fault = %s_begin(workspace, WORKSPACE, DEPTH, %s, &machine);\n"
        "    for (aot_i = 0; aot_i < sizeof(aot_ones) / sizeof(aot_ones[0]); aot_i++)\n"
        "        aot_ones[aot_i] = 1;\n"
        "    (void)aot_zero;\n",
        find_most_axes(&p->program->types), p->name, p->name, p->results->name, p->name,
        o->weights == WEIGHTS_FILE ? "weights" : "NULL");
    for (uint32_t i = 0; i < p->narg; i++) {
        const uint32_t type = f->types[f->params[i]];
        BT_TRY(values_is_array(p, &p->args[i]) ? add_array(&e, &p->args[i], &args[i])
                                               : add_least(&e, type, &args[i]));
    }
    bt_text_addf(out, "    fault = fault ? fault : %s_run(machine", p->name);
    for (uint32_t i = 0; i < p->entry->func->nvar; i++)
        bt_text_addf(out, ", %s", p->dims[i]);
    for (uint32_t i = 0; i < p->narg; i++)
        bt_text_addf(out, ", aot_v%" PRIu32, args[i]);
    bt_text_addf(out, ", &%s);\n", p->results->name);
    return NULL;
}

/* Tensors by their elements, a value of a data type by its constructor. Types nest to a
 * bounded depth. */
static void print_value(struct plan *p, uint32_t number, const char *name, bt_text *out)
{
    const struct vm_type *type = &p->program->types.at[number];
    bt_text_addf(out, "    {\n    const struct %s_value *const %s_of = %s;\n", p->name,
                 name, name);
    if (type->kind == VM_TYPE_TUPLE) {
        for (uint32_t i = 0; i < type->n; i++) {
            bt_text field;
            bt_text_init(&field, p->arena);
            bt_text_addf(&field, "%s_%" PRIu32, name, i);
            if (!bt_text_get(&field)) {
                out->failed = 1;
                return;
            }
            bt_text_addf(out,
                         "    const struct %s_value *const %s = %s_field(%s_of, %" PRIu32
                         ");\n",
                         p->name, field.at, p->name, name, i);
            print_value(p, type->at[i], field.at, out);
        }
    } else if (type->kind == VM_TYPE_SCALAR || type->kind == VM_TYPE_TENSOR) {
        const char *element = c_element_type(type->dtype);
        bt_text_addf(out,
                     "    const %s *const aot_elements = %s_elements(%s_of);\n"
                     "    size_t aot_n = 1;\n"
                     "    for (aot_i = 0; aot_i < %s_count(%s_of); aot_i++)\n"
                     "        aot_n *= (size_t)%s_dim(%s_of, (uint32_t)aot_i);\n"
                     "    printf(\"%s:\");\n    for (aot_i = 0; aot_i < aot_n; aot_i++)\n"
                     "        %saot_elements[aot_i]);\n    printf(\"\\n\");\n",
                     element, p->name, name, p->name, name, p->name, name, name,
                     example_print(type->dtype));
    } else {
        bt_text_addf(out,
                     "    printf(\"%s: constructor %%lu of %%lu fields\\n\", (unsigned "
                     "long)%s_tag(%s_of), (unsigned long)%s_count(%s_of));\n",
                     name, p->name, name, p->name, name);
    }
    bt_text_addf(out, "    }\n");
}

bt_status values_print(struct output *o, bt_text *out)
{
    struct plan *p = o->plan;
    print_value(p, p->program->functions[0]->result, p->results->name, out);
    return out->failed ? bt_no_memory() : NULL;
}
