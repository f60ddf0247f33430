import { Skeleton } from "@mantine/core";
import { IconStack2 } from "@tabler/icons-react";
import { useQuery } from "urql";
import { Page } from "@/app/shell/Page";
import { TopBar } from "@/app/shell/TopBar";
import { useProjectId } from "@/app/viewer";
import { FaultNotice } from "@/ui/FaultNotice";
import { Notice } from "@/ui/Notice";
import { resourceGroups } from "./model/groups";
import { ResourceGroupTable } from "./ResourceGroupTable";
import { ResourcesQuery } from "./resources.graphql";

/** What runs are made of. It is read here and changed through the API. */
export default function ResourcesPage() {
  const projectId = useProjectId();
  const [{ data, error }, refetch] = useQuery({
    query: ResourcesQuery,
    variables: { projectId: projectId ?? "" },
    pause: projectId === null,
    requestPolicy: "cache-and-network",
  });
  const groups = data === undefined ? [] : resourceGroups(data);
  const isEmpty = projectId === null || (data !== undefined && groups.every(({ rows }) => rows.length === 0));
  return (
    <Page title="Resources" bar={<TopBar here="Resources" />}>
      {error && data === undefined && (
        <FaultNotice error={error} title="The resources cannot be listed" onRetry={() => refetch({ requestPolicy: "network-only" })} />
      )}
      {isEmpty && (
        <Notice icon={<IconStack2 size={22} />} title="No resources yet">
          Agents, models, sandboxes and credentials are created through the API. They appear here with their versions.
        </Notice>
      )}
      {!isEmpty && !error && data === undefined && <Skeleton height={200} m={16} />}
      {!isEmpty && groups.map((group) => <ResourceGroupTable key={group.title} group={group} />)}
    </Page>
  );
}
