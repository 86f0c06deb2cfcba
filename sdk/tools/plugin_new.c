#include "plugin_new.h"

#include <baton/plugin.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library_outline.h"
#include "list_choices.h"
#include "plugin_template.h"

/* Folders of templates. */
static const char *const kinds[] = { "op",       "eval",      "relation", "facet",
                                     "gradient", "rule",      "pass",     "analysis",
                                     "executor", "importer",  "onnx",     "compiler",
                                     "target",   "way",       "scheme",   "calibrate",
                                     "loss",     "optimizer", "schedule", "initializer" };

/* Kinds that are texts: a plugin of a library, in which nothing is compiled. */
static int is_text(const char *kind)
{
    int found = 0;
    for (uint32_t i = 0; choices_kind(i); i++)
        found |= strcmp(kind, choices_kind(i)) == 0;
    return found;
}

/* <prefix>/share/baton/template, from <prefix>/bin/baton. */
static const char *template_folder(struct tool *tool)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    for (int up = 0; n > 0 && up < 2; up++) {
        path[n] = 0;
        char *slash = strrchr(path, '/');
        n = slash ? slash - path : 0;
    }
    path[n > 0 ? n : 0] = 0;
    return tool_text(tool, "%s/share/baton/template", path);
}

/* ---- names ---- */

/* The parts between dots are names in C and in programs. */
static int is_name(const char *name)
{
    int ok = strlen(name) > 0 && strlen(name) < 64, is_first = 1;
    for (const char *c = name; *c; c++) {
        ok = ok && (is_first ? isalpha((unsigned char)*c)
                             : isalnum((unsigned char)*c) || strchr("._-", *c));
        is_first = *c == '.';
    }
    return ok && isalnum((unsigned char)name[strlen(name) - 1]);
}

/* CMake has targets of these names, which the one of the plugin would be. */
static int is_reserved(const char *ident)
{
    static const char *const names[] = {
        "all",     "clean",          "depend",     "edit_cache",    "help", "install",
        "package", "package_source", "preinstall", "rebuild_cache", "test", "ALL_BUILD",
        "INSTALL", "PACKAGE",        "RUN_TESTS",  "ZERO_CHECK"
    };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (strcmp(ident, names[i]) == 0)
            return 1;
    }
    return 0;
}

static int choose_words(struct tool *tool, const char *name, struct words *out)
{
    bt_arena *scratch = bt_ctx_scratch(tool->ctx);
    const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name,
               *id = option_value(tool, "id");
    char *ident = bt_arena_alloc(scratch, strlen(last) + 1, 1);
    bt_text text;
    if (!ident)
        return tool_fail(tool, bt_no_memory());
    for (size_t i = 0; last[i]; i++)
        ident[i] = isalnum((unsigned char)last[i]) ? last[i] : '_';
    bt_text_init(&text, scratch);
    bt_text_addf(&text, strchr(name, '.') ? "org.%s" : "org.example.%s", name);
    const char *memory = option_value(tool, "memory");
    *out = (struct words){ .name = name,
                           .ident = ident,
                           .plugin = ident,
                           .id = id ? id : bt_text_get(&text),
                           .has_memory = memory && strcmp(memory, "own") == 0 };
    return out->id ? EXIT_OK : tool_fail(tool, bt_no_memory());
}

/* The manifest of a plugin of C source is completed by compiling it. */
static int write_manifest(struct tool *tool, const char *folder, const char *ident)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    const char *path = tool_text(tool, "%s/%s.baton.json", folder, ident);
    if (!path)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool, bt_plugin_describe_sources(tool->ctx, path, &text));
    TRY_TOOL(tool, bt_file_write(tool->ctx, path, text.at, text.len));
    return EXIT_OK;
}

static int check_kind(const struct tool *tool, const char *kind)
{
    bt_text all;
    bt_text_init(&all, bt_ctx_scratch(tool->ctx));
    for (uint32_t i = 0; i < BT_COUNT(kinds); i++) {
        if (strcmp(kind, kinds[i]) == 0)
            return EXIT_OK;
        bt_text_addf(&all, "%s%s", i ? ", " : "", kinds[i]);
    }
    return tool_usage(tool, "there is no template for %s; there are %s", kind,
                      bt_text_get(&all) ? all.at : "some");
}

/* A function of a library of another plugin. */
struct other {
    const char *head; /* "def @loss.huber" */
    const char *id;   /* of the plugin that is written */
    bt_provided found;
};

static void see_function(void *self, const bt_provided *library,
                         const struct definition *d)
{
    struct other *other = self;
    const size_t n = strlen(other->head);
    if (strncmp(d->head, other->head, n) == 0 && strchr("<( \n", d->head[n]) &&
        strcmp(bt_plugin_id(library->plugin), other->id) != 0)
        other->found = *library;
}

/* A training would refuse one that two libraries have. */
static int check_function(struct tool *tool, const char *kind, const struct words *words)
{
    struct other other = { .head = tool_text(tool, "def @%s.%s", kind, words->ident),
                           .id = words->id };
    int code = other.head ? EXIT_OK : tool_fail(tool, bt_no_memory());
    for (uint32_t i = 0; !code && i < bt_provided_len(tool->ctx, "library"); i++) {
        bt_provided item;
        TRY_TOOL(tool, bt_provided_at(tool->ctx, "library", i, &item));
        code = library_each(tool, &item, see_function, &other);
    }
    if (code || !other.found.name)
        return code;
    return tool_usage(tool,
                      "%s %s is there, in library %s of plugin %s, and two of one name "
                      "clash: my_%s would do",
                      kind, words->ident, other.found.name,
                      bt_plugin_id(other.found.plugin), words->ident);
}

/* A name that a plugin beside this one has would be refused where it is used. */
static int check_free(struct tool *tool, const char *kind, const struct words *words)
{
    const char *provided = strcmp(kind, "eval") == 0 ? "op"
                           : is_text(kind)           ? "library"
                                                     : kind,
               *name = is_text(kind) ? words->ident : words->name;
    bt_provided item;
    if (!find_provided(tool->ctx, provided, name, &item) ||
        strcmp(bt_plugin_id(item.plugin), words->id) == 0)
        return is_text(kind) ? check_function(tool, kind, words) : EXIT_OK;
    return tool_usage(
        tool, "%s %s is there, of plugin %s, and two of one name clash: my%c%s would do",
        provided, name, bt_plugin_id(item.plugin), is_text(kind) ? '_' : '.', name);
}

/* ---- beside what is there ---- */

/* The word behind `mark` in a file of the folder, up to a character of `ends`; NULL: there
 * is no such file or mark. */
static const char *read_word(struct tool *tool, const char *folder, const char *file,
                             const char *mark, const char *ends)
{
    const char *path = tool_text(tool, "%s/%s", folder, file), *word = NULL;
    bt_file *content;
    if (!path || access(path, R_OK) != 0 || bt_file_read(tool->ctx, path, &content))
        return NULL;
    const char *at = strstr(content->bytes, mark);
    if (at)
        word = bt_arena_text(bt_ctx_scratch(tool->ctx), at + strlen(mark),
                             strcspn(at + strlen(mark), ends));
    bt_file_close(tool->ctx, content);
    return word;
}

/* One more file of a plugin that `baton plugin new` wrote. */
static int add_to(struct tool *tool, const char *kind, const char *folder,
                  const char *templates, struct words *words)
{
    words->plugin = read_word(tool, folder, "CMakeLists.txt", " NAME ", ")");
    words->id = read_word(tool, folder, "plugin.json", "\"id\": \"", "\"");
    const char *own = tool_text(tool, "%s/%s", templates, kind);
    if (is_text(kind))
        return tool_usage(
            tool,
            "%s is there: %s %s is another function @%s.NAME of a library of "
            "it (a text %s), or a plugin in a new folder",
            folder, ARTICLE(kind), kind, kind,
            words->plugin ? "in its folder libraries" : "beside its manifest");
    if (!words->plugin || !words->id)
        return tool_fail(
            tool, bt_fail(tool->ctx, BT_ERR_IO,
                          "%s is there, and is no plugin that gets further files: it has "
                          "no CMakeLists.txt with baton_add_plugin(... NAME name), or no "
                          "plugin.json with an id",
                          folder));
    if (!own)
        return tool_fail(tool, bt_no_memory());
    int code = check_free(tool, kind, words);
    if (code)
        return code;
    printf("%s %s for plugin %s:\n", kind, words->name, words->id);
    code = template_copy(tool, own, folder, words, 1);
    if (!code)
        printf("build again, then try it: baton filecheck %s/%s.test.baton\n", folder,
               words->ident);
    return code;
}

static int make(struct tool *tool, const char *kind, const char *folder, int was_there,
                const char *templates, const struct words *words)
{
    int is_source = option_value(tool, "source") != NULL;
    const char *own = tool_text(tool, "%s/%s", templates, kind);
    const char *common = tool_text(tool, "%s/%s", templates,
                                   is_text(kind) ? "library"
                                   : is_source   ? "source"
                                                 : "common");
    printf("a plugin with %s %s:\n", kind, words->name);
    int code = common && own ? template_copy(tool, own, folder, words, 0)
                             : tool_fail(tool, bt_no_memory());
    if (!code)
        code = template_copy(tool, common, folder, words, 0);
    if (!code && is_source)
        code = write_manifest(tool, folder, words->ident);
    if (code)
        template_remove(tool, folder, was_there);
    else
        printf("%s/README.md says how to %stry it\n", folder,
               is_source || is_text(kind) ? "" : "build and ");
    return code;
}

/* For README.md: what `baton plugin check` does with one of these. */
static const char *checks_of(const char *kind)
{
    static const struct {
        const char *kind, *text;
    } rows[] = {
        { "target", "tries its code, memory, kernels, queues and artifacts one after the "
                    "other, and runs the\n"
                    "   calls of all operators that it takes beside the evaluator. What "
                    "is wrong first is named first" },
        { "scheme", "tries the codes that it gives the operands of a small network, and "
                    "whether layers compute on\n"
                    "   them then" },
        { "calibrate", "tries the scales that it chooses for ranges of many kinds, alone "
                       "and beside others" },
        { "pass", "runs it where it says that it runs" },
        { "rule", "evaluates both sides of each rule on random and special values" },
        { "way",
          "compiles the cases of all operators by it, and compares with the evaluator" },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(kind, rows[i].kind) == 0)
            return rows[i].text;
    }
    return "types its operators on the cases that they state\n"
           "   (`BT_CASES`), runs them by `interp` and compiled for `cpu`, and says of "
           "each case whether it holds. A wrong "
           "formula is shown\n   with a caret";
}

/* Whether a folder is not there, or has nothing in it. */
static int is_new(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int n = 0;
    if (!dir)
        return access(folder, F_OK) != 0;
    while ((entry = readdir(dir)))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n == 0;
}

int plugin_new(struct tool *tool)
{
    const char *kind = tool->args[1], *templates = template_folder(tool), *folder,
               *memory = option_value(tool, "memory");
    struct words words;
    int code = check_kind(tool, kind);
    if (code)
        return code;
    if (!templates)
        return tool_fail(tool, bt_no_memory());
    if (!is_name(tool->args[2]))
        return tool_usage(
            tool,
            "%s is no name: letters, digits and . _ -, of which each part between dots "
            "begins with a letter",
            tool->args[2]);
    int is_op = strcmp(kind, "op") == 0 || strcmp(kind, "eval") == 0;
    if (is_op && strchr(tool->args[2], '-'))
        return tool_usage(tool,
                          "programs cannot call %s: an operator's name has letters, "
                          "digits, . and _",
                          tool->args[2]);
    if (strcmp(kind, "way") == 0 && !strchr(tool->args[2], '.'))
        return tool_usage(
            tool,
            "a way's name has a dot, as example.%s: names without are target "
            "cpu's own",
            tool->args[2]);
    code = choose_words(tool, tool->args[2], &words);
    if (code)
        return code;
    words.checks = checks_of(kind);
    if (is_text(kind) && option_value(tool, "source"))
        return tool_usage(tool,
                          "%s %s is a text, of which no C source is part: leave out "
                          "--source",
                          ARTICLE(kind), kind);
    if (memory && strcmp(memory, "own") != 0 && strcmp(memory, "host") != 0)
        return tool_usage(tool, "--memory is own or host, not %s", memory);
    if (memory && strcmp(memory, "own") == 0 && option_value(tool, "source"))
        return tool_usage(
            tool, "a target with queues has threads, and plugins of C source know "
                  "Baton's headers alone: leave out --source");
    if (memory && strcmp(kind, "target") != 0)
        return tool_usage(tool,
                          "--memory is about a target: baton plugin new target "
                          "%s --memory %s",
                          tool->args[2], memory);
    folder = tool->narg > 3 ? tool->args[3] : words.ident;
    if (is_reserved(words.ident) && !option_value(tool, "source") && is_new(folder))
        return tool_usage(
            tool,
            "a plugin cannot be called %s: CMake has a target of its own of "
            "this name; %s_%s would do",
            words.ident, tool->args[2], kind);
    if (is_new(folder))
        code = check_free(tool, kind, &words);
    if (code)
        return code;
    const int is_made = mkdir(folder, 0777) == 0;
    if (is_made || is_new(folder))
        return make(tool, kind, folder, !is_made, templates, &words);
    if (errno != EEXIST)
        return template_fail(tool, folder, "cannot be made");
    return tool->narg > 3 ? add_to(tool, kind, folder, templates, &words)
                          : template_fail(tool, folder, "is not overwritten");
}
