#include "program_text.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "written.h"

/* "folder/x.baton" -> "folder/x.npz"; *name is the part behind the folder. */
static const char *weights_path(struct tool *tool, const char *path, const char **name)
{
    bt_text text;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot != path && (!slash || dot > slash + 1) ? (size_t)(dot - path)
                                                                    : strlen(path);
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    bt_text_add(&text, path, stem);
    bt_text_addf(&text, ".npz");
    const char *out = bt_text_get(&text);
    *name = out && slash ? out + (slash - path) + 1 : out;
    return out;
}

static int write_weights(struct tool *tool, const bt_npz *npz, const char *path)
{
    bt_text bytes;
    bt_text_init(&bytes, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_npz_write(tool->ctx, npz->len, npz->at, &bytes));
    if (bytes.failed)
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool, bt_file_write(tool->ctx, path, bytes.at, bytes.len));
    return EXIT_OK;
}

/* A file with constants can be written beside a regular file only. */
static int is_beside_possible(const char *path)
{
    struct stat s;
    return stat(path, &s) != 0 || S_ISREG(s.st_mode);
}

/* All in one text. */
static int print_whole(struct tool *tool, const bt_module *module, const char *path)
{
    bt_text text;
    bt_print_options options = { .spans = option_value(tool, "spans") != NULL };
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_print(tool->ctx, module, &options, &text));
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    if (path)
        TRY_TOOL(tool, bt_file_write(tool->ctx, path, text.at, text.len));
    else
        fputs(bt_text_get(&text), stdout);
    return EXIT_OK;
}

/* On a terminal large constants are left out, so that the program stays visible. */
static int print_brief(struct tool *tool, const bt_module *module)
{
    bt_text text;
    bt_npz *npz = NULL;
    bt_print_options options = { .spans = option_value(tool, "spans") != NULL,
                                 .weights = "not-shown.npz",
                                 .npz = &npz };
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_print(tool->ctx, module, &options, &text));
    const uint32_t n = npz ? npz->len : 0;
    if (npz)
        bt_npz_destroy(tool->ctx, npz);
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    fputs(bt_text_get(&text), stdout);
    fflush(stdout);
    if (n)
        fprintf(stderr,
                "note: %u large constant%s not shown on a terminal: -o FILE writes %s "
                "beside it, -o - prints all\n",
                n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
    return EXIT_OK;
}

/* The weights are written first: without them the text cannot be read. */
static int write_both(struct tool *tool, const bt_text *text, const char *path,
                      const bt_npz *npz, const char *weights)
{
    int is_new = npz && npz->len && access(weights, F_OK) != 0;
    int code = npz && npz->len ? write_weights(tool, npz, weights) : EXIT_OK;
    if (code)
        return code;
    bt_status status = bt_file_write(tool->ctx, path, text->at, text->len);
    if (status && is_new)
        (void)unlink(weights);
    return status ? tool_fail(tool, status) : EXIT_OK;
}

int check_program(struct tool *tool, const char *path, const char *more, const char *what)
{
    const char *name;
    if (strcmp(path, "-") == 0 || !is_beside_possible(path))
        return check_written(tool, 1, &(struct written){ more, what });
    const struct written files[] = {
        { path, "the program" },
        { weights_path(tool, path, &name), "large constants of the program" },
        { more, what },
    };
    if (!files[1].path)
        return tool_fail(tool, bt_no_memory());
    return check_written(tool, BT_COUNT(files), files);
}

int write_program(struct tool *tool, const bt_module *module, const char *path)
{
    bt_text text;
    bt_npz *npz = NULL;
    const char *weights, *name;
    if (!is_beside_possible(path))
        return print_whole(tool, module, path);
    weights = weights_path(tool, path, &name);
    if (!weights)
        return tool_fail(tool, bt_no_memory());
    bt_print_options options = { .spans = option_value(tool, "spans") != NULL,
                                 .weights = name,
                                 .npz = &npz };
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_print(tool->ctx, module, &options, &text));
    int code = text.failed ? tool_fail(tool, bt_no_memory())
                           : write_both(tool, &text, path, npz, weights);
    if (npz)
        bt_npz_destroy(tool->ctx, npz);
    return code;
}

int print_program(struct tool *tool, const bt_module *module, const char *path)
{
    if (!path && isatty(STDOUT_FILENO))
        return print_brief(tool, module);
    if (!path || strcmp(path, "-") == 0)
        return print_whole(tool, module, NULL);
    const int code = check_program(tool, path, NULL, NULL);
    return code ? code : write_program(tool, module, path);
}
