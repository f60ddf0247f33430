import type { EgressView } from "../model/types";
import { Heading } from "./Facts";
import classes from "./details.module.css";

const TONES = { allowed: "ok", denied: "bad", failed: "warn" } as const;

const REASONS: Record<string, string> = {
  not_listed: "not on the profile's list",
  private_address: "leads to a private address",
  sni_mismatch: "the connection named another host",
  not_resolved: "the name has no address",
  unreachable: "no answer",
  malformed: "the request made no sense",
};

/** What the programs of a call tried to reach, denied ones first to be seen. */
export function EgressFacts({ attempts }: { attempts: readonly EgressView[] }) {
  if (attempts.length === 0) return null;
  const denied = attempts.filter((attempt) => attempt.outcome === "denied").length;
  return (
    <section aria-label="Network attempts">
      <Heading>
        Network attempts {denied > 0 && <span className="bad">{denied} denied</span>}
      </Heading>
      <ul className={classes.attempts}>
        {counted(attempts).map(({ attempt, count }) => (
          <li key={keyOf(attempt)} data-denied={attempt.outcome === "denied" || undefined}>
            <b className={TONES[attempt.outcome]}>{attempt.outcome}</b>{" "}
            <code>
              {attempt.host}
              {attempt.port !== null && `:${attempt.port}`}
            </code>
            {count > 1 && <span className="faint"> ×{count}</span>}
            {attempt.reason !== null && <span className="dim"> {REASONS[attempt.reason] ?? attempt.reason}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Equal attempts once, with how many there were; the denied ones stand first. */
function counted(attempts: readonly EgressView[]): { attempt: EgressView; count: number }[] {
  const groups = new Map<string, { attempt: EgressView; count: number }>();
  for (const attempt of attempts) {
    const known = groups.get(keyOf(attempt));
    groups.set(keyOf(attempt), { attempt, count: (known?.count ?? 0) + 1 });
  }
  return [...groups.values()].toSorted((a, b) => Number(b.attempt.outcome === "denied") - Number(a.attempt.outcome === "denied"));
}

function keyOf({ host, port, outcome, reason }: EgressView): string {
  return [host, port, outcome, reason].join(" ");
}
