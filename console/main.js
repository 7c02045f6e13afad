// The parts of the page and how they work together. The page takes nothing from its address but the view, so that a link
// on another page cannot make it run anything.
import {Unauthorized, token} from "./api.js";
import {byId, show} from "./page.js";
import {Runner} from "./run.js";
import {showHealth} from "./server.js";
import {Workspaces} from "./workspaces.js";

const HEALTH_MS = 10_000;
const VIEWS = {"#run": ["view-run", "to-run"], "#workspaces": ["view-workspaces", "to-workspaces"]};

const runner = new Runner(askForToken);
const workspaces = new Workspaces(askForToken);
let ready = false;
let hasWorkspaces = false;

function view() {
  return location.hash === "#workspaces" && hasWorkspaces ? "#workspaces" : "#run";
}

function showView() {
  for (const [hash, [section, link]] of Object.entries(VIEWS)) {
    const chosen = hash === view();
    show(byId(section), ready && chosen);
    if (chosen) byId(link).setAttribute("aria-current", "page");
    else byId(link).removeAttribute("aria-current");
  }
  show(byId("to-workspaces"), hasWorkspaces);
  workspaces.setVisible(ready && view() === "#workspaces");
}

function askForToken() {
  const wrong = token.get() !== "";
  token.forget();
  ready = false;
  show(byId("gate"), true);
  showView();
  byId("gate-error").textContent = wrong ? "The server refused this token." : "";
  byId("token").select();
  byId("token").focus();
  showHealth();
}

function showFailure(failure) {
  ready = true;
  showView();
  runner.output.note(`The server could not be asked: ${failure.message}`, "error");
}

async function begin() {
  showHealth();
  try {
    await runner.load();
    hasWorkspaces = await workspaces.load();
    ready = true;
    show(byId("gate"), false);
    showView();
    return true;
  } catch (failure) {
    if (failure instanceof Unauthorized) askForToken();
    else showFailure(failure);
    return false;
  }
}

byId("gate-form").addEventListener("submit", async event => {
  event.preventDefault();
  const entered = byId("token").value.trim();
  byId("token").value = "";
  // No other text can be sent as a token.
  if (/[^!-~]/.test(entered) || !entered) {
    byId("gate-error").textContent = "A token has only letters, digits and signs of ASCII.";
    return;
  }
  token.set(entered);
  if (await begin()) byId("code").focus();
});

byId("forget-token").addEventListener("click", () => {
  token.forget();
  byId("server").open = false;
  askForToken();
});

document.addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && ready && view() === "#run") {
    event.preventDefault();
    runner.start();
  }
  if (event.key !== "Escape") return;
  if (byId("server").open) {
    byId("server").open = false;
    byId("server").firstElementChild.focus();
  } else {
    runner.cancel();
  }
});

document.addEventListener("click", event => {
  if (!byId("server").contains(event.target)) byId("server").open = false;
});

window.addEventListener("hashchange", showView);
setInterval(() => document.hidden || showHealth(), HEALTH_MS);
if (navigator.platform.startsWith("Mac")) byId("run-keys").textContent = "⌘ ⏎";
begin();
