import { Suspense, lazy, useEffect } from "react";
import { useQuery } from "urql";
import { Route, Switch } from "wouter";
import { RunsPage } from "@/features/runs/RunsPage";
import { isSignedOut } from "@/graphql/faults";
import { onConnectionTrouble } from "@/graphql/socket";
import { FaultNotice } from "@/ui/FaultNotice";
import { ErrorBoundary } from "./ErrorBoundary";
import { NotFound } from "./NotFound";
import { ProgressLine } from "./shell/ProgressLine";
import { Shell } from "./shell/Shell";
import { SignedOut } from "./SignedOut";
import { ViewerContext } from "./viewer";
import { ViewerQuery } from "./viewer.graphql";

const RunPage = lazy(() => import("@/features/run/RunPage"));
const StartPage = lazy(() => import("@/features/start/StartPage"));
const ResourcesPage = lazy(() => import("@/features/resources/ResourcesPage"));

export function App() {
  const [{ data, error, fetching }, refetch] = useQuery({ query: ViewerQuery });
  useEffect(() => onConnectionTrouble(() => refetch({ requestPolicy: "network-only" })), [refetch]);

  if (isSignedOut(error) || data?.viewer === null) return <SignedOut />;
  if (data === undefined) {
    if (fetching || error === undefined) return <ProgressLine />;
    return <FaultNotice error={error} title="Studio cannot reach the server" onRetry={() => refetch()} />;
  }
  return (
    <ViewerContext value={data.viewer}>
      <Shell>
        <ErrorBoundary>
          <Suspense fallback={<ProgressLine />}>
            <Switch>
              <Route path="/" component={RunsPage} />
              <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
              <Route path="/start" component={StartPage} />
              <Route path="/resources" component={ResourcesPage} />
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </ViewerContext>
  );
}
