import { describe, expect, it } from "vitest";
import { formatAgo, formatBytes, formatClock, formatCount, formatDuration, formatFileName, formatMoney, formatMoneyLimit, revealDirection, shortId } from "./format";

describe("format", () => {
  it("shows money with as many decimals as matter", () => {
    expect([0, 0.00001, 0.0142, 12.5].map(formatMoney)).toEqual(["$0.0000", "<$0.0001", "$0.0142", "$12.50"]);
    expect([0.05, 1, 0.125].map(formatMoneyLimit)).toEqual(["$0.05", "$1.00", "$0.125"]);
  });

  it("shortens counts and never writes 1000.0k", () => {
    expect([999, 1000, 8214, 999_949, 999_999, 40_000].map(formatCount)).toEqual(["999", "1k", "8.2k", "999.9k", "1M", "40k"]);
  });

  it("writes spans by their length", () => {
    expect([64, 940, 1_800, 65_000, 7_500_000].map(formatDuration)).toEqual(["64 ms", "0.9 s", "1.8 s", "01:05", "2 h 05 m"]);
    expect([41_900, -5].map(formatClock)).toEqual(["00:41", "00:00"]);
  });

  it("lets no name look like another one", () => {
    expect(["报告 (1).txt", "\u202efdp.exe", "a\nb"].map(formatFileName)).toEqual(["报告 (1).txt", "\\u{202e}fdp.exe", "a\\u{a}b"]);
  });

  it("shows what turns the direction of a text", () => {
    expect(["שלום \u200f!", "a\u202ertl\n", "\u2066x\u2069"].map(revealDirection)).toEqual(["שלום \u200f!", "a\\u{202e}rtl\n", "\\u{2066}x\\u{2069}"]);
  });

  it("writes sizes and ages", () => {
    expect([512, 4_100, 2_000_000].map(formatBytes)).toEqual(["512 B", "4.1 kB", "2 MB"]);
    const now = 10 * 86_400_000;
    expect([now - 3_000, now - 130_000, now - 90_000_000].map((at) => formatAgo(at, now))).toEqual(["just now", "2 min ago", "yesterday"]);
  });

  it("keeps both ends of a long id", () => {
    expect(shortId("exe_01k9x4tabcdefghij7qh")).toBe("exe_01k9x4ta…j7qh");
  });
});
