/* What a program's names are called in C: words that nothing else there is called. */
#include <inttypes.h>
#include <string.h>

#include "dims.h"
#include "expr.h"
#include "write.h"

#define DIGITS "0123456789"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" /* of which macros are: EOF, UINT64_MAX */

/* The header is read by C++ too, and some compilers define linux and unix as macros. */
// clang-format off
static const char *const languages[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool",
    "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class",
    "co_await", "co_return", "co_yield", "compl", "complex", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "errno",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "i386",
    "if", "imaginary", "inline", "int", "linux", "long", "mutable", "namespace",
    "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "private", "protected", "public", "register", "reinterpret_cast", "requires",
    "restrict", "return", "short", "signed", "sizeof", "static", "static_assert",
    "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual",
    "union", "unix", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
};
// clang-format on

/* What the header calls its own parameters, and what the entry and the example call. All
 * else that they have of their own begins with aot_. */
static const char *const written[] = {
    "argc",    "argv",        "atexit",     "count_elements", "depth",     "fault",
    "fprintf", "free_memory", "get_memory", "machine",        "main",      "max_align_t",
    "memcpy",  "memmove",     "nbytes",     "printf",         "ptrdiff_t", "read_file",
    "size_t",  "stderr",      "strtoll",    "takes_dims",     "weights",   "workspace",
};

/* The example's file, main.c; targets that CMake has in each project, or may have. */
static const char *const projects[] = {
    "ALL_BUILD",      "INSTALL",    "PACKAGE",       "RUN_TESTS", "ZERO_CHECK", "all",
    "clean",          "edit_cache", "help",          "install",   "main",       "package",
    "package_source", "preinstall", "rebuild_cache", "test",
};

/* The program's header hides one of the system's that is called alike: those of C, and those
 * that they include. */
static const char *const headers[] = {
    "alloca", "assert", "complex",  "ctype",       "endian",    "errno",   "features",
    "fenv",   "float",  "inttypes", "iso646",      "limits",    "locale",  "math",
    "setjmp", "signal", "stdalign", "stdarg",      "stdatomic", "stdbool", "stddef",
    "stdint", "stdio",  "stdlib",   "stdnoreturn", "string",    "tgmath",  "threads",
    "time",   "uchar",  "wchar",    "wctype",
};

static int is_listed(const char *word, size_t n, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == n && memcmp(word, list[i], n) == 0)
            return 1;
    }
    return 0;
}

static int begins(const char *word, const char *with)
{
    return strncmp(word, with, strlen(with)) == 0;
}

static int ends(const char *word, const char *with)
{
    const size_t n = strlen(word), tail = strlen(with);
    return n >= tail && strcmp(word + n - tail, with) == 0;
}

/* Functions of the text that is copied into programs. */
static int is_called(const char *word, const char *const *blocks)
{
    const size_t n = strlen(word);
    for (uint32_t i = 0; blocks[i]; i++) {
        for (const char *at = blocks[i]; (at = strstr(at, word)) != NULL; at += n) {
            if (at[n] == '(' && at > blocks[i] && strchr(" *(!-", at[-1]))
                return 1;
        }
    }
    return 0;
}

/* One upper case letter is no macro, nor with a number, and a usual name of a tensor. */
static int is_macro(const char *word)
{
    return strspn(word, UPPER DIGITS) == strlen(word) &&
           word[1 + strspn(word + 1, DIGITS)];
}

static int is_reserved(const char *word)
{
    const size_t n = strlen(word);
    return is_listed(word, n, languages, BT_COUNT(languages)) ||
           is_listed(word, n, written, BT_COUNT(written)) || begins(word, "aot_") ||
           begins(word, "bt_") ||
           (begins(word, "fn") && word[2] >= '0' && word[2] <= '9') ||
           ((begins(word, "int") || begins(word, "uint")) && ends(word, "_t")) ||
           is_called(word, c_dim_blocks) || is_called(word, runtime_blocks) ||
           is_called(word, c_function_blocks) || is_macro(word);
}

/* A word that begins with the program's name may be one of its functions, kernels or
 * constants, or the name of a type that runtime.h's is a macro for. */
static int is_of_program(const struct plan *p, const char *word)
{
    static const char *const words[] = {
        "API",    "EXPORTS", "begin", "check_weights", "count",
        "digest", "dim",     "drop",  "elements",      "fault",
        "field",  "fields",  "hold",  "machine",       "run",
        "tag",    "tensor",  "value", "workspace",     "WORKSPACE",
    };
    const size_t n = strlen(p->name);
    const char *rest = word + n + 1;
    return begins(word, p->name) && word[n] == '_' &&
           (is_listed(rest, strlen(rest), words, BT_COUNT(words)) ||
            begins(rest, "kernel_") ||
            (*rest == 'c' && rest[1] >= '0' && rest[1] <= '9'));
}

/* `like` with `_` for what C has in no word. */
static void add_word(bt_text *out, const char *like)
{
    const int is_begun = (*like >= 'a' && *like <= 'z') || (*like >= 'A' && *like <= 'Z');
    if (!is_begun)
        bt_text_addf(out, "x");
    for (const char *at = like; *at; at++) {
        const int is_digit = *at >= '0' && *at <= '9';
        const int is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        bt_text_add(out, is_digit || is_letter ? at : "_", 1);
    }
}

const char *plan_name(struct plan *p, const char *like)
{
    // its functions would be called like what the text has: fn1_run, obj_tensor, aot_elements
    const int is_met = strcmp(like, "obj") == 0 || strcmp(like, "aot") == 0 ||
                       strcmp(like, "bt") == 0 ||
                       (begins(like, "fn") && like[2] >= '0' && like[2] <= '9') ||
                       is_listed(like, strlen(like), headers, BT_COUNT(headers)) ||
                       is_listed(like, strlen(like), projects, BT_COUNT(projects));
    bt_text text;
    bt_text_init(&text, p->arena);
    bt_text_addf(&text, is_met ? "x" : "");
    add_word(&text, like);
    return bt_text_get(&text);
}

const char *plan_word(struct plan *p, const char *like)
{
    for (uint32_t k = 0;; k++) {
        bt_text text;
        bt_text_init(&text, p->arena);
        // with another beginning it is none of the reserved kinds
        if (k > 1)
            bt_text_addf(&text, "x");
        add_word(&text, like);
        if (k)
            bt_text_addf(&text, "_%" PRIu32, k);
        const char *word = bt_text_get(&text);
        const int is_taken = word && (is_reserved(word) || is_of_program(p, word) ||
                                      bt_map_find(&p->words, word));
        if (!is_taken)
            return word && bt_map_put(&p->words, word, p->arena) ? word : NULL;
    }
}

const char *plan_ctor_word(struct plan *p, const bt_ctor *ctor)
{
    const char *word = bt_map_find(&p->ctors, ctor);
    bt_text like;
    if (word)
        return word;
    bt_text_init(&like, p->arena);
    bt_text_addf(&like, "%s_%s_%s", p->name, ctor->adt->name, ctor->name);
    word = bt_text_get(&like) ? plan_word(p, like.at) : NULL;
    return word && bt_map_put(&p->ctors, ctor, (void *)(uintptr_t)word) ? word : NULL;
}
