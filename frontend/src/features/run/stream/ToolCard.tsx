import { IconArrowUpRight } from "@tabler/icons-react";
import { memo, useState } from "react";
import type { SandboxTier } from "@/graphql/generated/graphql";
import { formatDuration, revealDirection } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { AnsiText } from "@/ui/AnsiText";
import { Tag } from "@/ui/Tag";
import { toolState } from "../model/steps";
import type { ToolCallView } from "../model/types";
import { subjectOf } from "../model/subject";
import { StateMark } from "../StateMark";
import { TerminalModal } from "../terminal/TerminalModal";
import { KeptOutput } from "./KeptOutput";
import classes from "./ToolCard.module.css";

interface Props {
  call: ToolCallView;
  tier: SandboxTier | null;
  isSelected: boolean;
  onSelect: (id: string) => void;
}

const LINES_SHOWN = 12;

export const ToolCard = memo(function ToolCard({ call, tier, isSelected, onSelect }: Props) {
  const [isOpen, setOpen] = useState(false);
  const state = toolState(call);
  const subject = subjectOf(call);
  const body = call.output.text !== "" ? call.output.text : revealDirection(call.result ?? "");
  return (
    <article className={classes.card} id={call.id} data-state={state} data-selected={isSelected || undefined} aria-label={`Tool call ${call.tool}`}>
      <header className={classes.head}>
        <button type="button" className={classes.select} onClick={() => onSelect(call.id)} aria-label={`Details of ${call.tool}`} />
        <StateMark state={state} />
        <span className={classes.name}>{call.tool}</span>
        {subject !== null && (
          <span className={classes.subject} title={subject}>
            {subject}
          </span>
        )}
        <Outcome call={call} />
        <Denied call={call} />
        {state === "running" && tier !== null && (
          <span className={classes.tier}>
            <Tag>sandbox · {tier.toLowerCase()}</Tag>
          </span>
        )}
        <span className={classes.right}>
          <Time call={call} />
          <button type="button" className={classes.open} onClick={() => setOpen(true)}>
            Open terminal <IconArrowUpRight size={13} aria-hidden />
          </button>
        </span>
      </header>
      <ToolBody call={call} text={body} />
      {isOpen && <TerminalModal call={call} onClose={() => setOpen(false)} />}
    </article>
  );
});

function ToolBody({ call, text }: { call: ToolCallView; text: string }) {
  const state = toolState(call);
  if (text === "" && call.error === null && state !== "running") return null;
  return (
    <pre className={classes.output}>
      <AnsiText text={text} lines={LINES_SHOWN} markLast={state === "bad" && call.output.stderrTail.trim() !== ""} />
      {call.error !== null && !speaksForItself(call, text) && <div className="bad" data-note>{call.error.message}</div>}
      <KeptOutput call={call} />
      {state === "running" && <span className={classes.caret} aria-hidden />}
    </pre>
  );
}

/** A program that printed why it failed needs no second sentence; its exit status stands in the head. */
function speaksForItself(call: ToolCallView, text: string): boolean {
  return (call.exitCode !== null && call.exitCode !== 0 && text !== "") || text.includes(call.error?.message ?? "");
}

function Outcome({ call }: { call: ToolCallView }) {
  if (call.exitCode !== null && call.exitCode !== 0) return <span className="bad">exit {call.exitCode}</span>;
  const word = { FAILED: "failed", CANCELLED: "cancelled", INTERRUPTED: "interrupted", LOST: "lost", REFUSED: "refused" }[call.state as string];
  if (word === undefined) return null;
  return <span className={call.state === "FAILED" || call.state === "REFUSED" ? "bad" : "warn"}>{word}</span>;
}

/** Who watches sees at once that a program was kept from a host; the details say from which, and why. */
function Denied({ call }: { call: ToolCallView }) {
  const hosts = new Set(call.egress.filter((attempt) => attempt.outcome === "denied").map((attempt) => attempt.host));
  if (hosts.size === 0) return null;
  return <span className={`bad ${classes.denied}`}>{hosts.size === 1 ? "1 host denied" : `${hosts.size} hosts denied`}</span>;
}

function Time({ call }: { call: ToolCallView }) {
  const isRunning = call.state === "STARTED";
  const now = useNow(isRunning);
  if (call.durationMs !== null) return <span className="num">{formatDuration(call.durationMs)}</span>;
  if (!isRunning) return null;
  const limit = call.timeoutMs === null ? "" : ` of ${Math.round(call.timeoutMs / 1_000)} s`;
  return (
    <span className="num">
      {((Math.max(0, now - call.startedAt)) / 1_000).toFixed(1)} s{limit}
    </span>
  );
}
