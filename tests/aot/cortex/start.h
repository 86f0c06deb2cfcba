/* Output of a program on a bare Cortex-M. */
#ifndef CORTEX_START_H
#define CORTEX_START_H

#include <stddef.h>
#include <stdint.h>

void put_text(const char *text);
void put_number(uint32_t number); /* and a blank */

int main(void);
void reset(void);
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

#endif
