/** Who set the limits of a meter, as its tooltip tells it. */
import { formatExact, formatMoneyLimit } from "@/lib/format";

export interface LimitSourceView {
  name: string;
  value: string;
  source: string;
  accountId: string | null;
}

const NAMES: Record<string, string> = {
  cost: "maxCost",
  tokens: "maxTokens",
  time: "maxActiveTimeMs",
  iterations: "maxIterations",
};

const OWN: Record<string, string> = { DEFAULT: "the default", AGENT: "the agent", START: "the start call" };

/** " · limit set by the agent · project account $50"; empty where nothing is limited. */
export function limitSources(meter: string, limits: readonly LimitSourceView[]): string {
  return limits
    .filter((limit) => limit.name === NAMES[meter])
    .map(({ value, source, accountId }) => {
      if (accountId === null) return ` · limit set by ${OWN[source] ?? source.toLowerCase()}`;
      const cap = meter === "cost" ? formatMoneyLimit(Number(value) / 1e9) : formatExact(Number(value));
      return ` · ${source.toLowerCase()} account ${cap}`;
    })
    .join("");
}
