import { describe, expect, it } from "vitest";
import { EMPTY_DRAFT, FORM_FIELD, faultsFromServer, faultsOf, toInput } from "./draft";

describe("the form that starts a run", () => {
  it("asks for an agent, a task and limits above zero", () => {
    const faults = faultsOf({ ...EMPTY_DRAFT, task: "  ", maxTokens: "0", maxCostUsd: "1.5", maxIterations: "-1" }, null);
    expect(Object.keys(faults).toSorted()).toEqual(["agentId", "maxIterations", "maxTokens", "task"]);
  });

  it("sends only the limits that were filled in, with minutes as milliseconds", () => {
    const draft = { ...EMPTY_DRAFT, task: " count ", maxActiveMinutes: "1.5" };
    expect(toInput(draft, "agt_1", "key")).toEqual({
      agentId: "agt_1",
      task: "count",
      files: [],
      limits: { maxActiveTimeMs: "90000" },
      idempotencyKey: "key",
    });
    expect(toInput({ ...draft, maxActiveMinutes: "" }, "agt_1", "key").limits).toBeNull();
  });

  it("puts refusals at their fields and the rest at the form", () => {
    expect(
      faultsFromServer([
        { path: ["input", "limits", "maxActiveTimeMs"], message: "Too long." },
        { path: ["input", "files", "0", "name"], message: "Not a plain name." },
        { path: null, message: "The project is archived." },
      ]),
    ).toEqual({ maxActiveMinutes: "Too long.", files: "Not a plain name.", [FORM_FIELD]: "The project is archived." });
  });
});
