"""Chromium without a window, driven by the Chrome DevTools protocol over two pipes."""
import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

# A busy machine starts a browser slowly.
PATIENCE = 120
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--font-render-hinting=none"]
# Of the keys that the tests press: code, number, and what the key types.
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " "), "ArrowDown": (40, "")}
CTRL, SHIFT = 2, 8


def is_installed():
    return shutil.which("chromium") is not None


class Browser:
    """A browser with a profile of its own. Use it in a `with`."""

    def __init__(self, *flags):
        self.profile = tempfile.TemporaryDirectory(prefix="polybox-chromium-", ignore_cleanup_errors=True)
        theirs_in, self.out = os.pipe()
        self.incoming, theirs_out = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
        command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", shutil.which("chromium"), *FLAGS,
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}/data", *flags, "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": self.profile.name, "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": self.profile.name})
        os.close(theirs_in)
        os.close(theirs_out)
        self.numbers, self.answers, self.events, self.news = itertools.count(1), {}, [], threading.Condition()
        self.closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        with contextlib.suppress(OSError):
            while part := os.read(self.incoming, 1 << 20):
                *messages, rest = (rest + part).split(b"\0")
                with self.news:
                    for message in map(json.loads, messages):
                        if "id" in message:
                            self.answers[message["id"]] = message
                        else:
                            self.events.append(message)
                    self.news.notify_all()
        with self.news:
            self.closed = True
            self.news.notify_all()

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.out, json.dumps(message).encode() + b"\0")
        with self.news:
            assert self.news.wait_for(lambda: number in self.answers or self.closed, PATIENCE), f"no answer to {method}"
            assert number in self.answers, f"the browser ended during {method}"
            answer = self.answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def page(self, **look):
        return Page(self, **look)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        self.profile.cleanup()


class Page:
    """A tab. `dark` and `still` are what the user prefers; `phone` has a touch screen."""

    def __init__(self, browser, width=1280, height=900, dark=False, still=True, phone=False):
        self.browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])
        # A page without the focus draws no focus.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.await_true("document.readyState === 'complete'")

    def value(self, expression):
        """Of an expression of the page's script."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer["exceptionDetails"])
        return answer["result"].get("value")

    def await_true(self, expression):
        """Returns whether it became true."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            # While a page is loaded, there may be nothing to ask.
            with contextlib.suppress(AssertionError):
                if self.value(f"Boolean({expression})"):
                    return True
            time.sleep(0.05)
        return False

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, key, modifiers=0):
        number, types = KEYS[key]
        # With Ctrl, a key types nothing.
        types = "" if modifiers & CTRL else types
        facts = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if types else "rawKeyDown", text=types, **facts)
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """As a finger or a mouse does: in the middle of the element, which must be the one that is hit."""
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = self.value(f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                         " return [box.x + box.width / 2, box.y + box.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def tree(self):
        """The accessibility tree: [(role, name, focusable)]."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        out = []
        for node in nodes:
            facts = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
            out.append((node.get("role", {}).get("value"), node.get("name", {}).get("value", ""), bool(facts.get("focusable"))))
        return out

    def events(self, method):
        with self.browser.news:
            return [event["params"] for event in self.browser.events
                    if event.get("sessionId") == self.session and event["method"] == method]

    def complaints(self):
        """What the browser has logged as wrong, refusals of the policy included."""
        logged = [entry["entry"].get("text", "") + " " + entry["entry"].get("url", "")
                  for entry in self.events("Log.entryAdded") if entry["entry"]["level"] in ("error", "warning")]
        thrown = [entry["exceptionDetails"]["text"] for entry in self.events("Runtime.exceptionThrown")]
        return logged + thrown

    def requested(self):
        return [event["request"]["url"] for event in self.events("Network.requestWillBeSent")]

    def picture(self, path):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return len(data)
