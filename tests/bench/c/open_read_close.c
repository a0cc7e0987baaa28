/* Opens, reads and closes every file named on stdin, ROUNDS times; prints CPU milliseconds of each round. */
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
    for (int round = 0; round < rounds; round++) {
        double began = cpu_ms();
        for (size_t i = 0; i < count; i++) {
            int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
            if (fd < 0) continue;
            while (read(fd, buffer, sizeof buffer) > 0) {}
            close(fd);
        }
        printf("%.3f\n", cpu_ms() - began);
    }
    return 0;
}
