/** Lines of a cost summary as the table shows them. Amounts stay the decimals that the server gave. */
import { readFragment } from "@/graphql/generated";
import type { CostBy, CostTotalsPartsFragment, CostsQuery } from "@/graphql/generated/graphql";
import { CostTotalsFields } from "../costs.graphql";

export interface CostRow {
  key: string;
  name: string;
  detail: string | null;
  totals: CostTotalsPartsFragment;
  /** Its part of the whole, for the bar behind it. */
  part: number;
}

type Summary = NonNullable<CostsQuery["costSummary"]>;
type Line = Summary["lines"]["nodes"][number];

export function totalsOf(summary: Summary): CostTotalsPartsFragment {
  return readFragment(CostTotalsFields, summary.totals);
}

/** Days stay in their order; models and agents come with the dearest first. */
export function costRows(summary: Summary, by: CostBy): CostRow[] {
  const whole = Number(totalsOf(summary).total.amount);
  const rows = summary.lines.nodes.map((line) => rowOf(line, whole));
  return by === "DAY" ? rows : rows.toSorted((a, b) => amountOf(b) - amountOf(a) || a.name.localeCompare(b.name));
}

function rowOf(line: Line, whole: number): CostRow {
  const totals = readFragment(CostTotalsFields, line.totals);
  const part = whole > 0 ? Number(totals.total.amount) / whole : 0;
  return { ...nameOf(line), totals, part };
}

function nameOf({ provider, deployment, day, agentId, agent }: Line): Pick<CostRow, "key" | "name" | "detail"> {
  if (day !== null) return { key: day, name: day.slice(0, 10), detail: null };
  if (agentId !== null) return { key: agentId, name: agent?.name ?? "Agent not open to you", detail: agent?.slug ?? agentId };
  return { key: JSON.stringify([provider, deployment]), name: deployment ?? "", detail: provider };
}

function amountOf(row: CostRow): number {
  return Number(row.totals.total.amount);
}

export type Span = "day" | "week" | "month" | "all";

const DAYS: Record<Exclude<Span, "all">, number> = { day: 1, week: 7, month: 30 };
const DAY_MS = 86_400_000;

/** The first moment of a span of whole days in UTC that ends with this one; null for no bound. */
export function spanFrom(span: Span, now: number): string | null {
  if (span === "all") return null;
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return new Date(today - (DAYS[span] - 1) * DAY_MS).toISOString();
}
