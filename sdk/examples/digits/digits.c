/*
 * Classifies digits drawn with characters:    digits digits.baton 3.txt ...
 * A drawing is up to 28 lines of up to 28 characters; a blank is paper, anything else
 * ink. It is centred before it is read. The network is compiled for this machine's
 * processor first.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <baton/baton.h>

enum { SIZE = 28, NCLASS = 10 };

struct drawing {
    char cells[SIZE][SIZE]; /* 1: ink */
    int top, bottom, left, right;
};

static int read_drawing(const char *path, struct drawing *out)
{
    char line[256];
    FILE *file = fopen(path, "r");
    *out = (struct drawing){ .top = SIZE, .left = SIZE, .bottom = -1, .right = -1 };
    if (!file)
        return 0;
    for (int y = 0; y < SIZE && fgets(line, sizeof(line), file); y++) {
        for (int x = 0; x < SIZE && line[x] && line[x] != '\n'; x++) {
            if (line[x] == ' ')
                continue;
            out->cells[y][x] = 1;
            out->top = y < out->top ? y : out->top;
            out->bottom = y;
            out->left = x < out->left ? x : out->left;
            out->right = x > out->right ? x : out->right;
        }
    }
    fclose(file);
    return out->bottom >= 0;
}

/* The drawing in the middle of a 28 x 28 image of zeros and ones. */
static void fill_image(const struct drawing *drawing, bt_tensor *image)
{
    int dy = (SIZE - 1 - drawing->top - drawing->bottom) / 2,
        dx = (SIZE - 1 - drawing->left - drawing->right) / 2;
    memset(image->data, 0, bt_tensor_nbytes(image));
    for (int y = drawing->top; y <= drawing->bottom; y++) {
        for (int x = drawing->left; x <= drawing->right; x++) {
            if (drawing->cells[y][x])
                bt_tensor_set(image, (y + dy) * SIZE + x + dx, 1);
        }
    }
}

static void print_result(const struct drawing *drawing, const bt_tensor *scores)
{
    int best = 0;
    for (int y = drawing->top; y <= drawing->bottom; y++) {
        printf("    ");
        for (int x = drawing->left; x <= drawing->right; x++)
            putchar(drawing->cells[y][x] ? '#' : ' ');
        putchar('\n');
    }
    for (int i = 1; i < NCLASS; i++)
        best = bt_tensor_get(scores, i) > bt_tensor_get(scores, best) ? i : best;
    printf("  this is a %d;  scores", best);
    for (int i = 0; i < NCLASS; i++)
        printf("  %d: %.3f", i, bt_tensor_get(scores, i));
    printf("\n\n");
}

static double seconds(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* *elapsed: seconds that the network took. */
static bt_status classify(bt_ctx *ctx, bt_program *program, const char *path,
                          double *elapsed)
{
    static const int64_t dims[4] = { 1, 1, SIZE, SIZE };
    struct drawing drawing;
    bt_tensor *image;
    if (!read_drawing(path, &drawing))
        return bt_fail(ctx, BT_ERR_IO, "%s cannot be read, or nothing is drawn in it",
                       path);
    BT_TRY(bt_tensor_create(ctx, BT_FLOAT32, 4, dims, &image));
    fill_image(&drawing, image);
    bt_status status = bt_program_set(program, "image", &image->base);
    bt_tensor_unref(image);
    double start = seconds();
    if (!status)
        status = bt_program_run(program);
    *elapsed = seconds() - start;
    if (!status) {
        printf("%s\n", path);
        print_result(&drawing, bt_object_as_tensor(bt_program_get(program, 0)));
    }
    return status;
}

int main(int argc, char **argv)
{
    bt_program *program = NULL;
    bt_ctx *ctx = bt_open();
    if (!ctx || argc < 3) {
        fprintf(stderr, "usage: digits digits.baton DRAWING.txt...\n");
        bt_ctx_destroy(ctx);
        return 2;
    }
    const bt_program_options options = { .executor = "graph", .target = "cpu" };
    double start = seconds(), compiled, elapsed = 0, least = 0;
    bt_status status = bt_program_open(ctx, argv[1], &options, &program);
    compiled = seconds() - start;
    for (int i = 2; !status && i < argc; i++) {
        status = classify(ctx, program, argv[i], &elapsed);
        least = i == 2 || elapsed < least ? elapsed : least;
    }
    if (!status)
        printf(
            "compiled for cpu in %.0f ms; the fastest answer took %.0f microseconds\n\n",
            compiled * 1e3, least * 1e6);
    if (status) {
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        bt_diag_render(status, 0, &text);
        fprintf(stderr, "%s", bt_text_get(&text) ? bt_text_get(&text) : "no memory\n");
    }
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    return status != NULL;
}
