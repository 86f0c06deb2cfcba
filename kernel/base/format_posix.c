/* Formatted text that is the same in every locale: printf writes the point of a float as
 * the process's locale has it, and formulas, programs and C are not read so. */
#include <locale.h>
#include <stdio.h>

#include "base/arena.h"

int bt__vsnprintf(char *out, size_t nbytes, const char *format, va_list args)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return -1;
    const locale_t callers = uselocale(plain); // this thread's only
    const int n = vsnprintf(out, nbytes, format, args);
    uselocale(callers);
    freelocale(plain);
    return n;
}
