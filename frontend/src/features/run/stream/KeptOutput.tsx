import { useState } from "react";
import { formatBytes } from "@/lib/format";
import { ArtifactModal } from "../artifacts/ArtifactModal";
import type { ArtifactView, ToolCallView } from "../model/types";
import classes from "./ToolCard.module.css";

/** What the log left out of a tool's output, with the files that hold it. */
export function KeptOutput({ call }: { call: ToolCallView }) {
  const [open, setOpen] = useState<ArtifactView | null>(null);
  if (call.omittedBytes === 0 && call.rawOutputs.length === 0) return null;
  const { fullOutputId } = call;
  return (
    <div className="warn" data-note>
      {call.omittedBytes > 0 && <>… {formatBytes(call.omittedBytes)} left out of the log </>}
      {fullOutputId !== null && (
        <OpenFile onOpen={() => setOpen({ id: fullOutputId, name: `${call.tool} output`, mediaType: "text/plain", byteSize: call.omittedBytes })}>
          See the whole output
        </OpenFile>
      )}
      {call.rawOutputs.map(({ id, stream, byteSize }) => (
        <OpenFile key={id} onOpen={() => setOpen({ id, name: `${call.tool} ${stream}`, mediaType: "application/octet-stream", byteSize })}>
          Bytes of {stream} as they were · {formatBytes(byteSize)}
        </OpenFile>
      ))}
      {open !== null && <ArtifactModal artifact={open} onClose={() => setOpen(null)} />}
    </div>
  );
}

function OpenFile({ onOpen, children }: { onOpen: () => void; children: React.ReactNode }) {
  return (
    <button type="button" className={classes.file} onClick={onOpen}>
      {children}
    </button>
  );
}
