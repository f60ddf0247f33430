/**
 * Reads the colours that programs write for terminals (SGR) and drops every other escape sequence.
 * It serves the few last lines on a card; the full terminal has an emulator of its own.
 */
export interface AnsiSegment {
  text: string;
  color: string | null;
  bold: boolean;
  dim: boolean;
}

type Style = Omit<AnsiSegment, "text">;

const PLAIN: Style = { color: null, bold: false, dim: false };
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// CSI sequences, OSC sequences up to their end, and two-byte escapes.
// oxlint-disable-next-line no-control-regex -- escape sequences are what is read here
const ESCAPES = /\u001b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\^_])/g;
const LONGEST_LINE = 2_000;
/** A tail is read anew at every change, so it must not cost as much as the whole. */
const TAIL_CHARS = 64 * 1024;

/** The last lines of a terminal's text, each as its coloured segments. */
export function lastLines(text: string, count: number): AnsiSegment[][] {
  const lines = text.slice(-TAIL_CHARS).replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n").slice(-count);
  let style = PLAIN;
  return lines.map((line) => {
    const parsed = parseLine(afterCarriageReturn(line).slice(0, LONGEST_LINE), style);
    style = parsed.style;
    return parsed.segments;
  });
}

/** A progress display rewrites its line: what was written last is what one sees. */
function afterCarriageReturn(line: string): string {
  return line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1);
}

function parseLine(line: string, start: Style): { segments: AnsiSegment[]; style: Style } {
  const segments: AnsiSegment[] = [];
  let style = start;
  let from = 0;
  const take = (to: number) => {
    const text = printable(line.slice(from, to));
    if (text !== "") segments.push({ text, ...style });
  };
  for (const match of line.matchAll(ESCAPES)) {
    take(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") style = applyCodes(style, match[1] ?? "");
  }
  take(line.length);
  return { segments, style };
}

function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed here
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

function applyCodes(style: Style, list: string): Style {
  const codes = list === "" ? [0] : list.split(/[;:]/).map(Number);
  let next = style;
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = extendedColor(codes.slice(i + 1));
      if (code === 38) next = { ...next, color };
      i += used;
    } else {
      next = applyCode(next, code);
    }
  }
  return next;
}

function applyCode(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 39) return { ...style, color: null };
  if (code >= 30 && code <= 37) return { ...style, color: named(code - 30) };
  if (code >= 90 && code <= 97) return { ...style, color: named(code - 90) };
  return style;
}

function extendedColor(rest: number[]): { color: string | null; used: number } {
  const [kind, a = 0, b = 0, c = 0] = rest;
  if (kind === 2) return { color: absolute(a, b, c), used: 4 };
  if (kind !== 5) return { color: null, used: 1 };
  return { color: indexed(a), used: 2 };
}

function indexed(index: number): string {
  if (index < 16) return named(index % 8);
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return absolute(grey, grey, grey);
  }
  const step = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = index - 16;
  return absolute(step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6));
}

function named(index: number): string {
  return `var(--ansi-${NAMES[index]})`;
}

/** A colour that a program chose by itself keeps its hue; the theme bounds its lightness, so that it can be read. */
function absolute(red: number, green: number, blue: number): string {
  return `oklch(from rgb(${red} ${green} ${blue}) clamp(var(--ansi-least-light), l, var(--ansi-most-light)) c h)`;
}
