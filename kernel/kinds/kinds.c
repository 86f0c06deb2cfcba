/*
 * The interfaces that the kernel knows: for each, what a row must hold, how its manifest
 * item reads, and what the item may hold. Passes, rules, analyses, executors, importers,
 * compilers, targets and pipelines; operators, relations and facets are in operators.c.
 */
#include <stdio.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/executor.h>
#include <baton/importer.h>
#include <baton/target.h>

#include "kinds/kinds.h"
#include "pass/call_pattern.h"
#include "pass/pipeline.h"

const bt__shape bt__doc_shape = { .kinds = BT__JSON_STRING,
                                  .what = "a sentence",
                                  .accepts = bt__is_filled };

static int is_word(const char *text)
{
    return bt__is_name(text) || strcmp(text, "*") == 0;
}
static const bt__shape word_shape = { .kinds = BT__JSON_STRING,
                                      .what = "a name, or \"*\" for everything",
                                      .accepts = is_word };
static const bt__shape words_shape = { .kinds = BT__JSON_LIST, .items = &word_shape };

json_t *bt__describe_head(const char *name, const char *doc)
{
    json_t *item = json_object();
    if (!item)
        return NULL;
    int ok = bt__json_put(item, "name", json_string(name));
    if (ok && doc)
        ok = bt__json_put(item, "doc", json_string(doc));
    return bt__describe_end(item, ok);
}

json_t *bt__describe_end(json_t *item, int ok)
{
    if (ok)
        return item;
    json_decref(item);
    return NULL;
}

static int put_options(json_t *item, const bt_attr *options)
{
    return !options || bt__json_put(item, "options", bt__schema_describe(options));
}

const char *bt__check_head(bt_arena *arena, const char *name, const char *doc)
{
    (void)arena;
    if (!bt__is_name(name))
        return "the name is not one: letters, digits, \"_\", \".\" and \"-\" make a name";
    if (!doc || !*doc)
        return "doc is missing: state in a sentence what it does";
    if (!bt__is_utf8(doc))
        return "doc is not UTF-8";
    return NULL;
}

/* ---- passes ---- */

static const char *check_words(bt_arena *arena, const char *member, const char *words)
{
    char word[130];
    for (words = words ? words : ""; *words;) {
        size_t n = strcspn(words, " ");
        snprintf(word, sizeof(word), "%.*s", (int)(n < sizeof(word) ? n : sizeof(word)),
                 words);
        if (n > 0 && !is_word(word))
            return bt__say(arena, "%s: \"%s\" is not a name", member, word);
        words += n + (words[n] != 0);
    }
    return NULL;
}

static const char *check_pass(bt_arena *arena, const void *row)
{
    const bt_pass *pass = row;
    const char *fault = bt__check_head(arena, pass->name, pass->doc);
    if (!fault && !pass->run)
        fault = "run is missing";
    if (!fault && pass->level > 4)
        fault = bt__say(arena, "level is %u, expected 0 to 4", pass->level);
    if (!fault)
        fault = check_words(arena, "needs", pass->needs);
    if (!fault)
        fault = check_words(arena, "keeps", pass->keeps);
    if (!fault)
        fault = check_words(arena, "gives", pass->gives);
    return fault;
}

static int put_words(json_t *item, const char *key, const char *words)
{
    return !words || bt__json_put(item, key, bt__json_words(words));
}

static json_t *describe_pass(const void *row)
{
    const bt_pass *pass = row;
    json_t *item = bt__describe_head(pass->name, pass->doc);
    return bt__describe_end(
        item, bt__json_put(item, "level", json_integer(pass->level)) &&
                  put_words(item, "needs", pass->needs) &&
                  put_words(item, "keeps", pass->keeps) &&
                  put_words(item, "gives", pass->gives) &&
                  (!pass->reads_rules || bt__json_put(item, "rules", json_true())) &&
                  put_options(item, pass->options));
}

static const bt__shape_field pass_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "level", &bt__level_shape, 1 },
    { "needs", &words_shape, 0 },
    { "keeps", &words_shape, 0 },
    { "gives", &words_shape, 0 },
    { "options", &bt__schema_shape, 0 },
    { "rules", &bt__flag_shape, 0 },
    { 0 },
};
static const bt__shape pass_shape = { .kinds = BT__JSON_OBJECT, .fields = pass_fields };

/* ---- analyses ---- */

static const char *check_analysis(bt_arena *arena, const void *row)
{
    const bt_analysis *analysis = row;
    const char *fault = bt__check_head(arena, analysis->name, analysis->doc);
    return fault ? fault : analysis->compute ? NULL : "compute is missing";
}

static json_t *describe_analysis(const void *row)
{
    const bt_analysis *analysis = row;
    return bt__describe_head(analysis->name, analysis->doc);
}

static const bt__shape_field head_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { 0 },
};
static const bt__shape head_shape = { .kinds = BT__JSON_OBJECT, .fields = head_fields };

/* ---- rules ---- */

static const char *check_rule(bt_arena *arena, const void *row)
{
    const bt_rule *rule = row;
    const char *fault = bt__check_head(arena, rule->name, rule->doc);
    if (!fault && !bt__is_name(rule->pass))
        fault = "pass is missing: the one that goes by the rule, as simplify-expr";
    return fault ? fault
           : !bt__is_filled(rule->text) || !bt__is_utf8(rule->text)
               ? "text is missing: the rule, as in \"add(x, 0) => x\""
               : NULL;
}

static json_t *describe_rule(const void *row)
{
    const bt_rule *rule = row;
    json_t *item = bt__describe_head(rule->name, rule->doc);
    return bt__describe_end(item,
                            bt__json_put(item, "pass", json_string(rule->pass)) &&
                                bt__json_put(item, "rule", json_string(rule->text)));
}

static const bt__shape_field rule_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "pass", &bt__name_shape, 1 },
    { "rule", &bt__doc_shape, 1 },
    { 0 },
};
static const bt__shape rule_shape = { .kinds = BT__JSON_OBJECT, .fields = rule_fields };

/* ---- executors ---- */

static const struct {
    uint32_t bit;
    const char *name;
} features[] = {
#define BT_FEATURE(UPPER, bit, name, words) { (bit), name },
#include <baton/features.def>
};

static const char *check_executor(bt_arena *arena, const void *row)
{
    const bt_executor *executor = row;
    const char *fault = bt__check_head(arena, executor->name, executor->doc);
    if (!fault && !executor->open == !executor->load)
        fault = "one of open and load is needed";
    if (!fault && (!executor->close || !executor->call))
        fault = bt__say(arena, "%s is missing", !executor->close ? "close" : "call");
    if (!fault && (executor->features & ~(uint32_t)BT_FEATURE_ALL))
        fault = "features has bits that are none of BT_FEATURE_...";
    return fault;
}

static json_t *describe_executor(const void *row)
{
    const bt_executor *executor = row;
    json_t *item = bt__describe_head(executor->name, executor->doc);
    json_t *list = json_array();
    int ok = item && list;
    for (size_t i = 0; ok && i < BT_COUNT(features); i++) {
        if (executor->features & features[i].bit)
            ok = json_array_append_new(list, json_string(features[i].name)) == 0;
    }
    ok = ok && json_object_set(item, "features", list) == 0 &&
         put_options(item, executor->options);
    json_decref(list);
    return bt__describe_end(item, ok);
}

static const bt__shape feature_shape = { .kinds = BT__JSON_STRING, .choices = 1 +
#define BT_FEATURE(UPPER, bit, name, words) "|" name
#include <baton/features.def>
};
static const bt__shape features_shape = { .kinds = BT__JSON_LIST,
                                          .items = &feature_shape };
static const bt__shape_field executor_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "features", &features_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape executor_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = executor_fields };

/* ---- importers ---- */

static const char *check_importer(bt_arena *arena, const void *row)
{
    const bt_importer *importer = row;
    const char *fault = bt__check_head(arena, importer->name, importer->doc);
    if (!fault && (!importer->probe || !importer->import))
        fault = bt__say(arena, "%s is missing", importer->probe ? "import" : "probe");
    return fault;
}

static json_t *describe_importer(const void *row)
{
    const bt_importer *importer = row;
    json_t *item = bt__describe_head(importer->name, importer->doc);
    return bt__describe_end(item, put_words(item, "suffixes", importer->suffixes) &&
                                      put_options(item, importer->options));
}

static int is_suffix(const char *text)
{
    return text[0] == '.' && text[1] && !strchr(text, '/');
}
static const bt__shape suffix_shape = { .kinds = BT__JSON_STRING,
                                        .what = "a suffix of file names, as in \".onnx\"",
                                        .accepts = is_suffix };
static const bt__shape suffixes_shape = { .kinds = BT__JSON_LIST,
                                          .items = &suffix_shape };
static const bt__shape_field importer_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "suffixes", &suffixes_shape, 0 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape importer_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = importer_fields };

/* ---- compilers ---- */

static const char *check_compiler(bt_arena *arena, const void *row)
{
    const bt_compiler *compiler = row;
    const char *fault = bt__check_head(arena, compiler->name, compiler->doc);
    if (!fault && !compiler->compile)
        fault = "compile is missing";
    return fault;
}

static json_t *describe_compiler(const void *row)
{
    const bt_compiler *compiler = row;
    json_t *item = bt__describe_head(compiler->name, compiler->doc);
    return bt__describe_end(item, put_options(item, compiler->options));
}

static const bt__shape_field compiler_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { 0 },
};
static const bt__shape compiler_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = compiler_fields };

/* ---- targets ---- */

/* Patterns as a list of texts in the manifest, so that a target's claims are known without
 * opening it. */
static int put_patterns(json_t *item, const char *const *patterns)
{
    json_t *list = patterns ? json_array() : NULL;
    int ok = !patterns || list;
    for (; ok && patterns && *patterns; patterns++)
        ok = json_array_append_new(list, json_string(*patterns)) == 0;
    ok = ok && (!list || json_object_set(item, "patterns", list) == 0);
    json_decref(list);
    return ok;
}

static const char *check_patterns(bt_arena *arena, const char *const *patterns)
{
    for (; patterns && *patterns; patterns++) {
        const char *fault = bt__call_pattern_fault(arena, *patterns);
        if (fault)
            return bt__say(arena, "pattern %s: %s", *patterns, fault);
    }
    return NULL;
}

/* All of a group, or none. */
static const char *check_group(bt_arena *arena, uint32_t n, const int *present,
                               const char *const *names, const char *all)
{
    uint32_t npresent = 0, missing = 0;
    for (uint32_t i = 0; i < n; i++)
        npresent += present[i] != 0;
    while (missing < n && present[missing])
        missing++;
    return npresent == 0 || npresent == n
               ? NULL
               : bt__say(arena, "%s is missing: %s go together", names[missing], all);
}

/* How its code runs: by the library, at once, or in queues. */
static const char *check_running(bt_arena *arena, const bt_target *t)
{
    static const char *const loading[] = { "load", "unload", "launch" },
                             *const queues[] = { "open_queue", "close_queue", "enqueue",
                                                 "wait" },
                             *const memory[] = { "alloc", "free", "copy" };
    const int queued = t->enqueue != NULL;
    const char *fault =
        check_group(arena, 4,
                    (const int[]){ t->open_queue != NULL, t->close_queue != NULL, queued,
                                   t->wait != NULL },
                    queues, "open_queue, close_queue, enqueue and wait");
    if (!fault)
        fault = check_group(arena, 3,
                            (const int[]){ t->load != NULL, t->unload != NULL,
                                           t->launch != NULL || queued },
                            loading, "load, unload and launch (or enqueue)");
    if (!fault)
        fault = check_group(
            arena, 3,
            (const int[]){ t->alloc != NULL, t->free != NULL,
                           queued ? t->enqueue_copy != NULL : t->copy != NULL },
            memory, "alloc, free and copy (enqueue_copy of queues)");
    if (!fault && t->alloc && !t->load)
        fault = "launch is missing: a target with memory of its own is called by nobody "
                "else";
    return !fault && t->space && !t->alloc ? "space is of memory, and alloc is missing"
                                           : fault;
}

static const char *check_target(bt_arena *arena, const void *row)
{
    const bt_target *target = row;
    const char *fault = bt__check_head(arena, target->name, target->doc);
    const char *missing = !target->open      ? "open"
                          : !target->close   ? "close"
                          : !target->lower   ? "lower"
                          : !target->compile ? "compile"
                                             : NULL;
    if (!fault && missing)
        fault = bt__say(arena, "%s is missing", missing);
    if (!fault)
        fault = check_running(arena, target);
    if (!fault && target->layouts && !target->reads_layouts)
        fault =
            bt__say(arena, "it wishes for layouts (`layouts`), but says that it reads "
                           "none: set reads_layouts = 1");
    if (!fault)
        fault = check_patterns(arena, target->patterns);
    return fault;
}

static json_t *describe_target(const void *row)
{
    const bt_target *target = row;
    json_t *item = bt__describe_head(target->name, target->doc);
    return bt__describe_end(item, put_options(item, target->options) &&
                                      put_patterns(item, target->patterns));
}

static const bt__shape patterns_shape = { .kinds = BT__JSON_LIST,
                                          .items = &bt__text_shape };
static const bt__shape_field target_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 1 },
    { "options", &bt__schema_shape, 0 },
    { "patterns", &patterns_shape, 0 },
    { 0 },
};
static const bt__shape target_shape = { .kinds = BT__JSON_OBJECT,
                                        .fields = target_fields };

/* ---- pipelines: files beside the manifest ---- */

static const bt__shape_field pipeline_fields[] = {
    { "name", &bt__name_shape, 1 },
    { "doc", &bt__doc_shape, 0 },
    { "path", &bt__path_shape, 1 },
    { 0 },
};
static const bt__shape pipeline_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = pipeline_fields };

/* ---- the list ---- */

#define OPTIONS_AT(type)                                        \
    {                                                           \
        offsetof(type, options), offsetof(type, options_nbytes) \
    }
/* Rows may end behind the last member that all of them need: what an older plugin lacks is
 * absent. */
#define UP_TO(type, member) (offsetof(type, member) + sizeof(((const type *)0)->member))

static const bt__kind kinds[] = {
    { .kind = "op",
      .key = "ops",
      .interface_name = "baton.op/1",
      .nbytes = sizeof(bt_op),
      .least = sizeof(bt_op),
      .shape = &bt__op_shape,
      .copy = bt__copy_op,
      .options = { offsetof(bt_op, attrs), offsetof(bt_op, attrs_nbytes) },
      .check = bt__check_op,
      .describe = bt__describe_op },
    { .kind = "relation",
      .key = "relations",
      .interface_name = "baton.relation/1",
      .nbytes = sizeof(bt_relation),
      .least = sizeof(bt_relation),
      .shape = &head_shape,
      .check = bt__check_relation,
      .describe = bt__describe_relation },
    { .kind = "facet",
      .key = "facets",
      .interface_name = "baton.facet/1",
      .nbytes = sizeof(bt_facet),
      .least = sizeof(bt_facet),
      .shape = &bt__facet_shape,
      .copy = bt__copy_facet,
      .check = bt__check_facet,
      .describe = bt__describe_facet },
    { .kind = "pass",
      .key = "passes",
      .interface_name = "baton.pass/1",
      .nbytes = sizeof(bt_pass),
      .least = UP_TO(bt_pass, run),
      .shape = &pass_shape,
      .options = OPTIONS_AT(bt_pass),
      .check = check_pass,
      .describe = describe_pass },
    { .kind = "rule",
      .key = "rules",
      .interface_name = "baton.rule/1",
      .nbytes = sizeof(bt_rule),
      .least = sizeof(bt_rule),
      .shape = &rule_shape,
      .check = check_rule,
      .describe = describe_rule },
    { .kind = "analysis",
      .key = "analyses",
      .interface_name = "baton.analysis/1",
      .nbytes = sizeof(bt_analysis),
      .least = sizeof(bt_analysis),
      .shape = &head_shape,
      .check = check_analysis,
      .describe = describe_analysis },
    { .kind = "executor",
      .key = "executors",
      .interface_name = "baton.executor/1",
      .nbytes = sizeof(bt_executor),
      .least = UP_TO(bt_executor, call),
      .shape = &executor_shape,
      .options = OPTIONS_AT(bt_executor),
      .check = check_executor,
      .describe = describe_executor },
    { .kind = "importer",
      .key = "importers",
      .interface_name = "baton.importer/1",
      .nbytes = sizeof(bt_importer),
      .least = sizeof(bt_importer),
      .shape = &importer_shape,
      .options = OPTIONS_AT(bt_importer),
      .check = check_importer,
      .describe = describe_importer },
    { .kind = "compiler",
      .key = "compilers",
      .interface_name = "baton.compiler/1",
      .nbytes = sizeof(bt_compiler),
      .least = sizeof(bt_compiler),
      .shape = &compiler_shape,
      .options = OPTIONS_AT(bt_compiler),
      .check = check_compiler,
      .describe = describe_compiler },
    { .kind = "target",
      .key = "targets",
      .interface_name = "baton.target/1",
      .nbytes = sizeof(bt_target),
      .least = UP_TO(bt_target, compile),
      .shape = &target_shape,
      .options = OPTIONS_AT(bt_target),
      .check = check_target,
      .describe = describe_target },
    { .kind = "pipeline",
      .key = "pipelines",
      .interface_name = "",
      .shape = &pipeline_shape },
    { 0 },
};

/* ---- what the plugin room is told ---- */

static bt_status check_step(bt_ctx *ctx, bt_arena *arena, const bt__json *json)
{
    bt__step step;
    return bt__step_read(ctx, arena, json, &step);
}

static const struct bt__host host = { .kinds = kinds,
                                      .contributes = &bt__contributes_shape,
                                      .check_step = check_step,
                                      .attrs = bt_attrs_parse };

bt_registry *bt_registry_create_sized(const bt_registry_options *options, size_t nbytes)
{
    bt_registry_options own;
    return bt__options_read(&own, sizeof(own), options, nbytes)
               ? bt__registry_create(&own, &host)
               : NULL;
}
