// The C contender: `limit mode=… port=… acquire=SHA renew=SHA release=SHA …`, see ../README.md.
#include <string.h>

#include "common.h"

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } modes[] = {
      {"pair", run_pair},       {"throughput", run_throughput},
      {"contend", run_contend}, {"hold", run_hold},
      {"wake", run_wake},       {"watchdog", run_watchdog},
  };
  words_init(argc, argv);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
    if (strcmp(word("mode", NULL), modes[i].name) == 0) {
      modes[i].run();
      return 0;
    }
  }
  die("no such mode", word("mode", NULL));
}
