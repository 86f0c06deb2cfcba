/* Names and texts of models on terminals, which must not obey what stands in them. */
#ifndef SHOWN_H
#define SHOWN_H

#include <stdio.h>

/* From now on standard output has '?' for the bytes of every control character but tabs and
 * ends of lines, and of the marks that turn the direction of text. */
void shown_begin(void);
/* The same, of a text on another stream. */
void put_shown(FILE *, const char *);

#endif
