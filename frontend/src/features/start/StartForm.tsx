import { Alert, Button, Select, TextInput, Textarea } from "@mantine/core";
import { useState } from "react";
import type { StartableAgentsQuery } from "@/graphql/generated/graphql";
import { formatCount, formatMoneyLimit } from "@/lib/format";
import { FileDrop } from "./FileDrop";
import { EMPTY_DRAFT, FORM_FIELD } from "./model/draft";
import type { StartDraft } from "./model/draft";
import classes from "./start.module.css";
import { useStart } from "./useStart";

type Agent = NonNullable<StartableAgentsQuery["agents"]>["nodes"][number];
type LimitField = "maxCostUsd" | "maxTokens" | "maxIterations" | "maxActiveMinutes";

export function StartForm({ agents }: { agents: Agent[] }) {
  const [draft, setDraft] = useState<StartDraft>(EMPTY_DRAFT);
  const { submit, faults, fetching } = useStart();
  const agentId = draft.agentId ?? (agents.length === 1 ? (agents[0]?.id ?? null) : null);
  const agent = agents.find(({ id }) => id === agentId);
  const edit = (change: Partial<StartDraft>) => setDraft({ ...draft, ...change });
  const limitProps = (field: LimitField) => ({
    value: draft[field],
    error: faults[field],
    onChange: (event: { currentTarget: { value: string } }) => edit({ [field]: event.currentTarget.value }),
    inputMode: "decimal" as const,
  });
  const hints = hintsOf(agent);

  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(draft, agentId);
      }}
    >
      {faults[FORM_FIELD] !== undefined && (
        <Alert color="red" variant="light" role="alert" title="The run was not started">
          {faults[FORM_FIELD]}
        </Alert>
      )}
      <Select
        label="Agent"
        description={agent && describe(agent)}
        placeholder="Choose an agent"
        data={agents.map(({ id, name }) => ({ value: id, label: name }))}
        value={agentId}
        error={faults["agentId"]}
        onChange={(id) => edit({ agentId: id })}
        allowDeselect={false}
      />
      <Textarea
        label="Task"
        placeholder="What is to be done, and what the result should look like"
        autosize
        minRows={4}
        maxRows={14}
        value={draft.task}
        error={faults["task"]}
        onChange={(event) => edit({ task: event.currentTarget.value })}
      />
      <FileDrop files={draft.files} error={faults["files"]} onChange={(files) => edit({ files })} />
      <fieldset className={classes.limits}>
        <legend className={classes.label}>Limits</legend>
        <p className={classes.hint}>Left empty, the agent's own limits hold. A run stops at the first one that it reaches.</p>
        <TextInput label="Cost in US$" placeholder={hints.maxCostUsd} {...limitProps("maxCostUsd")} />
        <TextInput label="Tokens" placeholder={hints.maxTokens} {...limitProps("maxTokens")} />
        <TextInput label="Iterations" placeholder={hints.maxIterations} {...limitProps("maxIterations")} />
        <TextInput label="Active minutes" placeholder={hints.maxActiveMinutes} {...limitProps("maxActiveMinutes")} />
      </fieldset>
      <div>
        <Button type="submit" loading={fetching}>
          Start the run
        </Button>
      </div>
    </form>
  );
}

function describe({ latestVersion }: Agent): string {
  if (latestVersion === null) return "";
  const model = latestVersion.model?.alias ?? "no model";
  const scripted = latestVersion.model?.scripted ? " (scripted model)" : "";
  return `Version ${latestVersion.number} · ${model}${scripted} · ${latestVersion.tools.join(", ")}`;
}

function hintsOf(agent: Agent | undefined): Record<LimitField, string> {
  const limits = agent?.latestVersion?.limits;
  const active = limits?.maxActiveTimeMs ?? null;
  return {
    maxCostUsd: limits?.maxCost ? formatMoneyLimit(Number(limits.maxCost.amount)).slice(1) : "no limit",
    maxTokens: limits?.maxTokens ? formatCount(Number(limits.maxTokens)) : "no limit",
    maxIterations: limits?.maxIterations ? String(limits.maxIterations) : "no limit",
    maxActiveMinutes: active === null ? "no limit" : String(Math.round(Number(active) / 6_000) / 10),
  };
}
