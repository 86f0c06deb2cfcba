/* baton info of a compiled program. */
#ifndef INFO_ARTIFACT_H
#define INFO_ARTIFACT_H

#include "tool.h"

int info_artifact(struct tool *);

#endif
