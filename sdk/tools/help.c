/* Help, for terminals of 80 columns. */
#include <string.h>

#include "tool.h"

enum { WIDTH = 80 };

const struct option tool_help_option = { "help", 'h', NULL, "print this and stop" };
const char tool_exit_codes[] =
    "Exit codes: 0 done, 1 the input is wrong, differs or needs too much memory,\n"
    "2 the command line is wrong, 3 a fault of Baton, or no memory for itself.";

static int option_width(const struct option *o)
{
    return (int)(strlen(o->name) + (o->value ? strlen(o->value) + 1 : 0));
}

/* Words from a column on, in lines that all begin there. */
static void print_wrapped(const char *text, int column, FILE *out)
{
    int at = column;
    while (*text) {
        int n = (int)strcspn(text, " "), is_first = at == column;
        if (!is_first && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
            is_first = 1;
        }
        fprintf(out, "%s%.*s", is_first ? "" : " ", n, text);
        at += n + !is_first;
        text += n + (text[n] == ' ');
    }
    fputc('\n', out);
}

static void print_option(const struct option *o, int width, FILE *out)
{
    char letter[4] = "   ";
    if (o->letter)
        snprintf(letter, sizeof(letter), "-%c,", o->letter);
    fprintf(out, "  %s --%s%s%s%*s  ", letter, o->name, o->value ? " " : "",
            o->value ? o->value : "", width - option_width(o), "");
    print_wrapped(o->doc, width + 10, out);
}

void tool_help(const struct verb *verb, FILE *out)
{
    int width = option_width(&tool_help_option);
    fprintf(out, "usage: baton %s%s%s [OPTION]...\n\n%s\n", verb->name,
            *verb->args ? " " : "", verb->args, verb->doc);
    if (verb->details)
        fprintf(out, "\n%s\n", verb->details);
    for (const struct option *o = verb->options; o && o->name; o++) {
        if (option_width(o) > width)
            width = option_width(o);
    }
    fprintf(out, "\nOptions:\n");
    for (const struct option *o = verb->options; o && o->name; o++)
        print_option(o, width, out);
    print_option(&tool_help_option, width, out);
    if (verb->examples)
        fprintf(out, "\nExamples, in the folder examples/digits:\n%s\n", verb->examples);
    fprintf(out, "\n%s\n", tool_exit_codes);
}
