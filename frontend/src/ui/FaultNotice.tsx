import { Button } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import type { CombinedError } from "urql";
import { explainFault } from "@/graphql/faults";
import { Notice } from "./Notice";

export function FaultNotice({ error, title, onRetry }: { error: CombinedError; title: string; onRetry: () => void }) {
  return (
    <Notice
      role="alert"
      icon={<IconPlugConnectedX size={22} />}
      title={title}
      action={
        <Button size="xs" variant="default" onClick={onRetry}>
          Try again
        </Button>
      }
    >
      {explainFault(error)}
    </Notice>
  );
}
