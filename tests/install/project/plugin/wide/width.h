/* How many elements the widest registers take: a helper of the plugin, in two versions. */
#ifndef OUTSIDE_WIDTH_H
#define OUTSIDE_WIDTH_H

int outside_width(void);
int outside_width_wide(void);

#endif
