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
          ttlSeconds
          idleTtlSeconds
          network
          networkHosts
          user
          environment {
            name
          }
          profileCredentials: credentials {
            name
          }
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
          route
          secureAccess
          secureRuntime
          egress
          endpointHosts
          endpointPorts
          endpointPaths
          warnings {
            code
            message
          }
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
