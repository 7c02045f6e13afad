#include <csignal>
#include <cstdio>
#include <poll.h>
#include <unistd.h>

#include <sys/stat.h>

#include "jail/init/protocol.h"
#include "jail/warm/warm.h"

// Of Python's C interface as much as is needed, all of it stable since 3.2. Weak: in any other
// interpreter there is none of it.
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

namespace polybox::jail::warm {
namespace {

// What Python calls Py_file_input and METH_VARARGS.
constexpr int kWholeFile = 257;
constexpr int kVariableArguments = 1;
constexpr int kFailure = 1;

/// How the program ended, as python's own main() sees it.
struct End {
  int code = 0;
  bool interrupted = false;
  bool asked_for = false;
};

/// What `step` returns, as a number.
int Call(PyObject* step, PyObject* arguments) {
  PyObject* result = PyObject_CallObject(step, arguments);
  if (result == nullptr) {
    PyErr_PrintEx(0);
    return kFailure;
  }
  const long code = PyLong_AsLong(result);
  PyErr_Clear();  // it need not be one
  return static_cast<int>(code);
}

/// The program's last exception, which has been raised and not caught.
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
  // What the program's frames hold must find its end before we do.
  for (PyObject* left : {arguments, type, trace}) {
    if (left != nullptr) Py_DecRef(left);
  }
  return end;
}

/// The calls that have led to us do not count in the program's depth: it may go as deep as ever.
void ForgetDepth() {
  // Functions since 3.9; what there was before cannot be called from here.
  if (Py_EnterRecursiveCall == nullptr || Py_LeaveRecursiveCall == nullptr) return;
  const int limit = Py_GetRecursionLimit();
  int left = 0;
  while (left < limit && Py_EnterRecursiveCall("") == 0) ++left;
  PyErr_Clear();
  // Whose limit is another (of C alone, since 3.12) gets all of it back and no more.
  for (int i = 0; i < limit; ++i) Py_LeaveRecursiveCall();
}

void ForgetFile() {
  PyObject* main = PyDict_GetItemString(PyImport_GetModuleDict(), "__main__");
  PyObject* names = main == nullptr ? nullptr : PyModule_GetDict(main);
  for (const char* name : {"__file__", "__cached__"}) {
    if (names != nullptr) PyDict_DelItemString(names, name);
    PyErr_Clear();  // it need not be there
  }
}

/// As the interpreter does when a program has run, whatever has become of it.
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

/// What main() leaves behind when it calls a hook.
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

/// Whether the streams are such as the interpreter was started with: what it made of those will do.
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

/// Makes of an interpreter that is ready for the usual program one for that of the run.
bool Adapt(PyObject* adapt, const init::Run& run) {
  const std::string text = TextOf(run);
  PyObject* arguments = PyTuple_New(1);
  PyTuple_SetItem(arguments, 0, PyBytes_FromStringAndSize(text.data(), text.size()));
  const bool adapted = PyObject_CallObject(adapt, arguments) != nullptr;
  Py_DecRef(arguments);
  return adapted;
}

/// Whether no run comes for a while. Where one follows the other, nobody gains by work that is done
/// ahead of it.
bool HasTime() {
  constexpr int kMilliseconds = 20;
  pollfd polled = {init::kWarmSocket, POLLIN, 0};
  return ::poll(&polled, 1, kMilliseconds) == 0;
}

/// run(rehearse, renew, loaded, executable, program, adapt, exit_code, threads, functions, finish,
/// ...): called by Python's main() as sys.excepthook, so that there is no frame below the
/// program's. These are callables for what python does before and after a program, and what it is
/// ready for; see languages/python.toml.
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
  // Whatever is wrong, it is nothing that the program has done.
  const bool is_script = run.argv.size() > 1 && run.argv[1].ends_with(".py");
  if (!is_script || IsShadowed(run.argv[1], Text(argument(kLoaded)))) StartCold();
  const char* path = run.argv[1].c_str();
  FILE* file = std::fopen(path, "rbe");
  if (file == nullptr || !Renew(argument(kRenew))) StartCold();
  const bool is_usual = run.argv.size() == 2 && run.argv[0] == Text(argument(kExecutable)) &&
                        run.argv[1] == Text(argument(kProgram)) && has_first_environment &&
                        HasPipes();
  if (!is_usual && !Adapt(argument(kAdapt), run)) StartCold();
  ForgetDepth();
  End end;
  PyObject* globals = PyModule_GetDict(PyImport_AddModule("__main__"));
  Py_IncRef(globals);
  PyObject* ran = PyRun_FileExFlags(file, path, kWholeFile, globals, globals, 1, nullptr);
  FlushStreams();
  if (ran == nullptr) end = Fail(argument(kExitCode));
  // Not ours any longer: what is in it must find its end before we do.
  Py_DecRef(globals);
  // Unless it has asked for its end, the program is not a file any longer by now.
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
  // As exit() would; what else that does is of no use to a process that ends.
  std::fflush(nullptr);
  const int code = flushed > 0 ? flushed : end.code;
  last_word.Say(code);
  ::_exit(code);
}

}  // namespace

pid_t OfferToPython() {
  constexpr pid_t kNobody = 1;
  if (PyCFunction_NewEx == nullptr || PyRun_FileExFlags == nullptr) return 0;
  static PyMethodDef method = {"run", RunProgram, kVariableArguments, nullptr};
  PySys_SetObject("_polybox_run", PyCFunction_NewEx(&method, nullptr, nullptr));
  return kNobody;
}

}  // namespace polybox::jail::warm
