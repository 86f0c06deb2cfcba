/* Freestanding C for plugins that come as source. */
#ifndef _STDDEF_H
#define _STDDEF_H
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __WCHAR_TYPE__ wchar_t;
typedef struct {
    long long max_align_whole;
    long double max_align_real;
} max_align_t;
#define NULL ((void *)0)
#if defined(__TINYC__)
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#else
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#endif
