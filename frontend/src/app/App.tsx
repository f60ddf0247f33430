import { Suspense, lazy } from "react";
import { Route, Switch } from "wouter";
import { RunsPage } from "@/features/runs/RunsPage";
import { FaultNotice } from "@/ui/FaultNotice";
import { ErrorBoundary } from "./ErrorBoundary";
import { NotFound } from "./NotFound";
import { ProgressLine } from "./shell/ProgressLine";
import { Shell } from "./shell/Shell";
import { SignedOut } from "./SignedOut";
import { useViewer } from "./useViewer";
import { ViewerContext } from "./viewer";

const RunPage = lazy(() => import("@/features/run/RunPage"));
const StartPage = lazy(() => import("@/features/start/StartPage"));
const CostsPage = lazy(() => import("@/features/costs/CostsPage"));
const ResourcesPage = lazy(() => import("@/features/resources/ResourcesPage"));

export function App() {
  const { viewer, isOut, error, refetch } = useViewer();
  if (isOut) return <SignedOut />;
  if (viewer === null) {
    if (error === undefined) return <ProgressLine />;
    return <FaultNotice error={error} title="Studio cannot reach the server" onRetry={refetch} />;
  }
  return (
    <ViewerContext value={viewer}>
      <Shell>
        <ErrorBoundary>
          <Suspense fallback={<ProgressLine />}>
            <Switch>
              <Route path="/" component={RunsPage} />
              <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
              <Route path="/start" component={StartPage} />
              <Route path="/costs" component={CostsPage} />
              <Route path="/resources" component={ResourcesPage} />
              <Route component={NotFound} />
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </ViewerContext>
  );
}
