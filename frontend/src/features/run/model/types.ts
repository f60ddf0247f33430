import type {
  CallState,
  CredentialRevokedBecause,
  ExecutionStatus,
  FinishReason,
  LoopAction,
  LoopKind,
  RunEventFragment,
  SandboxNetwork,
  SandboxTier,
  SideEffect,
  StopReasonCode,
  StopStep,
  ToolCallState,
} from "@/graphql/generated/graphql";
import type { Budget } from "./budget";

export type RunEvent = RunEventFragment;
export type EventOf<Name extends RunEvent["__typename"]> = Extract<RunEvent, { __typename: Name }>;

export interface CallFault {
  code: string;
  message: string;
}

export interface TokensByKind {
  input: number;
  cachedInput: number;
  output: number;
  reasoning: number;
  total: number;
}

/** A try that failed at no cost; the request was sent again after the pause. */
export interface FailedTry {
  error: CallFault | null;
  waitMs: number;
}

export interface ModelCallView {
  id: string;
  iteration: number;
  sequence: number;
  alias: string;
  deployment: string;
  /** The model's place in the pinned list; 0 is the agent's own. */
  fallbackIndex: number;
  fallbackBecause: CallFault | null;
  failedTries: readonly FailedTry[];
  state: CallState;
  text: string;
  reservedCost: number;
  reservedTokens: number;
  tokens: TokensByKind | null;
  cost: number | null;
  estimated: boolean;
  finishReason: FinishReason | null;
  error: CallFault | null;
  startedAt: number;
  durationMs: number | null;
}

/** What a tool printed, capped for display; `droppedChars` were cut from its head. */
export interface ToolOutput {
  text: string;
  droppedChars: number;
  stderrTail: string;
}

/** One try of a program to reach a host. */
export interface EgressView {
  host: string;
  port: number | null;
  /** Denied by a rule; or allowed by them, and failed all the same. */
  outcome: "allowed" | "denied" | "failed";
  /** Why it was not reached, as the server names it. */
  reason: string | null;
}

/** A credential that lay in the sandbox for the time of the call. */
export interface LentCredentialView {
  name: string;
  /** Why it was taken away; null while it is there. */
  revokedBecause: CredentialRevokedBecause | null;
}

export interface ToolCallView {
  id: string;
  iteration: number;
  ordinal: number;
  sequence: number;
  tool: string;
  state: ToolCallState;
  arguments: unknown;
  rawArguments: string;
  sideEffect: SideEffect | null;
  fingerprint: string;
  timeoutMs: number | null;
  startedAt: number;
  durationMs: number | null;
  output: ToolOutput;
  result: string | null;
  exitCode: number | null;
  error: CallFault | null;
  truncated: boolean;
  lossy: boolean;
  omittedBytes: number;
  fullOutputId: string | null;
  /** Files with the bytes of what was printed and is no text. */
  rawOutputs: readonly RawOutputView[];
  egress: readonly EgressView[];
  credentials: readonly LentCredentialView[];
}

export interface RawOutputView {
  id: string;
  stream: "stdout" | "stderr";
  byteSize: number;
}

/** A new attempt took over: what its predecessor left open is lost and done again. */
export interface AttemptItem {
  type: "attempt";
  key: string;
  attempt: number;
  lostModelCalls: number;
  lostToolCalls: number;
  lostReservedCost: number;
}

export type StreamItem =
  | { type: "model"; key: string }
  | { type: "tool"; key: string }
  | { type: "warning"; key: string; code: string; message: string }
  | { type: "loop"; key: string; loop: LoopView }
  | { type: "override"; key: string; reason: string; pardons: number }
  | AttemptItem;

/** What the loop guard found, and in which iterations. */
export interface LoopView {
  kind: LoopKind;
  period: number;
  count: number;
  iterations: number[];
  action: LoopAction;
  pardoned: boolean;
  message: string;
}

export interface IterationView {
  number: number;
  startedAt: number;
  endedAt: number | null;
  items: StreamItem[];
}

export interface SandboxView {
  id: string;
  tier: SandboxTier;
  image: string;
  enforced: string[];
  expiresAt: string | null;
  /** Null in logs of older servers. */
  network: SandboxNetwork | null;
  networkHosts: string[];
}

export interface ArtifactView {
  id: string;
  name: string;
  mediaType: string;
  byteSize: number;
}

export interface StopReasonView {
  code: StopReasonCode;
  message: string;
  limit: string | null;
  iteration: number | null;
  step: StopStep | null;
}

/** Everything the run page shows that comes from the log. */
export interface RunView {
  task: string | null;
  status: ExecutionStatus | null;
  attempt: number;
  queuedAt: number | null;
  startedAt: number | null;
  endedAt: number | null;
  /** Notices from before the next iteration starts. */
  notices: StreamItem[];
  iterations: IterationView[];
  modelCalls: Record<string, ModelCallView>;
  toolCalls: Record<string, ToolCallView>;
  /** Model calls of superseded parts that never settled, by id. */
  lostCalls: Record<string, ModelCallView>;
  sandboxes: SandboxView[];
  artifacts: ArtifactView[];
  budget: Budget | null;
  budgetAt: number | null;
  cancelRequested: boolean;
  /** The last loop that was not let pass. */
  loop: LoopView | null;
  stopReason: StopReasonView | null;
  answer: string | null;
  /** What the run hands on when it ended at a limit that asks for it. */
  errorItem: EventOf<"ExecutionFinished">["errorItem"];
}
