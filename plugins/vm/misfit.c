#include "misfit.h"

#include <string.h>

static void print_ctor(const char *ctor, uint32_t nfield, bt_text *out)
{
    bt_text_addf(out, "%s", ctor);
    for (uint32_t i = 0; i < nfield; i++)
        bt_text_addf(out, i ? ", _" : "(_");
    bt_text_addf(out, nfield ? ")" : "");
}

void misfit_text(const char *otherwise, const char *ctor, uint32_t nfield, bt_text *out)
{
    if (!otherwise || !*otherwise)
        otherwise = "no clause of this match fits the value *";
    for (const char *at = otherwise; *at;) {
        const size_t n = strcspn(at, "*");
        bt_text_add(out, at, n);
        at += n;
        if (*at)
            print_ctor(ctor, nfield, out);
        at += *at != '\0';
    }
}
