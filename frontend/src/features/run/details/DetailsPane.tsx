import { memo } from "react";
import { ArtifactList } from "../artifacts/ArtifactList";
import type { Selection } from "../model/selection";
import type { RunView } from "../model/types";
import type { Run } from "../run";
import { EndFacts } from "./EndFacts";
import { Heading } from "./Facts";
import { ModelCallDetails } from "./ModelCallDetails";
import { RunDetails } from "./RunDetails";
import { ToolCallDetails } from "./ToolCallDetails";
import classes from "./details.module.css";

interface Props {
  run: Run | null;
  view: RunView;
  selection: Selection;
}

export const DetailsPane = memo(function DetailsPane({ run, view, selection }: Props) {
  const modelCall = selection?.type === "model" ? view.modelCalls[selection.id] : undefined;
  const toolCall = selection?.type === "tool" ? view.toolCalls[selection.id] : undefined;
  const isOver = view.endedAt !== null;
  const artifacts = view.artifacts.length > 0 && (
    <>
      <Heading>Artifacts</Heading>
      <div className={classes.inset}>
        <ArtifactList artifacts={view.artifacts} withPicture />
      </div>
    </>
  );
  return (
    <div className={classes.pane}>
      {modelCall && (
        <>
          <ModelCallDetails key={modelCall.id} call={modelCall} />
          {artifacts}
        </>
      )}
      {toolCall && (
        <ToolCallDetails key={toolCall.id} call={toolCall} sandbox={view.sandboxes.at(-1) ?? null} isOver={isOver}>
          {artifacts}
        </ToolCallDetails>
      )}
      {selection === null && (
        <>
          <EndFacts view={view} />
          {isOver && artifacts}
          <RunDetails run={run} view={view} />
          {!isOver && artifacts}
        </>
      )}
    </div>
  );
});
