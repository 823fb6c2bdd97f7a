/* Stands in for foghorn-beacon.exe: says what it was started with, and stops when its standard input
   is closed. TRIAL in the settings makes it end by itself, or print much. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value == NULL ? "" : value;
}

int main(int count, char **words) {
  const char *trial = variable("TRIAL");
  printf("started %s fleet=%s jit=%s options=%s\n", count > 1 ? words[1] : "", variable("FOGHORN_FLEET"),
         variable("BUN_JSC_useJIT"), variable("BUN_OPTIONS"));
  fflush(stdout);
  if (strcmp(trial, "wrong settings") == 0) return 2;
  if (strcmp(trial, "crash once") == 0) {
    char mark[1024];
    snprintf(mark, sizeof mark, "%s\\crashed", variable("FOGHORN_STATE_DIR"));
    FILE *file = fopen(mark, "r");
    if (file == NULL) {
      fclose(fopen(mark, "w"));
      abort();
    }
    fclose(file);
  }
  if (strcmp(trial, "flood") == 0) {
    for (int line = 0; line < 60000; line++) printf("%0*d\n", 98, line);
  }
  while (getchar() != EOF) {
  }
  puts("beacon_stopped");
  return 0;
}
