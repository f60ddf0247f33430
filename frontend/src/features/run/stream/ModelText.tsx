import { memo } from "react";
import { formatMoney } from "@/lib/format";
import { Markdown } from "@/ui/Markdown";
import type { ModelCallView } from "../model/types";
import classes from "./stream.module.css";

interface Props {
  call: ModelCallView;
  onSelect: (id: string) => void;
}

export const ModelText = memo(function ModelText({ call, onSelect }: Props) {
  const isWriting = call.state === "STARTED";
  const trouble = troubleOf(call);
  return (
    <div className={classes.say} id={call.id} data-writing={isWriting || undefined}>
      {call.text !== "" && <Markdown text={call.text} streaming={isWriting} />}
      {isWriting && call.text === "" && <p className={classes.thinking}>{waitingFor(call)}</p>}
      {trouble !== null && (
        <p className={classes.line} data-tone={call.state === "FAILED" ? "bad" : "warn"}>
          <span>{trouble}</span>
          <button type="button" className={classes.more} onClick={() => onSelect(call.id)}>
            Details
          </button>
        </p>
      )}
    </div>
  );
});

function waitingFor({ alias, failedTries }: ModelCallView): string {
  const waiting = `Waiting for ${alias || "the model"}`;
  const last = failedTries.at(-1);
  if (last === undefined) return waiting;
  return `${waiting}, try ${failedTries.length + 1}: ${last.error?.message ?? "the one before failed"}`;
}

function troubleOf(call: ModelCallView): string | null {
  const charged = call.cost ?? call.reservedCost;
  // The notice of the attempt that took over tells of a call that was lost before it wrote anything.
  if (call.state === "LOST" && call.text === "") return null;
  if (call.state === "LOST") return `This model call was lost in an interruption and is charged at the reserved ${formatMoney(charged)}.`;
  if (call.state === "FAILED") return `The model call failed: ${call.error?.message ?? "no reason was given"}`;
  if (call.state === "CANCELLED") return "The model call was cancelled.";
  if (call.finishReason === "LENGTH") return "The model reached its limit of output tokens here.";
  if (call.finishReason === "CONTENT_FILTER") return "The provider's filter cut the text off here.";
  return null;
}
