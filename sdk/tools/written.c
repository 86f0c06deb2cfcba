#include "written.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder of a path by its only name; 0: there is none. */
static int find_folder(const char *path, char *out)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    const size_t n = slash ? (size_t)(slash - path) + 1 : 1;
    if (n >= sizeof(folder))
        return 0;
    memcpy(folder, slash ? path : ".", n);
    folder[n] = 0;
    return realpath(folder, out) != NULL;
}

int is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    char folder_a[PATH_MAX], folder_b[PATH_MAX];
    const int is_there = stat(a, &x) == 0;
    if (is_there != (stat(b, &y) == 0))
        return 0;
    if (is_there)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) == 0 &&
           find_folder(a, folder_a) && find_folder(b, folder_b) &&
           strcmp(folder_a, folder_b) == 0;
}

int is_in_folder(const char *path, const char *folder)
{
    char own[PATH_MAX], other[PATH_MAX];
    return find_folder(path, own) && realpath(folder, other) && strcmp(own, other) == 0;
}

int check_written(const struct tool *tool, uint32_t n, const struct written *files)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!files[i].path)
            continue;
        if (bt_file_is_read(tool->ctx, files[i].path))
            return tool_usage(tool,
                              "%s is read, and %s would replace it: give another name",
                              files[i].path, files[i].what);
        for (uint32_t k = 0; k < i; k++) {
            if (files[k].path && is_same_file(files[k].path, files[i].path))
                return tool_usage(tool, "%s would hold %s and %s: give two names",
                                  files[i].path, files[k].what, files[i].what);
        }
    }
    return EXIT_OK;
}

int check_target_used(const struct tool *tool, const char *path)
{
    if (!option_value(tool, "target") || has_suffix(path, ".bta"))
        return EXIT_OK;
    return tool_usage(tool,
                      "--target is what FILE.bta is compiled for, and -o %s is compiled "
                      "for nothing",
                      path);
}
