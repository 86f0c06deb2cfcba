/* baton compare: whether two tensors agree, or two runs' folders of them. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/importer.h>

#include "verbs.h"

/* Negative: not given; the tolerance then follows from the type of the elements and the
 * largest of them. */
struct tolerance {
    double relative, absolute;
    bt_dtype dtype;    /* that the files' bits are of; 0: as the files say */
    int is_of_folders; /* where others may be of types that files name */
};

/* How much results may differ when the same terms are added in another order. */
static double usual_tolerance(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT64: return 1e-12;
    case BT_FLOAT32: return 1e-5;
    case BT_FLOAT16: return 4e-3;
    case BT_BFLOAT16: return 3e-2;
    default: return 4 * bt_dtype_epsilon(dtype); // integers must be equal
    }
}

static struct tolerance settle(const struct tolerance *given, const bt_tensor *b)
{
    struct tolerance t = *given;
    if (t.relative < 0)
        t.relative = usual_tolerance(b->dtype);
    if (t.absolute < 0)
        t.absolute = t.relative > 0 ? t.relative * bt_tensor_largest(b) : 0;
    return t;
}

static int read_number(struct tool *tool, const char *name, double *out)
{
    const char *text = option_value(tool, name);
    char *end;
    if (!text)
        return EXIT_OK;
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0))
        return tool_usage(tool, "--%s takes a number of at least 0, not %s", name, text);
    return EXIT_OK;
}

static void print_place(const bt_tensor *tensor, int64_t position)
{
    int64_t index[BT_MAX_RANK];
    for (uint32_t i = tensor->rank; i-- > 0;) {
        index[i] = position % tensor->dims[i];
        position /= tensor->dims[i];
    }
    printf("[");
    for (uint32_t i = 0; i < tensor->rank; i++)
        printf("%s%lld", i ? ", " : "", (long long)index[i]);
    printf("]");
}

static int compare_tensors(struct tool *tool, const char *name, const char *path_a,
                           const char *path_b, const bt_tensor *a, const bt_tensor *b,
                           const struct tolerance *t)
{
    bt_tensor_difference d;
    const struct tolerance settled = settle(t, b);
    bt_status status =
        bt_tensor_compare(tool->ctx, a, b, settled.relative, settled.absolute, &d);
    if (status && status->code != BT_ERR_MEMORY)
        status = bt_fail(tool->ctx, status->code, "%s and %s: %s", path_a, path_b,
                         status->message);
    TRY_TOOL(tool, status);
    printf("%s: %s  max abs %.3g  max rel %.3g  max abs / max |b| %.3g  ulp %.3g\n", name,
           d.ndifferent ? "different" : "equal within tolerance", d.max_absolute,
           d.max_relative, d.max_to_largest, d.max_ulp);
    if (!d.ndifferent)
        return EXIT_OK;
    printf("  %lld of %lld elements differ, first at ", (long long)d.ndifferent,
           (long long)a->nelem);
    print_place(a, d.first);
    printf(": %.9g and %.9g\n", bt_tensor_get(a, d.first), bt_tensor_get(b, d.first));
    return EXIT_INPUT;
}

/* npy has no name for types of 8 bits and less that NumPy does not know: it says |V1, a byte of
 * something. */
static int is_unnamed(struct tool *tool, const char *path)
{
    static const char mark[] = "'descr': '|V1'";
    enum { HEADER = 128 };
    bt_file *file;
    char header[HEADER + 1] = "";
    if (bt_file_read(tool->ctx, path, &file))
        return 0;
    const size_t n = file->nbytes < HEADER ? file->nbytes : HEADER;
    for (size_t i = 0; i < n; i++) // no zero ends it
        header[i] = ((const char *)file->bytes)[i] ? ((const char *)file->bytes)[i] : ' ';
    bt_file_close(tool->ctx, file);
    return strstr(header, mark) != NULL;
}

static void note_bits(struct tool *tool, const char *a, const char *b,
                      const struct tolerance *t)
{
    if (!t->dtype && (is_unnamed(tool, a) || is_unnamed(tool, b)))
        printf(
            "  note: the files hold bytes and not of what type they are, and bytes were "
            "compared as integers; --dtype NAME, as in float8_e4m3fn or int4, says it\n");
    bt_ctx_clear_diags(tool->ctx);
}

/* Of the elements that the bits of a file are; a file that has a type of that name is left as it
 * is. A packed type's are a vector: the file does not say more. */
static bt_status take_bits(struct tool *tool, const char *path, const struct tolerance *t,
                           bt_tensor **tensor)
{
    const bt_dtype dtype = t->dtype;
    bt_tensor *made = NULL;
    char name[BT_DTYPE_NAME_SIZE];
    if (!dtype || (*tensor)->dtype == dtype)
        return NULL;
    const int64_t count = bt_dtype_is_packed(dtype)
                              ? (*tensor)->nelem * (8 / (int64_t)BT_DTYPE_BITS(dtype))
                              : (*tensor)->nelem;
    BT_TRY(bt_tensor_of_bits(
        tool->ctx, *tensor, dtype, bt_dtype_is_packed(dtype) ? 1 : (*tensor)->rank,
        bt_dtype_is_packed(dtype) ? &count : (*tensor)->dims, &made));
    if (!made && t->is_of_folders)
        return NULL;
    if (!made)
        return bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                       "%s: --dtype: its elements are not the bits of %s", path,
                       bt_dtype_name(dtype, name, sizeof(name)));
    bt_tensor_unref(*tensor);
    *tensor = made;
    return NULL;
}

static int compare_files(struct tool *tool, const char *name, const char *a,
                         const char *b, const struct tolerance *t)
{
    bt_tensor *left, *right;
    TRY_TOOL(tool, bt_tensor_read(tool->ctx, a, &left));
    bt_status status = bt_tensor_read(tool->ctx, b, &right);
    if (status) {
        bt_tensor_unref(left);
        return tool_fail(tool, status);
    }
    status = take_bits(tool, a, t, &left);
    if (!status)
        status = take_bits(tool, b, t, &right);
    int code = status ? tool_fail(tool, status)
                      : compare_tensors(tool, name, a, b, left, right, t);
    if (code == EXIT_INPUT && !status)
        note_bits(tool, a, b, t);
    bt_tensor_unref(left);
    bt_tensor_unref(right);
    return code;
}

static int is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static int is_npy(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".npy") == 0;
}

static void free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
}

/* Every .npy of the first folder against the one of that name in the second. */
static int compare_entries(struct tool *tool, const char *a, const char *b,
                           struct dirent *const *entries, int n,
                           const struct tolerance *t)
{
    int worst = EXIT_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name, *left = tool_text(tool, "%s/%s", a, name),
                   *right = tool_text(tool, "%s/%s", b, name);
        int code = left && right ? compare_files(tool, name, left, right, t)
                                 : tool_fail(tool, bt_no_memory());
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int compare_folders(struct tool *tool, const char *a, const char *b,
                           const struct tolerance *t)
{
    struct dirent **left, **right;
    int n = scandir(a, &left, is_npy, alphasort),
        m = scandir(b, &right, is_npy, alphasort), code;
    if (n < 0 || m < 0)
        code = tool_fail(
            tool, bt_fail(tool->ctx, BT_ERR_IO, "%s cannot be read", n < 0 ? a : b));
    else if (n == 0)
        code = tool_fail(tool, bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                                       "%s holds no .npy file to compare", a));
    else
        code = compare_entries(tool, a, b, left, n, t);
    if (code == EXIT_OK && n != m)
        code = tool_fail(tool, bt_fail(tool->ctx, BT_ERR_ARGUMENT,
                                       "%s holds %d .npy files, %s holds %d: all that "
                                       "both have agree",
                                       a, n, b, m));
    free_entries(left, n);
    free_entries(right, m);
    return code;
}

static int run(struct tool *tool)
{
    struct tolerance t = { .relative = -1, .absolute = -1 };
    const char *dtype = option_value(tool, "dtype");
    const char *a = tool->args[0], *b = tool->args[1];
    int code = read_number(tool, "rtol", &t.relative);
    if (!code)
        code = read_number(tool, "atol", &t.absolute);
    if (dtype)
        t.dtype = bt_dtype_parse(dtype, strlen(dtype));
    if (!code && dtype && !t.dtype)
        code = tool_usage(tool, "--dtype %s is no element type", dtype);
    if (code)
        return code;
    if (!is_folder(a) && !is_folder(b))
        return compare_files(tool, a, a, b, &t);
    if (is_folder(a) && is_folder(b))
        t.is_of_folders = 1;
    if (t.is_of_folders)
        return compare_folders(tool, a, b, &t);
    const char *folder = is_folder(a) ? a : b, *other = is_folder(a) ? b : a;
    TRY_TOOL(tool,
             bt_fail(tool->ctx, BT_ERR_IO,
                     "%s is a folder, %s %s: compare two files or two folders", folder,
                     other, access(other, F_OK) ? "does not exist" : "is none"));
    return EXIT_OK;
}

static const struct option options[] = {
    { "rtol", 'r', "X", "relative tolerance (default: by the type)" },
    { "atol", 'a', "X", "absolute tolerance (default: rtol times the largest |b|)" },
    { "dtype", 0, "NAME",
      "of what type the bits are that the files hold: float8_e4m3fn, int4" },
    { "json", 0, NULL, "print diagnostics as JSON" },
    { 0 },
};

const struct verb verb_compare = {
    .name = "compare",
    .args = "A B",
    .min_arg = 2,
    .max_arg = 2,
    .doc = "Compare two tensors, or two folders that run -o wrote.",
    // clang-format off
    .details = "A and B are FILE.npy, FILE.npz:KEY, FILE.pb, or folders of .npy files, B what\n"
               "is right. Elements agree where |a - b| <= atol + rtol * |b|; NaN agrees with\n"
               "NaN. Exit code 1 where any does not.\n"
               "\n"
               "The defaults allow what the same program may differ by on two executors or\n"
               "targets, whose sums are taken in different order: rtol is 1e-5 for float32,\n"
               "1e-12 for float64, 4e-3 for float16, 3e-2 for bfloat16, 0.5 or 1 for float8,\n"
               "and 0 for integers; --rtol 0 asks for equal values.\n"
               "\n"
               "Files of float8 and of types packed into bytes hold bits alone, which --dtype\n"
               "gives a meaning; else they are compared as integers.",
    .examples = "  baton run digits.baton -i image=random:1 -o right\n"
                "  baton run digits.baton -i image=random:1 --executor graph -o fast\n"
                "  baton compare fast right",
    // clang-format on
    .options = options,
    .run = run,
};
