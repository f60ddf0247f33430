import { describe, expect, it } from "vitest";
import { lastLines } from "./ansi";

const text = (lines: ReturnType<typeof lastLines>) => lines.map((line) => line.map((segment) => segment.text).join(""));

const bounded = (color: string) => `oklch(from ${color} clamp(var(--ansi-least-light), l, var(--ansi-most-light)) c h)`;

describe("lastLines", () => {
  it("keeps the last lines and ignores the final line break", () => {
    expect(text(lastLines("a\nb\r\nc\n", 2))).toEqual(["b", "c"]);
  });

  it("colours what stands between codes, over line breaks too", () => {
    const [first, second] = lastLines("x \u001b[1;32mok\nstill\u001b[0m plain", 5);
    expect(first).toEqual([
      { text: "x ", color: null, bold: false, dim: false },
      { text: "ok", color: "var(--ansi-green)", bold: true, dim: false },
    ]);
    expect(second?.map((segment) => segment.color)).toEqual(["var(--ansi-green)", null]);
  });

  it("reads indexed and direct colours without eating the codes behind them", () => {
    const [line] = lastLines("\u001b[38;5;196;1mr\u001b[38;2;1;2;3mt\u001b[48;5;1;2mb", 1);
    expect(line?.map(({ color, bold, dim }) => [color, bold, dim])).toEqual([
      [bounded("rgb(255 0 0)"), true, false],
      [bounded("rgb(1 2 3)"), true, false],
      [bounded("rgb(1 2 3)"), true, true],
    ]);
  });

  it("shows what a progress line shows last", () => {
    expect(text(lastLines("10 %\r50 %\r100 %\r\ndone", 5))).toEqual(["100 %", "done"]);
  });

  it("drops titles, cursor moves and control bytes", () => {
    expect(text(lastLines("\u001b]0;title\u0007a\u001b[2Kb\u0000c\u001b[?25l", 1))).toEqual(["abc"]);
  });
});
