// What every part of the page uses: elements, units, and text files for the user. Text becomes text nodes, never markup.

export const byId = id => document.getElementById(id);

/// Returns a new element. `properties` are those of the element; children are elements or texts.
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

export function show(element, visible) {
  element.hidden = !visible;
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit + 1 < UNITS.length) {
    count /= 1024;
    ++unit;
  }
  return `${count >= 100 || Number.isInteger(count) ? Math.round(count) : count.toFixed(1)} ${UNITS[unit]}`;
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1000).toFixed(2))} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

export const count = number => number.toLocaleString("en");

/// Offers `content` to the user as a file.
export function offerFile(name, content) {
  const url = URL.createObjectURL(new Blob([content], {type: "application/octet-stream"}));
  const link = make("a", {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has begun the download by the next task.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
