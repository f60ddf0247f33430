import { graphql } from "@/graphql/generated";

export const StartableAgentsQuery = graphql(`
  query StartableAgents($projectId: ID!) {
    agents(projectId: $projectId, first: 100) {
      nodes {
        id
        name
        slug
        archivedAt
        latestVersion {
          id
          number
          tools
          model {
            id
            alias
            scripted
          }
          limits {
            maxIterations
            maxTokens
            maxActiveTimeMs
            maxCost {
              amount
            }
          }
        }
      }
    }
  }
`);

export const ExecutionStartMutation = graphql(`
  mutation ExecutionStart($input: ExecutionStartInput!) {
    executionStart(input: $input) {
      execution {
        id
      }
      replayed
      userErrors {
        code
        message
        path
      }
    }
  }
`);
