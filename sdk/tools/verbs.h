#ifndef VERBS_H
#define VERBS_H

#include "tool.h"

#define VERB(name) extern const struct verb verb_##name;
#include "verbs.def"

#endif
