import type { ReactNode } from "react";
import { formatDuration } from "@/lib/format";
import { toolState } from "../model/steps";
import type { LentCredentialView, SandboxView, ToolCallView } from "../model/types";
import { ToolCallDetailsQuery } from "../run.graphql";
import { Arguments } from "./Arguments";
import { EgressFacts } from "./EgressFacts";
import { Fact, Facts, Heading } from "./Facts";
import { SandboxFacts } from "./SandboxFacts";
import { useCallDetails } from "./useCallDetails";
import classes from "./details.module.css";

const TONES = { running: "accent", ok: "ok", bad: "bad", lost: "warn", stopped: "dim" } as const;

interface Props {
  call: ToolCallView;
  sandbox: SandboxView | null;
  isOver: boolean;
  /** Stands before the arguments, which may be long. */
  children: ReactNode;
}

export function ToolCallDetails({ call, sandbox, isOver, children }: Props) {
  const data = useCallDetails(ToolCallDetailsQuery, call.id, `${call.state} ${sandbox?.id}`);
  const more = data?.node != null && "toolVersion" in data.node ? data.node : null;
  return (
    <>
      <Heading>Tool call</Heading>
      <Facts>
        <Fact name="Tool">{call.tool}</Fact>
        <Fact name="Version">{more?.toolVersion}</Fact>
        <Fact name="State" tone={TONES[toolState(call)]}>
          {stateText(call)}
        </Fact>
        <Fact name="Time">{call.durationMs === null ? null : formatDuration(call.durationMs)}</Fact>
        <Fact name="Time limit">{call.timeoutMs === null ? null : formatDuration(call.timeoutMs)}</Fact>
        <Fact name="Fingerprint">
          <span title={call.fingerprint}>{call.fingerprint.slice(0, 12)}</span>
        </Fact>
        <Fact name="Side effects">{call.sideEffect?.toLowerCase().replaceAll("_", " ")}</Fact>
        <Fact name="Output">{outputText(call)}</Fact>
        <Fact name="Credentials">{call.credentials.map(lentText).join(", ")}</Fact>
      </Facts>
      {call.error !== null && (
        <p className={classes.fault}>
          <code>{call.error.code}</code> {call.error.message}
        </p>
      )}
      <EgressFacts attempts={call.egress} />
      <SandboxFacts sandbox={more?.sandbox ?? sandbox} isOver={isOver} />
      {children}
      <Arguments value={call.arguments} raw={call.rawArguments} />
    </>
  );
}

function stateText(call: ToolCallView): string {
  const exit = call.exitCode === null ? "" : ` · exit ${call.exitCode}`;
  return (call.state === "STARTED" ? "running" : call.state.toLowerCase()) + exit;
}

function lentText({ name, revokedBecause }: LentCredentialView): string {
  return `${name} (${revokedBecause === null ? "in the sandbox" : `removed, ${revokedBecause.toLowerCase().replaceAll("_", " ")}`})`;
}

function outputText({ truncated, lossy }: ToolCallView): string | null {
  const notes = [...(truncated ? ["shortened"] : []), ...(lossy ? ["some bytes were not text"] : [])];
  return notes.length === 0 ? null : notes.join(", ");
}
