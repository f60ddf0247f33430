import { describe, expect, it } from "vitest";
import { limitSources } from "./limitSources";

const LIMITS = [
  { name: "maxIterations", value: "100", source: "DEFAULT", accountId: null },
  { name: "maxCost", value: "50000000", source: "AGENT", accountId: null },
  { name: "maxCost", value: "100000000000", source: "PROJECT", accountId: "bud_1" },
];

describe("the sources of limits", () => {
  it("names who set a limit and which accounts hold beside it", () => {
    expect(limitSources("cost", LIMITS)).toBe(" · limit set by the agent · project account $100.00");
    expect(limitSources("iterations", LIMITS)).toBe(" · limit set by the default");
    expect(limitSources("tokens", LIMITS)).toBe("");
  });
});
