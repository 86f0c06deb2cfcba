#include "plugin_template.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int template_fail(struct tool *tool, const char *path, const char *what)
{
    return tool_fail(
        tool, bt_fail(tool->ctx, BT_ERR_IO, "%s %s: %s", path, what, strerror(errno)));
}

/* Bytes at the beginning of a line that are not written: a mark, or the line with it. */
static size_t skip_line(const char *text, size_t nbytes, const struct words *words)
{
    static const char *const marks[] = { "@host@", "@own@" };
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(marks[i]);
        const char *end = memchr(text, '\n', nbytes);
        if (n <= nbytes && memcmp(text, marks[i], n) == 0)
            return i == words->has_memory ? n : end ? (size_t)(end - text) + 1 : nbytes;
    }
    return 0;
}

static void fill(const char *text, size_t nbytes, const struct words *words, bt_text *out)
{
    int is_start = 1; // of a line
    const struct {
        const char *mark, *value;
    } rows[] = { { "@name@", words->name },
                 { "@ident@", words->ident },
                 { "@plugin@", words->plugin },
                 { "@checks@", words->checks },
                 { "@id@", words->id } };
    while (nbytes) {
        size_t used = is_start ? skip_line(text, nbytes, words) : 0;
        if (used) {
            text += used;
            nbytes -= used;
            is_start = text[-1] == '\n';
            continue;
        }
        is_start = *text == '\n';
        for (uint32_t i = 0; i < BT_COUNT(rows) && !used; i++) {
            size_t n = strlen(rows[i].mark);
            if (n <= nbytes && memcmp(text, rows[i].mark, n) == 0) {
                bt_text_addf(out, "%s", rows[i].value);
                used = n;
            }
        }
        if (!used)
            bt_text_add(out, text, used = 1);
        text += used;
        nbytes -= used;
    }
}

static int copy_file(struct tool *tool, const char *from, const char *to,
                     const struct words *words)
{
    bt_text text;
    bt_file *file;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_file_read(tool->ctx, from, &file));
    fill(file->bytes, file->nbytes, words, &text);
    bt_file_close(tool->ctx, file);
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    TRY_TOOL(tool, bt_file_write(tool->ctx, to, text.at, text.len));
    printf("  %s\n", to);
    return EXIT_OK;
}

int template_copy(struct tool *tool, const char *from, const char *to,
                  const struct words *words, int is_added)
{
    struct dirent **entries;
    int n = scandir(from, &entries, NULL, alphasort), code = EXIT_OK;
    if (n < 0)
        return template_fail(tool, from, "cannot be read");
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *own = name;
        char named[512];
        if (strncmp(name, "NAME", strlen("NAME")) == 0) {
            snprintf(named, sizeof(named), "%s%s", words->ident, name + strlen("NAME"));
            own = named;
        } else if (is_added) {
            snprintf(named, sizeof(named), "%s.%s", words->ident, name);
            own = named;
        }
        const char *source = tool_text(tool, "%s/%s", from, name);
        const char *target = tool_text(tool, "%s/%s", to, own);
        if (!code && name[0] != '.' && is_added && target && access(target, F_OK) == 0)
            code = tool_fail(tool, bt_fail(tool->ctx, BT_ERR_IO,
                                           "%s is not overwritten: it is there", target));
        if (!code && name[0] != '.')
            code = source && target ? copy_file(tool, source, target, words)
                                    : tool_fail(tool, bt_no_memory());
        free(entries[i]);
    }
    free(entries);
    return code;
}

void template_remove(struct tool *tool, const char *folder, int was_there)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, NULL);
    for (int i = 0; i < n; i++) {
        const char *path = tool_text(tool, "%s/%s", folder, entries[i]->d_name);
        if (path)
            (void)unlink(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (!was_there)
        (void)rmdir(folder);
}
