import { Button, Modal, Skeleton } from "@mantine/core";
import { Suspense, lazy, useState } from "react";
import { formatBytes, revealDirection } from "@/lib/format";
import { ArtifactModal } from "../artifacts/ArtifactModal";
import type { ToolCallView } from "../model/types";
import classes from "./terminal.module.css";

const TerminalView = lazy(() => import("./TerminalView"));

export function TerminalModal({ call, onClose }: { call: ToolCallView; onClose: () => void }) {
  const { text, droppedChars } = call.output;
  const [showsAll, setShowsAll] = useState(false);
  const shown = text === "" ? revealDirection(call.result ?? "") : text;
  return (
    <Modal opened onClose={onClose} size="min(1100px, 94vw)" centered title={<b className="num">{call.tool}</b>} closeButtonProps={{ "aria-label": "Close" }}>
      <Suspense fallback={<Skeleton height="64vh" />}>
        <TerminalView text={shown} droppedChars={droppedChars} label={`Output of ${call.tool}`} />
      </Suspense>
      <p className={classes.foot}>
        {droppedChars > 0 && <span>The first {formatBytes(droppedChars)} are no longer shown here.</span>}
        {call.omittedBytes > 0 && <span>{formatBytes(call.omittedBytes)} were left out of the log.</span>}
        {call.fullOutputId !== null && (
          <Button size="compact-xs" variant="default" onClick={() => setShowsAll(true)}>
            See the whole output
          </Button>
        )}
        {shown === "" && <span>{call.state === "STARTED" ? "No output yet." : "The tool wrote no output."}</span>}
      </p>
      {showsAll && call.fullOutputId !== null && (
        <ArtifactModal
          artifact={{ id: call.fullOutputId, name: `${call.tool} output`, mediaType: "text/plain", byteSize: call.omittedBytes }}
          onClose={() => setShowsAll(false)}
        />
      )}
    </Modal>
  );
}
