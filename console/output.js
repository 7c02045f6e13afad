// Shows what a program writes. The text of a program is hostile: it becomes text nodes only, its escape sequences are
// removed or become one of a few classes, and the page holds a bounded number of characters of it.
import {count, make} from "./page.js";

// A browser lays out this much text without a pause on a phone. The beginning and the end are what people look at.
const HEAD = 100_000;
const TAIL = 100_000;
// A part larger than this is cut, so that old parts can go one by one.
const PART = 8_000;
// A program that changes its colour with every letter must not make an element of every letter.
const MOST_PARTS = 4_000;
// What the element of a mark costs the browser, in characters.
const MARK_COST = 20;

const ESCAPE = /\x1b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])/g;
// The beginning of an escape sequence at the end of a chunk.
const UNFINISHED = /\x1b(?:|\[[0-9;: -/]{0,64}|[\]PX^_][^\x07\x1b]{0,1024}|[ -/]{1,8})$/;
// Control characters, and marks that change the order or the look of the text around them.
const MARKS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/;
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// The colours of ANSI escape sequences, as a list of classes.
class Pen {
  bold = false;
  colour = "";

  apply(parameters) {
    const codes = parameters.split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; ++i) {
      const code = codes[i];
      if (code === 0) this.bold = false, this.colour = "";
      if (code === 1) this.bold = true;
      if (code === 22) this.bold = false;
      if (code === 39) this.colour = "";
      if (code >= 30 && code <= 37) this.colour = COLOURS[code - 30];
      if (code >= 90 && code <= 97) this.colour = COLOURS[code - 90];
      // The parameters of a colour of a larger palette, which the page does not have.
      if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4;
    }
  }

  get classes() {
    return (this.bold ? " bold" : "") + (this.colour ? ` ansi-${this.colour}` : "");
  }
}

function visibleName(character) {
  const code = character.codePointAt(0);
  if (code < 32) return String.fromCodePoint(0x2400 + code);
  return code === 127 ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/// Appends `text` to `parent`. Characters that cannot be seen become names in a box. Returns what the text costs.
function appendText(parent, text) {
  let cost = text.length;
  while (text) {
    const at = text.search(MARKS);
    if (at < 0) {
      parent.append(text);
      break;
    }
    cost += MARK_COST;
    let end = at + 1;
    while (end < text.length && end - at < 64 && MARKS.test(text[end])) ++end;
    parent.append(text.slice(0, at), make("span", {className: "mark"}, [...text.slice(at, end)].map(visibleName).join("")));
    text = text.slice(end);
  }
  return cost;
}

class StreamState {
  pen = new Pen();
  rest = "";
}

/// Shows the streams of a program in the element `log`.
export class Output {
  constructor(log) {
    this.log = log;
    this.log.addEventListener("scroll", () => this.#look());
    this.clear();
  }

  clear() {
    this.streams = new Map();
    this.headSize = 0;
    this.tailSize = 0;
    this.leftOut = 0;
    this.last = null;
    this.follows = true;
    this.head = make("span");
    this.gap = make("p", {className: "gap", hidden: true});
    this.tail = make("span");
    this.log.replaceChildren(this.head, this.gap, this.tail);
  }

  get isEmpty() {
    return this.headSize + this.tailSize === 0;
  }

  /// The text that is shown, for the clipboard.
  get text() {
    return this.log.textContent;
  }

  /// Appends a chunk of the stream "stdout" or "stderr". `step` is "compile" for what a compiler says.
  write(stream, chunk, step = "") {
    if (!this.streams.has(stream)) this.streams.set(stream, new StreamState());
    const state = this.streams.get(stream);
    const text = (state.rest + chunk).replaceAll("\r\n", "\n");
    state.rest = text.match(UNFINISHED)?.[0] ?? "";
    this.#writePlain(stream, step, state, text.slice(0, text.length - state.rest.length));
    this.#follow();
  }

  /// Appends a sentence of this page.
  note(sentence, kind = "") {
    this.log.append(make("p", {className: `note ${kind}`}, sentence));
    this.#follow();
  }

  /// A reader who has scrolled up stays there.
  #look() {
    this.follows = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 40;
  }

  /// Shows the end, once a frame: each look at a height makes the browser lay out all of the text.
  #follow() {
    if (this.waits || !this.follows) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.log.scrollTop = this.log.scrollHeight;
    });
  }

  #writePlain(stream, step, state, text) {
    let from = 0;
    for (const found of text.matchAll(ESCAPE)) {
      this.#put(stream, step, state.pen, text.slice(from, found.index));
      if (found[2] === "m") state.pen.apply(found[1]);
      from = found.index + found[0].length;
    }
    this.#put(stream, step, state.pen, text.slice(from));
  }

  #put(stream, step, pen, text) {
    // Progress bars return to the beginning of their line; here each state is a line.
    text = text.replaceAll("\r", "\n");
    const label = step ? `${stream} ${step}` : stream;
    while (text) {
      // Both halves of a character that JavaScript stores in two stay together.
      const end = /[\ud800-\udbff]/.test(text[PART - 1] ?? "") ? PART - 1 : PART;
      this.#putPart(label, pen.classes, text.slice(0, end));
      text = text.slice(end);
    }
  }

  #putPart(label, classes, text) {
    const inHead = this.headSize + text.length <= HEAD && this.tailSize === 0 && this.head.childElementCount < MOST_PARTS;
    const place = inHead ? this.head : this.tail;
    const className = `part ${label}${classes}`;
    let part = this.last;
    if (part?.parentNode !== place || part.className !== className || part.size + text.length > PART) {
      part = make("span", {className, size: 0, cost: 0});
      // People who cannot see the colour hear or see where the other stream begins.
      if (this.last?.label !== label && label !== "stdout") part.dataset.stream = label;
      part.label = label;
      place.append(part);
    }
    this.last = part;
    const cost = appendText(part, text);
    part.size += text.length;
    part.cost += cost;
    if (inHead) this.headSize += cost;
    else this.#trim(cost);
  }

  #trim(added) {
    this.tailSize += added;
    while (this.tail.childElementCount > 1 && (this.tailSize > TAIL || this.tail.childElementCount > MOST_PARTS)) {
      const oldest = this.tail.firstElementChild;
      this.tailSize -= oldest.cost;
      this.leave(oldest.size);
      oldest.remove();
    }
  }

  /// Says that so many characters are not shown.
  leave(size) {
    this.leftOut += size;
    this.gap.hidden = false;
    this.gap.textContent = `${count(this.leftOut)} characters are not shown here, to keep this page fast`;
  }
}
