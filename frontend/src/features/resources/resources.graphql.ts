import { graphql } from "@/graphql/generated";

export const ResourcesQuery = graphql(`
  query Resources($projectId: ID!) {
    agents(projectId: $projectId, first: 100) {
      nodes {
        id
        slug
        name
        archivedAt
        latestVersion {
          id
          number
          state
          digest
          createdAt
          tools
          model {
            id
            alias
          }
        }
      }
    }
    models(projectId: $projectId, first: 100) {
      nodes {
        id
        slug
        name
        archivedAt
        latestVersion {
          id
          number
          state
          digest
          createdAt
          provider
          deployment
          scripted
        }
      }
    }
    sandboxProfiles(projectId: $projectId, first: 100) {
      nodes {
        id
        slug
        name
        archivedAt
        latestVersion {
          id
          number
          state
          digest
          createdAt
          image
          memoryBytes
          network
        }
      }
    }
    sandboxConnections(projectId: $projectId, first: 100) {
      nodes {
        id
        slug
        name
        archivedAt
        latestVersion {
          id
          number
          state
          digest
          createdAt
          tier
          baseUrl
        }
      }
    }
    credentials(projectId: $projectId, first: 100) {
      nodes {
        id
        slug
        name
        archivedAt
        latestVersion {
          id
          number
          state
          digest
          createdAt
        }
      }
    }
  }
`);
