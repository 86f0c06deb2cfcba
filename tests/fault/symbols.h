/* Names of functions, static ones too, from the symbol tables of the files they were
 * loaded from: backtraces know exported ones only. */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <stddef.h>

/* The function that holds an address, and how far in; NULL where its file has no
 * symbols. */
const char *symbol_at(const void *address, size_t *offset);

#endif
