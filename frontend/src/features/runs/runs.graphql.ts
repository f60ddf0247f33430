import { graphql } from "@/graphql/generated";

export const RunRowFields = graphql(`
  fragment RunRow on Execution {
    id
    task
    status
    scripted
    createdAt
    startedAt
    endedAt
    currentIteration
    stopReason {
      ...StopReasonParts
    }
    agent {
      id
      name
    }
    agentVersion {
      id
      number
    }
    budget {
      cost {
        spent {
          amount
        }
      }
      tokens {
        used
      }
    }
  }
`);

export const RunsQuery = graphql(`
  query Runs($filter: ExecutionFilter, $first: Int!, $after: String) {
    executions(filter: $filter, first: $first, after: $after) {
      nodes {
        ...RunRow
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

export const RunUpdatesSubscription = graphql(`
  subscription RunUpdates($filter: ExecutionFilter) {
    executionUpdates(filter: $filter) {
      ...RunRow
    }
  }
`);
