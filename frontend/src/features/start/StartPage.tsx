import { Skeleton } from "@mantine/core";
import { IconRobot } from "@tabler/icons-react";
import { useQuery } from "urql";
import { Page } from "@/app/shell/Page";
import { TopBar } from "@/app/shell/TopBar";
import { useProjectId } from "@/app/viewer";
import { FaultNotice } from "@/ui/FaultNotice";
import { Notice } from "@/ui/Notice";
import { StartForm } from "./StartForm";
import { StartableAgentsQuery } from "./start.graphql";

export default function StartPage() {
  const projectId = useProjectId();
  const [{ data, error }, refetch] = useQuery({
    query: StartableAgentsQuery,
    variables: { projectId: projectId ?? "" },
    pause: projectId === null,
    requestPolicy: "cache-and-network",
  });
  const agents = data?.agents?.nodes.filter(({ archivedAt, latestVersion }) => archivedAt === null && latestVersion !== null);
  const hasNone = projectId === null || agents?.length === 0;

  return (
    <Page title="Start a run" bar={<TopBar parents={[{ href: "/", label: "Runs" }]} here="Start a run" />}>
      {error && agents === undefined && (
        <FaultNotice error={error} title="The agents cannot be listed" onRetry={() => refetch({ requestPolicy: "network-only" })} />
      )}
      {hasNone && (
        <Notice icon={<IconRobot size={22} />} title="No agent is ready">
          A run needs an agent with a published version. Create one through the API, or start the server with its demo project.
        </Notice>
      )}
      {!hasNone && !error && agents === undefined && <Skeleton height={280} maw={640} mx="auto" mt={32} />}
      {agents !== undefined && agents.length > 0 && <StartForm agents={agents} />}
    </Page>
  );
}
