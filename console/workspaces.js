// The workspaces of the server, with the commands that agents run in them, their output, and their snapshots. A client sees
// the commands that were started with its token.
import {Unauthorized, askJson, callTool, toolNames} from "./api.js";
import {Output} from "./output.js";
import {byId, bytes, make, show} from "./page.js";

const REFRESH_MS = 2000;
const SNAPSHOTS_MS = 10_000;
// Below the 50 seconds that BashOutput waits at most.
const WAIT_SECONDS = 20;
// Tokens of four characters; the page does not show much more at once.
const BUDGET = 25_000;

function clockOf(time) {
  const started = new Date(time);
  const today = started.toDateString() === new Date().toDateString();
  return today ? started.toLocaleTimeString() : started.toLocaleString();
}

export class Workspaces {
  constructor(unauthorized) {
    this.unauthorized = unauthorized;
    this.output = new Output(byId("process-output"));
    this.tools = new Set();
    this.chosen = null;
    this.visible = false;
    this.snapshots = [];
    this.nextSnapshots = 0;
  }

  /// Returns whether the server has workspaces.
  async load() {
    this.list = (await askJson("workspaces")).workspaces;
    if (this.list.length === 0) return false;
    this.tools = await toolNames();
    this.#draw();
    return true;
  }

  /// Keeps the list fresh while it is seen.
  setVisible(visible) {
    this.visible = visible;
    clearTimeout(this.timer);
    if (visible) this.#refresh();
    else this.following?.abort();
  }

  async #refresh() {
    clearTimeout(this.timer);
    try {
      if (!document.hidden) {
        this.list = (await askJson("workspaces")).workspaces;
        this.#draw();
        await this.#askSnapshots();
      }
    } catch (failure) {
      if (failure instanceof Unauthorized) return this.unauthorized();
      byId("process-state").textContent = failure.message;
    }
    if (this.visible) this.timer = setTimeout(() => this.#refresh(), REFRESH_MS);
  }

  #draw() {
    const text = JSON.stringify(this.list);
    // An element that is made again would lose the focus.
    if (text === this.drawn) return;
    this.drawn = text;
    const focused = document.activeElement?.dataset?.command;
    byId("workspace-list").replaceChildren(...this.list.map(each => this.#panel(each)));
    this.#drawSnapshots();
    if (focused) byId("workspace-list").querySelector(`[data-command="${CSS.escape(focused)}"]`)?.focus();
  }

  #panel(workspace) {
    const running = workspace.commands.filter(each => each.running);
    const ended = workspace.commands.filter(each => !each.running);
    const panel = make("section", {className: "panel workspace"},
      make("div", {className: "bar"},
        make("h2", {}, workspace.name),
        make("span", {className: "muted path"}, workspace.path),
        ...(workspace.readonly ? [make("span", {className: "tag"}, "read-only")] : [])),
      this.#commands(workspace, "Running", running, "No command runs."),
      ...(ended.length ? [this.#commands(workspace, "Ended", ended, "")] : []),
      make("div", {className: "snapshots", hidden: true}));
    panel.dataset.workspace = workspace.name;
    return panel;
  }

  #commands(workspace, title, commands, none) {
    const items = commands.map(each => make("li", {}, this.#command(workspace, each)));
    return make("div", {className: "commands"}, make("h3", {}, title),
      commands.length ? make("ul", {}, ...items) : make("p", {className: "muted"}, none));
  }

  #command(workspace, command) {
    const button = make("button", {type: "button", className: "command"},
      make("code", {}, command.command),
      make("span", {className: "muted"}, `${command.status} · ${clockOf(command.started)} · ${bytes(command.output_bytes)}`));
    button.dataset.command = command.shell_id;
    button.dataset.running = command.running;
    button.setAttribute("aria-pressed", this.chosen === command.shell_id);
    button.addEventListener("click", () => this.#choose(workspace, command));
    return button;
  }

  #arguments(workspace, more = {}) {
    return this.list.length > 1 ? {workspace: workspace.name, ...more} : more;
  }

  async #choose(workspace, command) {
    this.following?.abort();
    this.following = new AbortController();
    this.chosen = command.shell_id;
    for (const button of byId("workspace-list").querySelectorAll(".command")) {
      button.setAttribute("aria-pressed", button.dataset.command === this.chosen);
    }
    byId("process-title").textContent = command.command.split("\n")[0].slice(0, 80);
    this.output.clear();
    try {
      await this.#follow(workspace, command, this.following.signal);
    } catch (failure) {
      if (failure instanceof Unauthorized) return this.unauthorized();
      if (failure.name !== "AbortError") this.output.note(failure.message, "error");
    }
  }

  /// Shows the output of a command, and what comes, until the command has ended or another one is chosen.
  async #follow(workspace, command, signal) {
    let since = "";
    for (let wait = 0; !signal.aborted; wait = WAIT_SECONDS) {
      const args = this.#arguments(workspace, {shell_id: command.shell_id, since, wait, budget_tokens: BUDGET});
      const data = await callTool("BashOutput", args, signal);
      for (const stream of data.streams) {
        if (stream.left_out_bytes) this.output.leave(stream.left_out_bytes);
        this.output.write(stream.name === "stderr" ? "stderr" : "stdout", stream.content);
      }
      byId("process-state").textContent = data.status;
      const last = since === data.cursor;
      since = data.cursor;
      const runs = data.status === "running" || data.status.endsWith("still run");
      if (!runs && (last || data.streams.every(stream => stream.content === ""))) break;
    }
    if (this.output.isEmpty) this.output.note("The command printed nothing.");
  }

  /// Asks for the snapshots, but less often than for the commands: git does the work.
  async #askSnapshots() {
    if (!this.tools.has("snapshot_list") || Date.now() < this.nextSnapshots) return;
    this.nextSnapshots = Date.now() + SNAPSHOTS_MS;
    this.snapshots = await Promise.all(this.list.map(async workspace => {
      try {
        return (await callTool("snapshot_list", this.#arguments(workspace))).snapshots;
      } catch (failure) {
        if (failure instanceof Unauthorized) throw failure;
        return failure.message;
      }
    }));
    this.#drawSnapshots();
  }

  #drawSnapshots() {
    this.snapshots.forEach((snapshots, i) => {
      const place = byId("workspace-list").children[i].querySelector(".snapshots");
      const item = each => make("li", {}, make("code", {}, each.name), " ",
        make("span", {className: "muted"}, [clockOf(each.time), each.description].filter(part => part).join(" · ")));
      const content = typeof snapshots === "string" ? make("p", {className: "error"}, snapshots)
        : snapshots.length ? make("ul", {}, ...snapshots.map(item)) : make("p", {className: "muted"}, "None");
      place.replaceChildren(make("h3", {}, "Snapshots"), content);
      show(place, true);
    });
  }
}
