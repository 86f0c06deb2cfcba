/* Linked into every unit test in the place of the C library's memcmp, which must not be given
 * NULL, not even for no bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int __real_memcmp(const void *a, const void *b, size_t nbytes);
int __wrap_memcmp(const void *a, const void *b, size_t nbytes);

int __wrap_memcmp(const void *a, const void *b, size_t nbytes)
{
    // compilers take it that neither is NULL, and would drop a plain comparison
    const volatile uintptr_t at[] = { (uintptr_t)a, (uintptr_t)b };
    if (!at[0] || !at[1]) {
        fprintf(stderr, "memcmp was given NULL\n");
        abort();
    }
    return __real_memcmp(a, b, nbytes);
}
