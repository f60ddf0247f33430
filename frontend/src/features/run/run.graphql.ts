import { graphql } from "@/graphql/generated";

/** What the log does not tell: names, pins and inputs. */
export const RunQuery = graphql(`
  query Run($id: ID!) {
    execution(id: $id) {
      id
      task
      status
      scripted
      createdAt
      startedAt
      endedAt
      partialAnswer
      agent {
        id
        name
        slug
      }
      agentVersion {
        id
        number
      }
      inputs {
        id
        name
        mediaType
        byteSize
      }
      budget {
        ...Budget
      }
      effectiveLimits {
        name
        value
        source
        accountId
      }
    }
  }
`);

export const ExecutionCancelMutation = graphql(`
  mutation ExecutionCancel($executionId: ID!) {
    executionCancel(input: { executionId: $executionId }) {
      execution {
        id
        status
      }
      receipt {
        message
      }
      userErrors {
        code
        message
        path
      }
    }
  }
`);

export const ArtifactLinkQuery = graphql(`
  query ArtifactLink($id: ID!) {
    node(id: $id) {
      id
      ... on Artifact {
        downloadUrl
      }
    }
  }
`);

export const ToolCallDetailsQuery = graphql(`
  query ToolCallDetails($id: ID!) {
    node(id: $id) {
      id
      ... on ToolCall {
        toolVersion
        idempotencyKey
        sandbox {
          id
          tier
          image
          network
          networkHosts
          credentials
          enforced
          memoryBytes
          diskBytes
          pids
          expiresAt
        }
      }
    }
  }
`);

export const ModelCallDetailsQuery = graphql(`
  query ModelCallDetails($id: ID!) {
    node(id: $id) {
      id
      ... on ModelCall {
        provider
        deployment
        parameters
        firstDeltaMs
        priceVersion {
          id
          inputPerMillion {
            amount
          }
          cachedInputPerMillion {
            amount
          }
          outputPerMillion {
            amount
          }
        }
      }
    }
  }
`);
