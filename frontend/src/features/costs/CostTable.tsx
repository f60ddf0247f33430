import type { CostBy } from "@/graphql/generated/graphql";
import { formatCount, formatExact } from "@/lib/format";
import { Tag } from "@/ui/Tag";
import classes from "./costs.module.css";
import type { CostRow } from "./model/lines";

const HEADS: Record<CostBy, string> = { MODEL: "Model", AGENT: "Agent", DAY: "Day" };

export function CostTable({ rows, by }: { rows: CostRow[]; by: CostBy }) {
  return (
    <table className={classes.table}>
      <thead>
        <tr>
          <th>{HEADS[by]}</th>
          <th className={classes.bar} aria-label="Part of the total" />
          <th className={classes.figure}>Calls</th>
          <th className={classes.figure}>Tokens</th>
          <th className={classes.cost}>Cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.key} row={row} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row: { name, detail, totals, part } }: { row: CostRow }) {
  const tokens = Number(totals.usage.input) + Number(totals.usage.output);
  const percent = `${(part * 100).toFixed(1)} %`;
  return (
    <tr>
      <td>
        <b>{name}</b> {detail !== null && <span className="faint">{detail}</span>}{" "}
        {totals.estimatedCalls !== "0" && <Tag tone="warn">partly estimated</Tag>}{" "}
        {totals.unpricedCalls !== "0" && <Tag tone="warn">no price</Tag>}
      </td>
      <td className={classes.bar} title={percent}>
        <div role="img" aria-label={percent}>
          <i style={{ width: percent.replace(" ", "") }} />
        </div>
      </td>
      <td className={`${classes.figure} num`}>{formatExact(Number(totals.calls))}</td>
      <td className={`${classes.figure} num`} title={`${formatExact(tokens)} tokens`}>
        {formatCount(tokens)}
      </td>
      <td className={`${classes.cost} num`}>${totals.total.amount}</td>
    </tr>
  );
}
