import { IconAlertTriangle, IconHandStop, IconRefresh, IconRepeat } from "@tabler/icons-react";
import { formatMoney } from "@/lib/format";
import { consequenceOf, iterationsOf, kindOf } from "../model/loops";
import type { AttemptItem, RunView, StreamItem } from "../model/types";
import { ModelText } from "./ModelText";
import classes from "./stream.module.css";
import { ToolCard } from "./ToolCard";

interface Props {
  item: StreamItem;
  view: RunView;
  selectedId: string | null;
  onSelect: (id: string) => void;
}

export function ItemView({ item, view, selectedId, onSelect }: Props) {
  switch (item.type) {
    case "model": {
      const call = view.modelCalls[item.key];
      return call ? <ModelText call={call} onSelect={onSelect} /> : null;
    }
    case "tool": {
      const call = view.toolCalls[item.key];
      const tier = view.sandboxes.at(-1)?.tier ?? null;
      return call ? <ToolCard call={call} tier={tier} isSelected={call.id === selectedId} onSelect={onSelect} /> : null;
    }
    case "warning":
      return (
        <p className={classes.line} data-tone="warn">
          <IconAlertTriangle size={15} aria-hidden />
          <span>{item.message}</span>
        </p>
      );
    case "loop":
      return (
        <p className={classes.line} data-tone={item.loop.pardoned ? undefined : "warn"}>
          <IconRepeat size={15} aria-hidden />
          <span>
            <b>{kindOf(item.loop)}</b> in iterations {iterationsOf(item.loop)}. {consequenceOf(item.loop)}
          </span>
        </p>
      );
    case "override":
      return (
        <p className={classes.line}>
          <IconHandStop size={15} aria-hidden />
          <span>
            A person overrode the loop guard{item.pardons > 0 && `, and lets ${counted(item.pardons, "finding")} pass`}: {item.reason}
          </span>
        </p>
      );
    case "attempt":
      return (
        <p className={classes.line}>
          <IconRefresh size={15} aria-hidden />
          <span>{attemptSentence(item)}</span>
        </p>
      );
  }
}

function attemptSentence({ attempt, lostModelCalls, lostToolCalls, lostReservedCost }: AttemptItem): string {
  const lost = [counted(lostModelCalls, "model call"), counted(lostToolCalls, "tool call")].filter((part) => part !== "");
  const charged = lostReservedCost > 0 ? `, charged at the reserved ${formatMoney(lostReservedCost)}` : "";
  const tail = lost.length === 0 ? "Nothing was lost." : `Lost with it: ${lost.join(" and ")}${charged}.`;
  return `Attempt ${attempt}: the server was interrupted, and the unfinished part is done again. ${tail}`;
}

function counted(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}
