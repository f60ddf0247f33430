/** What a person fills in to start a run, and how it becomes the API's input. */
import type { ExecutionStartInput, InputFileInput, LimitsInput } from "@/graphql/generated/graphql";

export interface StartDraft {
  agentId: string | null;
  task: string;
  files: DraftFile[];
  maxCostUsd: string;
  maxTokens: string;
  maxIterations: string;
  maxActiveMinutes: string;
}

export interface DraftFile {
  name: string;
  byteSize: number;
  content: Omit<InputFileInput, "name">;
}

export type FieldFaults = Record<string, string>;

export const EMPTY_DRAFT: StartDraft = {
  agentId: null,
  task: "",
  files: [],
  maxCostUsd: "",
  maxTokens: "",
  maxIterations: "",
  maxActiveMinutes: "",
};

/** The form's field for a path of the API's input; what has no field of its own belongs to the form. */
export const FORM_FIELD = "form";

export function toInput(draft: StartDraft, agentId: string, idempotencyKey: string): ExecutionStartInput {
  return {
    agentId,
    task: draft.task.trim(),
    files: draft.files.map(({ name, content }) => ({ name, ...content })),
    limits: limitsOf(draft),
    idempotencyKey,
  };
}

function limitsOf({ maxCostUsd, maxTokens, maxIterations, maxActiveMinutes }: StartDraft): LimitsInput | null {
  const limits: LimitsInput = {
    ...(maxCostUsd.trim() !== "" && { maxCostUsd: maxCostUsd.trim() }),
    ...(maxTokens.trim() !== "" && { maxTokens: maxTokens.trim() }),
    ...(maxIterations.trim() !== "" && { maxIterations: Number(maxIterations) }),
    ...(maxActiveMinutes.trim() !== "" && { maxActiveTimeMs: String(Math.round(Number(maxActiveMinutes) * 60_000)) }),
  };
  return Object.keys(limits).length === 0 ? null : limits;
}

/** Finds what can be said without asking the server. */
export function faultsOf(draft: StartDraft, agentId: string | null): FieldFaults {
  const faults: FieldFaults = {};
  if (agentId === null) faults["agentId"] = "Choose an agent.";
  if (draft.task.trim() === "") faults["task"] = "Say what is to be done.";
  if (!isAbsentOr(draft.maxCostUsd, /^\d+(\.\d{1,9})?$/)) faults["maxCostUsd"] = "An amount above 0, such as 0.50.";
  if (!isAbsentOr(draft.maxTokens, /^\d{1,15}$/)) faults["maxTokens"] = "A whole number above 0.";
  if (!isAbsentOr(draft.maxIterations, /^\d{1,9}$/)) faults["maxIterations"] = "A whole number above 0.";
  if (!isAbsentOr(draft.maxActiveMinutes, /^\d{1,6}(\.\d+)?$/)) faults["maxActiveMinutes"] = "Minutes above 0.";
  return faults;
}

const FIELD_OF: Record<string, string> = { maxActiveTimeMs: "maxActiveMinutes", agentVersionId: "agentId" };
const FIELDS = new Set(["agentId", "task", "files", "maxCostUsd", "maxTokens", "maxIterations", "maxActiveMinutes"]);

/** Puts each refusal of the server at the field that its path names. */
export function faultsFromServer(errors: readonly { path: string[] | null; message: string }[]): FieldFaults {
  const faults: FieldFaults = {};
  for (const { path, message } of errors) {
    const field = (path ?? []).map((part) => FIELD_OF[part] ?? part).find((part) => FIELDS.has(part)) ?? FORM_FIELD;
    faults[field] = faults[field] === undefined ? message : `${faults[field]} ${message}`;
  }
  return faults;
}

function isAbsentOr(text: string, shape: RegExp): boolean {
  return text.trim() === "" || (shape.test(text.trim()) && Number(text) > 0);
}
