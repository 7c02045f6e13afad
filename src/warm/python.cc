#include "warm/python.h"

#include <csignal>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

#include <sys/stat.h>

#include "jail/init/protocol.h"
#include "warm/library.h"
#include "warm/shadows.h"

// The part of Python's C interface that the adapter calls. CPython has these functions since 3.7,
// Py_EnterRecursiveCall and Py_LeaveRecursiveCall since 3.9. PyRun_FileExFlags and PyOS_BeforeFork
// are not in Python's stable ABI: tests/e2e/warm shows whether a new version still fits. Weak
// symbols: an interpreter without one of them has a null pointer there, see OfferToPython.
extern "C" {
struct PyObject;
struct PyMethodDef {
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* doc;
};
#define POLYBOX_PYTHON [[gnu::weak]] extern
POLYBOX_PYTHON PyObject* PyCFunction_NewEx(PyMethodDef*, PyObject*, PyObject*);
POLYBOX_PYTHON int PySys_SetObject(const char*, PyObject*);
POLYBOX_PYTHON PyObject* PySys_GetObject(const char*);
POLYBOX_PYTHON PyObject* PyBytes_FromStringAndSize(const char*, long);
POLYBOX_PYTHON PyObject* PyImport_AddModule(const char*);
POLYBOX_PYTHON PyObject* PyModule_GetDict(PyObject*);
POLYBOX_PYTHON PyObject* PyImport_GetModuleDict();
POLYBOX_PYTHON PyObject* PyDict_GetItemString(PyObject*, const char*);
POLYBOX_PYTHON int PyDict_DelItemString(PyObject*, const char*);
POLYBOX_PYTHON void Py_IncRef(PyObject*);
POLYBOX_PYTHON void Py_DecRef(PyObject*);
POLYBOX_PYTHON PyObject* PyTuple_GetItem(PyObject*, long);
POLYBOX_PYTHON PyObject* PyObject_CallObject(PyObject*, PyObject*);
POLYBOX_PYTHON PyObject* PyRun_FileExFlags(FILE*, const char*, int, PyObject*, PyObject*, int,
                                           void*);
POLYBOX_PYTHON const char* PyUnicode_AsUTF8AndSize(PyObject*, long*);
POLYBOX_PYTHON int PyErr_ExceptionMatches(PyObject*);
POLYBOX_PYTHON void PyErr_PrintEx(int);
POLYBOX_PYTHON void PyErr_Fetch(PyObject**, PyObject**, PyObject**);
POLYBOX_PYTHON void PyErr_Restore(PyObject*, PyObject*, PyObject*);
POLYBOX_PYTHON PyObject* PyObject_GetAttrString(PyObject*, const char*);
POLYBOX_PYTHON void PyErr_NormalizeException(PyObject**, PyObject**, PyObject**);
POLYBOX_PYTHON void PyErr_Clear();
POLYBOX_PYTHON long PyLong_AsLong(PyObject*);
POLYBOX_PYTHON PyObject* PyTuple_New(long);
POLYBOX_PYTHON int PyTuple_SetItem(PyObject*, long, PyObject*);
POLYBOX_PYTHON int Py_GetRecursionLimit();
POLYBOX_PYTHON void PyOS_BeforeFork();
POLYBOX_PYTHON void PyOS_AfterFork_Child();
POLYBOX_PYTHON int Py_EnterRecursiveCall(const char*);
POLYBOX_PYTHON void Py_LeaveRecursiveCall();
POLYBOX_PYTHON PyObject _Py_NoneStruct;
POLYBOX_PYTHON PyObject* PyExc_SystemExit;
POLYBOX_PYTHON PyObject* PyExc_KeyboardInterrupt;
#undef POLYBOX_PYTHON
}

namespace polybox::warm {
namespace {

// Python's Py_file_input and METH_VARARGS.
constexpr int kWholeFile = 257;
constexpr int kVariableArguments = 1;
constexpr int kFailure = 1;

/// How the program ended, as Python's own main() would see it.
struct End {
  int code = 0;
  bool interrupted = false;
  bool asked_for = false;
};

/// Calls `step` and returns its result as a number.
int Call(PyObject* step, PyObject* arguments) {
  PyObject* result = PyObject_CallObject(step, arguments);
  if (result == nullptr) {
    PyErr_PrintEx(0);
    return kFailure;
  }
  const long code = PyLong_AsLong(result);
  PyErr_Clear();  // the result need not be a number
  return static_cast<int>(code);
}

/// Handles the program's last exception, which was raised and not caught.
End Fail(PyObject* exit_code) {
  End end = {.code = kFailure, .interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0};
  if (PyErr_ExceptionMatches(PyExc_SystemExit) == 0) {
    PyErr_PrintEx(1);
    return end;
  }
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* arguments = PyTuple_New(1);
  PyTuple_SetItem(arguments, 0, value);
  end.asked_for = true;
  end.code = Call(exit_code, arguments);
  // Objects that only the program's frames hold must be finalised before the process ends.
  for (PyObject* left : {arguments, type, trace}) {
    if (left != nullptr) Py_DecRef(left);
  }
  return end;
}

/// Removes the calls that led here from the recursion depth, so that the program can recurse as
/// deep as in a cold start.
void ForgetDepth() {
  // These functions exist since Python 3.9. Their predecessors cannot be called from here.
  if (Py_EnterRecursiveCall == nullptr || Py_LeaveRecursiveCall == nullptr) return;
  const int limit = Py_GetRecursionLimit();
  int left = 0;
  while (left < limit && Py_EnterRecursiveCall("") == 0) ++left;
  PyErr_Clear();
  // Where C calls have a limit of their own (since 3.12), exactly the calls above are left again.
  for (int i = 0; i < limit; ++i) Py_LeaveRecursiveCall();
}

void ForgetFile() {
  PyObject* main = PyDict_GetItemString(PyImport_GetModuleDict(), "__main__");
  PyObject* names = main == nullptr ? nullptr : PyModule_GetDict(main);
  for (const char* name : {"__file__", "__cached__"}) {
    if (names != nullptr) PyDict_DelItemString(names, name);
    PyErr_Clear();  // the name need not be there
  }
}

/// Flushes the streams, as the interpreter does after a program, however that ended.
void FlushStreams() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  for (const char* name : {"stderr", "stdout"}) {
    PyObject* stream = PySys_GetObject(name);
    if (stream == nullptr) continue;
    Py_IncRef(stream);
    PyObject* flush = PyObject_GetAttrString(stream, "flush");
    PyObject* flushed = flush == nullptr ? nullptr : PyObject_CallObject(flush, nullptr);
    PyErr_Clear();
    for (PyObject* left : {flushed, flush, stream}) {
      if (left != nullptr) Py_DecRef(left);
    }
  }
  PyErr_Restore(type, value, trace);
}

/// Removes what main() leaves behind when it calls a hook.
void ForgetFailure() {
  PySys_SetObject("excepthook", PySys_GetObject("__excepthook__"));
  for (const char* name : {"last_type", "last_value", "last_traceback", "last_exc"}) {
    PySys_SetObject(name, nullptr);
  }
}

std::string_view Text(PyObject* object) {
  const char* text = PyUnicode_AsUTF8AndSize(object, nullptr);
  return text == nullptr ? "" : text;
}

/// Returns whether the streams are pipes, as those that the interpreter was started with. What the
/// interpreter derived from those then holds.
bool HasPipes() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    struct stat info{};
    if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return false;
  }
  return true;
}

bool Renew(PyObject* renew) {
  return renew == &_Py_NoneStruct || PyObject_CallObject(renew, nullptr) != nullptr;
}

/// Adapts an interpreter that is ready for the usual program to the program of `run`.
bool Adapt(PyObject* adapt, const init::Run& run) {
  const std::string text = TextOf(run);
  PyObject* arguments = PyTuple_New(1);
  PyTuple_SetItem(arguments, 0, PyBytes_FromStringAndSize(text.data(), text.size()));
  const bool adapted = PyObject_CallObject(adapt, arguments) != nullptr;
  Py_DecRef(arguments);
  return adapted;
}

/// Waits 20 ms for the next run, and returns whether none came. On a busy server the next run comes
/// at once, and work that is done ahead of it saves nothing.
bool HasTime() {
  constexpr int kMilliseconds = 20;
  pollfd polled = {init::kWarmSocket, POLLIN, 0};
  return ::poll(&polled, 1, kMilliseconds) == 0;
}

/// run(rehearse, renew, loaded, executable, program, adapt, exit_code, threads, functions, finish,
/// ...): Python's main() calls it as sys.excepthook, so that no frame lies below the program's. The
/// arguments are callables for what Python does before and after a program, and a description of
/// the usual program; see languages/python.toml.
PyObject* RunProgram(PyObject*, PyObject* given) {
  enum Index {
    kRehearse,
    kRenew,
    kLoaded,
    kExecutable,
    kProgram,
    kAdapt,
    kExitCode,
    kThreads,
    kFunctions,
    kFinish
  };
  const auto argument = [&](Index index) { return PyTuple_GetItem(given, index); };
  ForgetFailure();
  PyOS_BeforeFork();
  BecomeGuest();
  PyOS_AfterFork_Child();
  if (HasTime()) Call(argument(kRehearse), nullptr);
  const init::Run& run = TakeRun();
  // A problem up to here is not the program's doing, so the program is started cold.
  const bool is_script = run.argv.size() > 1 && run.argv[1].ends_with(".py");
  if (!is_script || IsShadowed(run.argv[1], Text(argument(kLoaded)))) StartCold();
  const char* path = run.argv[1].c_str();
  FILE* file = std::fopen(path, "rbe");
  if (file == nullptr || !Renew(argument(kRenew))) StartCold();
  const bool is_usual = run.argv.size() == 2 && run.argv[0] == Text(argument(kExecutable)) &&
                        run.argv[1] == Text(argument(kProgram)) && HasFirstEnvironment() &&
                        HasPipes();
  if (!is_usual && !Adapt(argument(kAdapt), run)) StartCold();
  ForgetDepth();
  End end;
  PyObject* globals = PyModule_GetDict(PyImport_AddModule("__main__"));
  Py_IncRef(globals);
  PyObject* ran = PyRun_FileExFlags(file, path, kWholeFile, globals, globals, 1, nullptr);
  FlushStreams();
  if (ran == nullptr) end = Fail(argument(kExitCode));
  // This function's reference to the globals. Objects that only they hold must be finalised before
  // the process ends.
  Py_DecRef(globals);
  // Unless the program has exited by itself, it is no longer a file by now.
  if (!end.asked_for) ForgetFile();
  if (PyDict_GetItemString(PyImport_GetModuleDict(), "threading") != nullptr) {
    Call(argument(kThreads), nullptr);
  }
  Call(argument(kFunctions), nullptr);
  const int flushed = Call(argument(kFinish), nullptr);
  if (end.interrupted) {
    ::signal(SIGINT, SIG_DFL);
    ::kill(::getpid(), SIGINT);
  }
  // As exit() would do. Whatever else exit() does is of no use to a process that ends.
  std::fflush(nullptr);
  const int code = flushed > 0 ? flushed : end.code;
  LastWordOfProgram().Say(code);
  ::_exit(code);
}

}  // namespace

pid_t OfferToPython() {
  constexpr pid_t kNobody = 1;
  if (PyCFunction_NewEx == nullptr || PyRun_FileExFlags == nullptr ||
      PyUnicode_AsUTF8AndSize == nullptr || PyOS_AfterFork_Child == nullptr) {
    return 0;
  }
  static PyMethodDef method = {"run", RunProgram, kVariableArguments, nullptr};
  PySys_SetObject("_polybox_run", PyCFunction_NewEx(&method, nullptr, nullptr));
  return kNobody;
}

}  // namespace polybox::warm
