"""The marker of an attack: a random word that the program prints inside the jail right before its decisive step.

Each program gets a function `reached` in its own language. It holds the two halves of the word apart, so that no error
message that quotes the source can print it, and writes to descriptor 2 at once: a program that dies by SIGSYS in its next
call has said it. `reached` returns the number of bytes that it wrote, for programs that count their output.

C programs whose decisive step is done by the compiler use `reached_while_compiling` instead, a line of its own outside of
functions: the compiler prints the word.
"""
import re
import secrets

# Where a program gets its function: "first" is before its first line (or after a line that begins with #!), "tag" after
# the opening tag of PHP, "last" below its last line.
HELPERS = {
    "bash": ("first", "reached() { printf '%s%s\\n' {left} {right} >&2; }"),
    "python": ("first", "reached = lambda: __import__('os').write(2, b'{left}' b'{right}\\n')"),
    "node": ("first", "const reached = () => require('fs').writeSync(2, '{left}' + '{right}\\n');"),
    "ruby": ("first", "def reached = STDERR.syswrite('{left}' + \"{right}\\n\")"),
    "perl": ("first", "sub reached { syswrite(STDERR, '{left}' . \"{right}\\n\") }"),
    "lua": ("first", "function reached() io.stderr:write('{left}' .. '{right}\\n') end"),
    "php": ("tag", "function reached() { return fwrite(STDERR, '{left}' . \"{right}\\n\"); }"),
    "java": ("last", "final class Reached { static void reached() { System.err.print(\"{left}\" + \"{right}\\n\");"
                     " System.err.flush(); } }"),
    "go": ("last", "func reached() { print(\"{left}\" + \"{right}\\n\") }"),
    "rust": ("last", "fn reached() { use std::io::Write; let _ = std::io::stderr().write_all(concat!(\"{left}\","
                     " \"{right}\\n\").as_bytes()); }"),
    # No header and no macro of the C library: the program may define _GNU_SOURCE in its own first line.
    "c": ("first", r'''#define reached_while_compiling _Pragma("message(\"{left}\" \"{right}\")")
__attribute__((unused)) static long reached(void) {
  static const char word[] = "{left}" "{right}\n";
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(1L), "D"(2L), "S"(word), "d"(sizeof word - 1) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long result __asm__("x0") = 2;
  register const char* text __asm__("x1") = word;
  register long size __asm__("x2") = sizeof word - 1;
  register long number __asm__("x8") = 64;
  __asm__ volatile("svc 0" : "+r"(result) : "r"(text), "r"(size), "r"(number) : "memory");
#endif
  return result;
}'''),
}
CALL = re.compile(r"\breached(_while_compiling)?\b")
SECOND_PROGRAM = re.compile(r"\{reached\.([a-z]+)\}")


class Marks:
    """The words of one run: of the attack's own programs, and of those that its setup and teardown start with {run}."""

    def __init__(self):
        self.words = {"code": "reached-" + secrets.token_hex(8), "second": "reached-" + secrets.token_hex(8)}

    def expand(self, text):
        text = SECOND_PROGRAM.sub(lambda found: HELPERS[found[1]][1].replace("{left}", "{second.left}")
                                  .replace("{right}", "{second.right}"), text)
        for kind, word in self.words.items():
            half = len(word) // 2
            text = text.replace(f"{{{kind}.left}}", word[:half]).replace(f"{{{kind}.right}}", word[half:])
        return text

    def missing(self, attack, said):
        """Which of the attack's programs have not printed their word in `said`."""
        return [kind for kind in needed(attack) if self.words[kind] not in said]

    def without(self, text):
        """A stream's text without the words, as the program itself has meant it."""
        for word in self.words.values():
            text = text.replace(word + "\n", "")
        return text


def on_the_host(attack):
    """What an attack does on the host, before and after."""
    return attack.get("setup", "") + attack.get("teardown", "")


def has_silent_companion(attack):
    """Whether a program that its setup or teardown starts in a jail prints no word."""
    return "{run}" in on_the_host(attack) and not SECOND_PROGRAM.search(on_the_host(attack))


def needed(attack):
    """Which programs of an attack must print their word."""
    second = SECOND_PROGRAM.search(on_the_host(attack)) or CALL.search(attack.get("client", ""))
    return (["code"] if CALL.search(attack["code"]) else []) + (["second"] if second else [])


def with_helper(language, code):
    """The program with its function, whose word a Marks fills in."""
    where, helper = HELPERS[language]
    helper = helper.replace("{left}", "{code.left}").replace("{right}", "{code.right}")
    if where == "last":
        return f"{code}\n{helper}\n"
    if where == "tag":
        return code.replace("<?php", f"<?php {helper}", 1)
    if code.startswith("#!"):
        first, _, rest = code.partition("\n")
        return f"{first}\n{helper}\n{rest}"
    return f"{helper}\n{code}"
