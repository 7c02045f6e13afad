"""The console in a real browser: what a person does with it, by mouse and by keyboard, on a desk and on a phone. Writes the
screenshots of the documentation."""
import contextlib
import os
import pathlib
import re
import shutil
import tempfile
import time
import urllib.parse

import serving
from chromium import CTRL, SHIFT, Browser
from console_tab import FOCUS_IS_SEEN, SMALL_TARGETS, Console

TOKEN = "a-token-of-the-console"
# What the console may keep of an output, with the marks of its characters.
MOST_SHOWN = 300_000
MOST_ELEMENTS = 30_000

HOSTILE = r"""printf '<script>window.hit = 1</script><img src=x onerror="window.hit = 1">\n'
printf '\033[1;31mred\033[0m \033]8;;http://evil.example\033\\link\033]8;;\033\\ \033[2J\033[3'
sleep 0.1
printf '2mgreen\033[0m\n'
printf 'a\342\200\256b\342\201\246c\000d\n'
printf '</span></pre></textarea>&lt;b>\n'
"""
# As many colours, marks and characters as fit.
FLOOD = r"""for i in $(seq 1 6000); do printf '\033[3%dm%d\000\342\200\256' $((i % 8)) $i; done
yes 0123456789 | head -c 700000
echo THE-END
"""
FILES_PROGRAM = 'mkdir -p "$OUTPUT_DIR"; echo made > "$OUTPUT_DIR/made.txt"; cat given.txt; echo "$1-$NAME-$(cat)"'


def await_idle(server):
    """Whether no program runs any more."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.ask({"method": "GET", "path": "/health"}).json()["current_load"] == 0:
            return True
        time.sleep(0.05)
    return False


def await_text(file, text):
    """Whether the file gets this text."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if file.exists() and file.read_text() == text:
            return True
        time.sleep(0.05)
    return False


def run_and_fail(checks, browser, server):
    console = Console(checks, browser, server, "a run")
    page = console.page
    console.choose("bash")
    state = console.run("echo one; echo two >&2; exit 3", "Exited")
    console.check("an exit code is shown", state.startswith("Exited with 3"), state)
    console.check("both streams are shown", "one" in console.output() and "two" in console.output(), console.output())
    console.check("standard error is marked, and not by colour alone",
                  page.value("document.querySelector('#output .stderr').dataset.stream") == "stderr")
    console.check("usage and limits are shown", re.search(r"Memory\s+[\d.]+ \w+ of [\d.]+ MiB", page.text("#usage")),
                  page.text("#usage"))
    grade = server.health["isolation"]
    console.check("the grade is shown", grade in page.text("#grade"), page.text("#grade"))
    console.check("a good run says so", console.run("true", "Exited").startswith("Exited with 0"), page.text("#state"))
    console.check("a program without output says so", "printed nothing" in console.output(), console.output())
    console.set("timeout", "1")
    console.check("a timeout is told", "time was up" in console.run("echo before; sleep 60", "Stopped"), page.text("#state"))
    console.check("what was printed before stays", "before" in console.output(), console.output())
    console.set("timeout", "")
    console.set("memory", "9999999")
    state = console.run("true", "Not run")
    console.check("a refusal is told in the words of the server", "memory_bytes" in console.output(), console.output())
    console.set("memory", "")
    console.check("a signal is named", "SIGSEGV" in console.run("kill -SEGV $$", "Killed"), page.text("#state"))
    if "c" in server.health["languages"]:
        console.choose("c")
        console.run("int main(void) { return nonsense; }", "Exited")
        console.check("a compiler's error is shown", "nonsense" in console.output(), console.output())
        console.check("it is marked as the compiler's", page.value("document.querySelector('#output .compile') !== null"))
    console.check_honest("status of 400")


def files_and_input(checks, browser, server):
    console = Console(checks, browser, server, "files and input")
    page = console.page
    console.choose("bash")
    for field, text in (("stdin", "from stdin"), ("args", "first\nsecond"), ("env", "NAME=value=1")):
        console.set(field, text)
    page.value("""(() => { const files = new DataTransfer(); files.items.add(new File(['given\\n'], 'given.txt'));
                  const field = document.getElementById('files'); field.files = files.files;
                  field.dispatchEvent(new Event('input', {bubbles: true})); })()""")
    console.run(FILES_PROGRAM, "Exited")
    console.check("files, arguments, variables and input arrive",
                  "given\nfirst-value=1-from stdin" in console.output(), console.output())
    console.check("a file that was made is offered", "made.txt" in page.text("#files-made"), page.text("#files-made"))
    with tempfile.TemporaryDirectory(prefix="polybox-browser-") as folder:
        browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder, browserContextId=page.context)
        page.click("#files-made button")
        saved = pathlib.Path(folder) / "made.txt"
        console.check("it can be saved", await_text(saved, "made\n"), list(saved.parent.iterdir()))
    console.check("the form tells how much is set", page.text("#more-set") == "4 set", page.text("#more-set"))
    page.open(console.url)
    console.choose("bash")
    console.check("a reload keeps the program", page.value("document.getElementById('code').value") == FILES_PROGRAM)
    console.check_honest()


def stream_and_cancel(checks, browser, server):
    console = Console(checks, browser, server, "a stream", still=False)
    page = console.page
    console.choose("bash")
    console.write("for i in 1 2 3; do echo line-$i; sleep 0.3; done; sleep 600")
    page.press("Enter", CTRL)
    shown = page.await_true("document.getElementById('output').textContent.includes('line-3')")
    console.check("output is shown while the program runs", shown and page.text("#state").startswith("Running"),
                  console.output())
    console.check("a clock runs", page.await_true("document.getElementById('state').dataset.clock"))
    console.check("the server says that it runs", server.ask({"method": "GET", "path": "/health"}).json()["current_load"] == 1)
    page.press("Escape")
    console.check("Escape cancels", console.await_state("Cancelled").startswith("Cancelled"), page.text("#state"))
    console.check("the program is ended", await_idle(server))
    console.check("what it printed stays", "line-1" in console.output(), console.output())
    console.check("another program can run", console.run("echo next", "Exited").startswith("Exited with 0"))
    console.write("sleep 600")
    page.click("#start")
    console.await_state("Running")
    page.await_true("!document.getElementById('cancel').hidden")
    page.click("#cancel")
    console.check("the button cancels too", console.await_state("Cancelled").startswith("Cancelled"))
    console.check("that program is ended as well", await_idle(server))
    console.check_honest()


def hostile_output(checks, browser, server):
    console = Console(checks, browser, server, "hostile output")
    page = console.page
    console.choose("bash")
    console.run(HOSTILE, "Exited")
    text = console.output()
    console.check("markup is shown as it is", "<script>window.hit = 1</script><img" in text and "&lt;b>" in text, text)
    console.check("no element comes of it", page.value("document.querySelector('#output :is(script, img, a)') === null"))
    console.check("no script of it runs", page.value("window.hit === undefined"))
    console.check("escape sequences are gone, also those in two parts", "\x1b" not in text and "32m" not in text and "green" in text,
                  text)
    console.check("the colours are those of the page", page.value(
        "['.ansi-red.bold', '.ansi-green'].every(each => document.querySelector(`#output ${each}`))"))
    console.check("marks that turn text round are named", "⟨U+202E⟩" in text and "⟨U+2066⟩" in text and "\u202e" not in text, text)
    console.check("control characters are named", "c␀d" in text, text)
    console.check("the browser refuses to make markup of text", page.value(
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; } })()"))
    console.run(FLOOD, "Exited")
    shown = page.value("document.getElementById('output').textContent.length")
    elements = page.value("document.getElementById('output').querySelectorAll('*').length")
    console.check("a flood is bounded in the page", shown < MOST_SHOWN and elements < MOST_ELEMENTS, (shown, elements))
    console.check("the page says how much it leaves out", "characters are not shown" in console.output())
    console.check("the end is shown", "THE-END" in console.output())
    console.check_honest("TrustedHTML", "Trusted Type")


def token(checks, browser):
    with tokens_file() as file, serving.Server(["--token-file", str(file), "--mode", "shell"]) as server:
        console = Console(checks, browser, server, "a token")
        page = console.page
        console.check("the page asks for it", page.await_true("!document.getElementById('gate').hidden"))
        console.check("nothing else is offered", page.value("document.getElementById('view-run').hidden"))
        console.check("the field has the focus", page.value("document.activeElement.id") == "token")
        console.check_look()
        page.type("wrong")
        page.press("Enter")
        console.check("a wrong one is told", page.await_true(
            "document.getElementById('gate-error').textContent.includes('refused')"), page.text("#gate"))
        page.type(TOKEN)
        page.press("Enter")
        console.check("a right one opens the page", page.await_true("!document.getElementById('view-run').hidden"))
        console.check("the editor has the focus", page.await_true("document.activeElement.id === 'code'"))
        console.choose("bash")
        console.check("programs run with it", console.run("echo inside", "Exited").startswith("Exited with 0"))
        kept = page.value("[JSON.stringify(localStorage), document.cookie, location.href, document.documentElement.outerHTML]")
        console.check("it is kept in this tab alone", TOKEN not in "".join(kept), kept[:3])
        console.check("no request has it in its address", not [url for url in page.requested() if TOKEN in url])
        page.open(console.url)
        console.check("a reload does not ask again", page.await_true("document.querySelector('#language option')") and
                      page.value("document.getElementById('gate').hidden"))
        other = Console(checks, browser, server, "another tab")
        other.check("another tab has no token", other.page.await_true("!document.getElementById('gate').hidden"))
        page.click("#server summary")
        page.click("#forget-token")
        console.check("it can be forgotten", page.await_true("!document.getElementById('gate').hidden") and
                      page.value("JSON.stringify(sessionStorage)").find(TOKEN) < 0)
        console.check_honest("status of 401")


@contextlib.contextmanager
def tokens_file():
    with tempfile.TemporaryDirectory(prefix="polybox-browser-") as folder:
        file = pathlib.Path(folder) / "tokens"
        file.write_text(TOKEN + "\n")
        file.chmod(0o600)
        yield file


def narrow(checks, browser, server):
    for width in (320, 390):
        console = Console(checks, browser, server, f"{width} pixels", width=width, height=844, phone=True, dark=width == 390)
        page = console.page
        page.await_true("document.querySelector('#language option')")
        console.choose("python" if "python" in server.health["languages"] else "bash")
        page.click("#start")
        console.check("a program runs", console.await_state("Exited").startswith("Exited with 0"))
        page.click("#more summary")
        wide = page.value("document.documentElement.scrollWidth")
        console.check("nothing is wider than the screen", wide <= width, wide)
        console.check("a finger hits every control", not page.value(SMALL_TARGETS), page.value(SMALL_TARGETS))
        page.click("#server summary")
        box = page.value("(() => { const box = document.querySelector('.popover').getBoundingClientRect(); return [box.left, box.right]; })()")
        console.check("the facts of the server fit", box[0] >= 0 and box[1] <= width, box)
        page.click("#server summary")
        console.check_look()
        if width == 390:
            page.click("#more summary")
            page.value("window.scrollTo(0, 0)")
            console.picture("console-phone.png")
        console.check_honest()


def keyboard_only(checks, browser, server):
    console = Console(checks, browser, server, "the keyboard alone")
    page = console.page
    page.await_true("document.querySelector('#language option')")
    console.choose("bash")
    page.value("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    page.press("Tab")
    console.check("the first stop is the link to the editor", "Skip" in page.value("document.activeElement.textContent"))
    page.press("Enter")
    console.check("the link leads there", page.await_true("document.activeElement.id === 'code'"))
    page.value("document.getElementById('code').select()")
    page.type("if true; then")
    page.press("Enter")
    page.press("Tab")
    page.type("echo typed")
    page.press("Enter")
    page.press("Tab", SHIFT)
    console.check("Shift and Tab go back", page.value("document.activeElement.id") != "code")
    page.press("Tab")
    page.type("sleep 0")
    code = page.value("document.getElementById('code').value")
    console.check("Tab indents, and Enter keeps the indentation", code == "if true; then\n  echo typed\n  sleep 0", code)
    console.check("the way out is told", "Esc" in page.text("#editor-hint") and
                  page.value("document.getElementById('code').getAttribute('aria-describedby')") == "editor-hint")
    page.type("\nfi")
    page.press("Escape")
    page.press("Tab")
    console.check("Escape and Tab leave the editor", page.value("document.activeElement.tagName") == "SUMMARY")
    page.press("Enter")
    console.check("Enter opens the further fields", page.value("document.getElementById('more').open"))
    seen, stops = [], []
    for _ in range(30):
        stops.append(page.value("document.activeElement.id || document.activeElement.tagName"))
        seen.append(page.value("document.activeElement === document.body || " + FOCUS_IS_SEEN))
        page.press("Tab")
        if stops[-1] == "BODY":
            break
    console.check("every stop is seen", all(seen), list(zip(stops, seen)))
    console.check("the fields and the output are reached", {"stdin", "args", "timeout", "memory", "output"} <= set(stops), stops)
    page.value("document.getElementById('start').focus()")
    page.press("Enter")
    console.check("Enter on the button runs", console.await_state("Exited").startswith("Exited with 0"), console.output())
    console.check("the focus is where it was", page.value("document.activeElement.id") == "start")
    page.value("document.querySelector('#server summary').focus()")
    page.press("Enter")
    console.check("the facts of the server open", page.value("document.getElementById('server').open"))
    page.press("Escape")
    console.check("Escape closes them", page.value("!document.getElementById('server').open"))
    nameless = [each for each in page.tree() if each[2] and not each[1] and each[0] not in ("RootWebArea", "main", "generic")]
    console.check("everything that takes the focus has a name", not nameless, nameless)
    roles = {role for role, _, _ in page.tree()}
    console.check("the page has landmarks and live regions", {"banner", "main", "navigation", "log", "status"} <= roles, roles)
    console.check_honest()


# For the pictures: something to see in the editor and in both streams.
SHOWN = """# Which numbers below 60 are prime?
import sys


def primes(limit):
    sieve = [True] * limit
    for n in range(2, limit):
        if sieve[n]:
            yield n
            sieve[n * n::n] = [False] * len(sieve[n * n::n])


found = list(primes(60))
for row in range(0, len(found), 6):
    print("".join(f"{n:5}" for n in found[row:row + 6]))
count = f"\\033[1;32m{len(found)} primes\\033[0m"
print(f"{count}, the last is {found[-1]}", flush=True)
print("this line went to standard error", file=sys.stderr)
"""


def looks(checks, browser, server):
    """Light and dark, and the pictures of the documentation."""
    for dark in (False, True):
        name = "dark" if dark else "light"
        console = Console(checks, browser, server, name, dark=dark)
        page = console.page
        console.choose("python" if "python" in server.health["languages"] else "bash")
        page.await_true("document.getElementById('usage').rows.length > 3")
        if "python" in server.health["languages"]:
            console.write(SHOWN)
        page.click("#start")
        console.await_state("Exited")
        page.value("document.activeElement.blur()")
        ground = page.value("getComputedStyle(document.body).backgroundColor")
        bright = sum(map(int, re.findall(r"\d+", ground)[:3])) > 3 * 128
        console.check("the ground is as the user prefers", bright != dark, ground)
        console.check_look()
        still = page.value("""document.getAnimations().length === 0 &&
                           getComputedStyle(document.querySelector('.fill')).transitionProperty === 'none'""")
        console.check("nothing moves for those who want it still", still)
        console.picture(f"console-{name}.png")
        console.check_honest()


def workspaces(checks, browser):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(project())
        server = stack.enter_context(serving.Server(["--workspace", folder, "--tools", "all", "--mode", "shell"]))
        other = start(server, "echo the-other")
        started = start(server, "echo before; until [ -e go ]; do sleep 0.1; done; echo '<b>after</b>'; exec sleep 600")
        console = Console(checks, browser, server, "workspaces")
        page = console.page
        console.check("there is a way to them", page.await_true("!document.getElementById('to-workspaces').hidden"))
        page.value("document.getElementById('to-workspaces').focus()")
        page.press("Enter")
        console.check("both commands are listed", page.await_true("document.querySelectorAll('.command').length === 2"))
        running = f"[data-command='{started}']"
        console.check("the one that runs is told from the one that ended",
                      page.value(f"""document.querySelector("{running}").dataset.running""") == "true" and
                      page.await_true(f"document.querySelector(\"[data-command='{other}']\").dataset.running === 'false'"))
        console.check("the workspace is named with its path", folder in page.text(".workspace"), page.text(".workspace"))
        page.value(f"""document.querySelector("{running}").focus()""")
        page.press("Enter")
        console.check("its output is shown", page.await_true(
            "document.getElementById('process-output').textContent.includes('before')"))
        (pathlib.Path(folder) / "go").touch()
        console.check("what comes is shown as it comes, as text", page.await_true(
            "document.getElementById('process-output').textContent.includes('<b>after</b>')"))
        console.check("the state is told", page.text("#process-state") == "running", page.text("#process-state"))
        console.check("the focus stays when the list changes", page.value(
            f"""document.activeElement === document.querySelector("{running}")"""))
        console.check_look()
        has_snapshots = "snapshot_list" in {tool["name"] for tool in rpc(server, "tools/list")["tools"]}
        if has_snapshots:
            rpc(server, "tools/call", "snapshot_create", name="a-snapshot", description="of the test")
        console.check("snapshots are shown where the server has them", page.await_true(
            "document.querySelector('.snapshots').innerText.includes('a-snapshot')" if has_snapshots else
            "document.querySelector('.snapshots').hidden"))
        rpc(server, "tools/call", "KillShell", shell_id=started)
        console.check("the end of a command is told", page.await_true(
            "document.getElementById('process-state').textContent.startsWith('completed')"), page.text("#process-state"))
        console.check_honest()


@contextlib.contextmanager
def project():
    """A workspace that is not below /tmp, which a jail replaces."""
    folder = tempfile.mkdtemp(prefix="polybox-browser-", dir="/var/tmp")
    try:
        pathlib.Path(folder).chmod(0o777)
        if os.geteuid() == 0:
            # Root's own directories are not for commands.
            os.chown(folder, 1000, 1000)
        yield folder
    finally:
        shutil.rmtree(folder)


def rpc(server, method, tool=None, **arguments):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} | ({"Mcp-Name": tool} if tool else {})
    params = {"_meta": meta} | ({"name": tool, "arguments": arguments} if tool else {})
    answer = server.ask({"path": "/mcp", "headers": headers,
                         "json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}})
    return answer.json()["result"]


def start(server, command):
    """The handle of a command of an agent."""
    answer = rpc(server, "tools/call", "Bash", command=command, run_in_background=True)
    assert not answer.get("isError"), answer
    return answer["structuredContent"]["shell_id"]


def other_pages(checks, browser, server, pages):
    """A page of another site may link to the console, and may not frame it or read its files. `pages` is its address."""
    page = browser.page()
    url = f"http://127.0.0.1:{server.port}/"
    page.open(f"{pages}/links?{urllib.parse.quote(url, safe='')}")

    def check(claim, holds, shown=""):
        checks.check(f"console, from another page: {claim}", holds, shown)

    blocked = page.await_true("document.title === 'tried'")
    refusals = [each for each in page.complaints() if "frame-ancestors" in each or "X-Frame-Options" in each]
    check("it cannot be framed", blocked and refusals, page.complaints())
    check("its script does not load", page.value("document.getElementById('script').dataset.end") == "error")
    page.click("#link")
    check("a link leads to it", page.await_true("document.getElementById('view-run') !== null &&"
                                                "document.querySelector('#language option') !== null"), page.value("location.href"))
    check("and nothing was run", page.text("#state") == "Ready", page.text("#state"))


def run(checks, pages):
    """All of it. `pages` is the address of another site."""
    with Browser() as browser:
        server = serving.Server(["--mode", "shell"])
        for part in (run_and_fail, files_and_input, stream_and_cancel, hostile_output, narrow, keyboard_only, looks):
            attempt(checks, part, browser, server)
        attempt(checks, other_pages, browser, server, pages)
        server.stop()
        for part in (token, workspaces):
            attempt(checks, part, browser)


def attempt(checks, part, *more):
    """A part that cannot go on has failed; the others are tried all the same."""
    try:
        part(checks, *more)
    except AssertionError as failure:
        checks.check(f"console: {part.__name__} goes to its end", False, failure)
