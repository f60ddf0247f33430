import { graphql } from "@/graphql/generated";

export const ViewerQuery = graphql(`
  query Viewer {
    viewer {
      id
      name
      kind
      tenant {
        id
        name
      }
      defaultProject {
        id
        name
      }
    }
  }
`);
