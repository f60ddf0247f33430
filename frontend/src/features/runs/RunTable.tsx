import { Skeleton } from "@mantine/core";
import type { RunRowFragment } from "@/graphql/generated/graphql";
import { useNow } from "@/lib/useNow";
import { RunRow } from "./RunRow";
import classes from "./runs.module.css";

const SKELETON_ROWS = Array.from({ length: 8 }, (_, index) => index);

export function RunTable({ rows, loading }: { rows: RunRowFragment[]; loading: boolean }) {
  const hasClocks = rows.some(({ startedAt, endedAt }) => startedAt !== null && endedAt === null);
  const now = useNow(true, hasClocks ? 1_000 : 5_000);
  return (
    <table className={classes.table} aria-busy={loading}>
      <thead>
        <tr>
          <th className={classes.status}>Status</th>
          <th className={classes.agent}>Agent</th>
          <th>Task</th>
          <th className={classes.figure}>Cost</th>
          <th className={classes.figure}>Tokens</th>
          <th className={classes.figure}>Duration</th>
          <th className={classes.started}>Started</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((run) => (
          <RunRow key={run.id} run={run} now={now} />
        ))}
        {loading &&
          rows.length === 0 &&
          SKELETON_ROWS.map((index) => (
            <tr key={index}>
              <td colSpan={7}>
                <Skeleton height={12} width={`${90 - (index % 3) * 12}%`} />
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}
