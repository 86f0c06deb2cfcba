/*
 * A program on a bare Cortex-M: what runs before main, the four functions that compilers call
 * by themselves, and output by the emulator (semihosting). At the end it says how much of the
 * stack was used.
 */
#include <stddef.h>
#include <stdint.h>

#include "start.h"

extern unsigned char data_first[], data_end[], bss_first[], bss_end[], stack_end[];
extern const unsigned char data_from[];

enum { WRITE = 0x04, EXIT = 0x20, PAINT = 0xa5, MAX_STACK = 64 * 1024 };

static int32_t ask(int32_t what, const void *with)
{
    register int32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void put_text(const char *text)
{
    (void)ask(WRITE, text);
}

void put_number(uint32_t number)
{
    char text[12];
    char *at = text + 11;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    put_text(at);
    put_text(" ");
}

static void leave(int32_t code)
{
    const uint32_t reason[2] = { 0x20026, (uint32_t)code }; // the application ends
    (void)ask(EXIT, reason);
    for (;;)
        ;
}

void *memcpy(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    while (n--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if ((uintptr_t)to <= (uintptr_t)from)
        return memcpy(to, from, n);
    while (n--)
        t[n] = f[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    unsigned char *t = to;
    while (n--)
        *t++ = (unsigned char)value;
    return to;
}

static void start(void)
{
    unsigned char *const first = stack_end - MAX_STACK;
    const unsigned char *used = first;
    int32_t code;
    (void)memcpy(data_first, data_from, (size_t)(data_end - data_first));
    (void)memset(bss_first, 0, (size_t)(bss_end - bss_first));
    for (unsigned char *at = first;
         at < (unsigned char *)__builtin_frame_address(0) - 256; at++)
        *at = PAINT;
    code = main();
    while (*used == PAINT)
        used++;
    put_text("\nstack ");
    put_number((uint32_t)(stack_end - used));
    put_text("\n");
    leave(code);
}

void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xfu << 20; // floats: coprocessors 10 and 11
    __asm__ volatile("dsb\n isb");
#endif
    start();
}

static void fault(void)
{
    put_text("the processor stopped at an instruction\n");
    leave(2);
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    stack_end,     (void *)reset, (void *)fault, (void *)fault,
    (void *)fault, (void *)fault, (void *)fault,
};
