import { Markdown } from "@/ui/Markdown";
import { statusLook } from "@/ui/status";
import { ArtifactList } from "../artifacts/ArtifactList";
import { causeOf, whereOf } from "../model/stopReason";
import type { RunView } from "../model/types";
import type { Run } from "../run";
import classes from "./stream.module.css";

/** The end first: the answer, why it ended, what it left behind. */
export function Outcome({ run, view }: { run: Run | null; view: RunView }) {
  const partial = view.answer === null ? (run?.partialAnswer ?? null) : null;
  const text = view.answer ?? partial;
  return (
    <section className={classes.outcome} aria-label="Outcome">
      {text !== null && (
        <div className={classes.answer}>
          {partial !== null && <p className={classes.partial}>Partial answer: the run ended before it was complete.</p>}
          <Markdown text={text} />
        </div>
      )}
      <Reason view={view} />
      <ArtifactList artifacts={view.artifacts} />
    </section>
  );
}

function Reason({ view }: { view: RunView }) {
  if (view.stopReason === null || view.status === null) return null;
  const { tone, Icon } = statusLook(view.status, view.stopReason.code);
  const where = whereOf(view.stopReason);
  return (
    <p className={classes.reason}>
      <Icon size={15} className={tone} style={{ alignSelf: "center" }} aria-hidden />
      <b className={tone}>{causeOf(view.stopReason)}</b>
      {where !== null && <span className="num dim">{where}</span>}
      {view.stopReason.message !== "" && <span className="dim">{view.stopReason.message}</span>}
    </p>
  );
}
