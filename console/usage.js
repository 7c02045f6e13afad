// Limits of a language, and what the last run used of them.
import {byId, bytes, count, duration, make, show} from "./page.js";

// Limits of the run step: name in the answer of GET /languages, words, unit, and what a result says was used.
const ROWS = [
  ["wall_time_ms", "Time", duration, result => result.execution_time_ms],
  ["cpu_time_ms", "Processor", duration, result => result.cpu_time_ms],
  ["memory_bytes", "Memory", bytes, result => result.memory_peak_bytes],
  ["output_bytes", "Output", bytes, result => result.output_bytes],
  ["disk_bytes", "Disk", bytes],
  ["processes", "Processes", count],
  ["open_files", "Open files", count],
];

const STAGES = [
  ["queue_ms", "queued"],
  ["install_time_ms", "installing"],
  ["compile_time_ms", "compiling"],
  ["execution_time_ms", "running"],
];

function bar(share) {
  const fill = make("span", {className: share > 0.9 ? "fill full" : "fill"});
  // Something that was used is seen, however little.
  fill.style.width = `${Math.max(share > 0 ? 1.5 : 0, Math.min(100, share * 100))}%`;
  const meter = make("span", {className: "meter"}, fill);
  meter.setAttribute("aria-hidden", "true");
  return meter;
}

function row([name, words, unit, used], limits, result) {
  const limit = limits[name];
  const amount = result && used ? used(result) : undefined;
  const cell = make("td", {className: "amount"});
  if (amount !== undefined && amount !== null) cell.append(make("strong", {}, unit(amount)), " of ");
  cell.append(limit ? unit(limit) : "no limit");
  const share = limit && Number.isFinite(amount) ? amount / limit : 0;
  const head = make("th", {scope: "row"}, words);
  return make("tr", {}, head, make("td", {className: "track"}, used ? bar(share) : ""), cell);
}

/// Shows the limits of a run. `chosen` replaces those that the user lowered; `result` is that of the last run, or null.
export function showUsage(language, chosen, result) {
  const limits = {...language?.limits.run, ...chosen};
  if (result?.timeout_seconds) limits.wall_time_ms = result.timeout_seconds * 1000;
  const rows = language ? ROWS.map(each => row(each, limits, result)) : [];
  byId("usage").tBodies[0].replaceChildren(...rows);
  showStages(result);
  showNotes(result);
}

function showStages(result) {
  const stages = byId("stages");
  const spent = STAGES.filter(([name]) => result?.[name] > 0 || (result && name === "execution_time_ms"));
  stages.replaceChildren(...spent.map(([name, words]) =>
    make("li", {}, make("span", {className: "muted"}, words), " ", make("strong", {}, duration(result[name])))));
  show(stages, spent.length > 0);
}

/// Nothing that the result says about itself is left out.
function showNotes(result) {
  const notes = [
    ...(result?.warnings ?? []),
    ...(result?.isolation_notes ?? []),
    ...(result?.limits_lowered ?? []).map(each => `A limit was lowered: ${each}`),
    ...(result?.requirements_ignored ?? []).map(each => `This language takes no packages; ${each} was ignored`),
    ...(result?.files_left_out ?? []).map(each => `A file was left out: ${each}`),
  ];
  byId("notes").replaceChildren(...notes.map(each => make("li", {}, each)));
  show(byId("notes"), notes.length > 0);
}
