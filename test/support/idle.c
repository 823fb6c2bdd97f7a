// A Windows program that does nothing until it is ended. It keeps Wine running.
#include <windows.h>

int main(void) {
  Sleep(INFINITE);
  return 0;
}
