import { graphql } from "@/graphql/generated";

/**
 * One entry of an execution's log, as the fold needs it. Fields whose types differ between kinds
 * of events carry an alias, since one selection may not give a name two types.
 */
export const RunEventFields = graphql(`
  fragment RunEvent on ExecutionEvent {
    __typename
    sequence
    cursor
    at
    ... on ExecutionQueued {
      task
    }
    ... on NodeAttemptStarted {
      attempt
      supersedesFrom
    }
    ... on IterationStarted {
      iteration
    }
    ... on ModelCallStarted {
      iteration
      modelCallId
      alias
      deployment
      reservedCost {
        amount
      }
      reservedTokens
      fallbackIndex
      fallbackBecause {
        code
        message
      }
    }
    ... on ModelCallRetried {
      modelCallId
      tryNumber
      error {
        code
        message
      }
      waitMs
    }
    ... on ModelCallDelta {
      modelCallId
      text
    }
    ... on ModelCallFinished {
      iteration
      modelCallId
      modelCallState: state
      finishReason
      usage {
        input
        cachedInput
        output
        reasoning
        total
      }
      cost {
        amount
      }
      estimated
      durationMs
      error {
        code
        message
      }
    }
    ... on ToolCallStarted {
      iteration
      ordinal
      toolCallId
      tool
      arguments
      rawArguments
      sideEffect
      fingerprint
      timeoutMs
    }
    ... on SandboxStarted {
      sandboxId
      tier
      image
      enforced
      expiresAt
      network
      networkHosts
    }
    ... on SandboxOutput {
      toolCallId
      stream
      text
    }
    ... on SandboxEgress {
      toolCallId
      host
      port
      verdict
      egressReason: reason
    }
    ... on CredentialIssued {
      toolCallId
      name
    }
    ... on CredentialRevoked {
      toolCallId
      name
      because
    }
    ... on OutputTruncated {
      toolCallId
      omittedBytes
      fullOutputId: artifactId
    }
    ... on RawOutputKept {
      toolCallId
      stream
      rawOutputId: artifactId
      byteSize
    }
    ... on ToolCallFinished {
      iteration
      ordinal
      toolCallId
      tool
      toolCallState: state
      result
      exitCode
      error {
        code
        message
      }
      durationMs
      truncated
      lossy
    }
    ... on ArtifactCreated {
      artifactId
      name
      mediaType
      byteSize
    }
    ... on IterationFinished {
      iteration
    }
    ... on BudgetUpdated {
      budget {
        ...Budget
      }
    }
    ... on BudgetWarning {
      source
      limit
      level
    }
    ... on WarningRaised {
      code
      message
    }
    ... on LoopDetected {
      loopKind
      period
      count
      iterations
      action
      pardoned
      message
    }
    ... on LoopOverridden {
      by
      reason
      pardons
    }
    ... on CancelRequested {
      by
    }
    ... on ExecutionFinished {
      status
      stopReason {
        ...StopReasonParts
      }
      answer
      errorItem {
        code
        limit
        step
        iteration
        message
      }
      budget {
        ...Budget
      }
    }
  }
`);

export const BudgetFields = graphql(`
  fragment Budget on ExecutionBudget {
    cost {
      spent {
        amount
      }
      reserved {
        amount
      }
      limit {
        amount
      }
    }
    tokens {
      used
      reserved
      limit
    }
    iterations {
      used
      reserved
      limit
    }
    modelCalls {
      used
      limit
    }
    toolCalls {
      used
      limit
    }
    activeTime {
      used
      reserved
      limit
    }
  }
`);

export const StopReasonFields = graphql(`
  fragment StopReasonParts on StopReason {
    code
    message
    limit
    iteration
    step
  }
`);

export const ExecutionEventsSubscription = graphql(`
  subscription ExecutionEvents($executionId: ID!, $after: String) {
    executionEvents(executionId: $executionId, after: $after) {
      ...RunEvent
    }
  }
`);
