/* What a program's names are called in C: words that nothing else there is called. */
#include <inttypes.h>
#include <string.h>

#include "plan.h"

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" /* of which macros are */

/* The header is read by C++ too, and some compilers define linux and unix as macros. */
static const char *const languages[] = {
    "alignas",   "alignof",   "and",           "and_eq",       "asm",
    "auto",      "bitand",    "bitor",         "bool",         "break",
    "case",      "catch",     "char",          "char8_t",      "class",
    "co_await",  "co_return", "co_yield",      "compl",        "complex",
    "concept",   "const",     "const_cast",    "consteval",    "constexpr",
    "constinit", "continue",  "decltype",      "default",      "delete",
    "do",        "double",    "dynamic_cast",  "else",         "enum",
    "errno",     "explicit",  "export",        "extern",       "false",
    "float",     "for",       "friend",        "goto",         "i386",
    "if",        "imaginary", "inline",        "int",          "linux",
    "long",      "mutable",   "namespace",     "new",          "noexcept",
    "not",       "not_eq",    "nullptr",       "operator",     "or",
    "or_eq",     "private",   "protected",     "public",       "register",
    "requires",  "restrict",  "return",        "short",        "signed",
    "sizeof",    "static",    "static_assert", "static_cast",  "struct",
    "switch",    "template",  "this",          "thread_local", "throw",
    "true",      "try",       "typedef",       "typeid",       "typename",
    "typeof",    "union",     "unix",          "unsigned",     "using",
    "virtual",   "void",      "volatile",      "while",        "xor",
    "xor_eq",
};

/* What the entry and the example call things, and what they call. */
static const char *const written[] = {
    "argc",     "argv",    "atexit", "buffers",     "call",       "depth",  "dims",
    "elements", "exit",    "fault",  "fclose",      "fgetc",      "fopen",  "fprintf",
    "frame",    "fread",   "free",   "free_memory", "get_memory", "i",      "m",
    "machine",  "main",    "malloc", "memcpy",      "memmove",    "nbytes", "ntaken",
    "object",   "objects", "ones",   "printf",      "read_file",  "result", "shape",
    "stderr",   "strtoll", "taken",  "weights",     "workspace",  "zero",
};

/* ... and those with a number: v0, fn1_main. */
static const char *const numbered[] = { "dims", "f", "fields", "fn", "n", "v" };

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

static int is_reserved(const char *word)
{
    const size_t n = strlen(word), letters = strcspn(word, "0123456789");
    return is_listed(word, n, languages, BT_COUNT(languages)) ||
           is_listed(word, n, written, BT_COUNT(written)) ||
           (letters < n && is_listed(word, letters, numbered, BT_COUNT(numbered))) ||
           begins(word, "dim_") || begins(word, "n_") || begins(word, "obj_") ||
           begins(word, "value_") || begins(word, "frame_") ||
           (n > 2 && strcmp(word + n - 2, "_t") == 0) || strspn(word, UPPER) == n;
}

/* A word that begins with the program's name may be one of its functions, kernels or
 * constants. */
static int is_of_program(const struct plan *p, const char *word)
{
    static const char *const words[] = {
        "begin",    "check_weights", "count", "digest",    "dim",       "drop",
        "elements", "fault",         "field", "fields",    "machine",   "run",
        "tag",      "tensor",        "value", "workspace", "WORKSPACE",
    };
    const size_t n = p->name ? strlen(p->name) : 0;
    const char *rest = word + n + 1;
    return n && begins(word, p->name) && word[n] == '_' &&
           (is_listed(rest, strlen(rest), words, BT_COUNT(words)) ||
            begins(rest, "kernel_") || begins(rest, "has_") ||
            (*rest == 'c' && rest[1] >= '0' && rest[1] <= '9'));
}

const char *plan_word(struct plan *p, const char *like)
{
    for (uint32_t k = 0;; k++) {
        bt_text text;
        bt_text_init(&text, p->arena);
        for (const char *at = like; *at; at++) {
            const int is_digit = *at >= '0' && *at <= '9';
            const int is_letter =
                (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
            // with another beginning it is none of the reserved kinds
            if (at == like && (!is_letter || k > 1))
                bt_text_addf(&text, "x");
            bt_text_add(&text, is_digit || is_letter ? at : "_", 1);
        }
        if (!*like)
            bt_text_addf(&text, "x");
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
