// Runs the program of the editor by POST /execute, and shows its events as they come.
import {Unauthorized, ask, askJson, complaint, events} from "./api.js";
import {syntaxOf} from "./languages.js";
import {Editor} from "./editor.js";
import {Output} from "./output.js";
import {byId, bytes, duration, make, offerFile, show} from "./page.js";
import {showGrade, showHealth} from "./server.js";
import {showUsage} from "./usage.js";

const STAGES = {queued: "Waiting for a free place…", installing: "Installing packages…", compiling: "Compiling…"};
const TICK_MS = 100;
const MIB = 1024 * 1024;

const linesOf = id => byId(id).value.split("\n").map(line => line.trim()).filter(line => line);

async function base64Of(file) {
  let binary = "";
  for (const byte of new Uint8Array(await file.arrayBuffer())) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0));
}

/// Returns a sentence about the end of a program, and whether the end was good.
function verdict(result) {
  if (result.timed_out) return [`Stopped: its time was up after ${duration(result.execution_time_ms)}`, false];
  if (result.oom_killed) return ["Killed: out of memory", false];
  if (result.signal) return [`Killed by ${result.signal}`, false];
  return [`Exited with ${result.exit_code} after ${duration(result.execution_time_ms)}`, result.exit_code === 0];
}

export class Runner {
  /// `unauthorized` is called when the server wants another token.
  constructor(unauthorized) {
    this.unauthorized = unauthorized;
    this.languages = [];
    this.editor = new Editor();
    this.output = new Output(byId("output"));
    this.result = null;
    this.running = null;
    byId("program").addEventListener("submit", event => {
      event.preventDefault();
      this.start();
    });
    byId("language").addEventListener("change", () => this.#choose(byId("language").value));
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("copy").addEventListener("click", () => this.#copy());
    byId("save").addEventListener("click", () => this.#save());
    byId("more").addEventListener("input", () => this.#showMore());
    byId("code").addEventListener("input", () => this.#keep());
  }

  /// Asks for the languages and fills the list of them.
  async load() {
    const {languages, language} = await askJson("languages");
    this.languages = languages;
    const option = each => make("option", {value: each.id, disabled: !each.available}, each.name);
    const missing = languages.filter(each => !each.available);
    const group = make("optgroup", {label: "Not on this machine"}, ...missing.map(option));
    byId("language").replaceChildren(...languages.filter(each => each.available).map(option));
    if (missing.length) byId("language").append(group);
    byId("language").value = this.language?.available ? this.language.id : language;
    this.#choose(byId("language").value);
  }

  get language() {
    return this.languages.find(each => each.id === this.chosen);
  }

  #choose(id) {
    this.chosen = id;
    this.editor.setLanguage(id);
    this.editor.setText(sessionStorage.getItem(`polybox-code-${id}`) ?? syntaxOf(id).sample);
    byId("version").textContent = this.language?.version ?? "";
    show(byId("packages-field"), this.language?.supports.includes("packages") ?? false);
    byId("memory").placeholder = Math.round((this.language?.limits.run.memory_bytes ?? 0) / MIB) || "";
    this.result = null;
    this.#showMore();
  }

  /// A reload of the page, or a look at another language, does not lose the program.
  #keep() {
    try {
      sessionStorage.setItem(`polybox-code-${this.chosen}`, this.editor.text);
    } catch {
      // The program is larger than what the browser keeps.
    }
  }

  #chosenLimits() {
    const chosen = {};
    if (byId("timeout").value) chosen.wall_time_ms = byId("timeout").value * 1000;
    if (byId("memory").value) chosen.memory_bytes = byId("memory").value * MIB;
    return chosen;
  }

  #showMore() {
    const set = [...byId("more").querySelectorAll("input, textarea")]
      .filter(field => field.value && !field.closest("[hidden]")).length;
    byId("more-set").textContent = set ? `${set} set` : "";
    showUsage(this.language, this.#chosenLimits(), this.result);
  }

  async #request() {
    const request = {language: this.chosen, code: this.editor.text};
    const {wall_time_ms, memory_bytes} = this.#chosenLimits();
    if (wall_time_ms) request.timeout_seconds = wall_time_ms / 1000;
    if (memory_bytes) request.limits = {memory_bytes};
    if (byId("stdin").value) request.stdin = byId("stdin").value;
    if (byId("args").value) request.args = linesOf("args");
    if (!byId("packages-field").hidden && byId("packages").value) request.requirements = linesOf("packages");
    const variables = linesOf("env").map(line => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]);
    if (variables.length) request.env = Object.fromEntries(variables);
    const files = [...byId("files").files];
    const contents = await Promise.all(files.map(async file => [file.name, await base64Of(file)]));
    if (files.length) request.files = Object.fromEntries(contents);
    return request;
  }

  async start() {
    if (this.running || !this.language) return;
    const run = {abort: new AbortController(), began: performance.now(), printed: 0};
    this.running = run;
    this.result = null;
    this.output.clear();
    this.#showFiles({});
    showUsage(this.language, this.#chosenLimits(), null);
    this.#begin(run);
    try {
      await this.#follow(run);
    } catch (failure) {
      this.#fail(run, failure);
    } finally {
      this.#end(run);
    }
  }

  cancel() {
    this.running?.abort.abort();
  }

  #begin(run) {
    this.#state("Running…", "busy");
    // Keyboard users stay where they are: the button that had the focus is not there any more.
    const hadFocus = document.activeElement === byId("start");
    show(byId("cancel"), true);
    show(byId("start"), false);
    if (hadFocus) byId("cancel").focus();
    run.timer = setInterval(() => this.#tick(run), TICK_MS);
  }

  #tick(run) {
    // A changing clock is no news for a screen reader.
    byId("state").dataset.clock = duration(performance.now() - run.began);
  }

  #end(run) {
    clearInterval(run.timer);
    delete byId("state").dataset.clock;
    this.running = null;
    const hadFocus = document.activeElement === byId("cancel");
    show(byId("start"), true);
    show(byId("cancel"), false);
    if (hadFocus) byId("start").focus();
    byId("copy").disabled = byId("save").disabled = this.output.isEmpty && !this.result;
    showHealth();
  }

  async #follow(run) {
    const headers = {Accept: "text/event-stream"};
    const response = await ask("execute", {body: await this.#request(), headers, signal: run.abort.signal});
    if (!response.ok) throw new Error(await complaint(response));
    for await (const [name, data] of events(response)) {
      if (name === "progress") this.#state(STAGES[data.stage] ?? "Running…", "busy");
      if (name === "stdout" || name === "stderr") this.#print(run, name, data);
      if (name === "truncated") this.output.note(`No more of ${data.stream} follows: the limit is reached.`);
      if (name === "error") throw new Error(data.error);
      if (name === "result") return this.#finish(run, data);
    }
    throw new Error("The connection ended before the result.");
  }

  #print(run, name, {data, step}) {
    run.printed += new Blob([data]).size;
    if (name === "stderr") run.hasErrors = true;
    this.output.write(name, data, step);
  }

  #finish(run, result) {
    this.result = {...result, output_bytes: run.printed};
    // polybox says here why a program did not run, which is no output of the program.
    if (!run.hasErrors && result.stderr) this.output.write("stderr", result.stderr);
    if (result.compile_output && run.printed === 0) this.output.write("stderr", result.compile_output, "compile");
    const cut = [["stdout", result.stdout_truncated], ["stderr", result.stderr_truncated]].filter(([, is]) => is);
    for (const [stream] of cut) this.output.note(`${stream} was longer than the limit of the server. The rest is lost.`);
    if (this.output.isEmpty) this.output.note("The program printed nothing.");
    const [words, good] = verdict(result);
    this.#state(words, good ? "good" : "bad");
    showGrade(result.isolation);
    showUsage(this.language, this.#chosenLimits(), this.result);
    this.#showFiles(result.files_produced ?? {});
  }

  #fail(run, failure) {
    if (run.abort.signal.aborted) {
      this.output.note("Cancelled. The program was ended.");
      return this.#state(`Cancelled after ${duration(performance.now() - run.began)}`, "bad");
    }
    if (failure instanceof Unauthorized) {
      this.#state("Ready", "");
      return this.unauthorized();
    }
    this.output.note(failure.message, "error");
    this.#state("Not run", "bad");
  }

  #state(words, kind) {
    byId("state").textContent = words;
    byId("state").dataset.kind = kind;
  }

  #showFiles(files) {
    const buttons = Object.entries(files).map(([name, content]) => {
      const data = bytesOf(content);
      const button = make("button", {type: "button"}, name, make("span", {className: "muted"}, ` ${bytes(data.length)}`));
      button.addEventListener("click", () => offerFile(name.split("/").pop(), data));
      return button;
    });
    byId("files-made").replaceChildren(make("span", {className: "muted"}, "Files"), ...buttons);
    show(byId("files-made"), buttons.length > 0);
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.output.text);
      byId("copy").textContent = "Copied";
    } catch {
      byId("copy").textContent = "Not allowed";
    }
    setTimeout(() => byId("copy").textContent = "Copy", 1500);
  }

  /// The result has all that the server kept, also what the page does not show.
  #save() {
    const text = this.result ? this.result.stdout + this.result.stderr : this.output.text;
    offerFile("output.txt", text);
  }
}
