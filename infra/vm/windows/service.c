/* The Windows service of the beacon. Windows runs only programs that speak to its service manager,
   which the beacon does not. This one starts foghorn-beacon.exe beside it, with its own arguments and
   the settings of %ProgramData%\Foghorn\beacon.env, appends its output to a log, and starts it again
   after a crash. To stop it, it closes its standard input, so that the beacon can say goodbye. */
#ifndef UNICODE
#define UNICODE
#endif
#include <windows.h>
#include <shlobj.h>
#include <shlwapi.h>
#include <stdarg.h>
#include <stdio.h>

enum {
  PATH_CHARS = 1024,
  COMMAND_CHARS = 4096,
  MAX_SETTINGS_BYTES = 64 * 1024,
  /* beacon.log, and this many older ones: beacon.1.log is the newest of them */
  MAX_LOG_BYTES = 5 * 1024 * 1024,
  OLD_LOGS = 4,
  RESTART_MS = 2000,
  /* The beacon needs less than a second. */
  STOP_MS = 10000,
  /* A wrong setting: a restart does not help, and the log says which. */
  WRONG_SETTINGS = 2,
};

static wchar_t home[PATH_CHARS], data[PATH_CHARS], state[PATH_CHARS];
static SERVICE_STATUS_HANDLE manager;
static HANDLE stopping, job;

/* ---- the log ---- */

static HANDLE log_file = INVALID_HANDLE_VALUE;
static DWORD log_bytes;
static BOOL at_line_end = TRUE;
static CRITICAL_SECTION log_lock;

static void log_path(wchar_t *path, int age) {
  if (age == 0) swprintf(path, PATH_CHARS, L"%ls\\logs\\beacon.log", data);
  else swprintf(path, PATH_CHARS, L"%ls\\logs\\beacon.%d.log", data, age);
}

static void open_log(DWORD disposition) {
  wchar_t path[PATH_CHARS];
  log_path(path, 0);
  log_file = CreateFileW(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                         disposition, FILE_ATTRIBUTE_NORMAL, NULL);
  log_bytes = log_file == INVALID_HANDLE_VALUE ? 0 : GetFileSize(log_file, NULL);
}

static void rotate_log(void) {
  wchar_t from[PATH_CHARS], to[PATH_CHARS];
  CloseHandle(log_file);
  for (int age = OLD_LOGS; age > 0; age--) {
    log_path(from, age - 1);
    log_path(to, age);
    MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
  }
  /* also empties a file that another program kept from being renamed */
  open_log(CREATE_ALWAYS);
}

/* What cannot be written is lost: the beacon must not wait for a full disk. */
static void write_log(const char *bytes, DWORD count) {
  DWORD written;
  if (count == 0) return;
  EnterCriticalSection(&log_lock);
  if (log_file == INVALID_HANDLE_VALUE) open_log(OPEN_ALWAYS);
  if (log_bytes >= MAX_LOG_BYTES && at_line_end) rotate_log();
  if (WriteFile(log_file, bytes, count, &written, NULL)) log_bytes += written;
  at_line_end = bytes[count - 1] == '\n';
  LeaveCriticalSection(&log_lock);
}

static void say(const char *format, ...) {
  char text[COMMAND_CHARS];
  va_list values;
  va_start(values, format);
  int count = vsnprintf(text, sizeof text - 1, format, values);
  va_end(values);
  if (count < 0) return;
  if (count > (int)sizeof text - 2) count = sizeof text - 2;
  text[count] = '\n';
  write_log(text, count + 1);
}

/* ---- the settings ---- */

static void set_variable(const char *name, const char *value) {
  wchar_t wide_name[256], wide_value[COMMAND_CHARS];
  if (!MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 256) ||
      !MultiByteToWideChar(CP_UTF8, 0, value, -1, wide_value, COMMAND_CHARS)) {
    say("beacon.env: the value of %s is too long or not UTF-8", name);
    return;
  }
  SetEnvironmentVariableW(wide_name, wide_value);
}

static char *trimmed(char *text) {
  text += strspn(text, " \t\r");
  for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--) text[n - 1] = 0;
  return text;
}

/* As systemd reads it: NAME=value, perhaps in quotes; comments begin with # or ;. */
static void read_line(char *line, int number) {
  line = trimmed(line);
  if (*line == 0 || *line == '#' || *line == ';') return;
  char *value = strchr(line, '=');
  if (value == NULL || value == line) {
    say("beacon.env, line %d: write NAME=value", number);
    return;
  }
  *value = 0;
  value = trimmed(value + 1);
  size_t length = strlen(value);
  if (length >= 2 && (*value == '"' || *value == '\'') && value[length - 1] == *value) {
    value[length - 1] = 0;
    value++;
  }
  set_variable(trimmed(line), value);
}

static void read_settings(void) {
  static char text[MAX_SETTINGS_BYTES + 1];
  wchar_t path[PATH_CHARS];
  DWORD count = 0;
  swprintf(path, PATH_CHARS, L"%ls\\beacon.env", data);
  HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                            OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (file == INVALID_HANDLE_VALUE ||
      !ReadFile(file, text, MAX_SETTINGS_BYTES, &count, NULL)) {
    say("%ls cannot be read: error %lu", path, GetLastError());
  }
  if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
  if (count == MAX_SETTINGS_BYTES) say("%ls has %d bytes or more: write less", path, count);
  if (count >= 2 && ((BYTE)text[0] == 0xff || (BYTE)text[0] == 0xfe)) {
    say("%ls is UTF-16: save it as UTF-8", path);
    count = 0;
  }
  text[count] = 0;
  /* Windows editors begin a UTF-8 file with these */
  char *rest = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
  for (int number = 1; rest != NULL; number++) {
    char *line = rest;
    rest = strchr(line, '\n');
    if (rest != NULL) *rest++ = 0;
    read_line(line, number);
  }
}

static void set_environment(void) {
  read_settings();
  /* without its just-in-time compiler Bun needs half the memory */
  SetEnvironmentVariableW(L"BUN_JSC_useJIT", L"0");
  /* with these another program could take control of the executable */
  SetEnvironmentVariableW(L"BUN_OPTIONS", NULL);
  SetEnvironmentVariableW(L"BUN_BE_BUN", NULL);
  SetEnvironmentVariableW(L"FOGHORN_STOP_ON_STDIN_CLOSE", L"1");
  SetEnvironmentVariableW(L"FOGHORN_STATE_DIR", state);
}

/* ---- the beacon ---- */

static DWORD WINAPI pump(void *output) {
  char bytes[4096];
  DWORD count;
  while (ReadFile(output, bytes, sizeof bytes, &count, NULL)) write_log(bytes, count);
  return 0;
}

/* Two ends of a pipe, of which the beacon inherits one. */
static BOOL make_pipe(HANDLE *read, HANDLE *write, HANDLE *inherited) {
  return CreatePipe(read, write, NULL, 0) &&
         SetHandleInformation(*inherited, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
}

/* Runs the beacon to its end, and returns its exit code. */
static DWORD run_beacon(void) {
  wchar_t program[PATH_CHARS], command[COMMAND_CHARS];
  HANDLE input, keep_open, output, written;
  PROCESS_INFORMATION beacon;
  STARTUPINFOW start = {.cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES};
  DWORD code = 1;
  swprintf(program, PATH_CHARS, L"%ls\\foghorn-beacon.exe", home);
  swprintf(command, COMMAND_CHARS, L"\"%ls\" %ls", program, PathGetArgsW(GetCommandLineW()));
  if (!make_pipe(&input, &keep_open, &input) || !make_pipe(&output, &written, &written)) {
    say("no pipe to the beacon: error %lu", GetLastError());
    return code;
  }
  start.hStdInput = input;
  start.hStdOutput = start.hStdError = written;
  BOOL started = CreateProcessW(program, command, NULL, NULL, TRUE,
                                CREATE_SUSPENDED | CREATE_NO_WINDOW, NULL, home, &start, &beacon);
  if (!started) say("%ls cannot be started: error %lu", program, GetLastError());
  CloseHandle(input);
  CloseHandle(written);
  if (started) {
    AssignProcessToJobObject(job, beacon.hProcess);
    HANDLE pumping = CreateThread(NULL, 0, pump, output, 0, NULL);
    ResumeThread(beacon.hThread);
    HANDLE either[] = {beacon.hProcess, stopping};
    WaitForMultipleObjects(2, either, FALSE, INFINITE);
    CloseHandle(keep_open);
    if (WaitForSingleObject(beacon.hProcess, STOP_MS) == WAIT_TIMEOUT) {
      say("the beacon did not stop within %d ms, and was ended", STOP_MS);
    }
    /* with all that it started: they may hold its output open */
    TerminateJobObject(job, 1);
    WaitForSingleObject(beacon.hProcess, INFINITE);
    GetExitCodeProcess(beacon.hProcess, &code);
    if (pumping != NULL) {
      WaitForSingleObject(pumping, INFINITE);
      CloseHandle(pumping);
    }
    CloseHandle(beacon.hThread);
    CloseHandle(beacon.hProcess);
  } else {
    CloseHandle(keep_open);
  }
  CloseHandle(output);
  return code;
}

/* ---- the service ---- */

static void report(DWORD current, DWORD code) {
  SERVICE_STATUS status = {
      .dwServiceType = SERVICE_WIN32_OWN_PROCESS,
      .dwCurrentState = current,
      .dwWin32ExitCode = code == 0 ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR,
      .dwServiceSpecificExitCode = code,
      .dwWaitHint = current == SERVICE_RUNNING ? 0 : STOP_MS + RESTART_MS,
      .dwControlsAccepted =
          current == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_PRESHUTDOWN : 0,
  };
  SetServiceStatus(manager, &status);
}

/* The beacon reads the word when it stops, and says it to the relay. */
static void say_shutdown(void) {
  wchar_t path[PATH_CHARS];
  DWORD written;
  swprintf(path, PATH_CHARS, L"%ls\\stopping", state);
  HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
  if (file == INVALID_HANDLE_VALUE) return;
  WriteFile(file, "shutdown\n", 9, &written, NULL);
  CloseHandle(file);
}

static DWORD WINAPI control(DWORD what, DWORD kind, void *event, void *context) {
  (void)kind, (void)event, (void)context;
  if (what == SERVICE_CONTROL_INTERROGATE) return NO_ERROR;
  if (what != SERVICE_CONTROL_STOP && what != SERVICE_CONTROL_PRESHUTDOWN) {
    return ERROR_CALL_NOT_IMPLEMENTED;
  }
  if (what == SERVICE_CONTROL_PRESHUTDOWN) say_shutdown();
  report(SERVICE_STOP_PENDING, 0);
  SetEvent(stopping);
  return NO_ERROR;
}

static void WINAPI serve(DWORD count, wchar_t **words) {
  (void)count;
  DWORD code;
  wchar_t program_data[MAX_PATH] = L"C:\\ProgramData";
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
      .BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
  InitializeCriticalSection(&log_lock);
  stopping = CreateEventW(NULL, TRUE, FALSE, NULL);
  manager = RegisterServiceCtrlHandlerExW(words[0], control, NULL);
  if (manager == NULL || stopping == NULL) return;
  report(SERVICE_RUNNING, 0);
  GetModuleFileNameW(NULL, home, PATH_CHARS);
  PathRemoveFileSpecW(home);
  SHGetFolderPathW(NULL, CSIDL_COMMON_APPDATA, NULL, SHGFP_TYPE_CURRENT, program_data);
  swprintf(data, PATH_CHARS, L"%ls\\Foghorn", program_data);
  swprintf(state, PATH_CHARS, L"%ls\\state", data);
  set_environment();
  /* Nothing that the beacon starts outlives this process. */
  job = CreateJobObjectW(NULL, NULL);
  SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
  do {
    code = run_beacon();
    if (WaitForSingleObject(stopping, 0) == WAIT_OBJECT_0) break;
    say("the beacon ended with code %lu", code);
  } while (code != WRONG_SETTINGS && WaitForSingleObject(stopping, RESTART_MS) == WAIT_TIMEOUT);
  report(SERVICE_STOPPED, code == WRONG_SETTINGS ? code : 0);
}

int wmain(void) {
  static wchar_t name[] = L"foghorn-beacon";
  SERVICE_TABLE_ENTRYW table[] = {{name, serve}, {NULL, NULL}};
  if (StartServiceCtrlDispatcherW(table)) return 0;
  fputs("This is a Windows service. Install it with install.ps1.\n", stderr);
  return 1;
}
