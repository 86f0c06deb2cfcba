/* load PROGRAM.so NAME IMAGE: calls NAME_run of a shared object on the elements of a file. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t run_fn(const float *image, float *scores, void *workspace);
typedef uint64_t workspace_fn(void);

/* ISO C has no cast from an object's address to a function's. */
static void find(void *object, const char *name, const char *end, void *out)
{
    char symbol[100];
    snprintf(symbol, sizeof(symbol), "%s%s", name, end);
    void *at = dlsym(object, symbol);
    if (!at) {
        fprintf(stderr, "no %s\n", symbol);
        exit(1);
    }
    memcpy(out, &at, sizeof(at));
}

int main(int argc, char **argv)
{
    float image[28 * 28], scores[10];
    run_fn *run;
    workspace_fn *workspace;
    void *object = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    FILE *file = object ? fopen(argv[3], "rb") : NULL;
    if (!file || fread(image, sizeof(float), 28 * 28, file) != 28 * 28) {
        fprintf(stderr, "%s\n", object ? "no image" : dlerror());
        return 1;
    }
    find(object, argv[2], "_run", &run);
    find(object, argv[2], "_workspace", &workspace);
    if (run(image, scores, aligned_alloc(64, (size_t)workspace())) != 0)
        return 1;
    printf("scores:");
    for (int i = 0; i < 10; i++)
        printf(" %.9g", (double)scores[i]);
    printf("\n");
    return 0;
}
