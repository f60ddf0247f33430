import { formatClock, formatMoney } from "@/lib/format";
import { statusLook } from "@/ui/status";
import { iterationsOf, kindOf } from "../model/loops";
import { causeOf, limitOf } from "../model/stopReason";
import type { RunView } from "../model/types";
import { Fact, Facts, Heading } from "./Facts";

/** Why the run ended, in sight however long its answer is. */
export function EndFacts({ view }: { view: RunView }) {
  const { stopReason, status, budget } = view;
  if (stopReason === null || status === null) return null;
  const loop = stopReason.code === "LOOP_DETECTED" ? view.loop : null;
  return (
    <>
      <Heading>End</Heading>
      <Facts>
        <Fact name="Why" isProse tone={statusLook(status, stopReason.code).tone}>
          {causeOf(stopReason)}
        </Fact>
        <Fact name="Limit">{limitOf(stopReason)}</Fact>
        <Fact name="Loop" isProse>
          {loop && kindOf(loop)}
        </Fact>
        <Fact name="Matched iterations">{loop && iterationsOf(loop)}</Fact>
        <Fact name="At iteration">{stopReason.iteration}</Fact>
        <Fact name="Cost">{budget && formatMoney(budget.cost.spent)}</Fact>
        <Fact name="Active time">{budget && formatClock(budget.activeTimeMs.spent)}</Fact>
      </Facts>
    </>
  );
}
