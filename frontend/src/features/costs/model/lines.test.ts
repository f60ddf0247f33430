import { describe, expect, it } from "vitest";
import type { CostsQuery } from "@/graphql/generated/graphql";
import { costRows, spanFrom } from "./lines";

type Summary = NonNullable<CostsQuery["costSummary"]>;

const totals = (amount: string) => ({
  total: { amount },
  calls: "1",
  estimatedTotal: { amount: "0" },
  estimatedCalls: "0",
  unpricedCalls: "0",
  usage: { input: "1", cachedInput: "0", output: "1" },
});
const none = { provider: null, deployment: null, day: null, agentId: null, agent: null };
const summary = (by: Summary["by"], nodes: object[]): Summary =>
  ({ by, totals: totals("4"), lines: { nodes, pageInfo: { hasNextPage: false, endCursor: null } } }) as unknown as Summary;

describe("cost rows", () => {
  it("put the dearest model first and say its part of the whole", () => {
    const model = (deployment: string, amount: string) => ({ ...none, provider: "p", deployment, totals: totals(amount) });
    const rows = costRows(summary("MODEL", [model("a", "1"), model("b", "3")]), "MODEL");
    expect(rows.map(({ name, detail, part }) => [name, detail, part])).toEqual([
      ["b", "p", 0.75],
      ["a", "p", 0.25],
    ]);
  });

  it("keep days in their order", () => {
    const on = (day: string, amount: string) => ({ ...none, day: `${day}T00:00:00.000000Z`, totals: totals(amount) });
    const rows = costRows(summary("DAY", [on("2026-01-02", "1"), on("2026-01-01", "3")]), "DAY");
    expect(rows.map(({ name }) => name)).toEqual(["2026-01-02", "2026-01-01"]);
  });

  it("name an agent that is not open to the reader as such", () => {
    const line = { ...none, agentId: "res_1", totals: totals("4") };
    expect(costRows(summary("AGENT", [line]), "AGENT")[0]).toMatchObject({ name: "Agent not open to you", detail: "res_1" });
  });
});

describe("spans", () => {
  it("begin with a day in UTC and end with this one", () => {
    const now = Date.parse("2026-03-10T23:59:00Z");
    expect(spanFrom("day", now)).toBe("2026-03-10T00:00:00.000Z");
    expect(spanFrom("week", now)).toBe("2026-03-04T00:00:00.000Z");
    expect(spanFrom("all", now)).toBeNull();
  });
});
