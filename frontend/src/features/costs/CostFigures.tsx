import type { CostTotalsPartsFragment } from "@/graphql/generated/graphql";
import { formatCount, formatExact } from "@/lib/format";
import classes from "./costs.module.css";

/** The sum of everything that the filter lets through, with every digit. */
export function CostFigures({ totals }: { totals: CostTotalsPartsFragment }) {
  const { total, calls, estimatedCalls, estimatedTotal, unpricedCalls, usage } = totals;
  return (
    <dl className={classes.figures}>
      <Figure name="Total">${total.amount}</Figure>
      <Figure name="Model calls">{formatExact(Number(calls))}</Figure>
      <Figure name="Input" title={`${formatExact(Number(usage.cachedInput))} of them from the provider's cache`}>
        {formatCount(Number(usage.input))} tokens
      </Figure>
      <Figure name="Output">{formatCount(Number(usage.output))} tokens</Figure>
      {estimatedCalls !== "0" && (
        <Figure name="Of it estimated" title={`${formatExact(Number(estimatedCalls))} calls without usage from their provider`}>
          ${estimatedTotal.amount}
        </Figure>
      )}
      {unpricedCalls !== "0" && <Figure name="Calls without a price">{formatExact(Number(unpricedCalls))}</Figure>}
    </dl>
  );
}

function Figure({ name, title, children }: { name: string; title?: string; children: React.ReactNode }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd className="num">{children}</dd>
    </div>
  );
}
