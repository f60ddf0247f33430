import { describe, expect, it } from "vitest";
import type { RunRowFragment } from "@/graphql/generated/graphql";
import { EMPTY_LIST, addPage, addUpdates, visibleRuns } from "./runList";

function run(id: string, minute: number, status: RunRowFragment["status"] = "RUNNING", tokens = 0): RunRowFragment {
  return {
    id,
    task: "Count the words",
    status,
    scripted: true,
    createdAt: `2026-11-29T10:${String(minute).padStart(2, "0")}:00.000000Z`,
    startedAt: null,
    endedAt: null,
    currentIteration: 0,
    stopReason: null,
    agent: null,
    agentVersion: null,
    budget: { cost: { spent: { amount: "0" } }, tokens: { used: String(tokens) } },
  };
}

const ids = (rows: RunRowFragment[]) => rows.map((row) => row.id);
const LAST_PAGE = { hasNextPage: false, endCursor: "c" };

describe("the list of runs", () => {
  it("puts a run that an update brings before older ones, once", () => {
    let list = addPage(EMPTY_LIST, [run("b", 2), run("a", 1)], LAST_PAGE);
    list = addUpdates(list, [run("c", 3), run("b", 2)]);
    expect(ids(visibleRuns(list, null))).toEqual(["c", "b", "a"]);
  });

  it("lets an update older than the loaded pages wait for its page", () => {
    let list = addPage(EMPTY_LIST, [run("d", 9), run("c", 8)], { hasNextPage: true, endCursor: "c8" });
    list = addUpdates(list, [run("a", 1)]);
    expect(ids(visibleRuns(list, null))).toEqual(["d", "c"]);
    list = addPage(list, [run("b", 2), run("a", 1)], LAST_PAGE);
    expect(ids(visibleRuns(list, null))).toEqual(["d", "c", "b", "a"]);
  });

  it("does not let a late page undo an update", () => {
    let list = addUpdates(EMPTY_LIST, [run("a", 1, "SUCCEEDED", 90), run("b", 2, "RUNNING", 50)]);
    list = addPage(list, [run("b", 2, "RUNNING", 10), run("a", 1, "RUNNING", 10)], LAST_PAGE);
    expect(visibleRuns(list, null).map((row) => [row.id, row.status, row.budget.tokens.used])).toEqual([
      ["b", "RUNNING", "50"],
      ["a", "SUCCEEDED", "90"],
    ]);
  });

  it("drops a run from a filter when its status leaves it", () => {
    let list = addPage(EMPTY_LIST, [run("a", 1)], LAST_PAGE);
    expect(ids(visibleRuns(list, ["RUNNING"]))).toEqual(["a"]);
    list = addUpdates(list, [run("a", 1, "CANCELLED")]);
    expect(visibleRuns(list, ["RUNNING"])).toEqual([]);
  });
});
