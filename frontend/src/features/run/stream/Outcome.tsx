import { Markdown } from "@/ui/Markdown";
import { statusLook } from "@/ui/status";
import { ArtifactList } from "../artifacts/ArtifactList";
import { causeOf, nextOf, whereOf } from "../model/stopReason";
import type { RunView } from "../model/types";
import type { Run } from "../run";
import classes from "./stream.module.css";

/** The end first: the answer, why it ended, what it left behind. Without an answer, why it ended comes before all. */
export function Outcome({ run, view }: { run: Run | null; view: RunView }) {
  const partial = view.answer === null ? (run?.partialAnswer ?? null) : null;
  const text = view.answer ?? partial;
  return (
    <section className={classes.outcome} aria-label="Outcome">
      {view.answer === null && <Reason view={view} />}
      <HandedOn view={view} />
      {text !== null && (
        <div className={classes.answer}>
          {partial !== null && <p className={classes.partial}>Partial answer: the run ended before it was complete.</p>}
          <Markdown text={text} />
        </div>
      )}
      {view.answer !== null && <Reason view={view} />}
      <ArtifactList artifacts={view.artifacts} />
    </section>
  );
}

/** The item that a caller gets in place of an answer. */
function HandedOn({ view: { errorItem } }: { view: RunView }) {
  if (!errorItem) return null;
  return (
    <figure className={classes.item}>
      <figcaption>Item handed on to the caller</figcaption>
      <pre>{JSON.stringify({ error: errorItem }, null, 2)}</pre>
    </figure>
  );
}

function Reason({ view }: { view: RunView }) {
  if (view.stopReason === null || view.status === null) return null;
  const { tone, Icon } = statusLook(view.status, view.stopReason.code);
  const where = whereOf(view.stopReason);
  const next = nextOf(view.stopReason);
  return (
    <div className={classes.reason} data-tone={tone}>
      <Icon size={16} className={tone} aria-hidden />
      <div>
        <p className={classes.cause}>
          <b className={tone}>{causeOf(view.stopReason)}</b>
          {where !== null && <span className="num dim">{where}</span>}
        </p>
        {view.stopReason.message !== "" && <p className="dim">{view.stopReason.message}</p>}
        {next !== null && <p>{next}</p>}
      </div>
    </div>
  );
}
