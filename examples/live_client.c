/* A scheduler in C that asks `packenv serve` on a Unix socket: cc -o live_client examples/live_client.c
 *
 *   packenv serve bf-js --servers 2 --socket packenv.sock &
 *   ./live_client packenv.sock
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static void ask(FILE *in, FILE *out, const char *message, char *answer, int size) {
    fprintf(out, "%s\n", message);
    fflush(out);
    if (fgets(answer, size, in) == NULL) answer[0] = '\0';
}

int main(int count, char **words) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[1 << 16];
    const char *messages[] = {"{\"submit\": {\"task\": \"a\", \"size\": 0.6}}", "{\"submit\": {\"task\": \"b\", \"size\": 0.5}}",
                              "{\"decide\": {}}", "{\"complete\": \"a\"}", "{\"decide\": {}}"};
    int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    if (count < 2) return 2;
    strncpy(address.sun_path, words[1], sizeof address.sun_path - 1);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) return perror(words[1]), 1;
    FILE *in = fdopen(connection, "r"), *out = fdopen(connection, "w");
    for (int n = 0; n < 5; n++) {
        ask(in, out, messages[n], answer, sizeof answer);
        printf("%s", answer);
    }
    return 0;
}
