import { Button, Popover, Tooltip } from "@mantine/core";
import { IconPlayerStopFilled } from "@tabler/icons-react";
import { useState } from "react";
import { useMutation } from "urql";
import type { ExecutionStatus } from "@/graphql/generated/graphql";
import { explainFault } from "@/graphql/faults";
import { isTerminal } from "@/ui/status";
import { ExecutionCancelMutation } from "./run.graphql";
import classes from "./run.module.css";

/** Keeps its place whatever the run does, so that the hand finds it; nothing else ever appears there. */
export function StopButton({ executionId, status }: { executionId: string; status: ExecutionStatus | null }) {
  const [{ fetching }, cancel] = useMutation(ExecutionCancelMutation);
  const [problem, setProblem] = useState<string | null>(null);
  const [receipt, setReceipt] = useState<string | null>(null);
  const isStopping = fetching || status === "CANCELLING";
  const isOver = status === null || isTerminal(status);

  async function stop() {
    const { data, error } = await cancel({ executionId });
    setProblem(error ? explainFault(error) : (data?.executionCancel.userErrors[0]?.message ?? null));
    setReceipt(data?.executionCancel.receipt?.message ?? null);
  }

  return (
    <Popover opened={receipt !== null} onChange={() => setReceipt(null)} position="bottom-end" width={320} withArrow shadow="md">
      <Popover.Target>
        <Tooltip label={problem} opened={problem !== null && !isStopping && !isOver} color="red" position="bottom-end">
          <Button
            className={classes.stop}
            variant="default"
            size="xs"
            leftSection={<IconPlayerStopFilled size={12} />}
            disabled={isStopping || isOver}
            onClick={() => void stop()}
          >
            {isStopping && !isOver ? "Stopping" : "Stop"}
          </Button>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown role="status" aria-label="Receipt" className={classes.receipt}>
        {receipt}
      </Popover.Dropdown>
    </Popover>
  );
}
