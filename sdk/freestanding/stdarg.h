/* Freestanding C for plugins that come as source. libtcc takes arguments of ... by a
 * library that Baton does without: its va_start is refused. */
#ifndef _STDARG_H
#define _STDARG_H
#if defined(__TINYC__)
typedef struct {
    unsigned int general, floating;
    void *overflow, *saved;
} va_list[1];
#define va_start(list, last) _Static_assert(0, "the compiler tcc has no va_start here: use cc")
#define va_end(list)         ((void)0)
#else
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type)   __builtin_va_arg(list, type)
#define va_copy(to, from)    __builtin_va_copy(to, from)
#define va_end(list)         __builtin_va_end(list)
#endif
#endif
