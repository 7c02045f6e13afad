// The state of the server in the head of the page.
import {ask, token} from "./api.js";
import {byId, duration, make, show} from "./page.js";

const GRADES = {
  full: "own namespaces, own uid per slot, system call filter, limits by cgroups",
  rootless: "own namespaces and a system call filter; all guests share one uid of the host",
  landlock: "no namespaces; Landlock and a system call filter",
  none: "programs are not kept apart from this machine",
};

function facts(health) {
  return [
    ["State", health.status],
    ["Isolation", `${health.isolation}: ${GRADES[health.isolation] ?? ""}`],
    ["Programs", `${health.current_load} of ${health.capacity} run, ${health.queued} wait`],
    ["Languages", `${health.languages.length}; ${health.mode} is the default`],
    ["Up since", duration(health.uptime_seconds * 1000)],
  ];
}

export function showGrade(grade) {
  const element = byId("grade");
  element.textContent = grade ? `${grade} isolation` : "";
  element.dataset.grade = grade;
  element.title = GRADES[grade] ?? "";
}

/// Asks how the server is, which needs no token, and shows it.
export async function showHealth() {
  const text = byId("health-text");
  try {
    const health = await (await ask("health")).json();
    byId("health-dot").dataset.status = health.status;
    text.textContent = `${health.status}, ${health.isolation} isolation`;
    byId("server-facts").replaceChildren(
      ...facts(health).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
    byId("server-reasons").textContent = (health.reasons ?? []).join(" ");
    show(byId("server-reasons"), (health.reasons ?? []).length > 0);
    showGrade(health.isolation);
  } catch {
    byId("health-dot").dataset.status = "unhealthy";
    text.textContent = "No answer";
  }
  show(byId("forget-token"), token.get() !== "");
}
