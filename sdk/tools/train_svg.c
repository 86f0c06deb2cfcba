/* Curves of a training as a picture: the loss above, what is right below. */
#include <math.h>

#include "train.h"

enum { WIDTH = 640, HEIGHT = 220, LEFT = 60, RIGHT = 20, TOP = 30, BOTTOM = 30 };

struct panel {
    const struct train *t;
    bt_text *out;
    double top; /* of the panel in the picture */
    double low, high, last;
};

static double value_of(const struct point *p, int is_right, int is_test)
{
    const double x = is_right ? (is_test ? p->test_right : p->right)
                              : (is_test ? p->test_loss : p->loss);
    return isfinite(x) && x >= 0 ? x : NAN;
}

static double x_of(const struct panel *p, double step)
{
    return LEFT + step / p->last * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct panel *p, double value)
{
    const double part = (value - p->low) / (p->high - p->low);
    return p->top + TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
}

static void add_label(const struct panel *p, double x, double y, const char *anchor,
                      double value, const char *unit)
{
    bt_text_addf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.4g%s</text>\n",
                 x, y, anchor, value, unit);
}

static void add_frame(const struct panel *p, const char *title, const char *unit)
{
    const double x0 = x_of(p, 0), x1 = x_of(p, p->last), y0 = y_of(p, p->low),
                 y1 = y_of(p, p->high);
    bt_text_addf(
        p->out,
        "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n"
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
        "stroke=\"#999\"/>\n",
        x0, p->top + TOP - 10, title, x0, y1, x1 - x0, y0 - y1);
    add_label(p, x0 - 6, y1 + 4, "end", p->high, unit);
    add_label(p, x0 - 6, y0 + 4, "end", p->low, unit);
    add_label(p, x1, y0 + 18, "end", p->last, " steps");
}

static void add_line(const struct panel *p, int is_right, int is_test, double scale)
{
    const char *colour = is_test ? "#d62728" : "#1f77b4";
    bt_text_addf(p->out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
    for (uint32_t i = 0; i < p->t->points.len; i++) {
        const struct point *point = &p->t->points.at[i];
        const double value = value_of(point, is_right, is_test) * scale;
        if (isfinite(value))
            bt_text_addf(p->out, "%.1f,%.1f ", x_of(p, (double)point->step),
                         y_of(p, value < p->high ? value : p->high));
    }
    bt_text_addf(p->out, "\"/>\n");
}

/* From 0, or from what is least, to what is greatest of both lines. */
static int set_range(struct panel *p, int is_right, double scale)
{
    int n = 0;
    p->low = is_right ? INFINITY : 0;
    p->high = 0;
    for (uint32_t i = 0; i < 2 * p->t->points.len; i++) {
        const double value = value_of(&p->t->points.at[i / 2], is_right, i % 2) * scale;
        if (!isfinite(value))
            continue;
        p->high = fmax(p->high, value);
        p->low = fmin(p->low, value);
        n++;
    }
    if (p->high <= p->low)
        p->high = p->low + 1;
    return n > 0;
}

void draw_curves(const struct train *t, bt_text *out)
{
    struct panel p = { .t = t, .out = out };
    p.last = t->points.len ? (double)t->points.at[t->points.len - 1].step : 1;
    bt_text_addf(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                 "<text x=\"%d\" y=\"20\" text-anchor=\"end\" fill=\"#1f77b4\">training "
                 "<tspan fill=\"#d62728\">test</tspan></text>\n",
                 WIDTH, 2 * HEIGHT, WIDTH, 2 * HEIGHT, WIDTH - RIGHT);
    if (set_range(&p, 0, 1)) {
        add_frame(&p, "loss", "");
        add_line(&p, 0, 0, 1);
        add_line(&p, 0, 1, 1);
    }
    p.top = HEIGHT;
    if (set_range(&p, 1, 100)) {
        add_frame(&p, "right", " %");
        add_line(&p, 1, 0, 100);
        add_line(&p, 1, 1, 100);
    }
    bt_text_addf(out, "</svg>\n");
}
