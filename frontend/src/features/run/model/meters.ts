/** The four meters above a run: what was spent and reserved, against which limit. */
import { formatClock, formatCount, formatExact, formatMoney, formatMoneyLimit } from "@/lib/format";
import type { Budget, Meter } from "./budget";

export const WARNING_LEVEL = 0.8;

export interface MeterView {
  key: string;
  label: string;
  spent: string;
  /** What follows the spent amount: reserved, limit. */
  rest: string;
  /** What is left out where there is little room. */
  note: string;
  exact: string;
  /** Parts of the bar, 0 to 1. */
  spentPart: number;
  reservedPart: number;
  isWarning: boolean;
}

export function meterViews(budget: Budget, activeTimeMs: number): MeterView[] {
  const { cost, tokens, iterations, toolCalls, activeTimeMs: time } = budget;
  const reservedCost = cost.reserved > 0 ? ` + ${formatMoney(cost.reserved)} reserved` : "";
  return [
    {
      ...bar("cost", "Cost", cost),
      spent: formatMoney(cost.spent),
      rest: reservedCost + limitText(cost.limit, formatMoneyLimit, reservedCost === "" ? " of " : " · "),
      exact: `$${cost.spent} spent, $${cost.reserved} reserved${cost.limit === null ? "" : `, limit $${cost.limit}`}`,
    },
    {
      ...bar("tokens", "Tokens", tokens),
      spent: formatCount(tokens.spent),
      rest: limitText(tokens.limit, formatCount),
      exact: `${formatExact(tokens.spent)} tokens used, ${formatExact(tokens.reserved)} reserved${tokens.limit === null ? "" : `, limit ${formatExact(tokens.limit)}`}`,
    },
    {
      ...bar("time", "Active time", { ...time, spent: activeTimeMs, reserved: 0 }),
      spent: formatClock(activeTimeMs),
      rest: limitText(time.limit, formatClock),
      exact: "Time in which the run worked; waiting for a person does not count.",
    },
    {
      ...bar("iterations", "Iterations", { ...iterations, reserved: 0 }),
      spent: String(iterations.spent),
      rest: limitText(iterations.limit, String),
      note: ` · ${toolCalls.spent} tool call${toolCalls.spent === 1 ? "" : "s"}`,
      exact: `${iterations.spent} iterations, ${budget.modelCalls.spent} model calls, ${toolCalls.spent} tool calls`,
    },
  ];
}

/** The clock runs on between two readings while the run works, and stops where its limit stops the run. */
export function runningActiveTime(budget: Budget, readAt: number | null, now: number, isWorking: boolean): number {
  const { spent, limit } = budget.activeTimeMs;
  if (!isWorking || readAt === null) return spent;
  return Math.min(spent + Math.max(0, now - readAt), Math.max(spent, limit ?? Number.POSITIVE_INFINITY));
}

function bar(key: string, label: string, { spent, reserved, limit }: Meter) {
  const part = (amount: number) => (limit === null || limit <= 0 ? 0 : Math.min(1, amount / limit));
  const spentPart = part(spent);
  return {
    key,
    label,
    spentPart,
    reservedPart: Math.min(part(reserved), 1 - spentPart),
    note: "",
    isWarning: spentPart >= WARNING_LEVEL,
  };
}

function limitText(limit: number | null, format: (amount: number) => string, joint = " of "): string {
  return limit === null ? " · no limit" : `${joint}${format(limit)}`;
}
