"""The console in a tab of the browser: what a person does in it, and what is checked of each look of it."""
import json
import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
LARGEST_PICTURE = 200 * 1024

# Texts whose contrast with their ground is too low: [text, contrast].
CONTRAST = """(() => {
  const parse = colour => {
    const parts = (colour.match(/[\\d.]+/g) ?? []).map(Number);
    if (colour.startsWith('color(srgb')) return [...parts.slice(0, 3).map(c => c * 255), parts[3] ?? 1];
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest('textarea, :disabled, option')) continue;
    const pair = [light(parse(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + .05) / (pair[1] + .05);
    if (contrast < 4.5) bad.push([walker.currentNode.data.slice(0, 30), contrast]);
  }
  return bad;
})()"""
# Controls that a finger misses.
SMALL_TARGETS = """[...document.querySelectorAll('button, a, select, input, summary, textarea')]
  .filter(each => each.checkVisibility() && !each.matches('.skip'))
  .map(each => [each.id || each.textContent, each.getBoundingClientRect()])
  .filter(([, box]) => box.height < 44 || box.width < 44).map(([name, box]) => [name, box.width, box.height])"""
FOCUS_IS_SEEN = """(() => {
  const element = document.activeElement;
  const holder = element.id === 'code' ? document.getElementById('editor') : element;
  const style = getComputedStyle(holder);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
})()"""


class Console:
    """The console of a server in a tab."""

    def __init__(self, checks, browser, server, name, **look):
        self.checks, self.server, self.name = checks, server, name
        self.page = browser.page(**look)
        self.url = f"http://127.0.0.1:{server.port}/"
        self.page.open(self.url)

    def check(self, claim, holds, shown=""):
        self.checks.check(f"console, {self.name}: {claim}", holds, shown)

    def await_state(self, words):
        """Waits until the state of the run begins so."""
        pattern = json.dumps(words)
        self.page.await_true(f"document.getElementById('state').textContent.startsWith({pattern})")
        return self.page.text("#state")

    def choose(self, language):
        self.page.await_true("document.querySelector('#language option')")
        self.page.value(f"""(() => {{ const list = document.getElementById('language'); list.value = {json.dumps(language)};
                          list.dispatchEvent(new Event('change', {{bubbles: true}})); }})()""")

    def write(self, code):
        self.page.value("document.getElementById('code').focus(); document.getElementById('code').select()")
        self.page.type(code)

    def run(self, code, words):
        self.write(code)
        self.page.click("#start")
        return self.await_state(words)

    def set(self, field, text):
        self.page.value(f"""(() => {{ const field = document.getElementById({json.dumps(field)}); field.value = {json.dumps(text)};
                          field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()""")

    def output(self):
        return self.page.text("#output")

    def check_honest(self, *expected):
        """The browser complains of nothing but `expected`, and nobody else was asked for anything."""
        others = [url for url in self.page.requested() if not url.startswith((self.url, "blob:", "about:"))]
        self.check("nobody but the server is asked for anything", not others, others)
        complaints = [each for each in self.page.complaints() if not any(word in each for word in expected)]
        self.check("the browser has nothing to complain of", not complaints, complaints)

    def check_look(self):
        low = self.page.value(CONTRAST)
        self.check("every text stands out from its ground", not low, low)

    def picture(self, name):
        size = self.page.picture(DOCS / name)
        self.check(f"the picture {name} is small", size < LARGEST_PICTURE, size)
