import { formatDuration, formatExact, formatMoneyLimit, formatStepMoney } from "@/lib/format";
import { modelState } from "../model/steps";
import type { ModelCallView } from "../model/types";
import { ModelCallDetailsQuery } from "../run.graphql";
import { Fact, Facts, Heading } from "./Facts";
import { useCallDetails } from "./useCallDetails";
import classes from "./details.module.css";

const TONES = { running: "accent", ok: "ok", bad: "bad", lost: "warn", stopped: "dim" } as const;

export function ModelCallDetails({ call }: { call: ModelCallView }) {
  const data = useCallDetails(ModelCallDetailsQuery, call.id, call.state);
  const more = data?.node != null && "provider" in data.node ? data.node : null;
  return (
    <>
      <Heading>Model call</Heading>
      <Facts>
        <Fact name="Model">{call.alias}</Fact>
        <Fact name="Asked as" tone={call.fallbackIndex > 0 ? "warn" : undefined}>
          {call.fallbackIndex > 0 ? `fallback ${call.fallbackIndex}` : null}
        </Fact>
        <Fact name="Provider">{more?.provider}</Fact>
        <Fact name="Deployment">{call.deployment}</Fact>
        <Fact name="State" tone={TONES[modelState(call)]}>
          {call.state === "STARTED" ? "running" : call.state.toLowerCase()}
        </Fact>
        <Fact name="Ended with">{call.finishReason?.toLowerCase().replaceAll("_", " ")}</Fact>
        <Fact name="Tries">{call.failedTries.length > 0 ? formatExact(call.failedTries.length + 1) : null}</Fact>
        <Fact name="Time">{call.durationMs === null ? null : formatDuration(call.durationMs)}</Fact>
        <Fact name="First text">{more?.firstDeltaMs == null ? null : `after ${formatDuration(more.firstDeltaMs)}`}</Fact>
      </Facts>
      {call.fallbackBecause !== null && (
        <p className={classes.fault}>
          The model before it failed: <code>{call.fallbackBecause.code}</code> {call.fallbackBecause.message}
        </p>
      )}
      {call.failedTries.map(({ error, waitMs }, index) => (
        <p key={index} className={classes.fault}>
          Try {index + 1}: <code>{error?.code}</code> {error?.message} Sent again after {formatDuration(waitMs)}.
        </p>
      ))}
      {call.error !== null && (
        <p className={classes.fault}>
          <code>{call.error.code}</code> {call.error.message}
        </p>
      )}
      <Usage call={call} />
      {more?.priceVersion && (
        <>
          <Heading>Price per million tokens</Heading>
          <Facts>
            <Fact name="Input">{formatMoneyLimit(Number(more.priceVersion.inputPerMillion.amount))}</Fact>
            <Fact name="Cached input">{formatMoneyLimit(Number(more.priceVersion.cachedInputPerMillion.amount))}</Fact>
            <Fact name="Output">{formatMoneyLimit(Number(more.priceVersion.outputPerMillion.amount))}</Fact>
          </Facts>
        </>
      )}
    </>
  );
}

function Usage({ call }: { call: ModelCallView }) {
  const { tokens } = call;
  return (
    <>
      <Heading>Tokens and cost</Heading>
      <Facts>
        {tokens === null ? (
          <>
            <Fact name="Reserved">{formatStepMoney(call.reservedCost)}</Fact>
            <Fact name="For tokens">{formatExact(call.reservedTokens)}</Fact>
          </>
        ) : (
          <>
            <Fact name="Input">{formatExact(tokens.input)}</Fact>
            <Fact name="Cached input">{formatExact(tokens.cachedInput)}</Fact>
            <Fact name="Output">{formatExact(tokens.output)}</Fact>
            <Fact name="Reasoning">{tokens.reasoning > 0 ? formatExact(tokens.reasoning) : null}</Fact>
            <Fact name="Total">{formatExact(tokens.total)}</Fact>
          </>
        )}
        <Fact name="Cost">{call.cost === null ? null : formatStepMoney(call.cost)}</Fact>
        <Fact name="Counted">{call.estimated ? "estimated: the provider gave no figures" : null}</Fact>
      </Facts>
    </>
  );
}
