/* Printing functions and their bindings: one a line, blocks indented. */
#include "text/print.h"

#include <string.h>

#include "ir/dim.h"

enum { HEAD_NBYTES = 100 /* a longer head has a line for each parameter */ };

static void print_block_body(bt_printer *, const bt_block *);
static void print_expr(bt_printer *, const bt_value *);

static int is_nested(const bt_printer *p, const bt_value *value)
{
    return p->nested && bt_map_find(p->nested, value);
}

static void add(bt_printer *p, const char *text)
{
    bt_text_add(p->out, text, strlen(text));
}

static void new_line(bt_printer *p)
{
    add(p, "\n");
    for (uint32_t i = 0; i < p->indent; i++)
        add(p, "    ");
}

/* ---- places ---- */

/* The number of a source, given in the order in which they are met. */
static uintptr_t source_number(bt_printer *p, const char *file)
{
    uintptr_t known = (uintptr_t)bt_map_find(&p->sources, file);
    if (known)
        return known - 1;
    known = p->sources.len;
    if (!bt_map_put(&p->sources, file, (void *)(known + 1)))
        p->out->failed = 1;
    return known;
}

int bt__print_span(bt_printer *p, bt_span span)
{
    bt_place place;
    if (!span || !p->module)
        return 0;
    bt_span_place(p->module->store, span, &place);
    bt_text_addf(p->out, "%u", (unsigned)source_number(p, place.file ? place.file : ""));
    if (place.node) {
        add(p, ":");
        bt__print_quoted(p->out, place.node);
    } else if (place.line) {
        bt_text_addf(p->out, ":%u:%u", (unsigned)place.line, (unsigned)place.column);
        if (place.width > 1)
            bt_text_addf(p->out, "+%u", (unsigned)place.width);
    }
    return 1;
}

void bt__print_place(bt_printer *p, bt_span span, bt_prov prov)
{
    const uint32_t *ids;
    if (!p->has_spans)
        return;
    if (span) {
        add(p, " at ");
        bt__print_span(p, span);
    }
    uint32_t n = bt_prov_ids(p->module->store, prov, &ids);
    for (uint32_t i = 0; i < n; i++) {
        const void *key = (const void *)((uintptr_t)ids[i] + 1);
        uintptr_t number = (uintptr_t)bt_map_find(&p->origins, key);
        bt_text_addf(p->out, "%s%u", i ? ", " : " from ", (unsigned)(number - 1));
    }
}

/* ---- operands ---- */

static void print_value_name(bt_printer *p, const bt_value *value)
{
    const char *name = p->names ? bt__names_find(p->names, value) : NULL;
    if (is_nested(p, value))
        print_expr(p, value);
    else if (name)
        add(p, name);
    else if (value->kind == BT_VALUE_GLOBAL)
        bt__print_global(p, "@", value->name);
    else if (value->kind == BT_VALUE_CONST)
        bt__print_const(p, bt_as_const(value)->object, value->name);
    else
        bt__print_name(p->out, "%", value->name ? value->name : "_");
}

static void print_operands(bt_printer *p, uint32_t n, const bt_value *const *at)
{
    for (uint32_t i = 0; i < n; i++) {
        add(p, i ? ", " : "");
        print_value_name(p, at[i]);
    }
}

/* ---- heads ---- */

static void print_device(bt_printer *p, uint32_t device)
{
    if (device)
        bt_text_addf(p->out, " on %u", (unsigned)device);
}

/* %x: type on 1 */
static void print_name_and_type(bt_printer *p, const bt_value *value)
{
    print_value_name(p, value);
    if (value->type) {
        add(p, ": ");
        bt__print_term(p, value->type);
    }
    print_device(p, value->device);
}

static void print_param(bt_printer *p, const bt_param *param)
{
    print_name_and_type(p, &param->base);
    bt__print_place(p, param->base.span, param->base.prov);
}

static void print_type_params(bt_printer *p, const bt_func *func)
{
    int is_listed = bt__lists_anonymous(func);
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->nvar; i++) {
        const bt_var_type *var = (const bt_var_type *)(const void *)func->vars[i];
        if (var->is_anonymous && !is_listed)
            continue;
        add(p, n++ ? ", " : "<");
        bt__print_term(p, func->vars[i]);
        bt__print_param_range(p->out, &var->param);
    }
    add(p, n ? ">" : "");
}

/* Parameters and attributes; `apart` puts each on its own line. */
static void print_params(bt_printer *p, const bt_func *func, int apart)
{
    uint32_t n = func->block->nparam + func->attrs.n;
    add(p, "(");
    p->indent += 2;
    for (uint32_t i = 0; i < n; i++) {
        add(p, i ? (apart ? "," : ", ") : "");
        if (apart)
            new_line(p);
        if (i < func->block->nparam)
            print_param(p, func->block->params[i]);
        else
            bt__print_entry(p, &func->attrs.at[i - func->block->nparam]);
    }
    p->indent -= 2;
    if (apart)
        new_line(p);
    add(p, ")");
}

static void print_head(bt_printer *p, const bt_func *func)
{
    print_type_params(p, func);
    size_t start = p->out->len;
    print_params(p, func, 0);
    if (p->out->len - start > HEAD_NBYTES && !p->out->failed) {
        p->out->len = start;
        print_params(p, func, 1);
    }
    if (func->result) {
        add(p, " -> ");
        bt__print_result(p, func->result, func->nwhere);
    }
    bt__print_wheres(p, func->nwhere, func->wheres);
    bt__print_place(p, func->span, 0);
}

void bt__print_function(bt_printer *p, const bt_func *func)
{
    print_head(p, func);
    add(p, " {");
    print_block_body(p, func->block);
    add(p, "}");
}

/* ---- calls ---- */

static void print_op_name(bt_printer *p, const char *name)
{
    // A constructor of that name would be found first.
    if (bt_map_entry_find(&p->ctor_names, name)) {
        add(p, "op ");
        bt__print_quoted(p->out, name);
    } else {
        bt__print_word(p->out, name);
    }
}

static void print_callee(bt_printer *p, const bt_call *call)
{
    if (call->callee_kind == BT_CALLEE_OP)
        print_op_name(p, call->op->name);
    else if (call->callee_kind == BT_CALLEE_CTOR)
        bt__print_word(p->out, call->ctor->name);
    else
        print_value_name(p, call->callee);
    for (uint32_t i = 0; i < call->ntype_arg; i++) {
        add(p, i ? ", " : "[");
        bt__print_any_term(p, call->type_args[i]);
    }
    add(p, call->ntype_arg ? "]" : "");
}

static void print_check(bt_printer *p, const bt_check *check)
{
    bt__print_term(p, check->left);
    bt_text_addf(p->out, " %s ", bt__check_word(check->relation));
    bt__print_term(p, check->right);
    if (check->what) {
        add(p, " ");
        bt__print_quoted(p->out, check->what);
    }
}

static void print_contents(bt_printer *p, const bt_contents *contents)
{
    add(p, " holds [");
    for (uint32_t i = 0; i < contents->n; i++) {
        add(p, i ? ", " : "");
        bt__print_term(p, contents->dims[i]);
    }
    add(p, "]");
}

static void print_call(bt_printer *p, const bt_call *call)
{
    print_callee(p, call);
    add(p, "(");
    print_operands(p, call->narg, call->args);
    if (call->callee_kind == BT_CALLEE_OP)
        bt__print_attrs(p, call->op, call->attrs, call->narg);
    add(p, ")");
    if (call->contents)
        print_contents(p, call->contents);
    for (uint32_t i = 0; i < call->ncheck; i++) {
        add(p, i ? ", " : " check ");
        print_check(p, &call->checks[i]);
    }
}

/* ---- branches ---- */

static void print_region(bt_printer *p, const bt_block *block)
{
    add(p, "{");
    print_block_body(p, block);
    add(p, "}");
}

static void print_if(bt_printer *p, const bt_if *value)
{
    add(p, "if (");
    print_value_name(p, value->condition);
    add(p, ") ");
    print_region(p, value->then_block);
    add(p, " else ");
    print_region(p, value->else_block);
}

static void print_pattern(bt_printer *p, const bt_pattern *pattern)
{
    switch (pattern->kind) {
    case BT_PATTERN_WILDCARD: add(p, "_"); break;
    case BT_PATTERN_VAR: print_param(p, pattern->var); return;
    case BT_PATTERN_CTOR: bt__print_word(p->out, pattern->ctor->name); break;
    default: break;
    }
    if (pattern->n || pattern->kind == BT_PATTERN_TUPLE) {
        add(p, "(");
        for (uint32_t i = 0; i < pattern->n; i++) {
            add(p, i ? ", " : "");
            print_pattern(p, pattern->at[i]);
        }
        int is_single = pattern->n == 1 && pattern->kind == BT_PATTERN_TUPLE;
        add(p, is_single ? ",)" : ")");
    }
    bt__print_place(p, pattern->span, 0);
}

static void print_match(bt_printer *p, const bt_match *match)
{
    add(p, match->otherwise ? "match? (" : "match (");
    print_value_name(p, match->data);
    add(p, ") {");
    p->indent++;
    for (uint32_t i = 0; i < match->nclause; i++) {
        new_line(p);
        print_pattern(p, match->clauses[i]->pattern);
        add(p, " => ");
        print_region(p, match->clauses[i]->block);
    }
    p->indent--;
    new_line(p);
    add(p, "}");
    if (match->otherwise && *match->otherwise) {
        add(p, " else ");
        bt__print_quoted(p->out, match->otherwise);
    }
}

/* ---- bindings ---- */

static void print_cell(bt_printer *p, const char *name, uint32_t n,
                       const bt_value *const *operands)
{
    bt_text_addf(p->out, "%s(", name);
    print_operands(p, n, operands);
    add(p, ")");
}

/* A literal needs parentheses before a projection: `1.0` is a number. */
static void print_proj(bt_printer *p, const bt_proj *proj)
{
    const bt_tensor *tensor = bt_const_tensor(proj->tuple);
    int is_scalar = tensor && tensor->rank == 0;
    add(p, is_scalar ? "(" : "");
    print_value_name(p, proj->tuple);
    bt_text_addf(p->out, is_scalar ? ").%u" : ".%u", (unsigned)proj->index);
}

static void print_expr(bt_printer *p, const bt_value *value)
{
    switch (value->kind) {
    case BT_VALUE_CALL: print_call(p, bt_as_call(value)); break;
    case BT_VALUE_TUPLE: {
        const bt_tuple_value *tuple = bt_as_tuple(value);
        print_cell(p, "", tuple->nfield, tuple->fields);
        if (tuple->nfield == 1 && !p->out->failed) {
            p->out->len--;
            add(p, ",)");
        }
        break;
    }
    case BT_VALUE_PROJ: print_proj(p, bt_as_proj(value)); break;
    case BT_VALUE_IF: print_if(p, bt_as_if(value)); break;
    case BT_VALUE_MATCH: print_match(p, bt_as_match(value)); break;
    case BT_VALUE_REF: print_cell(p, "ref", 1, &bt_as_ref(value)->content); break;
    case BT_VALUE_READ: print_cell(p, "ref_read", 1, &bt_as_read(value)->ref); break;
    case BT_VALUE_WRITE: {
        const bt_write *write = bt_as_write(value);
        const bt_value *operands[] = { write->ref, write->content };
        print_cell(p, "ref_write", 2, operands);
        break;
    }
    case BT_VALUE_CLOSURE:
    case BT_VALUE_PARAM:
    case BT_VALUE_CONST:
    case BT_VALUE_GLOBAL: break;
    }
}

/* %f: type, %g: type = fn ... , fn ...; */
static void print_closures(bt_printer *p, const bt_closure_group *group)
{
    for (uint32_t i = 0; i < group->n; i++) {
        add(p, i ? ", " : "");
        print_name_and_type(p, &group->at[i]->base);
    }
    add(p, " = ");
    for (uint32_t i = 0; i < group->n; i++) {
        const bt_closure_value *closure = group->at[i];
        add(p, i ? ", fn " : "fn ");
        bt__print_function(p, closure->func);
        bt__print_place(p, closure->base.span, closure->base.prov);
    }
    add(p, ";");
}

static void print_binding(bt_printer *p, const bt_value *value)
{
    const bt_closure_value *closure = bt_as_closure(value);
    if (is_nested(p, value) || (closure && closure->group->at[0] != closure))
        return; // printed where it is used, or with the first of its group
    new_line(p);
    if (closure) {
        print_closures(p, closure->group);
        return;
    }
    print_name_and_type(p, value);
    add(p, " = ");
    print_expr(p, value);
    bt__print_place(p, value->span, value->prov);
    add(p, ";");
}

static void print_block_body(bt_printer *p, const bt_block *block)
{
    p->indent++;
    for (uint32_t i = 0; i < block->nbinding && !p->out->failed; i++) {
        const void *mark = bt_arena_mark(p->temp);
        print_binding(p, block->bindings[i]);
        bt_arena_release(p->temp, mark);
    }
    new_line(p);
    print_value_name(p, block->result);
    p->indent--;
    new_line(p);
}

/* ---- parts ---- */

void bt_printer_head(bt_printer *p, const bt_func *func)
{
    print_head(p, func);
}

void bt_printer_name(bt_printer *p, const bt_value *value)
{
    print_value_name(p, value);
}

void bt_printer_param(bt_printer *p, const bt_value *value)
{
    print_name_and_type(p, value);
}

void bt_printer_expr(bt_printer *p, const bt_value *value)
{
    print_expr(p, value);
}

void bt_printer_pattern(bt_printer *p, const bt_pattern *pattern)
{
    print_pattern(p, pattern);
}

/* ---- for people ---- */

/* How a message names a value. */
void bt_print_operand(const bt_value *value, bt_text *out)
{
    const bt_call *call = bt_as_call(value);
    if (value->kind == BT_VALUE_GLOBAL)
        bt__print_name(out, "@", value->name);
    else if (value->kind == BT_VALUE_CONST)
        bt_text_addf(out, "a constant");
    else if (value->name)
        bt__print_name(out, "%", value->name);
    else if (call && call->callee_kind == BT_CALLEE_OP)
        bt_text_addf(out, "%s", call->op->name);
    else if (call && call->callee_kind == BT_CALLEE_CTOR)
        bt_text_addf(out, "%s", call->ctor->name);
    else
        bt_text_addf(out, "a %s", bt_value_kind_name(value->kind));
}
