/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** What a limit counts. Clients must handle values they do not know. */
export type BudgetLimit =
  /** Money. */
  | 'COST'
  /** Input and output tokens together. */
  | 'TOKENS';

/** Whose limit it is. Clients must handle values they do not know. */
export type BudgetSource =
  /** An account of its agent. */
  | 'AGENT'
  /** The execution's own. */
  | 'EXECUTION'
  /** An account of its project. */
  | 'PROJECT'
  /** An account of its tenant. */
  | 'TENANT';

/** Where a model call stands. Clients must handle values they do not know. */
export type CallState =
  /** It was stopped; what was received is paid. */
  | 'CANCELLED'
  /** It failed; what was received is paid. */
  | 'FAILED'
  /** Its worker was lost: settled at the worst case, marked estimated. */
  | 'LOST'
  /** Its reply is whole and paid. */
  | 'SETTLED'
  /** Reserved; it may be under way. */
  | 'STARTED';

/** What the lines of a summary stand for. Clients must handle values they do not know. */
export type CostBy =
  /** An agent. */
  | 'AGENT'
  /** A day in UTC, by the start of the call. */
  | 'DAY'
  /** A model: provider and deployment. */
  | 'MODEL';

/** Which calls are summed. */
export type CostFilter = {
  /** Those that started at this moment or later. */
  from?: string | null | undefined;
  /** Those of this project. */
  projectId: string | number;
  /** Those that started before this moment. */
  to?: string | null | undefined;
};

/** Why a credential was taken out of a sandbox. Clients must handle values they do not know. */
export type CredentialRevokedBecause =
  /** The tool call ended. */
  | 'CALL_ENDED'
  /** Its time was over. */
  | 'EXPIRED'
  /** It could not be put there, or not be taken away again, and the sandbox was given up. */
  | 'FAILED'
  /** The sandbox ended. */
  | 'SANDBOX_ENDED';

/** What keeps sandboxes from the network. Clients must handle values they do not know. */
export type EgressEnforcement =
  /** One rule of the cluster's network for all sandboxes, which knows no host names. */
  | 'CNI'
  /** A sidecar in each sandbox, which follows a policy of host names. */
  | 'SIDECAR';

/** What became of an attempt to reach a host. Clients must handle values they do not know. */
export type EgressVerdict =
  /** It was let through. */
  | 'ALLOWED'
  /** It was refused. */
  | 'DENIED';

/** Which executions are wanted; what is left out does not narrow. */
export type ExecutionFilter = {
  /** Of this agent. */
  agentId?: string | number | null | undefined;
  /** Of this project. */
  projectId?: string | number | null | undefined;
  /** In one of these states. */
  status?: Array<ExecutionStatus> | null | undefined;
};

/** What is to be executed, with what, and within which limits. */
export type ExecutionStartInput = {
  /** The agent, whose latest published version runs; or give agentVersionId. */
  agentId?: string | number | null | undefined;
  /** The published version of an agent that is to run; or give agentId. */
  agentVersionId?: string | number | null | undefined;
  /** When it must have ended. */
  deadlineAt?: string | null | undefined;
  /** Files for the agent. */
  files?: Array<InputFileInput> | null | undefined;
  /** At most 128 bytes, fresh for each start and the same for its retries: the same key starts once. */
  idempotencyKey: string;
  /** Limits beside those of the agent; the tighter one holds. */
  limits?: LimitsInput | null | undefined;
  /** What the agent is to do. */
  task: string;
};

/** Where an execution stands. Clients must handle values they do not know. */
export type ExecutionStatus =
  /** Ended by a person. */
  | 'CANCELLED'
  /** Was told to stop; calls under way are being ended. */
  | 'CANCELLING'
  /** Ended by a failure. */
  | 'FAILED'
  /** Waits for a worker. */
  | 'QUEUED'
  /** A worker runs it, or it waits for the next worker after one was lost. */
  | 'RUNNING'
  /** Ended by a limit or the loop guard. */
  | 'STOPPED'
  /** Ended with an item: a final answer, or the error item of a limit whose outcome is ERROR_ITEM. */
  | 'SUCCEEDED'
  /** Waits for a person. */
  | 'WAITING';

/** Why a model stopped. Clients must handle values they do not know. */
export type FinishReason =
  /** A filter cut it. */
  | 'CONTENT_FILTER'
  /** It reached the output cap. */
  | 'LENGTH'
  /** It was done. */
  | 'STOP'
  /** It wants tools. */
  | 'TOOL_CALLS'
  /** A word that is not known. */
  | 'UNKNOWN';

/** A file for an execution. */
export type InputFileInput = {
  /** Binary content in base64; give this or text. */
  contentBase64?: string | null | undefined;
  /** A plain file name; the file is put into /workspace/inputs. */
  name: string;
  /** Text content; give this or contentBase64. */
  text?: string | null | undefined;
};

/** The limits there are. Clients must handle values they do not know. */
export type LimitName =
  /** maxActiveTimeMs. */
  | 'ACTIVE_TIME'
  /** maxCostUsd. */
  | 'COST'
  /** deadlineAt of the start call. */
  | 'DEADLINE'
  /** maxErrorsPerTool. */
  | 'ERRORS_PER_TOOL'
  /** maxIterations. */
  | 'ITERATIONS'
  /** maxModelCalls. */
  | 'MODEL_CALLS'
  /** maxTokens. */
  | 'TOKENS'
  /** maxToolCalls. */
  | 'TOOL_CALLS';

/** What a limit that is hit does. Clients must handle values they do not know. */
export type LimitOutcome =
  /** The execution ends as SUCCEEDED and hands on an error item, so that its caller goes on. */
  | 'ERROR_ITEM'
  /** The execution ends as STOPPED. */
  | 'STOP';

/** Who set a limit. Clients must handle values they do not know. */
export type LimitSource =
  /** The agent's version, or a budget account of the agent. */
  | 'AGENT'
  /** Nobody: it holds where nobody sets one, so that nothing runs for ever. */
  | 'DEFAULT'
  /** A budget account of the project. */
  | 'PROJECT'
  /** The start call. */
  | 'START'
  /** A budget account of the tenant. */
  | 'TENANT';

/** Upper bounds; each is greater than 0, and what is left out has no bound. */
export type LimitsInput = {
  /** Milliseconds of active time. */
  maxActiveTimeMs?: string | null | undefined;
  /** US dollars. */
  maxCostUsd?: string | null | undefined;
  /** The same tool may fail this often. */
  maxErrorsPerTool?: number | null | undefined;
  /** Agent iterations. */
  maxIterations?: number | null | undefined;
  /** Model calls. */
  maxModelCalls?: number | null | undefined;
  /** Input and output tokens together. */
  maxTokens?: string | null | undefined;
  /** Tool calls. */
  maxToolCalls?: number | null | undefined;
  /**
   * What a limit does when it is hit; one that is not named stops the execution. What the start call says holds before
   * what the agent says.
   */
  onLimit?: Array<OnLimitInput> | null | undefined;
};

/** What to do when the loop guard sees a loop. Clients must handle values they do not know. */
export type LoopAction =
  /** Do not run the call, and tell the model. */
  | 'BLOCK'
  /** End the execution. */
  | 'STOP'
  /** Tell the model. */
  | 'WARN';

/** The kinds of loops that the loop guard knows. Clients must handle values they do not know. */
export type LoopKind =
  /** Two to five calls in the same order, with unchanged results. */
  | 'CYCLE'
  /** The same call more often than polling may. */
  | 'POLL_LIMIT'
  /** The same call with unchanged results. */
  | 'REPEATED_CALL'
  /** A tool gives the same error again and again. */
  | 'REPEATED_ERROR';

/** What a limit is to do when it is hit. */
export type OnLimitInput = {
  /** The limit. */
  limit: LimitName;
  /** What it does. */
  outcome: LimitOutcome;
};

/** Which stream of a program. Clients must handle values they do not know. */
export type OutputStream =
  /** Standard error. */
  | 'STDERR'
  /** Standard output. */
  | 'STDOUT';

/** What a principal is. Clients must handle values they do not know. */
export type PrincipalKind =
  /** A program with a key. */
  | 'API_KEY'
  /** What an execution runs as. */
  | 'SERVICE_IDENTITY'
  /** A person. */
  | 'USER';

/** Whether a version may still change. Clients must handle values they do not know. */
export type ResourceVersionState =
  /** Not usable yet. */
  | 'DRAFT'
  /** Immutable and usable. */
  | 'PUBLISHED';

/** What a sandbox may reach. Clients must handle values they do not know. */
export type SandboxNetwork =
  /** The hosts that are listed, and nothing else. */
  | 'HOSTS'
  /** Nothing. */
  | 'NONE'
  /** The public network; private, metadata and cluster ranges are closed. */
  | 'PUBLIC';

/** How the sandboxes of a server are reached. Clients must handle values they do not know. */
export type SandboxRoute =
  /** At the address of the sandbox itself. */
  | 'DIRECT'
  /** Through the gateway of a cluster. */
  | 'GATEWAY'
  /** Through the lifecycle server. */
  | 'SERVER_PROXY';

/** Where sandboxes run. Clients must handle values they do not know. */
export type SandboxTier =
  /** The local runtime of this installation. */
  | 'LOCAL'
  /** An OpenSandbox server elsewhere. */
  | 'REMOTE';

/** What a server runs sandboxes with. Clients must handle values they do not know. */
export type SecureRuntime =
  /** A kernel in user space, which the egress sidecar cannot run in. */
  | 'GVISOR'
  /** A virtual machine for each sandbox. */
  | 'KATA'
  /** Containers on the host's kernel. */
  | 'RUNC';

/** What repeating a call would do. Clients must handle values they do not know. */
export type SideEffect =
  /** The same key has the same effect once. */
  | 'IDEMPOTENT'
  /** It changes nothing. */
  | 'READ_ONLY'
  /** It acts inside the execution's own sandbox. */
  | 'SANDBOX_ONLY'
  /** It acts on the world: after a loss a person decides. */
  | 'SIDE_EFFECT';

/** The one cause for which an execution ended. Clients must handle values they do not know. */
export type StopReasonCode =
  /** A grant was missing or revoked. */
  | 'ACCESS_DENIED'
  /** The limit of active time. */
  | 'ACTIVE_TIME_LIMIT'
  /** A person stopped it. */
  | 'CANCELLED'
  /** The provider's filter cut the reply. */
  | 'CONTENT_FILTERED'
  /** The limit of money. */
  | 'COST_LIMIT'
  /** The deadline passed. */
  | 'DEADLINE_EXCEEDED'
  /** The model gave its final answer. */
  | 'FINAL_ANSWER'
  /** A fault of the server. */
  | 'INTERNAL'
  /** The limit of iterations. */
  | 'ITERATION_LIMIT'
  /** It went in circles. */
  | 'LOOP_DETECTED'
  /** The limit of model calls. */
  | 'MODEL_CALL_LIMIT'
  /** The model's provider failed. */
  | 'MODEL_FAILED'
  /** The model's reply was cut off at its cap. */
  | 'MODEL_OUTPUT_TRUNCATED'
  /** A cost limit is set and the model has no price. */
  | 'PRICE_UNKNOWN'
  /** No sandbox could be had. */
  | 'SANDBOX_UNAVAILABLE'
  /** The limit of tokens. */
  | 'TOKEN_LIMIT'
  /** The limit of tool calls. */
  | 'TOOL_CALL_LIMIT'
  /** The same tool failed too often. */
  | 'TOOL_ERROR_LIMIT'
  /** A tool with side effects may have run in part. */
  | 'TOOL_OUTCOME_UNKNOWN';

/** A step of the loop that a limit can end. Clients must handle values they do not know. */
export type StopStep =
  /** The next iteration was to begin. */
  | 'ITERATION'
  /** A model call. */
  | 'MODEL_CALL'
  /** The tool calls of a reply. */
  | 'TOOL_CALLS';

/** Where a tool call stands. Clients must handle values they do not know. */
export type ToolCallState =
  /** It was stopped. */
  | 'CANCELLED'
  /** It ran and failed. */
  | 'FAILED'
  /** It may have run in part; it is not repeated. */
  | 'INTERRUPTED'
  /** Its worker was lost; it is repeated or waits for a person. */
  | 'LOST'
  /** It was never run. */
  | 'REFUSED'
  /** It may be under way. */
  | 'STARTED'
  /** It did what was asked. */
  | 'SUCCEEDED';

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer: { id: string, name: string, kind: PrincipalKind, tenant: { id: string, name: string }, defaultProject: { id: string, name: string } | null } | null };

export type CostTotalsPartsFragment = { calls: string, estimatedCalls: string, unpricedCalls: string, total: { amount: string }, estimatedTotal: { amount: string }, usage: { input: string, cachedInput: string, output: string } } & { ' $fragmentName'?: 'CostTotalsPartsFragment' };

export type CostsQueryVariables = Exact<{
  by: CostBy;
  filter: CostFilter;
  after?: string | null | undefined;
}>;


export type CostsQuery = { costSummary: { by: CostBy, totals: { ' $fragmentRefs'?: { 'CostTotalsPartsFragment': CostTotalsPartsFragment } }, lines: { nodes: Array<{ provider: string | null, deployment: string | null, day: string | null, agentId: string | null, agent: { id: string, name: string, slug: string } | null, totals: { ' $fragmentRefs'?: { 'CostTotalsPartsFragment': CostTotalsPartsFragment } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type ResourcesQueryVariables = Exact<{
  projectId: string | number;
}>;


export type ResourcesQuery = { agents: { nodes: Array<{ id: string, slug: string, name: string, archivedAt: string | null, latestVersion: { id: string, number: number, state: ResourceVersionState, digest: string, createdAt: string, tools: Array<string>, model: { id: string, alias: string } | null } | null }> } | null, models: { nodes: Array<{ id: string, slug: string, name: string, archivedAt: string | null, latestVersion: { id: string, number: number, state: ResourceVersionState, digest: string, createdAt: string, provider: string, deployment: string, scripted: boolean } | null }> } | null, sandboxProfiles: { nodes: Array<{ id: string, slug: string, name: string, archivedAt: string | null, latestVersion: { id: string, number: number, state: ResourceVersionState, digest: string, createdAt: string, image: string, memoryBytes: string, ttlSeconds: number, idleTtlSeconds: number | null, network: SandboxNetwork, networkHosts: Array<string>, user: string | null, environment: Array<{ name: string }>, profileCredentials: Array<{ name: string }> } | null }> } | null, sandboxConnections: { nodes: Array<{ id: string, slug: string, name: string, archivedAt: string | null, latestVersion: { id: string, number: number, state: ResourceVersionState, digest: string, createdAt: string, tier: SandboxTier, baseUrl: string, route: SandboxRoute, secureAccess: boolean, secureRuntime: SecureRuntime, egress: EgressEnforcement | null, endpointHosts: Array<string>, endpointPorts: Array<string>, endpointPaths: Array<string>, warnings: Array<{ code: string, message: string }> } | null }> } | null, credentials: { nodes: Array<{ id: string, slug: string, name: string, archivedAt: string | null, latestVersion: { id: string, number: number, state: ResourceVersionState, digest: string, createdAt: string } | null }> } | null };

type RunEvent_ArtifactCreated_Fragment = { __typename: 'ArtifactCreated', artifactId: string, name: string, mediaType: string, byteSize: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_ArtifactCreated_Fragment' };

type RunEvent_BudgetToppedUp_Fragment = { __typename: 'BudgetToppedUp', sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_BudgetToppedUp_Fragment' };

type RunEvent_BudgetUpdated_Fragment = { __typename: 'BudgetUpdated', sequence: string, cursor: string, at: string, budget: { ' $fragmentRefs'?: { 'BudgetFragment': BudgetFragment } } } & { ' $fragmentName'?: 'RunEvent_BudgetUpdated_Fragment' };

type RunEvent_BudgetWarning_Fragment = { __typename: 'BudgetWarning', source: BudgetSource, limit: BudgetLimit, level: number, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_BudgetWarning_Fragment' };

type RunEvent_CancelRequested_Fragment = { __typename: 'CancelRequested', by: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_CancelRequested_Fragment' };

type RunEvent_CredentialIssued_Fragment = { __typename: 'CredentialIssued', toolCallId: string, name: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_CredentialIssued_Fragment' };

type RunEvent_CredentialRevoked_Fragment = { __typename: 'CredentialRevoked', toolCallId: string, name: string, because: CredentialRevokedBecause, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_CredentialRevoked_Fragment' };

type RunEvent_ExecutionFinished_Fragment = { __typename: 'ExecutionFinished', status: ExecutionStatus, answer: string | null, sequence: string, cursor: string, at: string, stopReason: { ' $fragmentRefs'?: { 'StopReasonPartsFragment': StopReasonPartsFragment } }, errorItem: { code: StopReasonCode, limit: string | null, step: StopStep | null, iteration: number | null, message: string } | null, budget: { ' $fragmentRefs'?: { 'BudgetFragment': BudgetFragment } } } & { ' $fragmentName'?: 'RunEvent_ExecutionFinished_Fragment' };

type RunEvent_ExecutionQueued_Fragment = { __typename: 'ExecutionQueued', task: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_ExecutionQueued_Fragment' };

type RunEvent_IterationFinished_Fragment = { __typename: 'IterationFinished', iteration: number, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_IterationFinished_Fragment' };

type RunEvent_IterationStarted_Fragment = { __typename: 'IterationStarted', iteration: number, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_IterationStarted_Fragment' };

type RunEvent_LoopDetected_Fragment = { __typename: 'LoopDetected', loopKind: LoopKind, period: number, count: number, iterations: Array<number>, action: LoopAction, pardoned: boolean, message: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_LoopDetected_Fragment' };

type RunEvent_LoopOverridden_Fragment = { __typename: 'LoopOverridden', by: string, reason: string, pardons: number, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_LoopOverridden_Fragment' };

type RunEvent_ModelCallDelta_Fragment = { __typename: 'ModelCallDelta', modelCallId: string, text: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_ModelCallDelta_Fragment' };

type RunEvent_ModelCallFinished_Fragment = { __typename: 'ModelCallFinished', iteration: number, modelCallId: string, finishReason: FinishReason | null, estimated: boolean, durationMs: number, sequence: string, cursor: string, at: string, modelCallState: CallState, usage: { input: string, cachedInput: string, output: string, reasoning: string, total: string }, cost: { amount: string }, error: { code: string, message: string } | null } & { ' $fragmentName'?: 'RunEvent_ModelCallFinished_Fragment' };

type RunEvent_ModelCallRetried_Fragment = { __typename: 'ModelCallRetried', modelCallId: string, tryNumber: number, waitMs: number, sequence: string, cursor: string, at: string, error: { code: string, message: string } | null } & { ' $fragmentName'?: 'RunEvent_ModelCallRetried_Fragment' };

type RunEvent_ModelCallStarted_Fragment = { __typename: 'ModelCallStarted', iteration: number, modelCallId: string, alias: string, deployment: string, reservedTokens: string, fallbackIndex: number, sequence: string, cursor: string, at: string, reservedCost: { amount: string }, fallbackBecause: { code: string, message: string } | null } & { ' $fragmentName'?: 'RunEvent_ModelCallStarted_Fragment' };

type RunEvent_NodeAttemptStarted_Fragment = { __typename: 'NodeAttemptStarted', attempt: number, supersedesFrom: string | null, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_NodeAttemptStarted_Fragment' };

type RunEvent_OutputTruncated_Fragment = { __typename: 'OutputTruncated', toolCallId: string, omittedBytes: string, sequence: string, cursor: string, at: string, fullOutputId: string | null } & { ' $fragmentName'?: 'RunEvent_OutputTruncated_Fragment' };

type RunEvent_RawOutputKept_Fragment = { __typename: 'RawOutputKept', toolCallId: string, stream: OutputStream, byteSize: string, sequence: string, cursor: string, at: string, rawOutputId: string } & { ' $fragmentName'?: 'RunEvent_RawOutputKept_Fragment' };

type RunEvent_SandboxEgress_Fragment = { __typename: 'SandboxEgress', toolCallId: string, host: string, port: number | null, verdict: EgressVerdict, sequence: string, cursor: string, at: string, egressReason: string | null } & { ' $fragmentName'?: 'RunEvent_SandboxEgress_Fragment' };

type RunEvent_SandboxOutput_Fragment = { __typename: 'SandboxOutput', toolCallId: string, stream: OutputStream, text: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_SandboxOutput_Fragment' };

type RunEvent_SandboxStarted_Fragment = { __typename: 'SandboxStarted', sandboxId: string, tier: SandboxTier, image: string, enforced: Array<string>, expiresAt: string | null, network: SandboxNetwork | null, networkHosts: Array<string>, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_SandboxStarted_Fragment' };

type RunEvent_ToolCallFinished_Fragment = { __typename: 'ToolCallFinished', iteration: number, ordinal: number, toolCallId: string, tool: string, result: string, exitCode: number | null, durationMs: number, truncated: boolean, lossy: boolean, sequence: string, cursor: string, at: string, toolCallState: ToolCallState, error: { code: string, message: string } | null } & { ' $fragmentName'?: 'RunEvent_ToolCallFinished_Fragment' };

type RunEvent_ToolCallStarted_Fragment = { __typename: 'ToolCallStarted', iteration: number, ordinal: number, toolCallId: string, tool: string, arguments: unknown, rawArguments: string, sideEffect: SideEffect, fingerprint: string, timeoutMs: number | null, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_ToolCallStarted_Fragment' };

type RunEvent_WarningRaised_Fragment = { __typename: 'WarningRaised', code: string, message: string, sequence: string, cursor: string, at: string } & { ' $fragmentName'?: 'RunEvent_WarningRaised_Fragment' };

export type RunEventFragment =
  | RunEvent_ArtifactCreated_Fragment
  | RunEvent_BudgetToppedUp_Fragment
  | RunEvent_BudgetUpdated_Fragment
  | RunEvent_BudgetWarning_Fragment
  | RunEvent_CancelRequested_Fragment
  | RunEvent_CredentialIssued_Fragment
  | RunEvent_CredentialRevoked_Fragment
  | RunEvent_ExecutionFinished_Fragment
  | RunEvent_ExecutionQueued_Fragment
  | RunEvent_IterationFinished_Fragment
  | RunEvent_IterationStarted_Fragment
  | RunEvent_LoopDetected_Fragment
  | RunEvent_LoopOverridden_Fragment
  | RunEvent_ModelCallDelta_Fragment
  | RunEvent_ModelCallFinished_Fragment
  | RunEvent_ModelCallRetried_Fragment
  | RunEvent_ModelCallStarted_Fragment
  | RunEvent_NodeAttemptStarted_Fragment
  | RunEvent_OutputTruncated_Fragment
  | RunEvent_RawOutputKept_Fragment
  | RunEvent_SandboxEgress_Fragment
  | RunEvent_SandboxOutput_Fragment
  | RunEvent_SandboxStarted_Fragment
  | RunEvent_ToolCallFinished_Fragment
  | RunEvent_ToolCallStarted_Fragment
  | RunEvent_WarningRaised_Fragment
;

export type BudgetFragment = { cost: { spent: { amount: string }, reserved: { amount: string }, limit: { amount: string } | null }, tokens: { used: string, reserved: string, limit: string | null }, iterations: { used: string, reserved: string, limit: string | null }, modelCalls: { used: string, limit: string | null }, toolCalls: { used: string, limit: string | null }, activeTime: { used: string, reserved: string, limit: string | null } } & { ' $fragmentName'?: 'BudgetFragment' };

export type StopReasonPartsFragment = { code: StopReasonCode, message: string, limit: string | null, iteration: number | null, step: StopStep | null } & { ' $fragmentName'?: 'StopReasonPartsFragment' };

export type ExecutionEventsSubscriptionVariables = Exact<{
  executionId: string | number;
  after?: string | null | undefined;
}>;


export type ExecutionEventsSubscription = { executionEvents:
    | { ' $fragmentRefs'?: { 'RunEvent_ArtifactCreated_Fragment': RunEvent_ArtifactCreated_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_BudgetToppedUp_Fragment': RunEvent_BudgetToppedUp_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_BudgetUpdated_Fragment': RunEvent_BudgetUpdated_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_BudgetWarning_Fragment': RunEvent_BudgetWarning_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_CancelRequested_Fragment': RunEvent_CancelRequested_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_CredentialIssued_Fragment': RunEvent_CredentialIssued_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_CredentialRevoked_Fragment': RunEvent_CredentialRevoked_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ExecutionFinished_Fragment': RunEvent_ExecutionFinished_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ExecutionQueued_Fragment': RunEvent_ExecutionQueued_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_IterationFinished_Fragment': RunEvent_IterationFinished_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_IterationStarted_Fragment': RunEvent_IterationStarted_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_LoopDetected_Fragment': RunEvent_LoopDetected_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_LoopOverridden_Fragment': RunEvent_LoopOverridden_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ModelCallDelta_Fragment': RunEvent_ModelCallDelta_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ModelCallFinished_Fragment': RunEvent_ModelCallFinished_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ModelCallRetried_Fragment': RunEvent_ModelCallRetried_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ModelCallStarted_Fragment': RunEvent_ModelCallStarted_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_NodeAttemptStarted_Fragment': RunEvent_NodeAttemptStarted_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_OutputTruncated_Fragment': RunEvent_OutputTruncated_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_RawOutputKept_Fragment': RunEvent_RawOutputKept_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_SandboxEgress_Fragment': RunEvent_SandboxEgress_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_SandboxOutput_Fragment': RunEvent_SandboxOutput_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_SandboxStarted_Fragment': RunEvent_SandboxStarted_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ToolCallFinished_Fragment': RunEvent_ToolCallFinished_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_ToolCallStarted_Fragment': RunEvent_ToolCallStarted_Fragment } }
    | { ' $fragmentRefs'?: { 'RunEvent_WarningRaised_Fragment': RunEvent_WarningRaised_Fragment } }
   };

export type RunQueryVariables = Exact<{
  id: string | number;
}>;


export type RunQuery = { execution: { id: string, task: string, status: ExecutionStatus, scripted: boolean, createdAt: string, startedAt: string | null, endedAt: string | null, partialAnswer: string | null, agent: { id: string, name: string, slug: string } | null, agentVersion: { id: string, number: number } | null, inputs: Array<{ id: string, name: string, mediaType: string, byteSize: string }>, budget: { ' $fragmentRefs'?: { 'BudgetFragment': BudgetFragment } }, effectiveLimits: Array<{ name: string, value: string, source: LimitSource, accountId: string | null }> } | null };

export type ExecutionCancelMutationVariables = Exact<{
  executionId: string | number;
}>;


export type ExecutionCancelMutation = { executionCancel: { execution: { id: string, status: ExecutionStatus } | null, receipt: { message: string } | null, userErrors: Array<{ code: string, message: string, path: Array<string> | null }> } };

export type ArtifactLinkQueryVariables = Exact<{
  id: string | number;
}>;


export type ArtifactLinkQuery = { node:
    | { id: string }
    | { id: string }
    | { id: string }
    | { downloadUrl: string, id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
   | null };

export type ToolCallDetailsQueryVariables = Exact<{
  id: string | number;
}>;


export type ToolCallDetailsQuery = { node:
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { toolVersion: string, idempotencyKey: string, id: string, sandbox: { id: string, tier: SandboxTier, image: string, network: SandboxNetwork, networkHosts: Array<string>, credentials: Array<string>, enforced: Array<string>, memoryBytes: string, diskBytes: string, pids: number, expiresAt: string | null } | null }
   | null };

export type ModelCallDetailsQueryVariables = Exact<{
  id: string | number;
}>;


export type ModelCallDetailsQuery = { node:
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { provider: string, deployment: string, parameters: unknown, firstDeltaMs: number | null, id: string, priceVersion: { id: string, inputPerMillion: { amount: string }, cachedInputPerMillion: { amount: string }, outputPerMillion: { amount: string } } | null }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
   | null };

export type RunRowFragment = { id: string, task: string, status: ExecutionStatus, scripted: boolean, createdAt: string, startedAt: string | null, endedAt: string | null, currentIteration: number, stopReason: { ' $fragmentRefs'?: { 'StopReasonPartsFragment': StopReasonPartsFragment } } | null, agent: { id: string, name: string } | null, agentVersion: { id: string, number: number } | null, budget: { cost: { spent: { amount: string } }, tokens: { used: string } } } & { ' $fragmentName'?: 'RunRowFragment' };

export type RunsQueryVariables = Exact<{
  filter?: ExecutionFilter | null | undefined;
  first: number;
  after?: string | null | undefined;
}>;


export type RunsQuery = { executions: { nodes: Array<{ ' $fragmentRefs'?: { 'RunRowFragment': RunRowFragment } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null };

export type RunUpdatesSubscriptionVariables = Exact<{
  filter?: ExecutionFilter | null | undefined;
}>;


export type RunUpdatesSubscription = { executionUpdates: { ' $fragmentRefs'?: { 'RunRowFragment': RunRowFragment } } };

export type StartableAgentsQueryVariables = Exact<{
  projectId: string | number;
}>;


export type StartableAgentsQuery = { agents: { nodes: Array<{ id: string, name: string, slug: string, archivedAt: string | null, latestVersion: { id: string, number: number, tools: Array<string>, model: { id: string, alias: string, scripted: boolean } | null, limits: { maxIterations: number | null, maxTokens: string | null, maxActiveTimeMs: string | null, maxCost: { amount: string } | null } } | null }> } | null };

export type ExecutionStartMutationVariables = Exact<{
  input: ExecutionStartInput;
}>;


export type ExecutionStartMutation = { executionStart: { replayed: boolean, execution: { id: string } | null, userErrors: Array<{ code: string, message: string, path: Array<string> | null }> } };

export const CostTotalsPartsFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"CostTotalsParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CostTotals"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"total"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"calls"}},{"kind":"Field","name":{"kind":"Name","value":"estimatedTotal"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"estimatedCalls"}},{"kind":"Field","name":{"kind":"Name","value":"unpricedCalls"}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"input"}},{"kind":"Field","name":{"kind":"Name","value":"cachedInput"}},{"kind":"Field","name":{"kind":"Name","value":"output"}}]}}]}}]} as unknown as DocumentNode<CostTotalsPartsFragment, unknown>;
export const BudgetFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"Budget"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionBudget"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reserved"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"limit"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"iterations"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"modelCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"toolCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"activeTime"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}}]}}]} as unknown as DocumentNode<BudgetFragment, unknown>;
export const StopReasonPartsFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}}]} as unknown as DocumentNode<StopReasonPartsFragment, unknown>;
export const RunEventFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"RunEvent"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionEvent"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"sequence"}},{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionQueued"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"task"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"NodeAttemptStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"supersedesFrom"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"IterationStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"alias"}},{"kind":"Field","name":{"kind":"Name","value":"deployment"}},{"kind":"Field","name":{"kind":"Name","value":"reservedCost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reservedTokens"}},{"kind":"Field","name":{"kind":"Name","value":"fallbackIndex"}},{"kind":"Field","name":{"kind":"Name","value":"fallbackBecause"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallRetried"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tryNumber"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"waitMs"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallDelta"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"text"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","alias":{"kind":"Name","value":"modelCallState"},"name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"finishReason"}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"input"}},{"kind":"Field","name":{"kind":"Name","value":"cachedInput"}},{"kind":"Field","name":{"kind":"Name","value":"output"}},{"kind":"Field","name":{"kind":"Name","value":"reasoning"}},{"kind":"Field","name":{"kind":"Name","value":"total"}}]}},{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"estimated"}},{"kind":"Field","name":{"kind":"Name","value":"durationMs"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ToolCallStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"ordinal"}},{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tool"}},{"kind":"Field","name":{"kind":"Name","value":"arguments"}},{"kind":"Field","name":{"kind":"Name","value":"rawArguments"}},{"kind":"Field","name":{"kind":"Name","value":"sideEffect"}},{"kind":"Field","name":{"kind":"Name","value":"fingerprint"}},{"kind":"Field","name":{"kind":"Name","value":"timeoutMs"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"sandboxId"}},{"kind":"Field","name":{"kind":"Name","value":"tier"}},{"kind":"Field","name":{"kind":"Name","value":"image"}},{"kind":"Field","name":{"kind":"Name","value":"enforced"}},{"kind":"Field","name":{"kind":"Name","value":"expiresAt"}},{"kind":"Field","name":{"kind":"Name","value":"network"}},{"kind":"Field","name":{"kind":"Name","value":"networkHosts"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxOutput"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","name":{"kind":"Name","value":"text"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxEgress"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"host"}},{"kind":"Field","name":{"kind":"Name","value":"port"}},{"kind":"Field","name":{"kind":"Name","value":"verdict"}},{"kind":"Field","alias":{"kind":"Name","value":"egressReason"},"name":{"kind":"Name","value":"reason"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CredentialIssued"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CredentialRevoked"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"because"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"OutputTruncated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"omittedBytes"}},{"kind":"Field","alias":{"kind":"Name","value":"fullOutputId"},"name":{"kind":"Name","value":"artifactId"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RawOutputKept"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","alias":{"kind":"Name","value":"rawOutputId"},"name":{"kind":"Name","value":"artifactId"}},{"kind":"Field","name":{"kind":"Name","value":"byteSize"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ToolCallFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"ordinal"}},{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tool"}},{"kind":"Field","alias":{"kind":"Name","value":"toolCallState"},"name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"durationMs"}},{"kind":"Field","name":{"kind":"Name","value":"truncated"}},{"kind":"Field","name":{"kind":"Name","value":"lossy"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ArtifactCreated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"artifactId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"mediaType"}},{"kind":"Field","name":{"kind":"Name","value":"byteSize"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"IterationFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"BudgetUpdated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"Budget"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"BudgetWarning"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"source"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"level"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WarningRaised"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LoopDetected"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"loopKind"}},{"kind":"Field","name":{"kind":"Name","value":"period"}},{"kind":"Field","name":{"kind":"Name","value":"count"}},{"kind":"Field","name":{"kind":"Name","value":"iterations"}},{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"pardoned"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LoopOverridden"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"by"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"pardons"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CancelRequested"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"by"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"stopReason"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"StopReasonParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"answer"}},{"kind":"Field","name":{"kind":"Name","value":"errorItem"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"step"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"Budget"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"Budget"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionBudget"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reserved"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"limit"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"iterations"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"modelCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"toolCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"activeTime"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}}]} as unknown as DocumentNode<RunEventFragment, unknown>;
export const RunRowFragmentDoc = {"kind":"Document","definitions":[{"kind":"FragmentDefinition","name":{"kind":"Name","value":"RunRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Execution"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"task"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"endedAt"}},{"kind":"Field","name":{"kind":"Name","value":"currentIteration"}},{"kind":"Field","name":{"kind":"Name","value":"stopReason"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"StopReasonParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agentVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}}]} as unknown as DocumentNode<RunRowFragment, unknown>;
export const ViewerDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"Viewer"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"viewer"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"kind"}},{"kind":"Field","name":{"kind":"Name","value":"tenant"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"defaultProject"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}}]}}]}}]} as unknown as DocumentNode<ViewerQuery, ViewerQueryVariables>;
export const CostsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"Costs"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"by"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"CostBy"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"CostFilter"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"costSummary"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"by"},"value":{"kind":"Variable","name":{"kind":"Name","value":"by"}}},{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"by"}},{"kind":"Field","name":{"kind":"Name","value":"totals"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"CostTotalsParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"lines"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"provider"}},{"kind":"Field","name":{"kind":"Name","value":"deployment"}},{"kind":"Field","name":{"kind":"Name","value":"day"}},{"kind":"Field","name":{"kind":"Name","value":"agentId"}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}}]}},{"kind":"Field","name":{"kind":"Name","value":"totals"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"CostTotalsParts"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasNextPage"}},{"kind":"Field","name":{"kind":"Name","value":"endCursor"}}]}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"CostTotalsParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CostTotals"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"total"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"calls"}},{"kind":"Field","name":{"kind":"Name","value":"estimatedTotal"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"estimatedCalls"}},{"kind":"Field","name":{"kind":"Name","value":"unpricedCalls"}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"input"}},{"kind":"Field","name":{"kind":"Name","value":"cachedInput"}},{"kind":"Field","name":{"kind":"Name","value":"output"}}]}}]}}]} as unknown as DocumentNode<CostsQuery, CostsQueryVariables>;
export const ResourcesDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"Resources"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"agents"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"digest"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"tools"}},{"kind":"Field","name":{"kind":"Name","value":"model"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"alias"}}]}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"models"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"digest"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"provider"}},{"kind":"Field","name":{"kind":"Name","value":"deployment"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sandboxProfiles"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"digest"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"image"}},{"kind":"Field","name":{"kind":"Name","value":"memoryBytes"}},{"kind":"Field","name":{"kind":"Name","value":"ttlSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"idleTtlSeconds"}},{"kind":"Field","name":{"kind":"Name","value":"network"}},{"kind":"Field","name":{"kind":"Name","value":"networkHosts"}},{"kind":"Field","name":{"kind":"Name","value":"user"}},{"kind":"Field","name":{"kind":"Name","value":"environment"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","alias":{"kind":"Name","value":"profileCredentials"},"name":{"kind":"Name","value":"credentials"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"name"}}]}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"sandboxConnections"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"digest"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"tier"}},{"kind":"Field","name":{"kind":"Name","value":"baseUrl"}},{"kind":"Field","name":{"kind":"Name","value":"route"}},{"kind":"Field","name":{"kind":"Name","value":"secureAccess"}},{"kind":"Field","name":{"kind":"Name","value":"secureRuntime"}},{"kind":"Field","name":{"kind":"Name","value":"egress"}},{"kind":"Field","name":{"kind":"Name","value":"endpointHosts"}},{"kind":"Field","name":{"kind":"Name","value":"endpointPorts"}},{"kind":"Field","name":{"kind":"Name","value":"endpointPaths"}},{"kind":"Field","name":{"kind":"Name","value":"warnings"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"credentials"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"digest"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}}]}}]}}]}}]}}]} as unknown as DocumentNode<ResourcesQuery, ResourcesQueryVariables>;
export const ExecutionEventsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"subscription","name":{"kind":"Name","value":"ExecutionEvents"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"executionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"executionEvents"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"executionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"executionId"}}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"RunEvent"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"Budget"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionBudget"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reserved"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"limit"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"iterations"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"modelCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"toolCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"activeTime"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"RunEvent"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionEvent"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"__typename"}},{"kind":"Field","name":{"kind":"Name","value":"sequence"}},{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"at"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionQueued"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"task"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"NodeAttemptStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"attempt"}},{"kind":"Field","name":{"kind":"Name","value":"supersedesFrom"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"IterationStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"alias"}},{"kind":"Field","name":{"kind":"Name","value":"deployment"}},{"kind":"Field","name":{"kind":"Name","value":"reservedCost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reservedTokens"}},{"kind":"Field","name":{"kind":"Name","value":"fallbackIndex"}},{"kind":"Field","name":{"kind":"Name","value":"fallbackBecause"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallRetried"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tryNumber"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"waitMs"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallDelta"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","name":{"kind":"Name","value":"text"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCallFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"modelCallId"}},{"kind":"Field","alias":{"kind":"Name","value":"modelCallState"},"name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"finishReason"}},{"kind":"Field","name":{"kind":"Name","value":"usage"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"input"}},{"kind":"Field","name":{"kind":"Name","value":"cachedInput"}},{"kind":"Field","name":{"kind":"Name","value":"output"}},{"kind":"Field","name":{"kind":"Name","value":"reasoning"}},{"kind":"Field","name":{"kind":"Name","value":"total"}}]}},{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"estimated"}},{"kind":"Field","name":{"kind":"Name","value":"durationMs"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ToolCallStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"ordinal"}},{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tool"}},{"kind":"Field","name":{"kind":"Name","value":"arguments"}},{"kind":"Field","name":{"kind":"Name","value":"rawArguments"}},{"kind":"Field","name":{"kind":"Name","value":"sideEffect"}},{"kind":"Field","name":{"kind":"Name","value":"fingerprint"}},{"kind":"Field","name":{"kind":"Name","value":"timeoutMs"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxStarted"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"sandboxId"}},{"kind":"Field","name":{"kind":"Name","value":"tier"}},{"kind":"Field","name":{"kind":"Name","value":"image"}},{"kind":"Field","name":{"kind":"Name","value":"enforced"}},{"kind":"Field","name":{"kind":"Name","value":"expiresAt"}},{"kind":"Field","name":{"kind":"Name","value":"network"}},{"kind":"Field","name":{"kind":"Name","value":"networkHosts"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxOutput"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","name":{"kind":"Name","value":"text"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"SandboxEgress"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"host"}},{"kind":"Field","name":{"kind":"Name","value":"port"}},{"kind":"Field","name":{"kind":"Name","value":"verdict"}},{"kind":"Field","alias":{"kind":"Name","value":"egressReason"},"name":{"kind":"Name","value":"reason"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CredentialIssued"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CredentialRevoked"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"because"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"OutputTruncated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"omittedBytes"}},{"kind":"Field","alias":{"kind":"Name","value":"fullOutputId"},"name":{"kind":"Name","value":"artifactId"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"RawOutputKept"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"stream"}},{"kind":"Field","alias":{"kind":"Name","value":"rawOutputId"},"name":{"kind":"Name","value":"artifactId"}},{"kind":"Field","name":{"kind":"Name","value":"byteSize"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ToolCallFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"ordinal"}},{"kind":"Field","name":{"kind":"Name","value":"toolCallId"}},{"kind":"Field","name":{"kind":"Name","value":"tool"}},{"kind":"Field","alias":{"kind":"Name","value":"toolCallState"},"name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"result"}},{"kind":"Field","name":{"kind":"Name","value":"exitCode"}},{"kind":"Field","name":{"kind":"Name","value":"error"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"durationMs"}},{"kind":"Field","name":{"kind":"Name","value":"truncated"}},{"kind":"Field","name":{"kind":"Name","value":"lossy"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ArtifactCreated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"artifactId"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"mediaType"}},{"kind":"Field","name":{"kind":"Name","value":"byteSize"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"IterationFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"iteration"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"BudgetUpdated"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"Budget"}}]}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"BudgetWarning"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"source"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"level"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"WarningRaised"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LoopDetected"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"loopKind"}},{"kind":"Field","name":{"kind":"Name","value":"period"}},{"kind":"Field","name":{"kind":"Name","value":"count"}},{"kind":"Field","name":{"kind":"Name","value":"iterations"}},{"kind":"Field","name":{"kind":"Name","value":"action"}},{"kind":"Field","name":{"kind":"Name","value":"pardoned"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"LoopOverridden"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"by"}},{"kind":"Field","name":{"kind":"Name","value":"reason"}},{"kind":"Field","name":{"kind":"Name","value":"pardons"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"CancelRequested"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"by"}}]}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionFinished"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"stopReason"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"StopReasonParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"answer"}},{"kind":"Field","name":{"kind":"Name","value":"errorItem"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"step"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"Budget"}}]}}]}}]}}]} as unknown as DocumentNode<ExecutionEventsSubscription, ExecutionEventsSubscriptionVariables>;
export const RunDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"Run"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"execution"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"task"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"endedAt"}},{"kind":"Field","name":{"kind":"Name","value":"partialAnswer"}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agentVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}}]}},{"kind":"Field","name":{"kind":"Name","value":"inputs"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"mediaType"}},{"kind":"Field","name":{"kind":"Name","value":"byteSize"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"Budget"}}]}},{"kind":"Field","name":{"kind":"Name","value":"effectiveLimits"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"value"}},{"kind":"Field","name":{"kind":"Name","value":"source"}},{"kind":"Field","name":{"kind":"Name","value":"accountId"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"Budget"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionBudget"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"reserved"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"limit"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"iterations"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"modelCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"toolCalls"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}},{"kind":"Field","name":{"kind":"Name","value":"activeTime"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}},{"kind":"Field","name":{"kind":"Name","value":"reserved"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}}]}}]}}]} as unknown as DocumentNode<RunQuery, RunQueryVariables>;
export const ExecutionCancelDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"ExecutionCancel"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"executionId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"executionCancel"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"ObjectValue","fields":[{"kind":"ObjectField","name":{"kind":"Name","value":"executionId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"executionId"}}}]}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"execution"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"status"}}]}},{"kind":"Field","name":{"kind":"Name","value":"receipt"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"message"}}]}},{"kind":"Field","name":{"kind":"Name","value":"userErrors"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"path"}}]}}]}}]}}]} as unknown as DocumentNode<ExecutionCancelMutation, ExecutionCancelMutationVariables>;
export const ArtifactLinkDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"ArtifactLink"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Artifact"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"downloadUrl"}}]}}]}}]}}]} as unknown as DocumentNode<ArtifactLinkQuery, ArtifactLinkQueryVariables>;
export const ToolCallDetailsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"ToolCallDetails"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ToolCall"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"toolVersion"}},{"kind":"Field","name":{"kind":"Name","value":"idempotencyKey"}},{"kind":"Field","name":{"kind":"Name","value":"sandbox"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"tier"}},{"kind":"Field","name":{"kind":"Name","value":"image"}},{"kind":"Field","name":{"kind":"Name","value":"network"}},{"kind":"Field","name":{"kind":"Name","value":"networkHosts"}},{"kind":"Field","name":{"kind":"Name","value":"credentials"}},{"kind":"Field","name":{"kind":"Name","value":"enforced"}},{"kind":"Field","name":{"kind":"Name","value":"memoryBytes"}},{"kind":"Field","name":{"kind":"Name","value":"diskBytes"}},{"kind":"Field","name":{"kind":"Name","value":"pids"}},{"kind":"Field","name":{"kind":"Name","value":"expiresAt"}}]}}]}}]}}]}}]} as unknown as DocumentNode<ToolCallDetailsQuery, ToolCallDetailsQueryVariables>;
export const ModelCallDetailsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"ModelCallDetails"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"ModelCall"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"provider"}},{"kind":"Field","name":{"kind":"Name","value":"deployment"}},{"kind":"Field","name":{"kind":"Name","value":"parameters"}},{"kind":"Field","name":{"kind":"Name","value":"firstDeltaMs"}},{"kind":"Field","name":{"kind":"Name","value":"priceVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"inputPerMillion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"cachedInputPerMillion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}},{"kind":"Field","name":{"kind":"Name","value":"outputPerMillion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}}]}}]}}]}}]} as unknown as DocumentNode<ModelCallDetailsQuery, ModelCallDetailsQueryVariables>;
export const RunsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"Runs"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionFilter"}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"first"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}},{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"executions"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}},{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"RunRow"}}]}},{"kind":"Field","name":{"kind":"Name","value":"pageInfo"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"hasNextPage"}},{"kind":"Field","name":{"kind":"Name","value":"endCursor"}}]}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"RunRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Execution"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"task"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"endedAt"}},{"kind":"Field","name":{"kind":"Name","value":"currentIteration"}},{"kind":"Field","name":{"kind":"Name","value":"stopReason"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"StopReasonParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agentVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}}]}}]}}]}}]} as unknown as DocumentNode<RunsQuery, RunsQueryVariables>;
export const RunUpdatesDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"subscription","name":{"kind":"Name","value":"RunUpdates"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"filter"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionFilter"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"executionUpdates"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"filter"},"value":{"kind":"Variable","name":{"kind":"Name","value":"filter"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"RunRow"}}]}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"StopReasonParts"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"StopReason"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"limit"}},{"kind":"Field","name":{"kind":"Name","value":"iteration"}},{"kind":"Field","name":{"kind":"Name","value":"step"}}]}},{"kind":"FragmentDefinition","name":{"kind":"Name","value":"RunRow"},"typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Execution"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"task"}},{"kind":"Field","name":{"kind":"Name","value":"status"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}},{"kind":"Field","name":{"kind":"Name","value":"createdAt"}},{"kind":"Field","name":{"kind":"Name","value":"startedAt"}},{"kind":"Field","name":{"kind":"Name","value":"endedAt"}},{"kind":"Field","name":{"kind":"Name","value":"currentIteration"}},{"kind":"Field","name":{"kind":"Name","value":"stopReason"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"FragmentSpread","name":{"kind":"Name","value":"StopReasonParts"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}}]}},{"kind":"Field","name":{"kind":"Name","value":"agentVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}}]}},{"kind":"Field","name":{"kind":"Name","value":"budget"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"spent"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}},{"kind":"Field","name":{"kind":"Name","value":"tokens"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"used"}}]}}]}}]}}]} as unknown as DocumentNode<RunUpdatesSubscription, RunUpdatesSubscriptionVariables>;
export const StartableAgentsDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"StartableAgents"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"agents"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"projectId"},"value":{"kind":"Variable","name":{"kind":"Name","value":"projectId"}}},{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"IntValue","value":"100"}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"nodes"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"name"}},{"kind":"Field","name":{"kind":"Name","value":"slug"}},{"kind":"Field","name":{"kind":"Name","value":"archivedAt"}},{"kind":"Field","name":{"kind":"Name","value":"latestVersion"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"number"}},{"kind":"Field","name":{"kind":"Name","value":"tools"}},{"kind":"Field","name":{"kind":"Name","value":"model"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"alias"}},{"kind":"Field","name":{"kind":"Name","value":"scripted"}}]}},{"kind":"Field","name":{"kind":"Name","value":"limits"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"maxIterations"}},{"kind":"Field","name":{"kind":"Name","value":"maxTokens"}},{"kind":"Field","name":{"kind":"Name","value":"maxActiveTimeMs"}},{"kind":"Field","name":{"kind":"Name","value":"maxCost"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"amount"}}]}}]}}]}}]}}]}}]}}]} as unknown as DocumentNode<StartableAgentsQuery, StartableAgentsQueryVariables>;
export const ExecutionStartDocument = {"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"ExecutionStart"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ExecutionStartInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"executionStart"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"execution"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}}]}},{"kind":"Field","name":{"kind":"Name","value":"replayed"}},{"kind":"Field","name":{"kind":"Name","value":"userErrors"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"code"}},{"kind":"Field","name":{"kind":"Name","value":"message"}},{"kind":"Field","name":{"kind":"Name","value":"path"}}]}}]}}]}}]} as unknown as DocumentNode<ExecutionStartMutation, ExecutionStartMutationVariables>;