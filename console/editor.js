// The editor: a text area, with line numbers beside it and a coloured copy of the text behind it.
import {byId, make} from "./page.js";
import {syntaxOf, tokensOf} from "./languages.js";

// Colouring longer programs at each key would be slow.
const MOST_COLOURED = 40_000;

export class Editor {
  constructor() {
    this.area = byId("code");
    this.paint = byId("paint");
    this.lines = byId("lines");
    this.box = byId("editor");
    this.setLanguage("");
    this.area.addEventListener("input", () => this.#draw());
    this.area.addEventListener("scroll", () => this.#follow());
    this.area.addEventListener("keydown", event => this.#key(event));
    // Escape lets the next Tab leave the editor.
    this.area.addEventListener("blur", () => this.#allowTab(false));
  }

  get text() {
    return this.area.value;
  }

  setText(text) {
    this.area.value = text;
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = 0;
    this.#draw();
  }

  setLanguage(id) {
    this.syntax = syntaxOf(id);
    this.tokens = tokensOf(this.syntax);
    this.#draw();
  }

  #allowTab(allowed) {
    this.tabLeaves = allowed;
    this.box.classList.toggle("tab-leaves", allowed);
  }

  #key(event) {
    if (event.key === "Escape") return this.#allowTab(true);
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && !event.isComposing) return this.#newLine(event);
    if (event.key !== "Tab" || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) {
      if (event.key.length === 1) this.#allowTab(false);
      return;
    }
    if (this.tabLeaves) return;
    event.preventDefault();
    this.#insert(this.syntax.indent);
  }

  /// A new line begins with the indentation of the line before it.
  #newLine(event) {
    const before = this.text.slice(0, this.area.selectionStart);
    const indent = before.slice(before.lastIndexOf("\n") + 1).match(/^[ \t]*/)[0];
    if (!indent) return;
    event.preventDefault();
    this.#insert(`\n${indent}`);
  }

  #insert(text) {
    // The browser's own command keeps its undo. Where it is missing, the text is set.
    if (!document.execCommand("insertText", false, text)) {
      this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
      this.#draw();
    }
  }

  #draw() {
    const text = this.text;
    const lines = text.split("\n").length;
    if (this.lineCount !== lines) {
      this.lineCount = lines;
      this.lines.textContent = Array.from({length: lines}, (_, i) => i + 1).join("\n");
    }
    const coloured = text.length <= MOST_COLOURED;
    this.box.classList.toggle("plain", !coloured);
    this.paint.replaceChildren(...(coloured ? this.#coloured(text) : []), "\n");
    this.#follow();
  }

  *#coloured(text) {
    let from = 0;
    for (const found of text.matchAll(this.tokens)) {
      if (!found[0]) continue;
      const kind = Object.keys(found.groups).find(name => found.groups[name] !== undefined);
      yield text.slice(from, found.index);
      yield make("span", {className: `token-${kind}`}, found[0]);
      from = found.index + found[0].length;
    }
    yield text.slice(from);
  }

  #follow() {
    this.paint.scrollTop = this.area.scrollTop;
    this.paint.scrollLeft = this.area.scrollLeft;
    this.lines.scrollTop = this.area.scrollTop;
  }
}
