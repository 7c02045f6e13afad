# Runs in an interpreter that is started ahead of its programs, and forks one process for each.
#
# The interpreter itself runs the program, without a frame of this file below it: the function that
# forks and runs the program, which `os.fork` offers here, is handed to main() as sys.excepthook. By
# then all is ready for the usual program. This file does what python does before and after a
# program. Where a cold start would do anything else, the program starts cold.
#
# The code is a string for exec(), so that the interpreter has released it before it forks: an
# interpreter releases its main script at its end, which is in the process of each program.
exec(r"""
def warm():
    import sys
    started = {name.partition(".")[0] for name in sys.modules}
    import atexit, builtins, functools, gc, importlib, io, os
    from _weakref import ref
    from importlib.machinery import SourceFileLoader

    def preload(names):
        # Threads would not survive a fork.
        threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        for name in threads:
            os.environ[name] = "1"
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                pass  # the program that imports it will see why
        for name in threads:
            del os.environ[name]

    def stream(fd, old):
        mode = "r" if fd == 0 else "w"
        buffer = open(fd, mode + "b", -1, closefd=False)
        raw = buffer.raw
        raw.name = old.name
        text = io.TextIOWrapper(
            buffer, old.encoding, old.errors, "\n", line_buffering=fd == 2 or raw.isatty())
        text.mode = mode
        return text

    def take_streams():
        sys.stdin = sys.__stdin__ = stream(0, sys.stdin)
        sys.stdout = sys.__stdout__ = stream(1, sys.stdout)
        sys.stderr = sys.__stderr__ = stream(2, sys.stderr)

    def take_environment(env):
        # Where there is no locale, an interpreter chooses one and says so to its children.
        locale = os.environ.get("LC_CTYPE")
        os.environ._data.clear()
        os.environ._data.update(variable.split(b"=", 1) for variable in env)
        if locale is not None and "LC_CTYPE" not in os.environ:
            os.environ["LC_CTYPE"] = locale

    def make_main(path):
        # A new one: what is in the old one is out of the collector's sight.
        main = sys.modules["__main__"] = type(sys)("__main__")
        main.__dict__.update(
            __loader__=SourceFileLoader("__main__", path), __annotations__={},
            __builtins__=builtins, __file__=path, __cached__=None)

    def be_ready_for(argv):
        for path in (sys.path[0], sys.argv[0]):
            sys.path_importer_cache.pop(path, None)
        sys.path_importer_cache[argv[1]] = None
        sys.argv[:] = argv[1:]
        sys.orig_argv[:] = argv
        sys.path[0] = os.path.dirname(argv[1])
        make_main(argv[1])

    def adapt(text):
        # To a run that is another than the usual one.
        text = text.split(b"\0")
        end = int(text[0]) + 1
        be_ready_for([os.fsdecode(word) for word in text[1:end]])
        take_environment(text[end:-1])
        take_streams()

    def renew():
        # What is every process's own.
        if "threading" in sys.modules:
            sys.modules["threading"].main_thread()._set_native_id()
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()

    def rehearse():
        # What a fork shares is copied when it is first touched: better now than when someone waits.
        exec(compile("import sys\nprint(end='')\n", program, "exec"), {"__name__": "__main__"})
        flush()
        gc.collect()

    def kind_of_ignored():
        # The only way to it: what a hook is called with.
        class Failing:
            def __del__(self):
                raise Exception

        kinds = []
        sys.unraisablehook = lambda ignored: kinds.append(type(ignored))
        Failing()
        sys.unraisablehook = sys.__unraisablehook__
        return kinds[0]

    def ignore(error, where, words=None):
        trace = error.__traceback__.tb_next
        sys.unraisablehook(ignored((type(error), error, trace, words, where)))

    def print_reason(reason):
        try:
            if sys.stderr is None:
                os.write(2, str(reason).encode())
            else:
                sys.stderr.write(str(reason))
        except BaseException:
            pass
        try:
            sys.stderr.write("\n")
        except BaseException:
            os.write(2, b"\n")

    def exit_code(error):
        code = getattr(error, "code", error)
        if code is None:
            return 0
        if isinstance(code, int):
            code = int.__add__(code, 0)
            return code if -(2**63) <= code < 2**63 else -1
        print_reason(code)
        return 1

    def end_threads():
        try:
            modules["threading"]._shutdown()
        except BaseException as error:
            ignore(error, modules["threading"])

    def flush():
        failed = 0
        for name in ("stdout", "stderr"):
            file = names_of_sys.get(name)
            if file is None:
                continue
            try:
                if file.closed:
                    continue
            except BaseException:
                pass
            try:
                file.flush()
            except BaseException as error:
                failed = 120
                if name == "stdout" and sys.version_info >= (3, 13):
                    ignore(error, None, "Exception ignored on flushing sys.stdout")
                elif name == "stdout":
                    ignore(error, file)
        return failed

    def clear(names):
        for hidden in (True, False):
            for name in list(names):
                is_hidden = name[:1] == "_" and name[1:2] != "_"
                if is_hidden == hidden and name != "__builtins__":
                    names[name] = None

    def take_out(known):
        # What the program has put into modules that were there before it goes with its own.
        garbage = []
        garbage.append(garbage)
        for module, names in known:
            inside = module.__dict__
            if len(inside) != len(names):
                more = [name for name in inside if name not in names]
                garbage.append({name: inside.pop(name) for name in more})

    def remove_modules():
        # By now, no traceback shows a line of a program.
        modules["io"] = None
        names = []
        for name in reversed(modules):
            if name == last:
                break
            names.append(name)
        names.append("__main__")
        left = []
        for name in reversed(names):
            loader = getattr(modules.get(name), "__loader__", None)
            if isinstance(loader, SourceFileLoader):
                left.append(ref(loader))
            modules[name] = None
        return left

    def drop_modules():
        if len(names_of_sys) != len(known[0][1]) or len(builtins.__dict__) != len(known[1][1]):
            take_out(known[:2])
        left = remove_modules()
        gc.collect()
        for loader in left:
            if loader() is not None:
                break
        else:
            return
        # Something that stays holds them: time to look at all of it.
        take_out(known)
        gc.collect()
        for loader in reversed(left):
            if loader() is not None:
                for names in gc.get_referrers(loader()):
                    if isinstance(names, dict) and names.get("__loader__") is loader():
                        clear(names)

    def finish():
        # Objects of the program see its end, as when an interpreter takes itself apart. Few functions
        # and few names, because each page that is touched is copied.
        failed = flush()
        gc.collect()
        names_of_sys.update(gone)
        for name in ("stdin", "stdout", "stderr"):
            names_of_sys[name] = names_of_sys.get(f"__{name}__")
        drop_modules()
        for file in (sys.stdout, sys.stderr):
            try:
                file.flush()
            except BaseException:
                pass
        return failed

    ignored = kind_of_ignored()
    sys_names = (
        "path", "argv", "ps1", "ps2", "last_type", "last_value", "last_traceback", "path_hooks",
        "path_importer_cache", "meta_path", "__interactivehook__",
        *(["last_exc"] if sys.version_info >= (3, 12) else []))
    program = sys.argv[1]
    preload(sys.argv[2:])
    loaded = {name.partition(".")[0] for name in sys.modules} - started
    # Those of the interpreter, whatever a program calls so.
    modules, names_of_sys = sys.modules, sys.__dict__
    gone = dict.fromkeys(sys_names)
    known = [(sys, frozenset(names_of_sys) | frozenset(sys_names))]
    known += [
        (module, frozenset(module.__dict__)) for module in (builtins, *sys.modules.values())
        if isinstance(module, type(sys)) and module is not sys]
    last = list(sys.modules)[-1]

    executable = sys.orig_argv[0]
    must_renew = "threading" in sys.modules or "numpy.random" in sys.modules
    arguments = (
        rehearse, renew if must_renew else None, " ".join(["", *loaded, ""]), executable, program,
        adapt, exit_code, end_threads, atexit._run_exitfuncs, finish)

    def be_zygote():
        gc.collect()
        gc.freeze()
        be_ready_for([executable, program])
        os.fork()
        sys.excepthook = functools.partial(sys.__dict__.pop("_polybox_run"), *arguments)

    return be_zygote
""")
be_zygote = warm()
be_zygote()
raise Exception
