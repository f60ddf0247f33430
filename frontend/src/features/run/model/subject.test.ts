import { describe, expect, it } from "vitest";
import { subjectOf } from "./subject";

describe("the subject of a tool call", () => {
  it("is the path or the pattern of a tool for files", () => {
    expect(subjectOf({ tool: "edit_file", arguments: { path: "src/a.py", old_text: "x" } })).toBe("src/a.py");
    expect(subjectOf({ tool: "grep", arguments: { pattern: "TODO", path: "src" } })).toBe("TODO");
    expect(subjectOf({ tool: "read_file", arguments: { path: "a", start_line: 3 } })).toBe("a lines 3–end");
    expect(subjectOf({ tool: "browse", arguments: { url: "https://example.com/" } })).toBe("https://example.com/");
    expect(subjectOf({ tool: "list_files", arguments: {} })).toBe("/workspace");
  });

  it("is nothing for programs and for arguments that are no object", () => {
    expect(subjectOf({ tool: "run_shell", arguments: { command: "ls" } })).toBeNull();
    expect(subjectOf({ tool: "read_file", arguments: null })).toBeNull();
    expect(subjectOf({ tool: "read_file", arguments: { path: 7 } })).toBeNull();
  });
});
