/* Opens every file named on stdin once and preads it ROUNDS times: the least that reading them can cost; prints CPU milliseconds of each round. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double cpu_ms(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv) {
    static char line[4096], buffer[16384];
    size_t count = 0, room = 1024;
    char **paths = malloc(room * sizeof *paths);
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (count == room) paths = realloc(paths, (room *= 2) * sizeof *paths);
        paths[count++] = strdup(line);
    }
    int *kept = malloc(count * sizeof *kept);
    for (size_t i = 0; i < count; i++) kept[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
    for (int round = 0; round < rounds; round++) {
        double began = cpu_ms();
        for (size_t i = 0; i < count; i++) {
            if (kept[i] >= 0 && pread(kept[i], buffer, sizeof buffer, 0) < 0) kept[i] = -1;
        }
        printf("%.3f\n", cpu_ms() - began);
    }
    return 0;
}
