/*
 * Windows over planes: primitives give what loops give to the bit and touch nothing outside of their
 * operands; schedules of them compute what the evaluator does, in the room that each call has.
 */
#include "schedule/planes.h"
#include "schedule/schedule.h"

#include "contraction.h"
#include "guard.h"
#include "strip_run.h"

#include <math.h>

/* ---- primitives ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

/* Rows and planes of all operands lie some elements apart. */
enum { MAX_SIDE = 41, MAX_WIDTH = 150, APART = 3, MAX_PLANES = 3 };

struct room {
    struct guarded all[CPU_PLANES_NPOINTER];
    void *p[CPU_PLANES_NPOINTER];
};

struct first_room {
    struct guarded all[CPU_FIRST_NPOINTER];
    void *p[CPU_FIRST_NPOINTER];
    float *expected;
};

/* So many elements at the end of memory, of the result marks; `is_finite`: of the others all. */
static void fill(struct room *room, int which, int64_t nelem, int is_finite,
                 uint32_t *seed)
{
    static const float special[] = { INFINITY, -INFINITY, NAN, 0, -0.0F };
    float *at = room->p[which] = room->all[which].end - nelem * 4;
    for (int64_t i = 0; i < nelem; i++) {
        const uint32_t kind = draw(seed, 40);
        at[i] = which == CPU_PLANES_Y ? -77
                : kind < BT_COUNT(special) && !is_finite
                    ? special[kind]
                    : (float)draw(seed, 2001) / 37 - 20;
    }
}

static float joined(int is_sum, float y, float x)
{
    return is_sum ? y + x : x > y || isnan(x) ? x : y;
}

static float expected(const struct room *room, int is_sum, const int64_t *n,
                      int64_t plane, int64_t row, int64_t column)
{
    const float *x = (const float *)room->p[CPU_PLANES_X] + plane * n[CPU_PLANES_X_PLANE];
    const float *d = room->p[CPU_PLANES_D], none = is_sum ? 0 : -INFINITY;
    float all = none;
    for (int64_t i = 0; i < n[CPU_PLANES_SIDE]; i++) {
        const int64_t r = n[CPU_PLANES_TOP] + n[CPU_PLANES_STEP] * row + i;
        float one = none;
        for (int64_t j = 0; j < n[CPU_PLANES_SIDE]; j++) {
            const int64_t c = n[CPU_PLANES_LEFT] + n[CPU_PLANES_STEP] * column + j;
            const int is_inside =
                r >= 0 && r < n[CPU_PLANES_HEIGHT] && c >= 0 && c < n[CPU_PLANES_WIDTH];
            one = joined(is_sum, one, is_inside ? x[r * n[CPU_PLANES_X_ROW] + c] : none);
        }
        all = joined(is_sum, all, one);
    }
    return n[CPU_PLANES_D_ROW] ? all / d[row * n[CPU_PLANES_D_ROW] + column] : all;
}

static void check_call(const struct cpu_callee *row, struct room *room, const int64_t *n,
                       uint32_t *seed)
{
    const int is_sum = strstr(row->name, "sum") != NULL, is_finite = draw(seed, 2) == 0;
    const int64_t last = n[CPU_PLANES_PLANES] - 1, nrow = n[CPU_PLANES_ROWS];
    const int64_t ncolumn = n[CPU_PLANES_COLUMNS], height = n[CPU_PLANES_HEIGHT];
    const int64_t nx = height && n[CPU_PLANES_WIDTH]
                           ? (height - 1) * n[CPU_PLANES_X_ROW] + n[CPU_PLANES_WIDTH]
                           : 0;
    fill(room, CPU_PLANES_Y,
         nrow ? last * n[CPU_PLANES_Y_PLANE] + (nrow - 1) * n[CPU_PLANES_Y_ROW] + ncolumn
              : 0,
         1, seed);
    fill(room, CPU_PLANES_X, last * n[CPU_PLANES_X_PLANE] + nx, is_finite, seed);
    fill(room, CPU_PLANES_D, nrow ? (nrow - 1) * n[CPU_PLANES_D_ROW] + ncolumn : 0, 1,
         seed);
    assert_int_equal(row->run(room->p, n), 0);
    for (int64_t k = 0; k <= last; k++) {
        for (int64_t r = 0; r < nrow; r++) {
            const int is_end = k == last && r == nrow - 1;
            const float *y = (const float *)room->p[CPU_PLANES_Y] +
                             k * n[CPU_PLANES_Y_PLANE] + r * n[CPU_PLANES_Y_ROW];
            for (int64_t c = 0; c < (is_end ? ncolumn : n[CPU_PLANES_Y_ROW]); c++) {
                const float is = c < ncolumn ? expected(room, is_sum, n, k, r, c) : -77;
                if (y[c] != is && !(isnan(y[c]) && isnan(is)))
                    fail_msg(
                        "%s: %lld x %lld from %lld x %lld at %lld, %lld, side %lld, step "
                        "%lld: %lld %lld %lld is %.9g, not %.9g",
                        row->name, (long long)nrow, (long long)ncolumn, (long long)height,
                        (long long)n[CPU_PLANES_WIDTH], (long long)n[CPU_PLANES_TOP],
                        (long long)n[CPU_PLANES_LEFT], (long long)n[CPU_PLANES_SIDE],
                        (long long)n[CPU_PLANES_STEP], (long long)k, (long long)r,
                        (long long)c, (double)y[c], (double)is);
            }
        }
    }
}

static void check_row(const struct cpu_callee *row, struct room *room, uint32_t *seed)
{
    const int64_t step = 1 + draw(seed, 2), height = draw(seed, MAX_SIDE);
    const int64_t width = draw(seed, draw(seed, 8) ? MAX_SIDE : MAX_WIDTH);
    const int64_t top = 2 - (int64_t)draw(seed, 5), left = 2 - (int64_t)draw(seed, 5);
    const int64_t rows = (height + 3) / step, columns = (width + 3) / step;
    const int64_t x_row = width + draw(seed, 2) * APART;
    const int64_t y_row = columns + draw(seed, 2) * APART;
    check_call(row, room,
               (int64_t[CPU_PLANES_NINT]){
                   [CPU_PLANES_PLANES] = 1 + draw(seed, MAX_PLANES),
                   [CPU_PLANES_ROWS] = rows,
                   [CPU_PLANES_COLUMNS] = columns,
                   [CPU_PLANES_SIDE] = 2 + draw(seed, 2),
                   [CPU_PLANES_STEP] = step,
                   [CPU_PLANES_Y_PLANE] = rows * y_row + APART,
                   [CPU_PLANES_Y_ROW] = y_row,
                   [CPU_PLANES_X_PLANE] = height * x_row + APART,
                   [CPU_PLANES_X_ROW] = x_row,
                   [CPU_PLANES_D_ROW] = draw(seed, 2) ? columns + APART : 0,
                   [CPU_PLANES_HEIGHT] = height,
                   [CPU_PLANES_WIDTH] = width,
                   [CPU_PLANES_TOP] = top,
                   [CPU_PLANES_LEFT] = left,
               },
               seed);
}

static void test_windows_take_what_loops_take(void **state)
{
    (void)state;
    enum { NELEM = MAX_PLANES * (MAX_SIDE + 9) * (MAX_WIDTH + 9) };
    static const char *const names[] = { "planes_sum.float32", "planes_max.float32" };
    struct room room;
    uint32_t seed = 5;
    for (int i = 0; i < CPU_PLANES_NPOINTER; i++)
        room.all[i] = guarded_create(NELEM * sizeof(float));
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        for (size_t i = 0; i < BT_COUNT(names); i++) {
            const struct cpu_callee *row = cpu_callee_find(isa, names[i]);
            assert_non_null(row);
            for (int k = 0; k < 2000; k++)
                check_row(row, &room, &seed);
        }
    }
    for (int i = 0; i < CPU_PLANES_NPOINTER; i++)
        guarded_destroy(&room.all[i]);
}

/* ---- the adjoint of maxima ---- */

/* In order of the windows; windows that have no place in common give what comes in as it is. */
static void give_back(const struct first_room *room, const int64_t *n, float *to)
{
    const int64_t height = n[CPU_FIRST_HEIGHT], width = n[CPU_FIRST_WIDTH];
    memset(to, 0, (size_t)(n[CPU_FIRST_PLANES] * height * width) * sizeof(*to));
    for (int64_t at = 0;
         at < n[CPU_FIRST_PLANES] * n[CPU_FIRST_ROWS] * n[CPU_FIRST_COLUMNS]; at++) {
        const int64_t c = at % n[CPU_FIRST_COLUMNS],
                      r = at / n[CPU_FIRST_COLUMNS] % n[CPU_FIRST_ROWS],
                      k = at / n[CPU_FIRST_COLUMNS] / n[CPU_FIRST_ROWS];
        const int64_t place = k * n[CPU_FIRST_Y_PLANE] + r * n[CPU_FIRST_Y_ROW] + c;
        const float *x = (const float *)room->p[CPU_FIRST_X] + k * n[CPU_FIRST_X_PLANE];
        const float y = ((const float *)room->p[CPU_FIRST_Y])[place];
        int is_found = 0;
        for (int64_t t = 0; t < n[CPU_FIRST_SIDE_Y] * n[CPU_FIRST_SIDE_X]; t++) {
            const int64_t i =
                n[CPU_FIRST_TOP] + r * n[CPU_FIRST_STEP_Y] + t / n[CPU_FIRST_SIDE_X];
            const int64_t j =
                n[CPU_FIRST_LEFT] + c * n[CPU_FIRST_STEP_X] + t % n[CPU_FIRST_SIDE_X];
            const float x_at = i >= 0 && i < height && j >= 0 && j < width
                                   ? x[i * n[CPU_FIRST_X_ROW] + j]
                                   : 1000;
            if (is_found || x_at == 1000 || !(x_at == y || isnan(x_at)))
                continue;
            to[(k * height + i) * width + j] +=
                ((const float *)room->p[CPU_FIRST_D])[place];
            is_found = 1;
        }
    }
}

/* Few values, so that many places of a window are the maximum; some are no numbers. */
static void fill_first(struct first_room *room, int which, int64_t nelem, uint32_t *seed)
{
    float *at = room->p[which] = room->all[which].end - nelem * 4;
    for (int64_t i = 0; i < nelem; i++)
        at[i] = which == CPU_FIRST_G   ? -77
                : which == CPU_FIRST_D ? (float)draw(seed, 2001) / 37 - 20
                : draw(seed, 50)       ? (float)draw(seed, 4)
                                       : NAN;
}

static void check_first(const struct cpu_callee *row, struct first_room *room,
                        const int64_t *n, uint32_t *seed)
{
    const int64_t last = n[CPU_FIRST_PLANES] - 1, height = n[CPU_FIRST_HEIGHT],
                  width = n[CPU_FIRST_WIDTH];
    const int64_t windows = last * n[CPU_FIRST_Y_PLANE] +
                            (n[CPU_FIRST_ROWS] - 1) * n[CPU_FIRST_Y_ROW] +
                            n[CPU_FIRST_COLUMNS];
    fill_first(room, CPU_FIRST_G,
               last * n[CPU_FIRST_G_PLANE] + (height - 1) * n[CPU_FIRST_G_ROW] + width,
               seed);
    fill_first(room, CPU_FIRST_X,
               last * n[CPU_FIRST_X_PLANE] + (height - 1) * n[CPU_FIRST_X_ROW] + width,
               seed);
    fill_first(room, CPU_FIRST_Y, windows, seed);
    fill_first(room, CPU_FIRST_D, windows, seed);
    give_back(room, n, room->expected);
    assert_int_equal(row->run(room->p, n), 0);
    for (int64_t at = 0; at < n[CPU_FIRST_PLANES] * height; at++) {
        const int64_t k = at / height, r = at % height;
        const float *g = (const float *)room->p[CPU_FIRST_G] + k * n[CPU_FIRST_G_PLANE] +
                         r * n[CPU_FIRST_G_ROW];
        const int64_t end =
            at == n[CPU_FIRST_PLANES] * height - 1 ? width : n[CPU_FIRST_G_ROW];
        for (int64_t c = 0; c < end; c++) {
            const float is = c < width ? room->expected[at * width + c] : -77;
            if (g[c] != is)
                fail_msg("%s: side %lld, step %lld, %lld x %lld: %lld %lld %lld is %.9g, "
                         "not %.9g",
                         row->name, (long long)n[CPU_FIRST_SIDE_X],
                         (long long)n[CPU_FIRST_STEP_X], (long long)height,
                         (long long)width, (long long)k, (long long)r, (long long)c,
                         (double)g[c], (double)is);
        }
    }
}

static void draw_first(const struct cpu_callee *row, struct first_room *room,
                       uint32_t *seed)
{
    const int is_square = draw(seed, 4) != 0;
    const int64_t height = 1 + draw(seed, MAX_SIDE),
                  width = 1 + draw(seed, draw(seed, 8) ? MAX_SIDE : MAX_WIDTH);
    const int64_t side = draw(seed, 3) ? 2 + draw(seed, 2) : 1 + draw(seed, 5);
    const int64_t step = !is_square      ? 1 + draw(seed, 3)
                         : draw(seed, 3) ? 2
                                         : side; // windows lie side by side
    const int64_t rows = 1 + draw(seed, (uint32_t)(height / step + 1)),
                  columns = 1 + draw(seed, (uint32_t)(width / step + 1));
    const int64_t x_row = width + draw(seed, 2) * APART,
                  g_row = width + draw(seed, 2) * APART,
                  y_row = columns + draw(seed, 2) * APART;
    check_first(row, room,
                (int64_t[CPU_FIRST_NINT]){
                    [CPU_FIRST_PLANES] = 1 + draw(seed, MAX_PLANES),
                    [CPU_FIRST_ROWS] = rows,
                    [CPU_FIRST_COLUMNS] = columns,
                    [CPU_FIRST_SIDE_Y] = side,
                    [CPU_FIRST_SIDE_X] = is_square ? side : 1 + draw(seed, 5),
                    [CPU_FIRST_STEP_Y] = step,
                    [CPU_FIRST_STEP_X] = is_square ? step : 1 + draw(seed, 3),
                    [CPU_FIRST_G_PLANE] = height * g_row,
                    [CPU_FIRST_G_ROW] = g_row,
                    [CPU_FIRST_X_PLANE] = height * x_row + APART,
                    [CPU_FIRST_X_ROW] = x_row,
                    [CPU_FIRST_Y_PLANE] = rows * y_row + APART,
                    [CPU_FIRST_Y_ROW] = y_row,
                    [CPU_FIRST_HEIGHT] = height,
                    [CPU_FIRST_WIDTH] = width,
                    [CPU_FIRST_TOP] = 1 - (int64_t)draw(seed, 4),
                    [CPU_FIRST_LEFT] = 1 - (int64_t)draw(seed, 4),
                },
                seed);
}

static void test_adjoints_go_to_first_places(void **state)
{
    (void)state;
    enum { NELEM = MAX_PLANES * (MAX_SIDE + 9) * (MAX_WIDTH + 9) };
    static float expected[NELEM];
    struct first_room room = { .expected = expected };
    uint32_t seed = 7;
    for (int i = 0; i < CPU_FIRST_NPOINTER; i++)
        room.all[i] = guarded_create(NELEM * sizeof(float));
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        const struct cpu_callee *row = cpu_callee_find(isa, "planes_first.float32");
        assert_non_null(row);
        for (int k = 0; k < 2000; k++)
            draw_first(row, &room, &seed);
    }
    for (int i = 0; i < CPU_FIRST_NPOINTER; i++)
        guarded_destroy(&room.all[i]);
}

/* ---- schedules ---- */

struct pool {
    int64_t dims[4], side, step, before, after;
    int is_called; /* by windows over planes */
    const char *reducer, *otherwise, *behind, *counts;
};

static const char counts_inside[] =
    "c: t[p in %lld, q in %lld] = t(sum(r in %lld, s in %lld | p*%lld + r - %lld >= 0 && "
    "p*%lld + r - %lld < extent(x, 2) && q*%lld + s - %lld >= 0 && q*%lld + s - %lld < "
    "extent(x, 3): 1));";

static void make_text(const struct pool *c, char *text, size_t nbytes)
{
    const long long
        rows = (long long)((c->dims[2] + c->before + c->after - c->side) / c->step + 1),
        columns =
            (long long)((c->dims[3] + c->before + c->after - c->side) / c->step + 1),
        side = (long long)c->side, step = (long long)c->step,
        before = (long long)c->before;
    int at = c->counts ? snprintf(text, nbytes, counts_inside, rows, columns, side, side,
                                  step, before, step, before, step, before, step, before)
                       : 0;
    snprintf(text + at, nbytes - (size_t)at,
             "y: t[n, c, p in %lld, q in %lld] = %s(r in %lld, s in %lld: x[n, c, %lld * "
             "p + r "
             "- %lld, %lld * q + s - %lld] else %s)%s",
             rows, columns, c->reducer, side, side, step, before, step, before,
             c->otherwise, c->behind);
}

/* The numbers are such that no sum is rounded. */
static void check(const struct pool *c)
{
    struct world w = world_open();
    char text[1024];
    make_text(c, text, sizeof(text));
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "t[n, c, h, g]" } } };
    bt_tensor *in[] = { tensor_random(&w, BT_FLOAT32, 1, 4, c->dims) };
    bt_op op = formula_op(&f);
    bt_tensor *expected = formula_run(&w, &f, 1, in);
    bt_tensor *got = tensor_new(&w, BT_FLOAT32, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        static const uint32_t threads[] = { 1, 2, 7 };
        for (size_t i = 0; i < BT_COUNT(threads); i++) {
            const struct cpu_config config = { .isa = isa, .nthread = threads[i] };
            struct strip_run calls = { .ctx = w.ctx, .isa = isa, .counted = "planes_" };
            struct run_options options = { .seed = 7,
                                           .call = strip_call,
                                           .self = &calls };
            void *data[] = { in[0]->data, got->data };
            bt_compute *compute;
            bt_loops *loops;
            assert_ok(w.ctx, formula_make(&w, &f, &op, 1, in, &compute));
            assert_ok(w.ctx, cpu_lower(w.ctx, bt_ctx_scratch(w.ctx), "test",
                                       compute->graph, &loops));
            assert_ok(w.ctx, cpu_schedule_loops(loops, &config));
            memset(got->data, 0x55, (size_t)got->nelem * sizeof(float));
            assert_ok(w.ctx, loops_run(w.ctx, loops, data, &options));
            assert_int_equal(calls.ncounted > 0, c->is_called);
            for (int64_t e = 0; e < got->nelem; e++) {
                if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
                    fail_msg("%s: element %lld is %g, not %g", text, (long long)e,
                             bt_tensor_get(got, e), bt_tensor_get(expected, e));
            }
            bt_compute_destroy(compute);
        }
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    bt_tensor_unref(in[0]);
    world_close(&w);
}

#define MAXIMUM 1, "max", "-inf", "", NULL
#define MEAN    1, "sum", "0", " / c[p, q]", "counts"
#define QUARTER 1, "sum", "0", " / 4", NULL
#define SUM     1, "sum", "0", "", NULL
#define OTHER   0, "max", "-inf", " * 2", NULL /* what is made of it is no quotient */
#define LEAST   0, "min", "inf", "", NULL

static void test_pools(void **state)
{
    (void)state;
    static const struct pool all[] = {
        { { 1, 32, 14, 14 }, 3, 2, 1, 1, MAXIMUM },
        { { 1, 20, 35, 35 }, 3, 1, 1, 1, MEAN },
        { { 1, 40, 17, 17 }, 3, 1, 1, 1, MEAN },
        { { 2, 5, 9, 20 }, 3, 2, 0, 1, MAXIMUM }, // a batch
        { { 3, 17, 8, 6 }, 2, 2, 0, 0, QUARTER },
        { { 1, 1, 50, 40 }, 2, 1, 0, 0, SUM }, // threads share rows
        { { 1, 1, 40, 33 }, 3, 1, 1, 1, MEAN },
        { { 1, 2, 3, 150 }, 2, 1, 1, 1, MEAN },
        { { 1, 6, 7, 7 }, 3, 2, 1, 0, SUM },
        { { 1, 6, 7, 7 }, 2, 2, 1, 2, MAXIMUM }, // some windows have nothing
        { { 1, 6, 7, 7 }, 2, 1, 0, 0, OTHER },
        { { 1, 6, 7, 7 }, 3, 1, 1, 1, LEAST },
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check(&all[i]);
}

struct adjoint {
    int64_t side, step, before, height, width, rows, columns;
    int is_called;
    const char *type, *behind; /* of sums, what is made of them */
};

static void make_adjoint(const struct adjoint *c, char *text, size_t nbytes)
{
    const long long side = (long long)c->side, step = (long long)c->step,
                    before = (long long)c->before;
    snprintf(text, nbytes,
             "at: int32[n, c, p in %lld, q in %lld] = min(r in %lld, s in %lld | %lld*p "
             "+ r >= %lld && "
             "%lld*p + r < %lld && %lld*q + s >= %lld && %lld*q + s < %lld && (x[n, c, "
             "%lld*p + r - %lld, "
             "%lld*q + s - %lld] == y[n, c, p, q] || isnan(x[n, c, %lld*p + r - %lld, "
             "%lld*q + s - "
             "%lld])): int32(%lld*r + s));"
             "g: t[n, c, a in %lld, b in %lld] = %s(sum(p in %lld, q in %lld, r in %lld, "
             "s in %lld | "
             "%lld*p + r - %lld == a && %lld*q + s - %lld == b && at[n, c, p, q] == "
             "int32(%lld*r + "
             "s): %s(d[n, c, p, q])))%s",
             (long long)c->rows, (long long)c->columns, side, side, step, before, step,
             (long long)c->height + before, step, before, step,
             (long long)c->width + before, step, before, step, before, step, before, step,
             before, side, (long long)c->height, (long long)c->width, c->type,
             (long long)c->rows, (long long)c->columns, side, side, step, before, step,
             before, side, c->type, c->behind);
}

/* Few values, whole numbers: many places are the first of several, and no sum is rounded. */
static void check_adjoint(const struct adjoint *c)
{
    enum { BATCH = 2, CHANNELS = 9 };
    struct world w = world_open();
    char text[2048];
    make_adjoint(c, text, sizeof(text));
    struct formula f = { .text = text,
                         .inputs = { { .name = "x", .type = "t[n, c, h, w]" },
                                     { .name = "y", .type = "t[n, c, p, q]" },
                                     { .name = "d", .type = "t[n, c, p, q]" } } };
    const int64_t image[] = { BATCH, CHANNELS, c->height, c->width },
                  windows[] = { BATCH, CHANNELS, c->rows, c->columns };
    bt_tensor *in[3];
    uint32_t seed = 3;
    for (uint32_t i = 0; i < 3; i++) {
        in[i] = tensor_new(&w, BT_FLOAT32, 4, i ? windows : image);
        for (int64_t e = 0; e < in[i]->nelem; e++)
            ((float *)in[i]->data)[e] = i == 2            ? (float)draw(&seed, 99) - 50
                                        : draw(&seed, 60) ? (float)draw(&seed, 3)
                                                          : NAN;
    }
    bt_op op = formula_op(&f);
    bt_tensor *expected = formula_run(&w, &f, 3, in);
    bt_tensor *got = tensor_new(&w, BT_FLOAT32, 4, image);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        const struct cpu_config config = { .isa = isa, .nthread = 2 };
        struct strip_run calls = { .ctx = w.ctx, .isa = isa, .counted = "planes_first" };
        struct run_options options = { .seed = 7, .call = strip_call, .self = &calls };
        void *data[] = { in[0]->data, in[1]->data, in[2]->data, got->data };
        bt_compute *compute;
        bt_loops *loops;
        assert_ok(w.ctx, formula_make(&w, &f, &op, 3, in, &compute));
        assert_ok(w.ctx, cpu_lower(w.ctx, bt_ctx_scratch(w.ctx), "test", compute->graph,
                                   &loops));
        assert_ok(w.ctx, cpu_schedule_loops(loops, &config));
        memset(got->data, 0x55, (size_t)got->nelem * sizeof(float));
        assert_ok(w.ctx, loops_run(w.ctx, loops, data, &options));
        if ((calls.ncounted > 0) != c->is_called)
            fail_msg("%s: called %u times", text, calls.ncounted);
        for (int64_t e = 0; e < got->nelem; e++) {
            const double is = bt_tensor_get(expected, e);
            if (bt_tensor_get(got, e) != is &&
                !(isnan(is) && isnan(bt_tensor_get(got, e))))
                fail_msg("%s: element %lld is %g, not %g", text, (long long)e,
                         bt_tensor_get(got, e), is);
        }
        bt_compute_destroy(compute);
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    for (uint32_t i = 0; i < 3; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void test_adjoints_of_pools(void **state)
{
    (void)state;
    static const struct adjoint all[] = {
        { 2, 2, 0, 12, 12, 6, 6, 1, "t", "" },
        { 2, 2, 0, 13, 15, 6, 7, 1, "t", "" }, // places in no window
        { 2, 2, 1, 7, 40, 4, 20, 1, "t", "" },
        { 3, 2, 1, 14, 36, 7, 18, 1, "t", "" },
        { 3, 2, 0, 14, 35, 6, 17, 1, "t", "" },
        { 3, 2, 0, 12, 34, 6, 17, 1, "t", "" }, // the last windows are not whole
        { 5, 3, 2, 14, 20, 5, 7, 1, "t", "" },
        { 2, 3, 0, 11, 11, 4, 4, 1, "t", "" },
        { 3, 3, 0, 12, 33, 4, 11, 1, "t", "" }, // side by side
        { 4, 4, 0, 13, 18, 3, 4, 1, "t", "" },
        { 3, 2, 1, 14, 36, 7, 18, 1, "t", " * x[n, c, a, b]" },
        { 2, 2, 0, 12, 12, 6, 6, 1, "t", " * x[n, c, a, b]" },
        { 3, 1, 1, 9, 9, 9, 9, 0, "t", "" }, // the last window comes first
    };
    for (size_t i = 0; i < BT_COUNT(all); i++)
        check_adjoint(&all[i]);
}

/* ---- without memory ---- */

static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    static const struct pool pool = { { 2, 3, 9, 9 }, 3, 1, 1, 1, MEAN };
    const bt_op_input inputs[] = { { .name = "x", .type = "t[n, c, h, g]" }, { 0 } };
    const struct cpu_config config = { .isa = CPU_ISA_AVX2, .nthread = 2 };
    char text[1024];
    make_text(&pool, text, sizeof(text));
    const bt_op op = {
        .name = "test.op", .revision = 1, .inputs = inputs, .formula = text
    };
    const bt_type *x = bt_type_tensor_of(store, BT_FLOAT32, 4, pool.dims);
    bt_arena *arena = bt_arena_create(registry);
    bt_loops *loops;
    bt_compute *compute = NULL;
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = &op, .narg = 1, .args = &x, .result = result };
    bt_status status = !arena || !x || !result ? bt_no_memory()
                                               : bt_compute_create(ctx, &call, &compute);
    if (!status)
        status = cpu_lower(ctx, arena, "test", compute->graph, &loops);
    if (!status)
        status = cpu_call_planes(loops, &config);
    if (status && status->code != BT_ERR_MEMORY)
        fail_msg("%s", status->message);
    bt_compute_destroy(compute);
    if (arena)
        bt_arena_destroy(arena);
    return !status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_windows_take_what_loops_take),
    cmocka_unit_test(test_adjoints_go_to_first_places),
    cmocka_unit_test(test_adjoints_of_pools),
    cmocka_unit_test(test_pools),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
