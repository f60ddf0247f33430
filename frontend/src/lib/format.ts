/** How numbers read on the screen: one place, so that every page says the same thing the same way. */

export function formatMoney(amount: number): string {
  if (amount > 0 && amount < 0.0001) return "<$0.0001";
  return `$${amount.toFixed(Math.abs(amount) < 10 ? 4 : 2)}`;
}

/** Limits are round figures: they show the decimals that they have, two at least. */
export function formatMoneyLimit(amount: number): string {
  return `$${amount.toFixed(4).replace(/0{1,2}$/, "")}`;
}

export function formatStepMoney(amount: number): string {
  return `$${amount.toFixed(6)}`;
}

/** Where there is little room, beside a step: without the leading zero. */
export function formatTightMoney(amount: number): string {
  return formatMoney(amount).replace("$0.", "$.");
}

export function formatCount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${trimZero((count / 1_000).toFixed(1))}k`;
  return `${trimZero((count / 1_000_000).toFixed(1))}M`;
}

export function formatExact(count: number): string {
  return count.toLocaleString("en-US");
}

/** A span that has ended: 0.9 s, 1:05, 2 h 05 m. */
export function formatDuration(ms: number): string {
  if (ms < 100) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatClock(ms);
}

/** A span that runs: whole seconds, so that only the last digit moves. */
export function formatClock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  if (hours > 0) return `${hours} h ${pad(minutes)} m`;
  return `${pad(minutes)}:${pad(seconds % 60)}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes;
  let unit = "B";
  for (const next of units) {
    if (value < 1_000) break;
    value /= 1_000;
    unit = next;
  }
  return `${trimZero(value.toFixed(1))} ${unit}`;
}

/** Memory is given in powers of two. */
export function formatMemory(bytes: number): string {
  const mebibytes = bytes / (1024 * 1024);
  return mebibytes < 1024 ? `${trimZero(mebibytes.toFixed(1))} MiB` : `${trimZero((mebibytes / 1024).toFixed(1))} GiB`;
}

export function formatAgo(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1_000));
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  const days = Math.floor(seconds / 86_400);
  return days === 1 ? "yesterday" : `${days} days ago`;
}

export function formatMoment(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export function formatShortMoment(at: number): string {
  return new Date(at).toLocaleString(undefined, {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
}

/** Keeps both ends, which is what people compare. */
export function shortId(id: string): string {
  return id.length <= 18 ? id : `${id.slice(0, 12)}…${id.slice(-4)}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

function trimZero(text: string): string {
  return text.replace(/\.0$/, "");
}

/** Characters that end a line, turn the direction of a text, or are not seen at all. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const SEEN_OTHERWISE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** What turns the direction of the text behind it. */
const TURNS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text of a program in the order in which it was written. */
export function revealDirection(text: string): string {
  return text.replace(TURNS, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

/** A file's name as it is, also when it was made to look like another one: `\u{202e}fdp.exe` is no PDF. */
export function formatFileName(name: string): string {
  return name.replace(SEEN_OTHERWISE, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}
