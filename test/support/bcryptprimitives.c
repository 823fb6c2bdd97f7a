/* Wine 8 lacks this library, which Bun needs for random numbers. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(void *bytes, ULONG count);

__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count) {
  return SystemFunction036(bytes, (ULONG)count);
}
