/* Whether what a plugin says of operators of ONNX models can be used. */
#ifndef ONNX_CHECK_H
#define ONNX_CHECK_H

#include "tool.h"

/* Prints the rows that are wrong. *nbroken counts them. */
int check_onnx(struct tool *, const char *plugin, uint32_t *nbroken);

#endif
