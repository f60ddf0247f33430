import type { ToolCallView } from "./types";

/** The argument that says what a tool for files or pages is about, by tool. */
const SUBJECTS: Record<string, readonly string[]> = {
  read_file: ["path"],
  write_file: ["path"],
  edit_file: ["path"],
  list_files: ["path"],
  glob: ["pattern"],
  grep: ["pattern"],
  browse: ["url", "path"],
};

/** What a call is about, in a few words; null for programs, whose source is too long for a line. */
export function subjectOf({ tool, arguments: given }: Pick<ToolCallView, "tool" | "arguments">): string | null {
  const names = SUBJECTS[tool];
  if (names === undefined || typeof given !== "object" || given === null) return null;
  const values = names.map((name) => (given as Record<string, unknown>)[name]);
  const found = values.find((value) => typeof value === "string" && value !== "");
  if (typeof found !== "string") return tool === "list_files" ? "/workspace" : null;
  const lines = readLines(given as Record<string, unknown>);
  return lines === "" ? found : `${found} ${lines}`;
}

function readLines({ start_line: first, end_line: last }: Record<string, unknown>): string {
  if (typeof first !== "number" && typeof last !== "number") return "";
  return `lines ${typeof first === "number" ? first : 1}–${typeof last === "number" ? last : "end"}`;
}
