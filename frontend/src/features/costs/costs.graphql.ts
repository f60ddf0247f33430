import { graphql } from "@/graphql/generated";

export const CostTotalsFields = graphql(`
  fragment CostTotalsParts on CostTotals {
    total {
      amount
    }
    calls
    estimatedTotal {
      amount
    }
    estimatedCalls
    unpricedCalls
    usage {
      input
      cachedInput
      output
    }
  }
`);

export const CostsQuery = graphql(`
  query Costs($by: CostBy!, $filter: CostFilter!, $after: String) {
    costSummary(by: $by, filter: $filter) {
      by
      totals {
        ...CostTotalsParts
      }
      lines(first: 100, after: $after) {
        nodes {
          provider
          deployment
          day
          agentId
          agent {
            id
            name
            slug
          }
          totals {
            ...CostTotalsParts
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);
